/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpudevice.h"

#include "cpuisa.h"
#include "cpuplan.h"
#include "cpupool.h"
#include "sobelclock.h"

#include <fenv.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  MAX_SLOTS = 16,
  BANDS_A_THREAD = 4,    /* so that a thread that was held up leaves its share to the others */
  MIN_BAND_PIXELS = 16384, /* less is not worth a hand-over */
};

typedef struct SobelCpuDevice
{
  SobelDevice base;
  SobelCpuRows rows;
  SobelCpuPool *pool;
  unsigned n_threads;

  bool configured;
  SobelConfig config;
  unsigned n_slots;
  SobelCpuScratch scratch[SOBEL_CPU_MAX_THREADS];
  SobelCpuConstants constants;
  SobelTiming timing[MAX_SLOTS];

  /* The frame in work. */
  SobelCpuPlan plan;
  int32_t band_rows;
  unsigned bands_a_picture;
} SobelCpuDevice;

static unsigned
usable_cores (void)
{
  long n;
#if defined(__linux__)
  cpu_set_t set;

  if (sched_getaffinity (0, sizeof set, &set) == 0)
    return (unsigned) CPU_COUNT (&set);
#endif
  n = sysconf (_SC_NPROCESSORS_ONLN);
  return n > 0 ? (unsigned) n : 1;
}

static void
deconfigure (SobelCpuDevice *cpu)
{
  unsigned i;

  for (i = 0; i < cpu->n_threads; i++)
    sobel_cpu_scratch_clear (&cpu->scratch[i]);
  sobel_cpu_constants_clear (&cpu->constants);
  cpu->configured = false;
}

static bool
allocate (SobelCpuDevice *cpu, int32_t width)
{
  unsigned i;

  if (!sobel_cpu_constants_init (&cpu->constants, width))
    return false;
  for (i = 0; i < cpu->n_threads; i++) {
    if (!sobel_cpu_scratch_init (&cpu->scratch[i], width))
      return false;
  }
  return true;
}

static SobelStatus
cpu_configure (SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  SobelCpuDevice *cpu = (SobelCpuDevice *) device;

  deconfigure (cpu);
  if (!config->in || !config->out || config->width < 1 || config->height < 1 || n_slots < 1 || n_slots > MAX_SLOTS)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "cannot configure %" PRId32 "x%" PRId32 " with %u slots",
                            config->width, config->height, n_slots);
  if (!allocate (cpu, config->width)) {
    deconfigure (cpu);
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY,
                            "no memory for the rows of %u threads at a width of %" PRId32 " pixels", cpu->n_threads,
                            config->width);
  }
  cpu->config = *config;
  cpu->n_slots = n_slots;
  memset (cpu->timing, 0, sizeof cpu->timing);
  cpu->configured = true;
  return SOBEL_STATUS_OK;
}

/* The picture is what was configured, and every plane is there with all the rows that it covers. */
static bool
image_fits (const SobelCpuDevice *cpu, const SobelImage *image, const SobelFormat *format)
{
  unsigned i;

  if (image->format != format || image->memory != SOBEL_MEMORY_HOST || image->width != cpu->config.width ||
      image->height != cpu->config.height)
    return false;
  for (i = 0; i < format->n_planes; i++) {
    if (!image->plane[i].data || image->plane[i].rows < sobel_image_plane_rows (format, i, image->height))
      return false;
  }
  return true;
}

static void
run_band (void *job, unsigned task, unsigned worker)
{
  SobelCpuDevice *cpu = job;
  const unsigned picture = task / cpu->bands_a_picture;
  const int32_t height = cpu->plan.in[picture].height;
  const int64_t y0 = (int64_t) (task % cpu->bands_a_picture) * cpu->band_rows, y1 = y0 + cpu->band_rows;

  /* A field may have a row less, or none: the band at its end is there all the same, for the chroma behind. */
  if (y0 < height || (y0 == 0 && height == 0))
    sobel_cpu_band (&cpu->plan, picture, (int32_t) y0, (int32_t) (y1 < height ? y1 : height), &cpu->scratch[worker]);
}

static unsigned
cut_into_bands (SobelCpuDevice *cpu)
{
  const int64_t pixels = (int64_t) cpu->config.width * cpu->config.height;
  const int32_t height = cpu->plan.in[0].height, group = (int32_t) cpu->plan.group;
  int64_t bands = (int64_t) cpu->n_threads * BANDS_A_THREAD / cpu->plan.n_pictures;

  if (bands > pixels / MIN_BAND_PIXELS / cpu->plan.n_pictures)
    bands = pixels / MIN_BAND_PIXELS / cpu->plan.n_pictures;
  if (cpu->n_threads == 1 || bands < 1)
    bands = 1;
  cpu->band_rows = (int32_t) ((height + bands - 1) / bands + group - 1) / group * group;
  cpu->bands_a_picture = (unsigned) ((height + (int64_t) cpu->band_rows - 1) / cpu->band_rows);
  return cpu->bands_a_picture * cpu->plan.n_pictures;
}

static SobelStatus
cpu_submit (SobelDevice *device, unsigned slot, const SobelJob *job, SobelError *error)
{
  SobelCpuDevice *cpu = (SobelCpuDevice *) device;
  const uint64_t start = sobel_now_ns ();
  const int rounding = fegetround ();

  if (!cpu->configured || slot >= cpu->n_slots || !image_fits (cpu, &job->in, cpu->config.in) ||
      !image_fits (cpu, &job->out, cpu->config.out))
    return sobel_error_set (error, SOBEL_STATUS_INVALID,
                            "frame of %" PRId32 "x%" PRId32 " for slot %u is not what was configured", job->in.width,
                            job->in.height, slot);
  if (rounding != FE_TONEAREST)
    fesetround (FE_TONEAREST);
  sobel_cpu_plan_init (&cpu->plan, &cpu->config, &job->in, &job->out, &job->recipe, job->interlaced,
                       job->neutral_ready);
  sobel_cpu_pool_run (cpu->pool, run_band, cpu, cut_into_bands (cpu));
  if (rounding != FE_TONEAREST)
    fesetround (rounding);
  cpu->timing[slot].kernel_ns = sobel_now_ns () - start;
  return SOBEL_STATUS_OK;
}

static SobelStatus
cpu_wait (SobelDevice *device, unsigned slot, uint64_t timeout_ns, SobelError *error)
{
  return SOBEL_STATUS_OK;
}

static void
cpu_timing (SobelDevice *device, unsigned slot, SobelTiming *timing)
{
  const SobelCpuDevice *cpu = (const SobelCpuDevice *) device;

  if (slot < MAX_SLOTS)
    *timing = cpu->timing[slot];
}

static void
cpu_info (SobelDevice *device, SobelDeviceInfo *info)
{
  const SobelCpuDevice *cpu = (const SobelCpuDevice *) device;

  memset (info, 0, sizeof *info);
  snprintf (info->name, sizeof info->name, "CPU, %s, %u thread%s", cpu->rows.title, cpu->n_threads,
            cpu->n_threads == 1 ? "" : "s");
  info->kernel = cpu->rows.name;
}

static bool
cpu_destroy (SobelDevice *device)
{
  SobelCpuDevice *cpu = (SobelCpuDevice *) device;

  deconfigure (cpu);
  sobel_cpu_pool_free (cpu->pool);
  free (cpu);
  return true;
}

SobelStatus
sobel_cpu_device_new (unsigned n_threads, SobelDevice **device, SobelError *error)
{
  static const SobelDeviceOps ops = {
      .kind = "cpu",
      .configure = cpu_configure,
      .submit = cpu_submit,
      .wait = cpu_wait,
      .timing = cpu_timing,
      .info = cpu_info,
      .destroy = cpu_destroy,
  };
  SobelCpuDevice *cpu = calloc (1, sizeof *cpu);

  *device = NULL;
  if (n_threads == 0)
    n_threads = usable_cores ();
  if (n_threads > SOBEL_CPU_MAX_THREADS)
    n_threads = SOBEL_CPU_MAX_THREADS;
  if (cpu)
    cpu->pool = sobel_cpu_pool_new (n_threads);
  if (!cpu || !cpu->pool) {
    free (cpu);
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for a CPU device with %u threads", n_threads);
  }
  cpu->base.ops = &ops;
  cpu->n_threads = sobel_cpu_pool_n_threads (cpu->pool);
  sobel_cpu_rows_init (&cpu->rows);
  cpu->plan.rows = &cpu->rows;
  cpu->plan.constants = &cpu->constants;
  *device = &cpu->base;
  return SOBEL_STATUS_OK;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When upload, kernel and download of consecutive frames began and ended on the GPU, by the events that the device
 * records anyway: the overlap itself, for ring sizes of 1 and 4. */
#include "benchgpu.h"

#include "../gpu/cudarig.h"
#include "gputime.h"

#include "cudaslot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES = 240, SHOWN = 16 };

typedef struct Moments
{
  unsigned stream;
  float us[SOBEL_CUDA_N_MOMENTS]; /* since the origin */
} Moments;

/* Of the frame that the slot just finished. */
static bool
read_moments (const SobelCudaDevice *device, unsigned slot, cudaEvent_t origin, Moments *m)
{
  bool ok = true;
  unsigned i;

  m->stream = device->slot[slot].stream;
  for (i = 0; i < SOBEL_CUDA_N_MOMENTS && ok; i++) {
    ok = cudaEventElapsedTime (&m->us[i], origin, device->slot[slot].moment[i]) == cudaSuccess;
    m->us[i] *= 1000;
  }
  return ok;
}

static void
print_frame (const char *format, const char *size, unsigned slots, unsigned frame, const Moments *m, float zero)
{
  char label[96];

  snprintf (label, sizeof label, "timeline %s %s, ring %u, frame %u", format, size, slots, frame);
  row_begin (label);
  row_text ("format", format);
  row_text ("size", size);
  row_number ("ring", slots);
  row_number ("frame", frame);
  row_number ("stream", m->stream);
  row_number ("start_us", m->us[SOBEL_CUDA_START] - zero);
  row_number ("uploaded_us", m->us[SOBEL_CUDA_UPLOADED] - zero);
  row_number ("computed_us", m->us[SOBEL_CUDA_COMPUTED] - zero);
  row_number ("downloaded_us", m->us[SOBEL_CUDA_STAGED] - zero);
  row_end ();
}

static bool
run_frames (Rig *rig, const SobelJob *jobs, cudaEvent_t origin, Moments *moments)
{
  const SobelDeviceOps *ops = rig->device->ops;
  SobelError error;
  unsigned n;

  for (n = 0; n < FRAMES + rig->n_slots; n++) {
    const SobelCudaDevice *device = (const SobelCudaDevice *) rig->device;
    const unsigned slot = n % rig->n_slots;

    if (n >= rig->n_slots && (ops->wait (rig->device, slot, 5000000000u, &error) != SOBEL_STATUS_OK ||
                              !read_moments (device, slot, origin, &moments[n - rig->n_slots])))
      return false;
    if (n < FRAMES && ops->submit (rig->device, slot, &jobs[slot], &error) != SOBEL_STATUS_OK)
      return false;
  }
  return true;
}

static bool
one_timeline (const char *format, int32_t width, int32_t height, unsigned slots)
{
  static Moments moments[FRAMES];
  const SobelConfig config = rig_config (format, false, width, height, false);
  const SobelCudaOptions options = {.device_id = -1, .strips = 1};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelDevice *device = NULL;
  SobelJob jobs[16];
  SobelError error;
  cudaEvent_t origin = NULL;
  char size[24];
  unsigned n;
  bool ok;
  Rig rig;

  memset (&rig, 0, sizeof rig);
  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  ok = sobel_cuda_device_new (&options, &device, &error) == SOBEL_STATUS_OK &&
       rig_init (&rig, device, &config, slots, &error);
  if (!ok)
    row_absent ("timeline", error.message);
  for (n = 0; n < slots && ok; n++) {
    memset (rig_in (&rig, n), (int) n + 1, rig.in_size);
    jobs[n] = rig_job (&rig, n, &params);
    jobs[n].neutral_ready = true;
  }
  ok = ok && cudaEventCreate (&origin) == cudaSuccess &&
       cudaEventRecord (origin, gpu_time_stream ()) == cudaSuccess && run_frames (&rig, jobs, origin, moments);
  for (n = FRAMES - SHOWN; n < FRAMES && ok; n++)
    print_frame (format, size, slots, n - (FRAMES - SHOWN), &moments[n],
                 moments[FRAMES - SHOWN].us[SOBEL_CUDA_START]);
  if (origin)
    cudaEventDestroy (origin);
  rig_clear (&rig);
  return ok;
}

bool
bench_timeline_rows (const BenchOptions *options)
{
  const unsigned usual = sobel_cuda_tuning.timed_every;
  bool ok = true;
  unsigned slots;

  sobel_cuda_tuning.timed_every = 1;
  for (slots = 1; slots <= 4; slots *= 4) {
    ok &= one_timeline ("I420", 1920, 1080, slots);
    ok &= one_timeline ("RGB", 1920, 1080, slots);
  }
  sobel_cuda_tuning.timed_every = usual;
  return ok;
}

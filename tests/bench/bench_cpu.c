/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Milliseconds a frame of the CPU backend, and the ratio to a memcpy of the frame's input and output: median of 7
 * batches, for one thread and for all.
 *
 * usage: bench_cpu [--json [--quick]] [WIDTH HEIGHT [FORMAT ...]]
 * --json prints a JSON object a line; --quick keeps to GRAY8, I420 and RGB, and
 * to batches of 10 ms. */
#include "cpudevice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 7 };

static uint64_t batch_ns = 60000000;

typedef struct Picture
{
  SobelImage image;
  uint8_t *memory;
  size_t size;
} Picture;

static const struct
{
  const char *name;
  SobelMode mode;
  double gain;
  SobelPrecision precision;
  bool neutral_ready, gray_out;
} cases[] = {
    {"edges", SOBEL_MODE_EDGES, 1, SOBEL_PRECISION_INTEGER, true, false},
    {"edges, chroma written", SOBEL_MODE_EDGES, 1, SOBEL_PRECISION_INTEGER, false, false},
    {"edges, gain 1.5", SOBEL_MODE_EDGES, 1.5, SOBEL_PRECISION_INTEGER, true, false},
    {"edges, float", SOBEL_MODE_EDGES, 1, SOBEL_PRECISION_FLOAT, true, false},
    {"edges to gray", SOBEL_MODE_EDGES, 1, SOBEL_PRECISION_INTEGER, true, true},
    {"overlay", SOBEL_MODE_OVERLAY, 1, SOBEL_PRECISION_INTEGER, true, false},
    {"mask", SOBEL_MODE_MASK, 1, SOBEL_PRECISION_INTEGER, true, false},
    {"direction", SOBEL_MODE_DIRECTION, 1, SOBEL_PRECISION_INTEGER, true, false},
};

static const char *const default_formats[] = {"GRAY8", "I420", "NV12", "RGB",        "RGBx",      "RGBA",
                                              "GBR",   "YUY2", "AYUV", "GRAY16_LE", "I420_10LE", "P010_10LE",
                                              "RGBA64_LE", NULL};

static uint64_t
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void
picture_init (Picture *p, const SobelFormat *format, int32_t width, int32_t height)
{
  size_t offset[SOBEL_MAX_PLANES];
  unsigned i;
  size_t k;

  memset (p, 0, sizeof *p);
  p->image = (SobelImage){.format = format, .width = width, .height = height};
  for (i = 0; i < format->n_planes; i++) {
    SobelPlane *plane = &p->image.plane[i];

    plane->stride = (ptrdiff_t) ((sobel_image_row_bytes (format, i, width) + 3) / 4 * 4);
    plane->rows = sobel_image_plane_rows (format, i, height);
    offset[i] = p->size;
    p->size += (size_t) plane->stride * (size_t) plane->rows;
  }
  p->memory = aligned_alloc (4096, (p->size + 4095) / 4096 * 4096);
  if (!p->memory) {
    fprintf (stderr, "no memory\n");
    exit (1);
  }
  for (i = 0; i < format->n_planes; i++)
    p->image.plane[i].data = p->memory + offset[i];
  for (k = 0; k < p->size; k++)
    p->memory[k] = (uint8_t) ((k * k) >> 7 ^ k * 2654435761u >> 21);
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

typedef void (*Function) (void *data);

/* Milliseconds a call. */
typedef struct Times
{
  double median, best;
} Times;

static Times
measure (Function function, void *data)
{
  double samples[SAMPLES];
  unsigned i, k, n = 1;
  uint64_t start, spent;

  function (data);
  start = now_ns ();
  function (data);
  spent = now_ns () - start + 1;
  n = (unsigned) (batch_ns / spent) + 1;
  for (i = 0; i < SAMPLES; i++) {
    start = now_ns ();
    for (k = 0; k < n; k++)
      function (data);
    samples[i] = (double) (now_ns () - start) / n * 1e-6;
  }
  qsort (samples, SAMPLES, sizeof *samples, compare);
  return (Times){samples[SAMPLES / 2], samples[0]};
}

typedef struct Frame
{
  SobelDevice *device;
  SobelJob job;
  Picture in, out;
} Frame;

static void
run_frame (void *data)
{
  Frame *frame = data;
  SobelError error;

  if (frame->device->ops->submit (frame->device, 0, &frame->job, &error) != SOBEL_STATUS_OK ||
      frame->device->ops->wait (frame->device, 0, 0, &error) != SOBEL_STATUS_OK) {
    fprintf (stderr, "%s\n", error.message);
    exit (1);
  }
}

/* As many bytes as the frame has going in and coming out, halved: what one copy reads and writes. */
static void
copy_frame (void *data)
{
  Frame *frame = data;

  memcpy (frame->out.memory, frame->in.memory, frame->in.size < frame->out.size ? frame->in.size : frame->out.size);
}

static bool as_json;

static void
print_row (const char *format, const char *work, int32_t width, int32_t height, const SobelDeviceInfo *info,
           unsigned n_threads, Times time, Times copy)
{
  if (as_json)
    printf ("{\"label\":\"%s %s, %s threads\",\"format\":\"%s\",\"case\":\"%s\",\"size\":\"%dx%d\","
            "\"threads\":\"%s\",\"isa\":\"%s\",\"median_us\":%.2f,\"best_us\":%.2f,\"memcpy_us\":%.2f,"
            "\"memcpy_ratio\":%.3f}\n",
            format, work, n_threads ? "1" : "all", format, work, width, height, n_threads ? "1" : "all", info->kernel,
            time.median * 1000, time.best * 1000, copy.median * 1000, time.median / copy.median);
  else
    printf ("| %-10s | %-22s | %-24s | %8.3f | %8.3f | %5.2f |\n", format, work, info->name, time.median, time.best,
            time.median / copy.median);
  fflush (stdout);
}

static void
bench (const char *name, int32_t width, int32_t height, unsigned n_threads)
{
  const SobelFormat *in = sobel_format_find (name);
  SobelDeviceInfo info;
  unsigned i;

  if (!in) {
    fprintf (stderr, "there is no format %s\n", name);
    exit (1);
  }
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const SobelFormat *gray = sobel_format_find (sobel_format_depth (in) > 8 ? "GRAY16_LE" : "GRAY8");
    const SobelConfig config = {in, cases[i].gray_out ? gray : in, width, height, false, 0.299, 0.114};
    SobelParams params = SOBEL_PARAMS_DEFAULT;
    Frame frame = {.device = NULL};
    SobelError error;
    Times ms, copy;

    if ((cases[i].gray_out && in == gray) ||
        (in->family != SOBEL_FAMILY_RGB && cases[i].precision == SOBEL_PRECISION_FLOAT) ||
        (in->family != SOBEL_FAMILY_YUV && cases[i].mode == SOBEL_MODE_EDGES && !cases[i].neutral_ready))
      continue;
    params.mode = cases[i].mode;
    params.gain = cases[i].gain;
    params.precision = cases[i].precision;
    picture_init (&frame.in, config.in, width, height);
    picture_init (&frame.out, config.out, width, height);
    frame.job.in = frame.in.image;
    frame.job.out = frame.out.image;
    frame.job.neutral_ready = cases[i].neutral_ready;
    sobel_recipe_init (&frame.job.recipe, &config, &params);
    if (sobel_cpu_device_new (n_threads, &frame.device, &error) != SOBEL_STATUS_OK ||
        frame.device->ops->configure (frame.device, &config, 1, &error) != SOBEL_STATUS_OK) {
      fprintf (stderr, "%s\n", error.message);
      exit (1);
    }
    frame.device->ops->info (frame.device, &info);
    copy = measure (copy_frame, &frame);
    ms = measure (run_frame, &frame);
    frame.device->ops->info (frame.device, &info);
    print_row (name, cases[i].name, width, height, &info, n_threads, ms, copy);
    sobel_device_destroy (&frame.device);
    free (frame.in.memory);
    free (frame.out.memory);
  }
}

int
main (int argc, char **argv)
{
  static const char *const quick_formats[] = {"GRAY8", "I420", "RGB", NULL};
  const char *const *formats = default_formats;
  const char *isa = getenv ("BENCH_ISA");
  int32_t width, height;
  unsigned threads;

  for (; argc > 1 && strncmp (argv[1], "--", 2) == 0; argc--, argv++) {
    if (strcmp (argv[1], "--json") == 0)
      as_json = true;
    else if (strcmp (argv[1], "--quick") == 0) {
      formats = quick_formats;
      batch_ns = 10000000;
    }
  }
  width = argc > 2 ? atoi (argv[1]) : 1920;
  height = argc > 2 ? atoi (argv[2]) : 1080;
  if (argc > 3)
    formats = (const char *const *) argv + 3;
  if (isa)
    sobel_cpu_set_isa_mask ((unsigned) strtoul (isa, NULL, 0));
  if (!as_json)
    printf ("%d x %d\n\n| format | work | device | ms a frame | best | of memcpy |\n|---|---|---|---|---|---|\n", width,
            height);
  for (; *formats; formats++) {
    for (threads = 1;; threads = 0) {
      bench (*formats, width, height, threads);
      if (threads == 0)
        break;
    }
  }
  return 0;
}

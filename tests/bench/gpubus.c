/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of what surrounds the kernels: transfers alone (the limit that pipelines are held against), the host's own
 * copies, frames through the device by slots and streams, one frame alone by strips. */
#include "benchgpu.h"

#include "../gpu/cudarig.h"
#include "gputime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 31, MAX_SLOTS = 8, PICTURES = 16 };

typedef struct Bytes
{
  const char *name, *size;
  size_t up, down;
} Bytes;

#define HD (1920u * 1080u)
#define UHD (3840u * 2160u)

/* What has to cross the bus, by frame. */
static const Bytes frames[] = {
    {"one byte a pixel", "1920x1080", HD, HD},
    {"I420 whole", "1920x1080", HD * 3 / 2, HD * 3 / 2},
    {"three bytes a pixel", "1920x1080", HD * 3, HD * 3},
    {"four bytes a pixel", "1920x1080", HD * 4, HD * 4},
    {"three bytes up, one down", "1920x1080", HD * 3, HD},
    {"one byte a pixel", "3840x2160", UHD, UHD},
    {"three bytes a pixel", "3840x2160", UHD * 3, UHD * 3},
    {"three bytes a pixel", "7680x4320", UHD * 12, UHD * 12},
};

static void
transfer_row (const Bytes *b, const char *way, const char *memory, double *us, unsigned n, size_t bytes)
{
  const GpuTime time = gpu_time_of (us, n);
  char label[128];

  snprintf (label, sizeof label, "bus %s %s %s %s", b->name, b->size, way, memory);
  row_begin (label);
  row_text ("group", "transfers");
  row_text ("what", b->name);
  row_text ("size", b->size);
  row_text ("way", way);
  row_text ("memory", memory);
  row_time (&time);
  row_number ("bytes", (double) bytes);
  row_number ("gb_s", (double) bytes / time.median_us / 1000);
  row_end ();
}

/* Microseconds a frame, the host's clock around as many as take a few ms. */
static bool
time_transfers (const Bytes *b, bool up, bool down, void *host_in, void *host_out, void *on_gpu[2], cudaStream_t s[2],
                double *us, unsigned samples)
{
  const unsigned n = b->up > 50000000 ? 3 : b->up > 10000000 ? 8 : b->up > 4000000 ? 24 : 60;
  cudaError_t result = cudaSuccess;
  unsigned i, k;

  for (i = 0; i < samples + 1 && result == cudaSuccess; i++) {
    const uint64_t start = t_now_ns ();

    for (k = 0; k < n && result == cudaSuccess; k++) {
      if (up)
        result = cudaMemcpyAsync (on_gpu[0], host_in, b->up, cudaMemcpyHostToDevice, s[0]);
      if (down && result == cudaSuccess)
        result = cudaMemcpyAsync (host_out, on_gpu[1], b->down, cudaMemcpyDeviceToHost, s[1]);
    }
    if (result == cudaSuccess)
      result = cudaStreamSynchronize (s[0]);
    if (result == cudaSuccess)
      result = cudaStreamSynchronize (s[1]);
    if (i > 0)
      us[i - 1] = (double) (t_now_ns () - start) / 1000.0 / n;
  }
  return result == cudaSuccess;
}

static void
transfers_of (const Bytes *b, unsigned samples, bool pageable_too)
{
  double us[SAMPLES];
  void *pinned[2] = {NULL, NULL}, *pageable[2], *on_gpu[2] = {NULL, NULL};
  cudaStream_t s[2] = {NULL, NULL};
  bool ok = true;
  unsigned i;

  for (i = 0; i < 2; i++) {
    pageable[i] = malloc (b->up);
    ok &= pageable[i] && cudaMallocHost (&pinned[i], b->up) == cudaSuccess &&
          cudaMalloc (&on_gpu[i], b->up) == cudaSuccess &&
          cudaStreamCreateWithFlags (&s[i], cudaStreamNonBlocking) == cudaSuccess;
    if (ok) {
      memset (pageable[i], 1, b->up);
      memset (pinned[i], 1, b->up);
    }
  }
  if (!ok)
    row_absent (b->name, "no memory");
  if (ok && time_transfers (b, true, false, pinned[0], pinned[1], on_gpu, s, us, samples))
    transfer_row (b, "up", "pinned", us, samples, b->up);
  if (ok && time_transfers (b, false, true, pinned[0], pinned[1], on_gpu, s, us, samples))
    transfer_row (b, "down", "pinned", us, samples, b->down);
  if (ok && time_transfers (b, true, true, pinned[0], pinned[1], on_gpu, s, us, samples))
    transfer_row (b, "both", "pinned", us, samples, b->up + b->down);
  if (ok && pageable_too && time_transfers (b, true, false, pageable[0], pageable[1], on_gpu, s, us, 7))
    transfer_row (b, "up", "pageable", us, 7, b->up);
  if (ok && pageable_too && time_transfers (b, false, true, pageable[0], pageable[1], on_gpu, s, us, 7))
    transfer_row (b, "down", "pageable", us, 7, b->down);
  for (i = 0; i < 2; i++) {
    free (pageable[i]);
    cudaFreeHost (pinned[i]);
    cudaFree (on_gpu[i]);
    if (s[i])
      cudaStreamDestroy (s[i]);
  }
}

/* One thread's memcpy as the element has to do it for a source with memory of its own: many pictures into four pinned
 * buffers. */
static void
memcpy_row (const Bytes *b, unsigned samples)
{
  double us[SAMPLES];
  uint8_t *from = malloc (b->up * PICTURES);
  void *to = NULL;
  unsigned i, k;

  if (from && cudaMallocHost (&to, b->up * 4) == cudaSuccess) {
    memset (from, 1, b->up * PICTURES);
    for (i = 0; i < samples + 1; i++) {
      const uint64_t start = t_now_ns ();
      for (k = 0; k < PICTURES; k++)
        memcpy ((uint8_t *) to + b->up * (k % 4), from + b->up * k, b->up);
      if (i > 0)
        us[i - 1] = (double) (t_now_ns () - start) / 1000.0 / PICTURES;
    }
    transfer_row (b, "memcpy", "one thread", us, samples, b->up);
  }
  free (from);
  cudaFreeHost (to);
}

/* ---- frames through the device -------------------------------------------------------------------- */

static bool
open_rig (Rig *rig, const SobelConfig *config, unsigned streams, unsigned strips, unsigned slots, SobelJob *jobs)
{
  const SobelCudaOptions options = {.device_id = -1, .streams = streams, .strips = strips};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelDevice *device = NULL;
  SobelError error;
  unsigned n;

  memset (rig, 0, sizeof *rig);
  if (sobel_cuda_device_new (&options, &device, &error) != SOBEL_STATUS_OK ||
      !rig_init (rig, device, config, slots, &error)) {
    row_absent (config->in->name, error.message);
    return false;
  }
  for (n = 0; n < slots; n++) {
    memset (rig_in (rig, n), (int) n + 1, rig->in_size);
    jobs[n] = rig_job (rig, n, &params);
    jobs[n].neutral_ready = true;
  }
  return true;
}

/* Microseconds a frame, one thread that always waits for the oldest slot; negative on failure. */
static double
run_ring (Rig *rig, const SobelJob *jobs, unsigned n_frames)
{
  const SobelDeviceOps *ops = rig->device->ops;
  SobelError error;
  uint64_t start = t_now_ns ();
  unsigned n;

  for (n = 0; n < n_frames + rig->n_slots; n++) {
    const unsigned slot = n % rig->n_slots;

    if (n >= rig->n_slots && ops->wait (rig->device, slot, 5000000000u, &error) != SOBEL_STATUS_OK)
      return -1;
    if (n < n_frames && ops->submit (rig->device, slot, &jobs[slot], &error) != SOBEL_STATUS_OK)
      return -1;
  }
  return (double) (t_now_ns () - start) / 1000.0 / n_frames;
}

static void
ring_row (const char *format, int32_t width, int32_t height, unsigned slots, unsigned streams)
{
  enum { RUNS = 7 };
  const SobelConfig config = rig_config (format, false, width, height, false);
  const unsigned n = (unsigned) (4e8 / ((double) width * height * (strcmp (format, "RGB") == 0 ? 3 : 1)));
  double us[RUNS];
  SobelJob jobs[MAX_SLOTS];
  char label[96], size[24];
  GpuTime time;
  unsigned i;
  Rig rig;

  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  snprintf (label, sizeof label, "ring %s %s, %u slots, %u streams", format, size, slots, streams ? streams : slots);
  if (open_rig (&rig, &config, streams, 1, slots, jobs)) {
    run_ring (&rig, jobs, n / 4);
    for (i = 0; i < RUNS; i++)
      us[i] = run_ring (&rig, jobs, n);
    time = gpu_time_of (us, RUNS);
    row_begin (label);
    row_text ("group", "ring");
    row_text ("format", format);
    row_text ("size", size);
    row_number ("slots", slots);
    row_number ("streams", streams ? streams : slots);
    row_time (&time);
    row_number ("fps", 1e6 / time.median_us);
    row_end ();
  }
  rig_clear (&rig);
}

static void
frame_row (const char *format, int32_t width, int32_t height, unsigned strips)
{
  const SobelConfig config = rig_config (format, false, width, height, false);
  double us[SAMPLES];
  SobelJob jobs[MAX_SLOTS];
  char label[96], size[24];
  GpuTime time;
  bool ok;
  int i;
  Rig rig;

  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  snprintf (label, sizeof label, "one frame %s %s, strips %u", format, size, strips);
  ok = open_rig (&rig, &config, 0, strips, 4, jobs);
  for (i = -3; i < SAMPLES && ok; i++) {
    const double one = run_ring (&rig, jobs, 1);
    ok = one > 0;
    if (i >= 0)
      us[i] = one;
  }
  if (ok) {
    time = gpu_time_of (us, SAMPLES);
    row_begin (label);
    row_text ("group", "one frame");
    row_text ("format", format);
    row_text ("size", size);
    row_number ("strips", strips);
    row_time (&time);
    row_end ();
  }
  rig_clear (&rig);
}

bool
bench_bus_rows (const BenchOptions *options)
{
  static const unsigned slots[] = {1, 2, 3, 4, 8}, streams[] = {1, 2, 3}, strips[] = {1, 2, 4, 8, 16, 32, 0};
  const unsigned samples = options->quick ? 9 : SAMPLES;
  unsigned i;

  for (i = 0; i < sizeof frames / sizeof frames[0]; i++) {
    transfers_of (&frames[i], samples, i != 4);
    if (i == 0 || i == 1 || i == 2 || i == 6)
      memcpy_row (&frames[i], 9);
  }
  for (i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    if (options->quick && slots[i] != 1 && slots[i] != 4)
      continue;
    ring_row ("I420", 1920, 1080, slots[i], 0);
    ring_row ("RGB", 1920, 1080, slots[i], 0);
    ring_row ("RGB", 3840, 2160, slots[i], 0);
  }
  for (i = 0; i < sizeof streams / sizeof streams[0]; i++) {
    ring_row ("I420", 1920, 1080, 4, streams[i]);
    ring_row ("RGB", 1920, 1080, 4, streams[i]);
  }
  for (i = 0; i < sizeof strips / sizeof strips[0]; i++) {
    if (options->quick && strips[i] > 1)
      continue;
    frame_row ("I420", 1920, 1080, strips[i]);
    frame_row ("RGB", 3840, 2160, strips[i]);
    frame_row ("RGB", 7680, 4320, strips[i]);
  }
  return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of transfers alone, the limit that pipelines are held against, and of the host's own copies. */
#include "benchgpu.h"

#include "gputime.h"
#include "testutil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 31, PICTURES = 16 };

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

bool
bench_bus_rows (const BenchOptions *options)
{
  const unsigned samples = options->quick ? 9 : SAMPLES;
  unsigned i;

  for (i = 0; i < sizeof frames / sizeof frames[0]; i++) {
    transfers_of (&frames[i], samples, i != 4);
    if (i == 0 || i == 1 || i == 2 || i == 6)
      memcpy_row (&frames[i], 9);
  }
  return true;
}

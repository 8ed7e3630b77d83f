/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gputime.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_SAMPLES = 64, MAX_BATCH = 100 };

static const float BATCH_MS = 1.5f;
static const size_t FLUSH_BYTES = (size_t) 256 << 20;

static struct
{
  cudaStream_t stream;
  cudaEvent_t begin, end;
  void *flush;
  unsigned samples;
} timer = {.samples = 32};

cudaError_t
gpu_time_init (void)
{
  cudaError_t result = cudaStreamCreateWithFlags (&timer.stream, cudaStreamNonBlocking);

  if (result == cudaSuccess)
    result = cudaEventCreate (&timer.begin);
  if (result == cudaSuccess)
    result = cudaEventCreate (&timer.end);
  if (result == cudaSuccess)
    result = cudaMalloc (&timer.flush, FLUSH_BYTES);
  return result;
}

void
gpu_time_clear (void)
{
  cudaFree (timer.flush);
  cudaEventDestroy (timer.begin);
  cudaEventDestroy (timer.end);
  cudaStreamDestroy (timer.stream);
}

cudaStream_t
gpu_time_stream (void)
{
  return timer.stream;
}

void
gpu_time_set_samples (unsigned n)
{
  timer.samples = n < 3 ? 3 : n > MAX_SAMPLES ? MAX_SAMPLES : n;
}

static int
by_value (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

GpuTime
gpu_time_of (double *us, unsigned n)
{
  GpuTime time = {.samples = n};

  qsort (us, n, sizeof *us, by_value);
  time.median_us = n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
  time.iqr_us = us[(3 * n) / 4 < n ? (3 * n) / 4 : n - 1] - us[n / 4];
  return time;
}

/* Milliseconds between the events, once both are over. */
static cudaError_t
elapsed (float *ms)
{
  cudaError_t result = cudaEventSynchronize (timer.end);

  if (result == cudaSuccess)
    result = cudaEventElapsedTime (ms, timer.begin, timer.end);
  return result;
}

/* A graph of `n` runs. */
static cudaError_t
record (GpuWork work, void *user, unsigned n, cudaGraphExec_t *exec)
{
  cudaGraph_t graph = NULL;
  cudaError_t result = cudaStreamBeginCapture (timer.stream, cudaStreamCaptureModeThreadLocal), ended;
  unsigned i;

  if (result != cudaSuccess)
    return result;
  for (i = 0; i < n && result == cudaSuccess; i++)
    result = work (user, timer.stream);
  ended = cudaStreamEndCapture (timer.stream, &graph);
  if (result == cudaSuccess)
    result = ended;
  if (result == cudaSuccess)
    result = cudaGraphInstantiateWithFlags (exec, graph, 0);
  if (graph)
    cudaGraphDestroy (graph);
  return result;
}

static cudaError_t
time_graph (cudaGraphExec_t exec, float *ms)
{
  cudaError_t result = cudaEventRecord (timer.begin, timer.stream);

  if (result == cudaSuccess)
    result = cudaGraphLaunch (exec, timer.stream);
  if (result == cudaSuccess)
    result = cudaEventRecord (timer.end, timer.stream);
  return result == cudaSuccess ? elapsed (ms) : result;
}

cudaError_t
gpu_time_steady (GpuWork work, void *user, GpuTime *time)
{
  double us[MAX_SAMPLES];
  cudaGraphExec_t exec = NULL;
  cudaError_t result;
  float ms = 0;
  unsigned i, n;

  /* Warm-up, and how many make a batch. */
  for (i = 0, result = cudaSuccess; i < 3 && result == cudaSuccess; i++)
    result = work (user, timer.stream);
  if (result == cudaSuccess)
    result = cudaEventRecord (timer.begin, timer.stream);
  for (i = 0; i < 4 && result == cudaSuccess; i++)
    result = work (user, timer.stream);
  if (result == cudaSuccess)
    result = cudaEventRecord (timer.end, timer.stream);
  if (result == cudaSuccess)
    result = elapsed (&ms);
  if (result != cudaSuccess)
    return result;
  n = ms > 0 ? (unsigned) (4 * BATCH_MS / ms) : MAX_BATCH;
  n = n < 2 ? 2 : n > MAX_BATCH ? MAX_BATCH : n;

  result = record (work, user, n, &exec);
  for (i = 0; i < timer.samples + 2 && result == cudaSuccess; i++) {
    result = time_graph (exec, &ms);
    if (i >= 2)
      us[i - 2] = 1000.0 * ms / n;
  }
  if (exec)
    cudaGraphExecDestroy (exec);
  if (result == cudaSuccess)
    *time = gpu_time_of (us, timer.samples);
  return result;
}

cudaError_t
gpu_time_cold (GpuWork work, void *user, GpuTime *time)
{
  double us[MAX_SAMPLES];
  cudaError_t result = cudaSuccess;
  float ms = 0;
  unsigned i;

  for (i = 0; i < timer.samples + 2 && result == cudaSuccess; i++) {
    result = cudaMemsetAsync (timer.flush, (int) i, FLUSH_BYTES, timer.stream);
    if (result == cudaSuccess)
      result = cudaEventRecord (timer.begin, timer.stream);
    if (result == cudaSuccess)
      result = work (user, timer.stream);
    if (result == cudaSuccess)
      result = cudaEventRecord (timer.end, timer.stream);
    if (result == cudaSuccess)
      result = elapsed (&ms);
    if (i >= 2)
      us[i - 2] = 1000.0 * ms;
  }
  if (result == cudaSuccess)
    *time = gpu_time_of (us, timer.samples);
  return result;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

void
row_begin (const char *label)
{
  printf ("{\"label\":\"%s\"", label);
}

void
row_text (const char *key, const char *value)
{
  if (value && *value)
    printf (",\"%s\":\"%s\"", key, value);
}

void
row_number (const char *key, double value)
{
  printf (",\"%s\":%.15g", key, value);
}

void
row_time (const GpuTime *time)
{
  printf (",\"median_us\":%.3f,\"iqr_us\":%.3f,\"samples\":%u", time->median_us, time->iqr_us, time->samples);
}

void
row_end (void)
{
  printf ("}\n");
  fflush (stdout);
}

void
row_absent (const char *label, const char *why)
{
  row_begin (label);
  row_text ("error", why);
  row_end ();
}

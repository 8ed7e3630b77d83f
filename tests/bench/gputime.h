/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_BENCH_GPU_TIME_H
#define SOBEL_BENCH_GPU_TIME_H

/* Times of work on a GPU, by events around batches, and the rows that a benchmark prints. */

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GpuTime
{
  double median_us, iqr_us; /* of one run of the work; the interquartile range */
  unsigned samples;
} GpuTime;

/* Queues one run. */
typedef cudaError_t (*GpuWork) (void *user, cudaStream_t stream);

/* In the current context: a stream, events, and memory larger than the L2 cache. */
cudaError_t gpu_time_init (void);
void gpu_time_clear (void);
cudaStream_t gpu_time_stream (void);
/* Samples a measurement takes, 30 or more unless somebody is in a hurry. */
void gpu_time_set_samples (unsigned n);

/* Back to back: batches of about 1.5 ms, each one launch of a graph of so many runs, so that the host is no part of the
 * time. What fits into the L2 cache stays there from run to run. */
cudaError_t gpu_time_steady (GpuWork work, void *user, GpuTime *time);

/* One run a sample, right behind a fill of more memory than the L2 cache holds. */
cudaError_t gpu_time_cold (GpuWork work, void *user, GpuTime *time);

/* Of `n` samples, which it sorts. */
GpuTime gpu_time_of (double *us, unsigned n);

/* One JSON object on stdout: begin, any fields, end. Texts must need no escaping. */
void row_begin (const char *label);
void row_text (const char *key, const char *value);
void row_number (const char *key, double value);
void row_time (const GpuTime *time);
void row_end (void);
/* A row that says why it has no number. */
void row_absent (const char *label, const char *why);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_BENCH_GPU_H
#define SOBEL_BENCH_GPU_H

/* The parts of bench_gpu. Each prints a JSON row a measurement and returns false when a result was wrong. */

#include <stdbool.h>

typedef struct BenchOptions
{
  bool quick;
  const char *profile; /* part `profile`: the size, WxH */
} BenchOptions;

/* The element's kernels, each first held against the CPU backend. */
bool bench_kernel_rows (const BenchOptions *options);
/* The textbook's questions: unrolling, block shapes, roots, one pass or two; and how the fast kernels cut a picture. */
bool bench_trial_rows (const BenchOptions *options);
/* Transfers alone. */
bool bench_bus_rows (const BenchOptions *options);
/* Frames through the device: in a ring, alone, after a pause. */
bool bench_frame_rows (const BenchOptions *options);
/* When each stage of consecutive frames began and ended, from the device's own events. */
bool bench_timeline_rows (const BenchOptions *options);
/* Each kernel a few times and nothing else: for a profiler. */
bool bench_profile (const BenchOptions *options);

#endif

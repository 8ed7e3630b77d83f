/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CLOCK_H
#define SOBEL_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ns of the monotonic clock: the one of every time in this project that is not a stream's. */
static inline uint64_t
sobel_now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

#ifdef __cplusplus
}
#endif
#endif

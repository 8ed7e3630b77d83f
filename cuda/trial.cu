/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled at configure time, to see whether nvcc gets on with the host's compiler and C library. */
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

__global__ void
trial_kernel (uint32_t *p)
{
  p[threadIdx.x] = (uint32_t) sqrt ((double) p[threadIdx.x]);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_BENCH_GPU_PICTURE_H
#define SOBEL_BENCH_GPU_PICTURE_H

/* One picture in GPU memory, as the device lays it out, and what the CPU backend makes of it. */

#include "../gpu/cudarig.h"

#include "cudakernels.h"
#include "gputime.h"

typedef struct GpuPicture
{
  SobelConfig config;
  uint8_t *host_in, *expected; /* tight rows */
  uint8_t *in, *out;           /* GPU memory */
  size_t copy_bytes;           /* to be copied from `in` to `out`: reads and writes as much as a kernel has to */
  SobelCudaPicture picture;
  SobelCudaScratch scratch;
  int multiprocessors;
} GpuPicture;

/* Noise with flat parts. False, with the reason in `error`, when memory is short. */
bool gpu_picture_init (GpuPicture *p, const SobelConfig *config, const SobelParams *params, SobelError *error);
void gpu_picture_clear (GpuPicture *p);

/* Other parameters for the same input. */
bool gpu_picture_set_params (GpuPicture *p, const SobelParams *params, SobelError *error);

/* What the element launches with kernel=auto. */
cudaError_t gpu_picture_element (const GpuPicture *p, cudaStream_t stream);

/* Runs the work once over poisoned memory: how many bytes of the planes that it writes are not the CPU backend's.
 * Negative: it failed. */
int64_t gpu_picture_wrong (GpuPicture *p, GpuWork work, void *user);

#endif

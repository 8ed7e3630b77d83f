/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_KERNELS_H
#define SOBEL_CUDA_KERNELS_H

#include "cudapicture.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launchers. Each queues its kernels on `stream` in the current context and returns what the launch said; none
 * allocates, copies or waits. */

/* Device memory between the passes of the ladder's kernels, for pictures of one size. */
typedef struct SobelCudaScratch
{
  uint32_t *luma;  /* of up to 32 bits a sample */
  uint16_t *edges; /* finished edge values E */
  size_t luma_pitch, edge_pitch; /* bytes */
} SobelCudaScratch;

/* Bytes of scratch for pictures of `width` x `height`, both pitches filled in. */
size_t sobel_cuda_scratch_layout (SobelCudaScratch *scratch, int32_t width, int32_t height);

/* Gray pass, Sobel pass, finish pass, each where it is needed. `variant`: NAIVE, CONSTANT or SHARED. */
cudaError_t sobel_cuda_ladder (const SobelCudaPicture *picture, SobelKernel variant, const SobelCudaScratch *scratch,
                               cudaStream_t stream);

/* One pass for every format, mode and parameter. */
cudaError_t sobel_cuda_fused (const SobelCudaPicture *picture, cudaStream_t stream);

/* One pass for the common pictures of 8-bit samples, edges drawn, at the speed of memory. */
typedef enum SobelFastKind
{
  SOBEL_FAST_NONE,
  SOBEL_FAST_LUMA,    /* plane of bytes to plane of bytes */
  SOBEL_FAST_RGB24,   /* three bytes a pixel, to the same */
  SOBEL_FAST_RGB32,   /* four bytes a pixel, to the same */
  SOBEL_FAST_RGB24_LUMA,
  SOBEL_FAST_RGB32_LUMA,
} SobelFastKind;

/* Whether the fast kernels can make this picture, and which. */
SobelFastKind sobel_cuda_fast_kind (const SobelCudaPicture *picture);

/* How the work is cut. */
typedef struct SobelFastShape
{
  int32_t rows; /* of a warp's share */
} SobelFastShape;

/* What takes least time on a GPU of so many multiprocessors. */
SobelFastShape sobel_cuda_fast_shape (const SobelCudaPicture *picture, SobelFastKind kind, int32_t multiprocessors);

cudaError_t sobel_cuda_fast (const SobelCudaPicture *picture, SobelFastKind kind, SobelFastShape shape,
                             cudaStream_t stream);

/* For tests: the fast kernels' edge value of |gx| = x, |gy| = y (both below `count`) into e[x * count + y]. */
cudaError_t sobel_cuda_fast_probe (uint8_t *e, uint32_t count, cudaStream_t stream);

/* Fills `rows` rows of `row_bytes` bytes with a repeated pair of bytes. */
cudaError_t sobel_cuda_fill (uint8_t *data, ptrdiff_t stride, size_t row_bytes, int32_t rows, uint8_t even, uint8_t odd,
                             cudaStream_t stream);

/* Whether the GPU has code of the kernels here: cudaSuccess, or why not. One stands for all: they are built for the
 * same GPUs. */
cudaError_t sobel_cuda_probe_code (void);

#ifdef __cplusplus
}
#endif
#endif

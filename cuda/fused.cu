/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One pass for every format and parameter: a block loads the luma of its tile and the samples around it once into
 * shared memory, computes the edge values there, and writes whatever the mode makes of them. Chroma that covers
 * several luma samples is why the edge values go through shared memory too. */
#include "cudakernels.h"
#include "cudasample.cuh"

enum {
  TILE_W = 64,
  TILE_H = SOBEL_CUDA_ROW_UNIT,
  THREADS = 256,
  HALO_SAMPLES = (TILE_W + 2) * (TILE_H + 2),
};

namespace
{
template <bool BYTES> struct Tile {
  const uint32_t (*l)[TILE_W + 2]; /* luma, from one sample outside the tile */
  const uint16_t (*e)[TILE_W];
  const SobelCudaPicture *picture;
  int32_t x0, y0; /* of the tile */

  __device__ __forceinline__ uint32_t
  luma (int32_t x, int32_t y) const
  {
    return l[y - y0 + 1][x - x0 + 1];
  }

  __device__ __forceinline__ uint32_t
  edge (int32_t x, int32_t y) const
  {
    return e[y - y0][x - x0];
  }

  __device__ __forceinline__ void
  gradients (int32_t x, int32_t y, int64_t *gx, int64_t *gy) const
  {
    uint32_t around[9];
    int i;

    *gx = *gy = 0;
    if (sobel_on_blank_rim (picture, x, y))
      return;
    for (i = 0; i < 9; i++)
      around[i] = luma (x + i % 3 - 1, y + i / 3 - 1);
    sobel_gradients_of<BYTES> (&picture->recipe, around, gx, gy);
  }
};
}

template <bool BYTES>
static __global__ void __launch_bounds__ (THREADS)
fused_kernel (SOBEL_KERNEL_ARG SobelCudaPicture p)
{
  __shared__ uint32_t luma[TILE_H + 2][TILE_W + 2];
  __shared__ uint16_t edges[TILE_H][TILE_W];
  const int32_t x0 = (int32_t) blockIdx.x * TILE_W, y0 = p.first_row + (int32_t) blockIdx.y * TILE_H;
  const Tile<BYTES> tile = {luma, edges, &p, x0, y0};
  int n;

#pragma unroll
  for (n = 0; n < HALO_SAMPLES; n += THREADS) {
    const int i = n + (int) threadIdx.x, tx = i % (TILE_W + 2), ty = i / (TILE_W + 2);
    if (i < HALO_SAMPLES)
      luma[ty][tx] = sobel_in_luma_around<BYTES> (&p, min (x0 + tx - 1, p.in.width), min (y0 + ty - 1, p.in.height));
  }
  __syncthreads ();
#pragma unroll
  for (n = 0; n < TILE_W * TILE_H; n += THREADS) {
    const int i = n + (int) threadIdx.x, tx = i % TILE_W, ty = i / TILE_W;
    const int32_t x = x0 + tx, y = y0 + ty;
    uint32_t strength = 0;

    if (x < p.in.width && y < p.in.height && !sobel_on_blank_rim (&p, x, y)) {
      int64_t gx, gy;
      tile.gradients (x, y, &gx, &gy);
      strength = sobel_strength<BYTES> (&p.recipe, gx, gy);
    }
    edges[ty][tx] = (uint16_t) sobel_edge_finish (&p.recipe, strength);
  }
  __syncthreads ();
  sobel_write_block<BYTES> (&p, tile, x0, y0, TILE_W, TILE_H, threadIdx.x, THREADS);
}

static bool
is_bytes (const SobelFormat *format)
{
  unsigned i;

  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];
    if (c->bytes != 1 || c->depth != 8 || c->pair_step != 2 * c->step)
      return false;
  }
  return true;
}

extern "C" cudaError_t
sobel_cuda_fused (const SobelCudaPicture *picture, cudaStream_t stream)
{
  const int32_t rows = picture->end_row - picture->first_row;
  const dim3 grid ((unsigned) (picture->in.width + TILE_W - 1) / TILE_W, (unsigned) (rows + TILE_H - 1) / TILE_H);

  if (rows <= 0)
    return cudaSuccess;
  if (picture->recipe.exact && is_bytes (&picture->in_format) && is_bytes (&picture->out_format))
    fused_kernel<true><<<grid, THREADS, 0, stream>>> (*picture);
  else
    fused_kernel<false><<<grid, THREADS, 0, stream>>> (*picture);
  return cudaGetLastError ();
}

extern "C" cudaError_t
sobel_cuda_probe_code (void)
{
  cudaFuncAttributes attributes;

  return cudaFuncGetAttributes (&attributes, fused_kernel<true>);
}

static __global__ void
fill_kernel (uint8_t *data, ptrdiff_t stride, size_t row_bytes, int32_t rows, uint32_t pair)
{
  const size_t x = (size_t) blockIdx.x * blockDim.x + threadIdx.x;
  int32_t y;

  for (y = (int32_t) blockIdx.y; x < row_bytes && y < rows; y += (int32_t) gridDim.y)
    data[(ptrdiff_t) y * stride + (ptrdiff_t) x] = (uint8_t) (x & 1 ? pair >> 8 : pair);
}

extern "C" cudaError_t
sobel_cuda_fill (uint8_t *data, ptrdiff_t stride, size_t row_bytes, int32_t rows, uint8_t even, uint8_t odd,
                 cudaStream_t stream)
{
  const dim3 grid ((unsigned) ((row_bytes + THREADS - 1) / THREADS), (unsigned) (rows < 65535 ? rows : 65535));

  if (row_bytes == 0 || rows <= 0)
    return cudaSuccess;
  fill_kernel<<<grid, THREADS, 0, stream>>> (data, stride, row_bytes, rows, even | (uint32_t) odd << 8);
  return cudaGetLastError ();
}

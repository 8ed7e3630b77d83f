/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trials.h"

static __constant__ int8_t weights[2][9] = {{-1, 0, 1, -2, 0, 2, -1, 0, 1}, {-1, -2, -1, 0, 0, 0, 1, 2, 1}};

static const int TILE = 16;

static __device__ __forceinline__ int
clamp_to (int v, int n)
{
  return min (max (v, 0), n - 1);
}

/* min (255, floor (sqrt (n))), but for RECIPROCAL, which is the textbook's shortcut and may be one too low. */
template <int ROOT>
static __device__ __forceinline__ uint8_t
root_of (int n)
{
  float e;

  if (ROOT == TRIAL_ROOT_ROUNDED) {
    e = __fsqrt_rn ((float) n);
  } else if (ROOT == TRIAL_ROOT_APPROXIMATE) {
    asm ("sqrt.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"((float) n + 0.5f));
  } else if (ROOT == TRIAL_ROOT_RECIPROCAL) {
    e = n ? (float) n * rsqrtf ((float) n) : 0.0f;
  } else if (ROOT == TRIAL_ROOT_RECIPROCAL_HALF) {
    const float h = (float) n + 0.5f;
    e = h * rsqrtf (h);
  } else {
    return (uint8_t) min (255, (int) sqrt ((double) n));
  }
  return (uint8_t) min (255, (int) e);
}

template <int ROOT, int UNROLL>
static __global__ void
gray_kernel (TrialPicture p)
{
  const int x = (int) (blockIdx.x * blockDim.x + threadIdx.x), y = (int) (blockIdx.y * blockDim.y + threadIdx.y);
  int gx = 0, gy = 0;

  if (x >= p.width || y >= p.height)
    return;
#pragma unroll UNROLL
  for (int i = 0; i < 9; i++) {
    const int l = p.in[(size_t) clamp_to (y + i / 3 - 1, p.height) * p.width + clamp_to (x + i % 3 - 1, p.width)];
    gx += weights[0][i] * l;
    gy += weights[1][i] * l;
  }
  p.out[(size_t) y * p.width + x] = root_of<ROOT> (gx * gx + gy * gy);
}

static dim3
grid_of (const TrialPicture *p, dim3 block)
{
  return dim3 (((unsigned) p->width + block.x - 1) / block.x, ((unsigned) p->height + block.y - 1) / block.y);
}

extern "C" cudaError_t
trial_unroll (const TrialPicture *p, int unroll, dim3 block, cudaStream_t stream)
{
  const dim3 grid = grid_of (p, block);

  if (unroll == 1)
    gray_kernel<TRIAL_ROOT_APPROXIMATE, 1><<<grid, block, 0, stream>>> (*p);
  else if (unroll == 3)
    gray_kernel<TRIAL_ROOT_APPROXIMATE, 3><<<grid, block, 0, stream>>> (*p);
  else
    gray_kernel<TRIAL_ROOT_APPROXIMATE, 9><<<grid, block, 0, stream>>> (*p);
  return cudaGetLastError ();
}

extern "C" cudaError_t
trial_root (const TrialPicture *p, TrialRoot root, cudaStream_t stream)
{
  const dim3 block (32, 8), grid = grid_of (p, block);

  switch (root) {
    case TRIAL_ROOT_ROUNDED:
      gray_kernel<TRIAL_ROOT_ROUNDED, 9><<<grid, block, 0, stream>>> (*p);
      break;
    case TRIAL_ROOT_APPROXIMATE:
      gray_kernel<TRIAL_ROOT_APPROXIMATE, 9><<<grid, block, 0, stream>>> (*p);
      break;
    case TRIAL_ROOT_RECIPROCAL:
      gray_kernel<TRIAL_ROOT_RECIPROCAL, 9><<<grid, block, 0, stream>>> (*p);
      break;
    case TRIAL_ROOT_RECIPROCAL_HALF:
      gray_kernel<TRIAL_ROOT_RECIPROCAL_HALF, 9><<<grid, block, 0, stream>>> (*p);
      break;
    default:
      gray_kernel<TRIAL_ROOT_DOUBLE, 9><<<grid, block, 0, stream>>> (*p);
      break;
  }
  return cudaGetLastError ();
}

/* ---- one pass or two ------------------------------------------------------------------------------ */

static __device__ __forceinline__ int
luma_at (const TrialPicture &p, int x, int y)
{
  const uint8_t *pixel = p.in + ((size_t) clamp_to (y, p.height) * p.width + clamp_to (x, p.width)) * 3;

  return (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2]) / 1000;
}

static __device__ __forceinline__ void
store_rgb (const TrialPicture &p, int x, int y, const int l[9])
{
  const int gx = l[2] - l[0] + 2 * (l[5] - l[3]) + l[8] - l[6], gy = l[6] - l[0] + 2 * (l[7] - l[1]) + l[8] - l[2];
  const uint8_t e = root_of<TRIAL_ROOT_APPROXIMATE> (gx * gx + gy * gy);
  uint8_t *pixel = p.out + ((size_t) y * p.width + x) * 3;

  pixel[0] = pixel[1] = pixel[2] = e;
}

static __global__ void
to_gray_kernel (TrialPicture p)
{
  const int x = (int) (blockIdx.x * blockDim.x + threadIdx.x), y = (int) (blockIdx.y * blockDim.y + threadIdx.y);

  if (x < p.width && y < p.height)
    p.between[(size_t) y * p.width + x] = (uint8_t) luma_at (p, x, y);
}

static __global__ void
second_kernel (TrialPicture p)
{
  const int x = (int) (blockIdx.x * blockDim.x + threadIdx.x), y = (int) (blockIdx.y * blockDim.y + threadIdx.y);
  int l[9];

  if (x >= p.width || y >= p.height)
    return;
#pragma unroll
  for (int i = 0; i < 9; i++)
    l[i] = p.between[(size_t) clamp_to (y + i / 3 - 1, p.height) * p.width + clamp_to (x + i % 3 - 1, p.width)];
  store_rgb (p, x, y, l);
}

static __global__ void
one_kernel (TrialPicture p)
{
  const int x = (int) (blockIdx.x * blockDim.x + threadIdx.x), y = (int) (blockIdx.y * blockDim.y + threadIdx.y);
  int l[9];

  if (x >= p.width || y >= p.height)
    return;
#pragma unroll
  for (int i = 0; i < 9; i++)
    l[i] = luma_at (p, x + i % 3 - 1, y + i / 3 - 1);
  store_rgb (p, x, y, l);
}

static __global__ void
tile_kernel (TrialPicture p)
{
  __shared__ int tile[TILE + 2][2 * TILE + 2];
  const int x0 = (int) blockIdx.x * 2 * TILE, y0 = (int) blockIdx.y * TILE;
  const int x = x0 + (int) threadIdx.x, y = y0 + (int) threadIdx.y;
  int l[9];

  for (int i = (int) (threadIdx.y * 2 * TILE + threadIdx.x); i < (TILE + 2) * (2 * TILE + 2); i += 2 * TILE * TILE)
    tile[i / (2 * TILE + 2)][i % (2 * TILE + 2)] =
        luma_at (p, x0 + i % (2 * TILE + 2) - 1, y0 + i / (2 * TILE + 2) - 1);
  __syncthreads ();
  if (x >= p.width || y >= p.height)
    return;
#pragma unroll
  for (int i = 0; i < 9; i++)
    l[i] = tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
  store_rgb (p, x, y, l);
}

extern "C" cudaError_t
trial_two_passes (const TrialPicture *p, cudaStream_t stream)
{
  const dim3 block (32, 8), grid = grid_of (p, block);

  to_gray_kernel<<<grid, block, 0, stream>>> (*p);
  second_kernel<<<grid, block, 0, stream>>> (*p);
  return cudaGetLastError ();
}

extern "C" cudaError_t
trial_one_pass (const TrialPicture *p, cudaStream_t stream)
{
  const dim3 block (32, 8), grid = grid_of (p, block);

  one_kernel<<<grid, block, 0, stream>>> (*p);
  return cudaGetLastError ();
}

extern "C" cudaError_t
trial_one_pass_tile (const TrialPicture *p, cudaStream_t stream)
{
  const dim3 block (2 * TILE, TILE), grid = grid_of (p, block);

  tile_kernel<<<grid, block, 0, stream>>> (*p);
  return cudaGetLastError ();
}

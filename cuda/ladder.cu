/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ladder: the textbook's kernels, rung by rung, for comparison: a gray pass to a plane of luma, a Sobel pass from
 * it (`naive`: every sample from global memory; `constant`: the weights from constant memory; `shared`: from a tile
 * with a halo of one sample), and a finish pass that makes the picture. The gray pass is skipped where the input's
 * luma is a plane by itself, the finish pass where the Sobel pass can write the samples at once. */
#include "cudakernels.h"
#include "cudasample.cuh"

enum { BLOCK = 16, ROW_THREADS = 256 };

/* Where the Sobel pass reads luma: samples of type S. */
template <typename S> struct LumaPlane {
  const uint8_t *data;
  ptrdiff_t stride;

  __device__ __forceinline__ uint32_t
  at (int32_t x, int32_t y) const
  {
    return (reinterpret_cast<const S *> (data + (ptrdiff_t) y * stride))[x];
  }

  __device__ __forceinline__ uint32_t
  around (const SobelCudaPicture *p, int32_t x, int32_t y) const
  {
    const int32_t w = p->in.width, h = p->in.height;

    if (p->recipe.border == SOBEL_BORDER_ZERO && (x < 0 || y < 0 || x >= w || y >= h))
      return p->recipe.outside;
    return at (sobel_border_index (p->recipe.border, x, w), sobel_border_index (p->recipe.border, y, h));
  }
};

struct EdgePlane {
  uint16_t *data; /* NULL: the Sobel pass writes samples of the output */
  size_t pitch;   /* bytes */

  __device__ __forceinline__ uint16_t *
  at (int32_t x, int32_t y) const
  {
    return reinterpret_cast<uint16_t *> (reinterpret_cast<uint8_t *> (data) + (size_t) y * pitch) + x;
  }
};

/* Column-wise and row-wise weights of the operators: sobel, scharr, prewitt. */
static __constant__ int8_t constant_weights[3][2][9] = {
    {{-1, 0, 1, -2, 0, 2, -1, 0, 1}, {-1, -2, -1, 0, 0, 0, 1, 2, 1}},
    {{-3, 0, 3, -10, 0, 10, -3, 0, 3}, {-3, -10, -3, 0, 0, 0, 3, 10, 3}},
    {{-1, 0, 1, -1, 0, 1, -1, 0, 1}, {-1, -1, -1, 0, 0, 0, 1, 1, 1}},
};

static __global__ void
gray_kernel (SOBEL_KERNEL_ARG SobelCudaPicture p, uint8_t *luma, size_t pitch)
{
  const int32_t x = (int32_t) (blockIdx.x * BLOCK + threadIdx.x);
  /* The halo rows of a strip too. */
  const int32_t y = p.first_row - 1 + (int32_t) (blockIdx.y * BLOCK + threadIdx.y);

  if (x < p.in.width && y >= 0 && y < p.in.height && y <= p.end_row)
    reinterpret_cast<uint32_t *> (luma + (size_t) y * pitch)[x] = sobel_in_luma<false> (&p, x, y);
}

/* Edge value and where it goes. */
static __device__ __forceinline__ void
finish_edge (const SobelCudaPicture *p, const EdgePlane &edges, int32_t x, int32_t y, int64_t gx, int64_t gy)
{
  const SobelRecipe *recipe = &p->recipe;
  const uint32_t strength = sobel_on_blank_rim (p, x, y) ? 0 : sobel_strength<false> (recipe, gx, gy);
  const uint32_t e = sobel_edge_finish (recipe, strength);

  if (edges.data) {
    *edges.at (x, y) = (uint16_t) e;
  } else {
    const SobelComponent *c = &p->out_format.component[0];
    uint8_t *row = p->out.plane[c->plane].data + (ptrdiff_t) y * p->out.plane[c->plane].stride;
    const uint32_t code = recipe->gray_out ? sobel_gray_scale (recipe, e) : recipe->black + e;

    sobel_container_store (row + sobel_sample_offset (c, x), c->bytes, p->out_format.big_endian, code << c->shift);
  }
}

template <typename S>
static __global__ void __launch_bounds__ (BLOCK *BLOCK)
naive_kernel (SOBEL_KERNEL_ARG SobelCudaPicture p, LumaPlane<S> luma, EdgePlane edges)
{
  const int32_t x = (int32_t) (blockIdx.x * BLOCK + threadIdx.x);
  const int32_t y = p.first_row + (int32_t) (blockIdx.y * BLOCK + threadIdx.y);
  uint32_t l[9];
  int64_t gx, gy;
  int i;

  if (x >= p.in.width || y >= p.in.height || y >= p.end_row)
    return;
  for (i = 0; i < 9; i++)
    l[i] = luma.around (&p, x + i % 3 - 1, y + i / 3 - 1);
  sobel_gradients_of<false> (&p.recipe, l, &gx, &gy);
  finish_edge (&p, edges, x, y, gx, gy);
}

template <typename S>
static __global__ void __launch_bounds__ (BLOCK *BLOCK)
constant_kernel (SOBEL_KERNEL_ARG SobelCudaPicture p, LumaPlane<S> luma, EdgePlane edges, int op)
{
  const int32_t x = (int32_t) (blockIdx.x * BLOCK + threadIdx.x);
  const int32_t y = p.first_row + (int32_t) (blockIdx.y * BLOCK + threadIdx.y);
  int64_t gx = 0, gy = 0;
  int i;

  if (x >= p.in.width || y >= p.in.height || y >= p.end_row)
    return;
  for (i = 0; i < 9; i++) {
    const int64_t l = luma.around (&p, x + i % 3 - 1, y + i / 3 - 1);
    gx += constant_weights[op][0][i] * l;
    gy += constant_weights[op][1][i] * l;
  }
  finish_edge (&p, edges, x, y, gx, gy);
}

template <typename S>
static __global__ void __launch_bounds__ (BLOCK *BLOCK)
shared_kernel (SOBEL_KERNEL_ARG SobelCudaPicture p, LumaPlane<S> luma, EdgePlane edges)
{
  __shared__ uint32_t tile[BLOCK + 2][BLOCK + 2];
  const int32_t x0 = (int32_t) blockIdx.x * BLOCK, y0 = p.first_row + (int32_t) blockIdx.y * BLOCK;
  const int32_t x = x0 + (int32_t) threadIdx.x, y = y0 + (int32_t) threadIdx.y;
  uint32_t l[9];
  int64_t gx, gy;
  int i;

  for (i = (int) (threadIdx.y * BLOCK + threadIdx.x); i < (BLOCK + 2) * (BLOCK + 2); i += BLOCK * BLOCK)
    tile[i / (BLOCK + 2)][i % (BLOCK + 2)] = luma.around (&p, min (x0 + i % (BLOCK + 2) - 1, p.in.width),
                                                          min (y0 + i / (BLOCK + 2) - 1, p.in.height));
  __syncthreads ();
  /* After the barrier: threads outside the picture have loaded samples for those inside. */
  if (x >= p.in.width || y >= p.in.height || y >= p.end_row)
    return;
  for (i = 0; i < 9; i++)
    l[i] = tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
  sobel_gradients_of<false> (&p.recipe, l, &gx, &gy);
  finish_edge (&p, edges, x, y, gx, gy);
}

/* What the finish pass reads. */
template <typename S> struct Planes {
  const SobelCudaPicture *picture;
  LumaPlane<S> l;
  EdgePlane e;

  __device__ __forceinline__ uint32_t
  luma (int32_t x, int32_t y) const
  {
    return l.at (x, y);
  }

  __device__ __forceinline__ uint32_t
  edge (int32_t x, int32_t y) const
  {
    return *e.at (x, y);
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
      around[i] = l.around (picture, x + i % 3 - 1, y + i / 3 - 1);
    sobel_gradients_of<false> (&picture->recipe, around, gx, gy);
  }
};

template <typename S>
static __global__ void __launch_bounds__ (ROW_THREADS)
finish_kernel (SOBEL_KERNEL_ARG SobelCudaPicture p, LumaPlane<S> luma, EdgePlane edges)
{
  const Planes<S> planes = {&p, luma, edges};

  sobel_write_block<false> (&p, planes, (int32_t) blockIdx.x * 4 * BLOCK, p.first_row + (int32_t) blockIdx.y * BLOCK,
                     4 * BLOCK, BLOCK, threadIdx.x, ROW_THREADS);
}

/* ---- host ----------------------------------------------------------------------------------------- */

template <typename S>
static cudaError_t
sobel_passes (const SobelCudaPicture *p, SobelKernel variant, LumaPlane<S> luma, EdgePlane edges, cudaStream_t stream)
{
  const int32_t end = p->end_row < p->in.height ? p->end_row : p->in.height, rows = end - p->first_row;
  const dim3 block (BLOCK, BLOCK);
  const dim3 grid ((unsigned) (p->in.width + BLOCK - 1) / BLOCK, (unsigned) (rows + BLOCK - 1) / BLOCK);
  const int op = p->recipe.side == 3 ? 1 : p->recipe.centre == 2 ? 0 : 2;
  const dim3 blocks ((unsigned) (p->in.width + 4 * BLOCK - 1) / (4 * BLOCK),
                     (unsigned) (p->end_row - p->first_row + BLOCK - 1) / BLOCK);

  if (rows > 0) {
    if (variant == SOBEL_KERNEL_NAIVE)
      naive_kernel<S><<<grid, block, 0, stream>>> (*p, luma, edges);
    else if (variant == SOBEL_KERNEL_CONSTANT)
      constant_kernel<S><<<grid, block, 0, stream>>> (*p, luma, edges, op);
    else
      shared_kernel<S><<<grid, block, 0, stream>>> (*p, luma, edges);
  }
  if (edges.data)
    finish_kernel<S><<<blocks, ROW_THREADS, 0, stream>>> (*p, luma, edges);
  return cudaGetLastError ();
}

/* Component 0 has a plane to itself. */
static bool
is_alone (const SobelFormat *format)
{
  unsigned i;

  for (i = 1; i < format->n_components; i++)
    if (format->component[i].plane == format->component[0].plane)
      return false;
  return true;
}

static bool
writes_only (const SobelCudaPicture *p, unsigned plane)
{
  unsigned i;

  for (i = 0; i < p->out_format.n_planes; i++)
    if (i != plane && (p->out_use[i] & SOBEL_PLANE_WRITE))
      return false;
  return true;
}

extern "C" size_t
sobel_cuda_scratch_layout (SobelCudaScratch *scratch, int32_t width, int32_t height)
{
  scratch->luma_pitch = ((size_t) width * sizeof (uint32_t) + 255) & ~(size_t) 255;
  scratch->edge_pitch = ((size_t) width * sizeof (uint16_t) + 255) & ~(size_t) 255;
  return (scratch->luma_pitch + scratch->edge_pitch) * (size_t) height;
}

extern "C" cudaError_t
sobel_cuda_ladder (const SobelCudaPicture *p, SobelKernel variant, const SobelCudaScratch *scratch, cudaStream_t stream)
{
  const SobelComponent *in = &p->in_format.component[0], *out = &p->out_format.component[0];
  const SobelPlane *plane = &p->in.plane[in->plane];
  /* Codes of edges, in a plane that holds nothing else to compute. */
  const bool direct = p->recipe.mode == SOBEL_MODE_EDGES && is_alone (&p->out_format) && writes_only (p, out->plane) &&
                      p->out_format.family != SOBEL_FAMILY_RGB;
  const EdgePlane edges = {direct ? NULL : scratch->edges, scratch->edge_pitch};

  if (p->end_row <= p->first_row)
    return cudaSuccess;
  if (sobel_cuda_is_byte_plane (&p->in_format))
    return sobel_passes<uint8_t> (p, variant, {plane->data, plane->stride}, edges, stream);
  gray_kernel<<<dim3 ((unsigned) (p->in.width + BLOCK - 1) / BLOCK,
                      (unsigned) (p->end_row - p->first_row + 2 + BLOCK - 1) / BLOCK),
                dim3 (BLOCK, BLOCK), 0, stream>>> (*p, (uint8_t *) scratch->luma, scratch->luma_pitch);
  return sobel_passes<uint32_t> (p, variant, {(const uint8_t *) scratch->luma, (ptrdiff_t) scratch->luma_pitch},
                                 edges, stream);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_SAMPLE_CUH
#define SOBEL_CUDA_SAMPLE_CUH

/* What every kernel but the fast ones is made of: luma samples in, edge values, samples out.
 *
 * BYTES: all components of both formats are bytes at a constant step, luma is integer and gain is 1. That is most of
 * what people have, and the half of the code that is needed for it is the shorter one. */

#include "cudapicture.h"
#include "cudaroot.cuh"
#include "sobelarith.h"

/* Kernel arguments are indexed at run time (components, planes); the qualifier lets that happen in place instead
 * of in a copy in local memory. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#define SOBEL_KERNEL_ARG const
#else
#define SOBEL_KERNEL_ARG const __grid_constant__
#endif

static __device__ __forceinline__ const uint8_t *
sobel_plane_row (const SobelImage *image, unsigned plane, int32_t y)
{
  return image->plane[plane].data + (ptrdiff_t) y * image->plane[plane].stride;
}

template <bool BYTES>
static __device__ __forceinline__ uint32_t
sobel_in_sample (const SobelCudaPicture *p, unsigned component, int32_t x, int32_t y)
{
  const SobelComponent *c = &p->in_format.component[component];

  if (BYTES)
    return sobel_plane_row (&p->in, c->plane, y)[c->offset + (uint32_t) (x * c->step)];
  return sobel_sample_load (c, p->in_format.big_endian, sobel_plane_row (&p->in, c->plane, y), x);
}

/* L of a sample inside the picture, in units of 1/u. */
template <bool BYTES>
static __device__ __forceinline__ uint32_t
sobel_in_luma (const SobelCudaPicture *p, int32_t x, int32_t y)
{
  const uint32_t first = sobel_in_sample<BYTES> (p, 0, x, y);

  if (p->in_format.family != SOBEL_FAMILY_RGB)
    return first;
  return sobel_luma_rgb (&p->recipe, first, sobel_in_sample<BYTES> (p, 1, x, y),
                         sobel_in_sample<BYTES> (p, 2, x, y));
}

/* L at (x, y), which may be one step outside the picture; anything in a picture without rows (the second field of
 * a frame of one row, which may still have a chroma row). */
template <bool BYTES>
static __device__ __forceinline__ uint32_t
sobel_in_luma_around (const SobelCudaPicture *p, int32_t x, int32_t y)
{
  const int32_t w = p->in.width, h = p->in.height;

  if (h == 0 || (p->recipe.border == SOBEL_BORDER_ZERO && (x < 0 || y < 0 || x >= w || y >= h)))
    return p->recipe.outside;
  return sobel_in_luma<BYTES> (p, sobel_border_index (p->recipe.border, x, w),
                               sobel_border_index (p->recipe.border, y, h));
}

/* border=none blanks the rim. */
static __device__ __forceinline__ bool
sobel_on_blank_rim (const SobelCudaPicture *p, int32_t x, int32_t y)
{
  return p->recipe.border == SOBEL_BORDER_NONE &&
         (x == 0 || y == 0 || x == p->in.width - 1 || y == p->in.height - 1);
}

/* ---- edge values ---------------------------------------------------------------------------------- */

/* floor (sqrt (ax^2 + ay^2)), at most `range` (65535 or less); ax, ay < 2^21. The approximate root is off by one at
 * most, which the remainder tells; that fits 32 bits although the squares do not. */
static __device__ __forceinline__ uint32_t
sobel_root (uint32_t ax, uint32_t ay, uint32_t range)
{
  const float fx = (float) ax, fy = (float) ay;
  uint32_t r;
  int32_t rest;

  if (ax >= range || ay >= range)
    return range;
  r = (uint32_t) sobel_approximate_root (fx * fx + fy * fy);
  rest = (int32_t) (ax * ax + ay * ay - r * r);
  if (rest < 0)
    r--;
  else if (rest > (int32_t) (2 * r))
    r++;
  return r < range ? r : range;
}

/* As sobel_edge_strength, for integer luma and gain 1 without double precision, which few GPUs are good at. */
template <bool BYTES>
static __device__ __forceinline__ uint32_t
sobel_strength (const SobelRecipe *recipe, int64_t gx, int64_t gy)
{
  uint32_t ax, ay, sum;

  if (!BYTES && !recipe->exact)
    return sobel_edge_strength (recipe, gx, gy);
  ax = (uint32_t) abs ((int32_t) gx);
  ay = (uint32_t) abs ((int32_t) gy);
  if (recipe->gradient == SOBEL_GRADIENT_BOTH && recipe->norm == SOBEL_NORM_L2)
    return sobel_root (ax, ay, recipe->range);
  sum = recipe->gradient == SOBEL_GRADIENT_X ? ax : recipe->gradient == SOBEL_GRADIENT_Y ? ay : ax + ay;
  return sum < recipe->range ? sum : recipe->range;
}

/* Gradients of a 3x3 neighbourhood, row by row. G is int32_t where u = 1, else int64_t. */
template <typename G>
static __device__ __forceinline__ void
sobel_gradients (const SobelRecipe *recipe, const uint32_t l[9], int64_t *gx, int64_t *gy)
{
  const G s = recipe->side, c = recipe->centre;

  *gx = s * ((G) l[2] - (G) l[0] + (G) l[8] - (G) l[6]) + c * ((G) l[5] - (G) l[3]);
  *gy = s * ((G) l[6] - (G) l[0] + (G) l[8] - (G) l[2]) + c * ((G) l[7] - (G) l[1]);
}

template <bool BYTES>
static __device__ __forceinline__ void
sobel_gradients_of (const SobelRecipe *recipe, const uint32_t l[9], int64_t *gx, int64_t *gy)
{
  if (BYTES || recipe->unit == 1)
    sobel_gradients<int32_t> (recipe, l, gx, gy);
  else
    sobel_gradients<int64_t> (recipe, l, gx, gy);
}

/* ---- samples out ---------------------------------------------------------------------------------- */

/* Overlay; where the codes are bytes, 32 bits hold everything: 2 * 255 * D + D with D <= 16 * 255 * 255. The quotient
 * is below 256, so an approximate one is off by one at most. */
static __device__ __forceinline__ uint32_t
sobel_blend (const SobelRecipe *recipe, uint32_t in, uint32_t code, uint32_t e_sum, uint32_t covered)
{
  uint32_t d, k, n, q;
  int32_t rest;

  if (recipe->max_code > 255)
    return sobel_overlay (recipe, in, code, e_sum, covered);
  d = covered * 255 * recipe->range;
  k = e_sum * recipe->overlay_alpha;
  n = 2 * (in * (d - k) + code * k) + d;
  q = (uint32_t) __fdividef ((float) n, (float) (2 * d));
  rest = (int32_t) (n - q * 2 * d);
  if (rest < 0)
    q--;
  else if (rest >= (int32_t) (2 * d))
    q++;
  return q;
}

/* A sample of full resolution. `Source` has luma (x, y), edge (x, y) and gradients (x, y, &gx, &gy). */
template <bool BYTES, class Source>
static __device__ __forceinline__ uint32_t
sobel_full_sample (const SobelCudaPicture *p, const Source &source, unsigned i, int32_t x, int32_t y)
{
  const SobelRecipe *recipe = &p->recipe;
  const uint32_t e = source.edge (x, y);
  float shares[3];
  int64_t gx, gy;

  if (recipe->gray_out) {
    /* The usual case without a 64-bit division: edges as they are. */
    if (recipe->mode == SOBEL_MODE_EDGES && recipe->gray_max == recipe->range)
      return e;
    return sobel_gray_out (recipe, source.luma (x, y), e);
  }
  switch (recipe->mode) {
    case SOBEL_MODE_OVERLAY:
      return sobel_blend (recipe, sobel_in_sample<BYTES> (p, i, x, y), recipe->overlay_code[i], e, 1);
    case SOBEL_MODE_MASK:
      return e ? sobel_in_sample<BYTES> (p, i, x, y) : recipe->black;
    case SOBEL_MODE_DIRECTION:
      if (p->out_format.family == SOBEL_FAMILY_GRAY)
        return recipe->black + e;
      source.gradients (x, y, &gx, &gy);
      sobel_hue_shares (gx, gy, shares);
      return sobel_hue_code (recipe, recipe->black, sobel_hue_offset (recipe, (int) i, shares, e));
    default:
      return recipe->black + e;
  }
}

/* A chroma sample, from the luma samples inside the picture that it covers: none in rows that only the layout
 * has. Sums go row by row, as on the CPU. */
template <bool BYTES, class Source>
static __device__ __forceinline__ uint32_t
sobel_chroma_sample (const SobelCudaPicture *p, const Source &source, unsigned i, int32_t sx, int32_t sy)
{
  const SobelRecipe *recipe = &p->recipe;
  const SobelComponent *c = &p->out_format.component[i];
  const int32_t x0 = sx << c->w_sub, y0 = sy << c->h_sub;
  const int32_t x1 = min (x0 + (1 << c->w_sub), p->out.width), y1 = min (y0 + (1 << c->h_sub), p->out.height);
  const uint32_t covered = x1 > x0 && y1 > y0 ? (uint32_t) ((x1 - x0) * (y1 - y0)) : 0;
  uint32_t e_sum = 0, in;
  float offset = 0, shares[3];
  int64_t gx, gy;
  int32_t x, y;

  if (recipe->mode == SOBEL_MODE_EDGES)
    return recipe->neutral;
  for (y = y0; y < y1; y++) {
    for (x = x0; x < x1; x++) {
      const uint32_t e = source.edge (x, y);

      e_sum += e;
      if (recipe->mode == SOBEL_MODE_DIRECTION) {
        source.gradients (x, y, &gx, &gy);
        sobel_hue_shares (gx, gy, shares);
        offset = offset + sobel_hue_offset (recipe, (int) i, shares, e);
      }
    }
  }
  if (recipe->mode == SOBEL_MODE_DIRECTION)
    return covered ? sobel_hue_code (recipe, recipe->neutral, offset / (float) covered) : recipe->neutral;
  in = sy < p->in.plane[c->plane].rows ? sobel_in_sample<BYTES> (p, i, sx, sy) : recipe->neutral;
  if (recipe->mode == SOBEL_MODE_OVERLAY)
    return covered ? sobel_blend (recipe, in, recipe->overlay_code[i], e_sum, covered) : in;
  return e_sum ? in : recipe->neutral;
}

template <bool BYTES, class Source>
static __device__ __forceinline__ uint32_t
sobel_out_sample (const SobelCudaPicture *p, const Source &source, unsigned i, int32_t sx, int32_t sy)
{
  if (i == 3)
    return p->out_format.padded ? (1u << p->out_format.component[3].depth) - 1 : sobel_in_sample<BYTES> (p, 3, sx, sy);
  if (p->out_format.family == SOBEL_FAMILY_YUV && i > 0)
    return sobel_chroma_sample<BYTES> (p, source, i, sx, sy);
  return sobel_full_sample<BYTES> (p, source, i, sx, sy);
}

/* ---- blocks --------------------------------------------------------------------------------------- */

/* Writes what the block at (bx, by), `width` x `height` luma samples, covers of every written plane. Width and
 * height are multiples of 4, and bx and by of them, so no subsampled sample belongs to two blocks. */
template <bool BYTES, class Source>
static __device__ __forceinline__ void
sobel_write_block (const SobelCudaPicture *p, const Source &source, int32_t bx, int32_t by, int32_t width,
                   int32_t height, unsigned thread, unsigned n_threads)
{
  const SobelFormat *format = &p->out_format;
  const bool words = !BYTES && format->component[0].bytes == 4; /* all components in one container */
  unsigned i, n;

  for (i = 0; i < (words ? 1 : format->n_components); i++) {
    const SobelComponent *c = &format->component[i];
    const int32_t w = width >> c->w_sub;
    const int32_t end_x = (p->out.width + (1 << c->w_sub) - 1) >> c->w_sub;
    const int32_t end_y = c->h_sub ? p->out.plane[c->plane].rows : p->out.height;

    if (!(p->out_use[c->plane] & SOBEL_PLANE_WRITE))
      continue;
    for (n = thread; n < (unsigned) (w * (height >> c->h_sub)); n += n_threads) {
      const int32_t sx = (bx >> c->w_sub) + (int32_t) (n % (unsigned) w);
      const int32_t sy = (by >> c->h_sub) + (int32_t) (n / (unsigned) w);
      uint8_t *row = p->out.plane[c->plane].data + (ptrdiff_t) sy * p->out.plane[c->plane].stride;
      const size_t at = BYTES ? c->offset + (uint32_t) (sx * c->step) : sobel_sample_offset (c, sx);
      uint32_t container = 0;

      if (sy >= end_y)
        continue;
      if (sx >= end_x) {
        /* Luma beyond the picture, in the macropixel that it ends in: 0. */
        if (at + c->bytes > p->out_row_bytes[c->plane])
          continue;
      } else if (words) {
        unsigned k;
        for (k = 0; k < format->n_components; k++)
          container |= sobel_out_sample<BYTES> (p, source, k, sx, sy) << format->component[k].shift;
      } else {
        container = sobel_out_sample<BYTES> (p, source, i, sx, sy) << (BYTES ? 0 : c->shift);
      }
      if (BYTES)
        row[at] = (uint8_t) container;
      else
        sobel_container_store (row + at, c->bytes, format->big_endian, container);
    }
  }
}

#endif

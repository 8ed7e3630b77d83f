/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ARITH_H
#define SOBEL_ARITH_H

/* The arithmetic of one sample, once, for the C and the CUDA code (docs/numbers.md says what it means).
 * Vector code may compute the same values another way; it is checked against the oracle, as this is.
 *
 * Compiled with -ffp-contract=off and nvcc --fmad=false: a contracted multiply-add would round once where
 * that page rounds twice. */

#include "sobelrecipe.h"

#include <math.h>

#ifdef __CUDACC__
#define SOBEL_FN static __host__ __device__ __forceinline__
#else
#define SOBEL_FN static inline
#endif

/* ---- samples -------------------------------------------------------------------------------------- */

SOBEL_FN size_t
sobel_sample_offset (const SobelComponent *c, int32_t x)
{
  return c->offset + (size_t) (x >> 1) * c->pair_step + (size_t) (x & 1) * c->step;
}

/* The container at `p`, in native order. Byte by byte: packed rows need not be aligned. */
SOBEL_FN uint32_t
sobel_container_load (const uint8_t *p, unsigned bytes, bool big_endian)
{
  if (bytes == 1)
    return p[0];
  if (bytes == 2)
    return big_endian ? (uint32_t) p[0] << 8 | p[1] : (uint32_t) p[1] << 8 | p[0];
  return big_endian ? (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3]
                    : (uint32_t) p[3] << 24 | (uint32_t) p[2] << 16 | (uint32_t) p[1] << 8 | p[0];
}

SOBEL_FN void
sobel_container_store (uint8_t *p, unsigned bytes, bool big_endian, uint32_t value)
{
  unsigned i;

  for (i = 0; i < bytes; i++)
    p[big_endian ? bytes - 1 - i : i] = (uint8_t) (value >> 8 * i);
}

SOBEL_FN uint32_t
sobel_sample_load (const SobelComponent *c, bool big_endian, const uint8_t *row, int32_t x)
{
  return sobel_container_load (row + sobel_sample_offset (c, x), c->bytes, big_endian) >> c->shift &
         ((1u << c->depth) - 1);
}

/* Luma of an RGB sample, in units of 1/recipe->unit. At most 65535 * 10000 < 2^30. */
SOBEL_FN uint32_t
sobel_luma_rgb (const SobelRecipe *recipe, uint32_t r, uint32_t g, uint32_t b)
{
  const uint32_t sum =
      recipe->luma_weight[0] * r + recipe->luma_weight[1] * g + recipe->luma_weight[2] * b;

  return recipe->unit == 1 ? sum / recipe->luma_unit : sum;
}

/* ---- outside the picture -------------------------------------------------------------------------- */

/* The column (or row) to read for `i`, which is at most one step outside 0 ... size - 1; for border=zero
 * and none the nearest one, and the caller replaces the value. */
SOBEL_FN int32_t
sobel_border_index (SobelBorder border, int32_t i, int32_t size)
{
  if (i < 0)
    return border == SOBEL_BORDER_MIRROR && size > 1 ? 1 : 0;
  if (i >= size)
    return border == SOBEL_BORDER_MIRROR && size > 1 ? size - 2 : size - 1;
  return i;
}

/* ---- edge value ----------------------------------------------------------------------------------- */

/* E before threshold and invert, from gx and gy in units of 1/u. |gx|, |gy| <= 16 * 65535 * 10000 < 2^34. */
SOBEL_FN uint32_t
sobel_edge_strength (const SobelRecipe *recipe, int64_t gx, int64_t gy)
{
  const int64_t ax = gx < 0 ? -gx : gx, ay = gy < 0 ? -gy : gy;
  const bool l2 = recipe->gradient == SOBEL_GRADIENT_BOTH && recipe->norm == SOBEL_NORM_L2;
  int64_t sum; /* of absolute values, where no root is taken */
  double magnitude;

  if (recipe->gradient == SOBEL_GRADIENT_X)
    sum = ax;
  else if (recipe->gradient == SOBEL_GRADIENT_Y)
    sum = ay;
  else
    sum = ax + ay;

  if (recipe->exact) {
    /* u = 1: ax, ay < 2^21, so the sum of squares is below 2^43 and the root of a double is exact enough
     * to be rounded down: the nearest smaller root is 1/(2 * 2^21) away, far more than half an ulp. */
    const int64_t whole = l2 ? (int64_t) sqrt ((double) (ax * ax + ay * ay)) : sum;
    return whole < (int64_t) recipe->range ? (uint32_t) whole : recipe->range;
  }
  if (l2) {
    const double dx = (double) ax, dy = (double) ay;
    const double xx = dx * dx, yy = dy * dy;
    magnitude = sqrt (xx + yy);
  } else {
    magnitude = (double) sum;
  }
  magnitude = magnitude / (double) recipe->unit;
  magnitude = magnitude * recipe->gain;
  magnitude = floor (magnitude);
  return magnitude < (double) recipe->range ? (uint32_t) magnitude : recipe->range;
}

/* E: 0 below the threshold, inverted if that is asked for. */
SOBEL_FN uint32_t
sobel_edge_finish (const SobelRecipe *recipe, uint32_t strength)
{
  const uint32_t e = strength < recipe->threshold ? 0 : strength;

  return recipe->invert ? recipe->range - e : e;
}

/* ---- pictures made from E ------------------------------------------------------------------------- */

/* A gray_out sample from an E, or from a gray code less black, of the input's range. */
SOBEL_FN uint32_t
sobel_gray_scale (const SobelRecipe *recipe, uint32_t e)
{
  /* Largest product 2 * 65535 * 65535 + 65535 < 2^34. */
  return (uint32_t) (((uint64_t) e * recipe->gray_max * 2 + recipe->range) / ((uint64_t) recipe->range * 2));
}

/* Overlay: `in` blended with `code` by the sum of E over the `covered` luma samples (1 to 16). */
SOBEL_FN uint32_t
sobel_overlay (const SobelRecipe *recipe, uint32_t in, uint32_t code, uint32_t e_sum, uint32_t covered)
{
  /* D <= 16 * 255 * 65535 < 2^28; in * D < 2^44. */
  const uint64_t d = (uint64_t) covered * 255 * recipe->range;
  const uint64_t k = (uint64_t) e_sum * recipe->overlay_alpha;

  return (uint32_t) ((2 * (in * (d - k) + code * k) + d) / (2 * d));
}

/* The gray sample that a gray picture of the input's own range would have here: L rounded down, b to w. */
SOBEL_FN uint32_t
sobel_gray_code (const SobelRecipe *recipe, uint32_t luma)
{
  const uint32_t code = recipe->unit == 1 ? luma : luma / recipe->unit;

  if (code < recipe->black)
    return recipe->black;
  return code > recipe->black + recipe->range ? recipe->black + recipe->range : code;
}

/* The gray_out sample of a luma sample (units of 1/u) and its E, in every mode. */
SOBEL_FN uint32_t
sobel_gray_out (const SobelRecipe *recipe, uint32_t luma, uint32_t e)
{
  uint32_t code;

  if (recipe->mode == SOBEL_MODE_EDGES || recipe->mode == SOBEL_MODE_DIRECTION)
    return sobel_gray_scale (recipe, e);
  code = sobel_gray_code (recipe, luma);
  if (recipe->mode == SOBEL_MODE_OVERLAY)
    code = sobel_overlay (recipe, code, recipe->overlay_code[0], e, 1);
  else if (recipe->mode == SOBEL_MODE_MASK && e == 0)
    code = recipe->black;
  return sobel_gray_scale (recipe, code - recipe->black);
}

/* ---- direction ------------------------------------------------------------------------------------ */

/* atan t, t from 0 to 1, in sixths of a turn (0 to 3/4).
 *
 * Single precision with one rounding an operation gives the same bits on every processor, which a library's function
 * does not; the polynomial is within 2e-6 of the angle, a fifth of a code at 16 bits. It is odd, of degree 17 in units
 * of 60 degrees. Coefficients: minimax. */
SOBEL_FN float
sobel_hue_angle (float t)
{
  const float t2 = t * t;
  float a = 0.0028662257f;

  a = a * t2 + -0.0161657367f;
  a = a * t2 + 0.0429096138f;
  a = a * t2 + -0.0752896400f;
  a = a * t2 + 0.1065626393f;
  a = a * t2 + -0.1420889944f;
  a = a * t2 + 0.1999355085f;
  a = a * t2 + -0.3333314528f;
  a = a * t2 + 1.0f;
  return a * t * 0.954929659f; /* 3 / pi: sixths of a turn */
}

/* Red, green and blue shares (0 to 1) of the hue atan2 (-gy, gx); all 1 (white) where there is no gradient. */
SOBEL_FN void
sobel_hue_shares (int64_t gx, int64_t gy, float *shares)
{
  const float x = (float) gx, y = (float) -gy;
  const float ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
  const float big = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
  float a, h;
  int i;

  if (gx == 0 && gy == 0) {
    shares[0] = shares[1] = shares[2] = 1.0f;
    return;
  }
  a = sobel_hue_angle (small / big);
  if (ay > ax)
    a = 1.5f - a;
  if (x < 0)
    a = 3.0f - a;
  h = y < 0 ? 6.0f - a : a; /* 0 to 6 */

  /* HSV's sextants as three clamped triangles: red peaks at 0 (and 6), green at 2, blue at 4. */
  for (i = 0; i < 3; i++) {
    float d = h - 2.0f * (float) i;
    if (d > 3.0f)
      d = d - 6.0f;
    if (d < -3.0f)
      d = d + 6.0f;
    d = 2.0f - (d < 0 ? -d : d);
    shares[i] = d < 0 ? 0 : d > 1.0f ? 1.0f : d;
  }
}

/* Component `i`'s offset for a hue and E, in codes and not rounded: from black for RGB and luma, from neutral
 * for chroma. Subsampled chroma has the mean of those of the samples that it covers; so that every backend has the
 * same bits, they are summed row by row, left to right, and the sum is divided by their number. */
SOBEL_FN float
sobel_hue_offset (const SobelRecipe *recipe, int i, const float *shares, uint32_t e)
{
  const float r = recipe->hue_matrix[i][0] * shares[0];
  const float g = recipe->hue_matrix[i][1] * shares[1];
  const float b = recipe->hue_matrix[i][2] * shares[2];
  const float rg = r + g;

  return (rg + b) * (float) e;
}

/* The code at `base` + `offset`, rounded to the nearest and clamped to 0 ... 2^n - 1. */
SOBEL_FN uint32_t
sobel_hue_code (const SobelRecipe *recipe, uint32_t base, float offset)
{
  const float code = floorf ((float) base + offset + 0.5f);

  return code < 0 ? 0 : code > (float) recipe->max_code ? recipe->max_code : (uint32_t) code;
}

#endif

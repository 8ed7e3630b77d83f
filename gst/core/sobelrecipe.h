/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_RECIPE_H
#define SOBEL_RECIPE_H

#include "sobelimage.h"
#include "sobelparams.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What stays the same from one caps event to the next. */
typedef struct SobelConfig
{
  const SobelFormat *in;
  const SobelFormat *out; /* `in` itself, or gray: GRAY8 for 8-bit input, GRAY16_LE for deeper */
  int32_t width, height;  /* pixels */
  bool full_range;        /* of YUV and gray input; RGB is always full range */
  double kr, kb;          /* luma coefficients of the input's YUV matrix; unused for RGB and gray */
} SobelConfig;

/* One frame's settings, resolved to the constants that the arithmetic needs. Plain data: copied into
 * jobs and kernel arguments. Everything is in codes of the input's depth unless said otherwise. */
typedef struct SobelRecipe
{
  SobelMode mode;
  SobelGradient gradient;
  SobelNorm norm;
  SobelBorder border;
  bool invert;
  bool exact;    /* unit = 1 and gain = 1: the magnitude is rounded down exactly, by integers */
  bool gray_out; /* gray made from another format: full range, scaled by gray_max / range */

  int32_t side, centre;    /* 3x3 weights; at most 3 and 10 */
  uint32_t luma_weight[3]; /* R, G, B; their sum is luma_unit */
  uint32_t luma_unit;      /* 1000 or 10000 */
  uint32_t unit;           /* u: luma samples are integers in units of 1/u; 1, 1000 or 10000 */

  uint32_t black;    /* b */
  uint32_t range;    /* w - b, at least 1 */
  uint32_t max_code; /* 2^n - 1 */
  uint32_t neutral;  /* chroma without colour: 2^(n-1) */
  uint32_t gray_max; /* white of a gray_out sample: 255 or 65535 */
  uint32_t outside;  /* luma outside the picture with border=zero, in units of 1/u */
  uint32_t threshold; /* edges below it become 0: 0 to range */
  double gain;

  uint32_t overlay_alpha;   /* 0 to 255 */
  uint32_t overlay_code[3]; /* the colour in the input's components (gray_out: [0] is a gray code) */

  /* mode=direction: a hue's red, green and blue shares to component offsets, per unit of E.
   * RGB: identity. YUV: luma share in row 0, chroma shares (already scaled by the chroma range over
   * w - b) in rows 1 and 2. */
  float hue_matrix[3][3];
} SobelRecipe;

/* Cannot fail: every value that `params` may hold is legal for every config. */
void sobel_recipe_init (SobelRecipe *recipe, const SobelConfig *config, const SobelParams *params);

/* What a backend has to do with a plane of the pictures of one frame. */
typedef enum SobelPlaneUse
{
  SOBEL_PLANE_UNUSED = 0,
  SOBEL_PLANE_READ = 1 << 0,    /* of the input: samples go into the computation; not set for a mere COPY */
  SOBEL_PLANE_WRITE = 1 << 1,   /* of the output: samples are computed */
  SOBEL_PLANE_COPY = 1 << 2,    /* of the output: the input's plane (alpha), but that unused bits are 0 */
  SOBEL_PLANE_NEUTRAL = 1 << 3, /* of the output: 2^(n-1) in every sample, whatever the input */
} SobelPlaneUse;

/* Fills `in_use` and `out_use` (SOBEL_MAX_PLANES entries of SobelPlaneUse bits each). A plane that holds
 * both computed and copied components counts as READ and WRITE. */
void sobel_recipe_planes (const SobelRecipe *recipe, const SobelConfig *config, uint8_t *in_use, uint8_t *out_use);

#ifdef __cplusplus
}
#endif
#endif

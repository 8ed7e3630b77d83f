/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sobelrecipe.h"

#include <math.h>
#include <string.h>

/* Luma coefficients of a YUV matrix as integers: every matrix in use has four decimals or fewer, so that
 * colour codes can be rounded from the exact value. */
enum { MATRIX_UNIT = 1000000 };

typedef struct LumaWeights
{
  uint32_t weight[3], unit;
} LumaWeights;

static const LumaWeights luma_table[] = {
    [SOBEL_LUMA_BT601] = {{299, 587, 114}, 1000},
    [SOBEL_LUMA_BT709] = {{2126, 7152, 722}, 10000},
    [SOBEL_LUMA_BT2020] = {{2627, 6780, 593}, 10000},
};

static void
init_weights (SobelRecipe *recipe, SobelOperator op)
{
  switch (op) {
    case SOBEL_OPERATOR_SCHARR:
      recipe->side = 3;
      recipe->centre = 10;
      break;
    case SOBEL_OPERATOR_PREWITT:
      recipe->side = 1;
      recipe->centre = 1;
      break;
    case SOBEL_OPERATOR_SOBEL:
    default:
      recipe->side = 1;
      recipe->centre = 2;
      break;
  }
}

/* base + scale * num / den, den > 0, rounded to the nearest (halves up) and clamped to 0 ... max. */
static uint32_t
rounded_code (uint32_t base, int64_t scale, int64_t num, int64_t den, uint32_t max)
{
  /* Largest: 65535 * 255 * MATRIX_UNIT * 2 < 2^45. */
  const int64_t n = 2 * (scale * num + (int64_t) base * den) + den;

  if (n <= 0)
    return 0;
  return n / (2 * den) > (int64_t) max ? max : (uint32_t) (n / (2 * den));
}

static void
init_overlay (SobelRecipe *recipe, const SobelConfig *config, uint32_t argb, uint32_t chroma_range)
{
  const int64_t r = argb >> 16 & 0xff, g = argb >> 8 & 0xff, b = argb & 0xff;
  const int64_t kr = llround (config->kr * MATRIX_UNIT), kb = llround (config->kb * MATRIX_UNIT);
  const int64_t kg = MATRIX_UNIT - kr - kb;
  const uint32_t max = recipe->max_code;

  recipe->overlay_alpha = argb >> 24;
  if (recipe->gray_out || config->in->family == SOBEL_FAMILY_GRAY) {
    const int64_t luma = recipe->luma_weight[0] * r + recipe->luma_weight[1] * g + recipe->luma_weight[2] * b;
    recipe->overlay_code[0] =
        rounded_code (recipe->black, recipe->range, luma, (int64_t) recipe->luma_unit * 255, max);
  } else if (config->in->family == SOBEL_FAMILY_RGB) {
    recipe->overlay_code[0] = rounded_code (0, max, r, 255, max);
    recipe->overlay_code[1] = rounded_code (0, max, g, 255, max);
    recipe->overlay_code[2] = rounded_code (0, max, b, 255, max);
  } else {
    /* Cb = (B - Y) / (2 (1 - kb)) and Cr = (R - Y) / (2 (1 - kr)) of components from 0 to 1. */
    const int64_t y = kr * r + kg * g + kb * b;
    recipe->overlay_code[0] = rounded_code (recipe->black, recipe->range, y, (int64_t) MATRIX_UNIT * 255, max);
    recipe->overlay_code[1] = rounded_code (recipe->neutral, chroma_range, MATRIX_UNIT * b - y,
                                            2 * 255 * (int64_t) (MATRIX_UNIT - kb), max);
    recipe->overlay_code[2] = rounded_code (recipe->neutral, chroma_range, MATRIX_UNIT * r - y,
                                            2 * 255 * (int64_t) (MATRIX_UNIT - kr), max);
  }
}

static void
init_hue (SobelRecipe *recipe, const SobelConfig *config, uint32_t chroma_range)
{
  const double kr = config->kr, kb = config->kb, kg = 1.0 - kr - kb;
  const double scale = (double) chroma_range / recipe->range;
  const double cb = scale / (2.0 * (1.0 - kb)), cr = scale / (2.0 * (1.0 - kr));
  int i;

  if (config->in->family != SOBEL_FAMILY_YUV) {
    for (i = 0; i < 3; i++)
      recipe->hue_matrix[i][i] = 1.0f;
    return;
  }
  recipe->hue_matrix[0][0] = (float) kr;
  recipe->hue_matrix[0][1] = (float) kg;
  recipe->hue_matrix[0][2] = (float) kb;
  recipe->hue_matrix[1][0] = (float) (-kr * cb);
  recipe->hue_matrix[1][1] = (float) (-kg * cb);
  recipe->hue_matrix[1][2] = (float) ((1.0 - kb) * cb);
  recipe->hue_matrix[2][0] = (float) ((1.0 - kr) * cr);
  recipe->hue_matrix[2][1] = (float) (-kg * cr);
  recipe->hue_matrix[2][2] = (float) (-kb * cr);
}

void
sobel_recipe_init (SobelRecipe *recipe, const SobelConfig *config, const SobelParams *params)
{
  const SobelFormat *in = config->in;
  const unsigned depth = sobel_format_depth (in);
  const LumaWeights *luma = &luma_table[params->luma <= SOBEL_LUMA_BT2020 ? params->luma : SOBEL_LUMA_BT601];
  const bool limited = in->family != SOBEL_FAMILY_RGB && !config->full_range;
  uint32_t chroma_range;

  memset (recipe, 0, sizeof *recipe);
  recipe->mode = params->mode;
  recipe->gradient = params->gradient;
  recipe->norm = params->norm;
  recipe->border = params->border;
  recipe->invert = params->invert;
  recipe->gray_out = config->out != in;
  init_weights (recipe, params->op);

  memcpy (recipe->luma_weight, luma->weight, sizeof recipe->luma_weight);
  recipe->luma_unit = luma->unit;
  recipe->unit = in->family == SOBEL_FAMILY_RGB && params->precision == SOBEL_PRECISION_FLOAT ? luma->unit : 1;
  recipe->gain = params->gain;
  recipe->exact = recipe->unit == 1 && params->gain == 1.0;

  recipe->max_code = (1u << depth) - 1;
  recipe->neutral = 1u << (depth - 1);
  recipe->black = limited ? 16u << (depth - 8) : 0;
  recipe->range = limited ? 219u << (depth - 8) : recipe->max_code;
  chroma_range = limited ? 224u << (depth - 8) : recipe->max_code;
  recipe->gray_max = (1u << sobel_format_depth (config->out)) - 1;
  recipe->outside = recipe->black * recipe->unit;
  recipe->threshold = (uint32_t) ceil (params->threshold * recipe->range);

  init_overlay (recipe, config, params->overlay_color, chroma_range);
  init_hue (recipe, config, chroma_range);
}

void
sobel_recipe_planes (const SobelRecipe *recipe, const SobelConfig *config, uint8_t *in_use, uint8_t *out_use)
{
  const SobelFormat *in = config->in;
  const unsigned luma_count = in->family == SOBEL_FAMILY_RGB ? 3 : 1;
  const bool colour_in = recipe->mode == SOBEL_MODE_OVERLAY || recipe->mode == SOBEL_MODE_MASK;
  bool computed[SOBEL_MAX_PLANES] = {false}, copied[SOBEL_MAX_PLANES] = {false}, neutral[SOBEL_MAX_PLANES] = {false};
  unsigned i;

  memset (in_use, SOBEL_PLANE_UNUSED, SOBEL_MAX_PLANES);
  memset (out_use, SOBEL_PLANE_UNUSED, SOBEL_MAX_PLANES);
  if (recipe->gray_out) {
    for (i = 0; i < luma_count; i++)
      in_use[in->component[i].plane] = SOBEL_PLANE_READ;
    out_use[0] = SOBEL_PLANE_WRITE;
    return;
  }
  for (i = 0; i < in->n_components; i++) {
    const unsigned plane = in->component[i].plane;
    const bool is_chroma = in->family == SOBEL_FAMILY_YUV && (i == 1 || i == 2);

    if (recipe->mode == SOBEL_MODE_BYPASS || (i == 3 && !in->padded))
      copied[plane] = true;
    else if (is_chroma && recipe->mode == SOBEL_MODE_EDGES)
      neutral[plane] = true;
    else
      computed[plane] = true;
    if (recipe->mode != SOBEL_MODE_BYPASS && (i < luma_count || (is_chroma && colour_in)))
      in_use[plane] = SOBEL_PLANE_READ;
  }
  for (i = 0; i < in->n_planes; i++) {
    if (computed[i])
      out_use[i] = SOBEL_PLANE_WRITE;
    else if (copied[i] && neutral[i])
      out_use[i] = SOBEL_PLANE_WRITE;
    else if (copied[i])
      out_use[i] = SOBEL_PLANE_COPY;
    else if (neutral[i])
      out_use[i] = SOBEL_PLANE_NEUTRAL;
    /* Alpha beside computed components in one plane is read from there. */
    if (out_use[i] == SOBEL_PLANE_WRITE && copied[i])
      in_use[i] = SOBEL_PLANE_READ;
  }
}

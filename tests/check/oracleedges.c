/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracleprivate.h"

#include <math.h>

/* ---- constants ------------------------------------------------------------------------------------ */

static void
set_matrix (Scale *scale, GstVideoColorMatrix matrix)
{
  switch (matrix) {
    case GST_VIDEO_COLOR_MATRIX_FCC:
      scale->kr = 3000, scale->kb = 1100;
      break;
    case GST_VIDEO_COLOR_MATRIX_BT709:
      scale->kr = 2126, scale->kb = 722;
      break;
    case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
      scale->kr = 2120, scale->kb = 870;
      break;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      scale->kr = 2627, scale->kb = 593;
      break;
    default: /* BT.601, unknown, and RGB, which says nothing about YUV */
      scale->kr = 2990, scale->kb = 1140;
      break;
  }
  scale->kg = 10000 - scale->kr - scale->kb;
}

static void
set_luma_weights (Scale *scale, SobelLuma luma)
{
  static const int table[][4] = {
      [SOBEL_LUMA_BT601] = {299, 587, 114, 1000},
      [SOBEL_LUMA_BT709] = {2126, 7152, 722, 10000},
      [SOBEL_LUMA_BT2020] = {2627, 6780, 593, 10000},
  };

  memcpy (scale->weight, table[luma], sizeof scale->weight);
  scale->units = table[luma][3];
}

static Scale
scale_of (const GstVideoInfo *info, const SobelParams *params)
{
  const int n = (int) info->finfo->depth[0];
  const bool limited =
      !GST_VIDEO_INFO_IS_RGB (info) && info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
  Scale scale;

  scale.max = (1 << n) - 1;
  scale.neutral = 1 << (n - 1);
  scale.black = limited ? 16 << (n - 8) : 0;
  scale.white = limited ? 235 << (n - 8) : scale.max;
  scale.chroma_range = limited ? (240 - 16) << (n - 8) : scale.max;
  set_matrix (&scale, info->colorimetry.matrix);
  set_luma_weights (&scale, params->luma);
  return scale;
}

/* ---- luma and gradients --------------------------------------------------------------------------- */

static int64_t
luma_of_pixel (const Oracle *o, int x, int y)
{
  int64_t sum = 0;
  int i;

  if (!o->rgb)
    return code_at (o->in, 0, x, y);
  for (i = 0; i < 3; i++)
    sum += (int64_t) o->scale.weight[i] * code_at (o->in, i, x, y);
  return o->params->precision == SOBEL_PRECISION_FLOAT ? sum : sum / o->scale.units;
}

/* The picture that row y belongs to: the frame, or one of its fields. */
typedef struct Field
{
  int first, step; /* frame rows */
  int height;      /* rows of the field */
} Field;

static Field
field_of_row (const Oracle *o, int y)
{
  Field field = {0, 1, o->in->height};

  if (o->interlaced) {
    field.first = y % 2;
    field.step = 2;
    field.height = (o->in->height - field.first + 1) / 2;
  }
  return field;
}

static int
mirrored (int i, int size)
{
  if (size == 1)
    return 0;
  if (i < 0)
    return -i;
  return i >= size ? 2 * (size - 1) - i : i;
}

/* Luma at column x, row j of a field, either of which may lie one step outside. */
static int64_t
luma_near (const Oracle *o, const Field *field, int x, int j)
{
  const int w = o->in->width, h = field->height;

  if (x < 0 || x >= w || j < 0 || j >= h) {
    switch (o->params->border) {
      case SOBEL_BORDER_ZERO:
        return (int64_t) o->scale.black * o->unit;
      case SOBEL_BORDER_MIRROR:
        x = mirrored (x, w);
        j = mirrored (j, h);
        break;
      default:
        x = clamp (x, 0, w - 1);
        j = clamp (j, 0, h - 1);
        break;
    }
  }
  return o->luma[(size_t) (field->first + j * field->step) * w + x];
}

static void
gradients (const Oracle *o, const Field *field, int x, int j, int64_t *gx, int64_t *gy)
{
  static const int weights[][3] = {
      [SOBEL_OPERATOR_SOBEL] = {1, 2, 1},
      [SOBEL_OPERATOR_SCHARR] = {3, 10, 3},
      [SOBEL_OPERATOR_PREWITT] = {1, 1, 1},
  };
  const int *weight = weights[o->params->op];
  int i;

  *gx = *gy = 0;
  for (i = -1; i <= 1; i++) {
    *gx += weight[i + 1] * (luma_near (o, field, x + 1, j + i) - luma_near (o, field, x - 1, j + i));
    *gy += weight[i + 1] * (luma_near (o, field, x + i, j + 1) - luma_near (o, field, x + i, j - 1));
  }
}

/* ---- edge value ----------------------------------------------------------------------------------- */

/* The root of n rounded down, whatever the processor's root is good for. */
static int64_t
integer_root (unsigned __int128 n)
{
  unsigned __int128 root = (unsigned __int128) sqrtl ((long double) n);

  while (root * root > n)
    root--;
  while ((root + 1) * (root + 1) <= n)
    root++;
  return (int64_t) root;
}

static int64_t
absolute (int64_t n)
{
  return n < 0 ? -n : n;
}

/* |gx| + |gy|, |gx| or |gy|; or -1 where a root is to be taken. */
static int64_t
rootless_size (const SobelParams *params, int64_t gx, int64_t gy)
{
  if (params->gradient == SOBEL_GRADIENT_X)
    return absolute (gx);
  if (params->gradient == SOBEL_GRADIENT_Y)
    return absolute (gy);
  return params->norm == SOBEL_NORM_L1 ? absolute (gx) + absolute (gy) : -1;
}

static int
strength (const Oracle *o, int64_t gx, int64_t gy)
{
  const int range = o->scale.white - o->scale.black;
  const int64_t size = rootless_size (o->params, gx, gy);
  /* volatile: each operation is rounded to double on its own. */
  volatile double m, dx, dy;

  if (o->unit == 1 && o->params->gain == 1.0) {
    const unsigned __int128 square = (unsigned __int128) (gx * gx) + (unsigned __int128) (gy * gy);
    return clamp (size >= 0 ? size : integer_root (square), 0, range);
  }
  if (size >= 0) {
    m = (double) size;
  } else {
    dx = (double) gx;
    dx = dx * dx;
    dy = (double) gy;
    dy = dy * dy;
    m = dx + dy;
    m = sqrt (m);
  }
  m = m / o->unit;
  m = m * o->params->gain;
  m = floor (m);
  return m >= range ? range : (int) m;
}

static void
compute_edges (Oracle *o)
{
  const int w = o->in->width, h = o->in->height;
  const int range = o->scale.white - o->scale.black;
  const int threshold = (int) ceil (o->params->threshold * range);
  int x, y;

  for (y = 0; y < h; y++) {
    for (x = 0; x < w; x++) {
      const Field field = field_of_row (o, y);
      const int j = (y - field.first) / field.step;
      const size_t i = (size_t) y * w + x;
      int e = 0;

      if (o->params->border != SOBEL_BORDER_NONE || (x > 0 && x < w - 1 && j > 0 && j < field.height - 1)) {
        gradients (o, &field, x, j, &o->gx[i], &o->gy[i]);
        e = strength (o, o->gx[i], o->gy[i]);
      }
      if (e < threshold)
        e = 0;
      o->e[i] = o->params->invert ? range - e : e;
    }
  }
}

void
oracle_edges_init (Oracle *oracle, const OraclePicture *in, const GstVideoInfo *info, const SobelParams *params,
                   bool interlaced)
{
  const size_t n = (size_t) in->width * (size_t) in->height;
  int x, y;

  memset (oracle, 0, sizeof *oracle);
  oracle->in = in;
  oracle->params = params;
  oracle->scale = scale_of (info, params);
  oracle->interlaced = interlaced;
  oracle->rgb = GST_VIDEO_FORMAT_INFO_IS_RGB (in->format);
  oracle->gray_in = GST_VIDEO_FORMAT_INFO_IS_GRAY (in->format);
  oracle->unit = oracle->rgb && params->precision == SOBEL_PRECISION_FLOAT ? oracle->scale.units : 1;
  oracle->luma = g_new0 (int64_t, n);
  oracle->gx = g_new0 (int64_t, n);
  oracle->gy = g_new0 (int64_t, n);
  oracle->e = g_new0 (int, n);

  for (y = 0; y < in->height; y++)
    for (x = 0; x < in->width; x++)
      oracle->luma[(size_t) y * in->width + x] = luma_of_pixel (oracle, x, y);
  compute_edges (oracle);
}

void
oracle_edges_clear (Oracle *oracle)
{
  g_free (oracle->luma);
  g_free (oracle->gx);
  g_free (oracle->gy);
  g_free (oracle->e);
}

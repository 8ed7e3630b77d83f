/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The numbers, one sample at a time. Plain on purpose: nothing here is shared with the code under test. */
#include "oracleprivate.h"

#include <math.h>

/* num / den rounded down, den > 0. */
static int64_t
floor_div (int64_t num, int64_t den)
{
  return num >= 0 ? num / den : -((-num + den - 1) / den);
}

/* num / den + 1/2 rounded down. */
static int64_t
round_div (int64_t num, int64_t den)
{
  return floor_div (2 * num + den, 2 * den);
}

/* ---- what a sample covers ------------------------------------------------------------------------- */

/* The k-th frame row of luma that row c of a component covers; it may lie below the picture. */
static int
covered_row (const Oracle *o, int h_sub, int c, int k)
{
  return o->interlaced ? (c / 2 << (h_sub + 1)) + c % 2 + 2 * k : (c << h_sub) + k;
}

/* Calls back for each pixel inside the picture that a sample of a component covers; returns how many. */
typedef void (*PixelFunc) (const Oracle *o, int x, int y, void *user);

static int
for_each_covered (const Oracle *o, const OracleComponent *component, int cx, int cy, PixelFunc func, void *user)
{
  int k, x, n = 0;

  for (k = 0; k < 1 << component->h_sub; k++) {
    const int y = covered_row (o, component->h_sub, cy, k);

    for (x = cx << component->w_sub; x < (cx + 1) << component->w_sub; x++) {
      if (x >= o->in->width || y >= o->in->height)
        continue;
      func (o, x, y, user);
      n++;
    }
  }
  return n;
}

static void
add_edge (const Oracle *o, int x, int y, void *sum)
{
  *(int64_t *) sum += o->e[(size_t) y * o->in->width + x];
}

/* ---- colours -------------------------------------------------------------------------------------- */

/* The code of component i for the overlay's colour. */
static int
colour_code (const Oracle *o, int i)
{
  const Scale *s = &o->scale;
  const int64_t range = s->white - s->black;
  const int64_t rgb[3] = {o->params->overlay_color >> 16 & 255, o->params->overlay_color >> 8 & 255,
                          o->params->overlay_color & 255};
  const int64_t y = s->kr * rgb[0] + s->kg * rgb[1] + s->kb * rgb[2]; /* in 1/(10000 * 255) */
  int64_t code;

  if (o->gray_in || o->gray_out)
    code = s->black + round_div (range * (s->weight[0] * rgb[0] + s->weight[1] * rgb[1] + s->weight[2] * rgb[2]),
                                 (int64_t) s->units * 255);
  else if (o->rgb)
    code = round_div (rgb[i] * s->max, 255);
  else if (i == 0)
    code = s->black + round_div (range * y, 10000 * 255);
  else if (i == 1)
    code = s->neutral + round_div (s->chroma_range * (10000 * rgb[2] - y), (int64_t) 255 * 2 * (10000 - s->kb));
  else
    code = s->neutral + round_div (s->chroma_range * (10000 * rgb[0] - y), (int64_t) 255 * 2 * (10000 - s->kr));
  return clamp (code, 0, s->max);
}

/* `in` blended with `code` by the sum of E over m covered pixels. */
static int
blend (const Oracle *o, int in, int code, int64_t e_sum, int m)
{
  const int64_t d = (int64_t) m * 255 * (o->scale.white - o->scale.black);
  const int64_t k = e_sum * (o->params->overlay_color >> 24);

  return (int) round_div (in * (d - k) + code * k, d);
}

/* Red, green and blue, 0 to 1, of HSV (atan2 (-gy, gx), S, E / (w - b)). */
static void
hue_colour (const Oracle *o, int x, int y, double *rgb)
{
  const size_t i = (size_t) y * o->in->width + x;
  const double v = (double) o->e[i] / (o->scale.white - o->scale.black);
  double sixth, f;
  int sector;

  rgb[0] = rgb[1] = rgb[2] = v;
  if (o->gx[i] == 0 && o->gy[i] == 0)
    return;
  sixth = atan2 ((double) -o->gy[i], (double) o->gx[i]) * 3.0 / G_PI;
  if (sixth < 0)
    sixth += 6.0;
  sector = (int) floor (sixth) % 6;
  f = sixth - floor (sixth);
  switch (sector) {
    case 0:
      rgb[1] = v * f, rgb[2] = 0;
      break;
    case 1:
      rgb[0] = v * (1 - f), rgb[2] = 0;
      break;
    case 2:
      rgb[0] = 0, rgb[2] = v * f;
      break;
    case 3:
      rgb[0] = 0, rgb[1] = v * (1 - f);
      break;
    case 4:
      rgb[0] = v * f, rgb[1] = 0;
      break;
    default:
      rgb[1] = 0, rgb[2] = v * (1 - f);
      break;
  }
}

/* Sums of the hue colours' Y, Cb, Cr (0 to 1, and -1/2 to 1/2). */
static void
add_hue_yuv (const Oracle *o, int x, int y, void *user)
{
  const double kr = o->scale.kr / 10000.0, kg = o->scale.kg / 10000.0, kb = o->scale.kb / 10000.0;
  double rgb[3], luma, *sum = user;

  hue_colour (o, x, y, rgb);
  luma = kr * rgb[0] + kg * rgb[1] + kb * rgb[2];
  sum[0] += luma;
  sum[1] += (rgb[2] - luma) / (2 * (1 - kb));
  sum[2] += (rgb[0] - luma) / (2 * (1 - kr));
}

/* ---- output samples ------------------------------------------------------------------------------- */

/* Every other plain sample: RGB, luma, gray. */
static int
main_sample (const Oracle *o, int i, int x, int y)
{
  const Scale *s = &o->scale;
  const int e = o->e[(size_t) y * o->in->width + x];
  double rgb[3], yuv[3] = {0, 0, 0};

  switch (o->params->mode) {
    case SOBEL_MODE_OVERLAY:
      return blend (o, code_at (o->in, i, x, y), colour_code (o, i), e, 1);
    case SOBEL_MODE_MASK:
      return e > 0 ? code_at (o->in, i, x, y) : s->black;
    case SOBEL_MODE_DIRECTION:
      if (o->gray_in)
        return s->black + e;
      if (o->rgb) {
        hue_colour (o, x, y, rgb);
        return (int) floor (s->max * rgb[i] + 0.5);
      }
      add_hue_yuv (o, x, y, yuv);
      return (int) floor (s->black + (s->white - s->black) * yuv[0] + 0.5);
    case SOBEL_MODE_EDGES:
    case SOBEL_MODE_BYPASS:
    default:
      return s->black + e;
  }
}

static int
chroma_sample (const Oracle *o, int i, int cx, int cy)
{
  const Scale *s = &o->scale;
  const OracleComponent *component = &o->in->component[i];
  double yuv[3] = {0, 0, 0};
  int64_t e_sum = 0;
  int m;

  switch (o->params->mode) {
    case SOBEL_MODE_OVERLAY:
      m = for_each_covered (o, component, cx, cy, add_edge, &e_sum);
      /* A row that the layout has beyond the picture covers nothing: no edge, hence the input. */
      return m == 0 ? code_at (o->in, i, cx, cy)
                    : blend (o, code_at (o->in, i, cx, cy), colour_code (o, i), e_sum, m);
    case SOBEL_MODE_MASK:
      for_each_covered (o, component, cx, cy, add_edge, &e_sum);
      return e_sum > 0 ? code_at (o->in, i, cx, cy) : s->neutral;
    case SOBEL_MODE_DIRECTION:
      m = for_each_covered (o, component, cx, cy, add_hue_yuv, yuv);
      return m == 0 ? s->neutral
                    : clamp ((int64_t) floor (s->neutral + s->chroma_range * yuv[i] / m + 0.5), 0, s->max);
    case SOBEL_MODE_EDGES:
    case SOBEL_MODE_BYPASS:
    default:
      return s->neutral;
  }
}

/* Gray made from another format. */
static int
gray_sample (const Oracle *o, int x, int y, int white_out)
{
  const Scale *s = &o->scale;
  const size_t i = (size_t) y * o->in->width + x;
  int code;

  if (o->params->mode == SOBEL_MODE_EDGES || o->params->mode == SOBEL_MODE_DIRECTION)
    return (int) round_div ((int64_t) o->e[i] * white_out, s->white - s->black);

  /* What a gray picture of the input's own range would get, before it is widened to full range. */
  code = clamp (o->luma[i] / o->unit, s->black, s->white);
  if (o->params->mode == SOBEL_MODE_OVERLAY)
    code = blend (o, code, colour_code (o, 0), o->e[i], 1);
  else if (o->params->mode == SOBEL_MODE_MASK && o->e[i] == 0)
    code = s->black;
  return (int) round_div ((int64_t) (code - s->black) * white_out, s->white - s->black);
}

static int
sample (const Oracle *o, const OraclePicture *out, int i, int x, int y)
{
  if (o->gray_out)
    return gray_sample (o, x, y, (1 << out->component[0].depth) - 1);
  if (i == 3)
    return code_at (o->in, 3, x, y);
  if (i > 0 && !o->rgb)
    return chroma_sample (o, i, x, y);
  return main_sample (o, i, x, y);
}

void
oracle_apply (OraclePicture *out, const OraclePicture *in, const GstVideoInfo *info, const SobelParams *params,
              bool interlaced)
{
  Oracle o;
  int i, x, y;

  oracle_edges_init (&o, in, info, params, interlaced);
  o.gray_out = out->format != in->format;
  for (i = 0; i < (int) out->n_components; i++) {
    OracleComponent *component = &out->component[i];

    for (y = 0; y < component->height; y++)
      for (x = 0; x < component->width; x++)
        component->code[(size_t) y * component->width + x] = (uint16_t) sample (&o, out, i, x, y);
  }
  oracle_edges_clear (&o);
}

unsigned
oracle_tolerance (const OraclePicture *out, const SobelParams *params, unsigned component)
{
  if (params->mode != SOBEL_MODE_DIRECTION || component == 3)
    return 0;
  return GST_VIDEO_FORMAT_INFO_IS_GRAY (out->format) ? 0 : 2;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From edge values to rows of the output picture. */
#include "cpuplan.h"

#include "sobelarith.h"

#include <string.h>

/* One row, or one group of rows that share chroma, in work. */
typedef struct Work
{
  const SobelCpuPlan *plan;
  const SobelImage *in, *out;
  SobelCpuScratch *scratch;
  int32_t y;                       /* luma row */
  void *target[SOBEL_MAX_COMPONENTS]; /* where each component's row of the output is made */
} Work;

static const SobelCpuPlane *
plane_of (const Work *w, unsigned component)
{
  return &w->plan->out_plane[w->plan->out_format->component[component].plane];
}

static uint8_t *
out_row (const Work *w, unsigned component, int32_t row)
{
  return sobel_cpu_row (&w->out->plane[w->plan->out_format->component[component].plane], row);
}

/* The row of a component is made in the picture itself where its layout allows. */
static void
aim (Work *w, unsigned component, int32_t row)
{
  uint8_t *const dst = out_row (w, component, row);

  w->target[component] = sobel_cpu_in_place (plane_of (w, component), dst) ? dst : w->scratch->component[component];
}

/* n samples of a component of the input; may lie in scratch->component[component]. Chroma rows that the input lacks
 * are neutral. */
static const void *
input_row (const Work *w, unsigned component, int32_t row, int32_t n)
{
  const SobelFormat *f = w->plan->in_format;
  const SobelPlane *plane = &w->in->plane[f->component[component].plane];

  if (row >= plane->rows)
    return w->plan->constants->neutral;
  return sobel_cpu_pick (w->plan, f, w->plan->in_plane, component, sobel_cpu_row (plane, row),
                         w->scratch->component[component], n);
}

/* Of an interlaced picture, the last chroma row of a field may have no room in the layout. */
static bool
has_row (const Work *w, unsigned plane, int32_t row)
{
  return row < w->out->plane[plane].rows;
}

static void
copy_samples (const SobelCpuPlan *plan, void *out, const void *in, int32_t n)
{
  if (out != in)
    memcpy (out, in, (size_t) n * sobel_cpu_sample_size (plan));
}

/* ---- blending and masking ------------------------------------------------------------------------- */

static SobelCpuBlend
make_blend (const SobelRecipe *recipe, unsigned component, uint32_t covered)
{
  SobelCpuBlend k;

  k.code = recipe->overlay_code[component];
  k.alpha = recipe->overlay_alpha;
  k.d = covered * 255 * recipe->range;
  k.inverse = 1.0 / (2.0 * k.d);
  return k;
}

/* What mode=mask leaves where there is no edge. */
static uint32_t
background (const SobelRecipe *recipe, const SobelFormat *format, unsigned component)
{
  return format->family == SOBEL_FAMILY_YUV && component > 0 ? recipe->neutral : recipe->black;
}

/* Overlay or mask of a component with one edge value a sample. */
static void
colour_full (const Work *w, unsigned component, const void *in, const void *e, void *out, int32_t n)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelCpuRows *ops = plan->rows;

  if (plan->recipe.mode == SOBEL_MODE_OVERLAY) {
    const SobelCpuBlend k = make_blend (&plan->recipe, component, 1);
    if (plan->wide)
      ops->blend16 (&k, in, e, out, n);
    else
      ops->blend8 (&k, in, e, out, n);
  } else {
    const uint32_t other = background (&plan->recipe, plan->in_format, component);
    if (plan->wide)
      ops->mask16 ((uint16_t) other, in, e, out, n);
    else
      ops->mask8 ((uint8_t) other, in, e, out, n);
  }
}

/* Overlay or mask of n samples from number `first` on, each covering `covered` luma samples, whose edge values are
 * summed in scratch->sum. */
static void
colour_sums (const Work *w, unsigned component, const void *in, void *out, int32_t first, int32_t n, uint32_t covered)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelCpuRows *ops = plan->rows;
  const uint16_t *const sum8 = (const uint16_t *) w->scratch->sum + first, *const in16 = (const uint16_t *) in + first;
  const uint32_t *const sum16 = (const uint32_t *) w->scratch->sum + first;
  const uint8_t *const in8 = (const uint8_t *) in + first;
  uint8_t *const out8 = (uint8_t *) out + first;
  uint16_t *const out16 = (uint16_t *) out + first;

  if (n < 1)
    return;
  if (plan->recipe.mode == SOBEL_MODE_OVERLAY) {
    const SobelCpuBlend k = make_blend (&plan->recipe, component, covered);
    if (plan->wide)
      ops->blend16_sum (&k, in16, sum16, out16, n);
    else
      ops->blend8_sum (&k, in8, sum8, out8, n);
  } else {
    const uint32_t other = background (&plan->recipe, plan->in_format, component);
    if (plan->wide)
      ops->mask16_sum ((uint16_t) other, in16, sum16, out16, n);
    else
      ops->mask8_sum ((uint8_t) other, in8, sum8, out8, n);
  }
}

static void
hue_codes (const Work *w, uint32_t base, uint32_t covered, const float *in, void *out, int32_t first, int32_t n)
{
  const SobelCpuPlan *plan = w->plan;

  if (n < 1)
    return;
  if (plan->wide)
    plan->rows->hue_code16 (&plan->recipe, base, covered, in + first, (uint16_t *) out + first, n);
  else
    plan->rows->hue_code8 (&plan->recipe, base, covered, in + first, (uint8_t *) out + first, n);
}

/* ---- components with every column and row --------------------------------------------------------- */

/* b + E: made once, for RGB three times the same. */
static void
write_edges (Work *w)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelFormat *f = plan->out_format;
  const bool rgb = f->family == SOBEL_FAMILY_RGB;
  unsigned i;

  sobel_cpu_edge_row (plan, w->in, w->y, w->target[0], w->scratch);
  for (i = 1; i < f->n_components && i < 3; i++) {
    if (!rgb)
      w->target[i] = plan->constants->neutral;
    else if (w->target[i] == w->scratch->component[i])
      w->target[i] = w->target[0];
    else
      copy_samples (plan, w->target[i], w->target[0], w->in->width);
  }
}

/* Colours from the input or from the direction; edge values are in scratch->edge. */
static void
write_colours (Work *w)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelFormat *f = plan->in_format;
  unsigned i;

  for (i = 0; i < f->n_components && i < 3; i++) {
    if (f->component[i].w_sub || f->component[i].h_sub)
      continue;
    if (plan->has_hue)
      hue_codes (w, f->family == SOBEL_FAMILY_YUV && i > 0 ? plan->recipe.neutral : plan->recipe.black, 1,
                 w->scratch->hue[i], w->target[i], 0, w->in->width);
    else
      colour_full (w, i, input_row (w, i, w->y, w->in->width), w->scratch->edge, w->target[i], w->in->width);
  }
}

static void
write_alpha (Work *w)
{
  const SobelCpuPlan *plan = w->plan;

  if (plan->out_format->n_components < 4)
    return;
  if (plan->out_format->padded)
    w->target[3] = plan->constants->filler;
  else
    copy_samples (plan, w->target[3], input_row (w, 3, w->y, w->in->width), w->in->width);
}

/* ---- subsampled chroma ---------------------------------------------------------------------------- */

/* Adds this row's edge values or offsets to the sums of its group. */
static void
add_to_sums (const Work *w, const SobelComponent *chroma)
{
  const SobelCpuPlan *plan = w->plan;
  const bool first = (w->y & ((1 << chroma->h_sub) - 1)) == 0;
  const int32_t width = w->in->width;

  if (plan->has_hue) {
    plan->rows->hue_sum (w->scratch->hue[1], chroma->w_sub, first, w->scratch->hue_sum[0], width);
    plan->rows->hue_sum (w->scratch->hue[2], chroma->w_sub, first, w->scratch->hue_sum[1], width);
  } else if (plan->wide) {
    plan->rows->sum16 (w->scratch->edge, chroma->w_sub, first, w->scratch->sum, width);
  } else {
    plan->rows->sum8 (w->scratch->edge, chroma->w_sub, first, w->scratch->sum, width);
  }
}

/* U and V of the group that ends with this luma row, whose chroma row exists. */
static void
write_chroma (Work *w, const SobelComponent *chroma)
{
  const SobelCpuPlan *plan = w->plan;
  const int32_t row = w->y >> chroma->h_sub, columns = 1 << chroma->w_sub, width = w->in->width;
  const int32_t n = sobel_subsampled (width, chroma->w_sub);
  const uint32_t rows = (uint32_t) (w->y - (row << chroma->h_sub) + 1);
  const int32_t rest = width - (n - 1) * columns; /* of the last sample */
  unsigned i;

  for (i = 1; i < 3; i++) {
    aim (w, i, row);
    if (plan->has_hue) {
      const float *const sum = w->scratch->hue_sum[i - 1];
      hue_codes (w, plan->recipe.neutral, rows * (uint32_t) columns, sum, w->target[i], 0, n - 1);
      hue_codes (w, plan->recipe.neutral, rows * (uint32_t) rest, sum, w->target[i], n - 1, 1);
    } else {
      const void *in = input_row (w, i, row, n);
      colour_sums (w, i, in, w->target[i], 0, n - 1, rows * (uint32_t) columns);
      colour_sums (w, i, in, w->target[i], n - 1, 1, rows * (uint32_t) rest);
    }
  }
}

/* Writes the rows of the planes that are computed or copied; `chroma`: of those with subsampled rows, too. */
static void
put_planes (const Work *w, bool chroma)
{
  const SobelCpuPlan *plan = w->plan;
  unsigned i;

  for (i = 0; i < plan->out_format->n_planes; i++) {
    const SobelCpuPlane *plane = &plan->out_plane[i];

    if ((plane->h_sub && !chroma) || !has_row (w, i, w->y >> plane->h_sub))
      continue;
    if (plan->out_use[i] == SOBEL_PLANE_WRITE || plan->out_use[i] == SOBEL_PLANE_COPY)
      sobel_cpu_put (plan, plane, w->target, sobel_cpu_row (&w->out->plane[i], w->y >> plane->h_sub), w->in->width,
                     w->scratch);
  }
}

/* A row of the planes that hold nothing but neutral chroma. */
static void
put_neutral (const Work *w, unsigned i, int32_t row)
{
  const SobelCpuPlan *plan = w->plan;

  memcpy (sobel_cpu_row (&w->out->plane[i], row), plan->constants->neutral_bytes,
          sobel_image_row_bytes (plan->out_format, i, w->in->width));
}

/* ---- a picture of the input's own format ---------------------------------------------------------- */

static void
write_row (Work *w)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelFormat *f = plan->out_format;
  const SobelComponent *chroma = f->family == SOBEL_FAMILY_YUV ? &f->component[1] : NULL;
  const bool subsampled = chroma && (chroma->w_sub || chroma->h_sub);
  const bool colours =
      plan->has_hue || plan->recipe.mode == SOBEL_MODE_OVERLAY || plan->recipe.mode == SOBEL_MODE_MASK;
  const bool group_ends = !chroma || ((w->y + 1) & ((1 << chroma->h_sub) - 1)) == 0 || w->y == w->in->height - 1;
  unsigned i;

  for (i = 0; i < f->n_components; i++) {
    if (i == 0 || i == 3 || !subsampled)
      aim (w, i, w->y);
  }
  w->scratch->target = w->target[0] == out_row (w, 0, w->y) ? NULL : out_row (w, 0, w->y);
  if (colours) {
    sobel_cpu_edge_row (plan, w->in, w->y, w->scratch->edge, w->scratch);
    if (plan->has_hue)
      sobel_cpu_hue_row (plan, w->in, w->y, w->scratch);
    write_colours (w);
    if (subsampled)
      add_to_sums (w, chroma);
    if (subsampled && group_ends && has_row (w, chroma->plane, w->y >> chroma->h_sub))
      write_chroma (w, chroma);
  } else {
    write_edges (w);
  }
  write_alpha (w);
  put_planes (w, group_ends);
  for (i = 0; i < f->n_planes; i++) {
    const int32_t row = w->y >> plan->out_plane[i].h_sub;
    if (plan->out_use[i] == SOBEL_PLANE_NEUTRAL && !plan->neutral_ready && group_ends && has_row (w, i, row))
      put_neutral (w, i, row);
  }
}

/* Chroma rows that the layout has beyond those that cover luma: overlay leaves the input, all else is neutral. */
static void
write_surplus (const Work *w)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelFormat *f = plan->out_format;
  unsigned i;

  for (i = 0; i < f->n_planes; i++) {
    const SobelCpuPlane *plane = &plan->out_plane[i];
    const size_t size = sobel_image_row_bytes (f, i, w->in->width);
    int32_t row;

    if (!plane->h_sub || (plan->out_use[i] == SOBEL_PLANE_NEUTRAL && plan->neutral_ready))
      continue;
    for (row = sobel_subsampled (w->in->height, plane->h_sub); row < w->out->plane[i].rows; row++) {
      const bool have = row < w->in->plane[i].rows;
      if (plan->recipe.mode == SOBEL_MODE_BYPASS && have) {
        memcpy (sobel_cpu_row (&w->out->plane[i], row), sobel_cpu_row (&w->in->plane[i], row), size);
      } else if (plan->recipe.mode == SOBEL_MODE_OVERLAY && have) {
        Work copy = *w;
        unsigned c;

        for (c = 0; c < plane->n; c++) {
          const unsigned component = plane->component[c];
          const int32_t n = sobel_subsampled (w->in->width, plane->w_sub);
          aim (&copy, component, row);
          copy_samples (plan, copy.target[component], input_row (&copy, component, row, n), n);
        }
        sobel_cpu_put (plan, plane, copy.target, sobel_cpu_row (&w->out->plane[i], row), w->in->width, w->scratch);
      } else {
        put_neutral (w, i, row);
      }
    }
  }
}

static void
copy_row (const Work *w)
{
  const SobelCpuPlan *plan = w->plan;
  unsigned i;

  for (i = 0; i < plan->out_format->n_planes; i++) {
    const unsigned h_sub = plan->out_plane[i].h_sub;
    const int32_t row = w->y >> h_sub;

    if (row << h_sub == w->y && has_row (w, i, row) && row < w->in->plane[i].rows)
      memcpy (sobel_cpu_row (&w->out->plane[i], row), sobel_cpu_row (&w->in->plane[i], row),
              sobel_image_row_bytes (plan->out_format, i, w->in->width));
  }
}

/* ---- gray made from another format ---------------------------------------------------------------- */

static void
scale_row (const SobelCpuPlan *plan, const void *in, uint32_t minus, void *out, int32_t n)
{
  SobelCpuScale k = plan->scale;

  k.minus = minus;
  if (minus == 0 && k.range == k.white)
    copy_samples (plan, out, in, n);
  else if (plan->wide)
    plan->rows->scale16 (&k, in, out, n);
  else
    plan->rows->scale8 (&k, in, out, n);
}

/* The sample that a gray picture of the input's range would have. */
static void
gray_codes (const SobelCpuPlan *plan, const void *luma, void *out, int32_t n)
{
  const SobelRecipe *r = &plan->recipe;
  const uint32_t high = r->black + r->range;

  if (plan->luma_wide && plan->wide)
    plan->rows->code32_16 (r->unit, luma, out, n);
  else if (plan->luma_wide)
    plan->rows->code32_8 (r->unit, luma, out, n);
  else if (plan->wide)
    plan->rows->code16 ((uint16_t) r->black, (uint16_t) high, luma, out, n);
  else
    plan->rows->code8 ((uint8_t) r->black, (uint8_t) high, luma, out, n);
}

static void
write_gray_row (Work *w)
{
  const SobelCpuPlan *plan = w->plan;
  const SobelMode mode = plan->recipe.mode;
  const int32_t n = w->in->width;
  void *out;

  aim (w, 0, w->y);
  w->scratch->target = NULL;
  out = w->target[0];
  if (mode == SOBEL_MODE_EDGES || mode == SOBEL_MODE_DIRECTION) {
    sobel_cpu_edge_row (plan, w->in, w->y, out, w->scratch);
    scale_row (plan, out, 0, out, n);
  } else {
    gray_codes (plan, sobel_cpu_luma_row (plan, w->in, w->y, w->scratch), out, n);
    if (mode != SOBEL_MODE_BYPASS) {
      sobel_cpu_edge_row (plan, w->in, w->y, w->scratch->edge, w->scratch);
      colour_full (w, 0, out, w->scratch->edge, out, n);
    }
    scale_row (plan, out, plan->recipe.black, out, n);
  }
  put_planes (w, true);
}

/* ---- bands ---------------------------------------------------------------------------------------- */

void
sobel_cpu_band (const SobelCpuPlan *plan, unsigned picture, int32_t y0, int32_t y1, SobelCpuScratch *scratch)
{
  Work w = {.plan = plan, .in = &plan->in[picture], .out = &plan->out[picture], .scratch = scratch};

  memset (scratch->luma_y, -1, sizeof scratch->luma_y);
  scratch->luma_end = y1 < w.in->height ? y1 + 1 : y1;
  for (w.y = y0; w.y < y1; w.y++) {
    if (plan->recipe.gray_out)
      write_gray_row (&w);
    else if (plan->recipe.mode == SOBEL_MODE_BYPASS)
      copy_row (&w);
    else
      write_row (&w);
  }
  if (y1 == w.in->height && !plan->recipe.gray_out)
    write_surplus (&w);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a picture to rows of luma, edge values and hues. */
#include "cpuplan.h"

#include "sobelarith.h"

#include <string.h>

/* ---- luma ----------------------------------------------------------------------------------------- */

/* True where luma of a row is made by luma8_packed. */
static bool
is_packed (const SobelCpuPlan *plan)
{
  const SobelFormat *f = plan->in_format;
  const SobelCpuLayout layout = plan->in_plane[f->component[0].plane].layout;

  if (f->family != SOBEL_FAMILY_RGB)
    return layout == SOBEL_CPU_LAYOUT_1X8;
  return !plan->luma_wide && (layout == SOBEL_CPU_LAYOUT_3X8 || layout == SOBEL_CPU_LAYOUT_4X8);
}

static void
luma_of_rgb (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, void *out, SobelCpuScratch *scratch)
{
  const SobelFormat *f = plan->in_format;
  const SobelCpuRows *ops = plan->rows;
  const void *rgb[3];
  int i;

  for (i = 0; i < 3; i++) {
    const uint8_t *src = sobel_cpu_row (&in->plane[f->component[i].plane], y);
    rgb[i] = sobel_cpu_pick (plan, f, plan->in_plane, (unsigned) i, src, scratch->rgb[i], in->width);
  }
  if (plan->luma_wide && plan->wide)
    ops->luma16_32 (&plan->luma, rgb[0], rgb[1], rgb[2], out, in->width);
  else if (plan->luma_wide)
    ops->luma8_32 (&plan->luma, rgb[0], rgb[1], rgb[2], out, in->width);
  else if (plan->wide)
    ops->luma16 (&plan->luma, rgb[0], rgb[1], rgb[2], out, in->width);
  else
    ops->luma8 (&plan->luma, rgb[0], rgb[1], rgb[2], out, in->width);
}

#define DEFINE_PAD(T)                                                                                                  \
  static void pad_##T (T *row, int32_t width, SobelBorder border, T outside)                                           \
  {                                                                                                                    \
    row[-1] = border == SOBEL_BORDER_ZERO ? outside : row[sobel_border_index (border, -1, width)];                     \
    row[width] = border == SOBEL_BORDER_ZERO ? outside : row[sobel_border_index (border, width, width)];               \
  }

DEFINE_PAD (uint8_t)
DEFINE_PAD (uint16_t)
DEFINE_PAD (uint32_t)

/* What the first and the last column see outside the picture. */
static void
pad (const SobelCpuPlan *plan, void *row, int32_t width)
{
  const SobelRecipe *r = &plan->recipe;

  if (plan->luma_wide)
    pad_uint32_t (row, width, r->border, r->outside);
  else if (plan->wide)
    pad_uint16_t (row, width, r->border, (uint16_t) r->outside);
  else
    pad_uint8_t (row, width, r->border, (uint8_t) r->outside);
}

/* Samples that lie in the picture as they are wanted are copied, too: that takes less time than the first and the last
 * column by themselves, which would keep the processor from beginning with the next row. */
const void *
sobel_cpu_luma_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch)
{
  const SobelFormat *f = plan->in_format;
  const unsigned plane = f->component[0].plane;
  const uint8_t *src = sobel_cpu_row (&in->plane[plane], y);
  void *const row = scratch->luma[y % 4];
  const void *picked = row;

  if (scratch->luma_y[y % 4] == y)
    return row;
  if (is_packed (plan))
    plan->rows->luma8_packed (&plan->luma, src, row, in->width);
  else if (f->family == SOBEL_FAMILY_RGB)
    luma_of_rgb (plan, in, y, row, scratch);
  else
    picked = sobel_cpu_pick (plan, f, plan->in_plane, 0, src, row, in->width);
  if (picked != row)
    memcpy (row, picked, (size_t) in->width * sobel_cpu_sample_size (plan));
  pad (plan, row, in->width);
  scratch->luma_y[y % 4] = y;
  return row;
}

/* ---- neighbourhoods ------------------------------------------------------------------------------- */

/* Three rows of luma from column -1 on. */
typedef struct Neighbourhood
{
  const void *up, *mid, *down;
} Neighbourhood;

static const void *
from_left (const SobelCpuPlan *plan, const void *row)
{
  return (const uint8_t *) row - (plan->luma_wide ? 4 : sobel_cpu_sample_size (plan));
}

/* Not for rows that border=none blanks. */
static Neighbourhood
neighbourhood (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch)
{
  const SobelBorder border = plan->recipe.border;
  const void *up = plan->constants->outside, *down = up, *mid = sobel_cpu_luma_row (plan, in, y, scratch);

  if (y > 0 || border != SOBEL_BORDER_ZERO)
    up = sobel_cpu_luma_row (plan, in, sobel_border_index (border, y - 1, in->height), scratch);
  if (y < in->height - 1 || border != SOBEL_BORDER_ZERO)
    down = sobel_cpu_luma_row (plan, in, sobel_border_index (border, y + 1, in->height), scratch);
  return (Neighbourhood){from_left (plan, up), from_left (plan, mid), from_left (plan, down)};
}

/* Of a place that border=none blanks: without a gradient. */
static Neighbourhood
flat_neighbourhood (const SobelCpuPlan *plan)
{
  const void *row = from_left (plan, plan->constants->outside);

  return (Neighbourhood){row, row, row};
}

/* True where the neighbourhood of the whole row leaves the picture and border=none blanks it. */
static bool
is_blank (const SobelCpuPlan *plan, const SobelImage *in, int32_t y)
{
  return plan->recipe.border == SOBEL_BORDER_NONE && (y == 0 || y == in->height - 1 || in->width < 3);
}

/* ---- edges ---------------------------------------------------------------------------------------- */

/* What border=none leaves of the sample at x. */
static void
blank_edges (const SobelCpuPlan *plan, void *out, int32_t x, int32_t n)
{
  const SobelCpuEdge *k = &plan->edge;

  sobel_cpu_fill (plan, (uint8_t *) out + (size_t) x * sobel_cpu_sample_size (plan),
                  (k->flip + k->bias) & (plan->wide ? 0xffff : 0xff), n);
}

/* Edges of row y, and luma of row y + 2 in between, where that is possible and wanted. */
static bool
edges_and_luma (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, const Neighbourhood *rows, void *out,
                SobelCpuScratch *scratch)
{
  const int32_t next = y + 2;
  SobelCpuLater later;

  if (!is_packed (plan) || (plan->luma.step > 1 && !plan->rows->luma_between))
    return false;
  if (next >= scratch->luma_end || scratch->luma_y[next % 4] == next)
    return false;
  later = (SobelCpuLater){&plan->luma, sobel_cpu_row (&in->plane[0], next), scratch->luma[next % 4], scratch->target};
  plan->rows->edge8_luma (&plan->edge, rows->up, rows->mid, rows->down, out, in->width, &later);
  pad (plan, later.out, in->width);
  scratch->luma_y[next % 4] = next;
  return true;
}

static void
edges (const SobelCpuPlan *plan, const Neighbourhood *rows, void *out, int32_t n)
{
  const SobelCpuRows *ops = plan->rows;

  if (plan->luma_wide && plan->wide)
    ops->edge32_16 (&plan->edge, rows->up, rows->mid, rows->down, out, n);
  else if (plan->luma_wide)
    ops->edge32_8 (&plan->edge, rows->up, rows->mid, rows->down, out, n);
  else if (plan->wide)
    ops->edge16 (&plan->edge, rows->up, rows->mid, rows->down, out, n);
  else
    ops->edge8 (&plan->edge, rows->up, rows->mid, rows->down, out, n);
}

void
sobel_cpu_edge_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, void *out, SobelCpuScratch *scratch)
{
  Neighbourhood rows;

  if (is_blank (plan, in, y)) {
    blank_edges (plan, out, 0, in->width);
    return;
  }
  rows = neighbourhood (plan, in, y, scratch);
  if (!edges_and_luma (plan, in, y, &rows, out, scratch))
    edges (plan, &rows, out, in->width);
  if (plan->recipe.border == SOBEL_BORDER_NONE) {
    blank_edges (plan, out, 0, 1);
    blank_edges (plan, out, in->width - 1, 1);
  }
}

/* ---- direction ------------------------------------------------------------------------------------ */

/* Of n columns from x on. */
static void
hues (const SobelCpuPlan *plan, const Neighbourhood *rows, int32_t x, int32_t n, SobelCpuScratch *scratch)
{
  const SobelCpuRows *ops = plan->rows;
  const uint8_t *const e8 = (const uint8_t *) scratch->edge + x;
  const uint16_t *const e16 = (const uint16_t *) scratch->edge + x;
  float *const out[3] = {scratch->hue[0] + x, scratch->hue[1] + x, scratch->hue[2] + x};

  if (plan->luma_wide && plan->wide)
    ops->hue32_16 (&plan->recipe, rows->up, rows->mid, rows->down, e16, out, n);
  else if (plan->luma_wide)
    ops->hue32_8 (&plan->recipe, rows->up, rows->mid, rows->down, e8, out, n);
  else if (plan->wide)
    ops->hue16 (&plan->recipe, rows->up, rows->mid, rows->down, e16, out, n);
  else
    ops->hue8 (&plan->recipe, rows->up, rows->mid, rows->down, e8, out, n);
}

void
sobel_cpu_hue_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch)
{
  const Neighbourhood flat = flat_neighbourhood (plan);
  Neighbourhood rows;

  if (is_blank (plan, in, y)) {
    hues (plan, &flat, 0, in->width, scratch);
    return;
  }
  rows = neighbourhood (plan, in, y, scratch);
  hues (plan, &rows, 0, in->width, scratch);
  if (plan->recipe.border == SOBEL_BORDER_NONE) {
    hues (plan, &flat, 0, 1, scratch);
    hues (plan, &flat, in->width - 1, 1, scratch);
  }
}

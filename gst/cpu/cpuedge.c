/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a picture to rows of luma, edge values and hues. */
#include "cpuplan.h"

#include "sobelarith.h"

/* ---- luma ----------------------------------------------------------------------------------------- */

static void
luma_of_rgb (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, void *out, SobelCpuScratch *scratch)
{
  const SobelFormat *f = plan->in_format;
  const SobelCpuRows *ops = plan->rows;
  const SobelCpuLayout layout = plan->in_plane[f->component[0].plane].layout;
  const void *rgb[3];
  int i;

  if (!plan->luma_wide && (layout == SOBEL_CPU_LAYOUT_3X8 || layout == SOBEL_CPU_LAYOUT_4X8)) {
    ops->luma8_packed (&plan->luma, sobel_cpu_row (&in->plane[0], y), out, in->width);
    return;
  }
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

const void *
sobel_cpu_luma_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch)
{
  const SobelFormat *f = plan->in_format;
  const unsigned plane = f->component[0].plane;
  const uint8_t *src = sobel_cpu_row (&in->plane[plane], y);
  const int32_t slot = y % 3;

  if (plan->direct && sobel_cpu_in_place (&plan->in_plane[plane], src))
    return src;
  if (scratch->luma_y[slot] != y) {
    if (f->family == SOBEL_FAMILY_RGB)
      luma_of_rgb (plan, in, y, scratch->luma[slot], scratch);
    else
      sobel_cpu_pick (plan, f, plan->in_plane, 0, src, scratch->luma[slot], in->width);
    scratch->luma_y[slot] = y;
  }
  return scratch->luma[slot];
}

/* ---- neighbourhoods ------------------------------------------------------------------------------- */

typedef struct Neighbourhood
{
  const void *up, *mid, *down;
} Neighbourhood;

/* Not for rows that border=none blanks. */
static Neighbourhood
neighbourhood (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch)
{
  const SobelBorder border = plan->recipe.border;
  Neighbourhood rows = {plan->constants->outside, NULL, plan->constants->outside};

  rows.mid = sobel_cpu_luma_row (plan, in, y, scratch);
  if (y > 0 || border != SOBEL_BORDER_ZERO)
    rows.up = sobel_cpu_luma_row (plan, in, sobel_border_index (border, y - 1, in->height), scratch);
  if (y < in->height - 1 || border != SOBEL_BORDER_ZERO)
    rows.down = sobel_cpu_luma_row (plan, in, sobel_border_index (border, y + 1, in->height), scratch);
  return rows;
}

static int64_t
luma_at (const SobelCpuPlan *plan, const void *row, int32_t x, int32_t width)
{
  if ((x < 0 || x >= width) && plan->recipe.border == SOBEL_BORDER_ZERO)
    return plan->recipe.outside;
  x = sobel_border_index (plan->recipe.border, x, width);
  if (plan->luma_wide)
    return ((const uint32_t *) row)[x];
  return plan->wide ? ((const uint16_t *) row)[x] : ((const uint8_t *) row)[x];
}

/* The gradients at column x, for the first and the last one. */
static void
gradients (const SobelCpuPlan *plan, const Neighbourhood *rows, int32_t x, int32_t width, int64_t *gx, int64_t *gy)
{
  const int64_t s = plan->recipe.side, c = plan->recipe.centre;
  const int64_t ul = luma_at (plan, rows->up, x - 1, width), um = luma_at (plan, rows->up, x, width);
  const int64_t ur = luma_at (plan, rows->up, x + 1, width), ml = luma_at (plan, rows->mid, x - 1, width);
  const int64_t mr = luma_at (plan, rows->mid, x + 1, width), dl = luma_at (plan, rows->down, x - 1, width);
  const int64_t dm = luma_at (plan, rows->down, x, width), dr = luma_at (plan, rows->down, x + 1, width);

  *gx = s * (ur - ul) + c * (mr - ml) + s * (dr - dl);
  *gy = s * (dl - ul) + c * (dm - um) + s * (dr - ur);
}

/* ---- edges ---------------------------------------------------------------------------------------- */

static void
store_edge (const SobelCpuPlan *plan, void *out, int32_t x, uint32_t strength)
{
  const SobelCpuEdge *k = &plan->edge;
  const uint32_t e = strength < k->threshold ? 0 : strength;
  const uint32_t value = (e ^ k->flip) + k->bias;

  if (plan->wide)
    ((uint16_t *) out)[x] = (uint16_t) value;
  else
    ((uint8_t *) out)[x] = (uint8_t) value;
}

/* True where the neighbourhood of the whole row leaves the picture and border=none blanks it. */
static bool
is_blank (const SobelCpuPlan *plan, const SobelImage *in, int32_t y)
{
  return plan->recipe.border == SOBEL_BORDER_NONE && (y == 0 || y == in->height - 1 || in->width < 3);
}

static void
inner_edges (const SobelCpuPlan *plan, const Neighbourhood *rows, void *out, int32_t n)
{
  const SobelCpuRows *ops = plan->rows;
  uint8_t *const out8 = (uint8_t *) out + 1;
  uint16_t *const out16 = (uint16_t *) out + 1;

  if (plan->luma_wide && plan->wide)
    ops->edge32_16 (&plan->edge, rows->up, rows->mid, rows->down, out16, n);
  else if (plan->luma_wide)
    ops->edge32_8 (&plan->edge, rows->up, rows->mid, rows->down, out8, n);
  else if (plan->wide)
    ops->edge16 (&plan->edge, rows->up, rows->mid, rows->down, out16, n);
  else
    ops->edge8 (&plan->edge, rows->up, rows->mid, rows->down, out8, n);
}

void
sobel_cpu_edge_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, void *out, SobelCpuScratch *scratch)
{
  const int32_t width = in->width, last = width - 1;
  Neighbourhood rows;
  int32_t x;

  if (is_blank (plan, in, y)) {
    store_edge (plan, out, 0, 0);
    sobel_cpu_fill (plan, out, plan->wide ? *(uint16_t *) out : *(uint8_t *) out, width);
    return;
  }
  rows = neighbourhood (plan, in, y, scratch);
  if (width > 2)
    inner_edges (plan, &rows, out, width - 2);
  for (x = 0; x < width; x += last > 0 ? last : 1) {
    int64_t gx, gy;
    uint32_t strength = 0;

    if (plan->recipe.border != SOBEL_BORDER_NONE) {
      gradients (plan, &rows, x, width, &gx, &gy);
      strength = sobel_edge_strength (&plan->recipe, gx, gy);
    }
    store_edge (plan, out, x, strength);
  }
}

/* ---- direction ------------------------------------------------------------------------------------ */

static void
inner_hues (const SobelCpuPlan *plan, const Neighbourhood *rows, const void *edge, float *const *hue, int32_t n)
{
  const SobelCpuRows *ops = plan->rows;
  const uint8_t *const e8 = (const uint8_t *) edge + 1;
  const uint16_t *const e16 = (const uint16_t *) edge + 1;
  float *const out[3] = {hue[0] + 1, hue[1] + 1, hue[2] + 1};

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
  const int32_t width = in->width, last = width - 1;
  const bool blank = is_blank (plan, in, y);
  Neighbourhood rows = {NULL, NULL, NULL};
  int32_t x;

  if (!blank) {
    rows = neighbourhood (plan, in, y, scratch);
    if (width > 2)
      inner_hues (plan, &rows, scratch->edge, scratch->hue, width - 2);
  }
  /* The first and the last column; all of a blank row. */
  for (x = 0; x < width; x += blank || last == 0 ? 1 : last) {
    const uint32_t e = plan->wide ? ((uint16_t *) scratch->edge)[x] : ((uint8_t *) scratch->edge)[x];
    int64_t gx = 0, gy = 0;
    float shares[3];
    int i;

    if (plan->recipe.border != SOBEL_BORDER_NONE)
      gradients (plan, &rows, x, width, &gx, &gy);
    sobel_hue_shares (gx, gy, shares);
    for (i = 0; i < 3; i++)
      scratch->hue[i][x] = sobel_hue_offset (&plan->recipe, i, shares, e);
  }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rows of samples out of, and into, the layouts of planes. */
#include "cpuplan.h"

#include "sobelarith.h"

#include <string.h>

const void *
sobel_cpu_pick (const SobelCpuPlan *plan, const SobelFormat *format, const SobelCpuPlane *planes, unsigned component,
                const uint8_t *src, void *row, int32_t n)
{
  const SobelComponent *c = &format->component[component];
  const SobelCpuPlane *plane = &planes[c->plane];
  SobelCpuContainer container = plane->container;
  int32_t i;

  if (sobel_cpu_in_place (plane, src))
    return src;
  container.shift = c->shift;
  container.mask = (1u << c->depth) - 1;
  container.step = c->step / c->bytes;
  if (c->pair_step != 2 * c->step) {
    for (i = 0; i < n; i++)
      ((uint8_t *) row)[i] = src[sobel_sample_offset (c, i)];
  } else if (c->bytes == 1) {
    plan->rows->pick8 (src + c->offset, c->step, row, n);
  } else if (c->bytes == 2) {
    plan->rows->pick16 (&container, src + c->offset, row, n);
  } else {
    plan->rows->pick32 (&container, src + c->offset, row, n);
  }
  return row;
}

/* Samples of 0, for what a macropixel has beyond the picture, until n is a multiple of `multiple`. */
static int32_t
extend (const SobelCpuPlan *plan, void *row, int32_t n, int32_t multiple)
{
  while (n % multiple) {
    if (plan->wide)
      ((uint16_t *) row)[n] = 0;
    else
      ((uint8_t *) row)[n] = 0;
    n++;
  }
  return n;
}

/* U Y Y V Y Y */
static void
put_iyu1 (const uint8_t *y, const uint8_t *u, const uint8_t *v, uint8_t *dst, int32_t width)
{
  int32_t i;

  for (i = 0; i < width / 4; i++) {
    dst[6 * i + 0] = u[i];
    dst[6 * i + 1] = y[4 * i + 0];
    dst[6 * i + 2] = y[4 * i + 1];
    dst[6 * i + 3] = v[i];
    dst[6 * i + 4] = y[4 * i + 2];
    dst[6 * i + 5] = y[4 * i + 3];
  }
}

static void
put_422 (const SobelCpuPlan *plan, const SobelCpuPlane *plane, void *const *rows, uint8_t *dst, int32_t width,
         SobelCpuScratch *scratch)
{
  static const SobelCpuContainer plain = {.step = 1};
  const int32_t whole = extend (plan, rows[0], width, 2);
  const void *chroma[2] = {rows[plane->component[0]], rows[plane->component[1]]};
  const void *all[2];

  all[plane->luma_first ? 0 : 1] = rows[0];
  all[plane->luma_first ? 1 : 0] = scratch->pair;
  if (plan->wide) {
    plan->rows->join2_16 (&plain, (const uint16_t *const *) chroma, scratch->pair, whole / 2);
    plan->rows->join2_16 (&plane->container, (const uint16_t *const *) all, dst, whole);
  } else {
    plan->rows->join2_8 ((const uint8_t *const *) chroma, scratch->pair, whole / 2);
    plan->rows->join2_8 ((const uint8_t *const *) all, dst, whole);
  }
}

void
sobel_cpu_put (const SobelCpuPlan *plan, const SobelCpuPlane *plane, void *const *rows, uint8_t *dst, int32_t width,
               SobelCpuScratch *scratch)
{
  const SobelCpuRows *ops = plan->rows;
  const int32_t n = sobel_subsampled (width, plane->w_sub);
  const void *in[4];
  const uint8_t *const *in8 = (const uint8_t *const *) in;
  const uint16_t *const *in16 = (const uint16_t *const *) in;
  unsigned i;

  for (i = 0; i < plane->n; i++)
    in[i] = rows[plane->component[i]];
  switch (plane->layout) {
    case SOBEL_CPU_LAYOUT_1X8:
      if (in[0] != dst)
        memcpy (dst, in[0], (size_t) n);
      break;
    case SOBEL_CPU_LAYOUT_2X8:
      ops->join2_8 (in8, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_3X8:
      ops->join3_8 (in8, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_4X8:
      ops->join4_8 (in8, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_1X16:
      if (in[0] != dst)
        ops->join1_16 (&plane->container, in16, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_2X16:
      ops->join2_16 (&plane->container, in16, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_4X16:
      ops->join4_16 (&plane->container, in16, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_WORD:
      ops->join_word (plane->shift, plane->container.swap, plane->n, in16, dst, n);
      break;
    case SOBEL_CPU_LAYOUT_422_8:
    case SOBEL_CPU_LAYOUT_422_16:
      put_422 (plan, plane, rows, dst, width, scratch);
      break;
    case SOBEL_CPU_LAYOUT_IYU1:
      put_iyu1 (rows[0], rows[1], rows[2], dst, extend (plan, rows[0], width, 4));
      break;
  }
}

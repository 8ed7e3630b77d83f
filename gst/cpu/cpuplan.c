/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuplan.h"

#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { HOST_BIG_ENDIAN = 1 };
#else
enum { HOST_BIG_ENDIAN = 0 };
#endif

/* ---- layouts -------------------------------------------------------------------------------------- */

/* Components of the plane, by place in memory. */
static void
sort_components (SobelCpuPlane *plane, const SobelFormat *format, unsigned index)
{
  unsigned i, j;

  plane->n = 0;
  plane->w_sub = plane->h_sub = 8;
  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];

    if (c->plane != index)
      continue;
    for (j = plane->n; j > 0; j--) {
      const SobelComponent *before = &format->component[plane->component[j - 1]];
      if (before->offset < c->offset || (before->offset == c->offset && before->shift < c->shift))
        break;
      plane->component[j] = plane->component[j - 1];
    }
    plane->component[j] = (uint8_t) i;
    plane->n++;
    plane->w_sub = c->w_sub < plane->w_sub ? c->w_sub : plane->w_sub;
    plane->h_sub = c->h_sub < plane->h_sub ? c->h_sub : plane->h_sub;
  }
}

void
sobel_cpu_plane_init (SobelCpuPlane *plane, const SobelFormat *format, unsigned index)
{
  static const SobelCpuLayout layouts8[] = {SOBEL_CPU_LAYOUT_1X8, SOBEL_CPU_LAYOUT_2X8, SOBEL_CPU_LAYOUT_3X8,
                                            SOBEL_CPU_LAYOUT_4X8};
  static const SobelCpuLayout layouts16[] = {SOBEL_CPU_LAYOUT_1X16, SOBEL_CPU_LAYOUT_2X16, SOBEL_CPU_LAYOUT_4X16,
                                             SOBEL_CPU_LAYOUT_4X16};
  const SobelComponent *first;
  unsigned i;

  memset (plane, 0, sizeof *plane);
  sort_components (plane, format, index);
  first = &format->component[plane->component[0]];
  plane->container.shift = first->shift;
  plane->container.mask = (1u << first->depth) - 1;
  plane->container.swap = first->bytes > 1 && format->big_endian != HOST_BIG_ENDIAN;
  plane->container.step = first->bytes > 0 ? first->step / first->bytes : 1;
  for (i = 0; i < plane->n; i++)
    plane->shift[i] = format->component[plane->component[i]].shift;

  if (first->bytes == 4)
    plane->layout = SOBEL_CPU_LAYOUT_WORD;
  else if (format->component[0].plane == index && format->component[0].pair_step != 2 * format->component[0].step)
    plane->layout = SOBEL_CPU_LAYOUT_IYU1;
  else if (plane->n == 3 && format->component[1].w_sub == 1 && format->component[0].plane == index) {
    plane->layout = first->bytes == 1 ? SOBEL_CPU_LAYOUT_422_8 : SOBEL_CPU_LAYOUT_422_16;
    plane->luma_first = plane->component[0] == 0;
    /* Y U Y V or U Y V Y: what is left is chroma in its order. */
    if (plane->luma_first) {
      plane->component[0] = plane->component[1];
      plane->component[1] = plane->component[2];
    } else {
      plane->component[1] = plane->component[2];
    }
  } else {
    plane->layout = first->bytes == 1 ? layouts8[plane->n - 1] : layouts16[plane->n - 1];
  }
  plane->native = plane->layout == SOBEL_CPU_LAYOUT_1X8 ||
                  (plane->layout == SOBEL_CPU_LAYOUT_1X16 && first->depth == 16 && !plane->container.swap);
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* Where the next row of `bytes` a sample lies in a block that is being laid out; 64 bytes apart from its neighbours, so
 * that a whole macropixel fits behind the last column. */
static void *
take_row (uint8_t *memory, size_t *offset, int32_t width, size_t bytes)
{
  void *row = memory ? memory + *offset : NULL;

  *offset += (((size_t) width + 8) * bytes + 127) / 64 * 64;
  return row;
}

/* A row of luma has one sample more before the first and behind the last, for what the border makes of them. */
static void *
take_luma_row (uint8_t *memory, size_t *offset, int32_t width)
{
  *offset += 64;
  return take_row (memory, offset, width, 4);
}

static size_t
lay_out_scratch (SobelCpuScratch *s, uint8_t *memory, int32_t width)
{
  size_t offset = 0;
  int i;

  for (i = 0; i < 4; i++)
    s->luma[i] = take_luma_row (memory, &offset, width);
  for (i = 0; i < 3; i++) {
    s->rgb[i] = take_row (memory, &offset, width, 2);
    s->hue[i] = take_row (memory, &offset, width, 4);
  }
  for (i = 0; i < 2; i++)
    s->hue_sum[i] = take_row (memory, &offset, width, 4);
  for (i = 0; i < 4; i++)
    s->component[i] = take_row (memory, &offset, width, 2);
  s->edge = take_row (memory, &offset, width, 2);
  s->pair = take_row (memory, &offset, width, 2);
  s->sum = take_row (memory, &offset, width, 4);
  return offset;
}

bool
sobel_cpu_scratch_init (SobelCpuScratch *scratch, int32_t width)
{
  const size_t size = lay_out_scratch (scratch, NULL, width);

  scratch->memory = aligned_alloc (64, size);
  if (!scratch->memory)
    return false;
  lay_out_scratch (scratch, scratch->memory, width);
  return true;
}

void
sobel_cpu_scratch_clear (SobelCpuScratch *scratch)
{
  free (scratch->memory);
  memset (scratch, 0, sizeof *scratch);
}

static size_t
lay_out_constants (SobelCpuConstants *c, uint8_t *memory, int32_t width)
{
  size_t offset = 0;

  c->outside = take_luma_row (memory, &offset, width);
  c->neutral = take_row (memory, &offset, width, 2);
  c->filler = take_row (memory, &offset, width, 2);
  c->neutral_bytes = take_row (memory, &offset, width, 4);
  return offset;
}

bool
sobel_cpu_constants_init (SobelCpuConstants *constants, int32_t width)
{
  const size_t size = lay_out_constants (constants, NULL, width);

  constants->memory = aligned_alloc (64, size);
  if (!constants->memory)
    return false;
  lay_out_constants (constants, constants->memory, width);
  return true;
}

void
sobel_cpu_constants_clear (SobelCpuConstants *constants)
{
  free (constants->memory);
  memset (constants, 0, sizeof *constants);
}

void
sobel_cpu_fill (const SobelCpuPlan *plan, void *row, uint32_t value, int32_t n)
{
  uint16_t *const wide = row;
  int32_t i;

  if (!plan->wide) {
    memset (row, (int) value, (size_t) n);
    return;
  }
  for (i = 0; i < n; i++)
    wide[i] = (uint16_t) value;
}

/* A row of a plane that has nothing but chroma, one sample or a pair of 16 bits a column at most. */
static void
fill_neutral_bytes (const SobelCpuPlan *plan, const SobelCpuPlane *plane, uint8_t *bytes, int32_t width)
{
  const uint32_t value = plan->recipe.neutral << plane->container.shift;
  const size_t size = sobel_image_row_bytes (plan->out_format, plan->out_format->component[1].plane, width);
  size_t i;

  if (!plan->wide) {
    memset (bytes, (int) value, size);
    return;
  }
  for (i = 0; i + 1 < size; i += 2) {
    bytes[i] = (uint8_t) (plan->out_format->big_endian ? value >> 8 : value);
    bytes[i + 1] = (uint8_t) (plan->out_format->big_endian ? value : value >> 8);
  }
}

static void
fill_constants (const SobelCpuPlan *plan, int32_t width)
{
  const SobelCpuConstants *c = plan->constants;
  const SobelFormat *f = plan->out_format;
  int32_t i;

  if (plan->luma_wide) {
    for (i = -1; i <= width; i++)
      ((uint32_t *) c->outside)[i] = plan->recipe.outside;
  } else {
    sobel_cpu_fill (plan, (uint8_t *) c->outside - sobel_cpu_sample_size (plan), plan->recipe.outside, width + 2);
  }
  if (f->family == SOBEL_FAMILY_YUV) {
    sobel_cpu_fill (plan, c->neutral, plan->recipe.neutral, width + 1);
    if (f->component[0].plane != f->component[1].plane)
      fill_neutral_bytes (plan, &plan->out_plane[f->component[1].plane], c->neutral_bytes, width);
  }
  if (f->padded)
    sobel_cpu_fill (plan, c->filler, (1u << f->component[3].depth) - 1, width);
}

/* ---- plan ----------------------------------------------------------------------------------------- */

static void
init_edge (SobelCpuPlan *plan)
{
  static const SobelCpuMetric metrics[] = {
      [SOBEL_GRADIENT_X] = SOBEL_CPU_METRIC_X,
      [SOBEL_GRADIENT_Y] = SOBEL_CPU_METRIC_Y,
  };
  const SobelRecipe *r = &plan->recipe;
  const uint32_t all = plan->wide ? 0xffff : 0xff;
  const int64_t weights = 2 * r->side + r->centre;
  /* b is added where the edge value itself is the output sample. */
  const bool codes =
      !r->gray_out && (r->mode == SOBEL_MODE_EDGES || (r->mode == SOBEL_MODE_DIRECTION && !plan->has_hue));
  SobelCpuEdge *k = &plan->edge;

  if (r->gradient == SOBEL_GRADIENT_BOTH)
    k->metric = r->norm == SOBEL_NORM_L1 ? SOBEL_CPU_METRIC_L1 : SOBEL_CPU_METRIC_L2;
  else
    k->metric = metrics[r->gradient];
  k->exact = r->exact;
  k->narrow = weights * r->max_code <= 32767 && r->range < 4096;
  k->fits32 = weights * (int64_t) r->max_code * r->unit <= 0x3fffffff;
  k->side = r->side;
  k->centre = r->centre;
  k->unit = r->unit;
  k->gain = r->gain;
  k->range = r->range;
  k->threshold = r->threshold;
  /* range - e is (e ^ all) + (range - all), in as many bits as `all` has. */
  k->flip = r->invert ? all : 0;
  k->bias = ((r->invert ? r->range - all : 0) + (codes ? r->black : 0)) & all;
}

static void
init_luma (SobelCpuPlan *plan)
{
  const SobelFormat *f = plan->in_format;
  int i;

  for (i = 0; i < 3; i++) {
    plan->luma.weight[i] = (int32_t) plan->recipe.luma_weight[i];
    plan->luma.position[i] = f->component[i < f->n_components ? i : 0].offset;
  }
  plan->luma.inverse = 1.0 / plan->recipe.luma_unit;
  plan->luma.step = f->component[0].step;
  plan->luma_wide = plan->recipe.unit != 1;
}

void
sobel_cpu_plan_init (SobelCpuPlan *plan, const SobelConfig *config, const SobelImage *in, const SobelImage *out,
                     const SobelRecipe *recipe, bool interlaced, bool neutral_ready)
{
  uint8_t in_use[SOBEL_MAX_PLANES];
  unsigned i;

  plan->recipe = *recipe;
  plan->in_format = config->in;
  plan->out_format = config->out;
  plan->neutral_ready = neutral_ready;
  plan->wide = sobel_format_depth (config->in) > 8;
  for (i = 0; i < config->in->n_planes; i++)
    sobel_cpu_plane_init (&plan->in_plane[i], config->in, i);
  plan->group = 1;
  for (i = 0; i < config->out->n_planes; i++) {
    sobel_cpu_plane_init (&plan->out_plane[i], config->out, i);
    if (1u << plan->out_plane[i].h_sub > plan->group)
      plan->group = 1u << plan->out_plane[i].h_sub;
  }
  sobel_recipe_planes (recipe, config, in_use, plan->out_use);
  plan->has_hue = recipe->mode == SOBEL_MODE_DIRECTION && !recipe->gray_out && config->in->family != SOBEL_FAMILY_GRAY;

  plan->n_pictures = interlaced ? 2 : 1;
  for (i = 0; i < plan->n_pictures; i++) {
    plan->in[i] = interlaced ? sobel_image_field (in, i) : *in;
    plan->out[i] = interlaced ? sobel_image_field (out, i) : *out;
  }

  init_luma (plan);
  init_edge (plan);
  plan->scale.white = recipe->gray_max;
  plan->scale.range = recipe->range;
  plan->scale.inverse = 1.0 / (2.0 * recipe->range);
  plan->scale.minus = 0;
  fill_constants (plan, config->width);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plaindevice.h"

#include "sobelarith.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 16 };

typedef struct PlainDevice
{
  SobelDevice parent;
  PlainMutant mutant;
  unsigned n_slots;
  uint64_t n_frames;
  SobelJob job[MAX_SLOTS];
} PlainDevice;

/* One picture (frame or field) under way. */
typedef struct Render
{
  PlainMutant mutant;
  const SobelRecipe *recipe;
  SobelImage in, out;
  bool neutral_ready;
  uint32_t *e;
  float *offset[3]; /* mode=direction: components' offsets of each pixel */
} Render;

const char *
plain_mutant_name (PlainMutant mutant)
{
  static const char *names[] = {
      [PLAIN_RIGHT] = "right",
      [PLAIN_SIGN_DROPPED] = "sign-dropped",
      [PLAIN_AXES_SWAPPED] = "axes-swapped",
      [PLAIN_BORDER_REPEATED] = "border-repeated",
      [PLAIN_BORDER_CODE_0] = "border-code-0",
      [PLAIN_RIM_DRAWN] = "rim-drawn",
      [PLAIN_COLUMN_SKIPPED] = "column-skipped",
      [PLAIN_ROW_SKIPPED] = "row-skipped",
      [PLAIN_PAST_ROW] = "past-row",
      [PLAIN_BEFORE_PLANE] = "before-plane",
      [PLAIN_PADDING_READ] = "padding-read",
      [PLAIN_TAIL] = "tail",
      [PLAIN_INPUT_WRITTEN] = "input-written",
      [PLAIN_ROUNDED] = "rounded",
      [PLAIN_WRAPPED] = "wrapped",
      [PLAIN_CLAMPED_AT_WHITE] = "clamped-at-white",
      [PLAIN_WEIGHTS] = "weights",
      [PLAIN_BGR] = "bgr",
      [PLAIN_LUMA_ROUNDED] = "luma-rounded",
      [PLAIN_SINGLE_PRECISION] = "single-precision",
      [PLAIN_RECIPROCAL] = "reciprocal",
      [PLAIN_GAIN_FIRST] = "gain-first",
      [PLAIN_THRESHOLD] = "threshold",
      [PLAIN_INVERT_FIRST] = "invert-first",
      [PLAIN_UNUSED_BITS_READ] = "unused-bits-read",
      [PLAIN_UNUSED_BITS_LEFT] = "unused-bits-left",
      [PLAIN_FILLER_0] = "filler-0",
      [PLAIN_CHROMA_0] = "chroma-0",
      [PLAIN_ALPHA_OPAQUE] = "alpha-opaque",
      [PLAIN_OVERLAY_TRUNCATED] = "overlay-truncated",
      [PLAIN_OVERLAY_COVERS] = "overlay-covers",
      [PLAIN_MASK_FIRST] = "mask-first",
      [PLAIN_GRAY_TRUNCATED] = "gray-truncated",
      [PLAIN_GRAY_UNCLAMPED] = "gray-unclamped",
      [PLAIN_FIELDS_MIXED] = "fields-mixed",
      [PLAIN_LAST_CHROMA_ROW] = "last-chroma-row",
      [PLAIN_DIRECTION_FLIPPED] = "direction-flipped",
      [PLAIN_DIRECTION_NEAR] = "direction-near",
      [PLAIN_NEUTRAL_WRITTEN] = "neutral-written",
      [PLAIN_FRAMES_SWAPPED] = "frames-swapped",
      [PLAIN_RARE] = "rare",
  };

  return mutant < PLAIN_N_MUTANTS ? names[mutant] : "?";
}

/* ---- samples -------------------------------------------------------------------------------------- */

static const uint8_t *
row_of (const SobelImage *image, unsigned component, int32_t y)
{
  const SobelPlane *plane = &image->plane[image->format->component[component].plane];

  return plane->data + y * plane->stride;
}

static uint32_t
load (const Render *r, unsigned component, int32_t x, int32_t y)
{
  const SobelComponent *c = &r->in.format->component[component];
  const uint8_t *row = row_of (&r->in, component, y);

  if (r->mutant == PLAIN_UNUSED_BITS_READ && c->bytes == 2)
    return sobel_container_load (row + sobel_sample_offset (c, x), 2, r->in.format->big_endian) >> c->shift & 0xffff;
  return sobel_sample_load (c, r->in.format->big_endian, row, x);
}

/* Into a row that was cleared. */
static void
store (const Render *r, unsigned component, int32_t x, int32_t y, uint32_t code)
{
  const SobelComponent *c = &r->out.format->component[component];
  uint8_t *p = (uint8_t *) row_of (&r->out, component, y) + sobel_sample_offset (c, x);
  const uint32_t others = sobel_container_load (p, c->bytes, r->out.format->big_endian);

  sobel_container_store (p, c->bytes, r->out.format->big_endian, others | code << c->shift);
}

static uint32_t
luma_at (const Render *r, int32_t x, int32_t y)
{
  const SobelRecipe *recipe = r->recipe;
  uint32_t red, green, blue;

  if (r->in.format->family != SOBEL_FAMILY_RGB)
    return load (r, 0, x, y);
  red = load (r, 0, x, y);
  green = load (r, 1, x, y);
  blue = load (r, 2, x, y);
  if (r->mutant == PLAIN_BGR)
    return sobel_luma_rgb (recipe, blue, green, red);
  if (r->mutant == PLAIN_LUMA_ROUNDED && recipe->unit == 1)
    return (recipe->luma_weight[0] * red + recipe->luma_weight[1] * green + recipe->luma_weight[2] * blue +
            recipe->luma_unit / 2) / recipe->luma_unit;
  return sobel_luma_rgb (recipe, red, green, blue);
}

/* ---- edges ---------------------------------------------------------------------------------------- */

static int64_t
neighbour (const Render *r, int32_t x, int32_t y)
{
  const int32_t w = r->in.width, h = r->in.height;
  const bool outside = x < 0 || y < 0 || x >= w || y >= h;
  SobelBorder border = r->recipe->border;

  if (r->mutant == PLAIN_PADDING_READ && x == w && y >= 0 && y < h && r->in.format->component[0].w_sub == 0 &&
      r->in.format->family == SOBEL_FAMILY_GRAY)
    return load (r, 0, x, y);
  if (r->mutant == PLAIN_TAIL && x > w / 16 * 16 && x < w && border != SOBEL_BORDER_NONE)
    x--;
  if (border == SOBEL_BORDER_ZERO && outside)
    return r->mutant == PLAIN_BORDER_CODE_0 ? 0 : r->recipe->outside;
  if (border == SOBEL_BORDER_MIRROR && r->mutant == PLAIN_BORDER_REPEATED)
    border = SOBEL_BORDER_REPLICATE;
  return luma_at (r, sobel_border_index (border, x, w), sobel_border_index (border, y, h));
}

static void
gradients (const Render *r, int32_t x, int32_t y, int64_t *gx, int64_t *gy)
{
  const int32_t side = r->recipe->side;
  const int32_t centre = r->mutant == PLAIN_WEIGHTS && side == 3 ? 9 : r->recipe->centre;
  int32_t i;

  *gx = *gy = 0;
  for (i = -1; i <= 1; i++) {
    const int32_t weight = i == 0 ? centre : side;

    *gx += weight * (neighbour (r, x + 1, y + i) - neighbour (r, x - 1, y + i));
    *gy += weight * (neighbour (r, x + i, y + 1) - neighbour (r, x + i, y - 1));
  }
  if (r->mutant == PLAIN_SIGN_DROPPED) {
    *gx = *gx < 0 ? 0 : *gx;
    *gy = *gy < 0 ? 0 : *gy;
  } else if (r->mutant == PLAIN_AXES_SWAPPED) {
    const int64_t swap = *gx;
    *gx = *gy;
    *gy = swap;
  }
}

/* Strengths that are wrong; `right` where the mutant leaves them alone. */
static uint32_t
mutant_strength (const Render *r, int64_t gx, int64_t gy, uint32_t right)
{
  const SobelRecipe *k = r->recipe;
  const bool l2 = k->gradient == SOBEL_GRADIENT_BOTH && k->norm == SOBEL_NORM_L2;
  const double size = sqrt ((double) gx * (double) gx + (double) gy * (double) gy);
  const double sum = (double) ((k->gradient == SOBEL_GRADIENT_Y ? 0 : llabs (gx)) +
                               (k->gradient == SOBEL_GRADIENT_X ? 0 : llabs (gy)));
  double other = l2 ? size : sum;
  float single;

  switch (r->mutant) {
    case PLAIN_ROUNDED:
      return k->exact && l2 && size + 0.5 < k->range ? (uint32_t) (size + 0.5) : right;
    case PLAIN_WRAPPED:
      return k->exact && l2 && size < 1e9 ? (uint32_t) size & k->max_code : right;
    case PLAIN_CLAMPED_AT_WHITE:
      return right == k->range ? k->range + (k->black > 0) : right;
    case PLAIN_SINGLE_PRECISION:
      single = sqrtf ((float) gx * (float) gx + (float) gy * (float) gy) / (float) k->unit * (float) k->gain;
      return !k->exact && l2 ? (single < (float) k->range ? (uint32_t) single : k->range) : right;
    case PLAIN_RECIPROCAL:
    case PLAIN_GAIN_FIRST:
      other = r->mutant == PLAIN_RECIPROCAL ? other * (1.0 / k->unit) * k->gain : other * k->gain / k->unit;
      return !k->exact ? (other < k->range ? (uint32_t) other : k->range) : right;
    default:
      return right;
  }
}

static uint32_t
finished (const Render *r, uint32_t strength)
{
  SobelRecipe k = *r->recipe;

  if (r->mutant == PLAIN_THRESHOLD && k.threshold > 0)
    k.threshold++;
  if (r->mutant == PLAIN_INVERT_FIRST && k.invert)
    return k.range - strength < k.threshold ? 0 : k.range - strength;
  return sobel_edge_finish (&k, strength);
}

static bool
is_blank (const Render *r, int32_t x, int32_t y)
{
  const int32_t last = r->in.height - (r->mutant == PLAIN_RIM_DRAWN && r->in.height > 2 ? 0 : 1);

  return r->recipe->border == SOBEL_BORDER_NONE && (x == 0 || y == 0 || x == r->in.width - 1 || y >= last);
}

static void
compute_edges (Render *r)
{
  const int32_t w = r->in.width;
  float shares[3];
  int32_t x, y;
  int i;

  for (y = 0; y < r->in.height; y++)
    for (x = 0; x < w; x++) {
      const size_t at = (size_t) y * w + x;
      int64_t gx = 0, gy = 0;
      uint32_t strength = 0;

      if (!is_blank (r, x, y)) {
        gradients (r, x, y, &gx, &gy);
        strength = mutant_strength (r, gx, gy, sobel_edge_strength (r->recipe, gx, gy));
      }
      r->e[at] = finished (r, strength);
      if (r->recipe->mode != SOBEL_MODE_DIRECTION)
        continue;
      sobel_hue_shares (gx, r->mutant == PLAIN_DIRECTION_FLIPPED ? -gy : gy, shares);
      for (i = 0; i < 3; i++)
        r->offset[i][at] = sobel_hue_offset (r->recipe, i, shares, r->e[at]);
    }
}

/* ---- output samples ------------------------------------------------------------------------------- */

/* What the pixels that a sample covers add up to. */
typedef struct Covered
{
  uint32_t e_sum, first_e, n;
  float offset;
} Covered;

static Covered
covered_by (const Render *r, unsigned component, int32_t cx, int32_t cy)
{
  const SobelComponent *c = &r->out.format->component[component];
  Covered covered = {0, 0, 0, 0};
  int32_t x, y;

  for (y = cy << c->h_sub; y < (cy + 1) << c->h_sub && y < r->in.height; y++)
    for (x = cx << c->w_sub; x < (cx + 1) << c->w_sub && x < r->in.width; x++) {
      const size_t at = (size_t) y * r->in.width + x;

      if (covered.n++ == 0)
        covered.first_e = r->e[at];
      covered.e_sum += r->e[at];
      if (r->recipe->mode == SOBEL_MODE_DIRECTION && component < 3)
        covered.offset += r->offset[component][at];
    }
  if (r->mutant == PLAIN_OVERLAY_COVERS && covered.n > 0)
    covered.n = 1u << (c->w_sub + c->h_sub);
  return covered;
}

static uint32_t
blended (const Render *r, uint32_t in, uint32_t code, const Covered *covered)
{
  uint32_t out;
  uint64_t d, k;

  if (covered->n == 0)
    return in;
  out = sobel_overlay (r->recipe, in, code, covered->e_sum, covered->n);
  if (r->mutant != PLAIN_OVERLAY_TRUNCATED)
    return out;
  d = (uint64_t) covered->n * 255 * r->recipe->range;
  k = (uint64_t) covered->e_sum * r->recipe->overlay_alpha;
  return (uint32_t) ((in * (d - k) + code * k) / d);
}

static uint32_t
gray_sample (const Render *r, int32_t x, int32_t y)
{
  const SobelRecipe *k = r->recipe;
  const uint32_t e = r->e[(size_t) y * r->in.width + x];

  if (r->mutant == PLAIN_GRAY_TRUNCATED && k->mode == SOBEL_MODE_EDGES)
    return (uint32_t) ((uint64_t) e * k->gray_max / k->range);
  if (r->mutant == PLAIN_GRAY_UNCLAMPED && k->mode == SOBEL_MODE_BYPASS)
    return sobel_gray_scale (k, luma_at (r, x, y) / k->unit - k->black) & k->gray_max;
  return sobel_gray_out (k, luma_at (r, x, y), e);
}

static uint32_t
sample (const Render *r, unsigned component, int32_t x, int32_t y)
{
  const SobelRecipe *k = r->recipe;
  const bool chroma = r->in.format->family == SOBEL_FAMILY_YUV && (component == 1 || component == 2);
  const uint32_t base = chroma ? (r->mutant == PLAIN_CHROMA_0 ? 0 : k->neutral) : k->black;
  Covered covered;

  if (k->gray_out)
    return gray_sample (r, x, y);
  if (component == 3) {
    const uint32_t max = (1u << r->out.format->component[3].depth) - 1;

    if (r->out.format->padded)
      return r->mutant == PLAIN_FILLER_0 ? 0 : max;
    return r->mutant == PLAIN_ALPHA_OPAQUE ? max : load (r, 3, x, y);
  }
  covered = covered_by (r, component, x, y);
  switch (k->mode) {
    case SOBEL_MODE_OVERLAY:
      return blended (r, load (r, component, x, y), k->overlay_code[component], &covered);
    case SOBEL_MODE_MASK:
      return (r->mutant == PLAIN_MASK_FIRST ? covered.first_e : covered.e_sum) > 0 ? load (r, component, x, y) : base;
    case SOBEL_MODE_DIRECTION:
      if (r->in.format->family != SOBEL_FAMILY_GRAY)
        return covered.n == 0 ? base
                              : sobel_hue_code (k, base + (r->mutant == PLAIN_DIRECTION_NEAR),
                                                covered.offset / (float) covered.n);
      return base + covered.e_sum;
    case SOBEL_MODE_EDGES:
    case SOBEL_MODE_BYPASS:
    default:
      return chroma ? base : base + covered.e_sum;
  }
}

/* ---- pictures ------------------------------------------------------------------------------------- */

static bool
is_left_alone (const Render *r, unsigned plane)
{
  const SobelFormat *format = r->out.format;

  return r->neutral_ready && r->mutant != PLAIN_NEUTRAL_WRITTEN && r->recipe->mode == SOBEL_MODE_EDGES &&
         !r->recipe->gray_out && format->family == SOBEL_FAMILY_YUV && plane != format->component[0].plane &&
         (plane == format->component[1].plane || plane == format->component[2].plane);
}

static void
clear_rows (const Render *r)
{
  unsigned p;
  int32_t y;

  if (r->mutant == PLAIN_UNUSED_BITS_LEFT && r->out.format->component[0].depth == 10)
    return;
  for (p = 0; p < r->out.format->n_planes; p++) {
    const size_t bytes = sobel_image_row_bytes (r->out.format, p, r->out.width);

    for (y = 0; y < r->out.plane[p].rows && !is_left_alone (r, p); y++)
      memset (r->out.plane[p].data + y * r->out.plane[p].stride, 0, bytes);
  }
}

static void
write_component (const Render *r, unsigned component)
{
  const SobelComponent *c = &r->out.format->component[component];
  const int32_t w = sobel_subsampled (r->out.width, c->w_sub) - (r->mutant == PLAIN_COLUMN_SKIPPED && component == 0);
  int32_t rows = c->h_sub > 0 ? r->out.plane[c->plane].rows : r->out.height;
  int32_t x, y;

  if (is_left_alone (r, c->plane))
    return;
  if (r->mutant == PLAIN_ROW_SKIPPED && component == 0)
    rows--;
  if (r->mutant == PLAIN_LAST_CHROMA_ROW && c->h_sub > 0)
    rows = sobel_subsampled (r->out.height, c->h_sub);
  for (y = 0; y < rows; y++)
    for (x = 0; x < w; x++)
      store (r, component, x, y, sample (r, component, x, y));
}

/* Bytes where none may be written. */
static void
trespass (const Render *r)
{
  const size_t bytes = sobel_image_row_bytes (r->out.format, 0, r->out.width);
  uint8_t *p = r->out.plane[0].data;

  if (r->mutant == PLAIN_PAST_ROW && r->out.height > 0)
    p[(r->out.height - 1) * r->out.plane[0].stride + (ptrdiff_t) bytes] ^= 0x5a;
  if (r->mutant == PLAIN_BEFORE_PLANE)
    p[-1] ^= 0x5a;
  if (r->mutant == PLAIN_INPUT_WRITTEN)
    r->in.plane[0].data[0] ^= 1;
}

static SobelStatus
render (Render *r, SobelError *error)
{
  const size_t n = (size_t) r->in.width * (size_t) r->in.height + 1;
  unsigned i;
  SobelStatus status = SOBEL_STATUS_OK;

  r->e = calloc (n, sizeof *r->e);
  for (i = 0; i < 3; i++)
    r->offset[i] = calloc (n, sizeof (float));
  if (r->e == NULL || r->offset[0] == NULL || r->offset[1] == NULL || r->offset[2] == NULL) {
    status = sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for %dx%d pixels", r->in.width, r->in.height);
  } else {
    compute_edges (r);
    clear_rows (r);
    for (i = 0; i < r->out.format->n_components; i++)
      write_component (r, i);
    trespass (r);
  }
  free (r->e);
  for (i = 0; i < 3; i++)
    free (r->offset[i]);
  return status;
}

/* ---- device --------------------------------------------------------------------------------------- */

static SobelStatus
plain_configure (SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  PlainDevice *plain = (PlainDevice *) device;

  if (n_slots < 1 || n_slots > MAX_SLOTS)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "%u slots; 1 to %d are possible", n_slots, MAX_SLOTS);
  plain->n_slots = n_slots;
  return SOBEL_STATUS_OK;
}

static SobelStatus
plain_submit (SobelDevice *device, unsigned slot, const SobelJob *job, SobelError *error)
{
  ((PlainDevice *) device)->job[slot] = *job;
  return SOBEL_STATUS_OK;
}

static SobelStatus
plain_wait (SobelDevice *device, unsigned slot, uint64_t timeout_ns, SobelError *error)
{
  PlainDevice *plain = (PlainDevice *) device;
  const SobelJob *job = &plain->job[slot];
  const bool fields = job->interlaced && plain->mutant != PLAIN_FIELDS_MIXED;
  const bool swap = plain->mutant == PLAIN_FRAMES_SWAPPED && plain->n_frames % 16 == 15 && slot > 0;
  const SobelImage *in = swap ? &plain->job[slot - 1].in : &job->in;
  unsigned f;

  plain->n_frames++;
  for (f = 0; f < (fields ? 2 : 1); f++) {
    Render r = {.mutant = plain->mutant, .recipe = &job->recipe, .neutral_ready = job->neutral_ready};
    SobelStatus status;

    r.in = fields ? sobel_image_field (in, f) : *in;
    r.out = fields ? sobel_image_field (&job->out, f) : job->out;
    status = render (&r, error);
    if (status != SOBEL_STATUS_OK)
      return status;
  }
  if (plain->mutant == PLAIN_RARE && plain->n_frames % 1000 == 999)
    job->out.plane[0].data[0] ^= 1;
  return SOBEL_STATUS_OK;
}

static void
plain_timing (SobelDevice *device, unsigned slot, SobelTiming *timing)
{
  memset (timing, 0, sizeof *timing);
}

static void
plain_info (SobelDevice *device, SobelDeviceInfo *info)
{
  memset (info, 0, sizeof *info);
  snprintf (info->name, sizeof info->name, "plain, %s", plain_mutant_name (((PlainDevice *) device)->mutant));
  info->kernel = "plain";
}

static bool
plain_destroy (SobelDevice *device)
{
  free (device);
  return true;
}

SobelDevice *
plain_device_new (PlainMutant mutant)
{
  static const SobelDeviceOps ops = {
      .kind = "plain",
      .configure = plain_configure,
      .submit = plain_submit,
      .wait = plain_wait,
      .timing = plain_timing,
      .info = plain_info,
      .destroy = plain_destroy,
  };
  PlainDevice *plain = calloc (1, sizeof *plain);

  if (plain == NULL)
    return NULL;
  plain->parent.ops = &ops;
  plain->mutant = mutant;
  return &plain->parent;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkcase.h"

#include <string.h>

/* ---- sides ---------------------------------------------------------------------------------------- */

void
check_side_init (CheckSide *side, const GstVideoInfo *info, GstVideoFormat format)
{
  GstVideoInfo own;
  uint8_t *spare;
  unsigned p;

  memset (side, 0, sizeof *side);
  gst_video_info_set_interlaced_format (&own, format, info->interlace_mode, (guint) info->width, (guint) info->height);
  side->info = own.finfo;
  side->format = sobel_format_find (own.finfo->name);
  side->width = info->width;
  side->height = info->height;
  side->shape.n_planes = own.finfo->n_planes;
  for (p = 0; p < side->shape.n_planes; p++) {
    TPlaneLayout *plane = &side->shape.plane[p];

    plane->row_bytes = oracle_row_bytes (own.finfo, p, info->width);
    plane->rows = side->rows[p] = oracle_plane_rows (&own, p);
    side->mask[p] = g_malloc (plane->row_bytes);
    spare = g_malloc (plane->row_bytes);
    oracle_row_bits (own.finfo, p, info->width, side->mask[p], spare);
    g_free (spare);
  }
  side->bound = t_layout_bound (&side->shape);
  for (p = 0; p < side->shape.n_planes; p++)
    side->bound += CHECK_MAX_EXTRA_ROWS * (side->shape.plane[p].row_bytes + T_MAX_GAP);
}

void
check_side_clear (CheckSide *side)
{
  unsigned p;

  for (p = 0; p < ORACLE_MAX_PLANES; p++)
    g_clear_pointer (&side->mask[p], g_free);
}

SobelImage
check_image (const CheckSide *side, const TLayout *layout, uint8_t *region)
{
  SobelImage image = {.format = side->format, .memory = SOBEL_MEMORY_HOST};
  unsigned p;

  image.width = side->width;
  image.height = side->height;
  for (p = 0; p < layout->n_planes; p++) {
    image.plane[p].data = region + layout->plane[p].offset;
    image.plane[p].stride = (ptrdiff_t) layout->plane[p].stride;
    image.plane[p].rows = layout->plane[p].rows;
  }
  return image;
}

static void
planes_of (OraclePlane *plane, const TLayout *layout, const uint8_t *region)
{
  unsigned p;

  for (p = 0; p < layout->n_planes; p++) {
    plane[p].data = (uint8_t *) region + layout->plane[p].offset;
    plane[p].stride = (ptrdiff_t) layout->plane[p].stride;
  }
}

/* ---- cases ---------------------------------------------------------------------------------------- */

/* Chance into filler, unused bits and pixels beyond the picture: whoever reads them is found out. */
static void
poison_rows (const CheckSide *side, const TLayout *layout, uint8_t *region, TRandom *random)
{
  unsigned p;
  int y;
  size_t i;

  for (p = 0; p < layout->n_planes; p++) {
    const TPlaneLayout *plane = &layout->plane[p];

    for (y = 0; y < plane->rows; y++) {
      uint8_t *row = region + plane->offset + (size_t) y * plane->stride;

      for (i = 0; i < plane->row_bytes; i++)
        if (side->mask[p][i] != 0xff)
          row[i] = (uint8_t) ((row[i] & side->mask[p][i]) | (t_random_next (random) & ~side->mask[p][i]));
    }
  }
}

static void
codes_of_range (const GstVideoInfo *info, unsigned *black, unsigned *white)
{
  const unsigned n = info->finfo->depth[0];
  const bool limited = !GST_VIDEO_INFO_IS_RGB (info) && info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;

  *black = limited ? 16u << (n - 8) : 0;
  *white = limited ? 235u << (n - 8) : (1u << n) - 1;
}

void
check_case_init (CheckCase *c, const CheckConfig *config, const CheckSide *in_side, const CheckSide *out_side,
                 const CheckPicture *picture, unsigned index, TRandom *random)
{
  OraclePlane plane[ORACLE_MAX_PLANES];
  unsigned black, white, p;

  memset (c, 0, sizeof *c);
  c->config = config;
  c->in_side = in_side;
  c->out_side = out_side;
  c->picture = *picture;
  c->index = index;
  c->in_layout = in_side->shape;
  c->out_layout = out_side->shape;
  for (p = 0; p < c->in_layout.n_planes; p++)
    c->in_layout.plane[p].rows += (int) picture->extra_rows;
  t_layout_init (&c->in_layout, picture->in_stride, random);
  t_layout_init (&c->out_layout, picture->out_stride, random);

  c->input = g_malloc (c->in_layout.size);
  c->before = g_malloc (c->out_layout.size);
  c->want = g_malloc (c->out_layout.size);
  t_random_fill (random, c->input, c->in_layout.size);
  t_random_fill (random, c->before, c->out_layout.size);

  codes_of_range (&config->info, &black, &white);
  oracle_picture_init (&c->in, in_side->info, in_side->width, in_side->height, in_side->rows);
  oracle_picture_init (&c->out, out_side->info, out_side->width, out_side->height, out_side->rows);
  check_fill (&c->in, picture->fill, picture->level, black, white, random);
  planes_of (plane, &c->in_layout, c->input);
  oracle_encode (&c->in, plane);
  poison_rows (in_side, &c->in_layout, c->input, random);
}

void
check_case_clear (CheckCase *c)
{
  oracle_picture_clear (&c->in);
  oracle_picture_clear (&c->out);
  g_clear_pointer (&c->input, g_free);
  g_clear_pointer (&c->before, g_free);
  g_clear_pointer (&c->want, g_free);
}

/* Whether the plane holds chroma alone, which mode=edges makes neutral. */
static bool
is_neutral_plane (const CheckCase *c, unsigned plane)
{
  const GstVideoFormatInfo *info = c->out_side->info;

  return c->picture.params.mode == SOBEL_MODE_EDGES && GST_VIDEO_FORMAT_INFO_IS_YUV (info) &&
         (info->plane[1] == plane || info->plane[2] == plane) && info->plane[0] != plane;
}

/* The region with `picture` written into it. */
static void
want_picture (const CheckCase *c, const OraclePicture *picture, uint8_t *want)
{
  OraclePlane plane[ORACLE_MAX_PLANES];
  unsigned p;

  memcpy (want, c->before, c->out_layout.size);
  planes_of (plane, &c->out_layout, want);
  oracle_encode (picture, plane);
  for (p = 0; p < c->out_layout.n_planes; p++) {
    const TPlaneLayout *l = &c->out_layout.plane[p];

    if (c->picture.neutral_ready && is_neutral_plane (c, p))
      memcpy (want + l->offset, c->before + l->offset, l->stride * (size_t) (l->rows - 1) + l->row_bytes);
  }
}

void
check_case_solve (CheckCase *c)
{
  oracle_apply (&c->out, &c->in, &c->config->info, &c->picture.params, c->picture.interlaced);
  want_picture (c, &c->out, c->want);
}

uint64_t
check_samples (const CheckCase *c)
{
  uint64_t n = 0;
  unsigned i;

  for (i = 0; i < c->out.n_components; i++)
    n += (uint64_t) c->out.component[i].width * (uint64_t) c->out.component[i].height;
  return n;
}

/* ---- comparison ----------------------------------------------------------------------------------- */

/* The oracle's picture with the device's code wherever that is within the tolerance. */
static void
accept_tolerated (const CheckCase *c, OraclePicture *accepted, const uint8_t *out)
{
  OraclePlane plane[ORACLE_MAX_PLANES];
  unsigned i;
  int k;

  oracle_picture_init (accepted, c->out.format, c->out.width, c->out.height, c->out_side->rows);
  planes_of (plane, &c->out_layout, out);
  oracle_decode (accepted, plane);
  for (i = 0; i < accepted->n_components; i++) {
    OracleComponent *component = &accepted->component[i];
    const int tolerance = (int) oracle_tolerance (&c->out, &c->picture.params, i);

    for (k = 0; k < component->width * component->height; k++)
      if (ABS (component->code[k] - c->out.component[i].code[k]) > tolerance)
        component->code[k] = c->out.component[i].code[k];
  }
}

/* The sample whose bits start the trouble in a row: the first of the row that differs. */
static void
find_sample (const CheckCase *c, CheckFinding *finding, const uint8_t *out)
{
  OraclePicture got;
  OraclePlane plane[ORACLE_MAX_PLANES];
  unsigned i;
  int x;

  oracle_picture_init (&got, c->out.format, c->out.width, c->out.height, c->out_side->rows);
  planes_of (plane, &c->out_layout, out);
  oracle_decode (&got, plane);
  finding->fault = CHECK_FAULT_BITS;
  for (i = 0; i < got.n_components && finding->fault == CHECK_FAULT_BITS; i++) {
    const OracleComponent *component = &got.component[i];
    const size_t row = (size_t) finding->row * component->width;
    const int tolerance = (int) oracle_tolerance (&c->out, &c->picture.params, i);

    if (c->out.format->plane[i] != finding->plane || finding->row >= component->height)
      continue;
    for (x = 0; x < component->width; x++) {
      finding->expected = c->out.component[i].code[row + x];
      finding->got = component->code[row + x];
      if (ABS ((int) finding->expected - (int) finding->got) <= tolerance)
        continue;
      finding->fault = CHECK_FAULT_SAMPLE;
      finding->component = i;
      finding->x = (unsigned) x;
      finding->y = (unsigned) finding->row;
      break;
    }
  }
  oracle_picture_clear (&got);
}

/* Counts the bytes that differ and remembers the first. */
static bool
differ (const uint8_t *a, const uint8_t *b, size_t size, CheckFinding *finding)
{
  size_t i;

  if (memcmp (a, b, size) == 0)
    return false;
  for (i = 0; i < size; i++)
    if (a[i] != b[i] && finding->n_bytes++ == 0)
      finding->position = i;
  return true;
}

CheckFinding
check_case_compare (const CheckCase *c, const uint8_t *in, const uint8_t *out)
{
  CheckFinding finding = {.fault = CHECK_FAULT_NONE};
  uint8_t *want = c->want;
  OraclePicture accepted;

  if (differ (c->input, in, c->in_layout.size, &finding)) {
    finding.fault = CHECK_FAULT_INPUT_WRITTEN;
    return finding;
  }
  if (c->picture.params.mode == SOBEL_MODE_DIRECTION) {
    accept_tolerated (c, &accepted, out);
    want = g_malloc (c->out_layout.size);
    want_picture (c, &accepted, want);
    oracle_picture_clear (&accepted);
  }
  if (differ (want, out, c->out_layout.size, &finding)) {
    if (t_layout_locate (&c->out_layout, finding.position, &finding.plane, &finding.row, &finding.byte))
      find_sample (c, &finding, out);
    else
      finding.fault = CHECK_FAULT_OUTSIDE;
  }
  if (want != c->want)
    g_free (want);
  return finding;
}

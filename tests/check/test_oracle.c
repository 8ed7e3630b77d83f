/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The oracle itself: that it reads and writes every bit of every format, and known answers. */
#include "oracle.h"
#include "testutil.h"

#include <string.h>

enum { MAX_ROW = 1024 };

/* A picture one row high (or one row of chroma). */
typedef struct Row
{
  OraclePicture picture;
  uint8_t bytes[ORACLE_MAX_PLANES][MAX_ROW];
  size_t size[ORACLE_MAX_PLANES];
  OraclePlane plane[ORACLE_MAX_PLANES];
} Row;

static void
row_init (Row *row, const GstVideoFormatInfo *format, int width)
{
  static const int rows[ORACLE_MAX_PLANES] = {1, 1, 1, 1};
  unsigned p;

  memset (row, 0, sizeof *row);
  oracle_picture_init (&row->picture, format, width, 1, rows);
  for (p = 0; p < format->n_planes; p++) {
    row->size[p] = oracle_row_bytes (format, p, width);
    row->plane[p] = (OraclePlane){ row->bytes[p], MAX_ROW };
  }
}

/* ---- every bit ------------------------------------------------------------------------------------ */

/* How many codes differ, and by how many bits in all. */
static void
difference (const OraclePicture *a, const OraclePicture *b, unsigned *codes, unsigned *bits)
{
  unsigned c;
  int i;

  *codes = *bits = 0;
  for (c = 0; c < a->n_components; c++)
    for (i = 0; i < a->component[c].width * a->component[c].height; i++) {
      const unsigned changed = a->component[c].code[i] ^ b->component[c].code[i];

      *codes += changed != 0;
      *bits += (unsigned) __builtin_popcount (changed);
    }
}

static unsigned
sample_bits (const OraclePicture *picture)
{
  unsigned c, n = 0;

  for (c = 0; c < picture->n_components; c++)
    n += picture->component[c].depth * (unsigned) (picture->component[c].width * picture->component[c].height);
  return n;
}

/* Each bit that is said to carry a sample changes exactly one bit of one code; no other changes any; and as
 * many carry samples as samples have bits. So reading loses nothing and mixes nothing. */
static void
check_bits (const GstVideoFormatInfo *format, int width, TRandom *random)
{
  Row row, changed;
  uint8_t mask[MAX_ROW], spare[MAX_ROW];
  unsigned p, carrying = 0, codes, bits;
  size_t bit;

  row_init (&row, format, width);
  row_init (&changed, format, width);
  for (p = 0; p < format->n_planes; p++)
    t_random_fill (random, row.bytes[p], row.size[p]);
  oracle_decode (&row.picture, row.plane);
  memcpy (changed.bytes, row.bytes, sizeof row.bytes);
  for (p = 0; p < format->n_planes; p++) {
    oracle_row_bits (format, p, width, mask, spare);
    for (bit = 0; bit < 8 * row.size[p]; bit++) {
      const uint8_t flip = (uint8_t) (1 << bit % 8);
      const bool carries = mask[bit / 8] & flip;

      changed.bytes[p][bit / 8] ^= flip;
      oracle_decode (&changed.picture, changed.plane);
      changed.bytes[p][bit / 8] ^= flip;
      difference (&row.picture, &changed.picture, &codes, &bits);
      T_CHECK (codes == carries && bits == carries, "%s width %d plane %u bit %zu: %u codes, %u bits", format->name,
               width, p, bit, codes, bits);
      T_CHECK (!carries || !(spare[bit / 8] & flip), "%s width %d plane %u bit %zu is spare", format->name, width, p,
               bit);
      carrying += carries;
    }
  }
  T_CHECK (carrying == sample_bits (&row.picture), "%s width %d: %u bits of %u", format->name, width, carrying,
           sample_bits (&row.picture));
  oracle_picture_clear (&row.picture);
  oracle_picture_clear (&changed.picture);
}

/* Writing is the inverse of reading, and leaves unused bits 0. */
static void
check_round_trip (const GstVideoFormatInfo *format, int width, TRandom *random)
{
  Row row, back;
  uint8_t mask[MAX_ROW], spare[MAX_ROW];
  unsigned p, codes, bits;
  size_t i;

  row_init (&row, format, width);
  row_init (&back, format, width);
  for (p = 0; p < format->n_planes; p++)
    t_random_fill (random, row.bytes[p], row.size[p]);
  oracle_decode (&row.picture, row.plane);
  oracle_encode (&row.picture, back.plane);
  for (p = 0; p < format->n_planes; p++) {
    oracle_row_bits (format, p, width, mask, spare);
    for (i = 0; i < row.size[p]; i++)
      T_CHECK (((row.bytes[p][i] ^ back.bytes[p][i]) & mask[i]) == 0, "%s width %d plane %u byte %zu", format->name,
               width, p, i);
  }
  oracle_decode (&back.picture, back.plane);
  difference (&row.picture, &back.picture, &codes, &bits);
  T_CHECK (codes == 0, "%s width %d: %u codes differ", format->name, width, codes);
  oracle_picture_clear (&row.picture);
  oracle_picture_clear (&back.picture);
}

static void
test_every_format (TRandom *random)
{
  guint n_formats, i;
  const GstVideoFormat *formats = gst_video_formats_raw (&n_formats);
  unsigned n = 0;
  int width;

  for (i = 0; i < n_formats; i++) {
    const GstVideoFormatInfo *format = gst_video_format_get_info (formats[i]);

    if (!oracle_format_is_required (format))
      continue;
    n++;
    for (width = 1; width <= 9; width++) {
      check_bits (format, width, random);
      check_round_trip (format, width, random);
    }
  }
  printf ("%u formats read and written bit by bit\n", n);
  T_CHECK (n >= 94, "GStreamer 1.22 has 94");
}

/* ---- known bytes ---------------------------------------------------------------------------------- */

/* Layouts as GStreamer's documentation describes them: the bytes of the first pixels, and the first pixel's
 * three or four components. */
typedef struct KnownBytes
{
  GstVideoFormat format;
  uint8_t plane[ORACLE_MAX_PLANES][8];
  unsigned code[4];
} KnownBytes;

static void
test_known_bytes (void)
{
  static const KnownBytes table[] = {
      {GST_VIDEO_FORMAT_RGB, {{1, 2, 3}}, {1, 2, 3}},
      {GST_VIDEO_FORMAT_BGRx, {{1, 2, 3, 4}}, {3, 2, 1}},
      {GST_VIDEO_FORMAT_ARGB, {{1, 2, 3, 4}}, {2, 3, 4, 1}},
      {GST_VIDEO_FORMAT_YUY2, {{1, 2, 3, 4}}, {1, 2, 4}},
      {GST_VIDEO_FORMAT_UYVY, {{1, 2, 3, 4}}, {2, 1, 3}},
      {GST_VIDEO_FORMAT_VYUY, {{1, 2, 3, 4}}, {2, 3, 1}},
      {GST_VIDEO_FORMAT_NV12, {{1}, {2, 3}}, {1, 2, 3}},
      {GST_VIDEO_FORMAT_NV21, {{1}, {2, 3}}, {1, 3, 2}},
      {GST_VIDEO_FORMAT_YV12, {{1}, {2}, {3}}, {1, 3, 2}},
      {GST_VIDEO_FORMAT_IYU1, {{1, 2, 3, 4, 5, 6}}, {2, 1, 4}},
      {GST_VIDEO_FORMAT_VUYA, {{1, 2, 3, 4}}, {3, 2, 1, 4}},
      {GST_VIDEO_FORMAT_GBR, {{1}, {2}, {3}}, {3, 1, 2}},
      {GST_VIDEO_FORMAT_GRAY16_BE, {{0x12, 0x34}}, {0x1234}},
      {GST_VIDEO_FORMAT_GRAY16_LE, {{0x12, 0x34}}, {0x3412}},
      {GST_VIDEO_FORMAT_P010_10LE, {{0x40, 0x01}, {0x80, 0x02, 0xc0, 0x04}}, {5, 10, 0x13}},
      {GST_VIDEO_FORMAT_I420_10LE, {{0x01, 0x02}, {0x02, 0x03}, {0x03, 0x00}}, {0x201, 0x302, 3}},
      {GST_VIDEO_FORMAT_v216, {{1, 0, 2, 0, 3, 0, 4, 0}}, {2, 1, 3}},
      {GST_VIDEO_FORMAT_Y210, {{0x40, 0, 0x80, 0, 0xc0, 0, 0, 1}}, {1, 2, 4}},
      {GST_VIDEO_FORMAT_r210, {{0x12, 0x34, 0x56, 0x78}}, {0x123, 0x115, 0x278}},
      {GST_VIDEO_FORMAT_Y410, {{0x78, 0x56, 0x34, 0x92}}, {0x115, 0x278, 0x123, 2}},
      {GST_VIDEO_FORMAT_RGB10A2_LE, {{0x78, 0x56, 0x34, 0x92}}, {0x278, 0x115, 0x123, 2}},
      {GST_VIDEO_FORMAT_BGR10A2_LE, {{0x78, 0x56, 0x34, 0x92}}, {0x123, 0x115, 0x278, 2}},
      {GST_VIDEO_FORMAT_AV12, {{1}, {2, 3}, {4}}, {1, 2, 3, 4}},
      {GST_VIDEO_FORMAT_RGBA64_BE, {{0, 1, 0, 2, 0, 3, 0, 4}}, {1, 2, 3, 4}},
  };
  size_t i;
  unsigned p, c;

  for (i = 0; i < G_N_ELEMENTS (table); i++) {
    Row row;

    row_init (&row, gst_video_format_get_info (table[i].format), 1);
    for (p = 0; p < ORACLE_MAX_PLANES; p++)
      memcpy (row.bytes[p], table[i].plane[p], sizeof table[i].plane[p]);
    oracle_decode (&row.picture, row.plane);
    for (c = 0; c < row.picture.n_components; c++)
      T_CHECK (row.picture.component[c].code[0] == table[i].code[c], "%s component %u is %u, not %u",
               row.picture.format->name, c, row.picture.component[c].code[0], table[i].code[c]);
    oracle_picture_clear (&row.picture);
  }
}

/* ---- known answers -------------------------------------------------------------------------------- */

typedef struct Known
{
  OraclePicture in, out;
  GstVideoInfo info;
  SobelParams params;
  bool interlaced;
} Known;

static void
known_init (Known *k, GstVideoFormat format, GstVideoFormat out, int width, int height)
{
  const SobelParams defaults = SOBEL_PARAMS_DEFAULT;
  int rows[ORACLE_MAX_PLANES];
  unsigned p;

  memset (k, 0, sizeof *k);
  gst_video_info_set_format (&k->info, format, (guint) width, (guint) height);
  for (p = 0; p < ORACLE_MAX_PLANES; p++)
    rows[p] = p < k->info.finfo->n_planes ? oracle_plane_rows (&k->info, p) : 0;
  oracle_picture_init (&k->in, k->info.finfo, width, height, rows);
  oracle_picture_init (&k->out, gst_video_format_get_info (out), width, height, rows);
  k->params = defaults;
}

static void
known_clear (Known *k)
{
  oracle_picture_clear (&k->in);
  oracle_picture_clear (&k->out);
}

static void
known_set (Known *k, int component, const uint16_t *codes)
{
  OracleComponent *c = &k->in.component[component];

  memcpy (c->code, codes, sizeof *codes * (size_t) c->width * (size_t) c->height);
}

static void
known_expect (Known *k, const char *what, int component, const uint16_t *codes)
{
  const OracleComponent *c = &k->out.component[component];
  int i;

  oracle_apply (&k->out, &k->in, &k->info, &k->params, k->interlaced);
  for (i = 0; i < c->width * c->height; i++)
    T_CHECK (c->code[i] == codes[i], "%s: component %d sample %d is %u, not %u", what, component, i, c->code[i],
             codes[i]);
}

static void
test_gray_answers (void)
{
  static const uint16_t dot[9] = {0, 0, 0, 0, 9, 0, 0, 0, 0};
  Known k;

  known_init (&k, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY8, 3, 3);
  known_set (&k, 0, dot);
  /* Corners see (9, 9): the root of 162 is 12.7; sides see 18. */
  known_expect (&k, "dot", 0, (uint16_t[]){12, 18, 12, 18, 0, 18, 12, 18, 12});
  k.params.norm = SOBEL_NORM_L1;
  known_expect (&k, "dot l1", 0, (uint16_t[]){18, 18, 18, 18, 0, 18, 18, 18, 18});
  k.params.gradient = SOBEL_GRADIENT_X;
  known_expect (&k, "dot x", 0, (uint16_t[]){9, 0, 9, 18, 0, 18, 9, 0, 9});
  k.params.gradient = SOBEL_GRADIENT_Y;
  known_expect (&k, "dot y", 0, (uint16_t[]){9, 18, 9, 0, 0, 0, 9, 18, 9});
  k.params.op = SOBEL_OPERATOR_SCHARR;
  known_expect (&k, "dot y scharr", 0, (uint16_t[]){27, 90, 27, 0, 0, 0, 27, 90, 27});
  k.params.op = SOBEL_OPERATOR_PREWITT;
  k.params.gain = 0.5;
  known_expect (&k, "dot y prewitt half", 0, (uint16_t[]){4, 4, 4, 0, 0, 0, 4, 4, 4});
  k.params.threshold = 5 / 255.0;
  known_expect (&k, "threshold", 0, (uint16_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0});
  k.params.invert = true;
  known_expect (&k, "invert", 0, (uint16_t[]){255, 255, 255, 255, 255, 255, 255, 255, 255});
  known_clear (&k);
}

static void
test_border_answers (void)
{
  static const uint16_t ramp[6] = {10, 20, 40, 10, 20, 40};
  Known k;

  known_init (&k, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY8, 3, 2);
  known_set (&k, 0, ramp);
  k.params.gradient = SOBEL_GRADIENT_X;
  known_expect (&k, "replicate", 0, (uint16_t[]){40, 120, 80, 40, 120, 80});
  k.params.border = SOBEL_BORDER_MIRROR;
  known_expect (&k, "mirror", 0, (uint16_t[]){0, 120, 0, 0, 120, 0});
  k.params.border = SOBEL_BORDER_ZERO;
  known_expect (&k, "zero", 0, (uint16_t[]){60, 90, 60, 60, 90, 60});
  k.params.border = SOBEL_BORDER_NONE;
  known_expect (&k, "none", 0, (uint16_t[]){0, 0, 0, 0, 0, 0});
  known_clear (&k);

  /* Black, not 0, is outside a picture of limited range. */
  known_init (&k, GST_VIDEO_FORMAT_Y444, GST_VIDEO_FORMAT_Y444, 1, 1);
  known_set (&k, 0, (uint16_t[]){18});
  k.params.border = SOBEL_BORDER_ZERO;
  known_expect (&k, "limited zero", 0, (uint16_t[]){16});
  known_clear (&k);
}

static void
test_colour_answers (void)
{
  Known k;

  /* 0.299 * 255 = 76.2 and 0.114 * 255 = 29.07: luma 76 and 29, 4 * 47 = 188; unrounded 4 * 47.175 = 188.7. */
  known_init (&k, GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_RGB, 2, 1);
  known_set (&k, 0, (uint16_t[]){255, 0});
  known_set (&k, 2, (uint16_t[]){0, 255});
  known_expect (&k, "red and blue", 1, (uint16_t[]){188, 188});
  k.params.precision = SOBEL_PRECISION_FLOAT;
  k.params.gain = 1.01;
  known_expect (&k, "unrounded", 1, (uint16_t[]){190, 190});
  k.params.gain = 1;
  k.params.mode = SOBEL_MODE_OVERLAY;
  /* 255 * (1 - 188/255) + 0: the red pixel stays red, the blue one becomes 67 blue and 188 red. */
  known_expect (&k, "overlay red", 0, (uint16_t[]){255, 188});
  known_expect (&k, "overlay blue", 2, (uint16_t[]){0, 67});
  k.params.mode = SOBEL_MODE_DIRECTION;
  /* Luma falls to the right: gx < 0, hue 180 degrees, cyan. */
  known_expect (&k, "direction red", 0, (uint16_t[]){0, 0});
  known_expect (&k, "direction green", 1, (uint16_t[]){188, 188});
  known_expect (&k, "direction blue", 2, (uint16_t[]){188, 188});
  known_clear (&k);

  known_init (&k, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_I420, 3, 1);
  known_set (&k, 0, (uint16_t[]){16, 16, 116});
  known_set (&k, 1, (uint16_t[]){7, 8});
  known_expect (&k, "limited", 0, (uint16_t[]){16, 235, 235});
  known_expect (&k, "neutral", 1, (uint16_t[]){128, 128});
  k.params.mode = SOBEL_MODE_MASK;
  known_expect (&k, "mask luma", 0, (uint16_t[]){16, 16, 116});
  known_expect (&k, "mask chroma", 1, (uint16_t[]){7, 8});
  k.params.gain = 0;
  known_expect (&k, "mask nothing", 1, (uint16_t[]){128, 128});
  known_clear (&k);

  /* Limited gray from 16 codes of edge: 16 * 255 / 219 = 18.6. */
  known_init (&k, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_GRAY8, 2, 1);
  known_set (&k, 0, (uint16_t[]){20, 24});
  known_expect (&k, "gray made from YUV", 0, (uint16_t[]){19, 19});
  k.params.mode = SOBEL_MODE_BYPASS;
  known_expect (&k, "gray of the picture", 0, (uint16_t[]){5, 9});
  known_clear (&k);
}

static void
test_field_answers (void)
{
  Known k;

  /* Two flat fields make no edge, however different they are. */
  known_init (&k, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY8, 1, 5);
  known_set (&k, 0, (uint16_t[]){3, 200, 3, 200, 13});
  k.interlaced = true;
  known_expect (&k, "fields", 0, (uint16_t[]){0, 0, 40, 0, 40});
  known_clear (&k);

  /* Chroma row 1 belongs to field 1 and covers luma rows 1 and 3. */
  known_init (&k, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_I420, 1, 4);
  known_set (&k, 0, (uint16_t[]){50, 100, 50, 101});
  known_set (&k, 1, (uint16_t[]){1, 2});
  k.params.mode = SOBEL_MODE_MASK;
  k.interlaced = true;
  known_expect (&k, "field chroma", 1, (uint16_t[]){128, 2});
  known_clear (&k);
}

int
main (int argc, char **argv)
{
  TRandom random = t_random (t_seed (1), 0);

  gst_init (&argc, &argv);
  test_every_format (&random);
  test_known_bytes ();
  test_gray_answers ();
  test_border_answers ();
  test_colour_answers ();
  test_field_answers ();
  return t_result ();
}

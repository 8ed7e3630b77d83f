/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The format table against GStreamer's pack and unpack functions, sample by sample, and its set of rows
 * against the rule: raw, not complex, tiled or palettised, luma or RGB components of 8 to 16 bits. */
#include "sobelarith.h"
#include "testutil.h"

#include <gst/video/video.h>

#include <stdlib.h>
#include <string.h>

static const int sizes[][2] = {
    {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 3}, {7, 9}, {8, 5}, {13, 6}, {17, 11}, {64, 8}, {70, 3},
};

typedef struct Picture
{
  const GstVideoFormatInfo *gst;
  const SobelFormat *format;
  GstVideoInfo info;
  uint8_t *memory;
  gpointer data[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  bool deep;      /* 16 bits a component when unpacked */
  uint8_t *line;  /* one unpacked row */
} Picture;

static bool
admitted (const GstVideoFormatInfo *gst)
{
  const guint colours = GST_VIDEO_FORMAT_INFO_IS_RGB (gst) ? 3 : 1;
  guint i;

  if (!(GST_VIDEO_FORMAT_INFO_IS_RGB (gst) || GST_VIDEO_FORMAT_INFO_IS_YUV (gst) ||
        GST_VIDEO_FORMAT_INFO_IS_GRAY (gst)))
    return false;
  if (gst->flags & (GST_VIDEO_FORMAT_FLAG_COMPLEX | GST_VIDEO_FORMAT_FLAG_TILED | GST_VIDEO_FORMAT_FLAG_PALETTE))
    return false;
#if GST_CHECK_VERSION(1, 29, 0)
  if (gst->flags & GST_VIDEO_FORMAT_FLAG_FLOAT)
    return false;
#endif
  for (i = 0; i < colours; i++) {
    if (gst->depth[i] < 8 || gst->depth[i] > 16)
      return false;
  }
  return true;
}

static void
picture_init (Picture *p, const SobelFormat *format, const GstVideoFormatInfo *gst, int width, int height)
{
  guint i;

  memset (p, 0, sizeof *p);
  p->gst = gst;
  p->format = format;
  if (!gst_video_info_set_format (&p->info, gst->format, width, height))
    abort ();
  p->memory = g_malloc (GST_VIDEO_INFO_SIZE (&p->info) + 64);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (&p->info); i++) {
    p->data[i] = p->memory + GST_VIDEO_INFO_PLANE_OFFSET (&p->info, i);
    p->stride[i] = GST_VIDEO_INFO_PLANE_STRIDE (&p->info, i);
  }
  p->deep = GST_VIDEO_FORMAT_INFO_BITS (gst_video_format_get_info (gst->unpack_format)) == 16;
  /* GStreamer's functions work on whole groups of pixels and may touch more than the width. */
  p->line = g_malloc ((width + 16) * 8);
}

static void
picture_clear (Picture *p)
{
  g_free (p->memory);
  g_free (p->line);
}

static void
fill_random (uint8_t *p, size_t size)
{
  size_t i;

  for (i = 0; i < size; i++)
    p[i] = (uint8_t) (t_chance () >> 13);
}

/* Component `c` of unpacked pixel `x`, cut to `depth` bits. Unpacked order: A, then Y U V or R G B. */
static uint32_t
line_get (const Picture *p, int c, int x, unsigned depth)
{
  const int i = c == 3 ? 0 : c + 1;

  if (p->deep)
    return ((const uint16_t *) p->line)[4 * x + i] >> (16 - depth);
  return p->line[4 * x + i] >> (8 - depth);
}

static void
line_set (Picture *p, int c, int x, uint32_t value)
{
  const int i = c == 3 ? 0 : c + 1;

  if (p->deep)
    ((uint16_t *) p->line)[4 * x + i] = (uint16_t) value;
  else
    p->line[4 * x + i] = (uint8_t) (value >> 8);
}

static uint32_t
table_get (const Picture *p, int c, int x, int y)
{
  const SobelComponent *comp = &p->format->component[c];
  const uint8_t *row = (const uint8_t *) p->data[comp->plane] + (ptrdiff_t) p->stride[comp->plane] * (y >> comp->h_sub);

  return sobel_sample_load (comp, p->format->big_endian, row, x >> comp->w_sub);
}

/* What the project says of the row against what GStreamer says where GStreamer is right. */
static void
check_facts (const Picture *p)
{
  const SobelFormat *f = p->format;
  const int width = GST_VIDEO_INFO_WIDTH (&p->info), height = GST_VIDEO_INFO_HEIGHT (&p->info);
  const guint colours = f->family == SOBEL_FAMILY_GRAY ? 1 : 3;
  guint i;

  T_CHECK (f->n_planes == GST_VIDEO_INFO_N_PLANES (&p->info), "%s: %d planes", f->name, f->n_planes);
  T_CHECK ((f->family == SOBEL_FAMILY_GRAY) == GST_VIDEO_FORMAT_INFO_IS_GRAY (p->gst), "%s: family", f->name);
  T_CHECK ((f->family == SOBEL_FAMILY_RGB) == GST_VIDEO_FORMAT_INFO_IS_RGB (p->gst), "%s: family", f->name);
  /* Y410 and Y412 have alpha that GStreamer's flags do not tell. */
  if (GST_VIDEO_FORMAT_INFO_HAS_ALPHA (p->gst))
    T_CHECK (sobel_format_has_alpha (f), "%s: alpha", f->name);
  for (i = 0; i < colours; i++) {
    T_CHECK (f->component[i].depth == p->gst->depth[i], "%s: depth %u of %u", f->name, f->component[i].depth, i);
    T_CHECK (f->component[i].w_sub == p->gst->w_sub[i], "%s: w_sub of %u", f->name, i);
    T_CHECK (f->component[i].h_sub == p->gst->h_sub[i], "%s: h_sub of %u", f->name, i);
  }
  for (i = 0; i < f->n_planes; i++) {
    const size_t row_bytes = sobel_image_row_bytes (f, i, width);

    T_CHECK (row_bytes > 0 && row_bytes <= (size_t) p->stride[i], "%s: row of plane %u, %d wide", f->name, i, width);
    T_CHECK ((size_t) (sobel_image_plane_rows (f, i, height) - 1) * p->stride[i] + row_bytes <=
                 GST_VIDEO_INFO_SIZE (&p->info) - GST_VIDEO_INFO_PLANE_OFFSET (&p->info, i),
             "%s: plane %u of %dx%d", f->name, i, width, height);
  }
}

/* Where the width is odd, GStreamer (1.22 and later) swaps U and V of the last column's pair: of VYUY always, of NV61
 * when packing. The columns before show which order it means. */
static bool
is_known_wrong (const Picture *p, bool packed, int x, int c)
{
  const int width = GST_VIDEO_INFO_WIDTH (&p->info);
  const bool swaps =
      p->gst->format == GST_VIDEO_FORMAT_VYUY || (packed && p->gst->format == GST_VIDEO_FORMAT_NV61);

  return swaps && width % 2 == 1 && x == width - 1 && c > 0;
}

static void
compare_line (const Picture *p, int y, const char *what, bool packed)
{
  const SobelFormat *f = p->format;
  int x, c;

  for (x = 0; x < GST_VIDEO_INFO_WIDTH (&p->info); x++) {
    for (c = 0; c < f->n_components; c++) {
      const uint32_t mine = table_get (p, c, x, y), theirs = line_get (p, c, x, f->component[c].depth);
      if (is_known_wrong (p, packed, x, c))
        continue;
      T_CHECK (mine == theirs, "%s %s: component %d at %d,%d of %dx%d: %u, GStreamer has %u", f->name, what, c, x, y,
               GST_VIDEO_INFO_WIDTH (&p->info), GST_VIDEO_INFO_HEIGHT (&p->info), mine, theirs);
    }
  }
}

static void
unpack_line (Picture *p, int y)
{
  p->gst->unpack_func (p->gst, GST_VIDEO_PACK_FLAG_NONE, p->line, p->data, p->stride, 0, y,
                       GST_VIDEO_INFO_WIDTH (&p->info));
}

/* Random memory, unused bits included: GStreamer reads what the table reads. */
static void
check_unpack (Picture *p)
{
  int y;

  fill_random (p->memory, GST_VIDEO_INFO_SIZE (&p->info));
  for (y = 0; y < GST_VIDEO_INFO_HEIGHT (&p->info); y++) {
    unpack_line (p, y);
    compare_line (p, y, "unpack", false);
  }
}

/* Random pixels, chroma equal where one sample covers several: the table reads what GStreamer wrote. */
static void
check_pack (Picture *p)
{
  const int width = GST_VIDEO_INFO_WIDTH (&p->info), height = GST_VIDEO_INFO_HEIGHT (&p->info);
  const uint32_t salt = t_chance ();
  int x, y, c;

  fill_random (p->memory, GST_VIDEO_INFO_SIZE (&p->info));
  for (y = 0; y < height; y++) {
    for (c = 0; c < 4; c++) {
      const unsigned ws = c < p->format->n_components ? p->format->component[c].w_sub : 0;
      const unsigned hs = c < p->format->n_components ? p->format->component[c].h_sub : 0;
      for (x = 0; x < width + 8; x++) {
        uint64_t h = salt + (uint64_t) (x >> ws) * 2654435761u + (uint64_t) (y >> hs) * 40503u + c * 97u;
        h *= 0x9e3779b97f4a7c15u;
        line_set (p, c, x, (uint32_t) (h >> 40) & 0xffff);
      }
    }
    p->gst->pack_func (p->gst, GST_VIDEO_PACK_FLAG_NONE, p->line, 0, p->data, p->stride, GST_VIDEO_CHROMA_SITE_UNKNOWN,
                       y, width);
    compare_line (p, y, "pack", true);
  }
}

/* Random samples written through the table, all other bits 0: GStreamer reads them, so no two samples share bits. */
static void
check_store (Picture *p)
{
  const SobelFormat *f = p->format;
  const int width = GST_VIDEO_INFO_WIDTH (&p->info), height = GST_VIDEO_INFO_HEIGHT (&p->info);
  int x, y, c;

  memset (p->memory, 0, GST_VIDEO_INFO_SIZE (&p->info));
  for (c = 0; c < f->n_components; c++) {
    const SobelComponent *comp = &f->component[c];
    for (y = 0; y < sobel_subsampled (height, comp->h_sub); y++) {
      uint8_t *row = (uint8_t *) p->data[comp->plane] + (ptrdiff_t) p->stride[comp->plane] * y;
      for (x = 0; x < sobel_subsampled (width, comp->w_sub); x++) {
        uint8_t *at = row + sobel_sample_offset (comp, x);
        const uint32_t value = (t_chance () & ((1u << comp->depth) - 1)) << comp->shift;
        T_CHECK (at + comp->bytes <= row + sobel_image_row_bytes (f, comp->plane, width), "%s: row bytes", f->name);
        sobel_container_store (at, comp->bytes, f->big_endian,
                               sobel_container_load (at, comp->bytes, f->big_endian) | value);
      }
    }
  }
  for (y = 0; y < height; y++) {
    unpack_line (p, y);
    compare_line (p, y, "store", false);
  }
}

static void
check_format (const GstVideoFormatInfo *gst, const SobelFormat *format)
{
  unsigned i;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    Picture picture;

    picture_init (&picture, format, gst, sizes[i][0], sizes[i][1]);
    check_facts (&picture);
    check_unpack (&picture);
    check_pack (&picture);
    check_store (&picture);
    picture_clear (&picture);
  }
}

int
main (int argc, char **argv)
{
  GEnumClass *klass;
  const SobelFormat *format;
  unsigned i, proven = 0, rows = 0, newer = 0;

  gst_init (&argc, &argv);
  klass = g_type_class_ref (GST_TYPE_VIDEO_FORMAT);
  for (i = 0; i < klass->n_values; i++) {
    const GstVideoFormatInfo *gst = gst_video_format_get_info ((GstVideoFormat) klass->values[i].value);

    if (!gst || gst->format == GST_VIDEO_FORMAT_UNKNOWN)
      continue;
    format = sobel_format_find (gst->name);
    T_CHECK ((format != NULL) == admitted (gst), "%s is %s the table", gst->name, format ? "in" : "not in");
    if (!format || !admitted (gst))
      continue;
    proven++;
    check_format (gst, format);
  }
  g_type_class_unref (klass);

  /* Rows that this GStreamer cannot prove are those of newer ones; names are unique. */
  for (rows = 0; (format = sobel_format_nth (rows)) != NULL; rows++) {
    T_CHECK (sobel_format_find (format->name) == format, "%s is there twice", format->name);
    if (gst_video_format_from_string (format->name) == GST_VIDEO_FORMAT_UNKNOWN) {
      newer++;
#if GST_CHECK_VERSION(1, 28, 0)
      T_CHECK (false, "no GStreamer has %s", format->name);
#endif
    }
  }
  T_CHECK (proven + newer == rows, "%u proven, %u newer, %u rows", proven, newer, rows);
  T_CHECK (sobel_format_find ("v210") == NULL && sobel_format_find (NULL) == NULL && sobel_format_find ("") == NULL,
           "found what is not there");
  printf ("%u formats proven, %u of newer GStreamer versions\n", proven, newer);
  return t_result ();
}

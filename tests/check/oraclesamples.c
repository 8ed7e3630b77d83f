/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples of a picture, one at a time, by GStreamer's pack and unpack functions.
 *
 * Those functions work on a line of pixels at full resolution, four values a pixel (A, then R G B or Y U V).
 * Rows of subsampled planes are therefore handled alone: a line that shows chroma row c and some luma row.
 * Lines are always a multiple of four pixels long, in rows with room to spare: for odd ones GStreamer 1.22
 * swaps chroma (NV61, VYUY) or leaves the rest of the macropixel as it was. */
#include "oracle.h"

/* One pixel row of each plane, and the line of pixels that it packs and unpacks to. */
typedef struct Line
{
  const GstVideoFormatInfo *format;
  int width;
  bool deep; /* 16 bits a value in `pixels`, else 8 */
  guint16 *pixels;
  guint8 *row[ORACLE_MAX_PLANES];
  gpointer data[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  size_t row_size; /* of each row, with slack behind what the format needs */
} Line;

static void
line_init (Line *line, const GstVideoFormatInfo *format, int width)
{
  unsigned p;

  width = (width + 3) / 4 * 4;
  line->format = format;
  line->width = width;
  line->deep = gst_video_format_get_info (format->unpack_format)->depth[0] > 8;
  line->pixels = g_new0 (guint16, 4 * ((size_t) width + 16));
  line->row_size = 8 * ((size_t) width + 16);
  for (p = 0; p < GST_VIDEO_MAX_PLANES; p++) {
    line->data[p] = line->row[p] = g_malloc0 (line->row_size);
    line->stride[p] = (gint) line->row_size;
  }
}

static void
line_clear (Line *line)
{
  unsigned p;

  g_free (line->pixels);
  for (p = 0; p < GST_VIDEO_MAX_PLANES; p++)
    g_free (line->row[p]);
}

/* Component 0, 1, 2 or alpha (3) of a pixel. A component of n bits is at the top of a 16-bit value. */
static unsigned
line_get (const Line *line, int x, unsigned component, unsigned depth)
{
  const size_t i = 4 * (size_t) x + (component + 1) % 4;

  return line->deep ? line->pixels[i] >> (16 - depth) : ((const guint8 *) line->pixels)[i];
}

static void
line_set (Line *line, int x, unsigned component, unsigned depth, unsigned code)
{
  const size_t i = 4 * (size_t) x + (component + 1) % 4;

  if (line->deep)
    line->pixels[i] = (guint16) (code << (16 - depth));
  else
    ((guint8 *) line->pixels)[i] = (guint8) code;
}

static void
line_unpack (Line *line)
{
  line->format->unpack_func (line->format, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE, line->pixels, line->data, line->stride,
                             0, 0, line->width);
}

static void
line_pack (Line *line)
{
  line->format->pack_func (line->format, GST_VIDEO_PACK_FLAG_NONE, line->pixels, 0, line->data, line->stride,
                           GST_VIDEO_CHROMA_SITE_UNKNOWN, 0, line->width);
}

/* All ones in the first `n` pixels, all zeros behind them. `filler`: also in the fourth component where that is
 * no alpha. */
static void
line_mark (Line *line, int n, bool filler)
{
  const unsigned n_components = filler || line->format->n_components == 4 ? 4 : 3;
  int x;
  unsigned c;

  memset (line->pixels, 0, 8 * (size_t) line->width);
  for (x = 0; x < n; x++)
    for (c = 0; c < n_components; c++)
      line_set (line, x, c, line->deep ? 16 : 8, 0xffff);
}

/* ---- formats -------------------------------------------------------------------------------------- */

bool
oracle_format_is_required (const GstVideoFormatInfo *format)
{
  unsigned c;

  if (format->format == GST_VIDEO_FORMAT_UNKNOWN || format->format == GST_VIDEO_FORMAT_ENCODED)
    return false;
  if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) || GST_VIDEO_FORMAT_INFO_IS_TILED (format) ||
      GST_VIDEO_FORMAT_INFO_HAS_PALETTE (format))
    return false;
  for (c = 0; c < (GST_VIDEO_FORMAT_INFO_IS_RGB (format) ? 3 : 1); c++)
    if (format->depth[c] < 8 || format->depth[c] > 16)
      return false;
  return true;
}

int
oracle_plane_h_sub (const GstVideoFormatInfo *format, unsigned plane)
{
  unsigned c;

  for (c = 0; c < format->n_components; c++)
    if (format->plane[c] == plane)
      return (int) format->h_sub[c];
  return 0;
}

/* `width` rounded up to whole macropixels, where luma and subsampled chroma share a plane. */
static int
whole_width (const GstVideoFormatInfo *format, int width)
{
  unsigned c;
  int macropixel = 1;

  for (c = 1; c < format->n_components; c++)
    if (format->plane[c] == format->plane[0] && 1 << format->w_sub[c] > macropixel)
      macropixel = 1 << format->w_sub[c];
  return (width + macropixel - 1) / macropixel * macropixel;
}

size_t
oracle_row_bytes (const GstVideoFormatInfo *format, unsigned plane, int width)
{
  Line line;
  size_t size;

  /* As far as packing whole macropixels writes, seen by packing ones onto zeros. */
  line_init (&line, format, width);
  line_mark (&line, whole_width (format, width), true);
  line_pack (&line);
  for (size = line.row_size; size > 0 && line.row[plane][size - 1] == 0;)
    size--;
  line_clear (&line);
  return size;
}

int
oracle_plane_rows (const GstVideoInfo *info, unsigned plane)
{
  gsize end = info->size;
  unsigned p;

  if (oracle_plane_h_sub (info->finfo, plane) == 0)
    return info->height;
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    if (info->offset[p] > info->offset[plane] && info->offset[p] < end)
      end = info->offset[p];
  return (int) ((end - info->offset[plane]) / (gsize) info->stride[plane]);
}

void
oracle_row_bits (const GstVideoFormatInfo *format, unsigned plane, int width, uint8_t *mask, uint8_t *spare)
{
  const size_t size = oracle_row_bytes (format, plane, width);
  Line line;
  size_t i;

  line_init (&line, format, width);
  line_mark (&line, whole_width (format, width), false);
  line_pack (&line);
  memcpy (spare, line.row[plane], size);
  line_mark (&line, width, false);
  line_pack (&line);
  memcpy (mask, line.row[plane], size);
  for (i = 0; i < size; i++)
    spare[i] ^= mask[i];
  line_clear (&line);
}

/* ---- pictures ------------------------------------------------------------------------------------- */

void
oracle_picture_init (OraclePicture *picture, const GstVideoFormatInfo *format, int width, int height, const int *rows)
{
  unsigned c;

  picture->format = format;
  picture->width = width;
  picture->height = height;
  picture->n_components = format->n_components;
  for (c = 0; c < picture->n_components; c++) {
    OracleComponent *component = &picture->component[c];
    const int covered = 1 << format->w_sub[c];

    component->w_sub = (int) format->w_sub[c];
    component->h_sub = (int) format->h_sub[c];
    component->depth = format->depth[c];
    component->width = (width + covered - 1) / covered;
    component->height = component->h_sub == 0 ? height : rows[format->plane[c]];
    component->code = g_new0 (uint16_t, (size_t) component->width * (size_t) component->height);
  }
}

void
oracle_picture_clear (OraclePicture *picture)
{
  unsigned c;

  for (c = 0; c < picture->n_components; c++)
    g_clear_pointer (&picture->component[c].code, g_free);
}

/* Rows to walk: those of the planes with every pixel row (subsampled = false), or of the others. */
static int
rows_of (const OraclePicture *picture, bool subsampled)
{
  unsigned c;

  if (!subsampled)
    return picture->height;
  for (c = 1; c < picture->n_components; c++)
    if (picture->component[c].h_sub > 0)
      return picture->component[c].height;
  return 0;
}

static void
decode_rows (OraclePicture *picture, const OraclePlane *plane, Line *line, const size_t *row_bytes, bool subsampled)
{
  const int rows = rows_of (picture, subsampled);
  unsigned p, c;
  int x, y;

  for (y = 0; y < rows; y++) {
    for (p = 0; p < picture->format->n_planes; p++)
      if ((oracle_plane_h_sub (picture->format, p) > 0) == subsampled)
        memcpy (line->row[p], plane[p].data + y * plane[p].stride, row_bytes[p]);
    line_unpack (line);
    for (c = 0; c < picture->n_components; c++) {
      OracleComponent *component = &picture->component[c];

      if ((component->h_sub > 0) != subsampled)
        continue;
      for (x = 0; x < component->width; x++)
        component->code[(size_t) y * component->width + x] =
            (uint16_t) line_get (line, x << component->w_sub, c, component->depth);
    }
  }
}

void
oracle_decode (OraclePicture *picture, const OraclePlane *plane)
{
  size_t row_bytes[ORACLE_MAX_PLANES];
  Line line;
  unsigned p;

  for (p = 0; p < picture->format->n_planes; p++)
    row_bytes[p] = oracle_row_bytes (picture->format, p, picture->width);
  line_init (&line, picture->format, picture->width);
  decode_rows (picture, plane, &line, row_bytes, false);
  decode_rows (picture, plane, &line, row_bytes, true);
  line_clear (&line);
}

static void
encode_rows (const OraclePicture *picture, const OraclePlane *plane, Line *line, const size_t *row_bytes,
             bool subsampled)
{
  const int rows = rows_of (picture, subsampled);
  unsigned p, c;
  int x, y;

  for (y = 0; y < rows; y++) {
    memset (line->pixels, 0, 8 * (size_t) line->width);
    for (x = 0; x < picture->width; x++)
      line_set (line, x, 3, line->deep ? 16 : 8, 0xffff);
    for (c = 0; c < picture->n_components; c++) {
      const OracleComponent *component = &picture->component[c];

      if ((component->h_sub > 0) != subsampled)
        continue;
      for (x = 0; x < line->width && x >> component->w_sub < component->width; x++)
        line_set (line, x, c, component->depth,
                  component->code[(size_t) y * component->width + (x >> component->w_sub)]);
    }
    line_pack (line);
    for (p = 0; p < picture->format->n_planes; p++)
      if ((oracle_plane_h_sub (picture->format, p) > 0) == subsampled)
        memcpy (plane[p].data + y * plane[p].stride, line->row[p], row_bytes[p]);
  }
}

void
oracle_encode (const OraclePicture *picture, const OraclePlane *plane)
{
  size_t row_bytes[ORACLE_MAX_PLANES];
  Line line;
  unsigned p;

  for (p = 0; p < picture->format->n_planes; p++)
    row_bytes[p] = oracle_row_bytes (picture->format, p, picture->width);
  line_init (&line, picture->format, picture->width);
  encode_rows (picture, plane, &line, row_bytes, false);
  encode_rows (picture, plane, &line, row_bytes, true);
  line_clear (&line);
}

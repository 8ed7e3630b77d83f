/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "picture.h"

#include "oracle.h"

#include <string.h>

GstVideoFormat
picture_last_format (void)
{
  GEnumClass *formats = g_type_class_ref (GST_TYPE_VIDEO_FORMAT);
  const GstVideoFormat last = formats->maximum;

  g_type_class_unref (formats);
  return last;
}

SobelParams
picture_params (GstElement *element)
{
  SobelParams params;
  gint op, gradient, norm, border, precision, luma, mode, kernel;
  gboolean invert, bypass;

  g_object_get (element, "operator", &op, "gradient", &gradient, "norm", &norm, "border", &border, "precision",
                &precision, "luma", &luma, "mode", &mode, "kernel", &kernel, "invert", &invert, "bypass", &bypass,
                "gain", &params.gain, "threshold", &params.threshold, "overlay-color", &params.overlay_color, NULL);
  params.op = (SobelOperator) op;
  params.gradient = (SobelGradient) gradient;
  params.norm = (SobelNorm) norm;
  params.border = (SobelBorder) border;
  params.precision = (SobelPrecision) precision;
  params.luma = (SobelLuma) luma;
  params.mode = bypass ? SOBEL_MODE_BYPASS : (SobelMode) mode;
  params.kernel = (SobelKernel) kernel;
  params.invert = invert;
  return params;
}

static void
plane_rows (const GstVideoInfo *info, int *rows)
{
  guint i;

  for (i = 0; i < ORACLE_MAX_PLANES; i++)
    rows[i] = i < GST_VIDEO_INFO_N_PLANES (info) ? oracle_plane_rows (info, i) : 0;
}

static gboolean
load (OraclePicture *picture, GstBuffer *buffer, const GstVideoInfo *info)
{
  OraclePlane plane[ORACLE_MAX_PLANES] = { { NULL, 0 } };
  int rows[ORACLE_MAX_PLANES];
  GstVideoFrame frame;
  guint i;

  plane_rows (info, rows);
  oracle_picture_init (picture, info->finfo, info->width, info->height, rows);
  if (!T_CHECK (gst_video_frame_map (&frame, info, buffer, GST_MAP_READ), "a buffer cannot be mapped"))
    return FALSE;
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++)
    plane[i] = (OraclePlane) { GST_VIDEO_FRAME_PLANE_DATA (&frame, i), GST_VIDEO_FRAME_PLANE_STRIDE (&frame, i) };
  oracle_decode (picture, plane);
  gst_video_frame_unmap (&frame);
  return TRUE;
}

static gboolean
same_codes (const OraclePicture *want, const OraclePicture *got, const SobelParams *params)
{
  guint c;
  int i;

  for (c = 0; c < want->n_components; c++) {
    const OracleComponent *w = &want->component[c], *g = &got->component[c];
    const int tolerance = params ? (int) oracle_tolerance (want, params, c) : 0;

    for (i = 0; i < w->width * w->height; i++)
      if (ABS ((int) w->code[i] - (int) g->code[i]) > tolerance)
        return T_CHECK (FALSE, "%s %dx%d component %u at %d,%d: %u, should be %u",
                        GST_VIDEO_FORMAT_INFO_NAME (want->format), want->width, want->height, c, i % w->width,
                        i / w->width, g->code[i], w->code[i]);
  }
  return TRUE;
}

/* Whole rows, also what carries no sample. */
static gboolean
same_rows (const OraclePicture *want, GstBuffer *out, const GstVideoInfo *info)
{
  OraclePlane plane[ORACLE_MAX_PLANES] = { { NULL, 0 } };
  gboolean same = TRUE;
  GstVideoFrame frame;
  int rows[ORACLE_MAX_PLANES], y;
  guint i;

  plane_rows (info, rows);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    plane[i].stride = (ptrdiff_t) oracle_row_bytes (info->finfo, i, info->width);
    plane[i].data = g_malloc0 ((gsize) plane[i].stride * rows[i]);
  }
  oracle_encode (want, plane);
  gst_video_frame_map (&frame, info, out, GST_MAP_READ);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info) && same; i++)
    for (y = 0; y < rows[i] && same; y++)
      same = T_CHECK (memcmp ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, i) +
                                  (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, i),
                              plane[i].data + (gsize) y * plane[i].stride, plane[i].stride) == 0,
                      "%s: unused bits or filler in row %d of plane %u", GST_VIDEO_INFO_NAME (info), y, i);
  gst_video_frame_unmap (&frame);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++)
    g_free (plane[i].data);
  return same;
}

gboolean
picture_check (GstBuffer *in, const GstVideoInfo *in_info, GstBuffer *out, const GstVideoInfo *out_info,
               const SobelParams *params, gboolean interlaced)
{
  OraclePicture source, want, got;
  int rows[ORACLE_MAX_PLANES];
  gboolean same;

  if (!T_CHECK (in && out, "a buffer is missing"))
    return FALSE;
  if (!load (&source, in, in_info))
    return FALSE;
  if (!load (&got, out, out_info)) {
    oracle_picture_clear (&source);
    return FALSE;
  }
  plane_rows (out_info, rows);
  oracle_picture_init (&want, out_info->finfo, out_info->width, out_info->height, rows);
  oracle_apply (&want, &source, in_info, params, interlaced);
  same = same_codes (&want, &got, params);
  if (same && params->mode != SOBEL_MODE_DIRECTION && params->mode != SOBEL_MODE_BYPASS)
    same = same_rows (&want, out, out_info);
  oracle_picture_clear (&source);
  oracle_picture_clear (&want);
  oracle_picture_clear (&got);
  return same;
}

gboolean
picture_equal (GstBuffer *a, GstBuffer *b, const GstVideoInfo *info)
{
  OraclePicture pa, pb;
  gboolean same;

  if (!T_CHECK (a && b, "a buffer is missing") || !load (&pa, a, info))
    return FALSE;
  same = load (&pb, b, info) && same_codes (&pa, &pb, NULL);
  oracle_picture_clear (&pa);
  oracle_picture_clear (&pb);
  return same;
}

void
picture_check_recording (Rig *rig, guint first, guint n)
{
  const SobelParams params = picture_params (rig->element);
  GstCaps *caps = rig_output_caps (rig);
  GstVideoInfo out_info;
  guint i;

  if (!T_CHECK (caps && gst_video_info_from_caps (&out_info, caps), "no output caps"))
    return;
  gst_caps_unref (caps);
  for (i = 0; i < n; i++) {
    GstBuffer *in = rig_picture (rig, first + i);
    const gboolean interlaced = GST_VIDEO_INFO_INTERLACE_MODE (&rig->info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    const gboolean same =
        picture_check (in, &rig->info, rig_buffer (rig, i, NULL), &out_info, &params, interlaced);

    gst_buffer_unref (in);
    if (!T_CHECK (same, "picture %u of %u is wrong", i, n))
      return;
  }
}

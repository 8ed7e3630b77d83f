/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pictures that come out of the element are the oracle's: every format, every mode, fields, gray output. The
 * arithmetic itself is the checker's business (tests/check); here it is the way there and back. */
#include "picture.h"

#include "oracle.h"

static const char *const modes[] = { "mode=edges", "mode=overlay overlay-color=0xc02060f0", "mode=mask threshold=0.25",
                                     "mode=direction" };

static GstVideoFormat
next_format (GstVideoFormat format)
{
  do
    format++;
  while (format <= picture_last_format () && !oracle_format_is_required (gst_video_format_get_info (format)));
  return format <= picture_last_format () ? format : GST_VIDEO_FORMAT_UNKNOWN;
}

/* Two pictures of these caps with every mode, checked. */
static void
check_modes (Rig *rig, const char *caps)
{
  guint m;

  for (m = 0; m < G_N_ELEMENTS (modes); m++) {
    et_context ("%s %s", caps, modes[m]);
    rig_set (rig, "threshold=0");
    rig_set (rig, modes[m]);
    if (m == 0 && !T_CHECK (rig_caps (rig, caps), "refused"))
      return;
    rig_forget (rig);
    rig_push_pictures (rig, 2 * m, 2);
    rig_wait (rig, 2);
    picture_check_recording (rig, 2 * m, 2);
  }
}

static void
check_formats (const char *backend, const char *size, GstCaps *accepts, guint min_depth, guint max_depth)
{
  GstVideoFormat format = GST_VIDEO_FORMAT_ENCODED;
  Rig *rig;

  et_gpu_late (100, 200);
  rig = rig_new (backend);
  rig->accepts = accepts;
  T_CHECK (rig_start (rig, NULL), "does not start");
  while ((format = next_format (format)) != GST_VIDEO_FORMAT_UNKNOWN) {
    const guint depth = GST_VIDEO_FORMAT_INFO_DEPTH (gst_video_format_get_info (format), 0);
    gchar *caps = g_strdup_printf ("video/x-raw,format=%s,%s", gst_video_format_to_string (format), size);

    if (depth >= min_depth && depth <= max_depth)
      check_modes (rig, caps);
    g_free (caps);
  }
  rig_no_trouble (rig);
  rig_free (rig);
  et_gpu_check ();
}

static void
every_format_on_the_cpu (void)
{
  check_formats ("backend=cpu", "width=33,height=17", NULL, 0, 16);
}

static void
every_format_on_the_gpu (void)
{
  check_formats ("backend=cuda", "width=33,height=17", NULL, 0, 16);
}

static void
every_format_in_tiny_sizes (void)
{
  static const char *const sizes[] = { "width=1,height=1", "width=2,height=1", "width=1,height=7",
                                       "width=7,height=1", "width=2,height=2", "width=3,height=3",
                                       "width=5,height=2", "width=1,height=64" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sizes); i += et_factor () > 1 ? 3 : 1)
    check_formats (i % 2 ? "backend=cpu" : "backend=cuda", sizes[i], NULL, 0, 16);
}

static void
fields_are_pictures_of_their_own (void)
{
  static const char *const heights[] = { "height=22", "height=23", "height=25", "height=1" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (heights); i++) {
    gchar *size = g_strdup_printf ("width=18,%s,interlace-mode=interleaved", heights[i]);

    check_formats (i % 2 ? "backend=cpu" : "backend=cuda", size, NULL, 0, 16);
    g_free (size);
  }
}

static void
gray_of_every_format (void)
{
  check_formats ("backend=cpu", "width=33,height=17", gst_caps_from_string ("video/x-raw,format=GRAY8"), 8, 8);
  check_formats ("backend=cuda", "width=33,height=17", gst_caps_from_string ("video/x-raw,format=GRAY16_LE"), 9, 16);
  check_formats ("backend=cpu", "width=18,height=22,interlace-mode=interleaved",
                 gst_caps_from_string ("video/x-raw,format=GRAY8"), 8, 8);
}

/* `mixed` caps: the buffer's flag decides. */
static void
mixed_goes_by_the_flag (void)
{
  guint i;
  Rig *rig = rig_new ("backend=cpu");

  T_CHECK (rig_start (rig, "video/x-raw,format=I420,width=32,height=20,interlace-mode=mixed"), "does not start");
  for (i = 0; i < 6; i++) {
    GstBuffer *buffer = rig_picture (rig, i);

    if (i % 3 == 1)
      GST_BUFFER_FLAG_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    rig_push (rig, buffer);
  }
  rig_eos (rig);
  for (i = 0; i < 6; i++) {
    const SobelParams params = picture_params (rig->element);
    GstBuffer *in = rig_picture (rig, i), *out = rig_buffer (rig, i, NULL);

    et_context ("frame %u", i);
    picture_check (in, &rig->info, out, &rig->info, &params, i % 3 == 1);
    T_CHECK (GST_BUFFER_FLAG_IS_SET (out, GST_VIDEO_BUFFER_FLAG_INTERLACED) == (i % 3 == 1), "the flag");
    gst_buffer_unref (in);
  }
  rig_free (rig);
}

/* Range and matrix come from the caps. */
static void
colorimetry_counts (void)
{
  static const char *const colorimetry[] = { "bt601", "bt709", "bt2020", "1:4:0:0", "2:4:7:1", "0:0:0:0" };
  static const char *const formats[] = { "I420", "GRAY8", "RGB", "Y444_10LE", "AYUV" };
  guint i, k;
  Rig *rig;

  rig = rig_new ("backend=cpu gain=1.5 border=zero");
  T_CHECK (rig_start (rig, NULL), "does not start");
  for (i = 0; i < G_N_ELEMENTS (colorimetry); i++)
    for (k = 0; k < G_N_ELEMENTS (formats); k++) {
      gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=24,height=16,colorimetry=%s", formats[k],
                                     colorimetry[i]);
      check_modes (rig, caps);
      g_free (caps);
    }
  rig_free (rig);
}

/* `bypass` is the input, byte for byte; towards gray it is the input's gray. */
static void
bypass_passes (void)
{
  static const char *const formats[] = { "I420", "RGBx", "GRAY8", "P010_10LE", "YUY2", "UYVY", "v308", "A420" };
  static const char *const backends[] = { "backend=cpu bypass=true", "backend=cuda bypass=true" };
  guint b, k, i;

  for (b = 0; b < G_N_ELEMENTS (backends); b++)
    for (k = 0; k < G_N_ELEMENTS (formats); k++) {
      gchar caps[100];
      Rig *rig;

      g_snprintf (caps, sizeof caps, "video/x-raw,format=%s,width=35,height=15", formats[k]);
      et_context ("%s %s", backends[b], formats[k]);
      et_gpu_late (100, 100);
      rig = rig_new (backends[b]);
      T_CHECK (rig_start (rig, caps), "does not start");
      rig_push_pictures (rig, 0, 3);
      rig_eos (rig);
      for (i = 0; i < 3; i++) {
        GstBuffer *in = rig_picture (rig, i);
        T_CHECK (gst_buffer_get_size (in) == gst_buffer_get_size (rig_buffer (rig, i, NULL)), "another size");
        picture_equal (in, rig_buffer (rig, i, NULL), &rig->info);
        gst_buffer_unref (in);
      }
      rig_free (rig);
      if (g_str_equal (formats[k], "GRAY8"))
        continue;

      rig = rig_new (backends[b]);
      rig->accepts = gst_caps_from_string (k == 3 ? "video/x-raw,format=GRAY16_LE" : "video/x-raw,format=GRAY8");
      T_CHECK (rig_start (rig, caps), "does not start towards gray");
      rig_push_pictures (rig, 0, 2);
      rig_eos (rig);
      picture_check_recording (rig, 0, 2);
      rig_free (rig);
      et_gpu_check ();
    }
}

/* Downstream without GstVideoMeta gets the default layout, also from an input that has another. */
static void
bypass_for_plain_downstream (void)
{
  Rig *rig = rig_new ("backend=cpu bypass=true");
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, 100 * 48, 100 * 48 + 60 * 24 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 100, 60, 60 };
  GstBuffer *in, *plain;
  GstVideoFrame a, b;

  rig->video_meta = FALSE;
  T_CHECK (rig_start (rig, "video/x-raw,format=I420,width=64,height=48"), "does not start");
  plain = rig_picture (rig, 0);
  in = gst_buffer_new_allocate (NULL, 100 * 48 + 2 * 60 * 24, NULL);
  gst_buffer_memset (in, 0, 0, -1);
  gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 64, 48, 3, offset, stride);
  gst_video_frame_map (&a, &rig->info, plain, GST_MAP_READ);
  gst_video_frame_map (&b, &rig->info, in, GST_MAP_WRITE);
  gst_video_frame_copy (&b, &a);
  gst_video_frame_unmap (&b);
  gst_video_frame_unmap (&a);
  rig_push (rig, in);
  rig_push (rig, gst_buffer_ref (plain));
  rig_eos (rig);
  T_CHECK (gst_buffer_get_size (rig_buffer (rig, 0, NULL)) == rig->info.size, "%" G_GSIZE_FORMAT " bytes",
           gst_buffer_get_size (rig_buffer (rig, 0, NULL)));
  picture_equal (plain, rig_buffer (rig, 0, NULL), &rig->info);
  T_CHECK (gst_buffer_peek_memory (rig_buffer (rig, 1, NULL), 0) == gst_buffer_peek_memory (plain, 0),
           "a plain buffer was copied");
  gst_buffer_unref (plain);
  rig_free (rig);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "every-format-on-the-cpu", every_format_on_the_cpu },
    { "every-format-on-the-gpu", every_format_on_the_gpu },
    { "every-format-in-tiny-sizes", every_format_in_tiny_sizes },
    { "fields-are-pictures", fields_are_pictures_of_their_own },
    { "gray-of-every-format", gray_of_every_format },
    { "mixed-goes-by-the-flag", mixed_goes_by_the_flag },
    { "colorimetry-counts", colorimetry_counts },
    { "bypass-passes", bypass_passes },
    { "bypass-for-plain-downstream", bypass_for_plain_downstream },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

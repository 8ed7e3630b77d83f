/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The same clip with its edges painted in, once in each of several formats: how much the pictures differ when all are
 * converted to RGB. docs/examples.md explains the figures. test_formats [CLIP] */

#include "testutil.h"

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 360, FRAMES = 20, STRIDE = WIDTH * 3, FRAME_SIZE = STRIDE * HEIGHT };

typedef struct
{
  int n;
  guint8 *frame[FRAMES];
} Clip;

/* Differences of two clips in codes of 255. */
typedef struct
{
  int largest, largest_luma;
  double mean, share_above_8; /* of all samples; share in percent */
} Difference;

static const char sample_clip[] = "/usr/share/forensics-samples/original-files/movie1/VID_20191220_170832.mp4";

/* The clip as RGB, so that nothing in it is darker than black (phones record that), turned into `format`, filtered, and
 * converted to RGB by way of `by_way_of`: videoconvert's ways from I420 and NV12 to RGB differ from each other. */
static void
make_clip (Clip *clip, const char *source, const char *format, const char *by_way_of, const char *settings)
{
  GError *error = NULL;
  char *text = g_strdup_printf ("%s ! videoconvert ! videoscale ! video/x-raw,format=I420,width=%d,height=%d "
                                "! videoconvert ! video/x-raw,format=RGB ! videoconvert ! video/x-raw,format=%s%s "
                                "! cudasobel mode=overlay luma=bt709 overlay-color=0xff00ff00 %s "
                                "! videoconvert ! video/x-raw,format=%s "
                                "! videoconvert ! video/x-raw,format=RGB ! appsink name=sink sync=false",
                                source, WIDTH, HEIGHT, format, strcmp (format, "RGB") ? ",colorimetry=bt709" : "",
                                settings, by_way_of);
  GstElement *pipeline = gst_parse_launch_full (text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  GstElement *sink;
  GstSample *sample;
  GstMapInfo map;

  clip->n = 0;
  if (!T_CHECK (pipeline != NULL, "%s: %s", text, error->message))
    exit (t_result ());
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (clip->n < FRAMES && (sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND))) {
    if (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ)) {
      if (T_CHECK (map.size == FRAME_SIZE, "%s: a frame of %" G_GSIZE_FORMAT " bytes", format, map.size))
        clip->frame[clip->n++] = g_memdup2 (map.data, map.size);
      gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
    }
    gst_sample_unref (sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  T_CHECK (clip->n == FRAMES, "%s: %d frames of %d", format, clip->n, FRAMES);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  g_free (text);
}

static void
clear_clip (Clip *clip)
{
  while (clip->n > 0)
    g_free (clip->frame[--clip->n]);
}

static int
luma (const guint8 *rgb)
{
  return (2126 * rgb[0] + 7152 * rgb[1] + 722 * rgb[2]) / 10000;
}

static Difference
compare (const Clip *a, const Clip *b)
{
  const int frames = MIN (a->n, b->n);
  Difference result = { 0 };
  gint64 sum = 0, above = 0;
  int f, i;

  for (f = 0; f < frames; f++) {
    for (i = 0; i < FRAME_SIZE; i++) {
      const int d = abs (a->frame[f][i] - b->frame[f][i]);
      sum += d;
      above += d > 8;
      result.largest = MAX (result.largest, d);
    }
    for (i = 0; i < FRAME_SIZE; i += 3)
      result.largest_luma = MAX (result.largest_luma, abs (luma (a->frame[f] + i) - luma (b->frame[f] + i)));
  }
  result.mean = (double) sum / MAX (1, frames) / FRAME_SIZE;
  result.share_above_8 = 100.0 * (double) above / MAX (1, frames) / FRAME_SIZE;
  return result;
}

static Difference
report (const char *what, const Clip *a, const Clip *b)
{
  const Difference d = compare (a, b);

  g_print ("  %-14s largest %3d, of the brightness %3d; mean %.3f; above 8: %.2f %%\n", what, d.largest, d.largest_luma,
           d.mean, d.share_above_8);
  return d;
}

typedef struct
{
  Difference nv12_i420, y444_rgb, i420_rgb;
} Differences;

static Differences
look (const char *source, const char *settings)
{
  Clip rgb, i420, nv12, y444;
  Differences d;

  make_clip (&rgb, source, "RGB", "RGB", settings);
  make_clip (&y444, source, "Y444", "Y444", settings);
  make_clip (&i420, source, "I420", "I420", settings);
  make_clip (&nv12, source, "NV12", "I420", settings);
  g_print ("%s\n", settings);
  d.nv12_i420 = report ("NV12 and I420", &nv12, &i420);
  d.y444_rgb = report ("Y444 and RGB", &y444, &rgb);
  d.i420_rgb = report ("I420 and RGB", &i420, &rgb);
  T_CHECK (d.nv12_i420.largest == 0, "%s: the same samples in another layout differ by %d", settings,
           d.nv12_i420.largest);
  clear_clip (&rgb);
  clear_clip (&i420);
  clear_clip (&nv12);
  clear_clip (&y444);
  return d;
}

int
main (int argc, char **argv)
{
  Differences plain, all, strong;
  const char *file;
  char *source;

  gst_init (&argc, &argv);
  file = argc > 1 ? argv[1] : sample_clip;
  if (g_file_test (file, G_FILE_TEST_EXISTS))
    source = g_strdup_printf ("filesrc location=\"%s\" ! decodebin", file);
  else
    source = g_strdup ("videotestsrc pattern=ball ! video/x-raw,colorimetry=bt709");
  g_print ("%s\n", source);
  plain = look (source, "bypass=true");
  all = look (source, "threshold=0");
  strong = look (source, "threshold=0.2");
  /* An edge that is 1 code apart in two formats may be at the threshold in one and below it in the other: it is painted
   * with a fifth of the colour, or not at all. */
  T_CHECK (all.y444_rgb.largest <= plain.y444_rgb.largest + 12, "Y444 and RGB: %d", all.y444_rgb.largest);
  T_CHECK (strong.y444_rgb.largest <= plain.y444_rgb.largest + 12 + 51, "Y444 and RGB: %d", strong.y444_rgb.largest);
  /* Four pixels share one colour sample, so that lines one pixel wide lose much of theirs; the picture does not. */
  T_CHECK (all.i420_rgb.mean <= plain.i420_rgb.mean + 3, "I420 and RGB: %.2f", all.i420_rgb.mean);
  T_CHECK (all.i420_rgb.share_above_8 <= 15, "I420 and RGB: %.2f %%", all.i420_rgb.share_above_8);
  g_free (source);
  return t_result ();
}

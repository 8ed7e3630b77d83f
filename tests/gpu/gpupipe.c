/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a pipeline to its end and says what came out of it.
 *
 *   gpupipe [--sums FILE] [--skip N] DESCRIPTION
 *
 * The buffers that arrive at the element named `end` are counted and timed; with --sums the visible samples of each are
 * summed up, one line a frame. Times run from frame N (100 if not given) on. If there is an element named `sobel`, its
 * counters are printed too. One line of "name=value" on stdout; exit status 1 after an error message. */
#include <gst/gst.h>
#include <gst/video/video.h>

#include <stdio.h>

typedef struct
{
  FILE *sums;
  guint64 n, skip;
  gint64 first_us, last_us;
} Run;

static guint64
sum_bytes (guint64 sum, const guint8 *data, gsize n)
{
  while (n-- > 0)
    sum = (sum ^ *data++) * G_GUINT64_CONSTANT (0x100000001b3);
  return sum;
}

/* What is visible of the frame, whatever its layout and memory. */
static guint64
sum_frame (GstPad *pad, GstBuffer *buffer)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  guint64 sum = G_GUINT64_CONSTANT (0xcbf29ce484222325);
  GstVideoFrame frame;
  GstVideoInfo info;
  guint p;
  gint y;

  if (caps && gst_video_info_from_caps (&info, caps) && gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ)) {
    for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
      gint component[GST_VIDEO_MAX_COMPONENTS];

      gst_video_format_info_component (info.finfo, p, component);
      for (y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&frame, component[0]); y++)
        sum = sum_bytes (sum, (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p) +
                                  (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
                         (gsize) GST_VIDEO_FRAME_COMP_WIDTH (&frame, component[0]) *
                             GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, component[0]));
    }
    gst_video_frame_unmap (&frame);
  }
  gst_clear_caps (&caps);
  return sum;
}

static GstPadProbeReturn
look (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  Run *run = user;

  run->last_us = g_get_monotonic_time ();
  if (run->n++ == run->skip)
    run->first_us = run->last_us;
  if (run->sums)
    fprintf (run->sums, "%016" G_GINT64_MODIFIER "x\n", sum_frame (pad, GST_PAD_PROBE_INFO_BUFFER (info)));
  return GST_PAD_PROBE_OK;
}

static void
print_counters (GstElement *sobel)
{
  static const char *const names[] = { "host-bytes-copied", "frames-dropped", "kernel-ns", "upload-ns", "download-ns" };
  GstStructure *stats = NULL;
  guint i;

  g_object_get (sobel, "stats", &stats, NULL);
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    guint64 value = 0;

    gst_structure_get_uint64 (stats, names[i], &value);
    printf (" %s=%" G_GUINT64_FORMAT, names[i], value);
  }
  printf (" backend=%s kernel=%s", gst_structure_get_string (stats, "backend"),
          gst_structure_get_string (stats, "kernel"));
  gst_structure_free (stats);
}

static int
run_pipeline (const char *description, Run *run)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (description, &error), *end, *sobel;
  GstMessage *message;
  GstPad *pad;
  GstBus *bus;
  int status = 0;

  if (!pipeline || error || !GST_IS_BIN (pipeline) || !(end = gst_bin_get_by_name (GST_BIN (pipeline), "end"))) {
    fprintf (stderr, "gpupipe: %s\n", error ? error->message : "no element named end");
    return 1;
  }
  pad = gst_element_get_static_pad (end, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, look, run, NULL);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 300 * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  if (!message || GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gchar *debug = NULL;

    if (message)
      gst_message_parse_error (message, &error, &debug);
    fprintf (stderr, "gpupipe: %s (%s)\n", error ? error->message : "no end in time", debug ? debug : "");
    g_free (debug);
    g_clear_error (&error);
    status = 1;
  }
  printf ("frames=%" G_GUINT64_FORMAT, run->n);
  if (run->n > run->skip + 1)
    printf (" us-a-frame=%.3f", (double) (run->last_us - run->first_us) / (double) (run->n - run->skip - 1));
  if ((sobel = gst_bin_get_by_name (GST_BIN (pipeline), "sobel"))) {
    print_counters (sobel);
    gst_object_unref (sobel);
  }
  printf ("\n");
  if (message)
    gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pad);
  gst_object_unref (end);
  gst_object_unref (pipeline);
  return status;
}

int
main (int argc, char **argv)
{
  Run run = { NULL, 0, 100, 0, 0 };
  const char *sums = NULL;
  int status, i;

  gst_init (&argc, &argv);
  for (i = 1; i + 2 < argc; i += 2) {
    if (g_str_equal (argv[i], "--sums"))
      run.sums = fopen (sums = argv[i + 1], "w");
    else if (g_str_equal (argv[i], "--skip"))
      run.skip = g_ascii_strtoull (argv[i + 1], NULL, 10);
  }
  if (i + 1 != argc) {
    fprintf (stderr, "usage: gpupipe [--sums FILE] [--skip N] DESCRIPTION\n");
    return 2;
  }
  if (sums && !run.sums) {
    fprintf (stderr, "gpupipe: %s cannot be written\n", sums);
    return 2;
  }
  status = run_pipeline (argv[i], &run);
  if (run.sums)
    fclose (run.sums);
  return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Properties that change by a timetable: over a few seconds the edges grow out of black, the strongest first, and
 * then fade again. Each frame gets the values of its own time, however fast the pipeline runs.
 * fade [--seconds=N] [--sink=ELEMENTS] */

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <gst/gst.h>

typedef struct
{
  double at;    /* share of the whole time */
  double value; /* of the property itself */
} Point;

/* Lets `property` run through the points, straight between them. */
static void
control (GstElement *element, const char *property, const Point *points, guint n, GstClockTime whole)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  guint i;

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  for (i = 0; i < n; i++)
    gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source),
                                        (GstClockTime) (points[i].at * (double) whole), points[i].value);
  /* Absolute: the points are values of the property, not shares of its range. Takes the binding, not the source. */
  gst_object_add_control_binding (GST_OBJECT (element),
                                  gst_direct_control_binding_new_absolute (GST_OBJECT (element), property, source));
  gst_object_unref (source);
}

/* Prints what a frame got, once in 10 frames. Frames in flight are later than this one: nothing is read back. */
static GstPadProbeReturn
say_values (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  const GstClockTime time = GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info));
  const guint64 number = gst_util_uint64_scale_round (time, 30, GST_SECOND);
  GstElement *sobel = user;
  GValue *threshold, *gain;

  if (number % 10 != 0)
    return GST_PAD_PROBE_OK;
  threshold = gst_object_get_value (GST_OBJECT (sobel), "threshold", time);
  gain = gst_object_get_value (GST_OBJECT (sobel), "gain", time);
  if (threshold && gain)
    g_print ("%4.1f s  threshold %.2f  gain %.2f\n", (double) time / GST_SECOND, g_value_get_double (threshold),
             g_value_get_double (gain));
  g_clear_pointer (&threshold, g_free);
  g_clear_pointer (&gain, g_free);
  return GST_PAD_PROBE_OK;
}

int
main (int argc, char **argv)
{
  static const Point threshold[] = { { 0, 1 }, { 0.5, 0.05 }, { 1, 1 } };
  static const Point gain[] = { { 0, 0.25 }, { 0.5, 1 }, { 1, 0.25 } };
  char *sink = NULL, *text;
  double seconds = 6;
  GError *error = NULL;
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "How long it takes (6)", "N" },
    { "sink", 0, 0, G_OPTION_ARG_STRING, &sink, "Where frames go, as for gst-launch-1.0 (autovideosink)", "ELEMENTS" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  GOptionContext *context = g_option_context_new ("- edges that come and go");
  GstElement *pipeline, *sobel;
  GstMessage *message;
  GstPad *pad;
  int result = 0;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error) || !(seconds > 0 && seconds < 3600)) {
    g_printerr ("%s\n", error ? error->message : "that many seconds are not possible");
    return 2;
  }
  g_option_context_free (context);

  text = g_strdup_printf ("videotestsrc num-buffers=%d ! video/x-raw,width=640,height=480,framerate=30/1 "
                          "! cudasobel name=sobel ! videoconvert ! %s",
                          (int) (seconds * 30) + 1, sink ? sink : "autovideosink");
  pipeline = gst_parse_launch_full (text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  g_free (text);
  g_free (sink);
  if (!pipeline) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  sobel = gst_bin_get_by_name (GST_BIN (pipeline), "sobel");
  control (sobel, "threshold", threshold, G_N_ELEMENTS (threshold), (GstClockTime) (seconds * GST_SECOND));
  control (sobel, "gain", gain, G_N_ELEMENTS (gain), (GstClockTime) (seconds * GST_SECOND));
  pad = gst_element_get_static_pad (sobel, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, say_values, sobel, NULL);

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (GST_ELEMENT_BUS (pipeline), GST_CLOCK_TIME_NONE,
                                        GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, NULL);
    g_printerr ("%s\n", error->message);
    g_error_free (error);
    result = 1;
  }
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (sobel);
  gst_object_unref (pipeline);
  return result;
}

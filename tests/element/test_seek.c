/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Seeks and state changes at any moment, in pipelines of stock elements that read a file. */
#include "elementtest.h"
#include "usage.h"

#include <glib/gstdio.h>

enum { WIDTH = 64, HEIGHT = 48, N_FRAMES = 250, FPS = 25 };

static gchar *file_name;

/* Ten seconds of gray pictures; the first bytes of each are its number. */
static gboolean
make_file (void)
{
  GError *error = NULL;
  guint8 *bytes = g_malloc0 (WIDTH * HEIGHT * N_FRAMES);
  gint fd = g_file_open_tmp ("cudasobel-XXXXXX.gray", &file_name, &error);
  guint i, k;

  if (T_CHECK (fd >= 0, "no temporary file: %s", error ? error->message : "?")) {
    for (i = 0; i < N_FRAMES; i++)
      for (k = 0; k < WIDTH * HEIGHT; k++)
        bytes[i * WIDTH * HEIGHT + k] = (guint8) (i + k / 7);
    g_close (fd, NULL);
    g_file_set_contents (file_name, (const gchar *) bytes, WIDTH * HEIGHT * N_FRAMES, NULL);
  }
  g_clear_error (&error);
  g_free (bytes);
  return fd >= 0;
}

static GstElement *
make_pipeline (const char *properties, const char *sink)
{
  GError *error = NULL;
  gchar *line = g_strdup_printf ("filesrc location=%s ! rawvideoparse format=gray8 width=%d height=%d framerate=%d/1 ! "
                                 "cudasobel name=edges %s ! fakesink name=sink %s",
                                 file_name, WIDTH, HEIGHT, FPS, properties, sink);
  GstElement *pipeline = gst_parse_launch (line, &error);

  T_CHECK (pipeline && !error, "%s: %s", line, error ? error->message : "?");
  g_clear_error (&error);
  g_free (line);
  return pipeline;
}

static gboolean
reaches (GstElement *pipeline, GstState state)
{
  GstStateChangeReturn result = gst_element_set_state (pipeline, state);

  if (result == GST_STATE_CHANGE_ASYNC)
    result = gst_element_get_state (pipeline, NULL, NULL, 10 * et_factor () * GST_SECOND);
  return result == GST_STATE_CHANGE_SUCCESS;
}

static void
no_trouble (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    GError *error = NULL;
    gchar *debug = NULL;

    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, &debug);
    else
      gst_message_parse_warning (message, &error, &debug);
    T_CHECK (FALSE, "%s: %s | %s", GST_OBJECT_NAME (message->src), error->message, debug);
    g_clear_error (&error);
    g_free (debug);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
}

static void
stop_pipeline (GstElement *pipeline)
{
  guint tries;

  T_CHECK (gst_element_set_state (pipeline, GST_STATE_NULL) == GST_STATE_CHANGE_SUCCESS, "does not stop");
  no_trouble (pipeline);
  /* A thread of GstBin's own that finished a state change may still be on its way out. */
  for (tries = 0; GST_OBJECT_REFCOUNT_VALUE (pipeline) > 1 && tries < 1000; tries++)
    g_usleep (2000);
  T_CHECK (GST_OBJECT_REFCOUNT_VALUE (pipeline) == 1, "somebody holds the pipeline");
  gst_object_unref (pipeline);
}

/* The longest that one took, s. */
static double
seek_often (GstElement *pipeline, guint rounds, guint pause_us, TRandom *random)
{
  double worst = 0;
  guint i;

  for (i = 0; i < rounds; i++) {
    const guint64 start = t_now_ns ();
    double took;

    et_context ("seek %u", i);
    T_CHECK (gst_element_seek_simple (pipeline, GST_FORMAT_TIME,
                                      GST_SEEK_FLAG_FLUSH | (i % 2 ? GST_SEEK_FLAG_ACCURATE : 0),
                                      t_random_below (random, 9000) * GST_MSECOND),
             "refused");
    took = (double) (t_now_ns () - start) / 1e9;
    worst = MAX (worst, took);
    no_trouble (pipeline);
    g_usleep (t_random_below (random, pause_us));
  }
  return worst;
}

static void
many_seeks (void)
{
  static const struct
  {
    const char *properties, *sink;
    guint delay_us; /* of the GPU */
    guint pause_us; /* between seeks, at most */
  } trial[] = { { "backend=cpu", "sync=true", 0, 30000 },
                { "backend=cuda", "sync=true", 1000, 5000 },
                { "backend=cuda ring-size=16", "sync=false", 50000, 5000 } };
  const guint rounds = et_long () ? 500 : et_times (60);
  TRandom random = t_random (t_seed (1), 3);
  guint k;

  for (k = 0; k < G_N_ELEMENTS (trial); k++) {
    GstElement *pipeline;
    Usage before;
    double worst;

    et_gpu_late (trial[k].delay_us, trial[k].delay_us / 2);
    pipeline = make_pipeline (trial[k].properties, trial[k].sink);
    T_CHECK (reaches (pipeline, GST_STATE_PLAYING), "does not play");
    seek_often (pipeline, 20, trial[k].pause_us, &random);
    before = usage_now ();
    worst = seek_often (pipeline, rounds, trial[k].pause_us, &random);
    T_CHECK (worst < et_factor (), "a seek takes %.3f s", worst);
    printf ("%s: the longest seek took %.3f s\n", trial[k].properties, worst);
    usage_check_flat (&before, "seeks", rounds);
    stop_pipeline (pipeline);
    et_gpu_check ();
  }
}

/* In PAUSED the sink holds a frame and everything behind it waits. */
static void
seeks_while_paused (void)
{
  TRandom random = t_random (t_seed (1), 4);
  GstElement *pipeline;

  et_gpu_late (2000, 2000);
  pipeline = make_pipeline ("backend=cuda", "sync=true");
  T_CHECK (reaches (pipeline, GST_STATE_PAUSED), "does not preroll");
  T_CHECK (seek_often (pipeline, et_times (60), 30000, &random) < et_factor (), "takes too long");
  T_CHECK (reaches (pipeline, GST_STATE_PLAYING), "does not play after seeks");
  stop_pipeline (pipeline);
}

static void
seeks_and_states (void)
{
  const guint rounds = et_long () ? 500 : et_times (60);
  static const GstState states[] = { GST_STATE_READY, GST_STATE_PLAYING, GST_STATE_PAUSED, GST_STATE_PLAYING,
                                     GST_STATE_NULL,  GST_STATE_PLAYING };
  TRandom random = t_random (t_seed (1), 5);
  GstElement *pipeline;
  guint i;

  et_gpu_late (1000, 3000);
  pipeline = make_pipeline ("backend=cuda", "sync=true");
  for (i = 0; i < rounds; i++) {
    const guint64 start = t_now_ns ();

    et_context ("round %u", i);
    gst_element_set_state (pipeline, states[i % G_N_ELEMENTS (states)]);
    T_CHECK (t_now_ns () - start < et_factor () * GST_SECOND, "a state change takes %.3f s",
             (double) (t_now_ns () - start) / 1e9);
    g_usleep (t_random_below (&random, 10000));
    gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                             t_random_below (&random, 9000) * GST_MSECOND);
    no_trouble (pipeline);
  }
  stop_pipeline (pipeline);
}

/* ---- SEGMENT_DONE --------------------------------------------------------------------------------- */

typedef struct
{
  gint frames, before_done; /* atomic */
} Count;

static GstPadProbeReturn
count (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  Count *counted = user;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER)
    g_atomic_int_inc (&counted->frames);
  else if (GST_EVENT_TYPE (info->data) == GST_EVENT_SEGMENT_DONE)
    g_atomic_int_set (&counted->before_done, g_atomic_int_get (&counted->frames));
  else if (GST_EVENT_TYPE (info->data) == GST_EVENT_FLUSH_STOP)
    g_atomic_int_set (&counted->frames, 0);
  return GST_PAD_PROBE_OK;
}

static void
segment_seek (void)
{
  Count counted = { 0, -1 }, came = { 0, -1 };
  GstElement *pipeline, *edges;
  GstMessage *message;
  guint tries;
  GstBus *bus;
  GstPad *src, *sink;

  et_gpu_late (3000, 3000);
  pipeline = make_pipeline ("backend=cuda", "sync=false");
  edges = gst_bin_get_by_name (GST_BIN (pipeline), "edges");
  src = gst_element_get_static_pad (edges, "src");
  gst_pad_add_probe (src,
                     GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
                     count, &counted, NULL);
  sink = gst_element_get_static_pad (edges, "sink");
  gst_pad_add_probe (sink,
                     GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
                     count, &came, NULL);
  T_CHECK (reaches (pipeline, GST_STATE_PAUSED), "does not preroll");
  T_CHECK (gst_element_seek (pipeline, 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT,
                             GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET, GST_SECOND),
           "refused");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  bus = gst_element_get_bus (pipeline);
  message = gst_bus_timed_pop_filtered (bus, 10 * et_factor () * GST_SECOND,
                                        GST_MESSAGE_SEGMENT_DONE | GST_MESSAGE_ERROR);
  T_CHECK (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_SEGMENT_DONE, "no SEGMENT_DONE");
  /* The parser sends its message before its event. */
  for (tries = 0; g_atomic_int_get (&counted.before_done) < 0 && tries < 1000; tries++)
    g_usleep (5000);
  T_CHECK (came.before_done >= FPS && counted.before_done == came.before_done,
           "%d frames went in before SEGMENT_DONE, %d came out", came.before_done, counted.before_done);
  if (message)
    gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (src);
  gst_object_unref (sink);
  gst_object_unref (edges);
  stop_pipeline (pipeline);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "many-seeks", many_seeks },
    { "seeks-while-paused", seeks_while_paused },
    { "seeks-and-states", seeks_and_states },
    { "segment-seek", segment_seek },
    { NULL, NULL },
  };
  int result;

  if (!make_file ())
    return 1;
  result = et_main (argc, argv, ET_PLUGINS, tests);
  g_unlink (file_name);
  g_free (file_name);
  return result;
}

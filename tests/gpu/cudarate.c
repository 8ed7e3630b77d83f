/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How fast frames go through the element that stay in GPU memory.
 *
 *   cudarate FORMAT WIDTH HEIGHT FRAMES [PROPERTIES]
 *
 * Upstream takes buffers of the pool that the element proposes, downstream lets go of what arrives at once: what is
 * left is the element. One line of "name=value" on stdout: time a frame, and the GPU's own time for one. */
#include <gst/gst.h>
#include <gst/video/video.h>

#include <stdio.h>
#include <stdlib.h>

static gint arrived; /* atomic */

static GstFlowReturn
swallow (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  gst_buffer_unref (buffer);
  g_atomic_int_inc (&arrived);
  return GST_FLOW_OK;
}

static GstBufferPool *
ask_for_pool (GstPad *src, GstCaps *caps)
{
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;

  if (gst_pad_peer_query (src, query) && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  gst_query_unref (query);
  return pool;
}

static GstFlowReturn
push (GstPad *src, GstBufferPool *pool, gint frames)
{
  GstFlowReturn flow = GST_FLOW_OK;
  gint i;

  for (i = 0; i < frames && flow == GST_FLOW_OK; i++) {
    GstBuffer *buffer = NULL;

    flow = gst_buffer_pool_acquire_buffer (pool, &buffer, NULL);
    if (flow != GST_FLOW_OK)
      break;
    GST_BUFFER_PTS (buffer) = (GstClockTime) i * GST_MSECOND;
    flow = gst_pad_push (src, buffer);
  }
  return flow;
}

static guint64
counter (GstElement *element, const gchar *name)
{
  GstStructure *stats = NULL;
  guint64 value = 0;

  g_object_get (element, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, name, &value);
  gst_structure_free (stats);
  return value;
}

static void
set_properties (GstElement *element, const gchar *text)
{
  gchar **setting = g_strsplit (text, " ", -1);
  guint i;

  for (i = 0; setting[i]; i++) {
    gchar **pair = g_strsplit (setting[i], "=", 2);

    if (pair[0] && pair[1])
      gst_util_set_object_arg (G_OBJECT (element), pair[0], pair[1]);
    g_strfreev (pair);
  }
  g_strfreev (setting);
}

int
main (int argc, char **argv)
{
  GstElement *element;
  GstPad *src, *sink, *in, *out;
  GstBufferPool *pool;
  GstSegment segment;
  GstFlowReturn flow = GST_FLOW_ERROR;
  gint64 start, end;
  GstCaps *caps;
  gchar *text;
  gint frames;

  gst_init (&argc, &argv);
  if (argc < 5) {
    fprintf (stderr, "usage: cudarate FORMAT WIDTH HEIGHT FRAMES [PROPERTIES]\n");
    return 2;
  }
  frames = atoi (argv[4]);
  text = g_strdup_printf ("video/x-raw(memory:CUDAMemory),format=%s,width=%s,height=%s", argv[1], argv[2], argv[3]);
  caps = gst_caps_from_string (text);
  element = gst_element_factory_make ("cudasobel", NULL);
  if (!element || !caps)
    return 2;
  set_properties (element, argc > 5 ? argv[5] : "backend=cuda");
  src = gst_pad_new ("src", GST_PAD_SRC);
  sink = gst_pad_new ("sink", GST_PAD_SINK);
  in = gst_element_get_static_pad (element, "sink");
  out = gst_element_get_static_pad (element, "src");
  gst_pad_set_chain_function (sink, swallow);
  gst_pad_link_full (src, in, GST_PAD_LINK_CHECK_NOTHING);
  gst_pad_link_full (out, sink, GST_PAD_LINK_CHECK_NOTHING);
  gst_pad_set_active (sink, TRUE);
  gst_pad_set_active (src, TRUE);
  gst_element_set_state (element, GST_STATE_PLAYING);
  gst_pad_push_event (src, gst_event_new_stream_start ("rate"));
  gst_pad_push_event (src, gst_event_new_caps (caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (src, gst_event_new_segment (&segment));

  pool = ask_for_pool (src, caps);
  if (pool && gst_buffer_pool_set_active (pool, TRUE)) {
    flow = push (src, pool, 500);
    g_atomic_int_set (&arrived, 0);
    start = g_get_monotonic_time ();
    if (flow == GST_FLOW_OK)
      flow = push (src, pool, frames);
    gst_pad_push_event (src, gst_event_new_eos ());
    end = g_get_monotonic_time ();
    printf ("%s us-a-frame=%.3f kernel-us=%.3f frames=%d host-bytes-copied=%" G_GUINT64_FORMAT "\n", text,
            (double) (end - start) / frames, (double) counter (element, "kernel-ns") / 1000,
            g_atomic_int_get (&arrived), counter (element, "host-bytes-copied"));
  } else {
    fprintf (stderr, "cudarate: no pool of GPU memory is proposed\n");
  }
  gst_pad_set_active (src, FALSE);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_pad_set_active (sink, FALSE);
  return flow == GST_FLOW_OK ? 0 : 1;
}

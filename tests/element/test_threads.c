/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many threads at once: what an application asks and sets while frames flow, and several elements side by side. For
 * ThreadSanitizer as much as for what comes out. */
#include "picture.h"

#define CAPS "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"

static gint stop; /* atomic */

static guint
milliseconds (void)
{
  return et_long () ? 10000 : 1000;
}

/* ---- around one element --------------------------------------------------------------------------- */

static gpointer
ask (gpointer data)
{
  Rig *rig = data;
  GstPad *src = gst_element_get_static_pad (rig->element, "src");
  GstPad *sink = gst_element_get_static_pad (rig->element, "sink");

  while (!g_atomic_int_get (&stop)) {
    GstQuery *query = gst_query_new_latency ();
    GstStructure *stats;
    GstCaps *caps;
    gint active;

    gst_pad_query (src, query);
    gst_query_unref (query);
    query = gst_query_new_position (GST_FORMAT_TIME);
    gst_pad_query (src, query);
    gst_query_unref (query);
    caps = gst_pad_query_caps (sink, NULL);
    gst_caps_unref (caps);
    caps = gst_pad_query_caps (src, NULL);
    gst_caps_unref (caps);
    g_object_get (rig->element, "stats", &stats, "active-backend", &active, NULL);
    gst_structure_free (stats);
    g_thread_yield ();
  }
  gst_object_unref (src);
  gst_object_unref (sink);
  return NULL;
}

static gpointer
change (gpointer data)
{
  static const char *const settings[] = { "invert=true",  "gain=3",       "mode=overlay",     "ring-size=9",
                                          "bypass=true",  "mode=mask",    "operator=scharr",  "kernel=naive",
                                          "invert=false", "bypass=false", "precision=float",  "streams=3",
                                          "gain=1",       "mode=edges",   "threshold=0.3",    "backend=auto" };
  guint i;

  for (i = 0; !g_atomic_int_get (&stop); i++) {
    rig_set (data, settings[i % G_N_ELEMENTS (settings)]);
    if (i % 16 == 0)
      g_usleep (200);
  }
  return NULL;
}

static gpointer
reconfigure (gpointer data)
{
  Rig *rig = data;

  while (!g_atomic_int_get (&stop)) {
    gst_pad_push_event (rig->sink, gst_event_new_reconfigure ());
    gst_pad_push_event (rig->sink, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.0, 0, 0));
    g_usleep (2000);
  }
  return NULL;
}

static GstFlowReturn
check_size (Rig *rig, GstBuffer *buffer)
{
  GstCaps *caps = gst_pad_get_current_caps (rig->sink);
  GstVideoInfo info;

  gst_video_info_from_caps (&info, caps);
  T_CHECK (gst_buffer_get_size (buffer) == info.size, "%" G_GSIZE_FORMAT " bytes for caps of %" G_GSIZE_FORMAT,
           gst_buffer_get_size (buffer), info.size);
  gst_caps_unref (caps);
  return GST_FLOW_OK;
}

/* New caps and frames from this thread; questions, settings and wishes from others. */
static void
everybody_at_once (void)
{
  static const char *const caps[] = { CAPS, "video/x-raw,format=GRAY8,width=30,height=20",
                                      "video/x-raw,format=I420,width=64,height=48,framerate=0/1" };
  static const char *const backends[] = { "backend=auto qos=false", "backend=cpu qos=false" };
  guint k, i, n = 0;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    const gint64 until = g_get_monotonic_time () + milliseconds () * 1000;
    GThread *thread[3];
    gchar *text;
    Rig *rig;

    et_context ("%s", backends[k]);
    et_gpu_late (200, 500);
    rig = rig_new (backends[k]);
    rig->drops_buffers = TRUE;
    rig->arrive = check_size;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    g_atomic_int_set (&stop, FALSE);
    thread[0] = g_thread_new ("ask", ask, rig);
    thread[1] = g_thread_new ("change", change, rig);
    thread[2] = g_thread_new ("reconfigure", reconfigure, rig);
    for (i = 0, n = 0; g_get_monotonic_time () < until; i++) {
      T_CHECK (rig_push_pictures (rig, i, 10) == GST_FLOW_OK, "refused");
      n += 10;
      rig_caps (rig, caps[i % G_N_ELEMENTS (caps)]);
      rig_forget (rig);
    }
    g_atomic_int_set (&stop, TRUE);
    for (i = 0; i < G_N_ELEMENTS (thread); i++)
      g_thread_join (thread[i]);
    rig_eos (rig);
    T_CHECK (rig_stat (rig, "frames-in") == n && rig_stat (rig, "frames-out") == n,
             "%u in, %" G_GUINT64_FORMAT " out", n, rig_stat (rig, "frames-out"));
    T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING, &text) == 0, "%s", text);
    g_free (text);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Half a change would show as a frame that is neither one nor the other. */
static GstFlowReturn
all_or_nothing (Rig *rig, GstBuffer *buffer)
{
  GstMapInfo map;
  gsize i;

  gst_buffer_map (buffer, &map, GST_MAP_READ);
  for (i = 1; i < map.size; i++)
    if (!T_CHECK (map.data[i] == map.data[0] && (map.data[0] == 0 || map.data[0] == 255), "%u beside %u", map.data[i],
                  map.data[0]))
      break;
  gst_buffer_unmap (buffer, &map);
  return GST_FLOW_OK;
}

static gpointer
toggle (gpointer data)
{
  Rig *rig = data;

  while (!g_atomic_int_get (&stop))
    rig_set (rig, "invert=true invert=false");
  return NULL;
}

static void
changes_are_whole_frames (void)
{
  const guint n = et_times (2000);
  GThread *thread;
  guint i;
  Rig *rig = rig_new ("backend=cpu n-threads=4");

  rig->arrive = all_or_nothing;
  rig->drops_buffers = TRUE;
  T_CHECK (rig_start (rig, "video/x-raw,format=GRAY8,width=128,height=64"), "does not start");
  g_atomic_int_set (&stop, FALSE);
  thread = g_thread_new ("toggle", toggle, rig);
  for (i = 0; i < n; i++) {
    GstBuffer *flat = gst_buffer_new_allocate (NULL, 128 * 64, NULL);

    gst_buffer_memset (flat, 0, 77, 128 * 64);
    rig_push (rig, flat);
  }
  g_atomic_int_set (&stop, TRUE);
  g_thread_join (thread);
  rig_eos (rig);
  rig_free (rig);
}

/* ---- flushes while the state changes -------------------------------------------------------------- */

static gpointer
flush (gpointer data)
{
  GstPad *sink = gst_element_get_static_pad (data, "sink");
  guint i;

  for (i = 0; !g_atomic_int_get (&stop); i++) {
    gst_pad_send_event (sink, gst_event_new_flush_start ());
    gst_pad_send_event (sink, gst_event_new_flush_stop (TRUE));
    g_usleep (i / 64 % 2 * 300);
  }
  gst_object_unref (sink);
  return NULL;
}

/* Queries that wait for frames, of a thread that does not know that the element is being stopped. */
static gpointer
ask_in_order (gpointer data)
{
  GstPad *sink = gst_element_get_static_pad (data, "sink");
  GstCaps *caps = gst_caps_from_string (CAPS);
  guint i;

  for (i = 0; !g_atomic_int_get (&stop); i++) {
    GstQuery *query = i % 2 ? gst_query_new_drain () : gst_query_new_allocation (caps, TRUE);

    gst_pad_query (sink, query);
    gst_query_unref (query);
    g_usleep (i % 32 ? 0 : 500);
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
  return NULL;
}

/* An application that takes its time widens every gap. */
static void
linger (GObject *object, GParamSpec *pspec, gpointer user)
{
  g_usleep (200);
}

static void
flushes_while_starting (void)
{
  const gint64 until = g_get_monotonic_time () + milliseconds () * 500;
  GThread *thread[4];
  guint i, n = 0;
  Rig *rig;

  et_gpu_late (200, 500);
  rig = rig_new ("backend=auto");
  rig->drops_buffers = TRUE;
  g_signal_connect (rig->element, "notify::active-backend", G_CALLBACK (linger), NULL);
  g_atomic_int_set (&stop, FALSE);
  thread[0] = g_thread_new ("flush", flush, rig->element);
  thread[1] = g_thread_new ("flush-too", flush, rig->element);
  thread[2] = g_thread_new ("ask", ask, rig);
  thread[3] = g_thread_new ("ask-in-order", ask_in_order, rig->element);
  for (; g_get_monotonic_time () < until; n++) {
    gst_pad_set_active (rig->sink, TRUE);
    gst_pad_set_active (rig->src, TRUE);
    gst_element_set_state (rig->element, GST_STATE_PLAYING);
    /* Waits for a flush that is under way, and so for ever if that does. */
    rig_event (rig, gst_event_new_stream_start ("test"));
    g_usleep (n % 7 * 100);
    gst_pad_set_active (rig->src, FALSE);
    gst_element_set_state (rig->element, n % 2 ? GST_STATE_READY : GST_STATE_NULL);
    gst_pad_set_active (rig->sink, FALSE);
  }
  g_atomic_int_set (&stop, TRUE);
  for (i = 0; i < G_N_ELEMENTS (thread); i++)
    g_thread_join (thread[i]);
  T_CHECK (n > 5, "only %u rounds", n);
  rig_free (rig);
}

/* As above, where the source pad alone is shut and opened. */
static void
flushes_while_a_pad_opens (void)
{
  const gint64 until = g_get_monotonic_time () + milliseconds () * 500;
  GThread *thread[2];
  guint i, n = 0;
  GstPad *pad;
  Rig *rig;

  et_gpu_late (200, 500);
  rig = rig_new ("backend=auto");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  pad = gst_element_get_static_pad (rig->element, "src");
  g_atomic_int_set (&stop, FALSE);
  for (i = 0; i < G_N_ELEMENTS (thread); i++)
    thread[i] = g_thread_new ("flush", flush, rig->element);
  for (; g_get_monotonic_time () < until; n++) {
    T_CHECK (gst_pad_set_active (pad, FALSE) && gst_pad_set_active (pad, TRUE), "round %u", n);
    rig_event (rig, gst_event_new_stream_start ("test"));
    rig_forget (rig);
  }
  g_atomic_int_set (&stop, TRUE);
  for (i = 0; i < G_N_ELEMENTS (thread); i++)
    g_thread_join (thread[i]);
  gst_object_unref (pad);
  T_CHECK (n > 5, "only %u rounds", n);
  rig_no_trouble (rig);
  rig_free (rig);
}

/* ---- side by side --------------------------------------------------------------------------------- */

static const char *const looks[] = { "backend=cuda mode=edges", "backend=cpu mode=mask threshold=0.3",
                                     "backend=cuda mode=overlay overlay-color=0x8000ff00",
                                     "backend=cpu n-threads=3 operator=scharr norm=l1 border=none" };

enum { SIDE_FRAMES = 40 };

static gpointer
run_alone (gpointer data)
{
  Rig *rig = data;

  rig_push_pictures (rig, 0, SIDE_FRAMES);
  rig_eos (rig);
  return NULL;
}

static void
elements_side_by_side (void)
{
  GThread *thread[G_N_ELEMENTS (looks)];
  Rig *rig[G_N_ELEMENTS (looks)];
  guint i;

  et_gpu_late (100, 500);
  for (i = 0; i < G_N_ELEMENTS (looks); i++) {
    rig[i] = rig_new (looks[i]);
    T_CHECK (rig_start (rig[i], "video/x-raw,format=I420,width=66,height=50,framerate=25/1"), "does not start");
  }
  for (i = 0; i < G_N_ELEMENTS (looks); i++)
    thread[i] = g_thread_new (looks[i], run_alone, rig[i]);
  for (i = 0; i < G_N_ELEMENTS (looks); i++) {
    g_thread_join (thread[i]);
    et_context ("%s", looks[i]);
    T_CHECK (rig_n_buffers (rig[i]) == SIDE_FRAMES, "%u frames", rig_n_buffers (rig[i]));
    picture_check_recording (rig[i], 0, et_factor () > 1 ? 5 : SIDE_FRAMES);
  }
  for (i = 0; i < G_N_ELEMENTS (looks); i++)
    rig_free (rig[i]);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "everybody-at-once", everybody_at_once },
    { "changes-are-whole-frames", changes_are_whole_frames },
    { "flushes-while-starting", flushes_while_starting },
    { "flushes-while-a-pad-opens", flushes_while_a_pad_opens },
    { "elements-side-by-side", elements_side_by_side },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

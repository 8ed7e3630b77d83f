/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* FLUSH_START wakes every wait, nothing from before comes out after FLUSH_STOP, and then all goes on as new. */
#include "rig.h"

#define CAPS "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"
#define OTHER_CAPS "video/x-raw,format=GRAY8,width=80,height=48,framerate=25/1"

/* Buffers of different epochs are so many numbers apart. */
enum { EPOCH = 1000 };

/* A thread that pushes until it is refused, then sends what follows. */
typedef struct
{
  Rig *rig;
  guint first, n;
  gboolean eos;
  GstFlowReturn flow;
} Pusher;

static gpointer
push_pictures (gpointer data)
{
  Pusher *pusher = data;

  pusher->flow = rig_push_pictures (pusher->rig, pusher->first, pusher->n);
  if (pusher->eos)
    rig_eos (pusher->rig);
  return NULL;
}

/* Waits until the device got `n` frames, and a little longer, so that the pusher is where it has to wait. */
static void
let_it_wait (unsigned n)
{
  T_CHECK (fake_device_await_submits (et_gpu (0), n, (uint64_t) 10 * et_factor () * GST_SECOND),
           "%u frames never reach the GPU", n);
  g_usleep (20000);
}

/* After the last FLUSH_STOP there are only numbers from `first` on, without a gap. */
static void
check_new_only (Rig *rig, guint first)
{
  guint i, n = rig_n_items (rig), next = first;

  for (i = 0; i < n; i++)
    if (GST_IS_EVENT (rig_item (rig, i).object) &&
        GST_EVENT_TYPE (rig_item (rig, i).object) == GST_EVENT_FLUSH_STOP)
      next = G_MAXUINT;
    else if (GST_IS_EVENT (rig_item (rig, i).object) && GST_EVENT_TYPE (rig_item (rig, i).object) == GST_EVENT_SEGMENT)
      next = first;
    else if (GST_IS_BUFFER (rig_item (rig, i).object) && i > 0 && GST_BUFFER_OFFSET (rig_item (rig, i).object) >= first)
      T_CHECK (GST_BUFFER_OFFSET (rig_item (rig, i).object) == next++, "number %" G_GUINT64_FORMAT " as item %u",
               GST_BUFFER_OFFSET (rig_item (rig, i).object), i);
}

/* Flushes while a pusher waits, then sees that five new frames pass. `release`: lets the GPU finish after
 * FLUSH_START. */
static void
flush_a_pusher (Rig *rig, Pusher *pusher, GThread *thread, gboolean release)
{
  gchar *story;

  rig_event (rig, gst_event_new_flush_start ());
  g_thread_join (thread);
  T_CHECK (pusher->flow == GST_FLOW_FLUSHING || pusher->eos, "the push said %s", gst_flow_get_name (pusher->flow));
  if (release)
    fake_device_set_finish (et_gpu (0), FAKE_FINISH_LATE, 1000, 1000);
  if (release)
    fake_device_finish_all (et_gpu (0));
  rig_event (rig, gst_event_new_flush_stop (TRUE));
  rig_forget (rig);
  rig_segment (rig);
  g_atomic_int_set (&rig->flow, GST_FLOW_OK);
  T_CHECK (rig_push_pictures (rig, EPOCH, 5) == GST_FLOW_OK, "refused after the flush");
  rig_eos (rig);
  story = rig_story (rig);
  T_CHECK (g_str_has_prefix (story, "gbbbbbe") || g_str_has_prefix (story, "gAbbbbbe"), "%s", story);
  g_free (story);
  check_new_only (rig, EPOCH);
  T_CHECK (rig_stat (rig, "in-flight") == 0, "frames are left");
  rig_no_trouble (rig);
}

/* A flush while `pusher` waits for a GPU that finishes nothing, once `n` of its frames are there. */
static void
flush_while_the_gpu_stands (Pusher pusher, guint n)
{
  const EGpu told = { .pixels = TRUE, .options = { .finish = FAKE_FINISH_TOLD } };
  GThread *thread;
  Rig *rig;

  et_gpu_set (&told);
  rig = pusher.rig = rig_new ("backend=cuda ring-size=3");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  thread = g_thread_new ("pusher", push_pictures, &pusher);
  let_it_wait (n);
  flush_a_pusher (rig, &pusher, thread, TRUE);
  rig_free (rig);
}

static void
wakes_the_wait_for_a_slot (void)
{
  flush_while_the_gpu_stands ((Pusher){ NULL, 0, 6, FALSE, GST_FLOW_OK }, 3);
}

static void
wakes_a_drain (void)
{
  flush_while_the_gpu_stands ((Pusher){ NULL, 0, 2, TRUE, GST_FLOW_OK }, 2);
}

/* As a sink does that has its preroll. */
static GstFlowReturn
block_until_flush (Rig *rig, GstBuffer *buffer)
{
  while (!GST_PAD_IS_FLUSHING (rig->sink))
    g_usleep (1000);
  return GST_FLOW_FLUSHING;
}

static void
wakes_downstream (void)
{
  const char *const backend[] = { "backend=cuda ring-size=3", "backend=cpu ring-size=3" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backend); i++) {
    Pusher pusher = { NULL, 0, 20, FALSE, GST_FLOW_OK };
    GThread *thread;
    Rig *rig;

    et_gpu_late (500, 0);
    rig = pusher.rig = rig_new (backend[i]);
    rig->arrive = block_until_flush;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    thread = g_thread_new ("pusher", push_pictures, &pusher);
    g_usleep (50000);
    g_atomic_pointer_set (&rig->arrive, NULL);
    flush_a_pusher (rig, &pusher, thread, FALSE);
    rig_free (rig);
  }
}

/* Downstream's pool has one buffer, which the recording keeps. */
static void
wakes_the_wait_for_a_buffer (void)
{
  const char *const backend[] = { "backend=cuda ring-size=3", "backend=cpu ring-size=3" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backend); i++) {
    GstCaps *caps = gst_caps_from_string (CAPS);
    GstBufferPool *pool = gst_buffer_pool_new ();
    GstStructure *config = gst_buffer_pool_get_config (pool);
    Pusher pusher = { NULL, 0, 20, FALSE, GST_FLOW_OK };
    GThread *thread;
    Rig *rig;

    et_context ("%s", backend[i]);
    et_gpu_late (500, 0);
    gst_buffer_pool_config_set_params (config, caps, 64 * 48, 1, 1);
    gst_buffer_pool_set_config (pool, config);
    gst_caps_unref (caps);
    rig = pusher.rig = rig_new (backend[i]);
    rig->pool = pool;
    rig->pool_size = 64 * 48;
    rig->pool_min = rig->pool_max = 1;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    thread = g_thread_new ("pusher", push_pictures, &pusher);
    rig_wait (rig, 1);
    g_usleep (50000);
    T_CHECK (rig_n_buffers (rig) == 1, "%u buffers from a pool of one", rig_n_buffers (rig));
    rig_event (rig, gst_event_new_flush_start ());
    g_thread_join (thread);
    T_CHECK (pusher.flow == GST_FLOW_FLUSHING, "the push said %s", gst_flow_get_name (pusher.flow));
    rig_event (rig, gst_event_new_flush_stop (TRUE));
    rig_forget (rig);
    rig_segment (rig);
    T_CHECK (rig_push_pictures (rig, EPOCH, 1) == GST_FLOW_OK, "refused after the flush");
    rig_wait (rig, 1);
    rig_no_trouble (rig);
    rig_free (rig);
  }
}

/* Some elements send it alone. */
static void
stop_without_start (void)
{
  Rig *rig;

  et_gpu_late (1000, 0);
  rig = rig_new ("backend=cuda");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_event (rig, gst_event_new_flush_stop (TRUE));
  rig_segment (rig);
  T_CHECK (rig_push_pictures (rig, 0, 3) == GST_FLOW_OK, "refused after FLUSH_STOP");
  rig_event (rig, gst_event_new_flush_stop (TRUE));
  rig_segment (rig);
  T_CHECK (rig_push_pictures (rig, 3, 3) == GST_FLOW_OK, "refused after FLUSH_STOP");
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) >= 3, "%u of the last three frames", rig_n_buffers (rig));
  rig_no_trouble (rig);
  rig_free (rig);
}

/* Flushes at any moment of a drain. */
static void
while_eos_drains (void)
{
  const guint rounds = et_long () ? 500 : et_times (120);
  TRandom random = t_random (t_seed (1), 0);
  Rig *rig;
  guint i;

  et_gpu_late (300, 1500);
  rig = rig_new ("backend=cuda ring-size=4");
  rig->drops_buffers = TRUE;
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < rounds; i++) {
    Pusher pusher = { rig, i, t_random_below (&random, 7), TRUE, GST_FLOW_OK };
    GThread *thread = g_thread_new ("pusher", push_pictures, &pusher);

    et_context ("round %u", i);
    g_usleep (t_random_below (&random, 3000));
    rig_event (rig, gst_event_new_flush_start ());
    g_thread_join (thread);
    rig_event (rig, gst_event_new_flush_stop (TRUE));
    rig_segment (rig);
  }
  T_CHECK (rig_push_pictures (rig, 0, 2) == GST_FLOW_OK, "refused in the end");
  rig_no_trouble (rig);
  rig_free (rig);
}

/* New caps, downstream's wish to negotiate again and flushes come all at once: none of that is an error. */
static gpointer
change_caps (gpointer data)
{
  Pusher *pusher = data;
  guint i;

  for (i = 0; pusher->flow == GST_FLOW_OK; i++) {
    gst_pad_mark_reconfigure (GST_BASE_TRANSFORM_SRC_PAD (pusher->rig->element));
    if (i % 4 == 3)
      rig_caps (pusher->rig, i % 8 == 3 ? OTHER_CAPS : CAPS);
    pusher->flow = rig_push_pictures (pusher->rig, pusher->first + i, 1);
  }
  return NULL;
}

static void
while_negotiating (void)
{
  const guint rounds = et_long () ? 2000 : et_times (300);
  TRandom random = t_random (t_seed (1), 1);
  Rig *rig;
  guint i;

  et_gpu_late (100, 400);
  rig = rig_new ("backend=cuda ring-size=4");
  rig->drops_buffers = TRUE;
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < rounds; i++) {
    Pusher pusher = { rig, i * EPOCH, 0, FALSE, GST_FLOW_OK };
    GThread *thread = g_thread_new ("pusher", change_caps, &pusher);

    et_context ("round %u", i);
    g_usleep (t_random_below (&random, 3000));
    rig_event (rig, gst_event_new_flush_start ());
    g_thread_join (thread);
    T_CHECK (pusher.flow == GST_FLOW_FLUSHING, "a push said %s", gst_flow_get_name (pusher.flow));
    rig_event (rig, gst_event_new_flush_stop (TRUE));
    rig_segment (rig);
  }
  rig_caps (rig, CAPS);
  T_CHECK (rig_push_pictures (rig, 0, 2) == GST_FLOW_OK, "refused in the end");
  T_CHECK (rig_eos (rig), "EOS refused");
  rig_no_trouble (rig);
  rig_free (rig);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "wakes-the-wait-for-a-slot", wakes_the_wait_for_a_slot },
    { "wakes-a-drain", wakes_a_drain },
    { "wakes-downstream", wakes_downstream },
    { "wakes-the-wait-for-a-buffer", wakes_the_wait_for_a_buffer },
    { "stop-without-start", stop_without_start },
    { "while-eos-drains", while_eos_drains },
    { "while-negotiating", while_negotiating },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting, stopping and changing caps many times, in any order, leaves nothing behind. */
#include "rig.h"
#include "usage.h"

#include <string.h>

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=25/1"

/* ---- caps ----------------------------------------------------------------------------------------- */

static void
change_caps (Rig *rig, guint from, guint to)
{
  static const char *const formats[] = { "I420", "RGB", "GRAY8", "NV12", "Y444_16LE" };
  guint i;

  for (i = from; i < to; i++) {
    gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=%u,height=%u,framerate=25/1",
                                   formats[i % G_N_ELEMENTS (formats)], 16 + i * 37 % 200, 16 + i * 13 % 100);

    T_CHECK (rig_caps (rig, caps), "%s refused", caps);
    T_CHECK (rig_push_pictures (rig, i, i % 3) == GST_FLOW_OK, "a frame is refused");
    if (i % 5 == 0) /* downstream asks for it, too */
      gst_pad_push_event (rig->sink, gst_event_new_reconfigure ());
    rig_forget (rig);
    g_free (caps);
  }
  /* Every pool is there whenever usage is measured. */
  rig_caps (rig, CAPS);
  rig_push_pictures (rig, to, 1);
  rig_wait (rig, 1);
  rig_forget (rig);
  rig_no_trouble (rig);
}

static void
many_caps (void)
{
  static const char *const backends[] = { "backend=cpu n-threads=3", "backend=cuda" };
  const guint n = et_long () ? 2000 : et_times (300);
  guint k;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    Usage before;
    Rig *rig;

    et_gpu_late (50, 100);
    rig = rig_new (backends[k]);
    rig->drops_buffers = TRUE;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    change_caps (rig, 0, 100);
    before = usage_now ();
    change_caps (rig, 100, 100 + n);
    usage_check_flat (&before, backends[k], n);
    rig_eos (rig);
    T_CHECK (rig_stat (rig, "frames-in") == rig_stat (rig, "frames-out"), "frames were lost");
    T_CHECK (et_log_count (GST_LEVEL_WARNING, NULL) == 0, "the log warns");
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- starts and stops ----------------------------------------------------------------------------- */

static void
cycles (Rig *rig, guint n)
{
  guint i;

  for (i = 0; i < n; i++) {
    T_CHECK (rig_start (rig, CAPS), "does not start");
    T_CHECK (rig_push_pictures (rig, 0, 2) == GST_FLOW_OK, "a frame is refused");
    if (i % 2)
      rig_eos (rig);
    rig_stop (rig);
    rig_messages (rig, GST_MESSAGE_ANY, NULL);
    rig_forget (rig);
    if (i % 20 == 19)
      et_gpu_check ();
  }
}

static void
many_starts (void)
{
  static const char *const backends[] = { "backend=cpu n-threads=3", "backend=cuda" };
  const guint n = et_long () ? 1000 : et_times (200);
  guint k;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    Usage before;
    Rig *rig;

    et_gpu_late (50, 100);
    rig = rig_new (backends[k]);
    rig->drops_buffers = TRUE;
    cycles (rig, 100);
    et_gpu_check ();
    before = usage_now ();
    cycles (rig, n);
    et_gpu_check ();
    usage_check_flat (&before, backends[k], n);
    rig_free (rig);
  }
}

/* New elements, too. */
static void
many_elements (void)
{
  const guint n = et_long () ? 1000 : et_times (200);
  Usage before = { 0 };
  guint i;

  for (i = 0; i < n + 50; i++) {
    Rig *rig;

    if (i == 50) {
      et_gpu_check ();
      before = usage_now ();
    }
    et_gpu_late (50, 100);
    rig = rig_new (i % 2 ? "backend=cuda" : "backend=cpu");
    if (i % 3) {
      rig_start (rig, CAPS);
      rig_push_pictures (rig, 0, i % 5);
    }
    rig_free (rig);
    if (i % 20 == 19)
      et_gpu_check ();
  }
  et_gpu_check ();
  usage_check_flat (&before, "elements", n);
}

/* ---- any order ------------------------------------------------------------------------------------ */

typedef enum
{
  STEP_START,
  STEP_CAPS,
  STEP_PUSH,
  STEP_EOS,
  STEP_FLUSH,
  STEP_STOP,
  STEP_READY,
  STEP_SETTINGS,
  STEP_STATS,
  N_STEPS,
} Step;

static void
take_step (Rig *rig, Step step, TRandom *random, gboolean *started)
{
  static const char *const caps[] = { CAPS, "video/x-raw,format=RGB,width=33,height=17",
                                      "video/x-raw,format=NV12,width=100,height=20,framerate=50/1" };
  static const char *const settings[] = { "ring-size=1", "ring-size=7", "mode=overlay", "mode=edges", "bypass=true",
                                          "bypass=false", "backend=cpu", "backend=auto" };
  const guint64 start = t_now_ns ();

  switch (step) {
    case STEP_START:
      *started = *started || rig_start (rig, t_random_below (random, 3) ? caps[t_random_below (random, 3)] : NULL);
      break;
    case STEP_CAPS:
      if (*started)
        rig_caps (rig, caps[t_random_below (random, 3)]);
      break;
    case STEP_PUSH:
      if (*started && rig->has_segment && rig->info.finfo && rig->info.width)
        rig_push_pictures (rig, 0, 1 + t_random_below (random, 9));
      break;
    case STEP_EOS:
      if (*started && rig->has_segment)
        rig_eos (rig);
      break;
    case STEP_FLUSH:
      if (*started && rig->has_segment)
        rig_flush (rig);
      break;
    case STEP_STOP:
      rig_stop (rig);
      *started = FALSE;
      break;
    case STEP_READY:
      if (!*started)
        gst_element_set_state (rig->element, GST_STATE_READY);
      break;
    case STEP_SETTINGS:
      rig_set (rig, settings[t_random_below (random, G_N_ELEMENTS (settings))]);
      break;
    default:
      rig_stat (rig, "frames-in");
      break;
  }
  T_CHECK (t_now_ns () - start < (guint64) et_factor () * GST_SECOND, "step %u takes %.3f s", step,
           (double) (t_now_ns () - start) / 1e9);
}

static void
any_order (void)
{
  const guint rounds = et_long () ? 300 : et_times (60);
  const uint64_t seed = t_seed (1);
  guint round, i;

  for (round = 0; round < rounds; round++) {
    TRandom random = t_random (seed, round);
    gboolean started = FALSE;
    gchar *text;
    Rig *rig;

    et_context ("round %u", round);
    et_gpu_late (500, 3000);
    rig = rig_new (round % 2 ? "backend=cuda" : "backend=cpu");
    rig->drops_buffers = TRUE;
    for (i = 0; i < 40; i++)
      take_step (rig, (Step) t_random_below (&random, N_STEPS), &random, &started);
    T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) == 0, "%s", text);
    g_free (text);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Work in flight is no reason to stop late. */
static void
stops_in_time (void)
{
  guint64 start;
  Rig *rig;

  et_gpu_fake_late (200000, 0);
  rig = rig_new ("backend=cuda ring-size=16");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 16);
  start = t_now_ns ();
  rig_stop (rig);
  T_CHECK (t_now_ns () - start < (guint64) et_factor () * GST_SECOND, "%.3f s", (double) (t_now_ns () - start) / 1e9);
  T_CHECK (rig_n_buffers (rig) == 0, "a frame came out of a stopped element");
  rig_free (rig);
}

/* ---- no thread ------------------------------------------------------------------------------------ */

typedef GstTaskPool BarePool;
typedef GstTaskPoolClass BarePoolClass;

static GType bare_pool_get_type (void);
G_DEFINE_TYPE (BarePool, bare_pool, GST_TYPE_TASK_POOL)

static gpointer
bare_pool_push (GstTaskPool *pool, GstTaskPoolFunction function, gpointer user_data, GError **error)
{
  gst_object_unref (user_data); /* the task, which its thread would have let go of */
  g_set_error_literal (error, GST_CORE_ERROR, GST_CORE_ERROR_THREAD, "no more threads");
  return NULL;
}

static void
bare_pool_init (BarePool *self)
{
}

static void
bare_pool_class_init (BarePoolClass *klass)
{
  klass->push = bare_pool_push;
}

static GstBusSyncReply
give_no_thread (GstBus *bus, GstMessage *message, gpointer pool)
{
  GstStreamStatusType type;
  GstElement *owner;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_STREAM_STATUS) {
    gst_message_parse_stream_status (message, &type, &owner);
    if (type == GST_STREAM_STATUS_TYPE_CREATE)
      gst_task_set_pool (g_value_get_object (gst_message_get_stream_status_object (message)), pool);
  }
  return GST_BUS_PASS;
}

static void
no_warning (const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user_data)
{
}

/* The output task gets no thread: an error, and nobody waits for frames that will not leave. */
static void
no_thread (void)
{
  static GstTaskPool *volatile pool; /* for good: a task keeps it that was never joined */
  Rig *rig = rig_new ("backend=cpu");
  GLogFunc usual = g_log_set_default_handler (no_warning, NULL);
  gchar *text = NULL;

  pool = g_object_new (bare_pool_get_type (), NULL);
  gst_bus_set_sync_handler (rig->bus, give_no_thread, pool, NULL);
  if (rig_start (rig, CAPS))
    T_CHECK (rig_push_pictures (rig, 0, 8) != GST_FLOW_OK, "frames are taken");
  T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) > 0, "no error");
  T_CHECK (text && strstr (text, "output task"), "said: %s", text);
  rig_forget (rig);
  g_log_set_default_handler (usual, NULL);
  gst_bus_set_sync_handler (rig->bus, NULL, NULL, NULL);
  g_free (text);
  rig_free (rig);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "many-caps", many_caps },
    { "many-starts", many_starts },
    { "many-elements", many_elements },
    { "any-order", any_order },
    { "stops-in-time", stops_in_time },
    { "no-thread", no_thread },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A frame leaves when its own work is done; what LATENCY queries say; frames that are late. */
#include "rig.h"

#define CAPS "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"

/* ---- LATENCY -------------------------------------------------------------------------------------- */

/* The answer at the element's source pad. */
static gboolean
ask (Rig *rig, gboolean *live, GstClockTime *min, GstClockTime *max)
{
  GstQuery *query = gst_query_new_latency ();
  const gboolean answered = gst_pad_peer_query (rig->sink, query);

  gst_query_parse_latency (query, live, min, max);
  gst_query_unref (query);
  return answered;
}

static void
latency_answers (void)
{
  static const struct
  {
    const char *caps, *properties;
    gboolean live;
    GstClockTime max, expected_max;
  } trial[] = {
    { CAPS, "ring-size=4", TRUE, GST_SECOND, GST_SECOND + 4 * 40 * GST_MSECOND },
    { CAPS, "ring-size=1", FALSE, 0, 40 * GST_MSECOND },
    { CAPS, "ring-size=16 bypass=true", TRUE, GST_SECOND, GST_SECOND + 16 * 40 * GST_MSECOND },
    { CAPS, "ring-size=4", TRUE, GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE },
    { "video/x-raw,format=GRAY8,width=64,height=48,framerate=0/1", "", TRUE, GST_SECOND, GST_SECOND },
    { "video/x-raw,format=GRAY8,width=64,height=48", "", TRUE, GST_SECOND, GST_SECOND },
    { "video/x-raw,format=GRAY8,width=64,height=48,framerate=30000/1001", "ring-size=3", TRUE, 0, 100100000 },
    { NULL, "", TRUE, GST_SECOND, GST_SECOND },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    GstClockTime min = 0, max = 0;
    gboolean live = FALSE;
    Rig *rig = rig_new (trial[i].properties);

    et_context ("trial %u", i);
    rig->live = trial[i].live;
    rig->min_latency = 5 * GST_MSECOND;
    rig->max_latency = trial[i].max;
    rig_start (rig, trial[i].caps);
    T_CHECK (ask (rig, &live, &min, &max), "no answer");
    T_CHECK (live == trial[i].live, "live %d", live);
    T_CHECK (min == 5 * GST_MSECOND, "minimum %" G_GUINT64_FORMAT, min);
    T_CHECK (max == trial[i].expected_max, "maximum %" G_GUINT64_FORMAT, max);
    rig_free (rig);
  }
}

/* One message for each change of what the element adds, and none without. */
static void
latency_messages (void)
{
  static const struct
  {
    const char *caps;
    guint messages;
  } step[] = {
    { CAPS, 1 },
    { CAPS, 0 },
    { "video/x-raw,format=GRAY8,width=80,height=48,framerate=25/1", 0 },
    { "video/x-raw,format=I420,width=80,height=48,framerate=50/1", 1 },
    { "video/x-raw,format=I420,width=80,height=48,framerate=0/1", 1 },
    { "video/x-raw,format=I420,width=64,height=48,framerate=0/1", 0 },
    { CAPS, 1 },
  };
  guint i;
  Rig *rig = rig_new ("");

  T_CHECK (rig_start (rig, NULL), "does not start");
  for (i = 0; i < G_N_ELEMENTS (step); i++) {
    guint messages;

    T_CHECK (rig_caps (rig, step[i].caps), "refused");
    rig_push_pictures (rig, 0, 2);
    messages = rig_messages (rig, GST_MESSAGE_LATENCY, NULL);
    T_CHECK (messages == step[i].messages, "%u messages at step %u", messages, i);
  }
  rig_free (rig);
}

/* ---- a source that pauses ------------------------------------------------------------------------- */

static int
compare (const void *a, const void *b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return (x > y) - (x < y);
}

/* Two frames, then nothing: both come out at once. The median of many rounds counts, as the machine may be busy. */
static void
two_frames_and_then_none (void)
{
  enum { ROUNDS = 41, WORK_US = 2000 };
  static const char *const backends[] = { "backend=cuda ring-size=4", "backend=cuda ring-size=16", "backend=cpu",
                                          "backend=cpu bypass=true" };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    const gint64 work_ns = k < 2 ? WORK_US * 1000 : 0;
    gint64 late[ROUNDS], median;
    Rig *rig;

    et_context ("%s", backends[k]);
    et_gpu_late (WORK_US, 0);
    rig = rig_new (backends[k]);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    for (i = 0; i < ROUNDS; i++) {
      guint64 pushed = t_now_ns (), arrived = 0;

      rig_push_pictures (rig, 2 * i, 2);
      rig_wait (rig, 2 * i + 2);
      if (!rig_buffer (rig, 2 * i + 1, &arrived))
        break;
      late[i] = (gint64) (arrived - pushed) - work_ns;
    }
    qsort (late, i, sizeof *late, compare);
    median = i ? late[i / 2] : G_MAXINT64;
    T_CHECK (median <= (gint64) et_factor () * 5000000, "%.2f ms late", (double) median / 1e6);
    printf ("%s: %.3f ms after its own work (median of %u, worst %.3f)\n", backends[k], (double) median / 1e6, i,
            i ? (double) late[i - 1] / 1e6 : 0.0);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* A frame that is done does not wait for one that is not, behind it. */
static void
never_waits_for_the_next (void)
{
  const EGpu told = { .pixels = TRUE, .options = { .finish = FAKE_FINISH_TOLD } };
  Rig *rig;
  guint i;

  et_gpu_set (&told);
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 4);
  fake_device_finish (et_gpu (0), 2); /* its turn has not come */
  g_usleep (30000);
  T_CHECK (rig_n_buffers (rig) == 0, "a frame came before its turn");
  for (i = 0; i < 4; i++) {
    fake_device_finish (et_gpu (0), i);
    rig_wait (rig, i == 1 ? 3 : i + 1);
    if (i != 1)
      T_CHECK (rig_n_buffers (rig) == MAX (i + 1, i > 1 ? 3 : 0), "%u frames after %u", rig_n_buffers (rig), i);
  }
  rig_free (rig);
}

/* ---- QoS ------------------------------------------------------------------------------------------ */

static void
say_late (Rig *rig, GstClockTime time)
{
  gst_pad_push_event (rig->sink, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, 100 * GST_MSECOND, time));
}

static void
late_frames_are_dropped (void)
{
  static const char *const backends[] = { "backend=cuda", "backend=cpu" };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    GstBuffer *first;
    guint n;
    Rig *rig;

    et_context ("%s", backends[k]);
    et_gpu_late (500, 500);
    rig = rig_new (backends[k]);
    g_object_set (rig->element, "qos", TRUE, NULL);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    say_late (rig, 100 * GST_MSECOND);
    T_CHECK (rig_push_pictures (rig, 0, 12) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    n = rig_n_buffers (rig);
    T_CHECK (n > 0 && n < 12, "%u of 12 frames come out", n);
    T_CHECK (rig_stat (rig, "frames-in") == 12 && rig_stat (rig, "qos-dropped") == 12 - n &&
                 rig_stat (rig, "frames-out") == n && rig_stat (rig, "frames-dropped") == 0,
             "counted otherwise");
    T_CHECK (rig_messages (rig, GST_MESSAGE_QOS, NULL) == 12 - n, "not one message for each");
    first = rig_buffer (rig, 0, NULL);
    T_CHECK (GST_BUFFER_OFFSET (first) == 12 - n, "number %" G_GUINT64_FORMAT " comes first",
             GST_BUFFER_OFFSET (first));
    T_CHECK (GST_BUFFER_IS_DISCONT (first), "the gap is not marked");
    for (i = 0; i < n; i++)
      T_CHECK (GST_BUFFER_PTS (rig_buffer (rig, i, NULL)) == (12 - n + i) * 40 * GST_MSECOND, "time of %u", i);
    rig_free (rig);
    et_gpu_check ();
  }
}

static void
qos_switched_off (void)
{
  Rig *rig = rig_new ("qos=false");

  T_CHECK (rig_start (rig, CAPS), "does not start");
  say_late (rig, 100 * GST_MSECOND);
  rig_push_pictures (rig, 0, 12);
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == 12, "%u frames come out", rig_n_buffers (rig));
  T_CHECK (rig_stat (rig, "qos-dropped") == 0, "something was dropped");
  T_CHECK (rig->n_qos > 0, "upstream does not hear of it");
  rig_free (rig);
}

/* A flush forgets how late it was. */
static void
flush_resets_qos (void)
{
  Rig *rig = rig_new ("");

  T_CHECK (rig_start (rig, CAPS), "does not start");
  say_late (rig, 10 * GST_SECOND);
  rig_push_pictures (rig, 0, 3);
  rig_flush (rig);
  rig_forget (rig);
  rig_push_pictures (rig, 0, 3);
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == 3, "%u frames come out", rig_n_buffers (rig));
  rig_free (rig);
}

/* ---- counters ------------------------------------------------------------------------------------- */

static void
stage_times (void)
{
  gchar *kernel, *device, *backend;
  Rig *rig;

  et_gpu_fake_late (4000, 0);
  rig = rig_new ("backend=cuda ring-size=1");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  T_CHECK (rig_stat (rig, "latency-ns") == 0 && rig_stat (rig, "kernel-ns") == 0, "times before the first frame");
  rig_push_pictures (rig, 0, 5);
  rig_eos (rig);
  /* What the fake says. */
  T_CHECK (rig_stat (rig, "upload-ns") == 1000 && rig_stat (rig, "kernel-ns") == 2000 &&
               rig_stat (rig, "download-ns") == 3000,
           "stage times");
  T_CHECK (rig_stat (rig, "latency-ns") >= 4000000, "latency %" G_GUINT64_FORMAT, rig_stat (rig, "latency-ns"));
  T_CHECK (rig_stat (rig, "pinned-bytes") > 0, "nothing is pinned");
  T_CHECK (rig_stat (rig, "device-bytes") > 0, "nothing on the device");
  backend = rig_stat_string (rig, "backend");
  device = rig_stat_string (rig, "device");
  kernel = rig_stat_string (rig, "kernel");
  T_CHECK (g_str_equal (backend, "cuda") && *device && *kernel, "%s, %s, %s", backend, device, kernel);
  g_free (backend);
  g_free (device);
  g_free (kernel);

  /* From the next start on everything counts from 0. */
  rig_stop (rig);
  T_CHECK (rig_stat (rig, "frames-in") == 5, "forgotten by NULL");
  rig_start (rig, CAPS);
  T_CHECK (rig_stat (rig, "frames-in") == 0 && rig_stat (rig, "latency-ns") == 0, "not reset by the start");
  rig_free (rig);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "latency-answers", latency_answers },
    { "latency-messages", latency_messages },
    { "two-frames-and-then-none", two_frames_and_then_none },
    { "never-waits-for-the-next", never_waits_for_the_next },
    { "late-frames-are-dropped", late_frames_are_dropped },
    { "qos-switched-off", qos_switched_off },
    { "flush-resets-qos", flush_resets_qos },
    { "stage-times", stage_times },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The GPU fails while frames are in flight: none is lost, none is wrong, and nothing that it may still write to is
 * used again. */
#include "picture.h"

#include <string.h>

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=25/1"
#define OTHER_CAPS "video/x-raw,format=RGB,width=50,height=30,framerate=25/1"

enum { N_FRAMES = 12, RING = 4, GIVE_UP_MS = 150 };

/* What the next device fails at. */
static FakeCall planned_call;
static unsigned planned_nth;

static void
plan_failure (FakeDevice *fake)
{
  fake_device_fail (fake, planned_call, planned_nth, SOBEL_STATUS_OK);
}

static void
use_failing_gpu (FakeCall call, unsigned nth)
{
  const EGpu gpu = { .pixels = TRUE,
                     .options = { .finish = FAKE_FINISH_LATE, .delay_ns = 300000, .jitter_ns = 500000,
                                  .watch_memory = true },
                     .made = plan_failure };

  planned_call = call;
  planned_nth = nth;
  et_gpu_set (&gpu);
}

static void
use_silent_gpu (void)
{
  const EGpu gpu = { .pixels = TRUE, .options = { .finish = FAKE_FINISH_TOLD, .watch_memory = true } };

  et_gpu_set (&gpu);
  gst_cuda_sobel_set_give_up (GIVE_UP_MS * et_factor () * GST_MSECOND);
}

static gint
active (Rig *rig)
{
  gint value;

  g_object_get (rig->element, "active-backend", &value, NULL);
  return value;
}

/* All of `n` in order and right. */
static void
check_all (Rig *rig, guint first, guint n)
{
  guint i;

  if (!T_CHECK (rig_n_buffers (rig) == n, "%u of %u frames", rig_n_buffers (rig), n))
    return;
  for (i = 0; i < n; i++)
    T_CHECK (GST_BUFFER_OFFSET (rig_buffer (rig, i, NULL)) == first + i, "frame %u is number %" G_GUINT64_FORMAT, i,
             GST_BUFFER_OFFSET (rig_buffer (rig, i, NULL)));
  picture_check_recording (rig, first, n);
}

/* ---- every call in turn --------------------------------------------------------------------------- */

static void
one_failure_with_auto (FakeCall call, unsigned nth, gboolean downstream_pool)
{
  guint warnings, recomputed;
  gboolean lost;
  gchar *text;
  Rig *rig;

  et_context ("auto, call %u, failure %u%s", call, nth, downstream_pool ? ", downstream's pool" : "");
  use_failing_gpu (call, nth);
  rig = rig_new ("backend=auto ring-size=4");
  if (downstream_pool) {
    rig->pool = gst_video_buffer_pool_new ();
    rig->pool_size = 64 * 48 * 3 / 2;
  }
  T_CHECK (rig_start (rig, CAPS), "does not start");
  T_CHECK (rig_push_pictures (rig, 0, N_FRAMES) == GST_FLOW_OK, "refused");
  rig_eos (rig);
  check_all (rig, 0, N_FRAMES);
  lost = active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU;
  recomputed = (guint) rig_stat (rig, "frames-recomputed");
  if (call == FAKE_CALL_SUBMIT || call == FAKE_CALL_WAIT)
    T_CHECK (lost == (fake_device_failures (et_gpu (0)) > 0), "lost is %d after %u failures", lost,
             fake_device_failures (et_gpu (0)));
  T_CHECK (lost ? recomputed <= RING : recomputed == 0, "%u frames recomputed", recomputed);
  T_CHECK (rig_stat (rig, "frames-dropped") == 0 && rig_stat (rig, "frames-out") == N_FRAMES, "counted otherwise");
  warnings = rig_messages (rig, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR, &text);
  T_CHECK (warnings == (lost ? 1 : 0), "%u messages: %s", warnings, text);
  g_free (text);
  rig_free (rig);
  et_gpu_check ();
}

static void
auto_loses_nothing (void)
{
  static const FakeCall calls[] = { FAKE_CALL_CONFIGURE, FAKE_CALL_HOST_ALLOC, FAKE_CALL_SUBMIT, FAKE_CALL_WAIT,
                                    FAKE_CALL_DESTROY,   FAKE_CALL_ANY };
  const unsigned step = et_factor () > 1 ? 5 : 1;
  guint i;
  unsigned nth;

  for (i = 0; i < G_N_ELEMENTS (calls); i++)
    for (nth = 1; nth <= (calls[i] == FAKE_CALL_ANY ? 50 : 15); nth += step) {
      one_failure_with_auto (calls[i], nth, FALSE);
      one_failure_with_auto (calls[i], nth, TRUE);
    }
}

/* What comes out before the error is right, what does not come out is counted. */
static void
one_failure_with_cuda (FakeCall call, unsigned nth)
{
  guint errors, n;
  gchar *text;
  Rig *rig;

  et_context ("cuda, call %u, failure %u", call, nth);
  use_failing_gpu (call, nth);
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, N_FRAMES);
  rig_eos (rig);
  n = rig_n_buffers (rig);
  check_all (rig, 0, n);
  errors = rig_messages (rig, GST_MESSAGE_ERROR, &text);
  if (fake_device_failures (et_gpu (0)) > 0 && (call == FAKE_CALL_SUBMIT || call == FAKE_CALL_WAIT)) {
    T_CHECK (errors >= 1 && errors <= 2, "%u errors: %s", errors, text);
    T_CHECK (strstr (text, "as planned"), "no reason in: %s", text);
    T_CHECK (n < N_FRAMES, "%u frames in spite of it", n);
    T_CHECK (rig_push_pictures (rig, 50, 1) != GST_FLOW_OK, "upstream does not hear of it");
  } else {
    T_CHECK (errors == 0 && n == N_FRAMES, "%u errors, %u frames: %s", errors, n, text);
  }
  T_CHECK (rig_stat (rig, "frames-out") == n, "%u frames, %" G_GUINT64_FORMAT " counted", n,
           rig_stat (rig, "frames-out"));
  g_free (text);
  rig_free (rig);
  et_gpu_check ();
}

static void
cuda_ends_with_an_error (void)
{
  unsigned nth;

  for (nth = 1; nth <= 14; nth += et_factor () > 1 ? 4 : 1) {
    one_failure_with_cuda (FAKE_CALL_SUBMIT, nth);
    one_failure_with_cuda (FAKE_CALL_WAIT, nth);
    one_failure_with_cuda (FAKE_CALL_HOST_ALLOC, nth);
  }
}

/* ---- no answer ------------------------------------------------------------------------------------ */

/* It wakes up much later and writes what it was told to: into nobody's picture. */
static void
late_writes_hurt_nobody (void)
{
  guint k;

  for (k = 0; k < 3; k++) {
    GstBufferPool *pool = NULL;
    guint64 start, took;
    GstBuffer *kept[N_FRAMES];
    gchar *text;
    guint i;
    Rig *rig;

    et_context ("kind %u", k);
    use_silent_gpu ();
    rig = rig_new ("backend=auto ring-size=4");
    if (k == 1) {
      rig->pool = gst_video_buffer_pool_new ();
      rig->pool_size = 64 * 48 * 3 / 2;
    }
    rig_set (rig, k == 2 ? "mode=overlay" : "mode=edges");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    start = t_now_ns ();
    T_CHECK (rig_push_pictures (rig, 0, N_FRAMES) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    took = t_now_ns () - start;
    T_CHECK (took >= (guint64) GIVE_UP_MS * et_factor () * GST_MSECOND, "given up after %" G_GUINT64_FORMAT " ns",
             took);
    T_CHECK (took < (guint64) (10 * GIVE_UP_MS) * et_factor () * GST_MSECOND, "%" G_GUINT64_FORMAT " ns", took);
    check_all (rig, 0, N_FRAMES);
    T_CHECK (rig_stat (rig, "frames-recomputed") == RING, "%" G_GUINT64_FORMAT " frames recomputed",
             rig_stat (rig, "frames-recomputed"));
    T_CHECK (rig_messages (rig, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR, &text) == 1, "%s", text);
    g_free (text);

    for (i = 0; i < rig_n_buffers (rig); i++)
      kept[i] = gst_buffer_copy_deep (rig_buffer (rig, i, NULL));
    T_CHECK (fake_device_finish_all (et_gpu (0)) == RING, "not all frames were on the GPU");
    for (i = 0; i < rig_n_buffers (rig); i++) {
      T_CHECK (picture_equal (kept[i], rig_buffer (rig, i, NULL), &rig->info), "frame %u was written to", i);
      gst_buffer_unref (kept[i]);
    }
    g_clear_object (&pool);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* The memory lives as long as the GPU may write to it, though the element is long gone. */
static void
memory_waits_for_the_gpu (void)
{
  GstBufferPool *pool = NULL;
  GstBuffer *in;
  GstQuery *query;
  GstCaps *caps;
  Rig *rig;

  use_silent_gpu ();
  rig = rig_new ("backend=auto ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  caps = gst_caps_from_string (CAPS);
  query = gst_query_new_allocation (caps, TRUE);
  gst_pad_peer_query (rig->src, query);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  gst_query_unref (query);
  gst_caps_unref (caps);
  gst_buffer_pool_set_active (pool, TRUE);
  gst_buffer_pool_acquire_buffer (pool, &in, NULL);
  gst_buffer_memset (in, 0, 0x30, rig->info.size);
  rig_push (rig, gst_buffer_ref (in));
  rig_push_pictures (rig, 1, 2);
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == 3, "%u frames", rig_n_buffers (rig));
  T_CHECK (GST_MINI_OBJECT_REFCOUNT_VALUE (in) > 1, "upstream may write to what the GPU reads");
  gst_buffer_unref (in);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  rig_free (rig);
  T_CHECK (!fake_device_destroyed (et_gpu (0)), "destroyed while it works");
  T_CHECK (fake_device_blocks (et_gpu (0)) >= 6, "%u blocks are left for three frames",
           fake_device_blocks (et_gpu (0)));
  T_CHECK (sobel_device_reap () == 1, "not set aside");
  fake_device_finish_all (et_gpu (0));
  T_CHECK (sobel_device_reap () == 0, "still there");
}

static void
silence_with_cuda (void)
{
  guint64 start;
  gchar *text;
  Rig *rig;

  use_silent_gpu ();
  rig = rig_new ("backend=cuda ring-size=2");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  start = t_now_ns ();
  T_CHECK (rig_push_pictures (rig, 0, N_FRAMES) == GST_FLOW_ERROR, "upstream does not hear of it");
  T_CHECK (t_now_ns () - start < (guint64) (10 * GIVE_UP_MS) * et_factor () * GST_MSECOND, "takes too long");
  T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) >= 1, "no error");
  T_CHECK (strstr (text, "limit"), "%s", text);
  T_CHECK (rig_n_buffers (rig) == 0, "%u frames that nobody computed", rig_n_buffers (rig));
  g_free (text);
  fake_device_finish_all (et_gpu (0));
  rig_free (rig);
}

/* Stopping and flushing wait for the GPU, but not for ever. */
static void
stop_and_flush_in_silence (void)
{
  guint k;

  for (k = 0; k < 2; k++) {
    guint64 start, took;
    Rig *rig;

    et_context ("%s", k ? "flush" : "stop");
    use_silent_gpu ();
    rig = rig_new ("backend=auto ring-size=4");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    rig_push_pictures (rig, 0, RING);
    start = t_now_ns ();
    if (k == 0)
      rig_stop (rig);
    else
      rig_flush (rig);
    took = t_now_ns () - start;
    T_CHECK (took < (guint64) (3 * GIVE_UP_MS) * et_factor () * GST_MSECOND, "takes %.3f s", (double) took / 1e9);
    if (k == 1) {
      rig_forget (rig);
      T_CHECK (rig_push_pictures (rig, 100, 5) == GST_FLOW_OK, "refused after the flush");
      rig_eos (rig);
      check_all (rig, 100, 5);
    }
    fake_device_finish_all (et_gpu (0));
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- around a loss -------------------------------------------------------------------------------- */

/* The frames that pass keep their place among those that are computed again. */
static void
bypassed_frames_keep_their_place (void)
{
  guint i;
  Rig *rig;

  use_silent_gpu ();
  rig = rig_new ("backend=auto ring-size=8");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < 8; i++) {
    g_object_set (rig->element, "bypass", i % 2 == 1, NULL);
    rig_push_pictures (rig, i, 1);
  }
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == 8, "%u frames", rig_n_buffers (rig));
  for (i = 0; i < rig_n_buffers (rig); i++)
    T_CHECK (GST_BUFFER_OFFSET (rig_buffer (rig, i, NULL)) == i, "frame %u is another", i);
  T_CHECK (rig_stat (rig, "frames-recomputed") == 4, "%" G_GUINT64_FORMAT " recomputed",
           rig_stat (rig, "frames-recomputed"));
  fake_device_finish_all (et_gpu (0));
  rig_free (rig);
}

/* The CPU goes on through new caps and settings; the next start tries the GPU again. */
static void
life_after_a_loss (void)
{
  gchar *text, *reason;
  Rig *rig;

  use_failing_gpu (FAKE_CALL_WAIT, 3);
  rig = rig_new ("backend=auto ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 6);
  T_CHECK (rig_caps (rig, OTHER_CAPS), "new caps are refused");
  T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU, "active-backend");
  rig_forget (rig);
  rig_set (rig, "mode=mask operator=scharr");
  rig_push_pictures (rig, 6, 6);
  rig_eos (rig);
  check_all (rig, 6, 6);
  T_CHECK (rig_messages (rig, GST_MESSAGE_WARNING, &text) == 1, "%s", text);
  g_free (text);
  reason = rig_stat_string (rig, "fallback-reason");
  T_CHECK (strstr (reason, "as planned"), "%s", reason);
  g_free (reason);
  rig_stop (rig);
  rig_forget (rig);
  planned_nth = 0;
  T_CHECK (rig_start (rig, CAPS), "does not start again");
  T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CUDA && et_gpu_made () == 2, "the GPU is not tried again");
  reason = rig_stat_string (rig, "fallback-reason");
  T_CHECK (!*reason, "the old reason: %s", reason);
  g_free (reason);
  rig_free (rig);
}

/* What counts is how the element was started, not what the property says now. */
static void
backend_set_before_a_loss (void)
{
  static const struct
  {
    const char *at_start, *later;
    gboolean goes_on;
  } trial[] = { { "backend=auto", "backend=cuda", TRUE }, { "backend=cuda", "backend=auto", FALSE } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    Rig *rig;

    et_context ("%s then %s", trial[i].at_start, trial[i].later);
    use_failing_gpu (FAKE_CALL_WAIT, 3);
    rig = rig_new (trial[i].at_start);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    rig_set (rig, trial[i].later);
    rig_push_pictures (rig, 0, N_FRAMES);
    rig_eos (rig);
    T_CHECK ((rig_n_buffers (rig) == N_FRAMES) == trial[i].goes_on, "%u frames", rig_n_buffers (rig));
    T_CHECK (active (rig) == (trial[i].goes_on ? GST_SOBEL_ACTIVE_BACKEND_CPU : GST_SOBEL_ACTIVE_BACKEND_CUDA),
             "active-backend is %d", active (rig));
    rig_free (rig);
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "auto-loses-nothing", auto_loses_nothing },
    { "cuda-ends-with-an-error", cuda_ends_with_an_error },
    { "late-writes-hurt-nobody", late_writes_hurt_nobody },
    { "memory-waits-for-the-gpu", memory_waits_for_the_gpu },
    { "silence-with-cuda", silence_with_cuda },
    { "stop-and-flush-in-silence", stop_and_flush_in_silence },
    { "bypassed-frames-keep-their-place", bypassed_frames_keep_their_place },
    { "life-after-a-loss", life_after_a_loss },
    { "backend-set-before-a-loss", backend_set_before_a_loss },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

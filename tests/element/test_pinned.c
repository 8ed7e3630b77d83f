/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pinned memory runs short while frames flow: none is lost, none is wrong, none reaches the GPU in memory that is not
 * pinned (which the fake device watches), and what had to be copied is counted. */
#include "picture.h"

#include "pinnedbudget.h"

#include <string.h>

/* Whole pages, of which a real GPU pins no less. */
#define CAPS "video/x-raw,format=I420,width=64,height=128,framerate=25/1"
#define FRAME_BYTES_TEXT "12288"

enum { RING = 4, LUMA_BYTES = 64 * 128, FRAME_BYTES = LUMA_BYTES * 3 / 2 };

static const char *const backends[] = { "backend=auto ring-size=4", "backend=cuda ring-size=4" };

static gint
active (Rig *rig)
{
  gint value;

  g_object_get (rig->element, "active-backend", &value, NULL);
  return value;
}

static gboolean
is_pinned (GstBuffer *buffer)
{
  GstSobelMemory *memory = gst_sobel_memory_root (gst_buffer_peek_memory (buffer, 0));

  return memory && memory->pinned;
}

/* Of the recording. */
static guint
count_pinned (Rig *rig)
{
  guint i, n = 0;

  for (i = 0; i < rig_n_buffers (rig); i++)
    n += is_pinned (rig_buffer (rig, i, NULL));
  return n;
}

static Rig *
start_on (void (*gpu_late) (unsigned, unsigned), const char *properties)
{
  Rig *rig;

  et_context ("%s", properties);
  et_log_clear ();
  sobel_pinned_set_cap (0);
  gpu_late (200, 500);
  rig = rig_new (properties);
  T_CHECK (rig_start (rig, CAPS), "does not start");
  return rig;
}

static Rig *
start (const char *properties)
{
  return start_on (et_gpu_late, properties);
}

/* From now on so many frames more than there are. */
static void
limit_to (guint frames)
{
  sobel_pinned_set_cap (sobel_pinned_bytes () + frames * FRAME_BYTES);
}

/* ---- output --------------------------------------------------------------------------------------- */

/* Downstream lets go of nothing. What cannot be pinned any more is copied out of what the element keeps, and goes on
 * so after a flush. */
static void
downstream_holds_everything (void)
{
  enum { EXTRA = 3, N = 12 };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    guint pinned;
    Rig *rig = start (backends[i]);

    rig_push_pictures (rig, 0, 1); /* brings the staging memory, and one output more than slots */
    rig_wait (rig, 1);
    limit_to (EXTRA);
    T_CHECK (rig_push_pictures (rig, 1, N - 1) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == N, "%u frames", rig_n_buffers (rig));
    picture_check_recording (rig, 0, N);
    pinned = count_pinned (rig);
    T_CHECK (pinned == 1 + EXTRA, "%u pinned frames left", pinned);
    T_CHECK (rig_stat (rig, "host-bytes-copied") == N * LUMA_BYTES + (N - pinned) * FRAME_BYTES,
             "%" G_GUINT64_FORMAT " bytes were copied", rig_stat (rig, "host-bytes-copied"));
    T_CHECK (rig_stat (rig, "pinned-bytes") == sobel_pinned_cap (), "%" G_GUINT64_FORMAT " bytes are pinned",
             rig_stat (rig, "pinned-bytes"));
    T_CHECK (rig_stat (rig, "slots") == RING && active (rig) == GST_SOBEL_ACTIVE_BACKEND_CUDA, "not as it was");
    T_CHECK (et_log_count (GST_LEVEL_WARNING, "no more pinned memory") == 1, "%u warnings in the log",
             et_log_count (GST_LEVEL_WARNING, "no more pinned memory"));
    T_CHECK (et_log_count (GST_LEVEL_WARNING, FRAME_BYTES_TEXT) == 1, "the bytes are not named");

    rig_flush (rig);
    rig_forget (rig);
    rig_push_pictures (rig, N, 2 * RING);
    rig_eos (rig);
    picture_check_recording (rig, N, 2 * RING);
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Frames that a flush takes give their memory back to their slots. */
static void
flush_takes_what_is_in_flight (void)
{
  const EGpu never = { .pixels = TRUE, .options = { .finish = FAKE_FINISH_TOLD, .watch_memory = true } };
  guint i, k;
  Rig *rig;

  et_gpu_set (&never);
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 1);
  limit_to (0);
  for (i = 0; i < 3; i++) {
    rig_push_pictures (rig, 0, i == 0 ? RING - 1 : RING);
    rig_event (rig, gst_event_new_flush_start ());
    for (k = 0; k < RING; k++)
      fake_device_finish_all (et_gpu (0));
    rig_event (rig, gst_event_new_flush_stop (TRUE));
    rig_segment (rig);
  }
  T_CHECK (rig_n_buffers (rig) == 0, "%u frames", rig_n_buffers (rig));
  fake_device_set_finish (et_gpu (0), FAKE_FINISH_LATE, 200000, 0);
  rig_push_pictures (rig, 0, 2 * RING);
  rig_eos (rig);
  picture_check_recording (rig, 0, 2 * RING);
  T_CHECK (count_pinned (rig) == 0, "%u pinned frames left", count_pinned (rig));
  rig_no_trouble (rig);
  rig_free (rig);
}

/* When there is memory again, frames leave uncopied again. */
static void
it_is_over_some_time (void)
{
  Rig *rig = start (backends[0]);
  guint64 copied;

  rig_push_pictures (rig, 0, 1);
  rig_wait (rig, 1);
  limit_to (0);
  rig_push_pictures (rig, 1, 3);
  rig_wait (rig, 4);
  T_CHECK (count_pinned (rig) == 1, "%u pinned frames left", count_pinned (rig));
  limit_to (10);
  g_usleep (1100 * 1000);
  rig_forget (rig);
  copied = rig_stat (rig, "host-bytes-copied");
  rig_push_pictures (rig, 0, 6);
  rig_eos (rig);
  picture_check_recording (rig, 0, 6);
  T_CHECK (count_pinned (rig) == 6, "%u pinned frames left", count_pinned (rig));
  T_CHECK (rig_stat (rig, "host-bytes-copied") == copied + 6 * LUMA_BYTES, "copied");
  rig_no_trouble (rig);
  rig_free (rig);
}

/* Not the cap: the driver refuses, now and then, and for whatever reason. */
static void
the_driver_refuses (void)
{
  static const SobelStatus status[] = { SOBEL_STATUS_NO_MEMORY, SOBEL_STATUS_DEVICE_LOST, SOBEL_STATUS_INVALID };
  guint i, nth;

  for (i = 0; i < G_N_ELEMENTS (status); i++) {
    for (nth = 1; nth <= 4; nth++) {
      Rig *rig = start_on (et_gpu_fake_late, backends[nth % 2]);

      rig_push_pictures (rig, 0, 1);
      rig_wait (rig, 1);
      fake_device_fail (et_gpu (0), FAKE_CALL_HOST_ALLOC, nth, status[i]);
      rig_push_pictures (rig, 1, 9);
      rig_eos (rig);
      picture_check_recording (rig, 0, 10);
      T_CHECK (fake_device_failures (et_gpu (0)) == 1, "not as it was meant");
      T_CHECK (count_pinned (rig) < 10, "%u pinned frames left", count_pinned (rig));
      T_CHECK (rig_stat (rig, "frames-dropped") == 0 && rig_stat (rig, "frames-out") == 10, "counted otherwise");
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* ---- input ---------------------------------------------------------------------------------------- */

/* The pool that upstream uses takes what is left, and plain memory beyond: those frames need room for a copy. */
static void
upstream_takes_the_rest (void)
{
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    GstBuffer *held[RING + 2];
    GstBufferPool *pool;
    guint plain = 0;
    Rig *rig = start (backends[i]);

    rig->drops_buffers = TRUE;
    limit_to (3);
    pool = rig_take_offer (rig);
    for (k = 0; k < G_N_ELEMENTS (held); k++) {
      held[k] = rig_picture_from (rig, pool, k);
      plain += !is_pinned (held[k]);
    }
    T_CHECK (plain == G_N_ELEMENTS (held) - 3, "%u buffers are plain", plain);
    for (k = 0; k < G_N_ELEMENTS (held); k++)
      T_CHECK (rig_push (rig, held[k]) == GST_FLOW_OK, "refused");
    rig->drops_buffers = FALSE;
    for (; k < 20; k++)
      T_CHECK (rig_push (rig, rig_picture_from (rig, pool, k)) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    T_CHECK (rig_stat (rig, "frames-out") == 20 && rig_stat (rig, "slots") == 2, "%" G_GUINT64_FORMAT " slots",
             rig_stat (rig, "slots"));
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CUDA, "not on the GPU");
    T_CHECK (et_log_count (GST_LEVEL_WARNING, "2 instead of 4") == 1, "the log does not say how many slots");
    rig_no_trouble (rig);
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Frames in the offered pool go well; then one comes that would have to be copied, and there is no room for that even
 * with one slot. */
static void
no_room_for_input (void)
{
  enum { BEFORE = 5, N = 12 };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    const gboolean works = i == 0;
    GstBufferPool *pool;
    guint k, messages;
    gchar *text;
    Rig *rig = start (backends[i]);

    pool = rig_take_offer (rig);
    for (k = 0; k < BEFORE; k++)
      rig_push (rig, rig_picture_from (rig, pool, k));
    sobel_pinned_set_cap (1);
    T_CHECK (rig_push (rig, rig_picture (rig, k)) == (works ? GST_FLOW_OK : GST_FLOW_ERROR), "the first of others");
    while (++k < N)
      T_CHECK (rig_push (rig, rig_picture (rig, k)) == (works ? GST_FLOW_OK : GST_FLOW_NOT_NEGOTIATED), "frame %u", k);
    rig_eos (rig);
    picture_check_recording (rig, 0, works ? N : BEFORE);
    T_CHECK (rig_n_buffers (rig) == (works ? N : BEFORE), "%u frames", rig_n_buffers (rig));
    T_CHECK (rig_stat (rig, "frames-recomputed") == 0, "a frame was computed twice");
    T_CHECK ((active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU) == works, "active-backend is %d", active (rig));
    messages = rig_messages (rig, works ? GST_MESSAGE_WARNING : GST_MESSAGE_ERROR, &text);
    T_CHECK ((works ? messages == 1 : messages > 0) && strstr (text, FRAME_BYTES_TEXT), "%u messages: %s", messages,
             text);
    g_free (text);
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* The GPU is lost while there is no memory left to pin: the frames in flight are computed again in plain memory. */
static void
lost_in_a_shortage (void)
{
  unsigned nth;

  for (nth = 1; nth <= 8; nth++) {
    gchar *text;
    Rig *rig = start_on (et_gpu_fake_late, backends[0]);

    rig_push_pictures (rig, 0, 1);
    rig_wait (rig, 1);
    limit_to (1);
    fake_device_fail (et_gpu (0), FAKE_CALL_WAIT, nth, SOBEL_STATUS_OK);
    T_CHECK (rig_push_pictures (rig, 1, 11) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    picture_check_recording (rig, 0, 12);
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU, "active-backend");
    T_CHECK (rig_messages (rig, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR, &text) == 1, "%s", text);
    g_free (text);
    rig_free (rig);
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "downstream-holds-everything", downstream_holds_everything },
    { "flush-takes-what-is-in-flight", flush_takes_what_is_in_flight },
    { "it-is-over-some-time", it_is_over_some_time },
    { "the-driver-refuses", the_driver_refuses },
    { "upstream-takes-the-rest", upstream_takes_the_rest },
    { "no-room-for-input", no_room_for_input },
    { "lost-in-a-shortage", lost_in_a_shortage },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which device is taken at the start, what is said about it, and what happens where memory is short. */
#include "picture.h"

#include "pinnedbudget.h"

#include <string.h>

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=25/1"
#define LARGER_CAPS "video/x-raw,format=I420,width=80,height=48,framerate=25/1"

enum { FRAME_BYTES = 64 * 48 * 3 / 2 };

static const EGpu good_gpu = { .pixels = TRUE,
                               .options = { .finish = FAKE_FINISH_LATE, .delay_ns = 200000, .watch_memory = true } };

static GstSobelActiveBackend
active (Rig *rig)
{
  gint value;

  g_object_get (rig->element, "active-backend", &value, NULL);
  return (GstSobelActiveBackend) value;
}

static void
count_notify (GObject *object, GParamSpec *pspec, gpointer user)
{
  g_atomic_int_inc ((gint *) user);
}

static Rig *
watched_rig (const char *properties, gint *notified)
{
  Rig *rig = rig_new (properties);

  *notified = 0;
  g_signal_connect (rig->element, "notify::active-backend", G_CALLBACK (count_notify), notified);
  return rig;
}

/* Frames come, and are right. */
static void
check_works (Rig *rig)
{
  T_CHECK (rig_push_pictures (rig, 0, 6) == GST_FLOW_OK, "refused");
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == 6, "%u frames", rig_n_buffers (rig));
  picture_check_recording (rig, 0, 6);
}

/* ---- no GPU --------------------------------------------------------------------------------------- */

static const struct
{
  SobelStatus status;
  const char *message;
  guint warnings; /* with backend=auto */
} refusal[] = {
  { SOBEL_STATUS_NO_DEVICE, "driver too old (35)", 0 },
  { SOBEL_STATUS_BAD_DEVICE_ID, "usable: 0 (NVIDIA H200), 1 (NVIDIA H200)", 1 },
  { SOBEL_STATUS_NO_MEMORY, "123456789 bytes asked for", 1 },
  { SOBEL_STATUS_DEVICE_LOST, "an uncorrectable error", 0 },
  { SOBEL_STATUS_INVALID, "something odd", 0 },
};

static void
refuse (guint i)
{
  const EGpu gpu = { .refuse = refusal[i].status, .message = refusal[i].message };

  et_context ("%s", sobel_status_name (refusal[i].status));
  et_log_clear ();
  et_gpu_set (&gpu);
}

static void
auto_takes_the_cpu (void)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (refusal); i++) {
    gchar *text, *reason;
    guint warnings;
    gint notified;
    Rig *rig;

    refuse (i);
    rig = watched_rig ("cuda-device-id=7", &notified);
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_NONE, "active in NULL");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU && notified == 1, "active-backend %d, %d notifications",
             active (rig), notified);
    check_works (rig);
    warnings = rig_messages (rig, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR, &text);
    T_CHECK (warnings == refusal[i].warnings, "%u messages: %s", warnings, text);
    T_CHECK (!warnings || strstr (text, refusal[i].message), "%s", text);
    T_CHECK (warnings || et_log_count (GST_LEVEL_INFO, refusal[i].message) == 1, "%u INFO lines say why",
             et_log_count (GST_LEVEL_INFO, refusal[i].message));
    T_CHECK (warnings || et_log_count (GST_LEVEL_WARNING, NULL) == 0, "the log warns of a usual thing");
    g_free (text);
    reason = rig_stat_string (rig, "fallback-reason");
    T_CHECK (strstr (reason, refusal[i].message), "fallback-reason: %s", reason);
    g_free (reason);
    rig_stop (rig);
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_NONE && notified == 2, "still active in NULL");
    rig_free (rig);
  }
}

/* The user asked for a GPU: an error before any frame, and no second one. */
static void
cuda_is_an_error (void)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (refusal); i++) {
    gchar *text;
    guint errors;
    gint notified;
    Rig *rig;

    refuse (i);
    rig = watched_rig ("backend=cuda cuda-device-id=7", &notified);
    T_CHECK (gst_element_set_state (rig->element, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS, "READY fails");
    T_CHECK (gst_element_set_state (rig->element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE, "PAUSED works");
    errors = rig_messages (rig, GST_MESSAGE_ERROR, &text);
    T_CHECK (errors == 1, "%u errors: %s", errors, text);
    T_CHECK (strstr (text, refusal[i].message), "%s", text);
    g_free (text);
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_NONE && notified == 0, "active after a failure");

    /* The element is as good as new. */
    gst_element_set_state (rig->element, GST_STATE_NULL);
    rig_set (rig, "backend=auto");
    T_CHECK (rig_start (rig, CAPS), "does not start with auto");
    check_works (rig);
    rig_free (rig);
  }
}

static void
cpu_asks_for_no_gpu (void)
{
  gchar *reason;
  Rig *rig;

  et_gpu_set (&good_gpu);
  rig = rig_new ("backend=cpu");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  check_works (rig);
  T_CHECK (et_gpu_made () == 0, "a GPU was opened");
  T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU, "active-backend");
  reason = rig_stat_string (rig, "fallback-reason");
  T_CHECK (!*reason, "a reason without a fallback: %s", reason);
  g_free (reason);
  rig_no_trouble (rig);
  rig_free (rig);
}

/* ---- a GPU ---------------------------------------------------------------------------------------- */

static void
gpu_is_taken (void)
{
  static const char *const backends[] = { "backend=auto", "backend=cuda" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    SobelCudaOptions options;
    gint notified;
    Rig *rig;

    et_gpu_set (&good_gpu);
    rig = watched_rig (backends[i], &notified);
    rig_set (rig, "cuda-device-id=3 streams=5 strips=7 ring-size=9");
    T_CHECK (et_gpu_made () == 0, "opened in NULL");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    options = et_gpu_options ();
    T_CHECK (options.device_id == 3 && options.streams == 5 && options.strips == 7, "device %d, streams %u, strips %u",
             options.device_id, options.streams, options.strips);
    T_CHECK (rig_stat (rig, "slots") == 9, "%" G_GUINT64_FORMAT " slots", rig_stat (rig, "slots"));
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CUDA && notified == 1, "active-backend");
    check_works (rig);
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Stored, one line in the log each, and of effect from the next READY on. */
static void
ready_properties_wait (void)
{
  static const char *const changes[] = { "ring-size=2", "streams=3", "strips=4", "n-threads=1", "cuda-device-id=1",
                                         "backend=cpu" };
  guint i, ring_size;
  Rig *rig;

  et_gpu_set (&good_gpu);
  rig = rig_new ("backend=cuda");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < G_N_ELEMENTS (changes); i++) {
    et_log_clear ();
    rig_set (rig, changes[i]);
    T_CHECK (et_log_count (GST_LEVEL_WARNING, NULL) == 1, "%u warnings in the log after %s",
             et_log_count (GST_LEVEL_WARNING, NULL), changes[i]);
  }
  et_log_clear ();
  rig_set (rig, "mode=mask gain=2 threshold=0.1");
  T_CHECK (et_log_count (GST_LEVEL_WARNING, NULL) == 0, "the log warns of a harmless change");
  g_object_get (rig->element, "ring-size", &ring_size, NULL);
  T_CHECK (ring_size == 2, "not stored");
  rig_caps (rig, LARGER_CAPS);
  T_CHECK (rig_stat (rig, "slots") == 4 && active (rig) == GST_SOBEL_ACTIVE_BACKEND_CUDA && et_gpu_made () == 1,
           "took effect while playing");
  rig_push_pictures (rig, 0, 3);
  rig_stop (rig);
  rig_start (rig, CAPS);
  T_CHECK (rig_stat (rig, "slots") == 2 && active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU, "no effect after READY");
  rig_free (rig);
}

/* ---- memory is short ------------------------------------------------------------------------------ */

static void
smaller_ring (void)
{
  static const struct
  {
    guint frames; /* of pinned memory that may be had */
    guint slots;
    guint slots_with_input; /* from the first frame on that is copied into pinned memory */
  } trial[] = { { 64, 16, 16 }, { 15, 8, 4 }, { 5, 4, 2 }, { 3, 2, 1 }, { 2, 2, 1 } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    Rig *rig;

    et_context ("%u frames", trial[i].frames);
    et_gpu_set (&good_gpu);
    sobel_pinned_set_cap (trial[i].frames * (FRAME_BYTES + 100));
    rig = rig_new ("backend=cuda ring-size=16");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    T_CHECK (rig_stat (rig, "slots") == trial[i].slots, "%" G_GUINT64_FORMAT " slots", rig_stat (rig, "slots"));
    T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CUDA, "not on the GPU");
    check_works (rig);
    T_CHECK (rig_stat (rig, "slots") == trial[i].slots_with_input, "%" G_GUINT64_FORMAT " slots",
             rig_stat (rig, "slots"));
    T_CHECK (sobel_pinned_bytes () <= sobel_pinned_cap (), "more pinned than allowed");
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

static void
no_room_at_all (void)
{
  static const struct
  {
    const char *properties;
    gboolean works;
  } trial[] = { { "backend=auto ring-size=4", TRUE }, { "backend=cuda ring-size=4", FALSE } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    gchar *text;
    guint messages;
    gint notified;
    Rig *rig;

    et_context ("%s", trial[i].properties);
    et_gpu_set (&good_gpu);
    sobel_pinned_set_cap (100);
    rig = watched_rig (trial[i].properties, &notified);
    T_CHECK (rig_start (rig, CAPS) == trial[i].works, "starts? %d", !trial[i].works);
    if (trial[i].works) {
      T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU && notified == 2, "active-backend, %d notifications",
               notified);
      check_works (rig);
    }
    messages = rig_messages (rig, trial[i].works ? GST_MESSAGE_WARNING : GST_MESSAGE_ERROR, &text);
    /* The caps are refused twice: a sticky event comes again with the first thing that follows. */
    T_CHECK (messages == 1 || (messages == 2 && !trial[i].works), "%u messages: %s", messages, text);
    T_CHECK (strstr (text, G_STRINGIFY (4608)), "the bytes are not named: %s", text);
    g_free (text);
    rig_free (rig);
    et_gpu_check ();
  }
}

static void
fail_first_configure (FakeDevice *fake)
{
  fake_device_fail (fake, FAKE_CALL_CONFIGURE, 1, SOBEL_STATUS_NO_MEMORY);
}

static void
device_memory_is_short (void)
{
  EGpu gpu = good_gpu;
  gchar *text;
  Rig *rig;

  gpu.made = fail_first_configure;
  et_gpu_set (&gpu);
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  T_CHECK (rig_stat (rig, "slots") == 2, "%" G_GUINT64_FORMAT " slots", rig_stat (rig, "slots"));
  check_works (rig);
  rig_no_trouble (rig);
  rig_free (rig);

  rig = rig_new ("backend=cuda ring-size=1");
  T_CHECK (!rig_start (rig, CAPS), "starts without memory");
  T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) == 1, "%s", text);
  g_free (text);
  rig_free (rig);

  rig = rig_new ("backend=auto ring-size=1");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU, "active-backend");
  check_works (rig);
  T_CHECK (rig_messages (rig, GST_MESSAGE_WARNING, &text) == 1, "%s", text);
  g_free (text);
  rig_free (rig);
}

/* The first caps fit, the second do not: what is in flight comes out, then the CPU goes on. */
static void
next_caps_are_too_large (void)
{
  gint notified;
  gchar *text;
  Rig *rig;

  et_gpu_set (&good_gpu);
  rig = watched_rig ("backend=auto ring-size=1", &notified);
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 3);
  fake_device_fail (et_gpu (0), FAKE_CALL_CONFIGURE, 1, SOBEL_STATUS_NO_MEMORY);
  T_CHECK (rig_caps (rig, LARGER_CAPS), "the CPU refuses them, too");
  T_CHECK (active (rig) == GST_SOBEL_ACTIVE_BACKEND_CPU && notified == 2, "active-backend, %d notifications", notified);
  rig_forget (rig);
  check_works (rig);
  T_CHECK (rig_messages (rig, GST_MESSAGE_WARNING, &text) == 1, "%s", text);
  g_free (text);
  T_CHECK (rig_stat (rig, "frames-out") == 9, "something was lost");
  rig_free (rig);
}

/* Caps that are refused do not harm those that were there before. */
static void
back_to_the_old_caps (void)
{
  static const char *const backends[] = { "backend=cuda ring-size=1", "backend=cpu" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    Rig *rig;

    et_context ("%s", backends[i]);
    et_gpu_set (&good_gpu);
    rig = rig_new (backends[i]);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    rig_push_pictures (rig, 0, 2);
    if (i == 0)
      fake_device_fail (et_gpu (0), FAKE_CALL_CONFIGURE, 1, SOBEL_STATUS_NO_MEMORY);
    T_CHECK (!rig_caps (rig, i == 0 ? LARGER_CAPS : "video/x-raw,format=GRAY8,width=2000000000,height=2000"),
             "accepted what does not fit");
    if (i > 0) /* a GPU would try again with the frame, and find memory */
      T_CHECK (rig_push (rig, gst_buffer_new ()) == GST_FLOW_NOT_NEGOTIATED, "a frame of refused caps is taken");
    rig_messages (rig, GST_MESSAGE_ERROR, NULL);
    rig_forget (rig);
    T_CHECK (rig_caps (rig, CAPS), "the old caps are refused");
    check_works (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "auto-takes-the-cpu", auto_takes_the_cpu },
    { "cuda-is-an-error", cuda_is_an_error },
    { "cpu-asks-for-no-gpu", cpu_asks_for_no_gpu },
    { "gpu-is-taken", gpu_is_taken },
    { "ready-properties-wait", ready_properties_wait },
    { "smaller-ring", smaller_ring },
    { "no-room-at-all", no_room_at_all },
    { "device-memory-is-short", device_memory_is_short },
    { "next-caps-are-too-large", next_caps_are_too_large },
    { "back-to-the-old-caps", back_to_the_old_caps },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

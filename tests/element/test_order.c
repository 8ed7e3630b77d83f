/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Serialized events and queries never overtake a frame; nothing is lost at the end, at new caps or at a drain. */
#include "rig.h"

#define CAPS "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"
#define OTHER_CAPS "video/x-raw,format=GRAY8,width=177,height=99,framerate=25/1"

/* A GPU that takes a while: whatever does not wait for it comes first. */
static void
slow_gpu (void)
{
  et_gpu_late (3000, 3000);
}

static void
check_story (Rig *rig, const char *expected)
{
  gchar *story = rig_story (rig);

  T_CHECK (g_str_equal (story, expected), "%s, should be %s", story, expected);
  g_free (story);
}

/* The buffers' numbers count up from `first`. */
static void
check_numbers (Rig *rig, guint first)
{
  GstBuffer *buffer;
  guint i;

  for (i = 0; (buffer = rig_buffer (rig, i, NULL)); i++)
    if (!T_CHECK (GST_BUFFER_OFFSET (buffer) == first + i && GST_BUFFER_PTS (buffer) == (first + i) * 40 * GST_MSECOND,
                  "buffer %u is number %" G_GUINT64_FORMAT, i, GST_BUFFER_OFFSET (buffer)))
      return;
}

static GstEvent *
a_tag (void)
{
  return gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "edges", NULL));
}

static GstEvent *
a_custom (void)
{
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("order"));
}

static void
events_stay_behind_frames (void)
{
  Rig *rig;

  slow_gpu ();
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 3);
  rig_event (rig, a_tag ());
  rig_push_pictures (rig, 3, 1);
  rig_event (rig, gst_event_new_gap (160 * GST_MSECOND, 40 * GST_MSECOND));
  rig_push_pictures (rig, 4, 2);
  rig_event (rig, a_custom ());
  rig_push_pictures (rig, 6, 4);
  rig_segment (rig);
  rig_push_pictures (rig, 10, 2);
  rig_event (rig, gst_event_new_segment_done (GST_FORMAT_TIME, 0));
  rig_push_pictures (rig, 12, 3);
  rig_eos (rig);
  check_story (rig, "scAgbbbtbabbubbbbgbbdbbbe");
  check_numbers (rig, 0);
  rig_no_trouble (rig);
  rig_free (rig);
}

/* After a DRAIN every frame is downstream and no input buffer is held any more. */
static void
queries_stay_behind_frames (void)
{
  GstBuffer *in[3];
  GstQuery *query;
  GstCaps *caps;
  Rig *rig;
  guint i;

  slow_gpu ();
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < 3; i++) {
    in[i] = rig_picture (rig, i);
    rig_push (rig, gst_buffer_ref (in[i]));
  }
  query = gst_query_new_drain ();
  T_CHECK (gst_pad_peer_query (rig->src, query), "DRAIN fails");
  gst_query_unref (query);
  check_story (rig, "scAgbbbD");
  for (i = 0; i < 3; i++) {
    T_CHECK (GST_MINI_OBJECT_REFCOUNT_VALUE (in[i]) == 1, "input %u is held after DRAIN", i);
    gst_buffer_unref (in[i]);
  }

  rig_push_pictures (rig, 3, 3);
  caps = gst_caps_from_string (CAPS);
  query = gst_query_new_allocation (caps, TRUE);
  T_CHECK (gst_pad_peer_query (rig->src, query), "ALLOCATION fails");
  gst_query_unref (query);
  gst_caps_unref (caps);
  T_CHECK (rig_n_buffers (rig) == 6, "an ALLOCATION query overtook frames");

  check_numbers (rig, 0);
  rig_free (rig);
}

static void
new_caps_wait_for_frames_of_the_old (void)
{
  static const gsize size[] = { 64 * 48, 64 * 48, 180 * 99, 180 * 99, 64 * 48 };
  Rig *rig;
  guint i;

  slow_gpu ();
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 2);
  rig_caps (rig, OTHER_CAPS);
  rig_push_pictures (rig, 2, 2);
  rig_caps (rig, CAPS);
  rig_push_pictures (rig, 4, 1);
  rig_eos (rig);
  check_story (rig, "scAgbbcAbbcAbe");
  check_numbers (rig, 0);
  for (i = 0; i < G_N_ELEMENTS (size); i++)
    T_CHECK (gst_buffer_get_size (rig_buffer (rig, i, NULL)) == size[i], "buffer %u has %" G_GSIZE_FORMAT " bytes", i,
             gst_buffer_get_size (rig_buffer (rig, i, NULL)));
  rig_no_trouble (rig);
  rig_free (rig);
}

static void
caps_then_eos (void)
{
  Rig *rig;

  slow_gpu ();
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 2);
  rig_caps (rig, OTHER_CAPS);
  rig_eos (rig);
  check_story (rig, "scAgbbcAe");
  rig_free (rig);
}

static void
eos_loses_nothing (void)
{
  guint ring, n;

  for (ring = 1; ring <= 16; ring += et_factor () > 1 ? 5 : 1) {
    gchar *properties = g_strdup_printf ("backend=cuda ring-size=%u", ring);

    for (n = 0; n <= 2 * ring + 1; n += et_factor () > 1 && n > 2 ? ring : 1) {
      Rig *rig;

      et_context ("ring-size=%u, %u frames", ring, n);
      et_gpu_late (200, 600);
      rig = rig_new (properties);
      T_CHECK (rig_start (rig, CAPS), "does not start");
      T_CHECK (rig_push_pictures (rig, 0, n) == GST_FLOW_OK, "a frame is refused");
      T_CHECK (rig_eos (rig), "EOS is refused");
      T_CHECK (rig_n_buffers (rig) == n, "%u frames come out", rig_n_buffers (rig));
      T_CHECK (GST_EVENT_TYPE (rig_item (rig, rig_n_items (rig) - 1).object) == GST_EVENT_EOS, "no EOS at the end");
      check_numbers (rig, 0);
      T_CHECK (rig_stat (rig, "frames-in") == n && rig_stat (rig, "frames-out") == n &&
                   rig_stat (rig, "in-flight") == 0 && rig_stat (rig, "slots") == ring,
               "the counters say something else");
      rig_free (rig);
      et_gpu_check ();
    }
    g_free (properties);
  }
}

static void
eos_without_anything (void)
{
  Rig *rig = rig_new ("");

  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_eos (rig);
  check_story (rig, "scAge");
  rig_free (rig);

  rig = rig_new ("");
  gst_pad_set_active (rig->sink, TRUE);
  gst_pad_set_active (rig->src, TRUE);
  gst_element_set_state (rig->element, GST_STATE_PLAYING);
  rig_event (rig, gst_event_new_stream_start ("test"));
  rig_eos (rig);
  check_story (rig, "se");
  rig_free (rig);
}

/* What is not serialized does not wait. */
static void
out_of_band_passes_at_once (void)
{
  const EGpu never = { .options = { .finish = FAKE_FINISH_TOLD } };
  gchar *story;
  Rig *rig;

  et_gpu_set (&never);
  rig = rig_new ("backend=cuda ring-size=4");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  rig_push_pictures (rig, 0, 2);
  rig_event (rig, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_OOB, gst_structure_new_empty ("now")));
  story = rig_story (rig);
  T_CHECK (g_str_equal (story, "scAg?"), "%s", story);
  g_free (story);
  fake_device_finish_all (et_gpu (0));
  rig_wait (rig, 2);
  rig_free (rig);
}

/* Every frame's pixels, time and metas belong together, also where frames finish out of order. */
static void
frames_keep_their_order (void)
{
  const guint n = et_times (400);
  Rig *rig;
  guint i;

  et_gpu_late (100, 2000);
  rig = rig_new ("backend=cuda ring-size=16 bypass=false");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < n; i++) {
    /* A frame that passes takes no time at all, and has to wait for its turn all the same. */
    g_object_set (rig->element, "bypass", i % 3 == 0, NULL);
    rig_push_pictures (rig, i, 1);
  }
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == n, "%u of %u frames", rig_n_buffers (rig), n);
  check_numbers (rig, 0);
  rig_free (rig);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "events-stay-behind-frames", events_stay_behind_frames },
    { "queries-stay-behind-frames", queries_stay_behind_frames },
    { "new-caps-wait", new_caps_wait_for_frames_of_the_old },
    { "caps-then-eos", caps_then_eos },
    { "eos-loses-nothing", eos_loses_nothing },
    { "eos-without-anything", eos_without_anything },
    { "out-of-band-passes-at-once", out_of_band_passes_at_once },
    { "frames-keep-their-order", frames_keep_their_order },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

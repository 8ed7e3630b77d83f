/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What downstream says about frames reaches upstream, though they are pushed by another thread. */
#include "rig.h"

#define CAPS "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"

static const char *const backends[] = { "backend=cpu", "backend=cuda ring-size=1", "backend=cuda ring-size=4",
                                        "backend=cuda ring-size=16" };

/* What the push says that is refused. At most all frames in flight, one being pushed and one that was submitted before
 * can be accepted after downstream said no. */
static GstFlowReturn
push_until_refused (Rig *rig, guint first)
{
  GstFlowReturn flow = GST_FLOW_OK;
  guint i, n = 0;

  for (i = 0; i < 18 && flow == GST_FLOW_OK; i++, n++)
    flow = rig_push_pictures (rig, first + i, 1);
  return flow;
}

/* Until downstream has seen all that was pushed. */
static void
let_all_leave (Rig *rig)
{
  while (rig_stat (rig, "in-flight") > 0)
    g_usleep (500);
}

static void
reaches_upstream (void)
{
  static const GstFlowReturn said[] = { GST_FLOW_EOS, GST_FLOW_NOT_LINKED, GST_FLOW_ERROR, GST_FLOW_NOT_NEGOTIATED,
                                        GST_FLOW_FLUSHING, GST_FLOW_CUSTOM_ERROR_2 };
  guint i, j;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    for (j = 0; j < G_N_ELEMENTS (said); j++) {
      GstFlowReturn flow;
      Rig *rig;

      et_context ("%s, %s", backends[i], gst_flow_get_name (said[j]));
      et_gpu_late (500, 500);
      rig = rig_new (backends[i]);
      T_CHECK (rig_start (rig, CAPS), "does not start");
      T_CHECK (rig_push_pictures (rig, 0, 3) == GST_FLOW_OK, "refused");
      rig_wait (rig, 3);
      g_atomic_int_set (&rig->flow, said[j]);
      flow = push_until_refused (rig, 3);
      T_CHECK (flow == said[j], "upstream hears %s", gst_flow_get_name (flow));
      T_CHECK (rig_push_pictures (rig, 50, 1) == said[j], "forgotten by the next push");
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* Downstream refuses frame number `refused`, from 1, and no other. */
static guint refused;
static GstFlowReturn answer;

static GstFlowReturn
refuse_one (Rig *rig, GstBuffer *buffer)
{
  return rig_n_buffers (rig) + 1 == refused ? answer : GST_FLOW_OK;
}

/* What downstream said last holds until it takes a frame, and upstream may have heard before it pushed another one. */
static void
let_one_be_taken (Rig *rig)
{
  if (rig_n_buffers (rig) == refused) {
    rig_push_pictures (rig, 40, 1);
    let_all_leave (rig);
  }
}

/* Those behind it were in flight already, and are taken. */
static void
one_refused_among_many (void)
{
  static const GstFlowReturn said[] = { GST_FLOW_EOS, GST_FLOW_NOT_LINKED, GST_FLOW_ERROR, GST_FLOW_NOT_NEGOTIATED,
                                        GST_FLOW_FLUSHING, GST_FLOW_CUSTOM_ERROR_2, GST_FLOW_CUSTOM_SUCCESS_1 };
  guint i, j;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    for (j = 0; j < G_N_ELEMENTS (said); j++) {
      for (refused = 1; refused < 6; refused++) {
        GstFlowReturn flow;
        Rig *rig;

        et_context ("%s, %s to frame %u", backends[i], gst_flow_get_name (said[j]), refused);
        et_gpu_late (200, 200);
        rig = rig_new (backends[i]);
        answer = said[j];
        rig->arrive = refuse_one;
        T_CHECK (rig_start (rig, CAPS), "does not start");
        flow = rig_push_pictures (rig, 0, 6);
        let_all_leave (rig);
        if (flow == GST_FLOW_OK)
          flow = rig_push_pictures (rig, 6, 1);
        T_CHECK (flow == said[j], "upstream hears %s", gst_flow_get_name (flow));
        let_one_be_taken (rig);
        T_CHECK (rig_push_pictures (rig, 50, 5) == GST_FLOW_OK, "told twice");
        rig_eos (rig);
        rig_no_trouble (rig);
        rig_free (rig);
        et_gpu_check ();
      }
    }
  }
}

/* No buffer follows the last one: what downstream said to it must not be lost. */
static void
last_frame_before_eos (void)
{
  static const struct
  {
    GstFlowReturn said;
    gboolean is_error;
  } trial[] = { { GST_FLOW_OK, FALSE },      { GST_FLOW_EOS, FALSE },   { GST_FLOW_FLUSHING, FALSE },
                { GST_FLOW_NOT_LINKED, TRUE }, { GST_FLOW_ERROR, TRUE }, { GST_FLOW_NOT_NEGOTIATED, TRUE } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    gchar *text;
    guint errors;
    Rig *rig;

    et_context ("%s", gst_flow_get_name (trial[i].said));
    et_gpu_fake_late (100000, 0); /* longer than the push takes on a slow machine */
    rig = rig_new ("backend=cuda");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    g_atomic_int_set (&rig->flow, trial[i].said);
    T_CHECK (rig_push_pictures (rig, 0, 1) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    errors = rig_messages (rig, GST_MESSAGE_ERROR, &text);
    T_CHECK (errors == (trial[i].is_error ? 1 : 0), "%u errors: %s", errors, text);
    g_free (text);
    rig_free (rig);
  }
}

/* Downstream said EOS because a segment ended; another one may follow without a flush. */
static void
eos_ends_with_the_segment (void)
{
  guint i;

  for (i = 0; i < 2; i++) {
    Rig *rig;

    et_gpu_late (500, 500);
    rig = rig_new ("backend=cuda");
    T_CHECK (rig_start (rig, CAPS), "does not start");
    g_atomic_int_set (&rig->flow, GST_FLOW_EOS);
    T_CHECK (push_until_refused (rig, 0) == GST_FLOW_EOS, "upstream does not hear EOS");
    let_all_leave (rig);
    g_atomic_int_set (&rig->flow, GST_FLOW_OK);
    if (i == 0)
      rig_segment (rig);
    else
      rig_event (rig, gst_event_new_stream_start ("another"));
    T_CHECK (rig_push_pictures (rig, 100, 4) == GST_FLOW_OK, "EOS of the segment before is still told");
    rig_no_trouble (rig);
    rig_free (rig);
  }
}

/* A pad that was not linked is, now: downstream says so by asking for a new negotiation. */
static void
not_linked_ends_with_a_link (void)
{
  GstPad *src;
  Rig *rig;

  et_gpu_late (500, 500);
  rig = rig_new ("backend=cuda");
  src = gst_element_get_static_pad (rig->element, "src");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  T_CHECK (rig_push_pictures (rig, 0, 2) == GST_FLOW_OK, "refused");
  rig_wait (rig, 2);
  gst_pad_unlink (src, rig->sink);
  T_CHECK (push_until_refused (rig, 2) == GST_FLOW_NOT_LINKED, "upstream does not hear NOT_LINKED");
  let_all_leave (rig);
  gst_pad_link (src, rig->sink);
  gst_object_unref (src);
  rig_forget (rig);
  T_CHECK (rig_push_pictures (rig, 100, 4) == GST_FLOW_OK, "NOT_LINKED of before is still told");
  rig_wait (rig, 4);
  T_CHECK (GST_BUFFER_OFFSET (rig_buffer (rig, 0, NULL)) == 100, "a frame from before the link");
  rig_free (rig);
}

/* Frames that a downstream refuses are no leak, and a flush makes all good. */
static void
flush_makes_good (void)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    Rig *rig;

    et_context ("%s", backends[i]);
    et_gpu_late (500, 500);
    rig = rig_new (backends[i]);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    g_atomic_int_set (&rig->flow, GST_FLOW_ERROR);
    T_CHECK (push_until_refused (rig, 0) == GST_FLOW_ERROR, "upstream does not hear ERROR");
    g_atomic_int_set (&rig->flow, GST_FLOW_OK);
    rig_flush (rig);
    T_CHECK (rig_push_pictures (rig, 100, 3) == GST_FLOW_OK, "refused after the flush");
    rig_eos (rig);
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "reaches-upstream", reaches_upstream },
    { "one-refused-among-many", one_refused_among_many },
    { "last-frame-before-eos", last_frame_before_eos },
    { "eos-ends-with-the-segment", eos_ends_with_the_segment },
    { "not-linked-ends-with-a-link", not_linked_ends_with_a_link },
    { "flush-makes-good", flush_makes_good },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

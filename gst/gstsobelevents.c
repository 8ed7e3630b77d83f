/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What comes along with frames, and what is asked: events wait for the frames before them, or flush them. */

#include "gstcudasobel.h"

#include "gstsobelcaps.h"
#include "gstsobelcudacaps.h"

/* ---- events --------------------------------------------------------------------------------------- */

static gboolean
flush_start (GstCudaSobel *self, GstEvent *event)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);
  gboolean result;

  gst_cuda_sobel_gate_set_flushing (self, TRUE);
  result = gst_cuda_sobel_base_class ()->sink_event (trans, event);
  /* Downstream lets go of the task's buffer now; wait for the task to be out of it. */
  g_rec_mutex_lock (&self->gate);
  gst_cuda_sobel_gate_hold (self);
  g_rec_mutex_unlock (&self->gate);
  return result;
}

static gboolean
flush_stop (GstCudaSobel *self, GstEvent *event)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);
  gboolean result;

  g_rec_mutex_lock (&self->gate);
  if (self->ring) {
    /* Again: a FLUSH_STOP may come alone. */
    gst_cuda_sobel_gate_hold (self);
    sobel_ring_clear (self->ring);
  }
  result = gst_cuda_sobel_base_class ()->sink_event (trans, event);
  if (self->ring) {
    gst_cuda_sobel_output_forget_flow (self, GST_FLOW_OK);
    self->discont = self->output_discont = FALSE;
    gst_cuda_sobel_gate_open (self);
  }
  g_rec_mutex_unlock (&self->gate);
  return result;
}

gboolean
gst_cuda_sobel_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_START:
      return flush_start (self, event);
    case GST_EVENT_FLUSH_STOP:
      return flush_stop (self, event);
    default:
      break;
  }
  if (GST_EVENT_IS_SERIALIZED (event))
    gst_cuda_sobel_stream_drain_for_link (self);
  /* Downstream's EOS was that of the segment before. */
  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START || GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    gst_cuda_sobel_output_forget_flow (self, GST_FLOW_EOS);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    /* No buffer will follow that could take the last frame's fate upstream. */
    const GstFlowReturn flow = gst_cuda_sobel_output_flow (self);

    if (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS)
      GST_ELEMENT_FLOW_ERROR (self, flow);
  }
  return gst_cuda_sobel_base_class ()->sink_event (trans, event);
}

/* The base class's function can only say no, which counts as an error upstream, also where a pad is being shut down. */
GstFlowReturn
gst_cuda_sobel_sink_event_full (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (parent);
  const gboolean is_caps = GST_EVENT_TYPE (event) == GST_EVENT_CAPS;

  if (self->sink_event (pad, parent, event))
    return GST_FLOW_OK;
  if (GST_PAD_IS_FLUSHING (pad) || GST_PAD_IS_FLUSHING (GST_BASE_TRANSFORM_SRC_PAD (self)))
    return GST_FLOW_FLUSHING;
  return is_caps ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_ERROR;
}

/* ---- latency -------------------------------------------------------------------------------------- */

/* What the ring adds to a pipeline's maximum latency; NONE if frames have no duration. */
static GstClockTime
ring_delay (GstCudaSobel *self)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER_CAST (self)->in_info;

  if (!GST_VIDEO_FILTER_CAST (self)->negotiated || info->fps_n <= 0 || info->fps_d <= 0)
    return GST_CLOCK_TIME_NONE;
  return gst_util_uint64_scale (GST_SECOND * self->max_slots, info->fps_d, info->fps_n);
}

void
gst_cuda_sobel_report_delay (GstCudaSobel *self)
{
  const GstClockTime delay = ring_delay (self);
  gboolean changed;

  /* Queries come from any thread. */
  GST_OBJECT_LOCK (self);
  changed = self->reported_delay != delay;
  self->reported_delay = delay;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    gst_element_post_message (GST_ELEMENT_CAST (self), gst_message_new_latency (GST_OBJECT_CAST (self)));
}

static gboolean
query_latency (GstCudaSobel *self, GstQuery *query)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);
  GstClockTime min, max, delay;
  gboolean live;

  if (!gst_pad_peer_query (trans->sinkpad, query))
    return FALSE;
  gst_query_parse_latency (query, &live, &min, &max);
  GST_OBJECT_LOCK (self);
  delay = self->reported_delay;
  GST_OBJECT_UNLOCK (self);
  /* A frame never waits for another one, so the minimum stays; the ring can hold some, so the maximum grows. */
  if (GST_CLOCK_TIME_IS_VALID (max) && GST_CLOCK_TIME_IS_VALID (delay))
    max = delay < GST_CLOCK_TIME_NONE - max ? max + delay : GST_CLOCK_TIME_NONE;
  gst_query_set_latency (query, live, min, max);
  return TRUE;
}

/* ---- queries -------------------------------------------------------------------------------------- */

/* The base class answers with the template alone where there is no peer. */
static gboolean
query_caps (GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstCaps *caps = NULL;

  if (!gst_cuda_sobel_base_class ()->query (trans, direction, query))
    return FALSE;
  gst_query_parse_caps_result (query, &caps);
  if (!caps)
    return TRUE;
  caps = gst_sobel_caps_relax (gst_caps_ref (caps));
  if (!gst_sobel_cuda_is_allowed (GST_CUDA_SOBEL (trans)))
    caps = gst_sobel_cuda_caps_remove (caps);
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return TRUE;
}

gboolean
gst_cuda_sobel_query (GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);

  if (direction == GST_PAD_SINK && GST_QUERY_IS_SERIALIZED (query))
    gst_cuda_sobel_stream_drain (self);
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    return query_latency (self, query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT && gst_sobel_cuda_answer_context (self, query))
    return TRUE;
  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS)
    return query_caps (trans, direction, query);
  return gst_cuda_sobel_base_class ()->query (trans, direction, query);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudasobel
 * @title: cudasobel
 * @short_description: Edges of video frames, computed on an NVIDIA GPU or the CPU
 *
 * Turns each frame to gray, takes its Sobel (Scharr, Prewitt) gradient and shows the edges: bright on black,
 * painted over the picture, as a mask, or coloured by direction. The numbers are exact and the same on every
 * GPU and CPU: edge = floor (gain * sqrt (gx^2 + gy^2)), at most white; see docs/numbers.md.
 *
 * Frames travel through a ring of pinned buffers on alternating CUDA streams, so that upload, computation and
 * download of consecutive frames overlap. A frame leaves as soon as its own work is done.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! queue leaky=downstream max-size-buffers=1 ! \
 *   cudasobel mode=overlay ! videoconvert ! autovideosink
 * ]| Paints the edges of a camera's picture in red.
 *
 * Since: 0.1
 */

#include "gstcudasobel.h"

#include "gstsobelcaps.h"
#include "gstsobelcudacaps.h"
#include "gstsobelproperties.h"

GST_DEBUG_CATEGORY (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

G_DEFINE_TYPE_WITH_CODE (GstCudaSobel, gst_cuda_sobel, GST_TYPE_VIDEO_FILTER,
                         G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, gst_sobel_preset_interface_init))
GST_ELEMENT_REGISTER_DEFINE_WITH_CODE (cudasobel, "cudasobel", GST_RANK_NONE, GST_TYPE_CUDA_SOBEL,
                                       GST_DEBUG_CATEGORY_INIT (gst_cuda_sobel_debug, "cudasobel", 0,
                                                                "Sobel edges on GPU or CPU"))

GstBaseTransformClass *
gst_cuda_sobel_base_class (void)
{
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class);
}

/* ---- negotiation ---------------------------------------------------------------------------------- */

static GstCaps *
gst_cuda_sobel_transform_caps (GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  return gst_sobel_caps_transform (direction, caps, filter, gst_sobel_cuda_is_allowed (GST_CUDA_SOBEL (trans)));
}

static GstCaps *
gst_cuda_sobel_fixate_caps (GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps, GstCaps *othercaps)
{
  return gst_sobel_caps_fixate (direction, caps, othercaps);
}

static gboolean
gst_cuda_sobel_set_info (GstVideoFilter *filter, GstCaps *incaps, GstVideoInfo *in_info, GstCaps *outcaps,
                         GstVideoInfo *out_info)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (filter);
  SobelError error;

  /* Also reached by a RECONFIGURE from downstream, which no event announces: frames in flight leave under the
   * caps that they were made for. */
  gst_cuda_sobel_stream_drain (self);
  if (!self->ring)
    return FALSE;
  if (sobel_ring_in_flight (self->ring) > 0) {
    GST_DEBUG_OBJECT (self, "flushing, no new caps now");
    return FALSE;
  }
  self->configured = FALSE;
  gst_cuda_sobel_close_outputs (self);
  gst_cuda_sobel_close_pool (&self->staging_pool);
  self->cuda.in = gst_sobel_caps_are_cuda (incaps, 0);
  self->cuda.out = gst_sobel_caps_are_cuda (outcaps, 0);
  if (self->cuda.out && !gst_sobel_cuda_ensure_context (self)) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND, ("There is no CUDA context for video in GPU memory."), (NULL));
    return FALSE;
  }
  if (!gst_sobel_config_from_info (&self->config, in_info, out_info, &error)) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("This video cannot be filtered here."), ("%s", error.message));
    return FALSE;
  }
  if (!gst_cuda_sobel_configure (self, outcaps))
    return FALSE;
  self->configured = TRUE;
  GST_INFO_OBJECT (self, "%s %dx%d to %s, %u slots", self->config.in->name, self->config.width, self->config.height,
                   self->config.out->name, sobel_ring_n_slots (self->ring));
  return TRUE;
}

static gboolean
gst_cuda_sobel_set_caps (GstBaseTransform *trans, GstCaps *incaps, GstCaps *outcaps)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, incaps) || !gst_video_info_from_caps (&info, outcaps)) {
    gint width = 0, height = 0;

    gst_structure_get (gst_caps_get_structure (incaps, 0), "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height,
                       NULL);
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("Video of %dx%d pixels cannot be handled.", width, height),
                       ("no frame can be described by %" GST_PTR_FORMAT, incaps));
    return FALSE;
  }
  if (!GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->set_caps (trans, incaps, outcaps))
    return FALSE;
  /* The video filter class takes the lack of a transform_frame for working in place. */
  gst_base_transform_set_in_place (trans, FALSE);

  gst_cuda_sobel_report_delay (self);
  return TRUE;
}

/* ---- frames --------------------------------------------------------------------------------------- */

static void
gst_cuda_sobel_before_transform (GstBaseTransform *trans, GstBuffer *buffer)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  GstClockTime time = GST_CLOCK_TIME_NONE;

  self->arrival = (GstClockTime) g_get_monotonic_time () * 1000;
  gst_sobel_stats_add (&self->stats, &self->stats.frames_in, 1);
  /* A raw file's segment counts bytes. */
  if (trans->segment.format == GST_FORMAT_TIME)
    time = gst_segment_to_stream_time (&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_object_sync_values (GST_OBJECT_CAST (self), time);
}

static GstFlowReturn
gst_cuda_sobel_submit_input_buffer (GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  GstFlowReturn flow;

  /* The base class may negotiate anew now, with this thread: nothing of the old caps may be pushed after. */
  if (GST_PAD_NEEDS_RECONFIGURE (trans->srcpad))
    gst_cuda_sobel_stream_drain_for_link (self);
  flow = gst_sobel_cuda_follow (self, input);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (input);
    return flow;
  }
  flow = GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->submit_input_buffer (trans, is_discont, input);
  /* The ring flushes a little before the source pad does. */
  if (flow == GST_FLOW_NOT_NEGOTIATED && GST_PAD_IS_FLUSHING (trans->sinkpad))
    flow = GST_FLOW_FLUSHING;
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED) {
    gst_sobel_stats_add (&self->stats, &self->stats.qos_dropped, 1);
    self->discont = TRUE;
  }
  return flow;
}

static GstFlowReturn
gst_cuda_sobel_generate_output (GstBaseTransform *trans, GstBuffer **outbuf)
{
  GstBuffer *buffer = g_steal_pointer (&trans->queued_buf);
  GstClockTime end;

  *outbuf = NULL; /* the output task pushes */
  if (!buffer)
    return GST_FLOW_OK;
  end = GST_BUFFER_PTS (buffer);
  if (GST_CLOCK_TIME_IS_VALID (end) && trans->segment.format == GST_FORMAT_TIME) {
    if (GST_BUFFER_DURATION_IS_VALID (buffer))
      end += GST_BUFFER_DURATION (buffer);
    trans->segment.position = end;
  }
  return gst_cuda_sobel_stream_submit (GST_CUDA_SOBEL (trans), buffer);
}

static gboolean
gst_cuda_sobel_transform_meta (GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  /* All but what describes the input's memory. The base class has sorted out the tag "memory". */
  static GQuark memory_reference = 0;

  if (!memory_reference)
    memory_reference = g_quark_from_static_string (GST_META_TAG_MEMORY_REFERENCE_STR);
  return !gst_meta_api_type_has_tag (meta->info->api, memory_reference);
}

/* ---- states --------------------------------------------------------------------------------------- */

static void
gst_cuda_sobel_set_context (GstElement *element, GstContext *context)
{
  gst_sobel_cuda_set_context (GST_CUDA_SOBEL (element), context);
  GST_ELEMENT_CLASS (gst_cuda_sobel_parent_class)->set_context (element, context);
}

static GstStateChangeReturn
gst_cuda_sobel_change_state (GstElement *element, GstStateChange transition)
{
  GstStateChangeReturn result;

  if (transition == GST_STATE_CHANGE_NULL_TO_READY)
    gst_sobel_cuda_probe (GST_CUDA_SOBEL (element));
  result = GST_ELEMENT_CLASS (gst_cuda_sobel_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    gst_sobel_cuda_forget (GST_CUDA_SOBEL (element));
  return result;
}

/* ---- object --------------------------------------------------------------------------------------- */

static void
gst_cuda_sobel_finalize (GObject *object)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (object);

  gst_clear_object (&self->cuda.context); /* given in READY, and never started */
  gst_clear_object (&self->allocator);
  g_free (self->fallback_reason);
  gst_sobel_stats_clear (&self->stats);
  g_mutex_clear (&self->ring_lock);
  g_rec_mutex_clear (&self->gate);
  G_OBJECT_CLASS (gst_cuda_sobel_parent_class)->finalize (object);
}

static void
gst_cuda_sobel_init (GstCudaSobel *self)
{
  GstPad *src = GST_BASE_TRANSFORM_SRC_PAD (self);

  gst_sobel_properties_init (self);
  g_mutex_init (&self->ring_lock);
  g_rec_mutex_init (&self->gate);
  gst_sobel_stats_init (&self->stats);
  self->allocator = gst_sobel_allocator_new ();
  self->reported_delay = GST_CLOCK_TIME_NONE;
  self->sink_event = GST_PAD_EVENTFUNC (GST_BASE_TRANSFORM_SINK_PAD (self));
  gst_pad_set_event_full_function (GST_BASE_TRANSFORM_SINK_PAD (self), gst_cuda_sobel_sink_event_full);
  self->src_activate_mode = GST_PAD_ACTIVATEMODEFUNC (src);
  gst_pad_set_activatemode_function (src, gst_cuda_sobel_gate_activate_mode);
}

static void
gst_cuda_sobel_class_init (GstCudaSobelClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstCaps *caps = gst_sobel_caps_template ();

  object_class->finalize = gst_cuda_sobel_finalize;
  gst_sobel_properties_install (object_class);

  element_class->set_context = GST_DEBUG_FUNCPTR (gst_cuda_sobel_set_context);
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_cuda_sobel_change_state);
  gst_element_class_set_static_metadata (element_class, "Sobel edge filter (CUDA or CPU)", "Filter/Effect/Video",
                                         "Shows the edges of video frames: alone, painted over the picture, as a mask "
                                         "or by direction; on an NVIDIA GPU where there is one, else on the CPU",
                                         "The gst-cuda-sobel developers");
  gst_element_class_add_pad_template (element_class, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element_class, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);

  trans_class->passthrough_on_same_caps = FALSE;
  trans_class->transform_caps = GST_DEBUG_FUNCPTR (gst_cuda_sobel_transform_caps);
  trans_class->fixate_caps = GST_DEBUG_FUNCPTR (gst_cuda_sobel_fixate_caps);
  trans_class->set_caps = GST_DEBUG_FUNCPTR (gst_cuda_sobel_set_caps);
  trans_class->decide_allocation = GST_DEBUG_FUNCPTR (gst_cuda_sobel_decide_allocation);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR (gst_cuda_sobel_propose_allocation);
  trans_class->before_transform = GST_DEBUG_FUNCPTR (gst_cuda_sobel_before_transform);
  trans_class->submit_input_buffer = GST_DEBUG_FUNCPTR (gst_cuda_sobel_submit_input_buffer);
  trans_class->generate_output = GST_DEBUG_FUNCPTR (gst_cuda_sobel_generate_output);
  trans_class->transform_meta = GST_DEBUG_FUNCPTR (gst_cuda_sobel_transform_meta);
  trans_class->sink_event = GST_DEBUG_FUNCPTR (gst_cuda_sobel_sink_event);
  trans_class->query = GST_DEBUG_FUNCPTR (gst_cuda_sobel_query);
  trans_class->start = GST_DEBUG_FUNCPTR (gst_cuda_sobel_start);
  trans_class->stop = GST_DEBUG_FUNCPTR (gst_cuda_sobel_stop);
  GST_VIDEO_FILTER_CLASS (klass)->set_info = GST_DEBUG_FUNCPTR (gst_cuda_sobel_set_info);
}

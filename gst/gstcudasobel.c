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

/* A GPU that has not finished a frame after this long is given up, ns. A frame takes milliseconds. */
#define GIVE_UP_NS (5 * G_GUINT64_CONSTANT (1000000000))
static guint64 give_up_ns = GIVE_UP_NS;

G_DEFINE_TYPE_WITH_CODE (GstCudaSobel, gst_cuda_sobel, GST_TYPE_VIDEO_FILTER,
                         G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, gst_sobel_preset_interface_init))
GST_ELEMENT_REGISTER_DEFINE_WITH_CODE (cudasobel, "cudasobel", GST_RANK_NONE, GST_TYPE_CUDA_SOBEL,
                                       GST_DEBUG_CATEGORY_INIT (gst_cuda_sobel_debug, "cudasobel", 0,
                                                                "Sobel edges on GPU or CPU"))

void
gst_cuda_sobel_set_give_up (guint64 ns)
{
  give_up_ns = ns ? ns : GIVE_UP_NS;
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

/* What the ring adds to a pipeline's maximum latency; NONE if frames have no duration. */
static GstClockTime
ring_delay (GstCudaSobel *self)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER_CAST (self)->in_info;

  if (!GST_VIDEO_FILTER_CAST (self)->negotiated || info->fps_n <= 0 || info->fps_d <= 0)
    return GST_CLOCK_TIME_NONE;
  return gst_util_uint64_scale (GST_SECOND * self->max_slots, info->fps_d, info->fps_n);
}

/* TRUE if that is a change. Queries come from any thread. */
static gboolean
set_delay (GstCudaSobel *self, GstClockTime delay)
{
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = self->reported_delay != delay;
  self->reported_delay = delay;
  GST_OBJECT_UNLOCK (self);
  return changed;
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

  if (set_delay (self, ring_delay (self)))
    gst_element_post_message (GST_ELEMENT_CAST (self), gst_message_new_latency (GST_OBJECT_CAST (self)));
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

/* Waits for the frames in flight. A link asks for a new negotiation: what was said before it counts no longer. */
static void
drain_and_forget_not_linked (GstCudaSobel *self)
{
  const gboolean asked = GST_PAD_NEEDS_RECONFIGURE (GST_BASE_TRANSFORM_SRC_PAD (self));

  gst_cuda_sobel_stream_drain (self);
  if (asked)
    gst_cuda_sobel_stream_forget_flow (self, GST_FLOW_NOT_LINKED);
}

static GstFlowReturn
gst_cuda_sobel_submit_input_buffer (GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  GstFlowReturn flow;

  /* The base class may negotiate anew now, with this thread: nothing of the old caps may be pushed after. */
  if (GST_PAD_NEEDS_RECONFIGURE (trans->srcpad))
    drain_and_forget_not_linked (self);
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

/* ---- events and queries --------------------------------------------------------------------------- */

static gboolean
flush_start (GstCudaSobel *self, GstEvent *event)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);
  gboolean result;

  gst_cuda_sobel_gate_set_flushing (self, TRUE);
  result = GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->sink_event (trans, event);
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
  result = GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->sink_event (trans, event);
  if (self->ring) {
    gst_cuda_sobel_stream_forget_flow (self, GST_FLOW_OK);
    self->discont = self->output_discont = FALSE;
    gst_cuda_sobel_gate_open (self);
  }
  g_rec_mutex_unlock (&self->gate);
  return result;
}

static gboolean
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
    drain_and_forget_not_linked (self);
  /* Downstream's EOS was that of the segment before. */
  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START || GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    gst_cuda_sobel_stream_forget_flow (self, GST_FLOW_EOS);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    /* No buffer will follow that could take the last frame's fate upstream. */
    const GstFlowReturn flow = gst_cuda_sobel_stream_flow (self);

    if (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS)
      GST_ELEMENT_FLOW_ERROR (self, flow);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->sink_event (trans, event);
}

/* The base class's function can only say no, which counts as an error upstream, also where a pad is being shut down. */
static GstFlowReturn
sink_event_full (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (parent);
  const gboolean is_caps = GST_EVENT_TYPE (event) == GST_EVENT_CAPS;

  if (self->sink_event (pad, parent, event))
    return GST_FLOW_OK;
  if (GST_PAD_IS_FLUSHING (pad) || GST_PAD_IS_FLUSHING (GST_BASE_TRANSFORM_SRC_PAD (self)))
    return GST_FLOW_FLUSHING;
  return is_caps ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_ERROR;
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

/* The base class answers with the template alone where there is no peer. */
static gboolean
query_caps (GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstCaps *caps = NULL;

  if (!GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->query (trans, direction, query))
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

static gboolean
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
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_sobel_parent_class)->query (trans, direction, query);
}

/* ---- start and stop ------------------------------------------------------------------------------- */

static gboolean
open_devices (GstCudaSobel *self, const GstSobelBackendOptions *options, GstSobelDevices *devices)
{
  SobelError error = { SOBEL_STATUS_OK, "" };
  const SobelStatus status = gst_sobel_backend_open (options, devices, &error);

  if (status == SOBEL_STATUS_BAD_DEVICE_ID) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND, ("There is no GPU number %d.", options->cuda.device_id),
                       ("%s", error.message));
    return FALSE;
  }
  if (status != SOBEL_STATUS_OK && options->backend != GST_SOBEL_BACKEND_CUDA) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is not enough memory to filter video."),
                       ("%s: %s", sobel_status_name (status), error.message));
    return FALSE;
  }
  if (status != SOBEL_STATUS_OK) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
                       ("No usable NVIDIA GPU; backend=auto or backend=cpu works without one."),
                       ("%s: %s", sobel_status_name (status), error.message));
    return FALSE;
  }
  if (devices->reason.status == SOBEL_STATUS_BAD_DEVICE_ID)
    GST_ELEMENT_WARNING (self, RESOURCE, NOT_FOUND,
                         ("There is no GPU number %d; frames are computed on the CPU.", options->cuda.device_id),
                         ("%s", devices->reason.message));
  else if (devices->reason.status == SOBEL_STATUS_NO_MEMORY)
    GST_ELEMENT_WARNING (self, RESOURCE, NO_SPACE_LEFT, ("The GPU is full; frames are computed on the CPU."),
                         ("%s", devices->reason.message));
  else if (devices->reason.status != SOBEL_STATUS_OK)
    GST_INFO_OBJECT (self, "computing on the CPU: %s", devices->reason.message);
  return TRUE;
}

static gboolean
gst_cuda_sobel_start (GstBaseTransform *trans)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  SobelRingOptions ring_options = { 0 };
  GstSobelBackendOptions options;
  GstSobelDevices devices;
  SobelRing *ring;

  GST_OBJECT_LOCK (self);
  options = self->options;
  self->max_slots = self->ring_size;
  GST_OBJECT_UNLOCK (self);

  if (options.backend != GST_SOBEL_BACKEND_CPU)
    gst_sobel_cuda_start (self, &options.cuda);
  if (!open_devices (self, &options, &devices)) {
    gst_sobel_cuda_stop (self);
    return FALSE;
  }
  ring_options.device = devices.device;
  ring_options.fallback = devices.fallback;
  ring_options.give_up_ns = give_up_ns;
  gst_cuda_sobel_stream_ring_options (self, &ring_options);
  ring = sobel_ring_new (&ring_options);
  if (!ring) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is not enough memory to filter video."),
                       ("no memory for the frame ring"));
    gst_sobel_cuda_stop (self);
    return FALSE;
  }
  gst_sobel_cuda_attach (self, devices.device);
  gst_cuda_sobel_set_fallback_reason (self, devices.reason.status != SOBEL_STATUS_OK ? devices.reason.message : NULL);
  gst_cuda_sobel_set_active_backend (self, devices.active);
  /* The pads are active already: a FLUSH_STOP may come. */
  GST_PAD_STREAM_LOCK (trans->sinkpad);
  g_rec_mutex_lock (&self->gate);
  gst_sobel_allocator_set_device (self->allocator,
                                  sobel_device_is_asynchronous (devices.device) ? devices.device : NULL);
  gst_sobel_stats_reset (&self->stats);
  self->copier = gst_sobel_copier_new ();
  gst_cuda_sobel_stream_forget_flow (self, GST_FLOW_OK);
  self->discont = self->output_discont = FALSE;
  self->configured = FALSE;
  self->next_warning = 0;
  set_delay (self, GST_CLOCK_TIME_NONE);
  g_mutex_lock (&self->ring_lock);
  self->ring = ring;
  g_mutex_unlock (&self->ring_lock);
  gst_cuda_sobel_gate_open (self);
  g_rec_mutex_unlock (&self->gate);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  return TRUE;
}

static gboolean
gst_cuda_sobel_stop (GstBaseTransform *trans)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  SobelRing *ring;

  /* A FLUSH_STOP or a query that was let in before the pad was shut may still be at work. */
  GST_PAD_STREAM_LOCK (trans->sinkpad);
  g_rec_mutex_lock (&self->gate);
  /* The source pad may still be active, where an application shuts the other one alone. */
  gst_cuda_sobel_gate_set_flushing (self, TRUE);
  gst_pad_stop_task (trans->srcpad);
  g_mutex_lock (&self->ring_lock);
  ring = g_steal_pointer (&self->ring);
  g_mutex_unlock (&self->ring_lock);
  sobel_ring_clear (ring);
  gst_cuda_sobel_set_downstream_pool (self, NULL);
  gst_cuda_sobel_close_outputs (self);
  gst_cuda_sobel_close_pool (&self->staging_pool);
  g_clear_pointer (&self->copier, gst_sobel_copier_free);
  gst_sobel_allocator_set_device (self->allocator, NULL);
  sobel_ring_free (ring);
  gst_sobel_cuda_stop (self);
  g_rec_mutex_unlock (&self->gate);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  /* A GPU given up earlier may have come to rest since. */
  sobel_device_reap ();
  gst_cuda_sobel_set_active_backend (self, GST_SOBEL_ACTIVE_BACKEND_NONE);
  return TRUE;
}

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
  gst_pad_set_event_full_function (GST_BASE_TRANSFORM_SINK_PAD (self), sink_event_full);
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

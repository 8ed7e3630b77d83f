/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The output task's half of a frame's way: it waits for each frame in its turn and pushes it as soon as its own work is
 * done; what downstream says goes to the streaming thread. And what the ring asks of the element meanwhile. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* ---- what downstream says ------------------------------------------------------------------------- */

/* The object lock is held. */
static GstFlowReturn
flow_so_far (const GstCudaSobel *self)
{
  return self->flow.untold != GST_FLOW_OK ? self->flow.untold : self->flow.last;
}

GstFlowReturn
gst_cuda_sobel_output_flow (GstCudaSobel *self)
{
  GstFlowReturn flow;

  GST_OBJECT_LOCK (self);
  flow = flow_so_far (self);
  GST_OBJECT_UNLOCK (self);
  return flow;
}

void
gst_cuda_sobel_output_forget_flow (GstCudaSobel *self, GstFlowReturn flow)
{
  GST_OBJECT_LOCK (self);
  if (flow == GST_FLOW_OK || self->flow.last == flow)
    self->flow.last = GST_FLOW_OK;
  if (flow == GST_FLOW_OK || self->flow.untold == flow)
    self->flow.untold = GST_FLOW_OK;
  GST_OBJECT_UNLOCK (self);
}

GstFlowReturn
gst_cuda_sobel_output_tell_flow (GstCudaSobel *self)
{
  GstFlowReturn flow;

  GST_OBJECT_LOCK (self);
  flow = flow_so_far (self);
  self->flow.untold = GST_FLOW_OK;
  GST_OBJECT_UNLOCK (self);
  return flow;
}

static void
hear_flow (GstCudaSobel *self, GstFlowReturn flow)
{
  GST_OBJECT_LOCK (self);
  self->flow.last = flow;
  /* Errors are negative, the gravest lowest. */
  if (flow != GST_FLOW_OK && (self->flow.untold == GST_FLOW_OK || flow < self->flow.untold))
    self->flow.untold = flow;
  GST_OBJECT_UNLOCK (self);
}

/* ---- the task ------------------------------------------------------------------------------------- */

/* The finished frame in a buffer of downstream's own pool, or where there is no such pool in plain memory; NULL with
 * `flow` set if there is none, NULL with OK if the frame is dropped. */
static GstBuffer *
copy_output (GstCudaSobel *self, GstSobelInFlight *f, GstFlowReturn *flow)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  GstSobelFrameMap map;
  GstBuffer *out = NULL;
  gchar *reason = NULL;

  if (self->downstream_pool)
    *flow = gst_buffer_pool_acquire_buffer (self->downstream_pool, &out, NULL);
  else
    *flow = (out = gst_cuda_sobel_plain_output (self)) ? GST_FLOW_OK : GST_FLOW_ERROR;
  if (*flow == GST_FLOW_ERROR)
    gst_cuda_sobel_no_memory (self, self->downstream_pool ? "buffer from downstream's pool" : "memory for the result");
  if (*flow != GST_FLOW_OK)
    return NULL;
  if (!gst_sobel_frame_map (&map, &filter->out_info, self->config.out, out, GST_MAP_WRITE, &reason)) {
    gst_cuda_sobel_stream_drop (self, g_strdup_printf ("no place for the result: %s", reason));
    g_free (reason);
    gst_buffer_unref (out);
    return NULL;
  }
  gst_sobel_stats_add (&self->stats, &self->stats.host_bytes_copied,
                       gst_sobel_copier_copy (self->copier, &map.image, &f->out_map.image, ~0u));
  gst_sobel_frame_unmap (&map);
  gst_cuda_sobel_stream_copy_metadata (self, f->out, out);
  return out;
}

/* The buffer to push for a finished frame, or NULL, with `flow` set if upstream has to know. Lets go of all that the
 * frame held. */
static GstBuffer *
finish_frame (GstCudaSobel *self, SobelFrame *frame, GstFlowReturn *flow)
{
  GstSobelInFlight *f = frame->user;
  GstBuffer *out;
  gboolean copies;

  *flow = GST_FLOW_OK;
  if (frame->status != SOBEL_STATUS_OK) {
    gst_sobel_stats_add (&self->stats, &self->stats.frames_dropped, 1);
    if (gst_cuda_sobel_output_flow (self) != GST_FLOW_ERROR)
      GST_ELEMENT_ERROR (self, RESOURCE, FAILED, ("A video frame could not be computed."),
                         ("%s: %s", sobel_status_name (frame->status), frame->error.message));
    *flow = GST_FLOW_ERROR;
    gst_cuda_sobel_stream_release (self, f);
    return NULL;
  }
  if (frame->recomputed)
    gst_sobel_stats_add (&self->stats, &self->stats.frames_recomputed, 1);
  if (f->fills_neutral && f->out_map.memory)
    gst_sobel_memory_set_neutral (f->out_map.memory, TRUE);
  gst_sobel_frame_unmap (&f->in_map);
  gst_clear_buffer (&f->in);

  copies = f->asynchronous && f->out_map.buffer && !self->cuda.out &&
           (self->downstream_pool || !gst_cuda_sobel_output_may_leave (self, frame->slot));
  out = copies ? copy_output (self, f, flow) : g_steal_pointer (&f->out);
  gst_sobel_frame_unmap (&f->out_map);
  gst_cuda_sobel_stream_release (self, f);
  if (out)
    gst_sobel_stats_add_frame (&self->stats, &frame->timing,
                               (GstClockTime) g_get_monotonic_time () * 1000 - f->arrival);
  return out;
}

void
gst_cuda_sobel_output_loop (gpointer pad)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (GST_PAD_PARENT (pad));
  SobelFrame *frame;
  GstBuffer *out;
  GstFlowReturn flow;

  if (sobel_ring_next (self->ring, &frame) != SOBEL_STATUS_OK) {
    GST_DEBUG_OBJECT (self, "flushing, pausing the output task");
    gst_pad_pause_task (pad);
    return;
  }
  out = finish_frame (self, frame, &flow);
  if (out) {
    if (self->output_discont)
      out = gst_cuda_sobel_stream_mark_discont (out);
    gst_sobel_stats_add (&self->stats, &self->stats.frames_out, 1);
    flow = gst_pad_push (pad, out);
  }
  self->output_discont = !out;
  if (flow != GST_FLOW_OK)
    GST_DEBUG_OBJECT (self, "downstream says %s", gst_flow_get_name (flow));
  if (out || flow != GST_FLOW_OK)
    hear_flow (self, flow);
  sobel_ring_release (self->ring, frame);
}

/* ---- the ring's callbacks ------------------------------------------------------------------------- */

static void
unref_buffer (void *buffer)
{
  gst_buffer_unref (buffer);
}

/* A buffer for a frame that the CPU computes instead of the GPU; NULL if there is none. It never waits. */
static GstBuffer *
new_output (GstCudaSobel *self)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  GstBuffer *buffer = NULL;

  if (!self->cuda.out)
    return gst_cuda_sobel_plain_output (self);
  /* Maybe only our own work went wrong; if all of the GPU is lost, mapping the buffer fails. */
  if (gst_buffer_pool_acquire_buffer (self->downstream_pool ? self->downstream_pool : self->own_pool, &buffer,
                                      &params) != GST_FLOW_OK)
    return NULL;
  return buffer;
}

/* The lost GPU may still write into this frame's output and read its input. Both stay as they are until that
 * is over; a frame that is computed again goes on in fresh memory. */
static SobelStatus
replace_output (void *user, SobelFrame *frame, SobelDevice *lost, SobelError *error)
{
  GstCudaSobel *self = user;
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  GstSobelInFlight *f = frame->user;
  GstBuffer *old = f->out;
  gchar *reason = NULL;

  if (f->in)
    sobel_device_keep (lost, gst_buffer_ref (f->in), unref_buffer);
  if (!old)
    return SOBEL_STATUS_OK;
  gst_sobel_frame_unmap (&f->out_map);
  f->out = NULL;
  if (frame->status == SOBEL_STATUS_OK) {
    f->out = new_output (self);
    if (f->out &&
        gst_sobel_frame_map (&f->out_map, &filter->out_info, self->config.out, f->out, GST_MAP_WRITE, &reason)) {
      gst_cuda_sobel_stream_copy_metadata (self, old, f->out);
      frame->job.out = f->out_map.image;
      frame->job.neutral_ready = false;
    } else {
      sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no %s memory for a frame of %" G_GSIZE_FORMAT " bytes",
                       self->cuda.out ? "GPU" : "system", filter->out_info.size);
      g_free (reason);
      gst_clear_buffer (&f->out);
    }
  }
  sobel_device_keep (lost, old, unref_buffer);
  return f->out ? SOBEL_STATUS_OK : SOBEL_STATUS_NO_MEMORY;
}

static void
discard_frame (void *user, SobelFrame *frame)
{
  if (frame->user)
    gst_cuda_sobel_stream_release (user, frame->user);
}

/* Producer, before the output task can see the frame: a device that computes with the calling thread needs the
 * input no longer, and upstream may be short of buffers. */
static void
frame_submitted (void *user, SobelFrame *frame)
{
  GstSobelInFlight *f = frame->user;

  if (frame->has_work && !f->asynchronous) {
    gst_sobel_frame_unmap (&f->in_map);
    gst_clear_buffer (&f->in);
  }
}

static void
device_lost (void *user, const SobelError *error)
{
  GstCudaSobel *self = user;
  /* Not by the property: that may have been set since the start. */
  const gboolean goes_on = sobel_ring_is_fallback (self->ring);

  gst_sobel_allocator_set_device (self->allocator, NULL);
  g_atomic_int_set (&self->n_kept, 0);
  GST_OBJECT_LOCK (self);
  g_free (self->fallback_reason);
  self->fallback_reason = g_strdup (error->message);
  if (goes_on)
    self->active_backend = GST_SOBEL_ACTIVE_BACKEND_CPU;
  GST_OBJECT_UNLOCK (self);

  if (goes_on) {
    GST_ELEMENT_WARNING (self, RESOURCE, FAILED, ("The GPU failed; video frames are computed on the CPU from now on."),
                         ("%s: %s", sobel_status_name (error->status), error->message));
    g_object_notify (G_OBJECT (self), "active-backend");
  }
}

void
gst_cuda_sobel_output_ring_options (GstCudaSobel *self, SobelRingOptions *options)
{
  options->replace_output = replace_output;
  options->discard = discard_frame;
  options->device_lost = device_lost;
  options->submitted = frame_submitted;
  options->user = self;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A frame's way through the element. The streaming thread maps the input, takes an output buffer and submits
 * both to the ring; the source pad's task pushes each frame as soon as its own work is done. Order and waiting
 * are the ring's; what is here is GStreamer's side: buffers, metas, flow returns. */

#include "gstcudasobel.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

enum { WARNING_INTERVAL_US = G_USEC_PER_SEC };

static GstClockTime
now_ns (void)
{
  return (GstClockTime) g_get_monotonic_time () * 1000;
}

void
gst_cuda_sobel_stream_drop (GstCudaSobel *self, gchar *reason)
{
  const gint64 now = g_get_monotonic_time ();
  gboolean warn;

  gst_sobel_stats_add (&self->stats, &self->stats.frames_dropped, 1);
  GST_OBJECT_LOCK (self);
  warn = now >= self->next_warning;
  if (warn)
    self->next_warning = now + WARNING_INTERVAL_US;
  GST_OBJECT_UNLOCK (self);
  if (warn) {
    GST_ELEMENT_WARNING (self, STREAM, FORMAT, ("A video frame was dropped: its buffer cannot be used."),
                         ("%s", reason));
  } else {
    GST_DEBUG_OBJECT (self, "dropped a frame: %s", reason);
  }
  g_free (reason);
}

/* Frames are missing before this one. Takes and returns the buffer. */
static GstBuffer *
mark_discont (GstBuffer *buffer)
{
  buffer = gst_buffer_make_writable (buffer);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  return buffer;
}

/* ---- what downstream says ------------------------------------------------------------------------- */

/* The object lock is held. */
static GstFlowReturn
flow_so_far (const GstCudaSobel *self)
{
  return self->flow.untold != GST_FLOW_OK ? self->flow.untold : self->flow.last;
}

GstFlowReturn
gst_cuda_sobel_stream_flow (GstCudaSobel *self)
{
  GstFlowReturn flow;

  GST_OBJECT_LOCK (self);
  flow = flow_so_far (self);
  GST_OBJECT_UNLOCK (self);
  return flow;
}

void
gst_cuda_sobel_stream_forget_flow (GstCudaSobel *self, GstFlowReturn flow)
{
  GST_OBJECT_LOCK (self);
  if (flow == GST_FLOW_OK || self->flow.last == flow)
    self->flow.last = GST_FLOW_OK;
  if (flow == GST_FLOW_OK || self->flow.untold == flow)
    self->flow.untold = GST_FLOW_OK;
  GST_OBJECT_UNLOCK (self);
}

/* For the streaming thread to return. */
static GstFlowReturn
tell_flow (GstCudaSobel *self)
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

/* ---- output --------------------------------------------------------------------------------------- */

static guint
slot_of (GstCudaSobel *self, const GstSobelInFlight *f)
{
  return (guint) (f - self->in_flight);
}

/* `gpu`: the GPU is going to write the result, by itself if it stays in GPU memory. */
static GstFlowReturn
acquire_output (GstCudaSobel *self, GstSobelInFlight *f, gboolean gpu)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  /* The CPU can write straight into downstream's memory; what a GPU puts into system memory goes through pinned
   * memory, and a buffer of downstream's pool is taken when it is there, not while it is computed. */
  const gboolean direct = self->downstream_pool && (self->cuda.out || !f->asynchronous);
  GstMapFlags flags = direct || self->cuda.out ? GST_MAP_WRITE : GST_MAP_READ;
  gchar *reason = NULL;
  GstFlowReturn flow;

  if (direct)
    flow = gst_buffer_pool_acquire_buffer (self->downstream_pool, &f->out, NULL);
  else
    flow = gst_cuda_sobel_take_output (self, slot_of (self, f), &f->out);
  if (flow == GST_FLOW_ERROR)
    gst_cuda_sobel_no_memory (self, direct ? "buffer from downstream's pool" : "own buffer for the result");
  if (flow != GST_FLOW_OK)
    return flow;
  if (gpu && self->cuda.out && gst_sobel_cuda_is_ours (self, f->out))
    flags |= GST_SOBEL_MAP_CUDA;
  if (!gst_sobel_frame_map (&f->out_map, &filter->out_info, self->config.out, f->out, flags, &reason)) {
    gst_clear_buffer (&f->out);
    gst_cuda_sobel_stream_drop (self, g_strdup_printf ("no place for the result: %s", reason));
    g_free (reason);
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  return GST_FLOW_OK;
}

static void
copy_metadata (GstCudaSobel *self, GstBuffer *from, GstBuffer *to)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);

  if (!GST_BASE_TRANSFORM_GET_CLASS (self)->copy_metadata (trans, from, to))
    GST_WARNING_OBJECT (self, "metadata of %" GST_PTR_FORMAT " could not be copied", from);
}

/* ---- the streaming thread's half ------------------------------------------------------------------ */

static void
release_in_flight (GstCudaSobel *self, GstSobelInFlight *f)
{
  gst_sobel_frame_unmap (&f->in_map);
  gst_sobel_frame_unmap (&f->out_map);
  gst_clear_buffer (&f->in);
  gst_clear_buffer (&f->out);
  gst_cuda_sobel_keep_output (self, slot_of (self, f));
}

static gboolean
is_interlaced (const GstVideoInfo *info, GstBuffer *buffer)
{
  switch (GST_VIDEO_INFO_INTERLACE_MODE (info)) {
    case GST_VIDEO_INTERLACE_MODE_INTERLEAVED:
      return TRUE;
    case GST_VIDEO_INTERLACE_MODE_MIXED:
      return GST_BUFFER_FLAG_IS_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    default:
      return FALSE;
  }
}

/* The frame passes as it is, in its turn. FALSE if the input's layout is not what downstream expects. */
static gboolean
pass_through (GstCudaSobel *self, GstSobelInFlight *f)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);

  if (self->config.in != self->config.out || self->cuda.in != self->cuda.out)
    return FALSE;
  /* Whoever takes GPU memory knows how that lies. */
  if (!self->cuda.out && !self->downstream_video_meta &&
      !gst_sobel_frame_has_default_layout (&f->in_map, &filter->in_info))
    return FALSE;
  gst_sobel_frame_unmap (&f->in_map);
  f->out = f->in;
  f->in = NULL;
  return TRUE;
}

/* Fills the job of a frame whose input is mapped. */
static GstFlowReturn
prepare_job (GstCudaSobel *self, const GstSobelSettings *settings, SobelFrame *frame, GstSobelInFlight *f)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  guint8 in_use[SOBEL_MAX_PLANES], out_use[SOBEL_MAX_PLANES];
  SobelParams params = settings->params;
  SobelJob *job = &frame->job;
  GstBuffer *in;
  gboolean has_neutral = FALSE;
  guint planes = 0, i;
  GstFlowReturn flow;

  if (settings->bypass)
    params.mode = SOBEL_MODE_BYPASS;
  sobel_recipe_init (&job->recipe, &self->config, &params);
  sobel_recipe_planes (&job->recipe, &self->config, in_use, out_use);
  job->kernel = params.kernel;
  job->interlaced = is_interlaced (&filter->in_info, f->in);

  flow = acquire_output (self, f, f->asynchronous);
  if (flow != GST_FLOW_OK)
    return flow;
  in = f->in;
  copy_metadata (self, in, f->out);

  /* What is only copied (alpha) shows in the output, and there are such planes only where formats are the same. */
  for (i = 0; i < self->config.in->n_planes; i++)
    if ((in_use[i] & SOBEL_PLANE_READ) || (out_use[i] & SOBEL_PLANE_COPY))
      planes |= 1u << i;
  for (i = 0; i < self->config.out->n_planes; i++)
    has_neutral |= (out_use[i] & SOBEL_PLANE_NEUTRAL) != 0;
  if (f->asynchronous && f->in_map.image.memory == SOBEL_MEMORY_HOST &&
      !(f->in_map.memory && f->in_map.memory->pinned)) {
    flow = gst_cuda_sobel_stage_input (self, f, planes);
    if (flow != GST_FLOW_OK)
      return flow;
  }
  job->in = f->in_map.image;
  job->out = f->out_map.image;
  gst_sobel_cuda_order (job, f->in, f->out, f->uploads);
  if (f->out_map.memory) {
    job->neutral_ready = has_neutral && gst_sobel_memory_is_neutral (f->out_map.memory);
    if (!has_neutral)
      gst_sobel_memory_set_neutral (f->out_map.memory, FALSE);
  }
  f->fills_neutral = has_neutral;
  frame->has_work = true;
  return GST_FLOW_OK;
}

/* `bypass` where the input cannot be passed as it is, though the format stays: a copy in the usual layout. */
static GstFlowReturn
copy_through (GstCudaSobel *self, GstSobelInFlight *f)
{
  guint64 copied;
  GstFlowReturn flow = acquire_output (self, f, FALSE);

  if (flow != GST_FLOW_OK)
    return flow;
  copy_metadata (self, f->in, f->out);
  copied = gst_sobel_copier_copy (self->copier, &f->out_map.image, &f->in_map.image, ~0u);
  gst_sobel_stats_add (&self->stats, &self->stats.host_bytes_copied, copied);
  if (f->out_map.memory)
    gst_sobel_memory_set_neutral (f->out_map.memory, FALSE);
  gst_sobel_frame_unmap (&f->in_map);
  gst_clear_buffer (&f->in);
  return GST_FLOW_OK;
}

/* Whether nothing of a buffer in GPU memory can be had: it is not this one's fault then, and no other will do. */
static gboolean
is_beyond_reach (GstBuffer *buffer, GstMapFlags flags)
{
  GstMapInfo map;

  if (!gst_sobel_cuda_memory_of (buffer))
    return FALSE;
  if (!gst_buffer_map (buffer, &map, flags))
    return TRUE;
  gst_buffer_unmap (buffer, &map);
  return FALSE;
}

/* Maps the input for the device in use; FALSE with `flow` set. */
static gboolean
map_input (GstCudaSobel *self, GstSobelInFlight *f, gboolean copies, GstFlowReturn *flow)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  const gboolean on_gpu = !copies && gst_sobel_cuda_is_ours (self, f->in);
  const GstMapFlags flags = on_gpu ? GST_MAP_READ | GST_SOBEL_MAP_CUDA : GST_MAP_READ;
  gchar *reason = NULL;

  f->uploads = on_gpu && gst_sobel_cuda_needs_upload (f->in);
  if (gst_sobel_frame_map (&f->in_map, &filter->in_info, self->config.in, f->in, flags, &reason))
    return TRUE;
  if (is_beyond_reach (f->in, flags)) {
    gst_sobel_stats_add (&self->stats, &self->stats.frames_dropped, 1);
    GST_ELEMENT_ERROR (self, RESOURCE, READ, ("Video frames cannot be read from GPU memory."), ("%s", reason));
    g_free (reason);
    *flow = GST_FLOW_ERROR;
  } else {
    gst_cuda_sobel_stream_drop (self, reason);
    *flow = GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  return FALSE;
}

GstFlowReturn
gst_cuda_sobel_stream_submit (GstCudaSobel *self, GstBuffer *buffer)
{
  GstSobelSettings settings;
  GstSobelInFlight *f;
  SobelFrame *frame;
  GstFlowReturn flow = GST_FLOW_OK;
  gboolean passes;

  GST_OBJECT_LOCK (self);
  settings = self->settings;
  GST_OBJECT_UNLOCK (self);

  passes = settings.bypass && self->config.in == self->config.out;
  if (!passes && !self->staging_pool && gst_cuda_sobel_needs_staging (self, buffer))
    flow = gst_cuda_sobel_configure_staging (self);
  if (flow == GST_FLOW_OK && sobel_ring_begin (self->ring, &frame) != SOBEL_STATUS_OK)
    flow = GST_FLOW_FLUSHING;
  if (flow != GST_FLOW_OK) {
    if (flow == GST_FLOW_ERROR)
      gst_sobel_stats_add (&self->stats, &self->stats.frames_dropped, 1);
    gst_buffer_unref (buffer);
    return flow;
  }
  f = &self->in_flight[frame->slot];
  memset (f, 0, sizeof *f);
  f->in = buffer;
  f->arrival = self->arrival;
  f->asynchronous = sobel_device_is_asynchronous (sobel_ring_device (self->ring));
  frame->user = f;

  if (map_input (self, f, passes && !(self->cuda.in && self->cuda.out), &flow)) {
    if (!passes)
      flow = prepare_job (self, &settings, frame, f);
    else if (!pass_through (self, f))
      flow = copy_through (self, f);
  }
  if (flow != GST_FLOW_OK) {
    self->discont = TRUE;
    release_in_flight (self, f);
    sobel_ring_cancel (self->ring, frame);
    return flow;
  }
  if (self->discont)
    f->out = mark_discont (f->out);
  self->discont = FALSE;
  sobel_ring_submit (self->ring, frame);
  return tell_flow (self);
}

void
gst_cuda_sobel_stream_drain (GstCudaSobel *self)
{
  if (self->ring)
    sobel_ring_drain (self->ring);
}

void
gst_cuda_sobel_stream_drain_for_link (GstCudaSobel *self)
{
  const gboolean asked = GST_PAD_NEEDS_RECONFIGURE (GST_BASE_TRANSFORM_SRC_PAD (self));

  gst_cuda_sobel_stream_drain (self);
  if (asked)
    gst_cuda_sobel_stream_forget_flow (self, GST_FLOW_NOT_LINKED);
}

/* ---- the output task's half ----------------------------------------------------------------------- */

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
  copy_metadata (self, f->out, out);
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
    if (gst_cuda_sobel_stream_flow (self) != GST_FLOW_ERROR)
      GST_ELEMENT_ERROR (self, RESOURCE, FAILED, ("A video frame could not be computed."),
                         ("%s: %s", sobel_status_name (frame->status), frame->error.message));
    *flow = GST_FLOW_ERROR;
    release_in_flight (self, f);
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
  release_in_flight (self, f);
  if (out)
    gst_sobel_stats_add_frame (&self->stats, &frame->timing, now_ns () - f->arrival);
  return out;
}

void
gst_cuda_sobel_stream_loop (gpointer pad)
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
      out = mark_discont (out);
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
      copy_metadata (self, old, f->out);
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
    release_in_flight (user, frame->user);
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
gst_cuda_sobel_stream_ring_options (GstCudaSobel *self, SobelRingOptions *options)
{
  options->replace_output = replace_output;
  options->discard = discard_frame;
  options->device_lost = device_lost;
  options->submitted = frame_submitted;
  options->user = self;
}

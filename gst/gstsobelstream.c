/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The streaming thread's half of a frame's way: it maps the input, takes an output buffer and submits both to the ring.
 * gstsobeloutput.c has the other half. Order and waiting are the ring's; what is here is GStreamer's side: buffers and
 * metas. */

#include "gstcudasobel.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

enum { WARNING_INTERVAL_US = G_USEC_PER_SEC };

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

GstBuffer *
gst_cuda_sobel_stream_mark_discont (GstBuffer *buffer)
{
  buffer = gst_buffer_make_writable (buffer);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  return buffer;
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

void
gst_cuda_sobel_stream_copy_metadata (GstCudaSobel *self, GstBuffer *from, GstBuffer *to)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);

  if (!GST_BASE_TRANSFORM_GET_CLASS (self)->copy_metadata (trans, from, to))
    GST_WARNING_OBJECT (self, "metadata of %" GST_PTR_FORMAT " could not be copied", from);
}

/* ---- the streaming thread's half ------------------------------------------------------------------ */

void
gst_cuda_sobel_stream_release (GstCudaSobel *self, GstSobelInFlight *f)
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
  gst_cuda_sobel_stream_copy_metadata (self, in, f->out);

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

/* `bypass` where the input cannot be passed as it is, though the format stays: a copy in the default layout. */
static GstFlowReturn
copy_through (GstCudaSobel *self, GstSobelInFlight *f)
{
  guint64 copied;
  GstFlowReturn flow = acquire_output (self, f, FALSE);

  if (flow != GST_FLOW_OK)
    return flow;
  gst_cuda_sobel_stream_copy_metadata (self, f->in, f->out);
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
    gst_cuda_sobel_stream_release (self, f);
    sobel_ring_cancel (self->ring, frame);
    return flow;
  }
  if (self->discont)
    f->out = gst_cuda_sobel_stream_mark_discont (f->out);
  self->discont = FALSE;
  sobel_ring_submit (self->ring, frame);
  return gst_cuda_sobel_output_tell_flow (self);
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
    gst_cuda_sobel_output_forget_flow (self, GST_FLOW_NOT_LINKED);
}

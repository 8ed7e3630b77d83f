/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The element's own buffers in host memory: output, and staging for input that lies elsewhere. A device that transfers
 * by itself is given pinned memory and no other: what is not pinned the driver copies with the calling thread, which
 * then waits for the GPU however long that takes.
 *
 * Downstream may hold more buffers than can be pinned. So each slot of the ring keeps a pinned output for its next
 * frame. A finished one goes downstream if another can be had in its place, else a copy in plain memory goes. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* After pinned memory could not be had, it is not asked for again for so long. */
enum { NEXT_TRY_US = G_USEC_PER_SEC };

/* Upstream hears no more than that something went wrong: the element has to say what. */
void
gst_cuda_sobel_no_memory (GstCudaSobel *self, const gchar *what)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);

  gst_sobel_stats_add (&self->stats, &self->stats.frames_dropped, 1);
  if (gst_cuda_sobel_output_flow (self) != GST_FLOW_ERROR)
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is no memory for a video frame."),
                       ("no %s: %dx%d, %s of %" G_GSIZE_FORMAT " bytes to %s of %" G_GSIZE_FORMAT, what,
                        self->config.width, self->config.height, self->config.in->name, filter->in_info.size,
                        self->config.out->name, filter->out_info.size));
}

/* ---- output --------------------------------------------------------------------------------------- */

void
gst_cuda_sobel_close_pool (GstBufferPool **pool)
{
  if (*pool) {
    gst_buffer_pool_set_active (*pool, FALSE);
    gst_clear_object (pool);
  }
}

void
gst_cuda_sobel_close_outputs (GstCudaSobel *self)
{
  guint i;

  g_atomic_int_set (&self->n_kept, 0);
  for (i = 0; i < SOBEL_RING_MAX_SLOTS; i++)
    gst_clear_buffer (&self->kept[i]);
  gst_cuda_sobel_close_pool (&self->own_pool);
}

/* *buffer is NULL on failure. */
static gboolean
acquire (GstBufferPool *pool, GstBuffer **buffer)
{
  *buffer = NULL;
  return gst_buffer_pool_acquire_buffer (pool, buffer, NULL) == GST_FLOW_OK;
}

gboolean
gst_cuda_sobel_keep_output (GstCudaSobel *self, guint slot)
{
  const gboolean has = slot >= (guint) g_atomic_int_get (&self->n_kept) || self->kept[slot];

  return has || acquire (self->own_pool, &self->kept[slot]);
}

gboolean
gst_cuda_sobel_open_outputs (GstCudaSobel *self, GstCaps *caps, guint n_kept)
{
  gboolean done;
  guint i;

  /* Filled by hand: a pool that fails to allocate its minimum keeps for ever what it had. */
  self->own_pool = gst_sobel_pool_new (self->allocator, "output", caps, 0, GST_SOBEL_MEMORY_FLAG_OF_DEVICE);
  done = self->own_pool && gst_buffer_pool_set_active (self->own_pool, TRUE);
  g_atomic_int_set (&self->n_kept, (gint) n_kept);
  for (i = 0; i < n_kept && done; i++)
    done = gst_cuda_sobel_keep_output (self, i);
  self->next_growth = 0;
  self->told_short = FALSE;
  if (!done)
    gst_cuda_sobel_close_outputs (self);
  return done;
}

GstFlowReturn
gst_cuda_sobel_take_output (GstCudaSobel *self, guint slot, GstBuffer **buffer)
{
  *buffer = g_steal_pointer (&self->kept[slot]);
  return *buffer ? GST_FLOW_OK : gst_buffer_pool_acquire_buffer (self->own_pool, buffer, NULL);
}

gboolean
gst_cuda_sobel_output_may_leave (GstCudaSobel *self, guint slot)
{
  const gint64 now = g_get_monotonic_time ();
  SobelError error = { SOBEL_STATUS_OK, "" };

  if (self->next_growth <= now) {
    gst_sobel_allocator_clear_error (self->allocator);
    if (gst_cuda_sobel_keep_output (self, slot))
      return TRUE;
    self->next_growth = now + NEXT_TRY_US;
    gst_sobel_allocator_get_error (self->allocator, &error);
    if (!self->told_short)
      GST_WARNING_OBJECT (self, "no more pinned memory while downstream holds what there is: frames are copied (%s)",
                          error.message);
    self->told_short = TRUE;
  }
  return slot >= (guint) g_atomic_int_get (&self->n_kept) || self->kept[slot];
}

GstBuffer *
gst_cuda_sobel_plain_output (GstCudaSobel *self)
{
  return gst_buffer_new_allocate (NULL, GST_VIDEO_FILTER_CAST (self)->out_info.size, NULL);
}

/* ---- input ---------------------------------------------------------------------------------------- */

gboolean
gst_cuda_sobel_open_staging (GstCudaSobel *self, SobelError *error)
{
  GstCaps *caps = gst_video_info_to_caps (&GST_VIDEO_FILTER_CAST (self)->in_info);
  const guint slots = sobel_ring_n_slots (self->ring);
  GstBuffer *buffer[SOBEL_RING_MAX_SLOTS] = { NULL };
  gboolean done;
  guint i;

  gst_sobel_allocator_clear_error (self->allocator);
  self->staging_pool = gst_sobel_pool_new (self->allocator, "staging", caps, 0, GST_SOBEL_MEMORY_FLAG_OF_DEVICE);
  gst_caps_unref (caps);
  done = self->staging_pool && gst_buffer_pool_set_active (self->staging_pool, TRUE);
  for (i = 0; i < slots && done; i++)
    done = acquire (self->staging_pool, &buffer[i]);
  for (i = 0; i < slots; i++)
    gst_clear_buffer (&buffer[i]);
  if (done)
    return TRUE;
  gst_cuda_sobel_close_pool (&self->staging_pool);
  error->status = SOBEL_STATUS_OK;
  if (gst_sobel_allocator_get_error (self->allocator, error) == SOBEL_STATUS_OK)
    sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for %u input frames", slots);
  return FALSE;
}

gboolean
gst_cuda_sobel_needs_staging (GstCudaSobel *self, GstBuffer *buffer)
{
  GstSobelMemory *memory = NULL;

  if (gst_buffer_n_memory (buffer) == 1)
    memory = gst_sobel_memory_root (gst_buffer_peek_memory (buffer, 0));
  return !(memory && memory->pinned) && !gst_sobel_cuda_is_ours (self, buffer) &&
         sobel_device_is_asynchronous (sobel_ring_device (self->ring));
}

GstFlowReturn
gst_cuda_sobel_stage_input (GstCudaSobel *self, GstSobelInFlight *f, guint planes)
{
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  GstBuffer *staged = NULL;
  SobelError error;
  GstSobelFrameMap map;
  gchar *reason = NULL;
  GstFlowReturn flow = GST_FLOW_ERROR;
  guint64 copied;

  /* There is none where the GPU was lost since the buffer was looked at: then any memory will do. */
  if (self->staging_pool || gst_cuda_sobel_open_staging (self, &error))
    flow = gst_buffer_pool_acquire_buffer (self->staging_pool, &staged, NULL);
  if (flow == GST_FLOW_ERROR)
    gst_cuda_sobel_no_memory (self, "own buffer for the input");
  if (flow != GST_FLOW_OK)
    return flow;
  if (!gst_sobel_frame_map (&map, &filter->in_info, self->config.in, staged, GST_MAP_READ, &reason)) {
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED, ("A video frame cannot be copied."), ("own memory: %s", reason));
    g_free (reason);
    gst_buffer_unref (staged);
    return GST_FLOW_ERROR;
  }
  copied = gst_sobel_copier_copy (self->copier, &map.image, &f->in_map.image, planes);
  gst_sobel_stats_add (&self->stats, &self->stats.host_bytes_copied, copied);

  gst_sobel_frame_unmap (&f->in_map);
  gst_buffer_unref (f->in);
  f->in = staged;
  f->in_map = map;
  return GST_FLOW_OK;
}

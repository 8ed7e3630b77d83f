/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What new caps need: slots of the ring, and whoever computes them. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* Slots that serve where a frame is finished when it was submitted, and only waits for downstream. More of them hold
 * more outputs, which then leave the processor's cache before they are used again (1080p RGB, two cores: 271 us a frame
 * with four, 250 us with two). */
enum { CPU_SLOTS = 2 };

static gboolean
needs_pinned (GstCudaSobel *self)
{
  return sobel_device_is_asynchronous (sobel_ring_device (self->ring));
}

/* Makes the device and the output frames ready for self->config, with as many slots as memory allows, `limit` at
 * most. */
static SobelStatus
configure_slots (GstCudaSobel *self, GstCaps *outcaps, guint limit, SobelError *error)
{
  const gboolean pinned = needs_pinned (self);
  SobelStatus status = SOBEL_STATUS_NO_MEMORY;
  guint slots;

  if (!self->cuda.out)
    gst_cuda_sobel_close_outputs (self);
  for (slots = pinned ? limit : MIN (limit, CPU_SLOTS); slots > 0; slots /= 2) {
    status = sobel_ring_configure (self->ring, &self->config, slots, error);
    if (status == SOBEL_STATUS_OK) {
      sobel_error_set (error, SOBEL_STATUS_OK, "%s", "");
      if (self->cuda.out)
        break; /* the pool comes when downstream was asked */
      gst_sobel_allocator_clear_error (self->allocator);
      if (gst_cuda_sobel_open_outputs (self, outcaps, pinned ? slots : 0))
        break;
      if (gst_sobel_allocator_get_error (self->allocator, error) == SOBEL_STATUS_OK)
        sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for %u output frames", slots);
      status = SOBEL_STATUS_NO_MEMORY;
    }
    if (status != SOBEL_STATUS_NO_MEMORY)
      return status;
    GST_INFO_OBJECT (self, "%u slots do not fit: %s", slots, error->message);
  }
  return slots ? SOBEL_STATUS_OK : status;
}

void
gst_cuda_sobel_set_active_backend (GstCudaSobel *self, GstSobelActiveBackend active)
{
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = self->active_backend != active;
  self->active_backend = active;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    g_object_notify (G_OBJECT (self), "active-backend");
}

void
gst_cuda_sobel_set_fallback_reason (GstCudaSobel *self, const gchar *reason)
{
  GST_OBJECT_LOCK (self);
  g_free (self->fallback_reason);
  self->fallback_reason = g_strdup (reason);
  GST_OBJECT_UNLOCK (self);
}

void
gst_cuda_sobel_use_cpu (GstCudaSobel *self, const gchar *reason)
{
  gst_sobel_allocator_set_device (self->allocator, NULL);
  gst_cuda_sobel_set_fallback_reason (self, reason);
  gst_cuda_sobel_set_active_backend (self, GST_SOBEL_ACTIVE_BACKEND_CPU);
}

static void
log_short_ring (GstCudaSobel *self)
{
  const guint slots = sobel_ring_n_slots (self->ring);

  if (slots < self->max_slots && needs_pinned (self))
    GST_WARNING_OBJECT (self, "memory is short: %u instead of %u frames in flight", slots, self->max_slots);
}

/* Not with one slot either: the CPU, else an error. FALSE after that. */
static gboolean
give_up_gpu (GstCudaSobel *self, GstCaps *outcaps, SobelStatus status, SobelError *error)
{
  if (sobel_ring_use_fallback (self->ring) == SOBEL_STATUS_OK) {
    GST_ELEMENT_WARNING (self, RESOURCE, NO_SPACE_LEFT,
                         ("The GPU cannot be used for this video; its frames are computed on the CPU."),
                         ("%s: %s", sobel_status_name (status), error->message));
    gst_cuda_sobel_use_cpu (self, error->message);
    status = configure_slots (self, outcaps, self->max_slots, error);
  }
  if (status != SOBEL_STATUS_OK)
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is not enough memory for this video."),
                       ("%s: %s", sobel_status_name (status), error->message));
  return status == SOBEL_STATUS_OK;
}

/* The whole of the memory ladder: a smaller ring, then the CPU, then an error. */
gboolean
gst_cuda_sobel_configure (GstCudaSobel *self, GstCaps *outcaps)
{
  SobelError error = { SOBEL_STATUS_OK, "" };
  const SobelStatus status = configure_slots (self, outcaps, self->max_slots, &error);

  if (status != SOBEL_STATUS_OK)
    return give_up_gpu (self, outcaps, status, &error);
  log_short_ring (self);
  return TRUE;
}

GstFlowReturn
gst_cuda_sobel_configure_staging (GstCudaSobel *self)
{
  GstPad *srcpad = GST_BASE_TRANSFORM_SRC_PAD (self);
  GstCaps *outcaps = gst_pad_get_current_caps (srcpad);
  SobelError error = { SOBEL_STATUS_OK, "" };
  GstFlowReturn flow = GST_FLOW_OK;
  gboolean smaller = FALSE;

  gst_cuda_sobel_stream_drain (self);
  if (!outcaps || sobel_ring_in_flight (self->ring) > 0)
    flow = GST_FLOW_FLUSHING;
  while (flow == GST_FLOW_OK && needs_pinned (self) && !gst_cuda_sobel_open_staging (self, &error)) {
    const guint slots = sobel_ring_n_slots (self->ring);
    SobelStatus status = SOBEL_STATUS_NO_MEMORY;

    GST_INFO_OBJECT (self, "no room for the input of %u slots: %s", slots, error.message);
    /* Fewer outputs make room, unless they are in GPU memory. */
    if (slots > 1 && !self->cuda.out)
      status = configure_slots (self, outcaps, slots / 2, &error);
    smaller = status == SOBEL_STATUS_OK;
    if (!smaller && !give_up_gpu (self, outcaps, status, &error)) {
      flow = GST_FLOW_ERROR;
      /* What is left of slots and outputs is not said; the next frame begins with all of it. */
      self->configured = FALSE;
      gst_pad_mark_reconfigure (srcpad);
    }
  }
  if (flow == GST_FLOW_OK && smaller)
    log_short_ring (self);
  gst_clear_caps (&outcaps);
  return flow;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What new caps need: slots of the ring, and whoever computes them. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* Slots that serve where a frame is finished when it was submitted, and only waits for downstream. More of them hold
 * more outputs, which then leave the processor's cache before they are used again (1080p RGB, two cores: 271 us a frame
 * with four, 250 us with two). */
enum { CPU_SLOTS = 2 };

/* Makes the device and the output frames ready for self->config, with as many slots as memory allows. */
static SobelStatus
configure_slots (GstCudaSobel *self, GstCaps *outcaps, SobelError *error)
{
  const gboolean pinned = sobel_device_is_asynchronous (sobel_ring_device (self->ring));
  const guint wanted = pinned ? self->max_slots : MIN (self->max_slots, CPU_SLOTS);
  SobelStatus status = SOBEL_STATUS_NO_MEMORY;
  guint slots;

  for (slots = wanted; slots > 0; slots /= 2) {
    status = sobel_ring_configure (self->ring, &self->config, slots, error);
    if (status == SOBEL_STATUS_OK) {
      sobel_error_set (error, SOBEL_STATUS_OK, "%s", "");
      if (self->cuda.out)
        break; /* the pool comes when downstream was asked */
      gst_sobel_allocator_clear_error (self->allocator);
      self->own_pool = gst_sobel_pool_new (self->allocator, "output", outcaps, pinned ? slots : 0);
      if (self->own_pool && gst_buffer_pool_set_active (self->own_pool, TRUE) &&
          gst_sobel_allocator_get_error (self->allocator, error) == SOBEL_STATUS_OK)
        break;
      if (error->status == SOBEL_STATUS_OK)
        sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for %u output frames", slots);
      status = SOBEL_STATUS_NO_MEMORY;
      gst_cuda_sobel_close_pool (&self->own_pool);
    }
    if (status != SOBEL_STATUS_NO_MEMORY)
      return status;
    GST_INFO_OBJECT (self, "%u slots do not fit: %s", slots, error->message);
  }
  if (slots && slots < wanted)
    GST_WARNING_OBJECT (self, "memory is short: %u instead of %u frames in flight", slots, wanted);
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

/* The whole of the memory ladder: a smaller ring, then the CPU, then an error. */
gboolean
gst_cuda_sobel_configure (GstCudaSobel *self, GstCaps *outcaps)
{
  SobelError error = { SOBEL_STATUS_OK, "" };
  SobelStatus status = configure_slots (self, outcaps, &error);

  if (status != SOBEL_STATUS_OK && sobel_ring_use_fallback (self->ring) == SOBEL_STATUS_OK) {
    GST_ELEMENT_WARNING (self, RESOURCE, NO_SPACE_LEFT,
                         ("The GPU cannot be used for this video; its frames are computed on the CPU."),
                         ("%s: %s", sobel_status_name (status), error.message));
    gst_cuda_sobel_use_cpu (self, error.message);
    status = configure_slots (self, outcaps, &error);
  }
  if (status != SOBEL_STATUS_OK) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is not enough memory for this video."),
                       ("%s: %s", sobel_status_name (status), error.message));
    return FALSE;
  }
  return TRUE;
}

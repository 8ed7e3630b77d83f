/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From READY to PAUSED and back: devices are opened, the ring is made, and all of it is given up again. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* A GPU that has not finished a frame after this long is given up, ns. A frame takes milliseconds. */
#define GIVE_UP_NS (5 * G_GUINT64_CONSTANT (1000000000))
static guint64 give_up_ns = GIVE_UP_NS;

void
gst_cuda_sobel_set_give_up (guint64 ns)
{
  give_up_ns = ns ? ns : GIVE_UP_NS;
}

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

gboolean
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
  gst_cuda_sobel_output_ring_options (self, &ring_options);
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
  gst_cuda_sobel_output_forget_flow (self, GST_FLOW_OK);
  self->discont = self->output_discont = FALSE;
  self->configured = FALSE;
  self->next_warning = 0;
  GST_OBJECT_LOCK (self);
  self->reported_delay = GST_CLOCK_TIME_NONE;
  GST_OBJECT_UNLOCK (self);
  g_mutex_lock (&self->ring_lock);
  self->ring = ring;
  g_mutex_unlock (&self->ring_lock);
  gst_cuda_sobel_gate_open (self);
  g_rec_mutex_unlock (&self->gate);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  return TRUE;
}

gboolean
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

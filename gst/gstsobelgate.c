/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The gate of the output: frames flow while it is open. Threads that know nothing of each other open and shut it: those
 * that flush, that change the state, that shut the source pad. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

void
gst_cuda_sobel_gate_set_flushing (GstCudaSobel *self, gboolean flushing)
{
  GstBufferPool *pool;

  /* The ring may be going while an application seeks. */
  g_mutex_lock (&self->ring_lock);
  if (self->ring)
    sobel_ring_set_flushing (self->ring, flushing);
  g_mutex_unlock (&self->ring_lock);
  /* A wait for a free buffer is a wait, too. */
  GST_OBJECT_LOCK (self);
  pool = self->downstream_pool ? gst_object_ref (self->downstream_pool) : NULL;
  GST_OBJECT_UNLOCK (self);
  if (pool) {
    gst_buffer_pool_set_flushing (pool, flushing);
    gst_object_unref (pool);
  }
}

void
gst_cuda_sobel_gate_hold (GstCudaSobel *self)
{
  gst_cuda_sobel_gate_set_flushing (self, TRUE);
  gst_pad_pause_task (GST_BASE_TRANSFORM_SRC_PAD (self));
}

/* The output task got no thread: nobody would take out what goes in. */
static void
give_up_output (GstCudaSobel *self, GstPad *pad)
{
  GstTask *task;

  gst_cuda_sobel_gate_set_flushing (self, TRUE);
  /* Whoever stops a task waits for its thread, also for one that never was. */
  GST_OBJECT_LOCK (pad);
  task = g_steal_pointer (&GST_PAD_TASK (pad));
  GST_OBJECT_UNLOCK (pad);
  gst_clear_object (&task);
  GST_ELEMENT_ERROR (self, RESOURCE, FAILED, ("Video frames cannot be sent on."), ("no thread for the output task"));
}

void
gst_cuda_sobel_gate_open (GstCudaSobel *self)
{
  GstPad *pad = GST_BASE_TRANSFORM_SRC_PAD (self);
  gboolean shut;

  gst_cuda_sobel_gate_set_flushing (self, FALSE);
  GST_OBJECT_LOCK (pad);
  shut = GST_PAD_MODE (pad) != GST_PAD_MODE_PUSH;
  GST_OBJECT_UNLOCK (pad);
  if (shut) {
    gst_cuda_sobel_gate_set_flushing (self, TRUE);
  } else if (gst_pad_get_task_state (pad) != GST_TASK_STARTED &&
             !gst_pad_start_task (pad, gst_cuda_sobel_output_loop, pad, NULL)) {
    give_up_output (self, pad);
  }
}

/* The source pad was shut and opened again while the element runs: what was in flight is lost, what comes is not. */
static void
reopen (GstCudaSobel *self)
{
  g_rec_mutex_lock (&self->gate);
  if (self->ring) {
    gst_cuda_sobel_gate_hold (self);
    sobel_ring_clear (self->ring);
    gst_cuda_sobel_output_forget_flow (self, GST_FLOW_OK);
    self->output_discont = TRUE;
    gst_cuda_sobel_gate_open (self);
  }
  g_rec_mutex_unlock (&self->gate);
}

gboolean
gst_cuda_sobel_gate_activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (parent);
  gboolean done;

  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  if (!active) {
    gst_cuda_sobel_gate_set_flushing (self, TRUE);
    g_rec_mutex_lock (&self->gate);
    gst_cuda_sobel_gate_set_flushing (self, TRUE);
    gst_pad_stop_task (pad);
    g_rec_mutex_unlock (&self->gate);
  }
  done = self->src_activate_mode (pad, parent, mode, active);
  if (active && done)
    reopen (self);
  return done;
}

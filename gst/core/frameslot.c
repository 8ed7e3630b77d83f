/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "framering-private.h"

#include "sobelclock.h"

/* Longest single wait inside the device, so that a flush is noticed soon. */
#define WAIT_SLICE_NS ((uint64_t) 20 * 1000 * 1000)

static void
clear_error (SobelError *error)
{
  error->status = SOBEL_STATUS_OK;
  error->message[0] = '\0';
}

/* Completes what a device said about its failure. FLUSHING and TIMEOUT would be taken for the ring's own. */
static SobelStatus
device_failed (SobelDevice *device, SobelStatus status, const char *what, unsigned slot, SobelError *error)
{
  if (status == SOBEL_STATUS_FLUSHING || status == SOBEL_STATUS_TIMEOUT)
    status = SOBEL_STATUS_DEVICE_LOST;
  if (error->message[0] == '\0')
    sobel_error_set (error, status, "%s device: %s of slot %u failed (%s)", device->ops->kind, what, slot,
                     sobel_status_name (status));
  error->status = status;
  return status;
}

/* ---- the lost device and the fallback: no lock held ------------------------------------------------ */

/* Once: whoever calls has seen that the device was not lost, and no other thread takes frames out meanwhile. Until this
 * has the lock, the producer goes on giving frames to the device, as many as there are free slots. */
static void
declare_lost (SobelRing *ring, const SobelError *error)
{
  pthread_mutex_lock (&ring->lock);
  ring->loss = *error;
  ring->loss.status = SOBEL_STATUS_DEVICE_LOST;
  ring->lost = true;
  pthread_mutex_unlock (&ring->lock);
  /* `loss` is never written again, so it is safe to hand out. */
  if (ring->options.device_lost)
    ring->options.device_lost (ring->options.user, &ring->loss);
}

static SobelStatus
run_fallback (SobelRing *ring, SobelFrame *frame, SobelError *error)
{
  SobelDevice *fallback = ring->options.fallback;
  const uint64_t limit = ring->options.give_up_ns;
  uint64_t start, waited = 0;
  SobelStatus status;

  status = fallback->ops->submit (fallback, 0, &frame->job, error);
  if (status != SOBEL_STATUS_OK)
    return device_failed (fallback, status, "submit", 0, error);
  start = sobel_now_ns ();
  for (;;) {
    clear_error (error);
    status = fallback->ops->wait (fallback, 0, limit - waited, error);
    if (status == SOBEL_STATUS_OK)
      break;
    if (status != SOBEL_STATUS_TIMEOUT)
      return device_failed (fallback, status, "wait", 0, error);
    if (waited == limit)
      return sobel_error_set (error, SOBEL_STATUS_DEVICE_LOST, "%s device did not finish a frame in %.3f s",
                              fallback->ops->kind, (double) limit / 1e9);
    waited = sobel_now_ns () - start;
    if (waited > limit)
      waited = limit; /* once more, without waiting: this thread may have been late, not the device */
  }
  fallback->ops->timing (fallback, 0, &frame->timing);
  return SOBEL_STATUS_OK;
}

static void
compute_on_fallback (SobelRing *ring, Slot *slot)
{
  SobelFrame *frame = &slot->frame;

  slot->work = WORK_SETTLED;
  pthread_mutex_lock (&ring->fallback_lock);
  if (ring->fallback_error.status == SOBEL_STATUS_OK) {
    SobelError error;

    clear_error (&error);
    if (run_fallback (ring, frame, &error) == SOBEL_STATUS_OK) {
      clear_error (&frame->error);
    } else {
      ring->fallback_error = frame->error = error;
      slot->work = WORK_FALLBACK_FAILED;
    }
  } else {
    frame->error = ring->fallback_error;
  }
  frame->status = frame->error.status;
  pthread_mutex_unlock (&ring->fallback_lock);
}

void
sobel_slot_start (SobelRing *ring, Slot *slot, bool to_device, bool to_fallback)
{
  SobelFrame *frame = &slot->frame;
  SobelDevice *device = ring->options.device;
  SobelStatus status;

  if (!frame->has_work) {
    slot->work = WORK_SETTLED;
  } else if (to_device) {
    clear_error (&frame->error);
    status = device->ops->submit (device, frame->slot, &frame->job, &frame->error);
    if (status == SOBEL_STATUS_OK) {
      slot->work = WORK_ON_DEVICE;
    } else {
      device_failed (device, status, "submit", frame->slot, &frame->error);
      slot->work = WORK_REFUSED;
    }
  } else if (to_fallback && frame->job.in.memory == SOBEL_MEMORY_HOST && frame->job.out.memory == SOBEL_MEMORY_HOST) {
    compute_on_fallback (ring, slot);
  } else {
    slot->work = WORK_HELD;
  }
}

static SobelStatus
replace_output (SobelRing *ring, SobelFrame *frame, SobelDevice *lost, SobelError *error)
{
  SobelStatus status;

  if (!ring->options.replace_output)
    return SOBEL_STATUS_OK;
  clear_error (error);
  status = ring->options.replace_output (ring->options.user, frame, lost, error);
  if (status != SOBEL_STATUS_OK && error->message[0] == '\0')
    sobel_error_set (error, status, "no other output for a frame that the %s device did not finish (%s)",
                     lost->ops->kind, sobel_status_name (status));
  error->status = status;
  return status;
}

static void
keep_memory (SobelRing *ring, Slot *slot, SobelDevice *lost)
{
  SobelError ignored;

  replace_output (ring, &slot->frame, lost, &ignored);
  slot->work = WORK_SETTLED;
}

/* Settles a frame that the device did not finish before it was lost. `wanted`: it is to come out, else only its
 * memory matters. */
static void
recover (SobelRing *ring, Slot *slot, bool wanted)
{
  SobelFrame *frame = &slot->frame;
  SobelDevice *device = ring->options.device, *fallback = ring->options.fallback;
  const bool touched = slot->work != WORK_HELD;
  const bool again = wanted && fallback && frame->job.in.memory == SOBEL_MEMORY_HOST;
  SobelError error;

  if (slot->work == WORK_FALLBACK_FAILED) {
    keep_memory (ring, slot, fallback);
    return;
  }
  slot->work = WORK_SETTLED;
  if (!again) {
    frame->error = ring->loss;
    frame->status = SOBEL_STATUS_DEVICE_LOST;
    if (touched)
      keep_memory (ring, slot, device);
    return;
  }

  clear_error (&frame->error);
  frame->status = SOBEL_STATUS_OK;
  if (touched || frame->job.out.memory != SOBEL_MEMORY_HOST) {
    if (replace_output (ring, frame, device, &error) != SOBEL_STATUS_OK) {
      frame->error = error;
      frame->status = error.status;
      return;
    }
    if (frame->job.out.memory != SOBEL_MEMORY_HOST) {
      frame->error = ring->loss;
      frame->status = SOBEL_STATUS_DEVICE_LOST;
      return;
    }
  }
  compute_on_fallback (ring, slot);
  frame->recomputed = frame->status == SOBEL_STATUS_OK;
  if (slot->work == WORK_FALLBACK_FAILED)
    keep_memory (ring, slot, fallback);
}

/* ---- taking frames out: no lock held --------------------------------------------------------------- */

/* `deadline`: SOBEL_NO_DEADLINE, or a time of the monotonic clock; with one, flushing does not end the wait. */
static SobelStatus
wait_for_device (SobelRing *ring, Slot *slot, uint64_t deadline, SobelError *error)
{
  SobelDevice *device = ring->options.device;
  const SobelFrame *frame = &slot->frame;
  const uint64_t limit = ring->options.give_up_ns;
  const uint64_t start =
      frame->submitted_ns > ring->last_finished_ns ? frame->submitted_ns : ring->last_finished_ns;

  for (;;) {
    const uint64_t now = sobel_now_ns ();
    const uint64_t waited = now > start ? now - start : 0;
    uint64_t left = waited < limit ? limit - waited : 0;
    SobelStatus status;

    if (deadline != SOBEL_NO_DEADLINE && (deadline <= now || deadline - now < left))
      left = deadline > now ? deadline - now : 0;
    clear_error (error);
    /* Asked once more when nothing is left: this thread may have been late, not the device. */
    status = device->ops->wait (device, frame->slot, left < WAIT_SLICE_NS ? left : WAIT_SLICE_NS, error);
    if (status == SOBEL_STATUS_OK)
      return SOBEL_STATUS_OK;
    if (status != SOBEL_STATUS_TIMEOUT)
      return device_failed (device, status, "wait", frame->slot, error);
    if (left == 0)
      return sobel_error_set (error, SOBEL_STATUS_DEVICE_LOST,
                              "%s device did not finish the frame in slot %u in %.3f s (limit %.3f s)",
                              device->ops->kind, frame->slot, (double) waited / 1e9, (double) limit / 1e9);
    if (deadline == SOBEL_NO_DEADLINE && atomic_load_explicit (&ring->flushing, memory_order_relaxed))
      return SOBEL_STATUS_FLUSHING;
  }
}

SobelStatus
sobel_slot_settle (SobelRing *ring, Slot *slot, uint64_t deadline)
{
  SobelFrame *frame = &slot->frame;
  SobelError error;

  if (slot->work == WORK_ON_DEVICE && !ring->lost) {
    const SobelStatus status = wait_for_device (ring, slot, deadline, &error);

    if (status == SOBEL_STATUS_FLUSHING)
      return status;
    if (status == SOBEL_STATUS_OK) {
      ring->options.device->ops->timing (ring->options.device, frame->slot, &frame->timing);
      slot->work = WORK_SETTLED;
    } else {
      declare_lost (ring, &error);
    }
  } else if (slot->work == WORK_REFUSED && !ring->lost) {
    error = frame->error;
    declare_lost (ring, &error);
  }
  if (slot->work != WORK_SETTLED)
    recover (ring, slot, deadline == SOBEL_NO_DEADLINE);
  frame->finished_ns = sobel_now_ns ();
  if (frame->has_work)
    ring->last_finished_ns = frame->finished_ns;
  return SOBEL_STATUS_OK;
}


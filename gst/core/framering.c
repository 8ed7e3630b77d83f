/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "framering-private.h"

#include "sobelclock.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A sleeping thread took 80 us to wake up where this was measured (a virtual machine), and the calls that queue a
 * frame's work as long when their code had left the caches: one after the other, they were most of the latency of a
 * live frame. */
enum { LOOK_OUT_NS = 200 * 1000 };

/* ---- life ------------------------------------------------------------------------------------------ */

static bool
init_locks (SobelRing *ring)
{
  pthread_cond_t *const cond[] = { &ring->freed, &ring->filled, &ring->left, &ring->quiet };
  unsigned i;

  if (pthread_mutex_init (&ring->lock, NULL) != 0)
    return false;
  if (pthread_mutex_init (&ring->fallback_lock, NULL) != 0) {
    pthread_mutex_destroy (&ring->lock);
    return false;
  }
  for (i = 0; i < sizeof cond / sizeof cond[0]; i++) {
    if (pthread_cond_init (cond[i], NULL) != 0) {
      while (i > 0)
        pthread_cond_destroy (cond[--i]);
      pthread_mutex_destroy (&ring->fallback_lock);
      pthread_mutex_destroy (&ring->lock);
      return false;
    }
  }
  return true;
}

SobelRing *
sobel_ring_new (const SobelRingOptions *options)
{
  SobelRing *ring = NULL;
  unsigned i;

  if (!options)
    return NULL;
  if (options->device && (!options->fallback || options->replace_output))
    ring = calloc (1, sizeof *ring);
  if (ring && !init_locks (ring)) {
    free (ring);
    ring = NULL;
  }
  if (!ring) {
    SobelDevice *device = options->device, *fallback = options->fallback;

    sobel_device_destroy (&device);
    sobel_device_destroy (&fallback);
    return NULL;
  }
  ring->options = *options;
  atomic_init (&ring->flushing, false);
  atomic_init (&ring->frame_comes, false);
  for (i = 0; i < SOBEL_RING_MAX_SLOTS; i++)
    ring->slot[i].frame.slot = i;
  return ring;
}

void
sobel_ring_free (SobelRing *ring)
{
  if (!ring)
    return;
  sobel_ring_set_flushing (ring, true);
  sobel_ring_clear (ring);
  sobel_device_destroy (&ring->options.device);
  sobel_device_destroy (&ring->options.fallback);
  pthread_cond_destroy (&ring->freed);
  pthread_cond_destroy (&ring->filled);
  pthread_cond_destroy (&ring->left);
  pthread_cond_destroy (&ring->quiet);
  pthread_mutex_destroy (&ring->fallback_lock);
  pthread_mutex_destroy (&ring->lock);
  free (ring);
}

/* Nothing in flight and nothing being filled. With the lock held. */
static bool
is_empty (const SobelRing *ring)
{
  return ring->in_flight == 0 &&
         (ring->n_slots == 0 || ring->slot[ring->submitted % ring->n_slots].state == SLOT_FREE);
}

static SobelStatus
configure_devices (SobelRing *ring, bool lost, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  SobelDevice *device = ring->options.device, *fallback = ring->options.fallback;
  SobelStatus status = SOBEL_STATUS_OK;

  if (!lost)
    status = device->ops->configure (device, config, n_slots, error);
  else if (!fallback)
    status = sobel_error_set (error, SOBEL_STATUS_DEVICE_LOST, "%s", ring->loss.message);
  if (status != SOBEL_STATUS_OK || !fallback)
    return status;

  pthread_mutex_lock (&ring->fallback_lock);
  if (ring->fallback_error.status == SOBEL_STATUS_OK)
    status = fallback->ops->configure (fallback, config, 1, error);
  else
    status = sobel_error_set (error, SOBEL_STATUS_DEVICE_LOST, "%s", ring->fallback_error.message);
  pthread_mutex_unlock (&ring->fallback_lock);
  return status;
}

SobelStatus
sobel_ring_configure (SobelRing *ring, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  SobelStatus status;
  bool lost;

  if (!ring || !config)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "frame ring: configured without a configuration");
  if (n_slots < 1 || n_slots > SOBEL_RING_MAX_SLOTS)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "frame ring: %u slots asked for, 1 to %d possible", n_slots,
                            SOBEL_RING_MAX_SLOTS);
  pthread_mutex_lock (&ring->lock);
  if (!is_empty (ring)) {
    const unsigned in_flight = ring->in_flight;

    pthread_mutex_unlock (&ring->lock);
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "frame ring: cannot be configured with %u frames in flight",
                            in_flight);
  }
  ring->n_slots = 0; /* until the devices are ready, begin is refused */
  lost = ring->lost;
  pthread_mutex_unlock (&ring->lock);

  status = configure_devices (ring, lost, config, n_slots, error);

  pthread_mutex_lock (&ring->lock);
  if (status == SOBEL_STATUS_OK)
    ring->n_slots = n_slots;
  pthread_mutex_unlock (&ring->lock);
  return status;
}

SobelStatus
sobel_ring_use_fallback (SobelRing *ring)
{
  SobelStatus status = SOBEL_STATUS_INVALID;

  if (!ring || !ring->options.fallback)
    return SOBEL_STATUS_INVALID;
  pthread_mutex_lock (&ring->lock);
  if (is_empty (ring)) {
    if (!ring->lost) {
      sobel_error_set (&ring->loss, SOBEL_STATUS_DEVICE_LOST, "%s device was given up for the %s device",
                       ring->options.device->ops->kind, ring->options.fallback->ops->kind);
      ring->lost = true;
    }
    status = SOBEL_STATUS_OK;
  }
  pthread_mutex_unlock (&ring->lock);
  return status;
}

SobelStatus
sobel_ring_replace_device (SobelRing *ring, SobelDevice *device)
{
  SobelStatus status = SOBEL_STATUS_INVALID;
  SobelDevice *old = NULL;

  if (!ring || !device)
    return SOBEL_STATUS_INVALID;
  pthread_mutex_lock (&ring->lock);
  if (is_empty (ring) && !ring->lost && !ring->refused) {
    ring->n_slots = 0; /* until the new device is configured, begin is refused */
    old = ring->options.device;
    ring->options.device = device;
    status = SOBEL_STATUS_OK;
  }
  pthread_mutex_unlock (&ring->lock);
  sobel_device_destroy (&old);
  return status;
}

/* ---- producer -------------------------------------------------------------------------------------- */

SobelStatus
sobel_ring_begin (SobelRing *ring, SobelFrame **frame)
{
  SobelStatus status = SOBEL_STATUS_OK;
  Slot *slot = NULL;

  if (!ring || !frame)
    return SOBEL_STATUS_INVALID;
  *frame = NULL;
  pthread_mutex_lock (&ring->lock);
  for (;;) {
    if (atomic_load_explicit (&ring->flushing, memory_order_relaxed)) {
      status = SOBEL_STATUS_FLUSHING;
      break;
    }
    if (ring->n_slots == 0) {
      status = SOBEL_STATUS_INVALID;
      break;
    }
    slot = &ring->slot[ring->submitted % ring->n_slots];
    if (slot->state == SLOT_FREE) {
      slot->state = SLOT_FILLING;
      break;
    }
    if (slot->state == SLOT_FILLING || slot->state == SLOT_SUBMITTING || ring->producer_waits) {
      status = SOBEL_STATUS_INVALID; /* a second producer, or a second frame before the first was submitted */
      break;
    }
    ring->producer_waits = true;
    pthread_cond_wait (&ring->freed, &ring->lock);
    ring->producer_waits = false;
  }
  pthread_mutex_unlock (&ring->lock);
  if (status == SOBEL_STATUS_OK) {
    const unsigned index = slot->frame.slot;

    memset (&slot->frame, 0, sizeof slot->frame);
    slot->frame.slot = index;
    *frame = &slot->frame;
  }
  return status;
}

/* The slot being filled if that is `frame`, else NULL. With the lock held. */
static Slot *
filling_slot (SobelRing *ring, const SobelFrame *frame)
{
  Slot *slot;

  if (ring->n_slots == 0)
    return NULL;
  slot = &ring->slot[ring->submitted % ring->n_slots];
  return frame == &slot->frame && slot->state == SLOT_FILLING ? slot : NULL;
}

void
sobel_ring_cancel (SobelRing *ring, SobelFrame *frame)
{
  Slot *slot;

  if (!ring || !frame)
    return;
  pthread_mutex_lock (&ring->lock);
  slot = filling_slot (ring, frame);
  if (slot)
    slot->state = SLOT_FREE;
  pthread_mutex_unlock (&ring->lock);
}

void
sobel_ring_submit (SobelRing *ring, SobelFrame *frame)
{
  Slot *slot;
  bool to_device, to_fallback, comes, wake_consumer, wake_clear;

  if (!ring || !frame)
    return;
  pthread_mutex_lock (&ring->lock);
  slot = filling_slot (ring, frame);
  if (!slot) {
    pthread_mutex_unlock (&ring->lock);
    return;
  }
  slot->state = SLOT_SUBMITTING;
  ring->inside_submit = true;
  to_device = !ring->lost && !ring->refused;
  to_fallback = ring->lost && ring->options.fallback;
  comes = to_device && frame->has_work && sobel_device_is_asynchronous (ring->options.device);
  atomic_store_explicit (&ring->frame_comes, comes, memory_order_relaxed);
  wake_consumer = comes && ring->consumer_waits;
  pthread_mutex_unlock (&ring->lock);
  /* It wakes up while the work is being queued. */
  if (wake_consumer)
    pthread_cond_signal (&ring->filled);

  frame->submitted_ns = sobel_now_ns ();
  sobel_slot_start (ring, slot, to_device, to_fallback);
  if (ring->options.submitted)
    ring->options.submitted (ring->options.user, frame);

  pthread_mutex_lock (&ring->lock);
  if (slot->work == WORK_REFUSED)
    ring->refused = true;
  slot->state = SLOT_IN_FLIGHT;
  ring->submitted++;
  ring->in_flight++;
  ring->inside_submit = false;
  atomic_store_explicit (&ring->frame_comes, false, memory_order_relaxed);
  wake_consumer = ring->consumer_waits;
  wake_clear = ring->clears_waiting > 0;
  pthread_mutex_unlock (&ring->lock);
  if (wake_consumer)
    pthread_cond_signal (&ring->filled);
  if (wake_clear)
    pthread_cond_broadcast (&ring->quiet);
}

/* ---- consumer -------------------------------------------------------------------------------------- */

/* Looks out for a frame that is just being submitted, for as long as a wake-up takes. With the lock held, which is let
 * go meanwhile. */
static void
look_out (SobelRing *ring)
{
  const uint64_t start = sobel_now_ns ();

  pthread_mutex_unlock (&ring->lock);
  while (atomic_load_explicit (&ring->frame_comes, memory_order_relaxed) &&
         !atomic_load_explicit (&ring->flushing, memory_order_relaxed) && sobel_now_ns () - start < LOOK_OUT_NS)
    sched_yield ();
  pthread_mutex_lock (&ring->lock);
}

/* Returns with the lock held, as it is called, when there is a frame to take or the ring is flushing. */
static void
await_frame (SobelRing *ring)
{
  bool looked = false;

  while (!atomic_load_explicit (&ring->flushing, memory_order_relaxed) && ring->taken == ring->submitted) {
    if (!looked && atomic_load_explicit (&ring->frame_comes, memory_order_relaxed)) {
      looked = true;
      look_out (ring);
      continue;
    }
    ring->consumer_waits = true;
    pthread_cond_wait (&ring->filled, &ring->lock);
    ring->consumer_waits = false;
  }
}

SobelStatus
sobel_ring_next (SobelRing *ring, SobelFrame **frame)
{
  SobelStatus status = SOBEL_STATUS_OK;
  Slot *slot = NULL;
  bool wake_clear;

  if (!ring || !frame)
    return SOBEL_STATUS_INVALID;
  *frame = NULL;
  pthread_mutex_lock (&ring->lock);
  if (ring->inside_next) {
    pthread_mutex_unlock (&ring->lock);
    return SOBEL_STATUS_INVALID; /* a second consumer */
  }
  ring->inside_next = true;
  await_frame (ring);
  if (!atomic_load_explicit (&ring->flushing, memory_order_relaxed)) {
    slot = &ring->slot[ring->taken % ring->n_slots];
    pthread_mutex_unlock (&ring->lock);
    status = sobel_slot_settle (ring, slot, SOBEL_NO_DEADLINE);
    pthread_mutex_lock (&ring->lock);
  }
  /* A flush that came meanwhile takes the frame: it stays where it is, for clear. */
  if (atomic_load_explicit (&ring->flushing, memory_order_relaxed))
    status = SOBEL_STATUS_FLUSHING;
  if (status == SOBEL_STATUS_OK) {
    slot->state = SLOT_LEAVING;
    ring->taken++;
    *frame = &slot->frame;
  }
  ring->inside_next = false;
  wake_clear = ring->clears_waiting > 0;
  pthread_mutex_unlock (&ring->lock);
  if (wake_clear)
    pthread_cond_broadcast (&ring->quiet);
  return status;
}

/* The slot is free again. With the lock held; says whom to wake after it. */
static void
free_slot (SobelRing *ring, Slot *slot, bool *wake_producer, bool *wake_drains)
{
  slot->state = SLOT_FREE;
  ring->in_flight--;
  *wake_producer = ring->producer_waits && slot == &ring->slot[ring->submitted % ring->n_slots];
  *wake_drains = ring->drains_waiting > 0 && ring->in_flight == 0;
}

void
sobel_ring_release (SobelRing *ring, SobelFrame *frame)
{
  bool wake_producer = false, wake_drains = false;
  unsigned i;

  if (!ring || !frame)
    return;
  pthread_mutex_lock (&ring->lock);
  for (i = 0; i < ring->n_slots; i++)
    if (frame == &ring->slot[i].frame && ring->slot[i].state == SLOT_LEAVING)
      free_slot (ring, &ring->slot[i], &wake_producer, &wake_drains);
  pthread_mutex_unlock (&ring->lock);
  if (wake_producer)
    pthread_cond_signal (&ring->freed);
  if (wake_drains)
    pthread_cond_broadcast (&ring->left);
}

/* ---- draining and flushing ------------------------------------------------------------------------- */

SobelStatus
sobel_ring_drain (SobelRing *ring)
{
  SobelStatus status;

  if (!ring)
    return SOBEL_STATUS_INVALID;
  pthread_mutex_lock (&ring->lock);
  ring->drains_waiting++;
  while (!atomic_load_explicit (&ring->flushing, memory_order_relaxed) && ring->in_flight > 0)
    pthread_cond_wait (&ring->left, &ring->lock);
  ring->drains_waiting--;
  status = atomic_load_explicit (&ring->flushing, memory_order_relaxed) ? SOBEL_STATUS_FLUSHING : SOBEL_STATUS_OK;
  pthread_mutex_unlock (&ring->lock);
  return status;
}

void
sobel_ring_set_flushing (SobelRing *ring, bool flushing)
{
  if (!ring)
    return;
  pthread_mutex_lock (&ring->lock);
  atomic_store_explicit (&ring->flushing, flushing, memory_order_relaxed);
  if (flushing) {
    pthread_cond_broadcast (&ring->freed);
    pthread_cond_broadcast (&ring->filled);
    pthread_cond_broadcast (&ring->left);
  }
  pthread_mutex_unlock (&ring->lock);
}

void
sobel_ring_clear (SobelRing *ring)
{
  uint64_t now, limit, deadline;

  if (!ring)
    return;
  pthread_mutex_lock (&ring->lock);
  ring->clears_waiting++;
  while (ring->inside_next || ring->inside_submit)
    pthread_cond_wait (&ring->quiet, &ring->lock);
  ring->clears_waiting--;
  now = sobel_now_ns ();
  limit = SOBEL_NO_DEADLINE - 1 - now;
  deadline = now + (ring->options.give_up_ns < limit ? ring->options.give_up_ns : limit);
  while (atomic_load_explicit (&ring->flushing, memory_order_relaxed) && ring->taken != ring->submitted) {
    Slot *slot = &ring->slot[ring->taken % ring->n_slots];
    bool wake_producer, wake_drains;

    pthread_mutex_unlock (&ring->lock);
    sobel_slot_settle (ring, slot, deadline);
    if (ring->options.discard)
      ring->options.discard (ring->options.user, &slot->frame);
    pthread_mutex_lock (&ring->lock);
    ring->taken++;
    /* Nobody to wake: whoever waited has left, as the ring is flushing. */
    free_slot (ring, slot, &wake_producer, &wake_drains);
  }
  pthread_mutex_unlock (&ring->lock);
}

/* ---- questions ------------------------------------------------------------------------------------- */

SobelDevice *
sobel_ring_device (SobelRing *ring)
{
  SobelDevice *device;

  if (!ring)
    return NULL;
  pthread_mutex_lock (&ring->lock);
  device = ring->lost && ring->options.fallback ? ring->options.fallback : ring->options.device;
  pthread_mutex_unlock (&ring->lock);
  return device;
}

bool
sobel_ring_is_fallback (SobelRing *ring)
{
  bool is_fallback;

  if (!ring)
    return false;
  pthread_mutex_lock (&ring->lock);
  is_fallback = ring->lost && ring->options.fallback;
  pthread_mutex_unlock (&ring->lock);
  return is_fallback;
}

unsigned
sobel_ring_in_flight (SobelRing *ring)
{
  unsigned in_flight;

  if (!ring)
    return 0;
  pthread_mutex_lock (&ring->lock);
  in_flight = ring->in_flight;
  pthread_mutex_unlock (&ring->lock);
  return in_flight;
}

unsigned
sobel_ring_n_slots (SobelRing *ring)
{
  unsigned n_slots;

  if (!ring)
    return 0;
  pthread_mutex_lock (&ring->lock);
  n_slots = ring->n_slots;
  pthread_mutex_unlock (&ring->lock);
  return n_slots;
}

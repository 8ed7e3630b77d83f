/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Devices that do not answer, and the limit after which the frame ring gives them up. */
#include "ringrig.h"

#include <inttypes.h>
#include <string.h>

enum { N_SLOTS = 4 };

static void
test_given_up (void)
{
  const uint64_t limit = 60 * RIG_MS;
  uint64_t start, took;
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = N_SLOTS, .give_up_ns = limit });
  start = t_now_ns ();
  for (i = 0; i < N_SLOTS; i++)
    rig_push (&rig, i);
  for (i = 0; i < N_SLOTS; i++)
    rig_expect (&rig, i, RIG_FALLBACK, "given up");
  took = t_now_ns () - start;
  /* Once, not once a frame. */
  T_CHECK (took >= limit && took < limit + 3000 * RIG_MS, "%" PRIu64 " ms", took / RIG_MS);
  T_CHECK (strstr (rig.loss.message, "did not finish"), "%s", rig.loss.message);
  T_CHECK (fake_device_calls (rig.device, FAKE_CALL_WAIT) <= 3 + 2 * limit / (20 * RIG_MS), "%u waits",
           fake_device_calls (rig.device, FAKE_CALL_WAIT));

  /* Both buffers of each frame in flight stay until the device is quiet. It writes late; that must be seen nowhere. */
  T_CHECK (atomic_load (&rig.buffers) == 2 * N_SLOTS, "%d buffers", atomic_load (&rig.buffers));
  T_CHECK (fake_device_finish_all (rig.device) == N_SLOTS, "in flight");
  T_CHECK (atomic_load (&rig.buffers) == 2 * N_SLOTS, "%d buffers", atomic_load (&rig.buffers));

  for (i = N_SLOTS; i < 3 * N_SLOTS; i++) {
    rig_push (&rig, i);
    rig_expect (&rig, i, RIG_FALLBACK, "afterwards");
  }
  rig_finish (&rig, 3 * N_SLOTS);
}

/* The limit is one frame's: of frames that take 30 ms each, one after the other, all may be in flight together. */
static void
test_slow_is_not_lost (void)
{
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_LATE, .n_slots = 16, .give_up_ns = 250 * RIG_MS });
  for (i = 0; i < 16; i++) {
    fake_device_set_finish (rig.device, FAKE_FINISH_LATE, 30 * RIG_MS * (i + 1), 0);
    rig_push (&rig, i);
  }
  for (i = 0; i < 16; i++)
    rig_expect (&rig, i, RIG_DEVICE, "slow");
  T_CHECK (atomic_load (&rig.lost_calls) == 0, "lost: %s", rig.loss.message);

  /* Nor is one lost that nobody came to fetch in time. */
  fake_device_set_finish (rig.device, FAKE_FINISH_LATE, RIG_MS, 0);
  rig_push (&rig, 16);
  rig_sleep (300 * RIG_MS);
  rig_expect (&rig, 16, RIG_DEVICE, "fetched late");
  rig_finish (&rig, 17);
}

/* The limit of a frame submitted long ago counts from the finish of the one before. */
static void
test_limit_starts_late (void)
{
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .n_slots = 3, .give_up_ns = 400 * RIG_MS });
  for (i = 0; i < 3; i++) {
    fake_device_set_finish (rig.device, FAKE_FINISH_LATE, 250 * RIG_MS * (i + 1), 0);
    rig_push (&rig, i);
  }
  for (i = 0; i < 3; i++) /* the last one 750 ms after its submission */
    rig_expect (&rig, i, RIG_DEVICE, "limit starts late");
  rig_finish (&rig, 3);
}

/* A device whose first wait takes far longer than it was told to, as when the process was stopped meanwhile. The
 * frame is finished by then, which only another look can show. */
typedef struct LateDevice
{
  SobelDevice device;
  unsigned waits;
} LateDevice;

static SobelStatus
late_configure (SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  return SOBEL_STATUS_OK;
}

static SobelStatus
late_submit (SobelDevice *device, unsigned slot, const SobelJob *job, SobelError *error)
{
  return SOBEL_STATUS_OK;
}

static SobelStatus
late_wait (SobelDevice *device, unsigned slot, uint64_t timeout_ns, SobelError *error)
{
  LateDevice *late = (LateDevice *) device;

  if (late->waits++ > 0)
    return SOBEL_STATUS_OK;
  rig_sleep (60 * RIG_MS);
  return SOBEL_STATUS_TIMEOUT;
}

static void
late_timing (SobelDevice *device, unsigned slot, SobelTiming *timing)
{
}

static bool
late_destroy (SobelDevice *device)
{
  return true;
}

static SobelStatus
late_replace (void *user, SobelFrame *frame, SobelDevice *lost, SobelError *error)
{
  return SOBEL_STATUS_OK;
}

static void
test_late_thread_is_no_loss (void)
{
  static const SobelDeviceOps ops = { .kind = "late",
                                      .configure = late_configure,
                                      .submit = late_submit,
                                      .wait = late_wait,
                                      .timing = late_timing,
                                      .destroy = late_destroy };
  LateDevice device = { .device.ops = &ops }, fallback = { .device.ops = &ops };
  SobelRing *ring = sobel_ring_new (&(SobelRingOptions) { .device = &device.device,
                                                          .fallback = &fallback.device,
                                                          .replace_output = late_replace,
                                                          .give_up_ns = 15 * RIG_MS });
  SobelFrame *frame;
  unsigned i;

  T_CHECK (sobel_ring_configure (ring, rig_config (), 2, NULL) == SOBEL_STATUS_OK, "configure");
  for (i = 0; i < 2; i++) { /* on the device, then on the fallback */
    T_CHECK (sobel_ring_begin (ring, &frame) == SOBEL_STATUS_OK, "begin");
    frame->has_work = true;
    sobel_ring_submit (ring, frame);
    T_CHECK (sobel_ring_next (ring, &frame) == SOBEL_STATUS_OK, "next");
    T_CHECK (frame->status == SOBEL_STATUS_OK && !frame->recomputed, "lost: %s", frame->error.message);
    sobel_ring_release (ring, frame);
    T_CHECK (sobel_ring_is_fallback (ring) == (i == 1), "fallback");
    T_CHECK (sobel_ring_use_fallback (ring) == SOBEL_STATUS_OK, "use_fallback");
  }
  T_CHECK (device.waits == 2 && fallback.waits == 2, "%u and %u waits", device.waits, fallback.waits);
  sobel_ring_free (ring);
}

/* A fallback that never answers is given up as well, in the consumer's hands and in the producer's. */
static void
test_fallback_hangs (void)
{
  RigResult result;
  unsigned in_flight, i;
  Rig rig;

  for (in_flight = 0; in_flight < 2; in_flight++) {
    rig_init (&rig, &(RigOptions) { .fallback.finish = FAKE_FINISH_TOLD, .n_slots = 2, .give_up_ns = 50 * RIG_MS });
    if (in_flight) {
      fake_device_fail (rig.device, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
    } else {
      T_CHECK (sobel_ring_use_fallback (rig.ring) == SOBEL_STATUS_OK, "use_fallback");
    }
    for (i = 0; i < 2; i++)
      rig_push (&rig, i);
    for (i = 0; i < 2; i++) {
      T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK && result.serial == i, "%u", i);
      T_CHECK (result.status == SOBEL_STATUS_DEVICE_LOST && strstr (result.error.message, "did not finish"), "%s",
               result.error.message);
    }
    T_CHECK (fake_device_calls (rig.fallback, FAKE_CALL_SUBMIT) == 1, "submitted to a device that hangs");
    T_CHECK (atomic_load (&rig.kept_only) == 1, "%u", atomic_load (&rig.kept_only));
    T_CHECK (atomic_load (&rig.buffers) == (in_flight ? 6 : 2), "%d", atomic_load (&rig.buffers));
    rig_finish (&rig, 2);
  }
}

/* ---- flushing and freeing --------------------------------------------------------------------------- */

static void
clear (Rig *rig)
{
  sobel_ring_set_flushing (rig->ring, true);
  sobel_ring_clear (rig->ring);
  sobel_ring_set_flushing (rig->ring, false);
}

/* Flushing away what a device hangs on: the memory stays, the frames go, and the fallback goes on. */
static void
test_clear_of_hung_device (void)
{
  unsigned i, refused;
  uint64_t start, took;
  Rig rig;

  for (refused = 0; refused < 2; refused++) {
    rig_init (&rig,
              &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = N_SLOTS, .give_up_ns = 60 * RIG_MS });
    if (refused)
      fake_device_fail (rig.device, FAKE_CALL_SUBMIT, 1, SOBEL_STATUS_OK);
    for (i = 0; i < N_SLOTS; i++)
      rig_push (&rig, i);
    start = t_now_ns ();
    clear (&rig);
    took = t_now_ns () - start;
    T_CHECK (refused || took >= 30 * RIG_MS, "%" PRIu64 " ms", took / RIG_MS);
    T_CHECK (took < 3000 * RIG_MS, "%" PRIu64 " ms", took / RIG_MS);
    T_CHECK (atomic_load (&rig.discarded) == N_SLOTS && sobel_ring_in_flight (rig.ring) == 0, "%u discarded",
             atomic_load (&rig.discarded));
    T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
    T_CHECK (atomic_load (&rig.buffers) == (refused ? 2 : 2 * N_SLOTS), "%d buffers", atomic_load (&rig.buffers));
    T_CHECK (atomic_load (&rig.replaced) == 0, "%u", atomic_load (&rig.replaced));
    fake_device_finish_all (rig.device); /* late writes */
    for (i = 0; i < 2 * N_SLOTS; i++) {
      rig_push (&rig, i);
      rig_expect (&rig, i, RIG_FALLBACK, "after the flush");
    }
    rig_finish (&rig, 2 * N_SLOTS);
  }
}

/* Many frames that are each within the limit, but not together: a flush does not take longer than one limit. */
static void
test_clear_is_bounded (void)
{
  unsigned i;
  uint64_t start, took;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .n_slots = 16, .give_up_ns = 300 * RIG_MS });
  for (i = 0; i < 16; i++) {
    fake_device_set_finish (rig.device, FAKE_FINISH_LATE, 100 * RIG_MS * (i + 1), 0);
    rig_push (&rig, i);
  }
  start = t_now_ns ();
  clear (&rig);
  took = t_now_ns () - start;
  T_CHECK (took < 1500 * RIG_MS, "%" PRIu64 " ms", took / RIG_MS);
  T_CHECK (atomic_load (&rig.discarded) == 16, "%u", atomic_load (&rig.discarded));
  T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
  T_CHECK (atomic_load (&rig.last_discarded) == 15, "%u", atomic_load (&rig.last_discarded));
  rig_finish (&rig, 0);
}

/* Freeing does not wait for a device that hangs; it and its memory live on until it is quiet. */
static void
test_free_of_hung_device (void)
{
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = N_SLOTS, .give_up_ns = 60 * RIG_MS });
  for (i = 0; i < N_SLOTS; i++)
    rig_push (&rig, i);
  sobel_ring_free (rig.ring);
  rig.ring = NULL;
  T_CHECK (atomic_load (&rig.frames) == 0 && atomic_load (&rig.buffers) == 2 * N_SLOTS, "%d frames, %d buffers",
           atomic_load (&rig.frames), atomic_load (&rig.buffers));
  T_CHECK (fake_device_destroyed (rig.fallback) && !fake_device_destroyed (rig.device), "destroyed");
  T_CHECK (sobel_device_reap () == 1, "%u", sobel_device_reap ());
  for (i = 0; i < N_SLOTS; i++) {
    T_CHECK (fake_device_finish (rig.device, i) == 1, "%u", i);
    T_CHECK (sobel_device_reap () == (i < N_SLOTS - 1 ? 1 : 0), "%u of %d done", i + 1, N_SLOTS);
  }
  T_CHECK (atomic_load (&rig.buffers) == 0 && fake_device_destroyed (rig.device), "%d buffers",
           atomic_load (&rig.buffers));
  rig_finish (&rig, 0);
}

int
main (void)
{
  test_given_up ();
  test_slow_is_not_lost ();
  test_limit_starts_late ();
  test_late_thread_is_no_loss ();
  test_fallback_hangs ();
  test_clear_of_hung_device ();
  test_clear_is_bounded ();
  test_free_of_hung_device ();
  return t_result ();
}

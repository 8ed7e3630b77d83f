/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the frame ring does when a device fails: recomputation in order, errors, and who keeps which memory. */
#include "ringrig.h"

#include <inttypes.h>
#include <string.h>

enum { N_SLOTS = 4, N_FRAMES = 12 };

/* A full ring; then, as each frame leaves, the next is submitted. */
static unsigned
run_frames (Rig *rig, unsigned n, RigResult *result)
{
  unsigned pushed = 0, pulled = 0;

  while (pulled < n) {
    while (pushed < n && pushed < pulled + N_SLOTS)
      T_CHECK (rig_push (rig, pushed++) == SOBEL_STATUS_OK, "push %u", pushed - 1);
    if (!T_CHECK (rig_pull (rig, &result[pulled]) == SOBEL_STATUS_OK, "pull %u", pulled))
      return pulled;
    T_CHECK (result[pulled].serial == pulled, "frame %" PRIu64 " came where %u should", result[pulled].serial, pulled);
    pulled++;
  }
  return pulled;
}

/* The device fails in the k-th call of `call`. Frames before it are the device's, those in flight then are computed
 * again, later ones go to the fallback at once. */
static void
fails_at (FakeCall call, unsigned k, FakeFinish finish)
{
  RigResult result[N_FRAMES];
  Rig rig;
  unsigned i, calls;

  rig_init (&rig, &(RigOptions) { .device = { .finish = finish, .delay_ns = RIG_MS / 10 }, .n_slots = N_SLOTS });
  fake_device_fail (rig.device, call, k + 1, SOBEL_STATUS_OK);
  run_frames (&rig, N_FRAMES, result);
  for (i = 0; i < N_FRAMES; i++) {
    /* When frame k's turn comes, it and up to N_SLOTS - 1 after it are in flight. */
    const bool in_flight = i >= k && i < k + N_SLOTS;

    T_CHECK (result[i].status == SOBEL_STATUS_OK, "%u of %u: %s", i, k, result[i].error.message);
    T_CHECK (result[i].value == (i < k ? RIG_DEVICE : RIG_FALLBACK), "%u of %u: %" PRIx64, i, k, result[i].value);
    T_CHECK (result[i].recomputed == in_flight, "%u of %u: %d", i, k, result[i].recomputed);
    T_CHECK (result[i].timing.upload_ns == 1000, "%u of %u", i, k);
  }
  T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
  T_CHECK (strstr (rig.loss.message, "as planned"), "%s", rig.loss.message);
  T_CHECK (atomic_load (&rig.kept_only) == 0, "%u", atomic_load (&rig.kept_only));
  /* Frames that the device never saw keep their memory. */
  calls = fake_device_calls (rig.device, FAKE_CALL_SUBMIT);
  T_CHECK (atomic_load (&rig.replaced) == calls - k, "%u replaced, %u submitted, %u done", atomic_load (&rig.replaced),
           calls, k);
  T_CHECK (sobel_ring_is_fallback (rig.ring), "no fallback");
  T_CHECK (sobel_ring_device (rig.ring) == fake_device_seam (rig.fallback), "device");
  rig_finish (&rig, N_FRAMES);
}

static void
test_error_in_slot (void)
{
  unsigned k;

  for (k = 0; k < 2 * N_SLOTS; k++) {
    fails_at (FAKE_CALL_WAIT, k, FAKE_FINISH_AT_ONCE);
    fails_at (FAKE_CALL_SUBMIT, k, FAKE_FINISH_AT_ONCE);
    fails_at (FAKE_CALL_SUBMIT, k, FAKE_FINISH_LATE);
  }
}

/* Without a fallback, frame k and all after it carry the reason. */
static void
test_without_fallback (void)
{
  const FakeCall call[] = { FAKE_CALL_WAIT, FAKE_CALL_SUBMIT };
  RigResult result[N_FRAMES];
  SobelError error;
  unsigned c, i;
  Rig rig;

  for (c = 0; c < 2; c++) {
    rig_init (&rig, &(RigOptions) { .without_fallback = true, .n_slots = N_SLOTS });
    fake_device_fail (rig.device, call[c], 6, SOBEL_STATUS_NO_MEMORY);
    run_frames (&rig, N_FRAMES, result);
    for (i = 0; i < N_FRAMES; i++) {
      T_CHECK (result[i].status == (i < 5 ? SOBEL_STATUS_OK : SOBEL_STATUS_DEVICE_LOST), "%u: %s", i,
               sobel_status_name (result[i].status));
      T_CHECK (i < 5 || strcmp (result[i].error.message, rig.loss.message) == 0, "%u: %s", i, result[i].error.message);
      T_CHECK (!result[i].recomputed && result[i].value == (i < 5 ? RIG_DEVICE : 0), "%u", i);
    }
    T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
    T_CHECK (atomic_load (&rig.kept_only) == fake_device_calls (rig.device, FAKE_CALL_SUBMIT) - 5, "%u kept",
             atomic_load (&rig.kept_only));
    T_CHECK (!sobel_ring_is_fallback (rig.ring), "fallback");
    T_CHECK (sobel_ring_device (rig.ring) == fake_device_seam (rig.device), "device");
    T_CHECK (sobel_ring_use_fallback (rig.ring) == SOBEL_STATUS_INVALID, "use_fallback");
    T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_DEVICE_LOST, "configure");
    T_CHECK (strcmp (error.message, rig.loss.message) == 0, "%s", error.message);
    rig_finish (&rig, N_FRAMES);
  }
}

/* Frames whose input is in device memory are gone with it; those whose output only was to be there are not. */
static void
test_device_memory (void)
{
  static const RigMemory memory[] = { RIG_HOST, RIG_DEVICE_IN, RIG_DEVICE_OUT, RIG_HOST, RIG_DEVICE_IN, RIG_DEVICE_OUT };
  RigResult result;
  unsigned i, serial = 0;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .n_slots = 6 });
  for (i = 0; i < 6; i++)
    rig_push_kind (&rig, serial + i, true, memory[i]);
  for (i = 0; i < 6; i++)
    rig_expect (&rig, serial + i, RIG_DEVICE, "device memory");
  serial += 6;
  fake_device_fail (rig.device, FAKE_CALL_WAIT, 2, SOBEL_STATUS_OK);
  for (i = 0; i < 6; i++)
    rig_push_kind (&rig, serial + i, true, memory[i]);
  rig_expect (&rig, serial, RIG_DEVICE, "before the loss");
  for (i = 1; i < 6; i++) {
    const bool lost = memory[i] == RIG_DEVICE_IN;

    T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK && result.serial == serial + i, "%u", i);
    T_CHECK (result.status == (lost ? SOBEL_STATUS_DEVICE_LOST : SOBEL_STATUS_OK), "%u: %s", i, result.error.message);
    T_CHECK (result.recomputed == !lost && result.value == (lost ? 0 : RIG_FALLBACK), "%u", i);
  }
  /* After the loss too: a producer may not have known yet. */
  serial += 6;
  for (i = 0; i < 6; i++)
    rig_push_kind (&rig, serial + i, true, memory[i]);
  for (i = 0; i < 6; i++) {
    const bool lost = memory[i] == RIG_DEVICE_IN;

    T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK && result.serial == serial + i, "%u", i);
    T_CHECK (result.status == (lost ? SOBEL_STATUS_DEVICE_LOST : SOBEL_STATUS_OK), "%u: %s", i, result.error.message);
    T_CHECK (result.value == (lost ? 0 : RIG_FALLBACK), "%u", i);
  }
  rig_finish (&rig, 18);
}

/* No other buffer for one frame: that one fails, the rest is computed. */
static void
test_replace_fails (void)
{
  RigResult result;
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .n_slots = N_SLOTS });
  fake_device_fail (rig.device, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  for (i = 0; i < N_SLOTS; i++)
    rig_push (&rig, i);
  atomic_store (&rig.replace_fails, true);
  T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK, "pull");
  T_CHECK (result.status == SOBEL_STATUS_NO_MEMORY && strstr (result.error.message, "as planned"), "%s",
           result.error.message);
  T_CHECK (!result.recomputed, "recomputed");
  atomic_store (&rig.replace_fails, false);
  for (i = 1; i < N_SLOTS; i++)
    rig_expect (&rig, i, RIG_FALLBACK, "replace fails");
  rig_finish (&rig, N_SLOTS);
}

/* The fallback fails in its turn: what it computed is fine, every frame after that says so, and the memory of the
 * frame that it failed at is the fallback's. */
static void
test_fallback_fails (void)
{
  const FakeCall call[] = { FAKE_CALL_WAIT, FAKE_CALL_SUBMIT };
  /* In this order frames reach the fallback: 3 to 6 were in flight and are computed as they leave, and whenever one has
   * left, a new one is computed at its submission. */
  static const unsigned turn[N_FRAMES - 3] = { 3, 7, 4, 8, 5, 9, 6, 10, 11 };
  RigResult result[N_FRAMES];
  SobelError error;
  unsigned c, k, i;
  Rig rig;

  for (c = 0; c < 2; c++) {
    for (k = 0; k < N_FRAMES - 3; k++) {
      rig_init (&rig, &(RigOptions) { .n_slots = N_SLOTS });
      fake_device_fail (rig.device, FAKE_CALL_WAIT, 4, SOBEL_STATUS_OK);
      fake_device_fail (rig.fallback, call[c], k + 1, SOBEL_STATUS_NO_MEMORY);
      run_frames (&rig, N_FRAMES, result);
      for (i = 0; i < N_FRAMES; i++) {
        const unsigned frame = i < 3 ? i : turn[i - 3];
        const bool computed = i < 3 + k;
        const uint64_t value = i < 3 ? RIG_DEVICE : computed ? RIG_FALLBACK : 0;

        T_CHECK (result[frame].status == (computed ? SOBEL_STATUS_OK : SOBEL_STATUS_NO_MEMORY), "%u, failure %u: %s",
                 frame, k, sobel_status_name (result[frame].status));
        T_CHECK (result[frame].value == value, "%u, failure %u: %" PRIx64, frame, k, result[frame].value);
        T_CHECK (computed || strstr (result[frame].error.message, "fake-cpu"), "%s", result[frame].error.message);
      }
      T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
      T_CHECK (atomic_load (&rig.kept_only) == 1, "%u", atomic_load (&rig.kept_only));
      T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_DEVICE_LOST, "configure");
      T_CHECK (strstr (error.message, "fake-cpu"), "%s", error.message);
      rig_finish (&rig, N_FRAMES);
    }
  }
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

/* ---- devices that do not answer --------------------------------------------------------------------- */

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

/* Frames after one that could not be submitted wait for their turn, and the device sees none of them. */
static void
test_held_back (void)
{
  RigCall next;
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = 6 });
  fake_device_fail (rig.device, FAKE_CALL_SUBMIT, 3, SOBEL_STATUS_OK);
  for (i = 0; i < 6; i++)
    rig_push_kind (&rig, i, i != 4, RIG_HOST);
  T_CHECK (fake_device_calls (rig.device, FAKE_CALL_SUBMIT) == 3, "%u submits",
           fake_device_calls (rig.device, FAKE_CALL_SUBMIT));
  T_CHECK (atomic_load (&rig.lost_calls) == 0 && !sobel_ring_is_fallback (rig.ring), "lost before its turn");
  rig_call_start (&next, &rig, rig_call_next);
  rig_sleep (30 * RIG_MS);
  T_CHECK (!atomic_load (&next.done), "frame 0 left unfinished");
  fake_device_finish (rig.device, 0);
  fake_device_finish (rig.device, 1);
  T_CHECK (rig_call_join (&next) == SOBEL_STATUS_OK, "next");
  rig_expect (&rig, 1, RIG_DEVICE, "before the loss");
  T_CHECK (atomic_load (&rig.lost_calls) == 0, "lost before its turn");
  rig_expect (&rig, 2, RIG_FALLBACK, "refused");
  T_CHECK (atomic_load (&rig.lost_calls) == 1, "not lost");
  rig_expect (&rig, 3, RIG_FALLBACK, "held back");
  rig_expect (&rig, 4, 0, "held back, without work");
  rig_expect (&rig, 5, RIG_FALLBACK, "held back");
  T_CHECK (atomic_load (&rig.replaced) == 1, "%u replaced", atomic_load (&rig.replaced));
  rig_finish (&rig, 6);
}

/* ---- reconfiguring, flushing and freeing after a loss ----------------------------------------------- */

static void
test_reconfigure_after_loss (void)
{
  SobelError error = { 0 };
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .n_slots = 4 });
  fake_device_fail (rig.device, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  rig_push (&rig, 0);
  rig_expect (&rig, 0, RIG_FALLBACK, "lost");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 8, &error) == SOBEL_STATUS_OK, "%s", error.message);
  T_CHECK (sobel_ring_n_slots (rig.ring) == 8, "%u", sobel_ring_n_slots (rig.ring));
  T_CHECK (fake_device_calls (rig.device, FAKE_CALL_CONFIGURE) == 1, "the lost device was configured");
  T_CHECK (fake_device_calls (rig.fallback, FAKE_CALL_CONFIGURE) == 2, "the fallback was not configured");
  for (i = 1; i <= 8; i++)
    rig_push (&rig, i);
  for (i = 1; i <= 8; i++)
    rig_expect (&rig, i, RIG_FALLBACK, "reconfigured");
  T_CHECK (sobel_ring_use_fallback (rig.ring) == SOBEL_STATUS_OK, "already");
  rig_finish (&rig, 9);

  /* By choice. */
  rig_init (&rig, &(RigOptions) { .n_slots = 4 });
  rig_push (&rig, 0);
  rig_expect (&rig, 0, RIG_DEVICE, "first");
  fake_device_fail (rig.device, FAKE_CALL_CONFIGURE, 1, SOBEL_STATUS_OK);
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 4, &error) == SOBEL_STATUS_NO_MEMORY, "configure");
  T_CHECK (sobel_ring_use_fallback (rig.ring) == SOBEL_STATUS_OK, "use_fallback");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 4, &error) == SOBEL_STATUS_OK, "%s", error.message);
  T_CHECK (sobel_ring_is_fallback (rig.ring) && atomic_load (&rig.lost_calls) == 0, "fallback");
  rig_push (&rig, 1);
  rig_expect (&rig, 1, RIG_FALLBACK, "by choice");
  T_CHECK (atomic_load (&rig.replaced) == 0, "%u", atomic_load (&rig.replaced));
  rig_finish (&rig, 2);
}

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
  test_error_in_slot ();
  test_without_fallback ();
  test_device_memory ();
  test_replace_fails ();
  test_fallback_fails ();
  test_fallback_hangs ();
  test_given_up ();
  test_slow_is_not_lost ();
  test_limit_starts_late ();
  test_held_back ();
  test_reconfigure_after_loss ();
  test_clear_of_hung_device ();
  test_clear_is_bounded ();
  test_free_of_hung_device ();
  return t_result ();
}

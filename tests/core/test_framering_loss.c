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
  static const RigMemory memory[] = { RIG_HOST, RIG_DEVICE_IN, RIG_DEVICE_OUT,
                                      RIG_HOST, RIG_DEVICE_IN, RIG_DEVICE_OUT };
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

/* A callback that leaves the output in device memory, where the fallback cannot write: no frame may come of it. */
static void
test_nothing_replaced (void)
{
  RigResult result;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .n_slots = 2 });
  fake_device_fail (rig.device, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  atomic_store (&rig.replace_does_nothing, true);
  rig_push_kind (&rig, 0, true, RIG_DEVICE_OUT);
  T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK, "pull");
  T_CHECK (result.status == SOBEL_STATUS_DEVICE_LOST && !result.recomputed, "%s", sobel_status_name (result.status));
  T_CHECK (fake_device_calls (rig.fallback, FAKE_CALL_SUBMIT) == 0, "given to the fallback");
  rig_finish (&rig, 1);
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

static void
slow_compute (void *user, const SobelConfig *config, const SobelJob *job)
{
  const uint64_t value = *(uint64_t *) job->in.plane[0].data + RIG_FALLBACK;

  rig_sleep (20 * RIG_MS);
  *(uint64_t *) job->out.plane[0].data = value;
}

static SobelStatus
pull_four (Rig *rig)
{
  unsigned i;

  for (i = 0; i < 4; i++)
    rig_expect (rig, i, RIG_FALLBACK, "again");
  return SOBEL_STATUS_OK;
}

/* The consumer computes old frames again while the producer brings new ones: the fallback has one caller at a time,
 * which it checks itself. */
static void
test_fallback_has_one_caller (void)
{
  RigCall pull;
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .fallback.compute = slow_compute, .n_slots = 8 });
  fake_device_fail (rig.device, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  for (i = 0; i < 4; i++)
    rig_push (&rig, i);
  rig_call_start (&pull, &rig, pull_four);
  T_CHECK (fake_device_await_submits (rig.fallback, 1, RIG_LONG), "not recomputed");
  for (i = 4; i < 8; i++)
    rig_push (&rig, i);
  T_CHECK (rig_call_join (&pull) == SOBEL_STATUS_OK, "pull");
  for (i = 4; i < 8; i++)
    rig_expect (&rig, i, RIG_FALLBACK, "new");
  rig_finish (&rig, 8);
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

/* ---- between the failure and its being known ------------------------------------------------------- */

typedef struct Unaware
{
  unsigned n_slots;
  unsigned refused; /* submit number, from 1, that fails too; 0: none */
  bool without_fallback;
} Unaware;

/* The wait for frame 0 has failed inside the device, and the consumer has not yet come to say so: the producer goes on
 * to fill the ring, which is as much as it can do. */
static void
fill_unaware (const Unaware *u)
{
  const unsigned on_device = u->refused > 0 ? u->refused : u->n_slots;
  RigResult result;
  RigCall next, begin;
  unsigned i;
  Rig rig;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD,
                                  .without_fallback = u->without_fallback,
                                  .n_slots = u->n_slots });
  fake_device_hold_failure (rig.device, true);
  fake_device_fail (rig.device, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  fake_device_fail (rig.device, FAKE_CALL_SUBMIT, u->refused, SOBEL_STATUS_OK);
  rig_push (&rig, 0);
  rig_call_start (&next, &rig, rig_call_next);
  while (fake_device_calls (rig.device, FAKE_CALL_WAIT) == 0)
    rig_sleep (RIG_MS / 10);
  for (i = 1; i < u->n_slots; i++)
    T_CHECK (rig_push (&rig, i) == SOBEL_STATUS_OK, "frame %u", i);
  T_CHECK (fake_device_calls (rig.device, FAKE_CALL_SUBMIT) == on_device, "%u of %u submits",
           fake_device_calls (rig.device, FAKE_CALL_SUBMIT), on_device);
  rig_call_start (&begin, &rig, rig_call_begin);
  rig_sleep (5 * RIG_MS);
  T_CHECK (!atomic_load (&begin.done) && !atomic_load (&next.done) && atomic_load (&rig.lost_calls) == 0,
           "known before it was told");

  fake_device_hold_failure (rig.device, false);
  T_CHECK (rig_call_join (&next) == SOBEL_STATUS_OK && rig_call_join (&begin) == SOBEL_STATUS_OK, "after the failure");
  for (i = 1; i < u->n_slots; i++) {
    T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK && result.serial == i, "frame %u", i);
    T_CHECK (result.status == (u->without_fallback ? SOBEL_STATUS_DEVICE_LOST : SOBEL_STATUS_OK), "frame %u: %s", i,
             result.error.message);
    T_CHECK (result.value == (u->without_fallback ? 0 : RIG_FALLBACK), "frame %u: %" PRIx64, i, result.value);
    T_CHECK (result.recomputed == !u->without_fallback, "frame %u", i);
  }
  T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
  /* All that the device was given is its own. */
  T_CHECK (atomic_load (u->without_fallback ? &rig.kept_only : &rig.replaced) == on_device, "%u replaced, %u kept",
           atomic_load (&rig.replaced), atomic_load (&rig.kept_only));
  T_CHECK (fake_device_in_flight (rig.device) == on_device, "%u on the device", fake_device_in_flight (rig.device));
  rig_finish (&rig, u->n_slots);
}

static void
test_unaware_producer (void)
{
  static const Unaware trial[] = {
    { 1, 0, false }, { 2, 0, false }, { 4, 0, false }, { 16, 0, false },
    { 4, 0, true },  { 4, 3, false }, { 4, 2, true },
  };
  unsigned i;

  for (i = 0; i < sizeof trial / sizeof trial[0]; i++)
    fill_unaware (&trial[i]);
}

/* ---- reconfiguring --------------------------------------------------------------------------------- */

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

int
main (void)
{
  test_error_in_slot ();
  test_without_fallback ();
  test_device_memory ();
  test_replace_fails ();
  test_nothing_replaced ();
  test_fallback_fails ();
  test_fallback_has_one_caller ();
  test_held_back ();
  test_unaware_producer ();
  test_reconfigure_after_loss ();
  return t_result ();
}

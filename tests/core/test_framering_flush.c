/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Flushing the frame ring from another thread: every wait ends, nothing old comes out, work goes on. */
#include "ringrig.h"

#include <inttypes.h>

/* A slice of waiting inside the device is 20 ms; the rest is for slow machines and tools. */
#define SOON (2000 * RIG_MS)

static void
flush_ends (Rig *rig, SobelStatus (*function) (Rig *rig), const char *what)
{
  RigCall call;
  uint64_t start;

  rig_call_start (&call, rig, function);
  rig_sleep (30 * RIG_MS);
  T_CHECK (!atomic_load (&call.done), "%s did not wait", what);
  start = t_now_ns ();
  sobel_ring_set_flushing (rig->ring, true);
  T_CHECK (rig_call_join (&call) == SOBEL_STATUS_FLUSHING, "%s: %s", what, sobel_status_name (call.status));
  T_CHECK (call.returned_ns - start < SOON, "%s went on for %" PRIu64 " ms", what,
           (call.returned_ns - start) / RIG_MS);
  T_CHECK (function (rig) == SOBEL_STATUS_FLUSHING, "%s while flushing", what);
}

static void
test_waits_end (void)
{
  Rig rig;
  unsigned i;

  /* begin in a full ring */
  rig_init (&rig, &(RigOptions) { .n_slots = 3 });
  for (i = 0; i < 3; i++)
    rig_push (&rig, i);
  flush_ends (&rig, rig_call_begin, "begin");
  sobel_ring_set_flushing (rig.ring, false);

  /* drain; without clear nothing was lost */
  flush_ends (&rig, rig_call_drain, "drain");
  sobel_ring_set_flushing (rig.ring, false);
  for (i = 0; i < 3; i++)
    rig_expect (&rig, i, RIG_DEVICE, "not cleared");

  /* next in an empty ring */
  flush_ends (&rig, rig_call_next, "next, empty");
  T_CHECK (sobel_ring_drain (rig.ring) == SOBEL_STATUS_FLUSHING, "drain of an empty ring while flushing");
  sobel_ring_clear (rig.ring);
  sobel_ring_set_flushing (rig.ring, false);

  /* next inside the device */
  fake_device_set_finish (rig.device, FAKE_FINISH_TOLD, 0, 0);
  rig_push (&rig, 3);
  flush_ends (&rig, rig_call_next, "next, in the device");
  sobel_ring_set_flushing (rig.ring, false);
  fake_device_finish_all (rig.device);
  rig_expect (&rig, 3, RIG_DEVICE, "not cleared");
  rig_finish (&rig, 4);
}

/* Frames submitted before and during the flush are discarded, in order, and later ones come out alone. */
static void
test_nothing_old_comes_out (void)
{
  Rig rig;
  SobelFrame *frame;
  unsigned i;

  rig_init (&rig, &(RigOptions) { .n_slots = 4 });
  rig_push (&rig, 1);
  rig_push_kind (&rig, 2, false, RIG_HOST);
  T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_OK, "begin");
  rig_fill (&rig, frame, 3, true, RIG_HOST);
  sobel_ring_set_flushing (rig.ring, true);
  sobel_ring_submit (rig.ring, frame);
  T_CHECK (sobel_ring_in_flight (rig.ring) == 3, "%u", sobel_ring_in_flight (rig.ring));
  sobel_ring_clear (rig.ring);
  T_CHECK (sobel_ring_in_flight (rig.ring) == 0, "%u", sobel_ring_in_flight (rig.ring));
  T_CHECK (atomic_load (&rig.discarded) == 3 && atomic_load (&rig.last_discarded) == 3, "%u discarded, %u last",
           atomic_load (&rig.discarded), atomic_load (&rig.last_discarded));
  sobel_ring_clear (rig.ring); /* nothing left */
  sobel_ring_set_flushing (rig.ring, false);
  for (i = 4; i < 12; i++) {
    rig_push (&rig, i);
    rig_expect (&rig, i, RIG_DEVICE, "after the flush");
  }
  T_CHECK (atomic_load (&rig.lost_calls) == 0, "%s", rig.loss.message);
  rig_finish (&rig, 8);
}

/* The flush comes at the very moment when the device finishes. */
static void
flush_now (void *user, const SobelConfig *config, const SobelJob *job)
{
  Rig *rig = user;
  const uint64_t value = *(uint64_t *) job->in.plane[0].data + RIG_DEVICE;

  *(uint64_t *) job->out.plane[0].data = value;
  sobel_ring_set_flushing (rig->ring, true);
}

/* A frame that is finished when the flush comes does not come out; without clear it is not lost either. */
static void
test_finished_while_flushing (void)
{
  Rig rig;
  RigResult result;

  rig_init (&rig, &(RigOptions) { .device = { .finish = FAKE_FINISH_LATE, .compute = flush_now, .user = &rig },
                                  .n_slots = 2 });
  rig_push (&rig, 0);
  T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_FLUSHING, "came out while flushing");
  T_CHECK (sobel_ring_in_flight (rig.ring) == 1, "%u", sobel_ring_in_flight (rig.ring));
  sobel_ring_set_flushing (rig.ring, false);
  rig_expect (&rig, 0, RIG_DEVICE, "not cleared");
  rig_push (&rig, 1);
  T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_FLUSHING, "came out while flushing");
  sobel_ring_clear (rig.ring);
  T_CHECK (atomic_load (&rig.discarded) == 1, "%u", atomic_load (&rig.discarded));
  rig_finish (&rig, 1);
}

/* Clearing waits for a thread that is still inside next or submit. */
static void
test_clear_waits_for_threads (void)
{
  Rig rig;
  RigCall next, clear;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = 2, .give_up_ns = RIG_LONG });
  rig_push (&rig, 0);
  rig_call_start (&next, &rig, rig_call_next);
  rig_sleep (10 * RIG_MS);
  sobel_ring_set_flushing (rig.ring, true);
  rig_call_start (&clear, &rig, rig_call_clear); /* the fake device counts two threads inside wait as misuse */
  T_CHECK (rig_call_join (&next) == SOBEL_STATUS_FLUSHING, "next");
  rig_sleep (10 * RIG_MS);
  T_CHECK (!atomic_load (&clear.done), "cleared with a frame on the device");
  fake_device_finish_all (rig.device);
  rig_call_join (&clear);
  T_CHECK (atomic_load (&rig.discarded) == 1 && atomic_load (&rig.lost_calls) == 0, "%u discarded",
           atomic_load (&rig.discarded));
  rig_finish (&rig, 0);
}

static SobelStatus
push_slowly (Rig *rig)
{
  return rig_push (rig, 5);
}

static void
slow_compute (void *user, const SobelConfig *config, const SobelJob *job)
{
  rig_sleep (60 * RIG_MS);
  job->out.plane[0].data[0] = 1;
}

static void
test_clear_waits_for_submit (void)
{
  Rig rig;
  RigCall push;

  rig_init (&rig, &(RigOptions) { .device.compute = slow_compute, .n_slots = 2 });
  rig_call_start (&push, &rig, push_slowly);
  T_CHECK (fake_device_await_submits (rig.device, 1, RIG_LONG), "no submit");
  sobel_ring_set_flushing (rig.ring, true);
  sobel_ring_clear (rig.ring);
  T_CHECK (atomic_load (&rig.discarded) == 1, "cleared before the frame was submitted");
  T_CHECK (rig_call_join (&push) == SOBEL_STATUS_OK, "push");
  rig_finish (&rig, 0);
}

/* ---- many flushes ---------------------------------------------------------------------------------- */

typedef struct Worker
{
  Rig *rig;
  atomic_bool stop;
  atomic_uint pulled;
  unsigned pushed;
  uint64_t oldest; /* no frame before this may come out */
} Worker;

static void *
produce_until_flushed (void *data)
{
  Worker *worker = data;

  while (rig_push_kind (worker->rig, worker->pushed, worker->pushed % 7 != 3, RIG_HOST) == SOBEL_STATUS_OK)
    worker->pushed++;
  return NULL;
}

static void *
consume_until_flushed (void *data)
{
  Worker *worker = data;
  uint64_t last = worker->oldest;
  RigResult result;

  while (rig_pull (worker->rig, &result) == SOBEL_STATUS_OK) {
    T_CHECK (result.serial == last, "frame %" PRIu64 " came where %" PRIu64 " should", result.serial, last);
    T_CHECK (result.status == SOBEL_STATUS_OK, "%s", result.error.message);
    T_CHECK (result.value == (result.has_work ? RIG_DEVICE : 0), "frame %" PRIu64, result.serial);
    last = result.serial + 1;
    atomic_fetch_add (&worker->pulled, 1);
  }
  return NULL;
}

/* As an element flushes: wake all, join its threads, clear, go on. */
static void
test_many_flushes (void)
{
  TRandom random = t_random (t_seed (2), 2);
  Rig rig;
  Worker worker = { .rig = &rig };
  unsigned round;

  rig_init (&rig, &(RigOptions) { .device = { .finish = FAKE_FINISH_LATE, .jitter_ns = RIG_MS / 5 }, .n_slots = 3 });
  for (round = 0; round < 500; round++) {
    pthread_t producer, consumer;

    fake_device_set_finish (rig.device, round % 3 ? FAKE_FINISH_LATE : FAKE_FINISH_AT_ONCE, 0, RIG_MS / 5);
    worker.oldest = worker.pushed;
    pthread_create (&producer, NULL, produce_until_flushed, &worker);
    pthread_create (&consumer, NULL, consume_until_flushed, &worker);
    rig_sleep (t_random_below (&random, 2000) * 1000);
    sobel_ring_set_flushing (rig.ring, true);
    pthread_join (producer, NULL);
    pthread_join (consumer, NULL);
    sobel_ring_clear (rig.ring);
    T_CHECK (sobel_ring_in_flight (rig.ring) == 0, "%u", sobel_ring_in_flight (rig.ring));
    sobel_ring_set_flushing (rig.ring, false);
  }
  T_CHECK (atomic_load (&worker.pulled) > 0 && atomic_load (&rig.discarded) > 0, "%u pulled, %u discarded",
           atomic_load (&worker.pulled), atomic_load (&rig.discarded));
  T_CHECK (atomic_load (&rig.lost_calls) == 0, "%s", rig.loss.message);
  rig_finish (&rig, atomic_load (&worker.pulled));
}

/* A device that hangs while everything is in motion and flushed at random moments: nothing is stuck, and each frame
 * leaves once. */
static void
test_flush_while_lost (void)
{
  TRandom random = t_random (t_seed (3), 3);
  unsigned round;

  for (round = 0; round < 30; round++) {
    Rig rig;
    RigCall next, drain;
    RigResult result;
    unsigned pulled = 0, i;

    rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = 4, .give_up_ns = 15 * RIG_MS });
    for (i = 0; i < 4; i++)
      rig_push (&rig, i);
    rig_call_start (&next, &rig, rig_call_next);
    rig_call_start (&drain, &rig, rig_call_drain);
    rig_sleep (t_random_below (&random, 25000) * 1000);
    sobel_ring_set_flushing (rig.ring, true);
    pulled += rig_call_join (&next) == SOBEL_STATUS_OK;
    rig_call_join (&drain);
    sobel_ring_clear (rig.ring);
    sobel_ring_set_flushing (rig.ring, false);
    T_CHECK (atomic_load (&rig.lost_calls) == 1, "%u", atomic_load (&rig.lost_calls));
    T_CHECK (atomic_load (&rig.discarded) + pulled == 4, "%u + %u", atomic_load (&rig.discarded), pulled);
    rig_push (&rig, 4);
    T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK && result.serial == 4 && result.value == RIG_FALLBACK,
             "frame %" PRIu64, result.serial);
    rig_finish (&rig, pulled + 1);
  }
}

int
main (void)
{
  test_waits_end ();
  test_nothing_old_comes_out ();
  test_finished_while_flushing ();
  test_clear_waits_for_threads ();
  test_clear_waits_for_submit ();
  test_many_flushes ();
  test_flush_while_lost ();
  return t_result ();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Producer and consumer at full speed with random delays: 100,000 frames in order, each with its own pixels, while
 * other threads ask questions and drain; on a device that lasts, and on one that fails in the middle. */
#include "ringrig.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct Stress
{
  Rig rig;
  unsigned n;
  TRandom producer, consumer;
  atomic_bool stop;
  atomic_uint pulled, by_device, by_fallback, recomputed;
} Stress;

/* Mostly nothing, sometimes a few microseconds, seldom long enough for the other side to run dry. */
static void
dawdle (TRandom *random)
{
  const uint32_t dice = t_random_below (random, 1000);

  if (dice == 0) {
    rig_sleep (RIG_MS / 5);
  } else if (dice < 100) {
    const uint64_t start = t_now_ns ();

    while (t_now_ns () - start < dice * 20)
      ;
  }
}

static void *
produce (void *data)
{
  Stress *stress = data;
  unsigned i;

  for (i = 0; i < stress->n; i++) {
    dawdle (&stress->producer);
    if (!T_CHECK (rig_push_kind (&stress->rig, i, t_random_below (&stress->producer, 16) > 0, RIG_HOST) ==
                      SOBEL_STATUS_OK,
                  "frame %u", i))
      break;
  }
  return NULL;
}

static void *
consume (void *data)
{
  Stress *stress = data;
  bool fallback_seen = false;
  unsigned i;

  for (i = 0; i < stress->n; i++) {
    RigResult result = { 0 };

    if (!T_CHECK (rig_pull (&stress->rig, &result) == SOBEL_STATUS_OK, "frame %u", i))
      break;
    T_CHECK (result.serial == i, "frame %" PRIu64 " came where %u should", result.serial, i);
    T_CHECK (result.status == SOBEL_STATUS_OK, "frame %u: %s", i, result.error.message);
    if (result.has_work) {
      T_CHECK (result.value == RIG_DEVICE || result.value == RIG_FALLBACK, "frame %u: %" PRIx64, i, result.value);
      T_CHECK (!fallback_seen || result.value == RIG_FALLBACK, "frame %u: by a lost device", i);
      fallback_seen |= result.value == RIG_FALLBACK;
      atomic_fetch_add (result.value == RIG_DEVICE ? &stress->by_device : &stress->by_fallback, 1);
      atomic_fetch_add (&stress->recomputed, result.recomputed);
    }
    atomic_fetch_add (&stress->pulled, 1);
    dawdle (&stress->consumer);
  }
  return NULL;
}

static void *
ask (void *data)
{
  Stress *stress = data;

  while (!atomic_load (&stress->stop)) {
    T_CHECK (sobel_ring_in_flight (stress->rig.ring) <= sobel_ring_n_slots (stress->rig.ring), "in flight");
    T_CHECK (sobel_ring_device (stress->rig.ring) != NULL, "device");
    sobel_ring_is_fallback (stress->rig.ring);
    T_CHECK (sobel_ring_drain (stress->rig.ring) == SOBEL_STATUS_OK, "drain");
    rig_sleep (RIG_MS / 10);
  }
  return NULL;
}

static void
stress (unsigned n, unsigned n_slots, FakeFinish finish, FakeCall failing, unsigned nth)
{
  const bool fails = nth > 0;
  Stress s = { .n = n };
  pthread_t producer, consumer, asker;

  rig_init (&s.rig, &(RigOptions) { .device = { .finish = finish, .delay_ns = 1000, .jitter_ns = 20000 },
                                    .n_slots = n_slots });
  fake_device_fail (s.rig.device, failing, nth, SOBEL_STATUS_OK);
  s.producer = t_random (n_slots, 1);
  s.consumer = t_random (n_slots, 2);
  pthread_create (&asker, NULL, ask, &s);
  pthread_create (&producer, NULL, produce, &s);
  pthread_create (&consumer, NULL, consume, &s);
  pthread_join (producer, NULL);
  pthread_join (consumer, NULL);
  atomic_store (&s.stop, true);
  pthread_join (asker, NULL);

  T_CHECK (atomic_load (&s.pulled) == n, "%u of %u", atomic_load (&s.pulled), n);
  T_CHECK (atomic_load (&s.rig.lost_calls) == fails, "lost %u times: %s", atomic_load (&s.rig.lost_calls),
           s.rig.loss.message);
  T_CHECK ((atomic_load (&s.by_fallback) > 0) == fails, "%u by the fallback", atomic_load (&s.by_fallback));
  T_CHECK (atomic_load (&s.by_device) > 0, "none by the device");
  T_CHECK (atomic_load (&s.recomputed) <= n_slots, "%u recomputed", atomic_load (&s.recomputed));
  T_CHECK (!fails || atomic_load (&s.recomputed) > 0, "none recomputed");
  printf ("%u slots: %u frames by the device, %u by the fallback, %u of those again\n", n_slots,
          atomic_load (&s.by_device), atomic_load (&s.by_fallback), atomic_load (&s.recomputed));
  rig_finish (&s.rig, n);
}

int
main (void)
{
  const char *text = getenv ("SOBEL_TEST_FRAMES"); /* for slow tools and long runs */
  const unsigned n = text ? (unsigned) strtoul (text, NULL, 10) : 100000;

  stress (n, 4, FAKE_FINISH_LATE, FAKE_CALL_ANY, 0);
  stress (n / 4, 1, FAKE_FINISH_AT_ONCE, FAKE_CALL_ANY, 0);
  stress (n / 4, 16, FAKE_FINISH_LATE, FAKE_CALL_ANY, 0);
  stress (n / 4, 4, FAKE_FINISH_LATE, FAKE_CALL_WAIT, n / 8);
  stress (n / 4, 16, FAKE_FINISH_LATE, FAKE_CALL_SUBMIT, n / 8);
  return t_result ();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One story of a ring's life, told again and again with one more call of a device failing each time, until none
 * fails. Whatever fails, every frame leaves once and in order, nothing leaks, and no rule of the seam is broken. */
#include "pinnedbudget.h"
#include "ringrig.h"

#include <inttypes.h>

typedef struct Story
{
  Rig rig;
  unsigned pulled;
  uint64_t pushed; /* the next serial */
  uint64_t oldest; /* the next serial to come out */
  bool fallback_fails;
} Story;

static void
pull_one (Story *story)
{
  RigResult result = { 0 };

  if (!T_CHECK (rig_pull (&story->rig, &result) == SOBEL_STATUS_OK, "frame %" PRIu64, story->oldest))
    return;
  T_CHECK (result.serial == story->oldest, "frame %" PRIu64 " came where %" PRIu64 " should", result.serial,
           story->oldest);
  story->oldest = result.serial + 1;
  story->pulled++;
  if (result.status != SOBEL_STATUS_OK)
    T_CHECK (!story->rig.fallback || story->fallback_fails, "%s", result.error.message);
  else if (result.has_work)
    T_CHECK (result.value == RIG_DEVICE || (result.value == RIG_FALLBACK && story->rig.fallback),
             "frame %" PRIu64 ": %" PRIx64, result.serial, result.value);
}

/* As an element does: fewer slots, then the fallback. False: nothing can be done. */
static bool
configure (Story *story, unsigned n_slots)
{
  SobelRing *ring = story->rig.ring;
  SobelError error = { 0 };
  SobelStatus status;

  T_CHECK (sobel_ring_drain (ring) == SOBEL_STATUS_OK, "drain");
  do {
    status = sobel_ring_configure (ring, rig_config (), n_slots, &error);
    n_slots /= 2;
  } while (status == SOBEL_STATUS_NO_MEMORY && n_slots > 0);
  if (status != SOBEL_STATUS_OK) {
    T_CHECK (error.message[0] != '\0', "no reason told");
    if (sobel_ring_use_fallback (ring) == SOBEL_STATUS_OK)
      status = sobel_ring_configure (ring, rig_config (), 2, &error);
  }
  return status == SOBEL_STATUS_OK;
}

static void
run_frames (Story *story, unsigned n)
{
  const uint64_t end = story->pushed + n;

  while (story->oldest < end) {
    while (story->pushed < end && sobel_ring_in_flight (story->rig.ring) < sobel_ring_n_slots (story->rig.ring)) {
      T_CHECK (rig_push_kind (&story->rig, story->pushed, story->pushed % 5 != 4, RIG_HOST) == SOBEL_STATUS_OK,
               "frame %" PRIu64, story->pushed);
      story->pushed++;
    }
    pull_one (story);
  }
}

static void
use_host_memory (Story *story)
{
  SobelDevice *device = sobel_ring_device (story->rig.ring);
  SobelHostBlock *block[3];
  SobelError error = { 0 };
  unsigned i, n = 0;

  for (i = 0; device->ops->host_alloc && i < 3; i++) {
    if (device->ops->host_alloc (device, 10000, &block[n], &error) == SOBEL_STATUS_OK)
      n++;
    else
      T_CHECK (error.status == SOBEL_STATUS_NO_MEMORY, "%s", error.message);
  }
  T_CHECK (sobel_pinned_bytes () == n * 10000, "%" PRIu64, sobel_pinned_bytes ());
  while (n > 0)
    block[n - 1]->free (block[n - 1]), n--;
}

/* Returns the number of planned failures that came true. */
static unsigned
tell (const RigOptions *options, FakeCall call, unsigned nth, FakeCall fallback_call, unsigned fallback_nth)
{
  Story story = { .fallback_fails = fallback_nth > 0 };
  FakeDevice *device, *fallback;
  unsigned failures, i;

  rig_init (&story.rig, options);
  device = story.rig.device;
  fallback = story.rig.fallback;
  fake_device_fail (device, call, nth, SOBEL_STATUS_OK);
  if (fallback)
    fake_device_fail (fallback, fallback_call, fallback_nth, SOBEL_STATUS_OK);

  if (configure (&story, 4)) {
    use_host_memory (&story);
    run_frames (&story, 9);
    if (configure (&story, 3)) {
      run_frames (&story, 2);
      for (i = 0; i < sobel_ring_n_slots (story.rig.ring); i++)
        rig_push (&story.rig, story.pushed++);
      if (options->device.finish == FAKE_FINISH_LATE)
        pull_one (&story);
      sobel_ring_set_flushing (story.rig.ring, true);
      sobel_ring_clear (story.rig.ring);
      sobel_ring_set_flushing (story.rig.ring, false);
      story.oldest = story.pushed;
      run_frames (&story, 7);
      rig_push (&story.rig, story.pushed++); /* still in flight at the end */
    }
  }
  failures = fake_device_failures (device) + (fallback ? fake_device_failures (fallback) : 0);
  /* A destroy that fails does so while the rig is taken down. */
  if (call == FAKE_CALL_DESTROY)
    failures += nth == 1;
  rig_finish (&story.rig, story.pulled);
  T_CHECK (sobel_pinned_bytes () == 0, "%" PRIu64 " bytes left pinned", sobel_pinned_bytes ());
  return failures;
}

static void
sweep (const RigOptions *options)
{
  FakeCall call;
  unsigned nth, told = 0;

  for (call = 0; call <= FAKE_CALL_ANY; call++) {
    for (nth = 1; tell (options, call, nth, FAKE_CALL_ANY, 0) > 0; nth++)
      told++;
    T_CHECK (nth > 1, "no call of kind %d was made to fail", call);
  }
  if (!options->without_fallback) {
    /* The device fails early, in the middle and late; then every call of the fallback in turn. */
    static const unsigned at[] = { 1, 5, 11 };
    unsigned i;

    for (i = 0; i < 3; i++)
      for (nth = 1; tell (options, FAKE_CALL_WAIT, at[i], FAKE_CALL_ANY, nth) > 1; nth++)
        told++;
  }
  printf ("%u failures provoked\n", told);
}

int
main (void)
{
  static const FakeFinish finish[] = { FAKE_FINISH_AT_ONCE, FAKE_FINISH_LATE };
  unsigned f, without;

  for (f = 0; f < 2; f++) {
    for (without = 0; without < 2; without++) {
      RigOptions options = { .device = { .finish = finish[f], .delay_ns = RIG_MS / 10, .jitter_ns = RIG_MS / 5 },
                             .without_fallback = without };

      sweep (&options);
    }
  }
  return t_result ();
}

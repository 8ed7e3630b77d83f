/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frame ring while nothing fails: order, waiting, states, reconfiguring. */
#include "ringrig.h"

#include <inttypes.h>
#include <string.h>

/* ---- order ----------------------------------------------------------------------------------------- */

typedef struct Consumer
{
  Rig *rig;
  unsigned n;
  atomic_uint pulled;
  uint64_t value;
} Consumer;

static void *
consume (void *data)
{
  Consumer *consumer = data;
  unsigned i;

  for (i = 0; i < consumer->n; i++) {
    rig_expect (consumer->rig, i, consumer->value, "order");
    atomic_store (&consumer->pulled, i + 1);
  }
  return NULL;
}

static bool
await_count (atomic_uint *count, unsigned n)
{
  const uint64_t start = t_now_ns ();

  while (atomic_load (count) < n) {
    if (t_now_ns () - start > RIG_LONG)
      return false;
    rig_sleep (RIG_MS / 20);
  }
  return true;
}

/* The device finishes the frames of a full ring in the order that `order` says. Every frame must leave as soon as it
 * and those before it are finished; one that left earlier would have no stamp in its output. */
static void
finish_in_order (const unsigned *order, unsigned n)
{
  Rig rig;
  Consumer consumer = { .rig = &rig, .n = n, .value = RIG_DEVICE };
  bool finished[SOBEL_RING_MAX_SLOTS] = { false };
  pthread_t thread;
  unsigned i, prefix = 0;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = n });
  for (i = 0; i < n; i++)
    T_CHECK (rig_push (&rig, i) == SOBEL_STATUS_OK, "push %u of %u", i, n);
  T_CHECK (sobel_ring_in_flight (rig.ring) == n, "%u", sobel_ring_in_flight (rig.ring));
  pthread_create (&thread, NULL, consume, &consumer);
  for (i = 0; i < n; i++) {
    T_CHECK (fake_device_finish (rig.device, order[i]) == 1, "slot %u", order[i]);
    finished[order[i]] = true;
    while (prefix < n && finished[prefix])
      prefix++;
    T_CHECK (await_count (&consumer.pulled, prefix), "%u of %u did not leave", prefix, n);
  }
  pthread_join (thread, NULL);
  T_CHECK (sobel_ring_in_flight (rig.ring) == 0, "%u", sobel_ring_in_flight (rig.ring));
  rig_finish (&rig, n);
}

/* All orders of up to 4 frames (Heap's algorithm). */
static void
all_orders (unsigned *order, unsigned k, unsigned n)
{
  unsigned i;

  if (k == 1) {
    finish_in_order (order, n);
    return;
  }
  for (i = 0; i < k; i++) {
    const unsigned j = k % 2 ? 0 : i;
    unsigned t;

    all_orders (order, k - 1, n);
    t = order[j];
    order[j] = order[k - 1];
    order[k - 1] = t;
  }
}

static void
test_order (void)
{
  TRandom random = t_random (t_seed (1), 1);
  unsigned n, i, round;

  for (n = 1; n <= SOBEL_RING_MAX_SLOTS; n++) {
    unsigned order[SOBEL_RING_MAX_SLOTS];

    for (i = 0; i < n; i++)
      order[i] = i;
    if (n <= 4) {
      all_orders (order, n, n);
      continue;
    }
    for (round = 0; round < 5; round++) {
      for (i = n - 1; i > 0; i--) {
        const unsigned j = t_random_below (&random, i + 1), t = order[i];

        order[i] = order[j];
        order[j] = t;
      }
      finish_in_order (order, n);
    }
  }
}

/* Frames without work keep their turn, and no device sees them. */
static void
test_pass_through (void)
{
  Rig rig;
  RigResult result;
  unsigned i;

  rig_init (&rig, &(RigOptions) { .n_slots = 3 });
  for (i = 0; i < 30; i++) {
    const bool has_work = i % 3 != 1;

    T_CHECK (rig_push_kind (&rig, i, has_work, RIG_HOST) == SOBEL_STATUS_OK, "%u", i);
    if (i < 2)
      continue;
    T_CHECK (rig_pull (&rig, &result) == SOBEL_STATUS_OK, "%u", i);
    T_CHECK (result.serial == i - 2 && result.status == SOBEL_STATUS_OK, "%u: %" PRIu64, i, result.serial);
    T_CHECK (result.value == (result.has_work ? RIG_DEVICE : 0), "%u", i);
  }
  T_CHECK (fake_device_calls (rig.device, FAKE_CALL_SUBMIT) == 20, "%u submits",
           fake_device_calls (rig.device, FAKE_CALL_SUBMIT));
  rig_finish (&rig, 28);
}

/* A frame without work waits for the one before it, which has some. */
static void
test_pass_through_waits (void)
{
  Rig rig;
  RigCall next;

  rig_init (&rig, &(RigOptions) { .device.finish = FAKE_FINISH_TOLD, .n_slots = 2 });
  rig_push (&rig, 0);
  rig_push_kind (&rig, 1, false, RIG_HOST);
  rig_call_start (&next, &rig, rig_call_next);
  rig_sleep (20 * RIG_MS);
  T_CHECK (!atomic_load (&next.done), "overtook the frame before it");
  fake_device_finish_all (rig.device);
  T_CHECK (rig_call_join (&next) == SOBEL_STATUS_OK, "next");
  rig_expect (&rig, 1, 0, "pass through");
  rig_finish (&rig, 2);
}

/* ---- waiting --------------------------------------------------------------------------------------- */

static void
test_full_ring_blocks (void)
{
  Rig rig;
  RigCall begin;
  SobelFrame *frame;
  RigResult result;
  unsigned n;

  for (n = 1; n <= SOBEL_RING_MAX_SLOTS; n += 5) {
    unsigned i;

    rig_init (&rig, &(RigOptions) { .n_slots = n });
    for (i = 0; i < n; i++)
      T_CHECK (rig_push (&rig, i) == SOBEL_STATUS_OK, "%u", i);
    rig_call_start (&begin, &rig, rig_call_begin);
    rig_sleep (20 * RIG_MS);
    T_CHECK (!atomic_load (&begin.done), "begin returned with %u slots busy", n);
    T_CHECK (sobel_ring_next (rig.ring, &frame) == SOBEL_STATUS_OK, "next");
    rig_sleep (10 * RIG_MS);
    T_CHECK (!atomic_load (&begin.done), "begin returned before release");
    rig_look (&rig, frame, &result);
    sobel_ring_release (rig.ring, frame);
    T_CHECK (rig_call_join (&begin) == SOBEL_STATUS_OK, "begin");
    for (i = 1; i < n; i++)
      rig_expect (&rig, i, RIG_DEVICE, "full ring");
    rig_finish (&rig, n);
  }
}

static void
test_drain (void)
{
  Rig rig;
  RigCall drain[2];
  SobelFrame *frame[2];
  RigResult result;
  unsigned i;

  rig_init (&rig, &(RigOptions) { .n_slots = 4 });
  T_CHECK (sobel_ring_drain (rig.ring) == SOBEL_STATUS_OK, "empty");
  rig_push (&rig, 0);
  rig_push (&rig, 1);
  for (i = 0; i < 2; i++)
    rig_call_start (&drain[i], &rig, rig_call_drain);
  for (i = 0; i < 2; i++)
    T_CHECK (sobel_ring_next (rig.ring, &frame[i]) == SOBEL_STATUS_OK, "next");
  T_CHECK (sobel_ring_in_flight (rig.ring) == 2, "%u", sobel_ring_in_flight (rig.ring));
  rig_look (&rig, frame[0], &result);
  sobel_ring_release (rig.ring, frame[0]);
  rig_sleep (20 * RIG_MS);
  T_CHECK (!atomic_load (&drain[0].done) && !atomic_load (&drain[1].done), "drained with a frame not released");
  rig_look (&rig, frame[1], &result);
  sobel_ring_release (rig.ring, frame[1]);
  for (i = 0; i < 2; i++)
    T_CHECK (rig_call_join (&drain[i]) == SOBEL_STATUS_OK, "drain");
  /* A frame that is being filled is not in flight. */
  T_CHECK (sobel_ring_begin (rig.ring, &frame[0]) == SOBEL_STATUS_OK, "begin");
  T_CHECK (sobel_ring_drain (rig.ring) == SOBEL_STATUS_OK, "filling");
  sobel_ring_cancel (rig.ring, frame[0]);
  rig_finish (&rig, 2);
}

/* The consumer may hold several frames and give them back in any order. */
static void
test_hold_several (void)
{
  Rig rig;
  SobelFrame *frame[4];
  RigResult result;
  RigCall begin;
  unsigned i;

  rig_init (&rig, &(RigOptions) { .n_slots = 4 });
  for (i = 0; i < 4; i++)
    rig_push (&rig, i);
  for (i = 0; i < 4; i++)
    T_CHECK (sobel_ring_next (rig.ring, &frame[i]) == SOBEL_STATUS_OK, "%u", i);
  for (i = 3; i > 0; i--) {
    rig_look (&rig, frame[i], &result);
    T_CHECK (result.serial == i && result.value == RIG_DEVICE, "%u", i);
    sobel_ring_release (rig.ring, frame[i]);
  }
  T_CHECK (sobel_ring_in_flight (rig.ring) == 1, "%u", sobel_ring_in_flight (rig.ring));
  rig_call_start (&begin, &rig, rig_call_begin);
  rig_sleep (10 * RIG_MS);
  T_CHECK (!atomic_load (&begin.done), "the slot whose turn it is, is held");
  rig_look (&rig, frame[0], &result);
  sobel_ring_release (rig.ring, frame[0]);
  T_CHECK (rig_call_join (&begin) == SOBEL_STATUS_OK, "begin");
  rig_push (&rig, 4);
  rig_expect (&rig, 4, RIG_DEVICE, "afterwards");
  rig_finish (&rig, 5);
}

/* ---- states and arguments -------------------------------------------------------------------------- */

static void
test_null (void)
{
  SobelFrame *frame = NULL;
  SobelFrame some = { 0 };
  SobelError error;
  FakeDevice *device = fake_device_new (NULL), *fallback = fake_device_new (NULL);
  Rig rig;

  T_CHECK (sobel_ring_new (NULL) == NULL, "options");
  T_CHECK (sobel_ring_new (&(SobelRingOptions) { 0 }) == NULL, "device");
  /* A fallback needs other memory for its frames. The devices are destroyed all the same. */
  T_CHECK (sobel_ring_new (&(SobelRingOptions) { .device = fake_device_seam (device),
                                                 .fallback = fake_device_seam (fallback) }) == NULL,
           "replace_output");
  T_CHECK (fake_device_destroyed (device) && fake_device_destroyed (fallback), "devices left");
  fake_device_free (device);
  fake_device_free (fallback);

  sobel_ring_free (NULL);
  sobel_ring_cancel (NULL, &some);
  sobel_ring_submit (NULL, &some);
  sobel_ring_release (NULL, &some);
  sobel_ring_set_flushing (NULL, true);
  sobel_ring_clear (NULL);
  T_CHECK (sobel_ring_begin (NULL, &frame) == SOBEL_STATUS_INVALID, "begin");
  T_CHECK (sobel_ring_next (NULL, &frame) == SOBEL_STATUS_INVALID, "next");
  T_CHECK (sobel_ring_drain (NULL) == SOBEL_STATUS_INVALID, "drain");
  T_CHECK (sobel_ring_configure (NULL, rig_config (), 1, &error) == SOBEL_STATUS_INVALID, "configure");
  T_CHECK (sobel_ring_use_fallback (NULL) == SOBEL_STATUS_INVALID, "use_fallback");
  T_CHECK (!sobel_ring_device (NULL) && !sobel_ring_is_fallback (NULL), "device");
  T_CHECK (sobel_ring_in_flight (NULL) == 0 && sobel_ring_n_slots (NULL) == 0, "counts");

  rig_init (&rig, &(RigOptions) { .n_slots = 2 });
  T_CHECK (sobel_ring_begin (rig.ring, NULL) == SOBEL_STATUS_INVALID, "begin");
  T_CHECK (sobel_ring_next (rig.ring, NULL) == SOBEL_STATUS_INVALID, "next");
  T_CHECK (sobel_ring_configure (rig.ring, NULL, 1, NULL) == SOBEL_STATUS_INVALID, "configure");
  sobel_ring_cancel (rig.ring, NULL);
  sobel_ring_submit (rig.ring, NULL);
  sobel_ring_release (rig.ring, NULL);
  rig_finish (&rig, 0);
}

static void
test_states (void)
{
  Rig rig;
  SobelFrame *frame, *second, stranger = { 0 };
  RigResult result;
  SobelError error = { 0 };
  RigCall next;
  FakeDevice *other;
  SobelDevice *other_device;

  rig_init (&rig, &(RigOptions) { .n_slots = 0 });
  other = fake_device_new (&(FakeOptions) { .stamp = RIG_DEVICE });
  other_device = fake_device_seam (other);
  T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_INVALID && !frame, "begin before configure");
  T_CHECK (sobel_ring_drain (rig.ring) == SOBEL_STATUS_OK, "drain before configure");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 0, &error) == SOBEL_STATUS_INVALID, "0 slots");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 17, &error) == SOBEL_STATUS_INVALID, "17 slots");
  T_CHECK (strstr (error.message, "17"), "%s", error.message);
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_OK, "%s", error.message);
  T_CHECK (sobel_ring_n_slots (rig.ring) == 2, "%u", sobel_ring_n_slots (rig.ring));
  T_CHECK (sobel_ring_device (rig.ring) == fake_device_seam (rig.device), "device");
  T_CHECK (!sobel_ring_is_fallback (rig.ring), "fallback");

  T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_OK, "begin");
  T_CHECK (sobel_ring_begin (rig.ring, &second) == SOBEL_STATUS_INVALID && !second, "begin twice");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_INVALID, "while filling");
  T_CHECK (sobel_ring_use_fallback (rig.ring) == SOBEL_STATUS_INVALID, "while filling");
  sobel_ring_submit (rig.ring, &stranger);
  sobel_ring_cancel (rig.ring, &stranger);
  sobel_ring_release (rig.ring, &stranger);
  sobel_ring_release (rig.ring, frame);
  T_CHECK (sobel_ring_in_flight (rig.ring) == 0, "%u", sobel_ring_in_flight (rig.ring));
  rig_fill (&rig, frame, 0, true, RIG_HOST);
  sobel_ring_submit (rig.ring, frame);
  sobel_ring_submit (rig.ring, frame);
  sobel_ring_cancel (rig.ring, frame);
  T_CHECK (sobel_ring_in_flight (rig.ring) == 1, "%u", sobel_ring_in_flight (rig.ring));
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_INVALID, "in flight");
  T_CHECK (strstr (error.message, "1 frame"), "%s", error.message);
  T_CHECK (sobel_ring_use_fallback (rig.ring) == SOBEL_STATUS_INVALID, "in flight");
  T_CHECK (sobel_ring_replace_device (rig.ring, other_device) == SOBEL_STATUS_INVALID, "replaced in flight");
  sobel_ring_clear (rig.ring); /* not flushing */
  T_CHECK (sobel_ring_in_flight (rig.ring) == 1, "cleared while not flushing");

  T_CHECK (sobel_ring_next (rig.ring, &frame) == SOBEL_STATUS_OK, "next");
  T_CHECK (frame->timing.upload_ns == 1000 && frame->timing.kernel_ns == 2000 + frame->slot, "timing");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_INVALID, "leaving");
  rig_look (&rig, frame, &result);
  sobel_ring_release (rig.ring, frame);
  sobel_ring_release (rig.ring, frame);
  T_CHECK (sobel_ring_in_flight (rig.ring) == 0, "%u", sobel_ring_in_flight (rig.ring));

  /* Another device, as long as none is lost. */
  T_CHECK (sobel_ring_replace_device (rig.ring, NULL) == SOBEL_STATUS_INVALID, "no device");
  T_CHECK (sobel_ring_replace_device (rig.ring, other_device) == SOBEL_STATUS_OK, "replace");
  T_CHECK (fake_device_destroyed (rig.device), "the device before lives on");
  T_CHECK (sobel_ring_device (rig.ring) == other_device, "not the new device");
  T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_INVALID, "begin before configure");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_OK, "%s", error.message);
  fake_device_free (rig.device);
  rig.device = other;

  /* One consumer at a time. */
  rig_call_start (&next, &rig, rig_call_next);
  rig_sleep (20 * RIG_MS);
  T_CHECK (sobel_ring_next (rig.ring, &frame) == SOBEL_STATUS_INVALID, "second consumer");
  rig_push (&rig, 1);
  T_CHECK (rig_call_join (&next) == SOBEL_STATUS_OK, "next");
  rig_finish (&rig, 2);
}

/* Nothing of an earlier frame is left in a slot. */
static void
test_fields (void)
{
  static const SobelFrame zero;
  Rig rig;
  unsigned i;

  rig_init (&rig, &(RigOptions) { .n_slots = 2 });
  for (i = 0; i < 6; i++) {
    SobelFrame *frame, copy;

    T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_OK, "%u", i);
    T_CHECK (frame->slot == i % 2, "%u", frame->slot);
    copy = *frame;
    copy.slot = 0;
    T_CHECK (memcmp (&copy, &zero, sizeof zero) == 0, "frame %u is not zeroed", i);
    if (i == 2) { /* a cancelled frame leaves no trace */
      memset (&frame->job, 0xff, sizeof frame->job);
      sobel_ring_cancel (rig.ring, frame);
      T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_OK && frame->slot == 0, "slot %u", frame->slot);
      T_CHECK (frame->job.interlaced == false, "not zeroed after cancel");
    }
    rig_fill (&rig, frame, i, true, RIG_HOST);
    sobel_ring_submit (rig.ring, frame);
    rig_expect (&rig, i, RIG_DEVICE, "fields");
  }
  rig_finish (&rig, 6);
}

/* ---- reconfiguring --------------------------------------------------------------------------------- */

static void
test_reconfigure (void)
{
  Rig rig;
  SobelError error = { 0 };
  SobelFrame *frame;
  uint64_t serial = 0;
  unsigned n, i;

  rig_init (&rig, &(RigOptions) { .n_slots = 0 });
  for (n = SOBEL_RING_MAX_SLOTS; n > 0; n--) {
    T_CHECK (sobel_ring_configure (rig.ring, rig_config (), n, &error) == SOBEL_STATUS_OK, "%s", error.message);
    for (i = 0; i < n + n / 2; i++) {
      rig_push (&rig, serial + i);
      rig_expect (&rig, serial + i, RIG_DEVICE, "reconfigured");
    }
    serial += i;
    T_CHECK (sobel_ring_drain (rig.ring) == SOBEL_STATUS_OK, "drain");
  }

  /* Short of memory for 8 slots, but not for 4. */
  fake_device_fail (rig.device, FAKE_CALL_CONFIGURE, 1, SOBEL_STATUS_OK);
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 8, &error) == SOBEL_STATUS_NO_MEMORY, "device");
  T_CHECK (error.message[0] != '\0' && sobel_ring_n_slots (rig.ring) == 0, "%s", error.message);
  T_CHECK (sobel_ring_begin (rig.ring, &frame) == SOBEL_STATUS_INVALID, "begin without slots");
  fake_device_fail (rig.fallback, FAKE_CALL_CONFIGURE, 1, SOBEL_STATUS_OK);
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 4, &error) == SOBEL_STATUS_NO_MEMORY, "fallback");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 4, &error) == SOBEL_STATUS_OK, "%s", error.message);
  rig_push (&rig, serial);
  rig_expect (&rig, serial, RIG_DEVICE, "with fewer slots");
  T_CHECK (!sobel_ring_is_fallback (rig.ring) && atomic_load (&rig.lost_calls) == 0, "a loss");
  rig_finish (&rig, (unsigned) serial + 1);
}

/* Another device in place of the first one, while a consumer waits for frames. */
static void
test_replace_device (void)
{
  Rig rig;
  RigCall next;
  SobelError error = { 0 };
  FakeDevice *old, *other = fake_device_new (&(FakeOptions) { .stamp = 7 });
  SobelDevice *seam = fake_device_seam (other);

  rig_init (&rig, &(RigOptions) { .n_slots = 2 });
  T_CHECK (sobel_ring_replace_device (NULL, seam) == SOBEL_STATUS_INVALID, "no ring");
  T_CHECK (sobel_ring_replace_device (rig.ring, NULL) == SOBEL_STATUS_INVALID, "no device");
  rig_push (&rig, 0);
  T_CHECK (sobel_ring_replace_device (rig.ring, seam) == SOBEL_STATUS_INVALID, "in flight");
  rig_expect (&rig, 0, RIG_DEVICE, "first device");
  rig_call_start (&next, &rig, rig_call_next);
  rig_sleep (10 * RIG_MS);
  T_CHECK (sobel_ring_replace_device (rig.ring, seam) == SOBEL_STATUS_OK, "replace");
  T_CHECK (fake_device_destroyed (rig.device), "the first device lives on");
  T_CHECK (sobel_ring_device (rig.ring) == seam && sobel_ring_n_slots (rig.ring) == 0, "device");
  T_CHECK (sobel_ring_configure (rig.ring, rig_config (), 2, &error) == SOBEL_STATUS_OK, "%s", error.message);
  old = rig.device;
  rig.device = other;
  rig_push (&rig, 1);
  T_CHECK (rig_call_join (&next) == SOBEL_STATUS_OK, "next");
  rig_push (&rig, 2);
  rig_expect (&rig, 2, 7, "second device");
  T_CHECK (fake_device_misuse (old, NULL) == 0, "misuse");
  fake_device_free (old);

  /* Not instead of a lost one. */
  fake_device_fail (other, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  rig_push (&rig, 3);
  rig_expect (&rig, 3, RIG_FALLBACK, "lost");
  old = fake_device_new (NULL);
  T_CHECK (sobel_ring_replace_device (rig.ring, fake_device_seam (old)) == SOBEL_STATUS_INVALID, "lost");
  seam = fake_device_seam (old);
  sobel_device_destroy (&seam);
  fake_device_free (old);
  rig_finish (&rig, 4);
}

int
main (void)
{
  test_order ();
  test_pass_through ();
  test_pass_through_waits ();
  test_full_ring_blocks ();
  test_drain ();
  test_hold_several ();
  test_null ();
  test_states ();
  test_fields ();
  test_reconfigure ();
  test_replace_device ();
  return t_result ();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Destroying devices: what they keep, and those whose hardware is still busy. And the fake device itself: a test tool
 * that misses a broken rule would make every other test worth less. */
#include "fakedevice.h"
#include "testutil.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static const SobelConfig config = { .width = 64, .height = 1 };

/* ---- keeping and destroying ------------------------------------------------------------------------- */

static unsigned released;

static void
count_release (void *object)
{
  unsigned *count = object;

  (*count)++;
}

static SobelJob
job_for (uint64_t *in, uint64_t *out)
{
  SobelJob job = { 0 };

  job.in.plane[0] = (SobelPlane) { (uint8_t *) in, 8, 1 };
  job.out.plane[0] = (SobelPlane) { (uint8_t *) out, 8, 1 };
  return job;
}

static void
test_keep (void)
{
  FakeDevice *fake = fake_device_new (NULL);
  SobelDevice *device = fake_device_seam (fake), *none = NULL;
  unsigned i;

  released = 0;
  for (i = 0; i < 100; i++)
    sobel_device_keep (device, &released, count_release);
  sobel_device_keep (device, NULL, count_release);
  sobel_device_keep (device, &released, NULL);
  T_CHECK (released == 0, "released early");
  sobel_device_destroy (&device);
  T_CHECK (!device && released == 100, "%u released", released);
  T_CHECK (fake_device_destroyed (fake), "not destroyed");
  /* Without a device nothing can be written to. */
  sobel_device_keep (NULL, &released, count_release);
  T_CHECK (released == 101, "%u released", released);
  sobel_device_destroy (NULL);
  sobel_device_destroy (&none);
  fake_device_free (fake);
  T_CHECK (sobel_device_reap () == 0, "something set aside");
}

/* Set aside with what they keep, each until its own hardware is quiet. */
static void
test_set_aside (void)
{
  FakeDevice *fake[3];
  unsigned kept[3] = { 0 }, i;
  uint64_t in = 1, out[3] = { 0 };
  SobelError error;

  for (i = 0; i < 3; i++) {
    const SobelJob job = job_for (&in, &out[i]);
    SobelDevice *device;

    fake[i] = fake_device_new (&(FakeOptions) { .finish = FAKE_FINISH_TOLD, .stamp = 10 + i });
    device = fake_device_seam (fake[i]);
    T_CHECK (device->ops->configure (device, &config, 2, &error) == SOBEL_STATUS_OK, "configure");
    T_CHECK (device->ops->submit (device, 0, &job, &error) == SOBEL_STATUS_OK, "submit");
    sobel_device_keep (device, &kept[i], count_release);
    sobel_device_destroy (&device);
    T_CHECK (!device && !fake_device_destroyed (fake[i]) && kept[i] == 0, "device %u", i);
    T_CHECK (sobel_device_reap () == i + 1, "device %u", i);
  }
  fake_device_finish_all (fake[1]);
  T_CHECK (out[1] == 12 && kept[1] == 0, "released before it was destroyed");
  T_CHECK (sobel_device_reap () == 2 && kept[1] == 1 && fake_device_destroyed (fake[1]), "quiet, but not reaped");
  T_CHECK (kept[0] == 0 && kept[2] == 0, "released while busy");

  /* Destroying any device reaps the others. */
  fake_device_quiet (fake[0]);
  {
    FakeDevice *other = fake_device_new (NULL);
    SobelDevice *device = fake_device_seam (other);

    sobel_device_destroy (&device);
    fake_device_free (other);
  }
  T_CHECK (kept[0] == 1 && out[0] == 0, "not reaped by destroy");
  fake_device_finish_all (fake[2]);
  T_CHECK (sobel_device_reap () == 0 && kept[2] == 1, "%u left", sobel_device_reap ());
  for (i = 0; i < 3; i++)
    fake_device_free (fake[i]);
}

enum { N_DEVICES = 200 };

static FakeDevice *shared[N_DEVICES];
static atomic_uint shared_released;

static void
count_shared (void *object)
{
  atomic_fetch_add (&shared_released, 1);
}

static void *
destroy_some (void *data)
{
  const unsigned first = *(const unsigned *) data;
  unsigned i;

  for (i = first; i < N_DEVICES; i += 4) {
    SobelDevice *device = fake_device_seam (shared[i]);

    sobel_device_keep (device, &shared[i], count_shared);
    sobel_device_destroy (&device);
    sobel_device_reap ();
  }
  return NULL;
}

/* Many threads destroy and reap; every device "busy" a few times. */
static void
test_threads (void)
{
  const unsigned first[4] = { 0, 1, 2, 3 };
  pthread_t thread[4];
  unsigned i;

  for (i = 0; i < N_DEVICES; i++) {
    shared[i] = fake_device_new (NULL);
    fake_device_fail (shared[i], FAKE_CALL_DESTROY, i % 3, SOBEL_STATUS_OK);
  }
  for (i = 0; i < 4; i++)
    pthread_create (&thread[i], NULL, destroy_some, (void *) &first[i]);
  for (i = 0; i < 4; i++)
    pthread_join (thread[i], NULL);
  for (i = 0; sobel_device_reap () > 0 && i < 10; i++)
    ;
  T_CHECK (sobel_device_reap () == 0, "%u left", sobel_device_reap ());
  T_CHECK (atomic_load (&shared_released) == N_DEVICES, "%u released", atomic_load (&shared_released));
  for (i = 0; i < N_DEVICES; i++) {
    T_CHECK (fake_device_destroyed (shared[i]) && fake_device_misuse (shared[i], NULL) == 0, "device %u", i);
    fake_device_free (shared[i]);
  }
}

/* ---- the fake device -------------------------------------------------------------------------------- */

static FakeDevice *fake;
static SobelDevice *device;
static uint64_t in[16], out[16];
static SobelJob job[16];

static void
open_fake (const FakeOptions *options)
{
  SobelError error;
  unsigned i;

  fake = fake_device_new (options);
  device = fake_device_seam (fake);
  for (i = 0; i < 16; i++) {
    in[i] = i;
    out[i] = 0;
    job[i] = job_for (&in[i], &out[i]);
  }
  T_CHECK (device->ops->configure (device, &config, 4, &error) == SOBEL_STATUS_OK, "configure");
}

/* Checks that a rule was broken as often as `misuse` says, first the one that `word` is part of. */
static void
close_fake (unsigned misuse, const char *word)
{
  const char *first = NULL;
  const unsigned n = fake_device_misuse (fake, &first);

  T_CHECK (n == misuse, "%u times instead of %u: %s", n, misuse, first ? first : "");
  T_CHECK (misuse == 0 ? !first : first && strstr (first, word), "%s instead of %s", first ? first : "nothing", word);
  fake_device_quiet (fake);
  sobel_device_destroy (&device);
  fake_device_free (fake);
}

static SobelStatus
submit (unsigned slot)
{
  SobelError error;

  return device->ops->submit (device, slot, &job[slot % 16], &error);
}

static SobelStatus
wait_for (unsigned slot)
{
  SobelError error;

  return device->ops->wait (device, slot, 0, &error);
}

static void
test_fake_finishes (void)
{
  uint64_t start;
  SobelError error;

  open_fake (&(FakeOptions) { .stamp = 100 });
  T_CHECK (submit (3) == SOBEL_STATUS_OK && out[3] == 103, "at once");
  T_CHECK (wait_for (3) == SOBEL_STATUS_OK, "wait");
  fake_device_set_finish (fake, FAKE_FINISH_TOLD, 0, 0);
  T_CHECK (submit (0) == SOBEL_STATUS_OK && submit (1) == SOBEL_STATUS_OK, "submit");
  T_CHECK (wait_for (0) == SOBEL_STATUS_TIMEOUT && fake_device_in_flight (fake) == 2, "finished untold");
  T_CHECK (fake_device_finish (fake, 1) == 1 && fake_device_finish (fake, 1) == 0, "finish");
  T_CHECK (out[1] == 101 && out[0] == 0 && wait_for (1) == SOBEL_STATUS_OK, "told");
  T_CHECK (wait_for (0) == SOBEL_STATUS_TIMEOUT, "told of another");
  T_CHECK (fake_device_finish_all (fake) == 1 && wait_for (0) == SOBEL_STATUS_OK && out[0] == 100, "all");
  fake_device_set_finish (fake, FAKE_FINISH_LATE, 20000000, 0);
  start = t_now_ns ();
  T_CHECK (submit (2) == SOBEL_STATUS_OK && out[2] == 0, "late");
  T_CHECK (device->ops->wait (device, 2, 1000000, &error) == SOBEL_STATUS_TIMEOUT, "early");
  T_CHECK (device->ops->wait (device, 2, UINT64_MAX, &error) == SOBEL_STATUS_OK && out[2] == 102, "late");
  T_CHECK (t_now_ns () - start >= 20000000, "too early");
  T_CHECK (fake_device_calls (fake, FAKE_CALL_SUBMIT) == 4 && fake_device_calls (fake, FAKE_CALL_WAIT) == 7 &&
               fake_device_calls (fake, FAKE_CALL_ANY) == 12,
           "%u calls", fake_device_calls (fake, FAKE_CALL_ANY));
  T_CHECK (fake_device_await_submits (fake, 4, 0) && !fake_device_await_submits (fake, 5, 1000000), "await");
  close_fake (0, NULL);
}

static void
test_fake_fails (void)
{
  SobelError error;
  SobelHostBlock *block;

  open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD });
  fake_device_fail (fake, FAKE_CALL_HOST_ALLOC, 1, SOBEL_STATUS_OK);
  fake_device_fail (fake, FAKE_CALL_SUBMIT, 2, SOBEL_STATUS_INVALID);
  T_CHECK (device->ops->host_alloc (device, 100, &block, &error) == SOBEL_STATUS_NO_MEMORY && !block, "host_alloc");
  T_CHECK (strstr (error.message, "100 bytes"), "%s", error.message);
  T_CHECK (device->ops->host_alloc (device, 100, &block, &error) == SOBEL_STATUS_OK, "host_alloc");
  T_CHECK (submit (0) == SOBEL_STATUS_OK && submit (1) == SOBEL_STATUS_INVALID, "submit");
  T_CHECK (fake_device_failures (fake) == 2 && fake_device_in_flight (fake) == 2, "failures");
  T_CHECK (!device->ops->destroy (device), "destroyed while busy");
  fake_device_finish (fake, 0);
  T_CHECK (wait_for (0) == SOBEL_STATUS_OK, "a frame before the failure");
  T_CHECK (!device->ops->destroy (device), "destroyed while busy");
  T_CHECK (fake_device_blocks (fake) == 1, "blocks");
  close_fake (0, NULL);
  block->free (block); /* outlives both */
}

static void
test_fake_catches (void)
{
  SobelError error;
  SobelTiming timing;
  SobelHostBlock *block;
  unsigned i;

  open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD });
  submit (0);
  submit (0);
  close_fake (1, "in flight");

  open_fake (NULL);
  submit (0);
  submit (0);
  close_fake (1, "not waited for");

  open_fake (NULL);
  submit (4);
  close_fake (1, "not configured");

  open_fake (NULL);
  T_CHECK (wait_for (1) == SOBEL_STATUS_INVALID, "wait");
  close_fake (1, "without a frame");

  open_fake (NULL);
  submit (1);
  wait_for (1);
  wait_for (1);
  wait_for (1);
  close_fake (3, "without a frame"); /* and a wait after a failed one */

  open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD });
  submit (0);
  device->ops->configure (device, &config, 2, &error);
  close_fake (1, "configure with frames");

  open_fake (NULL);
  device->ops->configure (device, &config, 17, &error);
  close_fake (1, "impossible number");

  open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD });
  submit (0);
  device->ops->timing (device, 0, &timing);
  close_fake (1, "timing");

  open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD, .watch_memory = true });
  submit (0);
  submit (1);
  submit (2);
  out[0]++;
  in[2]++;
  fake_device_finish_all (fake);
  close_fake (2, "written to");

  open_fake (&(FakeOptions) { .pinned_only = true });
  T_CHECK (device->ops->host_alloc (device, 32, &block, &error) == SOBEL_STATUS_OK, "host_alloc");
  for (i = 0; i < 4; i++)
    job[i] = job_for (block->data, (uint64_t *) block->data + 1);
  job[1].out.plane[0] = (SobelPlane) { (uint8_t *) &out[1], 8, 1 };
  job[2].in.plane[0] = (SobelPlane) { block->data, 8, 5 };
  job[3].in = (SobelImage) { .memory = SOBEL_MEMORY_DEVICE, .plane[0] = { fake_device_address (&in[3]), 8, 1 } };
  for (i = 0; i < 4; i++)
    submit (i);
  block->free (block);
  close_fake (2, "not pinned");

  open_fake (NULL);
  fake_device_fail (fake, FAKE_CALL_SUBMIT, 1, SOBEL_STATUS_OK);
  submit (0);
  submit (1);
  close_fake (1, "after a failed submit");

  open_fake (NULL);
  fake_device_fail (fake, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
  submit (0);
  wait_for (0);
  for (i = 1; i < 4; i++)
    submit (i); /* by a thread that could not know */
  close_fake (0, NULL);

  /* The slot that was waited for, and one for the second time, also if nothing is left in them. */
  for (i = 0; i < 2; i++) {
    open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD });
    fake_device_fail (fake, FAKE_CALL_WAIT, 1, SOBEL_STATUS_OK);
    submit (0);
    wait_for (0);
    submit (1);
    fake_device_quiet (fake);
    submit (i);
    close_fake (1, "after a failed wait");
  }

  open_fake (NULL);
  device->ops->destroy (device);
  submit (0);
  T_CHECK (fake_device_misuse (fake, NULL) == 2, "%u", fake_device_misuse (fake, NULL));
  fake_device_free (fake);
}

static atomic_uint submitters;

static void *
submit_one (void *data)
{
  atomic_fetch_add (&submitters, 1);
  submit (*(const unsigned *) data);
  return NULL;
}

static void *
wait_one (void *data)
{
  SobelError error;

  device->ops->wait (device, *(const unsigned *) data, UINT64_MAX, &error);
  return NULL;
}

enum { PATIENCE_MS = 20000 };

static void
sleep_ms (long ms)
{
  const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

  nanosleep (&t, NULL);
}

/* Lasts until the other thread is as good as inside. */
static void
slow_compute (void *user, const SobelConfig *unused, const SobelJob *unused_job)
{
  unsigned ms;

  for (ms = 0; ms < PATIENCE_MS && atomic_load (&submitters) < 2; ms++)
    sleep_ms (1);
  sleep_ms (200);
}

/* Calls that must not overlap, made to overlap. */
static void
test_fake_catches_threads (void)
{
  const unsigned slot[2] = { 0, 1 };
  pthread_t thread[2];
  unsigned i, ms;

  open_fake (&(FakeOptions) { .compute = slow_compute });
  atomic_store (&submitters, 0);
  for (i = 0; i < 2; i++)
    pthread_create (&thread[i], NULL, submit_one, (void *) &slot[i]);
  for (i = 0; i < 2; i++)
    pthread_join (thread[i], NULL);
  close_fake (1, "inside submit");

  open_fake (&(FakeOptions) { .finish = FAKE_FINISH_TOLD });
  submit (0);
  submit (1);
  for (i = 0; i < 2; i++)
    pthread_create (&thread[i], NULL, wait_one, (void *) &slot[i]);
  for (ms = 0; ms < PATIENCE_MS && fake_device_misuse (fake, NULL) == 0; ms++)
    sleep_ms (1);
  fake_device_finish_all (fake);
  for (i = 0; i < 2; i++)
    pthread_join (thread[i], NULL);
  close_fake (1, "inside wait");
}

static void
callback (void *user, const SobelConfig *with, const SobelJob *work)
{
  T_CHECK (with->width == 64 && work->in.memory == SOBEL_MEMORY_HOST, "compute");
  *(uint64_t *) work->out.plane[0].data = *(uint64_t *) work->in.plane[0].data + *(uint64_t *) user;
}

static void
test_fake_computes (void)
{
  uint64_t add = 1000;
  FakeDevice *inner = fake_device_new (&(FakeOptions) { .stamp = 50 });
  SobelDeviceInfo info;

  open_fake (&(FakeOptions) { .compute = callback, .user = &add, .watch_memory = true, .kind = "fake-gpu" });
  /* Device memory, which no one but the device can reach. */
  job[2].in.memory = job[2].out.memory = SOBEL_MEMORY_DEVICE;
  job[2].in.plane[0].data = fake_device_address (&in[2]);
  job[2].out.plane[0].data = fake_device_address (&out[2]);
  T_CHECK (job[2].in.plane[0].data != (uint8_t *) &in[2], "the same address");
  T_CHECK (fake_device_address (job[2].in.plane[0].data) == (uint8_t *) &in[2], "no way back");
  submit (2);
  T_CHECK (wait_for (2) == SOBEL_STATUS_OK && out[2] == 1002, "%u", (unsigned) out[2]);
  device->ops->info (device, &info);
  T_CHECK (strcmp (info.name, "fake-gpu") == 0 && info.kernel && info.device_bytes == 4, "%s", info.name);
  close_fake (0, NULL);

  open_fake (&(FakeOptions) { .inner = fake_device_seam (inner), .finish = FAKE_FINISH_TOLD });
  submit (1);
  T_CHECK (out[1] == 0, "untold");
  fake_device_finish (fake, 1);
  T_CHECK (out[1] == 51, "%u", (unsigned) out[1]);
  close_fake (0, NULL);
  T_CHECK (fake_device_destroyed (inner) && fake_device_misuse (inner, NULL) == 0, "inner");
  fake_device_free (inner);

  fake_device_free (fake_device_new (NULL)); /* never handed on */
}

int
main (void)
{
  test_keep ();
  test_set_aside ();
  test_threads ();
  test_fake_finishes ();
  test_fake_fails ();
  test_fake_catches ();
  test_fake_catches_threads ();
  test_fake_computes ();
  return t_result ();
}

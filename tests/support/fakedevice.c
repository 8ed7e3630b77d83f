/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fakedevice-private.h"
#include "pinnedbudget.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No user-space address has this bit on x86-64 and AArch64, with tagged pointers or without. */
#define DEVICE_ADDRESS_BIT ((uintptr_t) 1 << 55)

typedef struct FakeBlock FakeBlock;
struct FakeBlock
{
  SobelHostBlock block; /* first */
  FakeDevice *fake;
  FakeBlock *next;
};

/* Of all fake devices: what one has pinned, the others reach, too. */
static FakeBlock *blocks;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held. `what` is static. */
static void
misused (FakeDevice *fake, const char *what)
{
  if (fake->misuse++ == 0)
    fake->first_misuse = what;
}

static void
misused_unlocked (FakeDevice *fake, const char *what)
{
  pthread_mutex_lock (&fake->lock);
  misused (fake, what);
  pthread_mutex_unlock (&fake->lock);
}

/* With the lock held. OK, or what the call is to fail with. */
static SobelStatus
count_call (FakeDevice *fake, FakeCall call)
{
  static const SobelStatus usual[FAKE_N_CALLS] = { SOBEL_STATUS_NO_MEMORY, SOBEL_STATUS_NO_MEMORY,
                                                   SOBEL_STATUS_DEVICE_LOST, SOBEL_STATUS_DEVICE_LOST,
                                                   SOBEL_STATUS_TIMEOUT };
  const FakeCall plan[2] = { call, FAKE_CALL_ANY };
  SobelStatus status = SOBEL_STATUS_OK;
  unsigned i;

  if (fake->destroyed)
    misused (fake, "a call after destroy");
  fake->calls[call]++;
  for (i = 0; i < 2; i++) {
    if (fake->fail_in[plan[i]] > 0 && --fake->fail_in[plan[i]] == 0) {
      status = fake->fail_status[plan[i]] != SOBEL_STATUS_OK ? fake->fail_status[plan[i]] : usual[call];
      fake->failures++;
    }
  }
  return status;
}

void
fake_unref (FakeDevice *fake)
{
  bool last;

  pthread_mutex_lock (&fake->lock);
  last = --fake->references == 0;
  pthread_mutex_unlock (&fake->lock);
  if (!last)
    return;
  pthread_cond_destroy (&fake->changed);
  pthread_mutex_destroy (&fake->lock);
  pthread_mutex_destroy (&fake->compute_lock);
  free (fake);
}

/* ---- computing ------------------------------------------------------------------------------------- */

uint8_t *
fake_device_address (const void *address)
{
  return (uint8_t *) ((uintptr_t) address ^ DEVICE_ADDRESS_BIT);
}

/* The same picture at addresses that this process can use. */
static SobelImage
reachable (const SobelImage *image)
{
  SobelImage copy = *image;
  unsigned i;

  if (copy.memory == SOBEL_MEMORY_DEVICE)
    for (i = 0; i < SOBEL_MAX_PLANES; i++)
      if (copy.plane[i].data)
        copy.plane[i].data = fake_device_address (copy.plane[i].data);
  copy.memory = SOBEL_MEMORY_HOST;
  return copy;
}

static uint64_t
hash_image (uint64_t hash, const SobelImage *image)
{
  const SobelImage at = reachable (image);
  unsigned i;

  for (i = 0; i < SOBEL_MAX_PLANES; i++) {
    const SobelPlane *plane = &at.plane[i];
    const size_t bytes = !plane->data   ? 0
                         : image->format ? sobel_image_row_bytes (image->format, i, image->width)
                                         : (size_t) (plane->stride < 0 ? -plane->stride : plane->stride);
    int32_t row;

    for (row = 0; plane->data && row < plane->rows; row++) {
      const uint8_t *p = plane->data + row * plane->stride;
      size_t k;

      for (k = 0; k < bytes; k++)
        hash = (hash ^ p[k]) * 0x100000001b3u;
    }
  }
  return hash;
}

static uint64_t
hash_job (const SobelJob *job)
{
  return hash_image (hash_image (0xcbf29ce484222325u, &job->in), &job->out);
}

static void
compute (FakeDevice *fake, unsigned slot, const SobelConfig *config, const SobelJob *original)
{
  SobelDevice *inner = fake->options.inner;
  SobelJob job = *original;
  uint64_t stamp;

  if (inner) {
    SobelError error;

    if (inner->ops->submit (inner, slot, original, &error) != SOBEL_STATUS_OK ||
        inner->ops->wait (inner, slot, UINT64_MAX, &error) != SOBEL_STATUS_OK)
      misused_unlocked (fake, "the inner device failed");
    return;
  }
  job.in = reachable (&original->in);
  job.out = reachable (&original->out);
  if (fake->options.compute) {
    fake->options.compute (fake->options.user, config, &job);
  } else if (job.in.plane[0].data && job.out.plane[0].data) {
    memcpy (&stamp, job.in.plane[0].data, sizeof stamp);
    stamp += fake->options.stamp;
    memcpy (job.out.plane[0].data, &stamp, sizeof stamp);
  }
}

void
fake_finish_job (FakeDevice *fake, unsigned slot)
{
  FakeJob *fake_job = &fake->job[slot];
  const SobelConfig config = fake->config;
  bool touched;

  fake_job->state = JOB_COMPUTING;
  pthread_mutex_unlock (&fake->lock);
  pthread_mutex_lock (&fake->compute_lock);
  touched = fake->options.watch_memory && hash_job (&fake_job->job) != fake_job->hash;
  compute (fake, slot, &config, &fake_job->job);
  pthread_mutex_unlock (&fake->compute_lock);
  pthread_mutex_lock (&fake->lock);
  if (touched)
    misused (fake, "memory of a frame in flight was written to");
  fake_job->state = JOB_FINISHED;
  pthread_cond_broadcast (&fake->changed);
}

/* ---- the device's calls ---------------------------------------------------------------------------- */

static SobelStatus
fake_configure (SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  FakeDevice *fake = (FakeDevice *) device;
  SobelStatus status;
  unsigned i;

  pthread_mutex_lock (&fake->lock);
  status = count_call (fake, FAKE_CALL_CONFIGURE);
  for (i = 0; i < FAKE_MAX_SLOTS; i++)
    if (fake->job[i].state != JOB_NONE)
      misused (fake, "configure with frames in flight");
  if (fake->submit_failed || fake->wait_failed)
    misused (fake, "configure of a lost device");
  if (n_slots < 1 || n_slots > FAKE_MAX_SLOTS)
    misused (fake, "configure with an impossible number of slots");
  if (atomic_load (&fake->in_submit) || atomic_load (&fake->in_wait))
    misused (fake, "configure while another thread is inside submit or wait");
  fake->n_slots = 0;
  memset (fake->job, 0, sizeof fake->job);
  if (status == SOBEL_STATUS_OK) {
    fake->n_slots = n_slots < FAKE_MAX_SLOTS ? n_slots : FAKE_MAX_SLOTS;
    fake->config = *config;
  } else {
    sobel_error_set (error, status, "%s device: configure failed as planned (%u slots)", fake->ops.kind, n_slots);
  }
  pthread_mutex_unlock (&fake->lock);
  if (status == SOBEL_STATUS_OK && fake->options.inner)
    status = fake->options.inner->ops->configure (fake->options.inner, config, n_slots, error);
  return status;
}

static void
fake_block_free (SobelHostBlock *block)
{
  FakeDevice *fake = ((FakeBlock *) block)->fake;
  FakeBlock **link;

  pthread_mutex_lock (&blocks_lock);
  for (link = &blocks; *link != (FakeBlock *) block; link = &(*link)->next)
    ;
  *link = (*link)->next;
  pthread_mutex_unlock (&blocks_lock);
  sobel_pinned_release (block->size);
  free (block->data);
  free (block);
  pthread_mutex_lock (&fake->lock);
  fake->blocks--;
  pthread_mutex_unlock (&fake->lock);
  fake_unref (fake);
}

static SobelStatus
fake_host_alloc (SobelDevice *device, size_t size, SobelHostBlock **block, SobelError *error)
{
  FakeDevice *fake = (FakeDevice *) device;
  FakeBlock *fresh;
  SobelStatus status;

  *block = NULL;
  pthread_mutex_lock (&fake->lock);
  status = count_call (fake, FAKE_CALL_HOST_ALLOC);
  pthread_mutex_unlock (&fake->lock);
  if (status != SOBEL_STATUS_OK)
    return sobel_error_set (error, status, "%s device: no %zu bytes of host memory, as planned", fake->ops.kind, size);
  status = sobel_pinned_reserve (size, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  fresh = calloc (1, sizeof *fresh);
  if (!fresh || posix_memalign (&fresh->block.data, (size_t) sysconf (_SC_PAGESIZE), size > 0 ? size : 1) != 0) {
    free (fresh);
    sobel_pinned_release (size);
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "%s device: no %zu bytes of host memory", fake->ops.kind,
                            size);
  }
  fresh->block.size = size;
  fresh->block.free = fake_block_free;
  fresh->fake = fake;
  pthread_mutex_lock (&fake->lock);
  fake->references++;
  fake->blocks++;
  pthread_mutex_unlock (&fake->lock);
  pthread_mutex_lock (&blocks_lock);
  fresh->next = blocks;
  blocks = fresh;
  pthread_mutex_unlock (&blocks_lock);
  *block = &fresh->block;
  return SOBEL_STATUS_OK;
}

/* Whether all of a plane lies in one block. */
static bool
is_pinned (const SobelPlane *plane)
{
  const size_t bytes = (size_t) (plane->stride < 0 ? -plane->stride : plane->stride) * (size_t) (plane->rows - 1);
  const uint8_t *first = plane->stride < 0 ? plane->data - bytes : plane->data;
  const FakeBlock *b;

  pthread_mutex_lock (&blocks_lock);
  for (b = blocks; b; b = b->next) {
    const uint8_t *start = b->block.data;

    if (first >= start && first + bytes < start + b->block.size)
      break;
  }
  pthread_mutex_unlock (&blocks_lock);
  return b != NULL;
}

/* With the lock held. */
static void
check_memory (FakeDevice *fake, const SobelJob *job)
{
  const SobelImage *image[2] = { &job->in, &job->out };
  bool pinned = true;
  unsigned i, k;

  for (i = 0; i < 2; i++)
    for (k = 0; k < SOBEL_MAX_PLANES && image[i]->memory == SOBEL_MEMORY_HOST; k++)
      pinned &= !image[i]->plane[k].data || is_pinned (&image[i]->plane[k]);
  if (!pinned)
    misused (fake, "a frame in memory that is not pinned");
}

/* With the lock held. */
static void
check_submit (FakeDevice *fake, unsigned slot)
{
  if (slot >= fake->n_slots)
    misused (fake, "submit to a slot that is not configured");
  else if (fake->job[slot].spent)
    misused (fake, "one submit too many after a failed wait");
  else if (fake->job[slot].state == JOB_FINISHED)
    misused (fake, "submit to a slot whose finished frame was not waited for");
  else if (fake->job[slot].state != JOB_NONE)
    misused (fake, "submit to a slot with a frame in flight");
  if (fake->submit_failed)
    misused (fake, "submit after a failed submit");
}

static void
start_job (FakeDevice *fake, unsigned slot, const SobelJob *job)
{
  FakeJob *fake_job = &fake->job[slot];

  fake_job->job = *job;
  fake_job->state = JOB_RUNNING;
  fake_job->seen = false;
  fake_job->spent = fake->wait_failed;
  fake_job->due_ns = UINT64_MAX;
  if (fake->options.watch_memory)
    fake_job->hash = hash_job (job);
  if (fake->finish == FAKE_FINISH_LATE) {
    fake->random = fake->random * 6364136223846793005u + 1442695040888963407u;
    fake_job->due_ns = t_now_ns () + fake->delay_ns;
    if (fake->jitter_ns > 0)
      fake_job->due_ns += (fake->random >> 20) % fake->jitter_ns;
  }
}

static SobelStatus
fake_submit (SobelDevice *device, unsigned slot, const SobelJob *job, SobelError *error)
{
  FakeDevice *fake = (FakeDevice *) device;
  SobelStatus status;

  if (atomic_exchange (&fake->in_submit, true))
    misused_unlocked (fake, "two threads inside submit");
  pthread_mutex_lock (&fake->lock);
  status = count_call (fake, FAKE_CALL_SUBMIT);
  pthread_cond_broadcast (&fake->changed); /* fake_device_await_submits() */
  check_submit (fake, slot);
  if (fake->options.pinned_only)
    check_memory (fake, job);
  if (slot < fake->n_slots) {
    start_job (fake, slot, job);
    if (fake->finish == FAKE_FINISH_AT_ONCE && status == SOBEL_STATUS_OK)
      fake_finish_job (fake, slot);
    else if (fake->finish == FAKE_FINISH_AT_ONCE)
      fake->job[slot].state = JOB_NONE; /* this kind of device leaves nothing behind */
  }
  if (status != SOBEL_STATUS_OK) {
    fake->submit_failed = true;
    sobel_error_set (error, status, "%s device: submit to slot %u failed as planned", fake->ops.kind, slot);
  }
  pthread_mutex_unlock (&fake->lock);
  atomic_store (&fake->in_submit, false);
  return status;
}

struct timespec
fake_timespec (uint64_t ns)
{
  /* Far beyond any test, but nothing that overflows. */
  const uint64_t far = t_now_ns () + (uint64_t) 3600 * 1000000000u, t = ns < far ? ns : far;

  return (struct timespec) { .tv_sec = (time_t) (t / 1000000000u), .tv_nsec = (long) (t % 1000000000u) };
}

/* With the lock held. */
static SobelStatus
wait_for_job (FakeDevice *fake, unsigned slot, uint64_t timeout_ns)
{
  FakeJob *fake_job = &fake->job[slot];
  const uint64_t start = t_now_ns ();
  const uint64_t deadline = timeout_ns < UINT64_MAX - start ? start + timeout_ns : UINT64_MAX;

  while (fake_job->state != JOB_FINISHED) {
    const uint64_t now = t_now_ns ();
    struct timespec until;

    if (fake_job->state == JOB_RUNNING && now >= fake_job->due_ns) {
      fake_finish_job (fake, slot);
      continue;
    }
    if (now >= deadline)
      return SOBEL_STATUS_TIMEOUT;
    until = fake_timespec (fake_job->state == JOB_RUNNING && fake_job->due_ns < deadline ? fake_job->due_ns : deadline);
    pthread_cond_timedwait (&fake->changed, &fake->lock, &until);
    if (fake_job->state == JOB_NONE) /* fake_device_quiet() */
      return SOBEL_STATUS_DEVICE_LOST;
  }
  fake_job->state = JOB_NONE;
  fake_job->seen = true;
  return SOBEL_STATUS_OK;
}

static SobelStatus
fake_wait (SobelDevice *device, unsigned slot, uint64_t timeout_ns, SobelError *error)
{
  FakeDevice *fake = (FakeDevice *) device;
  SobelStatus status;

  if (atomic_exchange (&fake->in_wait, true))
    misused_unlocked (fake, "two threads inside wait");
  pthread_mutex_lock (&fake->lock);
  if (fake->wait_failed)
    misused (fake, "wait after a failed wait");
  status = count_call (fake, FAKE_CALL_WAIT);
  if (status == SOBEL_STATUS_OK) {
    if (slot >= fake->n_slots || fake->job[slot].state == JOB_NONE) {
      misused (fake, "wait for a slot without a frame");
      status = SOBEL_STATUS_INVALID;
    } else {
      status = wait_for_job (fake, slot, timeout_ns);
    }
  }
  if (status != SOBEL_STATUS_OK && status != SOBEL_STATUS_TIMEOUT) {
    fake->wait_failed = true;
    if (slot < fake->n_slots)
      fake->job[slot].spent = true;
    sobel_error_set (error, status, "%s device: wait for slot %u failed as planned", fake->ops.kind, slot);
    while (fake->hold_failure)
      pthread_cond_wait (&fake->changed, &fake->lock);
  }
  pthread_mutex_unlock (&fake->lock);
  atomic_store (&fake->in_wait, false);
  return status;
}

static void
fake_timing (SobelDevice *device, unsigned slot, SobelTiming *timing)
{
  FakeDevice *fake = (FakeDevice *) device;

  pthread_mutex_lock (&fake->lock);
  if (slot >= fake->n_slots || fake->job[slot].state != JOB_NONE || !fake->job[slot].seen)
    misused (fake, "timing of a slot that has no finished frame");
  pthread_mutex_unlock (&fake->lock);
  *timing = (SobelTiming) { .upload_ns = 1000, .kernel_ns = 2000 + slot, .download_ns = 3000 };
}

static void
fake_info (SobelDevice *device, SobelDeviceInfo *info)
{
  FakeDevice *fake = (FakeDevice *) device;

  memset (info, 0, sizeof *info);
  strncpy (info->name, fake->ops.kind, sizeof info->name - 1);
  info->kernel = "stamp";
  pthread_mutex_lock (&fake->lock);
  info->device_bytes = fake->n_slots;
  pthread_mutex_unlock (&fake->lock);
}

static bool
fake_destroy (SobelDevice *device)
{
  FakeDevice *fake = (FakeDevice *) device;
  bool busy = false;
  unsigned i;

  pthread_mutex_lock (&fake->lock);
  if (count_call (fake, FAKE_CALL_DESTROY) != SOBEL_STATUS_OK)
    busy = true;
  for (i = 0; i < FAKE_MAX_SLOTS; i++) {
    if (fake->job[i].state == JOB_RUNNING && t_now_ns () >= fake->job[i].due_ns)
      fake_finish_job (fake, i);
    if (fake->job[i].state == JOB_RUNNING || fake->job[i].state == JOB_COMPUTING)
      busy = true;
  }
  if (!busy) {
    fake->destroyed = true;
    fake->n_slots = 0;
  }
  pthread_mutex_unlock (&fake->lock);
  if (busy)
    return false;
  sobel_device_destroy (&fake->options.inner);
  fake_unref (fake);
  return true;
}

/* ---- life ------------------------------------------------------------------------------------------ */

FakeDevice *
fake_device_new (const FakeOptions *options)
{
  static const FakeOptions zero;
  FakeDevice *fake = calloc (1, sizeof *fake);
  pthread_condattr_t attributes;

  if (!fake)
    return NULL;
  fake->options = options ? *options : zero;
  fake->ops = (SobelDeviceOps) {
    .kind = fake->options.kind ? fake->options.kind : "fake",
    .configure = fake_configure,
    .host_alloc = fake->options.no_host_alloc ? NULL : fake_host_alloc,
    .submit = fake_submit,
    .wait = fake_wait,
    .timing = fake_timing,
    .info = fake_info,
    .destroy = fake_destroy,
  };
  fake->device.ops = &fake->ops;
  fake->references = 2;
  fake->random = 1;
  fake->finish = fake->options.finish;
  fake->delay_ns = fake->options.delay_ns;
  fake->jitter_ns = fake->options.jitter_ns;
  pthread_mutex_init (&fake->lock, NULL);
  pthread_mutex_init (&fake->compute_lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&fake->changed, &attributes);
  pthread_condattr_destroy (&attributes);
  return fake;
}

SobelDevice *
fake_device_seam (FakeDevice *fake)
{
  fake->handed_on = true;
  return &fake->device;
}

void
fake_device_free (FakeDevice *fake)
{
  if (!fake)
    return;
  if (!fake->handed_on) {
    sobel_device_destroy (&fake->options.inner);
    fake_unref (fake);
  }
  fake_unref (fake);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ringrig.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a picture's memory is here. Of its own allocation, so that a write after its end is seen by tools. */
typedef struct RigBuffer
{
  Rig *rig;
  uint64_t *data;
} RigBuffer;

typedef struct RigFrame
{
  uint64_t serial;
  RigBuffer *in, *out;
} RigFrame;

enum { BUFFER_BYTES = 64 };

static RigBuffer *
buffer_new (Rig *rig)
{
  RigBuffer *buffer = malloc (sizeof *buffer);

  buffer->rig = rig;
  buffer->data = calloc (1, BUFFER_BYTES);
  atomic_fetch_add (&rig->buffers, 1);
  return buffer;
}

static void
buffer_free (void *object)
{
  RigBuffer *buffer = object;

  atomic_fetch_sub (&buffer->rig->buffers, 1);
  free (buffer->data);
  free (buffer);
}

static void
point_image (SobelImage *image, RigBuffer *buffer, SobelMemory memory)
{
  memset (image, 0, sizeof *image);
  image->memory = memory;
  image->width = BUFFER_BYTES;
  image->height = 1;
  image->plane[0].data =
      memory == SOBEL_MEMORY_DEVICE ? fake_device_address (buffer->data) : (uint8_t *) buffer->data;
  image->plane[0].stride = BUFFER_BYTES;
  image->plane[0].rows = 1;
}

static void
frame_drop (Rig *rig, SobelFrame *frame)
{
  RigFrame *mine = frame->user;

  if (!T_CHECK (mine, "slot %u: the frame was given back twice", frame->slot))
    return;
  if (mine->in)
    buffer_free (mine->in);
  if (mine->out)
    buffer_free (mine->out);
  free (mine);
  frame->user = NULL;
  atomic_fetch_sub (&rig->frames, 1);
}

/* ---- callbacks of the ring -------------------------------------------------------------------------- */

static void
on_submitted (void *user, SobelFrame *frame)
{
  Rig *rig = user;

  T_CHECK (sobel_ring_n_slots (rig->ring) > 0 && frame->user, "slot %u", frame->slot);
  atomic_fetch_add (&rig->submitted, 1);
}

static SobelStatus
on_replace_output (void *user, SobelFrame *frame, SobelDevice *lost, SobelError *error)
{
  Rig *rig = user;
  RigFrame *mine = frame->user;

  /* Callbacks run without locks of the ring. */
  T_CHECK (sobel_ring_n_slots (rig->ring) > 0, "slot %u", frame->slot);
  T_CHECK (lost == fake_device_seam (rig->device) || (rig->fallback && lost == fake_device_seam (rig->fallback)),
           "slot %u: unknown device", frame->slot);
  if (mine->out)
    sobel_device_keep (lost, mine->out, buffer_free);
  mine->out = NULL;
  if (frame->status != SOBEL_STATUS_OK) {
    if (mine->in)
      sobel_device_keep (lost, mine->in, buffer_free);
    mine->in = NULL;
    atomic_fetch_add (&rig->kept_only, 1);
    T_CHECK (frame->error.message[0] != '\0', "slot %u: no reason told", frame->slot);
    return SOBEL_STATUS_INVALID; /* must not matter */
  }
  atomic_fetch_add (&rig->replaced, 1);
  if (atomic_load (&rig->replace_fails)) {
    sobel_device_keep (lost, mine->in, buffer_free);
    mine->in = NULL;
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no other buffer, as planned");
  }
  if (atomic_load (&rig->replace_does_nothing))
    return SOBEL_STATUS_OK;
  /* The lost device may go on reading the old input, so it keeps that; the frame goes on with a copy, for this test
   * to see that it is the frame's own job that is computed. */
  if (frame->job.in.memory == SOBEL_MEMORY_HOST) {
    RigBuffer *in = buffer_new (rig);

    memcpy (in->data, mine->in->data, BUFFER_BYTES);
    sobel_device_keep (lost, mine->in, buffer_free);
    mine->in = in;
    point_image (&frame->job.in, in, SOBEL_MEMORY_HOST);
  }
  mine->out = buffer_new (rig);
  point_image (&frame->job.out, mine->out, SOBEL_MEMORY_HOST);
  return SOBEL_STATUS_OK;
}

static void
on_discard (void *user, SobelFrame *frame)
{
  Rig *rig = user;
  RigFrame *mine = frame->user;

  T_CHECK (sobel_ring_n_slots (rig->ring) > 0, "slot %u", frame->slot);
  if (mine)
    atomic_store (&rig->last_discarded, (unsigned) mine->serial);
  frame_drop (rig, frame);
  atomic_fetch_add (&rig->discarded, 1);
}

static void
on_device_lost (void *user, const SobelError *error)
{
  Rig *rig = user;

  T_CHECK (sobel_ring_n_slots (rig->ring) > 0, "device_lost");
  T_CHECK (error->status == SOBEL_STATUS_DEVICE_LOST, "%s", sobel_status_name (error->status));
  T_CHECK (error->message[0] != '\0', "no reason told");
  if (rig->fallback)
    T_CHECK (sobel_ring_is_fallback (rig->ring), "not gone over to the fallback");
  rig->loss = *error;
  atomic_fetch_add (&rig->lost_calls, 1);
}

/* ---- life ------------------------------------------------------------------------------------------ */

const SobelConfig *
rig_config (void)
{
  static const SobelConfig config = { .width = BUFFER_BYTES, .height = 1 };

  return &config;
}

void
rig_init (Rig *rig, const RigOptions *options)
{
  FakeOptions device = options->device, fallback = options->fallback;
  SobelRingOptions ring = {
    .give_up_ns = options->give_up_ns ? options->give_up_ns : RIG_LONG,
    .submitted = on_submitted,
    .replace_output = on_replace_output,
    .discard = on_discard,
    .device_lost = on_device_lost,
    .user = rig,
  };
  SobelError error = { 0 };

  memset (rig, 0, sizeof *rig);
  device.kind = "fake-gpu";
  device.stamp = RIG_DEVICE;
  device.watch_memory = true;
  rig->device = fake_device_new (&device);
  ring.device = fake_device_seam (rig->device);
  if (!options->without_fallback) {
    fallback.kind = "fake-cpu";
    fallback.stamp = RIG_FALLBACK;
    fallback.watch_memory = true;
    rig->fallback = fake_device_new (&fallback);
    ring.fallback = fake_device_seam (rig->fallback);
  }
  rig->ring = sobel_ring_new (&ring);
  if (options->n_slots > 0)
    T_CHECK (sobel_ring_configure (rig->ring, rig_config (), options->n_slots, &error) == SOBEL_STATUS_OK, "%s",
             error.message);
}

static void
check_device (FakeDevice *fake, const char *name)
{
  const char *first = NULL;

  if (!fake)
    return;
  T_CHECK (fake_device_destroyed (fake), "%s was not destroyed", name);
  T_CHECK (fake_device_misuse (fake, &first) == 0, "%s: %s", name, first ? first : "?");
  T_CHECK (fake_device_blocks (fake) == 0, "%s: %u blocks left", name, fake_device_blocks (fake));
  fake_device_free (fake);
}

void
rig_finish (Rig *rig, unsigned pulled)
{
  unsigned tries;

  sobel_ring_free (rig->ring);
  /* Late writes first, into memory that must still be there. */
  fake_device_finish_all (rig->device);
  if (rig->fallback)
    fake_device_finish_all (rig->fallback);
  for (tries = 0; sobel_device_reap () > 0 && tries < 1000; tries++)
    rig_sleep (RIG_MS);
  T_CHECK (atomic_load (&rig->buffers) == 0, "%d buffers left", atomic_load (&rig->buffers));
  T_CHECK (atomic_load (&rig->frames) == 0, "%d frames left", atomic_load (&rig->frames));
  T_CHECK (pulled + atomic_load (&rig->discarded) == atomic_load (&rig->pushed), "%u pushed, %u pulled, %u discarded",
           atomic_load (&rig->pushed), pulled, atomic_load (&rig->discarded));
  T_CHECK (atomic_load (&rig->submitted) == atomic_load (&rig->pushed), "%u of %u told as submitted",
           atomic_load (&rig->submitted), atomic_load (&rig->pushed));
  T_CHECK (atomic_load (&rig->lost_calls) <= 1, "lost %u times", atomic_load (&rig->lost_calls));
  check_device (rig->device, "the device");
  check_device (rig->fallback, "the fallback");
}

/* ---- frames ---------------------------------------------------------------------------------------- */

void
rig_fill (Rig *rig, SobelFrame *frame, uint64_t serial, bool has_work, RigMemory memory)
{
  RigFrame *mine = calloc (1, sizeof *mine);

  mine->serial = serial;
  mine->in = buffer_new (rig);
  mine->out = buffer_new (rig);
  mine->in->data[0] = serial;
  point_image (&frame->job.in, mine->in, memory == RIG_DEVICE_IN ? SOBEL_MEMORY_DEVICE : SOBEL_MEMORY_HOST);
  point_image (&frame->job.out, mine->out, memory == RIG_DEVICE_OUT ? SOBEL_MEMORY_DEVICE : SOBEL_MEMORY_HOST);
  frame->has_work = has_work;
  frame->user = mine;
  atomic_fetch_add (&rig->frames, 1);
  atomic_fetch_add (&rig->pushed, 1);
}

SobelStatus
rig_push_kind (Rig *rig, uint64_t serial, bool has_work, RigMemory memory)
{
  SobelFrame *frame;
  const SobelStatus status = sobel_ring_begin (rig->ring, &frame);

  if (status != SOBEL_STATUS_OK)
    return status;
  rig_fill (rig, frame, serial, has_work, memory);
  sobel_ring_submit (rig->ring, frame);
  return SOBEL_STATUS_OK;
}

SobelStatus
rig_push (Rig *rig, uint64_t serial)
{
  return rig_push_kind (rig, serial, true, RIG_HOST);
}

void
rig_look (Rig *rig, SobelFrame *frame, RigResult *result)
{
  const RigFrame *mine = frame->user;

  memset (result, 0, sizeof *result);
  result->serial = mine->serial;
  result->status = frame->status;
  result->error = frame->error;
  result->timing = frame->timing;
  result->submitted_ns = frame->submitted_ns;
  result->finished_ns = frame->finished_ns;
  result->recomputed = frame->recomputed;
  result->has_work = frame->has_work;
  if (frame->status == SOBEL_STATUS_OK && mine->out && mine->out->data[0] != 0)
    result->value = mine->out->data[0] - mine->serial;
  T_CHECK (frame->finished_ns >= frame->submitted_ns && frame->submitted_ns > 0, "frame %" PRIu64, mine->serial);
  T_CHECK (frame->status == SOBEL_STATUS_OK || frame->error.message[0] != '\0', "frame %" PRIu64 ": no reason told",
           mine->serial);
  T_CHECK (frame->status == SOBEL_STATUS_OK || frame->error.status == frame->status, "frame %" PRIu64, mine->serial);
  frame_drop (rig, frame);
}

SobelStatus
rig_pull (Rig *rig, RigResult *result)
{
  SobelFrame *frame;
  const SobelStatus status = sobel_ring_next (rig->ring, &frame);

  if (status != SOBEL_STATUS_OK)
    return status;
  rig_look (rig, frame, result);
  sobel_ring_release (rig->ring, frame);
  return SOBEL_STATUS_OK;
}

void
rig_expect (Rig *rig, uint64_t serial, uint64_t value, const char *what)
{
  RigResult result = { 0 };
  const SobelStatus status = rig_pull (rig, &result);

  if (!T_CHECK (status == SOBEL_STATUS_OK, "%s, frame %" PRIu64 ": %s", what, serial, sobel_status_name (status)))
    return;
  T_CHECK (result.serial == serial, "%s: frame %" PRIu64 " came where %" PRIu64 " should", what, result.serial, serial);
  T_CHECK (result.status == SOBEL_STATUS_OK, "%s, frame %" PRIu64 ": %s", what, serial, result.error.message);
  T_CHECK (result.value == value, "%s, frame %" PRIu64 ": %" PRIx64 " added", what, serial, result.value);
}

/* ---- threads --------------------------------------------------------------------------------------- */

void
rig_sleep (uint64_t ns)
{
  const struct timespec t = { .tv_sec = (time_t) (ns / 1000000000u), .tv_nsec = (long) (ns % 1000000000u) };

  nanosleep (&t, NULL);
}

static void *
call_thread (void *data)
{
  RigCall *call = data;

  call->status = call->call (call->rig);
  call->returned_ns = t_now_ns ();
  atomic_store (&call->done, true);
  return NULL;
}

void
rig_call_start (RigCall *call, Rig *rig, SobelStatus (*function) (Rig *rig))
{
  call->rig = rig;
  call->call = function;
  atomic_init (&call->done, false);
  pthread_create (&call->thread, NULL, call_thread, call);
}

SobelStatus
rig_call_join (RigCall *call)
{
  pthread_join (call->thread, NULL);
  return call->status;
}

SobelStatus
rig_call_begin (Rig *rig)
{
  SobelFrame *frame;
  const SobelStatus status = sobel_ring_begin (rig->ring, &frame);

  if (status == SOBEL_STATUS_OK)
    sobel_ring_cancel (rig->ring, frame);
  return status;
}

SobelStatus
rig_call_next (Rig *rig)
{
  RigResult result;

  return rig_pull (rig, &result);
}

SobelStatus
rig_call_drain (Rig *rig)
{
  return sobel_ring_drain (rig->ring);
}

SobelStatus
rig_call_clear (Rig *rig)
{
  sobel_ring_clear (rig->ring);
  return SOBEL_STATUS_OK;
}

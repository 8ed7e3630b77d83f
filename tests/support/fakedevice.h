/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_FAKE_DEVICE_H
#define SOBEL_TEST_FAKE_DEVICE_H

/* A device for tests: it finishes frames when it is told to, in any order, late or never, fails at the n-th call of
 * any kind, and watches whether its user keeps the rules of sobeldevice.h. Needs no hardware and starts no thread.
 *
 * A FakeDevice outlives its device, so that a test can ask it what happened. All functions are thread-safe. */

#include "sobeldevice.h"

typedef struct FakeDevice FakeDevice;

typedef enum FakeFinish
{
  FAKE_FINISH_AT_ONCE, /* inside submit, as a device does that computes with the calling thread */
  FAKE_FINISH_LATE,    /* by itself, `delay_ns` and up to `jitter_ns` more after submit: out of order, then */
  FAKE_FINISH_TOLD,    /* by fake_device_finish() alone; without that, never */
} FakeFinish;

typedef enum FakeCall
{
  FAKE_CALL_CONFIGURE,
  FAKE_CALL_HOST_ALLOC,
  FAKE_CALL_SUBMIT,
  FAKE_CALL_WAIT,
  FAKE_CALL_DESTROY, /* fails by answering "not yet" */
  FAKE_N_CALLS,
  FAKE_CALL_ANY = FAKE_N_CALLS, /* for fake_device_fail() and fake_device_calls(): all of them together */
} FakeCall;

typedef struct FakeOptions
{
  const char *kind; /* NULL: "fake" */
  FakeFinish finish;
  uint64_t delay_ns, jitter_ns;

  /* What a frame's computation is, done at the moment when the frame finishes by the thread that makes it finish
   * (in submit, wait, destroy or fake_device_finish), one frame at a time. The first that is set of:
   *  - `inner`: that device's. Owned from now on; the images must be in host memory for it;
   *  - `compute`: DEVICE images arrive with addresses that can be read and written;
   *  - else the first 8 bytes of plane 0 are copied, with `stamp` added. */
  SobelDevice *inner;
  void (*compute) (void *user, const SobelConfig *config, const SobelJob *job);
  void *user;
  uint64_t stamp;

  bool no_host_alloc; /* ops->host_alloc is NULL, as where any memory will do */
  bool watch_memory;  /* counts it as misuse if the images of a frame in flight change */
  bool pinned_only;   /* counts it as misuse if a host image lies elsewhere than in a fake device's host_alloc */
} FakeOptions;

/* NULL: out of memory. `options` may be NULL: all zero. */
FakeDevice *fake_device_new (const FakeOptions *options);

/* The device, to be handed to its user once. Destroyed by that user as any other. */
SobelDevice *fake_device_seam (FakeDevice *fake);

/* When the test is over. The device, if it was handed on, and blocks may still live. */
void fake_device_free (FakeDevice *fake);

/* ---- what it shall do ----------------------------------------------------------------------------- */

/* How frames finish from the next submit on; those in flight stay as they are. */
void fake_device_set_finish (FakeDevice *fake, FakeFinish finish, uint64_t delay_ns, uint64_t jitter_ns);

/* Finishes what is in flight in `slot`, or in all slots, now: the output is written. Also what belongs to a lost
 * device. Returns the number of frames. */
unsigned fake_device_finish (FakeDevice *fake, unsigned slot);
unsigned fake_device_finish_all (FakeDevice *fake);

/* Ends everything in flight without writing anything, as a reset does. */
void fake_device_quiet (FakeDevice *fake);

/* Makes the n-th call of `call` from now on fail, 1 being the next; 0: none. `status`: what it returns, OK for the
 * usual of that call (NO_MEMORY for memory, else DEVICE_LOST). What was in flight stays so, and so does the job of
 * a submit that failed: it may yet be written. One plan for each call, and one for FAKE_CALL_ANY. */
void fake_device_fail (FakeDevice *fake, FakeCall call, unsigned nth, SobelStatus status);

/* true: a wait that fails from now on does not return before this is called with false. The device is lost, and nobody
 * knows yet. */
void fake_device_hold_failure (FakeDevice *fake, bool hold);

/* ---- what happened -------------------------------------------------------------------------------- */

unsigned fake_device_calls (FakeDevice *fake, FakeCall call);
unsigned fake_device_failures (FakeDevice *fake); /* calls that failed as fake_device_fail() had asked for */
unsigned fake_device_in_flight (FakeDevice *fake); /* submitted and not finished */
unsigned fake_device_blocks (FakeDevice *fake);    /* of host_alloc, not freed */
bool fake_device_destroyed (FakeDevice *fake);

/* Waits until submit was called `n` times in all (the last call may go on); false after `timeout_ns`. */
bool fake_device_await_submits (FakeDevice *fake, unsigned n, uint64_t timeout_ns);

/* How often a rule was broken; `first` (may be NULL) is told in words which was the first, or NULL. */
unsigned fake_device_misuse (FakeDevice *fake, const char **first);

/* ---- device memory -------------------------------------------------------------------------------- */

/* The device address of host memory, and the other way round. Device addresses can be counted on from, but whoever
 * reads or writes there crashes; for images with SOBEL_MEMORY_DEVICE. */
uint8_t *fake_device_address (const void *address);

#endif

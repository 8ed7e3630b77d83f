/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_RING_RIG_H
#define SOBEL_TEST_RING_RIG_H

/* A frame ring between two fake devices, with frames that know what they must become: what the tests of the ring
 * have in common.
 *
 * Frame `serial` carries that number in; the device must add RIG_DEVICE to it, the fallback RIG_FALLBACK. Its two
 * buffers are counted, and handed to a lost device as framering.h asks for. */

#include "fakedevice.h"
#include "framering.h"
#include "testutil.h"

#include <pthread.h>
#include <stdatomic.h>

#define RIG_DEVICE ((uint64_t) 1 << 32)
#define RIG_FALLBACK ((uint64_t) 2 << 32)
#define RIG_MS ((uint64_t) 1000 * 1000)
/* Longer than any test waits for something that must happen. */
#define RIG_LONG ((uint64_t) 60 * 1000 * RIG_MS)

typedef enum RigMemory
{
  RIG_HOST,
  RIG_DEVICE_IN,  /* input in device memory, output in host memory */
  RIG_DEVICE_OUT, /* the other way round */
} RigMemory;

typedef struct Rig
{
  SobelRing *ring;
  FakeDevice *device, *fallback; /* fallback: NULL without */

  atomic_uint pushed, submitted, discarded, lost_calls, replaced, kept_only;
  atomic_int buffers, frames; /* alive */
  atomic_bool replace_fails;
  atomic_bool replace_does_nothing; /* but keeps, and answers OK */
  atomic_uint last_discarded; /* serial */
  SobelError loss;            /* as device_lost had it */
} Rig;

typedef struct RigOptions
{
  FakeOptions device, fallback; /* kind and stamp are the rig's */
  bool without_fallback;
  unsigned n_slots;    /* 0: not configured */
  uint64_t give_up_ns; /* 0: RIG_LONG */
} RigOptions;

/* What came out. */
typedef struct RigResult
{
  uint64_t serial;
  uint64_t value; /* of the output less serial: RIG_DEVICE or RIG_FALLBACK, 0 if it was not written */
  SobelStatus status;
  SobelError error;
  SobelTiming timing;
  uint64_t submitted_ns, finished_ns;
  bool recomputed;
  bool has_work;
} RigResult;

void rig_init (Rig *rig, const RigOptions *options);
/* Frees the ring, lets the devices finish, and checks that nothing is left over, that every frame left once and
 * that no rule was broken. `pulled`: how many frames came out of rig_pull. */
void rig_finish (Rig *rig, unsigned pulled);

/* Any configuration; the fake devices do not look. */
const SobelConfig *rig_config (void);

/* begin, fill, submit. */
SobelStatus rig_push (Rig *rig, uint64_t serial);
SobelStatus rig_push_kind (Rig *rig, uint64_t serial, bool has_work, RigMemory memory);
/* Fills a frame that begin gave. */
void rig_fill (Rig *rig, SobelFrame *frame, uint64_t serial, bool has_work, RigMemory memory);

/* next, look, release. */
SobelStatus rig_pull (Rig *rig, RigResult *result);
/* Looks at a frame that next gave, and drops what it holds. */
void rig_look (Rig *rig, SobelFrame *frame, RigResult *result);
/* rig_pull, and check that it is `serial`, OK and has what `value` says. */
void rig_expect (Rig *rig, uint64_t serial, uint64_t value, const char *what);

void rig_sleep (uint64_t ns);

/* A call on a thread of its own, to see whether it returns. */
typedef struct RigCall
{
  Rig *rig;
  SobelStatus (*call) (Rig *rig);
  pthread_t thread;
  atomic_bool done;
  SobelStatus status;
  uint64_t returned_ns;
} RigCall;

void rig_call_start (RigCall *call, Rig *rig, SobelStatus (*function) (Rig *rig));
/* Waits for its end. */
SobelStatus rig_call_join (RigCall *call);
/* For `function`: begins a frame and cancels it; takes out a frame and releases it; drains; clears. */
SobelStatus rig_call_begin (Rig *rig);
SobelStatus rig_call_next (Rig *rig);
SobelStatus rig_call_drain (Rig *rig);
SobelStatus rig_call_clear (Rig *rig);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_FAKE_DEVICE_PRIVATE_H
#define SOBEL_TEST_FAKE_DEVICE_PRIVATE_H

/* Inside of the fake device: fakedevice.c is the device, fakecontrol.c what a test says to it and asks of it. */

#include "fakedevice.h"
#include "testutil.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { FAKE_MAX_SLOTS = 16 };

typedef enum JobState
{
  JOB_NONE,
  JOB_RUNNING,
  JOB_COMPUTING, /* some thread is inside fake_finish_job() */
  JOB_FINISHED,  /* and not seen by wait */
} JobState;

typedef struct FakeJob
{
  JobState state;
  bool seen;       /* JOB_NONE since a successful wait */
  bool spent;      /* a wait has failed, and this slot may be submitted to no more */
  uint64_t due_ns; /* finishes by itself then; UINT64_MAX: does not */
  uint64_t hash;   /* of both images when they were submitted */
  SobelJob job;
} FakeJob;

struct FakeDevice
{
  SobelDevice device; /* first */
  SobelDeviceOps ops;
  FakeOptions options;
  atomic_bool in_submit, in_wait;
  bool handed_on; /* the test thread's */

  pthread_mutex_t compute_lock; /* one computation at a time; taken without the other */

  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t changed;
  unsigned references; /* the test, the device, every block */
  FakeJob job[FAKE_MAX_SLOTS];
  SobelConfig config;
  unsigned n_slots;
  FakeFinish finish;
  uint64_t delay_ns, jitter_ns, random;
  unsigned fail_in[FAKE_N_CALLS + 1];
  SobelStatus fail_status[FAKE_N_CALLS + 1];
  unsigned calls[FAKE_N_CALLS], failures;
  unsigned blocks;
  bool submit_failed, wait_failed, hold_failure, destroyed;
  unsigned misuse;
  const char *first_misuse;
};

/* For pthread_cond_timedwait() on `changed`. */
struct timespec fake_timespec (uint64_t ns);

/* Makes a running job a finished one. With the lock held, which is given up meanwhile. */
void fake_finish_job (FakeDevice *fake, unsigned slot);

/* Drops one reference. Without the lock. */
void fake_unref (FakeDevice *fake);

#endif

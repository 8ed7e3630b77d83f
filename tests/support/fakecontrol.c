/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fakedevice-private.h"

void
fake_device_set_finish (FakeDevice *fake, FakeFinish finish, uint64_t delay_ns, uint64_t jitter_ns)
{
  pthread_mutex_lock (&fake->lock);
  fake->finish = finish;
  fake->delay_ns = delay_ns;
  fake->jitter_ns = jitter_ns;
  pthread_mutex_unlock (&fake->lock);
}

unsigned
fake_device_finish (FakeDevice *fake, unsigned slot)
{
  unsigned n = 0;

  pthread_mutex_lock (&fake->lock);
  if (slot < FAKE_MAX_SLOTS && fake->job[slot].state == JOB_RUNNING) {
    fake_finish_job (fake, slot);
    n = 1;
  }
  pthread_mutex_unlock (&fake->lock);
  return n;
}

unsigned
fake_device_finish_all (FakeDevice *fake)
{
  unsigned slot, n = 0;

  for (slot = 0; slot < FAKE_MAX_SLOTS; slot++)
    n += fake_device_finish (fake, slot);
  return n;
}

void
fake_device_quiet (FakeDevice *fake)
{
  unsigned i;

  pthread_mutex_lock (&fake->lock);
  for (i = 0; i < FAKE_MAX_SLOTS; i++)
    if (fake->job[i].state == JOB_RUNNING)
      fake->job[i].state = JOB_NONE;
  pthread_cond_broadcast (&fake->changed);
  pthread_mutex_unlock (&fake->lock);
}

void
fake_device_fail (FakeDevice *fake, FakeCall call, unsigned nth, SobelStatus status)
{
  pthread_mutex_lock (&fake->lock);
  fake->fail_in[call] = nth;
  fake->fail_status[call] = status;
  pthread_mutex_unlock (&fake->lock);
}

void
fake_device_hold_failure (FakeDevice *fake, bool hold)
{
  pthread_mutex_lock (&fake->lock);
  fake->hold_failure = hold;
  pthread_cond_broadcast (&fake->changed);
  pthread_mutex_unlock (&fake->lock);
}

unsigned
fake_device_calls (FakeDevice *fake, FakeCall call)
{
  unsigned i, n = 0;

  pthread_mutex_lock (&fake->lock);
  for (i = 0; i < FAKE_N_CALLS; i++)
    if (call == FAKE_CALL_ANY || call == i)
      n += fake->calls[i];
  pthread_mutex_unlock (&fake->lock);
  return n;
}

unsigned
fake_device_failures (FakeDevice *fake)
{
  unsigned n;

  pthread_mutex_lock (&fake->lock);
  n = fake->failures;
  pthread_mutex_unlock (&fake->lock);
  return n;
}

unsigned
fake_device_in_flight (FakeDevice *fake)
{
  unsigned i, n = 0;

  pthread_mutex_lock (&fake->lock);
  for (i = 0; i < FAKE_MAX_SLOTS; i++)
    n += fake->job[i].state == JOB_RUNNING || fake->job[i].state == JOB_COMPUTING;
  pthread_mutex_unlock (&fake->lock);
  return n;
}

unsigned
fake_device_blocks (FakeDevice *fake)
{
  unsigned n;

  pthread_mutex_lock (&fake->lock);
  n = fake->blocks;
  pthread_mutex_unlock (&fake->lock);
  return n;
}

bool
fake_device_destroyed (FakeDevice *fake)
{
  bool destroyed;

  pthread_mutex_lock (&fake->lock);
  destroyed = fake->destroyed;
  pthread_mutex_unlock (&fake->lock);
  return destroyed;
}

bool
fake_device_await_submits (FakeDevice *fake, unsigned n, uint64_t timeout_ns)
{
  const struct timespec until = fake_timespec (t_now_ns () + timeout_ns);
  bool reached;

  pthread_mutex_lock (&fake->lock);
  while (fake->calls[FAKE_CALL_SUBMIT] < n && pthread_cond_timedwait (&fake->changed, &fake->lock, &until) == 0)
    ;
  reached = fake->calls[FAKE_CALL_SUBMIT] >= n;
  pthread_mutex_unlock (&fake->lock);
  return reached;
}

unsigned
fake_device_misuse (FakeDevice *fake, const char **first)
{
  unsigned n;

  pthread_mutex_lock (&fake->lock);
  n = fake->misuse;
  if (first)
    *first = fake->first_misuse;
  pthread_mutex_unlock (&fake->lock);
  return n;
}

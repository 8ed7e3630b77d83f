/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpupool.h"

#include "sobelclock.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* How long a thread that has nothing to do looks for more before it sleeps. A wake-up costs about as much, so at
 * worst the wait takes twice as long as it had to. */
enum { SPIN_NS = 30000 };

/* The job in work, as one word, so that a task is taken from exactly the job whose description is read after it:
 * generation in the upper half, then the number of tasks and the next task, 16 bits each. */
typedef uint64_t Ticket;

static unsigned
ticket_tasks (Ticket t)
{
  return t >> 16 & SOBEL_CPU_MAX_TASKS;
}

static unsigned
ticket_next (Ticket t)
{
  return t & SOBEL_CPU_MAX_TASKS;
}

typedef struct Worker
{
  SobelCpuPool *pool;
  unsigned index; /* 1 and up */
  pthread_t thread;
} Worker;

struct SobelCpuPool
{
  _Atomic Ticket ticket;
  _Atomic unsigned n_done;       /* tasks of the job in work */
  _Atomic unsigned n_sleeping;   /* workers */
  _Atomic bool caller_sleeping;
  _Atomic bool quit;

  /* Written by the caller while no task is in work, read by those who took one. */
  SobelCpuTask run;
  void *job;

  pthread_mutex_t lock; /* only for sleeping */
  pthread_cond_t work;  /* a new ticket, or quit */
  pthread_cond_t done;
  unsigned n_threads; /* the caller included */
  Worker worker[SOBEL_CPU_MAX_THREADS];
};

static void
relax (void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  __asm__ volatile ("yield");
#endif
}

/* Takes one task of the current job; false if none is left. */
static bool
take_task (SobelCpuPool *pool, Ticket *taken)
{
  Ticket t = atomic_load_explicit (&pool->ticket, memory_order_acquire);

  while (ticket_next (t) < ticket_tasks (t)) {
    if (atomic_compare_exchange_weak_explicit (&pool->ticket, &t, t + 1, memory_order_acq_rel, memory_order_acquire)) {
      *taken = t;
      return true;
    }
  }
  return false;
}

/* A thread that looked before the change is asleep once this returns, and one that looks later sees it. Signals are
 * sent without the lock, so that who wakes up does not wait for it at once. */
static void
pass_lock (SobelCpuPool *pool)
{
  pthread_mutex_lock (&pool->lock);
  pthread_mutex_unlock (&pool->lock);
}

static void
finish_task (SobelCpuPool *pool, Ticket taken)
{
  /* Nothing of the job may be touched from here on. */
  if (atomic_fetch_add (&pool->n_done, 1) + 1 != ticket_tasks (taken) || !atomic_load (&pool->caller_sleeping))
    return;
  pass_lock (pool);
  pthread_cond_signal (&pool->done);
}

static bool
is_idle (SobelCpuPool *pool)
{
  const Ticket t = atomic_load (&pool->ticket);

  return ticket_next (t) >= ticket_tasks (t) && !atomic_load (&pool->quit);
}

static void
sleep_until_work (SobelCpuPool *pool)
{
  pthread_mutex_lock (&pool->lock);
  /* Sequentially consistent with the caller's store of a ticket and load of this: one of us sees the other. */
  atomic_fetch_add (&pool->n_sleeping, 1);
  while (is_idle (pool))
    pthread_cond_wait (&pool->work, &pool->lock);
  atomic_fetch_sub (&pool->n_sleeping, 1);
  pthread_mutex_unlock (&pool->lock);
}

static void
wait_for_work (SobelCpuPool *pool)
{
  const uint64_t start = sobel_now_ns ();

  do {
    unsigned i;
    for (i = 0; i < 32; i++) {
      if (!is_idle (pool))
        return;
      relax ();
    }
  } while (sobel_now_ns () - start < SPIN_NS);
  sleep_until_work (pool);
}

static void *
work (void *data)
{
  Worker *worker = data;
  SobelCpuPool *pool = worker->pool;
  Ticket taken;

  /* The creator's rounding may be another. */
  fesetround (FE_TONEAREST);
  while (!atomic_load (&pool->quit)) {
    if (take_task (pool, &taken)) {
      pool->run (pool->job, ticket_next (taken), worker->index);
      finish_task (pool, taken);
    } else {
      wait_for_work (pool);
    }
  }
  return NULL;
}

static bool
start_worker (SobelCpuPool *pool, unsigned index)
{
  Worker *worker = &pool->worker[index];

  worker->pool = pool;
  worker->index = index;
  if (pthread_create (&worker->thread, NULL, work, worker) != 0)
    return false;
#if defined(__linux__)
  pthread_setname_np (worker->thread, "sobel-cpu");
#endif
  return true;
}

SobelCpuPool *
sobel_cpu_pool_new (unsigned n_threads)
{
  SobelCpuPool *pool = calloc (1, sizeof *pool);
  sigset_t all, before;

  if (!pool)
    return NULL;
  if (pthread_mutex_init (&pool->lock, NULL) != 0) {
    free (pool);
    return NULL;
  }
  if (pthread_cond_init (&pool->work, NULL) != 0) {
    pthread_mutex_destroy (&pool->lock);
    free (pool);
    return NULL;
  }
  if (pthread_cond_init (&pool->done, NULL) != 0) {
    pthread_cond_destroy (&pool->work);
    pthread_mutex_destroy (&pool->lock);
    free (pool);
    return NULL;
  }
  /* Signals are the application's: its threads handle them, not these. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  pool->n_threads = 1;
  while (pool->n_threads < n_threads && pool->n_threads < SOBEL_CPU_MAX_THREADS && start_worker (pool, pool->n_threads))
    pool->n_threads++;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return pool;
}

void
sobel_cpu_pool_free (SobelCpuPool *pool)
{
  unsigned i;

  if (!pool)
    return;
  pthread_mutex_lock (&pool->lock);
  atomic_store (&pool->quit, true);
  pthread_cond_broadcast (&pool->work);
  pthread_mutex_unlock (&pool->lock);
  for (i = 1; i < pool->n_threads; i++)
    pthread_join (pool->worker[i].thread, NULL);
  pthread_cond_destroy (&pool->done);
  pthread_cond_destroy (&pool->work);
  pthread_mutex_destroy (&pool->lock);
  free (pool);
}

unsigned
sobel_cpu_pool_n_threads (const SobelCpuPool *pool)
{
  return pool->n_threads;
}

static void
wake_workers (SobelCpuPool *pool)
{
  if (atomic_load (&pool->n_sleeping) == 0)
    return;
  pass_lock (pool);
  pthread_cond_broadcast (&pool->work);
}

static void
wait_until_done (SobelCpuPool *pool, unsigned n_tasks)
{
  const uint64_t start = sobel_now_ns ();

  do {
    unsigned i;
    for (i = 0; i < 32; i++) {
      if (atomic_load_explicit (&pool->n_done, memory_order_acquire) == n_tasks)
        return;
      relax ();
    }
  } while (sobel_now_ns () - start < SPIN_NS);
  pthread_mutex_lock (&pool->lock);
  atomic_store (&pool->caller_sleeping, true);
  while (atomic_load (&pool->n_done) != n_tasks)
    pthread_cond_wait (&pool->done, &pool->lock);
  atomic_store (&pool->caller_sleeping, false);
  pthread_mutex_unlock (&pool->lock);
}

void
sobel_cpu_pool_run (SobelCpuPool *pool, SobelCpuTask run, void *job, unsigned n_tasks)
{
  const Ticket before = atomic_load_explicit (&pool->ticket, memory_order_relaxed);
  Ticket taken;

  if (n_tasks < 2 || pool->n_threads < 2) {
    unsigned i;
    for (i = 0; i < n_tasks; i++)
      run (job, i, 0);
    return;
  }
  pool->run = run;
  pool->job = job;
  atomic_store (&pool->n_done, 0);
  atomic_store (&pool->ticket, ((before >> 32) + 1) << 32 | (Ticket) n_tasks << 16);
  wake_workers (pool);
  while (take_task (pool, &taken)) {
    run (job, ticket_next (taken), 0);
    finish_task (pool, taken);
  }
  wait_until_done (pool, n_tasks);
}

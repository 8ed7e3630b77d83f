/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The thread pool: every task of every job runs once, before the call returns, whatever the workers are doing. */
#include "cpupool.h"
#include "testutil.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_TASKS = 300 };

typedef struct Job
{
  unsigned salt; /* plain data: a worker that took a task of another job would see the wrong one */
  unsigned n_threads;
  _Atomic unsigned runs[MAX_TASKS];
  unsigned result[MAX_TASKS];
  _Atomic unsigned bad_worker;
} Job;

static void
pause_ns (long ns)
{
  const struct timespec t = {0, ns};

  nanosleep (&t, NULL);
}

static void
task (void *data, unsigned number, unsigned worker)
{
  Job *job = data;

  if (worker >= job->n_threads)
    atomic_fetch_add (&job->bad_worker, 1);
  job->result[number] = number * 7 + job->salt;
  atomic_fetch_add (&job->runs[number], 1);
  if ((number + job->salt) % 97 == 0)
    pause_ns (30000);
}

/* `n_jobs` jobs of random size; some while the workers still look for work, some after they fell asleep. */
static void
check_pool (unsigned n_threads, unsigned n_jobs)
{
  SobelCpuPool *pool = sobel_cpu_pool_new (n_threads);
  Job *job = calloc (1, sizeof *job);
  unsigned i, k, wrong = 0;

  T_CHECK (pool && job, "memory");
  if (!pool || !job)
    return;
  T_CHECK (sobel_cpu_pool_n_threads (pool) == n_threads, "%u threads", sobel_cpu_pool_n_threads (pool));
  for (i = 0; i < n_jobs; i++) {
    const unsigned n = (i * 2654435761u >> 16) % (i % 10 ? 9 : MAX_TASKS + 1);

    memset (job, 0, sizeof *job);
    job->salt = i;
    job->n_threads = n_threads;
    sobel_cpu_pool_run (pool, task, job, n);
    for (k = 0; k < MAX_TASKS; k++)
      wrong += atomic_load (&job->runs[k]) != (k < n) || (k < n && job->result[k] != k * 7 + i);
    wrong += atomic_load (&job->bad_worker);
    if (i % 50 == 0)
      pause_ns (200000);
  }
  T_CHECK (wrong == 0, "%u threads: %u tasks", n_threads, wrong);
  sobel_cpu_pool_free (pool);
  free (job);
}

static void *
own_pool (void *data)
{
  unsigned *failures = data;
  SobelCpuPool *pool = sobel_cpu_pool_new (3);
  Job *job = calloc (1, sizeof *job);
  unsigned i;

  *failures = !pool || !job;
  for (i = 0; i < 500 && !*failures; i++) {
    job->salt = i;
    job->n_threads = 3;
    sobel_cpu_pool_run (pool, task, job, 12);
  }
  for (i = 0; i < 12 && !*failures; i++)
    *failures = atomic_load (&job->runs[i]) != 500;
  sobel_cpu_pool_free (pool);
  free (job);
  return NULL;
}

/* Several pools at once, and pools that come and go without any work. */
static void
check_pools (void)
{
  pthread_t thread[4];
  unsigned failures[4] = {0}, i;

  for (i = 0; i < 4; i++)
    T_CHECK (pthread_create (&thread[i], NULL, own_pool, &failures[i]) == 0, "thread");
  for (i = 0; i < 4; i++) {
    pthread_join (thread[i], NULL);
    T_CHECK (failures[i] == 0, "pool %u", i);
  }
  for (i = 0; i < 100; i++) {
    SobelCpuPool *pool = sobel_cpu_pool_new (1 + i % 5);
    T_CHECK (pool != NULL, "memory");
    sobel_cpu_pool_free (pool);
  }
  sobel_cpu_pool_free (NULL);
}

int
main (void)
{
  check_pool (1, 100);
  check_pool (2, 5000);
  check_pool (5, 2000);
  check_pool (SOBEL_CPU_MAX_THREADS, 200);
  check_pools ();
  return t_result ();
}

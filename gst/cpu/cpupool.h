/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CPU_POOL_H
#define SOBEL_CPU_POOL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Threads that share out the numbered tasks of one job at a time, with the thread that brings the job as one of them.
 */
typedef struct SobelCpuPool SobelCpuPool;

/* `worker` is 0 for the calling thread, and below the number of threads. */
typedef void (*SobelCpuTask) (void *job, unsigned task, unsigned worker);

enum { SOBEL_CPU_MAX_THREADS = 64, SOBEL_CPU_MAX_TASKS = 0xffff }; /* of a pool; of a job */

/* `n_threads`, the calling one included: 1 to SOBEL_CPU_MAX_THREADS. Fewer where the system refuses more. NULL when
 * memory is short. */
SobelCpuPool *sobel_cpu_pool_new (unsigned n_threads);
void sobel_cpu_pool_free (SobelCpuPool *pool);

unsigned sobel_cpu_pool_n_threads (const SobelCpuPool *pool);

/* Runs tasks 0 to n_tasks - 1, SOBEL_CPU_MAX_TASKS at most, in any order and returns when all are done. One call at a
 * time. */
void sobel_cpu_pool_run (SobelCpuPool *pool, SobelCpuTask run, void *job, unsigned n_tasks);

#ifdef __cplusplus
}
#endif
#endif

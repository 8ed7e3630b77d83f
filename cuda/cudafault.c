/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudafault.h"

#include <stdatomic.h>

static atomic_bool counting;
static atomic_uint n_calls;
static atomic_uint fail_at;
static atomic_int fail_code;
static atomic_bool fail_on;

void
sobel_cuda_fault_set (unsigned call, int code, bool sticky)
{
  atomic_store (&fail_at, call);
  atomic_store (&fail_code, code);
  atomic_store (&fail_on, sticky);
  atomic_store (&n_calls, 0);
  atomic_store (&counting, true);
}

unsigned
sobel_cuda_fault_count (void)
{
  return atomic_load (&n_calls);
}

int
sobel_cuda_fault_next (void)
{
  unsigned n, at;

  if (!atomic_load_explicit (&counting, memory_order_relaxed))
    return 0;
  n = atomic_fetch_add (&n_calls, 1) + 1;
  at = atomic_load (&fail_at);
  if (at == 0 || n < at || (n > at && !atomic_load (&fail_on)))
    return 0;
  return atomic_load (&fail_code);
}

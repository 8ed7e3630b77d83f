/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cap on pinned memory: where it comes from, and that no two threads together pass it. */
#include "pinnedbudget.h"
#include "testutil.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "GST_CUDA_SOBEL_MAX_PINNED"

static uint64_t
cap_with (const char *value)
{
  if (value)
    setenv (VARIABLE, value, 1);
  else
    unsetenv (VARIABLE);
  sobel_pinned_set_cap (0);
  return sobel_pinned_cap ();
}

static void
test_cap (void)
{
  const uint64_t quarter = (uint64_t) sysconf (_SC_PHYS_PAGES) * (uint64_t) sysconf (_SC_PAGESIZE) / 4;
  static const char *const not_bytes[] = { "", " ", "2G", "0x100", "-1", "+5", "1e9", "100 ", " 100", "many", "1.5" };
  unsigned i;

  T_CHECK (cap_with (NULL) == quarter && quarter > 0, "%" PRIu64, sobel_pinned_cap ());
  T_CHECK (cap_with ("123456789") == 123456789, "%" PRIu64, sobel_pinned_cap ());
  T_CHECK (cap_with ("0") == 0, "%" PRIu64, sobel_pinned_cap ());
  T_CHECK (cap_with ("007") == 7, "%" PRIu64, sobel_pinned_cap ());
  for (i = 0; i < sizeof not_bytes / sizeof not_bytes[0]; i++)
    T_CHECK (cap_with (not_bytes[i]) == quarter, "\"%s\": %" PRIu64, not_bytes[i], sobel_pinned_cap ());
  /* Too large is as good as no cap. */
  T_CHECK (cap_with ("18446744073709551615") >= INT64_MAX, "%" PRIu64, sobel_pinned_cap ());
  T_CHECK (cap_with ("99999999999999999999999999") >= INT64_MAX, "%" PRIu64, sobel_pinned_cap ());

  /* Read once. */
  cap_with ("1000");
  setenv (VARIABLE, "2000", 1);
  T_CHECK (sobel_pinned_cap () == 1000, "%" PRIu64, sobel_pinned_cap ());
  sobel_pinned_set_cap (3000);
  T_CHECK (sobel_pinned_cap () == 3000, "%" PRIu64, sobel_pinned_cap ());
  sobel_pinned_set_cap (UINT64_MAX);
  T_CHECK (sobel_pinned_cap () >= INT64_MAX, "%" PRIu64, sobel_pinned_cap ());
  sobel_pinned_set_cap (0);
  T_CHECK (sobel_pinned_cap () == 2000, "%" PRIu64, sobel_pinned_cap ());
}

static void
test_reserve (void)
{
  SobelError error;

  sobel_pinned_set_cap (1000);
  T_CHECK (sobel_pinned_bytes () == 0, "%" PRIu64, sobel_pinned_bytes ());
  T_CHECK (sobel_pinned_reserve (600, &error) == SOBEL_STATUS_OK, "600");
  T_CHECK (sobel_pinned_reserve (401, &error) == SOBEL_STATUS_NO_MEMORY, "401");
  T_CHECK (error.status == SOBEL_STATUS_NO_MEMORY, "%s", sobel_status_name (error.status));
  T_CHECK (strstr (error.message, "401") && strstr (error.message, "600") && strstr (error.message, "1000") &&
               strstr (error.message, VARIABLE),
           "%s", error.message);
  T_CHECK (sobel_pinned_bytes () == 600, "%" PRIu64, sobel_pinned_bytes ());
  T_CHECK (sobel_pinned_reserve (400, NULL) == SOBEL_STATUS_OK, "400");
  T_CHECK (sobel_pinned_reserve (1, NULL) == SOBEL_STATUS_NO_MEMORY, "1");
  T_CHECK (sobel_pinned_reserve (0, NULL) == SOBEL_STATUS_OK, "0");
  T_CHECK (sobel_pinned_reserve (SIZE_MAX, NULL) == SOBEL_STATUS_NO_MEMORY, "an overflow");
  sobel_pinned_release (600);
  T_CHECK (sobel_pinned_reserve (600, NULL) == SOBEL_STATUS_OK, "600 again");

  /* A cap below what is in use: nothing more, but all can be given back. */
  sobel_pinned_set_cap (500);
  T_CHECK (sobel_pinned_reserve (1, NULL) == SOBEL_STATUS_NO_MEMORY, "1");
  sobel_pinned_release (600);
  T_CHECK (sobel_pinned_reserve (100, NULL) == SOBEL_STATUS_OK, "100");
  sobel_pinned_release (500);
  T_CHECK (sobel_pinned_bytes () == 0, "%" PRIu64, sobel_pinned_bytes ());
  sobel_pinned_release (1); /* never reserved */
  T_CHECK (sobel_pinned_bytes () == 0, "%" PRIu64, sobel_pinned_bytes ());

  cap_with ("0");
  T_CHECK (sobel_pinned_reserve (1, NULL) == SOBEL_STATUS_NO_MEMORY, "none at all");
}

enum { N_THREADS = 4, N_ROUNDS = 20000, CAP = 1000 };

static void *
reserve_and_release (void *data)
{
  TRandom random = t_random (7, *(const unsigned *) data);
  unsigned i;

  for (i = 0; i < N_ROUNDS; i++) {
    const size_t size = 1 + t_random_below (&random, CAP / 2);

    if (sobel_pinned_reserve (size, NULL) != SOBEL_STATUS_OK)
      continue;
    T_CHECK (sobel_pinned_bytes () <= CAP && sobel_pinned_bytes () >= size, "%" PRIu64, sobel_pinned_bytes ());
    sobel_pinned_release (size);
  }
  return NULL;
}

static void
test_threads (void)
{
  const unsigned key[N_THREADS] = { 0, 1, 2, 3 };
  pthread_t thread[N_THREADS];
  unsigned i;

  sobel_pinned_set_cap (CAP);
  for (i = 0; i < N_THREADS; i++)
    pthread_create (&thread[i], NULL, reserve_and_release, (void *) &key[i]);
  for (i = 0; i < N_THREADS; i++)
    pthread_join (thread[i], NULL);
  T_CHECK (sobel_pinned_bytes () == 0, "%" PRIu64, sobel_pinned_bytes ());
}

int
main (void)
{
  test_cap ();
  test_reserve ();
  test_threads ();
  return t_result ();
}

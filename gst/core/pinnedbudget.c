/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pinnedbudget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Where the host does not tell how much memory it has. */
#define FALLBACK_CAP ((uint64_t) 1 << 30)
#define CAP_UNKNOWN UINT64_MAX

static _Atomic uint64_t pinned;
static _Atomic uint64_t cap = CAP_UNKNOWN;

static uint64_t
default_cap (void)
{
  const long pages = sysconf (_SC_PHYS_PAGES), page_size = sysconf (_SC_PAGESIZE);

  if (pages <= 0 || page_size <= 0)
    return FALLBACK_CAP;
  return (uint64_t) pages * (uint64_t) page_size / 4;
}

/* False for anything but decimal digits: a value that is half understood ("2G") would be worse than none. */
static bool
parse_bytes (const char *text, uint64_t *bytes)
{
  const char *p;
  unsigned long long value;

  for (p = text; *p; p++)
    if (*p < '0' || *p > '9')
      return false;
  if (p == text)
    return false;
  errno = 0;
  value = strtoull (text, NULL, 10);
  *bytes = errno == ERANGE || value >= CAP_UNKNOWN ? CAP_UNKNOWN - 1 : value;
  return true;
}

uint64_t
sobel_pinned_cap (void)
{
  uint64_t value = atomic_load (&cap), expected = CAP_UNKNOWN;
  const char *text;

  if (value != CAP_UNKNOWN)
    return value;
  text = getenv ("GST_CUDA_SOBEL_MAX_PINNED");
  if (!text || !parse_bytes (text, &value))
    value = default_cap ();
  /* Another thread may have been quicker, or a test may have set another cap meanwhile. */
  return atomic_compare_exchange_strong (&cap, &expected, value) ? value : expected;
}

void
sobel_pinned_set_cap (uint64_t value)
{
  if (value == CAP_UNKNOWN)
    value--;
  atomic_store (&cap, value == 0 ? CAP_UNKNOWN : value);
}

SobelStatus
sobel_pinned_reserve (size_t size, SobelError *error)
{
  const uint64_t limit = sobel_pinned_cap ();
  uint64_t now = atomic_load (&pinned);

  do {
    if (now > limit || size > limit - now)
      return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY,
                              "%zu bytes of pinned memory asked for, %" PRIu64 " in use, at most %" PRIu64
                              " allowed (GST_CUDA_SOBEL_MAX_PINNED)",
                              size, now, limit);
  } while (!atomic_compare_exchange_weak (&pinned, &now, now + size));
  return SOBEL_STATUS_OK;
}

void
sobel_pinned_release (size_t size)
{
  uint64_t now = atomic_load (&pinned);

  /* More than was reserved would be a caller's error; wrapping around would then refuse all pinning for good. */
  while (!atomic_compare_exchange_weak (&pinned, &now, size < now ? now - size : 0))
    ;
}

uint64_t
sobel_pinned_bytes (void)
{
  return atomic_load (&pinned);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stands in for libcuda.so.1 of a machine whose driver does not work (tests/plugin/test_plugin.py). The environment
 * says how: STUB_CUDA_INIT is what cuInit returns, STUB_CUDA_VERSION the driver's version. Everything else answers
 * that it is not supported. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__ ((visibility ("default")))

enum { CUDA_ERROR_NOT_SUPPORTED = 801 };

static int
from_environment (const char *name, int otherwise)
{
  const char *value = getenv (name);

  return value ? atoi (value) : otherwise;
}

EXPORT int cuInit (unsigned flags);
EXPORT int cuDriverGetVersion (int *version);
EXPORT int cuGetProcAddress (const char *symbol, void **function, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2 (const char *symbol, void **function, int version, uint64_t flags, int *status);

int
cuInit (unsigned flags)
{
  (void) flags;
  return from_environment ("STUB_CUDA_INIT", 0);
}

int
cuDriverGetVersion (int *version)
{
  *version = from_environment ("STUB_CUDA_VERSION", 13000);
  return 0;
}

/* Called with whatever arguments the real function has; the calling convention lets it ignore them. */
static int
not_supported (void)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

int
cuGetProcAddress (const char *symbol, void **function, int version, uint64_t flags)
{
  (void) version;
  (void) flags;
  if (strcmp (symbol, "cuInit") == 0)
    *function = (void *) cuInit;
  else if (strcmp (symbol, "cuDriverGetVersion") == 0)
    *function = (void *) cuDriverGetVersion;
  else if (strcmp (symbol, "cuGetProcAddress") == 0)
    *function = version >= 12000 ? (void *) cuGetProcAddress_v2 : (void *) cuGetProcAddress;
  else
    *function = (void *) not_supported;
  return 0;
}

int
cuGetProcAddress_v2 (const char *symbol, void **function, int version, uint64_t flags, int *status)
{
  if (status)
    *status = 0; /* found */
  return cuGetProcAddress (symbol, function, version, flags);
}

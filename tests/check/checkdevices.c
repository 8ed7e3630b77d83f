/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkdevices.h"
#include "plaindevice.h"

#include <string.h>

/* ---- plain: the shared arithmetic, one sample after the other ------------------------------------- */

static SobelDevice *
create_plain (const CheckDeviceOptions *options, const char *isa, SobelError *error)
{
  SobelDevice *device = plain_device_new (PLAIN_RIGHT);

  if (device == NULL)
    sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for a device");
  return device;
}

/* ---- table ---------------------------------------------------------------------------------------- */

static const CheckDeviceKind kinds[] = {
    {"plain", NULL, NULL, create_plain},
};

const CheckDeviceKind *
check_device_nth (unsigned n)
{
  return n < G_N_ELEMENTS (kinds) ? &kinds[n] : NULL;
}

const CheckDeviceKind *
check_device_find (const char *name)
{
  unsigned i;

  for (i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

bool
check_kernel_find (const char *name, SobelKernel *kernel)
{
  static const char *const names[] = {
      [SOBEL_KERNEL_AUTO] = "auto",     [SOBEL_KERNEL_NAIVE] = "naive", [SOBEL_KERNEL_CONSTANT] = "constant",
      [SOBEL_KERNEL_SHARED] = "shared", [SOBEL_KERNEL_FUSED] = "fused",
  };
  unsigned i;

  for (i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (names[i], name) == 0) {
      *kernel = (SobelKernel) i;
      return true;
    }
  return false;
}

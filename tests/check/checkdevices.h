/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_CHECK_DEVICES_H
#define SOBEL_TEST_CHECK_DEVICES_H

#include "checker.h"

/* The devices that a checker may be given by name. */

typedef struct CheckDeviceOptions
{
  unsigned threads;         /* of the CPU; 0: one a core */
  int gpu;                  /* index of the GPU; -1: the first usable one */
  unsigned streams, strips; /* of the GPU; 0: its own choice */
} CheckDeviceOptions;

typedef struct CheckDeviceKind
{
  const char *name;
  const char *const *isas;    /* NULL-terminated names of instruction sets, the plainest first; NULL: none */
  const char *const *kernels; /* likewise of kernels that compute in different ways, without auto */
  /* NULL with `error`: NO_DEVICE where this machine, or this build, has none. `isa`: of the list, or NULL for the
   * best. */
  SobelDevice *(*create) (const CheckDeviceOptions *options, const char *isa, SobelError *error);
} CheckDeviceKind;

/* The n-th kind; NULL past the last. */
const CheckDeviceKind *check_device_nth (unsigned n);
const CheckDeviceKind *check_device_find (const char *name);

/* By the nickname of the property `kernel`; false: unknown. */
bool check_kernel_find (const char *name, SobelKernel *kernel);

#endif

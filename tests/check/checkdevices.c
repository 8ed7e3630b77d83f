/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkdevices.h"
#include "cpudevice.h"
#include "cudadevice.h"
#include "plaindevice.h"

#include <string.h>

/* ---- plain: the shared arithmetic, one sample after the other ------------------------------------- */

static const char *const plain_names[] = {"right", NULL};

/* `isa`: the name of a mutant, to prove a test with. */
static SobelDevice *
create_plain (const CheckDeviceOptions *options, const char *isa, SobelError *error)
{
  int mutant = PLAIN_RIGHT;
  SobelDevice *device;

  while (isa != NULL && mutant < PLAIN_N_MUTANTS && strcmp (plain_mutant_name ((PlainMutant) mutant), isa) != 0)
    mutant++;
  if (mutant == PLAIN_N_MUTANTS) {
    sobel_error_set (error, SOBEL_STATUS_INVALID, "there is no mutant %s", isa);
    return NULL;
  }
  device = plain_device_new ((PlainMutant) mutant);

  if (device == NULL)
    sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for a device");
  return device;
}

/* ---- cpu ------------------------------------------------------------------------------------------ */

/* Instruction sets, and each with those that it builds on. */
static const char *const cpu_isas[] = {"c", "sse41", "avx2", "avx512", "neon", NULL};
static const unsigned cpu_isa_masks[] = {
    0,
    SOBEL_CPU_ISA_SSE41,
    SOBEL_CPU_ISA_SSE41 | SOBEL_CPU_ISA_AVX2,
    SOBEL_CPU_ISA_SSE41 | SOBEL_CPU_ISA_AVX2 | SOBEL_CPU_ISA_AVX512,
    SOBEL_CPU_ISA_NEON,
};

static SobelDevice *
create_cpu (const CheckDeviceOptions *options, const char *isa, SobelError *error)
{
  SobelDevice *device = NULL;
  unsigned mask = ~0u, i;

  if (isa != NULL) {
    for (i = 0; cpu_isas[i] != NULL && strcmp (cpu_isas[i], isa) != 0; i++)
      ;
    if (cpu_isas[i] == NULL) {
      sobel_error_set (error, SOBEL_STATUS_INVALID, "there is no instruction set %s", isa);
      return NULL;
    }
    mask = cpu_isa_masks[i];
    if ((mask & ~sobel_cpu_isa_available ()) != 0) {
      sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "the processor or the build lacks it");
      return NULL;
    }
  }
  sobel_cpu_set_isa_mask (mask);
  if (sobel_cpu_device_new (options->threads, &device, error) != SOBEL_STATUS_OK)
    device = NULL;
  sobel_cpu_set_isa_mask (~0u);
  return device;
}

/* ---- cuda ----------------------------------------------------------------------------------------- */

/* By the property's values: SOBEL_KERNEL_AUTO first, which is none by itself. */
static const char *const kernels[] = {"auto", "naive", "constant", "shared", "fused", NULL};

static SobelDevice *
create_cuda (const CheckDeviceOptions *options, const char *isa, SobelError *error)
{
  const SobelCudaOptions cuda = {
      .device_id = options->gpu,
      .streams = options->streams,
      .strips = options->strips,
  };
  SobelDevice *device = NULL;

  return sobel_cuda_device_new (&cuda, &device, error) == SOBEL_STATUS_OK ? device : NULL;
}

/* ---- table ---------------------------------------------------------------------------------------- */

static const CheckDeviceKind kinds[] = {
    {"plain", plain_names, NULL, create_plain},
    {"cpu", cpu_isas, NULL, create_cpu},
    {"cuda", NULL, kernels + 1, create_cuda},
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
  unsigned i;

  for (i = 0; kernels[i] != NULL; i++)
    if (strcmp (kernels[i], name) == 0) {
      *kernel = (SobelKernel) i;
      return true;
    }
  return false;
}

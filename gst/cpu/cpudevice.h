/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CPU_DEVICE_H
#define SOBEL_CPU_DEVICE_H

#include "sobeldevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device that computes with the processor: with the thread that submits, and n_threads - 1 of its own
 * (0: one a core that the process may use; 64 at most). Frames may lie in any host memory; a frame is finished when
 * its submit returns. */
SobelStatus sobel_cpu_device_new (unsigned n_threads, SobelDevice **device, SobelError *error);

/* Instruction sets beyond what the compiler may always use. */
typedef enum SobelCpuIsa
{
  SOBEL_CPU_ISA_SSE41 = 1 << 0,
  SOBEL_CPU_ISA_AVX2 = 1 << 1,
  SOBEL_CPU_ISA_AVX512 = 1 << 2, /* F, BW, DQ, VL, VBMI and VNNI */
  SOBEL_CPU_ISA_NEON = 1 << 3,
} SobelCpuIsa;

/* Those that this build and this machine have. */
unsigned sobel_cpu_isa_available (void);

/* For tests: devices made from now on use none but these (all bits: no limit). */
void sobel_cpu_set_isa_mask (unsigned mask);

#ifdef __cplusplus
}
#endif
#endif

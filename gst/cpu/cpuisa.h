/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CPU_ISA_H
#define SOBEL_CPU_ISA_H

#include "cpurows.h"

/* Fills the table for the best instruction set that this build has, this processor has, the operating system saves
 * and sobel_cpu_set_isa_mask() allows. */
void sobel_cpu_rows_init (SobelCpuRows *rows);

#endif

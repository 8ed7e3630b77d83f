/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpurows_body.h"

#include "cpulayout_body.h"

void
sobel_cpu_rows_avx2 (SobelCpuRows *rows)
{
  fill_rows (rows, "avx2", "AVX2");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For any processor, vectorised as far as its base instruction set goes. */
#include "cpurows_body.h"

#include "cpulayout_body.h"

void
sobel_cpu_rows_c (SobelCpuRows *rows)
{
  fill_rows (rows, "c", "C");
}

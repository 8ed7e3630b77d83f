/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpurows_body.h"

#include "cpulayout_body.h"

void
sobel_cpu_rows_sse41 (SobelCpuRows *rows)
{
  fill_rows (rows, "sse41", "SSE4.1");
}

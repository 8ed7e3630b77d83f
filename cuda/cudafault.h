/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_FAULT_H
#define SOBEL_CUDA_FAULT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For tests: the `call`-th checked CUDA call from now on (1: the next) is not made and reported as failed with
 * `code`, and so is every one after it if `sticky`; 0 makes all calls again. Calls that free something are made
 * whatever is set here. */
void sobel_cuda_fault_set (unsigned call, int code, bool sticky);

/* Checked calls since the last set. */
unsigned sobel_cuda_fault_count (void);

/* Counts a checked call; the code to report instead of making it, or 0. */
int sobel_cuda_fault_next (void);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_PINNED_BUDGET_H
#define SOBEL_PINNED_BUDGET_H

#include "sobelstatus.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The process's one cap on pinned (page-locked) bytes: the environment variable GST_CUDA_SOBEL_MAX_PINNED (bytes,
 * decimal digits only; 0: none at all), default, and for anything else that it holds, a quarter of the host's
 * memory. Thread-safe. */

/* Counts `size` bytes as pinned; NO_MEMORY, with the numbers in words, if that would pass the cap. */
SobelStatus sobel_pinned_reserve (size_t size, SobelError *error);
/* Of a size that was reserved. */
void sobel_pinned_release (size_t size);

/* Bytes pinned by the process now. */
uint64_t sobel_pinned_bytes (void);
/* The cap in force. The environment is read at the first use. */
uint64_t sobel_pinned_cap (void);
/* For tests: another cap, or 0 to read the environment again. */
void sobel_pinned_set_cap (uint64_t cap);

#ifdef __cplusplus
}
#endif
#endif

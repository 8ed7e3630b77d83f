/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_CHECK_H
#define SOBEL_CUDA_CHECK_H

#include "cudafault.h"
#include "sobelstatus.h"

#include <cuda_runtime_api.h>

/* Every call of CUDA but those that free something goes through here, so that a test can make each fail in turn. */

/* The result of `call`, which is not made where a test has it fail. */
#define SOBEL_CUDA_TRY(result, call)                                                                                   \
  do {                                                                                                                 \
    (result) = (cudaError_t) sobel_cuda_fault_next ();                                                                 \
    if ((result) == cudaSuccess)                                                                                       \
      (result) = (call);                                                                                               \
  } while (0)

/* Makes the call; on failure returns from the function with what it means. The rest is the request in words (printf
 * arguments). */
#define SOBEL_CUDA_CHECK(error, call, ...)                                                                             \
  do {                                                                                                                 \
    cudaError_t check_result;                                                                                          \
    SOBEL_CUDA_TRY (check_result, call);                                                                               \
    if (check_result != cudaSuccess)                                                                                   \
      return sobel_cuda_failed (error, check_result, #call, __VA_ARGS__);                                              \
  } while (0)

/* Says which call failed, how, and what had been asked for; NO_MEMORY where memory was short, else DEVICE_LOST. Takes
 * the error off the thread's record, so that no later call reports it again. */
SobelStatus sobel_cuda_failed (SobelError *error, cudaError_t result, const char *call, const char *request, ...)
    __attribute__ ((format (printf, 4, 5)));

#endif

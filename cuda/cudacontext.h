/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_CONTEXT_H
#define SOBEL_CUDA_CONTEXT_H

#include "cudadevice.h"

#include <cuda.h>

/* The CUDA context that a device works in, shared by the device and its host blocks. The calling thread's current
 * context is never changed: whoever works in the context enters it and leaves it again. */
typedef struct SobelCudaContext SobelCudaContext;

/* The context that the options ask for, with code for its GPU in it. Errors as for sobel_cuda_device_new. */
SobelStatus sobel_cuda_context_open (const SobelCudaOptions *options, SobelCudaContext **context, SobelError *error);

SobelCudaContext *sobel_cuda_context_ref (SobelCudaContext *context);
void sobel_cuda_context_unref (SobelCudaContext *context);

/* Makes the context current for the runtime's calls that follow, until leave. */
SobelStatus sobel_cuda_context_enter (SobelCudaContext *context, SobelError *error);
/* To free something: whether the context still can be entered. */
bool sobel_cuda_context_enter_to_free (SobelCudaContext *context);
void sobel_cuda_context_leave (SobelCudaContext *context);

CUcontext sobel_cuda_context_handle (const SobelCudaContext *context);
int sobel_cuda_context_ordinal (const SobelCudaContext *context);
const char *sobel_cuda_context_gpu_name (const SobelCudaContext *context);
int sobel_cuda_context_multiprocessors (const SobelCudaContext *context);

#endif

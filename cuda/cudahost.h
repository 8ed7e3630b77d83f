/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_HOST_H
#define SOBEL_CUDA_HOST_H

#include "cudacontext.h"

/* Host memory pinned for the context's GPU, and any other of the process. It is ordinary memory that is registered:
 * it stays readable when the context dies. Holds a reference on the context. */
SobelStatus sobel_cuda_host_alloc (SobelCudaContext *context, size_t size, SobelHostBlock **block, SobelError *error);

#endif

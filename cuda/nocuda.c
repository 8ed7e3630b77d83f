/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudadevice.h"

#include <stddef.h>

SobelStatus
sobel_cuda_device_new (const SobelCudaOptions *options, SobelDevice **device, SobelError *error)
{
  *device = NULL;
  return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "built without CUDA");
}

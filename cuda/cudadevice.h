/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_DEVICE_H
#define SOBEL_CUDA_DEVICE_H

#include "sobeldevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device on an NVIDIA GPU. No call of CUDA is made before sobel_cuda_device_new, and none changes the current
 * context of the calling thread. Without libcuda, and in a build without CUDA, the call below says so and that is
 * all. */

typedef struct SobelCudaOptions
{
  int device_id;    /* number of the GPU; -1: that of `context`, else the first usable one */
  unsigned streams; /* that frames alternate on, 1 to 16; 0: as many as measured best */
  unsigned strips;  /* that one frame is cut into, 1 to 64, so that its stages overlap; 0: by size, 1: never */

  void *context; /* CUcontext to work in; NULL: the GPU's primary context */
  /* Reference on what owns `context`, held for as long as the device and its host blocks live. NULL where the
   * context outlives them anyway. */
  void *context_owner;
  void *(*context_ref) (void *owner);
  void (*context_unref) (void *owner);
} SobelCudaOptions;

/* A device that is to be configured; sobel_device_destroy frees it. NO_DEVICE: no driver, no GPU, a driver that is
 * too old, no code for the GPU. BAD_DEVICE_ID: another GPU is there; the message names those that are. NO_MEMORY:
 * the GPU has no room for a context. Of a context that is given, INVALID: it is another GPU's than `device_id` says;
 * DEVICE_LOST: it cannot be entered. */
SobelStatus sobel_cuda_device_new (const SobelCudaOptions *options, SobelDevice **device, SobelError *error);

#ifdef __cplusplus
}
#endif
#endif

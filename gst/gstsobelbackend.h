/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_BACKEND_H
#define GST_SOBEL_BACKEND_H

#include "gstsobelenums.h"

#include "core/sobeldevice.h"
#include "cudadevice.h"

G_BEGIN_DECLS

/* What the user asked for; values of the properties. */
typedef struct
{
  GstSobelBackend backend;
  SobelCudaOptions cuda;
  guint n_threads;
} GstSobelBackendOptions;

/* The devices to work with. */
typedef struct
{
  GstSobelActiveBackend active;
  SobelDevice *device;
  SobelDevice *fallback; /* NULL where a failure is an error */
  SobelError reason;     /* why `device` is not a GPU though one would have been taken; OK if that is not so */
} GstSobelDevices;

/* Opens the devices. OK, or the reason why there is none, in `error`. Nothing of CUDA is touched with
 * backend=cpu. */
SobelStatus gst_sobel_backend_open (const GstSobelBackendOptions *options, GstSobelDevices *devices, SobelError *error);

/* Another GPU device, with nothing to fall back on. */
SobelStatus gst_sobel_backend_open_gpu (const SobelCudaOptions *options, SobelDevice **device, SobelError *error);

/* For tests: makes the "GPU" instead of sobel_cuda_device_new; NULL puts that back. */
typedef SobelStatus (*GstSobelDeviceFactory) (const SobelCudaOptions *options, SobelDevice **device, SobelError *error);
void gst_sobel_backend_set_factory (GstSobelDeviceFactory factory);

G_END_DECLS
#endif

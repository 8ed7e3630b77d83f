/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelbackend.h"

#include "cpudevice.h"

#include <string.h>

static GstSobelDeviceFactory cuda_factory = sobel_cuda_device_new;

void
gst_sobel_backend_set_factory (GstSobelDeviceFactory factory)
{
  cuda_factory = factory ? factory : sobel_cuda_device_new;
}

SobelStatus
gst_sobel_backend_open_gpu (const SobelCudaOptions *options, SobelDevice **device, SobelError *error)
{
  return cuda_factory (options, device, error);
}

SobelStatus
gst_sobel_backend_open (const GstSobelBackendOptions *options, GstSobelDevices *devices, SobelError *error)
{
  SobelDevice *cuda = NULL, *cpu = NULL;
  SobelStatus status;

  memset (devices, 0, sizeof *devices);
  if (options->backend != GST_SOBEL_BACKEND_CPU) {
    status = cuda_factory (&options->cuda, &cuda, error);
    if (status != SOBEL_STATUS_OK) {
      if (options->backend == GST_SOBEL_BACKEND_CUDA)
        return status;
      devices->reason = *error;
    }
  }
  if (options->backend != GST_SOBEL_BACKEND_CUDA) {
    status = sobel_cpu_device_new (options->n_threads, &cpu, error);
    if (status != SOBEL_STATUS_OK) {
      sobel_device_destroy (&cuda);
      return status;
    }
  }
  devices->active = cuda ? GST_SOBEL_ACTIVE_BACKEND_CUDA : GST_SOBEL_ACTIVE_BACKEND_CPU;
  devices->device = cuda ? cuda : cpu;
  devices->fallback = cuda ? cpu : NULL;
  return SOBEL_STATUS_OK;
}

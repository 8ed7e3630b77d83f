/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_CUDA_RIG_H
#define SOBEL_TEST_CUDA_RIG_H

/* Frames for a device under test, in memory of its own, beside the CPU's. No GStreamer: runs on a bare CUDA host. */

#include "cpudevice.h"
#include "cudadevice.h"
#include "testutil.h"

#include <cuda.h>

/* A configured device with host memory for one frame a slot. */
typedef struct Rig
{
  SobelDevice *device;
  SobelConfig config;
  unsigned n_slots;
  SobelHostBlock *block; /* of the device, where it has such memory; else `memory` is plain */
  uint8_t *memory;
  size_t in_size, out_size; /* of a picture */
} Rig;

/* Full range, or BT.601's 16 to 235. */
SobelConfig rig_config (const char *format, bool gray_out, int32_t width, int32_t height, bool full_range);

/* Takes the device over. Rows are tight. */
bool rig_init (Rig *rig, SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error);
/* Memory first, or after the device. */
void rig_clear (Rig *rig);

uint8_t *rig_in (const Rig *rig, unsigned slot);
uint8_t *rig_out (const Rig *rig, unsigned slot);
/* Image of a picture in tight rows at `data`. */
SobelImage rig_image (const SobelFormat *format, int32_t width, int32_t height, uint8_t *data, SobelMemory memory);
size_t rig_picture_size (const SobelFormat *format, int32_t width, int32_t height);
SobelJob rig_job (const Rig *rig, unsigned slot, const SobelParams *params);

/* The CPU backend's output for a job; `out` has room for out_size bytes. */
bool rig_expected (const Rig *rig, const SobelJob *job, uint8_t *out);

/* What is asked of CUDA without the device's help. */
typedef struct RigDriver
{
  CUresult (*get_current) (CUcontext *context);
  CUresult (*push) (CUcontext context);
  CUresult (*pop) (CUcontext *context);
  CUresult (*primary_state) (CUdevice device, unsigned *flags, int *active);
  CUresult (*primary_retain) (CUcontext *context, CUdevice device);
  CUresult (*primary_release) (CUdevice device);
} RigDriver;

bool rig_driver_load (RigDriver *driver);

#endif

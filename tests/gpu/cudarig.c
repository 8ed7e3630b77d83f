/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudarig.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

SobelConfig
rig_config (const char *format, bool gray_out, int32_t width, int32_t height, bool full_range)
{
  SobelConfig config = {.in = sobel_format_find (format), .width = width, .height = height, .full_range = full_range,
                        .kr = 0.299, .kb = 0.114};

  config.out = gray_out ? sobel_format_find (sobel_format_depth (config.in) > 8 ? "GRAY16_LE" : "GRAY8") : config.in;
  return config;
}

SobelImage
rig_image (const SobelFormat *format, int32_t width, int32_t height, uint8_t *data, SobelMemory memory)
{
  SobelImage image = {.format = format, .memory = memory, .width = width, .height = height};
  unsigned i;

  for (i = 0; i < format->n_planes; i++) {
    SobelPlane *plane = &image.plane[i];

    plane->data = data;
    plane->stride = (ptrdiff_t) sobel_image_row_bytes (format, i, width);
    plane->rows = sobel_image_plane_rows (format, i, height);
    data += (size_t) plane->stride * (size_t) plane->rows;
  }
  return image;
}

size_t
rig_picture_size (const SobelFormat *format, int32_t width, int32_t height)
{
  size_t size = 0;
  unsigned i;

  for (i = 0; i < format->n_planes; i++)
    size += sobel_image_row_bytes (format, i, width) * (size_t) sobel_image_plane_rows (format, i, height);
  return size;
}

bool
rig_init (Rig *rig, SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  size_t size;

  memset (rig, 0, sizeof *rig);
  rig->device = device;
  rig->config = *config;
  rig->n_slots = n_slots;
  rig->in_size = (rig_picture_size (config->in, config->width, config->height) + 4095) / 4096 * 4096;
  rig->out_size = (rig_picture_size (config->out, config->width, config->height) + 4095) / 4096 * 4096;
  size = (rig->in_size + rig->out_size) * n_slots;
  if (device->ops->configure (device, config, n_slots, error) != SOBEL_STATUS_OK)
    return false;
  if (device->ops->host_alloc) {
    if (device->ops->host_alloc (device, size, &rig->block, error) != SOBEL_STATUS_OK)
      return false;
    rig->memory = rig->block->data;
  } else {
    rig->memory = malloc (size);
  }
  return rig->memory != NULL;
}

void
rig_clear (Rig *rig)
{
  if (rig->block)
    rig->block->free (rig->block);
  else
    free (rig->memory);
  sobel_device_destroy (&rig->device);
  memset (rig, 0, sizeof *rig);
}

uint8_t *
rig_in (const Rig *rig, unsigned slot)
{
  return rig->memory + slot * rig->in_size;
}

uint8_t *
rig_out (const Rig *rig, unsigned slot)
{
  return rig->memory + rig->n_slots * rig->in_size + slot * rig->out_size;
}

SobelJob
rig_job (const Rig *rig, unsigned slot, const SobelParams *params)
{
  const SobelConfig *c = &rig->config;
  SobelJob job;

  memset (&job, 0, sizeof job);
  job.in = rig_image (c->in, c->width, c->height, rig_in (rig, slot), SOBEL_MEMORY_HOST);
  job.out = rig_image (c->out, c->width, c->height, rig_out (rig, slot), SOBEL_MEMORY_HOST);
  sobel_recipe_init (&job.recipe, c, params);
  job.kernel = params->kernel;
  return job;
}

bool
rig_expected (const Rig *rig, const SobelJob *job, uint8_t *out)
{
  SobelDevice *cpu = NULL;
  SobelJob again = *job;
  SobelError error;
  bool ok;

  again.out = rig_image (rig->config.out, rig->config.width, rig->config.height, out, SOBEL_MEMORY_HOST);
  ok = sobel_cpu_device_new (0, &cpu, &error) == SOBEL_STATUS_OK &&
       cpu->ops->configure (cpu, &rig->config, 1, &error) == SOBEL_STATUS_OK &&
       cpu->ops->submit (cpu, 0, &again, &error) == SOBEL_STATUS_OK &&
       cpu->ops->wait (cpu, 0, UINT64_MAX, &error) == SOBEL_STATUS_OK;
  sobel_device_destroy (&cpu);
  return ok;
}

static bool
find_entry (const char *symbol, void *function)
{
#if CUDART_VERSION >= 12050
  enum cudaDriverEntryPointQueryResult found;

  return cudaGetDriverEntryPointByVersion (symbol, function, 11080, cudaEnableDefault, &found) == cudaSuccess;
#elif CUDART_VERSION >= 12000
  enum cudaDriverEntryPointQueryResult found;

  return cudaGetDriverEntryPoint (symbol, function, cudaEnableDefault, &found) == cudaSuccess;
#else
  return cudaGetDriverEntryPoint (symbol, function, cudaEnableDefault) == cudaSuccess;
#endif
}

bool
rig_driver_load (RigDriver *driver)
{
  return find_entry ("cuCtxGetCurrent", &driver->get_current) && find_entry ("cuCtxPushCurrent", &driver->push) &&
         find_entry ("cuCtxPopCurrent", &driver->pop) &&
         find_entry ("cuDevicePrimaryCtxGetState", &driver->primary_state) &&
         find_entry ("cuDevicePrimaryCtxRetain", &driver->primary_retain) &&
         find_entry ("cuDevicePrimaryCtxRelease", &driver->primary_release);
}

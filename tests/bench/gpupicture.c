/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpupicture.h"

#include <stdlib.h>
#include <string.h>

enum { PLANE_ALIGNMENT = 512, PITCH_ALIGNMENT = 16, NOISE_BYTES = 4 << 20 };

static size_t
align_up (size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

/* Fills in image planes as offsets from `base`, or just counts; returns the bytes. */
static size_t
lay_out (SobelImage *image, const SobelFormat *format, int32_t width, int32_t height, uint8_t *base)
{
  size_t size = 0;
  unsigned i;

  *image = (SobelImage){.format = format, .memory = SOBEL_MEMORY_DEVICE, .width = width, .height = height};
  for (i = 0; i < format->n_planes; i++) {
    SobelPlane *plane = &image->plane[i];

    plane->stride = (ptrdiff_t) align_up (sobel_image_row_bytes (format, i, width), PITCH_ALIGNMENT);
    plane->rows = sobel_image_plane_rows (format, i, height);
    plane->data = base ? base + size : NULL;
    size += align_up ((size_t) plane->stride * (size_t) plane->rows, PLANE_ALIGNMENT);
  }
  return size;
}

/* Noise, repeated; every second stretch is flat, as parts of real pictures are. */
static void
fill (uint8_t *data, size_t size)
{
  TRandom random = t_random (7, 7);
  const size_t noise = size < NOISE_BYTES ? size : NOISE_BYTES;
  size_t i;

  t_random_fill (&random, data, noise);
  for (i = 4096; i + 512 <= noise; i += 8192)
    memset (data + i, data[i], 512);
  for (i = noise; i < size; i += noise)
    memcpy (data + i, data, size - i < noise ? size - i : noise);
}

/* Planes of `image` (GPU) to or from tight rows. */
static cudaError_t
transfer (const SobelImage *image, uint8_t *tight, bool to_gpu)
{
  cudaError_t result = cudaSuccess;
  unsigned i;

  for (i = 0; i < image->format->n_planes && result == cudaSuccess; i++) {
    const SobelPlane *plane = &image->plane[i];
    const size_t row = sobel_image_row_bytes (image->format, i, image->width), rows = (size_t) plane->rows;

    result = to_gpu ? cudaMemcpy2D (plane->data, (size_t) plane->stride, tight, row, row, rows, cudaMemcpyHostToDevice)
                    : cudaMemcpy2D (tight, row, plane->data, (size_t) plane->stride, row, rows, cudaMemcpyDeviceToHost);
    tight += row * rows;
  }
  return result;
}

static bool
compute_expected (GpuPicture *p, SobelError *error)
{
  const SobelConfig *c = &p->config;
  SobelDevice *cpu = NULL;
  SobelJob job;
  bool ok;

  memset (&job, 0, sizeof job);
  job.in = rig_image (c->in, c->width, c->height, p->host_in, SOBEL_MEMORY_HOST);
  job.out = rig_image (c->out, c->width, c->height, p->expected, SOBEL_MEMORY_HOST);
  job.recipe = p->picture.recipe;
  ok = sobel_cpu_device_new (0, &cpu, error) == SOBEL_STATUS_OK &&
       cpu->ops->configure (cpu, c, 1, error) == SOBEL_STATUS_OK &&
       cpu->ops->submit (cpu, 0, &job, error) == SOBEL_STATUS_OK &&
       cpu->ops->wait (cpu, 0, UINT64_MAX, error) == SOBEL_STATUS_OK;
  sobel_device_destroy (&cpu);
  return ok;
}

bool
gpu_picture_set_params (GpuPicture *p, const SobelParams *params, SobelError *error)
{
  const SobelConfig *c = &p->config;
  uint8_t in_use[SOBEL_MAX_PLANES];
  size_t bytes = 0;
  unsigned i;

  sobel_recipe_init (&p->picture.recipe, c, params);
  sobel_recipe_planes (&p->picture.recipe, c, in_use, p->picture.out_use);
  for (i = 0; i < c->in->n_planes; i++)
    if (in_use[i] & SOBEL_PLANE_READ)
      bytes += sobel_image_row_bytes (c->in, i, c->width) * (size_t) sobel_image_plane_rows (c->in, i, c->height);
  for (i = 0; i < c->out->n_planes; i++) {
    p->picture.out_row_bytes[i] = (uint32_t) sobel_image_row_bytes (c->out, i, c->width);
    if (p->picture.out_use[i] & SOBEL_PLANE_WRITE)
      bytes += (size_t) p->picture.out_row_bytes[i] * (size_t) sobel_image_plane_rows (c->out, i, c->height);
  }
  p->copy_bytes = bytes / 2;
  p->picture.first_row = 0;
  p->picture.end_row = sobel_cuda_picture_extent (&p->picture);
  return compute_expected (p, error);
}

static cudaError_t
allocate (GpuPicture *p, size_t in_size, size_t out_size)
{
  const SobelConfig *c = &p->config;
  /* Each has room for a copy of half the bytes of both. */
  const size_t size = in_size > out_size ? in_size : out_size;
  const size_t scratch = sobel_cuda_scratch_layout (&p->scratch, c->width, c->height);
  cudaError_t result = cudaMalloc ((void **) &p->in, size);

  if (result == cudaSuccess)
    result = cudaMalloc ((void **) &p->out, size);
  if (result == cudaSuccess)
    result = cudaMalloc ((void **) &p->scratch.luma, scratch);
  if (result != cudaSuccess)
    return result;
  p->scratch.edges = (uint16_t *) ((uint8_t *) p->scratch.luma + p->scratch.luma_pitch * (size_t) c->height);
  cudaDeviceGetAttribute (&p->multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  return result;
}

bool
gpu_picture_init (GpuPicture *p, const SobelConfig *config, const SobelParams *params, SobelError *error)
{
  const size_t in_bytes = rig_picture_size (config->in, config->width, config->height);
  SobelImage image;
  cudaError_t result;

  memset (p, 0, sizeof *p);
  p->config = *config;
  p->host_in = malloc (in_bytes);
  p->expected = calloc (1, rig_picture_size (config->out, config->width, config->height));
  if (!p->host_in || !p->expected) {
    sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for a picture");
    return false;
  }
  fill (p->host_in, in_bytes);
  result = allocate (p, lay_out (&image, config->in, config->width, config->height, NULL),
                     lay_out (&image, config->out, config->width, config->height, NULL));
  if (result == cudaSuccess) {
    p->picture.in_format = *config->in;
    p->picture.out_format = *config->out;
    lay_out (&p->picture.in, config->in, config->width, config->height, p->in);
    lay_out (&p->picture.out, config->out, config->width, config->height, p->out);
    result = transfer (&p->picture.in, p->host_in, true);
  }
  if (result != cudaSuccess) {
    sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no GPU memory for a picture: %s", cudaGetErrorName (result));
    return false;
  }
  return gpu_picture_set_params (p, params, error);
}

void
gpu_picture_clear (GpuPicture *p)
{
  free (p->host_in);
  free (p->expected);
  cudaFree (p->in);
  cudaFree (p->out);
  cudaFree (p->scratch.luma);
  memset (p, 0, sizeof *p);
}

cudaError_t
gpu_picture_element (const GpuPicture *p, cudaStream_t stream)
{
  const SobelFastKind kind = sobel_cuda_fast_kind (&p->picture);

  if (kind == SOBEL_FAST_NONE)
    return sobel_cuda_fused (&p->picture, stream);
  return sobel_cuda_fast (&p->picture, kind, sobel_cuda_fast_shape (&p->picture, kind, p->multiprocessors), stream);
}

int64_t
gpu_picture_wrong (GpuPicture *p, GpuWork work, void *user)
{
  const SobelImage *out = &p->picture.out;
  const size_t size = rig_picture_size (p->config.out, p->config.width, p->config.height);
  uint8_t *got = malloc (size);
  const uint8_t *a = got, *b = p->expected;
  cudaError_t result = got ? cudaSuccess : cudaErrorMemoryAllocation;
  int64_t wrong = 0;
  size_t k;
  unsigned i;

  for (i = 0; i < out->format->n_planes && result == cudaSuccess; i++)
    result = cudaMemset (out->plane[i].data, 0xa5, (size_t) out->plane[i].stride * (size_t) out->plane[i].rows);
  if (result == cudaSuccess)
    result = cudaDeviceSynchronize ();
  if (result == cudaSuccess)
    result = work (user, NULL);
  if (result == cudaSuccess)
    result = transfer (out, got, false);
  for (i = 0; i < out->format->n_planes && result == cudaSuccess; i++) {
    const size_t bytes = sobel_image_row_bytes (out->format, i, out->width) * (size_t) out->plane[i].rows;

    if ((p->picture.out_use[i] & SOBEL_PLANE_WRITE) && memcmp (a, b, bytes) != 0)
      for (k = 0; k < bytes; k++)
        wrong += a[k] != b[k];
    a += bytes;
    b += bytes;
  }
  free (got);
  return result == cudaSuccess ? wrong : -1;
}

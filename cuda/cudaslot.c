/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudaslot.h"

#include "cudacheck.h"

#include <inttypes.h>
#include <string.h>

/* Planes begin there, for the kernels' vectors and the copy engine's liking. */
enum { PLANE_ALIGNMENT = 512, PITCH_ALIGNMENT = 16 };

static size_t
align_up (size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

unsigned
sobel_cuda_plane_h_sub (const SobelFormat *format, unsigned plane)
{
  unsigned h_sub = 8, i;

  for (i = 0; i < format->n_components; i++) {
    if (format->component[i].plane == plane && format->component[i].h_sub < h_sub)
      h_sub = format->component[i].h_sub;
  }
  return h_sub;
}

/* Adds the planes of a picture behind `start`. */
static void
layout_init (SobelCudaLayout *layout, const SobelFormat *format, int32_t width, int32_t height, size_t start)
{
  unsigned i;

  memset (layout, 0, sizeof *layout);
  layout->size = start;
  for (i = 0; i < format->n_planes; i++) {
    const int32_t rows = sobel_image_plane_rows (format, i, height);

    layout->row_bytes[i] = sobel_image_row_bytes (format, i, width);
    /* Not more than a vector's end beyond the row: rows without padding can then be copied in one piece. */
    layout->pitch[i] = align_up (layout->row_bytes[i], PITCH_ALIGNMENT);
    layout->rows[i] = rows + (sobel_cuda_plane_h_sub (format, i) > 0);
    layout->offset[i] = layout->size;
    layout->size += align_up (layout->pitch[i] * (size_t) layout->rows[i], PLANE_ALIGNMENT);
  }
}

/* Device memory of at least `size` bytes: what is there, unless it is too small or four times too large. */
static SobelStatus
memory_reserve (SobelCudaDevice *device, uint8_t **memory, size_t *has, size_t size, SobelError *error)
{
  if (*memory && *has >= size && *has / 4 <= size)
    return SOBEL_STATUS_OK;
  cudaFree (*memory);
  cudaGetLastError ();
  atomic_fetch_sub (&device->bytes, *has);
  *memory = NULL;
  *has = 0;
  SOBEL_CUDA_CHECK (error, cudaMalloc ((void **) memory, size), "%zu bytes of GPU memory for %" PRId32 "x%" PRId32,
                    size, device->config.width, device->config.height);
  *has = size;
  atomic_fetch_add (&device->bytes, size);
  return SOBEL_STATUS_OK;
}

static SobelStatus
events_init (SobelCudaSlot *slot, unsigned number, SobelError *error)
{
  unsigned i;

  SOBEL_CUDA_CHECK (error, cudaEventCreateWithFlags (&slot->done, cudaEventDisableTiming), "an event of slot %u",
                    number);
  for (i = 0; i < SOBEL_CUDA_N_MOMENTS; i++)
    SOBEL_CUDA_CHECK (error, cudaEventCreateWithFlags (&slot->moment[i], cudaEventDefault), "an event of slot %u",
                      number);
  return SOBEL_STATUS_OK;
}

static SobelStatus
streams_init (SobelCudaDevice *device, unsigned n, SobelError *error)
{
  SobelStatus status = SOBEL_STATUS_OK;
  unsigned i;

  for (device->n_streams = 0; device->n_streams < n; device->n_streams++)
    SOBEL_CUDA_CHECK (error, cudaStreamCreateWithFlags (&device->stream[device->n_streams], cudaStreamNonBlocking),
                      "stream %u of %u", device->n_streams + 1, n);
  SOBEL_CUDA_CHECK (error, cudaStreamCreateWithFlags (&device->strip_kernels, cudaStreamNonBlocking), "a stream");
  SOBEL_CUDA_CHECK (error, cudaStreamCreateWithFlags (&device->strip_downloads, cudaStreamNonBlocking), "a stream");
  SOBEL_CUDA_CHECK (error, cudaStreamCreateWithFlags (&device->clock, cudaStreamNonBlocking), "a stream");
  SOBEL_CUDA_CHECK (error, cudaEventCreateWithFlags (&device->order, cudaEventDisableTiming), "an event");
  SOBEL_CUDA_CHECK (error, cudaEventCreateWithFlags (&device->uploaded, cudaEventDisableTiming), "an event");
  for (i = 0; i < device->n_slots && status == SOBEL_STATUS_OK; i++) {
    device->slot[i].stream = i % n;
    status = events_init (&device->slot[i], i, error);
  }
  return status;
}

static unsigned
stream_count (const SobelCudaDevice *device, unsigned n_slots)
{
  /* A stream a slot lets every frame overlap with every other. */
  const unsigned n = device->wanted_streams ? device->wanted_streams : n_slots;

  return n < SOBEL_CUDA_MAX_STREAMS ? n : SOBEL_CUDA_MAX_STREAMS;
}

static SobelStatus
memory_init (SobelCudaDevice *device, SobelError *error)
{
  const size_t size = device->out_layout.size;
  unsigned i;

  for (i = 0; i < device->n_slots; i++) {
    SobelCudaSlot *slot = &device->slot[i];
    const SobelStatus status = memory_reserve (device, &slot->memory, &slot->memory_size, size, error);

    if (status != SOBEL_STATUS_OK)
      return status;
    slot->scratch.luma = NULL;
    slot->pending = slot->timed = false;
    /* So that no padding byte is ever read that was not written. */
    SOBEL_CUDA_CHECK (error, cudaMemsetAsync (slot->memory, 0, size, device->stream[slot->stream]),
                      "%zu bytes of slot %u", size, i);
  }
  /* What is wrong with the GPU shows now, not at the first frame; nothing else is queued yet. */
  for (i = 0; i < device->n_streams; i++)
    SOBEL_CUDA_CHECK (error, cudaStreamSynchronize (device->stream[i]), "clearing the memory of %u slots",
                      device->n_slots);
  return SOBEL_STATUS_OK;
}

SobelStatus
sobel_cuda_slots_init (SobelCudaDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  const unsigned n_streams = stream_count (device, n_slots);
  SobelStatus status = sobel_cuda_queue_settle (device, error);

  if (status != SOBEL_STATUS_OK)
    return status;
  device->config = *config;
  device->frames = 0;
  memset (&device->timing, 0, sizeof device->timing);
  layout_init (&device->in_layout, config->in, config->width, config->height, 0);
  layout_init (&device->out_layout, config->out, config->width, config->height, device->in_layout.size);
  if (n_slots != device->n_slots || n_streams != device->n_streams) {
    sobel_cuda_slots_clear (device);
    device->n_slots = n_slots;
    status = streams_init (device, n_streams, error);
  }
  if (status == SOBEL_STATUS_OK)
    status = memory_init (device, error);
  if (status != SOBEL_STATUS_OK)
    sobel_cuda_slots_clear (device);
  return status;
}

void
sobel_cuda_slots_clear (SobelCudaDevice *device)
{
  unsigned i, k;

  for (i = 0; i < device->n_slots; i++) {
    SobelCudaSlot *slot = &device->slot[i];

    cudaFree (slot->memory);
    cudaFree (slot->passes);
    if (slot->done)
      cudaEventDestroy (slot->done);
    for (k = 0; k < SOBEL_CUDA_N_MOMENTS; k++) {
      if (slot->moment[k])
        cudaEventDestroy (slot->moment[k]);
    }
  }
  memset (device->slot, 0, sizeof device->slot);
  sobel_cuda_queue_clear (device);
  atomic_store (&device->in_flight, 0);
  for (i = 0; i < device->n_streams; i++)
    cudaStreamDestroy (device->stream[i]);
  if (device->strip_kernels)
    cudaStreamDestroy (device->strip_kernels);
  if (device->strip_downloads)
    cudaStreamDestroy (device->strip_downloads);
  if (device->clock)
    cudaStreamDestroy (device->clock);
  if (device->order)
    cudaEventDestroy (device->order);
  if (device->uploaded)
    cudaEventDestroy (device->uploaded);
  device->strip_kernels = device->strip_downloads = device->clock = NULL;
  device->order = device->uploaded = NULL;
  device->n_streams = device->n_slots = 0;
  atomic_store (&device->bytes, 0);
  cudaGetLastError ();
}

static bool
is_idle (cudaStream_t stream)
{
  const cudaError_t result = cudaStreamQuery (stream);

  cudaGetLastError ();
  return result != cudaErrorNotReady;
}

bool
sobel_cuda_slots_are_idle (const SobelCudaDevice *device)
{
  bool idle = !device->strip_downloads || (is_idle (device->strip_kernels) && is_idle (device->strip_downloads));
  unsigned i;

  for (i = 0; i < device->n_streams && idle; i++)
    idle = is_idle (device->stream[i]);
  return idle;
}

SobelStatus
sobel_cuda_slot_scratch (SobelCudaDevice *device, SobelCudaSlot *slot, SobelError *error)
{
  const int32_t height = device->config.height;
  SobelCudaScratch *scratch = &slot->scratch;
  SobelStatus status;
  size_t size;

  if (scratch->luma)
    return SOBEL_STATUS_OK;
  size = sobel_cuda_scratch_layout (scratch, device->config.width, height);
  status = memory_reserve (device, &slot->passes, &slot->passes_size, size, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  scratch->luma = (uint32_t *) slot->passes;
  scratch->edges = (uint16_t *) (slot->passes + scratch->luma_pitch * (size_t) height);
  return SOBEL_STATUS_OK;
}

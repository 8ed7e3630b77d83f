/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames that are passed on while they are queued: their work goes to the stream of the memory that they write, and
 * the host waits for an earlier frame instead of the frame itself, so that it is never far ahead of the GPU and sees
 * when that stands still. */
#include "cudaslot.h"

#include "cudacheck.h"

#include <time.h>

enum {
  MEASURED_EVERY = 16,  /* frames: the time of one in so many is taken */
  LOOK_NS = 20 * 1000,  /* between looks for the end of what is queued */
  LOOKS = 250 * 1000,   /* about five seconds of them */
};

static cudaEvent_t *
end_of (SobelCudaDevice *device, uint32_t serial)
{
  /* Twice as many as can be in the ring: none is recorded anew while somebody may look at it. */
  return &device->queue.end[serial % (2 * device->n_slots)];
}

SobelStatus
sobel_cuda_queue_begin (SobelCudaDevice *device, SobelCudaSlot *slot, cudaStream_t stream, SobelError *error)
{
  SobelCudaQueue *queue = &device->queue;
  unsigned i;

  for (i = 0; !queue->ready && i < 2 * device->n_slots; i++)
    SOBEL_CUDA_CHECK (error, cudaEventCreateWithFlags (&queue->end[i], cudaEventDisableTiming), "event %u", i);
  for (i = 0; !queue->ready && i < 2; i++)
    SOBEL_CUDA_CHECK (error, cudaEventCreateWithFlags (&queue->measure[i], cudaEventDefault), "a timing event");
  queue->ready = true;

  slot->queue_serial = queue->next++;
  queue->is_measured = slot->queue_serial % MEASURED_EVERY == 0 && !atomic_load (&queue->measuring);
  if (queue->is_measured)
    SOBEL_CUDA_CHECK (error, cudaEventRecord (queue->measure[0], stream), "the start of a frame");
  return SOBEL_STATUS_OK;
}

SobelStatus
sobel_cuda_queue_end (SobelCudaDevice *device, SobelCudaSlot *slot, cudaStream_t stream, SobelError *error)
{
  SobelCudaQueue *queue = &device->queue;

  SOBEL_CUDA_CHECK (error, cudaEventRecord (*end_of (device, slot->queue_serial), stream), "the end of a frame");
  if (!queue->is_measured)
    return SOBEL_STATUS_OK;
  SOBEL_CUDA_CHECK (error, cudaEventRecord (queue->measure[1], stream), "the end of a frame");
  atomic_store (&queue->measuring, true);
  return SOBEL_STATUS_OK;
}

/* In the context. */
static void
look_at_clock (SobelCudaQueue *queue)
{
  float ms = 0;

  if (!atomic_load (&queue->measuring) || cudaEventQuery (queue->measure[1]) != cudaSuccess)
    return;
  if (cudaEventElapsedTime (&ms, queue->measure[0], queue->measure[1]) == cudaSuccess)
    atomic_store (&queue->kernel_ns, (uint64_t) ((double) ms * 1e6 + 0.5));
  atomic_store (&queue->measuring, false);
}

/* In the context: OK, TIMEOUT for not yet, or what went wrong. */
static SobelStatus
look (cudaEvent_t event, SobelError *error)
{
  cudaError_t result;

  SOBEL_CUDA_TRY (result, cudaEventQuery (event));
  if (result == cudaSuccess)
    return SOBEL_STATUS_OK;
  cudaGetLastError ();
  if (result == cudaErrorNotReady)
    return SOBEL_STATUS_TIMEOUT;
  return sobel_cuda_failed (error, result, "cudaEventQuery", "waiting for an earlier frame");
}

static SobelStatus
await (cudaEvent_t event, uint64_t timeout_ns, SobelError *error)
{
  const struct timespec nap = {0, LOOK_NS};
  SobelStatus status = look (event, error);
  uint64_t waited;

  for (waited = 0; status == SOBEL_STATUS_TIMEOUT && waited < timeout_ns; waited += LOOK_NS) {
    nanosleep (&nap, NULL);
    status = look (event, error);
  }
  return status;
}

SobelStatus
sobel_cuda_queue_wait (SobelCudaDevice *device, SobelCudaSlot *slot, uint64_t timeout_ns, SobelError *error)
{
  SobelStatus status = sobel_cuda_context_enter (device->context, error);

  if (status != SOBEL_STATUS_OK)
    return status;
  /* Of 2 n_slots events, that of frame serial - (n_slots - 1). Of the first frames it was never recorded: done. */
  status = await (*end_of (device, slot->queue_serial + device->n_slots + 1), timeout_ns, error);
  if (status == SOBEL_STATUS_OK)
    look_at_clock (&device->queue);
  cudaGetLastError ();
  sobel_cuda_context_leave (device->context);
  return status;
}

bool
sobel_cuda_queue_is_idle (SobelCudaDevice *device)
{
  bool idle = true;
  unsigned i;

  for (i = 0; i < 2 * device->n_slots && device->queue.ready; i++)
    idle &= cudaEventQuery (device->queue.end[i]) != cudaErrorNotReady;
  cudaGetLastError ();
  return idle;
}

SobelStatus
sobel_cuda_queue_settle (SobelCudaDevice *device, SobelError *error)
{
  SobelStatus status = SOBEL_STATUS_OK;
  unsigned i;

  for (i = 0; i < 2 * device->n_slots && device->queue.ready && status == SOBEL_STATUS_OK; i++)
    status = await (device->queue.end[i], (uint64_t) LOOKS * LOOK_NS, error);
  if (status == SOBEL_STATUS_TIMEOUT)
    return sobel_error_set (error, SOBEL_STATUS_DEVICE_LOST, "frames that were queued did not finish in time");
  return status;
}

void
sobel_cuda_queue_clear (SobelCudaDevice *device)
{
  SobelCudaQueue *queue = &device->queue;
  unsigned i;

  for (i = 0; i < 2 * SOBEL_CUDA_MAX_SLOTS; i++) {
    if (queue->end[i])
      cudaEventDestroy (queue->end[i]);
    queue->end[i] = NULL;
  }
  for (i = 0; i < 2; i++) {
    if (queue->measure[i])
      cudaEventDestroy (queue->measure[i]);
    queue->measure[i] = NULL;
  }
  queue->ready = false;
  queue->next = 0;
  atomic_store (&queue->measuring, false);
}

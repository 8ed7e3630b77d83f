/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudadevice.h"

#include "cudacheck.h"
#include "cudahost.h"
#include "cudarange.h"
#include "cudaslot.h"
#include "sobelclock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

SobelCudaTuning sobel_cuda_tuning = {
    .spin_ns = 200 * 1000,
    .sleep_ns = 20 * 1000,
    .timed_every = 32,
    .strip_bytes = 360 << 10,
};

static SobelStatus
cuda_configure (SobelDevice *base, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  SobelCudaDevice *device = (SobelCudaDevice *) base;
  SobelStatus status;

  if (!config->in || !config->out || config->width < 1 || config->height < 1 || n_slots < 1 ||
      n_slots > SOBEL_CUDA_MAX_SLOTS)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "cannot configure %" PRId32 "x%" PRId32 " with %u slots",
                            config->width, config->height, n_slots);
  status = sobel_cuda_context_enter (device->context, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  status = sobel_cuda_slots_init (device, config, n_slots, error);
  sobel_cuda_context_leave (device->context);
  return status;
}

static SobelStatus
cuda_host_alloc (SobelDevice *base, size_t size, SobelHostBlock **block, SobelError *error)
{
  return sobel_cuda_host_alloc (((SobelCudaDevice *) base)->context, size, block, error);
}

static SobelStatus
cuda_submit (SobelDevice *base, unsigned number, const SobelJob *job, SobelError *error)
{
  SobelCudaDevice *device = (SobelCudaDevice *) base;
  SobelStatus status;

  if (number >= device->n_slots)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "there is no slot %u of %u", number, device->n_slots);
  status = sobel_cuda_context_enter (device->context, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  SOBEL_CUDA_RANGE_BEGIN ("sobel submit");
  status = sobel_cuda_submit (device, &device->slot[number], job, error);
  SOBEL_CUDA_RANGE_END ();
  sobel_cuda_context_leave (device->context);
  return status;
}

/* ---- waiting -------------------------------------------------------------------------------------- */

static void
pause_briefly (void)
{
  unsigned i;

  /* About a microsecond: the driver's lock is the submitting thread's too. */
  for (i = 0; i < 32; i++) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause ();
#elif defined(__aarch64__)
    __asm__ volatile ("yield");
#endif
  }
}

/* (A word of host memory that the GPU writes in stream order could be looked at without the driver; but
 * ending frames that way took a tenth of the rate at 1920x1080, one byte a pixel, on an H200.) */
static SobelStatus
look_until (cudaEvent_t event, uint64_t timeout_ns, SobelError *error)
{
  const uint64_t start = sobel_now_ns ();

  for (;;) {
    uint64_t waited;
    cudaError_t result;

    SOBEL_CUDA_TRY (result, cudaEventQuery (event));
    if (result == cudaSuccess)
      return SOBEL_STATUS_OK;
    if (result != cudaErrorNotReady)
      return sobel_cuda_failed (error, result, "cudaEventQuery", "waiting for a frame");
    cudaGetLastError ();
    waited = sobel_now_ns () - start;
    if (waited >= timeout_ns)
      return SOBEL_STATUS_TIMEOUT;
    if (waited < sobel_cuda_tuning.spin_ns) {
      pause_briefly ();
    } else {
      const uint64_t left = timeout_ns - waited;
      const struct timespec nap = {0, (long) (left < sobel_cuda_tuning.sleep_ns ? left : sobel_cuda_tuning.sleep_ns)};

      nanosleep (&nap, NULL);
    }
  }
}

static SobelStatus
wait_for (SobelCudaDevice *device, cudaEvent_t event, uint64_t timeout_ns, SobelError *error)
{
  SobelStatus status = sobel_cuda_context_enter (device->context, error);

  if (status != SOBEL_STATUS_OK)
    return status;
  status = look_until (event, timeout_ns, error);
  sobel_cuda_context_leave (device->context);
  return status;
}

static SobelStatus
cuda_wait (SobelDevice *base, unsigned number, uint64_t timeout_ns, SobelError *error)
{
  SobelCudaDevice *device = (SobelCudaDevice *) base;
  SobelCudaSlot *slot = &device->slot[number < SOBEL_CUDA_MAX_SLOTS ? number : 0];
  SobelStatus status;

  if (number >= device->n_slots)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "there is no slot %u of %u", number, device->n_slots);
  if (!slot->pending)
    return SOBEL_STATUS_OK;
  SOBEL_CUDA_RANGE_BEGIN ("sobel wait");
  if (slot->queued)
    status = sobel_cuda_queue_wait (device, slot, timeout_ns, error);
  else
    status = wait_for (device, slot->done, timeout_ns, error);
  SOBEL_CUDA_RANGE_END ();
  if (status == SOBEL_STATUS_OK) {
    slot->pending = false;
    atomic_fetch_sub (&device->in_flight, 1);
  }
  return status;
}

/* Between two moments of a frame that is done. The start is recorded beside the frame's own stream: of a small frame it
 * can come late, even after the end of the upload, which then counts as no time. */
static uint64_t
between_ns (const SobelCudaSlot *slot, unsigned from, unsigned to)
{
  float ms = 0;

  if (cudaEventElapsedTime (&ms, slot->moment[from], slot->moment[to]) != cudaSuccess) {
    cudaGetLastError ();
    return 0;
  }
  return ms > 0 ? (uint64_t) ((double) ms * 1e6 / (double) slot->timed_share + 0.5) : 0;
}

static void
cuda_timing (SobelDevice *base, unsigned number, SobelTiming *timing)
{
  SobelCudaDevice *device = (SobelCudaDevice *) base;
  const SobelCudaSlot *slot = &device->slot[number < SOBEL_CUDA_MAX_SLOTS ? number : 0];

  if (slot->timed && !slot->queued && sobel_cuda_context_enter_to_free (device->context)) {
    device->timing.upload_ns = between_ns (slot, SOBEL_CUDA_START, SOBEL_CUDA_UPLOADED);
    device->timing.kernel_ns = between_ns (slot, SOBEL_CUDA_UPLOADED, SOBEL_CUDA_COMPUTED);
    device->timing.download_ns = between_ns (slot, SOBEL_CUDA_COMPUTED, SOBEL_CUDA_STAGED);
    sobel_cuda_context_leave (device->context);
  }
  *timing = device->timing;
  if (slot->queued)
    *timing = (SobelTiming){.kernel_ns = atomic_load (&device->queue.kernel_ns)};
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void
cuda_info (SobelDevice *base, SobelDeviceInfo *info)
{
  SobelCudaDevice *device = (SobelCudaDevice *) base;

  memset (info, 0, sizeof *info);
  snprintf (info->name, sizeof info->name, "%s (%d)", sobel_cuda_context_gpu_name (device->context),
            sobel_cuda_context_ordinal (device->context));
  info->kernel = atomic_load (&device->kernel);
  info->device_bytes = atomic_load (&device->bytes);
  info->context = sobel_cuda_context_handle (device->context);
  info->ordinal = sobel_cuda_context_ordinal (device->context);
}

static bool
cuda_destroy (SobelDevice *base)
{
  SobelCudaDevice *device = (SobelCudaDevice *) base;
  const bool entered = sobel_cuda_context_enter_to_free (device->context);

  /* Work that is queued still writes. A context that has failed, or is gone, writes nothing any more. */
  if (entered && !(sobel_cuda_queue_is_idle (device) && sobel_cuda_slots_are_idle (device))) {
    sobel_cuda_context_leave (device->context);
    return false;
  }
  if (entered) {
    sobel_cuda_slots_clear (device);
    sobel_cuda_context_leave (device->context);
  }
  sobel_cuda_context_unref (device->context);
  free (device);
  return true;
}

SobelStatus
sobel_cuda_device_new (const SobelCudaOptions *options, SobelDevice **out, SobelError *error)
{
  static const SobelDeviceOps ops = {
      .kind = "cuda",
      .configure = cuda_configure,
      .host_alloc = cuda_host_alloc,
      .submit = cuda_submit,
      .wait = cuda_wait,
      .timing = cuda_timing,
      .info = cuda_info,
      .destroy = cuda_destroy,
  };
  SobelCudaContext *context;
  SobelCudaDevice *device;
  SobelStatus status;

  *out = NULL;
  status = sobel_cuda_context_open (options, &context, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  device = calloc (1, sizeof *device);
  if (!device) {
    sobel_cuda_context_unref (context);
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for a CUDA device");
  }
  device->base.ops = &ops;
  device->context = context;
  device->wanted_streams = options->streams;
  device->wanted_strips = options->strips;
  atomic_init (&device->bytes, 0);
  atomic_init (&device->kernel, "fused");
  *out = &device->base;
  return SOBEL_STATUS_OK;
}

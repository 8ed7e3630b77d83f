/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudaslot.h"

#include "cudacheck.h"
#include "cudahost.h"

#include <string.h>
#include <time.h>

enum {
  LINE = 64,                  /* bytes between the words of two slots */
  LOOK_FOR_FAILURES = 500000, /* ns between questions to the driver while a signal is awaited */
};

static uint64_t
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

SobelStatus
sobel_cuda_signals_init (SobelCudaDevice *device, SobelError *error)
{
  SobelCudaSignals *signals = &device->signals;
  void *on_device = NULL;
  SobelStatus status;

  if (!sobel_cuda_context_write_value (device->context) || sobel_cuda_tuning.no_signals)
    return SOBEL_STATUS_OK;
  status = sobel_cuda_host_alloc (device->context, SOBEL_CUDA_MAX_SLOTS * LINE, &signals->block, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  SOBEL_CUDA_CHECK (error, cudaHostGetDevicePointer (&on_device, signals->block->data, 0),
                    "the GPU's address of the signals");
  signals->word = signals->block->data;
  signals->on_device = (CUdeviceptr) (uintptr_t) on_device;
  return SOBEL_STATUS_OK;
}

void
sobel_cuda_signals_clear (SobelCudaDevice *device)
{
  if (device->signals.block)
    device->signals.block->free (device->signals.block);
  memset (&device->signals, 0, sizeof device->signals);
}

static size_t
slot_line (const SobelCudaDevice *device, const SobelCudaSlot *slot)
{
  return (size_t) (slot - device->slot) * LINE;
}

SobelStatus
sobel_cuda_signal_queue (SobelCudaDevice *device, SobelCudaSlot *slot, cudaStream_t stream, SobelError *error)
{
  SobelCudaSignals *signals = &device->signals;
  CUresult result;

  SOBEL_CUDA_CHECK (error, cudaEventRecord (slot->done, stream), "the end of a frame");
  slot->serial++;
  if (!signals->word)
    return SOBEL_STATUS_OK;
  result = (CUresult) sobel_cuda_fault_next ();
  if (result == CUDA_SUCCESS)
    result = sobel_cuda_context_write_value (device->context) (stream, signals->on_device + slot_line (device, slot),
                                                                slot->serial, 0);
  if (result == CUDA_SUCCESS)
    return SOBEL_STATUS_OK;
  if (result != CUDA_ERROR_NOT_SUPPORTED)
    return sobel_cuda_failed (error, cudaErrorUnknown, "cuStreamWriteValue32", "driver error %d", (int) result);
  /* Events serve. The words stay until the GPU is surely done with all of them. */
  signals->on_device = 0;
  return SOBEL_STATUS_OK;
}

static void
pause_briefly (void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  __asm__ volatile ("yield");
#endif
}

/* OK, TIMEOUT for not yet, or what went wrong. */
static SobelStatus
ask_driver (SobelCudaDevice *device, SobelCudaSlot *slot, SobelError *error)
{
  SobelStatus status = sobel_cuda_context_enter (device->context, error);
  cudaError_t result;

  if (status != SOBEL_STATUS_OK)
    return status;
  SOBEL_CUDA_TRY (result, cudaEventQuery (slot->done));
  if (result == cudaErrorNotReady) {
    cudaGetLastError ();
    status = SOBEL_STATUS_TIMEOUT;
  } else if (result != cudaSuccess) {
    status = sobel_cuda_failed (error, result, "cudaEventQuery", "waiting for a frame");
  }
  sobel_cuda_context_leave (device->context);
  return status;
}

SobelStatus
sobel_cuda_signal_wait (SobelCudaDevice *device, SobelCudaSlot *slot, uint64_t timeout_ns, SobelError *error)
{
  const volatile uint32_t *word = NULL;
  const uint64_t start = now_ns ();
  uint64_t asked = start;

  if (device->signals.word && device->signals.on_device)
    word = device->signals.word + slot_line (device, slot) / sizeof *word;
  for (;;) {
    const bool signalled = word && *word == slot->serial;
    const uint64_t now = now_ns (), waited = now - start;
    const bool last = waited >= timeout_ns;

    if (signalled) {
      /* What the GPU wrote before is to be read after. */
      atomic_thread_fence (memory_order_acquire);
      return SOBEL_STATUS_OK;
    }
    if (!word || last || now - asked > LOOK_FOR_FAILURES) {
      const SobelStatus status = ask_driver (device, slot, error);

      if (status != SOBEL_STATUS_TIMEOUT)
        return status;
      asked = now;
    }
    if (last)
      return SOBEL_STATUS_TIMEOUT;
    if (waited < sobel_cuda_tuning.spin_ns) {
      unsigned i;

      for (i = 0; i < (word ? 4 : 32); i++)
        pause_briefly ();
    } else {
      const uint64_t left = timeout_ns - waited;
      const struct timespec nap = {0, (long) (left < sobel_cuda_tuning.sleep_ns ? left : sobel_cuda_tuning.sleep_ns)};

      nanosleep (&nap, NULL);
    }
  }
}

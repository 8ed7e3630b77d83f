/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudacontext.h"

#include "cudacheck.h"
#include "cudakernels.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the runtime has no call for. Found through the runtime, which opens libcuda itself: the plugin does not
 * depend on it. */
typedef struct Driver
{
  CUresult (*primary_retain) (CUcontext *context, CUdevice device);
  CUresult (*primary_release) (CUdevice device);
  CUresult (*push) (CUcontext context);
  CUresult (*pop) (CUcontext *context);
  CUresult (*context_device) (CUdevice *device);
  CUresult (*device_name) (char *name, int size, CUdevice device);
  CUresult (*error_name) (CUresult result, const char **name);
  CUresult (*error_text) (CUresult result, const char **text);
} Driver;

struct SobelCudaContext
{
  atomic_uint refs;
  Driver driver;
  CUcontext context;
  CUdevice device;
  bool primary;
  void *owner;
  void (*owner_unref) (void *owner);
  char name[100];
  int multiprocessors;
};

/* ---- errors --------------------------------------------------------------------------------------- */

SobelStatus
sobel_cuda_failed (SobelError *error, cudaError_t result, const char *call, const char *request, ...)
{
  char what[160];
  va_list args;

  va_start (args, request);
  vsnprintf (what, sizeof what, request, args);
  va_end (args);
  cudaGetLastError ();
  /* The call's name; its arguments are in the request's words. */
  return sobel_error_set (error,
                          result == cudaErrorMemoryAllocation ? SOBEL_STATUS_NO_MEMORY : SOBEL_STATUS_DEVICE_LOST,
                          "%.*s failed: %s (%s), %s", (int) strcspn (call, " ("), call, cudaGetErrorString (result),
                          cudaGetErrorName (result), what);
}

static SobelStatus
driver_failed (const Driver *driver, SobelError *error, SobelStatus status, CUresult result, const char *call,
               const char *request)
{
  const char *name = NULL, *text = NULL;

  if (driver->error_name (result, &name) != CUDA_SUCCESS || !name)
    name = "unknown error";
  if (driver->error_text (result, &text) != CUDA_SUCCESS || !text)
    text = "no description";
  return sobel_error_set (error, status, "%s failed: %s (%s), %s", call, text, name, request);
}

/* ---- driver --------------------------------------------------------------------------------------- */

static cudaError_t
find_entry (const char *symbol, void **function)
{
#if CUDART_VERSION >= 12050
  enum cudaDriverEntryPointQueryResult found;

  return cudaGetDriverEntryPointByVersion (symbol, function, 11080, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
  enum cudaDriverEntryPointQueryResult found;

  return cudaGetDriverEntryPoint (symbol, function, cudaEnableDefault, &found);
#else
  return cudaGetDriverEntryPoint (symbol, function, cudaEnableDefault);
#endif
}

static SobelStatus
load_driver (Driver *driver, SobelError *error)
{
  const struct
  {
    const char *symbol;
    void **function;
  } entries[] = {
      {"cuDevicePrimaryCtxRetain", (void **) &driver->primary_retain},
      {"cuDevicePrimaryCtxRelease", (void **) &driver->primary_release},
      {"cuCtxPushCurrent", (void **) &driver->push},
      {"cuCtxPopCurrent", (void **) &driver->pop},
      {"cuCtxGetDevice", (void **) &driver->context_device},
      {"cuDeviceGetName", (void **) &driver->device_name},
      {"cuGetErrorName", (void **) &driver->error_name},
      {"cuGetErrorString", (void **) &driver->error_text},
  };
  size_t i;

  for (i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    cudaError_t result;

    SOBEL_CUDA_TRY (result, find_entry (entries[i].symbol, entries[i].function));
    if (result != cudaSuccess || !*entries[i].function) {
      cudaGetLastError ();
      return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "the NVIDIA driver is too old or damaged: no %s (%s)",
                              entries[i].symbol, cudaGetErrorName (result));
    }
  }
  return SOBEL_STATUS_OK;
}

/* GPUs there are: at least one, or why not. */
static SobelStatus
count_gpus (int *count, SobelError *error)
{
  int version = 0;
  cudaError_t result;

  /* Answers 0 without a driver. */
  SOBEL_CUDA_TRY (result, cudaDriverGetVersion (&version));
  if (result == cudaSuccess && version == 0)
    return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "no NVIDIA driver is installed (libcuda.so.1 is missing)");
  SOBEL_CUDA_TRY (result, cudaGetDeviceCount (count));
  if (result == cudaSuccess && *count > 0)
    return SOBEL_STATUS_OK;
  cudaGetLastError ();
  if (result == cudaErrorInsufficientDriver && version > 0)
    return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE,
                            "the NVIDIA driver is too old: it knows CUDA %d.%d, this build needs %d.%d", version / 1000,
                            version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  if (result == cudaErrorNoDevice || result == cudaSuccess)
    return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "there is no NVIDIA GPU that this process may use");
  return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "CUDA does not start: %s (%s)", cudaGetErrorString (result),
                          cudaGetErrorName (result));
}

/* `name` has room for `size` bytes. */
static void
read_name (const Driver *driver, CUdevice gpu, char *name, size_t size)
{
  if (driver->device_name (name, (int) size, gpu) != CUDA_SUCCESS)
    snprintf (name, size, "GPU without a name");
}

/* "0 (NVIDIA H200), 1 (NVIDIA H200)" */
static void
list_gpus (const Driver *driver, int count, char *list, size_t size)
{
  size_t used = 0;
  int i;

  list[0] = '\0';
  for (i = 0; i < count && used < size; i++) {
    char name[100];
    int n;

    read_name (driver, i, name, sizeof name);
    n = snprintf (list + used, size - used, "%s%d (%s)", i ? ", " : "", i, name);
    used += n > 0 ? (size_t) n : 0;
  }
}

/* ---- opening -------------------------------------------------------------------------------------- */

/* What is worth knowing about the GPU, and that there is code for it. In the context. */
static SobelStatus
look_at_gpu (SobelCudaContext *c, SobelError *error)
{
  int major = 0, minor = 0;
  cudaError_t result;

  read_name (&c->driver, c->device, c->name, sizeof c->name);
  SOBEL_CUDA_TRY (result, cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, c->device));
  if (result == cudaSuccess)
    SOBEL_CUDA_TRY (result, cudaDeviceGetAttribute (&minor, cudaDevAttrComputeCapabilityMinor, c->device));
  if (result == cudaSuccess)
    SOBEL_CUDA_TRY (result,
                    cudaDeviceGetAttribute (&c->multiprocessors, cudaDevAttrMultiProcessorCount, c->device));
  if (result == cudaSuccess)
    SOBEL_CUDA_TRY (result, sobel_cuda_probe_code ());
  if (result == cudaSuccess)
    return SOBEL_STATUS_OK;
  cudaGetLastError ();
  if (result == cudaErrorMemoryAllocation)
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "GPU %d (%s) has no memory left for this program's code",
                            c->device, c->name);
  return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE,
                          "this build has no code that GPU %d (%s, compute capability %d.%d) can run: %s (%s)",
                          c->device, c->name, major, minor, cudaGetErrorString (result), cudaGetErrorName (result));
}

static SobelStatus
take_given (SobelCudaContext *c, const SobelCudaOptions *options, SobelError *error)
{
  CUdevice device = -1;
  CUresult result;

  c->context = options->context;
  if (options->context_owner) {
    c->owner = options->context_ref (options->context_owner);
    c->owner_unref = options->context_unref;
  }
  if (sobel_cuda_context_enter (c, error) != SOBEL_STATUS_OK)
    return SOBEL_STATUS_DEVICE_LOST;
  result = c->driver.context_device (&device);
  sobel_cuda_context_leave (c);
  if (result != CUDA_SUCCESS)
    return driver_failed (&c->driver, error, SOBEL_STATUS_DEVICE_LOST, result, "cuCtxGetDevice",
                          "asking which GPU a context is on");
  c->device = device;
  if (options->device_id >= 0 && options->device_id != device)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "GPU %d is asked for in a context of GPU %d",
                            options->device_id, device);
  return SOBEL_STATUS_OK;
}

static SobelStatus
take_primary (SobelCudaContext *c, int device, SobelError *error)
{
  CUresult result = (CUresult) sobel_cuda_fault_next ();
  char request[64];

  snprintf (request, sizeof request, "starting GPU %d", device);
  if (result == CUDA_SUCCESS)
    result = c->driver.primary_retain (&c->context, device);
  if (result != CUDA_SUCCESS)
    return driver_failed (&c->driver, error,
                          result == CUDA_ERROR_OUT_OF_MEMORY ? SOBEL_STATUS_NO_MEMORY : SOBEL_STATUS_NO_DEVICE, result,
                          "cuDevicePrimaryCtxRetain", request);
  c->device = device;
  c->primary = true;
  return SOBEL_STATUS_OK;
}

static void
let_go (SobelCudaContext *c)
{
  if (c->primary)
    c->driver.primary_release (c->device);
  if (c->owner)
    c->owner_unref (c->owner);
  c->primary = false;
  c->owner = NULL;
}

static SobelStatus
try_gpu (SobelCudaContext *c, SobelError *error)
{
  SobelStatus status = sobel_cuda_context_enter (c, error);

  if (status == SOBEL_STATUS_OK) {
    status = look_at_gpu (c, error);
    sobel_cuda_context_leave (c);
  }
  return status;
}

static SobelStatus
open_any (SobelCudaContext *c, const SobelCudaOptions *options, int count, SobelError *error)
{
  SobelStatus status;
  int i;

  if (options->context) {
    status = take_given (c, options, error);
    return status == SOBEL_STATUS_OK ? try_gpu (c, error) : status;
  }
  if (options->device_id < -1 || options->device_id >= count) {
    char list[180];

    list_gpus (&c->driver, count, list, sizeof list);
    return sobel_error_set (error, SOBEL_STATUS_BAD_DEVICE_ID, "there is no GPU %d; usable: %s", options->device_id,
                            list);
  }
  /* With -1 the first that works; the last one's reason if none does. */
  for (i = options->device_id < 0 ? 0 : options->device_id;; i++) {
    status = take_primary (c, i, error);
    if (status == SOBEL_STATUS_OK)
      status = try_gpu (c, error);
    if (status == SOBEL_STATUS_OK || options->device_id >= 0 || i + 1 == count)
      return status;
    let_go (c);
  }
}

SobelStatus
sobel_cuda_context_open (const SobelCudaOptions *options, SobelCudaContext **context, SobelError *error)
{
  SobelCudaContext *c = calloc (1, sizeof *c);
  SobelStatus status;
  int count = 0;

  *context = NULL;
  if (!c)
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for a CUDA context");
  atomic_init (&c->refs, 1);
  status = count_gpus (&count, error);
  if (status == SOBEL_STATUS_OK)
    status = load_driver (&c->driver, error);
  if (status == SOBEL_STATUS_OK)
    status = open_any (c, options, count, error);
  if (status != SOBEL_STATUS_OK) {
    let_go (c);
    free (c);
    return status;
  }
  *context = c;
  return SOBEL_STATUS_OK;
}

/* ---- use ------------------------------------------------------------------------------------------ */

SobelCudaContext *
sobel_cuda_context_ref (SobelCudaContext *c)
{
  atomic_fetch_add (&c->refs, 1);
  return c;
}

void
sobel_cuda_context_unref (SobelCudaContext *c)
{
  if (atomic_fetch_sub (&c->refs, 1) != 1)
    return;
  let_go (c);
  free (c);
}

SobelStatus
sobel_cuda_context_enter (SobelCudaContext *c, SobelError *error)
{
  CUresult result = (CUresult) sobel_cuda_fault_next ();

  if (result == CUDA_SUCCESS)
    result = c->driver.push (c->context);
  if (result != CUDA_SUCCESS)
    return driver_failed (&c->driver, error, SOBEL_STATUS_DEVICE_LOST, result, "cuCtxPushCurrent",
                          "entering the GPU's context");
  return SOBEL_STATUS_OK;
}

bool
sobel_cuda_context_enter_to_free (SobelCudaContext *c)
{
  return c->driver.push (c->context) == CUDA_SUCCESS;
}

void
sobel_cuda_context_leave (SobelCudaContext *c)
{
  CUcontext popped;

  c->driver.pop (&popped);
}

CUcontext
sobel_cuda_context_handle (const SobelCudaContext *c)
{
  return c->context;
}

int
sobel_cuda_context_ordinal (const SobelCudaContext *c)
{
  return c->device;
}

const char *
sobel_cuda_context_gpu_name (const SobelCudaContext *c)
{
  return c->name;
}

int
sobel_cuda_context_multiprocessors (const SobelCudaContext *c)
{
  return c->multiprocessors;
}

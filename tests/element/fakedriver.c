/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fakedriver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The types of cuda.h, as far as they cross the ABI. */
typedef int CUresult;
typedef int CUdevice;
typedef uintptr_t CUdeviceptr;
typedef struct Context *CUcontext;
typedef struct Stream *CUstream;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  MEMORY_HOST = 1,
  MEMORY_DEVICE = 2,
  MAX_GPUS = 4,
  MAX_DEPTH = 16,
  PITCH = 512,
};

#define ALIVE 0x616c697665637478u
/* No address of the host has this bit. */
#define DEVICE_BIT ((uintptr_t) 1 << 62)

#define EXPORT __attribute__ ((visibility ("default")))

struct Context
{
  uint64_t alive;
  CUdevice device;
  unsigned retained; /* primary */
  struct Context *older; /* each handle ever made stays reachable */
};

struct Stream
{
  CUcontext context;
};

typedef struct Block
{
  struct Block *next;
  uint8_t *data;
  size_t size;
  CUcontext context;
} Block;

typedef struct
{
  size_t src_x, src_y;
  unsigned src_type;
  const void *src_host;
  CUdeviceptr src_device;
  void *src_array;
  size_t src_pitch;
  size_t dst_x, dst_y;
  unsigned dst_type;
  void *dst_host;
  CUdeviceptr dst_device;
  void *dst_array;
  size_t dst_pitch;
  size_t width, height;
} Copy2D;

static FakeDriver driver = {.gpus = 2};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Context *primary[MAX_GPUS], *newest;
static Block *blocks;
static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local unsigned depth;

EXPORT FakeDriver *fake_driver_state (void);
EXPORT void *fake_driver_translate (void *device_address);

FakeDriver *
fake_driver_state (void)
{
  return &driver;
}

/* With the lock held. */
static Block *
find_block (CUdeviceptr address)
{
  const uintptr_t host = address & ~DEVICE_BIT;
  Block *block;

  if (!(address & DEVICE_BIT))
    return NULL;
  for (block = blocks; block; block = block->next)
    if (host >= (uintptr_t) block->data && host < (uintptr_t) block->data + block->size)
      return block;
  return NULL;
}

void *
fake_driver_translate (void *device_address)
{
  void *host;

  pthread_mutex_lock (&lock);
  host = find_block ((uintptr_t) device_address) ? (void *) ((uintptr_t) device_address & ~DEVICE_BIT) : NULL;
  pthread_mutex_unlock (&lock);
  return host;
}

static CUresult
misused (void)
{
  pthread_mutex_lock (&lock);
  driver.misuse++;
  pthread_mutex_unlock (&lock);
  return CUDA_ERROR_INVALID_CONTEXT;
}

/* The calling thread's context, or NULL, which is misuse. */
static CUcontext
current (void)
{
  CUcontext context = depth > 0 && depth <= MAX_DEPTH ? stack[depth - 1] : NULL;

  if (!context || context->alive != ALIVE) {
    misused ();
    return NULL;
  }
  return context;
}

/* ---- devices and contexts ------------------------------------------------------------------------- */

EXPORT CUresult
cuInit (unsigned flags)
{
  driver.inits++;
  return driver.gpus ? CUDA_SUCCESS : 100; /* no device */
}

EXPORT CUresult
cuDriverGetVersion (int *version)
{
  *version = 13000;
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuGetErrorName (CUresult error, const char **name)
{
  *name = error ? "CUDA_ERROR_FAKE" : "CUDA_SUCCESS";
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuGetErrorString (CUresult error, const char **text)
{
  *text = error ? "what the test asked for" : "no error";
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDeviceGetCount (int *count)
{
  *count = (int) driver.gpus;
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDeviceGet (CUdevice *device, int ordinal)
{
  if (ordinal < 0 || ordinal >= (int) driver.gpus)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDeviceGetName (char *name, int size, CUdevice device)
{
  strncpy (name, "Fake GPU", (size_t) size);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDeviceGetAttribute (int *value, int attribute, CUdevice device)
{
  *value = attribute == 14 ? PITCH : attribute == 75 ? 9 : 0; /* texture alignment, compute capability */
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDeviceCanAccessPeer (int *can, CUdevice device, CUdevice peer)
{
  *can = 0;
  return CUDA_SUCCESS;
}

static CUcontext
context_new (CUdevice device)
{
  CUcontext context = calloc (1, sizeof *context);

  if (context) {
    context->alive = ALIVE;
    context->device = device;
    pthread_mutex_lock (&lock);
    driver.contexts++;
    driver.contexts_made++;
    context->older = newest;
    newest = context;
    pthread_mutex_unlock (&lock);
  }
  return context;
}

/* The memory of a dead context's handle stays, so that its use is seen. */
static void
context_end (CUcontext context)
{
  Block *block;

  pthread_mutex_lock (&lock);
  context->alive = 0;
  driver.contexts--;
  for (block = blocks; block; block = block->next)
    driver.misuse += block->context == context; /* left over */
  pthread_mutex_unlock (&lock);
}

EXPORT CUresult
cuCtxPushCurrent_v2 (CUcontext context)
{
  if (!context || context->alive != ALIVE || depth == MAX_DEPTH)
    return misused ();
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuCtxPopCurrent_v2 (CUcontext *context)
{
  if (depth == 0)
    return misused ();
  depth--;
  if (context)
    *context = stack[depth];
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuCtxCreate_v2 (CUcontext *context, unsigned flags, CUdevice device)
{
  if (driver.fails)
    return CUDA_ERROR_LAUNCH_FAILED;
  *context = context_new (device);
  return *context ? cuCtxPushCurrent_v2 (*context) : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult
cuCtxDestroy_v2 (CUcontext context)
{
  if (!context || context->alive != ALIVE)
    return misused ();
  context_end (context);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice device)
{
  if (device < 0 || device >= MAX_GPUS)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!primary[device])
    primary[device] = context_new (device);
  primary[device]->retained++;
  *context = primary[device];
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuDevicePrimaryCtxRelease_v2 (CUdevice device)
{
  if (device < 0 || device >= MAX_GPUS || !primary[device])
    return misused ();
  if (--primary[device]->retained == 0) {
    context_end (primary[device]);
    primary[device] = NULL;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuCtxEnablePeerAccess (CUcontext context, unsigned flags)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

EXPORT CUresult
cuCtxDisablePeerAccess (CUcontext context)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

EXPORT CUresult
cuCtxSynchronize (void)
{
  return CUDA_SUCCESS;
}

/* ---- memory --------------------------------------------------------------------------------------- */

EXPORT CUresult
cuMemAlloc_v2 (CUdeviceptr *address, size_t size)
{
  CUcontext context = current ();
  Block *block;

  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (driver.fails)
    return CUDA_ERROR_LAUNCH_FAILED;
  block = calloc (1, sizeof *block);
  if (!block || posix_memalign ((void **) &block->data, PITCH, size)) {
    free (block);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memset (block->data, 0xa5, size);
  block->size = size;
  block->context = context;
  pthread_mutex_lock (&lock);
  block->next = blocks;
  blocks = block;
  driver.allocations++;
  pthread_mutex_unlock (&lock);
  *address = (uintptr_t) block->data | DEVICE_BIT;
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuMemAllocPitch_v2 (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  return cuMemAlloc_v2 (address, *pitch * height);
}

EXPORT CUresult
cuMemFree_v2 (CUdeviceptr address)
{
  CUcontext context = current ();
  Block **link, *found = NULL;

  pthread_mutex_lock (&lock);
  for (link = &blocks; *link && !found; link = found ? link : &(*link)->next) {
    if (((uintptr_t) (*link)->data | DEVICE_BIT) != address)
      continue;
    found = *link;
    *link = found->next;
    driver.allocations--;
    break;
  }
  driver.misuse += !found || found->context != context;
  pthread_mutex_unlock (&lock);
  if (found)
    free (found->data);
  free (found);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuMemAllocHost_v2 (void **data, size_t size)
{
  if (!current ())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (driver.fails)
    return CUDA_ERROR_LAUNCH_FAILED;
  if (posix_memalign (data, 4096, size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  pthread_mutex_lock (&lock);
  driver.host_allocations++;
  pthread_mutex_unlock (&lock);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuMemFreeHost (void *data)
{
  pthread_mutex_lock (&lock);
  driver.host_allocations--;
  pthread_mutex_unlock (&lock);
  free (data);
  return CUDA_SUCCESS;
}

/* The host address of one side of a copy. */
static uint8_t *
side (unsigned type, const void *host, CUdeviceptr device, size_t bytes, CUcontext context)
{
  Block *block;
  uint8_t *data = NULL;

  if (type == MEMORY_HOST)
    return (uint8_t *) (uintptr_t) host;
  pthread_mutex_lock (&lock);
  block = find_block (device);
  if (block && block->context == context &&
      (device & ~DEVICE_BIT) + bytes <= (uintptr_t) block->data + block->size)
    data = (uint8_t *) (device & ~DEVICE_BIT);
  pthread_mutex_unlock (&lock);
  return data;
}

EXPORT CUresult
cuMemcpy2D_v2 (const Copy2D *copy)
{
  CUcontext context = current ();
  const uint8_t *from;
  uint8_t *to;
  size_t y;

  if (!context || copy->height == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (driver.fails)
    return CUDA_ERROR_LAUNCH_FAILED;
  from = side (copy->src_type, copy->src_host, copy->src_device, copy->src_pitch * (copy->height - 1) + copy->width,
               context);
  to = side (copy->dst_type, copy->dst_host, copy->dst_device, copy->dst_pitch * (copy->height - 1) + copy->width,
             context);
  if (!from || !to)
    return misused ();
  pthread_mutex_lock (&lock);
  driver.copies_up += copy->src_type == MEMORY_HOST && copy->dst_type == MEMORY_DEVICE;
  driver.copies_down += copy->src_type == MEMORY_DEVICE && copy->dst_type == MEMORY_HOST;
  driver.copies_across += copy->src_type == MEMORY_DEVICE && copy->dst_type == MEMORY_DEVICE;
  pthread_mutex_unlock (&lock);
  for (y = 0; y < copy->height; y++)
    memcpy (to + y * copy->dst_pitch, from + y * copy->src_pitch, copy->width);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuMemcpy2DAsync_v2 (const Copy2D *copy, CUstream stream)
{
  return cuMemcpy2D_v2 (copy);
}

/* ---- streams -------------------------------------------------------------------------------------- */

EXPORT CUresult
cuStreamCreate (CUstream *stream, unsigned flags)
{
  CUcontext context = current ();

  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  *stream = calloc (1, sizeof **stream);
  (*stream)->context = context;
  pthread_mutex_lock (&lock);
  driver.streams++;
  pthread_mutex_unlock (&lock);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuStreamDestroy (CUstream stream)
{
  if (current () != stream->context)
    misused ();
  pthread_mutex_lock (&lock);
  driver.streams--;
  pthread_mutex_unlock (&lock);
  free (stream);
  return CUDA_SUCCESS;
}

EXPORT CUresult
cuStreamDestroy_v2 (CUstream stream)
{
  return cuStreamDestroy (stream);
}

EXPORT CUresult
cuStreamSynchronize (CUstream stream)
{
  if (stream && current () != stream->context)
    return misused ();
  return driver.fails ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

/* ---- what has to exist, and is never called ------------------------------------------------------- */

#define UNUSED(name) EXPORT CUresult name (void) { return CUDA_ERROR_NOT_SUPPORTED; }
UNUSED (cuCtxGetLimit)
UNUSED (cuCtxSetLimit)
UNUSED (cuEventCreate)
UNUSED (cuEventDestroy_v2)
UNUSED (cuEventRecord)
UNUSED (cuEventSynchronize)
UNUSED (cuGLGetDevices_v2)
UNUSED (cuGraphicsGLRegisterBuffer)
UNUSED (cuGraphicsGLRegisterImage)
UNUSED (cuGraphicsMapResources)
UNUSED (cuGraphicsResourceGetMappedPointer_v2)
UNUSED (cuGraphicsResourceSetMapFlags_v2)
UNUSED (cuGraphicsSubResourceGetMappedArray)
UNUSED (cuGraphicsUnmapResources)
UNUSED (cuGraphicsUnregisterResource)
UNUSED (cuIpcCloseMemHandle)
UNUSED (cuIpcGetEventHandle)
UNUSED (cuIpcGetMemHandle)
UNUSED (cuIpcOpenEventHandle)
UNUSED (cuIpcOpenMemHandle)
UNUSED (cuLaunchKernel)
UNUSED (cuMemcpyDtoDAsync_v2)
UNUSED (cuMemcpyDtoD_v2)
UNUSED (cuMemcpyDtoHAsync_v2)
UNUSED (cuMemcpyDtoH_v2)
UNUSED (cuMemcpyHtoDAsync_v2)
UNUSED (cuMemcpyHtoD_v2)
UNUSED (cuMemsetD2D16Async)
UNUSED (cuMemsetD2D16_v2)
UNUSED (cuMemsetD2D32Async)
UNUSED (cuMemsetD2D32_v2)
UNUSED (cuMemsetD2D8Async)
UNUSED (cuMemsetD2D8_v2)
UNUSED (cuModuleGetFunction)
UNUSED (cuModuleLoadData)
UNUSED (cuModuleUnload)
UNUSED (cuTexObjectCreate)
UNUSED (cuTexObjectDestroy)

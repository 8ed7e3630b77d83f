/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudahost.h"

#include "cudacheck.h"
#include "pinnedbudget.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct HostBlock
{
  SobelHostBlock base;
  SobelCudaContext *context;
  size_t mapped; /* bytes, whole pages */
} HostBlock;

static void
host_free (SobelHostBlock *base)
{
  HostBlock *block = (HostBlock *) base;

  /* A context that has died has taken the registration with it. */
  if (sobel_cuda_context_enter_to_free (block->context)) {
    if (cudaHostUnregister (base->data) != cudaSuccess)
      cudaGetLastError ();
    sobel_cuda_context_leave (block->context);
  }
  munmap (base->data, block->mapped);
  sobel_pinned_release (block->mapped);
  sobel_cuda_context_unref (block->context);
  free (block);
}

static SobelStatus
register_pages (SobelCudaContext *context, void *data, size_t size, SobelError *error)
{
  SobelStatus status = sobel_cuda_context_enter (context, error);
  cudaError_t result;

  if (status != SOBEL_STATUS_OK)
    return status;
  SOBEL_CUDA_TRY (result, cudaHostRegister (data, size, cudaHostRegisterPortable));
  if (result != cudaSuccess) {
    status = sobel_cuda_failed (error, result, "cudaHostRegister", "%zu bytes asked for", size);
    /* Pages that cannot be locked (a limit, a container's policy) are a shortage, not a broken GPU. */
    if (result == cudaErrorOperatingSystem || result == cudaErrorNotSupported || result == cudaErrorInvalidValue)
      status = SOBEL_STATUS_NO_MEMORY;
    if (error)
      error->status = status;
  }
  sobel_cuda_context_leave (context);
  return status;
}

SobelStatus
sobel_cuda_host_alloc (SobelCudaContext *context, size_t size, SobelHostBlock **out, SobelError *error)
{
  const size_t page = (size_t) sysconf (_SC_PAGESIZE);
  const size_t mapped = (size + page - 1) / page * page;
  HostBlock *block;
  SobelStatus status;
  void *data;

  *out = NULL;
  if (size == 0 || mapped < size)
    return sobel_error_set (error, SOBEL_STATUS_INVALID, "%zu bytes of pinned memory asked for", size);
  status = sobel_pinned_reserve (mapped, error);
  if (status != SOBEL_STATUS_OK)
    return status;
  block = calloc (1, sizeof *block);
  data = mmap (NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!block || data == MAP_FAILED)
    status = sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory for %zu bytes to be pinned", mapped);
  else
    status = register_pages (context, data, mapped, error);
  if (status != SOBEL_STATUS_OK) {
    if (data != MAP_FAILED)
      munmap (data, mapped);
    free (block);
    sobel_pinned_release (mapped);
    return status;
  }
  block->base.data = data;
  block->base.size = size;
  block->base.free = host_free;
  block->context = sobel_cuda_context_ref (context);
  block->mapped = mapped;
  *out = &block->base;
  return SOBEL_STATUS_OK;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelcudalib.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

#define LIBRARY "libgstcuda-1.0.so.0"

typedef struct
{
  const gchar *name;
  gsize offset; /* of the function pointer in GstSobelCudaLib */
} Symbol;

#define SYMBOL(symbol, member) { #symbol, offsetof (GstSobelCudaLib, member) }

static const Symbol required[] = {
  SYMBOL (gst_cuda_load_library, load_library),
  SYMBOL (CuInit, init),
  SYMBOL (CuDeviceGetCount, device_get_count),
  SYMBOL (gst_cuda_memory_init_once, memory_init_once),
  SYMBOL (gst_is_cuda_memory, is_memory),
  SYMBOL (gst_cuda_buffer_pool_get_type, pool_get_type),
  SYMBOL (gst_cuda_buffer_pool_new, pool_new),
  SYMBOL (gst_cuda_context_new, context_new),
  SYMBOL (gst_cuda_context_new_wrapped, context_new_wrapped),
  SYMBOL (gst_cuda_context_get_handle, context_get_handle),
  SYMBOL (gst_cuda_handle_set_context, handle_set_context),
  SYMBOL (gst_cuda_handle_context_query, handle_context_query),
};

static const Symbol streams[] = {
  SYMBOL (gst_cuda_memory_get_stream, memory_get_stream),
  SYMBOL (gst_cuda_stream_new, stream_new),
  SYMBOL (gst_cuda_stream_get_handle, stream_get_handle),
  SYMBOL (gst_buffer_pool_config_get_cuda_stream, pool_config_get_stream),
  SYMBOL (gst_buffer_pool_config_set_cuda_stream, pool_config_set_stream),
};

/* Fills in the functions; FALSE, with the first missing one named, if one is. */
static gboolean
resolve (void *handle, GstSobelCudaLib *lib, const Symbol *symbols, gsize n, const gchar **missing)
{
  gsize i;

  for (i = 0; i < n; i++) {
    void *function = dlsym (handle, symbols[i].name);

    if (!function) {
      *missing = symbols[i].name;
      return FALSE;
    }
    memcpy ((guint8 *) lib + symbols[i].offset, &function, sizeof function);
  }
  return TRUE;
}

/* The version by what the library has, since it need not be that of the GStreamer core. */
static void
find_version (void *handle, GstSobelCudaLib *lib)
{
  if (!lib->has_streams)
    lib->minor = 22;
  else if (!dlsym (handle, "gst_buffer_pool_config_set_cuda_stream_ordered_alloc"))
    lib->minor = 24;
  else if (!dlsym (handle, "gst_cuda_allocator_alloc_stream_ordered"))
    lib->minor = 26;
  else
    lib->minor = 28;
}

static gpointer
load (gpointer unused)
{
  static GstSobelCudaLib lib;
  const gchar *missing = NULL;
  /* Never closed: it registers types. */
  void *handle = dlopen (LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

  if (!handle) {
    GST_INFO ("no memory:CUDAMemory: %s", dlerror ());
    return NULL;
  }
  if (!resolve (handle, &lib, required, G_N_ELEMENTS (required), &missing)) {
    GST_WARNING ("no memory:CUDAMemory: " LIBRARY " has no %s", missing);
    return NULL;
  }
  lib.has_streams = resolve (handle, &lib, streams, G_N_ELEMENTS (streams), &missing);
  find_version (handle, &lib);
  lib.memory_init_once ();
  GST_INFO (LIBRARY " is used by the rules of 1.%u", lib.minor);
  return &lib;
}

const GstSobelCudaLib *
gst_sobel_cuda_lib (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, load, NULL);
}

gboolean
gst_sobel_cuda_usable (gboolean count_devices)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  gint error, n = 0;

  if (!lib || !lib->load_library ())
    return FALSE;
  if (!count_devices)
    return TRUE;
  error = lib->init (0);
  if (error == 0)
    error = lib->device_get_count (&n);
  if (error != 0 || n < 1)
    GST_INFO ("no memory:CUDAMemory: CUDA error %d, %d GPUs", error, n);
  return error == 0 && n > 0;
}

GstSobelCudaMemory *
gst_sobel_cuda_memory_of (GstBuffer *buffer)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstMemory *memory;

  if (!lib || gst_buffer_n_memory (buffer) != 1)
    return NULL;
  memory = gst_buffer_peek_memory (buffer, 0);
  return lib->is_memory (memory) ? (GstSobelCudaMemory *) memory : NULL;
}

/* What of the driver the library does not pass on; int is CUresult and CUdevice. */
typedef gint (*PrimaryRetain) (gpointer *handle, gint device);
typedef gint (*PrimaryRelease) (gint device);

static gpointer
driver_symbol (const gchar *name)
{
  /* The library has loaded it already. */
  static void *driver = NULL;

  if (!driver)
    driver = dlopen ("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  return driver ? dlsym (driver, name) : NULL;
}

static void
release_primary (gpointer device_and_1)
{
  PrimaryRelease release = (PrimaryRelease) driver_symbol ("cuDevicePrimaryCtxRelease_v2");

  if (release)
    release (GPOINTER_TO_INT (device_and_1) - 1);
}

GstObject *
gst_sobel_cuda_wrap_primary (gpointer handle, gint device)
{
  PrimaryRetain retain = (PrimaryRetain) driver_symbol ("cuDevicePrimaryCtxRetain");
  gpointer primary = NULL;
  GstObject *context = NULL;

  if (!retain || retain (&primary, device) != 0)
    return NULL;
  if (primary == handle)
    context = gst_sobel_cuda_lib ()->context_new_wrapped (handle, device);
  /* The object does not own the context; this keeps it alive. */
  if (context)
    g_object_set_data_full (G_OBJECT (context), "cudasobel-primary", GINT_TO_POINTER (device + 1), release_primary);
  else
    release_primary (GINT_TO_POINTER (device + 1));
  return context;
}

guint
gst_sobel_cuda_context_device (GstObject *context)
{
  guint device = 0;

  g_object_get (context, "cuda-device-id", &device, NULL);
  return device;
}

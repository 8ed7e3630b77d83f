/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudagpu.h"

#include "cpudevice.h"
#include "gstsobelcaps.h"
#include "pinnedbudget.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  SobelDevice base;
  SobelDevice *inner; /* a CPU device, or the real GPU */
  SobelCudaOptions options;
  gpointer context;
  gint ordinal;
  gboolean lost;
} Device;

static CudaGpu gpu;
static GMutex lock;

/* ---- the driver ----------------------------------------------------------------------------------- */

static gpointer
driver_symbol (const char *name)
{
  static void *handle = NULL;

  if (!handle)
    handle = dlopen ("libcuda.so.1", RTLD_LAZY);
  return handle ? dlsym (handle, name) : NULL;
}

FakeDriver *
fake_driver (void)
{
  static FakeDriver none;
  FakeDriver *(*state) (void) = (FakeDriver * (*) (void)) driver_symbol ("fake_driver_state");

  return state ? state () : et_gpu_is_real () ? &none : NULL;
}

guint
cuda_gpu_count (void)
{
  gint n = 0;

  return gst_sobel_cuda_lib ()->device_get_count (&n) == 0 ? (guint) n : 0;
}

void
cuda_expect_contexts (guint n)
{
  if (!et_gpu_is_real ())
    T_CHECK (fake_driver ()->contexts == n, "%u contexts, should be %u", fake_driver ()->contexts, n);
}

void *
fake_driver_host (void *device_address)
{
  void *(*translate) (void *) = (void *(*) (void *) ) driver_symbol ("fake_driver_translate");

  return translate ? translate (device_address) : NULL;
}

gboolean
cuda_gpu_available (void)
{
  return fake_driver () && dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY);
}

static int
driver_context (const char *name, gpointer argument)
{
  int (*function) (gpointer) = (int (*) (gpointer)) driver_symbol (name);

  return function ? function (argument) : -1;
}

/* ---- the device ----------------------------------------------------------------------------------- */

static SobelStatus
device_configure (SobelDevice *base, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  SobelDevice *inner = ((Device *) base)->inner;

  return inner->ops->configure (inner, config, n_slots, error);
}

static SobelStatus
real_host_alloc (SobelDevice *base, size_t size, SobelHostBlock **block, SobelError *error)
{
  SobelDevice *inner = ((Device *) base)->inner;

  return inner->ops->host_alloc (inner, size, block, error);
}

static void
block_free (SobelHostBlock *block)
{
  sobel_pinned_release (block->size);
  free (block->data);
  free (block);
}

static SobelStatus
device_host_alloc (SobelDevice *base, size_t size, SobelHostBlock **block, SobelError *error)
{
  const SobelStatus status = sobel_pinned_reserve (size, error);

  if (status != SOBEL_STATUS_OK)
    return status;
  *block = calloc (1, sizeof **block);
  if (posix_memalign (&(*block)->data, 4096, size))
    return sobel_error_set (error, SOBEL_STATUS_NO_MEMORY, "no memory");
  (*block)->size = size;
  (*block)->free = block_free;
  return SOBEL_STATUS_OK;
}

/* Host addresses instead of the device's. */
static void
translate (SobelImage *image)
{
  guint i;

  if (image->memory != SOBEL_MEMORY_DEVICE)
    return;
  image->memory = SOBEL_MEMORY_HOST;
  for (i = 0; i < image->format->n_planes; i++) {
    image->plane[i].data = fake_driver_host (image->plane[i].data);
    T_CHECK (image->plane[i].data != NULL, "plane %u is not in device memory", i);
  }
}

static SobelStatus
device_submit (SobelDevice *base, unsigned slot, const SobelJob *job, SobelError *error)
{
  Device *device = (Device *) base;
  SobelJob here = *job;
  SobelStatus status;

  g_mutex_lock (&lock);
  gpu.frames++;
  gpu.device_in += job->in.memory == SOBEL_MEMORY_DEVICE;
  gpu.device_out += job->out.memory == SOBEL_MEMORY_DEVICE;
  gpu.queued += job->queued;
  gpu.in_stream = job->in_stream;
  gpu.out_stream = job->out_stream;
  gpu.neutral_ready |= job->out.memory == SOBEL_MEMORY_DEVICE && job->neutral_ready;
  if (gpu.lose_at > 0 && --gpu.lose_at == 0)
    device->lost = TRUE;
  g_mutex_unlock (&lock);
  if (device->lost)
    return sobel_error_set (error, SOBEL_STATUS_DEVICE_LOST, "the test lost the GPU");
  /* The context that the memory is mapped in is current, or the driver would complain. */
  T_CHECK (driver_context ("cuCtxPushCurrent_v2", device->context) == 0, "the device's context is dead");
  if (!et_gpu_is_real ()) {
    translate (&here.in);
    translate (&here.out);
  }
  status = device->inner->ops->submit (device->inner, slot, &here, error);
  driver_context ("cuCtxPopCurrent_v2", NULL);
  return status;
}

static SobelStatus
device_wait (SobelDevice *base, unsigned slot, uint64_t timeout_ns, SobelError *error)
{
  SobelDevice *inner = ((Device *) base)->inner;

  return inner->ops->wait (inner, slot, timeout_ns, error);
}

static void
device_timing (SobelDevice *base, unsigned slot, SobelTiming *timing)
{
  SobelDevice *inner = ((Device *) base)->inner;

  inner->ops->timing (inner, slot, timing);
}

static void
device_info (SobelDevice *base, SobelDeviceInfo *info)
{
  Device *device = (Device *) base;

  if (et_gpu_is_real ()) {
    device->inner->ops->info (device->inner, info);
    return;
  }
  memset (info, 0, sizeof *info);
  g_strlcpy (info->name, "fake GPU", sizeof info->name);
  info->kernel = "fused";
  info->context = device->context;
  info->ordinal = device->ordinal;
}

static bool
device_destroy (SobelDevice *base)
{
  Device *device = (Device *) base;
  int (*release) (int) = (int (*) (int)) driver_symbol ("cuDevicePrimaryCtxRelease_v2");

  if (et_gpu_is_real ()) {
    if (!device->inner->ops->destroy (device->inner))
      return false;
  } else {
    sobel_device_destroy (&device->inner);
    if (!device->options.context)
      release (device->ordinal);
    if (device->options.context_owner)
      device->options.context_unref (device->options.context_owner);
  }
  g_free (device);
  g_mutex_lock (&lock);
  gpu.alive--;
  g_mutex_unlock (&lock);
  return true;
}

static SobelStatus
open_inner (Device *device, SobelError *error)
{
  int (*retain) (gpointer *, int) = (int (*) (gpointer *, int)) driver_symbol ("cuDevicePrimaryCtxRetain");
  SobelCudaOptions *options = &device->options;
  SobelStatus status;

  if (et_gpu_is_real ()) {
    SobelDeviceInfo info;

    status = sobel_cuda_device_new (options, &device->inner, error);
    if (status == SOBEL_STATUS_OK) {
      device->inner->ops->info (device->inner, &info);
      device->context = info.context;
    }
    return status;
  }
  status = sobel_cpu_device_new (1, &device->inner, error);
  device->ordinal = MAX (options->device_id, 0);
  device->context = options->context;
  if (options->context_owner)
    options->context_owner = options->context_ref (options->context_owner);
  if (!device->context)
    retain (&device->context, device->ordinal);
  return status;
}

static SobelStatus
make_device (const SobelCudaOptions *options, SobelDevice **out, SobelError *error)
{
  static const SobelDeviceOps ops = { .kind = "cuda",
                                      .configure = device_configure,
                                      .host_alloc = device_host_alloc,
                                      .submit = device_submit,
                                      .wait = device_wait,
                                      .timing = device_timing,
                                      .info = device_info,
                                      .destroy = device_destroy };
  static SobelDeviceOps real_ops;
  Device *device;

  if (gpu.refuse)
    return sobel_error_set (error, SOBEL_STATUS_NO_DEVICE, "the test refuses a device");
  real_ops = ops;
  real_ops.host_alloc = real_host_alloc;
  device = g_new0 (Device, 1);
  device->base.ops = et_gpu_is_real () ? &real_ops : &ops;
  device->options = *options;
  if (open_inner (device, error) != SOBEL_STATUS_OK) {
    g_free (device);
    return error->status;
  }
  g_mutex_lock (&lock);
  gpu.made++;
  gpu.alive++;
  gpu.options = *options;
  g_mutex_unlock (&lock);
  *out = &device->base;
  return SOBEL_STATUS_OK;
}

CudaGpu *
cuda_gpu_use (void)
{
  FakeDriver *driver = fake_driver ();

  memset (&gpu, 0, sizeof gpu);
  driver->contexts_made = 0;
  driver->copies_up = driver->copies_down = driver->copies_across = 0;
  gst_sobel_backend_set_factory (make_device);
  /* The library may make contexts only after that. */
  T_CHECK (gst_sobel_cuda_usable (TRUE), "the fake driver does not work");
  return &gpu;
}

void
cuda_gpu_check (void)
{
  FakeDriver *driver = fake_driver ();
  guint i;

  gst_sobel_backend_set_factory (NULL);
  driver->fails = false;
  for (i = 0; i < 200 && sobel_device_reap () > 0; i++)
    g_usleep (5000);
  T_CHECK (gpu.alive == 0, "%u devices live on", gpu.alive);
  T_CHECK (driver->misuse == 0, "the driver was misused %u times", driver->misuse);
  T_CHECK (driver->contexts == 0, "%u contexts live on", driver->contexts);
  T_CHECK (driver->allocations == 0, "%u pieces of device memory live on", driver->allocations);
  T_CHECK (driver->host_allocations == 0, "%u pieces of pinned memory live on", driver->host_allocations);
  T_CHECK (driver->streams == 0, "%u streams live on", driver->streams);
  driver->misuse = 0;
}

/* ---- buffers -------------------------------------------------------------------------------------- */

GstObject *
cuda_context_new (guint device)
{
  GstObject *context = gst_sobel_cuda_lib ()->context_new (device);

  T_CHECK (context != NULL, "no context");
  return context;
}

GstObject *
cuda_context_shared (void)
{
  static GstObject *context = NULL;

  if (!et_gpu_is_real ())
    return cuda_context_new (0);
  if (!context)
    context = cuda_context_new (0);
  return gst_object_ref (context);
}

GstObject *
cuda_context_answered (GstPad *pad)
{
  GstQuery *query = gst_query_new_context (GST_SOBEL_CUDA_CONTEXT_TYPE);
  GstContext *context = NULL;
  GstObject *found = NULL;

  if (gst_pad_peer_query (pad, query))
    gst_query_parse_context (query, &context);
  if (context) {
    const GValue *value = gst_structure_get_value (gst_context_get_structure (context), GST_SOBEL_CUDA_CONTEXT_TYPE);
    found = value ? g_value_dup_object (value) : NULL;
  }
  gst_query_unref (query);
  return found;
}

void
cuda_share (GstElement *element, GstObject *context)
{
  GstContext *shared = gst_context_new (GST_SOBEL_CUDA_CONTEXT_TYPE, FALSE);

  gst_structure_set (gst_context_writable_structure (shared), GST_SOBEL_CUDA_CONTEXT_TYPE, G_OBJECT_TYPE (context),
                     context, "cuda-device-id", G_TYPE_UINT, gst_sobel_cuda_context_device (context), NULL);
  gst_element_set_context (element, shared);
  gst_context_unref (shared);
}

GstBufferPool *
cuda_pool_new (GstObject *context, const char *caps_text, guint min, guint max, GstMiniObject *stream)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstBufferPool *pool = lib->pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstCaps *caps = gst_caps_from_string (caps_text);
  GstVideoInfo info;

  gst_video_info_from_caps (&info, caps);
  gst_buffer_pool_config_set_params (config, caps, info.size, min, max);
  gst_caps_unref (caps);
  if (stream && lib->has_streams)
    lib->pool_config_set_stream (config, stream);
  T_CHECK (gst_buffer_pool_set_config (pool, config), "the pool refuses %s", caps_text);
  return pool;
}

void
cuda_pool_close (GstBufferPool *pool)
{
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

static void
enter_context_of (GstBuffer *buffer)
{
  driver_context ("cuCtxPushCurrent_v2",
                  gst_sobel_cuda_lib ()->context_get_handle (gst_sobel_cuda_memory_of (buffer)->context));
}

static void
finish_and_leave (void)
{
  int (*finish) (void) = (int (*) (void)) driver_symbol ("cuCtxSynchronize");

  T_CHECK (finish () == 0, "the GPU does not finish");
  driver_context ("cuCtxPopCurrent_v2", NULL);
}

/* Fills new memory of a real GPU, rows' padding and all, which no upload reaches: what a kernel makes of it would
 * show. The fake driver does so itself. */
static void
poison (GstBuffer *buffer)
{
  const GQuark done = g_quark_from_static_string ("poisoned");
  int (*fill) (void *, unsigned char, size_t) =
      (int (*) (void *, unsigned char, size_t)) driver_symbol ("cuMemsetD8_v2");
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;

  if (!et_gpu_is_real () || gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (memory), done))
    return;
  if (!T_CHECK (gst_memory_map (memory, &map, GST_MAP_WRITE | GST_SOBEL_MAP_CUDA), "cannot be mapped"))
    return;
  enter_context_of (buffer);
  T_CHECK (fill (map.data, 0xa5, map.size) == 0, "cannot be filled");
  finish_and_leave ();
  gst_memory_unmap (memory, &map);
  gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (memory), done, buffer, NULL);
}

GstBuffer *
cuda_picture (GstBufferPool *pool, const GstVideoInfo *info, guint n)
{
  GstBuffer *plain = rig_picture_of (info, n), *buffer = NULL;
  const SobelFormat *format = gst_sobel_format_of (info);
  GstVideoFrame from, to;
  guint p;
  gint y;

  if (!gst_buffer_pool_is_active (pool))
    gst_buffer_pool_set_active (pool, TRUE);
  if (!T_CHECK (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == GST_FLOW_OK, "no buffer")) {
    gst_buffer_unref (plain);
    return NULL;
  }
  poison (buffer);
  gst_video_frame_map (&from, info, plain, GST_MAP_READ);
  T_CHECK (gst_video_frame_map (&to, info, buffer, GST_MAP_WRITE), "cannot be mapped");
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    /* Whole macropixels, unlike gst_video_frame_copy(). */
    const gsize row_bytes = sobel_image_row_bytes (format, p, info->width);

    for (y = 0; y < sobel_image_plane_rows (format, p, info->height); y++)
      memcpy ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&to, p) + y * GST_VIDEO_FRAME_PLANE_STRIDE (&to, p),
              (guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&from, p) + y * GST_VIDEO_FRAME_PLANE_STRIDE (&from, p), row_bytes);
  }
  gst_video_frame_unmap (&to);
  gst_video_frame_unmap (&from);
  gst_buffer_copy_into (buffer, plain, GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_FLAGS, 0, -1);
  gst_buffer_unref (plain);
  return buffer;
}

void
cuda_push (Rig *rig, GstBufferPool *pool, guint first, guint n)
{
  guint i;

  for (i = 0; i < n; i++)
    T_CHECK (rig_push (rig, cuda_picture (pool, &rig->info, first + i)) == GST_FLOW_OK, "frame %u", first + i);
}

void
cuda_upload (GstBuffer *buffer)
{
  GstMapInfo map;

  if (!T_CHECK (gst_buffer_map (buffer, &map, GST_MAP_READ | GST_SOBEL_MAP_CUDA), "cannot be mapped"))
    return;
  enter_context_of (buffer);
  finish_and_leave ();
  gst_buffer_unmap (buffer, &map);
}

gboolean
cuda_buffer_is_in (GstBuffer *buffer, GstObject *context)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstSobelCudaMemory *memory = buffer ? gst_sobel_cuda_memory_of (buffer) : NULL;

  return memory && lib->context_get_handle (memory->context) == lib->context_get_handle (context);
}

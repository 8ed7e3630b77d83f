/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_CUDA_LIB_H
#define GST_SOBEL_CUDA_LIB_H

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* GStreamer's CUDA library, libgstcuda-1.0, found at run time: the plugin neither needs it to load nor was built
 * against one version of it. Its objects are known here by their GStreamer base types alone. */

#define GST_SOBEL_CAPS_FEATURE_CUDA "memory:CUDAMemory"
#define GST_SOBEL_CUDA_CONTEXT_TYPE "gst.cuda.context"

/* The library's GST_MAP_CUDA: the mapping's data is a device address. */
#define GST_SOBEL_MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))

/* The host wrote the memory's copy in host memory: the next mapping for the GPU begins by uploading it. */
#define GST_SOBEL_CUDA_MEMORY_NEED_UPLOAD (GST_MEMORY_FLAG_LAST << 1)
/* 1.24 and newer: work on the memory's stream may not be finished yet. */
#define GST_SOBEL_CUDA_MEMORY_NEED_SYNC (GST_MEMORY_FLAG_LAST << 2)

/* The public head of the library's GstCudaMemory, and of its GstCudaBufferPool; the same since 1.22. */
typedef struct
{
  GstMemory mem;
  GstObject *context;
  GstVideoInfo info; /* offsets and strides are the memory's own */
} GstSobelCudaMemory;

typedef struct
{
  GstBufferPool parent;
  GstObject *context;
} GstSobelCudaPool;

/* What is called of the library; contexts are GstObject, streams GstMiniObject. Not here: gst_cuda_allocator_alloc,
 * whose arguments changed in 1.24 under the same name. */
typedef struct
{
  guint minor; /* of the GStreamer 1.x whose rules hold: 22, 24, 26 or 28 */

  /* Loads the driver's library; starts nothing. Until this was TRUE nothing below may be called that talks to the
   * driver: 1.22 ends the process then. */
  gboolean (*load_library) (void);
  gint (*init) (guint flags);           /* cuInit */
  gint (*device_get_count) (gint *n);   /* cuDeviceGetCount */
  void (*memory_init_once) (void);      /* touches no driver */
  gboolean (*is_memory) (GstMemory *memory);
  GType (*pool_get_type) (void);
  GstBufferPool *(*pool_new) (GstObject *context);
  GstObject *(*context_new) (guint device_id);
  GstObject *(*context_new_wrapped) (gpointer handle, gint device);
  gpointer (*context_get_handle) (GstObject *context);
  gboolean (*handle_set_context) (GstElement *element, GstContext *context, gint device_id, GstObject **found);
  gboolean (*handle_context_query) (GstElement *element, GstQuery *query, GstObject *context);

  /* From 1.24 on, all or none. Streams have full references unless said otherwise. */
  gboolean has_streams;
  GstMiniObject *(*memory_get_stream) (gpointer memory); /* (transfer none), may be NULL */
  GstMiniObject *(*stream_new) (GstObject *context);
  gpointer (*stream_get_handle) (GstMiniObject *stream);
  GstMiniObject *(*pool_config_get_stream) (GstStructure *config); /* may be NULL */
  void (*pool_config_set_stream) (GstStructure *config, GstMiniObject *stream);
} GstSobelCudaLib;

/* The library, loaded by the first call; NULL where it is missing or lacks something. Touches no driver. */
const GstSobelCudaLib *gst_sobel_cuda_lib (void);

/* Whether memory:CUDAMemory can be used: there is the library, the driver's library and, where `count_devices`, a
 * GPU. The last part starts CUDA. */
gboolean gst_sobel_cuda_usable (gboolean count_devices);

/* The one CUDA memory of `buffer`, or NULL. (transfer none) */
GstSobelCudaMemory *gst_sobel_cuda_memory_of (GstBuffer *buffer);

/* The primary context of GPU `device`, which `handle` must be, as a context that neighbours can share; it stays for as
 * long as the object lives. NULL if that cannot be. (transfer full) */
GstObject *gst_sobel_cuda_wrap_primary (gpointer handle, gint device);

/* GPU number of a context. */
guint gst_sobel_cuda_context_device (GstObject *context);

G_END_DECLS
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelpool.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

struct _GstSobelPool
{
  GstVideoBufferPool parent;
  GstSobelAllocator *allocator;
  GstMemoryFlags flags;
};

G_DEFINE_TYPE (GstSobelPool, gst_sobel_pool, GST_TYPE_VIDEO_BUFFER_POOL)

static gboolean
pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  GstSobelPool *self = GST_SOBEL_POOL (pool);
  GstAllocationParams params;

  if (!gst_buffer_pool_config_get_allocator (config, NULL, &params))
    gst_allocation_params_init (&params);
  /* Wide vector accesses and DMA want no less; whoever asks for more gets it. */
  params.align |= 63;
  params.flags |= self->flags;
  gst_buffer_pool_config_set_allocator (config, GST_ALLOCATOR_CAST (self->allocator), &params);
  return GST_BUFFER_POOL_CLASS (gst_sobel_pool_parent_class)->set_config (pool, config);
}

static void
gst_sobel_pool_finalize (GObject *object)
{
  gst_clear_object (&GST_SOBEL_POOL (object)->allocator);
  G_OBJECT_CLASS (gst_sobel_pool_parent_class)->finalize (object);
}

static void
gst_sobel_pool_init (GstSobelPool *self)
{
}

static void
gst_sobel_pool_class_init (GstSobelPoolClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_sobel_pool_finalize;
  GST_BUFFER_POOL_CLASS (klass)->set_config = pool_set_config;
}

GstBufferPool *
gst_sobel_pool_new (GstSobelAllocator *allocator, const gchar *name, GstCaps *caps, guint min_buffers,
                    GstMemoryFlags flags)
{
  GstSobelPool *self;
  GstBufferPool *pool;
  GstStructure *config;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps))
    return NULL;
  self = g_object_new (GST_TYPE_SOBEL_POOL, "name", name, NULL);
  gst_object_ref_sink (self);
  self->allocator = gst_object_ref (allocator);
  self->flags = flags;
  pool = GST_BUFFER_POOL_CAST (self);

  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, info.size, min_buffers, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_WARNING_OBJECT (pool, "cannot be configured for %" GST_PTR_FORMAT, caps);
    gst_clear_object (&pool);
  }
  return pool;
}

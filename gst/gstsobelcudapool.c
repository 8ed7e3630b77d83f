/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pools of GPU memory: what is proposed to upstream, and where output comes from. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* Configures `pool` and says which stream its memory is on (transfer full, may be NULL): the pool's own, else
 * `stream`. `size` is what the pool makes of it. */
static gboolean
configure (GstBufferPool *pool, GstCaps *caps, guint *size, guint min, guint max, GstMiniObject *stream,
           GstMiniObject **actual)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstMiniObject *found = NULL;

  gst_buffer_pool_config_set_params (config, caps, *size, min, max);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (lib->has_streams) {
    found = lib->pool_config_get_stream (config);
    if (!found && stream) {
      lib->pool_config_set_stream (config, stream);
      found = gst_mini_object_ref (stream);
    }
  }
  if (!gst_buffer_pool_set_config (pool, config)) {
    gst_clear_mini_object (&found);
    return FALSE;
  }
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_params (config, NULL, size, NULL, NULL);
  gst_structure_free (config);
  *actual = found;
  return TRUE;
}

/* A new pool in our context; NULL if GPU memory is short. (transfer full) */
static GstBufferPool *
new_pool (GstCudaSobel *self, GstCaps *caps, guint *size, guint min, GstMiniObject *stream, GstMiniObject **actual)
{
  GstObject *context = gst_sobel_cuda_get_context (self);
  GstBufferPool *pool = NULL;
  GstVideoInfo info;

  if (context && gst_video_info_from_caps (&info, caps)) {
    pool = gst_sobel_cuda_lib ()->pool_new (context);
    *size = info.size;
    if (pool && !configure (pool, caps, size, min, 0, stream, actual)) {
      GST_WARNING_OBJECT (self, "no pool of GPU memory for %" GST_PTR_FORMAT, caps);
      gst_clear_object (&pool);
    }
  }
  gst_clear_object (&context);
  return pool;
}

void
gst_sobel_cuda_propose_pool (GstCudaSobel *self, GstQuery *query, GstCaps *caps, guint min)
{
  /* One stream all the way through the element, if possible: nothing then waits for anything. */
  GstMiniObject *stream = self->cuda.pool_stream ? self->cuda.pool_stream : self->cuda.stream;
  GstMiniObject *actual = NULL;
  GstBufferPool *pool;
  guint size;

  if (!self->cuda.handle)
    return; /* mapped through system memory: upstream's own memory is as good */
  pool = new_pool (self, caps, &size, min, stream, &actual);
  if (pool) {
    gst_query_add_allocation_pool (query, pool, size, min, 0);
    gst_object_unref (pool);
  }
  gst_clear_mini_object (&actual);
}

/* Whether memory of `pool` can be written by the GPU in use, and there will be enough of it. */
static gboolean
is_suitable (GstCudaSobel *self, GstBufferPool *pool, guint min, guint max, guint held)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstObject *context = gst_sobel_cuda_get_context (self);
  gboolean suits = FALSE;

  if (context && G_TYPE_CHECK_INSTANCE_TYPE (pool, lib->pool_get_type ()))
    suits = lib->context_get_handle (((GstSobelCudaPool *) pool)->context) == lib->context_get_handle (context);
  gst_clear_object (&context);
  return suits && (max == 0 || max > min + held);
}

GstBufferPool *
gst_sobel_cuda_decide_pool (GstCudaSobel *self, GstQuery *query, guint held, gboolean *downstream)
{
  GstBufferPool *pool = NULL;
  guint size = 0, min = 0, max = 0;
  GstCaps *caps;

  gst_clear_mini_object (&self->cuda.pool_stream);
  gst_query_parse_allocation (query, &caps, NULL);
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  if (pool && (!is_suitable (self, pool, min, max, held) ||
               !configure (pool, caps, &size, min, max, self->cuda.stream, &self->cuda.pool_stream) ||
               !gst_buffer_pool_set_active (pool, TRUE))) {
    GST_INFO_OBJECT (self, "downstream's pool %" GST_PTR_FORMAT " is of no use here", pool);
    gst_clear_mini_object (&self->cuda.pool_stream);
    gst_clear_object (&pool);
  }
  *downstream = pool != NULL;
  if (!pool) {
    pool = new_pool (self, caps, &size, 0, self->cuda.stream, &self->cuda.pool_stream);
    if (pool && !gst_buffer_pool_set_active (pool, TRUE)) {
      gst_clear_mini_object (&self->cuda.pool_stream);
      gst_clear_object (&pool);
    }
  }
  return pool;
}

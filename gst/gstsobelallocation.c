/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where buffers come from: the ALLOCATION query in both directions. */

#include "gstcudasobel.h"

#include "gstsobelcudacaps.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

static GstBaseTransformClass *
video_filter_class (void)
{
  return GST_BASE_TRANSFORM_CLASS (g_type_class_peek (GST_TYPE_VIDEO_FILTER));
}

void
gst_cuda_sobel_set_downstream_pool (GstCudaSobel *self, GstBufferPool *pool)
{
  GstBufferPool *old;

  GST_OBJECT_LOCK (self);
  old = self->downstream_pool;
  self->downstream_pool = pool;
  GST_OBJECT_UNLOCK (self);
  gst_cuda_sobel_close_pool (&old);
}

/* The base class would do the same, but end the stream with an error where it fails. */
static gboolean
configure_offer (GstBufferPool *pool, GstQuery *query, guint size, guint min, guint max)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstAllocator *allocator = NULL;
  GstAllocationParams params;
  GstCaps *caps;

  gst_allocation_params_init (&params);
  gst_query_parse_allocation (query, &caps, NULL);
  if (gst_query_get_n_allocation_params (query) > 0)
    gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  gst_buffer_pool_config_set_allocator (config, allocator, &params);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_clear_object (&allocator);
  if (gst_buffer_pool_set_config (pool, config))
    return TRUE;
  /* It may have made of that something else that will do. */
  config = gst_buffer_pool_get_config (pool);
  if (gst_buffer_pool_config_validate_params (config, caps, size, min, max))
    return gst_buffer_pool_set_config (pool, config);
  gst_structure_free (config);
  return FALSE;
}

/* Downstream's pool, taken from an answered ALLOCATION query and active; NULL if there is none of use. */
static GstBufferPool *
adopt_downstream_pool (GstCudaSobel *self, GstQuery *query)
{
  GstBufferPool *pool = NULL;
  guint size = 0, min = 0, max = 0;

  if (gst_query_get_n_allocation_pools (query) == 0)
    return NULL;
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  size = MAX (size, (guint) GST_VIDEO_FILTER_CAST (self)->out_info.size);
  if (pool && (!configure_offer (pool, query, size, min, max) || !gst_buffer_pool_set_active (pool, TRUE))) {
    GST_INFO_OBJECT (self, "downstream's pool %" GST_PTR_FORMAT " is of no use here", pool);
    gst_clear_object (&pool);
  }
  return pool;
}

/* Output of GPU memory comes from a pool of that alone, our own or downstream's. */
static gboolean
decide_cuda_pool (GstCudaSobel *self, GstQuery *query)
{
  gboolean downstream = FALSE;
  GstBufferPool *pool;

  gst_cuda_sobel_close_pool (&self->own_pool);
  pool = gst_sobel_cuda_decide_pool (self, query, sobel_ring_n_slots (self->ring), &downstream);
  if (downstream)
    gst_cuda_sobel_set_downstream_pool (self, pool);
  else
    self->own_pool = pool;
  if (!pool)
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is not enough GPU memory for this video."),
                       ("no pool of %dx%d %s frames", self->config.width, self->config.height, self->config.out->name));
  return pool != NULL;
}

/* The base class sees nothing to do in caps that both pads have already, but others may have been tried and refused
 * since they were set. */
static gboolean
configure_again (GstBaseTransform *trans)
{
  GstCaps *incaps = gst_pad_get_current_caps (trans->sinkpad), *outcaps = gst_pad_get_current_caps (trans->srcpad);
  const gboolean done =
      incaps && outcaps && GST_BASE_TRANSFORM_GET_CLASS (trans)->set_caps (trans, incaps, outcaps);

  gst_clear_caps (&incaps);
  gst_clear_caps (&outcaps);
  return done;
}

/* Takes what downstream offers; nothing is in flight. */
static gboolean
take_offer (GstCudaSobel *self, GstQuery *query)
{
  self->downstream_video_meta = gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  /* First let go of the old one: it may be offered again, and an active pool takes no configuration. */
  gst_cuda_sobel_set_downstream_pool (self, NULL);
  if (self->cuda.out)
    return self->ring && decide_cuda_pool (self, query);
  gst_cuda_sobel_set_downstream_pool (self, adopt_downstream_pool (self, query));
  return TRUE;
}

gboolean
gst_cuda_sobel_decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);

  gst_cuda_sobel_stream_drain (self);
  if (self->ring && sobel_ring_in_flight (self->ring) > 0) {
    /* Flushing, and the output task may still be busy with the old pool: ask again when the next frame comes. */
    gst_pad_mark_reconfigure (trans->srcpad);
  } else if ((!self->configured && !configure_again (trans)) || !take_offer (self, query)) {
    return FALSE;
  }

  /* The base class need not make buffers: ours come from self->own_pool or downstream's pool. What describes
   * memory or is downstream's wish is not proposed to upstream. */
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  while (gst_query_get_n_allocation_metas (query) > 0)
    gst_query_remove_nth_allocation_meta (query, 0);
  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  return TRUE;
}

/* Offers a pool of the device's own system memory, which spares the copy into it. */
static void
propose_pinned_pool (GstCudaSobel *self, GstQuery *query, GstCaps *caps, gboolean need_pool, guint min)
{
  const GstAllocationParams params = { 0, 63, 0, 0 };
  GstBufferPool *pool;
  GstVideoInfo info;

  /* The allocator goes with the pool: base classes hand the query's first allocator to any pool. */
  gst_query_add_allocation_param (query, GST_ALLOCATOR_CAST (self->allocator), &params);
  if (need_pool && gst_video_info_from_caps (&info, caps) &&
      (pool = gst_sobel_pool_new (self->allocator, "proposed", caps, min, 0))) {
    gst_query_add_allocation_pool (query, pool, info.size, min, 0);
    gst_object_unref (pool);
  }
}

gboolean
gst_cuda_sobel_propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (trans);
  /* All in flight, one being filled, one in upstream's hands. */
  const guint min = self->ring ? sobel_ring_n_slots (self->ring) + 2 : 0;
  GstBaseTransformClass *klass = video_filter_class ();
  gboolean need_pool;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (caps && gst_sobel_caps_are_cuda (caps, 0)) {
    if (need_pool && self->ring)
      gst_sobel_cuda_propose_pool (self, query, caps, min);
    /* The video filter class would offer system memory. */
    klass = g_type_class_peek_parent (klass);
  } else if (caps && self->ring && sobel_device_is_asynchronous (sobel_ring_device (self->ring))) {
    propose_pinned_pool (self, query, caps, need_pool, min);
  }
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return klass->propose_allocation (trans, decide_query, query);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "benchcopy.h"

#include <gst/video/video.h>

#include <string.h>

struct _BenchCopy
{
  GstBaseTransform parent;
};

enum { POOL_BUFFERS = 4 };

G_DEFINE_TYPE (BenchCopy, bench_copy, GST_TYPE_BASE_TRANSFORM)

static gboolean
copy_get_unit_size (GstBaseTransform *trans, GstCaps *caps, gsize *size)
{
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps))
    return FALSE;
  *size = info.size;
  return TRUE;
}

/* A pool, so that no frame pays for fresh pages. */
static gboolean
copy_decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstVideoInfo info;
  GstCaps *caps;
  gboolean ok;

  gst_query_parse_allocation (query, &caps, NULL);
  ok = caps && gst_video_info_from_caps (&info, caps);
  if (ok) {
    gst_buffer_pool_config_set_params (config, caps, (guint) info.size, POOL_BUFFERS, 0);
    ok = gst_buffer_pool_set_config (pool, config);
  } else {
    gst_structure_free (config);
  }
  if (ok && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (query, 0, pool, (guint) info.size, POOL_BUFFERS, 0);
  else if (ok)
    gst_query_add_allocation_pool (query, pool, (guint) info.size, POOL_BUFFERS, 0);
  gst_object_unref (pool);
  return ok && GST_BASE_TRANSFORM_CLASS (bench_copy_parent_class)->decide_allocation (trans, query);
}

static GstFlowReturn
copy_transform (GstBaseTransform *trans, GstBuffer *in, GstBuffer *out)
{
  GstMapInfo from, to;

  if (!gst_buffer_map (in, &from, GST_MAP_READ))
    return GST_FLOW_ERROR;
  if (!gst_buffer_map (out, &to, GST_MAP_WRITE)) {
    gst_buffer_unmap (in, &from);
    return GST_FLOW_ERROR;
  }
  memcpy (to.data, from.data, MIN (from.size, to.size));
  gst_buffer_unmap (out, &to);
  gst_buffer_unmap (in, &from);
  return GST_FLOW_OK;
}

static void
bench_copy_init (BenchCopy *self)
{
}

static void
bench_copy_class_init (BenchCopyClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstCaps *caps = gst_caps_new_empty_simple ("video/x-raw");

  gst_element_class_set_static_metadata (element_class, "Copy", "Filter/Video", "One memcpy a frame", "gst-cuda-sobel");
  gst_element_class_add_pad_template (element_class, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element_class, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);
  trans_class->get_unit_size = copy_get_unit_size;
  trans_class->decide_allocation = copy_decide_allocation;
  trans_class->transform = copy_transform;
}

gboolean
bench_copy_register (void)
{
  return gst_element_register (NULL, "benchcopy", GST_RANK_NONE, BENCH_TYPE_COPY);
}

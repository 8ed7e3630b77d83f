/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_POOL_H
#define GST_SOBEL_POOL_H

#include "gstsobelmemory.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Video buffers of one GstSobelMemory each. Unlike the stock pool it keeps its allocator when a base class
 * configures it with another one, which all of them do. */
#define GST_TYPE_SOBEL_POOL (gst_sobel_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstSobelPool, gst_sobel_pool, GST, SOBEL_POOL, GstVideoBufferPool)

/* Configured for `caps` with GstVideoMeta, at least `min_buffers` and no maximum; inactive. `flags` are those of the
 * memory. NULL if the caps cannot be had. (transfer full) */
GstBufferPool *gst_sobel_pool_new (GstSobelAllocator *allocator, const gchar *name, GstCaps *caps, guint min_buffers,
                                   GstMemoryFlags flags);

G_END_DECLS
#endif

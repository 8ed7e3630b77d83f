/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_FRAME_H
#define GST_SOBEL_FRAME_H

#include "gstsobelmemory.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* A GstBuffer mapped as a SobelImage. */
typedef struct
{
  SobelImage image;
  GstBuffer *buffer;      /* borrowed: the caller's reference must outlive the mapping */
  GstSobelMemory *memory; /* the one memory of ours that holds all planes, or NULL */
  guint n_maps;
  GstMapInfo map[GST_VIDEO_MAX_PLANES];
} GstSobelFrameMap;

/* Maps `buffer` of caps `info`. Planes, offsets and strides are those of its GstVideoMeta, if it has one and
 * that agrees with the caps; the visible size is always the caps'. FALSE, with `reason` set to a static
 * string or a reason to be freed, if it cannot be mapped or is too small.
 *
 * With GST_SOBEL_MAP_CUDA among `flags` the image is DEVICE memory; the buffer must then be one CUDA memory. Without,
 * CUDA memory is copied to and from system memory by its own library.
 *
 * Memory of our own is not marked as written by mapping it here. */
gboolean gst_sobel_frame_map (GstSobelFrameMap *map, const GstVideoInfo *info, const SobelFormat *format,
                              GstBuffer *buffer, GstMapFlags flags, gchar **reason);

/* Does nothing for a zeroed or already unmapped mapping. */
void gst_sobel_frame_unmap (GstSobelFrameMap *map);

/* Whether the planes lie where `info` (freshly made from caps) puts them. */
gboolean gst_sobel_frame_has_default_layout (const GstSobelFrameMap *map, const GstVideoInfo *info);

G_END_DECLS
#endif

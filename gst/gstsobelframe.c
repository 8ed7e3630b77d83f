/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelframe.h"

#include "gstsobelcudalib.h"

#include <string.h>

/* A GstVideoMeta that contradicts the caps is somebody's mistake that would read past planes: refuse it here, where
 * GStreamer's own mapping would raise a critical. Larger than the caps is fine (padded decoders). */
static gchar *
check_meta (const GstVideoMeta *meta, const GstVideoInfo *info)
{
  if (meta->format != GST_VIDEO_INFO_FORMAT (info))
    return g_strdup_printf ("its GstVideoMeta says %s, the caps %s", gst_video_format_to_string (meta->format),
                            gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info)));
  if (meta->n_planes != GST_VIDEO_INFO_N_PLANES (info))
    return g_strdup_printf ("its GstVideoMeta has %u planes, the caps %u", meta->n_planes,
                            GST_VIDEO_INFO_N_PLANES (info));
  if (meta->width < (guint) info->width || meta->height < (guint) info->height)
    return g_strdup_printf ("its GstVideoMeta says %ux%u, the caps %dx%d", meta->width, meta->height, info->width,
                            info->height);
  return NULL;
}

/* Maps the `bytes` at `offset` of the buffer; NULL if they are not there. Planes in one memory share a mapping. */
static guint8 *
map_range (GstSobelFrameMap *self, gsize offset, gsize bytes, GstMapFlags flags)
{
  guint index, length, i;
  gsize skip;
  GstMapInfo *map = &self->map[self->n_maps];

  if (!gst_buffer_find_memory (self->buffer, offset, bytes, &index, &length, &skip))
    return NULL;
  if (length == 1)
    for (i = 0; i < self->n_maps; i++)
      if (self->map[i].memory == gst_buffer_peek_memory (self->buffer, index))
        return self->map[i].data + skip;
  if (!gst_buffer_map_range (self->buffer, index, (gint) length, map, flags))
    return NULL;
  if (skip + bytes > map->size) {
    gst_buffer_unmap (self->buffer, map);
    return NULL;
  }
  self->n_maps++;
  return map->data + skip;
}

/* Whether all planes lie where `info` (freshly made from caps) puts them. */
static gboolean
is_default_layout (const GstVideoMeta *meta, const GstSobelCudaMemory *cuda, const GstVideoInfo *info)
{
  const GstVideoInfo *layout = cuda ? &cuda->info : info; /* without a meta */
  guint i;

  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++)
    if ((meta ? meta->offset[i] : layout->offset[i]) != info->offset[i] ||
        (meta ? meta->stride[i] : layout->stride[i]) != info->stride[i])
      return FALSE;
  return TRUE;
}

/* Rows that the default layout has room for in a plane: interlaced 4:2:0 may have a chroma row more than the `rows`
 * that the picture covers. */
static gint32
default_rows (const GstVideoInfo *info, guint plane, gint32 rows)
{
  const gsize next = plane + 1 < GST_VIDEO_INFO_N_PLANES (info) ? info->offset[plane + 1] : info->size;
  const gsize room = next > info->offset[plane] ? (next - info->offset[plane]) / info->stride[plane] : 0;

  return GST_VIDEO_INFO_IS_INTERLACED (info) && room == (gsize) rows + 1 ? rows + 1 : rows;
}

/* Memories of a buffer to be written that end in the middle of a plane become one, before any of them is mapped.
 * No plane is longer than from its offset to its last row's end, which is checked later. */
static void
join_cut_planes (GstBuffer *buffer, const GstVideoInfo *info, const SobelFormat *format)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  guint index, length, i;
  gsize skip;

  if (gst_buffer_n_memory (buffer) < 2 || !gst_buffer_is_writable (buffer))
    return;
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    const gsize stride = meta ? meta->stride[i] : info->stride[i];
    const gsize rows = sobel_image_plane_rows (format, i, info->height);
    const gsize bytes = stride * (rows - 1) + sobel_image_row_bytes (format, i, info->width);

    if (gst_buffer_find_memory (buffer, meta ? meta->offset[i] : info->offset[i], bytes, &index, &length, &skip) &&
        length > 1) {
      GstMemory *all = gst_buffer_get_all_memory (buffer);

      if (all)
        gst_buffer_replace_all_memory (buffer, all);
      return;
    }
  }
}

gboolean
gst_sobel_frame_map (GstSobelFrameMap *self, const GstVideoInfo *info, const SobelFormat *format, GstBuffer *buffer,
                     GstMapFlags flags, gchar **reason)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const GstSobelCudaMemory *cuda = gst_sobel_cuda_memory_of (buffer);
  const GstVideoInfo *layout = cuda ? &cuda->info : info; /* without a meta */
  gboolean is_default;
  guint i;

  memset (self, 0, sizeof *self);
  self->buffer = buffer;
  self->image.format = format;
  self->image.memory = flags & GST_SOBEL_MAP_CUDA ? SOBEL_MEMORY_DEVICE : SOBEL_MEMORY_HOST;
  self->image.width = info->width;
  self->image.height = info->height;

  if (meta && (*reason = check_meta (meta, info)))
    return FALSE;
  if (flags & GST_MAP_WRITE)
    join_cut_planes (buffer, info, format);
  /* Of all planes, or there is no telling where another one begins, and U and V have the same rows. A meta may say
   * that planes are packed tightly, the last one too. */
  is_default = !cuda && is_default_layout (meta, NULL, info) && !(meta && gst_buffer_get_size (buffer) < info->size);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    const gsize offset = meta ? meta->offset[i] : layout->offset[i];
    const gint stride = meta ? meta->stride[i] : layout->stride[i];
    const gsize row_bytes = sobel_image_row_bytes (format, i, info->width);
    gint32 rows = sobel_image_plane_rows (format, i, info->height);
    gsize bytes;

    if (stride <= 0 || (rows > 1 && (gsize) stride < row_bytes)) {
      *reason = g_strdup_printf ("plane %u has a stride of %d bytes, a row takes %" G_GSIZE_FORMAT, i, stride,
                                 row_bytes);
      goto fail;
    }
    if (is_default)
      rows = default_rows (info, i, rows);
    bytes = (gsize) stride * (rows - 1) + row_bytes;
    self->image.plane[i].stride = stride;
    self->image.plane[i].rows = rows;
    self->image.plane[i].data = map_range (self, offset, bytes, flags);
    if (!self->image.plane[i].data) {
      *reason = g_strdup_printf ("plane %u needs %" G_GSIZE_FORMAT " bytes at %" G_GSIZE_FORMAT
                                 ", the buffer has %" G_GSIZE_FORMAT " or cannot be mapped",
                                 i, bytes, offset, gst_buffer_get_size (buffer));
      goto fail;
    }
  }
  if (self->n_maps == 1 && self->map[0].memory)
    self->memory = gst_sobel_memory_root (self->map[0].memory);
  return TRUE;

fail:
  gst_sobel_frame_unmap (self);
  return FALSE;
}

void
gst_sobel_frame_unmap (GstSobelFrameMap *self)
{
  while (self->n_maps > 0)
    gst_buffer_unmap (self->buffer, &self->map[--self->n_maps]);
  self->buffer = NULL;
  self->memory = NULL;
}

gboolean
gst_sobel_frame_has_default_layout (const GstSobelFrameMap *self, const GstVideoInfo *info)
{
  return gst_buffer_get_size (self->buffer) >= info->size &&
         is_default_layout (gst_buffer_get_video_meta (self->buffer), gst_sobel_cuda_memory_of (self->buffer), info);
}

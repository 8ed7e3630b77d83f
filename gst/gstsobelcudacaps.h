/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_CUDA_CAPS_H
#define GST_SOBEL_CUDA_CAPS_H

#include "gstsobelcudalib.h"

#include "core/sobelformat.h"

G_BEGIN_DECLS

/* What CUDA memory of the library at hand can hold, of the format table: caps of memory:CUDAMemory with the other
 * fields of `system`, a structure without formats. Empty where there is no library. (transfer full) */
GstCaps *gst_sobel_cuda_caps_new (const GstStructure *system);

/* Whether CUDA memory of GStreamer 1.`minor` holds pictures of this format, and whether only those of even height: the
 * library lays out odd ones wrongly. */
gboolean gst_sobel_cuda_holds (guint minor, const gchar *format, gboolean *even_height);

/* Of the structure's features: nothing but memory:CUDAMemory; nothing but system memory. */
gboolean gst_sobel_caps_are_cuda (GstCaps *caps, guint nth);
gboolean gst_sobel_caps_are_system (GstCaps *caps, guint nth);

/* Removes what is memory:CUDAMemory. (transfer full both) */
GstCaps *gst_sobel_cuda_caps_remove (GstCaps *caps);

G_END_DECLS
#endif

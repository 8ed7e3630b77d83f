/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_ENUMS_H
#define GST_SOBEL_ENUMS_H

#include <gst/gst.h>

G_BEGIN_DECLS

typedef enum
{
  GST_SOBEL_BACKEND_AUTO,
  GST_SOBEL_BACKEND_CUDA,
  GST_SOBEL_BACKEND_CPU,
} GstSobelBackend;

typedef enum
{
  GST_SOBEL_ACTIVE_BACKEND_NONE,
  GST_SOBEL_ACTIVE_BACKEND_CUDA,
  GST_SOBEL_ACTIVE_BACKEND_CPU,
} GstSobelActiveBackend;

/* GTypes of the enum properties. Those of the look are the enums of core/sobelparams.h, value for value. */
GType gst_sobel_backend_get_type (void);
GType gst_sobel_active_backend_get_type (void);
GType gst_sobel_kernel_get_type (void);
GType gst_sobel_operator_get_type (void);
GType gst_sobel_gradient_get_type (void);
GType gst_sobel_norm_get_type (void);
GType gst_sobel_border_get_type (void);
GType gst_sobel_precision_get_type (void);
GType gst_sobel_luma_get_type (void);
GType gst_sobel_mode_get_type (void);

/* The nick of `value`, such as "cuda"; static. */
const gchar *gst_sobel_enum_nick (GType type, gint value);

G_END_DECLS
#endif

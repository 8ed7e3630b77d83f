/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelenums.h"

#include "core/sobelparams.h"

#define DEFINE_ENUM(Name, function, ...)                                                                               \
  GType function (void)                                                                                                \
  {                                                                                                                    \
    static gsize type = 0;                                                                                             \
                                                                                                                       \
    if (g_once_init_enter (&type)) {                                                                                   \
      static const GEnumValue values[] = { __VA_ARGS__, { 0, NULL, NULL } };                                           \
      g_once_init_leave (&type, g_enum_register_static (Name, values));                                                \
    }                                                                                                                  \
    return (GType) type;                                                                                               \
  }

DEFINE_ENUM ("GstCudaSobelBackend", gst_sobel_backend_get_type,
             { GST_SOBEL_BACKEND_AUTO, "A working GPU, else the CPU", "auto" },
             { GST_SOBEL_BACKEND_CUDA, "An NVIDIA GPU; an error where there is none", "cuda" },
             { GST_SOBEL_BACKEND_CPU, "The CPU", "cpu" })

DEFINE_ENUM ("GstCudaSobelActiveBackend", gst_sobel_active_backend_get_type,
             { GST_SOBEL_ACTIVE_BACKEND_NONE, "Not started", "none" },
             { GST_SOBEL_ACTIVE_BACKEND_CUDA, "An NVIDIA GPU", "cuda" },
             { GST_SOBEL_ACTIVE_BACKEND_CPU, "The CPU", "cpu" })

DEFINE_ENUM ("GstCudaSobelKernel", gst_sobel_kernel_get_type,
             { SOBEL_KERNEL_AUTO, "The fastest one measured", "auto" },
             { SOBEL_KERNEL_NAIVE, "Gray pass, then nine global loads a pixel", "naive" },
             { SOBEL_KERNEL_CONSTANT, "As naive, with the weights in constant memory", "constant" },
             { SOBEL_KERNEL_SHARED, "Gray pass, then shared-memory tiles with a one-pixel halo", "shared" },
             { SOBEL_KERNEL_FUSED, "Gray, gradient and output in one pass", "fused" })

DEFINE_ENUM ("GstCudaSobelOperator", gst_sobel_operator_get_type,
             { SOBEL_OPERATOR_SOBEL, "Weights 1, 2, 1", "sobel" },
             { SOBEL_OPERATOR_SCHARR, "Weights 3, 10, 3", "scharr" },
             { SOBEL_OPERATOR_PREWITT, "Weights 1, 1, 1", "prewitt" })

DEFINE_ENUM ("GstCudaSobelGradient", gst_sobel_gradient_get_type,
             { SOBEL_GRADIENT_BOTH, "Both axes", "both" },
             { SOBEL_GRADIENT_X, "Size of the horizontal gradient (vertical edges)", "x" },
             { SOBEL_GRADIENT_Y, "Size of the vertical gradient (horizontal edges)", "y" })

DEFINE_ENUM ("GstCudaSobelNorm", gst_sobel_norm_get_type,
             { SOBEL_NORM_L2, "Square root of gx^2 + gy^2", "l2" },
             { SOBEL_NORM_L1, "|gx| + |gy|", "l1" })

DEFINE_ENUM ("GstCudaSobelBorder", gst_sobel_border_get_type,
             { SOBEL_BORDER_REPLICATE, "Outside, the nearest sample of the picture", "replicate" },
             { SOBEL_BORDER_ZERO, "Outside, black", "zero" },
             { SOBEL_BORDER_MIRROR, "Outside, the picture mirrored about its edge sample", "mirror" },
             { SOBEL_BORDER_NONE, "No edges on the outermost samples", "none" })

DEFINE_ENUM ("GstCudaSobelPrecision", gst_sobel_precision_get_type,
             { SOBEL_PRECISION_INTEGER, "RGB's gray is rounded down to a code", "integer" },
             { SOBEL_PRECISION_FLOAT, "RGB's gray keeps its fraction", "float" })

DEFINE_ENUM ("GstCudaSobelLuma", gst_sobel_luma_get_type,
             { SOBEL_LUMA_BT601, "0.299 R + 0.587 G + 0.114 B", "bt601" },
             { SOBEL_LUMA_BT709, "0.2126 R + 0.7152 G + 0.0722 B", "bt709" },
             { SOBEL_LUMA_BT2020, "0.2627 R + 0.6780 G + 0.0593 B", "bt2020" })

DEFINE_ENUM ("GstCudaSobelMode", gst_sobel_mode_get_type,
             { SOBEL_MODE_EDGES, "Bright edges on black", "edges" },
             { SOBEL_MODE_OVERLAY, "The picture with its edges painted in overlay-color", "overlay" },
             { SOBEL_MODE_MASK, "The picture where there is an edge, black elsewhere", "mask" },
             { SOBEL_MODE_DIRECTION, "Edges coloured by the direction of their gradient", "direction" })

#undef DEFINE_ENUM

const gchar *
gst_sobel_enum_nick (GType type, gint value)
{
  GEnumClass *klass = g_type_class_ref (type);
  const GEnumValue *entry = g_enum_get_value (klass, value);
  /* The nick lives in a static table, not in the class. */
  const gchar *nick = entry ? entry->value_nick : "unknown";

  g_type_class_unref (klass);
  return nick;
}

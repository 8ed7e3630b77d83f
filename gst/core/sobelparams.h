/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_PARAMS_H
#define SOBEL_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are those of the element's enum properties. */
typedef enum SobelOperator { SOBEL_OPERATOR_SOBEL, SOBEL_OPERATOR_SCHARR, SOBEL_OPERATOR_PREWITT } SobelOperator;
typedef enum SobelGradient { SOBEL_GRADIENT_BOTH, SOBEL_GRADIENT_X, SOBEL_GRADIENT_Y } SobelGradient;
typedef enum SobelNorm { SOBEL_NORM_L2, SOBEL_NORM_L1 } SobelNorm;
typedef enum SobelBorder
{
  SOBEL_BORDER_REPLICATE,
  SOBEL_BORDER_ZERO,
  SOBEL_BORDER_MIRROR,
  SOBEL_BORDER_NONE,
} SobelBorder;
typedef enum SobelPrecision { SOBEL_PRECISION_INTEGER, SOBEL_PRECISION_FLOAT } SobelPrecision;
typedef enum SobelLuma { SOBEL_LUMA_BT601, SOBEL_LUMA_BT709, SOBEL_LUMA_BT2020 } SobelLuma;
typedef enum SobelMode
{
  SOBEL_MODE_EDGES,
  SOBEL_MODE_OVERLAY,
  SOBEL_MODE_MASK,
  SOBEL_MODE_DIRECTION,
  SOBEL_MODE_BYPASS, /* not a value of the `mode` property: what `bypass` means where the output is gray */
} SobelMode;
typedef enum SobelKernel
{
  SOBEL_KERNEL_AUTO,
  SOBEL_KERNEL_NAIVE,
  SOBEL_KERNEL_CONSTANT,
  SOBEL_KERNEL_SHARED,
  SOBEL_KERNEL_FUSED,
} SobelKernel;

/* Everything about a frame's look that a user may change while playing; one copy a frame. */
typedef struct SobelParams
{
  SobelOperator op;
  SobelGradient gradient;
  SobelNorm norm;
  SobelBorder border;
  SobelPrecision precision;
  SobelLuma luma;
  SobelMode mode;
  SobelKernel kernel;
  bool invert;
  double gain;            /* 0 to 1000 */
  double threshold;       /* 0 to 1, fraction of full scale */
  uint32_t overlay_color; /* 0xAARRGGBB */
} SobelParams;

/* The documented defaults of the properties. */
#define SOBEL_PARAMS_DEFAULT                                                                         \
  {                                                                                                  \
    SOBEL_OPERATOR_SOBEL, SOBEL_GRADIENT_BOTH, SOBEL_NORM_L2, SOBEL_BORDER_REPLICATE,                \
        SOBEL_PRECISION_INTEGER, SOBEL_LUMA_BT601, SOBEL_MODE_EDGES, SOBEL_KERNEL_AUTO, false, 1.0,  \
        0.0, 0xffff0000u                                                                             \
  }

#ifdef __cplusplus
}
#endif
#endif

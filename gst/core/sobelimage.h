/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_IMAGE_H
#define SOBEL_IMAGE_H

#include "sobelformat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum SobelMemory
{
  SOBEL_MEMORY_HOST,   /* the processor can read and write it */
  SOBEL_MEMORY_DEVICE, /* addresses of the device's own memory; only that device may touch them */
} SobelMemory;

typedef struct SobelPlane
{
  uint8_t *data;    /* first row */
  ptrdiff_t stride; /* bytes from one row to the next */
  int32_t rows;     /* rows of samples that the layout has room for; may exceed what the picture covers */
} SobelPlane;

/* Borrowed view of a picture: owns nothing, is copied freely. */
typedef struct SobelImage
{
  const SobelFormat *format;
  SobelMemory memory;
  int32_t width;  /* pixels, 1 or more */
  int32_t height; /* pixels, 1 or more */
  SobelPlane plane[SOBEL_MAX_PLANES];
} SobelImage;

/* Bytes of a row of plane `plane` that carry samples of the picture, whole macropixels included. */
size_t sobel_image_row_bytes (const SobelFormat *format, unsigned plane, int32_t width);

/* Rows of samples that a component of a picture `height` pixels high has in plane `plane`. */
int32_t sobel_image_plane_rows (const SobelFormat *format, unsigned plane, int32_t height);

/* Field `field` (0 = top) of an interlaced picture, as a picture of its own: every second row of every
 * plane. Its height is 0 when an interlaced picture of one row has no such field. */
SobelImage sobel_image_field (const SobelImage *image, unsigned field);

#ifdef __cplusplus
}
#endif
#endif

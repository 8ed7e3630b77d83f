/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_PICTURE_H
#define SOBEL_CUDA_PICTURE_H

#include "sobelrecipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One picture (a frame, or a field of one) as the kernels see it: plain data, passed by value as a kernel
 * argument. Plane addresses are the device's. The images' `format` pointers are the host's and not followed by
 * kernels; that is what the copies are for. */
typedef struct SobelCudaPicture
{
  SobelFormat in_format, out_format;
  SobelImage in, out;
  SobelRecipe recipe;
  uint8_t out_use[SOBEL_MAX_PLANES]; /* SobelPlaneUse bits; only WRITE planes are touched */
  uint32_t out_row_bytes[SOBEL_MAX_PLANES]; /* sobel_image_row_bytes */

  /* Luma rows to make. All of the picture, or a strip of it: then both are multiples of SOBEL_CUDA_ROW_UNIT, but
   * for the last end. The last strip's end covers the rows of samples that subsampled planes have beyond the
   * picture (sobel_cuda_picture_extent). */
  int32_t first_row, end_row;
} SobelCudaPicture;

enum { SOBEL_CUDA_ROW_UNIT = 16 }; /* rows of the fused kernel's tile; covers whole chroma rows of every format */

/* Luma rows that the written planes of the output have room for: the height, or more where a plane has more rows
 * of subsampled samples than the picture covers. */
static inline int32_t
sobel_cuda_picture_extent (const SobelCudaPicture *picture)
{
  int32_t extent = picture->out.height;
  unsigned i;

  for (i = 0; i < picture->out_format.n_components; i++) {
    const SobelComponent *c = &picture->out_format.component[i];
    const int32_t rows = picture->out.plane[c->plane].rows;

    if ((picture->out_use[c->plane] & SOBEL_PLANE_WRITE) && c->h_sub && rows << c->h_sub > extent)
      extent = rows << c->h_sub;
  }
  return extent;
}

/* Luma is a plane of bytes, one sample each, and nothing else is in it. */
static inline bool
sobel_cuda_is_byte_plane (const SobelFormat *format)
{
  const SobelComponent *c = &format->component[0];

  return format->family != SOBEL_FAMILY_RGB && c->bytes == 1 && c->depth == 8 && c->step == 1 && c->pair_step == 2;
}

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sobelimage.h"

size_t
sobel_image_row_bytes (const SobelFormat *format, unsigned plane, int32_t width)
{
  size_t bytes = 0;
  unsigned i;

  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];
    const int32_t n = sobel_subsampled (width, c->w_sub);
    size_t end;

    if (c->plane != plane)
      continue;
    /* The macropixel is as wide as the widest step of its components; IYU1's luma has no constant step,
     * and its chroma says how wide the macropixel is. */
    if (c->pair_step == 2 * c->step)
      end = (size_t) n * c->step;
    else
      end = c->offset + (size_t) ((n - 1) >> 1) * c->pair_step + (size_t) ((n - 1) & 1) * c->step + c->bytes;
    if (end > bytes)
      bytes = end;
  }
  return bytes;
}

int32_t
sobel_image_plane_rows (const SobelFormat *format, unsigned plane, int32_t height)
{
  int32_t rows = 0;
  unsigned i;

  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];
    const int32_t n = sobel_subsampled (height, c->h_sub);

    if (c->plane == plane && n > rows)
      rows = n;
  }
  return rows;
}

SobelImage
sobel_image_field (const SobelImage *image, unsigned field)
{
  SobelImage out = *image;
  unsigned i;

  out.height = (image->height + 1 - (int32_t) field) / 2;
  for (i = 0; i < image->format->n_planes; i++) {
    SobelPlane *plane = &out.plane[i];

    plane->rows = (plane->rows + 1 - (int32_t) field) / 2;
    /* A plane of one row has no second one to point at. */
    if (field && plane->rows > 0)
      plane->data += plane->stride;
    plane->stride *= 2;
  }
  return out;
}

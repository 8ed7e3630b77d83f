/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_FORMAT_H
#define SOBEL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SOBEL_MAX_PLANES = 4, SOBEL_MAX_COMPONENTS = 4 };

typedef enum SobelFamily
{
  SOBEL_FAMILY_GRAY,
  SOBEL_FAMILY_RGB,
  SOBEL_FAMILY_YUV,
} SobelFamily;

/* Where the samples of one component lie in a row of their plane.
 *
 * Sample x sits in a container of `bytes` bytes at
 *   offset + (x / 2) * pair_step + (x % 2) * step
 * and is (container >> shift) & (2^depth - 1). pair_step is 2 * step in every format but IYU1, whose
 * luma comes in pairs behind every third byte. */
typedef struct SobelComponent
{
  uint8_t plane;
  uint8_t offset;    /* bytes */
  uint8_t step;      /* bytes */
  uint8_t pair_step; /* bytes */
  uint8_t bytes;     /* container: 1, 2 or 4 */
  uint8_t shift;     /* bits below the sample */
  uint8_t depth;     /* significant bits, 2 to 16 */
  uint8_t w_sub;     /* log2 of the luma columns that one sample covers */
  uint8_t h_sub;     /* log2 of the luma rows that one sample covers */
} SobelComponent;

/* One row of the format table: the only description of pixel layouts in this project. */
typedef struct SobelFormat
{
  const char *name; /* as GStreamer spells it in caps */
  SobelFamily family;
  uint8_t n_planes;
  uint8_t n_components; /* GRAY: 1. RGB: R G B [A]. YUV: Y U V [A]. Alpha is always component 3 */
  bool big_endian;      /* of containers wider than one byte */
  bool padded;          /* component 3 is described but is filler (RGBx, BGR10x2), written as 2^depth - 1 */
  SobelComponent component[SOBEL_MAX_COMPONENTS];
} SobelFormat;

/* The row named `name`, or NULL where this project has none. */
const SobelFormat *sobel_format_find (const char *name);

/* The n-th row, from 0; NULL past the last. */
const SobelFormat *sobel_format_nth (unsigned n);

static inline bool
sobel_format_has_alpha (const SobelFormat *format)
{
  return format->n_components == 4 && !format->padded;
}

/* Bits of a luma, gray or RGB sample: 8 to 16. */
static inline unsigned
sobel_format_depth (const SobelFormat *format)
{
  return format->component[0].depth;
}

/* Samples in a row (or rows of samples) of a component of a picture `size` pixels wide (or high). */
static inline int32_t
sobel_subsampled (int32_t size, unsigned sub)
{
  return (int32_t) (((int64_t) size + (1 << sub) - 1) >> sub);
}

#ifdef __cplusplus
}
#endif
#endif

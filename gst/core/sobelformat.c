/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sobelformat.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HOST_BE true
#else
#define HOST_BE false
#endif

#define LE false
#define BE true

/* Subsampling: log2 of columns in the upper digit, log2 of rows in the lower. */
enum { S444 = 0x00, S422 = 0x10, S420 = 0x11, S411 = 0x20, S410 = 0x22 };

/* A component: plane, byte offset of sample 0, bytes from sample to sample, container bytes, bits below the
 * sample, depth, subsampling. */
#define COMP(plane, offset, step, bytes, shift, depth, sub)                                                            \
  {                                                                                                                    \
    plane, offset, step, 2 * (step), bytes, shift, depth, (sub) >> 4, (sub) & 15                                       \
  }
#define C8(plane, offset, step, sub) COMP (plane, offset, step, 1, 0, 8, sub)
#define C16(plane, offset, step, shift, depth, sub) COMP (plane, offset, step, 2, shift, depth, sub)
#define C32(shift, depth) COMP (0, 0, 4, 4, shift, depth, S444)

#define GRAY(name, big, ...)                                                                                           \
  {                                                                                                                    \
    name, SOBEL_FAMILY_GRAY, 1, 1, big, false,                                                                         \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
#define RGB(name, planes, components, big, padded, ...)                                                                \
  {                                                                                                                    \
    name, SOBEL_FAMILY_RGB, planes, components, big, padded,                                                           \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
#define YUV(name, planes, components, big, ...)                                                                        \
  {                                                                                                                    \
    name, SOBEL_FAMILY_YUV, planes, components, big, false,                                                            \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }

/* One plane a component; y, u, v (r, g, b) name the plane of each. */
#define YUV_PLANAR8(name, u, v, sub) YUV (name, 3, 3, LE, C8 (0, 0, 1, S444), C8 (u, 0, 1, sub), C8 (v, 0, 1, sub))
#define YUVA_PLANAR8(name, sub)                                                                                        \
  YUV (name, 4, 4, LE, C8 (0, 0, 1, S444), C8 (1, 0, 1, sub), C8 (2, 0, 1, sub), C8 (3, 0, 1, S444))
#define YUV_PLANAR16_(name, big, depth, sub)                                                                           \
  YUV (name, 3, 3, big, C16 (0, 0, 2, 0, depth, S444), C16 (1, 0, 2, 0, depth, sub), C16 (2, 0, 2, 0, depth, sub))
#define YUVA_PLANAR16_(name, big, depth, sub)                                                                          \
  YUV (name, 4, 4, big, C16 (0, 0, 2, 0, depth, S444), C16 (1, 0, 2, 0, depth, sub), C16 (2, 0, 2, 0, depth, sub),     \
       C16 (3, 0, 2, 0, depth, S444))
#define YUV_PLANAR16(name, depth, sub)                                                                                 \
  YUV_PLANAR16_ (name "LE", LE, depth, sub), YUV_PLANAR16_ (name "BE", BE, depth, sub)
#define YUVA_PLANAR16(name, depth, sub)                                                                                \
  YUVA_PLANAR16_ (name "LE", LE, depth, sub), YUVA_PLANAR16_ (name "BE", BE, depth, sub)
#define RGB_PLANAR8(name, r, g, b)                                                                                     \
  RGB (name, 3, 3, LE, false, C8 (r, 0, 1, S444), C8 (g, 0, 1, S444), C8 (b, 0, 1, S444))
#define GBR_PLANAR16_(name, big, depth)                                                                                \
  RGB (name, 3, 3, big, false, C16 (2, 0, 2, 0, depth, S444), C16 (0, 0, 2, 0, depth, S444),                           \
       C16 (1, 0, 2, 0, depth, S444))
#define GBRA_PLANAR16_(name, big, depth)                                                                               \
  RGB (name, 4, 4, big, false, C16 (2, 0, 2, 0, depth, S444), C16 (0, 0, 2, 0, depth, S444),                           \
       C16 (1, 0, 2, 0, depth, S444), C16 (3, 0, 2, 0, depth, S444))
#define GBR_PLANAR16(name, depth) GBR_PLANAR16_ (name "LE", LE, depth), GBR_PLANAR16_ (name "BE", BE, depth)
#define GBRA_PLANAR16(name, depth) GBRA_PLANAR16_ (name "LE", LE, depth), GBRA_PLANAR16_ (name "BE", BE, depth)

/* Luma plane and a plane of chroma pairs; u and v are offsets within a pair. */
#define YUV_PAIRS8(name, u, v, sub) YUV (name, 2, 3, LE, C8 (0, 0, 1, S444), C8 (1, u, 2, sub), C8 (1, v, 2, sub))
#define YUV_PAIRS16_(name, big, shift, depth)                                                                          \
  YUV (name, 2, 3, big, C16 (0, 0, 2, shift, depth, S444), C16 (1, 0, 4, shift, depth, S420),                          \
       C16 (1, 2, 4, shift, depth, S420))
#define YUV_PAIRS16(name, shift, depth)                                                                                \
  YUV_PAIRS16_ (name "LE", LE, shift, depth), YUV_PAIRS16_ (name "BE", BE, shift, depth)

/* Packed; the numbers are offsets in samples from the start of the pixel (of the pair of pixels for 4:2:2). */
#define RGB24(name, r, g, b) RGB (name, 1, 3, LE, false, C8 (0, r, 3, S444), C8 (0, g, 3, S444), C8 (0, b, 3, S444))
#define RGB32(name, padded, r, g, b, a)                                                                                \
  RGB (name, 1, 4, LE, padded, C8 (0, r, 4, S444), C8 (0, g, 4, S444), C8 (0, b, 4, S444), C8 (0, a, 4, S444))
#define RGB64(name, big, r, g, b, a)                                                                                   \
  RGB (name, 1, 4, big, false, C16 (0, 2 * (r), 8, 0, 16, S444), C16 (0, 2 * (g), 8, 0, 16, S444),                     \
       C16 (0, 2 * (b), 8, 0, 16, S444), C16 (0, 2 * (a), 8, 0, 16, S444))
#define YUV24(name, y, u, v) YUV (name, 1, 3, LE, C8 (0, y, 3, S444), C8 (0, u, 3, S444), C8 (0, v, 3, S444))
#define YUV32(name, y, u, v, a)                                                                                        \
  YUV (name, 1, 4, LE, C8 (0, y, 4, S444), C8 (0, u, 4, S444), C8 (0, v, 4, S444), C8 (0, a, 4, S444))
#define YUV64(name, big, shift, depth, y, u, v, a)                                                                     \
  YUV (name, 1, 4, big, C16 (0, 2 * (y), 8, shift, depth, S444), C16 (0, 2 * (u), 8, shift, depth, S444),              \
       C16 (0, 2 * (v), 8, shift, depth, S444), C16 (0, 2 * (a), 8, shift, depth, S444))
#define YUV422_8(name, y, u, v) YUV (name, 1, 3, LE, C8 (0, y, 2, S444), C8 (0, u, 4, S422), C8 (0, v, 4, S422))
#define YUV422_16(name, big, shift, depth, y, u, v)                                                                    \
  YUV (name, 1, 3, big, C16 (0, 2 * (y), 4, shift, depth, S444), C16 (0, 2 * (u), 8, shift, depth, S422),              \
       C16 (0, 2 * (v), 8, shift, depth, S422))

/* Three components of 10 bits and one of 2 in a word; the numbers are shifts. */
#define RGB10(name, components, big, padded, r, g, b)                                                                  \
  RGB (name, 1, components, big, padded, C32 (r, 10), C32 (g, 10), C32 (b, 10), C32 (30, 2))

/* tests/core/test_format.c proves every row, sample by sample, against GStreamer's pack and unpack functions,
 * and that none is missing. Its own description of offsets and depths is wrong for some formats. */
static const SobelFormat formats[] = {
    GRAY ("GRAY8", LE, C8 (0, 0, 1, S444)),
    GRAY ("GRAY16_LE", LE, C16 (0, 0, 2, 0, 16, S444)),
    GRAY ("GRAY16_BE", BE, C16 (0, 0, 2, 0, 16, S444)),
    GRAY ("GRAY10_LE16", LE, C16 (0, 0, 2, 0, 10, S444)),

    RGB24 ("RGB", 0, 1, 2),
    RGB24 ("BGR", 2, 1, 0),
    RGB32 ("RGBx", true, 0, 1, 2, 3),
    RGB32 ("BGRx", true, 2, 1, 0, 3),
    RGB32 ("xRGB", true, 1, 2, 3, 0),
    RGB32 ("xBGR", true, 3, 2, 1, 0),
    RGB32 ("RGBA", false, 0, 1, 2, 3),
    RGB32 ("BGRA", false, 2, 1, 0, 3),
    RGB32 ("ARGB", false, 1, 2, 3, 0),
    RGB32 ("ABGR", false, 3, 2, 1, 0),
    RGB32 ("RBGA", false, 0, 2, 1, 3),
    RGB_PLANAR8 ("RGBP", 0, 1, 2),
    RGB_PLANAR8 ("BGRP", 2, 1, 0),
    RGB_PLANAR8 ("GBR", 2, 0, 1),
    RGB ("GBRA", 4, 4, LE, false, C8 (2, 0, 1, S444), C8 (0, 0, 1, S444), C8 (1, 0, 1, S444), C8 (3, 0, 1, S444)),
    GBR_PLANAR16 ("GBR_10", 10),
    GBR_PLANAR16 ("GBR_12", 12),
    GBR_PLANAR16 ("GBR_16", 16),
    GBRA_PLANAR16 ("GBRA_10", 10),
    GBRA_PLANAR16 ("GBRA_12", 12),
    RGB64 ("ARGB64", HOST_BE, 1, 2, 3, 0),
    RGB64 ("ARGB64_LE", LE, 1, 2, 3, 0),
    RGB64 ("ARGB64_BE", BE, 1, 2, 3, 0),
    RGB64 ("RGBA64_LE", LE, 0, 1, 2, 3),
    RGB64 ("RGBA64_BE", BE, 0, 1, 2, 3),
    RGB64 ("BGRA64_LE", LE, 2, 1, 0, 3),
    RGB64 ("BGRA64_BE", BE, 2, 1, 0, 3),
    RGB64 ("ABGR64_LE", LE, 3, 2, 1, 0),
    RGB64 ("ABGR64_BE", BE, 3, 2, 1, 0),
    RGB10 ("r210", 3, BE, false, 20, 10, 0),
    RGB10 ("BGR10A2_LE", 4, LE, false, 20, 10, 0),
    RGB10 ("RGB10A2_LE", 4, LE, false, 0, 10, 20),
    RGB10 ("BGR10x2_LE", 4, LE, true, 20, 10, 0),
    RGB10 ("RGB10x2_LE", 4, LE, true, 0, 10, 20),

    YUV_PLANAR8 ("I420", 1, 2, S420),
    YUV_PLANAR8 ("YV12", 2, 1, S420),
    YUV_PLANAR8 ("Y42B", 1, 2, S422),
    YUV_PLANAR8 ("Y41B", 1, 2, S411),
    YUV_PLANAR8 ("Y444", 1, 2, S444),
    YUV_PLANAR8 ("YUV9", 1, 2, S410),
    YUV_PLANAR8 ("YVU9", 2, 1, S410),
    YUV_PLANAR16 ("I420_10", 10, S420),
    YUV_PLANAR16 ("I420_12", 12, S420),
    YUV_PLANAR16 ("I422_10", 10, S422),
    YUV_PLANAR16 ("I422_12", 12, S422),
    YUV_PLANAR16 ("Y444_10", 10, S444),
    YUV_PLANAR16 ("Y444_12", 12, S444),
    YUV_PLANAR16 ("Y444_16", 16, S444),
    YUVA_PLANAR8 ("A420", S420),
    YUVA_PLANAR8 ("A422", S422),
    YUVA_PLANAR8 ("A444", S444),
    YUVA_PLANAR16 ("A420_10", 10, S420),
    YUVA_PLANAR16 ("A420_12", 12, S420),
    YUVA_PLANAR16 ("A420_16", 16, S420),
    YUVA_PLANAR16 ("A422_10", 10, S422),
    YUVA_PLANAR16 ("A422_12", 12, S422),
    YUVA_PLANAR16 ("A422_16", 16, S422),
    YUVA_PLANAR16 ("A444_10", 10, S444),
    YUVA_PLANAR16 ("A444_12", 12, S444),
    YUVA_PLANAR16 ("A444_16", 16, S444),

    YUV_PAIRS8 ("NV12", 0, 1, S420),
    YUV_PAIRS8 ("NV21", 1, 0, S420),
    YUV_PAIRS8 ("NV16", 0, 1, S422),
    YUV_PAIRS8 ("NV61", 1, 0, S422),
    YUV_PAIRS8 ("NV24", 0, 1, S444),
    YUV_PAIRS16 ("P010_10", 6, 10),
    YUV_PAIRS16 ("P012_", 4, 12),
    YUV_PAIRS16 ("P016_", 0, 16),
    YUV ("AV12", 3, 4, LE, C8 (0, 0, 1, S444), C8 (1, 0, 2, S420), C8 (1, 1, 2, S420), C8 (2, 0, 1, S444)),

    YUV422_8 ("YUY2", 0, 1, 3),
    YUV422_8 ("YVYU", 0, 3, 1),
    YUV422_8 ("UYVY", 1, 0, 2),
    YUV422_8 ("VYUY", 1, 2, 0),
    YUV422_16 ("v216", LE, 0, 16, 1, 0, 2),
    YUV422_16 ("Y210", LE, 6, 10, 0, 1, 3),
    YUV422_16 ("Y212_LE", LE, 4, 12, 0, 1, 3),
    YUV422_16 ("Y212_BE", BE, 4, 12, 0, 1, 3),
    YUV422_16 ("Y216_LE", LE, 0, 16, 0, 1, 3),
    YUV422_16 ("Y216_BE", BE, 0, 16, 0, 1, 3),
    YUV ("IYU1", 1, 3, LE, {0, 1, 1, 3, 1, 0, 8, 0, 0}, C8 (0, 0, 6, S411), C8 (0, 3, 6, S411)),
    YUV24 ("IYU2", 1, 0, 2),
    YUV24 ("v308", 0, 1, 2),
    YUV32 ("AYUV", 1, 2, 3, 0),
    YUV32 ("VUYA", 2, 1, 0, 3),
    YUV ("Y410", 1, 4, LE, C32 (10, 10), C32 (0, 10), C32 (20, 10), C32 (30, 2)),
    YUV64 ("AYUV64", HOST_BE, 0, 16, 1, 2, 3, 0),
    YUV64 ("Y412_LE", LE, 4, 12, 1, 0, 2, 3),
    YUV64 ("Y412_BE", BE, 4, 12, 1, 0, 2, 3),
    YUV64 ("Y416_LE", LE, 0, 16, 1, 0, 2, 3),
    YUV64 ("Y416_BE", BE, 0, 16, 1, 0, 2, 3),
};

enum { N_FORMATS = sizeof formats / sizeof formats[0] };

const SobelFormat *
sobel_format_find (const char *name)
{
  unsigned i;

  if (!name)
    return NULL;
  for (i = 0; i < N_FORMATS; i++) {
    if (strcmp (formats[i].name, name) == 0)
      return &formats[i];
  }
  return NULL;
}

const SobelFormat *
sobel_format_nth (unsigned n)
{
  return n < N_FORMATS ? &formats[n] : NULL;
}

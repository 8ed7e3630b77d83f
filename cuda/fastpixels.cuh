/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_FASTPIXELS_CUH
#define SOBEL_CUDA_FASTPIXELS_CUH

/* Rows of pixels in and out of the fast kernels: a warp takes 32 N pixels of a row, lane after lane.
 *
 * A pixel type P is what a lane knows of its place in every row, and has
 *   WORDS   words of luma a lane (N / 4)
 *   STAGE   bytes of shared memory a warp needs
 *   MIN_BLOCKS  blocks to be resident on a multiprocessor, which bounds the registers
 *   Raw     a lane's share of a row as loaded, a row or two ahead of its use
 *   Keep    what of a row is needed again when its edges are known (alpha)
 *   load    starts the loads of a row
 *   luma    the words of luma; and for the first and last lane the word beside the warp's own
 *   store   writes edges
 * Rows begin at 16-byte boundaries and may be read to the end of the vector that their last pixel is in. Lanes beyond
 * the picture load something that is inside. */

#include "fastcore.cuh"
#include "sobelparams.h"

typedef struct SobelFastArgs
{
  SobelFastMath math;
  const uint8_t *in;
  uint8_t *out;
  int64_t in_stride, out_stride;
  int64_t below_step; /* from the input's last row to the one that stands for the row below it */
  int32_t width, height;
  int32_t first_row, end_row; /* to make */
  int32_t rows;               /* a warp's share */
  int32_t border;             /* SobelBorder */
  uint32_t outside;           /* luma byte, in all four bytes */

  /* RGB: 16-bit weights of the pixel's bytes 0 and 1, and 2 and 3; luma = (sum * divisor >> 32) >> divisor_shift. */
  uint32_t weights_lo, weights_hi, divisor, divisor_shift;
  /* RGB32: byte selection that makes the first pixel of four from edges (0 to 3) and the input's pixel (4 to 7), and
   * what to or into that: opaque filler. */
  uint32_t pixel_select, pixel_fill;
} SobelFastArgs;

typedef struct SobelFastLane
{
  int32_t x; /* first pixel */
  int32_t n; /* pixels of the picture from x on; 0 or less: none */
  unsigned lane;
  uint4 *stage; /* the warp's shared memory */
} SobelFastLane;

static __device__ __forceinline__ uint32_t
sobel_fast_luma (const SobelFastArgs &a, uint32_t pixel)
{
  uint32_t sum;
#if __CUDA_ARCH__ >= 610
  asm ("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a.weights_hi), "r"(pixel), "r"(0));
  asm ("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a.weights_lo), "r"(pixel), "r"(sum));
#else
  sum = (a.weights_lo & 0xffff) * (pixel & 0xff) + (a.weights_lo >> 16) * (pixel >> 8 & 0xff) +
        (a.weights_hi & 0xffff) * (pixel >> 16 & 0xff) + (a.weights_hi >> 16) * (pixel >> 24);
#endif
  return __umulhi (sum, a.divisor) >> a.divisor_shift;
}

static __device__ __forceinline__ uint32_t
sobel_pack_bytes (uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return __byte_perm (__byte_perm (a, b, 0x0040), __byte_perm (c, d, 0x0040), 0x5410);
}

/* The first `count` bytes of the words. */
template <int WORDS>
static __device__ __forceinline__ void
sobel_store_bytes (uint8_t *p, const uint32_t *w, int32_t count)
{
#pragma unroll
  for (int i = 0; i < 4 * WORDS; i++)
    if (i < count)
      p[i] = (uint8_t) (w[i / 4] >> 8 * (i % 4));
}

template <int W> struct SobelVector;
template <> struct SobelVector<1> {
  typedef uint32_t Type;
};
template <> struct SobelVector<2> {
  typedef uint2 Type;
};
template <> struct SobelVector<4> {
  typedef uint4 Type;
};

/* Only the first lane has pixels to its left in another warp, and only the last to its right. */
static __device__ __forceinline__ bool
sobel_fast_has_beside (const SobelFastLane &l, int32_t n)
{
  return (l.lane == 0 && l.x > 0) || (l.lane == 31 && l.n > n);
}

/* ---- a plane of bytes ----------------------------------------------------------------------------- */

template <int W> struct SobelLumaPixels {
  enum { WORDS = W, STAGE = 0, N = 4 * W, MIN_BLOCKS = W == 4 ? 4 : 5 };
  typedef typename SobelVector<W>::Type Vector;
  struct Raw {
    Vector v;
    uint32_t beside;
  };
  struct Keep {
  };

  uint32_t at, beside_at; /* bytes from a row's start */
  bool has_beside;

  __device__ __forceinline__
  SobelLumaPixels (const SobelFastArgs &a, const SobelFastLane &l)
      : at (min (l.x, (a.width - 1) / N * N)), beside_at (l.lane == 0 ? l.x - 4 : l.x + N),
        has_beside (sobel_fast_has_beside (l, N))
  {
  }

  __device__ __forceinline__ void
  load (const uint8_t *row, Raw &raw) const
  {
    raw.v = __ldg (reinterpret_cast<const Vector *> (row + at));
    if (has_beside)
      raw.beside = __ldg (reinterpret_cast<const uint32_t *> (row + beside_at));
  }

  __device__ __forceinline__ void
  luma (const SobelFastArgs &, const SobelFastLane &, const Raw &raw, uint32_t (&w)[W], uint32_t &beside, Keep &) const
  {
    *reinterpret_cast<Vector *> (w) = raw.v;
    beside = raw.beside;
  }

  /* WHOLE: a lane has N pixels or none. */
  template <bool WHOLE>
  static __device__ __forceinline__ void
  store (const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[W])
  {
    if (l.n >= (WHOLE ? 1 : N))
      *reinterpret_cast<Vector *> (row + (uint32_t) l.x) = *reinterpret_cast<const Vector *> (e);
    else if (!WHOLE && l.n > 0)
      sobel_store_bytes<W> (row + (uint32_t) l.x, e, l.n);
  }

  template <bool WHOLE>
  __device__ __forceinline__ void
  store (const SobelFastArgs &, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[W], const Keep &) const
  {
    store<WHOLE> (l, row, e);
  }
};

/* ---- three bytes a pixel -------------------------------------------------------------------------- */

/* Rows go through shared memory, so that global memory sees whole vectors side by side: lane i loads vectors i,
 * 32 + i and 64 + i of the warp's 96, and takes 3 i to 3 i + 2. */
template <bool TO_LUMA> struct SobelRgb24Pixels {
  enum { WORDS = 4, N = 16, STAGE = 32 * 3 * N, MIN_BLOCKS = 3 };
  struct Raw {
    uint4 v[3];
    uint32_t beside; /* pixel */
  };
  struct Keep {
  };

  uint32_t at[3], beside_at; /* bytes from a row's start */
  uint32_t first;            /* where the warp's pixels begin, likewise */
  int32_t bytes;             /* of them that are in the picture */
  bool has_beside;

  __device__ __forceinline__
  SobelRgb24Pixels (const SobelFastArgs &a, const SobelFastLane &l)
      : has_beside (sobel_fast_has_beside (l, N))
  {
    const int32_t x0 = l.x - (int32_t) l.lane * N;

    first = 3 * x0;
    bytes = 3 * min (a.width - x0, 32 * (int32_t) N);
#pragma unroll
    for (int i = 0; i < 3; i++)
      at[i] = first + 16 * min ((int32_t) l.lane + 32 * i, (bytes - 1) / 16);
    beside_at = l.lane == 0 ? first - 3 : first + STAGE;
  }

  __device__ __forceinline__ void
  load (const uint8_t *row, Raw &raw) const
  {
#pragma unroll
    for (int i = 0; i < 3; i++)
      raw.v[i] = __ldg (reinterpret_cast<const uint4 *> (row + at[i]));
    if (has_beside)
      raw.beside = __ldg (row + beside_at) | (uint32_t) __ldg (row + beside_at + 1) << 8 |
                   (uint32_t) __ldg (row + beside_at + 2) << 16;
  }

  __device__ __forceinline__ void
  luma (const SobelFastArgs &a, const SobelFastLane &l, const Raw &raw, uint32_t (&w)[4], uint32_t &beside,
        Keep &) const
  {
    uint32_t b[12];

    __syncwarp ();
#pragma unroll
    for (int i = 0; i < 3; i++)
      l.stage[l.lane + 32 * i] = raw.v[i];
    __syncwarp ();
#pragma unroll
    for (int i = 0; i < 3; i++)
      *reinterpret_cast<uint4 *> (b + 4 * i) = l.stage[3 * l.lane + i];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t *q = b + 3 * i;
      w[i] = sobel_pack_bytes (sobel_fast_luma (a, q[0]), sobel_fast_luma (a, __byte_perm (q[0], q[1], 0x6543)),
                               sobel_fast_luma (a, __byte_perm (q[1], q[2], 0x5432)), sobel_fast_luma (a, q[2] >> 8));
    }
    if (has_beside)
      beside = sobel_fast_luma (a, raw.beside) * 0x01010101u;
  }

  template <bool WHOLE>
  __device__ __forceinline__ void
  store (const SobelFastArgs &, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4], const Keep &) const
  {
    if (TO_LUMA)
      SobelLumaPixels<4>::store<WHOLE> (l, row, e);
    else
      store_pixels<WHOLE> (l, row, e);
  }

private:
  template <bool WHOLE>
  __device__ __forceinline__ void
  store_pixels (const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4]) const
  {
    uint32_t b[12];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      b[3 * i] = __byte_perm (e[i], 0, 0x1000);
      b[3 * i + 1] = __byte_perm (e[i], 0, 0x2211);
      b[3 * i + 2] = __byte_perm (e[i], 0, 0x3332);
    }
    __syncwarp ();
#pragma unroll
    for (int i = 0; i < 3; i++)
      l.stage[3 * l.lane + i] = *reinterpret_cast<const uint4 *> (b + 4 * i);
    __syncwarp ();
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const uint32_t to = 16 * (l.lane + 32 * i);
      const uint4 v = l.stage[l.lane + 32 * i];
      if ((int32_t) to + 16 <= bytes) {
        *reinterpret_cast<uint4 *> (row + first + to) = v;
      } else if (!WHOLE && (int32_t) to < bytes) {
        const uint32_t part[4] = {v.x, v.y, v.z, v.w};
        sobel_store_bytes<4> (row + first + to, part, bytes - (int32_t) to);
      }
    }
  }
};

/* ---- four bytes a pixel --------------------------------------------------------------------------- */

template <bool TO_LUMA> struct SobelRgb32Pixels {
  enum { WORDS = 1, N = 4, STAGE = 0, MIN_BLOCKS = 6 };
  struct Raw {
    uint4 v;
    uint32_t beside; /* pixel */
  };
  struct Keep {
    uint4 v;
  };

  uint32_t at, beside_at; /* bytes from a row's start */
  bool has_beside;

  __device__ __forceinline__
  SobelRgb32Pixels (const SobelFastArgs &a, const SobelFastLane &l)
      : at (4 * min (l.x, (a.width - 1) / N * N)), beside_at (4 * (l.lane == 0 ? l.x - 1 : l.x + N)),
        has_beside (sobel_fast_has_beside (l, N))
  {
  }

  __device__ __forceinline__ void
  load (const uint8_t *row, Raw &raw) const
  {
    raw.v = __ldg (reinterpret_cast<const uint4 *> (row + at));
    if (has_beside)
      raw.beside = __ldg (reinterpret_cast<const uint32_t *> (row + beside_at));
  }

  __device__ __forceinline__ void
  luma (const SobelFastArgs &a, const SobelFastLane &l, const Raw &raw, uint32_t (&w)[1], uint32_t &beside,
        Keep &keep) const
  {
    keep.v = raw.v;
    w[0] = sobel_pack_bytes (sobel_fast_luma (a, raw.v.x), sobel_fast_luma (a, raw.v.y), sobel_fast_luma (a, raw.v.z),
                             sobel_fast_luma (a, raw.v.w));
    if (has_beside)
      beside = sobel_fast_luma (a, raw.beside) * 0x01010101u;
  }

  template <bool WHOLE>
  __device__ __forceinline__ void
  store (const SobelFastArgs &a, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[1], const Keep &keep) const
  {
    if (TO_LUMA)
      SobelLumaPixels<1>::store<WHOLE> (l, row, e);
    else
      store_pixels<WHOLE> (a, l, row, e, keep);
  }

private:
  template <bool WHOLE>
  __device__ __forceinline__ void
  store_pixels (const SobelFastArgs &a, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[1],
                const Keep &keep) const
  {
    const uint32_t s = a.pixel_select, f = a.pixel_fill;
    /* The selection's edge digits count on from pixel to pixel; the digit of the input's byte stays. */
    const uint32_t step = 0x1111 & ~(s >> 2);
    uint32_t p[4];

    p[0] = __byte_perm (e[0], keep.v.x, s) | f;
    p[1] = __byte_perm (e[0], keep.v.y, s + step) | f;
    p[2] = __byte_perm (e[0], keep.v.z, s + 2 * step) | f;
    p[3] = __byte_perm (e[0], keep.v.w, s + 3 * step) | f;
    if (l.n >= (WHOLE ? 1 : N)) {
      *reinterpret_cast<uint4 *> (row + 4 * (uint32_t) l.x) = make_uint4 (p[0], p[1], p[2], p[3]);
    } else if (!WHOLE) {
#pragma unroll
      for (int i = 0; i < N; i++)
        if (i < l.n)
          reinterpret_cast<uint32_t *> (row)[l.x + i] = p[i];
    }
  }
};

#endif

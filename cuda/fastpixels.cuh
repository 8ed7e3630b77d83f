/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_FASTPIXELS_CUH
#define SOBEL_CUDA_FASTPIXELS_CUH

/* Rows of pixels in and out of the fast kernels. A warp takes 512 pixels of a row, 16 a lane. Rows are copied to shared
 * memory some rows ahead of their use, whole vectors side by side, each to a slot of a ring; a slot is
 *   12 bytes of nothing, the 4 bytes left of the warp's pixels, the pixels, the 4 bytes right of them.
 *
 * A pixel type P is what a lane knows of its place in every row, and has
 *   SLOT    bytes of a slot
 *   BUSY    slots that a row is still needed in after it has given its luma (it is then read again and overwritten when
 *           its edges are stored)
 *   MIN_BLOCKS  blocks to be resident on a multiprocessor, which bounds the registers
 *   Copies  how rows come to their slots (fastcopy.cuh)
 *   fetch   starts the copy of a row to a slot, by all lanes
 *   luma    a slot's words of luma, and the words beside them
 *   store   writes edges; `slot` is where their row was
 * Rows begin at 16-byte boundaries and may be read to the end of the vector that their last pixel is in. Lanes beyond
 * the picture load something that is inside. */

#include "fastcopy.cuh"
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
  bool to_luma;               /* RGB: the output is a plane of bytes */

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
} SobelFastLane;

enum { FAST_WORDS = 4, FAST_PIXELS = 16 };

/* ---- shared memory -------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint4
sobel_shared_vector (const uint8_t *at)
{
  return *reinterpret_cast<const uint4 *> (at);
}

static __device__ __forceinline__ uint32_t
sobel_shared_word (const uint8_t *at)
{
  return *reinterpret_cast<const uint32_t *> (at);
}

/* ---- luma ----------------------------------------------------------------------------------------- */

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

/* ---- stores --------------------------------------------------------------------------------------- */

/* The first `count` bytes of a vector. WHOLE: all or none. */
template <bool WHOLE>
static __device__ __forceinline__ void
sobel_store_vector (uint8_t *p, uint4 v, int32_t count)
{
  if (count >= (WHOLE ? 1 : 16)) {
    *reinterpret_cast<uint4 *> (p) = v;
  } else if (!WHOLE && count > 0) {
    const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 16; i++)
      if (i < count)
        p[i] = (uint8_t) (w[i / 4] >> 8 * (i % 4));
  }
}

template <bool WHOLE>
static __device__ __forceinline__ void
sobel_store_luma (const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4])
{
  sobel_store_vector<WHOLE> (row + (uint32_t) l.x, make_uint4 (e[0], e[1], e[2], e[3]), l.n);
}

/* ---- what the pixel types share ------------------------------------------------------------------- */

/* BYTES a pixel. VECTORS: copied by a lane, 32 apart. */
template <int BYTES> struct SobelPixelRows {
  enum { VECTORS = BYTES, MARGIN = 16, ROW = 32 * FAST_PIXELS * BYTES, SLOT = ROW + 2 * MARGIN };

  uint32_t at[VECTORS], beside_at; /* bytes from a row's start */
  uint32_t beside_to;              /* bytes from a slot's start */
  uint32_t first;                  /* where the warp's pixels begin in a row, bytes */
  int32_t bytes;                   /* of them that are in the picture */
  bool goes_on;                    /* the row does, behind them */
  bool has_beside;                 /* this lane copies the bytes left or right of them */

  __device__ __forceinline__
  SobelPixelRows (const SobelFastArgs &a, const SobelFastLane &l)
      : beside_to (l.lane == 0 ? MARGIN - 4 : MARGIN + ROW),
        has_beside ((l.lane == 0 && l.x > 0) || (l.lane == 31 && l.n > FAST_PIXELS))
  {
    const int32_t x0 = l.x - (int32_t) l.lane * FAST_PIXELS;

    first = (uint32_t) (BYTES * x0);
    bytes = BYTES * min (a.width - x0, 32 * (int32_t) FAST_PIXELS);
    goes_on = a.width - x0 > 32 * (int32_t) FAST_PIXELS;
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      at[i] = first + 16 * min (l.lane + 32 * i, (uint32_t) (bytes - 1) / 16);
    beside_at = l.lane == 0 ? first - 4 : first + ROW;
  }

  __device__ __forceinline__ void
  fetch_beside (const uint8_t *row, uint8_t *slot) const
  {
    if (has_beside)
      sobel_copy_ahead<4> (slot + beside_to, row + beside_at);
  }
};

/* ---- a plane of bytes ----------------------------------------------------------------------------- */

struct SobelLumaPixels : SobelPixelRows<1> {
  enum { BUSY = 0, MIN_BLOCKS = 14 };
#if SOBEL_HAS_BULK_COPIES
  typedef SobelBulkCopies Copies;
#else
  typedef SobelLaneCopies Copies;
#endif

  __device__ __forceinline__
  SobelLumaPixels (const SobelFastArgs &a, const SobelFastLane &l) : SobelPixelRows<1> (a, l)
  {
  }

  __device__ __forceinline__ void
  fetch (unsigned lane, const uint8_t *row, uint8_t *slot) const
  {
    sobel_copy_ahead<16> (slot + MARGIN + 16 * lane, row + at[0]);
    fetch_beside (row, slot);
  }

  __device__ __forceinline__ void
  luma (const SobelFastArgs &, const SobelFastLane &l, const uint8_t *slot, uint32_t (&w)[4], uint32_t &left,
        uint32_t &right) const
  {
    const uint8_t *own = slot + MARGIN + 16 * l.lane;

    *reinterpret_cast<uint4 *> (w) = sobel_shared_vector (own);
    left = sobel_shared_word (own - 4);
    right = sobel_shared_word (own + 16);
  }

  template <bool WHOLE>
  __device__ __forceinline__ void
  store (const SobelFastArgs &, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4], uint8_t *) const
  {
    sobel_store_luma<WHOLE> (l, row, e);
  }
};

/* ---- three bytes a pixel -------------------------------------------------------------------------- */

struct SobelRgb24Pixels : SobelPixelRows<3> {
  enum { BUSY = 1, MIN_BLOCKS = 10 };
  typedef SobelLaneCopies Copies;

  __device__ __forceinline__
  SobelRgb24Pixels (const SobelFastArgs &a, const SobelFastLane &l) : SobelPixelRows<3> (a, l)
  {
  }

  __device__ __forceinline__ void
  fetch (unsigned lane, const uint8_t *row, uint8_t *slot) const
  {
#pragma unroll
    for (int i = 0; i < 3; i++)
      sobel_copy_ahead<16> (slot + MARGIN + 16 * (lane + 32 * i), row + at[i]);
    fetch_beside (row, slot);
  }

  __device__ __forceinline__ void
  luma (const SobelFastArgs &a, const SobelFastLane &l, const uint8_t *slot, uint32_t (&w)[4], uint32_t &left,
        uint32_t &right) const
  {
    const uint8_t *own = slot + MARGIN + 48 * l.lane;
    uint32_t b[12];

#pragma unroll
    for (int i = 0; i < 3; i++)
      *reinterpret_cast<uint4 *> (b + 4 * i) = sobel_shared_vector (own + 16 * i);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t *q = b + 3 * i;
      w[i] = sobel_pack_bytes (sobel_fast_luma (a, q[0]), sobel_fast_luma (a, __byte_perm (q[0], q[1], 0x6543)),
                               sobel_fast_luma (a, __byte_perm (q[1], q[2], 0x5432)), sobel_fast_luma (a, q[2] >> 8));
    }
    left = sobel_fast_luma (a, sobel_shared_word (own - 4) >> 8) << 24;
    right = sobel_fast_luma (a, sobel_shared_word (own + 48));
  }

  template <bool WHOLE>
  __device__ __forceinline__ void
  store (const SobelFastArgs &a, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4], uint8_t *slot) const
  {
    if (a.to_luma)
      sobel_store_luma<WHOLE> (l, row, e);
    else
      store_pixels<WHOLE> (l, row, e, slot + MARGIN);
  }

private:
  /* By way of shared memory, so that global memory sees whole vectors side by side. */
  template <bool WHOLE>
  __device__ __forceinline__ void
  store_pixels (const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4], uint8_t *stage) const
  {
    uint32_t b[12];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      b[3 * i] = __byte_perm (e[i], 0, 0x1000);
      b[3 * i + 1] = __byte_perm (e[i], 0, 0x2211);
      b[3 * i + 2] = __byte_perm (e[i], 0, 0x3332);
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
      *reinterpret_cast<uint4 *> (stage + 48 * l.lane + 16 * i) = *reinterpret_cast<const uint4 *> (b + 4 * i);
    __syncwarp ();
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const uint32_t to = 16 * (l.lane + 32 * i);
      sobel_store_vector<WHOLE> (row + first + to, sobel_shared_vector (stage + to), bytes - (int32_t) to);
    }
  }
};

/* ---- four bytes a pixel --------------------------------------------------------------------------- */

/* Vectors are swizzled in the slots, or the four that a lane takes would fall into the same banks as its
 * neighbours'. */
struct SobelRgb32Pixels : SobelPixelRows<4> {
  enum { BUSY = 1, MIN_BLOCKS = 10 };
  typedef SobelLaneCopies Copies;

  uint32_t left_at, right_at; /* of the words beside the lane's own, in a slot */

  __device__ __forceinline__
  SobelRgb32Pixels (const SobelFastArgs &a, const SobelFastLane &l)
      : SobelPixelRows<4> (a, l), left_at (l.lane == 0 ? MARGIN - 4 : vector_at (4 * l.lane - 1) + 12),
        right_at (l.lane == 31 ? MARGIN + ROW : vector_at (4 * l.lane + 4))
  {
  }

  static __device__ __forceinline__ uint32_t
  vector_at (uint32_t n)
  {
    return MARGIN + 16 * (n ^ (n >> 3 & 3));
  }

  __device__ __forceinline__ void
  fetch (unsigned lane, const uint8_t *row, uint8_t *slot) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      sobel_copy_ahead<16> (slot + vector_at (lane + 32 * i), row + at[i]);
    fetch_beside (row, slot);
  }

  __device__ __forceinline__ void
  luma (const SobelFastArgs &a, const SobelFastLane &l, const uint8_t *slot, uint32_t (&w)[4], uint32_t &left,
        uint32_t &right) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint4 v = sobel_shared_vector (slot + vector_at (4 * l.lane + i));
      w[i] = sobel_pack_bytes (sobel_fast_luma (a, v.x), sobel_fast_luma (a, v.y), sobel_fast_luma (a, v.z),
                               sobel_fast_luma (a, v.w));
    }
    left = sobel_fast_luma (a, sobel_shared_word (slot + left_at)) << 24;
    right = sobel_fast_luma (a, sobel_shared_word (slot + right_at));
  }

  template <bool WHOLE>
  __device__ __forceinline__ void
  store (const SobelFastArgs &a, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4], uint8_t *slot) const
  {
    if (a.to_luma)
      sobel_store_luma<WHOLE> (l, row, e);
    else
      store_pixels<WHOLE> (a, l, row, e, slot);
  }

private:
  /* Over the pixels themselves, for their alpha's sake, and then as they came. */
  template <bool WHOLE>
  __device__ __forceinline__ void
  store_pixels (const SobelFastArgs &a, const SobelFastLane &l, uint8_t *row, const uint32_t (&e)[4],
                uint8_t *slot) const
  {
    const uint32_t s = a.pixel_select, f = a.pixel_fill;
    /* The selection's edge digits count on from pixel to pixel; the digit of the input's byte stays. */
    const uint32_t step = 0x1111 & ~(s >> 2);

#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint4 *at = reinterpret_cast<uint4 *> (slot + vector_at (4 * l.lane + i));
      const uint4 v = *at;
      *at = make_uint4 (__byte_perm (e[i], v.x, s) | f, __byte_perm (e[i], v.y, s + step) | f,
                        __byte_perm (e[i], v.z, s + 2 * step) | f, __byte_perm (e[i], v.w, s + 3 * step) | f);
    }
    __syncwarp ();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t to = 16 * (l.lane + 32 * i);
      sobel_store_vector<WHOLE> (row + first + to, sobel_shared_vector (slot + vector_at (l.lane + 32 * i)),
                                 bytes - (int32_t) to);
    }
  }
};

#endif

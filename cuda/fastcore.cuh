/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_FASTCORE_CUH
#define SOBEL_CUDA_FASTCORE_CUH

/* Edges of 8-bit luma with few instructions a pixel. Four samples to a word, N = 4 W samples a thread, rows rolling
 * through registers: of each row the horizontal difference D (-1 0 1) and the horizontal sum T (s c s) are made once,
 *   gx(y) = s D(y-1) + c D(y) + s D(y+1),   gy(y) = T(y+1) - T(y-1).
 *
 * Everything is an integer times 2^-24. That is the step of a half's subnormals, so that a byte with a zero byte beside
 * it *is* a half, and of floats between 0.5 and 1. Sobel's and Prewitt's gradients stay within the 11 bits that a half
 * adds exactly, two pixels an instruction (SobelHalfRolling). Scharr's do not: there D and T are byte dot products
 * whose accumulator starts at the bits of 0.5 or 0.75, so that the result is a float without a conversion
 * (SobelFloatRolling).
 *
 * n = gx^2 + gy^2 + 1/2 is a float in units of 2^-48, its root one in units of 2^-24; rounding that towards zero to
 * half precision leaves floor (sqrt (gx^2 + gy^2)) as a subnormal, that is, as an integer.
 *
 * Exact: |gx|, |gy| <= 4080, so every difference and weighted sum has at most 13 bits; n is exact while below 2^23,
 * and above the root exceeds 255 anyway. sqrt.approx is within 2^-23 of the root, relatively, while the root of n is
 * at least 1/4 / k^2 > 2^-18 away (relatively) from every integer k <= 255. A test goes through all of them. */

#include "cudaroot.cuh"

#include <stdint.h>

#include <cuda_fp16.h>

/* What does not change from pixel to pixel. */
typedef struct SobelFastMath
{
  uint32_t sum_weights; /* of T: s, c, s in bytes 0 to 2 */
  float side, centre;
  uint32_t centre_halves; /* centre as a half, twice */
  float x_share, y_share; /* where no root is taken: E = |gx| x_share + |gy| y_share */
  uint32_t range_pair;     /* w - b, twice, in halves of a word */
  uint32_t threshold_pair; /* 0x8000 - threshold, twice; 0: none */
  uint32_t base, sign;     /* a byte of the output: base + sign * E, sign is 1 or -1; four bytes of base */
} SobelFastMath;

/* Four bytes of `a` with those of the constant `weights`, plus `sum`. */
static __device__ __forceinline__ uint32_t
sobel_dot (uint32_t a, uint32_t weights, uint32_t sum)
{
  uint32_t d;
#if __CUDA_ARCH__ >= 610
  asm ("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(weights), "r"(sum));
#else
  d = sum + (a & 0xff) * (uint32_t) (int8_t) weights + (a >> 8 & 0xff) * (uint32_t) (int8_t) (weights >> 8) +
      (a >> 16 & 0xff) * (uint32_t) (int8_t) (weights >> 16) + (a >> 24) * (uint32_t) (int8_t) (weights >> 24);
#endif
  return d;
}

/* floor (a / 2^-24) and floor (b / 2^-24), each at most what `range_pair` says, in the halves of a word. */
static __device__ __forceinline__ uint32_t
sobel_floor_pair (float a, float b, uint32_t range_pair)
{
  uint32_t pair;
#if __CUDA_ARCH__ >= 800
  asm ("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
  asm ("min.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(pair), "r"(range_pair));
#else
  /* The same with the subnormals of a float. */
  const uint32_t lo = (uint32_t) __float_as_int (__fmul_rz (a, 0x1p-125f));
  const uint32_t hi = (uint32_t) __float_as_int (__fmul_rz (b, 0x1p-125f));
  pair = min (lo, range_pair & 0xffff) | min (hi, range_pair & 0xffff) << 16;
#endif
  return pair;
}

/* E of two pixels. ROOT: l2 of both gradients. */
template <bool ROOT>
static __device__ __forceinline__ uint32_t
sobel_fast_pair (const SobelFastMath &m, float gx0, float gy0, float gx1, float gy1)
{
  float e0, e1;

  if (ROOT) {
    e0 = sobel_approximate_root (__fmaf_rn (gy0, gy0, __fmaf_rn (gx0, gx0, 0x1p-49f)));
    e1 = sobel_approximate_root (__fmaf_rn (gy1, gy1, __fmaf_rn (gx1, gx1, 0x1p-49f)));
  } else {
    e0 = __fmaf_rn (fabsf (gx0), m.x_share, fabsf (gy0) * m.y_share);
    e1 = __fmaf_rn (fabsf (gx1), m.x_share, fabsf (gy1) * m.y_share);
  }
  return sobel_floor_pair (e0, e1, m.range_pair);
}

/* Edges below the threshold become 0, in both halves. */
static __device__ __forceinline__ uint32_t
sobel_fast_threshold (const SobelFastMath &m, uint32_t pair)
{
  return pair & ((pair + m.threshold_pair) >> 15 & 0x00010001) * 0xffffu;
}

static const uint32_t SOBEL_HALF = 0x3f000000, SOBEL_THREE_QUARTERS = 0x3f400000; /* bits of 0.5f and 0.75f */

/* D and T of the four samples of w; `before` and `after` are the words beside it. */
static __device__ __forceinline__ void
sobel_fast_row (const SobelFastMath &m, uint32_t before, uint32_t w, uint32_t after, float d[4], float t[4])
{
  /* Samples 0 and 3 reach into the words beside: bytes -2 -1 0 1 and 2 3 4 5. */
  const uint32_t lo = __byte_perm (before, w, 0x5432), hi = __byte_perm (w, after, 0x5432);
  const uint32_t d0 = 0x000100ff, d1 = 0x0100ff00, t0 = m.sum_weights, t1 = m.sum_weights << 8;

  d[0] = __int_as_float ((int) sobel_dot (lo, d1, SOBEL_THREE_QUARTERS)) - 0.75f;
  d[1] = __int_as_float ((int) sobel_dot (w, d0, SOBEL_THREE_QUARTERS)) - 0.75f;
  d[2] = __int_as_float ((int) sobel_dot (w, d1, SOBEL_THREE_QUARTERS)) - 0.75f;
  d[3] = __int_as_float ((int) sobel_dot (hi, d0, SOBEL_THREE_QUARTERS)) - 0.75f;
  t[0] = __int_as_float ((int) sobel_dot (lo, t1, SOBEL_HALF));
  t[1] = __int_as_float ((int) sobel_dot (w, t0, SOBEL_HALF));
  t[2] = __int_as_float ((int) sobel_dot (w, t1, SOBEL_HALF));
  t[3] = __int_as_float ((int) sobel_dot (hi, t0, SOBEL_HALF));
}

/* Pairs of E in halves of words to four E in a word. */
template <int W>
static __device__ __forceinline__ void
sobel_fast_edges (const SobelFastMath &m, bool threshold, uint32_t (&pair)[2 * W], unsigned order,
                  uint32_t (&edges)[W])
{
  if (threshold) {
#pragma unroll
    for (int i = 0; i < 2 * W; i++)
      pair[i] = sobel_fast_threshold (m, pair[i]);
  }
#pragma unroll
  for (int i = 0; i < W; i++)
    edges[i] = __byte_perm (pair[2 * i], pair[2 * i + 1], order);
}

/* D and T of the rows before, and what they make of the next. The first two rows, y - 1 and y, are taken by
 * start<0> and start<1>; each further one completes the edges of the row before it. TURN alternates from 0. */
template <int W, bool ROOT> struct SobelFloatRolling {
  enum { N = 4 * W };
  float partial[N]; /* s D(y-1) + c D(y) */
  float last[N];    /* D(y) */
  float sum[2][N];  /* T(y-1), T(y), in turns */

  template <int ROW>
  __device__ __forceinline__ void
  start (const SobelFastMath &m, const uint32_t (&w)[W], uint32_t left, uint32_t right)
  {
#pragma unroll
    for (int i = 0; i < W; i++) {
      float d[4], t[4];

      sobel_fast_row (m, i ? w[i - 1] : left, w[i], i + 1 < W ? w[i + 1] : right, d, t);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int n = 4 * i + k;
        if (ROW == 1)
          partial[n] = __fmaf_rn (d[k], m.centre, last[n] * m.side);
        last[n] = d[k];
        sum[ROW][n] = t[k];
      }
    }
  }

  template <int TURN>
  __device__ __forceinline__ void
  step (const SobelFastMath &m, const uint32_t (&w)[W], uint32_t left, uint32_t right, uint32_t (&edges)[W])
  {
    uint32_t pair[2 * W];

#pragma unroll
    for (int i = 0; i < W; i++) {
      float d[4], t[4], gx[4], gy[4];

      sobel_fast_row (m, i ? w[i - 1] : left, w[i], i + 1 < W ? w[i + 1] : right, d, t);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int n = 4 * i + k;
        gx[k] = __fmaf_rn (d[k], m.side, partial[n]);
        partial[n] = __fmaf_rn (d[k], m.centre, last[n] * m.side);
        last[n] = d[k];
        gy[k] = t[k] - sum[TURN][n];
        sum[TURN][n] = t[k];
      }
      pair[2 * i] = sobel_fast_pair<ROOT> (m, gx[0], gy[0], gx[1], gy[1]);
      pair[2 * i + 1] = sobel_fast_pair<ROOT> (m, gx[2], gy[2], gx[3], gy[3]);
    }
    sobel_fast_edges<W> (m, m.threshold_pair != 0, pair, 0x6420, edges);
  }
};

/* The same in halves, for side weights of 1: samples 0 and 2 of a word are a pair, and 1 and 3. */
template <int W, bool ROOT> struct SobelHalfRolling {
  __half2 partial[2 * W], last[2 * W], sum[2][2 * W];

  static __device__ __forceinline__ __half2
  halves (uint32_t bits)
  {
    return *reinterpret_cast<__half2 *> (&bits);
  }

  /* D and T of the pairs. */
  static __device__ __forceinline__ void
  row (const SobelFastMath &m, const uint32_t (&w)[W], uint32_t left, uint32_t right, __half2 (&d)[2 * W],
       __half2 (&t)[2 * W])
  {
    const __half2 centre = halves (m.centre_halves);
    uint32_t a[W], b[W];

#pragma unroll
    for (int i = 0; i < W; i++) {
      a[i] = w[i] & 0x00ff00ff;
      b[i] = __byte_perm (w[i], 0, 0x4341);
    }
#pragma unroll
    for (int i = 0; i < W; i++) {
      const __half2 even = halves (a[i]), odd = halves (b[i]);
      const __half2 before = halves (i ? __byte_perm (b[i - 1], b[i], 0x5432) : __byte_perm (left, b[i], 0x5453));
      const __half2 after =
          halves (i + 1 < W ? __byte_perm (a[i], a[i + 1], 0x5432) : __byte_perm (a[i], right, 0x3432));

      d[2 * i] = __hsub2 (odd, before);
      d[2 * i + 1] = __hsub2 (after, even);
      t[2 * i] = __hfma2 (even, centre, __hadd2 (before, odd));
      t[2 * i + 1] = __hfma2 (odd, centre, __hadd2 (even, after));
    }
  }

  template <int ROW>
  __device__ __forceinline__ void
  start (const SobelFastMath &m, const uint32_t (&w)[W], uint32_t left, uint32_t right)
  {
    __half2 d[2 * W];

    row (m, w, left, right, d, sum[ROW]);
#pragma unroll
    for (int i = 0; i < 2 * W; i++) {
      if (ROW == 1)
        partial[i] = __hfma2 (d[i], halves (m.centre_halves), last[i]);
      last[i] = d[i];
    }
  }

  template <int TURN>
  __device__ __forceinline__ void
  step (const SobelFastMath &m, const uint32_t (&w)[W], uint32_t left, uint32_t right, uint32_t (&edges)[W])
  {
    __half2 d[2 * W], t[2 * W];
    uint32_t pair[2 * W];

    row (m, w, left, right, d, t);
#pragma unroll
    for (int i = 0; i < 2 * W; i++) {
      const __half2 gx = __hadd2 (partial[i], d[i]), gy = __hsub2 (t[i], sum[TURN][i]);

      partial[i] = __hfma2 (d[i], halves (m.centre_halves), last[i]);
      last[i] = d[i];
      sum[TURN][i] = t[i];
      pair[i] = sobel_fast_pair<ROOT> (m, __low2float (gx), __low2float (gy), __high2float (gx), __high2float (gy));
    }
    sobel_fast_edges<W> (m, false, pair, 0x6240, edges);
  }
};

#endif

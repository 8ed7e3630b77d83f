/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_FASTCORE_CUH
#define SOBEL_CUDA_FASTCORE_CUH

/* Edges of 8-bit luma with few instructions a pixel. Four samples to a word, N = 4 W samples a thread, rows rolling
 * through registers: of each row the horizontal difference D (-1 0 1) and the horizontal sum T (s c s) are made once,
 *   gx(y) = s D(y-1) + c D(y) + s D(y+1),   gy(y) = T(y+1) - T(y-1).
 *
 * D and T are byte dot products whose accumulator starts at the bits of a float in 0.5 ... 1: there the last bit is
 * 2^-24, so the result *is* the float 0.5 + T 2^-24 without a conversion, and differences are exact. With
 * n = gx^2 + gy^2 + 1/2 in units of 2^-48, the root is in units of 2^-24, which is also the step of a half's
 * subnormals: rounding it towards zero to half precision leaves floor (sqrt (gx^2 + gy^2)) as an integer, two
 * pixels an instruction.
 *
 * Exact: |gx|, |gy| <= 4080, so every difference and weighted sum has at most 13 bits; n is exact while below 2^23,
 * and above the root exceeds 255 anyway. sqrt.approx is within 2^-23 of the root, relatively, while the root of n is
 * at least 1/4 / k^2 > 2^-18 away (relatively) from every integer k <= 255. A test goes through all of them. */

#include <stdint.h>

#include <cuda_fp16.h>

/* What does not change from pixel to pixel. */
typedef struct SobelFastMath
{
  uint32_t sum_weights; /* of T: s, c, s in bytes 0 to 2 */
  float side, centre;
  float x_share, y_share; /* where no root is taken: E = |gx| x_share + |gy| y_share */
  uint32_t range_pair;     /* w - b, twice, in halves of a word */
  uint32_t threshold_pair; /* 0x8000 - threshold, twice; 0: none */
  uint32_t base, sign;     /* a byte of the output: base + sign * E, sign is 1 or -1; four bytes of base */
} SobelFastMath;

/* D and T of the rows before, for N samples. */
template <int N> struct SobelRolling {
  float partial[N]; /* s D(y-1) + c D(y) */
  float last[N];    /* D(y) */
  float sum[2][N];  /* T(y-1), T(y), in turns */
};

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

static __device__ __forceinline__ float
sobel_approximate_root (float n)
{
  float root;

  asm ("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(n));
  return root;
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

/* Takes the row below and makes the edges of the row before it: four E a word. PLAIN: side
 * weights are 1, and there is no threshold. `turn`: alternates between 0 and 1. */
template <int W, bool PLAIN, bool ROOT>
static __device__ __forceinline__ void
sobel_fast_step (const SobelFastMath &m, SobelRolling<4 * W> &r, int turn, const uint32_t (&w)[W], uint32_t left,
                 uint32_t right, uint32_t (&edges)[W])
{
  uint32_t pair[2 * W];

#pragma unroll
  for (int i = 0; i < W; i++) {
    float d[4], t[4], gx[4], gy[4];

    sobel_fast_row (m, i ? w[i - 1] : left, w[i], i + 1 < W ? w[i + 1] : right, d, t);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int n = 4 * i + k;
      if (PLAIN) {
        gx[k] = r.partial[n] + d[k];
        r.partial[n] = __fmaf_rn (d[k], m.centre, r.last[n]);
      } else {
        gx[k] = __fmaf_rn (d[k], m.side, r.partial[n]);
        r.partial[n] = __fmaf_rn (d[k], m.centre, r.last[n] * m.side);
      }
      r.last[n] = d[k];
      gy[k] = t[k] - r.sum[turn][n];
      r.sum[turn][n] = t[k];
    }
    pair[2 * i] = sobel_fast_pair<ROOT> (m, gx[0], gy[0], gx[1], gy[1]);
    pair[2 * i + 1] = sobel_fast_pair<ROOT> (m, gx[2], gy[2], gx[3], gy[3]);
  }
  if (!PLAIN && m.threshold_pair) {
#pragma unroll
    for (int i = 0; i < 2 * W; i++)
      pair[i] = sobel_fast_threshold (m, pair[i]);
  }
#pragma unroll
  for (int i = 0; i < W; i++)
    edges[i] = __byte_perm (pair[2 * i], pair[2 * i + 1], 0x6420);
}

/* The first two rows: y - 1 and y. */
template <int W, bool PLAIN>
static __device__ __forceinline__ void
sobel_fast_start (const SobelFastMath &m, SobelRolling<4 * W> &r, int row, const uint32_t (&w)[W], uint32_t left,
                  uint32_t right)
{
#pragma unroll
  for (int i = 0; i < W; i++) {
    float d[4], t[4];

    sobel_fast_row (m, i ? w[i - 1] : left, w[i], i + 1 < W ? w[i + 1] : right, d, t);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int n = 4 * i + k;
      if (row == 1)
        r.partial[n] = __fmaf_rn (d[k], m.centre, PLAIN ? r.last[n] : r.last[n] * m.side);
      r.last[n] = d[k];
      r.sum[row][n] = t[k];
    }
  }
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpurows_body.h"

#include "cpulayout_body.h"

#include <immintrin.h>

typedef __m512i V;

/* ---- edges ---------------------------------------------------------------------------------------- */

enum { V_BYTES = 64 };

#define v_load(p) _mm512_loadu_si512 ((const __m512i *) (p))
#define v_store(p, v) _mm512_storeu_si512 ((__m512i *) (p), v)
#define v_set8(x) _mm512_set1_epi8 ((char) (x))
#define v_set16(x) _mm512_set1_epi16 ((short) (x))
#define v_lo8(v) _mm512_unpacklo_epi8 (v, _mm512_setzero_si512 ())
#define v_hi8(v) _mm512_unpackhi_epi8 (v, _mm512_setzero_si512 ())
#define v_pack8 _mm512_packus_epi16
#define v_add8 _mm512_add_epi8
#define v_add16 _mm512_add_epi16
#define v_sub16 _mm512_sub_epi16
#define v_mul16 _mm512_mullo_epi16
#define v_addsat16 _mm512_adds_epu16
#define v_abs16 _mm512_abs_epi16
#define v_min8 _mm512_min_epu8
#define v_max8 _mm512_max_epu8
#define v_min16 _mm512_min_epu16
#define v_max16 _mm512_max_epu16
#define v_equal8(a, b) _mm512_movm_epi8 (_mm512_cmpeq_epi8_mask (a, b))
#define v_equal16(a, b) _mm512_movm_epi16 (_mm512_cmpeq_epi16_mask (a, b))
#define v_and _mm512_and_si512
#define v_xor _mm512_xor_si512

/* |gx|, |gy| <= 32767, so the sum of squares has 31 bits; see ROOT_FLOAT for the root. */
static inline __m512i
root (__m512i n)
{
  return _mm512_cvttps_epi32 (_mm512_sqrt_ps (_mm512_cvtepi32_ps (n)));
}

static inline V
v_norm16 (V gx, V gy)
{
  const V lo = _mm512_unpacklo_epi16 (gx, gy), hi = _mm512_unpackhi_epi16 (gx, gy);

  return _mm512_packs_epi32 (root (_mm512_madd_epi16 (lo, lo)), root (_mm512_madd_epi16 (hi, hi)));
}

/* ---- luma ----------------------------------------------------------------------------------------- */

enum { V_SLACK = 0 };

#define v_repeat(p) _mm512_broadcast_i32x4 (_mm_loadu_si128 ((const __m128i *) (p)))
#define v_pixels4 v_load
#define v_shuffle8 _mm512_shuffle_epi8
#define v_madd16 _mm512_madd_epi16
#define v_add32 _mm512_add_epi32

static inline V
v_pixels3 (const uint8_t *p)
{
  const V order = _mm512_setr_epi32 (0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12);

  return _mm512_permutexvar_epi32 (order, _mm512_maskz_loadu_epi32 (0x0fff, p));
}

static inline V
v_divide32 (V v, float inverse)
{
  const __m512 sum = _mm512_add_ps (_mm512_cvtepi32_ps (v), _mm512_set1_ps (0.5f));

  return _mm512_cvttps_epi32 (_mm512_mul_ps (sum, _mm512_set1_ps (inverse)));
}

static inline V
v_pack32 (V a, V b, V c, V d)
{
  const V bytes = _mm512_packus_epi16 (_mm512_packus_epi32 (a, b), _mm512_packus_epi32 (c, d));

  return _mm512_permutexvar_epi32 (_mm512_setr_epi32 (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

#include "cpusimd_body.h"

void
sobel_cpu_rows_avx512 (SobelCpuRows *rows)
{
  fill_rows (rows, "avx512", "AVX-512");
  rows->edge8 = simd_edge8;
  rows->edge16 = simd_edge16;
  rows->luma8_packed = simd_luma8_packed;
}

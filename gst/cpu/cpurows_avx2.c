/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpurows_body.h"

#include "cpulayout_body.h"

#include <immintrin.h>

typedef __m256i V;

/* ---- edges ---------------------------------------------------------------------------------------- */

enum { V_BYTES = 32 };

#define v_load(p) _mm256_loadu_si256 ((const __m256i *) (p))
#define v_store(p, v) _mm256_storeu_si256 ((__m256i *) (p), v)
#define v_set8(x) _mm256_set1_epi8 ((char) (x))
#define v_set16(x) _mm256_set1_epi16 ((short) (x))
#define v_step8(k) _mm256_set1_epi16 ((short) ((k) << 8 | (-(k) & 0xff)))
#define v_step16 v_set16
#define v_lo8(a, b, step) _mm256_maddubs_epi16 (_mm256_unpacklo_epi8 (a, b), step)
#define v_hi8(a, b, step) _mm256_maddubs_epi16 (_mm256_unpackhi_epi8 (a, b), step)
#define v_pack8 _mm256_packus_epi16
#define v_add8 _mm256_add_epi8
#define v_add16 _mm256_add_epi16
#define v_sub16 _mm256_sub_epi16
#define v_mul16 _mm256_mullo_epi16
#define v_addsat16 _mm256_adds_epu16
#define v_abs16 _mm256_abs_epi16
#define v_limit8(v, least, most) \
  _mm256_and_si256 (_mm256_min_epu8 (v, most), _mm256_cmpeq_epi8 (_mm256_max_epu8 (v, least), v))
#define v_limit16(v, least, most) \
  _mm256_and_si256 (_mm256_min_epu16 (v, most), _mm256_cmpeq_epi16 (_mm256_max_epu16 (v, least), v))
#define v_xor _mm256_xor_si256

/* |gx|, |gy| <= 32767, so the sum of squares has 31 bits; see ROOT_FLOAT for the root. */
static inline __m256i
root (__m256i n)
{
  return _mm256_cvttps_epi32 (_mm256_sqrt_ps (_mm256_cvtepi32_ps (n)));
}

static inline V
v_norm16 (V gx, V gy)
{
  const V lo = _mm256_unpacklo_epi16 (gx, gy), hi = _mm256_unpackhi_epi16 (gx, gy);

  return _mm256_packs_epi32 (root (_mm256_madd_epi16 (lo, lo)), root (_mm256_madd_epi16 (hi, hi)));
}

/* ---- luma ----------------------------------------------------------------------------------------- */

enum { V_SLACK = 2 };

#define v_repeat(p) _mm256_broadcastsi128_si256 (_mm_loadu_si128 ((const __m128i *) (p)))
#define v_shuffle8 _mm256_shuffle_epi8
#define v_madd16 _mm256_madd_epi16
#define v_add32 _mm256_add_epi32

static inline void
v_pixels3 (const uint8_t *p, V pixels[4])
{
  int i;

  for (i = 0; i < 4; i++)
    pixels[i] = _mm256_loadu2_m128i ((const __m128i *) (p + 24 * i + 12), (const __m128i *) (p + 24 * i));
}

static inline V
v_divide32 (V v, float inverse)
{
  const __m256 sum = _mm256_add_ps (_mm256_cvtepi32_ps (v), _mm256_set1_ps (0.5f));

  return _mm256_cvttps_epi32 (_mm256_mul_ps (sum, _mm256_set1_ps (inverse)));
}

static inline V
v_pack32 (V a, V b, V c, V d)
{
  const V bytes = _mm256_packus_epi16 (_mm256_packus_epi32 (a, b), _mm256_packus_epi32 (c, d));

  return _mm256_permutevar8x32_epi32 (bytes, _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7));
}

#include "cpusimd_body.h"
#include "cpusimd_luma_body.h"
#include "cpusimd_pass_body.h"

void
sobel_cpu_rows_avx2 (SobelCpuRows *rows)
{
  fill_rows (rows, "avx2", "AVX2");
  rows->edge8 = simd_edge8;
  rows->edge16 = simd_edge16;
  rows->luma8_packed = simd_luma8_packed;
  rows->edge8_luma = simd_edge8_luma;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpurows_body.h"

#include "cpulayout_body.h"

#include <smmintrin.h>

typedef __m128i V;

/* ---- edges ---------------------------------------------------------------------------------------- */

enum { V_BYTES = 16 };

#define v_load(p) _mm_loadu_si128 ((const __m128i *) (p))
#define v_store(p, v) _mm_storeu_si128 ((__m128i *) (p), v)
#define v_set8(x) _mm_set1_epi8 ((char) (x))
#define v_set16(x) _mm_set1_epi16 ((short) (x))
#define v_step8(k) _mm_set1_epi16 ((short) ((k) << 8 | (-(k) & 0xff)))
#define v_step16 v_set16
#define v_lo8(a, b, step) _mm_maddubs_epi16 (_mm_unpacklo_epi8 (a, b), step)
#define v_hi8(a, b, step) _mm_maddubs_epi16 (_mm_unpackhi_epi8 (a, b), step)
#define v_pack8 _mm_packus_epi16
#define v_add8 _mm_add_epi8
#define v_add16 _mm_add_epi16
#define v_sub16 _mm_sub_epi16
#define v_mul16 _mm_mullo_epi16
#define v_addsat16 _mm_adds_epu16
#define v_abs16 _mm_abs_epi16
#define v_limit8(v, least, most) \
  _mm_and_si128 (_mm_min_epu8 (v, most), _mm_cmpeq_epi8 (_mm_max_epu8 (v, least), v))
#define v_limit16(v, least, most) \
  _mm_and_si128 (_mm_min_epu16 (v, most), _mm_cmpeq_epi16 (_mm_max_epu16 (v, least), v))
#define v_xor _mm_xor_si128

/* |gx|, |gy| <= 32767, so the sum of squares has 31 bits; see ROOT_FLOAT for the root. */
static inline __m128i
root (__m128i n)
{
  return _mm_cvttps_epi32 (_mm_sqrt_ps (_mm_cvtepi32_ps (n)));
}

static inline V
v_norm16 (V gx, V gy)
{
  const V lo = _mm_unpacklo_epi16 (gx, gy), hi = _mm_unpackhi_epi16 (gx, gy);

  return _mm_packs_epi32 (root (_mm_madd_epi16 (lo, lo)), root (_mm_madd_epi16 (hi, hi)));
}

/* ---- luma ----------------------------------------------------------------------------------------- */

enum { V_SLACK = 2 };

#define v_repeat(p) _mm_loadu_si128 ((const __m128i *) (p))
#define v_shuffle8 _mm_shuffle_epi8
#define v_madd16 _mm_madd_epi16
#define v_add32 _mm_add_epi32
#define v_pack32(a, b, c, d) _mm_packus_epi16 (_mm_packus_epi32 (a, b), _mm_packus_epi32 (c, d))

static inline void
v_pixels3 (const uint8_t *p, V pixels[4])
{
  int i;

  for (i = 0; i < 4; i++)
    pixels[i] = v_load (p + 12 * i);
}

static inline V
v_divide32 (V v, float inverse)
{
  const __m128 sum = _mm_add_ps (_mm_cvtepi32_ps (v), _mm_set1_ps (0.5f));

  return _mm_cvttps_epi32 (_mm_mul_ps (sum, _mm_set1_ps (inverse)));
}

#include "cpusimd_body.h"
#include "cpusimd_luma_body.h"
#include "cpusimd_pass_body.h"

void
sobel_cpu_rows_sse41 (SobelCpuRows *rows)
{
  fill_rows (rows, "sse41", "SSE4.1");
  rows->edge8 = simd_edge8;
  rows->edge16 = simd_edge16;
  rows->luma8_packed = simd_luma8_packed;
  rows->edge8_luma = simd_edge8_luma;
}

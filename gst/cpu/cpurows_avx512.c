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
#define v_step8(k) _mm512_set1_epi16 ((short) ((k) << 8 | (-(k) & 0xff)))
#define v_step16 v_set16
#define v_lo8(a, b, step) _mm512_maddubs_epi16 (_mm512_unpacklo_epi8 (a, b), step)
#define v_hi8(a, b, step) _mm512_maddubs_epi16 (_mm512_unpackhi_epi8 (a, b), step)
#define v_pack8 _mm512_packus_epi16
#define v_add8 _mm512_add_epi8
#define v_add16 _mm512_add_epi16
#define v_sub16 _mm512_sub_epi16
#define v_mul16 _mm512_mullo_epi16
#define v_addsat16 _mm512_adds_epu16
#define v_abs16 _mm512_abs_epi16
#define v_limit8(v, least, most) _mm512_maskz_min_epu8 (_mm512_cmpge_epu8_mask (v, least), v, most)
#define v_limit16(v, least, most) _mm512_maskz_min_epu16 (_mm512_cmpge_epu16_mask (v, least), v, most)
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

#include "cpusimd_body.h"

/* ---- luma of packed RGB --------------------------------------------------------------------------- */

/* Sixteen pixels, one in each 32-bit lane. A lane's bytes are multiplied and added up at once, by weights below 128:
 * those of luma are cut in two. All loads are whole. Masked loads of just the sixteen pixels took
 * 2.4 times as long for pictures that come from memory: the processor does not read ahead of them. */
enum { V_SLACK = 0 };

#define luma_is_thousands(k) ((k)->weight[0] + (k)->weight[1] + (k)->weight[2] == 1000)

typedef struct LumaVectors
{
  V pick[2];   /* from 64 bytes to lanes: pixels of three bytes that begin with the first, and that end with the last */
  V high, low; /* weights / base, weights % base */
  __m512 inverse;
} LumaVectors;

/* Made for every row: byte by byte it took an eighth of the time of 1080p RGB. */
ALWAYS_INLINE void
luma_vectors_init (LumaVectors *v, const SobelCpuLuma *k)
{
  const int32_t base = luma_is_thousands (k) ? 8 : 128;
  /* Bytes 0 1 2 0 of the first pixel, and so on; the fourth has no weight. */
  const V pick = _mm512_setr_epi32 (0x00020100, 0x03050403, 0x06080706, 0x090b0a09, 0x0c0e0d0c, 0x0f11100f, 0x12141312,
                                    0x15171615, 0x181a1918, 0x1b1d1c1b, 0x1e201f1e, 0x21232221, 0x24262524, 0x27292827,
                                    0x2a2c2b2a, 0x2d2f2e2d);
  uint32_t high = 0, low = 0;
  int32_t i;

  for (i = 0; i < 3; i++) {
    high |= (uint32_t) (k->weight[i] / base) << 8 * k->position[i];
    low |= (uint32_t) (k->weight[i] % base) << 8 * k->position[i];
  }
  v->pick[0] = pick;
  v->pick[1] = v_add8 (pick, v_set8 (64 - 16 * 3));
  v->high = _mm512_set1_epi32 ((int) high);
  v->low = _mm512_set1_epi32 ((int) low);
  v->inverse = _mm512_set1_ps ((float) k->inverse);
}

/* The weighted sums of sixteen pixels; where weights add up to a thousand, their eighths, rounded down. */
ALWAYS_INLINE V
luma_sums (const LumaVectors *v, const uint8_t *src, int32_t step, int32_t group, bool thousands)
{
  const int32_t last = group == 3;
  const V bytes = v_load (src + group * 16 * step - last * (64 - 16 * step));
  const V pixels = step == 3 ? _mm512_permutexvar_epi8 (v->pick[last], bytes) : bytes;
  const V zero = _mm512_setzero_si512 ();

  if (thousands)
    return _mm512_dpbusd_epi32 (_mm512_srli_epi32 (_mm512_dpbusd_epi32 (zero, pixels, v->low), 3), pixels, v->high);
  return _mm512_dpbusd_epi32 (_mm512_slli_epi32 (_mm512_dpbusd_epi32 (zero, pixels, v->high), 7), pixels, v->low);
}

/* floor (sum / 1000) of eighths, in 16-bit lanes: floor (eighth / 125), by a multiplication that is exact up to 59073.
 */
ALWAYS_INLINE V
luma_of_eighths (V a, V b)
{
  return _mm512_srli_epi16 (_mm512_mulhi_epu16 (_mm512_packus_epi32 (a, b), v_set16 (33555)), 6);
}

/* See luma_byte(). */
ALWAYS_INLINE V
luma_of_sums (const LumaVectors *v, V sums)
{
  const __m512 half_more = _mm512_add_ps (_mm512_cvtepi32_ps (sums), _mm512_set1_ps (0.5f));

  return _mm512_cvttps_epi32 (_mm512_mul_ps (half_more, v->inverse));
}

ALWAYS_INLINE void
simd_luma_at (const LumaVectors *v, const uint8_t *src, uint8_t *out, int32_t step, bool thousands)
{
  const V order = _mm512_setr_epi32 (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const V a = luma_sums (v, src, step, 0, thousands), b = luma_sums (v, src, step, 1, thousands);
  const V c = luma_sums (v, src, step, 2, thousands), d = luma_sums (v, src, step, 3, thousands);
  V ab, cd;

  if (thousands) {
    ab = luma_of_eighths (a, b);
    cd = luma_of_eighths (c, d);
  } else {
    ab = _mm512_packus_epi32 (luma_of_sums (v, a), luma_of_sums (v, b));
    cd = _mm512_packus_epi32 (luma_of_sums (v, c), luma_of_sums (v, d));
  }
  v_store (out, _mm512_permutexvar_epi32 (order, _mm512_packus_epi16 (ab, cd)));
}

#include "cpusimd_pass_body.h"

/* ---- pixels of three bytes ------------------------------------------------------------------------ */

/* Third `part` of 64 pixels: bytes of all three rows, each brought to its place. */
ALWAYS_INLINE V
simd_third (const V *row, V place, int32_t part, bool same)
{
  const __mmask64 every_third = 0x9249249249249249;
  const V first = _mm512_permutexvar_epi8 (place, row[0]);

  if (same)
    return first;
  return _mm512_mask_permutexvar_epi8 (
      _mm512_mask_permutexvar_epi8 (first, every_third << (4 - part) % 3, place, row[1]),
      every_third << (5 - part) % 3, place, row[2]);
}

ALWAYS_INLINE void
simd_join3_at (const uint8_t *const *in, uint8_t *out, int32_t i, const V *place, bool same)
{
  const V row[3] = {v_load (in[0] + i), v_load (in[same ? 0 : 1] + i), v_load (in[same ? 0 : 2] + i)};
  int32_t j;

  for (j = 0; j < 3; j++)
    v_store (out + (ptrdiff_t) i * 3 + j * V_BYTES, simd_third (row, place[j], j, same));
}

/* Sixteen samples from number i on, three times each. */
#define TIMES3(i) i, i, i
#define TIMES12(i) TIMES3 (i), TIMES3 (i + 1), TIMES3 (i + 2), TIMES3 (i + 3)
#define TIMES48(i) TIMES12 (i), TIMES12 (i + 4), TIMES12 (i + 8), TIMES12 (i + 12)

ALWAYS_INLINE void
simd_join3_row (const uint8_t *const *in, uint8_t *out, int32_t n, bool same)
{
  static const uint8_t sample[3 * V_BYTES] = {TIMES48 (0), TIMES48 (16), TIMES48 (32), TIMES48 (48)};
  const V place[3] = {v_load (sample), v_load (sample + V_BYTES), v_load (sample + 2 * V_BYTES)};
  int32_t i;

  for (i = 0; i + V_BYTES <= n; i += V_BYTES)
    simd_join3_at (in, out, i, place, same);
  if (i < n)
    simd_join3_at (in, out, n - V_BYTES, place, same);
}

static void
simd_join3_8 (const uint8_t *const *in, uint8_t *out, int32_t n)
{
  if (n < V_BYTES)
    join3_8 (in, out, n);
  else if (in[0] == in[1] && in[0] == in[2])
    simd_join3_row (in, out, n, true);
  else
    simd_join3_row (in, out, n, false);
}

void
sobel_cpu_rows_avx512 (SobelCpuRows *rows)
{
  fill_rows (rows, "avx512", "AVX-512");
  rows->edge8 = simd_edge8;
  rows->edge16 = simd_edge16;
  rows->luma8_packed = simd_luma8_packed;
  rows->edge8_luma = simd_edge8_luma;
  rows->luma_between = true;
  rows->join3_8 = simd_join3_8;
}

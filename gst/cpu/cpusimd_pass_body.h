/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rows of pixels, and of samples that are luma already, on their way to edges: luma by itself for the first rows of a
 * band, then edges of one row and luma of a later one in the same loop. The including file defines, beside what
 * cpusimd_body.h asks for,
 *
 *   LumaVectors, luma_vectors_init (v, k)
 *   V_SLACK                                          columns beyond V_BYTES that the next one reads
 *   simd_luma_at (v, src, out, step, thousands)      luma of V_BYTES pixels of `step` bytes, 3 or 4
 *   luma_is_thousands (k)                            what simd_luma_at is told; false where that makes no difference
 *
 * No include guard: a file includes this once, after the others. */

/* How far ahead memory is asked for, bytes. Measured with 1080p RGB on Zen 4: 4096 to 12288 are alike, 2048 takes a
 * tenth longer. Not into the first level of the cache, and not where nothing but luma is made, all at once: both took
 * longer than not asking at all. */
enum { FETCH_AHEAD = 8192, CACHE_LINE = 64 };

ALWAYS_INLINE void
simd_pass_luma_at (const LumaVectors *v, const uint8_t *src, uint8_t *out, int32_t step, bool thousands)
{
  if (step == 1)
    v_store (out, v_load (src));
  else
    simd_luma_at (v, src, out, step, thousands);
}

/* From column i, which a register begins with, to column n. */
ALWAYS_INLINE void
simd_luma_from (const LumaVectors *v, const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t i, int32_t n,
                int32_t step, bool thousands)
{
  for (; i + V_BYTES + V_SLACK <= n; i += V_BYTES)
    simd_pass_luma_at (v, src + (ptrdiff_t) i * step, out + i, step, thousands);
  if (i >= n)
    return;
  if (V_SLACK == 0 && n >= V_BYTES)
    simd_pass_luma_at (v, src + (ptrdiff_t) (n - V_BYTES) * step, out + n - V_BYTES, step, thousands);
  else
    luma8_packed (k, src + (ptrdiff_t) i * step, out + i, n - i);
}

ALWAYS_INLINE void
simd_luma_row (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n, int32_t step, bool thousands)
{
  LumaVectors v;

  luma_vectors_init (&v, k);
  simd_luma_from (&v, k, src, out, 0, n, step, thousands);
}

ALWAYS_INLINE void
simd_edge8_luma_row (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out,
                     int32_t n, const SobelCpuLater *later, int32_t step, bool thousands)
{
  V edge[6];
  LumaVectors luma;
  int32_t i, j;

  simd_edge8_vectors (k, edge);
  luma_vectors_init (&luma, later->k);
  for (i = 0; i + V_BYTES + V_SLACK <= n; i += V_BYTES) {
    simd_edge8_at (up + i, mid + i, down + i, out + i, SOBEL_CPU_METRIC_L2, edge);
    simd_pass_luma_at (&luma, later->src + (ptrdiff_t) i * step, later->out + i, step, thousands);
    for (j = 0; j < step * V_BYTES; j += CACHE_LINE) {
      __builtin_prefetch (later->src + (ptrdiff_t) i * step + FETCH_AHEAD + j, 0, 1);
      if (later->target)
        __builtin_prefetch (later->target + (ptrdiff_t) i * step + j, 1);
    }
  }
  simd_luma_from (&luma, later->k, later->src, later->out, i, n, step, thousands);
  for (; i < n; i += V_BYTES) {
    j = i + V_BYTES <= n ? i : n - V_BYTES;
    simd_edge8_at (up + j, mid + j, down + j, out + j, SOBEL_CPU_METRIC_L2, edge);
  }
}

/* CALL with the constants that a row of this kind has. */
#define SIMD_PASS(LUMA, CALL)                                                                                          \
  do {                                                                                                                 \
    const bool are_thousands = luma_is_thousands (LUMA);                                                               \
                                                                                                                       \
    if ((LUMA)->step == 1)                                                                                             \
      CALL (1, false);                                                                                                 \
    else if ((LUMA)->step == 3 && are_thousands)                                                                       \
      CALL (3, true);                                                                                                  \
    else if ((LUMA)->step == 3)                                                                                        \
      CALL (3, false);                                                                                                 \
    else if (are_thousands)                                                                                            \
      CALL (4, true);                                                                                                  \
    else                                                                                                               \
      CALL (4, false);                                                                                                 \
  } while (0)

static void
simd_luma8_packed (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n)
{
#define ROW(STEP, THOUSANDS) simd_luma_row (k, src, out, n, STEP, THOUSANDS)
  SIMD_PASS (k, ROW);
#undef ROW
}

static void
simd_edge8_luma (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out,
                 int32_t n, const SobelCpuLater *later)
{
  if (!k->exact || k->metric != SOBEL_CPU_METRIC_L2 || n < V_BYTES) {
    simd_edge8 (k, up, mid, down, out, n);
    simd_luma8_packed (later->k, later->src, later->out, n);
    return;
  }
#define ROW(STEP, THOUSANDS) simd_edge8_luma_row (k, up, mid, down, out, n, later, STEP, THOUSANDS)
  SIMD_PASS (later->k, ROW);
#undef ROW
}

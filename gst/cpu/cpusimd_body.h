/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rows that decide the speed of most frames, in vector intrinsics: edges of exact arithmetic on 8-bit luma and on
 * 16-bit luma whose gradients fit 16 bits, and luma of packed 8-bit RGB. The including file defines the type V of a
 * register and, on it,
 *
 *   V_BYTES                       bytes in a register
 *   v_load, v_store               any address
 *   v_set8, v_set16               one value in every lane
 *   v_lo8, v_hi8                  bytes to 16-bit lanes: first and second half of some fixed split of the register
 *   v_pack8                       16-bit lanes back to bytes in the same split, negative ones to 0, above 255 to 255
 *   v_add16, v_sub16, v_mul16     16-bit lanes, cut
 *   v_addsat16                    16-bit lanes without sign, saturated
 *   v_abs16
 *   v_norm16 (gx, gy)             floor (sqrt (gx^2 + gy^2)), saturated at 32767
 *   v_min8, v_max8, v_min16, v_max16   lanes without sign
 *   v_equal8, v_equal16           all ones where equal
 *   v_and, v_xor, v_add8
 *   v_repeat (p)                  the same 16 bytes in every 16 bytes
 *   v_pixels3, v_pixels4          V_BYTES / 4 pixels of 3 or 4 bytes, four in every 16 bytes; reads up to V_SLACK
 *                                 pixels more
 *   v_shuffle8                    bytes within every 16 bytes, 0 where the index is negative
 *   v_madd16                      32-bit lanes: sums of the products of two 16-bit lanes
 *   v_add32
 *   v_divide32 (v, inverse)       (v + 0.5) * inverse in float, rounded down
 *   v_pack32 (a, b, c, d)         32-bit lanes, 0 to 255, to bytes in order
 *
 * No include guard: a file includes this once, after cpurows_body.h. */

/* What all strengths go through: clamped, 0 below the threshold, stored as SobelCpuEdge says. */
ALWAYS_INLINE V
simd_stored8 (V e, V range, V threshold, V flip, V bias)
{
  e = v_min8 (e, range);
  e = v_and (e, v_equal8 (v_max8 (e, threshold), e));
  return v_add8 (v_xor (e, flip), bias);
}

ALWAYS_INLINE V
simd_stored16 (V e, V range, V threshold, V flip, V bias)
{
  e = v_min16 (e, range);
  e = v_and (e, v_equal16 (v_max16 (e, threshold), e));
  return v_add16 (v_xor (e, flip), bias);
}

/* Samples of a neighbourhood in 16-bit lanes: left, middle and right of the row above and below, left and right. */
typedef struct Around
{
  V ul, um, ur, ml, mr, dl, dm, dr;
} Around;

ALWAYS_INLINE V
simd_strength (const Around *a, SobelCpuMetric metric, bool shifts, V side, V centre)
{
  const V p = v_sub16 (a->dr, a->ul), q = v_sub16 (a->ur, a->dl);
  V gx = v_add16 (p, q), gy = v_sub16 (p, q), across = v_sub16 (a->mr, a->ml), down = v_sub16 (a->dm, a->um);

  if (shifts) {
    across = v_add16 (across, across);
    down = v_add16 (down, down);
  } else {
    gx = v_mul16 (gx, side);
    gy = v_mul16 (gy, side);
    across = v_mul16 (across, centre);
    down = v_mul16 (down, centre);
  }
  gx = v_add16 (gx, across);
  gy = v_add16 (gy, down);
  switch (metric) {
    case SOBEL_CPU_METRIC_L1:
      return v_addsat16 (v_abs16 (gx), v_abs16 (gy));
    case SOBEL_CPU_METRIC_X:
      return v_abs16 (gx);
    case SOBEL_CPU_METRIC_Y:
      return v_abs16 (gy);
    case SOBEL_CPU_METRIC_L2:
    default:
      return v_norm16 (gx, gy);
  }
}

ALWAYS_INLINE void
simd_edge8_at (const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out, SobelCpuMetric metric,
               bool shifts, const V *k)
{
  const V ul = v_load (up), um = v_load (up + 1), ur = v_load (up + 2), ml = v_load (mid), mr = v_load (mid + 2);
  const V dl = v_load (down), dm = v_load (down + 1), dr = v_load (down + 2);
  const Around lo = {v_lo8 (ul), v_lo8 (um), v_lo8 (ur), v_lo8 (ml), v_lo8 (mr), v_lo8 (dl), v_lo8 (dm), v_lo8 (dr)};
  const Around hi = {v_hi8 (ul), v_hi8 (um), v_hi8 (ur), v_hi8 (ml), v_hi8 (mr), v_hi8 (dl), v_hi8 (dm), v_hi8 (dr)};
  const V e =
      v_pack8 (simd_strength (&lo, metric, shifts, k[0], k[1]), simd_strength (&hi, metric, shifts, k[0], k[1]));

  v_store (out, simd_stored8 (e, k[2], k[3], k[4], k[5]));
}

ALWAYS_INLINE void
simd_edge16_at (const uint16_t *up, const uint16_t *mid, const uint16_t *down, uint16_t *out, SobelCpuMetric metric,
                bool shifts, const V *k)
{
  const Around a = {v_load (up),      v_load (up + 1), v_load (up + 2),   v_load (mid),
                    v_load (mid + 2), v_load (down),   v_load (down + 1), v_load (down + 2)};

  v_store (out, simd_stored16 (simd_strength (&a, metric, shifts, k[0], k[1]), k[2], k[3], k[4], k[5]));
}

/* Whole registers; the last one overlaps the one before. Rows shorter than a register are the C function's. */
#define DEFINE_SIMD_EDGE(BITS)                                                                                         \
  ALWAYS_INLINE void simd_edge##BITS##_row (const SobelCpuEdge *k, const uint##BITS##_t *up,                           \
                                            const uint##BITS##_t *mid, const uint##BITS##_t *down,                     \
                                            uint##BITS##_t *out, int32_t n, SobelCpuMetric metric, bool shifts)        \
  {                                                                                                                    \
    const V v[6] = {v_set16 (k->side),          v_set16 (k->centre),   v_set##BITS (k->range),                         \
                    v_set##BITS (k->threshold), v_set##BITS (k->flip), v_set##BITS (k->bias)};                         \
    const int32_t lanes = V_BYTES * 8 / BITS;                                                                          \
    int32_t i;                                                                                                         \
                                                                                                                       \
    for (i = 0; i + lanes <= n; i += lanes)                                                                            \
      simd_edge##BITS##_at (up + i, mid + i, down + i, out + i, metric, shifts, v);                                    \
    if (i < n) {                                                                                                       \
      i = n - lanes;                                                                                                   \
      simd_edge##BITS##_at (up + i, mid + i, down + i, out + i, metric, shifts, v);                                    \
    }                                                                                                                  \
  }

DEFINE_SIMD_EDGE (8)
DEFINE_SIMD_EDGE (16)

#define SIMD_METRIC(NAME, METRIC)                                                                                      \
  case METRIC:                                                                                                         \
    if (k->shifts)                                                                                                     \
      NAME (k, up, mid, down, out, n, METRIC, true);                                                                   \
    else                                                                                                               \
      NAME (k, up, mid, down, out, n, METRIC, false);                                                                  \
    break

#define SIMD_METRICS(NAME)                                                                                             \
  switch (k->metric) {                                                                                                 \
    SIMD_METRIC (NAME, SOBEL_CPU_METRIC_L2);                                                                           \
    SIMD_METRIC (NAME, SOBEL_CPU_METRIC_L1);                                                                           \
    SIMD_METRIC (NAME, SOBEL_CPU_METRIC_X);                                                                            \
    SIMD_METRIC (NAME, SOBEL_CPU_METRIC_Y);                                                                            \
  }

static void
simd_edge8 (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out, int32_t n)
{
  if (!k->exact || n < V_BYTES) {
    edge8 (k, up, mid, down, out, n);
    return;
  }
  SIMD_METRICS (simd_edge8_row)
}

static void
simd_edge16 (const SobelCpuEdge *k, const uint16_t *up, const uint16_t *mid, const uint16_t *down, uint16_t *out,
             int32_t n)
{
  if (!k->exact || !k->narrow || n < V_BYTES / 2) {
    edge16 (k, up, mid, down, out, n);
    return;
  }
  SIMD_METRICS (simd_edge16_row)
}

/* ---- luma of packed RGB --------------------------------------------------------------------------- */

/* 32-bit lanes: luma of one pixel each. */
ALWAYS_INLINE V
simd_luma_at (const uint8_t *src, int32_t step, const V *k, float inverse)
{
  const V pixels = step == 3 ? v_pixels3 (src) : v_pixels4 (src);
  const V rg = v_madd16 (v_shuffle8 (pixels, k[0]), k[2]), b = v_madd16 (v_shuffle8 (pixels, k[1]), k[3]);

  return v_divide32 (v_add32 (rg, b), inverse);
}

ALWAYS_INLINE void
simd_luma_row (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n, int32_t step)
{
  const int32_t lanes = V_BYTES / 4;
  const float inverse = (float) k->inverse;
  int8_t rg[16], b[16];
  int16_t weight_rg[8], weight_b[8];
  V v[4];
  int32_t i;

  /* Red beside green, and blue beside nothing, as 16-bit numbers, for each of four pixels. */
  for (i = 0; i < 4; i++) {
    rg[4 * i + 0] = (int8_t) (i * step + (int32_t) k->position[0]);
    rg[4 * i + 2] = (int8_t) (i * step + (int32_t) k->position[1]);
    b[4 * i + 0] = (int8_t) (i * step + (int32_t) k->position[2]);
    rg[4 * i + 1] = rg[4 * i + 3] = b[4 * i + 1] = b[4 * i + 2] = b[4 * i + 3] = -1;
    weight_rg[2 * i] = (int16_t) k->weight[0];
    weight_rg[2 * i + 1] = (int16_t) k->weight[1];
    weight_b[2 * i] = (int16_t) k->weight[2];
    weight_b[2 * i + 1] = 0;
  }
  v[0] = v_repeat (rg);
  v[1] = v_repeat (b);
  v[2] = v_repeat (weight_rg);
  v[3] = v_repeat (weight_b);
  for (i = 0; i + V_BYTES + V_SLACK <= n; i += V_BYTES) {
    const uint8_t *const p = src + (ptrdiff_t) i * step;
    v_store (out + i, v_pack32 (simd_luma_at (p, step, v, inverse), simd_luma_at (p + lanes * step, step, v, inverse),
                                simd_luma_at (p + 2 * lanes * step, step, v, inverse),
                                simd_luma_at (p + 3 * lanes * step, step, v, inverse)));
  }
  luma8_packed (k, src + (ptrdiff_t) i * step, out + i, n - i);
}

static void
simd_luma8_packed (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n)
{
  if (k->step == 3)
    simd_luma_row (k, src, out, n, 3);
  else
    simd_luma_row (k, src, out, n, 4);
}

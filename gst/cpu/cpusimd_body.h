/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rows that decide the speed of most frames, in vector intrinsics: edges of exact arithmetic on 8-bit luma and on
 * 16-bit luma whose gradients fit 16 bits. The including file defines the type V of a register and, on it,
 *
 *   V_BYTES                       bytes in a register
 *   v_load, v_store               any address
 *   v_set8, v_set16               one value in every lane
 *   v_step8 (k)                   what the next two take for a step of weight k, 0 to 127
 *   v_lo8, v_hi8 (a, b, step)     16-bit lanes: k * (b - a) of bytes a and b, in the first and the second half of some
 *                                 fixed split of the register
 *   v_pack8                       16-bit lanes back to bytes in the same split, negative ones to 0, above 255 to 255
 *   v_add16, v_sub16, v_mul16     16-bit lanes, cut
 *   v_addsat16                    16-bit lanes without sign, saturated
 *   v_abs16
 *   v_norm16 (gx, gy)             floor (sqrt (gx^2 + gy^2)), saturated at 32767
 *   v_limit8, v_limit16 (v, least, most)
 *                                 lanes without sign: v, most where it is above, 0 where it is below least <= most
 *   v_xor, v_add8
 *
 * No include guard: a file includes this once, after cpurows_body.h. */

/* What all strengths go through: clamped, 0 below the threshold, stored as SobelCpuEdge says. */
ALWAYS_INLINE V
simd_stored8 (V e, V range, V threshold, V flip, V bias)
{
  return v_add8 (v_xor (v_limit8 (e, threshold, range), flip), bias);
}

ALWAYS_INLINE V
simd_stored16 (V e, V range, V threshold, V flip, V bias)
{
  return v_add16 (v_xor (v_limit16 (e, threshold, range), flip), bias);
}

/* The four steps between opposite neighbours, each already times its weight, in 16-bit lanes: both diagonals from the
 * row above to the row below, left to right, up to down. */
ALWAYS_INLINE V
simd_strength (V falling, V rising, V across, V down, SobelCpuMetric metric)
{
  const V gx = v_add16 (v_sub16 (falling, rising), across), gy = v_add16 (v_add16 (falling, rising), down);

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
simd_edge8_vectors (const SobelCpuEdge *k, V *v)
{
  v[0] = v_step8 (k->side);
  v[1] = v_step8 (k->centre);
  v[2] = v_set8 (k->range);
  v[3] = v_set8 (k->threshold);
  v[4] = v_set8 (k->flip);
  v[5] = v_set8 (k->bias);
}

ALWAYS_INLINE void
simd_edge8_at (const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out, SobelCpuMetric metric,
               const V *k)
{
  const V ul = v_load (up), um = v_load (up + 1), ur = v_load (up + 2), ml = v_load (mid), mr = v_load (mid + 2);
  const V dl = v_load (down), dm = v_load (down + 1), dr = v_load (down + 2);
  const V lo = simd_strength (v_lo8 (ul, dr, k[0]), v_lo8 (ur, dl, k[0]), v_lo8 (ml, mr, k[1]), v_lo8 (um, dm, k[1]),
                              metric);
  const V hi = simd_strength (v_hi8 (ul, dr, k[0]), v_hi8 (ur, dl, k[0]), v_hi8 (ml, mr, k[1]), v_hi8 (um, dm, k[1]),
                              metric);

  v_store (out, simd_stored8 (v_pack8 (lo, hi), k[2], k[3], k[4], k[5]));
}

ALWAYS_INLINE V
simd_step16 (const uint16_t *from, const uint16_t *to, V weight)
{
  return v_mul16 (v_sub16 (v_load (to), v_load (from)), weight);
}

ALWAYS_INLINE void
simd_edge16_at (const uint16_t *up, const uint16_t *mid, const uint16_t *down, uint16_t *out, SobelCpuMetric metric,
                const V *k)
{
  const V e = simd_strength (simd_step16 (up, down + 2, k[0]), simd_step16 (up + 2, down, k[0]),
                             simd_step16 (mid, mid + 2, k[1]), simd_step16 (up + 1, down + 1, k[1]), metric);

  v_store (out, simd_stored16 (e, k[2], k[3], k[4], k[5]));
}

/* Whole registers; the last one overlaps the one before. Rows shorter than a register are the C function's. */
#define DEFINE_SIMD_EDGE(BITS)                                                                                         \
  ALWAYS_INLINE void simd_edge##BITS##_row (const SobelCpuEdge *k, const uint##BITS##_t *up,                           \
                                            const uint##BITS##_t *mid, const uint##BITS##_t *down,                     \
                                            uint##BITS##_t *out, int32_t n, SobelCpuMetric metric)                     \
  {                                                                                                                    \
    const V v[6] = {v_step##BITS (k->side),     v_step##BITS (k->centre), v_set##BITS (k->range),                      \
                    v_set##BITS (k->threshold), v_set##BITS (k->flip),    v_set##BITS (k->bias)};                      \
    const int32_t lanes = V_BYTES * 8 / BITS;                                                                          \
    int32_t i;                                                                                                         \
                                                                                                                       \
    for (i = 0; i + lanes <= n; i += lanes)                                                                            \
      simd_edge##BITS##_at (up + i, mid + i, down + i, out + i, metric, v);                                            \
    if (i < n) {                                                                                                       \
      i = n - lanes;                                                                                                   \
      simd_edge##BITS##_at (up + i, mid + i, down + i, out + i, metric, v);                                            \
    }                                                                                                                  \
  }

DEFINE_SIMD_EDGE (8)
DEFINE_SIMD_EDGE (16)

#define SIMD_METRIC(NAME, METRIC)                                                                                      \
  case METRIC:                                                                                                         \
    NAME (k, up, mid, down, out, n, METRIC);                                                                           \
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

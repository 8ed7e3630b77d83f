/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The row functions in plain C. Included by one source file for every instruction set, whose compiler flags let the
 * compiler vectorise these loops for it. The arithmetic is that of gst/core/sobelarith.h; where it is rearranged, the
 * bound that makes it the same is named.
 *
 * No include guard: a file includes this once. */

#include "cpurows.h"

#include "sobelarith.h"

#include <string.h>

#define ALWAYS_INLINE static inline __attribute__ ((always_inline))

/* Input and output of a loop may be the same row, but no iteration reads what another one wrote. */
#if defined(__clang__)
#define INDEPENDENT _Pragma ("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma ("GCC ivdep")
#endif

/* ---- edges ---------------------------------------------------------------------------------------- */

typedef enum Arithmetic
{
  ROOT_FLOAT,  /* exact; n = gx^2 + gy^2 as float: exact below 2^24, and where it is not, the result saturates anyway */
  ROOT_DOUBLE, /* exact */
  SCALED_ONE,  /* gain, unit 1 */
  SCALED,      /* gain and unit */
} Arithmetic;

/* The stored value of a strength; cut to the width of the output by the caller's assignment. */
ALWAYS_INLINE uint32_t
stored (uint32_t e, uint32_t range, uint32_t threshold, uint32_t flip, uint32_t bias)
{
  e = e < range ? e : range;
  e = e < threshold ? 0 : e;
  return (e ^ flip) + bias;
}

#define DEFINE_EDGE_LOOP(NAME, IN, OUT, G)                                                                             \
  ALWAYS_INLINE void NAME##_loop (const SobelCpuEdge *k, const IN *up, const IN *mid, const IN *down, OUT *out,        \
                                  int32_t n, SobelCpuMetric metric, Arithmetic arithmetic)                             \
  {                                                                                                                    \
    const G s = (G) k->side, c = (G) k->centre;                                                                        \
    const double unit = k->unit, gain = k->gain, most = k->range;                                                      \
    const uint32_t range = k->range, threshold = k->threshold, flip = k->flip, bias = k->bias;                         \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      const G ul = (G) (int32_t) up[i], um = (G) (int32_t) up[i + 1], ur = (G) (int32_t) up[i + 2];                    \
      const G dl = (G) (int32_t) down[i], dm = (G) (int32_t) down[i + 1], dr = (G) (int32_t) down[i + 2];              \
      const G ml = (G) (int32_t) mid[i], mr = (G) (int32_t) mid[i + 2];                                                \
      const G p = dr - ul, q = ur - dl;                                                                                \
      const G gx = s * (p + q) + c * (mr - ml), gy = s * (p - q) + c * (dm - um);                                      \
      const G ax = gx < 0 ? -gx : gx, ay = gy < 0 ? -gy : gy;                                                          \
      const G sum = metric == SOBEL_CPU_METRIC_X ? ax : metric == SOBEL_CPU_METRIC_Y ? ay : ax + ay;                   \
      uint32_t e;                                                                                                      \
                                                                                                                       \
      if (arithmetic == ROOT_FLOAT) {                                                                                  \
        e = metric == SOBEL_CPU_METRIC_L2 ? (uint32_t) (int32_t) sqrtf ((float) (gx * gx + gy * gy)) : (uint32_t) sum; \
      } else {                                                                                                         \
        const double dx = (double) gx, dy = (double) gy;                                                               \
        const double xx = dx * dx, yy = dy * dy;                                                                       \
        double m = metric == SOBEL_CPU_METRIC_L2 ? sqrt (xx + yy) : (double) sum;                                      \
        if (arithmetic == SCALED)                                                                                      \
          m = m / unit;                                                                                                \
        if (arithmetic != ROOT_DOUBLE)                                                                                 \
          m = m * gain;                                                                                                \
        m = m < most ? m : most;                                                                                       \
        e = (uint32_t) (int32_t) m;                                                                                    \
      }                                                                                                                \
      out[i] = (OUT) stored (e, range, threshold, flip, bias);                                                         \
    }                                                                                                                  \
  }

#define EDGE_METRICS(NAME, ARITHMETIC)                                                                                 \
  switch (k->metric) {                                                                                                 \
    case SOBEL_CPU_METRIC_L2:                                                                                          \
      NAME##_loop (k, up, mid, down, out, n, SOBEL_CPU_METRIC_L2, ARITHMETIC);                                         \
      break;                                                                                                           \
    case SOBEL_CPU_METRIC_L1:                                                                                          \
      NAME##_loop (k, up, mid, down, out, n, SOBEL_CPU_METRIC_L1, ARITHMETIC);                                         \
      break;                                                                                                           \
    case SOBEL_CPU_METRIC_X:                                                                                           \
      NAME##_loop (k, up, mid, down, out, n, SOBEL_CPU_METRIC_X, ARITHMETIC);                                          \
      break;                                                                                                           \
    case SOBEL_CPU_METRIC_Y:                                                                                           \
      NAME##_loop (k, up, mid, down, out, n, SOBEL_CPU_METRIC_Y, ARITHMETIC);                                          \
      break;                                                                                                           \
  }

DEFINE_EDGE_LOOP (edge8, uint8_t, uint8_t, int32_t)
DEFINE_EDGE_LOOP (edge16, uint16_t, uint16_t, int32_t)
DEFINE_EDGE_LOOP (edge32_8, uint32_t, uint8_t, int32_t)
DEFINE_EDGE_LOOP (edge32_16, uint32_t, uint16_t, int32_t)
DEFINE_EDGE_LOOP (edge32_16_wide, uint32_t, uint16_t, double)

static void
edge8 (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out, int32_t n)
{
  if (k->exact)
    EDGE_METRICS (edge8, ROOT_FLOAT)
  else
    EDGE_METRICS (edge8, SCALED_ONE)
}

static void
edge16 (const SobelCpuEdge *k, const uint16_t *up, const uint16_t *mid, const uint16_t *down, uint16_t *out, int32_t n)
{
  if (k->exact && (k->narrow || k->metric != SOBEL_CPU_METRIC_L2))
    EDGE_METRICS (edge16, ROOT_FLOAT)
  else if (k->exact)
    EDGE_METRICS (edge16, ROOT_DOUBLE)
  else
    EDGE_METRICS (edge16, SCALED_ONE)
}

static void
edge32_8 (const SobelCpuEdge *k, const uint32_t *up, const uint32_t *mid, const uint32_t *down, uint8_t *out, int32_t n)
{
  EDGE_METRICS (edge32_8, SCALED)
}

static void
edge32_16 (const SobelCpuEdge *k, const uint32_t *up, const uint32_t *mid, const uint32_t *down, uint16_t *out,
           int32_t n)
{
  if (k->fits32)
    EDGE_METRICS (edge32_16, SCALED)
  else
    EDGE_METRICS (edge32_16_wide, SCALED)
}

/* ---- luma ----------------------------------------------------------------------------------------- */

/* floor (sum / unit) as (sum + 0.5) / unit in float: sums of 8-bit samples are below 2^22, so that the sum is exact;
 * the quotient, below 256, is off by less than 3e-5, and 5e-5 away from the next integer. */
ALWAYS_INLINE uint8_t
luma_byte (int32_t r, int32_t g, int32_t b, int32_t wr, int32_t wg, int32_t wb, float inverse)
{
  return (uint8_t) (int32_t) (((float) (r * wr + g * wg + b * wb) + 0.5f) * inverse);
}

static void
luma8 (const SobelCpuLuma *k, const uint8_t *r, const uint8_t *g, const uint8_t *b, uint8_t *out, int32_t n)
{
  const int32_t wr = k->weight[0], wg = k->weight[1], wb = k->weight[2];
  const float inverse = (float) k->inverse;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = luma_byte (r[i], g[i], b[i], wr, wg, wb, inverse);
}

/* The same in double, for sums below 2^30. */
static void
luma16 (const SobelCpuLuma *k, const uint16_t *r, const uint16_t *g, const uint16_t *b, uint16_t *out, int32_t n)
{
  const int32_t wr = k->weight[0], wg = k->weight[1], wb = k->weight[2];
  const double inverse = k->inverse;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = (uint16_t) (int32_t) (((double) (r[i] * wr + g[i] * wg + b[i] * wb) + 0.5) * inverse);
}

ALWAYS_INLINE void
luma8_packed_loop (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n, int32_t step)
{
  const int32_t wr = k->weight[0], wg = k->weight[1], wb = k->weight[2];
  const uint8_t *r = src + k->position[0], *g = src + k->position[1], *b = src + k->position[2];
  const float inverse = (float) k->inverse;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = luma_byte (r[(ptrdiff_t) i * step], g[(ptrdiff_t) i * step], b[(ptrdiff_t) i * step], wr, wg, wb, inverse);
}

static void
luma8_packed (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n)
{
  if (k->step == 1)
    memcpy (out, src, (size_t) n);
  else if (k->step == 3)
    luma8_packed_loop (k, src, out, n, 3);
  else
    luma8_packed_loop (k, src, out, n, 4);
}

static void
edge8_luma (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out, int32_t n,
            const SobelCpuLater *later)
{
  edge8 (k, up, mid, down, out, n);
  luma8_packed (later->k, later->src, later->out, n);
}

#define DEFINE_LUMA32(NAME, IN)                                                                                        \
  static void NAME (const SobelCpuLuma *k, const IN *r, const IN *g, const IN *b, uint32_t *out, int32_t n)            \
  {                                                                                                                    \
    const int32_t wr = k->weight[0], wg = k->weight[1], wb = k->weight[2];                                             \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++)                                                                                            \
      out[i] = (uint32_t) (r[i] * wr + g[i] * wg + b[i] * wb);                                                         \
  }

DEFINE_LUMA32 (luma8_32, uint8_t)
DEFINE_LUMA32 (luma16_32, uint16_t)

/* ---- sums, blends, masks -------------------------------------------------------------------------- */

#define DEFINE_SUM(NAME, IN, OUT)                                                                                      \
  ALWAYS_INLINE void NAME##_loop (const IN *e, OUT *out, int32_t full, int32_t columns, bool first)                    \
  {                                                                                                                    \
    int32_t i, j;                                                                                                      \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < full; i++) {                                                                                       \
      OUT sum = first ? 0 : out[i];                                                                                    \
      for (j = 0; j < columns; j++)                                                                                    \
        sum += e[i * columns + j];                                                                                     \
      out[i] = sum;                                                                                                    \
    }                                                                                                                  \
  }                                                                                                                    \
                                                                                                                       \
  static void NAME (const IN *e, unsigned w_sub, bool first, OUT *out, int32_t n)                                      \
  {                                                                                                                    \
    const int32_t columns = 1 << w_sub, full = n >> w_sub;                                                             \
    int32_t i;                                                                                                         \
                                                                                                                       \
    if (columns == 1 && first)                                                                                         \
      NAME##_loop (e, out, full, 1, true);                                                                             \
    else if (columns == 1)                                                                                             \
      NAME##_loop (e, out, full, 1, false);                                                                            \
    else if (columns == 2 && first)                                                                                    \
      NAME##_loop (e, out, full, 2, true);                                                                             \
    else if (columns == 2)                                                                                             \
      NAME##_loop (e, out, full, 2, false);                                                                            \
    else                                                                                                               \
      NAME##_loop (e, out, full, 4, first);                                                                            \
    if (full * columns < n) {                                                                                          \
      OUT sum = first ? 0 : out[full];                                                                                 \
      for (i = full * columns; i < n; i++)                                                                             \
        sum += e[i];                                                                                                   \
      out[full] = sum;                                                                                                 \
    }                                                                                                                  \
  }

DEFINE_SUM (sum8, uint8_t, uint16_t)
DEFINE_SUM (sum16, uint16_t, uint32_t)
DEFINE_SUM (hue_sum, float, float)

/* With one edge value a sample, out = in + floor (t / d + 1/2), t = (code - in) * k. |t| < 2^24 is exact in float; t /
 * d is a multiple of 1 / (2 d) >= 1 / 130050 away from any half that it does not hit, and a rounded quotient below 256
 * is off by 2^-17 at most, which is less. (tests/core/test_cpuexact.c tries every t.) */
static void
blend8 (const SobelCpuBlend *k, const uint8_t *in, const uint8_t *e, uint8_t *out, int32_t n)
{
  const int32_t code = (int32_t) k->code, alpha = (int32_t) k->alpha;
  const float d = (float) k->d;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++) {
    const int32_t v = (int32_t) in[i];
    const float q = (float) ((code - v) * ((int32_t) e[i] * alpha)) / d + 0.5f;
    const int32_t cut = (int32_t) q;
    out[i] = (uint8_t) (v + (q < (float) cut ? cut - 1 : cut));
  }
}

/* x is an integer below 2^30 (8 bits) or 2^46; x + 1/2 is at least 1 / (4 d) away from a multiple of 2 d, relative to
 * x more than 2^-47: a rounded reciprocal and a rounded product do not reach it. */
static void
blend8_sum (const SobelCpuBlend *k, const uint8_t *in, const uint16_t *e, uint8_t *out, int32_t n)
{
  const int32_t code = (int32_t) k->code, alpha = (int32_t) k->alpha, d = (int32_t) k->d;
  const double inverse = k->inverse;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++) {
    const int32_t kk = (int32_t) e[i] * alpha;
    const int32_t x = 2 * ((int32_t) in[i] * (d - kk) + code * kk) + d;
    out[i] = (uint8_t) (int32_t) (((double) x + 0.5) * inverse);
  }
}

#define DEFINE_BLEND16(NAME, SUM)                                                                                      \
  static void NAME (const SobelCpuBlend *k, const uint16_t *in, const SUM *e, uint16_t *out, int32_t n)                \
  {                                                                                                                    \
    const int32_t alpha = (int32_t) k->alpha;                                                                          \
    const double code = k->code, d = k->d, inverse = k->inverse;                                                       \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      const double kk = (double) ((int32_t) e[i] * alpha), v = (double) (int32_t) in[i];                               \
      const double x = 2.0 * (v * (d - kk) + code * kk) + d;                                                           \
      out[i] = (uint16_t) (int32_t) ((x + 0.5) * inverse);                                                             \
    }                                                                                                                  \
  }

DEFINE_BLEND16 (blend16, uint16_t)
DEFINE_BLEND16 (blend16_sum, uint32_t)

#define DEFINE_MASK(NAME, TYPE, SUM)                                                                                   \
  static void NAME (TYPE other, const TYPE *in, const SUM *e, TYPE *out, int32_t n)                                    \
  {                                                                                                                    \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      const TYPE kept = in[i];                                                                                         \
      out[i] = e[i] ? kept : other;                                                                                    \
    }                                                                                                                  \
  }

DEFINE_MASK (mask8, uint8_t, uint8_t)
DEFINE_MASK (mask8_sum, uint8_t, uint16_t)
DEFINE_MASK (mask16, uint16_t, uint16_t)
DEFINE_MASK (mask16_sum, uint16_t, uint32_t)

/* ---- gray output ---------------------------------------------------------------------------------- */

/* In float: sums are below 2^18, quotients off by less than 3e-5 and 1/1020 away from the next integer. */
static void
scale8 (const SobelCpuScale *k, const uint8_t *in, uint8_t *out, int32_t n)
{
  const int32_t minus = (int32_t) k->minus, twice = 2 * (int32_t) k->white, range = (int32_t) k->range;
  const float inverse = (float) k->inverse;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = (uint8_t) (int32_t) (((float) ((in[i] - minus) * twice + range) + 0.5f) * inverse);
}

static void
scale16 (const SobelCpuScale *k, const uint16_t *in, uint16_t *out, int32_t n)
{
  const int32_t minus = (int32_t) k->minus;
  const double twice = 2.0 * k->white, range = k->range, inverse = k->inverse;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = (uint16_t) (int32_t) (((double) (in[i] - minus) * twice + range + 0.5) * inverse);
}

#define DEFINE_CODE(NAME, TYPE)                                                                                        \
  static void NAME (TYPE low, TYPE high, const TYPE *in, TYPE *out, int32_t n)                                         \
  {                                                                                                                    \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      const TYPE raised = in[i] < low ? low : in[i];                                                                   \
      out[i] = raised > high ? high : raised;                                                                          \
    }                                                                                                                  \
  }

#define DEFINE_CODE32(NAME, OUT)                                                                                       \
  static void NAME (uint32_t unit, const uint32_t *in, OUT *out, int32_t n)                                            \
  {                                                                                                                    \
    const double inverse = 1.0 / unit;                                                                                 \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++)                                                                                            \
      out[i] = (OUT) (int32_t) (((double) (int32_t) in[i] + 0.5) * inverse);                                           \
  }

DEFINE_CODE (code8, uint8_t)
DEFINE_CODE (code16, uint16_t)
DEFINE_CODE32 (code32_8, uint8_t)
DEFINE_CODE32 (code32_16, uint16_t)

/* ---- direction ------------------------------------------------------------------------------------ */

/* sobel_hue_shares() without branches; the same operations give the same bits. */
ALWAYS_INLINE void
hue_shares (float x, float y, float *shares)
{
  const float ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
  const float big = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
  const bool white = big == 0;
  float a = sobel_hue_angle (small / (white ? 1.0f : big)), h;
  int i;

  a = ay > ax ? 1.5f - a : a;
  a = x < 0 ? 3.0f - a : a;
  h = y < 0 ? 6.0f - a : a;
  for (i = 0; i < 3; i++) {
    float d = h - 2.0f * (float) i;
    d = d > 3.0f ? d - 6.0f : d;
    d = d < -3.0f ? d + 6.0f : d;
    d = 2.0f - (d < 0 ? -d : d);
    d = d < 0 ? 0 : d > 1.0f ? 1.0f : d;
    shares[i] = white ? 1.0f : d;
  }
}

#define DEFINE_HUE(NAME, IN, EDGE, G)                                                                                  \
  static void NAME (const SobelRecipe *recipe, const IN *up, const IN *mid, const IN *down, const EDGE *e,             \
                    float *const *out, int32_t n)                                                                      \
  {                                                                                                                    \
    const G s = (G) recipe->side, c = (G) recipe->centre;                                                              \
    float *const o0 = out[0], *const o1 = out[1], *const o2 = out[2];                                                  \
    float m[3][3];                                                                                                     \
    int32_t i;                                                                                                         \
                                                                                                                       \
    memcpy (m, recipe->hue_matrix, sizeof m);                                                                          \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      const G ul = (G) (int32_t) up[i], um = (G) (int32_t) up[i + 1], ur = (G) (int32_t) up[i + 2];                    \
      const G dl = (G) (int32_t) down[i], dm = (G) (int32_t) down[i + 1], dr = (G) (int32_t) down[i + 2];              \
      const G p = dr - ul, q = ur - dl;                                                                                \
      const G gx = s * (p + q) + c * ((G) (int32_t) mid[i + 2] - (G) (int32_t) mid[i]);                                \
      const G gy = s * (p - q) + c * (dm - um);                                                                        \
      const float v = (float) (int32_t) e[i];                                                                          \
      float w[3];                                                                                                      \
                                                                                                                       \
      hue_shares ((float) gx, (float) -gy, w);                                                                         \
      o0[i] = (m[0][0] * w[0] + m[0][1] * w[1] + m[0][2] * w[2]) * v;                                                  \
      o1[i] = (m[1][0] * w[0] + m[1][1] * w[1] + m[1][2] * w[2]) * v;                                                  \
      o2[i] = (m[2][0] * w[0] + m[2][1] * w[1] + m[2][2] * w[2]) * v;                                                  \
    }                                                                                                                  \
  }

DEFINE_HUE (hue8, uint8_t, uint8_t, int32_t)
DEFINE_HUE (hue16, uint16_t, uint16_t, int32_t)
DEFINE_HUE (hue32_8, uint32_t, uint8_t, int32_t)
DEFINE_HUE (hue32_16, uint32_t, uint16_t, double)

#define DEFINE_HUE_CODE(NAME, OUT)                                                                                     \
  static void NAME (const SobelRecipe *recipe, uint32_t base, uint32_t covered, const float *in, OUT *out, int32_t n)  \
  {                                                                                                                    \
    const float from = (float) base, most = (float) recipe->max_code, count = (float) covered;                         \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      /* Truncation rounds down what is not negative; the rest is clamped to 0 before. */                              \
      float code = from + in[i] / count + 0.5f;                                                                        \
      code = code < 0 ? 0 : code > most ? most : code;                                                                 \
      out[i] = (OUT) (int32_t) code;                                                                                   \
    }                                                                                                                  \
  }

DEFINE_HUE_CODE (hue_code8, uint8_t)
DEFINE_HUE_CODE (hue_code16, uint16_t)

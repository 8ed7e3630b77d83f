/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpurows_body.h"

#include "cpulayout_body.h"

#include <arm_neon.h>

typedef uint8x16_t V;

/* ---- edges ---------------------------------------------------------------------------------------- */

enum { V_BYTES = 16 };

#define S16(v) vreinterpretq_s16_u8 (v)
#define U16(v) vreinterpretq_u16_u8 (v)
#define S32(v) vreinterpretq_s32_u8 (v)
#define FROM_S16(v) vreinterpretq_u8_s16 (v)
#define FROM_U16(v) vreinterpretq_u8_u16 (v)
#define FROM_S32(v) vreinterpretq_u8_s32 (v)

#define v_load(p) vld1q_u8 ((const uint8_t *) (p))
#define v_store(p, v) vst1q_u8 ((uint8_t *) (p), v)
#define v_set8(x) vdupq_n_u8 ((uint8_t) (x))
#define v_set16(x) FROM_U16 (vdupq_n_u16 ((uint16_t) (x)))
#define v_step8 v_set16
#define v_step16 v_set16
#define v_lo8(a, b, step) v_mul16 (FROM_U16 (vsubl_u8 (vget_low_u8 (b), vget_low_u8 (a))), step)
#define v_hi8(a, b, step) v_mul16 (FROM_U16 (vsubl_high_u8 (b, a)), step)
#define v_pack8(a, b) vcombine_u8 (vqmovun_s16 (S16 (a)), vqmovun_s16 (S16 (b)))
#define v_add8 vaddq_u8
#define v_add16(a, b) FROM_S16 (vaddq_s16 (S16 (a), S16 (b)))
#define v_sub16(a, b) FROM_S16 (vsubq_s16 (S16 (a), S16 (b)))
#define v_mul16(a, b) FROM_S16 (vmulq_s16 (S16 (a), S16 (b)))
#define v_addsat16(a, b) FROM_U16 (vqaddq_u16 (U16 (a), U16 (b)))
#define v_abs16(v) FROM_S16 (vabsq_s16 (S16 (v)))
#define v_limit8(v, least, most) vandq_u8 (vminq_u8 (v, most), vcgeq_u8 (v, least))
#define v_limit16(v, least, most) \
  FROM_U16 (vandq_u16 (vminq_u16 (U16 (v), U16 (most)), vcgeq_u16 (U16 (v), U16 (least))))
#define v_xor veorq_u8

/* |gx|, |gy| <= 32767, so the sum of squares has 31 bits; see ROOT_FLOAT for the root. */
static inline int16x4_t
root (int32x4_t n)
{
  return vqmovn_s32 (vcvtq_s32_f32 (vsqrtq_f32 (vcvtq_f32_s32 (n))));
}

static inline V
v_norm16 (V gx, V gy)
{
  const int16x8_t x = S16 (gx), y = S16 (gy);
  const int32x4_t lo = vmlal_s16 (vmull_s16 (vget_low_s16 (x), vget_low_s16 (x)), vget_low_s16 (y), vget_low_s16 (y));
  const int32x4_t hi = vmlal_high_s16 (vmull_high_s16 (x, x), y, y);

  return FROM_S16 (vcombine_s16 (root (lo), root (hi)));
}

/* ---- luma ----------------------------------------------------------------------------------------- */

enum { V_SLACK = 2 };

#define v_repeat v_load
#define v_shuffle8 vqtbl1q_u8
#define v_add32(a, b) FROM_S32 (vaddq_s32 (S32 (a), S32 (b)))

static inline void
v_pixels3 (const uint8_t *p, V pixels[4])
{
  int i;

  for (i = 0; i < 4; i++)
    pixels[i] = v_load (p + 12 * i);
}

static inline V
v_madd16 (V a, V b)
{
  const int16x8_t x = S16 (a), y = S16 (b);

  return FROM_S32 (vpaddq_s32 (vmull_s16 (vget_low_s16 (x), vget_low_s16 (y)), vmull_high_s16 (x, y)));
}

static inline V
v_divide32 (V v, float inverse)
{
  const float32x4_t sum = vaddq_f32 (vcvtq_f32_s32 (S32 (v)), vdupq_n_f32 (0.5f));

  return FROM_S32 (vcvtq_s32_f32 (vmulq_n_f32 (sum, inverse)));
}

static inline V
v_pack32 (V a, V b, V c, V d)
{
  const int16x8_t ab = vcombine_s16 (vqmovn_s32 (S32 (a)), vqmovn_s32 (S32 (b)));
  const int16x8_t cd = vcombine_s16 (vqmovn_s32 (S32 (c)), vqmovn_s32 (S32 (d)));

  return v_pack8 (FROM_S16 (ab), FROM_S16 (cd));
}

#include "cpusimd_body.h"
#include "cpusimd_luma_body.h"
#include "cpusimd_pass_body.h"

void
sobel_cpu_rows_neon (SobelCpuRows *rows)
{
  fill_rows (rows, "neon", "NEON");
  rows->edge8 = simd_edge8;
  rows->edge16 = simd_edge16;
  rows->luma8_packed = simd_luma8_packed;
  rows->edge8_luma = simd_edge8_luma;
  rows->luma_between = true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Luma of packed 8-bit RGB in vector intrinsics. The including file defines, beside what cpusimd_body.h asks for,
 *
 *   v_repeat (p)                  the same 16 bytes in every 16 bytes
 *   v_pixels3 (p, pixels)         V_BYTES pixels of 3 bytes into four vectors, four pixels in every 16 bytes; reads up
 *                                 to V_SLACK pixels more
 *   v_shuffle8                    bytes within every 16 bytes, 0 where the index is negative
 *   v_madd16                      32-bit lanes: sums of the products of two 16-bit lanes
 *   v_add32
 *   v_divide32 (v, inverse)       (v + 0.5) * inverse in float, rounded down
 *   v_pack32 (a, b, c, d)         32-bit lanes, 0 to 255, to bytes in order
 *
 * No include guard: a file includes this once, after cpurows_body.h. */

/* 32-bit lanes: luma of one pixel each. */
ALWAYS_INLINE V
simd_luma_of (V pixels, const V *k, float inverse)
{
  const V rg = v_madd16 (v_shuffle8 (pixels, k[0]), k[2]), b = v_madd16 (v_shuffle8 (pixels, k[1]), k[3]);

  return v_divide32 (v_add32 (rg, b), inverse);
}

typedef struct LumaVectors
{
  V k[4]; /* as simd_luma_of has them */
  float inverse;
} LumaVectors;

ALWAYS_INLINE void
luma_vectors_init (LumaVectors *v, const SobelCpuLuma *k)
{
  const int32_t step = (int32_t) k->step;
  int8_t rg[16], b[16];
  int16_t weight_rg[8], weight_b[8];
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
  v->k[0] = v_repeat (rg);
  v->k[1] = v_repeat (b);
  v->k[2] = v_repeat (weight_rg);
  v->k[3] = v_repeat (weight_b);
  v->inverse = (float) k->inverse;
}

ALWAYS_INLINE void
simd_luma_at (const LumaVectors *v, const uint8_t *src, uint8_t *out, int32_t step, bool thousands)
{
  V pixels[4];
  int32_t i;

  if (step == 3) {
    v_pixels3 (src, pixels);
  } else {
    for (i = 0; i < 4; i++)
      pixels[i] = v_load (src + i * V_BYTES);
  }
  v_store (out, v_pack32 (simd_luma_of (pixels[0], v->k, v->inverse), simd_luma_of (pixels[1], v->k, v->inverse),
                          simd_luma_of (pixels[2], v->k, v->inverse), simd_luma_of (pixels[3], v->k, v->inverse)));
}

/* All weights go the same way. */
#define luma_is_thousands(k) false

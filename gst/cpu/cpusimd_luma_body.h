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

ALWAYS_INLINE void
simd_luma_row (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n, int32_t step)
{
  const float inverse = (float) k->inverse;
  int8_t rg[16], b[16];
  int16_t weight_rg[8], weight_b[8];
  V v[4];
  int32_t i, j;

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
    V pixels[4];

    if (step == 3) {
      v_pixels3 (p, pixels);
    } else {
      for (j = 0; j < 4; j++)
        pixels[j] = v_load (p + j * V_BYTES);
    }
    v_store (out + i, v_pack32 (simd_luma_of (pixels[0], v, inverse), simd_luma_of (pixels[1], v, inverse),
                                simd_luma_of (pixels[2], v, inverse), simd_luma_of (pixels[3], v, inverse)));
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

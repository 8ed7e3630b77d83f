/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The row functions' arithmetic against that of sobelarith.h, over all values where that is possible: what they
 * compute another way (roots and quotients by float, reciprocals) must be the same integer. */
#include "cpudevice.h"
#include "cpuisa.h"
#include "sobelarith.h"
#include "testutil.h"

#include <math.h>
#include <string.h>

static SobelCpuRows rows;

/* The root that the 8-bit and narrow 16-bit edges take: n < 2^24 in float. */
static void
check_float_root (void)
{
  uint32_t n, root = 0, wrong = 0;

  for (n = 0; n < 1u << 24; n++) {
    if ((root + 1) * (root + 1) <= n)
      root++;
    wrong += (uint32_t) (int32_t) sqrtf ((float) n) != root;
  }
  T_CHECK (wrong == 0, "%u roots", wrong);
  /* Beyond, the float may be another number, but its root is no smaller than 4096 and saturates. */
  for (n = 0x7fffffff; n >= 1u << 24; n -= n / 1000)
    T_CHECK (sqrtf ((float) n) >= 4096.0f, "root of %u", n);
}

/* All pairs of gradients up to 255, which give every sum of squares that an 8-bit edge below 255 can have, and
 * multiples of them up to 4080, which is scharr's largest. */
static void
check_edge8 (void)
{
  uint8_t up[258], mid[258], down[258], got[256];
  SobelCpuEdge k = {.metric = SOBEL_CPU_METRIC_L2, .exact = true, .unit = 1, .gain = 1, .range = 255};
  uint32_t i, x, y, wrong = 0;

  memset (up, 0, sizeof up);
  for (k.centre = 1; k.centre <= 16; k.centre++) {
    for (x = 0; x < 256; x++) {
      for (i = 0; i < 258; i++) {
        mid[i] = (uint8_t) (i & 2 ? x : 0);
        down[i] = (uint8_t) (i - 1);
      }
      rows.edge8 (&k, up, mid, down, got, 256);
      for (y = 0; y < 256; y++) {
        const int32_t gx = k.centre * (int32_t) x, gy = k.centre * (int32_t) y;
        const uint32_t root = (uint32_t) floor (sqrt ((double) gx * gx + (double) gy * gy));
        wrong += got[y] != (root < 255 ? root : 255);
      }
    }
  }
  T_CHECK (wrong == 0, "%s: %u edges", rows.name, wrong);
}

/* One, two or three rows, told apart by their samples; the byte behind stays. */
static void
check_join3 (void)
{
  uint8_t row[3][300], out[901];
  int32_t n, i, c;
  uint32_t wrong = 0, same;

  for (c = 0; c < 3; c++) {
    for (i = 0; i < 300; i++)
      row[c][i] = (uint8_t) (t_chance () % 85 * 3 + (uint32_t) c);
  }
  for (same = 0; same < 4; same++) {
    const uint8_t *const in[3] = {row[0], row[same & 1 ? 0 : 1], row[same & 2 ? 0 : 2]};

    for (n = 1; n <= 300; n++) {
      memset (out, 0xa5, sizeof out);
      rows.join3_8 (in, out, n);
      for (i = 0; i < 3 * n; i++)
        wrong += out[i] != in[i % 3][i / 3];
      wrong += out[3 * n] != 0xa5;
    }
  }
  T_CHECK (wrong == 0, "%s: %u bytes of pixels", rows.name, wrong);
}

/* Both halves as by themselves, for every length; the byte behind stays. */
static void
check_edge8_luma (void)
{
  static uint8_t row[3][302], src[1200];
  SobelCpuLuma luma = {.position = {2, 1, 0}};
  SobelCpuEdge edge = {.exact = true, .side = 1, .centre = 2, .unit = 1, .gain = 1, .range = 219, .bias = 16};
  uint8_t edges[301], want_edges[301], lumas[301], want_lumas[301];
  static const int32_t weights[2][3] = {{299, 587, 114}, {2126, 7152, 722}};
  uint32_t wrong = 0;
  int32_t n, kind;

  for (n = 0; n < 302; n++)
    row[0][n] = (uint8_t) t_chance (), row[1][n] = (uint8_t) t_chance (), row[2][n] = (uint8_t) t_chance ();
  for (n = 0; n < 1200; n++)
    src[n] = (uint8_t) t_chance ();
  for (kind = 0; kind < 32; kind++) {
    edge.metric = (SobelCpuMetric) (kind / 8);
    luma.step = kind % 4 == 0 ? 1 : kind % 2 ? 3 : 4;
    memcpy (luma.weight, weights[kind / 4 % 2], sizeof luma.weight);
    luma.inverse = kind / 4 % 2 ? 1e-4 : 1e-3;
    for (n = 1; n <= 300; n++) {
      const SobelCpuLater later = {&luma, src, lumas, kind % 3 ? src : NULL};

      memset (edges, 0xa5, sizeof edges);
      memset (lumas, 0xa5, sizeof lumas);
      memset (want_edges, 0xa5, sizeof want_edges);
      memset (want_lumas, 0xa5, sizeof want_lumas);
      rows.edge8_luma (&edge, row[0], row[1], row[2], edges, n, &later);
      rows.edge8 (&edge, row[0], row[1], row[2], want_edges, n);
      rows.luma8_packed (&luma, src, want_lumas, n);
      wrong += memcmp (edges, want_edges, sizeof edges) != 0 || memcmp (lumas, want_lumas, sizeof lumas) != 0;
    }
  }
  T_CHECK (wrong == 0, "%s: %u rows of edges and luma", rows.name, wrong);
}

static void
check_luma8 (void)
{
  static const uint32_t weights[3][4] = {{299, 587, 114, 1000}, {2126, 7152, 722, 10000}, {2627, 6780, 593, 10000}};
  uint8_t red[256], green[256], blue[256], packed[1024], got[256], got_packed[256];
  unsigned w, i, r, g, b;

  for (w = 0; w < 3; w++) {
    SobelCpuLuma k = {.inverse = 1.0 / weights[w][3], .step = 3 + w % 2, .position = {0, 1, 2}};
    uint32_t wrong = 0;

    for (i = 0; i < 3; i++)
      k.weight[i] = (int32_t) weights[w][i];
    for (r = 0; r < 256; r++) {
      memset (red, (int) r, sizeof red);
      for (g = 0; g < 256; g++) {
        memset (green, (int) g, sizeof green);
        for (b = 0; b < 256; b++) {
          blue[b] = (uint8_t) b;
          packed[b * k.step] = (uint8_t) r;
          packed[b * k.step + 1] = (uint8_t) g;
          packed[b * k.step + 2] = (uint8_t) b;
        }
        rows.luma8 (&k, red, green, blue, got, 256);
        rows.luma8_packed (&k, packed, got_packed, 256);
        for (b = 0; b < 256; b++) {
          const uint32_t want = (weights[w][0] * r + weights[w][1] * g + weights[w][2] * b) / weights[w][3];
          wrong += got[b] != want || got_packed[b] != want;
        }
      }
    }
    T_CHECK (wrong == 0, "%s: %u of 2^24 colours with luma %u", rows.name, wrong, w);
  }
}

enum { N = 4096 };

static void
check_luma16 (void)
{
  static const uint32_t weights[3][4] = {{299, 587, 114, 1000}, {2126, 7152, 722, 10000}, {2627, 6780, 593, 10000}};
  static uint16_t in[3][N], got[N];
  static uint32_t sums[N];
  unsigned w, round, i;
  uint32_t wrong = 0;

  for (w = 0; w < 3; w++) {
    const uint32_t unit = weights[w][3];
    SobelCpuLuma k = {.weight = {(int32_t) weights[w][0], (int32_t) weights[w][1], (int32_t) weights[w][2]},
                      .inverse = 1.0 / unit};

    for (round = 0; round < 200; round++) {
      for (i = 0; i < N; i++) {
        in[0][i] = (uint16_t) t_chance ();
        in[1][i] = round % 2 ? in[0][i] : (uint16_t) t_chance ();
        in[2][i] = round % 2 ? in[0][i] : (uint16_t) (t_chance () >> (round % 16));
      }
      rows.luma16 (&k, in[0], in[1], in[2], got, N);
      rows.luma16_32 (&k, in[0], in[1], in[2], sums, N);
      for (i = 0; i < N; i++) {
        const uint32_t sum = weights[w][0] * in[0][i] + weights[w][1] * in[1][i] + weights[w][2] * in[2][i];
        wrong += got[i] != sum / unit || sums[i] != sum;
      }
      /* Sums just below and at whole codes. */
      for (i = 0; i < N; i++)
        sums[i] = (t_chance () % 65536 + i % 2) * unit - i % 2;
      rows.code32_16 (unit, sums, got, N);
      for (i = 0; i < N; i++)
        wrong += got[i] != sums[i] / unit;
    }
  }
  T_CHECK (wrong == 0, "%s: %u lumas of 16 bits", rows.name, wrong);
}

/* Every difference of colours, edge value and alpha. */
static void
check_blend8 (uint32_t range)
{
  uint8_t in[256], e[256], got[256];
  uint32_t code, alpha, strength, v, wrong = 0;

  for (v = 0; v < 256; v++)
    in[v] = (uint8_t) v;
  for (code = 0; code < 256; code += 255) {
    for (alpha = 0; alpha < 256; alpha++) {
      const SobelRecipe recipe = {.range = range, .overlay_alpha = alpha};
      const SobelCpuBlend k = {.code = code, .alpha = alpha, .d = 255 * range, .inverse = 1.0 / (2.0 * 255 * range)};
      for (strength = 0; strength <= range; strength++) {
        memset (e, (int) strength, sizeof e);
        rows.blend8 (&k, in, e, got, 256);
        for (v = 0; v < 256; v++)
          wrong += got[v] != sobel_overlay (&recipe, v, code, strength, 1);
      }
    }
  }
  T_CHECK (wrong == 0, "%s: %u blends of range %u", rows.name, wrong, range);
}

/* Sums and deeper samples: drawn. */
static void
check_blends (void)
{
  static const uint32_t ranges8[] = {219, 255}, ranges16[] = {876, 1023, 3504, 4095, 56064, 65535};
  static uint8_t in8[N], got8[N];
  static uint16_t in16[N], got16[N], sum8[N], e16[N];
  static uint32_t sum16[N];
  unsigned round, i;
  uint32_t wrong = 0;

  for (round = 0; round < 600; round++) {
    const uint32_t covered = 1u + t_chance () % 16, alpha = round % 5 ? t_chance () % 256 : 255;
    const uint32_t r8 = ranges8[round % 2], r16 = ranges16[round % 6],
                   most = r16 < 1024   ? 1023
                          : r16 < 4096 ? 4095
                                       : 65535;
    const SobelRecipe recipe8 = {.range = r8, .overlay_alpha = alpha},
                      recipe16 = {.range = r16, .overlay_alpha = alpha};
    SobelCpuBlend k8 = {.code = t_chance () % 256, .alpha = alpha, .d = covered * 255 * r8};
    SobelCpuBlend k16 = {.code = t_chance () % (most + 1), .alpha = alpha, .d = covered * 255 * r16}, one = k16;

    k8.inverse = 1.0 / (2.0 * k8.d);
    k16.inverse = 1.0 / (2.0 * k16.d);
    one.d = 255 * r16;
    one.inverse = 1.0 / (2.0 * one.d);
    for (i = 0; i < N; i++) {
      in8[i] = (uint8_t) t_chance ();
      in16[i] = (uint16_t) (t_chance () % (most + 1));
      sum8[i] = (uint16_t) (t_chance () % (covered * r8 + 1));
      sum16[i] = t_chance () % (covered * r16 + 1);
      e16[i] = (uint16_t) (t_chance () % (r16 + 1));
    }
    rows.blend8_sum (&k8, in8, sum8, got8, N);
    for (i = 0; i < N; i++)
      wrong += got8[i] != sobel_overlay (&recipe8, in8[i], k8.code, sum8[i], covered);
    rows.blend16_sum (&k16, in16, sum16, got16, N);
    for (i = 0; i < N; i++)
      wrong += got16[i] != sobel_overlay (&recipe16, in16[i], k16.code, sum16[i], covered);
    rows.blend16 (&one, in16, e16, got16, N);
    for (i = 0; i < N; i++)
      wrong += got16[i] != sobel_overlay (&recipe16, in16[i], one.code, e16[i], 1);
  }
  T_CHECK (wrong == 0, "%s: %u blends", rows.name, wrong);
}

static void
check_scales (void)
{
  static const uint32_t scales[][3] = {{16, 219, 255},     {0, 255, 255},      {64, 876, 65535},   {0, 1023, 65535},
                                       {256, 3504, 65535}, {0, 4095, 65535},   {4096, 56064, 65535}, {0, 65535, 65535}};
  static uint8_t in8[256], got8[256];
  static uint16_t in16[65536], got16[65536];
  unsigned s;
  uint32_t e, wrong = 0;

  for (s = 0; s < sizeof scales / sizeof scales[0]; s++) {
    const uint32_t minus = scales[s][0], range = scales[s][1], white = scales[s][2];
    const SobelRecipe recipe = {.range = range, .gray_max = white};
    const SobelCpuScale k = {.minus = minus, .white = white, .range = range, .inverse = 1.0 / (2.0 * range)};

    for (e = 0; e <= range; e++) {
      if (white == 255)
        in8[e] = (uint8_t) (minus + e);
      else
        in16[e] = (uint16_t) (minus + e);
    }
    if (white == 255)
      rows.scale8 (&k, in8, got8, (int32_t) range + 1);
    else
      rows.scale16 (&k, in16, got16, (int32_t) range + 1);
    for (e = 0; e <= range; e++)
      wrong += (white == 255 ? got8[e] : got16[e]) != sobel_gray_scale (&recipe, e);
  }
  T_CHECK (wrong == 0, "%s: %u scaled codes", rows.name, wrong);
}

/* Every pair of gradients that 8-bit luma can have with prewitt's centre column and row, and far larger ones: the
 * same bits as sobel_hue_offset() has. */
static void
check_hues (void)
{
  static uint32_t up[N + 2], mid[2][N + 2], down[N + 2];
  static uint16_t e16[N];
  static uint8_t e8[N];
  static float got[3][N];
  float *const out[3] = {got[0], got[1], got[2]};
  SobelRecipe recipe = {.side = 0, .centre = 1};
  unsigned round, i, c;
  uint32_t wrong = 0;

  for (i = 0; i < 9; i++)
    recipe.hue_matrix[i / 3][i % 3] = (float) (t_chance () % 2001) / 1000.0f - 1.0f;
  for (round = 0; round < 600; round++) {
    const uint32_t most = round % 3 == 0 ? 8 : round % 3 == 1 ? 256 : 655350001;

    for (i = 0; i < N + 2; i++) {
      up[i] = t_chance () % most;
      mid[0][i] = t_chance () % most;
      down[i] = t_chance () % most;
    }
    for (i = 0; i < N; i++) {
      e8[i] = (uint8_t) t_chance ();
      e16[i] = (uint16_t) t_chance ();
    }
    if (round % 2)
      rows.hue32_8 (&recipe, up, mid[0], down, e8, out, N);
    else
      rows.hue32_16 (&recipe, up, mid[0], down, e16, out, N);
    for (i = 0; i < N; i++) {
      const int64_t gx = (int64_t) mid[0][i + 2] - mid[0][i], gy = (int64_t) down[i + 1] - up[i + 1];
      float shares[3];
      sobel_hue_shares (gx, gy, shares);
      for (c = 0; c < 3; c++) {
        const float want = sobel_hue_offset (&recipe, (int) c, shares, round % 2 ? e8[i] : e16[i]);
        wrong += want != got[c][i];
      }
    }
  }
  T_CHECK (wrong == 0, "%s: %u hues", rows.name, wrong);
}

int
main (void)
{
  const unsigned available = sobel_cpu_isa_available ();
  unsigned isa;

  check_float_root ();
  for (isa = 0; isa <= available; isa = isa ? isa << 1 : 1) {
    if (isa & ~available)
      continue;
    sobel_cpu_set_isa_mask (isa);
    sobel_cpu_rows_init (&rows);
    printf ("%s\n", rows.name);
    check_edge8 ();
    check_join3 ();
    check_edge8_luma ();
    check_luma8 ();
    check_luma16 ();
    check_blend8 (255);
    check_blend8 (219);
    check_blends ();
    check_scales ();
    check_hues ();
  }
  return t_result ();
}

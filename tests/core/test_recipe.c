/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recipes: constants of ranges and matrices, colours, thresholds, plane uses; and the hue of the direction mode. */
#include "sobelarith.h"
#include "testutil.h"

#include <stdlib.h>
#include <string.h>

static const double matrices[][2] = {{0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}, {0.212, 0.087}, {0.30, 0.11}};

static SobelRecipe
make (const char *in, const char *out, bool full, double kr, double kb, const SobelParams *params)
{
  const SobelFormat *f = sobel_format_find (in);
  const SobelConfig config = {f, out ? sobel_format_find (out) : f, 16, 16, full, kr, kb};
  SobelRecipe recipe;

  memset (&recipe, 0x5a, sizeof recipe);
  sobel_recipe_init (&recipe, &config, params);
  return recipe;
}

static void
check_ranges (void)
{
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelParams other = params;
  SobelRecipe r;

  r = make ("I420", NULL, false, 0.299, 0.114, &params);
  T_CHECK (r.black == 16 && r.range == 219 && r.max_code == 255 && r.neutral == 128, "8 bit limited");
  T_CHECK (r.exact && r.unit == 1 && r.outside == 16 && r.side == 1 && r.centre == 2 && !r.gray_out, "defaults");
  r = make ("P010_10LE", NULL, false, 0.299, 0.114, &params);
  T_CHECK (r.black == 64 && r.range == 876 && r.max_code == 1023 && r.neutral == 512, "10 bit limited");
  r = make ("Y444_16LE", NULL, false, 0.299, 0.114, &params);
  T_CHECK (r.black == 4096 && r.range == 56064 && r.max_code == 65535 && r.neutral == 32768, "16 bit limited");
  r = make ("I420", NULL, true, 0.299, 0.114, &params);
  T_CHECK (r.black == 0 && r.range == 255, "8 bit full");
  /* RGB is full range, whatever its caps say; gray is what its caps say. */
  r = make ("RGB", NULL, false, 0, 0, &params);
  T_CHECK (r.black == 0 && r.range == 255, "RGB");
  r = make ("GRAY16_LE", NULL, false, 0, 0, &params);
  T_CHECK (r.black == 4096 && r.range == 56064, "limited gray");
  r = make ("GRAY16_LE", NULL, true, 0, 0, &params);
  T_CHECK (r.black == 0 && r.range == 65535, "full gray");

  other.precision = SOBEL_PRECISION_FLOAT;
  r = make ("RGB", NULL, false, 0, 0, &other);
  T_CHECK (r.unit == 1000 && !r.exact, "float BT.601");
  r = make ("I420", NULL, false, 0.299, 0.114, &other);
  T_CHECK (r.unit == 1 && r.exact, "float acts on RGB alone");
  other.luma = SOBEL_LUMA_BT2020;
  r = make ("GBR_16BE", NULL, false, 0, 0, &other);
  T_CHECK (r.unit == 10000 && r.luma_weight[0] == 2627 && r.luma_weight[1] == 6780 && r.luma_weight[2] == 593, "2020");
  T_CHECK (sobel_luma_rgb (&r, 65535, 65535, 65535) == 655350000u, "white in units of 1/u");

  other = params;
  other.gain = 1.5;
  r = make ("GRAY8", NULL, true, 0, 0, &other);
  T_CHECK (!r.exact && r.gain == 1.5, "gain");
  other.op = SOBEL_OPERATOR_SCHARR;
  r = make ("GRAY8", NULL, true, 0, 0, &other);
  T_CHECK (r.side == 3 && r.centre == 10, "scharr");
  other.op = SOBEL_OPERATOR_PREWITT;
  r = make ("GRAY8", NULL, true, 0, 0, &other);
  T_CHECK (r.side == 1 && r.centre == 1, "prewitt");

  r = make ("I420", "GRAY8", false, 0.299, 0.114, &params);
  T_CHECK (r.gray_out && r.gray_max == 255, "8 bit gray out");
  r = make ("I420_10LE", "GRAY16_LE", false, 0.299, 0.114, &params);
  T_CHECK (r.gray_out && r.gray_max == 65535, "16 bit gray out");
  T_CHECK (sobel_gray_scale (&r, 876) == 65535 && sobel_gray_scale (&r, 0) == 0 && sobel_gray_scale (&r, 1) == 75,
           "%u", sobel_gray_scale (&r, 1));
}

static void
check_thresholds (void)
{
  static const struct
  {
    double threshold;
    uint32_t limited, full;
  } cases[] = {{0, 0, 0}, {1, 219, 255}, {0.5, 110, 128}, {1e-300, 1, 1}, {0.2, 44, 51}};
  unsigned i;

  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    SobelParams params = SOBEL_PARAMS_DEFAULT;
    SobelRecipe r;

    params.threshold = cases[i].threshold;
    r = make ("I420", NULL, false, 0.299, 0.114, &params);
    T_CHECK (r.threshold == cases[i].limited, "%g: %u", cases[i].threshold, r.threshold);
    r = make ("I420", NULL, true, 0.299, 0.114, &params);
    T_CHECK (r.threshold == cases[i].full, "%g: %u", cases[i].threshold, r.threshold);
  }
}

static void
check_colour (const char *format, bool full, uint32_t argb, uint32_t c0, uint32_t c1, uint32_t c2)
{
  SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelRecipe r;

  params.overlay_color = argb;
  r = make (format, NULL, full, 0.299, 0.114, &params);
  T_CHECK (r.overlay_alpha == argb >> 24, "alpha");
  T_CHECK (r.overlay_code[0] == c0 && r.overlay_code[1] == c1 && r.overlay_code[2] == c2, "%s %08x: %u %u %u", format,
           argb, r.overlay_code[0], r.overlay_code[1], r.overlay_code[2]);
}

static bool
rounds_to (uint32_t code, double exact, double max)
{
  const double clamped = exact < 0 ? 0 : exact > max ? max : exact;

  return fabs ((double) code - clamped) <= 0.5 + 1e-9;
}

/* Every code is the nearest one to a value computed another way. */
static void
check_random_colours (void)
{
  static const char *const names[] = {"I420", "I420_10LE", "Y412_LE", "Y444_16LE"};
  unsigned i;

  for (i = 0; i < 20000; i++) {
    const double kr = matrices[i % 5][0], kb = matrices[i % 5][1], kg = 1 - kr - kb;
    const char *name = names[i / 5 % 4];
    const bool full = i / 20 & 1;
    SobelParams params = SOBEL_PARAMS_DEFAULT;
    double r, g, b, y, scale, chroma;
    SobelRecipe recipe;

    params.overlay_color = t_chance ();
    recipe = make (name, NULL, full, kr, kb, &params);
    r = (params.overlay_color >> 16 & 255) / 255.0;
    g = (params.overlay_color >> 8 & 255) / 255.0;
    b = (params.overlay_color & 255) / 255.0;
    y = kr * r + kg * g + kb * b;
    scale = (recipe.max_code + 1) / 256.0;
    chroma = full ? recipe.max_code : 224 * scale;
    T_CHECK (rounds_to (recipe.overlay_code[0], full ? recipe.max_code * y : (16 + 219 * y) * scale, recipe.max_code),
             "%s %08x luma %u", name, params.overlay_color, recipe.overlay_code[0]);
    T_CHECK (rounds_to (recipe.overlay_code[1], recipe.neutral + chroma * (b - y) / (2 - 2 * kb), recipe.max_code),
             "%s %08x Cb %u", name, params.overlay_color, recipe.overlay_code[1]);
    T_CHECK (rounds_to (recipe.overlay_code[2], recipe.neutral + chroma * (r - y) / (2 - 2 * kr), recipe.max_code),
             "%s %08x Cr %u", name, params.overlay_color, recipe.overlay_code[2]);
  }
}

static void
check_colours (void)
{
  SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelRecipe r;

  check_colour ("RGB", true, 0x80ff8001, 255, 128, 1);
  check_colour ("GBR_10LE", true, 0xffff8001, 1023, 514, 4);
  check_colour ("RGBA64_LE", true, 0xffff8001, 65535, 128 * 257, 257);
  check_colour ("I420", false, 0xffff0000, 81, 90, 240);
  check_colour ("I420", false, 0xffffffff, 235, 128, 128);
  check_colour ("I420", false, 0xff000000, 16, 128, 128);
  check_colour ("I420", true, 0xffffffff, 255, 128, 128);
  check_colour ("I420", true, 0xff0000ff, 29, 255, 107); /* Cb 255.5, clamped */
  check_colour ("P010_10LE", false, 0xffff0000, 326, 361, 960);
  check_colour ("GRAY8", true, 0xffff0000, 76, 0, 0);
  check_colour ("GRAY8", false, 0xffff0000, 81, 0, 0);

  /* Gray made from another format: a gray code of the input's range. */
  r = make ("I420", "GRAY8", false, 0.299, 0.114, &params);
  T_CHECK (r.overlay_code[0] == 81, "%u", r.overlay_code[0]);
  params.luma = SOBEL_LUMA_BT709;
  r = make ("RGB", "GRAY8", false, 0, 0, &params);
  T_CHECK (r.overlay_code[0] == 54, "%u", r.overlay_code[0]);
  check_random_colours ();
}

static void
check_planes (const char *in, const char *out, SobelMode mode, const char *expected_in, const char *expected_out)
{
  const SobelFormat *f = sobel_format_find (in);
  const SobelConfig config = {f, out ? sobel_format_find (out) : f, 16, 16, false, 0.299, 0.114};
  static const char letters[] = "-RW?C???N";
  SobelParams params = SOBEL_PARAMS_DEFAULT;
  char got_in[5] = "", got_out[5] = "";
  uint8_t in_use[SOBEL_MAX_PLANES], out_use[SOBEL_MAX_PLANES];
  SobelRecipe recipe;
  unsigned i;

  params.mode = mode;
  sobel_recipe_init (&recipe, &config, &params);
  sobel_recipe_planes (&recipe, &config, in_use, out_use);
  for (i = 0; i < SOBEL_MAX_PLANES; i++) {
    got_in[i] = in_use[i] <= 8 ? letters[in_use[i]] : '?';
    got_out[i] = out_use[i] <= 8 ? letters[out_use[i]] : '?';
  }
  T_CHECK (strcmp (got_in, expected_in) == 0 && strcmp (got_out, expected_out) == 0,
           "%s mode %d: %s to %s, not %s to %s",
           in, mode, got_in, got_out, expected_in, expected_out);
}

static void
check_plane_uses (void)
{
  check_planes ("GRAY8", NULL, SOBEL_MODE_EDGES, "R---", "W---");
  check_planes ("I420", NULL, SOBEL_MODE_EDGES, "R---", "WNN-");
  check_planes ("I420", NULL, SOBEL_MODE_OVERLAY, "RRR-", "WWW-");
  check_planes ("I420", NULL, SOBEL_MODE_MASK, "RRR-", "WWW-");
  check_planes ("I420", NULL, SOBEL_MODE_DIRECTION, "R---", "WWW-");
  check_planes ("I420", "GRAY8", SOBEL_MODE_OVERLAY, "R---", "W---");
  check_planes ("I420", "GRAY8", SOBEL_MODE_BYPASS, "R---", "W---");
  check_planes ("NV12", NULL, SOBEL_MODE_EDGES, "R---", "WN--");
  check_planes ("NV12", NULL, SOBEL_MODE_MASK, "RR--", "WW--");
  check_planes ("A420", NULL, SOBEL_MODE_EDGES, "R---", "WNNC");
  check_planes ("A420", NULL, SOBEL_MODE_OVERLAY, "RRR-", "WWWC");
  check_planes ("AV12", NULL, SOBEL_MODE_EDGES, "R---", "WNC-");
  check_planes ("AV12", NULL, SOBEL_MODE_BYPASS, "----", "CCC-");
  check_planes ("YUY2", NULL, SOBEL_MODE_EDGES, "R---", "W---");
  check_planes ("AYUV", NULL, SOBEL_MODE_DIRECTION, "R---", "W---");
  check_planes ("RGBx", NULL, SOBEL_MODE_EDGES, "R---", "W---");
  check_planes ("RGBA", NULL, SOBEL_MODE_EDGES, "R---", "W---");
  check_planes ("RGBP", NULL, SOBEL_MODE_EDGES, "RRR-", "WWW-");
  check_planes ("GBRA", NULL, SOBEL_MODE_DIRECTION, "RRR-", "WWWC");
  check_planes ("GBRA", "GRAY8", SOBEL_MODE_EDGES, "RRR-", "W---");
}

/* Red, green and blue of a hue by the textbook's HSV, in double. */
static void
hsv (double gx, double gy, double *rgb)
{
  double h = atan2 (-gy, gx) / (2 * M_PI) * 6;
  int i;

  if (h < 0)
    h += 6;
  for (i = 0; i < 3; i++) {
    static const double peak[3] = {0, 2, 4};
    double d = fabs (h - peak[i]);
    if (d > 3)
      d = 6 - d;
    rgb[i] = fmin (1, fmax (0, 2 - d));
  }
}

static void
check_hue (void)
{
  double worst = 0, want[3];
  float shares[3];
  int64_t gx, gy;
  unsigned i;

  sobel_hue_shares (0, 0, shares);
  T_CHECK (shares[0] == 1 && shares[1] == 1 && shares[2] == 1, "no gradient is white");
  for (i = 0; i < 400000; i++) {
    int c;
    if (i < 160000) {
      gx = (int64_t) (i % 400) - 200;
      gy = (int64_t) (i / 400) - 200;
    } else {
      const unsigned cut = i % 33;
      gx = (int64_t) (int32_t) t_chance () * 4 >> cut;
      gy = (int64_t) (int32_t) t_chance () * 4 >> cut;
    }
    if (gx == 0 && gy == 0)
      continue;
    sobel_hue_shares (gx, gy, shares);
    hsv ((double) gx, (double) gy, want);
    for (c = 0; c < 3; c++)
      worst = fmax (worst, fabs (shares[c] - want[c]));
  }
  /* 2 codes of 16 bits are 3e-5. */
  T_CHECK (worst < 5e-6, "hue is off by %g", worst);
  printf ("largest error of a hue share: %.3g\n", worst);
}

/* Direction in limited YUV: full edges of the primary hues are the primaries. */
static void
check_hue_matrix (void)
{
  unsigned m, i;

  for (m = 0; m < 10; m++) {
    const double kr = matrices[m % 5][0], kb = matrices[m % 5][1];
    const bool full = m >= 5;
    static const uint32_t colours[] = {0xffff0000, 0xff00ff00, 0xff0000ff, 0xffffffff};
    for (i = 0; i < 4; i++) {
      const float shares[3] = {i == 0 || i == 3, i == 1 || i == 3, i == 2 || i == 3};
      SobelParams params = SOBEL_PARAMS_DEFAULT;
      SobelRecipe r;
      int c;

      params.overlay_color = colours[i];
      r = make ("Y444_16LE", NULL, full, kr, kb, &params);
      for (c = 0; c < 3; c++) {
        const uint32_t code =
            sobel_hue_code (&r, c == 0 ? r.black : r.neutral, sobel_hue_offset (&r, c, shares, r.range));
        T_CHECK (labs ((long) code - (long) r.overlay_code[c]) <= 1, "colour %u, component %d: %u, not %u", i, c, code,
                 r.overlay_code[c]);
      }
    }
  }
}

int
main (void)
{
  check_ranges ();
  check_thresholds ();
  check_colours ();
  check_plane_uses ();
  check_hue ();
  check_hue_matrix ();
  return t_result ();
}

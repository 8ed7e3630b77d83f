/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkplans.h"

#include <string.h>

typedef struct Size
{
  int width, height;
} Size;

/* ---- formats -------------------------------------------------------------------------------------- */

typedef struct Formats
{
  const GstVideoFormatInfo *info[256];
  unsigned n;
} Formats;

static Formats
all_formats (void)
{
  Formats formats = {.n = 0};
  guint n, i;
  const GstVideoFormat *raw = gst_video_formats_raw (&n);

  for (i = 0; i < n; i++) {
    const GstVideoFormatInfo *info = gst_video_format_get_info (raw[i]);

    if (oracle_format_is_required (info) && formats.n < G_N_ELEMENTS (formats.info))
      formats.info[formats.n++] = info;
  }
  /* The registry's order is by quality and may change; the plans' is the enum's. */
  for (i = 1; i < formats.n; i++) {
    const GstVideoFormatInfo *info = formats.info[i];
    unsigned k = i;

    for (; k > 0 && formats.info[k - 1]->format > info->format; k--)
      formats.info[k] = formats.info[k - 1];
    formats.info[k] = info;
  }
  return formats;
}

/* One or more of each family, depth and layout. */
static Formats
chosen_formats (void)
{
  static const GstVideoFormat chosen[] = {
      GST_VIDEO_FORMAT_GRAY8,     GST_VIDEO_FORMAT_GRAY16_BE,  GST_VIDEO_FORMAT_RGB,      GST_VIDEO_FORMAT_BGRx,
      GST_VIDEO_FORMAT_ARGB,      GST_VIDEO_FORMAT_GBR_10LE,   GST_VIDEO_FORMAT_RGBP,     GST_VIDEO_FORMAT_RGBA64_LE,
      GST_VIDEO_FORMAT_r210,      GST_VIDEO_FORMAT_BGR10A2_LE, GST_VIDEO_FORMAT_I420,     GST_VIDEO_FORMAT_NV12,
      GST_VIDEO_FORMAT_YUY2,      GST_VIDEO_FORMAT_P010_10LE,  GST_VIDEO_FORMAT_A420,     GST_VIDEO_FORMAT_AYUV,
      GST_VIDEO_FORMAT_IYU1,      GST_VIDEO_FORMAT_YVU9,       GST_VIDEO_FORMAT_Y212_BE,  GST_VIDEO_FORMAT_I422_12BE,
      GST_VIDEO_FORMAT_Y444_16LE,
  };
  Formats formats = {.n = G_N_ELEMENTS (chosen)};
  unsigned i;

  for (i = 0; i < formats.n; i++)
    formats.info[i] = gst_video_format_get_info (chosen[i]);
  return formats;
}

/* The gray that is made from this input; of GRAY8 and GRAY16_LE none is, for it would be the same format. */
static GstVideoFormat
gray_of (const GstVideoFormatInfo *info)
{
  return info->depth[0] > 8 ? GST_VIDEO_FORMAT_GRAY16_LE : GST_VIDEO_FORMAT_GRAY8;
}

static const GstVideoColorMatrix matrices[] = {
    GST_VIDEO_COLOR_MATRIX_BT601,     GST_VIDEO_COLOR_MATRIX_BT709,  GST_VIDEO_COLOR_MATRIX_FCC,
    GST_VIDEO_COLOR_MATRIX_SMPTE240M, GST_VIDEO_COLOR_MATRIX_BT2020, GST_VIDEO_COLOR_MATRIX_UNKNOWN,
};

static const GstVideoColorRange ranges[] = {
    GST_VIDEO_COLOR_RANGE_16_235,
    GST_VIDEO_COLOR_RANGE_0_255,
    GST_VIDEO_COLOR_RANGE_UNKNOWN,
};

static CheckConfig
make_config (const GstVideoFormatInfo *format, Size size, GstVideoInterlaceMode interlace)
{
  CheckConfig config = {.out = format->format};

  gst_video_info_set_interlaced_format (&config.info, format->format, interlace, (guint) size.width,
                                        (guint) size.height);
  return config;
}

/* Colours that differ from one configuration to the next. `n`: any number. */
static void
vary_colours (CheckConfig *config, unsigned n)
{
  config->info.colorimetry.range = ranges[n % G_N_ELEMENTS (ranges)];
  config->info.colorimetry.matrix = matrices[n / G_N_ELEMENTS (ranges) % G_N_ELEMENTS (matrices)];
}

/* ---- chance --------------------------------------------------------------------------------------- */

static double
random_gain (TRandom *r)
{
  static const double gains[] = {0, 0.1, 0.25, 1.0 / 3, 0.5, 0.999999999, 1.000000001, 2, 3.7, 10, 100, 1000};

  switch (t_random_below (r, 6)) {
    case 0:
      return gains[t_random_below (r, G_N_ELEMENTS (gains))];
    case 1:
      return 2 * t_random_unit (r);
    case 2:
      return 1000 * t_random_unit (r) * t_random_unit (r);
    default:
      return 1;
  }
}

static double
random_threshold (TRandom *r, unsigned depth)
{
  switch (t_random_below (r, 8)) {
    case 0:
      return 1;
    case 1:
      return t_random_unit (r);
    case 2: /* at a code */
      return t_random_below (r, 1u << depth) / (double) ((1u << depth) - 1);
    case 3:
      return t_random_below (r, 220) / 219.0;
    default:
      return 0;
  }
}

static uint32_t
random_colour (TRandom *r)
{
  static const uint32_t alphas[] = {0, 1, 128, 255, 255};
  const uint32_t alpha =
      t_random_below (r, 3) ? alphas[t_random_below (r, G_N_ELEMENTS (alphas))] : t_random_below (r, 256);
  uint32_t rgb = (uint32_t) t_random_next (r) & 0xffffff;
  int shift;

  if (t_random_below (r, 2)) /* a corner of the cube */
    for (rgb = 0, shift = 0; shift < 24; shift += 8)
      rgb |= (t_random_below (r, 2) ? 255u : 0u) << shift;
  return alpha << 24 | rgb;
}

static SobelMode
random_mode (TRandom *r, bool gray_out)
{
  static const SobelMode modes[] = {SOBEL_MODE_EDGES, SOBEL_MODE_EDGES, SOBEL_MODE_EDGES,     SOBEL_MODE_OVERLAY,
                                    SOBEL_MODE_MASK,  SOBEL_MODE_OVERLAY, SOBEL_MODE_DIRECTION, SOBEL_MODE_BYPASS};

  return modes[t_random_below (r, gray_out ? 8 : 7)];
}

/* A picture of which everything is left to chance, in a progressive or interlaced configuration. */
static CheckPicture
random_picture (Checker *c, const CheckConfig *config)
{
  TRandom *r = checker_random (c);
  const GstVideoFormatInfo *format = config->info.finfo;
  const bool gray_out = config->out != format->format;
  CheckPicture p;

  memset (&p, 0, sizeof p);
  p.params.op = (SobelOperator) t_random_below (r, 3);
  p.params.gradient = t_random_below (r, 2) ? SOBEL_GRADIENT_BOTH : (SobelGradient) t_random_below (r, 3);
  p.params.norm = (SobelNorm) t_random_below (r, 2);
  p.params.border = (SobelBorder) t_random_below (r, 4);
  p.params.precision = (SobelPrecision) t_random_below (r, 2);
  p.params.luma = (SobelLuma) t_random_below (r, 3);
  p.params.mode = random_mode (r, gray_out);
  p.params.invert = t_random_below (r, 4) == 0;
  p.params.gain = random_gain (r);
  p.params.threshold = random_threshold (r, format->depth[0]);
  p.params.overlay_color = random_colour (r);
  p.fill = t_random_below (r, 2) ? CHECK_FILL_NOISE : (CheckFill) t_random_below (r, CHECK_N_FILLS);
  p.in_stride = (TStride) t_random_below (r, T_N_STRIDES);
  p.out_stride = (TStride) t_random_below (r, T_N_STRIDES);
  p.extra_rows = t_random_below (r, 4) ? 0 : t_random_below (r, CHECK_MAX_EXTRA_ROWS + 1);
  p.interlaced = config->info.interlace_mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED ||
                 (config->info.interlace_mode == GST_VIDEO_INTERLACE_MODE_MIXED && t_random_below (r, 2));
  p.neutral_ready = !gray_out && GST_VIDEO_FORMAT_INFO_IS_YUV (format) && p.params.mode == SOBEL_MODE_EDGES &&
                    t_random_below (r, 4) == 0;
  return p;
}

static void
random_pictures (Checker *c, const CheckConfig *config, unsigned n)
{
  unsigned i;

  for (i = 0; i < n; i++) {
    const CheckPicture picture = random_picture (c, config);

    checker_picture (c, &picture);
  }
}

/* A configuration whose pictures are all random. */
static void
random_config (Checker *c, const char *name, const CheckConfig *config, unsigned n)
{
  if (!checker_begin (c, name, config))
    return;
  random_pictures (c, config, n);
  checker_end (c);
}

/* ---- plans ---------------------------------------------------------------------------------------- */

static void
plan_widths (Checker *c, const char *name, bool full)
{
  const Formats formats = all_formats ();
  unsigned f;
  Size size;

  for (f = 0; f < formats.n; f++)
    for (size.width = 1; size.width <= 70; size.width++)
      for (size.height = 1; size.height <= 5; size.height++) {
        CheckConfig config = make_config (formats.info[f], size, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

        vary_colours (&config, f + (unsigned) size.width);
        random_config (c, name, &config, full ? 24 : 2);
      }
}

/* The n-th of all operators, norms, gradients, borders and precisions. */
enum { N_NUMBERS = 3 * 2 * 3 * 4 * 2 };

static void
set_numbers (SobelParams *params, unsigned n)
{
  params->op = (SobelOperator) (n % 3);
  params->norm = (SobelNorm) (n / 3 % 2);
  params->gradient = (SobelGradient) (n / 6 % 3);
  params->border = (SobelBorder) (n / 18 % 4);
  params->precision = (SobelPrecision) (n / 72 % 2);
}

static void
plan_parameters (Checker *c, const char *name, bool full)
{
  static const Size sizes[] = {{19, 5}, {35, 3}, {5, 4}, {1, 1},   {2, 1},  {1, 2}, {2, 2},
                               {3, 3},  {4, 3},  {7, 5}, {33, 17}, {67, 5}, {16, 4}};
  const Formats formats = all_formats ();
  unsigned f, s, n;

  for (f = 0; f < formats.n; f++)
    for (s = 0; s < G_N_ELEMENTS (sizes); s++) {
      CheckConfig config = make_config (formats.info[f], sizes[s], GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

      if (!full && s != f % 3 && s != 3 + f % 10)
        continue;
      vary_colours (&config, f + s);
      if (!checker_begin (c, name, &config))
        continue;
      for (n = 0; n < (full ? 4 : 1) * N_NUMBERS; n++) {
        CheckPicture picture = random_picture (c, &config);

        set_numbers (&picture.params, n % N_NUMBERS);
        checker_picture (c, &picture);
      }
      checker_end (c);
    }
}

static void
plan_modes (Checker *c, const char *name, bool full)
{
  enum { N = N_NUMBERS * 3 * 4 * 2 * 2 };
  const Formats formats = chosen_formats ();
  unsigned f, n;

  for (f = 0; f < formats.n; f++) {
    CheckConfig config = make_config (formats.info[f], (Size){21, 5}, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

    vary_colours (&config, f);
    if (!checker_begin (c, name, &config))
      continue;
    for (n = full ? 0 : f; n < N; n += full ? 1 : 11) {
      CheckPicture picture = random_picture (c, &config);
      const unsigned rest = n / N_NUMBERS;

      set_numbers (&picture.params, n % N_NUMBERS);
      picture.params.luma = (SobelLuma) (rest % 3);
      picture.params.mode = (SobelMode) (rest / 3 % 4);
      picture.params.invert = rest / 12 % 2;
      picture.params.gain = rest / 24 % 2 ? 0.7 : 1;
      picture.neutral_ready = false;
      checker_picture (c, &picture);
    }
    checker_end (c);
  }
}

static void
plan_sizes (Checker *c, const char *name, bool full)
{
  static const Size sizes[] = {{33, 17}, {128, 5}, {257, 19}, {1030, 7}, {64, 64}, {65, 3}, {127, 2}, {513, 4},
                               {3, 200}, {1, 67},  {2, 129},  {640, 48}, {96, 33}, {255, 9}, {160, 90}, {1282, 3}};
  const Formats formats = all_formats ();
  unsigned f, s;

  for (f = 0; f < formats.n; f++)
    for (s = 0; s < G_N_ELEMENTS (sizes); s++) {
      CheckConfig config = make_config (formats.info[f], sizes[s], GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

      if (!full && s % 4 != f % 4)
        continue;
      vary_colours (&config, f + s);
      random_config (c, name, &config, full ? 16 : 1);
    }
}

/* Pictures that are worth several threads, bands, tiles or strips. */
static void
plan_large (Checker *c, const char *name, bool full)
{
  static const Size sizes[] = {{641, 363}, {1920, 271}, {323, 1081}, {1921, 1081}, {4099, 130}};
  const Formats formats = chosen_formats ();
  unsigned f, s;

  for (f = 0; f < formats.n; f++)
    for (s = 0; s < G_N_ELEMENTS (sizes); s++) {
      const GstVideoInterlaceMode interlace =
          (f + s) % 4 == 3 ? GST_VIDEO_INTERLACE_MODE_INTERLEAVED : GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
      CheckConfig config = make_config (formats.info[f], sizes[s], interlace);

      if (!full && (s != f % 3 || f % 3 == 2))
        continue;
      vary_colours (&config, f + s);
      random_config (c, name, &config, full ? 2 : 1);
    }
}

static void
step_picture (Checker *c, const CheckConfig *config, CheckFill fill, unsigned level, bool defaults)
{
  const SobelParams usual = SOBEL_PARAMS_DEFAULT;
  CheckPicture picture = random_picture (c, config);

  if (defaults)
    picture.params = usual;
  picture.neutral_ready = false;
  picture.fill = fill;
  picture.level = level;
  checker_picture (c, &picture);
}

/* Steps and dots of every height: no edge weakens as a step grows, none is lost, none wraps around. */
static void
plan_steps (Checker *c, const char *name, bool full)
{
  static const CheckFill fills[] = {CHECK_FILL_STEP_X, CHECK_FILL_STEP_Y, CHECK_FILL_DIAGONAL, CHECK_FILL_DOT};
  const Formats formats = chosen_formats ();
  unsigned f, level, i;

  for (f = 0; f < formats.n; f++) {
    CheckConfig config = make_config (formats.info[f], (Size){37, 5}, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);
    const unsigned depth = formats.info[f]->depth[0];

    vary_colours (&config, f);
    if (!checker_begin (c, name, &config))
      continue;
    for (level = 1; level <= 255; level += full || f == 0 ? 1 : 4)
      for (i = 0; i < G_N_ELEMENTS (fills); i++) {
        step_picture (c, &config, fills[i], level << (depth - 8), true);
        if (full)
          step_picture (c, &config, fills[i], level, false);
      }
    checker_end (c);
  }
}

/* Gains that bring small magnitudes back to whole numbers, where every rounding of the double path decides. */
static void
plan_rounding (Checker *c, const char *name, bool full)
{
  static const double gains[] = {1000, 100, 10, 1, 0.1, 0.01, 0.7, 1.0 / 3};
  static const CheckFill fills[] = {CHECK_FILL_LOW_NOISE, CHECK_FILL_STEP_X, CHECK_FILL_DOT, CHECK_FILL_NOISE};
  const Formats formats = chosen_formats ();
  unsigned f, g, i;

  for (f = 0; f < formats.n; f++) {
    CheckConfig config = make_config (formats.info[f], (Size){67, 7}, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

    vary_colours (&config, f);
    if (!checker_begin (c, name, &config))
      continue;
    for (g = 0; g < G_N_ELEMENTS (gains); g++)
      for (i = 0; i < (full ? 384 : 48); i++) {
        CheckPicture picture = random_picture (c, &config);

        picture.params.mode = SOBEL_MODE_EDGES;
        picture.params.gain = gains[g];
        picture.params.threshold = 0;
        picture.params.precision = i / 4 % 4 ? SOBEL_PRECISION_FLOAT : SOBEL_PRECISION_INTEGER;
        picture.fill = fills[i % G_N_ELEMENTS (fills)];
        checker_picture (c, &picture);
      }
    checker_end (c);
  }
}

static void
plan_fills (Checker *c, const char *name, bool full)
{
  const Formats formats = all_formats ();
  const SobelParams usual = SOBEL_PARAMS_DEFAULT;
  unsigned f, fill, i;

  for (f = 0; f < formats.n; f++) {
    CheckConfig config = make_config (formats.info[f], (Size){35, 6}, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

    vary_colours (&config, f);
    if (!checker_begin (c, name, &config))
      continue;
    for (fill = 0; fill < CHECK_N_FILLS; fill++)
      for (i = 0; i < (full ? 64 : 4); i++) {
        CheckPicture picture = random_picture (c, &config);

        if (i == 0) {
          picture.params = usual;
          picture.neutral_ready = false;
        }
        picture.fill = (CheckFill) fill;
        checker_picture (c, &picture);
      }
    checker_end (c);
  }
}

/* Every range and matrix with colours that are drawn. */
static void
plan_colours (Checker *c, const char *name, bool full)
{
  static const uint32_t alphas[] = {0, 1, 128, 255};
  static const SobelMode modes[] = {SOBEL_MODE_OVERLAY, SOBEL_MODE_DIRECTION, SOBEL_MODE_MASK, SOBEL_MODE_EDGES};
  const Formats formats = all_formats ();
  unsigned f, n, i, m;

  for (f = 0; f < formats.n; f++)
    for (n = 0; n < G_N_ELEMENTS (ranges) * G_N_ELEMENTS (matrices); n++) {
      CheckConfig config = make_config (formats.info[f], (Size){13, 5}, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

      if (!full && n % 6 != f % 6)
        continue;
      vary_colours (&config, n);
      if (!checker_begin (c, name, &config))
        continue;
      for (m = 0; m < G_N_ELEMENTS (modes); m++)
        for (i = 0; i < (full ? 48 : 8); i++) {
          CheckPicture picture = random_picture (c, &config);

          picture.params.mode = modes[m];
          picture.params.overlay_color = (picture.params.overlay_color & 0xffffff) | alphas[i % 4] << 24;
          picture.neutral_ready = false;
          checker_picture (c, &picture);
        }
      checker_end (c);
    }
}

static void
plan_interlaced (Checker *c, const char *name, bool full)
{
  static const int widths[] = {1, 2, 7, 34, 66};
  const Formats formats = all_formats ();
  unsigned f, w;
  Size size;

  for (f = 0; f < formats.n; f++)
    for (w = 0; w < G_N_ELEMENTS (widths); w++)
      for (size.height = 1; size.height <= 13; size.height++) {
        const bool mixed = (f + w + (unsigned) size.height) % 3 == 0;
        CheckConfig config;

        size.width = widths[w];
        if (!full && w != (f + (unsigned) size.height) % G_N_ELEMENTS (widths))
          continue;
        config = make_config (formats.info[f], size,
                              mixed ? GST_VIDEO_INTERLACE_MODE_MIXED : GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
        vary_colours (&config, f + (unsigned) size.height);
        random_config (c, name, &config, full ? 36 : 6);
      }
}

static void
plan_gray (Checker *c, const char *name, bool full)
{
  static const Size sizes[] = {{33, 5}, {70, 4}, {1, 1}, {2, 3}, {257, 3}, {16, 9}};
  const Formats formats = all_formats ();
  unsigned f, s, m, i;

  for (f = 0; f < formats.n; f++)
    for (s = 0; s < G_N_ELEMENTS (sizes); s++) {
      const GstVideoInterlaceMode interlace =
          (f + s) % 3 == 0 ? GST_VIDEO_INTERLACE_MODE_INTERLEAVED : GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
      CheckConfig config = make_config (formats.info[f], sizes[s], interlace);

      config.out = gray_of (formats.info[f]);
      if (config.out == formats.info[f]->format || (!full && s != f % 3))
        continue;
      vary_colours (&config, f + s);
      if (!checker_begin (c, name, &config))
        continue;
      for (m = SOBEL_MODE_EDGES; m <= SOBEL_MODE_BYPASS; m++)
        for (i = 0; i < (full ? 96 : 8); i++) {
          CheckPicture picture = random_picture (c, &config);

          picture.params.mode = (SobelMode) m;
          checker_picture (c, &picture);
        }
      checker_end (c);
    }
}

static void
plan_random (Checker *c, const char *name, bool full)
{
  static const GstVideoInterlaceMode interlaces[] = {GST_VIDEO_INTERLACE_MODE_PROGRESSIVE,
                                                     GST_VIDEO_INTERLACE_MODE_PROGRESSIVE,
                                                     GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                                     GST_VIDEO_INTERLACE_MODE_MIXED};
  const Formats formats = all_formats ();
  TRandom r = t_random (checker_seed (c), 0);
  unsigned i;

  for (i = 0; i < (full ? 150000 : 5000); i++) {
    const GstVideoFormatInfo *format = formats.info[t_random_below (&r, formats.n)];
    const bool wide = t_random_below (&r, 4) == 0;
    const Size size = {1 + (int) t_random_below (&r, wide ? 300 : 70), 1 + (int) t_random_below (&r, wide ? 12 : 24)};
    CheckConfig config = make_config (format, size, interlaces[t_random_below (&r, 4)]);

    vary_colours (&config, t_random_below (&r, 1000));
    if (t_random_below (&r, 4) == 0)
      config.out = gray_of (format);
    random_config (c, name, &config, 4);
  }
}

static const CheckPlan plans[] = {
    {"interlaced", "every format in fields, at heights from 1 to 13", plan_interlaced},
    {"gray", "gray output made from every format, in every mode", plan_gray},
    {"colours", "every format, range and matrix with drawn colours", plan_colours},
    {"fills", "every format with every kind of picture", plan_fills},
    {"steps", "steps and dots of every height", plan_steps},
    {"rounding", "gains that land on whole numbers", plan_rounding},
    {"parameters", "every format with every operator, norm, gradient, border and precision", plan_parameters},
    {"modes", "the same with every luma, mode and inversion, for some formats", plan_modes},
    {"widths", "every format at every width from 1 to 70 and heights from 1 to 5", plan_widths},
    {"sizes", "every format at odd and larger sizes", plan_sizes},
    {"large", "pictures that are worth several threads", plan_large},
    {"random", "anything", plan_random},
};

const CheckPlan *
check_plan_nth (unsigned n)
{
  return n < G_N_ELEMENTS (plans) ? &plans[n] : NULL;
}

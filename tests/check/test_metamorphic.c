/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must hold between pictures, without knowing any of them: flat pictures have no edges; edges of a turned or
 * inverted picture are the turned or the same edges; equal luma has equal edges in whatever format it comes.
 *
 * usage: test_metamorphic DEVICE [INSTRUCTION-SET-OR-MUTANT] */
#include "checkdevices.h"
#include "sobelarith.h"

#include <stdlib.h>
#include <string.h>

/* Codes of one component. */
typedef struct Codes
{
  int width, height;
  uint16_t code[80 * 80];
} Codes;

typedef struct Bench
{
  SobelDevice *device;
  uint8_t *memory; /* two images */
  SobelHostBlock *block;
  size_t half;
  TRandom random;
} Bench;

/* Failures after which the rest would only repeat them. */
enum { ENOUGH = 10 };

static const SobelParams usual = SOBEL_PARAMS_DEFAULT;

/* ---- one picture through the device --------------------------------------------------------------- */

static SobelImage
tight_image (const SobelFormat *format, int width, int height, uint8_t *memory)
{
  SobelImage image = {.format = format, .memory = SOBEL_MEMORY_HOST, .width = width, .height = height};
  unsigned p;

  for (p = 0; p < format->n_planes; p++) {
    image.plane[p].data = memory;
    image.plane[p].stride = (ptrdiff_t) sobel_image_row_bytes (format, p, width);
    image.plane[p].rows = sobel_image_plane_rows (format, p, height);
    memory += image.plane[p].stride * image.plane[p].rows;
  }
  return image;
}

static uint8_t *
row_of (const SobelImage *image, unsigned component, int y)
{
  const SobelPlane *plane = &image->plane[image->format->component[component].plane];

  return plane->data + y * plane->stride;
}

/* Luma, gray, or R = G = B; chroma and all else stays what it is. */
static void
put (const SobelImage *image, const Codes *codes)
{
  const unsigned n = image->format->family == SOBEL_FAMILY_RGB ? 3 : 1;
  unsigned i;
  int x, y;

  for (i = 0; i < n; i++) {
    const SobelComponent *c = &image->format->component[i];

    for (y = 0; y < codes->height; y++)
      for (x = 0; x < codes->width; x++) {
        uint8_t *p = row_of (image, i, y) + sobel_sample_offset (c, x);
        uint32_t container = sobel_container_load (p, c->bytes, image->format->big_endian);

        container &= ~(((1u << c->depth) - 1) << c->shift);
        container |= (uint32_t) codes->code[y * codes->width + x] << c->shift;
        sobel_container_store (p, c->bytes, image->format->big_endian, container);
      }
  }
}

static void
get (const SobelImage *image, unsigned component, Codes *codes)
{
  const SobelComponent *c = &image->format->component[component];
  int x, y;

  codes->width = sobel_subsampled (image->width, c->w_sub);
  codes->height = sobel_subsampled (image->height, c->h_sub);
  for (y = 0; y < codes->height; y++)
    for (x = 0; x < codes->width; x++)
      codes->code[y * codes->width + x] =
          (uint16_t) sobel_sample_load (c, image->format->big_endian, row_of (image, component, y), x);
}

static bool
is_filled (const Codes *codes, uint32_t code)
{
  int i;

  for (i = 0; i < codes->width * codes->height; i++)
    if (codes->code[i] != code)
      return false;
  return true;
}

static bool
equal (const Codes *a, const Codes *b)
{
  return a->width == b->width && a->height == b->height &&
         memcmp (a->code, b->code, sizeof (uint16_t) * (size_t) a->width * (size_t) a->height) == 0;
}

/* Edges of `luma` (full range) in a format; checks what must hold of the other components. */
static bool
edges (Bench *bench, const char *name, const SobelParams *params, const Codes *luma, Codes *out)
{
  const SobelFormat *format = sobel_format_find (name);
  SobelConfig config = {.in = format, .out = format, .full_range = true, .kr = 0.299, .kb = 0.114};
  SobelJob job = {.kernel = SOBEL_KERNEL_AUTO};
  SobelError error = {SOBEL_STATUS_OK, ""};
  Codes other;
  unsigned i;

  if (!T_CHECK (format != NULL, "%s is not in the table", name))
    return false;
  config.width = luma->width;
  config.height = luma->height;
  t_random_fill (&bench->random, bench->memory, 2 * bench->half);
  job.in = tight_image (format, luma->width, luma->height, bench->memory);
  job.out = tight_image (format, luma->width, luma->height, bench->memory + bench->half);
  put (&job.in, luma);
  sobel_recipe_init (&job.recipe, &config, params);
  if (!T_CHECK (bench->device->ops->configure (bench->device, &config, 1, &error) == SOBEL_STATUS_OK &&
                    bench->device->ops->submit (bench->device, 0, &job, &error) == SOBEL_STATUS_OK &&
                    bench->device->ops->wait (bench->device, 0, UINT64_C (60000000000), &error) == SOBEL_STATUS_OK,
                "%s: %s", name, error.message))
    return false;
  get (&job.out, 0, out);
  for (i = 1; i < format->n_components && i < 3; i++) {
    get (&job.out, i, &other);
    if (format->family == SOBEL_FAMILY_RGB)
      T_CHECK (equal (out, &other), "%s: component %u differs from the first", name, i);
    else
      T_CHECK (is_filled (&other, 1u << (format->component[i].depth - 1)), "%s: chroma is not neutral", name);
  }
  return true;
}

/* ---- pictures ------------------------------------------------------------------------------------- */

static Codes
flat (int width, int height, unsigned code)
{
  Codes codes = {.width = width, .height = height};
  int i;

  for (i = 0; i < width * height; i++)
    codes.code[i] = (uint16_t) code;
  return codes;
}

/* Soft enough that edges do not all saturate. */
static Codes
noise (Bench *bench, int width, int height, unsigned depth)
{
  const unsigned max = (1u << depth) - 1, swing = max / (1 + t_random_below (&bench->random, 16));
  const unsigned low = t_random_below (&bench->random, max - swing + 1);
  Codes codes = {.width = width, .height = height};
  int i;

  for (i = 0; i < width * height; i++)
    codes.code[i] = (uint16_t) (low + t_random_below (&bench->random, swing + 1));
  return codes;
}

static Codes
inverted (const Codes *in, unsigned depth)
{
  Codes out = *in;
  int i;

  for (i = 0; i < in->width * in->height; i++)
    out.code[i] = (uint16_t) ((1u << depth) - 1 - in->code[i]);
  return out;
}

static Codes
mirrored (const Codes *in)
{
  Codes out = *in;
  int x, y;

  for (y = 0; y < in->height; y++)
    for (x = 0; x < in->width; x++)
      out.code[y * in->width + x] = in->code[y * in->width + in->width - 1 - x];
  return out;
}

static Codes
flipped (const Codes *in)
{
  Codes out = *in;
  int y;

  for (y = 0; y < in->height; y++)
    memcpy (out.code + y * in->width, in->code + (in->height - 1 - y) * in->width,
            sizeof (uint16_t) * (size_t) in->width);
  return out;
}

static Codes
transposed (const Codes *in)
{
  Codes out = {.width = in->height, .height = in->width};
  int x, y;

  for (y = 0; y < in->height; y++)
    for (x = 0; x < in->width; x++)
      out.code[x * in->height + y] = in->code[y * in->width + x];
  return out;
}

/* ---- what must hold ------------------------------------------------------------------------------- */

static SobelParams
random_params (Bench *bench)
{
  TRandom *r = &bench->random;
  SobelParams params = usual;

  params.op = (SobelOperator) t_random_below (r, 3);
  params.gradient = (SobelGradient) t_random_below (r, 3);
  params.norm = (SobelNorm) t_random_below (r, 2);
  params.border = (SobelBorder) t_random_below (r, 4);
  params.precision = (SobelPrecision) t_random_below (r, 2);
  params.luma = (SobelLuma) t_random_below (r, 3);
  params.gain = t_random_below (r, 2) ? 1 : 4 * t_random_unit (r);
  params.threshold = t_random_below (r, 2) ? 0 : t_random_unit (r) / 4;
  return params;
}

static int
random_side (Bench *bench)
{
  return 1 + (int) t_random_below (&bench->random, t_random_below (&bench->random, 2) ? 8 : 75);
}

static void
test_flat (Bench *bench)
{
  static const char *formats[] = {"GRAY8", "GRAY16_LE", "RGB",       "BGRx",  "GBR_12LE",
                                  "I420",  "YUY2",      "P010_10LE", "AYUV64"};
  unsigned f, n;
  Codes out;

  for (f = 0; f < G_N_ELEMENTS (formats); f++)
    for (n = 0; n < 200 && t_failures () < ENOUGH; n++) {
      const unsigned depth = sobel_format_depth (sobel_format_find (formats[f]));
      SobelParams params = random_params (bench);
      /* Outside of border=zero is black, so only black is flat there. */
      const unsigned code = params.border == SOBEL_BORDER_ZERO ? 0 : t_random_below (&bench->random, 1u << depth);
      const Codes in = flat (random_side (bench), random_side (bench), code);

      if (edges (bench, formats[f], &params, &in, &out))
        T_CHECK (is_filled (&out, 0), "%s %dx%d of code %u has edges", formats[f], in.width, in.height, code);
      params.invert = true;
      if (edges (bench, formats[f], &params, &in, &out))
        T_CHECK (is_filled (&out, (1u << depth) - 1), "%s %dx%d of code %u, inverted, is not white", formats[f],
                 in.width, in.height, code);
    }
}

static void
test_symmetry_of (Bench *bench, const char *format, unsigned depth)
{
  SobelParams params = random_params (bench), turned;
  const Codes in = noise (bench, random_side (bench), random_side (bench), depth);
  const Codes other[4] = {mirrored (&in), flipped (&in), transposed (&in), inverted (&in, depth)};
  Codes out, expected[4], got;
  int i;

  turned = params;
  if (params.gradient != SOBEL_GRADIENT_BOTH)
    turned.gradient = params.gradient == SOBEL_GRADIENT_X ? SOBEL_GRADIENT_Y : SOBEL_GRADIENT_X;
  if (!edges (bench, format, &params, &in, &out))
    return;
  expected[0] = mirrored (&out);
  expected[1] = flipped (&out);
  expected[2] = transposed (&out);
  expected[3] = out;
  /* Black outside is not inverted with the picture. */
  for (i = 0; i < (params.border == SOBEL_BORDER_ZERO ? 3 : 4); i++)
    if (edges (bench, format, i == 2 ? &turned : &params, &other[i], &got))
      T_CHECK (equal (&got, &expected[i]), "%s %dx%d: symmetry %d is broken (operator %d, border %d, gradient %d)",
               format, in.width, in.height, i, params.op, params.border, params.gradient);
}

static void
test_symmetry (Bench *bench)
{
  static const char *formats[] = {"GRAY8", "GRAY16_BE", "RGB",       "xBGR",     "RGBP",
                                  "NV12",  "UYVY",      "I422_10LE", "Y444_16LE"};
  unsigned f, n;

  for (f = 0; f < G_N_ELEMENTS (formats); f++)
    for (n = 0; n < 300 && t_failures () < ENOUGH; n++)
      test_symmetry_of (bench, formats[f], sobel_format_depth (sobel_format_find (formats[f])));
}

/* The same luma, or the same gray, in every format of 8 bits, and of 16. */
static void
test_formats (Bench *bench)
{
  static const char *const equal_8[] = {"GRAY8", "I420", "YV12", "NV12", "NV21", "NV16", "NV61", "NV24", "Y42B",
                                        "Y41B", "Y444", "YUV9",  "A420", "AV12", "YUY2", "UYVY", "YVYU", "VYUY",
                                        "AYUV", "VUYA", "v308",  "IYU1", "IYU2", "RGB",  "BGR",  "RGBx", "xBGR",
                                        "BGRA", "ARGB", "GBR",   "GBRA", "RGBP", "BGRP"};
  static const char *const equal_16[] = {"GRAY16_LE", "GRAY16_BE",  "Y444_16LE", "Y444_16BE", "P016_LE",   "P016_BE",
                                         "v216",      "AYUV64",     "ARGB64",    "RGBA64_LE", "BGRA64_BE", "ABGR64_LE"};
  static const char *const equal_10[] = {"I420_10LE", "I420_10BE", "I422_10LE", "Y444_10BE",   "P010_10LE",
                                         "P010_10BE", "Y210",      "Y410",      "r210",        "GBR_10LE",
                                         "GBRA_10BE", "A444_10LE", "RGB10A2_LE", "BGR10A2_LE"};
  const struct
  {
    const char *const *names;
    unsigned n, depth;
  } groups[] = {{equal_8, G_N_ELEMENTS (equal_8), 8},
                {equal_10, G_N_ELEMENTS (equal_10), 10},
                {equal_16, G_N_ELEMENTS (equal_16), 16}};
  unsigned g, f, n;
  Codes first, out;

  for (g = 0; g < G_N_ELEMENTS (groups); g++)
    for (n = 0; n < 60 && t_failures () < ENOUGH; n++) {
      SobelParams params = random_params (bench);
      const Codes in = noise (bench, random_side (bench), random_side (bench), groups[g].depth);

      params.precision = SOBEL_PRECISION_INTEGER; /* double rounding may differ by the unit u */
      if (!edges (bench, groups[g].names[0], &params, &in, &first))
        return;
      for (f = 1; f < groups[g].n; f++)
        if (edges (bench, groups[g].names[f], &params, &in, &out))
          T_CHECK (equal (&out, &first), "%s %dx%d: not the edges of %s", groups[g].names[f], in.width, in.height,
                   groups[g].names[0]);
    }
}

/* A higher step never makes a weaker edge, falling steps are worth rising ones, and none is lost. */
static void
test_steps (Bench *bench)
{
  unsigned last = 0, height;
  Codes out, falling;

  for (height = 1; height <= 255 && t_failures () < ENOUGH; height++) {
    Codes in = flat (40, 4, 0);
    int y;

    for (y = 0; y < 4; y++)
      in.code[y * 40 + 39] = in.code[y * 40 + 20] = in.code[y * 40 + 21] = (uint16_t) height;
    if (!edges (bench, "GRAY8", &usual, &in, &out))
      return;
    in = inverted (&in, 8);
    if (!edges (bench, "GRAY8", &usual, &in, &falling))
      return;
    T_CHECK (equal (&out, &falling), "a falling step of %u differs from a rising one", height);
    T_CHECK (out.code[19] > 0 && out.code[19] >= last && out.code[20] == out.code[19] && out.code[38] == out.code[19],
             "a step of %u makes %u, %u, %u after %u", height, out.code[19], out.code[20], out.code[38], last);
    last = out.code[19];
  }
  T_CHECK (last == 255, "a full step makes %u", last);
}

/* ---- main ----------------------------------------------------------------------------------------- */

int
main (int argc, char **argv)
{
  const CheckDeviceKind *kind = check_device_find (argc > 1 ? argv[1] : "plain");
  const CheckDeviceOptions options = {.threads = 2, .gpu = -1};
  SobelError error = {SOBEL_STATUS_OK, ""};
  Bench bench = {.half = 1 << 17};

  gst_init (NULL, NULL);
  if (kind == NULL) {
    fprintf (stderr, "there is no device %s\n", argv[1]);
    return 1;
  }
  bench.device = kind->create (&options, argc > 2 ? argv[2] : NULL, &error);
  if (bench.device == NULL) {
    printf ("%s\n", error.message);
    return error.status == SOBEL_STATUS_NO_DEVICE ? T_SKIP : 1;
  }
  bench.random = t_random (t_seed (1), 0);
  if (bench.device->ops->host_alloc == NULL)
    bench.memory = malloc (2 * bench.half);
  else if (bench.device->ops->host_alloc (bench.device, 2 * bench.half, &bench.block, &error) == SOBEL_STATUS_OK)
    bench.memory = bench.block->data;
  if (T_CHECK (bench.memory != NULL, "no memory: %s", error.message)) {
    test_flat (&bench);
    test_symmetry (&bench);
    test_formats (&bench);
    test_steps (&bench);
  }
  if (bench.block != NULL)
    bench.block->free (bench.block);
  else
    free (bench.memory);
  sobel_device_destroy (&bench.device);
  return t_result ();
}

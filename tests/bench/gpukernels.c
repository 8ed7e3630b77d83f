/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of the element's kernels: variants, sizes, formats, modes, borders, precision. A chosen part of the product;
 * nothing is timed that was not equal to the CPU backend's picture just before. */
#include "benchgpu.h"

#include "gpupicture.h"
#include "gputime.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is launched: the property's kernels, and the one-pass kernel for every format where a faster one exists too. */
typedef enum Variant { NAIVE, CONSTANT, SHARED, FUSED, FUSED_GENERAL, N_VARIANTS } Variant;

static const char *const variant_name[N_VARIANTS] = {"naive", "constant", "shared", "fused", "fused, general form"};

enum { ALL_VARIANTS = (1 << N_VARIANTS) - 1, ENDS = 1 << NAIVE | 1 << FUSED, COLD = 1 << N_VARIANTS };

typedef struct Run
{
  GpuPicture *p;
  Variant variant;
} Run;

static cudaError_t
launch (void *user, cudaStream_t stream)
{
  const Run *run = user;
  const SobelCudaPicture *picture = &run->p->picture;
  const SobelKernel ladder[] = {SOBEL_KERNEL_NAIVE, SOBEL_KERNEL_CONSTANT, SOBEL_KERNEL_SHARED};

  if (run->variant < FUSED)
    return sobel_cuda_ladder (picture, ladder[run->variant], &run->p->scratch, stream);
  return run->variant == FUSED ? gpu_picture_element (run->p, stream) : sobel_cuda_fused (picture, stream);
}

static cudaError_t
copy (void *user, cudaStream_t stream)
{
  const GpuPicture *p = user;

  return cudaMemcpyAsync (p->out, p->in, p->copy_bytes, cudaMemcpyDeviceToDevice, stream);
}

static const char *const mode_name[] = {"edges", "overlay", "mask", "direction"};
static const char *const border_name[] = {"replicate", "zero", "mirror", "none"};

/* What a set of rows has in common. */
typedef struct Case
{
  const char *group, *format;
  bool gray_out, limited;
  int32_t width, height;
  SobelParams params;
  const char *note;
  unsigned what; /* bits of variants, and COLD */
} Case;

static void
print_row (const Case *c, const GpuPicture *p, Variant v, bool cold, const GpuTime *time, const GpuTime *copied)
{
  const double bytes = 2.0 * (double) p->copy_bytes;
  char label[160], size[24], format[48];

  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, c->width, c->height);
  snprintf (format, sizeof format, "%s%s", c->format, c->gray_out ? " to gray" : "");
  snprintf (label, sizeof label, "%s %s %s %s %s %s %s%s%s", variant_name[v], format, size, mode_name[c->params.mode],
            border_name[c->params.border], c->params.precision == SOBEL_PRECISION_FLOAT ? "float" : "integer",
            cold ? "cold" : "steady", c->note ? " " : "", c->note ? c->note : "");
  row_begin (label);
  row_text ("group", c->group);
  row_text ("kernel", variant_name[v]);
  row_text ("format", format);
  row_text ("size", size);
  row_text ("mode", mode_name[c->params.mode]);
  row_text ("border", border_name[c->params.border]);
  row_text ("precision", c->params.precision == SOBEL_PRECISION_FLOAT ? "float" : "integer");
  row_text ("state", cold ? "cold" : "steady");
  row_text ("note", c->note);
  row_time (time);
  row_number ("bytes", bytes);
  row_number ("gb_s", bytes / time->median_us / 1000);
  row_number ("copy_us", copied->median_us);
  row_number ("copy_iqr_us", copied->iqr_us);
  row_number ("copy_ratio", time->median_us / copied->median_us);
  row_number ("equal", 1);
  row_end ();
}

/* False: wrong bytes. */
static bool
time_variant (const Case *c, GpuPicture *p, Variant v, const GpuTime copied[2])
{
  Run run = {p, v};
  const int64_t wrong = gpu_picture_wrong (p, launch, &run);
  cudaError_t result = cudaSuccess;
  char label[160], why[160];
  unsigned cold;

  snprintf (label, sizeof label, "%s %s %" PRId32 "x%" PRId32 " %s", variant_name[v], c->format, c->width, c->height,
            c->group);
  if (wrong != 0) {
    snprintf (why, sizeof why, wrong < 0 ? "did not run: %s" : "%s%" PRId64 " bytes are not the CPU backend's",
              wrong < 0 ? cudaGetErrorName (cudaGetLastError ()) : "", wrong);
    row_absent (label, why);
    return false;
  }
  for (cold = 0; cold < (c->what & COLD ? 2u : 1u) && result == cudaSuccess; cold++) {
    GpuTime time;

    result = cold ? gpu_time_cold (launch, &run, &time) : gpu_time_steady (launch, &run, &time);
    if (result == cudaSuccess)
      print_row (c, p, v, cold, &time, &copied[cold]);
    else
      row_absent (label, cudaGetErrorName (result));
  }
  return result == cudaSuccess;
}

static bool
run_case (const Case *c)
{
  SobelConfig config = rig_config (c->format, c->gray_out, c->width, c->height, !c->limited);
  GpuPicture p;
  SobelError error;
  GpuTime copied[2] = {{0, 0, 0}, {0, 0, 0}};
  cudaError_t result = cudaSuccess;
  bool ok = gpu_picture_init (&p, &config, &c->params, &error);
  unsigned v;

  if (!ok) {
    row_absent (c->group, error.message);
    ok = true; /* nothing was wrong, but for the room */
  } else {
    result = gpu_time_steady (copy, &p, &copied[0]);
    if (result == cudaSuccess && (c->what & COLD))
      result = gpu_time_cold (copy, &p, &copied[1]);
    if (result != cudaSuccess)
      row_absent ("device copy", cudaGetErrorName (result));
    ok = result == cudaSuccess;
  }
  for (v = 0; v < N_VARIANTS && result == cudaSuccess && p.copy_bytes; v++) {
    if (!(c->what & 1u << v) || (v == FUSED_GENERAL && sobel_cuda_fast_kind (&p.picture) == SOBEL_FAST_NONE))
      continue;
    ok &= time_variant (c, &p, (Variant) v, copied);
  }
  gpu_picture_clear (&p);
  return ok;
}

static const struct
{
  int32_t width, height;
} sizes[] = {{320, 240}, {640, 480}, {1920, 1080}, {3840, 2160}, {7680, 4320}, {16384, 16384}};

enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static bool
size_rows (bool quick)
{
  static const char *const formats[] = {"GRAY8", "I420", "RGB", "RGBx"};
  bool ok = true;
  unsigned f, s;

  for (f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    for (s = 0; s < N_SIZES; s++) {
      const Case c = {.group = "sizes", .format = formats[f], .limited = f == 1, .width = sizes[s].width,
                      .height = sizes[s].height, .params = SOBEL_PARAMS_DEFAULT,
                      .what = f % 2 && s > 2 && s < 4 ? ENDS : f == 0 || f == 2 ? ALL_VARIANTS | COLD : ALL_VARIANTS};

      if (quick && (f % 2 || s < 2 || s == 3 || (f && s == N_SIZES - 1)))
        continue;
      ok &= run_case (&c);
    }
  }
  return ok;
}

static bool
format_rows (void)
{
  static const struct
  {
    const char *format;
    bool gray_out, limited;
  } formats[] = {{"RGBA", false, false},      {"BGR", false, false},       {"GBR", false, false},
                 {"NV12", false, true},       {"YUY2", false, true},       {"AYUV", false, true},
                 {"GRAY16_LE", false, false}, {"I420_10LE", false, true},  {"P010_10LE", false, true},
                 {"ARGB64", false, false},    {"RGB", true, false},        {"RGBx", true, false},
                 {"I420", true, true}};
  bool ok = true;
  unsigned f;

  for (f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    const Case c = {.group = "formats", .format = formats[f].format, .gray_out = formats[f].gray_out,
                    .limited = formats[f].limited, .width = 3840, .height = 2160, .params = SOBEL_PARAMS_DEFAULT,
                    .what = ALL_VARIANTS};
    ok &= run_case (&c);
  }
  return ok;
}

static bool
mode_rows (bool quick)
{
  static const struct
  {
    const char *format;
    SobelMode mode;
  } modes[] = {{"I420", SOBEL_MODE_OVERLAY},      {"RGB", SOBEL_MODE_OVERLAY}, {"RGBA", SOBEL_MODE_OVERLAY},
               {"NV12", SOBEL_MODE_OVERLAY},      {"I420_10LE", SOBEL_MODE_OVERLAY}, {"I420", SOBEL_MODE_MASK},
               {"RGB", SOBEL_MODE_MASK},          {"I420", SOBEL_MODE_DIRECTION}, {"RGB", SOBEL_MODE_DIRECTION}};
  const unsigned n = quick ? 2 : sizeof modes / sizeof modes[0];
  bool ok = true;
  unsigned m, s;

  for (m = 0; m < n; m++) {
    for (s = 2; s < (quick ? 3 : 4); s++) {
      Case c = {.group = "modes", .format = modes[m].format, .limited = modes[m].format[0] != 'R',
                .width = sizes[s].width, .height = sizes[s].height, .params = SOBEL_PARAMS_DEFAULT, .what = ENDS};

      c.params.mode = modes[m].mode;
      ok &= run_case (&c);
    }
  }
  return ok;
}

static bool
setting_rows (void)
{
  Case c = {.group = "borders", .format = "GRAY8", .width = 3840, .height = 2160, .params = SOBEL_PARAMS_DEFAULT,
            .what = 1 << NAIVE | 1 << CONSTANT | 1 << SHARED | 1 << FUSED};
  static const char *const notes[] = {"scharr", "prewitt", "l1", "gradient x", "threshold 0.2", "gain 2", "invert"};
  bool ok = true;
  unsigned i;

  for (i = 0; i < 4; i++) {
    c.params.border = (SobelBorder) i;
    ok &= run_case (&c);
  }
  c.params = (SobelParams) SOBEL_PARAMS_DEFAULT;
  c.group = "precision";
  for (i = 0; i < 4; i++) {
    c.format = i < 2 ? "RGB" : "RGBx";
    c.params.precision = (SobelPrecision) (i % 2);
    ok &= run_case (&c);
  }
  c.group = "settings";
  c.format = "GRAY8";
  for (i = 0; i < sizeof notes / sizeof notes[0]; i++) {
    c.params = (SobelParams) SOBEL_PARAMS_DEFAULT;
    c.note = notes[i];
    c.params.op = i == 0 ? SOBEL_OPERATOR_SCHARR : i == 1 ? SOBEL_OPERATOR_PREWITT : SOBEL_OPERATOR_SOBEL;
    c.params.norm = i == 2 ? SOBEL_NORM_L1 : SOBEL_NORM_L2;
    c.params.gradient = i == 3 ? SOBEL_GRADIENT_X : SOBEL_GRADIENT_BOTH;
    c.params.threshold = i == 4 ? 0.2 : 0;
    c.params.gain = i == 5 ? 2 : 1;
    c.params.invert = i == 6;
    ok &= run_case (&c);
  }
  c.group = "odd sizes";
  c.note = NULL;
  c.params = (SobelParams) SOBEL_PARAMS_DEFAULT;
  for (i = 0; i < 4; i++) {
    c.format = i < 2 ? "GRAY8" : "RGB";
    c.width = i % 2 ? 1366 : 1921;
    c.height = i % 2 ? 768 : 1081;
    ok &= run_case (&c);
  }
  return ok;
}

bool
bench_kernel_rows (const BenchOptions *options)
{
  bool ok = size_rows (options->quick);

  ok &= mode_rows (options->quick);
  if (!options->quick) {
    ok &= format_rows ();
    ok &= setting_rows ();
  }
  return ok;
}

bool
bench_profile (const BenchOptions *options)
{
  static const char *const formats[] = {"GRAY8", "RGB"};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  int32_t width = 7680, height = 4320;
  bool ok = true;
  unsigned f, v;

  if (options->profile && sscanf (options->profile, "%" SCNd32 "x%" SCNd32, &width, &height) != 2)
    return false;
  for (f = 0; f < 2; f++) {
    const SobelConfig config = rig_config (formats[f], false, width, height, true);
    SobelError error;
    GpuPicture p;

    if (gpu_picture_init (&p, &config, &params, &error)) {
      row_begin (formats[f]);
      row_number ("multiprocessors", p.multiprocessors);
      row_end ();
      for (v = 0; v < N_VARIANTS; v++) {
        Run run = {&p, (Variant) v};
        ok &= launch (&run, gpu_time_stream ()) == cudaSuccess && cudaDeviceSynchronize () == cudaSuccess;
      }
    } else {
      ok = false;
    }
    gpu_picture_clear (&p);
  }
  return ok;
}

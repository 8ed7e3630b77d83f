/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times of the GPU's kernels against a device copy of the same bytes in the same run. Prints tables in Markdown.
 *
 *   bench_kernels [shapes] [profile] [kernels]      (kernels when none is named)
 */
#include "../gpu/cudarig.h"

#include "cudakernels.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = 15 };

static RigDriver driver;
static CUcontext context;

static int
by_value (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static double
median (double *values, unsigned n)
{
  qsort (values, n, sizeof *values, by_value);
  return values[n / 2];
}

/* ---- kernels -------------------------------------------------------------------------------------- */

typedef struct Bench
{
  SobelCudaPicture picture;
  SobelCudaScratch scratch;
  SobelFastShape shape;
  SobelFastKind kind;
  SobelKernel kernel;
  size_t in_size, out_size;
  uint8_t *in, *out;
} Bench;

typedef cudaError_t (*Run) (const Bench *bench, cudaStream_t stream);

static cudaError_t
run_copy (const Bench *b, cudaStream_t stream)
{
  /* As many bytes read and written in all as the kernel does. */
  return cudaMemcpyAsync (b->out, b->in, (b->in_size + b->out_size) / 2, cudaMemcpyDeviceToDevice, stream);
}

static cudaError_t
run_fast (const Bench *b, cudaStream_t stream)
{
  return sobel_cuda_fast (&b->picture, b->kind, b->shape, stream);
}

static cudaError_t
run_fused (const Bench *b, cudaStream_t stream)
{
  return sobel_cuda_fused (&b->picture, stream);
}

static cudaError_t
run_ladder (const Bench *b, cudaStream_t stream)
{
  return sobel_cuda_ladder (&b->picture, b->kernel, &b->scratch, stream);
}

/* Microseconds a run; negative on failure. */
static double
time_runs (const Bench *bench, Run run)
{
  double us[BATCHES];
  cudaStream_t stream;
  cudaEvent_t begin, end;
  unsigned i, k, n = 10;
  cudaError_t result = cudaSuccess;
  float ms = 0;

  cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking);
  cudaEventCreate (&begin);
  cudaEventCreate (&end);
  for (i = 0; i < BATCHES + 2 && result == cudaSuccess; i++) {
    cudaEventRecord (begin, stream);
    for (k = 0; k < n && result == cudaSuccess; k++)
      result = run (bench, stream);
    cudaEventRecord (end, stream);
    if (result == cudaSuccess)
      result = cudaEventSynchronize (end);
    cudaEventElapsedTime (&ms, begin, end);
    if (i >= 2)
      us[i - 2] = 1000.0 * ms / n;
    else /* batches of about 4 ms */
      n = ms > 0 ? (unsigned) (4.0f * (float) n / ms) : n;
    n = n < 10 ? 10 : n > 1000 ? 1000 : n;
  }
  cudaEventDestroy (begin);
  cudaEventDestroy (end);
  cudaStreamDestroy (stream);
  if (result != cudaSuccess)
    printf ("(%s) ", cudaGetErrorName (result));
  return result == cudaSuccess ? median (us, BATCHES) : -1;
}

static bool
bench_init (Bench *b, const char *format, bool gray_out, int32_t width, int32_t height, const SobelParams *params)
{
  const SobelConfig config = rig_config (format, gray_out, width, height, true);
  TRandom random = t_random (7, 7);
  uint8_t in_use[SOBEL_MAX_PLANES], *noise;
  size_t size;
  unsigned i;

  memset (b, 0, sizeof *b);
  b->in_size = rig_picture_size (config.in, width, height);
  b->out_size = rig_picture_size (config.out, width, height);
  noise = malloc (b->in_size);
  size = sobel_cuda_scratch_layout (&b->scratch, width, height);
  if (!noise || cudaMalloc ((void **) &b->in, b->in_size) != cudaSuccess ||
      cudaMalloc ((void **) &b->out, (b->in_size + b->out_size) / 2) != cudaSuccess ||
      cudaMalloc ((void **) &b->scratch.luma, size) != cudaSuccess)
    return false;
  b->scratch.edges = (uint16_t *) ((uint8_t *) b->scratch.luma + b->scratch.luma_pitch * (size_t) height);
  t_random_fill (&random, noise, b->in_size);
  cudaMemcpy (b->in, noise, b->in_size, cudaMemcpyHostToDevice);
  free (noise);
  b->picture.in_format = *config.in;
  b->picture.out_format = *config.out;
  b->picture.in = rig_image (config.in, width, height, b->in, SOBEL_MEMORY_DEVICE);
  b->picture.out = rig_image (config.out, width, height, b->out, SOBEL_MEMORY_DEVICE);
  sobel_recipe_init (&b->picture.recipe, &config, params);
  sobel_recipe_planes (&b->picture.recipe, &config, in_use, b->picture.out_use);
  for (i = 0; i < config.out->n_planes; i++)
    b->picture.out_row_bytes[i] = (uint32_t) sobel_image_row_bytes (config.out, i, width);
  b->picture.end_row = sobel_cuda_picture_extent (&b->picture);
  b->kind = sobel_cuda_fast_kind (&b->picture);
  if (params->mode == SOBEL_MODE_EDGES && config.in->family == SOBEL_FAMILY_YUV && config.in->n_planes > 1) {
    /* Only the luma plane moves. */
    b->in_size = b->out_size = sobel_image_row_bytes (config.in, 0, width) * (size_t) height;
  }
  return true;
}

static void
bench_clear (Bench *b)
{
  cudaFree (b->in);
  cudaFree (b->out);
  cudaFree (b->scratch.luma);
}

static int
multiprocessors (void)
{
  int n = 0;

  cudaDeviceGetAttribute (&n, cudaDevAttrMultiProcessorCount, 0);
  return n;
}

static const struct
{
  int32_t width, height;
} sizes[] = {{1920, 1080}, {3840, 2160}, {7680, 4320}, {16384, 16384}};

/* How the fast kernels' work is best cut. */
static void
bench_shapes (void)
{
  static const char *const formats[] = {"GRAY8", "RGB", "RGBA"};
  static const int32_t rows[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 33, 48, 64};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  unsigned f, s, r;

  printf ("\nrows a warp, us:\n\n| format | size | copy |");
  for (r = 0; r < sizeof rows / sizeof rows[0]; r++)
    printf (" %d |", rows[r]);
  printf (" chosen |\n");
  for (f = 0; f < 3; f++) {
    for (s = 0; s < (f ? 3 : 4); s++) {
      Bench b;
      double copy, us;

      if (!bench_init (&b, formats[f], false, sizes[s].width, sizes[s].height, &params))
        continue;
      copy = time_runs (&b, run_copy);
      printf ("| %s | %dx%d | %.1f |", formats[f], sizes[s].width, sizes[s].height, copy);
      for (r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        b.shape.rows = rows[r];
        printf (" %.2f |", time_runs (&b, run_fast));
      }
      b.shape = sobel_cuda_fast_shape (&b.picture, b.kind, multiprocessors ());
      us = time_runs (&b, run_fast);
      printf (" %d: %.2f (%.2f) |\n", b.shape.rows, us, us / copy);
      bench_clear (&b);
      fflush (stdout);
    }
  }
}

/* Something for a profiler to look at: GRAY8, RGB and RGBA, three times each. */
static void
bench_profile (void)
{
  static const char *const formats[] = {"GRAY8", "RGB", "RGBA"};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  unsigned f, k;

  for (f = 0; f < 3; f++) {
    Bench b;

    if (bench_init (&b, formats[f], false, f ? 7680 : 16384, f ? 4320 : 16384, &params)) {
      b.shape = sobel_cuda_fast_shape (&b.picture, b.kind, multiprocessors ());
      for (k = 0; k < 3; k++)
        run_fast (&b, NULL);
      cudaDeviceSynchronize ();
    }
    bench_clear (&b);
  }
}

static void
bench_one (const char *format, bool gray_out, int32_t width, int32_t height, const SobelParams *params,
           const char *what, bool ladder)
{
  Bench b;
  double copy, us;
  int k;

  if (!bench_init (&b, format, gray_out, width, height, params)) {
    printf ("| %s | %s | %dx%d | no memory |\n", format, what, width, height);
    bench_clear (&b);
    return;
  }
  copy = time_runs (&b, run_copy);
  printf ("| %s%s | %s | %dx%d | %.1f |", format, gray_out ? " to gray" : "", what, width, height, copy);
  if (b.kind != SOBEL_FAST_NONE) {
    b.shape = sobel_cuda_fast_shape (&b.picture, b.kind, multiprocessors ());
    us = time_runs (&b, run_fast);
    printf (" %.1f (%.2f) |", us, us / copy);
  } else {
    printf (" - |");
  }
  us = time_runs (&b, run_fused);
  printf (" %.1f (%.2f) |", us, us / copy);
  for (k = SOBEL_KERNEL_NAIVE; k <= SOBEL_KERNEL_SHARED; k++) {
    if (ladder) {
      b.kernel = (SobelKernel) k;
      us = time_runs (&b, run_ladder);
      printf (" %.1f (%.2f) |", us, us / copy);
    } else {
      printf (" |");
    }
  }
  printf ("\n");
  fflush (stdout);
  bench_clear (&b);
}

static void
bench_kernels (void)
{
  static const char *const formats[] = {"GRAY8", "RGB",       "RGBA", "I420", "NV12", "GRAY16_LE",
                                        "P010_10LE", "YUY2", "GBR"};
  SobelParams params = SOBEL_PARAMS_DEFAULT, other;
  unsigned f, s;

  printf ("\nus a picture (times the copy of the same bytes):\n\n"
          "| format | what | size | copy | fast | general | naive | constant | shared |\n"
          "|---|---|---|---|---|---|---|---|---|\n");
  for (f = 0; f < sizeof formats / sizeof formats[0]; f++)
    for (s = 0; s < (f == 0 ? 4 : f < 3 ? 3 : 2); s++)
      bench_one (formats[f], false, sizes[s].width, sizes[s].height, &params, "edges", s < 3);
  for (s = 0; s < 2; s++) {
    bench_one ("RGB", true, sizes[s].width, sizes[s].height, &params, "edges", false);
    bench_one ("RGBA", true, sizes[s].width, sizes[s].height, &params, "edges", false);
    other = params;
    other.mode = SOBEL_MODE_OVERLAY;
    for (f = 1; f < 6; f++)
      bench_one (formats[f], false, sizes[s].width, sizes[s].height, &other, "overlay", false);
    other.mode = SOBEL_MODE_MASK;
    bench_one ("I420", false, sizes[s].width, sizes[s].height, &other, "mask", false);
    other.mode = SOBEL_MODE_DIRECTION;
    bench_one ("RGB", false, sizes[s].width, sizes[s].height, &other, "direction", false);
    bench_one ("I420", false, sizes[s].width, sizes[s].height, &other, "direction", false);
    other = params;
    other.op = SOBEL_OPERATOR_SCHARR;
    bench_one ("GRAY8", false, sizes[s].width, sizes[s].height, &other, "scharr", false);
    other = params;
    other.norm = SOBEL_NORM_L1;
    bench_one ("GRAY8", false, sizes[s].width, sizes[s].height, &other, "l1", false);
    other = params;
    other.border = SOBEL_BORDER_ZERO;
    bench_one ("GRAY8", false, sizes[s].width, sizes[s].height, &other, "zero", false);
    other = params;
    other.threshold = 0.2;
    bench_one ("GRAY8", false, sizes[s].width, sizes[s].height, &other, "threshold", false);
    other = params;
    other.gain = 2;
    bench_one ("GRAY8", false, sizes[s].width, sizes[s].height, &other, "gain 2", false);
    other = params;
    other.precision = SOBEL_PRECISION_FLOAT;
    bench_one ("RGB", false, sizes[s].width, sizes[s].height, &other, "float", false);
  }
  bench_one ("GRAY8", false, 1366, 768, &params, "ragged", false);
  bench_one ("RGB", false, 1366, 768, &params, "ragged", false);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*run) (void);
  } parts[] = {{"shapes", bench_shapes}, {"profile", bench_profile}, {"kernels", bench_kernels}};
  const SobelCudaOptions options = {.device_id = -1};
  SobelDevice *device = NULL;
  SobelDeviceInfo info;
  SobelError error;
  unsigned i;
  int k;

  if (sobel_cuda_device_new (&options, &device, &error) != SOBEL_STATUS_OK || !rig_driver_load (&driver)) {
    printf ("skipped: %s\n", error.message);
    return T_SKIP;
  }
  device->ops->info (device, &info);
  printf ("%s\n", info.name);
  context = info.context;
  driver.push (context);
  for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    bool wanted = argc < 2 && i > 1;

    for (k = 1; k < argc; k++)
      wanted |= strcmp (argv[k], parts[i].name) == 0;
    if (wanted)
      parts[i].run ();
  }
  driver.pop (&context);
  sobel_device_destroy (&device);
  return 0;
}

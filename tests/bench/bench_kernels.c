/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times of the GPU's kernels against a device copy of the same bytes in the same run, of frames through a ring of slots
 * against the bus, and of one large frame alone. Prints tables in Markdown.
 *
 *   bench_kernels [shapes] [kernels] [ring] [frame]      (all but shapes when none is named)
 */
#include "../gpu/cudarig.h"

#include "cudakernels.h"
#include "cudaslot.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 15, MAX_RING = 16 };

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
  int32_t rows; /* of a warp's share */
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
  return sobel_cuda_fast (&b->picture, b->kind, b->rows, stream);
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
        b.rows = rows[r];
        printf (" %.2f |", time_runs (&b, run_fast));
      }
      b.rows = sobel_cuda_fast_rows (&b.picture, b.kind, multiprocessors ());
      us = time_runs (&b, run_fast);
      printf (" %d: %.2f (%.2f) |\n", b.rows, us, us / copy);
      bench_clear (&b);
      fflush (stdout);
    }
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
    b.rows = sobel_cuda_fast_rows (&b.picture, b.kind, multiprocessors ());
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

/* ---- ring ----------------------------------------------------------------------------------------- */

typedef struct Ring
{
  Rig rig;
  SobelJob job[MAX_RING];
  unsigned n_frames;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned submitted, finished;
  bool failed;
} Ring;

static void *
submit_frames (void *user)
{
  Ring *ring = user;
  SobelError error;
  unsigned n;

  for (n = 0; n < ring->n_frames; n++) {
    const unsigned slot = n % ring->rig.n_slots;

    pthread_mutex_lock (&ring->lock);
    while (n - ring->finished >= ring->rig.n_slots && !ring->failed)
      pthread_cond_wait (&ring->changed, &ring->lock);
    pthread_mutex_unlock (&ring->lock);
    if (ring->failed ||
        ring->rig.device->ops->submit (ring->rig.device, slot, &ring->job[slot], &error) != SOBEL_STATUS_OK) {
      ring->failed = true;
      break;
    }
    pthread_mutex_lock (&ring->lock);
    ring->submitted = n + 1;
    pthread_cond_signal (&ring->changed);
    pthread_mutex_unlock (&ring->lock);
  }
  return NULL;
}

/* Frames a second through `n_slots` slots by two threads, as the element does it; 0 on failure. */
static double
run_ring (const SobelCudaOptions *options, const SobelConfig *config, unsigned n_slots, unsigned n_frames)
{
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelDevice *device = NULL;
  SobelError error;
  pthread_t thread;
  uint64_t start = 0;
  Ring *ring = calloc (1, sizeof *ring);
  double rate = 0;
  unsigned n;

  if (sobel_cuda_device_new (options, &device, &error) != SOBEL_STATUS_OK ||
      !rig_init (&ring->rig, device, config, n_slots, &error)) {
    printf ("(%s) ", error.message);
    free (ring);
    return 0;
  }
  for (n = 0; n < n_slots; n++) {
    memset (rig_in (&ring->rig, n), (int) n + 1, ring->rig.in_size);
    ring->job[n] = rig_job (&ring->rig, n, &params);
    ring->job[n].neutral_ready = true;
  }
  ring->n_frames = n_frames;
  pthread_mutex_init (&ring->lock, NULL);
  pthread_cond_init (&ring->changed, NULL);
  pthread_create (&thread, NULL, submit_frames, ring);
  for (n = 0; n < n_frames && !ring->failed; n++) {
    pthread_mutex_lock (&ring->lock);
    while (ring->submitted <= n && !ring->failed)
      pthread_cond_wait (&ring->changed, &ring->lock);
    pthread_mutex_unlock (&ring->lock);
    if (device->ops->wait (device, n % n_slots, 5000000000u, &error) != SOBEL_STATUS_OK)
      ring->failed = true;
    if (n == n_frames / 10)
      start = t_now_ns ();
    pthread_mutex_lock (&ring->lock);
    ring->finished = n + 1;
    pthread_cond_signal (&ring->changed);
    pthread_mutex_unlock (&ring->lock);
  }
  if (!ring->failed)
    rate = (n_frames - 1 - n_frames / 10) * 1e9 / (double) (t_now_ns () - start);
  pthread_join (thread, NULL);
  rig_clear (&ring->rig);
  free (ring);
  return rate;
}

/* Microseconds for `size` bytes each way: up alone, and both ways at once. */
static void
bus_limit (size_t size, double *up, double *both)
{
  double alone[BATCHES], two[BATCHES];
  cudaStream_t a, b;
  void *host_a = NULL, *host_b = NULL;
  uint8_t *device_a = NULL, *device_b = NULL;
  unsigned i, k, way, n = size > 10000000 ? 10 : 50;

  cudaStreamCreateWithFlags (&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags (&b, cudaStreamNonBlocking);
  cudaMallocHost (&host_a, size);
  cudaMallocHost (&host_b, size);
  cudaMalloc ((void **) &device_a, size);
  cudaMalloc ((void **) &device_b, size);
  for (i = 0; i < BATCHES; i++) {
    for (way = 0; way < 2; way++) {
      uint64_t start = t_now_ns ();

      for (k = 0; k < n; k++) {
        cudaMemcpyAsync (device_a, host_a, size, cudaMemcpyHostToDevice, a);
        if (way)
          cudaMemcpyAsync (host_b, device_b, size, cudaMemcpyDeviceToHost, b);
      }
      cudaStreamSynchronize (a);
      cudaStreamSynchronize (b);
      (way ? two : alone)[i] = (double) (t_now_ns () - start) / 1000.0 / n;
    }
  }
  *up = median (alone, BATCHES);
  *both = median (two, BATCHES);
  cudaFree (device_a);
  cudaFree (device_b);
  cudaFreeHost (host_a);
  cudaFreeHost (host_b);
  cudaStreamDestroy (a);
  cudaStreamDestroy (b);
}

static const struct
{
  const char *format;
  int32_t width, height;
  size_t bytes; /* each way */
} streams_of[] = {
    {"I420", 1920, 1080, 1920 * 1080}, {"RGB", 1920, 1080, 1920 * 1080 * 3}, {"RGB", 3840, 2160, 3840 * 2160 * 3}};

static void
bench_ring (void)
{
  static const struct
  {
    unsigned slots, streams, timed_every, spin_us;
    bool no_signals;
  } ways[] = {{1, 0, 16, 200, false}, {2, 0, 16, 200, false}, {3, 0, 16, 200, false},  {4, 0, 16, 200, false},
              {8, 0, 16, 200, false}, {4, 2, 16, 200, false}, {4, 3, 16, 200, false},  {8, 2, 16, 200, false},
              {8, 4, 16, 200, false}, {4, 0, 1, 200, false},  {4, 0, 100000, 200, false}, {4, 0, 16, 200, true},
              {4, 0, 16, 0, false},   {4, 0, 16, 50, false},  {4, 0, 16, 1000, false}};
  const SobelCudaTuning usual = sobel_cuda_tuning;
  unsigned i, k;

  printf ("\nframes/s through the ring by two threads:\n\n| slots | streams | timed | spin us | wait |");
  for (i = 0; i < 3; i++)
    printf (" %s %dx%d |", streams_of[i].format, streams_of[i].width, streams_of[i].height);
  printf ("\n|---|---|---|---|---|---|---|---|\n| bus both ways | | | | |");
  for (i = 0; i < 3; i++) {
    double up, both;

    bus_limit (streams_of[i].bytes, &up, &both);
    printf (" %.0f (%.1f us, up alone %.1f) |", 1e6 / both, both, up);
  }
  printf ("\n");
  for (k = 0; k < sizeof ways / sizeof ways[0]; k++) {
    const SobelCudaOptions options = {.device_id = -1, .streams = ways[k].streams};

    sobel_cuda_tuning.timed_every = ways[k].timed_every;
    sobel_cuda_tuning.spin_ns = ways[k].spin_us * 1000;
    sobel_cuda_tuning.no_signals = ways[k].no_signals;
    printf ("| %u | %u | %u | %u | %s |", ways[k].slots, ways[k].streams, ways[k].timed_every, ways[k].spin_us,
            ways[k].no_signals ? "event" : "signal");
    for (i = 0; i < 3; i++) {
      const SobelConfig config =
          rig_config (streams_of[i].format, false, streams_of[i].width, streams_of[i].height, false);
      printf (" %.0f |", run_ring (&options, &config, ways[k].slots, i == 0 ? 16000 : i == 1 ? 5000 : 1200));
    }
    printf ("\n");
    fflush (stdout);
  }
  sobel_cuda_tuning = usual;
}

/* ---- one frame ------------------------------------------------------------------------------------ */

static void
bench_frame (void)
{
  static const struct
  {
    const char *format;
    int32_t width, height;
  } frames[] = {{"I420", 1920, 1080}, {"RGB", 1920, 1080}, {"RGB", 3840, 2160}, {"RGB", 7680, 4320}};
  static const unsigned strips[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  unsigned f, k, i;

  printf ("\none frame alone, in and out, us, by strips:\n\n| frame | upload alone |");
  for (k = 0; k < sizeof strips / sizeof strips[0]; k++)
    printf (" %u |", strips[k]);
  printf ("\n");
  for (f = 0; f < sizeof frames / sizeof frames[0]; f++) {
    const SobelConfig config = rig_config (frames[f].format, false, frames[f].width, frames[f].height, false);
    const size_t bytes = sobel_image_row_bytes (config.in, 0, config.width) * (size_t) config.height;
    double up, both;

    bus_limit (bytes, &up, &both);
    printf ("| %s %dx%d | %.0f |", frames[f].format, frames[f].width, frames[f].height, up);
    for (k = 0; k < sizeof strips / sizeof strips[0]; k++) {
      const SobelCudaOptions options = {.device_id = -1, .strips = strips[k]};
      double us[2 * BATCHES + 1];
      SobelDevice *device = NULL;
      SobelError error;
      SobelJob job;
      Rig rig;

      if (sobel_cuda_device_new (&options, &device, &error) != SOBEL_STATUS_OK ||
          !rig_init (&rig, device, &config, 1, &error)) {
        printf (" %s |", error.message);
        continue;
      }
      memset (rig.memory, 3, rig.in_size);
      job = rig_job (&rig, 0, &params);
      job.neutral_ready = true;
      for (i = 0; i < 2 * BATCHES + 6; i++) {
        const uint64_t start = t_now_ns ();

        device->ops->submit (device, 0, &job, &error);
        device->ops->wait (device, 0, 5000000000u, &error);
        if (i >= 5)
          us[i - 5] = (double) (t_now_ns () - start) / 1000.0;
      }
      printf (" %.0f |", median (us, 2 * BATCHES + 1));
      rig_clear (&rig);
    }
    printf ("\n");
    fflush (stdout);
  }
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*run) (void);
  } parts[] = {{"shapes", bench_shapes}, {"kernels", bench_kernels}, {"ring", bench_ring}, {"frame", bench_frame}};
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
  for (i = 0; i < 4; i++) {
    bool wanted = argc < 2 && i > 0;

    for (k = 1; k < argc; k++)
      wanted |= strcmp (argv[k], parts[i].name) == 0;
    if (wanted)
      parts[i].run ();
  }
  driver.pop (&context);
  sobel_device_destroy (&device);
  return 0;
}

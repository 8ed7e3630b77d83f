/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames through the CUDA device alone: how many a second through a ring of slots, against the bus in the same run, and
 * how long one takes by itself. Prints tables in Markdown.
 *
 *   bench_device [ring] [frame] [live]      (all when none is named)
 */
#include "../gpu/cudarig.h"

#include "cudaslot.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* The same by one thread, which waits for the oldest frame whenever all slots are taken: what the device itself can. */
static double
run_alone (const SobelCudaOptions *options, const SobelConfig *config, unsigned n_slots, unsigned n_frames)
{
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelDevice *device = NULL;
  SobelError error;
  uint64_t start = 0;
  bool ok = true;
  Rig rig;
  unsigned n;

  if (sobel_cuda_device_new (options, &device, &error) != SOBEL_STATUS_OK ||
      !rig_init (&rig, device, config, n_slots, &error)) {
    printf ("(%s) ", error.message);
    return 0;
  }
  memset (rig.memory, 1, n_slots * rig.in_size);
  for (n = 0; n < n_frames + n_slots && ok; n++) {
    SobelJob job = rig_job (&rig, n % n_slots, &params);

    job.neutral_ready = true;
    if (n == n_frames / 10)
      start = t_now_ns ();
    if (n >= n_slots)
      ok = device->ops->wait (device, n % n_slots, 5000000000u, &error) == SOBEL_STATUS_OK;
    if (ok && n < n_frames)
      ok = device->ops->submit (device, n % n_slots, &job, &error) == SOBEL_STATUS_OK;
  }
  rig_clear (&rig);
  return ok ? (n_frames + n_slots - n_frames / 10) * 1e9 / (double) (t_now_ns () - start) : 0;
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
  } ways[] = {{1, 0, 32, 200}, {2, 0, 32, 200}, {3, 0, 32, 200}, {4, 0, 32, 200},     {8, 0, 32, 200},
              {4, 2, 32, 200}, {4, 3, 32, 200}, {8, 2, 32, 200}, {8, 4, 32, 200},     {4, 0, 1, 200},
              {4, 0, 8, 200},  {4, 0, 100000, 200}, {4, 0, 32, 0}, {4, 0, 32, 50},    {4, 0, 32, 1000}};
  const SobelCudaTuning usual = sobel_cuda_tuning;
  unsigned i, k;

  printf ("\nframes/s through the ring by two threads, and by one:\n\n| slots | streams | timed | spin us |");
  for (i = 0; i < 3; i++)
    printf (" %s %dx%d |", streams_of[i].format, streams_of[i].width, streams_of[i].height);
  printf ("\n|---|---|---|---|---|---|---|\n| bus both ways | | | |");
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
    printf ("| %u | %u | %u | %u |", ways[k].slots, ways[k].streams, ways[k].timed_every, ways[k].spin_us);
    for (i = 0; i < 3; i++) {
      const SobelConfig config =
          rig_config (streams_of[i].format, false, streams_of[i].width, streams_of[i].height, false);
      const unsigned n = i == 0 ? 16000 : i == 1 ? 5000 : 1200;
      printf (" %.0f, %.0f |", run_ring (&options, &config, ways[k].slots, n),
              run_alone (&options, &config, ways[k].slots, n));
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

/* ---- a frame now and then ------------------------------------------------------------------------- */

enum { PAUSE_NS = 16000000, LIVE_FRAMES = 40 };

static void
pause_for (bool busy)
{
  const uint64_t end = t_now_ns () + PAUSE_NS;
  const struct timespec nap = {0, PAUSE_NS};

  if (!busy)
    nanosleep (&nap, NULL);
  while (t_now_ns () < end)
    ;
}

/* What a frame takes when host and GPU had nothing to do before. */
static void
bench_live (void)
{
  static const struct
  {
    const char *name;
    bool pause, busy;
  } ways[] = {{"no pause", false, false}, {"16 ms of spinning", true, true}, {"16 ms of sleep", true, false}};
  static const unsigned strips[] = {1, 2, 4};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  const SobelConfig config = rig_config ("I420", false, 1920, 1080, false);
  unsigned w, s, i;

  printf ("\none frame, I420 1920x1080, us until submit returns, and until it is done:\n\n"
          "| before | strips | submit | done |\n|---|---|---|---|\n");
  for (w = 0; w < sizeof ways / sizeof ways[0]; w++) {
    for (s = 0; s < sizeof strips / sizeof strips[0]; s++) {
      const SobelCudaOptions options = {.device_id = -1, .strips = strips[s]};
      double submit[LIVE_FRAMES], done[LIVE_FRAMES];
      SobelDevice *device = NULL;
      SobelError error;
      SobelJob job;
      Rig rig;

      if (sobel_cuda_device_new (&options, &device, &error) != SOBEL_STATUS_OK ||
          !rig_init (&rig, device, &config, 1, &error)) {
        printf ("%s\n", error.message);
        continue;
      }
      memset (rig.memory, 3, rig.in_size);
      job = rig_job (&rig, 0, &params);
      job.neutral_ready = true;
      for (i = 0; i < LIVE_FRAMES; i++) {
        uint64_t start;

        if (ways[w].pause)
          pause_for (ways[w].busy);
        start = t_now_ns ();
        device->ops->submit (device, 0, &job, &error);
        submit[i] = (double) (t_now_ns () - start) / 1000.0;
        device->ops->wait (device, 0, 5000000000u, &error);
        done[i] = (double) (t_now_ns () - start) / 1000.0;
      }
      printf ("| %s | %u | %.0f | %.0f |\n", ways[w].name, strips[s], median (submit, LIVE_FRAMES),
              median (done, LIVE_FRAMES));
      rig_clear (&rig);
    }
  }
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*run) (void);
  } parts[] = {{"ring", bench_ring}, {"frame", bench_frame}, {"live", bench_live}};
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
    bool wanted = argc < 2;

    for (k = 1; k < argc; k++)
      wanted |= strcmp (argv[k], parts[i].name) == 0;
    if (wanted)
      parts[i].run ();
  }
  driver.pop (&context);
  sobel_device_destroy (&device);
  return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA device on a real GPU, where its pixels are not the question (the checker's is that): contexts, frames in
 * flight, strips, images of others, failures, memory. Skips where there is no GPU. */
#include "cudarig.h"

#include "cudafault.h"
#include "cudaslot.h"
#include "pinnedbudget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS UINT64_C (5000000000)

static RigDriver driver;

static SobelDevice *
open_device (const SobelCudaOptions *options)
{
  SobelDevice *device = NULL;
  SobelError error;

  T_CHECK (sobel_cuda_device_new (options, &device, &error) == SOBEL_STATUS_OK, "%s", error.message);
  return device;
}

static CUcontext
current_context (void)
{
  CUcontext context = NULL;

  T_CHECK (driver.get_current (&context) == CUDA_SUCCESS, "no answer");
  return context;
}

/* Frames differ from slot to slot in pixels and in settings. */
static SobelParams
some_params (unsigned n)
{
  SobelParams params = SOBEL_PARAMS_DEFAULT;

  params.op = (SobelOperator) (n % 3);
  params.border = (SobelBorder) (n / 3 % 4);
  params.threshold = n % 5 == 4 ? 0.3 : 0;
  params.invert = n % 7 == 6;
  params.mode = (SobelMode) (n / 2 % 4);
  return params;
}

static bool
run_frame (Rig *rig, unsigned slot, const SobelJob *job)
{
  SobelError error;

  return T_CHECK (rig->device->ops->submit (rig->device, slot, job, &error) == SOBEL_STATUS_OK, "%s", error.message) &&
         T_CHECK (rig->device->ops->wait (rig->device, slot, WAIT_NS, &error) == SOBEL_STATUS_OK, "%s", error.message);
}

static void
check_output (const Rig *rig, const SobelJob *job, const uint8_t *out, const char *what)
{
  const size_t size = rig_picture_size (rig->config.out, rig->config.width, rig->config.height);
  uint8_t *expected = malloc (rig->out_size);
  size_t i;

  if (T_CHECK (expected && rig_expected (rig, job, expected), "no expectation for %s", what) &&
      memcmp (expected, out, size) != 0) {
    for (i = 0; expected[i] == out[i]; i++)
      ;
    t_fail (__FILE__, __LINE__, "equal", "%s, %s %dx%d: byte %zu is %u, not %u", what, rig->config.in->name,
            rig->config.width, rig->config.height, i, out[i], expected[i]);
  }
  free (expected);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

/* Every pair of gradients below 4096 against the exact root. */
static void
test_roots (void)
{
  enum { COUNT = 4096 };
  const size_t size = (size_t) COUNT * COUNT;
  uint8_t *e = malloc (size), *on_gpu = NULL;
  uint32_t x, y, wrong = 0;
  CUcontext context = NULL;

  driver.primary_retain (&context, 0);
  driver.push (context);
  if (T_CHECK (e && cudaMalloc ((void **) &on_gpu, size) == cudaSuccess &&
                   sobel_cuda_fast_probe (on_gpu, COUNT, NULL) == cudaSuccess &&
                   cudaMemcpy (e, on_gpu, size, cudaMemcpyDeviceToHost) == cudaSuccess,
               "no roots")) {
    for (x = 0; x < COUNT; x++) {
      for (y = 0; y < COUNT; y++) {
        const uint32_t root = (uint32_t) sqrt ((double) (x * x + y * y));
        wrong += e[x * COUNT + y] != (root < 255 ? root : 255);
      }
    }
  }
  T_CHECK (wrong == 0, "%u of %zu roots are wrong", wrong, size);
  cudaFree (on_gpu);
  driver.pop (&context);
  driver.primary_release (0);
  free (e);
}

/* ---- frames --------------------------------------------------------------------------------------- */

/* A ring full of different frames gives what each gives alone. */
static void
test_full_ring (void)
{
  static const char *const formats[] = {"GRAY8", "I420", "RGB", "BGRA", "NV12", "P010_10LE", "YUY2"};
  const SobelCudaOptions options = {.device_id = -1};
  TRandom random = t_random (1, 1);
  unsigned f, n, round;

  for (f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    const SobelConfig config = rig_config (formats[f], false, 1920, 270, true);
    SobelJob jobs[8];
    SobelError error;
    Rig rig;

    if (!T_CHECK (rig_init (&rig, open_device (&options), &config, 8, &error), "%s", error.message))
      return;
    for (n = 0; n < 8; n++)
      t_random_fill (&random, rig_in (&rig, n), rig.in_size);
    for (round = 0; round < 4; round++) {
      for (n = 0; n < 8; n++) {
        const SobelParams params = some_params (8 * round + n);
        jobs[n] = rig_job (&rig, n, &params);
        jobs[n].kernel = (SobelKernel) (n % 5);
        memset (rig_out (&rig, n), 0xa5, rig.out_size);
        T_CHECK (rig.device->ops->submit (rig.device, n, &jobs[n], &error) == SOBEL_STATUS_OK, "%s", error.message);
      }
      for (n = 0; n < 8; n++) {
        T_CHECK (rig.device->ops->wait (rig.device, n, WAIT_NS, &error) == SOBEL_STATUS_OK, "%s", error.message);
        check_output (&rig, &jobs[n], rig_out (&rig, n), "full ring");
      }
    }
    rig_clear (&rig);
  }
}

static void
test_strips (void)
{
  static const struct
  {
    const char *format;
    int32_t width, height;
    SobelMode mode;
  } cases[] = {{"RGB", 7680, 4320, SOBEL_MODE_EDGES}, {"I420", 1920, 1083, SOBEL_MODE_OVERLAY},
               {"YUV9", 641, 333, SOBEL_MODE_MASK},   {"RGBA", 1921, 1080, SOBEL_MODE_DIRECTION},
               {"GRAY8", 7680, 17, SOBEL_MODE_EDGES}, {"A420", 1280, 720, SOBEL_MODE_OVERLAY}};
  static const unsigned strips[] = {0, 1, 2, 7, 64};
  const SobelCudaTuning usual = sobel_cuda_tuning;
  TRandom random = t_random (2, 1);
  unsigned i, k, n;

  sobel_cuda_tuning.timed_every = 1;

  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (k = 0; k < sizeof strips / sizeof strips[0]; k++) {
      const SobelCudaOptions options = {.device_id = -1, .strips = strips[k], .streams = k == 3 ? 2 : 0};
      const SobelConfig config = rig_config (cases[i].format, false, cases[i].width, cases[i].height, false);
      SobelParams params = SOBEL_PARAMS_DEFAULT;
      SobelTiming timing;
      SobelError error;
      SobelJob job;
      Rig rig;

      params.mode = cases[i].mode;
      if (!T_CHECK (rig_init (&rig, open_device (&options), &config, 2, &error), "%s", error.message))
        return;
      for (n = 0; n < 2; n++) {
        t_random_fill (&random, rig_in (&rig, n), rig.in_size);
        job = rig_job (&rig, n, &params);
        if (!run_frame (&rig, n, &job))
          return;
        check_output (&rig, &job, rig_out (&rig, n), "strips");
      }
      rig.device->ops->timing (rig.device, 1, &timing);
      T_CHECK (timing.kernel_ns > 0 && timing.kernel_ns < 1000000000, "kernel took %llu ns",
               (unsigned long long) timing.kernel_ns);
      rig_clear (&rig);
    }
  }
  sobel_cuda_tuning = usual;
}

/* Images in GPU memory, on streams of their own. */
static void
test_device_images (void)
{
  static const char *const formats[] = {"NV12", "I420", "RGBA", "P010_10LE", "A420"};
  const SobelCudaOptions options = {.device_id = 0};
  TRandom random = t_random (3, 1);
  CUcontext context = NULL;
  unsigned f, queued;

  driver.primary_retain (&context, 0);
  for (f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    for (queued = 0; queued < 2; queued++) {
      const SobelConfig config = rig_config (formats[f], false, 644, 358, false);
      SobelParams params = some_params (f + queued);
      uint8_t *in = NULL, *out = NULL;
      cudaStream_t a = NULL, b = NULL;
      SobelError error;
      SobelJob job, host_job;
      Rig rig;

      if (!T_CHECK (rig_init (&rig, open_device (&options), &config, 1, &error), "%s", error.message))
        return;
      t_random_fill (&random, rig_in (&rig, 0), rig.in_size);
      job = host_job = rig_job (&rig, 0, &params);
      driver.push (context);
      T_CHECK (cudaMalloc ((void **) &in, rig.in_size) == cudaSuccess &&
                   cudaMalloc ((void **) &out, rig.out_size) == cudaSuccess &&
                   cudaStreamCreateWithFlags (&a, cudaStreamNonBlocking) == cudaSuccess &&
                   cudaStreamCreateWithFlags (&b, cudaStreamNonBlocking) == cudaSuccess,
               "no memory");
      T_CHECK (cudaMemcpyAsync (in, rig_in (&rig, 0), rig.in_size, cudaMemcpyHostToDevice, a) == cudaSuccess,
               "no copy up");
      driver.pop (&context);
      job.in = rig_image (config.in, config.width, config.height, in, SOBEL_MEMORY_DEVICE);
      job.out = rig_image (config.out, config.width, config.height, out, SOBEL_MEMORY_DEVICE);
      job.in_stream = a;
      job.out_stream = b;
      job.queued = queued;
      run_frame (&rig, 0, &job);
      driver.push (context);
      T_CHECK (cudaMemcpyAsync (rig_out (&rig, 0), out, rig.out_size, cudaMemcpyDeviceToHost, b) == cudaSuccess &&
                   cudaStreamSynchronize (b) == cudaSuccess,
               "no copy back");
      cudaStreamDestroy (a);
      cudaStreamDestroy (b);
      cudaFree (in);
      cudaFree (out);
      driver.pop (&context);
      check_output (&rig, &host_job, rig_out (&rig, 0), queued ? "queued GPU image" : "GPU image");
      rig_clear (&rig);
    }
  }
  driver.primary_release (0);
}

/* ---- contexts ------------------------------------------------------------------------------------- */

static void
test_context_is_left_alone (void)
{
  const SobelCudaOptions options = {.device_id = -1};
  const SobelConfig config = rig_config ("I420", false, 320, 240, false);
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelDeviceInfo info;
  CUcontext other = NULL, popped;
  SobelError error;
  SobelJob job;
  Rig rig;
  int pass;

  driver.primary_retain (&other, 0);
  for (pass = 0; pass < 2; pass++) {
    const CUcontext before = pass ? other : NULL;

    if (pass)
      driver.push (other);
    T_CHECK (current_context () == before, "starts with another context");
    if (!T_CHECK (rig_init (&rig, open_device (&options), &config, 2, &error), "%s", error.message))
      return;
    T_CHECK (current_context () == before, "configure leaves a context");
    memset (rig.memory, 1, 2 * rig.in_size);
    job = rig_job (&rig, 0, &params);
    run_frame (&rig, 0, &job);
    T_CHECK (current_context () == before, "a frame leaves a context");
    rig.device->ops->info (rig.device, &info);
    T_CHECK (info.context == other && info.device_bytes > 0 && info.ordinal == 0, "info says %p, %llu bytes",
             info.context, (unsigned long long) info.device_bytes);
    rig_clear (&rig);
    T_CHECK (current_context () == before, "the end leaves a context");
    if (pass)
      driver.pop (&popped);
  }
  driver.primary_release (0);
}

static void
count_ref (void *owner, int by)
{
  *(int *) owner += by;
}

static void *
owner_ref (void *owner)
{
  count_ref (owner, 1);
  return owner;
}

static void
owner_unref (void *owner)
{
  count_ref (owner, -1);
}

/* The device and each host block keep the context, and its owner, in one's own order of going. */
static void
test_order_of_going (void)
{
  int refs = 0;
  CUcontext context = NULL;
  SobelCudaOptions options = {.device_id = -1, .context_owner = &refs, .context_ref = owner_ref,
                              .context_unref = owner_unref};
  const uint64_t pinned = sobel_pinned_bytes ();
  SobelHostBlock *block = NULL;
  SobelDevice *device;
  SobelError error;

  driver.primary_retain (&context, 0);
  options.context = context;
  device = open_device (&options);
  T_CHECK (refs == 1, "%d references", refs);
  T_CHECK (device->ops->host_alloc (device, 100000, &block, &error) == SOBEL_STATUS_OK, "%s", error.message);
  sobel_device_destroy (&device);
  T_CHECK (refs == 1 && sobel_pinned_bytes () == pinned + 102400, "%d references, %llu bytes", refs,
           (unsigned long long) (sobel_pinned_bytes () - pinned));
  memset (block->data, 7, block->size);
  block->free (block);
  T_CHECK (refs == 0 && sobel_pinned_bytes () == pinned, "%d references", refs);
  driver.primary_release (0);

  options = (SobelCudaOptions){.device_id = 99};
  T_CHECK (sobel_cuda_device_new (&options, &device, &error) == SOBEL_STATUS_BAD_DEVICE_ID &&
               strstr (error.message, "0 (") != NULL,
           "%s", error.message);
  printf ("no GPU 99: %s\n", error.message);
}

/* ---- failures ------------------------------------------------------------------------------------- */

/* Opens, configures, runs two frames, ends; every step may fail. Returns whether all worked. */
static bool
whole_life (const SobelConfig *config, SobelStatus *status, SobelError *error)
{
  const SobelCudaOptions options = {.device_id = -1, .strips = 2};
  SobelParams params = SOBEL_PARAMS_DEFAULT;
  SobelDevice *device = NULL;
  unsigned i, reaped = 0;
  bool ok;
  Rig rig;

  memset (&rig, 0, sizeof rig);
  error->message[0] = '\0';
  *status = sobel_cuda_device_new (&options, &device, error);
  if (*status != SOBEL_STATUS_OK)
    return false;
  ok = rig_init (&rig, device, config, 2, error);
  *status = ok ? SOBEL_STATUS_OK : error->status;
  for (i = 0; i < 4 && ok; i++) {
    SobelJob job;

    params.kernel = i % 2 ? SOBEL_KERNEL_SHARED : SOBEL_KERNEL_AUTO;
    job = rig_job (&rig, i % 2, &params);
    *status = device->ops->submit (device, i % 2, &job, error);
    if (*status == SOBEL_STATUS_OK)
      *status = device->ops->wait (device, i % 2, WAIT_NS, error);
    ok = *status == SOBEL_STATUS_OK;
  }
  sobel_device_destroy (&rig.device);
  while (sobel_device_reap () > 0 && reaped++ < 1000000)
    ;
  if (rig.block)
    rig.block->free (rig.block);
  return ok;
}

static void
test_every_call_failing (void)
{
  static const int codes[] = {cudaErrorMemoryAllocation, cudaErrorLaunchFailure, cudaErrorUnknown};
  const SobelConfig config = rig_config ("I420", false, 640, 360, false);
  const uint64_t pinned = sobel_pinned_bytes ();
  size_t free_before = 0, free_after = 0, total;
  CUcontext context = NULL, popped;
  unsigned i, call, sticky, n = 0;
  SobelStatus status;
  SobelError error;

  driver.primary_retain (&context, 0);
  T_CHECK (whole_life (&config, &status, &error), "%s", error.message);
  driver.push (context);
  cudaMemGetInfo (&free_before, &total);
  driver.pop (&popped);
  for (i = 0; i < 3; i++) {
    for (sticky = 0; sticky < 2; sticky++) {
      bool ok = false;

      for (call = 1; !ok && call < 1000; call++, n++) {
        sobel_cuda_fault_set (call, codes[i], sticky);
        ok = whole_life (&config, &status, &error);
        /* A frame that finds no room for the ladder's passes still comes, by the other kernel. */
        if (ok && sobel_cuda_fault_count () >= call)
          ok = false;
        else if (!ok)
          T_CHECK (error.message[0] != '\0' && status != SOBEL_STATUS_INVALID && status != SOBEL_STATUS_TIMEOUT,
                   "call %u failed with status %s and '%s'", call, sobel_status_name (status), error.message);
        T_CHECK (sobel_pinned_bytes () == pinned, "call %u: pinned memory is left", call);
        T_CHECK (current_context () == NULL, "call %u: a context is left", call);
      }
      T_CHECK (ok, "code %d never ends", codes[i]);
    }
  }
  sobel_cuda_fault_set (0, 0, false);
  driver.push (context);
  cudaMemGetInfo (&free_after, &total);
  driver.pop (&popped);
  T_CHECK (free_after == free_before, "%zd bytes of GPU memory are gone", (ssize_t) (free_before - free_after));
  driver.primary_release (0);
  printf ("%u lives with a failing call\n", n);
}

static void
test_limits (void)
{
  const SobelCudaOptions options = {.device_id = -1};
  SobelConfig config = rig_config ("RGBA", false, 32767, 32767, true);
  SobelDevice *device = open_device (&options);
  SobelHostBlock *block = NULL;
  SobelError error;
  SobelStatus status;

  config.width = config.height = 250000;
  status = device->ops->configure (device, &config, 16, &error);
  T_CHECK (status == SOBEL_STATUS_NO_MEMORY, "%s", error.message);
  printf ("too large: %s\n", error.message);
  sobel_pinned_set_cap (1 << 20);
  T_CHECK (device->ops->host_alloc (device, 2 << 20, &block, &error) == SOBEL_STATUS_NO_MEMORY, "%s", error.message);
  sobel_pinned_set_cap (0);
  config.width = config.height = 64;
  T_CHECK (device->ops->configure (device, &config, 16, &error) == SOBEL_STATUS_OK, "%s", error.message);
  sobel_device_destroy (&device);
}

/* No memory can be pinned any more, by the cap or the driver, while frames go through: they do not notice. */
static void
test_pinned_runs_out (void)
{
  const SobelCudaOptions options = {.device_id = -1};
  const SobelConfig config = rig_config ("I420", false, 320, 240, false);
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  TRandom random = t_random (4, 1);
  SobelHostBlock *block = NULL;
  uint64_t pinned;
  SobelError error;
  unsigned n;
  Rig rig;

  if (!T_CHECK (rig_init (&rig, open_device (&options), &config, 2, &error), "%s", error.message))
    return;
  pinned = sobel_pinned_bytes ();
  for (n = 0; n < 6; n++) {
    const unsigned slot = n % 2;
    const SobelJob job = rig_job (&rig, slot, &params);

    t_random_fill (&random, rig_in (&rig, slot), rig.in_size);
    T_CHECK (rig.device->ops->submit (rig.device, slot, &job, &error) == SOBEL_STATUS_OK, "%s", error.message);
    sobel_pinned_set_cap (n < 3 ? 1 : 0);
    sobel_cuda_fault_set (n < 3 ? 0 : 2, cudaErrorMemoryAllocation, false); /* cudaHostRegister */
    T_CHECK (rig.device->ops->host_alloc (rig.device, 4096, &block, &error) == SOBEL_STATUS_NO_MEMORY && !block,
             "memory in spite of it");
    T_CHECK (strstr (error.message, "4096") != NULL, "%s", error.message);
    sobel_cuda_fault_set (0, 0, false);
    T_CHECK (rig.device->ops->wait (rig.device, slot, WAIT_NS, &error) == SOBEL_STATUS_OK, "%s", error.message);
    check_output (&rig, &job, rig_out (&rig, slot), "frame in a shortage");
  }
  T_CHECK (sobel_pinned_bytes () == pinned, "%llu bytes instead of %llu", (unsigned long long) sobel_pinned_bytes (),
           (unsigned long long) pinned);
  rig_clear (&rig);
}

/* Pictures of more than 2^31 bytes. */
static void
test_huge (void)
{
  const SobelCudaOptions options = {.device_id = -1};
  const SobelConfig config = rig_config ("GRAY8", false, 50000, 43000, true);
  SobelParams params = SOBEL_PARAMS_DEFAULT;
  unsigned kernel;
  SobelError error;
  SobelJob job;
  Rig rig;

  sobel_pinned_set_cap (UINT64_C (1) << 40);
  if (T_CHECK (rig_init (&rig, open_device (&options), &config, 1, &error), "%s", error.message)) {
    memset (rig.memory, 0, rig.in_size);
    memset (rig.memory + (size_t) 50000 * 42950 + 100, 255, 4000);
    memset (rig.memory + (size_t) 50000 * 43000 - 300, 200, 300);
    for (kernel = SOBEL_KERNEL_AUTO; kernel <= SOBEL_KERNEL_SHARED; kernel += 3) {
      params.kernel = (SobelKernel) kernel;
      job = rig_job (&rig, 0, &params);
      if (run_frame (&rig, 0, &job))
        check_output (&rig, &job, rig_out (&rig, 0), "huge picture");
    }
  }
  rig_clear (&rig);
  sobel_pinned_set_cap (0);
}

int
main (int argc, char **argv)
{
  const SobelCudaOptions options = {.device_id = -1};
  const bool small = argc > 1 && strcmp (argv[1], "--small") == 0;
  SobelDevice *device = NULL;
  SobelError error;

  if (sobel_cuda_device_new (&options, &device, &error) != SOBEL_STATUS_OK) {
    printf ("skipped: %s\n", error.message);
    return T_SKIP;
  }
  sobel_device_destroy (&device);
  if (!T_CHECK (rig_driver_load (&driver), "no driver entry points"))
    return t_result ();
  test_context_is_left_alone ();
  test_order_of_going ();
  test_full_ring ();
  test_device_images ();
  if (!small) {
    test_every_call_failing ();
    test_roots ();
    test_strips ();
    test_limits ();
    test_pinned_runs_out ();
    test_huge ();
  }
  return t_result ();
}

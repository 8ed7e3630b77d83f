/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the GPU does, one JSON row a measurement on stdout. Knows no GStreamer.
 *
 *   bench_gpu [--quick] [--samples N] [--size WxH] kernels | trials | bus | frames | timeline | profile
 *
 * Exit status 1: a result was wrong, or something did not run; 77: there is no GPU. */
#include "benchgpu.h"

#include "../gpu/cudarig.h"
#include "gputime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct
{
  const char *name;
  bool (*run) (const BenchOptions *options);
} parts[] = {{"kernels", bench_kernel_rows},
             {"trials", bench_trial_rows},
             {"bus", bench_bus_rows},
             {"frames", bench_frame_rows},
             {"timeline", bench_timeline_rows},
             {"profile", bench_profile}};

enum { N_PARTS = sizeof parts / sizeof parts[0] };

static bool
parse (int argc, char **argv, BenchOptions *options, bool *wanted)
{
  bool any = false;
  unsigned i;
  int k;

  for (k = 1; k < argc; k++) {
    if (strcmp (argv[k], "--quick") == 0) {
      options->quick = true;
      gpu_time_set_samples (9);
    } else if (strcmp (argv[k], "--samples") == 0 && k + 1 < argc) {
      gpu_time_set_samples ((unsigned) atoi (argv[++k]));
    } else if (strcmp (argv[k], "--size") == 0 && k + 1 < argc) {
      options->profile = argv[++k];
    } else {
      for (i = 0; i < N_PARTS && strcmp (argv[k], parts[i].name) != 0; i++)
        ;
      if (i == N_PARTS)
        return false;
      wanted[i] = any = true;
    }
  }
  return any;
}

int
main (int argc, char **argv)
{
  const SobelCudaOptions cuda_options = {.device_id = -1};
  BenchOptions options = {.quick = false};
  bool wanted[N_PARTS] = {false}, ok = true;
  SobelDevice *device = NULL;
  SobelDeviceInfo info;
  SobelError error;
  RigDriver driver;
  CUcontext context;
  unsigned i;

  if (!parse (argc, argv, &options, wanted)) {
    fprintf (stderr, "usage: bench_gpu [--quick] [--samples N] [--size WxH] "
                     "kernels|trials|bus|frames|timeline|profile ...\n");
    return 2;
  }
  if (sobel_cuda_device_new (&cuda_options, &device, &error) != SOBEL_STATUS_OK) {
    fprintf (stderr, "%s\n", error.message);
    return T_SKIP;
  }
  device->ops->info (device, &info);
  context = info.context;
  if (!rig_driver_load (&driver) || driver.push (context) != CUDA_SUCCESS || gpu_time_init () != cudaSuccess) {
    fprintf (stderr, "%s: no context, or no memory\n", info.name);
    sobel_device_destroy (&device);
    return 1;
  }
  fprintf (stderr, "%s\n", info.name);
  for (i = 0; i < N_PARTS; i++)
    if (wanted[i])
      ok &= parts[i].run (&options);
  gpu_time_clear ();
  driver.pop (&context);
  sobel_device_destroy (&device);
  return ok ? 0 : 1;
}

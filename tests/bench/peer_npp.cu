/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NPP's gradient vector, L2 magnitude: one sample a line, us a call. usage: peer_npp WIDTH HEIGHT SAMPLES */
#include <cuda_runtime.h>
#include <nppi_filtering_functions.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { CALLS = 20 };

int
main (int argc, char **argv)
{
  const int width = argc == 4 ? atoi (argv[1]) : 0, height = argc == 4 ? atoi (argv[2]) : 0;
  const int samples = argc == 4 ? atoi (argv[3]) : 0;
  const NppiSize size = {width, height};
  const NppiPoint offset = {0, 0};
  NppStreamContext context;
  cudaDeviceProp properties;
  Npp8u *in;
  Npp16u *out;
  size_t in_pitch, out_pitch;
  cudaEvent_t start, end;

  if (width < 1 || height < 1 || cudaGetDeviceProperties (&properties, 0) != cudaSuccess ||
      cudaMallocPitch (&in, &in_pitch, width, height) != cudaSuccess ||
      cudaMallocPitch (&out, &out_pitch, (size_t) width * 2, height) != cudaSuccess) {
    fprintf (stderr, "no GPU or no memory\n");
    return 1;
  }
  memset (&context, 0, sizeof context);
  context.hStream = 0;
  context.nCudaDeviceId = 0;
  context.nMultiProcessorCount = properties.multiProcessorCount;
  context.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
  context.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
  context.nSharedMemPerBlock = properties.sharedMemPerBlock;
  context.nCudaDevAttrComputeCapabilityMajor = properties.major;
  context.nCudaDevAttrComputeCapabilityMinor = properties.minor;
  std::vector<unsigned char> noise ((size_t) width * height);
  for (size_t i = 0; i < noise.size (); i++)
    noise[i] = (unsigned char) (i * 2654435761u >> 13);
  cudaMemcpy2D (in, in_pitch, noise.data (), width, width, height, cudaMemcpyHostToDevice);
  cudaEventCreate (&start);
  cudaEventCreate (&end);
  for (int i = -1; i < samples; i++) {
    float ms;

    cudaEventRecord (start);
    for (int call = 0; call < CALLS; call++) {
      const NppStatus status = nppiGradientVectorSobelBorder_8u16s_C1R_Ctx (
          in, (int) in_pitch, size, offset, NULL, 0, NULL, 0, (Npp16s *) out, (int) out_pitch, NULL, 0, size,
          NPP_MASK_SIZE_3_X_3, nppiNormL2, NPP_BORDER_REPLICATE, context);
      if (status != NPP_SUCCESS) {
        fprintf (stderr, "NPP says %d\n", (int) status);
        return 1;
      }
    }
    cudaEventRecord (end);
    cudaEventSynchronize (end);
    cudaEventElapsedTime (&ms, start, end);
    if (i >= 0)
      printf ("%f\n", ms * 1000 / CALLS);
  }
  return 0;
}

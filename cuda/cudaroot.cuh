/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_ROOT_CUH
#define SOBEL_CUDA_ROOT_CUH

/* Within 2^-23 of the root, relatively; of a subnormal number 0. */
static __device__ __forceinline__ float
sobel_approximate_root (float n)
{
  float root;

  asm ("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(n));
  return root;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_BENCH_TRIALS_H
#define SOBEL_BENCH_TRIALS_H

/* Kernels of the benchmark's own, as a textbook has them, to measure one decision at a time: Sobel edges of 8-bit
 * pictures in tight rows, border replicated. */

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TrialRoot
{
  TRIAL_ROOT_ROUNDED, /* sqrtf, correctly rounded */
  TRIAL_ROOT_APPROXIMATE, /* the GPU's own instruction, of n + 1/2 */
  TRIAL_ROOT_RECIPROCAL, /* n times rsqrtf (n) */
  TRIAL_ROOT_RECIPROCAL_HALF, /* the same of n + 1/2 */
  TRIAL_ROOT_DOUBLE, /* sqrt in double precision */
  TRIAL_N_ROOTS,
} TrialRoot;

typedef struct TrialPicture
{
  const uint8_t *in; /* gray, or RGB where the function says so */
  uint8_t *out, *between;
  int32_t width, height;
} TrialPicture;

/* Gray to gray. `unroll`: of the loop over the nine weights: 1, 3 or 9. */
cudaError_t trial_unroll (const TrialPicture *p, int unroll, dim3 block, cudaStream_t stream);
cudaError_t trial_root (const TrialPicture *p, TrialRoot root, cudaStream_t stream);

/* RGB to RGB: a gray pass to `between` and a Sobel pass; or one pass in which every thread makes the luma of its nine
 * samples; or one in which a block makes the luma of its tile once. */
cudaError_t trial_two_passes (const TrialPicture *p, cudaStream_t stream);
cudaError_t trial_one_pass (const TrialPicture *p, cudaStream_t stream);
cudaError_t trial_one_pass_tile (const TrialPicture *p, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif

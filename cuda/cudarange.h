/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_RANGE_H
#define SOBEL_CUDA_RANGE_H

/* Named ranges on the timelines of NVIDIA's profilers; next to nothing where none is attached. */

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#define SOBEL_CUDA_RANGE_BEGIN(name) nvtxRangePushA (name)
#define SOBEL_CUDA_RANGE_END() nvtxRangePop ()
#else
#define SOBEL_CUDA_RANGE_BEGIN(name) ((void) 0)
#define SOBEL_CUDA_RANGE_END() ((void) 0)
#endif

#endif

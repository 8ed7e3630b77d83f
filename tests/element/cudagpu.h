/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ELEMENT_CUDA_GPU_H
#define SOBEL_ELEMENT_CUDA_GPU_H

/* A "GPU" of the tests for the fake driver (fakedriver.h): it computes on the CPU, but takes images in the fake
 * driver's device memory, and sees that they belong to its context. And CUDA buffers to feed the element with.
 *
 * With SOBEL_TEST_GPU=real in the environment it is the real one, watched; the driver's counters are then all 0. */

#include "fakedriver.h"
#include "rig.h"

#include "gstsobelcudalib.h"

G_BEGIN_DECLS

typedef struct
{
  guint made, alive;       /* devices */
  SobelCudaOptions options; /* of the last one */
  guint frames, device_in, device_out, queued;
  gpointer in_stream, out_stream; /* of the last frame */
  gboolean neutral_ready;         /* of any frame with output in device memory */
  guint lose_at;                  /* the n-th submit from now on fails, and so do all after it; 0: none */
  gboolean refuse;                /* no new device */
} CudaGpu;

/* Whether there is all it takes: the library, and the driver of the tests. */
gboolean cuda_gpu_available (void);

/* GPUs there are. */
guint cuda_gpu_count (void);

/* From the next start of an element on; counters at 0. */
CudaGpu *cuda_gpu_use (void);
/* Nothing of the element lives on in the driver, and the driver's rules were kept. */
void cuda_gpu_check (void);

/* ---- buffers ---- */

/* Complains if there are not `n` CUDA contexts in the process; the real driver does not tell. */
void cuda_expect_contexts (guint n);

/* (transfer full) */
GstObject *cuda_context_new (guint device);
/* The same, on GPU 0, but one for all where making one takes long. (transfer full) */
GstObject *cuda_context_shared (void);
/* What the neighbour of `pad` answers to a CONTEXT query; NULL if there is none. (transfer full) */
GstObject *cuda_context_answered (GstPad *pad);
/* Hands it to an element as an application does. */
void cuda_share (GstElement *element, GstObject *context);
/* Of pictures of `caps`; active. `stream` may be NULL. (transfer full) */
GstBufferPool *cuda_pool_new (GstObject *context, const char *caps, guint min, guint max, GstMiniObject *stream);
/* Deactivates it, too. */
void cuda_pool_close (GstBufferPool *pool);
/* Picture number `n` of rig_picture_of(), in memory of `pool`. (transfer full) */
GstBuffer *cuda_picture (GstBufferPool *pool, const GstVideoInfo *info, guint n);
/* `n` of them, the first being number `first`; complains about any that is refused. */
void cuda_push (Rig *rig, GstBufferPool *pool, guint first, guint n);
/* Brings what the host wrote into the buffer's GPU memory, and waits until it is there. */
void cuda_upload (GstBuffer *buffer);
gboolean cuda_buffer_is_in (GstBuffer *buffer, GstObject *context);

G_END_DECLS
#endif

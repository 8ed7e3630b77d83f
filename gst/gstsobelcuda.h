/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_CUDA_H
#define GST_SOBEL_CUDA_H

#include "gstsobelbackend.h"
#include "gstsobelcudalib.h"

#include "core/sobeldevice.h"

G_BEGIN_DECLS

/* The element's side of memory:CUDAMemory: the pipeline's CUDA context, pools of GPU memory, streams. */

typedef struct _GstCudaSobel GstCudaSobel;

typedef enum
{
  GST_SOBEL_CUDA_UNKNOWN, /* in NULL: whatever the template says */
  GST_SOBEL_CUDA_USABLE,
  GST_SOBEL_CUDA_UNUSABLE,
} GstSobelCudaState;

typedef struct
{
  gint state;         /* atomic GstSobelCudaState */
  GstObject *context; /* under the object lock; found, adopted or made around the device's own. NULL: none yet */
  SobelCudaOptions options; /* as set at the start; `context` and the GPU's number are found anew each time */

  /* Of the streaming thread; the output task sees them change only while the ring is drained. */
  gboolean in, out;           /* the negotiated caps are memory:CUDAMemory */
  gpointer handle;            /* CUcontext of the GPU in use; NULL: GPU memory is mapped through system memory */
  GstMiniObject *stream;      /* for the memory of own pools; NULL before 1.24 */
  GstMiniObject *pool_stream; /* of the pool that output comes from; NULL if it has none */
} GstSobelCuda;

/* ---- life; see GstSobelCuda ---- */

/* NULL to READY, and back. */
void gst_sobel_cuda_probe (GstCudaSobel *self);
void gst_sobel_cuda_forget (GstCudaSobel *self);
/* Whether memory:CUDAMemory may be negotiated now. */
gboolean gst_sobel_cuda_is_allowed (GstCudaSobel *self);

/* Before the device is opened: looks for the pipeline's context, and points `options` at it. */
void gst_sobel_cuda_start (GstCudaSobel *self, SobelCudaOptions *options);
/* `device` is what frames go to from now on: if it is a GPU, its context becomes the element's, and is announced if the
 * pipeline had none. */
void gst_sobel_cuda_attach (GstCudaSobel *self, SobelDevice *device);
/* There is a context, if there can be one: for GPU memory with the CPU backend. */
gboolean gst_sobel_cuda_ensure_context (GstCudaSobel *self);
void gst_sobel_cuda_stop (GstCudaSobel *self);

/* ---- GstContext ---- */

void gst_sobel_cuda_set_context (GstCudaSobel *self, GstContext *context);
/* Answers a CONTEXT query; FALSE if that is for others. */
gboolean gst_sobel_cuda_answer_context (GstCudaSobel *self, GstQuery *query);
/* (transfer full), may be NULL */
GstObject *gst_sobel_cuda_get_context (GstCudaSobel *self);

/* ---- streaming thread ---- */

/* Follows `buffer` into another context where it must and may: drains, and makes the device anew. Anything but OK: an
 * error message was posted, or the element is flushing. */
GstFlowReturn gst_sobel_cuda_follow (GstCudaSobel *self, GstBuffer *buffer);

/* The GPU in use can read and write the buffer's memory where it is. */
gboolean gst_sobel_cuda_is_ours (GstCudaSobel *self, GstBuffer *buffer);

/* Mapping the buffer for the GPU starts an upload of what the host wrote. */
gboolean gst_sobel_cuda_needs_upload (GstBuffer *buffer);

/* Sets the streams of a job between `in` and `out`, the buffers of its images, and whether it may be passed on while
 * queued. `uploads`: mapping `in` started an upload. */
void gst_sobel_cuda_order (SobelJob *job, GstBuffer *in, GstBuffer *out, gboolean uploads);

/* ---- pools ---- */

/* Answers an ALLOCATION query for `caps` of memory:CUDAMemory. `min` buffers are held by the element. */
void gst_sobel_cuda_propose_pool (GstCudaSobel *self, GstQuery *query, GstCaps *caps, guint min);

/* The pool for output of memory:CUDAMemory: downstream's where that is of our context, else a new one; active.
 * *downstream tells which. NULL if there is none. `held` buffers are held by the element. (transfer full) */
GstBufferPool *gst_sobel_cuda_decide_pool (GstCudaSobel *self, GstQuery *query, guint held, gboolean *downstream);

G_END_DECLS
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pool and which stream of GPU memory the element proposes and takes, and when it gives a buffer back. */
#include "cudagpu.h"
#include "picture.h"

#include <stdio.h>

#define CUDA_CAPS "video/x-raw(memory:CUDAMemory),format=NV12,width=34,height=18,framerate=25/1"
#define SYSTEM_CAPS "video/x-raw,format=NV12,width=34,height=18,framerate=25/1"

/* The pool that the element proposes for `caps`, NULL if none. (transfer full) */
static GstBufferPool *
proposed (Rig *rig, const char *text, guint *min, guint *max, guint *size)
{
  GstCaps *caps = gst_caps_from_string (text);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;

  T_CHECK (gst_pad_peer_query (rig->src, query), "no answer");
  T_CHECK (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL), "no GstVideoMeta");
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, size, min, max);
  gst_query_unref (query);
  gst_caps_unref (caps);
  return pool;
}

static GstMiniObject *
stream_of_pool (GstBufferPool *pool)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstMiniObject *stream = gst_sobel_cuda_lib ()->pool_config_get_stream (config);

  gst_structure_free (config);
  if (stream)
    gst_mini_object_unref (stream);
  return stream;
}

/* The host writes pictures into GPU memory again and again; what is in flight must not change by that. */
static void
written_by_the_host (void)
{
  enum { ROUNDS = 40, N = 12 };
  CudaGpu *gpu = cuda_gpu_use ();
  GstBufferPool *pool;
  guint round, min, max, size;
  Rig *rig = rig_new ("backend=cuda ring-size=3");

  T_CHECK (rig_start (rig, CUDA_CAPS), "refused");
  pool = proposed (rig, CUDA_CAPS, &min, &max, &size);
  for (round = 0; pool && round < et_times (ROUNDS); round++) {
    et_context ("round %u", round);
    cuda_push (rig, pool, 0, N);
    rig_wait (rig, N);
    picture_check_recording (rig, 0, N);
    rig_forget (rig);
  }
  T_CHECK (gpu->queued == 0, "%u frames left early", gpu->queued);
  if (pool)
    cuda_pool_close (pool);
  rig_no_trouble (rig);
  rig_free (rig);
  cuda_gpu_check ();
}

/* As a decoder leaves them: nothing of the picture is in host memory any more. */
static void
push_uploaded (Rig *rig, GstBufferPool *pool, guint n)
{
  guint i;

  for (i = 0; i < n; i++) {
    GstBuffer *buffer = cuda_picture (pool, &rig->info, i);

    cuda_upload (buffer);
    T_CHECK (rig_push (rig, buffer) == GST_FLOW_OK, "frame %u", i);
  }
}

static void
what_is_proposed (void)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *context;
  GstBufferPool *pool;
  guint min = 0, max = 1, size = 0, i;
  Rig *rig = rig_new ("backend=cuda ring-size=3");

  T_CHECK (rig_start (rig, CUDA_CAPS), "refused");
  context = cuda_context_answered (rig->src);
  pool = proposed (rig, CUDA_CAPS, &min, &max, &size);
  if (T_CHECK (pool && G_TYPE_CHECK_INSTANCE_TYPE (pool, lib->pool_get_type ()), "no pool of GPU memory")) {
    T_CHECK (((GstSobelCudaPool *) pool)->context == context, "of another context");
    T_CHECK (min == 5 && max == 0, "%u to %u buffers", min, max);
    T_CHECK (size >= 34 * 18 * 3 / 2, "%u bytes", size);
    push_uploaded (rig, pool, 8);
    rig_wait (rig, 8);
    picture_check_recording (rig, 0, 8);
    if (lib->has_streams) {
      T_CHECK (stream_of_pool (pool) != NULL, "without a stream");
      T_CHECK (gpu->queued == 8, "%u frames left early", gpu->queued);
      T_CHECK (gpu->in_stream && gpu->in_stream == gpu->out_stream, "two streams");
    } else {
      T_CHECK (!gpu->queued && !gpu->in_stream && !gpu->out_stream, "streams");
    }
    cuda_pool_close (pool);
  }
  /* One that upstream may not hold back: all buffers that the ring can have, and more, at once. */
  for (i = 0; i < 2; i++) {
    pool = proposed (rig, i ? SYSTEM_CAPS : CUDA_CAPS, &min, &max, &size);
    T_CHECK (pool && max == 0, "%u buffers at most", max);
    gst_clear_object (&pool);
  }
  gst_clear_object (&context);
  rig_no_trouble (rig);
  rig_free (rig);
  cuda_gpu_check ();
}

typedef struct
{
  const char *name;
  guint device;       /* of the pool's context */
  gboolean ours;      /* the element's own context instead */
  guint min, max;
  gboolean is_taken;
} Offer;

static void
check_offer (const Offer *offer, gboolean stream)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *ours = cuda_context_new (0), *other = cuda_context_new (offer->device);
  GstObject *context = offer->ours ? ours : other;
  GstMiniObject *on = stream && lib->has_streams ? lib->stream_new (context) : NULL;
  GstBufferPool *pool;
  guint i;
  Rig *rig = rig_new ("backend=cuda");

  et_context ("%s", offer->name);
  cuda_share (rig->element, ours);
  rig->pool = cuda_pool_new (context, CUDA_CAPS, offer->min, offer->max, on);
  rig->pool_size = 34 * 18 * 3 / 2;
  rig->pool_min = offer->min;
  rig->pool_max = offer->max;
  rig->accepts = gst_caps_from_string ("video/x-raw(memory:CUDAMemory)");
  T_CHECK (rig_start (rig, SYSTEM_CAPS), "refused");
  rig_push_pictures (rig, 0, 3);
  rig_wait (rig, 3);
  for (i = 0; i < 3; i++) {
    T_CHECK ((rig_buffer (rig, i, NULL)->pool == rig->pool) == offer->is_taken, "the pool");
    T_CHECK (cuda_buffer_is_in (rig_buffer (rig, i, NULL), ours), "the context");
  }
  picture_check_recording (rig, 0, 3);
  if (on && offer->is_taken) {
    T_CHECK (gpu->out_stream == lib->stream_get_handle (on), "not on downstream's stream");
    pool = proposed (rig, CUDA_CAPS, &i, &i, &i);
    T_CHECK (pool && stream_of_pool (pool) == on, "upstream is not told downstream's stream");
    gst_clear_object (&pool);
  }
  rig_no_trouble (rig);
  rig_free (rig);
  if (on)
    gst_mini_object_unref (on);
  gst_object_unref (ours);
  gst_object_unref (other);
  cuda_gpu_check ();
}

static void
which_pool_is_taken (void)
{
  static const Offer offers[] = {
    { "our context", 0, TRUE, 0, 0, TRUE },
    { "our context, some at least", 0, TRUE, 3, 0, TRUE },
    { "our context, enough at most", 0, TRUE, 2, 16, TRUE },
    { "our context, too few", 0, TRUE, 2, 3, FALSE },
    { "another context", 0, FALSE, 0, 0, FALSE },
    { "another GPU", 1, FALSE, 0, 0, FALSE },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (offers); i++) {
    if (offers[i].device >= cuda_gpu_count ())
      continue;
    check_offer (&offers[i], FALSE);
    check_offer (&offers[i], TRUE);
  }
}
int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "written-by-the-host", written_by_the_host },
    { "what-is-proposed", what_is_proposed },
    { "which-pool-is-taken", which_pool_is_taken },
    { NULL, NULL },
  };

  if (!cuda_gpu_available ()) {
    fprintf (stderr, "no libgstcuda-1.0, or not the driver of the tests\n");
    return T_SKIP;
  }
  return et_main (argc, argv, ET_ALONE, tests);
}

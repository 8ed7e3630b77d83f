/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose CUDA context the element works with, and what becomes of frames when the GPU is lost. */
#include "cudagpu.h"
#include "picture.h"

#include <string.h>

#define CUDA_CAPS "video/x-raw(memory:CUDAMemory),format=NV12,width=34,height=18,framerate=25/1"
#define SYSTEM_CAPS "video/x-raw,format=NV12,width=34,height=18,framerate=25/1"

static guint
count_messages (Rig *rig, GstMessageType type)
{
  GstMessage *message;
  guint n = 0;

  while ((message = gst_bus_pop (rig->bus))) {
    n += GST_MESSAGE_TYPE (message) == type;
    gst_message_unref (message);
  }
  return n;
}

/* ---- contexts ------------------------------------------------------------------------------------- */

static void
the_applications_context (void)
{
  CudaGpu *gpu = cuda_gpu_use ();
  const guint device = cuda_gpu_count () > 1 ? 1 : 0;
  GstObject *context = cuda_context_new (device), *answer;
  Rig *rig = rig_new ("backend=cuda");

  cuda_share (rig->element, context);
  T_CHECK (rig_start (rig, SYSTEM_CAPS), "refused");
  T_CHECK (gpu->options.context == gst_sobel_cuda_lib ()->context_get_handle (context), "not used");
  T_CHECK (gpu->options.device_id == (gint) device, "GPU %d", gpu->options.device_id);
  answer = cuda_context_answered (rig->src);
  T_CHECK (answer == context, "upstream gets another context");
  gst_clear_object (&answer);
  answer = cuda_context_answered (rig->sink);
  T_CHECK (answer == context, "downstream gets another context");
  gst_clear_object (&answer);
  T_CHECK (count_messages (rig, GST_MESSAGE_NEED_CONTEXT) == 0, "asked for a context that it has");
  cuda_expect_contexts (1);
  rig_stop (rig);
  T_CHECK (GST_OBJECT_REFCOUNT_VALUE (context) == 1, "kept in NULL");
  rig_free (rig);
  gst_object_unref (context);
  cuda_gpu_check ();
}

/* With cuda-device-id=0 a context of GPU 1 is not for us. */
static void
a_context_of_another_gpu (void)
{
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *context, *answer;
  Rig *rig;

  if (cuda_gpu_count () < 2)
    return;
  context = cuda_context_new (1);
  rig = rig_new ("backend=cuda cuda-device-id=0");

  cuda_share (rig->element, context);
  T_CHECK (rig_start (rig, SYSTEM_CAPS), "refused");
  T_CHECK (gpu->options.device_id == 0 && !gpu->options.context, "GPU %d", gpu->options.device_id);
  answer = cuda_context_answered (rig->src);
  T_CHECK (answer && gst_sobel_cuda_context_device (answer) == 0, "no context of GPU 0");
  gst_clear_object (&answer);
  rig_free (rig);
  gst_object_unref (context);
  cuda_gpu_check ();
}

/* Nobody has one: the GPU's primary context, told to everybody. */
static void
no_context_at_all (void)
{
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *answer;
  GstMessage *message;
  guint i;
  Rig *rig = rig_new ("backend=cuda");

  for (i = 0; i < 2; i++) {
    T_CHECK (rig_start (rig, SYSTEM_CAPS), "refused");
    T_CHECK (!gpu->options.context, "a context from nowhere");
    cuda_expect_contexts (1);
    message = gst_bus_pop_filtered (rig->bus, GST_MESSAGE_NEED_CONTEXT);
    T_CHECK (message != NULL, "the application was not asked");
    g_clear_pointer (&message, gst_message_unref);
    message = gst_bus_pop_filtered (rig->bus, GST_MESSAGE_HAVE_CONTEXT);
    T_CHECK (message != NULL, "the application was not told");
    g_clear_pointer (&message, gst_message_unref);
    T_CHECK (!gst_bus_pop_filtered (rig->bus, GST_MESSAGE_HAVE_CONTEXT), "told twice");
    answer = cuda_context_answered (rig->src);
    T_CHECK (answer != NULL, "no answer");
    rig_stop (rig);
    /* Whoever holds the context can go on. */
    cuda_expect_contexts (1);
    gst_clear_object (&answer);
    cuda_expect_contexts (0);
  }
  answer = cuda_context_answered (rig->src);
  T_CHECK (!answer, "an answer in NULL");
  rig_free (rig);
  cuda_gpu_check ();
}

static GstFlowReturn
swallow (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  T_CHECK (gst_sobel_cuda_memory_of (buffer) != NULL, "not in GPU memory");
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* Neighbours share; frames between them stay where they are. */
static void
two_elements (void)
{
  CudaGpu *gpu = cuda_gpu_use ();
  GstElement *bin = gst_object_ref_sink (gst_bin_new (NULL));
  GstElement *a = gst_element_factory_make ("cudasobel", NULL), *b = gst_element_factory_make ("cudasobel", NULL);
  GstPad *in = gst_object_ref_sink (gst_pad_new ("in", GST_PAD_SRC));
  GstPad *out = gst_object_ref_sink (gst_pad_new ("out", GST_PAD_SINK));
  GstPad *a_sink = gst_element_get_static_pad (a, "sink"), *b_src = gst_element_get_static_pad (b, "src");
  GstCaps *caps = gst_caps_from_string (CUDA_CAPS);
  GstObject *first, *last;
  GstBufferPool *pool;
  GstSegment segment;
  GstVideoInfo info;
  guint i;

  gst_video_info_from_caps (&info, caps);
  gst_bin_add_many (GST_BIN (bin), a, b, NULL);
  gst_element_link (a, b);
  T_CHECK (gst_pad_link_full (in, a_sink, GST_PAD_LINK_CHECK_NOTHING) == GST_PAD_LINK_OK, "not linked");
  T_CHECK (gst_pad_link_full (b_src, out, GST_PAD_LINK_CHECK_NOTHING) == GST_PAD_LINK_OK, "not linked");
  gst_pad_set_chain_function (out, swallow);
  gst_pad_set_active (out, TRUE);
  gst_pad_set_active (in, TRUE);
  gst_element_set_state (bin, GST_STATE_PLAYING);
  cuda_expect_contexts (1);
  first = cuda_context_answered (in);
  last = cuda_context_answered (out);
  T_CHECK (first && first == last, "they do not share a context");
  gst_pad_push_event (in, gst_event_new_stream_start ("test"));
  gst_pad_push_event (in, gst_event_new_caps (caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (in, gst_event_new_segment (&segment));
  pool = cuda_pool_new (first, CUDA_CAPS, 0, 0, NULL);
  for (i = 0; i < 5; i++) {
    GstBuffer *buffer = cuda_picture (pool, &info, i);

    fake_driver ()->copies_down = 0; /* of the making of the buffer */
    T_CHECK (gst_pad_push (in, buffer) == GST_FLOW_OK, "frame %u", i);
    T_CHECK (fake_driver ()->copies_down == 0, "frame %u was copied to system memory", i);
  }
  gst_pad_push_event (in, gst_event_new_eos ());
  T_CHECK (gpu->frames == 10 && gpu->device_in == 10 && gpu->device_out == 10, "%u frames, %u from and %u to the GPU",
           gpu->frames, gpu->device_in, gpu->device_out);
  T_CHECK (fake_driver ()->copies_across == 0, "frames were copied");
  gst_pad_set_active (in, FALSE);
  gst_element_set_state (bin, GST_STATE_NULL);
  gst_pad_set_active (out, FALSE);
  cuda_pool_close (pool);
  gst_object_unref (first);
  gst_object_unref (last);
  gst_object_unref (a_sink);
  gst_object_unref (b_src);
  gst_object_unref (bin);
  gst_object_unref (in);
  gst_object_unref (out);
  gst_caps_unref (caps);
  cuda_gpu_check ();
}

/* ---- frames of another context -------------------------------------------------------------------- */

/* Frames of the element's own context, then of `context`; all of them are right. */
static void
follow (const char *properties, guint device, gboolean own_first)
{
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *context = cuda_context_new (device), *own;
  GstBufferPool *pool, *own_pool = NULL;
  GstBuffer *last;
  Rig *rig = rig_new (properties);
  const guint first = own_first ? 3 : 0;

  T_CHECK (rig_start (rig, CUDA_CAPS), "refused");
  own = cuda_context_answered (rig->src);
  if (own_first) {
    own_pool = cuda_pool_new (own, CUDA_CAPS, 0, 0, NULL);
    cuda_push (rig, own_pool, 0, 3);
  }
  pool = cuda_pool_new (context, CUDA_CAPS, 0, 0, NULL);
  cuda_push (rig, pool, first, 3);
  rig_eos (rig);
  T_CHECK (gpu->made == 2 && gpu->alive == 1, "%u devices made, %u alive", gpu->made, gpu->alive);
  T_CHECK (gpu->options.context == gst_sobel_cuda_lib ()->context_get_handle (context), "did not follow");
  T_CHECK (gpu->options.device_id == (gint) device, "GPU %d", gpu->options.device_id);
  T_CHECK (gpu->device_in == first + 3 && gpu->device_out == first + 3, "not all where they are");
  rig_wait (rig, first + 3);
  last = rig_buffer (rig, first + 2, NULL);
  T_CHECK (cuda_buffer_is_in (last, context), "the result is in the old context");
  if (own_first)
    T_CHECK (cuda_buffer_is_in (rig_buffer (rig, 0, NULL), own), "the first result is in the new context");
  picture_check_recording (rig, 0, first + 3);
  rig_no_trouble (rig);
  rig_free (rig);
  cuda_pool_close (pool);
  if (own_pool)
    cuda_pool_close (own_pool);
  gst_clear_object (&own);
  gst_object_unref (context);
  cuda_gpu_check ();
}

static void
frames_of_another_context (void)
{
  follow ("backend=cuda", 0, FALSE);
  follow ("backend=cuda", 0, TRUE);
  if (cuda_gpu_count () > 1)
    follow ("backend=auto", 1, TRUE);
  follow ("backend=cuda cuda-device-id=0", 0, TRUE);
}

static void
frames_of_a_wrong_gpu (void)
{
  GstObject *context;
  GstBufferPool *pool;
  gchar *text = NULL;
  Rig *rig;

  cuda_gpu_use ();
  if (cuda_gpu_count () < 2)
    return;
  context = cuda_context_new (1);
  rig = rig_new ("backend=auto cuda-device-id=0");
  T_CHECK (rig_start (rig, CUDA_CAPS), "refused");
  pool = cuda_pool_new (context, CUDA_CAPS, 0, 0, NULL);
  T_CHECK (rig_push (rig, cuda_picture (pool, &rig->info, 0)) == GST_FLOW_ERROR, "taken");
  T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) == 1, "no error");
  T_CHECK (text && strstr (text, "GPU 1"), "%s", text);
  g_free (text);
  rig_free (rig);
  cuda_pool_close (pool);
  gst_object_unref (context);
  cuda_gpu_check ();
}

/* The other context cannot be worked in: the CPU, or an error. */
static void
a_context_that_is_of_no_use (void)
{
  guint i;

  for (i = 0; i < 2; i++) {
    CudaGpu *gpu = cuda_gpu_use ();
    GstObject *context = cuda_context_new (0);
    GstBufferPool *pool;
    Rig *rig = rig_new (i ? "backend=cuda" : "backend=auto");
    GstFlowReturn flow;

    T_CHECK (rig_start (rig, CUDA_CAPS), "refused");
    gpu->refuse = TRUE;
    pool = cuda_pool_new (context, CUDA_CAPS, 0, 0, NULL);
    flow = rig_push (rig, cuda_picture (pool, &rig->info, 0));
    T_CHECK (flow == (i ? GST_FLOW_ERROR : GST_FLOW_OK), "%s", gst_flow_get_name (flow));
    T_CHECK (rig_messages (rig, i ? GST_MESSAGE_ERROR : GST_MESSAGE_WARNING, NULL) == 1, "not told");
    if (!i) {
      cuda_push (rig, pool, 1, 2);
      rig_wait (rig, 3);
      picture_check_recording (rig, 0, 3);
    }
    rig_free (rig);
    cuda_pool_close (pool);
    gst_object_unref (context);
    cuda_gpu_check ();
  }
}

/* ---- losing the GPU ------------------------------------------------------------------------------- */

/* Frames whose pixels are in host memory are computed again, and still leave in GPU memory. */
static void
lost_with_host_input (void)
{
  CudaGpu *gpu = cuda_gpu_use ();
  guint i;
  Rig *rig = rig_new ("backend=auto");

  rig->accepts = gst_caps_from_string ("video/x-raw(memory:CUDAMemory)");
  T_CHECK (rig_start (rig, SYSTEM_CAPS), "refused");
  gpu->lose_at = 3;
  rig_push_pictures (rig, 0, 8);
  if (rig_wait (rig, 8)) {
    for (i = 0; i < 8; i++)
      T_CHECK (gst_sobel_cuda_memory_of (rig_buffer (rig, i, NULL)) != NULL, "frame %u left GPU memory", i);
    picture_check_recording (rig, 0, 8);
  }
  T_CHECK (rig_messages (rig, GST_MESSAGE_WARNING, NULL) == 1, "not one warning");
  T_CHECK (rig_stat (rig, "frames-recomputed") >= 1, "nothing was computed again");
  rig_free (rig);
  cuda_gpu_check ();
}

/* Frames that existed in GPU memory alone end in an error. `dead`: the driver answers nothing any more. */
static void
lost_with_gpu_input (gboolean dead)
{
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *context;
  GstBufferPool *pool;
  GstFlowReturn flow = GST_FLOW_OK;
  guint i;
  Rig *rig = rig_new ("backend=auto");

  T_CHECK (rig_start (rig, CUDA_CAPS), "refused");
  context = cuda_context_answered (rig->src);
  pool = cuda_pool_new (context, CUDA_CAPS, 0, 0, NULL);
  cuda_push (rig, pool, 0, 2);
  rig_wait (rig, 2);
  gpu->lose_at = 1;
  for (i = 2; i < 40 && flow == GST_FLOW_OK; i++) {
    GstBuffer *buffer = cuda_picture (pool, &rig->info, i);

    fake_driver ()->fails = dead;
    flow = rig_push (rig, buffer);
    fake_driver ()->fails = false;
    g_usleep (1000);
  }
  T_CHECK (flow == GST_FLOW_ERROR, "goes on: %s", gst_flow_get_name (flow));
  T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, NULL) == 1, "not one error");
  T_CHECK (rig_stat (rig, "frames-dropped") >= 1, "nothing is counted");
  picture_check_recording (rig, 0, 2);
  rig_free (rig);
  cuda_pool_close (pool);
  gst_object_unref (context);
  cuda_gpu_check ();
}

static void
lost_with_frames_on_the_gpu (void)
{
  lost_with_gpu_input (FALSE);
  if (!et_gpu_is_real ())
    lost_with_gpu_input (TRUE);
}

/* ---- running -------------------------------------------------------------------------------------- */

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "the-applications-context", the_applications_context },
    { "a-context-of-another-gpu", a_context_of_another_gpu },
    { "no-context-at-all", no_context_at_all },
    { "two-elements", two_elements },
    { "frames-of-another-context", frames_of_another_context },
    { "frames-of-a-wrong-gpu", frames_of_a_wrong_gpu },
    { "a-context-that-is-of-no-use", a_context_that_is_of_no_use },
    { "lost-with-host-input", lost_with_host_input },
    { "lost-with-frames-on-the-gpu", lost_with_frames_on_the_gpu },
    { NULL, NULL },
  };

  if (!cuda_gpu_available ()) {
    fprintf (stderr, "no libgstcuda-1.0, or not the driver of the tests\n");
    return T_SKIP;
  }
  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The CUDA context that the element shares with its neighbours, and the streams of the memory it is given. */

#include "gstcudasobel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* ---- whether it can be used ----------------------------------------------------------------------- */

void
gst_sobel_cuda_probe (GstCudaSobel *self)
{
  GstSobelBackend backend;
  gboolean usable;

  GST_OBJECT_LOCK (self);
  backend = self->options.backend;
  GST_OBJECT_UNLOCK (self);
  /* For the CPU alone CUDA is not started before there are caps that need it. */
  usable = gst_sobel_cuda_usable (backend != GST_SOBEL_BACKEND_CPU);
  g_atomic_int_set (&self->cuda.state, usable ? GST_SOBEL_CUDA_USABLE : GST_SOBEL_CUDA_UNUSABLE);
}

void
gst_sobel_cuda_forget (GstCudaSobel *self)
{
  g_atomic_int_set (&self->cuda.state, GST_SOBEL_CUDA_UNKNOWN);
}

gboolean
gst_sobel_cuda_is_allowed (GstCudaSobel *self)
{
  return g_atomic_int_get (&self->cuda.state) != GST_SOBEL_CUDA_UNUSABLE && gst_sobel_cuda_lib ();
}

/* ---- the pipeline's context ----------------------------------------------------------------------- */

GstObject *
gst_sobel_cuda_get_context (GstCudaSobel *self)
{
  GstObject *context;

  GST_OBJECT_LOCK (self);
  context = self->cuda.context ? gst_object_ref (self->cuda.context) : NULL;
  GST_OBJECT_UNLOCK (self);
  return context;
}

/* Takes `context`. */
static void
replace_context (GstCudaSobel *self, GstObject *context)
{
  GstObject *old;

  GST_OBJECT_LOCK (self);
  old = self->cuda.context;
  self->cuda.context = context;
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&old);
}

static gboolean
has_context (GstCudaSobel *self)
{
  gboolean has;

  GST_OBJECT_LOCK (self);
  has = self->cuda.context != NULL;
  GST_OBJECT_UNLOCK (self);
  return has;
}

void
gst_sobel_cuda_set_context (GstCudaSobel *self, GstContext *context)
{
  const GstSobelCudaLib *lib = NULL;
  GstObject *found = NULL;
  gint device_id;

  if (context && gst_context_has_context_type (context, GST_SOBEL_CUDA_CONTEXT_TYPE))
    lib = gst_sobel_cuda_lib ();
  if (!lib)
    return;
  GST_OBJECT_LOCK (self);
  device_id = self->options.cuda.device_id;
  GST_OBJECT_UNLOCK (self);
  /* Refuses a context of another GPU than asked for. */
  if (!lib->handle_set_context (GST_ELEMENT_CAST (self), context, device_id, &found) || !found)
    return;
  GST_OBJECT_LOCK (self);
  if (!self->cuda.context)
    self->cuda.context = g_steal_pointer (&found);
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&found);
}

gboolean
gst_sobel_cuda_answer_context (GstCudaSobel *self, GstQuery *query)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstObject *context = gst_sobel_cuda_get_context (self);
  gboolean answered = FALSE;

  if (context) {
    answered = lib->handle_context_query (GST_ELEMENT_CAST (self), query, context);
    gst_object_unref (context);
  }
  return answered;
}

static void
ask_neighbour (GstCudaSobel *self, GstPad *pad)
{
  GstQuery *query = gst_query_new_context (GST_SOBEL_CUDA_CONTEXT_TYPE);
  GstContext *context = NULL;

  if (gst_pad_peer_query (pad, query))
    gst_query_parse_context (query, &context);
  if (context)
    gst_sobel_cuda_set_context (self, context);
  gst_query_unref (query);
}

/* Bins and the application answer the message with gst_element_set_context(). */
static void
find_context (GstCudaSobel *self)
{
  GstElement *element = GST_ELEMENT_CAST (self);
  GstContext *known = gst_element_get_context (element, GST_SOBEL_CUDA_CONTEXT_TYPE);

  if (known) {
    gst_sobel_cuda_set_context (self, known);
    gst_context_unref (known);
  }
  if (!has_context (self))
    ask_neighbour (self, GST_BASE_TRANSFORM_SRC_PAD (self));
  if (!has_context (self))
    ask_neighbour (self, GST_BASE_TRANSFORM_SINK_PAD (self));
  if (!has_context (self))
    gst_element_post_message (
        element, gst_message_new_need_context (GST_OBJECT_CAST (self), GST_SOBEL_CUDA_CONTEXT_TYPE));
}

/* Makes a context that was made here known to the pipeline. Not a persistent one: in NULL nobody needs it. */
static void
announce_context (GstCudaSobel *self, GstObject *cuda_context)
{
  GstContext *context = gst_context_new (GST_SOBEL_CUDA_CONTEXT_TYPE, FALSE);

  gst_structure_set (gst_context_writable_structure (context),                                           //
                     GST_SOBEL_CUDA_CONTEXT_TYPE, G_OBJECT_TYPE (cuda_context), cuda_context,            //
                     "cuda-device-id", G_TYPE_UINT, gst_sobel_cuda_context_device (cuda_context), NULL);
  gst_element_post_message (GST_ELEMENT_CAST (self),
                            gst_message_new_have_context (GST_OBJECT_CAST (self), context));
}

/* The device, and the memory that it pinned, keep the context alive. */
static void
work_in (SobelCudaOptions *options, GstObject *context)
{
  options->context = gst_sobel_cuda_lib ()->context_get_handle (context);
  options->device_id = (gint) gst_sobel_cuda_context_device (context);
  options->context_owner = context;
  options->context_ref = gst_object_ref;
  options->context_unref = gst_object_unref;
}

void
gst_sobel_cuda_start (GstCudaSobel *self, SobelCudaOptions *options)
{
  GstObject *context;

  self->cuda.options = *options;
  if (g_atomic_int_get (&self->cuda.state) != GST_SOBEL_CUDA_USABLE)
    return;
  find_context (self);
  context = gst_sobel_cuda_get_context (self);
  if (context) {
    work_in (options, context);
    GST_INFO_OBJECT (self, "working in %" GST_PTR_FORMAT " of GPU %d", context, options->device_id);
    gst_object_unref (context);
  }
}

void
gst_sobel_cuda_attach (GstCudaSobel *self, SobelDevice *device)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  SobelDeviceInfo info = { "", "", 0 };
  GstObject *context = NULL;

  self->cuda.handle = NULL;
  gst_clear_mini_object (&self->cuda.stream);
  device->ops->info (device, &info);
  if (!info.context || g_atomic_int_get (&self->cuda.state) != GST_SOBEL_CUDA_USABLE)
    return;
  context = gst_sobel_cuda_get_context (self);
  if (context && lib->context_get_handle (context) != info.context)
    gst_clear_object (&context);
  if (!context) {
    /* The GPU's primary context: all who need one in this process may share it. */
    context = gst_sobel_cuda_wrap_primary (info.context, info.ordinal);
    if (!context) {
      GST_WARNING_OBJECT (self, "the context of GPU %d cannot be shared", info.ordinal);
      return;
    }
    replace_context (self, gst_object_ref (context));
    announce_context (self, context);
  }
  self->cuda.handle = info.context;
  if (lib->has_streams)
    self->cuda.stream = lib->stream_new (context);
  gst_object_unref (context);
}

gboolean
gst_sobel_cuda_ensure_context (GstCudaSobel *self)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstObject *context;

  if (has_context (self))
    return TRUE;
  if (!gst_sobel_cuda_usable (TRUE))
    return FALSE;
  find_context (self);
  if (has_context (self))
    return TRUE;
  context = lib->context_new (MAX (self->cuda.options.device_id, 0));
  if (!context)
    return FALSE;
  replace_context (self, gst_object_ref (context));
  announce_context (self, context);
  gst_object_unref (context);
  return TRUE;
}

void
gst_sobel_cuda_stop (GstCudaSobel *self)
{
  self->cuda.in = self->cuda.out = FALSE;
  self->cuda.handle = NULL;
  gst_clear_mini_object (&self->cuda.pool_stream);
  gst_clear_mini_object (&self->cuda.stream);
  replace_context (self, NULL);
}

/* ---- buffers of another context ------------------------------------------------------------------- */

static GstFlowReturn
move_failed (GstCudaSobel *self, const SobelError *error)
{
  if (sobel_ring_use_fallback (self->ring) != SOBEL_STATUS_OK) {
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ_WRITE, ("The CUDA context of the video cannot be used."),
                       ("%s: %s", sobel_status_name (error->status), error->message));
    return GST_FLOW_ERROR;
  }
  GST_ELEMENT_WARNING (self, RESOURCE, OPEN_READ_WRITE,
                       ("The CUDA context of the video cannot be used; its frames are computed on the CPU."),
                       ("%s: %s", sobel_status_name (error->status), error->message));
  gst_cuda_sobel_use_cpu (self, error->message);
  return GST_FLOW_OK;
}

/* With nothing in flight: the device of the ring is made anew in `context`. */
static GstFlowReturn
move_to (GstCudaSobel *self, GstObject *context)
{
  SobelError error = { SOBEL_STATUS_OK, "" };
  SobelCudaOptions options = self->cuda.options;
  SobelDevice *device = NULL;
  SobelStatus status;

  work_in (&options, context);
  GST_INFO_OBJECT (self, "moving to %" GST_PTR_FORMAT " of GPU %d", context, options.device_id);

  status = gst_sobel_backend_open_gpu (&options, &device, &error);
  if (status != SOBEL_STATUS_OK)
    return move_failed (self, &error);
  gst_sobel_allocator_set_device (self->allocator, NULL);
  replace_context (self, gst_object_ref (context));
  g_mutex_lock (&self->ring_lock);
  status = sobel_ring_replace_device (self->ring, device);
  g_mutex_unlock (&self->ring_lock);
  if (status != SOBEL_STATUS_OK) {
    sobel_device_destroy (&device);
    sobel_error_set (&error, status, "the device in use cannot be replaced");
    return move_failed (self, &error);
  }
  gst_sobel_cuda_attach (self, device);
  gst_sobel_allocator_set_device (self->allocator, sobel_device_is_asynchronous (device) ? device : NULL);
  return GST_FLOW_OK;
}

/* As new caps would: slots, and then pools. */
static GstFlowReturn
configure_again (GstCudaSobel *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM_CAST (self);
  GstVideoFilter *filter = GST_VIDEO_FILTER_CAST (self);
  GstCaps *in = gst_pad_get_current_caps (trans->sinkpad), *out = gst_pad_get_current_caps (trans->srcpad);
  GstVideoInfo in_info = filter->in_info, out_info = filter->out_info;
  gboolean ok = in && out && GST_VIDEO_FILTER_GET_CLASS (filter)->set_info (filter, in, &in_info, out, &out_info);

  gst_clear_caps (&in);
  gst_clear_caps (&out);
  gst_base_transform_reconfigure_src (trans);
  return ok ? GST_FLOW_OK : GST_FLOW_NOT_NEGOTIATED;
}

GstFlowReturn
gst_sobel_cuda_follow (GstCudaSobel *self, GstBuffer *buffer)
{
  const gint wanted = self->cuda.options.device_id;
  GstSobelCudaMemory *memory;
  GstFlowReturn flow;

  if (!self->cuda.in || !self->cuda.handle || sobel_ring_is_fallback (self->ring))
    return GST_FLOW_OK; /* mapped through system memory, whatever context it is of */
  memory = gst_sobel_cuda_memory_of (buffer);
  if (!memory || gst_sobel_cuda_is_ours (self, buffer))
    return GST_FLOW_OK;
  if (wanted >= 0 && (guint) wanted != gst_sobel_cuda_context_device (memory->context)) {
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ_WRITE, ("The video is in the memory of another GPU."),
                       ("a frame of GPU %u arrived, cuda-device-id is %d",
                        gst_sobel_cuda_context_device (memory->context), wanted));
    return GST_FLOW_ERROR;
  }
  gst_cuda_sobel_stream_drain (self);
  if (sobel_ring_in_flight (self->ring) > 0)
    return GST_FLOW_FLUSHING;
  flow = move_to (self, memory->context);
  return flow == GST_FLOW_OK ? configure_again (self) : flow;
}

gboolean
gst_sobel_cuda_is_ours (GstCudaSobel *self, GstBuffer *buffer)
{
  GstSobelCudaMemory *memory;

  if (!self->cuda.handle || sobel_ring_is_fallback (self->ring))
    return FALSE;
  memory = gst_sobel_cuda_memory_of (buffer);
  return memory && gst_sobel_cuda_lib ()->context_get_handle (memory->context) == self->cuda.handle;
}

/* ---- streams -------------------------------------------------------------------------------------- */

static gpointer
stream_of (const GstSobelCudaLib *lib, GstSobelCudaMemory *memory)
{
  GstMiniObject *stream = memory ? lib->memory_get_stream (memory) : NULL;

  return stream ? lib->stream_get_handle (stream) : NULL;
}

gboolean
gst_sobel_cuda_needs_upload (GstBuffer *buffer)
{
  GstSobelCudaMemory *memory = gst_sobel_cuda_memory_of (buffer);

  return memory && GST_MEMORY_FLAG_IS_SET (memory, GST_SOBEL_CUDA_MEMORY_NEED_UPLOAD);
}

void
gst_sobel_cuda_order (SobelJob *job, GstBuffer *in, GstBuffer *out, gboolean uploads)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstSobelCudaMemory *from, *to;

  if (!lib || !lib->has_streams)
    return; /* what arrives is finished, and what leaves must be */
  from = job->in.memory == SOBEL_MEMORY_DEVICE ? gst_sobel_cuda_memory_of (in) : NULL;
  to = job->out.memory == SOBEL_MEMORY_DEVICE ? gst_sobel_cuda_memory_of (out) : NULL;
  job->in_stream = stream_of (lib, from);
  job->out_stream = stream_of (lib, to);
  /* The library lets the host write a buffer's next picture while it still uploads the one before: such a buffer goes
   * back to its pool when it has been read, not earlier. */
  job->queued = job->in_stream && job->out_stream && !uploads;
  /* Nothing to wait for, and the frame keeps its input until it is done. */
  if (from && !job->queued && !GST_MEMORY_FLAG_IS_SET (from, GST_SOBEL_CUDA_MEMORY_NEED_SYNC))
    job->in_stream = NULL;
}

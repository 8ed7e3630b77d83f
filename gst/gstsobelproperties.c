/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelproperties.h"

#include "core/pinnedbudget.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

enum {
  PROP_0,
  PROP_BACKEND,
  PROP_ACTIVE_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_RING_SIZE,
  PROP_STREAMS,
  PROP_STRIPS,
  PROP_N_THREADS,
  PROP_KERNEL,
  PROP_BYPASS,
  PROP_OPERATOR,
  PROP_GRADIENT,
  PROP_NORM,
  PROP_BORDER,
  PROP_PRECISION,
  PROP_LUMA,
  PROP_GAIN,
  PROP_THRESHOLD,
  PROP_INVERT,
  PROP_MODE,
  PROP_OVERLAY_COLOR,
  PROP_STATS,
};

enum {
  DEFAULT_CUDA_DEVICE_ID = -1,
  /* Four frames in flight reach the bus limit; fewer do not, more gain nothing (docs/benchmarks). */
  DEFAULT_RING_SIZE = 4,
  MAX_STREAMS = 16,
  MAX_STRIPS = 64,
  MAX_THREADS = 64,
};

void
gst_sobel_properties_init (GstCudaSobel *self)
{
  self->settings = (GstSobelSettings){ .params = SOBEL_PARAMS_DEFAULT, .bypass = FALSE };
  self->options = (GstSobelBackendOptions){ .backend = GST_SOBEL_BACKEND_AUTO };
  self->options.cuda.device_id = DEFAULT_CUDA_DEVICE_ID;
  self->ring_size = DEFAULT_RING_SIZE;
}

/* A property that the running devices were made with: keeps the value for the next start, and says so. */
static void
warn_if_started (GstCudaSobel *self, GParamSpec *pspec)
{
  gboolean started;

  g_mutex_lock (&self->ring_lock);
  started = self->ring != NULL;
  g_mutex_unlock (&self->ring_lock);
  if (started)
    GST_WARNING_OBJECT (self, "%s was set while the element runs; it acts from the next READY on", pspec->name);
}

/* The object lock is held. */
static void
set_look (GstSobelSettings *settings, guint prop_id, const GValue *value)
{
  SobelParams *params = &settings->params;

  switch (prop_id) {
    case PROP_KERNEL:
      params->kernel = g_value_get_enum (value);
      break;
    case PROP_BYPASS:
      settings->bypass = g_value_get_boolean (value);
      break;
    case PROP_OPERATOR:
      params->op = g_value_get_enum (value);
      break;
    case PROP_GRADIENT:
      params->gradient = g_value_get_enum (value);
      break;
    case PROP_NORM:
      params->norm = g_value_get_enum (value);
      break;
    case PROP_BORDER:
      params->border = g_value_get_enum (value);
      break;
    case PROP_PRECISION:
      params->precision = g_value_get_enum (value);
      break;
    case PROP_LUMA:
      params->luma = g_value_get_enum (value);
      break;
    case PROP_GAIN:
      params->gain = g_value_get_double (value);
      break;
    case PROP_THRESHOLD:
      params->threshold = g_value_get_double (value);
      break;
    case PROP_INVERT:
      params->invert = g_value_get_boolean (value);
      break;
    case PROP_MODE:
      params->mode = g_value_get_enum (value);
      break;
    case PROP_OVERLAY_COLOR:
      params->overlay_color = g_value_get_uint (value);
      break;
    default:
      break;
  }
}

GstStructure *
gst_cuda_sobel_get_stats (GstCudaSobel *self)
{
  GstStructure *stats = gst_structure_new_empty ("application/x-cudasobel-stats");
  SobelDeviceInfo info = { "", "", 0 };
  GstSobelActiveBackend active;
  guint in_flight = 0, slots = 0;
  gchar *reason;

  g_mutex_lock (&self->ring_lock);
  if (self->ring) {
    SobelDevice *device = sobel_ring_device (self->ring);

    device->ops->info (device, &info);
    in_flight = sobel_ring_in_flight (self->ring);
    slots = sobel_ring_n_slots (self->ring);
  }
  g_mutex_unlock (&self->ring_lock);
  GST_OBJECT_LOCK (self);
  active = self->active_backend;
  reason = g_strdup (self->fallback_reason ? self->fallback_reason : "");
  GST_OBJECT_UNLOCK (self);

  gst_sobel_stats_fill (&self->stats, stats);
  gst_structure_set (stats,                                                                                     //
                     "in-flight", G_TYPE_UINT64, (guint64) in_flight,                                           //
                     "slots", G_TYPE_UINT64, (guint64) slots,                                                   //
                     "pinned-bytes", G_TYPE_UINT64, (guint64) sobel_pinned_bytes (),                            //
                     "device-bytes", G_TYPE_UINT64, (guint64) info.device_bytes,                                //
                     "backend", G_TYPE_STRING, gst_sobel_enum_nick (gst_sobel_active_backend_get_type (), active), //
                     "device", G_TYPE_STRING, info.name,                                                        //
                     "kernel", G_TYPE_STRING, info.kernel ? info.kernel : "",                                   //
                     "fallback-reason", G_TYPE_STRING, reason, NULL);
  g_free (reason);
  return stats;
}

static void
set_property (GObject *object, guint prop_id, const GValue *value, GParamSpec *pspec)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (object);

  if (prop_id == PROP_BACKEND || (prop_id >= PROP_CUDA_DEVICE_ID && prop_id <= PROP_N_THREADS))
    warn_if_started (self, pspec);
  GST_OBJECT_LOCK (self);
  switch (prop_id) {
    case PROP_BACKEND:
      self->options.backend = g_value_get_enum (value);
      break;
    case PROP_CUDA_DEVICE_ID:
      self->options.cuda.device_id = g_value_get_int (value);
      break;
    case PROP_RING_SIZE:
      self->ring_size = g_value_get_uint (value);
      break;
    case PROP_STREAMS:
      self->options.cuda.streams = g_value_get_uint (value);
      break;
    case PROP_STRIPS:
      self->options.cuda.strips = g_value_get_uint (value);
      break;
    case PROP_N_THREADS:
      self->options.n_threads = g_value_get_uint (value);
      break;
    default:
      if (prop_id > PROP_N_THREADS && prop_id < PROP_STATS)
        set_look (&self->settings, prop_id, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

/* The object lock is held. */
static void
get_look (const GstSobelSettings *settings, guint prop_id, GValue *value)
{
  const SobelParams *params = &settings->params;

  switch (prop_id) {
    case PROP_KERNEL:
      g_value_set_enum (value, params->kernel);
      break;
    case PROP_BYPASS:
      g_value_set_boolean (value, settings->bypass);
      break;
    case PROP_OPERATOR:
      g_value_set_enum (value, params->op);
      break;
    case PROP_GRADIENT:
      g_value_set_enum (value, params->gradient);
      break;
    case PROP_NORM:
      g_value_set_enum (value, params->norm);
      break;
    case PROP_BORDER:
      g_value_set_enum (value, params->border);
      break;
    case PROP_PRECISION:
      g_value_set_enum (value, params->precision);
      break;
    case PROP_LUMA:
      g_value_set_enum (value, params->luma);
      break;
    case PROP_GAIN:
      g_value_set_double (value, params->gain);
      break;
    case PROP_THRESHOLD:
      g_value_set_double (value, params->threshold);
      break;
    case PROP_INVERT:
      g_value_set_boolean (value, params->invert);
      break;
    case PROP_MODE:
      g_value_set_enum (value, params->mode);
      break;
    case PROP_OVERLAY_COLOR:
      g_value_set_uint (value, params->overlay_color);
      break;
    default:
      break;
  }
}

static void
get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  GstCudaSobel *self = GST_CUDA_SOBEL (object);

  if (prop_id == PROP_STATS) {
    g_value_take_boxed (value, gst_cuda_sobel_get_stats (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (prop_id) {
    case PROP_BACKEND:
      g_value_set_enum (value, self->options.backend);
      break;
    case PROP_ACTIVE_BACKEND:
      g_value_set_enum (value, self->active_backend);
      break;
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, self->options.cuda.device_id);
      break;
    case PROP_RING_SIZE:
      g_value_set_uint (value, self->ring_size);
      break;
    case PROP_STREAMS:
      g_value_set_uint (value, self->options.cuda.streams);
      break;
    case PROP_STRIPS:
      g_value_set_uint (value, self->options.cuda.strips);
      break;
    case PROP_N_THREADS:
      g_value_set_uint (value, self->options.n_threads);
      break;
    default:
      if (prop_id > PROP_N_THREADS && prop_id < PROP_STATS)
        get_look (&self->settings, prop_id, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

#define READY_FLAGS (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)
#define PLAYING_FLAGS                                                                                                  \
  (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE)

static void
install_ready (GObjectClass *klass)
{
  g_object_class_install_property (
      klass, PROP_BACKEND,
      g_param_spec_enum ("backend", "Backend",
                         "Where frames are computed: auto takes a working GPU, else the CPU; cuda posts an error where "
                         "there is no usable GPU. active-backend tells what is in use",
                         gst_sobel_backend_get_type (), GST_SOBEL_BACKEND_AUTO, READY_FLAGS));
  g_object_class_install_property (
      klass, PROP_ACTIVE_BACKEND,
      g_param_spec_enum ("active-backend", "Active backend",
                         "Where frames are computed now; notified when it changes, also after a GPU failed",
                         gst_sobel_active_backend_get_type (), GST_SOBEL_ACTIVE_BACKEND_NONE,
                         G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property (
      klass, PROP_CUDA_DEVICE_ID,
      g_param_spec_int ("cuda-device-id", "CUDA device id",
                        "Number of the GPU; -1 follows the pipeline's CUDA context, else takes the first usable GPU",
                        -1, G_MAXINT, DEFAULT_CUDA_DEVICE_ID, READY_FLAGS));
  g_object_class_install_property (
      klass, PROP_RING_SIZE,
      g_param_spec_uint ("ring-size", "Ring size",
                         "Frames in flight at most (the CPU uses no more than 2). More than 1 lets upload, "
                         "computation and download of consecutive frames overlap; no frame waits for a later one",
                         1, SOBEL_RING_MAX_SLOTS, DEFAULT_RING_SIZE, READY_FLAGS));
  g_object_class_install_property (
      klass, PROP_STREAMS,
      g_param_spec_uint ("streams", "Streams", "CUDA streams that frames alternate on; 0 = the best measured choice", 0,
                         MAX_STREAMS, 0, READY_FLAGS));
  g_object_class_install_property (
      klass, PROP_STRIPS,
      g_param_spec_uint ("strips", "Strips",
                         "Horizontal strips that one frame is cut into on the GPU, so that upload, computation and "
                         "download of one frame overlap; 0 = automatic, 1 = never",
                         0, MAX_STRIPS, 0, READY_FLAGS));
  g_object_class_install_property (
      klass, PROP_N_THREADS,
      g_param_spec_uint ("n-threads", "Threads", "Threads of the CPU backend; 0 = one a core", 0, MAX_THREADS, 0,
                         READY_FLAGS));
}

static void
install_arithmetic (GObjectClass *klass)
{
  const SobelParams defaults = SOBEL_PARAMS_DEFAULT;

  g_object_class_install_property (
      klass, PROP_OPERATOR,
      g_param_spec_enum ("operator", "Operator", "3x3 weights of the gradient", gst_sobel_operator_get_type (),
                         defaults.op, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_GRADIENT,
      g_param_spec_enum ("gradient", "Gradient", "Both axes, or the size of one", gst_sobel_gradient_get_type (),
                         defaults.gradient, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_NORM,
      g_param_spec_enum ("norm", "Norm", "Size of the gradient of both axes; never divided by the weights, capped at "
                         "white", gst_sobel_norm_get_type (), defaults.norm, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_BORDER,
      g_param_spec_enum ("border", "Border", "What is taken to lie outside the picture",
                         gst_sobel_border_get_type (), defaults.border, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_PRECISION,
      g_param_spec_enum ("precision", "Precision", "Whether the gray made from RGB is rounded before the gradient; "
                         "YUV and gray are taken as stored", gst_sobel_precision_get_type (), defaults.precision,
                         PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_LUMA,
      g_param_spec_enum ("luma", "Luma", "Weights that make gray from RGB; YUV brings its own luma",
                         gst_sobel_luma_get_type (), defaults.luma, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_GAIN,
      g_param_spec_double ("gain", "Gain", "Multiplies the size of the gradient, before rounding down", 0.0, 1000.0,
                           defaults.gain, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_THRESHOLD,
      g_param_spec_double ("threshold", "Threshold", "Edges below this fraction of full scale become 0", 0.0, 1.0,
                           defaults.threshold, PLAYING_FLAGS));
}

static void
install_picture (GObjectClass *klass)
{
  const SobelParams defaults = SOBEL_PARAMS_DEFAULT;

  g_object_class_install_property (klass, PROP_KERNEL,
                                   g_param_spec_enum ("kernel", "Kernel", "GPU kernel; all of them give the same bytes",
                                                      gst_sobel_kernel_get_type (), defaults.kernel, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_BYPASS,
      g_param_spec_boolean ("bypass", "Bypass", "Frames pass unchanged, in order with the others", FALSE,
                            PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_INVERT,
      g_param_spec_boolean ("invert", "Invert", "Dark edges on white", defaults.invert, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_MODE,
      g_param_spec_enum ("mode", "Mode", "The picture made from the edges", gst_sobel_mode_get_type (), defaults.mode,
                         PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_OVERLAY_COLOR,
      g_param_spec_uint ("overlay-color", "Overlay color",
                         "Colour of mode=overlay as 0xAARRGGBB; alpha is the strength of the strongest edge", 0,
                         G_MAXUINT32, defaults.overlay_color, PLAYING_FLAGS));
  g_object_class_install_property (
      klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
                          "Counters since the start and mean times of the last 64 frames in ns: "
                          "application/x-cudasobel-stats with frames-in, frames-out, frames-dropped, qos-dropped, "
                          "frames-recomputed, in-flight, slots, host-bytes-copied, pinned-bytes (of the process), "
                          "device-bytes, backend, device, kernel, fallback-reason, upload-ns, kernel-ns, download-ns, "
                          "latency-ns",
                          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_sobel_properties_install (GObjectClass *klass)
{
  klass->set_property = set_property;
  klass->get_property = get_property;
  install_ready (klass);
  install_arithmetic (klass);
  install_picture (klass);

  gst_type_mark_as_plugin_api (gst_sobel_backend_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_active_backend_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_kernel_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_operator_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_gradient_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_norm_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_border_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_precision_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_luma_get_type (), 0);
  gst_type_mark_as_plugin_api (gst_sobel_mode_get_type (), 0);
}

static gchar **
preset_property_names (GstPreset *preset)
{
  guint n_properties = 0, i;
  GParamSpec **properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (preset), &n_properties);
  GPtrArray *names = g_ptr_array_new ();

  for (i = 0; i < n_properties; i++) {
    if ((properties[i]->flags & GST_PARAM_CONTROLLABLE) && strcmp (properties[i]->name, "kernel") != 0)
      g_ptr_array_add (names, g_strdup (properties[i]->name));
  }
  g_free (properties);
  g_ptr_array_add (names, NULL);
  return (gchar **) g_ptr_array_free (names, FALSE);
}

void
gst_sobel_preset_interface_init (gpointer iface, gpointer data)
{
  ((GstPresetInterface *) iface)->get_property_names = preset_property_names;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in GPU memory, with GStreamer's own CUDA library on a driver of the tests' making: every pairing with system
 * memory, whose pool is used, whose stream, and what is left when it is over. */
#include "cudagpu.h"
#include "picture.h"

#include "gstsobelcudacaps.h"
#include "pinnedbudget.h"

#define CUDA "video/x-raw(memory:CUDAMemory)"
#define SYSTEM "video/x-raw"

static const char *const modes[] = { "mode=edges", "mode=overlay overlay-color=0xc02060f0", "mode=mask threshold=0.25",
                                     "mode=direction" };

/* ---- helpers -------------------------------------------------------------------------------------- */

static gchar *
caps_of (const char *memory, const char *format, int width, int height)
{
  return g_strdup_printf ("%s,format=%s,width=%d,height=%d,framerate=25/1", memory, format, width, height);
}

/* What the rig feeds the element with: pictures in memory of `pool`, or in system memory without one. */
static GstFlowReturn
push_pictures (Rig *rig, GstBufferPool *pool, guint first, guint n)
{
  GstFlowReturn flow = GST_FLOW_OK;
  guint i;

  for (i = 0; i < n && flow == GST_FLOW_OK; i++)
    flow = rig_push (rig, pool ? cuda_picture (pool, &rig->info, first + i) : rig_picture (rig, first + i));
  return flow;
}

static void
close_pool (GstBufferPool *pool)
{
  if (!pool)
    return;
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

/* Every `n` buffers are the oracle's, in CUDA memory or not. */
static void
check_pictures (Rig *rig, guint first, guint n, gboolean cuda)
{
  guint i;

  if (!rig_wait (rig, n))
    return;
  for (i = 0; i < n; i++)
    T_CHECK (!gst_sobel_cuda_memory_of (rig_buffer (rig, i, NULL)) == !cuda, "wrong kind of memory");
  picture_check_recording (rig, first, n);
}

/* ---- formats and caps ----------------------------------------------------------------------------- */

static void
what_the_template_says (void)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstElementFactory *factory = gst_element_factory_find ("cudasobel");
  const GList *item = gst_element_factory_get_static_pad_templates (factory);
  GstCaps *sink = gst_static_pad_template_get_caps (item->data);
  GstCaps *src = gst_static_pad_template_get_caps (item->next->data);
  static const struct
  {
    const char *caps;
    guint since; /* minor version; 0: never */
    guint until; /* last one that gets it right; 0: all */
  } cases[] = {
    { CUDA ",format=NV12,width=1,height=1", 22, 0 },
    { CUDA ",format=NV12,width=33,height=17", 22, 0 },
    { CUDA ",format=I420,width=33,height=18", 22, 0 },
    { CUDA ",format=I420,width=33,height=17", 24, 0 },
    { CUDA ",format=YV12,width=33,height=17", 24, 0 },
    { CUDA ",format=I420_10LE,width=33,height=17", 24, 0 },
    { CUDA ",format=NV21,width=33,height=17", 22, 22 },
    { CUDA ",format=NV21,width=33,height=18", 22, 0 },
    { CUDA ",format=Y444_10LE,width=33,height=17", 24, 0 },
    { CUDA ",format=VUYA,width=33,height=17", 26, 0 },
    { CUDA ",format=ARGB64,width=33,height=17", 28, 0 },
    { CUDA ",format=RGBA,width=7,height=3", 22, 0 },
    { CUDA ",format=GRAY8,width=32,height=16", 0, 0 },
    { CUDA ",format=GRAY16_LE,width=32,height=16", 0, 0 },
    { CUDA ",format=AYUV,width=32,height=16", 0, 0 },
    { "video/x-raw(memory:GLMemory),format=RGBA,width=32,height=16", 0, 0 },
  };
  guint i;

  T_CHECK (gst_caps_is_equal (sink, src), "the templates differ");
  for (i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstCaps *caps = gst_caps_from_string (cases[i].caps);
    const gboolean expected = cases[i].since && cases[i].since <= lib->minor &&
                              (!cases[i].until || lib->minor <= cases[i].until);

    T_CHECK (gst_caps_can_intersect (caps, sink) == expected, "%s with 1.%u", cases[i].caps, lib->minor);
    gst_caps_unref (caps);
  }
  gst_caps_unref (sink);
  gst_caps_unref (src);
  gst_object_unref (factory);
}

/* What an element in `state` says its pad can do. */
static gboolean
pads_offer_cuda (const char *properties, GstState state)
{
  GstElement *element = gst_object_ref_sink (gst_element_factory_make ("cudasobel", NULL));
  GstPad *pads[2] = { gst_element_get_static_pad (element, "sink"), gst_element_get_static_pad (element, "src") };
  GstCaps *cuda = gst_caps_from_string (CUDA ",format=NV12,width=32,height=16");
  gboolean offers[2];
  guint i;

  if (*properties)
    gst_util_set_object_arg (G_OBJECT (element), "backend", properties);
  T_CHECK (gst_element_set_state (element, state) == GST_STATE_CHANGE_SUCCESS, "no state change");
  for (i = 0; i < 2; i++) {
    GstCaps *caps = gst_pad_query_caps (pads[i], NULL);

    offers[i] = gst_caps_can_intersect (caps, cuda);
    T_CHECK (gst_pad_query_accept_caps (pads[i], cuda) == offers[i], "accepts other caps than it lists");
    gst_caps_unref (caps);
    gst_object_unref (pads[i]);
  }
  gst_caps_unref (cuda);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  T_CHECK (offers[0] == offers[1], "the pads differ");
  return offers[0];
}

static void
caps_in_every_state (void)
{
  FakeDriver *driver = fake_driver ();
  const guint inits = driver->inits;

  T_CHECK (pads_offer_cuda ("", GST_STATE_NULL), "not in NULL");
  T_CHECK (driver->inits == inits, "CUDA was started in NULL");
  T_CHECK (pads_offer_cuda ("cpu", GST_STATE_READY), "not with backend=cpu");
  T_CHECK (driver->inits == inits, "CUDA was started for the CPU");
  T_CHECK (pads_offer_cuda ("", GST_STATE_READY), "not in READY");
  if (et_gpu_is_real ())
    return;
  driver->gpus = 0;
  T_CHECK (!pads_offer_cuda ("", GST_STATE_READY), "without a GPU");
  driver->gpus = 2;
}

/* ---- pairings ------------------------------------------------------------------------------------- */

/* Three pictures with each of the first modes; `out` is the memory that downstream takes. */
static void
check_pairing (const char *properties, const char *in, const char *out, const char *format, int width, int height,
               const char *more, guint n_modes)
{
  const gboolean cuda_in = g_str_equal (in, CUDA), cuda_out = g_str_equal (out, CUDA);
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *context = cuda_context_shared ();
  gchar *plain = caps_of (in, format, width, height), *caps = g_strconcat (plain, more, NULL);
  GstBufferPool *pool = cuda_in ? cuda_pool_new (context, plain, 0, 0, NULL) : NULL;
  Rig *rig = rig_new (properties);
  guint m;

  et_context ("%s, %s to %s", properties, caps, out);
  rig->accepts = gst_caps_new_empty_simple (SYSTEM);
  if (cuda_out)
    gst_caps_set_features (rig->accepts, 0, gst_caps_features_new (GST_SOBEL_CAPS_FEATURE_CUDA, NULL));
  cuda_share (rig->element, context);
  if (T_CHECK (rig_start (rig, caps), "refused"))
    for (m = 0; m < n_modes; m++) {
      et_context ("%s %s, %s to %s", properties, modes[m], caps, out);
      rig_set (rig, "threshold=0");
      rig_set (rig, modes[m]);
      rig_forget (rig);
      T_CHECK (push_pictures (rig, pool, 3 * m, 3) == GST_FLOW_OK, "no flow");
      check_pictures (rig, 3 * m, 3, cuda_out);
    }
  if (gpu->made > 0) {
    T_CHECK (gpu->device_in == (cuda_in ? gpu->frames : 0), "%u of %u from GPU memory", gpu->device_in, gpu->frames);
    T_CHECK (gpu->device_out == (cuda_out ? gpu->frames : 0), "%u of %u to GPU memory", gpu->device_out, gpu->frames);
    T_CHECK (!gpu->neutral_ready, "nobody knows what is in GPU memory");
    T_CHECK (gpu->options.context == gst_sobel_cuda_lib ()->context_get_handle (context), "in another context");
    if (cuda_in)
      T_CHECK (rig_stat (rig, "host-bytes-copied") == 0, "copied");
    cuda_expect_contexts (1);
  }
  T_CHECK (fake_driver ()->copies_across == 0, "frames were copied in GPU memory");
  rig_no_trouble (rig);
  rig_free (rig);
  close_pool (pool);
  gst_object_unref (context);
  g_free (plain);
  g_free (caps);
  cuda_gpu_check ();
}

static const char *const pairing[][2] = { { CUDA, CUDA }, { CUDA, SYSTEM }, { SYSTEM, CUDA }, { SYSTEM, SYSTEM } };

static void
every_pairing (void)
{
  static const int sizes[][2] = { { 33, 17 }, { 1, 1 }, { 640, 34 } };
  guint p, s;

  for (p = 0; p < G_N_ELEMENTS (pairing); p++)
    for (s = 0; s < G_N_ELEMENTS (sizes); s++) {
      check_pairing ("backend=cuda", pairing[p][0], pairing[p][1], "NV12", sizes[s][0], sizes[s][1], "", 4);
      check_pairing ("backend=cpu", pairing[p][0], pairing[p][1], "NV12", sizes[s][0], sizes[s][1], "", 4);
    }
}

static void
every_format (void)
{
  const guint minor = gst_sobel_cuda_lib ()->minor;
  const SobelFormat *format;
  guint i, n = 0, p;
  gboolean even;

  for (i = 0; (format = sobel_format_nth (i)); i++) {
    if (!gst_sobel_cuda_holds (minor, format->name, &even) ||
        gst_video_format_from_string (format->name) == GST_VIDEO_FORMAT_UNKNOWN)
      continue;
    n++;
    for (p = 0; p < 3; p++) {
      check_pairing ("backend=cuda", pairing[p][0], pairing[p][1], format->name, 35, 18, "", 4);
      if (!even)
        check_pairing ("backend=cuda", pairing[p][0], pairing[p][1], format->name, 7, 5, "", 4);
      if (format->family != SOBEL_FAMILY_RGB || i % 4 == 0)
        check_pairing ("backend=cuda", pairing[p][0], pairing[p][1], format->name, 34, 20,
                       ",interlace-mode=interleaved", 1);
    }
  }
  T_CHECK (n >= 28, "only %u formats", n);
}

/* Formats that the library has no memory for, or lays out wrongly, are refused and do no harm. */
static void
what_cannot_be (void)
{
  static const char *const never[] = { CUDA ",format=GRAY8,width=32,height=16", CUDA ",format=AYUV,width=32,height=16",
                                       CUDA ",format=NV12,width=0,height=16" };
  const char *odd = gst_sobel_cuda_lib ()->minor == 22 ? CUDA ",format=I420,width=32,height=17"
                                                       : CUDA ",format=NV21,width=32,height=17";
  Rig *rig;
  guint i;

  cuda_gpu_use ();
  rig = rig_new ("backend=cuda");
  T_CHECK (rig_start (rig, NULL), "does not start");
  for (i = 0; i < G_N_ELEMENTS (never); i++)
    T_CHECK (!rig_caps (rig, never[i]), "%s is accepted", never[i]);
  T_CHECK (!rig_caps (rig, odd), "%s is accepted", odd);
  T_CHECK (rig_caps (rig, CUDA ",format=NV12,width=32,height=16"), "not after that");
  rig_free (rig);
  cuda_gpu_check ();
}

static void
gray_leaves_in_system_memory (void)
{
  GstObject *context = NULL;
  GstBufferPool *pool;
  Rig *rig;

  cuda_gpu_use ();
  context = cuda_context_new (0);
  rig = rig_new ("backend=cuda");
  rig->accepts = gst_caps_from_string (CUDA ",format=GRAY8;" SYSTEM ",format=GRAY8");
  T_CHECK (rig_start (rig, CUDA ",format=NV12,width=36,height=20"), "refused");
  pool = cuda_pool_new (context, CUDA ",format=NV12,width=36,height=20", 0, 0, NULL);
  push_pictures (rig, pool, 0, 3);
  check_pictures (rig, 0, 3, FALSE);
  rig_no_trouble (rig);
  rig_free (rig);
  close_pool (pool);
  gst_object_unref (context);
  cuda_gpu_check ();
}

static void
bypass_in_every_pairing (void)
{
  guint p, b, i;

  for (b = 0; b < 2; b++)
    for (p = 0; p < G_N_ELEMENTS (pairing); p++) {
      const gboolean cuda_out = g_str_equal (pairing[p][1], CUDA);
      gchar *caps = caps_of (pairing[p][0], "NV12", 34, 18);
      GstObject *context;
      GstBufferPool *pool;
      Rig *rig;

      et_context ("%s to %s, %s", pairing[p][0], pairing[p][1], b ? "cpu" : "cuda");
      cuda_gpu_use ();
      context = cuda_context_new (0);
      rig = rig_new (b ? "backend=cpu bypass=true" : "backend=cuda bypass=true");
      rig->accepts = gst_caps_from_string (pairing[p][1]);
      T_CHECK (rig_start (rig, caps), "refused");
      pool = g_str_equal (pairing[p][0], CUDA) ? cuda_pool_new (context, caps, 0, 0, NULL) : NULL;
      push_pictures (rig, pool, 0, 3);
      if (rig_wait (rig, 3))
        for (i = 0; i < 3; i++) {
          GstBuffer *in = rig_picture (rig, i), *out = rig_buffer (rig, i, NULL);

          T_CHECK (!gst_sobel_cuda_memory_of (out) == !cuda_out, "wrong kind of memory");
          picture_equal (in, out, &rig->info);
          gst_buffer_unref (in);
        }
      rig_no_trouble (rig);
      rig_free (rig);
      close_pool (pool);
      gst_object_unref (context);
      g_free (caps);
      cuda_gpu_check ();
    }
}

/* Since 1.24 cudadownload may pass GPU memory on under caps of system memory. */
static void
gpu_memory_under_system_caps (void)
{
  CudaGpu *gpu = cuda_gpu_use ();
  GstObject *context = cuda_context_new (0);
  GstBufferPool *pool = cuda_pool_new (context, CUDA ",format=NV12,width=34,height=18", 0, 0, NULL);
  Rig *rig = rig_new ("backend=cuda");

  cuda_share (rig->element, context);
  T_CHECK (rig_start (rig, SYSTEM ",format=NV12,width=34,height=18"), "refused");
  push_pictures (rig, pool, 0, 3);
  check_pictures (rig, 0, 3, FALSE);
  T_CHECK (gpu->device_in == 3, "%u frames were taken where they are", gpu->device_in);
  rig_set (rig, "bypass=true");
  push_pictures (rig, pool, 3, 1);
  rig_wait (rig, 4);
  rig_no_trouble (rig);
  rig_free (rig);
  close_pool (pool);
  gst_object_unref (context);
  cuda_gpu_check ();
}

/* What comes from system memory cannot go up, and outputs in GPU memory are not what takes the room. */
static void
no_room_to_upload (void)
{
  static const char *const backends[] = { "backend=auto", "backend=cuda" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    GstObject *context = cuda_context_shared ();
    CudaGpu *gpu = cuda_gpu_use ();
    Rig *rig = rig_new (backends[i]);
    gchar *text;

    et_context ("%s", backends[i]);
    rig->accepts = gst_caps_new_empty_simple (SYSTEM);
    gst_caps_set_features (rig->accepts, 0, gst_caps_features_new (GST_SOBEL_CAPS_FEATURE_CUDA, NULL));
    cuda_share (rig->element, context);
    sobel_pinned_set_cap (1);
    T_CHECK (rig_start (rig, SYSTEM ",format=NV12,width=34,height=18,framerate=25/1"), "refused");
    T_CHECK (push_pictures (rig, NULL, 0, 3) == (i == 0 ? GST_FLOW_OK : GST_FLOW_ERROR), "flow");
    if (i == 0)
      check_pictures (rig, 0, 3, TRUE);
    T_CHECK (gpu->frames == 0, "%u frames on the GPU", gpu->frames);
    T_CHECK (rig_messages (rig, i == 0 ? GST_MESSAGE_WARNING : GST_MESSAGE_ERROR, &text) == 1, "%s", text);
    g_free (text);
    rig_free (rig);
    gst_object_unref (context);
    cuda_gpu_check ();
    sobel_pinned_set_cap (0);
  }
}

/* ---- running -------------------------------------------------------------------------------------- */

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "what-the-template-says", what_the_template_says },
    { "caps-in-every-state", caps_in_every_state },
    { "every-pairing", every_pairing },
    { "every-format", every_format },
    { "what-cannot-be", what_cannot_be },
    { "gray-leaves-in-system-memory", gray_leaves_in_system_memory },
    { "bypass-in-every-pairing", bypass_in_every_pairing },
    { "gpu-memory-under-system-caps", gpu_memory_under_system_caps },
    { "no-room-to-upload", no_room_to_upload },
    { NULL, NULL },
  };

  if (!cuda_gpu_available ()) {
    fprintf (stderr, "no libgstcuda-1.0, or not the driver of the tests\n");
    return T_SKIP;
  }
  return et_main (argc, argv, ET_ALONE, tests);
}

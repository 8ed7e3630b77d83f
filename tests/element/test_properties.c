/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties: what they may be, when they may be set, and that each frame has one whole set of them. */
#include "picture.h"

#include <gst/controller/controller.h>
#include <string.h>

#define CAPS "video/x-raw,format=RGB,width=40,height=30,framerate=25/1"

/* ---- what they are -------------------------------------------------------------------------------- */

static const struct
{
  const char *name;
  gboolean playing;
  double min, max, fallback; /* numbers; enums: 0, last value, default */
} known[] = {
  { "backend", FALSE, 0, 2, 0 },      { "cuda-device-id", FALSE, -1, G_MAXINT, -1 },
  { "ring-size", FALSE, 1, 16, 4 },   { "streams", FALSE, 0, 16, 0 },
  { "strips", FALSE, 0, 64, 0 },      { "n-threads", FALSE, 0, 64, 0 },
  { "kernel", TRUE, 0, 4, 0 },        { "bypass", TRUE, 0, 1, 0 },
  { "operator", TRUE, 0, 2, 0 },      { "gradient", TRUE, 0, 2, 0 },
  { "norm", TRUE, 0, 1, 0 },          { "border", TRUE, 0, 3, 0 },
  { "precision", TRUE, 0, 1, 0 },     { "luma", TRUE, 0, 2, 0 },
  { "gain", TRUE, 0, 1000, 1 },       { "threshold", TRUE, 0, 1, 0 },
  { "invert", TRUE, 0, 1, 0 },        { "mode", TRUE, 0, 3, 0 },
  { "overlay-color", TRUE, 0, G_MAXUINT32, 0xffff0000u },
};

static void
range_of (GParamSpec *spec, double *min, double *max, double *fallback)
{
  *min = *max = *fallback = -12345;
  if (G_IS_PARAM_SPEC_ENUM (spec)) {
    *min = G_PARAM_SPEC_ENUM (spec)->enum_class->minimum;
    *max = G_PARAM_SPEC_ENUM (spec)->enum_class->maximum;
    *fallback = G_PARAM_SPEC_ENUM (spec)->default_value;
  } else if (G_IS_PARAM_SPEC_UINT (spec)) {
    *min = G_PARAM_SPEC_UINT (spec)->minimum;
    *max = G_PARAM_SPEC_UINT (spec)->maximum;
    *fallback = G_PARAM_SPEC_UINT (spec)->default_value;
  } else if (G_IS_PARAM_SPEC_INT (spec)) {
    *min = G_PARAM_SPEC_INT (spec)->minimum;
    *max = G_PARAM_SPEC_INT (spec)->maximum;
    *fallback = G_PARAM_SPEC_INT (spec)->default_value;
  } else if (G_IS_PARAM_SPEC_DOUBLE (spec)) {
    *min = G_PARAM_SPEC_DOUBLE (spec)->minimum;
    *max = G_PARAM_SPEC_DOUBLE (spec)->maximum;
    *fallback = G_PARAM_SPEC_DOUBLE (spec)->default_value;
  } else if (G_IS_PARAM_SPEC_BOOLEAN (spec)) {
    *min = 0;
    *max = 1;
    *fallback = G_PARAM_SPEC_BOOLEAN (spec)->default_value;
  }
}

static void
as_documented (void)
{
  Rig *rig = rig_new ("");
  GObjectClass *klass = G_OBJECT_GET_CLASS (rig->element);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (known); i++) {
    GParamSpec *spec = g_object_class_find_property (klass, known[i].name);
    double min, max, fallback;

    et_context ("%s", known[i].name);
    if (!T_CHECK (spec != NULL, "missing"))
      continue;
    range_of (spec, &min, &max, &fallback);
    T_CHECK (min == known[i].min && max == known[i].max && fallback == known[i].fallback, "%g to %g, default %g", min,
             max, fallback);
    T_CHECK ((spec->flags & G_PARAM_READWRITE) == G_PARAM_READWRITE, "flags");
    T_CHECK (!(spec->flags & GST_PARAM_CONTROLLABLE) == !known[i].playing, "controllable");
    T_CHECK (!(spec->flags & GST_PARAM_MUTABLE_PLAYING) == !known[i].playing, "mutable while playing");
    T_CHECK (!(spec->flags & GST_PARAM_MUTABLE_READY) != !known[i].playing, "mutable in READY");
    T_CHECK (strlen (g_param_spec_get_blurb (spec)) > 10, "no description");
  }
  T_CHECK (g_object_class_find_property (klass, "active-backend")->flags == (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS),
           "active-backend");
  T_CHECK (!(g_object_class_find_property (klass, "stats")->flags & G_PARAM_WRITABLE), "stats");
  rig_free (rig);
}

/* ---- when they are set ---------------------------------------------------------------------------- */

static const char *const looks[] = {
  "bypass=true",    "operator=scharr", "operator=prewitt", "gradient=x",
  "gradient=y",     "norm=l1",         "border=zero",      "border=mirror",
  "border=none",    "precision=float", "luma=bt709",       "luma=bt2020",
  "gain=0.37",      "threshold=0.4",   "invert=true",      "mode=overlay",
  "mode=mask",      "mode=direction",  "kernel=naive",     "mode=overlay overlay-color=0x8000ff00",
  "mode=mask threshold=0.7 invert=true border=none",
};

/* The same picture, and the oracle's, whether set in NULL, in READY or while playing. */
static void
any_time (void)
{
  guint i, when;

  for (i = 0; i < G_N_ELEMENTS (looks); i++)
    for (when = 0; when < 3; when++) {
      Rig *rig = rig_new (when == 0 ? looks[i] : "");

      et_context ("%s set in %s", looks[i], when == 0 ? "NULL" : when == 1 ? "READY" : "PLAYING");
      if (when == 1) {
        gst_element_set_state (rig->element, GST_STATE_READY);
        rig_set (rig, looks[i]);
      }
      T_CHECK (rig_start (rig, CAPS), "does not start");
      if (when == 2)
        rig_set (rig, looks[i]);
      rig_push_pictures (rig, 0, 1);
      rig_eos (rig);
      if (i > 0) {
        picture_check_recording (rig, 0, 1);
      } else {
        GstBuffer *in = rig_picture (rig, 0);
        picture_equal (in, rig_buffer (rig, 0, NULL), &rig->info);
        gst_buffer_unref (in);
      }
      rig_free (rig);
    }
}

/* A frame has the settings of the moment when it arrived, though the GPU is behind. */
static void
frames_keep_their_settings (void)
{
  enum { N = 8 };
  const EGpu told = { .pixels = TRUE, .options = { .finish = FAKE_FINISH_TOLD } };
  SobelParams params[N];
  guint i;
  Rig *rig;

  et_gpu_set (&told);
  rig = rig_new ("backend=cuda ring-size=8");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < N; i++) {
    g_object_set (rig->element, "threshold", i / 10.0, "invert", i % 2 == 1, "mode", i % 3, NULL);
    params[i] = picture_params (rig->element);
    rig_push_pictures (rig, i, 1);
  }
  rig_set (rig, "threshold=1 invert=false mode=edges gain=0");
  fake_device_finish_all (et_gpu (0));
  rig_eos (rig);
  T_CHECK (rig_n_buffers (rig) == N, "%u frames", rig_n_buffers (rig));
  for (i = 0; i < N; i++) {
    GstBuffer *in = rig_picture (rig, i);

    et_context ("frame %u", i);
    picture_check (in, &rig->info, rig_buffer (rig, i, NULL), &rig->info, &params[i], FALSE);
    gst_buffer_unref (in);
  }
  rig_free (rig);
}

/* ---- a controller --------------------------------------------------------------------------------- */

/* From `from` at 0 s to `to` at 1 s. */
static void
ramp (GstElement *element, const char *property, double from, double to)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *values = GST_TIMED_VALUE_CONTROL_SOURCE (source);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set (values, 0, from);
  gst_timed_value_control_source_set (values, GST_SECOND, to);
  T_CHECK (gst_object_add_control_binding (GST_OBJECT (element),
                                           gst_direct_control_binding_new_absolute (GST_OBJECT (element), property,
                                                                                    source)),
           "%s cannot be controlled", property);
  gst_object_unref (source);
}

/* Every property that may change while playing follows a control source, and each frame has the value of its time. */
static void
controller_sets_the_pace (void)
{
  static const guint frames[] = { 0, 5, 10, 12, 13, 20, 25 };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (known); k++) {
    Rig *rig;

    if (!known[k].playing || g_str_equal (known[k].name, "bypass"))
      continue;
    et_context ("%s", known[k].name);
    et_gpu_late (500, 500);
    rig = rig_new ("backend=cuda mode=overlay");
    ramp (rig->element, known[k].name, known[k].min, g_str_equal (known[k].name, "gain") ? 3 : known[k].max);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    for (i = 0; i < G_N_ELEMENTS (frames); i++) {
      SobelParams params;
      GstBuffer *in = rig_picture (rig, frames[i]);
      GstClockTime time = GST_BUFFER_PTS (in);
      GValue *expected, *got;

      rig_push (rig, gst_buffer_ref (in));
      params = picture_params (rig->element);
      expected = gst_object_get_value (GST_OBJECT (rig->element), known[k].name, time);
      got = g_new0 (GValue, 1);
      g_value_init (got, G_VALUE_TYPE (expected));
      g_object_get_property (G_OBJECT (rig->element), known[k].name, got);
      T_CHECK (gst_value_compare (expected, got) == GST_VALUE_EQUAL, "another value at %u ms", frames[i] * 40);
      g_value_unset (expected);
      g_value_unset (got);
      g_free (expected);
      g_free (got);
      rig_wait (rig, i + 1);
      picture_check (in, &rig->info, rig_buffer (rig, i, NULL), &rig->info, &params, FALSE);
      gst_buffer_unref (in);
    }
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- all values ----------------------------------------------------------------------------------- */

static const char *const values[] = {
  "bypass=false",     "bypass=true",      "operator=sobel",   "operator=scharr",  "operator=prewitt",
  "gradient=both",    "gradient=x",       "gradient=y",       "norm=l2",          "norm=l1",
  "border=replicate", "border=zero",      "border=mirror",    "border=none",      "precision=integer",
  "precision=float",  "luma=bt601",       "luma=bt709",       "luma=bt2020",      "gain=0",
  "gain=1",           "gain=1000",        "gain=0.000001",    "threshold=0",      "threshold=1",
  "threshold=0.5",    "invert=false",     "invert=true",      "mode=edges",       "mode=overlay",
  "mode=mask",        "mode=direction",   "kernel=auto",      "kernel=naive",     "kernel=constant",
  "kernel=shared",    "kernel=fused",     "overlay-color=0",  "overlay-color=4294967295",
  "overlay-color=0x00ffffff",
};

static const char defaults[] = "bypass=false operator=sobel gradient=both norm=l2 border=replicate precision=integer "
                               "luma=bt601 gain=1 threshold=0 invert=false mode=edges kernel=auto "
                               "overlay-color=0xffff0000";

static void
pairs_of_values (void)
{
  static const char *const caps[] = {
    "video/x-raw,format=RGBA,width=9,height=7", "video/x-raw,format=I420,width=9,height=7",
    "video/x-raw,format=Y444_16LE,width=9,height=7", "video/x-raw,format=GRAY8,width=9,height=7",
    "video/x-raw,format=NV12,width=8,height=6,interlace-mode=interleaved",
  };
  const guint step = et_factor () > 1 ? 7 : 1;
  guint c, a, b, n = 0;

  for (c = 0; c < G_N_ELEMENTS (caps); c++) {
    Rig *rig = rig_new ("backend=cpu");

    T_CHECK (rig_start (rig, caps[c]), "does not start");
    for (a = 0; a < G_N_ELEMENTS (values); a++)
      for (b = a + c % step; b < G_N_ELEMENTS (values); b += step, n++) {
        SobelParams params;
        GstBuffer *in = rig_picture (rig, n), *out;

        et_context ("%s %s %s", caps[c], values[a], values[b]);
        rig_set (rig, defaults);
        rig_set (rig, values[a]);
        rig_set (rig, values[b]);
        params = picture_params (rig->element);
        T_CHECK (rig_push (rig, gst_buffer_ref (in)) == GST_FLOW_OK, "refused");
        rig_wait (rig, 1);
        out = rig_buffer (rig, 0, NULL);
        if (params.mode == SOBEL_MODE_BYPASS)
          picture_equal (in, out, &rig->info);
        else
          picture_check (in, &rig->info, out, &rig->info, &params,
                         GST_VIDEO_INFO_INTERLACE_MODE (&rig->info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
        gst_buffer_unref (in);
        rig_forget (rig);
      }
    rig_no_trouble (rig);
    rig_free (rig);
  }
  printf ("%u pairs\n", n);
}

/* Ring sizes, streams, strips and threads change nothing but the pace. */
static void
values_for_the_start (void)
{
  static const char *const settings[] = { "ring-size=1", "ring-size=16", "streams=16", "strips=64",     "n-threads=1",
                                          "n-threads=3", "n-threads=64", "strips=1",   "cuda-device-id=2147483647" };
  guint i, k;

  for (k = 0; k < 2; k++)
    for (i = 0; i < G_N_ELEMENTS (settings); i++) {
      Rig *rig;

      et_context ("%s on %s", settings[i], k ? "GPU" : "CPU");
      if (g_str_has_prefix (settings[i], "cuda-device-id"))
        et_gpu_fake_late (100, 100); /* a real GPU is not every number */
      else
        et_gpu_late (100, 100);
      rig = rig_new (k ? "backend=cuda" : "backend=cpu");
      rig_set (rig, settings[i]);
      T_CHECK (rig_start (rig, "video/x-raw,format=I420,width=97,height=61"), "does not start");
      rig_push_pictures (rig, 0, 5);
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 5, "%u frames", rig_n_buffers (rig));
      picture_check_recording (rig, 0, 5);
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "as-documented", as_documented },
    { "any-time", any_time },
    { "frames-keep-their-settings", frames_keep_their_settings },
    { "controller-sets-the-pace", controller_sets_the_pace },
    { "pairs-of-values", pairs_of_values },
    { "values-for-the-start", values_for_the_start },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the element can be given and what it gives: templates, negotiation, refusals. */
#include "picture.h"

#include "gstsobelcaps.h"
#include "oracle.h"

#include <string.h>

static const char *const deep_gray = "GRAY16_LE";

/* ---- templates ------------------------------------------------------------------------------------ */

static GstCaps *
template_caps (const char *pad)
{
  GstElementFactory *factory = gst_element_factory_find ("cudasobel");
  const GList *walk;
  GstCaps *caps = NULL;

  for (walk = gst_element_factory_get_static_pad_templates (factory); walk; walk = walk->next) {
    GstStaticPadTemplate *template = walk->data;
    if (g_str_equal (template->name_template, pad))
      caps = gst_static_pad_template_get_caps (template);
  }
  gst_object_unref (factory);
  return caps;
}

/* The structure of system memory. */
static const GstStructure *
system_structure (GstCaps *caps)
{
  guint i, n = 0;
  const GstStructure *found = NULL;

  for (i = 0; i < gst_caps_get_size (caps); i++)
    if (gst_caps_features_is_equal (gst_caps_get_features (caps, i), GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY)) {
      found = gst_caps_get_structure (caps, i);
      n++;
    }
  T_CHECK (n == 1, "%u structures of system memory", n);
  return found;
}

static gboolean
lists (const GValue *list, const char *name)
{
  guint i;

  for (i = 0; i < gst_value_list_get_size (list); i++)
    if (g_str_equal (g_value_get_string (gst_value_list_get_value (list, i)), name))
      return TRUE;
  return FALSE;
}

static void
templates_say_what_works (void)
{
  GstCaps *sink = template_caps ("sink"), *src = template_caps ("src");
  const GstStructure *structure;
  const GValue *formats, *modes;
  guint i, n = 0;

  T_CHECK (sink && src && gst_caps_is_equal (sink, src), "the templates differ");
  structure = system_structure (sink);
  formats = gst_structure_get_value (structure, "format");
  for (i = GST_VIDEO_FORMAT_ENCODED + 1; i <= picture_last_format (); i++) {
    const GstVideoFormatInfo *info = gst_video_format_get_info (i);

    T_CHECK (lists (formats, info->name) == oracle_format_is_required (info), "%s: %d", info->name,
             lists (formats, info->name));
    n += oracle_format_is_required (info);
  }
  T_CHECK (n > 60 && n == gst_value_list_get_size (formats), "%u formats, %u listed", n,
           gst_value_list_get_size (formats));
  modes = gst_structure_get_value (structure, "interlace-mode");
  T_CHECK (gst_value_list_get_size (modes) == 3 && lists (modes, "progressive") && lists (modes, "interleaved") &&
               lists (modes, "mixed"),
           "interlace modes");
  T_CHECK (gst_structure_n_fields (structure) == 4, "%u fields", gst_structure_n_fields (structure));
  gst_caps_unref (sink);
  gst_caps_unref (src);
}

/* ---- what passes ---------------------------------------------------------------------------------- */

/* A frame goes through, and the caps that come out are those that went in. */
static void
caps_pass_unchanged (void)
{
  static const char *const caps[] = {
    "video/x-raw,format=I420,width=64,height=48",
    "video/x-raw,format=I420,width=64,height=48,framerate=0/1",
    "video/x-raw,format=I420,width=64,height=48,framerate=0/1,max-framerate=30/1",
    "video/x-raw,format=I420,width=64,height=48,framerate=25/1,interlace-mode=progressive",
    "video/x-raw,format=I420,width=720,height=486,framerate=25/1,interlace-mode=interleaved",
    "video/x-raw,format=I420,width=720,height=487,framerate=25/1,interlace-mode=interleaved,"
    "field-order=bottom-field-first",
    "video/x-raw,format=NV12,width=64,height=50,framerate=25/1,interlace-mode=mixed",
    "video/x-raw,format=I420,width=64,height=48,framerate=25/1,pixel-aspect-ratio=16/11,colorimetry=bt709,"
    "chroma-site=mpeg2",
    "video/x-raw,format=I420,width=64,height=48,framerate=25/1,colorimetry=1:4:0:0,chroma-site=jpeg",
    "video/x-raw,format=RGB,width=64,height=48,framerate=60000/1001,colorimetry=sRGB",
    "video/x-raw,format=P010_10LE,width=64,height=48,framerate=25/1,colorimetry=bt2100-pq,"
    "mastering-display-info=(string)\"34000:16000:13250:34500:7500:3000:15635:16450:10000000:1\","
    "content-light-level=(string)\"1000:400\"",
    "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1,multiview-mode=side-by-side",
    "video/x-raw,format=GRAY8,width=64,height=48,framerate=1000/1,views=2,somebody-elses-field=(string)kept",
    "video/x-raw,format=AYUV,width=1,height=1,framerate=1/1",
    "video/x-raw,format=YUY2,width=1,height=7",
    "video/x-raw,format=NV12,width=7,height=1",
    "video/x-raw,format=Y41B,width=5,height=2",
    "video/x-raw(memory:SystemMemory),format=UYVY,width=33,height=17",
    "video/x-raw,format=I420,width=1278,height=3",
    "video/x-raw,format=GRAY16_BE,width=1,height=64",
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (caps); i++) {
    GstCaps *in = gst_caps_from_string (caps[i]), *out;
    Rig *rig = rig_new ("backend=cpu");

    et_context ("%s", caps[i]);
    T_CHECK (rig_start (rig, caps[i]), "refused");
    T_CHECK (rig_push_pictures (rig, 0, 2) == GST_FLOW_OK, "a frame is refused");
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == 2, "%u frames", rig_n_buffers (rig));
    out = rig_output_caps (rig);
    T_CHECK (out && gst_caps_is_equal (in, out), "changed");
    T_CHECK (rig_n_buffers (rig) && gst_buffer_get_size (rig_buffer (rig, 0, NULL)) >= rig->info.size, "too small");
    gst_clear_caps (&out);
    gst_caps_unref (in);
    rig_no_trouble (rig);
    rig_free (rig);
  }
}

/* Smaller, larger, another format: no buffer of an old size. */
static void
caps_change (void)
{
  static const char *const caps[] = {
    "video/x-raw,format=I420,width=160,height=120", "video/x-raw,format=I420,width=40,height=30",
    "video/x-raw,format=RGB,width=40,height=30",    "video/x-raw,format=GRAY8,width=320,height=240",
    "video/x-raw,format=I420,width=1,height=1",     "video/x-raw,format=Y444_16LE,width=73,height=47",
  };
  static const char *const backends[] = { "backend=cpu", "backend=cuda" };
  guint b, i;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    Rig *rig;

    et_gpu_late (300, 300);
    rig = rig_new (backends[b]);
    T_CHECK (rig_start (rig, caps[0]), "refused");
    for (i = 0; i < 4 * G_N_ELEMENTS (caps); i++) {
      const char *text = caps[(i * 5) % G_N_ELEMENTS (caps)];

      rig_forget (rig);
      T_CHECK (rig_caps (rig, text), "refused: %s", text);
      rig_push_pictures (rig, 0, i % 4);
      rig_eos (rig);
      if (i % 4)
        T_CHECK (gst_buffer_get_size (rig_buffer (rig, 0, NULL)) == rig->info.size, "%s: %" G_GSIZE_FORMAT " bytes",
                 text, gst_buffer_get_size (rig_buffer (rig, 0, NULL)));
      rig_event (rig, gst_event_new_stream_start ("next"));
      rig_caps (rig, text);
      rig_segment (rig);
    }
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- gray output ---------------------------------------------------------------------------------- */

static void
gray_where_downstream_asks (void)
{
  static const struct
  {
    const char *in, *accepts, *out; /* out NULL: impossible */
  } trial[] = {
    { "video/x-raw,format=I420,width=64,height=48,framerate=25/1,colorimetry=bt709,chroma-site=mpeg2,"
      "pixel-aspect-ratio=4/3,interlace-mode=interleaved",
      "video/x-raw,format=GRAY8",
      "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1,colorimetry=1:4:0:0,pixel-aspect-ratio=4/3,"
      "interlace-mode=interleaved" },
    { "video/x-raw,format=RGBA,width=64,height=48", "video/x-raw,format=GRAY8",
      "video/x-raw,format=GRAY8,width=64,height=48,colorimetry=1:4:0:0" },
    { "video/x-raw,format=P010_10LE,width=64,height=48,framerate=0/1", "video/x-raw,format=GRAY16_LE",
      "video/x-raw,format=GRAY16_LE,width=64,height=48,framerate=0/1,colorimetry=1:4:0:0" },
    { "video/x-raw,format=GRAY16_BE,width=64,height=48", "video/x-raw,format=GRAY16_LE",
      "video/x-raw,format=GRAY16_LE,width=64,height=48,colorimetry=1:4:0:0" },
    /* The input's own format comes first, whatever downstream likes better. */
    { "video/x-raw,format=I420,width=64,height=48", "video/x-raw,format={GRAY8,I420}",
      "video/x-raw,format=I420,width=64,height=48" },
    { "video/x-raw,format=I420,width=64,height=48", "video/x-raw,format=GRAY8;video/x-raw,format=I420",
      "video/x-raw,format=I420,width=64,height=48" },
    { "video/x-raw,format=I420,width=64,height=48", "video/x-raw,format={NV12,GRAY8}",
      "video/x-raw,format=GRAY8,width=64,height=48,colorimetry=1:4:0:0" },
    { "video/x-raw,format=GRAY8,width=64,height=48,colorimetry=bt601", "video/x-raw,format=GRAY8",
      "video/x-raw,format=GRAY8,width=64,height=48,colorimetry=bt601" },
    { "video/x-raw,format=I420,width=64,height=48", "video/x-raw,format=GRAY16_LE", NULL },
    { "video/x-raw,format=P010_10LE,width=64,height=48", "video/x-raw,format=GRAY8", NULL },
    { "video/x-raw,format=GRAY8,width=64,height=48", "video/x-raw,format=I420", NULL },
    { "video/x-raw,format=I420,width=64,height=48", "video/x-raw,format=I420,width=65", NULL },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    Rig *rig = rig_new ("backend=cpu");
    gboolean works;

    et_context ("%s to %s", trial[i].in, trial[i].accepts);
    rig->accepts = gst_caps_from_string (trial[i].accepts);
    works = rig_start (rig, trial[i].in);
    T_CHECK (works == (trial[i].out != NULL), "works: %d", works);
    if (works) {
      GstCaps *expected = gst_caps_from_string (trial[i].out), *out = rig_output_caps (rig);
      gchar *text = gst_caps_to_string (out);

      T_CHECK (out && gst_caps_is_equal (expected, out), "gives %s", text);
      T_CHECK (rig_push_pictures (rig, 0, 1) == GST_FLOW_OK, "a frame is refused");
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 1, "no frame");
      g_free (text);
      gst_caps_unref (expected);
      gst_clear_caps (&out);
    } else {
      T_CHECK (rig_push (rig, gst_buffer_new ()) == GST_FLOW_NOT_NEGOTIATED, "a frame is taken all the same");
    }
    rig_free (rig);
  }
}

/* What upstream hears when it asks what it may send. */
static void
caps_queries (void)
{
  GstCaps *caps, *want;
  GstStructure *structure;
  const GValue *formats;
  GstPad *sink;
  Rig *rig = rig_new ("");

  sink = gst_element_get_static_pad (rig->element, "sink");
  gst_pad_set_active (rig->sink, TRUE);
  rig->accepts = gst_caps_from_string ("video/x-raw,format=GRAY8,width=123,height=[ 7, 77 ],framerate=30/1");
  caps = gst_pad_query_caps (sink, NULL);
  want = gst_caps_from_string ("video/x-raw,format=I420,width=123,height=77,framerate=30/1");
  T_CHECK (gst_caps_can_intersect (want, caps), "I420 to gray is not offered");
  gst_caps_unref (want);
  want = gst_caps_from_string ("video/x-raw,format=I420_10LE,width=123,height=77,framerate=30/1");
  T_CHECK (!gst_caps_can_intersect (want, caps), "deep input to GRAY8 is offered");
  gst_caps_unref (want);
  want = gst_caps_from_string ("video/x-raw,format=I420,width=124,height=77");
  T_CHECK (!gst_caps_can_intersect (want, caps), "another width is offered");
  gst_caps_unref (want);
  /* The format that needs no conversion is the first choice. */
  structure = gst_caps_get_structure (caps, 0);
  formats = gst_structure_get_value (structure, "format");
  T_CHECK (G_VALUE_HOLDS_STRING (formats) && g_str_equal (g_value_get_string (formats), "GRAY8"), "not GRAY8 first");
  gst_caps_unref (caps);

  gst_clear_caps (&rig->accepts);
  rig->accepts = gst_caps_from_string ("video/x-raw,format=GRAY16_LE");
  caps = gst_pad_query_caps (sink, NULL);
  want = gst_caps_from_string ("video/x-raw,format=P010_10LE,width=1,height=1");
  T_CHECK (gst_caps_can_intersect (want, caps), "deep input to %s is not offered", deep_gray);
  gst_caps_unref (want);
  gst_caps_unref (caps);
  gst_object_unref (sink);
  rig_free (rig);
}

/* ---- what is refused ------------------------------------------------------------------------------ */

static void
refusals (void)
{
  static const char *const caps[] = {
    "video/x-raw,format=v210,width=64,height=48",
    "video/x-raw,format=NV12_4L4,width=64,height=48",
    "video/x-raw,format=NV12_64Z32,width=64,height=48",
    "video/x-raw,format=RGB8P,width=64,height=48",
    "video/x-raw,format=RGB16,width=64,height=48",
    "video/x-raw,format=GRAY10_LE32,width=64,height=48",
    "video/x-raw,format=UYVP,width=64,height=48",
    "video/x-raw,format=nothing,width=64,height=48",
    "video/x-raw,format=I420,width=64,height=48,interlace-mode=alternate",
    "video/x-raw(format:Interlaced),format=I420,width=64,height=48,interlace-mode=alternate",
    "video/x-raw,format=I420,width=64,height=48,interlace-mode=fields",
    "video/x-raw(memory:DMABuf),format=I420,width=64,height=48",
    "video/x-raw(memory:NVMM),format=NV12,width=64,height=48",
    "video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48",
    "video/x-raw(meta:GstVideoOverlayComposition),format=I420,width=64,height=48",
    "video/x-raw,format=I420,width=0,height=48",
    "video/x-raw,format=I420,width=64,height=-1",
    "video/x-raw,format=I420,width=64",
    "video/x-raw,width=64,height=48",
    "video/x-h264,width=64,height=48",
    "audio/x-raw,format=S16LE,rate=48000,channels=2",
  };
  guint i, k;

  for (k = 0; k < 2; k++)
    for (i = 0; i < G_N_ELEMENTS (caps); i++) {
      Rig *rig = rig_new (k ? "backend=cpu bypass=true" : "backend=cpu");

      et_context ("%s", caps[i]);
      T_CHECK (!rig_start (rig, caps[i]), "accepted");
      T_CHECK (rig_push (rig, gst_buffer_new_allocate (NULL, 10000, NULL)) == GST_FLOW_NOT_NEGOTIATED,
               "a frame is taken");
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 0, "a frame comes out");
      rig_free (rig);
    }
}

/* What GStreamer cannot describe is refused like anything else that is impossible, but with its size. */
static void
sizes_beyond_description (void)
{
  static const struct
  {
    const char *caps, *size;
  } trial[] = {
    { "video/x-raw,format=GRAY8,width=2000000,height=1000000", "2000000x1000000" },
    { "video/x-raw,format=RGBA64_LE,width=1000000,height=1000000", "1000000x1000000" },
    { "video/x-raw,format=I420,width=2147483647,height=2147483647", "2147483647x2147483647" },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    Rig *rig = rig_new ("backend=cpu");
    gchar *text;

    et_context ("%s", trial[i].caps);
    T_CHECK (!rig_start (rig, trial[i].caps), "accepted");
    T_CHECK (rig_push (rig, gst_buffer_new ()) == GST_FLOW_NOT_NEGOTIATED, "a frame is taken");
    T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) >= 1, "no error message");
    T_CHECK (strstr (text, trial[i].size), "the size is not named: %s", text);
    g_free (text);
    rig_free (rig);
  }
}

/* More than the host has, by the rule that new caps go through: GStreamer 1.22 describes no frame above 4 GB. */
static void
sizes_beyond_memory (void)
{
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=RGB,width=640,height=480");
  SobelConfig config;
  SobelError error = { SOBEL_STATUS_OK, "" };
  GstVideoInfo info;

  gst_video_info_from_caps (&info, caps);
  gst_caps_unref (caps);
  T_CHECK (gst_sobel_config_from_info (&config, &info, &info, &error), "an ordinary size is refused: %s",
           error.message);
  info.size = (gsize) 1 << 52;
  T_CHECK (!gst_sobel_config_from_info (&config, &info, &info, &error), "8 PB are accepted");
  T_CHECK (error.status == SOBEL_STATUS_NO_MEMORY && strstr (error.message, "640x480") &&
               strstr (error.message, "9007199254740992"),
           "%s", error.message);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "templates-say-what-works", templates_say_what_works },
    { "caps-pass-unchanged", caps_pass_unchanged },
    { "caps-change", caps_change },
    { "gray-where-downstream-asks", gray_where_downstream_asks },
    { "caps-queries", caps_queries },
    { "refusals", refusals },
    { "sizes-beyond-description", sizes_beyond_description },
    { "sizes-beyond-memory", sizes_beyond_memory },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

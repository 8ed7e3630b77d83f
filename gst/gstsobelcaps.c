/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelcaps.h"

#include "gstsobelcudacaps.h"

#include <string.h>

#ifdef __unix__
#include <unistd.h>
#endif

/* Colorimetry of gray made from another format: full range, the rest as GStreamer has it by default. */
#define GRAY_COLORIMETRY "1:4:0:0"

/* First choices where both neighbours can do everything: what cameras, decoders and screens use. */
static const gchar *const preferred_formats[] = { "I420", "NV12", "GRAY8", "RGB",  "RGBx", "BGRx",
                                                  "RGBA", "BGRA", "YUY2",  "Y444", NULL };

/* What a frame can be; `fields` and `alternate` have one field a buffer. */
static const gchar *const interlace_modes[] = { "progressive", "interleaved", "mixed", NULL };

static gboolean
is_known (const SobelFormat *format)
{
  return gst_video_format_from_string (format->name) != GST_VIDEO_FORMAT_UNKNOWN;
}

static void
append_format (GValue *list, const gchar *name)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_STRING);
  g_value_set_string (&value, name);
  gst_value_list_append_and_take_value (list, &value);
}

/* What is the same in all memories: everything but the formats. */
static GstStructure *
common_structure (void)
{
  GstStructure *structure;
  GValue modes = G_VALUE_INIT;
  guint i;

  gst_value_list_init (&modes, 3);
  for (i = 0; interlace_modes[i]; i++)
    append_format (&modes, interlace_modes[i]);
  /* No framerate: caps without one are fine, and a field in the template would demand it. */
  structure = gst_structure_new ("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, G_MAXINT, "height", GST_TYPE_INT_RANGE,
                                 1, G_MAXINT, NULL);
  gst_structure_take_value (structure, "interlace-mode", &modes);
  return structure;
}

static gpointer
make_cuda_caps (gpointer unused)
{
  GstStructure *structure = common_structure ();
  GstCaps *caps = gst_sobel_cuda_caps_new (structure);

  GST_MINI_OBJECT_FLAG_SET (caps, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  gst_structure_free (structure);
  return caps;
}

/* The template's part of memory:CUDAMemory. (transfer none) */
static GstCaps *
cuda_caps (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, make_cuda_caps, NULL);
}

GstCaps *
gst_sobel_caps_template (void)
{
  GstStructure *structure = common_structure ();
  GValue formats = G_VALUE_INIT;
  GstCaps *caps;
  const SobelFormat *format;
  guint i;

  gst_value_list_init (&formats, 64);
  for (i = 0; preferred_formats[i]; i++)
    append_format (&formats, preferred_formats[i]);
  for (i = 0; (format = sobel_format_nth (i)); i++)
    if (is_known (format) && !g_strv_contains (preferred_formats, format->name))
      append_format (&formats, format->name);

  gst_structure_take_value (structure, "format", &formats);
  caps = gst_caps_new_empty ();
  gst_caps_append_structure (caps, structure);
  gst_caps_append (caps, gst_caps_ref (cuda_caps ()));
  return caps;
}

/* Gray that is made from `format`: GRAY8 for 8-bit samples, GRAY16_LE for deeper ones. */
static const gchar *
gray_of (const SobelFormat *format)
{
  return sobel_format_depth (format) == 8 ? "GRAY8" : "GRAY16_LE";
}

/* Adds to `out` what the formats in `value` (a string or a list of strings) become on the other pad. */
static void
collect_other_formats (GPtrArray *out, const GValue *value, GstPadDirection direction)
{
  if (GST_VALUE_HOLDS_LIST (value)) {
    guint i;
    for (i = 0; i < gst_value_list_get_size (value); i++)
      collect_other_formats (out, gst_value_list_get_value (value, i), direction);
  } else if (G_VALUE_HOLDS_STRING (value)) {
    const gchar *name = g_value_get_string (value);
    const SobelFormat *format = sobel_format_find (name);
    guint i;

    if (!format)
      return;
    if (direction == GST_PAD_SINK) {
      const gchar *gray = gray_of (format);
      if (!g_str_equal (gray, name) && !g_ptr_array_find_with_equal_func (out, gray, g_str_equal, NULL))
        g_ptr_array_add (out, (gpointer) gray);
    } else {
      for (i = 0; (format = sobel_format_nth (i)); i++)
        if (is_known (format) && g_str_equal (gray_of (format), name) && !g_str_equal (format->name, name) &&
            !g_ptr_array_find_with_equal_func (out, format->name, g_str_equal, NULL))
          g_ptr_array_add (out, (gpointer) format->name);
    }
  }
}

/* `structure` with the gray conversion applied, or NULL where there is none. (transfer full) */
static GstStructure *
gray_structure (const GstStructure *structure, GstPadDirection direction)
{
  const GValue *value = gst_structure_get_value (structure, "format");
  GPtrArray *names;
  GstStructure *gray = NULL;

  if (!value)
    return NULL;
  names = g_ptr_array_new ();
  collect_other_formats (names, value, direction);
  if (names->len) {
    GValue formats = G_VALUE_INIT;
    guint i;

    gray = gst_structure_copy (structure);
    if (names->len == 1) {
      gst_structure_set (gray, "format", G_TYPE_STRING, g_ptr_array_index (names, 0), NULL);
    } else {
      gst_value_list_init (&formats, names->len);
      for (i = 0; i < names->len; i++)
        append_format (&formats, g_ptr_array_index (names, i));
      gst_structure_take_value (gray, "format", &formats);
    }
    /* Colour descriptions do not survive the conversion in either direction. */
    gst_structure_remove_fields (gray, "colorimetry", "chroma-site", NULL);
    if (direction == GST_PAD_SINK)
      gst_structure_set (gray, "colorimetry", G_TYPE_STRING, GRAY_COLORIMETRY, NULL);
  }
  g_ptr_array_unref (names);
  return gray;
}

/* Adds `structure` (taken) as memory:CUDAMemory, as far as that can hold it. */
static GstCaps *
merge_cuda (GstCaps *caps, GstStructure *structure)
{
  GstCaps *wish = gst_caps_new_empty (), *real;

  gst_caps_append_structure_full (wish, structure, gst_caps_features_new (GST_SOBEL_CAPS_FEATURE_CUDA, NULL));
  real = gst_caps_intersect_full (wish, cuda_caps (), GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (wish);
  return gst_caps_merge (caps, real);
}

GstCaps *
gst_sobel_caps_transform (GstPadDirection direction, GstCaps *caps, GstCaps *filter, gboolean cuda)
{
  GstCaps *result;
  guint i, n;

  caps = gst_caps_ref (caps);
  if (!cuda)
    caps = gst_sobel_cuda_caps_remove (caps);
  result = gst_caps_copy (caps);
  n = gst_caps_get_size (caps);

  /* The other kind of memory. */
  for (i = 0; cuda && i < n; i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);

    if (gst_sobel_caps_are_system (caps, i))
      result = merge_cuda (result, gst_structure_copy (structure));
    else if (gst_sobel_caps_are_cuda (caps, i))
      result = gst_caps_merge_structure (result, gst_structure_copy (structure));
  }
  /* Gray, which leaves in system memory alone. */
  for (i = 0; i < n; i++) {
    const gboolean system = gst_sobel_caps_are_system (caps, i);
    GstStructure *gray = NULL;

    if (system || (direction == GST_PAD_SINK && gst_sobel_caps_are_cuda (caps, i)))
      gray = gray_structure (gst_caps_get_structure (caps, i), direction);
    if (!gray)
      continue;
    if (cuda && direction == GST_PAD_SRC)
      result = merge_cuda (gst_caps_merge_structure (result, gst_structure_copy (gray)), gray);
    else
      result = gst_caps_merge_structure (result, gray);
  }
  gst_caps_unref (caps);
  if (filter) {
    GstCaps *both = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = both;
  }
  return result;
}

/* Whether a structure of `caps` has exactly, or among others, the format `name`, with these features. */
static gboolean
caps_offer_format (GstCaps *caps, const gchar *name, const GstCapsFeatures *features)
{
  GstCaps *wanted = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, name, NULL);
  gboolean found;

  gst_caps_set_features (wanted, 0, gst_caps_features_copy (features));
  found = gst_caps_can_intersect (caps, wanted);
  gst_caps_unref (wanted);
  return found;
}

/* `caps` in the other kind of memory. (transfer full) */
static GstCaps *
with_other_memory (GstCaps *caps)
{
  const gchar *feature =
      gst_sobel_caps_are_cuda (caps, 0) ? GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY : GST_SOBEL_CAPS_FEATURE_CUDA;
  GstCaps *other = gst_caps_copy (caps);

  gst_caps_set_features (other, 0, gst_caps_features_new (feature, NULL));
  return other;
}

GstCaps *
gst_sobel_caps_fixate (GstPadDirection direction, GstCaps *caps, GstCaps *othercaps)
{
  const gchar *name = gst_structure_get_string (gst_caps_get_structure (caps, 0), "format");
  GstCaps *result = NULL, *other;

  if (gst_caps_is_empty (othercaps) || !name)
    return gst_caps_fixate (othercaps);

  other = with_other_memory (caps);
  if (caps_offer_format (othercaps, name, gst_caps_get_features (caps, 0))) {
    /* The same caps: also those fields that our template would have added. */
    result = gst_caps_copy (caps);
  } else if (caps_offer_format (othercaps, name, gst_caps_get_features (other, 0))) {
    result = gst_caps_ref (other);
  } else if (direction == GST_PAD_SINK) {
    GstStructure *gray = gray_structure (gst_caps_get_structure (caps, 0), direction);

    if (gray) {
      result = gst_caps_new_empty ();
      gst_caps_append_structure (result, gray);
    }
  }
  gst_caps_unref (other);
  if (result && gst_caps_is_fixed (result)) {
    gst_caps_unref (othercaps);
    return result;
  }
  gst_clear_caps (&result);
  return gst_caps_fixate (othercaps);
}

GstCaps *
gst_sobel_caps_relax (GstCaps *caps)
{
  guint i;

  caps = gst_caps_make_writable (caps);
  for (i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);
    const GValue *modes = gst_structure_get_value (structure, "interlace-mode");

    if (modes && GST_VALUE_HOLDS_LIST (modes) &&
        gst_value_list_get_size (modes) == G_N_ELEMENTS (interlace_modes) - 1)
      gst_structure_remove_field (structure, "interlace-mode");
  }
  return caps;
}

const SobelFormat *
gst_sobel_format_of (const GstVideoInfo *info)
{
  return sobel_format_find (gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info)));
}

/* Bytes of the host's memory; 0 if it cannot be told. */
static guint64
host_memory (void)
{
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const long pages = sysconf (_SC_PHYS_PAGES), size = sysconf (_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (guint64) pages * (guint64) size : 0;
#else
  return 0;
#endif
}

gboolean
gst_sobel_config_from_info (SobelConfig *config, const GstVideoInfo *in, const GstVideoInfo *out, SobelError *error)
{
  const guint64 bytes = (guint64) in->size + out->size, memory = host_memory ();
  gdouble kr, kb;

  memset (config, 0, sizeof *config);
  config->in = gst_sobel_format_of (in);
  config->out = gst_sobel_format_of (out);
  if (!config->in || !config->out) {
    sobel_error_set (error, SOBEL_STATUS_INVALID, "no rule for format %s to %s",
                     gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (in)),
                     gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (out)));
    return FALSE;
  }
  if (memory && bytes > memory) {
    sobel_error_set (error, SOBEL_STATUS_NO_MEMORY,
                     "a %dx%d %s frame and its result take %" G_GUINT64_FORMAT " bytes, the host has "
                     "%" G_GUINT64_FORMAT, in->width, in->height, config->in->name, bytes, memory);
    return FALSE;
  }
  config->width = in->width;
  config->height = in->height;
  /* Only 16-235 is limited; an unknown range counts as full. */
  config->full_range = in->colorimetry.range != GST_VIDEO_COLOR_RANGE_16_235;
  if (!gst_video_color_matrix_get_Kr_Kb (in->colorimetry.matrix, &kr, &kb)) {
    kr = 0.299;
    kb = 0.114;
  }
  config->kr = kr;
  config->kb = kb;
  return TRUE;
}

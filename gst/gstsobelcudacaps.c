/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelcudacaps.h"

/* Asking the library for a format that it does not know ends the process in 1.22, so it is told here. */
typedef struct
{
  const gchar *name;
  guint8 since;      /* minor version that can allocate it */
  guint8 even_from;  /* versions that only get even heights right: from this one ... */
  guint8 even_until; /* ... to this one; 0: none */
} CudaFormat;

enum { UNFIXED = G_MAXUINT8 };

/* In 1.22 the V plane of an odd height begins half a row early. Since 1.24 the memory of NV21 is a chroma row short. */
static const CudaFormat cuda_formats[] = {
  { "NV12", 22, 0, 0 },       { "I420", 22, 22, 22 },      { "YV12", 22, 22, 22 },      { "NV21", 22, 24, UNFIXED },
  { "P010_10LE", 22, 0, 0 },  { "P012_LE", 24, 0, 0 },     { "P016_LE", 22, 0, 0 },     { "I420_10LE", 22, 22, 22 },
  { "I420_12LE", 24, 0, 0 },  { "Y444", 22, 0, 0 },        { "Y444_10LE", 24, 0, 0 },   { "Y444_12LE", 24, 0, 0 },
  { "Y444_16LE", 22, 0, 0 },  { "RGBA", 22, 0, 0 },        { "BGRA", 22, 0, 0 },        { "RGBx", 22, 0, 0 },
  { "BGRx", 22, 0, 0 },       { "ARGB", 22, 0, 0 },        { "ABGR", 22, 0, 0 },        { "RGB", 22, 0, 0 },
  { "BGR", 22, 0, 0 },        { "BGR10A2_LE", 22, 0, 0 },  { "RGB10A2_LE", 22, 0, 0 },  { "Y42B", 22, 0, 0 },
  { "I422_10LE", 22, 0, 0 },  { "I422_12LE", 22, 0, 0 },   { "YUY2", 22, 0, 0 },        { "UYVY", 22, 0, 0 },
  { "RGBP", 22, 0, 0 },       { "BGRP", 22, 0, 0 },        { "GBR", 22, 0, 0 },         { "GBR_10LE", 24, 0, 0 },
  { "GBR_12LE", 24, 0, 0 },   { "GBR_16LE", 24, 0, 0 },    { "GBRA", 22, 0, 0 },        { "VUYA", 26, 0, 0 },
  { "ARGB64", 28, 0, 0 },
};

static gboolean
holds (const CudaFormat *format, guint minor, gboolean *even_height)
{
  *even_height = format->even_until && minor >= format->even_from && minor <= format->even_until;
  return minor >= format->since;
}

gboolean
gst_sobel_cuda_holds (guint minor, const gchar *format, gboolean *even_height)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (cuda_formats); i++)
    if (g_str_equal (cuda_formats[i].name, format))
      return holds (&cuda_formats[i], minor, even_height);
  *even_height = FALSE;
  return FALSE;
}

/* The formats that need an even height, or those that do not. */
static void
collect (GValue *list, guint minor, gboolean even_height)
{
  guint i;

  gst_value_list_init (list, G_N_ELEMENTS (cuda_formats));
  for (i = 0; i < G_N_ELEMENTS (cuda_formats); i++) {
    const gchar *name = cuda_formats[i].name;
    GValue value = G_VALUE_INIT;
    gboolean even;

    if (!holds (&cuda_formats[i], minor, &even) || even != even_height || !sobel_format_find (name) ||
        gst_video_format_from_string (name) == GST_VIDEO_FORMAT_UNKNOWN)
      continue;
    g_value_init (&value, G_TYPE_STRING);
    g_value_set_string (&value, name);
    gst_value_list_append_and_take_value (list, &value);
  }
}

GstCaps *
gst_sobel_cuda_caps_new (const GstStructure *system)
{
  const GstSobelCudaLib *lib = gst_sobel_cuda_lib ();
  GstCaps *caps = gst_caps_new_empty ();
  guint even;

  if (!lib)
    return caps;
  for (even = 0; even <= 1; even++) {
    GstStructure *structure = gst_structure_copy (system);
    GValue formats = G_VALUE_INIT;

    collect (&formats, lib->minor, even);
    if (even) {
      GValue height = G_VALUE_INIT;

      g_value_init (&height, GST_TYPE_INT_RANGE);
      gst_value_set_int_range_step (&height, 2, G_MAXINT - 1, 2);
      gst_structure_take_value (structure, "height", &height);
    }
    if (gst_value_list_get_size (&formats) > 0) {
      gst_structure_take_value (structure, "format", &formats);
      gst_caps_append_structure_full (caps, structure, gst_caps_features_new (GST_SOBEL_CAPS_FEATURE_CUDA, NULL));
    } else {
      g_value_unset (&formats);
      gst_structure_free (structure);
    }
  }
  return caps;
}

gboolean
gst_sobel_caps_are_cuda (GstCaps *caps, guint nth)
{
  const GstCapsFeatures *features = gst_caps_get_features (caps, nth);

  return features && !gst_caps_features_is_any (features) && gst_caps_features_get_size (features) == 1 &&
         gst_caps_features_contains (features, GST_SOBEL_CAPS_FEATURE_CUDA);
}

gboolean
gst_sobel_caps_are_system (GstCaps *caps, guint nth)
{
  const GstCapsFeatures *features = gst_caps_get_features (caps, nth);

  return !features || gst_caps_features_is_equal (features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
}

GstCaps *
gst_sobel_cuda_caps_remove (GstCaps *caps)
{
  guint i = gst_caps_get_size (caps);

  while (i > 0)
    if (gst_sobel_caps_are_cuda (caps, --i)) {
      caps = gst_caps_make_writable (caps);
      gst_caps_remove_structure (caps, i);
    }
  return caps;
}

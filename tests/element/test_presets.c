/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The looks of GstCudaSobel.prs: each sets what it says, and a frame comes out as it says. Also one that a user saves.
 * Needs GST_PRESET_PATH to name the folder of that file. */

#include "gstcudasobel.h"
#include "testutil.h"

#include <glib/gstdio.h>
#include <gst/check/gstharness.h>
#include <string.h>

enum { WIDTH = 32, HEIGHT = 16, STRIDE = WIDTH * 3, STRONG_X = 8, WEAK_X = 24 };
/* Codes left of the strong edge, between the edges, and right of the weak one. */
enum { DARK = 40, BRIGHT = 200, BRIGHTER = 203 };

typedef struct
{
  const char *name;
  const char *values;   /* as gst_structure_from_string() reads them */
  guint8 flat[3];       /* RGB in the middle of the bright area */
  guint8 strong[3];     /* at the edge of 160 codes */
  guint8 weak[3];       /* at the edge of 3 codes */
} Look;

#define COMMON                                                                                                         \
  "look, bypass=(boolean)false, gradient=(string)both, norm=(string)l2, border=(string)replicate, "                   \
  "precision=(string)integer, luma=(string)bt601, overlay-color=(uint)4294901760, "

static const Look looks[] = {
  { "focus peaking", COMMON "operator=sobel, gain=(double)1, threshold=0.6, invert=(boolean)false, mode=overlay",
    { 200, 200, 200 }, { 255, 0, 0 }, { 203, 203, 203 } },
  { "neon on black", COMMON "operator=sobel, gain=(double)2, threshold=0.2, invert=(boolean)false, mode=direction",
    { 0, 0, 0 }, { 255, 0, 0 }, { 0, 0, 0 } },
  { "pencil drawing", COMMON "operator=scharr, gain=0.2, threshold=0.04, invert=(boolean)true, mode=edges",
    { 255, 255, 255 }, { 0, 0, 0 }, { 255, 255, 255 } },
  { "plain edges", COMMON "operator=sobel, gain=(double)1, threshold=(double)0, invert=(boolean)false, mode=edges",
    { 0, 0, 0 }, { 255, 255, 255 }, { 12, 12, 12 } },
};

static const char *const look_properties[] = { "bypass", "operator", "gradient", "norm", "border", "precision", "luma",
  "gain", "threshold", "invert", "mode", "overlay-color", NULL };

/* Sets every property that a look holds to something that no look asks for. */
static void
scramble (GstElement *element)
{
  gst_util_set_object_arg (G_OBJECT (element), "operator", "prewitt");
  gst_util_set_object_arg (G_OBJECT (element), "gradient", "y");
  gst_util_set_object_arg (G_OBJECT (element), "norm", "l1");
  gst_util_set_object_arg (G_OBJECT (element), "border", "none");
  gst_util_set_object_arg (G_OBJECT (element), "precision", "float");
  gst_util_set_object_arg (G_OBJECT (element), "luma", "bt2020");
  gst_util_set_object_arg (G_OBJECT (element), "mode", "mask");
  g_object_set (element, "bypass", TRUE, "gain", 77.0, "threshold", 0.99, "overlay-color", 1u, NULL);
}

static char *
value_text (GstElement *element, const char *property)
{
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), property);
  GValue value = G_VALUE_INIT;
  char *text;

  g_value_init (&value, pspec->value_type);
  g_object_get_property (G_OBJECT (element), property, &value);
  if (G_VALUE_HOLDS_ENUM (&value))
    text = g_strdup (g_enum_get_value (g_type_class_peek (pspec->value_type), g_value_get_enum (&value))->value_nick);
  else
    text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

static void
check_values (GstElement *element, const Look *look)
{
  GstStructure *expected = gst_structure_from_string (look->values, NULL);
  guint i;

  if (!T_CHECK (expected != NULL, "%s", look->values))
    return;
  for (i = 0; look_properties[i]; i++) {
    const GValue *value = gst_structure_get_value (expected, look_properties[i]);
    char *want = G_VALUE_HOLDS_STRING (value) ? g_value_dup_string (value) : gst_value_serialize (value);
    char *got = value_text (element, look_properties[i]);

    T_CHECK (g_strcmp0 (want, got) == 0, "%s: %s is %s, not %s", look->name, look_properties[i], got, want);
    g_free (want);
    g_free (got);
  }
  gst_structure_free (expected);
}

static GstBuffer *
make_frame (guint number)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, STRIDE * HEIGHT, NULL);
  GstMapInfo map;
  int i;

  GST_BUFFER_PTS (buffer) = number * GST_SECOND / 25;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 25;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (i = 0; i < STRIDE * HEIGHT; i++) {
    const int x = i % STRIDE / 3;
    map.data[i] = x < STRONG_X ? DARK : x < WEAK_X ? BRIGHT : BRIGHTER;
  }
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

static void
check_pixel (const guint8 *data, int x, const guint8 *want, const Look *look, const char *where)
{
  const guint8 *got = data + HEIGHT / 2 * STRIDE + x * 3;
  int i;

  for (i = 0; i < 3; i++) { /* directions may differ by 2 codes */
    T_CHECK (ABS (got[i] - want[i]) <= (strstr (look->values, "direction") ? 2 : 0),
             "%s: %s is (%u, %u, %u), not (%u, %u, %u)", look->name, where, got[0], got[1], got[2], want[0], want[1],
             want[2]);
  }
}

/* Every look is loaded into the same playing element, after another one. */
static void
test_looks (void)
{
  GstElement *element = gst_element_factory_make ("cudasobel", NULL);
  GstHarness *harness = gst_harness_new_with_element (element, "sink", "src");
  guint i;

  g_object_set (element, "backend", GST_SOBEL_BACKEND_CPU, NULL);
  gst_harness_set_src_caps_str (harness, "video/x-raw,format=RGB,width=32,height=16,framerate=25/1");
  for (i = 0; i < G_N_ELEMENTS (looks); i++) {
    const Look *look = &looks[i];
    GstBuffer *out;
    GstMapInfo map;

    scramble (element);
    if (!T_CHECK (gst_preset_load_preset (GST_PRESET (element), look->name), "%s does not load", look->name))
      continue;
    check_values (element, look);
    out = gst_harness_push_and_pull (harness, make_frame (i));
    if (!T_CHECK (out && gst_buffer_map (out, &map, GST_MAP_READ), "%s: no frame", look->name))
      continue;
    check_pixel (map.data, (STRONG_X + WEAK_X) / 2, look->flat, look, "the flat area");
    check_pixel (map.data, STRONG_X, look->strong, look, "the strong edge");
    check_pixel (map.data, WEAK_X, look->weak, look, "the weak edge");
    gst_buffer_unmap (out, &map);
    gst_buffer_unref (out);
  }
  gst_harness_teardown (harness);
  gst_object_unref (element);
}

static void
test_names (void)
{
  GstElement *element = gst_object_ref_sink (gst_element_factory_make ("cudasobel", NULL));
  char **names = gst_preset_get_preset_names (GST_PRESET (element));
  char **properties = gst_preset_get_property_names (GST_PRESET (element));
  char *comment = NULL;
  guint i;

  T_CHECK (names && g_strv_length (names) == G_N_ELEMENTS (looks), "%u presets", names ? g_strv_length (names) : 0);
  for (i = 0; i < G_N_ELEMENTS (looks); i++) {
    T_CHECK (names && g_strv_contains ((const char *const *) names, looks[i].name), "%s is missing", looks[i].name);
    gst_preset_get_meta (GST_PRESET (element), looks[i].name, "comment", &comment);
    T_CHECK (comment && *comment, "%s has no comment", looks[i].name);
    g_clear_pointer (&comment, g_free);
  }
  T_CHECK (g_strv_length (properties) == g_strv_length ((char **) look_properties), "%u properties",
           g_strv_length (properties));
  for (i = 0; look_properties[i]; i++)
    T_CHECK (g_strv_contains ((const char *const *) properties, look_properties[i]), "%s is missing",
             look_properties[i]);
  T_CHECK (!gst_preset_load_preset (GST_PRESET (element), "no such look"), "a look that does not exist was loaded");
  g_strfreev (properties);
  g_strfreev (names);
  gst_object_unref (element);
}

/* What a user saves goes to the user's data folder, and holds nothing that a playing element could not take. */
static void
test_saving (const char *data_dir)
{
  GstElement *element = gst_object_ref_sink (gst_element_factory_make ("cudasobel", NULL));
  char *path = g_build_filename (data_dir, "gstreamer-1.0", "presets", "GstCudaSobel.prs", NULL);
  char *text = NULL;
  double gain = 0;

  g_object_set (element, "gain", 3.25, "ring-size", 7u, NULL);
  T_CHECK (gst_preset_save_preset (GST_PRESET (element), "mine"), "not saved");
  g_object_set (element, "gain", 1.0, NULL);
  T_CHECK (gst_preset_load_preset (GST_PRESET (element), "mine"), "not loaded");
  g_object_get (element, "gain", &gain, NULL);
  T_CHECK (gain == 3.25, "gain is %g", gain);
  if (T_CHECK (g_file_get_contents (path, &text, NULL, NULL), "%s was not written", path)) {
    T_CHECK (strstr (text, "[mine]") && strstr (text, "gain=3.25"), "%s: %s", path, text);
    T_CHECK (!strstr (text, "ring-size") && !strstr (text, "backend"), "%s: %s", path, text);
  }
  T_CHECK (gst_preset_delete_preset (GST_PRESET (element), "mine"), "not deleted");
  g_free (text);
  g_free (path);
  gst_object_unref (element);
}

static void
remove_tree (const char *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir))) {
    char *child = g_build_filename (path, name, NULL);
    remove_tree (child);
    g_free (child);
  }
  if (dir)
    g_dir_close (dir);
  g_remove (path);
}

int
main (int argc, char **argv)
{
  char *data_dir = g_dir_make_tmp ("sobel-presets-XXXXXX", NULL);

  g_setenv ("XDG_DATA_HOME", data_dir, TRUE);
  gst_init (&argc, &argv);
  if (!T_CHECK (g_getenv ("GST_PRESET_PATH") && GST_ELEMENT_REGISTER (cudasobel, NULL), "cannot start"))
    return t_result ();
  test_names ();
  test_looks ();
  test_saving (data_dir);
  remove_tree (data_dir);
  g_free (data_dir);
  return t_result ();
}

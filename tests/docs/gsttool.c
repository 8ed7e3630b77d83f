/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What tests/docs/check_readme.py asks GStreamer:
 *   gsttool properties       one line a property of cudasobel, separated by tabs: name, default, an enum's values or a
 *                            number's least and largest, and when it may change
 *   gsttool parse PIPELINE   0: every element and property is there and can be linked; 77: an element of somebody
 *                            else's is not installed */

#include <gst/gst.h>
#include <string.h>

static void
print_range (GParamSpec *property)
{
  if (G_IS_PARAM_SPEC_INT (property))
    g_print ("%d %d", G_PARAM_SPEC_INT (property)->minimum, G_PARAM_SPEC_INT (property)->maximum);
  else if (G_IS_PARAM_SPEC_UINT (property))
    g_print ("%u %u", G_PARAM_SPEC_UINT (property)->minimum, G_PARAM_SPEC_UINT (property)->maximum);
  else if (G_IS_PARAM_SPEC_DOUBLE (property))
    g_print ("%g %g", G_PARAM_SPEC_DOUBLE (property)->minimum, G_PARAM_SPEC_DOUBLE (property)->maximum);
}

/* In the words of README.md, where what may change while playing can also be controlled. */
static const gchar *
when (GParamSpec *property)
{
  const gboolean controllable = (property->flags & GST_PARAM_CONTROLLABLE) != 0;

  if (!(property->flags & G_PARAM_WRITABLE))
    return "read only";
  if (property->flags & GST_PARAM_MUTABLE_PLAYING)
    return controllable ? "Playing" : "Playing, but not by a controller";
  if (property->flags & GST_PARAM_MUTABLE_READY)
    return controllable ? "Ready, but controllable" : "Ready";
  return "";
}

static int
print_properties (void)
{
  GstElement *element = gst_element_factory_make ("cudasobel", NULL);
  GParamSpec **properties;
  guint n = 0, i, j;

  if (!element) {
    g_printerr ("no element cudasobel\n");
    return 1;
  }
  properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;
    gchar *text;

    g_value_init (&value, properties[i]->value_type);
    g_param_value_set_default (properties[i], &value);
    text = G_VALUE_HOLDS_BOXED (&value) ? NULL : gst_value_serialize (&value); /* no structure has no text */
    g_print ("%s\t%s\t", properties[i]->name, text ? text : "");
    if (G_IS_PARAM_SPEC_ENUM (properties[i])) {
      const GEnumClass *values = G_PARAM_SPEC_ENUM (properties[i])->enum_class;
      for (j = 0; j < values->n_values; j++)
        g_print ("%s%s", j ? " " : "", values->values[j].value_nick);
    }
    print_range (properties[i]);
    g_print ("\t%s\n", when (properties[i]));
    g_free (text);
    g_value_unset (&value);
  }
  g_free (properties);
  gst_object_unref (element);
  return 0;
}

static int
parse (const gchar *description)
{
  GError *error = NULL;
  GstParseContext *context = gst_parse_context_new ();
  GstElement *pipeline = gst_parse_launch_full (description, context, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  gchar **missing = gst_parse_context_get_missing_elements (context);
  int rc = 0;

  if (!pipeline) {
    g_printerr ("%s: %s\n", description, error ? error->message : "cannot be parsed");
    rc = missing && missing[0] && !g_strv_contains ((const gchar *const *) missing, "cudasobel") ? 77 : 1;
  }
  g_clear_error (&error);
  g_strfreev (missing);
  gst_parse_context_free (context);
  gst_clear_object (&pipeline);
  return rc;
}

int
main (int argc, char **argv)
{
  gst_init (NULL, NULL);
  if (argc == 2 && strcmp (argv[1], "properties") == 0)
    return print_properties ();
  if (argc == 3 && strcmp (argv[1], "parse") == 0)
    return parse (argv[2]);
  return 2;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "websettings.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

static const char *const plain_properties[] = { "mode", "operator", "threshold", "gain", "invert", "bypass", NULL };

void
web_json_append_string (GString *json, const char *text)
{
  const char *c;

  g_string_append_c (json, '"');
  for (c = text ? text : ""; *c; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_printf (json, "\\%c", *c);
    else if ((guchar) *c < 32)
      g_string_append_printf (json, "\\u%04x", (guint) *c);
    else
      g_string_append_c (json, *c);
  }
  g_string_append_c (json, '"');
}

static void
append_names (GString *json, const char *name, char **values)
{
  guint i;

  g_string_append_printf (json, ",\"%s\":[", name);
  for (i = 0; values && values[i]; i++) {
    if (i > 0)
      g_string_append_c (json, ',');
    web_json_append_string (json, values[i]);
  }
  g_string_append_c (json, ']');
}

static void
append_choices (GstElement *sobel, GString *json, const char *property, const char *name)
{
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (sobel), property);
  GEnumClass *values = G_PARAM_SPEC_ENUM (pspec)->enum_class;
  char **names = g_new0 (char *, values->n_values + 1);
  guint i;

  for (i = 0; i < values->n_values; i++)
    names[i] = g_strdup (values->values[i].value_nick);
  append_names (json, name, names);
  g_strfreev (names);
}

void
web_settings_to_json (GstElement *sobel, GString *json)
{
  char **presets = gst_preset_get_preset_names (GST_PRESET (sobel));
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  guint argb = 0, i;

  for (i = 0; plain_properties[i]; i++) {
    GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (sobel), plain_properties[i]);
    GValue value = G_VALUE_INIT;
    char *text;

    g_value_init (&value, pspec->value_type);
    g_object_get_property (G_OBJECT (sobel), pspec->name, &value);
    text = gst_value_serialize (&value);
    g_string_append_printf (json, "%s\"%s\":", i ? "," : "", pspec->name);
    if (G_VALUE_HOLDS_ENUM (&value))
      web_json_append_string (json, text);
    else if (G_VALUE_HOLDS_DOUBLE (&value))
      g_string_append (json, g_ascii_formatd (number, sizeof number, "%.15g", g_value_get_double (&value)));
    else
      g_string_append (json, g_value_get_boolean (&value) ? "true" : "false");
    g_free (text);
    g_value_unset (&value);
  }
  g_object_get (sobel, "overlay-color", &argb, NULL);
  g_string_append_printf (json, ",\"color\":\"#%06x\",\"strength\":%s", argb & 0xffffff,
                          g_ascii_formatd (number, sizeof number, "%.4f", (argb >> 24) / 255.0));
  append_choices (sobel, json, "mode", "modes");
  append_choices (sobel, json, "operator", "operators");
  append_names (json, "presets", presets);
  g_strfreev (presets);
}

static gboolean
set_overlay_color (const char *name, const char *text, guint *argb)
{
  guint64 rgb;
  double strength;
  char *end;

  if (strcmp (name, "color") == 0) {
    if (text[0] != '#' || strlen (text) != 7 || !g_ascii_string_to_unsigned (text + 1, 16, 0, 0xffffff, &rgb, NULL))
      return FALSE;
    *argb = (*argb & 0xff000000u) | (guint) rgb;
    return TRUE;
  }
  strength = g_ascii_strtod (text, &end);
  if (*text == 0 || *end != 0 || !(strength >= 0 && strength <= 1))
    return FALSE;
  *argb = (*argb & 0xffffffu) | (guint) lrint (strength * 255) << 24;
  return TRUE;
}

/* A value for a plain property, or FALSE. */
static gboolean
parse_value (GstElement *sobel, const char *name, const char *text, GValue *value)
{
  GParamSpec *pspec;

  if (!g_strv_contains (plain_properties, name))
    return FALSE;
  pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (sobel), name);
  g_value_init (value, pspec->value_type);
  /* A value that had to be changed to fit is none that was meant. */
  if (gst_value_deserialize (value, text) && !g_param_value_validate (pspec, value) &&
      !(G_VALUE_HOLDS_DOUBLE (value) && isnan (g_value_get_double (value))))
    return TRUE;
  g_value_unset (value);
  return FALSE;
}

static gboolean
is_preset (GstElement *sobel, const char *name)
{
  char **presets = gst_preset_get_preset_names (GST_PRESET (sobel));
  const gboolean found = presets && g_strv_contains ((const char *const *) presets, name);

  g_strfreev (presets);
  return found;
}

/* With `apply` FALSE only looks whether it could be set. */
static gboolean
set_one (GstElement *sobel, const char *name, const char *text, gboolean apply)
{
  GValue value = G_VALUE_INIT;
  guint argb;

  if (strcmp (name, "preset") == 0)
    return is_preset (sobel, text) && (!apply || gst_preset_load_preset (GST_PRESET (sobel), text));
  if (strcmp (name, "color") == 0 || strcmp (name, "strength") == 0) {
    g_object_get (sobel, "overlay-color", &argb, NULL);
    if (!set_overlay_color (name, text, &argb))
      return FALSE;
    if (apply)
      g_object_set (sobel, "overlay-color", argb, NULL);
    return TRUE;
  }
  if (!parse_value (sobel, name, text, &value))
    return FALSE;
  if (apply)
    g_object_set_property (G_OBJECT (sobel), name, &value);
  g_value_unset (&value);
  return TRUE;
}

gboolean
web_settings_from_form (GstElement *sobel, const char *form, GError **error)
{
  gboolean apply;

  for (apply = FALSE; apply <= TRUE; apply++) {
    GUriParamsIter iter;
    char *name, *text;

    g_uri_params_iter_init (&iter, form, -1, "&", G_URI_PARAMS_WWW_FORM);
    while (g_uri_params_iter_next (&iter, &name, &text, error)) {
      const gboolean ok = set_one (sobel, name, text, apply);
      if (!ok)
        g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "%s cannot be \"%s\"", name, text);
      g_free (name);
      g_free (text);
      if (!ok)
        return FALSE;
    }
    if (error && *error)
      return FALSE;
  }
  return TRUE;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_EXAMPLE_WEB_SETTINGS_H
#define SOBEL_EXAMPLE_WEB_SETTINGS_H

/* cudasobel's properties as the page speaks of them. Names: mode, operator, threshold, gain, invert, bypass, as in the
 * element; color ("#rrggbb") and strength (0 to 1), which make its overlay-color; preset. */

#include <gst/gst.h>

/* Appends "name":value pairs, comma between them, and the lists that the page chooses from. */
void web_settings_to_json (GstElement *sobel, GString *json);

/* Sets what `form` says ("mode=overlay&threshold=0.2"), all or nothing. FALSE: `error` says what was wrong. */
gboolean web_settings_from_form (GstElement *sobel, const char *form, GError **error);

void web_json_append_string (GString *json, const char *text);

#endif

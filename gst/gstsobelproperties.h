/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_PROPERTIES_H
#define GST_SOBEL_PROPERTIES_H

#include "gstcudasobel.h"

G_BEGIN_DECLS

/* Installs set_property, get_property and every property on the element's class. */
void gst_sobel_properties_install (GObjectClass *klass);
/* The defaults, on a new element. */
void gst_sobel_properties_init (GstCudaSobel *self);

/* Presets hold looks: every controllable property but `kernel`, and nothing that says where frames are computed. */
void gst_sobel_preset_interface_init (gpointer iface, gpointer data);

/* The `stats` property's value; any thread. (transfer full) */
GstStructure *gst_cuda_sobel_get_stats (GstCudaSobel *self);

G_END_DECLS
#endif

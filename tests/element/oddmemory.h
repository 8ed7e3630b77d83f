/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ELEMENT_ODD_MEMORY_H
#define SOBEL_ELEMENT_ODD_MEMORY_H

#include <gst/gst.h>

G_BEGIN_DECLS

/* Memory that can be neither mapped nor copied. (transfer full) */
GstMemory *odd_memory_unmappable (gsize size);

G_END_DECLS
#endif

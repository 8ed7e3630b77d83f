/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_COPIER_H
#define GST_SOBEL_COPIER_H

#include "sobelimage.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* Copies frames between memories of the host: large ones by a few threads, which start with the first such copy. Used
 * by the streaming thread and the output task, at once if need be. */
typedef struct GstSobelCopier GstSobelCopier;

GstSobelCopier *gst_sobel_copier_new (void);
/* Nobody copies any more. NULL does nothing. */
void gst_sobel_copier_free (GstSobelCopier *self);

/* Copies the rows of the planes whose bit in `planes` is set; both images have the same format and size. Returns the
 * bytes copied. */
guint64 gst_sobel_copier_copy (GstSobelCopier *self, SobelImage *to, const SobelImage *from, guint planes);

G_END_DECLS

#endif

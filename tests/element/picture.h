/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ELEMENT_PICTURE_H
#define SOBEL_ELEMENT_PICTURE_H

/* Whether a buffer that came out is the picture that the oracle makes of the one that went in. */

#include "rig.h"

#include "sobelparams.h"

G_BEGIN_DECLS

/* The last format that the installed GStreamer has. Formats are asked for by number up to it; past it GStreamer 1.26
 * complains. */
GstVideoFormat picture_last_format (void);

/* The settings of an element, as the oracle takes them; `bypass` as mode. */
SobelParams picture_params (GstElement *element);

/* Complains at the first difference. Whole rows are compared, filler included, but for mode=direction, whose samples
 * may be two codes off. */
gboolean picture_check (GstBuffer *in, const GstVideoInfo *in_info, GstBuffer *out, const GstVideoInfo *out_info,
                        const SobelParams *params, gboolean interlaced);

/* Whether all samples are the same (unused bits and padding may differ). */
gboolean picture_equal (GstBuffer *a, GstBuffer *b, const GstVideoInfo *info);

/* Checks all `n` buffers of the recording against rig_picture(first + i) by the element's settings and the caps of
 * both pads. */
void picture_check_recording (Rig *rig, guint first, guint n);

G_END_DECLS
#endif

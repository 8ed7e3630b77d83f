/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_CAPS_H
#define GST_SOBEL_CAPS_H

#include "core/sobelrecipe.h"
#include "core/sobelstatus.h"

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* What both pad templates say: every format of the table that the running GStreamer knows, in system memory, and those
 * that its CUDA memory can hold. (transfer full) */
GstCaps *gst_sobel_caps_template (void);

/* The element's transform_caps and fixate_caps. Output is the input's own format, in the same memory or, after it, in
 * the other kind; or gray of the same depth class in system memory. Every field but format, colorimetry and
 * chroma-site passes unchanged. Without `cuda` there is no memory:CUDAMemory on either side. */
GstCaps *gst_sobel_caps_transform (GstPadDirection direction, GstCaps *caps, GstCaps *filter, gboolean cuda);
/* Takes `othercaps`. */
GstCaps *gst_sobel_caps_fixate (GstPadDirection direction, GstCaps *caps, GstCaps *othercaps);

/* Takes the template's interlace-mode out of `caps` where nobody has narrowed it: caps need not name one, and a
 * capsfilter after a raw file would otherwise be left with a choice. */
GstCaps *gst_sobel_caps_relax (GstCaps *caps);

/* The format table's row, or NULL. */
const SobelFormat *gst_sobel_format_of (const GstVideoInfo *info);

/* Fills `config` from negotiated caps; FALSE, with `error` set, for pictures that cannot be handled. */
gboolean gst_sobel_config_from_info (SobelConfig *config, const GstVideoInfo *in, const GstVideoInfo *out,
                                     SobelError *error);

G_END_DECLS
#endif

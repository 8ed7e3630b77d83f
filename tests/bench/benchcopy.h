/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_BENCH_COPY_H
#define SOBEL_BENCH_COPY_H

#include <gst/base/base.h>

G_BEGIN_DECLS

/* `benchcopy`: one memcpy of each frame into a buffer of its own pool, all that a filter with a frame in and a frame
 * out has to do at least. For programs of this folder; in no plugin. */
#define BENCH_TYPE_COPY (bench_copy_get_type ())
G_DECLARE_FINAL_TYPE (BenchCopy, bench_copy, BENCH, COPY, GstBaseTransform)

/* Makes the name known to pipeline descriptions. */
gboolean bench_copy_register (void);

G_END_DECLS
#endif

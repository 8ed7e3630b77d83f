/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_STATS_H
#define GST_SOBEL_STATS_H

#include "core/sobeldevice.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* Frames that the mean times are taken over. */
enum { GST_SOBEL_STATS_WINDOW = 64 };

/* Counters since READY to PAUSED; any thread. */
typedef struct
{
  GMutex lock;
  guint64 frames_in;         /* every buffer that arrived */
  guint64 frames_out;        /* pushed */
  guint64 frames_dropped;    /* could not be mapped, or lost with the GPU's memory */
  guint64 qos_dropped;       /* skipped for being late */
  guint64 frames_recomputed; /* by the CPU, after the GPU failed */
  guint64 host_bytes_copied;
  guint n_times;             /* entries of the window in use */
  guint next;
  SobelTiming timing[GST_SOBEL_STATS_WINDOW];
  guint64 latency_ns[GST_SOBEL_STATS_WINDOW];
} GstSobelStats;

void gst_sobel_stats_init (GstSobelStats *self);
void gst_sobel_stats_clear (GstSobelStats *self);
void gst_sobel_stats_reset (GstSobelStats *self);

/* Adds `amount` to one of the counters above. */
void gst_sobel_stats_add (GstSobelStats *self, guint64 *counter, guint64 amount);
/* A computed frame left: its stage times, and the time from its arrival to its leaving. */
void gst_sobel_stats_add_frame (GstSobelStats *self, const SobelTiming *timing, guint64 latency_ns);

/* Sets the counters and means on `structure`, under the names that the `stats` property documents. */
void gst_sobel_stats_fill (GstSobelStats *self, GstStructure *structure);

G_END_DECLS
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelstats.h"

#include <stddef.h>
#include <string.h>

void
gst_sobel_stats_init (GstSobelStats *self)
{
  memset (self, 0, sizeof *self);
  g_mutex_init (&self->lock);
}

void
gst_sobel_stats_clear (GstSobelStats *self)
{
  g_mutex_clear (&self->lock);
}

void
gst_sobel_stats_reset (GstSobelStats *self)
{
  const size_t start = offsetof (GstSobelStats, frames_in);

  g_mutex_lock (&self->lock);
  memset ((guint8 *) self + start, 0, sizeof *self - start);
  g_mutex_unlock (&self->lock);
}

void
gst_sobel_stats_add (GstSobelStats *self, guint64 *counter, guint64 amount)
{
  g_mutex_lock (&self->lock);
  *counter += amount;
  g_mutex_unlock (&self->lock);
}

void
gst_sobel_stats_add_frame (GstSobelStats *self, const SobelTiming *timing, guint64 latency_ns)
{
  g_mutex_lock (&self->lock);
  self->timing[self->next] = *timing;
  self->latency_ns[self->next] = latency_ns;
  self->next = (self->next + 1) % GST_SOBEL_STATS_WINDOW;
  self->n_times = MIN (self->n_times + 1, GST_SOBEL_STATS_WINDOW);
  g_mutex_unlock (&self->lock);
}

void
gst_sobel_stats_fill (GstSobelStats *self, GstStructure *structure)
{
  guint64 upload = 0, kernel = 0, download = 0, latency = 0;
  guint i, n;

  g_mutex_lock (&self->lock);
  n = MAX (self->n_times, 1);
  for (i = 0; i < self->n_times; i++) {
    upload += self->timing[i].upload_ns;
    kernel += self->timing[i].kernel_ns;
    download += self->timing[i].download_ns;
    latency += self->latency_ns[i];
  }
  gst_structure_set (structure,                                            //
                     "frames-in", G_TYPE_UINT64, self->frames_in,          //
                     "frames-out", G_TYPE_UINT64, self->frames_out,        //
                     "frames-dropped", G_TYPE_UINT64, self->frames_dropped, //
                     "qos-dropped", G_TYPE_UINT64, self->qos_dropped,      //
                     "frames-recomputed", G_TYPE_UINT64, self->frames_recomputed, //
                     "host-bytes-copied", G_TYPE_UINT64, self->host_bytes_copied, //
                     "upload-ns", G_TYPE_UINT64, upload / n,               //
                     "kernel-ns", G_TYPE_UINT64, kernel / n,               //
                     "download-ns", G_TYPE_UINT64, download / n,           //
                     "latency-ns", G_TYPE_UINT64, latency / n, NULL);
  g_mutex_unlock (&self->lock);
}

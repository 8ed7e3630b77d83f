/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelcopier.h"

#include "cpupool.h"

#include <string.h>

/* One thread does not fill a memory bus. Measured on a server of 16 cores, 1080p RGB: 687 us with one thread, 320 with
 * two, 137 with four; more pay for large frames only. */
enum
{
  MAX_THREADS = 4,
  BANDS = 8,                 /* tasks a plane */
  LARGE_BYTES = 512 * 1024,  /* less is copied before other threads are awake */
};

struct GstSobelCopier
{
  GMutex lock; /* whoever does not get it copies alone */
  SobelCpuPool *pool;
};

typedef struct Copy
{
  SobelImage *to;
  const SobelImage *from;
  guint planes;
} Copy;

GstSobelCopier *
gst_sobel_copier_new (void)
{
  GstSobelCopier *self = g_new0 (GstSobelCopier, 1);

  g_mutex_init (&self->lock);
  return self;
}

void
gst_sobel_copier_free (GstSobelCopier *self)
{
  if (!self)
    return;
  sobel_cpu_pool_free (self->pool);
  g_mutex_clear (&self->lock);
  g_free (self);
}

static gint32
common_rows (const Copy *copy, guint plane)
{
  return MIN (copy->from->plane[plane].rows, copy->to->plane[plane].rows);
}

/* One band of one plane. */
static void
copy_band (void *data, unsigned task, unsigned worker)
{
  const Copy *copy = data;
  const guint plane = task / BANDS, band = task % BANDS;
  const SobelPlane *from = &copy->from->plane[plane];
  SobelPlane *to = &copy->to->plane[plane];
  const gsize row_bytes = sobel_image_row_bytes (copy->from->format, plane, copy->from->width);
  const gint64 rows = common_rows (copy, plane);
  const gint64 first = rows * band / BANDS, end = rows * (band + 1) / BANDS;
  gint64 y;

  if (!(copy->planes & 1u << plane))
    return;
  if (to->stride == from->stride && to->stride == (ptrdiff_t) row_bytes) {
    memcpy (to->data + first * to->stride, from->data + first * from->stride, row_bytes * (gsize) (end - first));
  } else {
    for (y = first; y < end; y++)
      memcpy (to->data + y * to->stride, from->data + y * from->stride, row_bytes);
  }
}

guint64
gst_sobel_copier_copy (GstSobelCopier *self, SobelImage *to, const SobelImage *from, guint planes)
{
  Copy copy = { to, from, planes };
  const guint n_tasks = from->format->n_planes * BANDS;
  guint64 bytes = 0;
  guint i;

  for (i = 0; i < from->format->n_planes; i++) {
    if (planes & 1u << i)
      bytes += (guint64) sobel_image_row_bytes (from->format, i, from->width) * (guint64) common_rows (&copy, i);
  }
  if (bytes >= LARGE_BYTES && g_mutex_trylock (&self->lock)) {
    if (!self->pool)
      self->pool = sobel_cpu_pool_new (MIN (g_get_num_processors (), MAX_THREADS));
    if (self->pool) {
      sobel_cpu_pool_run (self->pool, copy_band, &copy, n_tasks);
      g_mutex_unlock (&self->lock);
      return bytes;
    }
    g_mutex_unlock (&self->lock);
  }
  for (i = 0; i < n_tasks; i++)
    copy_band (&copy, i, 0);
  return bytes;
}

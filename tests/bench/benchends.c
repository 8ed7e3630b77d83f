/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "benchends.h"

#include <string.h>
#include <sys/resource.h>

enum { PAGE_BYTES = 4096 };

gint
bench_stamp_column (guint k, gint width)
{
  return (gint) ((k % BENCH_PICTURES) * 3 + 2) % width;
}

/* ---- source --------------------------------------------------------------------------------------- */

G_DEFINE_TYPE (BenchSrc, bench_src, GST_TYPE_PUSH_SRC)

/* One row of a component: black with one white column, by the format's own codes. */
static void
draw_row (const GstVideoFrame *frame, guint c, gint column)
{
  const GstVideoInfo *info = &frame->info;
  guint8 *row = GST_VIDEO_FRAME_COMP_DATA (frame, c);
  const gint step = GST_VIDEO_FRAME_COMP_PSTRIDE (frame, c), width = GST_VIDEO_FRAME_COMP_WIDTH (frame, c);
  const guint n_color = GST_VIDEO_INFO_IS_RGB (info) ? 3 : 1;
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS], black, x;

  gst_video_color_range_offsets (info->colorimetry.range, info->finfo, offset, scale);
  black = GST_VIDEO_INFO_IS_RGB (info) ? 0 : offset[c];
  for (x = 0; x < width; x++)
    row[x * step] = c == 3 ? 255 : c < n_color && x == column ? 235 : black;
}

static gboolean
draw_picture (GstBuffer *buffer, const GstVideoInfo *info, guint k)
{
  GstVideoFrame frame;
  gint height, y;
  guint c, p;

  if (!gst_video_frame_map (&frame, info, buffer, GST_MAP_WRITE))
    return FALSE;
  for (c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    draw_row (&frame, c, bench_stamp_column (k, info->width));
  /* All rows of a plane are the same. */
  for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
    const gsize stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p);
    guint8 *data = GST_VIDEO_FRAME_PLANE_DATA (&frame, p);

    for (c = 0; GST_VIDEO_INFO_COMP_PLANE (info, c) != p; c++)
      ;
    height = GST_VIDEO_FRAME_COMP_HEIGHT (&frame, c);
    for (y = 1; y < height; y++)
      memcpy (data + y * stride, data, stride);
  }
  gst_video_frame_unmap (&frame);
  return TRUE;
}

static GstBuffer *
new_picture (BenchSrc *self, GstBufferPool *pool, guint k)
{
  GstBuffer *buffer = NULL;

  if (!pool)
    buffer = gst_buffer_new_allocate (NULL, self->info.size, NULL);
  else if (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) != GST_FLOW_OK)
    return NULL;
  if (!draw_picture (buffer, &self->info, k))
    gst_clear_buffer (&buffer);
  return buffer;
}

static gboolean
prepare_pictures (BenchSrc *self)
{
  GstBufferPool *pool = self->own_memory ? NULL : gst_base_src_get_buffer_pool (GST_BASE_SRC_CAST (self));
  guint k;

  for (k = 0; k < BENCH_PICTURES; k++)
    if (!(self->picture[k] = new_picture (self, pool, k)))
      break;
  if (pool)
    gst_object_unref (pool);
  return k == BENCH_PICTURES;
}

gint64
bench_cpu_us (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

/* The last one opens it. Gives up after a while: a pipeline that failed never comes. */
static void
pass_gate (BenchGate *gate)
{
  const gint64 until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  g_mutex_lock (&gate->lock);
  if (++gate->arrived == gate->expected) {
    gate->open_us = g_get_monotonic_time ();
    gate->cpu_us = bench_cpu_us ();
    g_cond_broadcast (&gate->opened);
  }
  while (!gate->open_us && g_cond_wait_until (&gate->opened, &gate->lock, until))
    ;
  g_mutex_unlock (&gate->lock);
}

static GstFlowReturn
src_create (GstPushSrc *src, GstBuffer **buffer)
{
  BenchSrc *self = BENCH_SRC (src);
  const guint64 n = self->next;

  if (n >= self->n_frames)
    return GST_FLOW_EOS;
  if (self->passed && self->measure_us > 0 && n > self->n_before &&
      g_get_monotonic_time () - self->gate->open_us >= self->measure_us)
    return GST_FLOW_EOS;
  if (!self->picture[0] && !prepare_pictures (self)) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, (NULL), ("no buffers for the benchmark's pictures"));
    return GST_FLOW_ERROR;
  }
  if (!self->passed && n >= self->n_warmup && g_get_monotonic_time () - self->sent_us[0] >= self->warmup_us) {
    pass_gate (self->gate);
    self->passed = TRUE;
    self->n_before = n;
  }
  if (self->fps > 0) {
    const gint64 due = self->sent_us[0] + (gint64) (n * G_USEC_PER_SEC / self->fps);
    const gint64 now = g_get_monotonic_time ();
    if (n > 0 && due > now)
      g_usleep (due - now);
  }
  /* A new buffer around the same memory: the pictures are never written again. */
  *buffer = gst_buffer_copy (self->picture[n % BENCH_PICTURES]);
  GST_BUFFER_OFFSET (*buffer) = n;
  GST_BUFFER_PTS (*buffer) = n * GST_MSECOND;
  self->sent_us[n] = g_get_monotonic_time ();
  self->next++;
  return GST_FLOW_OK;
}

static GstCaps *
src_get_caps (GstBaseSrc *src, GstCaps *filter)
{
  return gst_caps_ref (BENCH_SRC (src)->caps);
}

static gboolean
src_set_caps (GstBaseSrc *src, GstCaps *caps)
{
  return gst_video_info_from_caps (&BENCH_SRC (src)->info, caps);
}

static gboolean
src_stop (GstBaseSrc *src)
{
  guint k;

  for (k = 0; k < BENCH_PICTURES; k++)
    gst_clear_buffer (&BENCH_SRC (src)->picture[k]);
  return TRUE;
}

static void
src_finalize (GObject *object)
{
  gst_clear_caps (&BENCH_SRC (object)->caps);
  G_OBJECT_CLASS (bench_src_parent_class)->finalize (object);
}

static void
bench_src_init (BenchSrc *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

static void
bench_src_class_init (BenchSrcClass *klass)
{
  GstBaseSrcClass *src_class = GST_BASE_SRC_CLASS (klass);
  GstCaps *any = gst_caps_new_any ();

  G_OBJECT_CLASS (klass)->finalize = src_finalize;
  src_class->get_caps = src_get_caps;
  src_class->set_caps = src_set_caps;
  src_class->stop = src_stop;
  GST_PUSH_SRC_CLASS (klass)->create = src_create;
  gst_element_class_add_pad_template (GST_ELEMENT_CLASS (klass),
                                      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, any));
  gst_caps_unref (any);
}

/* ---- sink ----------------------------------------------------------------------------------------- */

G_DEFINE_TYPE (BenchSink, bench_sink, GST_TYPE_BASE_SINK)

/* The line's two edges stand beside its column, and the column itself is flat: true of the filter's output for
 * frame n, of no other frame's and of no unfiltered picture. */
static gboolean
stamp_is_right (const GstVideoFrame *frame, guint64 n)
{
  const gint width = GST_VIDEO_FRAME_WIDTH (frame), column = bench_stamp_column (n, width);
  const gint step = GST_VIDEO_FRAME_COMP_PSTRIDE (frame, 0);
  const guint8 *row = GST_VIDEO_FRAME_COMP_DATA (frame, 0);

  return row[column * step] < 20 && row[(column - 1) * step] >= 200 && row[(column + 1) * step] >= 200 &&
         row[(column - 2) * step] < 20 && row[(column + 2) * step] < 20;
}

static void
read_plane (BenchSink *self, const guint8 *data, gsize size)
{
  const gsize step = self->read == BENCH_READ_ALL ? sizeof (guint64) : PAGE_BYTES;
  guint64 sum = 0, word;
  gsize i;

  for (i = 0; i + sizeof word <= size; i += step) {
    memcpy (&word, data + i, sizeof word);
    sum += word;
  }
  self->sum += sum;
}

static GstFlowReturn
sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  BenchSink *self = BENCH_SINK (sink);
  const guint64 n = GST_BUFFER_OFFSET (buffer);
  GstVideoFrame frame;

  if (self->n_frames < self->max_frames && n < self->max_frames)
    self->arrived_us[n] = g_get_monotonic_time ();
  if (n < self->next_offset)
    self->n_wrong++;
  self->next_offset = n + 1;
  if (self->read != BENCH_READ_NONE) {
    guint p;

    if (!gst_video_frame_map (&frame, &self->info, buffer, GST_MAP_READ)) {
      self->n_wrong++;
      return GST_FLOW_OK;
    }
    if (self->check && !stamp_is_right (&frame, n))
      self->n_wrong++;
    for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++)
      read_plane (self, GST_VIDEO_FRAME_PLANE_DATA (&frame, p),
                  (gsize) GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p) *
                      GST_VIDEO_INFO_COMP_HEIGHT (&self->info, MIN (p, GST_VIDEO_INFO_N_COMPONENTS (&self->info) - 1)));
    gst_video_frame_unmap (&frame);
  }
  self->n_frames++;
  return GST_FLOW_OK;
}

static gboolean
sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  return gst_video_info_from_caps (&BENCH_SINK (sink)->info, caps);
}

/* No pool: the frames stay in the buffers that they come in. */
static gboolean
sink_propose_allocation (GstBaseSink *sink, GstQuery *query)
{
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

static void
bench_sink_init (BenchSink *self)
{
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
  gst_base_sink_set_last_sample_enabled (GST_BASE_SINK (self), FALSE);
  gst_base_sink_set_qos_enabled (GST_BASE_SINK (self), FALSE);
}

static void
bench_sink_class_init (BenchSinkClass *klass)
{
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS (klass);
  GstCaps *any = gst_caps_new_any ();

  sink_class->render = sink_render;
  sink_class->set_caps = sink_set_caps;
  sink_class->propose_allocation = sink_propose_allocation;
  gst_element_class_add_pad_template (GST_ELEMENT_CLASS (klass),
                                      gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, any));
  gst_caps_unref (any);
}

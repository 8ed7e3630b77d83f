/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the planes of an input buffer lie, and buffers that hold no picture. */
#include "oddmemory.h"
#include "picture.h"

#include "oracle.h"

#include <string.h>

static const char *const backends[] = { "backend=cpu", "backend=cuda" };

/* ---- one picture in many layouts ------------------------------------------------------------------ */

typedef struct
{
  const char *name;
  guint gap;            /* bytes more than needed behind each row */
  guint rows;           /* unused rows behind each plane */
  guint front;          /* bytes before the first plane */
  gboolean scattered;   /* every plane is a memory of its own */
  gboolean cut;         /* memories end in the middle of rows */
  guint larger;         /* the meta says a picture so much wider and higher */
} Layout;

static const Layout layouts[] = {
  { .name = "tight" },
  { .name = "padded rows", .gap = 13 },
  { .name = "padded planes", .rows = 3 },
  { .name = "padded everywhere", .gap = 29, .rows = 2, .front = 7 },
  { .name = "a memory a plane", .scattered = TRUE },
  { .name = "a memory a plane, padded", .gap = 5, .scattered = TRUE },
  { .name = "memories cut anywhere", .gap = 3, .cut = TRUE },
  { .name = "a larger picture", .gap = 64, .rows = 9, .larger = 8 },
};

static GstMemory *
memory_of (const guint8 *bytes, gsize size)
{
  guint8 *copy = g_memdup2 (bytes, size);

  return gst_memory_new_wrapped (0, copy, size, 0, size, copy, g_free);
}

/* The same samples as `picture`, laid out as told, 0xa5 where no sample is. */
static GstBuffer *
lay_out (GstBuffer *picture, const GstVideoInfo *info, const Layout *layout)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 }, start, size = layout->front;
  gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoFrame frame;
  guint8 *bytes;
  guint i, y;

  gst_video_frame_map (&frame, info, picture, GST_MAP_READ);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    const guint row = (guint) oracle_row_bytes (info->finfo, i, info->width);

    stride[i] = (gint) (row + layout->gap);
    offset[i] = size;
    size += (gsize) stride[i] * (oracle_plane_rows (info, i) + layout->rows);
  }
  bytes = g_malloc (size);
  memset (bytes, 0xa5, size);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++)
    for (y = 0; y < (guint) oracle_plane_rows (info, i); y++)
      memcpy (bytes + offset[i] + (gsize) y * stride[i],
              (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, i) + (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, i),
              oracle_row_bytes (info->finfo, i, info->width));
  gst_video_frame_unmap (&frame);

  for (start = 0, i = 1; layout->scattered && i < GST_VIDEO_INFO_N_PLANES (info); start = offset[i++])
    gst_buffer_append_memory (buffer, memory_of (bytes + start, offset[i] - start));
  for (; layout->cut && start + size / 5 < size; start += size / 5)
    gst_buffer_append_memory (buffer, memory_of (bytes + start, size / 5));
  gst_buffer_append_memory (buffer, memory_of (bytes + start, size - start));
  g_free (bytes);
  gst_buffer_copy_into (buffer, picture, GST_BUFFER_COPY_METADATA, 0, -1);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (info),
                                  info->width + layout->larger, info->height + layout->larger,
                                  GST_VIDEO_INFO_N_PLANES (info), offset, stride);
  return buffer;
}

static void
same_picture_in_every_layout (void)
{
  static const char *const formats[] = { "I420",      "NV12", "RGB",       "YUY2", "GRAY8",
                                         "Y444_16LE", "GBR",  "P010_10LE", "BGRA" };
  static const char *const modes[] = { "mode=edges", "mode=overlay" };
  guint b, f, m, i;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    for (f = 0; f < G_N_ELEMENTS (formats); f++) {
      gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=37,height=19,framerate=25/1", formats[f]);
      for (m = 0; m < G_N_ELEMENTS (modes); m++) {
        Rig *rig;

        et_context ("%s %s %s", backends[b], formats[f], modes[m]);
        et_gpu_late (200, 200);
        rig = rig_new (backends[b]);
        rig_set (rig, modes[m]);
        T_CHECK (rig_start (rig, caps), "does not start");
        for (i = 0; i < G_N_ELEMENTS (layouts); i++) {
          GstBuffer *picture = rig_picture (rig, i);
          rig_push (rig, lay_out (picture, &rig->info, &layouts[i]));
          gst_buffer_unref (picture);
        }
        rig_eos (rig);
        T_CHECK (rig_n_buffers (rig) == G_N_ELEMENTS (layouts), "%u come out", rig_n_buffers (rig));
        picture_check_recording (rig, 0, rig_n_buffers (rig));
        rig_no_trouble (rig);
        rig_free (rig);
        et_gpu_check ();
      }
      g_free (caps);
    }
  }
}

/* v4l2 drivers hand out frames that are rounded up. */
static void
larger_buffers (void)
{
  guint b;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    GstBuffer *picture, *large;
    Rig *rig;

    et_gpu_late (200, 200);
    rig = rig_new (backends[b]);
    T_CHECK (rig_start (rig, "video/x-raw,format=I420,width=192,height=108"), "does not start");
    picture = rig_picture (rig, 0);
    large = gst_buffer_append (gst_buffer_copy (picture), gst_buffer_new_allocate (NULL, 4096, NULL));
    rig_push (rig, picture);
    rig_push (rig, large);
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == 2, "%u come out", rig_n_buffers (rig));
    picture_check_recording (rig, 0, 1);
    picture_equal (rig_buffer (rig, 0, NULL), rig_buffer (rig, 1, NULL), &rig->info);
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- no picture ----------------------------------------------------------------------------------- */

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=25/1"

static GstBuffer *
with_meta (Rig *rig, GstVideoFormat format, guint width, guint height)
{
  GstBuffer *buffer = rig_picture (rig, 1);

  gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE, format, width, height);
  return buffer;
}

static GstBuffer *
with_layout (Rig *rig, gsize offset2, gint stride0)
{
  GstBuffer *buffer = rig_picture (rig, 1);
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, 64 * 48, offset2 };
  gint stride[GST_VIDEO_MAX_PLANES] = { stride0, 32, 32 };

  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 64, 48, 3, offset, stride);
  return buffer;
}

static GstBuffer *
no_picture (Rig *rig, guint kind)
{
  GstBuffer *buffer;

  switch (kind) {
    case 0:
      return gst_buffer_new ();
    case 1:
      return gst_buffer_new_allocate (NULL, 1, NULL);
    case 2:
      return gst_buffer_new_allocate (NULL, rig->info.size - 33, NULL);
    case 3:
      buffer = gst_buffer_new ();
      gst_buffer_append_memory (buffer, odd_memory_unmappable (rig->info.size));
      return buffer;
    case 4:
      return with_meta (rig, GST_VIDEO_FORMAT_NV12, 64, 48);
    case 5:
      return with_meta (rig, GST_VIDEO_FORMAT_I420, 62, 48);
    case 6:
      return with_meta (rig, GST_VIDEO_FORMAT_I420, 64, 40);
    case 7:
      return with_layout (rig, 1000000, 64);
    case 8:
      return with_layout (rig, G_MAXSIZE - 16, 64);
    case 9:
      return with_layout (rig, 64 * 60, 0);
    case 10:
      return with_layout (rig, 64 * 60, -64);
    case 11:
      return with_layout (rig, 64 * 60, 63);
    case 12:
      return with_layout (rig, 64 * 60, G_MAXINT);
    default:
      return NULL;
  }
}

/* Each is dropped between two good frames that come out as if nothing had been. */
static void
bad_buffers_are_dropped (void)
{
  guint b, kind;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    for (kind = 0; kind <= 12; kind++) {
      GstBuffer *bad;
      gchar *text;
      guint warnings;
      Rig *rig;

      et_context ("%s, bad buffer %u", backends[b], kind);
      et_gpu_late (200, 200);
      rig = rig_new (backends[b]);
      T_CHECK (rig_start (rig, CAPS), "does not start");
      bad = no_picture (rig, kind);
      rig_push_pictures (rig, 0, 1);
      T_CHECK (rig_push (rig, gst_buffer_ref (bad)) == GST_FLOW_OK, "the bad one ends the stream");
      T_CHECK (rig_push_pictures (rig, 1, 1) == GST_FLOW_OK, "the next one is refused");
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 2, "%u come out", rig_n_buffers (rig));
      picture_check_recording (rig, 0, rig_n_buffers (rig));
      T_CHECK (GST_BUFFER_IS_DISCONT (rig_buffer (rig, 1, NULL)), "the frame after the gap is not marked");
      T_CHECK (rig_stat (rig, "frames-in") == 3 && rig_stat (rig, "frames-dropped") == 1 &&
                   rig_stat (rig, "frames-out") == 2 && rig_stat (rig, "qos-dropped") == 0,
               "counted otherwise");
      warnings = rig_messages (rig, GST_MESSAGE_WARNING, &text);
      T_CHECK (warnings == 1, "%u warnings: %s", warnings, text);
      T_CHECK (strlen (text) > 40, "the warning says only: %s", text);
      g_free (text);
      T_CHECK (GST_MINI_OBJECT_REFCOUNT_VALUE (bad) == 1, "the bad one is still held");
      gst_buffer_unref (bad);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

static void
warnings_are_few (void)
{
  const gint64 start = g_get_monotonic_time ();
  guint n = 0, seconds, warnings;
  Rig *rig = rig_new ("backend=cpu");

  T_CHECK (rig_start (rig, CAPS), "does not start");
  while (g_get_monotonic_time () - start < 1300000) {
    rig_push (rig, gst_buffer_new_allocate (NULL, 10, NULL));
    n++;
    g_usleep (500);
  }
  rig_push_pictures (rig, 0, 1);
  rig_eos (rig);
  seconds = (guint) ((g_get_monotonic_time () - start) / G_USEC_PER_SEC);
  warnings = rig_messages (rig, GST_MESSAGE_WARNING, NULL);
  T_CHECK (warnings >= 2 && warnings <= seconds + 1, "%u warnings in %u s", warnings, seconds);
  T_CHECK (rig_stat (rig, "frames-dropped") == n, "%" G_GUINT64_FORMAT " of %u counted",
           rig_stat (rig, "frames-dropped"), n);
  T_CHECK (rig_n_buffers (rig) == 1, "the good one is lost");
  rig_free (rig);
}

/* Picture after picture of chance: no crash, and one out or one warned about for one in. */
static void
any_meta (void)
{
  const guint n = et_times (3000);
  TRandom random = t_random (t_seed (1), 7);
  Rig *rig;
  guint i;

  et_gpu_late (0, 0);
  rig = rig_new ("backend=cuda");
  rig->drops_buffers = TRUE;
  T_CHECK (rig_start (rig, CAPS), "does not start");
  for (i = 0; i < n; i++) {
    gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
    gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
    GstBuffer *buffer = gst_buffer_new_allocate (NULL, 1 + t_random_below (&random, 12000), NULL);
    guint k;

    gst_buffer_memset (buffer, 0, (guint8) i, 12000);
    for (k = 0; k < 3; k++) {
      offset[k] = t_random_below (&random, 12) ? t_random_below (&random, 6000) : (gsize) t_random_next (&random);
      stride[k] = t_random_below (&random, 12) ? (gint) (30 + 34 * !k + t_random_below (&random, 70))
                                               : (gint) t_random_next (&random);
    }
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420,
                                    64 + t_random_below (&random, 3), 48 + t_random_below (&random, 3), 3, offset,
                                    stride);
    T_CHECK (rig_push (rig, buffer) == GST_FLOW_OK, "buffer %u ends the stream", i);
  }
  rig_eos (rig);
  T_CHECK (rig_stat (rig, "frames-in") == n && rig_stat (rig, "frames-out") + rig_stat (rig, "frames-dropped") == n &&
               rig_stat (rig, "frames-out") == rig_n_buffers (rig),
           "counted otherwise");
  T_CHECK (rig_stat (rig, "frames-out") > n / 20, "only %" G_GUINT64_FORMAT " had a picture",
           rig_stat (rig, "frames-out"));
  rig_free (rig);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "same-picture-in-every-layout", same_picture_in_every_layout },
    { "larger-buffers", larger_buffers },
    { "bad-buffers-are-dropped", bad_buffers_are_dropped },
    { "warnings-are-few", warnings_are_few },
    { "any-meta", any_meta },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

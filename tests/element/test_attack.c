/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Things that applications may do, though few do them. */

#include "picture.h"
#include "rig.h"

#include <string.h>

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=25/1"

static const char *const backends[] = { "backend=cpu", "backend=cuda" };

/* ---- pads shut and opened alone ------------------------------------------------------------------- */

/* Only one pad is shut, with frames in flight, and opened again: what is sent after that comes out. */
static void
one_pad_alone (void)
{
  static const char *const names[] = { "src", "sink" };
  guint b, p, i;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    for (p = 0; p < G_N_ELEMENTS (names); p++) {
      Rig *rig;

      et_context ("%s, %s pad", backends[b], names[p]);
      et_gpu_late (3000, 1000);
      rig = rig_new (backends[b]);
      T_CHECK (rig_start (rig, CAPS), "does not start");
      for (i = 0; i < 3; i++) {
        GstPad *pad = gst_element_get_static_pad (rig->element, names[p]);

        rig_push_pictures (rig, 0, 4);
        T_CHECK (gst_pad_set_active (pad, FALSE), "cannot be shut");
        T_CHECK (rig_push (rig, rig_picture (rig, 4)) == GST_FLOW_FLUSHING, "a frame is taken by a shut pad");
        T_CHECK (gst_pad_set_active (pad, TRUE), "cannot be opened");
        gst_object_unref (pad);
        rig_event (rig, gst_event_new_stream_start ("again"));
        T_CHECK (rig_caps (rig, CAPS), "caps are refused");
        rig_segment (rig);
        rig_forget (rig);
        T_CHECK (rig_push_pictures (rig, 10, 6) == GST_FLOW_OK, "refused");
        rig_event (rig, gst_event_new_gap (GST_SECOND, GST_SECOND));
        T_CHECK (rig_n_buffers (rig) >= 6, "%u of 6 came", rig_n_buffers (rig));
      }
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* ---- a pad that was not linked -------------------------------------------------------------------- */

/* The first thing that comes after the link is new caps, not a frame; or it is the end. */
static void
linked_again_before (void)
{
  static const char *const first[] = { "caps", "eos" };
  guint b, k;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    for (k = 0; k < G_N_ELEMENTS (first); k++) {
      GstPad *src;
      Rig *rig;
      guint i;

      et_context ("%s, %s", backends[b], first[k]);
      et_gpu_late (3000, 0);
      rig = rig_new (backends[b]);
      src = gst_element_get_static_pad (rig->element, "src");
      T_CHECK (rig_start (rig, CAPS), "does not start");
      gst_pad_unlink (src, rig->sink);
      for (i = 0; i < 1000 && rig_push (rig, rig_picture (rig, i)) == GST_FLOW_OK; i++)
        ;
      while (rig_stat (rig, "in-flight") > 0)
        g_usleep (1000);
      gst_pad_link (src, rig->sink);
      gst_object_unref (src);
      if (k == 0) {
        T_CHECK (rig_caps (rig, "video/x-raw,format=I420,width=32,height=16,framerate=25/1"), "refused");
        T_CHECK (rig_push_pictures (rig, 0, 4) == GST_FLOW_OK, "NOT_LINKED of before is still told");
      }
      rig_eos (rig);
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* ---- layouts that only one side understands ------------------------------------------------------- */

/* A picture that starts somewhere in its buffer passes `bypass` where downstream knows nothing of GstVideoMeta. */
static void
bypass_of_a_shifted_picture (void)
{
  static const gsize shifts[] = { 16, 64, 4096 };
  guint b, i;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    for (i = 0; i < G_N_ELEMENTS (shifts); i++) {
      gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
      GstBuffer *picture, *shifted, *out;
      GstMapInfo a, z;
      Rig *rig;
      guint k;

      et_context ("%s, %" G_GSIZE_FORMAT " bytes", backends[b], shifts[i]);
      et_gpu_late (200, 200);
      rig = rig_new (backends[b]);
      rig_set (rig, "bypass=true");
      rig->video_meta = FALSE;
      T_CHECK (rig_start (rig, CAPS), "does not start");
      picture = rig_picture (rig, 0);
      shifted = gst_buffer_append (gst_buffer_new_allocate (NULL, shifts[i], NULL), gst_buffer_ref (picture));
      for (k = 0; k < 3; k++)
        offset[k] = rig->info.offset[k] + shifts[i];
      gst_buffer_add_video_meta_full (shifted, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 64, 48, 3, offset,
                                      rig->info.stride);
      rig_push (rig, shifted);
      rig_eos (rig);
      out = rig_buffer (rig, 0, NULL);
      if (T_CHECK (out != NULL, "lost")) {
        gst_buffer_map (out, &a, GST_MAP_READ);
        gst_buffer_map (picture, &z, GST_MAP_READ);
        T_CHECK (a.size >= rig->info.size && memcmp (a.data, z.data, rig->info.size) == 0, "another picture");
        gst_buffer_unmap (out, &a);
        gst_buffer_unmap (picture, &z);
      }
      gst_buffer_unref (picture);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* ---- downstream's buffers, cut anywhere ----------------------------------------------------------- */

typedef struct
{
  GstBufferPool parent;
} CutPool;
typedef GstBufferPoolClass CutPoolClass;

GType cut_pool_get_type (void);
G_DEFINE_TYPE (CutPool, cut_pool, GST_TYPE_BUFFER_POOL)

/* Memories end in the middle of planes. */
static GstFlowReturn
cut_pool_alloc (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  static const gsize sizes[] = { 1000, 64 * 48 - 1000 + 100, 64 * 24 };
  guint i;

  *buffer = gst_buffer_new ();
  for (i = 0; i < G_N_ELEMENTS (sizes); i++)
    gst_buffer_append_memory (*buffer, gst_allocator_alloc (NULL, sizes[i], NULL));
  return GST_FLOW_OK;
}

static void
cut_pool_class_init (CutPoolClass *klass)
{
  klass->alloc_buffer = cut_pool_alloc;
}

static void
cut_pool_init (CutPool *self)
{
}

static void
memories_that_end_anywhere (void)
{
  guint b;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    Rig *rig;

    et_context ("%s", backends[b]);
    et_gpu_late (200, 200);
    rig = rig_new (backends[b]);
    rig->pool = gst_object_ref_sink (g_object_new (cut_pool_get_type (), NULL));
    rig->pool_size = 64 * 48 * 3 / 2;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    T_CHECK (rig_push_pictures (rig, 0, 5) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == 5, "%u of 5 came", rig_n_buffers (rig));
    picture_check_recording (rig, 0, rig_n_buffers (rig));
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- frames that last forever --------------------------------------------------------------------- */

/* One after the other adds its share of latency; there is no more than forever. */
static void
latency_without_end (void)
{
  static const GstClockTime trial[] = { GST_SECOND, G_MAXUINT64 / 2, G_MAXUINT64 - 2 };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (trial); i++) {
    Rig *rig = rig_new ("backend=cpu ring-size=16");
    GstQuery *query = gst_query_new_latency ();
    GstClockTime min, max;

    rig->live = TRUE;
    rig->max_latency = trial[i];
    T_CHECK (rig_start (rig, "video/x-raw,format=GRAY8,width=8,height=8,framerate=1/1000000000"), "does not start");
    T_CHECK (gst_pad_peer_query (rig->sink, query), "no answer");
    gst_query_parse_latency (query, NULL, &min, &max);
    T_CHECK (max >= trial[i], "max %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, max, trial[i]);
    gst_query_unref (query);
    rig_free (rig);
  }
}

/* ---- interlaced planes without the spare row ------------------------------------------------------ */

#define INTERLACED "video/x-raw,format=I420,width=64,height=6,framerate=25/1,interlace-mode=interleaved"
enum { TIGHT_U = 64 * 6, TIGHT_V = TIGHT_U + 32 * 3, TIGHT_SIZE = TIGHT_V + 32 * 3 };

typedef GstBufferPool TightPool;
typedef GstBufferPoolClass TightPoolClass;

GType tight_pool_get_type (void);
G_DEFINE_TYPE (TightPool, tight_pool, GST_TYPE_BUFFER_POOL)

/* Where GStreamer puts U, but V follows at once: there is no fourth row of chroma between. */
static GstBuffer *
tight_buffer (void)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, TIGHT_U, TIGHT_V };
  gint stride[GST_VIDEO_MAX_PLANES] = { 64, 32, 32 };
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, TIGHT_SIZE, NULL);

  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 64, 6, 3, offset, stride);
  return buffer;
}

static GstFlowReturn
tight_pool_alloc (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  *buffer = tight_buffer ();
  GST_META_FLAG_SET (gst_buffer_get_video_meta (*buffer), GST_META_FLAG_POOLED);
  return GST_FLOW_OK;
}

static void
tight_pool_class_init (TightPoolClass *klass)
{
  klass->alloc_buffer = tight_pool_alloc;
}

static void
tight_pool_init (TightPool *self)
{
}

static void
same_visible_rows (GstBuffer *a, const guint8 *want, const GstVideoInfo *info)
{
  GstVideoFrame frame;
  guint i;

  if (!T_CHECK (a && gst_video_frame_map (&frame, info, a, GST_MAP_READ), "no picture"))
    return;
  for (i = 0; i < 3; i++)
    T_CHECK (memcmp (GST_VIDEO_FRAME_PLANE_DATA (&frame, i), want + info->offset[i], i ? 32 * 3 : 64 * 6) == 0,
             "plane %u is another one", i);
  gst_video_frame_unmap (&frame);
}

static void
planes_without_a_spare_row (void)
{
  static const char *const settings[] = { "mode=overlay", "mode=mask", "bypass=true" };
  guint b, m, k;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    for (m = 0; m < G_N_ELEMENTS (settings); m++) {
      guint8 want[64 * 12];

      for (k = 0; k < 3; k++) {
        GstBuffer *picture;
        GstMapInfo map, to;
        Rig *rig;

        et_context ("%s, %s, %s", backends[b], settings[m], k == 0 ? "usual" : k == 1 ? "input" : "output");
        et_gpu_late (200, 200);
        rig = rig_new (backends[b]);
        rig_set (rig, settings[m]);
        if (k == 2) {
          rig->pool = gst_object_ref_sink (g_object_new (tight_pool_get_type (), NULL));
          rig->pool_size = TIGHT_SIZE;
        }
        T_CHECK (rig_start (rig, INTERLACED), "does not start");
        picture = rig_picture (rig, 0);
        if (k == 1) {
          GstBuffer *tight = tight_buffer ();

          gst_buffer_map (picture, &map, GST_MAP_READ);
          gst_buffer_map (tight, &to, GST_MAP_WRITE);
          memcpy (to.data, map.data, TIGHT_V);
          memcpy (to.data + TIGHT_V, map.data + rig->info.offset[2], TIGHT_SIZE - TIGHT_V);
          gst_buffer_unmap (tight, &to);
          gst_buffer_unmap (picture, &map);
          gst_buffer_unref (picture);
          picture = tight;
        }
        rig_push (rig, picture);
        rig_eos (rig);
        if (k == 0 && T_CHECK (gst_buffer_extract (rig_buffer (rig, 0, NULL), 0, want, sizeof want) ==
                               rig->info.size, "an odd size"))
          rig_no_trouble (rig);
        same_visible_rows (rig_buffer (rig, 0, NULL), want, &rig->info);
        rig_no_trouble (rig);
        rig_free (rig);
        et_gpu_check ();
      }
    }
  }
}

/* As the planes above, but of NV12: only the end of the buffer tells that there is no such row. */
static void
last_plane_without_a_spare_row (void)
{
  guint b;

  for (b = 0; b < G_N_ELEMENTS (backends); b++) {
    GstBuffer *picture;
    Rig *rig;

    et_context ("%s", backends[b]);
    et_gpu_late (200, 200);
    rig = rig_new (backends[b]);
    rig_set (rig, "mode=overlay");
    T_CHECK (rig_start (rig, "video/x-raw,format=NV12,width=64,height=6,interlace-mode=interleaved"), "does not start");
    picture = rig_picture (rig, 0);
    gst_buffer_add_video_meta_full (picture, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 6, 2,
                                    rig->info.offset, rig->info.stride);
    rig_push (rig, gst_buffer_copy (picture));
    gst_buffer_set_size (picture, 64 * 9);
    rig_push (rig, picture);
    rig_eos (rig);
    if (T_CHECK (rig_n_buffers (rig) == 2, "%u of 2 came", rig_n_buffers (rig))) {
      guint8 whole[64 * 9], tight[64 * 9];

      gst_buffer_extract (rig_buffer (rig, 0, NULL), 0, whole, sizeof whole);
      gst_buffer_extract (rig_buffer (rig, 1, NULL), 0, tight, sizeof tight);
      T_CHECK (memcmp (whole, tight, sizeof whole) == 0, "another picture");
    }
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "one-pad-alone", one_pad_alone },
    { "linked-again-before", linked_again_before },
    { "bypass-of-a-shifted-picture", bypass_of_a_shifted_picture },
    { "memories-that-end-anywhere", memories_that_end_anywhere },
    { "planes-without-a-spare-row", planes_without_a_spare_row },
    { "last-plane-without-a-spare-row", last_plane_without_a_spare_row },
    { "latency-without-end", latency_without_end },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

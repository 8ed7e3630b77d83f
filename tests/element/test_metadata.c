/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What travels with the pixels: times, flags, metas. And the input, which nobody may change. */
#include "picture.h"

#include <string.h>

#define CAPS "video/x-raw,format=I420,width=66,height=34,framerate=25/1"

/* A way through the element; each takes other code. */
typedef struct
{
  const char *name;
  const char *properties;
  gboolean downstream_pool;
  gboolean loses_gpu;
} Path;

static const Path paths[] = {
  { "CPU", "backend=cpu", FALSE, FALSE },
  { "CPU into downstream's pool", "backend=cpu", TRUE, FALSE },
  { "GPU", "backend=cuda", FALSE, FALSE },
  { "GPU to downstream's pool", "backend=cuda", TRUE, FALSE },
  { "GPU that is lost", "backend=auto", FALSE, TRUE },
  { "GPU that is lost, to downstream's pool", "backend=auto", TRUE, TRUE },
  { "bypass", "backend=cuda bypass=true", FALSE, FALSE },
  { "overlay", "backend=cuda mode=overlay", FALSE, FALSE },
};

static void
lose_it_soon (FakeDevice *fake)
{
  fake_device_fail (fake, FAKE_CALL_WAIT, 2, SOBEL_STATUS_OK);
}

static Rig *
start_on (const Path *path, const char *text)
{
  const EGpu lost = { .pixels = TRUE,
                      .options = { .finish = FAKE_FINISH_LATE, .delay_ns = 500000, .watch_memory = true },
                      .made = lose_it_soon };
  Rig *rig;

  et_context ("%s", path->name);
  et_gpu_late (500, 500);
  if (path->loses_gpu)
    et_gpu_set (&lost);
  rig = rig_new (path->properties);
  if (path->downstream_pool) {
    GstCaps *caps = gst_caps_from_string (text);
    GstVideoInfo info;
    GstStructure *config;

    gst_video_info_from_caps (&info, caps);
    rig->pool = gst_video_buffer_pool_new ();
    config = gst_buffer_pool_get_config (rig->pool);
    gst_buffer_pool_config_set_params (config, caps, info.size, 2, 0);
    gst_buffer_pool_set_config (rig->pool, config);
    rig->pool_size = info.size;
    rig->pool_min = 2;
    gst_caps_unref (caps);
  }
  T_CHECK (rig_start (rig, text), "does not start");
  return rig;
}

/* ---- times and flags ------------------------------------------------------------------------------ */

static const GstBufferFlags kept_flags[] = {
  0,
  GST_BUFFER_FLAG_DISCONT,
  GST_BUFFER_FLAG_CORRUPTED,
  GST_BUFFER_FLAG_DROPPABLE | GST_BUFFER_FLAG_MARKER,
  GST_BUFFER_FLAG_DELTA_UNIT | GST_BUFFER_FLAG_HEADER,
  GST_BUFFER_FLAG_LIVE | GST_BUFFER_FLAG_RESYNC,
  GST_BUFFER_FLAG_DECODE_ONLY,
  GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_RFF,
  GST_VIDEO_BUFFER_FLAG_ONEFIELD | GST_VIDEO_BUFFER_FLAG_FIRST_IN_BUNDLE,
  GST_BUFFER_FLAG_SYNC_AFTER,
};

static GstBuffer *
odd_picture (Rig *rig, guint i)
{
  GstBuffer *buffer = rig_picture (rig, i);

  GST_BUFFER_PTS (buffer) = i == 6 ? GST_CLOCK_TIME_NONE : i * 40 * GST_MSECOND + 7;
  GST_BUFFER_DTS (buffer) = i == 7 ? GST_CLOCK_TIME_NONE : i * 40 * GST_MSECOND + 3;
  GST_BUFFER_DURATION (buffer) = i == 8 ? GST_CLOCK_TIME_NONE : (i + 1) * GST_MSECOND + i;
  GST_BUFFER_OFFSET (buffer) = i == 9 ? GST_BUFFER_OFFSET_NONE : 100 + i;
  GST_BUFFER_OFFSET_END (buffer) = 200 + 3 * i;
  GST_BUFFER_FLAG_UNSET (buffer, 0xffffffff & ~GST_BUFFER_FLAG_TAG_MEMORY);
  GST_BUFFER_FLAG_SET (buffer, kept_flags[i]);
  return buffer;
}

static void
times_and_flags (void)
{
  const guint mask = ~(guint) (GST_BUFFER_FLAG_TAG_MEMORY | GST_MINI_OBJECT_FLAG_LOCKABLE);
  guint p, i;

  for (p = 0; p < G_N_ELEMENTS (paths); p++) {
    Rig *rig = start_on (&paths[p], CAPS);

    for (i = 0; i < G_N_ELEMENTS (kept_flags); i++)
      T_CHECK (rig_push (rig, odd_picture (rig, i)) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == G_N_ELEMENTS (kept_flags), "%u buffers", rig_n_buffers (rig));
    for (i = 0; i < rig_n_buffers (rig); i++) {
      GstBuffer *in = odd_picture (rig, i), *out = rig_buffer (rig, i, NULL);

      T_CHECK (GST_BUFFER_PTS (out) == GST_BUFFER_PTS (in) && GST_BUFFER_DTS (out) == GST_BUFFER_DTS (in) &&
                   GST_BUFFER_DURATION (out) == GST_BUFFER_DURATION (in),
               "%s: times of %u", paths[p].name, i);
      T_CHECK (GST_BUFFER_OFFSET (out) == GST_BUFFER_OFFSET (in) &&
                   GST_BUFFER_OFFSET_END (out) == GST_BUFFER_OFFSET_END (in),
               "%s: offsets of %u", paths[p].name, i);
      T_CHECK ((GST_BUFFER_FLAGS (out) & mask) == (GST_BUFFER_FLAGS (in) & mask),
               "%s: flags of %u are %x, should be %x", paths[p].name, i, GST_BUFFER_FLAGS (out), GST_BUFFER_FLAGS (in));
      gst_buffer_unref (in);
    }
    rig_free (rig);
    et_gpu_check ();
  }
}

/* The computed picture is no gap, whatever its input was. */
static void
gap_is_cleared (void)
{
  guint p;

  for (p = 0; p < 4; p++) {
    Rig *rig = start_on (&paths[p], CAPS);
    GstBuffer *buffer = rig_picture (rig, 0);

    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_MARKER);
    rig_push (rig, buffer);
    rig_eos (rig);
    buffer = rig_buffer (rig, 0, NULL);
    T_CHECK (!GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP), "GAP");
    T_CHECK (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_MARKER), "MARKER");
    rig_free (rig);
  }
}

/* ---- metas ---------------------------------------------------------------------------------------- */

#define CUSTOM_META "CudaSobelTestMeta"

static const GstMetaInfo *
custom_meta (void)
{
  static const gchar *no_tags[] = { NULL };
  const GstMetaInfo *info = gst_meta_get_info (CUSTOM_META);

  return info ? info : gst_meta_register_custom (CUSTOM_META, no_tags, NULL, NULL, NULL);
}

static gpointer
upload_copy (gpointer data)
{
  return data;
}

static void
upload_free (gpointer data)
{
}

static gboolean
upload (GstVideoGLTextureUploadMeta *meta, guint id[4])
{
  return FALSE;
}

/* With every meta that belongs to the picture, and those that belong to its memory. */
static GstBuffer *
picture_with_metas (Rig *rig)
{
  static GstVideoGLTextureType types[4] = { GST_VIDEO_GL_TEXTURE_TYPE_RGBA };
  GstBuffer *buffer = rig_picture (rig, 0), *parent = gst_buffer_new ();
  GstCaps *caps = gst_caps_new_empty_simple ("timestamp/x-test");
  GstVideoOverlayRectangle *rectangle;
  GstVideoOverlayComposition *composition;
  GstBuffer *pixels = gst_buffer_new_allocate (NULL, 4 * 4 * 4, NULL);
  GstCustomMeta *custom = NULL;
  const guint8 caption[] = { 1, 2, 3 };

  gst_buffer_memset (pixels, 0, 0, 64);
  gst_buffer_add_video_meta (pixels, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, 4, 4);
  rectangle = gst_video_overlay_rectangle_new_raw (pixels, 0, 0, 4, 4, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  composition = gst_video_overlay_composition_new (rectangle);
  gst_buffer_add_video_overlay_composition_meta (buffer, composition);
  gst_video_overlay_rectangle_unref (rectangle);
  gst_video_overlay_composition_unref (composition);
  gst_buffer_unref (pixels);

  gst_buffer_add_video_region_of_interest_meta (buffer, "face", 1, 2, 3, 4);
  gst_buffer_add_video_region_of_interest_meta (buffer, "edge", 5, 6, 7, 8);
  gst_buffer_add_video_time_code_meta_full (buffer, 25, 1, NULL, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1, 2, 3, 4, 0);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, 1234, 5);
  gst_caps_unref (caps);
  gst_buffer_add_video_caption_meta (buffer, GST_VIDEO_CAPTION_TYPE_CEA608_RAW, caption, sizeof caption);
  if (custom_meta ())
    custom = gst_buffer_add_custom_meta (buffer, CUSTOM_META);
  gst_structure_set (gst_custom_meta_get_structure (custom), "number", G_TYPE_INT, 42, NULL);
  gst_buffer_add_video_crop_meta (buffer)->width = 12;

  gst_buffer_add_parent_buffer_meta (buffer, parent);
  gst_buffer_unref (parent);
  gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 66, 34);
  gst_buffer_add_video_gl_texture_upload_meta (buffer, GST_VIDEO_GL_TEXTURE_ORIENTATION_X_NORMAL_Y_NORMAL, 1, types,
                                               upload, NULL, upload_copy, upload_free);
  return buffer;
}

static void
check_meta_values (GstBuffer *out)
{
  GstVideoRegionOfInterestMeta *roi = gst_buffer_get_video_region_of_interest_meta_id (out, 0);
  GstVideoTimeCodeMeta *time_code = gst_buffer_get_video_time_code_meta (out);
  GstReferenceTimestampMeta *reference = gst_buffer_get_reference_timestamp_meta (out, NULL);
  GstVideoCaptionMeta *caption = gst_buffer_get_video_caption_meta (out);
  GstCustomMeta *custom = gst_buffer_get_custom_meta (out, CUSTOM_META);
  gint number = 0;

  T_CHECK (gst_buffer_get_n_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) == 2, "%u regions",
           gst_buffer_get_n_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  T_CHECK (!roi || roi->w > 0, "a region without a size");
  T_CHECK (time_code && time_code->tc.seconds == 3, "time code");
  T_CHECK (reference && reference->timestamp == 1234, "reference timestamp");
  T_CHECK (caption && caption->size == 3 && caption->data[2] == 3, "caption");
  T_CHECK (custom && gst_structure_get_int (gst_custom_meta_get_structure (custom), "number", &number) && number == 42,
           "custom meta");
}

static void
metas_once (void)
{
  const GType once[] = { GST_VIDEO_TIME_CODE_META_API_TYPE, GST_REFERENCE_TIMESTAMP_META_API_TYPE,
                         GST_VIDEO_CAPTION_META_API_TYPE, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                         custom_meta ()->api, GST_VIDEO_CROP_META_API_TYPE };
  guint p, i;

  for (p = 0; p < G_N_ELEMENTS (paths); p++) {
    Rig *rig = start_on (&paths[p], CAPS);
    const gboolean bypass = strstr (paths[p].properties, "bypass") != NULL;

    for (i = 0; i < 3; i++)
      rig_push (rig, picture_with_metas (rig));
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == 3, "%u buffers", rig_n_buffers (rig));
    for (i = 0; i < rig_n_buffers (rig); i++) {
      GstBuffer *out = rig_buffer (rig, i, NULL);
      guint k;

      check_meta_values (out);
      for (k = 0; k < G_N_ELEMENTS (once); k++)
        T_CHECK (gst_buffer_get_n_meta (out, once[k]) == 1, "%u of %s", gst_buffer_get_n_meta (out, once[k]),
                 g_type_name (once[k]));
      if (bypass)
        continue; /* the same memory, so what describes it is right */
      T_CHECK (gst_buffer_get_n_meta (out, GST_PARENT_BUFFER_META_API_TYPE) == 0, "the input's parent");
      T_CHECK (gst_buffer_get_n_meta (out, GST_VIDEO_GL_TEXTURE_UPLOAD_META_API_TYPE) == 0, "the input's texture");
      T_CHECK (gst_buffer_get_n_meta (out, GST_VIDEO_META_API_TYPE) <= 1, "two descriptions of the memory");
    }
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- the input ------------------------------------------------------------------------------------ */

/* What can be seen of a buffer from outside. */
static guint
fingerprint (GstBuffer *buffer)
{
  guint hash = GST_BUFFER_FLAGS (buffer) + 31 * (guint) GST_BUFFER_PTS (buffer);
  gpointer state = NULL;
  GstMapInfo map;
  GstMeta *meta;
  gsize i;

  while ((meta = gst_buffer_iterate_meta (buffer, &state)))
    hash = hash * 33 + (guint) meta->info->api;
  gst_buffer_map (buffer, &map, GST_MAP_READ);
  for (i = 0; i < map.size; i++)
    hash = hash * 33 + map.data[i];
  gst_buffer_unmap (buffer, &map);
  return hash;
}

static void
input_stays (void)
{
  static const char *const looks[] = { "mode=edges", "mode=overlay", "mode=mask", "mode=direction", "bypass=true" };
  guint p, i;

  for (p = 0; p < G_N_ELEMENTS (paths); p++) {
    Rig *rig = start_on (&paths[p], CAPS);
    GstBuffer *in[2 * G_N_ELEMENTS (looks)];
    guint hash[2 * G_N_ELEMENTS (looks)];

    for (i = 0; i < G_N_ELEMENTS (in); i++) {
      rig_set (rig, "bypass=false");
      rig_set (rig, looks[i % G_N_ELEMENTS (looks)]);
      in[i] = picture_with_metas (rig);
      GST_BUFFER_FLAG_SET (in[i], GST_BUFFER_FLAG_GAP);
      hash[i] = fingerprint (in[i]);
      rig_push (rig, gst_buffer_ref (in[i]));
    }
    rig_eos (rig);
    rig_forget (rig);
    for (i = 0; i < G_N_ELEMENTS (in); i++) {
      T_CHECK (fingerprint (in[i]) == hash[i], "input %u was changed", i);
      T_CHECK (GST_MINI_OBJECT_REFCOUNT_VALUE (in[i]) == 1 || paths[p].loses_gpu, "input %u is still held", i);
    }
    rig_free (rig);
    et_gpu_check ();
    for (i = 0; i < G_N_ELEMENTS (in); i++) {
      T_CHECK (GST_MINI_OBJECT_REFCOUNT_VALUE (in[i]) == 1, "input %u is held after NULL", i);
      gst_buffer_unref (in[i]);
    }
  }
}

/* ---- the output's memory -------------------------------------------------------------------------- */

/* Looks at the chroma, then paints over everything, as a text overlay might. */
static GstFlowReturn
check_and_scribble (Rig *rig, GstBuffer *buffer)
{
  guint *expected = rig->user; /* code of every chroma byte */
  GstVideoFrame frame;
  GstMapInfo map;
  guint plane, x, y;

  gst_video_frame_map (&frame, &rig->info, buffer, GST_MAP_READ);
  for (plane = 1; plane < GST_VIDEO_FRAME_N_PLANES (&frame) && *expected; plane++)
    for (y = 0; y < (guint) GST_VIDEO_FRAME_COMP_HEIGHT (&frame, plane); y++)
      for (x = 0; x < (guint) GST_VIDEO_FRAME_COMP_WIDTH (&frame, plane) * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, plane);
           x++) {
        const guint8 got = ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (
            &frame, plane))[y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane) + x];
        if (!T_CHECK (got == *expected, "chroma %u at %u,%u of plane %u", got, x, y, plane))
          x = y = G_MAXINT - 1;
      }
  gst_video_frame_unmap (&frame);
  if (gst_buffer_is_writable (buffer) && gst_buffer_map (buffer, &map, GST_MAP_WRITE)) {
    memset (map.data, 0xa5, map.size);
    gst_buffer_unmap (buffer, &map);
  }
  return GST_FLOW_OK;
}

static void
chroma_stays_neutral (void)
{
  static const char *const formats[] = { "I420", "NV12", "Y42B", "Y444" };
  guint p, k, i;

  for (p = 0; p < G_N_ELEMENTS (paths); p++) {
    if (strstr (paths[p].properties, "bypass") || strstr (paths[p].properties, "overlay"))
      continue;
    for (k = 0; k < G_N_ELEMENTS (formats); k++) {
      gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=66,height=34,framerate=25/1", formats[k]);
      guint neutral = 128;
      Rig *rig = start_on (&paths[p], caps);

      rig->drops_buffers = TRUE;
      rig->arrive = check_and_scribble;
      rig->user = &neutral;
      for (i = 0; i < 24; i++) {
        if (i % 6 == 4) { /* one frame with colour in the same buffers */
          GstQuery *drain = gst_query_new_drain ();
          gst_pad_peer_query (rig->src, drain);
          neutral = 0;
          rig_set (rig, "mode=overlay");
          rig_push_pictures (rig, i, 3);
          gst_pad_peer_query (rig->src, drain);
          gst_query_unref (drain);
          neutral = 128;
          rig_set (rig, "mode=edges");
        }
        rig_push_pictures (rig, i, 1);
      }
      rig_eos (rig);
      rig_free (rig);
      et_gpu_check ();
      g_free (caps);
    }
  }
}

/* Bytes between the rows are nobody's picture, but they must not be anybody else's data either. */
static void
padding_is_defined (void)
{
  guint p;

  for (p = 0; p < G_N_ELEMENTS (paths); p++) {
    Rig *rig;
    GstBuffer *out;
    GstMapInfo map;
    guint x, y;

    if (paths[p].downstream_pool || paths[p].loses_gpu || strstr (paths[p].properties, "bypass"))
      continue;
    rig = start_on (&paths[p], "video/x-raw,format=RGB,width=33,height=17,framerate=25/1");
    rig_push_pictures (rig, 0, 1);
    rig_eos (rig);
    out = rig_buffer (rig, 0, NULL);
    gst_buffer_map (out, &map, GST_MAP_READ);
    T_CHECK (map.size == 100 * 17, "%" G_GSIZE_FORMAT " bytes", map.size);
    for (y = 0; y < 17; y++)
      for (x = 99; x < 100; x++)
        T_CHECK (map.data[100 * y + x] == 0, "row %u ends with %u", y, map.data[100 * y + x]);
    gst_buffer_unmap (out, &map);
    rig_free (rig);
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "times-and-flags", times_and_flags },
    { "gap-is-cleared", gap_is_cleared },
    { "metas-once", metas_once },
    { "input-stays", input_stays },
    { "chroma-stays-neutral", chroma_stays_neutral },
    { "padding-is-defined", padding_is_defined },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

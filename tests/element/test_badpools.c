/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Downstream's pool does not do what a pool should. */
#include "oddmemory.h"
#include "picture.h"

#include <string.h>

#define CAPS "video/x-raw,format=I420,width=66,height=34,framerate=25/1"

typedef enum
{
  POOL_REFUSES_CONFIG,
  POOL_REFUSES_TO_START,
  POOL_IS_PADDED,      /* buffers have a border around the picture */
  POOL_IS_SHORT,       /* every third buffer is too small */
  POOL_IS_UNMAPPABLE,  /* every third buffer cannot be written */
  POOL_RUNS_DRY,       /* the third acquire and those after it fail */
} Fault;

typedef struct
{
  GstVideoBufferPool parent;
  Fault fault;
  guint n_made, n_acquired;
} BadPool;
typedef GstVideoBufferPoolClass BadPoolClass;
GType bad_pool_get_type (void);
G_DEFINE_TYPE (BadPool, bad_pool, GST_TYPE_VIDEO_BUFFER_POOL)

static gboolean
bad_pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  BadPool *self = (BadPool *) pool;

  if (self->fault == POOL_REFUSES_CONFIG)
    return FALSE;
  if (self->fault == POOL_IS_PADDED) {
    GstVideoAlignment alignment;

    gst_video_alignment_reset (&alignment);
    alignment.padding_left = alignment.padding_top = 6;
    alignment.padding_right = 12;
    alignment.padding_bottom = 4;
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment (config, &alignment);
  }
  return GST_BUFFER_POOL_CLASS (bad_pool_parent_class)->set_config (pool, config);
}

static gboolean
bad_pool_start (GstBufferPool *pool)
{
  return ((BadPool *) pool)->fault != POOL_REFUSES_TO_START &&
         GST_BUFFER_POOL_CLASS (bad_pool_parent_class)->start (pool);
}

static GstFlowReturn
bad_pool_acquire (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  BadPool *self = (BadPool *) pool;
  GstFlowReturn flow;

  if (self->fault == POOL_RUNS_DRY && self->n_acquired >= 2)
    return GST_FLOW_ERROR;
  flow = GST_BUFFER_POOL_CLASS (bad_pool_parent_class)->acquire_buffer (pool, buffer, params);
  if (flow != GST_FLOW_OK)
    return flow;
  if (self->n_acquired++ % 3 == 2) {
    if (self->fault == POOL_IS_SHORT)
      gst_buffer_set_size (*buffer, 1000);
    if (self->fault == POOL_IS_UNMAPPABLE)
      gst_buffer_replace_all_memory (*buffer, odd_memory_unmappable (gst_buffer_get_size (*buffer)));
  }
  return GST_FLOW_OK;
}

static void
bad_pool_class_init (BadPoolClass *klass)
{
  GST_BUFFER_POOL_CLASS (klass)->set_config = bad_pool_set_config;
  GST_BUFFER_POOL_CLASS (klass)->start = bad_pool_start;
  GST_BUFFER_POOL_CLASS (klass)->acquire_buffer = bad_pool_acquire;
}

static void
bad_pool_init (BadPool *self)
{
}

/* The element with such a pool behind it. */
static Rig *
start_before (const char *backend, Fault fault)
{
  GstCaps *caps = gst_caps_from_string (CAPS);
  BadPool *pool = g_object_new (bad_pool_get_type (), NULL);
  GstStructure *config = gst_buffer_pool_get_config (GST_BUFFER_POOL_CAST (pool));
  GstVideoInfo info;
  Rig *rig;

  gst_object_ref_sink (pool);
  et_gpu_late (200, 200);
  gst_video_info_from_caps (&info, caps);
  gst_buffer_pool_config_set_params (config, caps, (guint) info.size, 2, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_set_config (GST_BUFFER_POOL_CAST (pool), config);
  gst_caps_unref (caps);
  pool->fault = fault;
  rig = rig_new (backend);
  rig->pool = GST_BUFFER_POOL_CAST (pool);
  rig->pool_size = (guint) info.size;
  rig->pool_min = 2;
  T_CHECK (rig_start (rig, CAPS), "does not start");
  return rig;
}

static const char *const backends[] = { "backend=cpu", "backend=cuda" };

/* The element's own buffers do as well. */
static void
useless_pools (void)
{
  static const Fault faults[] = { POOL_REFUSES_CONFIG, POOL_REFUSES_TO_START };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    for (i = 0; i < G_N_ELEMENTS (faults); i++) {
      Rig *rig;

      et_context ("%s, fault %u", backends[k], faults[i]);
      rig = start_before (backends[k], faults[i]);
      T_CHECK (rig_push_pictures (rig, 0, 5) == GST_FLOW_OK, "refused");
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 5, "%u frames", rig_n_buffers (rig));
      picture_check_recording (rig, 0, 5);
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

static void
padded_pools (void)
{
  guint k;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    Rig *rig;

    et_context ("%s", backends[k]);
    rig = start_before (backends[k], POOL_IS_PADDED);
    rig_push_pictures (rig, 0, 5);
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == 5 && rig_buffer (rig, 0, NULL)->pool == rig->pool, "the pool is not used");
    picture_check_recording (rig, 0, 5);
    rig_no_trouble (rig);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Frames without a place are dropped, counted and warned about; the others are right. */
static void
some_bad_buffers (void)
{
  static const Fault faults[] = { POOL_IS_SHORT, POOL_IS_UNMAPPABLE };
  guint k, f, i;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    for (f = 0; f < G_N_ELEMENTS (faults); f++) {
      SobelParams params;
      gchar *text;
      guint warnings;
      Rig *rig;

      et_context ("%s, fault %u", backends[k], faults[f]);
      rig = start_before (backends[k], faults[f]);
      params = picture_params (rig->element);
      T_CHECK (rig_push_pictures (rig, 0, 9) == GST_FLOW_OK, "the stream ends");
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 6, "%u frames", rig_n_buffers (rig));
      for (i = 0; i < rig_n_buffers (rig); i++) {
        GstBuffer *out = rig_buffer (rig, i, NULL), *in = rig_picture (rig, (guint) GST_BUFFER_OFFSET (out));

        picture_check (in, &rig->info, out, &rig->info, &params, FALSE);
        T_CHECK (GST_BUFFER_IS_DISCONT (out) == (i > 0 && i % 2 == 0), "DISCONT of %u", i);
        gst_buffer_unref (in);
      }
      T_CHECK (rig_stat (rig, "frames-in") == 9 && rig_stat (rig, "frames-dropped") == 3 &&
                   rig_stat (rig, "frames-out") == 6,
               "counted otherwise");
      warnings = rig_messages (rig, GST_MESSAGE_WARNING, &text);
      T_CHECK (warnings == 1, "%u warnings: %s", warnings, text);
      g_free (text);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* Upstream hears of it and nothing hangs. */
static void
pool_that_fails (void)
{
  guint k;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    GstFlowReturn flow;
    gchar *text;
    Rig *rig;

    et_context ("%s", backends[k]);
    rig = start_before (backends[k], POOL_RUNS_DRY);
    flow = rig_push_pictures (rig, 0, 20);
    T_CHECK (flow == GST_FLOW_ERROR, "upstream hears %s", gst_flow_get_name (flow));
    rig_wait (rig, 2);
    T_CHECK (rig_n_buffers (rig) == 2, "%u frames", rig_n_buffers (rig));
    T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR, &text) == 1 && strstr (text, "no memory"), "not one error: %s",
             text);
    g_free (text);
    rig_free (rig);
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "useless-pools", useless_pools },
    { "padded-pools", padded_pools },
    { "some-bad-buffers", some_bad_buffers },
    { "pool-that-fails", pool_that_fails },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pool that the element offers to upstream, the one that downstream offers to it, and small ones. */
#include "picture.h"

#include "pinnedbudget.h"

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=25/1"

enum { LUMA_BYTES = 64 * 48, FRAME_BYTES = LUMA_BYTES * 3 / 2 };

static void
leave_pool (GstBufferPool *pool)
{
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

/* A plain pool for the rig's caps. */
static GstBufferPool *
plain_pool (const char *text, GstAllocator *allocator, const GstAllocationParams *params, guint min, guint max)
{
  GstCaps *caps = gst_caps_from_string (text);
  GstBufferPool *pool = gst_video_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstVideoInfo info;

  gst_video_info_from_caps (&info, caps);
  gst_buffer_pool_config_set_params (config, caps, (guint) info.size, min, max);
  if (allocator)
    gst_buffer_pool_config_set_allocator (config, allocator, params);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  T_CHECK (gst_buffer_pool_set_config (pool, config), "a plain pool cannot be configured");
  gst_caps_unref (caps);
  return pool;
}

static void
offer (Rig *rig, GstBufferPool *pool, guint min, guint max)
{
  rig->pool = pool;
  rig->pool_size = FRAME_BYTES;
  rig->pool_min = min;
  rig->pool_max = max;
}

/* ---- towards upstream ----------------------------------------------------------------------------- */

static void
what_is_offered (void)
{
  guint ring;

  for (ring = 1; ring <= 16; ring += 3) {
    gchar *properties = g_strdup_printf ("backend=cuda ring-size=%u", ring);
    GstAllocator *allocator = NULL, *pool_allocator = NULL;
    GstBufferPool *pool = NULL;
    guint size = 0, min = 0, max = 0;
    GstStructure *config;
    GstQuery *query;
    Rig *rig;

    et_context ("ring-size=%u", ring);
    et_gpu_late (100, 100);
    rig = rig_new (properties);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    query = rig_ask_for_allocation (rig, TRUE);
    T_CHECK (gst_query_get_n_allocation_pools (query) == 1, "no pool");
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
    T_CHECK (pool && size == FRAME_BYTES, "size %u", size);
    T_CHECK (min > ring && max == 0, "min %u, max %u", min, max);
    T_CHECK (gst_query_get_n_allocation_params (query) == 1, "no allocator");
    gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
    config = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_get_allocator (config, &pool_allocator, NULL);
    T_CHECK (allocator && allocator == pool_allocator, "the pool and the query have different allocators");
    gst_structure_free (config);
    T_CHECK (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL), "GstVideoMeta is not understood");
    T_CHECK (!gst_query_find_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL), "cropping is promised");
    gst_object_unref (allocator);
    gst_object_unref (pool);
    gst_query_unref (query);

    query = rig_ask_for_allocation (rig, FALSE);
    T_CHECK (gst_query_get_n_allocation_params (query) == 1, "no allocator for a pool of upstream's own");
    gst_query_unref (query);
    rig_free (rig);
    g_free (properties);
    et_gpu_check ();
  }
}

/* The CPU has no use for special memory, but strides and offsets are understood all the same. */
static void
what_the_cpu_offers (void)
{
  Rig *rig = rig_new ("backend=cpu");
  GstQuery *query;

  T_CHECK (rig_start (rig, CAPS), "does not start");
  query = rig_ask_for_allocation (rig, TRUE);
  T_CHECK (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL), "GstVideoMeta is not understood");
  T_CHECK (!gst_query_find_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL), "cropping is promised");
  gst_query_unref (query);
  rig_free (rig);
}

/* Nobody copies anything, and a buffer is kept until its frame has left. */
static void
offered_pool_is_used_in_place (void)
{
  static const char *const looks[] = { "mode=edges", "mode=overlay", "mode=mask" };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (looks); k++) {
    GstBufferPool *pool;
    Rig *rig;

    et_gpu_late (300, 1000);
    rig = rig_new ("backend=cuda ring-size=4");
    rig_set (rig, looks[k]);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    pool = rig_take_offer (rig);
    for (i = 0; i < 40; i++)
      T_CHECK (rig_push (rig, rig_picture_from (rig, pool, i)) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    picture_check_recording (rig, 0, 40);
    T_CHECK (rig_stat (rig, "host-bytes-copied") == 0, "%" G_GUINT64_FORMAT " bytes were copied",
             rig_stat (rig, "host-bytes-copied"));
    leave_pool (pool);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Base classes give their own pool the allocator of the query. */
static void
offered_allocator_is_enough (void)
{
  GstAllocationParams params;
  GstAllocator *allocator;
  GstBufferPool *pool;
  GstQuery *query;
  Rig *rig;
  guint i;

  et_gpu_late (300, 300);
  rig = rig_new ("backend=cuda ring-size=2");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  query = rig_ask_for_allocation (rig, FALSE);
  gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  gst_query_unref (query);
  pool = plain_pool (CAPS, allocator, &params, 0, 0);
  gst_object_unref (allocator);
  gst_buffer_pool_set_active (pool, TRUE);
  for (i = 0; i < 10; i++)
    rig_push (rig, rig_picture_from (rig, pool, i));
  rig_eos (rig);
  picture_check_recording (rig, 0, 10);
  T_CHECK (rig_stat (rig, "host-bytes-copied") == 0, "%" G_GUINT64_FORMAT " bytes were copied",
           rig_stat (rig, "host-bytes-copied"));
  leave_pool (pool);
  rig_free (rig);
}

/* A base class may configure the offered pool anew, with another allocator or none. */
static void
offered_pool_keeps_its_memory (void)
{
  GstAllocationParams params = { 0, 15, 0, 0 };
  GstBufferPool *pool = NULL;
  GstStructure *config;
  GstQuery *query;
  guint size, min, max;
  GstCaps *caps;
  Rig *rig;

  et_gpu_late (300, 300);
  rig = rig_new ("backend=cuda ring-size=2");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  query = rig_ask_for_allocation (rig, TRUE);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  gst_query_parse_allocation (query, &caps, NULL);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min + 3, max);
  gst_buffer_pool_config_set_allocator (config, NULL, &params);
  T_CHECK (gst_buffer_pool_set_config (pool, config), "cannot be configured by upstream");
  gst_query_unref (query);
  gst_buffer_pool_set_active (pool, TRUE);
  rig_push (rig, rig_picture_from (rig, pool, 0));
  rig_eos (rig);
  picture_check_recording (rig, 0, 1);
  T_CHECK (rig_stat (rig, "host-bytes-copied") == 0, "other memory was taken");
  leave_pool (pool);
  rig_free (rig);
}

/* Buffers from elsewhere are copied, only as far as the result needs them, and let go at once: two are enough, also
 * where the GPU never finishes. */
static void
other_buffers_are_let_go (void)
{
  const EGpu never = { .pixels = TRUE, .options = { .finish = FAKE_FINISH_TOLD, .watch_memory = true } };
  GstBufferPool *pool;
  GstBuffer *in;
  Rig *rig;
  guint i;

  et_gpu_set (&never);
  rig = rig_new ("backend=cuda ring-size=8");
  T_CHECK (rig_start (rig, CAPS), "does not start");
  pool = plain_pool (CAPS, NULL, NULL, 2, 2);
  gst_buffer_pool_set_active (pool, TRUE);
  for (i = 0; i < 8 && (in = rig_picture_from (rig, pool, i)); i++)
    rig_push (rig, in);
  T_CHECK (fake_device_in_flight (et_gpu (0)) == 8, "%u in flight", fake_device_in_flight (et_gpu (0)));
  T_CHECK (rig_stat (rig, "host-bytes-copied") == 8 * LUMA_BYTES, "%" G_GUINT64_FORMAT " bytes were copied",
           rig_stat (rig, "host-bytes-copied"));
  fake_device_finish_all (et_gpu (0));
  rig_eos (rig);
  picture_check_recording (rig, 0, 8);
  leave_pool (pool);
  rig_free (rig);
}

static GstFlowReturn
wait_for_a_sign (Rig *rig, GstBuffer *buffer)
{
  while (!g_atomic_int_get ((gint *) rig->user))
    g_usleep (1000);
  return GST_FLOW_OK;
}

/* The CPU needs no copy: it is done with the input as soon as the push returns, whatever downstream does meanwhile. */
static void
the_cpu_lets_go_at_once (void)
{
  GstBufferPool *pool = plain_pool (CAPS, NULL, NULL, 1, 1);
  gint sign = 0;
  GstBuffer *in;
  Rig *rig;
  guint i;

  rig = rig_new ("backend=cpu ring-size=8");
  rig->arrive = wait_for_a_sign;
  rig->user = &sign;
  T_CHECK (rig_start (rig, CAPS), "does not start");
  gst_buffer_pool_set_active (pool, TRUE);
  /* As many as the CPU keeps in flight, whatever ring-size is. */
  for (i = 0; i < 2 && (in = rig_picture_from (rig, pool, i)); i++)
    rig_push (rig, in);
  T_CHECK (rig_n_buffers (rig) == 0 && rig_stat (rig, "host-bytes-copied") == 0, "not as it was meant");
  T_CHECK (rig_stat (rig, "slots") == 2, "%" G_GUINT64_FORMAT " slots", rig_stat (rig, "slots"));
  g_atomic_int_set (&sign, 1);
  rig_eos (rig);
  picture_check_recording (rig, 0, 2);
  leave_pool (pool);
  rig_free (rig);
}

static void
two_buffers_are_enough (void)
{
  static const char *const looks[] = { "backend=cpu", "backend=cuda", "backend=cpu bypass=true",
                                       "backend=cuda bypass=true", "backend=cuda mode=overlay" };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (looks); k++) {
    GstBufferPool *pool = plain_pool (CAPS, NULL, NULL, 2, 2);
    GstBuffer *in;
    Rig *rig;

    et_context ("%s", looks[k]);
    et_gpu_late (300, 300);
    rig = rig_new (looks[k]);
    rig->drops_buffers = TRUE;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    gst_buffer_pool_set_active (pool, TRUE);
    for (i = 0; i < 50 && (in = rig_picture_from (rig, pool, i)); i++)
      rig_push (rig, in);
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == 50, "%u frames", rig_n_buffers (rig));
    leave_pool (pool);
    rig_free (rig);
    et_gpu_check ();
  }
}

/* ---- towards downstream --------------------------------------------------------------------------- */

static void
downstream_pool_is_used (void)
{
  static const struct
  {
    const char *properties;
    guint64 copied; /* a frame: into the GPU's memory, and out into the pool's */
  } trial[] = { { "backend=cpu", 0 },
                { "backend=cuda", LUMA_BYTES + FRAME_BYTES },
                { "backend=cuda mode=overlay", 2 * FRAME_BYTES } };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (trial); k++) {
    Rig *rig;

    et_context ("%s", trial[k].properties);
    et_gpu_late (200, 200);
    rig = rig_new (trial[k].properties);
    offer (rig, plain_pool (CAPS, NULL, NULL, 3, 0), 3, 0);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    rig_push_pictures (rig, 0, 10);
    rig_eos (rig);
    picture_check_recording (rig, 0, 10);
    for (i = 0; i < 10; i++)
      T_CHECK (rig_buffer (rig, i, NULL)->pool == rig->pool, "buffer %u is not of downstream's pool", i);
    T_CHECK (rig_stat (rig, "host-bytes-copied") == 10 * trial[k].copied, "%" G_GUINT64_FORMAT " bytes were copied",
             rig_stat (rig, "host-bytes-copied"));
    rig_free (rig);
    et_gpu_check ();
  }
}

/* Without one, the GPU's own buffers go downstream. */
static void
without_downstream_pool (void)
{
  guint k;

  for (k = 0; k < 3; k++) {
    GstBufferPool *pool;
    Rig *rig;

    et_gpu_late (200, 200);
    rig = rig_new ("backend=cuda");
    rig->answers_allocation = k > 0;
    rig->video_meta = k > 1;
    T_CHECK (rig_start (rig, CAPS), "does not start");
    pool = rig_take_offer (rig);
    rig_push (rig, rig_picture_from (rig, pool, 0));
    rig_eos (rig);
    picture_check_recording (rig, 0, 1);
    T_CHECK (rig_stat (rig, "host-bytes-copied") == 0, "something was copied");
    leave_pool (pool);
    rig_free (rig);
    et_gpu_check ();
  }
}

static void
small_downstream_pool (void)
{
  static const char *const backends[] = { "backend=cpu", "backend=cuda ring-size=4", "backend=cuda ring-size=16" };
  guint k, max;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    for (max = 1; max <= 2; max++) {
      Rig *rig;

      et_context ("%s, %u buffers", backends[k], max);
      et_gpu_late (200, 200);
      rig = rig_new (backends[k]);
      rig->drops_buffers = TRUE;
      offer (rig, plain_pool (CAPS, NULL, NULL, max, max), max, max);
      T_CHECK (rig_start (rig, CAPS), "does not start");
      T_CHECK (rig_push_pictures (rig, 0, 50) == GST_FLOW_OK, "refused");
      rig_eos (rig);
      T_CHECK (rig_n_buffers (rig) == 50, "%u frames", rig_n_buffers (rig));
      rig_no_trouble (rig);
      rig_free (rig);
      et_gpu_check ();
    }
  }
}

/* ---- after the element ---------------------------------------------------------------------------- */

static gpointer
unref_buffers (gpointer data)
{
  GstBuffer **buffer;

  for (buffer = data; *buffer; buffer++) {
    GstMapInfo map;

    T_CHECK (gst_buffer_map (*buffer, &map, GST_MAP_READ) && map.size > 0 && map.data[map.size - 1] < 256,
             "unreadable");
    gst_buffer_unmap (*buffer, &map);
    gst_buffer_unref (*buffer);
  }
  return NULL;
}

/* What others hold stays readable after NULL and is freed with its last reference, on any thread. */
static void
buffers_outlive_the_element (void)
{
  static const char *const backends[] = { "backend=cpu", "backend=cuda" };
  guint k, i;

  for (k = 0; k < G_N_ELEMENTS (backends); k++) {
    GstBuffer *held[8] = { NULL };
    GstBufferPool *pool = NULL;
    guint n = 0;
    Rig *rig;

    et_context ("%s", backends[k]);
    et_gpu_late (200, 200);
    rig = rig_new (backends[k]);
    T_CHECK (rig_start (rig, CAPS), "does not start");
    if (k > 0) {
      pool = rig_take_offer (rig);
      held[n++] = rig_picture_from (rig, pool, 0);
    }
    rig_push_pictures (rig, 0, 3);
    rig_eos (rig);
    for (i = 0; i < 3; i++)
      held[n++] = gst_buffer_ref (rig_buffer (rig, i, NULL));
    rig_free (rig);
    T_CHECK (k == 0 || et_gpu_is_real () || fake_device_destroyed (et_gpu (0)), "the device waits for buffers");
    if (pool) {
      /* The pool goes on working, with plain memory. */
      for (i = 0; i < 3; i++)
        T_CHECK (gst_buffer_pool_acquire_buffer (pool, &held[n++], NULL) == GST_FLOW_OK, "the pool is dead");
      leave_pool (pool);
    }
    g_thread_join (g_thread_new ("holder", unref_buffers, held));
    et_gpu_check ();
  }
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "what-is-offered", what_is_offered },
    { "what-the-cpu-offers", what_the_cpu_offers },
    { "offered-pool-is-used-in-place", offered_pool_is_used_in_place },
    { "offered-allocator-is-enough", offered_allocator_is_enough },
    { "offered-pool-keeps-its-memory", offered_pool_keeps_its_memory },
    { "other-buffers-are-let-go", other_buffers_are_let_go },
    { "the-cpu-lets-go-at-once", the_cpu_lets_go_at_once },
    { "two-buffers-are-enough", two_buffers_are_enough },
    { "downstream-pool-is-used", downstream_pool_is_used },
    { "without-downstream-pool", without_downstream_pool },
    { "small-downstream-pool", small_downstream_pool },
    { "buffers-outlive-the-element", buffers_outlive_the_element },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

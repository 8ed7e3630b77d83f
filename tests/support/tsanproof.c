/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What ThreadSanitizer must and must not report here, with tsanglib preloaded (tests/support/tsanproof.sh):
 *   tsanproof guarded   two threads share memory in every way that GLib and GStreamer order: silence
 *   tsanproof race      two threads write a counter that nothing guards: a report
 *   tsanproof half      as `race`, but each under a GMutex of its own: a report */

#include <gst/gst.h>
#include <string.h>

enum { ROUNDS = 300, FRAME_BYTES = 4096 };

static struct
{
  GMutex mutex, other;
  GRecMutex rec;
  GRWLock rw;
  GCond cond;
  gint bit;
  gboolean ready;
  GAsyncQueue *queue;
  GstBufferPool *pool;
  int by_mutex, by_rec, by_rw, by_cond, by_bit, unguarded;
} shared;

static void
touch_all (void)
{
  g_mutex_lock (&shared.mutex);
  shared.by_mutex++;
  g_mutex_unlock (&shared.mutex);

  g_rec_mutex_lock (&shared.rec);
  g_rec_mutex_lock (&shared.rec);
  shared.by_rec++;
  g_rec_mutex_unlock (&shared.rec);
  g_rec_mutex_unlock (&shared.rec);

  g_rw_lock_writer_lock (&shared.rw);
  shared.by_rw++;
  g_rw_lock_writer_unlock (&shared.rw);
  g_rw_lock_reader_lock (&shared.rw);
  g_assert (shared.by_rw > 0);
  g_rw_lock_reader_unlock (&shared.rw);

  g_bit_lock (&shared.bit, 0);
  shared.by_bit++;
  g_bit_unlock (&shared.bit, 0);
}

static gpointer
once (gpointer unused)
{
  static gsize initialised;
  static int value;

  (void) unused;
  if (g_once_init_enter (&initialised)) {
    value = 42;
    g_once_init_leave (&initialised, 1);
  }
  g_assert (value == 42);
  return NULL;
}

/* Fills pooled buffers and hands them over by a queue; the other thread reads and drops them. */
static gpointer
producer (gpointer unused)
{
  int i;

  once (unused);
  for (i = 0; i < ROUNDS; i++) {
    GstBuffer *buffer = NULL;
    GstMapInfo map;

    touch_all ();
    g_assert (gst_buffer_pool_acquire_buffer (shared.pool, &buffer, NULL) == GST_FLOW_OK);
    g_assert (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
    memset (map.data, i, map.size);
    gst_buffer_unmap (buffer, &map);
    g_async_queue_push (shared.queue, buffer);
  }
  g_mutex_lock (&shared.mutex);
  shared.by_cond = 1;
  shared.ready = TRUE;
  g_cond_signal (&shared.cond);
  g_mutex_unlock (&shared.mutex);
  return NULL;
}

static gpointer
consumer (gpointer unused)
{
  int i;

  once (unused);
  for (i = 0; i < ROUNDS; i++) {
    GstBuffer *buffer = g_async_queue_pop (shared.queue);
    GstMapInfo map;

    g_assert (gst_buffer_map (buffer, &map, GST_MAP_READ));
    g_assert (map.data[FRAME_BYTES - 1] == (guint8) i);
    gst_buffer_unmap (buffer, &map);
    gst_buffer_unref (buffer);
    touch_all ();
  }
  g_mutex_lock (&shared.mutex);
  while (!shared.ready)
    g_cond_wait (&shared.cond, &shared.mutex);
  g_mutex_unlock (&shared.mutex);
  g_assert (shared.by_cond == 1);
  return NULL;
}

static gpointer
racer (gpointer mutex)
{
  int i;

  for (i = 0; i < ROUNDS; i++) {
    if (mutex)
      g_mutex_lock (mutex);
    shared.unguarded++;
    if (mutex)
      g_mutex_unlock (mutex);
  }
  return NULL;
}

static void
run_both (GThreadFunc first, gpointer first_data, GThreadFunc second, gpointer second_data)
{
  GThread *a = g_thread_new ("first", first, first_data);
  GThread *b = g_thread_new ("second", second, second_data);

  g_thread_join (a);
  g_thread_join (b);
}

static void
run_guarded (void)
{
  GstStructure *config;

  shared.queue = g_async_queue_new ();
  shared.pool = gst_buffer_pool_new ();
  config = gst_buffer_pool_get_config (shared.pool);
  gst_buffer_pool_config_set_params (config, NULL, FRAME_BYTES, 1, 3);
  g_assert (gst_buffer_pool_set_config (shared.pool, config));
  g_assert (gst_buffer_pool_set_active (shared.pool, TRUE));
  run_both (producer, NULL, consumer, NULL);
  gst_buffer_pool_set_active (shared.pool, FALSE);
  gst_object_unref (shared.pool);
  g_async_queue_unref (shared.queue);
}

int
main (int argc, char **argv)
{
  const char *what = argc == 2 ? argv[1] : "";

  gst_init (NULL, NULL);
  if (strcmp (what, "guarded") == 0)
    run_guarded ();
  else if (strcmp (what, "race") == 0)
    run_both (racer, NULL, racer, NULL);
  else if (strcmp (what, "half") == 0)
    run_both (racer, &shared.mutex, racer, &shared.other);
  else
    return 2;
  return 0;
}

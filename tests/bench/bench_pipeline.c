/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whole pipelines, timed: prepared source ! filter ! checking sink. One JSON line a run on stdout, so that a script
 * can sweep over anything; frames a second over all of them after the warm-up, latency from source to sink (p50,
 * p99, max), CPU time a frame, bytes that the host copied.
 *
 *   bench_pipeline --filter="cudasobel backend=cuda ring-size=4" --format=I420 --size=1920x1080 --frames=20000
 */

#include "benchends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct
{
  gchar *filter, *format, *size, *read, *label;
  gint frames, warmup, elements;
  gboolean own_memory, no_check;
  gdouble live, late_ms;
} Options;

typedef struct
{
  GstElement *pipeline;
  BenchSrc *src;
  BenchSink *sink;
  gint64 *sent_us, *arrived_us;
} Lane;

typedef struct
{
  gdouble seconds, fps, cpu_us;
  gint64 p50_us, p99_us, max_us;
  guint64 wrong, lost, late, copied;
} Result;

static gboolean
lane_open (Lane *lane, const Options *o)
{
  GError *error = NULL;
  GstElement *filter;
  int width, height;

  if (sscanf (o->size, "%dx%d", &width, &height) != 2)
    return FALSE;
  lane->sent_us = g_new0 (gint64, o->frames);
  lane->arrived_us = g_new0 (gint64, o->frames);
  lane->src = g_object_new (BENCH_TYPE_SRC, NULL);
  lane->src->caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, o->format, "width", G_TYPE_INT, width,
                                         "height", G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION, 1000, 1, NULL);
  lane->src->own_memory = o->own_memory;
  lane->src->n_frames = o->frames;
  lane->src->fps = o->live;
  lane->src->sent_us = lane->sent_us;
  lane->sink = g_object_new (BENCH_TYPE_SINK, NULL);
  lane->sink->read = g_str_equal (o->read, "all")    ? BENCH_READ_ALL
                     : g_str_equal (o->read, "none") ? BENCH_READ_NONE
                                                     : BENCH_READ_STAMP;
  lane->sink->check = !o->no_check;
  lane->sink->arrived_us = lane->arrived_us;
  lane->sink->max_frames = o->frames;

  filter = gst_parse_bin_from_description (o->filter, TRUE, &error);
  if (!filter) {
    fprintf (stderr, "%s: %s\n", o->filter, error->message);
    g_clear_error (&error);
    return FALSE;
  }
  lane->pipeline = gst_pipeline_new (NULL);
  gst_bin_add_many (GST_BIN (lane->pipeline), GST_ELEMENT (lane->src), filter, GST_ELEMENT (lane->sink), NULL);
  return gst_element_link_many (GST_ELEMENT (lane->src), filter, GST_ELEMENT (lane->sink), NULL);
}

/* Runs to EOS; FALSE, with the message on stderr, on an error. */
static gboolean
lane_wait (Lane *lane)
{
  GstBus *bus = gst_element_get_bus (lane->pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  const gboolean eos = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;

  if (!eos) {
    GError *error = NULL;
    gchar *debug = NULL;

    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, &debug);
    else
      gst_message_parse_warning (message, &error, &debug);
    fprintf (stderr, "%s (%s)\n", error->message, debug);
    g_clear_error (&error);
    g_free (debug);
  }
  gst_message_unref (message);
  gst_object_unref (bus);
  return eos;
}

static void
lane_close (Lane *lane)
{
  if (lane->pipeline) {
    gst_element_set_state (lane->pipeline, GST_STATE_NULL);
    gst_object_unref (lane->pipeline);
  }
  g_free (lane->sent_us);
  g_free (lane->arrived_us);
}

/* The first statistics structure of an element of the pipeline, or NULL. (transfer full) */
static GstStructure *
lane_stats (Lane *lane)
{
  GstIterator *elements = gst_bin_iterate_recurse (GST_BIN (lane->pipeline));
  GstStructure *stats = NULL;
  GValue item = G_VALUE_INIT;

  while (!stats && gst_iterator_next (elements, &item) == GST_ITERATOR_OK) {
    GObject *element = g_value_get_object (&item);
    if (g_str_has_prefix (G_OBJECT_TYPE_NAME (element), "GstCudaSobel"))
      g_object_get (element, "stats", &stats, NULL);
    g_value_reset (&item);
  }
  g_value_unset (&item);
  gst_iterator_free (elements);
  return stats;
}

static gint
compare_us (gconstpointer a, gconstpointer b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
  return x < y ? -1 : x > y;
}

static void
measure (Lane *lanes, const Options *o, gint64 cpu_us, Result *r)
{
  GArray *latency = g_array_new (FALSE, FALSE, sizeof (gint64));
  gint64 first = G_MAXINT64, last = 0;
  gint i, n;

  memset (r, 0, sizeof *r);
  for (i = 0; i < o->elements; i++) {
    for (n = o->warmup; n < o->frames; n++) {
      gint64 us = lanes[i].arrived_us[n] - lanes[i].sent_us[n];

      if (!lanes[i].arrived_us[n]) {
        r->lost++;
        continue;
      }
      g_array_append_val (latency, us);
      if (o->live > 0 && us > (o->late_ms > 0 ? o->late_ms * 1000 : G_USEC_PER_SEC / o->live))
        r->late++;
    }
    /* From the last frame of the warm-up to the last one. */
    first = MIN (first, lanes[i].arrived_us[o->warmup - 1]);
    last = MAX (last, lanes[i].arrived_us[o->frames - 1]);
    r->wrong += lanes[i].sink->n_wrong;
  }
  g_array_sort (latency, compare_us);
  if (latency->len) {
    r->p50_us = g_array_index (latency, gint64, latency->len / 2);
    r->p99_us = g_array_index (latency, gint64, (guint64) latency->len * 99 / 100);
    r->max_us = g_array_index (latency, gint64, latency->len - 1);
  }
  r->seconds = (last - first) / 1e6;
  r->fps = (gdouble) o->elements * (o->frames - o->warmup) / r->seconds;
  r->cpu_us = (gdouble) cpu_us / ((gdouble) o->elements * o->frames);
  g_array_unref (latency);
}

static gint64
process_cpu_us (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

static guint64
stat_of (const GstStructure *stats, const gchar *name)
{
  guint64 value = 0;

  if (stats)
    gst_structure_get_uint64 (stats, name, &value);
  return value;
}

static void
print_result (const Options *o, const Result *r, const GstStructure *stats)
{
  printf ("{\"label\":\"%s\",\"filter\":\"%s\",\"format\":\"%s\",\"size\":\"%s\",\"memory\":\"%s\",\"read\":\"%s\","
          "\"elements\":%d,\"frames\":%d,\"live_fps\":%.3g,\"fps\":%.1f,\"seconds\":%.4f,\"latency_p50_us\":%" G_GINT64_FORMAT
          ",\"latency_p99_us\":%" G_GINT64_FORMAT ",\"latency_max_us\":%" G_GINT64_FORMAT ",\"cpu_us_per_frame\":%.2f,"
          "\"late\":%" G_GUINT64_FORMAT ",\"lost\":%" G_GUINT64_FORMAT ",\"wrong\":%" G_GUINT64_FORMAT
          ",\"host_bytes_copied\":%" G_GUINT64_FORMAT ",\"upload_ns\":%" G_GUINT64_FORMAT ",\"kernel_ns\":%" G_GUINT64_FORMAT
          ",\"download_ns\":%" G_GUINT64_FORMAT ",\"pinned_bytes\":%" G_GUINT64_FORMAT ",\"device_bytes\":%" G_GUINT64_FORMAT
          ",\"backend\":\"%s\",\"device\":\"%s\",\"kernel\":\"%s\"}\n",
          o->label ? o->label : "", o->filter, o->format, o->size, o->own_memory ? "own" : "proposed", o->read, o->elements,
          o->frames, o->live, r->fps, r->seconds, r->p50_us, r->p99_us, r->max_us, r->cpu_us, r->late, r->lost, r->wrong,
          stat_of (stats, "host-bytes-copied"), stat_of (stats, "upload-ns"), stat_of (stats, "kernel-ns"),
          stat_of (stats, "download-ns"), stat_of (stats, "pinned-bytes"), stat_of (stats, "device-bytes"),
          stats ? gst_structure_get_string (stats, "backend") : "", stats ? gst_structure_get_string (stats, "device") : "",
          stats ? gst_structure_get_string (stats, "kernel") : "");
  fflush (stdout);
}

static gboolean
run (const Options *o)
{
  Lane *lanes = g_new0 (Lane, o->elements);
  GstStructure *stats = NULL;
  gboolean ok = TRUE;
  gint64 cpu_us;
  Result result;
  gint i;

  for (i = 0; i < o->elements && ok; i++)
    ok = lane_open (&lanes[i], o);
  cpu_us = process_cpu_us ();
  for (i = 0; i < o->elements && ok; i++)
    ok = gst_element_set_state (lanes[i].pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
  for (i = 0; i < o->elements; i++)
    if (lanes[i].pipeline)
      ok = ok && lane_wait (&lanes[i]);
  cpu_us = process_cpu_us () - cpu_us;
  if (ok) {
    stats = lane_stats (&lanes[0]);
    measure (lanes, o, cpu_us, &result);
    print_result (o, &result, stats);
    ok = result.wrong == 0 && result.lost == 0;
    if (!ok)
      fprintf (stderr, "%" G_GUINT64_FORMAT " wrong and %" G_GUINT64_FORMAT " lost frames\n", result.wrong, result.lost);
    g_clear_pointer (&stats, gst_structure_free);
  }
  for (i = 0; i < o->elements; i++)
    lane_close (&lanes[i]);
  g_free (lanes);
  return ok;
}

int
main (int argc, char **argv)
{
  Options o = { .frames = 2000, .warmup = 200, .elements = 1 };
  const GOptionEntry entries[] = {
    { "filter", 'f', 0, G_OPTION_ARG_STRING, &o.filter, "What is measured (default \"cudasobel\")", "PIPELINE" },
    { "format", 'F', 0, G_OPTION_ARG_STRING, &o.format, "8-bit video format (default I420)", "NAME" },
    { "size", 's', 0, G_OPTION_ARG_STRING, &o.size, "Frame size (default 1920x1080)", "WxH" },
    { "read", 'r', 0, G_OPTION_ARG_STRING, &o.read, "What the sink reads: stamp (default), all, none", "WHAT" },
    { "label", 'l', 0, G_OPTION_ARG_STRING, &o.label, "Name of this run in the output", "TEXT" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &o.frames, "Frames to send (default 2000)", "N" },
    { "warmup", 'w', 0, G_OPTION_ARG_INT, &o.warmup, "Frames before the clock starts (default 200)", "N" },
    { "elements", 'e', 0, G_OPTION_ARG_INT, &o.elements, "Pipelines at once (default 1)", "N" },
    { "own-memory", 'o', 0, G_OPTION_ARG_NONE, &o.own_memory, "The source brings its own memory", NULL },
    { "no-check", 'c', 0, G_OPTION_ARG_NONE, &o.no_check, "Do not check stamps (other modes than edges)", NULL },
    { "live", 'L', 0, G_OPTION_ARG_DOUBLE, &o.live, "Send this many frames a second", "FPS" },
    { "late", 't', 0, G_OPTION_ARG_DOUBLE, &o.late_ms, "Live: count frames that took longer (default one frame)", "MS" },
    { NULL },
  };
  GOptionContext *context = g_option_context_new ("- times a filter in a whole pipeline");
  GError *error = NULL;
  gboolean ok;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  ok = g_option_context_parse (context, &argc, &argv, &error);
  g_option_context_free (context);
  if (!ok) {
    fprintf (stderr, "%s\n", error->message);
    g_clear_error (&error);
    return 2;
  }
  o.filter = o.filter ? o.filter : g_strdup ("cudasobel");
  o.format = o.format ? o.format : g_strdup ("I420");
  o.size = o.size ? o.size : g_strdup ("1920x1080");
  o.read = o.read ? o.read : g_strdup ("stamp");
  if (o.frames < 2 || o.elements < 1 || o.warmup < 1 || o.warmup >= o.frames) {
    fprintf (stderr, "--frames must exceed --warmup, and both be at least 1\n");
    return 2;
  }
  ok = run (&o);
  g_free (o.filter);
  g_free (o.format);
  g_free (o.size);
  g_free (o.read);
  g_free (o.label);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

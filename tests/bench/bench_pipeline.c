/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whole pipelines, timed: prepared source ! filter ! checking sink. One JSON line a run on stdout, so that a script
 * can sweep over anything; frames a second over all of them after the warm-up, latency from source to sink (p50,
 * p99, max), CPU time a frame, bytes that the host copied. `benchcopy` may stand for the filter: one memcpy a frame.
 *
 *   bench_pipeline --filter="cudasobel backend=cuda ring-size=4" --format=I420 --size=1920x1080 --frames=20000
 */

#include "benchcopy.h"
#include "benchends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  gchar *filter, *format, *size, *read, *label;
  gint frames, warmup, elements;
  gboolean own_memory, no_check;
  gdouble live, late_ms, timeout_s, warmup_s, seconds;
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
  GString *bins;  /* of latencies, in JSON */
  guint64 frames, wrong, lost, late; /* frames: measured, of all elements */
} Result;

static gboolean
lane_open (Lane *lane, const Options *o, BenchGate *gate)
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
  lane->src->n_warmup = o->warmup;
  lane->src->warmup_us = (gint64) (o->warmup_s * G_USEC_PER_SEC);
  lane->src->measure_us = (gint64) (o->seconds * G_USEC_PER_SEC);
  lane->src->gate = gate;
  lane->src->fps = o->live;
  gst_base_src_set_live (GST_BASE_SRC (lane->src), o->live > 0);
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

/* Runs to EOS; FALSE, with the message on stderr, on an error and when `until_us` has come. */
static gboolean
lane_wait (Lane *lane, gint64 until_us)
{
  GstBus *bus = gst_element_get_bus (lane->pipeline);
  const gint64 left_us = MAX (until_us - g_get_monotonic_time (), 0);
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, left_us * 1000, GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  const gboolean eos = message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;

  if (!message) {
    fprintf (stderr, "no end of the stream in time\n");
  } else if (!eos) {
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
  if (message)
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

/* Frames by latency: pairs of a lower bound in us and a count, eight to an octave. (transfer full) */
static GString *
count_bins (const GArray *latency)
{
  GString *bins = g_string_new ("[");
  const gdouble step = 1.0905077326652577; /* the eighth root of 2 */
  gdouble bound = 1;
  guint i = 0, n;

  while (i < latency->len) {
    for (n = 0; i < latency->len && g_array_index (latency, gint64, i) < bound * step; i++)
      n++;
    if (n > 0 || bins->len > 1)
      g_string_append_printf (bins, "%s[%.1f,%u]", bins->len > 1 ? "," : "", bound, n);
    bound *= step;
  }
  g_string_append (bins, "]");
  return bins;
}

static void
measure (Lane *lanes, const Options *o, const BenchGate *gate, gint64 cpu_us, Result *r)
{
  GArray *latency = g_array_new (FALSE, FALSE, sizeof (gint64));
  gint64 last = 0;
  gint i;

  memset (r, 0, sizeof *r);
  for (i = 0; i < o->elements; i++) {
    const BenchSrc *src = lanes[i].src;
    guint64 n;

    for (n = src->n_before; n < src->next; n++) {
      gint64 us = lanes[i].arrived_us[n] - lanes[i].sent_us[n];

      if (!lanes[i].arrived_us[n]) {
        r->lost++;
        continue;
      }
      g_array_append_val (latency, us);
      if (o->live > 0 && us > (o->late_ms > 0 ? o->late_ms * 1000 : G_USEC_PER_SEC / o->live))
        r->late++;
    }
    last = MAX (last, lanes[i].arrived_us[src->next - 1]);
    r->frames += src->next - src->n_before;
    r->wrong += lanes[i].sink->n_wrong;
  }
  g_array_sort (latency, compare_us);
  r->bins = count_bins (latency);
  if (latency->len) {
    r->p50_us = g_array_index (latency, gint64, latency->len / 2);
    r->p99_us = g_array_index (latency, gint64, (guint64) latency->len * 99 / 100);
    r->max_us = g_array_index (latency, gint64, latency->len - 1);
  }
  /* From when all have sent their warm-up to when the last frame of all has arrived. */
  r->seconds = MAX (last - gate->open_us, 1) / 1e6;
  r->fps = r->frames / r->seconds;
  r->cpu_us = (gdouble) (cpu_us - gate->cpu_us) / MAX (r->frames, 1);
  g_array_unref (latency);
}

static guint64
stat_of (const GstStructure *stats, const gchar *name)
{
  guint64 value = 0;

  if (stats)
    gst_structure_get_uint64 (stats, name, &value);
  return value;
}

/* A text in JSON's quotes. */
static void
print_text (const char *key, const gchar *value)
{
  gchar *escaped = g_strescape (value ? value : "", NULL);

  printf ("\"%s\":\"%s\",", key, escaped);
  g_free (escaped);
}

static void
print_count (const char *key, guint64 value)
{
  printf ("\"%s\":%" G_GUINT64_FORMAT ",", key, value);
}

static void
print_result (const Options *o, const Result *r, const GstStructure *stats)
{
  static const gchar *const counts[] = {"upload-ns", "kernel-ns", "download-ns", "pinned-bytes", "device-bytes",
                                        "host-bytes-copied", "slots"};
  static const gchar *const texts[] = {"backend", "device", "kernel", "fallback-reason"};
  guint i;

  printf ("{");
  print_text ("label", o->label);
  print_text ("filter", o->filter);
  print_text ("format", o->format);
  print_text ("size", o->size);
  print_text ("memory", o->own_memory ? "own" : "proposed");
  print_text ("read", o->read);
  print_count ("elements", o->elements);
  print_count ("frames", r->frames);
  print_count ("frames_in", stat_of (stats, "frames-in"));
  print_count ("latency_p50_us", r->p50_us);
  print_count ("latency_p99_us", r->p99_us);
  print_count ("latency_max_us", r->max_us);
  print_count ("late", r->late);
  print_count ("lost", r->lost);
  print_count ("wrong", r->wrong);
  for (i = 0; i < G_N_ELEMENTS (counts); i++) {
    gchar *key = g_strdelimit (g_strdup (counts[i]), "-", '_');
    print_count (key, stat_of (stats, counts[i]));
    g_free (key);
  }
  for (i = 0; i < G_N_ELEMENTS (texts) && stats; i++) {
    gchar *key = g_strdelimit (g_strdup (texts[i]), "-", '_');
    print_text (key, gst_structure_get_string (stats, texts[i]));
    g_free (key);
  }
  if (o->live > 0)
    printf ("\"latency_bins\":%s,", r->bins->str);
  printf ("\"live_fps\":%.3g,\"fps\":%.1f,\"seconds\":%.4f,\"cpu_us_per_frame\":%.2f}\n", o->live, r->fps, r->seconds,
          r->cpu_us);
  fflush (stdout);
}

static gboolean
run (const Options *o)
{
  const gint64 until_us = g_get_monotonic_time () + (gint64) (o->timeout_s * G_USEC_PER_SEC);
  Lane *lanes = g_new0 (Lane, o->elements);
  BenchGate gate = {.expected = o->elements};
  GstStructure *stats = NULL;
  gboolean ok = TRUE;
  gint64 cpu_us;
  Result result;
  gint i;

  g_mutex_init (&gate.lock);
  g_cond_init (&gate.opened);
  for (i = 0; i < o->elements && ok; i++)
    ok = lane_open (&lanes[i], o, &gate);
  for (i = 0; i < o->elements && ok; i++)
    ok = gst_element_set_state (lanes[i].pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
  for (i = 0; i < o->elements; i++)
    if (lanes[i].pipeline)
      ok = lane_wait (&lanes[i], ok ? until_us : 0) && ok;
  cpu_us = bench_cpu_us ();
  if (ok && !gate.open_us) {
    fprintf (stderr, "the stream ended within the warm-up\n");
    ok = FALSE;
  }
  if (ok) {
    stats = lane_stats (&lanes[0]);
    measure (lanes, o, &gate, cpu_us, &result);
    print_result (o, &result, stats);
    ok = result.wrong == 0 && result.lost == 0;
    if (!ok)
      fprintf (stderr, "%" G_GUINT64_FORMAT " wrong and %" G_GUINT64_FORMAT " lost frames\n", result.wrong,
               result.lost);
    g_string_free (result.bins, TRUE);
    g_clear_pointer (&stats, gst_structure_free);
  }
  for (i = 0; i < o->elements; i++)
    lane_close (&lanes[i]);
  g_mutex_clear (&gate.lock);
  g_cond_clear (&gate.opened);
  g_free (lanes);
  return ok;
}

int
main (int argc, char **argv)
{
  Options o = {.frames = 2000, .warmup = 200, .elements = 1, .timeout_s = 120};
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
    { "late", 't', 0, G_OPTION_ARG_DOUBLE, &o.late_ms, "Live: count slower frames (default: a frame's time)", "MS" },
    { "warmup-seconds", 'W', 0, G_OPTION_ARG_DOUBLE, &o.warmup_s, "And at least so long (default 0)", "S" },
    { "seconds", 'S', 0, G_OPTION_ARG_DOUBLE, &o.seconds, "Measure so long, --frames at most (default: all)", "S" },
    { "timeout", 'T', 0, G_OPTION_ARG_DOUBLE, &o.timeout_s, "Give up after so long (default 120)", "S" },
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
  if (o.frames < 2 || o.frames > 10000000 || o.elements < 1 || o.warmup < 1 || o.warmup >= o.frames) {
    fprintf (stderr, "--frames must exceed --warmup, and both be at least 1\n");
    return 2;
  }
  ok = bench_copy_register () && run (&o);
  g_free (o.filter);
  g_free (o.format);
  g_free (o.size);
  g_free (o.read);
  g_free (o.label);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

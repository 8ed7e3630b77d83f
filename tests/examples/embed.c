/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An application with cudasobel in it: plays a file or a test picture in a window, takes keys in the terminal that
 * change the edges while it plays, and prints what the element counts. embed --help tells the rest. */

#include <glib-unix.h>
#include <gst/gst.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

typedef struct
{
  GMainLoop *loop;
  GstElement *pipeline, *sobel;
  guint64 frames_wanted; /* 0: without end */
  gint frames_seen;      /* atomic; of the streaming thread */
  guint64 last_out;      /* frames out when the last line was printed */
  gint64 last_time;      /* us */
  guint color, preset;   /* indices */
  gboolean paused;
  int status; /* what main returns */
} App;

static struct termios saved_terminal;
static gboolean terminal_is_raw;

static const char help[] =
    "Keys\n"
    "  m M      next, previous mode (edges, overlay, mask, direction)\n"
    "  c        next colour of the overlay\n"
    "  t T      threshold down, up\n"
    "  g G      gain down, up\n"
    "  o        next operator (sobel, scharr, prewitt)\n"
    "  i        dark edges on white, and back\n"
    "  b        the picture without edges, and back\n"
    "  p        next preset\n"
    "  space    pause, and go on\n"
    "  s        print all that the element counts\n"
    "  h        this help\n"
    "  q        quit\n";

/* ---- settings ------------------------------------------------------------------------------------- */

/* Prints a property as text, as gst-launch-1.0 would take it. */
static void
say_property (App *app, const char *name)
{
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (app->sobel), name);
  GValue value = G_VALUE_INIT;
  char *text;

  g_value_init (&value, pspec->value_type);
  g_object_get_property (G_OBJECT (app->sobel), name, &value);
  if (G_VALUE_HOLDS_DOUBLE (&value))
    text = g_strdup_printf ("%g", g_value_get_double (&value));
  else
    text = gst_value_serialize (&value);
  g_print ("%s %s\n", name, text);
  g_free (text);
  g_value_unset (&value);
}

static void
step_enum (App *app, const char *name, int step)
{
  GParamSpecEnum *pspec =
      G_PARAM_SPEC_ENUM (g_object_class_find_property (G_OBJECT_GET_CLASS (app->sobel), name));
  const int n = (int) pspec->enum_class->n_values;
  int value;

  g_object_get (app->sobel, name, &value, NULL);
  g_object_set (app->sobel, name, (value + step + n) % n, NULL);
  say_property (app, name);
}

static void
toggle (App *app, const char *name)
{
  gboolean value;

  g_object_get (app->sobel, name, &value, NULL);
  g_object_set (app->sobel, name, !value, NULL);
  say_property (app, name);
}

static void
step_threshold (App *app, double by)
{
  double value;

  g_object_get (app->sobel, "threshold", &value, NULL);
  g_object_set (app->sobel, "threshold", CLAMP (round ((value + by) * 100) / 100, 0.0, 1.0), NULL);
  say_property (app, "threshold");
}

static void
scale_gain (App *app, double by)
{
  double value;

  g_object_get (app->sobel, "gain", &value, NULL);
  g_object_set (app->sobel, "gain", CLAMP (value * by, 1.0 / 64, 64.0), NULL);
  say_property (app, "gain");
}

static void
next_color (App *app)
{
  static const struct
  {
    const char *name;
    guint argb;
  } colors[] = { { "red", 0xffff0000 },    { "green", 0xff00ff00 }, { "yellow", 0xffffff00 },
                 { "magenta", 0xffff00ff }, { "white", 0xffffffff }, { "half-strength cyan", 0x8000ffff } };

  app->color = (app->color + 1) % G_N_ELEMENTS (colors);
  g_object_set (app->sobel, "overlay-color", colors[app->color].argb, NULL);
  g_print ("overlay-color 0x%08x (%s)\n", colors[app->color].argb, colors[app->color].name);
}

static void
next_preset (App *app)
{
  char **names = gst_preset_get_preset_names (GST_PRESET (app->sobel));
  const guint n = names ? g_strv_length (names) : 0;

  if (n == 0) {
    g_print ("no presets are installed; GST_PRESET_PATH may name their folder\n");
  } else {
    const char *name = names[app->preset++ % n];
    if (gst_preset_load_preset (GST_PRESET (app->sobel), name))
      g_print ("preset %s\n", name);
  }
  g_strfreev (names);
}

/* ---- stats ---------------------------------------------------------------------------------------- */

static guint64
count (const GstStructure *stats, const char *name)
{
  guint64 value = 0;

  gst_structure_get_uint64 (stats, name, &value);
  return value;
}

static gboolean
say_stats (gpointer user)
{
  App *app = user;
  const gint64 now = g_get_monotonic_time ();
  GstStructure *stats = NULL;
  guint64 out;

  g_object_get (app->sobel, "stats", &stats, NULL);
  if (stats) {
    out = count (stats, "frames-out");
    g_print ("%6.1f frames/s   in %" G_GUINT64_FORMAT "   out %" G_GUINT64_FORMAT "   dropped %" G_GUINT64_FORMAT
             "   %.2f ms to compute one   %s: %s\n",
             app->paused ? 0.0 : (double) (out - MIN (out, app->last_out)) * 1e6 / (double) (now - app->last_time),
             count (stats, "frames-in"), out, count (stats, "frames-dropped") + count (stats, "qos-dropped"),
             (double) count (stats, "kernel-ns") / 1e6, gst_structure_get_string (stats, "backend"),
             gst_structure_get_string (stats, "device"));
    app->last_out = out;
    gst_structure_free (stats);
  }
  app->last_time = now;
  return G_SOURCE_CONTINUE;
}

static void
say_all_stats (App *app)
{
  GstStructure *stats = NULL;
  char *text;

  g_object_get (app->sobel, "stats", &stats, NULL);
  text = gst_structure_to_string (stats);
  g_print ("%s\n", text);
  g_free (text);
  gst_structure_free (stats);
}

/* ---- keys ----------------------------------------------------------------------------------------- */

static void
toggle_pause (App *app)
{
  app->paused = !app->paused;
  gst_element_set_state (app->pipeline, app->paused ? GST_STATE_PAUSED : GST_STATE_PLAYING);
  g_print (app->paused ? "paused\n" : "playing\n");
}

static void
take_key (App *app, char key)
{
  switch (key) {
    case 'm':
      step_enum (app, "mode", 1);
      break;
    case 'M':
      step_enum (app, "mode", -1);
      break;
    case 'o':
      step_enum (app, "operator", 1);
      break;
    case 'c':
      next_color (app);
      break;
    case 't':
      step_threshold (app, -0.05);
      break;
    case 'T':
      step_threshold (app, 0.05);
      break;
    case 'g':
      scale_gain (app, 0.5);
      break;
    case 'G':
      scale_gain (app, 2.0);
      break;
    case 'i':
      toggle (app, "invert");
      break;
    case 'b':
      toggle (app, "bypass");
      break;
    case 'p':
      next_preset (app);
      break;
    case ' ':
      toggle_pause (app);
      break;
    case 's':
      say_all_stats (app);
      break;
    case 'h':
    case '?':
      g_print ("%s", help);
      break;
    case 'q':
      g_main_loop_quit (app->loop);
      break;
    default:
      break;
  }
}

static gboolean
read_keys (gint fd, GIOCondition condition, gpointer user)
{
  char keys[64];
  const ssize_t n = read (fd, keys, sizeof keys);
  ssize_t i;

  if (n <= 0)
    return G_SOURCE_REMOVE; /* nobody will type any more; the pipeline plays on */
  /* An arrow or function key is a sequence that begins with ESC and means nothing here. */
  if (keys[0] != 27) {
    for (i = 0; i < n; i++)
      take_key (user, keys[i]);
  }
  return G_SOURCE_CONTINUE;
}

static void
restore_terminal (void)
{
  if (terminal_is_raw)
    tcsetattr (STDIN_FILENO, TCSANOW, &saved_terminal);
  terminal_is_raw = FALSE;
}

/* Keys one by one and not echoed. Ctrl-C still works. */
static void
set_terminal_raw (void)
{
  struct termios raw;

  if (!isatty (STDIN_FILENO) || tcgetattr (STDIN_FILENO, &saved_terminal) != 0)
    return;
  raw = saved_terminal;
  raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  terminal_is_raw = tcsetattr (STDIN_FILENO, TCSANOW, &raw) == 0;
  atexit (restore_terminal);
}

/* ---- pipeline ------------------------------------------------------------------------------------- */

static gboolean
bus_message (GstBus *bus, GstMessage *message, gpointer user)
{
  App *app = user;
  GError *error = NULL;
  char *debug = NULL;

  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_ERROR:
      gst_message_parse_error (message, &error, &debug);
      g_printerr ("error from %s: %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), error->message);
      if (debug)
        g_printerr ("  %s\n", debug);
      app->status = 1;
      g_main_loop_quit (app->loop);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning (message, &error, &debug);
      g_printerr ("warning from %s: %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), error->message);
      if (debug)
        g_printerr ("  %s\n", debug);
      break;
    case GST_MESSAGE_EOS:
      g_print ("end of stream\n");
      g_main_loop_quit (app->loop);
      break;
    case GST_MESSAGE_LATENCY:
      gst_bin_recalculate_latency (GST_BIN (app->pipeline));
      break;
    default:
      break;
  }
  g_clear_error (&error);
  g_free (debug);
  return G_SOURCE_CONTINUE;
}

static void
backend_changed (GObject *sobel, GParamSpec *pspec, gpointer user)
{
  GValue value = G_VALUE_INIT;
  char *text;

  g_value_init (&value, pspec->value_type);
  g_object_get_property (sobel, pspec->name, &value);
  text = gst_value_serialize (&value);
  g_print ("frames are computed on: %s\n", text);
  g_free (text);
  g_value_unset (&value);
}

static GstPadProbeReturn
count_frame (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  App *app = user;

  if ((guint64) g_atomic_int_add (&app->frames_seen, 1) + 1 == app->frames_wanted)
    g_main_loop_quit (app->loop);
  return GST_PAD_PROBE_OK;
}

/* A test picture, or what the file or URI shows. NULL, with a message printed, if that cannot be. */
static GstElement *
make_pipeline (const char *input, const char *sink)
{
  GError *error = NULL;
  GstElement *pipeline;
  char *uri = NULL, *source, *text;

  if (!input) {
    source = g_strdup ("videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,height=480,framerate=30/1");
  } else {
    uri = gst_uri_is_valid (input) ? g_strdup (input) : gst_filename_to_uri (input, &error);
    if (!uri) {
      g_printerr ("%s: %s\n", input, error->message);
      g_clear_error (&error);
      return NULL;
    }
    source = g_strdup ("uridecodebin name=source caps=video/x-raw(ANY) expose-all-streams=false");
  }
  /* The queue lets decoder and filter work at the same time. */
  text = g_strdup_printf ("%s ! queue ! cudasobel name=sobel mode=overlay threshold=0.1 ! queue ! videoconvert ! %s",
                          source, sink);
  pipeline = gst_parse_launch (text, &error);
  if (error) {
    g_printerr ("cannot make the pipeline: %s\n", error->message);
    g_clear_error (&error);
    gst_clear_object (&pipeline);
  } else if (uri) {
    GstElement *decoder = gst_bin_get_by_name (GST_BIN (pipeline), "source");
    g_object_set (decoder, "uri", uri, NULL);
    gst_object_unref (decoder);
  }
  g_free (text);
  g_free (source);
  g_free (uri);
  return pipeline;
}

static gboolean
quit_on_signal (gpointer user)
{
  g_main_loop_quit (((App *) user)->loop);
  return G_SOURCE_CONTINUE;
}

static void
play (App *app)
{
  GstBus *bus = gst_element_get_bus (app->pipeline);
  GstPad *pad = gst_element_get_static_pad (app->sobel, "src");

  gst_bus_add_watch (bus, bus_message, app);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, app, NULL);
  g_signal_connect (app->sobel, "notify::active-backend", G_CALLBACK (backend_changed), app);
  g_unix_signal_add (SIGINT, quit_on_signal, app);
  g_unix_signal_add (SIGTERM, quit_on_signal, app);
  g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP, read_keys, app);
  g_timeout_add_seconds (1, say_stats, app);
  app->last_time = g_get_monotonic_time ();

  set_terminal_raw ();
  g_print ("h shows the keys\n");
  /* A failure is on the bus, with its reason. */
  gst_element_set_state (app->pipeline, GST_STATE_PLAYING);
  g_main_loop_run (app->loop);
  say_stats (app);
  gst_element_set_state (app->pipeline, GST_STATE_NULL);

  gst_bus_remove_watch (bus);
  gst_object_unref (pad);
  gst_object_unref (bus);
}

int
main (int argc, char **argv)
{
  App app = { 0 };
  char *sink = NULL;
  gint64 frames = 0;
  GError *error = NULL;
  const GOptionEntry entries[] = {
    { "sink", 0, 0, G_OPTION_ARG_STRING, &sink, "Where frames go, as for gst-launch-1.0 (autovideosink)", "ELEMENTS" },
    { "frames", 0, 0, G_OPTION_ARG_INT64, &frames, "Stop after so many frames", "N" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  GOptionContext *context = g_option_context_new ("[FILE|URI] - edges in a window, changed by keys");

  g_option_context_set_summary (context, "Without a file: a moving test picture.");
  g_option_context_set_description (context, help);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return 2;
  }
  g_option_context_free (context);

  app.frames_wanted = (guint64) MAX (frames, 0);
  app.pipeline = make_pipeline (argc > 1 ? argv[1] : NULL, sink ? sink : "autovideosink");
  if (!app.pipeline)
    return 1;
  app.sobel = gst_bin_get_by_name (GST_BIN (app.pipeline), "sobel");
  app.loop = g_main_loop_new (NULL, FALSE);
  play (&app);

  g_main_loop_unref (app.loop);
  gst_object_unref (app.sobel);
  gst_object_unref (app.pipeline);
  g_free (sink);
  return app.status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Live edges on a page in the browser: the picture as a stream of JPEGs, and controls that change it for everybody who
 * watches. Everything between camera and browser is in this program; web --help tells how to start it. */

#include "webresources.h"
#include "webserver.h"
#include "websettings.h"

#include <glib-unix.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <string.h>

typedef struct
{
  GMainLoop *loop;
  GstElement *pipeline, *sobel;
  WebServer *server;
  gboolean loops; /* from the end back to the start */
  int status;

  GMutex lock; /* for what the streaming thread leaves for the main loop */
  GBytes *next;
  gint width, height;

  GBytes *picture; /* the last one; main loop */
  guint pictures;  /* since the last second's end */
  double rate;     /* pictures a second */
} App;

typedef struct
{
  char *camera, *host;
  gint port, width, quality;
  gboolean test;
  char **files;
} Options;

/* ---- answers -------------------------------------------------------------------------------------- */

static void
append_stats (App *app, GString *json)
{
  GstStructure *stats = NULL;
  guint64 kernel = 0, sent, missed;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_object_get (app->sobel, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "kernel-ns", &kernel);
  web_server_count (app->server, &sent, &missed);
  g_mutex_lock (&app->lock);
  g_string_append_printf (json, ",\"width\":%d,\"height\":%d", app->width, app->height);
  g_mutex_unlock (&app->lock);
  g_string_append_printf (json, ",\"rate\":%s", g_ascii_formatd (number, sizeof number, "%.1f", app->rate));
  g_string_append_printf (json, ",\"computing\":%s",
                          g_ascii_formatd (number, sizeof number, "%.2f", (double) kernel / 1e6));
  g_string_append_printf (json, ",\"viewers\":%u,\"sent\":%" G_GUINT64_FORMAT ",\"missed\":%" G_GUINT64_FORMAT,
                          web_server_n_viewers (app->server), sent, missed);
  g_string_append (json, ",\"backend\":");
  web_json_append_string (json, gst_structure_get_string (stats, "backend"));
  g_string_append (json, ",\"device\":");
  web_json_append_string (json, gst_structure_get_string (stats, "device"));
  gst_structure_free (stats);
}

static void
answer_settings (App *app, WebReply *reply)
{
  GString *json = g_string_new ("{");

  web_settings_to_json (app->sobel, json);
  append_stats (app, json);
  g_string_append (json, "}\n");
  *reply = (WebReply){ 200, "application/json", g_string_free_to_bytes (json) };
}

static void
answer (const WebRequest *request, WebReply *reply, gpointer user)
{
  App *app = user;
  const gboolean get = strcmp (request->method, "GET") == 0;
  GError *error = NULL;

  if (strcmp (request->path, "/settings") == 0 && strcmp (request->method, "POST") == 0) {
    if (web_settings_from_form (app->sobel, request->body, &error)) {
      answer_settings (app, reply);
    } else {
      *reply = (WebReply){ 400, "text/plain; charset=utf-8", g_bytes_new (error->message, strlen (error->message)) };
      g_clear_error (&error);
    }
  } else if (!get) {
    reply->status = 405;
  } else if (strcmp (request->path, "/") == 0) {
    *reply = (WebReply){ 200, "text/html; charset=utf-8",
                         g_resource_lookup_data (webresources_get_resource (), "/cudasobel/web.html", 0, NULL) };
  } else if (strcmp (request->path, "/settings") == 0) {
    answer_settings (app, reply);
  } else if (strcmp (request->path, "/picture.jpg") == 0) {
    *reply = (WebReply){ app->picture ? 200 : 503, "image/jpeg", app->picture ? g_bytes_ref (app->picture) : NULL };
  }
}

/* ---- pictures ------------------------------------------------------------------------------------- */

static gboolean
take_picture (gpointer user)
{
  App *app = user;
  GBytes *next;

  g_mutex_lock (&app->lock);
  next = g_steal_pointer (&app->next);
  g_mutex_unlock (&app->lock);
  if (next) {
    g_clear_pointer (&app->picture, g_bytes_unref);
    app->picture = next;
    app->pictures++;
    web_server_push_picture (app->server, next);
  }
  return G_SOURCE_REMOVE;
}

/* Streaming thread. A picture that the main loop has not taken yet is replaced: it would only be late. */
static GstFlowReturn
new_sample (GstAppSink *appsink, gpointer user)
{
  App *app = user;
  GstSample *sample = gst_app_sink_pull_sample (appsink);
  GstStructure *caps;
  GstMapInfo map;
  GBytes *old;

  if (!sample)
    return GST_FLOW_EOS;
  if (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ)) {
    caps = gst_caps_get_structure (gst_sample_get_caps (sample), 0);
    g_mutex_lock (&app->lock);
    old = app->next;
    app->next = g_bytes_new (map.data, map.size);
    gst_structure_get_int (caps, "width", &app->width);
    gst_structure_get_int (caps, "height", &app->height);
    g_mutex_unlock (&app->lock);
    if (old)
      g_bytes_unref (old);
    else
      g_idle_add_full (G_PRIORITY_DEFAULT, take_picture, app, NULL);
    gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
  }
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

static gboolean
every_second (gpointer user)
{
  App *app = user;

  app->rate = app->rate > 0 ? (app->rate + app->pictures) / 2 : app->pictures;
  app->pictures = 0;
  return G_SOURCE_CONTINUE;
}

/* ---- pipeline ------------------------------------------------------------------------------------- */

static gboolean
is_still (const char *file)
{
  static const char *const endings[] = { ".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", NULL };
  char *lower = g_ascii_strdown (file, -1);
  gboolean still = FALSE;
  guint i;

  for (i = 0; endings[i]; i++)
    still = still || g_str_has_suffix (lower, endings[i]);
  g_free (lower);
  return still;
}

static GstElement *
make_pipeline (const Options *options, gboolean *loops, GError **error)
{
  const char *file = options->files ? options->files[0] : NULL;
  const char *source, *rest = "", *sync = "false";
  GstElement *pipeline, *element;
  char *text;

  *loops = FALSE;
  if (options->test) {
    source = "videotestsrc is-live=true pattern=ball "
             "! video/x-raw,width=960,height=540,framerate=30/1,colorimetry=bt709";
  } else if (!file) {
    source = "v4l2src name=camera ! decodebin";
  } else {
    source = "filesrc name=file ! decodebin";
    if (is_still (file)) {
      rest = "! imagefreeze is-live=true ! video/x-raw,framerate=15/1";
    } else {
      *loops = TRUE;
      sync = "true";
    }
  }
  /* The queue drops what the filter, the encoder or the network has no time for, so that the picture is never late.
   * jpegenc writes the codes that it gets, and JPEG is full range. */
  text = g_strdup_printf ("%s ! videoconvert ! videoflip video-direction=auto ! videoscale "
                          "! video/x-raw,width=[16,%d],pixel-aspect-ratio=1/1 %s "
                          "! queue name=before max-size-buffers=2 ! cudasobel name=sobel mode=overlay threshold=0.2 "
                          "! videoconvert ! video/x-raw,format={I420,Y42B,Y444},colorimetry=1:4:0:0 "
                          "! jpegenc quality=%d ! appsink name=pictures max-buffers=1 drop=true sync=%s",
                          source, options->width, rest, options->quality, sync);
  pipeline = gst_parse_launch_full (text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  g_free (text);
  if (!pipeline)
    return NULL;
  if ((element = gst_bin_get_by_name (GST_BIN (pipeline), "file"))) {
    g_object_set (element, "location", file, NULL);
    gst_object_unref (element);
  }
  if ((element = gst_bin_get_by_name (GST_BIN (pipeline), "camera"))) {
    if (options->camera)
      g_object_set (element, "device", options->camera, NULL);
    gst_object_unref (element);
  }
  if (!*loops && (element = gst_bin_get_by_name (GST_BIN (pipeline), "before"))) {
    gst_util_set_object_arg (G_OBJECT (element), "leaky", "downstream");
    gst_object_unref (element);
  }
  return pipeline;
}

static gboolean
bus_message (GstBus *bus, GstMessage *message, gpointer user)
{
  App *app = user;
  GError *error = NULL;
  char *debug = NULL;

  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_ERROR:
      gst_message_parse_error (message, &error, &debug);
      g_printerr ("error from %s: %s\n  %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), error->message,
                  debug ? debug : "");
      app->status = 1;
      g_main_loop_quit (app->loop);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning (message, &error, &debug);
      g_printerr ("warning from %s: %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), error->message);
      break;
    case GST_MESSAGE_EOS:
      if (!app->loops || !gst_element_seek_simple (app->pipeline, GST_FORMAT_TIME,
                                                   GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT, 0))
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

static gboolean
quit_on_signal (gpointer user)
{
  g_main_loop_quit (((App *) user)->loop);
  return G_SOURCE_CONTINUE;
}

static void
serve (App *app, const char *host)
{
  const GstAppSinkCallbacks callbacks = { .new_sample = new_sample };
  GstElement *pictures = gst_bin_get_by_name (GST_BIN (app->pipeline), "pictures");
  GstBus *bus = gst_element_get_bus (app->pipeline);

  gst_app_sink_set_callbacks (GST_APP_SINK (pictures), (GstAppSinkCallbacks *) &callbacks, app, NULL);
  gst_bus_add_watch (bus, bus_message, app);
  g_unix_signal_add (SIGINT, quit_on_signal, app);
  g_unix_signal_add (SIGTERM, quit_on_signal, app);
  g_timeout_add_seconds (1, every_second, app);
  g_print (strchr (host, ':') ? "http://[%s]:%u/\n" : "http://%s:%u/\n", host, web_server_port (app->server));
  /* A failure is on the bus, with its reason. */
  gst_element_set_state (app->pipeline, GST_STATE_PLAYING);
  g_main_loop_run (app->loop);
  gst_element_set_state (app->pipeline, GST_STATE_NULL);

  gst_bus_remove_watch (bus);
  gst_object_unref (bus);
  gst_object_unref (pictures);
}

static gboolean
parse_options (int argc, char **argv, Options *options, GError **error)
{
  const GOptionEntry entries[] = {
    { "camera", 0, 0, G_OPTION_ARG_STRING, &options->camera, "The camera (the first one)", "/dev/videoN" },
    { "test", 0, 0, G_OPTION_ARG_NONE, &options->test, "A moving test picture, no camera", NULL },
    { "host", 0, 0, G_OPTION_ARG_STRING, &options->host,
      "Address to listen at (127.0.0.1, this machine alone; 0.0.0.0: every network, for all to see)", "ADDRESS" },
    { "port", 0, 0, G_OPTION_ARG_INT, &options->port, "Port (8080); 0: any that is free", "N" },
    { "width", 0, 0, G_OPTION_ARG_INT, &options->width, "Scale wider pictures down to this (960)", "PIXELS" },
    { "quality", 0, 0, G_OPTION_ARG_INT, &options->quality, "Of the JPEGs, 0 to 100 (85)", "N" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->files, NULL, "[FILE]" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  GOptionContext *context = g_option_context_new ("- live edges on a page in the browser");
  gboolean ok;

  g_option_context_set_summary (context, "Shows a camera, or the clip or picture FILE, over and over.");
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  ok = g_option_context_parse (context, &argc, &argv, error);
  g_option_context_free (context);
  if (ok && (options->port < 0 || options->port > 65535 || options->width < 16 || options->quality < 0 ||
             options->quality > 100)) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "a number is out of range; --help tells the ranges");
    ok = FALSE;
  }
  return ok;
}

int
main (int argc, char **argv)
{
  Options options = { .port = 8080, .width = 960, .quality = 85 };
  App app = { 0 };
  GError *error = NULL;

  if (!parse_options (argc, argv, &options, &error)) {
    g_printerr ("%s\n", error->message);
    return 2;
  }
  if (!options.host)
    options.host = g_strdup ("127.0.0.1");
  g_mutex_init (&app.lock);
  app.pipeline = make_pipeline (&options, &app.loops, &error);
  if (app.pipeline)
    app.server = web_server_new (options.host, (guint16) options.port, answer, &app, &error);
  if (!app.server) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  app.sobel = gst_bin_get_by_name (GST_BIN (app.pipeline), "sobel");
  app.loop = g_main_loop_new (NULL, FALSE);
  serve (&app, options.host);

  web_server_free (app.server);
  g_clear_pointer (&app.next, g_bytes_unref);
  g_clear_pointer (&app.picture, g_bytes_unref);
  g_main_loop_unref (app.loop);
  gst_object_unref (app.sobel);
  gst_object_unref (app.pipeline);
  g_mutex_clear (&app.lock);
  g_strfreev (options.files);
  g_free (options.camera);
  g_free (options.host);
  return app.status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An RTSP server that sends a camera's picture with its edges to everybody who asks. rtsp --help tells the rest. */

#include <glib-unix.h>
#include <gst/gst.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <string.h>

typedef struct
{
  char *camera, *host, *codec, *settings;
  gint port;
  gboolean test;
} Options;

static gboolean
has_element (const char *name)
{
  GstElementFactory *factory = gst_element_factory_find (name);
  const gboolean found = factory != NULL;

  gst_clear_object (&factory);
  return found;
}

/* Encoder and payloader, or NULL where that codec's encoder is not installed. */
static const char *
encoder_for (const char *codec)
{
  const gboolean any = codec == NULL;

  if ((any || strcmp (codec, "h264") == 0) && has_element ("x264enc"))
    return "x264enc tune=zerolatency speed-preset=veryfast key-int-max=60 ! video/x-h264,profile=main "
           "! rtph264pay name=pay0 config-interval=1";
  if ((any || strcmp (codec, "h264") == 0) && has_element ("openh264enc"))
    return "openh264enc complexity=low gop-size=60 ! h264parse ! rtph264pay name=pay0 config-interval=1";
  /* jpegenc writes the codes that it gets, and JPEG is full range. */
  if ((any || strcmp (codec, "jpeg") == 0) && has_element ("jpegenc"))
    return "video/x-raw,format=I420,colorimetry=1:4:0:0 ! jpegenc quality=80 ! rtpjpegpay name=pay0";
  return NULL;
}

/* One pipeline serves all viewers. It is made when the first one comes and ends when the last one leaves. */
static char *
launch_line (const Options *options, const char *encoder)
{
  char *source, *line;

  if (options->test)
    source = g_strdup ("videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,height=480,framerate=30/1,"
                       "colorimetry=bt601");
  else
    source = g_strdup_printf ("v4l2src device=\"%s\" ! decodebin", options->camera);
  line = g_strdup_printf ("( %s ! videoconvert ! queue leaky=downstream max-size-buffers=1 ! cudasobel name=sobel %s "
                          "! videoconvert ! %s )",
                          source, options->settings, encoder);
  g_free (source);
  return line;
}

static void
viewer_connected (GstRTSPServer *server, GstRTSPClient *client, gpointer user)
{
  GstRTSPConnection *connection = gst_rtsp_client_get_connection (client);

  g_print ("viewer from %s\n", gst_rtsp_connection_get_ip (connection));
}

static void
media_unprepared (GstRTSPMedia *media, gpointer user)
{
  g_print ("nobody watches\n");
}

/* Any thread. What fails in the pipeline ends the stream; why, only this tells. */
static void
say_error (GstBus *bus, GstMessage *message, gpointer user)
{
  GError *error = NULL;
  char *debug = NULL;

  gst_message_parse_error (message, &error, &debug);
  g_printerr ("error from %s: %s\n  %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), error->message,
              debug ? debug : "");
  g_error_free (error);
  g_free (debug);
}

static void
media_made (GstRTSPMediaFactory *factory, GstRTSPMedia *media, gpointer user)
{
  GstElement *element = gst_rtsp_media_get_element (media);
  GstObject *pipeline = gst_object_get_parent (GST_OBJECT (element));
  GstBus *bus = pipeline ? gst_element_get_bus (GST_ELEMENT (pipeline)) : NULL;

  g_signal_connect (media, "unprepared", G_CALLBACK (media_unprepared), NULL);
  if (bus) {
    gst_bus_enable_sync_message_emission (bus);
    g_signal_connect (bus, "sync-message::error", G_CALLBACK (say_error), NULL);
    gst_object_unref (bus);
  }
  gst_clear_object (&pipeline);
  gst_object_unref (element);
}

static gboolean
quit (gpointer loop)
{
  g_main_loop_quit (loop);
  return G_SOURCE_CONTINUE;
}

static int
serve (const Options *options, const char *line)
{
  GMainLoop *loop = g_main_loop_new (NULL, FALSE);
  GstRTSPServer *server = gst_rtsp_server_new ();
  GstRTSPMediaFactory *factory = gst_rtsp_media_factory_new ();
  GstRTSPMountPoints *mounts = gst_rtsp_server_get_mount_points (server);
  char *port = g_strdup_printf ("%d", options->port);
  guint id;

  gst_rtsp_server_set_address (server, options->host);
  gst_rtsp_server_set_service (server, port);
  gst_rtsp_media_factory_set_launch (factory, line);
  gst_rtsp_media_factory_set_shared (factory, TRUE);
  g_signal_connect (factory, "media-configure", G_CALLBACK (media_made), NULL);
  gst_rtsp_mount_points_add_factory (mounts, "/edges", factory); /* takes the factory */
  g_object_unref (mounts);
  g_signal_connect (server, "client-connected", G_CALLBACK (viewer_connected), NULL);

  id = gst_rtsp_server_attach (server, NULL);
  if (id == 0) {
    g_printerr ("cannot listen at %s, port %s\n", options->host, port);
  } else {
    g_print ("rtsp://%s:%d/edges\n", options->host, gst_rtsp_server_get_bound_port (server));
    g_unix_signal_add (SIGINT, quit, loop);
    g_unix_signal_add (SIGTERM, quit, loop);
    g_main_loop_run (loop);
    g_source_remove (id);
  }
  g_object_unref (server);
  g_main_loop_unref (loop);
  g_free (port);
  return id == 0 ? 1 : 0;
}

static gboolean
parse_options (int argc, char **argv, Options *options, GError **error)
{
  const GOptionEntry entries[] = {
    { "camera", 0, 0, G_OPTION_ARG_STRING, &options->camera, "The camera (/dev/video0)", "/dev/videoN" },
    { "test", 0, 0, G_OPTION_ARG_NONE, &options->test, "A moving test picture, no camera", NULL },
    { "host", 0, 0, G_OPTION_ARG_STRING, &options->host,
      "Address to listen at (127.0.0.1, this machine alone; 0.0.0.0: every network, for all to see)", "ADDRESS" },
    { "port", 0, 0, G_OPTION_ARG_INT, &options->port, "Port (8554); 0: any that is free", "N" },
    { "codec", 0, 0, G_OPTION_ARG_STRING, &options->codec, "h264 or jpeg (what is installed, h264 first)", "NAME" },
    { "settings", 0, 0, G_OPTION_ARG_STRING, &options->settings,
      "Properties of cudasobel (\"mode=overlay overlay-color=0xff00ff00 threshold=0.2\")", "TEXT" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  GOptionContext *context = g_option_context_new ("- edges of a camera over RTSP");
  gboolean ok;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  ok = g_option_context_parse (context, &argc, &argv, error);
  g_option_context_free (context);
  if (ok && (options->port < 0 || options->port > 65535)) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "there is no port %d", options->port);
    ok = FALSE;
  }
  return ok;
}

static void
set_default (char **text, const char *value)
{
  if (!*text)
    *text = g_strdup (value);
}

int
main (int argc, char **argv)
{
  Options options = { .port = 8554 };
  GError *error = NULL;
  const char *encoder;
  GstElement *trial;
  char *line;
  int result = 1;

  if (!parse_options (argc, argv, &options, &error)) {
    g_printerr ("%s\n", error->message);
    return 2;
  }
  set_default (&options.camera, "/dev/video0");
  set_default (&options.host, "127.0.0.1");
  set_default (&options.settings, "mode=overlay overlay-color=0xff00ff00 threshold=0.2");
  encoder = encoder_for (options.codec);
  if (!encoder) {
    g_printerr ("no encoder for %s is installed\n", options.codec ? options.codec : "h264 or jpeg");
    return 1;
  }
  /* What is wrong with the line is said now, not to the first viewer. */
  line = launch_line (&options, encoder);
  trial = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (trial) {
    gst_object_unref (trial);
    result = serve (&options, line);
  } else {
    g_printerr ("%s\n", error->message);
    g_clear_error (&error);
  }
  g_free (line);
  g_free (options.camera);
  g_free (options.host);
  g_free (options.codec);
  g_free (options.settings);
  return result;
}

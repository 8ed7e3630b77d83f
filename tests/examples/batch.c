/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Edges of folders full of pictures and clips: each becomes a file of the same name in another folder, clips with
 * their sound. Shows how far it is, goes on after a failure, and lists what failed. batch --help tells the rest. */

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <gst/gst.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char **settings; /* "PROPERTY=VALUE", for cudasobel */
  char *preset;
  char *out_folder;
  const char *encoder; /* of clips */
  gint give_up; /* seconds without progress after which a file has failed: broken ones may end without a word */
  gboolean on_terminal;
  guint n, n_files; /* the file in work, from 1; of how many */
  GPtrArray *failed; /* "NAME: reason" */
} Batch;

/* One file. */
typedef struct
{
  GstElement *pipeline;
  GstElement *muxer; /* NULL for pictures */
  GstPad *video;     /* where the picture goes in */
  gint lost_sound;   /* atomic */
} Job;

static volatile sig_atomic_t interrupted;

/* jpegenc writes the codes that it gets, and JPEG is full range. */
#define JPEG_INPUT "video/x-raw,format={I420,Y42B,Y444},colorimetry=1:4:0:0"

/* The first that is installed is taken; Matroska holds them all, and nearly every kind of sound. */
static const char *const encoders[][2] = {
  { "x264enc", "x264enc speed-preset=veryfast ! h264parse" },
  { "openh264enc", "openh264enc bitrate=12000000 ! h264parse" },
  { "vp8enc", "vp8enc deadline=1 target-bitrate=8000000" },
  { "jpegenc", JPEG_INPUT " ! jpegenc" },
};

static const char *const jpeg_endings[] = { ".jpg", ".jpeg", NULL };
static const char *const picture_endings[] = { ".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm",
  NULL };
static const char *const clip_endings[] = { ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts",
  ".ogv", ".ogg", ".3gp", ".wmv", ".flv", NULL };

/* Where decoding stops: sound is copied as it is. */
static const char stop_at[] = "video/x-raw(ANY); audio/mpeg, framed=(boolean)true; audio/mpeg, parsed=(boolean)true; "
                              "audio/x-vorbis; audio/x-opus; audio/x-flac, framed=(boolean)true; "
                              "audio/x-ac3, framed=(boolean)true; audio/x-raw";

static gboolean
ends_in (const char *name, const char *const *endings)
{
  char *lower = g_ascii_strdown (name, -1);
  gboolean found = FALSE;

  for (; *endings && !found; endings++)
    found = g_str_has_suffix (lower, *endings);
  g_free (lower);
  return found;
}

/* ---- one file's pipeline -------------------------------------------------------------------------- */

static gboolean
link_sound (Job *job, GstPad *pad, GstCaps *caps)
{
  GstElement *queue = gst_element_factory_make ("queue", NULL);
  GstPad *into = gst_element_get_compatible_pad (job->muxer, pad, caps);
  gboolean ok = FALSE;

  gst_object_ref_sink (queue);
  if (into) {
    GstPad *sink = gst_element_get_static_pad (queue, "sink"), *src = gst_element_get_static_pad (queue, "src");

    /* The encoder may want to see seconds of pictures before it gives the first one. */
    g_object_set (queue, "max-size-time", 20 * GST_SECOND, "max-size-buffers", 0, "max-size-bytes", 0, NULL);
    gst_bin_add (GST_BIN (job->pipeline), queue);
    ok = gst_pad_link (src, into) == GST_PAD_LINK_OK && gst_pad_link (pad, sink) == GST_PAD_LINK_OK;
    gst_element_sync_state_with_parent (queue);
    gst_object_unref (sink);
    gst_object_unref (src);
    gst_object_unref (into);
  }
  gst_object_unref (queue);
  return ok;
}

static void
discard (Job *job, GstPad *pad)
{
  GstElement *sink = gst_element_factory_make ("fakesink", NULL);
  GstPad *into = gst_element_get_static_pad (sink, "sink");

  g_object_set (sink, "sync", FALSE, "async", FALSE, NULL);
  gst_bin_add (GST_BIN (job->pipeline), sink);
  gst_pad_link (pad, into);
  gst_element_sync_state_with_parent (sink);
  gst_object_unref (into);
}

/* The first picture stream and, in clips, the sound. */
static void
pad_added (GstElement *decoder, GstPad *pad, gpointer user)
{
  Job *job = user;
  GstCaps *caps = gst_pad_get_current_caps (pad);
  const char *kind = caps ? gst_structure_get_name (gst_caps_get_structure (caps, 0)) : "";

  if (g_str_has_prefix (kind, "video/") && !gst_pad_is_linked (job->video)) {
    gst_pad_link (pad, job->video);
  } else if (!g_str_has_prefix (kind, "audio/") || !job->muxer) {
    discard (job, pad);
  } else if (!link_sound (job, pad, caps)) {
    g_atomic_int_set (&job->lost_sound, 1);
    discard (job, pad);
  }
  gst_clear_caps (&caps);
}

static void
no_more_pads (GstElement *decoder, gpointer user)
{
  Job *job = user;

  if (!gst_pad_is_linked (job->video))
    GST_ELEMENT_ERROR (decoder, STREAM, WRONG_TYPE, ("There is no picture in it."), (NULL));
}

static void
apply_settings (GstElement *sobel, const Batch *batch)
{
  guint i;

  if (batch->preset)
    gst_preset_load_preset (GST_PRESET (sobel), batch->preset);
  for (i = 0; batch->settings && batch->settings[i]; i++) {
    char **parts = g_strsplit (batch->settings[i], "=", 2);
    gst_util_set_object_arg (G_OBJECT (sobel), parts[0], parts[1]);
    g_strfreev (parts);
  }
}

static gboolean
open_job (Job *job, const Batch *batch, const char *in, const char *out, GError **error)
{
  const char *const jpeg = JPEG_INPUT " ! jpegenc snapshot=true quality=92 ! file.";
  const char *const png = "pngenc snapshot=true ! file.";
  char *uri = gst_filename_to_uri (in, error), *text, *whole;
  GstElement *decoder, *sink, *sobel, *first;
  GstCaps *caps;

  if (!uri)
    return FALSE;
  if (ends_in (in, picture_endings))
    text = g_strdup (ends_in (in, jpeg_endings) ? jpeg : png);
  else
    text = g_strdup_printf ("%s ! queue ! muxer. matroskamux name=muxer ! file.", batch->encoder);
  /* videoflip turns the picture as the camera noted that it was held. */
  whole = g_strdup_printf ("filesink name=file uridecodebin name=decoder expose-all-streams=false queue name=video "
                           "! videoconvert ! videoflip video-direction=auto ! cudasobel name=sobel ! videoconvert ! %s",
                           text);
  job->pipeline = gst_parse_launch_full (whole, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  g_free (whole);
  g_free (text);
  if (!job->pipeline) {
    g_free (uri);
    return FALSE;
  }
  job->muxer = gst_bin_get_by_name (GST_BIN (job->pipeline), "muxer");
  decoder = gst_bin_get_by_name (GST_BIN (job->pipeline), "decoder");
  sobel = gst_bin_get_by_name (GST_BIN (job->pipeline), "sobel");
  first = gst_bin_get_by_name (GST_BIN (job->pipeline), "video");
  sink = gst_bin_get_by_name (GST_BIN (job->pipeline), "file");
  job->video = gst_element_get_static_pad (first, "sink");
  caps = gst_caps_from_string (stop_at);
  g_object_set (decoder, "uri", uri, "caps", caps, NULL);
  g_object_set (sink, "location", out, NULL);
  apply_settings (sobel, batch);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (pad_added), job);
  g_signal_connect (decoder, "no-more-pads", G_CALLBACK (no_more_pads), job);
  gst_caps_unref (caps);
  gst_object_unref (decoder);
  gst_object_unref (sobel);
  gst_object_unref (first);
  gst_object_unref (sink);
  g_free (uri);
  return TRUE;
}

static void
close_job (Job *job)
{
  if (job->pipeline)
    gst_element_set_state (job->pipeline, GST_STATE_NULL);
  gst_clear_object (&job->video);
  gst_clear_object (&job->muxer);
  gst_clear_object (&job->pipeline);
}

/* ---- one file's run ------------------------------------------------------------------------------- */

static void
say_progress (const Batch *batch, const char *name, int percent)
{
  if (batch->on_terminal)
    g_print ("\r\033[K[%u/%u] %s  %d %%", batch->n, batch->n_files, name, percent);
}

/* Position and share of the whole; -1 where that is not known. */
static gint64
look_how_far (Job *job, int *percent)
{
  gint64 position = -1, duration = -1;

  gst_element_query_position (job->pipeline, GST_FORMAT_TIME, &position);
  gst_element_query_duration (job->pipeline, GST_FORMAT_TIME, &duration);
  *percent = position >= 0 && duration > 0 ? (int) MIN (100, position * 100 / duration) : 0;
  return position;
}

/* NULL when all is written, else the reason why not. (transfer full) */
static char *
play_job (Job *job, const Batch *batch, const char *name)
{
  GstBus *bus = gst_element_get_bus (job->pipeline);
  gint64 position = -1, moved = g_get_monotonic_time ();
  gboolean done = FALSE;
  char *reason = NULL;

  gst_element_set_state (job->pipeline, GST_STATE_PLAYING);
  while (!done && !reason) {
    GstMessage *message =
        gst_bus_timed_pop_filtered (bus, GST_SECOND / 5, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
    GError *error = NULL;
    gint64 now_at;
    int percent;

    if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, NULL);
      reason = g_strdup (error->message);
    } else if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning (message, &error, NULL);
      g_printerr ("%s%s: warning: %s\n", batch->on_terminal ? "\n" : "", name, error->message);
    } else if (message) {
      done = TRUE;
    } else if (interrupted) {
      reason = g_strdup ("interrupted");
    }
    g_clear_error (&error);
    gst_clear_message (&message);
    now_at = look_how_far (job, &percent);
    say_progress (batch, name, percent);
    if (now_at != position) {
      position = now_at;
      moved = g_get_monotonic_time ();
    } else if (!done && !reason && g_get_monotonic_time () - moved > (gint64) batch->give_up * G_USEC_PER_SEC) {
      reason = g_strdup_printf ("no progress for %d s", batch->give_up);
    }
  }
  gst_object_unref (bus);
  return reason;
}

/* The name of what is made from `name`: that itself where the kind of file stays the same, else a longer one. */
static char *
output_name (const char *name)
{
  static const char *const png[] = { ".png", NULL }, *const mkv[] = { ".mkv", NULL };

  if (!ends_in (name, picture_endings))
    return g_strconcat (name, ends_in (name, mkv) ? "" : ".mkv", NULL);
  return g_strconcat (name, ends_in (name, jpeg_endings) || ends_in (name, png) ? "" : ".png", NULL);
}

static void
convert (Batch *batch, const char *in)
{
  char *name = g_path_get_basename (in), *made = output_name (name);
  char *out = g_build_filename (batch->out_folder, made, NULL), *part = g_strconcat (out, ".part", NULL);
  const gint64 start = g_get_monotonic_time ();
  char *reason = NULL;
  GError *error = NULL;
  GStatBuf status;
  Job job = { 0 };

  say_progress (batch, name, 0);
  if (open_job (&job, batch, in, part, &error))
    reason = play_job (&job, batch, name);
  else
    reason = g_strdup (error->message);
  close_job (&job);
  g_clear_error (&error);
  /* Nobody takes half a file for a whole one. */
  if (!reason && (g_stat (part, &status) != 0 || status.st_size == 0))
    reason = g_strdup ("nothing came out of it");
  if (!reason && g_rename (part, out) != 0)
    reason = g_strdup_printf ("cannot write %s", out);
  if (batch->on_terminal)
    g_print ("\r\033[K");
  if (reason) {
    g_remove (part);
    g_print ("[%u/%u] %s FAILED: %s\n", batch->n, batch->n_files, name, reason);
    g_ptr_array_add (batch->failed, g_strdup_printf ("%s: %s", in, reason));
  } else {
    g_print ("[%u/%u] %s -> %s  %.1f s%s\n", batch->n, batch->n_files, name, out,
             (double) (g_get_monotonic_time () - start) / 1e6, job.lost_sound ? ", without its sound" : "");
  }
  g_free (reason);
  g_free (part);
  g_free (out);
  g_free (made);
  g_free (name);
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static gint
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Adds the file, or what lies in the folder and looks like a picture or a clip. */
static gboolean
collect (GPtrArray *files, const char *path)
{
  GPtrArray *found = g_ptr_array_new ();
  GError *error = NULL;
  const char *name;
  GDir *dir;
  guint i;

  if (g_file_test (path, G_FILE_TEST_IS_DIR)) {
    dir = g_dir_open (path, 0, &error);
    while (dir && (name = g_dir_read_name (dir))) {
      if (ends_in (name, picture_endings) || ends_in (name, clip_endings))
        g_ptr_array_add (found, g_build_filename (path, name, NULL));
    }
    if (dir)
      g_dir_close (dir);
  } else if (g_file_test (path, G_FILE_TEST_EXISTS)) {
    g_ptr_array_add (found, g_strdup (path));
  } else {
    g_set_error (&error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s is not there", path);
  }
  if (error)
    g_printerr ("%s\n", error->message);
  g_ptr_array_sort (found, compare_paths);
  for (i = 0; i < found->len; i++)
    g_ptr_array_add (files, g_ptr_array_index (found, i));
  g_ptr_array_free (found, TRUE);
  if (error) {
    g_error_free (error);
    return FALSE;
  }
  return TRUE;
}

static gboolean
has_element (const char *name)
{
  GstElementFactory *factory = gst_element_factory_find (name);
  const gboolean found = factory != NULL;

  gst_clear_object (&factory);
  return found;
}

/* Whether everything that was asked for can be done; says what cannot. */
static gboolean
check_request (Batch *batch)
{
  GstElement *sobel = gst_element_factory_make ("cudasobel", NULL);
  guint i;
  gboolean ok = TRUE;

  if (!sobel) {
    g_printerr ("the element cudasobel is not installed\n");
    return FALSE;
  }
  gst_object_ref_sink (sobel);
  if (batch->preset && !gst_preset_load_preset (GST_PRESET (sobel), batch->preset)) {
    g_printerr ("there is no preset \"%s\"\n", batch->preset);
    ok = FALSE;
  }
  for (i = 0; batch->settings && batch->settings[i]; i++) {
    char **parts = g_strsplit (batch->settings[i], "=", 2);
    if (!parts[0] || !parts[1] || !g_object_class_find_property (G_OBJECT_GET_CLASS (sobel), parts[0])) {
      g_printerr ("\"%s\" is not PROPERTY=VALUE of cudasobel\n", batch->settings[i]);
      ok = FALSE;
    }
    g_strfreev (parts);
  }
  gst_object_unref (sobel);
  for (i = 0; i < G_N_ELEMENTS (encoders) && !batch->encoder; i++) {
    if (has_element (encoders[i][0]))
      batch->encoder = encoders[i][1];
  }
  if (!batch->encoder || !has_element ("matroskamux")) {
    g_printerr ("GStreamer's good plugins are needed\n");
    ok = FALSE;
  }
  if (ok && g_mkdir_with_parents (batch->out_folder, 0777) != 0) {
    g_printerr ("cannot make the folder %s\n", batch->out_folder);
    ok = FALSE;
  }
  return ok;
}

static gboolean
is_out_folder (const Batch *batch, const char *file)
{
  char *folder = g_path_get_dirname (file);
  GStatBuf a, b;
  const gboolean same = g_stat (folder, &a) == 0 && g_stat (batch->out_folder, &b) == 0 && a.st_dev == b.st_dev &&
                        a.st_ino == b.st_ino;

  g_free (folder);
  return same;
}

static void
take_signal (int number)
{
  interrupted = 1;
}

static int
convert_all (Batch *batch, char **inputs)
{
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  gboolean complete = TRUE;
  guint i;

  for (i = 0; inputs[i]; i++)
    complete = collect (files, inputs[i]) && complete;
  batch->n_files = files->len;
  if (files->len == 0)
    g_printerr ("no pictures or clips found\n");
  for (i = 0; i < files->len && !interrupted; i++) {
    const char *file = g_ptr_array_index (files, i);

    batch->n = i + 1;
    if (is_out_folder (batch, file))
      g_ptr_array_add (batch->failed, g_strdup_printf ("%s: lies where the results go", file));
    else
      convert (batch, file);
  }
  g_print ("%u of %u converted\n", i - batch->failed->len, files->len);
  for (i = 0; i < batch->failed->len; i++)
    g_print ("failed: %s\n", (char *) g_ptr_array_index (batch->failed, i));
  complete = complete && files->len > 0 && batch->failed->len == 0;
  g_ptr_array_unref (files);
  if (interrupted)
    return 130;
  return complete ? 0 : 1;
}

int
main (int argc, char **argv)
{
  Batch batch = { .give_up = 60 };
  char **inputs = NULL;
  GError *error = NULL;
  const GOptionEntry entries[] = {
    { "out", 'o', 0, G_OPTION_ARG_FILENAME, &batch.out_folder, "Where the results go (edges)", "FOLDER" },
    { "preset", 'p', 0, G_OPTION_ARG_STRING, &batch.preset, "A preset of cudasobel", "NAME" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &batch.settings, "A property of cudasobel; may be repeated",
      "PROPERTY=VALUE" },
    { "give-up", 0, 0, G_OPTION_ARG_INT, &batch.give_up, "A file has failed that gets no further for so long (60)",
      "SECONDS" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs, NULL, "FOLDER|FILE..." },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  GOptionContext *context = g_option_context_new ("- edges of many pictures and clips");
  int result;

  /* It reads how a picture was held. GStreamer 1.22 leaves it out unless asked. */
  g_setenv ("GST_PLUGIN_FEATURE_RANK", "jpegparse:PRIMARY", FALSE);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error) || !inputs) {
    g_printerr ("%s\n", error ? error->message : "no folder was named; --help tells more");
    return 2;
  }
  g_option_context_free (context);
  if (!batch.out_folder)
    batch.out_folder = g_strdup ("edges");
  if (!check_request (&batch))
    return 2;
  batch.on_terminal = isatty (STDOUT_FILENO);
  batch.failed = g_ptr_array_new_with_free_func (g_free);
  signal (SIGINT, take_signal);
  signal (SIGTERM, take_signal);
  result = convert_all (&batch, inputs);

  g_ptr_array_unref (batch.failed);
  g_strfreev (batch.settings);
  g_strfreev (inputs);
  g_free (batch.preset);
  g_free (batch.out_folder);
  return result;
}

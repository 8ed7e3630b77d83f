/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Without the NVIDIA driver, and without GStreamer's CUDA library, the element is the same but for GPU memory. The
 * program runs itself anew where no CUDA library can be loaded. */
#include "picture.h"

#include "gstsobelcudalib.h"

#include <dlfcn.h>
#include <glib/gstdio.h>

#define CUDA_CAPS "video/x-raw(memory:CUDAMemory),format=NV12,width=34,height=18"
#define SYSTEM_CAPS "video/x-raw,format=NV12,width=34,height=18"

static gboolean
template_has_cuda (void)
{
  GstElementFactory *factory = gst_element_factory_find ("cudasobel");
  const GList *item = gst_element_factory_get_static_pad_templates (factory);
  GstCaps *caps = gst_static_pad_template_get_caps (item->data), *cuda = gst_caps_from_string (CUDA_CAPS);
  const gboolean has = gst_caps_can_intersect (caps, cuda);

  gst_caps_unref (caps);
  gst_caps_unref (cuda);
  gst_object_unref (factory);
  return has;
}

static gboolean
pad_has_cuda (GstElement *element)
{
  GstPad *pad = gst_element_get_static_pad (element, "src");
  GstCaps *caps = gst_pad_query_caps (pad, NULL), *cuda = gst_caps_from_string (CUDA_CAPS);
  const gboolean has = gst_caps_can_intersect (caps, cuda);

  gst_caps_unref (caps);
  gst_caps_unref (cuda);
  gst_object_unref (pad);
  return has;
}

/* System memory works, with a GPU and without; GPU memory is refused without a word of GLib's. */
static void
check_the_rest (void)
{
  static const char *const backends[] = { "backend=auto", "backend=cpu", "backend=cuda" };
  GstContext *context = gst_context_new (GST_SOBEL_CUDA_CONTEXT_TYPE, TRUE);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (backends); i++) {
    Rig *rig;

    et_context ("%s", backends[i]);
    et_gpu_late (10, 0);
    rig = rig_new (backends[i]);
    gst_element_set_context (rig->element, context); /* an empty one */
    T_CHECK (gst_element_set_state (rig->element, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS, "not READY");
    T_CHECK (!pad_has_cuda (rig->element), "GPU memory in READY");
    T_CHECK (rig_start (rig, SYSTEM_CAPS), "refused");
    rig_push_pictures (rig, 0, 4);
    rig_wait (rig, 4);
    picture_check_recording (rig, 0, 4);
    T_CHECK (!rig_caps (rig, CUDA_CAPS), "GPU memory is taken");
    T_CHECK (rig_messages (rig, GST_MESSAGE_HAVE_CONTEXT, NULL) == 0, "a CUDA context");
    rig_free (rig);
    et_gpu_check ();
  }
  gst_context_unref (context);
}

static void
without_the_driver (void)
{
  T_CHECK (gst_sobel_cuda_lib () != NULL, "no library");
  T_CHECK (template_has_cuda (), "the template lacks GPU memory");
  check_the_rest ();
}

static void
without_the_library (void)
{
  T_CHECK (gst_sobel_cuda_lib () == NULL, "a library after all");
  T_CHECK (!template_has_cuda (), "the template has GPU memory");
  check_the_rest ();
}

/* This program again, where the library's file is none. */
static int
run_without_library (const char *program)
{
  gchar *dir = g_dir_make_tmp ("nocudaXXXXXX", NULL), *file = g_build_filename (dir, "libgstcuda-1.0.so.0", NULL);
  const char *path = g_getenv ("LD_LIBRARY_PATH");
  gchar *paths = path ? g_strconcat (dir, ":", path, NULL) : g_strdup (dir);
  gchar *argv[] = { (gchar *) program, (gchar *) "without-the-library", NULL };
  gchar **env = g_environ_setenv (g_get_environ (), "LD_LIBRARY_PATH", paths, TRUE);
  gint status = -1;

  g_file_set_contents (file, "no library\n", -1, NULL);
  g_spawn_sync (NULL, argv, env, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL, &status, NULL);
  T_CHECK (status == 0, "without the library: status %d", status);
  g_unlink (file);
  g_rmdir (dir);
  g_strfreev (env);
  g_free (paths);
  g_free (file);
  g_free (dir);
  return status;
}

int
main (int argc, char **argv)
{
  static const ETest without_driver[] = { { "without-the-driver", without_the_driver }, { NULL, NULL } };
  static const ETest without_library[] = { { "without-the-library", without_the_library }, { NULL, NULL } };

  if (argc > 1 && g_str_equal (argv[1], "without-the-library"))
    return et_main (argc, argv, ET_ALONE, without_library);
  run_without_library (argv[0]);
  if (dlopen ("libcuda.so.1", RTLD_LAZY) || !dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY)) {
    fprintf (stderr, "there is a driver, or no library: %s\n", "the other half cannot be tried");
    return t_failures () ? 1 : T_SKIP;
  }
  return et_main (argc, argv, ET_ALONE, without_driver);
}

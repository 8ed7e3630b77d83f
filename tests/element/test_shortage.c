/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory, threads and locks that there are none left of: each request of the element and of what lies below it fails
 * in its turn, once or from then on. (GLib ends the process where its own requests fail, as with any other element.)
 *
 * The linker leads the requests of this program here (meson.build); those of GLib and GStreamer stay theirs. */
#include "picture.h"
#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define CAPS "video/x-raw,format=RGB,width=66,height=50,framerate=25/1"
enum { FRAMES = 3 };

static gint armed, calls, failed; /* atomic */
static gint first, last;          /* of the calls that fail, from 1; set while not armed */

static gboolean
is_refused (void)
{
  gint n;

  if (!g_atomic_int_get (&armed))
    return FALSE;
  n = g_atomic_int_add (&calls, 1) + 1;
  if (n < first || n > last)
    return FALSE;
  g_atomic_int_inc (&failed);
  return TRUE;
}

#define MEMORY(NAME, PARAMETERS, ARGUMENTS)                                                                            \
  void *__real_##NAME PARAMETERS;                                                                                      \
  void *__wrap_##NAME PARAMETERS;                                                                                      \
  void *__wrap_##NAME PARAMETERS { return is_refused () ? NULL : __real_##NAME ARGUMENTS; }

#define SYSTEM(NAME, ERROR, PARAMETERS, ARGUMENTS)                                                                     \
  int __real_##NAME PARAMETERS;                                                                                        \
  int __wrap_##NAME PARAMETERS;                                                                                        \
  int __wrap_##NAME PARAMETERS { return is_refused () ? ERROR : __real_##NAME ARGUMENTS; }

MEMORY (malloc, (size_t size), (size))
MEMORY (calloc, (size_t n, size_t size), (n, size))
MEMORY (aligned_alloc, (size_t alignment, size_t size), (alignment, size))
SYSTEM (posix_memalign, ENOMEM, (void **data, size_t alignment, size_t size), (data, alignment, size))
SYSTEM (pthread_create, EAGAIN, (pthread_t * thread, const pthread_attr_t *how, void *(*work) (void *), void *data),
        (thread, how, work, data))
SYSTEM (pthread_mutex_init, ENOMEM, (pthread_mutex_t * lock, const pthread_mutexattr_t *how), (lock, how))
SYSTEM (pthread_cond_init, ENOMEM, (pthread_cond_t * cond, const pthread_condattr_t *how), (cond, how))

/* What came is right, and where something is missing, the reason is told. */
static void
check (Rig *rig)
{
  const SobelParams params = picture_params (rig->element);
  const guint n = rig_n_buffers (rig);
  guint errors, i;
  gchar *text;

  for (i = 0; i < n; i++) {
    GstBuffer *out = rig_buffer (rig, i, NULL), *in = rig_picture (rig, (guint) GST_BUFFER_OFFSET (out));

    picture_check (in, &rig->info, out, &rig->info, &params, FALSE);
    gst_buffer_unref (in);
  }
  errors = rig_messages (rig, GST_MESSAGE_ERROR, &text);
  if (n < FRAMES) /* maybe twice: upstream goes on after new caps were refused */
    T_CHECK (errors > 0 && strstr (text, "memory") && !strstr (text, "GPU"), "%u frames, %u errors: %s", n, errors,
             text);
  else
    T_CHECK (errors == 0, "all is there, and yet: %s", text);
  g_free (text);
}

static void
everything_fails_in_turn (gboolean for_good)
{
  gint n;

  for (n = 1; n == 1 || failed > 0; n++) {
    Rig *rig = rig_new ("backend=cpu n-threads=4 mode=direction");

    et_context ("request %d%s", n, for_good ? " and all after it" : "");
    first = n;
    last = for_good ? G_MAXINT : n;
    calls = failed = 0;
    g_atomic_int_set (&armed, TRUE);
    if (rig_start (rig, CAPS)) {
      rig_push_pictures (rig, 0, FRAMES);
      rig_eos (rig);
    } else {
      gst_video_info_set_format (&rig->info, GST_VIDEO_FORMAT_RGB, 66, 50);
    }
    g_atomic_int_set (&armed, FALSE);
    check (rig);

    /* Later there is enough. */
    rig_stop (rig);
    rig_forget (rig);
    T_CHECK (rig_start (rig, CAPS), "does not start again");
    T_CHECK (rig_push_pictures (rig, 0, FRAMES) == GST_FLOW_OK, "refused");
    rig_eos (rig);
    T_CHECK (rig_n_buffers (rig) == FRAMES, "%u frames", rig_n_buffers (rig));
    check (rig);
    rig_free (rig);
  }
  T_CHECK (n > 10, "only %d requests: are they led here?", n - 1);
}

static void
each_once (void)
{
  everything_fails_in_turn (FALSE);
}

static void
from_one_on (void)
{
  everything_fails_in_turn (TRUE);
}

int
main (int argc, char **argv)
{
  static const ETest tests[] = {
    { "each-once", each_once },
    { "from-one-on", from_one_on },
    { NULL, NULL },
  };

  return et_main (argc, argv, ET_ALONE, tests);
}

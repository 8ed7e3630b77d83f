/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elementtest.h"

#include "cpudevice.h"
#include "pinnedbudget.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  TEST_SECONDS = 60, /* a test that takes longer (times et_factor) hangs */
  MAX_GPUS = 4096,
  MAX_LINES = 4096,
};

/* ---- slowness ------------------------------------------------------------------------------------- */

unsigned
et_factor (void)
{
  const char *preload = getenv ("LD_PRELOAD");

#if defined(__SANITIZE_THREAD__)
  return 10;
#elif defined(__SANITIZE_ADDRESS__)
  return 4;
#endif
  return preload && strstr (preload, "vgpreload") ? 30 : 1;
}

unsigned
et_times (unsigned n)
{
  return MAX (n / et_factor (), 1);
}

static gboolean is_long;

gboolean
et_long (void)
{
  return is_long;
}

/* ---- logs ----------------------------------------------------------------------------------------- */

static GMutex log_lock;
static struct
{
  GstDebugLevel level;
  gchar *text;
} line[MAX_LINES];
static unsigned n_lines;
static char context[256];

void
et_context (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_mutex_lock (&log_lock);
  g_vsnprintf (context, sizeof context, format, args);
  g_mutex_unlock (&log_lock);
  va_end (args);
}

gboolean
et_fail (const char *file, int line_number, const char *condition, const char *format, ...)
{
  gchar *text, where[sizeof context];
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_mutex_lock (&log_lock);
  g_strlcpy (where, context, sizeof where);
  g_mutex_unlock (&log_lock);
  t_fail (file, line_number, condition, "%s%s%s", text, *where ? " with " : "", where);
  g_free (text);
  return FALSE;
}

static void
keep_line (GstDebugCategory *category, GstDebugLevel level, const gchar *file, const gchar *function, gint number,
           GObject *object, GstDebugMessage *message, gpointer user)
{
  if (level > GST_LEVEL_INFO || !g_str_equal (gst_debug_category_get_name (category), "cudasobel"))
    return;
  g_mutex_lock (&log_lock);
  if (n_lines < MAX_LINES) {
    line[n_lines].level = level;
    line[n_lines++].text = g_strdup (gst_debug_message_get (message));
  }
  g_mutex_unlock (&log_lock);
}

unsigned
et_log_count (GstDebugLevel level, const char *text)
{
  unsigned i, n = 0;

  g_mutex_lock (&log_lock);
  for (i = 0; i < n_lines; i++)
    n += line[i].level == level && (!text || strstr (line[i].text, text));
  g_mutex_unlock (&log_lock);
  return n;
}

void
et_log_clear (void)
{
  g_mutex_lock (&log_lock);
  while (n_lines > 0)
    g_free (line[--n_lines].text);
  g_mutex_unlock (&log_lock);
}

/* Whatever GLib complains about is a fault of the element or of the test. */
static void
complain (const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
  if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING | G_LOG_LEVEL_ERROR))
    et_fail (__FILE__, __LINE__, "no complaint of GLib", "%s: %s", domain ? domain : "?", message);
}

/* ---- the GPU -------------------------------------------------------------------------------------- */

static GMutex gpu_lock;
static EGpu gpu;
static FakeDevice *made[MAX_GPUS];
static unsigned n_made;
static SobelCudaOptions last_options;

static SobelStatus
make_gpu (const SobelCudaOptions *options, SobelDevice **device, SobelError *error)
{
  FakeOptions fake_options;
  FakeDevice *fake;
  EGpu plan;

  *device = NULL;
  g_mutex_lock (&gpu_lock);
  plan = gpu;
  last_options = *options;
  g_mutex_unlock (&gpu_lock);
  if (plan.refuse != SOBEL_STATUS_OK)
    return sobel_error_set (error, plan.refuse, "%s", plan.message);
  if (plan.real)
    return sobel_cuda_device_new (options, device, error);

  fake_options = plan.options;
  fake_options.kind = "cuda";
  fake_options.pinned_only = !fake_options.no_host_alloc;
  if (plan.pixels && sobel_cpu_device_new (1, &fake_options.inner, error) != SOBEL_STATUS_OK)
    return error->status;
  fake = fake_device_new (&fake_options);
  if (plan.made)
    plan.made (fake);
  *device = fake_device_seam (fake);
  g_mutex_lock (&gpu_lock);
  T_CHECK (n_made < MAX_GPUS, "one test makes more than %d devices", MAX_GPUS);
  if (n_made < MAX_GPUS)
    made[n_made++] = fake;
  g_mutex_unlock (&gpu_lock);
  return SOBEL_STATUS_OK;
}

void
et_gpu_set (const EGpu *plan)
{
  static const EGpu none = { .refuse = SOBEL_STATUS_NO_DEVICE, .message = "no GPU in this test" };

  g_mutex_lock (&gpu_lock);
  gpu = plan ? *plan : none;
  g_mutex_unlock (&gpu_lock);
}

gboolean
et_gpu_is_real (void)
{
  return g_strcmp0 (g_getenv ("SOBEL_TEST_GPU"), "real") == 0;
}

static EGpu
late_gpu (unsigned delay_us, unsigned jitter_us)
{
  return (EGpu) {
    .pixels = TRUE,
    .options = { .finish = FAKE_FINISH_LATE,
                 .delay_ns = (uint64_t) delay_us * 1000,
                 .jitter_ns = (uint64_t) jitter_us * 1000,
                 .watch_memory = true },
  };
}

void
et_gpu_fake_late (unsigned delay_us, unsigned jitter_us)
{
  const EGpu plan = late_gpu (delay_us, jitter_us);

  et_gpu_set (&plan);
}

void
et_gpu_late (unsigned delay_us, unsigned jitter_us)
{
  EGpu plan = late_gpu (delay_us, jitter_us);

  plan.real = et_gpu_is_real ();
  et_gpu_set (&plan);
}

FakeDevice *
et_gpu (unsigned n)
{
  FakeDevice *fake;

  g_mutex_lock (&gpu_lock);
  fake = n < n_made ? made[n] : NULL;
  g_mutex_unlock (&gpu_lock);
  return fake;
}

unsigned
et_gpu_made (void)
{
  unsigned n;

  g_mutex_lock (&gpu_lock);
  n = n_made;
  g_mutex_unlock (&gpu_lock);
  return n;
}

SobelCudaOptions
et_gpu_options (void)
{
  SobelCudaOptions options;

  g_mutex_lock (&gpu_lock);
  options = last_options;
  g_mutex_unlock (&gpu_lock);
  return options;
}

void
et_gpu_check (void)
{
  unsigned i;

  /* A lost device lives until its last frame is done. */
  for (i = 0; i < 200 && sobel_device_reap () > 0; i++)
    g_usleep (5000);
  g_mutex_lock (&gpu_lock);
  for (i = 0; i < n_made; i++) {
    const char *first = NULL;

    T_CHECK (fake_device_misuse (made[i], &first) == 0, "%s", first);
    T_CHECK (fake_device_destroyed (made[i]), "device %u of %u lives on", i, n_made);
    T_CHECK (fake_device_blocks (made[i]) == 0, "%u blocks of pinned memory are left",
             fake_device_blocks (made[i]));
    fake_device_free (made[i]);
  }
  n_made = 0;
  g_mutex_unlock (&gpu_lock);
  T_CHECK (sobel_pinned_bytes () == 0, "%" G_GUINT64_FORMAT " bytes are still pinned",
           (guint64) sobel_pinned_bytes ());
}

/* ---- running -------------------------------------------------------------------------------------- */

static const char *volatile running;

static void
hangs (int number)
{
  static const char text[] = ": hangs\n";
  const char *name = running;
  ssize_t ignored;

  ignored = write (STDERR_FILENO, name, strlen (name));
  ignored += write (STDERR_FILENO, text, sizeof text - 1);
  ignored += write (STDERR_FILENO, context, strlen (context));
  ignored += write (STDERR_FILENO, "\n", 1);
  (void) ignored;
  abort ();
}

static gboolean
is_wanted (int argc, char **argv, const char *name)
{
  int i;
  gboolean any = FALSE;

  for (i = 1; i < argc; i++) {
    if (g_str_equal (argv[i], "--long"))
      continue;
    any = TRUE;
    if (g_str_equal (argv[i], name))
      return TRUE;
  }
  return !any;
}

static void
run_test (const ETest *test)
{
  const unsigned failures = t_failures ();
  const uint64_t start = t_now_ns ();

  running = test->name;
  et_context ("%s", "");
  et_log_clear ();
  et_gpu_set (NULL);
  alarm ((is_long ? 20 : 1) * TEST_SECONDS * et_factor ());
  test->run ();
  et_gpu_check ();
  sobel_pinned_set_cap (0);
  gst_cuda_sobel_set_give_up (0);
  alarm (0);
  printf ("%s %s (%.2f s)\n", t_failures () == failures ? "ok  " : "FAIL", test->name,
          (double) (t_now_ns () - start) / 1e9);
  fflush (stdout);
}

int
et_main (int argc, char **argv, ETestNeeds needs, const ETest *tests)
{
  unsigned i, n = 0;

  if (needs == ET_ALONE)
    g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  if (!getenv ("GST_DEBUG"))
    gst_debug_remove_log_function (gst_debug_log_default);
  gst_init (NULL, NULL);
  gst_debug_add_log_function (keep_line, NULL, NULL);
  gst_debug_set_threshold_from_string ("cudasobel:INFO", FALSE);
  g_log_set_default_handler (complain, NULL);
  signal (SIGALRM, hangs);
  is_long = getenv ("SOBEL_TEST_LONG") != NULL;
  for (i = 1; i < (unsigned) argc; i++)
    is_long |= g_str_equal (argv[i], "--long");
  gst_sobel_backend_set_factory (make_gpu);
  if (!GST_ELEMENT_REGISTER (cudasobel, NULL)) {
    t_fail (__FILE__, __LINE__, "GST_ELEMENT_REGISTER", "the element cannot be registered");
    return t_result ();
  }
  for (; tests->name; tests++) {
    if (is_wanted (argc, argv, tests->name)) {
      run_test (tests);
      n++;
    }
  }
  T_CHECK (n > 0, "no such test");
  et_log_clear ();
  gst_deinit ();
  return t_result ();
}

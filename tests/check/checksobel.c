/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checker of every backend and kernel: pictures of every format and size with every setting through the seam of
 * devices, byte for byte against the oracle. --help says how to choose. */
#include "checkdevices.h"
#include "checkplans.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REPORTS = 10 };

typedef struct Arguments
{
  gchar *device, *isa, *kernel, *formats, *plans, *only, *shard, *seed;
  gboolean quick, list;
  gint threads, gpu, streams, strips;
} Arguments;

typedef struct Lanes
{
  CheckLane lane[CHECK_MAX_LANES];
  unsigned n;
  SobelDevice *device[CHECK_MAX_LANES];
  unsigned n_devices;
} Lanes;

/* ---- lanes ---------------------------------------------------------------------------------------- */

/* One lane a kernel of a device that was just made. */
static bool
add_device (Lanes *lanes, const CheckDeviceKind *kind, const char *isa, SobelDevice *device, char **kernels)
{
  unsigned i;

  lanes->device[lanes->n_devices++] = device;
  for (i = 0; kernels[i] != NULL; i++) {
    CheckLane *lane = &lanes->lane[lanes->n];

    if (lanes->n == CHECK_MAX_LANES) {
      fprintf (stderr, "more than %d devices and kernels at once\n", CHECK_MAX_LANES);
      return false;
    }
    if (!check_kernel_find (kernels[i], &lane->kernel)) {
      fprintf (stderr, "there is no kernel %s\n", kernels[i]);
      return false;
    }
    lane->device = device;
    g_snprintf (lane->name, sizeof lane->name, "%s%s%s %s", kind->name, isa != NULL ? "/" : "",
                isa != NULL ? isa : "", kernels[i]);
    g_snprintf (lane->options, sizeof lane->options, "--device=%s%s%s --kernel=%s", kind->name,
                isa != NULL ? " --isa=" : "", isa != NULL ? isa : "", kernels[i]);
    lanes->n++;
  }
  return true;
}

static char **
split (const char *list, const char *const *all)
{
  static const char *const automatic[] = {"auto", NULL};

  if (strcmp (list, "all") != 0)
    return g_strsplit (list, ",", -1);
  return g_strdupv ((char **) (all != NULL ? all : automatic));
}

/* The devices of one kind. T_SKIP where there is none here, 0 or 1. */
static int
add_kind (Lanes *lanes, const CheckDeviceKind *kind, const Arguments *arguments)
{
  const CheckDeviceOptions options = {
      .threads = (unsigned) arguments->threads,
      .gpu = arguments->gpu,
      .streams = (unsigned) arguments->streams,
      .strips = (unsigned) arguments->strips,
  };
  char **isas = split (arguments->isa, kind->isas), **kernels = split (arguments->kernel, kind->kernels);
  SobelError error = {SOBEL_STATUS_OK, ""};
  int result = T_SKIP;
  unsigned i;

  for (i = 0; isas[i] != NULL && result != 1 && lanes->n < CHECK_MAX_LANES; i++) {
    const char *isa = kind->isas == NULL || strcmp (isas[i], "auto") == 0 ? NULL : isas[i];
    SobelDevice *device = kind->create (&options, isa, &error);

    if (device != NULL) {
      result = add_device (lanes, kind, isa, device, kernels) ? 0 : 1;
    } else {
      printf ("%s %s: not here: %s\n", kind->name, isas[i], error.message);
      if (error.status != SOBEL_STATUS_NO_DEVICE)
        result = 1;
    }
  }
  g_strfreev (isas);
  g_strfreev (kernels);
  return result;
}

static int
add_kinds (Lanes *lanes, const Arguments *arguments)
{
  char **names = g_strsplit (arguments->device, ",", -1);
  int result = T_SKIP;
  unsigned i;

  for (i = 0; names[i] != NULL && result != 1; i++) {
    const CheckDeviceKind *kind = check_device_find (names[i]);
    int added = 1;

    if (kind == NULL)
      fprintf (stderr, "there is no device %s\n", names[i]);
    else
      added = add_kind (lanes, kind, arguments);
    if (added != T_SKIP)
      result = added;
  }
  g_strfreev (names);
  return result;
}

/* ---- running -------------------------------------------------------------------------------------- */

static bool
is_listed (const char *list, const char *name)
{
  char **names = g_strsplit (list, ",", -1);
  const bool listed = g_strv_contains ((const gchar *const *) names, name);

  g_strfreev (names);
  return listed;
}

static void
run_plans (Checker *checker, const Arguments *arguments)
{
  const CheckPlan *plan;
  unsigned i;

  for (i = 0; (plan = check_plan_nth (i)) != NULL && !checker_stopped (checker); i++) {
    const uint64_t start = t_now_ns ();
    const CheckTotals before = *checker_totals (checker), *after = checker_totals (checker);

    if (arguments->plans != NULL && !is_listed (arguments->plans, plan->name))
      continue;
    if (arguments->only != NULL && strncmp (arguments->only, plan->name, strlen (plan->name)) != 0)
      continue;
    plan->run (checker, plan->name, !arguments->quick);
    if (isatty (STDERR_FILENO))
      fputs ("\r\033[K", stderr);
    printf ("%-11s %7" PRIu64 " configurations %9" PRIu64 " pictures %12" PRIu64 " samples %5" PRIu64
            " mismatches %6.1f s\n",
            plan->name, after->configs - before.configs, after->pictures - before.pictures,
            after->samples - before.samples, after->mismatches - before.mismatches,
            (double) (t_now_ns () - start) * 1e-9);
    fflush (stdout);
  }
}

/* What the lanes were in the end: a device may choose its kernel by itself. */
static void
describe_devices (const Lanes *lanes)
{
  unsigned i;

  for (i = 0; i < lanes->n_devices; i++) {
    SobelDeviceInfo info;

    lanes->device[i]->ops->info (lanes->device[i], &info);
    printf ("%s: last picture by %s\n", info.name, info.kernel != NULL ? info.kernel : "-");
  }
}

static int
check (const Lanes *lanes, const Arguments *arguments, const char *program)
{
  char *command = g_strdup_printf ("%s%s --threads=%d --streams=%d --strips=%d", program,
                                   arguments->quick ? " --quick" : "", arguments->threads, arguments->streams,
                                   arguments->strips);
  CheckOptions options = {
      .seed = arguments->seed != NULL ? g_ascii_strtoull (arguments->seed, NULL, 0) : t_seed (1),
      .only = arguments->only,
      .formats = arguments->formats,
      .command = command,
      .report = stdout,
      .guard = true,
      .max_reports = MAX_REPORTS,
      .progress = isatty (STDERR_FILENO),
  };
  SobelError error = {SOBEL_STATUS_OK, ""};
  const CheckTotals *totals;
  Checker *checker;
  unsigned i;
  int result = 1;

  if (arguments->shard != NULL && (sscanf (arguments->shard, "%u/%u", &options.shard, &options.n_shards) != 2 ||
                                   options.shard >= options.n_shards)) {
    fprintf (stderr, "--shard=I/N with I below N, not %s\n", arguments->shard);
  } else if ((checker = checker_new (lanes->lane, lanes->n, &options, &error)) == NULL) {
    fprintf (stderr, "%s\n", error.message);
  } else {
    printf ("lanes:");
    for (i = 0; i < lanes->n; i++)
      printf ("%s %s", i > 0 ? "," : "", lanes->lane[i].name);
    printf ("\n");
    run_plans (checker, arguments);
    describe_devices (lanes);
    totals = checker_totals (checker);
    result = totals->mismatches > 0 || totals->pictures == 0;
    printf ("%s: %" PRIu64 " pictures, %" PRIu64 " samples compared, %" PRIu64 " mismatches\n",
            result ? "FAILED" : "passed", totals->pictures, totals->samples, totals->mismatches);
    checker_free (checker);
  }
  g_free (command);
  return result;
}

static void
list_choices (void)
{
  const CheckDeviceKind *kind;
  const CheckPlan *plan;
  unsigned i, k;

  for (i = 0; (kind = check_device_nth (i)) != NULL; i++) {
    printf ("device %s: isa", kind->name);
    for (k = 0; kind->isas != NULL && kind->isas[k] != NULL; k++)
      printf (" %s", kind->isas[k]);
    printf ("; kernel");
    for (k = 0; kind->kernels != NULL && kind->kernels[k] != NULL; k++)
      printf (" %s", kind->kernels[k]);
    printf ("\n");
  }
  for (i = 0; (plan = check_plan_nth (i)) != NULL; i++)
    printf ("plan %s: %s\n", plan->name, plan->purpose);
}

int
main (int argc, char **argv)
{
  Arguments a = {.threads = 2, .gpu = -1};
  const GOptionEntry entries[] = {
      {"device", 0, 0, G_OPTION_ARG_STRING, &a.device, "Devices, commas between (cpu)", "NAMES"},
      {"isa", 0, 0, G_OPTION_ARG_STRING, &a.isa, "Instruction sets of the CPU, commas between, auto or all (all)",
       "NAMES"},
      {"kernel", 0, 0, G_OPTION_ARG_STRING, &a.kernel, "Kernels, commas between, auto or all (all)", "NAMES"},
      {"formats", 0, 0, G_OPTION_ARG_STRING, &a.formats, "Only these formats, commas between", "NAMES"},
      {"plans", 0, 0, G_OPTION_ARG_STRING, &a.plans, "Only these plans, commas between", "NAMES"},
      {"case", 0, 0, G_OPTION_ARG_STRING, &a.only, "Only this case", "PLAN/CONFIGURATION[/PICTURE]"},
      {"shard", 0, 0, G_OPTION_ARG_STRING, &a.shard, "Every N-th configuration, from the I-th on", "I/N"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &a.seed, "Seed of all chance (SOBEL_TEST_SEED, else 1)", "N"},
      {"quick", 0, 0, G_OPTION_ARG_NONE, &a.quick, "Less of everything: under a minute", NULL},
      {"threads", 0, 0, G_OPTION_ARG_INT, &a.threads, "Threads of the CPU device (2)", "N"},
      {"gpu", 0, 0, G_OPTION_ARG_INT, &a.gpu, "Index of the GPU (the first usable one)", "N"},
      {"streams", 0, 0, G_OPTION_ARG_INT, &a.streams, "Streams of the GPU device (its own choice)", "N"},
      {"strips", 0, 0, G_OPTION_ARG_INT, &a.strips, "Strips that the GPU device cuts a picture into (by size)", "N"},
      {"list", 0, 0, G_OPTION_ARG_NONE, &a.list, "Names the devices and plans", NULL},
      {NULL},
  };
  GOptionContext *context = g_option_context_new ("- compares backends and kernels with the oracle");
  GError *error = NULL;
  Lanes lanes = {.n = 0};
  unsigned i;
  int result;

  gst_init (NULL, NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fprintf (stderr, "%s\n", error->message);
    g_clear_error (&error);
    g_option_context_free (context);
    return 1;
  }
  g_option_context_free (context);
  if (a.list) {
    list_choices ();
    return 0;
  }
  a.device = a.device != NULL ? a.device : g_strdup ("cpu");
  a.isa = a.isa != NULL ? a.isa : g_strdup ("all");
  a.kernel = a.kernel != NULL ? a.kernel : g_strdup ("all");
  result = add_kinds (&lanes, &a);
  if (result == 0)
    result = check (&lanes, &a, argv[0]);
  else if (result == T_SKIP)
    printf ("skipped: no such device here\n");
  for (i = 0; i < lanes.n_devices; i++)
    sobel_device_destroy (&lanes.device[i]);
  for (i = 0; i < G_N_ELEMENTS (entries) - 1; i++)
    if (entries[i].arg == G_OPTION_ARG_STRING)
      g_free (*(char **) entries[i].arg_data);
  return result;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkcase.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
  MAX_SLOTS = 16,
  ARENA_BYTES = 32 << 20, /* of each kind of memory, of each device, at most, unless one picture needs more */
};
#define WAIT_NS UINT64_C (60000000000)

/* A device with its lanes and the memory that it reads and writes. */
typedef struct Post
{
  SobelDevice *device;
  unsigned first_lane, n_lanes;
  SobelHostBlock *block; /* of the device, where it has such memory */
  uint8_t *arena;        /* first inputs, then outputs */
  size_t arena_size;
} Post;

struct Checker
{
  CheckOptions options;
  CheckLane lane[CHECK_MAX_LANES];
  Post post[CHECK_MAX_LANES];
  unsigned n_lanes, n_posts, max_lanes; /* max_lanes: of a device */
  CheckTotals totals;
  unsigned n_reports;
  bool stopped;
  uint64_t progress_ns;

  char plan[32];
  unsigned plan_configs; /* begun or filtered away, of this plan */
  unsigned config_index;

  /* The configuration under way. */
  CheckConfig config;
  SobelConfig seam; /* the same as devices are told */
  CheckSide in_side, out_side;
  unsigned n_pictures; /* begun or filtered away */
  TRandom random;      /* of the next picture */
  CheckCase batch[MAX_SLOTS];
  unsigned n_batch, max_batch;
  size_t in_region, out_region; /* bytes of each picture's region in the arenas */
};

/* ---- filters and chance --------------------------------------------------------------------------- */

static uint64_t
hash_text (const char *text)
{
  uint64_t h = 14695981039346656037u;

  for (; *text != '\0'; text++)
    h = (h ^ (uint8_t) *text) * 1099511628211u;
  return h;
}

static void
next_picture_random (Checker *c)
{
  const uint64_t key = hash_text (c->plan) ^ (uint64_t) c->config_index << 32 ^ c->n_pictures;

  c->random = t_random (c->options.seed, key);
}

static bool
list_has (const char *list, const char *name)
{
  const size_t n = strlen (name);

  for (; list != NULL; list = strchr (list, ',') != NULL ? strchr (list, ',') + 1 : NULL)
    if (strncmp (list, name, n) == 0 && (list[n] == '\0' || list[n] == ','))
      return true;
  return false;
}

bool
checker_wants_format (const Checker *c, const GstVideoFormatInfo *format)
{
  return oracle_format_is_required (format) &&
         (c->options.formats == NULL || list_has (c->options.formats, format->name));
}

/* Whether options.only names the configuration (picture < 0) or the picture under way. */
static bool
is_chosen (const Checker *c, int64_t picture)
{
  unsigned config, chosen;
  char plan[32];
  int n;

  if (c->options.only == NULL)
    return true;
  n = sscanf (c->options.only, "%31[^/]/%u/%u", plan, &config, &chosen);
  return n >= 1 && strcmp (plan, c->plan) == 0 && (n < 2 || config == c->config_index) &&
         (n < 3 || picture < 0 || chosen == picture);
}

/* ---- faults --------------------------------------------------------------------------------------- */

static bool
may_report (Checker *c, CheckFault fault)
{
  c->totals.mismatches++;
  c->totals.faults[fault]++;
  if (c->options.stop_after > 0 && c->totals.mismatches >= c->options.stop_after)
    c->stopped = true;
  if (c->options.report == NULL || c->n_reports >= c->options.max_reports)
    return false;
  if (c->options.progress)
    fputs ("\r\033[K", stderr);
  if (++c->n_reports == c->options.max_reports)
    fprintf (c->options.report, "(the last mismatch to be described)\n");
  return true;
}

void
checker_fail (Checker *c, const char *format, ...)
{
  va_list args;

  if (!may_report (c, CHECK_FAULT_OTHER))
    return;
  va_start (args, format);
  vfprintf (c->options.report, format, args);
  va_end (args);
  fputc ('\n', c->options.report);
}

static void
report_finding (Checker *c, const CheckLane *lane, const CheckCase *item, const CheckFinding *finding,
                const uint8_t *out)
{
  FILE *file = c->options.report;

  if (!may_report (c, finding->fault))
    return;
  fprintf (file, "MISMATCH %s, case %s/%u/%u\n", lane->name, c->plan, c->config_index, item->index);
  check_case_report (file, item, finding, out);
  if (c->options.command != NULL)
    fprintf (file, "  again: %s %s --seed=0x%" PRIx64 " --case=%s/%u/%u\n", c->options.command, lane->options,
             c->options.seed, c->plan, c->config_index, item->index);
  fflush (file);
}

/* ---- memory --------------------------------------------------------------------------------------- */

static void
post_clear (Post *post)
{
  if (post->block != NULL)
    post->block->free (post->block);
  else
    g_free (post->arena);
  post->block = NULL;
  post->arena = NULL;
  post->arena_size = 0;
}

static bool
post_reserve (Post *post, size_t size, SobelError *error)
{
  if (size <= post->arena_size)
    return true;
  post_clear (post);
  if (post->device->ops->host_alloc != NULL) {
    if (post->device->ops->host_alloc (post->device, size, &post->block, error) != SOBEL_STATUS_OK)
      return false;
    post->arena = post->block->data;
  } else {
    post->arena = g_malloc (size);
  }
  post->arena_size = size;
  return true;
}

static unsigned
slot_of (const Post *post, unsigned item, unsigned lane)
{
  return item * post->n_lanes + lane - post->first_lane;
}

static uint8_t *
input_of (const Checker *c, const Post *post, unsigned item)
{
  return post->arena + item * c->in_region;
}

static uint8_t *
output_of (const Checker *c, const Post *post, unsigned slot)
{
  return post->arena + c->max_batch * c->in_region + slot * c->out_region;
}

/* ---- life ----------------------------------------------------------------------------------------- */

Checker *
checker_new (const CheckLane *lanes, unsigned n_lanes, const CheckOptions *options, SobelError *error)
{
  Checker *c;
  unsigned i;

  if (n_lanes == 0 || n_lanes > CHECK_MAX_LANES) {
    sobel_error_set (error, SOBEL_STATUS_INVALID, "%u lanes; 1 to %d are possible", n_lanes, CHECK_MAX_LANES);
    return NULL;
  }
  c = g_new0 (Checker, 1);
  c->options = *options;
  c->n_lanes = n_lanes;
  memcpy (c->lane, lanes, n_lanes * sizeof *lanes);
  for (i = 0; i < n_lanes; i++) {
    if (i == 0 || lanes[i].device != lanes[i - 1].device)
      c->post[c->n_posts++] = (Post){.device = lanes[i].device, .first_lane = i};
    c->post[c->n_posts - 1].n_lanes++;
    c->max_lanes = MAX (c->max_lanes, c->post[c->n_posts - 1].n_lanes);
  }
  return c;
}

void
checker_free (Checker *c)
{
  unsigned i;

  for (i = 0; i < c->n_posts; i++)
    post_clear (&c->post[i]);
  g_free (c);
}

const CheckTotals *
checker_totals (const Checker *c)
{
  return &c->totals;
}

uint64_t
checker_seed (const Checker *c)
{
  return c->options.seed;
}

bool
checker_stopped (const Checker *c)
{
  return c->stopped;
}

/* ---- configurations ------------------------------------------------------------------------------- */

static void
show_progress (Checker *c)
{
  const uint64_t now = t_now_ns ();

  if (!c->options.progress || now - c->progress_ns < 200000000)
    return;
  c->progress_ns = now;
  fprintf (stderr, "\r%s %u: %s %dx%d   %" PRIu64 " pictures, %" PRIu64 " mismatches\033[K", c->plan, c->config_index,
           c->config.info.finfo->name, c->config.info.width, c->config.info.height, c->totals.pictures,
           c->totals.mismatches);
  fflush (stderr);
}

static SobelConfig
seam_config (const Checker *c)
{
  const GstVideoInfo *info = &c->config.info;
  SobelConfig config = {
      .in = c->in_side.format,
      .out = c->out_side.format,
      .width = info->width,
      .height = info->height,
      .full_range = info->colorimetry.range != GST_VIDEO_COLOR_RANGE_16_235,
  };

  if (!gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &config.kr, &config.kb))
    gst_video_color_matrix_get_Kr_Kb (GST_VIDEO_COLOR_MATRIX_BT601, &config.kr, &config.kb);
  return config;
}

static bool
configure (Checker *c)
{
  SobelError error = {SOBEL_STATUS_OK, ""};
  unsigned i;

  for (i = 0; i < c->n_posts; i++) {
    Post *post = &c->post[i];
    const unsigned n_slots = c->max_batch * post->n_lanes;
    const size_t size = c->max_batch * c->in_region + n_slots * c->out_region;

    if (post->device->ops->configure (post->device, &c->seam, n_slots, &error) == SOBEL_STATUS_OK &&
        post_reserve (post, size, &error))
      continue;
    checker_fail (c, "%s: %s %dx%d is refused: %s", c->lane[post->first_lane].name, c->seam.in->name, c->seam.width,
                  c->seam.height, error.message);
    return false;
  }
  return true;
}

bool
checker_begin (Checker *c, const char *plan, const CheckConfig *config)
{
  if (strcmp (plan, c->plan) != 0) {
    g_strlcpy (c->plan, plan, sizeof c->plan);
    c->plan_configs = 0;
  }
  c->config_index = c->plan_configs++;
  c->config = *config;
  if (c->stopped || !is_chosen (c, -1) || !checker_wants_format (c, config->info.finfo))
    return false;
  if (c->options.n_shards > 0 && c->config_index % c->options.n_shards != c->options.shard)
    return false;
  show_progress (c);

  check_side_init (&c->in_side, &config->info, config->info.finfo->format);
  check_side_init (&c->out_side, &config->info, config->out);
  c->in_region = c->in_side.bound;
  c->out_region = c->out_side.bound;
  c->max_batch = MAX_SLOTS / c->max_lanes;
  c->max_batch = MIN (c->max_batch, ARENA_BYTES / (c->in_region + c->max_lanes * c->out_region));
  c->max_batch = MAX (c->max_batch, 1);
  c->n_pictures = c->n_batch = 0;
  c->seam = seam_config (c);
  if (c->in_side.format == NULL || c->out_side.format == NULL)
    checker_fail (c, "%s or %s is not in the project's table", c->in_side.info->name, c->out_side.info->name);
  else if (configure (c)) {
    c->totals.configs++;
    next_picture_random (c);
    return true;
  }
  check_side_clear (&c->in_side);
  check_side_clear (&c->out_side);
  return false;
}

/* ---- pictures ------------------------------------------------------------------------------------- */

/* Memory of the host alone can be watched by a sanitizer while the device has it. */
static void
guard_item (const Checker *c, const Post *post, unsigned item, bool guard)
{
  const CheckCase *k = &c->batch[item];
  unsigned i;

  if (!c->options.guard || post->block != NULL)
    return;
  t_layout_guard (&k->in_layout, input_of (c, post, item), guard);
  for (i = post->first_lane; i < post->first_lane + post->n_lanes; i++)
    t_layout_guard (&k->out_layout, output_of (c, post, slot_of (post, item, i)), guard);
}

/* One job a lane. */
static bool
submit_item (Checker *c, const Post *post, unsigned item)
{
  const CheckCase *k = &c->batch[item];
  SobelError error = {SOBEL_STATUS_OK, ""};
  SobelJob job = {.interlaced = k->picture.interlaced, .neutral_ready = k->picture.neutral_ready};
  SobelParams params = k->picture.params;
  unsigned i;

  memcpy (input_of (c, post, item), k->input, k->in_layout.size);
  for (i = post->first_lane; i < post->first_lane + post->n_lanes; i++)
    memcpy (output_of (c, post, slot_of (post, item, i)), k->before, k->out_layout.size);
  guard_item (c, post, item, true);
  job.in = check_image (&c->in_side, &k->in_layout, input_of (c, post, item));
  for (i = post->first_lane; i < post->first_lane + post->n_lanes; i++) {
    const unsigned slot = slot_of (post, item, i);

    job.out = check_image (&c->out_side, &k->out_layout, output_of (c, post, slot));
    job.kernel = params.kernel = c->lane[i].kernel;
    sobel_recipe_init (&job.recipe, &c->seam, &params);
    if (post->device->ops->submit (post->device, slot, &job, &error) == SOBEL_STATUS_OK)
      continue;
    checker_fail (c, "%s: submit failed: %s", c->lane[i].name, error.message);
    return false;
  }
  return true;
}

/* Where the oracle allows a choice, all lanes must choose the same. */
static void
compare_lanes (const CheckCase *k, const uint8_t *first, const uint8_t *out, CheckFinding *finding)
{
  if (finding->fault == CHECK_FAULT_NONE && memcmp (first, out, k->out_layout.size) != 0)
    finding->fault = CHECK_FAULT_LANES;
}

/* Waits for all lanes. */
static bool
finish_item (Checker *c, const Post *post, unsigned item)
{
  SobelError error = {SOBEL_STATUS_OK, ""};
  unsigned i;

  for (i = post->first_lane; i < post->first_lane + post->n_lanes; i++) {
    if (post->device->ops->wait (post->device, slot_of (post, item, i), WAIT_NS, &error) == SOBEL_STATUS_OK)
      continue;
    checker_fail (c, "%s: case %s/%u/%u does not finish: %s", c->lane[i].name, c->plan, c->config_index,
                  c->batch[item].index, error.message);
    return false;
  }
  return true;
}

static void
compare_item (Checker *c, const Post *post, unsigned item)
{
  const CheckCase *k = &c->batch[item];
  const uint8_t *first = output_of (c, &c->post[0], slot_of (&c->post[0], item, 0));
  unsigned i;

  for (i = post->first_lane; i < post->first_lane + post->n_lanes; i++) {
    const uint8_t *out = output_of (c, post, slot_of (post, item, i));
    CheckFinding finding = check_case_compare (k, input_of (c, post, item), out);

    c->totals.pictures++;
    c->totals.samples += check_samples (k);
    compare_lanes (k, first, out, &finding);
    if (finding.fault != CHECK_FAULT_NONE)
      report_finding (c, &c->lane[i], k, &finding, out);
  }
}

static void
run_batch (Checker *c)
{
  unsigned item, p;
  bool alive = true;

  for (item = 0; item < c->n_batch; item++)
    for (p = 0; p < c->n_posts && alive; p++)
      alive = submit_item (c, &c->post[p], item);
  for (item = 0; item < c->n_batch; item++) {
    if (alive)
      check_case_solve (&c->batch[item]);
    for (p = 0; p < c->n_posts && alive; p++)
      alive = finish_item (c, &c->post[p], item);
    for (p = 0; p < c->n_posts; p++)
      guard_item (c, &c->post[p], item, false);
    for (p = 0; p < c->n_posts && alive; p++)
      compare_item (c, &c->post[p], item);
    check_case_clear (&c->batch[item]);
  }
  c->n_batch = 0;
  /* A device that failed is lost: nothing more can be said. */
  if (!alive)
    c->stopped = true;
  show_progress (c);
}

TRandom *
checker_random (Checker *c)
{
  return &c->random;
}

void
checker_picture (Checker *c, const CheckPicture *picture)
{
  const unsigned index = c->n_pictures++;
  TRandom random = c->random;

  next_picture_random (c);
  if (c->stopped || !is_chosen (c, index))
    return;
  check_case_init (&c->batch[c->n_batch++], &c->config, &c->in_side, &c->out_side, picture, index, &random);
  if (c->n_batch == c->max_batch)
    run_batch (c);
}

void
checker_end (Checker *c)
{
  run_batch (c);
  check_side_clear (&c->in_side);
  check_side_clear (&c->out_side);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of the textbook's questions, each answered by kernels that differ in one thing only, and of one of our own: into
 * how many rows a warp the fast kernels cut a picture. All are held against the CPU backend; a root that is not exact
 * is timed too, and its row says how many samples differ. */
#include "benchgpu.h"

#include "gpupicture.h"
#include "gputime.h"
#include "trials.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Trial
{
  const char *question, *answer;
  enum { UNROLL, ROOT, TWO_PASSES, ONE_PASS, ONE_PASS_TILE, ELEMENT } kind;
  int setting;
  dim3 block;
  bool inexact; /* bytes may differ */
} Trial;

static const Trial gray_trials[] = {
    {"unroll", "#pragma unroll 1", UNROLL, 1, {32, 8, 1}, false},
    {"unroll", "#pragma unroll 3", UNROLL, 3, {32, 8, 1}, false},
    {"unroll", "#pragma unroll 9", UNROLL, 9, {32, 8, 1}, false},
    {"block shape", "8x8", UNROLL, 9, {8, 8, 1}, false},
    {"block shape", "16x16", UNROLL, 9, {16, 16, 1}, false},
    {"block shape", "32x4", UNROLL, 9, {32, 4, 1}, false},
    {"block shape", "32x8", UNROLL, 9, {32, 8, 1}, false},
    {"block shape", "32x16", UNROLL, 9, {32, 16, 1}, false},
    {"block shape", "32x32", UNROLL, 9, {32, 32, 1}, false},
    {"block shape", "64x4", UNROLL, 9, {64, 4, 1}, false},
    {"block shape", "128x2", UNROLL, 9, {128, 2, 1}, false},
    {"block shape", "256x1", UNROLL, 9, {256, 1, 1}, false},
    {"root", "sqrtf, rounded", ROOT, TRIAL_ROOT_ROUNDED, {32, 8, 1}, false},
    {"root", "sqrt.approx of n + 1/2", ROOT, TRIAL_ROOT_APPROXIMATE, {32, 8, 1}, false},
    {"root", "n rsqrtf (n)", ROOT, TRIAL_ROOT_RECIPROCAL, {32, 8, 1}, true},
    {"root", "rsqrtf of n + 1/2", ROOT, TRIAL_ROOT_RECIPROCAL_HALF, {32, 8, 1}, false},
    {"root", "double", ROOT, TRIAL_ROOT_DOUBLE, {32, 8, 1}, false},
    {"root", "the element", ELEMENT, 0, {0, 0, 0}, false},
};

static const Trial rgb_trials[] = {
    {"passes", "gray pass, Sobel pass", TWO_PASSES, 0, {0, 0, 0}, false},
    {"passes", "one pass, luma nine times", ONE_PASS, 0, {0, 0, 0}, false},
    {"passes", "one pass, luma once in a tile", ONE_PASS_TILE, 0, {0, 0, 0}, false},
    {"passes", "the element", ELEMENT, 0, {0, 0, 0}, false},
};

typedef struct Run
{
  const Trial *trial;
  GpuPicture *p;
  TrialPicture picture;
} Run;

static cudaError_t
launch (void *user, cudaStream_t stream)
{
  const Run *run = user;
  const Trial *t = run->trial;

  switch (t->kind) {
    case UNROLL:
      return trial_unroll (&run->picture, t->setting, t->block, stream);
    case ROOT:
      return trial_root (&run->picture, (TrialRoot) t->setting, stream);
    case TWO_PASSES:
      return trial_two_passes (&run->picture, stream);
    case ONE_PASS:
      return trial_one_pass (&run->picture, stream);
    case ONE_PASS_TILE:
      return trial_one_pass_tile (&run->picture, stream);
    default:
      return gpu_picture_element (run->p, stream);
  }
}

static bool
run_trials (const char *format, const Trial *trials, unsigned n, int32_t width, int32_t height)
{
  const SobelConfig config = rig_config (format, false, width, height, true);
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  bool ok = true;
  SobelError error;
  GpuPicture p;
  unsigned i;

  if (!gpu_picture_init (&p, &config, &params, &error)) {
    row_absent (format, error.message);
    gpu_picture_clear (&p);
    return true;
  }
  for (i = 0; i < n; i++) {
    Run run = {&trials[i], &p, {p.in, p.out, (uint8_t *) p.scratch.luma, width, height}};
    const int64_t wrong = gpu_picture_wrong (&p, launch, &run);
    char label[160], size[24];
    GpuTime time;

    snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
    snprintf (label, sizeof label, "%s: %s, %s %s", trials[i].question, trials[i].answer, format, size);
    if (wrong < 0 || (wrong > 0 && !trials[i].inexact) || gpu_time_steady (launch, &run, &time) != cudaSuccess) {
      row_absent (label, wrong > 0 ? "bytes differ from the CPU backend's" : "it did not run");
      ok = false;
      continue;
    }
    row_begin (label);
    row_text ("group", trials[i].question);
    row_text ("answer", trials[i].answer);
    row_text ("format", format);
    row_text ("size", size);
    row_time (&time);
    row_number ("wrong_bytes", (double) wrong);
    row_end ();
  }
  gpu_picture_clear (&p);
  return ok;
}

/* ---- shares --------------------------------------------------------------------------------------- */

typedef struct Share
{
  GpuPicture *p;
  SobelFastKind kind;
  SobelFastShape shape;
} Share;

static cudaError_t
launch_share (void *user, cudaStream_t stream)
{
  const Share *share = user;

  return sobel_cuda_fast (&share->p->picture, share->kind, share->shape, stream);
}

static bool
share_row (Share *share, const char *format, int32_t width, int32_t height, bool chosen)
{
  const int64_t wrong = gpu_picture_wrong (share->p, launch_share, share);
  char label[96], answer[32], size[24], group[32];
  GpuTime time;

  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  snprintf (group, sizeof group, "rows a warp, %s", format);
  snprintf (answer, sizeof answer, "%s%" PRId32 " rows", chosen ? "the element: " : "", share->shape.rows);
  snprintf (label, sizeof label, "%s: %s, %s", group, answer, size);
  if (wrong != 0 || gpu_time_steady (launch_share, share, &time) != cudaSuccess) {
    row_absent (label, wrong > 0 ? "bytes differ from the CPU backend's" : "it did not run");
    return false;
  }
  row_begin (label);
  row_text ("group", group);
  row_text ("answer", answer);
  row_text ("format", format);
  row_text ("size", size);
  row_time (&time);
  row_number ("wrong_bytes", 0);
  row_end ();
  return true;
}

static bool
run_shares (const char *format, int32_t width, int32_t height)
{
  static const int32_t rows[] = {4, 8, 12, 16, 24, 33, 48, 64, 0};
  const SobelConfig config = rig_config (format, false, width, height, true);
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  bool ok = true;
  SobelError error;
  GpuPicture p;
  unsigned i;

  if (!gpu_picture_init (&p, &config, &params, &error)) {
    row_absent (format, error.message);
    gpu_picture_clear (&p);
    return true;
  }
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Share share = {&p, sobel_cuda_fast_kind (&p.picture), {rows[i]}};

    if (rows[i] == 0)
      share.shape = sobel_cuda_fast_shape (&p.picture, share.kind, p.multiprocessors);
    ok &= share_row (&share, format, width, height, rows[i] == 0);
  }
  gpu_picture_clear (&p);
  return ok;
}

bool
bench_trial_rows (const BenchOptions *options)
{
  /* Rows of both pictures are tight: widths are multiples of 16. */
  const int32_t width = options->quick ? 1920 : 3840, height = options->quick ? 1080 : 2160;
  bool ok = run_trials ("GRAY8", gray_trials, sizeof gray_trials / sizeof gray_trials[0], width, height);

  ok &= run_trials ("RGB", rgb_trials, sizeof rgb_trials / sizeof rgb_trials[0], width, height);
  ok &= run_shares ("GRAY8", 2 * width, 2 * height);
  ok &= run_shares ("RGB", width, height);
  return ok;
}

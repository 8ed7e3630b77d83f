/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of frames through the device, without GStreamer: how many by slots and streams, one alone by strips, one after
 * a pause. */
#include "benchgpu.h"

#include "../gpu/cudarig.h"
#include "gputime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 31, MAX_SLOTS = 8 };

static const uint64_t WAIT_NS = 5000000000u;

/* One frame through slot 0, held against the CPU backend. */
static bool
is_right (const Rig *rig, const SobelJob *ready)
{
  const SobelDeviceOps *ops = rig->device->ops;
  SobelJob job = *ready;
  uint8_t *expected = malloc (rig->out_size);
  SobelError error;
  bool right;

  job.neutral_ready = false; /* chroma, too */
  right = expected && rig_expected (rig, &job, expected) &&
          ops->submit (rig->device, 0, &job, &error) == SOBEL_STATUS_OK &&
          ops->wait (rig->device, 0, WAIT_NS, &error) == SOBEL_STATUS_OK &&
          memcmp (rig_out (rig, 0), expected, rig_picture_size (rig->config.out, rig->config.width,
                                                               rig->config.height)) == 0;
  free (expected);
  return right;
}

/* A device with a job for each slot. False, with a row that says why, where there is none or it computes wrongly. */
static bool
open_rig (Rig *rig, const char *label, const SobelConfig *config, unsigned streams, unsigned strips, unsigned slots,
          SobelJob *jobs)
{
  const SobelCudaOptions options = {.device_id = -1, .streams = streams, .strips = strips};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  TRandom random = t_random (1, slots);
  SobelDevice *device = NULL;
  SobelError error;
  unsigned n;

  memset (rig, 0, sizeof *rig);
  if (sobel_cuda_device_new (&options, &device, &error) != SOBEL_STATUS_OK ||
      !rig_init (rig, device, config, slots, &error)) {
    row_absent (label, error.message);
    return false;
  }
  for (n = 0; n < slots; n++) {
    if (n == 0)
      t_random_fill (&random, rig_in (rig, n), rig->in_size);
    else
      memcpy (rig_in (rig, n), rig_in (rig, 0), rig->in_size);
    jobs[n] = rig_job (rig, n, &params);
    jobs[n].neutral_ready = true;
  }
  if (is_right (rig, &jobs[0]))
    return true;
  row_absent (label, "the frame is not the CPU backend's, or failed");
  return false;
}

/* Microseconds a frame, one thread that always waits for the oldest slot; negative on failure. */
static double
run_ring (Rig *rig, const SobelJob *jobs, unsigned n_frames)
{
  const SobelDeviceOps *ops = rig->device->ops;
  SobelError error;
  uint64_t start = t_now_ns ();
  unsigned n;

  for (n = 0; n < n_frames + rig->n_slots; n++) {
    const unsigned slot = n % rig->n_slots;

    if (n >= rig->n_slots && ops->wait (rig->device, slot, WAIT_NS, &error) != SOBEL_STATUS_OK)
      return -1;
    if (n < n_frames && ops->submit (rig->device, slot, &jobs[slot], &error) != SOBEL_STATUS_OK)
      return -1;
  }
  return (double) (t_now_ns () - start) / 1000.0 / n_frames;
}

static void
begin_frame_row (const char *label, const char *group, const char *format, const char *size)
{
  row_begin (label);
  row_text ("group", group);
  row_text ("format", format);
  row_text ("size", size);
}

/* Ends the rig; says so where it was open and a frame failed. */
static bool
close_rig (Rig *rig, const char *label, bool opened, bool ok)
{
  if (opened && !ok)
    row_absent (label, "a frame failed, or did not finish");
  rig_clear (rig);
  return ok;
}

static bool
ring_row (const char *format, int32_t width, int32_t height, unsigned slots, unsigned streams)
{
  enum { RUNS = 7 };
  const SobelConfig config = rig_config (format, false, width, height, false);
  const unsigned n = (unsigned) (4e8 / ((double) width * height * (strcmp (format, "RGB") == 0 ? 3 : 1)));
  double us[RUNS];
  SobelJob jobs[MAX_SLOTS];
  char label[96], size[24];
  bool opened, ok;
  unsigned i;
  Rig rig;

  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  snprintf (label, sizeof label, "ring %s %s, %u slots, %u streams", format, size, slots, streams ? streams : slots);
  opened = open_rig (&rig, label, &config, streams, 1, slots, jobs);
  ok = opened && run_ring (&rig, jobs, n / 4) > 0;
  for (i = 0; i < RUNS && ok; i++) {
    us[i] = run_ring (&rig, jobs, n);
    ok = us[i] > 0;
  }
  if (ok) {
    const GpuTime time = gpu_time_of (us, RUNS);

    begin_frame_row (label, "ring", format, size);
    row_number ("slots", slots);
    row_number ("streams", streams ? streams : slots);
    row_time (&time);
    row_number ("fps", 1e6 / time.median_us);
    row_end ();
  }
  return close_rig (&rig, label, opened, ok);
}

static bool
frame_row (const char *format, int32_t width, int32_t height, unsigned strips)
{
  const SobelConfig config = rig_config (format, false, width, height, false);
  double us[SAMPLES];
  SobelJob jobs[MAX_SLOTS];
  char label[96], size[24];
  bool opened, ok;
  int i;
  Rig rig;

  snprintf (size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  snprintf (label, sizeof label, "one frame %s %s, strips %u", format, size, strips);
  ok = opened = open_rig (&rig, label, &config, 0, strips, 4, jobs);
  for (i = -3; i < SAMPLES && ok; i++) {
    const double one = run_ring (&rig, jobs, 1);

    ok = one > 0;
    if (i >= 0)
      us[i] = one;
  }
  if (ok) {
    const GpuTime time = gpu_time_of (us, SAMPLES);

    begin_frame_row (label, "one frame", format, size);
    row_number ("strips", strips);
    row_time (&time);
    row_end ();
  }
  return close_rig (&rig, label, opened, ok);
}

/* ---- a frame now and then ------------------------------------------------------------------------- */

enum { PAUSE_NS = 16000000 };

typedef enum Before { BACK_TO_BACK, AWAKE, ASLEEP, N_BEFORE } Before;

static void
pause_before (Before before)
{
  const uint64_t end = t_now_ns () + PAUSE_NS;
  const struct timespec nap = {0, PAUSE_NS};

  if (before == ASLEEP)
    nanosleep (&nap, NULL);
  while (before != BACK_TO_BACK && t_now_ns () < end)
    ;
}

/* What a frame takes when host and GPU had nothing to do before: until submit returns, and until it is done. */
static bool
live_row (const char *format, unsigned strips, Before before)
{
  static const char *const name[N_BEFORE] = {"back to back", "16 ms awake", "16 ms asleep"};
  const SobelConfig config = rig_config (format, false, 1920, 1080, false);
  double submit[SAMPLES], done[SAMPLES];
  SobelJob jobs[MAX_SLOTS];
  SobelError error;
  char label[96];
  bool opened, ok;
  unsigned i;
  Rig rig;

  snprintf (label, sizeof label, "live %s 1920x1080, strips %u, %s", format, strips, name[before]);
  opened = open_rig (&rig, label, &config, 0, strips, 1, jobs);
  ok = opened && run_ring (&rig, jobs, 3) > 0; /* the first ones set things up */
  for (i = 0; i < SAMPLES && ok; i++) {
    const SobelDeviceOps *ops = rig.device->ops;
    uint64_t start;

    pause_before (before);
    start = t_now_ns ();
    ok = ops->submit (rig.device, 0, &jobs[0], &error) == SOBEL_STATUS_OK;
    submit[i] = (double) (t_now_ns () - start) / 1000.0;
    ok = ok && ops->wait (rig.device, 0, WAIT_NS, &error) == SOBEL_STATUS_OK;
    done[i] = (double) (t_now_ns () - start) / 1000.0;
  }
  if (ok) {
    const GpuTime until_submitted = gpu_time_of (submit, SAMPLES), until_done = gpu_time_of (done, SAMPLES);

    begin_frame_row (label, "a frame now and then", format, "1920x1080");
    row_text ("before", name[before]);
    row_number ("strips", strips);
    row_number ("submit_us", until_submitted.median_us);
    row_time (&until_done);
    row_end ();
  }
  return close_rig (&rig, label, opened, ok);
}

bool
bench_frame_rows (const BenchOptions *options)
{
  static const unsigned slots[] = {1, 2, 3, 4, 8}, streams[] = {1, 2, 3}, strips[] = {1, 2, 4, 8, 16, 32, 0};
  bool ok = true;
  unsigned i, k;

  for (i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    if (options->quick && slots[i] != 1 && slots[i] != 4)
      continue;
    ok &= ring_row ("I420", 1920, 1080, slots[i], 0);
    ok &= ring_row ("RGB", 1920, 1080, slots[i], 0);
    ok &= ring_row ("RGB", 3840, 2160, slots[i], 0);
  }
  for (i = 0; i < sizeof streams / sizeof streams[0]; i++) {
    ok &= ring_row ("I420", 1920, 1080, 4, streams[i]);
    ok &= ring_row ("RGB", 1920, 1080, 4, streams[i]);
  }
  for (i = 0; i < sizeof strips / sizeof strips[0]; i++) {
    if (options->quick && strips[i] > 1)
      continue;
    ok &= frame_row ("I420", 1920, 1080, strips[i]);
    ok &= frame_row ("RGB", 1920, 1080, strips[i]);
    ok &= frame_row ("RGB", 3840, 2160, strips[i]);
    ok &= frame_row ("RGB", 7680, 4320, strips[i]);
  }
  for (i = 0; i < N_BEFORE; i++) {
    for (k = 0; k < (options->quick ? 1u : 3u); k++) {
      ok &= live_row ("I420", strips[k], (Before) i);
      ok &= live_row ("RGB", strips[k], (Before) i);
    }
  }
  return ok;
}

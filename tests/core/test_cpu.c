/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The CPU device: every instruction set and number of threads gives the bytes of the C functions on one thread, for
 * every format and width, and writes nothing else. (That those are right is the checker's to say: tests/check.) */
#include "cpudevice.h"
#include "sobelarith.h"
#include "testutil.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 96, MAX_DEVICES = 8 };

typedef struct Picture
{
  SobelImage image;
  uint8_t *memory;
  size_t size;
} Picture;

typedef struct Lane
{
  SobelDevice *device;
  char name[128];
} Lane;

static Lane lanes[MAX_DEVICES];
static unsigned n_lanes;

/* Rows of random length, and random bytes all over. */
static void
picture_init (Picture *p, const SobelFormat *format, int32_t width, int32_t height, bool interlaced)
{
  size_t offset[SOBEL_MAX_PLANES];
  unsigned i;
  size_t k;

  p->image = (SobelImage){.format = format, .width = width, .height = height};
  p->size = GUARD;
  for (i = 0; i < format->n_planes; i++) {
    SobelPlane *plane = &p->image.plane[i];

    plane->stride = (ptrdiff_t) (sobel_image_row_bytes (format, i, width) + t_chance () % 3 * (t_chance () % 20));
    plane->rows = sobel_image_plane_rows (format, i, height);
    if (interlaced && plane->rows < height)
      plane->rows = (plane->rows + 1) / 2 * 2;
    offset[i] = p->size;
    p->size += (size_t) plane->stride * (size_t) plane->rows + GUARD;
  }
  p->memory = malloc (p->size);
  if (!p->memory)
    abort ();
  for (i = 0; i < format->n_planes; i++)
    p->image.plane[i].data = p->memory + offset[i];
  for (k = 0; k < p->size; k++)
    p->memory[k] = (uint8_t) (t_chance () >> 9);
}

/* The same layout, other memory, the same bytes. */
static Picture
picture_copy (const Picture *p)
{
  Picture copy = *p;
  unsigned i;

  copy.memory = malloc (p->size);
  if (!copy.memory)
    abort ();
  memcpy (copy.memory, p->memory, p->size);
  for (i = 0; i < p->image.format->n_planes; i++)
    copy.image.plane[i].data = copy.memory + (p->image.plane[i].data - p->memory);
  return copy;
}

static void
add_lane (unsigned isa, unsigned n_threads)
{
  Lane *lane = &lanes[n_lanes++];
  SobelDeviceInfo info;
  SobelError error = {SOBEL_STATUS_OK, ""};

  sobel_cpu_set_isa_mask (isa);
  T_CHECK (sobel_cpu_device_new (n_threads, &lane->device, &error) == SOBEL_STATUS_OK, "%s", error.message);
  sobel_cpu_set_isa_mask (~0u);
  lane->device->ops->info (lane->device, &info);
  memcpy (lane->name, info.name, sizeof lane->name);
  printf ("%s (%s)\n", info.name, info.kernel);
}

static SobelParams
draw_params (bool gray_out)
{
  static const double gains[] = {1, 1, 1, 0.25, 1.7, 0, 1000};
  SobelParams p = SOBEL_PARAMS_DEFAULT;

  p.op = (SobelOperator) (t_chance () % 3);
  p.gradient = t_chance () % 2 ? SOBEL_GRADIENT_BOTH : (SobelGradient) (t_chance () % 3);
  p.norm = (SobelNorm) (t_chance () % 2);
  p.border = (SobelBorder) (t_chance () % 4);
  p.precision = (SobelPrecision) (t_chance () % 2);
  p.luma = (SobelLuma) (t_chance () % 3);
  p.mode = (SobelMode) (t_chance () % (gray_out ? 5 : 4));
  p.invert = t_chance () % 4 == 0;
  p.gain = gains[t_chance () % 7];
  p.threshold = t_chance () % 2 ? 0 : (t_chance () % 1001) / 1000.0;
  p.overlay_color = t_chance ();
  return p;
}

static void
run (const Lane *lane, const SobelConfig *config, const SobelJob *job)
{
  const SobelDeviceOps *ops = lane->device->ops;
  SobelTiming timing = {1, 0, 1};
  SobelError error = {SOBEL_STATUS_OK, ""};

  T_CHECK (ops->configure (lane->device, config, 2, &error) == SOBEL_STATUS_OK, "%s: %s", lane->name, error.message);
  T_CHECK (ops->submit (lane->device, 1, job, &error) == SOBEL_STATUS_OK, "%s: %s", lane->name, error.message);
  T_CHECK (ops->wait (lane->device, 1, 0, &error) == SOBEL_STATUS_OK, "%s: %s", lane->name, error.message);
  ops->timing (lane->device, 1, &timing);
  T_CHECK (timing.upload_ns == 0 && timing.kernel_ns > 0 && timing.download_ns == 0, "%s: timing", lane->name);
}

static void
compare_lanes (const SobelFormat *in, const SobelFormat *out, int32_t width, int32_t height)
{
  const bool interlaced = t_chance () % 3 == 0;
  const SobelConfig config = {in, out, width, height, t_chance () % 2, 0.2126, 0.0722};
  const SobelParams params = draw_params (in != out);
  Picture from, untouched, to, expected = {.memory = NULL};
  SobelJob job = {.interlaced = interlaced, .neutral_ready = t_chance () % 2};
  unsigned i;

  picture_init (&from, in, width, height, interlaced);
  picture_init (&to, out, width, height, interlaced);
  untouched = picture_copy (&from);
  sobel_recipe_init (&job.recipe, &config, &params);
  for (i = 0; i < n_lanes; i++) {
    Picture got = picture_copy (&to);

    job.in = from.image;
    job.out = got.image;
    run (&lanes[i], &config, &job);
    if (i == 0) {
      expected = got;
      continue;
    }
    T_CHECK (memcmp (got.memory, expected.memory, got.size) == 0,
             "%s to %s, %dx%d, mode %d operator %d gradient %d norm %d border %d precision %d gain %g: %s differs",
             in->name, out->name, width, height, params.mode, params.op, params.gradient, params.norm, params.border,
             params.precision, params.gain, lanes[i].name);
    free (got.memory);
  }
  T_CHECK (memcmp (from.memory, untouched.memory, from.size) == 0, "%s: the input was written", in->name);
  free (from.memory);
  free (to.memory);
  free (untouched.memory);
  free (expected.memory);
}

static void
check_formats (void)
{
  const SobelFormat *format;
  unsigned n;

  for (n = 0; (format = sobel_format_nth (n)) != NULL; n++) {
    const SobelFormat *gray = sobel_format_find (sobel_format_depth (format) > 8 ? "GRAY16_LE" : "GRAY8");
    int32_t width;

    for (width = 1; width <= 70; width++)
      compare_lanes (format, width % 5 ? format : gray, width, 1 + (int32_t) (t_chance () % 6));
    compare_lanes (format, format, 131 + (int32_t) (t_chance () % 200), 7);
    /* Worth several bands; in fields, an odd number of rows. */
    compare_lanes (format, format, 333, 201 + (int32_t) (t_chance () % 4));
    compare_lanes (format, gray, 517, 131);
  }
}

/* Planes of neutral chroma that are said to be ready stay as they are, and others are filled. */
static void
check_neutral (void)
{
  const SobelFormat *format = sobel_format_find ("NV12");
  const SobelConfig config = {format, format, 16, 6, false, 0.299, 0.114};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  unsigned ready, i;

  for (ready = 0; ready < 2; ready++) {
    SobelJob job = {.neutral_ready = ready};
    Picture from, to;
    bool same = true, neutral = true;

    picture_init (&from, format, 16, 6, false);
    picture_init (&to, format, 16, 6, false);
    memset (to.memory, 0x5a, to.size);
    job.in = from.image;
    job.out = to.image;
    sobel_recipe_init (&job.recipe, &config, &params);
    run (&lanes[0], &config, &job);
    for (i = 0; i < 16; i++) {
      same = same && to.image.plane[1].data[i] == 0x5a;
      neutral = neutral && to.image.plane[1].data[i] == 128;
    }
    T_CHECK (ready ? same : neutral, "neutral_ready %u", ready);
    free (from.memory);
    free (to.memory);
  }
}

static void
check_misuse (void)
{
  const SobelFormat *format = sobel_format_find ("I420"), *other = sobel_format_find ("YV12");
  const SobelConfig config = {format, format, 16, 6, false, 0.299, 0.114};
  const SobelParams params = SOBEL_PARAMS_DEFAULT;
  const SobelDeviceOps *ops;
  SobelConfig bad = config;
  SobelDevice *device = NULL;
  SobelError error = {SOBEL_STATUS_OK, ""};
  SobelDeviceInfo info;
  SobelJob job = {.kernel = SOBEL_KERNEL_AUTO}, wrong;
  Picture from, to;

  T_CHECK (sobel_cpu_device_new (3, &device, &error) == SOBEL_STATUS_OK, "%s", error.message);
  ops = device->ops;
  picture_init (&from, format, 16, 6, false);
  picture_init (&to, format, 16, 6, false);
  job.in = from.image;
  job.out = to.image;
  sobel_recipe_init (&job.recipe, &config, &params);
  T_CHECK (strcmp (ops->kind, "cpu") == 0 && ops->host_alloc == NULL, "kind");
  ops->info (device, &info);
  T_CHECK (strstr (info.name, "3 threads") != NULL && info.device_bytes == 0 && info.kernel[0], "%s", info.name);

  T_CHECK (ops->submit (device, 0, &job, &error) == SOBEL_STATUS_INVALID && error.message[0], "not configured");
  bad.width = 0;
  T_CHECK (ops->configure (device, &bad, 1, &error) == SOBEL_STATUS_INVALID, "width 0");
  T_CHECK (ops->configure (device, &config, 0, NULL) == SOBEL_STATUS_INVALID, "no slots");
  T_CHECK (ops->configure (device, &config, 17, &error) == SOBEL_STATUS_INVALID, "17 slots");
  T_CHECK (ops->submit (device, 0, &job, &error) == SOBEL_STATUS_INVALID, "configured by a failed call");
  T_CHECK (ops->configure (device, &config, 2, &error) == SOBEL_STATUS_OK, "%s", error.message);
  T_CHECK (ops->submit (device, 2, &job, &error) == SOBEL_STATUS_INVALID, "slot 2 of 2");
  wrong = job;
  wrong.in.width = 17;
  T_CHECK (ops->submit (device, 0, &wrong, &error) == SOBEL_STATUS_INVALID, "another width");
  wrong = job;
  wrong.out.format = other;
  T_CHECK (ops->submit (device, 0, &wrong, &error) == SOBEL_STATUS_INVALID, "another format");
  wrong = job;
  wrong.out.memory = SOBEL_MEMORY_DEVICE;
  T_CHECK (ops->submit (device, 0, &wrong, &error) == SOBEL_STATUS_INVALID, "device memory");
  wrong = job;
  wrong.in.plane[2].rows = 2;
  T_CHECK (ops->submit (device, 0, &wrong, &error) == SOBEL_STATUS_INVALID, "too few rows");
  wrong = job;
  wrong.out.plane[0].data = NULL;
  T_CHECK (ops->submit (device, 0, &wrong, &error) == SOBEL_STATUS_INVALID, "no memory");
  T_CHECK (ops->submit (device, 0, &job, &error) == SOBEL_STATUS_OK, "%s", error.message);
  T_CHECK (ops->wait (device, 0, 0, &error) == SOBEL_STATUS_OK, "%s", error.message);
  T_CHECK (ops->destroy (device), "destroyed");
  free (from.memory);
  free (to.memory);
}

int
main (void)
{
  const unsigned available = sobel_cpu_isa_available ();
  unsigned isa, i;

  add_lane (0, 1);
  for (isa = 1; isa <= available; isa <<= 1) {
    if (isa & available)
      add_lane (isa, 1);
  }
  add_lane (~0u, 3);
  check_formats ();
  check_neutral ();
  check_misuse ();
  for (i = 0; i < n_lanes; i++)
    T_CHECK (lanes[i].device->ops->destroy (lanes[i].device), "destroyed");
  return t_result ();
}

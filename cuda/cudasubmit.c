/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One frame's way: planes up, kernels, planes down, all queued on the slot's stream. A large frame that has the GPU for
 * itself goes in strips, its stages on a stream each, so that its first rows are on their way back while its last ones
 * still come up. (Strips on a stream each would not do: their uploads share the bus and all end together.) */
#include "cudaslot.h"

#include "cudacheck.h"

#include <inttypes.h>
#include <string.h>

typedef struct Work
{
  SobelCudaDevice *device;
  SobelCudaSlot *slot;
  const SobelJob *job;
  uint8_t in_use[SOBEL_MAX_PLANES], out_use[SOBEL_MAX_PLANES];
  SobelImage in, out; /* in device memory */
  bool in_one_piece, out_one_piece; /* one copy takes all planes */
  unsigned n_strips;
  cudaStream_t up, middle, down; /* of the stages; one and the same for a frame in one piece */
} Work;

/* A strip's rows. */
typedef struct Strip
{
  int32_t upload_from, upload_to; /* of luma; one row later than those made, for their neighbours below */
  int32_t from, to;               /* of luma, to make */
  bool last;
} Strip;

/* ---- the picture in device memory ----------------------------------------------------------------- */

static bool
image_fits (const SobelConfig *config, const SobelImage *image, const SobelFormat *format)
{
  unsigned i;

  if (image->format != format || image->width != config->width || image->height != config->height)
    return false;
  for (i = 0; i < format->n_planes; i++) {
    if (!image->plane[i].data || image->plane[i].rows < sobel_image_plane_rows (format, i, image->height))
      return false;
  }
  return true;
}

/* Whether an image in host memory is one piece without padding, all of which crosses the bus: then one copy takes it,
 * and the slot holds its planes as close together as they are there. Three copies for the planes of 1080p I420 cost a
 * seventh of the bus's rate. */
static bool
is_one_piece (const SobelImage *image, const SobelCudaLayout *layout, const uint8_t *use, uint8_t wanted)
{
  unsigned i;

  if (image->memory != SOBEL_MEMORY_HOST || image->format->n_planes < 2)
    return false;
  for (i = 0; i < image->format->n_planes; i++) {
    const SobelPlane *plane = &image->plane[i];

    if (!(use[i] & wanted) || plane->rows != sobel_image_plane_rows (image->format, i, image->height))
      return false;
    if ((size_t) plane->stride != layout->row_bytes[i] || layout->pitch[i] != layout->row_bytes[i])
      return false;
    if (i > 0 && plane->data != plane[-1].data + plane[-1].stride * plane[-1].rows)
      return false;
  }
  return true;
}

/* Where the image's samples are for the kernels: in place, or in the slot. Rows that the slot has no room for are not
 * those of the picture. */
static SobelImage
device_image (const SobelImage *image, const SobelCudaLayout *layout, bool one_piece, uint8_t *memory)
{
  SobelImage on_device = *image;
  unsigned i;

  for (i = 0; i < image->format->n_planes; i++) {
    SobelPlane *plane = &on_device.plane[i];

    if (plane->rows > layout->rows[i])
      plane->rows = layout->rows[i];
    if (image->memory == SOBEL_MEMORY_DEVICE)
      continue;
    plane->data = memory + (one_piece ? layout->offset[0] + (size_t) (image->plane[i].data - image->plane[0].data)
                                      : layout->offset[i]);
    plane->stride = (ptrdiff_t) layout->pitch[i];
  }
  return on_device;
}

/* ---- copies --------------------------------------------------------------------------------------- */

/* Rows of a plane from one memory to another, padding left alone where it is written. */
static SobelStatus
copy_rows (const SobelPlane *to, const SobelPlane *from, size_t row_bytes, int32_t first, int32_t end,
           enum cudaMemcpyKind kind, cudaStream_t stream, SobelError *error)
{
  uint8_t *out = to->data + first * to->stride;
  const uint8_t *in = from->data + first * from->stride;
  const size_t rows = end > first ? (size_t) (end - first) : 0;

  if (rows == 0)
    return SOBEL_STATUS_OK;
  if (to->stride == from->stride &&
      ((size_t) to->stride == row_bytes || (to->stride > 0 && kind == cudaMemcpyHostToDevice)))
    SOBEL_CUDA_CHECK (error,
                      cudaMemcpyAsync (out, in, (size_t) to->stride * (rows - 1) + row_bytes, kind, stream),
                      "%zu rows of %zu bytes", rows, row_bytes);
  else
    SOBEL_CUDA_CHECK (error,
                      cudaMemcpy2DAsync (out, (size_t) to->stride, in, (size_t) from->stride, row_bytes, rows, kind,
                                         stream),
                      "%zu rows of %zu bytes", rows, row_bytes);
  return SOBEL_STATUS_OK;
}

/* The strip's part of a plane's rows; subsampled planes go by the strip's own rows, for none of them has neighbours. */
static void
plane_part (const Work *w, const SobelFormat *format, unsigned plane, int32_t rows, const Strip *strip, bool up,
            int32_t *first, int32_t *end)
{
  const unsigned h_sub = sobel_cuda_plane_h_sub (format, plane);
  const int32_t from = up && h_sub == 0 ? strip->upload_from : strip->from;
  const int32_t to = up && h_sub == 0 ? strip->upload_to : strip->to;
  const int32_t all = h_sub == 0 ? w->job->in.height : rows;

  *first = from >> h_sub;
  *end = strip->last ? all : to >> h_sub;
}

static SobelStatus
copy_piece (const SobelImage *to, const SobelImage *from, enum cudaMemcpyKind kind, cudaStream_t stream,
            SobelError *error)
{
  const SobelPlane *first = &from->plane[0], *last = &from->plane[from->format->n_planes - 1];
  const size_t size = (size_t) (last->data - first->data) + (size_t) last->stride * (size_t) last->rows;

  SOBEL_CUDA_CHECK (error, cudaMemcpyAsync (to->plane[0].data, first->data, size, kind, stream),
                    "%u planes in %zu bytes", from->format->n_planes, size);
  return SOBEL_STATUS_OK;
}

static SobelStatus
upload (const Work *w, const Strip *strip, SobelError *error)
{
  const SobelImage *from = &w->job->in;
  unsigned i;

  if (from->memory == SOBEL_MEMORY_DEVICE)
    return SOBEL_STATUS_OK;
  if (w->in_one_piece && w->n_strips == 1)
    return copy_piece (&w->in, from, cudaMemcpyHostToDevice, w->up, error);
  for (i = 0; i < from->format->n_planes; i++) {
    SobelStatus status;
    int32_t first, end;

    /* Planes to copy come up to go down again: pixels of a frame take one way only. */
    if (!(w->in_use[i] & SOBEL_PLANE_READ) && !(w->out_use[i] & SOBEL_PLANE_COPY))
      continue;
    plane_part (w, from->format, i, w->in.plane[i].rows, strip, true, &first, &end);
    status = copy_rows (&w->in.plane[i], &from->plane[i], w->device->in_layout.row_bytes[i], first, end,
                        cudaMemcpyHostToDevice, w->up, error);
    if (status != SOBEL_STATUS_OK)
      return status;
  }
  return SOBEL_STATUS_OK;
}

static SobelStatus
download (const Work *w, const Strip *strip, SobelError *error)
{
  const SobelImage *to = &w->job->out;
  const bool on_device = to->memory == SOBEL_MEMORY_DEVICE;
  unsigned i;

  if (w->out_one_piece && w->n_strips == 1)
    return copy_piece (to, &w->out, cudaMemcpyDeviceToHost, w->down, error);
  for (i = 0; i < to->format->n_planes; i++) {
    const bool copied = (w->out_use[i] & SOBEL_PLANE_COPY) != 0;
    int32_t rows = w->out.plane[i].rows, first, end;
    SobelStatus status;

    if (!copied && (on_device || !(w->out_use[i] & SOBEL_PLANE_WRITE)))
      continue;
    if (copied && w->in.plane[i].rows < rows)
      rows = w->in.plane[i].rows;
    plane_part (w, to->format, i, rows, strip, false, &first, &end);
    status = copy_rows (&to->plane[i], copied ? &w->in.plane[i] : &w->out.plane[i],
                        w->device->out_layout.row_bytes[i], first, end,
                        on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, w->down, error);
    if (status != SOBEL_STATUS_OK)
      return status;
  }
  return SOBEL_STATUS_OK;
}

/* ---- neutral chroma ------------------------------------------------------------------------------- */

/* Two bytes that repeat along a row of nothing but neutral samples. */
static void
neutral_pair (const SobelRecipe *recipe, const SobelFormat *format, unsigned plane, uint8_t pair[2])
{
  unsigned i;

  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];
    const uint32_t container = recipe->neutral << c->shift;

    if (c->plane != plane)
      continue;
    pair[0] = (uint8_t) (c->bytes > 1 && format->big_endian ? container >> 8 : container);
    pair[1] = (uint8_t) (c->bytes > 1 && !format->big_endian ? container >> 8 : container);
    return;
  }
}

static SobelStatus
make_neutral (const Work *w, cudaStream_t stream, SobelError *error)
{
  const SobelImage *image = &w->job->out;
  unsigned i;

  for (i = 0; i < image->format->n_planes; i++) {
    const SobelPlane *plane = &image->plane[i];
    const size_t row_bytes = w->device->out_layout.row_bytes[i];
    uint8_t pair[2] = {0, 0};
    int32_t y;
    size_t x;

    if (!(w->out_use[i] & SOBEL_PLANE_NEUTRAL) || w->job->neutral_ready)
      continue;
    neutral_pair (&w->job->recipe, image->format, i, pair);
    if (image->memory == SOBEL_MEMORY_DEVICE && pair[0] == pair[1]) {
      SOBEL_CUDA_CHECK (error,
                        cudaMemset2DAsync (plane->data, (size_t) plane->stride, pair[0], row_bytes,
                                           (size_t) plane->rows, stream),
                        "%" PRId32 " rows of neutral chroma", plane->rows);
      continue;
    }
    if (image->memory == SOBEL_MEMORY_DEVICE) {
      SOBEL_CUDA_CHECK (error,
                        sobel_cuda_fill (plane->data, plane->stride, row_bytes, plane->rows, pair[0], pair[1], stream),
                        "%" PRId32 " rows of neutral chroma", plane->rows);
      continue;
    }
    for (y = 0; y < plane->rows; y++) {
      uint8_t *row = plane->data + y * plane->stride;

      if (pair[0] == pair[1]) {
        memset (row, pair[0], row_bytes);
      } else {
        for (x = 0; x < row_bytes; x++)
          row[x] = pair[x & 1];
      }
    }
  }
  return SOBEL_STATUS_OK;
}

/* ---- kernels -------------------------------------------------------------------------------------- */

/* Those of cudakernels.h's ladder: several passes, over whole pictures. */
static bool
is_ladder (SobelKernel kernel)
{
  return kernel == SOBEL_KERNEL_NAIVE || kernel == SOBEL_KERNEL_CONSTANT || kernel == SOBEL_KERNEL_SHARED;
}

static SobelStatus
launch (const Work *w, SobelCudaPicture *picture, bool whole, cudaStream_t stream, SobelError *error)
{
  SobelCudaDevice *device = w->device;
  const SobelKernel kernel = w->job->kernel;
  const bool ladder = is_ladder (kernel);
  const SobelFastKind kind = ladder ? SOBEL_FAST_NONE : sobel_cuda_fast_kind (picture);
  const char *name = "fused";

  if (ladder && w->slot->scratch.luma && whole) {
    name = kernel == SOBEL_KERNEL_NAIVE ? "naive" : kernel == SOBEL_KERNEL_CONSTANT ? "constant" : "shared";
    SOBEL_CUDA_CHECK (error, sobel_cuda_ladder (picture, kernel, &w->slot->scratch, stream),
                      "kernel %s, %" PRId32 "x%" PRId32, name, picture->in.width, picture->in.height);
  } else if (kind != SOBEL_FAST_NONE) {
    const SobelFastShape shape =
        sobel_cuda_fast_shape (picture, kind, sobel_cuda_context_multiprocessors (device->context));
    SOBEL_CUDA_CHECK (error, sobel_cuda_fast (picture, kind, shape, stream), "kernel fused, %" PRId32 "x%" PRId32,
                      picture->in.width, picture->in.height);
  } else {
    SOBEL_CUDA_CHECK (error, sobel_cuda_fused (picture, stream), "kernel fused, %" PRId32 "x%" PRId32,
                      picture->in.width, picture->in.height);
  }
  atomic_store (&device->kernel, name);
  return SOBEL_STATUS_OK;
}

static SobelStatus
compute (const Work *w, const Strip *strip, SobelError *error)
{
  const unsigned n = w->job->interlaced ? 2 : 1;
  bool writes = false;
  unsigned i;

  for (i = 0; i < w->out.format->n_planes; i++)
    writes |= (w->out_use[i] & SOBEL_PLANE_WRITE) != 0;
  for (i = 0; i < n && writes; i++) {
    SobelCudaPicture picture;
    SobelStatus status;
    unsigned k;

    memset (&picture, 0, sizeof picture);
    picture.in_format = *w->in.format;
    picture.out_format = *w->out.format;
    picture.in = w->job->interlaced ? sobel_image_field (&w->in, i) : w->in;
    picture.out = w->job->interlaced ? sobel_image_field (&w->out, i) : w->out;
    picture.recipe = w->job->recipe;
    memcpy (picture.out_use, w->out_use, sizeof picture.out_use);
    for (k = 0; k < w->out.format->n_planes; k++)
      picture.out_row_bytes[k] = (uint32_t) w->device->out_layout.row_bytes[k];
    picture.first_row = strip->from;
    picture.end_row = strip->last ? sobel_cuda_picture_extent (&picture) : strip->to;
    status = launch (w, &picture, w->n_strips == 1, w->middle, error);
    if (status != SOBEL_STATUS_OK)
      return status;
  }
  return SOBEL_STATUS_OK;
}

/* ---- frames --------------------------------------------------------------------------------------- */

/* A strip more shortens what does not overlap, the first upload and the last download, to 1/n; and costs the same
 * calls each time. So the best number goes with the root of the bytes. Two strips gain nothing yet. */
static size_t
automatic_strips (size_t bytes)
{
  size_t n = 1;

  while (n < SOBEL_CUDA_MAX_STRIPS && (n + 1) * (n + 1) * sobel_cuda_tuning.strip_bytes <= bytes)
    n++;
  return n > 2 ? n : 1;
}

static unsigned
choose_strips (const Work *w)
{
  const SobelCudaDevice *device = w->device;
  const bool host = w->job->in.memory == SOBEL_MEMORY_HOST && w->job->out.memory == SOBEL_MEMORY_HOST;
  const int32_t units = (w->job->in.height + SOBEL_CUDA_ROW_UNIT - 1) / SOBEL_CUDA_ROW_UNIT;
  size_t bytes = 0, n = device->wanted_strips;
  unsigned i;

  if (!host || is_ladder (w->job->kernel) || w->job->interlaced || device->wanted_streams == 1)
    return 1;
  /* With other frames to overlap with, strips are but more calls. */
  if (n == 0 && atomic_load (&device->in_flight) > 0)
    return 1;
  for (i = 0; i < w->in.format->n_planes; i++) {
    if (w->in_use[i] & SOBEL_PLANE_READ)
      bytes += device->in_layout.row_bytes[i] * (size_t) device->in_layout.rows[i];
  }
  if (n == 0)
    n = automatic_strips (bytes);
  if (n > SOBEL_CUDA_MAX_STRIPS)
    n = SOBEL_CUDA_MAX_STRIPS;
  if (n > (size_t) units)
    n = (size_t) units;
  return n > 1 ? (unsigned) n : 1;
}

static Strip
make_strip (const Work *w, unsigned k)
{
  const int32_t height = w->job->in.height;
  const int64_t units = (height + SOBEL_CUDA_ROW_UNIT - 1) / SOBEL_CUDA_ROW_UNIT;
  Strip strip;

  strip.from = (int32_t) (units * k / w->n_strips) * SOBEL_CUDA_ROW_UNIT;
  strip.to = (int32_t) (units * (k + 1) / w->n_strips) * SOBEL_CUDA_ROW_UNIT;
  strip.last = k + 1 == w->n_strips;
  if (strip.to > height || strip.last)
    strip.to = height;
  strip.upload_from = k ? strip.from + 1 : 0;
  strip.upload_to = strip.last ? height : strip.to + 1;
  return strip;
}

/* What is put on `later` from now on waits for what is on `earlier` by now. */
static SobelStatus
order_streams (const Work *w, cudaStream_t earlier, cudaStream_t later, SobelError *error)
{
  if (earlier == later)
    return SOBEL_STATUS_OK;
  SOBEL_CUDA_CHECK (error, cudaEventRecord (w->device->order, earlier), "order of two streams");
  SOBEL_CUDA_CHECK (error, cudaStreamWaitEvent (later, w->device->order, 0), "order of two streams");
  return SOBEL_STATUS_OK;
}

static SobelStatus
mark (const Work *w, unsigned moment, cudaStream_t stream, SobelError *error)
{
  if (w->slot->timed)
    SOBEL_CUDA_CHECK (error, cudaEventRecord (w->slot->moment[moment], stream), "moment %u of a frame", moment);
  return SOBEL_STATUS_OK;
}

/* The start of a timed frame that comes from host memory: when it is submitted and the upload before its own has ended.
 * Not on the frame's stream: an event behind an earlier frame's download is queued with the downloads, behind those of
 * all frames between, and this frame's upload behind it; the bus would stand still. */
static SobelStatus
mark_start (const Work *w, SobelError *error)
{
  const SobelCudaDevice *device = w->device;

  if (!w->slot->timed || w->job->in.memory == SOBEL_MEMORY_DEVICE)
    return mark (w, SOBEL_CUDA_START, w->up, error);
  SOBEL_CUDA_CHECK (error, cudaStreamWaitEvent (device->clock, device->uploaded, 0), "the start of a frame");
  return mark (w, SOBEL_CUDA_START, device->clock, error);
}

/* The end of an upload, where the next frame's start is of interest. */
static SobelStatus
mark_upload (const Work *w, SobelError *error)
{
  if (!w->slot->queued && w->device->frames % sobel_cuda_tuning.timed_every == 0)
    SOBEL_CUDA_CHECK (error, cudaEventRecord (w->device->uploaded, w->up), "the end of an upload");
  return SOBEL_STATUS_OK;
}

/* One strip, or a whole frame; the first one's moments are recorded. */
static SobelStatus
queue_strip (const Work *w, unsigned k, SobelError *error)
{
  const Strip strip = make_strip (w, k);
  const bool marked = k == 0;
  SobelStatus status = marked ? mark_start (w, error) : SOBEL_STATUS_OK;

  if (status == SOBEL_STATUS_OK)
    status = upload (w, &strip, error);
  if (status == SOBEL_STATUS_OK && marked)
    status = mark (w, SOBEL_CUDA_UPLOADED, w->up, error);
  if (status == SOBEL_STATUS_OK && strip.last)
    status = mark_upload (w, error);
  if (status == SOBEL_STATUS_OK)
    status = order_streams (w, w->up, w->middle, error);
  if (status == SOBEL_STATUS_OK)
    status = compute (w, &strip, error);
  if (status == SOBEL_STATUS_OK && marked)
    status = mark (w, SOBEL_CUDA_COMPUTED, w->middle, error);
  if (status == SOBEL_STATUS_OK)
    status = order_streams (w, w->middle, w->down, error);
  if (status == SOBEL_STATUS_OK)
    status = download (w, &strip, error);
  if (status == SOBEL_STATUS_OK && marked)
    status = mark (w, SOBEL_CUDA_STAGED, w->down, error);
  return status;
}

/* Images of other elements come with the streams that their work is queued on: this frame's begins behind that, and
 * what they queue later comes behind this. */
static SobelStatus
order_images (const Work *w, cudaStream_t stream, bool before, SobelError *error)
{
  const cudaStream_t other[2] = {
      w->job->in.memory == SOBEL_MEMORY_DEVICE ? w->job->in_stream : NULL,
      w->job->out.memory == SOBEL_MEMORY_DEVICE ? w->job->out_stream : NULL,
  };
  SobelStatus status = SOBEL_STATUS_OK;
  unsigned i;

  for (i = 0; i < 2 && status == SOBEL_STATUS_OK; i++) {
    if (!other[i] || (i == 1 && other[1] == other[0]))
      continue;
    status = before ? order_streams (w, other[i], stream, error) : order_streams (w, stream, other[i], error);
  }
  return status;
}

static SobelStatus
mark_done (const Work *w, SobelError *error)
{
  SOBEL_CUDA_CHECK (error, cudaEventRecord (w->slot->done, w->down), "the end of a frame");
  return SOBEL_STATUS_OK;
}

static SobelStatus
queue_frame (const Work *w, SobelError *error)
{
  SobelStatus status = order_images (w, w->up, true, error);
  unsigned k;

  if (status == SOBEL_STATUS_OK && w->slot->queued)
    status = sobel_cuda_queue_begin (w->device, w->slot, w->up, error);
  for (k = 0; k < w->n_strips && status == SOBEL_STATUS_OK; k++)
    status = queue_strip (w, k, error);
  if (status == SOBEL_STATUS_OK)
    status = make_neutral (w, w->down, error);
  if (status == SOBEL_STATUS_OK && w->slot->queued)
    status = sobel_cuda_queue_end (w->device, w->slot, w->down, error);
  else if (status == SOBEL_STATUS_OK)
    status = mark_done (w, error);
  return status == SOBEL_STATUS_OK ? order_images (w, w->down, false, error) : status;
}

/* Planes to copy whose samples leave bits of their containers unused, which are 0 in the output whatever the input has
 * there, are written by the kernel. */
static void
write_loose_planes (Work *w)
{
  const SobelFormat *format = w->job->in.format;
  unsigned i;

  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];

    if (!(w->out_use[c->plane] & SOBEL_PLANE_COPY) || c->depth == 8 * c->bytes)
      continue;
    w->out_use[c->plane] = SOBEL_PLANE_WRITE;
    w->in_use[c->plane] = SOBEL_PLANE_READ;
  }
}

static void
choose_streams (Work *w)
{
  const SobelCudaDevice *device = w->device;

  /* A frame that is passed on while queued is best on the stream where it will be used: nothing has to be ordered. */
  w->up = w->middle = w->down = w->slot->queued ? w->job->out_stream : device->stream[w->slot->stream];
  if (w->n_strips > 1) {
    w->middle = device->strip_kernels;
    w->down = device->strip_downloads;
  }
}

SobelStatus
sobel_cuda_submit (SobelCudaDevice *device, SobelCudaSlot *slot, const SobelJob *job, SobelError *error)
{
  Work w = {.device = device, .slot = slot, .job = job};
  SobelError ignored;

  if (!image_fits (&device->config, &job->in, device->config.in) ||
      !image_fits (&device->config, &job->out, device->config.out))
    return sobel_error_set (error, SOBEL_STATUS_INVALID,
                            "a frame of %" PRId32 "x%" PRId32 " is not what was configured", job->in.width,
                            job->in.height);
  sobel_recipe_planes (&job->recipe, &device->config, w.in_use, w.out_use);
  write_loose_planes (&w);
  w.in_one_piece = is_one_piece (&job->in, &device->in_layout, w.in_use, SOBEL_PLANE_READ);
  w.out_one_piece = is_one_piece (&job->out, &device->out_layout, w.out_use, SOBEL_PLANE_WRITE);
  w.in = device_image (&job->in, &device->in_layout, w.in_one_piece, slot->memory);
  w.out = device_image (&job->out, &device->out_layout, w.out_one_piece, slot->memory);
  w.n_strips = choose_strips (&w);
  slot->queued = job->queued && job->in.memory == SOBEL_MEMORY_DEVICE && job->out.memory == SOBEL_MEMORY_DEVICE &&
                 job->in_stream && job->out_stream;
  choose_streams (&w);
  slot->timed = !slot->queued && device->frames++ % sobel_cuda_tuning.timed_every == 0;
  slot->timed_share = 1.0f;
  if (w.n_strips > 1) {
    const Strip first = make_strip (&w, 0);
    slot->timed_share = (float) first.to / (float) job->in.height;
  }
  /* Short of memory for the ladder's passes, the frame takes the one pass, with the same result. */
  if (is_ladder (job->kernel))
    sobel_cuda_slot_scratch (device, slot, &ignored);
  slot->pending = true;
  atomic_fetch_add (&device->in_flight, 1);
  return queue_frame (&w, error);
}

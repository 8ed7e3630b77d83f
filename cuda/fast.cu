/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fast kernels for edges of 8-bit pictures: fastcore.cuh has the arithmetic, fastpixels.cuh the pixels. A warp walks
 * down a column of 512 pixels, on its own: its rows come through its part of shared memory a few rows ahead. */
#include "cudakernels.h"
#include "fastpixels.cuh"
#include "sobelarith.h"

enum { MAX_BLOCK_WARPS = 2, WARP_PIXELS = 32 * FAST_PIXELS };

/* What a lane does about the picture's left and right rim. */
typedef struct Rim
{
  /* Byte selections that put the sample left of the picture into the word before the lane's own, and the one right of
   * it into the word after: from (that word, own word). The word itself for lanes that are not at a rim. */
  uint32_t left_select, right_select;
  bool ragged; /* the picture ends within the lane's words, or black begins after them */
} Rim;

static __device__ __forceinline__ Rim
make_rim (const SobelFastArgs &a, const SobelFastLane &l)
{
  const bool mirror = a.border == SOBEL_BORDER_MIRROR && a.width > 1, zero = a.border == SOBEL_BORDER_ZERO;
  const bool last = l.n > 0 && l.n <= FAST_PIXELS;
  Rim rim;

  rim.left_select = l.x > 0 || zero ? 0x3210 : mirror ? 0x5210 : 0x4210;
  rim.right_select = last && !zero ? (mirror ? 0x3216 : 0x3217) : 0x3210;
  rim.ragged = last && (zero || l.n < FAST_PIXELS);
  return rim;
}

/* Puts the sample right of the picture where the last lane looks for it. */
static __device__ __forceinline__ void
fix_ragged (const SobelFastArgs &a, const SobelFastLane &l, uint32_t (&w)[4], uint32_t left, uint32_t &right)
{
  const int from = l.n - (a.border == SOBEL_BORDER_MIRROR && a.width > 1 ? 2 : 1), at = l.n;
  uint32_t value = left;

#pragma unroll
  for (int i = 0; i < FAST_WORDS; i++)
    if (i == from >> 2)
      value = w[i];
  value = a.border == SOBEL_BORDER_ZERO ? a.outside : value >> 8 * (from & 3);
#pragma unroll
  for (int i = 0; i < FAST_WORDS; i++)
    if (i == at >> 2)
      w[i] = (w[i] & ~(0xffu << 8 * (at & 3))) | (value & 0xff) << 8 * (at & 3);
  if (at == FAST_PIXELS)
    right = value;
}

/* border=none: no edges on the rim. */
static __device__ __forceinline__ void
blank_rim (const SobelFastArgs &a, const SobelFastLane &l, int32_t y, uint32_t (&e)[4])
{
  const int last = l.n - 1;

#pragma unroll
  for (int i = 0; i < FAST_WORDS; i++) {
    if (i == last >> 2)
      e[i] &= ~(0xffu << 8 * (last & 3));
    if (y == 0 || y == a.height - 1)
      e[i] = 0;
  }
  if (l.x == 0)
    e[0] &= ~0xffu;
}

template <bool PLAIN, bool ROOT> struct Core {
  typedef SobelFloatRolling<FAST_WORDS, ROOT> Rolling;
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 530
template <bool ROOT> struct Core<true, ROOT> {
  typedef SobelHalfRolling<FAST_WORDS, ROOT> Rolling;
};
#endif

/* A warp's way down its column. PLAIN: l2 of both gradients, side weights of 1, no threshold, no border of black or
 * without edges, and a width of whole shares; then nothing in the loop branches. Rows are numbered from the one above
 * the first to make; row r is in slot r % SLOTS of the ring. */
template <class P, bool PLAIN, bool ROOT> struct Walk {
  const SobelFastArgs &a;
  const SobelFastLane &l;
  const P pixels;
  const Rim rim;
  typename P::Copies copies;
  typename Core<PLAIN, ROOT>::Rolling rolling;
  uint8_t *const ring;
  uint32_t base; /* of the stored byte: for the lane to keep, or each use copies it from where the arguments are */
  const uint8_t *in;  /* row to fetch next */
  int32_t rows_below; /* of the picture, below that one */
  int32_t to_fetch;   /* rows */
  uint8_t *out;       /* row to store next */

  __device__ __forceinline__
  Walk (const SobelFastArgs &args, const SobelFastLane &lane, uint8_t *shared, int32_t y, int32_t end)
      : a (args), l (lane), pixels (args, lane), rim (make_rim (args, lane)), copies (pixels, shared, SLOTS, lane.lane),
        ring (shared), base (args.math.base + (lane.lane >> 5)), in (args.in + y * args.in_stride + copies.origin ()),
        rows_below (args.height - 1 - y), to_fetch (end - y + 1), out (args.out + y * args.out_stride)
  {
  }

  /* The row above the first to make, to slot 0. */
  __device__ __forceinline__ void
  fetch_above (int32_t y) const
  {
    const int32_t above = sobel_border_index ((SobelBorder) a.border, y - 1, a.height);

    copies.start (pixels, l.lane, a.in + above * a.in_stride + copies.origin (), ring, 0);
    copies.end ();
  }

  /* The next row, at most one outside the picture; nothing after the last. */
  __device__ __forceinline__ void
  fetch (unsigned slot)
  {
    if (to_fetch > 0)
      copies.start (pixels, l.lane, in, ring, slot % SLOTS);
    copies.end ();
    in += rows_below > 0 ? a.in_stride : a.below_step;
    rows_below--;
    to_fetch--;
  }

  /* Row y's luma. */
  __device__ __forceinline__ void
  words (unsigned slot, int32_t y, uint32_t (&w)[4], uint32_t &left, uint32_t &right) const
  {
    pixels.luma (a, l, ring + slot * P::SLOT, w, left, right);
    left = __byte_perm (left, w[0], rim.left_select);
    right = __byte_perm (right, w[3], rim.right_select);
    if (PLAIN)
      return;
    if (a.border == SOBEL_BORDER_ZERO && l.x == 0)
      left = a.outside;
    if (rim.ragged)
      fix_ragged (a, l, w, left, right);
    if (a.border == SOBEL_BORDER_ZERO && (y < 0 || y >= a.height))
      w[0] = w[1] = w[2] = w[3] = left = right = a.outside;
  }

  /* Rows y - 1 and y, in slots 0 and 1. */
  template <int ROW>
  __device__ __forceinline__ void
  start (int32_t y)
  {
    uint32_t w[4], left, right;

    copies.template wait<AHEAD - 1> (ROW);
    words (ROW, y - 1 + ROW, w, left, right);
    rolling.template start<ROW> (a.math, w, left, right);
    fetch (ROW + AHEAD);
  }

  /* The row below y, in the slot, completes row y. */
  template <int TURN>
  __device__ __forceinline__ void
  make_row (unsigned slot, int32_t y)
  {
    uint32_t w[4], e[4], left, right;

    copies.template wait<AHEAD - 1> (slot);
    words (slot, y + 1, w, left, right);
    fetch (slot + AHEAD);
    rolling.template step<TURN> (a.math, w, left, right, e);
    if (!PLAIN && a.border == SOBEL_BORDER_NONE)
      blank_rim (a, l, y, e);
#pragma unroll
    for (int i = 0; i < 4; i++)
      e[i] = e[i] * a.math.sign + base;
    pixels.template store<PLAIN> (a, l, out, e, ring + (slot + SLOTS - 1) % SLOTS * P::SLOT);
    out += a.out_stride;
  }

  /* A slot is free for another row when every lane is past the wait after its last use; one row is being read, and
   * another may be being stored. */
  enum { SLOTS = 4, AHEAD = P::BUSY ? 2 : 3 };
};

/* The warps of a block walk side by side. */
template <class P, bool PLAIN, bool ROOT>
static __global__ void __launch_bounds__ (32 * MAX_BLOCK_WARPS, PLAIN ? P::MIN_BLOCKS : 6)
fast_kernel (const SobelFastArgs a)
{
  typedef Walk<P, PLAIN, ROOT> W;
  enum { SPACE = W::SLOTS * P::SLOT + P::Copies::SPACE }; /* of a warp */
  __shared__ uint4 ring[MAX_BLOCK_WARPS * SPACE / 16];
  /* The shuffle tells the compiler that all lanes have the same. */
  const unsigned lane = threadIdx.x, warp = __shfl_sync (~0u, threadIdx.y, 0);
  const int32_t x = (int32_t) ((blockIdx.x * blockDim.y + warp) * 32 + lane) * FAST_PIXELS;
  const int32_t end = min (a.first_row + (int32_t) (blockIdx.y + 1) * a.rows, a.end_row);
  const SobelFastLane place = {x, a.width - x, lane};
  int32_t y = a.first_row + (int32_t) blockIdx.y * a.rows;
  W walk (a, place, (uint8_t *) ring + warp * SPACE, y, end);

  if (x - (int32_t) lane * FAST_PIXELS >= a.width)
    return;
  walk.fetch_above (y);
  walk.fetch (1);
  if (W::AHEAD == 3)
    walk.fetch (2);
  walk.template start<0> (y);
  walk.template start<1> (y);
  /* Four rows a round have constant slots; the slower kind does with half the code. */
  for (unsigned slot = 2;; slot = PLAIN ? 2 : (slot + 2) % W::SLOTS) {
    walk.template make_row<0> (slot, y);
    if (++y >= end)
      break;
    walk.template make_row<1> (slot + 1, y);
    if (++y >= end)
      break;
    if (!PLAIN)
      continue;
    walk.template make_row<0> (0, y);
    if (++y >= end)
      break;
    walk.template make_row<1> (1, y);
    if (++y >= end)
      break;
  }
}

/* ---- host ----------------------------------------------------------------------------------------- */

static bool
is_vector_aligned (const SobelPlane *plane, size_t row_bytes)
{
  return (((uintptr_t) plane->data | (uintptr_t) plane->stride) & 15) == 0 &&
         plane->stride >= (ptrdiff_t) ((row_bytes + 15) & ~(size_t) 15);
}

/* All components are bytes at the same distance in one plane. */
static bool
is_packed_rgb (const SobelFormat *format, unsigned step)
{
  unsigned i;

  for (i = 0; i < format->n_components; i++) {
    const SobelComponent *c = &format->component[i];
    if (c->plane != 0 || c->bytes != 1 || c->step != step || c->depth != 8)
      return false;
  }
  return format->family == SOBEL_FAMILY_RGB && format->n_components == step;
}

extern "C" SobelFastKind
sobel_cuda_fast_kind (const SobelCudaPicture *p)
{
  const SobelRecipe *recipe = &p->recipe;
  const SobelComponent *in = &p->in_format.component[0], *out = &p->out_format.component[0];
  const SobelPlane *in_plane = &p->in.plane[in->plane], *out_plane = &p->out.plane[out->plane];
  const size_t step = in->step, width = (size_t) p->in.width;

  if (!recipe->exact || recipe->mode != SOBEL_MODE_EDGES || recipe->max_code != 255 || p->in.height < 1)
    return SOBEL_FAST_NONE;
  if (!is_vector_aligned (in_plane, width * step) || !is_vector_aligned (out_plane, width * out->step))
    return SOBEL_FAST_NONE;
  /* Scaling to full range is the identity there, and only there. */
  if (recipe->gray_out && (recipe->range != 255 || recipe->gray_max != 255))
    return SOBEL_FAST_NONE;
  if (sobel_cuda_is_byte_plane (&p->in_format) && sobel_cuda_is_byte_plane (&p->out_format))
    return SOBEL_FAST_LUMA;
  if (is_packed_rgb (&p->in_format, 3))
    return recipe->gray_out ? SOBEL_FAST_RGB24_LUMA : SOBEL_FAST_RGB24;
  if (is_packed_rgb (&p->in_format, 4))
    return recipe->gray_out ? SOBEL_FAST_RGB32_LUMA : SOBEL_FAST_RGB32;
  return SOBEL_FAST_NONE;
}

static SobelFastMath
fast_math (const SobelRecipe *recipe)
{
  SobelFastMath m;

  m.sum_weights = (uint32_t) recipe->side * 0x00010001u + ((uint32_t) recipe->centre << 8);
  m.side = (float) recipe->side;
  m.centre = (float) recipe->centre;
  m.centre_halves = recipe->centre == 2 ? 0x40004000 : 0x3c003c00;
  m.x_share = recipe->gradient != SOBEL_GRADIENT_Y ? 1.0f : 0.0f;
  m.y_share = recipe->gradient != SOBEL_GRADIENT_X ? 1.0f : 0.0f;
  m.range_pair = recipe->range * 0x00010001u;
  m.threshold_pair = recipe->threshold ? (0x8000u - recipe->threshold) * 0x00010001u : 0;
  m.base = (recipe->invert ? recipe->black + recipe->range : recipe->black) * 0x01010101u;
  m.sign = recipe->invert ? ~0u : 1u;
  return m;
}

static SobelFastArgs
fast_args (const SobelCudaPicture *p, int32_t rows)
{
  const SobelPlane *in = &p->in.plane[p->in_format.component[0].plane];
  const SobelPlane *out = &p->out.plane[p->out_format.component[0].plane];
  SobelFastArgs a = {};
  uint32_t weight[4] = {0, 0, 0, 0};
  unsigned i;

  a.math = fast_math (&p->recipe);
  a.in = in->data;
  a.in_stride = in->stride;
  a.out = out->data;
  a.out_stride = out->stride;
  a.width = p->in.width;
  a.height = p->in.height;
  a.first_row = p->first_row;
  a.end_row = p->end_row < p->in.height ? p->end_row : p->in.height;
  a.rows = rows;
  a.below_step = p->recipe.border == SOBEL_BORDER_MIRROR && a.height > 1 ? -a.in_stride : 0;
  a.border = p->recipe.border;
  a.outside = p->recipe.outside * 0x01010101u;
  a.to_luma = p->recipe.gray_out;
  if (p->in_format.family != SOBEL_FAMILY_RGB)
    return a;
  for (i = 0; i < 3; i++)
    weight[p->in_format.component[i].offset] = p->recipe.luma_weight[i];
  a.weights_lo = weight[0] | weight[1] << 16;
  a.weights_hi = weight[2] | weight[3] << 16;
  /* The quotient's error, sum * (divisor * unit - 2^(32 + shift)) / 2^(32 + shift) / unit, stays below 1 / unit:
   * sum <= 255 unit, and the excess is 704 for 1000 and 1632 for 10000. */
  a.divisor_shift = p->recipe.luma_unit == 1000 ? 0 : 3;
  a.divisor = (uint32_t) (((1ull << (32 + a.divisor_shift)) + p->recipe.luma_unit - 1) / p->recipe.luma_unit);
  if (p->in_format.n_components == 4) {
    const unsigned at = p->in_format.component[3].offset;
    if (p->in_format.padded)
      a.pixel_fill = 0xffu << 8 * at;
    else
      a.pixel_select = (4 + at) << 4 * at;
  }
  return a;
}

/* Warps side by side in a block: as many as leave the fewest without work. */
static unsigned
block_warps (int32_t columns)
{
  unsigned best = 1, n;

  for (n = 2; n <= MAX_BLOCK_WARPS; n++)
    if ((columns + n - 1) / n * n <= (columns + best - 1) / best * best)
      best = n;
  return best;
}

template <class P>
static cudaError_t
launch (const SobelCudaPicture *p, const SobelFastArgs &a, cudaStream_t stream)
{
  const SobelRecipe *recipe = &p->recipe;
  const int32_t columns = (a.width + WARP_PIXELS - 1) / WARP_PIXELS;
  const dim3 block (32, block_warps (columns));
  const dim3 grid (((unsigned) columns + block.y - 1) / block.y,
                   (unsigned) ((a.end_row - a.first_row + a.rows - 1) / a.rows));
  const bool root = recipe->gradient == SOBEL_GRADIENT_BOTH && recipe->norm == SOBEL_NORM_L2;
  const bool mirrors = recipe->border == SOBEL_BORDER_REPLICATE || recipe->border == SOBEL_BORDER_MIRROR;

  if (root && mirrors && recipe->side == 1 && !recipe->threshold && a.width % FAST_PIXELS == 0)
    fast_kernel<P, true, true><<<grid, block, 0, stream>>> (a);
  else if (root)
    fast_kernel<P, false, true><<<grid, block, 0, stream>>> (a);
  else
    fast_kernel<P, false, false><<<grid, block, 0, stream>>> (a);
  return cudaGetLastError ();
}

/* How a picture is cut into shares, as measured on an H200. Where there is work for several times what the GPU holds at
 * once, low shares are best, for what is being read and written then lies close together. Where there is not, the time
 * is that of the busiest multiprocessor: its shares' rows and about three more for each share's beginning, at the pace
 * of its warps together, but no faster than a warp alone, which takes as long for a row as `alone` warps that share the
 * multiprocessor take for one each; `more` says how much the pace gains by more warps. */
typedef struct Pace
{
  int32_t low_rows;
  int64_t alone, more;
} Pace;

enum { MAX_ROWS = 64, ROWS_TO_BEGIN = 3, WARPS_HELD = 28, MANY_TIMES = 4 };

extern "C" SobelFastShape
sobel_cuda_fast_shape (const SobelCudaPicture *p, SobelFastKind kind, int32_t multiprocessors)
{
  static const Pace of_bytes = {10, 12, 3}, of_rgb = {16, 9, 0};
  const Pace pace = kind == SOBEL_FAST_LUMA ? of_bytes : of_rgb;
  const int64_t columns = (p->in.width + WARP_PIXELS - 1) / WARP_PIXELS, rows = p->end_row - p->first_row;
  const int64_t across = block_warps ((int32_t) columns), blocks = (columns + across - 1) / across;
  SobelFastShape best = {pace.low_rows};
  int64_t best_cost = INT64_MAX, n;

  if ((rows + best.rows - 1) / best.rows * blocks * across > (int64_t) MANY_TIMES * WARPS_HELD * multiprocessors)
    return best;
  for (n = 2; n <= MAX_ROWS; n++) {
    const int64_t shares = (rows + n - 1) / n * blocks;
    const int64_t warps = (shares + multiprocessors - 1) / multiprocessors * across;
    const int64_t cost = (n + ROWS_TO_BEGIN) * ((warps > pace.alone ? warps : pace.alone) + pace.more);

    if (warps <= WARPS_HELD && cost <= best_cost) {
      best.rows = (int32_t) n;
      best_cost = cost;
    }
  }
  return best;
}

extern "C" cudaError_t
sobel_cuda_fast (const SobelCudaPicture *p, SobelFastKind kind, SobelFastShape shape, cudaStream_t stream)
{
  const SobelFastArgs a = fast_args (p, shape.rows);

  if (a.end_row <= a.first_row)
    return cudaSuccess;
  switch (kind) {
    case SOBEL_FAST_LUMA:
      return launch<SobelLumaPixels> (p, a, stream);
    case SOBEL_FAST_RGB24:
    case SOBEL_FAST_RGB24_LUMA:
      return launch<SobelRgb24Pixels> (p, a, stream);
    case SOBEL_FAST_RGB32:
    case SOBEL_FAST_RGB32_LUMA:
      return launch<SobelRgb32Pixels> (p, a, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

/* ---- proof ---------------------------------------------------------------------------------------- */

static __global__ void
probe_kernel (uint8_t *e, uint32_t count, SobelFastMath m)
{
  const uint64_t n = (uint64_t) count * count;
  uint64_t i;

  for (i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t) gridDim.x * blockDim.x) {
    const float gx = (float) (i / count) * 0x1p-24f, gy = (float) (i % count) * 0x1p-24f;
    e[i] = (uint8_t) sobel_fast_pair<true> (m, gx, gy, gx, gy);
  }
}

extern "C" cudaError_t
sobel_cuda_fast_probe (uint8_t *e, uint32_t count, cudaStream_t stream)
{
  SobelFastMath m = {};

  m.range_pair = 0x00ff00ff;
  probe_kernel<<<1024, 256, 0, stream>>> (e, count, m);
  return cudaGetLastError ();
}

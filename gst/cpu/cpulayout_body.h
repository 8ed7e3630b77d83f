/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The functions that take samples out of memory layouts and put them back, in plain C; see cpurows_body.h, which
 * comes first. No include guard: a file includes this once. */

/* ---- samples out of memory ------------------------------------------------------------------------ */

ALWAYS_INLINE void
pick8_loop (const uint8_t *src, int32_t step, uint8_t *out, int32_t n)
{
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = src[(ptrdiff_t) i * step];
}

static void
pick8 (const uint8_t *src, unsigned step, uint8_t *out, int32_t n)
{
  switch (step) {
    case 1:
      memcpy (out, src, (size_t) n);
      break;
    case 2:
      pick8_loop (src, 2, out, n);
      break;
    case 3:
      pick8_loop (src, 3, out, n);
      break;
    case 4:
      pick8_loop (src, 4, out, n);
      break;
    default:
      pick8_loop (src, (int32_t) step, out, n);
      break;
  }
}

/* Containers lie at any address: packed rows need not be aligned. */
ALWAYS_INLINE uint16_t
load16 (const uint8_t *p, bool swap)
{
  uint16_t v;

  memcpy (&v, p, sizeof v);
  return swap ? __builtin_bswap16 (v) : v;
}

ALWAYS_INLINE void
store16 (uint8_t *p, uint16_t v, bool swap)
{
  v = swap ? __builtin_bswap16 (v) : v;
  memcpy (p, &v, sizeof v);
}

ALWAYS_INLINE void
pick16_loop (const uint8_t *src, int32_t step, unsigned shift, uint32_t mask, bool swap, uint16_t *out, int32_t n)
{
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++)
    out[i] = (uint16_t) (load16 (src + (ptrdiff_t) i * 2 * step, swap) >> shift & mask);
}

#define PICK16(STEP)                                                                                                   \
  if (k->swap)                                                                                                         \
    pick16_loop (src, STEP, k->shift, k->mask, true, out, n);                                                          \
  else                                                                                                                 \
    pick16_loop (src, STEP, k->shift, k->mask, false, out, n)

static void
pick16 (const SobelCpuContainer *k, const uint8_t *src, uint16_t *out, int32_t n)
{
  switch (k->step) {
    case 1:
      PICK16 (1);
      break;
    case 2:
      PICK16 (2);
      break;
    default:
      PICK16 (4);
      break;
  }
}

ALWAYS_INLINE void
pick32_loop (const uint8_t *src, unsigned shift, uint32_t mask, bool swap, uint16_t *out, int32_t n)
{
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++) {
    uint32_t v;
    memcpy (&v, src + (ptrdiff_t) i * 4, sizeof v);
    v = swap ? __builtin_bswap32 (v) : v;
    out[i] = (uint16_t) (v >> shift & mask);
  }
}

static void
pick32 (const SobelCpuContainer *k, const uint8_t *src, uint16_t *out, int32_t n)
{
  if (k->swap)
    pick32_loop (src, k->shift, k->mask, true, out, n);
  else
    pick32_loop (src, k->shift, k->mask, false, out, n);
}

/* ---- samples into memory -------------------------------------------------------------------------- */

#define DEFINE_JOIN8(COUNT)                                                                                            \
  static void join##COUNT##_8 (const uint8_t *const *in, uint8_t *out, int32_t n)                                      \
  {                                                                                                                    \
    const uint8_t *const a = in[0], *const b = in[1], *const c = in[COUNT > 2 ? 2 : 0];                                \
    const uint8_t *const d = in[COUNT > 3 ? 3 : 0];                                                                    \
    int32_t i;                                                                                                         \
                                                                                                                       \
    INDEPENDENT                                                                                                        \
    for (i = 0; i < n; i++) {                                                                                          \
      uint8_t *const p = out + (ptrdiff_t) i * COUNT;                                                                  \
      p[0] = a[i];                                                                                                     \
      p[1] = b[i];                                                                                                     \
      if (COUNT > 2)                                                                                                   \
        p[COUNT > 2 ? 2 : 0] = c[i];                                                                                   \
      if (COUNT > 3)                                                                                                   \
        p[COUNT > 3 ? 3 : 0] = d[i];                                                                                   \
    }                                                                                                                  \
  }

DEFINE_JOIN8 (2)
DEFINE_JOIN8 (3)
DEFINE_JOIN8 (4)

ALWAYS_INLINE void
join16_loop (const uint16_t *const *in, unsigned count, unsigned shift, bool swap, uint8_t *out, int32_t n)
{
  const uint16_t *const a = in[0], *const b = in[count > 1 ? 1 : 0];
  const uint16_t *const c = in[count > 2 ? 2 : 0], *const d = in[count > 2 ? 3 : 0];
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++) {
    uint8_t *const p = out + (ptrdiff_t) i * 2 * (ptrdiff_t) count;
    store16 (p, (uint16_t) (a[i] << shift), swap);
    if (count > 1)
      store16 (p + 2, (uint16_t) (b[i] << shift), swap);
    if (count > 2) {
      store16 (p + 4, (uint16_t) (c[i] << shift), swap);
      store16 (p + 6, (uint16_t) (d[i] << shift), swap);
    }
  }
}

#define DEFINE_JOIN16(COUNT)                                                                                           \
  static void join##COUNT##_16 (const SobelCpuContainer *k, const uint16_t *const *in, uint8_t *out, int32_t n)        \
  {                                                                                                                    \
    if (k->swap)                                                                                                       \
      join16_loop (in, COUNT, k->shift, true, out, n);                                                                 \
    else                                                                                                               \
      join16_loop (in, COUNT, k->shift, false, out, n);                                                                \
  }

DEFINE_JOIN16 (1)
DEFINE_JOIN16 (2)
DEFINE_JOIN16 (4)

static void
join_word (const uint8_t *shift, bool swap, unsigned n_in, const uint16_t *const *in, uint8_t *out, int32_t n)
{
  const uint16_t *const a = in[0], *const b = in[1], *const c = in[2], *const d = in[n_in > 3 ? 3 : 0];
  const unsigned sa = shift[0], sb = shift[1], sc = shift[2], sd = n_in > 3 ? shift[3] : sa;
  int32_t i;

  INDEPENDENT
  for (i = 0; i < n; i++) {
    uint32_t v = (uint32_t) a[i] << sa | (uint32_t) b[i] << sb | (uint32_t) c[i] << sc | (uint32_t) d[i] << sd;
    v = swap ? __builtin_bswap32 (v) : v;
    memcpy (out + (ptrdiff_t) i * 4, &v, sizeof v);
  }
}

/* ---- the table ------------------------------------------------------------------------------------ */

static void
fill_rows (SobelCpuRows *rows, const char *name, const char *title)
{
  *rows = (SobelCpuRows){
      .name = name,
      .title = title,
      .edge8 = edge8,
      .edge16 = edge16,
      .edge32_8 = edge32_8,
      .edge32_16 = edge32_16,
      .luma8 = luma8,
      .luma16 = luma16,
      .luma8_packed = luma8_packed,
      .edge8_luma = edge8_luma,
      .luma8_32 = luma8_32,
      .luma16_32 = luma16_32,
      .pick8 = pick8,
      .pick16 = pick16,
      .pick32 = pick32,
      .join2_8 = join2_8,
      .join3_8 = join3_8,
      .join4_8 = join4_8,
      .join1_16 = join1_16,
      .join2_16 = join2_16,
      .join4_16 = join4_16,
      .join_word = join_word,
      .sum8 = sum8,
      .sum16 = sum16,
      .blend8 = blend8,
      .blend8_sum = blend8_sum,
      .blend16 = blend16,
      .blend16_sum = blend16_sum,
      .mask8 = mask8,
      .mask8_sum = mask8_sum,
      .mask16 = mask16,
      .mask16_sum = mask16_sum,
      .scale8 = scale8,
      .scale16 = scale16,
      .code8 = code8,
      .code16 = code16,
      .code32_8 = code32_8,
      .code32_16 = code32_16,
      .hue8 = hue8,
      .hue16 = hue16,
      .hue32_8 = hue32_8,
      .hue32_16 = hue32_16,
      .hue_sum = hue_sum,
      .hue_code8 = hue_code8,
      .hue_code16 = hue_code16,
  };
}

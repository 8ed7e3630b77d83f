/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "testutil.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void) (address), (void) (size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void) (address), (void) (size))
#endif

enum { MAX_DESCRIBED = 100 }; /* failures */

static pthread_mutex_t fail_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_failures;

bool
t_fail (const char *file, int line, const char *condition, const char *format, ...)
{
  va_list args;

  pthread_mutex_lock (&fail_lock);
  if (++n_failures <= MAX_DESCRIBED) {
    fprintf (stderr, "%s:%d: not true: %s: ", file, line, condition);
    va_start (args, format);
    vfprintf (stderr, format, args);
    va_end (args);
    fputc ('\n', stderr);
  }
  if (n_failures == MAX_DESCRIBED)
    fprintf (stderr, "(the last failure to be described)\n");
  pthread_mutex_unlock (&fail_lock);
  return false;
}

unsigned
t_failures (void)
{
  unsigned n;

  pthread_mutex_lock (&fail_lock);
  n = n_failures;
  pthread_mutex_unlock (&fail_lock);
  return n;
}

int
t_result (void)
{
  const unsigned n = t_failures ();

  if (n > 0)
    fprintf (stderr, "%u checks failed\n", n);
  return n > 0 ? 1 : 0;
}

/* ---- chance --------------------------------------------------------------------------------------- */

uint64_t
t_seed (uint64_t fallback)
{
  const char *text = getenv ("SOBEL_TEST_SEED");
  const uint64_t seed = text != NULL && *text != '\0' ? strtoull (text, NULL, 0) : fallback;

  printf ("seed: 0x%" PRIx64 "\n", seed);
  return seed;
}

static uint64_t
mix (uint64_t z)
{
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

TRandom
t_random (uint64_t seed, uint64_t key)
{
  return (TRandom){ mix (seed + 0x9e3779b97f4a7c15u) ^ mix (key * 0xd1342543de82ef95u + 1) };
}

uint64_t
t_random_next (TRandom *random)
{
  return mix (random->state += 0x9e3779b97f4a7c15u);
}

uint32_t
t_random_below (TRandom *random, uint32_t n)
{
  return (uint32_t) ((t_random_next (random) >> 32) * n >> 32);
}

double
t_random_unit (TRandom *random)
{
  return (double) (t_random_next (random) >> 11) * 0x1p-53;
}

void
t_random_fill (TRandom *random, void *data, size_t size)
{
  uint8_t *p = data;

  for (; size > 0; ) {
    const uint64_t word = t_random_next (random);
    const size_t n = size < sizeof word ? size : sizeof word;

    memcpy (p, &word, n);
    p += n;
    size -= n;
  }
}

uint32_t
t_chance (void)
{
  static TRandom stream;
  static bool seeded = false;

  if (!seeded)
    stream = t_random (t_seed (1), 0);
  seeded = true;
  return (uint32_t) (t_random_next (&stream) >> 32);
}

/* ---- padded pictures ------------------------------------------------------------------------------ */

enum {
  MARGIN = 192,  /* least canary before the first and after the last plane */
  ALIGN = 64,
};

static size_t
align_up (size_t n)
{
  return (n + ALIGN - 1) / ALIGN * ALIGN;
}

void
t_layout_init (TLayout *layout, TStride stride, TRandom *random)
{
  size_t position = MARGIN + (stride == T_STRIDE_ALIGNED ? 0 : t_random_below (random, ALIGN));
  unsigned p;

  for (p = 0; p < layout->n_planes; p++) {
    TPlaneLayout *plane = &layout->plane[p];

    plane->stride = plane->row_bytes;
    if (stride == T_STRIDE_PADDED) {
      position += t_random_below (random, T_MAX_GAP);
      plane->stride += 1 + t_random_below (random, T_MAX_GAP);
    } else if (stride == T_STRIDE_ALIGNED) {
      position = align_up (position);
      plane->stride = align_up (plane->stride);
    }
    plane->offset = position;
    position += plane->stride * (size_t) plane->rows;
  }
  layout->size = align_up (position + MARGIN);
}

size_t
t_layout_bound (const TLayout *layout)
{
  size_t bound = 2 * MARGIN + 2 * ALIGN;
  unsigned p;

  for (p = 0; p < layout->n_planes; p++)
    bound += T_MAX_GAP + ALIGN + (layout->plane[p].row_bytes + T_MAX_GAP) * (size_t) layout->plane[p].rows;
  return align_up (bound);
}

void
t_layout_guard (const TLayout *layout, uint8_t *region, bool guard)
{
  unsigned p;
  int y;

  if (!guard) {
    ASAN_UNPOISON_MEMORY_REGION (region, layout->size);
    return;
  }
  /* All of it, then the rows again: the sanitizer rounds in favour of what may be accessed. */
  ASAN_POISON_MEMORY_REGION (region, layout->size);
  for (p = 0; p < layout->n_planes; p++)
    for (y = 0; y < layout->plane[p].rows; y++)
      ASAN_UNPOISON_MEMORY_REGION (region + layout->plane[p].offset + (size_t) y * layout->plane[p].stride,
                                   layout->plane[p].row_bytes);
}

bool
t_layout_locate (const TLayout *layout, size_t position, unsigned *plane, int *row, size_t *byte)
{
  unsigned p;

  for (p = 0; p < layout->n_planes; p++) {
    const TPlaneLayout *l = &layout->plane[p];
    const size_t into = position - l->offset;

    if (position < l->offset || into / l->stride >= (size_t) l->rows || into % l->stride >= l->row_bytes)
      continue;
    *plane = p;
    *row = (int) (into / l->stride);
    *byte = into % l->stride;
    return true;
  }
  return false;
}

/* ---- dumps ---------------------------------------------------------------------------------------- */

static void
hex_line (FILE *file, const char *title, size_t position, const uint8_t *bytes, const uint8_t *other, size_t n)
{
  size_t i;

  fprintf (file, "    %s %06zx ", title, position);
  for (i = 0; i < n; i++)
    fprintf (file, "%s%02x%s", bytes[i] != other[i] ? "[" : " ", bytes[i], bytes[i] != other[i] ? "]" : " ");
  fputc ('\n', file);
}

void
t_hex_diff (FILE *file, const uint8_t *expected, const uint8_t *got, size_t size, unsigned max_lines)
{
  size_t i;
  unsigned lines = 0;

  for (i = 0; i < size; i += 16) {
    const size_t n = size - i < 16 ? size - i : 16;

    if (memcmp (expected + i, got + i, n) == 0)
      continue;
    if (lines++ == max_lines) {
      fprintf (file, "    …\n");
      return;
    }
    hex_line (file, "expected", i, expected + i, got + i, n);
    hex_line (file, "     got", i, got + i, expected + i, n);
  }
}

/* ---- time ----------------------------------------------------------------------------------------- */

uint64_t
t_now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

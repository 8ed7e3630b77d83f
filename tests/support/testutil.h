/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_UTIL_H
#define SOBEL_TEST_UTIL_H

/* Small things that every test program needs. Knows neither GStreamer nor CUDA. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit status of a test that could not run here. */
enum { T_SKIP = 77 };

/* ---- checks --------------------------------------------------------------------------------------- */

/* Counts a failure, with place and reason on stderr (of the first hundred), and goes on. Value: whether `condition`
 * held. */
#define T_CHECK(condition, ...) ((condition) ? true : t_fail (__FILE__, __LINE__, #condition, __VA_ARGS__))

/* false. Prints `format` (printf) after the place; may be called from any thread. */
bool t_fail (const char *file, int line, const char *condition, const char *format, ...)
#if defined(__GNUC__)
    __attribute__ ((format (printf, 4, 5)))
#endif
    ;

unsigned t_failures (void);

/* Exit status for main: 0, or 1 with the number of failures on stderr. */
int t_result (void);

/* ---- chance --------------------------------------------------------------------------------------- */

/* A reproducible stream of random numbers (splitmix64). */
typedef struct TRandom
{
  uint64_t state;
} TRandom;

/* The environment variable SOBEL_TEST_SEED (decimal or 0x…), else `fallback`; printed to stdout either way. */
uint64_t t_seed (uint64_t fallback);

/* Streams of different keys are unrelated, so that any case can be made again without those before it. */
TRandom t_random (uint64_t seed, uint64_t key);
uint64_t t_random_next (TRandom *random);
/* 0 to n - 1; n is at least 1. */
uint32_t t_random_below (TRandom *random, uint32_t n);
/* 0 to 1, 1 excluded. */
double t_random_unit (TRandom *random);
void t_random_fill (TRandom *random, void *data, size_t size);

/* 32 bits of the program's own stream, which starts at t_seed (1). One thread alone. */
uint32_t t_chance (void);

/* ---- padded pictures ------------------------------------------------------------------------------ */

enum {
  T_MAX_PLANES = 4,
  T_MAX_GAP = 131, /* most random bytes between rows, or planes */
};

typedef enum TStride
{
  T_STRIDE_TIGHT,   /* rows and planes end to end, at any address */
  T_STRIDE_PADDED,  /* odd gaps between rows and planes, at any address */
  T_STRIDE_ALIGNED, /* rows start at multiples of 64 bytes from the region's start */
  T_N_STRIDES,
} TStride;

typedef struct TPlaneLayout
{
  size_t offset; /* of the first row */
  size_t stride;
  size_t row_bytes;
  int rows;
} TPlaneLayout;

/* Where a picture's planes lie in a region of memory. Everything in the region that is no row is canary. */
typedef struct TLayout
{
  unsigned n_planes;
  TPlaneLayout plane[T_MAX_PLANES];
  size_t size; /* of the region, margins at both ends included */
} TLayout;

/* Lays planes out whose row_bytes and rows are filled in. */
void t_layout_init (TLayout *layout, TStride stride, TRandom *random);

/* At most this many bytes are needed by any layout of planes with these row_bytes and rows. */
size_t t_layout_bound (const TLayout *layout);

/* Under AddressSanitizer, makes every access to the canaries of `region` an error, or allows it again. Nothing
 * elsewhere. */
void t_layout_guard (const TLayout *layout, uint8_t *region, bool guard);

/* Which byte of which row lies at `position` of the region; false for those of no row. */
bool t_layout_locate (const TLayout *layout, size_t position, unsigned *plane, int *row, size_t *byte);

/* ---- dumps ---------------------------------------------------------------------------------------- */

/* Prints up to `max_lines` lines of 16 bytes that differ, expected above got, differing bytes marked. */
void t_hex_diff (FILE *file, const uint8_t *expected, const uint8_t *got, size_t size, unsigned max_lines);

/* ---- time ----------------------------------------------------------------------------------------- */

/* Monotonic clock. */
uint64_t t_now_ns (void);

#endif

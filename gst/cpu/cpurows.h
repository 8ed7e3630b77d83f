/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CPU_ROWS_H
#define SOBEL_CPU_ROWS_H

#include "sobelrecipe.h"

#include <stddef.h>

/* The work of the CPU backend, one row at a time, as a table of functions: one table for every instruction set, all
 * giving the same bytes.
 *
 * A planar row holds one sample a column: uint8_t (suffix 8) for formats of 8 bits, uint16_t (suffix 16) for deeper
 * ones, uint32_t (suffix 32) for RGB luma in units of 1/u. Rows never overlap unless a function says so, need no
 * alignment beyond their type's, and nothing outside of the named number of samples is read or written. */

typedef enum SobelCpuMetric
{
  SOBEL_CPU_METRIC_L2,
  SOBEL_CPU_METRIC_L1,
  SOBEL_CPU_METRIC_X,
  SOBEL_CPU_METRIC_Y,
} SobelCpuMetric;

/* How an edge value comes from a neighbourhood, and how it is stored: e = min (range, strength), 0 below
 * `threshold`; the stored value is (e ^ flip) + bias in the width of the output. */
typedef struct SobelCpuEdge
{
  SobelCpuMetric metric;
  bool exact;   /* unit and gain are 1 */
  bool narrow;  /* gx and gy of 8- and 16-bit luma fit 16 bits with a sign, and range is below 4096 */
  bool fits32;  /* gx and gy of 32-bit luma fit 32 bits with a sign */
  int32_t side, centre;
  double unit, gain;
  uint32_t range, threshold, flip, bias;
} SobelCpuEdge;

/* out = floor ((2 * (in * (d - k) + code * k) + d) / (2 * d)) with k = e * alpha; see sobel_overlay(). */
typedef struct SobelCpuBlend
{
  uint32_t code, alpha;
  uint32_t d;     /* covered * 255 * range, below 2^29 */
  double inverse; /* 1 / (2 * d) */
} SobelCpuBlend;

/* out = floor ((2 * (in - minus) * white + range) / (2 * range)); see sobel_gray_scale(). */
typedef struct SobelCpuScale
{
  uint32_t minus, white, range;
  double inverse; /* 1 / (2 * range) */
} SobelCpuScale;

/* Exact weighted sums of red, green and blue, and division by the weights' sum. */
typedef struct SobelCpuLuma
{
  int32_t weight[3];
  double inverse;        /* 1 / sum of the weights */
  unsigned step;         /* packed pixels: bytes a pixel, 3 or 4; 1: the samples are luma */
  unsigned position[3];  /* packed pixels: byte of red, green, blue in a pixel */
} SobelCpuLuma;

/* What edge8_luma does beside edges. */
typedef struct SobelCpuLater
{
  const SobelCpuLuma *k;
  const uint8_t *src;    /* a later row, */
  uint8_t *out;          /* and where its luma goes */
  const uint8_t *target; /* as many bytes as at `src`, which are written next: brought near meanwhile; NULL: none */
} SobelCpuLater;

/* 16-bit or 32-bit containers in memory: (container >> shift) & mask, byte-swapped first where `swap`. */
typedef struct SobelCpuContainer
{
  unsigned step; /* containers from one sample to the next: 1, 2 or 4 */
  unsigned shift;
  uint32_t mask;
  bool swap;
} SobelCpuContainer;

typedef struct SobelCpuRows
{
  const char *name; /* of the instruction set, as in info.kernel */
  const char *title; /* for people */

  /* Edge values of n columns; column i has its centre at mid[i + 1] and its neighbours at i and i + 2. */
  void (*edge8) (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out,
                 int32_t n);
  void (*edge16) (const SobelCpuEdge *k, const uint16_t *up, const uint16_t *mid, const uint16_t *down, uint16_t *out,
                  int32_t n);
  void (*edge32_8) (const SobelCpuEdge *k, const uint32_t *up, const uint32_t *mid, const uint32_t *down, uint8_t *out,
                    int32_t n);
  void (*edge32_16) (const SobelCpuEdge *k, const uint32_t *up, const uint32_t *mid, const uint32_t *down,
                     uint16_t *out, int32_t n);

  /* Luma of RGB: rounded down from planar rows, the same from packed bytes, and not rounded. */
  void (*luma8) (const SobelCpuLuma *k, const uint8_t *r, const uint8_t *g, const uint8_t *b, uint8_t *out, int32_t n);
  void (*luma16) (const SobelCpuLuma *k, const uint16_t *r, const uint16_t *g, const uint16_t *b, uint16_t *out,
                  int32_t n);
  void (*luma8_packed) (const SobelCpuLuma *k, const uint8_t *src, uint8_t *out, int32_t n);
  void (*luma8_32) (const SobelCpuLuma *k, const uint8_t *r, const uint8_t *g, const uint8_t *b, uint32_t *out,
                    int32_t n);
  void (*luma16_32) (const SobelCpuLuma *k, const uint16_t *r, const uint16_t *g, const uint16_t *b, uint32_t *out,
                     int32_t n);

  /* edge8, and in the same loop luma of n columns of another row: while edges wait for roots there is time for it, and
   * memory is read all the time instead of now and then. */
  void (*edge8_luma) (const SobelCpuEdge *k, const uint8_t *up, const uint8_t *mid, const uint8_t *down, uint8_t *out,
                      int32_t n, const SobelCpuLater *later);
  bool luma_between; /* pixels of several bytes gain by that, too: sixteen registers are too few for both */

  /* Samples out of memory: n samples, `step` bytes (1 to 6) or containers apart, the first at `src`. */
  void (*pick8) (const uint8_t *src, unsigned step, uint8_t *out, int32_t n);
  void (*pick16) (const SobelCpuContainer *k, const uint8_t *src, uint16_t *out, int32_t n);
  void (*pick32) (const SobelCpuContainer *k, const uint8_t *src, uint16_t *out, int32_t n);

  /* Samples into memory, interleaved; inputs may be the same row. 16-bit samples are shifted and swapped as `k` says.
   */
  void (*join2_8) (const uint8_t *const *in, uint8_t *out, int32_t n);
  void (*join3_8) (const uint8_t *const *in, uint8_t *out, int32_t n);
  void (*join4_8) (const uint8_t *const *in, uint8_t *out, int32_t n);
  void (*join1_16) (const SobelCpuContainer *k, const uint16_t *const *in, uint8_t *out, int32_t n);
  void (*join2_16) (const SobelCpuContainer *k, const uint16_t *const *in, uint8_t *out, int32_t n);
  void (*join4_16) (const SobelCpuContainer *k, const uint16_t *const *in, uint8_t *out, int32_t n);
  /* in[i] << shift[i] in one 32-bit container; n_in is 3 or 4. */
  void (*join_word) (const uint8_t *shift, bool swap, unsigned n_in, const uint16_t *const *in, uint8_t *out,
                     int32_t n);

  /* Sums over 1 << w_sub columns of n luma columns (the last sum may have fewer), added to what `out` holds
   * unless `first`. */
  void (*sum8) (const uint8_t *e, unsigned w_sub, bool first, uint16_t *out, int32_t n);
  void (*sum16) (const uint16_t *e, unsigned w_sub, bool first, uint32_t *out, int32_t n);

  /* in and out may be the same row. */
  void (*blend8) (const SobelCpuBlend *k, const uint8_t *in, const uint8_t *e, uint8_t *out, int32_t n);
  void (*blend8_sum) (const SobelCpuBlend *k, const uint8_t *in, const uint16_t *e, uint8_t *out, int32_t n);
  void (*blend16) (const SobelCpuBlend *k, const uint16_t *in, const uint16_t *e, uint16_t *out, int32_t n);
  void (*blend16_sum) (const SobelCpuBlend *k, const uint16_t *in, const uint32_t *e, uint16_t *out, int32_t n);

  /* `in` where e is not 0, else `other`. in and out may be the same row. */
  void (*mask8) (uint8_t other, const uint8_t *in, const uint8_t *e, uint8_t *out, int32_t n);
  void (*mask8_sum) (uint8_t other, const uint8_t *in, const uint16_t *e, uint8_t *out, int32_t n);
  void (*mask16) (uint16_t other, const uint16_t *in, const uint16_t *e, uint16_t *out, int32_t n);
  void (*mask16_sum) (uint16_t other, const uint16_t *in, const uint32_t *e, uint16_t *out, int32_t n);

  /* Gray output; in and out may be the same row. */
  void (*scale8) (const SobelCpuScale *k, const uint8_t *in, uint8_t *out, int32_t n);
  void (*scale16) (const SobelCpuScale *k, const uint16_t *in, uint16_t *out, int32_t n);
  /* Luma rounded down and clamped to low ... high. */
  void (*code8) (uint8_t low, uint8_t high, const uint8_t *in, uint8_t *out, int32_t n);
  void (*code16) (uint16_t low, uint16_t high, const uint16_t *in, uint16_t *out, int32_t n);
  void (*code32_8) (uint32_t unit, const uint32_t *in, uint8_t *out, int32_t n);
  void (*code32_16) (uint32_t unit, const uint32_t *in, uint16_t *out, int32_t n);

  /* mode=direction: offsets of the three components, not rounded; neighbourhoods as for edge8, e[i] is the edge value
   * of the centre mid[i + 1]. */
  void (*hue8) (const SobelRecipe *recipe, const uint8_t *up, const uint8_t *mid, const uint8_t *down,
                const uint8_t *e, float *const *out, int32_t n);
  void (*hue16) (const SobelRecipe *recipe, const uint16_t *up, const uint16_t *mid, const uint16_t *down,
                 const uint16_t *e, float *const *out, int32_t n);
  void (*hue32_8) (const SobelRecipe *recipe, const uint32_t *up, const uint32_t *mid, const uint32_t *down,
                   const uint8_t *e, float *const *out, int32_t n);
  void (*hue32_16) (const SobelRecipe *recipe, const uint32_t *up, const uint32_t *mid, const uint32_t *down,
                    const uint16_t *e, float *const *out, int32_t n);
  /* As sum8, of offsets; sums run row by row, left to right. */
  void (*hue_sum) (const float *in, unsigned w_sub, bool first, float *out, int32_t n);
  /* Codes at base + in / covered. */
  void (*hue_code8) (const SobelRecipe *recipe, uint32_t base, uint32_t covered, const float *in, uint8_t *out,
                     int32_t n);
  void (*hue_code16) (const SobelRecipe *recipe, uint32_t base, uint32_t covered, const float *in, uint16_t *out,
                      int32_t n);
} SobelCpuRows;

/* Instruction sets, best last. Each fills the whole table: the C functions, compiled for the set, but for those that it
 * does better by intrinsics. */
void sobel_cpu_rows_c (SobelCpuRows *rows);
void sobel_cpu_rows_sse41 (SobelCpuRows *rows);
void sobel_cpu_rows_avx2 (SobelCpuRows *rows);
void sobel_cpu_rows_avx512 (SobelCpuRows *rows);
void sobel_cpu_rows_neon (SobelCpuRows *rows);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_ORACLE_PRIVATE_H
#define SOBEL_TEST_ORACLE_PRIVATE_H

/* Between oracleedges.c, which computes E, and oracle.c, which makes pictures of it. */

#include "oracle.h"

typedef struct Scale
{
  int black, white;     /* codes of luma, gray or RGB */
  int max, neutral;     /* 2^n - 1, 2^(n-1) */
  int chroma_range;     /* codes between the extremes of chroma */
  int kr, kg, kb;       /* of the YUV matrix, in 1/10000 */
  int weight[3], units; /* of the luma made from RGB */
} Scale;

typedef struct Oracle
{
  const OraclePicture *in;
  const SobelParams *params;
  Scale scale;
  bool rgb, gray_in, gray_out, interlaced;
  int unit;        /* u */
  int64_t *luma;   /* of each pixel, in units of 1/u */
  int64_t *gx, *gy;
  int *e;
} Oracle;

/* E, and where it can be told gx and gy, of every pixel. */
void oracle_edges_init (Oracle *oracle, const OraclePicture *in, const GstVideoInfo *info, const SobelParams *params,
                        bool interlaced);
void oracle_edges_clear (Oracle *oracle);

static inline int
clamp (int64_t value, int low, int high)
{
  return value < low ? low : value > high ? high : (int) value;
}

static inline int
code_at (const OraclePicture *picture, int component, int x, int y)
{
  const OracleComponent *c = &picture->component[component];

  return c->code[(size_t) y * c->width + x];
}

#endif

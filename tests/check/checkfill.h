/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_CHECK_FILL_H
#define SOBEL_TEST_CHECK_FILL_H

#include "oracle.h"
#include "testutil.h"

/* What the checker draws into luma, gray and RGB. Chroma and alpha are always noise. */
typedef enum CheckFill
{
  CHECK_FILL_NOISE,      /* every code as likely */
  CHECK_FILL_FLAT,       /* one code */
  CHECK_FILL_CHECKER,    /* 0 and 2^n - 1, one pixel each */
  CHECK_FILL_STRIPES,    /* 0 and 2^n - 1, rows or columns, two pixels each */
  CHECK_FILL_STEP_X,     /* from one code to another at a column, rising or falling */
  CHECK_FILL_STEP_Y,     /* at a row */
  CHECK_FILL_DIAGONAL,   /* at x + y or x - y */
  CHECK_FILL_DOT,        /* one pixel that differs */
  CHECK_FILL_RAMP,       /* slopes across and down that wrap around */
  CHECK_FILL_LOW_NOISE,  /* a few codes around one, where the rounding of roots shows */
  CHECK_FILL_EXTREMES,   /* black, white, their neighbours, 0 and 2^n - 1 */
  CHECK_N_FILLS,
} CheckFill;

const char *check_fill_name (CheckFill fill);

/* `level`: height of steps and dots in codes; 0: any. `black`, `white`: codes that EXTREMES draws from.
 * RGB is gray in half of the pictures and has unrelated components in the others. */
void check_fill (OraclePicture *picture, CheckFill fill, unsigned level, unsigned black, unsigned white,
                 TRandom *random);

#endif

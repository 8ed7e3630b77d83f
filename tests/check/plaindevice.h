/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_PLAIN_DEVICE_H
#define SOBEL_TEST_PLAIN_DEVICE_H

#include "sobeldevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device that computes one sample after the other with the project's shared arithmetic (sobelarith.h) and table
 * of formats, so that both are held against the oracle; and, on request, one that is wrong in one way, so that
 * the checker can be held against it. */

typedef enum PlainMutant
{
  PLAIN_RIGHT,
  PLAIN_SIGN_DROPPED,     /* falling edges are lost */
  PLAIN_AXES_SWAPPED,
  PLAIN_BORDER_REPEATED,  /* mirror repeats the edge sample */
  PLAIN_BORDER_CODE_0,    /* zero is code 0, not black */
  PLAIN_RIM_DRAWN,        /* none draws the last row */
  PLAIN_COLUMN_SKIPPED,   /* the last one is not written */
  PLAIN_ROW_SKIPPED,
  PLAIN_PAST_ROW,         /* one byte too many is written */
  PLAIN_BEFORE_PLANE,     /* one byte too early */
  PLAIN_PADDING_READ,     /* what lies behind a row counts as its neighbour */
  PLAIN_TAIL,             /* the last columns of a row that is no multiple of 16 see themselves to the right */
  PLAIN_INPUT_WRITTEN,
  PLAIN_ROUNDED,          /* to the nearest instead of down */
  PLAIN_WRAPPED,          /* at the width of a sample, instead of clamped */
  PLAIN_CLAMPED_AT_WHITE, /* E above the code of white instead of the range */
  PLAIN_WEIGHTS,          /* scharr is 3, 9, 3 */
  PLAIN_BGR,              /* red and blue are mixed up in luma */
  PLAIN_LUMA_ROUNDED,
  PLAIN_SINGLE_PRECISION, /* where double is due */
  PLAIN_RECIPROCAL,       /* times 1/u instead of divided by u */
  PLAIN_GAIN_FIRST,       /* before the division by u */
  PLAIN_THRESHOLD,        /* at the threshold counts as below */
  PLAIN_INVERT_FIRST,     /* before the threshold */
  PLAIN_UNUSED_BITS_READ,
  PLAIN_UNUSED_BITS_LEFT, /* unwritten */
  PLAIN_FILLER_0,
  PLAIN_CHROMA_0,
  PLAIN_ALPHA_OPAQUE,
  PLAIN_OVERLAY_TRUNCATED,
  PLAIN_OVERLAY_COVERS,   /* chroma counts pixels beyond the picture */
  PLAIN_MASK_FIRST,       /* chroma looks at one of its pixels */
  PLAIN_GRAY_TRUNCATED,
  PLAIN_GRAY_UNCLAMPED,   /* codes beyond black and white wrap around */
  PLAIN_FIELDS_MIXED,
  PLAIN_LAST_CHROMA_ROW,  /* one that covers no pixel is not written */
  PLAIN_DIRECTION_FLIPPED,
  PLAIN_DIRECTION_NEAR,   /* one code brighter, which the contract allows but not the other backends */
  PLAIN_NEUTRAL_WRITTEN,  /* although it was ready */
  PLAIN_FRAMES_SWAPPED,   /* every 16th frame is that of another slot */
  PLAIN_RARE,             /* one sample in a thousand frames is one code off */
  PLAIN_N_MUTANTS,
} PlainMutant;

const char *plain_mutant_name (PlainMutant mutant);

/* NULL when memory is short. */
SobelDevice *plain_device_new (PlainMutant mutant);

#ifdef __cplusplus
}
#endif
#endif

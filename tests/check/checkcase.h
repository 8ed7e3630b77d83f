/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_CHECK_CASE_H
#define SOBEL_TEST_CHECK_CASE_H

/* One picture: its memory, what must come out, and what is wrong with what did. Within the checker. */

#include "checker.h"

/* What all pictures of a configuration have in common on one side. */
typedef struct CheckSide
{
  const GstVideoFormatInfo *info;
  const SobelFormat *format;
  int width, height;
  TLayout shape; /* row_bytes and rows; no offsets */
  int rows[ORACLE_MAX_PLANES];
  uint8_t *mask[ORACLE_MAX_PLANES]; /* bits of a row that carry samples */
  size_t bound;                     /* no region is larger */
} CheckSide;

typedef struct CheckCase
{
  const CheckConfig *config;
  const CheckSide *in_side, *out_side;
  CheckPicture picture;
  unsigned index;
  TLayout in_layout, out_layout;
  OraclePicture in, out; /* codes; `out` is the oracle's answer */
  uint8_t *input;        /* region as the device gets it */
  uint8_t *before;       /* the output's region before */
  uint8_t *want;         /* and as it must be afterwards */
} CheckCase;

typedef struct CheckFinding
{
  CheckFault fault;
  size_t position; /* of the first wrong byte in the region */
  unsigned plane;
  int row;
  size_t byte;                /* of the row */
  unsigned component, x, y;   /* of a sample */
  unsigned expected, got;     /* codes */
  unsigned n_bytes;           /* that differ */
} CheckFinding;

/* `info`: the input's, whose interlacing and size the output shares. NULL `format` in the result: the project
 * does not know it. */
void check_side_init (CheckSide *side, const GstVideoInfo *info, GstVideoFormat format);
void check_side_clear (CheckSide *side);

void check_case_init (CheckCase *c, const CheckConfig *config, const CheckSide *in_side, const CheckSide *out_side,
                      const CheckPicture *picture, unsigned index, TRandom *random);
void check_case_clear (CheckCase *c);

/* Asks the oracle. */
void check_case_solve (CheckCase *c);

/* `in` and `out` are the regions after the device's work. */
CheckFinding check_case_compare (const CheckCase *c, const uint8_t *in, const uint8_t *out);

/* Everything about the case and the finding that a person needs to know. */
void check_case_report (FILE *file, const CheckCase *c, const CheckFinding *finding, const uint8_t *out);

/* A view of a picture that lies in `region`. */
SobelImage check_image (const CheckSide *side, const TLayout *layout, uint8_t *region);

uint64_t check_samples (const CheckCase *c);

#endif

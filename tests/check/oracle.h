/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_ORACLE_H
#define SOBEL_TEST_ORACLE_H

/* What a picture must look like, computed slowly and plainly. It shares nothing with the code under test but
 * the names of the parameters' values: samples go through GStreamer's own pack and unpack functions, numbers
 * are written out again from the rules in docs/numbers.md. */

#include "sobelparams.h"

#include <gst/video/video.h>

enum { ORACLE_MAX_COMPONENTS = 4, ORACLE_MAX_PLANES = 4 };

/* A component's samples as plain codes, row after row. */
typedef struct OracleComponent
{
  int width, height; /* in samples of this component */
  int w_sub, h_sub;  /* log2 of the pixels that a sample covers across and down */
  unsigned depth;    /* bits of a code */
  uint16_t *code;
} OracleComponent;

/* A picture taken apart. Components: gray; or R G B; or Y U V; alpha, where there is one, is the fourth. */
typedef struct OraclePicture
{
  const GstVideoFormatInfo *format;
  int width, height; /* pixels */
  unsigned n_components;
  OracleComponent component[ORACLE_MAX_COMPONENTS];
} OraclePicture;

typedef struct OraclePlane
{
  uint8_t *data;    /* first row */
  ptrdiff_t stride; /* bytes */
} OraclePlane;

/* ---- samples (oraclesamples.c) ---- */

/* Whether the element has to know this format. */
bool oracle_format_is_required (const GstVideoFormatInfo *format);

/* Bytes of a row of `plane`, whole macropixels included. */
size_t oracle_row_bytes (const GstVideoFormatInfo *format, unsigned plane, int width);

/* Rows of samples that the layout of `info` has room for in `plane`: for planes of subsampled rows possibly
 * more than the picture covers, for others the height. */
int oracle_plane_rows (const GstVideoInfo *info, unsigned plane);

/* log2 of the pixel rows that a row of `plane` covers. */
int oracle_plane_h_sub (const GstVideoFormatInfo *format, unsigned plane);

/* Fills `mask` (oracle_row_bytes) with ones where a bit of a row carries a sample of the picture, and `spare`
 * (likewise) where it carries luma of a pixel beyond it, in the row's last macropixel. What is in neither is
 * filler or unused. */
void oracle_row_bits (const GstVideoFormatInfo *format, unsigned plane, int width, uint8_t *mask, uint8_t *spare);

/* `rows`: of each plane. All codes are 0. */
void oracle_picture_init (OraclePicture *picture, const GstVideoFormatInfo *format, int width, int height,
                          const int *rows);
void oracle_picture_clear (OraclePicture *picture);

void oracle_decode (OraclePicture *picture, const OraclePlane *plane);

/* Writes whole rows: filler bytes all ones, unused and spare bits 0. */
void oracle_encode (const OraclePicture *picture, const OraclePlane *plane);

/* ---- numbers (oracle.c) ---- */

/* `out` is initialised: of the input's format, or GRAY8 / GRAY16_LE for gray made from another one. `info`
 * describes the input. `interlaced`: this frame consists of two fields. */
void oracle_apply (OraclePicture *out, const OraclePicture *in, const GstVideoInfo *info, const SobelParams *params,
                   bool interlaced);

/* By how many codes a component of the output may differ from the oracle's: 2 where directions are drawn. */
unsigned oracle_tolerance (const OraclePicture *out, const SobelParams *params, unsigned component);

#endif

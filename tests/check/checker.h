/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_CHECKER_H
#define SOBEL_TEST_CHECKER_H

/* Runs pictures through devices, by their seam, and compares every byte with the oracle's.
 *
 * A lane is a device with one of its kernels. Every picture goes through every lane, so that its oracle is
 * computed once. A configuration is what devices are configured for; its pictures differ in everything else.
 *
 * Each picture lies in a region of random bytes: the input's are compared afterwards (nothing may write to
 * it), the output's too (nothing may write outside the rows, or leave a byte of them unwritten). */

#include "checkfill.h"
#include "sobeldevice.h"

enum { CHECK_MAX_LANES = 16, CHECK_MAX_EXTRA_ROWS = 3 };

typedef struct CheckLane
{
  SobelDevice *device; /* borrowed; lanes of one device stand next to each other */
  SobelKernel kernel;
  char name[64];    /* for messages */
  char options[96]; /* command line options that choose this lane alone */
} CheckLane;

typedef struct CheckConfig
{
  GstVideoInfo info;  /* of the input */
  GstVideoFormat out; /* the input's, or gray */
} CheckConfig;

typedef struct CheckPicture
{
  SobelParams params; /* the kernel is the lane's */
  CheckFill fill;
  unsigned level; /* of the fill */
  bool interlaced;
  bool neutral_ready; /* the device must leave neutral planes alone */
  TStride in_stride, out_stride;
  unsigned extra_rows; /* room that planes of the input have below the picture */
} CheckPicture;

typedef enum CheckFault
{
  CHECK_FAULT_NONE,
  CHECK_FAULT_INPUT_WRITTEN,
  CHECK_FAULT_OUTSIDE, /* written where no row is */
  CHECK_FAULT_SAMPLE,
  CHECK_FAULT_BITS,    /* filler, unused bits, or a neutral plane that was to be left alone */
  CHECK_FAULT_LANES,   /* right, but not the same as the first lane's */
  CHECK_FAULT_OTHER,   /* no picture came */
  CHECK_N_FAULTS,
} CheckFault;

typedef struct CheckTotals
{
  uint64_t configs, pictures; /* pictures: outputs compared, one a lane */
  uint64_t samples;           /* compared */
  uint64_t mismatches;        /* outputs that differ */
  uint64_t faults[CHECK_N_FAULTS]; /* the same by kind */
} CheckTotals;

typedef struct CheckOptions
{
  uint64_t seed;
  unsigned shard, n_shards; /* every n_shards-th configuration, from the shard-th on; n_shards 0: all */
  const char *only;         /* "plan/configuration" or "plan/configuration/picture", or NULL */
  const char *formats;      /* names with commas between; NULL: all */
  const char *command;      /* start of the command line that makes a case again, without lane, seed and case */
  FILE *report;             /* mismatches; NULL: only counted */
  bool progress;            /* a line on stderr that keeps changing */
  bool guard;               /* under AddressSanitizer: stop where a device touches a canary, even to read */
  unsigned max_reports;     /* later mismatches are only counted */
  unsigned stop_after;      /* mismatches after which every further picture is skipped; 0: never */
} CheckOptions;

typedef struct Checker Checker;

/* Borrows the lanes' devices and the options' strings. NULL with `error` when memory is short. */
Checker *checker_new (const CheckLane *lanes, unsigned n_lanes, const CheckOptions *options, SobelError *error);
void checker_free (Checker *checker);

/* Seed for what a plan decides before its first configuration. */
uint64_t checker_seed (const Checker *checker);

/* Starts a configuration of `plan`. false: not this one (filtered away, or nothing more is to be done). */
bool checker_begin (Checker *checker, const char *plan, const CheckConfig *config);
/* Chance for the parameters of the next picture. */
TRandom *checker_random (Checker *checker);
void checker_picture (Checker *checker, const CheckPicture *picture);
void checker_end (Checker *checker);

/* Whether `format` passes the filter of formats. */
bool checker_wants_format (const Checker *checker, const GstVideoFormatInfo *format);

/* For mistakes that no picture shows. */
void checker_fail (Checker *checker, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

const CheckTotals *checker_totals (const Checker *checker);
bool checker_stopped (const Checker *checker);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CPU_PLAN_H
#define SOBEL_CPU_PLAN_H

#include "cpurows.h"

/* How the samples of one plane lie in a row of it. */
typedef enum SobelCpuLayout
{
  SOBEL_CPU_LAYOUT_1X8,
  SOBEL_CPU_LAYOUT_2X8,
  SOBEL_CPU_LAYOUT_3X8,
  SOBEL_CPU_LAYOUT_4X8,
  SOBEL_CPU_LAYOUT_1X16,
  SOBEL_CPU_LAYOUT_2X16,
  SOBEL_CPU_LAYOUT_4X16,
  SOBEL_CPU_LAYOUT_WORD,   /* all in one 32-bit container */
  SOBEL_CPU_LAYOUT_422_8,  /* luma alternates with U and V */
  SOBEL_CPU_LAYOUT_422_16, /* likewise */
  SOBEL_CPU_LAYOUT_IYU1,   /* U Y Y V Y Y */
} SobelCpuLayout;

typedef struct SobelCpuPlane
{
  SobelCpuLayout layout;
  uint8_t n;            /* components in this plane */
  uint8_t component[4]; /* in the order of memory (in a word: of `shift`; 4:2:2: chroma alone) */
  uint8_t shift[4];     /* in a word: of each of `component` */
  bool luma_first;      /* 4:2:2 */
  bool native;          /* the samples are a planar row as they stand: 1X8, or 1X16 of 16 bits in native order */
  uint8_t w_sub, h_sub; /* of the component with the most samples */
  SobelCpuContainer container;
} SobelCpuPlane;

void sobel_cpu_plane_init (SobelCpuPlane *plane, const SobelFormat *format, unsigned index);

/* What a thread needs beside the pictures: rows, no frames. The types of the rows are those of the plan. */
typedef struct SobelCpuScratch
{
  void *memory;
  void *luma[4];      /* the latest luma rows, row y in luma[y % 4], with one sample more at both ends */
  int32_t luma_y[4];  /* which row is there; -1: none */
  int32_t luma_end;   /* the band in work needs no luma row from this one on */
  const uint8_t *target; /* where pixels are put once their edges are made; NULL: they are made in place, or gray */
  void *rgb[3];       /* on the way to luma */
  void *edge;
  void *component[4]; /* of the output row in work */
  void *pair;         /* interleaved chroma of 4:2:2 */
  void *sum;
  float *hue[3];
  float *hue_sum[2];
} SobelCpuScratch;

/* Makes room for pictures `width` wide; false: memory is short. */
bool sobel_cpu_scratch_init (SobelCpuScratch *scratch, int32_t width);
void sobel_cpu_scratch_clear (SobelCpuScratch *scratch);

/* Rows of constants, `width` samples long (and one more where a macropixel asks for it). Read by all threads. */
typedef struct SobelCpuConstants
{
  void *memory;
  void *outside; /* luma outside the picture, with one sample more at both ends */
  void *neutral; /* chroma samples */
  void *filler;  /* the x of RGBx, samples */
  void *neutral_bytes; /* a row of a plane of neutral chroma, as it is in memory */
} SobelCpuConstants;

bool sobel_cpu_constants_init (SobelCpuConstants *constants, int32_t width);
void sobel_cpu_constants_clear (SobelCpuConstants *constants);

/* One frame's work, resolved; read by all threads. Borrows everything it points to. */
typedef struct SobelCpuPlan
{
  const SobelCpuRows *rows;
  const SobelCpuConstants *constants;
  SobelRecipe recipe;
  const SobelFormat *in_format, *out_format;
  SobelCpuPlane in_plane[SOBEL_MAX_PLANES], out_plane[SOBEL_MAX_PLANES];
  uint8_t out_use[SOBEL_MAX_PLANES]; /* SobelPlaneUse */
  bool neutral_ready;

  unsigned n_pictures; /* 2: the fields of an interlaced frame */
  SobelImage in[2], out[2];

  bool wide;      /* samples are uint16_t, else uint8_t */
  bool luma_wide; /* luma rows are uint32_t */
  bool has_hue;   /* colours by direction */
  unsigned group; /* rows of luma that belong together: 1 << the largest h_sub of the output */
  SobelCpuEdge edge;
  SobelCpuLuma luma;
  SobelCpuScale scale;
} SobelCpuPlan;

/* `plan->rows` and `plan->constants` are set; fills the rest, and the constants. */
void sobel_cpu_plan_init (SobelCpuPlan *plan, const SobelConfig *config, const SobelImage *in, const SobelImage *out,
                          const SobelRecipe *recipe, bool interlaced, bool neutral_ready);

/* Rows y0 ... y1 - 1 of a picture. y0 is a multiple of `group`, and y1 is one or the height. The band that ends at the
 * height also writes the chroma rows that the layout has beyond. */
void sobel_cpu_band (const SobelCpuPlan *plan, unsigned picture, int32_t y0, int32_t y1, SobelCpuScratch *scratch);

/* ---- between the files of the pipeline ------------------------------------------------------------ */

/* Bytes of a sample in a planar row. */
static inline size_t
sobel_cpu_sample_size (const SobelCpuPlan *plan)
{
  return plan->wide ? 2 : 1;
}

static inline uint8_t *
sobel_cpu_row (const SobelPlane *plane, int32_t y)
{
  return plane->data + (ptrdiff_t) y * plane->stride;
}

/* True where a row of native samples at this address may be used in place. */
static inline bool
sobel_cpu_in_place (const SobelCpuPlane *layout, const void *row)
{
  return layout->native && (layout->layout == SOBEL_CPU_LAYOUT_1X8 || (uintptr_t) row % 2 == 0);
}

/* Fills `n` samples with one value. */
void sobel_cpu_fill (const SobelCpuPlan *plan, void *row, uint32_t value, int32_t n);

/* n samples of a component from the start of a row of its plane: in place where that is possible, else put into `row`.
 */
const void *sobel_cpu_pick (const SobelCpuPlan *plan, const SobelFormat *format, const SobelCpuPlane *planes,
                            unsigned component, const uint8_t *src, void *row, int32_t n);

/* Writes a row of a plane from one row a component (indexed by component), `width` luma columns wide. The luma row of a
 * plane that also has subsampled chroma is extended by zeros to whole macropixels. */
void sobel_cpu_put (const SobelCpuPlan *plan, const SobelCpuPlane *plane, void *const *rows, uint8_t *dst,
                    int32_t width, SobelCpuScratch *scratch);

/* Luma of row y of a picture, 0 to height - 1; the border's samples stand at -1 and at `width`. Valid until the edges
 * of row y + 2 are made. */
const void *sobel_cpu_luma_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch);

/* Edge values of row y (plus edge.bias) into `out`, samples. */
void sobel_cpu_edge_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, void *out,
                         SobelCpuScratch *scratch);

/* Offsets of the three components of row y by direction into scratch->hue, from the edge values in scratch->edge. */
void sobel_cpu_hue_row (const SobelCpuPlan *plan, const SobelImage *in, int32_t y, SobelCpuScratch *scratch);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkcase.h"

static void
report_params (FILE *file, const SobelParams *p)
{
  static const char *ops[] = {"sobel", "scharr", "prewitt"}, *gradients[] = {"both", "x", "y"}, *norms[] = {"l2", "l1"};
  static const char *borders[] = {"replicate", "zero", "mirror", "none"}, *precisions[] = {"integer", "float"};
  static const char *lumas[] = {"bt601", "bt709", "bt2020"};
  static const char *modes[] = {"edges", "overlay", "mask", "direction", "bypass"};

  fprintf (file, "  mode=%s operator=%s gradient=%s norm=%s border=%s precision=%s luma=%s invert=%d gain=%.17g\n",
           modes[p->mode], ops[p->op], gradients[p->gradient], norms[p->norm], borders[p->border],
           precisions[p->precision], lumas[p->luma], p->invert, p->gain);
  fprintf (file, "  threshold=%.17g overlay-color=0x%08x\n", p->threshold, p->overlay_color);
}

static void
report_layout (FILE *file, const char *title, const CheckSide *side, const TLayout *layout)
{
  unsigned p;

  fprintf (file, "  %s %s:", title, side->info->name);
  for (p = 0; p < layout->n_planes; p++)
    fprintf (file, " plane %u at %zu stride %zu (%zu bytes used) rows %d%s", p, layout->plane[p].offset,
             layout->plane[p].stride, layout->plane[p].row_bytes, layout->plane[p].rows,
             p + 1 < layout->n_planes ? "," : "\n");
}

static void
report_rows (FILE *file, const CheckCase *c, const CheckFinding *finding, const uint8_t *out)
{
  const TPlaneLayout *plane = &c->out_layout.plane[finding->plane];
  const size_t start = plane->offset + (size_t) finding->row * plane->stride;

  fprintf (file, "  row %d of plane %u:\n", finding->row, finding->plane);
  t_hex_diff (file, c->want + start, out + start, plane->row_bytes, 4);
}

/* Where a byte of no row lies, in terms of the nearest row before it. */
static void
report_outside (FILE *file, const CheckCase *c, const CheckFinding *finding, const uint8_t *out)
{
  const size_t start = finding->position / 16 * 16;
  size_t before = finding->position, byte;
  unsigned plane;
  int row;

  while (before > 0 && !t_layout_locate (&c->out_layout, before - 1, &plane, &row, &byte))
    before--;
  if (before == 0)
    fprintf (file, "  written before the first row, at %zu of the region\n", finding->position);
  else
    fprintf (file, "  written %zu bytes past the end of row %d of plane %u\n", finding->position - before + 1, row,
             plane);
  t_hex_diff (file, c->before + start, out + start, MIN (48, c->out_layout.size - start), 3);
}

void
check_case_report (FILE *file, const CheckCase *c, const CheckFinding *finding, const uint8_t *out)
{
  const GstVideoInfo *info = &c->config->info;
  char *colorimetry = gst_video_colorimetry_to_string (&info->colorimetry);

  fprintf (file, "  %s to %s, %dx%d, range %s, matrix %d (%s), %s%s, fill %s, level %u\n", c->in_side->info->name,
           c->out_side->info->name, info->width, info->height,
           info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235 ? "limited" : "full", info->colorimetry.matrix,
           colorimetry != NULL ? colorimetry : "-", c->picture.interlaced ? "interlaced" : "progressive",
           c->picture.neutral_ready ? ", neutral ready" : "", check_fill_name (c->picture.fill), c->picture.level);
  g_free (colorimetry);
  report_params (file, &c->picture.params);
  report_layout (file, "in ", c->in_side, &c->in_layout);
  report_layout (file, "out", c->out_side, &c->out_layout);
  switch (finding->fault) {
    case CHECK_FAULT_INPUT_WRITTEN:
      fprintf (file, "  the input was written to, first at %zu of the region (%u bytes)\n", finding->position,
               finding->n_bytes);
      break;
    case CHECK_FAULT_OUTSIDE:
      report_outside (file, c, finding, out);
      break;
    case CHECK_FAULT_SAMPLE:
      fprintf (file, "  component %u at (%u, %u): expected %u, got %u (%u bytes of the picture differ)\n",
               finding->component, finding->x, finding->y, finding->expected, finding->got, finding->n_bytes);
      report_rows (file, c, finding, out);
      break;
    case CHECK_FAULT_BITS:
      fprintf (file, "  filler, unused bits, what lies beyond the picture or a neutral plane: byte %zu (%u bytes)\n",
               finding->byte, finding->n_bytes);
      report_rows (file, c, finding, out);
      break;
    case CHECK_FAULT_LANES:
      fprintf (file, "  within the tolerance, but not what the first lane gives\n");
      break;
    case CHECK_FAULT_OTHER:
    case CHECK_FAULT_NONE:
    default:
      break;
  }
}

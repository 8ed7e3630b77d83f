/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checkfill.h"

#include <string.h>

const char *
check_fill_name (CheckFill fill)
{
  static const char *names[] = {
      [CHECK_FILL_NOISE] = "noise",       [CHECK_FILL_FLAT] = "flat",           [CHECK_FILL_CHECKER] = "checker",
      [CHECK_FILL_STRIPES] = "stripes",   [CHECK_FILL_STEP_X] = "step-x",       [CHECK_FILL_STEP_Y] = "step-y",
      [CHECK_FILL_DIAGONAL] = "diagonal", [CHECK_FILL_DOT] = "dot",             [CHECK_FILL_RAMP] = "ramp",
      [CHECK_FILL_LOW_NOISE] = "low-noise", [CHECK_FILL_EXTREMES] = "extremes",
  };

  return fill < CHECK_N_FILLS ? names[fill] : "?";
}

/* The constants of one drawing. */
typedef struct Brush
{
  CheckFill fill;
  unsigned max, low, high; /* codes */
  unsigned black, white;
  unsigned amplitude;
  int x, y;     /* where it happens */
  int dx, dy;   /* slopes */
  bool flipped; /* falling instead of rising; the other diagonal; rows instead of columns */
} Brush;

static Brush
brush_init (const OraclePicture *picture, CheckFill fill, unsigned level, TRandom *random)
{
  Brush b = {.fill = fill, .max = (1u << picture->component[0].depth) - 1};
  const unsigned height = level == 0 ? 1 + t_random_below (random, b.max) : level < b.max ? level : b.max;

  b.low = t_random_below (random, b.max - height + 1);
  b.high = b.low + height;
  b.amplitude = 1 + t_random_below (random, 4);
  b.x = (int) t_random_below (random, (uint32_t) picture->width);
  b.y = (int) t_random_below (random, (uint32_t) picture->height);
  b.dx = (int) t_random_below (random, b.max / 8 + 2) - (int) b.max / 16;
  b.dy = (int) t_random_below (random, b.max / 8 + 2) - (int) b.max / 16;
  b.flipped = t_random_below (random, 2);
  return b;
}

static unsigned
clamped (int64_t code, unsigned max)
{
  return code < 0 ? 0 : code > max ? max : (unsigned) code;
}

static unsigned
extreme (const Brush *b, TRandom *random)
{
  const int64_t codes[] = {0,         1,         b->black, (int64_t) b->black - 1, b->black + 1, b->white,
                           b->white + 1, b->white - 1, b->max, b->max - 1};

  return clamped (codes[t_random_below (random, G_N_ELEMENTS (codes))], b->max);
}

static unsigned
paint (const Brush *b, int x, int y, TRandom *random)
{
  switch (b->fill) {
    case CHECK_FILL_FLAT:
      return b->low;
    case CHECK_FILL_CHECKER:
      return (x + y) % 2 ? b->max : 0;
    case CHECK_FILL_STRIPES:
      return (b->flipped ? y : x) / 2 % 2 ? b->max : 0;
    case CHECK_FILL_STEP_X:
      return (x < b->x) == b->flipped ? b->high : b->low;
    case CHECK_FILL_STEP_Y:
      return (y < b->y) == b->flipped ? b->high : b->low;
    case CHECK_FILL_DIAGONAL:
      return (b->flipped ? x + y < b->x + b->y : x - y < b->x - b->y) ? b->high : b->low;
    case CHECK_FILL_DOT:
      return (x == b->x && y == b->y) == b->flipped ? b->high : b->low;
    case CHECK_FILL_RAMP:
      return (b->low + (unsigned) (x * b->dx) + (unsigned) (y * b->dy)) & b->max;
    case CHECK_FILL_LOW_NOISE:
      return clamped ((int64_t) b->low + t_random_below (random, b->amplitude + 1), b->max);
    case CHECK_FILL_EXTREMES:
      return extreme (b, random);
    case CHECK_FILL_NOISE:
    default:
      return t_random_below (random, b->max + 1);
  }
}

static void
fill_component (OraclePicture *picture, unsigned component, Brush brush, TRandom *random)
{
  OracleComponent *c = &picture->component[component];
  int x, y;

  brush.max = (1u << c->depth) - 1;
  for (y = 0; y < c->height; y++)
    for (x = 0; x < c->width; x++)
      c->code[(size_t) y * c->width + x] = (uint16_t) paint (&brush, x, y, random);
}

void
check_fill (OraclePicture *picture, CheckFill fill, unsigned level, unsigned black, unsigned white, TRandom *random)
{
  const bool rgb = GST_VIDEO_FORMAT_INFO_IS_RGB (picture->format);
  const bool gray = t_random_below (random, 2);
  const Brush noise = {.fill = CHECK_FILL_NOISE};
  unsigned c;

  for (c = 0; c < picture->n_components; c++) {
    if (c == 3 || (c > 0 && !rgb)) {
      fill_component (picture, c, noise, random);
    } else if (c > 0 && gray) {
      memcpy (picture->component[c].code, picture->component[0].code,
              sizeof (uint16_t) * (size_t) picture->width * (size_t) picture->height);
    } else {
      Brush brush = brush_init (picture, fill, level, random);

      brush.black = black;
      brush.white = white;
      fill_component (picture, c, brush, random);
    }
  }
}

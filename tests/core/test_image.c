/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Row sizes, plane rows and fields of pictures. */
#include "sobelimage.h"
#include "testutil.h"

static void
check_row (const char *name, unsigned plane, int32_t width, size_t bytes)
{
  const SobelFormat *f = sobel_format_find (name);
  const size_t got = sobel_image_row_bytes (f, plane, width);

  T_CHECK (got == bytes, "%s plane %u, %d wide: %zu, not %zu bytes", name, plane, width, got, bytes);
}

static void
check_rows (const char *name, unsigned plane, int32_t height, int32_t rows)
{
  const SobelFormat *f = sobel_format_find (name);
  const int32_t got = sobel_image_plane_rows (f, plane, height);

  T_CHECK (got == rows, "%s plane %u, %d high: %d, not %d rows", name, plane, height, got, rows);
}

static void
check_row_bytes (void)
{
  check_row ("GRAY8", 0, 1, 1);
  check_row ("GRAY8", 0, 7, 7);
  check_row ("GRAY16_BE", 0, 7, 14);
  check_row ("RGB", 0, 7, 21);
  check_row ("RGBx", 0, 7, 28);
  check_row ("xRGB", 0, 1, 4);
  check_row ("ARGB64_BE", 0, 3, 24);
  check_row ("r210", 0, 3, 12);
  check_row ("I420", 0, 7, 7);
  check_row ("I420", 1, 7, 4);
  check_row ("I420_10LE", 2, 7, 8);
  check_row ("NV12", 0, 7, 7);
  check_row ("NV12", 1, 7, 8);
  check_row ("P010_10LE", 1, 7, 16);
  check_row ("NV24", 1, 7, 14);
  check_row ("Y41B", 1, 7, 2);
  check_row ("YVU9", 2, 9, 3);
  check_row ("A420", 3, 7, 7);
  check_row ("AV12", 2, 7, 7);
  /* The last macropixel is whole. */
  check_row ("YUY2", 0, 1, 4);
  check_row ("YUY2", 0, 7, 16);
  check_row ("YUY2", 0, 8, 16);
  check_row ("VYUY", 0, 3, 8);
  check_row ("Y210", 0, 3, 16);
  check_row ("v216", 0, 3, 16);
  check_row ("IYU1", 0, 1, 6);
  check_row ("IYU1", 0, 4, 6);
  check_row ("IYU1", 0, 5, 12);
  check_row ("GRAY8", 1, 7, 0);
  /* No overflow at the largest width that any format takes. */
  check_row ("ARGB64", 0, 0x7fffffff, (size_t) 0x7fffffff * 8);
  check_rows ("I420", 0, 7, 7);
  check_rows ("I420", 1, 7, 4);
  check_rows ("Y42B", 1, 7, 7);
  check_rows ("YUV9", 2, 7, 2);
  check_rows ("A420", 3, 7, 7);
  check_rows ("YUY2", 0, 7, 7);
  check_rows ("YUV9", 1, 0x7fffffff, 0x20000000);
}

static void
check_fields (void)
{
  static uint8_t luma[64], u[64], v[64];
  SobelImage image = {.format = sobel_format_find ("I420"), .width = 4, .height = 5};
  SobelImage field;

  image.plane[0] = (SobelPlane){luma, 8, 5};
  image.plane[1] = (SobelPlane){u, 4, 4}; /* as interlaced layouts have: a whole pair of rows */
  image.plane[2] = (SobelPlane){v, -4, 3};

  field = sobel_image_field (&image, 0);
  T_CHECK (field.width == 4 && field.height == 3, "%dx%d", field.width, field.height);
  T_CHECK (field.plane[0].data == luma && field.plane[0].stride == 16 && field.plane[0].rows == 3, "luma");
  T_CHECK (field.plane[1].data == u && field.plane[1].stride == 8 && field.plane[1].rows == 2, "u");
  T_CHECK (field.plane[2].data == v && field.plane[2].stride == -8 && field.plane[2].rows == 2, "v");

  image.plane[2].data = v + 60;
  field = sobel_image_field (&image, 1);
  T_CHECK (field.height == 2, "height %d", field.height);
  T_CHECK (field.plane[0].data == luma + 8 && field.plane[0].rows == 2, "luma");
  T_CHECK (field.plane[1].data == u + 4 && field.plane[1].rows == 2, "u");
  T_CHECK (field.plane[2].data == v + 56 && field.plane[2].rows == 1, "v");

  image.height = 1;
  image.plane[0].rows = 1;
  image.plane[1].rows = image.plane[2].rows = 1;
  field = sobel_image_field (&image, 0);
  T_CHECK (field.height == 1 && field.plane[0].rows == 1 && field.plane[1].rows == 1, "field of one row");
  field = sobel_image_field (&image, 1);
  T_CHECK (field.height == 0 && field.plane[0].rows == 0 && field.plane[1].rows == 0, "field of no row");
}

int
main (void)
{
  check_row_bytes ();
  check_fields ();
  return t_result ();
}

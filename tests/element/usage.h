/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ELEMENT_USAGE_H
#define SOBEL_ELEMENT_USAGE_H

/* What this process uses of what may leak. */

#include "elementtest.h"

G_BEGIN_DECLS

typedef struct
{
  gsize resident; /* bytes */
  guint threads, files;
} Usage;

Usage usage_now (void);
/* Complains if it is more than `before`, after `n` times of `what`; prints the numbers. */
void usage_check_flat (const Usage *before, const char *what, guint n);

G_END_DECLS
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "usage.h"

#include <dirent.h>
#include <unistd.h>

static guint
count_entries (const char *path)
{
  DIR *directory = opendir (path);
  guint n = 0;

  while (directory && readdir (directory))
    n++;
  if (directory)
    closedir (directory);
  return n;
}

Usage
usage_now (void)
{
  Usage now = { 0, count_entries ("/proc/self/task"), count_entries ("/proc/self/fd") };
  unsigned long total = 0, resident = 0;
  FILE *file = fopen ("/proc/self/statm", "r");

  if (file) {
    if (fscanf (file, "%lu %lu", &total, &resident) == 2)
      now.resident = (gsize) resident * (gsize) sysconf (_SC_PAGESIZE);
    fclose (file);
  }
  return now;
}

void
usage_check_flat (const Usage *before, const char *what, guint n)
{
  const Usage now = usage_now ();

  printf ("%s: %u times, %+.2f MB, threads %u then %u, files %u then %u\n", what, n,
          ((double) now.resident - (double) before->resident) / 1e6, before->threads, now.threads, before->files,
          now.files);
  /* GLib keeps some threads of its pool waiting for work, more on a busy machine; a leak has one for each of hundreds
   * of rounds. */
  T_CHECK (now.threads <= before->threads + 16, "%u threads, %u before", now.threads, before->threads);
  T_CHECK (now.files == before->files, "%u files, %u before", now.files, before->files);
  /* Sanitizers and valgrind keep freed memory, and report leaks themselves. */
  if (et_factor () == 1)
    T_CHECK (now.resident < before->resident + 3000000, "%.2f MB more",
             ((double) now.resident - (double) before->resident) / 1e6);
}

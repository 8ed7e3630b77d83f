/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_EXPECT_H
#define SOBEL_TEST_EXPECT_H

#include <stdint.h>
#include <stdio.h>

/* Expectations of the tests that need no framework: a failed one is told, counted, and the test goes on. */
static unsigned long expect_checks, expect_failures;

#define EXPECT(condition, ...)                                                                                         \
  do {                                                                                                                 \
    expect_checks++;                                                                                                   \
    if (!(condition) && expect_failures++ < 20) {                                                                      \
      fprintf (stderr, "%s:%d: " #condition ": ", __FILE__, __LINE__);                                                 \
      fprintf (stderr, __VA_ARGS__);                                                                                   \
      fputc ('\n', stderr);                                                                                            \
    }                                                                                                                  \
  } while (0)

/* The exit status of a test's main. */
static inline int
expect_result (const char *test)
{
  printf ("%s: %lu checks, %lu failures\n", test, expect_checks, expect_failures);
  return expect_checks == 0 || expect_failures > 0;
}

/* Repeatable random numbers (xorshift64*). */
static uint64_t expect_seed = 0x9e3779b97f4a7c15u;

static inline uint32_t
expect_random (void)
{
  expect_seed ^= expect_seed >> 12;
  expect_seed ^= expect_seed << 25;
  expect_seed ^= expect_seed >> 27;
  return (uint32_t) ((expect_seed * 0x2545f4914f6cdd1du) >> 32);
}

#endif

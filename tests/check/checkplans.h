/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_CHECK_PLANS_H
#define SOBEL_TEST_CHECK_PLANS_H

#include "checker.h"

/* What is tried. A plan walks through everything of one kind (all widths of all formats, say) and leaves the
 * rest to chance; the last one leaves all of it to chance. `full`: the same with far more of each. The cases of a plan
 * depend on nothing but `full` and the seed. */
typedef struct CheckPlan
{
  const char *name;
  const char *purpose;
  void (*run) (Checker *checker, const char *name, bool full);
} CheckPlan;

/* The n-th plan; NULL past the last. */
const CheckPlan *check_plan_nth (unsigned n);

#endif

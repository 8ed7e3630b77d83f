/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checker itself: each device that is wrong on purpose must be found out, and for the right reason. */
#include "checkplans.h"
#include "plaindevice.h"

#include <inttypes.h>

/* How a mutant must be found out, where it is not by a wrong sample. */
static CheckFault
expected_fault (PlainMutant mutant)
{
  switch (mutant) {
    case PLAIN_RIGHT:
      return CHECK_FAULT_NONE;
    case PLAIN_PAST_ROW:
    case PLAIN_BEFORE_PLANE:
      return CHECK_FAULT_OUTSIDE;
    case PLAIN_INPUT_WRITTEN:
      return CHECK_FAULT_INPUT_WRITTEN;
    case PLAIN_FILLER_0:
    case PLAIN_NEUTRAL_WRITTEN:
      return CHECK_FAULT_BITS;
    default:
      return CHECK_FAULT_SAMPLE;
  }
}

static void
run_plans (Checker *checker)
{
  const CheckPlan *plan;
  unsigned i;

  for (i = 0; (plan = check_plan_nth (i)) != NULL && !checker_stopped (checker); i++)
    plan->run (checker, plan->name, false);
}

static void
test_mutant (PlainMutant mutant, uint64_t seed)
{
  const CheckOptions options = {.seed = seed, .stop_after = 1};
  const CheckFault fault = expected_fault (mutant);
  CheckLane lane = {.device = plain_device_new (mutant), .kernel = SOBEL_KERNEL_AUTO, .name = "plain"};
  SobelError error = {SOBEL_STATUS_OK, "no memory"};
  const CheckTotals *totals;
  Checker *checker;

  if (!T_CHECK (lane.device != NULL, "%s", error.message))
    return;
  checker = checker_new (&lane, 1, &options, &error);
  if (T_CHECK (checker != NULL, "%s", error.message)) {
    run_plans (checker);
    totals = checker_totals (checker);
    if (mutant == PLAIN_RIGHT) {
      T_CHECK (totals->mismatches == 0, "the right device is called wrong");
      printf ("%-18s passes %" PRIu64 " pictures\n", plain_mutant_name (mutant), totals->pictures);
    } else if (T_CHECK (totals->mismatches > 0, "%s is not found out by %" PRIu64 " pictures",
                        plain_mutant_name (mutant), totals->pictures)) {
      T_CHECK (totals->faults[fault] > 0, "%s is found out for another reason", plain_mutant_name (mutant));
      printf ("%-18s found out after %" PRIu64 " pictures\n", plain_mutant_name (mutant), totals->pictures);
    }
    checker_free (checker);
  }
  sobel_device_destroy (&lane.device);
}

/* A right device beside one that differs from it within the tolerance. */
static void
test_lanes (uint64_t seed)
{
  const CheckOptions options = {.seed = seed, .stop_after = 1};
  CheckLane lane[2] = {
      {.device = plain_device_new (PLAIN_RIGHT), .kernel = SOBEL_KERNEL_AUTO, .name = "right"},
      {.device = plain_device_new (PLAIN_DIRECTION_NEAR), .kernel = SOBEL_KERNEL_AUTO, .name = "near"},
  };
  SobelError error = {SOBEL_STATUS_OK, "no memory"};
  Checker *checker = checker_new (lane, 2, &options, &error);

  if (T_CHECK (checker != NULL, "%s", error.message)) {
    run_plans (checker);
    T_CHECK (checker_totals (checker)->faults[CHECK_FAULT_LANES] > 0, "lanes that differ pass");
    checker_free (checker);
  }
  sobel_device_destroy (&lane[0].device);
  sobel_device_destroy (&lane[1].device);
}

int
main (int argc, char **argv)
{
  const uint64_t seed = t_seed (1);
  int mutant;

  gst_init (&argc, &argv);
  for (mutant = PLAIN_RIGHT; mutant < PLAIN_N_MUTANTS; mutant++)
    if (mutant != PLAIN_DIRECTION_NEAR)
      test_mutant ((PlainMutant) mutant, seed);
  test_lanes (seed);
  return t_result ();
}

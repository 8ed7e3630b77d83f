#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: tsanproof.sh TSANPROOF, with the environment of the sanitizer set-up.
# ThreadSanitizer, as the tests run it, is silent about memory that GLib guards and reports memory that nothing does.

program=$1
fail=0

"$program" guarded || { echo "guarded memory was reported"; fail=1; }
for mode in race half; do
  if report=$("$program" "$mode" 2>&1); then
    echo "$mode: the race was not noticed"
    fail=1
  elif ! printf '%s\n' "$report" | grep -q 'data race'; then
    echo "$mode: failed, but not by a report of a race:"
    printf '%s\n' "$report"
    fail=1
  fi
done
exit $fail

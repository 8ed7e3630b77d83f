#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs what is missing, builds, and runs the tests. docs/testing.md says what each stage proves.

set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tests/support/setup.sh
. tests/support/setup.sh

usage () {
  cat <<EOF
usage: sh tests/run.sh [--full] [--no-install]
  --full        also: the whole checker, AddressSanitizer with UBSan, ThreadSanitizer, valgrind, and a browser
  --no-install  use what is there; install nothing
EOF
}

# What single tests need; without it they are skipped.
test_packages="shellcheck libgstrtspserver-1.0-dev gstreamer1.0-libav gstreamer1.0-plugins-ugly forensics-samples-files"
full_packages="valgrind libc6-dbg chromium chromium-driver"

full=no
install=yes
for argument in "$@"; do
  case $argument in
    --full) full=yes ;;
    --no-install) install=no ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
done

# A warning is an error where nobody is there to read it.
werror=
[ -z "${CI:-}" ] || werror=--werror

started=$(date +%s)
tally=$(mktemp)
trap 'rm -f "$tally"' EXIT
trap 'exit 130' INT TERM

# run_tests STAGE FOLDER [MESON TEST OPTION...]
run_tests () {
  stage=$1
  folder=$2
  shift 2
  say "Testing: $stage ($(($(date +%s) - started)) s so far)"
  rm -f "$folder"/meson-logs/testlog*.json
  # Its exit code says less than its log: tally.py reads that.
  meson test -C "$folder" --no-rebuild --print-errorlogs "$@" </dev/null || true
  log=$(find "$folder/meson-logs" -name 'testlog*.json' | head -n 1)
  python3 tests/support/tally.py stage "$stage" "$log" "$tally"
}

if [ "$install" = yes ]; then
  packages="$build_packages $test_packages"
  [ "$full" = no ] || packages="$packages $full_packages"
  # shellcheck disable=SC2086 # a list of words
  install_missing $packages
fi

# shellcheck disable=SC2086 # nothing, or one word
build_in build -Dtests=enabled $werror
run_tests "tests" build

if [ "$full" = yes ]; then
  run_tests "the whole checker" build --suite full
  for kind in address,undefined thread; do
    folder=build-san-${kind%%,*}
    # shellcheck disable=SC2086 # nothing, or one word
    build_in "$folder" -Dtests=enabled -Dcuda=disabled -Db_sanitize="$kind" -Db_lundef=false $werror
    run_tests "tests under sanitizer $kind" "$folder"
  done
  run_tests "tests under valgrind" build --setup=valgrind
fi

say "Done in $(($(date +%s) - started)) s"
python3 tests/support/tally.py total "$tally"

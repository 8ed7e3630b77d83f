#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The element's own test programs on a CUDA host: wherever a test asks for a GPU that is merely late, it gets the real
# one; those that look inside a GPU, or make it fail, keep the fake.
#
#   elements.sh BUILD | BUNDLE.tar.xz...
#
# BUILD is a build folder, where GStreamer is installed. Each BUNDLE holds one version of GStreamer: gst/env.sh, which
# points it at the plugins beside it, and gst/app/ with build/tests/element/test_*. What was said goes to $OUT
# (elements-results if unset), a table comes last. Exit status 1 if a test failed.
set -uo pipefail

if [ $# -lt 1 ]; then
  sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
nvidia-smi -L >/dev/null 2>&1 || { echo "elements.sh: no GPU here: skipped" >&2; exit 77; }
out=$(realpath -m "${OUT:-elements-results}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
passed=0
failed=0
skipped=0

# What program $1 of version $2 said, in one line.
verdict () {
  local -r log=$out/$2-$1.txt
  local -r result=$(cat "$work/$1.status")
  local word
  case $result in
    0) passed=$((passed + 1)) word=ok ;;
    77) skipped=$((skipped + 1)) word=skipped ;;
    *) failed=$((failed + 1)) word="FAILED, status $result" ;;
  esac
  printf '%-8s %-24s %-18s %3d ok %3d failed\n' "$2" "$1" "$word" "$(grep -c '^ok' "$log")" "$(grep -c '^FAIL' "$log")"
  [ "$result" = 0 ] || grep -v '^ok' "$log" | head -n 20
}

# run PROGRAM VERSION
run () {
  SOBEL_TEST_GPU=real timeout 300 "$1" >"$out/$2-$(basename "$1").txt" 2>&1
  echo $? >"$work/$(basename "$1").status"
}

# The tests of times run when nothing else does.
is_alone () {
  case $1 in
    *_latency | *_life | *_seek) return 0 ;;
  esac
  return 1
}

GST_PRESET_PATH=$(realpath "$(dirname "$0")/../../gst")
export GST_PRESET_PATH
for from in "$@"; do
  if [ -d "$from" ]; then
    folder=$from/tests/element
  else
    root=$work/$(basename "$from")
    mkdir -p "$root"
    tar -xf "$from" -C "$root" || exit 1
    # shellcheck source=/dev/null
    . "$root/gst/env.sh"
    folder=$root/gst/app
  fi
  version=$(gst-launch-1.0 --version | sed -n 's/^GStreamer //p')
  export GST_REGISTRY_1_0=$work/registry-$version.bin
  gst-inspect-1.0 >/dev/null 2>&1 # writes the registry, which all of them read
  programs=()
  for program in "$folder"/test_*; do
    [ -f "$program" ] && programs+=("$program")
  done
  for program in "${programs[@]}"; do
    is_alone "$program" || run "$program" "$version" &
  done
  wait
  for program in "${programs[@]}"; do
    ! is_alone "$program" || run "$program" "$version"
  done
  for program in "${programs[@]}"; do
    verdict "$(basename "$program")" "$version"
  done
done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the GPU's tests where pack.sh has put them, on a CUDA host without GStreamer: the device (contexts, frames in
# flight, strips, every call of CUDA failing in turn), all kernels against the oracle, compute-sanitizer over some of
# that, and a few times (rows in JSON). Logs go to the folder named by LOGS (default: logs beside this file).
#
# usage: run.sh [--quick] [--no-times]      --quick: a part of the checker's pictures, a minute in all
set -u
cd "$(dirname "$0")" || exit 1
LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
LOGS=${LOGS:-$PWD/logs}
mkdir -p "$LOGS"
quick='' times=yes shards=$(nproc) passed=0 failed=0 skipped=0
[ "$shards" -le 12 ] || shards=12
for argument; do
  case $argument in
    --quick) quick=--quick ;;
    --no-times) times='' ;;
    *) echo "run.sh: there is no $argument" >&2; exit 2 ;;
  esac
done

# verdict NAME STATUS LOG
verdict () {
  case $2 in
    0) passed=$((passed + 1)); word=ok ;;
    77) skipped=$((skipped + 1)); word=skipped ;;
    *) failed=$((failed + 1)); word=FAILED; tail -n 20 "$3" ;;
  esac
  printf '%-24s %-8s %s\n' "$1" "$word" "$(tail -n 1 "$3")"
}

# one NAME COMMAND…
one () {
  name=$1
  shift
  timeout 900 "$@" > "$LOGS/$name.txt" 2>&1
  verdict "$name" $? "$LOGS/$name.txt"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null || echo 'no nvidia-smi'
one device ./test_cuda
one metamorphic ./test_metamorphic cuda

shard=0
while [ "$shard" -lt "$shards" ]; do
  (
    # shellcheck disable=SC2086 # $quick may be nothing
    timeout 3000 ./checksobel --device=cuda $quick --shard="$shard/$shards" > "$LOGS/checker-$shard.txt" 2>&1
    echo $? > "$LOGS/checker-$shard.status"
  ) &
  shard=$((shard + 1))
done
wait
shard=0
while [ "$shard" -lt "$shards" ]; do
  verdict "checker $shard/$shards" "$(cat "$LOGS/checker-$shard.status")" "$LOGS/checker-$shard.txt"
  shard=$((shard + 1))
done

if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck initcheck synccheck; do
    one "$tool-checker" compute-sanitizer --tool "$tool" --error-exitcode 9 ./checksobel --device=cuda --quick \
      --shard=3/3001
  done
  one memcheck-device compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 ./test_cuda --small
else
  echo 'compute-sanitizer is not here: skipped'
  skipped=$((skipped + 5))
fi

if [ -n "$times" ]; then
  one times ./bench_gpu --quick kernels bus frames
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

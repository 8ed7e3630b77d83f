#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The whole measurement on a CUDA host that has no GStreamer packages, within a time limit.
#
#   gpu.sh BUNDLE [OUT]
#
# BUNDLE, an archive or a folder, holds gst/env.sh, which points GStreamer at the plugins beside it, and gst/app/ with
# libgstcudasobel.so, bench_gpu, bench_pipeline, bench_cpu and cudarate. OUT (or $OUT, or bench-results) gets
# results.json as rows come, and after every stage results.md, results.csv and plots.tar.gz: what was measured is there
# whenever this is ended. Needs python3; uses matplotlib, nvcc (for NPP), PyTorch, CuPy, OpenCV and ncu where they are.
# Settings of the GPU are left as they are.
#
# BENCH_LIMIT: seconds for all of it, 540 if unset. BENCH_QUICK=1: a minute, to see that all of it works. BENCH_STAGES:
# some of "kernels device pipelines again profile". BENCH_RESUME=results.json: go on behind those rows.
set -uo pipefail

if [ $# -lt 1 ] || [ ! -e "$1" ]; then
  sed -n '3,15s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${2:-${OUT:-bench-results}}")
limit=${BENCH_LIMIT:-540}
stages=${BENCH_STAGES:-kernels device pipelines again profile}
quick=()
[ -n "${BENCH_QUICK:-}" ] && quick=(--quick)
work=$(mktemp -d)
child=
skipped=()
# What the end takes, and what is kept free for stages that come after the pipelines.
later=0
case " $stages " in
  *" again "* | *" profile "*) later=100 ;;
esac
readonly end=20 later

left () {
  echo $((limit - SECONDS - end))
}

report () {
  [ -s "$out/results.json" ] || return 0
  timeout 60 python3 "$here/report.py" "$out/results.json" --out "$work/report" >>"$out/log.txt" 2>&1 || return 0
  cp "$work/report/results.md" "$work/report/results.csv" "$out/"
  (cd "$work/report" && find . -name '*.svg' | sort | tar -czf plots.part --files-from - &&
    mv plots.part "$out/plots.tar.gz")
}

finish () {
  rm -rf "$work"
}
trap finish EXIT

# Ended from outside: what was measured so far still becomes a report.
# shellcheck disable=SC2317
ended () {
  trap - TERM INT HUP
  [ -n "$child" ] && kill -TERM "$child" 2>/dev/null && wait "$child"
  echo "ended after $SECONDS s"
  report
  exit 143
}
trap ended TERM INT HUP

# within SECONDS COMMAND...: a child that signals get past.
within () {
  timeout -k 5 "$@" &
  child=$!
  wait "$child"
  local status=$?
  child=
  return $status
}

# begin NAME SECONDS: whether so many are left.
begin () {
  [ "$(left)" -ge "$2" ] && return 0
  skipped+=("$1: $(left) s left of $limit")
  return 1
}

bench () {
  local -r only=$1 seconds=$2
  shift 2
  within $((seconds + 10)) python3 "$here/bench.py" --bin "$work/bin" --out "$out" --only "$only" --resume --no-report \
    --limit "$seconds" "${quick[@]}" "$@" >>"$out/log.txt" 2>&1
  tail -1 "$out/log.txt"
}

least () {
  echo $(($1 < $2 ? $1 : $2))
}

kernels () {
  begin kernels 20 && bench kernels "$(least 180 "$(left)")"
}

device () {
  begin "bus, frames, timeline, trials, GPU memory" 20 &&
    bench bus,frames,timeline,trials,memory "$(least 150 "$(left)")"
}

pipelines () {
  local -r seconds=$(($(left) - later))
  begin "pipelines, peers, CPU" $((later + 20)) &&
    bench pipeline,peers,cpu "$seconds" --budget $((seconds > 200 ? seconds - 140 : seconds / 3))
}

# The same kernels once more: what of a difference is noise.
again () {
  begin "second run" 30 || return 0
  within "$(least 60 "$(left)")" python3 "$here/bench.py" --bin "$work/bin" --out "$work/again" --only kernels --quick \
    --no-report >/dev/null 2>&1
  python3 "$here/compare.py" "$out/results.json" "$work/again/results.json" --quiet-gone --record \
    >"$out/second-run.txt" 2>&1
  tail -5 "$out/second-run.txt"
}

ncu_profile () {
  within "$(least 75 "$(left)")" ncu --clock-control none --csv --page raw --log-file "$out/profile.csv" \
    --force-overwrite "$@" "$work/gst/app/bench_gpu" profile >"$work/profile.txt" 2>&1
}

profile () {
  local -r metrics=smsp__inst_executed.sum,smsp__cycles_elapsed.avg.per_second,gpu__time_duration.sum
  local sections=() name sms why=
  for name in SpeedOfLight WarpStateStats SchedulerStats MemoryWorkloadAnalysis InstructionStats LaunchStats \
    Occupancy; do
    sections+=(--section "$name")
  done
  if ! command -v ncu >/dev/null; then
    why="Nsight Compute (ncu) is not installed"
  elif ! begin profile 30; then
    why="no time was left"
  else
    ncu_profile "${sections[@]}" --metrics "$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum" ||
      { [ "$(left)" -ge 30 ] && ncu_profile "${sections[@]}"; } || tail -3 "$work/profile.txt"
  fi
  sms=$(sed -n 's/.*"multiprocessors":\([0-9]*\).*/\1/p' "$work/profile.txt" 2>/dev/null | head -1)
  python3 "$here/profile_rows.py" "$out/profile.csv" "$out/results.json" --multiprocessors "${sms:-0}" --why "$why"
}

mkdir -p "$out" "$work/bin" "$work/report"
[ -n "${BENCH_RESUME:-}" ] && cp "$BENCH_RESUME" "$work/resume.json"
rm -f "$out"/results.{json,md,csv} "$out"/{plots.tar.gz,second-run.txt,profile.csv,log.txt}
[ -f "$work/resume.json" ] && cp "$work/resume.json" "$out/results.json"
if [ -d "$1" ]; then
  ln -s "$(realpath "$1")/gst" "$work/gst"
else
  XZ_OPT=-T0 tar -xf "$1" -C "$work" || exit 1
fi

# Only the programs that need it see the bundle's libraries; python and its packages keep their own.
wrap () {
  printf '#!/bin/bash\n. "%s/gst/env.sh"\nexport GST_REGISTRY_1_0="%s/registry.bin"\nexec "%s" "$@"\n' \
    "$work" "$work" "$1" >"$work/bin/$(basename "$1")"
  chmod +x "$work/bin/$(basename "$1")"
}
for program in "$work"/gst/app/bench_* "$work"/gst/app/cudarate "$work"/gst/bin/gst-*-1.0; do
  [ -x "$program" ] && wrap "$program"
done
export PATH="$work/bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

within 60 gst-inspect-1.0 cudasobel >"$work/inspect.txt" 2>&1 || { cat "$work/inspect.txt"; exit 1; }
echo "unpacked after $SECONDS s"
for stage in $stages; do
  case $stage in
    kernels | device | pipelines | again | profile) "$stage" ;;
    *) echo "there is no stage $stage" ;;
  esac
  report
  echo "$stage: done after $SECONDS s"
done
rm -f "$out/results.part"
grep -h '"error"' "$out/results.json" | sort | uniq -c | sort -rn | head -12
for what in "${skipped[@]}"; do
  echo "skipped: $what"
done
echo "all of it in $SECONDS s"
python3 "$here/report.py" "$out/results.json" --goals

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The whole measurement on a CUDA host that has no GStreamer packages, within eight minutes.
#
#   gpu.sh BUNDLE.tar.xz [OUT]
#
# BUNDLE holds gst/env.sh, which points GStreamer at the plugins beside it, and gst/app/ with libgstcudasobel.so,
# bench_gpu, bench_pipeline and bench_cpu. OUT (or $OUT, or bench-results) gets results.json, results.md, results.csv,
# plots.tar.gz and what the second run and the profiler left. Needs python3; uses matplotlib, nvcc (for NPP), PyTorch,
# CuPy, OpenCV and ncu where they are. Settings of the GPU are left as they are.
#
# BENCH_QUICK=1: a minute, to see that all of it works. BENCH_BUDGET: seconds after which no repeat is begun.
set -uo pipefail

if [ $# -lt 1 ] || [ ! -f "$1" ]; then
  sed -n '3,14s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${2:-${OUT:-bench-results}}")
quick=()
[ -n "${BENCH_QUICK:-}" ] && quick=(--quick)
budget=${BENCH_BUDGET:-300}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/bin" "$work/run"
tar -xf "$1" -C "$work" || exit 1

# Only the programs that need it see the bundle's libraries; python and its packages keep their own.
wrap () {
  printf '#!/bin/bash\n. "%s/gst/env.sh"\nexport GST_REGISTRY_1_0="%s/registry.bin"\nexec "%s" "$@"\n' \
    "$work" "$work" "$1" >"$work/bin/$(basename "$1")"
  chmod +x "$work/bin/$(basename "$1")"
}
for program in "$work"/gst/app/bench_* "$work"/gst/bin/gst-*-1.0; do
  [ -x "$program" ] && wrap "$program"
done
export PATH="$work/bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
started=$SECONDS

gst-inspect-1.0 cudasobel >"$work/inspect.txt" 2>&1 || { cat "$work/inspect.txt"; exit 1; }
timeout 540 python3 "$here/bench.py" --bin "$work/bin" --out "$work/run" --budget "$budget" "${quick[@]}" \
  >"$work/run/log.txt" 2>&1
tail -2 "$work/run/log.txt"
echo "measured in $((SECONDS - started)) s"

# The same kernels once more: what of a difference is noise.
timeout 60 python3 "$here/bench.py" --bin "$work/bin" --out "$work/again" --only kernels --quick >/dev/null 2>&1
python3 "$here/compare.py" "$work/run/results.json" "$work/again/results.json" --quiet-gone >"$out/second-run.txt"
tail -5 "$out/second-run.txt"

profile () {
  timeout 60 ncu --clock-control none --csv --page raw --log-file "$out/profile.csv" --force-overwrite "$@" \
    "$work/gst/app/bench_gpu" profile >"$work/profile.txt" 2>&1
}
sections=()
for name in SpeedOfLight WarpStateStats SchedulerStats MemoryWorkloadAnalysis InstructionStats LaunchStats Occupancy; do
  sections+=(--section "$name")
done
if command -v ncu >/dev/null; then
  metrics=smsp__inst_executed.sum,smsp__cycles_elapsed.avg.per_second,gpu__time_duration.sum
  profile "${sections[@]}" --metrics "$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum" ||
    profile "${sections[@]}" || tail -3 "$work/profile.txt" "$out/profile.csv"
  sms=$(sed -n 's/.*"multiprocessors":\([0-9]*\).*/\1/p' "$work/profile.txt" | head -1)
  python3 "$here/profile_rows.py" "$out/profile.csv" "$work/run/results.json" --multiprocessors "${sms:-0}"
  python3 "$here/report.py" "$work/run/results.json" >/dev/null
fi

cp "$work"/run/results.{json,md,csv} "$work/run/log.txt" "$out/"
(cd "$work/run" && find . -name '*.svg' | sort | tar -czf "$out/plots.tar.gz" --files-from -)
grep -h '"error"' "$out/results.json" | sort | uniq -c | sort -rn | head -12
echo "all of it in $((SECONDS - started)) s"
python3 "$here/report.py" "$out/results.json" --goals

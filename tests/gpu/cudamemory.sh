#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Frames in GPU memory on a CUDA host: pixels, copies, contexts, rates, sanitizer.
#
#   cudamemory.sh CLIP-1080P CLIP-LONG BUNDLE.tar.xz...
#
# Each BUNDLE holds one version of GStreamer: gst/env.sh, which points it at the plugins beside it, and gst/app/ with
# libgstcudasobel.so, test_cudamemory, gpupipe and cudarate. The clips are H.264 in MP4. What
# was said goes to $OUT (cudamemory-results if unset), a table comes last. Exit status 1 if a check failed.
# CUDAMEMORY_PARTS: some of "pixels neighbours contexts rates sanitizer"; all if unset. elements.sh runs the test
# programs themselves.
set -uo pipefail

if [ $# -lt 3 ]; then
  sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
clip=$(realpath "$1")
long=$(realpath "$2")
shift 2
out=$(realpath -m "${OUT:-cudamemory-results}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
table=()
failed=0

# row NAME RESULT...; a result that begins with "no" or "failed" is a failure.
row () {
  local name=$1
  shift
  case $* in
    no\ *|failed*) failed=1 ;;
  esac
  table+=("$(printf '%-6s %-58s %s' "$version" "$name" "$*")")
}

decode () {
  echo "filesrc location=$1 ! qtdemux ! h264parse ! nvh264dec"
}

# pipe NAME DESCRIPTION: runs it, with sums in $work/NAME; its counters go to stdout.
pipe () {
  timeout 60 gpupipe --skip 5 --sums "$work/$1" "$2" 2>>"$log" || echo failed
}

value () {
  sed -n "s/.*\b$1=\([^ ]*\).*/\1/p" | head -1
}

# same A B: whether two runs had the same frames, and how many.
same () {
  if [ -s "$work/$1" ] && cmp -s "$work/$1" "$work/$2"; then
    echo "$(wc -l <"$work/$1") frames, equal"
  else
    echo "failed: $(wc -l <"$work/$1") and $(wc -l <"$work/$2") frames," \
      "$(diff "$work/$1" "$work/$2" | grep -c '^<') differ"
  fi
}

gpu='video/x-raw(memory:CUDAMemory)'
end='fakesink name=end sync=false'
on_gpu='cudasobel name=sobel backend=cuda'
on_cpu='cudasobel name=sobel backend=cpu'

pixels () {
  local mode said copied
  local -r down='cudadownload ! video/x-raw'
  for mode in edges overlay mask direction; do
    pipe cpu "$(decode "$clip") ! $down ! $on_cpu mode=$mode ! $end" >/dev/null
    said=$(pipe gpu "$(decode "$clip") ! $on_gpu mode=$mode ! $gpu ! $down ! $end")
    if [ $mode = direction ]; then
      # Within two codes of each other by contract; equal sums are not promised.
      row "decoder, $mode, GPU and CPU" "$(same gpu cpu | sed 's/^failed:/not equal (allowed):/')"
    else
      row "decoder, $mode, GPU and CPU" "$(same gpu cpu)"
    fi
    copied=$(echo "$said" | value host-bytes-copied)
    [ "$copied" = 0 ] || copied="failed: $copied"
    row "  host-bytes-copied" "$copied"
  done
  pipe cpu "$(decode "$clip") ! $down ! $on_cpu ! $end" >/dev/null
  said=$(pipe down "$(decode "$clip") ! $on_gpu ! video/x-raw ! $end")
  row "GPU memory to system memory" "$(same down cpu), $(echo "$said" | value host-bytes-copied) bytes copied"
  pipe up "$(decode "$clip") ! $down ! $on_gpu ! $gpu ! $down ! $end" >/dev/null
  row "system memory to GPU memory" "$(same up cpu)"
  pipe cpucuda "$(decode "$clip") ! $gpu ! $on_cpu ! $gpu ! $down ! $end" >/dev/null
  row "GPU memory through backend=cpu" "$(same cpucuda cpu)"
  pipe gray "$(decode "$clip") ! $gpu ! $on_gpu ! video/x-raw,format=GRAY8 ! $end" >/dev/null
  pipe graycpu "$(decode "$clip") ! $down ! $on_cpu ! video/x-raw,format=GRAY8 ! $end" >/dev/null
  row "GPU memory to gray" "$(same gray graycpu)"
}

# With the stock elements on both sides.
neighbours () {
  local format src
  local -r last="$gpu ! cudaconvert ! $gpu,format=I420 ! cudadownload"
  for format in I420 NV12 RGBA BGRx RGB Y444 P010_10LE I420_10LE; do
    src="videotestsrc pattern=18 num-buffers=20 ! video/x-raw,format=$format,width=642,height=362"
    pipe a "$src ! cudaupload ! $on_gpu mode=overlay ! $gpu ! cudadownload ! $end" >/dev/null
    pipe b "$src ! $on_cpu mode=overlay ! $end" >/dev/null
    row "cudaupload ! cudasobel ! cudadownload, $format" "$(same a b)"
  done
  gst-inspect-1.0 cudaconvert >/dev/null 2>&1 ||
    { row "cudaconvert on both sides" "not here (needs libnvrtc.so of CUDA 11 or 12)"; return; }
  src="$(decode "$clip") ! cudaconvert ! $gpu,format=RGBA"
  pipe a "$src ! $on_gpu ! $last ! $end" >/dev/null
  pipe b "$src ! cudadownload ! video/x-raw ! $on_cpu ! video/x-raw ! cudaupload ! $last ! $end" >/dev/null
  row "cudaconvert on both sides" "$(same a b)"
}

contexts () {
  local made
  GST_DEBUG_NO_COLOR=1 GST_DEBUG=cudacontext:5,cudasobel:4 timeout 60 gpupipe \
    "$(decode "$clip") ! cudasobel name=sobel ! cudadownload ! fakesink name=end" >/dev/null 2>"$work/contexts"
  grep 'Created CUDA context\|Destroying CUDA context\|working in\|moving to' "$work/contexts" >>"$log"
  # Alive when the filter starts, most of all after that, and at the end. The decoders' plugin has one while it loads.
  made=$(awk '/Created/{n++} /Destroying/{n--} /working in/{at=n; most=n} n>most{most=n} /moving/{moved=" moved"}
    END{print at+0, most+0, n+0 moved}' "$work/contexts")
  if [ "$made" = "1 1 0" ]; then
    row "CUDA contexts of decoder, filter and download" "1, shared; 0 at the end"
  else
    row "CUDA contexts of decoder, filter and download" "failed: $made; see the log"
  fi
}

rates () {
  local size line
  for size in "NV12 1920 1080 20000" "NV12 3840 2160 10000" "RGBA 1920 1080 10000"; do
    # shellcheck disable=SC2086
    line=$(for _ in 1 2 3; do timeout 60 cudarate $size; done 2>>"$log" | sort -t= -k2,2n | sed -n 1p)
    line=$(echo "$line" | tr ' ' '\n' | grep -e us-a-frame -e kernel-us | tr '\n' ' ')
    row "GPU memory to GPU memory, $size" "${line:-failed}"
  done
  for size in mode=overlay mode=mask mode=direction kernel=naive; do
    line=$(timeout 60 cudarate NV12 1920 1080 5000 "backend=cuda $size" 2>>"$log")
    line=$(echo "$line" | tr ' ' '\n' | grep -e us-a-frame -e kernel-us | tr '\n' ' ')
    row "GPU memory to GPU memory, NV12 1080p, $size" "${line:-failed}"
  done
  for size in "" "! cudasobel name=sobel backend=cuda"; do
    line=$(for _ in 1 2 3; do
      timeout 60 gpupipe --skip 40 "$(decode "$long") $size ! $end" 2>>"$log" | value us-a-frame
    done | sort -n | head -1)
    row "decoder ${size:-alone}" "${line:-failed} us a frame"
  done
}

sanitizer () {
  local tool result
  command -v compute-sanitizer >/dev/null || { row "compute-sanitizer" "not installed"; return; }
  for tool in memcheck racecheck initcheck; do
    # GStreamer's library copies memory before anything was written to it: only kernels are looked at there.
    SOBEL_TEST_GPU=real timeout 100 compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 \
      --check-api-memory-access "$([ "$tool" = initcheck ] && echo no || echo yes)" \
      "$app/test_cudamemory" every-pairing gray-leaves-in-system-memory >"$out/$version-$tool.txt" 2>&1
    result=$?
    row "compute-sanitizer $tool" "$([ $result = 0 ] && echo ok || echo "failed, status $result"):" \
      "$(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$out/$version-$tool.txt" | tail -1 | sed 's/=* *//')"
    [ "$result" = 0 ] || grep -v '^ok' "$out/$version-$tool.txt" | head -20
  done
}

for bundle in "$@"; do
  root=$work/$(basename "$bundle")
  mkdir -p "$root"
  tar -xf "$bundle" -C "$root" || exit 1
  app=$root/gst/app
  # shellcheck source=/dev/null
  . "$root/gst/env.sh"
  export GST_REGISTRY_1_0=$root/registry.bin PATH=$app:$PATH
  [ -d /usr/local/cuda/lib64 ] && export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/usr/local/cuda/lib64
  version=$(gst-launch-1.0 --version | sed -n 's/^GStreamer //p')
  log=$out/$version-log.txt
  : >"$log"
  gst-inspect-1.0 nvh264dec >/dev/null 2>>"$log" || { row "nvh264dec" "failed: is not there"; continue; }
  started=$SECONDS
  for part in ${CUDAMEMORY_PARTS:-pixels neighbours contexts rates sanitizer}; do
    case $part in
      pixels) pixels ;;
      neighbours) neighbours ;;
      contexts) contexts ;;
      rates) rates ;;
      sanitizer) sanitizer ;;
      *) row "$part" "failed: no such part" ;;
    esac
  done
  row "seconds in all" "$((SECONDS - started))"
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
printf '%s\n' "${table[@]}" | tee "$out/table.txt"
exit $failed

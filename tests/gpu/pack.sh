#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Packs the GPU's tests, and bench_gpu, for a CUDA host that has no GStreamer: programs of a build folder, the libraries
# that they need (the C library's excepted) and run.sh, which is what to start there.
#
# usage: pack.sh BUILD FOLDER
set -eu
build=$1 to=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$to/lib"
cp "$here/run.sh" "$to/"
for program in gpu/test_cuda bench/bench_gpu check/checksobel check/test_metamorphic; do
  cp "$build/tests/$program" "$to/"
  strip "$to/$(basename "$program")"
done
ldd "$to/checksobel" "$to/test_metamorphic" | awk '/=> \//{print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libstdc\+\+|libgcc_s)\.so' |
  while read -r library; do cp -L "$library" "$to/lib/"; done
echo "packed $(du -sh "$to" | cut -f1) into $to"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs what is missing, builds, and makes an edge video and an edge picture.

set -eu

usage () {
  cat <<EOF
usage: sh tests/demo.sh [CLIP [PICTURE]]
Without arguments: a 1080p phone video and a photograph of Debian's package forensics-samples-files.
EOF
}

case ${1:-} in
  -h | --help)
    usage
    exit 0
    ;;
  -*)
    usage >&2
    exit 2
    ;;
esac
clip=${1:-}
picture=${2:-}
for file in "$clip" "$picture"; do
  if [ -n "$file" ] && [ ! -r "$file" ]; then
    printf '%s: cannot read %s\n' "$0" "$file" >&2
    exit 2
  fi
done
[ -z "$clip" ] || clip=$(realpath "$clip")
[ -z "$picture" ] || picture=$(realpath "$picture")
cd "$(dirname "$0")/.."
# shellcheck source=tests/support/setup.sh
. tests/support/setup.sh

out=$PWD/build/demo
work=

clean_up () {
  [ -z "$work" ] || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# sample END: the path of the file of the samples package that ends like this.
sample () {
  dpkg -L forensics-samples-files | grep "$1\$" || die "the package forensics-samples-files has no $1 here"
}

# has ELEMENT. (The option --exists asks for a plugin as new as GStreamer itself.)
has () {
  gst-inspect-1.0 "$1" >/dev/null 2>&1
}

# play WORD...: runs a pipeline; shows its progress and where the frames were computed.
play () {
  {
    gst-launch-1.0 --eos-on-shutdown --verbose "$@" </dev/null 2>"$work/errors" && touch "$work/played"
  } | sed -u -n -e 's/^progressreport0 (.*): /   /p' -e 's/.*cudasobel0: active-backend = /   computed by: /p'
  if [ ! -e "$work/played" ]; then
    cat "$work/errors" >&2
    die "the pipeline failed: gst-launch-1.0 $*"
  fi
  rm "$work/played"
}

samples=
if [ -z "$clip" ] || [ -z "$picture" ]; then
  samples=forensics-samples-files
fi
# shellcheck disable=SC2086 # lists of words
install_missing $build_packages gstreamer1.0-libav gstreamer1.0-plugins-ugly $samples
[ -n "$clip" ] || clip=$(sample movie1/VID_20191220_170832.mp4)
[ -n "$picture" ] || picture=$(sample pic1/IMG_1054.JPG)

# A build of its own needs no tests; one that is there stays as it is.
if [ -f build/build.ninja ]; then
  build_in build
else
  build_in build -Dtests=disabled
fi
mkdir -p "$out"
work=$(mktemp -d "$out/work.XXXXXX")
# A registry of its own: nothing of this stays in the user's.
export GST_PLUGIN_PATH_1_0="$PWD/build/gst" GST_REGISTRY_1_0="$work/registry.bin"
has cudasobel || die "the plugin was built, but GStreamer does not load it; GST_PLUGIN_PATH=$GST_PLUGIN_PATH_1_0" \
  "GST_DEBUG=2 gst-inspect-1.0 cudasobel says why"

if has x264enc; then
  video=edges.mp4 encoder="x264enc speed-preset=veryfast ! h264parse ! mp4mux"
elif has openh264enc; then
  video=edges.mp4 encoder="openh264enc bitrate=16000000 ! h264parse ! mp4mux"
else
  video=edges.mkv encoder="jpegenc ! matroskamux"
fi

# The picture as the camera was held. jpegparse reads that; GStreamer 1.22 leaves it out unless asked. videoconvert is
# for formats that videoflip does not take.
export GST_PLUGIN_FEATURE_RANK="jpegparse:PRIMARY${GST_PLUGIN_FEATURE_RANK:+,$GST_PLUGIN_FEATURE_RANK}"
upright="videoconvert ! videoflip video-direction=auto"

say "Edges of $clip"
# shellcheck disable=SC2086 # several words
play filesrc location="$clip" ! decodebin ! video/x-raw ! queue ! $upright ! cudasobel backend=auto \
  ! progressreport update-freq=1 ! videoconvert ! $encoder ! filesink location="$work/$video"

say "Edges of $picture"
# shellcheck disable=SC2086 # several words
play filesrc location="$picture" ! decodebin ! video/x-raw ! $upright ! cudasobel backend=auto ! videoconvert \
  ! pngenc snapshot=true ! filesink location="$work/edges.png"

for made in "$video" edges.png; do
  [ -s "$work/$made" ] || die "the pipeline ended well, but wrote nothing to $made"
  mv "$work/$made" "$out/$made"
done
say "The edge video:   $out/$video"
say "The edge picture: $out/edges.png"

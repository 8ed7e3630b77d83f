#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A camera's picture in a window, with its edges painted over it.

set -eu

usage () {
  cat <<END
usage: camera.sh [--device=/dev/video0] [--frames=N] [--sink=ELEMENTS] [PROPERTY=VALUE...]
  --device  the camera; without one (or without this), a moving test picture
  --frames  stop after so many frames
  --sink    where frames go, as for gst-launch-1.0 (autovideosink sync=false)
  PROPERTY=VALUE  of cudasobel, such as mode=edges or threshold=0.1
END
}

device=
frames=-1
sink="autovideosink sync=false"
while [ $# -gt 0 ]; do
  case $1 in
    --device=*) device=${1#*=} ;;
    --frames=*) frames=${1#*=} ;;
    --sink=*) sink=${1#*=} ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- mode=overlay overlay-color=0xff00ff00 threshold=0.2

if [ -z "$device" ] && [ -c /dev/video0 ]; then
  device=/dev/video0
fi
if [ -n "$device" ]; then
  source="v4l2src device=$device num-buffers=$frames ! decodebin"
else
  echo "no camera: a test picture instead" >&2
  source="videotestsrc is-live=true pattern=ball num-buffers=$frames ! video/x-raw,width=640,height=480,framerate=30/1"
fi

# The leaky queue drops what the filter or the screen has no time for, so that the picture is never late. Many cameras
# deliver JPEG: decodebin takes that, and what is not compressed too.
# shellcheck disable=SC2086 # source and sink are several words
exec gst-launch-1.0 --eos-on-shutdown $source \
  ! videoconvert ! queue leaky=downstream max-size-buffers=1 max-size-bytes=0 max-size-time=0 \
  ! cudasobel "$@" ! videoconvert ! $sink

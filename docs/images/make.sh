#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes the pictures of the documentation again, from Debian's package forensics-samples-files.
# usage: sh docs/images/make.sh [BUILD_FOLDER]

set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
photo=$(dpkg -L forensics-samples-files | grep 'pic1/IMG_1054.JPG$')
registry=$(mktemp)
trap 'rm -f "$registry"' EXIT
export GST_PLUGIN_PATH_1_0="$PWD/$build/gst" GST_REGISTRY_1_0="$registry"

# picture NAME [CUDASOBEL PROPERTY...]: the photograph at 480x360, through the element if there are properties.
picture () {
  name=$1
  shift
  filter=identity
  [ $# -eq 0 ] || filter="cudasobel $*"
  # shellcheck disable=SC2086 # the filter is several words
  gst-launch-1.0 -q filesrc location="$photo" ! decodebin ! videoscale ! videoconvert ! \
    video/x-raw,format=RGB,width=480,height=360 ! $filter ! videoconvert ! jpegenc quality=75 snapshot=true ! \
    filesink location="docs/images/$name.jpg"
}

picture city
picture city-edges mode=edges
picture city-drawing invert=true gain=0.5

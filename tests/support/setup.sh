# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh disable=SC2034 # sourced: its variables are the callers'
# Sourced by tests/run.sh and tests/demo.sh, in the project's top folder: what both need before their own work.

# What a machine with nothing but Debian 12 or 13 lacks to build the plugin and run pipelines with it.
build_packages="gcc g++ libc6-dev meson ninja-build pkgconf python3
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad"

say () {
  printf '== %s\n' "$*"
}

die () {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# quietly LOG COMMAND...: the command's output goes to LOG, and is shown only if it fails.
quietly () {
  quiet_log=$1
  shift
  if ! "$@" >"$quiet_log" 2>&1 </dev/null; then
    tail -n 60 "$quiet_log" >&2
    printf '%s: failed: %s\n' "$0" "$*" >&2
    return 1
  fi
}

# install_missing PACKAGE...: the Debian packages among these that are not installed yet.
install_missing () {
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian system; these packages, or what they are called here, must be installed: $*"
    return 0
  fi
  missing=
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  # "sudo", where it takes that.
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "root or sudo is needed to install packages. As root: apt-get install --no-install-recommends$missing"
    as_root=sudo
  fi
  say "Installing:$missing"
  apt_log=$(mktemp)
  apt="env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=300"
  # One broken list of many need not matter: whether the packages are there decides.
  # shellcheck disable=SC2086 # lists of words
  quietly "$apt_log" $as_root $apt update || say "Going on with the lists of packages that are there"
  # shellcheck disable=SC2086 # lists of words
  $as_root $apt --no-install-recommends --assume-no install $missing 2>/dev/null </dev/null |
    sed -n 's/^Need to get \(.*\) of archives\.$/   \1 to download/p'
  # shellcheck disable=SC2086 # lists of words
  if ! quietly "$apt_log" $as_root $apt --no-install-recommends -y install $missing; then
    rm -f "$apt_log"
    die "the packages could not be installed"
  fi
  rm -f "$apt_log"
}

# build_in FOLDER [MESON OPTION...]: configures (again) and compiles.
build_in () {
  folder=$1
  shift
  mkdir -p "$folder"
  again=
  [ ! -f "$folder/build.ninja" ] || again=--reconfigure
  say "Configuring $folder/"
  # shellcheck disable=SC2086 # nothing, or one word
  quietly "$folder/setup.log" meson setup $again "$folder" "$@" ||
    die "the build could not be configured; if $folder/ is of another machine or source folder, remove it"
  if grep -q 'CUDA backend *: *YES' "$folder/setup.log"; then
    say "$folder/ has the CUDA backend, built by $(sed -n 's/^Program nvcc found: YES (\([^) ]*\).*/\1/p' \
      "$folder/setup.log" | head -n 1)"
  else
    say "$folder/ will compute every frame on the CPU. $(sed -n 's/^Message: \(Building without CUDA\)/\1/p' \
      "$folder/setup.log")"
  fi
  say "Compiling $folder/"
  ninja -C "$folder" || die "the build failed"
}

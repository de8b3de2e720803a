#!/usr/bin/env bash
# Installs the build into an empty folder and builds small programs against it, in C and C++.
# usage: consumer.sh BUILD CONSUMER_SOURCES CC CXX [SANITIZERS]
set -euo pipefail
build=$1 sources=$2 cc=$3 cxx=$4 sanitizers=${5:-}
[ -e "$build/bin/mts" ] || { echo "no program in $build: skipped"; exit 77; }
[ -n "$cxx" ] || { echo "no C++ compiler: skipped"; exit 77; }
. "$(dirname "$0")/use.sh"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/mts" >"$place/install.log" || { cat "$place/install.log"; exit 1; }
"$place/mts/bin/mts" --version
flags=""
[ -n "$sanitizers" ] && flags="-fsanitize=$sanitizers"
use "$place/mts" "$sources" "$place/build" "$cc" "$cxx" "$flags" ON

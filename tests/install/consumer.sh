#!/usr/bin/env bash
# Installs the build into an empty folder and builds a small program against it, through find_package and pkg-config.
# usage: consumer.sh BUILD CONSUMER_SOURCES CC [SANITIZERS]
set -euo pipefail
build=$1 sources=$2 cc=$3 sanitizers=${4:-}
[ -e "$build/bin/mts" ] || { echo "no program in $build: skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/mts" >"$place/install.log" || { cat "$place/install.log"; exit 1; }
"$place/mts/bin/mts" --version

flags=""
[ -n "$sanitizers" ] && flags="-fsanitize=$sanitizers"
cmake -S "$sources" -B "$place/build" -DCMAKE_PREFIX_PATH="$place/mts" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="$flags" >"$place/configure.log" 2>&1 || { cat "$place/configure.log"; exit 1; }
cmake --build "$place/build" >"$place/build.log" 2>&1 || { cat "$place/build.log"; exit 1; }
for program in shared static; do
    "$place/build/$program" | grep -qx "0.1.0 1" || { echo "the $program consumer does not work"; exit 1; }
    echo "find_package: the $program consumer works"
done

if command -v pkg-config >/dev/null; then
    libdir=$(dirname "$(find "$place/mts" -name mts.pc)")
    export PKG_CONFIG_PATH=$libdir
    # shellcheck disable=SC2046
    "$cc" $flags -o "$place/consumer" "$sources/main.c" $(pkg-config --cflags --libs mtsc mts)
    LD_LIBRARY_PATH=$libdir/.. "$place/consumer" | grep -qx "0.1.0 1"
    echo "pkg-config: the consumer works"
fi

#!/usr/bin/env bash
# Two builds of the run-time, from two copies of the source in folders of different names and depths, are equal bit by
# bit: the library and the static one. OpenCL and plain C only, for time; no compiler cache, which would hide a difference.
# usage: reproducible.sh SOURCE WORK CC
set -euo pipefail
source=$1 work=$2 cc=$3
export CCACHE_DISABLE=1
rm -rf "$work"
build() { # SOURCE BUILD
    cmake -S "$1" -B "$2" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_BUILD_TYPE=Release -DMTS_COMPILER=OFF \
        -DMTS_APPS=OFF -DMTS_TESTS=OFF -DMTS_PYTHON=OFF -DMTS_BACKEND_CUDA=OFF -DMTS_BACKEND_CPU=OFF -DMTS_BACKEND_NULL=OFF \
        >"$work/log" 2>&1 && cmake --build "$2" --parallel 2 --target mts mts_static mtskit >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
}
for place in one/source deeper/in/another/place; do
    mkdir -p "$work/$place"
    cp -r "$source"/{CMakeLists.txt,cmake,kernels,platform,sdk} "$work/$place/"
done
build "$work/one/source" "$work/one/build"
build "$work/deeper/in/another/place" "$work/deeper/out/of/source"
for file in libmts.so.0 libmtskit.so.0 libmts.a; do
    cmp "$work/one/build/sdk/$file" "$work/deeper/out/of/source/sdk/$file" || { echo "$file differs"; exit 1; }
    ! strings -a "$work/one/build/sdk/$file" | grep -F "$work" || { echo "$file names the folder that it was built in"; exit 1; }
    sha256sum "$work/one/build/sdk/$file"
done
rm -rf "$work"

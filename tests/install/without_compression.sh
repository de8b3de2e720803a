#!/usr/bin/env bash
# A build with MTS_COMPRESS=OFF: the program needs no oneDNN, makes, inspects and exports bundles, and says that it cannot
# compress them. Not optimised and with one backend, for time; the folder stays, so that a second run builds little.
# usage: without_compression.sh SOURCE BUILD CC LAUNCHER
set -euo pipefail
source=$1 build=$2 cc=$3 launcher=$4
fail() { echo "$*"; exit 1; }
cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS=-O0 -DMTS_COMPRESS=OFF -DMTS_TESTS=OFF -DMTS_BACKEND_CUDA=OFF -DMTS_BACKEND_OPENCL=OFF \
    -DMTS_BACKEND_NULL=OFF -DMTS_BACKEND_CPU=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
! grep -qE '^MTS_(DNNL|OPENBLAS)' "$build/CMakeCache.txt" || fail "it looks for oneDNN or OpenBLAS"
cmake --build "$build" --parallel 2 --target mts_program >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
mts=$build/bin/mts
! readelf -d "$mts" | grep -E 'dnnl|blas|gomp' || fail "the program needs libraries of compression"

"$mts" synth --arch resnet18 --tasks 2 --prune 0.95 --input 32 -o "$build/x.mtsb"
"$mts" inspect "$build/x.mtsb" >/dev/null
"$mts" export "$build/x.mtsb" --task t0 -o "$build/t0.onnx"
"$mts" compile --task t0="$build/t0.onnx" -o "$build/y.mtsb"
! "$mts" --help | grep -qE '^  (zip|prune|split) ' || fail "the usage lists commands that it does not have"
for command in zip prune split; do
    status=0
    said=$("$mts" $command "$build/x.mtsb" -o "$build/z.mtsb" 2>&1) || status=$?
    [ "$status" = 1 ] || fail "$command: exit status $status"
    [[ $said == *"without compression"* ]] || fail "$command says: $said"
done
echo "works without libmtsz"

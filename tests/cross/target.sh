#!/usr/bin/env bash
# Builds TARGETs of a preset from SOURCE into BUILD, with warnings as errors.
# usage: target.sh SOURCE BUILD PRESET COMPILER [-DOPTION...] TARGET...
set -euo pipefail
source=$1 build=$2 preset=$3 compiler=$4
shift 4
options=()
while [[ $1 == -D* ]]; do
    options+=("$1")
    shift
done
command -v "$compiler" >/dev/null || { echo "no $compiler: skipped"; exit 77; }
mkdir -p "$build"
cmake -S "$source" -B "$build" --preset "$preset" -DMTS_WERROR=ON "${options[@]}" >"$build/log.txt" 2>&1 || { cat "$build/log.txt"; exit 1; }
cmake --build "$build" --target "$@" >"$build/log.txt" 2>&1 || { tail -n 40 "$build/log.txt"; exit 1; }
echo "$preset: built $*"

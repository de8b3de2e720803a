#!/usr/bin/env bash
# Builds a preset from SOURCE into BUILD and fails if libmts, stripped, has LIMIT bytes or more.
# usage: size.sh SOURCE BUILD PRESET LIMIT
set -euo pipefail
source=$1 build=$2 preset=$3 limit=$4
strip=aarch64-linux-gnu-strip
command -v $strip >/dev/null || { echo "no $strip: skipped"; exit 77; }
mkdir -p "$build"
{ cmake -S "$source" -B "$build" --preset "$preset" && cmake --build "$build" --target mts; } \
    >"$build/log.txt" 2>&1 || { tail -n 40 "$build/log.txt"; exit 1; }
$strip -o "$build/libmts.so" "$build"/sdk/libmts.so
size -A "$build/libmts.so" | awk '$2 > 4000 && $1 != "Total" {printf "%9d %s\n", $2, $1}'
bytes=$(stat -c %s "$build/libmts.so")
# The first segment ends before the second begins: what lies between is the rest of a step of 16 KiB.
readelf -lW "$build/libmts.so" | while read -r kind offset _ _ stored _; do
    [ "$kind" != LOAD ] || echo "$((offset)) $((stored))"
done | awk 'NR == 1 {end = $1 + $2} NR == 2 {print $1 - end " bytes are left until it grows by a step of 16384"}'
echo "$bytes bytes of $limit: libmts of $preset, stripped"
[ "$bytes" -lt "$limit" ]

#!/usr/bin/env bash
# A program for arm64 over the public header, in the emulator: every task of the demo's bundle answers, and as the
# program of this machine says it.
# usage: classify.sh [EMULATOR...] PROGRAM
set -euo pipefail
[ -n "${MTS_TEST_BUNDLE:-}" ] || { echo "MTS_TEST_BUNDLE names no bundle of the demo: skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
{ printf 'P6 32 32 255\n' && awk 'BEGIN { for (i = 0; i < 3072; i++) printf "%c", 65 + (i * 7 + int(i / 96) * 5) % 60 }'; } \
    >"$place/picture.ppm"
"$@" "$MTS_TEST_BUNDLE" "$place/picture.ppm" reference >"$place/answers.txt"
cat "$place/answers.txt"
[ "$(grep -c '^[a-z_]*: .* (-\?[0-9.]*)$' "$place/answers.txt")" -eq 8 ] || { echo "not eight answers"; exit 1; }
if [ -n "${MTS_TEST_ANSWERS:-}" ]; then # a program for this machine
    "$MTS_TEST_ANSWERS" "$MTS_TEST_BUNDLE" "$place/picture.ppm" reference | diff - "$place/answers.txt"
    echo "the same on this machine"
fi
"$@" "$MTS_TEST_BUNDLE" "$MTS_TEST_BUNDLE" 2>"$place/error.txt" && { echo "a bundle is no picture"; exit 1; }
grep -q 'is no picture' "$place/error.txt"

#!/usr/bin/env bash
# The OpenCL backend on arm64: Debian's PoCL for arm64, unpacked by toolchains/cross-setup into ROOT, under an emulator. A
# test of the backend, and the sample's answers on OpenCL beside those of plain C.
# usage: opencl.sh ROOT LIBRARIES QEMU TEST CLASSIFY    (LIBRARIES: LD_LIBRARY_PATH of further ones)
set -euo pipefail
root=$1 libraries=$2 qemu=$3 test=$4 classify=$5
pocl=$root/usr/lib/aarch64-linux-gnu/libpocl.so.2
[ -e "$pocl" ] || { echo "no $pocl: skipped"; exit 77; }
[ -n "${MTS_TEST_BUNDLE:-}" ] || { echo "MTS_TEST_BUNDLE names no bundle of the demo: skipped"; exit 77; }
linker=$(command -v aarch64-linux-gnu-ld) || { echo "no aarch64-linux-gnu-ld: skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/icd" "$place/bin" "$place/cache"
echo "$pocl" >"$place/icd/pocl.icd"
ln -s "$linker" "$place/bin/ld" # PoCL links each kernel by the program of that name
export PATH=$place/bin:$PATH OCL_ICD_VENDORS=$place/icd POCL_CACHE_DIR=$place/cache
emulated() {
    "$qemu" -L "$root" -E "LD_LIBRARY_PATH=$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu:$libraries" "$@"
}

emulated "$test" 2>&1 | tee "$place/test.txt" | grep -E '^\[ +(FAILED|PASSED)' || true
grep -q '^\[  PASSED  \] [1-9]' "$place/test.txt" && ! grep -q 'FAILED' "$place/test.txt" || { cat "$place/test.txt"; exit 1; }

{ printf 'P6 32 32 255\n' && awk 'BEGIN { for (i = 0; i < 3072; i++) printf "%c", 65 + (i * 7 + int(i / 96) * 5) % 60 }'; } \
    >"$place/picture.ppm"
for device in reference opencl:0; do
    emulated "$classify" "$MTS_TEST_BUNDLE" "$place/picture.ppm" $device >"$place/$device.txt"
done
paste -d '|' "$place/reference.txt" "$place/opencl:0.txt"
[ "$(wc -l <"$place/opencl:0.txt")" -eq 8 ] || { echo "not eight answers"; exit 1; }
paste -d ' ' "$place/reference.txt" "$place/opencl:0.txt" | tr -d '()' | awk '{
    half = NF / 2; difference = $half - $NF
    for (i = 1; i < half; i++) if ($i != $(i + half)) bad = 1
    if (difference > 0.002 || difference < -0.002) bad = 1
} END { exit bad }' || { echo "OpenCL and plain C answer differently"; exit 1; }

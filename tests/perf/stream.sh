#!/bin/sh
# stream.sh MTS BENCH_STREAM CONFIG FOLDER: short streams through devices that are there: no allocation, no growth.
set -eu
bundle=$4/stream.$$.mtsb
trap 'rm -f "$bundle"' EXIT
"$1" compile --config "$3" -o "$bundle" >/dev/null
"$2" "$bundle" null 10000 5000
if ! "$1" devices | grep -q 'opencl:0'; then
    echo "no OpenCL device"
    exit 77
fi
"$2" "$bundle" opencl:0 400 100

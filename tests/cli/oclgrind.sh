#!/usr/bin/env bash
# Runs a small stitched network, in planes and in packs of channels, in oclgrind, a simulator of an OpenCL device that
# reports what a real one does not: data races between work-items, accesses outside of a buffer, wrong use of the API. Any report is a failure.
# usage: oclgrind.sh PROGRAM FOLDER [PHOTO [OPTION...]]    (FOLDER is made anew, an empty PHOTO is a gradient, OPTIONs are
# of `mts run` and for one network alone; exit status 77: no oclgrind here)
set -euo pipefail

readonly program=$1 folder=$2
photo=${3:-}
readonly options=("${@:4}")

# Where the simulator lies as a driver that a loader (libOpenCL) can open.
simulator() {
    find /usr/lib /usr/lib64 /usr/local/lib -name 'liboclgrind-rt-icd.so' 2>/dev/null | head -n 1
}

# A picture with a gradient.
write_picture() {
    local i byte
    printf 'P5\n32 32\n255\n'
    for ((i = 0; i < 1024; i++)); do
        printf -v byte '\\x%02x' $(((i % 32) * 4 + (i / 32) * 4))
        printf '%b' "$byte"
    done
}

driver=$(simulator)
if [ -z "$driver" ]; then
    echo "skipped: no oclgrind on this machine"
    exit 77
fi
rm -rf "$folder"
mkdir -p "$folder/vendors"
echo "$driver" >"$folder/vendors/oclgrind.icd"
if [ -z "$photo" ]; then
    photo=$folder/picture.pgm
    write_picture >"$photo"
fi

# run_network BUNDLE [OPTION...]: in the simulator, which has to report nothing.
run_network() {
    local bundle=$1
    shift
    rm -f "$folder/report"
    if ! OCL_ICD_VENDORS=$folder/vendors OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 OCLGRIND_LOG=$folder/report \
        "$program" run "$bundle" --image "$photo" --device opencl:0 --no-cache "$@" >"$folder/answers"; then
        cat "$folder/answers"
        echo "the program failed in the simulator"
        exit 1
    fi
    cat "$folder/answers"
    if ! grep -q Oclgrind "$folder/answers"; then
        echo "another device than the simulator ran the network"
        exit 1
    fi
    if [ ! -e "$folder/report" ]; then
        echo "the simulator wrote no log, so nothing was checked"
        exit 1
    fi
    if [ -s "$folder/report" ]; then
        echo "the simulator reports:"
        head -n 60 "$folder/report"
        exit 1
    fi
}

"$program" synth --arch resnet18 --tasks 2 --prune 0.97 --share 0.8 --input 32 -o "$folder/tiny.mtsb"
run_network "$folder/tiny.mtsb" ${options[@]+"${options[@]}"}
if [ ${#options[@]} -eq 0 ]; then
    OCL_ICD_VENDORS=$folder/vendors "$program" inspect "$folder/tiny.mtsb" --plan --json --device opencl:0 \
        --packed-channels >"$folder/plan.json"
    grep -q conv_packed "$folder/plan.json"
    run_network "$folder/tiny.mtsb" --packed-channels --no-images
fi
echo "no race, no access outside of a buffer, no wrong call"

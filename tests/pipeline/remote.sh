#!/bin/sh
# A stage on this process's PoCL, and one on a device of another process behind PoCL's remote driver.
#
#     tests/pipeline/remote.sh BUILD_OF_POCL [PROGRAM]
#
# BUILD_OF_POCL: a build folder of PoCL with ENABLE_REMOTE_CLIENT and ENABLE_REMOTE_SERVER (docs/results/placement.md has
# the commands). PROGRAM, build/release/bin/pipeline_pipeline if left out, is run with opencl:0 local and opencl:1 remote.
# The daemon takes the OpenCL driver of the system.
set -eu
pocl=$1
shift
[ $# -gt 0 ] || set -- build/release/bin/pipeline_pipeline
port=${PORT:-10998}
folder=$(mktemp -d)
"$pocl/pocld/pocld" -a 127.0.0.1 -p "$port" >"$folder/pocld.log" 2>&1 &
daemon=$!
trap 'kill $daemon; rm -rf "$folder"' EXIT
sleep 1
mkdir "$folder/vendors"
cp /etc/OpenCL/vendors/pocl.icd "$folder/vendors/a_local.icd"
echo "$pocl/lib/CL/libpocl.so" >"$folder/vendors/b_remote.icd"
export OCL_ICD_VENDORS="$folder/vendors" POCL_DEVICES='pthread remote' POCL_REMOTE0_PARAMETERS="127.0.0.1:$port/0"
# 7.2-RC1 sometimes waits for ever while it connects: one more try.
timeout "${LIMIT:-60}" "$@" || timeout "${LIMIT:-60}" "$@"

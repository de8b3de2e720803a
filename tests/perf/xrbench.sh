#!/bin/sh
# xrbench.sh PYTHON MTS FOLDER: xrbench.py writes a network that mts compiles and runs as a rated workload.
set -eu
python=$1 mts=$2 folder=$3
mkdir -p "$folder"
"$python" "$(dirname "$0")/xrbench.py" --networks eye_segmentation -o "$folder"
printf '{"networks": [{"name": "eye_segmentation", "model": "eye_segmentation.onnx", "rate": 60}]}' >"$folder/eye.json"
"$mts" bench --scenario "$folder/eye.json" --strategies compact --seconds 0.1 --speed 0.2 --warmup 1 -o "$folder/eye.out.json"
rm -r "$folder"

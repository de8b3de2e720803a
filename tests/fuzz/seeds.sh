#!/bin/sh
# Fills the fuzzers' corpus folders. Usage: seeds.sh FUZZ_SEED SOURCE_DIR CORPUS
set -eu
"$1" "$3/archive" "$3/tflite"
cp "$2/apps/mts/demo/small.json" "$3/config/"
cp "$2/apps/mts/demo/models/small_pet.onnx" "$3/onnx/"
for model in /usr/share/libonnx-testdata/data/node/*/model.onnx; do
    if [ -f "$model" ]; then
        cp "$model" "$3/onnx/$(basename "$(dirname "$model")").onnx"
    fi
done

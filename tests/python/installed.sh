#!/usr/bin/env bash
# What a wheel holds, installed into an empty folder: the package finds its libraries beside itself, and runs.
# usage: installed.sh BUILD SOURCE PYTHON
set -euo pipefail
build=$1 source=$2 python=$3
"$python" -c 'import numpy, _cffi_backend' 2>/dev/null || { echo "no numpy or cffi: skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --install "$build" --component python --prefix "$place" >"$place/install.log" || { cat "$place/install.log"; exit 1; }
cd "$place"
[ ! -e "$place/lib" ] || { echo "more than the package was installed"; exit 1; }
for module in mts/_*.so; do
    ldd "$module" | grep libmts | grep -v "=> $place/mts/" && { echo "$module takes a library from elsewhere"; exit 1; }
done
env -u LD_LIBRARY_PATH PYTHONPATH="$place" "$python" - "$source" <<'END'
import sys, numpy, mts
assert mts.__file__.startswith(sys.path[1]) or mts.__file__.startswith(sys.path[0]), mts.__file__
mts.compile(sys.argv[1] + "/apps/mts/demo/small.json", "small.mtsb")
with mts.Runtime("reference") as runtime, mts.Bundle(runtime, "small.mtsb") as bundle:
    with mts.Session(bundle, tasks=["animal"]) as session:
        print(session.run(numpy.zeros((32, 32, 3), numpy.uint8)))
END
PYTHONPATH="$place" "$python" -m mts --version

#!/usr/bin/env bash
# Makes the Debian packages of the build, looks into them, unpacks them (nothing is installed) and builds small programs
# against what lies there.
# usage: deb.sh BUILD CONSUMER_SOURCES CC CXX
set -euo pipefail
build=$1 sources=$2 cc=$3 cxx=$4
[ -e "$build/bin/mts" ] || { echo "no program in $build: skipped"; exit 77; }
[ -n "$cxx" ] || { echo "no C++ compiler: skipped"; exit 77; }
for tool in cpack dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "no $tool: skipped"; exit 77; }
done
. "$(dirname "$0")/use.sh"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "$*"; exit 1; }

(cd "$place" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$place/debs" >"$place/cpack.log" 2>&1) ||
    { cat "$place/cpack.log"; exit 1; }
architecture=$(dpkg --print-architecture)
packages="libmts0 libmtsc0 libmtsz0 libmts-dev mts-tools"
[ -e "$build/gstreamer/libgstmts.so" ] && packages+=" gstreamer1.0-mts"
[ -e "$build/python/mts/_mts.abi3.so" ] && packages+=" python3-mts"
for package in $packages; do
    deb=$place/debs/${package}_0.1.0_$architecture.deb
    [ -e "$deb" ] || { ls "$place/debs"; fail "no $deb"; }
    dpkg-deb -x "$deb" "$place/$package"
    dpkg-deb -x "$deb" "$place/root"
    printf '%s (%s bytes), depends on: %s\n' "$package" "$(stat -c %s "$deb")" "$(dpkg-deb -f "$deb" Depends)"
    [ "$(dpkg-deb -f "$deb" Version)" = 0.1.0 ] || fail "$package has another version"
    [ -s "$place/$package/usr/share/doc/$package/copyright" ] || fail "$package says nothing about its licence"
    [[ $(zcat "$place/$package/usr/share/doc/$package/changelog.gz") == "mts (0.1.0)"* ]] ||
        fail "$package has no changelog"
done

# the run-time needs the C library and nothing else; dependencies are those of the files
[[ $(dpkg-deb -f "$place"/debs/libmts0_*.deb Depends) =~ ^libc6\ \(\>=\ [0-9.]+\)$ ]] || fail "libmts0 needs more than libc6"
[[ $(dpkg-deb -f "$place"/debs/libmtsc0_*.deb Depends) == *libprotobuf-c1*  ]] || fail "libmtsc0 does not need libprotobuf-c1"
[[ $(dpkg-deb -f "$place"/debs/libmtsc0_*.deb Depends) != *dnnl*  ]] || fail "libmtsc0 needs oneDNN"
[[ $(dpkg-deb -f "$place"/debs/libmtsz0_*.deb Depends) == *dnnl*  ]] || fail "libmtsz0 does not need oneDNN"
[[ $(dpkg-deb -f "$place"/debs/libmtsz0_*.deb Depends) != *protobuf*  ]] || fail "libmtsz0 needs protobuf-c"
[[ $(dpkg-deb -f "$place"/debs/libmts-dev_*.deb Depends) == "libmts0 (= 0.1.0), libmtsc0 (= 0.1.0), libmtsz0 (= 0.1.0)" ]] ||
    fail "libmts-dev does not need the libraries of its version"

# every package holds its own and nothing of the others
[ "$(cd "$place/libmts0" && find . -name '*.so*' -printf '%f\n' | sort | xargs)" = "libmts.so.0 libmts.so.0.1.0 libmtskit.so.0 libmtskit.so.0.1.0" ] ||
    fail "libmts0 holds $(cd "$place/libmts0" && find . -type f)"
[ -z "$(find "$place/libmts0" "$place/libmtsc0" "$place/libmtsz0" "$place/mts-tools" -name '*.h' -o -name '*.a' -o -name '*.so')" ] ||
    fail "files for development lie outside of libmts-dev"
[ -L "$(find "$place/libmts-dev" -name libmts.so)" ] || fail "libmts-dev has no libmts.so"
library=$(find "$place/libmts0" -name libmts.so.0.1.0)
readelf -d "$library" | grep -q 'SONAME.*\[libmts\.so\.0\]' || fail "libmts0 has another SONAME"
readelf -d "$library" "$place/root/usr/bin/mts" | grep -qE 'R(UN)?PATH' && fail "a file has a run-time path"
readelf -S "$library" | grep -q '\.symtab' && fail "libmts0 is not stripped"
[ -z "$(find "$place/root" -perm /022 ! -type l)" ] || fail "files that others may write"

"$place/root/usr/bin/mts" --version
[ ! -e "$build/man/mts.1.gz" ] || cmp "$build/man/mts.1.gz" "$place/mts-tools/usr/share/man/man1/mts.1.gz" ||
    fail "mts-tools has not the manual page of the build"
if [[ $packages == *gstreamer1.0-mts* ]]; then
    plugin=$(find "$place/gstreamer1.0-mts" -name libgstmts.so)
    [[ $(dpkg-deb -f "$place"/debs/gstreamer1.0-mts_*.deb Depends) == *libgstreamer1.0-0* ]] || fail "the plugin does not need GStreamer"
    if command -v gst-inspect-1.0 >/dev/null; then
        GST_REGISTRY=$place/registry GST_PLUGIN_PATH=$(dirname "$plugin") gst-inspect-1.0 mtsinfer >"$place/inspect" 2>&1 ||
            { cat "$place/inspect"; fail "the packaged plugin has no mtsinfer"; }
        echo "gst-inspect-1.0: mtsinfer of the package"
    fi
fi
if [[ $packages == *python3-mts* ]]; then
    readelf -d "$place"/python3-mts/usr/lib/python3/dist-packages/mts/*.so | grep -qE 'R(UN)?PATH' && fail "a module of Python has a run-time path"
    python=$(dirname "$0")/../../build/venv/bin/python3
    [ -x "$python" ] || python=python3
    if "$python" -c 'import numpy, cffi' 2>/dev/null; then
        LD_LIBRARY_PATH=$(dirname "$library") PYTHONPATH=$place/root/usr/lib/python3/dist-packages "$python" -c '
import mts, os, sys
assert mts.__file__.startswith(sys.argv[1]), mts.__file__
print("import mts:", mts.__version__, len(mts.devices()), "devices")' "$place" || fail "the packaged Python module does not work"
        LD_LIBRARY_PATH=$(dirname "$library") PYTHONPATH=$place/root/usr/lib/python3/dist-packages "$python" -m mts --version
    fi
fi
use "$place/root/usr" "$sources" "$place/build" "$cc" "$cxx" "" ON
if command -v lintian >/dev/null; then # what Debian itself would refuse, but for who made the packages
    lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
        "$place"/debs/*.deb
fi

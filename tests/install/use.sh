# Sourced by consumer.sh and deb.sh.

# use PREFIX SOURCES WORK CC CXX FLAGS STATIC: builds the consumer against what lies under PREFIX, through find_package and
# pkg-config, and runs it.
use() {
    local prefix=$1 sources=$2 work=$3 cc=$4 cxx=$5 flags=$6 static=$7 program libdir
    libdir=$(dirname "$(dirname "$(find "$prefix" -name mts.pc)")")
    cmake -S "$sources" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DSTATIC_COMPILER="$static" >"$work.log" 2>&1 ||
        { cat "$work.log"; return 1; }
    grep -q "^mts_DIR:PATH=$prefix" "$work/CMakeCache.txt" || { echo "another package was found"; return 1; }
    cmake --build "$work" >"$work.log" 2>&1 || { cat "$work.log"; return 1; }
    for program in runtime runtime_static kit kit_static cxx shared compress static compress_static; do
        [ -x "$work/$program" ] || { [[ "$program" == *static ]] && [ "$static" = OFF ] && continue; }
        LD_LIBRARY_PATH=$libdir "$work/$program" | grep -qx "0.1.0 1" || { echo "$program does not work"; return 1; }
        echo "find_package: $program works"
    done
    readelf -d "$work/runtime" | grep -q 'NEEDED.*\[libmts\.so\.0\]' || { echo "runtime does not need libmts.so.0"; return 1; }

    command -v pkg-config >/dev/null || { echo "no pkg-config"; return 0; }
    export PKG_CONFIG_PATH=$libdir/pkgconfig
    # shellcheck disable=SC2046,SC2086
    {
        "$cc" $flags -o "$work/pc_runtime" "$sources/runtime.c" $(pkg-config --cflags --libs mts)
        "$cc" $flags -o "$work/pc_kit" "$sources/kit.c" $(pkg-config --cflags --libs mtskit)
        "$cxx" $flags -o "$work/pc_cxx" "$sources/runtime.cpp" $(pkg-config --cflags --libs mts)
        "$cc" $flags -o "$work/pc_shared" "$sources/main.c" $(pkg-config --cflags --libs mtsc mts)
        "$cc" $flags -o "$work/pc_compress" "$sources/compress.c" $(pkg-config --cflags --libs mtsz mts)
    }
    for program in pc_runtime pc_kit pc_cxx pc_shared pc_compress; do
        LD_LIBRARY_PATH=$libdir "$work/$program" | grep -qx "0.1.0 1" || { echo "$program does not work"; return 1; }
        echo "pkg-config: $program works"
    done
    # shellcheck disable=SC2046,SC2086
    "$cc" $flags -o "$work/pc_rpath" "$sources/runtime.c" $(pkg-config --cflags --libs mts) $(pkg-config --variable=rpath mts)
    env -u LD_LIBRARY_PATH "$work/pc_rpath" | grep -qx "0.1.0 1" || { echo "the rpath of pkg-config does not work"; return 1; }
    echo "pkg-config: rpath works"
}

#!/bin/bash -eu
# Builds every target of tests/fuzz into $OUT, with a zip of its seeds. OSS-Fuzz sets CC, CFLAGS, LIB_FUZZING_ENGINE, SRC,
# WORK and OUT.
build=$WORK/mts-fuzz
cmake -S "$SRC/mts-sdk" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS" -DMTS_WERROR=OFF -DMTS_PYTHON=OFF -DMTS_CPU_SETS=v3,neon \
    -DMTS_FUZZ=ON -DMTS_FUZZ_ENGINE="$LIB_FUZZING_ENGINE"
cmake --build "$build" --target fuzzers
sh "$SRC/mts-sdk/tests/fuzz/seeds.sh" "$build/bin/fuzz_seed" "$SRC/mts-sdk" "$build/corpus"
for target in "$build"/bin/fuzz_*; do
    name=$(basename "$target")
    [ "$name" != fuzz_seed ] || continue
    cp "$target" "$OUT/"
    (cd "$build/corpus/${name#fuzz_}" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
    printf '[libfuzzer]\nmax_len = 65536\ntimeout = 25\nrss_limit_mb = 2048\n' >"$OUT/$name.options"
done
# What the targets are linked with and the runner's image may not have.
mkdir -p "$OUT/lib"
for target in "$OUT"/fuzz_*; do
    [ -x "$target" ] || continue
    ldd "$target" | awk '$3 ~ /lib(protobuf-c|jansson|xxhash|jpeg|png|webp|dnnl|openblas|cmocka|gomp)/ { print $3 }' |
        xargs -r cp -n -L -t "$OUT/lib"
    patchelf --set-rpath '$ORIGIN/lib' "$target"
done

# Sourced by `host`, whose functions and variables it uses: builds and tests for arm64 under an emulator, and the
# comparison of bundles that both processors write.

# Left out of every test run: they take minutes each under an emulator, or have no device there.
readonly SLOW_ON_ARM64='conformance/.*'\
'|api/(cache|submissions|submission_faults|session|session_options)|device/gate'\
'|engine/(control|control_sets|sharing|random_nets)'\
'|cpu/conformance_kernels_(bytes|conv|depthwise|elementwise|frame|index|move|reduce|window)'\
'|cpu/engine_(random_nets|sharing|control)|cpu/touches_random_nets'

# Whether this machine can have a compiler and an emulator for arm64; cross-setup says why not. Ends the command where
# setting them up fails for any other reason.
has_cross() {
    local status=0
    toolchains/cross-setup || status=$?
    case $status in
    0) return 0 ;;
    77) return 1 ;;
    *) fail "setting up for arm64 failed ($status), see above" ;;
    esac
}

# The run-time for arm64; its tests run under an emulator. A command of its own, never part of a condition: there `set -e`
# does not hold, and a build that fails would pass for one that was made.
build_cross() {
    "$PROGRAM" compile --config apps/mts/demo/small.json -o build/small.mtsb
    build_preset linux-arm64
    export MTS_TEST_BUNDLE=$PWD/build/small.mtsb MTS_TEST_ANSWERS=$PWD/build/release/bin/samples/classify
}

# What only repeats slowly what this machine has shown is left out; `toolchains/host arm64` runs it.
test_cross() {
    if ! has_cross; then
        printf '!! skipped: the tests of the run-time on arm64, the size of the library, the other targets\n' >&2
        skipped=$((skipped + 1))
        return 0
    fi
    build_cross
    run_tests linux-arm64 --parallel 2 --exclude-regex "^($SLOW_ON_ARM64)\$"
}

# Bundles of this machine beside those of arm64: tests/cross/same_bundles.py.
compare_bundles() {
    local models=("$@") folder
    for folder in apps/mts/demo/models "$NETWORKS/mediapipe/modules" "$SHARED/models" "$SHARED/cifar/models"; do
        [ ! -e "$folder" ] || models+=("$folder")
    done
    build_program linux-arm64-compiler &&
        python3 tests/cross/same_bundles.py --jobs "$(jobs_count)" --work build/arm64-bundles --program "$PROGRAM" \
            --config apps/mts/demo/small.json --models "${models[@]}" -- \
            qemu-aarch64-static -L /usr/aarch64-linux-gnu \
            -E LD_LIBRARY_PATH="$PWD/build/arm64-root/usr/lib/aarch64-linux-gnu" build/linux-arm64-compiler/bin/mts
}

command_bundles() {
    local given=() model
    for model in "$@"; do
        case $model in
        /*) given+=("$model") ;;
        *) given+=("$CALLER/$model") ;;
        esac
    done
    setup_packages
    build_program release
    has_cross || fail "no compiler for arm64, see above"
    compare_bundles "${given[@]}"
}

# All tests of the run-time on arm64, with random networks of fewer families, and the reference vectors on device cpu.
command_arm64() {
    local start=$SECONDS vectors=$PWD/build/arm64-vectors status=0
    passed=0 failed=0 skipped=0 cases=0
    setup_packages
    configure_preset release
    cmake --build --preset release --target mts_program sample_classify golden_vectors --parallel "$(jobs_count)"
    has_cross || fail "no tests on arm64, see above"
    build_cross
    MTS_TEST_EXPORT=$vectors "$BUILD/bin/golden_vectors" || status=$?
    case $status in
    0) export MTS_TEST_VECTORS=$vectors ;;
    77) ;; # no vectors at hand: the test says that it is skipped
    *) fail "exporting the reference vectors failed ($status), see above" ;;
    esac
    MTS_TEST_FAMILIES=4 run_tests linux-arm64 --parallel "$(jobs_count)"
    compare_bundles || failed=$((failed + 1))
    printf '%d passed, %d failed, %d skipped (programs; %d cases passed) in %d s\n' "$passed" "$failed" "$skipped" \
        "$cases" $((SECONDS - start))
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

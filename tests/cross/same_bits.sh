#!/usr/bin/env bash
# Runs engine_bytes on an emulated processor with dotprod and on one without. The first multiplies bytes by SDOT, the second
# word by word; what all of its networks compute has to be the same, to the bit.
# usage: same_bits.sh PROGRAM EMULATOR [OPTION...]
set -euo pipefail
program=$1
shift
computed=()
for processor in max cortex-a53; do
    out=$(MTS_TEST_DEVICE=cpu "$@" -cpu $processor "$program" 2>&1) || { status=$? && echo "$out" && exit $status; }
    computed+=("$(sed -n 's/.* computes //p' <<<"$out")")
    sed -n '/ computes /p' <<<"$out"
done
[ -n "${computed[0]}" ] && [ "${computed[0]}" = "${computed[1]}" ]

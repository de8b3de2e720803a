#!/usr/bin/env bash
# Proves the contracts of tests/prove with Frama-C's WP and Z3, for every input and without a bound.
# usage: prove.sh SOURCE
set -euo pipefail
source=$1
command -v frama-c >/dev/null && command -v why3 >/dev/null || { echo "no frama-c or why3: skipped"; exit 77; }
why3 config detect >/dev/null 2>&1
# prove FILE FUNCTION,...
prove() {
    local text
    text=$(frama-c -cpp-extra-args="-I$source/sdk -I$source -I$source/sdk/include -DNDEBUG" -wp -wp-rte \
        -warn-unsigned-overflow -wp-prover z3 -wp-timeout 20 -wp-fct "$2" "$source/tests/prove/$1" 2>&1) || true
    local line
    line=$(grep -oE 'Proved goals: +[0-9]+ / [0-9]+' <<<"$text") || { echo "$text"; exit 1; }
    echo "$1: $line ($2)"
    read -r done total < <(grep -oE '[0-9]+ / [0-9]+' <<<"$line" | tr -d '/')
    [ "$done" -gt 0 ] && [ "$done" -eq "$total" ] || { grep -E 'Failed|Timeout|Unknown' <<<"$text"; exit 1; }
}
prove size.c mts_size_add,mts_size_mul,mts_i64_mul,mts_size_to_u32
prove sections.c mts_section_take,mts_section_end,mts_section_string

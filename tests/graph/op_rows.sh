#!/usr/bin/env bash
# A row of an operator that lacks a column, or whose required column is NULL, does not compile.
# usage: op_rows.sh SOURCE CC
set -euo pipefail
source=$1 cc=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# compiles COLUMN...: whether a row of these columns compiles
compiles() {
    local row
    row=$(printf ', %s' "$@")
    cat >"$place/row.c" <<TEXT
#include "graph/ops/common.h"
static const mts_op_field fields[] = {MTS_OP_WORD(softmax, axis, true)};
mts_infer_function infer;
mts_mul_adds_function mul_adds;
mts_channels_function channels;
const mts_op_row mts_op_softmax = MTS_OP_ROW(${row#, });
TEXT
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$source/sdk" -I"$source" -I"$source/sdk/include" \
        -c -o "$place/row.o" "$place/row.c" 2>"$place/log.txt"
}

columns=('"norm"' 1 1 MTS_NONE fields infer NULL mul_adds NULL channels MTS_OP_INPUT_DATA)
compiles "${columns[@]}" || { cat "$place/log.txt"; echo "a whole row does not compile"; exit 1; }
for column in 0 4 5 7 9; do # name, fields, infer, mul_adds, channels
    row=("${columns[@]}")
    row[column]=NULL
    ! compiles "${row[@]}" || { echo "${columns[column]} may be NULL"; exit 1; }
done
for column in "${!columns[@]}"; do
    row=("${columns[@]}")
    unset "row[column]"
    ! compiles "${row[@]}" || { echo "${columns[column]} (column $column) may be left out"; exit 1; }
done
echo "${#columns[@]} columns, none of which may be left out"

#!/usr/bin/env bash
# A shared library exports exactly the functions that its public headers declare: no more, no less.
# usage: exports.sh "HEADER.." LIBRARY CC INCLUDE_FOLDER
set -euo pipefail
headers=$1 library=$2 cc=$3 folder=$4
[ -e "$library" ] || { echo "no library $library" >&2; exit 1; }

# Declarations of these headers alone: the preprocessor's line marks tell where a line comes from.
declared() {
    local header
    for header in $headers; do declared_by "$header"; done | sort -u
}
declared_by() {
    "$cc" -std=c11 -E -I"$folder" "$1" |
        awk -v want="$(basename "$1")" '/^# [0-9]+ "/ { n = split($3, part, "/"); gsub(/"/, "", part[n]);
             here = part[n] == want; next } here { print }' |
        tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/.*__attribute__((visibility("default")))[^(]*[ *]\(mts[cz]*_[a-z0-9_]*\)[[:space:]]*(.*/\1/p'
}
# Symbols that a compiler or a sanitizer adds (they start with an underscore) are not ours.
exported() { nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | grep -v '^_' | sort -u; }

declared_list=$(declared)
exported_list=$(exported)
count=$(wc -l <<<"$declared_list")
[ "$count" -ge 5 ] || { echo "read only $count declarations from $headers" >&2; exit 1; }
if ! diff <(echo "$declared_list") <(echo "$exported_list") >exports_$$.diff; then
    echo "$library does not export what $headers declare ('<': missing, '>': too much):" >&2
    cat exports_$$.diff >&2
    rm -f exports_$$.diff
    exit 1
fi
rm -f exports_$$.diff
echo "$library exports the $count functions of $headers"

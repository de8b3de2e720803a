#!/usr/bin/env bash
# The reference of the public headers is made without a warning, and all in it but the members of structures and
# enumerations, whose names say enough, has a comment.
# usage: reference.sh SOURCE BUILD
set -euo pipefail
source=$1 place=$2/reference
command -v doxygen >/dev/null || { echo "no doxygen: skipped"; exit 77; }
mkdir -p "$place"
cd "$source"
{ cat docs/doxygen/Doxyfile && echo "OUTPUT_DIRECTORY = $place"; } | doxygen - 2>"$place/warnings.txt" ||
    { cat "$place/warnings.txt" >&2; exit 1; }
[ -s "$place/html/index.html" ] || { echo "no reference in $place" >&2; exit 1; }

# again, asking for comments
{ cat docs/doxygen/Doxyfile && printf '%s\n' "OUTPUT_DIRECTORY = $place/strict" "EXTRACT_ALL = NO" "WARN_AS_ERROR = NO"; } |
    doxygen - 2>"$place/strict.txt"
if grep -vE '\((variable|enumvalue)\) of (struct|file|enum)' "$place/strict.txt" | grep -E '(error|warning):'; then
    echo "these have no comment" >&2
    exit 1
fi
echo "reference of $(find "$place/html" -name 'structmts*.html' | grep -vc members) structures"

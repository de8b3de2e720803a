#!/usr/bin/env bash
# Each public header compiles alone, in C11 and in C++, with warnings as errors and without compiler extensions; what
# lies inside other structs keeps its size (parts.c).
# usage: compiles_alone.sh HEADER_FOLDER CC [CXX]
set -euo pipefail
folder=$1 cc=$2 cxx=${3:-}
count=0
for header in "$folder"/mts/*.h; do
    name=mts/$(basename "$header")
    printf '#include <%s>\nint mts_header_test(void);\n' "$name" >header_test_$$.c
    cp header_test_$$.c header_test_$$.cpp
    trap 'rm -f header_test_$$.c header_test_$$.cpp' EXIT
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -I"$folder" header_test_$$.c
    echo "$name compiles alone in C11"
    if [ -n "$cxx" ]; then
        "$cxx" -std=c++98 -Wall -Wextra -Wpedantic -Wno-long-long -Wno-variadic-macros -Werror -fsyntax-only \
            -I"$folder" header_test_$$.cpp 2>/dev/null ||
            "$cxx" -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$folder" header_test_$$.cpp
        echo "$name compiles alone in C++"
    fi
    count=$((count + 1))
done
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -I"$folder" "$(dirname "$0")/parts.c"
echo "structs that are parts of others have the size that they had"
[ "$count" -ge 2 ] || { echo "found $count headers in $folder" >&2; exit 1; }

#!/usr/bin/env bash
# The kernel texts that the library carries, packed and without comments and indentation, are the same programs as the
# files: same tokens after the preprocessor, as OpenCL C and as CUDA, and as many lines.
# usage: kernel_texts.sh SOURCE CMAKE CC
set -euo pipefail
source=$1 cmake=$2 cc=$3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cat >"$place/write.c" <<'TEXT'
#include <stdio.h>
#include <string.h>
#include "device/kernel.h"
int main(void)
{
    size_t count = 0;
    const mts_kernel_source *rows = mts_kernel_table(&count);
    for (size_t i = 0; i < count; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s.txt", rows[i].name);
        FILE *file = fopen(path, "w");
        char *text = mts_kernel_text(&rows[i], mts_allocator_default());
        if (!file || !text || strlen(text) != mts_kernel_length(&rows[i]) || fputs(text, file) < 0 ||
            fclose(file) != 0) {
            return 1;
        }
        mts_alloc_free(mts_allocator_default(), text);
    }
    return 0;
}
TEXT
for keep in ON OFF; do
    mkdir "$place/$keep"
    "$cmake" -DROOT="$source" -DOUT="$place/$keep/table.c" -DKEEP=$keep -P "$source/cmake/embed_kernels.cmake"
    "$cc" -I"$source/sdk" -I"$source" -o "$place/$keep/write" "$place/write.c" "$place/$keep/table.c" \
        "$source"/sdk/device/kernel.c "$source"/sdk/base/{alloc,hash,inflate}.c
    (cd "$place/$keep" && ./write)
done
tokens() { "$cc" -E -P -w -x c $2 "$1" 2>/dev/null | tr -d ' \n'; }
count=0
for text in "$place"/ON/*.txt; do
    name=$(basename "$text")
    for dialect in "" "-D__CUDACC__ -D__CUDA_ARCH__=530" "-D__CUDACC__ -D__CUDA_ARCH__=870 -DHALF=2"; do
        [ "$(tokens "$text" "$dialect")" = "$(tokens "$place/OFF/$name" "$dialect")" ] ||
            { echo "$name is another program without its comments ($dialect)"; exit 1; }
    done
    [ "$(wc -l <"$text")" = "$(wc -l <"$place/OFF/$name")" ] || { echo "$name has other lines"; exit 1; }
    grep -qE '/\*|//' "$place/OFF/$name" && { echo "$name still has comments"; exit 1; }
    [ "$(tokens "$place/OFF/$name" "" | wc -c)" -gt 2000 ] || { echo "$name has no text"; exit 1; }
    count=$((count + 1))
done
[ "$count" -ge 20 ] || { echo "found $count kernels"; exit 1; }
# A branch that the build cannot decide is refused, not taken for text of one that it can.
mkdir "$place/elif"
cp -r "$source/kernels" "$place/elif/kernels"
printf '\n#if MTS_WORDS_DOT\nint a;\n#elif 1\nint b;\n#endif\n' >>"$place/elif/kernels/codes.h"
"$cmake" -DROOT="$place/elif" -DOUT="$place/elif/table.c" -P "$source/cmake/embed_kernels.cmake" 2>"$place/elif/log" &&
    { echo "an #elif of MTS_WORDS_DOT is left out"; exit 1; }
grep -q "has an #elif" "$place/elif/log" || { cat "$place/elif/log"; exit 1; }
echo "$count kernels, $(cat "$place"/ON/*.txt | wc -c) bytes with comments, $(cat "$place"/OFF/*.txt | wc -c) without"

# Writes kernel_table.c: for every row KERNEL(folder, name) of kernels/manifest.def the whole program text
# (prelude, kinds, records, walk, kernel; #include lines dropped) as an array of bytes, so that no string limit applies.
file(STRINGS ${ROOT}/kernels/manifest.def rows REGEX "^KERNEL\\(")
set(tables "")
set(entries "")
foreach(row ${rows})
  string(REGEX MATCH "^KERNEL\\(([a-z_0-9]+), *([a-z_0-9]+)" unused "${row}")
  set(folder ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  set(hex "")
  foreach(part kernels/prelude.h sdk/graph/kinds.h sdk/device/record.h kernels/dest.h kernels/${folder}/${name}.cl)
    file(READ ${ROOT}/${part} bytes HEX)
    # '\n#include "' becomes a comment line: the text is complete without it
    string(REPLACE "0a23696e636c7564652022" "0a2f2f2022" bytes "${bytes}")
    string(APPEND hex "${bytes}0a")
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
  string(APPEND tables "static const char source_${name}[] = {\n    ${hex}0x00};\n\n")
  string(APPEND entries "    {\"${name}\", source_${name}},\n")
endforeach()
file(WRITE ${OUT} "/* Generated from kernels/manifest.def. */
#include <string.h>

#include \"device/kernel.h\"

${tables}static const mts_kernel_source rows[] = {
${entries}};

const mts_kernel_source *mts_kernel_table(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const mts_kernel_source *mts_kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}
")

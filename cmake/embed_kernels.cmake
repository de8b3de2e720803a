# Writes kernel_table.c: for every row KERNEL(folder, name) of kernels/manifest.def the kernel's text, and once the head
# that all have in common (prelude, kinds, records, walk), as arrays of bytes, so that no string limit applies.
#
# The library carries these texts onto every device, so comments, blanks and #include lines are left out. Line
# breaks stay: the lines that a driver's compiler names are those of head and kernel, one after the other. With
# -DKEEP=ON texts are embedded as they are.
function(drop_comments out text)
  if(text MATCHES "\"[^\"\n]*(//|/\\*)[^\"\n]*\"")
    message(FATAL_ERROR "a string of a kernel looks as if it held a comment: ${CMAKE_MATCH_0}")
  endif()
  string(FIND "${text}" "/*" begin)
  while(begin GREATER_EQUAL 0)
    string(SUBSTRING "${text}" 0 ${begin} before)
    string(SUBSTRING "${text}" ${begin} -1 rest)
    string(FIND "${rest}" "*/" length)
    if(length LESS 0)
      message(FATAL_ERROR "a comment of a kernel has no end: ${rest}")
    endif()
    math(EXPR length "${length} + 2")
    string(SUBSTRING "${rest}" 0 ${length} comment)
    string(SUBSTRING "${rest}" ${length} -1 rest)
    string(REGEX REPLACE "[^\n]+" "" breaks "${comment}")
    set(text "${before} ${breaks}${rest}")
    string(FIND "${text}" "/*" begin)
  endwhile()
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[ \t]+" " " text "${text}")
  string(REGEX REPLACE " ?\n ?" "\n" text "${text}")
  # blanks between tokens that are the same without them; "/ *", "+ +" and what a macro's name is followed by stay apart
  string(REGEX REPLACE "([,;{]) " "\\1" text "${text}")
  foreach(operator "=" "<" "?" ":" "==" "&&" "||" "+=")
    string(REPLACE " ${operator} " "${operator}" text "${text}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# embed(OUT FILE...): the files' text as elements of an array of bytes.
function(embed out)
  set(all "")
  foreach(part ${ARGN})
    file(READ ${ROOT}/${part} text)
    # the text is complete without what it includes
    string(REGEX REPLACE "\n#include \"[^\n]*" "\n" text "${text}")
    if(NOT KEEP)
      drop_comments(text "${text}")
    endif()
    string(APPEND all "${text}\n")
  endforeach()
  string(HEX "${all}" hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
  set(${out} "${hex}" PARENT_SCOPE)
endfunction()

file(STRINGS ${ROOT}/kernels/manifest.def rows REGEX "^KERNEL\\(")
embed(head kernels/prelude.h sdk/graph/kinds.h sdk/device/record.h kernels/dest.h)
set(tables "")
set(entries "")
foreach(row ${rows})
  string(REGEX MATCH "^KERNEL\\(([a-z_0-9]+), *([a-z_0-9]+)" unused "${row}")
  set(folder ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  embed(bytes kernels/${folder}/${name}.cl)
  string(APPEND tables "static const char source_${name}[] = {\n    ${bytes}0x00};\n\n")
  string(APPEND entries "    {\"${name}\", source_${name}, head},\n")
endforeach()
file(WRITE ${OUT} "/* Generated from kernels/manifest.def. */
#include <string.h>

#include \"device/kernel.h\"

static const char head[] = {
    ${head}0x00};

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

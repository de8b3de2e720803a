# Writes kernel_table.c: for every row KERNEL(folder, name) of kernels/manifest.def the kernel's text, and once the head
# that all have in common (prelude, kinds, parameters, walk), as arrays of bytes, so that no string limit applies.
#
# The library carries these texts onto every device, so comments, blanks and #include lines are left out. Line
# breaks stay: the lines that a driver's compiler names are those of head and kernel, one after the other. What is left
# is packed: each of the 128 words that take most of it is one byte, 128 and up, which sdk/device/kernel.c puts back. With
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

# read_text(OUT FILE...): the files' text, one after the other.
function(read_text out)
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
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# most_used(OUT TEXT): the 128 words, each with the blank or parenthesis behind it, that take most of the text; longest
# first. A word that occurs n times saves n times its length but one, and is kept once itself.
function(most_used out text)
  string(REGEX MATCHALL "[A-Za-z_][A-Za-z_0-9]+[ (]?" all "${text}")
  set(words "")
  foreach(word IN LISTS all)
    if(NOT DEFINED "saved_${word}")
      list(APPEND words "${word}")
      string(LENGTH "${word}" length)
      math(EXPR gain "${length} - 1")
      set("gain_${word}" ${gain})
      math(EXPR "saved_${word}" "0 - ${length} - 1")
    endif()
    math(EXPR "saved_${word}" "${saved_${word}} + ${gain_${word}}")
  endforeach()
  set(best "")
  foreach(word IN LISTS words)
    if("${saved_${word}}" GREATER 0)
      list(APPEND best "${saved_${word}}|${word}")
    endif()
  endforeach()
  list(SORT best COMPARE NATURAL ORDER DESCENDING)
  list(SUBLIST best 0 128 best)
  set(words "")
  foreach(word IN LISTS best)
    string(REGEX REPLACE "^[0-9]+\\|" "" word "${word}")
    string(LENGTH "${word}" length)
    list(APPEND words "${length}|${word}")
  endforeach()
  list(SORT words COMPARE NATURAL ORDER DESCENDING)
  list(TRANSFORM words REPLACE "^[0-9]+\\|" "")
  set(${out} "${words}" PARENT_SCOPE)
endfunction()

# pack(OUT TEXT WORD...): the text with a byte of 128 and up for each word.
function(pack out text)
  set(code 128)
  foreach(word IN LISTS ARGN)
    string(ASCII ${code} byte)
    string(REPLACE "${word}" "${byte}" text "${text}")
    math(EXPR code "${code} + 1")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# bytes(OUT TEXT): as elements of an array.
function(bytes out text)
  string(HEX "${text}" hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
  set(${out} "${hex}" PARENT_SCOPE)
endfunction()

file(STRINGS ${ROOT}/kernels/manifest.def rows REGEX "^KERNEL\\(")
read_text(head kernels/prelude.h kernels/abi/kinds.h kernels/abi/params.h kernels/dest.h)
set(all "${head}")
set(names "")
foreach(row ${rows})
  string(REGEX MATCH "^KERNEL\\(([a-z_0-9]+), *([a-z_0-9]+)" unused "${row}")
  set(name ${CMAKE_MATCH_2})
  read_text(text_${name} kernels/${CMAKE_MATCH_1}/${name}.cl)
  list(APPEND names ${name})
  string(APPEND all "${text_${name}}")
endforeach()

set(words "")
set(word_table "")
if(NOT KEEP)
  if(all MATCHES "[^\t\n -~]")
    message(FATAL_ERROR "a kernel's text has a character besides ASCII: ${CMAKE_MATCH_0}")
  endif()
  most_used(words "${all}")
endif()
foreach(word IN LISTS words)
  bytes(elements "${word}")
  string(APPEND word_table "    ${elements}0x00,\n")
endforeach()
pack(head "${head}" ${words})
bytes(head "${head}")
set(tables "")
set(entries "")
foreach(name ${names})
  pack(text "${text_${name}}" ${words})
  bytes(text "${text}")
  string(APPEND tables "static const unsigned char source_${name}[] = {\n    ${text}0x00};\n\n")
  string(APPEND entries "    {\"${name}\", (const char *)source_${name},\n     (const char *)head},\n")
endforeach()
file(WRITE ${OUT} "/* Generated from kernels/manifest.def. */
#include <string.h>

#include \"device/kernel.h\"

static const unsigned char words[] = {
${word_table}    0x00};

static const unsigned char head[] = {
    ${head}0x00};

${tables}static const mts_kernel_source rows[] = {
${entries}};

const char *mts_kernel_words(void)
{
    return (const char *)words;
}

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

# Writes kernel_table.c: for every row KERNEL(folder, name) of kernels/manifest.def the kernel's text, and once the head
# that all have in common (prelude, kinds, functions, parameters, walk). All texts, one after the other, are one deflate stream,
# which sdk/device/kernel.c unpacks.
#
# The library carries these texts onto every device, so comments, blanks and #include lines are left out. Line
# breaks stay: the lines that a driver's compiler names are those of head and kernel, one after the other. With
# -DKEEP=ON texts are embedded as they are. What only the dialect in C has (#if MTS_WORDS_DOT,
# #ifdef MTS_DIALECT_C) is left out too. With
# -DSMALL=ON there is no prelude of CUDA's, without -DCUDA=ON, kernels made for larger libraries are left out, and those
# made for processors are empty: device `cpu` has them compiled, and the library's texts are for GPUs
# (mts_launch_by_processor).
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

# drop_branch(OUT TEXT OPENING): the text as a preprocessor leaves it at each line `opening`, whose condition is false;
# lines stay as many.
function(drop_branch out text opening)
  set(opening "${opening}\n")
  string(LENGTH "${opening}" opening_length)
  string(FIND "${text}" "${opening}" begin)
  while(begin GREATER_EQUAL 0)
    string(SUBSTRING "${text}" 0 ${begin} before)
    math(EXPR begin "${begin} + ${opening_length}")
    string(SUBSTRING "${text}" ${begin} -1 rest)
    set(kept "\n")
    set(depth 1)
    set(branch 0)
    while(depth GREATER 0)
      string(FIND "${rest}" "\n" length)
      if(length LESS 0)
        message(FATAL_ERROR "a line ${opening} of a kernel has no #endif")
      endif()
      math(EXPR length "${length} + 1")
      string(SUBSTRING "${rest}" 0 ${length} line)
      string(SUBSTRING "${rest}" ${length} -1 rest)
      set(own 0)
      if(line MATCHES "^#if")
        math(EXPR depth "${depth} + 1")
      elseif(line MATCHES "^#endif")
        math(EXPR depth "${depth} - 1")
      elseif(line MATCHES "^#elif" AND depth EQUAL 1)
        message(FATAL_ERROR "a line ${opening} of a kernel has an #elif: write an #else with an #if in it")
      elseif(line MATCHES "^#else" AND depth EQUAL 1)
        set(branch 1)
        set(own 1)
      endif()
      if(branch AND NOT own AND depth GREATER 0)
        string(APPEND kept "${line}")
      else()
        string(APPEND kept "\n")
      endif()
    endwhile()
    set(text "${before}${kept}${rest}")
    string(FIND "${text}" "${opening}" begin)
  endwhile()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# add_own_headers(OUT TEXT FOLDER): the text with headers of the kernel's own folder in the place of their #include lines,
# but for those that the dialect in C alone has.
function(add_own_headers out text folder)
  string(REGEX REPLACE "#ifdef MTS_DIALECT_C\n#include [^\n]*\n#endif\n" "\n\n\n" text "${text}")
  string(REGEX MATCHALL "#include \"${folder}/[^\"\n]*\"\n" lines "${text}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#include \"([^\"]*)\"\n" "\\1" header "${line}")
    file(READ ${ROOT}/${header} own)
    string(REPLACE "${line}" "${own}" text "${text}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# read_text(OUT FILE...): the files' text, one after the other.
function(read_text out)
  set(all "")
  foreach(part ${ARGN})
    file(READ ${ROOT}/${part} text)
    if(part MATCHES "^(.*)/[^/]*\\.cl$")
      add_own_headers(text "${text}" ${CMAKE_MATCH_1})
    endif()
    # the text is complete without what it includes
    string(REGEX REPLACE "\n#include \"[^\n]*" "\n" text "${text}")
    if(NOT KEEP)
      drop_comments(text "${text}")
      drop_branch(text "${text}" "#if MTS_WORDS_DOT")
      drop_branch(text "${text}" "#ifdef MTS_DIALECT_C")
      if(SMALL) # conv_tile's loads of four pixels take 1 KB, which it has not
        string(REPLACE "#define MTS_QUADS (VEC==1)\n" "" text "${text}")
        drop_branch(text "${text}" "#if MTS_QUADS")
        drop_branch(text "${text}" "#ifdef mts_quad_load")
        drop_branch(text "${text}" "#if CONV_HAS_QUADS")
      endif()
      if(SMALL AND NOT CUDA)
        drop_branch(text "${text}" "#ifdef __CUDACC__")
        drop_branch(text "${text}" "#if MATRICES_MULTIPLY")
      endif()
    endif()
    if(SMALL) # a compiler's messages name other lines then
      string(REGEX REPLACE "\n\n+" "\n" text "${text}")
    endif()
    string(APPEND all "${text}\n")
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# deflate(OUT TEXT): the text as a deflate stream, as elements of an array. CMake writes it with a header of gzip, 10 bytes
# as it has no name, and 8 bytes of checksum and length behind it; both are left out.
function(deflate out text)
  file(WRITE ${OUT}.txt "${text}")
  file(ARCHIVE_CREATE OUTPUT ${OUT}.gz PATHS ${OUT}.txt FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  file(READ ${OUT}.gz hex HEX)
  file(REMOVE ${OUT}.txt ${OUT}.gz)
  if(NOT hex MATCHES "^1f8b0800")
    message(FATAL_ERROR "CMake's gzip files have another header: ${hex}")
  endif()
  string(LENGTH "${hex}" length)
  math(EXPR length "${length} - 36")
  string(SUBSTRING "${hex}" 20 ${length} hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
  set(${out} "${hex}" PARENT_SCOPE)
endfunction()

file(STRINGS ${ROOT}/kernels/manifest.def rows REGEX "^KERNEL\\(")
set(cuda kernels/prelude_cuda.h)
set(own_head kernels/member_persist.h)
set(large kernels/abi/fc_bytes.h kernels/abi/packed.h)
if(SMALL)
  set(own_head "")
  set(large "")
endif()
if(SMALL AND NOT CUDA)
  set(cuda "")
endif()
read_text(head kernels/prelude.h ${cuda} kernels/prelude_opencl.h kernels/prelude_operators.h kernels/abi/kinds.h kernels/abi/functions.h
          kernels/abi/params.h kernels/abi/conv.h kernels/abi/mixed.h kernels/dest.h kernels/border.h kernels/abi/bytes.h ${large} kernels/codes.h ${own_head} kernels/member.h)
set(all "${head}")
string(LENGTH "${head}" head_length)
set(entries "")
# The combined program's text is those of its members, whose rows stand before its own, and its own.
file(READ ${ROOT}/kernels/abi/mixed.h members)
string(REGEX MATCHALL "M\\([0-9]+, [a-z_0-9]+" members "${members}")
list(TRANSFORM members REPLACE "^M\\([0-9]+, " "")
set(before "")
# The persistent program's text is those of its own members, then that of the combined program, then its own.
file(READ ${ROOT}/kernels/abi/persist.h own)
string(REGEX MATCHALL "M\\([0-9]+, [a-z_0-9]+" own "${own}")
set(own_before "")
set(own_ended 0)
foreach(row ${rows})
  string(REGEX MATCH "^KERNEL\\(([a-z_0-9]+), *([a-z_0-9]+)" unused "${row}")
  set(folder ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  read_text(text kernels/${folder}/${name}.cl)
  if(SMALL AND (folder STREQUAL "persist" OR row MATCHES ", (large|large_gpu|cpu_bytes)\\)"))
    continue()
  elseif(folder STREQUAL "persist")
    read_text(text kernels/abi/persist.h kernels/counters.h kernels/${folder}/${name}.cl)
  elseif(folder STREQUAL "sum")
    read_text(text kernels/abi/sum.h kernels/${folder}/${name}.cl)
  endif()
  set(number "")
  if(";${own};" MATCHES ";M\\(([0-9]+), ${name};")
    set(number ${CMAKE_MATCH_1})
    if(NOT SMALL)
      set(text "#if !defined(PERSIST) || (PERSIST >> ${number} & 1)\n${text}#endif\n")
    endif()
  endif()
  list(FIND members ${name} member)
  if(SMALL AND row MATCHES ", cpu\\)")
    set(text "")
    if(NOT member LESS 0) # a case of the combined program that no session asks for
      set(text "#define ${name}(a,b,c,d,e)\n")
    endif()
  endif()
  string(LENGTH "${all}" first)
  string(APPEND all "${text}")
  if(number)
    if(NOT own_before)
      set(own_begin ${first})
    endif()
    list(APPEND own_before "M(${number}, ${name}")
    set(before "")
  elseif(NOT member LESS 0)
    if(text MATCHES "mts_(group|local)_|BARRIER|LOCAL")
      message(FATAL_ERROR "${name} uses its work-group, so it cannot be part of the combined program")
    endif()
    if(member EQUAL 0)
      set(begin ${first})
    endif()
    list(APPEND before ${name})
  elseif(folder STREQUAL "mixed")
    if(NOT before STREQUAL members)
      message(FATAL_ERROR "the rows before ${name} are not those of kernels/abi/mixed.h")
    endif()
    set(first ${begin})
    string(SUBSTRING "${all}" ${begin} -1 text)
  elseif(folder STREQUAL "persist")
    if(NOT own_before STREQUAL own)
      message(FATAL_ERROR "the rows before ${name} are not those of kernels/abi/persist.h")
    endif()
    set(own_ended 1)
    set(first ${own_begin})
    string(SUBSTRING "${all}" ${first} -1 text)
  else()
    if(own_before AND NOT own_ended AND NOT SMALL)
      message(FATAL_ERROR "${name} stands among the rows of the persistent program, whose text would hold it")
    endif()
    set(before "")
  endif()
  string(LENGTH "${text}" length)
  string(SHA256 hash "${head}${text}")
  string(SUBSTRING ${hash} 0 16 hash)
  string(APPEND entries "    {\"${name}\", NULL, ${first}, ${length}, 0x${hash}},\n")
endforeach()
if(NOT KEEP AND all MATCHES "[^\t\n -~]")
  message(FATAL_ERROR "a kernel's text has a character besides ASCII: ${CMAKE_MATCH_0}")
endif()
deflate(packed "${all}")
file(WRITE ${OUT} "/* Generated from kernels/manifest.def. */
#include <string.h>

#include \"device/kernel.h\"

const uint32_t mts_kernel_head = ${head_length};

const unsigned char mts_kernel_packed[] = {
    ${packed}0x00};

const size_t mts_kernel_packed_size = sizeof mts_kernel_packed;

static const mts_kernel_source rows[] = {
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

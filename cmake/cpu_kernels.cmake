# The kernels of kernels/manifest.def compiled ahead of time for platform/cpu: an object library for each instruction set
# (kernels/variants.def) and precision, whose objects are collected in MTS_CPU_OBJECTS.
#
# Kernels are compiled for speed whatever the build type is, but for sanitizers, which see them where they can (addresses
# and races, not arithmetic: unsigned offsets wrap by design).

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" cpu_arch)
if(cpu_arch MATCHES "^(x86_64|amd64)$")
  set(cpu_arch x86_64)
elseif(cpu_arch MATCHES "^(aarch64|arm64)$")
  set(cpu_arch aarch64)
endif()

set(MTS_CPU_OPTIMIZATION "-O3" CACHE STRING "how the kernels of device cpu are optimized; less where a build is only to compile")
set(MTS_CPU_FLAGS -std=gnu11 ${MTS_CPU_OPTIMIZATION} -ffp-contract=fast -fno-math-errno -fno-trapping-math -fno-strict-aliasing
  -fvisibility=hidden -Wall -Wextra -Wno-psabi -Wno-unused-parameter $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

# mts_cpu_cases(OUT MACRO WHOLE MIXED): CASE(a,0) up to WHOLE rows, CASE(a,b) up to MIXED rows together.
function(mts_cpu_cases out whole mixed)
  set(cases "")
  foreach(a RANGE ${whole} 1 -1)
    foreach(b RANGE ${whole} 0 -1)
      math(EXPR sum "${a} + ${b}")
      if(b EQUAL 0 OR sum LESS_EQUAL mixed)
        string(APPEND cases "CASE(${a},${b})")
      endif()
    endforeach()
  endforeach()
  set(${out} "${cases}" PARENT_SCOPE)
endfunction()

set(winograd_cases "")
foreach(rows RANGE 16 1 -1)
  string(APPEND winograd_cases "CASE(${rows})")
endforeach()

# What networks spend their time in. In the smallest library (MTS_SMALL) these are compiled for speed but without copies of
# loops (-O2) and with at most 3 rows of two blocks, and all others, and all of float16 storage, for size. None has tables for
# unwinding there.
set(MTS_CPU_HOT conv_tile depthwise_rows)

# One file for each kernel; the set and the precision come from the target.
file(STRINGS ${PROJECT_SOURCE_DIR}/kernels/manifest.def rows REGEX "^KERNEL\\(")
set(cpu_sources ${PROJECT_SOURCE_DIR}/platform/cpu/alone.c ${PROJECT_SOURCE_DIR}/platform/cpu/table.c)
set(cpu_hot_sources "")
set(cpu_bytes_sources "")
foreach(row ${rows})
  string(REGEX MATCH "^KERNEL\\(([a-z_0-9]+), *([a-z_0-9]+), *[a-z_0-9]+, *([a-z]+), *([a-z_]+)" unused "${row}")
  set(folder ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  set(walk ${CMAKE_MATCH_3})
  set(made_for ${CMAKE_MATCH_4})
  if(made_for MATCHES "gpu$" OR walk MATCHES "^(probe|mixed|persist)$")
    continue()
  endif()
  if(MTS_SMALL AND made_for MATCHES "^(large|cpu_bytes)$")
    continue()
  endif()
  set(file ${MTS_GENERATED}/cpu/${name}.c)
  set(cases "")
  if(name MATCHES "^conv_(tile|winograd)")
    string(TOUPPER "#define CASES MTS_CPU_CASES_${CMAKE_MATCH_1}" cases)
    string(REPLACE "#DEFINE" "#define" cases "${cases}\n")
  endif()
  if(made_for MATCHES "bytes$")
    set(cases "")
    foreach(header abi/bytes prelude_c_words codes)
      string(APPEND cases "#include \"kernels/${header}.h\"\n")
    endforeach()
  endif()
  if(folder STREQUAL "sum")
    set(cases "#include \"kernels/abi/sum.h\"\n")
  endif()
  file(CONFIGURE OUTPUT ${file} CONTENT
"/* Generated from kernels/manifest.def. */
#include \"platform/cpu/kernel.h\"

#define ${name} MTS_CPU_SYMBOL(${name}_)
${cases}#include \"kernels/${folder}/${name}.cl\"
" @ONLY)
  string(REGEX REPLACE "__.*" "" short ${name})
  if(made_for MATCHES "bytes$")
    list(APPEND cpu_bytes_sources ${file})
  elseif(MTS_SMALL AND short IN_LIST MTS_CPU_HOT)
    list(APPEND cpu_hot_sources ${file})
  else()
    list(APPEND cpu_sources ${file})
  endif()
endforeach()
# The probe is compiled for each number of chains (platform/cpu/table.c).
foreach(chains 8 12 16 20 24)
  set(file ${MTS_GENERATED}/cpu/fma_peak_${chains}.c)
  file(CONFIGURE OUTPUT ${file} CONTENT
"/* Generated: the probe with ${chains} chains. */
#include \"platform/cpu/kernel.h\"

#define CHAINS ${chains}
#define fma_peak__f32 MTS_CPU_SYMBOL(fma_peak_${chains}_)
#include \"kernels/probe/fma_peak__f32.cl\"
" @ONLY)
  list(APPEND cpu_sources ${file})
endforeach()

string(REGEX REPLACE ",?undefined" "" cpu_sanitize "${MTS_SANITIZE}")

set(MTS_CPU_SETS "" CACHE STRING "instruction sets to compile the kernels for (kernels/variants.def), with commas; empty: all")
string(REPLACE "," ";" cpu_wanted "${MTS_CPU_SETS}")
set(MTS_CPU_OBJECTS "")
# The rows that are built, for platform/cpu/sets.c.
set(cpu_rows "/* Generated from kernels/variants.def. */\n")

# mts_cpu_objects(TARGET SET HALF VEC REGS FLAGS... SOURCES source...): an object library whose objects join MTS_CPU_OBJECTS.
function(mts_cpu_objects target set half vec regs)
  cmake_parse_arguments(PARSE_ARGV 5 of "" "" "FLAGS;DEFINES;SOURCES")
  if(NOT of_SOURCES)
    return()
  endif()
  add_library(${target} OBJECT ${of_SOURCES})
  target_compile_definitions(${target} PRIVATE VEC=${vec} REGS=${regs} HALF=${half} MTS_CPU_SET=${set}_${half} ${of_DEFINES})
  target_compile_options(${target} PRIVATE ${MTS_CPU_FLAGS} ${of_FLAGS})
  if(MTS_SMALL)
    target_compile_definitions(${target} PRIVATE MTS_CPU_FN_SHARED=1)
    target_compile_options(${target} PRIVATE -fno-unwind-tables -fno-asynchronous-unwind-tables)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  if(cpu_sanitize) # instrumented code takes four times as long to optimise, and is slow all the same
    target_compile_options(${target} PRIVATE -O1 -fsanitize=${cpu_sanitize} -fno-omit-frame-pointer)
  endif()
  set(MTS_CPU_OBJECTS ${MTS_CPU_OBJECTS} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()

# What the smallest library is compiled with.
set(cpu_size "")
set(cpu_hot_size "")
if(MTS_SMALL)
  set(cpu_size -Os)
  set(cpu_hot_size -O2)
endif()

file(STRINGS ${PROJECT_SOURCE_DIR}/kernels/variants.def byte_sets REGEX "^CPU_BYTES\\(")
# Those beside a set, which have its vectors.
macro(mts_cpu_byte_sets beside vec regs)
  foreach(row ${byte_sets})
    string(REGEX MATCH "^CPU_BYTES\\(([a-z0-9]+), *([a-z0-9]+), *([^,]+)\\)" unused "${row}")
    if(NOT unused)
      message(FATAL_ERROR "kernels/variants.def: this row has not the columns of CPU_BYTES: ${row}")
    endif()
    if(CMAKE_MATCH_2 STREQUAL "${beside}")
      string(APPEND cpu_rows "${row}\n")
      mts_cpu_objects(mts_cpu_${CMAKE_MATCH_1}_0 ${CMAKE_MATCH_1} 0 ${vec} ${regs} FLAGS ${CMAKE_MATCH_3} ${cpu_size}
        DEFINES MTS_CPU_BYTES=1 SOURCES ${PROJECT_SOURCE_DIR}/platform/cpu/table.c ${cpu_bytes_sources})
    endif()
  endforeach()
endmacro()

file(STRINGS ${PROJECT_SOURCE_DIR}/kernels/variants.def sets REGEX "^CPU_SET\\(")
foreach(set ${sets})
  string(REGEX MATCH
    "^CPU_SET\\(([a-z0-9]+), *([a-z0-9_]+), *([0-9]+), *([0-9]+), *([^,]+), *([0-9]+), *([0-9]+), *([0-9]+)\\)" unused "${set}")
  if(NOT unused)
    message(FATAL_ERROR "kernels/variants.def: this row has not the columns of CPU_SET: ${set}")
  endif()
  set(name ${CMAKE_MATCH_1})
  if(NOT CMAKE_MATCH_2 STREQUAL cpu_arch OR (cpu_wanted AND NOT name IN_LIST cpu_wanted))
    continue()
  endif()
  set(vec ${CMAKE_MATCH_3})
  set(regs ${CMAKE_MATCH_4})
  set(flags ${CMAKE_MATCH_5})
  set(whole ${CMAKE_MATCH_6})
  set(mixed_0 ${CMAKE_MATCH_7})
  set(mixed_1 ${CMAKE_MATCH_8})
  set(sources ${cpu_sources})
  if(NOT MTS_SMALL)
    list(APPEND sources ${cpu_bytes_sources})
  elseif(mixed_0 GREATER 3)
    set(mixed_0 3)
  endif()
  string(APPEND cpu_rows "${set}\n")
  foreach(half 0 1)
    mts_cpu_cases(cases ${whole} ${mixed_${half}})
    set(defines "MTS_CPU_CASES_TILE=${cases}" "MTS_CPU_CASES_WINOGRAD=${winograd_cases}")
    set(hot_size ${cpu_size})
    if(NOT half)
      set(hot_size ${cpu_hot_size})
    endif()
    mts_cpu_objects(mts_cpu_${name}_${half} ${name} ${half} ${vec} ${regs} FLAGS ${flags} ${cpu_size} DEFINES ${defines}
      SOURCES ${sources})
    mts_cpu_objects(mts_cpu_${name}_${half}_hot ${name} ${half} ${vec} ${regs} FLAGS ${flags} ${hot_size} DEFINES ${defines}
      SOURCES ${cpu_hot_sources})
  endforeach()
  mts_cpu_byte_sets(${name} ${vec} ${regs})
endforeach()
if(cpu_wanted AND NOT MTS_CPU_OBJECTS)
  message(FATAL_ERROR "MTS_CPU_SETS=${MTS_CPU_SETS}: kernels/variants.def has none of these for ${cpu_arch}")
endif()
file(CONFIGURE OUTPUT ${MTS_GENERATED}/cpu/cpu_sets.def CONTENT "${cpu_rows}" @ONLY)

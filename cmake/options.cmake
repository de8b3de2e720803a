# mts_options: warnings, sanitizers and definitions that every target of the project takes.
add_library(mts_options INTERFACE)
target_compile_options(mts_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -fno-math-errno)
if(MTS_WERROR)
  target_compile_options(mts_options INTERFACE -Werror)
endif()
if(MTS_SANITIZE)
  target_compile_options(mts_options INTERFACE -fsanitize=${MTS_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(mts_options INTERFACE -fsanitize=${MTS_SANITIZE})
endif()
# Counters of what the tests run: in the host's code alone, which is not optimised, so that each condition keeps its
# branches. Tests, and kernels in C (of `cpu` and `reference`), are compiled as in a release.
if(MTS_COVERAGE)
  target_compile_options(mts_options INTERFACE
    $<$<NOT:$<PATH:IS_PREFIX,${PROJECT_SOURCE_DIR}/tests,$<TARGET_PROPERTY:SOURCE_DIR>>>:-O0$<SEMICOLON>--coverage>)
  target_link_options(mts_options INTERFACE --coverage)
endif()
# What hardens code against its own mistakes: return addresses are guarded, calls of the C library know the sizes of
# buffers, and what the loader has resolved cannot be written again. mts_hardening is apart from mts_options, as code that
# is generated or of others takes it too; kernels of `cpu` do not: they see sizes that the host has checked. The smallest
# library is without: BIND_NOW alone is the step of 16 KiB that is too much for it. Sanitizers see more, and do not go well
# with checked calls.
add_library(mts_hardening INTERFACE)
if(NOT MTS_SANITIZE AND NOT MTS_SMALL)
  target_compile_options(mts_hardening INTERFACE -fstack-protector-strong)
  # Without optimisation there is nothing that it could check.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT MTS_COVERAGE AND NOT CMAKE_C_COMPILER_TARGET MATCHES "android")
    target_compile_options(mts_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
endif()
if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$" AND NOT MTS_SMALL)
  target_link_options(mts_hardening INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
target_link_libraries(mts_options INTERFACE $<BUILD_INTERFACE:mts_hardening>)
# The smallest library: optimised across files, what is not called is dropped, no tables for unwinding (debuggers then
# need those of the unstripped file). gcc's objects hold machine code too, so that the static library needs no plugin;
# clang's would not, and are optimised one by one. Pages of 16 KiB are the largest of phones and boards of today; arm64
# linkers would fill up to 64 KiB.
if(MTS_SMALL)
  target_compile_definitions(mts_options INTERFACE MTS_SMALL=1)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(mts_options INTERFACE -flto=auto -ffat-lto-objects -fno-tree-loop-im
      -fno-move-loop-invariants -fno-guess-branch-probability)
    target_link_options(mts_options INTERFACE -flto-partition=one)
  endif()
  target_compile_definitions(mts_options INTERFACE MTS_SMALL=1)
  # No frame pointers, and no values kept in registers across loops only to be saved around calls: 12 KB of arm64 code.
  # The host's code waits for kernels; kernels of `cpu` have flags of their own.
  target_compile_options(mts_options INTERFACE -ffunction-sections -fdata-sections -fno-unwind-tables
    -fno-asynchronous-unwind-tables -fomit-frame-pointer)
  target_link_options(mts_options INTERFACE -Wl,--gc-sections -Wl,-z,max-page-size=16384)
endif()
target_compile_definitions(mts_options INTERFACE _POSIX_C_SOURCE=200809L)
# mts_exact: what writes bundles computes the same bits on every processor. Products and sums are not joined into one
# rounding, which clang does where a processor can.
add_library(mts_exact INTERFACE)
target_compile_options(mts_exact INTERFACE -ffp-contract=off)

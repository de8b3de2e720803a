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
if(MTS_COVERAGE)
  target_compile_options(mts_options INTERFACE --coverage)
  target_link_options(mts_options INTERFACE --coverage)
endif()
target_compile_definitions(mts_options INTERFACE _POSIX_C_SOURCE=200809L)

# 64-bit ARM Linux with Debian's cross compiler (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross). Tests run under
# qemu-aarch64-static where that is installed. MTS_ARM64_ROOT: a folder with further arm64 libraries, unpacked (cmocka).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "flags of Release") # gcc 12 fails in itself at -O3
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(MTS_ARM64_ROOT "" CACHE PATH "folder with usr/lib/aarch64-linux-gnu of further libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MTS_ARM64_ROOT)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu ${MTS_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(MTS_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
if(MTS_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MTS_QEMU_AARCH64} -L /usr/aarch64-linux-gnu)
  if(MTS_ARM64_ROOT) # LD_LIBRARY_PATH of the emulated program only
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -E LD_LIBRARY_PATH=${MTS_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
  endif()
endif()

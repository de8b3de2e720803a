# NVIDIA Jetson, by cross compiler. The run-time loads CUDA's driver and compiler by name, so no CUDA header or library
# is needed here; OpenCL does not exist on these boards.
#
#   MTS_JETPACK   4, 5, 6 (default) or 7: which processors there are
#   MTS_SYSROOT   the board's root file system, e.g. the Linux_for_Tegra/rootfs of NVIDIA's package. Needed for JetPack
#                 4 and 5: what links with a newer glibc than the board's does not start there
#   MTS_PREFIX    of the compiler's programs (default aarch64-linux-gnu-), e.g. that of NVIDIA's toolchain
#
# JetPack  Ubuntu  glibc  gcc   CUDA   boards                          -march
# 4.6      18.04   2.27   7.5   10.2   Nano, TX1 (5.3), TX2 (6.2)      armv8-a
#          (also Xavier, which is why the code of its JetPack 4 is armv8-a too)
# 5        20.04   2.31   9.4   11.4   Xavier (7.2), Orin (8.7)        armv8.2-a
# 6        22.04   2.35   11.4  12.6   Orin (8.7)                      armv8.2-a
# 7        24.04   2.39   13.2  13     Orin (8.7), Thor (11.0)         armv8.2-a
set(MTS_JETPACK 6 CACHE STRING "JetPack of the board: 4, 5, 6 or 7")
set(MTS_SYSROOT "" CACHE PATH "root file system of the board")
set(MTS_PREFIX aarch64-linux-gnu- CACHE STRING "prefix of the cross compiler's programs")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MTS_JETPACK MTS_SYSROOT MTS_PREFIX)
if(NOT MTS_JETPACK MATCHES "^[4567]$")
  message(FATAL_ERROR "MTS_JETPACK is '${MTS_JETPACK}': 4, 5, 6 or 7")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER ${MTS_PREFIX}gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
if(MTS_JETPACK EQUAL 4)
  set(CMAKE_C_FLAGS_INIT -march=armv8-a)
else()
  set(CMAKE_C_FLAGS_INIT -march=armv8.2-a)
endif()
if(MTS_SYSROOT)
  set(CMAKE_SYSROOT ${MTS_SYSROOT})
else()
  set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

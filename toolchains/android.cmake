# Android, arm64-v8a, API level 26, through the toolchain file of the NDK that ANDROID_NDK names (variable of CMake or of
# the environment). ANDROID_ABI and ANDROID_PLATFORM may be set to others.
#
# Without an NDK nothing can be linked for Android. Then clang compiles objects for its target with the headers of
# another C library (libc6-dev-arm64-cross), which shows that the code compiles there and nothing else: build the targets
# mts_common and mts_runtime only.
if(NOT ANDROID_NDK AND DEFINED ENV{ANDROID_NDK})
  set(ANDROID_NDK $ENV{ANDROID_NDK})
endif()
if(ANDROID_NDK)
  if(NOT ANDROID_ABI)
    set(ANDROID_ABI arm64-v8a)
  endif()
  if(NOT ANDROID_PLATFORM)
    set(ANDROID_PLATFORM android-26)
  endif()
  include(${ANDROID_NDK}/build/cmake/android.toolchain.cmake)
else()
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
  set(CMAKE_C_COMPILER clang)
  set(CMAKE_C_COMPILER_TARGET aarch64-linux-android26)
  set(CMAKE_C_FLAGS_INIT "-isystem /usr/aarch64-linux-gnu/include")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
endif()

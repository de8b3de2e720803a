#!/usr/bin/env bash
# Builds a program that has the run-time inside of its own project by FetchContent: no other library, no program, no test,
# nothing of it is installed. Plain C alone and without optimisation, to be quick.
# usage: fetch.sh SOURCE CONSUMER_SOURCES CC LAUNCHER
set -euo pipefail
source=$(cd "$1" && pwd) sources=$(cd "$2" && pwd) cc=$3 launcher=$4
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/app"
cp "$sources/runtime.c" "$place/app"
cat >"$place/app/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
include(FetchContent)
FetchContent_Declare(mts SOURCE_DIR ${MTS_SOURCE}) # in a project of one's own: GIT_REPOSITORY and GIT_TAG
FetchContent_MakeAvailable(mts)
add_executable(app runtime.c)
target_link_libraries(app PRIVATE mts::mts_static)
TEXT
cmake -S "$place/app" -B "$place/build" -G Ninja -DMTS_SOURCE="$source" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DMTS_BACKEND_CPU=OFF \
    -DMTS_BACKEND_CUDA=OFF -DMTS_BACKEND_OPENCL=OFF >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
grep -q "^MTS_COMPILER:BOOL=OFF" "$place/build/CMakeCache.txt" || { echo "the compiler is part of it"; exit 1; }
cmake --build "$place/build" --target app >"$place/log" 2>&1 || { tail -20 "$place/log"; exit 1; }
find "$place/build" -name app -type f -perm -u+x -exec {} \; | grep -qx "0.1.0 1" || { echo "the program does not work"; exit 1; }
cmake --install "$place/build" --prefix "$place/prefix" >"$place/log" 2>&1
[ -z "$(find "$place/prefix" -type f 2>/dev/null)" ] || { echo "it installs files that are not the program's"; exit 1; }
echo "FetchContent: the program works"

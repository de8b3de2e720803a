#!/usr/bin/env bash
# Every file of the Android app compiles for Android, against stubs of the NDK and of android.jar and the C library of
# Debian's cross compiler in the place of Android's. Java's native methods and the functions of jni.c agree.
# usage: compile.sh SOURCE
set -euo pipefail
source=$1
libc=/usr/aarch64-linux-gnu/include
app=$source/apps/android/app/src/main
stubs=$source/tests/android/stubs
command -v clang >/dev/null || { echo "no clang: skipped"; exit 77; }
[ -e $libc/stdio.h ] || { echo "no headers of a C library for arm64 (libc6-dev-arm64-cross): skipped"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
compile() {
    clang --target=aarch64-linux-android26 -fsyntax-only -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
        -Wstrict-prototypes -Werror -D_POSIX_C_SOURCE=200809L -D_LARGEFILE64_SOURCE "$@" -I"$source/sdk/include" \
        -isystem "$stubs" -isystem $libc
}

count=0
for file in "$app"/cpp/*.c; do
    compile "$file"
    count=$((count + 1))
done
[ "$count" -ge 8 ] || { echo "found $count files"; exit 1; }
for header in "$app"/cpp/*.h $(cd "$stubs" && find . -name '*.h'); do
    [ -e "$header" ] || header=$stubs/$header
    printf '#include "%s"\n' "$header" >"$place/alone.c"
    compile "$place/alone.c"
done
echo 'int main(void) { return AImage_delete(1, 2); }' >"$place/wrong.c"
if compile -include media/NdkImage.h "$place/wrong.c" 2>/dev/null; then
    echo "a wrong call compiles: the stubs are not seen"
    exit 1
fi
echo "$count files compile for aarch64-linux-android26"

real=/usr/include/android # some of the NDK's headers, from Android's sources (android-platform-frameworks-native-headers)
if [ -e $real/android/asset_manager.h ]; then
    for file in "$app"/cpp/*.c; do
        compile -isystem $real '-D__INTRODUCED_IN(level)=' '-D__RENAME_IF_FILE_OFFSET64(name)=' "$file"
    done
    echo "also with $(cd $real/android && ls asset_manager.h asset_manager_jni.h log.h native_window_jni.h 2>/dev/null | tr '\n' ' ')of Android's sources"
fi

command -v javac >/dev/null || { echo "no javac: Java was not compiled"; exit 0; }
javac -Xlint:all,-options,-deprecation -Werror -proc:none -d "$place/classes" -h "$place/headers" \
    -sourcepath "$stubs/java" "$app"/java/org/mts/camera/*.java
compile -Wmissing-prototypes -include "$place/headers/org_mts_camera_MainActivity.h" "$app/cpp/jni.c"
jni=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")/include
if [ -e "$jni/jni.h" ]; then # Java's own, in the place of the stub
    compile -I"$jni" -I"$jni/linux" "$app/cpp/jni.c"
fi
echo "the activities compile, and jni.c has its native methods"

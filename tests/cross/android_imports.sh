#!/usr/bin/env bash
# What libmts for Android asks of the C library is in Android's at API level 26. The objects were compiled with the headers of
# glibc (cross/android_compiles), so names that glibc gives to functions of its own are translated first.
# usage: android_imports.sh BUILD
set -euo pipefail
build=$1
nm=$(command -v aarch64-linux-gnu-nm || command -v llvm-nm) || { echo "no nm for arm64: skipped"; exit 77; }
# Of bionic's map files; all of them are there since level 21 or before (sincos, which compilers make of sin and cos, since 9). From later levels on only, and not to be added here:
# aligned_alloc, getrandom, glob (28), timespec_get (29), memfd_create, renameat2 and C11's threads (30).
available="__errno __sched_cpucount __stack_chk_fail abort acos acosf acosh acoshf asin asinf asinh asinhf atan atan2 atan2f atanf atanh atanhf atof atoi atol calloc
 ceil ceilf clock_gettime close closedir cos cosf cosh coshf dlclose dlerror dlopen dlsym dprintf dup dup2 erf erff exp
 exp2 exp2f expf expm1 expm1f fabs fabsf fclose fcntl fdatasync fflush floor floorf fma fmaf fmax fmaxf fmin fminf fmod
 fmodf flock fopen fprintf fputs fread free frexp fseek fseeko fstat fstatat fstatfs fsync ftell ftello ftruncate fwrite getauxval geteuid getenv getpid
 gettid hypot hypotf ioctl isatty ldexp llround llroundf log log10 log1p log1pf log2 log2f logf lrint lrintf lround lroundf
 lseek lstat madvise malloc memchr memcmp memcpy memmove memset mkdir mkstemp mmap modf mprotect msync munmap nanosleep
 nearbyint nearbyintf open openat opendir pipe poll posix_fallocate posix_memalign pow powf pread pthread_cond_broadcast
 pthread_cond_destroy pthread_cond_init pthread_cond_signal pthread_cond_timedwait pthread_cond_wait
 pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock pthread_create pthread_gettid_np pthread_join pthread_mutex_destroy
 pthread_mutex_init pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_once pthread_self pthread_sigmask pwrite qsort
 read readdir readlink realloc realpath remainder rename renameat rint rintf rmdir round roundf sched_getaffinity sched_getcpu sched_setaffinity sched_yield sigfillset sin sincos sincosf sinf sinh
 sinhf snprintf sqrt sqrtf sscanf stat strchr strcmp strcpy strcspn strdup strerror strerror_r strlen strncasecmp strncmp
 strncpy strnlen strrchr strspn strstr strtod strtof strtol strtoll strtoul strtoull syscall sysconf tan tanf tanh tanhf trunc
 truncf unlink unlinkat usleep vsnprintf write"
objects=$(find "$build" -name '*.c.o')
[ -n "$objects" ] || { echo "nothing was compiled in $build: skipped"; exit 77; }
list() { # shellcheck disable=SC2086
    "$nm" "$@" $objects | awk 'NF >= 2 && $NF !~ /:$/ {print $NF}' | sort -u
}
wanted=$(comm -23 <(list -u) <(list --defined-only) |
    sed -e 's/^__errno_location$/__errno/' -e 's/^__isoc99_//' | sort -u)
missing=$(comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' $available | sort -u))
[ -z "$missing" ] || { echo "not known to be in Android's C library at API level 26: " $missing; exit 1; }
[ "$(printf '%s\n' "$wanted" | wc -l)" -ge 20 ] || { echo "found only: " $wanted; exit 1; }
echo "libmts for Android asks the C library for" $wanted

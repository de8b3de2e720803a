/*
 * compile.c: see compile.h.
 *
 * The program is compiled with emulate.h in front of it, in a folder that is removed again. No shell has a
 * part in it: options go to the compiler as they are.
 */
#define _GNU_SOURCE

#include "cuda/fake/compile.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"

#define ARGUMENTS_MOST (FAKE_DEFINES_MOST + 24)

extern char **environ;

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    if (!file) {
        return NULL;
    }
    (void)fseek(file, 0, SEEK_END);
    const long length = ftell(file);
    (void)fseek(file, 0, SEEK_SET);
    if (length >= 0) {
        data = malloc((size_t)length + 1);
        if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
            free(data);
            data = NULL;
        }
    }
    (void)fclose(file);
    if (data) {
        data[length] = '\0';
        *size = (size_t)length;
    }
    return data;
}

static bool write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

/* emulate.h, then the program with its own line numbers; on the heap. */
static char *make_text(const fake_compile *what)
{
    size_t size = 0;
    char *prelude = read_file(MTS_FAKE_EMULATE, &size);
    const size_t most = size + strlen(what->source) + strlen(what->name) + 64;
    char *text = prelude ? malloc(most) : NULL;
    if (text) {
        (void)snprintf(text, most, "%s\n#line 1 \"%s\"\n%s\n", prelude, what->name, what->source);
    }
    free(prelude);
    return text;
}

static size_t add_processor(const char **arguments, size_t count)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
        arguments[count++] = "-mfma";
        arguments[count++] = "-mavx2";
    }
#else
    (void)arguments;
#endif
    return count;
}

/* All but the names of the files. The optimizer's level: kernels of few instructions run longer than they
 * compile. */
static size_t make_arguments(const fake_compile *what, const char **arguments, char *arch, size_t arch_size)
{
    static const char *const always[] = {MTS_FAKE_CXX,
                                         "-x",
                                         "c++",
                                         "-std=c++17",
                                         "-O1",
                                         "-shared",
                                         "-fPIC",
                                         "-w",
                                         "-fvisibility=hidden",
                                         "-fno-rtti",
                                         "-fno-exceptions",
                                         "-ffp-contract=off",
                                         "-fno-math-errno",
                                         "-fno-strict-aliasing",
                                         "-nodefaultlibs"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        arguments[count++] = always[i];
    }
    count = add_processor(arguments, count);
    (void)snprintf(arch, arch_size, "-D__CUDA_ARCH__=%u0", what->arch);
    arguments[count++] = arch;
    for (size_t i = 0; i < what->define_count; i++) {
        arguments[count++] = what->defines[i];
    }
    return count;
}

static void cache_path(char *out, size_t size, const char *text, const char *const *arguments, size_t count)
{
    const char *folder = getenv("MTS_FAKE_CUDA_CACHE");
    uint64_t a = mts_hash(text, strlen(text), 1);
    uint64_t b = mts_hash(text, strlen(text), 2);
    for (size_t i = 0; i < count; i++) {
        a = mts_hash(arguments[i], strlen(arguments[i]) + 1, a);
        b = mts_hash(arguments[i], strlen(arguments[i]) + 1, b);
    }
    (void)mkdir(folder ? folder : MTS_FAKE_CACHE, 0777);
    (void)snprintf(out, size, "%s/%016llx%016llx.so", folder ? folder : MTS_FAKE_CACHE, (unsigned long long)a,
                   (unsigned long long)b);
}

/* Whole or not at all: other tests may be at it. */
static void store(const char *path, const void *code, size_t size)
{
    char temporary[600];
    (void)snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    if (!write_file(temporary, code, size) || rename(temporary, path) != 0) {
        (void)unlink(temporary);
    }
}

/* The exit status; what the compiler says goes to the file `log`. */
static int spawn(const char *const *arguments, const char *log)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = -1;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ) ==
        0) {
        while (waitpid(child, &status, 0) < 0) {
        }
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return status;
}

static bool compile(const char *text, const char **arguments, size_t count, void **code, size_t *size,
                    char **log)
{
    const char *base = getenv("TMPDIR");
    char folder[256];
    char paths[3][300];
    static const char *const names[] = {"program.cu", "program.so", "log"};
    size_t ignored = 0;
    (void)snprintf(folder, sizeof folder, "%s/fake-nvrtc-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    }
    arguments[count++] = paths[0];
    arguments[count++] = "-o";
    arguments[count++] = paths[1];
    arguments[count++] = "-lm";
    arguments[count++] = "-lc";
    arguments[count] = NULL;
    const bool built = write_file(paths[0], text, strlen(text)) && spawn(arguments, paths[2]) == 0;
    *log = read_file(paths[2], &ignored);
    *code = built ? read_file(paths[1], size) : NULL;
    for (size_t i = 0; i < 3; i++) {
        (void)unlink(paths[i]);
    }
    (void)rmdir(folder);
    return *code;
}

bool fake_compile_run(const fake_compile *what, void **code, size_t *size, char **log)
{
    const char *arguments[ARGUMENTS_MOST];
    char arch[64];
    char path[560];
    char *text = make_text(what);
    *code = NULL;
    *log = NULL;
    if (!text) {
        return false;
    }
    const size_t count = make_arguments(what, arguments, arch, sizeof arch);
    cache_path(path, sizeof path, text, arguments, count);
    *code = read_file(path, size);
    if (!*code && compile(text, arguments, count, code, size, log)) {
        store(path, *code, *size);
    }
    free(text);
    return *code;
}

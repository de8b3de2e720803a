/*
 * nvrtc.c: the run-time compiler's functions: programs, their options, logs and results.
 *
 * Refuses what NVRTC refuses: options it does not know, architectures that its version does not know, and
 * before CUDA 11.1 (11010) those of devices (sm_), for which it could not make binaries.
 */
#include "cuda/fake/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/fake/compile.h"
#include "cuda/fake/image.h"

#define NVRTC_ERROR_INVALID_INPUT 3
#define NVRTC_ERROR_INVALID_PROGRAM 4
#define NVRTC_ERROR_INVALID_OPTION 5

struct nvrtcProgram_st {
    fake_object object;
    char *source, *name;
    char *log;
    char *image, *text; /* what was made: a binary (if it was asked for), and PTX */
    size_t image_size, text_size;
};

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    if (!copy) {
        abort(); /* the test machine is out of memory */
    }
    return strcpy(copy, text);
}

static nvrtcProgram find(nvrtcProgram program)
{
    return fake_object_find(program, FAKE_KIND_PROGRAM);
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    const int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    if (result == 0) {
        *major = fake_cuda_device()->nvrtc / 1000;
        *minor = fake_cuda_device()->nvrtc % 1000 / 10;
    }
    return fake_leave(result);
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    static const char *const names[] = {
        "NVRTC_SUCCESS",
        "NVRTC_ERROR_OUT_OF_MEMORY",
        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
        "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM",
        "NVRTC_ERROR_INVALID_OPTION",
        "NVRTC_ERROR_COMPILATION",
    };
    return result >= 0 && (size_t)result < sizeof names / sizeof names[0] ? names[result]
                                                                          : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int headers,
                               const char *const *header_texts, const char *const *header_names)
{
    const int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    (void)header_texts;
    (void)header_names;
    if (result != 0 || headers) {
        return fake_leave(result ? result : NVRTC_ERROR_INVALID_INPUT);
    }
    *out = calloc(1, sizeof **out);
    if (!*out) {
        abort(); /* as above */
    }
    (*out)->source = copy_of(source);
    (*out)->name = copy_of(name ? name : "default_program");
    fake_object_add(&(*out)->object, FAKE_KIND_PROGRAM, NULL);
    return fake_leave(0);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle)
{
    const int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    nvrtcProgram program = find(*handle);
    if (!program) {
        return fake_leave(NVRTC_ERROR_INVALID_PROGRAM);
    }
    fake_object_remove(&program->object);
    free(program->source);
    free(program->name);
    free(program->log);
    free(program->image);
    free(program->text);
    free(program);
    *handle = NULL;
    return fake_leave(result);
}

static bool is_one_of(uint32_t arch, const uint32_t *list)
{
    while (*list && *list != arch) {
        list++;
    }
    return *list != 0;
}

static bool knows_arch(uint32_t arch)
{
    static const uint32_t of_10[] = {30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 0};
    static const uint32_t of_12[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 0};
    static const uint32_t of_13[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121, 0};
    const int version = fake_cuda_device()->nvrtc;
    return is_one_of(arch, version < 11000 ? of_10 : version < 13000 ? of_12 : of_13);
}

/* The text after the first of two spellings, or NULL. */
static const char *value_of(const char *option, const char *a, const char *b)
{
    return strncmp(option, a, strlen(a)) == 0   ? option + strlen(a)
           : strncmp(option, b, strlen(b)) == 0 ? option + strlen(b)
                                                : NULL;
}

static bool is_ignored(const char *option)
{
    static const char *const known[] = {
        "-std=c++14", "--std=c++14", "-std=c++17",      "--std=c++17", "-w",        "--fmad=true",
        "-fmad=true", "-lineinfo",   "-default-device", "--restrict",  "-restrict", NULL};
    const char *const *at = known;
    while (*at && strcmp(*at, option) != 0) {
        at++;
    }
    return *at;
}

/* Options to what the compiler of this machine takes. */
static int read_options(int count, const char *const *options, fake_compile *out)
{
    for (int i = 0; i < count; i++) {
        const char *arch = value_of(options[i], "-arch=", "--gpu-architecture=");
        if (arch) {
            const bool real = strncmp(arch, "sm_", 3) == 0;
            const char *number = real ? arch + 3 : strncmp(arch, "compute_", 8) == 0 ? arch + 8 : "0";
            out->arch = (uint32_t)strtoul(number, NULL, 10);
            out->binary = real;
            if (!knows_arch(out->arch) || (real && fake_cuda_device()->nvrtc < 11010)) {
                return NVRTC_ERROR_INVALID_OPTION;
            }
        } else if (strncmp(options[i], "-D", 2) == 0 && options[i][2]) {
            if (out->define_count == FAKE_DEFINES_MOST) {
                return NVRTC_ERROR_INVALID_OPTION;
            }
            out->defines[out->define_count++] = options[i];
        } else if (!is_ignored(options[i])) {
            return NVRTC_ERROR_INVALID_OPTION;
        }
    }
    return 0;
}

static int compile(nvrtcProgram program, int count, const char *const *options)
{
    fake_compile what = {.source = program->source, .name = program->name, .arch = 52};
    void *code = NULL;
    size_t size = 0;
    const int bad = read_options(count, options, &what);
    free(program->log);
    program->log = NULL;
    if (bad) {
        program->log = copy_of("nvrtc: error: invalid value for an option");
        return bad;
    }
    if (!fake_compile_run(&what, &code, &size, &program->log)) {
        return NVRTC_ERROR_COMPILATION;
    }
    free(program->image);
    free(program->text);
    program->image =
        fake_image_make(what.arch, (uint32_t)fake_cuda_device()->nvrtc, code, size, &program->image_size);
    free(code);
    if (!program->image) {
        abort(); /* as above */
    }
    program->text = fake_image_to_text(program->image, &program->text_size);
    if (!what.binary) {
        program->image_size = 0;
    }
    return 0;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options)
{
    int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    nvrtcProgram program = result == 0 ? find(handle) : NULL;
    if (result == 0) {
        result = program ? compile(program, count, options) : NVRTC_ERROR_INVALID_PROGRAM;
    }
    return fake_leave(result);
}

static int get_size(const char *call, nvrtcProgram handle, size_t offset, size_t *out)
{
    int result = fake_enter(call, FAKE_NEED_NOTHING);
    nvrtcProgram program = result == 0 ? find(handle) : NULL;
    if (result == 0) {
        result = program ? 0 : NVRTC_ERROR_INVALID_PROGRAM;
    }
    if (result == 0) {
        memcpy(out, (const char *)program + offset, sizeof *out);
    }
    return fake_leave(result);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *out)
{
    int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    nvrtcProgram program = result == 0 ? find(handle) : NULL;
    if (result == 0) {
        result = program ? 0 : NVRTC_ERROR_INVALID_PROGRAM;
    }
    if (result == 0) {
        *out = program->log ? strlen(program->log) + 1 : 1;
    }
    return fake_leave(result);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *out)
{
    int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    nvrtcProgram program = result == 0 ? find(handle) : NULL;
    if (result == 0) {
        result = program ? 0 : NVRTC_ERROR_INVALID_PROGRAM;
    }
    if (result == 0) {
        (void)strcpy(out, program->log ? program->log : "");
    }
    return fake_leave(result);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t *out)
{
    return get_size(__func__, handle, offsetof(struct nvrtcProgram_st, text_size), out);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *out)
{
    return get_size(__func__, handle, offsetof(struct nvrtcProgram_st, image_size), out);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char *out)
{
    int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    nvrtcProgram program = result == 0 ? find(handle) : NULL;
    if (result == 0) {
        result = program && program->text ? 0 : NVRTC_ERROR_INVALID_PROGRAM;
    }
    if (result == 0) {
        memcpy(out, program->text, program->text_size);
    }
    return fake_leave(result);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *out)
{
    int result = fake_enter(__func__, FAKE_NEED_NOTHING);
    nvrtcProgram program = result == 0 ? find(handle) : NULL;
    if (result == 0) {
        result = program && program->image_size ? 0 : NVRTC_ERROR_INVALID_PROGRAM;
    }
    if (result == 0) {
        memcpy(out, program->image, program->image_size);
    }
    return fake_leave(result);
}

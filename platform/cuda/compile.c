/*
 * compile.c: the builder of programs, and how it turns a kernel's text into a binary or
 * PTX by NVRTC.
 *
 * Not responsible for the cache (cache.c), nor for loading programs (program.c).
 */
#include "platform/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "platform/cuda/quirks.h"

#define OPTIONS_ALWAYS "-std=c++14"
#define OPTIONS_MOST 64
#define PTX_OLDEST 65    /* 6.5, of CUDA 10.2 */
#define LOG_IN_ERROR 320 /* characters of a compiler's log that fit into an error text */

/* One attempt: for which compute capability, and what is wanted of it. */
typedef struct target {
    uint32_t arch;
    bool text;
} target;

mts_status mts_cu_builder_init(mts_cu_builder *builder, const mts_device *device,
                               const mts_device_options *options, mts_error *error)
{
    builder->allocator = options->allocator;
    builder->log = options->log;
    builder->info = &device->info;
    builder->counts = options->programs;
    if (options->cache_dir) {
        builder->cache_dir = mts_alloc_string(options->allocator, options->cache_dir);
        if (!builder->cache_dir) {
            return mts_fail_memory(error);
        }
    }
    return MTS_STATUS_OK;
}

void mts_cu_builder_release(mts_cu_builder *builder)
{
    mts_rtc_library_close(&builder->rtc);
    if (builder->cache_dir) {
        mts_alloc_free(builder->allocator, builder->cache_dir);
    }
}

char *mts_cu_options_make(const mts_cu_builder *builder, const char *defines)
{
    mts_text text;
    mts_text_init(&text, builder->allocator);
    mts_text_add(&text, "%s %s", OPTIONS_ALWAYS, defines);
    char *options = text.failed ? NULL : mts_alloc_string(builder->allocator, mts_text_get(&text));
    mts_text_release(&text);
    return options;
}

void mts_cu_image_release(const mts_cu_builder *builder, mts_cu_image *image)
{
    mts_alloc_free(builder->allocator, image->data);
    *image = (mts_cu_image){.data = NULL};
}

/* Cuts `words` at its spaces, in place. */
static mts_status split(char *words, const char *list[OPTIONS_MOST], int *count, mts_error *error)
{
    for (char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
        if (*count == OPTIONS_MOST) {
            return mts_fail(error, MTS_STATUS_LIMIT, "more than %d options for a kernel", OPTIONS_MOST);
        }
        list[(*count)++] = at;
        at += strcspn(at, " ");
        if (*at) {
            *at++ = '\0';
        }
    }
    return MTS_STATUS_OK;
}

/* The compiler's log on the allocator, without spaces at its ends; NULL if there is none.
 * *text is where it starts. */
static char *compile_log(const mts_cu_builder *builder, nvrtcProgram program, const char **text)
{
    size_t size = 0;
    if (builder->rtc.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size == 0 ||
        size == SIZE_MAX) {
        return NULL;
    }
    char *log = mts_alloc_zero(builder->allocator, size + 1, 1);
    if (!log) {
        return NULL;
    }
    (void)builder->rtc.nvrtcGetProgramLog(program, log);
    log[size] = '\0';
    *text = log + strspn(log, " \t\r\n");
    size_t length = strlen(*text);
    while (length && strchr(" \t\r\n", (*text)[length - 1])) {
        length--;
    }
    log[(size_t)(*text - log) + length] = '\0';
    return log;
}

static mts_status call_failed(const mts_cu_builder *builder, const mts_kernel_source *source,
                              nvrtcResult result, const char *call, mts_error *error)
{
    const mts_status status =
        result == NVRTC_ERROR_OUT_OF_MEMORY ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_DEVICE;
    return mts_fail(error, status, "kernel '%s': %s failed with %s (%d)", source->name, call,
                    builder->rtc.nvrtcGetErrorString(result), result);
}

static mts_status compile_failed(const mts_cu_builder *builder, const mts_kernel_source *source,
                                 const char *options, nvrtcProgram program, nvrtcResult result,
                                 mts_error *error)
{
    const char *text = "no log";
    char *log = compile_log(builder, program, &text);
    mts_status status = MTS_STATUS_DEVICE;
    if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
        status = MTS_STATUS_OUT_OF_MEMORY;
    } else if (result == NVRTC_ERROR_INVALID_OPTION) {
        status = MTS_STATUS_UNSUPPORTED;
    } else {
        mts_log_write(builder->log, MTS_LOG_WARNING, "kernel '%s' (%s) does not compile: %s", source->name,
                      options, text);
    }
    (void)mts_fail(error, status, "kernel '%s': nvrtcCompileProgram failed with %s (%d): %.*s", source->name,
                   builder->rtc.nvrtcGetErrorString(result), result, LOG_IN_ERROR, text);
    mts_alloc_free(builder->allocator, log);
    return status;
}

static mts_status run_compiler(const mts_cu_builder *builder, const mts_kernel_source *source,
                               const char *options, const target *to, nvrtcProgram program, mts_error *error)
{
    const char *list[OPTIONS_MOST] = {NULL};
    char arch[64];
    int count = 1;
    (void)snprintf(arch, sizeof arch, "--gpu-architecture=%s_%u", to->text ? "compute" : "sm", to->arch);
    list[0] = arch;
    char *words = mts_alloc_string(builder->allocator, options);
    if (!words) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the options of kernel '%s'",
                        source->name);
    }
    mts_status status = split(words, list, &count, error);
    if (status == MTS_STATUS_OK) {
        const nvrtcResult result = builder->rtc.nvrtcCompileProgram(program, count, list);
        if (result != NVRTC_SUCCESS) {
            status = compile_failed(builder, source, options, program, result, error);
        }
    }
    mts_alloc_free(builder->allocator, words);
    return status;
}

/*
 * PTX says which version of the language it is, and a compiler its own newest, which
 * older drivers refuse. What our kernels become is no newer than the device
 * (tests/cuda_compile/ahead.py has an old assembler read it).
 */
static void lower_version(char *text, uint32_t arch)
{
    static const char directive[] = ".version ";
    const mts_cu_quirks *quirks = mts_cu_quirks_find(arch);
    const unsigned most = quirks->ptx ? quirks->ptx : PTX_OLDEST;
    unsigned major = 0, minor = 0;
    int length = 0;
    char made[16];
    char *line = strstr(text, directive);
    if (quirks->arch != arch || !line || sscanf(line, ".version %u.%u%n", &major, &minor, &length) != 2 ||
        major * 10 + minor <= most) {
        return;
    }
    const size_t room = (size_t)length - (sizeof directive - 1);
    const int written = snprintf(made, sizeof made, "%u.%u", most / 10, most % 10);
    if (written > 0 && (size_t)written <= room) {
        memset(line + sizeof directive - 1, ' ', room);
        memcpy(line + sizeof directive - 1, made, (size_t)written);
    }
}

static mts_status take_image(const mts_cu_builder *builder, const mts_kernel_source *source, const target *to,
                             nvrtcProgram program, mts_cu_image *out, mts_error *error)
{
    const mts_rtc_library *rtc = &builder->rtc;
    const bool text = to->text;
    mts_cu_image image = {.is_text = text};
    nvrtcResult result =
        text ? rtc->nvrtcGetPTXSize(program, &image.size) : rtc->nvrtcGetCUBINSize(program, &image.size);
    if (result != NVRTC_SUCCESS || image.size == 0) {
        return call_failed(builder, source, result, text ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", error);
    }
    image.data = mts_alloc_zero(builder->allocator, image.size, 1);
    if (!image.data) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the %zu bytes of kernel '%s'",
                        image.size, source->name);
    }
    result = text ? rtc->nvrtcGetPTX(program, image.data) : rtc->nvrtcGetCUBIN(program, image.data);
    if (result != NVRTC_SUCCESS) {
        mts_cu_image_release(builder, &image);
        return call_failed(builder, source, result, text ? "nvrtcGetPTX" : "nvrtcGetCUBIN", error);
    }
    if (text) {
        image.data[image.size - 1] = '\0'; /* so it should be */
        lower_version(image.data, to->arch);
    }
    *out = image;
    return MTS_STATUS_OK;
}

static mts_status compile_for(mts_cu_builder *builder, const mts_kernel_source *source, const char *options,
                              const target *to, mts_cu_image *out, mts_error *error)
{
    char name[128];
    nvrtcProgram program = NULL;
    char *whole = mts_kernel_text(source, builder->allocator);
    if (!whole) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the text of kernel '%s'",
                        source->name);
    }
    (void)snprintf(name, sizeof name, "%s.cu", source->name);
    const nvrtcResult result = builder->rtc.nvrtcCreateProgram(&program, whole, name, 0, NULL, NULL);
    mts_alloc_free(builder->allocator, whole); /* the compiler has a copy */
    if (result != NVRTC_SUCCESS) {
        return call_failed(builder, source, result, "nvrtcCreateProgram", error);
    }
    mts_status status = run_compiler(builder, source, options, to, program, error);
    MTS_TRY(status, take_image(builder, source, to, program, out, error));
    (void)builder->rtc.nvrtcDestroyProgram(&program);
    return status;
}

/* A driver may refuse the binaries of a compiler of the next generation, but no PTX that
   it knows. */
static mts_status open_compiler(mts_cu_builder *builder, const mts_kernel_source *source, mts_error *error)
{
    mts_rtc_library *rtc = &builder->rtc;
    int major = 0, minor = 0;
    mts_status status = rtc->handle ? MTS_STATUS_OK : mts_rtc_library_open(rtc, error);
    if (status != MTS_STATUS_OK || rtc->version) {
        return status;
    }
    const nvrtcResult result = rtc->nvrtcVersion(&major, &minor);
    if (result != NVRTC_SUCCESS) {
        return call_failed(builder, source, result, "nvrtcVersion", error);
    }
    rtc->version = major * 1000 + minor * 10;
    builder->prefers_text =
        !rtc->nvrtcGetCUBINSize || !rtc->nvrtcGetCUBIN || (builder->driver && major > builder->driver / 1000);
    return MTS_STATUS_OK;
}

mts_status mts_cu_compile(mts_cu_builder *builder, const mts_kernel_source *source, const char *options,
                          bool text, mts_cu_image *out, mts_error *error)
{
    const uint32_t arch = builder->info->arch;
    *out = (mts_cu_image){.data = NULL};
    mts_status status = open_compiler(builder, source, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    target to = {.arch = arch, .text = text || builder->prefers_text};
    status = compile_for(builder, source, options, &to, out, error);
    /* A compiler that is older than the device: the driver makes its code of an older
       device's PTX. */
    while (status == MTS_STATUS_UNSUPPORTED && !text) {
        to = (target){.arch = to.text ? mts_cu_quirks_before(to.arch) : arch, .text = true};
        mts_error ignored;
        if (to.arch == 0) {
            break; /* the error is that of the device itself */
        }
        status = compile_for(builder, source, options, &to, out, &ignored);
        if (status != MTS_STATUS_OK && status != MTS_STATUS_UNSUPPORTED && error) {
            *error = ignored;
        }
    }
    builder->made.built += status == MTS_STATUS_OK;
    return status;
}

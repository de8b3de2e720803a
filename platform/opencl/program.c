/*
 * program.c: from a kernel's text and options to a kernel object.
 *
 * Programs are looked up in the device, then on disk (cache.c), then built. Not
 * responsible for choosing options: the launch's planner does.
 */
#include "platform/opencl/opencl.h"

#include <string.h>

#include "base/text.h"

#define STANDARD "-cl-std=CL1.2"
#define STANDARD_DOT "-cl-std=CL3.0"
#define OPTIONS_ALWAYS " -cl-mad-enable "
/* Groups of a persistent kernel on a compute unit of a GPU at most: the first number that
   is tried. */
#define RESIDENT_MOST 4u
#define OPTION_DENORMALS                                                                                     \
    " -cl-denorms-are-zero" /* a hint, which some drivers refuse (PoCL's of remote devices) */
#define LOG_IN_ERROR 320    /* characters of a build log that fit into an error text */

static void program_free(mts_cl_device *device, mts_cl_program *program)
{
    if (program->handle) {
        (void)device->cl.clReleaseProgram(program->handle);
    }
    mts_alloc_free(device->base.allocator, program->options);
    mts_alloc_free(device->base.allocator, program);
}

/* The driver's log on the allocator, without spaces at its ends; NULL if there is none.
 * *text is where it starts. */
static char *build_log(mts_cl_device *device, cl_program program, const char **text)
{
    size_t size = 0;
    cl_int result =
        device->cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    if (result != CL_SUCCESS || size == 0 || size == SIZE_MAX) {
        return NULL;
    }
    char *log = mts_alloc_zero(device->base.allocator, size + 1, 1);
    if (!log) {
        return NULL;
    }
    (void)device->cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    *text = log + strspn(log, " \t\r\n");
    size_t length = strlen(*text);
    while (length && strchr(" \t\r\n", (*text)[length - 1])) {
        length--;
    }
    log[(size_t)(*text - log) + length] = '\0';
    return log;
}

static mts_status build_failed(mts_cl_device *device, const mts_cl_program *program, cl_int result,
                               mts_error *error)
{
    const char *text = "no log";
    char *log = build_log(device, program->handle, &text);
    mts_error failure;
    const mts_status status = mts_cl_check(device, result, MTS_CL_STAGE_ENQUEUE, "clBuildProgram", &failure);
    mts_log_write(device->base.log, MTS_LOG_WARNING, "kernel '%s' (%s) does not build: %s",
                  program->source->name, program->options, text);
    (void)mts_fail(error, status, "kernel '%s': clBuildProgram failed with %s (%d): %.*s",
                   program->source->name, mts_cl_error_name(result), result, LOG_IN_ERROR, text);
    mts_alloc_free(device->base.allocator, log);
    return status;
}

/* Some drivers accept a damaged or foreign binary and fail only when a kernel is asked
   for. */
static bool has_kernel(mts_cl_device *device, const mts_cl_program *program)
{
    cl_int result = CL_SUCCESS;
    cl_kernel kernel = device->cl.clCreateKernel(program->handle, program->source->name, &result);
    if (result != CL_SUCCESS || !kernel) {
        return false;
    }
    (void)device->cl.clReleaseKernel(kernel);
    return true;
}

static bool build_from_binary(mts_cl_device *device, mts_cl_program *program, const mts_os_cache_file *binary)
{
    cl_int status = CL_SUCCESS;
    cl_int result = CL_SUCCESS;
    const unsigned char *data = binary->body;
    program->handle = device->cl.clCreateProgramWithBinary(device->context, 1, &device->id, &binary->size,
                                                           &data, &status, &result);
    if (result != CL_SUCCESS || !program->handle) {
        program->handle = NULL;
        return false;
    }
    if (status == CL_SUCCESS) {
        result = device->cl.clBuildProgram(program->handle, 1, &device->id, program->options, NULL, NULL);
        if (result == CL_SUCCESS && has_kernel(device, program)) {
            return true;
        }
    }
    (void)device->cl.clReleaseProgram(program->handle);
    program->handle = NULL;
    return false;
}

static mts_status build_from_source(mts_cl_device *device, mts_cl_program *program, mts_error *error)
{
    const mts_allocator *allocator = device->base.allocator;
    char *text = mts_kernel_text(program->source, allocator);
    if (!text) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the text of kernel '%s'",
                        program->source->name);
    }
    const char *parts[] = {text};
    const size_t length = strlen(text);
    cl_int result = CL_SUCCESS;
    program->handle = device->cl.clCreateProgramWithSource(device->context, 1, parts, &length, &result);
    mts_alloc_free(allocator, text);
    const mts_status status =
        mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateProgramWithSource", error);
    if (status != MTS_STATUS_OK) {
        program->handle = NULL;
        return status;
    }
    result = device->cl.clBuildProgram(program->handle, 1, &device->id, program->options, NULL, NULL);
    return result == CL_SUCCESS ? MTS_STATUS_OK : build_failed(device, program, result, error);
}

static mts_status build(mts_cl_device *device, mts_cl_program *program, mts_error *error)
{
    mts_os_cache_file binary = {.file = NULL};
    const bool cached = device->cache_dir;
    char *key = cached ? mts_cl_cache_key(device, program->source, program->options) : NULL;
    if (cached && !key) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the key of kernel '%s'",
                        program->source->name);
    }
    bool ready = false;
    if (key && mts_cl_cache_load(device, key, &binary)) {
        ready = build_from_binary(device, program, &binary);
        device->built.cache.hits += ready;
        device->built.cache.rejected += !ready;
        mts_cl_cache_release(device, &binary);
    }
    mts_status status = MTS_STATUS_OK;
    if (!ready) {
        device->built.cache.misses += cached;
        device->built.built++;
        status = build_from_source(device, program, error);
    }
    /* The binary is read after a kernel was made: Mali's is incomplete before. */
    if (status == MTS_STATUS_OK && !ready && key && has_kernel(device, program)) {
        mts_cl_cache_store(device, key, program->handle);
    }
    mts_alloc_free(device->base.allocator, key);
    if (device->counts) {
        *device->counts = device->built;
    }
    return status;
}

static char *make_options(mts_cl_device *device, const mts_kernel_source *source, const mts_kernel_desc *desc)
{
    const bool dot = device->dot && strstr(source->name, "__i32_words");
    mts_text text;
    mts_text_init(&text, device->base.allocator);
    const char *standard = desc->resident_items > 0 ? device->atomics : dot ? STANDARD_DOT : STANDARD;
    mts_text_add(&text, "%s%s%s%s %s %s", standard, OPTIONS_ALWAYS, dot ? device->dot : "",
                 device->keeps_denormals ? "" : OPTION_DENORMALS, device->quirks->options, desc->defines);
    char *options = text.failed ? NULL : mts_alloc_string(device->base.allocator, mts_text_get(&text));
    mts_text_release(&text);
    return options;
}

/* Builds the program anew, with options as the device has them now. */
static bool builds_again(mts_cl_device *device, mts_cl_program *program, const mts_kernel_desc *desc)
{
    mts_error ignored;
    char *options = make_options(device, program->source, desc);
    if (!options) {
        return false;
    }
    mts_alloc_free(device->base.allocator, program->options);
    program->options = options;
    if (program->handle) {
        (void)device->cl.clReleaseProgram(program->handle);
        program->handle = NULL;
    }
    return build(device, program, &ignored) == MTS_STATUS_OK;
}

/* Whether a driver that has built nothing yet builds the program once denormals are left
   alone. */
static bool builds_with_denormals(mts_cl_device *device, mts_cl_program *program, const mts_kernel_desc *desc)
{
    if (device->programs || device->keeps_denormals || mts_device_is_lost(&device->base)) {
        return false;
    }
    device->keeps_denormals = true;
    const bool builds = builds_again(device, program, desc);
    device->keeps_denormals = builds;
    if (builds) {
        mts_log_write(device->base.log, MTS_LOG_INFO, "this driver refuses%s: kernels are built without",
                      OPTION_DENORMALS);
    }
    return builds;
}

/* Whether a program of codes builds without the device's products of bytes, in the form
   of plain OpenCL C 1.2 that its kernels have. The device then does without them. */
static bool builds_without_dot(mts_cl_device *device, mts_cl_program *program, const mts_kernel_desc *desc)
{
    const char *dot = device->dot;
    if (!dot || !strstr(program->options, dot) || mts_device_is_lost(&device->base)) {
        return false;
    }
    device->dot = NULL;
    const bool builds = builds_again(device, program, desc) || builds_with_denormals(device, program, desc);
    if (builds) {
        mts_log_write(device->base.log, MTS_LOG_WARNING,
                      "this driver does not build kernel '%s' with %s %s: kernels of codes are built without",
                      program->source->name, STANDARD_DOT, dot);
    } else {
        device->dot = dot;
    }
    return builds;
}

static mts_status program_get(mts_cl_device *device, const mts_kernel_source *source,
                              const mts_kernel_desc *desc, mts_cl_program **out, mts_error *error)
{
    mts_cl_program *program = mts_alloc_zero(device->base.allocator, 1, sizeof *program);
    if (program) {
        program->source = source;
        program->options = make_options(device, source, desc);
    }
    if (!program || !program->options) {
        mts_alloc_free(device->base.allocator, program);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the program of kernel '%s'",
                        source->name);
    }
    for (mts_cl_program *old = device->programs; old; old = old->next) {
        if (old->source == source && strcmp(old->options, program->options) == 0) {
            program_free(device, program);
            *out = old;
            return MTS_STATUS_OK;
        }
    }
    mts_status status = build(device, program, error);
    if (status != MTS_STATUS_OK &&
        (builds_with_denormals(device, program, desc) || builds_without_dot(device, program, desc))) {
        status = MTS_STATUS_OK;
    }
    if (status != MTS_STATUS_OK) {
        program_free(device, program);
        return status;
    }
    program->next = device->programs;
    device->programs = program;
    *out = program;
    return MTS_STATUS_OK;
}

/* The work-group size is a fact of the built kernel, known only through a kernel
   object. */
static mts_status query_group(mts_cl_device *device, mts_cl_kernel *kernel, mts_error *error)
{
    const char *name = kernel->program->source->name;
    size_t size = 0;
    cl_int result = CL_SUCCESS;
    cl_kernel handle = device->cl.clCreateKernel(kernel->program->handle, name, &result);
    mts_status status = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateKernel", error);
    if (status == MTS_STATUS_OK) {
        result = device->cl.clGetKernelWorkGroupInfo(handle, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                                     sizeof size, &size, NULL);
        (void)device->cl.clReleaseKernel(handle);
        status = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clGetKernelWorkGroupInfo", error);
    }
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "kernel '%s'", name);
    }
    const uint32_t most = device->base.info.work_group_size;
    kernel->base.work_group_size = size < most ? (uint32_t)size : most;
    return MTS_STATUS_OK;
}

/*
 * OpenCL does not tell how many work-groups a compute unit holds. A processor's thread has
 * one. A GPU's unit has as many as the kernel's largest group has room for, up to a few; a
 * trial halves that until they meet.
 */
static uint32_t resident_groups(const mts_cl_device *device, const mts_kernel *kernel, uint32_t items)
{
    const mts_device_info *info = &device->base.info;
    const uint32_t fit = items > 0 ? kernel->work_group_size / items : 0;
    const uint32_t most = info->is_gpu ? RESIDENT_MOST : 1;
    return info->compute_units * (fit < most ? fit : most);
}

static mts_status create_from(mts_device *base, const mts_kernel_source *source, const mts_kernel_desc *desc,
                              mts_kernel **out, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_kernel *kernel = mts_alloc_zero(base->allocator, 1, sizeof *kernel);
    if (!kernel) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for kernel '%s'", source->name);
    }
    mts_status status = program_get(device, source, desc, &kernel->program, error);
    MTS_TRY(status, query_group(device, kernel, error));
    if (status != MTS_STATUS_OK) {
        mts_alloc_free(base->allocator, kernel);
        return status;
    }
    kernel->base.device = base;
#ifndef MTS_SMALL
    kernel->images = strstr(desc->defines, MTS_KERNEL_IMAGES) != NULL;
    kernel->half = strstr(desc->defines, "-DHALF=") != NULL;
#endif
    kernel->base.resident = resident_groups(device, &kernel->base, desc->resident_items);
    *out = &kernel->base;
    return MTS_STATUS_OK;
}

mts_status mts_cl_kernel_create_from(mts_device *base, const mts_kernel_source *source, const char *defines,
                                     mts_kernel **out, mts_error *error)
{
    const mts_kernel_desc desc = {.defines = defines};
    return create_from(base, source, &desc, out, error);
}

mts_status mts_cl_kernel_create(mts_device *base, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error)
{
    return create_from(base, mts_kernel_find(desc->name), desc, out, error);
}

void mts_cl_kernel_destroy(mts_device *base, mts_kernel *kernel)
{
    mts_alloc_free(base->allocator, kernel); /* its program stays for the next kernel of the same options */
}

void mts_cl_programs_release(mts_cl_device *device)
{
    while (device->programs) {
        mts_cl_program *program = device->programs;
        device->programs = program->next;
        program_free(device, program);
    }
}

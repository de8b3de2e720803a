/*
 * program.c: from a kernel's text and options to a function that the driver can launch.
 *
 * Programs are looked up in the device, then on disk as a binary, then compiled, then
 * looked up on disk as PTX that was made ahead of time. Not responsible for choosing
 * options: the launch's planner does.
 */
#include "platform/cuda/cuda.h"

#include <string.h>

#define LOG_SIZE 1024
#define JIT_ERROR_LOG 5 /* options of the driver's linker: where its log goes, and how long it may be */
#define JIT_ERROR_LOG_SIZE 6

static void program_free(mts_cu_device *device, mts_cu_program *program)
{
    if (program->module) {
        (void)device->cu.cuModuleUnload(program->module);
    }
    mts_alloc_free(device->base.allocator, program->options);
    mts_alloc_free(device->base.allocator, program);
}

/* A module, the function in it, and what the function can do on this device. *refused:
 * the driver does not take such binaries. */
static mts_status load(mts_cu_device *device, mts_cu_program *program, const mts_cu_image *image,
                       bool *refused, mts_error *error)
{
    const mts_cu_library *cu = &device->cu;
    int group = 0;
    const char *call = "cuModuleLoadData";
    CUresult result = cu->cuModuleLoadData(&program->module, image->data);
    if (result != CUDA_SUCCESS) {
        program->module = NULL;
    } else {
        call = "cuModuleGetFunction";
        result = cu->cuModuleGetFunction(&program->function, program->module, program->source->name);
    }
    if (result == CUDA_SUCCESS) {
        call = "cuFuncGetAttribute";
        result = cu->cuFuncGetAttribute(&group, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, program->function);
    }
    *refused = result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU;
    mts_status status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, call, error);
    if (status == MTS_STATUS_OK && group < 1) {
        status = mts_fail(error, MTS_STATUS_DEVICE, "no group of work-items fits");
    }
    if (status != MTS_STATUS_OK) {
        if (program->module) {
            (void)cu->cuModuleUnload(program->module);
            program->module = NULL;
        }
        return mts_fail_prefix(error, status, "kernel '%s'", program->source->name);
    }
    const uint32_t most = device->base.info.work_group_size;
    program->work_group_size = (uint32_t)group < most ? (uint32_t)group : most;
    return MTS_STATUS_OK;
}

static mts_status run_linker(mts_cu_device *device, const mts_kernel_source *source, const mts_cu_image *text,
                             CUlinkState state, mts_cu_image *out, const char *log, mts_error *error)
{
    void *data = NULL;
    size_t size = 0;
    const char *call = "cuLinkAddData";
    CUresult result = device->cu.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, text->data, text->size,
                                                  source->name, 0, NULL, NULL);
    if (result == CUDA_SUCCESS) {
        call = "cuLinkComplete";
        result = device->cu.cuLinkComplete(state, &data, &size);
    }
    mts_status status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, call, error);
    if (status != MTS_STATUS_OK) {
        (void)mts_fail_prefix(error, status, "kernel '%s'%s%.300s", source->name, log[0] ? ": " : "", log);
        return status;
    }
    char *copy = data && size ? mts_alloc_zero(device->base.allocator, size, 1) : NULL;
    if (!copy) {
        return mts_fail(error, size ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_DEVICE,
                        "kernel '%s': no memory for, or nothing in, a program of %zu bytes", source->name,
                        size);
    }
    memcpy(copy, data, size); /* the linker's goes with its state */
    *out = (mts_cu_image){.data = copy, .size = size};
    return MTS_STATUS_OK;
}

/* From PTX to a binary by the driver's compiler. */
static mts_status link_text(mts_cu_device *device, const mts_kernel_source *source, const mts_cu_image *text,
                            mts_cu_image *out, mts_error *error)
{
    const mts_cu_library *cu = &device->cu;
    char log[LOG_SIZE] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    CUlinkState state = NULL;
    *out = (mts_cu_image){.data = NULL};
    if (!cu->cuLinkCreate_v2 || !cu->cuLinkAddData_v2 || !cu->cuLinkComplete || !cu->cuLinkDestroy) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "kernel '%s': the driver cannot compile PTX",
                        source->name);
    }
    mts_status status = mts_cu_check(device, cu->cuLinkCreate_v2(2, options, values, &state),
                                     MTS_CU_CALL_CREATE, "cuLinkCreate", error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "kernel '%s'", source->name);
    }
    status = run_linker(device, source, text, state, out, log, error);
    (void)cu->cuLinkDestroy(state);
    return status;
}

/* PTX that was made ahead of time for this compute capability. */
static bool find_text(mts_cu_builder *builder, const mts_cu_program *program, mts_cu_image *image)
{
    char *key =
        builder->cache_dir ? mts_cu_cache_key(builder, true, program->source, program->options) : NULL;
    const bool found = key && mts_cu_cache_load(builder, true, key, image);
    mts_alloc_free(builder->allocator, key);
    return found;
}

/* A binary from the compiler, or from PTX. Where there is no compiler for the device
 * (NOT_FOUND) the error says what would help. */
static mts_status make_binary(mts_cu_device *device, const mts_cu_program *program, mts_cu_image *out,
                              mts_error *error)
{
    mts_cu_builder *builder = &device->builder;
    mts_cu_image image = {.data = NULL};
    mts_status status = mts_cu_compile(builder, program->source, program->options, false, &image, error);
    if (status == MTS_STATUS_NOT_FOUND || status == MTS_STATUS_UNSUPPORTED) {
        if (!find_text(builder, program, &image)) {
            return mts_fail(error, MTS_STATUS_NOT_FOUND,
                            "kernel '%s' was not made ahead of time ('mts kernels' does that, for the cache "
                            "directory), and CUDA's compiler libnvrtc %s",
                            program->source->name,
                            status == MTS_STATUS_NOT_FOUND ? "was not found" : "does not know this device");
        }
        status = MTS_STATUS_OK;
    }
    if (status != MTS_STATUS_OK || !image.is_text) {
        *out = image;
        return status;
    }
    status = link_text(device, program->source, &image, out, error);
    mts_cu_image_release(builder, &image);
    return status;
}

static bool load_cached(mts_cu_device *device, mts_cu_program *program, const char *key)
{
    mts_cu_builder *builder = &device->builder;
    mts_cu_image image = {.data = NULL};
    mts_error ignored;
    if (!mts_cu_cache_load(builder, false, key, &image)) {
        return false;
    }
    bool refused = false;
    const bool ready = load(device, program, &image, &refused, &ignored) == MTS_STATUS_OK;
    builder->made.cache.hits += ready;
    builder->made.cache.rejected += !ready;
    mts_cu_image_release(builder, &image);
    return ready;
}

/* Where the compiler's binary is refused the driver compiles the PTX, now and for all
   that follow. */
static mts_status make_and_load(mts_cu_device *device, mts_cu_program *program, mts_cu_image *image,
                                mts_error *error)
{
    mts_cu_builder *builder = &device->builder;
    bool refused = false;
    mts_status status = make_binary(device, program, image, error);
    MTS_TRY(status, load(device, program, image, &refused, error));
    if (!refused || builder->prefers_text || !builder->rtc.handle) {
        return status;
    }
    mts_log_write(device->base.log, MTS_LOG_INFO,
                  "'%s' takes no binaries of this libnvrtc (CUDA %d.%d): the driver compiles its PTX",
                  device->base.info.name, builder->rtc.version / 1000, builder->rtc.version % 1000 / 10);
    mts_cu_image_release(builder, image);
    builder->prefers_text = true;
    status = make_binary(device, program, image, error);
    MTS_TRY(status, load(device, program, image, &refused, error));
    builder->prefers_text = status == MTS_STATUS_OK;
    return status;
}

static mts_status build(mts_cu_device *device, mts_cu_program *program, mts_error *error)
{
    mts_cu_builder *builder = &device->builder;
    const bool cached = builder->cache_dir;
    char *key = cached ? mts_cu_cache_key(builder, false, program->source, program->options) : NULL;
    if (cached && !key) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the key of kernel '%s'",
                        program->source->name);
    }
    mts_status status = MTS_STATUS_OK;
    if (!key || !load_cached(device, program, key)) {
        mts_cu_image image = {.data = NULL};
        builder->made.cache.misses += cached;
        status = make_and_load(device, program, &image, error);
        if (status == MTS_STATUS_OK && key) {
            (void)mts_cu_cache_store(builder, key, &image);
        }
        mts_cu_image_release(builder, &image);
    }
    mts_alloc_free(builder->allocator, key);
    if (builder->counts) {
        *builder->counts = builder->made;
    }
    return status;
}

static mts_status program_get(mts_cu_device *device, const mts_kernel_source *source, const char *defines,
                              mts_cu_program **out, mts_error *error)
{
    mts_cu_program *program = mts_alloc_zero(device->base.allocator, 1, sizeof *program);
    if (program) {
        program->source = source;
        program->options = mts_cu_options_make(&device->builder, defines);
    }
    if (!program || !program->options) {
        mts_alloc_free(device->base.allocator, program);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the program of kernel '%s'",
                        source->name);
    }
    for (mts_cu_program *old = device->programs; old; old = old->next) {
        if (old->source == source && strcmp(old->options, program->options) == 0) {
            program_free(device, program);
            *out = old;
            return MTS_STATUS_OK;
        }
    }
    const mts_status status = build(device, program, error);
    if (status != MTS_STATUS_OK) {
        program_free(device, program);
        return status;
    }
    program->next = device->programs;
    device->programs = program;
    *out = program;
    return MTS_STATUS_OK;
}

mts_status mts_cu_kernel_create_from(mts_device *base, const mts_kernel_source *source, const char *defines,
                                     mts_kernel **out, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_program *program = NULL;
    mts_cu_kernel *kernel = mts_alloc_zero(base->allocator, 1, sizeof *kernel);
    if (!kernel) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for kernel '%s'", source->name);
    }
    mts_status status = mts_cu_enter(device, error);
    if (status == MTS_STATUS_OK) {
        status = program_get(device, source, defines, &program, error);
        mts_cu_leave(device);
    }
    if (status != MTS_STATUS_OK) {
        mts_alloc_free(base->allocator, kernel);
        return status;
    }
    kernel->program = program;
    kernel->base.device = base;
    kernel->base.work_group_size = program->work_group_size;
    *out = &kernel->base;
    return MTS_STATUS_OK;
}

/* Groups of so many work-items that are on the device together. */
static mts_status find_resident(mts_cu_device *device, const mts_cu_program *program, uint32_t items,
                                uint32_t *out, mts_error *error)
{
    int blocks = 0;
    mts_status status = mts_cu_enter(device, error);
    if (status == MTS_STATUS_OK) {
        status = mts_cu_check(
            device,
            device->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, program->function, (int)items, 0),
            MTS_CU_CALL_CREATE, "cuOccupancyMaxActiveBlocksPerMultiprocessor", error);
        mts_cu_leave(device);
    }
    *out = blocks > 0 ? (uint32_t)blocks * device->base.info.compute_units : 0;
    return status;
}

mts_status mts_cu_kernel_create(mts_device *base, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error)
{
    mts_kernel *made = NULL;
    mts_status status =
        mts_cu_kernel_create_from(base, mts_kernel_find(desc->name), desc->defines, &made, error);
    if (status == MTS_STATUS_OK && desc->resident_items > 0) {
        made->resident_promised = true;
        status = find_resident((mts_cu_device *)base, ((const mts_cu_kernel *)made)->program,
                               desc->resident_items, &made->resident, error);
    }
    if (status != MTS_STATUS_OK && made) {
        mts_cu_kernel_destroy(base, made);
        made = NULL;
    }
    *out = made;
    return status;
}

void mts_cu_kernel_destroy(mts_device *base, mts_kernel *kernel)
{
    mts_alloc_free(base->allocator, kernel); /* its program stays for the next kernel of the same options */
}

void mts_cu_programs_release(mts_cu_device *device, bool unload)
{
    while (device->programs) {
        mts_cu_program *program = device->programs;
        device->programs = program->next;
        program->module = unload ? program->module : NULL;
        program_free(device, program);
    }
}

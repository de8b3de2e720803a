/*
 * module.c: programs that are loaded, and their functions.
 */
#define _GNU_SOURCE

#include "cuda/fake/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/fake/image.h"
#include "cuda/fake/world.h"

#define SHARED_MOST 49152

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the bytes are the
 * same.
 */
static fake_kernel to_kernel(void *symbol)
{
    fake_kernel kernel = NULL;
    memcpy(&kernel, &symbol, sizeof kernel);
    return kernel;
}

static void *open_code(const void *code, size_t size)
{
    const char *folder = getenv("TMPDIR");
    char path[256];
    (void)snprintf(path, sizeof path, "%s/fake-cuda-XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0) {
        return NULL;
    }
    void *library = NULL;
    if (write(file, code, size) == (ssize_t)size) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            (void)fprintf(stderr, "fake driver: %s\n", dlerror());
        }
    }
    (void)close(file);
    (void)unlink(path);
    return library;
}

static emulated_world *world_of(void *library)
{
    emulated_world *(*get)(void) = NULL;
    void *symbol = dlsym(library, "emulated_world_get");
    memcpy(&get, &symbol, sizeof get);
    return get ? get() : NULL;
}

static CUresult load_code(CUmodule *out, const void *code, size_t size)
{
    CUmodule module = calloc(1, sizeof *module);
    if (!module) {
        abort(); /* the test machine is out of memory */
    }
    module->library = open_code(code, size);
    module->world = module->library ? world_of(module->library) : NULL;
    if (!module->world || fake_module_shared(module) > SHARED_MOST) {
        if (module->library) {
            (void)dlclose(module->library);
        }
        free(module);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    fake_object_add(&module->object, FAKE_KIND_MODULE, fake_current());
    *out = module;
    return CUDA_SUCCESS;
}

/* A binary runs on its own architecture and later ones of the same generation, with drivers of its CUDA's
 * generation and later; a text on all later architectures. */
static CUresult load_image(CUmodule *out, const void *image, bool was_text)
{
    const uint32_t arch = (uint32_t)fake_cuda_device()->arch;
    fake_image header;
    if (!fake_image_check(image, &header)) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (!was_text && header.version / 1000 > (uint32_t)fake_cuda_device()->driver / 1000) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (header.arch > arch || (!was_text && header.arch / 10 != arch / 10)) {
        return was_text ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return load_code(out, (const char *)image + sizeof header, (size_t)header.size);
}

CUresult cuModuleLoadData(CUmodule *out, const void *data)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS && fake_image_is_text(data)) {
        size_t size = 0;
        char *image = fake_image_from_text(data, strlen(data) + 1, &size);
        result = image ? load_image(out, image, true) : CUDA_ERROR_INVALID_PTX;
        free(image);
    } else if (result == CUDA_SUCCESS) {
        result = load_image(out, data, false);
    }
    return fake_leave(result);
}

static void release(CUmodule module)
{
    fake_object_remove(&module->object);
    while (module->functions) {
        CUfunction next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    (void)dlclose(module->library);
    free(module);
}

void fake_modules_release(fake_context *context)
{
    fake_object *o = NULL;
    while ((o = fake_object_next(NULL, FAKE_KIND_MODULE, context))) {
        fake_orphan();
        release((CUmodule)o);
    }
}

CUresult cuModuleUnload(CUmodule handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUmodule module = fake_object_find(handle, FAKE_KIND_MODULE);
    if (module) {
        (void)fake_streams_drain(module->object.context);
        release(module);
    }
    return fake_leave(result ? result : module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

static CUfunction function_of(CUmodule module, const char *name, fake_kernel run)
{
    for (CUfunction f = module->functions; f; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    CUfunction made = calloc(1, sizeof *made);
    if (!made) {
        abort(); /* as above */
    }
    made->module = module;
    made->run = run;
    made->next = module->functions;
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    module->functions = made;
    return made;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUmodule module = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_MODULE) : NULL;
    if (result == CUDA_SUCCESS) {
        void *symbol = module ? dlsym(module->library, name) : NULL;
        result = !module ? CUDA_ERROR_INVALID_HANDLE : symbol ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
        *out = symbol ? function_of(module, name, to_kernel(symbol)) : NULL;
    }
    return fake_leave(result);
}

CUfunction fake_function_find(CUfunction function)
{
    for (fake_object *o = fake_object_next(NULL, FAKE_KIND_MODULE, fake_current()); o;
         o = fake_object_next(o, FAKE_KIND_MODULE, fake_current())) {
        for (CUfunction f = ((CUmodule)o)->functions; f; f = f->next) {
            if (f == function) {
                return f;
            }
        }
    }
    fake_misuse("a function of no module that is loaded");
    return NULL;
}

size_t fake_module_shared(const struct CUmod_st *module)
{
    return module->world->shared_begin
               ? (size_t)(module->world->shared_end - module->world->shared_begin) * sizeof(unsigned int)
               : 0;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction handle, int threads, size_t shared)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS && (!fake_function_find(handle) || threads <= 0 || shared != 0)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *out = threads <= fake_cuda_device()->group_most ? fake_cuda_device()->resident : 0;
    }
    return fake_leave(result);
}

CUresult cuFuncGetAttribute(int *out, int what, CUfunction handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUfunction function = result == CUDA_SUCCESS ? fake_function_find(handle) : NULL;
    const fake_cuda_properties *device = fake_cuda_device();
    if (result == CUDA_SUCCESS && !function) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        *out = what == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? device->group_most
               : what == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? (int)fake_module_shared(function->module)
               : what == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES    ? device->local_bytes
               : what == CU_FUNC_ATTRIBUTE_NUM_REGS            ? device->registers
                                                               : 0;
    }
    return fake_leave(result);
}

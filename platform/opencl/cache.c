/*
 * cache.c: built programs on disk.
 *
 * One file per program; what it looks like is platform/os/cache_file.c's. The key spells
 * out everything that the binary depends on. Whatever does not fit is a silent miss: this
 * file never fails a build. Not responsible for removing old files.
 */
#include "platform/opencl/opencl.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"

#define CACHE_FILE_MOST ((size_t)256 << 20)

#ifndef MTS_VERSION_TEXT
#define MTS_VERSION_TEXT "unversioned"
#endif

static mts_os_cache files_of(const mts_cl_device *device)
{
    return (mts_os_cache){.allocator = device->base.allocator,
                          .log = device->base.log,
                          .directory = device->cache_dir,
                          .ending = "bin",
                          .magic = {'M', 'T', 'S', 'C', 'L', 'B', 'I', 'N'},
                          .most = CACHE_FILE_MOST};
}

char *mts_cl_cache_key(const mts_cl_device *device, const mts_kernel_source *source, const char *options)
{
    const mts_device_info *info = &device->base.info;
    const size_t length = mts_kernel_length(source);
    mts_text text;
    mts_text_init(&text, device->base.allocator);
    mts_text_add(&text,
                 "library %s\ndevice %s\ndriver %s %016llx\nkernel %s\nsource %016llx %zu\noptions %s\n",
                 MTS_VERSION_TEXT, info->name, info->driver, (unsigned long long)device->driver_hash,
                 source->name, (unsigned long long)mts_kernel_hash(source, 0), length, options);
    char *key = text.failed ? NULL : mts_alloc_string(device->base.allocator, mts_text_get(&text));
    mts_text_release(&text);
    return key;
}

bool mts_cl_cache_load(mts_cl_device *device, const char *key, mts_os_cache_file *binary)
{
    const mts_os_cache files = files_of(device);
    *binary = (mts_os_cache_file){.file = NULL};
    if (!device->cl.clCreateProgramWithBinary) {
        return false;
    }
    const mts_status status = mts_os_cache_load(&files, key, binary);
    device->built.cache.rejected += mts_os_cache_rejects(status);
    return status == MTS_STATUS_OK;
}

void mts_cl_cache_release(mts_cl_device *device, mts_os_cache_file *binary)
{
    const mts_os_cache files = files_of(device);
    mts_os_cache_release(&files, binary);
}

/* The file of a program's binary; DEVICE if the driver does not give it. */
static mts_status make_file(mts_cl_device *device, const mts_os_cache *files, const char *key,
                            cl_program program, mts_os_cache_file *file)
{
    size_t size = 0;
    cl_int result = device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (result != CL_SUCCESS || size == 0) {
        return MTS_STATUS_DEVICE;
    }
    const mts_status status = mts_os_cache_make(files, key, size, file);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    result = device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof file->body, &file->body, NULL);
    return result == CL_SUCCESS ? MTS_STATUS_OK : MTS_STATUS_DEVICE;
}

void mts_cl_cache_store(mts_cl_device *device, const char *key, cl_program program)
{
    const mts_os_cache files = files_of(device);
    mts_os_cache_file file = {.file = NULL};
    if (device->quirks->no_binaries || !device->cl.clGetProgramInfo) {
        return;
    }
    mts_status status = make_file(device, &files, key, program, &file);
    if (status == MTS_STATUS_OK) {
        status = mts_os_cache_store(&files, &file);
    } else {
        mts_log_write(device->base.log, MTS_LOG_DEBUG, "cache: no binary of a program: %s",
                      status == MTS_STATUS_DEVICE ? "the driver gives none" : "it does not fit");
    }
    mts_os_cache_release(&files, &file);
    device->built.cache.written += status == MTS_STATUS_OK;
    device->built.cache.failed += status != MTS_STATUS_OK;
}

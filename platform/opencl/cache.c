/*
 * cache.c: built programs on disk.
 *
 * One file per program, <hash of the key>.bin: header, key, binary. The key spells out everything that the
 * binary depends on; key and binary are under a checksum. Whatever does not fit is a silent miss: this file
 * never fails a build. Not responsible for removing old files.
 */
#include "platform/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "base/text.h"

#define CACHE_FORMAT 1u
#define CACHE_FILE_MOST ((size_t)256 << 20)
#define CACHE_PATH_MOST 4096

#ifndef MTS_VERSION_TEXT
#define MTS_VERSION_TEXT "unversioned"
#endif

/* In the byte order of the machine that wrote it: a cache does not travel, and another order is a mismatch.
 */
typedef struct cache_header {
    char magic[8];
    uint32_t format;
    uint32_t key_size;
    uint64_t binary_size;
    uint64_t checksum; /* of everything after the header */
} cache_header;

static const char cache_magic[8] = {'M', 'T', 'S', 'C', 'L', 'B', 'I', 'N'};

static bool cache_path(const mts_cl_device *device, const char *key, char path[CACHE_PATH_MOST])
{
    const unsigned long long hash = mts_hash(key, strlen(key), 0);
    const int length = snprintf(path, CACHE_PATH_MOST, "%s/%016llx.bin", device->cache_dir, hash);
    return length > 0 && length < CACHE_PATH_MOST;
}

/* NULL if the file is what the key asks for, else what is wrong with it. */
static const char *find_fault(const unsigned char *file, size_t size, const char *key, mts_cl_binary *binary)
{
    cache_header header;
    if (size < sizeof header) {
        return "is too short";
    }
    memcpy(&header, file, sizeof header);
    if (memcmp(header.magic, cache_magic, sizeof cache_magic) != 0 || header.format != CACHE_FORMAT) {
        return "has another format";
    }
    const unsigned char *body = file + sizeof header;
    const size_t body_size = size - sizeof header;
    if (header.key_size > body_size || header.binary_size != body_size - header.key_size ||
        header.binary_size == 0) {
        return "has another size than it says";
    }
    if (mts_hash(body, body_size, CACHE_FORMAT) != header.checksum) {
        return "is damaged";
    }
    if (header.key_size != strlen(key) || memcmp(body, key, header.key_size) != 0) {
        return "is of another program, device or driver";
    }
    binary->data = body + header.key_size;
    binary->size = (size_t)header.binary_size;
    return NULL;
}

char *mts_cl_cache_key(const mts_cl_device *device, const mts_kernel_source *source, const char *options)
{
    const mts_device_info *info = &device->base.info;
    const size_t length = strlen(source->source);
    mts_text text;
    mts_text_init(&text, device->base.allocator);
    mts_text_add(&text,
                 "library %s\ndevice %s\ndriver %s %016llx\nkernel %s\nsource %016llx %zu\noptions %s\n",
                 MTS_VERSION_TEXT, info->name, info->driver, (unsigned long long)device->driver_hash,
                 source->name, (unsigned long long)mts_hash(source->source, length, 0), length, options);
    char *key = text.failed ? NULL : mts_alloc_string(device->base.allocator, mts_text_get(&text));
    mts_text_release(&text);
    return key;
}

bool mts_cl_cache_load(mts_cl_device *device, const char *key, mts_cl_binary *binary)
{
    char path[CACHE_PATH_MOST];
    size_t size = 0;
    mts_error error;
    memset(binary, 0, sizeof *binary);
    if (!device->cl.clCreateProgramWithBinary || !cache_path(device, key, path)) {
        return false;
    }
    const mts_code code =
        mts_os_file_read(device->base.allocator, path, CACHE_FILE_MOST, &binary->file, &size, &error);
    if (code == MTS_CODE_NOT_FOUND) {
        return false;
    }
    const char *fault = code == MTS_CODE_OK ? find_fault(binary->file, size, key, binary) : error.text;
    if (fault) {
        device->cache.rejected++;
        mts_log_write(device->base.log, MTS_LOG_LEVEL_DEBUG, "program cache: %s %s", path, fault);
        mts_cl_cache_release(device, binary);
        return false;
    }
    mts_log_write(device->base.log, MTS_LOG_LEVEL_DEBUG, "program cache: %s found", path);
    return true;
}

void mts_cl_cache_release(mts_cl_device *device, mts_cl_binary *binary)
{
    mts_alloc_free(device->base.allocator, binary->file);
    memset(binary, 0, sizeof *binary);
}

/* The whole file, on the allocator; NULL if the driver does not give the binary or there is no memory. */
static unsigned char *make_file(mts_cl_device *device, const char *key, cl_program program, size_t *size)
{
    cache_header header = {.format = CACHE_FORMAT};
    size_t binary_size = 0;
    size_t total = 0;
    const size_t key_size = strlen(key);
    cl_int result =
        device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof binary_size, &binary_size, NULL);
    if (result != CL_SUCCESS || binary_size == 0 || !mts_size_to_u32(key_size, &header.key_size) ||
        !mts_size_add(sizeof header + key_size, binary_size, &total) || total > CACHE_FILE_MOST) {
        return NULL;
    }
    unsigned char *file = mts_alloc_zero(device->base.allocator, total, 1);
    if (!file) {
        return NULL;
    }
    unsigned char *body = file + sizeof header;
    unsigned char *binary = body + key_size;
    result = device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    if (result != CL_SUCCESS) {
        mts_alloc_free(device->base.allocator, file);
        return NULL;
    }
    memcpy(body, key, key_size);
    memcpy(header.magic, cache_magic, sizeof cache_magic);
    header.binary_size = binary_size;
    header.checksum = mts_hash(body, key_size + binary_size, CACHE_FORMAT);
    memcpy(file, &header, sizeof header);
    *size = total;
    return file;
}

void mts_cl_cache_store(mts_cl_device *device, const char *key, cl_program program)
{
    char path[CACHE_PATH_MOST];
    size_t size = 0;
    mts_error error = {MTS_CODE_DEVICE, "the driver gives no binary"};
    if (device->quirks->no_binaries || !device->cl.clGetProgramInfo || !cache_path(device, key, path)) {
        return;
    }
    mts_code code = MTS_CODE_DEVICE;
    unsigned char *file = make_file(device, key, program, &size);
    if (file) {
        code = mts_os_directory_make(device->cache_dir, &error);
        code = code == MTS_CODE_OK ? mts_os_file_write(path, file, size, &error) : code;
        mts_alloc_free(device->base.allocator, file);
    }
    device->cache.stored += code == MTS_CODE_OK;
    device->cache.failed += code != MTS_CODE_OK;
    mts_log_write(device->base.log, MTS_LOG_LEVEL_DEBUG, "program cache: %s %s", path,
                  code == MTS_CODE_OK ? "stored" : error.text);
}

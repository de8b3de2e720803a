/*
 * cache.c: programs on disk: binaries, and PTX that was made ahead of time for devices
 * without a compiler.
 *
 * One file per program; what it looks like is platform/os/cache_file.c's. The key spells
 * out everything that the program depends on; PTX does not depend on driver and board.
 * Whatever does not fit is a silent miss: this file never fails a build. Not responsible
 * for removing old files.
 */
#include "platform/cuda/cuda.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"

#define CACHE_FILE_MOST ((size_t)256 << 20)

#ifndef MTS_VERSION_TEXT
#define MTS_VERSION_TEXT "unversioned"
#endif

static mts_os_cache files_of(const mts_cu_builder *builder, bool text)
{
    mts_os_cache files = {.allocator = builder->allocator,
                          .log = builder->log,
                          .directory = builder->cache_dir,
                          .ending = text ? "ptx" : "cubin",
                          .most = CACHE_FILE_MOST};
    memcpy(files.magic, text ? "MTSCUPTX" : "MTSCUBIN", sizeof files.magic);
    return files;
}

char *mts_cu_cache_key(const mts_cu_builder *builder, bool is_text, const mts_kernel_source *source,
                       const char *options)
{
    const mts_device_info *info = builder->info;
    const size_t length = mts_kernel_length(source);
    mts_text text;
    mts_text_init(&text, builder->allocator);
    mts_text_add(&text, "library %s\narch sm_%u\nkernel %s\nsource %016llx %zu\noptions %s\n",
                 MTS_VERSION_TEXT, info->arch, source->name, (unsigned long long)mts_kernel_hash(source, 0),
                 length, options);
    if (!is_text) {
        mts_text_add(&text, "device %s\ndriver %s\n", info->name, info->driver);
    }
    char *key = text.failed ? NULL : mts_alloc_string(builder->allocator, mts_text_get(&text));
    mts_text_release(&text);
    return key;
}

static uint64_t number_at(const unsigned char *body, size_t at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i > 0; i--) {
        number = number << 8 | body[at + i - 1];
    }
    return number;
}

/*
 * The driver takes a binary's address, not its size: it has to be an ELF file whose
 * tables of segments and sections lie within.
 */
static bool is_binary(const unsigned char *body, size_t size)
{
    if (size < 64 || memcmp(body, "\177ELF\2\1", 6) != 0) { /* 64 bits, little-endian */
        return false;
    }
    const uint64_t segments = number_at(body, 32, 8);
    const uint64_t sections = number_at(body, 40, 8);
    return segments <= size && sections <= size &&
           number_at(body, 54, 2) * number_at(body, 56, 2) <= size - segments &&
           number_at(body, 58, 2) * number_at(body, 60, 2) <= size - sections;
}

static bool take_body(const mts_cu_builder *builder, bool text, const mts_os_cache_file *file,
                      mts_cu_image *image)
{
    if (text ? file->body[file->size - 1] != '\0' : !is_binary(file->body, file->size)) {
        return false;
    }
    *image = (mts_cu_image){/* a zero follows, whatever it is */
                            .data = mts_alloc_zero(builder->allocator, file->size + 1, 1),
                            .size = file->size,
                            .is_text = text};
    if (!image->data) {
        return false;
    }
    memcpy(image->data, file->body, file->size);
    return true;
}

bool mts_cu_cache_load(mts_cu_builder *builder, bool text, const char *key, mts_cu_image *image)
{
    mts_os_cache_file file = {.file = NULL};
    *image = (mts_cu_image){.data = NULL};
    const mts_os_cache files = files_of(builder, text);
    const mts_status status = mts_os_cache_load(&files, key, &file);
    const bool found = status == MTS_STATUS_OK && take_body(builder, text, &file, image);
    builder->made.cache.rejected += mts_os_cache_rejects(status) || (status == MTS_STATUS_OK && !found);
    mts_os_cache_release(&files, &file);
    return found;
}

mts_status mts_cu_cache_store(mts_cu_builder *builder, const char *key, const mts_cu_image *image)
{
    const mts_os_cache files = files_of(builder, image->is_text);
    mts_os_cache_file file = {.file = NULL};
    mts_status status = mts_os_cache_make(&files, key, image->size, &file);
    if (status == MTS_STATUS_OK) {
        memcpy(file.body, image->data, image->size);
        status = mts_os_cache_store(&files, &file);
    } else {
        mts_log_write(builder->log, MTS_LOG_DEBUG, "cache: a program of %zu bytes does not fit", image->size);
    }
    mts_os_cache_release(&files, &file);
    builder->made.cache.written += status == MTS_STATUS_OK;
    builder->made.cache.failed += status != MTS_STATUS_OK;
    return status;
}

/*
 * cache_file.c: header, key, body; written in one step, read with bounds.
 */
#include "platform/os/cache_file.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "platform/os/descriptor.h"

#define FILE_FORMAT 1u
#define NAME_MOST 32 /* 16 digits, a dot, an ending */

/* In the byte order of the machine that wrote it: a cache does not travel, and another
 * order is a mismatch.
 */
typedef struct header {
    char magic[8];
    uint32_t format;
    uint32_t key_size;
    uint64_t body_size;
    uint64_t checksum; /* of everything after the header */
} header;

static void name_of(const mts_os_cache *cache, const void *key, size_t key_size, char name[NAME_MOST])
{
    const unsigned long long hash = mts_hash(key, key_size, 0);
    (void)snprintf(name, NAME_MOST, "%016llx.%s", hash, cache->ending);
}

/* NULL if the file is what the key asks for, else what is wrong with it. */
static const char *find_fault(const mts_os_cache *cache, const unsigned char *file, size_t size,
                              const char *key)
{
    header head;
    if (size < sizeof head) {
        return "is too short";
    }
    memcpy(&head, file, sizeof head);
    if (memcmp(head.magic, cache->magic, sizeof head.magic) != 0 || head.format != FILE_FORMAT) {
        return "has another format";
    }
    const unsigned char *rest = file + sizeof head;
    const size_t rest_size = size - sizeof head;
    if (head.key_size > rest_size || head.body_size != rest_size - head.key_size || head.body_size == 0) {
        return "has another size than it says";
    }
    if (mts_hash(rest, rest_size, FILE_FORMAT) != head.checksum) {
        return "is damaged";
    }
    if (head.key_size != strlen(key) || memcmp(rest, key, head.key_size) != 0) {
        return "is of another key";
    }
    return NULL;
}

mts_status mts_os_cache_load(const mts_os_cache *cache, const char *key, mts_os_cache_file *out)
{
    char name[NAME_MOST];
    void *file = NULL;
    size_t size = 0;
    int folder;
    mts_error error = {0};
    const size_t key_size = strlen(key);
    *out = (mts_os_cache_file){.file = NULL};
    name_of(cache, key, key_size, name);
    mts_status status = mts_os_private_open(cache->directory, &folder, &error);
    if (status == MTS_STATUS_OK) {
        status = mts_os_private_read(cache->allocator, folder, name, cache->most, &file, &size, &error);
        mts_os_descriptor_close(folder);
    }
    const bool distrusted = status == MTS_STATUS_MALFORMED;
    const char *fault = status == MTS_STATUS_OK ? find_fault(cache, file, size, key) : error.text;
    if (status == MTS_STATUS_OK && fault) {
        status = MTS_STATUS_MALFORMED;
    }
    mts_log_write(cache->log, distrusted ? MTS_LOG_WARNING : MTS_LOG_DEBUG, "cache: %s/%s %s",
                  cache->directory, name, fault ? fault : "found");
    if (fault) {
        mts_alloc_free(cache->allocator, file);
        return status;
    }
    const size_t skip = sizeof(header) + key_size;
    *out = (mts_os_cache_file){
        .file = file, .body = (unsigned char *)file + skip, .key_size = key_size, .size = size - skip};
    return MTS_STATUS_OK;
}

bool mts_os_cache_rejects(mts_status status)
{
    return status != MTS_STATUS_OK && status != MTS_STATUS_NOT_FOUND && status != MTS_STATUS_OUT_OF_MEMORY;
}

mts_status mts_os_cache_make(const mts_os_cache *cache, const char *key, size_t size, mts_os_cache_file *out)
{
    size_t total = 0;
    const size_t key_size = strlen(key);
    header head = {.format = FILE_FORMAT, .body_size = size};
    *out = (mts_os_cache_file){.file = NULL};
    if (size == 0 || !mts_size_to_u32(key_size, &head.key_size) ||
        !mts_size_add(sizeof head + key_size, size, &total) || total > cache->most) {
        return MTS_STATUS_LIMIT;
    }
    unsigned char *file = mts_alloc_zero(cache->allocator, total, 1);
    if (!file) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    memcpy(head.magic, cache->magic, sizeof head.magic);
    memcpy(file, &head, sizeof head);
    memcpy(file + sizeof head, key, key_size);
    *out = (mts_os_cache_file){
        .file = file, .body = file + sizeof head + key_size, .key_size = key_size, .size = size};
    return MTS_STATUS_OK;
}

mts_status mts_os_cache_store(const mts_os_cache *cache, mts_os_cache_file *file)
{
    char name[NAME_MOST];
    header head;
    int folder;
    mts_error error = {0};
    const size_t rest_size = file->key_size + file->size;
    name_of(cache, file->file + sizeof head, file->key_size, name);
    memcpy(&head, file->file, sizeof head);
    head.checksum = mts_hash(file->file + sizeof head, rest_size, FILE_FORMAT);
    memcpy(file->file, &head, sizeof head);
    mts_status status = mts_os_directory_make(cache->directory, &error);
    MTS_TRY(status, mts_os_private_open(cache->directory, &folder, &error));
    if (status == MTS_STATUS_OK) {
        status = mts_os_private_write(folder, name, file->file, sizeof head + rest_size, &error);
        mts_os_descriptor_close(folder);
    }
    mts_log_write(cache->log, status == MTS_STATUS_MALFORMED ? MTS_LOG_WARNING : MTS_LOG_DEBUG,
                  "cache: %s/%s %s", cache->directory, name, status == MTS_STATUS_OK ? "stored" : error.text);
    return status;
}

void mts_os_cache_release(const mts_os_cache *cache, mts_os_cache_file *file)
{
    mts_alloc_free(cache->allocator, file->file);
    *file = (mts_os_cache_file){.file = NULL};
}

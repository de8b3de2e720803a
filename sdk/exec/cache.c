/*
 * cache.c: header, key, body; written in one step, read with bounds. Everything that is wrong with a file
 * makes it a miss.
 */
#include "exec/cache.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "platform/os/os.h"

#define CACHE_FORMAT 1u
#define FILE_MOST ((size_t)64 << 20)
#define PATH_MOST 4096

/* In the byte order of the machine that wrote it: a cache does not travel, and another order is a mismatch.
 */
typedef struct header {
    char magic[8];
    uint32_t format;
    uint32_t key_size;
    uint64_t body_size;
    uint64_t checksum; /* of everything after the header */
} header;

static const char magics[MTS_CACHE_KIND_COUNT][8] = {{'M', 'T', 'S', 'P', 'L', 'A', 'N', 'S'},
                                                     {'M', 'T', 'S', 'T', 'U', 'N', 'E', 'D'}};
static const char *const endings[MTS_CACHE_KIND_COUNT] = {"plan", "tune"};

static bool path_of(const mts_cache *cache, mts_cache_kind kind, const char *key, char path[PATH_MOST])
{
    const unsigned long long hash = mts_hash(key, strlen(key), 0);
    const int length = snprintf(path, PATH_MOST, "%s/%016llx.%s", cache->directory, hash, endings[kind]);
    return length > 0 && length < PATH_MOST;
}

/* NULL if the file is what the key asks for, else what is wrong with it. */
static const char *find_fault(const unsigned char *file, size_t size, mts_cache_kind kind, const char *key)
{
    header head;
    if (size < sizeof head) {
        return "is too short";
    }
    memcpy(&head, file, sizeof head);
    if (memcmp(head.magic, magics[kind], sizeof head.magic) != 0 || head.format != CACHE_FORMAT) {
        return "has another format";
    }
    const unsigned char *rest = file + sizeof head;
    const size_t rest_size = size - sizeof head;
    if (head.key_size > rest_size || head.body_size != rest_size - head.key_size) {
        return "has another size than it says";
    }
    if (mts_hash(rest, rest_size, CACHE_FORMAT) != head.checksum) {
        return "is damaged";
    }
    if (head.key_size != strlen(key) || memcmp(rest, key, head.key_size) != 0) {
        return "is of another bundle, device or version";
    }
    return NULL;
}

bool mts_cache_load(mts_cache *cache, mts_cache_kind kind, const char *key, void **body, size_t *size)
{
    char path[PATH_MOST];
    void *file = NULL;
    size_t file_size = 0;
    mts_error error = {0};
    *body = NULL;
    *size = 0;
    if (cache == NULL || cache->directory == NULL || !path_of(cache, kind, key, path)) {
        return false;
    }
    mts_cache_counts *counts = &cache->counts[kind];
    const mts_code code = mts_os_file_read(cache->allocator, path, FILE_MOST, &file, &file_size, &error);
    const char *fault = code == MTS_CODE_OK ? find_fault(file, file_size, kind, key) : error.text;
    if (fault == NULL) {
        const size_t skip = sizeof(header) + strlen(key);
        *size = file_size - skip;
        memmove(file, (unsigned char *)file + skip, *size);
        *body = file;
        counts->hits++;
        return true;
    }
    counts->misses++;
    counts->rejected += code != MTS_CODE_NOT_FOUND;
    mts_log_write(cache->log, MTS_LOG_LEVEL_DEBUG, "cache: %s %s", path, fault);
    mts_alloc_free(cache->allocator, file);
    return false;
}

void mts_cache_reject(mts_cache *cache, mts_cache_kind kind, const char *reason)
{
    mts_cache_counts *counts = &cache->counts[kind];
    counts->hits--;
    counts->misses++;
    counts->rejected++;
    mts_log_write(cache->log, MTS_LOG_LEVEL_DEBUG, "cache: a .%s file %s", endings[kind], reason);
}

void mts_cache_store(mts_cache *cache, mts_cache_kind kind, const char *key, const void *body, size_t size)
{
    char path[PATH_MOST];
    size_t total = 0;
    header head = {.format = CACHE_FORMAT, .body_size = size};
    mts_error error = {MTS_CODE_OUT_OF_MEMORY, "no memory"};
    const size_t key_size = strlen(key);
    if (cache == NULL || cache->directory == NULL || !path_of(cache, kind, key, path) ||
        !mts_size_to_u32(key_size, &head.key_size) || !mts_size_add(sizeof head + key_size, size, &total) ||
        total > FILE_MOST) {
        return;
    }
    mts_code code = MTS_CODE_OUT_OF_MEMORY;
    unsigned char *file = mts_alloc_zero(cache->allocator, total, 1);
    if (file != NULL) {
        memcpy(file + sizeof head, key, key_size);
        memcpy(file + sizeof head + key_size, body, size);
        memcpy(head.magic, magics[kind], sizeof head.magic);
        head.checksum = mts_hash(file + sizeof head, total - sizeof head, CACHE_FORMAT);
        memcpy(file, &head, sizeof head);
        code = mts_os_directory_make(cache->directory, &error);
        code = code == MTS_CODE_OK ? mts_os_file_write(path, file, total, &error) : code;
        mts_alloc_free(cache->allocator, file);
    }
    cache->counts[kind].written += code == MTS_CODE_OK;
    cache->counts[kind].failed += code != MTS_CODE_OK;
    mts_log_write(cache->log, MTS_LOG_LEVEL_DEBUG, "cache: %s %s", path,
                  code == MTS_CODE_OK ? "stored" : error.text);
}

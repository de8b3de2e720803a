/*
 * cache.c: plans and tunings as two kinds of files, and what was done with them.
 */
#include "tune/cache.h"

#include <string.h>

#define FILE_MOST ((size_t)64 << 20)

/* False: nothing is kept. */
static bool files_of(const mts_cache *cache, mts_cache_kind kind, mts_os_cache *files)
{
    static const mts_os_cache kinds[MTS_CACHE_KIND_COUNT] = {
        {.ending = "plan", .magic = {'M', 'T', 'S', 'P', 'L', 'A', 'N', 'S'}},
        {.ending = "tune", .magic = {'M', 'T', 'S', 'T', 'U', 'N', 'E', 'D'}}};
    if (!cache || !cache->directory) {
        return false;
    }
    *files = kinds[kind];
    files->allocator = cache->allocator;
    files->log = cache->log;
    files->directory = cache->directory;
    files->most = FILE_MOST;
    return true;
}

bool mts_cache_load(mts_cache *cache, mts_cache_kind kind, const char *key, mts_os_cache_file *file)
{
    mts_os_cache files;
    *file = (mts_os_cache_file){.file = NULL};
    if (!files_of(cache, kind, &files)) {
        return false;
    }
    mts_cache_use *counts = &cache->counts[kind];
    const mts_status status = mts_os_cache_load(&files, key, file);
    counts->hits += status == MTS_STATUS_OK;
    counts->misses += status != MTS_STATUS_OK;
    counts->rejected += mts_os_cache_rejects(status);
    return status == MTS_STATUS_OK;
}

void mts_cache_release(mts_cache *cache, mts_os_cache_file *file)
{
    mts_alloc_free(cache->allocator, file->file);
    *file = (mts_os_cache_file){.file = NULL};
}

void mts_cache_undo(mts_cache *cache, mts_cache_kind kind, mts_status status, const char *reason)
{
    mts_os_cache files;
    if (files_of(cache, kind, &files)) {
        cache->counts[kind].hits--;
        cache->counts[kind].misses++;
        cache->counts[kind].rejected += mts_os_cache_rejects(status);
        mts_log_write(cache->log, MTS_LOG_DEBUG, "cache: a .%s file %s", files.ending, reason);
    }
}

void mts_cache_store(mts_cache *cache, mts_cache_kind kind, const char *key, const void *body, size_t size)
{
    mts_os_cache files;
    mts_os_cache_file file = {.file = NULL};
    if (!files_of(cache, kind, &files)) {
        return;
    }
    mts_status status = key ? mts_os_cache_make(&files, key, size, &file) : MTS_STATUS_OUT_OF_MEMORY;
    if (status == MTS_STATUS_OK) {
        memcpy(file.body, body, size);
        status = mts_os_cache_store(&files, &file);
    }
    mts_os_cache_release(&files, &file);
    cache->counts[kind].written += status == MTS_STATUS_OK;
    cache->counts[kind].failed += status != MTS_STATUS_OK;
}

/*
 * cache.h: the files of plans and tunings in the runtime's directory, counted. What is in
 * them is plan_cache.c's.
 */
#ifndef MTS_TUNE_CACHE_H
#define MTS_TUNE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/os/cache_file.h"

typedef enum mts_cache_kind {
    MTS_CACHE_PLANS = 0,
    MTS_CACHE_TUNINGS = 1,
    MTS_CACHE_KIND_COUNT = 2
} mts_cache_kind;

/* Belongs to the runtime; sessions are made one at a time. */
typedef struct mts_cache {
    const char *directory; /* NULL: nothing is kept */
    const mts_allocator *allocator;
    const mts_log *log; /* may be NULL */
    char setting[64];   /* how the device was opened, as far as that changes latencies: part of keys */
    mts_cache_use counts[MTS_CACHE_KIND_COUNT];
    uint32_t skipped; /* kernel variants that did not build or run, or were known not to */
} mts_cache;

/* What was stored under the key, for mts_cache_release. False: a miss, which is
   counted. */
bool mts_cache_load(mts_cache *cache, mts_cache_kind kind, const char *key, mts_os_cache_file *file);
void mts_cache_release(mts_cache *cache, mts_os_cache_file *file);
/* A file that was loaded is of no use after all: the hit becomes a miss, and counts as
   rejected unless `code` is OUT_OF_MEMORY, which says nothing about the file. */
void mts_cache_undo(mts_cache *cache, mts_cache_kind kind, mts_status status, const char *reason);
/* key NULL: there was no memory for what is to be stored, which counts as failed. */
void mts_cache_store(mts_cache *cache, mts_cache_kind kind, const char *key, const void *body, size_t size);

#endif

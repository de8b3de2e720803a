/*
 * cache.h: small files in a directory, each under a key and a checksum. What is in them is plan_cache.c's.
 */
#ifndef MTS_EXEC_CACHE_H
#define MTS_EXEC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/log.h"

typedef enum mts_cache_kind {
    MTS_CACHE_PLANS = 0,
    MTS_CACHE_TUNINGS = 1,
    MTS_CACHE_KIND_COUNT = 2
} mts_cache_kind;

typedef struct mts_cache_counts {
    uint32_t hits, misses;
    uint32_t rejected;        /* misses with a file that was there but not valid */
    uint32_t written, failed; /* files; failed: that could not be written */
} mts_cache_counts;

/* Belongs to the runtime; sessions are made one at a time. */
typedef struct mts_cache {
    const char *directory; /* NULL: nothing is kept */
    const mts_allocator *allocator;
    const mts_log *log; /* may be NULL */
    char setting[64];   /* how the device was opened, as far as that changes latencies: part of keys */
    mts_cache_counts counts[MTS_CACHE_KIND_COUNT];
    uint32_t skipped; /* kernel variants that did not build or run, or were known not to */
} mts_cache;

/* What was stored under the key. *body is on the allocator and the caller's to free; false: a miss. */
bool mts_cache_load(mts_cache *cache, mts_cache_kind kind, const char *key, void **body, size_t *size);
/* A file that is well-formed but whose content makes no sense: turns the hit into a rejection. */
void mts_cache_reject(mts_cache *cache, mts_cache_kind kind, const char *reason);
void mts_cache_store(mts_cache *cache, mts_cache_kind kind, const char *key, const void *body, size_t size);

#endif

/*
 * hash.c: the one place that compiles xxHash in; every other file calls mts_hash.
 */
#include "base/hash.h"

#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

uint64_t mts_hash(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

uint64_t mts_hash_text(const char *text)
{
    static const char place;
    return mts_hash(text, strlen(text), (uint64_t)(uintptr_t)&place);
}

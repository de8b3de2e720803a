/*
 * hash.h: 64-bit content hashes (XXH3 of the xxHash library, compiled in from its header,
 * no link dependency).
 */
#ifndef MTS_BASE_HASH_H
#define MTS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 64 bits with seed. Thread-safety: any thread. */
uint64_t mts_hash(const void *data, size_t size, uint64_t seed);
/* The same of a terminated string, seed 0. */
uint64_t mts_hash_text(const char *text);

#endif

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
/* The same of a terminated string, with a seed that differs between processes, as far as
   the system lays out memory at random: for tables whose names come from files, so that a
   file cannot be made whose names collide. Not for what is stored. */
uint64_t mts_hash_text(const char *text);

#endif

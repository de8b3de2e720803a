/*
 * alloc.c: the default allocator, the helpers over any allocator, and the arena.
 *
 * Responsible for overflow-checked array sizes and zero filling. Not responsible for
 * alignment beyond 16 bytes.
 */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/size.h"

#define ARENA_ALIGNMENT ((size_t)16)
#define ARENA_ARRAY_LEAST ((size_t)16) /* elements: old copies stay, so arrays do not begin with one */
#define ARENA_BLOCK_FIRST ((size_t)4096)
#define ARENA_BLOCK_MOST ((size_t)1 << 20) /* blocks stop doubling here */

struct mts_arena_block {
    mts_arena_block *next;
    size_t used, capacity; /* of the bytes after the header */
};

static void *default_alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void default_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* The header rounded up, so that what follows it is aligned. */
static size_t block_header(void)
{
    return (sizeof(mts_arena_block) + ARENA_ALIGNMENT - 1) & ~(ARENA_ALIGNMENT - 1);
}

static mts_arena_block *block_add(mts_arena *arena, size_t needed)
{
    size_t capacity = ARENA_BLOCK_FIRST;
    size_t total = 0;
    if (arena->blocks) {
        capacity =
            arena->blocks->capacity < ARENA_BLOCK_MOST / 2 ? arena->blocks->capacity * 2 : ARENA_BLOCK_MOST;
    }
    capacity = capacity < needed ? needed : capacity;
    if (!mts_size_add(capacity, block_header(), &total)) {
        return NULL;
    }
    mts_arena_block *block = arena->allocator->alloc(arena->allocator->context, total);
    if (!block) {
        return NULL;
    }
    block->used = 0;
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

const mts_allocator *mts_allocator_default(void)
{
    static const mts_allocator allocator = {NULL, default_alloc, default_free};
    return &allocator;
}

void *mts_alloc_raw(const mts_allocator *allocator, size_t count, size_t size)
{
    size_t bytes = 0;
    return mts_size_mul(count, size, &bytes) ? allocator->alloc(allocator->context, bytes ? bytes : 1) : NULL;
}

void *mts_alloc_zero(const mts_allocator *allocator, size_t count, size_t size)
{
    void *memory = mts_alloc_raw(allocator, count, size);
    if (memory) {
        memset(memory, 0, count && size ? count * size : 1);
    }
    return memory;
}

void mts_alloc_free(const mts_allocator *allocator, void *memory)
{
    if (memory) {
        allocator->free(allocator->context, memory);
    }
}

char *mts_alloc_string(const mts_allocator *allocator, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = allocator->alloc(allocator->context, size);
    if (copy) {
        memcpy(copy, text, size);
    }
    return copy;
}

/* The capacity that an array grows to. */
static size_t grown_capacity(size_t capacity, size_t needed)
{
    const size_t doubled = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    return doubled < needed ? needed : doubled;
}

/* Moves the elements of *array to the front of `grown`, which holds `wanted`. Returns the
   old array. */
static void *array_move(void **array, size_t *capacity, void *grown, size_t wanted, size_t size)
{
    MTS_CHECK(wanted > *capacity);
    void *old = *array;
    if (old && *capacity) {
        memcpy(grown, old, *capacity * size);
    }
    *array = grown;
    *capacity = wanted;
    return old;
}

int mts_alloc_grow(const mts_allocator *allocator, void **array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity) {
        return 1;
    }
    const size_t wanted = grown_capacity(*capacity, needed);
    void *grown = mts_alloc_zero(allocator, wanted, size);
    if (!grown) {
        return 0;
    }
    mts_alloc_free(allocator, array_move(array, capacity, grown, wanted, size));
    return 1;
}

void mts_arena_init(mts_arena *arena, const mts_allocator *allocator)
{
    arena->allocator = allocator;
    arena->blocks = NULL;
    arena->used = 0;
}

void *mts_arena_zero(mts_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!mts_size_mul(count, size, &bytes) || !mts_size_align(bytes ? bytes : 1, ARENA_ALIGNMENT, &bytes)) {
        return NULL;
    }
    mts_arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < bytes) {
        block = block_add(arena, bytes);
    }
    if (!block) {
        return NULL;
    }
    MTS_CHECK(block->used % ARENA_ALIGNMENT == 0 && bytes <= block->capacity - block->used);
    void *memory = (char *)block + block_header() + block->used;
    memset(memory, 0, bytes);
    block->used += bytes;
    arena->used += bytes;
    return memory;
}

char *mts_arena_string(mts_arena *arena, const char *text)
{
    return mts_arena_text(arena, text, strlen(text));
}

char *mts_arena_text(mts_arena *arena, const char *text, size_t length)
{
    size_t size = 0;
    if (!mts_size_add(length, 1, &size)) {
        return NULL;
    }
    char *copy = mts_arena_zero(arena, size, 1);
    if (copy && length) {
        memcpy(copy, text, length);
    }
    return copy;
}

int mts_arena_grow(mts_arena *arena, void **array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity) {
        return 1;
    }
    const size_t least = needed < ARENA_ARRAY_LEAST ? ARENA_ARRAY_LEAST : needed;
    const size_t wanted = grown_capacity(*capacity, least);
    void *grown = mts_arena_zero(arena, wanted, size);
    if (!grown) {
        return 0;
    }
    (void)array_move(array, capacity, grown, wanted, size);
    return 1;
}

void mts_arena_release(mts_arena *arena)
{
    while (arena->blocks) {
        mts_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        mts_alloc_free(arena->allocator, block);
    }
    arena->used = 0;
}

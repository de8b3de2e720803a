/*
 * alloc.h: the allocator that every object takes from its creator, and an arena on top of
 * it.
 *
 * Nothing in the library calls malloc except mts_allocator_default(). Tests substitute an
 * allocator that fails the n-th call or counts. Arena memory lives until
 * mts_arena_release.
 */
#ifndef MTS_BASE_ALLOC_H
#define MTS_BASE_ALLOC_H

#include <stddef.h>

typedef struct mts_allocator {
    void *context;
    void *(*alloc)(void *context, size_t size); /* aligned for any type; NULL on failure; size > 0 */
    void (*free)(void *context, void *memory);  /* memory may be NULL */
} mts_allocator;

/* malloc and free. Thread-safety: any thread. */
const mts_allocator *mts_allocator_default(void);

/* Zero-filled array of count elements, NULL on overflow or failure; count 0 gives a
   non-NULL pointer. */
void *mts_alloc_zero(const mts_allocator *allocator, size_t count, size_t size);
/* The same with undefined content. */
void *mts_alloc_raw(const mts_allocator *allocator, size_t count, size_t size);
void mts_alloc_free(const mts_allocator *allocator, void *memory);
/* Copy of a terminated string, NULL on failure. */
char *mts_alloc_string(const mts_allocator *allocator, const char *text);

/*
 * Grows *array to hold at least `needed` elements (at least doubling *capacity; new
 * elements are zero). Returns 0 on failure, and the old array stays valid. Arrays live on
 * the allocator.
 */
int mts_alloc_grow(const mts_allocator *allocator, void **array, size_t *capacity, size_t needed,
                   size_t size);

typedef struct mts_arena_block mts_arena_block;
typedef struct mts_arena {
    const mts_allocator *allocator;
    mts_arena_block *blocks;
    size_t used; /* bytes handed out */
} mts_arena;

void mts_arena_init(mts_arena *arena, const mts_allocator *allocator);
/* Zero-filled, 16-byte aligned array; NULL on overflow or failure; count 0 gives a
   non-NULL pointer. */
void *mts_arena_zero(mts_arena *arena, size_t count, size_t size);
char *mts_arena_string(mts_arena *arena, const char *text);
/* Copy of `length` bytes, terminated. */
char *mts_arena_text(mts_arena *arena, const char *text, size_t length);
/* As mts_alloc_grow; the old array stays in the arena. */
int mts_arena_grow(mts_arena *arena, void **array, size_t *capacity, size_t needed, size_t size);
void mts_arena_release(mts_arena *arena);

#endif

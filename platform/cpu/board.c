/*
 * board.c: see board.h.
 *
 * No thread waits here, so none can wait for ever: each loop ends by what the thread
 * itself does. A run does end: waits point from a launch to larger ones, so the smallest
 * launch that has not ended is open, and its chunks are taken or to be had.
 *
 * The chunks of a launch are shared out among homes. A thread takes those of its own home
 * first: it then writes to few words that other threads touch, and as launches that follow
 * one another share their work out alike, it reads more of what it wrote itself.
 *
 * A thread that is late may hold the number of a launch that was open in an earlier run.
 * It finds a closed one, whose counter it lowers below CLOSED without harm, or one that
 * is open again and whose chunk it may as well compute. Hence a launch's chunk is only
 * ever got by lowering `left` from above CLOSED, and opening stores the counter anew.
 */
#include "platform/cpu/board.h"

#include <stdatomic.h>

/* At or below this a launch has no chunk to take. Each thread lowers it further by 1 at
   most between two openings. */
#define CLOSED ((uint32_t)1 << 16)
#define WORD 64u /* launches of a word of `open` */

typedef struct slot {
    _Atomic(uint32_t) ended; /* chunks */
    _Atomic(uint32_t) waits; /* launches that have to end first */
    uint32_t chunks;         /* of the launch, since it was opened */
} slot;

struct mts_cpu_board {
    uint32_t capacity, words;
    slot *slots;
    /* [home][launch]: the home's chunks that are to be taken, above CLOSED. As a rule only
       the threads of a home touch its row. */
    _Atomic(uint32_t) *left;
    /* A bit for each launch that has chunks to take. It may be set a little longer. */
    _Atomic(uint64_t) *open;
    /* Of the run. A thread that holds a chunk may read them: the run does not end before
       the chunk. */
    const mts_cpu_order *order;
    const void *work;
    mts_cpu_chunks_function *chunks_of;
    uint32_t threads;
    _Atomic(uint32_t) homes; /* of the run; a late thread may read it */
    char before_unfinished[64];
    _Atomic(uint32_t) unfinished; /* launches */
};

static _Atomic(uint32_t) *left_of(const mts_cpu_board *board, uint32_t home, uint32_t launch)
{
    return &board->left[(size_t)home * board->capacity + launch];
}

static uint32_t homes_of(const mts_cpu_board *board)
{
    return atomic_load_explicit(&board->homes, memory_order_relaxed);
}

static void close_all(mts_cpu_board *board)
{
    for (size_t i = 0; i < (size_t)MTS_CPU_HOMES_MOST * board->capacity; i++) {
        atomic_store(&board->left[i], CLOSED);
    }
}

mts_cpu_board *mts_cpu_board_make(const mts_allocator *allocator, uint32_t capacity)
{
    mts_cpu_board *board = mts_alloc_zero(allocator, 1, sizeof *board);
    if (!board) {
        return NULL;
    }
    board->words = capacity / WORD + 1;
    board->capacity = board->words * WORD;
    board->slots = mts_alloc_zero(allocator, board->capacity, sizeof *board->slots);
    board->open = mts_alloc_zero(allocator, board->words, sizeof *board->open);
    board->left =
        mts_alloc_zero(allocator, (size_t)MTS_CPU_HOMES_MOST * board->capacity, sizeof *board->left);
    if (!board->slots || !board->open || !board->left) {
        mts_cpu_board_destroy(board, allocator);
        return NULL;
    }
    atomic_init(&board->homes, 1);
    close_all(board);
    return board;
}

uint32_t mts_cpu_board_capacity(const mts_cpu_board *board)
{
    return board->capacity;
}

void mts_cpu_board_destroy(mts_cpu_board *board, const mts_allocator *allocator)
{
    if (board) {
        mts_alloc_free(allocator, board->slots);
        mts_alloc_free(allocator, (void *)board->open);
        mts_alloc_free(allocator, (void *)board->left);
        mts_alloc_free(allocator, board);
    }
}

/* Returns the launch's chunks. */
static uint32_t open_launch(mts_cpu_board *board, uint32_t launch)
{
    slot *s = &board->slots[launch];
    s->chunks = board->chunks_of(board->work, launch, board->threads);
    const uint32_t homes = homes_of(board);
    for (uint32_t home = 0; home < homes; home++) {
        const uint32_t count =
            mts_cpu_home_begin(home + 1, homes, s->chunks) - mts_cpu_home_begin(home, homes, s->chunks);
        atomic_store_explicit(left_of(board, home, launch), CLOSED + count, memory_order_release);
    }
    atomic_fetch_or_explicit(&board->open[launch / WORD], (uint64_t)1 << launch % WORD, memory_order_release);
    return s->chunks;
}

void mts_cpu_board_clear(mts_cpu_board *board)
{
    for (uint32_t i = 0; i < board->words; i++) {
        atomic_store(&board->open[i], 0);
    }
    close_all(board);
    atomic_store(&board->unfinished, 0);
}

void mts_cpu_board_begin(mts_cpu_board *board, const mts_cpu_order *order, const void *work,
                         mts_cpu_chunks_function *chunks_of, uint32_t threads)
{
    board->order = order;
    board->work = work;
    board->chunks_of = chunks_of;
    board->threads = threads;
    atomic_store_explicit(&board->homes, threads < MTS_CPU_HOMES_MOST ? threads : MTS_CPU_HOMES_MOST,
                          memory_order_relaxed);
    atomic_store_explicit(&board->unfinished, order->count, memory_order_relaxed);
    for (uint32_t i = 0; i < order->count; i++) {
        atomic_store_explicit(&board->slots[i].ended, 0, memory_order_relaxed);
        atomic_store_explicit(&board->slots[i].waits, order->waits[i], memory_order_relaxed);
    }
    for (uint32_t i = 0; i < order->count; i++) {
        if (order->waits[i] == 0) {
            open_launch(board, i);
        }
    }
}

/* Whether no home has a chunk left. Of threads that take the last chunks of several homes
   at the same time at least one sees that. */
static bool is_taken(const mts_cpu_board *board, uint32_t launch)
{
    for (uint32_t home = 0; home < homes_of(board); home++) {
        if (atomic_load(left_of(board, home, launch)) > CLOSED) {
            return false;
        }
    }
    return true;
}

static bool take_of(mts_cpu_board *board, uint32_t launch, uint32_t home, mts_cpu_chunk *out)
{
    _Atomic(uint32_t) *of_home = left_of(board, home, launch);
    uint32_t left = atomic_load_explicit(of_home, memory_order_acquire);
    if (left > CLOSED) {
        left = atomic_fetch_sub(of_home, 1);
    }
    if (left <= CLOSED) {
        return false;
    }
    if (left == CLOSED + 1 && is_taken(board, launch)) {
        /* before the chunk ends, and so before the launch can open again */
        atomic_fetch_and_explicit(&board->open[launch / WORD], ~((uint64_t)1 << launch % WORD),
                                  memory_order_relaxed);
    }
    const uint32_t chunks = board->slots[launch].chunks, homes = homes_of(board),
                   end = mts_cpu_home_begin(home + 1, homes, chunks);
    *out = (mts_cpu_chunk){.launch = launch,
                           .chunk = end - (left - CLOSED),
                           .chunks = chunks,
                           .home_first = mts_cpu_home_begin(home, homes, chunks),
                           .home_end = end};
    return true;
}

/* Its own home's chunks come first, then those of the homes behind it. */
static bool take_any(mts_cpu_board *board, uint32_t launch, uint32_t thread, mts_cpu_chunk *out)
{
    const uint32_t homes = homes_of(board);
    for (uint32_t i = 0; i < homes; i++) {
        if (take_of(board, launch, (thread + i) % homes, out)) {
            return true;
        }
    }
    return false;
}

bool mts_cpu_board_take(mts_cpu_board *board, uint32_t thread, uint32_t from, mts_cpu_chunk *out)
{
    const uint32_t first = from < board->capacity ? from / WORD : 0;
    for (uint32_t i = 0; i <= board->words; i++) {
        const uint32_t word = first + i < board->words ? first + i : first + i - board->words;
        uint64_t bits = atomic_load_explicit(&board->open[word], memory_order_acquire);
        if (i == 0) {
            bits &= UINT64_MAX << from % WORD; /* the rest of this word comes last */
        }
        for (; bits; bits &= bits - 1) {
            if (take_any(board, word * WORD + (uint32_t)__builtin_ctzll(bits), thread, out)) {
                return true;
            }
        }
    }
    return false;
}

uint32_t mts_cpu_board_end(mts_cpu_board *board, const mts_cpu_chunk *chunk, uint32_t count)
{
    slot *s = &board->slots[chunk->launch];
    uint32_t opened = 0;
    if (atomic_fetch_add_explicit(&s->ended, count, memory_order_acq_rel) + count != chunk->chunks) {
        return 0;
    }
    const mts_cpu_order *order = board->order;
    for (uint32_t i = order->next_first[chunk->launch]; i < order->next_first[chunk->launch + 1]; i++) {
        const uint32_t next = order->next[i];
        if (atomic_fetch_sub_explicit(&board->slots[next].waits, 1, memory_order_acq_rel) == 1) {
            opened += open_launch(board, next);
        }
    }
    atomic_fetch_sub(&board->unfinished, 1); /* the last touch of the run */
    return opened;
}

bool mts_cpu_board_is_over(const mts_cpu_board *board)
{
    return atomic_load(&board->unfinished) == 0;
}

const void *mts_cpu_board_work(const mts_cpu_board *board)
{
    return board->work;
}

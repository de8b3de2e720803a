/*
 * weights.h: the weight pool while it is built: packed weights, vectors, masks; each
 * distinct thing once, in the session's precision.
 *
 * While a plan is encoded the pool only gives out offsets and notes what lies there;
 * mts_weights_pack then writes a section where it is wanted, which may be the device's
 * own memory. So a plan that is not used costs no packing.
 *
 * What is stored is found again by a key made of the block's identity and the way it is
 * packed, so that a block which several tasks refer to lies in the pool once. Owner
 * MTS_NONE shares across tasks; a task's number keeps it private (strategy sequential).
 * After a failure every call returns 0; the caller checks mts_weights.failed once, at the
 * end.
 *
 * The pool is one section, which is one buffer of the device, or several where a device's
 * buffers are small. Offsets count from the start of the section that was open. A section
 * shares nothing with another: a launch reads one only.
 */
#ifndef MTS_LOWER_WEIGHTS_H
#define MTS_LOWER_WEIGHTS_H

#include "base/map.h"
#include "graph/graph.h"
#include "lower/precision.h"

typedef struct mts_weights_entry mts_weights_entry;

/* What a pool holds, so that what came later can be taken back. */
typedef struct mts_weights_mark {
    size_t count, entry_count;
} mts_weights_mark;

#ifndef MTS_SMALL
/*
 * What a section on the device holds, after the pool that it was packed of has gone: keys and
 * offsets. Blocks have the same numbers wherever it is looked into.
 */
typedef struct mts_weights_index {
    const mts_allocator *allocator;
    struct mts_weights_kept *items;
    size_t count;
    mts_map map;
    /* Elements of the section, and those that its buffer has room for. */
    size_t elements, capacity;
} mts_weights_index;
#endif

typedef struct mts_weights {
    const mts_allocator *allocator;
    mts_precision precision;
    /* Elements of all sections, one after another: float or uint16_t, as the device reads
       them. */
    size_t count;
    /* Elements of a section at most; 0: no limit. The caller sets it. */
    size_t section_most;
    /* Elements behind rows of weights that a kernel may read and whose values do not
       matter: conv_tile's on GPUs. The caller sets it. */
    size_t spare;
    /* Element at which each section begins; section_count is 0 while the pool has one. */
    size_t *sections;
    size_t section_count, section_capacity;
    /* In the order of their offsets; `map` finds them by key. */
    mts_weights_entry *entries;
    size_t entry_count, entry_capacity;
    mts_map map;
    /* Memory was short, or the pool is full. */
    bool failed;
    /* A section has more elements than 32-bit offsets can name. */
    bool full;
    /* Found by packing: a finite weight is infinite as float16; the first one of the
       pool, and its value. */
    bool too_large;
    size_t too_large_at;
    float too_large_value;
#ifndef MTS_SMALL
    /* Sections that are on the device: the pool's first ones, which get no entries. */
    const mts_weights_index *const *kept;
    uint32_t kept_count;
    /* 1 + the one of them that entries are looked up in, instead of being added; 0: none. What
       is not found there sets `missing`. */
    uint32_t looking;
    bool missing;
    /* The last one of them, which is the open section: its buffer has room; or NULL. */
    const mts_weights_index *open;
#endif
} mts_weights;

void mts_weights_init(mts_weights *pool, mts_precision precision, const mts_allocator *allocator);
void mts_weights_release(mts_weights *pool);

/* Number of the section that is open. */
uint32_t mts_weights_section(const mts_weights *pool);
/* First element of a section, and the number of its elements. */
size_t mts_weights_section_first(const mts_weights *pool, uint32_t section);
size_t mts_weights_section_count(const mts_weights *pool, uint32_t section);
/* Whether the open section is within section_most. */
bool mts_weights_fits(const mts_weights *pool);
mts_weights_mark mts_weights_mark_get(const mts_weights *pool);
/* Takes back what came after the mark, and opens a section unless the open one is empty
   then. */
void mts_weights_restart(mts_weights *pool, const mts_weights_mark *mark);
/* A part of a section: its entries from part / parts of its elements on. */
typedef struct mts_weights_cut {
    uint32_t section, part, parts;
#ifndef MTS_SMALL
    /* The first elements of the section, which are on the device: `elements` begins behind
       them. */
    size_t skip;
#endif
} mts_weights_cut;

/*
 * Writes the elements of a part of a section, whose memory may hold anything before.
 * Values, and arrays of `order`, have to live until then. Threads may write parts of a
 * float32 pool side by side; they allocate nothing. False: no memory.
 */
bool mts_weights_pack(mts_weights *pool, const mts_weights_cut *cut, void *elements);

/* Rows [row, row + rows) of a weight block packed [channels][inner][rows]; returns its
   pool offset. */
uint32_t mts_weights_rows(mts_weights *pool, const mts_value *weight, uint32_t ref, uint32_t row,
                          uint32_t rows, uint32_t owner);
/*
 * Rows [row, row + rows) of channels [channel, channel + count) of a block of 3 x 3
 * weights, transformed for conv_winograd (params.h): [16][count][rows]. Channels are
 * those of the value.
 */
uint32_t mts_weights_winograd(mts_weights *pool, const mts_value *weight, uint32_t ref, uint32_t row,
                              uint32_t rows, uint32_t channel, uint32_t count, uint32_t owner);
/* The same rows packed [ceil(rows / lanes)][channels][lanes], rows beyond the last are
   zero. inner = 1. */
uint32_t mts_weights_lanes(mts_weights *pool, const mts_value *weight, uint32_t ref, uint32_t row,
                           uint32_t rows, uint32_t lanes, uint32_t owner);
/*
 * Part of a weight of steps (plan/bytes.h) for conv_bytes (kernels/abi/bytes.h): i32 sums
 * of the rows [row, row + rows), then words of the channels [channel, channel + count),
 * both of the value. diagonal: a depthwise weight, of at most 4 rows whose first is a
 * multiple of 4; row r has its one channel's weights in byte r of the only word. Of a
 * float16 weight, whose numbers are steps of MTS_INT8_STEP, a byte holds what is within
 * -128..127; `rest` packs what is left of the others.
 */
#ifndef MTS_SMALL
/* Of a transposed convolution, whose weight is [channels][rows of a group][kernel positions]:
   tap (i, k) of rows x columns is position first - i * down - k * right. */
typedef struct mts_weights_taps {
    uint32_t rows, columns, first, down, right;
} mts_weights_taps;
#endif

typedef struct mts_weights_part {
    uint32_t row, rows, channel, count;
    bool diagonal, rest;
#ifndef MTS_SMALL
    mts_weights_taps taps; /* no columns: of a convolution, all taps */
#endif
} mts_weights_part;

uint32_t mts_weights_words(mts_weights *pool, const mts_value *weight, uint32_t ref,
                           const mts_weights_part *part, uint32_t owner);
/* Whether a part has weights that one byte does not hold. */
bool mts_weights_has_rest(const mts_value *weight, uint32_t ref, const mts_weights_part *part);
/* Channels before those of a part, which fill its first pack and are another block's. */
typedef struct mts_weights_head {
    uint32_t ref, count;
} mts_weights_head;

/*
 * The part's rows and channels packed for conv_packed (params.h): [taps][packs of
 * channels][MTS_CHANNEL_PACK][rows, rounded up to that]. lane: of the first channel, which
 * is the head's where its count is not 0.
 * diagonal: of a depthwise weight, whose only channel is 0: [taps][rows, rounded up]. Where
 * the part names taps there is no head, and rows count from the first of their group.
 */
uint32_t mts_weights_packed(mts_weights *pool, const mts_value *weight, uint32_t ref,
                            const mts_weights_part *part, const mts_weights_head *head, uint32_t lane,
                            uint32_t owner);
/* f32[count]: a vector, or ones where it is NULL, in the order of `order` (NULL: as it
   is), times a factor. */
uint32_t mts_weights_scaled(mts_weights *pool, const mts_value *value, const uint32_t *order, uint32_t count,
                            double factor, uint32_t owner);
/* A whole constant, row-major. */
uint32_t mts_weights_dense(mts_weights *pool, const mts_value *value, uint32_t owner);
/* A vector with its elements in the order of order[0..count-1]; order is part of the
   identity by address. */
uint32_t mts_weights_ordered(mts_weights *pool, const mts_value *value, const uint32_t *order, uint32_t count,
                             uint32_t owner);
/* Whether the pool's element at `at` was made of one of a constant's blocks. */
bool mts_weights_holds(const mts_weights *pool, size_t at, const mts_value *value);
#ifndef MTS_SMALL
/* The pool, which is empty, begins with these sections. They outlive it. Where the buffer of the
   last one has room, that section is open. False: no memory. */
bool mts_weights_keep(mts_weights *pool, const mts_weights_index *const *kept, uint32_t count);
/*
 * Notes what a section of the pool holds. `fixed`: addresses that stay what they are, `count` of
 * them, ascending: an entry that only an address identifies is noted if it is one of these.
 * False: no memory. Released in any case by mts_weights_index_release.
 */
bool mts_weights_index_make(const mts_weights *pool, uint32_t section, const uintptr_t *fixed, size_t count,
                            mts_weights_index *out);
/* The same of a section that was open when the pool was made: with what it held before. */
bool mts_weights_index_grow(const mts_weights *pool, const uintptr_t *fixed, size_t count,
                            mts_weights_index *out);
void mts_weights_index_release(mts_weights_index *index);
/* Marks the blocks that an index has entries of. */
void mts_weights_index_blocks(const mts_weights_index *index, bool *blocks, uint32_t count);
#endif
/* rows x row floats, rounded up to `pixels`: 1 where the column is < columns, else 0. */
uint32_t mts_weights_mask(mts_weights *pool, uint32_t rows, uint32_t row, uint32_t columns, uint32_t pixels);

#endif

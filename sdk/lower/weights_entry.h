/*
 * weights_entry.h: what the weight pool knows of one of its entries: under which key it
 * is found again, and what it is packed of. Only weights.c, weights_index.c and
 * weights_pack.c include it.
 */
#ifndef MTS_LOWER_WEIGHTS_ENTRY_H
#define MTS_LOWER_WEIGHTS_ENTRY_H

#include "lower/weights.h"
#include "plan/plan.h"

typedef enum mts_weights_kind {
    MTS_WEIGHTS_ROWS = 1,
    MTS_WEIGHTS_LANES,
    MTS_WEIGHTS_DENSE,
    MTS_WEIGHTS_ORDERED,
    MTS_WEIGHTS_MASK,
    MTS_WEIGHTS_WINOGRAD,
    MTS_WEIGHTS_WORDS,
    MTS_WEIGHTS_SCALED,
#if MTS_HAS_PACKED
    MTS_WEIGHTS_PACKED
#endif
} mts_weights_kind;

/* All members are set and compared byte by byte. */
typedef struct mts_weights_key {
    /* Block number, or the address of data that has none. */
    uint64_t identity;
    uint64_t other;
    uint32_t kind, owner, row, rows, lanes, by_address;
#if MTS_HAS_PACKED
    /* Of a head: its block, the first row and channel there, channels of the block. Of taps that
       are named: how far apart they are, the first one, rows and columns of them. */
    uint64_t head;
    uint32_t head_row, head_channel, head_width, head_count;
#endif
} mts_weights_key;

/* What an entry is packed of. All that it points to lives until the pool is packed. */
typedef struct mts_weights_source {
    const mts_value *value;
    const uint32_t *order;
    /* Rows count from the start of the value, channels too. */
    mts_weights_part part;
    /* Block of the value. */
    uint32_t ref;
    /* LANES: rows of a pack. PACKED: the lane of the first channel. */
    uint32_t lanes;
#if MTS_HAS_PACKED
    mts_weights_head head;
#endif
    /* MASK: cells of a row, and how many of them are 1. */
    uint32_t row, columns;
    double factor;
} mts_weights_source;

struct mts_weights_entry {
    mts_weights_key key;
    mts_weights_source source;
    /* From the start of the pool. */
    size_t offset;
    /* Elements, without those that fill up to the next entry. */
    size_t count;
};

#ifndef MTS_SMALL
/* An entry of a section on the device; its offset counts from the section's start. */
typedef struct mts_weights_kept {
    mts_weights_key key;
    uint32_t offset;
} mts_weights_kept;
#endif

#endif

/*
 * chain.h: the best cut of a sequence of units into stages on devices, found by dynamic
 * programming. Pure.
 *
 * A stage is a run of neighbouring units on one device. Its time is that of its units on
 * the device, of copying what it reads of earlier stages there, and of copying back what
 * later stages read: a device has one queue, so nothing of this overlaps. Frames follow each
 * other, so the slowest stage bounds the throughput, and the sum is a frame's latency.
 * The search is exact over the candidate positions: every assignment of the devices, each
 * used once or not at all, in any order.
 */
#ifndef MTS_PARTITION_CHAIN_H
#define MTS_PARTITION_CHAIN_H

#include "partition/units.h"

/* Devices of a session. */
#define MTS_PARTITION_DEVICES 8u
/* Positions that a cut may have; longer sequences offer the cheapest of each part. */
#define MTS_PARTITION_POSITIONS 160u
/* A copy: so much each, and so much for each byte. */
typedef struct mts_copy_cost {
    double ms, ms_per_byte;
} mts_copy_cost;

/* A stage that a device was found to have no memory for. Longer ones may fit: less may cross
   their borders. */
typedef struct mts_chain_refusal {
    uint32_t first, end;
} mts_chain_refusal;

typedef struct mts_device_costs {
    /* [unit], milliseconds; INFINITY: the device cannot run it. */
    const double *unit_ms;
    /* To the device, and from it. */
    mts_copy_cost to, from;
    /* Of every run, whatever it does. */
    double run_ms;
    /* Bytes that the device may hold; 0: no limit. */
    uint64_t memory;
    /* What it copies in takes no memory of its own: it is read where it lies. */
    bool reads_in_place;
    const mts_chain_refusal *refusals;
    uint32_t refusal_count;
} mts_device_costs;

typedef enum mts_chain_goal {
    /* The slowest stage is as fast as possible. Of equals not always that of the least sum:
       each state of the search keeps one best beginning, by its slowest stage first, and a
       later stage may be slower. */
    MTS_CHAIN_THROUGHPUT,
    /* The sum is as small as possible; among equals the slowest stage. */
    MTS_CHAIN_LATENCY
} mts_chain_goal;

/* Units [first, end) on a device. */
typedef struct mts_chain_stage {
    uint32_t device, first, end;
    double compute_ms, in_ms, out_ms;
    uint64_t bytes_in, bytes_out;
    /* Weights and activations, estimated. */
    uint64_t memory;
} mts_chain_stage;

typedef struct mts_chain {
    uint32_t stage_count;
    mts_chain_stage stages[MTS_PARTITION_DEVICES];
    double slowest_ms, total_ms;
} mts_chain;

double mts_chain_stage_ms(const mts_chain_stage *stage);
/* What counts as the memory of a stage. */
typedef enum mts_chain_memory {
    /* The least that a plan may have, as kernels keep values to themselves: its weights, and what
       is copied in or out, whichever is more. No stage that fits is left out. */
    MTS_CHAIN_LEAST,
    /* What is expected: all that lives at a time. */
    MTS_CHAIN_EXPECTED
} mts_chain_memory;

/*
 * The best chain on at most `device_count` devices, 1 to MTS_PARTITION_DEVICES, without the
 * stages that they have refused. Errors:
 * LIMIT (no chain keeps the memory of the devices, or some unit runs on none of them; the
 * sentence says which), OUT_OF_MEMORY.
 */
mts_status mts_chain_find(const mts_units *units, const mts_device_costs *devices, uint32_t device_count,
                          mts_chain_goal goal, mts_chain_memory memory, const mts_allocator *allocator,
                          mts_chain *out, mts_error *error);
/* Fills times and bytes of a chain whose devices, first and end are given. */
mts_status mts_chain_price(const mts_units *units, const mts_device_costs *devices, mts_arena *scratch,
                           mts_chain *chain, mts_error *error);

#endif

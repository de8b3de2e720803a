/*
 * units.h: the tasks of a session as one sequence of units, between any two of which it
 * may be cut into stages.
 *
 * A unit is a row of aligned nodes: what tasks of one family compute side by side. Rows of
 * different families follow each other by the part of their family's work that is done, so
 * that a cut takes an equal part of each. Values that hold the same data (equal operators
 * and weights on equal inputs) have one number, so that a shared prefix crosses a border
 * once. Pure.
 */
#ifndef MTS_PARTITION_UNITS_H
#define MTS_PARTITION_UNITS_H

#include "bundle/archive.h"

/* Lists of numbers, one after another: of entry i items[first[i]] to items[first[i + 1]]. */
typedef struct mts_unit_lists {
    uint32_t *first, *items;
} mts_unit_lists;

/* Data that nodes exchange. */
typedef struct mts_unit_value {
    /* The first unit that computes it; MTS_NONE: the caller gives it. */
    uint32_t unit;
    /* The last unit that reads it; MTS_NONE: none does. */
    uint32_t last_reader;
    /* As float32. */
    uint64_t bytes;
    /* One task, by its position, and its value that holds the data. */
    uint32_t task, value;
} mts_unit_value;

typedef struct mts_units {
    const mts_archive *archive;
    /* The tasks, as indices of the archive. */
    const uint32_t *tasks;
    uint32_t task_count;
    bool separate_inputs;
    /* Of a number on the devices; mts_units_make sets 4. It counts for memory only. */
    uint32_t element_bytes;

    uint32_t count;
    /* [task][node]: its unit. */
    uint32_t **unit_of;
    /* [task][value]: its number; MTS_NONE: a constant. */
    uint32_t **number_of;
    uint32_t value_count;
    mts_unit_value *values;

    /* Per unit: the numbers that it reads and computes, each once; the weight blocks. */
    mts_unit_lists reads, makes, blocks;
    /* Per unit: multiply-adds, and the activations that its nodes read and write, bytes. */
    uint64_t *mul_adds, *activations;
    /* Per task: the multiply-adds of all of its nodes. */
    uint64_t *task_mul_adds;
} mts_units;

/* The graph of the task at a position. */
static inline const mts_graph *mts_units_graph(const mts_units *units, uint32_t task)
{
    return units->archive->tasks[units->tasks[task]].graph;
}

/* What a weight block takes on a device: bytes stay bytes, other types are widened or narrowed. */
static inline uint64_t mts_units_block_bytes(const mts_units *units, uint32_t block)
{
    const mts_block *b = &units->archive->blocks[block];
    const size_t size = mts_type_size(b->dtype);
    return size > 1 ? b->size / size * units->element_bytes : b->size;
}

/*
 * Everything lives in `arena`; the archive and `tasks` outlive it. separate_inputs: equal
 * inputs of tasks hold different data. Errors: OUT_OF_MEMORY.
 */
mts_status mts_units_make(const mts_archive *archive, const uint32_t *tasks, uint32_t task_count,
                          bool separate_inputs, mts_arena *arena, mts_units *out, mts_error *error);
/* What a unit costs beside its multiply-adds where nothing was measured: its work, as
   numbers that can be added. */
double mts_units_work(const mts_units *units, uint32_t unit);

#endif

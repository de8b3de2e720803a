/*
 * parts.h: the tasks of a session as parts, each an archive of its own whose graphs are
 * runs of nodes of the tasks' graphs. The archives refer to the blocks of the whole one: no
 * weight is copied. Pure.
 *
 * A value that crosses a border is a link: an output of the part that computes it first, and
 * an input of every later part that reads it. Parts of a chain follow each other, and the
 * first takes the caller's inputs. Parts that are no chain hold whole tasks and have no
 * links.
 */
#ifndef MTS_PARTITION_PARTS_H
#define MTS_PARTITION_PARTS_H

#include "partition/chain.h"

/* What an input or output of a part is: one of the session's task itself, or a link. The
   other is MTS_NONE. */
typedef struct mts_part_port {
    uint32_t own, link;
} mts_part_port;

typedef struct mts_part {
    uint32_t device;
    mts_archive *archive;
    /* Per task of the archive: its position in the session, and its ports. */
    uint32_t *tasks;
    mts_part_port **inputs, **outputs;
    /* [task of the archive][node]: its unit. */
    uint32_t **units;
    /* Per task of the session: its index in the archive, or MTS_NONE. */
    uint32_t *index_of;
    /* [task of the session][task of the archive]: it has to run where that task does. */
    bool **needed;
} mts_part;

/* Where an input or output of a task is. */
typedef struct mts_part_place {
    /* MTS_NONE: nothing reads the input. */
    uint32_t part;
    /* Index in the part's archive, and of the port. */
    uint32_t task, port;
} mts_part_place;

typedef struct mts_partition {
    mts_arena arena;
    bool chain;
    uint32_t task_count;
    uint32_t part_count;
    mts_part parts[MTS_PARTITION_DEVICES];
    /* Elements of each link. */
    uint32_t link_count;
    size_t *link_elements;
    /* [task][input], [task][output] */
    mts_part_place **inputs, **outputs;
} mts_partition;

/* The archives live until mts_partition_release, and no longer than that of the units.
   Errors: LIMIT (too many values cross a border), OUT_OF_MEMORY. */
mts_status mts_partition_chain(const mts_units *units, const mts_chain *chain, const mts_allocator *allocator,
                               mts_partition *out, mts_error *error);
/* part_of[task]: whole tasks; devices without a task get no part. */
mts_status mts_partition_groups(const mts_units *units, const uint32_t *device_of, uint32_t device_count,
                                const mts_allocator *allocator, mts_partition *out, mts_error *error);
/* Zeros are a valid partition. */
void mts_partition_release(mts_partition *partition);

#endif

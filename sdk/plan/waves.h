/*
 * waves.h: which nodes of a dependency graph run in one launch.
 *
 * A launch costs time of its own, and leaves units of the device idle while its last
 * tiles end. So nodes that do not depend on each other, and that one program can compute,
 * go into one launch: a wave. List scheduling: a wave takes all nodes of one program
 * whose predecessors have run; rules choose the program, and the schedule of the rule
 * with the least time by the model is taken. See docs/design/waves.md. Pure: knows
 * nothing of layers and memory (plan/wave_steps.h).
 */
#ifndef MTS_PLAN_WAVES_H
#define MTS_PLAN_WAVES_H

#include "device/dependencies.h"
#include "stitch/stitch.h"

typedef struct mts_wave_node {
    /* Nodes of equal numbers may share a wave. MTS_NONE: with no other. */
    uint32_t program;
    /* Of group_count, or MTS_NONE: of none. */
    uint32_t group;
    /* Time on one unit: of the node, and of its largest tile, which one unit computes
       alone. */
    uint64_t cost, tile;
} mts_wave_node;

/* The device, in the unit of time of mts_wave_node.cost. */
typedef struct mts_wave_device {
    uint64_t launch;
    uint32_t units;
} mts_wave_device;

typedef struct mts_wave_request {
    const mts_wave_node *nodes;
    /* `after->count` nodes; a node waits for earlier ones only. */
    const mts_dependencies *after;
    uint32_t group_count;
    /* Groups that have begun and not ended at most; what they hold in memory lives at the
       same time. At least 1. */
    uint32_t groups_most;
    /* A group begins so many waves before its longest chain is as long as what is left of
       those that have begun. With 0 all end together: the first layers of networks, which
       are the largest, then live one after another. MTS_NONE: at once. */
    uint32_t early;
    mts_wave_device device;
} mts_wave_request;

typedef struct mts_wave_schedule {
    /* Nodes in order of their waves. */
    uint32_t *order;
    /* Per node. */
    uint32_t *wave;
    uint32_t count, waves;
    /* By the model: each wave takes a launch, and its work on all units or its largest
       tile. */
    uint64_t time;
} mts_wave_schedule;

/* The result lives in `arena`. The same request gives the same result. Errors:
   OUT_OF_MEMORY. */
mts_status mts_waves_find(const mts_wave_request *request, mts_arena *arena, mts_wave_schedule *out,
                          mts_error *error);
/* Time by the model of a schedule whose `wave` is given. `scratch` is used only during
   the call. OUT_OF_MEMORY. */
mts_status mts_waves_time(const mts_wave_request *request, const uint32_t *wave, uint32_t waves,
                          mts_arena *scratch, uint64_t *time, mts_error *error);

#endif

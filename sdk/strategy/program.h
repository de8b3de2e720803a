/*
 * program.h: from the tasks' graphs and their groups to the graphs that are stitched and
 * run.
 *
 * Strategies `sequential` and `compact` run the tasks' own graphs; `netfuse` runs them
 * padded to equal widths; `mts` runs one dense graph for several tasks
 * (sdk/strategy/dense.h). Tasks that a strategy cannot put into one group are split off
 * into groups of their own.
 */
#ifndef MTS_STRATEGY_PROGRAM_H
#define MTS_STRATEGY_PROGRAM_H

#include "mts/types.h"
#include "strategy/dense.h"

/* A task's port: port `port` of program graph `graph`, `first` elements from its
   start. */
typedef struct mts_program_port {
    uint32_t graph;
    uint32_t port; /* MTS_NONE: the output is a constant of the task's graph */
    size_t first;
} mts_program_port;

typedef struct mts_program {
    const mts_graph **graphs;
    uint32_t graph_count, group_count;
    uint32_t *group_of;                   /* per graph */
    uint32_t *lead;                       /* per graph: its first task */
    uint32_t *task_group;                 /* per task */
    uint32_t *task_graph;                 /* per task: the graph that computes it */
    bool *copied;                         /* per task: its inputs are parts of a larger tensor */
    mts_program_port **inputs, **outputs; /* [task][port] */
    char note[256];                       /* why a group was split, or "" */
} mts_program;

/* Everything lives in `arena`; graphs outlive it. Errors: LIMIT, OUT_OF_MEMORY. */
mts_status mts_program_make(const mts_graph *const *graphs, uint32_t count, const uint32_t *group_of,
                            mts_strategy strategy, mts_arena *arena, mts_program *out, mts_error *error);

#endif

/*
 * strategy.h: how tasks are executed together (DESIGN.md §5). The values are those of the public
 * mts_strategy.
 */
#ifndef MTS_PLAN_STRATEGY_H
#define MTS_PLAN_STRATEGY_H

typedef enum mts_strategy_kind {
    MTS_STRATEGY_KIND_SEQUENTIAL =
        0,                         /* one task after another, a private copy of every weight: the baseline */
    MTS_STRATEGY_KIND_COMPACT = 1, /* stitched by blocks: nothing stored or multiplied twice */
    MTS_STRATEGY_KIND_NETFUSE =
        2, /* layers of all tasks as one launch, padded to equal widths, weights private */
    MTS_STRATEGY_KIND_MTS = 3, /* one dense network with explicit zeros for a group (stitch/dense.h) */
    MTS_STRATEGY_KIND_COUNT = 4
} mts_strategy_kind;

/* Which tasks of a family are stitched into one group. The values are those of the public mts_grouping. */
typedef enum mts_grouping_kind {
    MTS_GROUPING_KIND_FAMILY = 0,  /* a whole family; nothing is measured */
    MTS_GROUPING_KIND_MEASURED = 1 /* plan/group.h over latencies measured on the device */
} mts_grouping_kind;

#endif

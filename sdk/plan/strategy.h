/*
 * strategy.h: how tasks are executed together (DESIGN.md §5). The values are those of the public
 * mts_strategy.
 */
#ifndef MTS_PLAN_STRATEGY_H
#define MTS_PLAN_STRATEGY_H

typedef enum mts_strategy_kind {
    MTS_STRATEGY_KIND_SEQUENTIAL =
        0,                        /* one task after another, a private copy of every weight: the baseline */
    MTS_STRATEGY_KIND_COMPACT = 1 /* stitched */
} mts_strategy_kind;

/* Which tasks of a family are stitched into one group. The values are those of the public mts_grouping. */
typedef enum mts_grouping_kind {
    MTS_GROUPING_KIND_FAMILY = 0,  /* a whole family; nothing is measured */
    MTS_GROUPING_KIND_MEASURED = 1 /* plan/group.h over latencies measured on the device */
} mts_grouping_kind;

#endif

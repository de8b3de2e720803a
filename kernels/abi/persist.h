/*
 * persist.h: the table of a persistent launch, and the kernels that its program consists
 * of beside those of the combined program (mixed.h).
 *
 * A persistent launch (kernels/persist) computes many launches, one after another or at
 * the same time: its work-groups take tickets, which are numbered in the order of the
 * launches, and wait for counters in place of the ends of launches. Like params.h this
 * file is compiled by host and kernels, and includes only mixed.h.
 */
#ifndef MTS_KERNELS_ABI_PERSIST_H
#define MTS_KERNELS_ABI_PERSIST_H

#include "kernels/abi/mixed.h"

/*
 * M(number, kernel): kernels that a persistent program may have. Their rows of the
 * manifest follow each other in this order, before those of the combined program and that
 * of the persistent one: its text is all of these (cmake/embed_kernels.cmake). Bit
 * `number` of the build option PERSIST says that the program knows a kernel; its texts
 * that are not asked for are passed over.
 */
#define MTS_PERSIST(M)                                                                                       \
    M(16, conv_tile__f32_planar)                                                                             \
    M(17, conv_winograd__f32_planar)                                                                         \
    M(18, conv_block__f32_planar)                                                                            \
    M(19, fc_lanes__f32_planar)                                                                              \
    M(20, fc_block__f32_planar)

/* The number of a launch of the combined program; below it are the numbers of MTS_MIXED. */
#define MTS_PERSIST_MIXED 15u

/*
 * The parameter of a launch is a word: where in act its table lies. All offsets and indices
 * are in words from the start of act. The table begins with mts_persist_params, and mts_persist_launch[launches] follow. `state` lies behind it:
 * words that are 0 before and after each launch.
 */
typedef struct mts_persist_params {
    mts_u32 launches;
    mts_u32 tickets;  /* of all launches; 0: the work-groups meet, and do nothing else */
    mts_u32 state;    /* mts_persist_state, then a counter for each launch: its tickets that have ended */
    mts_u32 failed;   /* a word that is set when a wait took too long; all work-groups leave then */
    mts_u32 patience; /* looks at a counter before a wait has taken too long */
} mts_persist_params;

/* Words of `state`: the next ticket, work-groups that have left, and that have met. */
#define MTS_PERSIST_CURSOR 0u
#define MTS_PERSIST_LEFT 1u
#define MTS_PERSIST_MET 2u
#define MTS_PERSIST_DONE 3u

/*
 * A launch: work-group g of `groups` is number g % width along the first dimension, g /
 * width % height along the second, g / (width height) along the third. Ticket `begin` and
 * those up to the next launch's compute `share` work-groups each, the last one what is
 * left.
 */
typedef struct mts_persist_launch {
    mts_u32 number; /* of its kernel */
    mts_u32 first;  /* word index in params of its parameters */
    mts_u32 begin, tickets, share;
    mts_u32 groups, width, height;
    mts_u32 waits, wait; /* numbers of the launches that it waits for: how many, and where they stand */
} mts_persist_launch;

#endif

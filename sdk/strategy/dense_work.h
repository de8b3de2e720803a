/*
 * dense_work.h: internals of dense_space.h: one pass that gives classes of entries their
 * stitched channels.
 */
#ifndef MTS_STRATEGY_DENSE_WORK_H
#define MTS_STRATEGY_DENSE_WORK_H

#include "strategy/dense_space.h"

typedef struct mts_dense_group {
    bool set;
    uint32_t origin; /* entry that set it */
    uint32_t total, capacity;
    uint32_t **pos; /* [task][channel] */
    uint32_t *at;   /* [stitched channel][task]: channel, or MTS_NONE */
} mts_dense_group;

typedef struct mts_dense_space {
    const mts_channel_map *map;
    mts_arena *pass; /* emptied after each pass */
    mts_arena *keep;
    mts_dense_group *groups; /* per entry, used at roots */
    uint8_t ***unmerged;     /* [root entry][task][channel]; NULL: all may be merged */
    bool *apart;             /* per entry: its node runs for each task alone */
    bool again;
    mts_error *error;
} mts_dense_space;

/* A convolution of one pass: operands of every task. */
typedef struct mts_dense_site {
    uint32_t node, out, tasks;
    mts_dense_group *from, *to; /* from NULL: column i of a filter is the same one in all tasks */
    const mts_value **weights;
    uint32_t **row_of; /* [task][output channel] */
    uint32_t inner;
} mts_dense_site;

/* ---- dense_pass.c ---- */
mts_status mts_dense_short(const mts_dense_space *s);
mts_status mts_dense_refuse(const mts_dense_space *s, uint32_t node, const char *reason);
mts_dense_group *mts_dense_group_of(const mts_dense_space *s, uint32_t entry);
/* Gives a group its arrays, all channels without a place. */
bool mts_dense_group_open(mts_dense_space *s, mts_dense_group *g, uint32_t entry, uint32_t capacity);
/* Makes sure that there is room for one more stitched channel. */
bool mts_dense_group_reserve(mts_dense_space *s, mts_dense_group *g);
void mts_dense_group_put(const mts_dense_space *s, mts_dense_group *g, uint32_t task, uint32_t channel,
                         uint32_t place);
/* Whether a channel keeps a place of its own. */
bool mts_dense_is_unmerged(const mts_dense_space *s, uint32_t entry, uint32_t task, uint32_t channel);
/* Sets a task's channel unmerged where its place comes from: behind concatenations and
   flattenings. */
mts_status mts_dense_separate(mts_dense_space *s, uint32_t node, uint32_t entry, uint32_t task,
                              uint32_t channel);
/* The operands of a convolution; `keeps`: column i of a row is column i in all tasks. */
mts_status mts_dense_site_open(mts_dense_space *s, mts_dense_site *c, uint32_t node, bool keeps);
/* First task before t whose channel at `place` contradicts row `row` of task t; MTS_NONE
   if all agree. */
uint32_t mts_dense_contradiction(const mts_dense_site *c, uint32_t t, uint32_t row, uint32_t place);

/* ---- dense_grouped.c ---- */
mts_status mts_dense_place_grouped(mts_dense_space *s, uint32_t node);

/* ---- dense_sets.c ---- */
/* Whether a node that keeps or joins channels runs for each task alone: one of its inputs does, or
   the number of images changes. */
bool mts_dense_goes_apart(const mts_dense_space *s, uint32_t node);
mts_status mts_dense_place_apart(mts_dense_space *s, uint32_t node);
/* A node that combines channels: side by side if it can be, else for each task alone. */
mts_status mts_dense_place_sets(mts_dense_space *s, uint32_t node);

#endif

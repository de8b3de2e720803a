/*
 * cut.h: one convolution row of a family while it is decided how its weights are cut;
 * shared by cut*.c.
 */
#ifndef MTS_COMPILER_PASSES_CUT_H
#define MTS_COMPILER_PASSES_CUT_H

#include "compiler/passes/family.h"

#define MTS_CUT_SETS_MAX 16u /* task sets of the filters of a row */
#define MTS_CUT_RUNS_MAX 8u  /* runs of input channels that a set of tasks has in common */

/* How a row's weights are stored. */
typedef enum mts_cut_kind { MTS_CUT_WHOLE, MTS_CUT_FILTERS, MTS_CUT_CHANNELS } mts_cut_kind;

/* Filters that a set of tasks shares, and over what. */
typedef struct mts_cut_set {
    uint64_t tasks;
    uint32_t filters; /* of each task */
    uint32_t inputs;  /* channels in common, in `runs` runs */
    uint32_t runs;
    bool used; /* false: not worth it, the filters stay private */
} mts_cut_set;

typedef struct mts_cut_row {
    mts_family *family;
    uint32_t row;
    mts_value *weights[MTS_CLASS_TASKS_MAX];
    const uint32_t *inputs[MTS_CLASS_TASKS_MAX];  /* labels of the input channels, or NULL */
    const uint32_t *filters[MTS_CLASS_TASKS_MAX]; /* labels of the filters, or NULL */
    mts_cut_set sets[MTS_CUT_SETS_MAX];
    uint32_t set_count;
    uint32_t *next; /* [class] what follows a channel in every task of the set in hand, see cut_runs.c */
    uint64_t bytes; /* of all tasks */
    bool grouped;   /* several convolution groups: rows stay where they are */
} mts_cut_row;

/* Lists the sets of the row's filter labels, with their runs of inputs. `whole`: filters
   span all inputs. */
void mts_cut_find_sets(mts_cut_row *cut, bool whole);
/* Bytes that the sets save. */
uint64_t mts_cut_saved(const mts_cut_row *cut);
/* Set of a filter label, or NULL if the filter is private. */
const mts_cut_set *mts_cut_set_of(const mts_cut_row *cut, uint32_t label);
/* Prepares cut->next for a set of tasks. */
void mts_cut_link(mts_cut_row *cut, uint64_t tasks);
/* First channel after the run of common (or private, *common false) channels that begins
   at `first`. */
uint32_t mts_cut_run(const mts_cut_row *cut, uint32_t task, uint64_t tasks, uint32_t first, bool *common);
/* Cuts the weights of all tasks along the sets. False if memory is short. */
bool mts_cut_apply(mts_cut_row *cut, bool whole);

#endif

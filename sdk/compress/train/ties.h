/*
 * ties.h: makes tied cells behave as one number: one gradient, one step, one value.
 *
 * Of the tasks of a tie the first one is trained (parameters.h); it gets the gradients of
 * all, and its values are handed to the others.
 */
#ifndef MTS_COMPRESS_TRAIN_TIES_H
#define MTS_COMPRESS_TRAIN_TIES_H

#include "compress/train/parameters.h"
#include "compress/train/tie.h"

/*
 * Checks ties[count] against nets[net_count] and marks their cells. INVALID_ARGUMENT: a
 * tie points at what is no cell, at cells that differ, or that another tie has too
 * (names[] as in distill.h, or NULL). What is frozen in one task is frozen in all of the
 * tie.
 */
mts_status mts_ties_mark(const mts_tie *ties, uint32_t count, mts_net *const *nets, uint32_t net_count,
                         const char *const *names, const mts_frozen *frozen, mts_parameters *parameters,
                         mts_error *error);
/* Whether the tie's cells are trained. */
bool mts_tie_moves(const mts_tie *tie, const mts_frozen *frozen);
/* Adds the gradients of the other tasks to the first one's; gradients[task]: of all
   arrays of the task. */
void mts_tie_gather(const mts_tie *tie, const mts_parameters *parameters, float *const *gradients);
/* Copies the first task's values to the others. */
void mts_tie_spread(const mts_tie *tie, const mts_parameters *parameters);

#endif

/*
 * assign.h: which of n things goes to which of n places: an assignment of least total
 * cost, and the greedy one.
 */
#ifndef MTS_COMPRESS_SOLVE_ASSIGN_H
#define MTS_COMPRESS_SOLVE_ASSIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

/* cost[n][n], finite; place[i] receives the place of thing i. Hungarian method (Kuhn;
   Jonker and Volgenant's shortest augmenting paths), O(n^3). False if memory is short. */
bool mts_assign_optimal(const double *cost, uint32_t n, const mts_allocator *allocator, uint32_t *place);
/* Smallest cost first, among things and places that are left (MTZ's code); ties: lowest
   thing, then place. */
bool mts_assign_greedy(const double *cost, uint32_t n, const mts_allocator *allocator, uint32_t *place);

#endif

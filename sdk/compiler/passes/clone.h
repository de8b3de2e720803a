/*
 * clone.h: copies of graphs, so that a pass may rewrite them while the compiler keeps the
 * imported ones.
 */
#ifndef MTS_COMPILER_PASSES_CLONE_H
#define MTS_COMPILER_PASSES_CLONE_H

#include "graph/graph.h"

/* A copy in `arena`; names and the bytes of constants are shared. NULL if memory is
   short. */
mts_graph *mts_graph_clone(const mts_graph *graph, mts_arena *arena);

#endif

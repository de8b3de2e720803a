/*
 * siblings.h: a common order for convolutions that read the same value, so that models
 * whose exporters wrote the branches of a block in different orders still align.
 */
#ifndef MTS_COMPILER_PASSES_SIBLINGS_H
#define MTS_COMPILER_PASSES_SIBLINGS_H

#include "graph/graph.h"

/* Sorts neighbouring convolutions of one input by kernel, stride and dilation, in place.
 * The graph stays valid. */
void mts_graph_sort_siblings(mts_graph *graph);

#endif

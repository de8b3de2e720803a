/*
 * limits.h: bounds of everything in a graph. They keep sums and products of two
 * dimensions in 64 bits.
 */
#ifndef MTS_GRAPH_LIMITS_H
#define MTS_GRAPH_LIMITS_H

#include "graph/graph.h"

#define MTS_GRAPH_COUNT_MAX ((int64_t)1 << 31) /* elements of a value stay below this */
#define MTS_GRAPH_WINDOW_MAX 65536u            /* kernel, stride, dilation, padding of a window operator */
#define MTS_GRAPH_BLOCKS_MAX 4096u             /* blocks of a constant */
#define MTS_GRAPH_PORTS_MAX 4096u              /* inputs, and outputs, of a graph */
#define MTS_GRAPH_NODES_MAX 1000000u           /* nodes, and values, of a graph */
/* Positions that run-time values can name: float32 holds every whole number up to this
   one. */
#define MTS_GRAPH_INDEX_MAX ((int64_t)1 << 24)

/* Positive dimensions, rank in range, element count below MTS_GRAPH_COUNT_MAX. MALFORMED
   or LIMIT. */
mts_status mts_graph_check_shape(const mts_shape *shape, mts_error *error);

#endif

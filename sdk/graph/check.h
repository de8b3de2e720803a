/*
 * check.h: what a single node and a single constant must satisfy. Internal to sdk/graph.
 */
#ifndef MTS_GRAPH_CHECK_H
#define MTS_GRAPH_CHECK_H

#include "graph/graph.h"

/*
 * What a node must satisfy besides its shapes: inputs are existing values, constants
 * where the operator wants them, of a permitted dtype, gather indices in range, scatter a
 * permutation. Writes the inferred output shape.
 */
mts_status mts_graph_check_node(const mts_graph *graph, const mts_node *node, mts_shape *out,
                                mts_error *error);
/* Blocks of a constant cover its matrix exactly once and have data. */
mts_status mts_graph_check_blocks(const mts_value *value, mts_error *error);

#endif

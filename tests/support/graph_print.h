/*
 * graph_print.h: a listing of a graph, one node a line, for tests that compare graphs or show them.
 */
#ifndef MTS_TESTS_SUPPORT_GRAPH_PRINT_H
#define MTS_TESTS_SUPPORT_GRAPH_PRINT_H

#include "base/text.h"
#include "graph/graph.h"

/* Ports, and of each node its operator, name, inputs, output and attributes in the order of the bundle. */
void graph_print(const mts_graph *graph, mts_text *text);

#endif

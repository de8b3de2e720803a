/*
 * eval.h: runs a graph in plain C, slowly: an oracle for passes that must not change what a graph computes.
 */
#ifndef MTS_TESTS_EVAL_H
#define MTS_TESTS_EVAL_H

#include "graph/graph.h"

/*
 * Evaluates a graph whose input i holds inputs[i]. values[v] receives each value, in `arena`. False if memory
 * is short, or if an operator is not one of CONV, SCALE, UNARY, BINARY, MATMUL (with one matrix), POOL, REDUCE (mean),
 * RESIZE (linear, nearest), CONCAT, RESHAPE, or a function or a kind of BINARY is not known.
 */
bool mts_eval(const mts_graph *graph, const float *const *inputs, mts_arena *arena, float **values);

#endif

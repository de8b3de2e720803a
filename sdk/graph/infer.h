/*
 * infer.h: internals of shape inference, shared by the files of sdk/graph only.
 *
 * Every function checks the attributes and input shapes of one operator family and writes the output shape.
 * All of them take shapes whose dimensions are positive and whose element counts are below
 * MTS_GRAPH_COUNT_MAX, so sums and products of two dimensions fit in 64 bits.
 */
#ifndef MTS_GRAPH_INFER_H
#define MTS_GRAPH_INFER_H

#include "graph/graph.h"

#define MTS_GRAPH_COUNT_MAX ((int64_t)1 << 31) /* elements of a value stay below this */
#define MTS_GRAPH_WINDOW_MAX 65536u            /* kernel, stride, dilation, padding of a window operator */
#define MTS_GRAPH_BLOCKS_MAX 4096u             /* blocks of a constant */
#define MTS_GRAPH_NODES_MAX 1000000u           /* nodes, and values, of a graph */

typedef struct mts_infer_call {
    mts_op op;
    const mts_attrs *attrs;
    const mts_shape *const *inputs; /* NULL where absent */
    uint32_t input_count;
    mts_error *error;
} mts_infer_call;

typedef mts_status (*mts_infer_function)(const mts_infer_call *call, mts_shape *out);

/* Positive dimensions, rank in range, element count below MTS_GRAPH_COUNT_MAX. */
mts_status mts_graph_check_shape(const mts_shape *shape, mts_error *error);
/* Shape of input `index`, or NULL if it is absent. */
const mts_shape *mts_infer_input(const mts_infer_call *call, uint32_t index);
/* Input `index`, if present, is a vector of `count` elements. */
mts_status mts_infer_vector(const mts_infer_call *call, uint32_t index, int64_t count, const char *what);
mts_status mts_infer_rank(const mts_infer_call *call, uint32_t index, uint32_t least, uint32_t most);
/* The function exists, its parameters are numbers, and a slope vector is there exactly if it needs one. */
mts_status mts_infer_act(const mts_infer_call *call, const mts_act *act, bool has_slope);

mts_status mts_infer_conv(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_deconv(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_pool(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_matmul(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_scale(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_unary(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_binary(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_reduce(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_softmax(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_lrn(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_concat(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_slice(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_pad(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_gather(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_transpose(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_reshape(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_expand(const mts_infer_call *call, mts_shape *out);
mts_status mts_infer_resize(const mts_infer_call *call, mts_shape *out);

/*
 * What a node must satisfy besides its shapes: inputs are existing values, constants where the operator wants
 * them, of a permitted dtype, gather indices in range, scatter a permutation. Writes the inferred output
 * shape.
 */
mts_status mts_graph_check_node(const mts_graph *graph, const mts_node *node, mts_shape *out,
                                mts_error *error);
/* Blocks of a constant cover its matrix exactly once and have data. */
mts_status mts_graph_check_blocks(const mts_value *value, mts_error *error);
/* Least and most inputs of an operator. */
void mts_op_arity(mts_op op, uint32_t *least, uint32_t *most);

#endif

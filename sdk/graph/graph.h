/*
 * graph.h: one task as a graph of operators over values.
 *
 * The compiler builds graphs (sdk/compiler/import), a bundle stores them, the run-time
 * stitches them. Nodes are in topological order: a node reads only inputs, constants and
 * outputs of earlier nodes. A graph lives in one arena; constant data is not copied: it
 * lies in the arena, an ONNX file or a mapped bundle, which the caller keeps valid for as
 * long as the graph.
 *
 * A constant is a list of rectangular weight blocks (docs/design/sharing.md): the matrix
 * [out][in] of cells of kh*kw (or of one element) is covered exactly once. Constants that
 * are not convolution weights, and unshared weights, have one block. Blocks of several
 * tasks that have equal `block` ids are stored once.
 *
 * Thread-safety: a graph is immutable once built; any thread may read it.
 */
#ifndef MTS_GRAPH_GRAPH_H
#define MTS_GRAPH_GRAPH_H

#include "base/alloc.h"
#include "kernels/abi/kinds.h"
#include "graph/ops.h"
#include "tensor/tensor.h"

/* int8 weights are fixed-point numbers: -1 to 127/128. The convolution's scale makes the
   quantised weights of them, so that sums in float16 stay small. */
#define MTS_INT8_STEP (1.0f / 128.0f)

#define MTS_NONE 0xffffffffu /* an absent value, node or block */

typedef enum mts_op {
#define MTS_OP_ENUM(NAME, row) MTS_OP_##NAME,
    MTS_OPS(MTS_OP_ENUM)
#undef MTS_OP_ENUM
        MTS_OP_COUNT
} mts_op;

/* Values of fn, kind, mode, coord and round are numbers of kernels/abi/kinds.h (MTS_FN_,
   MTS_BIN_, ...). */
typedef struct mts_act {
    uint32_t fn; /* MTS_FN_ */
    float a, b;
} mts_act;

typedef struct mts_attrs_conv {
    uint32_t kernel[2], stride[2], dilation[2]; /* rows, columns */
    int32_t pad[4];                             /* top, left, bottom, right */
    uint32_t group;
    uint32_t output_pad[2]; /* DECONV only: extra rows and columns at the end */
    mts_act act;
} mts_attrs_conv;
typedef struct mts_attrs_matmul {
    float alpha, beta;
} mts_attrs_matmul;
typedef struct mts_attrs_unary {
    mts_act act;
} mts_attrs_unary;
typedef struct mts_attrs_binary {
    uint32_t kind; /* MTS_BIN_ */
    mts_act act;   /* applied to the result */
} mts_attrs_binary;
typedef struct mts_attrs_pool {
    uint32_t kind; /* MTS_POOL_ */
    uint32_t kernel[2], stride[2], dilation[2];
    int32_t pad[4]; /* top, left, bottom, right */
    uint32_t ceil;  /* 1: round the output size up */
    uint32_t include_pad;
} mts_attrs_pool;
typedef struct mts_attrs_reduce {
    uint32_t kind; /* MTS_REDUCE_ */
    uint32_t axes; /* bit i: dimension i is reduced */
    uint32_t keep; /* 1: reduced dimensions stay as 1 */
} mts_attrs_reduce;
typedef struct mts_attrs_softmax {
    uint32_t axis; /* along one axis; legacy flattening is lowered by reshapes */
    uint32_t log;
} mts_attrs_softmax;
typedef struct mts_attrs_lrn {
    uint32_t size;
    float alpha, beta, bias;
} mts_attrs_lrn;
typedef struct mts_attrs_axis {
    uint32_t axis;
} mts_attrs_axis;
typedef struct mts_attrs_slice {
    int64_t start[MTS_TENSOR_RANK_MAX]; /* in range: first element taken */
    int64_t step[MTS_TENSOR_RANK_MAX];  /* non-zero, may be negative */
    int64_t size[MTS_TENSOR_RANK_MAX];  /* output dimensions */
} mts_attrs_slice;
typedef struct mts_attrs_pad {
    uint32_t mode; /* MTS_PAD_ */
    float value;
    int64_t before[MTS_TENSOR_RANK_MAX], after[MTS_TENSOR_RANK_MAX]; /* may be negative (crop) */
} mts_attrs_pad;
typedef struct mts_attrs_transpose {
    uint32_t perm[MTS_TENSOR_RANK_MAX]; /* output dimension i is input dimension perm[i] */
} mts_attrs_transpose;
typedef struct mts_attrs_reshape {
    mts_shape shape; /* of the output, no wildcard; EXPAND: broadcast to it */
} mts_attrs_reshape;
typedef struct mts_attrs_resize {
    uint32_t mode, coord, round, exclude_outside; /* MTS_RESIZE_, MTS_COORD_, MTS_ROUND_ */
    uint32_t out[2];                              /* rows, columns */
    float scale[2], roi_start[2], roi_end[2];
    float cubic_a, extrapolation;
} mts_attrs_resize;
typedef struct mts_attrs_scan {
    uint32_t kind; /* MTS_SCAN_ */
    uint32_t axis;
    uint32_t exclusive; /* 1: without the element itself */
    uint32_t reverse;   /* 1: from the end to the element */
} mts_attrs_scan;
typedef struct mts_attrs_order {
    uint32_t count;
    uint32_t largest; /* 1: the largest, 0: the smallest */
} mts_attrs_order;
typedef struct mts_attrs_sample {
    uint32_t mode;    /* MTS_RESIZE_ */
    uint32_t padding; /* MTS_SAMPLE_ */
    uint32_t align;   /* 1: -1 and 1 are centres of the outer pixels, 0: their outer edges */
} mts_attrs_sample;
typedef struct mts_attrs_recur {
    uint32_t kind;    /* MTS_RECUR_ */
    uint32_t reverse; /* 1: the last step comes first */
} mts_attrs_recur;

typedef struct mts_attrs_norm {
    uint32_t kind;   /* MTS_NORM_ */
    uint32_t axes;   /* bit i: dimension i is normalised over */
    uint32_t groups; /* of channels (dimension 1), each normalised by itself; 1 unless axes have bit 1 */
    float epsilon;
    mts_act act;
} mts_attrs_norm;

typedef struct mts_attrs_attention {
    uint32_t heads; /* of equally many channels, one after another */
    float scale;    /* of the products of q and k */
} mts_attrs_attention;

typedef union mts_attrs {
    mts_attrs_conv conv;
    mts_attrs_matmul matmul;
    mts_attrs_unary unary;
    mts_attrs_binary binary;
    mts_attrs_pool pool;
    mts_attrs_reduce reduce;
    mts_attrs_softmax softmax;
    mts_attrs_lrn lrn;
    mts_attrs_axis concat, gather;
    mts_attrs_slice slice;
    mts_attrs_pad pad;
    mts_attrs_transpose transpose;
    mts_attrs_reshape reshape;
    mts_attrs_resize resize;
    mts_attrs_scan scan;
    mts_attrs_order order;
    mts_attrs_sample sample;
    mts_attrs_recur recur;
    mts_attrs_norm norm;
    mts_attrs_attention attention;
} mts_attrs;

/* Cells [out_first, out_first + out_count) x [in_first, in_first + in_count) of a weight
   matrix. `data` holds them row-major, each cell `inner` elements (kh * kw), in the
   value's dtype. */
typedef struct mts_block_ref {
    /* Identity: equal in all tasks that share the bytes; MTS_NONE until the compiler
       assigns one. */
    uint32_t block;
    uint32_t out_first, out_count, in_first, in_count;
    const void *data;
} mts_block_ref;

typedef enum mts_value_kind { MTS_VALUE_INPUT = 0, MTS_VALUE_CONST = 1, MTS_VALUE_NODE = 2 } mts_value_kind;

typedef struct mts_value {
    /* Of the ONNX value where there is one, else generated; unique in the graph. */
    const char *name;
    mts_value_kind kind;
    /* INPUT: what the caller passes. CONST: of the data (float32; weights also float16 or
       int8, which stands for MTS_INT8_STEP times the integer; int32 indices). NODE:
       float32. */
    mts_type dtype;
    mts_shape shape;
    /* Node, or MTS_NONE. */
    uint32_t producer;
    uint32_t block_count;
    /* CONST: out = dims[0], in = dims[1], inner = the rest; with a rank below 2: out =
       count, in = 1. */
    mts_block_ref *blocks;
} mts_value;

typedef struct mts_node {
    mts_op op;
    const char *name; /* of the ONNX node where there is one */
    uint32_t input_count;
    uint32_t *inputs; /* value ids; MTS_NONE for an absent optional one */
    uint32_t output;  /* value id */
    mts_attrs attrs;
    /* CONV only: output channel of each weight row (`filters` sharing); NULL: in order.
       u32[O] */
    const uint32_t *scatter;
} mts_node;

typedef struct mts_port {
    const char *name;
    uint32_t value;  /* an output may be a CONST or an INPUT value too */
    mts_type dtype;  /* at the border */
    mts_shape shape; /* at the border (same elements as the value) */
} mts_port;

typedef struct mts_graph_names mts_graph_names;

typedef struct mts_graph {
    mts_arena *arena;
    const char *name;
    uint32_t value_count, node_count, input_count, output_count;
    size_t value_capacity, node_capacity;
    /* Smaller than the count: the array holds no more. */
    size_t input_capacity, output_capacity;
    mts_graph_names *names; /* of build.c, made when a value is first added; never copied */
    mts_value *values;
    mts_node *nodes;
    mts_port *inputs, *outputs;
} mts_graph;

/* How the channels (dimension 1) of a node's output follow from those of its inputs. */
typedef enum mts_channel_rule {
    /* Anything that the others do not say. */
    MTS_CHANNELS_FIXED,
    /* Output channel c belongs to channel c of the inputs. */
    MTS_CHANNELS_KEPT,
    /* Each output channel reads all input channels, along its row of the weight. */
    MTS_CHANNELS_MIXED,
    /* Channels of the inputs one after another. */
    MTS_CHANNELS_JOINED,
    /* Output channel c * factor + k belongs to input channel c. */
    MTS_CHANNELS_REPEATED,
    /* Output channels read the input channels of their group (a grouped convolution). */
    MTS_CHANNELS_GROUPED
} mts_channel_rule;

typedef struct mts_propagation {
    mts_channel_rule pass;
    /* REPEATED */
    uint32_t factor;
    /* A channel of zeros does not stay zero. */
    bool dirty;
    /* KEPT, but each result depends on all channels (softmax). */
    bool across;
    /* Why the dense form (sdk/strategy) cannot run such nodes of several tasks side by
       side; NULL: it can. */
    const char *reason;
} mts_propagation;

/* ---- building (compiler, bundle reader, tests) ---- */
/* All return MTS_NONE / NULL when memory is short. Arrays and strings are copied into the
 * arena; const data is not. */
mts_graph *mts_graph_create(mts_arena *arena, const char *name);
uint32_t mts_graph_add_input(mts_graph *graph, const char *name, mts_type dtype, const mts_shape *shape);
uint32_t mts_graph_add_const(mts_graph *graph, const char *name, mts_type dtype, const mts_shape *shape,
                             const void *data);
/*
 * Appends a node, infers the shape of its output and verifies inputs and attributes. On
 * success *value is the output's id. Errors: MALFORMED (shapes, attributes), LIMIT,
 * OUT_OF_MEMORY; the graph is then unchanged.
 */
mts_status mts_graph_add_node(mts_graph *graph, mts_op op, const char *name, const uint32_t *inputs,
                              uint32_t input_count, const mts_attrs *attrs, uint32_t *value,
                              mts_error *error);
/* Names a value; a name that another value has is not taken over. False when memory is
   short. */
bool mts_graph_name_value(mts_graph *graph, uint32_t value, const char *name);
mts_status mts_graph_add_output(mts_graph *graph, const char *name, uint32_t value, mts_type dtype,
                                const mts_shape *shape, mts_error *error);

/* ---- reading ---- */
const char *mts_op_name(mts_op op);
/* Whether an input may be a constant; where it may not, an EXPAND to its own shape makes
   it a value. */
bool mts_op_takes_constant(mts_op op, uint32_t index);
/* Dimension of input 1 along which a weighted operator's output channels lie; MTS_NONE:
   no weights. */
uint32_t mts_op_weight_out(mts_op op);
/* The activation that a node applies to its result; NULL if the operator has none. */
const mts_act *mts_node_act(const mts_node *node);
/* Whether nodes of an operator can apply an element function to their result:
   convolutions know fewer. */
bool mts_op_applies(mts_op op, uint32_t fn);
/* The first dimension that a REDUCE reduces; it reduces at least one. */
uint32_t mts_reduce_axis(const mts_attrs_reduce *reduce);
/* How channels pass through a node. */
mts_propagation mts_node_propagation(const mts_graph *graph, const mts_node *node);
/* What people call a node: its name, or that of its output where the model gave none;
   never NULL. */
const char *mts_node_title(const mts_graph *graph, const mts_node *node);
/* Output shape of a node from its attributes and input shapes; inputs[i] is NULL where
   absent. */
mts_status mts_node_infer(mts_op op, const mts_attrs *attrs, const mts_shape *const *inputs,
                          uint32_t input_count, mts_shape *out, mts_error *error);
/* Everything a loader must know before it trusts a graph: indices, order, shapes, block
   coverage, limits. */
mts_status mts_graph_verify(const mts_graph *graph, mts_error *error);
/* Number of readers of each value (outputs count too) into counts[value_count]. */
void mts_graph_count_uses(const mts_graph *graph, uint32_t *counts);
/* Multiply-adds of a node (0 for data movement). */
uint64_t mts_node_mul_adds(const mts_graph *graph, const mts_node *node);
/* Rows, columns and inner elements of a constant's weight matrix. */
void mts_value_matrix(const mts_value *value, uint32_t *out, uint32_t *in, uint32_t *inner);
/* Numbers [first, first + count) of the data of one of a constant's blocks as float32. */
void mts_value_read_run(const mts_value *value, const void *data, size_t first, size_t count, float *out);
/* Whether a DECONV of these weights only puts elements elsewhere: channel s c + f of
 * its input is position f of s = kh * kw neighbours in channel c, row by row (depth to
 * space). */
bool mts_deconv_is_shuffle(const mts_node *node, const mts_value *weight);
/* Gathers a constant's blocks into a dense array of its dtype converted to float32:
   f32[count]. */
void mts_value_read_f32(const mts_value *value, float *out);
/* The shape of a GATHER's result along `axis`, one of x; false: its rank is above what a tensor
   may have. */
bool mts_gathered_shape(const mts_shape *x, uint32_t axis, const mts_shape *index, mts_shape *out);
/* Whether none is infinite or NaN. */
bool mts_all_finite(const float *numbers, size_t count);

#endif

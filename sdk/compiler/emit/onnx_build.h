/*
 * onnx_build.h: internals of the export: an ONNX message under construction.
 *
 * Everything lies in one arena. Running short of memory sticks in `failed`; functions
 * then return NULL or do nothing.
 */
#ifndef MTS_COMPILER_EMIT_ONNX_BUILD_H
#define MTS_COMPILER_EMIT_ONNX_BUILD_H

#include "graph/graph.h"
#include "onnx/onnx.pb-c.h"

/* A block of weights that is an initialiser. */
typedef struct mts_onnx_block {
    /* NULL: it is none yet. */
    const char *name;
    mts_shape shape;
} mts_onnx_block;

/* A vector that has the same number everywhere. */
typedef struct mts_onnx_vector {
    const char *name;
    int64_t count;
    float number;
} mts_onnx_vector;

/* What several graphs in one model have in common; NULL in mts_onnx where the model is
   one graph. */
typedef struct mts_onnx_shared {
    /* Per block of the graphs' weights. */
    mts_onnx_block *blocks;
    uint32_t block_count;
    mts_onnx_vector *vectors;
    uint32_t vector_count, vector_capacity;
} mts_onnx_shared;

typedef struct mts_onnx {
    /* The graph that is being added. */
    const mts_graph *graph;
    mts_arena *arena;
    Onnx__GraphProto *proto;
    size_t node_capacity, initializer_capacity, input_capacity, output_capacity;
    /* In front of names of the graph: "", or the task's name and a slash. */
    const char *prefix;
    /* What the model calls the graph's inputs. */
    const char **input_names;
    const char **names; /* of the graph's values */
    bool *stored;       /* constants that already are initialisers */
    mts_onnx_shared *shared;
    uint32_t temporaries;
    bool failed;
} mts_onnx;

void *mts_onnx_alloc(mts_onnx *onnx, size_t count, size_t size);
/* Whether a port, or any port of a graph, has this name. */
bool mts_onnx_names_port(const mts_port *ports, uint32_t count, const char *name);
bool mts_onnx_is_port_name(const mts_graph *graph, const char *name);
/* A name that no value and no port has, as the model has it (mts_onnx_prefixed). */
const char *mts_onnx_temporary(mts_onnx *onnx);
/* A name of the graph as the model has it. */
const char *mts_onnx_prefixed(mts_onnx *onnx, const char *name);
/* Adds an input or an output of the model. */
void mts_onnx_add_port(mts_onnx *onnx, bool output, const char *name, mts_type dtype, const mts_shape *shape);

/* A node with one output; inputs may be "" (absent). */
Onnx__NodeProto *mts_onnx_node(mts_onnx *onnx, const char *op, const char *const *inputs, uint32_t count,
                               const char *output);
void mts_onnx_int(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, int64_t number);
void mts_onnx_float(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, float number);
void mts_onnx_text(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, const char *text);
void mts_onnx_ints(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, const int64_t *numbers,
                   uint32_t count);

/* One node on one or two inputs; NULL output: a temporary. The output's name is
   returned. */
const char *mts_onnx_one(mts_onnx *onnx, const char *op, const char *x, const char *output);
const char *mts_onnx_two(mts_onnx *onnx, const char *op, const char *a, const char *b, const char *output);
const char *mts_onnx_cast(mts_onnx *onnx, const char *x, mts_type dtype, const char *output);
/* A node that reads a shape: Reshape or Expand. */
const char *mts_onnx_shaped(mts_onnx *onnx, const char *op, const char *x, const int64_t *dims, uint32_t rank,
                            const char *output);

/* Initialisers; floats are referred to, ints are copied. The name is returned. */
const char *mts_onnx_floats_const(mts_onnx *onnx, const char *name, const mts_shape *shape,
                                  const float *data);
const char *mts_onnx_ints_const(mts_onnx *onnx, const int64_t *numbers, uint32_t count);
const char *mts_onnx_float_const(mts_onnx *onnx, float number);
const char *mts_onnx_vector_const(mts_onnx *onnx, int64_t count, float number);
/* Bytes of any element type, which are referred to. */
const char *mts_onnx_data_const(mts_onnx *onnx, const char *name, mts_type dtype, const mts_shape *shape,
                                const void *data);

/* ONNX's number of an element type. */
int32_t mts_onnx_dtype(mts_type dtype);

/* A value's name; a constant becomes an initialiser when first named. */
const char *mts_onnx_value(mts_onnx *onnx, uint32_t value);
/* A constant as dense float32 array on the arena. */
float *mts_onnx_dense(mts_onnx *onnx, uint32_t value);
/* Operators whose values or results are positions, and sums of elements up to each one
   (onnx_index.c). */
void mts_onnx_add_arg(mts_onnx *onnx, const mts_node *node, const char *output);
void mts_onnx_add_take(mts_onnx *onnx, const mts_node *node, const char *output);
void mts_onnx_add_scan(mts_onnx *onnx, const mts_node *node, const char *output);
void mts_onnx_add_order(mts_onnx *onnx, const mts_node *node, const char *output);

/* Attention (onnx_attention.c). */
void mts_onnx_add_attention(mts_onnx *onnx, const mts_node *node, const char *output);

/* Reductions, and normalisations without their activation (onnx_norm.c). */
void mts_onnx_add_reduce(mts_onnx *onnx, const mts_node *node, const char *output);
void mts_onnx_add_norm(mts_onnx *onnx, const mts_node *node, const char *output);

/* Adds what computes an element function of x; slope: for PRELU (onnx_function.c). */
void mts_onnx_function(mts_onnx *onnx, const mts_act *act, const char *slope, const char *x,
                       const char *output);
/* Adds what computes a node of the graph (onnx_node.c). Errors: UNSUPPORTED. */
mts_status mts_onnx_add(mts_onnx *onnx, const mts_node *node, mts_error *error);

#endif

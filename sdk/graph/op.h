/*
 * op.h: what the library knows of an operator: one row (mts_op_row), defined in the
 * operator's own file under sdk/graph/ops.
 *
 * MTS_OP_ROW fills every column in order. The compiler refuses a row that leaves one out,
 * or whose name, infer, mul_adds or channels is NULL. Modules ask the functions of
 * graph.h; only sdk/graph and sdk/bundle read rows.
 */
#ifndef MTS_GRAPH_OP_H
#define MTS_GRAPH_OP_H

#include "graph/limits.h"

#define MTS_OP_ANY 0xffffu /* as most inputs: any number, and all of them are required */

/* What an input may be. */
typedef enum mts_op_input {
    /* Any float32 value: input, node output or constant. */
    MTS_OP_INPUT_VALUE,
    /* A graph input or node output, never a constant: plan and launches look for its
       storage. */
    MTS_OP_INPUT_DATA,
    /* A constant, float32, float16 or int8, that may consist of several weight blocks. */
    MTS_OP_INPUT_BLOCKS,
    /* A constant, float32, float16 or int8, of one block. */
    MTS_OP_INPUT_WEIGHT,
    /* A float32 constant. */
    MTS_OP_INPUT_VECTOR,
    /* The same; where it is absent, a neutral vector (ones, zeros) is meant, so alike
     * nodes may differ in it.
     */
    MTS_OP_INPUT_AFFINE,
    /* An int32 constant. */
    MTS_OP_INPUT_INDEX
} mts_op_input;

typedef enum mts_op_field_kind {
    /* uint32_t or int32_t */
    MTS_OP_FIELD_WORD,
    MTS_OP_FIELD_FLOAT,
    /* int64_t: two words on disk, the low one first */
    MTS_OP_FIELD_LONG,
    /* One mts_act. */
    MTS_OP_FIELD_ACT
} mts_op_field_kind;

/* An attribute. A bundle stores the attributes in the order of the row's fields. */
typedef struct mts_op_field {
    mts_op_field_kind kind;
    /* Bytes in mts_attrs, and elements. */
    uint32_t offset, count;
    /* Whether alike nodes have it in common (mts_node_alike). */
    bool alike;
} mts_op_field;

#define MTS_OP_FIELD(NAME, field, KIND, size, same)                                                          \
    {                                                                                                        \
        MTS_OP_FIELD_##KIND, (uint32_t)offsetof(mts_attrs_##NAME, field),                                    \
            (uint32_t)(sizeof(((mts_attrs_##NAME *)0)->field) / (size)), same                                \
    }
/* Attribute `field` of mts_attrs_NAME. Its size is part of the bundle's format. */
#define MTS_OP_WORD(NAME, field, same) MTS_OP_FIELD(NAME, field, WORD, 4, same)
#define MTS_OP_FLOAT(NAME, field, same) MTS_OP_FIELD(NAME, field, FLOAT, 4, same)
#define MTS_OP_LONG(NAME, field, same) MTS_OP_FIELD(NAME, field, LONG, 8, same)
#define MTS_OP_ACT(NAME, field) MTS_OP_FIELD(NAME, field, ACT, sizeof(mts_act), true)
/* Attributes and input shapes that a row's `infer` looks at. All shapes are within the
   limits. */
typedef struct mts_infer_call {
    mts_op op;
    const mts_attrs *attrs;
    const mts_shape *const *inputs; /* NULL where absent */
    uint32_t input_count;
    mts_error *error;
} mts_infer_call;

typedef mts_status mts_infer_function(const mts_infer_call *call, mts_shape *out);
typedef uint64_t mts_mul_adds_function(const mts_graph *graph, const mts_node *node);
typedef mts_propagation mts_channels_function(const mts_graph *graph, const mts_node *node);

typedef struct mts_op_row {
    const char *name;
    /* Inputs; those from `least` on are optional. */
    uint32_t least, most;
    /* Of each input; the last one holds for all that follow. */
    mts_op_input inputs[6];
    /* Dimension of input 1 along which its output channels lie, or MTS_NONE: the operator
       has no weights. */
    uint32_t weight_out;
    const mts_op_field *fields;
    uint32_t field_count;
    /* Checks attributes and input shapes; writes the output's shape. */
    mts_infer_function *infer;
    /* Checks what the shapes do not say (values of constants); NULL: nothing. */
    mts_status (*check)(const mts_graph *graph, const mts_node *node, mts_error *error);
    /* Multiply-adds of a node; mts_cost_none: it moves data. */
    mts_mul_adds_function *mul_adds;
    /* Whether two nodes are alike, besides their operands and the fields that say so;
       NULL: nothing more. */
    bool (*alike)(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y);
    /* How channels pass through a node whose tensors have channels (graph.h). */
    mts_channels_function *channels;
} mts_op_row;

/* A column that a row must have: NULL is a void *, and does not compile. */
#define MTS_OP_GIVEN(type, column) _Generic((column), type * : (column))

/* A row: its columns, `fields` an array, and last what each input may be. */
#define MTS_OP_ROW(name, least, most, weight_out, fields, infer, check, mul_adds, alike, channels, ...)      \
    MTS_OP_COLUMNS(name, least, most, weight_out, fields, sizeof(fields) / sizeof((fields)[0]), infer,       \
                   check, mul_adds, alike, channels, __VA_ARGS__)
/* The row of an operator without attributes. */
#define MTS_OP_ROW_BARE(name, least, most, weight_out, infer, check, mul_adds, alike, channels, ...)         \
    MTS_OP_COLUMNS(name, least, most, weight_out, NULL, 0, infer, check, mul_adds, alike, channels,          \
                   __VA_ARGS__)
#define MTS_OP_COLUMNS(name, least, most, weight_out, fields, field_count, infer, check, mul_adds, alike,    \
                       channels, ...)                                                                        \
    {                                                                                                        \
        MTS_OP_GIVEN(char, name), least, most, {__VA_ARGS__}, weight_out, fields, field_count,               \
            MTS_OP_GIVEN(mts_infer_function, infer), check, MTS_OP_GIVEN(mts_mul_adds_function, mul_adds),   \
            alike, MTS_OP_GIVEN(mts_channels_function, channels)                                             \
    }

#define MTS_OP_DECLARE(NAME, row) extern const mts_op_row mts_op_##row;
MTS_OPS(MTS_OP_DECLARE)
#undef MTS_OP_DECLARE

/* The row of an operator; NULL if there is no such operator. */
const mts_op_row *mts_op_find(mts_op op);
/* What input `index` of an existing operator may be. */
mts_op_input mts_op_input_kind(mts_op op, uint32_t index);

#endif

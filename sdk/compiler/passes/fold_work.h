/*
 * fold_work.h: internals of the fold pass: a graph being rewritten.
 *
 * Nodes keep their order, so that each stands behind what computes its operands: a merged node stands where
 * the later one stood or, when only constants join, where the earlier one stood. The one exception is
 * fold_resize.c, which exchanges two nodes; it may because the first has no other reader than the second.
 * Removed values are aliases of others.
 */
#ifndef MTS_COMPILER_PASSES_FOLD_WORK_H
#define MTS_COMPILER_PASSES_FOLD_WORK_H

#include "graph/graph.h"

typedef struct mts_fold_work {
    mts_graph *graph;  /* a copy; nodes and values are rewritten in place */
    mts_arena *arena;  /* of the result: new constants live there */
    uint32_t *alias;   /* value -> what stands for it (itself if nothing else) */
    uint32_t *uses;    /* readers of each value */
    uint32_t *home;    /* value -> the node that computes it now, or MTS_NONE */
    bool *dead;        /* nodes */
    size_t value_room; /* of alias, uses and home */
    bool failed;       /* memory is short */
} mts_fold_work;

/* A copy of the graph to rewrite, in `scratch`. False if memory is short. */
bool mts_fold_begin(mts_fold_work *work, const mts_graph *graph, mts_arena *scratch);

/* ---- reading ---- */
uint32_t mts_fold_resolve(const mts_fold_work *work, uint32_t value);
/* Value id of an operand; MTS_NONE if absent. */
uint32_t mts_fold_input(const mts_fold_work *work, const mts_node *node, uint32_t index);
const mts_value *mts_fold_value(const mts_fold_work *work, uint32_t value);
/* Node that computes a value, or an operand; NULL: none does. */
mts_node *mts_fold_home(const mts_fold_work *work, uint32_t value);
mts_node *mts_fold_producer(const mts_fold_work *work, const mts_node *node, uint32_t index);
bool mts_fold_single_use(const mts_fold_work *work, const mts_node *producer);
/* Activation of a node that has one and can still take one, or NULL. */
mts_act *mts_fold_free_act(mts_node *node);

/* scale x + bias, with one number each (fold_line.c). */
typedef struct mts_fold_line {
    uint32_t x;
    float scale, bias;
} mts_fold_line;

/* Equal up to the rounding of what exporters write. */
bool mts_fold_near(float a, float b);
/* The number that a constant's elements all are; false: it is none, or they differ. */
bool mts_fold_uniform(mts_fold_work *work, uint32_t value, float *number);
/* A constant with one number for each channel of a value of shape `x`, or one for all: its elements, as many as
   channels. */
bool mts_fold_channel_numbers(mts_fold_work *work, uint32_t value, const mts_shape *x, float **out);
/* Whether a node is a line before its activation, which is `fn`; the second: of these numbers. */
bool mts_fold_as_line(mts_fold_work *work, const mts_node *node, uint32_t fn, mts_fold_line *out);
bool mts_fold_is_line(mts_fold_work *work, const mts_node *node, uint32_t fn, float scale, float bias,
                      mts_fold_line *out);

/* ---- rewriting ---- */
/* Removes `node`; its readers read `value` instead, which gets the name of the node's output. */
void mts_fold_replace(mts_fold_work *work, mts_node *node, uint32_t value);
/* `node` becomes `merged` and keeps its output; `other` is removed. */
void mts_fold_merge(mts_fold_work *work, mts_node *node, const mts_node *merged, mts_node *other);
/* `node` becomes `merged`, keeps its output and reads other operands; nodes that nothing reads then go. */
void mts_fold_become(mts_fold_work *work, mts_node *node, const mts_node *merged);
/* The node's output has one reader less; a node without readers is removed. */
void mts_fold_release(mts_fold_work *work, mts_node *node);
/* A constant, and a vector; data is copied. MTS_NONE after a failure. */
uint32_t mts_fold_constant(mts_fold_work *work, const float *data, const mts_shape *shape);
uint32_t mts_fold_vector(mts_fold_work *work, const float *data, uint32_t count);
/* The node's operand list made `count` long, new ones absent. False after a failure. */
bool mts_fold_widen(mts_fold_work *work, mts_node *node, uint32_t count);

/* ---- rules: true if they changed something ---- */
bool mts_fold_drop(mts_fold_work *work, mts_node *node);       /* nodes without effect */
bool mts_fold_move(mts_fold_work *work, mts_node *node);       /* reshapes, transposes, pads */
bool mts_fold_taps(mts_fold_work *work, mts_node *node);       /* taps that never meet the image */
bool mts_fold_channels(mts_fold_work *work, mts_node *node);   /* arithmetic with one number a channel */
bool mts_fold_activation(mts_fold_work *work, mts_node *node); /* element functions, residuals */
bool mts_fold_slope(mts_fold_work *work, mts_node *node);      /* PReLU as several nodes, bounds */
bool mts_fold_norm(mts_fold_work *work, mts_node *node);       /* normalisations, sums of squares */
bool mts_fold_gate(mts_fold_work *work, mts_node *node); /* functions that were written as several nodes */
bool mts_fold_gelu(mts_fold_work *work, mts_node *node); /* Gelu by tanh, as many nodes */
bool mts_fold_gain(mts_fold_work *work, mts_node *node); /* lines behind activations, x + x g */
/* A 1x1 convolution moves before the resize that it reads: where `node` would join the convolution
   and so keep it behind; and in the end, where nothing did. */
bool mts_fold_resize(mts_fold_work *work, mts_node *node);
bool mts_fold_resize_last(mts_fold_work *work, mts_node *node);
/* matmul + other, which may be smaller: the sum moves into the product. The last rule: a product ends with no
   function. */
bool mts_fold_summand(mts_fold_work *work, mts_node *node);

#endif

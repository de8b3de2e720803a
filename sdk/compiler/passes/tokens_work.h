/*
 * tokens_work.h: internals of the pass tokens.h: a graph that is being built anew.
 *
 * Each value of the old graph has up to two forms in the new one: `plain`, of the same
 * shape, and `transposed`, [images, channels, 1, rows]. A form is made when the first node
 * reads it.
 */
#ifndef MTS_COMPILER_PASSES_TOKENS_WORK_H
#define MTS_COMPILER_PASSES_TOKENS_WORK_H

#include "graph/graph.h"

/* A value as images of tokens: its last dimension are channels, the one before it rows. */
typedef struct mts_token_matrix {
    int64_t images, rows, channels;
} mts_token_matrix;

typedef struct mts_tokens_form {
    uint32_t plain, transposed;         /* values of the new graph, or MTS_NONE */
    bool reads_plain, reads_transposed; /* some node, or an output, reads this form */
    bool made_transposed;               /* its producer gives it transposed at no cost */
} mts_tokens_form;

/* Heads of a transposed value: `heads` runs of `depth` channels, from channel `first` on. */
typedef struct mts_tokens_operand {
    uint32_t source; /* value of the old graph */
    bool image;      /* it is [images, channels, 1, rows] as it is */
    int64_t first, heads, depth;
    uint32_t bias; /* a constant [heads, depth] that is added to it, or MTS_NONE */
} mts_tokens_operand;

/* What is added to scores: a value of the old graph times a factor. `to`: the scores that it is
   added to, whose images and heads may be grouped in another way than those of the product. */
typedef struct mts_tokens_mask {
    uint32_t value, to;
    float factor;
} mts_tokens_mask;

#define MTS_TOKENS_MASKS 4u

typedef struct mts_tokens_attention {
    mts_tokens_operand of[3]; /* q, k, v */
    mts_tokens_mask masks[MTS_TOKENS_MASKS];
    uint32_t mask_count;
    float scale;
} mts_tokens_attention;

/* Heads, each times a constant matrix of its own. */
typedef struct mts_tokens_heads {
    mts_tokens_operand x;
    uint32_t matrix; /* constant [heads, depth, columns] of the old graph */
    float scale;
} mts_tokens_heads;

typedef struct mts_tokens_work {
    const mts_graph *from;
    mts_graph *to;
    mts_arena *arena;
    mts_tokens_form *forms; /* per value of `from` */
    bool *transposed;       /* per node of `from`: it reads and makes transposed values */
    /* Per node of `from`: the attention that ends with it, or NULL; the product of heads that it
       is, or NULL; the value of an attention that it only moves, or MTS_NONE, and whether that
       becomes an image in plain form. */
    mts_tokens_attention **attentions;
    mts_tokens_heads **heads;
    uint32_t *joins;
    bool *joins_image;
    mts_error *error;
} mts_tokens_work;

mts_token_matrix mts_tokens_matrix(const mts_shape *shape);
/* [images, channels, 1, rows] of a shape of at least two dimensions. */
mts_shape mts_tokens_transposed_shape(const mts_shape *shape);

/* ---- tokens_form.c ---- */
/* A value's form in the new graph, made where it is not there yet. */
mts_status mts_tokens_plain(mts_tokens_work *work, uint32_t value, uint32_t *out);
mts_status mts_tokens_transposed(mts_tokens_work *work, uint32_t value, uint32_t *out);
/* A constant that is broadcast to a value of shape `shape`, transposed; the check says whether
   there is one. */
bool mts_tokens_constant_fits(const mts_value *constant, const mts_shape *shape);
mts_status mts_tokens_transpose_constant(mts_tokens_work *work, uint32_t value, uint32_t *out);
/* The number that all elements of a float32 constant are; false: it is none, or they
   differ. */
bool mts_tokens_uniform(const mts_graph *graph, uint32_t value, float *number);
/* A constant filled with one number. */
mts_status mts_tokens_filled(mts_tokens_work *work, int64_t count, float number, uint32_t *out);
mts_status mts_tokens_short(const mts_tokens_work *work);

/* Fewer rows are a fully connected layer of as many images: lanes are its output channels
   then. */
#define MTS_TOKENS_PIXELS_LEAST 8

/* ---- tokens_emit.c ---- */
/* Whether a node is a product with a constant matrix that becomes a convolution; of images
   (of tokens), or of single rows as a fully connected layer. */
bool mts_tokens_connects(const mts_graph *graph, const mts_node *node);
bool mts_tokens_connects_rows(const mts_graph *graph, const mts_node *node);
/* Whether a node can compute on transposed values what it computes on plain ones. */
bool mts_tokens_transposable(const mts_graph *graph, const mts_node *node);
/* Builds such a node on transposed values, or the convolution. */
mts_status mts_tokens_emit_transposed(mts_tokens_work *work, const mts_node *node);
/* The product of few rows. */
mts_status mts_tokens_emit_connected(mts_tokens_work *work, const mts_node *node);

/* ---- tokens_view.c ---- */
const mts_node *mts_tokens_producer(const mts_graph *graph, uint32_t value);
/* Whether a node is x times one number: which. */
bool mts_tokens_is_factor(const mts_graph *graph, const mts_node *node, uint32_t *x, float *factor);
/* Follows an operand up to the farthest value of which it is heads (swapped: [.., channels,
   tokens]); factors on the way go into *scale. */
bool mts_tokens_find_operand(const mts_graph *graph, uint32_t value, bool swapped, mts_tokens_operand *out,
                             float *scale);
mts_token_matrix mts_tokens_source_matrix(const mts_graph *graph, const mts_tokens_operand *of);
/* The channels of an operand, of its transposed value, with its bias. */
mts_status mts_tokens_emit_operand(mts_tokens_work *work, const mts_tokens_operand *of, uint32_t *out);
/* The value of an attention that a node only moves, to where it lies transposed (or, *image, as
   an image in plain form); MTS_NONE: it does something else. */
uint32_t mts_tokens_joins_heads(const mts_tokens_work *work, const mts_node *node, bool *image);
mts_status mts_tokens_emit_joined(mts_tokens_work *work, const mts_node *node, uint32_t value, bool image);

/* ---- tokens_attention.c ---- */
/* Whether a product is the last one of an attention: which. */
bool mts_tokens_attends(const mts_graph *graph, const mts_node *node, mts_tokens_attention *attention);
mts_status mts_tokens_emit_attention(mts_tokens_work *work, const mts_node *node,
                                     const mts_tokens_attention *attention);

/* ---- tokens_heads.c ---- */
/* Whether a node multiplies heads by constant matrices: which. */
bool mts_tokens_multiplies_heads(const mts_graph *graph, const mts_node *node, mts_tokens_heads *heads);
/* A convolution with a group for each head. */
mts_status mts_tokens_emit_heads(mts_tokens_work *work, const mts_node *node, const mts_tokens_heads *heads);

#endif

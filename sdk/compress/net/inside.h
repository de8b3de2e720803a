/*
 * inside.h: what the files of this folder share: the members of nets and runs, and the
 * operators' functions.
 */
#ifndef MTS_COMPRESS_NET_INSIDE_H
#define MTS_COMPRESS_NET_INSIDE_H

#include "compress/net/loop.h"
#include "compress/net/net.h"

typedef struct mts_conv mts_conv;             /* oneDNN's objects of a node, conv.c */
typedef struct mts_engine_cpu mts_engine_cpu; /* oneDNN's objects of a run, dnnl.c */

struct mts_net {
    const mts_graph *graph;
    const mts_allocator *allocator;
    mts_arena arena;       /* everything below */
    mts_net_layer *layers; /* [node] */
    uint64_t *versions;    /* [node], raised by touch */
    float **constants;     /* [value], row-major; NULL: no node reads it as an operand */
};

struct mts_net_run {
    const mts_net *net;
    const mts_allocator *allocator;
    mts_arena arena; /* all arrays of floats below, and the arrays of pointers */
    uint32_t batch;
    mts_net_mode mode;
    uint32_t chunk;   /* images that pass through the nodes together */
    float **values;   /* [value] */
    mts_conv **convs; /* [node]; NULL until first used */
    mts_engine_cpu *cpu;
    float *scratch; /* on the allocator, grown */
    size_t scratch_count;
    /* TRAINING */
    float **gradients; /* [value]; NULL where no gradient is wanted */
    bool *filled;      /* [value]: the gradient holds something in this pass */
    float **
        before; /* [value]: what the activation of its node read, where the result alone does not determine the derivative */
    float **output_gradients;       /* [output] */
    mts_net_layer *layer_gradients; /* [node] */
};

/* ---- layer.c ---- */
size_t mts_net_elements(const mts_graph *graph, uint32_t value); /* of one image */
/* Weights of a node: numbers of its constant matrix or filters, 0: none. */
size_t mts_net_weights(const mts_graph *graph, const mts_node *node);
/* Floats that are aligned for vectors, zero; NULL if memory is short. */
float *mts_net_floats(mts_arena *arena, size_t count);
/* Takes memory for the parameters of a node. False if memory is short. */
bool mts_net_layer_make(const mts_graph *graph, const mts_node *node, mts_arena *arena, mts_net_layer *out);
/* Which operand of a MATMUL is its weight, or its bias; MTS_NONE: none. */
uint32_t mts_net_matmul_weight(const mts_graph *graph, const mts_node *node);
uint32_t mts_net_matmul_bias(const mts_graph *graph, const mts_node *node);
/* The constant that an operand of a node is, or NULL. */
const mts_value *mts_net_constant(const mts_graph *graph, const mts_node *node, uint32_t index);

/* ---- view.c ---- */
static inline uint32_t mts_node_input(const mts_node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : MTS_NONE;
}
static inline const mts_shape *mts_run_shape(const mts_net_run *run, uint32_t value)
{
    return &run->net->graph->values[value].shape;
}
/* A value, or its gradient, from image `first` on. A constant is the same for all
   images. */
mts_view mts_run_view(const mts_net_run *run, uint32_t value, uint32_t first);
mts_view mts_run_view_gradient(const mts_net_run *run, uint32_t value, uint32_t first);
/* At least `count` floats of working memory, whose content is lost at the next call; NULL
 * if memory is short.
 */
float *mts_run_scratch(mts_net_run *run, size_t count, mts_error *error);
/* Makes a gradient ready to be added to: zeroes it where nothing has been put yet. NULL:
   none is wanted. */
float *mts_run_open_gradient(mts_net_run *run, uint32_t value, uint32_t images);

/* A node's part of the graph for images first .. first + count - 1 of a run. */
typedef struct mts_step {
    mts_net_run *run;
    const mts_node *node;
    uint32_t index; /* of the node */
    uint32_t first, count;
    mts_error *error;
} mts_step;
typedef mts_status (*mts_step_function)(const mts_step *step);
/* The gradients of a node's first operand and of its result; false: the first one is not
   wanted. */
bool mts_step_gradients(const mts_step *step, mts_view *input, mts_view *output);

/* Keeps what the activation of the node will read, of elements * count, where its
   derivative needs that (element.c). */
void mts_run_keep_before(const mts_step *step, const float *y, size_t elements);

/* What an operator does. `backward` is called for all images at once, while the gradient
 * of the output is filled. `move` is CONCAT, SLICE, PAD, GATHER, TRANSPOSE, RESHAPE and
 * EXPAND. */
/* clang-format off */
#define MTS_NET_FUNCTIONS(X)                                                                                 \
    X(conv) X(deconv) X(matmul) X(scale) X(unary) X(binary) X(pool) X(reduce) X(softmax) X(lrn) X(move)      \
    X(resize) X(norm) X(attention) X(take)
/* clang-format on */
#define MTS_NET_DECLARE(name)                                                                                \
    mts_status mts_forward_##name(const mts_step *step);                                                     \
    mts_status mts_backward_##name(const mts_step *step);
MTS_NET_FUNCTIONS(MTS_NET_DECLARE)
#undef MTS_NET_DECLARE

typedef struct mts_net_op {
    mts_step_function forward, backward; /* both NULL: not computed here */
} mts_net_op;
extern const mts_net_op mts_net_ops[MTS_OP_COUNT]; /* ops.c */

/* ---- backward.c ---- */
/* Whether a gradient has to pass to a value. */
static inline bool mts_run_wants(const mts_net_run *run, uint32_t value)
{
    return value != MTS_NONE && run->gradients[value];
}
/* Decides which values want gradients and takes memory for them (TRAINING). */
mts_status mts_backward_prepare(mts_net_run *run, mts_error *error);
/* Floats that TRAINING takes for an image; false on overflow. */
bool mts_backward_room(const mts_graph *graph, size_t *per_image);

/* ---- activation.c ---- */
/* x in place: count elements, channel i % channels has slope[i % channels] (PRELU
   only). */
void mts_act_apply(const mts_act *act, const float *slope, size_t channels, float *x, size_t count);
/* Whether the derivative needs what the function read, not only what it gave. */
bool mts_act_needs_before(const mts_act *act);
bool mts_act_has_derivative(const mts_act *act);
/* d *= derivative. x: what was read, may be NULL where it is not needed. */
void mts_act_derive(const mts_act *act, const float *slope, size_t channels, const float *x,
                    const float *results, float *d, size_t count);
/* slope gradient += d * min(x, 0), before mts_act_derive. */
void mts_act_derive_slope(size_t channels, const float *x, const float *d, size_t count, float *gradient);

/* ---- dnnl.c, conv.c, conv_backward.c ---- */
mts_status mts_cpu_create(const mts_allocator *allocator, mts_engine_cpu **out, mts_error *error);
void mts_cpu_destroy(const mts_allocator *allocator, mts_engine_cpu **cpu);
void mts_conv_destroy(const mts_allocator *allocator, mts_conv **conv);
/* scale * conv(x) + bias, or conv(x) alone with `raw`. */
mts_status mts_conv_linear(const mts_step *step, bool raw, float *out);
/* Row-major c[m][n] = alpha * a b + beta * c; transposed operands are stored [k][m] and
   [n][k]. */
mts_status mts_cpu_gemm(bool turn_a, bool turn_b, size_t m, size_t n, size_t k, float alpha, const float *a,
                        const float *b, float beta, float *c, mts_error *error);

#endif

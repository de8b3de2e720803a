/*
 * dense_builder.h: internals of dense_build.c: the graph that is being written, its constants
 * and its values. Internal to sdk/strategy.
 *
 * A value of the tasks has up to two forms: dense, [sum of the tasks' first dimensions, stitched
 * channels, ...], zero where an image's task does not have the channel, and alone, one value of
 * the task's own shape for each task. Each is made of the other when a node asks for it first.
 */
#ifndef MTS_STRATEGY_DENSE_BUILDER_H
#define MTS_STRATEGY_DENSE_BUILDER_H

#include "strategy/dense_space.h"

typedef struct mts_dense_request {
    const mts_channel_map *map;
    const mts_dense_place *places; /* per entry */
    const bool *apart;             /* per entry: its node runs for each task alone; NULL: none does */
    uint32_t first, count;         /* tasks [first, first + count) become one graph */
    bool clean;                    /* channels that a task does not have stay zero in its images */
} mts_dense_request;

typedef struct mts_dense_builder {
    const mts_dense_request *request;
    mts_arena *arena;
    mts_graph *graph;
    uint32_t *value_of; /* per entry: the dense form, or MTS_NONE */
    uint32_t *alone_of; /* [entry][task - first]: a task's own value, or MTS_NONE */
    mts_status status;  /* of reading inputs; mts_dense_add_node returns what failed */
    mts_error *error;
} mts_dense_builder;

/* ---- dense_constants.c ---- */
mts_status mts_dense_no_memory(const mts_dense_builder *b);
const mts_node *mts_dense_node(const mts_dense_builder *b, uint32_t task, uint32_t node);
uint32_t mts_dense_out(const mts_dense_builder *b, uint32_t node);
/* Stitched channel of a task's channel. */
uint32_t mts_dense_stitched(const mts_dense_builder *b, uint32_t entry, uint32_t task, uint32_t channel);
/* Images (first dimension) of an entry: of a task, of the tasks before it, of all. */
uint32_t mts_dense_images(const mts_dense_builder *b, uint32_t entry, uint32_t task);
uint32_t mts_dense_first_image(const mts_dense_builder *b, uint32_t entry, uint32_t task);
uint32_t mts_dense_all_images(const mts_dense_builder *b, uint32_t entry);
/* Whether some image has channels that its task does not have. */
bool mts_dense_has_redundant(const mts_dense_builder *b, uint32_t entry);
/* Whether some task has a constant there. */
bool mts_dense_any_has(const mts_dense_builder *b, uint32_t node, uint32_t input);
/* Shapes of constants of an entry: [images, total], or [total] where all images are one task's; the
   same of the entry's rank. */
mts_shape mts_dense_vector_shape(const mts_dense_builder *b, uint32_t entry);
mts_shape mts_dense_spread_shape(const mts_dense_builder *b, uint32_t entry);
/* The stitched weight of a convolution, with explicit zeros. */
mts_status mts_dense_add_weight(mts_dense_builder *b, uint32_t n, uint32_t *value);
/* What channels of an image are whose task has no constant there, and those that its task does not
   have. */
typedef struct mts_dense_fill {
    float live, dead;
} mts_dense_fill;

/* A vector per image [images, total] of the tasks' constants at one operand (MTS_NONE: none has one).
   `shape` is what the constant becomes: the same elements. */
mts_status mts_dense_add_vector(mts_dense_builder *b, uint32_t n, uint32_t input, mts_dense_fill fill,
                                const mts_shape *shape, uint32_t *value);
/* The constants of all tasks at one operand that is broadcast: [images, total, as the constant],
   `fill` in channels that an image's task does not have. */
mts_status mts_dense_add_operand(mts_dense_builder *b, uint32_t n, uint32_t input, float fill,
                                 uint32_t *value);
/* A constant of another graph; its data stays where it is. MTS_NONE when memory is short. */
uint32_t mts_dense_reference(mts_graph *graph, const mts_value *constant);

/* ---- dense_values.c ---- */
mts_status mts_dense_add_node(mts_dense_builder *b, mts_op op, const char *name, const uint32_t *inputs,
                              uint32_t count, const mts_attrs *attrs, uint32_t *value);
/* Whether a task's stitched channels follow one another. */
bool mts_dense_is_run(const mts_dense_builder *b, uint32_t entry, uint32_t task);
/* An entry's value of one task alone. */
mts_status mts_dense_alone(mts_dense_builder *b, uint32_t entry, uint32_t task, uint32_t *value);
/* An entry's dense value. */
mts_status mts_dense_joined(mts_dense_builder *b, uint32_t entry, uint32_t *value);
/* The tasks' values one after another, channels of task first + i from offsets[i] of `total` on. */
mts_status mts_dense_stack(mts_dense_builder *b, uint32_t entry, const uint32_t *offsets, uint32_t total,
                           uint32_t *value);

/* ---- dense_build.c ---- */
/* Builds nodes and inputs, not outputs. The caller sets request, arena and error. */
mts_status mts_dense_build(mts_dense_builder *b);

#endif

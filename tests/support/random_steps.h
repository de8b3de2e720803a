/*
 * random_steps.h: internals of random networks: the network while it grows (random_net.c), and steps that
 * random_steps.c adds.
 */
#ifndef MTS_TESTS_SUPPORT_RANDOM_STEPS_H
#define MTS_TESTS_SUPPORT_RANDOM_STEPS_H

#include "support/random_net.h"

/* A network while it grows. `family` draws are the same for all tasks, `own` draws are a task's. */
typedef struct random_builder {
    const random_family *plan;
    mts_graph *graph;
    mts_arena *arena;
    uint32_t task, names;
    uint64_t family, own;
    uint32_t x; /* the value that grows */
    bool failed;
} random_builder;

/* A number from low to high; true for so many of a hundred. */
uint32_t random_draw(uint64_t *state, uint32_t low, uint32_t high);
bool random_chance(uint64_t *state, uint32_t percent);
const mts_shape *random_shape_of(const random_builder *b, uint32_t value);
const char *random_fresh_name(random_builder *b, const char *what);
/* Weights of layer `layer`: those of the first `shared` rows are the same in all tasks, the others private. */
uint32_t random_add_weight(random_builder *b, const mts_shape *shape, uint32_t layer, uint32_t shared);
/* A vector around `middle`; shared or private as a whole. */
uint32_t random_add_vector(random_builder *b, uint32_t count, float middle, uint32_t layer, bool shared);
/* Appends a node; what does not fit the shapes at hand is left out, and false comes back. */
bool random_add_node(random_builder *b, mts_op op, const uint32_t *inputs, uint32_t count,
                     const mts_attrs *attrs, uint32_t *value);

/* Steps: each replaces b->x, or leaves it where shapes do not fit. */
void random_step_scan(random_builder *b);
void random_step_positions(random_builder *b);
void random_step_sample(random_builder *b);
void random_step_norm(random_builder *b);
void random_step_recur(random_builder *b);

#endif

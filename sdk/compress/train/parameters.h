/*
 * parameters.h: the arrays of numbers that training changes, and Adam (Kingma, Ba 2015),
 * which changes them.
 */
#ifndef MTS_COMPRESS_TRAIN_PARAMETERS_H
#define MTS_COMPRESS_TRAIN_PARAMETERS_H

#include "base/alloc.h"
#include "compress/net/net.h"

typedef enum mts_parameter {
    MTS_PARAMETER_WEIGHT,
    MTS_PARAMETER_SCALE,
    MTS_PARAMETER_BIAS,
    MTS_PARAMETER_SLOPE,
    MTS_PARAMETER_COUNT
} mts_parameter;

/* The array of a layer's parameter, or NULL; *count receives its elements. */
float *mts_parameter_of(const mts_net_layer *layer, const mts_graph *graph, uint32_t node,
                        mts_parameter which, size_t *count);

/* What keeps its values; both may be NULL. */
typedef struct mts_frozen {
    const bool *tasks;     /* [task]: as a whole */
    const uint32_t *nodes; /* [task]: so many nodes in front */
} mts_frozen;
bool mts_frozen_task(const mts_frozen *frozen, uint32_t task);
bool mts_frozen_node(const mts_frozen *frozen, uint32_t task, uint32_t node);

/* What a cell of weights is (bits). */
#define MTS_CELL_TIED 1u /* belongs to a tie */
#define MTS_CELL_KEPT 2u /* not changed by mts_parameter_step: another task's, or frozen */

typedef struct mts_parameter_array {
    uint32_t task, node;
    mts_parameter which;
    mts_net_layer layer;   /* of the net that is trained */
    size_t count, offset;  /* elements; where they begin among all of the task */
    float *values;         /* of the net */
    float unit;            /* the size of such numbers, see mts_parameter_measure */
    float *first, *second; /* moments */
    unsigned char *cells;  /* weights of a CONV: [outputs][inputs], else NULL */
} mts_parameter_array;

typedef struct mts_parameters {
    const mts_allocator *allocator;
    mts_arena arena;
    uint32_t count;
    mts_parameter_array *arrays;
    uint32_t *first;   /* [nets + 1]: of a net's first array */
    uint32_t **weight; /* [nets][node]: the array of the weights, or MTS_NONE (frozen); NULL: all frozen */
    size_t *elements;  /* [nets]: of all its arrays */
} mts_parameters;

/* Lists the arrays of nets[count] that are not frozen; nets[i] that are NULL have none.
 * False if memory is short; release in any case. */
bool mts_parameters_init(mts_parameters *parameters, mts_net *const *nets, uint32_t count,
                         const mts_frozen *frozen, const mts_allocator *allocator);
void mts_parameters_release(mts_parameters *parameters);

/* Copies parameters and touches what was copied. The target's graph is the source's with
   a part of the nodes at the end missing, or the other way round. */
void mts_parameters_copy(mts_net *target, const mts_net *source);
/* Whether all numbers are finite. */
bool mts_parameters_finite(const mts_parameter_array *array);

/*
 * Sets the unit, that networks of any scale take the same rate: the root mean square of
 * weights, scales and slopes, as they are; of a bias, the `reach` of what it is added to
 * (the root mean square of its node's output), as biases may well be zero.
 */
void mts_parameter_measure(mts_parameter_array *array, double reach);
/* Step `step` (from 1) of Adam by the gradients of an array, `rate` in units. Cells that
 * are KEPT are left out. */
void mts_parameter_step(const mts_parameter_array *array, const float *gradients, uint64_t step, float rate);

#endif

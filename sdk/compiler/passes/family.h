/*
 * family.h: what the steps of discovery know of one family of tasks, internal to
 * discover*.
 */
#ifndef MTS_COMPILER_PASSES_FAMILY_H
#define MTS_COMPILER_PASSES_FAMILY_H

#include "compiler/passes/channels.h"
#include "compiler/passes/classes.h"
#include "graph/align.h"

typedef struct mts_moved_labels {
    uint32_t *labels; /* NULL: none */
    uint32_t axis;
} mts_moved_labels;

typedef struct mts_family {
    mts_graph **graphs; /* [count], at most MTS_CLASS_TASKS_MAX; rewritten in place */
    uint32_t count;
    mts_arena *arena; /* of everything below */
    mts_alignment rows;
    mts_channels *channels; /* [graph] */
    mts_classes classes;
    uint32_t ***value_labels; /* [graph][value]: [channel] a class, or NULL: none */
    mts_moved_labels **moved; /* [graph][value]: labels that lie along another dimension than 1 */
    uint32_t ***row_labels;   /* [graph][node]: [weight row] a class, or NULL: none; CONV only */
    uint32_t ***orders;       /* [graph][group]: [channel] the one that comes here, or NULL: as it is */
} mts_family;

/* Node of a row in a task, or NULL. */
const mts_node *mts_family_node(const mts_family *family, uint32_t row, uint32_t task);
/* Weight of a convolution of one group that is one block, or NULL: what can be cut. */
mts_value *mts_family_weight(const mts_family *family, uint32_t row, uint32_t task);
/* The same of several groups, with more than one channel each: its rows cannot move. */
mts_value *mts_family_grouped_weight(const mts_family *family, uint32_t row, uint32_t task);

/*
 * The steps, in this order. All are false if memory is short.
 *
 * labels: walks from the inputs; gives channels and filters that tasks have in common
 * their classes. order: the common order of channels that makes shared channels
 * contiguous; nothing is moved yet. permute: moves channels of weights and labels into
 * that order. cut: cuts each convolution's weights into the blocks that save most.
 */
bool mts_family_label(mts_family *family);
bool mts_family_order(mts_family *family);
bool mts_family_permute_labels(mts_family *family);
bool mts_family_permute_weights(mts_family *family);
bool mts_family_cut(mts_family *family);
/* Bytes that cut would save; `moved`: the labels are in the new order already, the
   weights are not. */
bool mts_family_estimate(mts_family *family, bool moved, uint64_t *saved);

/* Labels of what only moves elements, where channels come from or go to another dimension. */
void mts_family_move_labels(mts_family *family, uint32_t task, const mts_node *node);
/* Classes of the filters of a convolution row over the channels that tasks have in
   common. */
bool mts_family_label_conv(mts_family *family, uint32_t row);

#endif

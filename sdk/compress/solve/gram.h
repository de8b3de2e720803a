/*
 * gram.h: sums of products of a layer's inputs with each other and with targets, over
 * many images: what every least-squares problem of a layer needs.
 *
 * A row is one output pixel: x = the receptive field [rows][columns][inputs] of a filter,
 * in the layout of mts_net_layer.weight, and y = the targets of all filters there. Sums
 * are kept about the mean in the end, so a bias needs no column. Accumulates in float32
 * per call and in float64 across calls.
 *
 * Of a convolution of several groups, each group has inputs of its own: `inputs` is the length
 * of a group's x, and the targets are those of the groups one after another.
 */
#ifndef MTS_COMPRESS_SOLVE_GRAM_H
#define MTS_COMPRESS_SOLVE_GRAM_H

#include "base/alloc.h"
#include "base/status.h"
#include "graph/graph.h"

typedef struct mts_gram {
    const mts_allocator *allocator;
    uint32_t inputs, targets; /* length of x and y */
    uint32_t groups;
    uint64_t rows;
    double *xx;    /* [groups][inputs][inputs], both triangles after mts_gram_finish */
    double *xy;    /* [targets][inputs] of the target's group */
    double *yy;    /* [targets]: of each target with itself */
    double *x, *y; /* sums, [groups][inputs] and [targets]; means after finish */
    float *scratch;
} mts_gram;

/* `groups` divides `targets`. False if memory is short; release in any case. */
bool mts_gram_init(mts_gram *gram, uint32_t inputs, uint32_t targets, uint32_t groups,
                   const mts_allocator *allocator);
/* What belongs to one group: arrays of gram's, from that group on. */
mts_gram mts_gram_group(const mts_gram *gram, uint32_t group);
void mts_gram_release(mts_gram *gram);
/*
 * Adds rows of `images` images: x is the input value [image][H][W][C] of a convolution
 * with these attributes (gram's groups; padding counts as zeros), y its targets
 * [image][OH][OW][targets]. Takes every `step`-th output pixel (1: all; the phase moves
 * with the image).
 */
void mts_gram_add(mts_gram *gram, const float *x, const mts_shape *x_shape, const mts_attrs_conv *attrs,
                  const float *y, const mts_shape *y_shape, uint32_t images, uint32_t step);
/* Turns sums into means, covariances (divided by rows) and fills the other triangle.
   INVALID_ARGUMENT: fewer than two rows, or a number that is not finite. */
mts_status mts_gram_finish(mts_gram *gram, mts_error *error);

#endif

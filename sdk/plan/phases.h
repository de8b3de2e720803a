/*
 * phases.h: the phases of a transposed convolution, each of which is a convolution of stride 1.
 *
 * Outputs that are a stride apart use the same kernel positions and neighbouring inputs:
 *
 *     output  0 1 2 3 4 5 ..   stride 2: phase 0 is outputs 0 2 4 .., phase 1 is 1 3 5 ..
 *     number q of a phase sums  input[q + offset + i * dilation] * weight[first - i * step]
 *                               over its taps i = 0, 1, .. count - 1
 *
 * along one axis; a phase of the image is one of each axis. Pure.
 */
#ifndef MTS_PLAN_PHASES_H
#define MTS_PLAN_PHASES_H

#include "stitch/stitch.h"

typedef struct mts_phase {
    uint32_t count;       /* of taps; 0: none, its outputs are the bias */
    uint32_t first, step; /* kernel position of tap 0, and how far below one tap the next one lies */
    uint32_t dilation;
    int32_t offset;
} mts_phase;

/* Phase `number`, below the stride, of axis 0 (rows) or 1 (columns). */
mts_phase mts_phase_of(const mts_attrs_conv *conv, int axis, uint32_t number);
/* Whether each phase has taps, and there are few enough phases for a job each. */
bool mts_phases_pay(const mts_attrs_conv *conv);

#endif

/*
 * kernels.h: the best kernel configuration of each layer, by measurement.
 */
#ifndef MTS_TUNE_KERNELS_H
#define MTS_TUNE_KERNELS_H

#include "tune/planning.h"

/*
 * Measures configurations for the layers of the plan decided so far, within what is left
 * of how.tuning_ms. Goes on where an earlier tuning of these layers ran out of time. What
 * was measured is cached in any case.
 */
mts_status mts_kernels_tune(mts_planning *p);

#endif

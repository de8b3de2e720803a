/*
 * measure.h: what units and copies cost on a device, measured there.
 *
 * Internal to sdk/pipeline.
 */
#ifndef MTS_PIPELINE_MEASURE_H
#define MTS_PIPELINE_MEASURE_H

#include "pipeline/placement.h"

/*
 * Fills unit_ms[units], milliseconds of each unit. All units are built and timed together;
 * where the device refuses that (memory, a layer that it cannot run), halves of them, and so
 * on: a unit that it refuses alone is INFINITY. Errors: DEVICE_LOST, CANCELLED,
 * OUT_OF_MEMORY of the host.
 */
mts_status mts_measure_units(const mts_units *units, mts_device *device, const mts_engine_options *options,
                             double *unit_ms, mts_error *error);
/* Copies to and from a device; zeros if it takes no buffer to measure with. */
mts_status mts_measure_copies(mts_device *device, mts_copy_cost *to, mts_copy_cost *from, mts_error *error);

#endif

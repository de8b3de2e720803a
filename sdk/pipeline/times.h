/*
 * times.h: what was measured on a device for a placement, kept beside plans and tunings
 * (tune/cache.h), so that a later session measures nothing.
 *
 * Internal to sdk/pipeline.
 */
#ifndef MTS_PIPELINE_TIMES_H
#define MTS_PIPELINE_TIMES_H

#include "pipeline/placement.h"

/*
 * Fills unit_ms[units], `to` and `from` of *costs with what an earlier session stored under
 * the same key: bundle, tasks, options, device, driver, library and kernels. False: there is
 * none, or what is there is not such, which is counted; unit_ms may have been written.
 */
bool mts_times_load(const mts_units *units, const mts_device *device, const mts_pipeline_options *options,
                    double *unit_ms, mts_device_costs *costs);
/* Does nothing where the device cannot run some unit. */
void mts_times_store(const mts_units *units, const mts_device *device, const mts_pipeline_options *options,
                     const mts_device_costs *costs);

#endif

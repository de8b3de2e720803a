/*
 * storage.c: what follows from the members of a storage, and which one is a value's dense
 * copy. Not responsible for laying one out (layout.c).
 */
#include "plan/plan.h"

#include "base/size.h"

bool mts_storage_is_dense(const mts_storage *storage)
{
    return storage->lanes == 0 && !storage->planes && storage->gap == 0 && storage->row == storage->dims[5] &&
           storage->pitch == storage->dims[4] * storage->dims[5];
}

uint32_t mts_storage_planes(const mts_storage *storage)
{
    return storage->dims[0] * storage->dims[1] * storage->dims[2] * mts_storage_channels(storage);
}

uint32_t mts_storage_channels(const mts_storage *storage)
{
    const uint32_t lanes = storage->lanes, channels = storage->dims[3];
    return MTS_HAS_PACKED && lanes > 0 ? mts_u32_ceil_div(channels, lanes) * lanes : channels;
}

uint32_t mts_plan_dense_copy(const mts_plan *plan, uint32_t value)
{
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        if (plan->conversions[i].value == value && !plan->conversions[i].space_to_depth &&
            !plan->conversions[i].part) {
            return i;
        }
    }
    return MTS_NONE;
}

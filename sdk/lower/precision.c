/*
 * precision.c: which precision is used, and its sizes.
 */
#include "lower/precision.h"

#include "plan/device_defaults.h"

mts_precision mts_precision_preferred(const mts_device_info *device)
{
    return device->half_products && mts_device_defaults_find(device)->half ? MTS_PRECISION_FLOAT16
                                                                           : MTS_PRECISION_FLOAT32;
}

mts_precision mts_precision_used(const mts_device_info *device, mts_precision wanted)
{
    return wanted == MTS_PRECISION_FLOAT16 && !device->half_products ? MTS_PRECISION_FLOAT16_STORAGE : wanted;
}

size_t mts_precision_size(mts_precision precision)
{
    return precision == MTS_PRECISION_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

uint64_t mts_precision_bytes(mts_precision precision, uint64_t elements)
{
    return (elements * mts_precision_size(precision) + 3) / 4 * 4;
}

const char *mts_precision_name(mts_precision precision)
{
    static const char *const names[MTS_PRECISION_COUNT] = {[MTS_PRECISION_FLOAT32] = "float32",
                                                           [MTS_PRECISION_FLOAT16_STORAGE] =
                                                               "float16-storage",
                                                           [MTS_PRECISION_FLOAT16] = "float16"};
    return names[precision];
}

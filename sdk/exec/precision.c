/*
 * precision.c: which precision is used, and its sizes.
 */
#include "exec/precision.h"

mts_precision_kind mts_precision_used(const mts_device_info *device, mts_precision_kind wanted)
{
    return wanted == MTS_PRECISION_KIND_FLOAT16 && !device->half_products ? MTS_PRECISION_KIND_FLOAT16_STORAGE
                                                                          : wanted;
}

size_t mts_precision_size(mts_precision_kind precision)
{
    return precision == MTS_PRECISION_KIND_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

uint64_t mts_precision_bytes(mts_precision_kind precision, uint64_t elements)
{
    return (elements * mts_precision_size(precision) + 3) / 4 * 4;
}

const char *mts_precision_name(mts_precision_kind precision)
{
    static const char *const names[MTS_PRECISION_KIND_COUNT] = {[MTS_PRECISION_KIND_FLOAT32] = "float32",
                                                                [MTS_PRECISION_KIND_FLOAT16_STORAGE] =
                                                                    "float16-storage",
                                                                [MTS_PRECISION_KIND_FLOAT16] = "float16"};
    return names[precision];
}

/*
 * storage.c: what follows from the members of a storage. Not responsible for laying one
 * out (layout.c).
 */
#include "plan/plan.h"

bool mts_storage_is_dense(const mts_storage *storage)
{
    return storage->gap == 0 && storage->row == storage->dims[5] &&
           storage->pitch == storage->dims[4] * storage->dims[5];
}

uint32_t mts_storage_planes(const mts_storage *storage)
{
    return storage->dims[0] * storage->dims[1] * storage->dims[2] * storage->dims[3];
}

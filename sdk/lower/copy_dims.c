/*
 * copy_dims.c: dimensions of copies. A work-item walks planes of rows, so that thousands
 * of planes of one number each, as a fully connected layer's result has, cost far more
 * than one row of them.
 */
#include "lower/copy_dims.h"

bool mts_dest_is_dense(const mts_dest_params *dest)
{
    return dest->gap == 0 && dest->tail == 0 && dest->row == dest->dims[5] &&
           dest->pitch == dest->dims[4] * dest->dims[5];
}

void mts_copy_join_dims(mts_copy_params *copy)
{
    mts_dest_params *dest = &copy->dest;
    if (!mts_dest_is_dense(dest)) {
        return;
    }
    uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 1, 1, 1};
    mts_i32 step[MTS_PARAM_RANK] = {0};
    int first = MTS_PARAM_RANK; /* of the dimensions that are found, the outermost */
    for (int i = MTS_PARAM_RANK; i-- > 0;) {
        const int64_t whole = first < MTS_PARAM_RANK ? (int64_t)step[first] * dims[first] : 0;
        if (dest->dims[i] == 1) {
            continue;
        }
        if (first < MTS_PARAM_RANK && copy->step[i] == whole) {
            dims[first] *= dest->dims[i];
        } else {
            first--;
            dims[first] = dest->dims[i];
            step[first] = copy->step[i];
        }
    }
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        dest->dims[i] = dims[i];
        copy->step[i] = step[i];
        copy->src.stride[i] = (mts_u32)step[i];
    }
    dest->row = dims[5];
    dest->pitch = dims[4] * dims[5];
}

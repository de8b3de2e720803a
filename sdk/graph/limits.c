/*
 * limits.c: see limits.h.
 */
#include "graph/limits.h"

mts_status mts_graph_check_shape(const mts_shape *shape, mts_error *error)
{
    if (shape->rank > MTS_TENSOR_RANK_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "rank %u is above %d", shape->rank, MTS_TENSOR_RANK_MAX);
    }
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim <= 0) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "dimension %u is %lld, not positive", i,
                            (long long)dim);
        }
        if (dim >= MTS_GRAPH_COUNT_MAX || count * dim >= MTS_GRAPH_COUNT_MAX) {
            return mts_fail(error, MTS_STATUS_LIMIT, "a tensor has 2^31 elements or more");
        }
        count *= dim;
    }
    return MTS_STATUS_OK;
}

/*
 * readers.c: how operators read their inputs, as far as shapes tell. Not responsible for
 * the layouts that follow from it (layout.c).
 */
#include "plan/plan.h"

bool mts_plan_by_rows(const mts_attrs_conv *conv, uint64_t width)
{
    const uint32_t dilation = conv->dilation[0];
    bool near = true; /* no row or column of taps lies in the padding alone */
    for (int i = 0; i < 4; i++) {
        near = near && conv->pad[i] < (int32_t)MTS_PLAN_ALIGN &&
               conv->pad[i] <= (int32_t)((conv->kernel[0] - 1) * dilation);
    }
    return near && conv->kernel[0] == conv->kernel[1] && (conv->kernel[0] == 3 || conv->kernel[0] == 5) &&
           conv->stride[0] == conv->stride[1] && (conv->stride[0] == 1 || conv->stride[0] == 2) &&
           conv->dilation[1] == dilation &&
           (dilation == 1 || (dilation < MTS_PLAN_ALIGN && conv->stride[0] == 1 && width > MTS_PLAN_ALIGN));
}

bool mts_plan_reads_dense(mts_op op)
{
    return op == MTS_OP_RESHAPE || op == MTS_OP_GATHER;
}

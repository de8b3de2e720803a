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

mts_variant mts_plan_variant(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    if (node->op != MTS_OP_CONV) {
        return MTS_VARIANT_NONE;
    }
    const mts_attrs_conv *conv = &node->attrs.conv;
    const int64_t *in = stitched->values[member->inputs[0]].shape.dims;
    const int64_t *out = stitched->values[member->output].shape.dims;
    if (conv->group == 1 && in[2] == 1 && in[3] == 1 && out[2] == 1 && out[3] == 1 && conv->kernel[0] == 1 &&
        conv->kernel[1] == 1 && conv->pad[0] == 0 && conv->pad[1] == 0) {
        return MTS_VARIANT_FC; /* with padding the one output pixel may lie outside the image */
    }
    return conv->group > 1 && conv->group == (uint64_t)in[1] ? MTS_VARIANT_DEPTHWISE : MTS_VARIANT_TILE;
}

/* Operators whose launch states the output in other dimensions than the value has: it is dense. */
bool mts_plan_changes_rank(const mts_node *node)
{
    return node->op == MTS_OP_RESHAPE || node->op == MTS_OP_GATHER ||
           (node->op == MTS_OP_REDUCE && node->attrs.reduce.keep == 0);
}

/* Last input coordinate that output coordinate out - 1 reaches, from the image's start; may be < 0. */
int64_t mts_plan_reach(const mts_attrs_conv *conv, int axis, int64_t out)
{
    return (out - 1) * conv->stride[axis] + (int64_t)(conv->kernel[axis] - 1) * conv->dilation[axis] -
           conv->pad[axis];
}

void mts_plan_mark_dense(const mts_stitched *stitched, bool *dense)
{
    for (uint32_t g = 0; g < stitched->graph_count; g++) {
        for (uint32_t o = 0; o < stitched->graphs[g]->output_count; o++) {
            const uint32_t value = stitched->value_of[g][stitched->graphs[g]->outputs[o].value];
            if (value != MTS_NONE) {
                dense[value] = true;
            }
        }
    }
    for (uint32_t m = 0; m < stitched->member_count; m++) {
        const mts_member *member = &stitched->members[m];
        const bool reads = mts_plan_reads_dense(mts_member_node(stitched, member)->op);
        for (uint32_t i = 0; reads && i < member->input_count; i++) {
            if (member->inputs[i] != MTS_NONE) {
                dense[member->inputs[i]] = true;
            }
        }
    }
}

bool mts_plan_fuses(const mts_plan *plan, uint32_t layer)
{
    const mts_fusion *fusion = plan->fusions ? &plan->fusions[layer] : NULL;
    return MTS_FUSES && fusion && fusion->depthwise != MTS_NONE && !fusion->reason;
}

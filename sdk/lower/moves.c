/*
 * moves.c: the passes that only move, resize or pool which sdk/plan could not do without.
 * The reasons follow the rules of plan/places.c, plan/transposes.c and plan/layout.c; they
 * decide nothing.
 */
#include "lower/moves.h"

#include "lower/layouts.h"

#if MTS_EXPLAINS_PLANS
/* Whether `axis` of a value are the channels of one image, whose planes follow each
   other. */
static bool are_channels(const mts_shape *shape, uint32_t axis)
{
    bool one = shape->rank >= 3 && axis == shape->rank - 3;
    for (uint32_t d = 0; one && d < axis; d++) {
        one = shape->dims[d] == 1;
    }
    return one;
}

static bool slices_channels(const mts_attrs_slice *slice, const mts_shape *from)
{
    for (uint32_t d = 0; d < from->rank; d++) {
        const bool whole = slice->start[d] == 0 && slice->size[d] == from->dims[d];
        if (slice->step[d] != 1 || (!whole && !are_channels(from, d))) {
            return false;
        }
    }
    return true;
}

static const char *layer_reason(const mts_stitched *s, const mts_layer *layer)
{
    const mts_member *member = &s->members[layer->first];
    const mts_attrs *attrs = &mts_member_node(s, member)->attrs;
    const mts_shape *shape = &s->values[member->output].shape;
    const mts_value *operand = mts_member_operand(s, member, 0);
    switch (layer->op) {
    case MTS_OP_CONCAT:
        return are_channels(shape, attrs->concat.axis)
                   ? "no operand can be written where the result lies"
                   : "along this axis operands do not lie one behind the other";
    case MTS_OP_SLICE:
        return operand && slices_channels(&attrs->slice, &operand->shape)
                   ? "the operand is dense, or the result an output or a constant's part"
                   : "only channels of one image are read where they lie";
    case MTS_OP_PAD:
        return attrs->pad.mode == MTS_PAD_CONSTANT && attrs->pad.value == 0.0f
                   ? "only zeros behind channels are written by the producer, and only its own"
                   : "only zeros are written by the producer";
    case MTS_OP_TRANSPOSE:
        return "a reader takes no other order of dimensions";
    case MTS_OP_GATHER:
        return "the indices are a list";
    case MTS_OP_TAKE:
        return "the indices are known when it runs";
    case MTS_OP_EXPAND:
        return "a reader does not repeat its operand";
    case MTS_OP_RESIZE:
        return "no reader interpolates what it loads";
    case MTS_OP_POOL:
        return "windows cross the tiles of the producer";
    default:
        return NULL;
    }
}

const char *mts_moves_reason(const mts_plan *plan, const mts_step *step)
{
    switch (step->kind) {
    case MTS_STEP_SPACE_TO_DEPTH:
        return plan->conversions[plan->order[step->first]].from != MTS_NONE
                   ? "a convolution of codes has a stride"
               : plan->conversions[plan->order[step->first]].codes
                   ? "a convolution multiplies bytes; the producer writes floats"
                   : "a convolution has a stride, or its operand is dense";
    case MTS_STEP_DENSE:
        return plan->conversions[plan->order[step->first]].part
                   ? "an operand is an input, an output, or lies in another concatenation"
                   : "a RESHAPE that changes rows, a GATHER or an output has to be dense";
    case MTS_STEP_INPUT:
        return "a reader does not read the caller's memory";
    default:
        return layer_reason(plan->stitched, &plan->stitched->layers[step->first]);
    }
}
#else
const char *mts_moves_reason(const mts_plan *plan, const mts_step *step)
{
    _Static_assert(MTS_OP_COUNT <= 64, "a bit each");
    static const uint64_t moving = UINT64_C(1) << MTS_OP_CONCAT | UINT64_C(1) << MTS_OP_SLICE |
                                   UINT64_C(1) << MTS_OP_PAD | UINT64_C(1) << MTS_OP_TRANSPOSE |
                                   UINT64_C(1) << MTS_OP_GATHER | UINT64_C(1) << MTS_OP_TAKE |
                                   UINT64_C(1) << MTS_OP_EXPAND;
    const bool moves =
        step->kind != MTS_STEP_LAYER || (moving >> plan->stitched->layers[step->first].op & 1) != 0;
    return moves ? "its neighbours do not" : NULL;
}
#endif

/*
 * codes.c: see codes.h. Not responsible for which values have codes (bytes.c).
 */
#include "plan/codes.h"

static void link_conversion(mts_plan *plan, uint32_t conversion)
{
    const mts_stitched *s = plan->stitched;
    mts_conversion *c = &plan->conversions[conversion];
    const uint32_t producer = s->values[c->value].member;
    if (!c->codes || c->stride[0] != 1 || c->stride[1] != 1 || producer == MTS_NONE ||
        plan->members[producer].variant != MTS_VARIANT_BYTES || !mts_bytes_stores(s, &s->members[producer])) {
        return;
    }
    c->producer = producer;
    c->made = true;
    plan->members[producer].codes_conversion = conversion;
    plan->members[producer].bare = true; /* until a reader of the output itself is met */
}

static void clear_bare(mts_plan *plan, uint32_t value)
{
    const uint32_t producer = value != MTS_NONE ? plan->stitched->values[value].member : MTS_NONE;
    if (producer != MTS_NONE) {
        plan->members[producer].bare = false;
    }
}

void mts_codes_link(mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        link_conversion(plan, i);
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        const mts_member *member = &s->members[m];
        const uint32_t read = plan->members[m].input_conversion;
        const bool codes = read != MTS_NONE && plan->conversions[read].producer != MTS_NONE;
        for (uint32_t i = codes ? 1 : 0; i < member->input_count; i++) {
            clear_bare(plan, member->inputs[i]);
        }
    }
    for (uint32_t g = 0; g < s->graph_count; g++) {
        for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
            clear_bare(plan, s->value_of[g][s->graphs[g]->outputs[o].value]);
        }
    }
}

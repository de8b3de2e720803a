/*
 * step_cost.c: what a step costs beside its launch. An estimate that only decides about
 * orders.
 */
#include "plan/plan.h"

/* Of each number that a step touches, in multiply-adds. */
#define TOUCH_COST 4u

uint64_t mts_step_cost(const mts_plan *plan, const mts_step *step)
{
    const mts_stitched *s = plan->stitched;
    uint64_t cost = 0;
    for (uint32_t i = 0; i < step->uses; i++) {
        cost += TOUCH_COST * plan->storages[plan->uses[step->use + i].storage].floats;
    }
    const mts_fusion *fusion = step->kind == MTS_STEP_LAYER ? &plan->fusions[step->first] : NULL;
    const bool fused = fusion && mts_plan_fuses(plan, step->first);
    const uint32_t layers[] = {fusion ? step->first : MTS_NONE, fused ? fusion->depthwise : MTS_NONE,
                               fused ? fusion->expand : MTS_NONE};
    for (int i = 0; i < 3 && layers[i] != MTS_NONE; i++) {
        const mts_layer *layer = &s->layers[layers[i]];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            const mts_member *member = &s->members[m];
            cost += mts_node_mul_adds(s->graphs[member->graph], mts_member_node(s, member));
        }
    }
    return cost;
}

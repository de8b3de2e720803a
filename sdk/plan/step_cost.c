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
    if (step->kind == MTS_STEP_LAYER) {
        const mts_layer *layer = &s->layers[step->first];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            const mts_member *member = &s->members[m];
            cost += mts_node_mul_adds(s->graphs[member->graph], mts_member_node(s, member));
        }
    }
    return cost;
}

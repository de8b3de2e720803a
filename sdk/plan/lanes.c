/*
 * lanes.c: dealing groups out to lanes, and placing the lanes one behind the other.
 */
#include "plan/lanes.h"
#include "plan/budget.h"

#include <string.h>

/* Of a launch, in multiply-adds. */
#define LAUNCH_COST 50000u

typedef struct lanes {
    const mts_plan *plan;
    mts_arena *arena;
    /* Lanes that groups are dealt to. */
    uint32_t count;
    uint64_t *group_cost, *lane_cost;
    uint32_t *group_lane;
    /* Per storage: its lane; lane `count`: several use it; MTS_NONE: none does. */
    uint32_t *storage_lane;
    /* The spans of one lane. */
    mts_span *own;
} lanes;

/* Deals the groups out to `count` lanes. */
static void deal(lanes *l, uint32_t count)
{
    const uint32_t groups = l->plan->stitched->group_count;
    l->count = count;
    memset(l->lane_cost, 0, count * sizeof *l->lane_cost);
    memset(l->group_lane, 0xff, groups * sizeof *l->group_lane);
    for (uint32_t dealt = 0; dealt < groups; dealt++) {
        uint32_t most = MTS_NONE;
        uint32_t lane = 0;
        for (uint32_t g = 0; g < groups; g++) {
            const bool better = most == MTS_NONE || l->group_cost[g] > l->group_cost[most];
            most = l->group_lane[g] == MTS_NONE && better ? g : most;
        }
        for (uint32_t i = 1; i < count; i++) {
            lane = l->lane_cost[i] < l->lane_cost[lane] ? i : lane;
        }
        l->group_lane[most] = lane;
        l->lane_cost[lane] += l->group_cost[most];
    }
    memset(l->storage_lane, 0xff, l->plan->storage_count * sizeof *l->storage_lane);
    for (uint32_t i = 0; i < l->plan->use_count; i++) {
        const mts_storage_use *use = &l->plan->uses[i];
        const uint32_t host = l->plan->storages[use->storage].host;
        const uint32_t group = l->plan->steps[use->step].group;
        const uint32_t to = group == MTS_NONE ? count : l->group_lane[group];
        uint32_t *of = &l->storage_lane[host != MTS_NONE ? host : use->storage];
        *of = *of == MTS_NONE || *of == to ? to : count;
    }
}

/* One lane behind the other. */
static mts_status place(const lanes *l, mts_span *spans, uint64_t *peak, mts_error *error)
{
    const uint32_t storages = l->plan->storage_count;
    mts_status status = MTS_STATUS_OK;
    *peak = 0;
    for (uint32_t lane = 0; status == MTS_STATUS_OK && lane <= l->count; lane++) {
        const uint64_t begin = (*peak + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
        uint64_t end = 0;
        memcpy(l->own, spans, storages * sizeof *spans);
        for (uint32_t i = 0; i < storages; i++) {
            l->own[i].size = l->storage_lane[i] == lane ? spans[i].size : 0;
        }
        status = mts_arena_place(l->own, storages, MTS_PLAN_ALIGN, l->arena->allocator, &end, error);
        for (uint32_t i = 0; i < storages; i++) {
            spans[i].offset = l->storage_lane[i] == lane ? begin + l->own[i].offset : spans[i].offset;
        }
        *peak = end > 0 ? begin + end : *peak;
    }
    return status;
}

static mts_status open(lanes *l, uint32_t most, mts_error *error)
{
    const mts_plan *plan = l->plan;
    const uint32_t groups = plan->stitched->group_count;
    l->group_cost = mts_arena_zero(l->arena, groups, sizeof *l->group_cost);
    l->lane_cost = mts_arena_zero(l->arena, most, sizeof *l->lane_cost);
    l->group_lane = mts_arena_zero(l->arena, groups, sizeof *l->group_lane);
    l->storage_lane = mts_arena_zero(l->arena, plan->storage_count, sizeof *l->storage_lane);
    l->own = mts_arena_zero(l->arena, plan->storage_count, sizeof *l->own);
    if (!l->group_cost || !l->lane_cost || !l->group_lane || !l->storage_lane || !l->own) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const uint32_t group = plan->steps[i].group;
        if (group != MTS_NONE) {
            l->group_cost[group] += LAUNCH_COST + mts_step_cost(plan, &plan->steps[i]);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_lanes_place(const mts_plan *plan, const mts_lanes_limits *limits, mts_span *spans,
                           mts_arena *arena, uint64_t *peak, mts_error *error)
{
    const uint32_t groups = plan->stitched->group_count;
    lanes l = {.plan = plan, .arena = arena};
    uint64_t least = 0;
    mts_status status =
        mts_arena_place(spans, plan->storage_count, MTS_PLAN_ALIGN, arena->allocator, &least, error);
    *peak = least;
    const uint32_t most = limits->lanes < groups ? limits->lanes : groups;
    const uint64_t spare = limits->spare + mts_memory_spare(least);
    if (status != MTS_STATUS_OK || most < 2) {
        return status;
    }
    status = open(&l, most, error);
    bool fits = false;
    /* each trial places all storages: many lanes become fewer in large steps */
    for (uint32_t count = most; status == MTS_STATUS_OK && !fits && count > 1;
         count -= count > 8 ? count / 4 : 1) {
        deal(&l, count);
        status = place(&l, spans, peak, error);
        fits = *peak <= limits->peak && (*peak <= least || *peak - least <= spare);
    }
    if (status == MTS_STATUS_OK && !fits) {
        status = mts_arena_place(spans, plan->storage_count, MTS_PLAN_ALIGN, arena->allocator, peak, error);
    }
    return status;
}

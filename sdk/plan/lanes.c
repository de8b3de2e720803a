/*
 * lanes.c: dealing groups out to lanes, and placing the lanes one behind the other.
 */
#include "plan/lanes.h"
#include "plan/budget.h"

#include <string.h>

/* Of a launch, in multiply-adds. */
#define LAUNCH_COST 50000u
#define TRIALS 8

typedef struct lanes {
    const mts_plan *plan;
    mts_arena *arena;
    /* Lanes that groups are dealt to. */
    uint32_t count;
    /* Per group: floats of its own storages, placed alone. */
    uint64_t *group_peak;
    uint64_t *group_cost, *lane_cost, *lane_peak;
    uint32_t *group_lane;
    /* Per storage: its lane; lane `count`: several use it; MTS_NONE: none does. */
    uint32_t *storage_lane;
    /* The spans of one lane. */
    mts_span *own;
} lanes;

static uint64_t aligned(uint64_t floats)
{
    return (floats + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
}

/* The group with most of `values` among those that no lane has. */
static uint32_t find_most(const lanes *l, const uint64_t *values)
{
    uint32_t most = MTS_NONE;
    for (uint32_t g = 0; g < l->plan->stitched->group_count; g++) {
        const bool better = most == MTS_NONE || values[g] > values[most];
        most = l->group_lane[g] == MTS_NONE && better ? g : most;
    }
    return most;
}

/* What a lane would grow by with a group. */
static uint64_t growth(const lanes *l, uint32_t lane, uint32_t group)
{
    return l->group_peak[group] > l->lane_peak[lane] ? l->group_peak[group] - l->lane_peak[lane] : 0;
}

static void give(lanes *l, uint32_t group, uint32_t lane)
{
    l->lane_peak[lane] += growth(l, lane, group);
    l->lane_cost[lane] += l->group_cost[group];
    l->group_lane[group] = lane;
}

/*
 * Deals the groups out to `count` lanes, which take at most `spare` floats beside the
 * largest group. That one begins the first lane, where all others find room; then the
 * group of most cost goes to the lane of least cost among those that it has room in.
 */
static void deal(lanes *l, uint32_t count, uint64_t spare)
{
    const uint32_t groups = l->plan->stitched->group_count;
    l->count = count;
    memset(l->lane_cost, 0, count * sizeof *l->lane_cost);
    memset(l->lane_peak, 0, count * sizeof *l->lane_peak);
    memset(l->group_lane, 0xff, groups * sizeof *l->group_lane);
    give(l, find_most(l, l->group_peak), 0);
    for (uint32_t dealt = 1; dealt < groups; dealt++) {
        const uint32_t group = find_most(l, l->group_cost);
        uint32_t lane = 0;
        for (uint32_t i = 1; i < count; i++) {
            const bool has_room = growth(l, i, group) <= spare;
            lane = has_room && l->lane_cost[i] < l->lane_cost[lane] ? i : lane;
        }
        spare -= growth(l, lane, group);
        give(l, group, lane);
    }
}

/* Of each storage the lane of the groups that use it. */
static void find_storage_lanes(lanes *l)
{
    const uint32_t count = l->count;
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
        const uint64_t begin = aligned(*peak);
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

/* group_peak: the most that lives of a group at a time. The arena needs that or a little
   more. `live`: [step_count + 1]. */
static void find_peaks(lanes *l, const mts_span *spans, uint64_t *live)
{
    const mts_plan *plan = l->plan;
    const uint32_t groups = plan->stitched->group_count;
    for (uint32_t g = 0; g < groups; g++) {
        l->group_lane[g] = g;
    }
    l->count = groups;
    find_storage_lanes(l);
    for (uint32_t g = 0; g < groups; g++) {
        memset(live, 0, ((size_t)plan->step_count + 1) * sizeof *live);
        for (uint32_t i = 0; i < plan->storage_count; i++) {
            if (l->storage_lane[i] == g && spans[i].size > 0) {
                const uint64_t size = aligned(spans[i].size);
                live[spans[i].first] += size;
                live[spans[i].last + 1] -= size;
            }
        }
        for (uint32_t i = 0; i < plan->step_count; i++) {
            live[i + 1] += live[i];
            l->group_peak[g] = live[i] > l->group_peak[g] ? live[i] : l->group_peak[g];
        }
    }
}

static mts_status open(lanes *l, uint32_t most, const mts_span *spans, mts_error *error)
{
    const mts_plan *plan = l->plan;
    const uint32_t groups = plan->stitched->group_count;
    uint64_t *live = mts_arena_zero(l->arena, (size_t)plan->step_count + 1, sizeof *live);
    l->group_peak = mts_arena_zero(l->arena, groups, sizeof *l->group_peak);
    l->group_cost = mts_arena_zero(l->arena, groups, sizeof *l->group_cost);
    l->lane_cost = mts_arena_zero(l->arena, most, sizeof *l->lane_cost);
    l->lane_peak = mts_arena_zero(l->arena, most, sizeof *l->lane_peak);
    l->group_lane = mts_arena_zero(l->arena, groups, sizeof *l->group_lane);
    l->storage_lane = mts_arena_zero(l->arena, plan->storage_count, sizeof *l->storage_lane);
    l->own = mts_arena_zero(l->arena, plan->storage_count, sizeof *l->own);
    if (!live || !l->group_peak || !l->group_cost || !l->lane_cost || !l->lane_peak || !l->group_lane ||
        !l->storage_lane || !l->own) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const uint32_t group = plan->steps[i].group;
        if (group != MTS_NONE) {
            l->group_cost[group] += LAUNCH_COST + mts_step_cost(plan, &plan->steps[i]);
        }
    }
    find_peaks(l, spans, live);
    return MTS_STATUS_OK;
}

/* Whether groups are in another lane than the first. */
static bool has_lanes(const lanes *l)
{
    bool others = false;
    for (uint32_t i = 1; i < l->count; i++) {
        others = others || l->lane_cost[i] > 0;
    }
    return others;
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
    const uint64_t allowed = least + limits->spare + mts_memory_spare(least);
    const uint64_t end = allowed < limits->peak ? allowed : limits->peak;
    uint64_t spare = end > least ? end - least : 0;
    if (status != MTS_STATUS_OK || most < 2 || spare == 0) {
        return status;
    }
    status = open(&l, most, spans, error);
    bool fits = false;
    bool left = true;
    /* placed, lanes may take a little more than what lives in them: then they get less */
    for (int trial = 0; status == MTS_STATUS_OK && !fits && left && trial < TRIALS; trial++) {
        deal(&l, most, spare);
        left = has_lanes(&l);
        find_storage_lanes(&l);
        status = left ? place(&l, spans, peak, error) : MTS_STATUS_OK;
        fits = left && *peak <= end;
        spare -= fits || *peak - end > spare ? spare : *peak - end;
    }
    if (status == MTS_STATUS_OK && !fits) {
        status = mts_arena_place(spans, plan->storage_count, MTS_PLAN_ALIGN, arena->allocator, peak, error);
    }
    return status;
}

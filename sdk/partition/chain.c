/*
 * chain.c: the dynamic program. A state is a set of devices that are in use and a position
 * up to which all units have a stage; it is reached from each set without one of its
 * devices, at each earlier position.
 */
#include "partition/chain.h"

#include <math.h>
#include <string.h>

#include "partition/segments.h"

/* What a chain up to a position costs, the more important number first. */
typedef struct chain_cost {
    double first, second;
} chain_cost;

/* How a state is reached best. */
typedef struct state {
    chain_cost cost;
    uint8_t device;
    uint16_t from; /* the position where its last stage begins */
    bool reached;
} state;

typedef struct search {
    const mts_units *units;
    const mts_device_costs *devices;
    uint32_t device_count;
    mts_chain_goal goal;
    mts_chain_memory memory;
    uint32_t positions;    /* with both ends */
    uint32_t *at;          /* [position]: the unit that a stage begins with there */
    mts_segment *segments; /* [from][to] */
    double *sums;          /* [device][position]: of the units before it */
    uint32_t *impossible;  /* [device][position]: how many of them the device cannot run */
    bool *refused;         /* [device][from][to] */
    state *states;         /* [set][position] */
} search;

double mts_chain_stage_ms(const mts_chain_stage *stage)
{
    return stage->compute_ms + stage->in_ms + stage->out_ms;
}

static double copy_ms(const mts_copy_cost *each, uint32_t copies, uint64_t bytes)
{
    return (double)copies * each->ms + (double)bytes * each->ms_per_byte;
}

static void price(const mts_device_costs *device, const mts_segment *segment, double units_ms,
                  mts_chain_stage *stage)
{
    stage->compute_ms = units_ms + device->run_ms;
    stage->in_ms = copy_ms(&device->to, segment->copies_in, segment->bytes_in);
    stage->out_ms = copy_ms(&device->from, segment->copies_out, segment->bytes_out);
    stage->bytes_in = segment->bytes_in;
    stage->bytes_out = segment->bytes_out;
    stage->memory = segment->memory;
}

static void chain_total(mts_chain *chain)
{
    chain->slowest_ms = chain->total_ms = 0.0;
    for (uint32_t s = 0; s < chain->stage_count; s++) {
        const double ms = mts_chain_stage_ms(&chain->stages[s]);
        chain->slowest_ms = fmax(chain->slowest_ms, ms);
        chain->total_ms += ms;
    }
}

mts_status mts_chain_price(const mts_units *units, const mts_device_costs *devices, mts_arena *scratch,
                           mts_chain *chain, mts_error *error)
{
    mts_segment_walk walk;
    const mts_status status = mts_segment_walk_make(units, scratch, &walk, error);
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < chain->stage_count; s++) {
        mts_chain_stage *stage = &chain->stages[s];
        double ms = 0.0;
        mts_segment_walk_begin(&walk, stage->first);
        while (walk.end < stage->end) {
            ms += devices[stage->device].unit_ms[walk.end];
            mts_segment_walk_step(&walk);
        }
        price(&devices[stage->device], &walk.now, ms, stage);
    }
    if (status == MTS_STATUS_OK) {
        chain_total(chain);
    }
    return status;
}

/* ---- positions ---- */

/* Bytes that cross each position: of values computed before it and read behind it. */
static uint64_t *count_crossing(const mts_units *u, mts_arena *arena)
{
    uint64_t *bytes = mts_arena_zero(arena, (size_t)u->count + 2, sizeof *bytes);
    for (uint32_t v = 0; bytes && v < u->value_count; v++) {
        const mts_unit_value *value = &u->values[v];
        if (value->last_reader != MTS_NONE) { /* bytes[] holds differences first */
            const uint32_t from = value->unit == MTS_NONE ? 0 : value->unit + 1;
            if (from <= value->last_reader) {
                bytes[from] += value->bytes;
                bytes[value->last_reader + 1] -= value->bytes;
            }
        }
    }
    for (uint32_t p = 1; bytes && p <= u->count; p++) {
        bytes[p] += bytes[p - 1];
    }
    return bytes;
}

/* All positions, or in each of so many parts of equal work the one that least crosses. */
static mts_status choose_positions(search *s, mts_arena *arena, mts_error *error)
{
    const mts_units *u = s->units;
    const uint32_t most = MTS_PARTITION_POSITIONS;
    const uint64_t *crossing = count_crossing(u, arena);
    s->at = mts_arena_zero(arena, (size_t)most + 2, sizeof *s->at);
    if (!crossing || !s->at) {
        return mts_fail_memory(error);
    }
    double all = 0.0;
    for (uint32_t i = 0; i < u->count; i++) {
        all += mts_units_work(u, i);
    }
    double done = 0.0;
    uint32_t part = MTS_NONE;
    s->positions = 1; /* position 0 is unit 0 */
    for (uint32_t i = 1; i < u->count; i++) {
        done += mts_units_work(u, i - 1);
        const uint32_t mine =
            u->count <= most || all <= 0.0 ? i : (uint32_t)(done / all * (double)(most - 1));
        if (mine != part && s->positions <= most) {
            part = mine;
            s->at[s->positions++] = i;
        } else if (crossing[i] < crossing[s->at[s->positions - 1]]) {
            s->at[s->positions - 1] = i;
        }
    }
    s->at[s->positions++] = u->count;
    return MTS_STATUS_OK;
}

static mts_status measure_segments(search *s, mts_arena *arena, mts_error *error)
{
    mts_segment_walk walk;
    s->segments = mts_arena_zero(arena, (size_t)s->positions * s->positions, sizeof *s->segments);
    mts_status status = s->segments ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, mts_segment_walk_make(s->units, arena, &walk, error));
    for (uint32_t i = 0; status == MTS_STATUS_OK && i + 1 < s->positions; i++) {
        mts_segment_walk_begin(&walk, s->at[i]);
        for (uint32_t j = i + 1; j < s->positions; j++) {
            while (walk.end < s->at[j]) {
                mts_segment_walk_step(&walk);
            }
            s->segments[(size_t)i * s->positions + j] = walk.now;
        }
    }
    return status;
}

static mts_status sum_units(search *s, mts_arena *arena, mts_error *error)
{
    s->sums = mts_arena_zero(arena, (size_t)s->device_count * s->positions, sizeof *s->sums);
    s->impossible = mts_arena_zero(arena, (size_t)s->device_count * s->positions, sizeof *s->impossible);
    if (!s->sums || !s->impossible) {
        return mts_fail_memory(error);
    }
    for (uint32_t d = 0; d < s->device_count; d++) {
        double *sums = s->sums + (size_t)d * s->positions;
        uint32_t *impossible = s->impossible + (size_t)d * s->positions;
        for (uint32_t p = 1; p < s->positions; p++) {
            sums[p] = sums[p - 1];
            impossible[p] = impossible[p - 1];
            for (uint32_t unit = s->at[p - 1]; unit < s->at[p]; unit++) {
                const double ms = s->devices[d].unit_ms[unit];
                if (isfinite(ms)) {
                    sums[p] += ms;
                } else {
                    impossible[p]++;
                }
            }
        }
    }
    return MTS_STATUS_OK;
}

/* The position of a unit that stages begin or end at. */
static size_t find_position(const search *s, uint32_t unit)
{
    uint32_t low = 0;
    uint32_t high = s->positions - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        low = s->at[middle] < unit ? middle + 1 : low;
        high = s->at[middle] < unit ? high : middle;
    }
    return low;
}

static mts_status list_refusals(search *s, mts_arena *arena, mts_error *error)
{
    const size_t pairs = (size_t)s->positions * s->positions;
    s->refused = mts_arena_zero(arena, s->device_count * pairs, sizeof *s->refused);
    if (!s->refused) {
        return mts_fail_memory(error);
    }
    for (uint32_t d = 0; d < s->device_count; d++) {
        for (uint32_t i = 0; i < s->devices[d].refusal_count; i++) {
            const mts_chain_refusal *refusal = &s->devices[d].refusals[i];
            const size_t from = find_position(s, refusal->first);
            const size_t to = find_position(s, refusal->end);
            s->refused[d * pairs + from * s->positions + to] = true;
        }
    }
    return MTS_STATUS_OK;
}

/* ---- the search ---- */

static uint64_t memory_of(const search *s, const mts_device_costs *device, const mts_segment *segment)
{
    const uint64_t in = device->reads_in_place ? 0 : segment->held_in;
    const uint64_t held = in > segment->held_out ? in : segment->held_out;
    return s->memory == MTS_CHAIN_LEAST ? segment->weights + held : segment->memory;
}

/* Whether units between two positions can be a stage of a device; then all of it. */
static bool make_stage(const search *s, uint32_t device, uint32_t from, uint32_t to, mts_chain_stage *out)
{
    const size_t row = (size_t)device * s->positions;
    const mts_device_costs *costs = &s->devices[device];
    const mts_segment *segment = &s->segments[(size_t)from * s->positions + to];
    if (s->impossible[row + to] != s->impossible[row + from] ||
        s->refused[(row + from) * s->positions + to] ||
        (costs->memory != 0 && memory_of(s, costs, segment) > costs->memory)) {
        return false;
    }
    *out = (mts_chain_stage){.device = device, .first = s->at[from], .end = s->at[to]};
    price(costs, segment, s->sums[row + to] - s->sums[row + from], out);
    return true;
}

static chain_cost extend(const search *s, const chain_cost *before, double ms)
{
    const bool throughput = s->goal == MTS_CHAIN_THROUGHPUT;
    const double slowest = fmax(throughput ? before->first : before->second, ms);
    const double sum = (throughput ? before->second : before->first) + ms;
    return throughput ? (chain_cost){slowest, sum} : (chain_cost){sum, slowest};
}

static bool is_less(const chain_cost *a, const chain_cost *b)
{
    return a->first < b->first || (!(b->first < a->first) && a->second < b->second);
}

static void reach(search *s, uint32_t set, uint32_t device, uint32_t from, uint32_t to)
{
    const state *before = &s->states[(size_t)(set & ~(1u << device)) * s->positions + from];
    state *after = &s->states[(size_t)set * s->positions + to];
    mts_chain_stage stage;
    if (!before->reached || !make_stage(s, device, from, to, &stage)) {
        return;
    }
    const chain_cost with = extend(s, &before->cost, mts_chain_stage_ms(&stage));
    if (!after->reached || is_less(&with, &after->cost)) {
        *after = (state){.cost = with, .device = (uint8_t)device, .from = (uint16_t)from, .reached = true};
    }
}

static mts_status run_search(search *s, mts_arena *arena, mts_error *error)
{
    const uint32_t sets = 1u << s->device_count;
    s->states = mts_arena_zero(arena, (size_t)sets * s->positions, sizeof *s->states);
    if (!s->states) {
        return mts_fail_memory(error);
    }
    s->states[0].reached = true;
    for (uint32_t set = 1; set < sets; set++) {
        for (uint32_t d = 0; d < s->device_count; d++) {
            for (uint32_t to = 1; (set >> d & 1u) != 0 && to < s->positions; to++) {
                for (uint32_t from = 0; from < to; from++) {
                    reach(s, set, d, from, to);
                }
            }
        }
    }
    return MTS_STATUS_OK;
}

/* No chain: because of a unit that no device runs, or of memory. */
static mts_status refuse(const search *s, mts_error *error)
{
    for (uint32_t p = 1; p < s->positions; p++) {
        bool possible = false;
        for (uint32_t d = 0; d < s->device_count; d++) {
            const uint32_t *impossible = s->impossible + (size_t)d * s->positions;
            possible = possible || impossible[p] == impossible[p - 1];
        }
        if (!possible) {
            return mts_fail(error, MTS_STATUS_LIMIT, "no device of the session can run units %u to %u of %u",
                            s->at[p - 1], s->at[p], s->units->count);
        }
    }
    return mts_fail(error, MTS_STATUS_LIMIT,
                    "no cut of the %u units keeps the memory of the session's %u devices", s->units->count,
                    s->device_count);
}

static mts_status read_back(const search *s, mts_chain *out, mts_error *error)
{
    const uint32_t last = s->positions - 1;
    uint32_t best = 0;
    for (uint32_t set = 1; set < 1u << s->device_count; set++) {
        const state *one = &s->states[(size_t)set * s->positions + last];
        const state *other = &s->states[(size_t)best * s->positions + last];
        if (one->reached && (best == 0 || is_less(&one->cost, &other->cost))) {
            best = set;
        }
    }
    if (best == 0) {
        return refuse(s, error);
    }
    out->stage_count = 0;
    for (uint32_t set = best, at = last; at > 0;) {
        const state *one = &s->states[(size_t)set * s->positions + at];
        memmove(&out->stages[1], &out->stages[0], out->stage_count * sizeof out->stages[0]);
        (void)make_stage(s, one->device, one->from, at, &out->stages[0]);
        out->stage_count++;
        set &= ~(1u << one->device);
        at = one->from;
    }
    chain_total(out);
    return MTS_STATUS_OK;
}

mts_status mts_chain_find(const mts_units *units, const mts_device_costs *devices, uint32_t device_count,
                          mts_chain_goal goal, mts_chain_memory memory, const mts_allocator *allocator,
                          mts_chain *out, mts_error *error)
{
    mts_arena arena;
    search s = {
        .units = units, .devices = devices, .device_count = device_count, .goal = goal, .memory = memory};
    *out = (mts_chain){0};
    mts_arena_init(&arena, allocator);
    mts_status status = choose_positions(&s, &arena, error);
    MTS_TRY(status, measure_segments(&s, &arena, error));
    MTS_TRY(status, sum_units(&s, &arena, error));
    MTS_TRY(status, list_refusals(&s, &arena, error));
    MTS_TRY(status, run_search(&s, &arena, error));
    MTS_TRY(status, read_back(&s, out, error));
    mts_arena_release(&arena);
    return status;
}

/*
 * wave_steps.c: the graph of a plan's steps, and a plan in the order of its waves.
 */
#include "plan/wave_steps.h"

#include <string.h>

#include "device/kernel.h"
#include "plan/budget.h"
#include "plan/device_defaults.h"

/* Waves that save less than one part in so many of a frame are not worth another
   order. */
#define GAIN_PARTS 50u
/* A schedule that takes at most one part in so many longer than another one may be taken
   for the memory that it saves. */
#define MEMORY_PARTS 200u
#define TRIALS 4u /* schedules for a number of groups at a time */

typedef struct ordering {
    mts_plan *plan;
    mts_arena *arena;
    mts_wave_request request;
    mts_dependencies after;
    /* By the model, with a launch for each step. */
    uint64_t time;
    /* Elements of the arena at most. */
    uint64_t most;
    mts_error *error;
} ordering;

/* ---- the graph ---- */

/* Every storage lies alone in an address space of the graph; parts lie in their hosts. So
 * only data, and storages that are written again, order steps: the arena is placed later.
 */
static mts_status find_dependencies(ordering *o)
{
    const mts_plan *plan = o->plan;
    size_t *begin = mts_arena_zero(o->arena, plan->storage_count, sizeof *begin);
    mts_access *accesses = mts_arena_zero(o->arena, plan->use_count, sizeof *accesses);
    mts_launch *launches = mts_arena_zero(o->arena, plan->step_count, sizeof *launches);
    size_t end = 0;
    if (!begin || !accesses || !launches) {
        return mts_fail_memory(o->error);
    }
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        begin[i] = end;
        end += plan->storages[i].host == MTS_NONE ? (size_t)plan->storages[i].floats : 0;
    }
    for (uint32_t i = 0; i < plan->use_count; i++) {
        const mts_storage *s = &plan->storages[plan->uses[i].storage];
        const size_t at = s->host == MTS_NONE ? begin[plan->uses[i].storage] : begin[s->host] + (size_t)s->at;
        accesses[i] =
            (mts_access){.begin = at, .end = at + (size_t)s->floats, .writes = plan->uses[i].writes};
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        launches[i].accesses = accesses + plan->steps[i].use;
        launches[i].access_count = plan->steps[i].uses;
    }
    return mts_dependencies_find(launches, plan->step_count, o->arena->allocator, &o->after, o->error);
}

uint64_t mts_wave_rate(const mts_device_info *device)
{
    enum { GPU_MUL_ADDS = 64, CLOCK = 3 };
    return device->is_gpu ? GPU_MUL_ADDS : (uint64_t)device->vector_floats * CLOCK;
}

/*
 * Only the order of magnitude matters. A GPU's tiles are cut as fine as its units need
 * (lower/encode_tile.c): this is the least. Where it is known how many waves a unit needs to
 * hide what memory takes, it is what these compute of packs, a pack each: less takes a unit as
 * long.
 */
uint32_t mts_wave_tile(const mts_device_info *device)
{
    enum { GPU_TILE = 128, PROCESSOR_TILE = 2048 };
    uint32_t unit = 0;
#if MTS_HAS_PACKED
    const mts_device_defaults *row = mts_device_defaults_find(device);
    unit = row->packed ? mts_device_wave(device) * row->waves * MTS_CHANNEL_PACK : 0;
#endif
    return !device->is_gpu ? PROCESSOR_TILE : unit > GPU_TILE ? unit : GPU_TILE;
}

uint64_t mts_wave_tiles(const mts_plan *plan, const mts_step *step, uint32_t tile)
{
    uint64_t elements = 0;
    for (uint32_t i = 0; i < step->uses; i++) {
        const mts_storage_use *use = &plan->uses[step->use + i];
        elements += use->writes ? plan->storages[use->storage].floats : 0;
    }
    return elements / tile + 1;
}

static mts_status open(ordering *o, const mts_plan_waves *waves)
{
    const mts_plan *plan = o->plan;
    mts_wave_node *nodes = mts_arena_zero(o->arena, plan->step_count, sizeof *nodes);
    if (!nodes) {
        return mts_fail_memory(o->error);
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const mts_step *step = &plan->steps[i];
        const uint64_t cost = mts_step_cost(plan, step);
        nodes[i] = (mts_wave_node){.program = waves->program(waves->context, plan, step),
                                   .group = step->group,
                                   .cost = cost,
                                   .tile = cost / mts_wave_tiles(plan, step, waves->tile)};
    }
    o->request = (mts_wave_request){.nodes = nodes,
                                    .after = &o->after,
                                    .group_count = plan->stitched->group_count,
                                    .device = {.launch = waves->launch, .units = waves->units}};
    return find_dependencies(o);
}

static mts_status time_of_steps(ordering *o)
{
    uint32_t *wave = mts_arena_zero(o->arena, o->plan->step_count, sizeof *wave);
    if (!wave) {
        return mts_fail_memory(o->error);
    }
    for (uint32_t i = 0; i < o->plan->step_count; i++) {
        wave[i] = i;
    }
    return mts_waves_time(&o->request, wave, o->plan->step_count, o->arena, &o->time, o->error);
}

/* ---- the plan in another order ---- */

/*
 * Lifetimes in waves. What steps of several groups use lives all the time: a run with a
 * deadline takes the launches group by group (lower/filter.h), in the order of the waves
 * within each group only.
 */
static void set_lifetimes(const mts_plan *plan, const mts_wave_schedule *schedule, uint32_t *group,
                          mts_span *spans)
{
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        spans[i].first = MTS_NONE;
        spans[i].last = 0;
    }
    for (uint32_t i = 0; i < plan->use_count; i++) {
        const mts_storage_use *use = &plan->uses[i];
        const uint32_t host = plan->storages[use->storage].host;
        const uint32_t root = host != MTS_NONE ? host : use->storage;
        const uint32_t wave = schedule->wave[use->step];
        const uint32_t own = plan->steps[use->step].group;
        const bool several = own == MTS_NONE || (spans[root].first != MTS_NONE && group[root] != own);
        group[root] = several ? MTS_NONE : own;
        spans[root].first = several ? 0 : wave < spans[root].first ? wave : spans[root].first;
        spans[root].last = several ? schedule->waves : wave > spans[root].last ? wave : spans[root].last;
    }
}

/* Orders steps and their uses, and says which wave each step is in. */
static mts_status apply(const ordering *o, const mts_wave_schedule *schedule, const mts_span *spans)
{
    mts_plan *plan = o->plan;
    mts_step *steps = mts_arena_zero(o->arena, plan->step_count, sizeof *steps);
    mts_storage_use *uses = mts_arena_zero(o->arena, plan->use_count, sizeof *uses);
    uint32_t count = 0;
    if (!steps || !uses) {
        return mts_fail_memory(o->error);
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const mts_step *from = &plan->steps[schedule->order[i]];
        steps[i] = *from;
        steps[i].wave = schedule->wave[schedule->order[i]];
        steps[i].use = count;
        for (uint32_t k = 0; k < from->uses; k++) {
            uses[count] = plan->uses[from->use + k];
            uses[count++].step = i;
        }
    }
    plan->steps = steps;
    plan->uses = uses;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        plan->storages[i].first = spans[i].first;
        plan->storages[i].last = spans[i].last;
    }
    return MTS_STATUS_OK;
}

/* Waves of so many groups at a time. */
typedef struct trial {
    mts_wave_schedule schedule;
    mts_span *spans;
    uint64_t peak;
    /* It takes less time than the steps one by one; and it has the memory. */
    bool saves, fits;
} trial;

/* Lifetimes and places of a schedule's storages. */
static mts_status place_trial(ordering *o, const mts_span *spans, trial *t)
{
    const mts_plan *plan = o->plan;
    uint32_t *group = mts_arena_zero(o->arena, plan->storage_count, sizeof *group);
    if (!group) {
        return mts_fail_memory(o->error);
    }
    memcpy(t->spans, spans, plan->storage_count * sizeof *spans);
    set_lifetimes(plan, &t->schedule, group, t->spans);
#ifndef MTS_SMALL
    const mts_status status = mts_arena_place_within(t->spans, plan->storage_count, MTS_PLAN_ALIGN, o->most,
                                                     o->arena->allocator, &t->peak, o->error);
#else
    const mts_status status = mts_arena_place(t->spans, plan->storage_count, MTS_PLAN_ALIGN,
                                              o->arena->allocator, &t->peak, o->error);
#endif
    t->fits = status == MTS_STATUS_OK && t->peak <= o->most;
    return status;
}

static bool saves(const ordering *o, const mts_wave_schedule *schedule)
{
    return schedule->time <= o->time - o->time / GAIN_PARTS;
}

static mts_status try_groups(ordering *o, uint32_t groups, uint32_t early, const mts_span *spans, trial *out)
{
    *out = (trial){.spans = mts_arena_zero(o->arena, o->plan->storage_count, sizeof *spans)};
    o->request.groups_most = groups;
    o->request.early = early;
    mts_status status = out->spans ? MTS_STATUS_OK : mts_fail_memory(o->error);
    MTS_TRY(status, mts_waves_find(&o->request, o->arena, &out->schedule, o->error));
    out->saves = status == MTS_STATUS_OK && saves(o, &out->schedule);
    if (out->saves) {
        status = place_trial(o, spans, out);
    }
    return status;
}

/* Of the trials that fit, the one of least memory among those that hardly take longer than
   the fastest; NULL: none fits. */
static const trial *choose(const trial *trials)
{
    uint64_t least = UINT64_MAX;
    const trial *best = NULL;
    for (uint32_t i = 0; i < TRIALS; i++) {
        const trial *t = &trials[i];
        least = t->fits && t->schedule.time < least ? t->schedule.time : least;
    }
    for (uint32_t i = 0; i < TRIALS; i++) {
        const trial *t = &trials[i];
        const bool close = t->fits && t->schedule.time <= least + least / MEMORY_PARTS;
        best = close && (!best || t->peak < best->peak) ? t : best;
    }
    return best;
}

/* Schedules that differ in when networks begin; *saves: one of them takes less time. */
static mts_status try_all(ordering *o, uint32_t groups, const mts_span *spans, trial *trials, bool *saves)
{
    static const uint32_t early[TRIALS] = {MTS_NONE, 16, 6, 0};
    mts_status status = MTS_STATUS_OK;
    *saves = false;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < TRIALS; i++) {
        status = try_groups(o, groups, early[i], spans, &trials[i]);
        *saves = *saves || trials[i].saves;
    }
    return status;
}

#ifndef MTS_SMALL
/* ---- waves that hold at most what there is ---- */

/* Storages of the steps' uses, in which parts are their hosts. What lives all the time
   (set_lifetimes) has no size, and leaves less of o->most. */
static mts_status find_memory(const ordering *o, const mts_span *spans, mts_wave_memory *out)
{
    const mts_plan *plan = o->plan;
    uint32_t *group = mts_arena_zero(o->arena, plan->storage_count, sizeof *group);
    uint32_t *first = mts_arena_zero(o->arena, (size_t)plan->step_count + 1, sizeof *first);
    uint32_t *touched = mts_arena_zero(o->arena, plan->use_count, sizeof *touched);
    uint64_t *sizes = mts_arena_zero(o->arena, plan->storage_count, sizeof *sizes);
    mts_span *lives = mts_arena_zero(o->arena, plan->storage_count, sizeof *lives);
    uint32_t *wave = mts_arena_zero(o->arena, plan->step_count, sizeof *wave);
    if (!group || !first || !touched || !sizes || !lives || !wave) {
        return mts_fail_memory(o->error);
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        uint32_t end = first[i];
        wave[i] = i;
        for (uint32_t k = 0; k < plan->steps[i].uses; k++) {
            const uint32_t used = plan->uses[plan->steps[i].use + k].storage;
            const uint32_t host = plan->storages[used].host;
            const uint32_t root = host != MTS_NONE ? host : used;
            uint32_t at = first[i];
            while (at < end && touched[at] != root) {
                at++;
            }
            touched[at] = root;
            end += at == end ? 1 : 0;
        }
        first[i + 1] = end;
    }
    const mts_wave_schedule in_turn = {.wave = wave, .count = plan->step_count, .waves = plan->step_count};
    set_lifetimes(plan, &in_turn, group, lives);
    uint64_t always = 0;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const bool whole = lives[i].last == plan->step_count;
        sizes[i] = whole ? 0 : (spans[i].size + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
        always += whole ? spans[i].size : 0;
    }
    *out = (mts_wave_memory){.sizes = sizes,
                             .storage_count = plan->storage_count,
                             .first = first,
                             .touched = touched,
                             .most = o->most > always ? o->most - always : 0};
    return MTS_STATUS_OK;
}

/* Whether o->most is a tenth above what tasks take one by one: else the steps of one group
   serve several of its networks, which hold more than one does, and smaller slices may have
   to keep the limit of the session (tune/memory.c). */
static bool has_bound(const ordering *o)
{
    const mts_stitched *s = o->plan->stitched;
    bool alone = true;
    for (uint32_t i = 0; i < s->layer_count; i++) {
        for (uint32_t m = 1; m < s->layers[i].count; m++) {
            const mts_member *members = &s->members[s->layers[i].first];
            alone = alone && members[m].graph == members[0].graph;
        }
    }
    return alone || s->group_count > 1;
}

mts_status mts_wave_steps_request(mts_plan *plan, const mts_plan_waves *waves, const mts_span *spans,
                                  mts_arena *arena, mts_dependencies *after, mts_wave_request *request,
                                  mts_wave_memory *memory, mts_error *error)
{
    ordering o = {.plan = plan, .arena = arena, .error = error};
    mts_status status = open(&o, waves);
    MTS_TRY(status, find_memory(&o, spans, memory));
    *after = o.after;
    *request = o.request;
    request->after = after;
    return status;
}

typedef struct offer {
    ordering *order;
    const mts_span *spans;
    trial trial;
    mts_status status;
} offer;

/* mts_wave_fits: placed, storages take a little more than what lives. */
static bool fits_placed(void *context, const mts_wave_schedule *schedule)
{
    offer *own = context;
    own->trial.schedule = *schedule;
    if (own->status != MTS_STATUS_OK || !saves(own->order, schedule)) {
        return false;
    }
    own->status = place_trial(own->order, own->spans, &own->trial);
    return own->trial.fits;
}

static mts_status try_bounded(ordering *o, const mts_span *spans, trial *out)
{
    mts_wave_memory memory = {0};
    offer own = {.order = o,
                 .spans = spans,
                 .trial = {.spans = mts_arena_zero(o->arena, o->plan->storage_count, sizeof *spans)}};
    *out = (trial){.spans = mts_arena_zero(o->arena, o->plan->storage_count, sizeof *spans)};
    mts_status status =
        out->spans && own.trial.spans ? find_memory(o, spans, &memory) : mts_fail_memory(o->error);
    MTS_TRY(status, mts_bounded_waves_find(&o->request, &memory, fits_placed, &own, o->arena, &out->schedule,
                                           o->error));
    MTS_TRY(status, own.status);
    if (status == MTS_STATUS_OK && out->schedule.waves > 0) {
        out->saves = true;
        status = place_trial(o, spans, out);
    }
    return status;
}
#endif

mts_status mts_wave_steps_place(mts_plan *plan, const mts_plan_waves *waves, const mts_lanes_limits *limits,
                                mts_span *spans, mts_arena *arena, uint64_t *peak, mts_error *error)
{
    ordering o = {.plan = plan, .arena = arena, .error = error};
    const trial *best = NULL;
    trial trials[TRIALS];
    bool saves = true;
#ifndef MTS_SMALL
    trial bounded = {0};
#endif
    mts_status status =
        mts_arena_place(spans, plan->storage_count, MTS_PLAN_ALIGN, arena->allocator, peak, error);
    const uint64_t allowed = mts_memory_more(*peak) + limits->spare;
    o.most = allowed < limits->peak ? allowed : limits->peak;
    MTS_TRY(status, open(&o, waves));
    MTS_TRY(status, time_of_steps(&o));
    for (uint32_t groups = plan->stitched->group_count;
         status == MTS_STATUS_OK && saves && !best && groups > 0; groups -= groups > 8 ? groups / 4 : 1) {
        status = try_all(&o, groups, spans, trials, &saves);
        best = status == MTS_STATUS_OK && saves ? choose(trials) : NULL;
#ifndef MTS_SMALL
        if (status == MTS_STATUS_OK && saves && !best && waves->bounded &&
            groups == plan->stitched->group_count && has_bound(&o)) {
            status = try_bounded(&o, spans, &bounded);
        }
#endif
    }
#ifndef MTS_SMALL
    if (bounded.fits && (!best || bounded.schedule.time < best->schedule.time)) {
        best = &bounded;
    }
#endif
    if (status == MTS_STATUS_OK && best) {
        memcpy(spans, best->spans, plan->storage_count * sizeof *spans);
        *peak = best->peak;
        status = apply(&o, &best->schedule, spans);
    }
    mts_dependencies_release(&o.after, arena->allocator);
    return status;
}

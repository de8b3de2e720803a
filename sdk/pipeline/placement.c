/*
 * placement.c: measures units on every device, and chooses between stages and whole tasks
 * by what is predicted.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/placement.h"

#include <math.h>
#include <string.h>

#include "partition/shares.h"
#include "pipeline/measure.h"
#include "pipeline/times.h"

/* The next try deals a device this part less. */
#define MEMORY_STEP 32u

typedef struct placing {
    mts_placement_plan *plan;
    const mts_pipeline_options *options;
    uint32_t alive; /* devices that are not lost */
    mts_error *error;
} placing;

static bool same_device(const mts_device *a, const mts_device *b)
{
    return strcmp(a->info.backend, b->info.backend) == 0 && strcmp(a->info.name, b->info.name) == 0 &&
           strcmp(a->info.driver, b->info.driver) == 0 && a->info.compute_units == b->info.compute_units &&
           a->info.memory_bytes == b->info.memory_bytes;
}

static uint64_t memory_of(const mts_pipeline_options *options, const mts_device *device)
{
    const uint64_t budget = options->engine.memory_budget.bytes;
    const uint64_t own = device->info.memory_bytes;
    return budget != 0 && (own == 0 || budget < own) ? budget : own;
}

static mts_status progress(const placing *p, uint32_t device)
{
    const mts_engine_options *o = &p->options->engine;
    const float part = 0.3f * (float)device / (float)p->options->device_count;
    return o->progress && o->progress(o->context, part, "measuring layers on the devices") != 0
               ? mts_fail(p->error, MTS_STATUS_CANCELLED, "cancelled while layers were measured")
               : MTS_STATUS_OK;
}

/* Costs of one device: those of an equal one before it, kept ones, or measured. A device that is lost
   runs nothing. */
static mts_status measure_device(placing *p, uint32_t d)
{
    mts_placement_plan *plan = p->plan;
    const mts_pipeline_options *o = p->options;
    mts_device_costs *costs = &plan->costs[d];
    double *ms = mts_arena_zero(&plan->arena, plan->units.count, sizeof *ms);
    if (!ms) {
        return mts_fail_memory(p->error);
    }
    costs->unit_ms = ms;
    if (mts_device_is_lost(o->devices[d])) {
        for (uint32_t i = 0; i < plan->units.count; i++) {
            ms[i] = INFINITY;
        }
        return MTS_STATUS_OK;
    }
    p->alive++;
    for (uint32_t e = 0; e < d; e++) {
        if (!mts_device_is_lost(o->devices[e]) && same_device(o->devices[d], o->devices[e])) {
            *costs = plan->costs[e];
            costs->memory = memory_of(o, o->devices[d]);
            return MTS_STATUS_OK;
        }
    }
    costs->memory = memory_of(o, o->devices[d]);
    if (mts_times_load(&plan->units, o->devices[d], o, ms, costs)) {
        return MTS_STATUS_OK;
    }
    mts_status status = progress(p, d);
    MTS_TRY(status, mts_measure_units(&plan->units, o->devices[d], &o->engine, ms, p->error));
    MTS_TRY(status, mts_measure_copies(o->devices[d], &costs->to, &costs->from, p->error));
    if (status == MTS_STATUS_OK) {
        mts_times_store(&plan->units, o->devices[d], o, costs);
    }
    return status;
}

/* ---- memory that devices share ---- */

/* Whether a device computes in memory of the process, where others can read it. */
static bool computes_in_host_memory(mts_device *device)
{
    mts_buffer *buffer = NULL;
    const bool in_place =
        mts_buffer_create(device, sizeof(float), &buffer, NULL) == MTS_STATUS_OK && buffer->host;
    mts_buffer_destroy(&buffer);
    return in_place;
}

bool mts_placement_reads(const mts_pipeline_options *options, uint32_t device)
{
    return options->engine.precision == MTS_PRECISION_FLOAT32 && !options->engine.persistent &&
           (options->devices[device]->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) != 0;
}

/* What is read in place costs nothing: values in memory of the process that a device imports, and those
   that it computes there. */
static void price_borders(placing *p)
{
    const mts_pipeline_options *o = p->options;
    const bool float32 = o->engine.precision == MTS_PRECISION_FLOAT32 && !o->engine.persistent;
    for (uint32_t d = 0; d < o->device_count; d++) {
        mts_device_costs *costs = &p->plan->costs[d];
        if (mts_device_is_lost(o->devices[d])) {
            continue;
        }
        if (mts_placement_reads(o, d)) {
            costs->to = (mts_copy_cost){0};
            costs->reads_in_place = true;
        }
        if (float32 && computes_in_host_memory(o->devices[d])) {
            costs->from = (mts_copy_cost){0};
        }
    }
}

/* ---- stages ---- */

static double chain_value(const placing *p)
{
    return p->options->goal == MTS_CHAIN_THROUGHPUT ? p->plan->chain.slowest_ms : p->plan->chain.total_ms;
}

static mts_status find_chain(placing *p)
{
    mts_placement_plan *plan = p->plan;
    const mts_status status =
        mts_chain_find(&plan->units, plan->costs, p->options->device_count, p->options->goal,
                       plan->tries < MTS_PLACEMENT_TRIES ? MTS_CHAIN_LEAST : MTS_CHAIN_EXPECTED,
                       plan->arena.allocator, &plan->chain, p->error);
    plan->chain_ms = status == MTS_STATUS_OK ? chain_value(p) : 0.0;
    return status;
}

/* ---- whole tasks ---- */

static mts_status find_groups(placing *p)
{
    mts_placement_plan *plan = p->plan;
    double run_ms[MTS_PARTITION_DEVICES] = {0};
    uint64_t budget[MTS_PARTITION_DEVICES] = {0};
    mts_balance balance = {.run_ms = run_ms, .budget = budget};
    plan->device_of = mts_arena_zero(&plan->arena, plan->units.task_count, sizeof *plan->device_of);
    if (!plan->device_of) {
        return mts_fail_memory(p->error);
    }
    for (uint32_t d = 0; d < p->options->device_count; d++) {
        const uint64_t own = plan->groups_budget[d];
        budget[d] = own != 0 ? own : plan->costs[d].memory;
        run_ms[d] = plan->costs[d].run_ms;
    }
    mts_status status = mts_shares_make(&plan->units, plan->costs, p->options->device_count, &plan->arena,
                                        &balance, p->error);
    MTS_TRY(status,
            mts_balance_find(&balance, plan->arena.allocator, plan->device_of, &plan->busiest_ms, p->error));
    plan->groups_ms = status == MTS_STATUS_OK ? plan->busiest_ms : 0.0;
    for (uint32_t d = 0; status == MTS_STATUS_OK && d < p->options->device_count; d++) {
        plan->groups_memory[d] = mts_balance_memory(&balance, plan->device_of, d);
    }
    return status;
}

/* ---- the choice ---- */

static mts_status split(placing *p, bool groups)
{
    mts_placement_plan *plan = p->plan;
    const mts_allocator *allocator = plan->arena.allocator;
    return groups ? mts_partition_groups(&plan->units, plan->device_of, p->options->device_count, allocator,
                                         &plan->partition, p->error)
                  : mts_partition_chain(&plan->units, &plan->chain, allocator, &plan->partition, p->error);
}

static mts_status choose(placing *p)
{
    const bool may_group = p->options->groups && p->plan->units.task_count > 1;
    const bool may_cut = p->options->stages || !may_group;
    const mts_status groups = may_group ? find_groups(p) : MTS_STATUS_LIMIT;
    const mts_status status = may_cut ? find_chain(p) : groups;
    const bool better = groups == MTS_STATUS_OK &&
                        (status != MTS_STATUS_OK || !may_cut || p->plan->groups_ms < p->plan->chain_ms);
    return better || status == MTS_STATUS_OK ? split(p, better) : status;
}

static mts_status measure_and_choose(placing *p)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t d = 0; status == MTS_STATUS_OK && d < p->options->device_count; d++) {
        status = measure_device(p, d);
    }
    if (status == MTS_STATUS_OK && p->alive == 0) {
        status = mts_fail(p->error, MTS_STATUS_DEVICE_LOST, "all devices of the session are lost");
    }
    if (status == MTS_STATUS_OK) {
        price_borders(p);
    }
    MTS_TRY(status, choose(p));
    return status;
}

/* A placement that is given; nothing is measured. A lost device makes it void. */
static bool is_given(const mts_pipeline_options *options)
{
    bool lost = false;
    for (uint32_t d = 0; d < options->device_count; d++) {
        lost = lost || mts_device_is_lost(options->devices[d]);
    }
    return !lost && (options->chain || options->device_of);
}

static mts_status take_given(placing *p)
{
    mts_placement_plan *plan = p->plan;
    double *none = mts_arena_zero(&plan->arena, plan->units.count, sizeof *none);
    if (!none) {
        return mts_fail_memory(p->error);
    }
    for (uint32_t d = 0; d < p->options->device_count; d++) {
        plan->costs[d].unit_ms = none;
    }
    if (p->options->device_of) {
        plan->device_of = mts_arena_zero(&plan->arena, plan->units.task_count, sizeof *plan->device_of);
        if (!plan->device_of) {
            return mts_fail_memory(p->error);
        }
        memcpy(plan->device_of, p->options->device_of, plan->units.task_count * sizeof *plan->device_of);
        return split(p, true);
    }
    plan->chain = *p->options->chain;
    const mts_status status =
        mts_chain_price(&plan->units, plan->costs, &plan->arena, &plan->chain, p->error);
    return status == MTS_STATUS_OK ? split(p, false) : status;
}

mts_status mts_placement_find(mts_placement_plan *plan, const mts_archive *archive, const uint32_t *tasks,
                              uint32_t task_count, const mts_pipeline_options *options, mts_error *error)
{
    placing p = {.plan = plan, .options = options, .error = error};
    *plan = (mts_placement_plan){0};
    mts_arena_init(&plan->arena, options->devices[0]->allocator);
    mts_status status = mts_units_make(archive, tasks, task_count, options->engine.separate_inputs,
                                       &plan->arena, &plan->units, error);
    if (status == MTS_STATUS_OK && options->engine.precision != MTS_PRECISION_FLOAT32) {
        plan->units.element_bytes = 2;
    }
    if (status == MTS_STATUS_OK && plan->units.count == 0) {
        status = mts_fail(error, MTS_STATUS_UNSUPPORTED,
                          "the tasks have no layers, so that there is nothing to place on several devices");
    }
    MTS_TRY(status, is_given(options) ? take_given(&p) : measure_and_choose(&p));
    if (status != MTS_STATUS_OK) {
        mts_placement_release(plan);
    }
    return status;
}

/* Devices that are equal to one that refused a stage refuse it, too. */
static bool refuse_stage(placing *p, const mts_chain_stage *stage)
{
    mts_placement_plan *plan = p->plan;
    const size_t all = (size_t)p->options->device_count * 2 * MTS_PLACEMENT_TRIES;
    if (!plan->refusals) {
        plan->refusals = mts_arena_zero(&plan->arena, all, sizeof *plan->refusals);
    }
    bool room = plan->refusals != NULL;
    for (uint32_t d = 0; room && d < p->options->device_count; d++) {
        mts_device_costs *costs = &plan->costs[d];
        const bool equal = same_device(p->options->devices[d], p->options->devices[stage->device]);
        mts_chain_refusal *own = plan->refusals + (size_t)d * 2 * MTS_PLACEMENT_TRIES;
        costs->refusals = own;
        if (d == stage->device || (equal && costs->memory == plan->costs[stage->device].memory)) {
            room = room && costs->refusal_count < 2 * MTS_PLACEMENT_TRIES;
            if (room) {
                own[costs->refusal_count++] = (mts_chain_refusal){stage->first, stage->end};
            }
        }
    }
    return room;
}

mts_status mts_placement_again(mts_placement_plan *plan, uint32_t part, const mts_pipeline_options *options,
                               mts_error *error)
{
    placing p = {.plan = plan, .options = options, .error = error};
    const uint32_t device = plan->partition.parts[part].device;
    bool possible = !is_given(options) && plan->tries++ < 2 * MTS_PLACEMENT_TRIES;
    if (possible && plan->partition.chain) {
        uint32_t stage = 0;
        while (stage + 1 < plan->chain.stage_count && plan->chain.stages[stage].device != device) {
            stage++;
        }
        possible = refuse_stage(&p, &plan->chain.stages[stage]);
    } else if (possible) {
        const uint64_t dealt = plan->groups_memory[device];
        plan->groups_budget[device] = dealt - dealt / MEMORY_STEP;
        possible = dealt > 1 && plan->groups_budget[device]-- > 1;
    }
    if (!possible) {
        return mts_fail(error, MTS_STATUS_LIMIT, "no other placement is tried");
    }
    mts_partition_release(&plan->partition);
    plan->partition = (mts_partition){0};
    plan->chain_ms = plan->groups_ms = 0.0;
    return choose(&p);
}

void mts_placement_release(mts_placement_plan *plan)
{
    mts_partition_release(&plan->partition);
    mts_arena_release(&plan->arena);
    *plan = (mts_placement_plan){0};
}

#endif

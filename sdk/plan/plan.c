/*
 * plan.c: steps in order, lifetimes, offsets. Layouts come from layout.c, placement from
 * arena.c.
 */
#include "plan/plan.h"

#include "device/kernel.h"
#include "plan/budget.h"
#include "plan/conversion.h"
#include "plan/fuse.h"
#include "plan/lanes.h"
#include "plan/layout.h"
#include "plan/transposes.h"
#include "plan/wave_steps.h"

_Static_assert(MTS_ROW_ZEROS % MTS_PLAN_ALIGN == 0, "what follows them is aligned");

typedef struct planner {
    mts_plan *plan;
    const mts_stitched *stitched;
    const mts_plan_request *request;
    mts_arena *arena;
    mts_error *error;
} planner;

static void lengthen(mts_storage *storage, uint32_t step)
{
    storage->first = storage->first == MTS_NONE ? step : storage->first;
    storage->last = step;
}

/* A step reads or writes a storage: it and its host live then. */
static void touch(mts_plan *plan, uint32_t storage, uint32_t step, bool writes)
{
    mts_storage *s = &plan->storages[storage];
    plan->uses[plan->use_count++] = (mts_storage_use){step, storage, writes};
    lengthen(s, step);
    if (s->host != MTS_NONE) {
        lengthen(&plan->storages[s->host], step); /* which has no host */
    }
}

/* Appends a conversion to the step that is being collected, unless an earlier step has
   it. */
static void add_conversion(mts_plan *plan, uint32_t conversion, bool space_to_depth, mts_step *step)
{
    if (conversion == MTS_NONE || plan->conversions[conversion].made ||
        plan->conversions[conversion].space_to_depth != space_to_depth) {
        return;
    }
    plan->conversions[conversion].made = true;
    plan->order[plan->order_count++] = conversion;
    step->count++;
}

static void close_step(mts_plan *plan, const mts_step *step)
{
    if (step->count == 0) {
        return;
    }
    const uint32_t index = plan->step_count++;
    plan->steps[index] = *step;
    for (uint32_t i = 0; i < step->count; i++) {
        const mts_conversion *c = &plan->conversions[plan->order[step->first + i]];
        if (c->from != MTS_NONE) {
            touch(plan, plan->conversions[c->from].storage, index, false);
        } else if (!c->zero_copy) {
            touch(plan, plan->value_storage[c->source], index, false);
        }
        touch(plan, c->storage, index, true);
    }
}

/* Appends the zero-copy input of a storage to the step, unless the storage has it
   already. */
static void add_input(mts_plan *plan, uint32_t storage, mts_step *step)
{
    const uint32_t value = plan->import_value[storage];
    if (value == MTS_NONE || plan->storages[storage].first != MTS_NONE) {
        return;
    }
    plan->imports[plan->import_count++] = value;
    touch(plan, storage, plan->step_count, true); /* of the step that is being collected */
    step->count++;
}

static void close_input_step(mts_plan *plan, const mts_step *step)
{
    if (step->count > 0) {
        plan->steps[plan->step_count++] = *step;
    }
}

/* Where a member reads operand i: the value's own storage or a conversion of it. */
static uint32_t operand_storage(const mts_plan *plan, uint32_t member, uint32_t i)
{
    const mts_member *m = &plan->stitched->members[member];
    const mts_member_plan *how = &plan->members[member];
    const uint32_t copy = mts_plan_dense_copy(plan, m->inputs[i]);
    if (i == 0 && copy != MTS_NONE && mts_plan_reads_dense(mts_member_node(plan->stitched, m)->op)) {
        return plan->conversions[copy].storage;
    }
    if (i == 0 && how->input_conversion != MTS_NONE) {
        return plan->conversions[how->input_conversion].storage;
    }
    if (i == (how->variant == MTS_VARIANT_CODES ? 1u : 4u) && how->residual_conversion != MTS_NONE) {
        return plan->conversions[how->residual_conversion].storage;
    }
    const bool through = MTS_HAS_PACKED && i == 0 && how->variant == MTS_VARIANT_PACKED;
    return plan->value_storage[through ? mts_transpose_source(plan, m->inputs[i]) : m->inputs[i]];
}

/* Zero-copy inputs that a layer, or a conversion for it, reads from the arena. */
static void add_inputs(mts_plan *plan, const mts_layer *layer)
{
    const mts_stitched *s = plan->stitched;
    mts_step input = {.kind = MTS_STEP_INPUT, .first = plan->import_count, .group = layer->group};
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const mts_member_plan *how = &plan->members[m];
        const uint32_t conversions[] = {how->input_conversion, how->residual_conversion};
        /* conversions read for the TRANSPOSE */
        const uint32_t operands =
            layer->op == MTS_OP_TRANSPOSE && how->in_place ? 0 : s->members[m].input_count;
        for (uint32_t i = 0; i < operands; i++) {
            if (s->members[m].inputs[i] != MTS_NONE) {
                add_input(plan, operand_storage(plan, m, i), &input);
            }
        }
        for (int i = 0; i < 2; i++) {
            const mts_conversion *c = conversions[i] != MTS_NONE ? &plan->conversions[conversions[i]] : NULL;
            if (c && !c->zero_copy) {
                add_input(plan, plan->value_storage[c->source], &input);
            }
        }
    }
    close_input_step(plan, &input);
}

/* What a concatenation that is made in place has to copy. */
static void add_parts(mts_plan *plan, uint32_t member, mts_step *step)
{
    for (uint32_t i = 0; plan->members[member].in_place && i < plan->conversion_count; i++) {
        if (plan->conversions[i].part && plan->conversions[i].member == member) {
            add_conversion(plan, i, false, step);
        }
    }
}

static void add_conversions(mts_plan *plan, const mts_layer *layer)
{
    const mts_stitched *s = plan->stitched;
    mts_step split = {.kind = MTS_STEP_SPACE_TO_DEPTH, .first = plan->order_count, .group = layer->group};
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        add_conversion(plan, plan->members[m].input_conversion, true, &split);
        add_conversion(plan, plan->members[m].residual_conversion, true, &split);
    }
    close_step(plan, &split);
    mts_step dense = {.kind = MTS_STEP_DENSE, .first = plan->order_count, .group = layer->group};
    for (uint32_t m = layer->first; mts_plan_reads_dense(layer->op) && m < layer->first + layer->count; m++) {
        add_conversion(plan, mts_plan_dense_copy(plan, s->members[m].inputs[0]), false, &dense);
    }
    for (uint32_t m = layer->first; layer->op == MTS_OP_CONCAT && m < layer->first + layer->count; m++) {
        add_parts(plan, m, &dense);
    }
    close_step(plan, &dense);
}

/* Whether a value lies in no storage: its reader's step computes it. */
static bool is_fused(const mts_plan *plan, uint32_t value)
{
    const uint32_t producer = plan->stitched->values[value].member;
    return MTS_FUSES && producer != MTS_NONE && plan->members[producer].fused;
}

static void touch_member(mts_plan *plan, uint32_t member, uint32_t step)
{
    const mts_member *m = &plan->stitched->members[member];
    for (uint32_t i = 0; i < m->input_count; i++) {
        if (m->inputs[i] != MTS_NONE && !is_fused(plan, m->inputs[i])) {
            touch(plan, operand_storage(plan, member, i), step, false);
        }
    }
    const mts_member_plan *how = &plan->members[member];
    if (!how->bare && !how->fused) {
        touch(plan, plan->value_storage[m->output], step, true);
    }
    if (how->codes_conversion != MTS_NONE) {
        touch(plan, plan->conversions[how->codes_conversion].storage, step, true);
    }
}

static void touch_layer(mts_plan *plan, uint32_t index, uint32_t step)
{
    const mts_layer *layer = &plan->stitched->layers[index];
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        touch_member(plan, m, step);
    }
}

static void add_steps(mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    for (uint32_t i = 0; i < s->layer_count; i++) {
        const mts_layer *layer = &s->layers[i];
        add_inputs(plan, layer);
        add_conversions(plan, layer);
        if (layer->op == MTS_OP_RESHAPE || plan->members[layer->first].in_place ||
            plan->fusions[i].into != MTS_NONE) {
            continue; /* all members of a layer are in place, or none; likewise fused */
        }
        const uint32_t step = plan->step_count++;
        plan->steps[step] = (mts_step){.kind = MTS_STEP_LAYER, .first = i, .count = 1, .group = layer->group};
        if (mts_plan_fuses(plan, i)) {
            const mts_fusion *fusion = &plan->fusions[i];
            touch_layer(plan, fusion->depthwise, step);
            if (fusion->expand != MTS_NONE) {
                touch_layer(plan, fusion->expand, step);
            }
        }
        if (mts_plan_summand(plan, i) != MTS_NONE) {
            touch_layer(plan, mts_plan_summand(plan, i), step);
        }
        touch_layer(plan, i, step);
    }
    mts_step input = {.kind = MTS_STEP_INPUT, .first = plan->import_count, .group = MTS_NONE};
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].region == MTS_REGION_OUTPUT) {
            add_input(plan, i, &input); /* an input that is passed through */
        }
    }
    close_input_step(plan, &input);
    mts_step dense = {.kind = MTS_STEP_DENSE, .first = plan->order_count, .group = MTS_NONE};
    for (uint32_t c = 0; c < plan->conversion_count; c++) {
        add_conversion(plan, c, false, &dense); /* those that only a graph output needs */
    }
    close_step(plan, &dense);
}

/* Gives each step its uses, which are in step order, and a wave of its own. */
static void find_uses(mts_plan *plan)
{
    for (uint32_t i = 0; i < plan->use_count; i++) {
        mts_step *step = &plan->steps[plan->uses[i].step];
        step->use = step->uses == 0 ? i : step->use;
        step->uses++;
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        plan->steps[i].wave = i;
    }
}

/* Offsets of one region that persists over runs: one after another. */
static uint64_t place_region(mts_plan *plan, mts_storage_region region, uint64_t offset)
{
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        mts_storage *s = &plan->storages[i];
        if (s->region == region && s->host == MTS_NONE) {
            s->offset = offset;
            offset += (s->floats + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
        }
    }
    return offset;
}

static mts_status place(planner *p)
{
    mts_plan *plan = p->plan;
    /* the zeros come first: vectors read a few floats before any plane */
    const uint64_t zeros =
        p->request->depthwise_rows || (MTS_HAS_PACKED && p->request->packed) ? MTS_ROW_ZEROS : 0;
    plan->input_floats = place_region(plan, MTS_REGION_INPUT, zeros);
    const uint64_t begin = place_region(plan, MTS_REGION_OUTPUT, plan->input_floats);
    plan->output_floats = begin - plan->input_floats;
    mts_span *spans = mts_arena_zero(p->arena, plan->storage_count, sizeof *spans);
    if (!spans) {
        return mts_fail_memory(p->error);
    }
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const mts_storage *s = &plan->storages[i];
        const bool used = s->region == MTS_REGION_TRANSIENT && s->host == MTS_NONE && s->first != MTS_NONE;
        spans[i] = (mts_span){.size = used ? s->floats : 0, .first = s->first, .last = s->last};
    }
    uint64_t peak = 0;
    const uint64_t wanted = p->request->arena_most;
    const uint64_t most = wanted > 0 && wanted < INT32_MAX ? wanted : INT32_MAX;
    const mts_lanes_limits limits = {.lanes = p->request->lanes,
                                     .spare = mts_memory_spare(begin) + p->request->lane_floats,
                                     .peak = most > begin ? most - begin : 0};
    const mts_plan_waves *waves = p->request->waves;
    mts_status status = MTS_STATUS_OK;
    if (waves) {
        status = mts_wave_steps_place(plan, waves, &limits, spans, p->arena, &peak, p->error);
    } else if (MTS_HAS_LANES) {
        status = mts_lanes_place(plan, &limits, spans, p->arena, &peak, p->error);
    } else {
        status =
            mts_arena_place(spans, plan->storage_count, MTS_PLAN_ALIGN, p->arena->allocator, &peak, p->error);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].region == MTS_REGION_TRANSIENT) {
            plan->storages[i].offset = begin + spans[i].offset;
        }
    }
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        mts_storage *s = &plan->storages[i];
        s->offset = s->host != MTS_NONE ? plan->storages[s->host].offset + s->at : s->offset;
    }
    plan->arena_floats = begin + peak;
    if (plan->arena_floats > INT32_MAX) {
        return mts_fail(p->error, MTS_STATUS_LIMIT,
                        "activations of %llu numbers exceed the 32-bit offsets of a launch",
                        (unsigned long long)plan->arena_floats);
    }
    return MTS_STATUS_OK;
}

/* Uses at most: operands and results, what conversions read and write, and inputs. */
static size_t uses_most(const mts_stitched *stitched, size_t conversions)
{
    size_t count = 2 * conversions + stitched->value_count;
    for (uint32_t m = 0; m < stitched->member_count; m++) {
        count += (size_t)stitched->members[m].input_count + 2;
    }
    return count;
}

static mts_status allocate(planner *p)
{
    const mts_stitched *s = p->stitched;
    mts_plan *plan = mts_arena_zero(p->arena, 1, sizeof *plan);
    if (!plan) {
        return mts_fail_memory(p->error);
    }
    p->plan = plan;
    plan->stitched = s;
    const size_t conversions = mts_conversions_most(s);
    plan->order = mts_arena_zero(p->arena, conversions, sizeof *plan->order);
    plan->imports = mts_arena_zero(p->arena, s->value_count, sizeof *plan->imports);
    plan->steps = mts_arena_zero(p->arena, (size_t)s->layer_count * 4 + 2, sizeof *plan->steps);
    plan->uses = mts_arena_zero(p->arena, uses_most(s, conversions), sizeof *plan->uses);
    plan->output_storage = mts_arena_zero(p->arena, s->graph_count, sizeof *plan->output_storage);
    plan->fusions = mts_arena_zero(p->arena, s->layer_count, sizeof *plan->fusions);
    bool ok =
        plan->fusions && plan->order && plan->uses && plan->imports && plan->steps && plan->output_storage;
    for (uint32_t g = 0; ok && g < s->graph_count; g++) {
        plan->output_storage[g] =
            mts_arena_zero(p->arena, s->graphs[g]->output_count, sizeof **plan->output_storage);
        ok = plan->output_storage[g];
    }
    return ok ? MTS_STATUS_OK : mts_fail_memory(p->error);
}

mts_status mts_plan_create(const mts_plan_request *request, mts_arena *arena, mts_plan **out,
                           mts_error *error)
{
    *out = NULL;
    planner p = {.stitched = request->stitched, .request = request, .arena = arena, .error = error};
    mts_status status = allocate(&p);
    do { /* again without the fused blocks that turned out to be too large */
        MTS_TRY(status, mts_layout_assign(p.plan, request, arena, error));
    } while (status == MTS_STATUS_OK && mts_fuse_misfits(p.plan, request->fuse));
    if (status == MTS_STATUS_OK) {
        add_steps(p.plan);
        find_uses(p.plan);
        status = place(&p);
    }
    if (status == MTS_STATUS_OK) {
        *out = p.plan;
    }
    return status;
}

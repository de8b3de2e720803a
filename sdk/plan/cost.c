/*
 * cost.c: the table of the computations that each task needs, the terms of a set, and the
 * fit.
 */
#include "plan/cost.h"

#include <math.h>

#include "plan/layout.h"

/*
 * A layer of fewer products than this is mostly the beginning and the end of a launch.
 * What a layer touches beyond this many bytes comes from memory. Only the order of
 * magnitude matters: the constants are fitted.
 */
#define SMALL_WORK 4e6
#define CACHE_BYTES 2e6

enum { FIT_ROUNDS = 2000 };

/* A computation; several tasks may need it. */
typedef struct computation {
    double work, activations, weights;
} computation;

struct mts_cost_table {
    mts_strategy strategy;
    uint32_t layer_count, task_count;
    computation *computations; /* per member */
    uint32_t *member_of;       /* [layer][task]: member, or MTS_NONE */
};

static double bytes_of(const mts_stitched *stitched, uint32_t value)
{
    return (double)mts_shape_count(&stitched->values[value].shape) * sizeof(float);
}

static computation compute(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    const double outputs = (double)mts_shape_count(&stitched->values[member->output].shape);
    computation c = {.work = outputs, .activations = bytes_of(stitched, member->output)};
    for (uint32_t i = 0; i < member->input_count; i++) {
        const mts_value *operand = mts_member_operand(stitched, member, i);
        if (member->inputs[i] != MTS_NONE) {
            c.activations += bytes_of(stitched, member->inputs[i]);
        } else if (operand) {
            c.weights += (double)mts_shape_count(&operand->shape) * sizeof(float);
        }
    }
    const mts_value *weight = member->input_count > 1 ? mts_member_operand(stitched, member, 1) : NULL;
    if (node->op == MTS_OP_CONV && weight && weight->shape.rank == 4) {
        c.work = outputs * (double)(weight->shape.dims[1] * weight->shape.dims[2] * weight->shape.dims[3]);
    }
    return c;
}

/* Which member of each layer a task needs: the writers of its values. */
static void find_members(mts_cost_table *table, const mts_stitched *stitched, const uint32_t *layer_of)
{
    for (uint32_t t = 0; t < table->task_count; t++) {
        for (uint32_t v = 0; v < stitched->graphs[t]->value_count; v++) {
            const uint32_t value = stitched->value_of[t][v];
            const uint32_t member = value != MTS_NONE ? stitched->values[value].member : MTS_NONE;
            if (member != MTS_NONE && layer_of[member] != MTS_NONE) {
                table->member_of[(size_t)layer_of[member] * table->task_count + t] = member;
            }
        }
    }
}

/* A RESHAPE is an alias, and a layer that is in place is no launch. */
static void fill(mts_cost_table *table, const mts_stitched *stitched, const mts_member_plan *members,
                 uint32_t *layer_of)
{
    for (size_t i = 0; i < (size_t)table->layer_count * table->task_count; i++) {
        table->member_of[i] = MTS_NONE;
    }
    for (uint32_t m = 0; m < stitched->member_count; m++) {
        table->computations[m] = compute(stitched, &stitched->members[m]);
        layer_of[m] = MTS_NONE;
    }
    for (uint32_t l = 0; l < stitched->layer_count; l++) {
        const mts_layer *layer = &stitched->layers[l];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            const bool runs = layer->op != MTS_OP_RESHAPE && !members[m].in_place;
            layer_of[m] = runs ? l : MTS_NONE;
        }
    }
    find_members(table, stitched, layer_of);
}

mts_status mts_cost_table_make(const mts_stitched *stitched, mts_strategy strategy, mts_arena *arena,
                               const mts_cost_table **out, mts_error *error)
{
    mts_cost_table *table = mts_arena_zero(arena, 1, sizeof *table);
    if (table) {
        *table = (mts_cost_table){
            .strategy = strategy, .layer_count = stitched->layer_count, .task_count = stitched->graph_count};
        table->computations = mts_arena_zero(arena, stitched->member_count, sizeof *table->computations);
        table->member_of =
            mts_arena_zero(arena, (size_t)table->layer_count * table->task_count, sizeof *table->member_of);
    }
    uint32_t *layer_of = mts_arena_zero(arena, stitched->member_count, sizeof *layer_of);
    if (!table || !table->computations || !table->member_of || !layer_of) {
        return mts_fail_memory(error);
    }
    const mts_member_plan *members = NULL;
    const mts_status status = mts_layout_members(stitched, arena, &members, error);
    if (status == MTS_STATUS_OK) {
        fill(table, stitched, members, layer_of);
        *out = table;
    }
    return status;
}

/* One layer of a set: the sum of its computations, or what a strategy makes of them. */
static computation layer_of_set(const mts_cost_table *table, const uint32_t *row, const uint32_t *tasks,
                                uint32_t count, uint32_t *members)
{
    computation sum = {0};
    computation most = {0};
    *members = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t member = row[tasks[i]];
        bool seen = member == MTS_NONE;
        for (uint32_t k = 0; k < i && !seen && table->strategy == MTS_STRATEGY_COMPACT; k++) {
            seen = row[tasks[k]] == member;
        }
        if (seen) {
            continue;
        }
        const computation *c = &table->computations[member];
        sum.work += c->work;
        sum.activations += c->activations;
        sum.weights += c->weights;
        most.work = fmax(most.work, c->work);
        most.activations = fmax(most.activations, c->activations);
        most.weights = fmax(most.weights, c->weights);
        *members += 1;
    }
    if (table->strategy == MTS_STRATEGY_NETFUSE) { /* padded to the widest */
        sum = (computation){most.work * *members, most.activations * *members, most.weights * *members};
    } else if (table->strategy == MTS_STRATEGY_DENSE) { /* all channels for each task */
        sum = (computation){sum.work * *members, sum.activations * *members, sum.weights * *members};
    }
    return sum;
}

void mts_cost_of(const mts_cost_table *table, const uint32_t *tasks, uint32_t count, mts_cost_set *out)
{
    *out = (mts_cost_set){0};
    for (uint32_t l = 0; l < table->layer_count; l++) {
        uint32_t members = 0;
        const uint32_t *row = &table->member_of[(size_t)l * table->task_count];
        const computation c = layer_of_set(table, row, tasks, count, &members);
        const double bytes = c.activations + c.weights;
        out->term[MTS_COST_LAUNCHES] += members > 0 ? 0.01 : 0.0;
        out->term[MTS_COST_WORK] += c.work * 1e-9;
        out->term[MTS_COST_SMALL] += fmin(c.work, SMALL_WORK) * 1e-9;
        out->term[MTS_COST_BYTES] += bytes * 1e-9;
        out->term[MTS_COST_BEYOND] += fmax(bytes - CACHE_BYTES, 0.0) * 1e-9;
    }
}

/*
 * Least squares with constants that stay at or above zero, one constant at a time: the
 * problem is convex and has five unknowns. Each sample counts by its relative error.
 */
void mts_cost_fit(const mts_cost_sample *samples, uint32_t count, mts_cost_model *model)
{
    *model = (mts_cost_model){0};
    for (int round = 0; round < FIT_ROUNDS; round++) {
        for (int k = 0; k < MTS_COST_TERMS; k++) {
            double slope = 0.0;
            double curve = 0.0;
            for (uint32_t i = 0; i < count; i++) {
                if (samples[i].ms <= 0.0) {
                    continue;
                }
                const double weight = 1.0 / samples[i].ms;
                const double x = samples[i].set.term[k] * weight;
                slope += x * (1.0 - mts_cost_predict(model, &samples[i].set) * weight);
                curve += x * x;
            }
            if (curve > 0.0) {
                model->constant[k] = fmax(model->constant[k] + slope / curve, 0.0);
            }
        }
    }
    double squares = 0.0;
    uint32_t fitted = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (samples[i].ms <= 0.0) {
            continue;
        }
        fitted++;
        const double error = mts_cost_predict(model, &samples[i].set) / samples[i].ms - 1.0;
        squares += error * error;
    }
    model->error = fitted > 0 ? sqrt(squares / fitted) : 0.0;
}

double mts_cost_predict(const mts_cost_model *model, const mts_cost_set *set)
{
    double ms = 0.0;
    for (int k = 0; k < MTS_COST_TERMS; k++) {
        ms += model->constant[k] * set->term[k];
    }
    return ms;
}

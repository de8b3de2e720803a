/*
 * ties.c: see ties.h.
 */
#include "compress/train/ties.h"

#include <string.h>

/* The cells of one task of a tie. */
typedef struct side {
    uint32_t task, node;
    const uint32_t *outs, *ins; /* ins may be NULL */
    mts_net_layer layer;
    size_t taps;
} side;

static side side_of(const mts_tie *tie, uint32_t index, mts_net_layer layer)
{
    return (side){.task = tie->tasks[index],
                  .node = tie->nodes[index],
                  .outs = tie->outs[index],
                  .ins = tie->ins ? tie->ins[index] : NULL,
                  .layer = layer,
                  .taps = (size_t)layer.rows * layer.columns};
}

static uint32_t side_input(const side *s, uint32_t index)
{
    return s->ins ? s->ins[index] : index;
}

/* Where the inputs of a filter's tap begin among the layer's weights. */
static size_t side_row(const side *s, uint32_t filter, size_t tap)
{
    return (s->outs[filter] * s->taps + tap) * s->layer.inputs;
}

static const char *title(mts_net *const *nets, const side *s)
{
    const mts_graph *graph = mts_net_graph(nets[s->task]);
    return s->node < graph->node_count ? mts_node_title(graph, &graph->nodes[s->node]) : "(none)";
}

static const char *task_name(mts_net *const *nets, const char *const *names, const side *s)
{
    const char *name = names && names[s->task] ? names[s->task] : mts_net_graph(nets[s->task])->name;
    return name ? name : "(no name)";
}

/* What is wrong with a task's part of a tie, or NULL. */
static const char *side_defect(const mts_tie *tie, uint32_t index, mts_net *const *nets, side *s)
{
    const mts_graph *graph = mts_net_graph(nets[tie->tasks[index]]);
    if (tie->nodes[index] >= graph->node_count || graph->nodes[tie->nodes[index]].op != MTS_OP_CONV) {
        return "is no convolution";
    }
    *s = side_of(tie, index, mts_net_layer_of(nets[tie->tasks[index]], tie->nodes[index]));
    for (uint32_t k = 0; k < tie->out_count; k++) {
        if (s->outs[k] >= s->layer.outputs) {
            return "has no such filter";
        }
    }
    if (!s->ins && tie->in_count != s->layer.inputs) {
        return "has another number of input channels";
    }
    for (uint32_t j = 0; s->ins && j < tie->in_count; j++) {
        if (s->ins[j] >= s->layer.inputs) {
            return "has no such input channel";
        }
    }
    return NULL;
}

static bool sides_equal(const mts_tie *tie, const side *a, const side *b)
{
    for (uint32_t k = 0; k < tie->out_count; k++) {
        for (size_t tap = 0; tap < a->taps; tap++) {
            const float *left = a->layer.weight + side_row(a, k, tap);
            const float *right = b->layer.weight + side_row(b, k, tap);
            for (uint32_t j = 0; j < tie->in_count; j++) {
                if (memcmp(&left[side_input(a, j)], &right[side_input(b, j)], sizeof(float)) != 0) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* False: a cell is tied already. */
static bool side_mark(const mts_tie *tie, const side *s, bool kept, const mts_parameters *parameters)
{
    if (!parameters->weight[s->task] || parameters->weight[s->task][s->node] == MTS_NONE) {
        return true; /* frozen, as is the tie */
    }
    unsigned char *cells = parameters->arrays[parameters->weight[s->task][s->node]].cells;
    for (uint32_t k = 0; k < tie->out_count; k++) {
        for (uint32_t j = 0; j < tie->in_count; j++) {
            unsigned char *cell = &cells[(size_t)s->outs[k] * s->layer.inputs + side_input(s, j)];
            if (*cell & MTS_CELL_TIED) {
                return false;
            }
            *cell = (unsigned char)(MTS_CELL_TIED | (kept ? MTS_CELL_KEPT : 0));
        }
    }
    return true;
}

static mts_status tie_mark(const mts_tie *tie, mts_net *const *nets, uint32_t net_count,
                           const char *const *names, const mts_frozen *frozen, mts_parameters *parameters,
                           mts_error *error)
{
    side lead = {0};
    for (uint32_t i = 0; i < tie->task_count; i++) {
        side s = {.task = tie->tasks[i], .node = tie->nodes[i]};
        if (s.task >= net_count) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "there is no task %u to tie",
                            (unsigned)s.task);
        }
        const char *defect = side_defect(tie, i, nets, &s);
        if (!defect && i == 0) {
            lead = s;
        }
        if (!defect && (s.layer.rows != lead.layer.rows || s.layer.columns != lead.layer.columns)) {
            defect = "has another filter size";
        }
        if (!defect && !sides_equal(tie, &lead, &s)) {
            defect = "has other weights";
        }
        if (!defect && !side_mark(tie, &s, i > 0 || !mts_tie_moves(tie, frozen), parameters)) {
            defect = "is tied twice";
        }
        if (defect) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "tied weights: '%s' of task '%s' %s",
                            title(nets, &s), task_name(nets, names, &s), defect);
        }
    }
    return MTS_STATUS_OK;
}

/* The side as training sees it. */
static side side_trained(const mts_tie *tie, uint32_t index, const mts_parameters *parameters,
                         const mts_parameter_array **array)
{
    *array = &parameters->arrays[parameters->weight[tie->tasks[index]][tie->nodes[index]]];
    return side_of(tie, index, (*array)->layer);
}

static void row_add(const mts_tie *tie, const side *to, float *sum, const side *from, const float *row)
{
    if (!to->ins) {
        for (uint32_t j = 0; j < tie->in_count; j++) {
            sum[j] += row[j];
        }
        return;
    }
    for (uint32_t j = 0; j < tie->in_count; j++) {
        sum[to->ins[j]] += row[from->ins[j]];
    }
}

static void row_copy(const mts_tie *tie, const side *from, const float *row, const side *to, float *copy)
{
    if (!to->ins) {
        memcpy(copy, row, tie->in_count * sizeof(float));
        return;
    }
    for (uint32_t j = 0; j < tie->in_count; j++) {
        copy[to->ins[j]] = row[from->ins[j]];
    }
}

mts_status mts_ties_mark(const mts_tie *ties, uint32_t count, mts_net *const *nets, uint32_t net_count,
                         const char *const *names, const mts_frozen *frozen, mts_parameters *parameters,
                         mts_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const mts_status status = tie_mark(&ties[i], nets, net_count, names, frozen, parameters, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    return MTS_STATUS_OK;
}

bool mts_tie_moves(const mts_tie *tie, const mts_frozen *frozen)
{
    bool held = tie->frozen || tie->task_count == 0;
    for (uint32_t i = 0; i < tie->task_count; i++) {
        held = held || mts_frozen_node(frozen, tie->tasks[i], tie->nodes[i]);
    }
    return !held;
}

void mts_tie_gather(const mts_tie *tie, const mts_parameters *parameters, float *const *gradients)
{
    const mts_parameter_array *array = NULL;
    const side lead = side_trained(tie, 0, parameters, &array);
    float *sums = gradients[lead.task] + array->offset;
    for (uint32_t i = 1; i < tie->task_count; i++) {
        const side s = side_trained(tie, i, parameters, &array);
        const float *added = gradients[s.task] + array->offset;
        for (uint32_t k = 0; k < tie->out_count; k++) {
            for (size_t tap = 0; tap < lead.taps; tap++) {
                row_add(tie, &lead, sums + side_row(&lead, k, tap), &s, added + side_row(&s, k, tap));
            }
        }
    }
}

void mts_tie_spread(const mts_tie *tie, const mts_parameters *parameters)
{
    const mts_parameter_array *array = NULL;
    const side lead = side_trained(tie, 0, parameters, &array);
    const float *values = array->values;
    for (uint32_t i = 1; i < tie->task_count; i++) {
        const side s = side_trained(tie, i, parameters, &array);
        for (uint32_t k = 0; k < tie->out_count; k++) {
            for (size_t tap = 0; tap < lead.taps; tap++) {
                row_copy(tie, &lead, values + side_row(&lead, k, tap), &s,
                         array->values + side_row(&s, k, tap));
            }
        }
    }
}

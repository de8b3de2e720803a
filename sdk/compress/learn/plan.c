/*
 * plan.c: see plan.h.
 */
#include "compress/learn/plan.h"

#include <math.h>
#include <string.h>

#include "compiler/passes/clone.h"
#include "compress/train/parameters.h"
#include "compress/train/random.h"
#include "compress/zip/low_rank.h"

#define BIT(parameter) (1u << (parameter))

/* ---- the new last layer ---- */

/* Whether the scores of the base go through a softmax. */
static bool has_softmax(const mts_graph *graph, uint32_t scores)
{
    uint32_t value = graph->outputs[0].value;
    while (value != scores && graph->values[value].kind == MTS_VALUE_NODE) {
        const mts_node *node = &graph->nodes[graph->values[value].producer];
        if (node->op == MTS_OP_SOFTMAX) {
            return true;
        }
        value = node->inputs[0];
    }
    return false;
}

static mts_status head_make(const mts_task *base, const mts_head *head, uint32_t classes, mts_arena *arena,
                            mts_graph **out, mts_error *error)
{
    float *weight = mts_arena_zero(arena, (size_t)classes * head->features, sizeof *weight);
    float *bias = mts_arena_zero(arena, classes, sizeof *bias);
    const mts_head_layer layer = {.outputs = classes,
                                  .inputs = head->features,
                                  .weight = weight,
                                  .bias = bias,
                                  .softmax = has_softmax(base->graph, head->output),
                                  .prefix = "train"};
    return weight && bias ? mts_head_replace(base->graph, head->input, &layer, 1, arena, out, NULL, error)
                          : mts_fail_memory(error);
}

/* The new last layer: the only convolution that reads nothing but what the old one read, at
   the end. */
static uint32_t head_node(const mts_graph *graph)
{
    uint32_t node = graph->node_count;
    while (node-- > 0 && graph->nodes[node].op != MTS_OP_CONV) {
    }
    return node;
}

/* ---- where to cut ---- */

static bool has_weights(const mts_graph *graph, const mts_node *node)
{
    return node->op == MTS_OP_CONV ||
           (node->op == MTS_OP_MATMUL && (graph->values[node->inputs[0]].kind == MTS_VALUE_CONST ||
                                          graph->values[node->inputs[1]].kind == MTS_VALUE_CONST));
}

/* crossing[n]: values, other than constants, that nodes from n on read of what is there
   before. */
static uint32_t *count_crossing(const mts_graph *graph, mts_arena *arena)
{
    uint32_t *last = mts_arena_zero(arena, graph->value_count, sizeof *last); /* reader + 1 */
    uint32_t *crossing = mts_arena_zero(arena, (size_t)graph->node_count + 1, sizeof *crossing);
    if (!last || !crossing) {
        return NULL;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            if (graph->nodes[n].inputs[i] != MTS_NONE) {
                last[graph->nodes[n].inputs[i]] = n + 1;
            }
        }
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const mts_value *value = &graph->values[v];
        const uint32_t first = value->kind == MTS_VALUE_NODE ? value->producer + 1 : 0;
        for (uint32_t n = first; value->kind != MTS_VALUE_CONST && n < last[v]; n++) {
            crossing[n]++;
        }
    }
    return crossing;
}

/* The first node of the last `blocks` blocks in front of `head`. */
static mts_status find_cut(const mts_graph *graph, uint32_t head, uint32_t blocks, mts_arena *arena,
                           uint32_t *cut, mts_error *error)
{
    const uint32_t *crossing = count_crossing(graph, arena);
    bool weights = false;
    if (!crossing) {
        return mts_fail_memory(error);
    }
    *cut = head;
    while (*cut > 0 && blocks > 0) {
        (*cut)--;
        weights = weights || has_weights(graph, &graph->nodes[*cut]);
        if (weights && crossing[*cut] == 1) {
            blocks--;
            weights = false;
        }
    }
    return MTS_STATUS_OK;
}

/* ---- low-rank matrices ---- */

/* The rank that a layer of this shape gets: at most half of its numbers. */
static uint32_t rank_of(const mts_shape *weight, uint32_t wanted)
{
    const uint64_t rows = (uint64_t)weight->dims[0], columns = mts_shape_count(weight) / rows;
    const uint64_t most = rows * columns / 2 / (rows + columns);
    return most < wanted ? (uint32_t)most : wanted;
}

/* left is zero, so that training starts at what the base computes; rows of right have length 1. */
static bool matrices_make(mts_low_rank_layer *layer, const mts_shape *weight, uint64_t *state,
                          mts_arena *arena)
{
    const size_t rows = (size_t)weight->dims[0], columns = mts_shape_count(weight) / rows;
    float *left = mts_arena_zero(arena, rows * layer->rank, sizeof *left);
    float *right = mts_arena_zero(arena, layer->rank * columns, sizeof *right);
    if (!left || !right) {
        return false;
    }
    const float size = sqrtf(3.0f / (float)columns); /* variance of the noise: 1/3 */
    for (size_t i = 0; i < layer->rank * columns; i++) {
        right[i] = size * mts_random_signed(state);
    }
    layer->left = left;
    layer->right = right;
    return true;
}

/* Convolutions of nodes [cut, head) get matrices beside them. */
static mts_status matrices_add(mts_learn_plan *plan, uint32_t rank, uint64_t seed, mts_arena *arena,
                               mts_error *error)
{
    const mts_graph *graph = plan->whole;
    uint32_t *uses = mts_arena_zero(arena, graph->value_count, sizeof *uses);
    mts_low_rank_layer *layers = mts_arena_zero(arena, graph->node_count, sizeof *layers);
    uint32_t count = 0;
    if (!uses || !layers) {
        return mts_fail_memory(error);
    }
    mts_graph_count_uses(graph, uses);
    for (uint32_t n = plan->cut; n < plan->head; n++) {
        const mts_node *node = &graph->nodes[n];
        if (!mts_low_rank_takes(graph, node, uses)) {
            continue;
        }
        const mts_value *weight = &graph->values[node->inputs[1]];
        layers[count] = (mts_low_rank_layer){
            .node = n, .weight = weight->blocks[0].data, .rank = rank_of(&weight->shape, rank)};
        if (layers[count].rank && !matrices_make(&layers[count], &weight->shape, &seed, arena)) {
            return mts_fail_memory(error);
        }
        count += layers[count].rank ? 1 : 0;
    }
    return count ? mts_low_rank_graph(graph, layers, count, arena, &plan->whole, error)
                 : mts_fail(error, MTS_STATUS_UNSUPPORTED,
                            "no convolution of the last blocks can have low-rank matrices beside it "
                            "(float32 weights of its own, one group, large enough)");
}

/* ---- the part that is trained ---- */

static bool is_input(const mts_learn_plan *plan, uint32_t value)
{
    const mts_value *v = &plan->whole->values[value];
    return v->kind == MTS_VALUE_INPUT || (v->kind == MTS_VALUE_NODE && v->producer < plan->cut);
}

/* Inputs of the tail, in the order in which its nodes first read them. */
static mts_status tail_inputs(mts_learn_plan *plan, uint32_t *map, mts_error *error)
{
    for (uint32_t n = plan->cut; n <= plan->head; n++) {
        const mts_node *node = &plan->whole->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++) {
            const uint32_t value = node->inputs[i];
            if (value == MTS_NONE || map[value] != MTS_NONE || !is_input(plan, value)) {
                continue;
            }
            const mts_value *v = &plan->whole->values[value];
            map[value] = mts_graph_add_input(plan->tail, v->name, MTS_TYPE_FLOAT32, &v->shape);
            if (map[value] == MTS_NONE) {
                return mts_fail_memory(error);
            }
            plan->values[plan->count++] = value;
            plan->elements += mts_shape_count(&v->shape);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status tail_node(mts_learn_plan *plan, uint32_t index, uint32_t *map, mts_error *error)
{
    const mts_node *node = &plan->whole->nodes[index];
    uint32_t *inputs = mts_arena_zero(plan->tail->arena, node->input_count, sizeof *inputs);
    for (uint32_t i = 0; inputs && i < node->input_count; i++) {
        const uint32_t value = node->inputs[i];
        inputs[i] = value == MTS_NONE ? MTS_NONE : map[value];
        if (value != MTS_NONE && inputs[i] == MTS_NONE) { /* a constant that is read for the first time */
            const mts_value *v = &plan->whole->values[value];
            map[value] = mts_graph_add_const(plan->tail, v->name, v->dtype, &v->shape, v->blocks[0].data);
            inputs[i] = map[value];
            if (map[value] == MTS_NONE) {
                return mts_fail_memory(error);
            }
        }
    }
    return inputs ? mts_graph_add_node(plan->tail, node->op, node->name, inputs, node->input_count,
                                       &node->attrs, &map[node->output], error)
                  : mts_fail_memory(error);
}

static mts_status tail_make(mts_learn_plan *plan, mts_arena *arena, mts_error *error)
{
    const mts_graph *whole = plan->whole;
    uint32_t *map = mts_arena_zero(arena, whole->value_count, sizeof *map);
    plan->values = mts_arena_zero(arena, whole->value_count, sizeof *plan->values);
    plan->tail = mts_graph_create(arena, whole->name);
    if (!map || !plan->values || !plan->tail) {
        return mts_fail_memory(error);
    }
    memset(map, 0xff, whole->value_count * sizeof *map);
    mts_status status = tail_inputs(plan, map, error);
    for (uint32_t n = plan->cut; n <= plan->head && status == MTS_STATUS_OK; n++) {
        status = tail_node(plan, n, map, error);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const uint32_t scores = map[whole->nodes[plan->head].output];
    return mts_graph_add_output(plan->tail, "scores", scores, MTS_TYPE_FLOAT32,
                                &plan->tail->values[scores].shape, error);
}

/* `added`: values of the graph before matrices were added; nodes behind them are these. */
static mts_status trains_fill(mts_learn_plan *plan, mtsz_train_method method, uint32_t added,
                              mts_arena *arena, mts_error *error)
{
    const uint32_t last = plan->head - plan->cut;
    plan->trains = mts_arena_zero(arena, (size_t)last + 1, 1);
    if (!plan->trains) {
        return mts_fail_memory(error);
    }
    for (uint32_t n = 0; n < last; n++) {
        const bool matrix = plan->whole->nodes[plan->cut + n].output >= added;
        if (method != MTSZ_TRAIN_LOW_RANK) {
            plan->trains[n] = (unsigned char)(BIT(MTS_PARAMETER_COUNT) - 1);
        } else if (matrix) {
            plan->trains[n] = BIT(MTS_PARAMETER_WEIGHT);
        }
    }
    plan->trains[last] = BIT(MTS_PARAMETER_WEIGHT) | BIT(MTS_PARAMETER_BIAS);
    return MTS_STATUS_OK;
}

mts_status mts_learn_plan_make(const mts_task *base, const mts_head *head, const mtsz_train_options *wanted,
                               mts_arena *arena, mts_learn_plan *out, mts_error *error)
{
    *out = (mts_learn_plan){.features = head->features};
    mts_status status = head_make(base, head, wanted->class_count, arena, &out->whole, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const uint32_t values = out->whole->value_count;
    out->head = head_node(out->whole);
    out->cut = wanted->method == MTSZ_TRAIN_HEAD ? out->head : 0;
    if (wanted->method == MTSZ_TRAIN_LOW_RANK || wanted->method == MTSZ_TRAIN_LAST_BLOCKS) {
        status = find_cut(out->whole, out->head, wanted->blocks, arena, &out->cut, error);
    }
    if (status == MTS_STATUS_OK && wanted->method == MTSZ_TRAIN_LOW_RANK) {
        status = matrices_add(out, wanted->rank, wanted->seed, arena, error);
        out->head = head_node(out->whole);
    }
    MTS_TRY(status, tail_make(out, arena, error));
    MTS_TRY(status, trains_fill(out, wanted->method, values, arena, error));
    return status;
}

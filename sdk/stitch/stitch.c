/*
 * stitch.c: aligned rows -> layers of members, equal work merged. Not responsible for how
 * a convolution's weight blocks become tiles (tiles.c).
 */
#include "stitch/stitch.h"

#include <string.h>

typedef struct stitcher {
    const mts_stitch_request *request;
    mts_arena *arena;
    mts_stitched *out;
    mts_error *error;
} stitcher;

const mts_node *mts_member_node(const mts_stitched *stitched, const mts_member *member)
{
    return &stitched->graphs[member->graph]->nodes[member->node];
}

const mts_value *mts_member_operand(const mts_stitched *stitched, const mts_member *member, uint32_t input)
{
    const mts_node *node = mts_member_node(stitched, member);
    if (input >= node->input_count || node->inputs[input] == MTS_NONE) {
        return NULL;
    }
    return &stitched->graphs[member->graph]->values[node->inputs[input]];
}

static bool same_constant(const mts_value *a, const mts_value *b)
{
    if (a->dtype != b->dtype || !mts_shape_equal(&a->shape, &b->shape) || a->block_count != b->block_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->block_count; i++) {
        const mts_block_ref *x = &a->blocks[i];
        const mts_block_ref *y = &b->blocks[i];
        if (x->block == MTS_NONE || x->block != y->block || x->out_first != y->out_first ||
            x->out_count != y->out_count || x->in_first != y->in_first || x->in_count != y->in_count) {
            return false;
        }
    }
    return true;
}

static bool same_scatter(const mts_graph *graph, const mts_node *a, const mts_node *b)
{
    if (!a->scatter || !b->scatter) {
        return a->scatter == b->scatter;
    }
    uint32_t rows = 0;
    uint32_t in = 0;
    uint32_t inner = 0;
    mts_value_matrix(&graph->values[a->inputs[1]], &rows, &in, &inner);
    return memcmp(a->scatter, b->scatter, rows * sizeof *a->scatter) == 0;
}

/* Whether node `index` of graph g computes the same values as an existing member. */
static bool same_work(const stitcher *s, const mts_member *member, uint32_t g, uint32_t index,
                      const uint32_t *inputs)
{
    const mts_graph *a = s->request->graphs[member->graph];
    const mts_graph *b = s->request->graphs[g];
    const mts_node *x = &a->nodes[member->node];
    const mts_node *y = &b->nodes[index];
    /* nodes of a row are alike: their operator is the same */
    if (x->input_count != y->input_count ||
        !mts_shape_equal(&a->values[x->output].shape, &b->values[y->output].shape) ||
        memcmp(&x->attrs, &y->attrs, sizeof x->attrs) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < x->input_count; i++) {
        if (member->inputs[i] != inputs[i] || (x->inputs[i] == MTS_NONE) != (y->inputs[i] == MTS_NONE)) {
            return false;
        }
        if (inputs[i] == MTS_NONE && x->inputs[i] != MTS_NONE &&
            !same_constant(&a->values[x->inputs[i]], &b->values[y->inputs[i]])) {
            return false;
        }
    }
    return same_scatter(a, x, y);
}

static uint32_t add_value(stitcher *s, const mts_shape *shape, uint32_t member, uint32_t slot)
{
    mts_svalue *value = &s->out->values[s->out->value_count];
    value->shape = *shape;
    value->member = member;
    value->slot = slot;
    return s->out->value_count++;
}

/* Adds node `index` of graph g to the layer, or finds the member that already does its
   work. */
static mts_status add_node(stitcher *s, mts_layer *layer, uint32_t g, uint32_t index)
{
    mts_stitched *out = s->out;
    const mts_graph *graph = s->request->graphs[g];
    const mts_node *node = &graph->nodes[index];
    uint32_t *inputs = mts_arena_zero(s->arena, node->input_count, sizeof *inputs);
    if (!inputs) {
        return mts_fail_memory(s->error);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        inputs[i] = node->inputs[i] == MTS_NONE ? MTS_NONE : out->value_of[g][node->inputs[i]];
    }
    for (uint32_t m = layer->first; s->request->share && m < layer->first + layer->count; m++) {
        if (same_work(s, &out->members[m], g, index, inputs)) {
            out->members[m].tasks++;
            out->value_of[g][node->output] = out->members[m].output;
            return MTS_STATUS_OK;
        }
    }
    mts_member *member = &out->members[out->member_count];
    *member = (mts_member){
        .graph = g, .node = index, .tasks = 1, .input_count = node->input_count, .inputs = inputs};
    member->output = add_value(s, &graph->values[node->output].shape, out->member_count, MTS_NONE);
    out->value_of[g][node->output] = member->output;
    out->member_count++;
    layer->count++;
    return MTS_STATUS_OK;
}

static mts_status add_group(stitcher *s, uint32_t group)
{
    const mts_stitch_request *request = s->request;
    uint32_t *members = mts_arena_zero(s->arena, request->graph_count, sizeof *members);
    const mts_graph **graphs = mts_arena_zero(s->arena, request->graph_count, sizeof *graphs);
    if (!members || !graphs) {
        return mts_fail_memory(s->error);
    }
    uint32_t count = 0;
    for (uint32_t g = 0; g < request->graph_count; g++) {
        if (request->group_of[g] == group) {
            members[count] = g;
            graphs[count++] = request->graphs[g];
        }
    }
    if (count == 0) {
        return MTS_STATUS_OK;
    }
    mts_alignment rows;
    mts_status status = mts_graph_align(graphs, count, s->arena, &rows, s->error);
    for (uint32_t r = 0; status == MTS_STATUS_OK && r < rows.row_count; r++) {
        mts_layer *layer = &s->out->layers[s->out->layer_count];
        *layer = (mts_layer){.group = group, .first = s->out->member_count};
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
            const uint32_t index = rows.nodes[(size_t)r * count + i];
            if (index != MTS_NONE) {
                layer->op = graphs[i]->nodes[index].op;
                status = add_node(s, layer, members[i], index);
            }
        }
        s->out->layer_count++; /* a row has a node, and the first of them is a member */
    }
    return status;
}

static mts_status add_inputs(stitcher *s)
{
    const mts_stitch_request *request = s->request;
    for (uint32_t g = 0; g < request->graph_count; g++) {
        const mts_graph *graph = request->graphs[g];
        for (uint32_t i = 0; i < graph->input_count; i++) {
            const uint32_t slot = request->slot_of[g][i];
            uint32_t found = MTS_NONE;
            for (uint32_t v = 0; v < s->out->value_count && found == MTS_NONE; v++) {
                if (s->out->values[v].slot == slot) {
                    found = v;
                }
            }
            const uint32_t value = graph->inputs[i].value;
            if (found == MTS_NONE) {
                found = add_value(s, &graph->values[value].shape, MTS_NONE, slot);
            }
            s->out->value_of[g][value] = found;
        }
    }
    return MTS_STATUS_OK;
}

static mts_status allocate(stitcher *s)
{
    const mts_stitch_request *request = s->request;
    mts_stitched *out = mts_arena_zero(s->arena, 1, sizeof *out);
    if (!out) {
        return mts_fail_memory(s->error);
    }
    size_t nodes = 0;
    size_t values = 0;
    out->value_of = mts_arena_zero(s->arena, request->graph_count, sizeof *out->value_of);
    for (uint32_t g = 0; out->value_of && g < request->graph_count; g++) {
        const uint32_t count = request->graphs[g]->value_count;
        nodes += request->graphs[g]->node_count;
        values += count;
        out->value_of[g] = mts_arena_zero(s->arena, count, sizeof **out->value_of);
        if (!out->value_of[g]) {
            return mts_fail_memory(s->error);
        }
        memset(out->value_of[g], 0xff, count * sizeof **out->value_of);
    }
    if (nodes >= MTS_NONE || values >= MTS_NONE) {
        return mts_fail(s->error, MTS_STATUS_LIMIT, "too many nodes to stitch (%zu)", nodes);
    }
    out->values = mts_arena_zero(s->arena, values, sizeof *out->values);
    out->members = mts_arena_zero(s->arena, nodes, sizeof *out->members);
    out->layers = mts_arena_zero(s->arena, nodes, sizeof *out->layers);
    if (!out->value_of || !out->values || !out->members || !out->layers) {
        return mts_fail_memory(s->error);
    }
    out->graphs = request->graphs;
    out->graph_count = request->graph_count;
    out->group_count = request->group_count;
    out->shared = request->share;
    s->out = out;
    return MTS_STATUS_OK;
}

mts_status mts_stitch(const mts_stitch_request *request, mts_arena *arena, mts_stitched **out,
                      mts_error *error)
{
    *out = NULL;
    stitcher s = {.request = request, .arena = arena, .error = error};
    mts_status status = allocate(&s);
    MTS_TRY(status, add_inputs(&s));
    for (uint32_t group = 0; status == MTS_STATUS_OK && group < request->group_count; group++) {
        status = add_group(&s, group);
    }
    if (status == MTS_STATUS_OK) {
        *out = s.out;
    }
    return status;
}

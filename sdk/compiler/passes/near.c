/*
 * near.c: see near.h.
 */
#include "compiler/passes/near.h"

#include <math.h>
#include <string.h>

/* A constant as float32, with the scale its differences are measured by. */
typedef struct dense {
    float *data; /* on the allocator */
    size_t count, rows;
    float largest;
} dense;

static mts_value *operand(mts_graph *graph, uint32_t node, uint32_t index)
{
    const mts_node *n = &graph->nodes[node];
    if (index >= n->input_count || n->inputs[index] == MTS_NONE) {
        return NULL;
    }
    mts_value *value = &graph->values[n->inputs[index]];
    const bool real = value->dtype == MTS_TYPE_FLOAT32 || value->dtype == MTS_TYPE_FLOAT16;
    return value->kind == MTS_VALUE_CONST && value->block_count == 1 && real ? value : NULL;
}

static bool dense_read(const mts_allocator *allocator, const mts_value *value, dense *out)
{
    uint32_t rows = 0, columns = 0, inner = 0;
    mts_value_matrix(value, &rows, &columns, &inner);
    *out = (dense){.count = mts_shape_count(&value->shape), .rows = rows};
    out->data = mts_alloc_zero(allocator, out->count, sizeof(*out->data));
    if (!out->data) {
        return false;
    }
    mts_value_read_f32(value, out->data);
    for (size_t i = 0; i < out->count; i++) {
        out->largest = fmaxf(out->largest, fabsf(out->data[i]));
    }
    return true;
}

/* Largest difference of two ranges; infinite if a number is none. */
static float distance(const float *a, const float *b, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        const float d = fabsf(a[i] - b[i]);
        if (!(d <= largest)) {
            largest = d;
        }
        if (!isfinite(d)) {
            return INFINITY;
        }
    }
    return largest;
}

static void raise(double *deviation, float by)
{
    *deviation = (double)by > *deviation ? (double)by : *deviation;
}

/* Filters of `own` that are near `other`'s take its values; the constant becomes float32
 * if its type differs.
 */
static bool merge_rows(mts_graph *graph, mts_value *own, const dense *a, const dense *b, float limit,
                       double *deviation)
{
    const size_t row = a->count / a->rows;
    size_t merged = 0;
    for (size_t r = 0; r < a->rows; r++) {
        const float d = distance(a->data + r * row, b->data + r * row, row);
        if (d > limit || d == 0.0f) {
            continue;
        }
        memcpy(b->data + r * row, a->data + r * row, row * sizeof(float));
        raise(deviation, d);
        merged++;
    }
    if (merged == 0) {
        return true;
    }
    float *data = mts_arena_zero(graph->arena, b->count, sizeof(*data));
    if (!data) {
        return false;
    }
    memcpy(data, b->data, b->count * sizeof(*data));
    own->blocks[0].data = data;
    return true;
}

static bool merge_pair(mts_graph *graph, const mts_value *other, mts_value *own, const dense *a, bool *merged,
                       bool rows, float tolerance, double *deviation)
{
    dense b = {0};
    if (!dense_read(graph->arena->allocator, own, &b)) {
        return false;
    }
    const float limit = tolerance * a->largest;
    const float d = distance(a->data, b.data, a->count);
    bool done = true;
    *merged = d <= limit;
    if (*merged) {
        own->blocks[0].data = other->blocks[0].data;
        own->dtype = other->dtype;
        raise(deviation, d);
    } else if (rows && own->dtype == MTS_TYPE_FLOAT32 && other->dtype == MTS_TYPE_FLOAT32) {
        done = merge_rows(graph, own, a, &b, limit, deviation);
    }
    mts_alloc_free(graph->arena->allocator, b.data);
    return done;
}

/* Whether a constant of another type may take this place. */
static bool types_fit(const mts_node *node, uint32_t index, mts_type a, mts_type b)
{
    return a == b || (index == 1 && (node->op == MTS_OP_CONV || node->op == MTS_OP_DECONV));
}

/* Operand `index` of the task `first` against that of all later tasks of the row. */
static bool merge_onto(mts_graph *const *graphs, const uint32_t *row, uint32_t count, uint32_t first,
                       uint32_t index, float tolerance, double *deviation, bool *settled)
{
    mts_graph *graph = graphs[first];
    const mts_value *other = operand(graph, row[first], index);
    const mts_node *node = &graph->nodes[row[first]];
    dense a = {0};
    if (!other || settled[first]) {
        return true;
    }
    bool done = dense_read(graph->arena->allocator, other, &a);
    for (uint32_t t = first + 1; t < count && done; t++) {
        mts_value *own = row[t] == MTS_NONE || settled[t] ? NULL : operand(graphs[t], row[t], index);
        if (own && own != other && mts_shape_equal(&own->shape, &other->shape) &&
            types_fit(node, index, own->dtype, other->dtype)) {
            done = merge_pair(graphs[t], other, own, &a, &settled[t], node->op == MTS_OP_CONV && index == 1,
                              tolerance, deviation);
        }
    }
    mts_alloc_free(graph->arena->allocator, a.data);
    return done;
}

static bool merge_row(mts_graph *const *graphs, const uint32_t *row, uint32_t count, float tolerance,
                      double *deviation, bool *settled)
{
    uint32_t operands = 0;
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t inputs = row[t] == MTS_NONE ? 0 : graphs[t]->nodes[row[t]].input_count;
        operands = inputs > operands ? inputs : operands;
    }
    bool done = true;
    for (uint32_t index = 0; index < operands && done; index++) {
        memset(settled, 0, count * sizeof(*settled));
        for (uint32_t t = 0; t + 1 < count && done; t++) {
            done =
                row[t] == MTS_NONE || merge_onto(graphs, row, count, t, index, tolerance, deviation, settled);
        }
    }
    return done;
}

mts_status mts_merge_near(mts_graph *const *graphs, const mts_alignment *rows, float tolerance,
                          double *deviation, mts_error *error)
{
    const uint32_t count = rows->graph_count;
    const mts_allocator *allocator = graphs[0]->arena->allocator;
    bool *settled = mts_alloc_zero(allocator, count, sizeof(*settled));
    bool done = settled;
    for (uint32_t row = 0; row < rows->row_count && done; row++) {
        done = merge_row(graphs, &rows->nodes[(size_t)row * count], count, tolerance, deviation, settled);
    }
    mts_alloc_free(allocator, settled);
    return done ? MTS_STATUS_OK : mts_fail_memory(error);
}

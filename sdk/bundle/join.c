/*
 * join.c: see join.h. Blocks are found again by the hash of their content, and compared byte
 * by byte: a hash alone would let a crafted bundle take the place of another one's weights.
 */
#include "bundle/join.h"

#ifndef MTS_SMALL

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "bundle/attrs.h"

typedef struct joiner {
    const mts_archive *base, *extra;
    mts_archive *made;
    mts_map map;      /* of made->blocks */
    uint32_t *number; /* [block of extra]: in made */
    mts_error *error;
} joiner;

static bool same_block(const void *blocks, uint32_t index, const void *key)
{
    const mts_block *a = &((const mts_block *)blocks)[index];
    const mts_block *b = key;
    return a->size == b->size && a->dtype == b->dtype && a->hash == b->hash &&
           (a->data == b->data || memcmp(a->data, b->data, a->size) == 0);
}

static bool add_block(joiner *j, const mts_block *block, uint32_t *number)
{
    *number = j->made->block_count;
    j->made->blocks[j->made->block_count++] = *block;
    return mts_map_add(&j->map, block->hash, *number);
}

/* The first archive's blocks keep their numbers, also where two of them are equal. */
static mts_status join_blocks(joiner *j)
{
    const mts_archive_limits limits = mts_archive_limits_default();
    const uint64_t most = (uint64_t)j->base->block_count + j->extra->block_count;
    if (most > limits.blocks) {
        return mts_fail(j->error, MTS_STATUS_LIMIT,
                        "together the bundles have %llu blocks, at most %u are allowed",
                        (unsigned long long)most, limits.blocks);
    }
    j->made->blocks = mts_arena_zero(&j->made->arena, (size_t)most, sizeof *j->made->blocks);
    j->number = mts_arena_zero(&j->made->arena, j->extra->block_count, sizeof *j->number);
    bool done = j->made->blocks && j->number;
    for (uint32_t i = 0; done && i < j->base->block_count; i++) {
        uint32_t ignored = 0;
        done = add_block(j, &j->base->blocks[i], &ignored);
    }
    for (uint32_t i = 0; done && i < j->extra->block_count; i++) {
        const mts_block *block = &j->extra->blocks[i];
        const uint32_t known = mts_map_find(&j->map, block->hash, same_block, j->made->blocks, block);
        j->number[i] = known;
        done = known != MTS_MAP_NONE || add_block(j, block, &j->number[i]);
    }
    return done ? MTS_STATUS_OK : mts_fail_memory(j->error);
}

/* A graph of the second archive whose constants name the joined blocks. All but the values is
   that archive's own. */
static mts_graph *renumber(joiner *j, const mts_graph *graph)
{
    mts_arena *arena = &j->made->arena;
    mts_graph *made = mts_arena_zero(arena, 1, sizeof *made);
    mts_value *values = mts_arena_zero(arena, graph->value_count, sizeof *values);
    if (!made || !values) {
        return NULL;
    }
    *made = *graph;
    made->arena = arena;
    made->names = NULL;
    made->values = values;
    memcpy(values, graph->values, graph->value_count * sizeof *values);
    for (uint32_t v = 0; v < graph->value_count; v++) {
        mts_value *value = &values[v];
        if (value->kind != MTS_VALUE_CONST) {
            continue;
        }
        mts_block_ref *refs = mts_arena_zero(arena, value->block_count, sizeof *refs);
        if (!refs) {
            return NULL;
        }
        memcpy(refs, value->blocks, value->block_count * sizeof *refs);
        for (uint32_t b = 0; b < value->block_count; b++) {
            refs[b].block = j->number[refs[b].block];
            refs[b].data = j->made->blocks[refs[b].block].data;
        }
        value->blocks = refs;
    }
    return made;
}

static mts_status join_task(joiner *j, const mts_task *task, mts_join_same same)
{
    uint32_t at = mts_archive_find(j->made, task->name);
    if (at != MTS_NONE && same == MTS_JOIN_REFUSE) {
        return mts_fail(j->error, MTS_STATUS_INVALID_ARGUMENT, "both bundles have a task '%s'", task->name);
    }
    at = at != MTS_NONE ? at : j->made->task_count++;
    j->made->tasks[at] = *task;
    j->made->tasks[at].graph = renumber(j, task->graph);
    return j->made->tasks[at].graph ? MTS_STATUS_OK : mts_fail_memory(j->error);
}

static mts_status join_tasks(joiner *j, mts_join_same same)
{
    const mts_archive_limits limits = mts_archive_limits_default();
    const uint64_t most = (uint64_t)j->base->task_count + j->extra->task_count;
    if (most > limits.tasks) {
        return mts_fail(j->error, MTS_STATUS_LIMIT,
                        "together the bundles have %llu tasks, at most %u are allowed",
                        (unsigned long long)most, limits.tasks);
    }
    j->made->tasks = mts_arena_zero(&j->made->arena, (size_t)most, sizeof *j->made->tasks);
    mts_status status = j->made->tasks ? MTS_STATUS_OK : mts_fail_memory(j->error);
    if (status == MTS_STATUS_OK) {
        memcpy(j->made->tasks, j->base->tasks, j->base->task_count * sizeof *j->made->tasks);
        j->made->task_count = j->base->task_count;
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < j->extra->task_count; i++) {
        status = join_task(j, &j->extra->tasks[i], same);
    }
    return status;
}

mts_status mts_archive_join(const mts_archive *base, const mts_archive *extra, mts_join_same same,
                            const mts_allocator *allocator, mts_archive **out, mts_error *error)
{
    joiner j = {.base = base, .extra = extra, .error = error};
    *out = NULL;
    j.made = mts_archive_create(allocator);
    if (!j.made) {
        return mts_fail_memory(error);
    }
    mts_map_init(&j.map, allocator);
    mts_status status = join_blocks(&j);
    MTS_TRY(status, join_tasks(&j, same));
    mts_map_release(&j.map);
    if (status != MTS_STATUS_OK) {
        mts_archive_destroy(&j.made);
        return status;
    }
    j.made->hash = mts_hash(&extra->hash, sizeof extra->hash, base->hash + (uint64_t)same);
    *out = j.made;
    return MTS_STATUS_OK;
}

/* ---- equal tasks ---- */

static bool equal_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool equal_values(const mts_value *a, const mts_value *b)
{
    bool equal = a->kind == b->kind && a->dtype == b->dtype && a->block_count == b->block_count &&
                 mts_shape_equal(&a->shape, &b->shape);
    for (uint32_t i = 0; equal && i < a->block_count; i++) {
        const mts_block_ref *x = &a->blocks[i];
        const mts_block_ref *y = &b->blocks[i];
        equal = x->block == y->block && x->out_first == y->out_first && x->out_count == y->out_count &&
                x->in_first == y->in_first && x->in_count == y->in_count;
    }
    return equal;
}

static bool equal_nodes(const mts_graph *graph, const mts_node *a, const mts_node *b)
{
    uint32_t x[MTS_ATTRS_WORDS_MAX];
    uint32_t y[MTS_ATTRS_WORDS_MAX];
    if (a->op != b->op || a->input_count != b->input_count || a->output != b->output ||
        memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) != 0 ||
        (a->scatter != NULL) != (b->scatter != NULL)) {
        return false;
    }
    mts_attrs_encode(a->op, &a->attrs, x);
    mts_attrs_encode(b->op, &b->attrs, y);
    const size_t rows = a->scatter ? (size_t)graph->values[a->inputs[1]].shape.dims[0] : 0;
    return memcmp(x, y, mts_attrs_words(a->op) * sizeof *x) == 0 &&
           (rows == 0 || memcmp(a->scatter, b->scatter, rows * sizeof *a->scatter) == 0);
}

static bool equal_ports(const mts_port *a, const mts_port *b, uint32_t count)
{
    bool equal = true;
    for (uint32_t i = 0; equal && i < count; i++) {
        equal = equal_text(a[i].name, b[i].name) && a[i].value == b[i].value && a[i].dtype == b[i].dtype &&
                mts_shape_equal(&a[i].shape, &b[i].shape);
    }
    return equal;
}

static bool equal_graphs(const mts_graph *a, const mts_graph *b)
{
    bool equal = a->value_count == b->value_count && a->node_count == b->node_count &&
                 a->input_count == b->input_count && a->output_count == b->output_count;
    for (uint32_t v = 0; equal && v < a->value_count; v++) {
        equal = equal_values(&a->values[v], &b->values[v]);
    }
    for (uint32_t n = 0; equal && n < a->node_count; n++) {
        equal = equal_nodes(a, &a->nodes[n], &b->nodes[n]);
    }
    return equal && equal_ports(a->inputs, b->inputs, a->input_count) &&
           equal_ports(a->outputs, b->outputs, a->output_count);
}

bool mts_task_equal(const mts_task *a, const mts_task *b)
{
    bool equal = mts_preprocess_same(&a->preprocess, &b->preprocess) && a->label_count == b->label_count &&
                 a->class_count == b->class_count && equal_graphs(a->graph, b->graph) &&
                 (a->class_count == 0 ||
                  memcmp(a->class_map, b->class_map, a->class_count * sizeof *a->class_map) == 0);
    for (uint32_t i = 0; equal && i < a->label_count; i++) {
        equal = equal_text(a->labels[i], b->labels[i]);
    }
    return equal;
}

#endif

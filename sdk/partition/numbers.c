/*
 * numbers.c: values are numbered by what they are computed of. The key of a node's output
 * is its operator, its attributes, the numbers of its inputs and the blocks of its
 * constants; keys are compared byte by byte, so that no two different values share one.
 */
#include "partition/numbers.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"

typedef struct key {
    unsigned char *bytes;
    size_t size;
} key;

typedef struct numbering {
    mts_units *units;
    mts_arena *arena;
    mts_map map;
    key *keys; /* of each number */
    size_t key_capacity, value_capacity;
    /* The key that is being made. */
    key next;
    size_t next_capacity;
    bool failed;
} numbering;

static void put(numbering *n, const void *data, size_t size)
{
    void *array = n->next.bytes;
    if (n->failed || size == 0) {
        return;
    }
    if (!mts_arena_grow(n->arena, &array, &n->next_capacity, n->next.size + size, 1)) {
        n->failed = true;
        return;
    }
    n->next.bytes = array;
    memcpy(n->next.bytes + n->next.size, data, size);
    n->next.size += size;
}

static void put_number(numbering *n, uint64_t number)
{
    put(n, &number, sizeof number);
}

/* A constant is what its blocks are; its name is not part of it. */
static void put_constant(numbering *n, const mts_value *value)
{
    put_number(n, (uint64_t)value->dtype);
    put_number(n, value->shape.rank);
    put(n, value->shape.dims, value->shape.rank * sizeof *value->shape.dims);
    put_number(n, value->block_count);
    for (uint32_t b = 0; b < value->block_count; b++) {
        const mts_block_ref *ref = &value->blocks[b];
        const uint32_t parts[] = {ref->block, ref->out_first, ref->out_count, ref->in_first, ref->in_count};
        put(n, parts, sizeof parts);
        if (ref->block == MTS_NONE) {
            put_number(n, (uint64_t)(uintptr_t)ref->data);
        }
    }
}

static bool same_key(const void *entries, uint32_t index, const void *data)
{
    const key *a = &((const key *)entries)[index];
    const key *b = data;
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static uint32_t add_number(numbering *n, uint32_t task, uint32_t value)
{
    mts_units *u = n->units;
    void *keys = n->keys;
    void *values = u->values;
    if (!mts_arena_grow(n->arena, &keys, &n->key_capacity, (size_t)u->value_count + 1, sizeof *n->keys) ||
        !mts_arena_grow(n->arena, &values, &n->value_capacity, (size_t)u->value_count + 1,
                        sizeof *u->values)) {
        n->failed = true;
        return MTS_NONE;
    }
    n->keys = keys;
    u->values = values;
    n->keys[u->value_count] = n->next;
    const mts_shape *shape = &mts_units_graph(u, task)->values[value].shape;
    u->values[u->value_count] = (mts_unit_value){.unit = MTS_NONE,
                                                 .last_reader = MTS_NONE,
                                                 .bytes = (uint64_t)mts_shape_count(shape) * sizeof(float),
                                                 .task = task,
                                                 .value = value};
    n->failed = n->failed || !mts_map_add(&n->map, mts_hash(n->next.bytes, n->next.size, 0), u->value_count);
    n->next = (key){0}; /* its bytes stay */
    n->next_capacity = 0;
    return u->value_count++;
}

/* The number of the key that was made. */
static uint32_t find_number(numbering *n, uint32_t task, uint32_t value)
{
    if (n->failed) {
        return MTS_NONE;
    }
    const uint32_t known =
        mts_map_find(&n->map, mts_hash(n->next.bytes, n->next.size, 0), same_key, n->keys, &n->next);
    if (known == MTS_MAP_NONE) {
        return add_number(n, task, value);
    }
    n->next.size = 0;
    return known;
}

/* The first task whose input of this index holds the same data. */
static uint32_t input_owner(const mts_units *u, uint32_t task, uint32_t input)
{
    for (uint32_t t = 0; t < task && !u->separate_inputs; t++) {
        if (mts_archive_same_input(u->archive, u->tasks[task], u->tasks[t], input)) {
            return t;
        }
    }
    return task;
}

static void number_inputs(numbering *n, uint32_t task)
{
    const mts_graph *graph = mts_units_graph(n->units, task);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const uint32_t value = graph->inputs[i].value;
        put_number(n, UINT64_MAX);
        put_number(n, input_owner(n->units, task, i));
        put_number(n, i);
        n->units->number_of[task][value] = find_number(n, task, value);
    }
}

static void number_node(numbering *n, uint32_t task, const mts_node *node)
{
    const mts_graph *graph = mts_units_graph(n->units, task);
    const mts_value *output = &graph->values[node->output];
    uint32_t *numbers = n->units->number_of[task];
    put_number(n, (uint64_t)node->op);
    put(n, &node->attrs, sizeof node->attrs);
    put_number(n, output->shape.rank);
    put(n, output->shape.dims, output->shape.rank * sizeof *output->shape.dims);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t value = node->inputs[i];
        const bool constant = value != MTS_NONE && graph->values[value].kind == MTS_VALUE_CONST;
        put_number(n, value == MTS_NONE ? 0 : constant ? 1 : 2);
        if (constant) {
            put_constant(n, &graph->values[value]);
        } else if (value != MTS_NONE) {
            put_number(n, numbers[value]);
        }
    }
    if (node->scatter) {
        put(n, node->scatter, (size_t)graph->values[node->inputs[1]].shape.dims[0] * sizeof *node->scatter);
    }
    numbers[node->output] = find_number(n, task, node->output);
}

mts_status mts_units_number(mts_units *units, mts_arena *arena, mts_error *error)
{
    numbering n = {.units = units, .arena = arena};
    mts_map_init_arena(&n.map, arena);
    for (uint32_t t = 0; t < units->task_count && !n.failed; t++) {
        const mts_graph *graph = mts_units_graph(units, t);
        units->number_of[t] = mts_arena_zero(arena, graph->value_count, sizeof **units->number_of);
        if (!units->number_of[t]) {
            return mts_fail_memory(error);
        }
        for (uint32_t v = 0; v < graph->value_count; v++) {
            units->number_of[t][v] = MTS_NONE;
        }
        number_inputs(&n, t);
        for (uint32_t i = 0; i < graph->node_count && !n.failed; i++) {
            number_node(&n, t, &graph->nodes[i]);
        }
    }
    return n.failed ? mts_fail_memory(error) : MTS_STATUS_OK;
}

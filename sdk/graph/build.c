/*
 * build.c: appends values, nodes and ports to a graph.
 *
 * A node is checked completely before it is appended (infer.c, check.c), so a graph built here is valid by
 * construction; mts_graph_verify is for graphs that come from a file.
 */
#include "graph/infer.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* Arena arrays grow by copying; the old copy stays until the arena goes, at most as much again. */
static bool grow(mts_arena *arena, void **array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) {
        return true;
    }
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *bigger = mts_arena_zero(arena, wanted, size);
    if (!bigger) {
        return false;
    }
    if (count) {
        memcpy(bigger, *array, count * size);
    }
    *array = bigger;
    *capacity = wanted;
    return true;
}

/* ---- names ---- */

/* The names that values have. A set of strings and not of values: passes exchange the names of two values. */
struct mts_graph_names {
    const char **slots; /* open addressing; NULL: free, `gone`: was taken */
    size_t size, used;  /* used: not free */
};

static const char gone[] = "";

/* The slot of a name, or the free one where it belongs. */
static size_t find_name(const mts_graph_names *names, const char *name)
{
    size_t at = (size_t)mts_hash(name, strlen(name), 0) & (names->size - 1);
    while (names->slots[at] && (names->slots[at] == gone || strcmp(names->slots[at], name) != 0)) {
        at = (at + 1) & (names->size - 1);
    }
    return at;
}

/* Room for `count` more names; the set is made anew from the values when it is missing or full. */
static bool reserve_names(mts_graph *graph, uint32_t count)
{
    const size_t wanted = (size_t)graph->value_count + count;
    if (graph->names && (graph->names->used + count) * 2 <= graph->names->size) {
        return true;
    }
    mts_graph_names *names = mts_arena_zero(graph->arena, 1, sizeof(*names));
    size_t size = 64;
    while (size < wanted * 4) {
        size *= 2;
    }
    const char **slots = names ? mts_arena_zero(graph->arena, size, sizeof(*slots)) : NULL;
    if (!slots) {
        return false;
    }
    *names = (mts_graph_names){.slots = slots, .size = size};
    for (uint32_t i = 0; i < graph->value_count; i++) {
        slots[find_name(names, graph->values[i].name)] = graph->values[i].name;
        names->used++;
    }
    graph->names = names;
    return true;
}

static bool name_exists(const mts_graph *graph, const char *name)
{
    return graph->names->slots[find_name(graph->names, name)];
}

/* After reserve_names. */
static void enter_name(mts_graph *graph, const char *name)
{
    graph->names->slots[find_name(graph->names, name)] = name;
    graph->names->used++;
}

static void leave_name(mts_graph *graph, const char *name)
{
    graph->names->slots[find_name(graph->names, name)] = gone;
}

/* `name`, or if it is absent or taken: one made from the value's number. NULL: no memory. */
static const char *unique_name(mts_graph *graph, const char *name)
{
    if (!reserve_names(graph, 1)) {
        return NULL;
    }
    if (name && *name && !name_exists(graph, name)) {
        return mts_arena_string(graph->arena, name);
    }
    char made[32];
    uint32_t number = graph->value_count;
    do {
        snprintf(made, sizeof(made), "value%u", number++);
    } while (name_exists(graph, made));
    return mts_arena_string(graph->arena, made);
}

/* ---- values ---- */

static uint32_t add_value(mts_graph *graph, const char *name, mts_value_kind kind, mts_type dtype,
                          const mts_shape *shape)
{
    void *array = graph->values;
    const char *own = unique_name(graph, name);
    if (!own || graph->value_count >= MTS_GRAPH_NODES_MAX ||
        !grow(graph->arena, &array, &graph->value_capacity, graph->value_count, sizeof(*graph->values))) {
        return MTS_NONE;
    }
    graph->values = array;
    enter_name(graph, own);
    graph->values[graph->value_count] =
        (mts_value){.name = own, .kind = kind, .dtype = dtype, .shape = *shape, .producer = MTS_NONE};
    return graph->value_count++;
}

static mts_port *add_port(mts_arena *arena, mts_port **ports, uint32_t *count)
{
    /* few ports: the array is copied for each */
    mts_port *bigger = mts_arena_zero(arena, (size_t)*count + 1, sizeof(*bigger));
    if (!bigger) {
        return NULL;
    }
    if (*count) {
        memcpy(bigger, *ports, *count * sizeof(*bigger));
    }
    *ports = bigger;
    return &bigger[(*count)++];
}

mts_graph *mts_graph_create(mts_arena *arena, const char *name)
{
    mts_graph *graph = mts_arena_zero(arena, 1, sizeof(*graph));
    if (!graph) {
        return NULL;
    }
    graph->arena = arena;
    graph->name = mts_arena_string(arena, name ? name : "");
    return graph->name ? graph : NULL;
}

uint32_t mts_graph_add_input(mts_graph *graph, const char *name, mts_type dtype, const mts_shape *shape)
{
    uint32_t value = add_value(graph, name, MTS_VALUE_INPUT, dtype, shape);
    if (value == MTS_NONE) {
        return MTS_NONE;
    }
    mts_port *port = add_port(graph->arena, &graph->inputs, &graph->input_count);
    if (!port) {
        leave_name(graph, graph->values[--graph->value_count].name);
        return MTS_NONE;
    }
    *port = (mts_port){.name = graph->values[value].name, .value = value, .dtype = dtype, .shape = *shape};
    return value;
}

uint32_t mts_graph_add_const(mts_graph *graph, const char *name, mts_type dtype, const mts_shape *shape,
                             const void *data)
{
    mts_block_ref *block = mts_arena_zero(graph->arena, 1, sizeof(*block));
    uint32_t value = block ? add_value(graph, name, MTS_VALUE_CONST, dtype, shape) : MTS_NONE;
    if (value == MTS_NONE) {
        return MTS_NONE;
    }
    uint32_t inner = 0;
    block->block = MTS_NONE;
    block->data = data;
    mts_value_matrix(&graph->values[value], &block->out_count, &block->in_count, &inner);
    graph->values[value].blocks = block;
    graph->values[value].block_count = 1;
    return value;
}

mts_status mts_graph_add_node(mts_graph *graph, mts_op op, const char *name, const uint32_t *inputs,
                              uint32_t input_count, const mts_attrs *attrs, uint32_t *value, mts_error *error)
{
    mts_node node = {.op = op, .input_count = input_count, .output = MTS_NONE, .attrs = *attrs};
    node.name = mts_arena_string(graph->arena, name ? name : "");
    node.inputs = mts_arena_zero(graph->arena, input_count, sizeof(*node.inputs));
    if (!node.name || !node.inputs) {
        return mts_fail_memory(error);
    }
    if (input_count) {
        memcpy(node.inputs, inputs, input_count * sizeof(*inputs));
    }
    mts_shape shape = {0};
    mts_status code = mts_graph_check_node(graph, &node, &shape, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (graph->node_count >= MTS_GRAPH_NODES_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "more than %u nodes", MTS_GRAPH_NODES_MAX);
    }
    void *array = graph->nodes;
    if (!grow(graph->arena, &array, &graph->node_capacity, graph->node_count, sizeof(*graph->nodes))) {
        return mts_fail_memory(error);
    }
    graph->nodes = array;
    node.output = add_value(graph, NULL, MTS_VALUE_NODE, MTS_TYPE_FLOAT32, &shape);
    if (node.output == MTS_NONE) {
        return mts_fail_memory(error);
    }
    graph->values[node.output].producer = graph->node_count;
    graph->nodes[graph->node_count++] = node;
    *value = node.output;
    return MTS_STATUS_OK;
}

bool mts_graph_name_value(mts_graph *graph, uint32_t value, const char *name)
{
    if (*name == '\0') {
        return true;
    }
    if (!reserve_names(graph, 1)) {
        return false;
    }
    if (name_exists(graph, name)) {
        return true;
    }
    const char *own = mts_arena_string(graph->arena, name);
    if (own) {
        leave_name(graph, graph->values[value].name);
        graph->values[value].name = own;
        enter_name(graph, own);
    }
    return own;
}

mts_status mts_graph_add_output(mts_graph *graph, const char *name, uint32_t value, mts_type dtype,
                                const mts_shape *shape, mts_error *error)
{
    if (value >= graph->value_count) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "output '%s' has no value", name);
    }
    mts_status code = mts_graph_check_shape(shape, error);
    if (code != MTS_STATUS_OK) {
        return mts_fail_prefix(error, code, "output '%s'", name);
    }
    if (mts_shape_count(shape) != mts_shape_count(&graph->values[value].shape)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "output '%s' has another element count than its value",
                        name);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        if (strcmp(graph->outputs[i].name, name) == 0) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "two outputs are named '%s'", name);
        }
    }
    const char *own = mts_arena_string(graph->arena, name);
    mts_port *port = own ? add_port(graph->arena, &graph->outputs, &graph->output_count) : NULL;
    if (!port) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for output '%s'", name);
    }
    *port = (mts_port){.name = own, .value = value, .dtype = dtype, .shape = *shape};
    return MTS_STATUS_OK;
}

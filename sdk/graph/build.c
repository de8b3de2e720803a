/*
 * build.c: appends values, nodes and ports to a graph.
 *
 * A node is checked completely before it is appended (check.c), so a graph built here is
 * valid by construction; mts_graph_verify is for graphs that come from a file.
 */
#include "graph/check.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "graph/limits.h"

/* ---- names ---- */

/* The names that values have. A set of strings and not of values: passes exchange the
   names of two values. */
struct mts_graph_names {
    mts_map map; /* indices of `names` */
    /* An entry is NULL once its value has another name. */
    const char **names;
    size_t capacity;
    uint32_t count;
    uint32_t next; /* number of the next name that is made */
};

static bool same_name(const void *entries, uint32_t index, const void *key)
{
    const char *const *names = entries;
    return names[index] && strcmp(names[index], key) == 0;
}

/* Index in the set, or MTS_MAP_NONE. */
static uint32_t find_name(const mts_graph *graph, const char *name)
{
    return mts_map_find(&graph->names->map, mts_hash_text(name), same_name, graph->names->names, name);
}

static bool enter_name(mts_arena *arena, mts_graph_names *names, const char *name)
{
    void *array = names->names;
    if (!mts_arena_grow(arena, &array, &names->capacity, (size_t)names->count + 1, sizeof *names->names)) {
        return false;
    }
    names->names = array;
    if (!mts_map_add(&names->map, mts_hash_text(name), names->count)) {
        return false;
    }
    MTS_CHECK(names->map.count == (size_t)names->count + 1);
    names->names[names->count++] = name;
    return true;
}

static void leave_name(mts_graph *graph, const char *name)
{
    const uint32_t index = find_name(graph, name);
    if (index != MTS_MAP_NONE) {
        graph->names->names[index] = NULL;
    }
}

/* Makes the set from the values if the graph has none, as a copied graph. */
static bool need_names(mts_graph *graph)
{
    if (graph->names) {
        return true;
    }
    mts_graph_names *names = mts_arena_zero(graph->arena, 1, sizeof *names);
    bool done = names;
    if (done) {
        mts_map_init_arena(&names->map, graph->arena);
    }
    for (uint32_t i = 0; done && i < graph->value_count; i++) {
        done = enter_name(graph->arena, names, graph->values[i].name);
    }
    graph->names = done ? names : NULL;
    return done;
}

/* `name`, or if it is absent or taken: one made from the value's number. NULL: no
   memory. */
static const char *unique_name(mts_graph *graph, const char *name)
{
    if (!need_names(graph)) {
        return NULL;
    }
    if (name && *name && find_name(graph, name) == MTS_MAP_NONE) {
        return mts_arena_string(graph->arena, name);
    }
    char made[32];
    uint32_t *next = &graph->names->next; /* those before it are taken, or were */
    *next = *next < graph->value_count ? graph->value_count : *next;
    do {
        snprintf(made, sizeof made, "value%u", (*next)++);
    } while (find_name(graph, made) != MTS_MAP_NONE);
    return mts_arena_string(graph->arena, made);
}

/* ---- values ---- */

static uint32_t add_value(mts_graph *graph, const char *name, mts_value_kind kind, mts_type dtype,
                          const mts_shape *shape)
{
    void *array = graph->values;
    const char *own = unique_name(graph, name);
    if (!own || graph->value_count >= MTS_GRAPH_NODES_MAX ||
        !mts_arena_grow(graph->arena, &array, &graph->value_capacity, (size_t)graph->value_count + 1,
                        sizeof *graph->values)) {
        return MTS_NONE;
    }
    graph->values = array; /* the capacity is its own, also where the name finds no memory */
    if (!enter_name(graph->arena, graph->names, own)) {
        return MTS_NONE;
    }
    graph->values[graph->value_count] =
        (mts_value){.name = own, .kind = kind, .dtype = dtype, .shape = *shape, .producer = MTS_NONE};
    return graph->value_count++;
}

static mts_port *add_port(mts_arena *arena, mts_port **ports, uint32_t *count, size_t *capacity)
{
    void *array = *ports;
    *capacity = *capacity < *count ? *count : *capacity; /* that of a copied graph */
    if (*count >= MTS_GRAPH_PORTS_MAX ||
        !mts_arena_grow(arena, &array, capacity, (size_t)*count + 1, sizeof **ports)) {
        return NULL;
    }
    *ports = array;
    return &(*ports)[(*count)++];
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
    mts_port *port = add_port(graph->arena, &graph->inputs, &graph->input_count, &graph->input_capacity);
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
    mts_status status = mts_graph_check_node(graph, &node, &shape, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (graph->node_count >= MTS_GRAPH_NODES_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "more than %u nodes", MTS_GRAPH_NODES_MAX);
    }
    void *array = graph->nodes;
    if (!mts_arena_grow(graph->arena, &array, &graph->node_capacity, (size_t)graph->node_count + 1,
                        sizeof *graph->nodes)) {
        return mts_fail_memory(error);
    }
    graph->nodes = array;
    node.output = add_value(graph, NULL, MTS_VALUE_NODE, MTS_TYPE_FLOAT32, &shape);
    if (node.output == MTS_NONE) {
        return mts_fail_memory(error);
    }
    MTS_CHECK(mts_shape_equal(&graph->values[node.output].shape, &shape));
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
    if (!need_names(graph)) {
        return false;
    }
    if (find_name(graph, name) != MTS_MAP_NONE) {
        return true;
    }
    const char *own = mts_arena_string(graph->arena, name);
    if (!own || !enter_name(graph->arena, graph->names, own)) {
        return false;
    }
    leave_name(graph, graph->values[value].name);
    graph->values[value].name = own;
    return true;
}

mts_status mts_graph_add_output(mts_graph *graph, const char *name, uint32_t value, mts_type dtype,
                                const mts_shape *shape, mts_error *error)
{
    if (value >= graph->value_count) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "output '%s' has no value", name);
    }
    mts_status status = mts_graph_check_shape(shape, error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "output '%s'", name);
    }
    if (mts_shape_count(shape) != mts_shape_count(&graph->values[value].shape)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "output '%s' has another element count than its value",
                        name);
    }
    if (graph->output_count >= MTS_GRAPH_PORTS_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "more than %u outputs", MTS_GRAPH_PORTS_MAX);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        if (strcmp(graph->outputs[i].name, name) == 0) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "two outputs are named '%s'", name);
        }
    }
    const char *own = mts_arena_string(graph->arena, name);
    mts_port *port =
        own ? add_port(graph->arena, &graph->outputs, &graph->output_count, &graph->output_capacity) : NULL;
    if (!port) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for output '%s'", name);
    }
    *port = (mts_port){.name = own, .value = value, .dtype = dtype, .shape = *shape};
    return MTS_STATUS_OK;
}

/*
 * names.c: the names of a scope: the node that produces each, and its value once that is
 * defined. A branch sees the names of the scopes around it; a function does not.
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "base/hash.h"

#define TENSORS_PER_NODE 4u /* initialisers, for each node that the limit allows */

static bool same_name(const void *entries, uint32_t index, const void *key)
{
    const mts_import_name *names = entries;
    return strcmp(names[index].name, key) == 0;
}

void mts_import_begin(mts_import *import, mts_import_scope *scope, mts_import_scope *outer,
                      Onnx__NodeProto *const *nodes, size_t node_count)
{
    *scope = (mts_import_scope){.outer = outer, .nodes = nodes, .node_count = node_count};
    mts_map_init_arena(&scope->name_map, &import->scratch);
    import->scope = scope;
}

static mts_import_name *find_in(const mts_import_scope *scope, const char *name)
{
    const uint32_t index = mts_map_find(&scope->name_map, mts_hash_text(name), same_name, scope->names, name);
    return index == MTS_MAP_NONE ? NULL : &scope->names[index];
}

mts_import_name *mts_import_find(mts_import *import, const char *name)
{
    return find_in(import->scope, name);
}

mts_import_name *mts_import_intern(mts_import *import, const char *name)
{
    mts_import_scope *scope = import->scope;
    mts_import_name *found = find_in(scope, name);
    if (found) {
        return found;
    }
    const size_t count = scope->name_map.count;
    void *names = scope->names;
    const bool grown =
        mts_arena_grow(&import->scratch, &names, &scope->name_capacity, count + 1, sizeof *scope->names);
    scope->names = names;
    if (!grown || !mts_map_add(&scope->name_map, mts_hash_text(name), (uint32_t)count)) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for names");
        return NULL;
    }
    scope->names[count] = (mts_import_name){.name = name, .producer = MTS_NONE};
    return &scope->names[count];
}

mts_import_value *mts_import_lookup(mts_import *import, const char *name)
{
    mts_import_name *entry = NULL;
    for (const mts_import_scope *scope = import->scope; scope && !entry; scope = scope->outer) {
        entry = find_in(scope, name);
    }
    if (entry && entry->refused) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "'%s': %s", name, entry->refused);
        return NULL;
    }
    if (entry && entry->absent) {
        return NULL;
    }
    if (entry && !entry->value && entry->tensor) {
        entry->value = mts_import_from_proto(import, entry->tensor);
        return entry->value;
    }
    if (!entry || !entry->value) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "'%s' is not defined before it is used", name);
        return NULL;
    }
    return entry->value;
}

void mts_import_name_initialisers(mts_import *import, const Onnx__GraphProto *graph)
{
    const size_t most = (size_t)TENSORS_PER_NODE * import->options->nodes_most;
    if (graph->n_initializer > most) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "%zu initialisers, the limit is %zu", graph->n_initializer,
                        most);
    }
    for (size_t i = 0; i < graph->n_initializer && mts_import_ok(import); i++) {
        const Onnx__TensorProto *tensor = graph->initializer[i];
        mts_import_name *entry = mts_import_intern(import, tensor->name ? tensor->name : "");
        if (entry && entry->tensor) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "two initialisers are named '%s'", entry->name);
        } else if (entry) {
            entry->tensor = tensor;
        }
    }
    if (graph->n_sparse_initializer) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "sparse initialisers are not supported");
    }
}

const char *const *mts_import_output_names(mts_import *import, const Onnx__GraphProto *graph)
{
    const char **names = mts_arena_zero(&import->scratch, graph->n_output, sizeof *names);
    if (!names) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for names");
        return NULL;
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        names[i] = graph->output[i]->name ? graph->output[i]->name : "";
    }
    return names;
}

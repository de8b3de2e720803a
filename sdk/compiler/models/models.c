/*
 * models.c: see models.h.
 */
#include "compiler/models/models.h"

#include <string.h>

#include "compiler/models/write.h"
#include "compiler/passes/clone.h"

/* Copies the blocks of a constant into one. Row r of its matrix goes to row scatter[r],
 * if there is such a list. */
static bool join_blocks(mts_graph *graph, mts_value *value, const uint32_t *scatter)
{
    uint32_t rows = 0, columns = 0, inner = 0;
    mts_value_matrix(value, &rows, &columns, &inner);
    const size_t cell = inner * mts_type_size(value->dtype);
    unsigned char *whole = mts_arena_zero(graph->arena, (size_t)rows * columns, cell);
    mts_block_ref *ref = mts_arena_zero(graph->arena, 1, sizeof(*ref));
    if (!whole || !ref) {
        return false;
    }
    for (uint32_t b = 0; b < value->block_count; b++) {
        const mts_block_ref *block = &value->blocks[b];
        const size_t length = block->in_count * cell;
        for (uint32_t r = 0; r < block->out_count; r++) {
            const uint32_t row = scatter ? scatter[block->out_first + r] : block->out_first + r;
            memcpy(whole + ((size_t)row * columns + block->in_first) * cell,
                   (const unsigned char *)block->data + r * length, length);
        }
    }
    *ref = (mts_block_ref){.block = MTS_NONE, .out_count = rows, .in_count = columns, .data = whole};
    value->blocks = ref;
    value->block_count = 1;
    return true;
}

/* Where other nodes read the weight too, in their own order, the node gets a constant of
   its own. */
static uint32_t own_weight(mts_graph *graph, uint32_t weight, uint32_t *uses)
{
    if (uses[weight] == 1) {
        return weight;
    }
    uses[weight]--;
    const mts_value shared = graph->values[weight];
    const uint32_t own = mts_graph_add_const(graph, NULL, shared.dtype, &shared.shape, shared.blocks[0].data);
    if (own != MTS_NONE) {
        graph->values[own].blocks = shared.blocks;
        graph->values[own].block_count = shared.block_count;
    }
    return own;
}

static bool restore_orders(mts_graph *graph)
{
    uint32_t *uses = mts_arena_zero(graph->arena, graph->value_count, sizeof(*uses));
    if (!uses) {
        return false;
    }
    mts_graph_count_uses(graph, uses);
    bool done = true;
    for (uint32_t n = 0; n < graph->node_count && done; n++) {
        mts_node *node = &graph->nodes[n];
        if (node->scatter) {
            const uint32_t weight = own_weight(graph, node->inputs[1], uses);
            done = weight != MTS_NONE && join_blocks(graph, &graph->values[weight], node->scatter);
            node->inputs[1] = weight;
            node->scatter = NULL;
        }
    }
    return done;
}

static bool make_whole(mts_graph *graph)
{
    bool done = restore_orders(graph);
    for (uint32_t v = 0; v < graph->value_count && done; v++) {
        mts_value *value = &graph->values[v];
        if (value->block_count > 1) {
            done = join_blocks(graph, value, NULL);
        } else if (value->block_count == 1) {
            value->blocks[0].block = MTS_NONE;
        }
    }
    return done;
}

static mts_status copy_tasks(mts_models *models, mts_error *error)
{
    const mts_archive *archive = models->archive;
    models->tasks = mts_arena_zero(&models->arena, archive->task_count, sizeof(*models->tasks));
    models->arenas = mts_arena_zero(&models->arena, archive->task_count, sizeof(*models->arenas));
    if (!models->tasks || !models->arenas) {
        return mts_fail_memory(error);
    }
    for (; models->count < archive->task_count; models->count++) {
        mts_task *task = &models->tasks[models->count];
        mts_arena *arena = &models->arenas[models->count];
        mts_arena_init(arena, models->allocator);
        *task = archive->tasks[models->count];
        task->graph = mts_graph_clone(task->graph, arena);
        if (!task->graph || !make_whole(task->graph)) {
            models->count++; /* its arena has to be released */
            return mts_fail_memory(error);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_models_open(const char *path, const mts_allocator *allocator, mts_models *out,
                           mts_error *error)
{
    memset(out, 0, sizeof(*out));
    out->allocator = allocator;
    mts_arena_init(&out->arena, allocator);
    if (!path || !*path) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the path of the bundle is missing");
    }
    out->path = mts_arena_string(&out->arena, path);
    if (!out->path) {
        return mts_fail_memory(error);
    }
    mts_status status = mts_os_map_file(path, &out->map, error);
    MTS_TRY(status, mts_archive_read(out->map.size ? out->map.data : NULL, out->map.size, path, NULL,
                                     allocator, &out->archive, error));
    MTS_TRY(status, copy_tasks(out, error));
    return status;
}

void mts_models_release(mts_models *models)
{
    for (uint32_t t = 0; t < models->count; t++) {
        mts_arena_release(&models->arenas[t]);
    }
    if (models->allocator) {
        mts_arena_release(&models->arena);
        mts_archive_destroy(&models->archive);
        mts_os_unmap(&models->map);
    }
    memset(models, 0, sizeof(*models));
}

mts_status mts_models_find(const mts_models *models, const char *name, uint32_t *task, mts_error *error)
{
    *task = mts_archive_find(models->archive, name);
    return *task != MTS_NONE ? MTS_STATUS_OK
                             : mts_fail(error, MTS_STATUS_NOT_FOUND, "%s: there is no task '%.255s' in it",
                                        models->path, name);
}

mts_status mts_models_check_output(const mts_models *models, const char *path, mts_error *error)
{
    if (!path || !*path) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the path of the bundle to write is missing");
    }
    if (mts_os_file_same(models->path, path)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "%s: is the bundle that is read; write another file", path);
    }
    return MTS_STATUS_OK;
}

mts_status mts_models_write(const mts_models *models, const mts_task *tasks, uint32_t count, const char *path,
                            const mtsc_options *options, mtsc_summary *summary, mts_error *error)
{
    const mts_status status = mts_models_check_output(models, path, error);
    mtsc_options quiet = *options; /* the method reports progress itself */
    quiet.progress = NULL;
    return status == MTS_STATUS_OK
               ? mts_tasks_write(tasks, count, &quiet, path, models->allocator, summary, error)
               : status;
}

mts_status mts_models_count(const mts_models *models, const mts_task *tasks, uint32_t count,
                            const mtsc_options *options, mtsc_summary *summary, mts_error *error)
{
    mtsc_options quiet = *options;
    quiet.progress = NULL;
    return mts_tasks_write(tasks, count, &quiet, NULL, models->allocator, summary, error);
}

/*
 * net.c: graphs as a bundle in memory, and one run of it. Not responsible for making graphs or comparing
 * outputs.
 */
#include "support/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/passes/clone.h"
#include "compiler/passes/discover.h"
#include "compiler/passes/pool.h"
#include "support/second_device.h"
#include "support/touch.h"

mts_status net_device_open(const char *backend, const char *cache, mts_device **out, mts_error *error)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    const char *name = second_device_backend(backend);
    const mts_device_options options = {.allocator = mts_allocator_default(),
                                        .cache_dir = cache ? second_device_cache(name, cache) : NULL};
    *out = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i]->name, name) == 0 && table[i]->count() > 0) {
            const mts_status status = table[i]->open(0, &options, out, error);
            const bool touches =
                status == MTS_STATUS_OK && (*out)->info.overlaps && getenv("MTS_TEST_TOUCHES");
            return touches ? mts_wrap_touch(out, error) : status;
        }
    }
    return mts_fail(error, MTS_STATUS_NOT_FOUND, "no device of backend %s", backend);
}

static mts_status fill_archive(const mts_graph *const *graphs, uint32_t count, mts_archive *archive,
                               mts_error *error)
{
    archive->tasks = mts_arena_zero(&archive->arena, count, sizeof *archive->tasks);
    for (uint32_t i = 0; archive->tasks && i < count; i++) {
        mts_task *task = &archive->tasks[i];
        char name[16];
        (void)snprintf(name, sizeof name, "t%u", i);
        task->name = mts_arena_string(&archive->arena, name);
        task->graph = mts_graph_clone(graphs[i], &archive->arena);
        for (int c = 0; c < 4; c++) {
            task->preprocess.std[c] = 1.0f;
        }
        if (!task->name || !task->graph) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory for an archive");
        }
        archive->task_count++;
    }
    return archive->tasks ? MTS_STATUS_OK
                          : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory for an archive");
}

/* Numbers the blocks of all constants, equal bytes alike. */
static mts_status number_blocks(mts_archive *archive, mts_error *error)
{
    mts_pool pool;
    bool good = true;
    mts_pool_init(&pool, mts_allocator_default());
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            const mts_value *value = &graph->values[v];
            uint32_t out = 0, in = 0, inner = 0;
            mts_value_matrix(value, &out, &in, &inner);
            for (uint32_t b = 0; good && b < value->block_count; b++) {
                mts_block_ref *ref = &value->blocks[b];
                const size_t cells = (size_t)ref->out_count * ref->in_count * inner;
                good = mts_pool_add(&pool, ref->data, cells * mts_type_size(value->dtype), value->dtype,
                                    &ref->block);
            }
        }
    }
    archive->blocks = good ? mts_arena_zero(&archive->arena, pool.count, sizeof *archive->blocks) : NULL;
    if (archive->blocks) {
        if (pool.count > 0) {
            memcpy(archive->blocks, pool.blocks, pool.count * sizeof *pool.blocks);
        }
        archive->block_count = (uint32_t)pool.count;
    }
    mts_pool_release(&pool);
    return archive->blocks ? MTS_STATUS_OK
                           : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory for blocks");
}

static mts_status make(const mts_graph *const *graphs, uint32_t count, const mts_discover_options *options,
                       test_net *out, mts_error *error)
{
    const mts_allocator *allocator = mts_allocator_default();
    mts_discover_report report = {0};
    *out = (test_net){.bytes = {.allocator = allocator}};
    mts_archive *archive = mts_archive_create(allocator);
    if (!archive) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory for an archive");
    }
    mts_status code = fill_archive(graphs, count, archive, error);
    if (code == MTS_STATUS_OK) {
        code = options ? mts_discover(archive, options, &report, error) : number_blocks(archive, error);
    }
    if (code == MTS_STATUS_OK) {
        code = mts_bundle_encode(archive, allocator, &out->bytes, error);
    }
    if (code == MTS_STATUS_OK) {
        code =
            mts_archive_read(out->bytes.data, out->bytes.size, "net", NULL, allocator, &out->archive, error);
    }
    mts_archive_destroy(&archive);
    out->weight_bytes = report.bytes;
    out->weight_bytes_unshared = report.bytes_unshared;
    if (code != MTS_STATUS_OK) {
        net_release(out);
    }
    return code;
}

mts_status net_make(const mts_graph *const *graphs, uint32_t count, float tolerance, test_net *out,
                    mts_error *error)
{
    const mts_discover_options options = {.tolerance = tolerance};
    return make(graphs, count, &options, out, error);
}

mts_status net_make_as_is(const mts_graph *const *graphs, uint32_t count, test_net *out, mts_error *error)
{
    return make(graphs, count, NULL, out, error);
}

void net_release(test_net *net)
{
    mts_archive_destroy(&net->archive);
    mts_bundle_bytes_release(&net->bytes);
}

mts_status net_engine_run(mts_engine *engine, const test_net *net, const void *const *const *inputs,
                          mts_error *error)
{
    mts_status code = MTS_STATUS_OK;
    for (uint32_t t = 0; t < net->archive->task_count && code == MTS_STATUS_OK; t++) {
        const mts_graph *graph = net->archive->tasks[t].graph;
        for (uint32_t i = 0; i < graph->input_count && code == MTS_STATUS_OK; i++) {
            size_t size = 0;
            (void)mts_shape_bytes(&graph->inputs[i].shape, graph->inputs[i].dtype, &size);
            code = mts_engine_set_input(engine, t, i, inputs[t][i], size, error);
        }
    }
    if (code == MTS_STATUS_OK) {
        code = mts_engine_submit(engine, error);
    }
    return code == MTS_STATUS_OK ? mts_engine_wait(engine, error) : code;
}

const float *net_output(const mts_engine *engine, const test_net *net, uint32_t task, uint32_t output,
                        size_t *count)
{
    const mts_port *port = &net->archive->tasks[task].graph->outputs[output];
    const void *data = NULL;
    size_t size = 0;
    *count = mts_shape_count(&port->shape);
    if (port->dtype != MTS_TYPE_FLOAT32 ||
        mts_engine_output(engine, task, output, &data, &size, NULL) != MTS_STATUS_OK ||
        size != *count * sizeof(float)) {
        return NULL;
    }
    return data;
}

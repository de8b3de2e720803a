/*
 * collect.c: see collect.h.
 */
#include "compress/split/collect.h"

#include <string.h>

#include "compress/net/threads.h"

#define BATCH 50u                      /* images a job at most: several jobs a processor */
#define RUNS_BYTES ((size_t)512 << 20) /* of all workers' runs */

typedef struct collector {
    const mts_net *net;
    mts_data *data;
    uint32_t task, images, batch; /* images of a job */
    const mts_collect *wanted;
    uint32_t count;
    mts_net_run **runs; /* [worker], made when first needed */
} collector;

static mts_status collect_batch(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    const collector *c = context;
    const mts_graph *graph = mts_net_graph(c->net);
    const uint32_t first = job * c->batch;
    const uint32_t images = c->images - first < c->batch ? c->images - first : c->batch;
    uint32_t indices[BATCH];
    mts_status status =
        c->runs[worker] ? MTS_STATUS_OK
                        : mts_net_run_create(c->net, c->batch, MTS_NET_INFERENCE, &c->runs[worker], error);
    for (uint32_t i = 0; i < images; i++) {
        indices[i] = first + i;
    }
    MTS_TRY(status, mts_data_feed(c->data, c->task, c->runs[worker], indices, images, NULL, error));
    MTS_TRY(status, mts_net_run_forward(c->runs[worker], images, 0, graph->node_count, error));
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < c->count; i++) {
        const size_t elements = mts_shape_count(&graph->values[c->wanted[i].value].shape);
        memcpy(c->wanted[i].out + first * elements, mts_net_run_value(c->runs[worker], c->wanted[i].value),
               images * elements * sizeof(float));
    }
    return status;
}

mts_status mts_collect_values(const mts_net *net, mts_data *data, uint32_t task, const mts_collect *wanted,
                              uint32_t count, const mts_allocator *allocator, mts_error *error)
{
    const uint32_t workers = mts_threads_count();
    collector c = {.net = net,
                   .data = data,
                   .task = task,
                   .images = mts_data_count(data),
                   .batch = BATCH,
                   .wanted = wanted,
                   .count = count,
                   .runs = mts_alloc_zero(allocator, workers, sizeof *c.runs)};
    if (!c.runs) {
        return mts_fail_memory(error);
    }
    while (c.batch > 1 && mts_net_run_bytes(net, c.batch, MTS_NET_INFERENCE) > RUNS_BYTES / workers) {
        c.batch /= 2;
    }
    const uint32_t jobs = (c.images + c.batch - 1) / c.batch;
    const mts_status status = mts_threads_run(jobs, collect_batch, &c, error);
    for (uint32_t i = 0; i < workers; i++) {
        mts_net_run_destroy(&c.runs[i]);
    }
    mts_alloc_free(allocator, c.runs);
    return status;
}

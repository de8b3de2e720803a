/*
 * tail_features.c: what the last layer of a tail reads before training, to start it from a
 * linear classifier.
 */
#include "compress/learn/tail_inputs.h"
#include "compress/learn/tails.h"
#include "compress/net/threads.h"

#define BATCH 32u

typedef struct collector {
    const mts_learn_plan *plan;
    const mts_net *net;
    const float *features;
    uint32_t rows;
    float *out;
    mts_net_run **runs; /* [worker] */
} collector;

static mts_status collect_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    const collector *c = context;
    const mts_graph *tail = c->plan->tail;
    const uint32_t first = job * BATCH, head = tail->node_count - 1;
    const uint32_t count = c->rows - first < BATCH ? c->rows - first : BATCH;
    mts_status status = c->runs[worker]
                            ? MTS_STATUS_OK
                            : mts_net_run_create(c->net, BATCH, MTS_NET_INFERENCE, &c->runs[worker], error);
    if (status == MTS_STATUS_OK) {
        mts_tail_feed(c->plan, c->features, NULL, first, count, c->runs[worker]);
        status = mts_net_run_forward(c->runs[worker], count, 0, head, error);
    }
    if (status == MTS_STATUS_OK) {
        memcpy(c->out + (size_t)first * c->plan->features,
               mts_net_run_value(c->runs[worker], tail->nodes[head].inputs[0]),
               (size_t)count * c->plan->features * sizeof(float));
    }
    return status;
}

mts_status mts_tail_features(const mts_learn_plan *plan, const float *features, uint32_t rows, float *out,
                             const mts_allocator *allocator, mts_error *error)
{
    mts_net *net = NULL;
    collector c = {.plan = plan, .features = features, .rows = rows, .out = out};
    mts_status status = mts_net_create(plan->tail, allocator, &net, error);
    c.net = net;
    c.runs = mts_alloc_zero(allocator, mts_threads_count(), sizeof *c.runs);
    if (status == MTS_STATUS_OK && !c.runs) {
        status = mts_fail_memory(error);
    }
    MTS_TRY(status, mts_threads_run((rows + BATCH - 1) / BATCH, collect_job, &c, error));
    for (uint32_t i = 0; c.runs && i < mts_threads_count(); i++) {
        mts_net_run_destroy(&c.runs[i]);
    }
    mts_alloc_free(allocator, c.runs);
    mts_net_destroy(&net);
    return status;
}

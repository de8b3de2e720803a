/*
 * features.c: what the frozen part of a network computes of all rows, once for all
 * candidates.
 */
#include <stdio.h>
#include <string.h>

#include "compiler/models/options.h"
#include "compress/learn/learn.h"
#include "compress/net/threads.h"

#define BATCH 32u                      /* rows a job at most */
#define JOBS_OF_A_PART 16u             /* between two calls of the progress callback */
#define RUNS_BYTES ((size_t)512 << 20) /* of all workers' runs */

typedef struct part {
    const mts_learn *learn;
    const mts_net *net;
    uint32_t end, first, batch; /* nodes; row of the part's first job; rows of a job */
    const uint32_t *values;
    uint32_t count;
    size_t elements; /* of all values of a row */
    float *out;
    mts_net_run **runs; /* [worker], made when first needed */
} part;

/* Puts one value of all rows of a job in its place. */
static void scatter(const part *p, mts_net_run *run, uint32_t value, size_t offset, uint32_t first,
                    uint32_t count)
{
    const size_t elements = mts_shape_count(&mts_net_graph(p->net)->values[value].shape);
    const float *from = mts_net_run_value(run, value);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(p->out + (first + i) * p->elements + offset, from + i * elements, elements * sizeof *from);
    }
}

static mts_status part_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    const part *p = context;
    const mts_rows *rows = &p->learn->rows;
    const uint32_t first = p->first + job * p->batch;
    const uint32_t count = rows->count - first < p->batch ? rows->count - first : p->batch;
    mts_status status =
        p->runs[worker] ? MTS_STATUS_OK
                        : mts_net_run_create(p->net, p->batch, MTS_NET_INFERENCE, &p->runs[worker], error);
    MTS_TRY(status, mts_data_feed(p->learn->data, 0, p->runs[worker], rows->images + first, count,
                                  rows->changes + first, error));
    MTS_TRY(status, mts_net_run_forward(p->runs[worker], count, 0, p->end, error));
    size_t offset = 0;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->count; i++) {
        scatter(p, p->runs[worker], p->values[i], offset, first, count);
        offset += mts_shape_count(&mts_net_graph(p->net)->values[p->values[i]].shape);
    }
    return status;
}

static mts_status parts_run(part *p, mts_error *error)
{
    const uint32_t rows = p->learn->rows.count;
    mts_status status = MTS_STATUS_OK;
    for (; status == MTS_STATUS_OK && p->first < rows; p->first += JOBS_OF_A_PART * p->batch) {
        char what[96];
        const uint32_t left = (rows - p->first + p->batch - 1) / p->batch;
        (void)snprintf(what, sizeof what, "the frozen part: image %u of %u", p->first, rows);
        status = mts_options_progress(p->learn->options, 0.5f * (float)p->first / (float)rows, what, error);
        MTS_TRY(status, mts_threads_run(left < JOBS_OF_A_PART ? left : JOBS_OF_A_PART, part_job, p, error));
    }
    return status;
}

mts_status mts_features_run(const mts_learn *learn, const mts_net *net, uint32_t end, const uint32_t *values,
                            uint32_t count, float *out, mts_error *error)
{
    const uint32_t workers = mts_threads_count();
    part p = {.learn = learn,
              .net = net,
              .end = end,
              .batch = BATCH,
              .values = values,
              .count = count,
              .out = out,
              .runs = mts_alloc_zero(learn->allocator, workers, sizeof *p.runs)};
    if (!p.runs) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        p.elements += mts_shape_count(&mts_net_graph(net)->values[values[i]].shape);
    }
    while (p.batch > 1 && mts_net_run_bytes(net, p.batch, MTS_NET_INFERENCE) > RUNS_BYTES / workers) {
        p.batch /= 2;
    }
    const mts_status status = parts_run(&p, error);
    for (uint32_t i = 0; i < workers; i++) {
        mts_net_run_destroy(&p.runs[i]);
    }
    mts_alloc_free(learn->allocator, p.runs);
    return status;
}

/*
 * run.c: the memory of a batch and the walk over the nodes.
 *
 * Images do not depend on each other, so a few of them pass through all nodes together,
 * as many as the processor's second-level cache holds of the largest values, before the
 * next ones start.
 */
#include <string.h>

#include "base/size.h"
#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

#define CHUNK_FLOATS ((size_t)256 << 10) /* of the largest node's inputs and output together */

/* ---- creation ---- */

static bool takes_room(const mts_graph *graph, uint32_t value)
{
    return graph->values[value].kind != MTS_VALUE_CONST;
}

static uint32_t chunk_of(const mts_graph *graph, uint32_t batch)
{
    size_t most = 1;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_node *node = &graph->nodes[i];
        size_t sum = mts_net_elements(graph, node->output);
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] != MTS_NONE && takes_room(graph, node->inputs[k])) {
                sum += mts_net_elements(graph, node->inputs[k]);
            }
        }
        most = sum > most ? sum : most;
    }
    uint32_t chunk = 1; /* a power of two, so that usual batches need primitives of one size only */
    while (chunk < batch && chunk * most * 2 <= CHUNK_FLOATS) {
        chunk *= 2;
    }
    return chunk;
}

static bool make_values(mts_net_run *run)
{
    const mts_graph *graph = run->net->graph;
    run->values = mts_arena_zero(&run->arena, graph->value_count, sizeof *run->values);
    run->convs = mts_arena_zero(&run->arena, graph->node_count, sizeof *run->convs);
    bool good = run->values && run->convs;
    for (uint32_t i = 0; i < graph->value_count && good; i++) {
        size_t count = 0;
        if (takes_room(graph, i)) {
            good = mts_size_mul(mts_net_elements(graph, i), run->batch, &count);
            run->values[i] = good ? mts_net_floats(&run->arena, count) : NULL;
            good = run->values[i];
        }
    }
    return good;
}

static mts_status fill_run(mts_net_run *run, mts_error *error)
{
    if (!make_values(run)) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %u images of '%s'",
                        run->batch, run->net->graph->name);
    }
    const mts_status status = mts_cpu_create(run->allocator, &run->cpu, error);
    return status == MTS_STATUS_OK && run->mode == MTS_NET_TRAINING ? mts_backward_prepare(run, error)
                                                                    : status;
}

mts_status mts_net_run_create(const mts_net *net, uint32_t batch, mts_net_mode mode, mts_net_run **out,
                              mts_error *error)
{
    *out = NULL;
    if (batch == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a batch of no images");
    }
    mts_net_run *run = mts_alloc_zero(net->allocator, 1, sizeof *run);
    if (!run) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a run of '%s'",
                        net->graph->name);
    }
    run->net = net;
    run->allocator = net->allocator;
    run->batch = batch;
    run->mode = mode;
    run->chunk = chunk_of(net->graph, batch);
    mts_arena_init(&run->arena, run->allocator);
    const mts_status status = fill_run(run, error);
    if (status != MTS_STATUS_OK) {
        mts_net_run_destroy(&run);
        return status;
    }
    *out = run;
    return MTS_STATUS_OK;
}

void mts_net_run_destroy(mts_net_run **run)
{
    if (!run || !*run) {
        return;
    }
    const mts_allocator *allocator = (*run)->allocator;
    for (uint32_t i = 0; (*run)->convs && i < (*run)->net->graph->node_count; i++) {
        mts_conv_destroy(allocator, &(*run)->convs[i]);
    }
    mts_cpu_destroy(allocator, &(*run)->cpu);
    mts_alloc_free(allocator, (*run)->scratch);
    mts_arena_release(&(*run)->arena);
    mts_alloc_free(allocator, *run);
    *run = NULL;
}

static bool add_product(size_t a, size_t b, size_t *sum)
{
    size_t product = 0;
    return mts_size_mul(a, b, &product) && mts_size_add(*sum, product, sum);
}

size_t mts_net_run_bytes(const mts_net *net, uint32_t batch, mts_net_mode mode)
{
    const mts_graph *graph = net->graph;
    size_t per_image = 0, floats = 0, bytes = 0;
    bool fits = true;
    for (uint32_t i = 0; i < graph->value_count && fits; i++) {
        fits = !takes_room(graph, i) || mts_size_add(per_image, mts_net_elements(graph, i), &per_image);
    }
    if (fits && mode == MTS_NET_TRAINING) {
        fits = mts_backward_room(graph, &per_image);
    }
    fits = fits && mts_size_mul(per_image, batch, &floats);
    /* weights as oneDNN needs them: forwards; backwards for data, and the gradient, in
       its order and ours */
    const size_t copies = mode == MTS_NET_TRAINING ? 4 : 1;
    for (uint32_t i = 0; i < graph->node_count && fits; i++) {
        fits = add_product(mts_net_weights(graph, &graph->nodes[i]), copies, &floats);
    }
    return fits && mts_size_mul(floats, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

/* ---- running ---- */

float *mts_net_run_input(mts_net_run *run, uint32_t index)
{
    return run->values[run->net->graph->inputs[index].value];
}

void mts_net_run_copy_inputs(mts_net_run *run, mts_net_run *from, uint32_t images)
{
    const mts_graph *graph = run->net->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        memcpy(mts_net_run_input(run, i), mts_net_run_input(from, i),
               images * mts_net_elements(graph, graph->inputs[i].value) * sizeof(float));
    }
}

float *mts_net_run_value(mts_net_run *run, uint32_t value)
{
    return run->values[value];
}

/* A node for the images from `first` on that pass through the nodes together. */
static mts_step step_at(mts_net_run *run, uint32_t node, uint32_t first, uint32_t images, mts_error *error)
{
    return (mts_step){.run = run,
                      .node = &run->net->graph->nodes[node],
                      .index = node,
                      .first = first,
                      .count = images - first < run->chunk ? images - first : run->chunk,
                      .error = error};
}

mts_status mts_net_run_forward(mts_net_run *run, uint32_t images, uint32_t first, uint32_t end,
                               mts_error *error)
{
    const mts_graph *graph = run->net->graph;
    if (images > run->batch || end > graph->node_count) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%u images of %u, nodes up to %u of %u", images,
                        run->batch, end, graph->node_count);
    }
    for (uint32_t image = 0; image < images; image += run->chunk) {
        for (uint32_t i = first; i < end; i++) {
            const mts_step step = step_at(run, i, image, images, error);
            const mts_status status = mts_net_ops[step.node->op].forward(&step);
            if (status != MTS_STATUS_OK) {
                return mts_fail_prefix(error, status, "node '%s'", mts_node_title(graph, step.node));
            }
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_net_run_linear(mts_net_run *run, uint32_t images, uint32_t node, bool raw, float *out,
                              mts_error *error)
{
    const mts_graph *graph = run->net->graph;
    if (images > run->batch || node >= graph->node_count || graph->nodes[node].op != MTS_OP_CONV) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "node %u is no convolution, or %u images of %u",
                        node, images, run->batch);
    }
    const size_t elements = mts_net_elements(graph, graph->nodes[node].output);
    for (uint32_t image = 0; image < images; image += run->chunk) {
        const mts_step step = step_at(run, node, image, images, error);
        const mts_status status = mts_conv_linear(&step, raw, out + image * elements);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(error, status, "node '%s'", mts_node_title(graph, step.node));
        }
    }
    return MTS_STATUS_OK;
}

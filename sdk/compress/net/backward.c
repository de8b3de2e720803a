/*
 * backward.c: which values have gradients, and the walk over the nodes from the outputs
 * to the inputs.
 *
 * A value needs a gradient if parameters lie before it and an output behind it. So no
 * convolution computes the gradient of an image.
 */
#include <string.h>

#include "base/size.h"
#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

/* Why gradients cannot pass, or NULL. */
static const char *defect(const mts_node *node)
{
    const mts_act *act = mts_node_act(node);
    if (act && !mts_act_has_derivative(act)) {
        return "its element function has no derivative";
    }
    if (node->op == MTS_OP_BINARY && node->attrs.binary.kind >= MTS_BIN_ALONE) {
        return "a comparison or a remainder has no derivative";
    }
    return NULL;
}

/* Whether the derivative of a node's activation needs more than the node's result. */
static bool keeps_before(const mts_node *node)
{
    const mts_act *act = mts_node_act(node);
    return act && node->op != MTS_OP_UNARY && mts_act_needs_before(act);
}

static bool is_trained(const mts_net_layer *layer)
{
    return layer->weight || layer->scale;
}

/* wanted[value]: it depends on parameters (first walk) and an output depends on it
   (second walk). */
static void find_wanted(const mts_net *net, bool *wanted, bool *reaches)
{
    const mts_graph *graph = net->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_node *node = &graph->nodes[i];
        bool depends = is_trained(&net->layers[i]);
        for (uint32_t k = 0; k < node->input_count; k++) {
            depends = depends || (node->inputs[k] != MTS_NONE && wanted[node->inputs[k]]);
        }
        wanted[node->output] = depends;
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        reaches[graph->outputs[i].value] = true;
    }
    for (uint32_t i = graph->node_count; i-- > 0;) {
        const mts_node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count && reaches[node->output]; k++) {
            if (node->inputs[k] != MTS_NONE) {
                reaches[node->inputs[k]] = true;
            }
        }
        wanted[node->output] = wanted[node->output] && reaches[node->output];
    }
}

static float *make_batch(mts_net_run *run, uint32_t value)
{
    size_t count = 0;
    return mts_size_mul(mts_net_elements(run->net->graph, value), run->batch, &count)
               ? mts_net_floats(&run->arena, count)
               : NULL;
}

static mts_status node_check(const mts_graph *graph, const mts_node *node, mts_error *error)
{
    const char *reason = defect(node);
    return reason ? mts_fail(error, MTS_STATUS_UNSUPPORTED, "node '%s' (%s): %s", mts_node_title(graph, node),
                             mts_op_name(node->op), reason)
                  : MTS_STATUS_OK;
}

mts_status mts_net_trainable(const mts_net *net, mts_error *error)
{
    const mts_graph *graph = net->graph;
    bool *wanted = mts_alloc_zero(net->allocator, graph->value_count, sizeof *wanted);
    bool *reaches = mts_alloc_zero(net->allocator, graph->value_count, sizeof *reaches);
    mts_status status = wanted && reaches ? MTS_STATUS_OK
                                          : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                                                     "not enough memory to look at '%s'", graph->name);
    if (status == MTS_STATUS_OK) {
        find_wanted(net, wanted, reaches);
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < graph->node_count; i++) {
        status = wanted[graph->nodes[i].output] ? node_check(graph, &graph->nodes[i], error) : MTS_STATUS_OK;
    }
    mts_alloc_free(net->allocator, wanted);
    mts_alloc_free(net->allocator, reaches);
    return status;
}

static mts_status make_gradient(mts_net_run *run, const mts_node *node, mts_error *error)
{
    const mts_status status = node_check(run->net->graph, node, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    run->gradients[node->output] = make_batch(run, node->output);
    if (keeps_before(node)) {
        run->before[node->output] = make_batch(run, node->output);
    }
    return run->gradients[node->output] && (run->before[node->output] || !keeps_before(node))
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the gradients of %u images",
                          run->batch);
}

static bool make_arrays(mts_net_run *run)
{
    const mts_graph *graph = run->net->graph;
    run->gradients = mts_arena_zero(&run->arena, graph->value_count, sizeof *run->gradients);
    run->before = mts_arena_zero(&run->arena, graph->value_count, sizeof *run->before);
    run->filled = mts_arena_zero(&run->arena, graph->value_count, sizeof *run->filled);
    run->output_gradients = mts_arena_zero(&run->arena, graph->output_count, sizeof *run->output_gradients);
    run->layer_gradients = mts_arena_zero(&run->arena, graph->node_count, sizeof *run->layer_gradients);
    bool good = run->gradients && run->before && run->filled && run->output_gradients && run->layer_gradients;
    for (uint32_t i = 0; i < graph->output_count && good; i++) {
        run->output_gradients[i] = make_batch(run, graph->outputs[i].value);
        good = run->output_gradients[i];
    }
    for (uint32_t i = 0; i < graph->node_count && good; i++) {
        good = mts_net_layer_make(graph, &graph->nodes[i], &run->arena, &run->layer_gradients[i]);
    }
    return good;
}

mts_status mts_backward_prepare(mts_net_run *run, mts_error *error)
{
    const mts_graph *graph = run->net->graph;
    bool *wanted = mts_arena_zero(&run->arena, graph->value_count, sizeof *wanted);
    bool *reaches = mts_arena_zero(&run->arena, graph->value_count, sizeof *reaches);
    if (!wanted || !reaches || !make_arrays(run)) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the gradients of %u images",
                        run->batch);
    }
    find_wanted(run->net, wanted, reaches);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < graph->node_count && status == MTS_STATUS_OK; i++) {
        if (wanted[graph->nodes[i].output]) {
            status = make_gradient(run, &graph->nodes[i], error);
        }
    }
    return status;
}

bool mts_backward_room(const mts_graph *graph, size_t *per_image)
{
    bool fits = true;
    for (uint32_t i = 0; i < graph->node_count && fits; i++) {
        const size_t count = mts_net_elements(graph, graph->nodes[i].output);
        fits = mts_size_add(*per_image, count, per_image) &&
               (!keeps_before(&graph->nodes[i]) || mts_size_add(*per_image, count, per_image));
    }
    for (uint32_t i = 0; i < graph->output_count && fits; i++) {
        fits = mts_size_add(*per_image, mts_net_elements(graph, graph->outputs[i].value), per_image);
    }
    return fits;
}

static void zero(float *data, size_t count)
{
    if (data) {
        memset(data, 0, count * sizeof *data);
    }
}

static void begin_backward(mts_net_run *run, uint32_t images)
{
    const mts_graph *graph = run->net->graph;
    memset(run->filled, 0, graph->value_count * sizeof *run->filled);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_net_layer *layer = &run->layer_gradients[i];
        zero(layer->weight, mts_net_weights(graph, &graph->nodes[i]));
        zero(layer->scale, layer->outputs);
        zero(layer->bias, layer->outputs);
        zero(layer->slope, layer->outputs);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const uint32_t value = graph->outputs[i].value;
        const size_t count = mts_net_elements(graph, value) * images;
        float *gradient = mts_run_open_gradient(run, value, images);
        for (size_t k = 0; gradient && k < count; k++) {
            gradient[k] += run->output_gradients[i][k];
        }
    }
}

float *mts_net_run_output_gradient(mts_net_run *run, uint32_t index)
{
    return run->mode == MTS_NET_TRAINING ? run->output_gradients[index] : NULL;
}

mts_status mts_net_run_backward(mts_net_run *run, uint32_t images, mts_error *error)
{
    const mts_graph *graph = run->net->graph;
    if (run->mode != MTS_NET_TRAINING || images > run->batch || images == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "%u images of %u, or a run that is not for training", images, run->batch);
    }
    begin_backward(run, images);
    for (uint32_t i = graph->node_count; i-- > 0;) {
        const mts_node *node = &graph->nodes[i];
        const mts_step step = {.run = run, .node = node, .index = i, .count = images, .error = error};
        if (!run->gradients[node->output] || !run->filled[node->output]) {
            continue;
        }
        const mts_status status = mts_net_ops[node->op].backward(&step);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(error, status, "node '%s', backwards", mts_node_title(graph, node));
        }
    }
    return MTS_STATUS_OK;
}

mts_net_layer mts_net_run_gradient(const mts_net_run *run, uint32_t node)
{
    return run->mode == MTS_NET_TRAINING ? run->layer_gradients[node] : (mts_net_layer){0};
}

/*
 * net_trainer.h: compares gradients of nets with differences of a loss, for the tests of training.
 *
 * The loss is the sum of all outputs, each times a fixed random number, added up in float64. Every case has a
 * convolution before the operator under test, so its weights' gradients have passed through the operator.
 * Forward is float32, so a difference is exact to about 1e-4 of the largest gradient; the tolerance is 1e-2
 * of it. Narrower steps are tried where a wide one may have stepped over the bend of a ReLU or a maximum.
 */
#ifndef MTS_TESTS_COMPRESS_NET_TRAINER_H
#define MTS_TESTS_COMPRESS_NET_TRAINER_H

#include <math.h>

#include "net_fixture.h"
#include "support/random_net.h"

extern void omp_set_num_threads(int count); /* GNU OpenMP's */

#define IMAGES 3
#define TOLERANCE 1e-2
#define PARAMETERS_MOST 24 /* checked of an array */

typedef struct trainer {
    const mts_graph *graph;
    mts_net *net;
    mts_net_run *run;
} trainer;

static inline void open_trainer(trainer *t, const mts_graph *graph)
{
    mts_error error = {0};
    *t = (trainer){.graph = graph};
    fixture_must(mts_net_create(graph, mts_allocator_default(), &t->net, &error), &error);
    fixture_must(mts_net_run_create(t->net, IMAGES, MTS_NET_TRAINING, &t->run, &error), &error);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fixture_fill(mts_net_run_input(t->run, i), IMAGES * mts_shape_count(&graph->inputs[i].shape), 5 + i);
    }
}

static inline void close_trainer(trainer *t)
{
    mts_net_run_destroy(&t->run);
    mts_net_destroy(&t->net);
    assert_null(t->run);
    assert_null(t->net);
}

/* How much element i of an output counts. */
static inline float share(uint32_t output, size_t i)
{
    uint64_t state = (uint64_t)output << 32 | i;
    return fixture_noise(&state);
}

static inline size_t output_count(const trainer *t, uint32_t output)
{
    return IMAGES * mts_shape_count(&t->graph->values[t->graph->outputs[output].value].shape);
}

static inline double loss(const trainer *t)
{
    mts_error error = {0};
    double sum = 0.0;
    fixture_must(mts_net_run_forward(t->run, IMAGES, 0, t->graph->node_count, &error), &error);
    for (uint32_t o = 0; o < t->graph->output_count; o++) {
        const float *y = mts_net_run_value(t->run, t->graph->outputs[o].value);
        for (size_t i = 0; i < output_count(t, o); i++) {
            sum += (double)y[i] * (double)share(o, i);
        }
    }
    return sum;
}

static inline void go_back(const trainer *t)
{
    mts_error error = {0};
    (void)loss(t);
    for (uint32_t o = 0; o < t->graph->output_count; o++) {
        float *gradient = mts_net_run_output_gradient(t->run, o);
        for (size_t i = 0; i < output_count(t, o); i++) {
            gradient[i] = share(o, i);
        }
    }
    fixture_must(mts_net_run_backward(t->run, IMAGES, &error), &error);
}

static inline double difference(const trainer *t, uint32_t node, float *parameter, float width)
{
    const float kept = *parameter;
    double both[2];
    for (int i = 0; i < 2; i++) {
        *parameter = i ? kept + width : kept - width;
        mts_net_touch(t->net, node);
        both[i] = loss(t);
    }
    *parameter = kept;
    mts_net_touch(t->net, node);
    return (both[1] - both[0]) / ((double)(kept + width) - (double)(kept - width));
}

static inline void check_array(const trainer *t, uint32_t node, const char *what, float *parameters,
                               const float *gradient, size_t count)
{
    static const float widths[4] = {5e-3f, 8e-4f, 1.5e-4f, 4e-5f};
    double most = 0.0;
    if (!parameters) {
        assert_null(gradient);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)gradient[i]));
    }
    const double bound = TOLERANCE * most + 1e-3;
    const size_t step = count / PARAMETERS_MOST + 1;
    for (size_t i = 0; i < count; i += step) {
        const double got = (double)gradient[i];
        double want = 0.0;
        for (size_t k = 0; k < sizeof widths / sizeof *widths && (k == 0 || !(fabs(got - want) <= bound));
             k++) {
            want = difference(t, node, &parameters[i], widths[k]);
        }
        if (!(fabs(got - want) <= bound)) {
            fail_msg("node %u (%s), %s[%zu]: gradient %g, difference %g, largest %g", node,
                     mts_op_name(t->graph->nodes[node].op), what, i, got, want, most);
        }
    }
}

static inline size_t weight_count(const mts_graph *graph, uint32_t node)
{
    const mts_node *n = &graph->nodes[node];
    const uint32_t operand =
        n->op == MTS_OP_MATMUL && graph->values[n->inputs[1]].kind != MTS_VALUE_CONST ? 0 : 1;
    return mts_shape_count(&graph->values[n->inputs[operand]].shape);
}

/* All parameters of the graph; it has at least one with a gradient. */
static inline void check_graph(const mts_graph *graph)
{
    trainer t;
    double most = 0.0;
    open_trainer(&t, graph);
    go_back(&t);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(t.net, i);
        const mts_net_layer gradient = mts_net_run_gradient(t.run, i);
        const size_t weights = layer.weight ? weight_count(graph, i) : 0;
        check_array(&t, i, "weight", layer.weight, gradient.weight, weights);
        check_array(&t, i, "scale", layer.scale, gradient.scale, layer.outputs);
        check_array(&t, i, "bias", layer.bias, gradient.bias, layer.outputs);
        check_array(&t, i, "slope", layer.slope, gradient.slope, layer.outputs);
        for (size_t k = 0; k < weights; k++) {
            most = fmax(most, fabs((double)gradient.weight[k]));
        }
    }
    assert_true(most > 1e-3);
    close_trainer(&t);
}

/* ---- cases: a convolution of 2 channels to 6, the operator, its result as output ---- */

static inline uint32_t begin_case(fixture *f, uint64_t seed)
{
    fixture_begin(f, seed);
    const mts_shape shape = fixture_shape4(1, 2, 6, 7);
    const fixture_conv conv = {.outputs = 6, .kernel = 3, .scale = true, .bias = true};
    return fixture_add_conv(f, fixture_input(f, &shape), &conv);
}

static inline void end_case(fixture *f, uint32_t value)
{
    fixture_output(f, "y", value);
    check_graph(f->graph);
    fixture_end(f);
}

static inline uint32_t add_reshape(fixture *f, uint32_t x, uint32_t rank, const int64_t *dims)
{
    const mts_attrs attrs = {.reshape = {.shape = mts_shape_make(rank, dims)}};
    return fixture_node(f, MTS_OP_RESHAPE, &x, 1, &attrs);
}

#endif

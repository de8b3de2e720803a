/*
 * net_sample.h: a small network with its run, and how results are compared, for the tests of nets.
 */
#ifndef MTS_TESTS_COMPRESS_NET_SAMPLE_H
#define MTS_TESTS_COMPRESS_NET_SAMPLE_H

#include <math.h>
#include <pthread.h>

#include "net_fixture.h"
#include "compiler/models/models.h"
#include "compress/net/threads.h"
#include "compiler/passes/clone.h"
#include "support/data.h"
#include "support/fault_allocator.h"
#include "support/net.h"
#include "support/random_net.h"

#define FAMILIES 60
#define TASKS 3
#define IMAGES 3
#define TOLERANCE 1e-4 /* of an output's largest magnitude, as mts.h promises for devices */

extern void omp_set_num_threads(int count); /* GNU OpenMP's */

static mts_device *reference;

static inline double difference(const float *got, const float *want, size_t count)
{
    double most = 1e-3, worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)want[i]));
    }
    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double)got[i] - (double)want[i]);
        worst = d <= worst ? worst : d; /* NaN is the worst */
    }
    return worst / most;
}

/* ---- forward against the reference device ---- */

static inline mts_net_run *open_run(const mts_graph *graph, mts_net_mode mode, uint32_t batch, mts_net **net)
{
    mts_net_run *run = NULL;
    mts_error error = {0};
    fixture_must(mts_net_create(graph, mts_allocator_default(), net, &error), &error);
    fixture_must(mts_net_run_create(*net, batch, mode, &run, &error), &error);
    return run;
}

static inline void forward(mts_net_run *run, uint32_t images, const mts_graph *graph)
{
    mts_error error = {0};
    fixture_must(mts_net_run_forward(run, images, 0, graph->node_count, &error), &error);
}

/* Fills input 0 of all images: image i gets inputs[i], in the graph's order. */
static inline void set_inputs(mts_net_run *run, const mts_graph *graph, float *const *inputs, uint32_t images)
{
    const mts_shape *shape = &graph->inputs[0].shape;
    for (uint32_t i = 0; i < images; i++) {
        fixture_turn(shape, inputs[i], mts_net_run_input(run, 0) + i * mts_shape_count(shape), false);
    }
}

static inline void compare_output(const mts_graph *graph, mts_net_run *run, uint32_t image, uint32_t output,
                                  const float *want, const char *what)
{
    const uint32_t value = graph->outputs[output].value;
    const mts_shape *shape = &graph->values[value].shape;
    const size_t count = mts_shape_count(shape);
    float *got = malloc(count * sizeof *got);
    assert_non_null(got);
    fixture_turn(shape, mts_net_run_value(run, value) + image * count, got, true);
    const double worst = difference(got, want, count);
    free(got);
    if (!(worst <= TOLERANCE)) {
        fail_msg("%s, image %u, output %u differs by %g", what, image, output, worst);
    }
}

/* Runs every task's net over IMAGES images and each image on the device. */
static inline void compare_archive(const test_net *bundle, float *inputs[TASKS][IMAGES], const char *what)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_error error = {0};
    fixture_must(mts_planned_engine_create(reference, bundle->archive, &options, NULL, &engine, NULL, &error),
                 &error);
    for (uint32_t image = 0; image < IMAGES; image++) {
        const void *data[TASKS];
        const void *const *list[TASKS];
        for (uint32_t t = 0; t < TASKS; t++) {
            data[t] = inputs[t][image];
            list[t] = &data[t];
        }
        fixture_must(net_engine_run(engine, bundle, list, &error), &error);
        for (uint32_t t = 0; t < bundle->archive->task_count; t++) {
            const mts_graph *graph = bundle->archive->tasks[t].graph;
            mts_net *net = NULL;
            mts_net_run *run = open_run(graph, MTS_NET_INFERENCE, IMAGES, &net);
            set_inputs(run, graph, inputs[t], IMAGES);
            forward(run, IMAGES, graph);
            for (uint32_t o = 0; o < graph->output_count; o++) {
                size_t count = 0;
                compare_output(graph, run, image, o, net_output(engine, bundle, t, o, &count), what);
            }
            mts_net_run_destroy(&run);
            mts_net_destroy(&net);
        }
    }
    mts_engine_destroy(&engine);
}

/* ---- a small network for everything else: two convolutions, a sum, a mean, a classifier ---- */

typedef struct sample {
    fixture f;
    mts_net *net;
    mts_net_run *run;
    uint32_t output;
} sample;

static inline void build_sample(fixture *f)
{
    fixture_begin(f, 3);
    const mts_shape shape = fixture_shape4(1, 3, 9, 8);
    const fixture_conv first = {.outputs = 8, .kernel = 3, .act = {.fn = MTS_FN_RELU}, .scale = true};
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    const fixture_conv last = {.outputs = 5, .kernel = 1, .bias = true};
    const uint32_t x = fixture_add_conv(f, fixture_input(f, &shape), &first);
    const fixture_conv second = {
        .outputs = 8, .kernel = 3, .act = {.fn = MTS_FN_PRELU}, .bias = true, .residual = x};
    uint32_t y = fixture_add_conv(f, x, &second);
    y = fixture_node(f, MTS_OP_REDUCE, &y, 1, &mean);
    fixture_output(f, "y", fixture_add_conv(f, y, &last));
}

static inline void open_sample(sample *s)
{
    build_sample(&s->f);
    s->net = NULL;
    s->run = open_run(s->f.graph, MTS_NET_INFERENCE, 7, &s->net);
    s->output = s->f.graph->outputs[0].value;
    fixture_fill(mts_net_run_input(s->run, 0), 7 * 3 * 9 * 8, 11);
}

static inline void close_sample(sample *s)
{
    mts_net_run_destroy(&s->run);
    mts_net_destroy(&s->net);
    fixture_end(&s->f);
}

/* Runs another net's parameters over the sample's inputs; out[7 * 5]. */
static inline void answers_of(const sample *s, const mts_net *net, float *out)
{
    mts_net_run *run = NULL;
    mts_error error = {0};
    fixture_must(mts_net_run_create(net, 7, MTS_NET_INFERENCE, &run, &error), &error);
    memcpy(mts_net_run_input(run, 0), mts_net_run_input(s->run, 0), 7 * 3 * 9 * 8 * sizeof *out);
    forward(run, 7, mts_net_graph(net));
    memcpy(out, mts_net_run_value(run, mts_net_graph(net)->outputs[0].value), 35 * sizeof *out);
    mts_net_run_destroy(&run);
}

#endif

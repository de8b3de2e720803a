/*
 * test_net.c: nets of the compiler: forward equals the run-time's reference device, parameters are stored,
 * copied and touched, batches equal single images, parts of graphs run, jobs on threads, memory runs out.
 */
#include "net_fixture.h"

#include <math.h>
#include <pthread.h>

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

static double difference(const float *got, const float *want, size_t count)
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

static mts_net_run *open_run(const mts_graph *graph, mts_net_mode mode, uint32_t batch, mts_net **net)
{
    mts_net_run *run = NULL;
    mts_error error = {0};
    fixture_must(mts_net_create(graph, mts_allocator_default(), net, &error), &error);
    fixture_must(mts_net_run_create(*net, batch, mode, &run, &error), &error);
    return run;
}

static void forward(mts_net_run *run, uint32_t images, const mts_graph *graph)
{
    mts_error error = {0};
    fixture_must(mts_net_run_forward(run, images, 0, graph->node_count, &error), &error);
}

/* Fills input 0 of all images: image i gets inputs[i], in the graph's order. */
static void set_inputs(mts_net_run *run, const mts_graph *graph, float *const *inputs, uint32_t images)
{
    const mts_shape *shape = &graph->inputs[0].shape;
    for (uint32_t i = 0; i < images; i++) {
        fixture_turn(shape, inputs[i], mts_net_run_input(run, 0) + i * mts_shape_count(shape), false);
    }
}

static void compare_output(const mts_graph *graph, mts_net_run *run, uint32_t image, uint32_t output,
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
static void compare_archive(const test_net *bundle, float *inputs[TASKS][IMAGES], const char *what)
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

/* Graphs as a bundle holds them: weights in several blocks. */
static void random_networks_out_of_bundles_match_the_reference_device(void **state)
{
    uint32_t cut = 0;
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        const random_family family = {.seed = 4000 + seed, .tasks = TASKS, .steps = 3 + seed % 6};
        const mts_graph *graphs[TASKS];
        float *inputs[TASKS][IMAGES];
        mts_arena arena;
        mts_error error = {0};
        test_net bundle;
        char what[32];
        mts_arena_init(&arena, mts_allocator_default());
        (void)snprintf(what, sizeof what, "family %u", family.seed);
        for (uint32_t t = 0; t < TASKS; t++) {
            graphs[t] = random_net(&family, t, &arena);
            assert_non_null(graphs[t]);
            for (uint32_t i = 0; i < IMAGES; i++) {
                inputs[t][i] = random_input(&family, t, graphs[t], i, &arena);
            }
        }
        fixture_must(net_make(graphs, TASKS, 0.0f, &bundle, &error), &error);
        for (uint32_t t = 0; t < TASKS; t++) {
            const mts_graph *graph = bundle.archive->tasks[t].graph;
            for (uint32_t v = 0; v < graph->value_count; v++) {
                cut += graph->values[v].block_count > 1 ? 1 : 0;
            }
        }
        compare_archive(&bundle, inputs, what);
        net_release(&bundle);
        mts_arena_release(&arena);
    }
    assert_true(cut > 10);
}

static void element_functions_match_the_reference_device(void **state)
{
    (void)state;
    for (uint32_t fn = 0; fn < MTS_FN_COUNT; fn++) {
        if (fn == MTS_FN_PRELU) {
            continue; /* not of a unary node */
        }
        fixture f;
        test_net bundle;
        mts_error error = {0};
        fixture_begin(&f, 1);
        const mts_shape shape = fixture_shape4(1, 3, 7, 9);
        uint32_t x = fixture_input(&f, &shape);
        const mts_attrs attrs = {.unary = {.act = {.fn = fn, .a = -0.3f, .b = 0.4f}}};
        const mts_attrs wide = {.unary = {.act = {.fn = MTS_FN_HARD_SWISH}}};
        fixture_output(&f, "z", fixture_node(&f, MTS_OP_UNARY, &x, 1, &wide));
        if (fn == MTS_FN_SQRT || fn == MTS_FN_LOG || fn == MTS_FN_RECIPROCAL) {
            const mts_attrs positive = {.unary = {.act = {.fn = MTS_FN_EXP}}};
            x = fixture_node(&f, MTS_OP_UNARY, &x, 1, &positive);
        }
        fixture_output(&f, "y", fixture_node(&f, MTS_OP_UNARY, &x, 1, &attrs));
        float data[IMAGES][3 * 7 * 9], *inputs[TASKS][IMAGES];
        for (uint32_t i = 0; i < IMAGES; i++) {
            fixture_fill(data[i], 3 * 7 * 9, i);
            for (size_t k = 0; k < 3 * 7 * 9; k++) {
                data[i][k] *= 5.0f;
            }
            inputs[0][i] = inputs[1][i] = inputs[2][i] = data[i];
        }
        const mts_graph *graph = f.graph;
        fixture_must(net_make(&graph, 1, 0.0f, &bundle, &error), &error);
        compare_archive(&bundle, inputs, "element function");
        net_release(&bundle);
        fixture_end(&f);
    }
}

/* The tasks of the CIFAR family, out of a bundle, on pictures. */
static void cifar_networks_match_the_reference_device(void **state)
{
    char config[DATA_PATH], bundle_path[] = MTS_BINARY_DIR "/net-cifar.mtsb";
    (void)state;
    if (!data_exists(data_path(MTS_SOURCE_DIR, "cifar/small.json", config))) {
        skip();
    }
    mtsc_compiler *compiler = NULL;
    mts_models models;
    mts_error error = {0};
    assert_int_equal(mtsc_compiler_create(NULL, &compiler), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add_config(compiler, config), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_write(compiler, bundle_path, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
    fixture_must(mts_models_open(bundle_path, mts_allocator_default(), &models, &error), &error);
    const test_net bundle = {.archive = models.archive};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL, .separate_inputs = true};
    mts_engine *engine = NULL;
    fixture_must(mts_planned_engine_create(reference, models.archive, &options, NULL, &engine, NULL, &error),
                 &error);
    float picture[3 * 32 * 32];
    const void *data = picture, *const * list[64];
    fixture_fill(picture, 3 * 32 * 32, 7);
    for (uint32_t t = 0; t < models.count; t++) {
        list[t] = &data;
    }
    fixture_must(net_engine_run(engine, &bundle, list, &error), &error);
    for (uint32_t t = 0; t < models.count; t++) {
        const mts_graph *graph = models.tasks[t].graph;
        float *const inputs[IMAGES] = {picture, picture, picture};
        size_t count = 0;
        mts_net *net = NULL;
        mts_net_run *run = open_run(graph, MTS_NET_TRAINING, IMAGES, &net);
        set_inputs(run, graph, inputs, IMAGES);
        forward(run, IMAGES, graph);
        compare_output(graph, run, IMAGES - 1, 0, net_output(engine, &bundle, t, 0, &count),
                       models.tasks[t].name);
        mts_net_run_destroy(&run);
        mts_net_destroy(&net);
    }
    mts_engine_destroy(&engine);
    mts_models_release(&models);
    (void)remove(bundle_path);
}

/* ---- a small network for everything else: two convolutions, a sum, a mean, a classifier ---- */

typedef struct sample {
    fixture f;
    mts_net *net;
    mts_net_run *run;
    uint32_t output;
} sample;

static void build_sample(fixture *f)
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

static void open_sample(sample *s)
{
    build_sample(&s->f);
    s->net = NULL;
    s->run = open_run(s->f.graph, MTS_NET_INFERENCE, 7, &s->net);
    s->output = s->f.graph->outputs[0].value;
    fixture_fill(mts_net_run_input(s->run, 0), 7 * 3 * 9 * 8, 11);
}

static void close_sample(sample *s)
{
    mts_net_run_destroy(&s->run);
    mts_net_destroy(&s->net);
    fixture_end(&s->f);
}

/* Runs another net's parameters over the sample's inputs; out[7 * 5]. */
static void answers_of(const sample *s, const mts_net *net, float *out)
{
    mts_net_run *run = NULL;
    mts_error error = {0};
    fixture_must(mts_net_run_create(net, 7, MTS_NET_INFERENCE, &run, &error), &error);
    memcpy(mts_net_run_input(run, 0), mts_net_run_input(s->run, 0), 7 * 3 * 9 * 8 * sizeof *out);
    forward(run, 7, mts_net_graph(net));
    memcpy(out, mts_net_run_value(run, mts_net_graph(net)->outputs[0].value), 35 * sizeof *out);
    mts_net_run_destroy(&run);
}

static void layers_have_the_sizes_of_the_graph(void **state)
{
    sample s;
    (void)state;
    open_sample(&s);
    const mts_net_layer first = mts_net_layer_of(s.net, 0), second = mts_net_layer_of(s.net, 1);
    assert_int_equal(first.outputs, 8);
    assert_int_equal(first.inputs, 3);
    assert_int_equal(first.rows * 10 + first.columns, 33);
    assert_null(first.slope);
    assert_non_null(second.slope);
    assert_true(first.bias[3] == 0.0f && second.scale[3] == 1.0f);
    const float *graph_weight = s.f.graph->values[s.f.graph->nodes[0].inputs[1]].blocks[0].data;
    for (size_t o = 0; o < 8; o++) { /* [o][c][k] in the graph, [o][k][c] here */
        assert_true(first.weight[(o * 9 + 4) * 3 + 2] == graph_weight[(o * 3 + 2) * 9 + 4]);
    }
    assert_null(mts_net_layer_of(s.net, 2).weight);
    assert_int_equal(mts_net_layer_of(s.net, 2).outputs, 0);
    assert_ptr_equal(mts_net_graph(s.net), s.f.graph);
    assert_null(mts_net_run_value(s.run, s.f.graph->nodes[0].inputs[1]));
    close_sample(&s);
}

static void a_batch_answers_as_its_images_alone(void **state)
{
    sample s;
    float want[35];
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    memcpy(want, mts_net_run_value(s.run, s.output), sizeof want);
    mts_net_run *one = NULL;
    mts_error error = {0};
    fixture_must(mts_net_run_create(s.net, 1, MTS_NET_INFERENCE, &one, &error), &error);
    for (size_t i = 0; i < 7; i++) {
        memcpy(mts_net_run_input(one, 0), mts_net_run_input(s.run, 0) + i * 216, 216 * sizeof(float));
        forward(one, 1, s.f.graph);
        assert_true(difference(mts_net_run_value(one, s.output), want + i * 5, 5) <= 1e-5);
    }
    memset(mts_net_run_value(s.run, s.output), 0, sizeof want);
    forward(s.run, 4, s.f.graph); /* fewer images: the others' values stay */
    assert_true(difference(mts_net_run_value(s.run, s.output), want, 20) <= 1e-5);
    assert_true(mts_net_run_value(s.run, s.output)[20] == 0.0f);
    mts_net_run_destroy(&one);
    close_sample(&s);
}

static void a_part_of_the_nodes_goes_on_from_changed_values(void **state)
{
    sample s;
    float want[35];
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    const uint32_t middle = s.f.graph->nodes[1].output;
    const size_t count = 7 * mts_shape_count(fixture_shape(&s.f, middle));
    forward(s.run, 7, s.f.graph);
    memcpy(want, mts_net_run_value(s.run, s.output), sizeof want);
    float *value = mts_net_run_value(s.run, middle);
    for (size_t i = 0; i < count; i++) {
        value[i] *= 2.0f;
    }
    fixture_must(mts_net_run_forward(s.run, 7, 2, 4, &error), &error);
    const float *bias = mts_net_layer_of(s.net, 3).bias, *got = mts_net_run_value(s.run, s.output);
    for (size_t i = 0; i < 35; i++) { /* what follows is linear but for the bias */
        assert_true(fabsf(got[i] - (2.0f * want[i] - bias[i % 5])) < 1e-4f);
    }
    assert_int_equal(mts_net_run_forward(s.run, 8, 0, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_net_run_forward(s.run, 7, 0, 5, &error), MTS_STATUS_INVALID_ARGUMENT);
    close_sample(&s);
}

static void linear_parts_of_convolutions(void **state)
{
    sample s;
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    const size_t count = 7 * 8 * 9 * 8;
    float *raw = calloc(count, sizeof *raw), *linear = calloc(count, sizeof *linear);
    assert_true(raw && linear);
    for (uint32_t node = 0; node < 2; node++) {
        const mts_net_layer layer = mts_net_layer_of(s.net, node);
        fixture_must(mts_net_run_linear(s.run, 7, node, true, raw, &error), &error);
        fixture_must(mts_net_run_linear(s.run, 7, node, false, linear, &error), &error);
        const float *x = mts_net_run_value(s.run, s.f.graph->nodes[0].output);
        const float *y = mts_net_run_value(s.run, s.f.graph->nodes[node].output);
        for (size_t i = 0; i < count; i++) {
            const size_t c = i % 8;
            assert_true(fabsf(linear[i] - (layer.scale[c] * raw[i] + layer.bias[c])) < 1e-4f);
            const float sum = linear[i] + (node == 1 ? x[i] : 0.0f);
            const float slope = layer.slope ? layer.slope[c] : 0.0f;
            assert_true(fabsf(y[i] - (sum > 0.0f ? sum : slope * sum)) < 1e-4f);
        }
    }
    assert_int_equal(mts_net_run_linear(s.run, 7, 2, true, raw, &error), MTS_STATUS_INVALID_ARGUMENT);
    free(raw);
    free(linear);
    close_sample(&s);
}

static void changes_count_once_they_are_touched(void **state)
{
    sample s;
    float before[35], twice[35];
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    memcpy(before, mts_net_run_value(s.run, s.output), sizeof before);
    const mts_net_layer last = mts_net_layer_of(s.net, 3);
    for (size_t i = 0; i < 5 * 8; i++) {
        last.weight[i] *= 2.0f;
    }
    for (size_t i = 0; i < 5; i++) {
        last.bias[i] *= 2.0f;
    }
    mts_net_touch(s.net, 3);
    forward(s.run, 7, s.f.graph);
    for (size_t i = 0; i < 35; i++) {
        twice[i] = 2.0f * before[i];
    }
    assert_true(difference(mts_net_run_value(s.run, s.output), twice, 35) <= 1e-5);
    mts_net_layer_of(s.net, 3).scale[0] = 0.0f; /* a scale alone counts too */
    mts_net_layer_of(s.net, 3).bias[0] = 0.25f;
    mts_net_touch(s.net, 3);
    forward(s.run, 7, s.f.graph);
    assert_true(mts_net_run_value(s.run, s.output)[5] == 0.25f);
    close_sample(&s);
}

static void copies_take_over_all_parameters(void **state)
{
    sample s;
    float want[35], got[35];
    mts_net *other = NULL;
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    fixture_must(mts_net_create(s.f.graph, mts_allocator_default(), &other, &error), &error);
    for (uint32_t node = 0; node < 4; node++) {
        const mts_net_layer layer = mts_net_layer_of(other, node);
        for (uint32_t i = 0; i < layer.outputs; i++) {
            layer.scale[i] *= 0.5f;
            layer.bias[i] += 0.1f;
            layer.weight[i] -= 0.2f;
        }
    }
    answers_of(&s, other, want);
    forward(s.run, 7, s.f.graph);
    assert_true(difference(mts_net_run_value(s.run, s.output), want, 35) > 1e-3);
    mts_net_copy(s.net, other);
    forward(s.run, 7, s.f.graph);
    memcpy(got, mts_net_run_value(s.run, s.output), sizeof got);
    assert_true(difference(got, want, 35) <= 1e-6);
    mts_net_destroy(&other);
    close_sample(&s);
}

/* ---- store ---- */

static void stored_parameters_make_an_equal_net(void **state)
{
    sample s;
    float want[35], got[35];
    mts_net *other = NULL;
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    const float old = ((const float *)s.f.graph->values[s.f.graph->nodes[0].inputs[1]].blocks[0].data)[0];
    const mts_net_layer second = mts_net_layer_of(s.net, 1);
    mts_net_layer_of(s.net, 0).weight[0] += 1.0f;
    second.scale[2] = 1.5f; /* the graph has no scale there */
    second.slope[1] = -0.25f;
    answers_of(&s, s.net, want);
    mts_graph *clone = mts_graph_clone(s.f.graph, &s.f.arena);
    assert_true(clone && mts_net_store(s.net, NULL, clone));
    fixture_must(mts_graph_verify(clone, &error), &error);
    assert_true(clone->nodes[1].inputs[2] != MTS_NONE); /* scale, not 1 */
    assert_true(clone->nodes[0].inputs[3] == MTS_NONE); /* bias, still 0 */
    fixture_must(mts_net_create(clone, mts_allocator_default(), &other, &error), &error);
    answers_of(&s, other, got);
    assert_memory_equal(got, want, sizeof got);
    const float kept = ((const float *)s.f.graph->values[s.f.graph->nodes[0].inputs[1]].blocks[0].data)[0];
    assert_true(kept == old); /* the net's own graph stays as it was */
    mts_net_destroy(&other);
    close_sample(&s);
}

static void only_the_named_nodes_are_stored(void **state)
{
    sample s;
    (void)state;
    open_sample(&s);
    mts_graph *clone = mts_graph_clone(s.f.graph, &s.f.arena);
    const bool nodes[4] = {false, true, false, false};
    mts_net_layer_of(s.net, 0).weight[0] += 1.0f;
    mts_net_layer_of(s.net, 1).weight[0] += 1.0f;
    assert_true(clone && mts_net_store(s.net, nodes, clone));
    for (uint32_t node = 0; node < 4; node++) {
        if (s.f.graph->nodes[node].op == MTS_OP_CONV) {
            const void *mine = s.f.graph->values[s.f.graph->nodes[node].inputs[1]].blocks[0].data;
            const void *stored = clone->values[clone->nodes[node].inputs[1]].blocks[0].data;
            assert_true((mine == stored) == (node != 1));
        }
    }
    close_sample(&s);
}

/* Two convolutions read one weight; after different changes each has its own. */
static void a_weight_of_two_nodes_is_parted(void **state)
{
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL, *other = NULL;
    (void)state;
    fixture_begin(&f, 21);
    const mts_shape shape = fixture_shape4(1, 4, 5, 5), weight = fixture_shape4(4, 4, 1, 1);
    const uint32_t w = fixture_const(&f, &weight, 0.0f, 1.0f);
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    uint32_t x = fixture_input(&f, &shape);
    for (int i = 0; i < 2; i++) {
        x = fixture_node(&f, MTS_OP_CONV, (const uint32_t[]){x, w}, 2, &attrs);
    }
    fixture_output(&f, "y", x);
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_net_layer_of(net, 0).weight[5] = 3.0f;
    mts_net_layer_of(net, 1).weight[5] = 4.0f;
    mts_graph *clone = mts_graph_clone(f.graph, &f.arena);
    assert_true(clone && mts_net_store(net, NULL, clone));
    fixture_must(mts_graph_verify(clone, &error), &error);
    fixture_must(mts_net_create(clone, mts_allocator_default(), &other, &error), &error);
    assert_true(mts_net_layer_of(other, 0).weight[5] == 3.0f);
    assert_true(mts_net_layer_of(other, 1).weight[5] == 4.0f);
    mts_net_destroy(&net);
    mts_net_destroy(&other);
    fixture_end(&f);
}

static void what_was_float16_is_stored_as_float16_while_it_can_be(void **state)
{
    static const uint16_t ones[2 * 2] = {0x3c00, 0x3c00, 0x3c00, 0x3c00};
    (void)state;
    for (int large = 0; large < 2; large++) {
        fixture f;
        mts_error error = {0};
        mts_net *net = NULL, *other = NULL;
        fixture_begin(&f, 22);
        const mts_shape shape = fixture_shape4(1, 2, 3, 3), weight = fixture_shape4(2, 2, 1, 1);
        const uint32_t w = mts_graph_add_const(f.graph, NULL, MTS_TYPE_FLOAT16, &weight, ones);
        const mts_attrs attrs = {
            .conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
        const uint32_t x = fixture_input(&f, &shape);
        fixture_output(&f, "y", fixture_node(&f, MTS_OP_CONV, (const uint32_t[]){x, w}, 2, &attrs));
        fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
        mts_net_layer_of(net, 0).weight[1] = large ? 65536.0f : 0.1f;
        mts_graph *clone = mts_graph_clone(f.graph, &f.arena);
        assert_true(clone && mts_net_store(net, NULL, clone));
        fixture_must(mts_graph_verify(clone, &error), &error);
        assert_int_equal(clone->values[w].dtype, large ? MTS_TYPE_FLOAT32 : MTS_TYPE_FLOAT16);
        fixture_must(mts_net_create(clone, mts_allocator_default(), &other, &error), &error);
        assert_true(mts_net_layer_of(other, 0).weight[0] == 1.0f);
        const float expected = large ? 65536.0f : 0.1f;
        assert_float_equal(mts_net_layer_of(other, 0).weight[1], expected, 1e-4f);
        mts_net_destroy(&net);
        mts_net_destroy(&other);
        fixture_end(&f);
    }
}

/* Filters out of order (scatter) come back in the order of their channels. */
static void scattered_filters_run_and_are_stored_in_order(void **state)
{
    static const uint32_t scatter[4] = {2, 0, 3, 1};
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL;
    (void)state;
    fixture_begin(&f, 22);
    const mts_shape shape = fixture_shape4(1, 3, 5, 5), weight = fixture_shape4(4, 3, 1, 1);
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const uint32_t inputs[2] = {fixture_input(&f, &shape), fixture_const(&f, &weight, 0.0f, 1.0f)};
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_CONV, inputs, 2, &attrs));
    f.graph->nodes[0].scatter = scatter;
    fixture_must(mts_graph_verify(f.graph, &error), &error);
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_graph *clone = mts_graph_clone(f.graph, &f.arena);
    assert_true(clone && mts_net_store(net, NULL, clone));
    assert_null(clone->nodes[0].scatter);
    const float *rows = f.graph->values[inputs[1]].blocks[0].data;
    const float *stored = clone->values[inputs[1]].blocks[0].data;
    for (size_t r = 0; r < 4; r++) {
        assert_memory_equal(stored + (size_t)scatter[r] * 3, rows + r * 3, 3 * sizeof *rows);
        assert_memory_equal(mts_net_layer_of(net, 0).weight + (size_t)scatter[r] * 3, rows + r * 3,
                            3 * sizeof *rows);
    }
    mts_net_destroy(&net);
    float data[3 * 5 * 5], *pictures[TASKS][IMAGES];
    fixture_fill(data, 3 * 5 * 5, 23);
    for (int i = 0; i < TASKS * IMAGES; i++) {
        pictures[i / IMAGES][i % IMAGES] = data;
    }
    test_net bundle;
    const mts_graph *graph = f.graph;
    fixture_must(net_make_as_is(&graph, 1, &bundle, &error), &error);
    assert_non_null(bundle.archive->tasks[0].graph->nodes[0].scatter);
    compare_archive(&bundle, pictures, "scattered filters");
    net_release(&bundle);
    fixture_end(&f);
}

/* ---- threads ---- */

#define JOBS 200

typedef struct ledger {
    pthread_mutex_t mutex;
    uint32_t runs[JOBS], next[64]; /* [worker]: the least job that it may run now */
    uint32_t fail_from;            /* jobs from here on fail; JOBS: none */
    bool in_order;
} ledger;

static mts_status note_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    ledger *l = context;
    (void)pthread_mutex_lock(&l->mutex);
    l->runs[job]++;
    /* how far a job gets before the next one starts is the system's affair; a worker only goes forward */
    l->in_order = l->in_order && worker < mts_threads_count() && job >= l->next[worker];
    if (worker < 64) {
        l->next[worker] = job + 1;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    return job >= l->fail_from ? mts_fail(error, MTS_STATUS_LIMIT, "job %u", job) : MTS_STATUS_OK;
}

static void jobs_run_once_each(void **state)
{
    ledger l = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fail_from = JOBS, .in_order = true};
    mts_error error = {0};
    (void)state;
    assert_true(mts_threads_count() >= 1 && mts_threads_count() <= 64);
    fixture_must(mts_threads_run(JOBS, note_job, &l, &error), &error);
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(l.runs[i], 1);
    }
    assert_true(l.in_order);
    memset(l.next, 0, sizeof l.next);
    fixture_must(mts_threads_run(0, note_job, &l, &error), &error);
    fixture_must(mts_threads_run(1, note_job, &l, &error), &error);
    assert_int_equal(l.runs[0], 2);
    assert_true(l.in_order);
}

static void the_first_failure_wins_and_stops_the_others(void **state)
{
    ledger l = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fail_from = 50, .in_order = true};
    mts_error error = {0};
    uint32_t ran = 0;
    (void)state;
    assert_int_equal(mts_threads_run(JOBS, note_job, &l, &error), MTS_STATUS_LIMIT);
    assert_string_equal(error.text, "job 50");
    for (uint32_t i = 0; i < JOBS; i++) {
        ran += l.runs[i];
    }
    assert_true(ran >= 51 && ran < 51 + mts_threads_count());
    assert_int_equal(mts_threads_run(JOBS, note_job, &l, NULL), MTS_STATUS_LIMIT);
}

typedef struct team {
    const sample *s;
    float answers[16][35];
} team;

static mts_status answer_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    team *t = context;
    mts_net_run *run = NULL;
    (void)worker;
    mts_status code = mts_net_run_create(t->s->net, 7, MTS_NET_INFERENCE, &run, error);
    if (code == MTS_STATUS_OK) {
        memcpy(mts_net_run_input(run, 0), mts_net_run_input(t->s->run, 0), 7 * 216 * sizeof(float));
        code = mts_net_run_forward(run, 7, 0, t->s->f.graph->node_count, error);
        memcpy(t->answers[job], mts_net_run_value(run, t->s->output), sizeof t->answers[job]);
    }
    mts_net_run_destroy(&run);
    return code;
}

static void runs_of_one_net_side_by_side_agree(void **state)
{
    sample s;
    team t = {.s = &s};
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    fixture_must(mts_threads_run(16, answer_job, &t, &error), &error);
    for (int i = 0; i < 16; i++) {
        assert_true(difference(t.answers[i], mts_net_run_value(s.run, s.output), 35) <= 1e-5);
    }
    close_sample(&s);
}

/* ---- memory ---- */

static mts_status live_a_life(const mts_graph *graph, const mts_allocator *allocator, mts_error *error)
{
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    mts_status code = mts_net_create(graph, allocator, &net, error);
    code = code ? code : mts_net_run_create(net, 2, MTS_NET_TRAINING, &run, error);
    code = code ? code : mts_net_run_forward(run, 2, 0, graph->node_count, error);
    code = code ? code : mts_net_run_backward(run, 2, error);
    mts_net_run_destroy(&run);
    mts_net_destroy(&net);
    return code;
}

static void short_memory_is_reported_and_nothing_leaks(void **state)
{
    fixture f;
    mts_fault_allocator fault;
    mts_error error = {0};
    (void)state;
    build_sample(&f);
    mts_fault_allocator_init(&fault, 0);
    fixture_must(live_a_life(f.graph, &fault.allocator, &error), &error);
    assert_int_equal(fault.alive, 0);
    const size_t calls = fault.calls;
    assert_true(calls > 10);
    for (size_t at = 1; at <= calls; at++) {
        mts_fault_allocator_init(&fault, at);
        error = (mts_error){0};
        assert_int_equal(live_a_life(f.graph, &fault.allocator, &error), MTS_STATUS_OUT_OF_MEMORY);
        assert_true(error.text[0] != '\0');
        assert_int_equal(fault.alive, 0);
    }
    mts_fault_allocator_init(&fault, 1);
    mts_net *net = NULL;
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_net_destroy(&net);
    mts_net_destroy(&net);
    mts_net_destroy(NULL);
    mts_net_run_destroy(NULL);
    fixture_end(&f);
}

static void a_store_without_memory_fails(void **state)
{
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL;
    (void)state;
    build_sample(&f);
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_fault_allocator fault;
    mts_arena arena;
    mts_fault_allocator_init(&fault, 0);
    mts_arena_init(&arena, &fault.allocator);
    mts_graph *clone = mts_graph_clone(f.graph, &arena);
    assert_non_null(clone);
    fault.fail_at = fault.calls + 1; /* the arena's next block */
    while (mts_arena_zero(&arena, 1, 256)) {
    }
    fault.fail_at = fault.calls + 1;
    assert_false(mts_net_store(net, NULL, clone));
    mts_arena_release(&arena);
    assert_int_equal(fault.alive, 0);
    mts_net_destroy(&net);
    fixture_end(&f);
}

static void the_bytes_of_a_run_are_foretold(void **state)
{
    sample s;
    mts_fault_allocator fault;
    mts_error error = {0};
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    (void)state;
    open_sample(&s);
    const size_t small = mts_net_run_bytes(s.net, 1, MTS_NET_INFERENCE);
    const size_t large = mts_net_run_bytes(s.net, 100, MTS_NET_INFERENCE);
    assert_true(large > 50 * small / 2 && large < 100 * small);
    assert_true(mts_net_run_bytes(s.net, 100, MTS_NET_TRAINING) > large);
    assert_int_equal(mts_net_run_bytes(s.net, UINT32_MAX, MTS_NET_TRAINING) > large, 1);
    mts_fault_allocator_init(&fault, 0);
    fixture_must(mts_net_create(s.f.graph, &fault.allocator, &net, &error), &error);
    assert_int_equal(mts_net_run_create(net, 0, MTS_NET_INFERENCE, &run, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    mts_net_destroy(&net);
    assert_int_equal(fault.alive, 0);
    close_sample(&s);
}

/* ---- hostile graphs ---- */

static void shapes_without_elements_or_with_too_many_are_refused(void **state)
{
    static const int64_t sizes[3] = {0, (int64_t)1 << 40, -3};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f;
        mts_net *net = NULL;
        mts_error error = {0};
        fixture_begin(&f, 1);
        const mts_shape shape = fixture_shape4(1, 3, sizes[i], 8);
        fixture_output(&f, "y", fixture_input(&f, &(mts_shape){.rank = 1, .dims = {4}}));
        f.graph->values[0].shape = shape;
        const mts_status code = mts_net_create(f.graph, mts_allocator_default(), &net, &error);
        assert_int_equal(code, i == 1 ? MTS_STATUS_LIMIT : MTS_STATUS_MALFORMED);
        assert_null(net);
        assert_non_null(strstr(error.text, "value 'x'"));
        fixture_end(&f);
    }
}

static void *modest_alloc(void *context, size_t size)
{
    (void)context;
    return size > (size_t)1 << 30 ? NULL : malloc(size);
}

static void modest_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void batches_beyond_memory_are_refused(void **state)
{
    const mts_allocator modest = {.alloc = modest_alloc, .free = modest_free};
    fixture f;
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    mts_error error = {0};
    (void)state;
    fixture_begin(&f, 1);
    const mts_shape shape = fixture_shape4(1, 1, 1 << 15, 1 << 15);
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    const uint32_t x = fixture_input(&f, &shape);
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_UNARY, &x, 1, &attrs));
    fixture_must(mts_net_create(f.graph, &modest, &net, &error), &error);
    assert_int_equal(mts_net_run_create(net, UINT32_MAX, MTS_NET_TRAINING, &run, &error),
                     MTS_STATUS_OUT_OF_MEMORY);
    assert_null(run);
    assert_true(mts_net_run_bytes(net, UINT32_MAX, MTS_NET_INFERENCE) > (size_t)1 << 60);
    mts_net_destroy(&net);
    fixture_end(&f);
}

static void vectors_by_image_are_refused_by_name(void **state)
{
    fixture f;
    mts_net *net = NULL;
    mts_error error = {0};
    (void)state;
    fixture_begin(&f, 1);
    const mts_shape shape = fixture_shape4(2, 3, 4, 4), weight = fixture_shape4(5, 3, 1, 1);
    const mts_shape rows = mts_shape_make(2, (const int64_t[]){2, 5});
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const uint32_t inputs[3] = {fixture_input(&f, &shape), fixture_const(&f, &weight, 0.0f, 1.0f),
                                fixture_const(&f, &rows, 1.0f, 0.5f)};
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_CONV, inputs, 3, &attrs));
    assert_int_equal(mts_net_create(f.graph, mts_allocator_default(), &net, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'conv' (conv)"));
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks_out_of_bundles_match_the_reference_device),
        cmocka_unit_test(element_functions_match_the_reference_device),
        cmocka_unit_test(cifar_networks_match_the_reference_device),
        cmocka_unit_test(layers_have_the_sizes_of_the_graph),
        cmocka_unit_test(a_batch_answers_as_its_images_alone),
        cmocka_unit_test(a_part_of_the_nodes_goes_on_from_changed_values),
        cmocka_unit_test(linear_parts_of_convolutions),
        cmocka_unit_test(changes_count_once_they_are_touched),
        cmocka_unit_test(copies_take_over_all_parameters),
        cmocka_unit_test(stored_parameters_make_an_equal_net),
        cmocka_unit_test(only_the_named_nodes_are_stored),
        cmocka_unit_test(a_weight_of_two_nodes_is_parted),
        cmocka_unit_test(what_was_float16_is_stored_as_float16_while_it_can_be),
        cmocka_unit_test(scattered_filters_run_and_are_stored_in_order),
        cmocka_unit_test(jobs_run_once_each),
        cmocka_unit_test(the_first_failure_wins_and_stops_the_others),
        cmocka_unit_test(runs_of_one_net_side_by_side_agree),
        cmocka_unit_test(short_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(a_store_without_memory_fails),
        cmocka_unit_test(the_bytes_of_a_run_are_foretold),
        cmocka_unit_test(shapes_without_elements_or_with_too_many_are_refused),
        cmocka_unit_test(batches_beyond_memory_are_refused),
        cmocka_unit_test(vectors_by_image_are_refused_by_name),
    };
    mts_error error = {0};
    omp_set_num_threads(1); /* tiny convolutions on a busy machine: threads would only wait for each other */
    if (net_device_open("reference", NULL, &reference, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&reference);
    return failed;
}

/*
 * Distillation: students find back to their teachers, what is tied stays one, what is frozen stays, and a
 * failure changes nothing.
 */
#define _GNU_SOURCE /* processors of a thread */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "compress/net/threads.h"
#include "compiler/passes/fold.h"
#include "compress/train/distill.h"
#include "compress/train/lane.h"
#include "platform/os/os.h"
#include "support/data.h"
#include "support/fault_allocator.h"

#define TASKS 3
#define SIZE 8
#define IMAGES 96
#define FILTERS 6
#define CLASSES 4

static mts_error error;

/* A family of small networks, trained: [0] of a pair is the student. */
typedef struct family {
    mts_arena arena;
    mts_task tasks[TASKS];
    mts_net *students[TASKS], *teachers[TASKS];
    mtsz_data source;
    mts_data *data;
    uint32_t fail_at; /* image that cannot be had */
    float fraction;   /* of the last progress */
    double loss, left;
    uint32_t calls, cancel_at;
    mts_fault_allocator memory;
} family;

static float noise(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return (float)(*random >> 8) / 8388608.0f - 1.0f;
}

/* ---- graphs ---- */

static uint32_t constant(mts_graph *graph, uint32_t rank, const int64_t *dims, float middle, float spread,
                         uint32_t *random)
{
    char name[16];
    const mts_shape shape = mts_shape_make(rank, dims);
    const size_t count = mts_shape_count(&shape);
    float *data = mts_arena_zero(graph->arena, count, sizeof *data);
    for (size_t i = 0; i < count; i++) {
        data[i] = middle + spread * noise(random);
    }
    (void)snprintf(name, sizeof name, "c%u", (unsigned)graph->value_count);
    return mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, &shape, data);
}

static uint32_t node(mts_graph *graph, mts_op op, const uint32_t *inputs, uint32_t count,
                     const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", (unsigned)graph->node_count);
    if (mts_graph_add_node(graph, op, name, inputs, count, attrs, &value, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return value;
}

/* kernel 3 or 1, scale and bias, maybe a residual, ReLU */
static uint32_t conv(mts_graph *graph, uint32_t x, int64_t filters, int64_t kernel, uint32_t residual,
                     uint32_t fn, uint32_t *random)
{
    const int64_t inputs = graph->values[x].shape.dims[1], one[1] = {filters};
    const int64_t dims[4] = {filters, inputs, kernel, kernel};
    const int32_t pad = (int32_t)(kernel / 2);
    const mts_attrs attrs = {.conv = {.kernel = {(uint32_t)kernel, (uint32_t)kernel},
                                      .stride = {1, 1},
                                      .dilation = {1, 1},
                                      .pad = {pad, pad, pad, pad},
                                      .group = 1,
                                      .act = {.fn = fn}}};
    const float spread = sqrtf(6.0f / (float)(inputs * kernel * kernel));
    const uint32_t weight = constant(graph, 4, dims, 0, spread, random);
    const uint32_t scale = constant(graph, 1, one, 1, 0.2f, random);
    const uint32_t bias = constant(graph, 1, one, 0, 0.2f, random);
    return node(graph, MTS_OP_CONV, (const uint32_t[]){x, weight, scale, bias, residual},
                residual == MTS_NONE ? 4 : 5, &attrs);
}

/* Nodes 0, 1, 2: convolutions; then mean, head (node 4), softmax. */
static mts_graph *graph_make(mts_arena *arena, const char *name, uint32_t seed)
{
    const mts_shape picture = {4, {1, 3, SIZE, SIZE}};
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    const mts_attrs flat = {.reshape = {.shape = {2, {1, CLASSES}}}};
    const mts_attrs soft = {.softmax = {.axis = 1}};
    mts_graph *graph = mts_graph_create(arena, name);
    uint32_t random = seed;
    uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &picture);
    x = conv(graph, x, FILTERS, 3, MTS_NONE, MTS_FN_RELU, &random);
    const uint32_t y = conv(graph, x, FILTERS, 3, MTS_NONE, MTS_FN_RELU, &random);
    x = conv(graph, y, FILTERS, 3, x, MTS_FN_RELU, &random);
    x = node(graph, MTS_OP_REDUCE, &x, 1, &mean);
    x = conv(graph, x, CLASSES, 1, MTS_NONE, MTS_FN_NONE, &random);
    x = node(graph, MTS_OP_RESHAPE, &x, 1, &flat);
    x = node(graph, MTS_OP_SOFTMAX, &x, 1, &soft);
    assert_int_equal(mts_graph_add_output(graph, "y", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

/* ---- the family ---- */

static int picture(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    const family *f = context;
    uint32_t random = index * 77u + 1;
    for (uint32_t i = 0; i < 4; i++) {
        (void)noise(&random);
    }
    const float light = noise(&random), slope = noise(&random), turn = noise(&random);
    for (uint32_t i = 0; i < width * height * 3; i++) {
        const float x = (float)(i / 3 % width) / (float)width, y = (float)(i / 3) / (float)(width * height);
        const float value = 128 + 60 * (light + slope * x + turn * y * (float)(i % 3)) + 40 * noise(&random);
        rgb[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    return f->fail_at == index;
}

static int progress(void *context, float fraction, double loss, double left)
{
    family *f = context;
    assert_true(fraction >= 0 && fraction <= 1);
    f->fraction = fraction;
    f->loss = loss;
    f->left = left;
    return ++f->calls == f->cancel_at;
}

static void family_make(family *f, uint32_t images)
{
    static const char *const names[TASKS] = {"first", "second", "third"};
    memset(f, 0, sizeof *f);
    f->fail_at = MTS_NONE;
    mts_fault_allocator_init(&f->memory, 0);
    mts_arena_init(&f->arena, mts_allocator_default());
    for (uint32_t i = 0; i < TASKS; i++) {
        f->tasks[i] =
            (mts_task){.name = names[i],
                       .graph = graph_make(&f->arena, names[i], i + 1),
                       .preprocess = {.color = MTS_COLOR_RGB, .mean = {128, 128, 128}, .std = {64, 64, 64}}};
        assert_int_equal(mts_net_create(f->tasks[i].graph, mts_allocator_default(), &f->teachers[i], &error),
                         MTS_STATUS_OK);
        assert_int_equal(mts_net_create(f->tasks[i].graph, mts_allocator_default(), &f->students[i], &error),
                         MTS_STATUS_OK);
    }
    mtsz_data_default(&f->source);
    f->source.count = images;
    f->source.context = f;
    f->source.picture = picture;
    /* Pictures are not kept, so that a callback may fail late. */
    if (mts_data_create(&f->source, f->tasks, TASKS, 0, mts_allocator_default(), &f->data, &error) !=
        MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void family_free(family *f)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        mts_net_destroy(&f->students[i]);
        mts_net_destroy(&f->teachers[i]);
    }
    mts_data_destroy(&f->data);
    mts_arena_release(&f->arena);
    assert_int_equal(f->memory.alive, 0);
}

static size_t weight_count(const mts_net_layer *layer)
{
    return (size_t)layer->outputs * layer->rows * layer->columns * layer->inputs;
}

/* Changes all weights of convolutions by a part of their size. */
static void perturb(mts_net *net, float part, uint32_t seed)
{
    const mts_graph *graph = mts_net_graph(net);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(net, i);
        for (size_t k = 0; layer.weight && k < weight_count(&layer); k++) {
            layer.weight[k] *= 1 + part * noise(&seed);
        }
        if (layer.weight) {
            mts_net_touch(net, i);
        }
    }
}

/* All parameters of a net, one after another, on the heap. */
static float *parameters(const mts_net *net, size_t *count)
{
    float *all = NULL;
    *count = 0;
    for (uint32_t i = 0; i < mts_net_graph(net)->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(net, i);
        const float *arrays[3] = {layer.weight, layer.scale, layer.bias};
        const size_t counts[3] = {weight_count(&layer), layer.outputs, layer.outputs};
        for (int k = 0; k < 3; k++) {
            if (arrays[k]) {
                all = realloc(all, (*count + counts[k]) * sizeof *all);
                memcpy(all + *count, arrays[k], counts[k] * sizeof *all);
                *count += counts[k];
            }
        }
    }
    return all;
}

static void assert_parameters(const mts_net *net, const float *want)
{
    size_t count = 0;
    float *all = parameters(net, &count);
    assert_memory_equal(all, want, count * sizeof *all);
    free(all);
}

static mts_distill_options options(family *f)
{
    mts_distill_options o;
    mts_distill_options_default(&o);
    o.seconds = 60;
    o.epochs = 12;
    o.batch = 16;
    o.shift = 1;
    o.progress = progress;
    o.context = f;
    return o;
}

static mts_status distill(family *f, const mts_tie *ties, uint32_t tie_count, const mts_distill_options *o,
                          mts_distill_report *report)
{
    return mts_distill(f->students, (const mts_net *const *)f->teachers, TASKS, ties, tie_count, f->data, o,
                       &f->memory.allocator, report, &error);
}

static void must(mts_status code)
{
    if (code != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

/* ---- ties: filters 0..3 of node 1, in each task at other places ---- */

static const uint32_t tie_tasks[TASKS] = {0, 1, 2}, tie_nodes[TASKS] = {1, 1, 1};
static const uint32_t places[TASKS][4] = {{0, 1, 2, 3}, {5, 4, 3, 2}, {1, 3, 5, 0}};
static const uint32_t *const tie_outs[TASKS] = {places[0], places[1], places[2]};

static mts_tie filters_tie(void)
{
    return (mts_tie){.task_count = TASKS,
                     .tasks = tie_tasks,
                     .nodes = tie_nodes,
                     .out_count = 4,
                     .in_count = FILTERS,
                     .outs = tie_outs};
}

/* The tie's cells of the first task come to the others. */
static void make_equal(mts_net *const *nets, const mts_tie *tie)
{
    const mts_net_layer from = mts_net_layer_of(nets[tie->tasks[0]], tie->nodes[0]);
    const uint32_t taps = from.rows * from.columns;
    for (uint32_t i = 1; i < tie->task_count; i++) {
        const mts_net_layer to = mts_net_layer_of(nets[tie->tasks[i]], tie->nodes[i]);
        for (uint32_t k = 0; k < tie->out_count; k++) {
            for (uint32_t j = 0; j < tie->in_count; j++) {
                for (uint32_t tap = 0; tap < taps; tap++) {
                    const uint32_t source = tie->ins ? tie->ins[0][j] : j;
                    const uint32_t target = tie->ins ? tie->ins[i][j] : j;
                    to.weight[(tie->outs[i][k] * taps + tap) * to.inputs + target] =
                        from.weight[(tie->outs[0][k] * taps + tap) * from.inputs + source];
                }
            }
        }
        mts_net_touch(nets[tie->tasks[i]], tie->nodes[i]);
    }
}

static uint32_t cells_that_differ(mts_net *const *nets, const mts_tie *tie)
{
    uint32_t differ = 0;
    const mts_net_layer from = mts_net_layer_of(nets[tie->tasks[0]], tie->nodes[0]);
    const uint32_t taps = from.rows * from.columns;
    for (uint32_t i = 1; i < tie->task_count; i++) {
        const mts_net_layer to = mts_net_layer_of(nets[tie->tasks[i]], tie->nodes[i]);
        for (uint32_t k = 0; k < tie->out_count * taps * tie->in_count; k++) {
            const uint32_t out = k / (taps * tie->in_count), tap = k / tie->in_count % taps;
            const uint32_t in = k % tie->in_count;
            const float *a = &from.weight[(tie->outs[0][out] * taps + tap) * from.inputs +
                                          (tie->ins ? tie->ins[0][in] : in)];
            const float *b =
                &to.weight[(tie->outs[i][out] * taps + tap) * to.inputs + (tie->ins ? tie->ins[i][in] : in)];
            differ += memcmp(a, b, sizeof *a) != 0;
        }
    }
    return differ;
}

/* ---- tests ---- */

static void perturbed_students_come_back_to_their_teachers(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.epochs = 60;
    for (uint32_t i = 0; i < TASKS; i++) {
        perturb(f.students[i], 0.3f, i + 50);
    }
    must(distill(&f, NULL, 0, &o, &report));
    assert_int_equal(report.steps, 60 * IMAGES / 16);
    assert_true(report.loss_first > 0.05);
    if (!(report.loss_last < 0.1 * report.loss_first)) {
        fail_msg("loss %g to %g", report.loss_first, report.loss_last);
    }
    assert_true(f.calls >= 2 && f.fraction == 1 && f.left == 0);
    assert_true(report.seconds > 0);
    family_free(&f);
}

static void students_that_are_their_teachers_hardly_move(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.epochs = 1;
    must(distill(&f, NULL, 0, &o, &report));
    assert_true(report.loss_first < 1e-3);
    family_free(&f);
}

/* Loss of students whose scores are all 3 above their teachers': the same probabilities. */
static double loss_of_raised_scores(bool soft)
{
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    for (uint32_t i = 0; i < TASKS; i++) {
        const mts_net_layer head = mts_net_layer_of(f.students[i], 4);
        for (uint32_t c = 0; c < head.outputs; c++) {
            head.bias[c] += 3;
        }
        mts_net_touch(f.students[i], 4);
    }
    mts_distill_options o = options(&f);
    o.epochs = 1;
    o.soft = soft;
    must(distill(&f, NULL, 0, &o, &report));
    family_free(&f);
    return report.loss_first;
}

static void soft_comparison_sees_probabilities_alone(void **state)
{
    (void)state;
    assert_true(loss_of_raised_scores(true) < 1e-3);
    assert_true(loss_of_raised_scores(false) > 0.1);
}

static void tied_filters_move_and_stay_equal_in_bits(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    family_make(&f, IMAGES);
    const mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    make_equal(f.students, &tie);
    const mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    float *before = malloc(weight_count(&layer) * sizeof *before);
    memcpy(before, layer.weight, weight_count(&layer) * sizeof *before);
    must(distill(&f, &tie, 1, &o, &report));
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    for (size_t i = 0; i < weight_count(&layer); i++) {
        count += layer.weight[i] != before[i];
    }
    assert_true(count > weight_count(&layer) * 9 / 10);
    assert_true(report.loss_last < report.loss_first);
    free(before);
    family_free(&f);
}

static void tied_cells_of_some_inputs_stay_equal_and_two_ties_share_a_layer(void **state)
{
    (void)state;
    static const uint32_t pair[2] = {2, 0}, nodes[2] = {1, 1};
    static const uint32_t left_in[2] = {4, 0}, right_in[2] = {1, 2};
    static const uint32_t left_out[2] = {4, 5}, right_out[2] = {5, 4};
    static const uint32_t *const pair_ins[2] = {left_in, right_in};
    static const uint32_t *const pair_outs[2] = {left_out, right_out};
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    const mts_distill_options o = options(&f);
    static const uint32_t all_in[TASKS][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {5, 4, 1, 2}};
    static const uint32_t *const ins[TASKS] = {all_in[0], all_in[1], all_in[2]};
    mts_tie ties[2] = {filters_tie(),
                       {.task_count = 2,
                        .tasks = pair,
                        .nodes = nodes,
                        .out_count = 2,
                        .in_count = 2,
                        .outs = pair_outs,
                        .ins = pair_ins}};
    /* The pair's filters 4 and 5 of task 2: 5 belongs to the other tie, with inputs 5 4 1 2. */
    ties[0].in_count = 4;
    ties[0].ins = ins;
    ties[1].out_count = 1;
    make_equal(f.students, &ties[0]);
    make_equal(f.students, &ties[1]);
    must(distill(&f, ties, 2, &o, &report));
    assert_int_equal(cells_that_differ(f.students, &ties[0]), 0);
    assert_int_equal(cells_that_differ(f.students, &ties[1]), 0);
    assert_true(report.loss_last < report.loss_first);
    family_free(&f);
}

static void tied_filters_serve_all_their_tasks(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    o.epochs = 40;
    make_equal(f.students, &tie);
    must(distill(&f, &tie, 1, &o, &report));
    assert_true(report.loss_last < 0.5 * report.loss_first);
    family_free(&f);
}

static void frozen_tasks_and_ties_keep_their_bits(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    const bool frozen[TASKS] = {false, true, false};
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    mts_tie tie = filters_tie();
    perturb(f.students[0], 0.2f, 1);
    make_equal(f.students, &tie);
    float *second = parameters(f.students[1], &count);
    float *first = parameters(f.students[0], &count);
    o.frozen = frozen;
    must(distill(&f, &tie, 1, &o, &report));
    assert_parameters(f.students[1], second);
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    size_t same = 0;
    float *now = parameters(f.students[0], &count);
    for (size_t i = 0; i < count; i++) {
        same += memcmp(&now[i], &first[i], sizeof *now) == 0;
    }
    assert_in_range(same, 4 * FILTERS * 9, 4 * FILTERS * 9 + 30);
    free(now);

    /* The same by the tie alone, and everything frozen: nothing to do. */
    const bool all[TASKS] = {true, true, true};
    o.frozen = all;
    must(distill(&f, &tie, 1, &o, &report));
    assert_int_equal(report.steps, 0);
    assert_parameters(f.students[1], second);
    const mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    float kept[FILTERS * 9];
    memcpy(kept, layer.weight + places[2][0] * FILTERS * 9, sizeof kept);
    o.frozen = NULL;
    tie.frozen = true;
    must(distill(&f, &tie, 1, &o, &report));
    assert_memory_equal(kept, layer.weight + places[2][0] * FILTERS * 9, sizeof kept);
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    free(first);
    free(second);
    family_free(&f);
}

static void nodes_in_front_that_are_frozen_keep_their_bits_and_so_do_their_ties(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    const uint32_t nodes[TASKS] = {2, 0, 0};
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    make_equal(f.students, &tie);
    for (uint32_t i = 0; i < TASKS; i++) {
        const mts_net_layer head = mts_net_layer_of(f.students[i], 4);
        head.bias[0] += 1;
        mts_net_touch(f.students[i], 4);
    }
    const size_t front = 3 * FILTERS * 9 + FILTERS * FILTERS * 9 + 4 * FILTERS;
    float *before = parameters(f.students[0], &count);
    float *other = parameters(f.students[1], &count);
    o.frozen_nodes = nodes;
    must(distill(&f, &tie, 1, &o, &report));
    float *now = parameters(f.students[0], &count);
    assert_memory_equal(now, before, front * sizeof *now);
    assert_memory_not_equal(now + front, before + front, (count - front) * sizeof *now);
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    free(now);
    now = parameters(f.students[1], &count);
    assert_memory_not_equal(now, other, 3 * FILTERS * 9 * sizeof *now);
    free(now);
    free(before);
    free(other);
    family_free(&f);
}

static void refuse(family *f, const mts_tie *ties, uint32_t count, const char *part)
{
    mts_distill_report report;
    const mts_distill_options o = options(f);
    assert_int_equal(distill(f, ties, count, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    if (!strstr(error.text, part)) {
        fail_msg("%s", error.text);
    }
}

static void errors_name_tasks_as_the_caller_does(void **state)
{
    (void)state;
    static const char *const names[TASKS] = {"cats", "dogs", "birds"};
    mts_distill_report report;
    family f;
    family_make(&f, IMAGES);
    const mts_tie tie = filters_tie();
    mts_distill_options o = options(&f);
    o.names = names;
    assert_int_equal(distill(&f, &tie, 1, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "of task 'dogs' has other weights"));
    mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    layer.weight[0] = NAN;
    mts_net_touch(f.students[2], 1);
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "task 'birds'"));
    family_free(&f);
}

static void ties_that_cannot_be_are_refused_with_task_and_node(void **state)
{
    (void)state;
    family f;
    family_make(&f, IMAGES);
    mts_tie tie = filters_tie();
    refuse(&f, &tie, 1, "'n1' of task 'second' has other weights");
    make_equal(f.students, &tie);
    mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    float *cell = &layer.weight[(places[2][3] * 9 + 8) * FILTERS + 5];
    *cell = nextafterf(*cell, 100);
    refuse(&f, &tie, 1, "task 'third' has other weights");
    make_equal(f.students, &tie);
    const mts_tie twice[2] = {tie, tie};
    refuse(&f, twice, 2, "task 'first' is tied twice");

    const uint32_t far[4] = {0, 1, 2, FILTERS};
    const uint32_t *const outs[TASKS] = {places[0], places[1], far};
    tie.outs = outs;
    refuse(&f, &tie, 1, "task 'third' has no such filter");
    tie = filters_tie();
    tie.in_count = FILTERS - 1;
    refuse(&f, &tie, 1, "has another number of input channels");
    const uint32_t *const ins[TASKS] = {far, far, far};
    tie.in_count = 4;
    tie.ins = ins;
    refuse(&f, &tie, 1, "has no such input channel");
    tie = filters_tie();
    const uint32_t heads[TASKS] = {1, 3, 1}, beyond[TASKS] = {1, 1, 100}, other[TASKS] = {1, 1, 4};
    tie.nodes = heads;
    refuse(&f, &tie, 1, "task 'second' is no convolution");
    tie.nodes = beyond;
    refuse(&f, &tie, 1, "task 'third' is no convolution");
    tie.nodes = other;
    refuse(&f, &tie, 1, "task 'third' ");
    const uint32_t strange[TASKS] = {0, 1, 3};
    tie = filters_tie();
    tie.tasks = strange;
    refuse(&f, &tie, 1, "no task 3");
    family_free(&f);
}

static void options_and_pairs_that_cannot_be_are_refused(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.seconds = 0;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    o = options(&f);
    o.epochs = 0;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    o = options(&f);
    o.rate = NAN;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    family_free(&f);
}

/* Trains from the same start; returns the parameters of all students. */
static float *train_once(uint32_t tasks, size_t *count)
{
    family f;
    mts_distill_report report;
    float *all = NULL;
    *count = 0;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    o.epochs = 3;
    make_equal(f.students, &tie);
    must(mts_distill(f.students, (const mts_net *const *)f.teachers, tasks, &tie, tasks == TASKS, f.data, &o,
                     &f.memory.allocator, &report, &error));
    for (uint32_t i = 0; i < TASKS; i++) {
        size_t more = 0;
        float *one = parameters(f.students[i], &more);
        all = realloc(all, (*count + more) * sizeof *all);
        memcpy(all + *count, one, more * sizeof *all);
        *count += more;
        free(one);
    }
    family_free(&f);
    return all;
}

static void equal_arguments_give_equal_bits_on_one_processor_and_on_all(void **state)
{
    (void)state;
    size_t count = 0;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
        }
    }
    for (uint32_t tasks = 1; tasks <= TASKS; tasks += TASKS - 1) {
        float *first = train_once(tasks, &count);
        float *second = train_once(tasks, &count);
        assert_memory_equal(first, second, count * sizeof *first); /* the same again */
        free(second);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        assert_int_equal(mts_threads_count(), 1);
        second = train_once(tasks, &count);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
        assert_memory_equal(first, second, count * sizeof *first);
        free(first);
        free(second);
    }
}

/* The gradients of a step of the first task, on the heap; `chunk` images go through at once. */
static float *lane_gradients(family *f, const mts_batch *batch, uint32_t chunk, double *loss, size_t *count)
{
    const mts_frozen nothing = {0};
    const mts_graph *graph = mts_net_graph(f->students[0]);
    mts_answer answer = mts_answer_of(graph, 0);
    const mts_lane_task of = {
        .teacher = f->teachers[0], .student = f->students[0], .answer_count = 1, .answers = &answer};
    mts_lane lane = {.of = &of, .end = batch->size, .chunk = chunk};
    mts_parameters all;
    assert_true(mts_parameters_init(&all, f->students, 1, &nothing, mts_allocator_default()));
    *count = all.elements[0];
    must(mts_lane_init(&lane, *count, mts_allocator_default(), &error));
    must(mts_lane_step(&lane, f->data, batch, &all, &error));
    float *gradients = malloc(*count * sizeof *gradients);
    memcpy(gradients, lane.gradients, *count * sizeof *gradients);
    *loss = lane.loss;
    mts_lane_release(&lane, mts_allocator_default());
    mts_parameters_release(&all);
    return gradients;
}

static void a_batch_that_goes_through_in_chunks_has_the_same_gradients(void **state)
{
    (void)state;
    family f;
    mts_batch batch;
    size_t count = 0;
    double loss = 0, chunked_loss = 0, size = 0, difference = 0;
    family_make(&f, IMAGES);
    perturb(f.students[0], 0.3f, 3);
    assert_true(mts_batch_init(&batch, IMAGES, 16, 2, true, 1, mts_allocator_default()));
    mts_batch_next(&batch);
    float *whole = lane_gradients(&f, &batch, 16, &loss, &count);
    float *chunked = lane_gradients(&f, &batch, 5, &chunked_loss, &count);
    for (size_t i = 0; i < count; i++) {
        size = fmax(size, fabs((double)whole[i]));
        difference = fmax(difference, fabs((double)whole[i] - (double)chunked[i]));
    }
    assert_true(size > 1e-4 && difference < 1e-4 * size);
    assert_true(loss > 0 && fabs(loss - chunked_loss) < 1e-5 * loss);
    free(whole);
    free(chunked);
    mts_batch_release(&batch);
    family_free(&f);
}

static void a_failure_leaves_every_bit(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    float *before[TASKS];
    family_make(&f, IMAGES);
    for (uint32_t i = 0; i < TASKS; i++) {
        perturb(f.students[i], 0.3f, i + 9);
        before[i] = parameters(f.students[i], &count);
    }
    mts_distill_options o = options(&f);
    f.cancel_at = 1;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_CANCELLED);
    f.cancel_at = 0;
    f.fail_at = 17;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_IO);
    assert_non_null(strstr(error.text, "17"));
    f.fail_at = MTS_NONE;
    for (size_t call = 1; call < 400; call += 7) {
        mts_fault_allocator_init(&f.memory, call);
        o.epochs = 1;
        if (distill(&f, NULL, 0, &o, &report) == MTS_STATUS_OK) {
            break;
        }
        for (uint32_t i = 0; i < TASKS; i++) {
            assert_parameters(f.students[i], before[i]);
        }
        assert_int_equal(f.memory.alive, 0);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        free(before[i]);
    }
    family_free(&f);
}

static void a_loss_that_is_no_number_names_the_task_and_leaves_every_bit(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    family_make(&f, IMAGES);
    const mts_distill_options o = options(&f);
    const mts_net_layer layer = mts_net_layer_of(f.students[1], 4);
    layer.bias[2] = NAN;
    mts_net_touch(f.students[1], 4);
    float *before = parameters(f.students[0], &count);
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "'second'"));
    assert_parameters(f.students[0], before);
    free(before);
    family_free(&f);
}

/* A machine that is busy with other things may stop a step at any time: one of three has to keep to it. */
static void training_keeps_to_its_time(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    bool kept = false;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.seconds = 1;
    o.epochs = 1000000;
    for (int i = 0; i < 3 && !kept; i++) {
        const uint64_t start = mts_os_clock_ns();
        must(distill(&f, NULL, 0, &o, &report));
        const double seconds = (double)(mts_os_clock_ns() - start) * 1e-9;
        kept = seconds > 0.8 && seconds < 1.2 && fabs(report.seconds - seconds) < 0.1;
        assert_true(report.steps > 5);
        assert_true(seconds > 0.5);
    }
    assert_true(kept);
    family_free(&f);
}

/* ---- networks that were trained ---- */

static const char *const small[2] = {"cifar/models/small_object.onnx", "cifar/models/small_legs.onnx"};
static unsigned char *records; /* of calib_5000.bin */

static int photo(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    const unsigned char *record = records + (size_t)index * 3073 + 1;
    for (uint32_t i = 0; i < 3072; i++) {
        rgb[i] = record[i % 3 * 1024 + i / 3];
    }
    return width != 32 || height != 32;
}

typedef struct comparison {
    mts_net *nets[2];
    mts_data *data;
    uint32_t images, changed;
} comparison;

static uint32_t best_of(const float *scores, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}

static mts_status compare_job(void *context, uint32_t job, uint32_t worker, mts_error *failure)
{
    comparison *c = context;
    uint32_t index[100];
    mts_net_run *runs[2] = {0};
    const mts_port *port = &mts_net_graph(c->nets[0])->outputs[0];
    const uint32_t classes = (uint32_t)mts_shape_count(&port->shape);
    mts_status code = MTS_STATUS_OK;
    (void)worker;
    for (int k = 0; k < 2 && code == MTS_STATUS_OK; k++) {
        code = mts_net_run_create(c->nets[k], 100, MTS_NET_INFERENCE, &runs[k], failure);
    }
    for (uint32_t at = 0; at < c->images && code == MTS_STATUS_OK; at += 100) {
        for (uint32_t i = 0; i < 100; i++) {
            index[i] = at + i;
        }
        for (int k = 0; k < 2 && code == MTS_STATUS_OK; k++) {
            code = mts_data_fill(c->data, job, 0, index, 100, NULL, mts_net_run_input(runs[k], 0), failure);
            if (code == MTS_STATUS_OK) {
                code = mts_net_run_forward(runs[k], 100, 0, mts_net_graph(c->nets[k])->node_count, failure);
            }
        }
        for (uint32_t i = 0; i < 100 && code == MTS_STATUS_OK; i++) {
            c->changed += best_of(mts_net_run_value(runs[0], port->value) + i * classes, classes) !=
                          best_of(mts_net_run_value(runs[1], port->value) + i * classes, classes);
        }
    }
    mts_net_run_destroy(&runs[0]);
    mts_net_run_destroy(&runs[1]);
    return code;
}

/* Percent of the answers of task 0. */
static double changed_answers(mts_net *a, mts_net *b, mts_data *data, uint32_t images)
{
    comparison c = {.nets = {a, b}, .data = data, .images = images};
    must(mts_threads_run(1, compare_job, &c, &error));
    return 100.0 * c.changed / images;
}

static void perturbed_networks_of_cifar_regain_their_teachers_answers(void **state)
{
    (void)state;
    char path[DATA_PATH];
    if (!data_exists(data_path(MTS_SOURCE_DIR, "cifar/calib_5000.bin", path))) {
        skip();
    }
    mts_arena arena;
    void *bytes = NULL;
    size_t size = 0;
    mts_task tasks[2];
    mts_net *students[2], *teachers[2];
    mts_data *data = NULL;
    mts_distill_options o;
    mts_distill_report report;
    mts_arena_init(&arena, mts_allocator_default());
    must(mts_os_file_read(mts_allocator_default(), path, SIZE_MAX, &bytes, &size, &error));
    records = bytes;
    for (int i = 0; i < 2; i++) {
        mts_graph *graph = NULL, *folded = NULL;
        must(mts_import_file(data_path(MTS_SOURCE_DIR, small[i], path), NULL, &arena, &graph, &error));
        must(mts_fold(graph, &arena, &folded, &error));
        tasks[i] = (mts_task){.name = i ? "legs" : "object",
                              .graph = folded,
                              .preprocess = {.color = MTS_COLOR_RGB,
                                             .mean = {125.3f, 123.0f, 113.9f},
                                             .std = {63.0f, 62.1f, 66.7f}}};
        must(mts_net_create(folded, mts_allocator_default(), &students[i], &error));
        must(mts_net_create(folded, mts_allocator_default(), &teachers[i], &error));
        perturb(students[i], 0.4f, (uint32_t)i + 3);
    }
    mtsz_data source;
    mtsz_data_default(&source);
    source.count = 2000;
    source.picture = photo;
    must(mts_data_create(&source, tasks, 2, 1u << 30, mts_allocator_default(), &data, &error));
    const double before = changed_answers(students[0], teachers[0], data, 500);
    mts_distill_options_default(&o);
    o.epochs = 2;
    must(mts_distill(students, (const mts_net *const *)teachers, 2, NULL, 0, data, &o,
                     mts_allocator_default(), &report, &error));
    const double after = changed_answers(students[0], teachers[0], data, 500);
    print_message("%u steps, loss %.3g to %.3g, answers changed %.1f %% to %.1f %%\n", (unsigned)report.steps,
                  report.loss_first, report.loss_last, before, after);
    assert_true(before > 10);
    assert_true(after < before / 2.5);
    for (int i = 0; i < 2; i++) {
        mts_net_destroy(&students[i]);
        mts_net_destroy(&teachers[i]);
    }
    mts_data_destroy(&data);
    mts_alloc_free(mts_allocator_default(), bytes);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perturbed_students_come_back_to_their_teachers),
        cmocka_unit_test(students_that_are_their_teachers_hardly_move),
        cmocka_unit_test(soft_comparison_sees_probabilities_alone),
        cmocka_unit_test(tied_filters_move_and_stay_equal_in_bits),
        cmocka_unit_test(tied_cells_of_some_inputs_stay_equal_and_two_ties_share_a_layer),
        cmocka_unit_test(tied_filters_serve_all_their_tasks),
        cmocka_unit_test(frozen_tasks_and_ties_keep_their_bits),
        cmocka_unit_test(nodes_in_front_that_are_frozen_keep_their_bits_and_so_do_their_ties),
        cmocka_unit_test(errors_name_tasks_as_the_caller_does),
        cmocka_unit_test(ties_that_cannot_be_are_refused_with_task_and_node),
        cmocka_unit_test(options_and_pairs_that_cannot_be_are_refused),
        cmocka_unit_test(equal_arguments_give_equal_bits_on_one_processor_and_on_all),
        cmocka_unit_test(a_batch_that_goes_through_in_chunks_has_the_same_gradients),
        cmocka_unit_test(a_failure_leaves_every_bit),
        cmocka_unit_test(a_loss_that_is_no_number_names_the_task_and_leaves_every_bit),
        cmocka_unit_test(training_keeps_to_its_time),
        cmocka_unit_test(perturbed_networks_of_cifar_regain_their_teachers_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

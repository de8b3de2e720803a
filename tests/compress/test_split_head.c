/*
 * The end of a classifier is found, and replaced without touching what comes before it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compress/split/head.h"
#include "support/eval.h"

#define CLASSES 5
#define FEATURES 4
#define SIDE 6

typedef struct classifier {
    mts_arena arena;
    mts_task task;
    uint32_t body; /* value of the features */
    float filters[FEATURES * 3 * 9], head[CLASSES * FEATURES], bias[CLASSES];
    float image[3 * SIDE * SIDE];
} classifier;

static uint32_t node(mts_graph *graph, mts_op op, const uint32_t *inputs, uint32_t count,
                     const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    mts_error error = {0};
    const mts_status status = mts_graph_add_node(graph, op, "", inputs, count, attrs, &value, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    return value;
}

static uint32_t constant(mts_graph *graph, uint32_t rank, const int64_t *dims, const float *data)
{
    const mts_shape shape = mts_shape_make(rank, dims);
    return mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, data);
}

static mts_attrs conv_of(uint32_t kernel, uint32_t fn)
{
    const int32_t pad = (int32_t)kernel / 2;
    return (mts_attrs){.conv = {.kernel = {kernel, kernel},
                                .stride = {1, 1},
                                .dilation = {1, 1},
                                .pad = {pad, pad, pad, pad},
                                .group = 1,
                                .act = {.fn = fn}}};
}

/* Convolution and mean; the value of the features. */
static uint32_t add_body(classifier *c)
{
    mts_graph *graph = c->task.graph;
    const mts_shape image = mts_shape_make(4, (int64_t[]){1, 3, SIDE, SIDE});
    const uint32_t x = mts_graph_add_input(graph, "image", MTS_TYPE_FLOAT32, &image);
    const uint32_t filters = constant(graph, 4, (int64_t[]){FEATURES, 3, 3, 3}, c->filters);
    const mts_attrs conv = conv_of(3, MTS_FN_RELU);
    const uint32_t y = node(graph, MTS_OP_CONV, (uint32_t[]){x, filters}, 2, &conv);
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    return node(graph, MTS_OP_REDUCE, &y, 1, &mean);
}

static uint32_t add_head(classifier *c, uint32_t fn)
{
    mts_graph *graph = c->task.graph;
    const uint32_t weight = constant(graph, 4, (int64_t[]){CLASSES, FEATURES, 1, 1}, c->head);
    const uint32_t bias = constant(graph, 1, (int64_t[]){CLASSES}, c->bias);
    const mts_attrs conv = conv_of(1, fn);
    return node(graph, MTS_OP_CONV, (uint32_t[]){c->body, weight, MTS_NONE, bias}, 4, &conv);
}

static void add_output_named(classifier *c, uint32_t value, const char *name)
{
    mts_error error = {0};
    const mts_attrs flat = {.reshape = {.shape = mts_shape_make(2, (int64_t[]){1, CLASSES})}};
    const uint32_t y = node(c->task.graph, MTS_OP_RESHAPE, &value, 1, &flat);
    assert_int_equal(
        mts_graph_add_output(c->task.graph, name, y, MTS_TYPE_FLOAT32, &flat.reshape.shape, &error),
        MTS_STATUS_OK);
}

static void add_output(classifier *c, uint32_t value)
{
    add_output_named(c, value, "scores");
}

static void begin(classifier *c)
{
    memset(c, 0, sizeof *c);
    mts_arena_init(&c->arena, mts_allocator_default());
    c->task.name = "toy";
    c->task.graph = mts_graph_create(&c->arena, "toy");
    for (size_t i = 0; i < sizeof c->filters / sizeof *c->filters; i++) {
        c->filters[i] = sinf((float)i);
    }
    for (size_t i = 0; i < sizeof c->head / sizeof *c->head; i++) {
        c->head[i] = cosf((float)(3 * i));
    }
    for (size_t i = 0; i < sizeof c->image / sizeof *c->image; i++) {
        c->image[i] = sinf((float)(i * i));
    }
    c->bias[1] = 0.5f;
    c->body = add_body(c);
}

static void a_classifier_behind_a_softmax_is_found(void **state)
{
    (void)state;
    classifier c;
    mts_head head;
    mts_error error = {0};
    begin(&c);
    const uint32_t scores = add_head(&c, MTS_FN_NONE);
    const mts_attrs softmax = {.softmax = {.axis = 1}};
    add_output(&c, node(c.task.graph, MTS_OP_SOFTMAX, &scores, 1, &softmax));
    assert_int_equal(mts_head_find(&c.task, &head, &error), MTS_STATUS_OK);
    assert_int_equal(head.classes, CLASSES);
    assert_int_equal(head.features, FEATURES);
    assert_int_equal(head.input, c.body);
    assert_int_equal(head.output, scores);
    mts_arena_release(&c.arena);
}

static void expect_refusal(classifier *c, const char *part)
{
    mts_head head;
    mts_error error = {0};
    assert_int_equal(mts_head_find(&c->task, &head, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "toy"));
    if (!strstr(error.text, part)) {
        fail_msg("%s", error.text);
    }
    mts_arena_release(&c->arena);
}

static void two_outputs_are_refused(void **state)
{
    (void)state;
    classifier c;
    begin(&c);
    const uint32_t scores = add_head(&c, MTS_FN_NONE);
    add_output(&c, scores);
    add_output_named(&c, scores, "more");
    expect_refusal(&c, "2 outputs");
}

static void scores_with_an_activation_are_refused(void **state)
{
    (void)state;
    classifier c;
    begin(&c);
    add_output(&c, add_head(&c, MTS_FN_RELU));
    expect_refusal(&c, "fully connected");
}

static void a_network_that_ends_in_an_image_is_refused(void **state)
{
    (void)state;
    classifier c;
    mts_error error = {0};
    begin(&c);
    const mts_graph *graph = c.task.graph;
    const uint32_t image = graph->nodes[0].output;
    assert_int_equal(mts_graph_add_output(c.task.graph, "image", image, MTS_TYPE_FLOAT32,
                                          &graph->values[image].shape, &error),
                     MTS_STATUS_OK);
    expect_refusal(&c, "fully connected");
}

static void a_new_end_computes_its_own_answers_from_the_same_features(void **state)
{
    (void)state;
    classifier c;
    mts_error error = {0};
    mts_graph *made = NULL;
    uint32_t *nodes = NULL;
    const float weight[2 * FEATURES] = {1, 2, 3, 4, -1, 0, 0.5f, 0};
    const float bias[2] = {0.25f, -1};
    const float sums[2] = {1, 1};
    const mts_head_layer layers[2] = {{.outputs = 2, .inputs = FEATURES, .weight = weight, .bias = bias},
                                      {.outputs = 1, .inputs = 2, .weight = sums}};
    begin(&c);
    add_output(&c, add_head(&c, MTS_FN_NONE));
    assert_int_equal(mts_head_replace(c.task.graph, c.body, layers, 2, &c.arena, &made, &nodes, &error),
                     MTS_STATUS_OK);
    assert_int_equal(mts_graph_verify(made, &error), MTS_STATUS_OK);
    assert_int_equal(made->output_count, 1);
    assert_string_equal(made->outputs[0].name, "scores");
    assert_int_equal(made->outputs[0].shape.dims[1], 1);
    assert_int_equal(nodes[2], MTS_NONE); /* the old head */
    assert_int_equal(made->node_count, 5);
    bool needed[8] = {false};
    mts_head_mark(c.task.graph, c.body, needed); /* what the new network has of the old one */
    for (uint32_t n = 0; n < c.task.graph->node_count; n++) {
        assert_int_equal(needed[n], nodes[n] != MTS_NONE);
    }

    float *before[64];
    float *after[64];
    const float *inputs[1] = {c.image};
    assert_true(mts_eval(c.task.graph, inputs, &c.arena, before));
    assert_true(mts_eval(made, inputs, &c.arena, after));
    const float *features = after[made->nodes[nodes[1]].output];
    assert_memory_equal(features, before[c.body], FEATURES * sizeof(float));
    float wanted = bias[0] + bias[1];
    for (uint32_t k = 0; k < FEATURES; k++) {
        wanted += (weight[k] + weight[FEATURES + k]) * features[k];
    }
    assert_float_equal(after[made->outputs[0].value][0], wanted, 1e-4);
    mts_arena_release(&c.arena);
}

static void what_follows_may_follow_the_value_itself(void **state)
{
    (void)state;
    classifier c;
    mts_error error = {0};
    mts_graph *made = NULL;
    const mts_head_layer layer = {.outputs = CLASSES, .softmax = true, .log = true};
    begin(&c);
    const uint32_t scores = add_head(&c, MTS_FN_NONE);
    add_output(&c, scores);
    assert_int_equal(mts_head_replace(c.task.graph, scores, &layer, 1, &c.arena, &made, NULL, &error),
                     MTS_STATUS_OK);
    assert_int_equal(mts_graph_verify(made, &error), MTS_STATUS_OK);
    assert_int_equal(made->node_count, 6);
    assert_int_equal(made->nodes[3].op, MTS_OP_SOFTMAX);
    assert_int_equal(made->nodes[4].op, MTS_OP_UNARY);
    mts_arena_release(&c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_classifier_behind_a_softmax_is_found),
        cmocka_unit_test(two_outputs_are_refused),
        cmocka_unit_test(scores_with_an_activation_are_refused),
        cmocka_unit_test(a_network_that_ends_in_an_image_is_refused),
        cmocka_unit_test(a_new_end_computes_its_own_answers_from_the_same_features),
        cmocka_unit_test(what_follows_may_follow_the_value_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

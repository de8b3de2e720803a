/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of TensorFlow Lite on hand-made models: what it computes, beside the definition in
 * doubles, which launches it needs, and what is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/tflite_world.h"

#define LSTM 44
#define BATCH 2
#define INPUTS 3
#define HIDDEN 2
#define STEPS_MOST 6
#define GATES 4

enum { INPUT_WEIGHT = 1, STATE_WEIGHT = 5, PEEPHOLE = 9, BIAS = 12, PROJECTION = 16, STATES = 18, NORM = 20 };
enum { GATE_INPUT, GATE_FORGET, GATE_CELL, GATE_OUTPUT };

static tflite_world world;
static float x[STEPS_MOST * BATCH * INPUTS], w[GATES][HIDDEN * INPUTS], r[GATES][HIDDEN * HIDDEN];
static float b[GATES][HIDDEN], peep[3][HIDDEN];

/* The layer of a test. */
static struct {
    int steps, time_major, coupled, peeps;
    float clip;
} layer;

static void fill(float *numbers, size_t count, float scale, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        numbers[i] = scale * ((float)(seed >> 8) / 8388608.0f - 1.0f);
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&layer, 0, sizeof layer);
    layer.steps = 4;
    fill(x, sizeof x / sizeof *x, 2.0f, 1);
    for (uint32_t g = 0; g < GATES; g++) {
        fill(w[g], HIDDEN * INPUTS, 1.5f, 10 + g);
        fill(r[g], HIDDEN * HIDDEN, 1.5f, 20 + g);
        fill(b[g], HIDDEN, 1.0f, 30 + g);
    }
    for (uint32_t g = 0; g < 3; g++) {
        fill(peep[g], HIDDEN, 2.0f, 40 + g);
    }
    return tflite_world_open(&world);
}

static int tear_down(void **state)
{
    (void)state;
    return tflite_world_close(&world);
}

static void refused(mts_status status, const char *part)
{
    tflite_world_refuses(&world, status, part);
    assert_non_null(strstr(world.error.text, "(UNIDIRECTIONAL_SEQUENCE_LSTM)"));
}

static double sigmoid(double z)
{
    return 1.0 / (1.0 + exp(-z));
}

static size_t place(int t, int n, int width)
{
    return (size_t)(layer.time_major ? t * BATCH + n : n * layer.steps + t) * (size_t)width;
}

/* States of all steps by the definition, in the order of the file. */
static void define(float *out)
{
    for (int n = 0; n < BATCH; n++) {
        double h[HIDDEN] = {0}, c[HIDDEN] = {0};
        for (int t = 0; t < layer.steps; t++) {
            double z[GATES][HIDDEN], next[HIDDEN];
            for (int g = 0; g < GATES; g++) {
                for (int k = 0; k < HIDDEN; k++) {
                    z[g][k] = (double)b[g][k];
                    for (int i = 0; i < INPUTS; i++) {
                        z[g][k] += (double)w[g][k * INPUTS + i] * (double)x[place(t, n, INPUTS) + (size_t)i];
                    }
                    for (int i = 0; i < HIDDEN; i++) {
                        z[g][k] += (double)r[g][k * HIDDEN + i] * h[i];
                    }
                }
            }
            for (int k = 0; k < HIDDEN; k++) {
                const double on = layer.peeps ? 1.0 : 0.0;
                const double keep = sigmoid(z[GATE_FORGET][k] + on * (double)peep[1][k] * c[k]);
                const double add =
                    layer.coupled ? 1.0 - keep : sigmoid(z[GATE_INPUT][k] + on * (double)peep[0][k] * c[k]);
                c[k] = keep * c[k] + add * tanh(z[GATE_CELL][k]);
                c[k] = layer.clip > 0.0f ? fmax(-(double)layer.clip, fmin((double)layer.clip, c[k])) : c[k];
                next[k] = sigmoid(z[GATE_OUTPUT][k] + on * (double)peep[2][k] * c[k]) * tanh(c[k]);
            }
            for (int k = 0; k < HIDDEN; k++) {
                h[k] = next[k];
                out[place(t, n, HIDDEN) + (size_t)k] = (float)h[k];
            }
        }
    }
}

static int gate_tensor(const char *kind, int gate, int rank, int columns, const float *data)
{
    static char names[64][16];
    char *name = names[world.model.tensor_count];
    (void)snprintf(name, sizeof names[0], "%s%d", kind, gate);
    return tflite_floats(&world.model, name, rank, (const int32_t[]){HIDDEN, columns}, data);
}

/* The model of the layer; its operator, for tests to change. */
static tflite_operator *build(void)
{
    const int32_t first = layer.time_major ? layer.steps : BATCH,
                  second = layer.time_major ? BATCH : layer.steps;
    const int in = tflite_input(&world.model, "x", 3, (const int32_t[]){first, second, INPUTS});
    const int y = tflite_value(&world.model, "y", 3, (const int32_t[]){first, second, HIDDEN});
    tflite_node(&world.model, LSTM, y, in, -1, -1);
    tflite_operator *node = &world.model.operators[world.model.operator_count - 1];
    node->input_count = 24;
    for (int i = 1; i < 24; i++) {
        node->inputs[i] = -1;
    }
    for (int g = layer.coupled ? 1 : 0; g < GATES; g++) {
        node->inputs[INPUT_WEIGHT + g] = gate_tensor("w", g, 2, INPUTS, w[g]);
        node->inputs[STATE_WEIGHT + g] = gate_tensor("r", g, 2, HIDDEN, r[g]);
        node->inputs[BIAS + g] = gate_tensor("b", g, 1, 1, b[g]);
    }
    for (int g = layer.coupled ? 1 : 0; g < 3 && layer.peeps; g++) {
        node->inputs[PEEPHOLE + g] = gate_tensor("p", g, 1, 1, peep[g]);
    }
    for (int i = 0; i < 2; i++) {
        node->inputs[STATES + i] =
            tflite_value(&world.model, i ? "c" : "h", 2, (const int32_t[]){BATCH, HIDDEN});
        world.model.tensors[node->inputs[STATES + i]].is_variable = 1;
    }
    tflite_option(&world.model, 0, 4);
    tflite_option_float(&world.model, 1, layer.clip);
    tflite_option(&world.model, 3, layer.time_major);
    tflite_output(&world.model, y);
    return node;
}

static uint32_t count_of(const mts_graph *graph, mts_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == op;
    }
    return count;
}

/* Runs the layer and compares it with the definition; the number of nodes that do steps. */
static uint32_t compare(void)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    float wanted[STEPS_MOST * BATCH * HIDDEN];
    const void *data[1] = {x};
    const void *const *inputs = data;
    test_net net = {0};
    mts_engine *engine = NULL;
    build();
    const mts_graph *const run = tflite_world_folded(&world);
    mts_status status = net_make(&run, 1, 0.0f, &net, &world.error);
    MTS_TRY(status, mts_planned_engine_create(world.device, net.archive, &options, NULL, &engine, NULL,
                                              &world.error));
    MTS_TRY(status, net_engine_run(engine, &net, &inputs, &world.error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", world.error.text);
    }
    size_t count = 0;
    const float *got = net_output(engine, &net, 0, 0, &count);
    define(wanted);
    assert_int_equal(count, layer.steps * BATCH * HIDDEN);
    for (size_t i = 0; i < count; i++) {
        assert_float_equal(got[i], wanted[i], 1e-5);
    }
    mts_engine_destroy(&engine);
    net_release(&net);
    tflite_end(&world.model);
    tflite_begin(&world.model);
    return count_of(run, MTS_OP_RECUR);
}

static void one_recurrence_does_all_steps(void **state)
{
    (void)state;
    for (layer.time_major = 0; layer.time_major < 2; layer.time_major++) {
        assert_int_equal(compare(), 1);
    }
}

static void an_input_gate_that_is_coupled_is_the_forget_gate_negated(void **state)
{
    (void)state;
    layer.coupled = 1;
    assert_int_equal(compare(), 1);
}

static void a_bound_of_the_cell_matters_only_where_the_steps_can_reach_it(void **state)
{
    (void)state;
    layer.clip = 4.0f;
    assert_int_equal(compare(), 1);
    layer.steps = 6;
    layer.clip = 0.3f;
    assert_int_equal(compare(), 0);
}

static void peepholes_are_written_out_step_by_step(void **state)
{
    (void)state;
    layer.peeps = 1;
    assert_int_equal(compare(), 0);
    layer.coupled = layer.time_major = 1;
    assert_int_equal(compare(), 0);
}

static void what_is_not_supported_is_refused_by_name(void **state)
{
    (void)state;
    tflite_operator *node = build();
    node->inputs[NORM] = node->inputs[BIAS];
    refused(MTS_STATUS_UNSUPPORTED, "a normalisation of its gates is not supported");
    node = build();
    node->inputs[PROJECTION] = node->inputs[STATE_WEIGHT];
    refused(MTS_STATUS_UNSUPPORTED, "a projection is not supported");
    build();
    tflite_option(&world.model, 0, 1);
    refused(MTS_STATUS_UNSUPPORTED, "another activation than tanh is not supported");
    build();
    tflite_option(&world.model, 5, 1);
    refused(MTS_STATUS_UNSUPPORTED, "a diagonal weight is not supported");
    static const float scale = 0.5f;
    build();
    world.model.tensors[0].type = TFLITE_INT8;
    world.model.tensors[0].scales = &scale;
    world.model.tensors[0].scale_count = 1;
    refused(MTS_STATUS_UNSUPPORTED, "its integer form is not supported");
}

static void operands_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    tflite_operator *node = build();
    node->inputs[BIAS] = -1;
    refused(MTS_STATUS_UNSUPPORTED, "input 12 must be a constant");
    node = build();
    node->inputs[STATE_WEIGHT + GATE_CELL] = node->inputs[BIAS];
    refused(MTS_STATUS_MALFORMED, "input 7 has shape");
    node = build();
    node->inputs[INPUT_WEIGHT + GATE_CELL] = node->inputs[STATES];
    refused(MTS_STATUS_MALFORMED, "is not defined before it is used");
    node = build();
    node->input_count = 5;
    refused(MTS_STATUS_MALFORMED, "operands are missing");
    layer.peeps = 1;
    node = build();
    node->inputs[PEEPHOLE + 1] = -1;
    refused(MTS_STATUS_UNSUPPORTED, "input 10 must be a constant");
    node = build();
    node->inputs[0] = node->inputs[STATES];
    refused(MTS_STATUS_MALFORMED, "is not defined before it is used");
}

/* A state that is kept between runs is no operand of other operators. */
static void a_variable_without_its_operator_is_refused(void **state)
{
    (void)state;
    const int v = tflite_value(&world.model, "v", 2, (const int32_t[]){BATCH, HIDDEN});
    const int y = tflite_value(&world.model, "y", 2, (const int32_t[]){BATCH, HIDDEN});
    const int in = tflite_input(&world.model, "x", 2, (const int32_t[]){BATCH, HIDDEN});
    world.model.tensors[v].is_variable = 1;
    tflite_node(&world.model, 0, y, in, v, -1);
    tflite_output(&world.model, y);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "'v' is not defined before it is used");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_recurrence_does_all_steps),
        TEST(an_input_gate_that_is_coupled_is_the_forget_gate_negated),
        TEST(a_bound_of_the_cell_matters_only_where_the_steps_can_reach_it),
        TEST(peepholes_are_written_out_step_by_step),
        TEST(what_is_not_supported_is_refused_by_name),
        TEST(operands_that_do_not_fit_are_refused),
        TEST(a_variable_without_its_operator_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

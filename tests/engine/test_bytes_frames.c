/*
 * test_bytes_frames.c: a frame in an input of 8 bits: every device computes with the same integers as the
 * reference, also where the convolution behind multiplies bytes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/net.h"

enum { SIDE = 12, CHANNELS = 3, ROWS = 8, WIDTH = 24, HEIGHT = 16, RESULTS = ROWS * SIDE * SIDE };

/* A part of a power of 2, as all factors here: sums are exact on both devices. */
#define STEP 0.0625f

static const char *const backends[] = {"reference", "cpu", "opencl"};
enum { DEVICES = sizeof backends / sizeof backends[0] };

static mts_device *devices[DEVICES]; /* NULL: there is none */

/* A graph keeps what its constants point to: it lies in the arena. */
static uint32_t filled(mts_arena *arena, mts_graph *graph, const char *name, uint32_t count, float number)
{
    float *data = mts_arena_zero(arena, count, sizeof *data);
    const mts_shape shape = {.rank = 1, .dims = {count}};
    assert_non_null(data);
    for (uint32_t i = 0; i < count; i++) {
        data[i] = number;
    }
    return mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, &shape, data);
}

/* y = conv(STEP (x - zero)). inner: channels are the input's last dimension, and a TRANSPOSE puts them
 * before rows and columns. */
static mts_graph *network(mts_arena *arena, mts_type dtype, float zero, bool inner)
{
    enum { WEIGHTS = ROWS * CHANNELS * 9 };
    int8_t *weights = mts_arena_zero(arena, WEIGHTS, sizeof *weights);
    const uint32_t factors = inner ? SIDE : CHANNELS;
    const mts_shape in = inner ? (mts_shape){.rank = 4, .dims = {1, SIDE, SIDE, CHANNELS}}
                               : (mts_shape){.rank = 4, .dims = {1, CHANNELS, SIDE, SIDE}},
                    weight = {.rank = 4, .dims = {ROWS, CHANNELS, 3, 3}},
                    out = {.rank = 4, .dims = {1, ROWS, SIDE, SIDE}};
    const mts_attrs none = {0}, turn = {.transpose = {.perm = {0, 3, 1, 2}}},
                    conv = {.conv = {.kernel = {3, 3},
                                     .stride = {1, 1},
                                     .dilation = {1, 1},
                                     .pad = {1, 1, 1, 1},
                                     .group = 1}};
    mts_graph *graph = mts_graph_create(arena, "g");
    mts_error error = {0};
    uint32_t scaled = MTS_NONE, y = MTS_NONE;
    assert_true(graph && weights);
    for (size_t i = 0; i < WEIGHTS; i++) {
        weights[i] = (int8_t)((int)(i * 37 % 255) - 127);
    }
    const uint32_t x = mts_graph_add_input(graph, "x", dtype, &in);
    const uint32_t scale[3] = {x, filled(arena, graph, "s", factors, STEP),
                               filled(arena, graph, "b", factors, -zero * STEP)};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_SCALE, "scale", scale, 3, &none, &scaled, &error), 0);
    if (inner) {
        assert_int_equal(
            mts_graph_add_node(graph, MTS_OP_TRANSPOSE, "turn", &scaled, 1, &turn, &scaled, &error), 0);
    }
    const uint32_t operands[2] = {scaled, mts_graph_add_const(graph, "w", MTS_TYPE_INT8, &weight, weights)};
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_CONV, "conv", operands, 2, &conv, &y, &error), 0);
    assert_int_equal(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &out, &error), 0);
    return graph;
}

/* Twice as large as the part of the image that shows it, above and below which there are
 * bars. Bars and pixels are beyond int8. */
static void give_frame(mts_engine *engine)
{
    static uint8_t pixels[HEIGHT * WIDTH];
    const mts_frame frame = {.size = sizeof frame,
                             .data = pixels,
                             .width = WIDTH,
                             .height = HEIGHT,
                             .format = MTS_PIXEL_FORMAT_GREY,
                             .region = {.fit = MTS_FIT_LETTERBOX, .fill = {200, 3, 255}}};
    mts_frame_view view;
    mts_error error = {0};
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(i * 89 % 251 / (i % 3 + 1));
    }
    assert_int_equal(mts_frame_view_make(&frame, &view, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_set_frame(engine, MTS_NONE, &view, &error), MTS_STATUS_OK);
}

/* What a device computes of the frame. */
static void run(mts_device *device, const test_net *net, float *results)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    mts_engine *engine = NULL;
    mts_error error = {0};
    size_t count = 0;
    assert_int_equal(mts_planned_engine_create(device, net->archive, &options, NULL, &engine, NULL, &error),
                     0);
    give_frame(engine);
    assert_int_equal(mts_engine_submit(engine, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_wait(engine, &error), MTS_STATUS_OK);
    const float *found = net_output(engine, net, 0, 0, &count);
    assert_non_null(found);
    assert_int_equal(count, RESULTS);
    memcpy(results, found, RESULTS * sizeof *results);
    mts_engine_destroy(&engine);
}

static void expect_equal(mts_type dtype, float zero, float mean, bool inner)
{
    static float wanted[RESULTS], found[RESULTS];
    mts_arena arena;
    test_net net;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = network(&arena, dtype, zero, inner);
    assert_int_equal(net_make(&graph, 1, 0.0f, &net, &error), MTS_STATUS_OK);
    net.archive->tasks[0].preprocess.color = MTS_COLOR_RGB;
    net.archive->tasks[0].preprocess.interleaved = inner;
    for (int c = 0; c < CHANNELS; c++) {
        net.archive->tasks[0].preprocess.mean[c] = mean;
    }
    run(devices[0], &net, wanted);
    for (size_t d = 1; d < DEVICES; d++) {
        if (devices[d]) {
            run(devices[d], &net, found);
        }
        for (size_t i = 0; devices[d] && i < RESULTS; i++) {
            if (!(fabsf(wanted[i] - found[i]) <= 1e-4f)) {
                fail_msg("%s, type %d, mean %g: [%zu] is %g instead of %g", backends[d], (int)dtype,
                         (double)mean, i, (double)found[i], (double)wanted[i]);
            }
        }
    }
    net_release(&net);
    mts_arena_release(&arena);
}

static void a_frame_is_integers_of_the_inputs_type_on_every_device(void **state)
{
    (void)state;
    expect_equal(MTS_TYPE_INT8, -5.0f, 0.0f, false);
    expect_equal(MTS_TYPE_INT8, 0.0f, 150.0f, false);
    expect_equal(MTS_TYPE_UINT8, 130.0f, 0.0f, true);
    expect_equal(MTS_TYPE_UINT8, 0.0f, 40.25f, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_integers_of_the_inputs_type_on_every_device)};
    mts_error error = {0};
    int failed = 77;
    size_t found = 0;
    for (size_t d = 0; d < DEVICES; d++) {
        found += net_device_open(backends[d], NULL, &devices[d], &error) == MTS_STATUS_OK;
    }
    if (devices[0] && found > 1) {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    } else {
        printf("no device to compare with the reference\n");
    }
    for (size_t d = 0; d < DEVICES; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}

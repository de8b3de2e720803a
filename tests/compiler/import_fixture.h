/*
 * import_fixture.h: imports a model that a test writes, and compares what became of it.
 */
#ifndef MTS_TESTS_COMPILER_IMPORT_FIXTURE_H
#define MTS_TESTS_COMPILER_IMPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "support/onnx_model.h"

#define DIMS(...)                                                                                            \
    (const int64_t[])                                                                                        \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define COUNT(...) (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t))
#define INTS(...) COUNT(__VA_ARGS__), DIMS(__VA_ARGS__)

static mts_arena arena;
static mts_error error;
static onnx_model model;
static mts_import_options options;
static float ramp[1024];

static inline int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    error = (mts_error){0};
    options = mts_import_options_default();
    for (int i = 0; i < 1024; i++) {
        ramp[i] = (float)i;
    }
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    onnx_model_end(&model);
    mts_arena_release(&arena);
    return 0;
}

static inline mts_status import_model(mts_graph **graph)
{
    const onnx_bytes *file = onnx_model_file(&model);
    return mts_import_memory(file->data, file->size, "hand.onnx", &options, &arena, graph, &error);
}

static inline mts_graph *imported(void)
{
    mts_graph *graph = NULL;
    mts_status status = import_model(&graph);
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
    return graph;
}

static inline void refused(mts_status status, const char *part)
{
    mts_graph *graph = (mts_graph *)&arena;
    assert_int_equal(import_model(&graph), status);
    assert_null(graph);
    assert_int_equal(strncmp(error.text, "hand.onnx: ", 11), 0);
    if (!strstr(error.text, part)) {
        fail_msg("'%s' does not tell '%s'", error.text, part);
    }
}

static inline void assert_shape(const mts_shape *shape, int rank, const int64_t *dims)
{
    char a[96], b[96];
    const mts_shape wanted = mts_shape_make((uint32_t)rank, dims);
    assert_string_equal(mts_shape_text(shape, a, sizeof(a)), mts_shape_text(&wanted, b, sizeof(b)));
}

/* The first output is a constant of these numbers. */
static inline void assert_numbers(const mts_graph *graph, int count, const double *numbers)
{
    float out[1024];
    const mts_value *value = &graph->values[graph->outputs[0].value];
    assert_int_equal(value->kind, MTS_VALUE_CONST);
    assert_int_equal(mts_shape_count(&value->shape), count);
    mts_value_read_f32(value, out);
    for (int i = 0; i < count; i++) {
        if (out[i] < (float)numbers[i] || out[i] > (float)numbers[i]) {
            fail_msg("element %d is %g, not %g", i, (double)out[i], numbers[i]);
        }
    }
}
#define NUMBERS(graph, ...)                                                                                  \
    assert_numbers(graph, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),                           \
                   (const double[]){__VA_ARGS__})

static inline const mts_node *node_of(const mts_graph *graph, mts_op op, uint32_t index)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op == op && index-- == 0) {
            return &graph->nodes[i];
        }
    }
    fail_msg("there is no such %s node", mts_op_name(op));
    return NULL;
}

#endif

/*
 * test_precision.c: sessions in float16: what they take, what they give, and what they refuse. The border
 * (types of inputs and outputs, zero-copy inputs, frames) is test_precision_border.c's.
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

#include "engine/state.h"
#include "tune/explain.h"
#include "tune/tune.h"
#include "support/net.h"
#include "support/synth.h"
#include "support/tolerance.h"

#define WORK MTS_BINARY_DIR "/precision"

static mts_device *devices[2];
static const char *const device_names[2] = {"reference", "opencl"};

static mts_engine *make(int device, const mts_archive *archive, mts_strategy strategy,
                        mts_precision precision)
{
    const mts_engine_options options = {
        .strategy = strategy, .precision = precision, .separate_inputs = true};
    const mts_decision decision = {.slice_bytes = 0};
    mts_engine *engine = NULL;
    mts_error error = {0};
    test_must(mts_engine_create(devices[device], archive, &options, &decision, NULL, &engine, &error), &error,
              device_names[device]);
    return engine;
}

static void open_resnet(test_synth *b, uint32_t tasks)
{
    static const double prune = 0.9;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, tasks, &prune, 1, 0.7);
    test_synth_open(b, &o);
}

static void every_strategy_takes_half_the_bytes_in_float16_and_agrees_with_the_reference(void **state)
{
    test_synth b;
    size_t count = 0;
    (void)state;
    open_resnet(&b, 3);
    mts_engine *oracle = make(0, b.archive, MTS_STRATEGY_SEQUENTIAL, MTS_PRECISION_FLOAT32);
    float *want = test_synth_run(oracle, b.archive, &count);
    for (int d = 0; d < 2 && devices[d]; d++) {
        for (int s = 0; s < MTS_STRATEGY_COUNT; s++) {
            mts_engine *full = make(d, b.archive, (mts_strategy)s, MTS_PRECISION_FLOAT32);
            mts_engine *half = make(d, b.archive, (mts_strategy)s, MTS_PRECISION_FLOAT16_STORAGE);
            assert_int_equal(half->stats.precision, MTS_PRECISION_FLOAT16_STORAGE);
            assert_int_equal(full->stats.precision, MTS_PRECISION_FLOAT32);
            assert_int_equal(2 * half->stats.weight_bytes, full->stats.weight_bytes);
            assert_in_range(2 * half->stats.activation_bytes, full->stats.activation_bytes,
                            full->stats.activation_bytes + 7); /* whole words */
            assert_int_equal(half->stats.workspace_bytes, full->stats.workspace_bytes);
            assert_int_equal(half->launches.weights[0]->size, half->stats.weight_bytes);
            assert_int_equal(half->launches.act->size, half->stats.activation_bytes);
            assert_int_equal(half->stats.mul_adds, full->stats.mul_adds);
            size_t got_count = 0;
            float *got = test_synth_run(half, b.archive, &got_count);
            assert_int_equal(got_count, count);
            const double difference = test_difference(got, want, count);
            assert_true(difference <= TEST_TOLERANCE_FLOAT16);
            assert_true(difference > 0.0); /* else nothing was rounded */
            free(got);
            mts_engine_destroy(&full);
            mts_engine_destroy(&half);
        }
    }
    free(want);
    mts_engine_destroy(&oracle);
    test_synth_close(&b);
}

static void float16_is_storage_on_a_device_without_fast_products(void **state)
{
    test_synth b;
    (void)state;
    open_resnet(&b, 2);
    for (int d = 0; d < 2 && devices[d]; d++) {
        const bool fast = devices[d]->info.half_products;
        size_t count = 0;
        devices[d]->info.half_products = false;
        mts_engine *storage = make(d, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16_STORAGE);
        mts_engine *half = make(d, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16);
        assert_int_equal(half->stats.precision, MTS_PRECISION_FLOAT16_STORAGE);
        float *a = test_synth_run(storage, b.archive, &count);
        float *c = test_synth_run(half, b.archive, &count);
        assert_memory_equal(a, c, count * sizeof *a);
        free(a);
        free(c);
        mts_engine_destroy(&storage);
        mts_engine_destroy(&half);
        devices[d]->info.half_products = fast;
    }
    test_synth_close(&b);
}

static void float16_is_kept_where_products_are_fast_and_agrees(void **state)
{
    test_synth b;
    size_t count = 0;
    (void)state;
    open_resnet(&b, 2);
    mts_engine *full = make(0, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT32);
    assert_true(devices[0]->info.half_products); /* plain C stands in for such a device */
    mts_engine *half = make(0, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16);
    assert_int_equal(half->stats.precision, MTS_PRECISION_FLOAT16);
    for (uint32_t k = 0; k < half->launches.kernel_count; k++) {
        assert_non_null(strstr(half->launches.kernels[k].defines, "-DHALF=2"));
    }
    float *want = test_synth_run(full, b.archive, &count);
    float *got = test_synth_run(half, b.archive, &count);
    assert_true(test_difference(got, want, count) <= TEST_TOLERANCE_FLOAT16);
    free(want);
    free(got);
    mts_engine_destroy(&full);
    mts_engine_destroy(&half);
    test_synth_close(&b);
}

static void all_kernels_of_a_session_are_built_for_its_precision_and_float32_as_ever(void **state)
{
    test_synth b;
    (void)state;
    open_resnet(&b, 2);
    mts_engine *full = make(0, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT32);
    mts_engine *half = make(0, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16_STORAGE);
    assert_true(full->launches.kernel_count > 2);
    assert_int_equal(half->launches.kernel_count, full->launches.kernel_count);
    for (uint32_t k = 0; k < full->launches.kernel_count; k++) {
        assert_null(strstr(full->launches.kernels[k].defines, "HALF"));
        assert_non_null(strstr(half->launches.kernels[k].defines, "-DHALF=1"));
    }
    mts_engine_destroy(&full);
    mts_engine_destroy(&half);
    test_synth_close(&b);
}

static void a_library_for_float32_multiplies_nothing_in_float16(void **state)
{
    test_synth b;
    (void)state;
    open_resnet(&b, 2);
    const mts_kernel_config gemm = {.kernel = MTS_KERNEL_CONFIG_GEMM, .rows = 8, .vectors = 4, .local = 1};
    const mts_kernel_configs forced = {.forced = &gemm};
    const mts_decision decision = {.configs = &forced};
    mts_session_stats stats[2];
    mts_error error = {0};
    devices[0]->info.gemm = true; /* weighing launches nothing */
    for (int p = 0; p < 2; p++) {
        const mts_engine_options options = {
            .strategy = MTS_STRATEGY_COMPACT, .precision = (mts_precision)p, .separate_inputs = true};
        test_must(mts_engine_footprint(devices[0], b.archive, &options, &decision, &stats[p], &error), &error,
                  "weigh");
    }
    devices[0]->info.gemm = false;
    mts_engine *tiles = make(0, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16_STORAGE);
    assert_true(stats[0].launches > tiles->stats.launches); /* an epilogue of its own for each product */
    assert_int_equal(stats[1].launches, tiles->stats.launches);
    mts_engine_destroy(&tiles);
    test_synth_close(&b);
}

static void a_budget_that_float32_does_not_keep_float16_keeps(void **state)
{
    test_synth b;
    mts_error error = {0};
    mts_engine *engine = NULL;
    (void)state;
    open_resnet(&b, 3);
    mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL, .separate_inputs = true};
    test_must(mts_planned_engine_create(devices[0], b.archive, &options, NULL, &engine, NULL, &error), &error,
              "float32");
    const mts_session_stats full = engine->stats;
    mts_engine_destroy(&engine);
    options.memory_budget.bytes = full.peak_bytes - 1;
    assert_int_equal(mts_planned_engine_create(devices[0], b.archive, &options, NULL, &engine, NULL, &error),
                     MTS_STATUS_LIMIT);
    options.precision = MTS_PRECISION_FLOAT16_STORAGE;
    options.memory_budget.bytes =
        (full.weight_bytes + full.activation_bytes) / 2 + full.workspace_bytes + 8; /* whole words */
    test_must(mts_planned_engine_create(devices[0], b.archive, &options, NULL, &engine, NULL, &error), &error,
              "float16");
    assert_true(engine->stats.peak_bytes <= options.memory_budget.bytes);
    mts_engine_destroy(&engine);
    options.memory_budget.bytes = full.peak_bytes / 4;
    assert_int_equal(mts_planned_engine_create(devices[0], b.archive, &options, NULL, &engine, NULL, &error),
                     MTS_STATUS_LIMIT);
    test_synth_close(&b);
}

static mts_session_stats weigh(const mts_archive *archive, mts_precision precision, uint64_t slice_bytes)
{
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .precision = precision, .separate_inputs = true};
    const mts_decision decision = {.slice_bytes = slice_bytes};
    mts_session_stats stats;
    mts_error error = {0};
    test_must(mts_engine_footprint(devices[0], archive, &options, &decision, &stats, &error), &error,
              "weigh");
    return stats;
}

/* Slices are of bytes: twice as many tasks fit one in float16. */
static void a_slice_of_the_same_bytes_holds_more_in_float16(void **state)
{
    enum { SLICE = 60000 };
    test_synth b;
    (void)state;
    open_resnet(&b, 8);
    const mts_session_stats whole = weigh(b.archive, MTS_PRECISION_FLOAT32, 0);
    const mts_session_stats full = weigh(b.archive, MTS_PRECISION_FLOAT32, SLICE);
    const mts_session_stats half = weigh(b.archive, MTS_PRECISION_FLOAT16_STORAGE, SLICE);
    const mts_session_stats same = weigh(b.archive, MTS_PRECISION_FLOAT16_STORAGE, SLICE / 2);
    assert_true(full.launches > whole.launches);
    assert_true(half.launches < full.launches);
    assert_int_equal(same.launches, full.launches);
    assert_in_range(2 * same.activation_bytes, full.activation_bytes, full.activation_bytes + 7);
    /* no slice is so large that its bytes in float32 could not be said */
    assert_int_equal(weigh(b.archive, MTS_PRECISION_FLOAT16_STORAGE, UINT64_MAX).launches, whole.launches);
    test_synth_close(&b);
}

static void traffic_counts_two_bytes_an_element(void **state)
{
    test_synth b;
    uint64_t bytes[2] = {0, 0};
    (void)state;
    open_resnet(&b, 2);
    for (int p = 0; p < 2; p++) {
        mts_engine *engine = make(0, b.archive, MTS_STRATEGY_COMPACT, (mts_precision)p);
        for (uint32_t i = 0; i < engine->launches.count; i++) {
            bytes[p] += engine->launches.encoded[i].bytes;
        }
        mts_engine_destroy(&engine);
    }
    assert_true(bytes[0] > 0);
    assert_int_equal(bytes[0], 2 * bytes[1]);
    test_synth_close(&b);
}

static void reports_name_the_precision_that_is_used(void **state)
{
    test_synth b;
    (void)state;
    open_resnet(&b, 1);
    mts_engine *engine = make(0, b.archive, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16_STORAGE);
    for (int json = 0; json < 2; json++) {
        const mts_planning_report report = {0};
        mts_text text;
        mts_text_init(&text, mts_allocator_default());
        mts_explain(engine, &report, json != 0, &text);
        assert_false(text.failed);
        assert_non_null(
            strstr(mts_text_get(&text), json ? "\"precision\": \"float16-storage\"" : "in float16-storage"));
        mts_text_release(&text);
    }
    mts_engine_destroy(&engine);
    test_synth_close(&b);
}

/* ---- weights that float16 does not hold ---- */

/* y = k x */
static mts_graph *scaled(mts_arena *arena, const float *k)
{
    mts_error error = {0};
    mts_graph *graph = mts_graph_create(arena, "scaled");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){4});
    const mts_shape one = mts_shape_make(0, NULL);
    const uint32_t inputs[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape),
                                mts_graph_add_const(graph, "k", MTS_TYPE_FLOAT32, &one, k)};
    const mts_attrs attrs = {.binary = {.kind = MTS_BIN_MUL}};
    uint32_t y = MTS_NONE;
    test_must(mts_graph_add_node(graph, MTS_OP_BINARY, "enlarge", inputs, 2, &attrs, &y, &error), &error,
              "node");
    test_must(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &shape, &error), &error, "output");
    return graph;
}

/* A convolution of one channel. */
static mts_graph *filtered(mts_arena *arena, const float *filter)
{
    mts_error error = {0};
    mts_graph *graph = mts_graph_create(arena, "filtered");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){1, 1, 4, 4});
    const mts_shape one = mts_shape_make(4, (const int64_t[]){1, 1, 1, 1});
    const uint32_t inputs[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape),
                                mts_graph_add_const(graph, "w", MTS_TYPE_FLOAT32, &one, filter)};
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    uint32_t y = MTS_NONE;
    test_must(mts_graph_add_node(graph, MTS_OP_CONV, "enlarge", inputs, 2, &attrs, &y, &error), &error,
              "node");
    test_must(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &shape, &error), &error, "output");
    return graph;
}

static mts_status make_pair(const mts_graph *const *graphs, mts_precision precision, mts_error *error)
{
    test_net net;
    mts_engine *engine = NULL;
    test_must(net_make(graphs, 2, 0.0f, &net, error), error, "bundle");
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .precision = precision};
    const mts_status status =
        mts_planned_engine_create(devices[0], net.archive, &options, NULL, &engine, NULL, error);
    assert_true((status == MTS_STATUS_OK) == (engine != NULL));
    mts_engine_destroy(&engine);
    net_release(&net);
    return status;
}

static mts_status make_scaled(float k, mts_precision precision, mts_error *error)
{
    mts_arena arena;
    const float two = 2.0f;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graphs[2] = {scaled(&arena, &two), scaled(&arena, &k)};
    const mts_status status = make_pair(graphs, precision, error);
    mts_arena_release(&arena);
    return status;
}

static void a_weight_that_float16_cannot_hold_is_refused_by_name(void **state)
{
    mts_error error = {0};
    (void)state;
    assert_int_equal(make_scaled(65519.0f, MTS_PRECISION_FLOAT16_STORAGE, &error), MTS_STATUS_OK);
    assert_int_equal(make_scaled(70000.0f, MTS_PRECISION_FLOAT32, &error), MTS_STATUS_OK);
    for (int sign = -1; sign <= 1; sign += 2) {
        assert_int_equal(make_scaled((float)sign * 70000.0f, MTS_PRECISION_FLOAT16_STORAGE, &error),
                         MTS_STATUS_LIMIT);
        assert_non_null(strstr(error.text, "layer enlarge of task t1"));
        assert_non_null(strstr(error.text, "70000"));
        assert_non_null(strstr(error.text, "float16"));
    }
    assert_int_equal(make_scaled(INFINITY, MTS_PRECISION_FLOAT16_STORAGE, &error), MTS_STATUS_OK);
}

/* A number as large as masks have is one as an operand, and is none in a filter. */
static void a_mask_becomes_the_largest_number_and_a_filter_is_refused(void **state)
{
    mts_error error = {0};
    mts_arena arena;
    (void)state;
    assert_int_equal(make_scaled(1e30f, MTS_PRECISION_FLOAT16_STORAGE, &error), MTS_STATUS_OK);
    mts_arena_init(&arena, mts_allocator_default());
    const float filter[2] = {1e30f, 1.0f};
    const mts_graph *graphs[2] = {filtered(&arena, filter), filtered(&arena, filter + 1)};
    assert_int_equal(make_pair(graphs, MTS_PRECISION_FLOAT32, &error), MTS_STATUS_OK);
    assert_int_equal(make_pair(graphs, MTS_PRECISION_FLOAT16_STORAGE, &error), MTS_STATUS_LIMIT);
    assert_non_null(strstr(error.text, "layer enlarge of task t0"));
    mts_arena_release(&arena);
}

/* y = a b, of tiles that are cut */
static mts_graph *multiplied(mts_arena *arena)
{
    mts_error error = {0};
    mts_graph *graph = mts_graph_create(arena, "multiplied");
    assert_non_null(graph);
    const mts_shape left = mts_shape_make(3, (const int64_t[]){2, 40, 24});
    const mts_shape right = mts_shape_make(3, (const int64_t[]){2, 24, 48});
    const uint32_t inputs[2] = {mts_graph_add_input(graph, "a", MTS_TYPE_FLOAT32, &left),
                                mts_graph_add_input(graph, "b", MTS_TYPE_FLOAT32, &right)};
    const mts_attrs attrs = {.matmul = {.alpha = 1.0f}};
    uint32_t y = MTS_NONE;
    test_must(mts_graph_add_node(graph, MTS_OP_MATMUL, "product", inputs, 2, &attrs, &y, &error), &error,
              "node");
    test_must(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &graph->values[y].shape, &error), &error,
              "output");
    return graph;
}

static void products_of_two_values_use_matrix_units_for_float16_products(void **state)
{
    static const mts_precision precisions[] = {MTS_PRECISION_FLOAT32, MTS_PRECISION_FLOAT16_STORAGE,
                                               MTS_PRECISION_FLOAT16};
    mts_device *device = devices[1] ? devices[1] : devices[0];
    const mts_device_info *info = &device->info;
    mts_error error = {0};
    mts_arena arena;
    test_net net;
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = multiplied(&arena);
    test_must(net_make(&graph, 1, 0.0f, &net, &error), &error, "bundle");
    for (int p = 0; p < 3; p++) {
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .precision = precisions[p]};
        mts_engine *engine = NULL;
        uint32_t products = 0;
        test_must(mts_planned_engine_create(device, net.archive, &options, NULL, &engine, NULL, &error),
                  &error, "engine");
        for (uint32_t i = 0; i < engine->launches.count; i++) {
            const mts_encoded_launch *launch = &engine->launches.encoded[i];
            if (strncmp(launch->kernel, "matmul_", strlen("matmul_")) == 0) {
                const bool shared = strcmp(launch->kernel, "matmul_block__f32_planar") == 0;
                const bool units = strstr(launch->defines, "-DMATRIX=1") != NULL;
                assert_true(shared || !info->is_gpu);
                assert_int_equal(units, shared && info->matrix_units && p == 2);
                products++;
            }
        }
        assert_int_equal(products, 1);
        mts_engine_destroy(&engine);
    }
    net_release(&net);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_takes_half_the_bytes_in_float16_and_agrees_with_the_reference),
        cmocka_unit_test(float16_is_storage_on_a_device_without_fast_products),
        cmocka_unit_test(float16_is_kept_where_products_are_fast_and_agrees),
        cmocka_unit_test(all_kernels_of_a_session_are_built_for_its_precision_and_float32_as_ever),
        cmocka_unit_test(a_library_for_float32_multiplies_nothing_in_float16),
        cmocka_unit_test(a_budget_that_float32_does_not_keep_float16_keeps),
        cmocka_unit_test(a_slice_of_the_same_bytes_holds_more_in_float16),
        cmocka_unit_test(traffic_counts_two_bytes_an_element),
        cmocka_unit_test(reports_name_the_precision_that_is_used),
        cmocka_unit_test(a_weight_that_float16_cannot_hold_is_refused_by_name),
        cmocka_unit_test(a_mask_becomes_the_largest_number_and_a_filter_is_refused),
        cmocka_unit_test(products_of_two_values_use_matrix_units_for_float16_products),
    };
    mts_error error = {0};
    if (mts_os_directory_make(WORK, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    for (int d = 0; d < 2; d++) {
        if (net_device_open(device_names[d], WORK, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", device_names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}

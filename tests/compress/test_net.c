/*
 * test_net.c: forward equals the reference device of the run-time.
 */
#include "net_sample.h"

/* Graphs as a bundle holds them: weights in several blocks. */
static void random_networks_out_of_bundles_match_the_reference_device(void **state)
{
    uint32_t cut = 0;
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        const random_family family = {
            .seed = 4000 + seed, .tasks = TASKS, .steps = 3 + seed % 6, .net = true};
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
        const bool quantised = fn == MTS_FN_QUANT8 || fn == MTS_FN_QUANT16;
        const mts_attrs attrs = {
            .unary = {.act = {.fn = fn, .a = quantised ? 0.0625f : -0.3f, .b = quantised ? -40.0f : 0.4f}}};
        const mts_attrs wide = {.unary = {.act = {.fn = MTS_FN_HARD_SWISH}}};
        fixture_output(&f, "z", fixture_node(&f, MTS_OP_UNARY, &x, 1, &wide));
        if (fn == MTS_FN_ASIN || fn == MTS_FN_ACOS || fn == MTS_FN_ATANH) {
            const mts_attrs inside = {.unary = {.act = {.fn = MTS_FN_CLIP, .a = -0.9f, .b = 0.9f}}};
            x = fixture_node(&f, MTS_OP_UNARY, &x, 1, &inside);
        } else if (fn == MTS_FN_ACOSH) {
            const mts_attrs above = {.unary = {.act = {.fn = MTS_FN_CLIP, .a = 1.1f, .b = 9.0f}}};
            x = fixture_node(&f, MTS_OP_UNARY, &x, 1, &above);
        } else if (fn == MTS_FN_SQRT || fn == MTS_FN_LOG || fn == MTS_FN_RECIPROCAL) {
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

/* Tokens [5, 9] of a table, two heads, a mask of a row for each query. */
static void attention_of_taken_tokens_matches_the_reference_device(void **state)
{
    fixture f;
    test_net bundle;
    mts_error error = {0};
    (void)state;
    fixture_begin(&f, 3);
    const mts_shape shape = mts_shape_make(3, (const int64_t[]){1, 9, 1});
    const mts_shape table = mts_shape_make(3, (const int64_t[]){1, 20, 8});
    const mts_shape image = fixture_shape4(1, 8, 1, 9), mask = mts_shape_make(2, (const int64_t[]){9, 9});
    const uint32_t rows[2] = {fixture_const(&f, &table, 0.0f, 1.0f), fixture_input(&f, &shape)};
    uint32_t x = fixture_node(&f, MTS_OP_TAKE, rows, 2, &(mts_attrs){0});
    const mts_attrs order = {.transpose = {.perm = {0, 2, 1}}}, view = {.reshape = {.shape = image}};
    x = fixture_node(&f, MTS_OP_TRANSPOSE, &x, 1, &order);
    x = fixture_node(&f, MTS_OP_RESHAPE, &x, 1, &view);
    const fixture_conv conv = {.outputs = 8, .kernel = 1}, narrow = {.outputs = 6, .kernel = 1};
    const uint32_t inputs[4] = {fixture_add_conv(&f, x, &conv), fixture_add_conv(&f, x, &conv),
                                fixture_add_conv(&f, x, &narrow), fixture_const(&f, &mask, 0.0f, 1.0f)};
    const mts_attrs attrs = {.attention = {.heads = 2, .scale = 0.5f}};
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_ATTENTION, inputs, 4, &attrs));
    float data[IMAGES][9], *lists[TASKS][IMAGES];
    for (uint32_t i = 0; i < IMAGES; i++) {
        for (uint32_t k = 0; k < 9; k++) {
            data[i][k] = (float)((k * 7 + i * 3) % 24) - 2.0f; /* some out of range */
        }
        lists[0][i] = lists[1][i] = lists[2][i] = data[i];
    }
    const mts_graph *graph = f.graph;
    fixture_must(net_make(&graph, 1, 0.0f, &bundle, &error), &error);
    compare_archive(&bundle, lists, "attention");
    net_release(&bundle);
    fixture_end(&f);
}

/* The tasks of the CIFAR family, out of a bundle, on images. */
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
    float image[3 * 32 * 32];
    const void *data = image, *const * list[64];
    fixture_fill(image, 3 * 32 * 32, 7);
    for (uint32_t t = 0; t < models.count; t++) {
        list[t] = &data;
    }
    fixture_must(net_engine_run(engine, &bundle, list, &error), &error);
    for (uint32_t t = 0; t < models.count; t++) {
        const mts_graph *graph = models.tasks[t].graph;
        float *const inputs[IMAGES] = {image, image, image};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks_out_of_bundles_match_the_reference_device),
        cmocka_unit_test(element_functions_match_the_reference_device),
        cmocka_unit_test(attention_of_taken_tokens_matches_the_reference_device),
        cmocka_unit_test(cifar_networks_match_the_reference_device),
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

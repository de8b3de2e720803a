/*
 * test_zip.c: zipped tasks share what was asked for and answer as before.
 */
#include "zip_fixture.h"

static void tasks_share_what_was_asked_for_and_answer_as_before(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(0.75, 3);
    zip.layer = count_layer;
    told = told_shared = 0;
    const uint64_t before = hash_of(original);
    const mtsz_zip_report report = must_zip(original, &zip);
    assert_int_equal(hash_of(original), before);
    assert_int_equal(report.layers, LAYERS);
    assert_int_equal(report.zipped, LAYERS);
    assert_int_equal(report.rolled_back, 0);
    assert_int_equal(told, LAYERS);
    assert_int_equal(told_shared, 5 * 8 + 5 * 12 + 5 * 24 + 5 * 48);
    assert_true(report.shared_weights > 0.7 && report.shared_weights < 0.8);
    /* three tasks of eight, three quarters of their filters once: 5 + 3 (1/4) + 3/4 of eight */
    const double part = (double)report.summary.weights_bytes / (double)report.summary.weights_bytes_unshared;
    assert_true(part > 6.4 / 8 && part < 6.6 / 8);
    assert_true(report.change < 10.0);
}

static void the_parts_of_shared_filters_are_found_again_as_uxyz(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(0.75, 3);
    zip.form = MTSZ_FORM_UXYZ;
    const mtsz_zip_report report = must_zip(original, &zip);
    const double part = (double)report.summary.weights_bytes / (double)report.summary.weights_bytes_unshared;
    assert_true(report.shared_weights > 0.5 && report.shared_weights < 0.6); /* 9 of 16 */
    assert_true(part > 6.75 / 8 && part < 7.0 / 8);
    assert_true(report.change < 10.0);
}

static void equal_options_give_equal_bytes(void **state)
{
    (void)state;
    const mtsz_zip_options zip = zip_options(0.9, 2);
    (void)must_zip(original, &zip);
    const uint64_t first = hash_of(zipped);
    (void)must_zip(original, &zip);
    assert_int_equal(hash_of(zipped), first);
}

/* ---- channels in another order ---- */

static void shuffle(uint32_t *order, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t i = count; i-- > 1;) {
        const uint32_t k = (uint32_t)(mts_hash(&i, sizeof i, seed) % (i + 1));
        const uint32_t held = order[i];
        order[i] = order[k];
        order[k] = held;
    }
}

static void permute(mts_graph *graph, mts_arena *arena, uint64_t seed)
{
    mts_error error;
    mts_channels channels;
    assert_int_equal(mts_channels_find(graph, arena, &channels, &error), MTS_STATUS_OK);
    uint32_t **orders = mts_arena_zero(arena, channels.group_count, sizeof *orders);
    assert_non_null(orders);
    for (uint32_t g = 0; g < channels.group_count; g++) {
        if (channels.groups[g].kind == MTS_CHANNEL_FREE) {
            orders[g] = mts_arena_zero(arena, channels.groups[g].channels, sizeof **orders);
            assert_non_null(orders[g]);
            shuffle(orders[g], channels.groups[g].channels, seed + g);
        }
    }
    mts_family family = {
        .graphs = &graph, .count = 1, .arena = arena, .channels = &channels, .orders = &orders};
    assert_true(mts_family_permute_weights(&family));
}

#define COPIES 4u

/* The same model several times, all but the first with their channels in another order. */
static void write_shuffled(const char *path)
{
    static const char *const names[COPIES] = {"object", "animal", "legs", "pet"};
    mts_models models;
    mts_error error;
    mts_task tasks[COPIES];
    assert_int_equal(mts_models_open(original, mts_allocator_default(), &models, &error), MTS_STATUS_OK);
    for (uint32_t i = 0; i < COPIES; i++) {
        tasks[i] = models.tasks[0];
        tasks[i].name = names[i];
        tasks[i].graph = mts_graph_clone(models.tasks[0].graph, &models.arenas[i]);
        assert_non_null(tasks[i].graph);
        if (i > 0) {
            permute(tasks[i].graph, &models.arenas[i], 100 * i);
        }
    }
    assert_int_equal(mts_models_write(&models, tasks, COPIES, path, &options, NULL, &error), MTS_STATUS_OK);
    mts_models_release(&models);
}

static void channels_in_another_order_are_matched(void **state)
{
    (void)state;
    write_shuffled(other);
    for (int greedy = 0; greedy < 2; greedy++) {
        mtsz_zip_options zip = zip_options(1.0, 0); /* all, so that several are put into order at once */
        zip.assignment = greedy ? MTSZ_ASSIGNMENT_GREEDY : MTSZ_ASSIGNMENT_OPTIMAL;
        const mtsz_zip_report report = must_zip(other, &zip);
        assert_int_equal(report.zipped, LAYERS);
        assert_true(report.change_worst < 2.0);
        /* one network but for scale, bias and the head */
        assert_true(report.summary.weights_bytes < report.summary.weights_bytes_unshared * 30 / 100);
    }
}

static void a_base_keeps_every_bit(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(0.75, 3);
    zip.base = three;
    zip.base_count = 1;
    const mtsz_zip_report report = must_zip(original, &zip);
    assert_int_equal(report.zipped, LAYERS);
    assert_true(report.summary.weights_bytes < report.summary.weights_bytes_unshared * 66 / 80);
    for (uint32_t i = 0; i < 3; i++) {
        float before[16], after[16];
        const size_t count = answer(original, "object", i, before, 16);
        assert_int_equal(answer(zipped, "object", i, after, 16), count);
        assert_memory_equal(before, after, count * sizeof(float));
    }
    zip.base_count = 3;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "every task");
    const char *const unknown[] = {"nobody"};
    zip.base = unknown;
    zip.base_count = 1;
    expect_refused(MTS_STATUS_NOT_FOUND, original, &data, &zip, "nobody");
}

static void training_goes_on_sharing(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(0.75, 2);
    const mtsz_zip_report plain = must_zip(original, &zip);
    zip.retrain_seconds = 2.0;
    const mtsz_zip_report trained = must_zip(original, &zip);
    /* heads may have a scale now, a number for each of 12 classes */
    assert_in_range(trained.summary.weights_bytes, plain.summary.weights_bytes,
                    plain.summary.weights_bytes + 12 * sizeof(float));
    assert_true(trained.retrain_seconds > 0.0 && trained.retrain_seconds < 20.0);
    /* two seconds may be too few: then what was there before is kept */
    assert_true(trained.retrained ? trained.change <= plain.change + 2.0 : trained.change == plain.change);
}

/* ---- small networks: images of two sizes, channels that say nothing ---- */

typedef enum small_kind {
    PLAIN,
    DEAD, /* channels 8 to 11 of the first layer are another network's and never pass its ReLU */
    SEEN  /* all values are outputs: their channels must not move */
} small_kind;

static void add_small(mtsc_compiler *compiler, const char *name, int64_t pixels, uint32_t seed,
                      small_kind kind)
{
    float bias[12] = {0};
    float first[12 * 3 * 9], second[8 * 12 * 9], head[4 * 8 * 9];
    float *weights[3] = {first, second, head};
    const size_t counts[3] = {12 * 3 * 9, 8 * 12 * 9, 4 * 8 * 9};
    onnx_model net;
    mtsc_task task;
    for (uint32_t l = 0; l < 3; l++) {
        for (uint32_t i = 0; i < counts[l]; i++) {
            weights[l][i] = (float)(sin(i * 1.7 + l) + 0.2 * sin(i * 0.9 * seed)) * 0.2f;
        }
    }
    for (uint32_t i = 8 * 27; i < 12 * 27 && kind == DEAD; i++) {
        first[i] = (float)sin((double)i * i * seed);
        bias[i / 27] = -1000.0f;
    }
    onnx_model_begin(&net, 13);
    onnx_model_input(&net, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, pixels, pixels});
    onnx_model_floats(&net, "w1", 4, (const int64_t[]){12, 3, 3, 3}, first);
    onnx_model_floats(&net, "w2", 4, (const int64_t[]){8, 12, 3, 3}, second);
    onnx_model_floats(&net, "w3", 4, (const int64_t[]){4, 8, 3, 3}, head);
    onnx_model_floats(&net, "b1", 1, (const int64_t[]){12}, bias);
    onnx_model_node(&net, "Conv", "x,w1,b1", "a");
    onnx_model_node(&net, "Relu", "a", "b");
    onnx_model_node(&net, "Conv", "b,w2", "c");
    onnx_model_node(&net, "Relu", "c", "d");
    onnx_model_node(&net, "Conv", "d,w3", "e");
    onnx_model_node(&net, "GlobalAveragePool", "e", "y");
    onnx_model_output(&net, "y");
    if (kind == SEEN) {
        onnx_model_output(&net, "b");
        onnx_model_output(&net, "d");
    }
    const onnx_bytes *file = onnx_model_file(&net);
    assert_int_equal(mtsc_file_write(model, file->data, file->size, NULL), MTS_STATUS_OK);
    onnx_model_end(&net);
    mtsc_task_default(&task);
    task.name = name;
    task.model = model;
    task.color = MTSC_COLOR_RGB;
    if (mtsc_compiler_add(compiler, &task) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
}

static void write_small(int64_t pixels_one, int64_t pixels_two, small_kind kind)
{
    mtsc_compiler *compiler = NULL;
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    add_small(compiler, "one", pixels_one, 1, kind);
    add_small(compiler, "two", pixels_two, 2, kind);
    assert_int_equal(mtsc_compiler_write(compiler, other, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
}

static void tasks_with_images_of_two_sizes_share(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        write_small(swapped ? 32 : 8, swapped ? 8 : 32, PLAIN);
        mtsz_zip_options zip = zip_options(1.0, 0);
        zip.tasks = NULL;
        const mtsz_zip_report report = must_zip(other, &zip);
        assert_int_equal(report.zipped, 2);
        assert_true(report.summary.weights_bytes < report.summary.weights_bytes_unshared * 7 / 10);
    }
}

static void own_channels_that_are_always_zero_are_no_obstacle_to_uxyz(void **state)
{
    (void)state;
    write_small(16, 16, DEAD);
    mtsz_zip_options zip = zip_options(0.67, 0);
    zip.tasks = NULL;
    zip.form = MTSZ_FORM_UXYZ;
    const mtsz_zip_report report = must_zip(other, &zip);
    assert_int_equal(report.zipped, 2);
    assert_true(isfinite(report.change_worst));
}

static void uxyz_without_channels_that_may_move_says_so(void **state)
{
    (void)state;
    write_small(16, 16, SEEN);
    mtsz_zip_options zip = zip_options(0.67, 0);
    zip.tasks = NULL;
    (void)must_zip(other, &zip); /* whole filters can be shared in any order */
    zip.form = MTSZ_FORM_UXYZ;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, other, &data, &zip, "free to be put into order");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_share_what_was_asked_for_and_answer_as_before),
        cmocka_unit_test(the_parts_of_shared_filters_are_found_again_as_uxyz),
        cmocka_unit_test(equal_options_give_equal_bytes),
        cmocka_unit_test(channels_in_another_order_are_matched),
        cmocka_unit_test(a_base_keeps_every_bit),
        cmocka_unit_test(training_goes_on_sharing),
        cmocka_unit_test(tasks_with_images_of_two_sizes_share),
        cmocka_unit_test(own_channels_that_are_always_zero_are_no_obstacle_to_uxyz),
        cmocka_unit_test(uxyz_without_channels_that_may_move_says_so),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

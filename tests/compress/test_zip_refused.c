/*
 * test_zip_refused.c: what zipping refuses, rolls back or cannot finish, and what it then says.
 */
#include "zip_fixture.h"

/* ---- gate and base ---- */

static void what_changes_too_much_is_rolled_back(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(1.0, 3);
    const mtsz_zip_report free_run = must_zip(original, &zip);
    zip.max_change = free_run.change_worst / 2.0;
    assert_true(zip.max_change > 0.0); /* else there is nothing to roll back */
    zip.layer = count_layer;           /* what was rolled back is told with the change for which it was */
    mtsz_zip_report report = {.size = sizeof report};
    const mts_status status = mtsz_zip(original, &data, &zip, zipped, &options, &report);
    if (status == MTS_STATUS_LIMIT) {
        return; /* nothing passes so little: allowed, and tested below */
    }
    assert_int_equal(status, MTS_STATUS_OK);
    assert_true(report.rolled_back > 0);
    assert_int_equal(report.zipped + report.rolled_back, LAYERS);
    assert_true(report.summary.weights_bytes > free_run.summary.weights_bytes);
}

static void a_gate_that_nothing_passes_names_task_and_layer(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(1.0, 3);
    const char *late[] = {"/blocks/blocks.7/conv2"};
    zip.layers = late;
    zip.layer_count = 1;
    zip.max_change = 0.0;
    expect_refused(MTS_STATUS_LIMIT, original, &data, &zip,
                   "layer '/blocks/blocks.7/conv2/Conv' changes task '");
    const char *nowhere[] = {"/nowhere", "/elsewhere"};
    zip.layers = nowhere;
    zip.layer_count = 2;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip,
                   "no layer's name begins with '/nowhere'");
}

/* ---- refusals ---- */

static void what_cannot_be_asked_is_refused_with_a_reason(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(1.5, 2);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "share");
    zip = zip_options(NAN, 2);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "share");
    zip = zip_options(0.0, 2);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "leaves no channel");
    zip = zip_options(0.9, 1);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "2 to 64 tasks");
    zip = zip_options(0.9, 2);
    zip.max_change = -1.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "max_change");
    zip = zip_options(0.9, 2);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, NULL, &zip, "no images");
    mtsz_data none = data;
    none.count = 0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &none, &zip, "image");
    const char *const twice[] = {"object", "object"};
    zip.tasks = twice;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "named twice");
    const char *const missing[] = {"object", "nobody"};
    zip.tasks = missing;
    expect_refused(MTS_STATUS_NOT_FOUND, original, &data, &zip, "nobody");
    const char *const unnamed[] = {"object", NULL};
    zip.tasks = unnamed;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "name in a list is missing");
    zip = zip_options(0.9, 2);
    zip.layers = unnamed;
    zip.layer_count = 2;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "name in a list is missing");
    zip.layers = NULL;
    zip.layer_count = 0;
    zip.base = unnamed + 1;
    zip.base_count = 1;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "name in a list is missing");
    zip = zip_options(0.9, 2);
    assert_int_equal(mtsz_zip(original, &data, &zip, original, &options, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsz_zip("nowhere.mtsb", &data, &zip, zipped, &options, NULL), MTS_STATUS_NOT_FOUND);
}

static void images_that_say_nothing_are_named_with_task_and_layer(void **state)
{
    (void)state;
    const mtsz_zip_options zip = zip_options(0.9, 2);
    mtsz_data images = data;
    images.image = black;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &images, &zip, "layer '/");
    assert_non_null(strstr(sentence, "task '"));
    images.image = broken;
    expect_refused(MTS_STATUS_IO, original, &images, &zip, "5");
}

/* A network of another kind, beside the object task. */
static void write_unlike(const char *path)
{
    static const float weight[2 * 3 * 5 * 5] = {1, 2, 3};
    onnx_model net;
    mtsc_compiler *compiler = NULL;
    mtsc_task task;
    onnx_model_begin(&net, 11);
    onnx_model_input(&net, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, 32, 32});
    onnx_model_floats(&net, "w", 4, (const int64_t[]){2, 3, 5, 5}, weight);
    onnx_model_node(&net, "Conv", "x,w", "y");
    onnx_model_output(&net, "y");
    const onnx_bytes *file = onnx_model_file(&net);
    assert_int_equal(mtsc_file_write(model, file->data, file->size, NULL), MTS_STATUS_OK);
    onnx_model_end(&net);
    mtsc_task_default(&task);
    task.name = "alien";
    task.model = model;
    task.color = MTSC_COLOR_RGB;
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add_config(compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json"),
                     MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add(compiler, &task), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_write(compiler, path, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
}

static void tasks_that_do_not_align_are_named(void **state)
{
    (void)state;
    write_unlike(other);
    mtsz_zip_options zip = zip_options(0.9, 2);
    const char *const unlike[] = {"object", "alien"};
    zip.tasks = unlike;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, other, &data, &zip, "do not align: layer '");
    zip.task_count = 0; /* all of the bundle */
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, other, &data, &zip, "task 'alien'");
}

static float last_fraction;
static int calls, calls_most;

static int count_progress(void *context, float fraction, const char *what)
{
    (void)context;
    assert_non_null(what);
    assert_true(fraction >= last_fraction - 1e-6f && fraction <= 1.0f);
    last_fraction = fraction;
    return ++calls > calls_most;
}

static void progress_only_grows_and_a_cancelled_run_writes_nothing(void **state)
{
    (void)state;
    const mtsz_zip_options zip = zip_options(0.9, 2);
    options.progress = count_progress;
    last_fraction = 0.0f;
    calls = 0;
    calls_most = 1000;
    (void)must_zip(original, &zip);
    assert_true(calls > (int)LAYERS && last_fraction == 1.0f);
    for (calls_most = 0; calls_most < 12; calls_most += 4) {
        last_fraction = 0.0f;
        calls = 0;
        expect_refused(MTS_STATUS_CANCELLED, original, &data, &zip, "cancelled");
    }
    options.progress = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_too_much_is_rolled_back),
        cmocka_unit_test(a_gate_that_nothing_passes_names_task_and_layer),
        cmocka_unit_test(what_cannot_be_asked_is_refused_with_a_reason),
        cmocka_unit_test(images_that_say_nothing_are_named_with_task_and_layer),
        cmocka_unit_test(tasks_that_do_not_align_are_named),
        cmocka_unit_test(progress_only_grows_and_a_cancelled_run_writes_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

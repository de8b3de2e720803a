/*
 * mtsz_prune from file to file: what it reports, what it refuses, and that a failure writes nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/models/models.h"
#include "compress/prune/prune.h"
#include "support/fault_allocator.h"
#include "support/onnx_model.h"

#define IMAGES 64u

static char original[64], pruned[64], model[64];
static char sentence[512];
static mtsc_options options;
static mtsz_data data;

/* ---- images: soft blobs, so that neighbouring pixels have to do with each other ---- */

static int image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                const double wave =
                    sin(0.11 * (index % 17 + 1) * x + index) * cos(0.07 * (index % 13 + 1) * y + c);
                rgb[(y * width + x) * 3 + c] = (unsigned char)(127.5 + 120.0 * wave);
            }
        }
    }
    return 0;
}

static int broken_image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    return index == 7 || image(context, index, width, height, rgb);
}

static int nan_tensor(void *context, uint32_t index, const char *task, uint32_t input, float *out,
                      size_t count)
{
    (void)context;
    (void)task;
    (void)input;
    for (size_t i = 0; i < count; i++) {
        out[i] = index == 3 ? NAN : 0.5f;
    }
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    mtsc_compiler *compiler = NULL;
    (void)snprintf(original, sizeof original, "prune-test-%ld.mtsb", (long)getpid());
    (void)snprintf(pruned, sizeof pruned, "prune-test-%ld-out.mtsb", (long)getpid());
    (void)snprintf(model, sizeof model, "prune-test-%ld.onnx", (long)getpid());
    mtsc_options_default(&options);
    options.error_text = sentence;
    options.error_size = sizeof sentence;
    mtsz_data_default(&data);
    data.count = IMAGES;
    data.image = image;
    const bool done =
        mtsc_compiler_create(&options, &compiler) == MTS_STATUS_OK &&
        mtsc_compiler_add_config(compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json") == MTS_STATUS_OK &&
        mtsc_compiler_write(compiler, original, NULL) == MTS_STATUS_OK;
    mtsc_compiler_destroy(&compiler);
    return done ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(original);
    (void)unlink(pruned);
    (void)unlink(model);
    return 0;
}

static mtsz_prune_options prune_options(double ratio, const char *const *tasks, uint32_t count)
{
    mtsz_prune_options prune;
    mtsz_prune_options_default(&prune);
    prune.ratio = ratio;
    prune.tasks = tasks;
    prune.task_count = count;
    return prune;
}

static mtsz_prune_report must_prune(const mtsz_data *from, const mtsz_prune_options *prune)
{
    mtsz_prune_report report = {.size = sizeof report};
    if (mtsz_prune(original, from, prune, pruned, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    return report;
}

static void expect_refused(mts_status status, const mtsz_data *from, const mtsz_prune_options *prune,
                           const char *words)
{
    (void)unlink(pruned);
    sentence[0] = '\0';
    assert_int_equal(mtsz_prune(original, from, prune, pruned, &options, NULL), status);
    if (!strstr(sentence, words)) {
        fail_msg("'%s' is not in: %s", words, sentence);
    }
    assert_int_not_equal(access(pruned, F_OK), 0);
}

static uint64_t hash_of(const char *path)
{
    uint64_t hash = 1469598103934665603u;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) {
        hash = (hash ^ (uint64_t)byte) * 1099511628211u;
    }
    (void)fclose(file);
    return hash;
}

static const char *const two[] = {"object", "animal"};
static const char *const one[] = {"object"};

static void the_report_says_what_the_bundle_holds(void **state)
{
    (void)state;
    mtsz_prune_options prune = prune_options(0.5, two, 2);
    prune.criterion = MTSZ_CRITERION_HYBRID;
    const uint64_t before = hash_of(original);
    const mtsz_prune_report report = must_prune(&data, &prune);
    assert_int_equal(hash_of(original), before);
    assert_int_equal(report.channels_kept * 2, report.channels);
    assert_true(report.mul_adds_kept < 2 * report.mul_adds / 5);
    assert_true(report.weights_bytes_kept < 2 * report.weights_bytes / 5);
    mts_models was, is;
    mts_error error = {0};
    uint64_t work[2] = {0, 0};
    assert_int_equal(mts_models_open(original, mts_allocator_default(), &was, &error), MTS_STATUS_OK);
    assert_int_equal(mts_models_open(pruned, mts_allocator_default(), &is, &error), MTS_STATUS_OK);
    assert_int_equal(is.count, was.count);
    assert_int_equal(report.summary.tasks, was.count);
    for (uint32_t t = 0; t < was.count; t++) {
        uint64_t all[2] = {0, 0};
        const mts_graph *graphs[2] = {was.tasks[t].graph, is.tasks[t].graph};
        assert_string_equal(was.tasks[t].name, is.tasks[t].name);
        for (int i = 0; i < 2; i++) {
            for (uint32_t n = 0; n < graphs[i]->node_count; n++) {
                all[i] += mts_node_mul_adds(graphs[i], &graphs[i]->nodes[n]);
            }
        }
        if (strcmp(was.tasks[t].name, "object") == 0 || strcmp(was.tasks[t].name, "animal") == 0) {
            work[0] += all[0];
            work[1] += all[1];
        } else {
            assert_int_equal(all[0], all[1]);
        }
    }
    assert_int_equal(work[0], report.mul_adds);
    assert_int_equal(work[1], report.mul_adds_kept);
    mts_models_release(&was);
    mts_models_release(&is);
}

static void every_criterion_and_target_leaves_a_bundle_that_reads(void **state)
{
    (void)state;
    for (int criterion = MTSZ_CRITERION_L1; criterion <= MTSZ_CRITERION_HYBRID; criterion++) {
        for (int target = MTSZ_TARGET_LAYER; target <= MTSZ_TARGET_BYTES; target++) {
            mtsz_prune_options prune = prune_options(0.4, one, 1);
            mts_models models;
            mts_error error = {0};
            prune.criterion = (mtsz_criterion)criterion;
            prune.target = (mtsz_target)target;
            prune.refit = target == MTSZ_TARGET_FLOPS;
            const mtsz_prune_report report = must_prune(&data, &prune);
            const double left[] = {(double)report.channels_kept / (double)report.channels,
                                   (double)report.channels_kept / (double)report.channels,
                                   (double)report.mul_adds_kept / (double)report.mul_adds,
                                   (double)report.weights_bytes_kept / (double)report.weights_bytes};
            assert_float_equal(left[target], 0.6, 0.03);
            assert_int_equal(mts_models_open(pruned, mts_allocator_default(), &models, &error),
                             MTS_STATUS_OK);
            mts_models_release(&models);
        }
    }
}

static void weights_alone_need_no_images(void **state)
{
    (void)state;
    mtsz_prune_options prune = prune_options(0.5, NULL, 0);
    prune.refit = 0;
    (void)must_prune(NULL, &prune);
    prune.refit = 1;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, NULL, &prune, "there are no images");
    prune.refit = 0;
    prune.criterion = MTSZ_CRITERION_AVG;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, NULL, &prune, "there are no images");
}

static void tasks_pruned_together_go_on_sharing(void **state)
{
    (void)state;
    mtsz_prune_options prune = prune_options(0.5, NULL, 0);
    prune.refit = 0;
    /* two tasks with equal weights but for their heads */
    mtsc_synth_options synth;
    mtsc_synth_options_default(&synth);
    synth.tasks = 2;
    synth.input = 32;
    synth.share = 1.0;
    synth.prune = (const double[]){0.8};
    synth.prune_count = 1;
    char path[sizeof original];
    memcpy(path, original, sizeof path);
    (void)snprintf(original, sizeof original, "prune-test-%ld-synth.mtsb", (long)getpid());
    assert_int_equal(mtsc_synth(&synth, original, &options, NULL), MTS_STATUS_OK);
    prune.together = 1;
    const mtsz_prune_report plain = must_prune(NULL, &prune);
    prune.refit = 1;
    const mtsz_prune_report fitted = must_prune(&data, &prune);
    prune.together = 0;
    const mtsz_prune_report apart = must_prune(&data, &prune);
    (void)unlink(original);
    memcpy(original, path, sizeof path);
    assert_true(plain.summary.weights_bytes < plain.summary.weights_bytes_unshared * 6 / 10);
    assert_true(fitted.summary.weights_bytes < fitted.summary.weights_bytes_unshared * 6 / 10);
    assert_true(apart.summary.weights_bytes > apart.summary.weights_bytes_unshared * 9 / 10);
}

static void what_cannot_be_asked_is_refused_with_a_reason(void **state)
{
    (void)state;
    mtsz_prune_options prune = prune_options(NAN, one, 1);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "ratio");
    prune.ratio = 1.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "ratio");
    prune = prune_options(0.5, (const char *const[]){"object", "nobody"}, 2);
    expect_refused(MTS_STATUS_NOT_FOUND, &data, &prune, "nobody");
    prune.tasks = (const char *const[]){"object", "object"};
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "named twice");
    prune = prune_options(0.5, NULL, 1);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "names are missing");
    prune = prune_options(0.5, one, 1);
    prune.round = 0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "round");
    prune = prune_options(0.5, one, 1);
    prune.criterion = (mtsz_criterion)9;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "criterion");
    prune = prune_options(0.001, one, 1);
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "less than one channel");
    prune = prune_options(0.99, one, 1);
    prune.target = MTSZ_TARGET_GLOBAL;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &data, &prune, "task 'object': 99.0 %");
    prune = prune_options(0.5, one, 1);
    assert_int_equal(mtsz_prune(original, &data, &prune, original, &options, NULL),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsz_prune("nowhere.mtsb", &data, &prune, pruned, &options, NULL), MTS_STATUS_NOT_FOUND);
}

static void images_that_cannot_be_had_or_are_no_numbers_are_named(void **state)
{
    (void)state;
    mtsz_prune_options prune = prune_options(0.5, one, 1);
    mtsz_data broken = data;
    broken.image = broken_image;
    expect_refused(MTS_STATUS_IO, &broken, &prune, "7");
    broken.image = NULL;
    broken.tensor = nan_tensor;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, &broken, &prune, "object");
}

/* One convolution whose channels are the answer. */
static void a_task_without_removable_channels_is_named(void **state)
{
    (void)state;
    static const float weight[6] = {1, 2, 3, 4, 5, 6};
    onnx_model net;
    mtsc_compiler *compiler = NULL;
    mtsc_task task;
    onnx_model_begin(&net, 11);
    onnx_model_input(&net, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, 4, 4});
    onnx_model_floats(&net, "w", 4, (const int64_t[]){2, 3, 1, 1}, weight);
    onnx_model_node(&net, "Conv", "x,w", "y");
    onnx_model_output(&net, "y");
    const onnx_bytes *file = onnx_model_file(&net);
    assert_int_equal(mtsc_file_write(model, file->data, file->size, NULL), MTS_STATUS_OK);
    onnx_model_end(&net);
    mtsc_task_default(&task);
    task.name = "bare";
    task.model = model;
    char path[sizeof original];
    memcpy(path, original, sizeof path);
    (void)snprintf(original, sizeof original, "prune-test-%ld-bare.mtsb", (long)getpid());
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add(compiler, &task), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_write(compiler, original, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
    mtsz_prune_options prune = prune_options(0.5, NULL, 0);
    prune.refit = 0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, NULL, &prune, "task 'bare': nothing can be removed");
    (void)unlink(original);
    memcpy(original, path, sizeof path);
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
    mtsz_prune_options prune = prune_options(0.5, two, 2);
    prune.criterion = MTSZ_CRITERION_AVG;
    options.progress = count_progress;
    last_fraction = 0;
    calls = 0;
    calls_most = 1 << 30;
    (void)must_prune(&data, &prune);
    assert_true(last_fraction > 0.99f);
    const int all = calls;
    assert_true(all > 20);
    for (calls_most = 0; calls_most < all - 1; calls_most += all / 5) {
        calls = 0;
        last_fraction = 0;
        expect_refused(MTS_STATUS_CANCELLED, &data, &prune, "cancelled");
    }
    options.progress = NULL;
}

static void short_memory_is_reported_and_nothing_leaks_or_is_written(void **state)
{
    (void)state;
    mtsz_prune_options prune = prune_options(0.5, one, 1);
    mtsz_data few = data;
    mts_fault_allocator fault;
    few.count = 4;
    prune.criterion = MTSZ_CRITERION_AVG;
    mts_status status = MTS_STATUS_OUT_OF_MEMORY;
    (void)unlink(pruned);
    for (size_t fail_at = 1; status == MTS_STATUS_OUT_OF_MEMORY; fail_at += 1 + fail_at / 6) {
        mts_error error = {0};
        mts_fault_allocator_init(&fault, fail_at);
        status = mts_prune_bundle(original, &few, &prune, pruned, &options, &fault.allocator, NULL, &error);
        assert_int_equal(fault.alive, 0);
        assert_int_equal(access(pruned, F_OK) == 0, status == MTS_STATUS_OK);
    }
    assert_int_equal(status, MTS_STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_says_what_the_bundle_holds),
        cmocka_unit_test(every_criterion_and_target_leaves_a_bundle_that_reads),
        cmocka_unit_test(weights_alone_need_no_images),
        cmocka_unit_test(tasks_pruned_together_go_on_sharing),
        cmocka_unit_test(what_cannot_be_asked_is_refused_with_a_reason),
        cmocka_unit_test(images_that_cannot_be_had_or_are_no_numbers_are_named),
        cmocka_unit_test(a_task_without_removable_channels_is_named),
        cmocka_unit_test(progress_only_grows_and_a_cancelled_run_writes_nothing),
        cmocka_unit_test(short_memory_is_reported_and_nothing_leaks_or_is_written),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

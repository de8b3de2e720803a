/*
 * mtsz_zip from file to file: what becomes common, what stays as it was, and what is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "compiler/models/models.h"
#include "mts/mtsz.h"
#include "compiler/passes/clone.h"
#include "compiler/passes/family.h"
#include "support/onnx_model.h"

#define IMAGES 96u
#define LAYERS 20u

static char original[64], zipped[64], other[64], model[64];
static char sentence[512];
static mtsc_options options;
static mtsz_data data;

/* Soft blobs: pictures whose neighbouring pixels have to do with each other. */
static int picture(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                const double wave =
                    sin(0.07 * (index % 23 + 1) * x + index) * cos(0.05 * (index % 19 + 1) * y + c);
                rgb[(y * width + x) * 3 + c] =
                    (unsigned char)(127.5 + 90.0 * wave + 30.0 * sin(0.9 * x * c + y));
            }
        }
    }
    return 0;
}

static int black(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    (void)index;
    memset(rgb, 0, (size_t)width * height * 3);
    return 0;
}

static int broken(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    return index == 5 || picture(context, index, width, height, rgb);
}

static void compile_small(const char *path)
{
    mtsc_compiler *compiler = NULL;
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add_config(compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json"),
                     MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_write(compiler, path, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(original, sizeof original, "zip-test-%ld.mtsb", (long)getpid());
    (void)snprintf(zipped, sizeof zipped, "zip-test-%ld-out.mtsb", (long)getpid());
    (void)snprintf(other, sizeof other, "zip-test-%ld-other.mtsb", (long)getpid());
    (void)snprintf(model, sizeof model, "zip-test-%ld.onnx", (long)getpid());
    mtsc_options_default(&options);
    options.error_text = sentence;
    options.error_size = sizeof sentence;
    mtsz_data_default(&data);
    data.count = IMAGES;
    data.picture = picture;
    compile_small(original);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(original);
    (void)unlink(zipped);
    (void)unlink(other);
    (void)unlink(model);
    return 0;
}

static const char *const three[] = {"object", "animal", "legs"};

static mtsz_zip_options zip_options(double share, uint32_t tasks)
{
    mtsz_zip_options zip;
    mtsz_zip_options_default(&zip);
    zip.share = share;
    zip.tasks = three;
    zip.task_count = tasks;
    return zip;
}

static mtsz_zip_report must_zip(const char *from, const mtsz_zip_options *zip)
{
    mtsz_zip_report report = {.size = sizeof report};
    if (mtsz_zip(from, &data, zip, zipped, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    return report;
}

static void expect_refused(mts_status status, const char *from, const mtsz_data *images,
                           const mtsz_zip_options *zip, const char *words)
{
    (void)unlink(zipped);
    sentence[0] = '\0';
    assert_int_equal(mtsz_zip(from, images, zip, zipped, &options, NULL), status);
    if (!strstr(sentence, words)) {
        fail_msg("'%s' is not in: %s", words, sentence);
    }
    assert_int_not_equal(access(zipped, F_OK), 0);
}

static uint64_t hash_of(const char *path)
{
    void *bytes = NULL;
    size_t size = 0;
    mts_error error;
    assert_int_equal(mts_os_file_read(mts_allocator_default(), path, 1u << 28, &bytes, &size, &error),
                     MTS_STATUS_OK);
    const uint64_t hash = mts_hash(bytes, size, 1);
    mts_alloc_free(mts_allocator_default(), bytes);
    return hash;
}

/* Outputs of a task on the reference device for one picture, one thread of arithmetic: bits can be compared.
 */
static size_t answer(const char *bundle_path, const char *task, uint32_t index, float *out, size_t room)
{
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_runtime_options runtime_options;
    mts_session_options session_options;
    mts_ticket ticket;
    mts_tensor tensor;
    unsigned char rgb[32 * 32 * 3];
    mts_runtime_options_default(&runtime_options);
    runtime_options.device = "reference";
    mts_session_options_default(&session_options);
    session_options.tasks = &task;
    session_options.task_count = 1;
    (void)picture(NULL, index, 32, 32, rgb);
    const mts_frame frame = {
        .size = sizeof frame, .data = rgb, .width = 32, .height = 32, .format = MTS_PIXEL_FORMAT_RGB};
    assert_int_equal(mts_runtime_create(&runtime_options, &runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(runtime, bundle_path, &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(runtime, bundle, &session_options, &session), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(session, task, 0, &tensor), MTS_STATUS_OK);
    const size_t count = tensor.bytes / sizeof(float);
    assert_true(count <= room);
    memcpy(out, tensor.data, tensor.bytes);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return count;
}

static uint32_t told, told_shared;

static void count_layer(void *context, const mtsz_zip_layer *layer)
{
    (void)context;
    told++;
    told_shared += layer->shared;
    assert_non_null(layer->name);
    assert_non_null(layer->task);
    assert_true(layer->change >= 0.0 && layer->change <= 100.0);
    assert_true(!layer->rolled_back || (layer->shared == 0 && layer->change > 0.0));
    assert_true(layer->seconds_left >= 0.0);
    assert_true(layer->shared % 4 == 0 || layer->shared == layer->channels);
}

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
    images.picture = black;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &images, &zip, "layer '/");
    assert_non_null(strstr(sentence, "task '"));
    images.picture = broken;
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

/* ---- small networks: pictures of two sizes, channels that say nothing ---- */

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

static void tasks_with_pictures_of_two_sizes_share(void **state)
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
        cmocka_unit_test(tasks_share_what_was_asked_for_and_answer_as_before),
        cmocka_unit_test(the_parts_of_shared_filters_are_found_again_as_uxyz),
        cmocka_unit_test(equal_options_give_equal_bytes),
        cmocka_unit_test(channels_in_another_order_are_matched),
        cmocka_unit_test(what_changes_too_much_is_rolled_back),
        cmocka_unit_test(a_gate_that_nothing_passes_names_task_and_layer),
        cmocka_unit_test(a_base_keeps_every_bit),
        cmocka_unit_test(training_goes_on_sharing),
        cmocka_unit_test(what_cannot_be_asked_is_refused_with_a_reason),
        cmocka_unit_test(images_that_say_nothing_are_named_with_task_and_layer),
        cmocka_unit_test(tasks_that_do_not_align_are_named),
        cmocka_unit_test(tasks_with_pictures_of_two_sizes_share),
        cmocka_unit_test(own_channels_that_are_always_zero_are_no_obstacle_to_uxyz),
        cmocka_unit_test(uxyz_without_channels_that_may_move_says_so),
        cmocka_unit_test(progress_only_grows_and_a_cancelled_run_writes_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

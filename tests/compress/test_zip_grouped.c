/*
 * test_zip_grouped.c: depthwise convolutions and those of a few groups take part in zipping.
 */
#include "zip_fixture.h"

#define CHANNELS 16u

/* What the callback has been told. */
static uint32_t told, whole;

static void take_row(void *context, const mtsz_zip_layer *layer)
{
    (void)context;
    told++;
    whole += layer->shared == layer->channels ? 1 : 0;
}

static void fill(float *to, size_t count, double phase, double size)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = (float)(size * sin(1.7 * (double)i + phase + 0.3 * (double)(i * i % 29)));
    }
}

/* A network whose depthwise filters are `scale` times, and whose following ones 1 / scale
   times, those at 1: it computes the same. `noise`: of a task's own, in both. */
static void add_grouped(mtsc_compiler *compiler, const char *name, float scale, float noise)
{
    float first[CHANNELS * 27], depthwise[CHANNELS * 9], grouped[CHANNELS * CHANNELS / 2 * 9],
        head[4 * CHANNELS];
    onnx_model net;
    mtsc_task task;
    fill(first, CHANNELS * 27, 0.0, 0.2);
    fill(depthwise, CHANNELS * 9, 1.0, 0.4 * scale);
    fill(grouped, CHANNELS * CHANNELS / 2 * 9, 2.0, 0.2 / scale);
    fill(head, 4 * CHANNELS, 3.0, 0.3);
    for (size_t i = 0; i < CHANNELS * 9; i++) {
        depthwise[i] += noise * (float)cos(2.3 * (double)i);
    }
    for (size_t i = 0; i < CHANNELS * CHANNELS / 2 * 9; i++) {
        grouped[i] += 0.5f * noise * (float)cos(3.1 * (double)i);
    }
    onnx_model_begin(&net, 13);
    onnx_model_input(&net, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, 32, 32});
    onnx_model_floats(&net, "w1", 4, (const int64_t[]){CHANNELS, 3, 3, 3}, first);
    onnx_model_floats(&net, "w2", 4, (const int64_t[]){CHANNELS, 1, 3, 3}, depthwise);
    onnx_model_floats(&net, "w3", 4, (const int64_t[]){CHANNELS, CHANNELS / 2, 3, 3}, grouped);
    onnx_model_floats(&net, "w4", 4, (const int64_t[]){4, CHANNELS, 1, 1}, head);
    onnx_model_node(&net, "Conv", "x,w1", "a");
    onnx_model_node(&net, "Relu", "a", "b");
    onnx_model_node(&net, "Conv", "b,w2", "c");
    onnx_model_attr_int(&net, "group", CHANNELS);
    onnx_model_node(&net, "Relu", "c", "d");
    onnx_model_node(&net, "Conv", "d,w3", "e");
    onnx_model_attr_int(&net, "group", 2);
    onnx_model_node(&net, "Relu", "e", "f");
    onnx_model_node(&net, "GlobalAveragePool", "f", "g");
    onnx_model_node(&net, "Conv", "g,w4", "y");
    onnx_model_output(&net, "y");
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

static void write_grouped(float scale, float noise)
{
    mtsc_compiler *compiler = NULL;
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    add_grouped(compiler, "one", 1.0f, 0.0f);
    add_grouped(compiler, "two", scale, noise);
    assert_int_equal(mtsc_compiler_write(compiler, other, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
}

static mtsz_zip_options all_of(double share)
{
    mtsz_zip_options zip = zip_options(share, 0);
    zip.tasks = NULL;
    zip.layer = take_row;
    told = whole = 0;
    return zip;
}

static double difference(const char *task)
{
    double most = 0.0, largest = 1e-6;
    for (uint32_t i = 0; i < 4; i++) {
        float before[4], after[4];
        assert_int_equal(answer(other, task, i, before, 4), 4);
        assert_int_equal(answer(zipped, task, i, after, 4), 4);
        for (uint32_t k = 0; k < 4; k++) {
            most = fmax(most, fabs((double)before[k] - (double)after[k]));
            largest = fmax(largest, fabs((double)before[k]));
        }
    }
    return most / largest;
}

/* Scales are the tasks' own, so filters that are the same but for a factor become one,
   and nothing changes. */
static void filters_that_differ_by_a_factor_become_one(void **state)
{
    (void)state;
    write_grouped(2.0f, 0.0f);
    const mtsz_zip_options zip = all_of(1.0);
    const mtsz_zip_report report = must_zip(other, &zip);
    assert_int_equal(report.zipped, 3);
    assert_int_equal(told, 3);
    assert_int_equal(whole, 3);
    assert_true(difference("one") < 0.01 && difference("two") < 0.01);
    /* Weights, 4 bytes each: three layers once, the heads and a scale and a bias of each
       channel twice. */
    const size_t once = CHANNELS * 27 + CHANNELS * 9 + CHANNELS * CHANNELS / 2 * 9;
    const size_t twice = 4 * CHANNELS + 2 * 3 * CHANNELS + 8;
    assert_true(report.summary.weights_bytes <= (once + 2 * twice) * sizeof(float));
}

static void filters_that_differ_are_fitted_to_what_each_channel_reads(void **state)
{
    (void)state;
    write_grouped(1.0f, 0.05f);
    const mtsz_zip_options zip = all_of(1.0);
    const mtsz_zip_report report = must_zip(other, &zip);
    assert_int_equal(report.zipped, 3);
    assert_true(difference("one") < 0.015 && difference("two") < 0.015); /* 0.03 if groups are mixed up */
}

static void a_limit_reaches_them_too(void **state)
{
    (void)state;
    write_grouped(1.0f, 0.05f);
    mtsz_zip_options zip = all_of(0.9);
    zip.bytes = 0.7;
    const mtsz_zip_report report = must_zip(other, &zip);
    assert_true(report.zipped > 0);
    assert_true((double)report.summary.weights_bytes <= 0.7 * (double)report.bytes_before);
}

/* A group reads a part of the channels, which then cannot move: U has no such filters. */
static void the_form_uxyz_leaves_them_private(void **state)
{
    (void)state;
    write_grouped(1.0f, 0.05f);
    mtsz_zip_options zip = all_of(0.5);
    zip.form = MTSZ_FORM_UXYZ;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, other, &data, &zip, "form uxyz: no layer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_that_differ_by_a_factor_become_one),
        cmocka_unit_test(filters_that_differ_are_fitted_to_what_each_channel_reads),
        cmocka_unit_test(a_limit_reaches_them_too),
        cmocka_unit_test(the_form_uxyz_leaves_them_private),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

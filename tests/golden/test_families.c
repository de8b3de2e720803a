/*
 * test_families.c: real networks that have an ancestor or a structure in common form one family, what is
 * equal in them is stored once, and the same network twice is computed once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "mts/mtsc.h"
#include "platform/os/os.h"
#include "support/data.h"

#define WORK MTS_BINARY_DIR "/families"
#define BUNDLE WORK "/family.mtsb"
#define FACE_SIDE 112
#define TRUNK_CONVS 25 /* of SqueezeNet 1.1: all but its classifier */

typedef struct model {
    const char *name, *file;
    uint32_t rank; /* 0: the file says its size */
    int64_t dims[4];
    mtsc_color color;
} model;

static const model squeezenets[] = {
    {.name = "imagenet", .file = "squeezenet11/squeezenet11_imagenet_fp32_op11.onnx"},
    {.name = "pcb", .file = "squeezenet11/squeezenet11_pcb_aoi_op11.onnx"},
    {.name = "eye", .file = "squeezenet11/eye_state.onnx", .rank = 4, .dims = {1, 96, 96, 3}},
};

#define GENDER(task)                                                                                         \
    {                                                                                                        \
        .name = (task), .file = "face/gender_predictor.onnx", .rank = 4,                                     \
        .dims = {1, 3, FACE_SIDE, FACE_SIDE}, .color = MTSC_COLOR_BGR                                        \
    }
static const model faces[] = {
    GENDER("gender"),
    {.name = "mask",
     .file = "face/mask_detector.onnx",
     .rank = 4,
     .dims = {1, 3, FACE_SIDE, FACE_SIDE},
     .color = MTSC_COLOR_BGR},
};
static const model twins[] = {GENDER("first"), GENDER("second")};

static char error_text[1024];
static char folder[DATA_PATH];

static void check(mts_status status, const char *what, const char *name)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s of %s: %s: %s", what, name, mts_status_name(status), error_text);
    }
}

static void add(mtsc_compiler *compiler, const model *m)
{
    char path[DATA_PATH + 64];
    mtsc_input_shape shape = {.size = sizeof shape, .rank = m->rank};
    mtsc_task task;
    (void)snprintf(path, sizeof path, "%s/%s", folder, m->file);
    memcpy(shape.dims, m->dims, sizeof m->dims);
    mtsc_task_default(&task);
    task.name = m->name;
    task.model = path;
    task.shapes = &shape;
    task.shape_count = m->rank ? 1 : 0;
    task.color = m->color;
    check(mtsc_compiler_add(compiler, &task), "import", m->name);
}

/* Writes BUNDLE. */
static mtsc_summary compile(const model *models, uint32_t count, float tolerance)
{
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_summary summary = {.size = sizeof summary};
    mtsc_options_default(&options);
    options.tolerance = tolerance;
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    check(mtsc_compiler_create(&options, &compiler), "compiler", models[0].name);
    for (uint32_t i = 0; i < count; i++) {
        add(compiler, &models[i]);
    }
    check(mtsc_compiler_write(compiler, BUNDLE, &summary), "writing", BUNDLE);
    mtsc_compiler_destroy(&compiler);
    return summary;
}

static mts_runtime *open_reference(void)
{
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_runtime_options_default(&options);
    options.device = "reference";
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    check(mts_runtime_create(&options, &runtime), "opening", "reference");
    return runtime;
}

/* What mts_bundle_inspect says of BUNDLE; to be released. */
static json_t *inspect(void)
{
    mts_runtime *runtime = open_reference();
    mts_bundle *bundle = NULL;
    size_t needed = 0;
    check(mts_bundle_open(runtime, BUNDLE, &bundle), "opening", BUNDLE);
    (void)mts_bundle_inspect(bundle, MTS_REPORT_JSON, NULL, 0, &needed);
    char *text = malloc(needed + 1);
    assert_non_null(text);
    check(mts_bundle_inspect(bundle, MTS_REPORT_JSON, text, needed, &needed), "inspecting", BUNDLE);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    free(text);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return root;
}

static json_int_t number_at(const json_t *array, size_t index)
{
    return json_integer_value(json_array_get(array, index));
}

static json_int_t task_number(const json_t *report, size_t task, const char *key)
{
    const json_t *number = json_object_get(json_array_get(json_object_get(report, "tasks"), task), key);
    assert_true(json_is_integer(number));
    return json_integer_value(number);
}

/* Convolutions of which tasks 0 and 1 of the first family have every channel in common. */
static uint32_t common_convs(const json_t *report)
{
    uint32_t count = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(report, "sharing"), i, row)
    {
        const json_t *shared = json_object_get(row, "shared_channels");
        const json_t *exclusive = json_object_get(row, "exclusive_channels");
        const char *op = json_string_value(json_object_get(row, "op"));
        count += op && strcmp(op, "conv") == 0 && json_array_size(shared) > 1 && number_at(shared, 0) > 0 &&
                         number_at(shared, 0) == number_at(shared, 1) && number_at(exclusive, 0) == 0 &&
                         number_at(exclusive, 1) == 0
                     ? 1
                     : 0;
    }
    return count;
}

static void expect_one_family(const json_t *report, const mtsc_summary *summary, uint32_t tasks)
{
    const json_t *families = json_object_get(report, "families");
    assert_int_equal(summary->tasks, tasks);
    assert_int_equal(summary->families, 1);
    assert_int_equal(json_array_size(families), 1);
    assert_int_equal(json_array_size(json_object_get(json_array_get(families, 0), "tasks")), tasks);
    assert_int_equal(json_integer_value(json_object_get(report, "weights_bytes")), summary->weights_bytes);
    assert_int_equal(json_integer_value(json_object_get(report, "weights_bytes_unshared")),
                     summary->weights_bytes_unshared);
}

static void squeezenets_of_three_sizes_form_one_family(void **state)
{
    (void)state;
    const mtsc_summary summary = compile(squeezenets, 3, 0.0f);
    json_t *report = inspect();
    expect_one_family(report, &summary, 3);
    assert_int_equal(common_convs(report), 0); /* equal to fp16 rounding only */
    assert_true(summary.weights_bytes > 10700000);
    assert_true(summary.deviation <= 0.0);
    json_decref(report);
}

static void a_trunk_equal_to_rounding_is_stored_once_with_tolerance(void **state)
{
    (void)state;
    const mtsc_summary summary = compile(squeezenets, 3, 1e-3f);
    json_t *report = inspect();
    expect_one_family(report, &summary, 3);
    assert_int_equal(common_convs(report), TRUNK_CONVS);
    assert_in_range(summary.weights_bytes_unshared, 10700000, 10800000);
    assert_in_range(summary.weights_bytes, 7800000, 7900000); /* a trunk has 2.89 MB */
    assert_true(summary.deviation > 0.0 && summary.deviation < 2e-3);
    assert_true(task_number(report, 1, "weights_bytes") - task_number(report, 1, "shared_bytes") < 8192);
    assert_int_equal(task_number(report, 0, "shared_bytes"), task_number(report, 1, "shared_bytes"));
    assert_int_equal(task_number(report, 2, "shared_bytes"), 0); /* fine-tuned as a whole */
    json_decref(report);
}

static void networks_of_equal_structure_form_one_family(void **state)
{
    (void)state;
    const mtsc_summary summary = compile(faces, 2, 0.0f);
    json_t *report = inspect();
    expect_one_family(report, &summary, 2);
    assert_int_equal(common_convs(report), 0); /* trained apart */
    json_decref(report);
}

static void the_same_network_twice_is_stored_once(void **state)
{
    (void)state;
    const mtsc_summary one = compile(twins, 1, 0.0f);
    const mtsc_summary two = compile(twins, 2, 0.0f);
    json_t *report = inspect();
    expect_one_family(report, &two, 2);
    assert_int_equal(two.weights_bytes, one.weights_bytes);
    assert_int_equal(two.weights_bytes_unshared, 2 * one.weights_bytes_unshared);
    json_decref(report);
}

/* Runs tasks of BUNDLE on one image; `outputs` receives the two numbers of each task. */
static mts_session_stats run(const mts_session_options *options, uint32_t count, float outputs[2][2])
{
    static unsigned char pixels[FACE_SIDE * FACE_SIDE * 3];
    mts_runtime *runtime = open_reference();
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_stats stats = {.size = sizeof stats};
    mts_ticket ticket = 0;
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (unsigned char)(i * i / 97);
    }
    const mts_frame frame = {.size = sizeof frame,
                             .data = pixels,
                             .width = FACE_SIDE,
                             .height = FACE_SIDE,
                             .format = MTS_PIXEL_FORMAT_BGR};
    check(mts_bundle_open(runtime, BUNDLE, &bundle), "opening", BUNDLE);
    check(mts_session_create(runtime, bundle, options, &session), "session", BUNDLE);
    for (uint32_t i = 0; options->separate_inputs && i < count; i++) {
        check(mts_session_input_frame(session, twins[i].name, &frame), "input", twins[i].name);
    }
    check(mts_session_submit(session, options->separate_inputs ? NULL : &frame, &ticket), "submit", BUNDLE);
    check(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait", BUNDLE);
    for (uint32_t i = 0; i < count; i++) {
        mts_tensor output;
        check(mts_session_output(session, twins[i].name, 0, &output), "output", twins[i].name);
        assert_int_equal(output.bytes, sizeof outputs[i]);
        memcpy(outputs[i], output.data, sizeof outputs[i]);
    }
    check(mts_session_stats_get(session, &stats), "stats", BUNDLE);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return stats;
}

static void the_same_network_twice_is_computed_once_for_a_common_frame(void **state)
{
    static const char *const first[] = {"first"};
    float alone[2][2], common[2][2], apart[2][2];
    mts_session_options options;
    (void)state;
    (void)compile(twins, 2, 0.0f);
    mts_session_options_default(&options);
    const mts_session_stats two = run(&options, 2, common);
    options.separate_inputs = 1;
    const mts_session_stats separate = run(&options, 2, apart);
    mts_session_options_default(&options);
    options.tasks = first;
    options.task_count = 1;
    const mts_session_stats one = run(&options, 1, alone);

    assert_true(one.mul_adds > 0);
    assert_int_equal(two.mul_adds, one.mul_adds);
    assert_int_equal(two.weight_bytes, one.weight_bytes);
    assert_int_equal(separate.mul_adds, 2 * one.mul_adds); /* what is saved is the product, not the count */
    assert_int_equal(separate.weight_bytes, one.weight_bytes);
    for (int task = 0; task < 2; task++) {
        assert_memory_equal(common[task], alone[0], sizeof alone[0]);
        assert_memory_equal(apart[task], alone[0], sizeof alone[0]);
    }
}

static int remove_bundle(void **state)
{
    (void)state;
    (void)remove(BUNDLE);
    return 0;
}

int main(void)
{
    if (!data_exists(data_path(MTS_SOURCE_DIR, "models", folder))) {
        printf("skipped: no models at %s\n", folder);
        return DATA_SKIPPED;
    }
    if (mts_os_directory_make(WORK, NULL) != MTS_STATUS_OK) {
        printf("cannot make %s\n", WORK);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squeezenets_of_three_sizes_form_one_family),
        cmocka_unit_test(a_trunk_equal_to_rounding_is_stored_once_with_tolerance),
        cmocka_unit_test(networks_of_equal_structure_form_one_family),
        cmocka_unit_test(the_same_network_twice_is_stored_once),
        cmocka_unit_test(the_same_network_twice_is_computed_once_for_a_common_frame),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}

/*
 * mtsz_split: a classifier of a bundle becomes subnets that know a group of its classes each, and answer
 * together as it did; what is refused, and that a refusal leaves nothing behind.
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

#include "bundle/archive.h"
#include "mts/mts.h"
#include "mts/mtsz.h"
#include "platform/os/os.h"

#define DEMO MTS_SOURCE_DIR "/apps/mts/demo/small.json"
#define IMAGES 160u
#define SIDE 32u
#define CLASSES 10u

typedef struct world {
    char input[64], output[64], error[512];
    mtsc_options options;
    mtsz_data data;
    mtsz_split_options wanted;
    mtsz_split_report report;
    mts_os_map map; /* of the output */
    mts_archive *archive;
} world;

/* ---- images ---- */

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / (float)(1u << 24);
}

/* A blob of one colour before a gradient between two others: enough for a network to see many things. */
static int image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    uint32_t seed = index * 7919u + 1u;
    float n[16];
    (void)context;
    for (size_t i = 0; i < 16; i++) {
        n[i] = noise(&seed);
    }
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            const float u = (float)x / (float)width;
            const float v = (float)y / (float)height;
            const float a = (u - n[0]) / (0.1f + 0.4f * n[1]);
            const float b = (v - n[2]) / (0.1f + 0.4f * n[3]);
            for (size_t c = 0; c < 3; c++) {
                const float back = n[4 + c] + (n[7 + c] - n[4 + c]) * (n[13] > 0.5f ? u : v);
                const float value = a * a + b * b < 1.0f ? n[10 + c] : back;
                rgb[3 * (y * width + x) + c] = (unsigned char)(255.0f * value);
            }
        }
    }
    return 0;
}

static int no_image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    return index == 33 ? 1 : image(context, index, width, height, rgb);
}

/* ---- a world ---- */

static void compile_demo(const char *path)
{
    mtsc_compiler *compiler = NULL;
    assert_int_equal(mtsc_compiler_create(NULL, &compiler), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_add_config(compiler, DEMO), MTS_STATUS_OK);
    assert_int_equal(mtsc_compiler_write(compiler, path, NULL), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
}

static void begin(world *w)
{
    static int number;
    memset(w, 0, sizeof *w);
    number++;
    (void)snprintf(w->input, sizeof w->input, "/tmp/mts-split-test-%d-%d.mtsb", (int)getpid(), number);
    (void)snprintf(w->output, sizeof w->output, "/tmp/mts-split-test-%d-%d-out.mtsb", (int)getpid(), number);
    compile_demo(w->input);
    mtsc_options_default(&w->options);
    w->options.error_text = w->error;
    w->options.error_size = sizeof w->error;
    mtsz_data_default(&w->data);
    w->data.count = IMAGES;
    w->data.image = image;
    mtsz_split_options_default(&w->wanted);
    w->wanted.task = "object";
    w->wanted.groups = 3;
    w->wanted.ratio = 0.3;
    w->report.size = sizeof w->report;
    w->report.summary.size = sizeof w->report.summary;
}

static void begin_labelled(world *w, const uint32_t *labels, uint32_t count)
{
    begin(w);
    w->wanted.labels = labels;
    w->wanted.label_count = count;
}

static void end(world *w)
{
    mts_archive_destroy(&w->archive);
    mts_os_unmap(&w->map);
    (void)unlink(w->input);
    (void)unlink(w->output);
}

static mts_status split(world *w)
{
    return mtsz_split(w->input, &w->data, &w->wanted, w->output, &w->options, &w->report);
}

static void split_and_read(world *w)
{
    mts_error error = {0};
    const mts_status status = split(w);
    assert_string_equal(w->error, "");
    assert_int_equal(status, MTS_STATUS_OK);
    assert_int_equal(mts_os_map_file(w->output, &w->map, &error), MTS_STATUS_OK);
    assert_int_equal(mts_archive_read(w->map.data, w->map.size, w->output, NULL, mts_allocator_default(),
                                      &w->archive, &error),
                     MTS_STATUS_OK);
}

static const mts_task *task_of(const world *w, const char *name)
{
    const uint32_t index = mts_archive_find(w->archive, name);
    return index == MTS_NONE ? NULL : &w->archive->tasks[index];
}

static const mts_task *subnet_of(const world *w, uint32_t number)
{
    char name[32];
    (void)snprintf(name, sizeof name, "object.%uof%u", number, w->wanted.groups);
    const mts_task *task = task_of(w, name);
    assert_non_null(task);
    return task;
}

/* What several tests look at: a split with the options of begin, and one without pruning. */
typedef struct worlds {
    world usual, unpruned;
} worlds;

static int split_for_all(void **state)
{
    static worlds both;
    begin(&both.usual);
    split_and_read(&both.usual);
    begin(&both.unpruned);
    both.unpruned.wanted.ratio = 0.0;
    split_and_read(&both.unpruned);
    *state = &both;
    return 0;
}

static int end_all(void **state)
{
    worlds *both = *state;
    end(&both->usual);
    end(&both->unpruned);
    return 0;
}

/* ---- what is made ---- */

static void every_class_is_known_to_one_subnet(void **state)
{
    const world *w = &((const worlds *)*state)->usual;
    uint32_t known[CLASSES] = {0};
    assert_int_equal(w->archive->task_count, 7 + 3);
    assert_null(task_of(w, "object"));
    for (uint32_t g = 1; g <= 3; g++) {
        const mts_task *task = subnet_of(w, g);
        assert_in_range(task->label_count, 2, 5); /* at most 4 classes, and none */
        assert_string_equal(task->labels[task->label_count - 1], "(none)");
        assert_int_equal(task->class_count, CLASSES);
        assert_int_equal(task->graph->outputs[0].shape.dims[1], task->label_count);
        for (uint32_t c = 0; c < CLASSES; c++) {
            assert_in_range(task->class_map[c], 0, task->label_count - 1);
            known[c] += task->class_map[c] + 1 < task->label_count ? 1 : 0;
        }
    }
    for (uint32_t c = 0; c < CLASSES; c++) {
        assert_int_equal(known[c], 1);
    }
}

static void labels_are_those_of_the_classes(void **state)
{
    static const char *const labels[CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                "dog",      "frog",       "horse", "ship", "truck"};
    const world *w = &((const worlds *)*state)->usual;
    for (uint32_t g = 1; g <= 3; g++) {
        const mts_task *task = subnet_of(w, g);
        for (uint32_t c = 0; c < CLASSES; c++) {
            if (task->class_map[c] + 1 < task->label_count) {
                assert_string_equal(task->labels[task->class_map[c]], labels[c]);
            }
        }
    }
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc((size_t)8 << 20);
    assert_non_null(file);
    assert_non_null(bytes);
    *size = fread(bytes, 1, (size_t)8 << 20, file);
    (void)fclose(file);
    return bytes;
}

static void assert_files_equal(const char *a, const char *b)
{
    size_t sizes[2];
    char *bytes[2] = {read_file(a, &sizes[0]), read_file(b, &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void other_tasks_and_the_input_are_untouched(void **state)
{
    const world *w = &((const worlds *)*state)->usual;
    char before[80];
    char after[80];
    (void)snprintf(before, sizeof before, "%s.before", w->input);
    (void)snprintf(after, sizeof after, "%s.after", w->input);
    compile_demo(before);
    assert_files_equal(w->input, before);
    assert_int_equal(mtsc_export(w->input, "legs", before, NULL), MTS_STATUS_OK);
    assert_int_equal(mtsc_export(w->output, "legs", after, NULL), MTS_STATUS_OK);
    assert_files_equal(before, after);
    (void)unlink(before);
    (void)unlink(after);
}

static void without_pruning_the_subnets_answer_as_the_task_did(void **state)
{
    const mtsz_split_report *report = &((const worlds *)*state)->unpruned.report;
    assert_true(report->change < 3.0);
    assert_true(report->mul_adds_groups > 2 * report->mul_adds);
}

static void pruning_leaves_the_work_that_was_asked_for(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.ratio = 0.6;
    split_and_read(&w);
    const double share = (double)w.report.mul_adds_groups / (3.0 * (double)w.report.mul_adds);
    assert_true(share <= 0.4 && share > 0.3);
    assert_true(w.report.change < 60.0);
    end(&w);
}

/* First convolution's weights of a subnet. */
static uint32_t first_block(const mts_task *task)
{
    const mts_graph *graph = task->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op == MTS_OP_CONV) {
            return graph->values[graph->nodes[n].inputs[1]].blocks[0].block;
        }
    }
    return MTS_NONE;
}

static void a_trunk_stays_common_to_all_subnets(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.ratio = 0.6;
    w.wanted.trunk = 0.3;
    split_and_read(&w);
    assert_int_equal(first_block(subnet_of(&w, 1)), first_block(subnet_of(&w, 2)));
    assert_int_equal(first_block(subnet_of(&w, 1)), first_block(subnet_of(&w, 3)));
    /* 0.3 once, and 0.4 of the 0.7 behind it three times */
    const double share = (double)w.report.mul_adds_groups / (double)w.report.mul_adds;
    assert_true(share > 0.9 && share < 1.3);
    end(&w);
}

static void re_training_does_no_harm_and_leaves_the_trunk_alone(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.ratio = 0.8;
    w.wanted.trunk = 0.3;
    assert_int_equal(split(&w), MTS_STATUS_OK);
    const double before = w.report.change;
    w.wanted.retrain_seconds = 3.0;
    split_and_read(&w);
    assert_true(w.report.change < before + 5.0); /* less, but for a machine that is too busy to train */
    assert_int_equal(first_block(subnet_of(&w, 1)), first_block(subnet_of(&w, 2)));
    assert_int_equal(first_block(subnet_of(&w, 1)), first_block(subnet_of(&w, 3)));
    end(&w);
}

static void the_task_stays_where_it_is_to_be_kept(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.keep = 1;
    w.wanted.ratio = 0.0;
    split_and_read(&w);
    assert_int_equal(w.archive->task_count, 8 + 3);
    assert_non_null(task_of(&w, "object"));
    end(&w);
}

static void equal_arguments_give_equal_bundles(void **state)
{
    const world *w = &((const worlds *)*state)->unpruned;
    world again;
    begin(&again);
    again.wanted.ratio = 0.0; /* pruning sums on as many threads as there are */
    assert_int_equal(split(&again), MTS_STATUS_OK);
    assert_files_equal(w->output, again.output);
    end(&again);
}

static void answers_of_a_subnet_are_probabilities(void **state)
{
    const world *w = &((const worlds *)*state)->usual;
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    unsigned char pixels[3 * SIDE * SIDE];
    mts_runtime_options_default(&options);
    options.device = "reference";
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(runtime, w->output, &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(runtime, bundle, NULL, &session), MTS_STATUS_OK);
    (void)image(NULL, 5, SIDE, SIDE, pixels);
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    mts_ticket ticket = 0;
    assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    for (uint32_t g = 1; g <= 3; g++) {
        const mts_task *task = subnet_of(w, g);
        mts_tensor output;
        double sum = 0;
        assert_int_equal(mts_session_output(session, task->name, 0, &output), MTS_STATUS_OK);
        assert_int_equal(output.bytes, task->label_count * sizeof(float));
        for (uint32_t i = 0; i < task->label_count; i++) {
            assert_true(((const float *)output.data)[i] >= 0.0f);
            sum += (double)((const float *)output.data)[i];
        }
        assert_float_equal(sum, 1.0, 1e-4);
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
}

/* The threshold is searched, and labels count: other subnets, and nothing that is not asked for changes. */
static void labels_search_and_random_groups_make_other_subnets(void **state)
{
    (void)state;
    world w;
    uint32_t labels[IMAGES];
    for (uint32_t i = 0; i < IMAGES; i++) {
        labels[i] = i % CLASSES;
    }
    begin_labelled(&w, labels, IMAGES);
    w.wanted.grouping = MTSZ_GROUPING_RANDOM;
    w.wanted.search = 1;
    w.wanted.trunk = 0.77; /* little is left to prune, four times */
    w.wanted.retrain_seconds = 0.2;
    split_and_read(&w);
    uint32_t classes = 0;
    for (uint32_t g = 1; g <= w.wanted.groups; g++) {
        const uint32_t own = subnet_of(&w, g)->label_count - 1;
        assert_in_range(own, CLASSES / 3, CLASSES / 3 + 1); /* groups are as equal as can be */
        classes += own;
    }
    assert_int_equal(classes, CLASSES);
    assert_true(w.report.change > 20.0); /* labels that have nothing to do with the images were learnt */
    end(&w);
}

/* ---- what is refused ---- */

static void expect_refusal(world *w, mts_status status, const char *part)
{
    size_t sizes[2];
    char *before = read_file(w->input, &sizes[0]);
    assert_int_equal(split(w), status);
    char *after = read_file(w->input, &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(before, after, sizes[0]);
    if (!strstr(w->error, part)) {
        fail_msg("no '%s' in: %s", part, w->error);
    }
    assert_int_not_equal(access(w->output, F_OK), 0);
    free(before);
    free(after);
    end(w);
}

static void a_task_that_is_not_there_is_named(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.task = "colour";
    expect_refusal(&w, MTS_STATUS_NOT_FOUND, "colour");
}

static void groups_are_from_two_to_the_classes(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.groups = 1;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "'object' has 10 classes");
    begin(&w);
    w.wanted.groups = 11;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "2 to 10 groups, not 11");
}

static void labels_that_fit_nothing_are_refused(void **state)
{
    static const struct {
        uint32_t count, seventh;
        const char *words;
    } wrong[] = {{IMAGES - 1, 0, "159 labels for 160 images"},
                 {IMAGES, CLASSES, "image 7 has label 10"},
                 {IMAGES, 0, "no image is"}}; /* all of one class: a group without any */
    (void)state;
    world w;
    uint32_t labels[IMAGES] = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        labels[7] = wrong[i].seventh;
        begin_labelled(&w, labels, wrong[i].count);
        expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, wrong[i].words);
    }
    begin(&w);
    w.wanted.grouping = (mtsz_grouping)2;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "grouping");
}

static void a_search_without_images_to_learn_or_compare_by_is_refused(void **state)
{
    (void)state;
    world w;
    uint32_t labels[IMAGES];
    begin(&w);
    w.wanted.search = 1;
    w.wanted.criterion = MTSZ_CRITERION_L1;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "search");
    begin(&w);
    w.wanted.search = 1;
    w.data.count = 4;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "4 images");
    for (uint32_t i = 0; i < IMAGES; i++) { /* all but class 0 is held out */
        labels[i] = i % 5 == 4 ? i / 5 % CLASSES : 0;
    }
    begin_labelled(&w, labels, IMAGES);
    w.wanted.search = 1;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "hold out");
}

static void no_images_are_refused(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.data.count = 0;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "no images");
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.wanted.ratio = 1.0;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "ratio");
    begin(&w);
    w.wanted.trunk = (double)NAN;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "trunk");
    begin(&w);
    w.wanted.criterion = (mtsz_criterion)9;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "criterion");
    begin(&w);
    w.wanted.retrain_seconds = -1.0;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "retrain_seconds");
}

static void an_image_that_cannot_be_had_is_named(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.data.image = no_image;
    expect_refusal(&w, MTS_STATUS_IO, "33");
}

static void groups_without_images_are_refused(void **state)
{
    (void)state;
    world w;
    begin(&w);
    w.data.count = 2;
    w.wanted.groups = 5;
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "no image is answered with a class of group");
}

static void a_task_is_not_split_twice_into_as_many(void **state)
{
    (void)state;
    world w;
    char once[80];
    begin(&w);
    w.wanted.keep = 1;
    w.wanted.ratio = 0.0;
    assert_int_equal(split(&w), MTS_STATUS_OK);
    (void)snprintf(once, sizeof once, "%s", w.output);
    (void)unlink(w.input);
    assert_int_equal(rename(once, w.input), 0);
    expect_refusal(&w, MTS_STATUS_INVALID_ARGUMENT, "object.1of3");
}

static int stop_at_third(void *context, float fraction, const char *what)
{
    uint32_t *calls = context;
    (void)fraction;
    (void)what;
    return ++*calls == 3;
}

static int count_call(void *context, float fraction, const char *what)
{
    (void)fraction;
    (void)what;
    ++*(int *)context;
    return 0;
}

static void the_bundle_that_is_read_is_refused_as_output_before_any_work(void **state)
{
    world w;
    int told = 0;
    (void)state;
    begin(&w);
    w.options.progress = count_call;
    w.options.context = &told;
    assert_int_equal(mtsz_split(w.input, &w.data, &w.wanted, w.input, &w.options, &w.report),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(w.error, "is the bundle that is read"));
    assert_int_equal(told, 0);
    end(&w);
}

static void a_caller_may_stop_it(void **state)
{
    (void)state;
    world w;
    uint32_t calls = 0;
    begin(&w);
    w.options.context = &calls;
    w.options.progress = stop_at_third;
    expect_refusal(&w, MTS_STATUS_CANCELLED, "cancelled");
    assert_int_equal(calls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_is_known_to_one_subnet),
        cmocka_unit_test(labels_are_those_of_the_classes),
        cmocka_unit_test(other_tasks_and_the_input_are_untouched),
        cmocka_unit_test(without_pruning_the_subnets_answer_as_the_task_did),
        cmocka_unit_test(pruning_leaves_the_work_that_was_asked_for),
        cmocka_unit_test(a_trunk_stays_common_to_all_subnets),
        cmocka_unit_test(re_training_does_no_harm_and_leaves_the_trunk_alone),
        cmocka_unit_test(the_task_stays_where_it_is_to_be_kept),
        cmocka_unit_test(equal_arguments_give_equal_bundles),
        cmocka_unit_test(answers_of_a_subnet_are_probabilities),
        cmocka_unit_test(labels_search_and_random_groups_make_other_subnets),
        cmocka_unit_test(labels_that_fit_nothing_are_refused),
        cmocka_unit_test(a_search_without_images_to_learn_or_compare_by_is_refused),
        cmocka_unit_test(a_task_that_is_not_there_is_named),
        cmocka_unit_test(groups_are_from_two_to_the_classes),
        cmocka_unit_test(no_images_are_refused),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(an_image_that_cannot_be_had_is_named),
        cmocka_unit_test(groups_without_images_are_refused),
        cmocka_unit_test(a_task_is_not_split_twice_into_as_many),
        cmocka_unit_test(the_bundle_that_is_read_is_refused_as_output_before_any_work),
        cmocka_unit_test(a_caller_may_stop_it),
    };
    return cmocka_run_group_tests(tests, split_for_all, end_all);
}

/*
 * test_distill.c: distilled students come back to their teachers, in equal bits on any number of processors and
 * within their time, and a failure leaves every bit.
 */
#define _GNU_SOURCE /* processors of a thread */
#include "distill_fixture.h"

static void perturbed_students_come_back_to_their_teachers(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.epochs = 60;
    for (uint32_t i = 0; i < TASKS; i++) {
        perturb(f.students[i], 0.3f, i + 50);
    }
    must(distill(&f, NULL, 0, &o, &report));
    assert_int_equal(report.steps, 60 * IMAGES / 16);
    assert_true(report.loss_first > 0.05);
    if (!(report.loss_last < 0.1 * report.loss_first)) {
        fail_msg("loss %g to %g", report.loss_first, report.loss_last);
    }
    assert_true(f.calls >= 2 && f.fraction == 1 && f.left == 0);
    assert_true(report.seconds > 0);
    family_free(&f);
}

static void training_of_one_step_is_reported_to_its_end(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, 16);
    mts_distill_options o = options(&f);
    o.epochs = 1;
    must(distill(&f, NULL, 0, &o, &report));
    assert_int_equal(report.steps, 1);
    assert_int_equal(f.calls, 2);
    assert_true(f.fraction == 1 && f.left == 0);
    assert_true(f.loss == report.loss_last);
    family_free(&f);
}

static void students_that_are_their_teachers_hardly_move(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.epochs = 1;
    must(distill(&f, NULL, 0, &o, &report));
    assert_true(report.loss_first < 1e-3);
    family_free(&f);
}

/* Loss of students whose scores are all 3 above their teachers': the same probabilities. */
static double loss_of_raised_scores(bool soft)
{
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    for (uint32_t i = 0; i < TASKS; i++) {
        const mts_net_layer head = mts_net_layer_of(f.students[i], 4);
        for (uint32_t c = 0; c < head.outputs; c++) {
            head.bias[c] += 3;
        }
        mts_net_touch(f.students[i], 4);
    }
    mts_distill_options o = options(&f);
    o.epochs = 1;
    o.soft = soft;
    must(distill(&f, NULL, 0, &o, &report));
    family_free(&f);
    return report.loss_first;
}

static void soft_comparison_sees_probabilities_alone(void **state)
{
    (void)state;
    assert_true(loss_of_raised_scores(true) < 1e-3);
    assert_true(loss_of_raised_scores(false) > 0.1);
}

/* Trains from the same start; returns the parameters of all students. */
static float *train_once(uint32_t tasks, size_t *count)
{
    family f;
    mts_distill_report report;
    float *all = NULL;
    *count = 0;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    o.epochs = 3;
    make_equal(f.students, &tie);
    must(mts_distill(f.students, (const mts_net *const *)f.teachers, tasks, &tie, tasks == TASKS, f.data, &o,
                     &f.memory.allocator, &report, &error));
    for (uint32_t i = 0; i < TASKS; i++) {
        size_t more = 0;
        float *one = parameters(f.students[i], &more);
        all = realloc(all, (*count + more) * sizeof *all);
        memcpy(all + *count, one, more * sizeof *all);
        *count += more;
        free(one);
    }
    family_free(&f);
    return all;
}

static void equal_arguments_give_equal_bits_on_one_processor_and_on_all(void **state)
{
    (void)state;
    size_t count = 0;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
        }
    }
    for (uint32_t tasks = 1; tasks <= TASKS; tasks += TASKS - 1) {
        float *first = train_once(tasks, &count);
        float *second = train_once(tasks, &count);
        assert_memory_equal(first, second, count * sizeof *first); /* the same again */
        free(second);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        assert_int_equal(mts_threads_count(), 1);
        second = train_once(tasks, &count);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
        assert_memory_equal(first, second, count * sizeof *first);
        free(first);
        free(second);
    }
}

/* The gradients of a step of the first task, on the heap; `chunk` images go through at once. */
static float *lane_gradients(family *f, const mts_batch *batch, uint32_t chunk, double *loss, size_t *count)
{
    const mts_frozen nothing = {0};
    const mts_graph *graph = mts_net_graph(f->students[0]);
    mts_answer answer = mts_answer_of(graph, 0);
    const mts_lane_task of = {
        .teacher = f->teachers[0], .student = f->students[0], .answer_count = 1, .answers = &answer};
    mts_lane lane = {.of = &of, .end = batch->size, .chunk = chunk};
    mts_parameters all;
    assert_true(mts_parameters_init(&all, f->students, 1, &nothing, mts_allocator_default()));
    *count = all.elements[0];
    must(mts_lane_init(&lane, *count, mts_allocator_default(), &error));
    must(mts_lane_step(&lane, f->data, batch, &all, &error));
    float *gradients = malloc(*count * sizeof *gradients);
    memcpy(gradients, lane.gradients, *count * sizeof *gradients);
    *loss = lane.loss;
    mts_lane_release(&lane, mts_allocator_default());
    mts_parameters_release(&all);
    return gradients;
}

static void a_batch_that_goes_through_in_chunks_has_the_same_gradients(void **state)
{
    (void)state;
    family f;
    mts_batch batch;
    size_t count = 0;
    double loss = 0, chunked_loss = 0, size = 0, difference = 0;
    family_make(&f, IMAGES);
    perturb(f.students[0], 0.3f, 3);
    assert_true(mts_batch_init(&batch, IMAGES, 16, 2, true, 1, mts_allocator_default()));
    mts_batch_next(&batch);
    float *whole = lane_gradients(&f, &batch, 16, &loss, &count);
    float *chunked = lane_gradients(&f, &batch, 5, &chunked_loss, &count);
    for (size_t i = 0; i < count; i++) {
        size = fmax(size, fabs((double)whole[i]));
        difference = fmax(difference, fabs((double)whole[i] - (double)chunked[i]));
    }
    assert_true(size > 1e-4 && difference < 1e-4 * size);
    assert_true(loss > 0 && fabs(loss - chunked_loss) < 1e-5 * loss);
    free(whole);
    free(chunked);
    mts_batch_release(&batch);
    family_free(&f);
}

static void a_failure_leaves_every_bit(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    float *before[TASKS];
    family_make(&f, IMAGES);
    for (uint32_t i = 0; i < TASKS; i++) {
        perturb(f.students[i], 0.3f, i + 9);
        before[i] = parameters(f.students[i], &count);
    }
    mts_distill_options o = options(&f);
    f.cancel_at = 1;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_CANCELLED);
    f.cancel_at = 0;
    f.fail_at = 17;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_IO);
    assert_non_null(strstr(error.text, "17"));
    f.fail_at = MTS_NONE;
    for (size_t call = 1; call < 400; call += 7) {
        mts_fault_allocator_init(&f.memory, call);
        o.epochs = 1;
        if (distill(&f, NULL, 0, &o, &report) == MTS_STATUS_OK) {
            break;
        }
        for (uint32_t i = 0; i < TASKS; i++) {
            assert_parameters(f.students[i], before[i]);
        }
        assert_int_equal(f.memory.alive, 0);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        free(before[i]);
    }
    family_free(&f);
}

static void a_loss_that_is_no_number_names_the_task_and_leaves_every_bit(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    family_make(&f, IMAGES);
    const mts_distill_options o = options(&f);
    const mts_net_layer layer = mts_net_layer_of(f.students[1], 4);
    layer.bias[2] = NAN;
    mts_net_touch(f.students[1], 4);
    float *before = parameters(f.students[0], &count);
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "'second'"));
    assert_parameters(f.students[0], before);
    free(before);
    family_free(&f);
}

/* A machine that is busy with other things may stop a step at any time: one of three has to keep to it. */
static void training_keeps_to_its_time(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    bool kept = false;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.seconds = 1;
    o.epochs = 1000000;
    for (int i = 0; i < 3 && !kept; i++) {
        const uint64_t start = mts_os_clock_ns();
        must(distill(&f, NULL, 0, &o, &report));
        const double seconds = (double)(mts_os_clock_ns() - start) * 1e-9;
        kept = seconds > 0.8 && seconds < 1.2 && fabs(report.seconds - seconds) < 0.1;
        assert_true(report.steps > 5);
        assert_true(seconds > 0.5);
    }
    assert_true(kept);
    family_free(&f);
}

/* ---- networks that were trained ---- */

static const char *const small[2] = {"cifar/models/small_object.onnx", "cifar/models/small_legs.onnx"};
static unsigned char *records; /* of calib_5000.bin */

static int photo(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    (void)context;
    const unsigned char *record = records + (size_t)index * 3073 + 1;
    for (uint32_t i = 0; i < 3072; i++) {
        rgb[i] = record[i % 3 * 1024 + i / 3];
    }
    return width != 32 || height != 32;
}

typedef struct comparison {
    mts_net *nets[2];
    mts_data *data;
    uint32_t images, changed;
} comparison;

static uint32_t best_of(const float *scores, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}

static mts_status compare_job(void *context, uint32_t job, uint32_t worker, mts_error *failure)
{
    comparison *c = context;
    uint32_t index[100];
    mts_net_run *runs[2] = {0};
    const mts_port *port = &mts_net_graph(c->nets[0])->outputs[0];
    const uint32_t classes = (uint32_t)mts_shape_count(&port->shape);
    mts_status status = MTS_STATUS_OK;
    (void)worker;
    for (int k = 0; k < 2 && status == MTS_STATUS_OK; k++) {
        status = mts_net_run_create(c->nets[k], 100, MTS_NET_INFERENCE, &runs[k], failure);
    }
    for (uint32_t at = 0; at < c->images && status == MTS_STATUS_OK; at += 100) {
        for (uint32_t i = 0; i < 100; i++) {
            index[i] = at + i;
        }
        for (int k = 0; k < 2 && status == MTS_STATUS_OK; k++) {
            status = mts_data_fill(c->data, job, 0, index, 100, NULL, mts_net_run_input(runs[k], 0), failure);
            if (status == MTS_STATUS_OK) {
                status = mts_net_run_forward(runs[k], 100, 0, mts_net_graph(c->nets[k])->node_count, failure);
            }
        }
        for (uint32_t i = 0; i < 100 && status == MTS_STATUS_OK; i++) {
            c->changed += best_of(mts_net_run_value(runs[0], port->value) + i * classes, classes) !=
                          best_of(mts_net_run_value(runs[1], port->value) + i * classes, classes);
        }
    }
    mts_net_run_destroy(&runs[0]);
    mts_net_run_destroy(&runs[1]);
    return status;
}

/* Percent of the answers of task 0. */
static double changed_answers(mts_net *a, mts_net *b, mts_data *data, uint32_t images)
{
    comparison c = {.nets = {a, b}, .data = data, .images = images};
    must(mts_threads_run(1, compare_job, &c, &error));
    return 100.0 * c.changed / images;
}

static void perturbed_networks_of_cifar_regain_their_teachers_answers(void **state)
{
    (void)state;
    char path[DATA_PATH];
    if (!data_exists(data_path(MTS_SOURCE_DIR, "cifar/calib_5000.bin", path))) {
        skip();
    }
    mts_arena arena;
    void *bytes = NULL;
    size_t size = 0;
    mts_task tasks[2];
    mts_net *students[2], *teachers[2];
    mts_data *data = NULL;
    mts_distill_options o;
    mts_distill_report report;
    mts_arena_init(&arena, mts_allocator_default());
    must(mts_os_file_read(mts_allocator_default(), path, SIZE_MAX, &bytes, &size, &error));
    records = bytes;
    for (int i = 0; i < 2; i++) {
        mts_graph *graph = NULL, *folded = NULL;
        must(mts_import_file(data_path(MTS_SOURCE_DIR, small[i], path), NULL, &arena, &graph, &error));
        must(mts_fold(graph, &arena, &folded, &error));
        tasks[i] = (mts_task){.name = i ? "legs" : "object",
                              .graph = folded,
                              .preprocess = {.color = MTS_COLOR_RGB,
                                             .mean = {125.3f, 123.0f, 113.9f},
                                             .std = {63.0f, 62.1f, 66.7f}}};
        must(mts_net_create(folded, mts_allocator_default(), &students[i], &error));
        must(mts_net_create(folded, mts_allocator_default(), &teachers[i], &error));
        perturb(students[i], 0.4f, (uint32_t)i + 3);
    }
    mtsz_data source;
    mtsz_data_default(&source);
    source.count = 2000;
    source.image = photo;
    must(mts_data_create(&source, tasks, 2, 1u << 30, mts_allocator_default(), &data, &error));
    const double before = changed_answers(students[0], teachers[0], data, 500);
    mts_distill_options_default(&o);
    o.epochs = 2;
    must(mts_distill(students, (const mts_net *const *)teachers, 2, NULL, 0, data, &o,
                     mts_allocator_default(), &report, &error));
    const double after = changed_answers(students[0], teachers[0], data, 500);
    print_message("%u steps, loss %.3g to %.3g, answers changed %.1f %% to %.1f %%\n", (unsigned)report.steps,
                  report.loss_first, report.loss_last, before, after);
    assert_true(before > 10);
    assert_true(after < before / 2.5);
    for (int i = 0; i < 2; i++) {
        mts_net_destroy(&students[i]);
        mts_net_destroy(&teachers[i]);
    }
    mts_data_destroy(&data);
    mts_alloc_free(mts_allocator_default(), bytes);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perturbed_students_come_back_to_their_teachers),
        cmocka_unit_test(training_of_one_step_is_reported_to_its_end),
        cmocka_unit_test(students_that_are_their_teachers_hardly_move),
        cmocka_unit_test(soft_comparison_sees_probabilities_alone),
        cmocka_unit_test(equal_arguments_give_equal_bits_on_one_processor_and_on_all),
        cmocka_unit_test(a_batch_that_goes_through_in_chunks_has_the_same_gradients),
        cmocka_unit_test(a_failure_leaves_every_bit),
        cmocka_unit_test(a_loss_that_is_no_number_names_the_task_and_leaves_every_bit),
        cmocka_unit_test(training_keeps_to_its_time),
        cmocka_unit_test(perturbed_networks_of_cifar_regain_their_teachers_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

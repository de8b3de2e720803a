/*
 * test_distill_ties.c: distillation keeps what is tied or frozen, and refuses ties and options that cannot be.
 */
#include "distill_fixture.h"

static void tied_filters_move_and_stay_equal_in_bits(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    family_make(&f, IMAGES);
    const mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    make_equal(f.students, &tie);
    const mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    float *before = malloc(weight_count(&layer) * sizeof *before);
    memcpy(before, layer.weight, weight_count(&layer) * sizeof *before);
    must(distill(&f, &tie, 1, &o, &report));
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    for (size_t i = 0; i < weight_count(&layer); i++) {
        count += layer.weight[i] != before[i];
    }
    assert_true(count > weight_count(&layer) * 9 / 10);
    assert_true(report.loss_last < report.loss_first);
    free(before);
    family_free(&f);
}

static void tied_cells_of_some_inputs_stay_equal_and_two_ties_share_a_layer(void **state)
{
    (void)state;
    static const uint32_t pair[2] = {2, 0}, nodes[2] = {1, 1};
    static const uint32_t left_in[2] = {4, 0}, right_in[2] = {1, 2};
    static const uint32_t left_out[2] = {4, 5}, right_out[2] = {5, 4};
    static const uint32_t *const pair_ins[2] = {left_in, right_in};
    static const uint32_t *const pair_outs[2] = {left_out, right_out};
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    const mts_distill_options o = options(&f);
    static const uint32_t all_in[TASKS][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {5, 4, 1, 2}};
    static const uint32_t *const ins[TASKS] = {all_in[0], all_in[1], all_in[2]};
    mts_tie ties[2] = {filters_tie(),
                       {.task_count = 2,
                        .tasks = pair,
                        .nodes = nodes,
                        .out_count = 2,
                        .in_count = 2,
                        .outs = pair_outs,
                        .ins = pair_ins}};
    /* The pair's filters 4 and 5 of task 2: 5 belongs to the other tie, with inputs 5 4 1 2. */
    ties[0].in_count = 4;
    ties[0].ins = ins;
    ties[1].out_count = 1;
    make_equal(f.students, &ties[0]);
    make_equal(f.students, &ties[1]);
    must(distill(&f, ties, 2, &o, &report));
    assert_int_equal(cells_that_differ(f.students, &ties[0]), 0);
    assert_int_equal(cells_that_differ(f.students, &ties[1]), 0);
    assert_true(report.loss_last < report.loss_first);
    family_free(&f);
}

static void tied_filters_serve_all_their_tasks(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    o.epochs = 40;
    make_equal(f.students, &tie);
    must(distill(&f, &tie, 1, &o, &report));
    assert_true(report.loss_last < 0.5 * report.loss_first);
    family_free(&f);
}

static void frozen_tasks_and_ties_keep_their_bits(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    const bool frozen[TASKS] = {false, true, false};
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    mts_tie tie = filters_tie();
    perturb(f.students[0], 0.2f, 1);
    make_equal(f.students, &tie);
    float *second = parameters(f.students[1], &count);
    float *first = parameters(f.students[0], &count);
    o.frozen = frozen;
    must(distill(&f, &tie, 1, &o, &report));
    assert_parameters(f.students[1], second);
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    size_t same = 0;
    float *now = parameters(f.students[0], &count);
    for (size_t i = 0; i < count; i++) {
        same += memcmp(&now[i], &first[i], sizeof *now) == 0;
    }
    assert_in_range(same, 4 * FILTERS * 9, 4 * FILTERS * 9 + 30);
    free(now);

    /* The same by the tie alone, and everything frozen: nothing to do. */
    const bool all[TASKS] = {true, true, true};
    o.frozen = all;
    must(distill(&f, &tie, 1, &o, &report));
    assert_int_equal(report.steps, 0);
    assert_parameters(f.students[1], second);
    const mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    float kept[FILTERS * 9];
    memcpy(kept, layer.weight + places[2][0] * FILTERS * 9, sizeof kept);
    o.frozen = NULL;
    tie.frozen = true;
    must(distill(&f, &tie, 1, &o, &report));
    assert_memory_equal(kept, layer.weight + places[2][0] * FILTERS * 9, sizeof kept);
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    free(first);
    free(second);
    family_free(&f);
}

static void nodes_in_front_that_are_frozen_keep_their_bits_and_so_do_their_ties(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    size_t count = 0;
    const uint32_t nodes[TASKS] = {2, 0, 0};
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    const mts_tie tie = filters_tie();
    make_equal(f.students, &tie);
    for (uint32_t i = 0; i < TASKS; i++) {
        const mts_net_layer head = mts_net_layer_of(f.students[i], 4);
        head.bias[0] += 1;
        mts_net_touch(f.students[i], 4);
    }
    const size_t front = 3 * FILTERS * 9 + FILTERS * FILTERS * 9 + 4 * FILTERS;
    float *before = parameters(f.students[0], &count);
    float *other = parameters(f.students[1], &count);
    o.frozen_nodes = nodes;
    must(distill(&f, &tie, 1, &o, &report));
    float *now = parameters(f.students[0], &count);
    assert_memory_equal(now, before, front * sizeof *now);
    assert_memory_not_equal(now + front, before + front, (count - front) * sizeof *now);
    assert_int_equal(cells_that_differ(f.students, &tie), 0);
    free(now);
    now = parameters(f.students[1], &count);
    assert_memory_not_equal(now, other, 3 * FILTERS * 9 * sizeof *now);
    free(now);
    free(before);
    free(other);
    family_free(&f);
}

static void refuse(family *f, const mts_tie *ties, uint32_t count, const char *part)
{
    mts_distill_report report;
    const mts_distill_options o = options(f);
    assert_int_equal(distill(f, ties, count, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    if (!strstr(error.text, part)) {
        fail_msg("%s", error.text);
    }
}

static void errors_name_tasks_as_the_caller_does(void **state)
{
    (void)state;
    static const char *const names[TASKS] = {"cats", "dogs", "birds"};
    mts_distill_report report;
    family f;
    family_make(&f, IMAGES);
    const mts_tie tie = filters_tie();
    mts_distill_options o = options(&f);
    o.names = names;
    assert_int_equal(distill(&f, &tie, 1, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "of task 'dogs' has other weights"));
    mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    layer.weight[0] = NAN;
    mts_net_touch(f.students[2], 1);
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "task 'birds'"));
    family_free(&f);
}

static void ties_that_cannot_be_are_refused_with_task_and_node(void **state)
{
    (void)state;
    family f;
    family_make(&f, IMAGES);
    mts_tie tie = filters_tie();
    refuse(&f, &tie, 1, "'n1' of task 'second' has other weights");
    make_equal(f.students, &tie);
    mts_net_layer layer = mts_net_layer_of(f.students[2], 1);
    float *cell = &layer.weight[(places[2][3] * 9 + 8) * FILTERS + 5];
    *cell = nextafterf(*cell, 100);
    refuse(&f, &tie, 1, "task 'third' has other weights");
    make_equal(f.students, &tie);
    const mts_tie twice[2] = {tie, tie};
    refuse(&f, twice, 2, "task 'first' is tied twice");

    const uint32_t far[4] = {0, 1, 2, FILTERS};
    const uint32_t *const outs[TASKS] = {places[0], places[1], far};
    tie.outs = outs;
    refuse(&f, &tie, 1, "task 'third' has no such filter");
    tie = filters_tie();
    tie.in_count = FILTERS - 1;
    refuse(&f, &tie, 1, "has another number of input channels");
    const uint32_t *const ins[TASKS] = {far, far, far};
    tie.in_count = 4;
    tie.ins = ins;
    refuse(&f, &tie, 1, "has no such input channel");
    tie = filters_tie();
    const uint32_t heads[TASKS] = {1, 3, 1}, beyond[TASKS] = {1, 1, 100}, other[TASKS] = {1, 1, 4};
    tie.nodes = heads;
    refuse(&f, &tie, 1, "task 'second' is no convolution");
    tie.nodes = beyond;
    refuse(&f, &tie, 1, "task 'third' is no convolution");
    tie.nodes = other;
    refuse(&f, &tie, 1, "task 'third' ");
    const uint32_t strange[TASKS] = {0, 1, 3};
    tie = filters_tie();
    tie.tasks = strange;
    refuse(&f, &tie, 1, "no task 3");
    family_free(&f);
}

static void options_and_pairs_that_cannot_be_are_refused(void **state)
{
    (void)state;
    family f;
    mts_distill_report report;
    family_make(&f, IMAGES);
    mts_distill_options o = options(&f);
    o.seconds = 0;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    o = options(&f);
    o.epochs = 0;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    o = options(&f);
    o.rate = NAN;
    assert_int_equal(distill(&f, NULL, 0, &o, &report), MTS_STATUS_INVALID_ARGUMENT);
    family_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tied_filters_move_and_stay_equal_in_bits),
        cmocka_unit_test(tied_cells_of_some_inputs_stay_equal_and_two_ties_share_a_layer),
        cmocka_unit_test(tied_filters_serve_all_their_tasks),
        cmocka_unit_test(frozen_tasks_and_ties_keep_their_bits),
        cmocka_unit_test(nodes_in_front_that_are_frozen_keep_their_bits_and_so_do_their_ties),
        cmocka_unit_test(errors_name_tasks_as_the_caller_does),
        cmocka_unit_test(ties_that_cannot_be_are_refused_with_task_and_node),
        cmocka_unit_test(options_and_pairs_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

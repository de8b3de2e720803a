/*
 * What distillation is made of: batches, the rate, the loss and where it is taken. No network runs here.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "compress/train/answers.h"
#include "compress/train/batch.h"
#include "compress/train/schedule.h"
#include "platform/os/os.h"

static mts_error error;

/* ---- batches ---- */

static void every_round_has_each_image_once_in_another_order(void **state)
{
    (void)state;
    mts_batch batch;
    uint32_t first[12], same = 0;
    assert_true(mts_batch_init(&batch, 12, 4, 0, false, 7, mts_allocator_default()));
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t seen[12] = {0};
        for (uint32_t i = 0; i < 3; i++) {
            mts_batch_next(&batch);
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t image = batch.indices[k];
                assert_in_range(image, 0, 11);
                assert_int_equal(seen[image]++, 0);
                assert_false(batch.changes[k].mirror || batch.changes[k].right || batch.changes[k].down);
                same += round && first[i * 4 + k] == image;
                first[i * 4 + k] = image;
            }
        }
    }
    assert_in_range(same, 0, 8);
    mts_batch_release(&batch);
}

static void images_move_and_turn_as_far_as_they_may_and_both_ways(void **state)
{
    (void)state;
    mts_batch batch;
    uint32_t mirrored = 0, right[5] = {0}, down[5] = {0};
    assert_true(mts_batch_init(&batch, 100, 10, 2, true, 1, mts_allocator_default()));
    for (uint32_t i = 0; i < 100; i++) {
        mts_batch_next(&batch);
        for (uint32_t k = 0; k < 10; k++) {
            assert_in_range(batch.changes[k].right + 2, 0, 4);
            assert_in_range(batch.changes[k].down + 2, 0, 4);
            mirrored += batch.changes[k].mirror;
            right[batch.changes[k].right + 2]++;
            down[batch.changes[k].down + 2]++;
        }
    }
    assert_in_range(mirrored, 400, 600);
    for (uint32_t i = 0; i < 5; i++) {
        assert_in_range(right[i], 120, 280);
        assert_in_range(down[i], 120, 280);
    }
    mts_batch_release(&batch);
}

/* ---- the rate ---- */

static void the_rate_rises_and_falls_to_nothing_in_the_steps_there_are(void **state)
{
    (void)state;
    mts_schedule schedule;
    float highest = 0, last = 1;
    uint32_t steps = 0, rose = 0;
    mts_schedule_init(&schedule, mts_os_clock_ns(), 1000, 200, 0.5f);
    while (mts_schedule_next(&schedule)) {
        rose += steps > 0 && schedule.rate > last;
        last = schedule.rate;
        highest = last > highest ? last : highest;
        steps++;
    }
    assert_int_equal(steps, 200);
    assert_true(highest > 0.48f && highest <= 0.5f);
    assert_true(last < 0.001f);
    assert_in_range(rose, 5, 20);
}

/* A machine that is busy with other things may sleep longer: one of three has to be in time. */
static void time_ends_training_with_the_rate_near_nothing(void **state)
{
    (void)state;
    const struct timespec pause = {.tv_nsec = 2000000};
    bool kept = false;
    for (int i = 0; i < 3 && !kept; i++) {
        mts_schedule schedule;
        const uint64_t start = mts_os_clock_ns();
        uint32_t steps = 0;
        mts_schedule_init(&schedule, start, 0.4, 1000000, 1);
        while (mts_schedule_next(&schedule)) {
            (void)nanosleep(&pause, NULL);
            steps++;
        }
        const double seconds = (double)(mts_os_clock_ns() - start) * 1e-9;
        kept = seconds > 0.32 && seconds < 0.44 && steps > 20 && schedule.rate < 0.02f;
    }
    assert_true(kept);
}

static void one_step_is_made_even_if_the_time_is_over(void **state)
{
    (void)state;
    mts_schedule schedule;
    mts_schedule_init(&schedule, mts_os_clock_ns() - 2000000000u, 1, 10, 1);
    assert_true(mts_schedule_next(&schedule));
    assert_false(mts_schedule_next(&schedule));
}

/* ---- the loss ---- */

/* Gradients by differences of the loss. */
static void check_gradient(const mts_answer *answer, uint32_t images)
{
    float teacher[24], student[24], gradient[24], other[24];
    uint32_t random = 5;
    for (uint32_t i = 0; i < images * answer->elements; i++) {
        random = random * 1664525u + 1013904223u;
        teacher[i] = (float)(random >> 8) / 4194304.0f - 2;
        random = random * 1664525u + 1013904223u;
        student[i] = (float)(random >> 8) / 4194304.0f - 2;
    }
    const double loss = mts_answer_loss(answer, teacher, student, images, 9, 2, gradient);
    assert_true(loss > 0.01);
    for (uint32_t i = 0; i < images * answer->elements; i++) {
        const float kept = student[i];
        student[i] = kept + 1e-2f;
        const double more = mts_answer_loss(answer, teacher, student, images, 9, 2, other);
        student[i] = kept - 1e-2f;
        const double less = mts_answer_loss(answer, teacher, student, images, 9, 2, other);
        student[i] = kept;
        assert_true(fabs((more - less) / 2e-2 - (double)gradient[i]) < 1e-4);
    }
    assert_true(fabs(mts_answer_loss(answer, teacher, teacher, images, 9, 2, gradient)) < 1e-9);
}

static void gradients_are_the_losss(void **state)
{
    (void)state;
    check_gradient(&(mts_answer){.elements = 4, .classes = 4, .computed = true, .variance = 1.7}, 5);
    check_gradient(&(mts_answer){.elements = 8, .classes = 0, .computed = true, .variance = 0.3}, 3);
    check_gradient(&(mts_answer){.elements = 6, .classes = 3, .computed = true, .variance = 2}, 4);
}

static void variance_is_that_of_the_answers_and_never_nothing(void **state)
{
    (void)state;
    const float values[6] = {1, 10, 2, 10, 3, 10};
    const float equal[4] = {2, 4, 2, 4}, zero[4] = {0};
    double sums[2] = {0};
    mts_answer answer = {.elements = 2, .sums = sums};
    mts_answer_add(&answer, values, 2);
    mts_answer_add(&answer, values + 4, 1);
    mts_answer_measure(&answer, 3);
    assert_true(fabs(answer.variance - 1.0 / 3) < 1e-9);
    memset(sums, 0, sizeof sums);
    answer.squares = 0;
    mts_answer_add(&answer, equal, 2);
    mts_answer_measure(&answer, 2);
    assert_true(fabs(answer.variance - 10) < 1e-9);
    memset(sums, 0, sizeof sums);
    answer.squares = 0;
    mts_answer_add(&answer, zero, 2);
    mts_answer_measure(&answer, 2);
    assert_true(answer.variance == 1);
}

/* ---- where it is taken ---- */

static uint32_t add(mts_graph *graph, mts_op op, const uint32_t *inputs, uint32_t count,
                    const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    if (mts_graph_add_node(graph, op, mts_op_name(op), inputs, count, attrs, &value, &error) !=
        MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return value;
}

static void output(mts_graph *graph, uint32_t value)
{
    assert_int_equal(mts_graph_add_output(graph, graph->values[value].name, value, MTS_TYPE_FLOAT32,
                                          &graph->values[value].shape, &error),
                     MTS_STATUS_OK);
}

static const float ones[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* x [1,3,2,2] -> a convolution to 4 channels with `fn`. */
static mts_graph *convolution(mts_arena *arena, uint32_t fn, uint32_t *value)
{
    const mts_shape shape = {4, {1, 3, 2, 2}}, weights = {4, {4, 3, 1, 1}};
    mts_graph *graph = mts_graph_create(arena, "g");
    const uint32_t inputs[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape),
                                mts_graph_add_const(graph, "w", MTS_TYPE_FLOAT32, &weights, ones)};
    const mts_attrs attrs = {
        .conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1, .act = {.fn = fn}}};
    *value = add(graph, MTS_OP_CONV, inputs, 2, &attrs);
    return graph;
}

static void a_final_softmax_is_left_out_and_what_only_it_read_stays(void **state)
{
    (void)state;
    mts_arena arena;
    uint32_t x = MTS_NONE;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = convolution(&arena, MTS_FN_NONE, &x);
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 0}};
    const mts_attrs soft = {.softmax = {.axis = 1}};
    const mts_attrs shape = {.reshape = {.shape = {1, {4}}}};
    const uint32_t logits = add(graph, MTS_OP_REDUCE, &x, 1, &mean);
    uint32_t y = add(graph, MTS_OP_SOFTMAX, &logits, 1, &soft);
    y = add(graph, MTS_OP_RESHAPE, &y, 1, &shape);
    output(graph, y);
    const mts_graph *answers = mts_answers_graph(graph, &arena);
    assert_int_equal(answers->outputs[0].value, logits);
    assert_int_equal(answers->node_count, 2);
    assert_int_equal(graph->outputs[0].value, y);
    const mts_answer answer = mts_answer_of(answers, 0);
    assert_int_equal(answer.classes, 4);
    assert_int_equal(answer.elements, 4);
    assert_true(answer.computed);
    mts_arena_release(&arena);
}

static void a_sigmoid_is_taken_off_its_node_unless_others_read_it(void **state)
{
    (void)state;
    mts_arena arena;
    uint32_t x = MTS_NONE;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = convolution(&arena, MTS_FN_SIGMOID, &x);
    output(graph, x);
    const mts_graph *answers = mts_answers_graph(graph, &arena);
    assert_int_equal(answers->outputs[0].value, x);
    assert_int_equal(answers->nodes[0].attrs.conv.act.fn, MTS_FN_NONE);
    assert_int_equal(graph->nodes[0].attrs.conv.act.fn, MTS_FN_SIGMOID);
    assert_int_equal(mts_answer_of(answers, 0).classes, 0);

    graph = convolution(&arena, MTS_FN_SIGMOID, &x);
    const mts_attrs relu = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    output(graph, x);
    output(graph, add(graph, MTS_OP_UNARY, &x, 1, &relu));
    answers = mts_answers_graph(graph, &arena);
    assert_int_equal(answers->nodes[0].attrs.conv.act.fn, MTS_FN_SIGMOID);
    assert_int_equal(answers->node_count, 2);

    graph = convolution(&arena, MTS_FN_RELU, &x);
    const mts_attrs sigmoid = {.unary = {.act = {.fn = MTS_FN_SIGMOID}}};
    output(graph, add(graph, MTS_OP_UNARY, &x, 1, &sigmoid));
    answers = mts_answers_graph(graph, &arena);
    assert_int_equal(answers->outputs[0].value, x);
    assert_int_equal(answers->node_count, 1);
    mts_arena_release(&arena);
}

static void an_output_that_no_node_computes_is_not_compared(void **state)
{
    (void)state;
    mts_arena arena;
    uint32_t x = MTS_NONE;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = convolution(&arena, MTS_FN_NONE, &x);
    output(graph, graph->inputs[0].value);
    assert_false(mts_answer_of(mts_answers_graph(graph, &arena), 0).computed);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_has_each_image_once_in_another_order),
        cmocka_unit_test(images_move_and_turn_as_far_as_they_may_and_both_ways),
        cmocka_unit_test(the_rate_rises_and_falls_to_nothing_in_the_steps_there_are),
        cmocka_unit_test(time_ends_training_with_the_rate_near_nothing),
        cmocka_unit_test(one_step_is_made_even_if_the_time_is_over),
        cmocka_unit_test(gradients_are_the_losss),
        cmocka_unit_test(variance_is_that_of_the_answers_and_never_nothing),
        cmocka_unit_test(a_final_softmax_is_left_out_and_what_only_it_read_stays),
        cmocka_unit_test(a_sigmoid_is_taken_off_its_node_unless_others_read_it),
        cmocka_unit_test(an_output_that_no_node_computes_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

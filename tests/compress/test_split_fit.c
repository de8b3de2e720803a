/*
 * What a subnet's end is fitted with: the minimiser, and logistic regression towards soft targets.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compress/split/logistic.h"
#include "compress/split/minimize.h"

#define ROWS 600u
#define INPUTS 5u
#define OUTPUTS 3u

/* ---- the minimiser ---- */

static mts_status rosenbrock(void *context, const double *x, double *value, double *gradient,
                             mts_error *error)
{
    const double a = 1.0 - x[0];
    const double b = x[1] - x[0] * x[0];
    (void)error;
    *(uint32_t *)context += 1;
    *value = a * a + 100.0 * b * b;
    gradient[0] = -2.0 * a - 400.0 * x[0] * b;
    gradient[1] = 200.0 * b;
    return MTS_STATUS_OK;
}

static void the_valley_of_rosenbrock_is_followed_to_its_end(void **state)
{
    (void)state;
    mts_error error = {0};
    uint32_t calls = 0;
    double x[2] = {-1.2, 1.0};
    assert_int_equal(mts_minimize(rosenbrock, &calls, x, 2, 200, 1e-12, mts_allocator_default(), &error),
                     MTS_STATUS_OK);
    assert_float_equal(x[0], 1.0, 1e-4);
    assert_float_equal(x[1], 1.0, 1e-4);
    assert_in_range(calls, 10, 150); /* steepest descent takes thousands */
}

static mts_status broken_at_third(void *context, const double *x, double *value, double *gradient,
                                  mts_error *error)
{
    uint32_t *calls = context;
    if (++*calls == 3) {
        return mts_fail(error, MTS_STATUS_CANCELLED, "enough");
    }
    *value = x[0] * x[0] * x[0] * x[0];
    gradient[0] = 4.0 * x[0] * x[0] * x[0];
    return MTS_STATUS_OK;
}

static void a_failing_function_ends_the_search_with_its_reason(void **state)
{
    (void)state;
    mts_error error = {0};
    uint32_t calls = 0;
    double x[1] = {3.0};
    assert_int_equal(mts_minimize(broken_at_third, &calls, x, 1, 50, 0, mts_allocator_default(), &error),
                     MTS_STATUS_CANCELLED);
    assert_string_equal(error.text, "enough");
    assert_int_equal(calls, 3);
}

static mts_status no_number(void *context, const double *x, double *value, double *gradient, mts_error *error)
{
    (void)context;
    (void)x;
    (void)error;
    *value = (double)NAN;
    gradient[0] = 0;
    return MTS_STATUS_OK;
}

static void a_start_that_is_no_number_is_refused(void **state)
{
    (void)state;
    mts_error error = {0};
    double x[1] = {0};
    assert_int_equal(mts_minimize(no_number, NULL, x, 1, 5, 0, mts_allocator_default(), &error),
                     MTS_STATUS_INVALID_ARGUMENT);
}

/* ---- logistic regression ---- */

typedef struct world {
    float rows[ROWS * INPUTS], targets[ROWS * OUTPUTS], weights[ROWS];
    float weight[OUTPUTS * INPUTS], bias[OUTPUTS]; /* the truth */
} world;

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / (float)(1u << 24) - 0.5f;
}

static void probabilities(const float *weight, const float *bias, const float *row, double *out)
{
    double sum = 0;
    for (uint32_t j = 0; j < OUTPUTS; j++) {
        double score = (double)bias[j];
        for (uint32_t k = 0; k < INPUTS; k++) {
            score += (double)weight[j * INPUTS + k] * (double)row[k];
        }
        out[j] = exp(score);
        sum += out[j];
    }
    for (uint32_t j = 0; j < OUTPUTS; j++) {
        out[j] /= sum;
    }
}

/* Inputs of very different sizes and means, one of which never changes. */
static void make_world(world *w)
{
    static const float sizes[INPUTS] = {1.0f, 100.0f, 0.01f, 3.0f, 0.0f};
    uint32_t seed = 7;
    for (uint32_t i = 0; i < OUTPUTS * INPUTS; i++) {
        w->weight[i] = sizes[i % INPUTS] > 0.0f ? 4.0f * noise(&seed) / sizes[i % INPUTS] : 0.0f;
    }
    for (uint32_t j = 0; j < OUTPUTS; j++) {
        w->bias[j] = 2.0f * noise(&seed);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        double p[OUTPUTS];
        for (uint32_t k = 0; k < INPUTS; k++) {
            w->rows[i * INPUTS + k] = sizes[k] * (2.0f * noise(&seed) + 5.0f) + (k == 4 ? 1.0f : 0.0f);
        }
        probabilities(w->weight, w->bias, &w->rows[i * INPUTS], p);
        for (uint32_t j = 0; j < OUTPUTS; j++) {
            w->targets[i * OUTPUTS + j] = (float)p[j];
        }
        w->weights[i] = 1.0f;
    }
}

static mts_logistic problem_of(const world *w)
{
    return (mts_logistic){.count = ROWS,
                          .inputs = INPUTS,
                          .outputs = OUTPUTS,
                          .rows = w->rows,
                          .targets = w->targets,
                          .weights = w->weights,
                          .ridge = 1e-9,
                          .steps = 500};
}

static double worst_difference(const world *w, const float *weight, const float *bias)
{
    double worst = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        double p[OUTPUTS];
        probabilities(weight, bias, &w->rows[i * INPUTS], p);
        for (uint32_t j = 0; j < OUTPUTS && w->weights[i] > 0.0f; j++) {
            worst = fmax(worst, fabs(p[j] - (double)w->targets[i * OUTPUTS + j]));
        }
    }
    return worst;
}

static void probabilities_that_a_layer_can_say_are_met(void **state)
{
    (void)state;
    static world w;
    mts_error error = {0};
    float weight[OUTPUTS * INPUTS];
    float bias[OUTPUTS];
    make_world(&w);
    const mts_logistic problem = problem_of(&w);
    assert_int_equal(mts_logistic_fit(&problem, weight, bias, mts_allocator_default(), &error),
                     MTS_STATUS_OK);
    assert_true(worst_difference(&w, weight, bias) < 0.01);
}

static void images_of_no_weight_have_no_say(void **state)
{
    (void)state;
    static world w;
    mts_error error = {0};
    float weight[OUTPUTS * INPUTS];
    float bias[OUTPUTS];
    make_world(&w);
    for (uint32_t i = 0; i < ROWS; i += 2) { /* nonsense */
        w.weights[i] = 0.0f;
        memset(&w.targets[i * OUTPUTS], 0, OUTPUTS * sizeof(float));
        w.targets[i * OUTPUTS + i / 2 % OUTPUTS] = 1.0f;
    }
    mts_logistic problem = problem_of(&w);
    assert_int_equal(mts_logistic_fit(&problem, weight, bias, mts_allocator_default(), &error),
                     MTS_STATUS_OK);
    assert_true(worst_difference(&w, weight, bias) < 0.01);
    problem.weights = NULL; /* now they have */
    assert_int_equal(mts_logistic_fit(&problem, weight, bias, mts_allocator_default(), &error),
                     MTS_STATUS_OK);
    assert_true(worst_difference(&w, weight, bias) > 0.05);
}

static void equal_problems_have_equal_answers(void **state)
{
    (void)state;
    static world w;
    mts_error error = {0};
    float weight[2][OUTPUTS * INPUTS];
    float bias[2][OUTPUTS];
    make_world(&w);
    const mts_logistic problem = problem_of(&w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mts_logistic_fit(&problem, weight[i], bias[i], mts_allocator_default(), &error),
                         MTS_STATUS_OK);
    }
    assert_memory_equal(weight[0], weight[1], sizeof weight[0]);
    assert_memory_equal(bias[0], bias[1], sizeof bias[0]);
}

static void images_without_any_weight_are_refused(void **state)
{
    (void)state;
    static world w;
    mts_error error = {0};
    float weight[OUTPUTS * INPUTS];
    float bias[OUTPUTS];
    make_world(&w);
    memset(w.weights, 0, sizeof w.weights);
    const mts_logistic problem = problem_of(&w);
    assert_int_equal(mts_logistic_fit(&problem, weight, bias, mts_allocator_default(), &error),
                     MTS_STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_valley_of_rosenbrock_is_followed_to_its_end),
        cmocka_unit_test(a_failing_function_ends_the_search_with_its_reason),
        cmocka_unit_test(a_start_that_is_no_number_is_refused),
        cmocka_unit_test(probabilities_that_a_layer_can_say_are_met),
        cmocka_unit_test(images_of_no_weight_have_no_say),
        cmocka_unit_test(equal_problems_have_equal_answers),
        cmocka_unit_test(images_without_any_weight_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

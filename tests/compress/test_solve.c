/*
 * Statistics of layers and the systems of equations made of them, against plain float64 computations.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compress/solve/gram.h"
#include "compress/solve/dense.h"
#include "compress/solve/linear.h"
#include "support/fault_allocator.h"

static uint32_t noise_state;

static double noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (double)(noise_state >> 8) / 8388608.0 - 1.0;
}

static float *noise_floats(size_t count)
{
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)noise();
    }
    return values;
}

static double *noise_doubles(size_t count)
{
    double *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = noise();
    }
    return values;
}

/* A convolution, its input and its targets. */
typedef struct problem {
    mts_attrs_conv attrs;
    mts_shape x_shape, y_shape;
    uint32_t images;
    float *x, *y;
} problem;

static problem problem_make(int64_t channels, int64_t height, int64_t width, int64_t targets, uint32_t images,
                            const mts_attrs_conv *attrs)
{
    problem p = {.attrs = *attrs, .images = images};
    int64_t out[2];
    const int64_t in[2] = {height, width};
    for (int i = 0; i < 2; i++) {
        out[i] = (in[i] + attrs->pad[i] + attrs->pad[i + 2] -
                  (int64_t)attrs->dilation[i] * (attrs->kernel[i] - 1) - 1) /
                     attrs->stride[i] +
                 1;
    }
    p.x_shape = mts_shape_make(4, (const int64_t[]){1, channels, height, width});
    p.y_shape = mts_shape_make(4, (const int64_t[]){1, targets, out[0], out[1]});
    p.x = noise_floats(images * mts_shape_count(&p.x_shape));
    p.y = noise_floats(images * mts_shape_count(&p.y_shape));
    return p;
}

static void problem_release(problem *p)
{
    free(p->x);
    free(p->y);
}

/* The receptive field of a pixel, element by element. */
static void field_read(const problem *p, uint32_t image, size_t pixel, double *row)
{
    const int64_t *d = p->x_shape.dims;
    const mts_attrs_conv *a = &p->attrs;
    const int64_t width = p->y_shape.dims[3];
    for (uint32_t ky = 0; ky < a->kernel[0]; ky++) {
        for (uint32_t kx = 0; kx < a->kernel[1]; kx++) {
            const int64_t y =
                (int64_t)pixel / width * a->stride[0] + (int64_t)ky * a->dilation[0] - a->pad[0];
            const int64_t x =
                (int64_t)pixel % width * a->stride[1] + (int64_t)kx * a->dilation[1] - a->pad[1];
            for (int64_t c = 0; c < d[1]; c++) {
                const bool inside = y >= 0 && y < d[2] && x >= 0 && x < d[3];
                *row++ = inside ? (double)p->x[((image * d[2] + y) * d[3] + x) * d[1] + c] : 0;
            }
        }
    }
}

/* Means and covariances about them, in two passes. */
static void problem_solve(const problem *p, uint32_t step, mts_gram *want, size_t n, size_t targets)
{
    const size_t pixels = (size_t)(p->y_shape.dims[2] * p->y_shape.dims[3]);
    double *row = malloc((n + targets) * sizeof *row);
    assert_non_null(row);
    for (int pass = 0; pass < 2; pass++) {
        want->rows = 0;
        for (uint32_t i = 0; i < p->images; i++) {
            for (size_t at = i % step; at < pixels; at += step) {
                field_read(p, i, at, row);
                for (size_t t = 0; t < targets; t++) {
                    row[n + t] = (double)p->y[(i * pixels + at) * targets + t];
                }
                want->rows++;
                for (size_t a = 0; a < n && pass == 0; a++) {
                    want->x[a] += row[a];
                }
                for (size_t t = 0; t < targets && pass == 0; t++) {
                    want->y[t] += row[n + t];
                }
                for (size_t a = 0; a < n && pass == 1; a++) {
                    for (size_t b = 0; b < n; b++) {
                        want->xx[a * n + b] += (row[a] - want->x[a]) * (row[b] - want->x[b]);
                    }
                    for (size_t t = 0; t < targets; t++) {
                        want->xy[t * n + a] += (row[a] - want->x[a]) * (row[n + t] - want->y[t]);
                    }
                }
                for (size_t t = 0; t < targets && pass == 1; t++) {
                    want->yy[t] += (row[n + t] - want->y[t]) * (row[n + t] - want->y[t]);
                }
            }
        }
        double *parts[] = {want->x, want->y, want->xx, want->xy, want->yy};
        const size_t counts[] = {n, targets, n * n, n * targets, targets};
        for (size_t k = pass == 0 ? 0 : 2; k < (pass == 0 ? 2u : 5u); k++) {
            for (size_t i = 0; i < counts[k]; i++) {
                parts[k][i] /= (double)want->rows;
            }
        }
    }
    free(row);
}

static void compare(const double *got, const double *want, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(got[i] - want[i]) < 2e-5)) {
            fail_msg("%s[%zu] is %.9g instead of %.9g", what, i, got[i], want[i]);
        }
    }
}

static void problem_check(const problem *p, uint32_t step)
{
    mts_gram got;
    mts_gram want;
    mts_error error = {0};
    const uint32_t n = (uint32_t)p->x_shape.dims[1] * p->attrs.kernel[0] * p->attrs.kernel[1];
    const uint32_t targets = (uint32_t)p->y_shape.dims[1];
    assert_true(mts_gram_init(&got, n, targets, 1, mts_allocator_default()));
    assert_true(mts_gram_init(&want, n, targets, 1, mts_allocator_default()));
    mts_gram_add(&got, p->x, &p->x_shape, &p->attrs, p->y, &p->y_shape, p->images, step);
    problem_solve(p, step, &want, n, targets);
    assert_int_equal(got.rows, want.rows);
    assert_int_equal(mts_gram_finish(&got, &error), MTS_STATUS_OK);
    compare(got.x, want.x, n, "x");
    compare(got.y, want.y, targets, "y");
    compare(got.xx, want.xx, (size_t)n * n, "xx");
    compare(got.xy, want.xy, (size_t)n * targets, "xy");
    compare(got.yy, want.yy, targets, "yy");
    mts_gram_release(&got);
    mts_gram_release(&want);
}

static void sums_of_every_kind_of_window_are_those_of_plain_loops(void **state)
{
    static const mts_attrs_conv kinds[] = {
        {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .group = 1},
        {.kernel = {3, 3}, .stride = {2, 2}, .dilation = {1, 1}, .pad = {0, 0, 1, 1}, .group = 1},
        {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1},
        {.kernel = {1, 1}, .stride = {2, 1}, .dilation = {1, 1}, .group = 1},
        {.kernel = {2, 3}, .stride = {1, 2}, .dilation = {3, 2}, .pad = {2, 3, 0, 4}, .group = 1},
        {.kernel = {1, 5}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {0, 7, 0, 7}, .group = 1},
    };
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (uint32_t step = 1; step < 8; step += 3) {
            noise_state = (uint32_t)k;
            problem p = problem_make(5, 9, 7, 3, 4, &kinds[k]);
            problem_check(&p, step);
            problem_release(&p);
        }
    }
}

static void sums_of_many_rows_and_columns_are_those_of_plain_loops(void **state)
{
    const mts_attrs_conv small = {
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {0}, .group = 1};
    const mts_attrs_conv wide = {
        .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .group = 1};
    (void)state;
    noise_state = 9;
    problem p = problem_make(3, 100, 101, 1, 2, &small); /* more rows than are added in float32 */
    problem_check(&p, 1);
    problem_check(&p, 3);
    problem_release(&p);
    p = problem_make(31, 10, 10, 130, 5, &wide); /* several panels, the last one narrow */
    problem_check(&p, 1);
    problem_release(&p);
}

static void statistics_of_one_row_or_with_nan_are_refused(void **state)
{
    const mts_attrs_conv attrs = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const float bad[] = {0, NAN, INFINITY, -INFINITY};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        mts_gram gram;
        mts_error error = {0};
        problem p = problem_make(2, 2, i == 0 ? 1 : 2, 2, 1, &attrs);
        p.y[1] = bad[i];
        assert_true(mts_gram_init(&gram, 2, 2, 1, mts_allocator_default()));
        mts_gram_add(&gram, p.x, &p.x_shape, &attrs, p.y, &p.y_shape, 1, i == 0 ? 2 : 1);
        assert_int_equal(mts_gram_finish(&gram, &error), MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(error.text, i == 0 ? "fewer than two rows" : "not finite"));
        mts_gram_release(&gram);
        problem_release(&p);
    }
}

static void sums_need_memory_and_say_so(void **state)
{
    mts_fault_allocator fault;
    mts_gram gram;
    bool made = false;
    (void)state;
    for (size_t at = 1; !made; at++) {
        assert_true(at < 20);
        mts_fault_allocator_init(&fault, at);
        made = mts_gram_init(&gram, 9, 4, 1, &fault.allocator);
        mts_gram_release(&gram);
        assert_int_equal(fault.alive, 0);
    }
    mts_fault_allocator_init(&fault, 0);
    assert_false(mts_gram_init(&gram, UINT32_MAX, UINT32_MAX, 1, &fault.allocator));
    mts_gram_release(&gram);
    assert_int_equal(fault.alive, 0);
}

/* A = M M' / n, which has full rank if `columns` is at least n. */
static double *positive_make(uint32_t n, uint32_t columns)
{
    double *m = noise_doubles((size_t)n * columns);
    double *a = malloc((size_t)n * n * sizeof *a);
    assert_non_null(a);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = 0;
            for (size_t k = 0; k < columns; k++) {
                a[i * n + j] += m[i * columns + k] * m[j * columns + k] / (double)n;
            }
        }
    }
    free(m);
    return a;
}

static double diagonal_mean(const double *a, uint32_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        mean += a[i * n + i] / (double)n;
    }
    return mean;
}

/* Largest |(A + r I) x - b - r x0|. */
static double residual(const double *a, uint32_t n, const double *x, const double *b, const double *x0,
                       double r)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double left = r * x[i] - b[i] - (x0 ? r * x0[i] : 0);
        for (size_t j = 0; j < n; j++) {
            left += a[i * n + j] * x[j];
        }
        worst = fmax(worst, fabs(left));
    }
    return worst;
}

/* The residual as a part of what rounding alone may leave (Higham 2002, theorem 10.4: a
   number near 1 or below, however ill the system is conditioned). */
static double backward_error(const double *a, uint32_t n, const double *x, const double *b, const double *x0,
                             double r)
{
    double largest_a = r, largest_x = 0, largest_b = 0;
    for (size_t i = 0; i < n; i++) {
        largest_x = fmax(largest_x, fabs(x[i]));
        largest_b = fmax(largest_b, fabs(b[i]) + (x0 ? r * fabs(x0[i]) : 0));
        for (size_t j = 0; j < n; j++) {
            largest_a = fmax(largest_a, fabs(a[i * n + j]));
        }
    }
    return residual(a, n, x, b, x0, r) / (DBL_EPSILON * n * (n * largest_a * largest_x + largest_b));
}

static void systems_are_solved_for_several_right_hand_sides_with_a_pull(void **state)
{
    static const uint32_t sizes[] = {1, 2, 7, 40, 64, 130, 257};
    (void)state;
    for (size_t s = 0; s < 7; s++) {
        for (int pull = 0; pull < 2; pull++) {
            const uint32_t n = sizes[s];
            const double ridge = pull ? 1e-2 : 0;
            double used = -1;
            mts_error error = {0};
            noise_state = n;
            double *a = positive_make(n, 2 * n);
            double *b = noise_doubles((size_t)n * 3);
            double *x0 = noise_doubles((size_t)n * 3);
            double *factored = malloc((size_t)n * n * sizeof *a);
            double *x = malloc((size_t)n * 3 * sizeof *x);
            assert_true(factored && x);
            memcpy(factored, a, (size_t)n * n * sizeof *a);
            memcpy(x, b, (size_t)n * 3 * sizeof *x);
            assert_int_equal(mts_solve_positive(factored, n, x, 3, pull ? x0 : NULL, ridge, &used, &error),
                             MTS_STATUS_OK);
            assert_true(fabs(used - ridge) < 1e-15);
            for (size_t k = 0; k < 3; k++) {
                assert_true(residual(a, n, x + k * n, b + k * n, pull ? x0 + k * n : NULL,
                                     ridge * diagonal_mean(a, n)) < 1e-9);
            }
            free(a);
            free(b);
            free(x0);
            free(factored);
            free(x);
        }
    }
}

static void the_ridge_grows_until_a_deficient_system_can_be_solved(void **state)
{
    const uint32_t n = 20;
    double used = -1;
    mts_error error = {0};
    (void)state;
    noise_state = 5;
    double *a = positive_make(n, 7); /* rank 7 */
    double *b = noise_doubles(n);
    double *factored = malloc((size_t)n * n * sizeof *a);
    double *x = malloc(n * sizeof *x);
    assert_true(factored && x);
    memcpy(factored, a, (size_t)n * n * sizeof *a);
    memcpy(x, b, n * sizeof *x);
    assert_int_equal(mts_solve_positive(factored, n, x, 1, b, 0, &used, &error), MTS_STATUS_OK);
    assert_true(used > 0 && used <= 1e-6);
    assert_true(backward_error(a, n, x, b, b, used * diagonal_mean(a, n)) < 1);

    /* One direction is negative: only a large ridge helps. */
    memset(factored, 0, (size_t)n * n * sizeof *a);
    for (size_t i = 0; i < n; i++) {
        factored[i * n + i] = i == 0 ? -0.05 : 1;
    }
    memcpy(x, b, n * sizeof *x);
    assert_int_equal(mts_solve_positive(factored, n, x, 1, NULL, 1e-3, &used, &error), MTS_STATUS_OK);
    assert_true(fabs(used - 0.1) < 1e-12);
    free(a);
    free(b);
    free(factored);
    free(x);
}

/* Larger than the blocks of a factor: a trial that fails leaves what the next one begins with. */
static void a_large_deficient_system_is_solved_as_a_small_one_is(void **state)
{
    static const uint32_t sizes[] = {65, 130, 200};
    (void)state;
    for (size_t s = 0; s < 3; s++) {
        const uint32_t n = sizes[s];
        double used = -1;
        mts_error error = {0};
        noise_state = n;
        double *a = positive_make(n, n - 30); /* of this rank */
        double *b = noise_doubles(n);
        double *factored = malloc((size_t)n * n * sizeof *a);
        double *x = malloc(n * sizeof *x);
        assert_true(factored && x);
        memcpy(factored, a, (size_t)n * n * sizeof *a);
        memcpy(x, b, n * sizeof *x);
        assert_int_equal(mts_solve_positive(factored, n, x, 1, b, 0, &used, &error), MTS_STATUS_OK);
        assert_true(used > 0 && used <= 1e-6);
        assert_true(backward_error(a, n, x, b, b, used * diagonal_mean(a, n)) < 1);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < i; j++) { /* the lower triangle is as it was */
                assert_true(factored[i * n + j] == a[i * n + j]);
            }
        }
        free(a);
        free(b);
        free(factored);
        free(x);
    }
}

static void systems_that_say_nothing_are_refused(void **state)
{
    double zero[4] = {0, 0, 0, 0};
    double negative[4] = {1, 0, 0, -0.5};
    double strange[4] = {1, 0, NAN, 1};
    double endless[4] = {INFINITY, 0, 0, 1};
    double fine[4] = {1, 0, 0, 1};
    double *const systems[] = {zero, negative, strange, endless};
    mts_error error = {0};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        double b[2] = {1, 2};
        assert_int_equal(mts_solve_positive(systems[i], 2, b, 1, NULL, 0, NULL, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(error.text, "singular statistics"));
    }
    double b[2] = {1, NAN};
    assert_int_equal(mts_solve_positive(fine, 2, b, 1, NULL, 0, NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_solve_positive(zero, 0, b, 0, NULL, 0, NULL, &error), MTS_STATUS_OK);
}

/* MTZ merges two filters by w_A - H_A^-1 (H_A^-1 + H_B^-1)^-1 (w_A - w_B); zipping solves (H_A + H_B) w = H_A
 * w_A + H_B w_B, which is the same for two and right for more. */
static void merging_two_filters_gives_what_was_published(void **state)
{
    const uint32_t n = 19;
    mts_error error = {0};
    (void)state;
    noise_state = 8;
    double *a = positive_make(n, 40);
    double *b = positive_make(n, 30);
    double *wa = noise_doubles(n);
    double *wb = noise_doubles(n);
    double sum[19 * 19], merged[19] = {0}, d[19], half[19], published[19], copy[19 * 19];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            sum[i * n + j] = a[i * n + j] + b[i * n + j];
            merged[i] += a[i * n + j] * wa[j] + b[i * n + j] * wb[j];
        }
        d[i] = wa[i] - wb[i];
    }
    memcpy(copy, sum, sizeof copy);
    assert_int_equal(mts_solve_positive(copy, n, merged, 1, NULL, 0, NULL, &error), MTS_STATUS_OK);
    /* H_A^-1 (H_A^-1 + H_B^-1)^-1 d = (H_A + H_B)^-1 H_B d */
    for (size_t i = 0; i < n; i++) {
        half[i] = 0;
        for (size_t j = 0; j < n; j++) {
            half[i] += b[i * n + j] * d[j];
        }
    }
    memcpy(copy, sum, sizeof copy);
    assert_int_equal(mts_solve_positive(copy, n, half, 1, NULL, 0, NULL, &error), MTS_STATUS_OK);
    for (size_t i = 0; i < n; i++) {
        published[i] = wa[i] - half[i];
        assert_true(fabs(published[i] - merged[i]) < 1e-9);
    }
    free(a);
    free(b);
    free(wa);
    free(wb);
}

/* Sizes around those of tiles and blocks, operands that lie in both orders. */
static void products_of_any_size_and_order_are_those_of_plain_loops(void **state)
{
    static const size_t sizes[][3] = {{1, 1, 1}, {8, 16, 4}, {9, 17, 193}, {49, 97, 3}, {50, 113, 200}};
    (void)state;
    for (size_t s = 0; s < 5; s++) {
        for (unsigned turned = 0; turned < 4; turned++) {
            const size_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2], stride = n + 3;
            noise_state = (uint32_t)(s + 1);
            double *a = noise_doubles(m * k), *b = noise_doubles(k * n), *out = noise_doubles(m * stride);
            double *before = malloc(m * stride * sizeof *before);
            assert_non_null(before);
            memcpy(before, out, m * stride * sizeof *before);
            const mts_dense left = {a, turned & 1 ? 1 : k, turned & 1 ? m : 1};
            const mts_dense right = {b, turned & 2 ? 1 : n, turned & 2 ? k : 1};
            mts_dense_add(m, n, k, -0.5, left, right, out, stride);
            for (size_t i = 0; i < m; i++) {
                for (size_t j = 0; j < stride; j++) {
                    double wanted = before[i * stride + j];
                    for (size_t p = 0; p < k && j < n; p++) {
                        wanted -=
                            0.5 * a[i * left.row + p * left.column] * b[p * right.row + j * right.column];
                    }
                    assert_true(fabs(out[i * stride + j] - wanted) < 1e-12 * (double)(k + 1));
                }
            }
            free(a);
            free(b);
            free(out);
            free(before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_every_kind_of_window_are_those_of_plain_loops),
        cmocka_unit_test(sums_of_many_rows_and_columns_are_those_of_plain_loops),
        cmocka_unit_test(statistics_of_one_row_or_with_nan_are_refused),
        cmocka_unit_test(sums_need_memory_and_say_so),
        cmocka_unit_test(systems_are_solved_for_several_right_hand_sides_with_a_pull),
        cmocka_unit_test(the_ridge_grows_until_a_deficient_system_can_be_solved),
        cmocka_unit_test(a_large_deficient_system_is_solved_as_a_small_one_is),
        cmocka_unit_test(systems_that_say_nothing_are_refused),
        cmocka_unit_test(products_of_any_size_and_order_are_those_of_plain_loops),
        cmocka_unit_test(merging_two_filters_gives_what_was_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_low_rank.c: adapters that were merged into weights are found again: the decomposition, the
 * ancestor of several matrices, and bundles.
 */
#include "zip_fixture.h"

#include "compress/solve/low_rank.h"
#include "compress/zip/ancestor.h"
#include "support/fault_allocator.h"

static uint32_t noise_state = 7;

static float noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (float)(noise_state >> 8) / 8388608.0f - 1.0f;
}

static void fill(float *numbers, size_t count, float size)
{
    for (size_t i = 0; i < count; i++) {
        numbers[i] = size * noise();
    }
}

/* weight += left right of this rank, as an adapter is merged. */
static void merge(float *weight, uint32_t rows, uint32_t columns, uint32_t rank, float size)
{
    float left[64 * 8], right[8 * 288];
    assert_true(rows <= 64 && columns <= 288 && rank <= 8);
    fill(left, (size_t)rows * rank, size);
    fill(right, (size_t)columns * rank, 1.0f);
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            double sum = (double)weight[r * columns + c];
            for (uint32_t k = 0; k < rank; k++) {
                sum += (double)left[r * rank + k] * (double)right[k * columns + c];
            }
            weight[r * columns + c] = (float)sum;
        }
    }
}

/* ---- the decomposition ---- */

static double off_identity(const double *vectors, uint32_t count, uint32_t length, size_t step, size_t next)
{
    double most = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            double sum = i == j ? -1.0 : 0.0;
            for (uint32_t k = 0; k < length; k++) {
                sum += vectors[i * step + k * next] * vectors[j * step + k * next];
            }
            most = fmax(most, fabs(sum));
        }
    }
    return most;
}

static double reconstruction(const double *matrix, const mts_low_rank *d)
{
    double squares = 0.0;
    for (uint32_t r = 0; r < d->rows; r++) {
        for (uint32_t c = 0; c < d->columns; c++) {
            double rest = matrix[(size_t)r * d->columns + c];
            for (uint32_t k = 0; k < d->rank; k++) {
                rest -= d->left[(size_t)r * d->rank + k] * d->sigma[k] * d->right[(size_t)k * d->columns + c];
            }
            squares += rest * rest;
        }
    }
    return sqrt(squares);
}

static void a_decomposition_is_orthonormal_and_says_what_it_leaves(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{48, 200}, {64, 20}, {30, 30}, {1, 9}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t rows = sizes[i][0], columns = sizes[i][1];
        const uint32_t whole = rows < columns ? rows : columns;
        double matrix[64 * 288];
        mts_arena arena;
        mts_low_rank d;
        mts_error error;
        mts_arena_init(&arena, mts_allocator_default());
        for (uint32_t k = 0; k < rows * columns; k++) {
            matrix[k] = (double)noise();
        }
        for (uint32_t most = 1; most <= whole; most += 9) { /* noise: no rank is enough but the whole */
            assert_int_equal(mts_low_rank_find(matrix, rows, columns, 1e-9, most, &arena, &d, &error),
                             MTS_STATUS_OK);
            assert_int_equal(d.rank, most);
            assert_true(fabs(d.error - reconstruction(matrix, &d)) < 1e-9);
            assert_true(off_identity(d.left, d.rank, rows, 1, d.rank) < 1e-12);
            assert_true(off_identity(d.right, d.rank, columns, columns, 1) < 1e-12);
        }
        assert_int_equal(mts_svd(matrix, rows, columns, &arena, &d, &error), MTS_STATUS_OK);
        assert_true(reconstruction(matrix, &d) < 1e-12 * (double)rows * (double)columns);
        matrix[0] = (double)NAN;
        assert_int_equal(mts_low_rank_find(matrix, rows, columns, 1e-9, 1, &arena, &d, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_int_equal(mts_svd(matrix, rows, columns, &arena, &d, &error), MTS_STATUS_INVALID_ARGUMENT);
        mts_arena_release(&arena);
    }
}

static void the_least_rank_within_the_limit_is_taken(void **state)
{
    (void)state;
    float weight[48 * 200] = {0};
    double matrix[48 * 200];
    mts_arena arena;
    mts_low_rank d;
    mts_error error;
    mts_arena_init(&arena, mts_allocator_default());
    merge(weight, 48, 200, 5, 1.0f);
    for (size_t i = 0; i < sizeof weight / sizeof weight[0]; i++) {
        matrix[i] = (double)weight[i];
    }
    const double norm = mts_matrix_norm(matrix, 48 * 200);
    assert_int_equal(mts_low_rank_find(matrix, 48, 200, 1e-6 * norm, 48, &arena, &d, &error), MTS_STATUS_OK);
    assert_int_equal(d.rank, 5);
    assert_true(d.error < 1e-6 * norm); /* what float32 rounds */
    assert_int_equal(mts_low_rank_find(matrix, 48, 200, 2.0 * norm, 48, &arena, &d, &error), MTS_STATUS_OK);
    assert_int_equal(d.rank, 0);
    assert_true(fabs(d.error - norm) < 1e-9);
    assert_int_equal(mts_low_rank_find(matrix, 48, 200, 1e-6 * norm, 3, &arena, &d, &error), MTS_STATUS_OK);
    assert_int_equal(d.rank, 3);
    assert_true(d.error > 1e-2 * norm);
    mts_arena_release(&arena);
}

/* ---- the ancestor ---- */

#define ROWS 40u
#define COLUMNS 144u
#define CELLS ((size_t)ROWS * COLUMNS)
#define MATRICES 4u

static float ancestor[CELLS], merged[MATRICES][CELLS];

static mts_ancestor find(uint32_t count, uint32_t base, uint32_t rank, mts_arena *arena)
{
    const mts_ancestor_options how = {.tolerance = 1e-5, .rank = rank, .base = base};
    const float *matrices[MATRICES];
    mts_ancestor found;
    mts_error error;
    for (uint32_t t = 0; t < count; t++) {
        matrices[t] = merged[t];
    }
    mts_arena_init(arena, mts_allocator_default());
    assert_int_equal(mts_ancestor_find(matrices, count, ROWS, COLUMNS, &how, mts_allocator_default(), arena,
                                       &found, &error),
                     MTS_STATUS_OK);
    return found;
}

static void make_matrices(uint32_t rank)
{
    fill(ancestor, CELLS, 0.1f);
    for (uint32_t t = 0; t < MATRICES; t++) {
        memcpy(merged[t], ancestor, sizeof ancestor);
        merge(merged[t], ROWS, COLUMNS, rank, 0.02f);
    }
}

static double distance(const float *a, const float *b)
{
    double squares = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
        squares += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    }
    return sqrt(squares);
}

static void an_ancestor_that_no_matrix_is_is_found_exactly(void **state)
{
    (void)state;
    mts_arena arena;
    make_matrices(4);
    const mts_ancestor found = find(MATRICES, MTS_NONE, 14, &arena);
    assert_true(distance(found.base, ancestor) < 1e-4 * distance(merged[0], ancestor));
    for (uint32_t t = 0; t < MATRICES; t++) {
        assert_true(found.differences[t].fits);
        assert_int_equal(found.differences[t].rank, 4);
        assert_true(found.differences[t].deviation < 1e-6);
    }
    assert_int_equal(found.numbers, CELLS + MATRICES * 4 * (ROWS + COLUMNS));
    mts_arena_release(&arena);
}

static void two_matrices_have_one_of_them_as_base(void **state)
{
    (void)state;
    mts_arena arena;
    make_matrices(4);
    mts_ancestor found = find(2, MTS_NONE, 14, &arena);
    assert_ptr_equal(found.base, merged[0]);
    assert_int_equal(found.differences[0].rank, 0);
    assert_true(found.differences[0].deviation <= 0.0);
    assert_int_equal(found.differences[1].rank, 8);
    mts_arena_release(&arena);
    found = find(2, 1, 14, &arena);
    assert_ptr_equal(found.base, merged[1]);
    assert_int_equal(found.differences[0].rank, 8);
    mts_arena_release(&arena);
}

static void a_matrix_that_is_the_ancestor_keeps_its_bits(void **state)
{
    (void)state;
    mts_arena arena;
    make_matrices(3);
    memcpy(merged[2], ancestor, sizeof ancestor);
    const mts_ancestor found = find(MATRICES, MTS_NONE, 14, &arena);
    assert_ptr_equal(found.base, merged[2]);
    assert_int_equal(found.numbers, CELLS + 3 * 3 * (ROWS + COLUMNS));
    mts_arena_release(&arena);
}

static void noise_has_no_low_rank(void **state)
{
    (void)state;
    mts_arena arena;
    make_matrices(4);
    for (size_t i = 0; i < CELLS; i++) {
        merged[1][i] += 0.001f * noise();
    }
    mts_ancestor found = find(2, MTS_NONE, 14, &arena);
    assert_false(found.differences[1].fits);
    assert_int_equal(found.numbers, 2 * CELLS);
    assert_true(found.differences[1].deviation > 1e-3);
    mts_arena_release(&arena);
    found = find(MATRICES, MTS_NONE, 14, &arena); /* the others still have theirs */
    assert_false(found.differences[1].fits);
    assert_true(found.differences[0].fits && found.differences[2].fits && found.differences[3].fits);
    assert_int_equal(found.numbers, 2 * CELLS + 3 * 4 * (ROWS + COLUMNS));
    mts_arena_release(&arena);
}

static void memory_may_be_short_at_any_time(void **state)
{
    (void)state;
    const mts_ancestor_options how = {.tolerance = 1e-5, .rank = 14, .base = MTS_NONE};
    const float *matrices[MATRICES] = {merged[0], merged[1], merged[2], merged[3]};
    uint32_t refused = 0;
    make_matrices(4);
    for (uint32_t call = 1;; call++) {
        mts_fault_allocator faults;
        mts_arena arena;
        mts_ancestor found;
        mts_error error;
        mts_fault_allocator_init(&faults, call);
        const mts_allocator *allocator = &faults.allocator;
        mts_arena_init(&arena, allocator);
        const mts_status status =
            mts_ancestor_find(matrices, MATRICES, ROWS, COLUMNS, &how, allocator, &arena, &found, &error);
        mts_arena_release(&arena);
        assert_int_equal(faults.alive, 0);
        if (status == MTS_STATUS_OK) {
            break;
        }
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        refused++;
    }
    assert_true(refused > 20);
}

/* ---- bundles ---- */

#define TASKS 4u

static const char *const names[TASKS] = {"base", "one", "two", "three"};
static uint32_t layers_told, refused_told, rank_told;
static double deviation_told;

static void count_low_rank(void *context, const mtsz_zip_layer *layer)
{
    (void)context;
    layers_told++;
    refused_told += layer->rolled_back ? 1 : 0;
    rank_told = !layer->rolled_back && layer->rank > rank_told ? layer->rank : rank_told;
    deviation_told = !layer->rolled_back ? fmax(deviation_told, layer->deviation) : deviation_told;
    assert_non_null(layer->name);
    assert_non_null(layer->task);
}

static void conv(onnx_model *net, const char *inputs, const char *output, int64_t kernel, int64_t stride)
{
    const int64_t pad = kernel / 2;
    onnx_model_node(net, "Conv", inputs, output);
    onnx_model_attr_ints(net, "pads", 4, (const int64_t[]){pad, pad, pad, pad});
    onnx_model_attr_ints(net, "strides", 2, (const int64_t[]){stride, stride});
}

/*
 * A stem that all tasks have; a convolution 3x3 and one of 1x1 with a residual, both with merged
 * adapters; scales, and a head, of the task's own. `rank` 0: as pretrained; `noisy`: fine-tuned.
 */
static void write_task(uint32_t t, uint32_t rank, bool noisy)
{
    static float stem[16 * 27], mid[32 * 144], point[32 * 32], gains[32], head[5 * 32], bias[32];
    onnx_model net;
    noise_state = 11;
    fill(stem, 16 * 27, 0.4f);
    fill(mid, 32 * 144, 0.15f);
    fill(point, 32 * 32, 0.2f);
    noise_state = 100 + t;
    merge(mid, 32, 144, rank, 0.02f);
    merge(point, 32, 32, rank / 2, 0.03f);
    for (size_t i = 0; noisy && i < 32 * 144; i++) {
        mid[i] += 0.01f * noise();
    }
    for (size_t i = 0; noisy && i < 32 * 32; i++) {
        point[i] += 0.01f * noise();
    }
    fill(head, 5 * 32, 0.5f);
    fill(bias, 32, 0.3f);
    for (size_t i = 0; i < 32; i++) {
        gains[i] = 1.0f + 0.2f * noise();
    }
    onnx_model_begin(&net, 13);
    onnx_model_input(&net, "x", ONNX_FLOAT, 4, (const int64_t[]){1, 3, 32, 32});
    onnx_model_floats(&net, "w0", 4, (const int64_t[]){16, 3, 3, 3}, stem);
    onnx_model_floats(&net, "w1", 4, (const int64_t[]){32, 16, 3, 3}, mid);
    onnx_model_floats(&net, "w2", 4, (const int64_t[]){32, 32, 1, 1}, point);
    onnx_model_floats(&net, "b", 1, (const int64_t[]){32}, bias);
    onnx_model_floats(&net, "g", 4, (const int64_t[]){1, 32, 1, 1}, gains);
    onnx_model_floats(&net, "w3", 2, (const int64_t[]){5, 32}, head);
    conv(&net, "x,w0", "s", 3, 2);
    onnx_model_node(&net, "Relu", "s", "s1");
    conv(&net, "s1,w1", "m", 3, 2);
    onnx_model_node(&net, "Mul", "m,g", "m1");
    onnx_model_node(&net, "Relu", "m1", "m2");
    conv(&net, "m2,w2,b", "p", 1, 1);
    onnx_model_node(&net, "Add", "p,m2", "p1");
    onnx_model_node(&net, "Relu", "p1", "p2");
    onnx_model_node(&net, "GlobalAveragePool", "p2", "q");
    onnx_model_node(&net, "Flatten", "q", "f");
    onnx_model_node(&net, "Gemm", "f,w3", "y");
    onnx_model_attr_int(&net, "transB", 1);
    onnx_model_output(&net, "y");
    const onnx_bytes *file = onnx_model_file(&net);
    assert_int_equal(mtsc_file_write(model, file->data, file->size, NULL), MTS_STATUS_OK);
    onnx_model_end(&net);
}

/* Tasks `first` to `first + count` of the names; the one named "base" has no adapter. Returns the bytes of the
   weights. */
static uint64_t write_bundle(const char *path, uint32_t first, uint32_t count, bool noisy)
{
    mtsc_compiler *compiler = NULL;
    mtsc_summary summary = {.size = sizeof summary};
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    for (uint32_t t = first; t < first + count; t++) {
        mtsc_task task;
        mtsc_task_default(&task);
        write_task(t, t ? 4 : 0, noisy);
        task.name = names[t];
        task.model = model;
        task.color = MTSC_COLOR_RGB;
        assert_int_equal(mtsc_compiler_add(compiler, &task), MTS_STATUS_OK);
    }
    assert_int_equal(mtsc_compiler_write(compiler, path, &summary), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
    return summary.weights_bytes;
}

static mtsz_zip_options low_rank_options(double tolerance)
{
    mtsz_zip_options zip;
    mtsz_zip_options_default(&zip);
    zip.low_rank = tolerance;
    zip.layer = count_low_rank;
    layers_told = refused_told = rank_told = 0;
    deviation_told = 0.0;
    return zip;
}

static void expect_same_answers(uint32_t first, uint32_t count, double most)
{
    for (uint32_t t = first; t < first + count; t++) {
        float before[8], after[8];
        double size = 0.0;
        assert_int_equal(answer(original, names[t], 3, before, 8), 5);
        assert_int_equal(answer(zipped, names[t], 3, after, 8), 5);
        for (uint32_t i = 0; i < 5; i++) {
            size = fmax(size, fabs((double)before[i]));
        }
        for (uint32_t i = 0; i < 5; i++) {
            assert_true(fabs((double)before[i] - (double)after[i]) <= most * size);
        }
    }
}

static void merged_adapters_become_low_rank_parts_of_one_weight(void **state)
{
    (void)state;
    mtsz_zip_report report = {.size = sizeof report};
    const uint64_t before = write_bundle(original, 1, 3, false);
    mtsz_zip_options zip = low_rank_options(1e-5);
    if (mtsz_zip(original, NULL, &zip, zipped, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    /* the 3x3 convolution; half of the 1x1's numbers are rank 8 of 32x32: its rank 2 pays too */
    assert_int_equal(report.layers, 3); /* and the head, which is private */
    assert_int_equal(report.zipped, 2);
    assert_int_equal(layers_told, 3);
    assert_int_equal(refused_told, 1);
    assert_int_equal(report.rank, 4);
    assert_int_equal(rank_told, 4);
    assert_true(report.deviation < 1e-6 && report.deviation >= deviation_told);
    assert_true(report.change < 0.0); /* not measured */
    const uint64_t adapters = 3u * (4u * (32 + 144) + 2u * (32 + 32));
    const uint64_t copies = 2u * (32 * 144 + 32 * 32);
    assert_int_equal(report.summary.weights_bytes, before - sizeof(float) * (copies - adapters));
    expect_same_answers(1, 3, 2e-6);
}

static void a_task_without_adapter_is_the_base_and_keeps_its_bits(void **state)
{
    (void)state;
    mtsz_zip_report report = {.size = sizeof report};
    write_bundle(original, 0, TASKS, false);
    mtsz_zip_options zip = low_rank_options(1e-5);
    if (mtsz_zip(original, &data, &zip, zipped, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    assert_int_equal(report.zipped, 2);
    assert_true(report.change >= 0.0 && report.change_worst <= 2.0); /* of 96 images: one at most */
    expect_same_answers(0, 1, 0.0);
    expect_same_answers(1, 3, 2e-6);
    zip.base = names + 2; /* another one: differences have twice the rank, and pay in the 3x3 alone */
    zip.base_count = 1;
    if (mtsz_zip(original, NULL, &zip, zipped, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    assert_int_equal(report.rank, 8);
    expect_same_answers(2, 1, 0.0);
    expect_same_answers(0, TASKS, 2e-6);
}

static void fine_tuned_weights_are_refused_with_the_closest_layer(void **state)
{
    (void)state;
    write_bundle(original, 0, TASKS, true);
    mtsz_zip_options zip = low_rank_options(1e-5);
    expect_refused(MTS_STATUS_LIMIT, original, NULL, &zip,
                   "no layer's weights differ by a matrix of low rank");
    assert_non_null(strstr(sentence, "the tolerance is 1e-05"));
    write_bundle(original, 1, 3, false);
    zip.max_rank = 1;
    expect_refused(MTS_STATUS_LIMIT, original, NULL, &zip, "rank 1 leaves");
    const char *const head[] = {"Conv_s"};
    zip.layers = head;
    zip.layer_count = 1;
    expect_refused(MTS_STATUS_LIMIT, original, NULL, &zip, "among those that `layers` names");
}

static void what_low_rank_cannot_do_is_refused(void **state)
{
    (void)state;
    static const double wrong[] = {-1e-3, 1.0, 7.0, (double)NAN, (double)INFINITY};
    mtsz_zip_options zip;
    write_bundle(original, 1, 3, false);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        zip = low_rank_options(wrong[i]);
        expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip,
                       "low_rank is not a relative error");
    }
    zip = low_rank_options(1e-5);
    zip.retrain_seconds = 1.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "retrain_seconds does not go with");
    zip = low_rank_options(1e-5);
    zip.max_change = 1.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, NULL, &zip, "max_change needs images");
    zip = low_rank_options(1e-5);
    zip.base = names + 1;
    zip.base_count = 2;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, NULL, &zip, "one task as base");
    zip.base = names;
    zip.base_count = 1;
    expect_refused(MTS_STATUS_NOT_FOUND, original, NULL, &zip, "base: 'base' is none of the tasks");
    const char *const twice[] = {"one", "one"};
    zip = low_rank_options(1e-5);
    zip.tasks = twice;
    zip.task_count = 2;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, NULL, &zip, "named twice");
    zip.task_count = 1;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, NULL, &zip, "2 to 64 tasks");
    zip = low_rank_options(0.9); /* takes far too much away, which the images show */
    zip.max_change = 0.0;
    expect_refused(MTS_STATUS_LIMIT, original, &data, &zip, "and max_change is 0 %");
    zip = low_rank_options(1e-5);
    assert_int_equal(mtsz_zip(original, NULL, &zip, original, &options, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsz_zip("nowhere.mtsb", NULL, &zip, zipped, &options, NULL), MTS_STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decomposition_is_orthonormal_and_says_what_it_leaves),
        cmocka_unit_test(the_least_rank_within_the_limit_is_taken),
        cmocka_unit_test(an_ancestor_that_no_matrix_is_is_found_exactly),
        cmocka_unit_test(two_matrices_have_one_of_them_as_base),
        cmocka_unit_test(a_matrix_that_is_the_ancestor_keeps_its_bits),
        cmocka_unit_test(noise_has_no_low_rank),
        cmocka_unit_test(memory_may_be_short_at_any_time),
        cmocka_unit_test(merged_adapters_become_low_rank_parts_of_one_weight),
        cmocka_unit_test(a_task_without_adapter_is_the_base_and_keeps_its_bits),
        cmocka_unit_test(fine_tuned_weights_are_refused_with_the_closest_layer),
        cmocka_unit_test(what_low_rank_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

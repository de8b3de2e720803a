/*
 * Calibration data: what reaches a network's inputs, from images and from tensors, and what is refused.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compress/data/data.h"
#include "support/fault_allocator.h"

#define IMAGES 6u
#define ALL_BYTES (UINT64_C(1) << 30)

static mts_arena arena;
static mts_error error;

/* What the callbacks saw. */
typedef struct source {
    uint32_t fetched[IMAGES], fail_at; /* times an image was asked for; this one cannot be had */
    uint32_t sizes;                    /* bits: width 4, width 5 */
    float poison;
    size_t poison_at;
    int busy; /* callbacks that run */
    int together;
} source;

static unsigned char pixel(uint32_t image, uint32_t y, uint32_t x, uint32_t c)
{
    return (unsigned char)(image * 71 + y * 37 + x * 11 + c * 90 + 5);
}

static int give_image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    source *from = context;
    from->together += ++from->busy > 1;
    from->fetched[index]++;
    from->sizes |= width == 4 ? 1u : 2u;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                *rgb++ = pixel(index, y, x, c);
            }
        }
    }
    from->busy--;
    return from->fail_at == index + 1;
}

static int give_tensor(void *context, uint32_t index, const char *task, uint32_t input, float *out,
                       size_t count)
{
    source *from = context;
    from->fetched[index]++;
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)(1000 * index + 100 * input + i);
    }
    if (from->poison_at < count) {
        out[from->poison_at] = from->poison;
    }
    assert_non_null(task);
    return from->fail_at == index + 1;
}

static mtsz_data data_of(source *from)
{
    mtsz_data data;
    mtsz_data_default(&data);
    data.count = IMAGES;
    data.context = from;
    data.image = give_image;
    return data;
}

/* A task whose graph has nothing but inputs. */
static mts_task task_of(const char *name, uint32_t color, uint32_t interleaved, uint32_t rank,
                        const int64_t *dims)
{
    mts_task task = {.name = name, .graph = mts_graph_create(&arena, name)};
    const mts_shape shape = mts_shape_make(rank, dims);
    assert_non_null(task.graph);
    task.preprocess = (mts_preprocess){
        .color = color, .interleaved = interleaved, .mean = {10, 20, 30, 0}, .std = {2, 4, 8, 1}};
    assert_int_not_equal(mts_graph_add_input(task.graph, "x", MTS_TYPE_FLOAT32, &shape), MTS_NONE);
    return task;
}

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    error = (mts_error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

static mts_data *create(const mtsz_data *from, const mts_task *tasks, uint32_t count, uint64_t memory)
{
    mts_data *data = NULL;
    if (mts_data_create(from, tasks, count, memory, mts_allocator_default(), &data, &error) !=
        MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(mts_data_count(data), IMAGES);
    return data;
}

/* What an image network computes with: channel c of a pixel. */
static float expected(const mts_task *task, uint32_t image, uint32_t y, uint32_t x, uint32_t c)
{
    const mts_preprocess *p = &task->preprocess;
    if (p->color == MTS_COLOR_GREY) {
        const double luma =
            0.299 * pixel(image, y, x, 0) + 0.587 * pixel(image, y, x, 1) + 0.114 * pixel(image, y, x, 2);
        return (float)((luma - (double)p->mean[0]) / (double)p->std[0]);
    }
    const uint32_t from = p->color == MTS_COLOR_BGR ? 2 - c : c;
    return ((float)pixel(image, y, x, from) - p->mean[c]) / p->std[c];
}

static void near(float got, float want)
{
    if (!(fabsf(got - want) < 1e-4f)) {
        fail_msg("%g instead of %g", (double)got, (double)want);
    }
}

static void images_have_the_colour_mean_and_scale_of_their_task(void **state)
{
    source from = {0};
    const mtsz_data given = data_of(&from);
    const uint32_t indices[] = {3, 0};
    const mts_task tasks[] = {
        task_of("rgb", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4}),
        task_of("bgr", MTS_COLOR_BGR, 0, 4, (const int64_t[]){1, 3, 3, 4}),
        task_of("grey", MTS_COLOR_GREY, 0, 4, (const int64_t[]){1, 1, 2, 5}),
    };
    (void)state;
    mts_data *data = create(&given, tasks, 3, ALL_BYTES);
    for (uint32_t t = 0; t < 3; t++) {
        const int64_t *d = tasks[t].graph->inputs[0].shape.dims;
        float out[2 * 36];
        const float *at = out;
        assert_int_equal(mts_data_fill(data, t, 0, indices, 2, NULL, out, &error), MTS_STATUS_OK);
        for (uint32_t i = 0; i < 2; i++) {
            for (uint32_t y = 0; y < d[2]; y++) {
                for (uint32_t x = 0; x < d[3]; x++) {
                    for (uint32_t c = 0; c < d[1]; c++) {
                        near(*at++, expected(&tasks[t], indices[i], y, x, c));
                    }
                }
            }
        }
    }
    assert_int_equal(from.fetched[3], 3); /* once for each preprocessing */
    assert_int_equal(from.fetched[1], 0);
    mts_data_destroy(&data);
    assert_null(data);
}

static void an_input_that_ends_with_channels_lies_as_its_dimensions_say(void **state)
{
    source from = {0};
    const mtsz_data given = data_of(&from);
    const uint32_t index = 2;
    const mts_task task = task_of("nhwc", MTS_COLOR_RGB, 1, 4, (const int64_t[]){1, 2, 4, 3});
    float out[24];
    (void)state;
    mts_data *data = create(&given, &task, 1, ALL_BYTES);
    assert_int_equal(mts_data_fill(data, 0, 0, &index, 1, NULL, out, &error), MTS_STATUS_OK);
    /* dims [1,A,B,D] lie as [B][D][A], here A: rows, B: columns, D: colours */
    for (uint32_t y = 0; y < 2; y++) {
        for (uint32_t x = 0; x < 4; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                near(out[(x * 3 + c) * 2 + y], expected(&task, index, y, x, c));
            }
        }
    }
    mts_data_destroy(&data);
}

static void images_are_mirrored_and_then_moved_with_their_edge_repeated(void **state)
{
    source from = {0};
    const mtsz_data given = data_of(&from);
    const mts_task task = task_of("t", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4});
    static const mts_data_change changes[] = {{false, 0, 0},     {true, 0, 0},
                                              {false, 1, -2},    {true, -3, 1},
                                              {true, 100, -100}, {false, INT32_MIN, INT32_MAX}};
    const uint32_t indices[] = {0, 1, 2, 3, 4, 5};
    float out[6 * 36];
    (void)state;
    mts_data *data = create(&given, &task, 1, ALL_BYTES);
    assert_true(mts_data_changes(data, 0));
    assert_int_equal(mts_data_fill(data, 0, 0, indices, 6, changes, out, &error), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 6; i++) {
        for (int64_t y = 0; y < 3; y++) {
            for (int64_t x = 0; x < 4; x++) {
                int64_t row = y - changes[i].down;
                int64_t column = x - changes[i].right;
                row = row < 0 ? 0 : row > 2 ? 2 : row;
                column = column < 0 ? 0 : column > 3 ? 3 : column;
                column = changes[i].mirror ? 3 - column : column;
                for (uint32_t c = 0; c < 3; c++) {
                    near(out[i * 36 + (y * 4 + x) * 3 + c],
                         expected(&task, i, (uint32_t)row, (uint32_t)column, c));
                }
            }
        }
    }
    mts_data_destroy(&data);
}

static void images_beyond_the_memory_are_fetched_anew_and_are_the_same(void **state)
{
    source from = {0};
    const mtsz_data given = data_of(&from);
    const mts_task task = task_of("t", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4});
    const uint32_t indices[] = {0, 1, 2, 3, 4, 5};
    float all[6 * 36];
    float some[6 * 36];
    (void)state;
    mts_data *data = create(&given, &task, 1, ALL_BYTES);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(mts_data_fill(data, 0, 0, indices, 6, NULL, all, &error), MTS_STATUS_OK);
    }
    assert_int_equal(from.fetched[5], 1);
    mts_data_destroy(&data);
    memset(&from, 0, sizeof from);
    data = create(&given, &task, 1, 4 * (2 * 36 + 35)); /* two and a bit */
    for (int round = 0; round < 3; round++) {
        assert_int_equal(mts_data_fill(data, 0, 0, indices, 6, NULL, some, &error), MTS_STATUS_OK);
        assert_memory_equal(all, some, sizeof all);
    }
    assert_int_equal(from.fetched[1], 1);
    assert_int_equal(from.fetched[2], 3);
    mts_data_destroy(&data);
}

static void tensors_go_to_their_input_with_channels_innermost(void **state)
{
    source from = {.poison_at = SIZE_MAX};
    mtsz_data given = data_of(&from);
    const uint32_t indices[] = {4, 1};
    const mts_task tasks[] = {
        task_of("four", MTS_COLOR_NONE, 0, 4, (const int64_t[]){2, 3, 2, 2}),
        task_of("two", MTS_COLOR_NONE, 0, 2, (const int64_t[]){1, 5}),
    };
    const mts_shape second = mts_shape_make(1, (const int64_t[]){3});
    float out[48];
    (void)state;
    assert_int_not_equal(mts_graph_add_input(tasks[1].graph, "y", MTS_TYPE_FLOAT32, &second), MTS_NONE);
    given.tensor = give_tensor;
    mts_data *data = create(&given, tasks, 2, ALL_BYTES);
    assert_false(mts_data_changes(data, 0));
    const mts_data_change change[2] = {{true, 1, 1}, {true, 1, 1}}; /* ignored */
    assert_int_equal(mts_data_fill(data, 0, 0, indices, 2, change, out, &error), MTS_STATUS_OK);
    for (size_t i = 0; i < 48; i++) {
        const size_t c = i % 3;
        const size_t p = i / 3 % 4;
        near(out[i], (float)(1000 * indices[i / 24] + i % 24 / 12 * 12 + c * 4 + p));
    }
    assert_int_equal(mts_data_fill(data, 1, 1, indices, 2, NULL, out, &error), MTS_STATUS_OK);
    for (size_t i = 0; i < 6; i++) {
        near(out[i], (float)(1000 * indices[i / 3] + 100 + i % 3));
    }
    mts_data_destroy(&data);
}

static void an_image_that_cannot_be_had_is_named(void **state)
{
    source from = {.fail_at = 4, .poison_at = SIZE_MAX};
    mtsz_data given = data_of(&from);
    const uint32_t indices[] = {0, 3};
    const mts_task tasks[] = {
        task_of("image", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4}),
        task_of("tensor", MTS_COLOR_NONE, 0, 2, (const int64_t[]){1, 5}),
    };
    float out[72];
    (void)state;
    given.tensor = give_tensor;
    for (int memory = 0; memory < 2; memory++) {
        mts_data *data = create(&given, tasks, 2, memory ? ALL_BYTES : 0);
        for (uint32_t t = 0; t < 2; t++) {
            assert_int_equal(mts_data_fill(data, t, 0, indices, 2, NULL, out, &error), MTS_STATUS_IO);
            assert_non_null(strstr(error.text, "image 3"));
            assert_int_equal(mts_data_fill(data, t, 0, indices, 1, NULL, out, &error), MTS_STATUS_OK);
        }
        assert_non_null(strstr(error.text, "tensor"));
        mts_data_destroy(&data);
    }
}

static void numbers_that_are_not_finite_are_refused_by_task_input_and_image(void **state)
{
    source from = {.poison_at = 3};
    mtsz_data given = data_of(&from);
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const uint32_t index = 5;
    const mts_task task = task_of("sound", MTS_COLOR_NONE, 0, 4, (const int64_t[]){1, 2, 2, 2});
    float out[8];
    (void)state;
    given.tensor = give_tensor;
    mts_data *data = create(&given, &task, 1, ALL_BYTES);
    for (int i = 0; i < 3; i++) {
        from.poison = bad[i];
        assert_int_equal(mts_data_fill(data, 0, 0, &index, 1, NULL, out, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(error.text, "'sound'"));
        assert_non_null(strstr(error.text, "'x'"));
        assert_non_null(strstr(error.text, "image 5"));
    }
    mts_data_destroy(&data);
}

static void refuse(const mtsz_data *given, const mts_task *task, const char *part)
{
    mts_data *data = NULL;
    assert_int_equal(mts_data_create(given, task, 1, ALL_BYTES, mts_allocator_default(), &data, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(data);
    if (!strstr(error.text, part)) {
        fail_msg("'%s' is not in '%s'", part, error.text);
    }
}

static void what_cannot_feed_a_task_is_refused_at_once(void **state)
{
    source from = {0};
    mtsz_data given = data_of(&from);
    const mts_task image = task_of("photo", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4});
    const mts_task batch = task_of("batch", MTS_COLOR_RGB, 0, 4, (const int64_t[]){2, 3, 3, 4});
    const mts_task plain = task_of("plain", MTS_COLOR_NONE, 0, 2, (const int64_t[]){1, 5});
    const mts_task empty = task_of("empty", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 0, 4});
    mts_task two = task_of("two", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4});
    const mts_shape second = mts_shape_make(1, (const int64_t[]){3});
    (void)state;
    assert_int_not_equal(mts_graph_add_input(two.graph, "y", MTS_TYPE_FLOAT32, &second), MTS_NONE);
    refuse(NULL, &image, "NULL");
    refuse(&given, &batch, "'batch'");
    refuse(&given, &plain, "'plain'");
    refuse(&given, &two, "'y'");
    refuse(&given, &empty, "'empty'");
    given.image = NULL;
    refuse(&given, &image, "callback");
    given = data_of(&from);
    given.count = 0;
    refuse(&given, &image, "no images");
    given = data_of(&from);
    const mts_task wide = task_of("wide", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 2, 16385});
    refuse(&given, &wide, "mtsz_data.image gives sides of 16384 at most");
    given.size--;
    refuse(&given, &image, "size");
}

static void short_memory_is_told_and_nothing_is_kept(void **state)
{
    source from = {0};
    const mtsz_data given = data_of(&from);
    const mts_task task = task_of("t", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4});
    const uint32_t index = 5;
    float out[36];
    mts_status status = MTS_STATUS_OUT_OF_MEMORY;
    (void)state;
    for (size_t at = 1; status != MTS_STATUS_OK; at++) {
        mts_fault_allocator fault;
        mts_data *data = NULL;
        mts_fault_allocator_init(&fault, at);
        status = mts_data_create(&given, &task, 1, 160, &fault.allocator, &data, &error);
        if (status == MTS_STATUS_OK) {
            status = mts_data_fill(data, 0, 0, &index, 1, NULL, out, &error);
        }
        assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_OUT_OF_MEMORY);
        mts_data_destroy(&data);
        assert_int_equal(fault.alive, 0);
        assert_true(at < 20);
    }
}

static mts_data *common;
static float results[2][6 * 36];

static void *fill_often(void *context)
{
    float *out = context;
    const uint32_t indices[] = {0, 1, 2, 3, 4, 5};
    for (int i = 0; i < 200; i++) {
        (void)mts_data_fill(common, 0, 0, indices, 6, NULL, out, NULL);
    }
    return NULL;
}

static void several_threads_fill_at_once_and_callbacks_run_one_at_a_time(void **state)
{
    source from = {0};
    const mtsz_data given = data_of(&from);
    const mts_task task = task_of("t", MTS_COLOR_RGB, 0, 4, (const int64_t[]){1, 3, 3, 4});
    pthread_t threads[2];
    (void)state;
    common = create(&given, &task, 1, 400);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, fill_often, results[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    mts_data_destroy(&common);
    assert_int_equal(from.together, 0);
    assert_int_equal(from.fetched[0], 1); /* kept: the other thread waits for it */
    assert_int_equal(from.fetched[1], 1);
    assert_memory_equal(results[0], results[1], sizeof results[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(images_have_the_colour_mean_and_scale_of_their_task),
        TEST(an_input_that_ends_with_channels_lies_as_its_dimensions_say),
        TEST(images_are_mirrored_and_then_moved_with_their_edge_repeated),
        TEST(images_beyond_the_memory_are_fetched_anew_and_are_the_same),
        TEST(tensors_go_to_their_input_with_channels_innermost),
        TEST(an_image_that_cannot_be_had_is_named),
        TEST(numbers_that_are_not_finite_are_refused_by_task_input_and_image),
        TEST(what_cannot_feed_a_task_is_refused_at_once),
        TEST(short_memory_is_told_and_nothing_is_kept),
        TEST(several_threads_fill_at_once_and_callbacks_run_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

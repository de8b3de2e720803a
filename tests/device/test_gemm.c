/*
 * Launches that are matrix products: on every device that takes them they multiply, the front refuses what
 * leaves the buffers, and a driver's library that is missing or fails is said.
 *
 * The same tests run on plain C and, where there is one with CLBlast, on an OpenCL device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "platform/null/null.h"
#include "platform/opencl/opencl.h"
#include "platform/wrap/check.h"
#include "support/device_fixture.h"

#define FLOATS 4096

static device_fixture world;
static mts_buffer *act, *pool, *table;
static float act_data[FLOATS], pool_data[FLOATS];

/* Small whole numbers: every order of summation gives the same bits. */
static void fill(float *data, uint32_t seed)
{
    for (size_t i = 0; i < FLOATS; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)((int)(seed >> 24) % 9 - 4);
    }
}

static void make_buffers(void)
{
    const uint32_t zero[4] = {0};
    fill(act_data, 1);
    fill(pool_data, 2);
    assert_int_equal(mts_buffer_create(world.device, sizeof act_data, &act, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, sizeof pool_data, &pool, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, sizeof zero, &table, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(act, 0, act_data, sizeof act_data, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(pool, 0, pool_data, sizeof pool_data, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(table, 0, zero, sizeof zero, NULL), MTS_STATUS_OK);
}

static int open_reference(void **state)
{
    const mts_backend *backend = device_fixture_backend("reference");
    (void)state;
    device_fixture_init(&world, NULL);
    if (backend) {
        device_fixture_open(&world, backend, 0);
        assert_true(world.device->info.gemm);
        make_buffers();
    }
    return 0;
}

static int open_opencl(void **state)
{
    (void)state;
    device_fixture_init(&world, NULL);
    world.options.gemm = MTS_USE_ON;
    if (mts_backend_opencl.count() != 0) {
        device_fixture_open(&world, &mts_backend_opencl, 0);
        make_buffers();
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    mts_buffer_destroy(&act);
    mts_buffer_destroy(&pool);
    mts_buffer_destroy(&table);
    device_fixture_close(&world);
    return 0;
}

static void need_products(void)
{
    if (!world.device || !world.device->info.gemm) {
        (void)printf("skipped: no such device, or no CLBlast\n");
        skip();
    }
}

static mts_launch launch_of(const mts_gemm *gemm)
{
    const mts_launch launch = {.act = act, .pool = pool, .params = table, .label = "product", .gemm = *gemm};
    return launch;
}

/* What act holds afterwards, by the definition. */
static void multiply(const mts_gemm *g, float *out)
{
    memcpy(out, act_data, sizeof act_data);
    for (uint32_t batch = 0; batch < g->batch; batch++) {
        const float *a = (g->a_pool ? pool_data : act_data) + g->a + batch * g->a_stride;
        const float *b = (g->b_pool ? pool_data : act_data) + g->b + batch * g->b_stride;
        for (uint32_t i = 0; i < g->m; i++) {
            for (uint32_t j = 0; j < g->n; j++) {
                float sum = 0.0f;
                for (uint32_t x = 0; x < g->k; x++) {
                    sum += a[i * g->a_ld + x] * (g->b_transposed ? b[j * g->b_ld + x] : b[x * g->b_ld + j]);
                }
                out[g->c + batch * g->c_stride + i * g->c_ld + j] = sum;
            }
        }
    }
}

static void assert_product(const mts_gemm *gemm)
{
    float expected[FLOATS];
    float found[FLOATS];
    mts_command_list *list = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    const mts_launch launch = launch_of(gemm);
    assert_int_equal(mts_buffer_write(act, 0, act_data, sizeof act_data, NULL), MTS_STATUS_OK);
    if (mts_command_list_create(world.device, &launch, 1, &list, &error) != MTS_STATUS_OK ||
        mts_command_list_submit(list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(mts_buffer_read(act, 0, found, sizeof found, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
    multiply(gemm, expected);
    assert_memory_equal(found, expected, sizeof expected);
}

static const mts_gemm products[] = {
    {.m = 1, .n = 1, .k = 1, .batch = 1, .a_ld = 1, .b_ld = 1, .c_ld = 1, .b = 1, .c = 2},
    {.m = 5, .n = 16, .k = 7, .batch = 1, .a_pool = true, .a_ld = 7, .b_ld = 20, .c_ld = 24, .c = 2000},
    {.m = 5,
     .n = 16,
     .k = 7,
     .batch = 1,
     .b_pool = true,
     .a = 3,
     .a_ld = 9,
     .b = 11,
     .b_ld = 16,
     .c_ld = 16,
     .c = 100},
    {.m = 4,
     .n = 9,
     .k = 13,
     .batch = 1,
     .b_pool = true,
     .b_transposed = true,
     .a_ld = 13,
     .b_ld = 15,
     .c_ld = 9,
     .c = 60},
    /* images of a layer: one matrix of weights */
    {.m = 6,
     .n = 10,
     .k = 4,
     .batch = 3,
     .a_pool = true,
     .a = 5,
     .a_ld = 4,
     .b_ld = 12,
     .b_stride = 50,
     .c_ld = 12,
     .c_stride = 80,
     .c = 1000},
    {.m = 3,
     .n = 1,
     .k = 32,
     .batch = 4,
     .a_pool = true,
     .a_ld = 32,
     .b_ld = 1,
     .b_stride = 32,
     .c_ld = 1,
     .c_stride = 3,
     .c = 128},
    {.m = 33,
     .n = 40,
     .k = 21,
     .batch = 1,
     .a_pool = true,
     .b_pool = true,
     .a_ld = 21,
     .b = 693,
     .b_ld = 40,
     .c_ld = 41,
     .c = 7},
};

static void products_are_those_of_the_definition(void **state)
{
    (void)state;
    need_products();
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        assert_product(&products[i]);
    }
}

static void products_and_kernels_of_a_list_run_in_order(void **state)
{
    (void)state;
    need_products();
    const mts_kernel_desc desc = {.name = "scale_any__f32_planar", .defines = "-DVEC=4"};
    mts_scale_params record = {.dest = device_fixture_dest(100, 8),
                               .src = device_fixture_view(100),
                               .scale = MTS_PARAM_NONE,
                               .bias = MTS_PARAM_NONE,
                               .slope = MTS_PARAM_NONE,
                               .fn = MTS_FN_RELU};
    const mts_gemm first = {
        .m = 1, .n = 8, .k = 2, .batch = 1, .a_pool = true, .a_ld = 2, .b_ld = 8, .c = 100, .c_ld = 8};
    mts_launch_time times[3];
    mts_buffer *records = NULL;
    mts_kernel *kernel = NULL;
    mts_command_list *list = NULL;
    mts_launch launches[3];
    float expected[FLOATS];
    float found[16];
    assert_int_equal(mts_buffer_create(world.device, sizeof record, &records, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(records, 0, &record, sizeof record, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_create(world.device, &desc, &kernel, NULL), MTS_STATUS_OK);
    launches[0] = launch_of(&first);
    launches[1] =
        (mts_launch){.kernel = kernel, .act = act, .pool = pool, .params = records, .label = "relu"};
    device_fixture_grid(&launches[1], 8);
    launches[2] = launch_of(&(mts_gemm){.m = 8,
                                        .n = 1,
                                        .k = 1,
                                        .batch = 1,
                                        .b_pool = true,
                                        .a = 100,
                                        .a_ld = 1,
                                        .b_ld = 1,
                                        .c = 200,
                                        .c_ld = 1});
    assert_int_equal(mts_command_list_create(world.device, launches, 3, &list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(act, 200 * sizeof(float), found, 8 * sizeof(float), NULL),
                     MTS_STATUS_OK);
    multiply(&first, expected);
    for (int i = 0; i < 8; i++) {
        const float x = expected[100 + i];
        assert_true(found[i] == (x > 0.0f ? x : 0.0f) * pool_data[0]);
    }
    assert_int_equal(mts_command_list_profile(list, times, 3, NULL), MTS_STATUS_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(times[i].start <= times[i].end);
        assert_true(i == 0 || times[i - 1].end <= times[i].start);
    }
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&kernel);
    mts_buffer_destroy(&records);
}

static void assert_refused(mts_status status, const mts_launch *launch, const char *said)
{
    mts_command_list *list = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    assert_int_equal(mts_command_list_create(world.device, launch, 1, &list, &error), status);
    assert_null(list);
    if (!strstr(error.text, said)) {
        fail_msg("'%s' is not in: %s", said, error.text);
    }
}

static void products_that_leave_their_buffers_are_refused(void **state)
{
    static const mts_gemm good = {.m = 4,
                                  .n = 8,
                                  .k = 6,
                                  .batch = 2,
                                  .a_pool = true,
                                  .a_ld = 6,
                                  .b_ld = 8,
                                  .b_stride = 48,
                                  .c_ld = 8,
                                  .c_stride = 32,
                                  .c = 512};
    static const struct {
        size_t field;
        uint32_t value;
        const char *said;
    } cases[] = {
        {offsetof(mts_gemm, n), 0, "zero"},
        {offsetof(mts_gemm, k), 0, "zero"},
        {offsetof(mts_gemm, batch), 0, "zero"},
        {offsetof(mts_gemm, a_ld), 5, "rows lie in each other"},
        {offsetof(mts_gemm, b_ld), 7, "rows lie in each other"},
        {offsetof(mts_gemm, c_ld), 7, "rows lie in each other"},
        {offsetof(mts_gemm, a), FLOATS - 23, "leaves"},
        {offsetof(mts_gemm, b), FLOATS - 95, "leaves"},
        {offsetof(mts_gemm, c), FLOATS - 63, "leaves"},
        {offsetof(mts_gemm, a), UINT32_MAX, "leaves"},
        {offsetof(mts_gemm, m), UINT32_MAX, "leaves"},
        {offsetof(mts_gemm, batch), UINT32_MAX, "leaves"},
        {offsetof(mts_gemm, c_ld), UINT32_MAX, "leaves"},
        {offsetof(mts_gemm, c_stride), UINT32_MAX, "leaves"},
        {offsetof(mts_gemm, c_stride), 31, "results lie in each other"},
        {offsetof(mts_gemm, c), 95, "in a factor"},
        {offsetof(mts_gemm, b), 512 + 63, "in a factor"},
    };
    (void)state;
    need_products();
    assert_product(&good);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mts_gemm bad = good;
        memcpy((char *)&bad + cases[i].field, &cases[i].value, sizeof cases[i].value);
        const mts_launch launch = launch_of(&bad);
        assert_refused(MTS_STATUS_INVALID_ARGUMENT, &launch, cases[i].said);
    }
    mts_gemm edge = good; /* the last floats of each buffer */
    edge.a = FLOATS - 24;
    edge.c = FLOATS - 64;
    assert_product(&edge);
}

static void a_launch_is_a_product_or_a_kernel(void **state)
{
    static const mts_gemm good = {
        .m = 1, .n = 1, .k = 1, .batch = 1, .a_pool = true, .b_pool = true, .a_ld = 1, .b_ld = 1, .c_ld = 1};
    const mts_kernel_desc desc = {.name = "scale_any__f32_planar", .defines = "-DVEC=4"};
    mts_kernel *kernel = NULL;
    (void)state;
    need_products();
    assert_int_equal(mts_kernel_create(world.device, &desc, &kernel, NULL), MTS_STATUS_OK);
    mts_launch launch = launch_of(&good);
    launch.kernel = kernel;
    assert_refused(MTS_STATUS_INVALID_ARGUMENT, &launch, "a kernel and a product");
    launch = launch_of(&(mts_gemm){0});
    assert_refused(MTS_STATUS_INVALID_ARGUMENT, &launch, "NULL");
    launch = launch_of(&good);
    launch.pool = NULL;
    assert_refused(MTS_STATUS_INVALID_ARGUMENT, &launch, "NULL");
    mts_kernel_destroy(&kernel);
}

static void a_device_without_products_is_unsupported(void **state)
{
    static const mts_gemm good = {
        .m = 1, .n = 1, .k = 1, .batch = 1, .a_pool = true, .b_pool = true, .a_ld = 1, .b_ld = 1, .c_ld = 1};
    (void)state;
    device_fixture_init(&world, NULL);
    device_fixture_open(&world, &mts_backend_null, 0);
    make_buffers();
    const mts_launch launch = launch_of(&good);
    assert_refused(MTS_STATUS_UNSUPPORTED, &launch, "no matrix products");
    (void)close_device(state);
}

static void decorators_hand_products_on(void **state)
{
    static const mts_gemm gemm = {
        .m = 2, .n = 3, .k = 4, .batch = 1, .a_pool = true, .a_ld = 4, .b_ld = 3, .c_ld = 3, .c = 20};
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_DEVICE};
    mts_command_list *list = NULL;
    (void)state;
    need_products();
    mts_buffer_destroy(&act);
    mts_buffer_destroy(&pool);
    mts_buffer_destroy(&table);
    assert_int_equal(mts_wrap_fault(&world.device, &plan, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_wrap_check(&world.device, &world.device, NULL), MTS_STATUS_OK);
    make_buffers();
    assert_product(&gemm);
    const mts_launch launch = launch_of(&gemm);
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    plan.nth = plan.calls + 1;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_DEVICE);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
    assert_int_equal(mts_wrap_check_count(world.device), 0);
}

/* ---- the library ---- */

static void a_library_that_is_missing_or_another_one_is_not_used(void **state)
{
    static const char *const none[] = {"libmts-no-such-blas.so", "/nowhere/libclblast.so", NULL};
    static const char *const wrong[] = {"libm.so.6", NULL};
    const mts_cl_gemm empty = {0};
    mts_cl_library cl = {.is_loader = true};
    mts_cl_gemm gemm;
    (void)state;
    memset(&gemm, 0xff, sizeof gemm);
    assert_false(mts_cl_gemm_open_any(&cl, none, &gemm));
    assert_memory_equal(&gemm, &empty, sizeof gemm);
    assert_false(mts_cl_gemm_open_any(&cl, wrong, &gemm));
    cl.is_loader = false; /* our functions are a driver's own: the library has others */
    memset(&gemm, 0xff, sizeof gemm);
    assert_false(mts_cl_gemm_open(&cl, &gemm));
    assert_memory_equal(&gemm, &empty, sizeof gemm);
    mts_cl_gemm_close(&gemm);
}

static void a_device_told_not_to_takes_no_products(void **state)
{
    (void)state;
    if (mts_backend_opencl.count() == 0) {
        skip();
    }
    device_fixture_init(&world, NULL);
    world.options.gemm = MTS_USE_OFF;
    device_fixture_open(&world, &mts_backend_opencl, 0);
    assert_false(world.device->info.gemm);
    assert_null(((mts_cl_device *)world.device)->gemm.library);
    device_fixture_close(&world);
}

static int fail_single(int layout, int a_transposed, int b_transposed, size_t m, size_t n, size_t k,
                       float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset,
                       size_t b_ld, float beta, cl_mem c, size_t c_offset, size_t c_ld,
                       cl_command_queue *queue, cl_event *event)
{
    (void)layout, (void)a_transposed, (void)b_transposed, (void)m, (void)n, (void)k, (void)alpha;
    (void)a, (void)a_offset, (void)a_ld, (void)b, (void)b_offset, (void)b_ld, (void)beta;
    (void)c, (void)c_offset, (void)c_ld, (void)queue, (void)event;
    return -2045; /* one of the library's own */
}

static void a_product_that_the_library_refuses_is_named(void **state)
{
    static const mts_gemm gemm = {
        .m = 1, .n = 1, .k = 1, .batch = 1, .a_pool = true, .b_pool = true, .a_ld = 1, .b_ld = 1, .c_ld = 1};
    mts_launch_time time;
    mts_error error = {MTS_STATUS_OK, ""};
    mts_command_list *list = NULL;
    (void)state;
    need_products();
    ((mts_cl_device *)world.device)->gemm.single = fail_single;
    const mts_launch launch = launch_of(&gemm);
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "launch 'product'"));
    assert_non_null(strstr(error.text, "CLBlastSgemm"));
    assert_non_null(strstr(error.text, "-2045"));
    assert_int_equal(mts_command_list_profile(list, &time, 1, &error), MTS_STATUS_DEVICE);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
}

#define ON_BOTH(name)                                                                                        \
    cmocka_unit_test_setup_teardown(name, open_reference, close_device),                                     \
        cmocka_unit_test_setup_teardown(name, open_opencl, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(products_are_those_of_the_definition),
        ON_BOTH(products_and_kernels_of_a_list_run_in_order),
        ON_BOTH(products_that_leave_their_buffers_are_refused),
        ON_BOTH(a_launch_is_a_product_or_a_kernel),
        ON_BOTH(decorators_hand_products_on),
        cmocka_unit_test(a_device_without_products_is_unsupported),
        cmocka_unit_test(a_library_that_is_missing_or_another_one_is_not_used),
        cmocka_unit_test(a_device_told_not_to_takes_no_products),
        cmocka_unit_test_setup_teardown(a_product_that_the_library_refuses_is_named, open_opencl,
                                        close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

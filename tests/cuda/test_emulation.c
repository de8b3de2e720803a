/*
 * The fake device itself: it runs what a GPU would run, and does not run what a GPU might not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/text.h"
#include "cuda/cuda_fixture.h"
#include "platform/os/os.h"

#define HEAD "extern \"C\" __global__ void "
#define ARGUMENTS "(float *act, const float *pool, const unsigned int *table, unsigned int first)"

static cuda_world w;

static int open_world(void **state)
{
    (void)state;
    cuda_world_open(&w, NULL);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    cuda_world_close(&w);
    return 0;
}

static void run(const mts_kernel_source *source, uint32_t groups, uint32_t group, mts_status expected)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_kernel *kernel = NULL;
    mts_command_list *list = NULL;
    mts_status status = mts_cu_kernel_create_from(w.base.device, source, "", &kernel, &error);
    assert_true(status == MTS_STATUS_OK || expected != MTS_STATUS_OK);
    const mts_launch launch = {.kernel = kernel,
                               .act = w.act,
                               .pool = w.pool,
                               .params = w.table,
                               .global = {groups * group, 1, 1},
                               .local = {group, 1, 1},
                               .label = source->name};
    status = status ? status : mts_command_list_create(w.base.device, &launch, 1, &list, &error);
    status = status ? status : mts_command_list_submit(list, &error);
    status = status ? status : mts_device_wait(w.base.device, &error);
    if (status != expected) {
        fail_msg("%s: %s: %s", source->name, mts_status_text(status), error.text);
    }
    mts_command_list_destroy(&list);
    mts_cu_kernel_destroy(w.base.device, kernel);
}

static float *read_act(uint32_t count)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    assert_int_equal(mts_buffer_read(w.act, 0, values, count * sizeof *values, NULL), MTS_STATUS_OK);
    return values;
}

static void fresh_memory_is_not_a_number(void **state)
{
    (void)state;
    float *values = read_act(1024);
    for (uint32_t i = 0; i < 1024; i++) {
        assert_true(isnan(values[i]));
    }
    free(values);
}

static void a_result_that_depends_on_the_order_of_threads_differs(void **state)
{
    static const mts_kernel_source source = {
        .name = "last", .source = HEAD "last" ARGUMENTS "{ act[0] = (float)threadIdx.x; }"};
    (void)state;
    float last[2];
    for (int i = 0; i < 2; i++) {
        run(&source, 1, 32, MTS_STATUS_OK);
        float *value = read_act(1);
        last[i] = value[0];
        free(value);
    }
    assert_true(last[0] != last[1]);
}

static void a_write_beside_a_buffer_is_found(void **state)
{
    static const mts_kernel_source source = {
        .name = "beside", .source = HEAD "beside" ARGUMENTS "{ ((float *)pool)[1] = 1.0f; }"};
    (void)state;
    run(&source, 1, 1, MTS_STATUS_DEVICE_LOST);
    assert_int_equal(fake_cuda_count().damages, 1);
}

static void an_access_far_from_every_buffer_is_a_lost_device_and_not_a_crash(void **state)
{
    static const mts_kernel_source source = {.name = "far",
                                             .source = HEAD "far" ARGUMENTS "{ act[0] = pool[4000]; }"};
    (void)state;
    run(&source, 1, 1, MTS_STATUS_DEVICE_LOST);
}

/* ---- with barriers: threads have stacks of their own ---- */

static void threads_of_a_block_meet_at_a_barrier(void **state)
{
    static const mts_kernel_source source = {
        .name = "reverse",
        .source =
            HEAD "reverse" ARGUMENTS "{\n"
                 "    __shared__ float all[256];\n"
                 "    const unsigned int i = threadIdx.x, n = blockDim.x;\n"
                 "    for (unsigned int round = 0; round < 3; round++) {\n"
                 "        all[i] = round == 0 ? (float)(blockIdx.x * n + i) : act[blockIdx.x * n + i];\n"
                 "        __syncthreads();\n"
                 "        act[blockIdx.x * n + i] = all[n - 1 - i] + 1000.0f;\n"
                 "        __syncthreads();\n"
                 "    }\n}"};
    (void)state;
    for (int times = 0; times < 4; times++) { /* forwards and backwards */
        run(&source, 3, 256, MTS_STATUS_OK);
        float *values = read_act(768);
        for (uint32_t i = 0; i < 768; i++) {
            assert_true(values[i] == (float)(i / 256 * 256 + 255 - i % 256) + 3000.0f);
        }
        free(values);
    }
}

static void a_barrier_that_some_threads_do_not_reach_loses_the_device(void **state)
{
    static const mts_kernel_source source = {
        .name = "apart",
        .source =
            HEAD "apart" ARGUMENTS "{ if (threadIdx.x > 3) __syncthreads(); act[threadIdx.x] = 1.0f; }"};
    (void)state;
    run(&source, 1, 32, MTS_STATUS_DEVICE_LOST);
}

static void barriers_in_two_places_are_not_the_same(void **state)
{
    static const mts_kernel_source source = {.name = "two",
                                             .source = HEAD "two" ARGUMENTS "{\n"
                                                            "    if (threadIdx.x > 3)\n"
                                                            "        __syncthreads();\n"
                                                            "    else\n"
                                                            "        __syncthreads();\n}"};
    (void)state;
    run(&source, 1, 32, MTS_STATUS_DEVICE_LOST);
}

static void shared_memory_is_spoiled_before_each_block(void **state)
{
    static const mts_kernel_source source = {
        .name = "spoiled",
        .source = HEAD "spoiled" ARGUMENTS "{ __shared__ float x[2]; act[blockIdx.x] = x[1]; x[1] = 5.0f; }"};
    (void)state;
    run(&source, 4, 1, MTS_STATUS_OK);
    float *values = read_act(4);
    for (int i = 0; i < 4; i++) {
        assert_true(isnan(values[i]));
    }
    free(values);
}

static void more_shared_memory_than_there_is_does_not_load(void **state)
{
    static const mts_kernel_source source = {
        .name = "large",
        .source =
            HEAD "large" ARGUMENTS "{ __shared__ float x[12289]; x[first] = 1.0f; act[0] = x[table[0]]; }"};
    mts_kernel *kernel = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    assert_int_equal(mts_cu_kernel_create_from(w.base.device, &source, "", &kernel, &error),
                     MTS_STATUS_DEVICE);
    assert_null(kernel);
    assert_non_null(strstr(error.text, "large"));
}

/* ---- float16 and matrices, as kernels see them: the prelude before them ---- */

static void run_after_prelude(const char *name, const char *text, uint32_t groups, uint32_t group)
{
    static const char *const files[] = {"prelude.h", "prelude_cuda.h", "prelude_operators.h"};
    mts_text program;
    mts_text_init(&program, mts_allocator_default());
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[512];
        void *part = NULL;
        size_t length = 0;
        (void)snprintf(path, sizeof path, "%s/kernels/%s", MTS_SOURCE_DIR, files[i]);
        assert_int_equal(mts_os_file_read(mts_allocator_default(), path, SIZE_MAX, &part, &length, NULL),
                         MTS_STATUS_OK);
        mts_text_add(&program, "%s\n", (const char *)part);
        mts_alloc_free(mts_allocator_default(), part);
    }
    mts_text_add(&program, "%s", text);
    const char *all = mts_text_get(&program);
    const mts_kernel_source source = {.name = name, .source = all};
    run(&source, groups, group, MTS_STATUS_OK);
    mts_text_release(&program);
}

static void every_float16_becomes_itself_and_the_librarys_float32(void **state)
{
    (void)state;
    run_after_prelude("halves",
                      HEAD "halves" ARGUMENTS "{\n"
                           "    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    act[i] = mts_half_value((mts_half)i);\n"
                           "    act[65536 + i] = __int_as_float((int)mts_half_make(act[i]));\n}",
                      256, 256);
    float *values = read_act(131072);
    for (uint32_t i = 0; i < 65536; i++) {
        const float expected = mts_half_to_float((uint16_t)i);
        uint32_t back = 0;
        memcpy(&back, &values[65536 + i], sizeof back);
        assert_true(isnan(expected) ? isnan(values[i]) : memcmp(&values[i], &expected, sizeof expected) == 0);
        assert_true(isnan(expected) || back == i);
    }
    free(values);
}

static void float32_is_rounded_as_the_library_rounds(void **state)
{
    static float inputs[65536];
    (void)state;
    uint32_t random = 1;
    for (uint32_t i = 0; i < 65536; i++) {
        random = random * 1664525u + 1013904223u;
        const uint32_t bits =
            i < 32768 ? random : 0x33000000u + (random >> 4); /* half of them in float16's range */
        memcpy(&inputs[i], &bits, sizeof bits);
    }
    assert_int_equal(mts_buffer_write(w.act, 0, inputs, sizeof inputs, NULL), MTS_STATUS_OK);
    run_after_prelude("round",
                      HEAD "round" ARGUMENTS "{\n"
                           "    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    act[i] = __int_as_float((int)mts_half_make(act[i]));\n}",
                      256, 256);
    float *values = read_act(65536);
    for (uint32_t i = 0; i < 65536; i++) {
        uint32_t found = 0;
        memcpy(&found, &values[i], sizeof found);
        if (!isnan(inputs[i]) && found != mts_half_from_float(inputs[i])) {
            fail_msg("%.9g: %04x instead of %04x", (double)inputs[i], found, mts_half_from_float(inputs[i]));
        }
    }
    free(values);
}

static void a_warp_multiplies_matrices(void **state)
{
    static float inputs[512];
    (void)state;
    for (uint32_t i = 0; i < 512; i++) {
        inputs[i] = (float)((i * 37 % 101) - 50.0) / 8.0f;
    }
    assert_int_equal(mts_buffer_write(w.act, 0, inputs, sizeof inputs, NULL), MTS_STATUS_OK);
    run_after_prelude(
        "matrices",
        HEAD "matrices" ARGUMENTS "{\n"
             "    LOCAL MATRIX_ALIGN mts_half a[256], b[256];\n"
             "    LOCAL MATRIX_ALIGN float c[4][256];\n"
             "    const unsigned int i = threadIdx.x;\n"
             "    mts_matrix ma, mb;\n"
             "    mts_matrix_sum sum;\n"
             "    for (unsigned int k = i; k < 256; k += blockDim.x) {\n"
             "        a[k] = mts_half_make(act[k]);\n"
             "        b[k] = mts_half_make(act[256 + k]);\n"
             "    }\n"
             "    BARRIER();\n"
             "    mts_matrix_clear(&sum);\n"
             "    mts_matrix_load_a(&ma, a, 16);\n"
             "    mts_matrix_load_b(&mb, b, 16);\n"
             "    for (unsigned int n = 0; n <= i / 32; n++) mts_matrix_multiply(&sum, &ma, &mb);\n"
             "    mts_matrix_store(c[i / 32], 16, &sum);\n"
             "    BARRIER();\n"
             "    for (unsigned int k = i; k < 1024; k += blockDim.x) act[512 + k] = c[k / 256][k % 256];\n"
             "}",
        1, 128);
    float *values = read_act(512 + 1024);
    for (uint32_t warp = 0; warp < 4; warp++) { /* the warps multiply once, twice, ... */
        for (uint32_t i = 0; i < 16; i++) {
            for (uint32_t j = 0; j < 16; j++) {
                float sum = 0.0f;
                for (uint32_t k = 0; k < 16; k++) {
                    sum += inputs[k * 16 + i] * inputs[256 + k * 16 + j];
                }
                assert_true(values[512 + warp * 256 + i * 16 + j] == sum * (float)(warp + 1));
            }
        }
    }
    free(values);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(fresh_memory_is_not_a_number),
        WORLD_TEST(a_result_that_depends_on_the_order_of_threads_differs),
        WORLD_TEST(a_write_beside_a_buffer_is_found),
        WORLD_TEST(an_access_far_from_every_buffer_is_a_lost_device_and_not_a_crash),
        WORLD_TEST(threads_of_a_block_meet_at_a_barrier),
        WORLD_TEST(a_barrier_that_some_threads_do_not_reach_loses_the_device),
        WORLD_TEST(barriers_in_two_places_are_not_the_same),
        WORLD_TEST(shared_memory_is_spoiled_before_each_block),
        WORLD_TEST(more_shared_memory_than_there_is_does_not_load),
        WORLD_TEST(every_float16_becomes_itself_and_the_librarys_float32),
        WORLD_TEST(float32_is_rounded_as_the_library_rounds),
        WORLD_TEST(a_warp_multiplies_matrices),
    };
    const int skipped = cuda_machine_check();
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}

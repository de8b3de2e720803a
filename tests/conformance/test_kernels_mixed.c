/*
 * test_kernels_mixed.c: members of different kernels in one launch of the combined
 * program have the bits of launches of their own. That each of its kernels alone has them
 * is part of the comparisons with the reference at 16 floats a vector (kernel_pair_run),
 * which GPUs do not make: there these mixes are all that is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_mix.h"

#define CASES 8
#define MEMBERS 3

typedef struct parts {
    kernel_pair *pair;
    kernel_mix mix;
    /* Launches of their own. */
    const char *kernels[8];
    uint32_t first[8], grids[8][3], count;
} parts;

/* Adds a launch over members of `size` bytes that begin with a mts_dest_params. */
static void add(parts *p, const char *kernel, const void *params, size_t size)
{
    const uint32_t words = (uint32_t)(size / sizeof(uint32_t));
    uint32_t *grid = p->grids[p->count];
    grid[2] = MEMBERS;
    for (uint32_t m = 0; m < MEMBERS; m++) {
        mts_dest_params dest;
        memcpy(&dest, (const char *)params + m * size, sizeof dest);
        const uint32_t planes = dest.dims[0] * dest.dims[1] * dest.dims[2] * dest.dims[3];
        grid[0] = dest.pitch > grid[0] ? dest.pitch : grid[0];
        grid[1] = planes + 1 > grid[1] ? planes + 1 : grid[1];
    }
    grid[0] = (grid[0] + p->mix.local - 1) / p->mix.local * p->mix.local;
    p->kernels[p->count] = kernel;
    p->first[p->count] = kernel_pair_words(p->pair, params, MEMBERS * words);
    (void)kernel_mix_add(&p->mix, kernel, p->first[p->count], grid);
    p->count++;
}

static void add_copies(parts *p)
{
    mts_copy_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 20);
        params[m].src = kernel_pair_operand(p->pair, dims, false, &params[m].src_pool);
        for (int i = 0; i < MTS_PARAM_RANK; i++) {
            params[m].step[i] = (int32_t)params[m].src.stride[i];
        }
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "copy_any__f32_planar", params, sizeof params[0]);
}

static void add_sums(parts *p)
{
    mts_binary_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 40);
        params[m].lhs = kernel_pair_operand(p->pair, dims, true, &params[m].lhs_pool);
        params[m].rhs = kernel_pair_operand(p->pair, dims, true, &params[m].rhs_pool);
        params[m].kind = MTS_BIN_ADD;
        params[m].fn = MTS_FN_RELU;
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "binary_any__f32_planar", params, sizeof params[0]);
}

static void add_pools(parts *p)
{
    mts_pool_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 30);
        const mts_dest_params in = kernel_pair_place(p->pair, dims);
        params[m] = (mts_pool_params){.src = kernel_pair_view(&in),
                                      .in_h = dims[4],
                                      .in_w = dims[5],
                                      .window = {3, 3},
                                      .stride = {1, 1},
                                      .dilation = {1, 1},
                                      .pad = {1, 1, 1, 1},
                                      .kind = m % 2 ? MTS_POOL_AVG : MTS_POOL_MAX};
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "pool_any__f32_planar", params, sizeof params[0]);
}

static void add_functions(parts *p)
{
    mts_unary_params params[MEMBERS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        uint32_t dims[MTS_PARAM_RANK];
        kernel_pair_dims(p->pair, dims, 2, 60);
        const mts_dest_params in = kernel_pair_place(p->pair, dims);
        params[m] = (mts_unary_params){.src = kernel_pair_view(&in), .fn = MTS_FN_SIGMOID};
        params[m].dest = kernel_pair_output(p->pair, dims);
    }
    add(p, "unary_any__f32_planar", params, sizeof params[0]);
}

/* Launch by launch, each on what the one before left. */
static float *run_apart(const parts *p, mts_device *device, const char *defines)
{
    const uint32_t local[3] = {p->mix.local, 1, 1};
    kernel_pair own = *p->pair;
    float *result = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        float *next =
            kernel_pair_result(&own, device, p->kernels[i], defines, p->first[i], p->grids[i], local);
        free(result);
        own.act = result = next;
    }
    return result;
}

static void launches_of_several_kernels_have_the_bits_of_their_own(void **state)
{
    static const struct {
        const char *defines;
        uint32_t local;
    } builds[] = {{"-DVEC=16", 1}, {"-DVEC=1", 64}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        kernel_pair_start(pair, n + 1);
        const bool compiled = strcmp(pair->devices[1]->info.backend, "cpu") == 0; /* it has no such kernel */
        parts p = {.pair = pair, .mix = {.local = builds[n % 2].local}};
        add_copies(&p);
        add_sums(&p);
        add_pools(&p);
        add_functions(&p);
        for (int d = 0; d < (compiled ? 1 : 2); d++) {
            float *apart = run_apart(&p, pair->devices[d], builds[n % 2].defines);
            float *mixed = kernel_mix_result(pair, pair->devices[d], &p.mix, builds[n % 2].defines);
            assert_memory_equal(apart, mixed, kernel_pair_extent(pair) * sizeof *mixed);
            free(apart);
            free(mixed);
        }
    }
}

enum { RUN = 16, READERS = 2 * (1 + MTS_LAUNCH_SOURCES) };

/* A copy of RUN floats of the caller's, to place `n` of the arena. */
static mts_copy_params flat_copy(uint32_t n)
{
    return (mts_copy_params){
        .dest = {.base = n * RUN, .dims = {1, 1, 1, 1, 1, RUN}, .row = RUN, .pitch = RUN},
        .src = {.stride = {0, 0, 0, 0, 0, 1}},
        .src_pool = 2,
        .step = {0, 0, 0, 0, 0, 1}};
}

/* Entry n reads the pool (source 0) or one of the others, each twice, in no order. */
static void fill_readers(uint32_t *words)
{
    enum { COPY = 1 + READERS * MTS_PARAM_WORDS(mts_mixed_params) };
    words[0] = READERS;
    for (uint32_t n = 0; n < READERS; n++) {
        const mts_mixed_params entry = {.number = kernel_mix_number("copy_any__f32_planar"),
                                        .member = COPY + n * MTS_PARAM_WORDS(mts_copy_params),
                                        .begin = n,
                                        .width = 1,
                                        .shift = 0u - n,
                                        .source = n * 5 % (1 + MTS_LAUNCH_SOURCES)};
        const mts_copy_params copy = flat_copy(n);
        memcpy(words + 1 + n * MTS_PARAM_WORDS(mts_mixed_params), &entry, sizeof entry);
        memcpy(words + entry.member, &copy, sizeof copy);
    }
}

static mts_buffer *buffer_of(mts_device *device, const void *data, size_t size)
{
    mts_buffer *buffer = NULL;
    mts_error error = {0};
    assert_int_equal(mts_buffer_create(device, size, &buffer, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(buffer, 0, data, size, &error), MTS_STATUS_OK);
    return buffer;
}

static void check_readers(mts_device *device)
{
    enum { WORDS = 1 + READERS * (MTS_PARAM_WORDS(mts_mixed_params) + MTS_PARAM_WORDS(mts_copy_params)) };
    const mts_kernel_desc desc = {.name = MTS_KERNEL_MIXED, .defines = "-DVEC=1 -DMIXED=32"};
    uint32_t words[WORDS];
    float act[READERS * RUN] = {0.0f}, data[RUN];
    mts_kernel *kernel = NULL;
    mts_command_list *list = NULL;
    mts_error error = {0};
    fill_readers(words);
    assert_int_equal(mts_kernel_create(device, &desc, &kernel, &error), MTS_STATUS_OK);
    mts_launch launch = {.kernel = kernel,
                         .act = buffer_of(device, act, sizeof act),
                         .params = buffer_of(device, words, sizeof words),
                         .global = {READERS * RUN, 1, 1},
                         .local = {RUN, 1, 1},
                         .label = "sources"};
    for (int s = 0; s <= MTS_LAUNCH_SOURCES; s++) {
        for (int i = 0; i < RUN; i++) {
            data[i] = (float)(100 * s + i);
        }
        mts_buffer *made = buffer_of(device, data, sizeof data);
        *(s == 0 ? &launch.pool : &launch.sources[s - 1]) = made;
    }
    assert_int_equal(mts_command_list_create(device, &launch, 1, &list, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(launch.act, 0, act, sizeof act, &error), MTS_STATUS_OK);
    for (int n = 0; n < READERS * RUN; n++) {
        assert_true(act[n] == (float)(100 * (n / RUN * 5 % (1 + MTS_LAUNCH_SOURCES)) + n % RUN));
    }
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&kernel);
    mts_buffer_destroy(&launch.act);
    mts_buffer_destroy(&launch.params);
    mts_buffer_destroy(&launch.pool);
    for (int s = 0; s < MTS_LAUNCH_SOURCES; s++) {
        mts_buffer_destroy(&launch.sources[s]);
    }
}

static void each_member_reads_its_own_source(void **state)
{
    kernel_pair *pair = *state;
    check_readers(pair->devices[0]);
    if (pair->devices[1] && strcmp(pair->devices[1]->info.backend, "cpu") != 0) {
        check_readers(pair->devices[1]);
    }
}

static void the_reference_refuses_entries_of_no_kernel_no_groups_and_no_source(void **state)
{
    kernel_pair *pair = *state;
    const mts_kernel_desc desc = {.name = MTS_KERNEL_MIXED, .defines = ""};
    const mts_mixed_params wrong[] = {{.number = 99, .width = 1},
                                      {.number = 1, .width = 0},
                                      {.number = 1, .width = 1, .source = MTS_LAUNCH_SOURCES + 1},
                                      {.number = 1, .width = 1}};
    enum { WRONG = sizeof wrong / sizeof wrong[0] };
    kernel_pair_clear(pair, 1);
    for (int i = 0; i < WRONG; i++) {
        uint32_t words[1 + MTS_PARAM_WORDS(mts_mixed_params)] = {i + 1 < WRONG ? 1u : 1u << 30};
        memcpy(words + 1, &wrong[i], sizeof wrong[i]);
        mts_device *device = pair->devices[0];
        mts_buffer *buffer = NULL;
        mts_kernel *kernel = NULL;
        mts_command_list *list = NULL;
        mts_error error = {0};
        assert_int_equal(mts_buffer_create(device, sizeof words, &buffer, &error), MTS_STATUS_OK);
        assert_int_equal(mts_buffer_write(buffer, 0, words, sizeof words, &error), MTS_STATUS_OK);
        assert_int_equal(mts_kernel_create(device, &desc, &kernel, &error), MTS_STATUS_OK);
        mts_launch launch = {.kernel = kernel,
                             .act = buffer,
                             .pool = buffer,
                             .params = buffer,
                             .global = {1, 1, 1},
                             .local = {1, 1, 1},
                             .label = "wrong"};
        for (int s = 0; s < MTS_LAUNCH_SOURCES; s++) {
            launch.sources[s] = buffer;
        }
        assert_int_equal(mts_command_list_create(device, &launch, 1, &list, &error), MTS_STATUS_OK);
        assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE);
        mts_command_list_destroy(&list);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_of_several_kernels_have_the_bits_of_their_own),
        cmocka_unit_test(each_member_reads_its_own_source),
        cmocka_unit_test(the_reference_refuses_entries_of_no_kernel_no_groups_and_no_source),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}

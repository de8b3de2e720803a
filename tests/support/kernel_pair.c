/*
 * kernel_pair.c: see kernel_pair.h.
 */
#include "support/kernel_pair.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPREAD 2.0f /* random values lie in [-SPREAD, SPREAD] */

static mts_device *open_device(const char *backend)
{
    const mts_device_options options = {.allocator = mts_allocator_default()};
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        mts_device *device = NULL;
        mts_error error = {0};
        if (strcmp(table[i]->name, backend) == 0 && table[i]->count() > 0 &&
            table[i]->open(0, &options, &device, &error) == MTS_CODE_OK) {
            return device;
        }
    }
    return NULL;
}

int kernel_pair_setup(void **state)
{
    kernel_pair *pair = calloc(1, sizeof *pair);
    if (!pair) {
        return -1;
    }
    pair->act = malloc(KERNEL_PAIR_ACT * sizeof *pair->act);
    pair->pool = malloc(KERNEL_PAIR_POOL * sizeof *pair->pool);
    pair->table = malloc(KERNEL_PAIR_TABLE * sizeof *pair->table);
    pair->devices[0] = open_device("reference");
    pair->devices[1] = open_device("opencl");
    *state = pair;
    return pair->act && pair->pool && pair->table && pair->devices[0] ? 0 : -1;
}

int kernel_pair_teardown(void **state)
{
    kernel_pair *pair = *state;
    mts_device_destroy(&pair->devices[0]);
    mts_device_destroy(&pair->devices[1]);
    free(pair->act);
    free(pair->pool);
    free(pair->table);
    free(pair);
    return 0;
}

/* ---- random numbers ---- */

static uint32_t next(kernel_pair *pair)
{
    pair->state ^= pair->state << 13;
    pair->state ^= pair->state >> 17;
    pair->state ^= pair->state << 5;
    return pair->state;
}

uint32_t kernel_pair_pick(kernel_pair *pair, uint32_t low, uint32_t high)
{
    return low + next(pair) % (high - low + 1);
}

float kernel_pair_float(kernel_pair *pair, float low, float high)
{
    return low + (high - low) * (float)(next(pair) >> 8) / 16777216.0f;
}

void kernel_pair_clear(kernel_pair *pair, uint32_t seed)
{
    pair->state = seed * 2654435761u + 1u;
    for (uint32_t i = 0; i < KERNEL_PAIR_ACT; i++) {
        pair->act[i] = kernel_pair_float(pair, -SPREAD, SPREAD);
    }
    for (uint32_t i = 0; i < KERNEL_PAIR_POOL; i++) {
        pair->pool[i] = kernel_pair_float(pair, -SPREAD, SPREAD);
    }
    memset(pair->table, 0xff, KERNEL_PAIR_TABLE * sizeof *pair->table);
    pair->act_used = pair->pool_used = pair->table_used = 64;
    pair->region_count = 0;
    pair->tolerance = 1e-5f;
}

void kernel_pair_start(kernel_pair *pair, uint32_t seed)
{
    if (!pair->devices[1]) {
        print_message("no OpenCL device: nothing to compare with the reference\n");
        skip();
    }
    kernel_pair_clear(pair, seed);
}

/* ---- placing ---- */

uint32_t kernel_pair_act(kernel_pair *pair, uint32_t count)
{
    const uint32_t first = pair->act_used;
    pair->act_used += count + kernel_pair_pick(pair, 1, 40); /* a strip that nobody may touch */
    assert_true(pair->act_used < KERNEL_PAIR_ACT);
    return first;
}

uint32_t kernel_pair_pool(kernel_pair *pair, uint32_t count)
{
    const uint32_t first = pair->pool_used;
    pair->pool_used += count + kernel_pair_pick(pair, 0, 5);
    assert_true(pair->pool_used < KERNEL_PAIR_POOL);
    return first;
}

uint32_t kernel_pair_words(kernel_pair *pair, const void *words, uint32_t count)
{
    const uint32_t first = pair->table_used;
    pair->table_used += count;
    assert_true(pair->table_used < KERNEL_PAIR_TABLE);
    memcpy(pair->table + first, words, count * sizeof *pair->table);
    return first;
}

void kernel_pair_may_write(kernel_pair *pair, uint32_t first, uint32_t count)
{
    assert_true(pair->region_count < KERNEL_PAIR_REGIONS);
    pair->regions[pair->region_count++] = (kernel_region){first, count};
}

void kernel_pair_dims(kernel_pair *pair, uint32_t *dims, int outer, uint32_t most)
{
    for (int i = 0; i < MTS_REC_RANK; i++) {
        dims[i] = i < outer ? 1 : kernel_pair_pick(pair, 1, i < 4 ? 3 : most);
    }
}

static uint32_t planes_of(const mts_rec_dest *tensor)
{
    return tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
}

mts_rec_dest kernel_pair_place(kernel_pair *pair, const uint32_t *dims)
{
    mts_rec_dest tensor = {0};
    const bool border = kernel_pair_pick(pair, 0, 2) > 0;
    memcpy(tensor.dims, dims, sizeof tensor.dims);
    tensor.row = dims[5] + (border ? kernel_pair_pick(pair, 0, 3) : 0);
    tensor.gap = border ? kernel_pair_pick(pair, 0, 33) : 0;
    tensor.tail = border ? kernel_pair_pick(pair, 0, 60) : 0;
    tensor.pitch = tensor.gap + tensor.row * dims[4] + (border ? kernel_pair_pick(pair, 0, 17) : 0);
    tensor.base = tensor.gap + kernel_pair_act(pair, planes_of(&tensor) * tensor.pitch + tensor.tail);
    return tensor;
}

mts_rec_dest kernel_pair_output(kernel_pair *pair, const uint32_t *dims)
{
    const mts_rec_dest tensor = kernel_pair_place(pair, dims);
    kernel_pair_may_write(pair, tensor.base - tensor.gap, planes_of(&tensor) * tensor.pitch + tensor.tail);
    return tensor;
}

mts_rec_view kernel_pair_view(const mts_rec_dest *tensor)
{
    mts_rec_view view = {.base = tensor->base};
    view.stride[5] = 1;
    view.stride[4] = tensor->row;
    view.stride[3] = tensor->pitch;
    for (int i = 2; i >= 0; i--) {
        view.stride[i] = view.stride[i + 1] * tensor->dims[i + 1];
    }
    return view;
}

static mts_rec_view pool_view(kernel_pair *pair, const uint32_t *dims)
{
    mts_rec_view view = {0};
    uint32_t count = 1;
    for (int i = MTS_REC_RANK - 1; i >= 0; i--) {
        view.stride[i] = count;
        count *= dims[i];
    }
    view.base = kernel_pair_pool(pair, count);
    return view;
}

mts_rec_view kernel_pair_operand(kernel_pair *pair, const uint32_t *dims, bool broadcast, uint32_t *in_pool)
{
    uint32_t own[MTS_REC_RANK];
    for (int i = 0; i < MTS_REC_RANK; i++) {
        own[i] = broadcast && kernel_pair_pick(pair, 0, 2) == 0 ? 1 : dims[i];
    }
    mts_rec_view view;
    if (in_pool && kernel_pair_pick(pair, 0, 1)) {
        *in_pool = 1;
        view = pool_view(pair, own);
    } else {
        const mts_rec_dest tensor = kernel_pair_place(pair, own);
        view = kernel_pair_view(&tensor);
    }
    for (int i = 0; i < MTS_REC_RANK; i++) {
        view.stride[i] = own[i] == dims[i] ? view.stride[i] : 0;
    }
    return view;
}

/* ---- running ---- */

static void check(mts_code code, const mts_error *error, const char *kernel)
{
    if (code != MTS_CODE_OK) {
        fail_msg("%s: %s: %s", kernel, mts_code_name(code), error->text);
    }
}

float *kernel_pair_result(const kernel_pair *pair, mts_device *device, const char *name, const char *defines,
                          uint32_t first, const uint32_t *grid, const uint32_t *local)
{
    const void *const data[3] = {pair->act, pair->pool, pair->table};
    const size_t sizes[3] = {KERNEL_PAIR_ACT * sizeof(float), KERNEL_PAIR_POOL * sizeof(float),
                             KERNEL_PAIR_TABLE * sizeof(uint32_t)};
    const mts_kernel_desc desc = {name, defines};
    mts_buffer *buffers[3] = {NULL, NULL, NULL};
    mts_kernel *kernel = NULL;
    mts_list *list = NULL;
    mts_error error = {0};
    for (int i = 0; i < 3; i++) {
        check(mts_buffer_create(device, sizes[i], &buffers[i], &error), &error, name);
        check(mts_buffer_write(buffers[i], 0, data[i], sizes[i], &error), &error, name);
    }
    check(mts_kernel_create(device, &desc, &kernel, &error), &error, name);
    const mts_launch launch = {.kernel = kernel,
                               .act = buffers[0],
                               .pool = buffers[1],
                               .table = buffers[2],
                               .first = first,
                               .global = {grid[0], grid[1], grid[2]},
                               .local = {local[0], local[1], local[2]},
                               .label = name};
    check(mts_list_create(device, &launch, 1, &list, &error), &error, name);
    check(mts_list_submit(list, &error), &error, name);
    float *result = malloc(sizes[0]);
    assert_non_null(result);
    check(mts_buffer_read(buffers[0], 0, result, sizes[0], &error), &error, name);
    mts_list_destroy(&list);
    mts_kernel_destroy(&kernel);
    for (int i = 0; i < 3; i++) {
        mts_buffer_destroy(&buffers[i]);
    }
    return result;
}

static bool same(float expected, float found, float tolerance)
{
    if (isnan(expected) || isnan(found)) {
        return isnan(expected) && isnan(found);
    }
    if (expected == found) {
        return true;
    }
    return fabsf(expected - found) <= tolerance * fmaxf(1.0f, fabsf(expected));
}

static unsigned char *writable(const kernel_pair *pair)
{
    unsigned char *map = calloc(KERNEL_PAIR_ACT, 1);
    assert_non_null(map);
    for (uint32_t i = 0; i < pair->region_count; i++) {
        memset(map + pair->regions[i].first, 1, pair->regions[i].count);
    }
    return map;
}

static void compare(const kernel_pair *pair, const char *kernel, const char *defines, const float *expected,
                    const float *found)
{
    unsigned char *map = writable(pair);
    for (uint32_t i = 0; i < KERNEL_PAIR_ACT; i++) {
        if (!map[i] && (memcmp(&found[i], &pair->act[i], sizeof *found) != 0 ||
                        memcmp(&expected[i], &pair->act[i], sizeof *found) != 0)) {
            fail_msg("%s (%s): float %u outside the output was written", kernel, defines, i);
        }
        if (!same(expected[i], found[i], pair->tolerance)) {
            fail_msg("%s (%s): float %u: reference %.9g, found %.9g, was %.9g", kernel, defines, i,
                     (double)expected[i], (double)found[i], (double)pair->act[i]);
        }
    }
    free(map);
}

void kernel_pair_run(kernel_pair *pair, const char *kernel, const char *defines, uint32_t first,
                     const uint32_t *grid, const uint32_t *local)
{
    float *expected = kernel_pair_result(pair, pair->devices[0], kernel, defines, first, grid, local);
    float *found = kernel_pair_result(pair, pair->devices[1], kernel, defines, first, grid, local);
    compare(pair, kernel, defines, expected, found);
    free(expected);
    free(found);
}

void kernel_pair_run_dest(kernel_pair *pair, const char *kernel, const void *records, uint32_t members,
                          size_t size)
{
    static const struct {
        const char *defines;
        uint32_t run, local;
    } builds[] = {{"-DVEC=1", 1, 16}, {"-DVEC=16", 96, 1}, {"-DVEC=4", 7, 4}, {"-DVEC=8", 1, 64}};
    const uint32_t words = (uint32_t)(size / sizeof(uint32_t));
    const uint32_t first = kernel_pair_words(pair, records, members * words);
    uint32_t pitch = 0;
    uint32_t planes = 0;
    for (uint32_t m = 0; m < members; m++) {
        mts_rec_dest dest;
        memcpy(&dest, (const char *)records + m * size, sizeof dest);
        pitch = dest.pitch > pitch ? dest.pitch : pitch;
        planes = planes_of(&dest) > planes ? planes_of(&dest) : planes;
    }
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        const uint32_t local[3] = {builds[i].local, 1, 1};
        const uint32_t items = (pitch + builds[i].run - 1) / builds[i].run;
        const uint32_t grid[3] = {(items + local[0] - 1) / local[0] * local[0], planes + 1, members};
        kernel_pair_run(pair, kernel, builds[i].defines, first, grid, local);
    }
}

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

#include "base/half.h"

#include "lower/launch_shape.h"
#include "support/kernel_mix.h"
#include "support/second_device.h"

#define SPREAD 2.0f                 /* random values lie in [-SPREAD, SPREAD] */
#define HALF_ULP (1.0f / 1024.0f)   /* of a float16, relative: two results may be rounded apart by one */
#define HALF_LEAST (1.0f / 8388608) /* and by two steps where it has no more bits to spend */
#define MARGIN 8192u                /* elements behind the last placed one, in which a stray access is seen */

/* A launch as both devices get it. */
typedef struct trial {
    const char *kernel;
    char defines[1024];
    int half; /* -DHALF= */
    uint32_t first;
    const uint32_t *grid, *local;
} trial;

static mts_device *open_device(const char *backend)
{
    const mts_device_options options = {.allocator = mts_allocator_default()};
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        mts_device *device = NULL;
        mts_error error = {0};
        if (strcmp(table[i]->name, backend) == 0 && table[i]->count() > 0 &&
            table[i]->open(0, &options, &device, &error) == MTS_STATUS_OK) {
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
    pair->devices[1] = open_device(second_device_backend("opencl"));
    *state = pair;
    if (second_device_has_dot() && pair->devices[1] && !pair->devices[1]->info.byte_products) {
        print_error("MTS_PROFILE gives the device products of bytes, which it does not have\n");
        return -1;
    }
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
    pair->half_slack = pair->product_slack = 0.0f;
    pair->raw_pool = false;
}

void kernel_pair_needs_both(const kernel_pair *pair)
{
    if (!pair->devices[1]) {
        print_message("no second device: nothing to compare with the reference\n");
        skip();
    }
}

void kernel_pair_start(kernel_pair *pair, uint32_t seed)
{
    kernel_pair_needs_both(pair);
    kernel_pair_clear(pair, seed);
}

/* ---- placing ---- */

uint32_t kernel_pair_act(kernel_pair *pair, uint32_t count)
{
    const uint32_t first = pair->act_used;
    pair->act_used += count + kernel_pair_pick(pair, 1, 40); /* a strip that no kernel may touch */
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
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        dims[i] = i < outer ? 1 : kernel_pair_pick(pair, 1, i < 4 ? 3 : most);
    }
}

static uint32_t planes_of(const mts_dest_params *tensor)
{
    return tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
}

mts_dest_params kernel_pair_place(kernel_pair *pair, const uint32_t *dims)
{
    mts_dest_params tensor = {0};
    const bool border = kernel_pair_pick(pair, 0, 2) > 0;
    memcpy(tensor.dims, dims, sizeof tensor.dims);
    tensor.row = dims[5] + (border ? kernel_pair_pick(pair, 0, 3) : 0);
    tensor.gap = border ? kernel_pair_pick(pair, 0, 33) : 0;
    tensor.tail = border ? kernel_pair_pick(pair, 0, 60) : 0;
    tensor.pitch = tensor.gap + tensor.row * dims[4] + (border ? kernel_pair_pick(pair, 0, 17) : 0);
    tensor.base = tensor.gap + kernel_pair_act(pair, planes_of(&tensor) * tensor.pitch + tensor.tail);
    return tensor;
}

mts_dest_params kernel_pair_output(kernel_pair *pair, const uint32_t *dims)
{
    const mts_dest_params tensor = kernel_pair_place(pair, dims);
    kernel_pair_may_write(pair, tensor.base - tensor.gap, planes_of(&tensor) * tensor.pitch + tensor.tail);
    return tensor;
}

mts_view_params kernel_pair_view(const mts_dest_params *tensor)
{
    mts_view_params view = {.base = tensor->base};
    view.stride[5] = 1;
    view.stride[4] = tensor->row;
    view.stride[3] = tensor->pitch;
    for (int i = 2; i >= 0; i--) {
        view.stride[i] = view.stride[i + 1] * tensor->dims[i + 1];
    }
    return view;
}

static mts_view_params pool_view(kernel_pair *pair, const uint32_t *dims)
{
    mts_view_params view = {0};
    uint32_t count = 1;
    for (int i = MTS_PARAM_RANK - 1; i >= 0; i--) {
        view.stride[i] = count;
        count *= dims[i];
    }
    view.base = kernel_pair_pool(pair, count);
    return view;
}

mts_view_params kernel_pair_operand(kernel_pair *pair, const uint32_t *dims, bool broadcast,
                                    uint32_t *in_pool)
{
    uint32_t own[MTS_PARAM_RANK];
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        own[i] = broadcast && kernel_pair_pick(pair, 0, 2) == 0 ? 1 : dims[i];
    }
    mts_view_params view;
    if (in_pool && kernel_pair_pick(pair, 0, 1)) {
        *in_pool = 1;
        view = pool_view(pair, own);
    } else {
        const mts_dest_params tensor = kernel_pair_place(pair, own);
        view = kernel_pair_view(&tensor);
    }
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        view.stride[i] = own[i] == dims[i] ? view.stride[i] : 0;
    }
    return view;
}

/* ---- running ---- */

static void check(mts_status code, const mts_error *error, const char *kernel)
{
    if (code != MTS_STATUS_OK) {
        fail_msg("%s: %s: %s", kernel, mts_status_text(code), error->text);
    }
}

static uint32_t with_margin(uint32_t used, uint32_t most)
{
    return used + MARGIN < most ? used + MARGIN : most;
}

uint32_t kernel_pair_extent(const kernel_pair *pair)
{
    return with_margin(pair->act_used, KERNEL_PAIR_ACT);
}

/* What a buffer of `count` elements holds: the floats, or float16 made of them. The caller frees it. */
static void *stored(const float *values, size_t count, bool half, size_t *size)
{
    *size = count * (half ? sizeof(uint16_t) : sizeof(float));
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    if (half) {
        mts_half_array_from_float(values, bytes, count);
    } else {
        memcpy(bytes, values, *size);
    }
    return bytes;
}

/* The floats that `bytes` from a buffer stand for; frees `bytes`. */
static float *floats_of(void *bytes, size_t count, bool half)
{
    if (!half) {
        return bytes;
    }
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    mts_half_array_to_float(bytes, values, count);
    free(bytes);
    return values;
}

/* Cuts groups down to what the device builds the kernel for. False: those of this kernel cannot be cut. */
static bool fit(mts_launch *launch, const char *kernel)
{
    const bool whole = strstr(kernel, "_block__");
    if (!whole) {
        mts_launch_fit(launch, strncmp(kernel, "conv_", strlen("conv_")) == 0);
    }
    return launch->local[0] * launch->local[1] * launch->local[2] <= launch->kernel->work_group_size;
}

static void launch_and_wait(mts_device *device, const trial *t, mts_buffer **buffers)
{
    const mts_kernel_desc desc = {.name = t->kernel, .defines = t->defines};
    mts_kernel *kernel = NULL;
    mts_command_list *list = NULL;
    mts_error error = {0};
    check(mts_kernel_create(device, &desc, &kernel, &error), &error, t->kernel);
    mts_launch launch = {.kernel = kernel,
                         .act = buffers[0],
                         .pool = buffers[1],
                         .params = buffers[2],
                         .first = t->first,
                         .global = {t->grid[0], t->grid[1], t->grid[2]},
                         .local = {t->local[0], t->local[1], t->local[2]},
                         .label = t->kernel};
    for (int i = 0; kernel->sources && i < MTS_LAUNCH_SOURCES; i++) {
        launch.sources[i] = launch.pool;
    }
    if (!fit(&launch, t->kernel)) {
        print_message("passed over: %s in groups of %u (%s builds it for %u)\n", t->kernel, t->local[0],
                      device->info.name, kernel->work_group_size);
        mts_kernel_destroy(&kernel);
        skip();
    }
    check(mts_command_list_create(device, &launch, 1, &list, &error), &error, t->kernel);
    check(mts_command_list_submit(list, &error), &error, t->kernel);
    check(mts_device_wait(device, &error), &error, t->kernel);
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&kernel);
}

static float *run_on(const kernel_pair *pair, mts_device *device, const trial *t)
{
    const uint32_t extent = kernel_pair_extent(pair);
    const uint32_t pool = with_margin(pair->pool_used, KERNEL_PAIR_POOL);
    size_t sizes[3] = {0, 0, with_margin(pair->table_used, KERNEL_PAIR_TABLE) * sizeof(uint32_t)};
    void *data[3] = {stored(pair->act, extent, t->half > 0, &sizes[0]),
                     stored(pair->pool, pool, t->half > 0 && !pair->raw_pool, &sizes[1]), pair->table};
    mts_buffer *buffers[3] = {NULL, NULL, NULL};
    mts_error error = {0};
    for (int i = 0; i < 3; i++) {
        check(mts_buffer_create(device, sizes[i], &buffers[i], &error), &error, t->kernel);
        check(mts_buffer_write(buffers[i], 0, data[i], sizes[i], &error), &error, t->kernel);
    }
    launch_and_wait(device, t, buffers);
    check(mts_buffer_read(buffers[0], 0, data[0], sizes[0], &error), &error, t->kernel);
    for (int i = 0; i < 3; i++) {
        mts_buffer_destroy(&buffers[i]);
    }
    free(data[1]);
    return floats_of(data[0], extent, t->half > 0);
}

static trial make_trial(const char *kernel, const char *defines, int half, uint32_t first,
                        const uint32_t *grid, const uint32_t *local)
{
    trial t = {.kernel = kernel, .half = half, .first = first, .grid = grid, .local = local};
    if (half > 0) {
        snprintf(t.defines, sizeof t.defines, "%s -DHALF=%d", defines, half);
    } else {
        snprintf(t.defines, sizeof t.defines, "%s", defines);
    }
    return t;
}

float *kernel_pair_result(const kernel_pair *pair, mts_device *device, const char *kernel,
                          const char *defines, uint32_t first, const uint32_t *grid, const uint32_t *local)
{
    const trial t = make_trial(kernel, defines, 0, first, grid, local);
    return run_on(pair, device, &t);
}

static bool same(const kernel_pair *pair, int half, float expected, float found)
{
    if (isnan(expected) || isnan(found)) {
        return isnan(expected) && isnan(found);
    }
    if (expected == found) {
        return true;
    }
    float allowed = pair->tolerance * fmaxf(1.0f, fabsf(expected));
    allowed += half > 0 ? HALF_ULP * fabsf(expected) + HALF_LEAST + pair->half_slack : 0.0f;
    allowed += half > 1 ? pair->product_slack : 0.0f;
    return fabsf(expected - found) <= allowed;
}

static unsigned char *writable(const kernel_pair *pair)
{
    unsigned char *map = calloc(kernel_pair_extent(pair), 1);
    assert_non_null(map);
    for (uint32_t i = 0; i < pair->region_count; i++) {
        memset(map + pair->regions[i].first, 1, pair->regions[i].count);
    }
    return map;
}

static void compare(const kernel_pair *pair, const trial *t, const float *was, const float *expected,
                    const float *found)
{
    const uint32_t extent = kernel_pair_extent(pair);
    unsigned char *map = writable(pair);
    for (uint32_t i = 0; i < extent; i++) {
        if (!map[i] && (memcmp(&found[i], &was[i], sizeof *found) != 0 ||
                        memcmp(&expected[i], &was[i], sizeof *found) != 0)) {
            fail_msg("%s (%s): element %u outside the output was written", t->kernel, t->defines, i);
        }
        if (!same(pair, t->half, expected[i], found[i])) {
            fail_msg("%s (%s): element %u: reference %.9g, found %.9g, was %.9g", t->kernel, t->defines, i,
                     (double)expected[i], (double)found[i], (double)was[i]);
        }
    }
    free(map);
}

bool kernel_is_for_gpus(const char *kernel)
{
    static const struct {
        const char *name, *made_for;
    } rows[] = {
#define KERNEL(folder, name, params, walk, made_for) {#name, #made_for},
#include "kernels/manifest.def"
#undef KERNEL
    };
    bool found = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        found = found || (strcmp(rows[i].name, kernel) == 0 && strstr(rows[i].made_for, "gpu"));
    }
    return found;
}

/* Whether the cpu backend was built for an instruction set of this width (MTS_CPU_SETS); its best one's always counts. */
static bool cpu_has_vectors(mts_device *device, unsigned long vector)
{
    char options[32];
    mts_kernel *kernel = NULL;
    if (vector == device->info.vector_floats) {
        return true;
    }
    (void)snprintf(options, sizeof options, "-DVEC=%lu", vector);
    const mts_kernel_desc desc = {.name = "copy_any__f32_planar", .defines = options};
    const bool has = mts_kernel_create(device, &desc, &kernel, NULL) == MTS_STATUS_OK;
    mts_kernel_destroy(&kernel);
    return has;
}

/*
 * Sessions on a GPU take vectors of 1 or 4 (prelude.h); longer ones would only cost their compilation. The cpu backend
 * has what its instruction sets have: vectors of 4 to its own, and no kernel for GPUs. Vectors of 8 are run there, and by
 * OpenCL where they are the processor's own.
 */
static bool is_asked_for(const kernel_pair *pair, const char *kernel, const char *defines)
{
    const mts_device_info *info = &pair->devices[1]->info;
    const char *vec = strstr(defines, "-DVEC=");
    const unsigned long vector = vec ? strtoul(vec + strlen("-DVEC="), NULL, 10) : 4;
    if (strcmp(info->backend, "cpu") == 0) {
        const char *group = strstr(defines, "-DGROUP="); /* work-items that meet at barriers */
        return vector >= 4 && !kernel_is_for_gpus(kernel) && cpu_has_vectors(pair->devices[1], vector) &&
               (!group || strtoul(group + strlen("-DGROUP="), NULL, 10) == 1);
    }
    return info->is_gpu ? vector <= 4 : vector != 8 || info->vector_floats == 8;
}

const char *kernel_pair_scalar(const mts_device *device)
{
    return strcmp(device->info.backend, "cpu") == 0 ? "" : "-DVEC=1";
}

/*
 * The combined program computes the bits of the kernel's own one; in one of the builds, which
 * take seconds each.
 */
static void check_mixed(kernel_pair *pair, const trial *t, const float *found)
{
    if (strcmp(t->defines, "-DVEC=16") != 0 || pair->raw_pool || !kernel_mix_has(t->kernel) ||
        strcmp(pair->devices[1]->info.backend, "cpu") == 0 || t->local[1] * t->local[2] != 1) {
        return;
    }
    kernel_mix mix = {.local = t->local[0]};
    (void)kernel_mix_add(&mix, t->kernel, t->first, t->grid);
    for (int d = 0; d < 2; d++) {
        float *alone = d == 0 ? run_on(pair, pair->devices[0], t) : NULL;
        float *mixed = kernel_mix_result(pair, pair->devices[d], &mix, t->defines);
        if (memcmp(d == 0 ? alone : found, mixed, kernel_pair_extent(pair) * sizeof *mixed) != 0) {
            fail_msg("%s (%s): other bits in the combined program", t->kernel, t->defines);
        }
        free(alone);
        free(mixed);
    }
}

void kernel_pair_run(kernel_pair *pair, const char *kernel, const char *defines, uint32_t first,
                     const uint32_t *grid, const uint32_t *local)
{
    if (!is_asked_for(pair, kernel, defines)) {
        return;
    }
    const int most = pair->float32_only ? 0 : pair->devices[1]->info.half_products ? 2 : 1;
    const uint32_t extent = kernel_pair_extent(pair);
    for (int half = 0; half <= most; half++) {
        const trial t = make_trial(kernel, defines, half, first, grid, local);
        size_t size = 0;
        float *was = floats_of(stored(pair->act, extent, half > 0, &size), extent, half > 0);
        float *expected = run_on(pair, pair->devices[0], &t);
        float *found = run_on(pair, pair->devices[1], &t);
        compare(pair, &t, was, expected, found);
        if (half == 0) {
            check_mixed(pair, &t, found);
        }
        free(was);
        free(expected);
        free(found);
    }
}

/* Builds of kernels over a destination, and how a grid is cut for them. */
static const struct {
    const char *defines;
    uint32_t run, local;
} builds[] = {{"-DVEC=1", 1, 16}, {"-DVEC=16", 96, 1}, {"-DVEC=4", 7, 4}, {"-DVEC=8", 1, 64}};

static void run_dest(kernel_pair *pair, const char *kernel, const char *define, uint32_t first_build,
                     uint32_t build_count, const kernel_pair_members *launch)
{
    const uint32_t words = (uint32_t)(launch->size / sizeof(uint32_t));
    const uint32_t first = kernel_pair_words(pair, launch->data, launch->members * words);
    uint32_t pitch = 0;
    uint32_t planes = 0;
    for (uint32_t m = 0; m < launch->members; m++) {
        mts_dest_params dest;
        memcpy(&dest, (const char *)launch->data + m * launch->size, sizeof dest);
        pitch = dest.pitch > pitch ? dest.pitch : pitch;
        planes = planes_of(&dest) > planes ? planes_of(&dest) : planes;
    }
    for (uint32_t i = first_build; i < first_build + build_count; i++) {
        const uint32_t local[3] = {builds[i].local, 1, 1};
        const uint32_t items = (pitch + builds[i].run - 1) / builds[i].run;
        const uint32_t grid[3] = {(items + local[0] - 1) / local[0] * local[0], planes + 1, launch->members};
        char defines[128];
        (void)snprintf(defines, sizeof defines, "%s%s", builds[i].defines, define);
        kernel_pair_run(pair, kernel, defines, first, grid, local);
    }
}

void kernel_pair_run_dest(kernel_pair *pair, const char *kernel, const void *params, uint32_t members,
                          size_t size)
{
    const kernel_pair_members all = {params, members, size};
    run_dest(pair, kernel, "", 0, sizeof builds / sizeof builds[0], &all);
}

void kernel_pair_run_dest_once(kernel_pair *pair, const char *kernel, const char *define, uint32_t number,
                               const kernel_pair_members *launch)
{
    pair->float32_only = number % 8 != 0;
    run_dest(pair, kernel, define, number % (pair->devices[1]->info.is_gpu ? 1 : 4), 1, launch);
    pair->float32_only = false;
}

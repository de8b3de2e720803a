/*
 * What device.h promises, asked of every device of every backend of this build.
 *
 * The null backend takes part in everything but results of kernels. A backend without a device is passed over
 * with a message.
 */
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/kernel.h"
#include "support/device_fixture.h"

#define COUNT 64u /* floats of a row */
#define SCALE_KERNEL "scale_any__f32_planar"

static const mts_backend *backend;
static uint32_t backend_index;
static device_fixture world;

/* Objects of most tests: y = 2 x over a row of activations. */
typedef struct setup_objects {
    mts_buffer *act, *pool, *table;
    mts_kernel *kernel;
    mts_launch launch; /* act[0..COUNT) doubled in place */
} setup_objects;

static setup_objects object;

static int open_device(void **state)
{
    (void)state;
    device_fixture_init(&world, NULL);
    device_fixture_open(&world, backend, backend_index);
    memset(&object, 0, sizeof object);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    mts_kernel_destroy(&object.kernel);
    mts_buffer_destroy(&object.act);
    mts_buffer_destroy(&object.pool);
    mts_buffer_destroy(&object.table);
    device_fixture_close(&world);
    return 0;
}

static bool computes(void)
{
    return strcmp(world.device->info.backend, "null") != 0;
}

static mts_buffer *make_buffer(size_t size)
{
    mts_buffer *buffer = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_buffer_create(world.device, size, &buffer, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_ptr_equal(buffer->device, world.device);
    assert_true(buffer->size == size);
    return buffer;
}

static mts_scale_params scale_record(uint32_t from, uint32_t to)
{
    const mts_scale_params record = {
        .dest = device_fixture_dest(to, COUNT),
        .src = device_fixture_view(from),
        .scale = 0,
        .bias = MTS_PARAM_NONE,
        .slope = MTS_PARAM_NONE,
        .fn = MTS_FN_NONE,
    };
    return record;
}

/* Three records: row 0 onto itself, row 0 to row 1, row 1 to row 2; each doubles. */
static void make_objects(void)
{
    const mts_kernel_desc desc = {SCALE_KERNEL, ""};
    const mts_scale_params records[3] = {scale_record(0, 0), scale_record(0, COUNT),
                                         scale_record(COUNT, 2 * COUNT)};
    const float factor = 2.0f;
    float row[3 * COUNT];
    mts_error error = {MTS_STATUS_OK, ""};
    for (uint32_t i = 0; i < 3 * COUNT; i++) {
        row[i] = (float)i;
    }
    object.act = make_buffer(3 * COUNT * sizeof(float) + 64); /* vectors may look a little beyond a row */
    object.pool = make_buffer(64);
    object.table = make_buffer(sizeof records);
    assert_int_equal(mts_buffer_fill(object.act, 0, object.act->size, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(object.act, 0, row, sizeof row, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(object.pool, 0, &factor, sizeof factor, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(object.table, 0, records, sizeof records, NULL), MTS_STATUS_OK);
    if (mts_kernel_create(world.device, &desc, &object.kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    object.launch.kernel = object.kernel;
    object.launch.act = object.act;
    object.launch.pool = object.pool;
    object.launch.params = object.table;
    object.launch.label = "double";
    device_fixture_grid(&object.launch, COUNT);
}

static void assert_row(uint32_t row, float factor)
{
    float got[COUNT];
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_buffer_read(object.act, row * sizeof got, got, sizeof got, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(got[i] == (float)i * factor);
    }
}

static mts_command_list *make_list(const mts_launch *launches, size_t count)
{
    mts_command_list *list = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_create(world.device, launches, count, &list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_ptr_equal(list->device, world.device);
    assert_true(list->count == count);
    return list;
}

static void the_description_is_that_of_the_opened_device(void **state)
{
    (void)state;
    mts_device_info info;
    const mts_device_info *own = &world.device->info;
    assert_int_equal(backend->describe(backend_index, &info, NULL), MTS_STATUS_OK);
    assert_string_equal(info.backend, backend->name);
    assert_string_equal(info.name, own->name);
    assert_string_equal(info.driver, own->driver);
    assert_true(own->name[0] && own->driver[0]);
    assert_true(own->compute_units >= 1 && own->work_group_size >= 1);
    assert_true(own->vector_floats == 4 || own->vector_floats == 8 || own->vector_floats == 16);
    assert_true(own->memory_bytes >= own->buffer_bytes && own->buffer_bytes >= (1u << 20));
    assert_int_equal(world.device->ops->abi, MTS_DEVICE_ABI);
}

static void a_device_that_does_not_exist_is_not_found(void **state)
{
    (void)state;
    mts_device_info info;
    mts_device *device = world.device;
    mts_error error;
    assert_int_equal(backend->describe(backend->count(), &info, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(backend->open(backend->count(), &world.options, &device, &error), MTS_STATUS_NOT_FOUND);
    assert_null(device);
}

static void what_is_written_is_read_back_at_any_offset(void **state)
{
    (void)state;
    unsigned char data[777];
    unsigned char got[777];
    mts_buffer *buffer = make_buffer(4096);
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 31);
    }
    assert_int_equal(mts_buffer_fill(buffer, 0, 4096, 0x5a5a5a5au, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(buffer, 1001, data, sizeof data, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, 1001, got, sizeof got, NULL), MTS_STATUS_OK);
    assert_memory_equal(got, data, sizeof data);
    assert_int_equal(mts_buffer_read(buffer, 1000, got, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, 1001 + sizeof data, got + 1, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(got[0], 0x5a);
    assert_int_equal(got[1], 0x5a);
    mts_buffer_destroy(&buffer);
    assert_null(buffer);
}

static void data_may_be_reused_as_soon_as_a_write_returns(void **state)
{
    (void)state;
    const size_t size = (size_t)1 << 20;
    unsigned char *data = mts_alloc_zero(mts_allocator_default(), size, 1);
    mts_buffer *buffer = make_buffer(size);
    memset(data, 1, size);
    assert_int_equal(mts_buffer_write(buffer, 0, data, size, NULL), MTS_STATUS_OK);
    memset(data, 2, size);
    unsigned char got[3];
    assert_int_equal(mts_buffer_read(buffer, 0, got, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, size / 2, got + 1, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, size - 1, got + 2, 1, NULL), MTS_STATUS_OK);
    assert_memory_equal(got, "\1\1\1", 3);
    mts_buffer_destroy(&buffer);
    mts_alloc_free(mts_allocator_default(), data);
}

static void filling_sets_its_range_and_nothing_else(void **state)
{
    (void)state;
    uint32_t got[8];
    mts_buffer *buffer = make_buffer(sizeof got);
    assert_int_equal(mts_buffer_fill(buffer, 0, sizeof got, 0xffffffffu, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(buffer, 8, 12, 0x01020304u, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, 0, got, sizeof got, NULL), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(got[i], i >= 2 && i < 5 ? 0x01020304u : 0xffffffffu);
    }
    mts_buffer_destroy(&buffer);
}

static void ranges_outside_a_buffer_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset, size;
    } bad[] = {{0, 65},          {64, 1}, {65, 0}, {1, SIZE_MAX}, {SIZE_MAX, 1}, {SIZE_MAX, SIZE_MAX},
               {SIZE_MAX - 3, 4}};
    unsigned char data[64] = {0};
    mts_buffer *buffer = make_buffer(64);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const size_t at = bad[i].offset;
        assert_int_equal(mts_buffer_write(buffer, at, data, bad[i].size, NULL), MTS_STATUS_INVALID_ARGUMENT);
        assert_int_equal(mts_buffer_read(buffer, at, data, bad[i].size, NULL), MTS_STATUS_INVALID_ARGUMENT);
        assert_int_equal(mts_buffer_fill(buffer, at, bad[i].size, 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    }
    assert_int_equal(mts_buffer_fill(buffer, 2, 4, 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fill(buffer, 4, 6, 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write(buffer, 0, NULL, 4, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write(buffer, 64, NULL, 0, NULL),
                     MTS_STATUS_OK); /* nothing is always possible */
    assert_int_equal(mts_buffer_read(buffer, 0, NULL, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(buffer, 64, 0, 0, NULL), MTS_STATUS_OK);
    mts_buffer_destroy(&buffer);
}

static void null_arguments_are_refused_and_outputs_become_null(void **state)
{
    (void)state;
    mts_error error;
    mts_buffer *buffer = (mts_buffer *)&error;
    mts_kernel *kernel = (mts_kernel *)&error;
    mts_command_list *list = (mts_command_list *)&error;
    const mts_kernel_desc nameless = {"", ""};
    const mts_kernel_desc unnamed = {NULL, NULL};
    assert_int_equal(mts_buffer_create(NULL, 4, &buffer, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(buffer);
    assert_int_equal(mts_buffer_create(world.device, 4, NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_create(world.device, 0, &buffer, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kernel_create(world.device, NULL, &kernel, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(kernel);
    assert_int_equal(mts_kernel_create(world.device, &nameless, &kernel, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kernel_create(world.device, &unnamed, &kernel, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_create(world.device, NULL, 1, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(list);
    assert_int_equal(mts_buffer_write(NULL, 0, &error, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read(NULL, 0, &error, 4, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fill(NULL, 0, 4, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_submit(NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_profile(NULL, NULL, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_device_wait(NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_buffer_destroy(NULL);
    mts_buffer_destroy(&buffer);
    mts_kernel_destroy(NULL);
    mts_kernel_destroy(&kernel);
    mts_command_list_destroy(NULL);
    mts_command_list_destroy(&list);
    mts_device_destroy(NULL);
}

static void a_buffer_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    mts_error error;
    mts_buffer *buffer = NULL;
    const uint64_t most = world.device->info.buffer_bytes;
    if (most < SIZE_MAX) {
        assert_int_equal(mts_buffer_create(world.device, (size_t)most + 1, &buffer, &error),
                         MTS_STATUS_LIMIT);
        assert_null(buffer);
    }
}

static void an_unknown_kernel_is_not_found(void **state)
{
    (void)state;
    mts_error error;
    mts_kernel *kernel = NULL;
    const mts_kernel_desc desc = {"no_such_kernel__f32_planar", ""};
    assert_int_equal(mts_kernel_create(world.device, &desc, &kernel, &error), MTS_STATUS_NOT_FOUND);
    assert_null(kernel);
    assert_non_null(strstr(error.text, "no_such_kernel__f32_planar"));
}

static void every_kernel_of_the_manifest_is_there(void **state)
{
    (void)state;
    size_t count = 0;
    const mts_kernel_source *rows = mts_kernel_table(&count);
    assert_true(count >= 1);
    for (size_t i = 0; i < count; i++) {
        mts_kernel *kernel = NULL;
        mts_error error = {MTS_STATUS_OK, ""};
        const mts_kernel_desc desc = {rows[i].name, "-DVEC=1"}; /* the only one for kernels of GPUs */
        if (!strstr(rows[i].name, "_planar") && strcmp(backend->name, "reference") == 0) {
            continue; /* a measurement, no operator */
        }
        if (mts_kernel_create(world.device, &desc, &kernel, &error) != MTS_STATUS_OK) {
            fail_msg("%s", error.text);
        }
        assert_in_range(kernel->work_group_size, 1, world.device->info.work_group_size);
        assert_ptr_equal(kernel->device, world.device);
        mts_kernel_destroy(&kernel);
        assert_null(kernel);
    }
}

static void commands_run_in_the_order_they_were_given(void **state)
{
    (void)state;
    make_objects();
    mts_launch launches[2] = {object.launch, object.launch};
    launches[0].first = MTS_PARAM_WORDS(mts_scale_params);
    launches[1].first = 2 * MTS_PARAM_WORDS(mts_scale_params);
    mts_command_list *list = make_list(launches, 2);
    mts_command_list *twice = make_list(&object.launch, 1);
    assert_int_equal(mts_command_list_submit(twice, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    if (computes()) {
        assert_row(0, 2.0f);
        assert_row(1, 4.0f);
        assert_row(2, 8.0f);
    }
    const uint32_t three = 0x40400000u; /* 3.0f: the write waits for what runs, the list sees it */
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(object.pool, 0, 4, three, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    if (computes()) {
        assert_row(2, 18.0f);
    }
    mts_command_list_destroy(&list);
    mts_command_list_destroy(&twice);
}

static void a_list_may_be_submitted_many_times_without_allocating(void **state)
{
    (void)state;
    make_objects();
    mts_launch copy = object.launch;
    mts_command_list *list = make_list(&copy, 1);
    memset(&copy, 0xff, sizeof copy); /* the list has its own */
    const uint32_t calls = world.allocator.calls;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(world.allocator.calls, calls);
    assert_row(0, computes() ? 1024.0f : 1.0f);
    mts_command_list_destroy(&list);
}

static void a_list_is_updated_to_other_records_and_buffers_without_being_made_again(void **state)
{
    (void)state;
    const float ten = 10.0f;
    make_objects();
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *pool = make_buffer(64);
    mts_launch launches[3] = {object.launch, object.launch, object.launch};
    assert_int_equal(mts_buffer_write(pool, 0, &ten, sizeof ten, NULL), MTS_STATUS_OK);
    mts_command_list *list = make_list(launches, 3);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK); /* row 0 by 8 */
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    launches[0].pool = pool;
    launches[2].first = MTS_PARAM_WORDS(mts_scale_params);
    assert_int_equal(mts_command_list_update(list, launches, 2, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_update(list, NULL, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_update(NULL, launches, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    const mts_status code = mts_command_list_update(list, launches, 3, &error);
    if (code != MTS_STATUS_UNSUPPORTED) {
        assert_int_equal(code, MTS_STATUS_OK);
        memset(launches, 0xff, sizeof launches); /* the list has its own */
        assert_int_equal(mts_command_list_submit(list, NULL),
                         MTS_STATUS_OK); /* row 0 by 20, row 1 is twice that */
        if (computes()) {
            assert_row(0, 160.0f);
            assert_row(1, 320.0f);
        }
    }
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&pool);
}

static void profiling_runs_the_list_once_and_times_every_launch(void **state)
{
    (void)state;
    make_objects();
    const mts_launch launches[2] = {object.launch, object.launch};
    mts_command_list *list = make_list(launches, 2);
    mts_launch_time times[2] = {{UINT64_MAX, 0}, {UINT64_MAX, 0}};
    mts_error error = {MTS_STATUS_OK, ""};
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    const mts_status code = mts_command_list_profile(list, times, 2, &error);
    if (code != MTS_STATUS_UNSUPPORTED) {
        assert_int_equal(code, MTS_STATUS_OK);
        for (int i = 0; i < 2; i++) {
            assert_true(times[i].start <= times[i].end && times[i].end < 10000000000u);
        }
        assert_true(times[0].end <= times[1].start); /* commands run in order */
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
        assert_row(0, computes() ? 64.0f : 1.0f);
    }
    assert_int_equal(mts_command_list_profile(list, times, 1, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_profile(list, times, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_profile(list, NULL, 2, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_command_list_destroy(&list);
}

static void an_empty_list_and_an_idle_wait_do_nothing(void **state)
{
    (void)state;
    mts_command_list *list = make_list(NULL, 0);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
}

static void assert_launch_refused(const mts_launch *launch)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_command_list *list = (mts_command_list *)&error;
    const mts_launch launches[2] = {object.launch, *launch};
    assert_int_equal(mts_command_list_create(world.device, launches, 2, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(list);
    assert_non_null(strstr(error.text, "double")); /* the label */
}

static void grids_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    make_objects();
    mts_launch bad = object.launch;
    bad.local[0] = 0;
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.global[2] = 0;
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.local[1] = 3; /* global is 2 */
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.global[0] = bad.local[0] = object.kernel->work_group_size;
    bad.local[1] = 2; /* twice the most */
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.global[0] = bad.local[0] = 65536; /* a product of 2^32 must not wrap */
    bad.global[1] = bad.local[1] = 65536;
    bad.global[2] = bad.local[2] = 65536;
    assert_launch_refused(&bad);
}

static void launches_with_missing_or_foreign_objects_are_refused(void **state)
{
    (void)state;
    make_objects();
    device_fixture other;
    mts_launch bad = object.launch;
    bad.kernel = NULL;
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.act = NULL;
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.params = NULL;
    assert_launch_refused(&bad);
    bad = object.launch;
    bad.first = (uint32_t)(object.table->size / 4);
    assert_launch_refused(&bad);
    device_fixture_init(&other, NULL);
    device_fixture_open(&other, backend, backend_index);
    mts_buffer *foreign = NULL;
    assert_int_equal(mts_buffer_create(other.device, 64, &foreign, NULL), MTS_STATUS_OK);
    bad = object.launch;
    bad.pool = foreign;
    assert_launch_refused(&bad);
    mts_buffer_destroy(&foreign);
    device_fixture_close(&other);
}

static void a_failed_allocation_anywhere_is_out_of_memory_and_leaks_nothing(void **state)
{
    (void)state;
    make_objects();
    const mts_kernel_desc desc = {SCALE_KERNEL, "-DMTS_TEST_FAULT=1"};
    for (uint32_t nth = 1;; nth++) {
        mts_buffer *buffer = NULL;
        mts_kernel *kernel = NULL;
        mts_command_list *list = NULL;
        mts_error error = {MTS_STATUS_OK, ""};
        world.allocator.calls = 0;
        world.allocator.failed = 0;
        world.allocator.nth = nth;
        const uint32_t alive = world.allocator.alive;
        mts_status code = mts_buffer_create(world.device, 64, &buffer, &error);
        code = code ? code : mts_command_list_create(world.device, &object.launch, 1, &list, &error);
        code = code ? code : mts_kernel_create(world.device, &desc, &kernel, &error);
        const bool failed = world.allocator.failed != 0;
        world.allocator.nth = 0;
        mts_command_list_destroy(&list);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&buffer);
        if (!failed) {
            assert_int_equal(code, MTS_STATUS_OK);
            assert_in_range(nth, 4, 60);
            return;
        }
        assert_int_equal(code, MTS_STATUS_OUT_OF_MEMORY);
        assert_true(error.text[0]);
        assert_int_equal(world.allocator.alive, alive);
    }
}

static void opening_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (uint32_t nth = 1;; nth++) {
        device_fixture other;
        mts_error error = {MTS_STATUS_OK, ""};
        device_fixture_init(&other, "/tmp/mts-unused-cache");
        other.allocator.nth = nth;
        const mts_status code = backend->open(backend_index, &other.options, &other.device, &error);
        if (other.allocator.failed == 0) {
            assert_int_equal(code, MTS_STATUS_OK);
            device_fixture_close(&other);
            return;
        }
        assert_int_equal(code, MTS_STATUS_OUT_OF_MEMORY);
        assert_null(other.device);
        assert_int_equal(other.allocator.alive, 0);
    }
}

static void a_lost_device_refuses_everything_but_destroying(void **state)
{
    (void)state;
    make_objects();
    mts_error error;
    mts_buffer *buffer = NULL;
    mts_kernel *kernel = NULL;
    mts_command_list *none = NULL;
    uint64_t time = 0;
    mts_launch_time span = {0, 0};
    const mts_kernel_desc desc = {SCALE_KERNEL, ""};
    mts_command_list *list = make_list(&object.launch, 1);
    world.device->lost = true;
    assert_int_equal(mts_buffer_create(world.device, 4, &buffer, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, world.device->info.name));
    assert_int_equal(mts_buffer_write(object.act, 0, &time, 4, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_read(object.act, 0, &time, 4, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_fill(object.act, 0, 4, 0, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_kernel_create(world.device, &desc, &kernel, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_create(world.device, &object.launch, 1, &none, &error),
                     MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_update(list, &object.launch, 1, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_profile(list, &span, 1, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_wait(world.device, &error), MTS_STATUS_DEVICE_LOST);
    mts_command_list_destroy(&list);
}

static void a_device_of_another_interface_version_is_refused(void **state)
{
    (void)state;
    mts_error error;
    const mts_device_ops *ops = world.device->ops;
    mts_device_ops newer = *ops;
    newer.abi = MTS_DEVICE_ABI + 1;
    world.device->ops = &newer;
    assert_int_equal(mts_device_wait(world.device, &error), MTS_STATUS_INVALID_ARGUMENT);
    world.device->ops = ops;
}

static void the_callers_memory_is_read_where_it_lies(void **state)
{
    (void)state;
    float factors[16] = {3.0f};
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = factors, .size = sizeof factors};
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *lent = (mts_buffer *)&error;
    make_objects();
    if ((world.device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) == 0) {
        assert_int_equal(mts_buffer_import(world.device, &memory, &lent, &error), MTS_STATUS_UNSUPPORTED);
        assert_null(lent);
        return;
    }
    assert_int_equal(mts_buffer_import(world.device, &memory, &lent, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(lent, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write_async(lent, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read(lent, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read_async(lent, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fill(lent, 0, 4, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_launch launch = object.launch;
    mts_command_list *list = NULL;
    launch.first = MTS_PARAM_WORDS(mts_scale_params); /* row 0 to row 1 */
    launch.act = lent;
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    launch.act = object.act;
    launch.pool = lent;
    list = make_list(&launch, 1);
    for (int run = 0; run < 2; run++) { /* what the caller writes between two runs is seen */
        factors[0] += (float)run;
        assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_OK);
        assert_int_equal(mts_device_wait(world.device, &error), MTS_STATUS_OK);
        assert_row(1, factors[0]);
    }
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&lent);
}

static void memory_that_is_none_or_of_a_kind_that_the_device_does_not_take_is_refused(void **state)
{
    static const mts_memory none[] = {
        {.kind = MTS_MEMORY_HOST, .host = NULL, .size = 64},
        {.kind = MTS_MEMORY_ANDROID, .host = NULL, .size = 64},
        {.kind = MTS_MEMORY_DMABUF, .fd = -1, .size = 64},
        {.kind = (mts_memory_kind)MTS_MEMORY_KINDS, .host = none, .size = 64},
        {.kind = (mts_memory_kind)-1, .host = none, .size = 64},
    };
    (void)state;
    const uint32_t imports = world.device->info.imports;
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *lent = NULL;
    assert_int_equal(mts_buffer_import(world.device, NULL, &lent, &error), MTS_STATUS_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        lent = (mts_buffer *)&error;
        assert_int_equal(mts_buffer_import(world.device, &none[i], &lent, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_null(lent);
    }
    assert_true(imports < MTS_MEMORY_BIT(MTS_MEMORY_KINDS));
    for (int kind = 0; kind < MTS_MEMORY_KINDS; kind++) {
        const mts_memory some = {.kind = (mts_memory_kind)kind, .host = none, .fd = 0, .size = 0};
        world.device->info.imports = imports & ~MTS_MEMORY_BIT(kind);
        lent = (mts_buffer *)&error;
        assert_int_equal(mts_buffer_import(world.device, &some, &lent, &error), MTS_STATUS_UNSUPPORTED);
        assert_null(lent);
        assert_non_null(strstr(error.text, world.device->info.name));
        world.device->info.imports = imports | MTS_MEMORY_BIT(kind);
        assert_int_equal(mts_buffer_import(world.device, &some, &lent, &error), MTS_STATUS_INVALID_ARGUMENT);
        assert_null(lent); /* of no bytes */
        world.device->info.imports = imports;
    }
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

static int run_device(void)
{
    char group[MTS_DEVICE_NAME + 64];
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(the_description_is_that_of_the_opened_device),
        DEVICE_TEST(a_device_that_does_not_exist_is_not_found),
        DEVICE_TEST(what_is_written_is_read_back_at_any_offset),
        DEVICE_TEST(data_may_be_reused_as_soon_as_a_write_returns),
        DEVICE_TEST(filling_sets_its_range_and_nothing_else),
        DEVICE_TEST(ranges_outside_a_buffer_are_refused),
        DEVICE_TEST(null_arguments_are_refused_and_outputs_become_null),
        DEVICE_TEST(a_buffer_beyond_the_limit_is_refused),
        DEVICE_TEST(an_unknown_kernel_is_not_found),
        DEVICE_TEST(every_kernel_of_the_manifest_is_there),
        DEVICE_TEST(the_callers_memory_is_read_where_it_lies),
        DEVICE_TEST(memory_that_is_none_or_of_a_kind_that_the_device_does_not_take_is_refused),
        DEVICE_TEST(commands_run_in_the_order_they_were_given),
        DEVICE_TEST(a_list_may_be_submitted_many_times_without_allocating),
        DEVICE_TEST(a_list_is_updated_to_other_records_and_buffers_without_being_made_again),
        DEVICE_TEST(profiling_runs_the_list_once_and_times_every_launch),
        DEVICE_TEST(an_empty_list_and_an_idle_wait_do_nothing),
        DEVICE_TEST(grids_that_do_not_fit_are_refused),
        DEVICE_TEST(launches_with_missing_or_foreign_objects_are_refused),
        DEVICE_TEST(a_failed_allocation_anywhere_is_out_of_memory_and_leaks_nothing),
        DEVICE_TEST(opening_survives_every_failed_allocation),
        DEVICE_TEST(a_lost_device_refuses_everything_but_destroying),
        DEVICE_TEST(a_device_of_another_interface_version_is_refused),
    };
    (void)snprintf(group, sizeof group, "%s:%u", backend->name, backend_index);
    return cmocka_run_group_tests_name(group, tests, NULL, NULL);
}

int main(void)
{
    int failed = 0;
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        backend = table[i];
        const uint32_t devices = backend->count();
        if (devices == 0) {
            (void)printf("backend %s is passed over: it has no device on this machine\n", backend->name);
        }
        for (backend_index = 0; backend_index < devices; backend_index++) {
            failed += run_device();
        }
    }
    return failed;
}

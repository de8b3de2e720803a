/*
 * What device.h promises of work that is done, asked of every device of every backend of this build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/kernel.h"
#include "support/each_device.h"
#include "support/kernel_pair.h"

static void the_description_is_that_of_the_opened_device(void **state)
{
    (void)state;
    mts_device_info info;
    const mts_device_info *own = &each_device.fixture.device->info;
    assert_int_equal(each_device.backend->describe(each_device.index, &info, NULL), MTS_STATUS_OK);
    assert_string_equal(info.backend, each_device.backend->name);
    assert_string_equal(info.name, own->name);
    assert_string_equal(info.driver, own->driver);
    assert_true(own->name[0] && own->driver[0]);
    assert_true(own->compute_units >= 1 && own->work_group_size >= 1);
    assert_true(own->vector_floats == 4 || own->vector_floats == 8 || own->vector_floats == 16);
    assert_true(own->memory_bytes >= own->buffer_bytes && own->buffer_bytes >= (1u << 20));
    assert_int_equal(each_device.fixture.device->ops->abi, MTS_DEVICE_ABI);
}

static void a_device_that_does_not_exist_is_not_found(void **state)
{
    (void)state;
    mts_device_info info;
    mts_device *device = each_device.fixture.device;
    mts_error error;
    assert_int_equal(each_device.backend->describe(each_device.backend->count(), &info, &error),
                     MTS_STATUS_NOT_FOUND);
    assert_int_equal(each_device.backend->open(each_device.backend->count(), &each_device.fixture.options,
                                               &device, &error),
                     MTS_STATUS_NOT_FOUND);
    assert_null(device);
}

static void what_is_written_is_read_back_at_any_offset(void **state)
{
    (void)state;
    unsigned char data[777];
    unsigned char got[777];
    mts_buffer *buffer = each_device_buffer(4096);
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

static void what_is_written_in_host_memory_is_what_the_buffer_holds(void **state)
{
    (void)state;
    unsigned char got[100];
    mts_buffer *buffer = each_device_buffer(sizeof got);
    if (!buffer->host) {
        mts_buffer_destroy(&buffer);
        skip(); /* the device has memory of its own */
    }
    memset(buffer->host, 9, sizeof got);
    assert_int_equal(mts_buffer_read(buffer, 0, got, sizeof got, NULL), MTS_STATUS_OK);
    assert_memory_equal(got, buffer->host, sizeof got);
    assert_int_equal(mts_buffer_fill(buffer, 4, 8, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_wait(buffer->device, NULL), MTS_STATUS_OK);
    assert_int_equal(((unsigned char *)buffer->host)[3] + ((unsigned char *)buffer->host)[4], 9);
    mts_buffer_destroy(&buffer);
}

static void data_may_be_reused_as_soon_as_a_write_returns(void **state)
{
    (void)state;
    const size_t size = (size_t)1 << 20;
    unsigned char *data = mts_alloc_zero(mts_allocator_default(), size, 1);
    mts_buffer *buffer = each_device_buffer(size);
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
    mts_buffer *buffer = each_device_buffer(sizeof got);
    assert_int_equal(mts_buffer_fill(buffer, 0, sizeof got, 0xffffffffu, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(buffer, 8, 12, 0x01020304u, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, 0, got, sizeof got, NULL), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(got[i], i >= 2 && i < 5 ? 0x01020304u : 0xffffffffu);
    }
    mts_buffer_destroy(&buffer);
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
        const bool ahead =
            strcmp(each_device.backend->name, "cpu") == 0; /* compiled, without those of GPUs */
        /* the only vector for kernels of GPUs; bits of the combined program's members */
        const bool persist = strcmp(rows[i].name, "persist_any__f32_planar") == 0;
        const bool mixed = persist || strcmp(rows[i].name, "mixed_any__f32_planar") == 0;
        /* its vector is a pack of channels */
        const bool packed = strstr(rows[i].name, "_packed__f32_lanes") != NULL;
        const mts_kernel_desc desc = {.name = rows[i].name,
                                      .defines = ahead     ? ""
                                                 : persist ? "-DVEC=1 -DMIXED=3 -DPERSIST=0"
                                                 : mixed   ? "-DVEC=1 -DMIXED=3"
                                                 : packed  ? "-DVEC=4"
                                                           : "-DVEC=1",
                                      .resident_items = persist ? 1 : 0};
        if (ahead && (mixed || kernel_is_for_gpus(rows[i].name))) {
            continue;
        }
        if ((persist || !strstr(rows[i].name, "_planar")) &&
            strcmp(each_device.backend->name, "reference") == 0) {
            continue; /* a measurement, and launches of operators: none itself */
        }
        if (persist && !each_device.fixture.device->info.persistent) {
            continue;
        }
        if (mts_kernel_create(each_device.fixture.device, &desc, &kernel, &error) != MTS_STATUS_OK) {
            fail_msg("%s", error.text);
        }
        assert_in_range(kernel->work_group_size, 1, each_device.fixture.device->info.work_group_size);
        assert_ptr_equal(kernel->device, each_device.fixture.device);
        mts_kernel_destroy(&kernel);
        assert_null(kernel);
    }
}

static void commands_run_in_the_order_they_were_given(void **state)
{
    (void)state;
    each_device_objects_make();
    mts_launch launches[2] = {each_device.launch, each_device.launch};
    launches[0].first = MTS_PARAM_WORDS(mts_scale_params);
    launches[1].first = 2 * MTS_PARAM_WORDS(mts_scale_params);
    mts_command_list *list = each_device_list(launches, 2);
    mts_command_list *twice = each_device_list(&each_device.launch, 1);
    assert_int_equal(mts_command_list_submit(twice, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    if (each_device_computes()) {
        each_device_row_check(0, 2.0f);
        each_device_row_check(1, 4.0f);
        each_device_row_check(2, 8.0f);
    }
    const uint32_t three = 0x40400000u; /* 3.0f: the write waits for what runs, the list sees it */
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(each_device.pool, 0, 4, three, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    if (each_device_computes()) {
        each_device_row_check(2, 18.0f);
    }
    mts_command_list_destroy(&list);
    mts_command_list_destroy(&twice);
}

static void a_list_may_be_submitted_many_times_without_allocating(void **state)
{
    (void)state;
    each_device_objects_make();
    mts_launch copy = each_device.launch;
    mts_command_list *list = each_device_list(&copy, 1);
    memset(&copy, 0xff, sizeof copy); /* the list has its own */
    const uint32_t calls = each_device.fixture.allocator.calls;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(mts_device_wait(each_device.fixture.device, NULL), MTS_STATUS_OK);
    assert_int_equal(each_device.fixture.allocator.calls, calls);
    each_device_row_check(0, each_device_computes() ? 1024.0f : 1.0f);
    mts_command_list_destroy(&list);
}

static void a_list_is_updated_to_other_records_and_buffers_without_being_made_again(void **state)
{
    (void)state;
    const float ten = 10.0f;
    each_device_objects_make();
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *pool = each_device_buffer(64);
    mts_launch launches[3] = {each_device.launch, each_device.launch, each_device.launch};
    assert_int_equal(mts_buffer_write(pool, 0, &ten, sizeof ten, NULL), MTS_STATUS_OK);
    mts_command_list *list = each_device_list(launches, 3);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK); /* row 0 by 8 */
    assert_int_equal(mts_device_wait(each_device.fixture.device, NULL), MTS_STATUS_OK);
    launches[0].pool = pool;
    launches[2].first = MTS_PARAM_WORDS(mts_scale_params);
    assert_int_equal(mts_command_list_update(list, launches, 2, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_update(list, NULL, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_update(NULL, launches, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    const mts_status status = mts_command_list_update(list, launches, 3, &error);
    if (status != MTS_STATUS_UNSUPPORTED) {
        assert_int_equal(status, MTS_STATUS_OK);
        memset(launches, 0xff, sizeof launches); /* the list has its own */
        assert_int_equal(mts_command_list_submit(list, NULL),
                         MTS_STATUS_OK); /* row 0 by 20, row 1 is twice that */
        if (each_device_computes()) {
            each_device_row_check(0, 160.0f);
            each_device_row_check(1, 320.0f);
        }
    }
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&pool);
}

static void profiling_runs_the_list_once_and_times_every_launch(void **state)
{
    (void)state;
    each_device_objects_make();
    const mts_launch launches[2] = {each_device.launch, each_device.launch};
    mts_command_list *list = each_device_list(launches, 2);
    mts_launch_time times[2] = {{UINT64_MAX, 0}, {UINT64_MAX, 0}};
    mts_error error = {MTS_STATUS_OK, ""};
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    const mts_status status = mts_command_list_profile(list, times, 2, &error);
    if (status != MTS_STATUS_UNSUPPORTED) {
        assert_int_equal(status, MTS_STATUS_OK);
        for (int i = 0; i < 2; i++) {
            assert_true(times[i].start <= times[i].end && times[i].end < 10000000000u);
        }
        assert_true(times[0].end <= times[1].start); /* commands run in order */
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
        each_device_row_check(0, each_device_computes() ? 64.0f : 1.0f);
    }
    assert_int_equal(mts_command_list_profile(list, times, 1, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_profile(list, times, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_profile(list, NULL, 2, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_command_list_destroy(&list);
}

static void an_empty_list_and_an_idle_wait_do_nothing(void **state)
{
    (void)state;
    mts_command_list *list = each_device_list(NULL, 0);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_wait(each_device.fixture.device, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
}

static void the_callers_memory_is_read_where_it_lies(void **state)
{
    (void)state;
    _Alignas(128) float factors[16] = {3.0f}; /* some drivers take no other */
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = factors, .size = sizeof factors};
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *imported = (mts_buffer *)&error;
    each_device_objects_make();
    if ((each_device.fixture.device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) == 0) {
        assert_int_equal(mts_buffer_import(each_device.fixture.device, &memory, &imported, &error),
                         MTS_STATUS_UNSUPPORTED);
        assert_null(imported);
        return;
    }
    assert_int_equal(mts_buffer_import(each_device.fixture.device, &memory, &imported, &error),
                     MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(imported, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write_async(imported, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read(imported, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read_async(imported, 0, factors, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fill(imported, 0, 4, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_launch launch = each_device.launch;
    mts_command_list *list = NULL;
    launch.first = MTS_PARAM_WORDS(mts_scale_params); /* row 0 to row 1 */
    launch.act = imported;
    assert_int_equal(mts_command_list_create(each_device.fixture.device, &launch, 1, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    launch.act = each_device.act;
    launch.pool = imported;
    list = each_device_list(&launch, 1);
    for (int run = 0; run < 2; run++) { /* what the caller writes between two runs is seen */
        factors[0] += (float)run;
        assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_OK);
        assert_int_equal(mts_device_wait(each_device.fixture.device, &error), MTS_STATUS_OK);
        each_device_row_check(1, factors[0]);
    }
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&imported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(the_description_is_that_of_the_opened_device),
        DEVICE_TEST(a_device_that_does_not_exist_is_not_found),
        DEVICE_TEST(what_is_written_is_read_back_at_any_offset),
        DEVICE_TEST(what_is_written_in_host_memory_is_what_the_buffer_holds),
        DEVICE_TEST(data_may_be_reused_as_soon_as_a_write_returns),
        DEVICE_TEST(filling_sets_its_range_and_nothing_else),
        DEVICE_TEST(every_kernel_of_the_manifest_is_there),
        DEVICE_TEST(the_callers_memory_is_read_where_it_lies),
        DEVICE_TEST(commands_run_in_the_order_they_were_given),
        DEVICE_TEST(a_list_may_be_submitted_many_times_without_allocating),
        DEVICE_TEST(a_list_is_updated_to_other_records_and_buffers_without_being_made_again),
        DEVICE_TEST(profiling_runs_the_list_once_and_times_every_launch),
        DEVICE_TEST(an_empty_list_and_an_idle_wait_do_nothing),
    };
    return each_device_tests_run(tests, sizeof tests / sizeof tests[0]);
}

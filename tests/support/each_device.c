/*
 * each_device.c: see each_device.h.
 */
#include "support/each_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct each_device each_device;

int each_device_open(void **state)
{
    (void)state;
    device_fixture_init(&each_device.fixture, NULL);
    device_fixture_open(&each_device.fixture, each_device.backend, each_device.index);
    return 0;
}

int each_device_close(void **state)
{
    (void)state;
    mts_kernel_destroy(&each_device.kernel);
    mts_buffer_destroy(&each_device.act);
    mts_buffer_destroy(&each_device.pool);
    mts_buffer_destroy(&each_device.table);
    device_fixture_close(&each_device.fixture);
    return 0;
}

bool each_device_computes(void)
{
    return strcmp(each_device.fixture.device->info.backend, "null") != 0;
}

mts_buffer *each_device_buffer(size_t size)
{
    mts_buffer *buffer = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_buffer_create(each_device.fixture.device, size, &buffer, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_ptr_equal(buffer->device, each_device.fixture.device);
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

void each_device_objects_make(void)
{
    const mts_kernel_desc desc = {.name = SCALE_KERNEL, .defines = ""};
    const mts_scale_params records[3] = {scale_record(0, 0), scale_record(0, COUNT),
                                         scale_record(COUNT, 2 * COUNT)};
    const float factor = 2.0f;
    float row[3 * COUNT];
    mts_error error = {MTS_STATUS_OK, ""};
    for (uint32_t i = 0; i < 3 * COUNT; i++) {
        row[i] = (float)i;
    }
    each_device.act =
        each_device_buffer(3 * COUNT * sizeof(float) + 64); /* vectors may look a little beyond a row */
    each_device.pool = each_device_buffer(64);
    each_device.table = each_device_buffer(sizeof records);
    assert_int_equal(mts_buffer_fill(each_device.act, 0, each_device.act->size, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(each_device.act, 0, row, sizeof row, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(each_device.pool, 0, &factor, sizeof factor, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(each_device.table, 0, records, sizeof records, NULL), MTS_STATUS_OK);
    if (mts_kernel_create(each_device.fixture.device, &desc, &each_device.kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    each_device.launch.kernel = each_device.kernel;
    each_device.launch.act = each_device.act;
    each_device.launch.pool = each_device.pool;
    each_device.launch.params = each_device.table;
    each_device.launch.label = "double";
    device_fixture_grid(&each_device.launch, COUNT);
}

void each_device_row_check(uint32_t row, float factor)
{
    float got[COUNT];
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_buffer_read(each_device.act, row * sizeof got, got, sizeof got, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(got[i] == (float)i * factor);
    }
}

mts_command_list *each_device_list(const mts_launch *launches, size_t count)
{
    mts_command_list *list = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_create(each_device.fixture.device, launches, count, &list, &error) !=
        MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_ptr_equal(list->device, each_device.fixture.device);
    assert_true(list->count == count);
    return list;
}

int each_device_tests_run(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    size_t backends = 0;
    const mts_backend *const *table = mts_backend_table(&backends);
    for (size_t i = 0; i < backends; i++) {
        const uint32_t devices = table[i]->count();
        if (devices == 0) {
            print_message("backend %s is passed over: it has no device on this machine\n", table[i]->name);
        }
        for (uint32_t d = 0; d < devices; d++) {
            char group[MTS_DEVICE_NAME + 64];
            each_device = (struct each_device){.backend = table[i], .index = d};
            (void)snprintf(group, sizeof group, "%s:%u", table[i]->name, d);
            failed += _cmocka_run_group_tests(group, tests, count, NULL, NULL);
        }
    }
    return failed;
}

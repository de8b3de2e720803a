/*
 * What device.h refuses, asked of every device of every backend of this build: arguments that do not fit,
 * failed allocations, lost devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/kernel.h"
#include "support/each_device.h"

static void ranges_outside_a_buffer_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset, size;
    } bad[] = {{0, 65},          {64, 1}, {65, 0}, {1, SIZE_MAX}, {SIZE_MAX, 1}, {SIZE_MAX, SIZE_MAX},
               {SIZE_MAX - 3, 4}};
    unsigned char data[64] = {0};
    mts_buffer *buffer = each_device_buffer(64);
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
    const mts_kernel_desc nameless = {.name = "", .defines = ""};
    const mts_kernel_desc unnamed = {.name = NULL, .defines = NULL};
    assert_int_equal(mts_buffer_create(NULL, 4, &buffer, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(buffer);
    assert_int_equal(mts_buffer_create(each_device.fixture.device, 4, NULL, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_create(each_device.fixture.device, 0, &buffer, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kernel_create(each_device.fixture.device, NULL, &kernel, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(kernel);
    assert_int_equal(mts_kernel_create(each_device.fixture.device, &nameless, &kernel, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kernel_create(each_device.fixture.device, &unnamed, &kernel, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_create(each_device.fixture.device, NULL, 1, &list, &error),
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
    const uint64_t most = each_device.fixture.device->info.buffer_bytes;
    if (most < SIZE_MAX) {
        assert_int_equal(mts_buffer_create(each_device.fixture.device, (size_t)most + 1, &buffer, &error),
                         MTS_STATUS_LIMIT);
        assert_null(buffer);
    }
}

static void an_unknown_kernel_is_not_found(void **state)
{
    (void)state;
    mts_error error;
    mts_kernel *kernel = NULL;
    const mts_kernel_desc desc = {.name = "no_such_kernel__f32_planar", .defines = ""};
    assert_int_equal(mts_kernel_create(each_device.fixture.device, &desc, &kernel, &error),
                     MTS_STATUS_NOT_FOUND);
    assert_null(kernel);
    assert_non_null(strstr(error.text, "no_such_kernel__f32_planar"));
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
    const uint32_t imports = each_device.fixture.device->info.imports;
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *imported = NULL;
    assert_int_equal(mts_buffer_import(each_device.fixture.device, NULL, &imported, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        imported = (mts_buffer *)&error;
        assert_int_equal(mts_buffer_import(each_device.fixture.device, &none[i], &imported, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_null(imported);
    }
    assert_true(imports < MTS_MEMORY_BIT(MTS_MEMORY_KINDS));
    for (int kind = 0; kind < MTS_MEMORY_KINDS; kind++) {
        const mts_memory some = {.kind = (mts_memory_kind)kind, .host = none, .fd = 0, .size = 0};
        each_device.fixture.device->info.imports = imports & ~MTS_MEMORY_BIT(kind);
        imported = (mts_buffer *)&error;
        assert_int_equal(mts_buffer_import(each_device.fixture.device, &some, &imported, &error),
                         MTS_STATUS_UNSUPPORTED);
        assert_null(imported);
        assert_non_null(strstr(error.text, each_device.fixture.device->info.name));
        each_device.fixture.device->info.imports = imports | MTS_MEMORY_BIT(kind);
        assert_int_equal(mts_buffer_import(each_device.fixture.device, &some, &imported, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_null(imported); /* of no bytes */
        each_device.fixture.device->info.imports = imports;
    }
}

static void assert_launch_refused(const mts_launch *launch)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_command_list *list = (mts_command_list *)&error;
    const mts_launch launches[2] = {each_device.launch, *launch};
    assert_int_equal(mts_command_list_create(each_device.fixture.device, launches, 2, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(list);
    assert_non_null(strstr(error.text, "double")); /* the label */
}

static void grids_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    each_device_objects_make();
    mts_launch bad = each_device.launch;
    bad.local[0] = 0;
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.global[2] = 0;
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.local[1] = 3; /* global is 2 */
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.global[0] = bad.local[0] = each_device.kernel->work_group_size;
    bad.local[1] = 2; /* twice the most */
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.global[0] = bad.local[0] = 65536; /* a product of 2^32 must not wrap */
    bad.global[1] = bad.local[1] = 65536;
    bad.global[2] = bad.local[2] = 65536;
    assert_launch_refused(&bad);
}

static void launches_with_missing_or_foreign_objects_are_refused(void **state)
{
    (void)state;
    each_device_objects_make();
    device_fixture other;
    mts_launch bad = each_device.launch;
    bad.kernel = NULL;
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.act = NULL;
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.params = NULL;
    assert_launch_refused(&bad);
    bad = each_device.launch;
    bad.first = (uint32_t)(each_device.table->size / 4);
    assert_launch_refused(&bad);
    const mts_access accesses[2] = {{each_device.launch.act->size, each_device.launch.act->size + 1, false},
                                    {8, 4, true}};
    for (int i = 0; i < 2; i++) {
        bad = each_device.launch;
        bad.accesses = &accesses[i];
        bad.access_count = 1;
        assert_launch_refused(&bad);
    }
    device_fixture_init(&other, NULL);
    device_fixture_open(&other, each_device.backend, each_device.index);
    mts_buffer *foreign = NULL;
    assert_int_equal(mts_buffer_create(other.device, 64, &foreign, NULL), MTS_STATUS_OK);
    bad = each_device.launch;
    bad.pool = foreign;
    assert_launch_refused(&bad);
    bad = each_device.launch; /* a kernel without sources */
    bad.sources[0] = each_device.pool;
    assert_launch_refused(&bad);
    mts_buffer_destroy(&foreign);
    device_fixture_close(&other);
}

static void a_failed_allocation_anywhere_is_out_of_memory_and_leaks_nothing(void **state)
{
    (void)state;
    each_device_objects_make();
    const mts_kernel_desc desc = {.name = SCALE_KERNEL, .defines = "-DMTS_TEST_FAULT=1"};
    for (uint32_t nth = 1;; nth++) {
        mts_buffer *buffer = NULL;
        mts_kernel *kernel = NULL;
        mts_command_list *list = NULL;
        mts_error error = {MTS_STATUS_OK, ""};
        each_device.fixture.allocator.calls = 0;
        each_device.fixture.allocator.failed = 0;
        each_device.fixture.allocator.nth = nth;
        const uint32_t alive = each_device.fixture.allocator.alive;
        mts_status status = mts_buffer_create(each_device.fixture.device, 64, &buffer, &error);
        status = status ? status
                        : mts_command_list_create(each_device.fixture.device, &each_device.launch, 1, &list,
                                                  &error);
        status = status ? status : mts_kernel_create(each_device.fixture.device, &desc, &kernel, &error);
        const bool failed = each_device.fixture.allocator.failed != 0;
        each_device.fixture.allocator.nth = 0;
        mts_command_list_destroy(&list);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&buffer);
        if (!failed) {
            assert_int_equal(status, MTS_STATUS_OK);
            assert_in_range(nth, 4, 60);
            return;
        }
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        assert_true(error.text[0]);
        assert_int_equal(each_device.fixture.allocator.alive, alive);
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
        const mts_status status =
            each_device.backend->open(each_device.index, &other.options, &other.device, &error);
        if (other.allocator.failed == 0) {
            assert_int_equal(status, MTS_STATUS_OK);
            device_fixture_close(&other);
            return;
        }
        if (status == MTS_STATUS_OK) { /* does without what can be done without: recorded lists */
            device_fixture_close(&other);
            continue;
        }
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        assert_null(other.device);
        assert_int_equal(other.allocator.alive, 0);
    }
}

static void a_lost_device_refuses_everything_but_destroying(void **state)
{
    (void)state;
    each_device_objects_make();
    mts_error error;
    mts_buffer *buffer = NULL;
    mts_kernel *kernel = NULL;
    mts_command_list *none = NULL;
    uint64_t time = 0;
    mts_launch_time span = {0, 0};
    const mts_kernel_desc desc = {.name = SCALE_KERNEL, .defines = ""};
    mts_command_list *list = each_device_list(&each_device.launch, 1);
    each_device.fixture.device->lost = true;
    assert_int_equal(mts_buffer_create(each_device.fixture.device, 4, &buffer, &error),
                     MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, each_device.fixture.device->info.name));
    assert_int_equal(mts_buffer_write(each_device.act, 0, &time, 4, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_read(each_device.act, 0, &time, 4, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_fill(each_device.act, 0, 4, 0, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_kernel_create(each_device.fixture.device, &desc, &kernel, &error),
                     MTS_STATUS_DEVICE_LOST);
    assert_int_equal(
        mts_command_list_create(each_device.fixture.device, &each_device.launch, 1, &none, &error),
        MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_update(list, &each_device.launch, 1, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_command_list_profile(list, &span, 1, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_wait(each_device.fixture.device, &error), MTS_STATUS_DEVICE_LOST);
    mts_command_list_destroy(&list);
}

static void a_device_of_another_interface_version_is_refused(void **state)
{
    (void)state;
    mts_error error;
    const mts_device_ops *ops = each_device.fixture.device->ops;
    mts_device_ops newer = *ops;
    newer.abi = MTS_DEVICE_ABI + 1;
    each_device.fixture.device->ops = &newer;
    assert_int_equal(mts_device_wait(each_device.fixture.device, &error), MTS_STATUS_INVALID_ARGUMENT);
    each_device.fixture.device->ops = ops;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(ranges_outside_a_buffer_are_refused),
        DEVICE_TEST(null_arguments_are_refused_and_outputs_become_null),
        DEVICE_TEST(a_buffer_beyond_the_limit_is_refused),
        DEVICE_TEST(an_unknown_kernel_is_not_found),
        DEVICE_TEST(memory_that_is_none_or_of_a_kind_that_the_device_does_not_take_is_refused),
        DEVICE_TEST(grids_that_do_not_fit_are_refused),
        DEVICE_TEST(launches_with_missing_or_foreign_objects_are_refused),
        DEVICE_TEST(a_failed_allocation_anywhere_is_out_of_memory_and_leaks_nothing),
        DEVICE_TEST(opening_survives_every_failed_allocation),
        DEVICE_TEST(a_lost_device_refuses_everything_but_destroying),
        DEVICE_TEST(a_device_of_another_interface_version_is_refused),
    };
    return each_device_tests_run(tests, sizeof tests / sizeof tests[0]);
}

/*
 * The front over a backend that has next to nothing: entries that are missing, objects that are not made
 * though the call succeeded, matrix products that leave their buffers, and guards of such a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/guard.h"
#include "support/fault_allocator.h"

static mts_buffer plain_buffer;
static mts_command_list plain_list;
static unsigned char memory[64];
static bool makes; /* objects, where a call succeeds */

static mts_status make_buffer(mts_device *device, const mts_memory *source, size_t size, mts_buffer **out,
                              mts_error *error)
{
    (void)device, (void)source, (void)size, (void)error;
    *out = makes ? &plain_buffer : NULL;
    return MTS_STATUS_OK;
}

static void drop_buffer(mts_device *device, mts_buffer *buffer)
{
    (void)device, (void)buffer;
}

static mts_status make_list(mts_device *device, const mts_launch *launches, size_t count,
                            mts_command_list **out, mts_error *error)
{
    (void)device, (void)launches, (void)count, (void)error;
    *out = makes ? &plain_list : NULL;
    return MTS_STATUS_OK;
}

static void drop_list(mts_device *device, mts_command_list *list)
{
    (void)device, (void)list;
}

static mts_status map(mts_device *device, mts_buffer *buffer, size_t offset, size_t size, bool overwrites,
                      void **out, mts_error *error)
{
    (void)device, (void)buffer, (void)size, (void)overwrites, (void)error;
    *out = makes ? memory + offset : NULL;
    return MTS_STATUS_OK;
}

static mts_status unmap(mts_device *device, mts_buffer *buffer, void *mapped, mts_error *error)
{
    (void)device, (void)buffer, (void)error;
    assert_ptr_equal(mapped, memory + 4);
    return MTS_STATUS_OK;
}

static mts_status trace(mts_device *device, mts_command_list *list, mts_chunk_time *chunks, size_t capacity,
                        size_t *count, mts_error *error)
{
    (void)device, (void)list, (void)chunks, (void)capacity, (void)error;
    *count = 3;
    return MTS_STATUS_OK;
}

static mts_device_ops ops;
static mts_device device;
static mts_error error;

static int set_up(void **state)
{
    (void)state;
    ops = (mts_device_ops){.abi = MTS_DEVICE_ABI,
                           .buffer_create = make_buffer,
                           .buffer_destroy = drop_buffer,
                           .command_list_create = make_list,
                           .command_list_destroy = drop_list};
    device = (mts_device){.ops = &ops, .allocator = mts_allocator_default()};
    device.info.buffer_bytes = 1024;
    (void)strcpy(device.info.name, "bare");
    makes = true;
    error.text[0] = '\0';
    return 0;
}

static void what_a_backend_lacks_is_unsupported(void **state)
{
    mts_command_list *list = NULL;
    mts_chunk_time chunk;
    size_t count = 7;
    (void)state;
    assert_int_equal(mts_command_list_create(&device, NULL, 0, &list, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_update(list, NULL, 0, &error), MTS_STATUS_UNSUPPORTED);
    assert_string_equal(error.text, "device 'bare' does not update command lists");
    assert_int_equal(mts_command_list_profile(list, NULL, 0, &error), MTS_STATUS_UNSUPPORTED);
    assert_int_equal(mts_command_list_trace(list, &chunk, 1, &count, &error), MTS_STATUS_UNSUPPORTED);
    assert_int_equal(count, 0);
    assert_int_equal(mts_command_list_calibrate(list, &error), MTS_STATUS_OK); /* nothing to decide */
    assert_int_equal(mts_command_list_calibrate(NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    ops.command_list_trace = trace;
    assert_int_equal(mts_command_list_trace(NULL, &chunk, 1, &count, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "mts_command_list_trace: the list is NULL");
    assert_int_equal(mts_command_list_trace(list, NULL, 1, &count, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "mts_command_list_trace: chunks is NULL");
    assert_int_equal(mts_command_list_trace(list, NULL, 0, &count, &error), MTS_STATUS_OK);
    assert_int_equal(count, 3);
    mts_command_list_destroy(&list);
}

static void success_without_an_object_is_an_error_of_the_backend(void **state)
{
    mts_buffer *buffer = NULL;
    mts_command_list *list = NULL;
    (void)state;
    makes = false;
    assert_int_equal(mts_buffer_create(&device, 8, &buffer, &error), MTS_STATUS_INTERNAL);
    assert_null(buffer);
    assert_int_equal(mts_command_list_create(&device, NULL, 0, &list, &error), MTS_STATUS_INTERNAL);
    assert_null(list);
    assert_int_equal(mts_command_list_create(&device, NULL, SIZE_MAX, NULL, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_create(&device, (const mts_launch *)memory, SIZE_MAX, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_import(&device, &(mts_memory){.host = memory, .size = 8}, NULL, &error),
                     MTS_STATUS_UNSUPPORTED);
    assert_int_equal(mts_buffer_import(NULL, &(mts_memory){.host = memory, .size = 8}, &buffer, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
}

static void a_buffer_is_mapped_once_and_unmapped_with_its_end(void **state)
{
    mts_buffer *buffer = NULL;
    (void)state;
    assert_int_equal(mts_buffer_create(&device, 64, &buffer, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_map(buffer, 4, 8, false, &error), MTS_STATUS_UNSUPPORTED);
    assert_string_equal(error.text, "device 'bare' maps no buffers");
    device.info.maps = true;
    ops.buffer_map = map;
    ops.buffer_unmap = unmap;
    assert_int_equal(mts_buffer_map(buffer, 4, 0, false, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "mapping a buffer needs at least one byte");
    assert_int_equal(mts_buffer_map(buffer, 60, 8, false, &error), MTS_STATUS_INVALID_ARGUMENT);
    makes = false;
    assert_int_equal(mts_buffer_map(buffer, 4, 8, true, &error), MTS_STATUS_INTERNAL);
    assert_null(buffer->mapped);
    makes = true;
    assert_int_equal(mts_buffer_unmap(buffer, &error), MTS_STATUS_OK); /* there is nothing to do */
    assert_int_equal(mts_buffer_map(buffer, 4, 8, true, &error), MTS_STATUS_OK);
    assert_ptr_equal(buffer->mapped, memory + 4);
    assert_int_equal(mts_buffer_map(buffer, 4, 8, true, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "the buffer is mapped already");
    assert_int_equal(mts_buffer_unmap(NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_buffer_destroy(&buffer);
    assert_null(plain_buffer.mapped);
}

/* 2 products of 3x4 by 4x5, one after another in `act`, factors in the pool. */
static const mts_gemm product = {.m = 3,
                                 .n = 5,
                                 .k = 4,
                                 .batch = 2,
                                 .a_pool = true,
                                 .b_pool = true,
                                 .b = 24,
                                 .a_ld = 4,
                                 .b_ld = 5,
                                 .c_ld = 5,
                                 .a_stride = 12,
                                 .b_stride = 20,
                                 .c_stride = 15};

static void products_that_leave_their_buffers_are_refused(void **state)
{
    (void)state;
#define REFUSED(change, sentence)                                                                            \
    do {                                                                                                     \
        mts_gemm g = product;                                                                                \
        assert_int_equal(mts_gemm_check(&g, 100, 64, "fc", &error), MTS_STATUS_OK);                          \
        change;                                                                                              \
        assert_int_equal(mts_gemm_check(&g, 100, 64, "fc", &error), MTS_STATUS_INVALID_ARGUMENT);            \
        if (!strstr(error.text, sentence)) {                                                                 \
            fail_msg("%s: '%s'", #change, error.text);                                                       \
        }                                                                                                    \
    } while (0)
    REFUSED(g.m = 0, "a dimension is zero");
    REFUSED(g.n = 0, "a dimension is zero");
    REFUSED(g.k = 0, "a dimension is zero");
    REFUSED(g.batch = 0, "a dimension is zero");
    REFUSED(g.a_ld = 3, "rows lie in each other");
    REFUSED(g.b_ld = 4, "rows lie in each other");
    REFUSED(g.c_ld = 4, "rows lie in each other");
    REFUSED(g.b_transposed = true; g.b_ld = 3, "rows lie in each other");
    REFUSED(g.a = 41, "a matrix leaves its buffer");
    REFUSED(g.b = 25, "a matrix leaves its buffer");
    REFUSED(g.c = 71, "a matrix leaves its buffer");
    REFUSED(g.batch = UINT32_MAX; g.c_stride = UINT32_MAX; g.c_ld = UINT32_MAX;
            g.m = UINT32_MAX, "a matrix leaves its buffer");
    REFUSED(g.c_stride = 14, "results lie in each other");
    REFUSED(g.a_pool = false; g.a = 29, "the result lies in a factor");
    REFUSED(g.b_pool = false; g.b = 0, "the result lies in a factor");
#undef REFUSED
    mts_gemm beside = product; /* factors in front of the result and behind it */
    beside.a_pool = beside.b_pool = false;
    beside.a = 0;
    beside.c = 24;
    beside.b = 54;
    assert_int_equal(mts_gemm_check(&beside, 100, 0, "fc", &error), MTS_STATUS_OK);
}

static void calls_without_a_device_a_label_or_an_error_are_refused(void **state)
{
    const mts_launch nothing = {.gemm = {.m = 0}};
    const mts_kernel_desc desc = {.name = "conv"};
    mts_command_list *list = NULL;
    mts_buffer *buffer = NULL;
    mts_device closed = {.ops = NULL};
    (void)state;
    assert_int_equal(mts_command_list_create(&device, &nothing, 1, &list, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "launch 'unnamed'"));
    assert_int_equal(mts_kernel_create(&device, &desc, NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_create(&closed, 8, &buffer, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "device is NULL");
    device.lost = true;
    assert_int_equal(mts_buffer_create(&device, 8, &buffer, NULL), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_import(&device, &(mts_memory){.host = memory, .size = 8}, &buffer, NULL),
                     MTS_STATUS_UNSUPPORTED);
    assert_null(buffer);
}

static void a_guard_of_a_bare_device_lacks_what_that_lacks(void **state)
{
    mts_guard *first = NULL;
    mts_fault_allocator fault;
    (void)state;
    assert_int_equal(mts_guard_begin(&device, &first, &error), MTS_STATUS_OK);
    assert_ptr_not_equal(device.ops, &ops);
    assert_non_null(device.ops->buffer_create);
    assert_null(device.ops->command_list_update);
    assert_null(device.ops->buffer_map);
    assert_null(device.ops->drain);
    mts_guard_end(&first);
    assert_null(first);
    assert_ptr_equal(device.ops, &ops);
    mts_guard_end(&first);
    mts_guard_end(NULL);
    mts_fault_allocator_init(&fault, 1);
    device.allocator = &fault.allocator;
    assert_int_equal(mts_guard_begin(&device, &first, &error), MTS_STATUS_OUT_OF_MEMORY);
    assert_null(first);
    assert_ptr_equal(device.ops, &ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_a_backend_lacks_is_unsupported, set_up),
        cmocka_unit_test_setup(success_without_an_object_is_an_error_of_the_backend, set_up),
        cmocka_unit_test_setup(a_buffer_is_mapped_once_and_unmapped_with_its_end, set_up),
        cmocka_unit_test_setup(products_that_leave_their_buffers_are_refused, set_up),
        cmocka_unit_test_setup(calls_without_a_device_a_label_or_an_error_are_refused, set_up),
        cmocka_unit_test_setup(a_guard_of_a_bare_device_lacks_what_that_lacks, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

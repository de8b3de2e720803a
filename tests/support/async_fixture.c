/*
 * async_fixture.c: see async_fixture.h.
 */
#include "support/async_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "platform/os/os.h"

#define BURDEN 256u /* launches of a list that keeps a queue busy */
/* Drivers that compute on a busy processor may get little of it. */
#define PATIENCE_NS ((uint64_t)300 * 1000000000u)
#define POLL_NS 100000u /* a poll that never sleeps takes the processor from such a driver */

static const mts_backend *backend;
static uint32_t backend_index;
async_world async;

static void check(mts_status code, const mts_error *error)
{
    if (code != MTS_STATUS_OK) {
        fail_msg("%s", error->text);
    }
}

static mts_buffer *make_buffer(const void *data, size_t size)
{
    mts_buffer *buffer = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_buffer_create(async.base.device, size, &buffer, &error), &error);
    check(mts_buffer_write(buffer, 0, data, size, &error), &error);
    return buffer;
}

static mts_scale_params scale_record(uint32_t from, uint32_t to)
{
    return (mts_scale_params){
        .dest = device_fixture_dest(to, ASYNC_COUNT),
        .src = device_fixture_view(from),
        .scale = 0,
        .bias = MTS_PARAM_NONE,
        .slope = MTS_PARAM_NONE,
        .fn = MTS_FN_NONE,
    };
}

static mts_command_list *make_list(mts_buffer *pool, uint32_t record, size_t count)
{
    static mts_launch launches[BURDEN];
    mts_command_list *list = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    mts_launch launch = {
        .kernel = async.kernel,
        .act = async.act,
        .pool = pool,
        .params = async.table,
        .first = record * MTS_PARAM_WORDS(mts_scale_params),
        .label = "scale",
    };
    device_fixture_grid(&launch, ASYNC_COUNT);
    for (size_t i = 0; i < count; i++) {
        launches[i] = launch;
    }
    check(mts_command_list_create(async.base.device, launches, count, &list, &error), &error);
    return list;
}

int async_open(void **state)
{
    static const float zeros[ASYNC_FLOATS + 16] = {0.0f}; /* vectors may look a little beyond a row */
    const float two[16] = {2.0f};
    const float half[16] = {0.5f};
    const mts_scale_params records[2] = {scale_record(0, ASYNC_COUNT), scale_record(ASYNC_COUNT, 0)};
    const mts_kernel_desc desc = {.name = "scale_any__f32_planar", .defines = ""};
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    device_fixture_init(&async.base, NULL);
    device_fixture_open(&async.base, backend, backend_index);
    async.act = make_buffer(zeros, sizeof zeros);
    async.two = make_buffer(two, sizeof two);
    async.half = make_buffer(half, sizeof half);
    async.table = make_buffer(records, sizeof records);
    check(mts_kernel_create(async.base.device, &desc, &async.kernel, &error), &error);
    async.up = make_list(async.two, 0, 1);
    async.down = make_list(async.half, 1, 1);
    async.burden = make_list(async.two, 0, BURDEN);
    return 0;
}

int async_close(void **state)
{
    (void)state;
    mts_command_list_destroy(&async.up);
    mts_command_list_destroy(&async.down);
    mts_command_list_destroy(&async.burden);
    mts_kernel_destroy(&async.kernel);
    mts_buffer_destroy(&async.act);
    mts_buffer_destroy(&async.two);
    mts_buffer_destroy(&async.half);
    mts_buffer_destroy(&async.table);
    device_fixture_close(&async.base);
    return 0;
}

bool async_computes(void)
{
    return strcmp(async.base.device->info.backend, "null") != 0;
}

float *async_host(size_t floats)
{
    void *memory = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_host_create(async.base.device, floats * sizeof(float), &memory, &error), &error);
    assert_int_equal((uintptr_t)memory % 64, 0);
    memset(memory, 0x7f, floats * sizeof(float));
    return memory;
}

void async_host_free(float **memory)
{
    void *gone = *memory;
    mts_host_destroy(async.base.device, &gone);
    assert_null(gone);
    *memory = NULL;
}

void async_send(uint32_t at, const float *data, uint32_t count)
{
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_buffer_write_async(async.act, at * sizeof *data, data, count * sizeof *data, &error), &error);
}

void async_fetch(uint32_t at, float *data, uint32_t count)
{
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_buffer_read_async(async.act, at * sizeof *data, data, count * sizeof *data, &error), &error);
}

void async_submit(mts_command_list *list)
{
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_command_list_submit(list, &error), &error);
}

void async_event(uint32_t index)
{
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_device_event_record(async.base.device, index, &error), &error);
}

bool async_has_passed(uint32_t index)
{
    bool passed = false;
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_device_event_passed(async.base.device, index, &passed, &error), &error);
    return passed;
}

void async_wait_event(uint32_t index)
{
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_device_event_wait(async.base.device, index, &error), &error);
    assert_true(async_has_passed(index));
}

void async_poll_event(uint32_t index)
{
    const uint64_t start = mts_os_clock_ns();
    while (!async_has_passed(index)) {
        assert_true(mts_os_clock_ns() - start < PATIENCE_NS);
        mts_os_sleep_ns(POLL_NS);
    }
}

int async_every_device(int (*run)(const char *group))
{
    int failed = 0;
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        char group[64];
        backend = table[i];
        const uint32_t devices = backend->count();
        if (devices == 0) {
            (void)printf("backend %s is passed over: it has no device on this machine\n", backend->name);
        }
        for (backend_index = 0; backend_index < devices; backend_index++) {
            (void)snprintf(group, sizeof group, "%s:%u", backend->name, backend_index);
            failed += run(group);
        }
    }
    return failed;
}

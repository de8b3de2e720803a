/*
 * device_fixture.c: see device_fixture.h.
 */
#include "support/device_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/second_device.h"

static void keep_line(void *context, mts_log_severity level, const char *text)
{
    device_fixture *fixture = context;
    const size_t length = strlen(text);
    (void)level;
    if (length + 2 < sizeof fixture->text - fixture->length) {
        memcpy(fixture->text + fixture->length, text, length);
        fixture->length += length;
        fixture->text[fixture->length++] = '\n';
        fixture->text[fixture->length] = '\0';
    }
}

void device_fixture_init(device_fixture *fixture, const char *cache_dir)
{
    memset(fixture, 0, sizeof *fixture);
    mts_wrap_allocator_init(&fixture->allocator, mts_allocator_default(), 0);
    fixture->log.context = fixture;
    fixture->log.write = keep_line;
    fixture->options.allocator = &fixture->allocator.base;
    fixture->options.log = &fixture->log;
    fixture->options.cache_dir = cache_dir;
}

void device_fixture_open(device_fixture *fixture, const mts_backend *backend, uint32_t index)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (backend->open(index, &fixture->options, &fixture->device, &error) != MTS_STATUS_OK) {
        fail_msg("%s: %s", backend->name, error.text);
    }
    assert_non_null(fixture->device);
}

void device_fixture_close(device_fixture *fixture)
{
    mts_device_destroy(&fixture->device);
    assert_null(fixture->device);
    assert_int_equal(fixture->allocator.alive, 0);
}

bool device_fixture_logged(const device_fixture *fixture, const char *text)
{
    return strstr(fixture->text, text);
}

const mts_backend *device_fixture_backend(const char *name)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i]->name, second_device_backend(name)) == 0) {
            return table[i];
        }
    }
    return NULL;
}

mts_dest_params device_fixture_dest(uint32_t base, uint32_t count)
{
    const mts_dest_params dest = {.base = base, .dims = {1, 1, 1, 1, 1, count}, .row = count, .pitch = count};
    return dest;
}

mts_view_params device_fixture_view(uint32_t base)
{
    const mts_view_params view = {.base = base, .stride = {0, 0, 0, 0, 0, 1}};
    return view;
}

void device_fixture_grid(mts_launch *launch, uint32_t count)
{
    const uint32_t global[3] = {count, 2, 1};
    for (int i = 0; i < 3; i++) {
        launch->global[i] = global[i];
        launch->local[i] = 1;
    }
}

/*
 * The gate of tests (support/gate_device.h) finds what it is there to find: each scenario takes something
 * away that is in the queue, in a process of its own, where the test has to fail; with an empty queue the
 * same passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/device_fixture.h"
#include "support/gate_device.h"

#define FLOATS 64u

typedef struct world {
    device_fixture base;
    mts_launch launch;
    mts_buffer *spare;
    mts_command_list *list;
    void *host;
} world;

static const char *program;
static bool waits; /* before it takes away */

static mts_buffer *make_buffer(world *w)
{
    mts_buffer *buffer = NULL;
    assert_int_equal(mts_buffer_create(w->base.device, FLOATS * sizeof(float), &buffer, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(buffer, 0, FLOATS * sizeof(float), 0, NULL), MTS_STATUS_OK);
    return buffer;
}

static void world_open(world *w)
{
    const mts_kernel_desc desc = {.name = "scale_any__f32_planar", .defines = ""};
    const mts_scale_params record = {.dest = device_fixture_dest(0, 4),
                                     .src = device_fixture_view(8),
                                     .scale = 0,
                                     .bias = MTS_PARAM_NONE,
                                     .slope = MTS_PARAM_NONE,
                                     .fn = MTS_FN_NONE};
    memset(w, 0, sizeof *w);
    device_fixture_init(&w->base, NULL);
    device_fixture_open(&w->base, device_fixture_backend("reference"), 0);
    gate_install(w->base.device);
    w->launch = (mts_launch){.act = make_buffer(w), .pool = make_buffer(w), .label = "scale"};
    w->spare = make_buffer(w);
    assert_int_equal(mts_buffer_create(w->base.device, sizeof record, &w->launch.params, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(w->launch.params, 0, &record, sizeof record, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_create(w->base.device, &desc, &w->launch.kernel, NULL), MTS_STATUS_OK);
    device_fixture_grid(&w->launch, 4);
    assert_int_equal(mts_command_list_create(w->base.device, &w->launch, 1, &w->list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_host_create(w->base.device, FLOATS * sizeof(float), &w->host, NULL), MTS_STATUS_OK);
    memset(w->host, 0, FLOATS * sizeof(float));
}

static void world_close(world *w)
{
    assert_int_equal(mts_device_wait(w->base.device, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&w->list);
    mts_kernel_destroy(&w->launch.kernel);
    mts_buffer_destroy(&w->launch.act);
    mts_buffer_destroy(&w->launch.pool);
    mts_buffer_destroy(&w->launch.params);
    mts_buffer_destroy(&w->spare);
    mts_host_destroy(w->base.device, &w->host);
    device_fixture_close(&w->base);
}

static void submit(world *w)
{
    assert_int_equal(mts_command_list_submit(w->list, NULL), MTS_STATUS_OK);
    if (waits) {
        assert_int_equal(mts_device_wait(w->base.device, NULL), MTS_STATUS_OK);
    }
}

static void take_list(world *w)
{
    submit(w);
    mts_command_list_destroy(&w->list);
}

static void take_act(world *w)
{
    submit(w);
    mts_buffer_destroy(&w->launch.act);
}

static void take_pool(world *w)
{
    submit(w);
    mts_buffer_destroy(&w->launch.pool);
}

static void take_table(world *w)
{
    submit(w);
    mts_buffer_destroy(&w->launch.params);
}

/* A pool that the list did not have when it was made. */
static void take_new_pool(world *w)
{
    mts_launch launch = w->launch;
    launch.pool = w->spare;
    assert_int_equal(mts_command_list_update(w->list, &launch, 1, NULL), MTS_STATUS_OK);
    submit(w);
    mts_buffer_destroy(&w->launch.pool);
    mts_buffer_destroy(&w->spare);
}

static void update_list(world *w)
{
    submit(w);
    assert_int_equal(mts_command_list_update(w->list, &w->launch, 1, NULL), MTS_STATUS_OK);
}

static void take_fetched(world *w)
{
    assert_int_equal(mts_buffer_read_async(w->spare, 0, (float *)w->host + 3, 4, NULL), MTS_STATUS_OK);
    submit(w);
    mts_host_destroy(w->base.device, &w->host);
}

static void take_sent(world *w)
{
    assert_int_equal(mts_buffer_write_async(w->spare, 0, (float *)w->host + 3, 4, NULL), MTS_STATUS_OK);
    submit(w);
    mts_host_destroy(w->base.device, &w->host);
}

static const struct {
    const char *name;
    void (*run)(world *w);
} scenarios[] = {
    {"take_list", take_list},       {"take_act", take_act},           {"take_pool", take_pool},
    {"take_table", take_table},     {"take_new_pool", take_new_pool}, {"update_list", update_list},
    {"take_fetched", take_fetched}, {"take_sent", take_sent},
};
#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

static size_t chosen;

static void run_chosen(void **state)
{
    static world w;
    (void)state;
    world_open(&w);
    scenarios[chosen].run(&w);
    world_close(&w);
}

static int run_scenario(const char *index, const char *how)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_chosen)};
    chosen = (size_t)strtoul(index, NULL, 10);
    waits = strcmp(how, "idle") == 0;
    return chosen < SCENARIOS ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}

enum { NOT_STARTED = 99 };

static bool passes(size_t scenario, const char *how)
{
    char index[8];
    int status = 0;
    (void)snprintf(index, sizeof index, "%zu", scenario);
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr)) {
            (void)execl(program, program, index, how, (char *)NULL);
        }
        _exit(NOT_STARTED);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_STARTED) {
        print_message("the system cannot start this program (it runs in an emulator)\n");
        skip();
    }
    return WEXITSTATUS(status) == 0;
}

static void what_is_in_the_queue_may_not_go_or_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCENARIOS; i++) {
        if (passes(i, "busy")) {
            fail_msg("%s is not found", scenarios[i].name);
        }
    }
}

static void what_is_through_may(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCENARIOS; i++) {
        if (!passes(i, "idle")) {
            fail_msg("%s is found although nothing is in the queue", scenarios[i].name);
        }
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_the_queue_may_not_go_or_change),
        cmocka_unit_test(what_is_through_may),
    };
    program = arguments[0];
    return count == 3 ? run_scenario(arguments[1], arguments[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}

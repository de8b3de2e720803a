/*
 * A border where memory is common: what a part computes is read where it lies. Nothing is copied, the bits are those of
 * one device, and no run writes what another one still reads. Elsewhere the value is copied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/part.h"
#include "pipeline/pipeline.h"
#include "support/gate_device.h"
#include "support/must.h"
#include "support/pipeline_world.h"

#define STAGES 3u

/* ---- devices that count what is copied ---- */

typedef struct counted {
    mts_device *device;
    const mts_device_ops *inner;
    mts_device_ops ops;
    uint64_t to, from; /* bytes */
    bool failing;      /* the next question for an event loses the device */
    uint64_t live;     /* bytes of buffers, of a device that outlives a loss */
    bool full;         /* it had some when the first buffer after the loss was made */
    bool asked;
} counted;

static counted all[STAGES];

static counted *find(const mts_device *device)
{
    uint32_t i = 0;
    while (i + 1 < STAGES && all[i].device != device) {
        i++;
    }
    assert_ptr_equal(all[i].device, device);
    return &all[i];
}

static mts_status count_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                              size_t size, bool async, mts_error *error)
{
    find(device)->to += size;
    return find(device)->inner->buffer_write(device, buffer, offset, data, size, async, error);
}

static mts_status count_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                             mts_error *error)
{
    find(device)->from += size;
    return find(device)->inner->buffer_read(device, buffer, offset, data, size, error);
}

static mts_status count_fetch(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error)
{
    find(device)->from += size;
    return find(device)->inner->buffer_read_async(device, buffer, offset, data, size, error);
}

static mts_status count_query(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    if (find(device)->failing) {
        device->lost = true;
        return mts_fail(error, MTS_STATUS_DEVICE_LOST, "the device is gone");
    }
    return find(device)->inner->event_query(device, index, wait, passed, error);
}

static mts_status count_create(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                               mts_error *error)
{
    counted *c = find(device);
    bool lost = false;
    for (uint32_t d = 0; d < STAGES; d++) {
        lost = lost || (all[d].failing && all[d].device->lost);
    }
    c->full = lost && !c->asked ? c->live > 0 : c->full;
    c->asked = c->asked || lost;
    const mts_status status = c->inner->buffer_create(device, memory, size, out, error);
    c->live += status == MTS_STATUS_OK && !memory ? size : 0;
    return status;
}

static void count_destroy(mts_device *device, mts_buffer *buffer)
{
    find(device)->live -= buffer->imported ? 0 : buffer->size;
    find(device)->inner->buffer_destroy(device, buffer);
}

static void install(uint32_t number, mts_device *device)
{
    counted *c = &all[number];
    *c = (counted){.device = device, .inner = device->ops, .ops = *device->ops};
    c->ops.buffer_write = count_write;
    c->ops.buffer_read = count_read;
    c->ops.buffer_read_async = count_fetch;
    c->ops.event_query = count_query;
    c->ops.buffer_create = count_create;
    c->ops.buffer_destroy = count_destroy;
    device->ops = &c->ops;
}

static mts_status open_part(uint32_t number, mts_device **out, mts_error *error)
{
    const mts_device_options open = {.allocator = mts_allocator_default()};
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    char name[16];
    (void)snprintf(name, sizeof name, "0/%uof%u", number, STAGES);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i]->name, "opencl") == 0 && table[i]->count() > 0) {
            return table[i]->open_named(name, &open, out, error);
        }
    }
    return mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no device of OpenCL");
}

/* Opens the devices of a kind; false: this machine has no such. "parts": of the first device of OpenCL. */
static bool open_devices(const char *kind, mts_device **devices)
{
    const bool parts = strcmp(kind, "parts") == 0;
    mts_error error = {0};
    for (uint32_t d = 0; d < STAGES; d++) {
        const mts_status status =
            parts ? open_part(d, &devices[d], &error) : net_device_open(kind, NULL, &devices[d], &error);
        if (status != MTS_STATUS_OK) {
            print_message("%s: %s\n", kind, error.text);
            return false;
        }
        devices[d]->info.launch_ns = 0; /* however small a link is, no launch costs more than to copy it */
        install(d, devices[d]);
    }
    return true;
}

static void close_devices(mts_device **devices)
{
    for (uint32_t d = 0; d < STAGES; d++) {
        mts_device_destroy(&devices[d]);
    }
}

/* ---- pipelines ---- */

static mts_pipeline *make_pipeline(const pipeline_world *w, mts_device **devices, bool replan)
{
    const uint32_t count = pipeline_world_units(w);
    const uint32_t ends[] = {count / 3, 2 * count / 3};
    const mts_chain chain = pipeline_chain_of(count, ends, STAGES);
    mts_pipeline_options options = w->options;
    mts_pipeline *p = NULL;
    mts_error error = {0};
    options.devices = devices;
    options.device_count = STAGES;
    options.chain = &chain;
    options.replan = replan;
    test_must(mts_pipeline_create(w->net.archive, &options, &p, &error), &error, "pipeline");
    assert_int_equal(mts_pipeline_part_count(p), STAGES);
    return p;
}

static void forget_counts(void)
{
    for (uint32_t d = 0; d < STAGES; d++) {
        all[d].to = all[d].from = 0;
    }
}

/* Runs the frames three times, so that each slot comes more than once, beside one device of the kind. */
static void run_and_compare(const pipeline_world *w, mts_pipeline *p, const char *how)
{
    for (uint32_t turn = 0; turn < 3; turn++) {
        mts_pipeline *one = pipeline_world_one(w);
        pipeline_world_same(w, one, p, how);
        mts_pipeline_destroy(&one);
    }
}

static void nothing_is_copied_where_memory_is_common(void **state)
{
    (void)state;
    static const char *const kinds[] = {"reference", "cpu", "parts"};
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    uint32_t compared = 0;
    for (uint32_t k = 0; k < 3; k++) {
        mts_device *devices[STAGES] = {NULL};
        mts_device *const kept = pipeline_devices[0];
        if (open_devices(kinds[k], devices)) {
            pipeline_world w;
            pipeline_world_make(&w, &family);
            pipeline_devices[0] = devices[0];
            mts_pipeline *one = pipeline_world_one(&w);
            mts_pipeline *p = make_pipeline(&w, devices, false);
            forget_counts();
            pipeline_world_same(&w, one, p, kinds[k]);
            /* all outputs come from the last part, or are read in place */
            assert_true(all[0].to > 0 && all[2].from > 0);
            assert_int_equal(all[1].to + all[1].from, 0);
            assert_int_equal(all[2].to, 0);
            forget_counts();
            mts_pipeline_destroy(&one);
            run_and_compare(&w, p, kinds[k]);
            assert_int_equal(all[1].to + all[1].from + all[2].to, 0);
            mts_pipeline_destroy(&p);
            pipeline_world_release(&w);
            compared++;
        }
        pipeline_devices[0] = kept;
        close_devices(devices);
    }
    print_message("%u kinds of devices compared\n", compared);
    assert_true(compared >= 1);
}

/* A device in the middle that reads no memory of others, or for which a launch takes longer than a copy: its links are
   copied, once, those of the last one are not. */
static void what_a_device_cannot_read_in_place_is_copied(void **state)
{
    (void)state;
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    mts_device *devices[STAGES] = {NULL};
    pipeline_world w;
    assert_true(open_devices("reference", devices));
    pipeline_world_make(&w, &family);
    mts_pipeline *p = NULL;
    for (int i = 0; i < 2; i++) {
        devices[1]->info.imports = i == 0 ? 0 : devices[0]->info.imports;
        devices[1]->info.launch_ns = i == 0 ? 0 : 1000000;
        p = make_pipeline(&w, devices, false);
        forget_counts();
        run_and_compare(&w, p, "a device that copies");
        assert_true(all[1].to > 0);
        assert_int_equal(all[0].from + all[1].from + all[2].to, 0);
        mts_pipeline_destroy(&p);
    }
    w.options.engine.precision = MTS_PRECISION_FLOAT16_STORAGE;
    p = make_pipeline(&w, devices, false);
    forget_counts();
    run_and_compare(&w, p, "float16");
    assert_true(all[0].from > 0 && all[1].to > 0 && all[1].from > 0 && all[2].to > 0);
    mts_pipeline_destroy(&p);
    pipeline_world_release(&w);
    close_devices(devices);
}

/* Inputs that the first part reads in the caller's memory. */
static void inputs_may_stay_with_the_caller(void **state)
{
    (void)state;
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    mts_device *devices[STAGES] = {NULL};
    pipeline_world w;
    assert_true(open_devices("reference", devices));
    pipeline_world_make(&w, &family);
    w.options.engine.zero_copy_inputs = true;
    mts_pipeline *p = make_pipeline(&w, devices, false);
    w.options.engine.zero_copy_inputs = false;
    forget_counts();
    run_and_compare(&w, p, "inputs of the caller");
    assert_int_equal(all[0].to + all[2].to, 0);
    assert_true(all[0].from > 0 && all[2].from > 0);
    mts_pipeline_destroy(&p);
    pipeline_world_release(&w);
    close_devices(devices);
}

/* Some of the tasks only: these runs are copied, and those of all tasks before and behind them are not disturbed. */
static void runs_of_some_tasks_are_copied(void **state)
{
    (void)state;
    const random_family family = {
        .seed = 5, .tasks = PIPELINE_TASKS, .steps = 5, .common = true, .equal = true};
    mts_device *devices[STAGES] = {NULL};
    mts_error error = {0};
    pipeline_world w;
    assert_true(open_devices("reference", devices));
    pipeline_world_make(&w, &family);
    mts_pipeline *one = pipeline_world_one(&w);
    mts_pipeline *p = make_pipeline(&w, devices, false);
    for (uint32_t off = 0; off < 2 * PIPELINE_TASKS; off++) {
        for (uint32_t t = 0; t < PIPELINE_TASKS; t++) { /* all run in each second turn */
            test_must(mts_pipeline_enable(one, t, off % 2 == 1 || t != off / 2, &error), &error, "enable");
            test_must(mts_pipeline_enable(p, t, off % 2 == 1 || t != off / 2, &error), &error, "enable");
        }
        forget_counts();
        pipeline_world_same(&w, one, p, "some of the tasks");
        assert_true((all[1].to + all[2].to > 0) == (off % 2 == 0));
    }
    mts_pipeline_destroy(&one);
    mts_pipeline_destroy(&p);
    pipeline_world_release(&w);
    close_devices(devices);
}

/* A deadline, which may split the first part's runs by groups of tasks: the values of split runs are copied. */
static void a_deadline_changes_nothing_in_time(void **state)
{
    (void)state;
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    mts_device *devices[STAGES] = {NULL};
    pipeline_world w;
    assert_true(open_devices("reference", devices));
    pipeline_world_make(&w, &family);
    mts_pipeline *p = make_pipeline(&w, devices, false);
    for (uint32_t round = 0; round < 4; round++) {
        mts_pipeline_deadline(p, round % 2 == 0 ? 3600000 : 0);
        run_and_compare(&w, p, "a deadline");
    }
    mts_pipeline_destroy(&p);
    pipeline_world_release(&w);
    close_devices(devices);
}

/* The last device has not begun with the first frame when the parts before it have computed all that they may. */
static void a_slow_reader_finds_what_was_computed_for_it(void **state)
{
    (void)state;
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    mts_device *devices[STAGES] = {NULL};
    mts_error error = {0};
    pipeline_world w;
    assert_true(open_devices("reference", devices));
    pipeline_world_make(&w, &family);
    mts_pipeline *one = pipeline_world_one(&w);
    devices[2]->info.ready_kernels = false; /* so that making an engine waits for what it enqueued */
    gate_install(devices[2]);
    mts_pipeline *p = make_pipeline(&w, devices, false);
    for (uint32_t f = 0; f < PIPELINE_FRAMES; f++) {
        pipeline_world_give(&w, p, f);
        assert_true(mts_pipeline_can_start(p));
        test_must(mts_pipeline_submit(p, &error), &error, "submit");
        mts_pipeline_advance(p);
    }
    assert_true(gate_lists() >= 1 && gate_marks() >= 1);
    for (uint32_t f = 0; f < PIPELINE_FRAMES; f++) {
        size_t sizes[2] = {0};
        pipeline_world_give(&w, one, f);
        pipeline_world_submit(one);
        pipeline_world_take(one);
        gate_pass(1);
        pipeline_world_take(p);
        unsigned char *want = pipeline_world_read(&w, one, &sizes[0]);
        unsigned char *got = pipeline_world_read(&w, p, &sizes[1]);
        assert_true(sizes[0] == sizes[1] && memcmp(want, got, sizes[0]) == 0);
        free(want);
        free(got);
    }
    mts_pipeline_destroy(&one);
    mts_pipeline_destroy(&p);
    pipeline_world_release(&w);
    close_devices(devices);
}

/* Each device in turn goes, while its neighbours read its memory, or it reads theirs. */
static void a_loss_leaves_the_memory_that_others_read(void **state)
{
    (void)state;
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    for (uint32_t lost = 0; lost < STAGES; lost++) {
        mts_device *devices[STAGES] = {NULL};
        pipeline_world w;
        assert_true(open_devices("reference", devices));
        pipeline_world_make(&w, &family);
        mts_pipeline *one = pipeline_world_one(&w);
        mts_pipeline *p = make_pipeline(&w, devices, true);
        pipeline_world_same(&w, one, p, "before the loss");
        all[lost].failing = true;
        pipeline_world_same(&w, one, p, "after the loss");
        assert_true(devices[lost]->lost);
        for (uint32_t d = 0; d < STAGES; d++) { /* nothing of the placement before was there any more */
            assert_true(d == lost || (all[d].asked && !all[d].full && all[d].live > 0));
        }
        mts_pipeline_destroy(&one);
        mts_pipeline_destroy(&p);
        pipeline_world_release(&w);
        close_devices(devices);
    }
}

/* Where the budget has no room for outputs of several runs, they are copied from the one that there is. */
static void a_budget_without_room_copies(void **state)
{
    (void)state;
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    mts_device *devices[STAGES] = {NULL};
    uint64_t most = 0;
    pipeline_world w;
    assert_true(open_devices("reference", devices));
    pipeline_world_make(&w, &family);
    for (uint32_t d = 0; d < STAGES; d++) { /* what the parts need that copy */
        devices[d]->info.imports = 0;
    }
    mts_pipeline *p = make_pipeline(&w, devices, false);
    for (uint32_t i = 0; i < STAGES; i++) {
        mts_session_stats stats;
        mts_engine_stats_get(mts_pipeline_part(p, i), &stats);
        most = stats.peak_bytes > most ? stats.peak_bytes : most;
    }
    mts_pipeline_destroy(&p);
    for (uint32_t d = 0; d < STAGES; d++) {
        devices[d]->info.imports = MTS_MEMORY_BIT(MTS_MEMORY_HOST);
    }
    w.options.engine.memory_budget = (mts_memory_budget){most};
    p = make_pipeline(&w, devices, false);
    w.options.engine.memory_budget = (mts_memory_budget){0};
    run_and_compare(&w, p, "a small budget");
    for (uint32_t i = 0; i < STAGES; i++) {
        mts_session_stats stats;
        mts_engine_stats_get(mts_pipeline_part(p, i), &stats);
        assert_true(stats.peak_bytes <= most);
    }
    mts_pipeline_destroy(&p);
    pipeline_world_release(&w);
    close_devices(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_copied_where_memory_is_common),
        cmocka_unit_test(what_a_device_cannot_read_in_place_is_copied),
        cmocka_unit_test(inputs_may_stay_with_the_caller),
        cmocka_unit_test(runs_of_some_tasks_are_copied),
        cmocka_unit_test(a_deadline_changes_nothing_in_time),
        cmocka_unit_test(a_slow_reader_finds_what_was_computed_for_it),
        cmocka_unit_test(a_loss_leaves_the_memory_that_others_read),
        cmocka_unit_test(a_budget_without_room_copies),
    };
    mts_error error = {0};
    (void)setenv("POCL_MAX_PTHREAD_COUNT", "4", 0);
    for (uint32_t d = 0; d < PIPELINE_DEVICES; d++) {
        if (net_device_open("reference", NULL, &pipeline_devices[d], &error) != MTS_STATUS_OK) {
            print_error("%s\n", error.text);
            return 77;
        }
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t d = 0; d < PIPELINE_DEVICES; d++) {
        mts_device_destroy(&pipeline_devices[d]);
    }
    return failed;
}

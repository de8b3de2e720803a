/*
 * control_world.c: see control_world.h.
 */
#include "support/control_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control.h"
#include "platform/os/os.h"

mts_device *control_devices[2];
const char *const control_device_names[2] = {"reference", "opencl"};

void control_must(mts_status code, const mts_error *error, const char *what)
{
    if (code != MTS_STATUS_OK) {
        print_error("%s: %s: %s\n", what, mts_status_text(code), error->text);
        fail();
    }
}

void control_world_make(control_world *w, const random_family *family)
{
    mts_error error = {0};
    *w = (control_world){.family = *family};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        w->graphs[t] = random_net(family, t, &w->arena);
        assert_non_null(w->graphs[t]);
        control_must(mts_graph_verify(w->graphs[t], &error), &error, "verify");
        for (uint32_t round = 0; round < 2; round++) {
            w->inputs[round][t] = random_input(family, t, w->graphs[t], round, &w->arena);
            assert_non_null(w->inputs[round][t]);
        }
    }
    control_must(net_make(w->graphs, TASKS, 0.0f, &w->net, &error), &error, "bundle");
}

void control_world_release(control_world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

void control_run_round(const control_world *w, mts_engine *engine, uint32_t round)
{
    const void *data[TASKS];
    const void *const *inputs[TASKS];
    mts_error error = {0};
    for (uint32_t t = 0; t < TASKS; t++) {
        data[t] = w->inputs[round][t];
        inputs[t] = &data[t];
    }
    control_must(net_engine_run(engine, &w->net, inputs, &error), &error, "run");
}

void control_enable(mts_engine *engine, uint32_t set)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < TASKS; t++) {
        control_must(mts_engine_enable(engine, t, (set >> t & 1u) != 0, &error), &error, "enable");
    }
}

void control_start(mts_engine *engine)
{
    mts_error error = {0};
    control_must(mts_engine_submit(engine, &error), &error, "submit");
}

void control_keep_outputs(control_world *w, mts_engine *engine)
{
    for (uint32_t round = 0; round < 2; round++) {
        control_run_round(w, engine, round);
        for (uint32_t t = 0; t < TASKS; t++) {
            assert_true(w->graphs[t]->output_count <= OUTPUTS_MOST);
            for (uint32_t o = 0; o < w->graphs[t]->output_count; o++) {
                const float *got = net_output(engine, &w->net, t, o, &w->counts[t][o]);
                float **to = &w->outputs[round][t][o];
                assert_non_null(got);
                *to = mts_arena_zero(&w->arena, w->counts[t][o], sizeof **to);
                assert_non_null(*to);
                memcpy(*to, got, w->counts[t][o] * sizeof **to);
            }
        }
    }
}

void control_check_outputs(const control_world *w, const mts_engine *engine, uint32_t set, const char *how)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        for (uint32_t o = 0; o < w->graphs[t]->output_count; o++) {
            size_t count = 0;
            const uint32_t round = set >> t & 1u;
            const float *got = net_output(engine, &w->net, t, o, &count);
            assert_non_null(got);
            assert_int_equal(count, w->counts[t][o]);
            if (memcmp(got, w->outputs[round][t][o], count * sizeof *got) != 0) {
                print_error("family %u, %s: tasks %x run: output %u of task %u is not that of round %u\n",
                            w->family.seed, how, set, o, t, round);
                fail();
            }
        }
    }
}

int control_tests_run(const char *folder, const struct CMUnitTest *tests, size_t count)
{
    mts_error error = {0};
    if (mts_os_directory_make(folder, &error) != MTS_STATUS_OK) {
        print_error("%s\n", error.text);
        return 1;
    }
    for (int d = 0; d < 2; d++) {
        if (net_device_open(control_device_names[d], folder, &control_devices[d], &error) != MTS_STATUS_OK) {
            print_message("%s: %s\n", control_device_names[d], error.text);
        }
    }
    const int failed = control_devices[0] ? _cmocka_run_group_tests("tests", tests, count, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&control_devices[d]);
    }
    return failed;
}

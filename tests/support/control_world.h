/*
 * control_world.h: a random family of tasks with two rounds of inputs, of which some tasks run and others do not.
 */
#ifndef MTS_TESTS_SUPPORT_CONTROL_WORLD_H
#define MTS_TESTS_SUPPORT_CONTROL_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "support/net.h"
#include "support/random_net.h"

struct CMUnitTest;

#define TASKS 4
#define OUTPUTS_MOST 16
#define NEVER_MS 1000000u

typedef struct control_world {
    random_family family;
    mts_arena arena;
    const mts_graph *graphs[TASKS];
    test_net net;
    float *inputs[2][TASKS]; /* [round][task] */
    float *outputs[2][TASKS][OUTPUTS_MOST];
    size_t counts[TASKS][OUTPUTS_MOST];
} control_world;

/* The reference and OpenCL; NULL where it cannot be opened. */
extern mts_device *control_devices[2];
extern const char *const control_device_names[2];

/* Fails the test with the error if the status is not OK. */
void control_must(mts_status status, const mts_error *error, const char *what);
void control_world_make(control_world *w, const random_family *family);
void control_world_release(control_world *w);
/* Runs the engine with the inputs of a round, to the end. */
void control_run_round(const control_world *w, mts_engine *engine, uint32_t round);
/* Bit t of `set`: task t runs. */
void control_enable(mts_engine *engine, uint32_t set);
/* Keeps the outputs of both rounds when all tasks run. */
void control_keep_outputs(control_world *w, mts_engine *engine);
/* Fails unless tasks of `set` have the outputs of round 1 and the others those of round 0. */
void control_check_outputs(const control_world *w, const mts_engine *engine, uint32_t set, const char *how);
void control_start(mts_engine *engine);
/* Opens both devices, whose kernels are kept in `folder`, runs the tests and returns how many failed. */
int control_tests_run(const char *folder, const struct CMUnitTest *tests, size_t count);

#endif

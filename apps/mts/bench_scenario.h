/*
 * bench_scenario.h: a scenario file of mts bench (docs/SCENARIOS.md): networks, how often
 * frames for them arrive, and until when each has to be answered.
 */
#ifndef MTS_APPS_BENCH_SCENARIO_H
#define MTS_APPS_BENCH_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_SCENARIO_RATE_MOST 10000.0 /* frames a second */
#define CLI_SCENARIO_TIMES_MOST 64
#define CLI_SCENARIO_NETWORKS_MOST 64
#define CLI_SCENARIO_RANK_MOST 6
/* Bytes of a task's name. */
#define CLI_SCENARIO_TASK 256

typedef struct cli_scenario_network {
    /* Of the network; a task is called so, or with times > 1 NAME.0, NAME.1, ... */
    char *name;
    /* Path of a model, or NULL: the bundle on the command line has it. */
    char *model;
    /* Path of a .npy file for the first input, or NULL: random numbers. */
    char *input;
    /* Arrivals a second. */
    double rate;
    /* Milliseconds after the arrival; 0: until the next arrival. */
    double deadline_ms;
    /* Frames of an arrival, each for a task of its own. */
    uint32_t times;
    uint32_t importance;
    /* Of the first input, where the model leaves it open; rank 0: the model's own. */
    uint32_t rank;
    int64_t shape[CLI_SCENARIO_RANK_MOST];
} cli_scenario_network;

typedef struct cli_scenario {
    /* NULL: none. */
    char *description;
    cli_scenario_network *networks;
    size_t count;
} cli_scenario;

/*
 * Reads and checks a file. False: CLI_ERROR bytes of `error` say which network and key
 * are wrong and what is allowed. Release the scenario in any case.
 */
bool cli_scenario_read(const char *path, cli_scenario *scenario, char *error);
void cli_scenario_release(cli_scenario *scenario);
/* The name of the task of frame `index` of an arrival. */
void cli_scenario_task(const cli_scenario_network *network, uint32_t index, char name[CLI_SCENARIO_TASK]);

#endif

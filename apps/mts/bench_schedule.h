/*
 * bench_schedule.h: a rated workload as numbers: when frames of tasks arrive, which of
 * them run next, which are dropped, and when each ended. Times are milliseconds since a
 * turn began; the clock and the device are the caller's, so that a test can give both.
 */
#ifndef MTS_APPS_BENCH_SCHEDULE_H
#define MTS_APPS_BENCH_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which of the frames that are due run in one submission. */
typedef enum cli_schedule {
    /* All of the highest importance together. */
    CLI_SCHEDULE_TOGETHER = 0,
    /* One: of the highest importance the one with the earliest deadline. */
    CLI_SCHEDULE_ALONE = 1,
    /* As many together, in that order, as are expected to end in half of the time that is
       left to the earliest of their deadlines: what delays a submission delays all of its
       frames. A frame that cannot end in time is dropped before it runs; where a
       task never can, one frame in CLI_RATED_REFUSED runs, which may show that it can. */
    CLI_SCHEDULE_FIT = 2,
    CLI_SCHEDULE_COUNT = 3
} cli_schedule;

#define CLI_RATED_REFUSED 16u

extern const char *const cli_schedule_names[CLI_SCHEDULE_COUNT];

/* A task of which frame i arrives at i * interval_ms. */
typedef struct cli_rated_task {
    double interval_ms;
    /* After the arrival. */
    double deadline_ms;
    /* What a run of this task alone is expected to take; only FIT reads it. Runs correct
       it. */
    double cost_ms;
    /* Frames in a row that FIT has dropped because cost_ms alone is above the deadline. */
    uint32_t refused;
    uint32_t importance;
    /* Frames of a turn. */
    uint64_t frames;
    /* The oldest frame that has neither run nor been dropped. */
    uint64_t next;
} cli_rated_task;

/* What a turn does with the device and the clock. */
typedef struct cli_rated_world {
    void *context;
    /* Milliseconds since the turn began; never goes back. */
    double (*now)(void *context);
    void (*sleep_until)(void *context, double ms);
    /* Runs the tasks whose `chosen` is set, to the end. False: it failed, and the turn
       ends. */
    bool (*run)(void *context, const bool *chosen);
    /* Frame `frame` of a task has ended at `end`, or was dropped (end < 0). */
    void (*ended)(void *context, size_t task, uint64_t frame, double end);
} cli_rated_world;

/* Frames with an arrival before `ms`. */
uint64_t cli_rated_frames(double interval_ms, double ms);
double cli_rated_arrival(const cli_rated_task *task, uint64_t frame);
double cli_rated_deadline(const cli_rated_task *task, uint64_t frame);
/* Whether the oldest open frame of a task has arrived. */
bool cli_rated_is_due(const cli_rated_task *task, double now);
/*
 * The oldest frame of a task that has to be dropped now: its deadline has passed, or,
 * with FIT, a run that starts now is expected to end after it.
 */
bool cli_rated_is_lost(const cli_rated_task *task, cli_schedule schedule, double now);
/*
 * Fills chosen[count]; returns how many are chosen. Frames that are lost are dropped
 * before.
 */
size_t cli_rated_choose(const cli_rated_task *tasks, size_t count, cli_schedule schedule, double now,
                        bool *chosen);
/*
 * A turn from the first arrival until every frame has run or was dropped. chosen[count]
 * is scratch memory. False: a run failed.
 */
bool cli_rated_turn(cli_rated_task *tasks, size_t count, cli_schedule schedule, const cli_rated_world *world,
                    bool *chosen);

#endif

/*
 * tasks.h: the tasks of an engine: their ports, when they run, and what is known of their
 * runs.
 *
 * An active-task mask has one bit for each task, in the order of the engine.
 */
#ifndef MTS_ENGINE_TASKS_H
#define MTS_ENGINE_TASKS_H

#include <stdbool.h>

#include "engine/latency.h"
#include "mts/types.h"

typedef struct mts_input_port {
    /* Elements. */
    size_t count;
    /* Of the caller's data. */
    mts_type dtype;
    /* Index of the input slot that holds the data. */
    uint32_t slot;
} mts_input_port;

typedef struct mts_output_port {
    /* Elements from the start of the arena; unused for a constant. */
    uint64_t offset;
    size_t count;
    mts_type dtype;
    /* float32 data that never changes, or NULL. */
    const void *constant;
    /* The data as the caller reads it, or NULL: float32 is read in place. */
    void *host;
} mts_output_port;

/* When a task runs (control.c). */
typedef struct mts_schedule {
    bool disabled;
    /* Submissions from run to run, 0 as 1; submissions that still pass without it. */
    uint32_t every, pause;
    /* Nanoseconds from run to run, 0: no limit; it does not run before `next`. */
    uint64_t period, next;
} mts_schedule;

typedef struct mts_engine_task {
    /* Index in the archive. */
    uint32_t task;
    /* The task group that runs it. */
    uint32_t group;
    uint32_t input_count, output_count;
    mts_input_port *inputs;
    mts_output_port *outputs;
    mts_schedule schedule;
    /* Number of the submission that the outputs are of; 0: none. */
    uint64_t output_run;
    mts_latencies latencies;
} mts_engine_task;

typedef struct mts_engine_tasks {
    mts_engine_task *items;
    uint32_t count, group_count;
    /* 32-bit words of an active-task mask. */
    uint32_t mask_words;
} mts_engine_tasks;

/* NULL: the engine does not run this task of the archive. */
static inline mts_engine_task *mts_tasks_find(const mts_engine_tasks *tasks, uint32_t task)
{
    for (uint32_t i = 0; i < tasks->count; i++) {
        if (tasks->items[i].task == task) {
            return &tasks->items[i];
        }
    }
    return NULL;
}

static inline bool mts_task_is_active(const uint32_t *active, uint32_t position)
{
    return (active[position / 32] >> position % 32 & 1u) != 0;
}

static inline uint32_t mts_tasks_count_active(const mts_engine_tasks *tasks, const uint32_t *active)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < tasks->count; t++) {
        count += mts_task_is_active(active, t) ? 1 : 0;
    }
    return count;
}

#endif

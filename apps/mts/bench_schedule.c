/*
 * bench_schedule.c: the arrivals of a rated workload and the order of its runs. Pure: no
 * clock, no device, no memory of its own.
 */
#include "bench_schedule.h"

#include <math.h>

const char *const cli_schedule_names[CLI_SCHEDULE_COUNT] = {"together", "alone", "fit"};

uint64_t cli_rated_frames(double interval_ms, double ms)
{
    /* The quotient may lie just above a whole number, where no frame arrives before the
       end. */
    const double count = ms > 0.0 ? ceil(ms / interval_ms - 1e-9) : 0.0;
    return count < 1e15 ? (uint64_t)count : (uint64_t)1e15;
}

double cli_rated_arrival(const cli_rated_task *task, uint64_t frame)
{
    return (double)frame * task->interval_ms;
}

double cli_rated_deadline(const cli_rated_task *task, uint64_t frame)
{
    return cli_rated_arrival(task, frame) + task->deadline_ms;
}

bool cli_rated_is_due(const cli_rated_task *task, double now)
{
    return task->next < task->frames && cli_rated_arrival(task, task->next) <= now;
}

bool cli_rated_is_lost(const cli_rated_task *task, cli_schedule schedule, double now)
{
    const bool counts = schedule == CLI_SCHEDULE_FIT && task->refused + 1 < CLI_RATED_REFUSED;
    const double cost = counts ? task->cost_ms : 0.0;
    return cli_rated_is_due(task, now) && now + cost > cli_rated_deadline(task, task->next);
}

/* Whether the due frame of `a` runs before that of `b`. */
static bool comes_first(const cli_rated_task *a, const cli_rated_task *b)
{
    return a->importance != b->importance ? a->importance > b->importance
                                          : cli_rated_deadline(a, a->next) < cli_rated_deadline(b, b->next);
}

/* The due task that runs first of those not chosen yet; count: none is left. */
static size_t first_of(const cli_rated_task *tasks, size_t count, double now, const bool *chosen)
{
    size_t first = count;
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i] && cli_rated_is_due(&tasks[i], now) &&
            (first == count || comes_first(&tasks[i], &tasks[first]))) {
            first = i;
        }
    }
    return first;
}

size_t cli_rated_choose(const cli_rated_task *tasks, size_t count, cli_schedule schedule, double now,
                        bool *chosen)
{
    size_t taken = 0;
    uint32_t importance = 0;
    double end = now;
    double limit = INFINITY;
    for (size_t i = 0; i < count; i++) {
        chosen[i] = false;
    }
    for (size_t i = first_of(tasks, count, now, chosen); i < count; i = first_of(tasks, count, now, chosen)) {
        const double deadline = cli_rated_deadline(&tasks[i], tasks[i].next);
        importance = taken == 0 ? tasks[i].importance : importance;
        end += tasks[i].cost_ms;
        limit = fmin(limit, deadline);
        const bool joins = schedule == CLI_SCHEDULE_TOGETHER
                               ? tasks[i].importance == importance
                               : schedule == CLI_SCHEDULE_FIT && end <= now + (limit - now) / 2.0;
        if (taken > 0 && !joins) {
            break;
        }
        chosen[i] = true;
        taken++;
    }
    return taken;
}

/* Drops the frames that are lost; of a task, the oldest ones. */
static void drop_lost(cli_rated_task *tasks, size_t count, cli_schedule schedule, double now,
                      const cli_rated_world *world)
{
    for (size_t i = 0; i < count; i++) {
        while (cli_rated_is_lost(&tasks[i], schedule, now)) {
            world->ended(world->context, i, tasks[i].next, -1.0);
            tasks[i].next++;
            tasks[i].refused += tasks[i].cost_ms > tasks[i].deadline_ms ? 1 : 0;
        }
    }
}

/*
 * What the chosen tasks have taken together corrects their costs, which were measured
 * before the turn, one by one: by a quarter of the difference, of which a run that was
 * disturbed counts as twice what was expected at most. A cost that lets no frame run is
 * replaced.
 */
static void correct_costs(cli_rated_task *tasks, size_t count, const bool *chosen, double ms)
{
    double expected = 0.0;
    for (size_t i = 0; i < count; i++) {
        expected += chosen[i] ? tasks[i].cost_ms : 0.0;
    }
    const double ratio = expected > 0.0 ? fmin(ms / expected, 2.0) : 1.0;
    for (size_t i = 0; i < count; i++) {
        const bool replaced = tasks[i].cost_ms > tasks[i].deadline_ms;
        tasks[i].cost_ms *= chosen[i] ? 1.0 + (ratio - 1.0) * (replaced ? 1.0 : 0.25) : 1.0;
        tasks[i].refused = chosen[i] ? 0 : tasks[i].refused;
    }
}

/* When the next frame arrives; INFINITY: none does. */
static double next_arrival(const cli_rated_task *tasks, size_t count)
{
    double next = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (tasks[i].next < tasks[i].frames) {
            next = fmin(next, cli_rated_arrival(&tasks[i], tasks[i].next));
        }
    }
    return next;
}

bool cli_rated_turn(cli_rated_task *tasks, size_t count, cli_schedule schedule, const cli_rated_world *world,
                    bool *chosen)
{
    for (size_t i = 0; i < count; i++) {
        tasks[i].next = 0;
        tasks[i].refused = 0;
    }
    for (;;) {
        const double now = world->now(world->context);
        drop_lost(tasks, count, schedule, now, world);
        if (cli_rated_choose(tasks, count, schedule, now, chosen) == 0) {
            const double next = next_arrival(tasks, count);
            if (next == INFINITY) {
                return true;
            }
            world->sleep_until(world->context, next);
            continue;
        }
        if (!world->run(world->context, chosen)) {
            return false;
        }
        const double end = world->now(world->context);
        correct_costs(tasks, count, chosen, end - now);
        for (size_t i = 0; i < count; i++) {
            if (chosen[i]) {
                world->ended(world->context, i, tasks[i].next, end);
                tasks[i].next++;
            }
        }
    }
}

/*
 * bench_session.c: a session of mts bench: made as a contestant asks for it, and run
 * once.
 */
#include <stdlib.h>

#include "bench_run.h"
#include "command.h"
#include "kit/priority.h"

mts_status cli_bench_once(const cli_bench_run *s, mts_session *session, double *submit)
{
    mts_ticket ticket = 0;
    mts_status status =
        s->bench->inputs == CLI_BENCH_INPUTS_UPLOADED ? cli_inputs_set(&s->inputs, session) : MTS_STATUS_OK;
    const double start = cli_now_ms();
    status = status == MTS_STATUS_OK ? mts_session_submit(session, NULL, &ticket) : status;
    *submit = cli_now_ms() - start;
    return status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
}

int cli_bench_session(cli_bench_run *s, const cli_contestant *contestant, mts_session **out)
{
    cli_progress progress;
    mts_session_options options;
    uint32_t *priorities = NULL;
    double submit = 0.0;
    mts_session_options_default(&options);
    options.strategy = contestant->strategy;
    options.precision = contestant->precision;
    options.grouping = contestant->grouping;
    options.tuning_ms = s->bench->tuning_ms;
    const int given =
        cli_priorities_find("bench", s->bench->priorities, s->app->bundle, s->names, s->tasks, &priorities);
    if (given >= 0) {
        return given;
    }
    options.priorities = priorities;
    options.memory_budget = contestant->budget ? s->bench->budget : 0;
    (void)cli_placement_find(s->bench->placement, &options.placement);
    options.persistent = contestant->persistent ? 1 : 0;
    options.packed_channels = contestant->packs;
    options.weight_images = contestant->images;
    options.tasks = s->names;
    options.task_count = s->tasks;
    options.separate_inputs = s->bench->common ? 0 : 1;
    options.zero_copy_inputs = s->bench->inputs == CLI_BENCH_INPUTS_ZERO_COPY ? 1 : 0;
    options.frames_in_flight = s->bench->in_flight > 0 ? s->bench->in_flight : 1;
    options.context = &progress;
    options.progress = cli_progress_step;
    cli_progress_begin(&progress);
    mts_status status = mts_session_create(s->app->runtime, s->app->bundle, &options, out);
    cli_progress_end(&progress);
    free(priorities);
    status = status == MTS_STATUS_OK ? cli_inputs_set(&s->inputs, *out) : status;
    status = status == MTS_STATUS_OK ? cli_bench_once(s, *out, &submit) : status;
    return status == MTS_STATUS_OK
               ? -1
               : cli_failure("bench", "%u tasks, %s: %s", s->tasks, contestant->label, s->app->error);
}

/*
 * bench_rated_run.c: the frames of a scenario on a session, as they arrive by the clock.
 * Which of them run is bench_schedule.c's to say.
 */
#include "bench_rated.h"

#include "command.h"

/* Runs of a task alone; the fastest is its cost. */
#define COST_RUNS 5u

/* A turn on a session. */
typedef struct turn {
    cli_rated *rated;
    cli_rated_result *result;
    mts_session *session;
    bool counts;
    /* Of cli_now_ms, when the turn began. */
    double began;
    mts_status status;
} turn;

double cli_rated_interval(const cli_rated *rated, const cli_scenario_network *network)
{
    return 1e3 / (network->rate * rated->speed);
}

double cli_rated_deadline_of(const cli_rated *rated, const cli_scenario_network *network)
{
    return network->deadline_ms > 0.0 ? network->deadline_ms : cli_rated_interval(rated, network);
}

/* Runs the chosen tasks of a session in one submission. */
static mts_status run_chosen(const cli_rated *rated, mts_session *session, const bool *chosen)
{
    const cli_inputs *inputs = &rated->run.inputs;
    mts_status status = MTS_STATUS_OK;
    mts_ticket ticket = 0;
    for (uint32_t t = 0; t < rated->run.tasks && status == MTS_STATUS_OK; t++) {
        const char *name = rated->run.names[t];
        const bool uploads = chosen[t] && rated->bench->inputs == CLI_BENCH_INPUTS_UPLOADED;
        status = mts_session_enable(session, name, chosen[t] ? 1 : 0);
        for (uint32_t i = 0; uploads && inputs->tensors[t][i].data && status == MTS_STATUS_OK; i++) {
            status = mts_session_input(session, name, i, &inputs->tensors[t][i]);
        }
    }
    status = status == MTS_STATUS_OK ? mts_session_submit(session, NULL, &ticket) : status;
    return status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
}

static double turn_now(void *context)
{
    return cli_now_ms() - ((const turn *)context)->began;
}

static void turn_sleep_until(void *context, double ms)
{
    cli_sleep_until(((const turn *)context)->began + ms);
}

static bool turn_run(void *context, const bool *chosen)
{
    turn *t = context;
    const double start = cli_now_ms();
    t->status = run_chosen(t->rated, t->session, chosen);
    if (t->counts) {
        t->result->busy_ms += cli_now_ms() - start;
        t->result->submissions++;
    }
    return t->status == MTS_STATUS_OK;
}

static void turn_ended(void *context, size_t task, uint64_t frame, double end)
{
    const turn *t = context;
    const cli_rated_task *of = &t->rated->tasks[task];
    cli_frames *network = &t->result->networks[t->rated->network_of[task]];
    if (t->counts && end < 0.0) {
        cli_frames_dropped(network);
        cli_frames_dropped(&t->result->all);
    } else if (t->counts) {
        cli_frames_ran(network, end - cli_rated_arrival(of, frame), of->deadline_ms);
        cli_frames_ran(&t->result->all, end - cli_rated_arrival(of, frame), of->deadline_ms);
    }
}

int cli_rated_run_turn(cli_rated *rated, cli_rated_result *result, double ms, bool counts)
{
    const size_t contestant = result->contestant;
    const size_t count = rated->run.tasks;
    turn t = {.rated = rated,
              .result = result,
              .session = rated->run.sessions[contestant],
              .counts = counts,
              .began = cli_now_ms()};
    const cli_rated_world world = {.context = &t,
                                   .now = turn_now,
                                   .sleep_until = turn_sleep_until,
                                   .run = turn_run,
                                   .ended = turn_ended};
    for (size_t i = 0; i < count; i++) {
        rated->tasks[i].frames = cli_rated_frames(rated->tasks[i].interval_ms, ms);
        rated->tasks[i].cost_ms = rated->costs[contestant * count + i];
    }
    const double cpu = cli_cpu_ms();
    if (!cli_rated_turn(rated->tasks, count, result->schedule, &world, rated->chosen)) {
        return cli_failure("bench", "%s", rated->run.app->error);
    }
    if (counts) {
        result->wall_ms += cli_now_ms() - t.began;
        result->cpu_ms += cli_cpu_ms() - cpu;
    }
    return -1;
}

/*
 * What a run of the chosen tasks takes: the first one makes command lists and does not
 * count. The fastest counts, because others can only make a run slower.
 */
static mts_status cost_find(const cli_rated *rated, mts_session *session, double *cost)
{
    mts_status status = run_chosen(rated, session, rated->chosen);
    for (uint32_t r = 0; r < COST_RUNS && status == MTS_STATUS_OK; r++) {
        const double start = cli_now_ms();
        status = run_chosen(rated, session, rated->chosen);
        const double ms = cli_now_ms() - start;
        *cost = r == 0 || ms < *cost ? ms : *cost;
    }
    return status;
}

int cli_rated_prepare(cli_rated *rated, size_t contestant)
{
    const uint32_t count = rated->run.tasks;
    mts_session *session = rated->run.sessions[contestant];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < count; t++) {
        rated->chosen[t] = true;
    }
    for (uint32_t r = 0; r < rated->bench->warm_ups && status == MTS_STATUS_OK; r++) {
        status = run_chosen(rated, session, rated->chosen);
    }
    for (uint32_t t = 0; t < count && status == MTS_STATUS_OK; t++) {
        for (uint32_t other = 0; other < count; other++) {
            rated->chosen[other] = other == t;
        }
        status = cost_find(rated, session, &rated->costs[(size_t)contestant * count + t]);
    }
    return status == MTS_STATUS_OK ? -1 : cli_failure("bench", "%s", rated->run.app->error);
}

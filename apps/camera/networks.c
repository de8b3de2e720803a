/*
 * networks.c: from options to sessions that take frames.
 */
#include "networks.h"

#include <string.h>

int networks_check(const networks_options *options)
{
    if (!options->bundle && (options->every.count > 0 || options->open.tasks)) {
        return cli_usage_error(NULL, "--tasks and --every need a --bundle");
    }
    if (!options->detector != !options->faces) {
        return cli_usage_error(NULL, "--detector and --faces belong together");
    }
    if (options->when_full == MTS_WHEN_FULL_DROP_OLDEST && options->in_flight < 2) {
        return cli_usage_error(NULL, "--drop-oldest takes two frames --in-flight at least");
    }
    return -1;
}

/* "3": each third frame; "2.5hz": so many a second. False: it is neither. */
static bool rate_read(const char *value, double *rate, bool *per_second)
{
    char number[32];
    const size_t length = strlen(value);
    const bool hz = length > 2 && length < sizeof number && strcmp(value + length - 2, "hz") == 0;
    *per_second = hz;
    if (hz) {
        memcpy(number, value, length - 2);
        number[length - 2] = '\0';
        value = number;
    }
    return cli_numbers(value, ',', rate, 1) == 1 && *rate <= 1e6 && *rate > 0 && (hz || *rate >= 1);
}

/* Whether an item is a rate of a task that the session has; -1, or the exit status. */
static int rate_check(cli_open *app, const char *item)
{
    char task[256];
    double rate = 0;
    bool per_second = false;
    mts_task_stats stats = {.size = sizeof stats};
    const char *value = cli_split_pair(item, task, sizeof task);
    if (!value || !rate_read(value, &rate, &per_second)) {
        return cli_usage_error(NULL, "--every takes TASK=N or TASK=Nhz, not '%s'", item);
    }
    return mts_session_task_stats(app->session, task, &stats) == MTS_STATUS_OK
               ? -1
               : cli_failure(NULL, "--every %s: %s", item, app->error);
}

/* All of them are read before the first is set: a mistake changes nothing. */
int networks_rates_set(cli_open *app, const cli_list *every)
{
    int checked = -1;
    for (size_t i = 0; checked < 0 && i < every->count; i++) {
        checked = rate_check(app, every->items[i]);
    }
    for (size_t i = 0; checked < 0 && i < every->count; i++) {
        char task[256];
        double rate = 0;
        bool per_second = false;
        const char *value = cli_split_pair(every->items[i], task, sizeof task);
        (void)rate_read(value, &rate, &per_second);
        const mts_status status = per_second ? mts_session_rate_hz(app->session, task, rate)
                                             : mts_session_rate(app->session, task, (uint32_t)rate);
        if (status != MTS_STATUS_OK) {
            checked = cli_failure(NULL, "--every %s: %s", every->items[i], app->error);
        }
    }
    return checked;
}

/* Each task has to take frames. */
static int tasks_check(const cli_open *app)
{
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        if (!task.takes_frames || task.input_count != 1) {
            return cli_failure(
                NULL, "task '%s' cannot be fed by a camera: %s (leave it out with --tasks)", task.name,
                task.takes_frames ? "it has other inputs besides the picture"
                                  : "its input is no picture, or its preprocessing is unknown");
        }
    }
    return -1;
}

static int cascade_open(cli_open *app, const networks_options *options, mts_strategy strategy, faces *people)
{
    char error[CLI_ERROR] = "";
    mts_session_options session;
    mts_session_options_default(&session);
    session.strategy = strategy;
    session.precision = app->precision;
    session.tuning_ms = options->open.tuning_ms;
    const cli_cascade_options wanted = {.detector = options->detector,
                                        .faces = options->faces,
                                        .rule = cli_face_rule_default(),
                                        .session = &session};
    people->cascade = cli_cascade_create(app->runtime, &wanted, app->error, error);
    return people->cascade ? -1 : cli_failure(NULL, "%s", error);
}

int networks_open(cli_open *app, networks_options *options, feed *queue, faces *people)
{
    mts_strategy strategy;
    int status = cli_open_check(NULL, &options->open, &strategy);
    if (options->bundle) {
        feed_options_set(queue, options->in_flight, options->when_full, &options->open);
        status = status < 0 ? cli_open_bundle(app, NULL, &options->open, options->bundle) : status;
        status = status < 0 ? tasks_check(app) : status;
        status = status < 0 ? cli_open_session(app, NULL, &options->open, strategy) : status;
        status = status < 0 ? networks_rates_set(app, &options->every) : status;
        queue->session = app->session;
    } else if (options->detector) {
        status = status < 0 ? cli_open_runtime(app, NULL, &options->open) : status;
    }
    return status < 0 && options->detector ? cascade_open(app, options, strategy, people) : status;
}

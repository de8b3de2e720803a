/*
 * open.c: from options to a runtime, a bundle and a session.
 */
#include "open.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "priority.h"

/* By their names; -1: there is none of that name. */
static int queue_find(const char *name)
{
    static const char *const names[] = {"default", "background", "smooth", "fast"};
    int mode = name ? MTS_QUEUE_FAST : MTS_QUEUE_DEFAULT;
    while (name && mode >= 0 && strcmp(name, names[mode]) != 0) {
        mode--;
    }
    return mode;
}

/* Directory for what the library caches, made if need be, for its owner alone; false: do without. */
static bool cache_folder(char *path, size_t size)
{
    const char *given = getenv("MTS_CACHE_DIR");
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (given && *given) {
        length = snprintf(path, size, "%s", given);
    } else if (base && *base == '/') {
        length = snprintf(path, size, "%s/mts", base);
    } else if (home && *home == '/') {
        length = snprintf(path, size, "%s/.cache/mts", home);
    }
    if (length <= 0 || (size_t)length >= size) {
        return false;
    }
    for (char *at = path + 1; *at; at++) {
        if (*at == '/') {
            *at = '\0';
            const bool made = mkdir(path, S_IRWXU) == 0 || errno == EEXIST;
            *at = '/';
            if (!made) {
                return false;
            }
        }
    }
    return mkdir(path, S_IRWXU) == 0 || errno == EEXIST;
}

static void log_print(void *context, mts_log_severity severity, const char *text)
{
    (void)context;
    if (severity == MTS_LOG_WARNING || strncmp(text, "check: ", 7) == 0) {
        char clean[1024];
        (void)snprintf(clean, sizeof clean, "%s", text);
        cli_text_clean(clean);
        (void)fprintf(stderr, "%s: %s\n", cli_program,
                      clean); /* errors come back as a status, and are printed there */
    }
}

static int tasks_split(cli_open *app, const char *name, const char *tasks)
{
    const size_t size = strlen(tasks) + 1;
    app->task_names = malloc(size);
    if (!app->task_names) {
        return cli_failure(name, "no memory");
    }
    memcpy(app->task_names, tasks, size);
    if (!cli_list_split(app->task_names, ',', &app->tasks)) {
        return cli_usage_error(name, "option --tasks takes names separated by commas, not '%s'", tasks);
    }
    return -1;
}

/* --device takes an id, or a position in the list of devices. */
static int device_resolve(const char *name, const char *given, mts_device_desc *desc, const char **id)
{
    *id = given;
    if (!given || !*given || given[strspn(given, "0123456789")] != '\0') {
        return -1;
    }
    const unsigned long index = strtoul(given, NULL, 10);
    if (index >= mts_device_count() || mts_device_describe((uint32_t)index, desc) != MTS_STATUS_OK) {
        return cli_failure(name, "there is no device %s ('mts devices' lists what can be opened)", given);
    }
    *id = desc->id;
    return -1;
}

bool cli_placement_find(const char *name, mts_placement *out)
{
    static const char *const names[] = {"auto", "stages", "groups"};
    *out = MTS_PLACEMENT_AUTO;
    for (int i = 0; name && i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (mts_placement)i;
            return true;
        }
    }
    return !name;
}

/* What --devices names: ids, and where they lie until the runtime is open. */
typedef struct device_names {
    char *copy;
    cli_list list;
    const char *ids[MTS_DEVICES_MOST];
    mts_device_desc descs[MTS_DEVICES_MOST];
} device_names;

static void device_names_release(device_names *names)
{
    cli_list_release(&names->list);
    free(names->copy);
}

static int devices_resolve(const char *name, const char *given, device_names *names,
                           mts_runtime_options *runtime)
{
    const size_t size = strlen(given) + 1;
    names->copy = malloc(size);
    if (!names->copy) {
        return cli_failure(name, "no memory");
    }
    memcpy(names->copy, given, size);
    if (!cli_list_split(names->copy, ',', &names->list) || names->list.count > MTS_DEVICES_MOST) {
        return cli_usage_error(name, "--devices takes ids separated by commas, at most %d; not '%s'",
                               MTS_DEVICES_MOST, given);
    }
    for (size_t i = 0; i < names->list.count; i++) {
        names->descs[i].size = sizeof names->descs[i];
        const int resolved = device_resolve(name, names->list.items[i], &names->descs[i], &names->ids[i]);
        if (resolved >= 0) {
            return resolved;
        }
    }
    runtime->devices = names->ids;
    runtime->device_count = (uint32_t)names->list.count;
    return -1;
}

/* False if `name` is no precision. NULL: the session's default. */
static bool find_precision(const char *name, mts_precision *out)
{
    const bool automatic = !name || strcmp(name, "auto") == 0;
    *out = MTS_PRECISION_AUTO;
    return automatic || cli_precision_find(name, out);
}

int cli_open_check(const char *name, const cli_open_options *options, mts_strategy *strategy)
{
    char list[128];
    mts_precision precision;
    if (!cli_strategy_find(options->strategy, strategy)) {
        return cli_usage_error(name, "no strategy '%s'; there are: %s", options->strategy,
                               cli_strategy_list(list, sizeof list));
    }
    mts_placement placement;
    if (options->device && options->devices) {
        return cli_usage_error(name, "give --device or --devices, not both");
    }
    if (!cli_placement_find(options->placement, &placement) || (options->placement && !options->devices)) {
        return cli_usage_error(name, "--placement is auto, stages or groups, with --devices");
    }
    if ((options->packed_channels && options->planes) || (options->images && options->no_images)) {
        return cli_usage_error(name, "give --packed-channels or --planes, and --images or --no-images");
    }
    return find_precision(options->precision, &precision)
               ? -1
               : cli_usage_error(name, "no precision '%s'; there are: auto, %s", options->precision,
                                 cli_precision_list());
}

int cli_open_runtime(cli_open *app, const char *name, const cli_open_options *options)
{
    char cache[PATH_MAX];
    mts_device_desc device = {.size = sizeof device};
    mts_runtime_options runtime;
    mts_runtime_options_default(&runtime);
    (void)find_precision(options->precision, &app->precision);
    /* PoCL's workers often wake up on one core, which doubles times at random; pinned
       ones stay apart */
    if (!options->log) {
        (void)setenv("POCL_AFFINITY", "1", 0);
    }
    const int queue = queue_find(options->queue);
    if (queue < 0) {
        return cli_usage_error(name, "no queue mode '%s'; there are: default, background, smooth, fast",
                               options->queue);
    }
    runtime.queue = (mts_queue_mode)queue;
    device_names names = {0};
    const int resolved = options->devices ? devices_resolve(name, options->devices, &names, &runtime)
                                          : device_resolve(name, options->device, &device, &runtime.device);
    if (resolved >= 0) {
        device_names_release(&names);
        return resolved;
    }
    runtime.cache_dir = !options->no_cache && cache_folder(cache, sizeof cache) ? cache : NULL;
    runtime.check = options->check ? 1 : 0;
    runtime.replay = options->replay;
    runtime.flush_launches = options->flush_launches;
    runtime.threads = options->threads;
    runtime.gemm = options->gemm ? MTS_USE_ON : MTS_USE_AUTO;
    runtime.error_text = app->error;
    runtime.error_size = sizeof app->error;
    runtime.log = options->log ? options->log : log_print;
    runtime.context = options->log_context;
    const mts_status status = mts_runtime_create(&runtime, &app->runtime);
    device_names_release(&names);
    if (status != MTS_STATUS_OK) {
        return cli_failure(name, "%s%s", app->error,
                           status == MTS_STATUS_NOT_FOUND ? " ('mts devices' lists what can be opened)" : "");
    }
    return -1;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

int cli_open_bundle(cli_open *app, const char *name, const cli_open_options *options, const char *path)
{
    if (options->tasks) {
        const int status = tasks_split(app, name, options->tasks);
        if (status >= 0) {
            return status;
        }
    }
    const int opened = cli_open_runtime(app, name, options);
    if (opened >= 0) {
        return opened;
    }
    if (mts_bundle_open(app->runtime, path, &app->bundle) != MTS_STATUS_OK) {
        return ends_with(path, ".onnx") || ends_with(path, ".tflite")
                   ? cli_failure(name,
                                 "'%s' is a model, not a bundle; compile it first: mts compile "
                                 "--task NAME=%s -o app.mtsb",
                                 path, path)
                   : cli_failure(name, "%s", app->error);
    }
    for (size_t i = 0; i < app->tasks.count; i++) {
        mts_port_desc port = {.size = sizeof port};
        if (mts_bundle_output(app->bundle, app->tasks.items[i], 0, &port) == MTS_STATUS_NOT_FOUND) {
            return cli_failure(name, "%s: no task '%s' ('mts inspect %s' lists them)", path,
                               app->tasks.items[i], path);
        }
    }
    return -1;
}

/* Numbers for the tasks of the session; NULL in *out without --priority. */
static int priorities_find(const cli_open *app, const char *name, const cli_open_options *options,
                           uint32_t **out)
{
    const uint32_t count = cli_task_count(app);
    const char **names = calloc((size_t)count + 1, sizeof *names);
    *out = NULL;
    if (!names) {
        return cli_failure(name, "no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        names[i] = cli_task(app, i).name;
    }
    const int status = cli_priorities_find(name, options->priorities, app->bundle, names, count, out);
    free(names);
    return status;
}

static mts_use use_of(bool on, bool off)
{
    return on ? MTS_USE_ON : off ? MTS_USE_OFF : MTS_USE_AUTO;
}

int cli_open_session(cli_open *app, const char *name, const cli_open_options *options, mts_strategy strategy)
{
    cli_progress progress;
    uint32_t *priorities = NULL;
    mts_session_options session;
    mts_session_options_default(&session);
    mts_session_destroy(&app->session);
    const int given = priorities_find(app, name, options, &priorities);
    if (given >= 0) {
        return given;
    }
    session.strategy = strategy;
    session.precision = app->precision;
    session.tasks = app->tasks.items;
    session.task_count = (uint32_t)app->tasks.count;
    session.separate_inputs = options->separate_inputs ? 1 : 0;
    session.zero_copy_inputs = options->zero_copy_inputs ? 1 : 0;
    session.persistent = options->persistent ? 1 : 0;
    session.packed_channels = use_of(options->packed_channels, options->planes);
    session.weight_images = use_of(options->images, options->no_images);
    session.grouping = options->grouping;
    session.memory_budget = options->memory_budget;
    session.tuning_ms = options->tuning_ms;
    session.priorities = priorities;
    (void)cli_placement_find(options->placement, &session.placement);
    if (options->frames_in_flight) {
        session.frames_in_flight = options->frames_in_flight;
        session.when_full = options->when_full;
    }
    session.done = options->done;
    session.context = options->done ? options->context : &progress;
    session.progress = options->done ? NULL : cli_progress_step;
    cli_progress_begin(&progress);
    const mts_status status = mts_session_create(app->runtime, app->bundle, &session, &app->session);
    cli_progress_end(&progress);
    free(priorities);
    return status == MTS_STATUS_OK ? -1 : cli_failure(name, "%s", app->error);
}

void cli_close(cli_open *app)
{
    mts_session_destroy(&app->session);
    mts_bundle_destroy(&app->bundle);
    mts_runtime_destroy(&app->runtime);
    cli_list_release(&app->tasks);
    free(app->task_names);
    app->task_names = NULL;
}

uint32_t cli_task_count(const cli_open *app)
{
    return app->tasks.count ? (uint32_t)app->tasks.count : mts_bundle_task_count(app->bundle);
}

mts_task_desc cli_task(const cli_open *app, uint32_t index)
{
    mts_task_desc task = {.size = sizeof task};
    if (app->tasks.count == 0) {
        (void)mts_bundle_task(app->bundle, index, &task);
        return task;
    }
    for (uint32_t i = 0; i < mts_bundle_task_count(app->bundle); i++) {
        (void)mts_bundle_task(app->bundle, i, &task);
        if (strcmp(task.name, app->tasks.items[index]) == 0) {
            break;
        }
    }
    return task;
}

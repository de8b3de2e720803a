/*
 * session.c: the session handle: making one, its inputs, outputs, statistics.
 *
 * The work is the engine's; here arguments are checked and the order of calls is watched
 * (session_run.c holds submit and wait).
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"
#include "base/size.h"
#include "tune/explain.h"

#define IN_FLIGHT_MOST 16u

/* Finds the tasks that the options name. */
static mts_status tasks_resolve(mts_session *session, const mts_session_options *options, mts_error *error)
{
    const mts_archive *archive = mts_api_archive(session);
    const uint32_t count = options->tasks ? options->task_count : archive->task_count;
    session->tasks = mts_alloc_zero(&session->runtime->allocator, count, sizeof *session->tasks);
    if (!session->tasks) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = i;
        if (options->tasks) {
            if (!options->tasks[i]) {
                return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "session options: a task's name is NULL");
            }
            task = mts_archive_find(archive, options->tasks[i]);
        }
        if (task == MTS_NONE) {
            return mts_fail(error, MTS_STATUS_NOT_FOUND, "the bundle has no task '%s'", options->tasks[i]);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (session->tasks[j] == task) {
                return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                "session options: task '%s' is named twice", archive->tasks[task].name);
            }
        }
        session->tasks[i] = task;
    }
    session->task_count = count;
    return MTS_STATUS_OK;
}

static const char where[] = "session options"; /* begins their sentences */

static mts_status in_flight_check(const mts_session_options *options, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if (options->frames_in_flight == 0 || options->frames_in_flight > IN_FLIGHT_MOST) {
        return mts_fail(error, bad, "%s: frames_in_flight is 1..%u, not %" PRIu32, where, IN_FLIGHT_MOST,
                        options->frames_in_flight);
    }
    const mts_status status =
        mts_check_kind(where, "when_full", (int)options->when_full, MTS_WHEN_FULL_DROP_OLDEST, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (options->frames_in_flight > 1 && options->zero_copy_inputs) {
        return mts_fail(error, bad, "%s: zero_copy_inputs allows 1 frame in flight, not %" PRIu32, where,
                        options->frames_in_flight);
    }
    if (options->when_full == MTS_WHEN_FULL_BLOCK && !options->done) {
        return mts_fail(error, bad, "%s: MTS_WHEN_FULL_BLOCK requires `done`", where);
    }
    if (options->when_full == MTS_WHEN_FULL_DROP_OLDEST && options->frames_in_flight < 2) {
        return mts_fail(error, bad, "%s: MTS_WHEN_FULL_DROP_OLDEST requires at least 2 frames_in_flight",
                        where);
    }
    return MTS_STATUS_OK;
}

#ifndef MTS_SMALL
static mts_status placement_check(const mts_session_options *options, mts_error *error)
{
    mts_status status =
        mts_check_kind(where, "placement", (int)options->placement, MTS_PLACEMENT_GROUPS, error);
    MTS_TRY(status, mts_check_kind(where, "placement_goal", (int)options->placement_goal,
                                   MTS_PLACEMENT_GOAL_LATENCY, error));
    MTS_TRY(status, mts_check_kind(where, "on_device_lost", (int)options->on_device_lost,
                                   MTS_ON_DEVICE_LOST_REPLAN, error));
    if (status == MTS_STATUS_OK && options->on_device_lost == MTS_ON_DEVICE_LOST_REPLAN &&
        options->zero_copy_inputs) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "%s: MTS_ON_DEVICE_LOST_REPLAN copies inputs: leave zero_copy_inputs out", where);
    }
    return status;
}
#endif

static mts_status options_check(const mts_session_options *options, mts_error *error)
{
    mts_status status = mts_check_kind(where, "strategy", (int)options->strategy, MTS_STRATEGY_DENSE, error);
    MTS_TRY(status, mts_check_kind(where, "precision", (int)options->precision, MTS_PRECISION_AUTO, error));
    if (status == MTS_STATUS_OK && (options->tasks != NULL) != (options->task_count != 0)) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: tasks is %s, but task_count is %" PRIu32,
                          where, options->tasks ? "given" : "NULL", options->task_count);
    }
    MTS_TRY(status, mts_check_kind(where, "grouping", (int)options->grouping, MTS_GROUPING_MEASURED, error));
    MTS_TRY(status, mts_check_flag(where, "separate_inputs", options->separate_inputs, error));
    MTS_TRY(status, mts_check_flag(where, "zero_copy_inputs", options->zero_copy_inputs, error));
    MTS_TRY(status, mts_check_flag(where, "persistent", options->persistent, error));
    MTS_TRY(status,
            mts_check_kind(where, "packed_channels", (int)options->packed_channels, MTS_USE_ON, error));
    MTS_TRY(status, mts_check_kind(where, "weight_images", (int)options->weight_images, MTS_USE_ON, error));
    MTS_TRY(status, in_flight_check(options, error));
#ifndef MTS_SMALL
    MTS_TRY(status, placement_check(options, error));
#endif
    return status;
}

/* Runs on the device at a time. Two keep it busy. A frame on the device cannot be dropped
 * any more, so a session that drops frames has one slot more. */
static uint32_t on_device(const mts_session_options *options)
{
    const uint32_t places =
        options->frames_in_flight - (options->when_full == MTS_WHEN_FULL_DROP_OLDEST ? 1 : 0);
    return places < 2 ? places : 2;
}

#ifdef MTS_SMALL

static mts_status pipeline_create(mts_session *session, const mts_session_options *options,
                                  const mts_engine_options *engine, const mts_planning_options *how,
                                  mts_error *error)
{
    (void)options;
    return mts_planned_engine_create(session->runtime->device, mts_api_archive(session), engine, how,
                                     &session->pipeline, &session->report, error);
}

#else

/* On all devices of a runtime that has several. */
static mts_status place_session(mts_session *session, const mts_session_options *options,
                                const mts_engine_options *engine, const mts_planning_options *how,
                                mts_error *error)
{
    mts_runtime *runtime = session->runtime;
    mts_device *devices[MTS_DEVICES_MOST] = {runtime->device};
    const char *ids[MTS_DEVICES_MOST] = {runtime->desc.id};
    const bool throughput =
        options->placement_goal == MTS_PLACEMENT_GOAL_THROUGHPUT ||
        (options->placement_goal == MTS_PLACEMENT_GOAL_AUTO && options->frames_in_flight > 1);
    for (uint32_t i = 0; i < runtime->more_count; i++) {
        devices[i + 1] = runtime->more[i];
        ids[i + 1] = runtime->more_desc[i].id;
    }
    const mts_pipeline_options pipeline = {
        .devices = devices,
        .device_count = runtime->more_count + 1,
        .ids = ids,
        .engine = *engine,
        .how = *how,
        .stages = options->placement != MTS_PLACEMENT_GROUPS,
        .groups = options->placement != MTS_PLACEMENT_STAGES,
        .goal = throughput ? MTS_CHAIN_THROUGHPUT : MTS_CHAIN_LATENCY,
        .replan = options->on_device_lost == MTS_ON_DEVICE_LOST_REPLAN,
    };
    return mts_pipeline_create(mts_api_archive(session), &pipeline, &session->pipeline, error);
}

static mts_status pipeline_create(mts_session *session, const mts_session_options *options,
                                  const mts_engine_options *engine, const mts_planning_options *how,
                                  mts_error *error)
{
    mts_engine *made = NULL;
    if (session->runtime->more_count > 0) {
        return place_session(session, options, engine, how, error);
    }
    mts_status status = mts_planned_engine_create(session->runtime->device, mts_api_archive(session), engine,
                                                  how, &made, &session->report, error);
    MTS_TRY(status, mts_pipeline_of_engine(&made, &session->runtime->allocator, &session->pipeline, error));
    mts_engine_destroy(&made);
    return status;
}

#endif

/* In which precision a session computes that leaves it to the device. Parts on several devices
   hand numbers of one kind to each other. */
static mts_precision precision_of(const mts_runtime *runtime)
{
#ifndef MTS_SMALL /* which knows one device, and no GPU by name */
    if (runtime->more_count == 0) {
        return mts_precision_preferred(&runtime->device->info);
    }
#endif
    (void)runtime;
    return MTS_PRECISION_FLOAT32;
}

static mts_status engine_build_in(mts_session *session, const mts_session_options *options,
                                  mts_precision precision, mts_error *error)
{
    const mts_engine_options engine = {
        .strategy = options->strategy,
        .precision = precision,
        .tasks = session->tasks,
        .task_count = session->task_count,
        .separate_inputs = options->separate_inputs != 0,
        .zero_copy_inputs = options->zero_copy_inputs != 0,
        .memory_budget = {options->memory_budget},
#ifndef MTS_SMALL
        .weights_reserve = options->weights_reserve,
#endif
        .persistent = options->persistent != 0,
        .packed_channels = options->packed_channels,
        .weight_images = options->weight_images,
        .priorities = options->priorities,
        .slots = options->frames_in_flight,
        .depth = on_device(options),
        .drop_oldest = options->when_full == MTS_WHEN_FULL_DROP_OLDEST,
        .context = options->context,
        .progress = options->progress,
    };
#ifndef MTS_SMALL
    session->engine_options = engine;
    session->engine_options.tasks = session->engine_options.priorities = NULL;
    session->engine_options.progress = NULL;
    session->engine_options.context = NULL;
#endif
    const mts_planning_options how = {
        .grouping = options->grouping, .tuning_ms = options->tuning_ms, .cache = &session->runtime->cache};
    session->separate_inputs = engine.separate_inputs;
    session->when_full = options->when_full;
    session->done = options->done;
    session->context = options->context;
    return pipeline_create(session, options, &engine, &how, error);
}

static mts_status engine_build(mts_session *session, const mts_session_options *options, mts_error *error)
{
    const bool chosen = options->precision == MTS_PRECISION_AUTO;
    const mts_precision precision = chosen ? precision_of(session->runtime) : options->precision;
    mts_status status = engine_build_in(session, options, precision, error);
#ifndef MTS_SMALL
    /* what float16 does not hold: weights, positions */
    if (chosen && precision != MTS_PRECISION_FLOAT32 &&
        (status == MTS_STATUS_LIMIT || status == MTS_STATUS_UNSUPPORTED)) {
        mts_log_write(&session->runtime->log, MTS_LOG_INFO, "the session computes in float32: %s",
                      error->text);
        status = engine_build_in(session, options, MTS_PRECISION_FLOAT32, error);
    }
#endif
    return status;
}

/*
 * Whether another device may do what this one did not. A memory budget and the memory of
 * the host are the same for each. NOT_FOUND: the device lacks a library of its own, as
 * CUDA's compiler.
 */
static bool may_move(const mts_runtime *runtime, const mts_session_options *options, mts_status status)
{
    const bool own = status == MTS_STATUS_UNSUPPORTED || status == MTS_STATUS_NOT_FOUND ||
                     status == MTS_STATUS_DEVICE || status == MTS_STATUS_DEVICE_LOST ||
                     (status == MTS_STATUS_OUT_OF_MEMORY && runtime->device->full) ||
                     (status == MTS_STATUS_LIMIT && options->memory_budget == 0);
    return own && runtime->chosen && !runtime->settled;
}

/*
 * Tries the devices after the runtime's, which it keeps where none of them builds the
 * session either. A cancellation ends the search.
 */
static mts_status move_to_next(mts_session *session, const mts_session_options *options, mts_status failed,
                               mts_error *why)
{
    mts_runtime *runtime = session->runtime;
    mts_device *const first = runtime->device;
    mts_device_desc desc;
    mts_error error = {0};
    uint32_t rank = runtime->rank;
    while (mts_api_runtime_open_next(runtime, &rank, &runtime->device, &desc, &error) == MTS_STATUS_OK) {
        mts_log_write(&runtime->log, MTS_LOG_WARNING,
                      "the session cannot be built on %s (%s: %s); trying %s (%s)", runtime->desc.id,
                      mts_status_text(failed), why->text, desc.id, desc.name);
        const mts_status status = engine_build(session, options, &error);
        if (status == MTS_STATUS_OK) {
            mts_device *gone = first;
            mts_device_destroy(&gone);
            runtime->desc = desc;
            runtime->rank = rank;
            return MTS_STATUS_OK;
        }
        mts_device_destroy(&runtime->device);
        if (status == MTS_STATUS_CANCELLED) {
            *why = error;
            failed = status;
            break;
        }
    }
    runtime->device = first;
    return failed;
}

#ifndef MTS_SMALL
/* For engines with other tasks: the caller's array need not live until then. */
static mts_status keep_priorities(mts_session *session, const mts_session_options *options, mts_error *error)
{
    if (!options->priorities) {
        return MTS_STATUS_OK;
    }
    session->priorities =
        mts_alloc_zero(&session->runtime->allocator, session->task_count, sizeof *session->priorities);
    if (!session->priorities) {
        return mts_fail_memory(error);
    }
    memcpy(session->priorities, options->priorities, session->task_count * sizeof *session->priorities);
    return MTS_STATUS_OK;
}
#endif

static mts_status session_build(mts_session *session, const mts_session_options *options, mts_error *error)
{
    mts_status status = tasks_resolve(session, options, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
#ifndef MTS_SMALL
    status = keep_priorities(session, options, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
#endif
    session->runtime->device->full = false;
    status = engine_build(session, options, error);
    return may_move(session->runtime, options, status) ? move_to_next(session, options, status, error)
                                                       : status;
}

void mts_session_options_default_sized(mts_session_options *options, size_t size)
{
    const mts_session_options defaults = {.size = sizeof(mts_session_options),
                                          .strategy = MTS_STRATEGY_COMPACT,
                                          .precision = MTS_PRECISION_AUTO,
                                          .frames_in_flight = 1};
    mts_sized_default(options, size, &defaults);
}

mts_status mts_session_create(mts_runtime *runtime, mts_bundle *bundle, const mts_session_options *options,
                              mts_session **out)
{
    mts_session_options known;
    mts_session *session = NULL;
    mts_error error = {0};
    mts_status status = MTS_STATUS_OK;
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    *out = NULL;
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!bundle || bundle->runtime != runtime) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_create: %s",
                          bundle ? "the bundle was opened by another runtime" : "bundle is NULL");
    }
    mts_session_options_default(&known);
    if (options) {
        MTS_TRY(status, mts_sized_read(&known, sizeof known, options, "mts_session_options", &error));
    }
    MTS_TRY(status, options_check(&known, &error));
    if (status == MTS_STATUS_OK) {
        session = mts_alloc_zero(&runtime->allocator, 1, sizeof *session);
        status = session ? MTS_STATUS_OK : mts_fail_memory(&error);
    }
    if (status == MTS_STATUS_OK) {
        session->runtime = runtime;
        session->bundle = bundle;
#ifndef MTS_SMALL
        session->archive = bundle->archive;
#endif
        status = session_build(session, &known, &error);
    }
    if (status != MTS_STATUS_OK) {
        mts_session_destroy(&session);
        return mts_sink_report(&runtime->sink, status, &error);
    }
    runtime->settled = true;
    *out = session;
    return MTS_STATUS_OK;
}

void mts_session_destroy(mts_session **session)
{
    if (!session || !*session) {
        return;
    }
    mts_session *dead = *session;
    if (dead->delivering) {
        return;
    }
    *session = NULL;
#ifndef MTS_SMALL
    mts_api_changes_release(dead);
#endif
    if (dead->pipeline) {
        mts_api_session_abandon(dead);
    }
    mts_pipeline_destroy(&dead->pipeline);
    mts_planning_report_release(&dead->report);
    mts_alloc_free(&dead->runtime->allocator, dead->tasks);
#ifndef MTS_SMALL
    mts_alloc_free(&dead->runtime->allocator, dead->priorities);
#endif
    mts_alloc_free(&dead->runtime->allocator, dead);
}

/* The port of a task that the session runs. */
static mts_status port_find(const mts_session *session, const char *name, bool output, uint32_t index,
                            uint32_t *task, const mts_port **port, mts_error *error)
{
    mts_status status = mts_api_session_task(session, name, task, error);
    MTS_TRY(status, mts_api_port(&mts_api_archive(session)->tasks[*task], output, index, port, error));
    return status;
}

static mts_status input_set(mts_session *session, const char *name, uint32_t index, const mts_tensor *tensor,
                            mts_error *error)
{
    const mts_port *port = NULL;
    uint32_t task = 0;
    mts_status status = port_find(session, name, false, index, &task, &port, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!tensor || !tensor->data || tensor->rank > MTS_TENSOR_RANK_MAX) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "task '%s', input '%s': the tensor is NULL or its rank is"
                        " more than %d",
                        name, port->name, MTS_TENSOR_RANK_MAX);
    }
    const mts_shape shape = mts_shape_make(tensor->rank, tensor->dims);
    size_t bytes = 0;
    const bool sized = mts_shape_bytes(&port->shape, port->dtype, &bytes);
    if (!sized || (int)tensor->type != (int)port->dtype || !mts_shape_equal(&shape, &port->shape) ||
        bytes != tensor->bytes) {
        char have[96];
        char want[96];
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "task '%s', input '%s' takes %s %s (%zu bytes), given: %s %s (%zu bytes)", name, port->name,
            mts_type_name(port->dtype), mts_shape_text(&port->shape, want, sizeof want), bytes,
            mts_type_name((mts_type)tensor->type), mts_shape_text(&shape, have, sizeof have), tensor->bytes);
    }
    status = mts_api_session_free(session, error);
    MTS_TRY(status,
            mts_pipeline_set_input(session->pipeline, task, index, tensor->data, tensor->bytes, error));
    return status;
}

mts_status mts_session_input(mts_session *session, const char *task, uint32_t index, const mts_tensor *tensor)
{
    mts_error error = {0};
    const mts_status status = input_set(session, task, index, tensor, &error);
    return mts_api_session_report(session, status, &error);
}

static mts_status output_get(const mts_session *session, const char *name, uint32_t index, mts_tensor *out,
                             mts_error *error)
{
    const void *data = NULL;
    size_t bytes = 0;
    if (!out) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_output: out is NULL");
    }
    const mts_port *port = NULL;
    uint32_t task = 0;
    mts_status status = port_find(session, name, true, index, &task, &port, error);
    MTS_TRY(status, mts_pipeline_output(session->pipeline, task, index, &data, &bytes, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    memset(out, 0, sizeof *out);
    out->data = (void *)(uintptr_t)data; /* the public view has one struct for both directions */
    out->bytes = bytes;
    out->type = (mts_type)port->dtype;
    out->rank = port->shape.rank;
    memcpy(out->dims, port->shape.dims, sizeof out->dims);
    return MTS_STATUS_OK;
}

mts_status mts_session_output(mts_session *session, const char *task, uint32_t index, mts_tensor *out)
{
    mts_error error = {0};
    const mts_status status = output_get(session, task, index, out, &error);
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_stats_get(const mts_session *session, mts_session_stats *stats)
{
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_session_stats known;
    mts_pipeline_stats_get(session->pipeline, &known);
#ifndef MTS_SMALL
    if (!mts_pipeline_is_engine(session->pipeline)) {
        return mts_api_answer(session->runtime, stats, &known, sizeof known, "mts_session_stats");
    }
#endif
    known.planning_ms = session->report.planning_ms;
    known.predicted_ms = session->report.predicted_ms;
    return mts_api_answer(session->runtime, stats, &known, sizeof known, "mts_session_stats");
}

static mts_status explain(const void *session, mts_report report, mts_text *text, mts_error *error)
{
    const mts_session *self = session;
    if (report == MTS_REPORT_DOT) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "mts_session_explain writes text and JSON; mts_bundle_inspect writes Graphviz");
    }
#ifndef MTS_SMALL
    if (!mts_pipeline_is_engine(self->pipeline)) {
        mts_pipeline_explain(self->pipeline, report == MTS_REPORT_JSON, text);
        return MTS_STATUS_OK;
    }
#endif
    mts_explain(mts_pipeline_part(self->pipeline, 0), &self->report, report == MTS_REPORT_JSON, text);
    return MTS_STATUS_OK;
}

mts_status mts_session_explain(const mts_session *session, mts_report report, char *buffer, size_t size,
                               size_t *needed)
{
    return mts_api_text(session ? session->runtime : NULL, explain, session, report, buffer, size, needed);
}

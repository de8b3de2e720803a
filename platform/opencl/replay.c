/*
 * replay.c: records a command list once, replays it, and measures whether that pays.
 *
 * A recording may be enqueued again before it has run only if the device is capable of that
 * and it was recorded for it. On other devices it is used only if it is known to have run (the
 * queue was waited for, or an event behind it was seen passed); otherwise the launches are
 * enqueued one by one, which gives the same bits. Where the queue is flushed every few
 * launches, a list is recorded in parts of as many.
 */
#include <string.h>

#include "platform/opencl/opencl.h"

/* A measurement: rounds of each way in turns, the fastest counts. Recording has to save a
   thirtieth. Lists of fewer launches are too short for the clock; of launches that take
   longer, submitting is no part that counts. */
#define ROUNDS 4
#define LAUNCHES_LEAST 16
#define LAUNCH_MOST_NS 1000000u
#define saves(ns, plain) ((ns) + (plain) / 30 < (plain))

bool mts_cl_replay_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id,
                        mts_cl_replay *out)
{
    char has[MTS_CL_EXTENSIONS_MOST];
    memset(out, 0, sizeof *out);
    mts_cl_extensions(cl, id, has);
    const bool khr = mts_cl_khr_find(cl, platform, id, has, &out->khr);
    const bool qcom = mts_cl_qcom_find(cl, platform, id, has, &out->qcom);
    out->way = khr ? MTS_CL_REPLAY_KHR : qcom ? MTS_CL_REPLAY_QCOM : MTS_CL_REPLAY_NONE;
    out->changed_way = out->khr.update ? MTS_CL_REPLAY_MUTABLE : out->way;
    return khr || qcom;
}

static bool has_way(const mts_cl_replay *replay, mts_cl_replay_way way)
{
    return way == MTS_CL_REPLAY_KHR       ? replay->khr.create != NULL
           : way == MTS_CL_REPLAY_MUTABLE ? replay->khr.update != NULL
           : way == MTS_CL_REPLAY_QCOM    ? replay->qcom.create != NULL
                                          : false;
}

/* ---- recording ---- */

static void release(mts_cl_device *device, mts_cl_recorded *recorded)
{
    if (recorded->parts && recorded->replayed > device->finished && !mts_device_is_lost(&device->base)) {
        (void)mts_cl_finish(device, NULL); /* it may still run; not every driver keeps it until then */
    }
    for (size_t i = 0; i < recorded->part_count; i++) {
        if (recorded->parts[i]) {
            (void)(recorded->way == MTS_CL_REPLAY_QCOM ? device->replay.qcom.release(recorded->parts[i])
                                                       : device->replay.khr.release(recorded->parts[i]));
        }
    }
    mts_alloc_free(device->base.allocator, recorded->parts);
    mts_alloc_free(device->base.allocator, recorded->commands);
    mts_cl_overrides_release(device, &recorded->overrides);
    *recorded = (mts_cl_recorded){.way = MTS_CL_REPLAY_NONE};
}

static void discard(mts_cl_device *device, mts_cl_recorded *recorded, size_t launches, const char *call,
                    cl_int result)
{
    mts_log_write(
        device->base.log, MTS_LOG_INFO,
        "'%s': %s failed with %s (%d): a command list of %zu launches is submitted one by one from now on",
        device->base.info.name, call, mts_cl_error_name(result), result, launches);
    release(device, recorded);
}

static size_t part_launches(const mts_cl_device *device, mts_cl_replay_way way, size_t launches)
{
    const size_t flush = device->flush_every > 0 ? device->flush_every : launches;
    const size_t most = way == MTS_CL_REPLAY_QCOM ? device->replay.qcom.most : launches;
    const size_t least = flush < most ? flush : most;
    return least < launches ? least : launches;
}

/* Whether it was recorded; *recorded is empty else. */
static bool record(mts_cl_device *device, const mts_cl_command_list *list, mts_cl_replay_way way,
                   mts_cl_recorded *recorded)
{
    const mts_allocator *a = device->base.allocator;
    const size_t each = part_launches(device, way, list->made);
    const char *call = "";
    cl_int result = CL_SUCCESS;
    *recorded = (mts_cl_recorded){.way = way, .part_launches = each};
    recorded->parts = mts_alloc_zero(a, (list->made + each - 1) / each, sizeof *recorded->parts);
    if (way == MTS_CL_REPLAY_MUTABLE) {
        recorded->commands = mts_alloc_zero(a, list->made, sizeof *recorded->commands);
    }
    if (!recorded->parts || (way == MTS_CL_REPLAY_MUTABLE && !recorded->commands)) {
        release(device, recorded); /* then launch by launch, which takes no memory */
        return false;
    }
    for (size_t first = 0; first < list->made && result == CL_SUCCESS; first += each) {
        const size_t count = each < list->made - first ? each : list->made - first;
        mts_cl_recording *part = &recorded->parts[recorded->part_count++];
        result = way == MTS_CL_REPLAY_QCOM
                     ? mts_cl_qcom_record(device, list, first, count, part, &call)
                     : mts_cl_khr_record(device, list, recorded, first, count, part, &call);
    }
    if (result != CL_SUCCESS) {
        discard(device, recorded, list->made, call, result);
    }
    return result == CL_SUCCESS;
}

/* The commands that CLBlast enqueues cannot be recorded. */
static bool can_record(const mts_cl_command_list *list)
{
    return list->made >= 2 && !list->has_gemm;
}

void mts_cl_replay_record(mts_cl_device *device, mts_cl_command_list *list)
{
    if (!device->replay.asked && has_way(&device->replay, device->replay.way) && can_record(list)) {
        (void)record(device, list, device->replay.way, &list->recorded);
    }
}

/* ---- replaying ---- */

/* A driver that does not say that a recording may wait twice in a queue is not asked to. */
static bool may_run(const mts_cl_device *device, const mts_cl_recorded *recorded)
{
    const bool simultaneous = recorded->way != MTS_CL_REPLAY_QCOM && device->replay.khr.simultaneous;
    return simultaneous || recorded->replayed <= device->finished;
}

static cl_int enqueue(mts_cl_device *device, const mts_cl_recorded *recorded, size_t part)
{
    return recorded->way == MTS_CL_REPLAY_QCOM
               ? mts_cl_qcom_enqueue(device, recorded, part)
               : device->replay.khr.enqueue(1, &device->queue, recorded->parts[part], 0, NULL, NULL);
}

/* Launches that were enqueued, from the first. */
static size_t submit(mts_cl_device *device, mts_cl_recorded *recorded, size_t launches)
{
    size_t part = 0;
    if (!recorded->parts || !may_run(device, recorded)) {
        return 0;
    }
    for (; part < recorded->part_count; part++) {
        const cl_int result = enqueue(device, recorded, part);
        if (result != CL_SUCCESS) {
            const char *call =
                recorded->way == MTS_CL_REPLAY_QCOM ? "clEnqueueRecordingQCOM" : "clEnqueueCommandBufferKHR";
            const size_t done = part * recorded->part_launches;
            discard(device, recorded, launches, call, result);
            return done;
        }
        if (device->flush_every > 0 && part + 1 < recorded->part_count) {
            (void)device->cl.clFlush(device->queue); /* a failure shows at the end */
        }
        recorded->replayed = ++device->replays;
    }
    return launches;
}

size_t mts_cl_replay_submit(mts_cl_device *device, mts_cl_command_list *list)
{
    return submit(device, &list->recorded, list->made);
}

void mts_cl_replay_release(mts_cl_device *device, mts_cl_command_list *list)
{
    release(device, &list->recorded);
}

/* ---- launches that changed ---- */

/* Changes a recording in place. */
static bool change(mts_cl_device *device, mts_cl_command_list *list, const bool *changed)
{
    mts_cl_recorded *recorded = &list->recorded;
    if (recorded->way == MTS_CL_REPLAY_QCOM) {
        return mts_cl_qcom_change(device, list, recorded, changed);
    }
    for (size_t i = 0; i < list->made && recorded->commands; i++) {
        const cl_int result = changed[i] ? mts_cl_khr_change(device, list, recorded, i) : CL_SUCCESS;
        if (result != CL_SUCCESS) {
            mts_log_write(device->base.log, MTS_LOG_INFO,
                          "'%s': clUpdateMutableCommandsKHR failed with %s (%d): lists that change are "
                          "recorded again",
                          device->base.info.name, mts_cl_error_name(result), result);
            device->replay.changed_way = device->replay.way;
            return false;
        }
    }
    return recorded->commands != NULL;
}

void mts_cl_replay_change(mts_cl_device *device, mts_cl_command_list *list, const bool *changed)
{
    if (!list->recorded.parts || change(device, list, changed)) {
        return;
    }
    mts_cl_replay_release(device, list); /* it holds the arguments that the launches had */
    (void)record(device, list, device->replay.changed_way, &list->recorded);
}

/* ---- measuring ---- */

typedef struct candidate {
    mts_cl_recorded recorded;
    uint64_t ns; /* its fastest run */
} candidate;

/* Runs a list once, launch by launch or as it was recorded, which it has to stay. */
static mts_status time_run(mts_cl_device *device, mts_cl_command_list *list, candidate *of, mts_error *error)
{
    const uint64_t start = device->clock();
    const size_t done = submit(device, &of->recorded, list->made);
    mts_status status = mts_cl_list_enqueue(device, list, done, error);
    MTS_TRY(status, mts_cl_finish(device, error));
    const uint64_t ns = device->clock() - start;
    of->ns = ns < of->ns ? ns : of->ns;
    return status;
}

static void choose(mts_cl_device *device, candidate ways[MTS_CL_REPLAY_WAYS])
{
    mts_cl_replay *replay = &device->replay;
    const uint64_t plain = ways[MTS_CL_REPLAY_NONE].ns;
    mts_cl_replay_way best = MTS_CL_REPLAY_NONE;
    for (int way = MTS_CL_REPLAY_KHR; way < MTS_CL_REPLAY_WAYS; way++) {
        if (ways[way].recorded.parts && saves(ways[way].ns, plain) &&
            (best == MTS_CL_REPLAY_NONE || ways[way].ns < ways[best].ns)) {
            best = (mts_cl_replay_way)way;
        }
    }
    const bool changes =
        ways[MTS_CL_REPLAY_MUTABLE].recorded.parts && saves(ways[MTS_CL_REPLAY_MUTABLE].ns, plain);
    replay->way = best;
    replay->changed_way = best == MTS_CL_REPLAY_KHR && changes ? MTS_CL_REPLAY_MUTABLE : best;
    replay->asked = false;
    mts_log_write(device->base.log, MTS_LOG_INFO,
                  "'%s': a list takes %llu us launch by launch, %llu recorded: command lists are %s",
                  device->base.info.name, (unsigned long long)(plain / 1000),
                  (unsigned long long)(ways[best].ns / 1000),
                  best != MTS_CL_REPLAY_NONE ? "recorded" : "submitted launch by launch");
}

mts_status mts_cl_command_list_calibrate(mts_device *base, mts_command_list *base_list, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_command_list *list = (mts_cl_command_list *)base_list;
    candidate ways[MTS_CL_REPLAY_WAYS] = {0};
    if (!device->replay.asked || !can_record(list) || list->made < LAUNCHES_LEAST) {
        return MTS_STATUS_OK;
    }
    ways[MTS_CL_REPLAY_NONE].ns = UINT64_MAX;
    mts_status status = mts_cl_finish(device, error);
    MTS_TRY(status, time_run(device, list, &ways[MTS_CL_REPLAY_NONE], error));
    if (status != MTS_STATUS_OK || ways[MTS_CL_REPLAY_NONE].ns / list->made > LAUNCH_MOST_NS) {
        return status;
    }
    for (int way = MTS_CL_REPLAY_KHR; way < MTS_CL_REPLAY_WAYS; way++) {
        ways[way].ns = UINT64_MAX;
        if (has_way(&device->replay, (mts_cl_replay_way)way)) {
            (void)record(device, list, (mts_cl_replay_way)way, &ways[way].recorded);
        }
    }
    for (int round = 0; round < ROUNDS && status == MTS_STATUS_OK; round++) {
        for (int way = 0; way < MTS_CL_REPLAY_WAYS && status == MTS_STATUS_OK; way++) {
            if (way == MTS_CL_REPLAY_NONE || ways[way].recorded.parts) {
                status = time_run(device, list, &ways[way], error);
            }
        }
    }
    if (status == MTS_STATUS_OK) {
        choose(device, ways);
        list->recorded = ways[device->replay.way].recorded;
        ways[device->replay.way].recorded.parts = NULL;
    }
    for (int way = 0; way < MTS_CL_REPLAY_WAYS; way++) {
        if (ways[way].recorded.parts) {
            release(device, &ways[way].recorded);
        }
    }
    return status;
}

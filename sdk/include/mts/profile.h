/*
 * profile.h: where the time of a session goes, and where its numbers leave their range: what is asked
 * while an app is built, not while it runs.
 *
 * The conventions of mts.h hold.
 */
#ifndef MTS_PROFILE_H
#define MTS_PROFILE_H

#include "mts/mts.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Measures every launch on the inputs that are set, and waits until that is done. The first run is
 * not counted; `runs` measured ones follow. Each duration is a median over the runs, and so is each
 * gap before a launch. start_ms is the sum of the gaps and durations before the launch.
 * mts_session_output still gives the outputs of the run that was consumed last.
 * @param session a session without a run in flight
 * @param runs 1..10000
 * @param launches array in the order of launches; set launches[0].size to the size of an element
 * @param capacity elements of `launches`
 * @param count receives the number of launches, which is mts_session_stats.launches
 * @return LIMIT: `capacity` is too small; nothing ran. UNSUPPORTED: the device cannot measure.
 * BUSY: a run is in flight, or `done` is running. INVALID_ARGUMENT: `runs` is out of its range,
 * launches[0].size is not known, or a zero-copy input was not set.
 */
MTS_API mts_status mts_session_profile(mts_session *session, uint32_t runs, mts_launch_profile *launches,
                                       uint32_t capacity, uint32_t *count);

/* What a thread computed without a break: a part of a launch. */
typedef struct mts_chunk_profile {
    /* sizeof *chunks, of the first element. */
    size_t size;
    /* Index in the order of launches. Thread 0 is the one that submits. */
    uint32_t launch, thread;
    /* Since the run was submitted. */
    double start_ms, duration_ms;
} mts_chunk_profile;

/*
 * Runs the inputs that are set twice, as any run does, and tells which thread of device `cpu` computed what in the
 * second run. Between two parts a thread waits: no launch that may run has a part that is not taken.
 * mts_session_output still gives the outputs of the run that was consumed last.
 * @param session a session without a run in flight
 * @param chunks array, in no order; set chunks[0].size to the size of an element
 * @param capacity elements of `chunks`; 4 for each thread and launch are enough
 * @param count receives the number of parts, also where it is more than `capacity`
 * @return LIMIT: `capacity` is too small; both runs happened, and `chunks` is as it was. UNSUPPORTED: the device has
 * no threads of its own. BUSY: a run is in flight, or `done` is running. INVALID_ARGUMENT: chunks[0].size is not
 * known, or a zero-copy input was not set. OUT_OF_MEMORY. DEVICE, DEVICE_LOST: a launch failed.
 */
MTS_API mts_status mts_session_trace(mts_session *session, mts_chunk_profile *chunks, uint32_t capacity,
                                     uint32_t *count);

/*
 * Predicts when each launch of a run of all tasks would run, by its multiply-adds, bytes and tiles.
 * Nothing runs. On a device that runs launches at the same time their times overlap; the device's
 * units take tiles of any launch that may start.
 * @param session a session
 * @param ceilings highest rates of the device (mts_runtime_measure), both above 0
 * @param launches as in mts_session_profile
 * @param capacity elements of `launches`
 * @param count receives the number of launches, which is mts_session_stats.launches
 * @return LIMIT: `capacity` is too small. INVALID_ARGUMENT: a rate is not above 0 or not finite, or
 * the size of `ceilings` or of launches[0] is not known.
 */
MTS_API mts_status mts_session_predict(mts_session *session, const mts_ceilings *ceilings,
                                       mts_launch_profile *launches, uint32_t capacity, uint32_t *count);

/*
 * Finds the launch that first writes a number that is infinite or NaN: runs the inputs that are set once
 * more, launch by launch, and looks at all activations after each. All tasks run, also those that are
 * switched off. Slow: call it after an output was NaN or infinite. Outputs of the run that was consumed last stay.
 * @param session a session without a run in flight
 * @param label receives "kind xCOUNT LAYER", which lives as long as the session; NULL: no launch writes
 * one (an input may hold one). Of a launch that several layers share it names one and says how many more
 * there are; any of them may have written it.
 * @return BUSY: a run is in flight, or `done` is running. INVALID_ARGUMENT: a zero-copy input was not set,
 * or `label` is NULL. OUT_OF_MEMORY: it takes twice the activations. DEVICE, DEVICE_LOST: a launch failed.
 */
MTS_API mts_status mts_session_find_overflow(mts_session *session, const char **label);

#ifdef __cplusplus
}
#endif

#endif

/*
 * api.h: what the files of this module share: the handles behind mts.h and the way a
 * failure reaches the caller.
 *
 * Private to sdk/api. The module is thin: it checks arguments, translates public structs
 * to those of the modules below and hands on; it decides nothing about networks.
 */
#ifndef MTS_API_API_H
#define MTS_API_API_H

#include "base/log.h"
#include "base/sized.h"
#include "base/text.h"
#include "bundle/archive.h"
#include "device/device.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"
#include "mts/mts.h"
#include "platform/os/os.h"
#include "tune/tune.h"

struct mts_runtime {
    mts_allocator allocator; /* the caller's callbacks or malloc */
    mts_log log;             /* for the modules below; its context is the sink */
    mts_sink sink;
    void *context; /* of the caller's allocator */
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *memory);
    char *cache_dir;
    mts_device *device;
    mts_device_desc desc;
    mts_device_options device_options; /* with which it was opened */
    bool chosen;                       /* the caller named no device */
    bool check;
    uint32_t rank;               /* of the device among those that could have been chosen */
    bool settled;                /* a session was built on the device, which stays */
    mts_program_counts programs; /* kept by the device */
    mts_cache cache;
#ifndef MTS_SMALL
    /* Those behind the first, where there are several. */
    uint32_t more_count;
    mts_device *more[MTS_DEVICES_MOST - 1];
    mts_device_desc more_desc[MTS_DEVICES_MOST - 1];
#endif
};

struct mts_bundle {
    mts_runtime *runtime;
    mts_archive *archive;
    mts_os_map map; /* zero unless mapped */
    void *copy;     /* of memory that was not aligned; NULL otherwise */
};

typedef struct mts_api_changes mts_api_changes; /* of session_change.c */

struct mts_session {
    mts_runtime *runtime;
    mts_bundle *bundle;
    mts_pipeline *pipeline;
    mts_planning_report report; /* how its engine was decided on, if it is one */
    bool separate_inputs;
    uint32_t task_count;
    uint32_t *tasks; /* indices in the archive */
#ifndef MTS_SMALL
    /* Tasks that may run: the bundle's archive, or what changes have joined. */
    const mts_archive *archive;
    mts_engine_options engine_options; /* without tasks, priorities, progress */
    uint32_t *priorities;              /* per task, or NULL */
    mts_api_changes *changes;          /* NULL: none was begun */
#endif

    /* Its runs, whose tickets are the engine's numbers (session_flow.c). */
    mts_when_full when_full;
    void (*done)(void *context, mts_ticket ticket, mts_status status);
    void *context; /* of `done` */

    bool delivering;     /* inside `done` */
    mts_ticket ticket;   /* of the last submission; 0: none yet */
    mts_ticket consumed; /* of the run that was consumed last; 0: none */

    mts_status end; /* how that one ended */
    uint64_t drops; /* of the last 64 submissions, the last one's lowest: which were dropped */
    mts_flow flow;
};

/* The tasks that a session may run. */
static inline const mts_archive *mts_api_archive(const mts_session *session)
{
#ifdef MTS_SMALL
    return session->bundle->archive;
#else
    return session->archive;
#endif
}

/* ---- what public calls have in common (report.c) ---- */

/* mts_sink_report for a call of a session, which may be NULL: INVALID_ARGUMENT, without a
   sentence. */
mts_status mts_api_session_report(const mts_session *session, mts_status status, const mts_error *error);
/* Finds the archive's index of a task that the session runs. INVALID_ARGUMENT if the
   session or the name is NULL, NOT_FOUND if the session does not run the task. */
mts_status mts_api_session_task(const mts_session *session, const char *name, uint32_t *task,
                                mts_error *error);
/* INVALID_ARGUMENT if the session is NULL, BUSY inside `done`, where its runs must not
   change. */
mts_status mts_api_session_free(const mts_session *session, mts_error *error);
/* An input or output of a task; NOT_FOUND if it has none of that number. */
mts_status mts_api_port(const mts_task *task, bool output, uint32_t index, const mts_port **port,
                        mts_error *error);
/* Ends a call that fills the sized struct `out`, called `name`, from `answer`, which has
   all `size` bytes. */
mts_status mts_api_answer(const mts_runtime *runtime, void *out, const void *answer, size_t size,
                          const char *name);
/* A whole call that writes a report on `object` into the caller's buffer by the rules of
 * mts_bundle_inspect. Without a runtime, because the object is NULL: INVALID_ARGUMENT. */
typedef mts_status mts_api_text_writer(const void *object, mts_report report, mts_text *text,
                                       mts_error *error);
mts_status mts_api_text(const mts_runtime *runtime, mts_api_text_writer *write, const void *object,
                        mts_report report, char *buffer, size_t size, size_t *needed);

/* ---- devices.c, frame.c, session_flow.c ---- */

/* Device `index` over all backends that stand in the list, i.e. without those that
   compute nothing. */
mts_status mts_api_device_info(uint32_t index, mts_device_desc *out, mts_error *error);
uint32_t mts_api_device_count(void);
/* Whether an id leaves the choice to the library. */
bool mts_api_device_is_chosen(const char *id);
/* Opens the device that `id` names; where it names none, number `rank` of those there
   are, the best first. NOT_FOUND: there are not as many. */
mts_status mts_api_device_open(const char *id, uint32_t rank, const mts_device_options *options,
                               mts_device **out, mts_device_desc *desc, mts_error *error);

/* ---- runtime.c ---- */

/* Opens the next device after the runtime's own, or after *rank, that can be opened;
   *rank becomes its number. NOT_FOUND: there is none, or the caller named the device. */
mts_status mts_api_runtime_open_next(mts_runtime *runtime, uint32_t *rank, mts_device **out,
                                     mts_device_desc *desc, mts_error *error);

#ifndef MTS_SMALL
/* Between frames: makes a change that is ready. */
void mts_api_session_change(mts_session *session);
/* Ends a change that has not been made, and frees all that changes have needed. */
void mts_api_changes_release(mts_session *session);
#endif

/* Waits, where when_full says so, until `has_room`. */
mts_status mts_api_session_make_room(mts_session *session, bool (*has_room)(const mts_pipeline *pipeline),
                                     mts_error *error);
/* Takes all runs that have finished, if `done` is there to be called. */
void mts_api_session_deliver(mts_session *session);
/* Waits for what is on the device, and ends all runs that were not consumed. */
void mts_api_session_abandon(mts_session *session);
/* Counts a submission. */
void mts_api_session_count(mts_session *session);
/* Counts a run whose place was freed, and tells its end: CANCELLED, or how it had
   failed. */
void mts_api_session_dropped(mts_session *session, mts_ticket ticket, mts_status status);
#endif

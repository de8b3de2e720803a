/*
 * session_change.c: other tasks and other weights for a session that runs. A second thread
 * joins the archives and makes the next engine, while the first one runs frames on a guarded
 * device; between two frames the pipeline then takes that engine.
 *
 * Not responsible for what engines share (engine/engine.h, shares_weights), nor for runs in
 * flight (pipeline/change.h). A library built with MTS_SMALL says UNSUPPORTED.
 */
#include "api/api.h"

#ifdef MTS_SMALL

static mts_status unsupported(const mts_session *session)
{
    mts_error error = {0};
    const mts_status status = mts_fail(&error, MTS_STATUS_UNSUPPORTED, "this library changes no sessions");
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_add(mts_session *session, mts_bundle *bundle)
{
    (void)bundle;
    return unsupported(session);
}

mts_status mts_session_remove(mts_session *session, const char *task)
{
    (void)task;
    return unsupported(session);
}

mts_status mts_session_update(mts_session *session, mts_bundle *bundle)
{
    (void)bundle;
    return unsupported(session);
}

mts_status mts_session_settle(mts_session *session, uint32_t timeout_ms)
{
    (void)timeout_ms;
    return session ? MTS_STATUS_OK : MTS_STATUS_INVALID_ARGUMENT; /* none was begun */
}

#else

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "bundle/join.h"
#include "device/guard.h"
#include "pipeline/change.h"
#include "platform/os/thread.h"

/* Between two looks at a change that is waited for. */
#define LOOK_NS 200000u

typedef enum change_kind { ADD, REMOVE, UPDATE } change_kind;

/* A change that was begun. */
typedef struct change {
    change_kind kind;
    const mts_archive *extra; /* ADD, UPDATE */
    uint32_t removed;         /* REMOVE: index of the task in the archive */

    /* Of the thread, until it has ended. */
    mts_os_thread thread;
    bool threaded;
    _Atomic(uint32_t) ended, cancelled;
    mts_guard *guard;
    const mts_session *session;
    const mts_engine *like;

    /* What it makes. */
    mts_archive *joined;        /* NULL: what is run then is there already */
    const mts_archive *archive; /* with what is run then: `joined`, an earlier one or the session's */
    uint32_t task_count;
    uint32_t *tasks, *priorities;
    mts_engine *engine; /* NULL though the status is OK: nothing changes */
    mts_status status;
    mts_error error;
} change;

struct mts_api_changes {
    change *now; /* NULL: none was begun, or it has ended */
    /* How the last one ended, until mts_session_settle has told it. */
    mts_status status;
    mts_error error;
    /* Archives that changes have joined: graphs of the later ones are those of earlier ones. */
    mts_archive **archives;
    size_t count, capacity;
};

/* ---- what the session runs then ---- */

static bool runs(const mts_session *session, uint32_t task)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < session->task_count; i++) {
        found = session->tasks[i] == task;
    }
    return found;
}

/* The index of the task of the bundle in the joined archive; MTS_NONE: it has none such. */
static uint32_t in_bundle(const change *c, const mts_archive *archive, uint32_t task)
{
    return c->extra ? mts_archive_find(c->extra, archive->tasks[task].name) : MTS_NONE;
}

static void put_task(change *c, uint32_t task, uint32_t priority)
{
    c->tasks[c->task_count] = task;
    c->priorities[c->task_count++] = priority;
}

/* An archive that the session has, or had before a change: the present one first. NULL: no more. */
static const mts_archive *known_archive(const change *c, size_t index)
{
    const mts_api_changes *all = c->session->changes;
    return index == 0 ? c->session->archive : index <= all->count ? all->archives[index - 1] : NULL;
}

/* A task that equals a known one keeps the graph of that, so that its weights are found again. */
static void keep_known_task(change *c, uint32_t task)
{
    mts_task *made = &c->joined->tasks[task];
    bool found = false;
    const mts_archive *known = known_archive(c, 0);
    for (size_t i = 1; known && !found; known = known_archive(c, i++)) {
        found = task < known->task_count && mts_task_equal(made, &known->tasks[task]);
        *made = found ? known->tasks[task] : *made;
    }
}

static bool same_tasks(const mts_archive *a, const mts_archive *b)
{
    bool same = a->task_count == b->task_count;
    for (uint32_t t = 0; same && t < a->task_count; t++) {
        same = a->tasks[t].graph == b->tasks[t].graph;
    }
    return same;
}

/* A known archive with the same tasks is taken instead of what was joined. Otherwise a session whose tasks
   come and go, or whose weights alternate, would keep one for each change. One with fewer blocks is not
   taken: a later change would give its new blocks numbers that weights on the device have already. */
static void keep_known_archive(change *c)
{
    for (uint32_t t = 0; t < c->joined->task_count; t++) {
        keep_known_task(c, t);
    }
    const mts_archive *known = known_archive(c, 0);
    for (size_t i = 1; known && c->joined; known = known_archive(c, i++)) {
        if (known->block_count == c->session->archive->block_count && same_tasks(known, c->joined)) {
            c->archive = known;
            mts_archive_destroy(&c->joined);
        }
    }
}

/* Whether the task of the session is what it was. */
static bool stays(const change *c, uint32_t task)
{
    return c->archive->tasks[task].graph == c->session->archive->tasks[task].graph;
}

/* Tasks that stay first, in their order; what is new comes behind them, so that launches of what
   stays are what they were. */
static mts_status choose_tasks(change *c)
{
    const mts_session *s = c->session;
    const mts_archive *archive = c->archive;
    const uint32_t most = s->task_count + (c->extra ? c->extra->task_count : 0);
    const mts_allocator *allocator = &s->runtime->allocator;
    c->tasks = mts_alloc_zero(allocator, most, sizeof *c->tasks);
    c->priorities = mts_alloc_zero(allocator, most, sizeof *c->priorities);
    if (!c->tasks || !c->priorities) {
        return mts_fail_memory(&c->error);
    }
    uint32_t *moved = mts_alloc_zero(allocator, s->task_count, sizeof *moved);
    uint32_t moved_count = 0;
    if (!moved) {
        return mts_fail_memory(&c->error);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < s->task_count; i++) {
        const uint32_t task = s->tasks[i];
        const bool named = in_bundle(c, archive, task) != MTS_NONE;
        if ((c->kind == REMOVE && task == c->removed)) {
            continue;
        }
        if (!named || stays(c, task)) {
            put_task(c, task, s->priorities ? s->priorities[i] : 0);
        } else if (c->kind == UPDATE) {
            moved[moved_count++] = i;
        } else {
            status =
                mts_fail(&c->error, MTS_STATUS_INVALID_ARGUMENT,
                         "the session runs a task '%s' with other weights: mts_session_update changes it",
                         archive->tasks[task].name);
        }
    }
    for (uint32_t i = 0; i < moved_count; i++) {
        put_task(c, s->tasks[moved[i]], s->priorities ? s->priorities[moved[i]] : 0);
    }
    for (uint32_t t = 0; c->kind == ADD && t < archive->task_count; t++) {
        if (in_bundle(c, archive, t) != MTS_NONE && !runs(s, t)) {
            put_task(c, t, 0);
        }
    }
    mts_alloc_free(allocator, moved);
    return status;
}

static int cancelled(void *context, float fraction, const char *what)
{
    (void)fraction;
    (void)what;
    return atomic_load(&((change *)context)->cancelled) != 0;
}

/* Whether the session would run what it runs. */
static bool changes_nothing(const change *c)
{
    const mts_session *s = c->session;
    return c->archive == s->archive && c->task_count == s->task_count &&
           memcmp(c->tasks, s->tasks, s->task_count * sizeof *s->tasks) == 0;
}

/* The whole work, in one thread or the other. */
static void work(void *context)
{
    change *c = context;
    const mts_session *s = c->session;
    c->archive = s->archive;
    if (c->extra) {
        c->status = mts_archive_join(s->archive, c->extra, MTS_JOIN_REPLACE, &s->runtime->allocator,
                                     &c->joined, &c->error);
    }
    if (c->joined) {
        c->archive = c->joined;
        keep_known_archive(c);
    }
    MTS_TRY(c->status, choose_tasks(c));
    if (c->status == MTS_STATUS_OK && !changes_nothing(c)) {
        mts_engine_options options = s->engine_options;
        options.tasks = c->tasks;
        options.task_count = c->task_count;
        options.priorities = s->priorities ? c->priorities : NULL;
        options.context = c;
        options.progress = cancelled;
        c->status = mts_planned_engine_change(s->runtime->device, c->archive, &options, &s->report.kept,
                                              c->like, &c->engine, &c->error);
    }
    atomic_store(&c->ended, 1);
    mts_os_word_wake(&c->ended);
}

/* ---- its end ---- */

static void destroy(mts_session *session)
{
    change *c = session->changes->now;
    const mts_allocator *allocator = &session->runtime->allocator;
    session->changes->now = NULL;
    mts_engine_destroy(&c->engine);
    mts_archive_destroy(&c->joined);
    mts_alloc_free(allocator, c->tasks);
    mts_alloc_free(allocator, c->priorities);
    mts_alloc_free(allocator, c);
}

/* The thread has ended, or ends now. */
static void join_thread(change *c)
{
    if (c->threaded) {
        mts_os_thread_join(&c->thread);
        c->threaded = false;
    }
    mts_guard_end(&c->guard);
}

/* Keeps the joined archive. */
static mts_status keep_archive(mts_session *session, change *c)
{
    mts_api_changes *all = session->changes;
    if (c->joined && !mts_alloc_grow(&session->runtime->allocator, (void **)&all->archives, &all->capacity,
                                     all->count + 1, sizeof *all->archives)) {
        return mts_fail_memory(&c->error);
    }
    return MTS_STATUS_OK;
}

/* The session is what the change says from now on. */
static void take_over(mts_session *session, change *c)
{
    const mts_allocator *allocator = &session->runtime->allocator;
    if (c->joined) {
        session->changes->archives[session->changes->count++] = c->joined;
        c->joined = NULL;
    }
    session->archive = c->archive;
    mts_alloc_free(allocator, session->tasks);
    session->tasks = c->tasks;
    session->task_count = c->task_count;
    c->tasks = NULL;
    if (session->priorities) {
        mts_alloc_free(allocator, session->priorities);
        session->priorities = c->priorities;
        c->priorities = NULL;
    }
}

static void finish(mts_session *session, mts_status status)
{
    change *c = session->changes->now;
    session->changes->status = status;
    session->changes->error = c->error;
    if (status != MTS_STATUS_OK) {
        mts_log_write(&session->runtime->log, MTS_LOG_WARNING, "the session was not changed: %s",
                      c->error.text);
    }
    destroy(session);
}

void mts_api_session_change(mts_session *session)
{
    change *c = session->changes ? session->changes->now : NULL;
    if (!c || atomic_load(&c->ended) == 0) {
        return;
    }
    join_thread(c);
    mts_status status = c->status;
    if (status == MTS_STATUS_OK && c->engine) {
        if (!mts_pipeline_may_change(session->pipeline)) {
            return; /* at a later frame */
        }
        status = keep_archive(session, c);
        MTS_TRY(status, mts_pipeline_change(session->pipeline, &c->engine, &c->error));
        if (status == MTS_STATUS_OK) {
            take_over(session, c);
        }
    }
    finish(session, status);
}

void mts_api_changes_release(mts_session *session)
{
    mts_api_changes *all = session->changes;
    const mts_allocator *allocator = &session->runtime->allocator;
    if (all && all->now) {
        atomic_store(&all->now->cancelled, 1);
        join_thread(all->now);
        destroy(session);
    }
    if (all) {
        mts_api_session_abandon(session);
        mts_pipeline_destroy(&session->pipeline); /* its engines name graphs of these archives */
        for (size_t i = 0; i < all->count; i++) {
            mts_archive_destroy(&all->archives[i]);
        }
        mts_alloc_free(allocator, all->archives);
        mts_alloc_free(allocator, all);
        session->changes = NULL;
    }
}

/* ---- its beginning ---- */

static mts_status check_session(const mts_session *session, const char *call, mts_error *error)
{
    const mts_status status = mts_api_session_free(session, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (session->changes && session->changes->now) {
        return mts_fail(error, MTS_STATUS_BUSY,
                        "%s: a change of this session has not ended; mts_session_settle waits for it", call);
    }
    if (!mts_pipeline_is_engine(session->pipeline)) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "%s: a session of several devices does not change",
                        call);
    }
    return session->engine_options.zero_copy_inputs
               ? mts_fail(error, MTS_STATUS_UNSUPPORTED,
                          "%s: a session with zero_copy_inputs does not change", call)
               : MTS_STATUS_OK;
}

static mts_status check_bundle(const mts_session *session, const mts_bundle *bundle, const char *call,
                               mts_error *error)
{
    const mts_status status = check_session(session, call, error);
    return status == MTS_STATUS_OK && (!bundle || bundle->runtime != session->runtime)
               ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: %s", call,
                          bundle ? "the bundle was opened by another runtime" : "bundle is NULL")
               : status;
}

static bool equal_ports(const mts_port *a, uint32_t count, const mts_port *b, uint32_t other)
{
    bool equal = count == other;
    for (uint32_t i = 0; equal && i < count; i++) {
        equal = strcmp(a[i].name, b[i].name) == 0 && a[i].dtype == b[i].dtype &&
                mts_shape_equal(&a[i].shape, &b[i].shape);
    }
    return equal;
}

/* UPDATE: each task of the bundle can take the place of one of the session's. */
static mts_status check_update(const mts_session *session, const mts_archive *extra, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < extra->task_count; i++) {
        uint32_t task = 0;
        status = mts_api_session_task(session, extra->tasks[i].name, &task, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        const mts_graph *a = session->archive->tasks[task].graph;
        const mts_graph *b = extra->tasks[i].graph;
        if (!equal_ports(a->inputs, a->input_count, b->inputs, b->input_count) ||
            !equal_ports(a->outputs, a->output_count, b->outputs, b->output_count)) {
            status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                              "mts_session_update: task '%s' has other inputs or outputs than the session's",
                              extra->tasks[i].name);
        }
    }
    return status;
}

/* ADD: there is a task to add. */
static mts_status check_add(const mts_session *session, const mts_archive *extra, mts_error *error)
{
    for (uint32_t i = 0; i < extra->task_count; i++) {
        uint32_t task = 0;
        if (mts_api_session_task(session, extra->tasks[i].name, &task, NULL) != MTS_STATUS_OK) {
            return MTS_STATUS_OK;
        }
    }
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                    "mts_session_add: the session runs all %" PRIu32 " tasks of the bundle",
                    extra->task_count);
}

/* An allocator of the caller's belongs to one thread: then all is done now. */
static bool start_thread(mts_session *session, change *c)
{
    const bool own = session->runtime->alloc != mts_allocator_default()->alloc;
    if (own || mts_guard_begin(session->runtime->device, &c->guard, NULL) != MTS_STATUS_OK) {
        return false;
    }
    c->threaded = mts_os_thread_start(&c->thread, work, c);
    if (!c->threaded) {
        mts_guard_end(&c->guard);
    }
    return c->threaded;
}

static mts_status begin(mts_session *session, change_kind kind, const mts_archive *extra, uint32_t removed,
                        mts_error *error)
{
    const mts_allocator *allocator = &session->runtime->allocator;
    session->changes =
        session->changes ? session->changes : mts_alloc_zero(allocator, 1, sizeof *session->changes);
    change *c = session->changes ? mts_alloc_zero(allocator, 1, sizeof *c) : NULL;
    if (!c) {
        return mts_fail_memory(error);
    }
    *session->changes = (mts_api_changes){.now = c,
                                          .archives = session->changes->archives,
                                          .count = session->changes->count,
                                          .capacity = session->changes->capacity};
    c->kind = kind;
    c->extra = extra;
    c->removed = removed;
    c->session = session;
    c->like = mts_pipeline_part(session->pipeline, 0);
    if (!start_thread(session, c)) {
        work(c);
        mts_api_session_change(session);
        if (!session->changes->now && session->changes->status != MTS_STATUS_OK) {
            *error = session->changes->error;
            session->changes->status = MTS_STATUS_OK; /* it is told here */
            return error->code;
        }
    }
    return MTS_STATUS_OK;
}

/* ADD or UPDATE. */
static mts_status change_by(mts_session *session, const mts_bundle *bundle, change_kind kind,
                            const char *call)
{
    mts_error error = {0};
    mts_status status = check_bundle(session, bundle, call, &error);
    MTS_TRY(status, (kind == ADD ? check_add : check_update)(session, bundle->archive, &error));
    MTS_TRY(status, begin(session, kind, bundle->archive, 0, &error));
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_add(mts_session *session, mts_bundle *bundle)
{
    return change_by(session, bundle, ADD, "mts_session_add");
}

mts_status mts_session_update(mts_session *session, mts_bundle *bundle)
{
    return change_by(session, bundle, UPDATE, "mts_session_update");
}

mts_status mts_session_remove(mts_session *session, const char *task)
{
    mts_error error = {0};
    uint32_t index = 0;
    mts_status status = check_session(session, "mts_session_remove", &error);
    MTS_TRY(status, mts_api_session_task(session, task, &index, &error));
    if (status == MTS_STATUS_OK && session->task_count == 1) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT,
                          "mts_session_remove: '%s' is the session's only task", task);
    }
    MTS_TRY(status, begin(session, REMOVE, NULL, index, &error));
    return mts_api_session_report(session, status, &error);
}

/* ---- waiting for it ---- */

static mts_status settle(mts_session *session, uint64_t until, mts_error *error)
{
    mts_api_changes *all = session->changes;
    for (;;) {
        mts_api_session_change(session);
        if (!all || !all->now) {
            break;
        }
        /* its thread may have ended since the look above */
        if (atomic_load(&all->now->ended) != 0 && !mts_pipeline_may_change(session->pipeline)) {
            return mts_fail(error, MTS_STATUS_BUSY,
                            "the change waits until the runs in flight have been consumed");
        }
        if (until != UINT64_MAX && mts_os_clock_ns() >= until) {
            return mts_fail(error, MTS_STATUS_TIMEOUT, "the change goes on");
        }
        mts_pipeline_advance(session->pipeline);
        mts_os_sleep_ns(LOOK_NS);
    }
    const mts_status status = all ? all->status : MTS_STATUS_OK;
    if (status != MTS_STATUS_OK) {
        *error = all->error;
        all->status = MTS_STATUS_OK;
    }
    return status;
}

mts_status mts_session_settle(mts_session *session, uint32_t timeout_ms)
{
    mts_error error = {0};
    const uint64_t until =
        timeout_ms == MTS_TIMEOUT_INFINITE ? UINT64_MAX : mts_os_clock_ns() + (uint64_t)timeout_ms * 1000000u;
    mts_status status = mts_api_session_free(session, &error);
    MTS_TRY(status, settle(session, until, &error));
    return mts_api_session_report(session, status, &error);
}

#endif

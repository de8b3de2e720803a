/*
 * threads.c: jobs on threads that live as long as the call. In each of them oneDNN uses
 * that thread alone.
 */
#include "compress/net/threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 64u

/* GNU OpenMP's, which oneDNN runs on: of the calling thread only. */
extern void omp_set_num_threads(int count);
extern int omp_get_max_threads(void);
extern int omp_get_num_procs(void);

typedef struct team {
    pthread_mutex_t mutex; /* guards what follows */
    uint32_t next, count;
    uint32_t failed; /* the lowest job that has failed; count: none */
    mts_error error;
    mts_status status;
    mts_threads_job job;
    void *context;
} team;

typedef struct member {
    team *team;
    pthread_t thread;
    uint32_t worker;
} member;

uint32_t mts_threads_count(void)
{
    const int processors = omp_get_num_procs(); /* heeds the process's affinity */
    const uint32_t count = processors < 1 ? 1 : (uint32_t)processors;
    return count < THREADS_MOST ? count : THREADS_MOST;
}

static bool take_job(team *t, uint32_t *job)
{
    (void)pthread_mutex_lock(&t->mutex);
    const bool any = t->next < t->count && t->failed == t->count;
    *job = t->next;
    t->next += any ? 1 : 0;
    (void)pthread_mutex_unlock(&t->mutex);
    return any;
}

static void note_failure(team *t, uint32_t job, mts_status status, const mts_error *error)
{
    (void)pthread_mutex_lock(&t->mutex);
    if (job < t->failed) {
        t->failed = job;
        t->status = status;
        t->error = *error;
    }
    (void)pthread_mutex_unlock(&t->mutex);
}

static void work(team *t, uint32_t worker)
{
    uint32_t job = 0;
    while (take_job(t, &job)) {
        mts_error error = {0};
        const mts_status status = t->job(t->context, job, worker, &error);
        if (status != MTS_STATUS_OK) {
            note_failure(t, job, status, &error);
        }
    }
}

static void *member_main(void *context)
{
    const member *me = context;
    omp_set_num_threads(1);
    work(me->team, me->worker);
    return NULL;
}

mts_status mts_threads_run(uint32_t count, mts_threads_job job, void *context, mts_error *error)
{
    team t = {.count = count, .failed = count, .job = job, .context = context};
    member members[THREADS_MOST];
    uint32_t threads = mts_threads_count(), started = 0;
    threads = threads < count ? threads : count;
    (void)pthread_mutex_init(&t.mutex, NULL);
    for (uint32_t i = 0; i < threads && threads > 1; i++) {
        members[started] = (member){.team = &t, .worker = started};
        started += pthread_create(&members[started].thread, NULL, member_main, &members[started]) == 0;
    }
    if (started == 0) {
        const int usual = omp_get_max_threads();
        omp_set_num_threads(1);
        work(&t, 0);
        omp_set_num_threads(usual);
    }
    for (uint32_t i = 0; i < started; i++) {
        (void)pthread_join(members[i].thread, NULL);
    }
    (void)pthread_mutex_destroy(&t.mutex);
    if (t.failed < count && error) {
        *error = t.error;
    }
    return t.failed < count ? t.status : MTS_STATUS_OK;
}

/* ---- jobs that cannot fail ---- */

typedef struct parts {
    mts_threads_part part;
    void *context;
} parts;

static mts_status part_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    const parts *all = context;
    (void)worker;
    (void)error;
    all->part(all->context, job);
    return MTS_STATUS_OK;
}

void mts_threads_each(uint32_t count, mts_threads_part part, void *context)
{
    parts all = {part, context};
    (void)mts_threads_run(count, part_job, &all, NULL);
}

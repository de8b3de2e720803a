/*
 * checkpoint.c: the state of a training in a file: its identity, what has become of the
 * candidates, and their numbers. It is read on the machine that wrote it, so numbers are as
 * they lie in memory; a file of another training, or another machine's, is refused.
 */
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "compress/learn/course.h"
#include "platform/os/os.h"

#define MAGIC UINT64_C(0x314e5254535f544d) /* also tells another order of bytes apart */

typedef struct header {
    uint64_t magic, identity, hash; /* of all that follows the header */
    uint32_t epoch, candidates;
    uint64_t floats; /* of a candidate */
} header;

/* A course as it lies in the file: no padding. */
typedef struct course {
    double loss;
    uint32_t right, best_epoch, epochs, flags;
} course;

#define FLAG_STOPPED 1u
#define FLAG_USABLE 2u

/* Bytes of all candidates, behind the header; false on overflow. */
static bool body_size(const mts_courses *courses, const mts_learner *learner, size_t *one, size_t *all)
{
    return mts_size_mul(learner->floats, sizeof(float), one) && mts_size_add(*one, sizeof(course), one) &&
           mts_size_mul(*one, courses->candidates, all) && *all < SIZE_MAX - sizeof(header);
}

static mts_status prefix(const mts_courses *courses, mts_status status, mts_error *error)
{
    return mts_fail_prefix(error, status, "the checkpoint '%.255s'", courses->checkpoint);
}

mts_status mts_checkpoint_write(const mts_courses *courses, const mts_learner *learner, uint32_t epoch,
                                mts_error *error)
{
    size_t one = 0, all = 0;
    unsigned char *bytes = body_size(courses, learner, &one, &all)
                               ? mts_alloc_zero(courses->allocator, all + sizeof(header), 1)
                               : NULL;
    if (!bytes) {
        return prefix(courses, mts_fail_memory(error), error);
    }
    for (uint32_t k = 0; k < courses->candidates; k++) {
        const mts_course *from = &courses->courses[k];
        const course c = {.loss = from->best.loss,
                          .right = from->best.right,
                          .best_epoch = from->best_epoch,
                          .epochs = from->epochs,
                          .flags = (from->stopped ? FLAG_STOPPED : 0) | (from->usable ? FLAG_USABLE : 0)};
        unsigned char *to = bytes + sizeof(header) + k * one;
        memcpy(to, &c, sizeof c);
        learner->save(learner->self, k, (float *)(void *)(to + sizeof c));
    }
    const header h = {.magic = MAGIC,
                      .identity = courses->identity,
                      .hash = mts_hash(bytes + sizeof(header), all, courses->identity),
                      .epoch = epoch,
                      .candidates = courses->candidates,
                      .floats = learner->floats};
    memcpy(bytes, &h, sizeof h);
    const mts_status status = mts_os_file_write(courses->checkpoint, bytes, all + sizeof h, error);
    mts_alloc_free(courses->allocator, bytes);
    return status == MTS_STATUS_OK ? status : prefix(courses, status, error);
}

/* What speaks against the bytes, or NULL. */
static mts_status check(const mts_courses *courses, const mts_learner *learner, const mts_os_map *map,
                        mts_error *error)
{
    size_t one = 0, all = 0;
    header h = {0};
    if (map->size >= sizeof h) {
        memcpy(&h, map->data, sizeof h);
    }
    if (h.magic != MAGIC) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "is none, or of another kind of machine");
    }
    if (h.identity != courses->identity || h.candidates != courses->candidates ||
        h.floats != learner->floats) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "is of another training: of another base, other images, labels or options");
    }
    if (!body_size(courses, learner, &one, &all) || map->size != all + sizeof h ||
        h.hash != mts_hash(map->data + sizeof h, all, courses->identity) || h.epoch > courses->epochs ||
        h.epoch == 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "is damaged");
    }
    return MTS_STATUS_OK;
}

static void load(mts_courses *courses, const mts_learner *learner, const unsigned char *bytes)
{
    const size_t one = sizeof(course) + learner->floats * sizeof(float);
    for (uint32_t k = 0; k < courses->candidates; k++) {
        course c;
        memcpy(&c, bytes + k * one, sizeof c);
        courses->courses[k] = (mts_course){.best = {.right = c.right, .loss = c.loss},
                                           .best_epoch = c.best_epoch,
                                           .epochs = c.epochs,
                                           .stopped = c.flags & FLAG_STOPPED,
                                           .usable = c.flags & FLAG_USABLE};
        learner->load(learner->self, k, (const float *)(const void *)(bytes + k * one + sizeof c));
    }
}

mts_status mts_checkpoint_read(mts_courses *courses, const mts_learner *learner, uint32_t *epoch,
                               mts_error *error)
{
    mts_os_map map = {0};
    header h;
    *epoch = 0;
    mts_status status = mts_os_map_file(courses->checkpoint, &map, error);
    if (status == MTS_STATUS_NOT_FOUND) {
        return MTS_STATUS_OK;
    }
    MTS_TRY(status, check(courses, learner, &map, error));
    if (status == MTS_STATUS_OK) {
        memcpy(&h, map.data, sizeof h);
        load(courses, learner, map.data + sizeof h);
        *epoch = h.epoch;
    }
    mts_os_unmap(&map);
    return status == MTS_STATUS_OK ? status : prefix(courses, status, error);
}

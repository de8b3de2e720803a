/*
 * overflow.c: see overflow.h.
 *
 * Memory is reused, so what an earlier run left behind holds such numbers too: they
 * become 0 before the first launch, and what the arena held is put back in the end.
 */
#include "engine/overflow.h"

#include <string.h>

#include "engine/state.h"
#include "lower/precision.h"

/* The arena's content, twice: as it was, and as it is. */
typedef struct content {
    unsigned char *before, *now;
    /* For each element: 1 if it looked like no number when a launch that stores codes of
       8 bits had run. */
    unsigned char *codes;
    size_t size;
    bool half;
} content;

/* An exponent of ones: infinite or NaN. */
static bool is_finite_at(const content *c, size_t index)
{
    if (c->half) {
        uint16_t bits;
        memcpy(&bits, c->now + index * sizeof bits, sizeof bits);
        return (bits & 0x7c00u) != 0x7c00u;
    }
    uint32_t bits;
    memcpy(&bits, c->now + index * sizeof bits, sizeof bits);
    return (bits & 0x7f800000u) != 0x7f800000u;
}

/* Whether all are numbers; what is none becomes 0 if `clear`. */
static bool look(const content *c, bool clear)
{
    const size_t element = c->half ? sizeof(uint16_t) : sizeof(float);
    bool all = true;
    for (size_t i = 0; i < c->size / element; i++) {
        if (!c->codes[i] && !is_finite_at(c, i)) {
            all = false;
            if (!clear) {
                return false;
            }
            memset(c->now + i * element, 0, element);
        }
    }
    return all;
}

/* Words of codes (kernels/abi/bytes.h) may have the bits of any float. */
static bool stores_codes(const mts_encoded_launch *launch)
{
    return strstr(launch->kernel, "__i32_words") != NULL;
}

static void note_codes(content *c)
{
    const size_t element = c->half ? sizeof(uint16_t) : sizeof(float);
    for (size_t i = 0; i < c->size / element; i++) {
        c->codes[i] = c->codes[i] || !is_finite_at(c, i);
    }
}

/* Where a number lies now, floats may follow. */
static void forget_codes(content *c)
{
    const size_t element = c->half ? sizeof(uint16_t) : sizeof(float);
    for (size_t i = 0; i < c->size / element; i++) {
        c->codes[i] = c->codes[i] && !is_finite_at(c, i);
    }
}

static mts_status run_one(mts_engine *engine, uint32_t index, mts_error *error)
{
    mts_launch launch = engine->launches.items[index];
    mts_command_list *list = NULL;
    mts_launches_bind(&engine->launches, &engine->inputs.slots, index, NULL, &launch);
    mts_status status = mts_command_list_create(engine->device, &launch, 1, &list, error);
    MTS_TRY(status, mts_command_list_submit(list, error));
    MTS_TRY(status, mts_device_wait(engine->device, error));
    mts_command_list_destroy(&list);
    return status;
}

static mts_status find(mts_engine *engine, content *c, const char **label, mts_error *error)
{
    mts_buffer *act = engine->launches.act;
    mts_status status = mts_device_wait(engine->device, error);
    MTS_TRY(status, mts_buffer_read(act, 0, c->before, c->size, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    memcpy(c->now, c->before, c->size);
    (void)look(c, true);
    status = mts_buffer_write(act, 0, c->now, c->size, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < engine->launches.count && !*label; i++) {
        status = run_one(engine, i, error);
        MTS_TRY(status, mts_buffer_read(act, 0, c->now, c->size, error));
        if (status == MTS_STATUS_OK && stores_codes(&engine->launches.encoded[i])) {
            note_codes(c);
        }
        forget_codes(c);
        *label = status == MTS_STATUS_OK && !look(c, false) ? engine->launches.encoded[i].label : NULL;
    }
    /* Also after a failure, whose sentence stays: outputs of the last run lie there. */
    const mts_status restored =
        mts_buffer_write(act, 0, c->before, c->size, status == MTS_STATUS_OK ? error : NULL);
    return status == MTS_STATUS_OK ? restored : status;
}

mts_status mts_engine_find_overflow(mts_engine *engine, const char **label, mts_error *error)
{
    *label = NULL;
    if (engine->submissions.used > 0) {
        return mts_fail(error, MTS_STATUS_BUSY,
                        "%u runs are in flight: wait for them before looking for a layer",
                        engine->submissions.used);
    }
    if (engine->launches.count == 0) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_launches_prepare(&engine->launches, &engine->inputs.slots, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    content c = {.size = engine->launches.act->size,
                 .half = engine->outputs.precision != MTS_PRECISION_FLOAT32};
    c.before = mts_alloc_zero(engine->allocator, c.size, 1);
    c.now = mts_alloc_zero(engine->allocator, c.size, 1);
    c.codes = mts_alloc_zero(engine->allocator, c.size, 1);
    status = c.before && c.now && c.codes ? find(engine, &c, label, error) : mts_fail_memory(error);
    mts_alloc_free(engine->allocator, c.before);
    mts_alloc_free(engine->allocator, c.now);
    mts_alloc_free(engine->allocator, c.codes);
    return status;
}

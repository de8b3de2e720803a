/*
 * half.c: launches whose kernels are built with HALF: what lies in act and pool is
 * float16.
 *
 * Responsible for converting to float32 before a reference function runs and back after
 * it, and for what is not converted: a frame, and zero-copy memory of the caller. Not
 * responsible for any operator: their sums run in double as ever, and only what they
 * store is rounded.
 */
#include <string.h>

#include "base/half.h"
#include "platform/reference/reference.h"

/* Finds out whether the pool of a launch holds elements. The only place that knows which
 * launches bring something else in its place: the frame kernel, and parameters whose
 * src_pool is 2. Returns a reason or NULL.
 */
static const char *pool_holds_elements(const mts_reference_call *call, const char *kernel, bool *elements)
{
    const bool copy = strcmp(kernel, "copy_any__f32_planar") == 0;
    const bool phase = strcmp(kernel, "space_to_depth_any__f32_planar") == 0;
    const uint32_t words =
        copy ? MTS_PARAM_WORDS(mts_copy_params) : MTS_PARAM_WORDS(mts_space_to_depth_params);
    uint32_t own = 0;
    uint32_t callers = 0;
    *elements = strcmp(kernel, "frame_any__f32_planar") != 0;
    for (uint32_t m = 0; (copy || phase) && m < call->members; m++) {
        const void *params = mts_reference_params(call, call->first + (uint64_t)m * words, words);
        if (!params) {
            return "a launch's parameters lie outside the buffer of kernel parameters";
        }
        const uint32_t from = copy ? ((const mts_copy_params *)params)->src_pool
                                   : ((const mts_space_to_depth_params *)params)->src_pool;
        own += from == 1;
        callers += from == 2;
    }
    if (own && callers) {
        return "the pool is the weights' for one member and the caller's for another";
    }
    *elements = *elements && !callers;
    return NULL;
}

/* The pool's elements as floats. The pool does not change while a command list runs,
   unless it is the arena. */
static const float *pool_floats(mts_reference_half *half, const mts_reference_call *stored)
{
    const void *bytes = stored->pool;
    if (half->made_of != bytes || half->made != stored->pool_size || bytes == (const void *)stored->act) {
        mts_half_array_to_float(bytes, half->pool, (size_t)stored->pool_size);
        half->made_of = bytes;
        half->made = stored->pool_size;
    }
    return half->pool;
}

/* Rounds what a function has written; what it has left alone keeps its bits, a NaN's
   too. */
static void store_changes(uint16_t *stored, const float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const float before = mts_half_to_float(stored[i]);
        if (memcmp(&before, &values[i], sizeof before) != 0) {
            stored[i] = mts_half_from_float(values[i]);
        }
    }
}

bool mts_reference_half_asked(const char *defines)
{
    return strstr(defines, "-DHALF=1") || strstr(defines, "-DHALF=2");
}

bool mts_reference_half_reserve(mts_reference_half *half, const mts_allocator *allocator, uint64_t act,
                                uint64_t pool)
{
    if (act > SIZE_MAX || pool > SIZE_MAX) {
        return false;
    }
    if (act > half->act_room) {
        mts_alloc_free(allocator, half->act);
        half->act = mts_alloc_zero(allocator, (size_t)act, sizeof *half->act);
        half->act_room = half->act ? act : 0;
    }
    if (pool > half->pool_room) {
        mts_alloc_free(allocator, half->pool);
        half->pool = mts_alloc_zero(allocator, (size_t)pool, sizeof *half->pool);
        half->pool_room = half->pool ? pool : 0;
    }
    return half->act_room >= act && half->pool_room >= pool;
}

void mts_reference_half_free(mts_reference_half *half, const mts_allocator *allocator)
{
    mts_alloc_free(allocator, half->act);
    mts_alloc_free(allocator, half->pool);
    *half = (mts_reference_half){0};
}

const char *mts_reference_half_run(mts_reference_half *half, const mts_reference_call *stored,
                                   const char *kernel, mts_reference_function *run)
{
    uint16_t *act = (uint16_t *)(void *)stored->act;
    mts_reference_call call = *stored;
    bool elements = true;
    const char *reason = pool_holds_elements(stored, kernel, &elements);
    if (reason) {
        return reason;
    }
    mts_half_array_to_float(act, half->act, (size_t)stored->act_size);
    call.act = half->act;
    if (elements) {
        call.pool = pool_floats(half, stored);
    } else {
        call.pool_size = stored->pool_bytes / sizeof(float);
    }
    reason = run(&call);
    store_changes(act, half->act, stored->act_size);
    return reason;
}

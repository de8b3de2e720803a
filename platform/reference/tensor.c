/*
 * tensor.c: parameters, views and destinations of the reference kernels, and the element
 * functions in float.
 *
 * Responsible for finding things in the three buffers without leaving them. Not
 * responsible for any operator.
 */
#include "platform/reference/reference.h"

#define MTS_REAL float
#define MTS_MATH(name) name##f
#define mts_number(x) x##f
#include "kernels/abi/scalar.h"

const void *mts_reference_params(const mts_reference_call *call, uint64_t index, uint64_t count)
{
    return index <= call->params_size && count <= call->params_size - index ? call->params + index : NULL;
}

const char *mts_reference_members(const mts_reference_call *call, uint32_t words, mts_reference_member run)
{
    for (uint32_t m = 0; m < call->members; m++) {
        const void *params = mts_reference_params(call, call->first + (uint64_t)m * words, words);
        const char *reason =
            params ? run(call, params) : "a launch's parameters lie outside the buffer of kernel parameters";
        if (reason) {
            return reason;
        }
    }
    return NULL;
}

static bool in_range(uint64_t size, uint64_t first, uint64_t count)
{
    return first <= size && count <= size - first;
}

bool mts_reference_in_act(const mts_reference_call *call, uint64_t first, uint64_t count)
{
    return in_range(call->act_size, first, count);
}

bool mts_reference_in_pool(const mts_reference_call *call, uint64_t first, uint64_t count)
{
    return in_range(call->pool_size, first, count);
}

bool mts_reference_view_fits(const mts_reference_call *call, const mts_view_params *view,
                             const uint32_t *dims, bool pool)
{
    const uint64_t size = pool ? call->pool_size : call->act_size;
    uint64_t last = view->base;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        if (dims[i] == 0) {
            return true;
        }
        const uint64_t reach = (uint64_t)(dims[i] - 1) * view->stride[i];
        if (reach >= size) {
            return false;
        }
        last += reach; /* at most six sizes: no overflow */
    }
    return last < size;
}

uint64_t mts_reference_view_at(const mts_view_params *view, const uint32_t *at)
{
    uint64_t offset = view->base;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        offset += (uint64_t)at[i] * view->stride[i];
    }
    return offset;
}

uint64_t mts_reference_dest_at(const mts_dest_params *dest, const uint32_t *at)
{
    uint64_t plane = at[0];
    for (int i = 1; i < 4; i++) {
        plane = plane * dest->dims[i] + at[i];
    }
    return dest->base + plane * dest->pitch + (uint64_t)at[4] * dest->row + at[5];
}

/* Reason why a destination cannot be written, or NULL. *planes receives their number. */
static const char *check_dest(const mts_reference_call *call, const mts_dest_params *dest, uint64_t *planes)
{
    uint64_t count = 1;
    for (int i = 0; i < 4; i++) {
        count *= dest->dims[i];
        if (count > call->act_size) {
            return "the output has more planes than the arena has floats";
        }
    }
    if (dest->gap > dest->base) {
        return "the output begins before the arena";
    }
    if (dest->row < dest->dims[5] ||
        (uint64_t)dest->gap + (uint64_t)dest->row * dest->dims[4] > dest->pitch) {
        return "the output's planes overlap";
    }
    if (count && dest->pitch > call->act_size / count) {
        return "the output leaves the arena";
    }
    if (!mts_reference_in_act(call, dest->base - dest->gap, count * dest->pitch + dest->tail)) {
        return "the output leaves the arena";
    }
    *planes = count;
    return NULL;
}

static void write_plane(const mts_reference_call *call, const mts_dest_params *dest, const void *params,
                        mts_reference_value value, uint64_t plane)
{
    uint32_t at[MTS_PARAM_RANK];
    uint64_t rest = plane;
    for (int i = 3; i >= 0; i--) {
        at[i] = (uint32_t)(rest % dest->dims[i]);
        rest /= dest->dims[i];
    }
    float *to = call->act + dest->base - dest->gap + plane * dest->pitch;
    for (uint32_t e = 0; e < dest->pitch; e++) {
        at[4] = e < dest->gap ? dest->dims[4] : (e - dest->gap) / dest->row;
        at[5] = e < dest->gap ? dest->dims[5] : (e - dest->gap) % dest->row;
        to[e] = at[4] < dest->dims[4] && at[5] < dest->dims[5] ? value(call, params, at) : 0.0f;
    }
}

float mts_reference_zero(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    (void)call;
    (void)params;
    (void)at;
    return 0.0f;
}

const char *mts_reference_write(const mts_reference_call *call, const mts_dest_params *dest,
                                const void *params, mts_reference_value value)
{
    uint64_t planes = 0;
    const char *reason = check_dest(call, dest, &planes);
    if (reason) {
        return reason;
    }
    for (uint64_t plane = 0; plane < planes; plane++) {
        write_plane(call, dest, params, value, plane);
    }
    float *tail = call->act + dest->base - dest->gap + planes * dest->pitch;
    for (uint32_t i = 0; i < dest->tail; i++) {
        tail[i] = 0.0f;
    }
    return NULL;
}

float mts_reference_apply(uint32_t fn, float x, float a, float b, float slope)
{
    return fn == MTS_FN_PRELU ? (x > 0.0f ? x : slope * x) : mts_scalar_function(fn, x, a, b);
}

float mts_reference_combine(uint32_t kind, float x, float y)
{
    return mts_scalar_binary(kind, x, y);
}

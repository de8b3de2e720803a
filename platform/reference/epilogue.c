/*
 * epilogue.c: see epilogue.h.
 */
#include "platform/reference/epilogue.h"

#include <string.h>

static float vector_at(const mts_reference_call *call, uint32_t base, uint32_t row, float absent)
{
    return base == MTS_PARAM_NONE ? absent : call->pool[(uint64_t)base + row];
}

float mts_reference_end(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row, double sum,
                        float residual)
{
    const double scale = (double)vector_at(call, e->scale, row, 1.0f);
    const double bias = (double)vector_at(call, e->bias, row, 0.0f);
    const float v = (float)(scale * sum + bias + (double)residual);
    return mts_reference_apply(e->fn, v, e->a, e->b, vector_at(call, e->slope, row, 1.0f));
}

void mts_reference_store_row(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row,
                             uint32_t first, uint32_t count, uint32_t mask, const double *sums)
{
    const uint32_t channel = call->params[e->index + row];
    float *out = call->act + e->out + (uint64_t)channel * e->out_pitch + first;
    const float *res =
        e->res == MTS_PARAM_NONE ? NULL : call->act + e->res + (uint64_t)channel * e->res_pitch + first;
    const float *keep = mask == MTS_PARAM_NONE ? NULL : call->pool + mask + first;
    for (uint32_t p = 0; p < count; p++) {
        const float v = mts_reference_end(call, e, row, sums[p], res ? res[p] : 0.0f);
        out[p] = keep && keep[p] == 0.0f ? 0.0f : v;
    }
}

/* Floats between the pixels of channel `channel` and the gap of the next plane, and the
 * tail where it is the last. */
static uint64_t floats_after(const mts_epilogue_params *e, uint32_t channel, uint32_t pixels)
{
    const uint64_t used = (uint64_t)e->gap + pixels;
    return (e->out_pitch > used ? e->out_pitch - used : 0) + (e->last == channel ? e->tail : 0);
}

void mts_reference_store_border(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row,
                                uint32_t pixels, bool starts, bool ends)
{
    const uint32_t channel = call->params[e->index + row];
    float *out = call->act + e->out + (uint64_t)channel * e->out_pitch;
    if (starts) {
        memset(out - e->gap, 0, e->gap * sizeof *out);
    }
    if (ends) {
        memset(out + pixels, 0, floats_after(e, channel, pixels) * sizeof *out);
    }
}

static bool vector_fits(const mts_reference_call *call, uint32_t base, uint32_t rows)
{
    return base == MTS_PARAM_NONE || mts_reference_in_pool(call, base, rows);
}

const char *mts_reference_check_epilogue(const mts_reference_call *call, const mts_epilogue_params *e,
                                         uint32_t rows, uint32_t pixels)
{
    const uint32_t *index = mts_reference_params(call, e->index, rows);
    if (!index) {
        return "an epilogue's channels lie outside the kernel parameters";
    }
    if (!vector_fits(call, e->scale, rows) || !vector_fits(call, e->bias, rows) ||
        !vector_fits(call, e->slope, rows) || (e->fn == MTS_FN_PRELU && e->slope == MTS_PARAM_NONE)) {
        return "an epilogue's vectors leave the pool";
    }
    for (uint32_t r = 0; r < rows; r++) {
        const uint64_t plane = e->out + (uint64_t)index[r] * e->out_pitch;
        const uint64_t residual = e->res + (uint64_t)index[r] * e->res_pitch;
        if (plane < e->gap ||
            !mts_reference_in_act(call, plane, pixels + floats_after(e, index[r], pixels))) {
            return "an output leaves the arena";
        }
        if (e->res != MTS_PARAM_NONE && !mts_reference_in_act(call, residual, pixels)) {
            return "a residual leaves the arena";
        }
    }
    return NULL;
}

/*
 * fc_bytes.c: the reference of fully connected layers of 8-bit numbers
 * (mts_fc_bytes_params). Sums are integers, as in the kernel.
 */
#include "platform/reference/codes.h"
#include "platform/reference/epilogue.h"
#include "platform/reference/reference.h"

#ifndef MTS_SMALL /* the smallest library has no such kernel */

static const char *check_fc(const mts_reference_call *call, const mts_fc_bytes_params *r)
{
    enum { SEGMENT = MTS_PARAM_WORDS(mts_segment_params), ENDING = MTS_PARAM_WORDS(mts_epilogue_params) };
    const mts_segment_params *segment =
        mts_reference_params(call, r->segment, (uint64_t)r->segments * SEGMENT);
    const mts_epilogue_params *e = mts_reference_params(call, r->epilogue, (uint64_t)r->epilogues * ENDING);
    const uint64_t padded = MTS_CODE_WORDS((uint64_t)r->rows) * MTS_WORD_CODES;
    const char *reason = NULL;
    if (!segment || !e || r->rows == 0 || r->rows > MTS_FC_BYTES_ROWS || r->channels == 0 ||
        !mts_reference_in_act(call, r->in, (uint64_t)(r->channels - 1) * r->in_pitch + 1)) {
        return "segments or epilogues lie outside the kernel parameters, or the input outside the arena";
    }
    for (uint32_t s = 0; s < r->segments; s++) {
        if (!mts_reference_in_pool(call, segment[s].weight_a, padded * (1 + (uint64_t)segment[s].count)) ||
            (uint64_t)segment[s].channel + segment[s].count > MTS_CODE_WORDS((uint64_t)r->channels)) {
            return "a segment leaves the pool or the input";
        }
    }
    for (uint32_t i = 0; i < r->epilogues && !reason; i++) {
        reason = mts_reference_check_epilogue(call, &e[i], r->rows, 1);
    }
    return reason;
}

static int32_t fc_sum(const mts_reference_call *call, const mts_fc_bytes_params *r, uint32_t row)
{
    const mts_segment_params *segment = (const mts_segment_params *)(const void *)(call->params + r->segment);
    const uint32_t rows = MTS_CODE_WORDS(r->rows) * MTS_WORD_CODES;
    int32_t sum = 0;
    for (uint32_t s = 0; s < r->segments; s++, segment++) {
        const uint64_t weights = (uint64_t)segment->weight_a + rows + row;
        for (uint32_t c = 0; c < 4 * segment->count && 4 * segment->channel + c < r->channels; c++) {
            const uint32_t word = mts_reference_word(call->pool, weights + (uint64_t)(c / 4) * rows);
            const float x = call->act[r->in + (uint64_t)(4 * segment->channel + c) * r->in_pitch];
            const int32_t code = (int32_t)mts_reference_code(x * r->inverse, r->least);
            sum += (code - (int32_t)segment->weight_b) * (int8_t)(word >> 8 * (c % 4) & 255u);
        }
    }
    return sum;
}

static const char *fc_member(const mts_reference_call *call, const void *params)
{
    const mts_fc_bytes_params *r = params;
    const char *reason = check_fc(call, r);
    const mts_epilogue_params *e = (const mts_epilogue_params *)(const void *)(call->params + r->epilogue);
    for (uint32_t row = 0; !reason && row < r->rows; row++) {
        const float sum = (float)fc_sum(call, r, row);
        for (uint32_t i = 0; i < r->epilogues; i++) {
            const bool coded = e[i].fn == MTS_FN_QUANT8;
            const float step = coded ? e[i].a : 1.0f;
            const float scale = e[i].scale != MTS_PARAM_NONE ? call->pool[e[i].scale + row] : 1.0f;
            const float bias = e[i].bias != MTS_PARAM_NONE ? call->pool[e[i].bias + row] : 0.0f;
            const float v = fmaf(sum, scale / step, bias / step);
            call->act[e[i].out + (uint64_t)call->params[e[i].index + row] * e[i].out_pitch] =
                coded ? mts_reference_number(v, e[i].b) * step
                      : mts_reference_apply(e[i].fn, v, e[i].a, e[i].b, 1.0f);
            if (e[i].gap) {
                mts_reference_store_border(call, &e[i], row, 1, true, true);
            }
        }
    }
    return reason;
}

#endif

const char *mts_reference_fc_bytes__i32_words(const mts_reference_call *call)
{
#ifdef MTS_SMALL
    (void)call;
    return "the smallest library has no such kernel";
#else
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_fc_bytes_params), fc_member);
#endif
}

/*
 * blocks.c: tensors in blocks of channels (mts_conv_params), and the depthwise convolution
 * of them. Not responsible for 1x1 convolutions, which have either layout (conv.c).
 */
#include "platform/reference/epilogue.h"

uint64_t mts_reference_block(uint32_t pitch, uint32_t channel, uint32_t pixel)
{
    const uint32_t lane = channel % MTS_CHANNEL_BLOCK;
    return (uint64_t)(channel - lane) * pitch + (uint64_t)pixel * MTS_CHANNEL_BLOCK + lane;
}

void mts_reference_store_lane(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row,
                              uint32_t channel, uint32_t first, uint32_t count, const double *sums)
{
    for (uint32_t p = 0; p < count; p++) {
        mts_epilogue_params one = *e;
        one.out += (mts_u32)mts_reference_block(e->out_pitch, channel, first + p);
        one.res +=
            e->res == MTS_PARAM_NONE ? 0 : (mts_u32)mts_reference_block(e->res_pitch, channel, first + p);
        one.out_pitch = one.res_pitch = 0;
        mts_reference_store_row(call, &one, row, 0, 1, MTS_PARAM_NONE, sums + p);
    }
}

static const char *check_depthwise_blocks(const mts_reference_call *call,
                                          const mts_depthwise_blocks_params *r)
{
    const uint64_t channels = (uint64_t)r->blocks * MTS_CHANNEL_BLOCK, taps = (uint64_t)r->size * r->size;
    const uint32_t *weight = mts_reference_params(call, r->weight, r->blocks);
    if (r->each == 0 || (r->size != 3 && r->size != 5) || (r->stride != 1 && r->stride != 2) || r->h == 0 ||
        r->w == 0 || (uint64_t)r->h * r->w > r->epilogue.out_pitch || r->epilogue.res != MTS_PARAM_NONE) {
        return "the shape is not one of depthwise_rows of blocks";
    }
    if ((uint64_t)r->in_h * r->in_w > r->in_pitch ||
        !mts_reference_in_act(call, r->in, channels * r->in_pitch) ||
        !mts_reference_in_act(call, r->zeros, MTS_CHANNEL_BLOCK)) {
        return "the input leaves the arena";
    }
    for (uint32_t b = 0; weight && b < r->blocks; b++) {
        if (!mts_reference_in_pool(call, weight[b], taps * MTS_CHANNEL_BLOCK)) {
            return "the weights leave the pool";
        }
    }
    return !weight
               ? "the weights lie outside the kernel parameters"
               : mts_reference_check_epilogue(call, &r->epilogue, (uint32_t)channels, r->epilogue.out_pitch);
}

static double depthwise_block_sum(const mts_reference_call *call, const mts_depthwise_blocks_params *r,
                                  uint32_t c, uint32_t y, uint32_t x)
{
    const float *weight =
        call->pool + call->params[r->weight + c / MTS_CHANNEL_BLOCK] + c % MTS_CHANNEL_BLOCK;
    double sum = 0.0;
    for (uint32_t k = 0; k < r->size * r->size; k++) {
        const int64_t row = (int64_t)y * r->stride + k / r->size - r->top;
        const int64_t column = (int64_t)x * r->stride + k % r->size - r->left;
        if (row >= 0 && row < r->in_h && column >= 0 && column < r->in_w) {
            const uint32_t pixel = (uint32_t)(row * r->in_w + column);
            sum += (double)weight[(uint64_t)k * MTS_CHANNEL_BLOCK] *
                   (double)call->act[r->in + mts_reference_block(r->in_pitch, c, pixel)];
        }
    }
    return sum;
}

static const char *depthwise_blocks_member(const mts_reference_call *call, const void *params)
{
    const mts_depthwise_blocks_params *r = params;
    const char *reason = check_depthwise_blocks(call, r);
    for (uint32_t c = 0; !reason && c < r->blocks * MTS_CHANNEL_BLOCK; c++) {
        for (uint32_t p = 0; p < r->h * r->w; p++) {
            const double sum = depthwise_block_sum(call, r, c, p / r->w, p % r->w);
            mts_reference_store_lane(call, &r->epilogue, c, c, p, 1, &sum);
        }
        for (uint32_t p = r->h * r->w; p < r->epilogue.out_pitch; p++) {
            call->act[r->epilogue.out + mts_reference_block(r->epilogue.out_pitch, c, p)] = 0.0f;
        }
    }
    return reason;
}

const char *mts_reference_depthwise_rows__f32_blocks(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_depthwise_blocks_params), depthwise_blocks_member);
}

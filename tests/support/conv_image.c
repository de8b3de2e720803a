/*
 * conv_image.c: see conv_image.h.
 */
#include "support/conv_image.h"

uint32_t conv_align(uint32_t count)
{
    return (count + CONV_VECTOR - 1) / CONV_VECTOR * CONV_VECTOR;
}

conv_image conv_image_random(kernel_pair *pair)
{
    conv_image i = {.h = kernel_pair_pick(pair, 1, 24), .w = kernel_pair_pick(pair, 1, 24)};
    i.kernel = 1 + 2 * kernel_pair_pick(pair, 0, 2);
    i.pad = i.kernel / 2;
    i.row = i.w + i.pad + kernel_pair_pick(pair, 0, 2);
    i.gap = conv_align(i.pad * (i.row + 1));
    i.pixels = conv_align(i.h * i.row);
    i.pitch = i.gap + i.pixels + CONV_VECTOR * kernel_pair_pick(pair, 0, 1);
    i.tail = i.gap + CONV_VECTOR;
    return i;
}

uint32_t conv_image_place(kernel_pair *pair, const conv_image *i, uint32_t channels)
{
    const uint32_t count = channels * i->pitch + i->tail;
    return conv_align(kernel_pair_act(pair, count + CONV_VECTOR) + i->gap);
}

uint32_t conv_image_taps(kernel_pair *pair, const conv_image *i)
{
    int32_t tap[CONV_TAPS_MOST];
    for (uint32_t k = 0; k < i->kernel * i->kernel; k++) {
        const int32_t y = (int32_t)(k / i->kernel) - (int32_t)i->pad;
        const int32_t x = (int32_t)(k % i->kernel) - (int32_t)i->pad;
        tap[k] = y * (int32_t)i->row + x;
    }
    return kernel_pair_words(pair, tap, i->kernel * i->kernel);
}

uint32_t conv_image_mask(kernel_pair *pair, const conv_image *i)
{
    if (kernel_pair_pick(pair, 0, 3) == 0) {
        return MTS_PARAM_NONE;
    }
    const uint32_t first = kernel_pair_pool(pair, i->pixels);
    for (uint32_t p = 0; p < i->pixels; p++) {
        pair->pool[first + p] = p / i->row < i->h && p % i->row < i->w ? 1.0f : 0.0f;
    }
    return first;
}

static uint32_t random_vector(kernel_pair *pair, uint32_t rows)
{
    return kernel_pair_pick(pair, 0, 3) ? kernel_pair_pool(pair, rows) : MTS_PARAM_NONE;
}

mts_epilogue_params conv_image_epilogue(kernel_pair *pair, const conv_image *i, uint32_t rows)
{
    static const uint32_t functions[] = {
        MTS_FN_NONE,     MTS_FN_RELU,  MTS_FN_LEAKY,       MTS_FN_CLIP, MTS_FN_HARD_SWISH,
        MTS_FN_SILU,     MTS_FN_PRELU, MTS_FN_LEAKY_BOUND, MTS_FN_GELU, MTS_FN_HARD_SWISH_LINE,
        MTS_FN_GELU_TANH};
    uint32_t index[CONV_ROWS_MOST];
    mts_epilogue_params e = {.out_pitch = i->pitch, .gap = i->gap, .tail = i->tail, .last = rows - 1};
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t k = kernel_pair_pick(pair, 0, r);
        index[r] = index[k];
        index[k] = r;
    }
    e.index = kernel_pair_words(pair, index, rows);
    e.scale = random_vector(pair, rows);
    e.bias = random_vector(pair, rows);
    e.fn = functions[kernel_pair_pick(pair, 0, 9)];
    e.slope = e.fn == MTS_FN_PRELU ? kernel_pair_pool(pair, rows) : MTS_PARAM_NONE;
    e.a = -0.25f;
    e.b = 1.5f;
    if (e.fn == MTS_FN_LEAKY_BOUND) {
        e.a = 0.25f;
        e.b = -0.1f;
    }
    e.res = kernel_pair_pick(pair, 0, 2) ? MTS_PARAM_NONE : conv_image_place(pair, i, rows);
    e.res_pitch = i->pitch;
    e.out = conv_image_place(pair, i, rows);
    kernel_pair_may_write(pair, e.out - i->gap, rows * i->pitch + i->tail);
    return e;
}

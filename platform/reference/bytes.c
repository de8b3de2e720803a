/*
 * bytes.c: the reference of convolutions of 8-bit numbers: planes of codes made of
 * floats, and products of codes (kernels/abi/bytes.h). Sums are integers, as in the
 * kernels; the epilogue rounds in float, because codes that were rounded in double would
 * differ by a step.
 */
#include "platform/reference/codes.h"
#include "platform/reference/reference.h"

enum { ROWS_MOST = 12 };

static void store_word(float *act, uint64_t at, uint32_t word)
{
    memcpy(act + at, &word, sizeof word);
}

static void fill(float *act, uint64_t at, uint64_t count, uint32_t word)
{
    for (uint64_t i = 0; i < count; i++) {
        store_word(act, at + i, word);
    }
}

static uint32_t zero_word(float least)
{
    return MTS_CODE_WORD((uint32_t)(int32_t)-least);
}

/* ---- conv_bytes ---- */

static int32_t dot(uint32_t codes, uint32_t weights)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        sum += (int32_t)(codes >> 8 * i & 255u) * (int8_t)(weights >> 8 * i & 255u);
    }
    return sum;
}

static const mts_bytes_rows *rows_of(const mts_reference_call *call, const mts_conv_params *job)
{
    return (const mts_bytes_rows *)(const void *)(call->params + job->tap + job->taps);
}

/* Where a pixel is read; false: it is border. */
static bool place_of(const mts_reference_call *call, const mts_conv_params *job, uint32_t pixel,
                     uint32_t *from)
{
    const mts_bytes_rows *rows = rows_of(call, job);
    *from = pixel;
    if (rows->row == 0) {
        return job->mask == MTS_PARAM_NONE || call->pool[job->mask + pixel] > 0.0f;
    }
    *from = pixel / rows->row * rows->step + pixel % rows->row * 2;
    return pixel / rows->row < rows->height && pixel % rows->row < rows->width;
}

static int32_t sum_of(const mts_reference_call *call, const mts_conv_params *job, uint32_t row, uint32_t from)
{
    const int32_t *tap = (const int32_t *)(const void *)(call->params + job->tap);
    const mts_segment_params *segment =
        (const mts_segment_params *)(const void *)(call->params + job->segment);
    const uint32_t rows = MTS_CODE_WORDS(job->rows_a) * MTS_WORD_CODES;
    int32_t sum = 0;
    for (uint32_t s = 0; s < job->segments; s++, segment++) {
        uint64_t weight = (uint64_t)segment->weight_a + rows + row;
        sum -= (int32_t)segment->weight_b *
               (int32_t)mts_reference_word(call->pool, (uint64_t)segment->weight_a + row);
        for (uint32_t c = 0; c < segment->count; c++) {
            const int64_t x = (int64_t)job->in + (int64_t)(segment->channel + c) * job->in_pitch + from;
            for (uint32_t k = 0; k < job->taps; k++, weight += rows) {
                sum += dot(mts_reference_word(call->act, (uint64_t)(x + tap[k])),
                           mts_reference_word(call->pool, weight));
            }
        }
    }
    return sum;
}

/* NULL: it stores none. */
static const mts_codes_params *codes_of(const mts_reference_call *call, const mts_epilogue_params *e)
{
    return e->res == MTS_PARAM_NONE ? NULL : (const mts_codes_params *)(const void *)(call->params + e->res);
}

/* One pixel of four rows. */
static void store_pixel(const mts_reference_call *call, const mts_conv_params *job,
                        const mts_epilogue_params *e, uint32_t first, uint32_t pixel)
{
    const uint32_t *index = call->params + e->index;
    const bool coded = e->fn == MTS_FN_QUANT8;
    const float step = coded ? e->a : 1.0f, least = coded ? e->b : 0.0f;
    uint32_t word = 0, from = 0;
    const bool inside = place_of(call, job, pixel, &from);
    for (uint32_t r = first; r < first + 4; r++) {
        const bool real = r < job->rows_a;
        const float scale = real && e->scale != MTS_PARAM_NONE ? call->pool[e->scale + r] : 1.0f;
        const float bias = real && e->bias != MTS_PARAM_NONE ? call->pool[e->bias + r] : 0.0f;
        const float sum = inside ? (float)sum_of(call, job, r, from) : 0.0f;
        const float v = coded ? fmaf(sum, scale / step, bias / step) : fmaf(sum, scale, bias);
        word |= coded ? mts_reference_code(v, least) << 8 * (r - first) : 0;
        if (real && e->out != MTS_PARAM_NONE) {
            const float y = coded ? mts_reference_number(v, least) * step
                                  : mts_reference_apply(e->fn, v, e->a, e->b, 1.0f);
            call->act[e->out + (uint64_t)index[r] * e->out_pitch + pixel] = inside ? y : 0.0f;
        }
    }
    const mts_codes_params *codes = codes_of(call, e);
    if (codes) {
        const uint64_t at = codes->out + (uint64_t)((index[0] + first) / 4) * codes->pitch + pixel;
        store_word(call->act, at, inside ? word : zero_word(least));
    }
}

static void store_border(const mts_reference_call *call, const mts_conv_params *job,
                         const mts_epilogue_params *e, bool starts, bool ends)
{
    const uint32_t *index = call->params + e->index;
    for (uint32_t r = 0; r < job->rows_a && e->out != MTS_PARAM_NONE; r++) {
        const uint64_t plane = e->out + (uint64_t)index[r] * e->out_pitch;
        const uint64_t used = (uint64_t)e->gap + job->pixels;
        const uint64_t after =
            (e->out_pitch > used ? e->out_pitch - used : 0) + (e->last == index[r] ? e->tail : 0);
        fill(call->act, plane - e->gap, starts ? e->gap : 0, 0);
        fill(call->act, plane + job->pixels, ends ? after : 0, 0);
    }
    const mts_codes_params *codes = codes_of(call, e);
    for (uint32_t r = 0; codes && r < job->rows_a; r += 4) {
        const uint64_t plane = codes->out + (uint64_t)((index[0] + r) / 4) * codes->pitch;
        fill(call->act, plane - codes->before, starts ? codes->before : 0, zero_word(e->b));
        fill(call->act, plane + job->pixels, ends ? codes->after : 0, zero_word(e->b));
    }
}

static bool epilogue_fits(const mts_reference_call *call, const mts_conv_params *job,
                          const mts_epilogue_params *e)
{
    const uint32_t *index = mts_reference_params(call, e->index, job->rows_a);
    const uint32_t vectors[2] = {e->scale, e->bias};
    const mts_codes_params *codes =
        e->res == MTS_PARAM_NONE ? NULL
                                 : mts_reference_params(call, e->res, MTS_PARAM_WORDS(mts_codes_params));
    bool fits = index && e->slope == MTS_PARAM_NONE && (codes || e->res == MTS_PARAM_NONE);
    for (uint32_t i = 0; i < 2; i++) {
        fits = fits && (vectors[i] == MTS_PARAM_NONE || mts_reference_in_pool(call, vectors[i], job->rows_a));
    }
    for (uint32_t r = 0; fits && e->out != MTS_PARAM_NONE && r < job->rows_a; r++) {
        const uint64_t plane = e->out + (uint64_t)index[r] * e->out_pitch;
        fits = plane >= e->gap && mts_reference_in_act(call, plane, job->pixels);
    }
    for (uint32_t r = 0; fits && codes && r < job->rows_a; r += 4) {
        const uint64_t plane = codes->out + (uint64_t)((index[0] + r) / 4) * codes->pitch;
        fits = e->fn == MTS_FN_QUANT8 && index[0] % 4 == 0 && plane >= codes->before &&
               mts_reference_in_act(call, plane - codes->before,
                                    (uint64_t)codes->before + job->pixels + codes->after);
    }
    return fits;
}

static const char *check_job(const mts_reference_call *call, const mts_conv_params *job)
{
    const int32_t *tap =
        mts_reference_params(call, job->tap, (uint64_t)job->taps + MTS_PARAM_WORDS(mts_bytes_rows));
    const mts_segment_params *segment = mts_reference_params(
        call, job->segment, (uint64_t)job->segments * MTS_PARAM_WORDS(mts_segment_params));
    const uint64_t rows = MTS_CODE_WORDS(job->rows_a) * MTS_WORD_CODES;
    if (!tap || !segment || job->rows_a == 0 || job->rows_a > ROWS_MOST || job->rows_b != 0 ||
        (job->mask != MTS_PARAM_NONE && !mts_reference_in_pool(call, job->mask, job->pixels))) {
        return "a job's taps, segments, rows or mask do not fit";
    }
    const mts_bytes_rows *by = rows_of(call, job);
    if (by->row > 0 && (by->height == 0 || by->width == 0 || by->width > by->row)) {
        return "an output of no pixels, or of too long rows";
    }
    const int64_t pixels =
        by->row > 0 ? (int64_t)(by->height - 1) * by->step + (int64_t)(by->width - 1) * 2 + 1 : job->pixels;
    for (uint32_t s = 0; s < job->segments; s++) {
        if (!mts_reference_in_pool(call, segment[s].weight_a, rows + rows * segment[s].count * job->taps)) {
            return "weights leave the pool";
        }
        for (uint32_t k = 0; k < job->taps && segment[s].count > 0; k++) {
            const int64_t first = (int64_t)job->in + (int64_t)segment[s].channel * job->in_pitch + tap[k];
            const int64_t last = first + (int64_t)(segment[s].count - 1) * job->in_pitch + pixels;
            if (first < 0 || last > (int64_t)call->act_size) {
                return "the input leaves the arena";
            }
        }
    }
    return NULL;
}

const char *mts_reference_conv_bytes__i32_words(const mts_reference_call *call)
{
    for (uint32_t g = 0; g < call->groups; g++) {
        const mts_tile_params *tile =
            mts_reference_params(call, call->first + (uint64_t)g * MTS_PARAM_WORDS(mts_tile_params),
                                 MTS_PARAM_WORDS(mts_tile_params));
        const mts_conv_params *job =
            tile ? mts_reference_params(call, tile->job, MTS_PARAM_WORDS(mts_conv_params)) : NULL;
        const char *why = job ? check_job(call, job) : "a tile's job lies outside the kernel parameters";
        const mts_epilogue_params *e =
            why ? NULL
                : mts_reference_params(call, job->epilogue,
                                       (uint64_t)job->epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
        if (!e) {
            return why ? why : "epilogues lie outside the kernel parameters";
        }
        const uint32_t end = job->pixels - tile->pixel < job->tile ? job->pixels : tile->pixel + job->tile;
        for (uint32_t i = 0; i < job->epilogues; i++) {
            if (!epilogue_fits(call, job, &e[i])) {
                return "an epilogue does not fit";
            }
            for (uint32_t r = 0; r < job->rows_a; r += 4) {
                for (uint32_t p = tile->pixel; p < end; p++) {
                    store_pixel(call, job, &e[i], r, p);
                }
            }
            store_border(call, job, &e[i], tile->pixel == 0, end == job->pixels);
        }
    }
    return NULL;
}

/* ---- pack_bytes ---- */

static uint32_t word_of(const mts_reference_call *call, const mts_pack_params *r, uint32_t image,
                        uint32_t word, int64_t y, int64_t x)
{
    uint32_t packed = 0;
    if (r->coded) {
        const uint64_t plane = r->src + ((uint64_t)image * MTS_CODE_WORDS(r->channels) + word) * r->src_pitch;
        return mts_reference_word(call->act, plane + (uint64_t)y * r->src_row + (uint64_t)x);
    }
    for (uint32_t c = 4 * word; c < 4 * word + 4; c++) {
        const uint64_t plane = r->src + ((uint64_t)image * r->channels + c) * r->src_pitch;
        const float value = c < r->channels
                                ? call->act[plane + (uint64_t)y * r->src_row + (uint64_t)x * r->src_column]
                                : 0.0f;
        packed |= mts_reference_code(value * r->inverse, r->least) << 8 * (c % 4);
    }
    return packed;
}

static void pack_plane(const mts_reference_call *call, const mts_pack_params *r, uint32_t plane)
{
    const uint32_t words = MTS_CODE_WORDS(r->channels), phases = r->phases, phase = plane % phases;
    const uint32_t image = plane / phases / words, word = plane / phases % words;
    const uint64_t out = r->out + (uint64_t)plane * r->pitch;
    fill(call->act, out, r->pitch, zero_word(r->least));
    for (uint32_t y = 0; y < r->rows; y++) {
        const int64_t from_y = (int64_t)y * r->sy + phase / r->sx - r->top;
        for (uint32_t x = 0; x < r->row && from_y >= 0 && from_y < r->in_h; x++) {
            const int64_t from_x = (int64_t)x * r->sx + phase % r->sx - r->left;
            if (from_x >= 0 && from_x < r->in_w) {
                store_word(call->act, out + (uint64_t)y * r->row + x,
                           word_of(call, r, image, word, from_y, from_x));
            }
        }
    }
}

static const char *pack_member(const mts_reference_call *call, const void *params)
{
    const mts_pack_params *r = params;
    const uint64_t planes = (uint64_t)r->images * MTS_CODE_WORDS(r->channels) * r->phases;
    const uint64_t sources = (uint64_t)r->images * (r->coded ? MTS_CODE_WORDS(r->channels) : r->channels);
    const uint64_t source = (sources - 1) * r->src_pitch + ((uint64_t)r->in_h - 1) * r->src_row +
                            ((uint64_t)r->in_w - 1) * r->src_column + 1;
    if ((uint64_t)r->rows * r->row > r->pitch || !mts_reference_in_act(call, r->out, planes * r->pitch) ||
        !mts_reference_in_act(call, r->src, source)) {
        return "a tensor leaves the arena";
    }
    for (uint32_t p = 0; p < planes; p++) {
        pack_plane(call, r, p);
    }
    return NULL;
}

const char *mts_reference_pack_bytes__i32_words(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_pack_params), pack_member);
}

/* ---- map_bytes, pool_bytes ---- */

static const char *check_dest(const mts_reference_call *call, const mts_codes_dest *d)
{
    const uint64_t planes = (uint64_t)d->images * MTS_CODE_WORDS(d->channels);
    const bool inside = (uint64_t)d->top + d->height <= d->rows && (uint64_t)d->left + d->width <= d->row &&
                        (uint64_t)d->rows * d->row <= d->pitch;
    return inside && mts_reference_in_act(call, d->out, planes * d->pitch) ? NULL
                                                                           : "a tensor leaves the arena";
}

static const char *check_source(const mts_reference_call *call, const mts_codes_source *s, uint32_t images,
                                uint32_t height, uint32_t width)
{
    const uint64_t planes = (uint64_t)images * s->words;
    const uint64_t end = (planes - 1) * s->pitch + (uint64_t)(height - 1) * s->row + width;
    return planes > 0 && height > 0 && mts_reference_in_act(call, s->src, end)
               ? NULL
               : "an operand leaves the arena";
}

/* The number of a channel's code. */
static float source_number(const mts_reference_call *call, const mts_codes_source *s, uint32_t image,
                           uint32_t channel, uint32_t y, uint32_t x)
{
    if (channel / 4 >= s->words) {
        return 0.0f;
    }
    const uint64_t plane = s->src + ((uint64_t)image * s->words + channel / 4) * s->pitch;
    const uint32_t word = mts_reference_word(call->act, plane + (uint64_t)y * s->row + x);
    return ((float)(word >> 8 * (channel % 4) & 255u) + s->least) * s->factor;
}

static float vector_at(const mts_reference_call *call, uint32_t vector, uint32_t channel, uint32_t channels,
                       float without)
{
    return vector == MTS_PARAM_NONE || channel >= channels ? without : call->pool[vector + channel];
}

static float map_number(const mts_reference_call *call, const mts_map_params *r, uint32_t image, uint32_t c,
                        uint32_t y, uint32_t x)
{
    const float a = source_number(call, &r->in[0], image, c, y, x);
    if (r->kind != MTS_MAP_ALONE) {
        return mts_reference_combine(r->kind, a, source_number(call, &r->in[1], image, c, y, x));
    }
    return a * vector_at(call, r->scale, c, r->dest.channels, 1.0f) +
           vector_at(call, r->bias, c, r->dest.channels, 0.0f);
}

/* The number of a stored code; coordinates are those of mts_dest_params. */
static float stored_number(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_map_params *r = params;
    const mts_codes_dest *d = &r->dest;
    const uint64_t plane = d->out + ((uint64_t)at[2] * MTS_CODE_WORDS(d->channels) + at[3] / 4) * d->pitch;
    const uint32_t word =
        mts_reference_word(call->act, plane + (uint64_t)(d->top + at[4]) * d->row + d->left + at[5]);
    return ((float)(word >> 8 * (at[3] % 4) & 255u) + d->least) * r->step;
}

/* A word of a tensor of codes: plane `q` counts images and words of channels. */
typedef uint32_t (*code_word)(const mts_reference_call *call, const void *params, uint32_t q, uint32_t y,
                              uint32_t x);

static void store_planes(const mts_reference_call *call, const mts_codes_dest *d, code_word word,
                         const void *params)
{
    for (uint32_t q = 0; q < d->images * MTS_CODE_WORDS(d->channels); q++) {
        const uint64_t plane = d->out + (uint64_t)q * d->pitch;
        fill(call->act, plane, d->pitch, zero_word(d->least));
        for (uint32_t y = 0; y < d->height; y++) {
            for (uint32_t x = 0; x < d->width; x++) {
                store_word(call->act, plane + (uint64_t)(d->top + y) * d->row + d->left + x,
                           word(call, params, q, y, x));
            }
        }
    }
}

static uint32_t map_word(const mts_reference_call *call, const void *params, uint32_t q, uint32_t y,
                         uint32_t x)
{
    const mts_map_params *r = params;
    const uint32_t words = MTS_CODE_WORDS(r->dest.channels);
    uint32_t word = 0;
    for (uint32_t c = 0; c < 4; c++) {
        const float number = map_number(call, r, q / words, q % words * 4 + c, y, x);
        word |= mts_reference_code(number / r->step, r->dest.least) << 8 * c;
    }
    return word;
}

static const char *map_member(const mts_reference_call *call, const void *params)
{
    const mts_map_params *r = params;
    const mts_codes_dest *d = &r->dest;
    const char *why = check_dest(call, d);
    for (uint32_t i = 0; !why && i < (r->kind == MTS_MAP_ALONE ? 1u : 2u); i++) {
        why = check_source(call, &r->in[i], d->images, d->height, d->width);
    }
    const uint32_t vectors[] = {r->scale, r->bias};
    for (uint32_t i = 0; !why && i < 2; i++) {
        why = vectors[i] == MTS_PARAM_NONE || mts_reference_in_pool(call, vectors[i], d->channels)
                  ? NULL
                  : "a vector leaves the pool";
    }
    if (!why) {
        store_planes(call, d, map_word, r);
    }
    if (why || r->floats.base == MTS_PARAM_NONE) {
        return why;
    }
    const uint32_t *f = r->floats.dims;
    const bool same = f[0] == 1 && f[1] == 1 && f[2] == d->images && f[3] == d->channels &&
                      f[4] == d->height && f[5] == d->width;
    return same ? mts_reference_write(call, &r->floats, r, stored_number) : "floats have other dimensions";
}

const char *mts_reference_map_bytes__i32_words(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_map_params), map_member);
}

/* The largest codes of a window. */
static uint32_t largest(const mts_reference_call *call, const mts_pool_codes_params *r, uint64_t plane,
                        int64_t top, int64_t left)
{
    uint32_t most = 0;
    for (int64_t y = top; y < top + r->window[0]; y++) {
        for (int64_t x = left; x < left + r->window[1]; x++) {
            const bool inside = y >= 0 && y < r->in_h && x >= 0 && x < r->in_w;
            const uint32_t word =
                inside ? mts_reference_word(call->act, plane + (uint64_t)y * r->in.row + (uint64_t)x) : 0;
            for (uint32_t mask = 255; mask; mask <<= 8) {
                most = (word & mask) > (most & mask) ? (most & ~mask) | (word & mask) : most;
            }
        }
    }
    return most;
}

static uint32_t pool_word(const mts_reference_call *call, const void *params, uint32_t q, uint32_t y,
                          uint32_t x)
{
    const mts_pool_codes_params *r = params;
    return largest(call, r, r->in.src + (uint64_t)q * r->in.pitch, (int64_t)y * r->stride[0] - r->pad[0],
                   (int64_t)x * r->stride[1] - r->pad[1]);
}

static const char *pool_member(const mts_reference_call *call, const void *params)
{
    const mts_pool_codes_params *r = params;
    const mts_codes_dest *d = &r->dest;
    const char *why = check_dest(call, d);
    why = why ? why : check_source(call, &r->in, d->images, r->in_h, r->in_w);
    if (!why) {
        store_planes(call, d, pool_word, r);
    }
    return why;
}

const char *mts_reference_pool_bytes__i32_words(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_pool_codes_params), pool_member);
}

/* ---- spread_bytes ---- */

static uint32_t spread_word(const mts_reference_call *call, const void *params, uint32_t q, uint32_t y,
                            uint32_t x)
{
    const mts_spread_params *r = params;
    const uint32_t channels = r->dest.channels, words = MTS_CODE_WORDS(channels);
    uint32_t word = 0;
    for (uint32_t c = q % words * 4; c < q % words * 4 + 4 && c < channels; c++) {
        const uint64_t from = r->in.src + ((uint64_t)(q / words) * channels + c) * r->in.pitch;
        const uint32_t source = mts_reference_word(call->act, from + (uint64_t)(y / 2) * r->in.row + x / 2);
        word |= (source >> 8 * (y % 2 * 2 + x % 2) & 255u) << 8 * (c % 4);
    }
    return word;
}

static const char *spread_member(const mts_reference_call *call, const void *params)
{
    const mts_spread_params *r = params;
    const mts_codes_dest *d = &r->dest;
    const char *why = check_dest(call, d);
    if (!why && (r->in.words != d->channels || d->height % 2 != 0 || d->width % 2 != 0)) {
        why = "a source of depth to space does not fit";
    }
    why = why ? why : check_source(call, &r->in, d->images, d->height / 2, d->width / 2);
    if (!why) {
        store_planes(call, d, spread_word, r);
    }
    return why;
}

const char *mts_reference_spread_bytes__i32_words(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_spread_params), spread_member);
}

/* ---- mean_bytes ---- */

static float mean_at(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_mean_params *r = params;
    const uint64_t plane = r->in.src + ((uint64_t)at[2] * r->in.words + at[3] / 4) * r->in.pitch;
    int32_t sum = 0;
    for (uint32_t p = 0; p < r->height * r->width; p++) {
        const uint64_t pixel = plane + (uint64_t)(p / r->width) * r->in.row + p % r->width;
        sum +=
            (int32_t)(mts_reference_word(call->act, pixel) >> 8 * (at[3] % 4) & 255u) + (int32_t)r->in.least;
    }
    return (float)sum * r->in.factor / (float)(r->height * r->width);
}

static const char *mean_member(const mts_reference_call *call, const void *params)
{
    const mts_mean_params *r = params;
    const uint32_t *d = r->dest.dims;
    const uint64_t pixels = (uint64_t)r->height * r->width;
    if (d[0] != 1 || d[1] != 1 || d[4] != 1 || d[5] != 1 || MTS_CODE_WORDS(d[3]) > r->in.words ||
        pixels == 0 || pixels > MTS_MEAN_PIXELS_MOST) {
        return "means of other dimensions";
    }
    const char *why = check_source(call, &r->in, d[2], r->height, r->width);
    return why ? why : mts_reference_write(call, &r->dest, r, mean_at);
}

const char *mts_reference_mean_bytes__i32_words(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_mean_params), mean_member);
}

/*
 * weights_pack.c: packing the entries of a weight pool into the layouts that kernels read
 * (params.h), block by block, straight to where the caller wants them. Float16 sessions
 * convert an entry when it is complete, so only one is float32 at a time.
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "device/kernel.h"
#include "lower/weights_entry.h"

/* Rows and cells that are read before they are written in another order: both sides stay
   in the nearest cache. */
enum { ROWS = 16, CELLS = 64, WINOGRAD_CHANNELS = 8 };

static const mts_block_ref *block_of(const mts_weights_entry *entry)
{
    return &entry->source.value->blocks[entry->source.ref];
}

/* Writes `rows` rows of `cells` numbers of a block, from row `first`, to to[cell * stride
   + row]. */
static void transpose(const mts_weights_entry *entry, size_t first, size_t rows, size_t cells, float *to,
                      size_t stride)
{
    const mts_value *value = entry->source.value;
    const void *data = block_of(entry)->data;
    float block[ROWS][CELLS];
    for (size_t row = 0; row < rows; row += ROWS) {
        const size_t count = rows - row < ROWS ? rows - row : ROWS;
        for (size_t cell = 0; cell < cells; cell += CELLS) {
            const size_t length = cells - cell < CELLS ? cells - cell : CELLS;
            for (size_t r = 0; r < count; r++) {
                mts_value_read_run(value, data, (first + row + r) * cells + cell, length, block[r]);
            }
            for (size_t c = 0; c < length; c++) {
                float *out = to + (cell + c) * stride + row;
                for (size_t r = 0; r < count; r++) {
                    out[r] = block[r][c];
                }
            }
        }
    }
}

static void pack_rows(const mts_weights_entry *entry, float *to)
{
    const size_t rows = entry->key.rows;
    transpose(entry, entry->key.row, rows, entry->count / (rows > 0 ? rows : 1), to, rows);
}

static void pack_lanes(const mts_weights_entry *entry, float *to)
{
    const size_t lanes = entry->source.lanes, rows = entry->key.rows, depth = block_of(entry)->in_count;
    memset(to, 0, entry->count * sizeof *to);
    for (size_t row = 0; row < rows; row += lanes) {
        transpose(entry, entry->key.row + row, rows - row < lanes ? rows - row : lanes, depth,
                  to + row * depth, lanes);
    }
}

/* ---- Winograd ---- */

/* u = G g Gt (params.h) of each row, rounded once. */
static void transform(double g[9][ROWS], float u[16][ROWS])
{
    double t[12][ROWS]; /* G g */
    for (uint32_t x = 0; x < 3; x++) {
        for (uint32_t r = 0; r < ROWS; r++) {
            const double even = 0.5 * (g[x][r] + g[6 + x][r]);
            t[x][r] = g[x][r];
            t[3 + x][r] = even + 0.5 * g[3 + x][r];
            t[6 + x][r] = even - 0.5 * g[3 + x][r];
            t[9 + x][r] = g[6 + x][r];
        }
    }
    for (uint32_t y = 0; y < 4; y++) {
        for (uint32_t r = 0; r < ROWS; r++) {
            const double even = 0.5 * (t[3 * y][r] + t[3 * y + 2][r]);
            u[4 * y][r] = (float)t[3 * y][r];
            u[4 * y + 1][r] = (float)(even + 0.5 * t[3 * y + 1][r]);
            u[4 * y + 2][r] = (float)(even - 0.5 * t[3 * y + 1][r]);
            u[4 * y + 3][r] = (float)t[3 * y + 2][r];
        }
    }
}

/* Channels [from, from + count) of the part, and `rows` rows from `row` on. */
static void pack_winograd_block(const mts_weights_entry *entry, size_t row, size_t rows, size_t from,
                                size_t count, float *to)
{
    const mts_block_ref *ref = block_of(entry);
    const size_t channel = entry->source.part.channel - ref->in_first + from;
    const size_t position = (size_t)entry->source.part.count * entry->key.rows; /* floats of one */
    float weights[ROWS][WINOGRAD_CHANNELS * 9];
    double g[9][ROWS] = {{0}};
    float u[16][ROWS];
    for (size_t r = 0; r < rows; r++) {
        mts_value_read_run(entry->source.value, ref->data,
                           ((entry->key.row + row + r) * ref->in_count + channel) * 9, count * 9, weights[r]);
    }
    for (size_t c = 0; c < count; c++) {
        for (size_t k = 0; k < 9; k++) {
            for (size_t r = 0; r < rows; r++) {
                g[k][r] = (double)weights[r][c * 9 + k];
            }
        }
        transform(g, u);
        for (size_t p = 0; p < 16; p++) {
            memcpy(to + p * position + (from + c) * entry->key.rows + row, u[p], rows * sizeof *to);
        }
    }
}

static void pack_winograd(const mts_weights_entry *entry, float *to)
{
    const size_t rows = entry->key.rows, channels = entry->source.part.count;
    for (size_t row = 0; row < rows; row += ROWS) {
        for (size_t c = 0; c < channels; c += WINOGRAD_CHANNELS) {
            pack_winograd_block(entry, row, rows - row < ROWS ? rows - row : ROWS, c,
                                channels - c < WINOGRAD_CHANNELS ? channels - c : WINOGRAD_CHANNELS, to);
        }
    }
}

/* ---- packs of channels ---- */

#if MTS_HAS_PACKED
/* Index of the first weight of channel c of a part, counted from the head's first, and the
   block that it is in. */
static size_t packed_cell(const mts_weights_entry *entry, size_t row, size_t c, size_t inner,
                          const mts_block_ref **ref)
{
    const mts_weights_source *from = &entry->source;
    const bool is_head = c < from->head.count;
    *ref = is_head ? &from->value->blocks[from->head.ref] : block_of(entry);
    const size_t channel = (size_t)from->part.channel + c - from->head.count - (*ref)->in_first;
    const size_t first = is_head ? entry->key.head_row : entry->key.row;
    return ((first + row) * (*ref)->in_count + channel) * inner;
}

/* A pack of rows by channels of the taps that the part names. */
static void pack_taps(const mts_weights_entry *entry, size_t rows, size_t position, float *to)
{
    const mts_weights_part *part = &entry->source.part;
    const mts_weights_taps *taps = &part->taps;
    const mts_block_ref *ref = block_of(entry);
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(entry->source.value, &out, &in, &inner);
    for (size_t c = 0; c < (part->diagonal ? 1 : part->count); c++) {
        for (size_t r = 0; r < part->rows; r++) {
            const size_t filter = part->diagonal ? part->row + r : (part->channel + c) * in + part->row + r;
            float *cell = to + (part->diagonal ? 0 : entry->source.lanes + c) * rows + r;
            for (size_t k = 0; k < (size_t)taps->rows * taps->columns; k++) {
                const size_t tap =
                    taps->first - k / taps->columns * taps->down - k % taps->columns * taps->right;
                mts_value_read_run(entry->source.value, ref->data, filter * inner + tap, 1,
                                   &cell[k * position]);
            }
        }
    }
}

static void pack_packed(const mts_weights_entry *entry, float *to)
{
    const mts_weights_part *part = &entry->source.part;
    const size_t pack = MTS_CHANNEL_PACK, lane = entry->source.lanes;
    const size_t count = part->count + entry->source.head.count;
    const size_t rows = (part->rows + pack - 1) / pack * pack;
    const size_t channels = part->diagonal ? 1 : (lane + count + pack - 1) / pack * pack;
    const size_t position = channels * rows; /* floats of a tap */
    const size_t inner = entry->count / position;
    float taps[CELLS];
    memset(to, 0, entry->count * sizeof *to);
    if (part->taps.columns > 0) {
        pack_taps(entry, rows, position, to);
        return;
    }
    for (size_t r = 0; r < part->rows; r++) {
        for (size_t c = 0; c < count; c++) {
            const mts_block_ref *ref = NULL;
            const size_t cell = packed_cell(entry, r, c, inner, &ref);
            for (size_t k = 0; k < inner; k++) {
                if (k % CELLS == 0) {
                    const size_t left = inner - k;
                    mts_value_read_run(entry->source.value, ref->data, cell + k, left < CELLS ? left : CELLS,
                                       taps);
                }
                to[k * position + (lane + c) * rows + r] = taps[k % CELLS];
            }
        }
    }
}

#endif

/* ---- words of bytes ---- */

/* Steps of a weight: what its byte holds, or what is left of it. */
static int32_t steps_of(const mts_value *weight, const void *data, size_t index, bool rest)
{
    const int32_t steps = weight->dtype == MTS_TYPE_INT8
                              ? ((const int8_t *)data)[index]
                              : (int32_t)(mts_half_to_float(((const uint16_t *)data)[index]) / MTS_INT8_STEP);
    const int32_t byte = steps < INT8_MIN ? INT8_MIN : steps > INT8_MAX ? INT8_MAX : steps;
    return rest ? steps - byte : byte;
}

/* Index of a part's first weight in row `row` of its block, and the channels from there
   on. */
static size_t first_of(const mts_value *weight, const mts_block_ref *ref, const mts_weights_part *part,
                       uint32_t row, uint32_t *channels)
{
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    *channels = part->diagonal ? 1 : part->count;
    return ((size_t)(part->row - ref->out_first + row) * ref->in_count +
            (part->diagonal ? 0 : part->channel - ref->in_first)) *
           inner;
}

bool mts_weights_has_rest(const mts_value *weight, uint32_t ref_index, const mts_weights_part *part)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const size_t taps = (size_t)(weight->shape.dims[2] * weight->shape.dims[3]);
    bool found = false;
    for (uint32_t r = 0; !found && weight->dtype != MTS_TYPE_INT8 && r < part->rows; r++) {
        uint32_t channels = 0;
        const size_t first = first_of(weight, ref, part, r, &channels);
        for (size_t i = 0; !found && i < channels * taps; i++) {
            found = steps_of(weight, ref->data, first + i, true) != 0;
        }
    }
    return found;
}

static void pack_words(const mts_weights_entry *entry, int32_t *to)
{
    const mts_weights_part *part = &entry->source.part;
    const mts_value *weight = entry->source.value;
    const uint32_t rows = MTS_CODE_WORDS(part->rows) * MTS_WORD_CODES;
    const uint32_t phase = part->channel % MTS_WORD_CODES;
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    memset(to, 0, entry->count * sizeof *to);
    for (uint32_t r = 0; r < part->rows; r++) {
        uint32_t channels = 0;
        const size_t first = first_of(weight, block_of(entry), part, r, &channels);
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t lane = part->diagonal ? r % MTS_WORD_CODES : (phase + c) % MTS_WORD_CODES;
            const uint32_t word = part->diagonal ? 0 : (phase + c) / MTS_WORD_CODES;
            int32_t *words = &to[rows + (size_t)word * inner * rows + r];
            for (uint32_t k = 0; k < inner; k++) {
                const int32_t steps =
                    steps_of(weight, block_of(entry)->data, first + (size_t)c * inner + k, part->rest);
                words[(size_t)k * rows] |= (int32_t)((uint32_t)(uint8_t)steps << 8 * lane);
                to[r] += steps;
            }
        }
    }
}

/* ---- vectors ---- */

static void pack_dense(const mts_weights_entry *entry, float *to)
{
    if (entry->source.value->block_count > 1) {
        memset(to, 0, entry->count * sizeof *to);
    }
    mts_value_read_f32(entry->source.value, to);
}

/* A vector in an order; a vector that is NULL is ones. */
static void pack_ordered(const mts_weights_entry *entry, float *to)
{
    const mts_value *value = entry->source.value;
    const uint32_t *order = entry->source.order;
    for (size_t i = 0; i < entry->count; i++) {
        float number = 1.0f;
        if (value) {
            mts_value_read_run(value, value->blocks[0].data, order ? order[i] : i, 1, &number);
        }
        to[i] =
            entry->key.kind == MTS_WEIGHTS_SCALED ? (float)((double)number * entry->source.factor) : number;
    }
}

static void pack_mask(const mts_weights_entry *entry, float *to)
{
    const size_t row = entry->source.row, cells = row * entry->source.part.rows;
    for (size_t i = 0; i < entry->count; i++) {
        to[i] = i < cells && i % row < entry->source.columns ? 1.0f : 0.0f;
    }
}

/* ---- entries ---- */

static void pack_entry(const mts_weights_entry *entry, float *to)
{
    switch ((mts_weights_kind)entry->key.kind) {
    case MTS_WEIGHTS_ROWS:
        pack_rows(entry, to);
        break;
    case MTS_WEIGHTS_LANES:
        pack_lanes(entry, to);
        break;
    case MTS_WEIGHTS_WINOGRAD:
        pack_winograd(entry, to);
        break;
#if MTS_HAS_PACKED
    case MTS_WEIGHTS_PACKED:
        pack_packed(entry, to);
        break;
#endif
    case MTS_WEIGHTS_WORDS:
        pack_words(entry, (int32_t *)to);
        break;
    case MTS_WEIGHTS_DENSE:
        pack_dense(entry, to);
        break;
    case MTS_WEIGHTS_ORDERED:
    case MTS_WEIGHTS_SCALED:
        pack_ordered(entry, to);
        break;
    case MTS_WEIGHTS_MASK:
        pack_mask(entry, to);
        break;
    }
}

#define MASK_LEAST 1e9f

static bool is_filter(const mts_weights_entry *entry)
{
    const uint32_t kind = entry->key.kind;
    return kind != MTS_WEIGHTS_DENSE && kind != MTS_WEIGHTS_ORDERED && kind != MTS_WEIGHTS_SCALED;
}

/* Infinite weights stay what they are. Operands so large are masks, which stand for infinity (1e30, or
   the lowest finite number): they become the largest that float16 has. No filter is one. */
static void convert(mts_weights *pool, const mts_weights_entry *entry, const float *from, uint16_t *to,
                    size_t count)
{
    mts_half_array_from_float(from, to, count);
    for (size_t i = 0; !pool->too_large && i < count; i++) {
        if ((to[i] & 0x7fffu) != 0x7c00u || !isfinite(from[i])) {
            continue;
        }
        if (fabsf(from[i]) >= MASK_LEAST && !is_filter(entry)) {
            to[i]--;
        } else {
            pool->too_large = true;
            pool->too_large_at = entry->offset + i;
            pool->too_large_value = from[i];
        }
    }
}

/* Elements from an entry to the next one, or to the end of its section. */
static size_t extent(const mts_weights *pool, size_t index, size_t end)
{
    const mts_weights_entry *entry = &pool->entries[index];
    return (index + 1 < pool->entry_count ? pool->entries[index + 1].offset : end) - entry->offset;
}

/* The first entry from an element on. */
static size_t entry_from(const mts_weights *pool, size_t element)
{
    size_t i = 0;
    while (i < pool->entry_count && pool->entries[i].offset < element) {
        i++;
    }
    return i;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool mts_weights_pack(mts_weights *pool, const mts_weights_cut *cut, void *elements)
{
    size_t first = mts_weights_section_first(pool, cut->section);
    size_t count = mts_weights_section_count(pool, cut->section);
#ifndef MTS_SMALL
    first += cut->skip;
    count -= cut->skip;
#endif
    const size_t end = first + count;
    const size_t step = count / cut->parts + 1;
    const size_t from = entry_from(pool, least(first + cut->part * step, end));
    const size_t to = entry_from(pool, least(first + (cut->part + 1) * step, end));
    const bool whole = pool->precision == MTS_PRECISION_FLOAT32;
    size_t most = 0;
    for (size_t i = from; i < to; i++) {
        most = extent(pool, i, end) > most ? extent(pool, i, end) : most;
    }
    float *scratch = whole ? NULL : mts_alloc_zero(pool->allocator, most, sizeof *scratch);
    if (!whole && !scratch) {
        return false;
    }
    for (size_t i = from; i < to; i++) {
        const mts_weights_entry *entry = &pool->entries[i];
        const size_t own = extent(pool, i, end);
        float *out = whole ? (float *)elements + (entry->offset - first) : scratch;
        pack_entry(entry, out);
        memset(out + entry->count, 0, (own - entry->count) * sizeof *out);
        if (!whole) {
            convert(pool, entry, scratch, (uint16_t *)elements + (entry->offset - first), own);
        }
    }
    mts_alloc_free(pool->allocator, scratch);
    return true;
}

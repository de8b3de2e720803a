/*
 * weights.c: packing weight blocks into the layouts the kernels read (params.h) and finding them again. The
 * packers write float32; an entry becomes float16 when it is complete, so only one is float32 at a time. Not
 * responsible for the device's copy of the pool (engine/upload.c).
 */
#include "lower/weights.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/hash.h"
#include "device/kernel.h"

enum { POOL_ALIGN = 16 }; /* floats: vector loads of lanes and masks */

typedef enum key_kind {
    KEY_ROWS = 1,
    KEY_LANES,
    KEY_DENSE,
    KEY_ORDERED,
    KEY_MASK,
    KEY_WINOGRAD,
    KEY_WORDS,
    KEY_SCALED
} key_kind;

/* All members are set and compared byte by byte. */
typedef struct pool_key {
    uint64_t identity; /* block number, or the address of data that has none */
    uint64_t other;
    uint32_t kind, owner, row, rows, lanes, by_address;
} pool_key;

struct mts_weights_entry {
    pool_key key;
    /* From the start of the pool. */
    size_t offset;
};

void mts_weights_init(mts_weights *pool, mts_precision precision, const mts_allocator *allocator)
{
    *pool = (mts_weights){.allocator = allocator, .precision = precision};
    mts_map_init(&pool->map, allocator);
}

void mts_weights_release(mts_weights *pool)
{
    mts_alloc_free(pool->allocator, pool->elements);
    mts_alloc_free(pool->allocator, pool->scratch);
    mts_alloc_free(pool->allocator, pool->entries);
    mts_alloc_free(pool->allocator, pool->sections);
    mts_map_release(&pool->map);
    mts_weights_init(pool, pool->precision, pool->allocator);
}

/* ---- sections ---- */

uint32_t mts_weights_section(const mts_weights *pool)
{
    return (uint32_t)pool->section_count;
}

/* The first section begins at 0 and is not listed. */
size_t mts_weights_section_first(const mts_weights *pool, uint32_t section)
{
    return section == 0 ? 0 : pool->sections[section - 1];
}

size_t mts_weights_section_count(const mts_weights *pool, uint32_t section)
{
    const size_t end = section < pool->section_count ? pool->sections[section] : pool->count;
    return end - mts_weights_section_first(pool, section);
}

/* Start of the open section. */
static size_t origin(const mts_weights *pool)
{
    return mts_weights_section_first(pool, mts_weights_section(pool));
}

bool mts_weights_fits(const mts_weights *pool)
{
    return pool->section_most == 0 || pool->count - origin(pool) <= pool->section_most;
}

mts_weights_mark mts_weights_mark_get(const mts_weights *pool)
{
    return (mts_weights_mark){
        .count = pool->count, .entry_count = pool->entry_count, .too_large = pool->too_large};
}

void mts_weights_restart(mts_weights *pool, const mts_weights_mark *mark)
{
    pool->count = mark->count;
    pool->entry_count = mark->entry_count;
    pool->too_large = mark->too_large;
    pool->full = false;
    mts_map_release(&pool->map); /* nothing of the sections before is found again */
    mts_map_init(&pool->map, pool->allocator);
    if (pool->count == origin(pool) || pool->failed) {
        return;
    }
    if (!mts_alloc_grow(pool->allocator, (void **)&pool->sections, &pool->section_capacity,
                        pool->section_count + 1, sizeof *pool->sections)) {
        pool->failed = true;
        return;
    }
    pool->sections[pool->section_count++] = pool->count;
}

/* ---- entries ---- */

static bool same_key(const void *entries, uint32_t index, const void *key)
{
    return memcmp(&((const mts_weights_entry *)entries)[index].key, key, sizeof(pool_key)) == 0;
}

/* Room for the pool's elements up to `end`. Returns where the packer writes the floats of the entry. */
static float *make_room(mts_weights *pool, size_t end)
{
    if (!mts_alloc_grow(pool->allocator, &pool->elements, &pool->capacity, end,
                        mts_precision_size(pool->precision))) {
        return NULL;
    }
    if (pool->precision == MTS_PRECISION_FLOAT32) {
        return (float *)pool->elements + pool->count;
    }
    return mts_alloc_grow(pool->allocator, (void **)&pool->scratch, &pool->scratch_capacity,
                          end - pool->count, sizeof *pool->scratch)
               ? pool->scratch
               : NULL;
}

/*
 * Zeroed space for the floats of a new entry, which the caller fills and gives to store(). NULL: *offset is
 * that of an equal older entry, or the pool has failed.
 */
static float *claim(mts_weights *pool, const pool_key *key, size_t floats, uint32_t *offset)
{
    *offset = 0;
    if (pool->failed) {
        return NULL;
    }
    const uint64_t hash = mts_hash(key, sizeof *key, 0);
    const uint32_t known = mts_map_find(&pool->map, hash, same_key, pool->entries, key);
    if (known != MTS_MAP_NONE) {
        *offset = (uint32_t)(pool->entries[known].offset - origin(pool));
        return NULL;
    }
    const size_t end = pool->count + (floats + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    pool->full = end - origin(pool) >= INT32_MAX;
    float *space = pool->full ? NULL : make_room(pool, end);
    if (!space ||
        !mts_alloc_grow(pool->allocator, (void **)&pool->entries, &pool->entry_capacity,
                        pool->entry_count + 1, sizeof *pool->entries) ||
        !mts_map_add(&pool->map, hash, (uint32_t)pool->entry_count)) {
        pool->failed = true;
        return NULL;
    }
    *offset = (uint32_t)(pool->count - origin(pool));
    pool->entries[pool->entry_count++] = (mts_weights_entry){.key = *key, .offset = pool->count};
    memset(space, 0, (end - pool->count) * sizeof *space);
    pool->count = end;
    return space;
}

/* Converts the newest entry to the pool's precision. Infinite weights stay what they are. Returns offset. */
static uint32_t store(mts_weights *pool, const float *space, uint32_t offset)
{
    if (!space || pool->precision == MTS_PRECISION_FLOAT32) {
        return offset;
    }
    const size_t first = origin(pool) + offset;
    const size_t count = pool->count - first;
    uint16_t *halves = (uint16_t *)pool->elements + first;
    mts_half_array_from_float(space, halves, count);
    for (size_t i = 0; !pool->too_large && i < count; i++) {
        if ((halves[i] & 0x7fffu) == 0x7c00u && isfinite(space[i])) {
            pool->too_large = true;
            pool->too_large_at = first + i;
            pool->too_large_value = space[i];
        }
    }
    return offset;
}

/* Rows `row`, row + 1, .. of the value that the block is a part of. */
static pool_key key_of(key_kind kind, const mts_block_ref *ref, uint32_t owner, uint32_t row, uint32_t rows)
{
    const bool numbered = ref->block != MTS_NONE;
    pool_key key;
    memset(&key, 0, sizeof key);
    key.identity = numbered ? ref->block : (uint64_t)(uintptr_t)ref->data;
    key.by_address = !numbered; /* an address must not be taken for a block number */
    key.kind = kind;
    key.owner = owner;
    key.row = row;
    key.rows = rows;
    return key;
}

static float element(const mts_value *value, const void *data, size_t index)
{
    switch (value->dtype) {
    case MTS_TYPE_FLOAT16:
        return mts_half_to_float(((const uint16_t *)data)[index]);
    case MTS_TYPE_INT8:
        return (float)((const int8_t *)data)[index] * MTS_INT8_STEP;
    case MTS_TYPE_INT32:
        return (float)((const int32_t *)data)[index];
    default:
        return ((const float *)data)[index];
    }
}

uint32_t mts_weights_rows(mts_weights *pool, const mts_value *weight, uint32_t ref_index, uint32_t row,
                          uint32_t rows, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    uint32_t out = 0;
    uint32_t in = 0;
    uint32_t inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    pool_key key = key_of(KEY_ROWS, ref, owner, row - ref->out_first, rows);
    uint32_t offset = 0;
    const size_t cells = (size_t)ref->in_count * inner;
    key.other = cells; /* equal bytes are one block, also where they are other rows by columns */
    float *space = claim(pool, &key, cells * rows, &offset);
    for (uint32_t r = 0; space && r < rows; r++) {
        for (size_t c = 0; c < cells; c++) {
            space[c * rows + r] = element(weight, ref->data, (key.row + r) * cells + c);
        }
    }
    return store(pool, space, offset);
}

/* u = G g Gt (params.h), rounded once. */
static void transform(const double g[9], float u[16])
{
    double t[12]; /* G g */
    for (uint32_t x = 0; x < 3; x++) {
        const double even = 0.5 * (g[x] + g[6 + x]);
        t[x] = g[x];
        t[3 + x] = even + 0.5 * g[3 + x];
        t[6 + x] = even - 0.5 * g[3 + x];
        t[9 + x] = g[6 + x];
    }
    for (uint32_t y = 0; y < 4; y++) {
        const double even = 0.5 * (t[3 * y] + t[3 * y + 2]);
        u[4 * y] = (float)t[3 * y];
        u[4 * y + 1] = (float)(even + 0.5 * t[3 * y + 1]);
        u[4 * y + 2] = (float)(even - 0.5 * t[3 * y + 1]);
        u[4 * y + 3] = (float)t[3 * y + 2];
    }
}

uint32_t mts_weights_winograd(mts_weights *pool, const mts_value *weight, uint32_t ref_index, uint32_t row,
                              uint32_t rows, uint32_t channel, uint32_t count, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const size_t skip = channel - ref->in_first;
    const size_t position = (size_t)count * rows; /* floats of one */
    pool_key key = key_of(KEY_WINOGRAD, ref, owner, row - ref->out_first, rows);
    key.lanes = count;
    key.other = (uint64_t)ref->in_count << 32 | skip;
    uint32_t offset = 0;
    float *space = claim(pool, &key, 16 * position, &offset);
    for (uint32_t r = 0; space && r < rows; r++) {
        for (size_t c = 0; c < count; c++) {
            const size_t first = ((key.row + r) * (size_t)ref->in_count + skip + c) * 9;
            double g[9];
            float u[16];
            for (size_t k = 0; k < 9; k++) {
                g[k] = (double)element(weight, ref->data, first + k);
            }
            transform(g, u);
            for (size_t p = 0; p < 16; p++) {
                space[p * position + c * rows + r] = u[p];
            }
        }
    }
    return store(pool, space, offset);
}

uint32_t mts_weights_lanes(mts_weights *pool, const mts_value *weight, uint32_t ref_index, uint32_t row,
                           uint32_t rows, uint32_t lanes, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    pool_key key = key_of(KEY_LANES, ref, owner, row - ref->out_first, rows);
    key.lanes = lanes;
    const size_t depth = ref->in_count;
    key.other = depth;
    const size_t packs = (rows + lanes - 1) / lanes;
    uint32_t offset = 0;
    float *space = claim(pool, &key, packs * depth * lanes, &offset);
    for (uint32_t r = 0; space && r < rows; r++) {
        float *pack = space + r / lanes * depth * lanes + r % lanes;
        for (size_t c = 0; c < depth; c++) {
            pack[c * lanes] = element(weight, ref->data, (key.row + r) * depth + c);
        }
    }
    return store(pool, space, offset);
}

/* Steps of a weight: what its byte holds, or what is left of it. */
static int32_t steps_of(const mts_value *weight, const void *data, size_t index, bool rest)
{
    const int32_t steps = weight->dtype == MTS_TYPE_INT8
                              ? ((const int8_t *)data)[index]
                              : (int32_t)(mts_half_to_float(((const uint16_t *)data)[index]) / MTS_INT8_STEP);
    const int32_t byte = steps < INT8_MIN ? INT8_MIN : steps > INT8_MAX ? INT8_MAX : steps;
    return rest ? steps - byte : byte;
}

/* Index of a part's first weight in row `row` of its block, and the channels from there on. */
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

uint32_t mts_weights_words(mts_weights *pool, const mts_value *weight, uint32_t ref_index,
                           const mts_weights_part *part, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    const uint32_t rows = (part->rows + 3) / 4 * 4;
    const uint32_t skip = part->diagonal ? 0 : part->channel - ref->in_first, phase = part->channel % 4;
    const uint32_t words = (phase + part->count + 3) / 4;
    pool_key key = key_of(KEY_WORDS, ref, owner, part->row - ref->out_first, part->rows);
    const uint32_t form = weight->dtype == MTS_TYPE_INT8 ? 0 : part->rest ? 2 : 1;
    key.lanes = part->count << 5 | form << 3 | phase << 1 | (part->diagonal ? 1 : 0);
    /* a block is its bytes, also where they are other rows by columns; a sum's products are few (plan/bytes.c) */
    key.other = (uint64_t)ref->in_count << 32 | (uint64_t)inner << 16 | skip;
    uint32_t offset = 0;
    int32_t *space = (int32_t *)claim(pool, &key, rows + (size_t)words * inner * rows, &offset);
    for (uint32_t r = 0; space && r < part->rows; r++) {
        uint32_t channels = 0;
        const size_t first = first_of(weight, ref, part, r, &channels);
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t lane = part->diagonal ? r % 4 : (phase + c) % 4;
            const uint32_t word = part->diagonal ? 0 : (phase + c) / 4;
            int32_t *to = &space[rows + (size_t)word * inner * rows + r];
            for (uint32_t k = 0; k < inner; k++) {
                const int32_t steps = steps_of(weight, ref->data, first + (size_t)c * inner + k, part->rest);
                to[(size_t)k * rows] |= (int32_t)((uint32_t)(uint8_t)steps << 8 * lane);
                space[r] += steps;
            }
        }
    }
    return offset;
}

uint32_t mts_weights_scaled(mts_weights *pool, const mts_value *value, const uint32_t *order, uint32_t count,
                            double factor, uint32_t owner)
{
    const mts_block_ref none = {.block = MTS_NONE};
    pool_key key = key_of(KEY_SCALED, value ? &value->blocks[0] : &none, owner, 0, count);
    key.other = (uint64_t)(uintptr_t)order;
    const float bits = (float)factor;
    memcpy(&key.lanes, &bits, sizeof bits);
    uint32_t offset = 0;
    float *space = claim(pool, &key, count, &offset);
    for (uint32_t i = 0; space && i < count; i++) {
        const double scale =
            value ? (double)element(value, value->blocks[0].data, order ? order[i] : i) : 1.0;
        space[i] = (float)(scale * factor);
    }
    return store(pool, space, offset);
}

uint32_t mts_weights_dense(mts_weights *pool, const mts_value *value, uint32_t owner)
{
    pool_key key = key_of(KEY_DENSE, &value->blocks[0], owner, 0, 0);
    key.other =
        value->block_count == 1 ? 0 : (uint64_t)(uintptr_t)value; /* several blocks: not shared as a whole */
    const size_t count = mts_shape_count(&value->shape);
    uint32_t offset = 0;
    float *space = claim(pool, &key, count, &offset);
    if (space && value->dtype == MTS_TYPE_INT32) {
        for (size_t i = 0; i < count; i++) {
            space[i] = element(value, value->blocks[0].data, i);
        }
    } else if (space) {
        mts_value_read_f32(value, space);
    }
    return store(pool, space, offset);
}

uint32_t mts_weights_ordered(mts_weights *pool, const mts_value *value, const uint32_t *order, uint32_t count,
                             uint32_t owner)
{
    if (!order) {
        return mts_weights_dense(pool, value, owner);
    }
    pool_key key = key_of(KEY_ORDERED, &value->blocks[0], owner, 0, 0);
    key.other = (uint64_t)(uintptr_t)order;
    uint32_t offset = 0;
    float *space = claim(pool, &key, count, &offset);
    for (uint32_t i = 0; space && i < count; i++) {
        space[i] = element(value, value->blocks[0].data, order[i]);
    }
    return store(pool, space, offset);
}

uint32_t mts_weights_mask(mts_weights *pool, uint32_t rows, uint32_t row, uint32_t columns, uint32_t pixels)
{
    pool_key key;
    memset(&key, 0, sizeof key);
    key.kind = KEY_MASK;
    key.owner = MTS_NONE;
    key.identity = columns;
    key.other = pixels;
    key.row = row;
    key.rows = rows;
    uint32_t offset = 0;
    float *space = claim(pool, &key, pixels, &offset);
    for (size_t p = 0; space && p < (size_t)rows * row; p++) {
        space[p] = p % row < columns ? 1.0f : 0.0f;
    }
    return store(pool, space, offset);
}

/* Entries lie in the order of their offsets. */
bool mts_weights_holds(const mts_weights *pool, size_t at, const mts_value *value)
{
    size_t low = 0;
    size_t high = pool->entry_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        low = pool->entries[middle].offset <= at ? middle : low;
        high = pool->entries[middle].offset <= at ? high : middle;
    }
    for (uint32_t b = 0; low < high && b < value->block_count; b++) {
        const pool_key key = key_of(KEY_ROWS, &value->blocks[b], 0, 0, 0);
        if (pool->entries[low].key.kind != KEY_MASK && pool->entries[low].key.identity == key.identity &&
            pool->entries[low].key.by_address == key.by_address) {
            return true;
        }
    }
    return false;
}

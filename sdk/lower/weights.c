/*
 * weights.c: the entries of the weight pool: where each lies, and finding it again. Not
 * responsible for packing them (weights_pack.c).
 */
#include <string.h>

#include "base/hash.h"
#include "device/kernel.h"
#include "lower/weights_entry.h"

enum { POOL_ALIGN = 16 }; /* floats: vector loads of lanes and masks */

void mts_weights_init(mts_weights *pool, mts_precision precision, const mts_allocator *allocator)
{
    *pool = (mts_weights){.allocator = allocator, .precision = precision};
    mts_map_init(&pool->map, allocator);
}

void mts_weights_release(mts_weights *pool)
{
    mts_alloc_free(pool->allocator, pool->entries);
    mts_alloc_free(pool->allocator, pool->sections);
    mts_map_release(&pool->map);
    mts_weights_init(pool, pool->precision, pool->allocator);
}

/* ---- sections ---- */

uint32_t mts_weights_section(const mts_weights *pool)
{
#ifndef MTS_SMALL
    if (pool->looking != 0) {
        return pool->looking - 1;
    }
#endif
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
#ifndef MTS_SMALL
    if (pool->open) {
        return pool->count - origin(pool) <= pool->open->capacity;
    }
#endif
    return pool->section_most == 0 || pool->count - origin(pool) <= pool->section_most;
}

mts_weights_mark mts_weights_mark_get(const mts_weights *pool)
{
    return (mts_weights_mark){.count = pool->count, .entry_count = pool->entry_count};
}

void mts_weights_restart(mts_weights *pool, const mts_weights_mark *mark)
{
    pool->count = mark->count;
    pool->entry_count = mark->entry_count;
    pool->full = false;
#ifndef MTS_SMALL
    pool->open = NULL;
#endif
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
    return memcmp(&((const mts_weights_entry *)entries)[index].key, key, sizeof(mts_weights_key)) == 0;
}

#ifndef MTS_SMALL
static bool same_kept(const void *items, uint32_t index, const void *key)
{
    return memcmp(&((const mts_weights_kept *)items)[index].key, key, sizeof(mts_weights_key)) == 0;
}

static uint32_t find_in(const mts_weights_index *index, const mts_weights_key *key, uint64_t hash)
{
    return mts_map_find(&index->map, hash, same_kept, index->items, key);
}

static uint32_t look_up(mts_weights *pool, const mts_weights_key *key, uint64_t hash)
{
    const mts_weights_index *index = pool->kept[pool->looking - 1];
    const uint32_t known = find_in(index, key, hash);
    pool->missing = pool->missing || known == MTS_MAP_NONE;
    return known != MTS_MAP_NONE ? index->items[known].offset : 0;
}
#endif

/* Offset of a new entry of `count` elements, or of an equal older one. */
static uint32_t add(mts_weights *pool, const mts_weights_key *key, size_t count,
                    const mts_weights_source *source)
{
    if (pool->failed) {
        return 0;
    }
    const uint64_t hash = mts_hash(key, sizeof *key, 0);
#ifndef MTS_SMALL
    if (pool->looking != 0) {
        return look_up(pool, key, hash);
    }
    const uint32_t there = pool->open ? find_in(pool->open, key, hash) : MTS_MAP_NONE;
    if (there != MTS_MAP_NONE) {
        return pool->open->items[there].offset;
    }
#endif
    const uint32_t known = mts_map_find(&pool->map, hash, same_key, pool->entries, key);
    if (known != MTS_MAP_NONE) {
        return (uint32_t)(pool->entries[known].offset - origin(pool));
    }
    const size_t offset = pool->count;
    const size_t room = count + (key->kind == MTS_WEIGHTS_ROWS ? pool->spare : 0);
    const size_t end = offset + (room + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    pool->full = end - origin(pool) >= INT32_MAX;
    if (pool->full ||
        !mts_alloc_grow(pool->allocator, (void **)&pool->entries, &pool->entry_capacity,
                        pool->entry_count + 1, sizeof *pool->entries) ||
        !mts_map_add(&pool->map, hash, (uint32_t)pool->entry_count)) {
        pool->failed = true;
        return 0;
    }
    pool->entries[pool->entry_count++] =
        (mts_weights_entry){.key = *key, .source = *source, .offset = offset, .count = count};
    pool->count = end;
    return (uint32_t)(offset - origin(pool));
}

/* Rows `row`, row + 1, .. of the block. */
static mts_weights_key key_of(mts_weights_kind kind, const mts_block_ref *ref, uint32_t owner, uint32_t row,
                              uint32_t rows)
{
    const bool numbered = ref->block != MTS_NONE;
    mts_weights_key key;
    memset(&key, 0, sizeof key);
    key.identity = numbered ? ref->block : (uint64_t)(uintptr_t)ref->data;
    key.by_address = !numbered; /* an address must not be taken for a block number */
    key.kind = kind;
    key.owner = owner;
    key.row = row;
    key.rows = rows;
    return key;
}

uint32_t mts_weights_rows(mts_weights *pool, const mts_value *weight, uint32_t ref_index, uint32_t row,
                          uint32_t rows, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const mts_weights_source source = {.value = weight, .ref = ref_index, .part = {.row = row, .rows = rows}};
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    mts_weights_key key = key_of(MTS_WEIGHTS_ROWS, ref, owner, row - ref->out_first, rows);
    key.other = (size_t)ref->in_count *
                inner; /* equal bytes are one block, also where they are other rows by columns */
    return add(pool, &key, (size_t)ref->in_count * inner * rows, &source);
}

uint32_t mts_weights_winograd(mts_weights *pool, const mts_value *weight, uint32_t ref_index, uint32_t row,
                              uint32_t rows, uint32_t channel, uint32_t count, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const mts_weights_source source = {
        .value = weight,
        .ref = ref_index,
        .part = {.row = row, .rows = rows, .channel = channel, .count = count}};
    mts_weights_key key = key_of(MTS_WEIGHTS_WINOGRAD, ref, owner, row - ref->out_first, rows);
    key.lanes = count;
    key.other = (uint64_t)ref->in_count << 32 | (channel - ref->in_first);
    return add(pool, &key, (size_t)16 * count * rows, &source);
}

uint32_t mts_weights_lanes(mts_weights *pool, const mts_value *weight, uint32_t ref_index, uint32_t row,
                           uint32_t rows, uint32_t lanes, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const mts_weights_source source = {
        .value = weight, .ref = ref_index, .part = {.row = row, .rows = rows}, .lanes = lanes};
    mts_weights_key key = key_of(MTS_WEIGHTS_LANES, ref, owner, row - ref->out_first, rows);
    key.lanes = lanes;
    key.other = ref->in_count;
    return add(pool, &key, ((size_t)rows + lanes - 1) / lanes * ref->in_count * lanes, &source);
}

uint32_t mts_weights_words(mts_weights *pool, const mts_value *weight, uint32_t ref_index,
                           const mts_weights_part *part, uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const mts_weights_source source = {.value = weight, .ref = ref_index, .part = *part};
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    const uint32_t skip = part->diagonal ? 0 : part->channel - ref->in_first,
                   phase = part->channel % MTS_WORD_CODES;
    const uint32_t words = MTS_CODE_WORDS(phase + part->count);
    const size_t aligned = MTS_CODE_WORDS((size_t)part->rows) * MTS_WORD_CODES;
    mts_weights_key key = key_of(MTS_WEIGHTS_WORDS, ref, owner, part->row - ref->out_first, part->rows);
    const uint32_t form = weight->dtype == MTS_TYPE_INT8 ? 0 : part->rest ? 2 : 1;
    key.lanes = part->count << 5 | form << 3 | phase << 1 | (part->diagonal ? 1 : 0);
    /* a block is its bytes, also where they are other rows by columns; a sum's products
       are few (plan/bytes.c) */
    key.other = (uint64_t)ref->in_count << 32 | (uint64_t)inner << 16 | skip;
    return add(pool, &key, aligned * (1 + (size_t)words * inner), &source);
}

#if MTS_HAS_PACKED
/* A head is told by its block's bytes too. */
static void add_head(mts_weights_key *key, const mts_value *weight, const mts_weights_part *part,
                     const mts_weights_head *head)
{
    const mts_block_ref *ref = &weight->blocks[head->ref];
    const mts_weights_key own = key_of(MTS_WEIGHTS_PACKED, ref, 0, part->row - ref->out_first, 0);
    key->head = own.identity;
    key->by_address |= own.by_address << 1;
    key->head_row = own.row;
    key->head_channel = part->channel - head->count - ref->in_first;
    key->head_width = ref->in_count;
    key->head_count = head->count;
}

static void add_taps(mts_weights_key *key, const mts_weights_taps *taps)
{
    key->head = (uint64_t)taps->down << 32 | taps->right;
    key->head_row = taps->first;
    key->head_channel = taps->rows;
    key->head_width = taps->columns;
}

uint32_t mts_weights_packed(mts_weights *pool, const mts_value *weight, uint32_t ref_index,
                            const mts_weights_part *part, const mts_weights_head *head, uint32_t lane,
                            uint32_t owner)
{
    const mts_block_ref *ref = &weight->blocks[ref_index];
    const mts_weights_source source = {
        .value = weight, .ref = ref_index, .part = *part, .lanes = lane, .head = *head};
    const size_t pack = MTS_CHANNEL_PACK;
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    mts_weights_key key = key_of(MTS_WEIGHTS_PACKED, ref, owner, part->row - ref->out_first, part->rows);
    key.rows |= inner << 4; /* at most MTS_PACKED_ROWS; a block is its bytes, see above */
    key.lanes = part->count << 3 | lane << 1 | (part->diagonal ? 1 : 0);
    const size_t channels = part->diagonal ? 1 : (lane + head->count + part->count + pack - 1) / pack * pack;
    key.other = (uint64_t)ref->in_count << 32 | (part->channel - ref->in_first);
    if (head->count > 0) {
        add_head(&key, weight, part, head);
    }
    const bool named = part->taps.columns > 0;
    if (named) {
        add_taps(&key, &part->taps);
    }
    const size_t taps = named ? (size_t)part->taps.rows * part->taps.columns : inner;
    return add(pool, &key, taps * channels * ((part->rows + pack - 1) / pack * pack), &source);
}
#endif

uint32_t mts_weights_scaled(mts_weights *pool, const mts_value *value, const uint32_t *order, uint32_t count,
                            double factor, uint32_t owner)
{
    const mts_block_ref none = {.block = MTS_NONE};
    const mts_weights_source source = {.value = value, .order = order, .factor = factor};
    mts_weights_key key = key_of(MTS_WEIGHTS_SCALED, value ? &value->blocks[0] : &none, owner, 0, count);
    key.other = (uint64_t)(uintptr_t)order;
    const float bits = (float)factor;
    memcpy(&key.lanes, &bits, sizeof bits);
    return add(pool, &key, count, &source);
}

uint32_t mts_weights_dense(mts_weights *pool, const mts_value *value, uint32_t owner)
{
    const mts_weights_source source = {.value = value};
    mts_weights_key key = key_of(MTS_WEIGHTS_DENSE, &value->blocks[0], owner, 0, 0);
    /* several blocks: not shared as a whole */
    key.other = value->block_count == 1 ? 0 : (uint64_t)(uintptr_t)value;
    return add(pool, &key, mts_shape_count(&value->shape), &source);
}

uint32_t mts_weights_ordered(mts_weights *pool, const mts_value *value, const uint32_t *order, uint32_t count,
                             uint32_t owner)
{
    if (!order) {
        return mts_weights_dense(pool, value, owner);
    }
    const mts_weights_source source = {.value = value, .order = order};
    mts_weights_key key = key_of(MTS_WEIGHTS_ORDERED, &value->blocks[0], owner, 0, 0);
    key.other = (uint64_t)(uintptr_t)order;
    return add(pool, &key, count, &source);
}

uint32_t mts_weights_mask(mts_weights *pool, uint32_t rows, uint32_t row, uint32_t columns, uint32_t pixels)
{
    const mts_weights_source source = {.row = row, .columns = columns, .part = {.rows = rows}};
    mts_weights_key key;
    memset(&key, 0, sizeof key);
    key.kind = MTS_WEIGHTS_MASK;
    key.owner = MTS_NONE;
    key.identity = columns;
    key.other = pixels;
    key.row = row;
    key.rows = rows;
    return add(pool, &key, pixels, &source);
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
        const mts_weights_key key = key_of(MTS_WEIGHTS_ROWS, &value->blocks[b], 0, 0, 0);
        if (pool->entries[low].key.kind != MTS_WEIGHTS_MASK &&
            pool->entries[low].key.identity == key.identity &&
            pool->entries[low].key.by_address == key.by_address) {
            return true;
        }
    }
    return false;
}

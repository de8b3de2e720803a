/*
 * reader.c: see reader.h.
 *
 * A table begins with the signed distance to its vtable: two bytes of the vtable's size,
 * two of the table's, then two a field, the field's distance from the table or 0. An
 * offset counts from where it stands.
 */
#include "compiler/import/tflite/reader.h"

#include <string.h>

static void break_file(mts_flat *flat, const char *what)
{
    flat->broken = flat->broken ? flat->broken : what;
}

static bool inside(const mts_flat *flat, size_t at, size_t bytes)
{
    return at <= flat->size && bytes <= flat->size - at;
}

/* Little-endian whatever the host is; the bytes lie inside the file. */
static uint64_t load(const mts_flat *flat, size_t at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;) {
        number = number << 8 | flat->data[at + i];
    }
    return number;
}

static size_t size_of(mts_flat_kind kind)
{
    return kind <= MTS_FLAT_U8 ? 1 : kind == MTS_FLAT_U16 ? 2 : kind == MTS_FLAT_I64 ? 8 : 4;
}

static int64_t number_at(const mts_flat *flat, size_t at, mts_flat_kind kind)
{
    const uint64_t bits = load(flat, at, size_of(kind));
    return kind == MTS_FLAT_I8 ? (int8_t)bits : kind == MTS_FLAT_I32 ? (int32_t)bits : (int64_t)bits;
}

static float float_at(const mts_flat *flat, size_t at)
{
    const uint32_t bits = (uint32_t)load(flat, at, 4);
    float number = 0.0f;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Where an offset leads that lies at `at`, which is inside the file; 0 after a
   failure. */
static size_t follow(mts_flat *flat, size_t at)
{
    const uint64_t offset = load(flat, at, 4);
    if (offset < 4 || !inside(flat, at, (size_t)offset) || !inside(flat, at + (size_t)offset, 4)) {
        break_file(flat, "an offset");
        return 0;
    }
    return at + (size_t)offset;
}

static mts_flat_table table_of(mts_flat *flat, size_t at)
{
    const mts_flat_table none = {0};
    if (at == 0) {
        return none;
    }
    const int64_t vtable = (int64_t)at - number_at(flat, at, MTS_FLAT_I32);
    if (vtable < 0 || !inside(flat, (size_t)vtable, 4)) {
        break_file(flat, "a vtable");
        return none;
    }
    const size_t bytes = (size_t)load(flat, (size_t)vtable, 2);
    const size_t size = (size_t)load(flat, (size_t)vtable + 2, 2);
    if (bytes < 4 || bytes % 2 != 0 || !inside(flat, (size_t)vtable, bytes) || size < 4 ||
        !inside(flat, at, size)) {
        break_file(flat, "a table");
        return none;
    }
    return (mts_flat_table){
        .at = at, .vtable = (size_t)vtable, .field_count = (uint32_t)(bytes - 4) / 2, .size = (uint32_t)size};
}

/* Position of a field of so many bytes; 0: absent. */
static size_t field_of(mts_flat *flat, const mts_flat_table *table, uint32_t field, size_t bytes)
{
    if (table->at == 0 || field >= table->field_count) {
        return 0;
    }
    const size_t from = (size_t)load(flat, table->vtable + 4 + 2 * (size_t)field, 2);
    if (from == 0) {
        return 0;
    }
    if (from < 4 || from > table->size || bytes > table->size - from) {
        break_file(flat, "a field");
        return 0;
    }
    return table->at + from;
}

mts_flat_table mts_flat_root(mts_flat *flat)
{
    if (!inside(flat, 0, 8)) {
        break_file(flat, "the header");
        return (mts_flat_table){0};
    }
    return table_of(flat, follow(flat, 0));
}

int64_t mts_flat_int(mts_flat *flat, const mts_flat_table *table, uint32_t field, mts_flat_kind kind,
                     int64_t fallback)
{
    const size_t at = field_of(flat, table, field, size_of(kind));
    return at ? number_at(flat, at, kind) : fallback;
}

float mts_flat_float(mts_flat *flat, const mts_flat_table *table, uint32_t field, float fallback)
{
    const size_t at = field_of(flat, table, field, sizeof(float));
    return at ? float_at(flat, at) : fallback;
}

mts_flat_table mts_flat_child(mts_flat *flat, const mts_flat_table *table, uint32_t field)
{
    const size_t at = field_of(flat, table, field, 4);
    return at ? table_of(flat, follow(flat, at)) : (mts_flat_table){0};
}

mts_flat_vector mts_flat_list(mts_flat *flat, const mts_flat_table *table, uint32_t field, size_t size)
{
    const size_t at = field_of(flat, table, field, 4);
    const size_t start = at ? follow(flat, at) : 0;
    if (start == 0) {
        return (mts_flat_vector){0};
    }
    const size_t count = (size_t)load(flat, start, 4);
    if (count > (flat->size - start - 4) / size) {
        break_file(flat, "a vector");
        return (mts_flat_vector){0};
    }
    return (mts_flat_vector){.at = start + 4, .count = (uint32_t)count};
}

int64_t mts_flat_at(const mts_flat *flat, const mts_flat_vector *vector, mts_flat_kind kind, uint32_t index)
{
    return number_at(flat, vector->at + index * size_of(kind), kind);
}

float mts_flat_float_at(const mts_flat *flat, const mts_flat_vector *vector, uint32_t index)
{
    return float_at(flat, vector->at + index * sizeof(float));
}

mts_flat_table mts_flat_table_at(mts_flat *flat, const mts_flat_vector *vector, uint32_t index)
{
    return table_of(flat, follow(flat, vector->at + index * sizeof(uint32_t)));
}

/*
 * reader.h: a bounded cursor over a FlatBuffers file.
 *
 * Every offset, table, field and vector is checked against the file's bounds when it is
 * read, so a table or vector that was returned may be used. The first violation sticks in
 * `broken`; later reads return empty tables, empty vectors and fallbacks. Offsets of
 * tables only lead forward, and no function follows more than one of them, so a file
 * cannot cause recursion. Not responsible for what fields mean (model.h).
 */
#ifndef MTS_COMPILER_IMPORT_TFLITE_READER_H
#define MTS_COMPILER_IMPORT_TFLITE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mts_flat {
    const unsigned char *data;
    size_t size;
    /* NULL, or the first thing that lies outside the file */
    const char *broken;
} mts_flat;

/* An absent table has `at` 0 and no fields. */
typedef struct mts_flat_table {
    size_t at, vtable;
    uint32_t field_count, size;
} mts_flat_table;

typedef struct mts_flat_vector {
    /* position of element 0 in the file */
    size_t at;
    uint32_t count;
} mts_flat_vector;

typedef enum mts_flat_kind {
    MTS_FLAT_I8,
    MTS_FLAT_U8,
    MTS_FLAT_U16,
    MTS_FLAT_I32,
    MTS_FLAT_U32,
    MTS_FLAT_I64
} mts_flat_kind;

/* The table that the file's first offset names. */
mts_flat_table mts_flat_root(mts_flat *flat);
/* Fields of a table by number; an absent field gives `fallback`, an absent table or an
   empty vector. */
int64_t mts_flat_int(mts_flat *flat, const mts_flat_table *table, uint32_t field, mts_flat_kind kind,
                     int64_t fallback);
float mts_flat_float(mts_flat *flat, const mts_flat_table *table, uint32_t field, float fallback);
mts_flat_table mts_flat_child(mts_flat *flat, const mts_flat_table *table, uint32_t field);
/* `size`: bytes of an element; 4 for tables and strings. */
mts_flat_vector mts_flat_list(mts_flat *flat, const mts_flat_table *table, uint32_t field, size_t size);
/* Elements; the index is below the vector's count. */
int64_t mts_flat_at(const mts_flat *flat, const mts_flat_vector *vector, mts_flat_kind kind, uint32_t index);
float mts_flat_float_at(const mts_flat *flat, const mts_flat_vector *vector, uint32_t index);
mts_flat_table mts_flat_table_at(mts_flat *flat, const mts_flat_vector *vector, uint32_t index);

#endif

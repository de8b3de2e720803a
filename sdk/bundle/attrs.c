/*
 * attrs.c: attribute words; see attrs.h.
 */
#include "bundle/attrs.h"

#include <string.h>

#include "base/check.h"
#include "graph/op.h"

/* 32-bit words of a field, in memory and on disk. */
static uint32_t field_words(const mts_op_field *field)
{
    static const uint32_t words[] = {[MTS_OP_FIELD_WORD] = 1,
                                     [MTS_OP_FIELD_FLOAT] = 1,
                                     [MTS_OP_FIELD_LONG] = 2,
                                     [MTS_OP_FIELD_ACT] = sizeof(mts_act) / sizeof(uint32_t)};
    return words[field->kind] * field->count;
}

uint32_t mts_attrs_words(mts_op op)
{
    const mts_op_row *row = mts_op_find(op);
    uint32_t count = 0;
    for (uint32_t i = 0; row && i < row->field_count; i++) {
        count += field_words(&row->fields[i]);
    }
    MTS_CHECK(count <= MTS_ATTRS_WORDS_MAX);
    return row ? count : UINT32_MAX;
}

void mts_attrs_encode(mts_op op, const mts_attrs *attrs, uint32_t *words)
{
    const mts_op_row *row = mts_op_find(op);
    for (uint32_t i = 0; row && i < row->field_count; i++) {
        const mts_op_field *field = &row->fields[i];
        const unsigned char *from = (const unsigned char *)attrs + field->offset;
        if (field->kind == MTS_OP_FIELD_LONG) {
            for (uint32_t k = 0; k < field->count; k++) {
                uint64_t number = 0;
                memcpy(&number, from + k * sizeof number, sizeof number);
                *words++ = (uint32_t)number;
                *words++ = (uint32_t)(number >> 32);
            }
        } else {
            memcpy(words, from, field_words(field) * sizeof *words);
            words += field_words(field);
        }
    }
}

void mts_attrs_decode(mts_op op, const uint32_t *words, mts_attrs *attrs)
{
    const mts_op_row *row = mts_op_find(op);
    memset(attrs, 0, sizeof *attrs);
    for (uint32_t i = 0; row && i < row->field_count; i++) {
        const mts_op_field *field = &row->fields[i];
        unsigned char *to = (unsigned char *)attrs + field->offset;
        if (field->kind == MTS_OP_FIELD_LONG) {
            for (uint32_t k = 0; k < field->count; k++, words += 2) {
                const uint64_t number = (uint64_t)words[1] << 32 | words[0];
                memcpy(to + k * sizeof number, &number, sizeof number);
            }
        } else {
            memcpy(to, words, field_words(field) * sizeof *words);
            words += field_words(field);
        }
    }
}

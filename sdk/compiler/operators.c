/*
 * operators.c: mtsc_operator_at, the operators of the importers' tables.
 */
#include <string.h>

#include "base/sized.h"
#include "compiler/import/lower.h"
#include "compiler/import/tflite/tflite.h"
#include "mts/mtsc.h"

/* Whether a row before this one is of the same operator, in other opsets. */
static bool is_repeated(const mts_lower_row *row, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(mts_lower_row_at(i)->op, row->op) == 0) {
            return true;
        }
    }
    return false;
}

static mtsc_operator onnx_operator(const mts_lower_row *row)
{
    mtsc_operator found = {.size = sizeof found,
                           .format = "ONNX",
                           .name = row->op,
                           .first = (uint32_t)row->since,
                           .last = (uint32_t)row->until};
    const mts_lower_row *other = NULL;
    for (size_t i = 0; (other = mts_lower_row_at(i)); i++) {
        const bool same = strcmp(other->op, row->op) == 0;
        found.first = same && (uint32_t)other->since < found.first ? (uint32_t)other->since : found.first;
        found.last = same && (uint32_t)other->until > found.last ? (uint32_t)other->until : found.last;
    }
    return found;
}

mts_status mtsc_operator_at(uint32_t index, mtsc_operator *out)
{
    mts_status status = mts_sized_check(out, sizeof *out, "mtsc_operator", NULL);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    uint32_t seen = 0;
    const mts_lower_row *row = NULL;
    for (size_t i = 0; (row = mts_lower_row_at(i)); i++) {
        if (!is_repeated(row, i) && seen++ == index) {
            const mtsc_operator found = onnx_operator(row);
            mts_sized_write(out, &found);
            return MTS_STATUS_OK;
        }
    }
    mtsc_operator found = {.size = sizeof found, .format = "TensorFlow Lite"};
    found.name = mts_tflite_operator_at(index - seen, &found.first);
    found.last = found.first;
    if (found.name) {
        mts_sized_write(out, &found);
    }
    return found.name ? MTS_STATUS_OK : MTS_STATUS_NOT_FOUND;
}

/*
 * lower_move.c: operators that pick, join or pad elements: Slice, Split, Concat, Pad.
 */
#include "compiler/import/lower.h"

#include <string.h>

static int64_t clamp(int64_t number, int64_t least, int64_t most)
{
    return number < least ? least : number > most ? most : number;
}

/* Start, end and step of ONNX on one dimension as first element, step and count. */
static void slice_axis(mts_attrs_slice *slice, uint32_t axis, int64_t dim, int64_t start, int64_t end,
                       int64_t step)
{
    step = clamp(step, -INT32_MAX, INT32_MAX);
    start = start < 0 && start >= INT64_MIN + dim ? start + dim : start;
    end = end < 0 && end >= INT64_MIN + dim ? end + dim : end;
    int64_t count = 0;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        count = end > start ? (end - start + step - 1) / step : 0;
    } else {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        count = start > end ? (start - end - step - 1) / -step : 0;
    }
    slice->start[axis] = count ? start : 0;
    slice->step[axis] = count > 1 ? step : 1;
    slice->size[axis] = count;
}

static uint32_t slice_numbers(mts_import *import, uint32_t input, const char *name, int64_t *out)
{
    return import->opset >= 10
               ? mts_import_ints(import, mts_import_in(import, input), name, out, MTS_TENSOR_RANK_MAX)
               : mts_attr_ints(import, name, out, MTS_TENSOR_RANK_MAX);
}

void mts_lower_slice(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t starts[MTS_TENSOR_RANK_MAX], ends[MTS_TENSOR_RANK_MAX], axes[MTS_TENSOR_RANK_MAX],
        steps[MTS_TENSOR_RANK_MAX];
    uint32_t count = slice_numbers(import, 1, "starts", starts);
    uint32_t end_count = slice_numbers(import, 2, "ends", ends);
    uint32_t axis_count = slice_numbers(import, 3, "axes", axes);
    uint32_t step_count = import->opset >= 10 ? slice_numbers(import, 4, "steps", steps) : 0;
    if (!mts_import_ok(import) || end_count != count || (axis_count && axis_count != count) ||
        (step_count && step_count != count) || count > x->shape.rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "starts, ends, axes and steps do not fit each other");
        return;
    }
    mts_attrs_slice part = mts_import_whole(&x->shape);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis = mts_import_axis(import, axis_count ? axes[i] : (int64_t)i, x->shape.rank);
        int64_t step = step_count ? steps[i] : 1;
        if (step == 0 || !mts_import_ok(import)) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "a step is 0");
            return;
        }
        slice_axis(&part, axis, x->shape.dims[axis], starts[i], ends[i], step);
    }
    mts_import_out(import, 0, mts_import_emit_slice(import, x, &part));
}

/* Sizes of the parts: given, or the dimension in equal parts. */
static bool split_sizes(mts_import *import, int64_t dim, int64_t *sizes)
{
    uint32_t parts = import->output_count;
    uint32_t given = import->opset >= 13
                         ? mts_import_ints(import, mts_import_in(import, 1), "the parts", sizes, parts)
                         : mts_attr_ints(import, "split", sizes, parts);
    const int64_t wanted = mts_attr_int(import, "num_outputs", (int64_t)parts);
    int64_t sum = 0;
    if (wanted != (int64_t)parts) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "num_outputs is %lld, it has %u outputs",
                        (long long)wanted, parts);
    }
    if (given == 0 && mts_import_ok(import)) {
        /* from opset 18 on the last part may be smaller */
        const bool uneven = import->opset >= 18;
        const int64_t part = (dim + (uneven ? (int64_t)parts - 1 : 0)) / (int64_t)parts;
        for (uint32_t i = 0; i < parts; i++) {
            sizes[i] = uneven && i + 1 == parts ? dim - part * (int64_t)i : part;
        }
        given = parts;
    }
    for (uint32_t i = 0; i < given; i++) {
        if (sizes[i] < 0 || sizes[i] > dim - sum) {
            sum = -1;
            break;
        }
        sum += sizes[i];
    }
    if (given != parts || sum != dim) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the parts do not add up to %lld", (long long)dim);
    }
    return mts_import_ok(import);
}

void mts_lower_split(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", 0), x->shape.rank);
    int64_t *sizes = mts_arena_zero(&import->scratch, import->output_count, sizeof(*sizes));
    int64_t start = 0;
    if (!sizes) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
        return;
    }
    if (import->output_count == 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "it has no outputs");
    }
    if (!mts_import_ok(import) || !split_sizes(import, x->shape.dims[axis], sizes)) {
        return;
    }
    for (uint32_t i = 0; i < import->output_count; i++) {
        if (mts_import_out_wanted(import, i)) {
            mts_import_out(import, i, mts_import_emit_part(import, x, axis, start, sizes[i]));
        }
        start += sizes[i];
    }
}

void mts_lower_concat(mts_import *import)
{
    mts_import_value **parts =
        mts_arena_zero(&import->scratch, import->input_count, sizeof(mts_import_value *));
    const mts_import_value *first = mts_import_in(import, 0);
    uint32_t count = 0,
             axis = mts_import_axis(import, mts_attr_int(import, "axis", import->opset < 4 ? 1 : 0),
                                    first->shape.rank);
    if (!parts) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
    }
    for (uint32_t i = 0; parts && i < import->input_count; i++) {
        /* empty parts occur in shape arithmetic */
        if (mts_shape_count(&import->inputs[i]->shape) > 0) {
            parts[count++] = import->inputs[i];
        }
    }
    if (!mts_import_ok(import)) {
        return;
    }
    mts_attrs attrs = {.concat = {.axis = axis}};
    mts_import_out(import, 0,
                   count == 0   ? import->inputs[0]
                   : count == 1 ? parts[0]
                                : mts_import_emit(import, MTS_OP_CONCAT, &attrs, parts, count));
}

/* Pads of some axes (opset 18) as pads of all; their number. */
static uint32_t spread_pads(mts_import *import, int64_t *pads, uint32_t count, uint32_t rank)
{
    int64_t axes[MTS_TENSOR_RANK_MAX];
    int64_t all[MTS_TENSOR_RANK_MAX * 2] = {0};
    const uint32_t given =
        mts_import_ints(import, mts_import_in(import, 3), "the axes", axes, MTS_TENSOR_RANK_MAX);
    if (given == 0 || count != 2 * given) {
        return count;
    }
    for (uint32_t i = 0; i < given; i++) {
        const uint32_t axis = mts_import_axis(import, axes[i], rank);
        all[axis] = pads[i];
        all[axis + rank] = pads[i + given];
    }
    memcpy(pads, all, sizeof all);
    return 2 * rank;
}

void mts_lower_pad(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    bool attributes = import->opset < 11;
    int64_t pads[MTS_TENSOR_RANK_MAX * 2];
    uint32_t rank = x->shape.rank;
    mts_attrs attrs = {0};
    uint32_t count = attributes ? mts_attr_ints(import, "pads", pads, MTS_TENSOR_RANK_MAX * 2)
                                : mts_import_ints(import, mts_import_in(import, 1), "the pads", pads,
                                                  MTS_TENSOR_RANK_MAX * 2);
    count = attributes ? count : spread_pads(import, pads, count, rank);
    if (attributes) {
        attrs.pad.value = mts_attr_float(import, "value", 0.0f);
    } else {
        (void)mts_import_floats(import, mts_import_in(import, 2), "the fill value", &attrs.pad.value, 1);
    }
    const char *mode = mts_attr_string(import, "mode", "constant");
    attrs.pad.mode = strcmp(mode, "edge") == 0      ? MTS_PAD_EDGE
                     : strcmp(mode, "reflect") == 0 ? MTS_PAD_REFLECT
                                                    : MTS_PAD_CONSTANT;
    if (attrs.pad.mode == MTS_PAD_CONSTANT && strcmp(mode, "constant") != 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "mode '%s' is not supported", mode);
    }
    if (!mts_import_ok(import) || count != rank * 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%u pads for rank %u", count, rank);
        return;
    }
    bool none = true;
    for (uint32_t i = 0; i < rank; i++) {
        attrs.pad.before[i] = pads[i];
        attrs.pad.after[i] = pads[i + rank];
        none = none && pads[i] == 0 && pads[i + rank] == 0;
    }
    mts_import_out(import, 0, none ? x : mts_import_emit(import, MTS_OP_PAD, &attrs, &x, 1));
}

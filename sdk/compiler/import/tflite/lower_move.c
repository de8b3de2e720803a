/*
 * lower_move.c: operators that pick, join, pad or reorder elements.
 */
#include "compiler/import/tflite/lower.h"

#define AXES MTS_TENSOR_RANK_MAX

/* ---- joining ---- */

static void concat(mts_tflite *model, mts_import_value **parts, uint32_t axis, bool planar,
                   int64_t activation)
{
    const mts_attrs attrs = {.concat = {.axis = axis}};
    mts_import_value *y =
        mts_import_emit(model->import, MTS_OP_CONCAT, &attrs, parts, model->node->inputs.count);
    mts_tflite_out(model, 0, mts_tflite_activate(model, y, activation), planar);
}

static mts_import_value **parts_of(mts_tflite *model)
{
    const uint32_t count = model->node->inputs.count;
    mts_import_value **parts = mts_arena_zero(&model->import->scratch, count, sizeof(mts_import_value *));
    if (!parts) {
        mts_import_fail(model->import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
    }
    return parts;
}

void mts_tflite_lower_concat(mts_tflite *model)
{
    mts_import_value **parts = parts_of(model);
    const uint32_t rank = mts_tflite_in(model, 0)->shape.rank;
    const uint32_t axis = mts_tflite_axis(model, mts_tflite_option(model, 0, MTS_FLAT_I32, 0), rank);
    bool planar = false;
    for (uint32_t i = 0; i < model->node->inputs.count; i++) {
        planar = planar || mts_tflite_is_planar(mts_tflite_in(model, i));
    }
    for (uint32_t i = 0; parts && i < model->node->inputs.count; i++) {
        parts[i] = mts_tflite_value(model, mts_tflite_in(model, i), planar && rank == 4);
    }
    if (mts_import_ok(model->import)) {
        concat(model, parts, mts_tflite_dim(planar && rank == 4, axis), planar && rank == 4,
               mts_tflite_option(model, 1, MTS_FLAT_I8, 0));
    }
}

/* Each operand gets a dimension of 1, along which they are joined. */
void mts_tflite_lower_pack(mts_tflite *model)
{
    mts_import_value **parts = parts_of(model);
    const mts_shape *first = &mts_tflite_in(model, 0)->shape;
    if (first->rank >= AXES) {
        mts_import_fail(model->import, MTS_STATUS_LIMIT, "the result's rank is above %d", AXES);
        return;
    }
    const uint32_t axis =
        mts_tflite_axis(model, mts_tflite_option(model, 1, MTS_FLAT_I32, 0), first->rank + 1);
    mts_shape wide = {.rank = first->rank + 1};
    for (uint32_t i = 0; i < wide.rank; i++) {
        wide.dims[i] = i == axis ? 1 : first->dims[i > axis ? i - 1 : i];
    }
    for (uint32_t i = 0; parts && i < model->node->inputs.count; i++) {
        mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, i));
        parts[i] = mts_import_emit_reshape(model->import, x, &wide);
    }
    if (mts_import_ok(model->import)) {
        concat(model, parts, axis, false, 0);
    }
}

/* ---- padding ---- */

static void lower_pad(mts_tflite *model, uint32_t mode, float value, int64_t most)
{
    int64_t pads[2 * AXES] = {0};
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor);
    const uint32_t rank = tensor->shape.rank;
    mts_attrs attrs = {.pad = {.mode = mode, .value = value}};
    if (mts_tflite_ints(model, 1, "the padding", pads, 2 * AXES) != 2 * rank) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the padding does not fit rank %u", rank);
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t at = mts_tflite_dim(planar, i);
        attrs.pad.before[at] = pads[2 * i];
        attrs.pad.after[at] = pads[2 * i + 1];
        if (pads[2 * i] < 0 || pads[2 * i + 1] < 0 || pads[2 * i] > most || pads[2 * i + 1] > most) {
            mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED,
                            "padding of dimension %u by %lld and %lld is not supported, 0 to %lld is", i,
                            (long long)pads[2 * i], (long long)pads[2 * i + 1], (long long)most);
            return;
        }
    }
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    mts_tflite_out(model, 0, mts_import_emit(model->import, MTS_OP_PAD, &attrs, &x, 1), planar);
}

void mts_tflite_lower_pad(mts_tflite *model)
{
    float value = 0.0f;
    mts_tflite_tensor *stated = mts_tflite_in(model, 2);
    if (stated) {
        (void)mts_import_floats(model->import, mts_tflite_native(model, stated), "the padding's value",
                                &value, 1);
    }
    lower_pad(model, MTS_PAD_CONSTANT, value, INT32_MAX);
}

/* Mirroring with the edge itself is what repeating the edge does, for one element. */
void mts_tflite_lower_mirror_pad(mts_tflite *model)
{
    const bool with_edge = mts_tflite_option(model, 0, MTS_FLAT_I8, 0) == 1;
    lower_pad(model, with_edge ? MTS_PAD_EDGE : MTS_PAD_REFLECT, 0.0f, with_edge ? 1 : INT32_MAX);
}

/* ---- slicing ---- */

/* First element, step and count of each dimension of a tensor, as the file counts
   dimensions. */
typedef struct slice {
    mts_tflite_tensor *tensor;
    bool planar; /* which of the tensor's values is cut */
    int64_t start[AXES], step[AXES], size[AXES];
} slice;

static slice whole(mts_tflite_tensor *tensor)
{
    slice all = {.tensor = tensor, .planar = mts_tflite_is_planar(tensor)};
    for (uint32_t i = 0; i < tensor->shape.rank; i++) {
        all.step[i] = 1;
        all.size[i] = tensor->shape.dims[i];
    }
    return all;
}

static mts_import_value *emit_slice(mts_tflite *model, const slice *part)
{
    const mts_shape *in = &part->tensor->shape;
    mts_import_value *x = mts_tflite_value(model, part->tensor, part->planar);
    mts_attrs_slice held = {0};
    for (uint32_t i = 0; i < in->rank; i++) {
        const uint32_t at = mts_tflite_dim(part->planar, i);
        held.start[at] = part->start[i];
        held.step[at] = part->step[i];
        held.size[at] = part->size[i];
        if (part->size[i] < 1 || part->start[i] < 0 || part->start[i] >= in->dims[i]) {
            mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED,
                            "dimension %u of the result has no elements", i);
            return NULL;
        }
    }
    return mts_import_emit_slice(model->import, x, &held);
}

void mts_tflite_lower_slice(mts_tflite *model)
{
    int64_t size[AXES] = {0};
    slice part = whole(mts_tflite_in(model, 0));
    const uint32_t rank = part.tensor->shape.rank;
    if (mts_tflite_ints(model, 1, "the start", part.start, AXES) != rank ||
        mts_tflite_ints(model, 2, "the size", size, AXES) != rank) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "start or size does not fit rank %u", rank);
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t dim = part.tensor->shape.dims[i];
        if (part.start[i] < 0 || part.start[i] > dim || size[i] < -1 || size[i] > dim - part.start[i]) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                            "dimension %u of %lld has no elements %lld to %lld", i, (long long)dim,
                            (long long)part.start[i], (long long)size[i]);
            return;
        }
        part.size[i] = size[i] == -1 ? dim - part.start[i] : size[i];
    }
    mts_tflite_out(model, 0, emit_slice(model, &part), part.planar);
}

static int64_t clamp(int64_t number, int64_t least, int64_t most)
{
    return number < least ? least : number > most ? most : number;
}

/* Start, end and step of one dimension as first element and count; masks say what is left
   open. */
static void stride_dim(slice *part, uint32_t i, int64_t dim, int64_t end, bool from_start, bool to_end,
                       bool shrink)
{
    int64_t start = part->start[i];
    const int64_t step = part->step[i];
    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    if (shrink) {
        part->start[i] = start;
        part->step[i] = 1;
        part->size[i] = start >= 0 && start < dim;
        return;
    }
    const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? dim : dim - 1;
    start = from_start ? (step > 0 ? 0 : dim - 1) : clamp(start, least, most);
    end = to_end ? (step > 0 ? dim : -1) : clamp(end, least, most);
    const int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    part->start[i] = start;
    part->size[i] = span > 0 ? (span + stride - 1) / stride : 0;
}

void mts_tflite_lower_strided_slice(mts_tflite *model)
{
    int64_t end[AXES] = {0}, mask[5];
    slice part = whole(mts_tflite_in(model, 0));
    const uint32_t rank = part.tensor->shape.rank;
    for (uint32_t i = 0; i < 5; i++) {
        mask[i] = mts_tflite_option(model, i, MTS_FLAT_I32, 0);
    }
    if (mask[2] != 0 || mask[3] != 0 || mts_tflite_option(model, 5, MTS_FLAT_U8, 0) != 0) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED,
                        "an ellipsis, a new axis or an end that is an offset is not supported");
        return;
    }
    const uint32_t given = mts_tflite_ints(model, 1, "the start", part.start, rank);
    if (mts_tflite_ints(model, 2, "the end", end, rank) != given ||
        mts_tflite_ints(model, 3, "the steps", part.step, rank) != given) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "start, end and steps differ in number");
    }
    mts_shape shape = {0};
    for (uint32_t i = 0; i < rank && mts_import_ok(model->import); i++) {
        const bool shrink = i < given && (mask[4] >> i & 1) != 0;
        const bool is_range = part.step[i] != 0 && part.step[i] > -INT32_MAX && part.step[i] <= INT32_MAX;
        if (i < given && is_range) {
            stride_dim(&part, i, part.tensor->shape.dims[i], end[i], (mask[0] >> i & 1) != 0,
                       (mask[1] >> i & 1) != 0, shrink);
        } else if (!is_range) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "step %lld of dimension %u is out of range",
                            (long long)part.step[i], i);
        }
        if (!shrink) {
            shape.dims[shape.rank++] = part.size[i];
        }
    }
    mts_import_value *y = mts_import_ok(model->import) ? emit_slice(model, &part) : NULL;
    if (y && shape.rank < rank && part.planar) {
        static const uint32_t back[4] = {0, 2, 3, 1};
        y = mts_import_emit_transpose(model->import, y, back);
    }
    y = shape.rank < rank ? mts_import_emit_reshape(model->import, y, &shape) : y;
    mts_tflite_out(model, 0, y, part.planar && shape.rank == rank);
}

/* Result `index` is `size` elements of a dimension from `start` on. */
static void out_part(mts_tflite *model, uint32_t index, mts_tflite_tensor *tensor, uint32_t axis,
                     int64_t start, int64_t size)
{
    slice part = whole(tensor);
    part.start[axis] = start;
    part.size[axis] = size;
    mts_tflite_out(model, index, emit_slice(model, &part), part.planar);
}

void mts_tflite_lower_split(mts_tflite *model)
{
    int64_t stated = 0;
    mts_tflite_tensor *tensor = mts_tflite_in(model, 1);
    const uint32_t count = model->node->outputs.count;
    (void)mts_tflite_ints(model, 0, "the axis", &stated, 1);
    const uint32_t axis = mts_tflite_axis(model, stated, tensor->shape.rank);
    if (!mts_import_ok(model->import) || count == 0 || tensor->shape.dims[axis] % count != 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "dimension %u cannot be split into %u parts",
                        axis, count);
        return;
    }
    const int64_t size = tensor->shape.dims[axis] / count;
    for (uint32_t i = 0; i < count && mts_import_ok(model->import); i++) {
        out_part(model, i, tensor, axis, (int64_t)i * size, size);
    }
}

void mts_tflite_lower_split_sizes(mts_tflite *model)
{
    int64_t stated = 0, sizes[64] = {0}, known = 0, start = 0;
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const uint32_t count = mts_tflite_ints(model, 1, "the sizes", sizes, 64);
    (void)mts_tflite_ints(model, 2, "the axis", &stated, 1);
    const uint32_t axis = mts_tflite_axis(model, stated, tensor->shape.rank);
    if (!mts_import_ok(model->import) || count != model->node->outputs.count) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "%u sizes for %u results", count,
                        model->node->outputs.count);
        return;
    }
    const int64_t dim = tensor->shape.dims[axis];
    for (uint32_t i = 0; i < count; i++) {
        known += sizes[i] > 0 && sizes[i] <= dim ? sizes[i] : 0;
    }
    for (uint32_t i = 0; i < count && mts_import_ok(model->import); i++) {
        const int64_t size = sizes[i] == -1 ? dim - known : sizes[i];
        if (size < 1 || size > dim - start) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "part %u of %lld elements does not fit %lld",
                            i, (long long)size, (long long)dim);
            return;
        }
        out_part(model, i, tensor, axis, start, size);
        start += size;
    }
}

void mts_tflite_lower_unpack(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    mts_import_value *x = mts_tflite_native(model, tensor);
    const uint32_t axis =
        mts_tflite_axis(model, mts_tflite_option(model, 1, MTS_FLAT_I32, 0), tensor->shape.rank);
    const uint32_t count = model->node->outputs.count;
    if (!x || !mts_import_ok(model->import) || tensor->shape.dims[axis] != (int64_t)count) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "dimension %u does not have %u elements", axis,
                        count);
        return;
    }
    mts_shape shape = {.rank = tensor->shape.rank - 1};
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = tensor->shape.dims[i < axis ? i : i + 1];
    }
    for (uint32_t i = 0; i < count && mts_import_ok(model->import); i++) {
        slice part = whole(tensor);
        part.planar = false;
        part.start[axis] = i;
        part.size[axis] = 1;
        mts_import_value *y = emit_slice(model, &part);
        mts_tflite_out(model, i, mts_import_emit_reshape(model->import, y, &shape), false);
    }
}

/*
 * lower_index.c: ONNX operators that pick and place elements by position, or whose
 * results are positions.
 */
#include "compiler/import/index.h"

#include <string.h>

typedef mts_import_value *value;

static uint32_t axis_of(mts_import *import, const mts_import_value *x, int64_t fallback)
{
    return mts_import_axis(import, mts_attr_int(import, "axis", fallback), x->shape.rank);
}

/* ---- picking ---- */

void mts_lower_gather(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t axis = axis_of(import, x, 0);
    mts_import_out(import, 0, mts_import_gather(import, x, axis, mts_import_in(import, 1)));
}

void mts_lower_gather_elements(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t axis = axis_of(import, x, 0);
    mts_import_out(import, 0, mts_import_gather_elements(import, x, axis, mts_import_in(import, 1)));
}

void mts_lower_gather_nd(mts_import *import)
{
    const int64_t batch = mts_attr_int(import, "batch_dims", 0);
    if (batch < 0 || batch > MTS_TENSOR_RANK_MAX) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "batch_dims is %lld", (long long)batch);
        return;
    }
    mts_import_out(
        import, 0,
        mts_import_gather_nd(import, mts_import_in(import, 0), mts_import_in(import, 1), (uint32_t)batch));
}

/* Elements, or slices along an axis, where a constant is true. */
void mts_lower_compress(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const mts_import_value *condition = mts_import_in(import, 1);
    uint32_t axis = 0;
    if (mts_attr_has(import, "axis")) {
        axis = axis_of(import, x, 0);
    } else {
        const mts_shape flat = {.rank = 1, .dims = {(int64_t)mts_shape_count(&x->shape)}};
        x = mts_import_emit_reshape(import, x, &flat);
    }
    if (mts_import_ok(import) && !mts_import_is_const(condition)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "the condition must be known when the model is compiled");
    }
    const size_t given = mts_shape_count(&condition->shape);
    bool lasting = false;
    int64_t *kept = mts_import_alloc(import, MTS_TYPE_INT64, &condition->shape, &lasting);
    if (!x || !kept || !mts_import_ok(import)) {
        return;
    }
    mts_shape shape = {.rank = 1};
    for (size_t i = 0; i < given && (int64_t)i < x->shape.dims[axis]; i++) {
        if (mts_host_load(condition->dtype, condition->data, i) != 0) {
            kept[shape.dims[0]++] = (int64_t)i;
        }
    }
    if (shape.dims[0] == 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "the result has no elements");
        return;
    }
    value index = mts_import_constant(import, MTS_TYPE_INT64, &shape, kept, false);
    mts_import_out(import, 0, index ? mts_import_gather(import, x, axis, index) : NULL);
}

/* Numbers of all elements of a shape, for the caller to change; NULL: failed. */
static int64_t *counting(mts_import *import, const mts_shape *shape)
{
    bool lasting = false;
    int64_t *from = mts_import_alloc(import, MTS_TYPE_INT64, shape, &lasting);
    for (size_t i = 0; from && i < mts_shape_count(shape); i++) {
        from[i] = (int64_t)i;
    }
    return from;
}

/* The first so many steps of each sequence, the other way round. */
void mts_lower_reverse_sequence(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const mts_import_value *lengths = mts_import_in(import, 1);
    const mts_shape *s = &x->shape;
    const int64_t batch_axis = mts_attr_int(import, "batch_axis", 1);
    const int64_t time_axis = mts_attr_int(import, "time_axis", 0);
    if (s->rank < 2 || batch_axis + time_axis != 1 || batch_axis < 0 || batch_axis > 1) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "batch_axis %lld and time_axis %lld do not fit rank %u",
                        (long long)batch_axis, (long long)time_axis, s->rank);
        return;
    }
    int64_t *from = counting(import, s), inner = 1;
    for (uint32_t i = 2; i < s->rank; i++) {
        inner *= s->dims[i];
    }
    if (from &&
        (!mts_import_is_const(lengths) || (int64_t)mts_shape_count(&lengths->shape) != s->dims[batch_axis])) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "the lengths must be known when the model is compiled, one for each sequence");
    }
    const int64_t step = time_axis == 0 ? s->dims[1] * inner : inner;
    const int64_t sequence = time_axis == 0 ? inner : s->dims[1] * inner;
    for (int64_t b = 0; from && mts_import_ok(import) && b < s->dims[batch_axis]; b++) {
        const int64_t length = mts_host_load_int(lengths->dtype, lengths->data, (size_t)b);
        if (length < 0 || length > s->dims[time_axis]) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "a length of %lld is above %lld", (long long)length,
                            (long long)s->dims[time_axis]);
            return;
        }
        for (int64_t n = 0; n < length * inner; n++) {
            const int64_t t = n / inner, k = n % inner;
            from[b * sequence + t * step + k] = b * sequence + (length - 1 - t) * step + k;
        }
    }
    mts_import_out(import, 0, from ? mts_import_gather_flat(import, x, from, s) : NULL);
}

/* The upper or lower triangle; elements that are not in it are picked from a zero beside
   the matrices. */
void mts_lower_trilu(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const mts_shape s = x->shape;
    int64_t shift = 0;
    (void)mts_import_ints(import, mts_import_in(import, 1), "k", &shift, 1);
    const bool upper = mts_attr_int(import, "upper", 1) != 0;
    if (s.rank < 2 || mts_shape_count(&s) == 0 || !mts_import_ok(import)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED,
                        "an operand of rank %u and %zu elements has no triangle", s.rank,
                        mts_shape_count(&s));
        return;
    }
    const int64_t rows = s.dims[s.rank - 2], columns = s.dims[s.rank - 1], all = rows * columns;
    const int64_t outer = (int64_t)mts_shape_count(&s) / all;
    const mts_shape flat = {.rank = 2, .dims = {outer, all}}, count = {.rank = 1, .dims = {all}};
    const mts_attrs column = {.reshape = {.shape = {.rank = 2, .dims = {outer, 1}}}};
    const mts_attrs beside = {.concat = {.axis = 1}};
    int64_t *from = counting(import, &count);
    for (int64_t i = 0; from && i < all; i++) {
        /* no overflow: positions are small, the shift is any number */
        const bool above = i % columns - i / columns >= shift;
        const bool below = i % columns - i / columns <= shift;
        from[i] = (upper ? above : below) ? i : all;
    }
    value zero = mts_import_scalar(import, x->dtype, 0.0);
    value both[2] = {mts_import_emit_reshape(import, x, &flat),
                     mts_import_emit(import, MTS_OP_EXPAND, &column, &zero, 1)};
    value index = from ? mts_import_constant(import, MTS_TYPE_INT64, &count, from, false) : NULL;
    value y = both[0] && both[1] && index ? mts_import_emit(import, MTS_OP_CONCAT, &beside, both, 2) : NULL;
    y = y ? mts_import_gather(import, y, 1, index) : NULL;
    mts_import_out(import, 0, y ? mts_import_emit_reshape(import, y, &s) : NULL);
}

/* ---- placing ---- */

/* How several updates of an element are combined. */
static uint32_t reduction(mts_import *import)
{
    static const mts_import_kind names[] = {{"none", MTS_IMPORT_REPLACE},
                                            {"add", MTS_BIN_ADD},
                                            {"mul", MTS_BIN_MUL},
                                            {"max", MTS_BIN_MAX},
                                            {"min", MTS_BIN_MIN}};
    const char *name = mts_attr_string(import, "reduction", "none");
    const uint32_t how = mts_import_kind_of(name, names, sizeof names / sizeof names[0], UINT32_MAX);
    if (how == UINT32_MAX) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "reduction '%s' is not supported", name);
        return MTS_IMPORT_REPLACE;
    }
    return how;
}

void mts_lower_scatter_elements(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t axis = axis_of(import, x, 0), how = reduction(import);
    mts_import_out(import, 0,
                   mts_import_scatter_elements(import, x, axis, mts_import_in(import, 1),
                                               mts_import_in(import, 2), how));
}

void mts_lower_scatter_nd(mts_import *import)
{
    const uint32_t how = reduction(import);
    mts_import_out(import, 0,
                   mts_import_scatter_nd(import, mts_import_in(import, 0), mts_import_in(import, 1),
                                         mts_import_in(import, 2), how));
}

/* ---- positions as results ---- */

void mts_lower_arg(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t axis = axis_of(import, x, 0);
    const bool least = mts_import_is_op(import, "ArgMin");
    const bool last = mts_attr_int(import, "select_last_index", 0) != 0;
    const uint32_t kind = last ? (least ? MTS_REDUCE_ARG_MIN_LAST : MTS_REDUCE_ARG_MAX_LAST)
                               : (least ? MTS_REDUCE_ARG_MIN : MTS_REDUCE_ARG_MAX);
    const bool keep = mts_attr_int(import, "keepdims", 1) != 0;
    mts_import_out(import, 0, mts_import_arg(import, x, kind, axis, keep));
}

void mts_lower_top_k(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t axis = axis_of(import, x, -1);
    int64_t count = mts_attr_int(import, "k", 0);
    if (import->opset >= 10) {
        (void)mts_import_ints(import, mts_import_in(import, 1), "k", &count, 1);
    }
    const bool largest = mts_attr_int(import, "largest", 1) != 0;
    if (!mts_import_ok(import) || count < 1 || count > x->shape.dims[axis]) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "%lld of %lld elements are wanted", (long long)count,
                        mts_import_ok(import) ? (long long)x->shape.dims[axis] : 0);
        return;
    }
    value order = mts_import_order_of(import, x, axis, (uint32_t)count, largest);
    if (order && mts_import_out_wanted(import, 0)) {
        mts_import_out(import, 0, mts_import_gather_elements(import, x, axis, order));
    }
    mts_import_out(import, 1, order);
}

/* Depth and values are constants; positions outside have no element that is on. */
void mts_lower_one_hot(mts_import *import)
{
    value index = mts_import_in(import, 0);
    const mts_import_value *values = mts_import_in(import, 2);
    int64_t depth = 0;
    (void)mts_import_ints(import, mts_import_in(import, 1), "the depth", &depth, 1);
    const uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", -1), index->shape.rank + 1);
    if (!mts_import_ok(import)) {
        return;
    }
    if (!mts_import_is_const(values) || mts_shape_count(&values->shape) != 2) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "the two values must be known when the model is compiled");
        return;
    }
    mts_import_out(import, 0,
                   mts_import_one_hot(import, index, axis, depth, values->dtype,
                                      mts_host_load(values->dtype, values->data, 0),
                                      mts_host_load(values->dtype, values->data, 1)));
}

/* 1 at the first of the largest elements, 0 elsewhere; before opset 13 over all
   dimensions from the axis on. */
void mts_lower_hardmax(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const mts_shape shape = x->shape;
    const bool flattens = import->opset < 13;
    uint32_t axis = axis_of(import, x, flattens ? 1 : -1);
    if (flattens && mts_import_ok(import)) {
        mts_shape flat = {.rank = 2, .dims = {1, 1}};
        for (uint32_t i = 0; i < shape.rank; i++) {
            flat.dims[i < axis ? 0 : 1] *= shape.dims[i];
        }
        x = mts_import_emit_reshape(import, x, &flat);
        axis = 1;
    }
    value at = x ? mts_import_arg(import, x, MTS_REDUCE_ARG_MAX, axis, false) : NULL;
    value y = at ? mts_import_one_hot(import, at, axis, x->shape.dims[axis], x->dtype, 0.0, 1.0) : NULL;
    mts_import_out(import, 0, y ? mts_import_emit_reshape(import, y, &shape) : NULL);
}

/* ---- scans and samples ---- */

void mts_lower_scan(mts_import *import)
{
    value x = mts_import_in(import, 0);
    int64_t axis = 0;
    (void)mts_import_ints(import, mts_import_in(import, 1), "the axis", &axis, 1);
    const mts_attrs attrs = {
        .scan = {.kind = mts_import_is_op(import, "CumProd") ? MTS_SCAN_PROD : MTS_SCAN_SUM,
                 .axis = mts_import_axis(import, axis, x->shape.rank),
                 .exclusive = mts_attr_int(import, "exclusive", 0) != 0,
                 .reverse = mts_attr_int(import, "reverse", 0) != 0}};
    mts_import_out(import, 0, mts_import_emit(import, MTS_OP_SCAN, &attrs, &x, 1));
}

void mts_lower_grid_sample(mts_import *import)
{
    static const mts_import_kind modes[] = {{"nearest", MTS_RESIZE_NEAREST},
                                            {"bilinear", MTS_RESIZE_LINEAR},
                                            {"linear", MTS_RESIZE_LINEAR},
                                            {"bicubic", MTS_RESIZE_CUBIC},
                                            {"cubic", MTS_RESIZE_CUBIC}};
    value both[2] = {mts_import_in(import, 0), mts_import_in(import, 1)};
    const char *mode = mts_attr_string(import, "mode", "bilinear");
    const char *padding = mts_attr_string(import, "padding_mode", "zeros");
    mts_attrs attrs = {.sample = {.mode = mts_import_kind_of(mode, modes, sizeof modes / sizeof modes[0],
                                                             MTS_RESIZE_CUBIC + 1),
                                  .padding = strcmp(padding, "border") == 0       ? MTS_SAMPLE_BORDER
                                             : strcmp(padding, "reflection") == 0 ? MTS_SAMPLE_REFLECT
                                                                                  : MTS_SAMPLE_ZEROS,
                                  .align = mts_attr_int(import, "align_corners", 0) != 0}};
    if (attrs.sample.mode > MTS_RESIZE_CUBIC ||
        (attrs.sample.padding == MTS_SAMPLE_ZEROS && strcmp(padding, "zeros") != 0)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "mode '%s' with padding_mode '%s' is not supported",
                        mode, padding);
        return;
    }
    if (both[0]->shape.rank != 4) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "only images of two dimensions are sampled, not rank %u", both[0]->shape.rank);
        return;
    }
    mts_import_out(import, 0, mts_import_emit(import, MTS_OP_SAMPLE, &attrs, both, 2));
}

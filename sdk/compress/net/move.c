/*
 * move.c: operators that only move elements: concat, slice, pad, gather, transpose,
 * reshape, expand.
 *
 * Each is a few moves: rectangles of elements that lie regularly in the operand and in
 * the result. Forwards a move copies, backwards it adds the gradient of the result to
 * that of the operand. What is not regular (a reshape between two images, a mirrored
 * border) goes element by element.
 */
#include <string.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

typedef struct move {
    uint32_t operand;
    mts_shape shape; /* of the rectangle */
    ptrdiff_t to[MTS_TENSOR_RANK_MAX], from[MTS_TENSOR_RANK_MAX];
    ptrdiff_t to_first, from_first;
} move;

typedef struct mover {
    const mts_step *step;
    bool back;
    mts_view y; /* result, or its gradient */
} mover;

static mts_view operand_view(const mover *m, uint32_t operand)
{
    const uint32_t value = m->step->node->inputs[operand];
    return m->back ? mts_run_view_gradient(m->step->run, value, m->step->first)
                   : mts_run_view(m->step->run, value, m->step->first);
}

static const mts_shape *operand_shape(const mover *m, uint32_t operand)
{
    return mts_run_shape(m->step->run, m->step->node->inputs[operand]);
}

/* Whether an operand takes part: backwards only those that want a gradient do. */
static bool takes_part(const mover *m, uint32_t operand)
{
    return !m->back || mts_run_wants(m->step->run, m->step->node->inputs[operand]);
}

static void perform(const mover *m, const move *one, const mts_view *x)
{
    mts_loop loop;
    mts_loop_begin(&loop, m->step->count, &one->shape);
    mts_loop_add_strides(&loop, m->y.data + one->to_first, m->y.image, one->to);
    mts_loop_add_strides(&loop, x->data + one->from_first, x->image, one->from);
    mts_loop_run(&loop, m->back ? mts_line_give : mts_line_copy, NULL);
}

/* ---- element by element ---- */

typedef ptrdiff_t (*source_function)(const mover *m, const mts_view *x, const int64_t *at, size_t index);

static void move_elements(const mover *m, source_function source)
{
    const mts_shape *shape = mts_run_shape(m->step->run, m->step->node->output);
    const size_t count = mts_shape_count(shape);
    const mts_view x = operand_view(m, 0);
    for (size_t n = 0; n < count; n++) {
        int64_t at[MTS_TENSOR_RANK_MAX] = {0};
        size_t rest = n;
        ptrdiff_t to = 0;
        for (uint32_t i = shape->rank; i-- > 0;) {
            at[i] = (int64_t)(rest % (size_t)shape->dims[i]);
            rest /= (size_t)shape->dims[i];
            to += (ptrdiff_t)at[i] * m->y.strides[i];
        }
        const ptrdiff_t from = source(m, &x, at, n);
        for (uint32_t i = 0; i < m->step->count; i++) {
            float *y = m->y.data + (ptrdiff_t)i * m->y.image + to;
            float *v = x.data + (ptrdiff_t)i * x.image + from;
            *(m->back ? v : y) = m->back ? *v + *y : *v;
        }
    }
}

/* ---- reshape ---- */

/* Whether the elements lie in the order of the graph. */
static bool lies_plain(const mts_shape *shape)
{
    return shape->rank != 4 || shape->dims[1] == 1 || shape->dims[2] * shape->dims[3] == 1;
}

static ptrdiff_t reshape_source(const mover *m, const mts_view *x, const int64_t *at, size_t index)
{
    const mts_shape *shape = operand_shape(m, 0);
    ptrdiff_t from = 0;
    (void)at;
    for (uint32_t i = shape->rank; i-- > 0;) {
        from += (ptrdiff_t)(index % (size_t)shape->dims[i]) * x->strides[i];
        index /= (size_t)shape->dims[i];
    }
    return from;
}

static void reshape(const mover *m)
{
    const mts_shape *in = operand_shape(m, 0), *out = mts_run_shape(m->step->run, m->step->node->output);
    const mts_view x = operand_view(m, 0);
    move one = {.operand = 0};
    if (lies_plain(out) || mts_shape_equal(in, out)) {
        one.shape = *in;
        memcpy(one.from, x.strides, sizeof one.from);
        mts_view_strides(in, !mts_shape_equal(in, out), one.to);
    } else if (lies_plain(in)) {
        one.shape = *out;
        memcpy(one.to, m->y.strides, sizeof one.to);
        mts_view_strides(out, true, one.from);
    } else {
        move_elements(m, reshape_source);
        return;
    }
    perform(m, &one, &x);
}

/* ---- transpose, expand, slice ---- */

static void transpose(const mover *m)
{
    const mts_view x = operand_view(m, 0);
    move one = {.shape = *mts_run_shape(m->step->run, m->step->node->output)};
    memcpy(one.to, m->y.strides, sizeof one.to);
    for (uint32_t i = 0; i < one.shape.rank; i++) {
        one.from[i] = x.strides[m->step->node->attrs.transpose.perm[i]];
    }
    perform(m, &one, &x);
}

static void expand(const mover *m)
{
    const mts_view x = operand_view(m, 0);
    const mts_shape *in = operand_shape(m, 0);
    move one = {.shape = *mts_run_shape(m->step->run, m->step->node->output)};
    const uint32_t skip = one.shape.rank - in->rank;
    memcpy(one.to, m->y.strides, sizeof one.to);
    for (uint32_t i = skip; i < one.shape.rank; i++) {
        one.from[i] = in->dims[i - skip] == 1 ? 0 : x.strides[i - skip];
    }
    perform(m, &one, &x);
}

static void slice(const mover *m)
{
    const mts_attrs_slice *attrs = &m->step->node->attrs.slice;
    const mts_view x = operand_view(m, 0);
    move one = {.shape = *mts_run_shape(m->step->run, m->step->node->output)};
    memcpy(one.to, m->y.strides, sizeof one.to);
    for (uint32_t i = 0; i < one.shape.rank; i++) {
        one.from[i] = x.strides[i] * (ptrdiff_t)attrs->step[i];
        one.from_first += x.strides[i] * (ptrdiff_t)attrs->start[i];
    }
    perform(m, &one, &x);
}

/* ---- concat ---- */

static void concat(const mover *m)
{
    const uint32_t axis = m->step->node->attrs.concat.axis;
    ptrdiff_t at = 0;
    for (uint32_t i = 0; i < m->step->node->input_count; i++) {
        const mts_shape *in = operand_shape(m, i);
        if (takes_part(m, i)) {
            const mts_view x = operand_view(m, i);
            move one = {.operand = i, .shape = *in, .to_first = at * m->y.strides[axis]};
            memcpy(one.to, m->y.strides, sizeof one.to);
            memcpy(one.from, x.strides, sizeof one.from);
            perform(m, &one, &x);
        }
        at += (ptrdiff_t)in->dims[axis];
    }
}

/* ---- pad ---- */

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void pad_constant(const mover *m)
{
    const mts_attrs_pad *attrs = &m->step->node->attrs.pad;
    const mts_shape *in = operand_shape(m, 0), *out = mts_run_shape(m->step->run, m->step->node->output);
    const mts_view x = operand_view(m, 0);
    const size_t count = mts_shape_count(out) * m->step->count;
    for (size_t i = 0; i < count && !m->back; i++) {
        m->y.data[i] = attrs->value;
    }
    move one = {.shape = *in};
    memcpy(one.to, m->y.strides, sizeof one.to);
    memcpy(one.from, x.strides, sizeof one.from);
    for (uint32_t i = 0; i < in->rank; i++) {
        const int64_t from = most(0, -attrs->before[i]), to = most(0, attrs->before[i]);
        one.shape.dims[i] = least(in->dims[i] - from, out->dims[i] - to);
        one.from_first += (ptrdiff_t)from * x.strides[i];
        one.to_first += (ptrdiff_t)to * m->y.strides[i];
        if (one.shape.dims[i] <= 0) {
            return;
        }
    }
    perform(m, &one, &x);
}

static ptrdiff_t pad_source(const mover *m, const mts_view *x, const int64_t *at, size_t index)
{
    const mts_attrs_pad *attrs = &m->step->node->attrs.pad;
    const mts_shape *in = operand_shape(m, 0);
    ptrdiff_t from = 0;
    (void)index;
    for (uint32_t i = 0; i < in->rank; i++) {
        const int64_t last = in->dims[i] - 1;
        int64_t c = at[i] - attrs->before[i];
        while (attrs->mode == MTS_PAD_REFLECT && last > 0 && (c < 0 || c > last)) {
            c = c < 0 ? -c : 2 * last - c;
        }
        from += (ptrdiff_t)least(most(c, 0), last) * x->strides[i];
    }
    return from;
}

/* ---- gather ---- */

static void gather(const mover *m)
{
    const uint32_t axis = m->step->node->attrs.gather.axis;
    const mts_value *index = &m->step->run->net->graph->values[m->step->node->inputs[1]];
    const int32_t *numbers = index->blocks[0].data;
    const size_t count = mts_shape_count(&index->shape);
    const mts_view x = operand_view(m, 0);
    move one = {.shape = *operand_shape(m, 0)};
    one.shape.dims[axis] = 1;
    memcpy(one.from, x.strides, sizeof one.from);
    for (uint32_t i = 0; i < one.shape.rank; i++) {
        one.to[i] = i < axis ? m->y.strides[i] : i > axis ? m->y.strides[i + index->shape.rank - 1] : 0;
    }
    for (size_t n = 0; n < count; n++) {
        size_t rest = n;
        one.to_first = 0;
        for (uint32_t i = index->shape.rank; i-- > 0;) {
            one.to_first += (ptrdiff_t)(rest % (size_t)index->shape.dims[i]) * m->y.strides[axis + i];
            rest /= (size_t)index->shape.dims[i];
        }
        one.from_first = (ptrdiff_t)numbers[n] * x.strides[axis];
        perform(m, &one, &x);
    }
}

static void move_all(const mover *m)
{
    switch (m->step->node->op) {
    case MTS_OP_CONCAT:
        concat(m);
        break;
    case MTS_OP_SLICE:
        slice(m);
        break;
    case MTS_OP_TRANSPOSE:
        transpose(m);
        break;
    case MTS_OP_EXPAND:
        expand(m);
        break;
    case MTS_OP_GATHER:
        gather(m);
        break;
    case MTS_OP_PAD:
        if (m->step->node->attrs.pad.mode == MTS_PAD_CONSTANT) {
            pad_constant(m);
        } else {
            move_elements(m, pad_source);
        }
        break;
    default:
        reshape(m);
    }
}

mts_status mts_forward_move(const mts_step *step)
{
    const mover m = {.step = step, .y = mts_run_view(step->run, step->node->output, step->first)};
    move_all(&m);
    return MTS_STATUS_OK;
}

mts_status mts_backward_move(const mts_step *step)
{
    bool any = false;
    for (uint32_t i = 0; i < step->node->input_count; i++) {
        any = mts_run_open_gradient(step->run, step->node->inputs[i], step->count) || any;
    }
    if (any) {
        const mover m = {
            .step = step, .back = true, .y = mts_run_view_gradient(step->run, step->node->output, 0)};
        move_all(&m);
    }
    return MTS_STATUS_OK;
}

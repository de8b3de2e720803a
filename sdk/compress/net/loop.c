/*
 * loop.c: ordering, joining and running of nested loops. Not responsible for what a line
 * does.
 */
#include "compress/net/loop.h"

#include <string.h>

void mts_view_strides(const mts_shape *shape, bool constant, ptrdiff_t strides[MTS_TENSOR_RANK_MAX])
{
    ptrdiff_t step = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        strides[i] = step;
        step *= (ptrdiff_t)shape->dims[i];
    }
    if (shape->rank == 4 && !constant) {
        strides[1] = 1;
        strides[3] = (ptrdiff_t)shape->dims[1];
        strides[2] = strides[3] * (ptrdiff_t)shape->dims[3];
    }
}

void mts_loop_begin(mts_loop *loop, size_t images, const mts_shape *shape)
{
    loop->rank = shape->rank + 1;
    loop->operands = 0;
    loop->dims[0] = images;
    for (uint32_t i = 0; i < shape->rank; i++) {
        loop->dims[i + 1] = (size_t)shape->dims[i];
    }
}

void mts_loop_add(mts_loop *loop, const mts_view *view, const mts_shape *shape)
{
    ptrdiff_t *strides = loop->strides[loop->operands];
    const uint32_t skip = loop->rank - 1 - shape->rank;
    strides[0] = view->image;
    for (uint32_t i = 1; i < loop->rank; i++) {
        const bool broadcast = i - 1 < skip || shape->dims[i - 1 - skip] == 1;
        strides[i] = broadcast ? 0 : view->strides[i - 1 - skip];
    }
    loop->data[loop->operands++] = view->data;
}

void mts_loop_add_strides(mts_loop *loop, float *data, ptrdiff_t image, const ptrdiff_t *strides)
{
    loop->strides[loop->operands][0] = image;
    memcpy(loop->strides[loop->operands] + 1, strides, (loop->rank - 1) * sizeof *strides);
    loop->data[loop->operands++] = data;
}

static ptrdiff_t magnitude(ptrdiff_t step)
{
    return step < 0 ? -step : step;
}

static void move_dim(mts_loop *loop, uint32_t to, uint32_t from)
{
    loop->dims[to] = loop->dims[from];
    for (uint32_t k = 0; k < loop->operands; k++) {
        loop->strides[k][to] = loop->strides[k][from];
    }
}

static void swap_dims(mts_loop *loop, uint32_t a, uint32_t b)
{
    const size_t dim = loop->dims[a];
    loop->dims[a] = loop->dims[b];
    loop->dims[b] = dim;
    for (uint32_t k = 0; k < loop->operands; k++) {
        const ptrdiff_t step = loop->strides[k][a];
        loop->strides[k][a] = loop->strides[k][b];
        loop->strides[k][b] = step;
    }
}

/* Drops dimensions of 1 and sorts the others by how far operand 0 moves, farthest
   first. */
static void order_dims(mts_loop *loop)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < loop->rank; i++) {
        if (loop->dims[i] != 1) {
            move_dim(loop, rank++, i);
        }
    }
    loop->rank = rank;
    for (uint32_t i = 1; i < rank; i++) {
        for (uint32_t j = i; j > 0 && magnitude(loop->strides[0][j - 1]) < magnitude(loop->strides[0][j]);
             j--) {
            swap_dims(loop, j - 1, j);
        }
    }
}

static bool joinable(const mts_loop *loop, uint32_t outer, uint32_t inner)
{
    for (uint32_t k = 0; k < loop->operands; k++) {
        if (loop->strides[k][outer] != loop->strides[k][inner] * (ptrdiff_t)loop->dims[inner]) {
            return false;
        }
    }
    return true;
}

static void join_dims(mts_loop *loop)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < loop->rank; i++) {
        if (joinable(loop, last, i)) {
            const size_t dim = loop->dims[last] * loop->dims[i];
            move_dim(loop, last, i);
            loop->dims[last] = dim;
        } else {
            move_dim(loop, ++last, i);
        }
    }
    loop->rank = loop->rank ? last + 1 : 0;
}

void mts_loop_run(mts_loop *loop, mts_loop_line line, const void *context)
{
    size_t at[MTS_LOOP_RANK] = {0};
    ptrdiff_t step[MTS_LOOP_OPERANDS] = {0};
    float *data[MTS_LOOP_OPERANDS] = {NULL};
    order_dims(loop);
    join_dims(loop);
    const uint32_t outer = loop->rank ? loop->rank - 1 : 0;
    const size_t count = loop->rank ? loop->dims[outer] : 1;
    size_t lines = 1;
    for (uint32_t i = 0; i < outer; i++) {
        lines *= loop->dims[i];
    }
    for (uint32_t k = 0; k < loop->operands; k++) {
        step[k] = loop->rank ? loop->strides[k][outer] : 0;
        data[k] = loop->data[k];
    }
    for (size_t n = 0; n < lines; n++) {
        line(context, data, step, count);
        for (uint32_t i = outer; i-- > 0;) {
            const bool wraps = ++at[i] == loop->dims[i];
            const ptrdiff_t moves = wraps ? 1 - (ptrdiff_t)loop->dims[i] : 1;
            for (uint32_t k = 0; k < loop->operands; k++) {
                data[k] += moves * loop->strides[k][i];
            }
            if (!wraps) {
                break;
            }
            at[i] = 0;
        }
    }
}

void mts_line_copy(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    (void)context;
    if (step[0] == 1 && step[1] == 1) {
        memcpy(at[0], at[1], count * sizeof(float));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        at[0][(ptrdiff_t)i * step[0]] = at[1][(ptrdiff_t)i * step[1]];
    }
}

static void add_dense(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

void mts_line_add(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    (void)context;
    if (step[0] == 1 && step[1] == 1) {
        add_dense(at[0], at[1], count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        at[0][(ptrdiff_t)i * step[0]] += at[1][(ptrdiff_t)i * step[1]];
    }
}

void mts_line_give(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    float *const turned[2] = {at[1], at[0]};
    const ptrdiff_t steps[2] = {step[1], step[0]};
    mts_line_add(context, turned, steps, count);
}

/*
 * attention.c: attention of heads, forwards and backwards, one head of one image at a time on
 * oneDNN's products; and what is taken from a table.
 *
 * Images of tokens lie with their channels side by side, so a head is a run of each token's
 * channels. Backwards, probabilities are computed again: a run keeps values, no scores.
 */
#include <math.h>
#include <string.h>

#include "compress/net/inside.h"

typedef struct heads {
    const mts_step *step;
    size_t images, heads, queries, keys;
    size_t depth, width; /* channels of a head: of q and k, and of v */
    mts_view of[5];      /* q, k, v, mask, result */
    ptrdiff_t mask[4];   /* strides of the mask over [images, heads, queries, keys]; 0: broadcast */
    bool masked;
} heads;

static mts_view operand(const mts_step *step, uint32_t index)
{
    return mts_run_view(step->run, step->node->inputs[index], step->first);
}

static void lay_mask(heads *h, const mts_shape *shape)
{
    const uint32_t skip = 4 - shape->rank;
    for (uint32_t i = 0; i < 4; i++) {
        h->mask[i] = i < skip || shape->dims[i - skip] == 1 ? 0 : h->of[3].strides[i - skip];
    }
}

static heads heads_of(const mts_step *step)
{
    const mts_shape *q = mts_run_shape(step->run, step->node->inputs[0]);
    const mts_shape *v = mts_run_shape(step->run, step->node->inputs[2]);
    heads h = {.step = step,
               .images = (size_t)q->dims[0],
               .heads = step->node->attrs.attention.heads,
               .queries = (size_t)q->dims[3],
               .keys = (size_t)v->dims[3]};
    h.depth = (size_t)q->dims[1] / h.heads;
    h.width = (size_t)v->dims[1] / h.heads;
    h.masked = mts_node_input(step->node, 3) != MTS_NONE;
    for (uint32_t i = 0; i < 3; i++) {
        h.of[i] = operand(step, i);
    }
    h.of[4] = mts_run_view(step->run, step->node->output, step->first);
    if (h.masked) {
        h.of[3] = operand(step, 3);
        lay_mask(&h, mts_run_shape(step->run, step->node->inputs[3]));
    }
    return h;
}

static size_t depth_of(const heads *h, uint32_t index)
{
    return index < 2 ? h->depth : h->width;
}

static size_t tokens_of(const heads *h, uint32_t index)
{
    return index == 0 || index == 4 ? h->queries : h->keys;
}

/* Where head n (over images of the run, images of the graph, and heads) of an operand begins. */
static float *head_at(const heads *h, const mts_view *view, uint32_t index, size_t n)
{
    const size_t head = n % h->heads, image = n / h->heads % h->images, outer = n / h->heads / h->images;
    return view->data + (ptrdiff_t)outer * view->image + (ptrdiff_t)image * view->strides[0] +
           (ptrdiff_t)(head * depth_of(h, index)) * view->strides[1];
}

static void take(const heads *h, const mts_view *view, uint32_t index, size_t n, float *to)
{
    const float *from = head_at(h, view, index, n);
    const size_t depth = depth_of(h, index);
    for (size_t i = 0; i < tokens_of(h, index) * depth; i++) {
        to[i] = from[(ptrdiff_t)(i / depth) * view->strides[3] + (ptrdiff_t)(i % depth) * view->strides[1]];
    }
}

static void give(const heads *h, const mts_view *view, uint32_t index, size_t n, const float *from, bool adds)
{
    float *to = head_at(h, view, index, n);
    const size_t depth = depth_of(h, index);
    for (size_t i = 0; i < tokens_of(h, index) * depth; i++) {
        float *at =
            to + (ptrdiff_t)(i / depth) * view->strides[3] + (ptrdiff_t)(i % depth) * view->strides[1];
        *at = adds ? *at + from[i] : from[i];
    }
}

static float *mask_row(const heads *h, const mts_view *view, size_t n, size_t query)
{
    const size_t head = n % h->heads, image = n / h->heads % h->images, outer = n / h->heads / h->images;
    return view->data + (ptrdiff_t)outer * view->image + (ptrdiff_t)image * h->mask[0] +
           (ptrdiff_t)head * h->mask[1] + (ptrdiff_t)query * h->mask[2];
}

static void softmax_row(const heads *h, size_t n, size_t query, float *row)
{
    const float *mask = h->masked ? mask_row(h, &h->of[3], n, query) : NULL;
    float most = -INFINITY, sum = 0.0f;
    for (size_t k = 0; k < h->keys; k++) {
        row[k] += mask ? mask[(ptrdiff_t)k * h->mask[3]] : 0.0f;
        most = row[k] > most ? row[k] : most;
    }
    for (size_t k = 0; k < h->keys; k++) {
        row[k] = isfinite(most) ? expf(row[k] - most) : 1.0f; /* nothing is unmasked: all keys are alike */
        sum += row[k];
    }
    for (size_t k = 0; k < h->keys; k++) {
        row[k] /= sum;
    }
}

/* p [queries][keys] of head n, from q and k of the head. */
static mts_status probabilities(const heads *h, size_t n, const float *q, const float *k, float *p)
{
    const mts_status status =
        mts_cpu_gemm(false, true, h->queries, h->keys, h->depth, h->step->node->attrs.attention.scale, q, k,
                     0.0f, p, h->step->error);
    for (size_t i = 0; status == MTS_STATUS_OK && i < h->queries; i++) {
        softmax_row(h, n, i, p + i * h->keys);
    }
    return status;
}

static size_t room_of(const heads *h)
{
    return h->queries * h->depth + h->keys * h->depth + h->keys * h->width + h->queries * h->keys +
           h->queries * h->width;
}

mts_status mts_forward_attention(const mts_step *step)
{
    const heads h = heads_of(step);
    float *q = mts_run_scratch(step->run, room_of(&h), step->error);
    if (!q) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    float *k = q + h.queries * h.depth, *v = k + h.keys * h.depth, *p = v + h.keys * h.width;
    float *y = p + h.queries * h.keys;
    mts_status status = MTS_STATUS_OK;
    for (size_t n = 0; status == MTS_STATUS_OK && n < step->count * h.images * h.heads; n++) {
        take(&h, &h.of[0], 0, n, q);
        take(&h, &h.of[1], 1, n, k);
        take(&h, &h.of[2], 2, n, v);
        status = probabilities(&h, n, q, k, p);
        MTS_TRY(status,
                mts_cpu_gemm(false, false, h.queries, h.width, h.keys, 1.0f, p, v, 0.0f, y, step->error));
        give(&h, &h.of[4], 4, n, y, false);
    }
    return status;
}

/* ---- backward ---- */

/* The gradients that are wanted, as views; data NULL: not wanted. */
static void open_gradients(const heads *h, mts_view to[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t value = mts_node_input(h->step->node, i);
        to[i] = (mts_view){.data = NULL};
        if (value != MTS_NONE && mts_run_open_gradient(h->step->run, value, h->step->count)) {
            to[i] = mts_run_view_gradient(h->step->run, value, 0);
        }
    }
}

/* The gradient of the scores, in place of that of the probabilities. */
static void derive_scores(const heads *h, size_t n, const float *p, float *d, const mts_view *mask)
{
    for (size_t i = 0; i < h->queries; i++) {
        float *row = d + i * h->keys, sum = 0.0f;
        for (size_t k = 0; k < h->keys; k++) {
            sum += row[k] * p[i * h->keys + k];
        }
        float *to = mask->data ? mask_row(h, mask, n, i) : NULL;
        for (size_t k = 0; k < h->keys; k++) {
            row[k] = p[i * h->keys + k] * (row[k] - sum);
            if (to) {
                to[(ptrdiff_t)k * h->mask[3]] += row[k];
            }
        }
    }
}

typedef struct head_room {
    float *q, *k, *v, *p, *y, *d, *out;
} head_room;

static mts_status go_back(const heads *h, size_t n, const head_room *r, const mts_view *dy,
                          const mts_view to[4])
{
    const float scale = h->step->node->attrs.attention.scale;
    mts_error *error = h->step->error;
    take(h, &h->of[0], 0, n, r->q);
    take(h, &h->of[1], 1, n, r->k);
    take(h, &h->of[2], 2, n, r->v);
    take(h, dy, 4, n, r->y);
    mts_status status = probabilities(h, n, r->q, r->k, r->p);
    if (status == MTS_STATUS_OK && to[2].data) {
        status =
            mts_cpu_gemm(true, false, h->keys, h->width, h->queries, 1.0f, r->p, r->y, 0.0f, r->out, error);
        give(h, &to[2], 2, n, r->out, true);
    }
    MTS_TRY(status,
            mts_cpu_gemm(false, true, h->queries, h->keys, h->width, 1.0f, r->y, r->v, 0.0f, r->d, error));
    if (status == MTS_STATUS_OK) {
        derive_scores(h, n, r->p, r->d, &to[3]);
    }
    if (status == MTS_STATUS_OK && to[0].data) {
        status =
            mts_cpu_gemm(false, false, h->queries, h->depth, h->keys, scale, r->d, r->k, 0.0f, r->out, error);
        give(h, &to[0], 0, n, r->out, true);
    }
    if (status == MTS_STATUS_OK && to[1].data) {
        status =
            mts_cpu_gemm(true, false, h->keys, h->depth, h->queries, scale, r->d, r->q, 0.0f, r->out, error);
        give(h, &to[1], 1, n, r->out, true);
    }
    return status;
}

mts_status mts_backward_attention(const mts_step *step)
{
    const heads h = heads_of(step);
    const size_t tokens = h.queries > h.keys ? h.queries : h.keys;
    const size_t channels = h.depth > h.width ? h.depth : h.width;
    head_room r = {
        .q = mts_run_scratch(step->run, room_of(&h) + h.queries * h.keys + tokens * channels, step->error)};
    mts_view to[4];
    if (!r.q) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    r.k = r.q + h.queries * h.depth;
    r.v = r.k + h.keys * h.depth;
    r.p = r.v + h.keys * h.width;
    r.y = r.p + h.queries * h.keys;
    r.d = r.y + h.queries * h.width;
    r.out = r.d + h.queries * h.keys;
    open_gradients(&h, to);
    const mts_view dy = mts_run_view_gradient(step->run, step->node->output, 0);
    mts_status status = MTS_STATUS_OK;
    for (size_t n = 0; status == MTS_STATUS_OK && n < step->count * h.images * h.heads; n++) {
        status = go_back(&h, n, &r, &dy, to);
    }
    return status;
}

/* ---- take ---- */

typedef void (*take_element)(float *x, float *y);

static void element_read(float *x, float *y)
{
    *y = *x;
}

static void element_give(float *x, float *y)
{
    *x += *y;
}

/* Pairs each element of the result with the one that it is taken from. */
static void take_all(const mts_step *step, const mts_view *x, const mts_view *y, take_element apply)
{
    const mts_shape *from = mts_run_shape(step->run, step->node->inputs[0]);
    const mts_shape *at = mts_run_shape(step->run, step->node->inputs[1]);
    const mts_shape *out = mts_run_shape(step->run, step->node->output);
    const mts_view index = mts_run_view(step->run, step->node->inputs[1], step->first);
    const int64_t rows = out->dims[1], columns = out->dims[2], depth = from->dims[1];
    for (int64_t i = 0; i < (int64_t)step->count * out->dims[0] * rows * columns; i++) {
        const int64_t column = i % columns, row = i / columns % rows, b = i / columns / rows % out->dims[0];
        const ptrdiff_t image = (ptrdiff_t)(i / columns / rows / out->dims[0]);
        const float number = index.data[image * index.image + (at->dims[0] == 1 ? 0 : b) * index.strides[0] +
                                        row * index.strides[1] + (at->dims[2] == 1 ? 0 : column)];
        int64_t d = number >= (float)depth ? depth - 1 : number > -(float)depth ? (int64_t)number : -depth;
        d = d < 0 ? d + depth : d;
        apply(x->data + image * x->image + b * x->strides[0] + d * x->strides[1] + column,
              y->data + image * y->image + b * y->strides[0] + row * y->strides[1] + column);
    }
}

mts_status mts_forward_take(const mts_step *step)
{
    const mts_view x = operand(step, 0), y = mts_run_view(step->run, step->node->output, step->first);
    take_all(step, &x, &y, element_read);
    return MTS_STATUS_OK;
}

/* Numbers of elements have no gradient. */
mts_status mts_backward_take(const mts_step *step)
{
    mts_view x, y;
    if (mts_step_gradients(step, &x, &y)) {
        take_all(step, &x, &y, element_give);
    }
    return MTS_STATUS_OK;
}

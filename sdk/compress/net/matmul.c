/*
 * matmul.c: matrix products, forwards and backwards, one matrix at a time on oneDNN's.
 *
 * Operands may lie in any order and be broadcast, so each matrix is gathered into working
 * memory first; where all rows of a batch meet one constant matrix they are one product.
 */
#include <string.h>

#include "compress/net/inside.h"

/* A matrix operand: where it lies, and its two last dimensions. */
typedef struct matrix {
    float *data;     /* of image 0, batch 0 */
    ptrdiff_t image; /* floats to the next image, 0: the same for all */
    ptrdiff_t row, column;
    ptrdiff_t batch[MTS_TENSOR_RANK_MAX]; /* strides for the output's batch dimensions */
    size_t rows, columns;
} matrix;

typedef struct product {
    const mts_step *step;
    const mts_shape *out;
    uint32_t batch_rank;
    size_t m, n, k, batches; /* of an image */
    matrix a, b, c, y;
    bool adds; /* a third operand counts */
} product;

static bool is_constant(const mts_step *step, uint32_t index)
{
    return step->run->net->graph->values[step->node->inputs[index]].kind == MTS_VALUE_CONST;
}

static mts_view operand_view(const mts_step *step, uint32_t index)
{
    const mts_graph *graph = step->run->net->graph;
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    mts_view view = mts_run_view(step->run, step->node->inputs[index], step->first);
    if (index == mts_net_matmul_weight(graph, step->node)) {
        view.data = layer->weight;
    } else if (index == mts_net_matmul_bias(graph, step->node)) {
        view.data = layer->bias;
    }
    return view;
}

/* Lays an operand over the output's dimensions; the last two may be broadcast too
   (operand c). */
static matrix lay(const product *p, const mts_view *view, const mts_shape *shape)
{
    matrix made = {.data = view->data, .image = view->image, .rows = 1, .columns = 1};
    const uint32_t skip = p->batch_rank + 2 - shape->rank;
    for (uint32_t i = skip; i < p->batch_rank + 2; i++) {
        const size_t dim = (size_t)shape->dims[i - skip];
        const ptrdiff_t step = dim == 1 ? 0 : view->strides[i - skip];
        if (i < p->batch_rank) {
            made.batch[i] = step;
        } else if (i == p->batch_rank) {
            made.row = step;
            made.rows = dim;
        } else {
            made.column = step;
            made.columns = dim;
        }
    }
    return made;
}

static product product_of(const mts_step *step)
{
    const mts_attrs_matmul *attrs = &step->node->attrs.matmul;
    const mts_shape *out = mts_run_shape(step->run, step->node->output);
    const mts_shape *a = mts_run_shape(step->run, step->node->inputs[0]);
    product p = {.step = step, .out = out, .batch_rank = out->rank - 2, .batches = 1};
    p.m = (size_t)out->dims[p.batch_rank];
    p.n = (size_t)out->dims[p.batch_rank + 1];
    p.k = (size_t)a->dims[a->rank - 1];
    for (uint32_t i = 0; i < p.batch_rank; i++) {
        p.batches *= (size_t)out->dims[i];
    }
    p.adds = mts_node_input(step->node, 2) != MTS_NONE && attrs->beta != 0.0f;
    const mts_view views[2] = {operand_view(step, 0), operand_view(step, 1)};
    const mts_view y = mts_run_view(step->run, step->node->output, step->first);
    p.a = lay(&p, &views[0], a);
    p.b = lay(&p, &views[1], mts_run_shape(step->run, step->node->inputs[1]));
    p.y = lay(&p, &y, out);
    if (p.adds) {
        const mts_view c = operand_view(step, 2);
        p.c = lay(&p, &c, mts_run_shape(step->run, step->node->inputs[2]));
    }
    return p;
}

/* Where a matrix of an image begins. */
static float *matrix_at(const product *p, const matrix *x, size_t image, size_t batch)
{
    ptrdiff_t at = (ptrdiff_t)image * x->image;
    for (uint32_t i = p->batch_rank; i-- > 0;) {
        at += (ptrdiff_t)(batch % (size_t)p->out->dims[i]) * x->batch[i];
        batch /= (size_t)p->out->dims[i];
    }
    return x->data + at;
}

static void take(const matrix *x, const float *from, size_t rows, size_t columns, float *to)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            to[i * columns + j] = from[(ptrdiff_t)i * x->row + (ptrdiff_t)j * x->column];
        }
    }
}

static void put(const matrix *x, const float *from, size_t rows, size_t columns, float *to)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            to[(ptrdiff_t)i * x->row + (ptrdiff_t)j * x->column] = from[i * columns + j];
        }
    }
}

static void give(const matrix *x, float factor, const float *from, size_t rows, size_t columns, float *to)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            to[(ptrdiff_t)i * x->row + (ptrdiff_t)j * x->column] += factor * from[i * columns + j];
        }
    }
}

/* Whether the rows of all images and batches lie one after another and meet one
   matrix. */
static bool one_product(const product *p)
{
    const mts_shape *a = mts_run_shape(p->step->run, p->step->node->inputs[0]);
    return is_constant(p->step, 1) && !is_constant(p->step, 0) && p->out->rank != 4 &&
           a->rank == p->out->rank && mts_run_shape(p->step->run, p->step->node->inputs[1])->rank == 2;
}

static void start_rows(const product *p, float beta, float *y)
{
    for (size_t n = 0; n < p->step->count * p->batches; n++) {
        const float *c = matrix_at(p, &p->c, n / p->batches, n % p->batches);
        take(&p->c, c, p->m, p->n, y + n * p->m * p->n);
        for (size_t i = 0; i < p->m * p->n; i++) {
            y[n * p->m * p->n + i] *= beta;
        }
    }
}

mts_status mts_forward_matmul(const mts_step *step)
{
    const product p = product_of(step);
    const mts_attrs_matmul *attrs = &step->node->attrs.matmul;
    mts_status status = MTS_STATUS_OK;
    if (one_product(&p)) {
        if (p.adds) {
            start_rows(&p, attrs->beta, p.y.data);
        }
        return mts_cpu_gemm(false, false, p.m * p.batches * step->count, p.n, p.k, attrs->alpha, p.a.data,
                            p.b.data, p.adds ? 1.0f : 0.0f, p.y.data, step->error);
    }
    float *room = mts_run_scratch(step->run, p.m * p.k + p.k * p.n + p.m * p.n, step->error);
    if (!room) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    float *a = room, *b = a + p.m * p.k, *y = b + p.k * p.n;
    for (size_t n = 0; n < step->count * p.batches && status == MTS_STATUS_OK; n++) {
        const size_t image = n / p.batches, batch = n % p.batches;
        take(&p.a, matrix_at(&p, &p.a, image, batch), p.m, p.k, a);
        take(&p.b, matrix_at(&p, &p.b, image, batch), p.k, p.n, b);
        if (p.adds) {
            take(&p.c, matrix_at(&p, &p.c, image, batch), p.m, p.n, y);
        }
        status = mts_cpu_gemm(false, false, p.m, p.n, p.k, attrs->alpha, a, b, p.adds ? attrs->beta : 0.0f, y,
                              step->error);
        put(&p.y, y, p.m, p.n, matrix_at(&p, &p.y, image, batch));
    }
    return status;
}

/* ---- backward ---- */

/* Where the gradient of an operand goes: that of a value, or of a parameter; false:
   nowhere. */
static bool gradient_of(const mts_step *step, uint32_t index, const matrix *like, matrix *out)
{
    const mts_graph *graph = step->run->net->graph;
    const mts_net_layer *layer = &step->run->layer_gradients[step->index];
    const uint32_t value = mts_node_input(step->node, index);
    *out = *like;
    if (index == mts_net_matmul_weight(graph, step->node)) {
        out->data = layer->weight;
        return true;
    }
    if (index == mts_net_matmul_bias(graph, step->node)) {
        out->data = layer->bias;
        return true;
    }
    out->data = mts_run_open_gradient(step->run, value, step->count);
    return out->data;
}

typedef struct targets {
    matrix a, b, c, d;
    bool has_a, has_b, has_c;
    float *room_a, *room_b, *room_d, *room_out;
} targets;

/* d = gradient of the result: a += alpha d bT, b += alpha aT d, c += beta d. */
static mts_status go_back(const product *p, const targets *t, size_t image, size_t batch)
{
    const mts_attrs_matmul *attrs = &p->step->node->attrs.matmul;
    mts_status status = MTS_STATUS_OK;
    take(&t->d, matrix_at(p, &t->d, image, batch), p->m, p->n, t->room_d);
    if (t->has_a) {
        take(&p->b, matrix_at(p, &p->b, image, batch), p->k, p->n, t->room_b);
        status = mts_cpu_gemm(false, true, p->m, p->k, p->n, attrs->alpha, t->room_d, t->room_b, 0.0f,
                              t->room_out, p->step->error);
        give(&t->a, 1.0f, t->room_out, p->m, p->k, matrix_at(p, &t->a, image, batch));
    }
    if (t->has_b && status == MTS_STATUS_OK) {
        take(&p->a, matrix_at(p, &p->a, image, batch), p->m, p->k, t->room_a);
        status = mts_cpu_gemm(true, false, p->k, p->n, p->m, attrs->alpha, t->room_a, t->room_d, 0.0f,
                              t->room_out, p->step->error);
        give(&t->b, 1.0f, t->room_out, p->k, p->n, matrix_at(p, &t->b, image, batch));
    }
    if (t->has_c) {
        give(&t->c, attrs->beta, t->room_d, p->m, p->n, matrix_at(p, &t->c, image, batch));
    }
    return status;
}

mts_status mts_backward_matmul(const mts_step *step)
{
    const product p = product_of(step);
    const size_t most = p.m * p.k > p.k * p.n ? p.m * p.k : p.k * p.n;
    targets t = {.d = p.y};
    float *room = mts_run_scratch(step->run, p.m * p.k + p.k * p.n + p.m * p.n + most, step->error);
    if (!room) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    t.room_a = room;
    t.room_b = t.room_a + p.m * p.k;
    t.room_d = t.room_b + p.k * p.n;
    t.room_out = t.room_d + p.m * p.n;
    t.d.data = mts_run_view_gradient(step->run, step->node->output, 0).data;
    t.has_a = gradient_of(step, 0, &p.a, &t.a);
    t.has_b = gradient_of(step, 1, &p.b, &t.b);
    t.has_c = p.adds && gradient_of(step, 2, &p.c, &t.c);
    mts_status status = MTS_STATUS_OK;
    for (size_t n = 0; n < step->count * p.batches && status == MTS_STATUS_OK; n++) {
        status = go_back(&p, &t, n / p.batches, n % p.batches);
    }
    return status;
}

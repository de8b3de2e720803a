/*
 * gram.c: receptive fields gathered into rows, rows multiplied, products added up.
 *
 * Products of a chunk of rows are added in float32 to sums that go to float64 every few
 * thousand rows, which costs little time and keeps six digits. Only one triangle of xx is
 * computed until mts_gram_finish.
 */
#include "compress/solve/gram.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "compress/solve/product.h"

#define CHUNK_FLOATS ((size_t)1 << 19) /* of gathered rows: a processor's second cache */
#define CHUNK_LEAST 256u
#define CHUNK_MOST 4096u
#define PANEL 128u         /* columns of xx that are computed at once */
#define PENDING_MOST 8192u /* rows whose products are added in float32 */

/* Parts of mts_gram.scratch. */
typedef struct scratch {
    float *xx, *xy, *sums; /* sums of products; of a chunk's columns */
    float *x, *y;          /* gathered rows */
} scratch;

/* What is being added. */
typedef struct work {
    mts_gram *gram;
    scratch s;
    uint32_t chunk;   /* rows that fit */
    uint32_t filled;  /* gathered rows */
    uint32_t pending; /* rows in s.xx and s.xy */
} work;

static uint32_t chunk_rows(uint32_t inputs)
{
    const size_t rows = CHUNK_FLOATS / (inputs ? inputs : 1);
    return rows < CHUNK_LEAST ? CHUNK_LEAST : rows > CHUNK_MOST ? CHUNK_MOST : (uint32_t)rows;
}

static size_t longer(uint32_t inputs, uint32_t targets)
{
    return inputs > targets ? inputs : targets;
}

static bool scratch_floats(uint32_t inputs, uint32_t targets, size_t *floats)
{
    const size_t rows = chunk_rows(inputs);
    size_t width = 0;
    size_t products = 0;
    size_t gathered = 0;
    return mts_size_add(inputs, targets, &width) && mts_size_mul(width, inputs, &products) &&
           mts_size_mul(width, rows, &gathered) && mts_size_add(products, gathered, floats) &&
           mts_size_add(*floats, longer(inputs, targets), floats);
}

static scratch scratch_of(const mts_gram *gram, uint32_t chunk)
{
    const size_t n = gram->inputs;
    scratch s = {.xx = gram->scratch};
    s.xy = s.xx + n * n;
    s.sums = s.xy + n * gram->targets;
    s.x = s.sums + longer(gram->inputs, gram->targets);
    s.y = s.x + n * chunk;
    return s;
}

bool mts_gram_init(mts_gram *gram, uint32_t inputs, uint32_t targets, uint32_t groups,
                   const mts_allocator *allocator)
{
    size_t floats = 0;
    size_t xx = 0;
    size_t xy = 0;
    size_t x = 0;
    *gram = (mts_gram){.allocator = allocator, .inputs = inputs, .targets = targets, .groups = groups};
    if (inputs > INT32_MAX || targets > INT32_MAX || !scratch_floats(inputs, targets / groups, &floats) ||
        !mts_size_mul(inputs, groups, &x) || !mts_size_mul(inputs, x, &xx) ||
        !mts_size_mul(targets, inputs, &xy)) {
        return false;
    }
    gram->xx = mts_alloc_zero(allocator, xx, sizeof *gram->xx);
    gram->xy = mts_alloc_zero(allocator, xy, sizeof *gram->xy);
    gram->yy = mts_alloc_zero(allocator, targets, sizeof *gram->yy);
    gram->x = mts_alloc_zero(allocator, x, sizeof *gram->x);
    gram->y = mts_alloc_zero(allocator, targets, sizeof *gram->y);
    gram->scratch = mts_alloc_zero(allocator, floats, sizeof *gram->scratch);
    return gram->xx && gram->xy && gram->yy && gram->x && gram->y && gram->scratch;
}

void mts_gram_release(mts_gram *gram)
{
    if (!gram->allocator) {
        return;
    }
    mts_alloc_free(gram->allocator, gram->xx);
    mts_alloc_free(gram->allocator, gram->xy);
    mts_alloc_free(gram->allocator, gram->yy);
    mts_alloc_free(gram->allocator, gram->x);
    mts_alloc_free(gram->allocator, gram->y);
    mts_alloc_free(gram->allocator, gram->scratch);
    *gram = (mts_gram){0};
}

mts_gram mts_gram_group(const mts_gram *gram, uint32_t group)
{
    mts_gram part = *gram;
    const size_t n = gram->inputs, targets = gram->targets / gram->groups;
    part.targets = (uint32_t)targets;
    part.groups = 1;
    part.xx += n * n * group;
    part.xy += n * targets * group;
    part.yy += targets * group;
    part.x += n * group;
    part.y += targets * group;
    return part;
}

/* Moves the products from float32 to float64. */
static void settle(work *w)
{
    const size_t n = w->gram->inputs;
    if (w->pending == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double *to = w->gram->xx + i * n;
        const float *from = w->s.xx + i * n;
        for (size_t j = i; j < n; j++) {
            to[j] += (double)from[j];
        }
    }
    for (size_t i = 0; i < n * w->gram->targets; i++) {
        w->gram->xy[i] += (double)w->s.xy[i];
    }
    w->pending = 0;
}

/* Adds the columns' sums of rows[count][width]. */
static void add_sums(const work *w, const float *rows, uint32_t count, uint32_t width, double *sums)
{
    memset(w->s.sums, 0, width * sizeof(float));
    for (uint32_t r = 0; r < count; r++) {
        const float *row = rows + (size_t)r * width;
        for (uint32_t i = 0; i < width; i++) {
            w->s.sums[i] += row[i];
        }
    }
    for (uint32_t i = 0; i < width; i++) {
        sums[i] += (double)w->s.sums[i];
    }
}

static void add_squares(const float *rows, uint32_t count, uint32_t width, double *squares)
{
    for (uint32_t r = 0; r < count; r++) {
        for (uint32_t i = 0; i < width; i++) {
            const double value = (double)rows[i];
            squares[i] += value * value;
        }
        rows += width;
    }
}

/* Adds the products of `count` <= chunk rows. */
static void add_rows(work *w, const float *x, const float *y, uint32_t count)
{
    mts_gram *gram = w->gram;
    const size_t n = gram->inputs;
    const size_t targets = gram->targets;
    if (count == 0) {
        return;
    }
    const bool more = w->pending > 0;
    for (size_t i = 0; i < n; i += PANEL) {
        const mts_columns panel = {x + i, n - i < PANEL ? n - i : PANEL, n}, rest = {x + i, n - i, n};
        mts_cross_product(panel, rest, count, more, w->s.xx + i * n + i, n);
    }
    add_sums(w, x, count, gram->inputs, gram->x);
    if (targets > 0) {
        const mts_columns right = {y, targets, targets}, left = {x, n, n};
        mts_cross_product(right, left, count, more, w->s.xy, n);
        add_sums(w, y, count, gram->targets, gram->y);
        add_squares(y, count, gram->targets, gram->yy);
    }
    gram->rows += count;
    w->pending += count;
    if (w->pending >= PENDING_MOST) {
        settle(w);
    }
}

/* What lies where, of one image. */
typedef struct field {
    const mts_attrs_conv *attrs;
    size_t channels, height, width; /* of the group's input */
    size_t stride;                  /* channels of the value */
    size_t out_width;
    size_t pixels;  /* of the output */
    size_t targets; /* of all groups */
    bool plain;     /* rows are the input's pixels as they lie there */
    bool unbroken;  /* a row of a receptive field is one piece of memory unless it sticks out */
} field;

static field field_of(const mts_attrs_conv *attrs, const mts_shape *x, const mts_shape *y, uint32_t groups)
{
    field f = {.attrs = attrs,
               .channels = (size_t)x->dims[1] / groups,
               .stride = (size_t)x->dims[1],
               .targets = (size_t)y->dims[1],
               .height = (size_t)x->dims[2],
               .width = (size_t)x->dims[3],
               .out_width = (size_t)y->dims[3],
               .pixels = (size_t)y->dims[2] * (size_t)y->dims[3]};
    f.unbroken = (attrs->dilation[1] == 1 && groups == 1) || attrs->kernel[1] == 1;
    f.plain = groups == 1 && attrs->kernel[0] == 1 && attrs->kernel[1] == 1 && attrs->stride[0] == 1 &&
              attrs->stride[1] == 1 && attrs->pad[0] == 0 && attrs->pad[1] == 0 && x->dims[2] == y->dims[2] &&
              x->dims[3] == y->dims[3];
    return f;
}

/* One row of a receptive field that may stick out of the image. */
static float *gather_edge(const field *f, const float *row, int64_t left, float *to)
{
    const mts_attrs_conv *a = f->attrs;
    for (uint32_t k = 0; k < a->kernel[1]; k++) {
        const int64_t column = left + (int64_t)k * a->dilation[1];
        if (column < 0 || column >= (int64_t)f->width) {
            memset(to, 0, f->channels * sizeof *to);
        } else {
            memcpy(to, row + (size_t)column * f->stride, f->channels * sizeof *to);
        }
        to += f->channels;
    }
    return to;
}

static void gather(const field *f, const float *image, size_t pixel, float *to)
{
    const mts_attrs_conv *a = f->attrs;
    const int64_t top = (int64_t)(pixel / f->out_width) * a->stride[0] - a->pad[0];
    const int64_t left = (int64_t)(pixel % f->out_width) * a->stride[1] - a->pad[1];
    const size_t piece = a->kernel[1] * f->channels;
    const bool inside = left >= 0 && left + a->kernel[1] <= (int64_t)f->width;
    for (uint32_t k = 0; k < a->kernel[0]; k++) {
        const int64_t line = top + (int64_t)k * a->dilation[0];
        if (line < 0 || line >= (int64_t)f->height) {
            memset(to, 0, piece * sizeof *to);
            to += piece;
            continue;
        }
        const float *row = image + (size_t)line * f->width * f->stride;
        if (f->unbroken && inside) {
            memcpy(to, row + (size_t)left * f->stride, piece * sizeof *to);
            to += piece;
        } else {
            to = gather_edge(f, row, left, to);
        }
    }
}

static void add_image(work *w, const field *f, const float *x, const float *y, size_t first, uint32_t step)
{
    const size_t inputs = w->gram->inputs;
    const size_t targets = w->gram->targets;
    for (size_t p = first; p < f->pixels; p += step) {
        gather(f, x, p, w->s.x + w->filled * inputs);
        if (targets > 0) {
            memcpy(w->s.y + w->filled * targets, y + p * f->targets, targets * sizeof *y);
        }
        if (++w->filled == w->chunk) {
            add_rows(w, w->s.x, w->s.y, w->filled);
            w->filled = 0;
        }
    }
}

/* Rows that lie in memory as they are needed. */
static void add_plain(work *w, const float *x, const float *y, size_t rows)
{
    for (size_t r = 0; r < rows; r += w->chunk) {
        const size_t count = rows - r < w->chunk ? rows - r : w->chunk;
        add_rows(w, x + r * w->gram->inputs, w->gram->targets > 0 ? y + r * w->gram->targets : NULL,
                 (uint32_t)count);
    }
}

/* x and y begin at the group's first channel. */
static void add_group(mts_gram *gram, const field *f, const float *x, const float *y, size_t images,
                      uint32_t step)
{
    work w = {.gram = gram, .chunk = chunk_rows(gram->inputs)};
    w.s = scratch_of(gram, w.chunk);
    if (f->plain && step == 1) {
        add_plain(&w, x, y, images * f->pixels);
    } else {
        const size_t size = f->height * f->width * f->stride;
        for (size_t i = 0; i < images; i++) {
            add_image(&w, f, x + i * size, gram->targets > 0 ? y + i * f->pixels * f->targets : NULL,
                      i % step, step);
        }
        add_rows(&w, w.s.x, w.s.y, w.filled);
    }
    settle(&w);
}

void mts_gram_add(mts_gram *gram, const float *x, const mts_shape *x_shape, const mts_attrs_conv *attrs,
                  const float *y, const mts_shape *y_shape, uint32_t images, uint32_t step)
{
    const field f = field_of(attrs, x_shape, y_shape, gram->groups);
    const size_t count = images * (size_t)x_shape->dims[0];
    uint64_t rows = gram->rows;
    for (uint32_t g = 0; g < gram->groups; g++) {
        mts_gram part = mts_gram_group(gram, g);
        add_group(&part, &f, x + g * f.channels, part.targets > 0 ? y + (size_t)g * part.targets : NULL,
                  count, step ? step : 1);
        rows = part.rows;
    }
    gram->rows = rows;
}

static bool all_finite(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs(values[i]) * 0x1p-64; /* no sum of finite float32 products reaches infinity */
    }
    return isfinite(sum);
}

static void divide(double *values, size_t count, double by)
{
    for (size_t i = 0; i < count; i++) {
        values[i] /= by;
    }
}

/* Of one group. */
static void center(mts_gram *gram)
{
    const size_t n = gram->inputs;
    const size_t targets = gram->targets;
    const double rows = (double)gram->rows;
    divide(gram->x, n, rows);
    divide(gram->y, targets, rows);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            const double value = gram->xx[i * n + j] / rows - gram->x[i] * gram->x[j];
            gram->xx[i * n + j] = i == j && value < 0 ? 0 : value;
            gram->xx[j * n + i] = gram->xx[i * n + j];
        }
    }
    for (size_t t = 0; t < targets; t++) {
        for (size_t i = 0; i < n; i++) {
            gram->xy[t * n + i] = gram->xy[t * n + i] / rows - gram->y[t] * gram->x[i];
        }
        gram->yy[t] = fmax(gram->yy[t] / rows - gram->y[t] * gram->y[t], 0);
    }
}

mts_status mts_gram_finish(mts_gram *gram, mts_error *error)
{
    const size_t n = gram->inputs;
    const size_t targets = gram->targets;
    if (gram->rows < 2) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "statistics of %u values: fewer than two rows",
                        gram->inputs);
    }
    if (!all_finite(gram->xx, n * n * gram->groups) || !all_finite(gram->xy, n * targets) ||
        !all_finite(gram->yy, targets) || !all_finite(gram->x, n * gram->groups) ||
        !all_finite(gram->y, targets)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "statistics of %u values hold a number that is not finite", gram->inputs);
    }
    for (uint32_t g = 0; g < gram->groups; g++) {
        mts_gram part = mts_gram_group(gram, g);
        center(&part);
    }
    return MTS_STATUS_OK;
}

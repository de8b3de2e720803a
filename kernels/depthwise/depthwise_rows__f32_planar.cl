/*
 * depthwise_rows: depthwise convolution of 3 x 3 or 5 x 5 taps and stride 1 or 2 by blocks of rows.
 *
 * Responsible for convolutions with one input channel per output channel whose input lies as an image with a border,
 * whatever its row length: a stride needs no phases. Grid: (parts, ceil(channels / each), members): a work-item owns
 * `part` rows of `each` channels. Not responsible for dilation and other kernel sizes (depthwise_tile).
 *
 * A block is up to 4 output rows by 2 vectors of VEC columns. An input vector is loaded once for all the rows that it
 * is a tap of, so that 36 products take 18 loads where taps one by one take 36:
 *
 *     input row y - 1   v v v   tap rows of output row y       0
 *               y       v v v                          y, y+1  1 0
 *               y + 1   v v v                          ..      2 1 0
 *
 * The last vector of a row ends where the image ends, and the last block of rows where the part ends: they compute some
 * pixels again rather than one by one. Zeros between the rows are stored before the pixels beside them. In rows shorter
 * than a vector a vector reaches into the next row, whose own vector is stored after it; such planes have one part.
 * Where that would leave much of the vectors empty, and input and output rows are of one length, vectors run over the
 * flattened plane instead, tap by tap.
 */
#define ROWS_MOST 4
#define COLUMNS_MOST 2

#define EACH_ROW(M, i, k) M(i, k, 0) M(i, k, 1) M(i, k, 2) M(i, k, 3)
#define EACH_COLUMN(M, r) M(r, 0) M(r, 1)
#define EACH_TAP(M, i) M(i, 0) M(i, 1) M(i, 2) M(i, 3) M(i, 4)
#define EACH_INPUT_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10)
#define EACH_WEIGHT(M)                                                                                       \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15) M(16) M(17) M(18)  \
        M(19) M(20) M(21) M(22) M(23) M(24)

/* A channel of a member: where it lies, and what is the same for all of its pixels. */
typedef struct depthwise_channel {
    GLOBAL const mts_real *in;  /* tap 0 of pixel 0 */
    GLOBAL const mts_real *res; /* pixel 0 */
    GLOBAL const mts_real *mask;
    GLOBAL mts_real *out;
    mts_u32 h, w, in_row, row, room;
    int has_res, has_mask;
    int is_plain; /* no residual and no slope */
    int is_flat;  /* vectors run over the flattened plane */
    mts_vec scale, bias, negative, low, high;
    mts_vec inside; /* 1 where a vector at column 0 lies in the image */
} depthwise_channel;

/* clang-format off */
#define DEPTHWISE_CLEAR(r, c) acc[r][c] = mts_vec_splat(0.0f);
#define DEPTHWISE_CLEAR_ROW(i, k, r) EACH_COLUMN(DEPTHWISE_CLEAR, r)
/* Column k of the taps: with stride 2 the even or the odd ones of two vectors. */
#define DEPTHWISE_LOAD(k, c)                                                                                 \
    if (c < columns)                                                                                         \
        v[c] = stride == 1 ? mts_vec_load(at + (k) + c * step)                                               \
               : (k) % 2 == 0                                                                                \
                   ? mts_vec_even(mts_vec_load(at + (k) + 2 * c * step), mts_vec_load(at + (k) + 2 * c * step + VEC))         \
                   : mts_vec_odd(mts_vec_load(at + (k) - 1 + 2 * c * step), mts_vec_load(at + (k) - 1 + 2 * c * step + VEC));
#define DEPTHWISE_FMA(i, k, r)                                                                               \
    if (r < rows && (i) >= r * stride && (i) < r * stride + size) {                                          \
        acc[r][0] = mts_vec_fma(v[0], w[((i) - r * stride) * size + (k)], acc[r][0]);                        \
        if (columns > 1) acc[r][1] = mts_vec_fma(v[1], w[((i) - r * stride) * size + (k)], acc[r][1]);       \
    }
#define DEPTHWISE_TAP(i, k)                                                                                  \
    if (k < size) {                                                                                          \
        mts_vec v[COLUMNS_MOST];                                                                             \
        EACH_COLUMN(DEPTHWISE_LOAD, k)                                                                       \
        EACH_ROW(DEPTHWISE_FMA, i, k)                                                                        \
    }
#define DEPTHWISE_INPUT_ROW(i)                                                                               \
    if (i < (rows - 1) * stride + size) {                                                                    \
        EACH_TAP(DEPTHWISE_TAP, i)                                                                           \
        at += p->in_row;                                                                                     \
    }
#define DEPTHWISE_ZERO(i, k, r) if (r < rows) mts_vec_store_any(p->out + (y + r) * p->row + x, mts_vec_splat(0.0f));
#define DEPTHWISE_PLAIN(r, c)                                                                                \
    if (r < rows && c < columns) {                                                                           \
        mts_vec v = mts_vec_min(p->high, mts_vec_max(p->low, mts_vec_fma(acc[r][c], p->scale, p->bias)));    \
        if (columns == 1) v = mts_vec_keep(inside, v);                                \
        mts_vec_store_any(out + c * step, v);                                            \
    }
#define DEPTHWISE_PLAIN_ROW(i, k, r) EACH_COLUMN(DEPTHWISE_PLAIN, r) out += p->row;
#define DEPTHWISE_PUT(r, c) if (r < rows && c < columns) sum[r * columns + c] = acc[r][c];
#define DEPTHWISE_PUT_ROW(i, k, r) EACH_COLUMN(DEPTHWISE_PUT, r)
#define DEPTHWISE_WEIGHT(k) w[k] = mts_vec_splat(k < size * size ? mts_load(weight + k) : 0.0f);
#define EACH_VECTOR(M, k) M(k, 0) M(k, 1) M(k, 2) M(k, 3)
#define FLAT_CLEAR(k, j) if (j < nv) acc[j] = mts_vec_splat(0.0f);
#define FLAT_FMA(k, j)                                                                                       \
    if (j < nv)                                                                                              \
        acc[j] = mts_vec_fma(mts_vec_load(at + (k) % size + j * VEC), w[k], acc[j]);
#define FLAT_TAP(k)                                                                                          \
    if (k < size * size) {                                                                                   \
        EACH_VECTOR(FLAT_FMA, k)                                                                             \
        if ((k) % size == size - 1) at += p->in_row;                                                         \
    }
#define FLAT_PUT(k, j) if (j < nv) sum[j] = acc[j];
/* clang-format on */

/* The epilogue of one vector in all generality. pixel: its first one. */
INLINE void depthwise_store(const depthwise_channel *p, mts_vec v, mts_vec inside, mts_u32 pixel) {
    v = mts_vec_fma(v, p->scale, p->bias);
    if (p->has_res) v = mts_vec_add(v, mts_vec_load(p->res + pixel));
    v = mts_vec_min(p->high, mts_vec_slope(mts_vec_max(p->low, v), p->negative));
    v = mts_vec_keep(inside, v);
    if (pixel + VEC <= p->room) {
        mts_vec_store_any(p->out + pixel, v);
    } else if (pixel < p->room) {
        mts_row_store(p->out + pixel, v, p->room - pixel, 0);
    }
}

/*
 * `rows` rows from y on of `columns` vectors, the second one `step` columns after the one at `column`. inside: of a
 * single vector. The products are one stretch of code without a branch, so that compilers keep its values in registers.
 */
INLINE void depthwise_block(const depthwise_channel *p, const mts_vec *w, mts_u32 y, mts_u32 column, mts_u32 step,
                            mts_vec inside, const int size, const int stride, const int rows, const int columns) {
    GLOBAL const mts_real *at = p->in + y * (mts_u32)stride * p->in_row + column * (mts_u32)stride;
    GLOBAL mts_real *out = p->out + y * p->row + column;
    mts_vec acc[ROWS_MOST][COLUMNS_MOST];
    EACH_ROW(DEPTHWISE_CLEAR_ROW, 0, 0)
    EACH_INPUT_ROW(DEPTHWISE_INPUT_ROW)
    if (p->is_plain && (columns > 1 || (y + rows - 1) * p->row + column + VEC <= p->room)) {
        EACH_ROW(DEPTHWISE_PLAIN_ROW, 0, 0)
    } else {
        mts_vec sum[ROWS_MOST * COLUMNS_MOST];
        EACH_ROW(DEPTHWISE_PUT_ROW, 0, 0)
        NO_UNROLL for (int i = 0; i < rows * columns; i++)
            depthwise_store(p, sum[i], inside, (y + i / columns) * p->row + column + i % columns * step);
    }
}

/* All columns of `rows` rows from y on. */
INLINE void depthwise_across(const depthwise_channel *p, const mts_vec *w, mts_u32 y, const int size, const int stride,
                             const int rows) {
    const mts_vec all = mts_vec_splat(1.0f);
    mts_u32 x = 0;
    for (mts_u32 beyond = p->w; p->row >= VEC && beyond < p->row; beyond += VEC) {
        x = mts_least(beyond, p->row - VEC);
        EACH_ROW(DEPTHWISE_ZERO, 0, 0)
    }
    x = 0;
    if (p->w <= VEC) {
        depthwise_block(p, w, y, 0, VEC, p->inside, size, stride, rows, 1);
        return;
    }
    if (stride == 1)
        for (; x + VEC < p->w; x += 2 * VEC)
            depthwise_block(p, w, y, x, mts_least(VEC, p->w - VEC - x), all, size, stride, rows, 2);
    for (; x < p->w; x += VEC)
        depthwise_block(p, w, y, mts_least(x, p->w - VEC), VEC, all, size, stride, rows, 1);
}

/* nv vectors of the flattened plane from `pixel` on. */
INLINE void depthwise_flat(const depthwise_channel *p, const mts_vec *w, mts_u32 pixel, const int size, const int nv) {
    GLOBAL const mts_real *at = p->in + pixel;
    mts_vec acc[4], sum[4];
    EACH_VECTOR(FLAT_CLEAR, 0)
    EACH_WEIGHT(FLAT_TAP)
    EACH_VECTOR(FLAT_PUT, 0)
    for (int j = 0; j < nv; j++) {
        const mts_u32 at = pixel + (mts_u32)j * VEC;
        depthwise_store(p, sum[j], p->has_mask ? mts_vec_load(p->mask + at) : mts_vec_splat(1.0f), at);
    }
}

INLINE void depthwise_plane(const depthwise_channel *p, const mts_vec *w, const int size) {
    mts_u32 pixel = 0;
    for (; pixel + 3 * VEC < p->room; pixel += 4 * VEC) depthwise_flat(p, w, pixel, size, 4);
    for (; pixel < p->room; pixel += VEC) depthwise_flat(p, w, pixel, size, 1);
    if (!p->has_mask) mts_zero(p->out + p->h * p->row, p->room - p->h * p->row);
}

/* Whether vectors of the flattened plane are fewer than two thirds of those of its rows, or its rows than a block's. */
INLINE int depthwise_is_flat(const depthwise_channel *p) {
    const mts_u32 across = (p->w + VEC - 1) / VEC, down = (p->h + ROWS_MOST - 1) / ROWS_MOST * ROWS_MOST;
    return p->h < ROWS_MOST || p->room / VEC * 3 <= down * across * 2;
}

INLINE void depthwise_down(const depthwise_channel *p, GLOBAL const mts_real *weight, mts_u32 first, mts_u32 end,
                           const int size, const int stride) {
    mts_vec w[25];
    EACH_WEIGHT(DEPTHWISE_WEIGHT)
    if (stride == 1 && p->is_flat) {
        depthwise_plane(p, w, size);
    } else if (stride > 1 && p->h < ROWS_MOST) {
        for (mts_u32 y = first; y < end; y++) depthwise_across(p, w, y, size, stride, 1);
    } else {
        for (mts_u32 y = first; y < end; y += ROWS_MOST)
            depthwise_across(p, w, mts_least(y, end - ROWS_MOST), size, stride, ROWS_MOST);
    }
}

/* The zeros around the plane, but those between its rows; each is written by the part beside it. */
INLINE void depthwise_border(const depthwise_channel *p, GLOBAL const mts_epilogue_params *e, mts_u32 channel,
                             int is_first, int is_last) {
    const mts_u32 pixels = p->h * p->row;
    mts_u32 end = p->room;
    if (is_first && e->gap == VEC) {
        mts_vec_store_any(p->out - VEC, mts_vec_splat(0.0f));
    } else if (is_first) {
        mts_zero(p->out - e->gap, e->gap);
    }
    if (!is_last) return;
    if (e->gap + end < e->out_pitch) end = e->out_pitch - e->gap;
    if (e->last == channel) end += e->tail;
    if (pixels < p->room && pixels + VEC >= p->room) { /* pixels beside it follow */
        mts_vec_store_any(p->out + p->room - VEC, mts_vec_splat(0.0f));
    } else {
        mts_zero(p->out + pixels, p->room - pixels);
    }
    if (p->room < end) mts_zero(p->out + p->room, end - p->room);
}

/* Applies a function that is not simple, in place: to what was stored, which HALF has rounded. */
INLINE void depthwise_finish(const depthwise_channel *p, GLOBAL const mts_epilogue_params *e, mts_u32 from, mts_u32 end) {
    const mts_u32 pixels = p->h * p->row;
    if (mts_fn_is_simple(e->fn)) return;
    for (mts_u32 pixel = from; pixel < end; pixel += VEC) {
        const mts_vec x = mts_vec_load(p->out + pixel);
        mts_vec v = mts_vec_element(e->fn, x, e->a, e->b);
        if (p->has_mask) v = mts_vec_keep(mts_vec_load(p->mask + pixel), v);
        mts_vec_store(p->out + pixel, v);
    }
    if (end == p->room) mts_zero(p->out + pixels, p->room - pixels);
}

KERNEL void depthwise_rows__f32_planar(MTS_ARGS) {
    GLOBAL const mts_depthwise_rows_params *job =
        (GLOBAL const mts_depthwise_rows_params *)(params + first) + mts_global_id(2);
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    const mts_u32 begin = mts_global_id(0) * job->part, end = mts_least(job->h, begin + job->part);
    mts_u32 c = mts_global_id(1) * job->each;
    const mts_u32 stop = mts_least(job->channels, c + job->each);
    depthwise_channel p;
    if (begin >= job->h) return;
    p.h = job->h;
    p.w = job->w;
    p.in_row = job->in_row;
    p.row = job->row;
    p.room = job->room;
    p.has_mask = job->mask != MTS_PARAM_NONE;
    p.mask = pool + (p.has_mask ? job->mask : 0);
    p.has_res = e->res != MTS_PARAM_NONE;
    p.is_plain = !p.has_res && e->fn != MTS_FN_LEAKY && e->fn != MTS_FN_PRELU;
    p.low = mts_vec_splat(mts_fn_low(e->fn, e->a));
    p.high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    p.inside = mts_vec_between(0.0f, 1.0f, 0.0f, (float)p.w);
    p.is_flat = depthwise_is_flat(&p) && begin == 0 && end == p.h;

    for (; c < stop; c++) {
        const mts_u32 channel = params[e->index + c];
        GLOBAL const mts_real *weight = pool + job->weight + c * job->size * job->size;
        p.in = act + job->in + (job->multiplier == 1 ? c : c / job->multiplier) * job->in_pitch;
        p.out = act + e->out + channel * e->out_pitch;
        p.res = act + (p.has_res ? e->res + channel * e->res_pitch : 0);
        p.scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + c)));
        p.bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + c)));
        p.negative = mts_vec_splat(e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + (e->slope + c)));
        depthwise_border(&p, e, channel, begin == 0, end == p.h);
        if (job->size == 3 && job->stride == 1) {
            depthwise_down(&p, weight, begin, end, 3, 1);
        } else if (job->size == 3) {
            depthwise_down(&p, weight, begin, end, 3, 2);
        } else if (job->stride == 1) {
            depthwise_down(&p, weight, begin, end, 5, 1);
        } else {
            depthwise_down(&p, weight, begin, end, 5, 2);
        }
        depthwise_finish(&p, e, begin * p.row, end == p.h ? p.room : end * p.row);
    }
}

/*
 * depthwise_rows: depthwise convolution of 3 x 3 or 5 x 5 taps and stride 1 or 2 by
 * blocks of rows.
 *
 * Responsible for convolutions with one input channel per output channel whose input lies
 * as an image, whatever its row length: neither a border of zeros nor phases of a stride
 * are needed. Grid: (parts, ceil(channels / each), members): a work-item owns `part` rows
 * of `each` channels. Not responsible for other kernel sizes (depthwise_tile).
 *
 * A strip is one or two vectors of VEC columns, from its first row to its last one. An
 * input row's vector is loaded once for all the output rows that it is a tap of, whose
 * sums stay in registers and move up by one with each row: a vector of 3 x 3 taps takes 3
 * loads where taps one by one take 9.
 *
 *     input row y      tap row 2 of output row y - 1, which is then stored
 *                      tap row 1 of y
 *                      tap row 0 of y + 1, whose sum begins
 *
 * Rows above and below the image are read from zeros. In the strips at its sides, columns
 * beyond the image are dropped from what was loaded.
 *
 * The last vector of a row ends where the row or the image ends: it computes some pixels
 * again rather than one by one. In rows shorter than a vector a vector reaches into the
 * next row, whose own vector is stored after it; such planes have one part. Dilated taps
 * of stride 1 are those of every dilation-th row, strip by strip; their rows are longer
 * than a vector.
 *
 * Planes of at most MTS_ROWS_NARROW columns fill vectors with channels: VEC planes are
 * transposed in registers into private memory, one vector for each pixel and zeros around
 * them, and the sums back. Nothing is then computed in vain, and scale, bias and weights
 * are found once for VEC channels.
 *
 * The weights carry the scale and sums begin with the bias, so that nothing but bounds
 * follows the products.
 */
#define COLUMNS_MOST 2
#define LIVE_MOST 5 /* output rows that an input row is a tap of */

/* Strips there are code for. 3: all; 2: none that is away from the image's sides; 1: the
   general one. The smallest library has 2, and 1 in float16 storage. */
#ifdef MTS_CPU_FN_SHARED
#define DEPTHWISE_FORMS (HALF ? 1 : 2)
#else
#define DEPTHWISE_FORMS 3
#endif
#define EACH_COLUMN(M, k) M(k, 0) M(k, 1)
#define EACH_TAP(M) M(0) M(1) M(2) M(3) M(4)
#define EACH_LIVE(M, k) M(k, 0) M(k, 1) M(k, 2) M(k, 3) M(k, 4)
#define EACH_WEIGHT(M)                                                                                       \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15) M(16) M(17) M(18)  \
        M(19) M(20) M(21) M(22) M(23) M(24)

/* A channel of a member: where it lies, and what is the same for all of its pixels. */
typedef struct depthwise_channel {
    GLOBAL const mts_real *in; /* pixel 0 of the input's image */
    GLOBAL const mts_real *zeros; /* MTS_ROW_ZEROS of them */
    GLOBAL const mts_real *res; /* pixel 0 */
    GLOBAL const mts_real *mask;
    GLOBAL mts_real *out;
    mts_u32 in_h, in_w, in_row;
    mts_u32 top, left; /* rows and columns of taps above and beside pixel 0 */
    mts_u32 dilation;
    mts_u32 h, w, row, room;
    int has_res, has_mask;
    int is_plain; /* no residual and no slope */
    int is_usual; /* plain, and paddings are as depthwise_strip says */
    float scale; /* weights are multiplied by it, and sums begin with the bias */
    mts_vec bias, negative, low, high;
    mts_vec inside;      /* 1 where a vector at column 0 lies in the image */
    mts_vec inside_last; /* the same of the vector that ends with the row */
} depthwise_channel;

/* clang-format off */
/* Column k of the taps: with stride 2 the even or the odd ones of two vectors, which
   column k - 1 has loaded. */
#define LINE_LOAD(k, c)                                                                                      \
    if (c < columns) {                                                                                       \
        if (stride == 1) {                                                                                   \
            v[c] = mts_vec_load(at + (k) * spread + c * step);                                               \
            if (edges > ((k) == size / 2)) v[c] = mts_vec_keep(edge[k][c], v[c]);                            \
            mts_vec_hold(v[c]);                                                                              \
        } else if ((k) % 2 == 0) {                                                                           \
            low[c] = mts_vec_load(at + (k) + 2 * c * step);                                                  \
            high[c] = mts_vec_load(at + (k) + 2 * c * step + VEC);                                           \
            mts_vec_hold(low[c]);                                                                            \
            mts_vec_hold(high[c]);                                                                           \
            v[c] = mts_vec_even(low[c], high[c]);                                                            \
        } else {                                                                                             \
            v[c] = mts_vec_odd(low[c], high[c]);                                                             \
        }                                                                                                    \
        if (edges && stride > 1) v[c] = mts_vec_keep(edge[k][c], v[c]);                                      \
    }
/* Of two columns; a single one has sums of the even and of the odd taps instead, so that
   fewer products wait in a row. */
#define LINE_SUM(turn, c) (columns > 1 ? acc[turn][c] : mts_vec_add(acc[turn][0], acc[turn][1]))
/* The sum of row d is acc[(d + turn) % ring]. */
#define LINE_FMA(k, d)                                                                                       \
    if ((d) < live && tap - (d) * stride >= 0 && tap - (d) * stride < size) {                                \
        const mts_vec by = w[(tap - (d) * stride) * size + (k)];                                             \
        const int begins = tap == (d) * stride;                                                              \
        mts_vec *sum = acc[((d) + turn) % ring];                                                             \
        if (columns > 1) {                                                                                   \
            sum[0] = mts_vec_fma(v[0], by, begins && (k) == 0 ? bias : sum[0]);                              \
            sum[1] = mts_vec_fma(v[1], by, begins && (k) == 0 ? bias : sum[1]);                              \
        } else if (begins && (k) == 1) {                                                                     \
            sum[1] = mts_vec_mul(v[0], by);                                                                  \
        } else {                                                                                             \
            sum[(k) % 2] = mts_vec_fma(v[0], by, begins && (k) == 0 ? bias : sum[(k) % 2]);                  \
        }                                                                                                    \
    }
#define LINE_TAP(k)                                                                                          \
    if (k < size) {                                                                                          \
        mts_vec v[COLUMNS_MOST];                                                                             \
        EACH_COLUMN(LINE_LOAD, k)                                                                            \
        EACH_LIVE(LINE_FMA, k)                                                                               \
    }
/* inside: the row is one of the image. */
#define STRIP_LINE(turn, tap, live, inside)                                                                  \
    depthwise_line((inside) || in_y < p->in_h ? at : p->zeros, step, spread, w, p->bias, edge, acc, turn, tap, live, size, stride, \
                   columns, edges);                                                                          \
    at += in_step;                                                                                           \
    in_y += spread;
#define STRIP_FIRST(i)                                                                                       \
    if ((i) < size - stride) {                                                                               \
        STRIP_LINE(0, i, live, 0)                                                                               \
    }
#define STRIP_PLAIN(turn, c)                                                                                 \
    if (c < columns) {                                                                                       \
        mts_vec v = mts_vec_min(p->high, mts_vec_max(p->low, LINE_SUM((turn) % live, c)));                        \
        if (c == columns - 1) v = mts_vec_keep(inside, v);                                                   \
        mts_vec_store_any(out + c * step, v);                                                                \
    }
#define STRIP_STORE(turn, c) if (c < columns) depthwise_store(p, LINE_SUM((turn) % live, c), inside, pixel + c * step);
#define STRIP_NEXT(k, d) if ((d) + 1 < live) { acc[d][0] = acc[(d) + 1][0]; acc[d][1] = acc[(d) + 1][1]; }
/* An output row, and the next ones as far as `after` of them go. */
#define STRIP_ROW(after, turn)                                                                               \
    {                                                                                                        \
        STRIP_LINE(turn, size - stride, 1 + (after), usual && (after) == live - 1)                           \
        if (stride > 1) { STRIP_LINE(turn, size - 1, 1 + (after), usual && (after) == live - 1) }            \
        if (usual) {                                                                                         \
            EACH_COLUMN(STRIP_PLAIN, turn)                                                                   \
        } else {                                                                                             \
            EACH_COLUMN(STRIP_STORE, turn)                                                                   \
        }                                                                                                    \
        out += out_step;                                                                                     \
        pixel += out_step;                                                                                   \
    }
/*
 * The steps of a strip or of a row of pixels: `left` of them that all of their successors
 * follow, then, where `whole` is set, the `last` ones. Sums take turns on registers with
 * 3 taps, else they move up.
 */
#define DEPTHWISE_SLIDE(STEP, NEXT, whole)                                                                   \
    if ((whole) && size == 3)                                                                                \
        for (; left >= (mts_u32)live; left -= (mts_u32)live) {                                               \
            STEP(live - 1, 0)                                                                                \
            STEP(live - 1, 1)                                                                                \
            if (live > 2) STEP(live - 1, 2)                                                                  \
        }                                                                                                    \
    for (; left > 0; left--) {                                                                               \
        STEP(live - 1, 0)                                                                                    \
        EACH_LIVE(NEXT, 0)                                                                                   \
    }                                                                                                        \
    if ((whole) && last > 0) {                                                                               \
        if (live > 4) STEP(3, live - 5)                                                                      \
        if (live > 3) STEP(2, live - 4)                                                                      \
        if (live > 2) STEP(1, live - 3)                                                                      \
        STEP(0, live - 2)                                                                                    \
    }
#define DEPTHWISE_WEIGHT(k) w[k] = mts_vec_splat(k < size * size ? mts_load(weight + k) * p->scale : 0.0f);
/* clang-format on */

/* What follows the sums, of one vector in all generality. pixel: its first one. */
INLINE void depthwise_store(const depthwise_channel *p, mts_vec v, mts_vec inside, mts_u32 pixel) {
    if (p->has_res) v = mts_vec_add(v, mts_vec_load(p->res + pixel));
    v = mts_vec_min(p->high, mts_vec_max(p->low, mts_vec_slope(v, p->negative)));
    v = mts_vec_keep(inside, v);
    if (pixel + VEC <= p->room) {
        mts_vec_store_any(p->out + pixel, v);
    } else if (pixel < p->room) {
        mts_row_store(p->out + pixel, v, p->room - pixel, 0);
    }
}

/* For each column of taps, 1 where what it reads for a vector at `column`, and for one
   `step` columns on, is in the image. */
INLINE void depthwise_edges(const depthwise_channel *p, mts_u32 column, mts_u32 step, mts_vec (*edge)[COLUMNS_MOST],
                            const int size, const int stride) {
    for (int k = 0; k < size; k++)
        for (mts_u32 c = 0; c < COLUMNS_MOST; c++) {
            const mts_u32 x = (column + c * step) * (mts_u32)stride + (mts_u32)k * p->dilation;
            edge[k][c] = mts_vec_between((float)x - (float)p->left, (float)stride, 0.0f, (float)p->in_w);
        }
}

/* The taps of an input row: row `tap` of the kernel for the first of `live` output
   rows. */
INLINE void depthwise_line(GLOBAL const mts_real *at, mts_u32 step, mts_u32 spread, const mts_vec *w, mts_vec bias,
                           const mts_vec (*edge)[COLUMNS_MOST], mts_vec (*acc)[COLUMNS_MOST], const int turn, const int tap,
                           const int live, const int size, const int stride, const int columns, const int edges) {
    const int ring = (size - 1) / stride + 1;
    mts_vec low[COLUMNS_MOST], high[COLUMNS_MOST];
    EACH_TAP(LINE_TAP)
}

/*
 * `count` rows from y on, as far apart as the taps are, of `columns` vectors, the second
 * one `step` columns after the one at `column`. inside: of the last vector. An input row
 * is loaded once for all the rows that it is a tap of, whose sums stay in registers.
 *
 * usual: sums end with bounds, taps lie side by side, rows beside the image are read by
 * the first and the last steps only, and the columns of a kernel's middle are all in the
 * image where the stride is 1. edges: the strip reads columns beside the image, which
 * depthwise_edges tells: 2, or 1 if that is so for those beside the kernel's middle.
 */
INLINE void depthwise_strip(const depthwise_channel *p, const mts_vec *w, mts_u32 y, mts_u32 count, mts_u32 column,
                            mts_u32 step, mts_vec inside, const mts_vec (*edge)[COLUMNS_MOST], const int size,
                            const int stride, const int columns, const int usual, const int edges) {
    mts_u32 in_y = y * (mts_u32)stride - p->top; /* above the image: more than its rows */
    GLOBAL const mts_real *at = p->in + ((int)in_y * (int)p->in_row + (int)(column * (mts_u32)stride - p->left));
    GLOBAL mts_real *out = p->out + y * p->row + column;
    const mts_u32 spread = usual ? 1 : p->dilation, in_step = spread * p->in_row, out_step = spread * p->row;
    const int live = (size - 1) / stride + 1;
    const mts_u32 last = usual ? (mts_u32)live - 1 : 0;
    mts_u32 pixel = y * p->row + column;
    mts_vec acc[LIVE_MOST + 1][COLUMNS_MOST]; /* the last one is never used */
    EACH_TAP(STRIP_FIRST)
    mts_u32 left = count - last;
    DEPTHWISE_SLIDE(STRIP_ROW, STRIP_NEXT, usual)
}

/* The floats of rows y to end - 1 beyond the image, in rows of a vector at least; pixels
   beside them follow. */
INLINE void depthwise_beside(const depthwise_channel *p, mts_u32 y, mts_u32 end) {
    for (; y < end; y++)
        for (mts_u32 x = p->w; x < p->row; x += VEC)
            mts_vec_store_any(p->out + y * p->row + mts_least(x, p->row - VEC), mts_vec_splat(0.0f));
}

/* Whether so many rows can be a usual strip. */
INLINE int depthwise_is_usual(const depthwise_channel *p, mts_u32 count, const int size, const int stride) {
    return DEPTHWISE_FORMS > 1 && p->is_usual && count + 1 >= (mts_u32)((size - 1) / stride + 1);
}

/*
 * A column of single vectors, from row y on: usual ones, of a narrow plane as far as they
 * end in it, then the others. A vector of a row shorter than it reaches into the next
 * row, stored later.
 */
INLINE void depthwise_single(const depthwise_channel *p, const mts_vec *w, mts_u32 y, mts_u32 end, mts_u32 column,
                             mts_vec inside, const mts_vec (*edge)[COLUMNS_MOST], const int size, const int stride) {
    mts_u32 stop = end;
    if (p->w <= VEC) stop = p->room >= VEC ? mts_least(end, (p->room - VEC) / p->row + 1) : y;
    if (y < stop && depthwise_is_usual(p, stop - y, size, stride)) {
        depthwise_strip(p, w, y, stop - y, column, VEC, inside, edge, size, stride, 1, 1, 1);
        y = stop;
    }
    for (mts_u32 i = 0; i < p->dilation && y + i < end; i++)
        depthwise_strip(p, w, y + i, (end - y - i + p->dilation - 1) / p->dilation, column, VEC, inside, edge, size, stride, 1,
                        0, 2);
}

/* All columns of rows y to end - 1. The last vector ends with the row, or else with the
   image. first: edges of column 0. */
INLINE void depthwise_across(const depthwise_channel *p, const mts_vec *w, const mts_vec (*first)[COLUMNS_MOST],
                             mts_u32 y, mts_u32 end, const int size, const int stride) {
    const int narrow = p->w <= VEC;
    const int by_row = narrow || (p->row + VEC - 1) / VEC == (p->w + VEC - 1) / VEC;
    const mts_vec all = mts_vec_splat(1.0f), inside = narrow ? p->inside : by_row ? p->inside_last : all;
    const mts_u32 width = narrow ? VEC : by_row ? p->row : p->w;
    mts_vec edge[LIVE_MOST][COLUMNS_MOST];
    mts_u32 x = 0;
    if (!by_row || (narrow && p->row > VEC)) depthwise_beside(p, y, end);
    for (; depthwise_is_usual(p, end - y, size, stride) && x + VEC < width; x += 2 * VEC) {
        const mts_u32 step = mts_least(VEC, width - VEC - x), after = x + step + VEC; /* the strip's end */
        const mts_vec in = x + 2 * VEC < width ? all : inside;
        if (DEPTHWISE_FORMS < 3 || x * (mts_u32)stride < p->left ||
            (after - 1) * (mts_u32)stride + (mts_u32)size > p->in_w + p->left) {
            depthwise_edges(p, x, step, edge, size, stride);
            depthwise_strip(p, w, y, end - y, x, step, in, edge, size, stride, 2, 1, 1);
        } else {
            depthwise_strip(p, w, y, end - y, x, step, in, edge, size, stride, 2, 1, 0);
        }
    }
    for (; x < width; x += VEC) {
        const mts_u32 column = mts_least(x, width - VEC);
        const mts_vec(*at)[COLUMNS_MOST] = first;
        if (column > 0) {
            depthwise_edges(p, column, VEC, edge, size, stride);
            at = (const mts_vec(*)[COLUMNS_MOST])edge;
        }
        depthwise_single(p, w, y, end, column, x + VEC < width ? all : inside, at, size, stride);
    }
}

INLINE void depthwise_down(const depthwise_channel *p, GLOBAL const mts_real *weight, const mts_vec (*edge)[COLUMNS_MOST],
                           mts_u32 first, mts_u32 end, const int size, const int stride) {
    mts_vec w[25];
    EACH_WEIGHT(DEPTHWISE_WEIGHT)
    depthwise_across(p, w, edge, first, end, size, stride);
}

/*
 * One function a shape, with its own copy of what no store may change: its values stay in
 * registers. edge: of the first vector of a row.
 */
#define DOWN_OF(name, size, stride)                                                                          \
    OUTLINE void depthwise_down_##name(const depthwise_channel *p, GLOBAL const mts_real *weight,            \
                                       const mts_vec (*edge)[COLUMNS_MOST], mts_u32 first, mts_u32 end) {    \
        const depthwise_channel own = *p;                                                                    \
        depthwise_down(&own, weight, edge, first, end, size, stride);                                        \
    }
DOWN_OF(3, 3, 1)
DOWN_OF(3_by_2, 3, 2)
DOWN_OF(5, 5, 1)
DOWN_OF(5_by_2, 5, 2)

/* The zeros behind the plane. */
INLINE void depthwise_behind(const depthwise_channel *p, GLOBAL const mts_epilogue_params *e, mts_u32 channel) {
    mts_u32 end = p->room;
    if (e->gap + end < e->out_pitch) end = e->out_pitch - e->gap;
    if (e->last == channel) end += e->tail;
    if (p->room < end) mts_zero(p->out + p->room, end - p->room);
}

/* The zeros around the plane, but those between its rows; each is written by the part
   beside it. */
INLINE void depthwise_border(const depthwise_channel *p, GLOBAL const mts_epilogue_params *e, mts_u32 channel,
                             int is_first, int is_last) {
    const mts_u32 pixels = p->h * p->row;
    if (is_first && e->gap == VEC) {
        mts_vec_store_any(p->out - VEC, mts_vec_splat(0.0f));
    } else if (is_first) {
        mts_zero(p->out - e->gap, e->gap);
    }
    if (!is_last) return;
    if (pixels < p->room && pixels + VEC >= p->room) { /* pixels beside it follow */
        mts_vec_store_any(p->out + p->room - VEC, mts_vec_splat(0.0f));
    } else {
        mts_zero(p->out + pixels, p->room - pixels);
    }
    depthwise_behind(p, e, channel);
}

/* Applies a function that is not simple, in place: to what was stored, which HALF has
   rounded. */
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

#if defined(MTS_SHUFFLE) && VEC >= 8
#include "kernels/depthwise/depthwise_lanes.h"
#endif

/* What a member's channels have in common. */
INLINE void depthwise_open(depthwise_channel *p, GLOBAL const mts_depthwise_rows_params *job, GLOBAL mts_real *act,
                           GLOBAL const mts_real *pool) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    p->zeros = act + job->zeros;
    p->in_h = job->in_h;
    p->in_w = job->in_w;
    p->in_row = job->in_row;
    p->top = job->top;
    p->left = job->left;
    p->dilation = job->dilation;
    p->h = job->h;
    p->w = job->w;
    p->row = job->row;
    p->room = job->room;
    p->has_mask = job->mask != MTS_PARAM_NONE;
    p->mask = pool + (p->has_mask ? job->mask : 0);
    p->has_res = e->res != MTS_PARAM_NONE;
    p->is_plain = !p->has_res && !mts_fn_bends(e->fn);
    p->is_usual = p->is_plain && p->dilation == 1 && p->top + job->stride <= job->size &&
                  (p->h - 1) * job->stride < p->top + p->in_h &&
                  (job->stride > 1 || (p->left == job->size / 2 && p->w <= p->in_w));
    p->low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b));
    p->high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    p->inside = mts_vec_between(0.0f, 1.0f, 0.0f, (float)p->w);
    p->inside_last = mts_vec_between(p->row < VEC ? 0.0f : (float)(p->row - VEC), 1.0f, 0.0f, (float)p->w);
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
    depthwise_open(&p, job, act, pool);

#if defined(MTS_SHUFFLE) && VEC >= 8
    const depthwise_plane plane = depthwise_plane_of(&p, job->size, job->stride);
    if (depthwise_by_groups(&p, &plane, job, c, stop)) {
        depthwise_groups(&p, &plane, job, act, pool, params, c, stop);
        return;
    }
#endif
    mts_vec edge[LIVE_MOST][COLUMNS_MOST];
    depthwise_edges(&p, 0, VEC, edge, (int)job->size, (int)job->stride);
    for (; c < stop; c++) {
        const mts_u32 channel = params[e->index + c];
        GLOBAL const mts_real *weight = pool + job->weight + c * job->size * job->size;
        p.in = act + job->in + (job->multiplier == 1 ? c : c / job->multiplier) * job->in_pitch;
        p.out = act + e->out + channel * e->out_pitch;
        p.res = act + (p.has_res ? e->res + channel * e->res_pitch : 0);
        p.scale = e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + c));
        p.bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + c)));
        p.negative = mts_vec_splat(e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + (e->slope + c)));
        depthwise_border(&p, e, channel, begin == 0, end == p.h);
        if (job->size == 3 && job->stride == 1) {
            depthwise_down_3(&p, weight, edge, begin, end);
        } else if (job->size == 3) {
            depthwise_down_3_by_2(&p, weight, edge, begin, end);
        } else if (job->stride == 1) {
            depthwise_down_5(&p, weight, edge, begin, end);
        } else {
            depthwise_down_5_by_2(&p, weight, edge, begin, end);
        }
        depthwise_finish(&p, e, begin * p.row, end == p.h ? p.room : end * p.row);
    }
}

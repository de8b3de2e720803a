/*
 * fused_rows: a depthwise convolution of 3 x 3 or 5 x 5 taps and stride 1 or 2 with the 1 x 1
 * convolution that reads it, and where there is one with the 1 x 1 convolution that it
 * reads (an inverted residual), in one launch. What lies between them never leaves the
 * work-group.
 *
 * Responsible for members whose convolutions have no other reader of their results
 * (mts_fused_params). Which they are is a decision of the plan. Grid: (parts * L, 1,
 * members): a work-group of L work-items computes `part` rows of all output channels.
 *
 *     rows of the input, `chunk` of expanded channels at a time -> taken (with `expands`)
 *     taken, or the input itself, taps -> kept, a plane of `part` rows for each channel
 *     kept, all channels -> rows x vectors of sums in registers -> output
 *
 * Rows of a kept plane lie as those of the output, so the last step walks flattened pixels
 * as conv_tile does, and small maps fill its vectors. A block of the depthwise convolution is 4
 * rows by one or two vectors, whose sums stay in registers: an input row's vector is loaded once for
 * all of them. Columns and rows outside of the image count as 0 where they are read, so
 * that the input needs no border.
 *
 * A CPU's work-group is one work-item, which walks whole channels and jobs; those of a GPU
 * take blocks and vectors in turns. What is kept is float32 in every precision.
 *
 * Tunables: CASES, the row counts of jobs, e.g. -DCASES=CASE(13)CASE(12); a job with
 * another count is not computed. SHAPES: a bit for each MTS_FUSED_SHAPE that occurs.
 * SCRATCH: vectors of local memory, MTS_FUSED_SCRATCH of the largest member at least.
 */
#ifndef CASES
#define CASES                                                                                                \
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13)
#endif
#ifndef SHAPES
#define SHAPES 0xff
#endif
#ifndef SCRATCH
#define SCRATCH 1024
#endif

/* Blocks of two vectors have code of their own where it is built once for all. */
#ifdef MTS_DIALECT_C
#define BLOCKS_OF_TWO 1
#else
#define BLOCKS_OF_TWO 0
#endif

#define ROWS_MOST MTS_FUSED_ROWS
#define NV_MOST 2 /* vectors of a row at a time */
#define BLOCK_ROWS 4
#define COLUMNS_MOST 2

#define EACH_COLUMN(M, x, y) M(x, y, 0) M(x, y, 1)
#define EACH_VECTOR(M, x) M(x, 0) M(x, 1)
#define EACH_BLOCK_ROW(M, x, i, k) M(x, i, k, 0) M(x, i, k, 1) M(x, i, k, 2) M(x, i, k, 3)
#define EACH_TAP(M, x, i) M(x, i, 0) M(x, i, 1) M(x, i, 2) M(x, i, 3) M(x, i, 4)
#define EACH_INPUT_ROW(M, x) M(x, 0) M(x, 1) M(x, 2) M(x, 3) M(x, 4) M(x, 5) M(x, 6) M(x, 7) M(x, 8) M(x, 9) M(x, 10)
#define EACH_WEIGHT(M)                                                                                       \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15) M(16) M(17) M(18)  \
        M(19) M(20) M(21) M(22) M(23) M(24)
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12)

/* A vector, and a number, of the arena (ACT) and of planes in local memory (KEPT). */
#define FROM_ACT(p) mts_vec_load(p)
#define FROM_KEPT(p) mts_vec_get(p)
#define ONE_ACT(p) mts_load(p)
#define ONE_KEPT(p) (*(p))

/* A work-item's share of a work-group. */
typedef struct fused_group {
    mts_u32 item, items;
    mts_u32 y, rows;    /* of the output */
    mts_u32 low, above; /* first input row that is expanded, and the one behind the last */
} fused_group;

/* What the sums of a row end with. */
typedef struct fused_end {
    mts_u32 fn;
    float a, b;
    mts_vec scale, bias, slope, low, high;
} fused_end;

/* A function that is not simple: code that all of its callers share where the language
   lets them. */
OUTLINE mts_vec fused_function(mts_u32 fn, mts_vec v, float a, float b) { return mts_vec_element(fn, v, a, b); }

INLINE fused_end fused_end_of(GLOBAL const mts_real *pool, GLOBAL const mts_epilogue_params *e, mts_u32 row) {
    fused_end end;
    end.fn = e->fn;
    end.a = e->a;
    end.b = e->b;
    end.scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + row)));
    end.bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + row)));
    end.slope = mts_vec_splat(e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + (e->slope + row)));
    end.low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b));
    end.high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    return end;
}

/* A simple function of a sum, scaled and with what is added to it. */
INLINE mts_vec fused_bend(const fused_end *end, mts_vec v) {
    if (mts_fn_bends(end->fn)) v = mts_vec_slope(v, end->slope);
    return mts_vec_min(end->high, mts_vec_max(end->low, v));
}

/* ---- the depthwise convolution: blocks of 4 rows ---- */

/* clang-format off */
#define BLOCK_WEIGHT(k) w[k] = mts_vec_splat(k < size * size ? mts_load(weight + k) : 0.0f);
#define BLOCK_CLEAR(x, r, c) acc[r][c] = mts_vec_splat(0.0f);
#define BLOCK_CLEAR_ROW(x, i, k, r) EACH_COLUMN(BLOCK_CLEAR, x, r)
/* Column k of the taps: with stride 2 the even or the odd ones of two vectors, which
   column k - 1 has loaded. */
#if VEC == 1
#define BLOCK_LOAD(GET, k, c) if (c < columns) v[c] = (mts_u32)(x + (k)) < p->in_w ? ONE_##GET(at + (k)) : 0.0f;
#else
#define BLOCK_LOAD(GET, k, c)                                                                                \
    if (c < columns) {                                                                                       \
        if (stride == 1) {                                                                                   \
            v[c] = FROM_##GET(at + (k) + c * step);                                                          \
            mts_vec_hold(v[c]);                                                                              \
        } else if ((k) % 2 == 0) {                                                                           \
            low[c] = FROM_##GET(at + (k) + 2 * c * step);                                                    \
            high[c] = FROM_##GET(at + (k) + 2 * c * step + VEC);                                             \
            mts_vec_hold(low[c]);                                                                            \
            mts_vec_hold(high[c]);                                                                           \
            v[c] = mts_vec_even(low[c], high[c]);                                                            \
        } else {                                                                                             \
            v[c] = mts_vec_odd(low[c], high[c]);                                                             \
        }                                                                                                    \
        if (edges) v[c] = mts_vec_keep(edge[k][c], v[c]);                                                    \
    }
#endif
#define BLOCK_FMA(x, i, k, r)                                                                                \
    if ((i) >= r * stride && (i) < r * stride + size) {                                                      \
        acc[r][0] = mts_vec_fma(v[0], w[((i) - r * stride) * size + (k)], acc[r][0]);                        \
        if (columns > 1) acc[r][1] = mts_vec_fma(v[1], w[((i) - r * stride) * size + (k)], acc[r][1]);       \
    }
#define BLOCK_TAP(GET, i, k)                                                                                 \
    if (k < size) {                                                                                          \
        mts_vec v[COLUMNS_MOST];                                                                             \
        EACH_COLUMN(BLOCK_LOAD, GET, k)                                                                      \
        EACH_BLOCK_ROW(BLOCK_FMA, GET, i, k)                                                                 \
    }
#define BLOCK_INPUT_ROW(GET, i)                                                                              \
    if (i < (BLOCK_ROWS - 1) * stride + size) {                                                              \
        if ((mts_u32)(y + (i)) < p->in_h) {                                                                  \
            EACH_TAP(BLOCK_TAP, GET, i)                                                                      \
        }                                                                                                    \
        at += p->in_row;                                                                                     \
    }
#define BLOCK_STORE(x, r, c)                                                                                 \
    if (c < columns)                                                                                         \
        mts_vec_put(to + r * p->row + c * step, fused_bend(end, mts_vec_fma(acc[r][c], end->scale, end->bias)));
#define BLOCK_STORE_ROW(x, i, k, r) if (r < rows) { EACH_COLUMN(BLOCK_STORE, x, r) }
/*
 * The block of a channel whose first tap is pixel (y, x) of the input; `from`: that pixel, which may lie outside of the
 * image. `rows` of its rows are stored, of its vectors the second one `step` columns behind the first. edges: columns
 * that `edge` marks with 0 lie outside of the image.
 */
#define BLOCK_OF(name, SPACE, real, GET)                                                                     \
    INLINE void name(GLOBAL const mts_fused_params *p, SPACE const real *at, mts_i32 y, mts_i32 x, mts_u32 step, \
                     const mts_vec (*edge)[COLUMNS_MOST], GLOBAL const mts_real *weight, const fused_end *end,   \
                     LOCAL_PTR float *to, mts_u32 rows, const int size, const int stride, const int columns,     \
                     const int edges) {                                                                      \
        mts_vec w[25], acc[BLOCK_ROWS][COLUMNS_MOST], low[COLUMNS_MOST], high[COLUMNS_MOST];                 \
        (void)low, (void)high, (void)edge, (void)edges, (void)x;                                             \
        EACH_WEIGHT(BLOCK_WEIGHT)                                                                            \
        EACH_BLOCK_ROW(BLOCK_CLEAR_ROW, 0, 0, 0)                                                             \
        EACH_INPUT_ROW(BLOCK_INPUT_ROW, GET)                                                                 \
        EACH_BLOCK_ROW(BLOCK_STORE_ROW, 0, 0, 0)                                                             \
    }
BLOCK_OF(block_of_act, GLOBAL, mts_real, ACT)
BLOCK_OF(block_of_taken, LOCAL_PTR, float, KEPT)
/* clang-format on */

/*
 * The rows of a part, of channels number 0 to count - 1 of `planes`. listed: list[i] names channel i, else it is i.
 * inner: strips of 3 x 3 taps away from the image's sides have code of their own.
 */
/* clang-format off */
#if VEC == 1
/* Neighbours in the group take neighbouring columns; those beside the image are 0. */
#define DEPTHWISE_OF(name, SPACE, real, block, listed, inner)                                                \
    INLINE void name(GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, GLOBAL const mts_fused_params *p, \
                     fused_group g, SPACE const real *planes, mts_u32 pitch, GLOBAL const mts_u32 *list, mts_u32 count, \
                     LOCAL_PTR float *kept, const int size, const int stride) {                              \
        const mts_u32 each = (g.rows + BLOCK_ROWS - 1) / BLOCK_ROWS * p->row;                                \
        for (mts_u32 i = g.item; i < count * each; i += g.items) {                                           \
            const mts_u32 number = i / each, c = listed ? list[number] : number;                             \
            const mts_u32 first = i % each / p->row * BLOCK_ROWS, column = i % each % p->row;                \
            const mts_u32 rows = mts_least(g.rows - first, BLOCK_ROWS);                                      \
            const mts_i32 y = (mts_i32)((g.y + first) * stride) - (mts_i32)p->top;                           \
            const mts_i32 x = (mts_i32)(column * stride) - (mts_i32)p->left;                                 \
            LOCAL_PTR float *to = kept + params[p->between.index + c] * MTS_FUSED_KEPT(p->part, p->row, VEC) + \
                                  first * p->row + column;                                                   \
            if (column < p->w) {                                                                             \
                const fused_end end = fused_end_of(pool, &p->between, c);                                    \
                block(p, planes + number * pitch + (y * (mts_i32)p->in_row + x), y, x, 1, 0,                 \
                      pool + p->weight + c * size * size, &end, to, rows, size, stride, 1, 1);               \
            } else {                                                                                         \
                for (mts_u32 r = 0; r < rows; r++) to[r * p->row] = 0.0f;                                    \
            }                                                                                                \
        }                                                                                                    \
    }
#else
#define DEPTHWISE_OF(name, SPACE, real, block, listed, inner)                                                \
    INLINE void name##_strip(GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,                      \
                             GLOBAL const mts_fused_params *p, fused_group g, SPACE const real *planes, mts_u32 pitch, \
                             GLOBAL const mts_u32 *list, mts_u32 count, LOCAL_PTR float *kept, mts_u32 column, \
                             mts_u32 step, const int size, const int stride, const int columns, const int edges) { \
        const mts_i32 x = (mts_i32)(column * stride) - (mts_i32)p->left;                                     \
        mts_vec edge[5][COLUMNS_MOST];                                                                       \
        for (int k = 0; edges && k < size; k++)                                                              \
            for (int c = 0; c < columns; c++)                                                                \
                edge[k][c] = mts_vec_between((float)(x + k + c * (mts_i32)step * stride), (float)stride, 0.0f, \
                                             (float)p->in_w);                                                \
        for (mts_u32 i = g.item; i < count; i += g.items) {                                                  \
            const mts_u32 c = listed ? list[i] : i;                                                          \
            const fused_end end = fused_end_of(pool, &p->between, c);                                        \
            LOCAL_PTR float *to =                                                                            \
                kept + params[p->between.index + c] * MTS_FUSED_KEPT(p->part, p->row, VEC) + column;         \
            for (mts_u32 first = 0; first < g.rows; first += BLOCK_ROWS) {                                   \
                const mts_i32 y = (mts_i32)((g.y + first) * stride) - (mts_i32)p->top;                       \
                block(p, planes + i * pitch + (y * (mts_i32)p->in_row + x), y, x, step,                      \
                      (const mts_vec(*)[COLUMNS_MOST])edge, pool + p->weight + c * size * size, &end,        \
                      to + first * p->row, mts_least(g.rows - first, BLOCK_ROWS), size, stride, columns, edges); \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    /* The last vector ends with the image, but in rows shorter than it. */                                  \
    INLINE void name(GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, GLOBAL const mts_fused_params *p, \
                     fused_group g, SPACE const real *planes, mts_u32 pitch, GLOBAL const mts_u32 *list, mts_u32 count, \
                     LOCAL_PTR float *kept, const int size, const int stride) {                              \
        mts_u32 x = 0;                                                                                       \
        for (; BLOCKS_OF_TWO && x + VEC < p->w; x += 2 * VEC) {                                              \
            const mts_u32 step = mts_least(VEC, p->w - VEC - x), after = x + step + VEC;                     \
            if (inner && size == 3 && x * stride >= p->left && (after - 1) * stride + size <= p->in_w + p->left) { \
                name##_strip(pool, params, p, g, planes, pitch, list, count, kept, x, step, size, stride, 2, 0); \
            } else {                                                                                         \
                name##_strip(pool, params, p, g, planes, pitch, list, count, kept, x, step, size, stride, 2, 1); \
            }                                                                                                \
        }                                                                                                    \
        for (; x < p->w; x += VEC)                                                                           \
            name##_strip(pool, params, p, g, planes, pitch, list, count, kept,                               \
                         p->w > VEC ? mts_least(x, p->w - VEC) : 0, VEC, size, stride, 1, 1);                \
    }
#endif
DEPTHWISE_OF(depthwise_of_act, GLOBAL, mts_real, block_of_act, 0, 1)
DEPTHWISE_OF(depthwise_of_taken, LOCAL_PTR, float, block_of_taken, 1, 0)
/* clang-format on */

/* A function that is not simple, of what was kept of these channels. */
INLINE void depthwise_finish(GLOBAL const mts_u32 *params, GLOBAL const mts_fused_params *p, fused_group g,
                             GLOBAL const mts_u32 *list, mts_u32 count, LOCAL_PTR float *kept) {
    const mts_u32 pitch = MTS_FUSED_KEPT(p->part, p->row, VEC), end = g.rows * p->row;
    if (mts_fn_is_simple(p->between.fn)) return;
    for (mts_u32 i = 0; i < count; i++) {
        LOCAL_PTR float *plane = kept + params[p->between.index + (p->expands > 0 ? list[i] : i)] * pitch;
        for (mts_u32 x = g.item * VEC; x < end; x += g.items * VEC)
            mts_vec_put(plane + x, fused_function(p->between.fn, mts_vec_get(plane + x), p->between.a, p->between.b));
    }
}

/* ---- the 1 x 1 convolutions: rows x vectors of sums ---- */

/* clang-format off */
#define PRODUCT_START(r, j) if (j < nv) acc[r][j] = mts_vec_splat(0.0f);
#define PRODUCT_START_ROW(r) if (r < rows) { EACH_VECTOR(PRODUCT_START, r) }
#define PRODUCT_ACT(at, j) if (j < nv) x[j] = FROM_ACT(at + j * step);
#define PRODUCT_KEPT(at, j) if (j < nv) x[j] = FROM_KEPT(at + j * step);
#define PRODUCT_NEXT(at, j) if (j < nv) mts_fetch(at + (nv + j) * step, 0);
#define PRODUCT_FMA(r, j) if (j < nv) acc[r][j] = mts_vec_fma(x[j], w, acc[r][j]);
#define PRODUCT_FMA_ROW(r) if (r < rows) { const mts_vec w = mts_vec_splat(mts_load(weight + r)); EACH_VECTOR(PRODUCT_FMA, r) }
/* nv vectors, `step` apart, of all rows of a job; `in`: of its channel 0. ahead: the
   next ones will be wanted. */
#define PRODUCT_OF(name, SPACE, real, GET)                                                                   \
    INLINE void name(SPACE const real *in, mts_u32 pitch, mts_u32 step, GLOBAL const mts_real *pool,         \
                     GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, mts_vec (*acc)[NV_MOST], \
                     const int rows, const int nv, const int ahead) {                                        \
        GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment); \
        EACH_ROW(PRODUCT_START_ROW)                                                                          \
        for (mts_u32 s = job->segments; s; s--, segment++) {                                                 \
            GLOBAL const mts_real *weight = pool + segment->weight_a;                                        \
            SPACE const real *at = in + segment->channel * pitch;                                            \
            for (mts_u32 n = segment->count; n; n--) {                                                       \
                mts_vec x[NV_MOST];                                                                          \
                EACH_VECTOR(PRODUCT_##GET, at)                                                               \
                if (ahead) { EACH_VECTOR(PRODUCT_NEXT, at) }                                                 \
                mts_fetch(weight + MTS_FETCH_STEPS * rows, 0);                                               \
                EACH_ROW(PRODUCT_FMA_ROW)                                                                    \
                weight += rows;                                                                              \
                at += pitch;                                                                                 \
            }                                                                                                \
        }                                                                                                    \
    }
PRODUCT_OF(product_of_act, GLOBAL, mts_real, ACT)
PRODUCT_OF(product_of_kept, LOCAL_PTR, float, KEPT)

#define PRODUCT_COPY(r, j) if (j < nv) sum[r][j] = acc[r][j];
#define PRODUCT_COPY_ROW(r) if (r < rows) { EACH_VECTOR(PRODUCT_COPY, r) }
#define END_ROW(r) if (r < rows) end_row(act, pool, params, e, mask, sum[r], at, r, nv, 1);
/* clang-format on */

/* Where vectors of sums go: `to` of local memory, or the arena (to is then not used). */
typedef struct fused_place {
    LOCAL_PTR float *to;
    mts_u32 pitch, step, pixel;
} fused_place;

/* Row r of an expanded channel into local memory, or of an output. */
INLINE void end_row(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                    GLOBAL const mts_epilogue_params *e, mts_u32 mask, const mts_vec *sum, fused_place at, int r, int nv,
                    const int simple) {
    const fused_end end = fused_end_of(pool, e, r);
    GLOBAL mts_real *out = act + e->out + params[e->index + r] * e->out_pitch + at.pixel;
    GLOBAL const mts_real *res = act + e->res + params[e->index + r] * e->res_pitch + at.pixel;
    for (int j = 0; j < nv; j++) {
        mts_vec v = mts_vec_fma(sum[j], end.scale, end.bias);
        if (!at.to && e->res != MTS_PARAM_NONE) v = mts_vec_add(v, mts_vec_load(res + j * at.step));
        v = simple ? fused_bend(&end, v) : fused_function(end.fn, v, end.a, end.b);
        if (at.to) {
            mts_vec_put(at.to + r * at.pitch + j * at.step, v);
        } else {
            if (mask != MTS_PARAM_NONE) v = mts_vec_keep(mts_vec_load(pool + mask + at.pixel + j * at.step), v);
            mts_vec_store(out + j * at.step, v);
        }
    }
}

/* A CPU walks the rows in a loop, once for all cases; a GPU would pay for sums in
   memory. */
OUTLINE void end_rows(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                      GLOBAL const mts_conv_params *job, mts_vec (*sum)[NV_MOST], fused_place at, int rows, int nv) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    const mts_u32 mask = job->mask;
    const int simple = mts_fn_is_simple(e->fn);
    if (VEC == 1 && simple) {
        EACH_ROW(END_ROW)
    } else {
        NO_UNROLL for (int r = 0; r < rows; r++) end_row(act, pool, params, e, mask, sum[r], at, r, nv, simple);
    }
}

/* nv vectors of a job's rows, whose channel 0 of the first one lies at `in`, or at
   `kept`. */
INLINE void fused_take(GLOBAL mts_real *act, GLOBAL const mts_real *in, mts_u32 in_pitch, GLOBAL const mts_real *pool,
                       GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, fused_place at, const int rows,
                       const int nv) {
    mts_vec acc[ROWS_MOST][NV_MOST], sum[ROWS_MOST][NV_MOST];
    product_of_act(in, in_pitch, at.step, pool, params, job, acc, rows, nv, 1);
    EACH_ROW(PRODUCT_COPY_ROW)
    end_rows(act, pool, params, job, sum, at, rows, nv);
}

INLINE void fused_store(GLOBAL mts_real *act, LOCAL_PTR const float *kept, mts_u32 kept_pitch, GLOBAL const mts_real *pool,
                        GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, fused_place at, const int rows,
                        const int nv) {
    mts_vec acc[ROWS_MOST][NV_MOST], sum[ROWS_MOST][NV_MOST];
    product_of_kept(kept, kept_pitch, at.step, pool, params, job, acc, rows, nv, 0);
    EACH_ROW(PRODUCT_COPY_ROW)
    end_rows(act, pool, params, job, sum, at, rows, nv);
}

INLINE void fused_take_case(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                            GLOBAL const mts_fused_params *p, GLOBAL const mts_conv_params *job, fused_group g,
                            LOCAL_PTR float *to, mts_u32 pitch, const int rows) {
    const int nv = VEC == 1 ? 1 : NV_MOST;
    const mts_u32 end = (g.above - g.low) * p->in_row;
    GLOBAL const mts_real *in = act + p->in + g.low * p->in_row;
    fused_place at;
    at.pitch = pitch;
    at.step = g.items * VEC;
    at.pixel = g.item * VEC;
    for (; at.pixel + (nv - 1) * at.step < end; at.pixel += nv * at.step) {
        at.to = to + at.pixel;
        fused_take(act, in + at.pixel, p->in_pitch, pool, params, job, at, rows, nv);
    }
    for (; nv > 1 && at.pixel < end; at.pixel += at.step) {
        at.to = to + at.pixel;
        fused_take(act, in + at.pixel, p->in_pitch, pool, params, job, at, rows, 1);
    }
}

/* ---- a part ---- */

/* Takes a chunk of expanded channels, if there are such; returns how many. */
INLINE mts_u32 fused_expand(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                            GLOBAL const mts_fused_params *p, fused_group g, GLOBAL const mts_conv_params *job,
                            LOCAL_PTR float *taken) {
    const mts_u32 pitch = MTS_FUSED_TAKEN(p->part, p->stride, p->size, p->in_row, VEC);
    taken += VEC;
#define CASE(a)                                                                                              \
    case a: fused_take_case(act, pool, params, p, job, g, taken, pitch, a); break;
    switch (job->rows_a) { CASES }
#undef CASE
    return job->rows_a;
}

/* clang-format off */
#define SHAPE(call, expands, ...)                                                                            \
    switch (MTS_FUSED_SHAPE(p->size, p->stride, expands)) {                                                  \
    case MTS_FUSED_SHAPE(3, 1, expands): if (SHAPES >> MTS_FUSED_SHAPE(3, 1, expands) & 1) call(__VA_ARGS__, 3, 1); break; \
    case MTS_FUSED_SHAPE(3, 2, expands): if (SHAPES >> MTS_FUSED_SHAPE(3, 2, expands) & 1) call(__VA_ARGS__, 3, 2); break; \
    case MTS_FUSED_SHAPE(5, 1, expands): if (SHAPES >> MTS_FUSED_SHAPE(5, 1, expands) & 1) call(__VA_ARGS__, 5, 1); break; \
    case MTS_FUSED_SHAPE(5, 2, expands): if (SHAPES >> MTS_FUSED_SHAPE(5, 2, expands) & 1) call(__VA_ARGS__, 5, 2); break; \
    }
/* clang-format on */

/* nv vectors of all jobs, so that what was kept of them is in the first level cache.
   from: pixel 0 of what was kept. */
INLINE void fused_vectors(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                          GLOBAL const mts_fused_params *p, LOCAL_PTR const float *kept, fused_place at, mts_u32 from,
                          const int nv) {
    const mts_u32 pitch = MTS_FUSED_KEPT(p->part, p->row, VEC);
    for (mts_u32 i = 0; i < p->jobs; i++) {
        GLOBAL const mts_conv_params *job = (GLOBAL const mts_conv_params *)(params + params[p->job + i]);
#define CASE(a)                                                                                              \
    case a: fused_store(act, kept + (at.pixel - from), pitch, pool, params, job, at, a, nv); break;
        switch (job->rows_a) { CASES }
#undef CASE
    }
}

INLINE void fused_project(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                          GLOBAL const mts_fused_params *p, fused_group g, LOCAL_PTR const float *kept) {
    const int last = g.rows > 0 && g.y + g.rows == p->h, nv = VEC == 1 ? 1 : NV_MOST;
    const mts_u32 from = g.y * p->row;
    const mts_u32 pixels = ((GLOBAL const mts_conv_params *)(params + params[p->job]))->pixels;
    const mts_u32 end = last ? pixels : from + g.rows * p->row;
    fused_place at;
    at.to = 0;
    at.pitch = 0;
    at.step = g.items * VEC;
    at.pixel = from + g.item * VEC;
    for (; at.pixel + (nv - 1) * at.step < end; at.pixel += nv * at.step)
        fused_vectors(act, pool, params, p, kept, at, from, nv);
    for (; nv > 1 && at.pixel < end; at.pixel += at.step) fused_vectors(act, pool, params, p, kept, at, from, 1);
    for (mts_u32 i = 0; i < p->jobs; i++) {
        GLOBAL const mts_conv_params *job = (GLOBAL const mts_conv_params *)(params + params[p->job + i]);
        GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
        for (mts_u32 r = 0; r < job->rows_a; r++)
            mts_epilogue_border(act, e, params[e->index + r], pixels, g.rows > 0 && g.y == 0, last, g.item, g.items);
    }
}

KERNEL void fused_rows__f32_planar(MTS_ARGS) {
    LOCAL_SCRATCH(scratch, SCRATCH);
    GLOBAL const mts_fused_params *p = MTS_MEMBER(mts_fused_params);
    LOCAL_PTR float *kept = (LOCAL_PTR float *)scratch;
    LOCAL_PTR float *taken = kept + p->channels * MTS_FUSED_KEPT(p->part, p->row, VEC);
    const mts_u32 pitch = MTS_FUSED_TAKEN(p->part, p->stride, p->size, p->in_row, VEC);
    const mts_u32 chunks = p->expands > 0 ? p->expands : 1;
    fused_group g;
    g.item = mts_local_id(0);
    g.items = mts_local_size(0);
    g.y = mts_group_id(0) * p->part;
    g.rows = g.y < p->h ? mts_least(p->h - g.y, p->part) : 0;
    g.low = g.y * p->stride > p->top ? g.y * p->stride - p->top : 0;
    g.above = mts_least((g.y + g.rows - 1) * p->stride + p->size - p->top, p->in_h);
    if (g.rows == 0 || (g.y + g.rows - 1) * p->stride + p->size <= p->top || g.above < g.low) g.above = g.low;
    for (mts_u32 i = 0; i < chunks; i++) {
        GLOBAL const mts_conv_params *job = (GLOBAL const mts_conv_params *)(params + params[p->expands > 0 ? p->expand + i : 0]);
        GLOBAL const mts_u32 *list = params;
        mts_u32 count = p->channels;
        if (p->expands > 0) {
            list += ((GLOBAL const mts_epilogue_params *)(params + job->epilogue))->index;
            count = fused_expand(act, pool, params, p, g, job, taken);
        }
        BARRIER();
        count = g.rows > 0 ? count : 0;
        if (p->expands > 0) {
            SHAPE(depthwise_of_taken, 1, pool, params, p, g, taken + VEC - g.low * p->in_row, pitch, list, count, kept)
        } else {
            SHAPE(depthwise_of_act, 0, pool, params, p, g, act + p->in, p->in_pitch, list, count, kept)
        }
        BARRIER();
        depthwise_finish(params, p, g, list, count, kept);
    }
    BARRIER();
    fused_project(act, pool, params, p, g, kept);
}

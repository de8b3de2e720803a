/*
 * conv_tile: the stitched convolution, one work-group per tile.
 *
 * Responsible for dense and grouped convolutions of any kernel size, dilation and
 * (through phases) stride, of many tasks in one launch: it walks a tile's K segments,
 * keeps rows x pixels in registers and runs the epilogues. Not responsible for which
 * tiles exist: the host (sdk/stitch, sdk/lower) writes the kernel parameters.
 *
 * A tile is `rows` output channels (rows_a with weights of one block, rows_b of another)
 * by `tile` flattened pixels. Its pixels are cut into vectors of VEC; with L work-items
 * in the group, item l owns vectors l, l + L, l + 2 L, ... (neighbours read neighbours),
 * NV of them at a time:
 *
 *     act + in + c in_pitch + tap[k] ->   | v 0 | v 1 | .. | v NV-1 |   input, read once for all rows
 *     pool + weight_a: w[c][k][0..rows_a-1]  x    scalar broadcasts, read once for NV vectors
 *     pool + weight_b: w[c][k][0..rows_b-1]  =    rows x NV accumulators in registers
 *
 * On GPUs (VEC=1) rows are rounded up, so that two cases are left: (4, 0), and (4, 4) for
 * five to eight rows of one block and for up to four of each of two. What the surplus rows
 * sum up is not stored; up to three numbers behind a block's weights are read for them.
 *
 * A GPU of OpenCL takes four neighbouring pixels, and the weights of four rows, in one
 * load each (CONV_HAS_QUADS): 32 multiply-adds for three loads, and one of a tap where there
 * are several. Pixels that do not fill such rounds go one by one, side by side. CUDA has no
 * loads of vectors that begin at any number, so that its pixels are as above.
 *
 * Tunables: CASES, the (rows_a, rows_b) pairs that occur in the launch, e.g.
 * -DCASES=CASE(8,0)CASE(5,1); a tile with another pair is not computed. NV(rows): vectors
 * at a time. TAPS: fixed number of kernel positions, 0 if it varies.
 */
#define CONV_ROUNDS (VEC == 1)
#ifdef mts_quad_load
#define CONV_HAS_QUADS 1
#else
#define CONV_HAS_QUADS 0
#endif
#ifndef CASES
#if CONV_ROUNDS
#define CASES CASE(4, 0) CASE(4, 4)
#else
#define CASES CASE(1, 0) CASE(2, 0) CASE(3, 0) CASE(4, 0) CASE(5, 0) CASE(6, 0) CASE(7, 0) CASE(8, 0)
#endif
#endif
#if CONV_HAS_QUADS
#define NV(rows) 4 /* a quad */
#endif
#ifndef NV
#define NV_FIT(rows) ((REGS - 1) / ((rows) + 1))
#if CONV_ROUNDS
#define NV_MOST 4 /* usual tiles have no more; what is left of them goes one by one */
#else
#define NV_MOST 8
#endif
#define NV(rows) (NV_FIT(rows) > NV_MOST ? NV_MOST : NV_FIT(rows) < 1 ? 1 : NV_FIT(rows)) /* 1 to 8 */
#endif
#ifndef TAPS
#define TAPS 0 /* 0, 1, 9 */
#endif

/*
 * Loops over the rows and vectors of a case are written out and pruned by constant
 * conditions: not every compiler unrolls a loop nest early enough to keep an array in
 * registers. x is handed to M.
 */
#define CONV_ROWS_MOST 16
#define CONV_NV_MOST 8
#define EACH_VECTOR(M, x) M(x, 0) M(x, 1) M(x, 2) M(x, 3) M(x, 4) M(x, 5) M(x, 6) M(x, 7)
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)

/* What a work-item needs of its tile. */
typedef struct conv_place {
    mts_u32 pixel; /* of its first vector */
    mts_u32 step;  /* pixels from one of its vectors to the next */
    mts_u32 end;   /* of the tile's pixels */
#if CONV_HAS_QUADS
    mts_u32 item, items;
#endif
} conv_place;

#if CONV_HAS_QUADS
/* The pixels that a work-item has in one round of its group. */
typedef struct conv_round {
    mts_u32 pixel, step, count; /* count: 0, 1 or 4 */
    mts_u32 next;               /* where the next round begins */
} conv_round;

/* The round that begins with pixel `base`: quads where they keep half of the work-items
   busy. */
INLINE conv_round conv_take(mts_u32 base, conv_place at) {
    const mts_u32 left = at.end - base, quads = left / 4 < at.items ? left / 4 : at.items;
    conv_round r = {base + at.item, at.items, base + at.item < at.end ? 1 : 0, base + at.items};
    if (quads && 2 * quads >= at.items) {
        r.pixel = base + 4 * at.item;
        r.step = 1;
        r.count = at.item < quads ? 4 : 0;
        r.next = base + 4 * quads;
    }
    return r;
}
#endif

/*
 * Between the segments and in the epilogue a CPU keeps the sums in memory: it walks rows
 * in a loop, so that the program stays small, and no value but the sums is alive in the
 * loop that counts. A GPU would pay for memory.
 */
#ifndef CONV_SUMS_IN_MEMORY
#define CONV_SUMS_IN_MEMORY (VEC > 1)
#endif

/*
 * Whether a single epilogue is done in the registers that hold the sums. A program with
 * all cases does that where rows are of one block only: most layers' are, and it is most
 * of a case's code.
 */
#ifdef MTS_DIALECT_C
#define CONV_ENDS_IN_REGISTERS(rb) ((rb) == 0)
#else
#define CONV_ENDS_IN_REGISTERS(rb) 1
#endif

/*
 * What the rows of a tile end with: the first epilogue, looked up once for all vectors of
 * the tile.
 */
typedef struct conv_end {
    int alone, adds, bends; /* whether it is the only one, has a residual, has a slope */
    float low, high;
    float scale[CONV_ROWS_MOST], bias[CONV_ROWS_MOST], slope[CONV_ROWS_MOST];
    GLOBAL mts_real *out[CONV_ROWS_MOST];
    GLOBAL const mts_real *res[CONV_ROWS_MOST];
} conv_end;

/*
 * What rounding of rows changes: how far the weights of a step lie from the next one's,
 * the weights of the second four rows, and which of its rows a tile has, by what number.
 */
#if CONV_ROUNDS
#define CONV_STRIDE_A job->rows_a
#define CONV_STRIDE_B (job->rows_b ? job->rows_b : job->rows_a)
#define CONV_WEIGHT_B (rb && job->rows_b ? pool + segment->weight_b : wa + 4)
#define CONV_HAS_ROW(r) ((r) < rows && ((r) < 4 ? (r) < first_rows : conv_row(r) < job->rows_a + job->rows_b))
#define conv_row(r) ((r) < 4 ? (r) : (r) - 4 + first_rows)
#define CONV_FIRST_ROWS const mts_u32 first_rows = job->rows_a < 4 ? job->rows_a : 4;
#define CONV_CASE_OF (job->rows_a + job->rows_b <= 4 && job->rows_b == 0 ? 4 * 256 : 4 * 256 + 4)
#else
#define CONV_STRIDE_A ra
#define CONV_STRIDE_B rb
#define CONV_WEIGHT_B pool + (rb ? segment->weight_b : 0)
#define CONV_HAS_ROW(r) r < rows
#define conv_row(r) r
#define CONV_FIRST_ROWS
#define CONV_CASE_OF job->rows_a * 256 + job->rows_b
#endif

/* clang-format off */
#define CONV_START(r, j) if (r < ra + rb && j < nv) acc[r][j] = mts_vec_splat(0.0f);
#define CONV_START_ROW(r) EACH_VECTOR(CONV_START, r)
#define CONV_GET(r, j) if (r < ra + rb && j < nv) acc[r][j] = sum[r][j];
#define CONV_GET_ROW(r) EACH_VECTOR(CONV_GET, r)
#define CONV_PUT(r, j) if (r < ra + rb && j < nv) sum[r][j] = acc[r][j];
#define CONV_PUT_ROW(r) EACH_VECTOR(CONV_PUT, r)
#define CONV_LOAD(x, j) if (j < nv) in[j] = mts_vec_load(x + j * step);
#define CONV_NEXT(x, j) if (j < nv) mts_fetch(x + (nv + j) * step, 0);
#define CONV_FMA(r, j) if (j < nv) acc[r][j] = mts_vec_fma(in[j], w, acc[r][j]);
#define CONV_FMA_ROW(r)                                                                                      \
    if (r < ra + rb) {                                                                                       \
        const mts_vec w = mts_vec_splat(r < ra ? mts_load(wa + r) : mts_load(wb + (r - ra)));                \
        EACH_VECTOR(CONV_FMA, r)                                                                             \
    }
#if CONV_HAS_QUADS
#define CONV_PUT_QUAD(to, v) (to)[0] = (v).s0, (to)[1] = (v).s1, (to)[2] = (v).s2, (to)[3] = (v).s3
#define CONV_QUAD_FMA(r, j) acc[r][j] = mts_vec_fma(in[j], w[r], acc[r][j]);
#define CONV_QUAD_ROW(r) CONV_QUAD_FMA(r, 0) CONV_QUAD_FMA(r, 1) CONV_QUAD_FMA(r, 2) CONV_QUAD_FMA(r, 3)
#define CONV_QUAD_STEP(at)                                                                                   \
    const mts_quad four = mts_quad_load(at), of_a = mts_quad_load(wa);                                       \
    float in[4], w[8];                                                                                       \
    CONV_PUT_QUAD(in, four);                                                                                 \
    CONV_PUT_QUAD(w, of_a);                                                                                  \
    CONV_QUAD_ROW(0) CONV_QUAD_ROW(1) CONV_QUAD_ROW(2) CONV_QUAD_ROW(3)                                      \
    if (rb) {                                                                                                \
        const mts_quad of_b = mts_quad_load(wb);                                                             \
        CONV_PUT_QUAD(w + 4, of_b);                                                                          \
        CONV_QUAD_ROW(4) CONV_QUAD_ROW(5) CONV_QUAD_ROW(6) CONV_QUAD_ROW(7)                                  \
    }                                                                                                        \
    wa += stride_a;                                                                                          \
    wb += stride_b;
#endif
/* clang-format on */

#if CONV_HAS_QUADS
/* acc += one segment, of four neighbouring pixels; a loop of one tap loads none. */
INLINE void conv_quads(GLOBAL const mts_real *x, GLOBAL const mts_real *wa, GLOBAL const mts_real *wb, mts_u32 stride_a,
                       mts_u32 stride_b, GLOBAL const mts_i32 *tap, mts_u32 taps, mts_u32 count, mts_u32 pitch,
                       mts_vec acc[CONV_ROWS_MOST][CONV_NV_MOST], const int rb) {
    if (taps == 1) {
        x += tap[0];
        for (mts_u32 n = count; n; n--) {
            CONV_QUAD_STEP(x)
            x += pitch;
        }
        return;
    }
    mts_u32 k = 0;
    for (mts_u32 n = count * taps; n; n--) {
        CONV_QUAD_STEP(x + tap[k])
        k++;
        x += k == taps ? pitch : 0;
        k = k == taps ? 0 : k;
    }
}
#endif

/* acc += one segment. One loop over channels and taps: of a nest, compilers move the sums
   about between the inner loops. */
#define CONV_LOOP                                                                                            \
    for (mts_u32 n = count * taps; n; n--) {                                                                 \
        GLOBAL const mts_real *at = x + tap[k];                                                              \
        mts_vec in[CONV_NV_MOST];                                                                            \
        EACH_VECTOR(CONV_LOAD, at)                                                                           \
        EACH_VECTOR(CONV_NEXT, at)                                                                           \
        mts_fetch(wa + MTS_FETCH_STEPS * ra, 0);                                                             \
        EACH_ROW(CONV_FMA_ROW)                                                                               \
        wa += CONV_STRIDE_A;                                                                                 \
        wb += CONV_STRIDE_B;                                                                                 \
        k++;                                                                                                 \
        x += k == taps ? pitch : 0;                                                                          \
        k = k == taps ? 0 : k;                                                                               \
    }

/* clang-format off */
#define CONV_MASK(mask, j) if (j < nv) inside[j] = mts_vec_load(mask + j * step);
#define CONV_ALL(unused, j) if (j < nv) inside[j] = mts_vec_splat(1.0f);
#define CONV_SCALE(from, j) if (j < nv) v[j] = mts_vec_fma(from[j], scale, bias);
#define CONV_RES(res, j) if (j < nv) v[j] = mts_vec_add(v[j], mts_vec_load(res + j * step));
#define CONV_LOW(r, j) if (j < nv) v[j] = mts_vec_max(low, v[j]);
#define CONV_BEND(negative, j) if (j < nv) v[j] = mts_vec_min(high, mts_vec_max(low, mts_vec_slope(v[j], negative)));
#define CONV_STORE(out, j) if (j < nv) mts_vec_store(out + j * step, mts_vec_keep(inside[j], v[j]));
#if CONV_HAS_QUADS
#define CONV_QUAD_GET(to, p) { const mts_quad four = mts_quad_load(p); CONV_PUT_QUAD(to, four); }
#define CONV_QUAD_SUM(to, p) { const mts_quad four = mts_quad_load(p); (to)[0] += four.s0, (to)[1] += four.s1, (to)[2] += four.s2, (to)[3] += four.s3; }
#define CONV_MASK_ALL(mask) if (nv == 4) CONV_QUAD_GET(inside, mask) else inside[0] = mts_load(mask);
#define CONV_RES_ALL(res) if (nv == 4) CONV_QUAD_SUM(v, res) else v[0] += mts_load(res);
#define CONV_KEPT(j) mts_vec_keep(inside[j], v[j])
#define CONV_STORE_ALL(out)                                                                                  \
    if (nv == 4)                                                                                             \
        mts_quad_store(out, ((mts_quad)(CONV_KEPT(0), CONV_KEPT(1), CONV_KEPT(2), CONV_KEPT(3))));           \
    else                                                                                                     \
        mts_store(out, CONV_KEPT(0));
#else
#define CONV_MASK_ALL(mask) EACH_VECTOR(CONV_MASK, mask)
#define CONV_RES_ALL(res) EACH_VECTOR(CONV_RES, res)
#define CONV_STORE_ALL(out) EACH_VECTOR(CONV_STORE, out)
#endif
#define CONV_STORE_SUMS(r, from)                                                                                                            \
    if (CONV_HAS_ROW(r)) {                                                                                                                  \
        const mts_vec scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + conv_row(r))));                 \
        const mts_vec bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + conv_row(r))));                    \
        GLOBAL mts_real *out = act + e->out + index[conv_row(r)] * e->out_pitch + pixel;                                                    \
        mts_vec v[CONV_NV_MOST];                                                                                                            \
        EACH_VECTOR(CONV_SCALE, from)                                                                                                       \
        if (e->res != MTS_PARAM_NONE) {                                                                                                     \
            GLOBAL const mts_real *res = act + e->res + index[conv_row(r)] * e->res_pitch + pixel;                                          \
            CONV_RES_ALL(res)                                                                                                               \
        }                                                                                                                                   \
        if (e->fn > MTS_FN_RELU) {                                                                                                          \
            const mts_vec negative = mts_vec_splat(e->slope == MTS_PARAM_NONE ? slope : mts_load(pool + (e->slope + conv_row(r))));         \
            EACH_VECTOR(CONV_BEND, negative)                                                                                                \
        } else {                                                                                                                            \
            EACH_VECTOR(CONV_LOW, r)                                                                                                        \
        }                                                                                                                                   \
        CONV_STORE_ALL(out)                                                                                                                 \
    }
#define CONV_STORE_ROW(r) CONV_STORE_SUMS(r, sum[r])
#define CONV_PICK(n) if (n < rows && r == n) picked[0] = sum[n][0];
/* clang-format on */

/* One epilogue; functions that are not simple are left to conv_finish. */
INLINE void conv_store(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                       GLOBAL const mts_conv_params *job, GLOBAL const mts_epilogue_params *e, mts_u32 pixel, mts_u32 step,
                       mts_vec sum[CONV_ROWS_MOST][CONV_NV_MOST], const int rows, const int nv) {
    GLOBAL const mts_u32 *index = params + e->index;
    const mts_vec low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b)), high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    const float slope = mts_fn_slope(e->fn, e->a);
    CONV_FIRST_ROWS
    mts_vec inside[CONV_NV_MOST];
    if (job->mask != MTS_PARAM_NONE) {
        GLOBAL const mts_real *mask = pool + job->mask + pixel;
        CONV_MASK_ALL(mask)
    } else {
        EACH_VECTOR(CONV_ALL, 0)
    }
#if CONV_SUMS_IN_MEMORY
    NO_UNROLL for (int r = 0; r < rows; r++) { CONV_STORE_ROW(r) }
#else
    if (nv > 1) {
        EACH_ROW(CONV_STORE_ROW)
        return;
    }
    /* the last vectors of a tile: their code is not written out for each row */
    NO_UNROLL for (int r = 0; r < rows; r++) {
        mts_vec picked[CONV_NV_MOST]; /* one is used */
        picked[0] = sum[0][0];
        EACH_ROW(CONV_PICK)
        CONV_STORE_SUMS(r, picked)
    }
#endif
}

/* All of them, of a number of vectors that only a program compiled once for all cases
   does not know. */
OUTLINE void conv_epilogues(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                            GLOBAL const mts_conv_params *job, mts_u32 pixel, mts_u32 step,
                            mts_vec sum[CONV_ROWS_MOST][CONV_NV_MOST], const int rows, const int nv) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
#ifdef MTS_DIALECT_C
#define CONV_STORE_NV(x, n)                                                                                  \
    case (n) + 1: conv_store(act, pool, params, job, e, pixel, step, sum, rows, (n) + 1); break;
        switch (nv) { EACH_VECTOR(CONV_STORE_NV, 0) }
#else
        conv_store(act, pool, params, job, e, pixel, step, sum, rows, nv);
#endif
    }
}

#if CONV_SUMS_IN_MEMORY
INLINE void conv_end_open(conv_end *end, GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                          GLOBAL const mts_conv_params *job) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    GLOBAL const mts_u32 *index = params + e->index;
    end->alone = job->epilogues == 1;
    end->adds = e->res != MTS_PARAM_NONE;
    end->bends = mts_fn_bends(e->fn);
    end->low = mts_fn_low(e->fn, e->a, e->b);
    end->high = mts_fn_high(e->fn, e->b);
    for (mts_u32 r = 0; r < job->rows_a + job->rows_b; r++) {
        end->scale[r] = e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + r));
        end->bias[r] = e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + r));
        end->slope[r] = e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + (e->slope + r));
        end->out[r] = act + e->out + index[r] * e->out_pitch;
        end->res[r] = act + (end->adds ? e->res + index[r] * e->res_pitch : 0);
    }
}

/* What the epilogue will touch. Of many epilogues the first: more would push the input
   out of the cache. */
OUTLINE void conv_expect(const conv_end *end, mts_u32 pixel, mts_u32 step, const int rows, const int nv) {
    NO_UNROLL for (int r = 0; r < rows; r++) {
        for (int j = 0; j < nv; j++) mts_fetch(end->out[r] + pixel + j * step, 1);
        if (end->adds)
            for (int j = 0; j < nv; j++) mts_fetch(end->res[r] + pixel + j * step, 0);
    }
}
#endif

/* clang-format off */
#define CONV_ENDS(r, j) if (j < nv) acc[r][j] = mts_vec_fma(acc[r][j], scale, bias);
#define CONV_ENDS_ROW(r)                                                                                     \
    if (r < ra + rb) {                                                                                       \
        const mts_vec scale = mts_vec_splat(end->scale[r]), bias = mts_vec_splat(end->bias[r]);              \
        EACH_VECTOR(CONV_ENDS, r)                                                                            \
    }
#define CONV_ADDS(r, j) if (j < nv) acc[r][j] = mts_vec_add(acc[r][j], mts_vec_load(end->res[r] + pixel + j * step));
#define CONV_ADDS_ROW(r) if (r < ra + rb) { EACH_VECTOR(CONV_ADDS, r) }
#define CONV_BENDS(r, j) if (j < nv) acc[r][j] = mts_vec_slope(acc[r][j], slope);
#define CONV_BENDS_ROW(r)                                                                                    \
    if (r < ra + rb) {                                                                                       \
        const mts_vec slope = mts_vec_splat(end->slope[r]);                                                  \
        EACH_VECTOR(CONV_BENDS, r)                                                                           \
    }
#define CONV_STORES(r, j)                                                                                    \
    if (j < nv)                                                                                              \
        mts_vec_store(end->out[r] + pixel + j * step,                                                        \
                      mts_vec_keep(inside[j], mts_vec_min(high, mts_vec_max(low, acc[r][j]))));
#define CONV_STORES_ROW(r) if (r < ra + rb) { EACH_VECTOR(CONV_STORES, r) }
/* clang-format on */

/* nv vectors of pixels. */
INLINE void conv_vectors(const conv_end *end, GLOBAL mts_real *act, GLOBAL const mts_real *pool,
                         GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, mts_u32 pixel, mts_u32 step,
                         const int ra, const int rb, const int nv) {
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    GLOBAL const mts_i32 *tap = (GLOBAL const mts_i32 *)(params + job->tap);
    const mts_u32 taps = TAPS ? TAPS : job->taps, pitch = job->in_pitch;
    mts_vec acc[CONV_ROWS_MOST][CONV_NV_MOST];
#if CONV_SUMS_IN_MEMORY
    conv_expect(end, pixel, step, ra + rb, nv);
#endif
    EACH_ROW(CONV_START_ROW)
    for (mts_u32 s = job->segments; s; s--, segment++) {
        GLOBAL const mts_real *x = act + job->in + segment->channel * pitch + pixel;
        GLOBAL const mts_real *wa = pool + segment->weight_a, *wb = CONV_WEIGHT_B;
        const mts_u32 count = segment->count;
#if CONV_HAS_QUADS
        if (nv == 4) {
            conv_quads(x, wa, wb, CONV_STRIDE_A, CONV_STRIDE_B, tap, taps, count, pitch, acc, rb);
            continue;
        }
#endif
        mts_u32 k = 0;
        CONV_LOOP
    }
#if CONV_SUMS_IN_MEMORY
    if (end->alone && CONV_ENDS_IN_REGISTERS(rb)) {
        const mts_vec low = mts_vec_splat(end->low), high = mts_vec_splat(end->high);
        mts_vec inside[CONV_NV_MOST];
        EACH_ROW(CONV_ENDS_ROW)
        if (end->adds) { EACH_ROW(CONV_ADDS_ROW) }
        if (end->bends) { EACH_ROW(CONV_BENDS_ROW) }
        if (job->mask != MTS_PARAM_NONE) {
            GLOBAL const mts_real *mask = pool + job->mask + pixel;
            CONV_MASK_ALL(mask)
        } else {
            EACH_VECTOR(CONV_ALL, 0)
        }
        EACH_ROW(CONV_STORES_ROW)
        return;
    }
    mts_vec sum[CONV_ROWS_MOST][CONV_NV_MOST];
    EACH_ROW(CONV_PUT_ROW)
    conv_epilogues(act, pool, params, job, pixel, step, sum, ra + rb, nv);
#else
    conv_epilogues(act, pool, params, job, pixel, step, acc, ra + rb, nv);
#endif
}

#ifdef MTS_DIALECT_C
/* sum += one segment. */
INLINE void conv_segment(GLOBAL const mts_real *x, GLOBAL const mts_real *wa, GLOBAL const mts_i32 *tap, mts_u32 taps,
                         mts_u32 count, mts_u32 pitch, mts_vec sum[CONV_ROWS_MOST][CONV_NV_MOST], const int ra) {
    const int rb = 0, nv = 1;
    const mts_u32 step = VEC;
    GLOBAL const mts_real *wb = wa;
    mts_vec acc[CONV_ROWS_MOST][CONV_NV_MOST];
    mts_u32 k = 0;
    EACH_ROW(CONV_GET_ROW)
    CONV_LOOP
    EACH_ROW(CONV_PUT_ROW)
}

/*
 * A tile whose pair of rows has no case, which a program compiled ahead of time may meet,
 * and the last vectors of one that has: rows_a, then rows_b, vector by vector. The input
 * is read twice.
 */
OUTLINE void conv_part(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                       GLOBAL const mts_conv_params *job, mts_u32 pixel, mts_vec sum[CONV_ROWS_MOST][CONV_NV_MOST],
                       mts_u32 rows, int other) {
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    GLOBAL const mts_i32 *tap = (GLOBAL const mts_i32 *)(params + job->tap);
    for (mts_u32 r = 0; r < rows; r++) sum[r][0] = mts_vec_splat(0.0f);
    for (mts_u32 s = 0; s < job->segments; s++, segment++) {
        GLOBAL const mts_real *x = act + job->in + segment->channel * job->in_pitch + pixel;
        GLOBAL const mts_real *w = pool + (other ? segment->weight_b : segment->weight_a);
#define CONV_PART(r)                                                                                         \
    case (r) + 1: conv_segment(x, w, tap, job->taps, segment->count, job->in_pitch, sum, (r) + 1); break;
        switch (rows) { EACH_ROW(CONV_PART) }
    }
}

OUTLINE void conv_parts(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, conv_place at) {
    for (mts_u32 pixel = at.pixel; pixel < at.end; pixel += at.step) {
        mts_vec sum[CONV_ROWS_MOST][CONV_NV_MOST];
        conv_part(act, pool, params, job, pixel, sum, job->rows_a, 0);
        conv_part(act, pool, params, job, pixel, sum + job->rows_a, job->rows_b, 1);
        conv_epilogues(act, pool, params, job, pixel, at.step, sum, job->rows_a + job->rows_b, 1);
    }
}
#define CONV_OTHER_CASES default: conv_parts(act, pool, params, job, at); break;
#else
#define CONV_OTHER_CASES
#endif

INLINE void conv_case(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                      GLOBAL const mts_conv_params *job, conv_place at, const int ra, const int rb) {
    const int nv = NV(ra + rb);
    conv_end end;
#if CONV_SUMS_IN_MEMORY
    conv_end_open(&end, act, pool, params, job);
#endif
#if CONV_HAS_QUADS
    for (mts_u32 base = at.pixel - at.item; base < at.end;) {
        const conv_round r = conv_take(base, at);
        if (r.count == 4)
            conv_vectors(&end, act, pool, params, job, r.pixel, 1, ra, rb, 4);
        else if (r.count)
            conv_vectors(&end, act, pool, params, job, r.pixel, 1, ra, rb, 1);
        base = r.next;
    }
#else
    for (; at.pixel + (nv - 1) * at.step < at.end; at.pixel += nv * at.step)
        conv_vectors(&end, act, pool, params, job, at.pixel, at.step, ra, rb, nv);
#ifdef MTS_DIALECT_C
    if (rb) {
        conv_parts(act, pool, params, job, at);
        return;
    }
#endif
    for (; at.pixel < at.end; at.pixel += at.step)
        conv_vectors(&end, act, pool, params, job, at.pixel, at.step, ra, rb, 1);
#endif
}

/* Applies the functions that conv_store left out, in place: to what was stored, which
   HALF has rounded. */
INLINE void conv_finish(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, conv_place at) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        if (mts_fn_is_simple(e->fn)) continue;
        for (mts_u32 r = 0; r < job->rows_a + job->rows_b; r++) {
            GLOBAL mts_real *out = act + e->out + params[e->index + r] * e->out_pitch;
#if CONV_HAS_QUADS
            mts_u32 base = at.pixel - at.item;
            while (base < at.end) {
                const conv_round round = conv_take(base, at);
                base = round.next;
                for (mts_u32 n = round.count, p = round.pixel; n; n--, p += round.step)
#else
            {
                for (mts_u32 p = at.pixel; p < at.end; p += at.step)
#endif
                {
                    const mts_vec x = mts_vec_load(out + p);
                    mts_vec v = mts_vec_element(e->fn, x, e->a, e->b);
                    if (job->mask != MTS_PARAM_NONE) v = mts_vec_keep(mts_vec_load(pool + job->mask + p), v);
                    mts_vec_store(out + p, v);
                }
            }
        }
    }
}

/* The zeros around the stored planes: before them, in the rounding after their pixels,
   and after the last one. */
INLINE void conv_border(GLOBAL mts_real *act, GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, mts_u32 first,
                        mts_u32 end, mts_u32 item, mts_u32 items) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        for (mts_u32 r = 0; r < job->rows_a + job->rows_b; r++) {
            mts_epilogue_border(act, e, params[e->index + r], job->pixels, first == 0, end == job->pixels, item, items);
        }
    }
}

#ifdef MTS_DIALECT_C
#include "kernels/conv/conv_lanes.h"
#endif

KERNEL void conv_tile__f32_planar(MTS_ARGS) {
    GLOBAL const mts_tile_params *tile = (GLOBAL const mts_tile_params *)(params + first) + mts_group_id(0);
    GLOBAL const mts_conv_params *job = (GLOBAL const mts_conv_params *)(params + tile->job);
    const mts_u32 left = job->pixels - tile->pixel;
    conv_place at;
    at.end = tile->pixel + (left < job->tile ? left : job->tile);
#ifdef CONV_LANES
    if (job->blocks & MTS_BLOCKS_OUT) {
        conv_lanes_to_blocks(act, pool, params, job, tile->pixel, at.end);
        return;
    }
    if (job->plane) {
        conv_lanes(act, pool, params, job, tile->pixel, at.end);
        return;
    }
#endif
    at.pixel = tile->pixel + mts_local_id(0) * VEC;
    at.step = mts_local_size(0) * VEC;
#if CONV_HAS_QUADS
    at.item = mts_local_id(0);
    at.items = at.step;
#endif

#define CASE(a, b)                                                                                           \
    case (a) * 256 + (b): conv_case(act, pool, params, job, at, a, b); break;
    switch (CONV_CASE_OF) { CASES CONV_OTHER_CASES }
#undef CASE
    conv_finish(act, pool, params, job, at);
    conv_border(act, params, job, tile->pixel, at.end, mts_local_id(0), mts_local_size(0));
}

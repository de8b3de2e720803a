/*
 * conv_winograd: the stitched 3 x 3 convolution of stride 1 by Winograd's F(2 x 2, 3 x
 * 3), one work-item per group.
 *
 * Responsible for dense convolutions of many tasks in one launch on devices whose
 * work-groups have much memory and few work-items (CPUs). What it computes is defined at
 * mts_winograd_params (kernels/abi/params.h); the host has transformed the weights. Not
 * responsible for which layers and tiles come here.
 *
 * A group takes `tile` consecutive tiles of 2 x 2 outputs, VEC tiles a vector, in three
 * passes over its scratch:
 *
 *     1  rows of inputs -> lines (Bt d: four a row of tiles, rows of tiles end to end) -> V[16][vectors][channels]
 *     2  per row block: M[rows][vectors][16] = sum over channels of U[16][channels][rows] V, in registers as conv_tile
 *     3  M -> lines (At M A: two a row of tiles) -> epilogue -> rows of outputs, with the zeros around them
 *
 * The lines make that a vector of tiles may go over the end of a row: small images fill
 * vectors too.
 *
 * Tunables: CASES, the rows of the row blocks that occur, e.g. -DCASES=CASE(13)CASE(12);
 * blocks of other sizes are not computed. SCRATCH: vectors of scratch, at least
 * MTS_WINOGRAD_SCRATCH of the largest group. NV(rows): vectors at a time.
 */
#ifdef PERSIST /* conv_tile has its own before */
#undef CASES
#undef NV
#undef NV_FIT
#undef EACH_VECTOR
#define CASES WINOGRAD_CASES
#endif
#ifndef CASES
#define CASES CASE(1) CASE(2) CASE(3) CASE(4)
#endif
#ifndef SCRATCH
#define SCRATCH 512
#endif
#ifndef NV
#define NV_FIT(rows) ((REGS - 1) / ((rows) + 1))
#define NV(rows) (NV_FIT(rows) > 4 ? 4 : NV_FIT(rows) < 1 ? 1 : NV_FIT(rows)) /* 1 to 4 */
#endif

/*
 * Vectors at any address: READ and WRITE those of an image, LINE and LINE_SET the floats
 * of scratch. Some drivers' vload16 and vstore16 are several small loads and stores.
 */
#if VEC > 1 && defined(__clang__) && !defined(__CUDACC__)
typedef mts_vec wino_any __attribute__((aligned(4)));
#define WINO_LINE(p) (*(LOCAL_PTR const wino_any *)(p))
#define WINO_LINE_SET(p, v) (*(LOCAL_PTR wino_any *)(p) = (v))
#define WINO_SPILL(p, v) (*(wino_any *)(p) = (v))
#else
#define WINO_LINE(p) mts_vec_get(p)
#define WINO_LINE_SET(p, v) mts_vec_put(p, v)
#define WINO_SPILL(p, v) mts_vec_spill(p, v)
#endif
#if VEC > 1 && defined(__clang__) && !defined(__CUDACC__) && !HALF
#define WINO_READ(p) (*(GLOBAL const wino_any *)(p))
#define WINO_WRITE(p, v) (*(GLOBAL wino_any *)(p) = (v))
#else
#define WINO_READ(p) mts_vec_load(p)
#define WINO_WRITE(p, v) mts_vec_store_any(p, v)
#endif

#define WINO_POSITIONS 16
#define WINO_ROWS_MOST MTS_WINOGRAD_ROWS
#define WINO_NV_MOST 4
#define WINO_AHEAD 4 /* channels whose lines are made before they are read: stores have left the store buffer */
#define EACH_VECTOR(M, x) M(x, 0) M(x, 1) M(x, 2) M(x, 3)
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)

/* One vector of a copy between the lines and the rows of an image. */
typedef struct wino_move {
    mts_u32 line, pixel; /* floats from the lines' and the image's start */
    mts_u32 keep;        /* lanes that hold pixels; those behind them become 0 */
    mts_u32 width;       /* lanes to store */
} wino_move;

/* A group's share of its job, and where its scratch lies (in vectors from its start). */
typedef struct wino_place {
    mts_u32 first, end; /* tiles */
    mts_u32 vectors;
    mts_u32 position; /* from one position's V to the next */
    mts_u32 sums;     /* M */
    mts_u32 lines;
    mts_u32 line; /* floats from a line to the next */
    mts_u32 gathers, stores; /* numbers of moves from images and to them, the ones before the others */
    mts_u32 moves;
} wino_place;

/*
 * The moves of every channel. A move may write more than its row where a later one writes
 * the rest: gathers always, as lines have room behind them; stores up to pixel `own`,
 * before which this group writes all that follows, in order.
 */
INLINE wino_place wino_plan(GLOBAL const mts_winograd_params *job, wino_place at, LOCAL_PTR wino_move *move) {
    const mts_u32 whole = 2 * (at.end / job->columns), own = (whole < job->h ? whole : job->h) * job->row;
    mts_u32 y = at.first / job->columns, x = at.first % job->columns, done = 0;
    at.gathers = at.stores = 0;
    for (mts_u32 t = at.first; t < at.end; y++, x = 0) {
        const mts_u32 left = job->columns - x, n = left < at.end - t ? left : at.end - t;
        const mts_u32 columns = 2 * n + (t + n == at.end ? 2 : 0); /* the last tile reads two columns more */
        for (mts_u32 i = 0; i < columns; i += VEC) {
            move[at.gathers].line = done + i;
            move[at.gathers++].pixel = 2 * y * job->row + 2 * x + i;
        }
        done += 2 * n;
        t += n;
    }
    move += at.gathers;
    y = at.first / job->columns;
    x = at.first % job->columns;
    done = 0;
    for (mts_u32 t = at.first; t < at.end; y++, x = 0) {
        const mts_u32 left = job->columns - x, n = left < at.end - t ? left : at.end - t;
        const mts_u32 through = n == left || 2 * (x + n) > job->row ? job->row : 2 * (x + n);
        const mts_u32 end = through > 2 * x ? through - 2 * x : 0; /* of this group's columns */
        const mts_u32 inside = job->w > 2 * x ? job->w - 2 * x : 0, values = inside < end ? inside : end;
        for (mts_u32 k = 0; k < 2 && 2 * y + k < job->h; k++) {
            const mts_u32 pixel = (2 * y + k) * job->row + 2 * x;
            const mts_u32 room = n == left && (k || x == 0) && own > pixel + end ? own - pixel : end;
            for (mts_u32 i = 0; i < end; i += VEC, at.stores++) {
                if (i + VEC > room && end >= VEC) i = end - VEC; /* once more what the vector before it wrote */
                move[at.stores].line = done + (i < values ? i : 0) + k * at.line;
                move[at.stores].pixel = pixel + i;
                move[at.stores].keep = i < values ? values - i : 0;
                move[at.stores].width = i + VEC <= room ? VEC : end - i;
            }
        }
        done += 2 * n;
        t += n;
    }
    return at;
}

/* ---- 1: inputs ---- */

/* Four lines of one channel. The two columns behind a row's last tile are those of the
   next, or 0 (params.h). */
INLINE void wino_gather(GLOBAL const mts_real *plane, mts_u32 row, wino_place at, LOCAL_PTR const wino_move *move,
                        LOCAL_PTR float *line) {
    for (mts_u32 i = 0; i < at.gathers; i++, move++) {
        GLOBAL const mts_real *d = plane + move->pixel;
        LOCAL_PTR float *to = line + move->line;
        const mts_vec d0 = WINO_READ(d), d1 = WINO_READ(d + row);
        const mts_vec d2 = WINO_READ(d + 2 * row), d3 = WINO_READ(d + 3 * row);
        WINO_LINE_SET(to, mts_vec_sub(d0, d2));
        WINO_LINE_SET(to + at.line, mts_vec_add(d1, d2));
        WINO_LINE_SET(to + 2 * at.line, mts_vec_sub(d2, d1));
        WINO_LINE_SET(to + 3 * at.line, mts_vec_sub(d1, d3));
    }
    for (mts_u32 i = 2 * (at.end - at.first) + 2; i < 2 * at.vectors * VEC + 2; i += VEC) {
        for (mts_u32 k = 0; k < 4; k++) WINO_LINE_SET(line + k * at.line + i, mts_vec_splat(0.0f));
    }
}

/* Lines -> V of one channel. */
INLINE void wino_input(LOCAL_PTR const float *line, wino_place at, mts_u32 channels, LOCAL_PTR mts_vec *to) {
    for (mts_u32 v = 0; v < at.vectors; v++, line += 2 * VEC, to += channels) {
        UNROLL for (int k = 0; k < 4; k++) {
            LOCAL_PTR const float *l = line + k * at.line;
            const mts_vec a = WINO_LINE(l), b = WINO_LINE(l + VEC);
            const mts_vec c = WINO_LINE(l + 2), d = WINO_LINE(l + VEC + 2);
            const mts_vec d0 = mts_vec_even(a, b), d1 = mts_vec_odd(a, b);
            const mts_vec d2 = mts_vec_even(c, d), d3 = mts_vec_odd(c, d);
            LOCAL_PTR mts_vec *p = to + 4 * k * at.position;
            p[0] = mts_vec_sub(d0, d2);
            p[at.position] = mts_vec_add(d1, d2);
            p[2 * at.position] = mts_vec_sub(d2, d1);
            p[3 * at.position] = mts_vec_sub(d1, d3);
        }
    }
}

INLINE void wino_inputs(GLOBAL const mts_real *act, GLOBAL const mts_winograd_params *job, wino_place at,
                        LOCAL_PTR mts_vec *scratch) {
    LOCAL_PTR float *lines = (LOCAL_PTR float *)(scratch + at.lines);
    LOCAL_PTR const wino_move *move = (LOCAL_PTR const wino_move *)(scratch + at.moves);
    for (mts_u32 c = 0; c < job->channels; c += WINO_AHEAD) {
        const mts_u32 n = job->channels - c < WINO_AHEAD ? job->channels - c : WINO_AHEAD;
        for (mts_u32 k = 0; k < n; k++)
            wino_gather(act + job->in + (c + k) * job->in_pitch, job->row, at, move, lines + k * 4 * at.line);
        for (mts_u32 k = 0; k < n; k++)
            wino_input(lines + k * 4 * at.line, at, job->channels, scratch + c + k);
    }
}

/* ---- 2: products ---- */

/* clang-format off */
#define WINO_CLEAR(r, j) if (r < rows && j < nv) acc[r][j] = mts_vec_splat(0.0f);
#define WINO_CLEAR_ROW(r) EACH_VECTOR(WINO_CLEAR, r)
#define WINO_GET(r, j) if (r < rows && j < nv) acc[r][j] = sum[r * row_step + j * WINO_POSITIONS];
#define WINO_GET_ROW(r) EACH_VECTOR(WINO_GET, r)
#define WINO_PUT(r, j) if (r < rows && j < nv) sum[r * row_step + j * WINO_POSITIONS] = acc[r][j];
#define WINO_PUT_ROW(r) EACH_VECTOR(WINO_PUT, r)
#define WINO_LOAD(x, j) if (j < nv) in[j] = x[j * step];
#define WINO_FMA(r, j) if (j < nv) acc[r][j] = mts_vec_fma(in[j], w, acc[r][j]);
#define WINO_FMA_ROW(r)                                                                                      \
    if (r < rows) {                                                                                          \
        const mts_vec w = mts_vec_splat(mts_load(u + r));                                                    \
        EACH_VECTOR(WINO_FMA, r)                                                                             \
    }
/* clang-format on */

/* One segment at one position; the first one clears the sums. */
INLINE void wino_segment(LOCAL_PTR const mts_vec *x, mts_u32 step, GLOBAL const mts_real *u, mts_u32 count, int more,
                         LOCAL_PTR mts_vec *sum, mts_u32 row_step, const int rows, const int nv) {
    mts_vec acc[WINO_ROWS_MOST][WINO_NV_MOST];
    if (more) {
        EACH_ROW(WINO_GET_ROW)
    } else {
        EACH_ROW(WINO_CLEAR_ROW)
    }
    for (mts_u32 n = count; n; n--) {
        mts_vec in[WINO_NV_MOST];
        EACH_VECTOR(WINO_LOAD, x)
        mts_fetch(u + MTS_FETCH_STEPS * rows, 0);
        EACH_ROW(WINO_FMA_ROW)
        x++;
        u += rows;
    }
    EACH_ROW(WINO_PUT_ROW)
}

INLINE void wino_case(GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, GLOBAL const mts_winograd_params *job,
                      GLOBAL const mts_winograd_rows_params *block, wino_place at, LOCAL_PTR mts_vec *scratch,
                      const int rows) {
    const mts_u32 channels = job->channels, row_step = at.vectors * WINO_POSITIONS;
    for (mts_u32 p = 0; p < WINO_POSITIONS; p++) {
        GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + block->segment);
        for (mts_u32 s = 0; s < block->segments; s++, segment++) {
            GLOBAL const mts_real *u = pool + segment->weight_a + p * segment->count * rows;
            LOCAL_PTR const mts_vec *x = scratch + p * at.position + segment->channel;
            LOCAL_PTR mts_vec *sum = scratch + at.sums + p;
            mts_u32 v = 0;
            for (; v + NV(rows) <= at.vectors; v += NV(rows))
                wino_segment(x + v * channels, channels, u, segment->count, s > 0, sum + v * WINO_POSITIONS, row_step,
                             rows, NV(rows));
            for (; v < at.vectors; v++)
                wino_segment(x + v * channels, channels, u, segment->count, s > 0, sum + v * WINO_POSITIONS, row_step,
                             rows, 1);
        }
    }
}

/* ---- 3: outputs ---- */

/* M -> two lines of every row of a block. */
INLINE void wino_output(LOCAL_PTR const mts_vec *m, wino_place at, LOCAL_PTR float *line, mts_u32 rows) {
    for (mts_u32 r = 0; r < rows; r++, line += 2 * at.line) {
        for (mts_u32 v = 0; v < at.vectors; v++, m += WINO_POSITIONS) {
            mts_vec top[4], low[4];
            UNROLL for (int j = 0; j < 4; j++) {
                top[j] = mts_vec_add(mts_vec_add(m[j], m[4 + j]), m[8 + j]);
                low[j] = mts_vec_sub(mts_vec_sub(m[4 + j], m[8 + j]), m[12 + j]);
            }
            const mts_vec a = mts_vec_add(mts_vec_add(top[0], top[1]), top[2]);
            const mts_vec b = mts_vec_sub(mts_vec_sub(top[1], top[2]), top[3]);
            const mts_vec c = mts_vec_add(mts_vec_add(low[0], low[1]), low[2]);
            const mts_vec d = mts_vec_sub(mts_vec_sub(low[1], low[2]), low[3]);
            LOCAL_PTR float *to = line + 2 * v * VEC;
            WINO_LINE_SET(to, mts_vec_zip_low(a, b));
            WINO_LINE_SET(to + VEC, mts_vec_zip_high(a, b));
            WINO_LINE_SET(to + at.line, mts_vec_zip_low(c, d));
            WINO_LINE_SET(to + at.line + VEC, mts_vec_zip_high(c, d));
        }
    }
}

/* What the pixels of one output row share. */
typedef struct wino_finish {
    mts_vec scale, bias, low, high, slope, lane;
    float a, b;
    mts_u32 fn, simple;
} wino_finish;

/* One channel of one task. */
INLINE void wino_plane(LOCAL_PTR const float *line, GLOBAL const mts_real *res, GLOBAL mts_real *out, mts_u32 stores,
                       LOCAL_PTR const wino_move *move, wino_finish f) {
    for (mts_u32 i = 0; i < stores; i++, move++) {
        const mts_u32 pixel = move->pixel;
        mts_vec v = mts_vec_fma(WINO_LINE(line + move->line), f.scale, f.bias);
        if (res) v = mts_vec_add(v, WINO_READ(res + pixel));
        if (f.fn > MTS_FN_RELU) v = mts_vec_slope(v, f.slope);
        v = mts_vec_min(f.high, mts_vec_max(f.low, v));
        if (!f.simple) v = mts_vec_element(f.fn, v, f.a, f.b);
        if (move->keep < VEC) {
            const mts_vec beyond = mts_vec_sub(mts_vec_splat((float)move->keep), f.lane);
            v = mts_vec_keep(mts_vec_max(mts_vec_splat(0.0f), beyond), v);
        }
        if (move->width == VEC) {
            WINO_WRITE(out + pixel, v);
        } else {
            float lanes[VEC];
            WINO_SPILL(lanes, v); /* as one store, which the loads below can be served from */
            for (mts_u32 k = 0; k < move->width && k < VEC; k++) mts_store(out + (pixel + k), lanes[k]);
        }
    }
}

INLINE void wino_zero(GLOBAL mts_real *p, mts_u32 count) {
    for (mts_u32 i = 0; i < count; i++) mts_store(p + i, 0.0f);
}

/* The zeros before and after a channel's plane. */
INLINE void wino_border(GLOBAL mts_real *plane, GLOBAL const mts_epilogue_params *e, GLOBAL const mts_winograd_params *job,
                        wino_place at, mts_u32 channel) {
    if (at.first == 0) wino_zero(plane - e->gap, e->gap);
    if (at.end == job->tiles) {
        const mts_u32 pixels = job->h * job->row;
        mts_u32 plane_end = pixels;
        if (e->gap + pixels < e->out_pitch) plane_end = e->out_pitch - e->gap;
        if (e->last == channel) plane_end += e->tail;
        wino_zero(plane + pixels, plane_end - pixels);
    }
}

INLINE void wino_store(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                       GLOBAL const mts_winograd_params *job, GLOBAL const mts_epilogue_params *e,
                       GLOBAL const mts_winograd_rows_params *block, wino_place at, LOCAL_PTR const wino_move *move,
                       LOCAL_PTR const float *line) {
    float lanes[VEC];
    wino_finish f;
    for (int i = 0; i < VEC; i++) lanes[i] = (float)i;
    f.lane = mts_vec_get(lanes);
    f.low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b));
    f.high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    f.a = e->a;
    f.b = e->b;
    f.fn = e->fn;
    f.simple = mts_fn_is_simple(e->fn);
    for (mts_u32 r = block->row; r < block->row + block->rows; r++, line += 2 * at.line) {
        const mts_u32 channel = params[e->index + r];
        GLOBAL mts_real *out = act + e->out + channel * e->out_pitch;
        GLOBAL const mts_real *res = (GLOBAL const mts_real *)0;
        if (e->res != MTS_PARAM_NONE) res = act + e->res + channel * e->res_pitch;
        f.scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + r)));
        f.bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + r)));
        f.slope = mts_vec_splat(e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + (e->slope + r)));
        wino_plane(line, res, out, at.stores, move, f);
        wino_border(out, e, job, at, channel);
    }
}

KERNEL void conv_winograd__f32_planar(MTS_ARGS) {
    LOCAL_SCRATCH(scratch, SCRATCH);
    GLOBAL const mts_tile_params *tile = (GLOBAL const mts_tile_params *)(params + first) + mts_group_id(0);
    GLOBAL const mts_winograd_params *job = (GLOBAL const mts_winograd_params *)(params + tile->job);
    GLOBAL const mts_winograd_rows_params *block = (GLOBAL const mts_winograd_rows_params *)(params + job->block);
    GLOBAL const mts_epilogue_params *epilogue = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    const mts_u32 left = job->tiles - tile->pixel;
    wino_place at;
    at.first = tile->pixel;
    at.end = at.first + (left < job->tile ? left : job->tile);
    at.vectors = (at.end - at.first + VEC - 1) / VEC;
    at.position = at.vectors * job->channels + 1; /* odd: positions would else meet in few sets of a cache */
    at.line = 2 * (at.vectors + 1) * VEC;
    at.lines = WINO_POSITIONS * at.position;
    at.sums = at.lines + 2 * WINO_ROWS_MOST * 2 * (at.vectors + 1);
    at.moves = at.sums + WINO_ROWS_MOST * WINO_POSITIONS * at.vectors;
    LOCAL_PTR wino_move *moves = (LOCAL_PTR wino_move *)(scratch + at.moves);
    at = wino_plan(job, at, moves);
    wino_inputs(act, job, at, scratch);
    for (mts_u32 b = 0; b < job->blocks; b++, block++) {
        LOCAL_PTR float *lines = (LOCAL_PTR float *)(scratch + at.lines);
#define CASE(n)                                                                                              \
    case n: wino_case(pool, params, job, block, at, scratch, n); break;
        switch (block->rows) { CASES }
#undef CASE
        wino_output(scratch + at.sums, at, lines, block->rows);
        for (mts_u32 e = 0; e < job->epilogues; e++)
            wino_store(act, pool, params, job, epilogue + e, block, at, moves + at.gathers, lines);
    }
}

/*
 * conv_block: the stitched convolution for GPUs, one work-group per block of outputs.
 *
 * Responsible for what conv_tile computes, on devices whose work-groups have many
 * work-items and fast memory of their own. A group computes ROWS output channels by
 * COLUMNS pixels as a matrix product over the K segments: DEPTH products (channel, tap)
 * at a time are staged in LOCAL memory, the next ones are on their way meanwhile, and
 * each work-item keeps a tile of sums in registers. Not responsible for which blocks
 * exist: the host writes mts_block_params.
 *
 *                            columns: PARTS parts of WIDTH pixels, each of one job
 *                           | x[DEPTH][part 0 | part 1 | ..]  |   act + in + channel in_pitch + pixel + tap[k]
 *     w[DEPTH][ROWS]   x    |                                 |
 *     of one weight    =    | ITEM_ROWS x ITEM_COLUMNS sums   |   of each work-item; its pixels lie WIDTH / ITEM_COLUMNS
 *     block, or two         | in registers                    |   apart, so that neighbours touch neighbours
 *
 * Parts let small images of several tasks share a block: weights that their jobs have in
 * common are staged once, a segment whose weights differ is staged for each part.
 *
 * Tunables: ROWS, COLUMNS, GROUP (work-items), DEPTH, PARTS. With HALF 2 products are
 * float16, HALF_RUN of them are added up in float16 and then to a float32 sum; with
 * MATRIX as well matrix units multiply 16 x 16 x 16 and add in float32 (without HALF 2
 * MATRIX changes nothing).
 */
#ifndef ROWS
#define ROWS 32 /* 16, 32, 64 */
#endif
#ifndef COLUMNS
#define COLUMNS 64 /* 32, 64, 128 */
#endif
#ifndef GROUP
#define GROUP 128 /* 64, 128, 256; not below ROWS and COLUMNS */
#endif
#ifndef DEPTH
#define DEPTH 8 /* 8, 16, 32; with MATRIX a multiple of 16 */
#endif
#ifndef PARTS
#define PARTS 1 /* 1, 2, 4 */
#endif
#ifndef MATRIX
#define MATRIX 0 /* 0, 1 */
#endif
#if VEC != 1
#error "a work-item of conv_block loads single numbers"
#endif
#define MATRICES_MULTIPLY (MATRIX && HALF == 2)

#define TAPS_MOST 64
#define HALF_RUN 8 /* more would round more, and leave float16's range sooner */
#define WIDTH (COLUMNS / PARTS)
#define ITEM_COLUMNS (COLUMNS < 64 ? 2 : 4)
#define ITEM_ROWS (ROWS * COLUMNS / (ITEM_COLUMNS * GROUP))
#define LANES (COLUMNS / ITEM_COLUMNS)     /* work-items side by side */
#define PART_LANES (LANES / PARTS)         /* of which belong to a part */
#define X_STEP (GROUP / COLUMNS)           /* rows of x that the group stages at once */
#define X_LOADS (DEPTH * COLUMNS / GROUP)  /* that a work-item stages */
#define W_STEP (GROUP / ROWS)
#define W_LOADS (DEPTH * ROWS / GROUP)

/* What is staged: as it is stored where products are float16, else float32. */
#if HALF == 2
typedef mts_half block_scalar;
#define block_fetch(p) (*(p))
#define block_value(h) mts_half_value(h)
#define block_zero ((mts_half)0)
#else
typedef float block_scalar;
#define block_fetch(p) mts_load(p)
#define block_value(x) (x)
#define block_zero 0.0f
#endif

/* The place in the list of products, of what is staged next. */
typedef struct block_walk {
    mts_u32 segment;  /* number */
    mts_u32 k, depth; /* products of it that are done, and all: channels times taps */
    mts_u32 channel;  /* of the work-item's first product of the step */
    mts_u32 tap;
    int own_weights; /* parts have weights of their own in this segment */
} block_walk;

/* What a work-item stages. */
typedef struct block_stage {
    GLOBAL const mts_real *x; /* its column, at channel 0 and tap 0 */
    mts_u32 xk, wk, row;      /* its first row of x; its first row and column of w */
    mts_u32 pitch, taps;
    mts_u32 step_channels, step_taps; /* X_STEP products on */
    mts_u32 deep_channels, deep_taps; /* DEPTH products on */
} block_stage;

INLINE GLOBAL const mts_conv_params *block_job(GLOBAL const mts_u32 *params, GLOBAL const mts_block_params *block, mts_u32 part) {
    GLOBAL const mts_tile_params *tile = (GLOBAL const mts_tile_params *)(params + block->part) + part;
    return (GLOBAL const mts_conv_params *)(params + tile->job);
}
INLINE mts_u32 block_pixel(GLOBAL const mts_u32 *params, GLOBAL const mts_block_params *block, mts_u32 part) {
    return ((GLOBAL const mts_tile_params *)(params + block->part) + part)->pixel;
}
INLINE GLOBAL const mts_segment_params *block_segment(GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, mts_u32 s) {
    return (GLOBAL const mts_segment_params *)(params + job->segment) + s;
}

INLINE int block_has_own_weights(GLOBAL const mts_u32 *params, GLOBAL const mts_block_params *block, mts_u32 s) {
    int own_weights = 0;
#if PARTS > 1
    GLOBAL const mts_segment_params *first = block_segment(params, block_job(params, block, 0), s);
    for (mts_u32 p = 1; p < block->parts; p++) {
        GLOBAL const mts_segment_params *own = block_segment(params, block_job(params, block, p), s);
        own_weights = own_weights || own->weight_a != first->weight_a || own->weight_b != first->weight_b;
    }
#endif
    return own_weights;
}

/* Begins segment `s`, if there is one. */
INLINE void block_enter(block_walk *walk, const block_stage *stage, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_block_params *block, GLOBAL const mts_conv_params *job, mts_u32 s) {
    walk->segment = s;
    walk->k = 0;
    if (s < job->segments) {
        GLOBAL const mts_segment_params *segment = block_segment(params, job, s);
        walk->depth = segment->count * stage->taps;
        walk->channel = segment->channel + stage->xk / stage->taps;
        walk->tap = stage->xk % stage->taps;
        walk->own_weights = block_has_own_weights(params, block, s);
    }
}

INLINE void block_advance(block_walk *walk, const block_stage *stage, GLOBAL const mts_u32 *params,
                          GLOBAL const mts_block_params *block, GLOBAL const mts_conv_params *job) {
    walk->k += DEPTH;
    if (walk->k >= walk->depth) {
        block_enter(walk, stage, params, block, job, walk->segment + 1);
        return;
    }
    walk->channel += stage->deep_channels;
    walk->tap += stage->deep_taps;
    if (walk->tap >= stage->taps) {
        walk->tap -= stage->taps;
        walk->channel++;
    }
}

/* Products beyond a segment's end are zeros. */
INLINE void block_load_x(block_scalar to[X_LOADS], const block_walk *walk, const block_stage *stage,
                         LOCAL_PTR const mts_i32 *tap) {
    mts_u32 channel = walk->channel, t = walk->tap;
    UNROLL for (int n = 0; n < X_LOADS; n++) {
        to[n] = block_zero;
        if (walk->k + stage->xk + n * X_STEP < walk->depth) to[n] = block_fetch(stage->x + channel * stage->pitch + tap[t]);
        channel += stage->step_channels;
        t += stage->step_taps;
        if (t >= stage->taps) {
            t -= stage->taps;
            channel++;
        }
    }
}

INLINE void block_load_w(block_scalar to[W_LOADS], const block_walk *walk, const block_stage *stage,
                         GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job) {
    GLOBAL const mts_segment_params *segment = block_segment(params, job, walk->segment);
    const mts_u32 ra = job->rows_a, rb = job->rows_b, row = stage->row;
    const mts_u32 stride = row < ra ? ra : rb;
    const mts_u32 rows = walk->k < walk->depth && row < ra + rb ? walk->depth - walk->k : 0; /* of w that exist */
    GLOBAL const mts_real *from = pool;
    if (rows) from += (row < ra ? segment->weight_a + row : segment->weight_b + row - ra) + (walk->k + stage->wk) * stride;
    UNROLL for (int n = 0; n < W_LOADS; n++) {
        to[n] = block_zero;
        if (stage->wk + n * W_STEP < rows) to[n] = block_fetch(from + n * W_STEP * stride);
    }
}

INLINE void block_put_x(LOCAL_PTR block_scalar *x, const block_scalar from[X_LOADS], const block_stage *stage,
                        mts_u32 column) {
    UNROLL for (int n = 0; n < X_LOADS; n++) x[(stage->xk + n * X_STEP) * COLUMNS + column] = from[n];
}
INLINE void block_put_w(LOCAL_PTR block_scalar *w, const block_scalar from[W_LOADS], const block_stage *stage) {
    UNROLL for (int n = 0; n < W_LOADS; n++) w[(stage->wk + n * W_STEP) * ROWS + stage->row] = from[n];
}

#if !MATRICES_MULTIPLY
/* sum += the products that are staged. w: of the work-item's rows, x: of its columns. */
INLINE void block_multiply(float sum[ITEM_ROWS][ITEM_COLUMNS], LOCAL_PTR const block_scalar *w,
                           LOCAL_PTR const block_scalar *x) {
#if HALF == 2 && ITEM_ROWS > 1
    UNROLL for (int run = 0; run < DEPTH; run += HALF_RUN) {
        mts_h2 part[ITEM_ROWS / 2][ITEM_COLUMNS];
        UNROLL for (int i = 0; i < ITEM_ROWS / 2; i++) {
            UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) part[i][j] = mts_h2_pair(block_zero, block_zero);
        }
        UNROLL for (int k = run; k < run + HALF_RUN; k++) {
            UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) {
                const mts_half v = x[k * COLUMNS + j * PART_LANES];
                UNROLL for (int i = 0; i < ITEM_ROWS / 2; i++) {
                    const mts_h2 weight = mts_h2_pair(w[k * ROWS + 2 * i], w[k * ROWS + 2 * i + 1]);
                    part[i][j] = mts_h2_fma(weight, mts_h2_pair(v, v), part[i][j]);
                }
            }
        }
        UNROLL for (int i = 0; i < ITEM_ROWS / 2; i++) {
            UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) {
                sum[2 * i][j] += mts_h2_low(part[i][j]);
                sum[2 * i + 1][j] += mts_h2_high(part[i][j]);
            }
        }
    }
#else
    UNROLL for (int k = 0; k < DEPTH; k++) {
        float a[ITEM_ROWS], b[ITEM_COLUMNS];
        UNROLL for (int i = 0; i < ITEM_ROWS; i++) a[i] = block_value(w[k * ROWS + i]);
        UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) b[j] = block_value(x[k * COLUMNS + j * PART_LANES]);
        UNROLL for (int i = 0; i < ITEM_ROWS; i++) {
            UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) sum[i][j] = mts_fma(a[i], b[j], sum[i][j]);
        }
    }
#endif
}
#else
/* A warp of 32 work-items multiplies MATRIX_ROWS x MATRIX_COLUMNS matrices of 16 x 16. */
#define WARPS (GROUP / 32)
#define MATRICES (ROWS * COLUMNS / (256 * WARPS))
#define MATRIX_ROWS (ROWS >= 32 && MATRICES >= 4 ? 2 : 1)
#define MATRIX_COLUMNS (MATRICES / MATRIX_ROWS)
#define WARP_COLUMNS (COLUMNS / (16 * MATRIX_COLUMNS)) /* warps side by side */
#if WIDTH % (16 * MATRIX_COLUMNS)
#error "a warp multiplies columns of one part"
#endif

INLINE void block_multiply(mts_matrix_sum sum[MATRIX_ROWS][MATRIX_COLUMNS], LOCAL_PTR const block_scalar *w,
                           LOCAL_PTR const block_scalar *x) {
    UNROLL for (int k = 0; k < DEPTH; k += 16) {
        mts_matrix a[MATRIX_ROWS], b[MATRIX_COLUMNS];
        UNROLL for (int i = 0; i < MATRIX_ROWS; i++) mts_matrix_load_a(&a[i], w + k * ROWS + 16 * i, ROWS);
        UNROLL for (int j = 0; j < MATRIX_COLUMNS; j++) mts_matrix_load_b(&b[j], x + k * COLUMNS + 16 * j, COLUMNS);
        UNROLL for (int i = 0; i < MATRIX_ROWS; i++) {
            UNROLL for (int j = 0; j < MATRIX_COLUMNS; j++) mts_matrix_multiply(&sum[i][j], &a[i], &b[j]);
        }
    }
}
#endif

/* One epilogue of the work-item's sums, from pixel `pixel` of its job on. */
INLINE void block_store(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, GLOBAL const mts_epilogue_params *e, mts_u32 row, mts_u32 pixel,
                        float sum[ITEM_ROWS][ITEM_COLUMNS]) {
    const float low = mts_fn_low(e->fn, e->a, e->b), high = mts_fn_high(e->fn, e->b);
    float inside[ITEM_COLUMNS];
    UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) {
        const mts_u32 p = pixel + j * PART_LANES;
        inside[j] = job->mask != MTS_PARAM_NONE && p < job->pixels ? mts_load(pool + job->mask + p) : 1.0f;
    }
    UNROLL for (int i = 0; i < ITEM_ROWS; i++) {
        const mts_u32 r = row + i;
        if (r >= job->rows_a + job->rows_b) break;
        const mts_u32 channel = params[e->index + r];
        const float scale = e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + e->scale + r);
        const float bias = e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + e->bias + r);
        const float slope = e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + e->slope + r);
        GLOBAL mts_real *out = act + e->out + channel * e->out_pitch + pixel;
        UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) {
            if (pixel + j * PART_LANES >= job->pixels) continue;
            float v = mts_fma(sum[i][j], scale, bias);
            if (e->res != MTS_PARAM_NONE) v += mts_load(act + e->res + channel * e->res_pitch + pixel + j * PART_LANES);
            v = mts_vec_min(high, mts_vec_max(low, mts_vec_slope(v, slope)));
            mts_store(out + j * PART_LANES, mts_vec_keep(inside[j], v));
        }
    }
}

/* Applies a function that is not simple to what the work-item has stored, in place. */
INLINE void block_finish(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                         GLOBAL const mts_conv_params *job, GLOBAL const mts_epilogue_params *e, mts_u32 row, mts_u32 pixel) {
    if (mts_fn_is_simple(e->fn)) return;
    NO_UNROLL for (mts_u32 r = row; r < row + ITEM_ROWS && r < job->rows_a + job->rows_b; r++) {
        GLOBAL mts_real *out = act + e->out + params[e->index + r] * e->out_pitch;
        NO_UNROLL for (mts_u32 j = 0, p = pixel; j < ITEM_COLUMNS && p < job->pixels; j++, p += PART_LANES) {
            const float x = mts_load(out + p);
            float v = mts_vec_element(e->fn, x, e->a, e->b);
            if (job->mask != MTS_PARAM_NONE) v = mts_vec_keep(mts_load(pool + job->mask + p), v);
            mts_store(out + p, v);
        }
    }
}

INLINE void block_zeros(GLOBAL mts_real *p, mts_u32 count, mts_u32 id) {
    for (mts_u32 i = id; i < count; i += GROUP) mts_store(p + i, 0.0f);
}

/* The zeros around the stored planes: before them, in the rounding after their pixels,
   and after the last one. */
INLINE void block_border(GLOBAL mts_real *act, GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, mts_u32 pixel,
                         mts_u32 id) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        for (mts_u32 r = 0; r < job->rows_a + job->rows_b; r++) {
            const mts_u32 channel = params[e->index + r];
            GLOBAL mts_real *plane = act + e->out + channel * e->out_pitch;
            if (pixel == 0) block_zeros(plane - e->gap, e->gap, id);
            if (pixel + WIDTH >= job->pixels) {
                mts_u32 end = job->pixels;
                if (e->gap + job->pixels < e->out_pitch) end = e->out_pitch - e->gap;
                if (e->last == channel) end += e->tail;
                block_zeros(plane + job->pixels, end - job->pixels, id);
            }
        }
    }
}

/* Everything after the sums, which are those of rows `row` on and of lane `lane`, of
   work-item `id`. */
INLINE void block_output(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                         GLOBAL const mts_block_params *block, mts_u32 id, mts_u32 row, mts_u32 lane,
                         float sum[ITEM_ROWS][ITEM_COLUMNS]) {
    const mts_u32 part = lane / PART_LANES;
    if (part < block->parts) {
        GLOBAL const mts_conv_params *job = block_job(params, block, part);
        GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
        const mts_u32 pixel = block_pixel(params, block, part) + lane % PART_LANES;
        for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
            block_store(act, pool, params, job, e, row, pixel, sum);
            block_finish(act, pool, params, job, e, row, pixel);
        }
    }
    for (mts_u32 p = 0; p < block->parts; p++)
        block_border(act, params, block_job(params, block, p), block_pixel(params, block, p), id);
}

/* The work-item's column of x; one that does not exist reads what its part reads
   first. */
INLINE GLOBAL const mts_real *block_column(GLOBAL const mts_real *act, GLOBAL const mts_u32 *params,
                                           GLOBAL const mts_block_params *block, mts_u32 column) {
    const mts_u32 part = column / WIDTH < block->parts ? column / WIDTH : 0;
    GLOBAL const mts_conv_params *job = block_job(params, block, part);
    const mts_u32 first = block_pixel(params, block, part), pixel = first + column % WIDTH;
    return act + job->in + (pixel < job->pixels ? pixel : first);
}

typedef struct block_room {
    MATRIX_ALIGN block_scalar w[2][PARTS][DEPTH * ROWS];
    MATRIX_ALIGN block_scalar x[2][DEPTH * COLUMNS];
    mts_i32 tap[TAPS_MOST];
#if MATRICES_MULTIPLY
    MATRIX_ALIGN float sums[ROWS * COLUMNS];
#endif
} block_room;

KERNEL_OF(GROUP) void conv_block__f32_planar(MTS_ARGS) {
    LOCAL_ROOM(block_room, room);
    GLOBAL const mts_block_params *block = (GLOBAL const mts_block_params *)(params + first) + mts_group_id(0);
    GLOBAL const mts_conv_params *job = block_job(params, block, 0);
    const mts_u32 id = mts_local_id(0), row = id / LANES * ITEM_ROWS, lane = id % LANES;
    const mts_u32 set = lane / PART_LANES, column = set * WIDTH + lane % PART_LANES;
    block_scalar x_next[X_LOADS], w_next[W_LOADS];
    block_stage stage;
    block_walk walk;
    int now = 0;
#if MATRICES_MULTIPLY
    const mts_u32 warp_row = id / 32 / WARP_COLUMNS * (16 * MATRIX_ROWS);
    const mts_u32 warp_column = id / 32 % WARP_COLUMNS * (16 * MATRIX_COLUMNS), warp_set = warp_column / WIDTH;
    mts_matrix_sum total[MATRIX_ROWS][MATRIX_COLUMNS];
    UNROLL for (int i = 0; i < MATRIX_ROWS; i++) {
        UNROLL for (int j = 0; j < MATRIX_COLUMNS; j++) mts_matrix_clear(&total[i][j]);
    }
#endif
    float sum[ITEM_ROWS][ITEM_COLUMNS];
    UNROLL for (int i = 0; i < ITEM_ROWS; i++) {
        UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) sum[i][j] = 0.0f;
    }

    stage.x = block_column(act, params, block, id % COLUMNS);
    stage.xk = id / COLUMNS;
    stage.wk = id / ROWS;
    stage.row = id % ROWS;
    stage.pitch = job->in_pitch;
    stage.taps = job->taps;
    stage.step_channels = X_STEP / stage.taps;
    stage.step_taps = X_STEP % stage.taps;
    stage.deep_channels = DEPTH / stage.taps;
    stage.deep_taps = DEPTH % stage.taps;
    for (mts_u32 k = id; k < stage.taps; k += GROUP) room->tap[k] = ((GLOBAL const mts_i32 *)(params + job->tap))[k];
    BARRIER();
    block_enter(&walk, &stage, params, block, job, 0);

/* Puts what is staged next into the other half of LOCAL memory; weights of the other
   parts go there directly. */
#define BLOCK_LOAD()                                                                                         \
    block_load_x(x_next, &walk, &stage, room->tap);                                                          \
    block_load_w(w_next, &walk, &stage, pool, params, job);
#define BLOCK_PUT(half)                                                                                      \
    block_put_x(room->x[half], x_next, &stage, id % COLUMNS);                                                \
    block_put_w(room->w[half][0], w_next, &stage);                                                           \
    if (PARTS > 1 && walk.own_weights) {                                                                     \
        for (mts_u32 p = 1; p < block->parts; p++) {                                                         \
            block_load_w(w_next, &walk, &stage, pool, params, block_job(params, block, p));                  \
            block_put_w(room->w[half][PARTS > 1 ? p : 0], w_next, &stage);                                   \
        }                                                                                                    \
    }

    int own_weights = walk.own_weights;
    BLOCK_LOAD()
    BLOCK_PUT(0)
    BARRIER();
    while (walk.segment < job->segments) {
        block_advance(&walk, &stage, params, block, job);
        const int more = walk.segment < job->segments;
        if (more) { BLOCK_LOAD() }
#if MATRICES_MULTIPLY
        block_multiply(total, &room->w[now][own_weights && warp_set < block->parts ? warp_set : 0][warp_row],
                       &room->x[now][warp_column]);
#else
        block_multiply(sum, &room->w[now][own_weights && set < block->parts ? set : 0][row], &room->x[now][column]);
#endif
        now ^= 1;
        own_weights = walk.own_weights;
        if (more) { BLOCK_PUT(now) }
        BARRIER();
    }
#if MATRICES_MULTIPLY
    UNROLL for (int i = 0; i < MATRIX_ROWS; i++) {
        UNROLL for (int j = 0; j < MATRIX_COLUMNS; j++)
            mts_matrix_store(&room->sums[(warp_row + 16 * i) * COLUMNS + warp_column + 16 * j], COLUMNS, &total[i][j]);
    }
    BARRIER();
    UNROLL for (int i = 0; i < ITEM_ROWS; i++) {
        UNROLL for (int j = 0; j < ITEM_COLUMNS; j++) sum[i][j] = room->sums[(row + i) * COLUMNS + column + j * PART_LANES];
    }
#endif
    block_output(act, pool, params, block, id, row, lane, sum);
}

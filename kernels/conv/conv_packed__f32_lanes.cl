/*
 * conv_packed: the stitched convolution for GPUs, of tensors whose channels lie side by
 * side in packs of four (mts_packed_params).
 *
 * Responsible for dense, grouped and depthwise convolutions of any kernel size, dilation
 * and stride, of many tasks in one launch, that read the image where it lies: without a
 * border, without phases. A transposed convolution is a job for each phase of its output,
 * whose pixels lie a stride apart there. Input, residual and output of an epilogue each lie in packs or
 * in planes, so that it converts where it loads and stores. Not responsible for which
 * tiles exist (sdk/lower/encode_packed.c).
 *
 * A work-item computes up to 8 rows (output channels) of 4 pixels, which are as far apart
 * as the work-group is wide: neighbours read neighbours. A step takes a pack of input:
 *
 *     input   | c0 c1 c2 c3 |  of pixel j: one load                       4 loads
 *     weights | w[c][row 0..3] | w[c][row 4..7] |  of channel c: two loads    8 loads
 *     sums    rows x 4 pixels += 4 channels of both: 128 multiply-adds
 *
 * Taps are the outer loop, so that what a tap costs (is it inside the image?) is paid once
 * for all channels. A tap outside reads zeros. Of planes a step takes one channel, with 4
 * loads of input.
 *
 * With HALF=2 a step of packs multiplies in float16. With PACKS=1 a load of 16 bytes brings
 * the weights of two channels (not through images): 64 multiply-adds for 6 loads. Sums of 4
 * steps, 16 products, are added to those in float32; planes, depthwise convolutions and what
 * follows the sums stay in float32.
 *
 * Built with VEC=4, the lanes of a pack. Tunables: DEPTHWISE, 1: a program for the jobs of
 * depthwise convolutions (MTS_BLOCKS_DEPTHWISE), of a pack of rows, and for no others; 2:
 * for both, which then share a launch.
 * PIXELS of a work-item, and PACKS of rows that jobs have at most: smaller ones for devices
 * of few registers and launches of few work-items (sdk/lower/packed_tile.h). GROUP: work-
 * groups have so many work-items, always.
 */
#ifndef DEPTHWISE
#define DEPTHWISE 0 /* 0, 1, 2 */
#endif
#if VEC != 4
#error "a pack has four lanes: -DVEC=4"
#endif
#ifndef PIXELS
#define PIXELS 4 /* 1, 2, 4 */
#endif
#ifndef PACKS
#define PACKS (DEPTHWISE == 1 ? 1 : 2) /* packs of rows: 1, 2 */
#endif
#ifdef GROUP
#define PACKED_KERNEL KERNEL_OF(GROUP)
#else
#define PACKED_KERNEL KERNEL
#endif
#define PACKED_PIXELS PIXELS
#define PACKED_ROWS PACKS
#if PIXELS == 4
#define PACKED_EACH_PIXEL(M) M(0) M(1) M(2) M(3)
#elif PIXELS == 2
#define PACKED_EACH_PIXEL(M) M(0) M(1)
#else
#define PACKED_EACH_PIXEL(M) M(0)
#endif

/* A pack begins at a multiple of its size. */
#if defined(__CUDACC__)
#define PACKED_LANE(v, i) ((v).s[i])
#define PACKED_PUT(p, v) mts_vec_store(p, v)
#if HALF
#define PACKED_LOAD(p) mts_h4_float(mts_h4_load(p))
#else
#define PACKED_LOAD(p) (*(GLOBAL const mts_vec *)(p))
#endif
#else
#define PACKED_LANE(v, i) ((v).s##i)
#if HALF
#define PACKED_LOAD(p) vloada_half4(0, p)
#define PACKED_PUT(p, v) vstorea_half4(v, 0, p)
#else
#define PACKED_LOAD(p) (*(GLOBAL const mts_vec *)(p))
#define PACKED_PUT(p, v) (*(GLOBAL mts_vec *)(p) = (v))
#endif
#endif
#define PACKED_EACH_LANE(M, x) M(x, 0) M(x, 1) M(x, 2) M(x, 3)

/* The pixels of a work-item. */
typedef struct packed_pixels {
    mts_u32 at[PACKED_PIXELS];                  /* flattened, of the output; PACKED_NONE: beyond the tile */
    mts_u32 line[PACKED_PIXELS];                /* row of the output */
    mts_i32 y[PACKED_PIXELS], x[PACKED_PIXELS]; /* row and column of tap 0; outside of the output far above */
} packed_pixels;
#define PACKED_NONE 0xffffffffu

/* Where a channel of a pixel lies. */
INLINE mts_u32 packed_offset(mts_u32 channel, mts_u32 pitch, mts_u32 pixel, int is_packed)
{
    return is_packed ? (channel & ~3u) * pitch + pixel * 4 + (channel & 3) : channel * pitch + pixel;
}

#define PACKED_FAR 0x40000000
#define PACKED_INSIDE(y) ((y) > -PACKED_FAR / 2)

INLINE packed_pixels packed_find(GLOBAL const mts_packed_params *p, mts_u32 first, mts_u32 step, mts_u32 end)
{
    packed_pixels at;
    UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
    {
        const mts_u32 pixel = first + j * step, y = pixel / p->row, x = pixel % p->row;
        at.at[j] = pixel < end ? y * p->out_row + x * p->out_step : PACKED_NONE;
        at.line[j] = y;
        const int inside = pixel < end && y < p->h && x < p->w;
        at.y[j] = inside ? (mts_i32)(y * p->stride_y) - p->top : -PACKED_FAR;
        at.x[j] = (mts_i32)(x * p->stride_x) - p->left;
    }
    return at;
}

/* Where each pixel's tap, so far down and right of tap 0, is read, and how far apart its packs or
   channels are; outside of the image zeros that are 0 apart. */
INLINE void packed_tap(const mts_packed_params *p, const packed_pixels *at, mts_i32 down, mts_i32 right,
                       mts_u32 channel, mts_u32 in, mts_u32 pitch, int is_packed, mts_u32 from[PACKED_PIXELS],
                       mts_u32 apart[PACKED_PIXELS])
{
    UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
    {
        const mts_u32 y = (mts_u32)(at->y[j] + down), x = (mts_u32)(at->x[j] + right);
        const int inside = y < p->in_h && x < p->in_w;
        from[j] = !inside ? p->zeros
                          : in + (is_packed ? channel & ~3u : channel) * pitch + y * p->in_row + x * p->in_step;
        apart[j] = !inside ? 0 : is_packed ? 4 * pitch : pitch;
    }
}

/* How far the tap behind one is down and right of tap 0. */
INLINE void packed_next(const mts_packed_params *p, mts_i32 *down, mts_i32 *right)
{
    *right += p->dilation_x;
    if (*right == (mts_i32)(p->kernel_w * p->dilation_x)) {
        *right = 0;
        *down += p->dilation_y;
    }
}

#if DEPTHWISE

/* clang-format off */
#define PACKED_GATHER(unused, i)                                                                             \
    if (i < job->rows_a)                                                                                     \
        PACKED_LANE(in, i) =                                                                                 \
            mts_load(act + from[j] + (is_packed ? apart[j] * ((lane + i) / 4) + (lane + i) % 4 : apart[j] * i));
/* clang-format on */

/* Row i by input channel i of the segment. */
INLINE void packed_lane_sums(GLOBAL const mts_real *act, mts_weights weights, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, GLOBAL const mts_packed_params *p,
                        const packed_pixels *at, mts_vec sum[PACKED_ROWS][PACKED_PIXELS])
{
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    mts_u32 weight = segment->weight_a / 4; /* in packs */
    const mts_packed_params shape = *p; /* read once for all taps */
    const int is_packed = (p->blocks & MTS_BLOCKS_IN) != 0;
    const mts_u32 lane = segment->channel & 3;
    mts_i32 down = 0, right = 0;
    if (is_packed && lane == 0) {
        NO_UNROLL for (mts_u32 tap = 0; tap < job->taps; tap++, weight++)
        {
            const mts_vec w = mts_weights_load(weights, weight);
            mts_u32 from[PACKED_PIXELS], apart[PACKED_PIXELS];
            packed_tap(&shape, at, down, right, segment->channel, job->in, job->in_pitch, 1, from, apart);
            packed_next(&shape, &down, &right);
            UNROLL for (int j = 0; j < PACKED_PIXELS; j++) sum[0][j] =
                mts_vec_fma(w, PACKED_LOAD(act + from[j]), sum[0][j]);
        }
        return;
    }
    NO_UNROLL for (mts_u32 tap = 0; tap < job->taps; tap++, weight++)
    {
        const mts_vec w = mts_weights_load(weights, weight);
        mts_u32 from[PACKED_PIXELS], apart[PACKED_PIXELS];
        packed_tap(&shape, at, down, right, segment->channel, job->in, job->in_pitch, is_packed, from, apart);
        packed_next(&shape, &down, &right);
        UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
        {
            mts_vec in = mts_vec_splat(0.0f);
            PACKED_EACH_LANE(PACKED_GATHER, 0)
            sum[0][j] = mts_vec_fma(w, in, sum[0][j]);
        }
    }
}

#endif
#if DEPTHWISE != 1

/* clang-format off */
/* Lane i of each pixel's pack by the weights of channel i. */
#define PACKED_PRODUCTS(unused, i)                                                                           \
    UNROLL for (int k = 0; k < packs; k++) {                                                                 \
        const mts_vec w = mts_weights_load(weights, weight + (i * packs + k));                               \
        UNROLL for (int j = 0; j < PACKED_PIXELS; j++)                                                       \
            sum[k][j] = mts_vec_fma(w, mts_vec_splat(PACKED_LANE(in[j], i)), sum[k][j]);                     \
    }
/* clang-format on */

#if HALF == 2

/* Sums of so many steps stay in float16, 4 products each. */
#define PACKED_BLOCK 4
/* clang-format off */
#define PACKED_PRODUCTS_HALF(unused, i)                                                                      \
    UNROLL for (int k = 0; k < packs; k++) {                                                                 \
        const mts_h4 w = mts_weights_half(weights, weight + (i * packs + k));                                \
        UNROLL for (int j = 0; j < PACKED_PIXELS; j++)                                                       \
            part[k][j] = mts_h4_fma(w, mts_h4_splat(in[j], i), part[k][j]);                                  \
    }
/* PACKS=1: the same of lanes i and n, whose weights come in one load. */
#define PACKED_PRODUCTS_TWO(i, n)                                                                            \
    {                                                                                                        \
        const mts_h8 w = mts_weights_two(weights, weight + i);                                               \
        UNROLL for (int j = 0; j < PACKED_PIXELS; j++) {                                                     \
            part[0][j] = mts_h4_fma(mts_h8_low(w), mts_h4_splat(in[j], i), part[0][j]);                      \
            part[0][j] = mts_h4_fma(mts_h8_high(w), mts_h4_splat(in[j], n), part[0][j]);                     \
        }                                                                                                    \
    }
/* clang-format on */

/* Adds the sums of a block to those in float32, and begins a block. */
INLINE void packed_add(mts_vec sum[PACKED_ROWS][PACKED_PIXELS], mts_h4 part[PACKED_ROWS][PACKED_PIXELS],
                       const int packs)
{
    UNROLL for (int k = 0; k < packs; k++)
    {
        UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
        {
            sum[k][j] = mts_vec_add(sum[k][j], mts_h4_float(part[k][j]));
            part[k][j] = mts_h4_zero();
        }
    }
}

#endif

INLINE void packed_sums(GLOBAL const mts_real *act, mts_weights weights, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, GLOBAL const mts_packed_params *p,
                        const packed_pixels *at, mts_vec sum[PACKED_ROWS][PACKED_PIXELS], const int packs)
{
#if HALF == 2
    mts_h4 part[PACKED_ROWS][PACKED_PIXELS];
    mts_u32 left = PACKED_BLOCK;
    UNROLL for (int j = 0; j < PACKED_PIXELS; j++) part[0][j] = part[PACKED_ROWS - 1][j] = mts_h4_zero();
#endif
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    const mts_packed_params shape = *p; /* read once for all taps */
    const int is_packed = (p->blocks & MTS_BLOCKS_IN) != 0;
    for (mts_u32 s = job->segments; s; s--, segment++) {
        const mts_u32 lane = segment->channel & 3, count = segment->count, steps = (lane + count + 3) / 4;
        mts_i32 down = 0, right = 0;
        for (mts_u32 tap = 0; tap < job->taps; tap++) {
            mts_u32 weight = segment->weight_a / 4 + tap * steps * (4 * packs); /* in packs */
            mts_u32 from[PACKED_PIXELS], apart[PACKED_PIXELS];
            packed_tap(&shape, at, down, right, segment->channel, job->in, job->in_pitch, is_packed, from,
                       apart);
            packed_next(&shape, &down, &right);
            if (is_packed) {
                NO_UNROLL for (mts_u32 n = steps; n; n--, weight += 4 * packs)
                {
#if HALF == 2
                    mts_h4 in[PACKED_PIXELS];
                    UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
                    {
                        in[j] = mts_h4_load(act + from[j]);
                        from[j] += apart[j];
                    }
#if PACKS == 1
                    PACKED_PRODUCTS_TWO(0, 1)
                    PACKED_PRODUCTS_TWO(2, 3)
#else
                    PACKED_EACH_LANE(PACKED_PRODUCTS_HALF, 0)
#endif
                    if (--left == 0) {
                        packed_add(sum, part, packs);
                        left = PACKED_BLOCK;
                    }
#else
                    mts_vec in[PACKED_PIXELS];
                    UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
                    {
                        in[j] = PACKED_LOAD(act + from[j]);
                        from[j] += apart[j];
                    }
                    PACKED_EACH_LANE(PACKED_PRODUCTS, 0)
#endif
                }
                continue;
            }
            weight += lane * packs;
            NO_UNROLL for (mts_u32 n = count; n; n--, weight += packs)
            {
                float in[PACKED_PIXELS];
                UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
                {
                    in[j] = mts_load(act + from[j]);
                    from[j] += apart[j];
                }
                UNROLL for (int k = 0; k < packs; k++)
                {
                    const mts_vec w = mts_weights_load(weights, weight + k);
                    UNROLL for (int j = 0; j < PACKED_PIXELS; j++) sum[k][j] =
                        mts_vec_fma(w, mts_vec_splat(in[j]), sum[k][j]);
                }
            }
        }
    }
#if HALF == 2
    packed_add(sum, part, packs);
#endif
}

#endif

/* ---- what follows the sums ---- */

/* What one epilogue does with a pack of rows. */
typedef struct packed_end {
    mts_vec scale, bias, slope;
    mts_u32 channel; /* of the first row */
    mts_u32 rows;    /* 1 to 4 */
    int whole;       /* the rows are a pack of the output, beyond the last channel too */
} packed_end;

/* clang-format off */
#define PACKED_OPEN(unused, i)                                                                               \
    if (i < end.rows) {                                                                                      \
        if (e->scale != MTS_PARAM_NONE) PACKED_LANE(end.scale, i) = mts_load(pool + (e->scale + row + i));   \
        if (e->bias != MTS_PARAM_NONE) PACKED_LANE(end.bias, i) = mts_load(pool + (e->bias + row + i));      \
        if (e->slope != MTS_PARAM_NONE) PACKED_LANE(end.slope, i) = mts_load(pool + (e->slope + row + i));   \
        end.whole = end.whole && index[i] == end.channel + i;                                                \
    }
/* clang-format on */

INLINE packed_end packed_open(GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                              GLOBAL const mts_epilogue_params *e, mts_u32 row, mts_u32 rows, int is_packed)
{
    GLOBAL const mts_u32 *index = params + e->index + row;
    packed_end end;
    end.scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : 0.0f); /* beyond the rows, sums are 0 */
    end.bias = mts_vec_splat(0.0f);
    end.slope = mts_vec_splat(mts_fn_slope(e->fn, e->a));
    end.rows = rows - row < 4 ? rows - row : 4;
    end.channel = index[0];
    end.whole =
        is_packed && (end.channel & 3) == 0 && (end.rows == 4 || end.channel + end.rows - 1 == e->last);
    PACKED_EACH_LANE(PACKED_OPEN, 0)
    return end;
}

/* clang-format off */
#define PACKED_ADD(unused, i)                                                                                \
    if (i < end->rows)                                                                                       \
        PACKED_LANE(v, i) += mts_load(act + (e->res + packed_offset(index[i], e->res_pitch, pixel, is_packed)));
#define PACKED_LANE_OF(x, i) if (n == (i)) x = PACKED_LANE(v, i);
/* Lanes beyond the last channel hold zeros. */
#define PACKED_CLEAR(unused, i) if (i >= end->rows) PACKED_LANE(v, i) = 0.0f;
/* clang-format on */

INLINE mts_vec packed_residual(GLOBAL const mts_real *act, GLOBAL const mts_u32 *index,
                               GLOBAL const mts_epilogue_params *e, const packed_end *end, mts_u32 pixel,
                               int is_packed)
{
    mts_vec v = mts_vec_splat(0.0f);
    PACKED_EACH_LANE(PACKED_ADD, 0)
    return v;
}

INLINE void packed_store(GLOBAL mts_real *act, GLOBAL const mts_u32 *index,
                         GLOBAL const mts_epilogue_params *e, const packed_end *end, mts_u32 pixel,
                         int is_packed, mts_vec v)
{
    if (end->whole) {
        PACKED_EACH_LANE(PACKED_CLEAR, 0)
        PACKED_PUT(act + (e->out + packed_offset(end->channel, e->out_pitch, pixel, 1)), v);
        return;
    }
    NO_UNROLL for (mts_u32 n = 0; n < end->rows; n++)
    {
        const mts_u32 channel = index[n], lanes = is_packed && channel == e->last ? 4 - (channel & 3) : 1;
        GLOBAL mts_real *out = act + (e->out + packed_offset(channel, e->out_pitch, pixel, is_packed));
        float x = 0.0f;
        PACKED_EACH_LANE(PACKED_LANE_OF, x)
        mts_store(out, x);
        for (mts_u32 i = 1; i < lanes; i++)
            mts_store(out + i, 0.0f);
    }
}

/* A pack of sums with its scale, bias and residual. */
INLINE mts_vec packed_value(GLOBAL const mts_real *act, GLOBAL const mts_u32 *index,
                            GLOBAL const mts_packed_params *p, GLOBAL const mts_epilogue_params *e,
                            const packed_end *end, mts_u32 pixel, mts_u32 line, mts_vec sum)
{
    mts_vec v = mts_vec_fma(sum, end->scale, end->bias);
    if (e->res != MTS_PARAM_NONE) {
        const mts_u32 from = pixel + line * (p->res_row - p->out_row);
        const int is_packed = (p->blocks & MTS_BLOCKS_RESIDUAL) != 0;
        if (end->whole && is_packed)
            v = mts_vec_add(v,
                            PACKED_LOAD(act + (e->res + packed_offset(end->channel, e->res_pitch, from, 1))));
        else
            v = mts_vec_add(v, packed_residual(act, index, e, end, from, is_packed));
    }
    return v;
}

/* clang-format off */
#define PACKED_PICK(j) if (n == (j)) { v = sum[j]; pixel = at->at[j]; line = at->line[j]; y = at->y[j]; }
/* clang-format on */

/* A pack of rows, pixel by pixel: this is not written out, as it takes any layout and any
   function. */
INLINE void packed_end_any(GLOBAL mts_real *act, GLOBAL const mts_u32 *index,
                           GLOBAL const mts_packed_params *p, GLOBAL const mts_epilogue_params *e,
                           const packed_pixels *at, const packed_end *end, mts_vec sum[PACKED_PIXELS])
{
    NO_UNROLL for (int n = 0; n < PACKED_PIXELS; n++)
    {
        mts_vec v = mts_vec_splat(0.0f);
        mts_u32 pixel = 0, line = 0;
        mts_i32 y = 0;
        PACKED_EACH_PIXEL(PACKED_PICK)
        if (PACKED_INSIDE(y)) {
            v = packed_value(act, index, p, e, end, pixel, line, v);
            v = e->fn == MTS_FN_PRELU ? mts_vec_slope(v, end->slope) : mts_vec_element(e->fn, v, e->a, e->b);
        } else {
            v = mts_vec_splat(0.0f);
        }
        if (pixel != PACKED_NONE)
            packed_store(act, index, e, end, pixel, (p->blocks & MTS_BLOCKS_OUT) != 0, v);
    }
}

/* The usual case written out: whole packs, a simple function. */
INLINE void packed_end_pack(GLOBAL mts_real *act, GLOBAL const mts_packed_params *p,
                            GLOBAL const mts_epilogue_params *e, const packed_pixels *at,
                            const packed_end *end, mts_vec sum[PACKED_PIXELS])
{
    const mts_vec low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b)),
                  high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    const int bends = mts_fn_bends(e->fn), adds = e->res != MTS_PARAM_NONE;
    UNROLL for (int j = 0; j < PACKED_PIXELS; j++)
    {
        if (at->at[j] != PACKED_NONE) {
            mts_vec v = mts_vec_fma(sum[j], end->scale, end->bias);
            if (adds)
                v = mts_vec_add(
                    v, PACKED_LOAD(act + (e->res + packed_offset(end->channel, e->res_pitch, at->at[j], 1))));
            if (bends)
                v = mts_vec_slope(v, end->slope);
            v = mts_vec_min(high, mts_vec_max(low, v));
            PACKED_EACH_LANE(PACKED_CLEAR, 0)
            PACKED_PUT(act + (e->out + packed_offset(end->channel, e->out_pitch, at->at[j], 1)), v);
        }
    }
}

INLINE void packed_ends(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, GLOBAL const mts_packed_params *p,
                        const packed_pixels *at, mts_vec sum[PACKED_ROWS][PACKED_PIXELS])
{
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    const int is_packed = (p->blocks & MTS_BLOCKS_OUT) != 0;
    NO_UNROLL for (mts_u32 i = 0; i < job->epilogues; i++, e++)
    {
        const int plain =
            mts_fn_is_simple(e->fn) && (e->res == MTS_PARAM_NONE || (p->blocks & MTS_BLOCKS_RESIDUAL));
        NO_UNROLL for (mts_u32 row = 0; row < job->rows_a; row += 4)
        {
            const packed_end end = packed_open(pool, params, e, row, job->rows_a, is_packed);
            mts_vec v[PACKED_PIXELS];
            UNROLL for (int j = 0; j < PACKED_PIXELS; j++) v[j] = row ? sum[PACKED_ROWS - 1][j] : sum[0][j];
            if (plain && end.whole)
                packed_end_pack(act, p, e, at, &end, v);
            else
                packed_end_any(act, params + e->index + row, p, e, at, &end, v);
        }
    }
}

PACKED_KERNEL void conv_packed__f32_lanes(MTS_WEIGHT_ARGS)
{
    GLOBAL const mts_tile_params *tile = (GLOBAL const mts_tile_params *)(params + first) + mts_group_id(0);
    GLOBAL const mts_conv_params *job = (GLOBAL const mts_conv_params *)(params + tile->job);
    GLOBAL const mts_packed_params *p = (GLOBAL const mts_packed_params *)(params + job->tap);
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    const mts_u32 left = job->pixels - tile->pixel, item = mts_local_id(0), items = mts_local_size(0);
    const mts_u32 end = tile->pixel + (left < job->tile ? left : job->tile);
    for (mts_u32 i = 0; i < job->epilogues && p->plane; i++) {
        for (mts_u32 r = 0; r < job->rows_a; r++)
            mts_epilogue_border(act, e + i, params[e[i].index + r], p->plane, tile->pixel == 0,
                                end == job->pixels, item, items);
    }
    for (mts_u32 pixel = tile->pixel + item; pixel < end; pixel += PACKED_PIXELS * items) {
        const packed_pixels at = packed_find(p, pixel, items, end);
        mts_vec sum[PACKED_ROWS][PACKED_PIXELS];
        UNROLL for (int j = 0; j < PACKED_PIXELS; j++) sum[0][j] = sum[PACKED_ROWS - 1][j] =
            mts_vec_splat(0.0f);
#if DEPTHWISE == 1
        packed_lane_sums(act, MTS_WEIGHTS, params, job, p, &at, sum);
#else
#if DEPTHWISE
        if (p->blocks & MTS_BLOCKS_DEPTHWISE)
            packed_lane_sums(act, MTS_WEIGHTS, params, job, p, &at, sum);
        else
#endif
#if PACKS == 2
            if (job->rows_a > 4)
            packed_sums(act, MTS_WEIGHTS, params, job, p, &at, sum, 2);
        else
#endif
            packed_sums(act, MTS_WEIGHTS, params, job, p, &at, sum, 1);
#endif
        packed_ends(act, pool, params, job, p, &at, sum);
    }
}

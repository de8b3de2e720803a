/*
 * conv_bytes: the stitched convolution of 8-bit numbers, one work-group per tile.
 *
 * Responsible for dense and depthwise convolutions whose input lies in planes of codes
 * (kernels/abi/bytes.h): products of bytes, sums in int32, an epilogue that stores
 * floats, codes or both. A depthwise convolution is four rows over one plane of words,
 * with one weight in each word that is not 0. Not responsible for making codes of floats
 * (pack_bytes) nor for which tiles exist (sdk/lower/encode_bytes.c).
 *
 *     act + in + c in_pitch + tap[k] ->  | x0 x1 x2 x3 | x0 x1 x2 x3 | ..   VEC pixels, four channels each
 *     weights [c][k][0..rows-1]          | w0 w1 w2 w3 | the same     | ..   one word for all pixels
 *                                        sum of four products: one lane of an accumulator, which never saturates: a
 *                                        layer of up to 65,000 products stays below 2^31 (sdk/plan/bytes.c)
 *
 * Vectors are for processors with an instruction for it (MTS_WORDS_DOT). Elsewhere a
 * work-item takes 4 pixels, a work-group apart, so that an input word serves up to 8 rows
 * and a weight 4 pixels (mts_dot, kernels/codes.h). Where the
 * device has no such instruction this is right but slow, and no planner asks for it.
 */
#if HALF
/* Elements of two bytes hold no words. */
KERNEL void conv_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

#define BYTES_ROWS 12
#define BYTES_NV 6
/* Vectors, or pixels, at a time: sums, inputs and a weight fill the registers. */
#define BYTES_FIT(rows) ((REGS - 1) / ((rows) + 1))
/* Larger than any code, and far below what is no int32 any more. */
#define BYTES_FAR 1.0e6f

typedef struct bytes_place {
    mts_u32 pixel, end; /* of the tile */
} bytes_place;

/* Pixels of an output row. */
typedef struct bytes_run {
    mts_u32 pixel, from;   /* the first one, and its place in the input */
    mts_u32 inside, count; /* pixels of the image, and with the border beside them */
} bytes_run;

/* Those from `pixel` on, before `end`. */
INLINE bytes_run bytes_run_at(GLOBAL const mts_bytes_rows *rows, mts_u32 pixel, mts_u32 end) {
    const mts_u32 y = pixel / rows->row, x = pixel % rows->row;
    bytes_run run;
    run.pixel = pixel;
    run.from = y * rows->step + 2 * x;
    run.count = mts_least(end - pixel, rows->row - x);
    run.inside = y < rows->height && x < rows->width ? mts_least(rows->width - x, run.count) : 0;
    return run;
}

#define BYTES_ROWS_OF(params, job) ((GLOBAL const mts_bytes_rows *)((params) + (job)->tap + (job)->taps))

/* Where an epilogue stores codes, or nothing. */
INLINE mts_codes_params bytes_codes(GLOBAL const mts_u32 *params, GLOBAL const mts_epilogue_params *e) {
    mts_codes_params codes;
    codes.out = MTS_PARAM_NONE;
    codes.pitch = codes.before = codes.after = 0;
    if (e->res != MTS_PARAM_NONE) codes = *(GLOBAL const mts_codes_params *)(params + e->res);
    return codes;
}

#if MTS_WORDS_DOT

/* An epilogue, looked up once for all pixels of a tile: v = scale sum + bias, in codes
   where `coded`. */
typedef struct bytes_ending {
    int coded;
    mts_u32 rows, fn;
    float a, b, step, least;
    float scale[BYTES_ROWS], bias[BYTES_ROWS];
    mts_u32 out[BYTES_ROWS]; /* act offsets of pixel 0, or out[0] NONE */
    mts_u32 codes;           /* act offset of pixel 0 of the first word, or NONE */
    mts_u32 codes_pitch, zero; /* the code of 0, in all bytes */
    mts_i32 add;               /* once: from a number to its code */
} bytes_ending;

OUTLINE void bytes_open(bytes_ending *to, const mts_real *pool, const mts_u32 *params,
                       const mts_conv_params *job, const mts_epilogue_params *e) {
    const mts_u32 *index = params + e->index;
    to->coded = e->fn == MTS_FN_QUANT8;
    to->rows = job->rows_a;
    to->fn = e->fn;
    to->a = e->a;
    to->b = e->b;
    to->step = to->coded ? e->a : 1.0f;
    to->least = to->coded ? e->b : 0.0f;
    for (mts_u32 r = 0; r < BYTES_ROWS; r++) {
        const int real = r < to->rows;
        const float scale = real && e->scale != MTS_PARAM_NONE ? mts_load(pool + (e->scale + r)) : 1.0f;
        const float bias = real && e->bias != MTS_PARAM_NONE ? mts_load(pool + (e->bias + r)) : 0.0f;
        to->scale[r] = to->coded ? scale / to->step : scale;
        to->bias[r] = to->coded ? bias / to->step : bias;
        to->out[r] = real && e->out != MTS_PARAM_NONE ? e->out + index[r] * e->out_pitch : MTS_PARAM_NONE;
    }
    const mts_codes_params codes = bytes_codes(params, e);
    to->codes = codes.out == MTS_PARAM_NONE ? MTS_PARAM_NONE : codes.out + index[0] / 4 * codes.pitch;
    to->codes_pitch = codes.pitch;
    to->add = (mts_i32)(0.0f - to->least);
    to->zero = MTS_CODE_WORD((mts_u32)to->add);
}

/* Where the sums of the rows begin: what the codes of 0 add to them is taken away, less
   what mts_words_input has taken off each code. */
INLINE void bytes_start(mts_i32 *start, const mts_real *pool, const mts_u32 *params,
                        const mts_conv_params *job, mts_u32 rows) {
    const mts_segment_params *segment = (const mts_segment_params *)(params + job->segment);
    for (mts_u32 r = 0; r < rows; r++) start[r] = 0;
    for (mts_u32 s = 0; s < job->segments; s++, segment++) {
        const mts_i32 *sums = (const mts_i32 *)(pool + segment->weight_a);
        const mts_i32 zero = (mts_i32)segment->weight_b - MTS_WORDS_ZERO;
        for (mts_u32 r = 0; r < rows; r++) start[r] -= zero * sums[r];
    }
}

/* clang-format off */
#define BYTES_EACH_VECTOR(M, x) M(x, 0) M(x, 1) M(x, 2) M(x, 3) M(x, 4) M(x, 5)
#define BYTES_EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)
#define BYTES_START(r, j) if (r < rows && j < nv) sum[r][j] = mts_words_splat(start[r]);
#define BYTES_START_ROW(r) BYTES_EACH_VECTOR(BYTES_START, r)
#define BYTES_LOAD(x, j)                                                                                     \
    if (j < nv) in[j] = apart == 1 ? mts_words_input(x + j * VEC)                                            \
        : mts_words_even(mts_words_input(x + 2 * j * VEC), mts_words_input(x + (2 * j + 1) * VEC));
#define BYTES_DOT(r, j) if (j < nv) sum[r][j] = mts_words_dot(sum[r][j], in[j], weight, r);
#define BYTES_DOT_ROW(r)                                                                                     \
    if (r < rows) {                                                                                          \
        const mts_words weight = mts_words_weight(w, r);                                                     \
        BYTES_EACH_VECTOR(BYTES_DOT, r)                                                                      \
    }
#define BYTES_END(g, j)                                                                                      \
    if (4 * (g) < rows && j < nv)                                                                            \
        bytes_end(act, e, mask, pixel + j * VEC, left - j * VEC, g, sum[4 * (g)][j], sum[4 * (g) + 1][j],    \
                  sum[4 * (g) + 2][j], sum[4 * (g) + 3][j], apart);
/* clang-format on */

/* A result that is no code; layers that end so are few. */
OUTLINE void bytes_function(mts_real *to, const bytes_ending *e, const mts_vec *inside, const mts_vec *v, mts_u32 count) {
    const mts_vec y = mts_vec_keep(*inside, mts_vec_element(e->fn, *v, e->a, e->b));
    mts_words_put_some((mts_i32 *)to, (mts_words)y, count);
}

/* count words of v, or the whole vector where pixels are not apart. */
INLINE void bytes_words(mts_i32 *to, mts_words v, mts_u32 count, const int apart) {
    if (apart == 1)
        mts_words_put(to, v);
    else
        mts_words_put_some(to, v, count);
}

INLINE void bytes_float(mts_real *to, const bytes_ending *e, mts_vec inside, mts_vec v, mts_u32 count, const int apart) {
    if (!e->coded) {
        bytes_function(to, e, &inside, &v, count);
        return;
    }
    v = mts_vec_min(mts_vec_splat(e->least + 255.0f), mts_vec_max(mts_vec_splat(e->least), mts_vec_rint(v)));
    bytes_words((mts_i32 *)to, (mts_words)mts_vec_keep(inside, v * mts_vec_splat(e->step)), count, apart);
}

#ifdef MTS_CPU_FN_SHARED /* the smallest library has one copy */
#define BYTES_SHARED OUTLINE
#else
#define BYTES_SHARED INLINE
#endif
INLINE mts_vec bytes_value(const bytes_ending *e, int r, mts_words sum) {
    return mts_vec_fma(mts_words_floats(sum), mts_vec_splat(e->scale[r]), mts_vec_splat(e->bias[r]));
}

/* The epilogue of word g of a vector of pixels, of which `left` are stored; a to d are
   the sums of its rows. */
BYTES_SHARED void bytes_end(mts_real *act, const bytes_ending *e, const mts_real *mask, mts_u32 pixel, mts_u32 left,
                            const int g, mts_words a, mts_words b, mts_words c, mts_words d, const int apart) {
    const mts_vec inside = mask ? mts_vec_load(mask + pixel) : mts_vec_splat(1.0f);
    const mts_vec v0 = bytes_value(e, 4 * g, a), v1 = bytes_value(e, 4 * g + 1, b);
    const mts_vec v2 = bytes_value(e, 4 * g + 2, c), v3 = bytes_value(e, 4 * g + 3, d);
    const mts_u32 *out = e->out + 4 * g, count = apart == 1 || left > VEC ? VEC : left;
    if (e->codes != MTS_PARAM_NONE)
        bytes_words((mts_i32 *)act + e->codes + (mts_u32)g * e->codes_pitch + pixel,
                    mts_words_keep(inside, mts_words_codes(v0, v1, v2, v3, e->add), (mts_i32)e->zero), count, apart);
    if (out[0] != MTS_PARAM_NONE) bytes_float(act + out[0] + pixel, e, inside, v0, count, apart);
    if (out[1] != MTS_PARAM_NONE) bytes_float(act + out[1] + pixel, e, inside, v1, count, apart);
    if (out[2] != MTS_PARAM_NONE) bytes_float(act + out[2] + pixel, e, inside, v2, count, apart);
    if (out[3] != MTS_PARAM_NONE) bytes_float(act + out[3] + pixel, e, inside, v3, count, apart);
}

/* The products of one stretch of nv vectors from `pixel` on, of which `left` pixels
   are stored, and all epilogues. It is read from `from` on, every column or every
   other one. */
INLINE void bytes_vectors(mts_real *act, const mts_real *pool, const mts_u32 *params, const mts_conv_params *job,
                          const mts_i32 *start, bytes_ending *e, mts_u32 pixel, mts_u32 from, mts_u32 left,
                          const int rows, const int nv, const int apart) {
    const mts_segment_params *segment = (const mts_segment_params *)(params + job->segment);
    const mts_i32 *tap = (const mts_i32 *)(params + job->tap);
    const mts_real *mask = apart > 1 || job->mask == MTS_PARAM_NONE ? NULL : pool + job->mask;
    const mts_u32 taps = job->taps, pitch = job->in_pitch;
    mts_words sum[BYTES_ROWS][BYTES_NV];
    BYTES_EACH_ROW(BYTES_START_ROW)
    for (mts_u32 s = 0; s < job->segments; s++, segment++) {
        const mts_i32 *x = (const mts_i32 *)act + job->in + segment->channel * pitch + from;
        const mts_i32 *w = (const mts_i32 *)pool + segment->weight_a + rows;
        mts_u32 k = 0;
        for (mts_u32 n = segment->count * taps; n; n--) {
            const mts_i32 *at = x + tap[k];
            mts_words in[BYTES_NV];
            BYTES_EACH_VECTOR(BYTES_LOAD, at)
            BYTES_EACH_ROW(BYTES_DOT_ROW)
            w += rows;
            k++;
            x += k == taps ? pitch : 0;
            k = k == taps ? 0 : k;
        }
    }
    for (mts_u32 i = 0; i < job->epilogues; i++) {
        if (job->epilogues > 1) /* else it is open */
            bytes_open(e, pool, params, job, (const mts_epilogue_params *)(params + job->epilogue) + i);
        BYTES_EACH_VECTOR(BYTES_END, 0)
        BYTES_EACH_VECTOR(BYTES_END, 1)
        BYTES_EACH_VECTOR(BYTES_END, 2)
    }
}

#define BYTES_VECTORS(rows) (BYTES_FIT(rows) > BYTES_NV ? BYTES_NV : BYTES_FIT(rows) < 1 ? 1 : BYTES_FIT(rows))

/* Codes of 0, and floats that are 0, from `pixel` to before `end`. */
INLINE void bytes_outside(mts_real *act, const mts_real *pool, const mts_u32 *params, const mts_conv_params *job,
                          bytes_ending *e, mts_u32 pixel, mts_u32 end) {
    for (mts_u32 i = 0; i < job->epilogues; i++) {
        if (job->epilogues > 1) bytes_open(e, pool, params, job, (const mts_epilogue_params *)(params + job->epilogue) + i);
        for (mts_u32 g = 0; e->codes != MTS_PARAM_NONE && g < MTS_CODE_WORDS(job->rows_a); g++)
            mts_codes_fill(act, e->codes + g * e->codes_pitch + pixel, e->codes + g * e->codes_pitch + end, e->zero);
        for (mts_u32 r = 0; r < job->rows_a; r++)
            if (e->out[r] != MTS_PARAM_NONE) mts_codes_fill(act, e->out[r] + pixel, e->out[r] + end, 0);
    }
}

/* Row by row, every other column of the input. */
INLINE void bytes_by_rows(mts_real *act, const mts_real *pool, const mts_u32 *params, const mts_conv_params *job,
                          bytes_place at, const int rows, const int nv) {
    mts_i32 start[BYTES_ROWS];
    bytes_ending ending;
    bytes_run run;
    bytes_start(start, pool, params, job, rows);
    bytes_open(&ending, pool, params, job, (const mts_epilogue_params *)(params + job->epilogue));
    for (mts_u32 pixel = at.pixel; pixel < at.end; pixel += run.count) {
        mts_u32 done = 0;
        run = bytes_run_at(BYTES_ROWS_OF(params, job), pixel, at.end);
        for (; nv > 1 && done + (nv - 1) * VEC < run.inside; done += nv * VEC)
            bytes_vectors(act, pool, params, job, start, &ending, pixel + done, run.from + 2 * done, run.inside - done,
                          rows, nv, 2);
        for (; done < run.inside; done += VEC)
            bytes_vectors(act, pool, params, job, start, &ending, pixel + done, run.from + 2 * done, run.inside - done,
                          rows, 1, 2);
        bytes_outside(act, pool, params, job, &ending, pixel + run.inside, pixel + run.count);
    }
}

/* Functions of their own: their code would cost the other loops registers. */
#ifdef MTS_CPU_FN_SHARED
#define BYTES_APART_VECTORS(rows) 1
#else
#define BYTES_APART_VECTORS(rows) (BYTES_FIT(rows) < 2 ? 1 : 2)
#endif
#define BYTES_APART(n)                                                                                       \
    OUTLINE void bytes_apart_##n(mts_real *act, const mts_real *pool, const mts_u32 *params,                 \
                                 const mts_conv_params *job, bytes_place at) {                               \
        bytes_by_rows(act, pool, params, job, at, n, BYTES_APART_VECTORS(n));                                 \
    }
BYTES_APART(4)
BYTES_APART(8)
BYTES_APART(12)

INLINE void bytes_case(mts_real *act, const mts_real *pool, const mts_u32 *params, const mts_conv_params *job,
                       bytes_place at, const int rows) {
    const int nv = BYTES_VECTORS(rows);
    mts_i32 start[BYTES_ROWS];
    bytes_ending ending;
    mts_u32 pixel = at.pixel;
    bytes_start(start, pool, params, job, rows);
    bytes_open(&ending, pool, params, job, (const mts_epilogue_params *)(params + job->epilogue));
    for (; pixel + (nv - 1) * VEC < at.end; pixel += nv * VEC)
        bytes_vectors(act, pool, params, job, start, &ending, pixel, pixel, nv * VEC, rows, nv, 1);
    if (nv > 4 && pixel + 2 * VEC < at.end) {
        bytes_vectors(act, pool, params, job, start, &ending, pixel, pixel, 3 * VEC, rows, 3, 1);
        pixel += 3 * VEC;
    }
    for (; pixel < at.end; pixel += VEC)
        bytes_vectors(act, pool, params, job, start, &ending, pixel, pixel, VEC, rows, 1, 1);
}

INLINE void bytes_tile(mts_real *act, const mts_real *pool, const mts_u32 *params, const mts_conv_params *job,
                       bytes_place at, mts_u32 item, mts_u32 items) {
    const int apart = BYTES_ROWS_OF(params, job)->row != 0;
    switch (MTS_CODE_WORDS(job->rows_a) + (apart ? 4 : 0)) {
    case 1: bytes_case(act, pool, params, job, at, 4); break;
    case 2: bytes_case(act, pool, params, job, at, 8); break;
    case 3: bytes_case(act, pool, params, job, at, 12); break;
    case 5: bytes_apart_4(act, pool, params, job, at); break;
    case 6: bytes_apart_8(act, pool, params, job, at); break;
    default: bytes_apart_12(act, pool, params, job, at); break;
    }
}

#else

/* Rows and pixels of a work-item at a time (GPU_ROWS and GPU_PIXELS of
   sdk/lower/encode_bytes.c). */
#define BYTES_AT_ONCE 8
#define BYTES_PIXELS 4
/* Written out, since not every compiler keeps in registers what a loop indexes. */
#define BYTES_EACH_PIXEL(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#define BYTES_EACH_ROW(M)                                                                                    \
    M(0) M(1) M(2) M(3) if (rows > 4) {                                                                      \
        M(4) M(5) M(6) M(7)                                                                                  \
    }

/* A function of one float. */
INLINE float bytes_element(mts_u32 fn, float x, float a, float b) {
    const mts_vec v = mts_vec_element(fn, mts_vec_splat(x), a, b);
    return ((const float *)&v)[0];
}

/* A work-item's pixels: where they are stored and read, and whether they belong to the
   image. Those behind the tile's last one are read as the first one is. */
typedef struct bytes_pixels {
    mts_u32 to[BYTES_PIXELS], from[BYTES_PIXELS];
    int inside[BYTES_PIXELS];
} bytes_pixels;

/* Whether a pixel belongs to the image, and from where it is read: where any pixel is if
   not. */
INLINE int bytes_inside(GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job,
                        mts_u32 p, mts_u32 *from) {
    *from = p;
    if (BYTES_ROWS_OF(params, job)->row) {
        const bytes_run run = bytes_run_at(BYTES_ROWS_OF(params, job), p, p + 1);
        *from = run.inside ? run.from : 0;
        return run.inside != 0;
    }
    return job->mask == MTS_PARAM_NONE || mts_load(pool + (job->mask + p)) > 0.0f;
}

#define BYTES_LOAD(r, j) in[j] = mts_dot_input(x[(mts_i32)at->from[j] + tap[k]]);
#define BYTES_CLEAR(r) sum[r][0] = sum[r][1] = sum[r][2] = sum[r][3] = 0;
#define BYTES_START(r, j) sum[r][j] -= start;
#define BYTES_START_ROW(r)                                                                                   \
    {                                                                                                        \
        const mts_i32 start = zero * (mts_i32)w[r];                                                          \
        BYTES_EACH_PIXEL(BYTES_START, r)                                                                     \
    }
#define BYTES_DOT(r, j) sum[r][j] = mts_dot(sum[r][j], in[j], weight);
#define BYTES_DOT_ROW(r)                                                                                     \
    {                                                                                                        \
        const mts_u32 weight = w[r];                                                                         \
        BYTES_EACH_PIXEL(BYTES_DOT, r)                                                                       \
    }

/* sum[r][j] of row `row` + r and pixel j. */
INLINE void bytes_sums(mts_i32 sum[BYTES_AT_ONCE][BYTES_PIXELS], GLOBAL const mts_real *act, GLOBAL const mts_real *pool,
                       GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job, const bytes_pixels *at, mts_u32 row, const int rows) {
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    GLOBAL const mts_i32 *tap = (GLOBAL const mts_i32 *)(params + job->tap);
    const mts_u32 all = MTS_CODE_WORDS(job->rows_a) * MTS_WORD_CODES;
    BYTES_EACH_ROW(BYTES_CLEAR)
    for (mts_u32 s = 0; s < job->segments; s++, segment++) {
        GLOBAL const mts_u32 *x = (GLOBAL const mts_u32 *)act + (job->in + segment->channel * job->in_pitch);
        GLOBAL const mts_u32 *w = (GLOBAL const mts_u32 *)pool + (segment->weight_a + row);
        const mts_i32 zero = (mts_i32)segment->weight_b - MTS_DOT_ZERO;
        BYTES_EACH_ROW(BYTES_START_ROW)
        for (mts_u32 c = 0; c < segment->count; c++, x += job->in_pitch)
            for (mts_u32 k = 0; k < job->taps; k++) {
                mts_u32 in[BYTES_PIXELS];
                w += all;
                BYTES_EACH_PIXEL(BYTES_LOAD, 0)
                BYTES_EACH_ROW(BYTES_DOT_ROW)
            }
    }
}

/* An epilogue while rows of it are stored, as far as no function ends it. */
typedef struct bytes_ending {
    mts_codes_params codes;
    int coded;
    float step, least;
    mts_u32 zero, end; /* the code of 0 in all bytes; of the tile */
} bytes_ending;

/* Row `row` of pixels with these sums; `word` collects the codes of row % 4 and those
   before it. */
INLINE void bytes_row(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                      GLOBAL const mts_conv_params *job, GLOBAL const mts_epilogue_params *e, const bytes_ending *how,
                      const bytes_pixels *at, mts_u32 row, const mts_i32 *sum, mts_u32 *word) {
    const int real = row < job->rows_a, floats = real && e->out != MTS_PARAM_NONE;
    const float scale = (real && e->scale != MTS_PARAM_NONE ? mts_load(pool + (e->scale + row)) : 1.0f) / how->step;
    const float bias = (real && e->bias != MTS_PARAM_NONE ? mts_load(pool + (e->bias + row)) : 0.0f) / how->step;
    const mts_u32 plane = floats ? e->out + params[e->index + row] * e->out_pitch : 0;
    UNROLL
    for (int j = 0; j < BYTES_PIXELS; j++) {
        float v = (float)sum[j] * scale + bias;
        if (how->coded) v = mts_least(mts_most(mts_rint(mts_least(v, BYTES_FAR)), how->least), how->least + 255.0f);
        word[j] = word[j] >> 8 | (mts_u32)(mts_i32)(v - how->least) << 24;
        if (floats && at->to[j] < how->end) mts_store(act + (plane + at->to[j]), at->inside[j] ? v * how->step : 0.0f);
    }
}

/* The words of codes of four rows from `row` on. */
INLINE void bytes_words(GLOBAL mts_real *act, GLOBAL const mts_u32 *params, GLOBAL const mts_epilogue_params *e,
                        const bytes_ending *how, const bytes_pixels *at, mts_u32 row, const mts_u32 *word) {
    if (how->codes.out == MTS_PARAM_NONE) return;
    UNROLL
    for (int j = 0; j < BYTES_PIXELS; j++)
        if (at->to[j] < how->end)
            ((GLOBAL mts_u32 *)act)[how->codes.out + (params[e->index] + row) / 4 * how->codes.pitch + at->to[j]] =
                at->inside[j] ? word[j] : how->zero;
}

#define BYTES_ROW(r)                                                                                         \
    bytes_row(act, pool, params, job, e, &how, at, row + r, sum[r], word);                                   \
    if (r % 4 == 3) bytes_words(act, params, e, &how, at, row + r - 3, word);

INLINE void bytes_store(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, GLOBAL const mts_epilogue_params *e,
                        mts_i32 sum[BYTES_AT_ONCE][BYTES_PIXELS], const bytes_pixels *at, mts_u32 end, mts_u32 row,
                        const int rows) {
    mts_u32 word[BYTES_PIXELS] = {0};
    bytes_ending how;
    how.codes = bytes_codes(params, e);
    how.coded = e->fn == MTS_FN_QUANT8;
    how.step = how.coded ? e->a : 1.0f;
    how.least = how.coded ? e->b : 0.0f;
    how.zero = mts_codes_zero(how.least);
    how.end = end;
    BYTES_EACH_ROW(BYTES_ROW)
}

/* Rows from `row` on, for pixels p, p + items, .. of the tile. */
INLINE void bytes_case(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                       GLOBAL const mts_conv_params *job, mts_u32 p, mts_u32 end, mts_u32 items, mts_u32 row,
                       const int rows) {
    mts_i32 sum[BYTES_AT_ONCE][BYTES_PIXELS];
    bytes_pixels at;
    UNROLL
    for (int j = 0; j < BYTES_PIXELS; j++) {
        at.to[j] = p + (mts_u32)j * items;
        at.inside[j] = bytes_inside(pool, params, job, at.to[j] < end ? at.to[j] : p, at.from + j);
    }
    bytes_sums(sum, act, pool, params, job, &at, row, rows);
    NO_UNROLL
    for (mts_u32 i = 0; i < job->epilogues; i++)
        bytes_store(act, pool, params, job, (GLOBAL const mts_epilogue_params *)(params + job->epilogue) + i, sum, &at, end,
                    row, rows);
}

/* Functions of what the work-item stored. Layers that end so are few, and the function's
   text is long. */
INLINE void bytes_functions(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                            GLOBAL const mts_conv_params *job, bytes_place at, mts_u32 item, mts_u32 items) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    NO_UNROLL
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        if (e->fn == MTS_FN_QUANT8 || e->fn == MTS_FN_NONE || e->out == MTS_PARAM_NONE) continue;
        NO_UNROLL
        for (mts_u32 p = at.pixel + item; p < at.end; p += items) {
            mts_u32 from;
            if (!bytes_inside(pool, params, job, p, &from)) continue;
            NO_UNROLL
            for (mts_u32 r = 0; r < job->rows_a; r++) {
                GLOBAL mts_real *to = act + (e->out + params[e->index + r] * e->out_pitch + p);
                mts_store(to, bytes_element(e->fn, mts_load(to), e->a, e->b));
            }
        }
    }
}

INLINE void bytes_tile(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                       GLOBAL const mts_conv_params *job, bytes_place at, mts_u32 item, mts_u32 items) {
    NO_UNROLL
    for (mts_u32 row = 0; row < job->rows_a; row += BYTES_AT_ONCE) {
        NO_UNROLL
        for (mts_u32 p = at.pixel + item; p < at.end; p += BYTES_PIXELS * items) {
            if (job->rows_a - row > 4)
                bytes_case(act, pool, params, job, p, at.end, items, row, 8);
            else
                bytes_case(act, pool, params, job, p, at.end, items, row, 4);
        }
    }
    bytes_functions(act, pool, params, job, at, item, items);
}

#endif

INLINE void bytes_fill(GLOBAL mts_real *p, mts_u32 count, mts_u32 word, mts_u32 item, mts_u32 items) {
    for (mts_u32 i = item; i < count; i += items) ((GLOBAL mts_u32 *)p)[i] = word;
}

/* What lies around the stored planes: before them, in the rounding after their pixels,
   and after the last one. */
INLINE void bytes_border(GLOBAL mts_real *act, GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job,
                         bytes_place at, mts_u32 item, mts_u32 items) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        for (mts_u32 r = 0; r < job->rows_a && e->out != MTS_PARAM_NONE; r++) {
            const mts_u32 channel = params[e->index + r];
            GLOBAL mts_real *plane = act + e->out + channel * e->out_pitch;
            if (at.pixel == 0) bytes_fill(plane - e->gap, e->gap, 0, item, items);
            if (at.end == job->pixels) {
                mts_u32 plane_end = job->pixels;
                if (e->gap + job->pixels < e->out_pitch) plane_end = e->out_pitch - e->gap;
                if (e->last == channel) plane_end += e->tail;
                bytes_fill(plane + job->pixels, plane_end - job->pixels, 0, item, items);
            }
        }
        const mts_codes_params codes = bytes_codes(params, e);
        const mts_u32 zero = codes.out == MTS_PARAM_NONE ? 0 : mts_codes_zero(e->b);
        for (mts_u32 r = 0; r < job->rows_a && codes.out != MTS_PARAM_NONE; r += 4) {
            GLOBAL mts_real *plane = act + codes.out + (params[e->index] + r) / 4 * codes.pitch;
            if (at.pixel == 0) bytes_fill(plane - codes.before, codes.before, zero, item, items);
            if (at.end == job->pixels) bytes_fill(plane + job->pixels, codes.after, zero, item, items);
        }
    }
}

KERNEL void conv_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_tile_params *tile = (GLOBAL const mts_tile_params *)(params + first) + mts_group_id(0);
    GLOBAL const mts_conv_params *job = (GLOBAL const mts_conv_params *)(params + tile->job);
    const mts_u32 left = job->pixels - tile->pixel;
    bytes_place at;
    at.pixel = tile->pixel;
    at.end = tile->pixel + (left < job->tile ? left : job->tile);
    bytes_tile(act, pool, params, job, at, mts_local_id(0), mts_local_size(0));
    bytes_border(act, params, job, at, mts_local_id(0), mts_local_size(0));
}

#endif

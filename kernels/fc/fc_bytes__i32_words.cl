/*
 * fc_bytes: fully connected layers of 8-bit numbers: work-item (0, 0, m) computes up to
 * MTS_FC_BYTES_ROWS rows (mts_fc_bytes_params).
 *
 * Inputs are floats of a known grid and few, so that each work-item makes codes of them;
 * weights are words of four bytes, rows side by side, of which a vector is multiplied by
 * one word of input:
 *
 *     pool + weight_a + rows:  [words of input][rows]     act + in -> | x0 x1 x2 x3 | for all lanes
 *
 * Sums are integers. Results are floats, rounded as conv_bytes rounds them. Not responsible
 * for layers of GPUs, nor for weights that one byte does not hold.
 */
#if HALF
/* Elements of two bytes hold no words. */
KERNEL void fc_bytes__i32_words(MTS_ARGS) { (void)act; }
#else

#define FC_ROWS MTS_FC_BYTES_ROWS
#define FC_WORDS 64u /* of input at a time */
/* Larger than any code, and far below what is no int32 any more. */
#define FC_FAR 1.0e6f

INLINE mts_u32 fc_code(float x, float inverse, float least) {
    return (mts_u32)(mts_least(mts_most(mts_rint(mts_least(x * inverse, FC_FAR)), least), least + 255.0f) - least);
}

/* Words `word` to before word + count of the input; channels that it has not are 0. */
INLINE void fc_codes(GLOBAL const mts_real *act, GLOBAL const mts_fc_bytes_params *job, mts_u32 word, mts_u32 count,
                     mts_u32 *codes) {
    GLOBAL const mts_real *x = act + (job->in + 4 * word * job->in_pitch);
    const mts_u32 channels = mts_least(4 * count, job->channels - 4 * word);
    mts_u32 c = 0;
#if MTS_WORDS_DOT
    for (; job->in_pitch == 1 && c + VEC <= channels; c += VEC)
        mts_words_of_floats((mts_i32 *)codes + c / 4, x + c, job->inverse, (mts_i32)(0.0f - job->least));
#endif
    for (mts_u32 w = c / 4; w < count; w++) {
        codes[w] = mts_codes_zero(job->least);
        for (mts_u32 i = 0; i < 4 && 4 * w + i < channels; i++) {
            const mts_u32 code = fc_code(mts_load(x + (4 * w + i) * job->in_pitch), job->inverse, job->least);
            codes[w] = (codes[w] & ~(255u << 8 * i)) | code << 8 * i;
        }
    }
}

/* sum[r] += the products of `count` words and the weights of row r; `rows` is a multiple
   of four. */
#if MTS_WORDS_DOT
INLINE void fc_sums(mts_i32 *sum, const mts_u32 *codes, const mts_i32 *w, mts_u32 count, mts_u32 rows) {
    for (mts_u32 r = 0; r < rows; r += VEC) {
        const mts_u32 lanes = mts_least(rows - r, VEC);
        mts_words a = (mts_words)mts_words_load_some((const float *)(sum + r), lanes);
        mts_words b = mts_words_splat(0), c = b, d = b;
        const float *p = (const float *)(w + r);
        mts_u32 k = 0;
        for (; k + 4 <= count; k += 4, p += 4 * rows) { /* four sums, which do not wait for each other */
            a = mts_words_dot_rows(a, codes[k], (mts_words)mts_words_load_some(p, lanes));
            b = mts_words_dot_rows(b, codes[k + 1], (mts_words)mts_words_load_some(p + rows, lanes));
            c = mts_words_dot_rows(c, codes[k + 2], (mts_words)mts_words_load_some(p + 2 * rows, lanes));
            d = mts_words_dot_rows(d, codes[k + 3], (mts_words)mts_words_load_some(p + 3 * rows, lanes));
        }
        for (; k < count; k++, p += rows)
            a = mts_words_dot_rows(a, codes[k], (mts_words)mts_words_load_some(p, lanes));
        mts_words_put_some(sum + r, a + b + (c + d), lanes);
    }
}
#else
INLINE void fc_sums(mts_i32 *sum, const mts_u32 *codes, GLOBAL const mts_i32 *w, mts_u32 count, mts_u32 rows) {
    for (mts_u32 k = 0; k < count; k++, w += rows)
        for (mts_u32 r = 0; r < rows; r++) sum[r] = mts_dot(sum[r], mts_dot_input(codes[k]), (mts_u32)w[r]);
}
#endif

INLINE void fc_segment_bytes(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_fc_bytes_params *job,
                             GLOBAL const mts_segment_params *segment, mts_i32 *sum) {
    const mts_u32 rows = MTS_CODE_WORDS(job->rows) * MTS_WORD_CODES;
    GLOBAL const mts_i32 *w = (GLOBAL const mts_i32 *)pool + segment->weight_a;
    const mts_i32 zero = (mts_i32)segment->weight_b - MTS_WORDS_ZERO;
    for (mts_u32 r = 0; r < rows; r++) sum[r] -= zero * w[r];
    w += rows;
    for (mts_u32 k = 0; k < segment->count; k += FC_WORDS) {
        mts_u32 codes[FC_WORDS];
        const mts_u32 count = mts_least(segment->count - k, FC_WORDS);
        fc_codes(act, job, segment->channel + k, count, codes);
        fc_sums(sum, codes, w + k * rows, count, rows);
    }
}

INLINE void fc_store_bytes(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                           GLOBAL const mts_epilogue_params *e, const mts_i32 *sum, mts_u32 rows) {
    const int coded = e->fn == MTS_FN_QUANT8;
    const float step = coded ? e->a : 1.0f;
    for (mts_u32 r = 0; r < rows; r++) {
        const float scale = (e->scale != MTS_PARAM_NONE ? mts_load(pool + (e->scale + r)) : 1.0f) / step;
        const float bias = (e->bias != MTS_PARAM_NONE ? mts_load(pool + (e->bias + r)) : 0.0f) / step;
        const mts_u32 channel = params[e->index + r], out = e->out + channel * e->out_pitch;
        float v = (float)sum[r] * scale + bias;
        if (coded)
            v = mts_least(mts_most(mts_rint(mts_least(v, FC_FAR)), e->b), e->b + 255.0f) * step;
        else if (e->fn != MTS_FN_NONE) {
            const mts_vec y = mts_vec_element(e->fn, mts_vec_splat(v), e->a, e->b);
            v = ((const float *)&y)[0];
        }
        mts_store(act + out, v);
        if (e->gap) { /* the zeros around a plane of one pixel */
            mts_codes_fill(act, out - e->gap, out, 0);
            mts_codes_fill(act, out + 1, out + e->out_pitch - e->gap + (e->last == channel ? e->tail : 0), 0);
        }
    }
}

KERNEL void fc_bytes__i32_words(MTS_ARGS) {
    GLOBAL const mts_fc_bytes_params *job = (GLOBAL const mts_fc_bytes_params *)(params + first) + mts_global_id(2);
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    mts_i32 sum[FC_ROWS];
    if (mts_global_id(0) > 0) return;
    for (mts_u32 r = 0; r < FC_ROWS; r++) sum[r] = 0;
    for (mts_u32 s = 0; s < job->segments; s++) fc_segment_bytes(act, pool, job, segment + s, sum);
    for (mts_u32 i = 0; i < job->epilogues; i++) fc_store_bytes(act, pool, params, e + i, sum, job->rows);
}

#endif

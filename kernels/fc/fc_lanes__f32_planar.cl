/*
 * fc_lanes: fully connected layers of many tasks in one launch.
 *
 * Responsible for a matrix times one input vector per member: work-item g computes `lanes` (= VEC) neighbouring output
 * rows, so that weights, which are read once, stream as whole vectors and inputs are scalar broadcasts:
 *
 *     pool + weight_a:  [ceil(rows / lanes)][count][lanes]      row block g is contiguous
 *
 * Several accumulators run over the inputs because one chain would wait for the latency of each multiply-add. Rows
 * beyond `rows` and work-items beyond the last block store nothing. Not responsible for matrices that vary at run
 * time. Grid: (row blocks, 1, members).
 */
#ifndef CHAINS
#define CHAINS 8 /* 1, 2, 4, 8: independent sums */
#endif

#define EACH_CHAIN(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)

/* clang-format off */
#define FC_CLEAR(j) if (j < CHAINS) sum[j] = mts_vec_splat(0.0f);
#define FC_FMA(j) if (j < CHAINS) sum[j] = mts_vec_fma(mts_vec_load(w + j * VEC), mts_vec_splat(x[j * pitch]), sum[j]);
#define FC_FOLD(j) if (j > 0 && j < CHAINS) sum[0] = mts_vec_add(sum[0], sum[j]);
/* clang-format on */

INLINE mts_vec fc_sum(GLOBAL const float *act, GLOBAL const float *pool, GLOBAL const mts_rec_fc *job,
                      GLOBAL const mts_rec_segment *segment, mts_u32 block) {
    const mts_u32 pitch = job->in_pitch;
    mts_vec sum[8];
    EACH_CHAIN(FC_CLEAR)
    for (mts_u32 s = 0; s < job->segments; s++, segment++) {
        const mts_u32 count = segment->count;
        GLOBAL const float *x = act + job->in + segment->channel * pitch;
        GLOBAL const float *w = pool + segment->weight_a + block * count * VEC;
        mts_u32 k = 0;
        for (; k + CHAINS <= count; k += CHAINS) {
            EACH_CHAIN(FC_FMA)
            x += CHAINS * pitch;
            w += CHAINS * VEC;
        }
        for (; k < count; k++) {
            sum[0] = mts_vec_fma(mts_vec_load(w), mts_vec_splat(x[0]), sum[0]);
            x += pitch;
            w += VEC;
        }
    }
    EACH_CHAIN(FC_FOLD)
    return sum[0];
}

/* The zeros around an output that is a plane of one pixel. */
INLINE void fc_border(GLOBAL float *out, GLOBAL const mts_rec_epilogue *e, mts_u32 channel) {
    const mts_u32 after = e->out_pitch - e->gap + (e->last == channel ? e->tail : 0);
    for (mts_u32 i = 1; i <= e->gap; i++) out[-(mts_i32)i] = 0.0f;
    for (mts_u32 i = 1; i < after; i++) out[i] = 0.0f;
}

/* One epilogue of `count` rows from `row` on. */
INLINE void fc_store(GLOBAL float *act, GLOBAL const float *pool, GLOBAL const mts_u32 *tab,
                     GLOBAL const mts_rec_epilogue *e, mts_u32 row, mts_u32 count, const float *sum) {
    float y[VEC];
    for (mts_u32 r = 0; r < VEC; r++) {
        float v = sum[r];
        if (r < count) {
            if (e->scale != MTS_REC_NONE) v *= pool[e->scale + row + r];
            if (e->bias != MTS_REC_NONE) v += pool[e->bias + row + r];
            if (e->res != MTS_REC_NONE) v += act[e->res + tab[e->index + row + r] * e->res_pitch];
            if (e->fn == MTS_FN_PRELU && !(v > 0.0f)) v *= pool[e->slope + row + r];
        }
        y[r] = v;
    }
    if (e->fn != MTS_FN_NONE && e->fn != MTS_FN_PRELU) {
        const mts_vec v = mts_vec_load(y);
        mts_vec_spill(y, mts_vec_element(e->fn, v, e->a, e->b));
    }
    for (mts_u32 r = 0; r < count; r++) {
        const mts_u32 channel = tab[e->index + row + r];
        GLOBAL float *out = act + e->out + channel * e->out_pitch;
        *out = y[r];
        if (e->gap) fc_border(out, e, channel);
    }
}

KERNEL void fc_lanes__f32_planar(GLOBAL float *act, GLOBAL const float *RESTRICT pool,
                                 GLOBAL const mts_u32 *RESTRICT tab, mts_u32 first) {
    GLOBAL const mts_rec_fc *job = (GLOBAL const mts_rec_fc *)(tab + first) + mts_global_id(2);
    GLOBAL const mts_rec_epilogue *e = (GLOBAL const mts_rec_epilogue *)(tab + job->epilogue);
    const mts_u32 row = mts_global_id(0) * VEC;
    float lanes[VEC];
    if (row >= job->rows) return;
    const mts_u32 count = job->rows - row < VEC ? job->rows - row : VEC;
    mts_vec_spill(lanes, fc_sum(act, pool, job, (GLOBAL const mts_rec_segment *)(tab + job->segment),
                                mts_global_id(0)));
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) fc_store(act, pool, tab, e, row, count, lanes);
}

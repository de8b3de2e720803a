/*
 * fc_lanes: fully connected layers of many tasks in one launch.
 *
 * Responsible for a matrix times one input vector per member: work-item g computes
 * `lanes` (= VEC) neighbouring output rows, so that weights stream as whole vectors and
 * inputs are scalar broadcasts:
 *
 *     pool + weight_a:  [ceil(rows / lanes)][count][lanes]      row block g is contiguous
 *
 * Memory bounds it: a vector of weights that members share (mts_fc_params.sharing) is
 * loaded once for up to four of them. Several accumulators run over the inputs because
 * one chain would wait for the latency of each multiply-add. Rows beyond `rows` and
 * work-items beyond the last block store nothing. Not responsible for matrices that vary
 * at run time. Grid: (row blocks, 1, members).
 */
#ifndef CHAINS
#define CHAINS 8 /* 4, 8: independent sums */
#endif

#define FC_SHARING 4
#define EACH_CHAIN(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define EACH_JOB(M, j) M(0, j) M(1, j) M(2, j) M(3, j)

/* clang-format off */
#define FC_CLEAR(t, j) if (t < nt && j < chains) sum[t][j] = mts_vec_splat(0.0f);
#define FC_CLEAR_CHAIN(j) EACH_JOB(FC_CLEAR, j)
#define FC_INPUT(t, j) if (t < nt) x[t] = act + job[t].in + channel * pitch;
#define FC_X(t, j) mts_vec_splat(mts_load(x[t] + (k + j) * pitch))
#define FC_FMA(t, j) if (t < nt) sum[t][j] = mts_vec_fma(v, FC_X(t, j), sum[t][j]);
#define FC_FMA_CHAIN(j) if (j < chains) { const mts_vec v = mts_vec_load(w + j * VEC); EACH_JOB(FC_FMA, j) }
#define FC_FOLD(t, j) if (t < nt && j < chains) total[t] = mts_vec_add(total[t], sum[t][j]);
#define FC_FOLD_CHAIN(j) EACH_JOB(FC_FOLD, j)
/* clang-format on */

/* total[t] += the segment's product of job[t], for nt jobs that have the same weights. */
INLINE void fc_segment(GLOBAL const mts_real *act, GLOBAL const mts_real *w, GLOBAL const mts_fc_params *job,
                       mts_u32 channel, mts_u32 count, mts_vec *total, const int nt) {
    const int chains = nt > CHAINS / 2 ? 2 : CHAINS / nt;
    const mts_u32 pitch = job->in_pitch;
    GLOBAL const mts_real *x[FC_SHARING];
    mts_vec sum[FC_SHARING][8];
    mts_u32 k = 0;
    EACH_CHAIN(FC_CLEAR_CHAIN)
    EACH_JOB(FC_INPUT, 0)
    for (; k + chains <= count; k += chains) {
        EACH_CHAIN(FC_FMA_CHAIN)
        w += chains * VEC;
    }
    for (; k < count; k++) {
        const mts_vec v = mts_vec_load(w);
        EACH_JOB(FC_FMA, 0)
        w += VEC;
    }
    EACH_CHAIN(FC_FOLD_CHAIN)
}

/* The zeros around an output that is a plane of one pixel. */
INLINE void fc_border(GLOBAL mts_real *out, GLOBAL const mts_epilogue_params *e, mts_u32 channel) {
    const mts_u32 after = e->out_pitch - e->gap + (e->last == channel ? e->tail : 0);
    for (mts_u32 i = 1; i <= e->gap; i++) mts_store(out - i, 0.0f);
    for (mts_u32 i = 1; i < after; i++) mts_store(out + i, 0.0f);
}

/* One epilogue of `count` rows from `row` on. */
INLINE void fc_store(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                     GLOBAL const mts_epilogue_params *e, mts_u32 row, mts_u32 count, const float *sum) {
    float y[VEC];
    for (mts_u32 r = 0; r < VEC; r++) {
        float v = sum[r];
        if (r < count) {
            if (e->scale != MTS_PARAM_NONE) v *= mts_load(pool + (e->scale + row + r));
            if (e->bias != MTS_PARAM_NONE) v += mts_load(pool + (e->bias + row + r));
            if (e->res != MTS_PARAM_NONE) v += mts_load(act + (e->res + params[e->index + row + r] * e->res_pitch));
            if (e->fn == MTS_FN_PRELU && !(v > 0.0f)) v *= mts_load(pool + (e->slope + row + r));
        }
        y[r] = v;
    }
    if (e->fn != MTS_FN_NONE && e->fn != MTS_FN_PRELU) {
        const mts_vec v = mts_vec_get(y);
        mts_vec_spill(y, mts_vec_element(e->fn, v, e->a, e->b));
    }
    for (mts_u32 r = 0; r < count; r++) {
        const mts_u32 channel = params[e->index + row + r];
        GLOBAL mts_real *out = act + e->out + channel * e->out_pitch;
        mts_store(out, y[r]);
        if (e->gap) fc_border(out, e, channel);
    }
}

#ifdef MTS_DIALECT_C
#include "kernels/fc/fc_store.h"
#endif

INLINE GLOBAL const mts_segment_params *fc_segment_of(GLOBAL const mts_u32 *params, GLOBAL const mts_fc_params *job, mts_u32 s) {
    return (GLOBAL const mts_segment_params *)(params + job->segment) + s;
}

/* clang-format off */
#define FC_NONE(t, j) if (t < nt) total[t] = mts_vec_splat(0.0f);
#define FC_SAME(t, j) if (t < nt) same = same && fc_segment_of(params, job + t, s)->weight_a == segment->weight_a;
#define FC_ALONE(t, j) \
    if (t < nt) fc_segment(act, pool + fc_segment_of(params, job + t, s)->weight_a + skip, job + t, segment->channel, \
                           segment->count, total + t, 1);
#define FC_PICK(t, j) if (t < nt && n == t) sum = total[t];
#define FC_STORE(t, j) if (t < nt) fc_finish(act, pool, params, job + t, block * VEC, total[t]);
/* clang-format on */

#ifdef MTS_CPU_FN_SHARED
#define FC_FINISH OUTLINE /* the smallest library has it once */
#else
#define FC_FINISH INLINE
#endif
FC_FINISH void fc_finish(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                      GLOBAL const mts_fc_params *job, mts_u32 row, mts_vec sum) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    const mts_u32 count = job->rows - row < VEC ? job->rows - row : VEC;
    float lanes[VEC];
    mts_vec_spill(lanes, sum);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) fc_store(act, pool, params, e, row, count, lanes);
}

/* One row block of nt jobs. */
INLINE void fc_jobs(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                    GLOBAL const mts_fc_params *job, mts_u32 block, const int nt) {
    mts_vec total[FC_SHARING];
    EACH_JOB(FC_NONE, 0)
    for (mts_u32 s = 0; s < job->segments; s++) {
        GLOBAL const mts_segment_params *segment = fc_segment_of(params, job, s);
        const mts_u32 skip = block * segment->count * VEC;
        int same = 1;
        EACH_JOB(FC_SAME, 0)
        if (same) {
            fc_segment(act, pool + segment->weight_a + skip, job, segment->channel, segment->count, total, nt);
        } else {
            EACH_JOB(FC_ALONE, 0)
        }
    }
#if VEC == 1
    /* A GPU's program has what follows the sums once, not once for each job. */
    NO_UNROLL for (int n = 0; n < nt; n++)
    {
        mts_vec sum = total[0];
        EACH_JOB(FC_PICK, 0)
        fc_finish(act, pool, params, job + n, block, sum);
    }
#else
    EACH_JOB(FC_STORE, 0)
#endif
}

KERNEL void fc_lanes__f32_planar(MTS_ARGS) {
    GLOBAL const mts_fc_params *job = (GLOBAL const mts_fc_params *)(params + first) + mts_global_id(2);
    const mts_u32 block = mts_global_id(0);
    if (job->sharing == MTS_PARAM_NONE || block * VEC >= job->rows) return;
    mts_u32 jobs = job->sharing + 1;
    for (; jobs >= FC_SHARING; jobs -= FC_SHARING, job += FC_SHARING) fc_jobs(act, pool, params, job, block, FC_SHARING);
    for (; jobs >= 2; jobs -= 2, job += 2) fc_jobs(act, pool, params, job, block, 2);
    if (jobs) fc_jobs(act, pool, params, job, block, 1);
}

/*
 * fc_block: fully connected layers of many tasks for GPUs, one work-group per row block
 * of LANES outputs.
 *
 * Responsible for what fc_lanes computes (mts_fc_params with lanes = LANES), with
 * work-items where that has vectors:
 *
 *     pool + weight_a:  [ceil(rows / LANES)][count][LANES]      neighbours read neighbouring rows
 *     slice             0 1 .. SLICES-1 0 1 ..                  inputs are dealt out to SLICES times LANES work-items
 *
 * The slices' sums meet in LOCAL memory. Memory bounds it: weights that members share
 * (sharing) are loaded once for up to four of them. Grid: (row blocks * GROUP, 1,
 * members). Not responsible for matrices that vary at run time.
 */
#ifndef GROUP
#define GROUP 128 /* 64, 128, 256 */
#endif
#if VEC != 1
#error "a work-item of fc_block computes one row"
#endif

#undef LANES
#define LANES 32
#define SLICES (GROUP / LANES)
#define FC_SHARING 4
#define FC_AHEAD 4 /* weights on their way at once */

typedef struct fc_room {
    float part[SLICES][FC_SHARING][LANES];
} fc_room;

INLINE GLOBAL const mts_segment_params *fc_segment_of(GLOBAL const mts_u32 *params, GLOBAL const mts_fc_params *job, mts_u32 s) {
    return (GLOBAL const mts_segment_params *)(params + job->segment) + s;
}

/* sum[t] += the work-item's share of a segment's product, for nt jobs that have the
   weights at `w`. */
INLINE void fc_segment(GLOBAL const mts_real *act, GLOBAL const mts_real *w, GLOBAL const mts_fc_params *job,
                       GLOBAL const mts_segment_params *segment, mts_u32 slice, float sum[FC_SHARING], const int nt) {
    const mts_u32 pitch = job->in_pitch, count = segment->count;
    mts_u32 x[FC_SHARING], k = slice;
    UNROLL for (int t = 0; t < FC_SHARING; t++) x[t] = t < nt ? job[t].in + segment->channel * pitch : 0;
    for (; k + (FC_AHEAD - 1) * SLICES < count; k += FC_AHEAD * SLICES) {
        float v[FC_AHEAD];
        UNROLL for (int j = 0; j < FC_AHEAD; j++) v[j] = mts_load(w + (k + j * SLICES) * LANES);
        UNROLL for (int j = 0; j < FC_AHEAD; j++) {
            UNROLL for (int t = 0; t < FC_SHARING; t++)
                if (t < nt) sum[t] = mts_fma(v[j], mts_load(act + (x[t] + (k + j * SLICES) * pitch)), sum[t]);
        }
    }
    for (; k < count; k += SLICES) {
        const float v = mts_load(w + k * LANES);
        UNROLL for (int t = 0; t < FC_SHARING; t++)
            if (t < nt) sum[t] = mts_fma(v, mts_load(act + (x[t] + k * pitch)), sum[t]);
    }
}

/* The zeros around an output that is a plane of one pixel. */
INLINE void fc_border(GLOBAL mts_real *out, GLOBAL const mts_epilogue_params *e, mts_u32 channel) {
    const mts_u32 after = e->out_pitch - e->gap + (e->last == channel ? e->tail : 0);
    for (mts_u32 i = 1; i <= e->gap; i++) mts_store(out - i, 0.0f);
    for (mts_u32 i = 1; i < after; i++) mts_store(out + i, 0.0f);
}

INLINE void fc_store(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                     GLOBAL const mts_fc_params *job, mts_u32 row, float sum) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        const mts_u32 channel = params[e->index + row];
        GLOBAL mts_real *out = act + (e->out + channel * e->out_pitch);
        float v = sum;
        if (e->scale != MTS_PARAM_NONE) v *= mts_load(pool + (e->scale + row));
        if (e->bias != MTS_PARAM_NONE) v += mts_load(pool + (e->bias + row));
        if (e->res != MTS_PARAM_NONE) v += mts_load(act + (e->res + channel * e->res_pitch));
        if (e->fn == MTS_FN_PRELU) {
            v = mts_vec_slope(v, mts_load(pool + (e->slope + row)));
        } else {
            v = mts_vec_element(e->fn, v, e->a, e->b);
        }
        mts_store(out, v);
        if (e->gap) fc_border(out, e, channel);
    }
}

/* The work-item's share of a row of nt jobs; a segment whose weights differ is read for
   each of them. */
INLINE void fc_jobs(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                    GLOBAL const mts_fc_params *job, mts_u32 block, mts_u32 lane, mts_u32 slice, float sum[FC_SHARING],
                    const int nt) {
    for (mts_u32 s = 0; s < job->segments; s++) {
        GLOBAL const mts_segment_params *segment = fc_segment_of(params, job, s);
        const mts_u32 skip = block * segment->count * LANES + lane;
        int same = 1;
        UNROLL for (int t = 1; t < FC_SHARING; t++)
            if (t < nt) same = same && fc_segment_of(params, job + t, s)->weight_a == segment->weight_a;
        if (same) {
            fc_segment(act, pool + (segment->weight_a + skip), job, segment, slice, sum, nt);
        } else {
            UNROLL for (int t = 0; t < FC_SHARING; t++)
                if (t < nt)
                    fc_segment(act, pool + (fc_segment_of(params, job + t, s)->weight_a + skip), job + t, segment, slice,
                               sum + t, 1);
        }
    }
}

KERNEL_OF(GROUP) void fc_block__f32_planar(MTS_ARGS) {
    LOCAL_ROOM(fc_room, room);
    GLOBAL const mts_fc_params *job = (GLOBAL const mts_fc_params *)(params + first) + mts_global_id(2);
    const mts_u32 id = mts_local_id(0), lane = id % LANES, slice = id / LANES, block = mts_group_id(0);
    const mts_u32 row = block * LANES + lane;
    if (job->sharing == MTS_PARAM_NONE || block * LANES >= job->rows) return; /* all of the group or none of it */
    for (mts_u32 left = job->sharing + 1; left;) {
        float sum[FC_SHARING] = {0.0f, 0.0f, 0.0f, 0.0f};
        const mts_u32 nt = left >= FC_SHARING ? FC_SHARING : left >= 2 ? 2 : 1;
        if (nt == FC_SHARING) {
            fc_jobs(act, pool, params, job, block, lane, slice, sum, FC_SHARING);
        } else if (nt == 2) {
            fc_jobs(act, pool, params, job, block, lane, slice, sum, 2);
        } else {
            fc_jobs(act, pool, params, job, block, lane, slice, sum, 1);
        }
        UNROLL for (int t = 0; t < FC_SHARING; t++) room->part[slice][t][lane] = sum[t];
        BARRIER();
        for (mts_u32 t = slice; t < nt; t += SLICES) { /* a slice stores a job */
            float total = 0.0f;
            for (mts_u32 s = 0; s < SLICES; s++) total += room->part[s][t][lane];
            if (row < job->rows) fc_store(act, pool, params, job + t, row, total);
        }
        BARRIER();
        left -= nt;
        job += nt;
    }
}

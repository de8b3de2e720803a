/*
 * phase_any: splits an image into the sy * sx phases of a strided convolution, so that each tap of it is a
 * constant pixel offset. See mts_rec_phase; unlike the other kernels it has no mts_rec_dest: a work-item owns
 * a run of floats of one phase.
 */
INLINE void phase_row(GLOBAL float *act, GLOBAL const float *row, GLOBAL const mts_rec_phase *r, mts_u32 to,
                      mts_i32 y, mts_i32 x, mts_u32 n) {
    const mts_i32 step = (mts_i32)r->sx, width = (mts_i32)r->in_w, count = (mts_i32)n;
    mts_i32 from = 0, end = 0;
    if (y >= 0 && y < (mts_i32)r->in_h) {
        from = x < 0 ? mts_least((-x + step - 1) / step, count) : 0;
        end = x < width ? mts_most(from, mts_least((width - x + step - 1) / step, count)) : from;
    }
    mts_zero(act + to, (mts_u32)from);
    mts_zero(act + to + end, (mts_u32)(count - end));
    for (mts_i32 i = from; i < end; i += VEC) {
        const mts_i32 offset = y * (mts_i32)r->src_row + x + i * step;
        const mts_u32 left = (mts_u32)(end - i);
        mts_row_store(act + to + i, mts_row_load(row + offset, step, left, (mts_u32)(width - x - i * step)),
                      left, 0);
    }
}

KERNEL void phase_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_phase *r = MTS_MEMBER(mts_rec_phase);
    const mts_u32 plane = mts_global_id(1), phases = r->sy * r->sx;
    const mts_u32 channel = plane / phases, phase = plane - channel * phases;
    const mts_u32 run = mts_run(r->pitch), to = r->out + plane * r->pitch;
    const mts_u32 end = mts_least(mts_global_id(0) * run + run, r->pitch);
    const mts_i32 py = (mts_i32)(phase / r->sx), px = (mts_i32)(phase % r->sx);
    GLOBAL const float *src = (r->src_pool ? pool : act) + r->src + channel * r->src_pitch;
    mts_u32 at = mts_global_id(0) * run;
    if (channel >= r->channels) return;
    while (at < end) {
        const mts_u32 y = at / r->row, x = at - y * r->row;
        const mts_u32 n = y < r->rows ? mts_least(end - at, r->row - x) : end - at;
        const mts_i32 in_y = y < r->rows ? (mts_i32)(y * r->sy) + py - r->top : -1;
        phase_row(act, src, r, to + at, in_y, (mts_i32)(x * r->sx) + px - r->left, n);
        at += n;
    }
}

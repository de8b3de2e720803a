/*
 * concat_any: part i supplies the coordinates [start_i, start_i+1) along one axis. Parts may be constants of the pool.
 */
INLINE void concat_row(GLOBAL float *act, GLOBAL const float *src, mts_u32 offset, mts_i32 step, mts_u32 to, mts_u32 n) {
    for (mts_u32 i = 0; i < n; i += VEC)
        mts_row_store(act + to + i, mts_row_load(src + offset + (mts_i32)i * step, step, n - i), n - i);
}

/* Coordinate `axis` counts from the part's start: c - start, so the offset is that of the span less start strides. */
INLINE mts_u32 concat_offset(GLOBAL const mts_rec_part *part, const mts_span *s, mts_u32 axis) {
    return mts_view_at(&part->view, s) - part->start * part->view.stride[axis];
}

KERNEL void concat_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_concat *r = MTS_MEMBER(mts_rec_concat);
    GLOBAL const mts_rec_part *parts = (GLOBAL const mts_rec_part *)(tab + r->part);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        mts_u32 done = 0, i = 0;
        while (done < s.n) {
            const mts_u32 at = r->axis == 5 ? s.x : r->axis == 4 ? s.y : s.c[r->axis & 3];
            while (i + 1 < r->parts && parts[i + 1].start <= at) i++;
            const mts_u32 left = s.n - done;
            const mts_u32 room = i + 1 < r->parts && r->axis == 5 ? parts[i + 1].start - at : left;
            const mts_u32 n = mts_least(left, room);
            concat_row(act, parts[i].pool ? pool : act, concat_offset(parts + i, &s, r->axis),
                       (mts_i32)parts[i].view.stride[5], s.to + done, n);
            s.x += n;
            done += n;
        }
    }
}

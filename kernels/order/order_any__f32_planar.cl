/*
 * order_any: positions of the largest or smallest elements of each row, in order; equal
 * ones in the order of the row.
 *
 * A stretch finds its first result by halving the range of keys bit by bit, unless it
 * begins with the row's best, and each following one as the best of those behind it.
 */

/* Larger keys come first. Equal numbers have equal keys, and every float has one. */
INLINE mts_u32 order_key(float x, mts_u32 largest) {
    const mts_u32 bits = mts_as_u32(x == 0.0f ? 0.0f : x);
    const mts_u32 key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return largest ? key : ~key;
}

#define ORDER_KEY(i) order_key(mts_load(row + (i)*step), r->largest)

/* How many of the row's keys are at least `least`. */
INLINE mts_u32 order_count(GLOBAL const mts_real *row, GLOBAL const mts_order_params *r, mts_u32 least) {
    const mts_u32 step = r->src.stride[5];
    mts_u32 count = 0;
    for (mts_u32 i = 0; i < r->length; i++) count += ORDER_KEY(i) >= least;
    return count;
}

/* The position after which only results from `rank` on are left, and its key: the result
   before. */
INLINE mts_u32 order_before(GLOBAL const mts_real *row, GLOBAL const mts_order_params *r, mts_u32 rank, mts_u32 *key) {
    const mts_u32 step = r->src.stride[5];
    mts_u32 k = 0, i = 0;
    for (mts_u32 bit = 0x80000000u; bit; bit >>= 1)
        if (order_count(row, r, k | bit) >= rank) k |= bit;
    rank -= k == 0xffffffffu ? 0 : order_count(row, r, k + 1);
    for (; i + 1 < r->length; i++)
        if (ORDER_KEY(i) == k && --rank == 0) break;
    *key = k;
    return i;
}

KERNEL void order_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_order_params *r = MTS_MEMBER(mts_order_params);
    const mts_u32 step = r->src.stride[5];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        GLOBAL const mts_real *row = act + mts_view_plane(&r->src, &s) + s.y * r->src.stride[4];
        mts_u32 key = 0xffffffffu, at = 0;
        int any = s.x != 0;
        if (any) at = order_before(row, r, s.x, &key);
        for (mts_u32 n = 0; n < s.n; n++) {
            mts_u32 best = 0, best_key = 0;
            int found = 0;
            for (mts_u32 i = 0; i < r->length; i++) {
                const mts_u32 k = ORDER_KEY(i);
                const int behind = !any || k < key || (k == key && i > at);
                if (behind && (!found || k > best_key)) {
                    best = i;
                    best_key = k;
                    found = 1;
                }
            }
            at = best;
            key = best_key;
            any = 1;
            mts_store(act + s.to + n, (float)best);
        }
    }
}

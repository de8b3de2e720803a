/*
 * softmax_meet.h: how the work-items of a group find the largest element and the sum of the
 * lines that they share; for kernels whose work-item is slice * wide + line, of a group with a
 * power of two of work-items.
 */
#define SOFTMAX_GROUP 256 /* most work-items of a group */

/* The sum or the largest of what the work-items of a line hold, which all of them get. */
INLINE float softmax_meet(LOCAL_PTR float *parts, float v, mts_u32 lane, mts_u32 lanes, mts_u32 wide, int sums) {
    BARRIER();
    parts[lane] = v;
    for (mts_u32 n = lanes / 2; n >= wide; n /= 2) {
        BARRIER();
        if (lane < n) parts[lane] = sums ? parts[lane] + parts[lane + n] : mts_most(parts[lane], parts[lane + n]);
    }
    BARRIER();
    return parts[lane & (wide - 1)];
}

/*
 * border.h: the zeros around a plane that a convolution has stored.
 *
 * Part of every kernel's program text, after dest.h. Not responsible for zeros between
 * the rows of a plane, which a mask makes.
 */
#ifndef MTS_KERNELS_BORDER_H
#define MTS_KERNELS_BORDER_H

/*
 * Of channel `channel`, by work-item `item` of `items`: those before it, if its first
 * pixel was stored (is_first), and those behind its `pixels` and behind the last channel,
 * if its last one was.
 */
INLINE void mts_epilogue_border(GLOBAL mts_real *act, GLOBAL const mts_epilogue_params *e, mts_u32 channel,
                                mts_u32 pixels, int is_first, int is_last, mts_u32 item, mts_u32 items) {
    GLOBAL mts_real *plane = act + e->out + channel * e->out_pitch;
    mts_u32 end = pixels;
    if (e->gap + pixels < e->out_pitch) end = e->out_pitch - e->gap;
    if (e->last == channel) end += e->tail;
    for (mts_u32 i = item; is_first && i < e->gap; i += items) mts_store(plane - e->gap + i, 0.0f);
    for (mts_u32 i = pixels + item; is_last && i < end; i += items) mts_store(plane + i, 0.0f);
}

#endif

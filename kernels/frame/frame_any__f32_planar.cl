/*
 * frame_any: a camera picture of bytes to a model's input: crop, bilinear resize (half-pixel centres, clamped
 * to the crop), channel order, mean and scale. The launch passes the picture as `pool`: bytes, whatever HALF is.
 * Not responsible for formats with subsampled colour.
 */
#ifdef __CUDACC__
typedef unsigned char frame_byte;
#else
typedef uchar frame_byte;
#endif

typedef struct frame_line {
    mts_u32 low, high; /* neighbouring pixels of the picture */
    float weight;      /* of `high` */
} frame_line;

/* Position i of `out` in a crop of `size` pixels from `start` on. */
INLINE frame_line frame_find(mts_u32 i, mts_u32 out, mts_u32 start, mts_u32 size) {
    const float last = (float)(size - 1);
    float x = ((float)i + 0.5f) * ((float)size / (float)out) - 0.5f;
    frame_line line;
    x = x < 0.0f ? 0.0f : x > last ? last : x;
    line.low = (mts_u32)x;
    line.weight = x - (float)line.low;
    line.high = start + mts_least(line.low + 1, size - 1);
    line.low += start;
    return line;
}

/* One colour of one pixel: 0 red, 1 green, 2 blue, 3 luma. */
INLINE float frame_colour(GLOBAL const frame_byte *p, mts_u32 format, mts_u32 colour) {
    if (format == MTS_PIXEL_GREY) return (float)p[0];
    const int reversed = format == MTS_PIXEL_BGR || format == MTS_PIXEL_BGRA;
    const float red = (float)p[reversed ? 2 : 0], green = (float)p[1], blue = (float)p[reversed ? 0 : 2];
    return colour == 0   ? red
           : colour == 1 ? green
           : colour == 2 ? blue
                         : 0.299f * red + 0.587f * green + 0.114f * blue;
}

INLINE float frame_value(GLOBAL const frame_byte *picture, GLOBAL const mts_rec_frame *r, frame_line y,
                         frame_line x, mts_u32 channel) {
    const mts_u32 colour = r->order[channel & 3], f = r->format;
    const mts_u32 size = f == MTS_PIXEL_GREY ? 1 : f == MTS_PIXEL_RGBA || f == MTS_PIXEL_BGRA ? 4 : 3;
    GLOBAL const frame_byte *top = picture + y.low * r->stride, *bottom = picture + y.high * r->stride;
    const float a = frame_colour(top + x.low * size, f, colour),
                b = frame_colour(top + x.high * size, f, colour);
    const float c = frame_colour(bottom + x.low * size, f, colour),
                d = frame_colour(bottom + x.high * size, f, colour);
    const float above = a + (b - a) * x.weight, below = c + (d - c) * x.weight;
    return (above + (below - above) * y.weight - r->mean[channel & 3]) * r->scale[channel & 3];
}

KERNEL void frame_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_rec_frame *r = MTS_MEMBER(mts_rec_frame);
    GLOBAL const frame_byte *picture = (GLOBAL const frame_byte *)((GLOBAL const mts_u32 *)pool + r->src);
    const mts_u32 height = r->dest.dims[r->interleaved ? 3 : 4], width = r->dest.dims[r->interleaved ? 4 : 5];
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s)) {
        const frame_line y = frame_find(r->interleaved ? s.c[3] : s.y, height, r->crop_y, r->crop_h);
        for (mts_u32 i = 0; i < s.n; i++) {
            const mts_u32 column = r->interleaved ? s.y : s.x + i,
                          channel = r->interleaved ? s.x + i : s.c[3];
            const frame_line x = frame_find(column, width, r->crop_x, r->crop_w);
            mts_store(act + (s.to + i), frame_value(picture, r, y, x, channel));
        }
    }
}

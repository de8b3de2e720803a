/*
 * frame_any: a region of a camera frame of bytes to one image of a model's input: colour
 * conversion, crop, rotation by any angle, mirror, resize (bilinear or the mean of an
 * area), letterbox bars, channel order, mean and scale, integers for ports of 8 bits. See
 * mts_frame_params. The launch passes the frame as `pool`: bytes, whatever HALF is. A
 * work-item owns pixels of one row of the image, all channels of them, so that a source
 * pixel is converted once for all channels:
 *
 *     row i   | bar bar | v v v v v v v v v v v | bar bar |    j = 0 .. width - 1
 *                       left                    left + columns
 *     run          |<------------->|
 */
#ifdef __CUDACC__
typedef unsigned char frame_byte;
#else
typedef uchar frame_byte;
#endif

/* The pixels of one direction that an image pixel is made of, and what each counts. */
typedef struct frame_taps {
    mts_u32 first, count;
    float head, body, tail; /* of the first, of those between, of the last */
} frame_taps;

/* The kernel parameters that every source pixel needs. */
typedef struct frame_source {
    GLOBAL const frame_byte *a, *b, *c;
    mts_u32 a_stride, b_stride, c_stride, a_pixel, pixel, down, across;
    mts_u32 x, y, x_row, x_column, y_row, y_column; /* x of (p, q): x + x_row * p + x_column * q; wraps */
    int yuv;
    float gain, bias, bu, gu, gv, rv;
} frame_source;

typedef struct frame_rgb {
    float r, g, b;
} frame_rgb;

INLINE frame_source frame_open(GLOBAL const frame_byte *frame, GLOBAL const mts_frame_params *r) {
    frame_source s;
    const mts_u32 dx = r->flip_x ? 0u - 1u : 1u, dy = r->flip_y ? 0u - 1u : 1u;
    s.a = frame + r->plane[0];
    s.b = frame + r->plane[1];
    s.c = frame + r->plane[2];
    s.a_stride = r->stride[0];
    s.b_stride = r->stride[1];
    s.c_stride = r->stride[2];
    s.a_pixel = r->pixel[0];
    s.pixel = r->pixel[1];
    s.down = r->shift[0];
    s.across = r->shift[1];
    s.x = r->flip_x ? r->x + r->w - 1 : r->x;
    s.y = r->flip_y ? r->y + r->h - 1 : r->y;
    s.x_row = r->turned ? dx : 0;
    s.x_column = r->turned ? 0 : dx;
    s.y_row = r->turned ? 0 : dy;
    s.y_column = r->turned ? dy : 0;
    s.yuv = r->yuv != 0;
    s.gain = r->gain;
    s.bias = r->bias;
    s.bu = r->bu;
    s.gu = r->gu;
    s.gv = r->gv;
    s.rv = r->rv;
    return s;
}

/* Image pixel i of a direction in which the region has `size` pixels. */
INLINE frame_taps frame_find(mts_u32 i, mts_u32 size, int box, float ratio, float inverse) {
    frame_taps t;
    if (box) {
        const float start = (float)i * ratio, end = (float)(i + 1) * ratio;
        t.first = mts_least((mts_u32)start, size - 1);
        const mts_u32 stop = mts_least((mts_u32)mts_ceil(end), size);
        t.count = stop > t.first + 1 ? stop - t.first : 1;
        t.body = inverse;
        t.head = t.count == 1 ? 1.0f : ((float)(t.first + 1) - start) * inverse;
        t.tail = (end - (float)(stop - 1)) * inverse;
    } else {
        const float last = (float)(size - 1);
        float at = ((float)i + 0.5f) * ratio - 0.5f;
        at = at < 0.0f ? 0.0f : at > last ? last : at;
        t.first = (mts_u32)at;
        t.body = t.tail = at - (float)t.first;
        t.head = 1.0f - t.tail;
        t.count = t.tail > 0.0f && t.first + 1 < size ? 2 : 1;
    }
    return t;
}

/* Row i of an image whose rows are packed: whole numbers, as they were counted when
   packed. */
INLINE frame_taps frame_find_packed(mts_u32 i, mts_u32 rows, mts_u32 h) {
    const mts_u32 m = (2 * i + 1) * h - rows, upper = m / (2 * rows);
    frame_taps t;
    t.first = 2 * i;
    t.body = t.tail = (float)(m - upper * 2 * rows) / (float)(2 * rows);
    t.head = 1.0f - t.tail;
    t.count = t.tail > 0.0f ? 2 : 1;
    return t;
}

INLINE float frame_weight(const frame_taps *t, mts_u32 k) {
    return k == 0 ? t->head : k + 1 == t->count ? t->tail : t->body;
}

INLINE float frame_clamp(float x) {
    return x < 0.0f ? 0.0f : x > 255.0f ? 255.0f : x;
}

/* Pixel (p, q) of the region as it is seen upright. */
INLINE frame_rgb frame_pixel(const frame_source *s, mts_u32 p, mts_u32 q) {
    const mts_u32 x = s->x + s->x_row * p + s->x_column * q, y = s->y + s->y_row * p + s->y_column * q;
    const mts_u32 row = y >> s->down, column = (x >> s->across) * s->pixel;
    const float a = (float)s->a[y * s->a_stride + x * s->a_pixel];
    const float b = (float)s->b[row * s->b_stride + column], c = (float)s->c[row * s->c_stride + column];
    frame_rgb v;
    if (s->yuv) {
        const float luma = s->gain * a + s->bias, u = b - 128.0f, w = c - 128.0f;
        v.r = frame_clamp(luma + s->rv * w);
        v.g = frame_clamp(luma - s->gu * u - s->gv * w);
        v.b = frame_clamp(luma + s->bu * u);
    } else {
        v.r = a;
        v.g = b;
        v.b = c;
    }
    return v;
}

INLINE frame_rgb frame_mix(const frame_source *s, const frame_taps *rows, const frame_taps *columns) {
    frame_rgb sum;
    sum.r = sum.g = sum.b = 0.0f;
    for (mts_u32 p = 0; p < rows->count; p++) {
        frame_rgb line;
        line.r = line.g = line.b = 0.0f;
        for (mts_u32 q = 0; q < columns->count; q++) {
            const frame_rgb v = frame_pixel(s, rows->first + p, columns->first + q);
            const float weight = frame_weight(columns, q);
            line.r += weight * v.r;
            line.g += weight * v.g;
            line.b += weight * v.b;
        }
        const float weight = frame_weight(rows, p);
        sum.r += weight * line.r;
        sum.g += weight * line.g;
        sum.b += weight * line.b;
    }
    return sum;
}

/* A pixel of the frame that the region may reach beyond. */
INLINE frame_rgb frame_near(const frame_source *s, GLOBAL const mts_frame_params *r, int x, int y) {
    const int x_end = (int)(r->x + r->w) - 1, y_end = (int)(r->y + r->h) - 1;
    const int column = x < (int)r->x ? (int)r->x : x > x_end ? x_end : x;
    const int row = y < (int)r->y ? (int)r->y : y > y_end ? y_end : y;
    if (r->edge || (row == y && column == x)) return frame_pixel(s, (mts_u32)row - r->y, (mts_u32)column - r->x);
    frame_rgb fill;
    fill.r = r->fill[0];
    fill.g = r->fill[1];
    fill.b = r->fill[2];
    return fill;
}

/* Adds the colour at a point of the frame, mixed of the four pixels next to it. */
INLINE void frame_point(frame_rgb *sum, const frame_source *s, GLOBAL const mts_frame_params *r, float x, float y) {
    const float left = mts_floor(x - 0.5f), top = mts_floor(y - 0.5f);
    const float right = x - 0.5f - left, down = y - 0.5f - top;
    for (int k = 0; k < 4; k++) {
        const float weight = (k & 1 ? right : 1.0f - right) * (k & 2 ? down : 1.0f - down);
        const frame_rgb v = frame_near(s, r, (int)left + (k & 1), (int)top + (k >> 1));
        sum->r += weight * v.r;
        sum->g += weight * v.g;
        sum->b += weight * v.b;
    }
}

/* Pixel (i, j) of the part of the image that shows a region at any angle. */
INLINE frame_rgb frame_turned(const frame_source *s, GLOBAL const mts_frame_params *r, mts_u32 i, mts_u32 j) {
    const mts_u32 rows = r->box[0], columns = r->box[1];
    frame_rgb sum;
    sum.r = sum.g = sum.b = 0.0f;
    for (mts_u32 p = 0; p < rows; p++) {
        const float v = (float)i + ((float)p + 0.5f) / (float)rows;
        for (mts_u32 q = 0; q < columns; q++) {
            const float u = (float)j + ((float)q + 0.5f) / (float)columns;
            frame_point(&sum, s, r, r->m[0] * u + r->m[1] * v + r->m[2], r->m[3] * u + r->m[4] * v + r->m[5]);
        }
    }
    const float each = 1.0f / (float)(rows * columns);
    sum.r *= each;
    sum.g *= each;
    sum.b *= each;
    return sum;
}

/* A value as the port holds it: an integer of its type where least < most. */
INLINE float frame_code(float value, float least, float most) {
    if (!(least < most)) return value;
    return value > least ? value < most ? mts_rint(value) : most : least;
}

/* Columns [from, end) of a row that are bars. */
INLINE void frame_bar(GLOBAL mts_real *row, GLOBAL const mts_frame_params *r, mts_u32 from, mts_u32 end) {
    for (mts_u32 c = 0; c < r->channels; c++)
        for (mts_u32 j = from; j < end; j++) mts_store(row + c * r->step[0] + j * r->step[2], r->bar[c & 3]);
}

KERNEL void frame_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_frame_params *r = MTS_MEMBER(mts_frame_params);
    const mts_u32 i = mts_global_id(1), width = r->width, n = mts_global_size(0);
    const mts_u32 run = (width + n - 1) / n, start = mts_global_id(0) * run;
    if (r->idle || i >= r->height || start >= width) return;
    const mts_u32 end = mts_least(start + run, width);
    GLOBAL mts_real *row = act + (r->out + i * r->step[1]);
    if (i < r->top || i >= r->top + r->rows) {
        frame_bar(row, r, start, end);
        return;
    }
    const frame_source s = frame_open((GLOBAL const frame_byte *)pool, r);
    const mts_u32 left = r->left, right = left + r->columns, h = r->turned ? r->w : r->h,
                  w = r->turned ? r->h : r->w;
    const int turned = (int)r->turned_by;
    const frame_taps rows = r->packed ? frame_find_packed(i - r->top, r->rows, h)
                                      : frame_find(i - r->top, h, (int)r->box[0], r->ratio[0], r->inverse[0]);
    const mts_u32 from = mts_least(mts_most(start, left), end), to = mts_most(mts_least(end, right), from);
    const int box = (int)r->box[1];
    const float ratio = r->ratio[1], inverse = r->inverse[1], least = r->least, most = r->most;
    frame_bar(row, r, start, from);
    for (mts_u32 j = from; j < to; j++) {
        frame_rgb v;
        if (turned) {
            v = frame_turned(&s, r, i - r->top, j - left);
        } else {
            const frame_taps columns = frame_find(j - left, w, box, ratio, inverse);
            v = frame_mix(&s, &rows, &columns);
        }
        for (mts_u32 c = 0; c < r->channels; c++) {
            const mts_u32 colour = r->order[c & 3];
            const float value = colour == 0   ? v.r
                                : colour == 1 ? v.g
                                : colour == 2 ? v.b
                                              : 0.299f * v.r + 0.587f * v.g + 0.114f * v.b;
            mts_store(row + c * r->step[0] + j * r->step[2],
                      frame_code((value - r->mean[c & 3]) * r->scale[c & 3], least, most));
        }
    }
    frame_bar(row, r, to, end);
}

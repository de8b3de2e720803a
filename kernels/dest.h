/*
 * dest.h: how a kernel walks the tensor it writes.
 *
 * Responsible for the part that every kernel with a mts_dest_params shares: which floats
 * a work-item owns, where they lie in the tensor, the zeros around the image, and loading
 * and storing stretches of a row as vectors. The program text of a kernel has this file
 * after params.h. A "float" in act or pool is a mts_real (prelude.h). Not responsible for
 * any operator.
 *
 * A work-item owns `run` consecutive floats of one plane (and writes the zeros among
 * them); it meets them as stretches, each a piece of one image row, and computes a
 * stretch in vectors of VEC floats, the last one partly filled:
 *
 *     plane q    | 0 0 .. 0 | v v v v v v 0 0 | v v v v v v 0 0 | 0 |
 *     positions  |<- gap -->|<---- row ------>|                     e = 0 .. pitch - 1
 *     work-item        |<------------- run ----------->|
 *     stretches             |<----------->|    |<---->|
 *
 * Where an operand has the layout of the result (mts_view_flat), the whole run is one
 * stretch, borders included, and the zeros are written over it afterwards.
 *
 * Grid: (n, planes + 1, members). run = ceil(pitch / n), rounded up to whole vectors, so
 * any n gives the same result, and the first two dimensions may be larger than needed. A
 * GPU wants VEC = 1 and n = pitch, so that neighbours touch neighbours; a CPU wants VEC =
 * 16 and runs of some hundred floats.
 *
 * The result may lie over an operand only if both have the same layout and the operator
 * is unary, binary or scale.
 */
#ifndef MTS_KERNELS_DEST_H
#define MTS_KERNELS_DEST_H

#define MTS_MEMBER(type)                                                                                     \
    ((GLOBAL const type *)(params + first + mts_global_id(2) * (mts_u32)(sizeof(type) / sizeof(mts_u32))))

#define mts_least(a, b) ((a) < (b) ? (a) : (b))
#define mts_most(a, b) ((a) > (b) ? (a) : (b))

typedef struct mts_span {
    mts_u32 c[4];        /* coordinates of the plane */
    mts_u32 y, x, n;     /* the stretch: columns x .. x + n - 1 of row y */
    mts_u32 to;          /* act offset of its first float */
    mts_u32 at, end;     /* positions of the plane not met yet */
    mts_u32 plane;       /* act offset of position 0 */
    mts_u32 stop;        /* act offset of position `end` */
    mts_u32 row, column; /* of position `at`, once it is past the gap */
    int flat;            /* 1: the run is to be met as one stretch; 2: it was */
} mts_span;

INLINE mts_u32 mts_planes(GLOBAL const mts_dest_params *d) { return d->dims[0] * d->dims[1] * d->dims[2] * d->dims[3]; }

INLINE void mts_zero(GLOBAL mts_real *p, mts_u32 n) {
    for (mts_u32 i = 0; i < n; i++) mts_store(p + i, 0.0f);
}

/* Floats of a plane that each of n work-items owns. */
INLINE mts_u32 mts_run_of(mts_u32 pitch, mts_u32 n) {
    return n < pitch ? ((pitch + n - 1) / n + VEC - 1) / VEC * VEC : VEC;
}
#define mts_run(pitch) mts_run_of(pitch, mts_global_size(0))

/* Work-item `item` of `items` along a plane, of plane q. */
INLINE mts_span mts_span_of(GLOBAL mts_real *act, GLOBAL const mts_dest_params *d, mts_u32 item, mts_u32 items, mts_u32 q) {
    const mts_u32 planes = d->dims[0] * d->dims[1] * d->dims[2] * d->dims[3];
    const mts_u32 run = mts_run_of(d->pitch, items);
    mts_span s;
    s.at = item * run;
    s.end = q < planes ? mts_least(s.at + run, d->pitch) : 0;
    s.plane = d->base - d->gap + q * d->pitch;
    s.stop = s.plane + s.end;
    s.flat = 0;
    s.c[0] = s.c[1] = s.c[2] = 0;
    s.c[3] = q;
    s.y = s.x = s.n = s.to = s.row = s.column = 0;
    if (q == planes) /* the zeros after the last plane */
        for (mts_u32 i = item * run; i < d->tail; i += items * run)
            mts_zero(act + s.plane + i, mts_least(d->tail - i, run));
    if (planes != d->dims[3]) {
        mts_u32 rest = q / d->dims[3];
        s.c[3] = q - rest * d->dims[3];
        s.c[2] = rest % d->dims[2];
        rest /= d->dims[2];
        s.c[1] = rest % d->dims[1];
        s.c[0] = rest / d->dims[1];
    }
    if (s.at > d->gap) {
        s.row = (s.at - d->gap) / d->row;
        s.column = (s.at - d->gap) - s.row * d->row;
    }
    return s;
}
#define mts_span_open(act, d) mts_span_of(act, d, mts_global_id(0), mts_global_size(0), mts_global_id(1))

/*
 * For kernels whose work-items own rows instead of runs: the zeros beside rows y .. y + n
 * - 1 of the plane that begins at act offset `plane`, those before the first row and
 * after the last one among them.
 */
INLINE void mts_rows_zero(GLOBAL mts_real *act, GLOBAL const mts_dest_params *d, mts_u32 plane, mts_u32 y, mts_u32 n) {
    if (y == 0) mts_zero(act + plane, d->gap);
    for (mts_u32 i = y; i < y + n; i++) {
        const mts_u32 end = d->gap + i * d->row + d->dims[5];
        mts_zero(act + plane + end, (i + 1 < d->dims[4] ? d->gap + (i + 1) * d->row : d->pitch) - end);
    }
}

/* Whether a view's plane lies as the result's does, borders included. */
INLINE int mts_view_flat(GLOBAL const mts_view_params *v, GLOBAL const mts_dest_params *d) {
    return v->stride[5] == 1 && (v->stride[4] == d->row || d->dims[4] == 1);
}

/* All of the run's positions between the first and the last value of the plane. */
INLINE int mts_span_whole(GLOBAL const mts_dest_params *d, mts_span *s) {
    const mts_u32 first = mts_most(s->at, d->gap);
    const mts_u32 last = mts_least(s->end, d->gap + (d->dims[4] - 1) * d->row + d->dims[5]);
    s->flat = 2;
    s->y = s->row;
    s->x = s->column;
    s->to = s->plane + first;
    s->n = last - first;
    return first < last;
}

INLINE int mts_span_step(GLOBAL const mts_dest_params *d, mts_span *s) {
    const mts_u32 left = s->end - s->at;
    mts_u32 count = left;
    const int value = s->at >= d->gap && s->row < d->dims[4] && s->column < d->dims[5];
    if (s->at < d->gap) {
        count = mts_least(left, d->gap - s->at);
    } else if (s->row < d->dims[4]) {
        count = mts_least(left, (value ? d->dims[5] : d->row) - s->column);
        s->x = s->column;
        s->y = s->row;
        s->column += count;
        if (s->column == d->row) {
            s->column = 0;
            s->row++;
        }
    }
    s->to = s->plane + s->at;
    s->n = count;
    s->at += count;
    return value;
}

/* The zeros before, among and after the rows, of the positions not met yet. */
INLINE void mts_span_zeros(GLOBAL mts_real *act, GLOBAL const mts_dest_params *d, const mts_span *s) {
    GLOBAL mts_real *const plane = act + s->plane;
    const mts_u32 rows = d->gap + d->dims[4] * d->row; /* where they end */
    if (s->at < d->gap) mts_zero(plane + s->at, mts_least(s->end, d->gap) - s->at);
    if (d->row > d->dims[5]) {
        for (mts_u32 from = d->gap + s->row * d->row + d->dims[5]; from < mts_least(rows, s->end); from += d->row) {
            const mts_u32 to = mts_least(from + d->row - d->dims[5], s->end), begin = mts_most(from, s->at);
            if (begin < to) mts_zero(plane + begin, to - begin);
        }
    }
    if (rows < s->end) mts_zero(plane + mts_most(rows, s->at), s->end - mts_most(rows, s->at));
}

/* Steps to the next stretch and writes the zeros before it; 0 when there is none. */
INLINE int mts_span_next(GLOBAL mts_real *act, GLOBAL const mts_dest_params *d, mts_span *s) {
    if (s->flat == 1 && s->at < s->end && mts_span_whole(d, s)) return 1;
    if (s->flat == 2) {
        mts_span_zeros(act, d, s);
        s->at = s->end;
        return 0;
    }
    while (s->at < s->end) {
        const int value = mts_span_step(d, s);
        if (!value) mts_zero(act + s->to, s->n);
        if (value) return 1;
    }
    return 0;
}

/*
 * Rows of the run that may be met together: the stretch and the whole rows that follow it
 * without a gap, which it then stands for. 1 where the stretch is not a whole row or
 * zeros follow it.
 */
INLINE mts_u32 mts_span_rows(GLOBAL const mts_dest_params *d, mts_span *s) {
    mts_u32 rows = 1;
    if (s->x == 0 && s->n == d->dims[5] && s->n == d->row) {
        rows += mts_least(d->dims[4] - 1 - s->y, (s->end - s->at) / d->row);
        s->at += (rows - 1) * d->row;
        s->row += rows - 1;
    }
    return rows;
}

/* Offset of the element that a view has at the first column of the stretch; or its
   plane's first one. */
INLINE mts_u32 mts_view_plane(GLOBAL const mts_view_params *v, const mts_span *s) {
    return v->base + s->c[0] * v->stride[0] + s->c[1] * v->stride[1] + s->c[2] * v->stride[2] +
           s->c[3] * v->stride[3];
}
INLINE mts_u32 mts_view_at(GLOBAL const mts_view_params *v, const mts_span *s) {
    return mts_view_plane(v, s) + s->y * v->stride[4] + s->x * v->stride[5];
}

/* Offset after the last element of a view whose planes are those of `d` and have h rows
   of w columns. */
INLINE mts_u32 mts_view_end(GLOBAL const mts_view_params *v, GLOBAL const mts_dest_params *d, mts_u32 h,
                            mts_u32 w) {
    mts_u32 last = v->base + (h - 1) * v->stride[4] + (w - 1) * v->stride[5];
    for (int i = 0; i < 4; i++) last += (d->dims[i] - 1) * v->stride[i];
    return last + 1;
}

/*
 * ---- vectors of a stretch ----
 *
 * `left` floats are wanted, at most VEC are taken. `room` says what may be touched beyond
 * them, so that the last vector need not go float by float: a load may read p[0 .. room -
 * 1] (up to the end of the tensor), a store may write p[0 .. room - 1] (up to the end of
 * the run, where the work-item writes again later; never where the result may lie over an
 * operand).
 */

#if VEC == 1

INLINE float mts_row_load(GLOBAL const mts_real *p, mts_i32 step, mts_u32 left, mts_u32 room) {
    return mts_load(p);
}
INLINE void mts_row_store(GLOBAL mts_real *p, float v, mts_u32 left, mts_u32 room) {
    mts_store(p, v);
}
#define mts_vec_sum(v) (v)
#define mts_vec_most(v) (v)
#define mts_vec_least(v) (v)

#else

/* Lanes without a float repeat the first one, so that no function meets a value that is
   not there. */
INLINE mts_vec mts_row_lanes(GLOBAL const mts_real *p, mts_i32 step, mts_u32 left) {
#ifdef mts_vec_gather
    if (left >= VEC) return mts_vec_gather(p, step);
#endif
#ifdef MTS_SOME_VECTORS
    if (step == 1) return mts_vec_load_some(p, left);
#endif
    mts_vec v = mts_vec_splat(mts_load(p));
    for (mts_u32 i = 1; i < VEC && i < left; i++) ((float *)&v)[i] = mts_load(p + (mts_i32)i * step);
    return v;
}

INLINE mts_vec mts_row_load(GLOBAL const mts_real *p, mts_i32 step, mts_u32 left, mts_u32 room) {
    if (step == 0) return mts_vec_splat(mts_load(p));
    if (step == 1 && (left >= VEC || room >= VEC)) return mts_vec_load(p);
    if (step == 2 && (left >= VEC || room >= 2 * VEC - 1)) return mts_vec_two(p);
    return mts_row_lanes(p, step, left);
}

INLINE void mts_row_store(GLOBAL mts_real *p, mts_vec v, mts_u32 left, mts_u32 room) {
#ifndef __CUDACC__
    if (left >= VEC || room >= VEC) {
        mts_vec_store(p, v);
        return;
    }
#endif
#ifdef MTS_SOME_VECTORS
    mts_vec_store_some(p, v, left);
#else
    for (mts_u32 i = 0; i < VEC && i < left; i++) mts_store(p + i, ((const float *)&v)[i]);
#endif
}

/* Of every step-th float from p on, as many as `left`. */
INLINE void mts_row_scatter(GLOBAL mts_real *p, mts_i32 step, mts_vec v, mts_u32 left) {
    for (mts_u32 i = 0; i < VEC && i < left; i++) mts_store(p + (mts_i32)i * step, ((const float *)&v)[i]);
}

INLINE float mts_vec_sum(mts_vec v) {
    float sum = 0.0f;
    for (int i = 0; i < VEC; i++) sum += ((const float *)&v)[i];
    return sum;
}
INLINE float mts_vec_most(mts_vec v) {
    float most = ((const float *)&v)[0];
    for (int i = 1; i < VEC; i++) most = mts_most(most, ((const float *)&v)[i]);
    return most;
}
INLINE float mts_vec_least(mts_vec v) {
    float least = ((const float *)&v)[0];
    for (int i = 1; i < VEC; i++) least = mts_least(least, ((const float *)&v)[i]);
    return least;
}

#endif

/*
 * ---- a square of vectors ----
 *
 * mts_vec_transpose(v): VEC vectors of VEC lanes, rows to columns, in place: first within
 * stretches of four lanes, which many processors shuffle quicker, then the stretches.
 */
#if defined(MTS_SHUFFLE) && VEC >= 4
#define MTS_LOW_ONE(i) (i) / 4 * 4 + (i) % 4 / 2 + (i) % 2 * VEC
#define MTS_HIGH_ONE(i) MTS_LOW_ONE(i) + 2
#define MTS_LOW_TWO(i) (i) / 4 * 4 + (i) % 2 + (i) % 4 / 2 * VEC
#define MTS_HIGH_TWO(i) MTS_LOW_TWO(i) + 2
#define MTS_LOW_HALF(i) (i) % (VEC / 2) + (i) / (VEC / 2) * VEC
#define MTS_HIGH_HALF(i) MTS_LOW_HALF(i) + VEC / 2
#define MTS_EVEN_FOUR(i) (i) / 4 % 2 * 8 + (i) % 4 + (i) / 8 * VEC
#define MTS_ODD_FOUR(i) MTS_EVEN_FOUR(i) + 4
INLINE void mts_vec_transpose_four(mts_vec *v) {
    const mts_vec a = MTS_SHUFFLE(v[0], v[1], MTS_LOW_ONE), b = MTS_SHUFFLE(v[0], v[1], MTS_HIGH_ONE);
    const mts_vec c = MTS_SHUFFLE(v[2], v[3], MTS_LOW_ONE), d = MTS_SHUFFLE(v[2], v[3], MTS_HIGH_ONE);
    v[0] = MTS_SHUFFLE(a, c, MTS_LOW_TWO);
    v[1] = MTS_SHUFFLE(a, c, MTS_HIGH_TWO);
    v[2] = MTS_SHUFFLE(b, d, MTS_LOW_TWO);
    v[3] = MTS_SHUFFLE(b, d, MTS_HIGH_TWO);
}
#if VEC == 4
#define mts_vec_transpose mts_vec_transpose_four
#elif VEC == 8
INLINE void mts_vec_swap_stretches(mts_vec *v) {
    const mts_vec a = v[0], b = v[4];
    v[0] = MTS_SHUFFLE(a, b, MTS_LOW_HALF);
    v[4] = MTS_SHUFFLE(a, b, MTS_HIGH_HALF);
}
#else
INLINE void mts_vec_swap_stretches(mts_vec *v) {
    const mts_vec a = MTS_SHUFFLE(v[0], v[4], MTS_LOW_HALF), b = MTS_SHUFFLE(v[0], v[4], MTS_HIGH_HALF);
    const mts_vec c = MTS_SHUFFLE(v[8], v[12], MTS_LOW_HALF), d = MTS_SHUFFLE(v[8], v[12], MTS_HIGH_HALF);
    v[0] = MTS_SHUFFLE(a, c, MTS_EVEN_FOUR);
    v[4] = MTS_SHUFFLE(a, c, MTS_ODD_FOUR);
    v[8] = MTS_SHUFFLE(b, d, MTS_EVEN_FOUR);
    v[12] = MTS_SHUFFLE(b, d, MTS_ODD_FOUR);
}
#endif
#if VEC > 4
INLINE void mts_vec_transpose(mts_vec *v) {
    mts_vec_transpose_four(v);
    mts_vec_transpose_four(v + 4);
#if VEC == 16
    mts_vec_transpose_four(v + 8);
    mts_vec_transpose_four(v + 12);
#endif
    mts_vec_swap_stretches(v);
    mts_vec_swap_stretches(v + 1);
    mts_vec_swap_stretches(v + 2);
    mts_vec_swap_stretches(v + 3);
}
#endif
#endif

/*
 * ---- memory that may be the caller's (zero-copy) ----
 *
 * What is read lies in act or pool, or it is the caller's own memory in the pool's place:
 * floats, whatever HALF is.
 */
typedef struct mts_source {
    GLOBAL const mts_real *p; /* of floats where `zero_copy` is set */
    int zero_copy;
} mts_source;
/* from: what the kernel parameters say: 0 act, 1 pool, 2 the caller's memory. */
INLINE mts_source mts_source_open(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, mts_u32 from) {
    mts_source s;
    s.p = from ? pool : act;
    s.zero_copy = HALF && from == 2;
    return s;
}
#if HALF
#define mts_source_floats(s) ((GLOBAL const float *)(s).p)
/* n elements further on; _by: n may be negative. */
INLINE mts_source mts_source_at(mts_source s, mts_u32 n) {
    s.p = s.zero_copy ? (GLOBAL const mts_real *)(mts_source_floats(s) + n) : s.p + n;
    return s;
}
INLINE mts_source mts_source_by(mts_source s, mts_i32 n) {
    s.p = s.zero_copy ? (GLOBAL const mts_real *)(mts_source_floats(s) + n) : s.p + n;
    return s;
}
INLINE float mts_source_load(mts_source s, mts_i32 n) {
    return s.zero_copy ? mts_source_floats(s)[n] : mts_load(s.p + n);
}
INLINE mts_vec mts_source_vec(mts_source s, mts_i32 n) {
    if (s.zero_copy) return mts_vec_get(mts_source_floats(s) + n);
    return mts_vec_load(s.p + n);
}
/* mts_row_load */
INLINE mts_vec mts_source_row(mts_source s, mts_i32 step, mts_u32 left, mts_u32 room) {
    if (!s.zero_copy) return mts_row_load(s.p, step, left, room);
    if (step == 1 && (left >= VEC || room >= VEC)) return mts_source_vec(s, 0);
    mts_vec v = mts_vec_splat(mts_source_load(s, 0));
    for (mts_u32 i = 1; i < VEC && i < left; i++) ((float *)&v)[i] = mts_source_load(s, (mts_i32)i * step);
    return v;
}
#else
INLINE mts_source mts_source_at(mts_source s, mts_u32 n) {
    s.p += n;
    return s;
}
INLINE mts_source mts_source_by(mts_source s, mts_i32 n) {
    s.p += n;
    return s;
}
#define mts_source_load(s, n) mts_load((s).p + (n))
#define mts_source_vec(s, n) mts_vec_load((s).p + (n))
INLINE mts_vec mts_source_row(mts_source s, mts_i32 step, mts_u32 left, mts_u32 room) {
#ifdef mts_vec_three
    if (step == 3 && left >= VEC) return mts_vec_three(s.p); /* colours of pixels */
#endif
    return mts_row_load(s.p, step, left, room);
}
#endif

/*
 * ---- a window over a row ----
 *
 * Lane i looks at column first + i * stride of rows that are `width` long; what lies
 * outside counts as `nothing`. Which lanes those are is found once for many rows. Where
 * memory allows, they are loaded like the others (a border, or the next row), and
 * replaced when the rows have been combined lane by lane (mts_reach_close).
 */
typedef struct mts_reach {
    mts_vec inside; /* 1 or 0 */
    float nothing;
    mts_i32 first, stride, width;
    mts_i32 column; /* floats from one column to the next */
    mts_u32 left;   /* lanes that are wanted */
    int whole;      /* no wanted lane is outside */
    int mode;       /* 0: one by one; 1, 2: vectors of every, of every second float */
} mts_reach;

/* 0, 1, 2, ... */
INLINE mts_vec mts_vec_ramp(void) {
    mts_vec v = mts_vec_splat(0.0f);
    for (int i = 1; i < VEC; i++) ((float *)&v)[i] = (float)i;
    return v;
}

/* 1 in the lanes where low <= first + i * stride < high (whole numbers), else 0. */
INLINE mts_vec mts_vec_between(float first, float stride, float low, float high) {
    const mts_vec at = mts_vec_fma(mts_vec_ramp(), mts_vec_splat(stride), mts_vec_splat(first));
    const mts_vec a = mts_vec_sub(at, mts_vec_splat(low - 1.0f)), b = mts_vec_sub(mts_vec_splat(high), at);
    const mts_vec one = mts_vec_splat(1.0f), zero = mts_vec_splat(0.0f);
    return mts_vec_min(one, mts_vec_max(zero, mts_vec_min(a, b)));
}

/* top, bottom: act offsets of column 0 of the first and the last row to be loaded; end:
   of the view. */
INLINE mts_reach mts_reach_open(GLOBAL const mts_view_params *v, mts_i32 first, mts_u32 stride, mts_u32 width,
                                mts_u32 left, float nothing, mts_u32 top, mts_u32 bottom, mts_u32 end) {
    const mts_i32 lanes = left < VEC ? (mts_i32)left : VEC, step = (mts_i32)(stride * v->stride[5]);
    const mts_i32 before = (mts_i32)(top - v->base) + first * (mts_i32)v->stride[5];
    const mts_i32 after = (mts_i32)(end - bottom) - first * (mts_i32)v->stride[5];
    mts_reach r;
    r.nothing = nothing;
    r.first = first;
    r.stride = (mts_i32)stride;
    r.width = (mts_i32)width;
    r.column = (mts_i32)v->stride[5];
    r.left = left;
    r.mode = VEC > 1 && (step == 1 || step == 2) && before >= 0 && after > step * (VEC - 1) ? step : 0;
    r.whole = first >= 0 && first + (lanes - 1) * r.stride < r.width;
    r.inside = mts_vec_splat(1.0f);
    if (!r.whole) r.inside = mts_vec_between((float)first, (float)r.stride, 0.0f, (float)r.width);
    return r;
}

INLINE mts_vec mts_reach_gather(GLOBAL const mts_real *row, const mts_reach *r) {
    mts_i32 at = r->first;
    mts_vec v = mts_vec_splat(r->nothing);
    for (mts_u32 i = 0; i < VEC && i < r->left; i++, at += r->stride)
        if (at >= 0 && at < r->width) ((float *)&v)[i] = mts_load(row + at * r->column);
    return v;
}

/* row: act offset of column 0; mode: that of r, written out so that a loop over rows
   holds no decision. */
INLINE mts_vec mts_reach_load(GLOBAL const mts_real *act, const mts_reach *r, mts_u32 row, const int mode) {
    GLOBAL const mts_real *p = act + (row + (mts_u32)(r->first * r->column)); /* wraps where first is negative */
    if (mode == 1) return mts_vec_load(p);
    if (mode == 2) return mts_vec_two(p);
    return mts_reach_gather(act + row, r);
}

INLINE mts_vec mts_reach_close(const mts_reach *r, mts_vec v) {
    if (r->whole) return v;
    const mts_vec outside = mts_vec_sub(mts_vec_splat(1.0f), r->inside);
    return mts_vec_fma(outside, mts_vec_splat(r->nothing), mts_vec_keep(r->inside, v));
}

/* The loop, in each mode. */
#if VEC == 1
#define MTS_REACH_MODES(reach, LOOP) LOOP(0)
#else
#define MTS_REACH_MODES(reach, LOOP)                                                                         \
    switch ((reach)->mode) {                                                                                 \
    case 1: LOOP(1) break;                                                                                   \
    case 2: LOOP(2) break;                                                                                   \
    default: LOOP(0) break;                                                                                  \
    }
#endif

/*
 * erf: v p(v v) / q(v v) with polynomials of five powers, fitted to the least relative
 * error up to 3.9. Beyond, the square stays what it is there, and 1 or -1 cuts off the
 * rest. Within 6 units in the last place.
 */
INLINE mts_vec mts_vec_erf(mts_vec v) {
    const mts_vec z = mts_vec_min(mts_vec_of(15.21), mts_vec_mul(v, v));
    mts_vec p = mts_vec_of(2.0664656e-6), q = mts_vec_of(3.8270011e-5);
    p = mts_vec_fma(p, z, mts_vec_of(2.8506353e-4));
    q = mts_vec_fma(q, z, mts_vec_of(1.1573894e-3));
    p = mts_vec_fma(p, z, mts_vec_of(3.7383996e-3));
    q = mts_vec_fma(q, z, mts_vec_of(1.4914384e-2));
    p = mts_vec_fma(p, z, mts_vec_of(5.2668249e-2));
    q = mts_vec_fma(q, z, mts_vec_of(1.1381947e-1));
    p = mts_vec_fma(p, z, mts_vec_of(1.8966805e-1));
    q = mts_vec_fma(q, z, mts_vec_of(5.0142172e-1));
    p = mts_vec_fma(p, z, mts_vec_of(1.1283791));
    q = mts_vec_fma(q, z, mts_vec_of(1.0));
    return mts_vec_clip(mts_vec_div(mts_vec_mul(p, v), q), -1.0f, 1.0f);
}

/* One of the functions that may end a convolution (kernels/abi/functions.h), but PRELU;
   NONE gives v. */
#define MTS_FN_CASE(NAME, formula)                                                                           \
    case MTS_FN_##NAME: return formula;
INLINE mts_vec mts_vec_element(mts_u32 fn, mts_vec v, float a, float b) {
#ifdef MTS_CPU_FN_SHARED /* the smallest library: all kernels call one copy of the longer ones */
    if (fn == MTS_FN_RELU) return mts_vec_max(mts_vec_of(0.0), v);
    if (fn == MTS_FN_CLIP) return mts_vec_clip(v, a, b);
    return fn == MTS_FN_NONE ? v : mts_vec_alone(fn, v, a, b);
#else
    switch (fn) {
        MTS_FUNCTIONS_FUSED(MTS_FN_CASE)
    default: return v;
    }
#endif
}

/*
 * -DFN=n: the program applies just this function, one of those that may not end a
 * convolution. The other programs do not know these, so that they cost no registers
 * there.
 */
#ifndef FN
#define FN 0
#endif

/* fn of a vector; PRELU takes its slope in `a`. */
INLINE mts_vec mts_row_fn(mts_u32 fn, mts_vec v, float a, float b) {
#if FN
#define MTS_FN_ONLY(NAME, formula) FN == MTS_FN_##NAME ? (formula) :
    return MTS_FUNCTIONS_ALONE(MTS_FN_ONLY) v;
#endif
#ifdef MTS_DIALECT_C /* one program has all functions */
    if (mts_fn_is_alone(fn)) return mts_vec_alone(fn, v, a, b);
#endif
    if (fn == MTS_FN_NONE) return v;
    if (fn == MTS_FN_PRELU) return mts_vec_slope(v, mts_vec_splat(a));
    return mts_vec_element(fn, v, a, b);
}

/*
 * ---- blocks: some vectors of a stretch, so that what an element-wise kernel computes is chosen once for all of them ----
 */
#define MTS_BLOCK (VEC > 1 ? 4 : 1)

/* As mts_row_load, of `left` floats, at least 1. Vectors without a float repeat the
   first. */
INLINE void mts_block_load(mts_vec x[MTS_BLOCK], GLOBAL const mts_real *p, mts_i32 step, mts_u32 left) {
    x[0] = mts_row_load(p, step, left, 0);
    UNROLL for (int k = 1; k < MTS_BLOCK; k++)
        x[k] = left > (mts_u32)k * VEC ? mts_row_load(p + k * VEC * step, step, left - k * VEC, 0) : x[0];
}

INLINE void mts_block_store(GLOBAL mts_real *p, const mts_vec x[MTS_BLOCK], mts_u32 left) {
    UNROLL for (int k = 0; k < MTS_BLOCK; k++)
        if (left > (mts_u32)k * VEC) mts_row_store(p + k * VEC, x[k], left - k * VEC, 0);
}

/* mts_row_fn of each, in place. */
INLINE void mts_block_fn(mts_u32 fn, mts_vec x[MTS_BLOCK], float a, float b) {
#if VEC == 1 || FN || defined(MTS_CPU_FN_SHARED)
    UNROLL for (int k = 0; k < MTS_BLOCK; k++) x[k] = mts_row_fn(fn, x[k], a, b);
#else
#define MTS_FN_BLOCK(NAME, formula)                                                                          \
    case MTS_FN_##NAME:                                                                                      \
        for (int k = 0; k < MTS_BLOCK; k++) {                                                                \
            const mts_vec v = x[k];                                                                          \
            x[k] = formula;                                                                                  \
        }                                                                                                    \
        break;
    switch (fn) {
    case MTS_FN_NONE: break;
        MTS_FUNCTIONS_FUSED(MTS_FN_BLOCK)
    default:
        for (int k = 0; k < MTS_BLOCK; k++) x[k] = mts_row_fn(fn, x[k], a, b);
    }
#endif
}

#endif

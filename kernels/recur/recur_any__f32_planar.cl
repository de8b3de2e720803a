/*
 * recur_any: LSTM, GRU and plain recurrent layers, all steps in one launch.
 *
 * The stretch that holds the first number of a sequence's first row computes the whole
 * sequence, in vectors of hidden units; other stretches have nothing to do but the zeros
 * around the image. A row holds the state after its step:
 *
 *     LSTM   h | c            GRU   h | reset * h | update            others   h
 *
 * so that the step after it reads it there.
 */
typedef struct recur_step {
    mts_u32 to;        /* act offset of the row */
    mts_u32 x, x_step; /* act offset of the row's products with the input, and floats between them */
    GLOBAL const mts_real *h, *c; /* state before the step; NULL: zeros */
    mts_u32 h_step, c_step;
} recur_step;

/* acc + sum over the state of state[k] * weight[k][unit ..]. */
INLINE mts_vec recur_sum(GLOBAL const mts_real *state, mts_u32 step, GLOBAL const mts_real *weight, mts_u32 hidden,
                         mts_u32 wide, mts_u32 left, mts_vec acc) {
    if (!state) return acc;
    for (mts_u32 k = 0; k < hidden; k++)
        acc = mts_vec_fma(mts_vec_splat(mts_load(state + k * step)), mts_row_load(weight + k * wide, 1, left, 0), acc);
    return acc;
}

/* A gate before its function. */
INLINE mts_vec recur_gate(GLOBAL const mts_real *act, GLOBAL const mts_real *weight, GLOBAL const mts_recur_params *r,
                          const recur_step *s, mts_u32 gate, mts_u32 unit, mts_u32 wide) {
    const mts_u32 at = gate * r->hidden + unit, left = r->hidden - unit;
    const mts_vec x = mts_row_load(act + s->x + at * s->x_step, (mts_i32)s->x_step, left, 0);
    return recur_sum(s->h, s->h_step, weight + at, r->hidden, wide, left, x);
}

INLINE mts_vec recur_state(GLOBAL const mts_real *state, mts_u32 step, mts_u32 unit, mts_u32 left) {
    return state ? mts_row_load(state + unit * step, (mts_i32)step, left, 0) : mts_vec_splat(0.0f);
}

/* update * h + (1 - update) * made */
INLINE mts_vec recur_mix(mts_vec update, mts_vec h, mts_vec made) {
    return mts_vec_add(made, mts_vec_mul(update, mts_vec_sub(h, made)));
}

INLINE void recur_lstm(GLOBAL mts_real *act, GLOBAL const mts_real *weight, GLOBAL const mts_recur_params *r,
                       const recur_step *s) {
    const mts_u32 wide = 4 * r->hidden;
    for (mts_u32 u = 0; u < r->hidden; u += VEC) {
        const mts_u32 left = r->hidden - u;
        const mts_vec in = recur_gate(act, weight, r, s, 0, u, wide), out = recur_gate(act, weight, r, s, 1, u, wide);
        const mts_vec keep = recur_gate(act, weight, r, s, 2, u, wide), made = recur_gate(act, weight, r, s, 3, u, wide);
        const mts_vec c = mts_vec_fma(mts_vec_sigmoid(keep), recur_state(s->c, s->c_step, u, left),
                                      mts_vec_mul(mts_vec_sigmoid(in), mts_vec_tanh(made)));
        mts_row_store(act + s->to + u, mts_vec_mul(mts_vec_sigmoid(out), mts_vec_tanh(c)), left, 0);
        mts_row_store(act + s->to + r->hidden + u, c, left, 0);
    }
}

INLINE void recur_gru(GLOBAL mts_real *act, GLOBAL const mts_real *weight, GLOBAL const mts_recur_params *r,
                      const recur_step *s) {
    const mts_u32 wide = 3 * r->hidden;
    for (mts_u32 u = 0; u < r->hidden; u += VEC) {
        const mts_u32 left = r->hidden - u;
        const mts_vec z = recur_gate(act, weight, r, s, 0, u, wide), t = recur_gate(act, weight, r, s, 1, u, wide);
        mts_row_store(act + s->to + 2 * r->hidden + u, mts_vec_sigmoid(z), left, 0);
        mts_row_store(act + s->to + r->hidden + u, mts_vec_mul(mts_vec_sigmoid(t), recur_state(s->h, s->h_step, u, left)),
                      left, 0);
    }
    for (mts_u32 u = 0; u < r->hidden; u += VEC) {
        const mts_u32 left = r->hidden - u, at = 2 * r->hidden + u;
        const mts_vec x = mts_row_load(act + s->x + at * s->x_step, (mts_i32)s->x_step, left, 0);
        const mts_vec sum = recur_sum(act + s->to + r->hidden, 1, weight + at, r->hidden, wide, left, x);
        const mts_vec z = mts_row_load(act + s->to + at, 1, left, 0);
        mts_row_store(act + s->to + u, recur_mix(z, recur_state(s->h, s->h_step, u, left), mts_vec_tanh(sum)), left, 0);
    }
}

/* The reset gate works on the product. */
INLINE void recur_gru_after(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_real *weight,
                            GLOBAL const mts_recur_params *r, const recur_step *s) {
    const mts_u32 wide = 3 * r->hidden;
    for (mts_u32 u = 0; u < r->hidden; u += VEC) {
        const mts_u32 left = r->hidden - u, at = 2 * r->hidden + u;
        const mts_vec z = recur_gate(act, weight, r, s, 0, u, wide), t = recur_gate(act, weight, r, s, 1, u, wide);
        mts_vec sum = mts_vec_splat(0.0f);
        if (r->bias != MTS_PARAM_NONE) sum = mts_row_load(pool + (r->bias + u), 1, left, 0);
        sum = recur_sum(s->h, s->h_step, weight + at, r->hidden, wide, left, sum);
        const mts_vec x = mts_row_load(act + s->x + at * s->x_step, (mts_i32)s->x_step, left, 0);
        const mts_vec made = mts_vec_fma(mts_vec_sigmoid(t), sum, x);
        mts_row_store(act + s->to + u,
                      recur_mix(mts_vec_sigmoid(z), recur_state(s->h, s->h_step, u, left), mts_vec_tanh(made)), left, 0);
    }
}

INLINE void recur_plain(GLOBAL mts_real *act, GLOBAL const mts_real *weight, GLOBAL const mts_recur_params *r,
                        const recur_step *s) {
    for (mts_u32 u = 0; u < r->hidden; u += VEC) {
        const mts_vec made = recur_gate(act, weight, r, s, 0, u, r->hidden);
        mts_row_store(act + s->to + u, mts_vec_tanh(made), r->hidden - u, 0);
    }
}

/* Row `y` of the states before the first step. */
INLINE void recur_begin(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_recur_params *r,
                        mts_u32 y, recur_step *s) {
    s->h = s->c = 0;
    s->h_step = r->h.stride[5];
    s->c_step = r->c.stride[5];
    if (r->states & 1) s->h = (r->h_pool ? pool : act) + (r->h.base + y * r->h.stride[4]);
    if (r->states & 2) s->c = (r->c_pool ? pool : act) + (r->c.base + y * r->c.stride[4]);
}

INLINE void recur_sequence(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_recur_params *r,
                           mts_u32 to, mts_u32 x, mts_u32 y) {
    GLOBAL const mts_real *weight = pool + r->weight;
    recur_step s;
    s.x_step = r->src.stride[5];
    recur_begin(act, pool, r, y, &s);
    for (mts_u32 i = 0; i < r->length; i++) {
        const mts_u32 t = r->reverse ? r->length - 1 - i : i;
        s.to = to + t * r->dest.pitch;
        s.x = x + t * r->src.stride[3];
        if (r->kind == MTS_RECUR_LSTM) {
            recur_lstm(act, weight, r, &s);
        } else if (r->kind == MTS_RECUR_GRU) {
            recur_gru(act, weight, r, &s);
        } else if (r->kind == MTS_RECUR_GRU_AFTER) {
            recur_gru_after(act, pool, weight, r, &s);
        } else {
            recur_plain(act, weight, r, &s);
        }
        s.h = act + s.to;
        s.c = act + s.to + r->hidden;
        s.h_step = s.c_step = 1;
    }
}

KERNEL void recur_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_recur_params *r = MTS_MEMBER(mts_recur_params);
    mts_span s = mts_span_open(act, &r->dest);
    while (mts_span_next(act, &r->dest, &s))
        if (s.c[3] == 0 && s.x == 0) recur_sequence(act, pool, r, s.to, mts_view_at(&r->src, &s), s.y);
}

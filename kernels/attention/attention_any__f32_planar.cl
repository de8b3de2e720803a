/*
 * attention_any: out[d, i] = sum_j softmax_j(scale sum_d q[d, i] k[d, j] + mask[i, j])
 * v[d, j], for each head of each image. Channels are planes, tokens lie side by side.
 *
 * Scores stay on the chip (online softmax): keys come in blocks, and what was summed
 * before is multiplied by exp(old maximum - new maximum).
 *
 *               keys: blocks one after another
 *              +--------+--------+-----          per query: the maximum, the sum of
 *     queries  | scores | scores |               exponentials, and the sums of v, which
 *      (lanes) +--------+--------+-----          are divided at the end
 *
 * On a CPU a work-item takes ATTENTION_VECS vectors of queries of a head. Scores lie
 * [key][query], so that both products broadcast one number (of k, of v) to vectors of
 * queries, and the softmax needs no sums across lanes. On a GPU (VEC 1) PARTS work-items
 * share a query, each with some of the channels, and a group of at most 64 shares blocks
 * of keys and values in LOCAL memory.
 *
 * Grid: (n, images * heads + 1, members); the last line of groups writes the zeros after
 * the last plane. CPU: n = ceil(queries / (ATTENTION_VECS * VEC)).
 *
 * DEPTH: most channels of a head that are possible. PARTS: divides the size of a group.
 */
#ifndef DEPTH
#define DEPTH MTS_ATTENTION_DEPTH /* 16, 32, 64, .. */
#endif

#ifndef PARTS
#define PARTS 4 /* 1, 2, 4, 8 */
#endif

/* The lowest finite number, as masks have it: only -infinity is below, whose exponential is 0
   then and not NaN. */
#define ATTENTION_LOW (-3.402823466e+38f)

/* A head: act offsets of its first channels. */
typedef struct attention_head {
    mts_u32 q, k, v, mask, out;
    mts_u32 width; /* channels of v and of the result */
} attention_head;

INLINE attention_head attention_find(GLOBAL const mts_attention_params *r, mts_u32 number) {
    const mts_u32 image = number / r->heads, head = number - image * r->heads;
    attention_head h;
    h.width = r->dest.dims[3] / r->heads;
    h.q = r->q.base + image * r->q.stride[2] + head * r->depth * r->q.stride[3];
    h.k = r->k.base + image * r->k.stride[2] + head * r->depth * r->k.stride[3];
    h.v = r->v.base + image * r->v.stride[2] + head * h.width * r->v.stride[3];
    h.mask = r->mask.base + image * r->mask.stride[2] + head * r->mask.stride[3];
    h.out = r->dest.base + (image * r->dest.dims[3] + head * h.width) * r->dest.pitch;
    return h;
}

/* The zeros before the first token of each of a head's planes, and after the last one. */
INLINE void attention_zeros(GLOBAL mts_real *act, GLOBAL const mts_attention_params *r, const attention_head *h,
                            int begins, int ends) {
    const mts_u32 tokens = r->dest.dims[5], gap = r->dest.gap;
    for (mts_u32 d = 0; d < h->width; d++) {
        GLOBAL mts_real *const plane = act + h->out + d * r->dest.pitch - gap;
        if (begins) mts_zero(plane, gap);
        if (ends) mts_zero(plane + gap + tokens, r->dest.pitch - gap - tokens);
    }
}

#if VEC > 1

#if REGS >= 32
#define ATTENTION_VECS 4
#else
#define ATTENTION_VECS 3
#endif
#define ATTENTION_ROWS 4 /* keys, or channels, of a tile */
#define ATTENTION_KEYS 64 /* of a block: a multiple of ATTENTION_ROWS */
#define ATTENTION_LANES (ATTENTION_VECS * VEC)

/* Of one block of queries. [..][v] is vector v of the queries. */
typedef struct attention_block {
    mts_vec q[DEPTH][ATTENTION_VECS], scores[ATTENTION_KEYS][ATTENTION_VECS], sums[DEPTH][ATTENTION_VECS];
    mts_vec most[ATTENTION_VECS], total[ATTENTION_VECS], scale[ATTENTION_VECS];
} attention_block;

/* rows[i][v] = sum_k a[i * row + k * step] b[k][v], or that added to rows * scale: at most
   ATTENTION_ROWS rows of `vecs` vectors, which the caller gives as a constant. */
INLINE void attention_tile(mts_vec (*to)[ATTENTION_VECS], GLOBAL const mts_real *a, mts_u32 row, mts_u32 step,
                           mts_vec (*b)[ATTENTION_VECS], mts_u32 depth, mts_u32 rows, const int vecs) {
    mts_vec acc[ATTENTION_ROWS][ATTENTION_VECS];
    mts_u32 at[ATTENTION_ROWS];
    UNROLL for (int i = 0; i < ATTENTION_ROWS; i++) {
        at[i] = mts_least((mts_u32)i, rows - 1) * row;
        UNROLL for (int v = 0; v < vecs; v++) acc[i][v] = mts_vec_splat(0.0f);
    }
    for (mts_u32 k = 0; k < depth; k++) {
        UNROLL for (int i = 0; i < ATTENTION_ROWS; i++) {
            const mts_vec x = mts_vec_splat(mts_load(a + at[i] + k * step));
            UNROLL for (int v = 0; v < vecs; v++) acc[i][v] = mts_vec_fma(x, b[k][v], acc[i][v]);
        }
    }
    UNROLL for (int i = 0; i < ATTENTION_ROWS; i++)
        if ((mts_u32)i < rows) UNROLL for (int v = 0; v < vecs; v++) to[i][v] = mts_vec_add(to[i][v], acc[i][v]);
}

/* The same of any number of rows, and of `vecs` vectors: all of a block, or one by one. */
INLINE void attention_product(mts_vec (*to)[ATTENTION_VECS], GLOBAL const mts_real *a, mts_u32 row, mts_u32 step,
                              mts_vec (*b)[ATTENTION_VECS], mts_u32 depth, mts_u32 rows, mts_u32 vecs) {
    for (mts_u32 i = 0; i < rows; i += ATTENTION_ROWS) {
        const mts_u32 n = mts_least(rows - i, ATTENTION_ROWS);
        if (vecs == ATTENTION_VECS) {
            attention_tile(to + i, a + i * row, row, step, b, depth, n, ATTENTION_VECS);
        } else {
            for (mts_u32 v = 0; v < vecs; v++)
                attention_tile((mts_vec(*)[ATTENTION_VECS])(&to[i][v]), a + i * row, row, step,
                               (mts_vec(*)[ATTENTION_VECS])(&b[0][v]), depth, n, 1);
        }
    }
}

/* Adds the mask of keys first .. first + keys - 1. */
INLINE void attention_mask(attention_block *t, GLOBAL const mts_real *mask, mts_u32 along, mts_i32 step, mts_u32 keys,
                           mts_u32 queries) {
    for (mts_u32 j = 0; j < keys; j++)
        for (mts_u32 v = 0; v * VEC < queries; v++)
            t->scores[j][v] = mts_vec_add(
                t->scores[j][v], mts_row_load(mask + j * along + (mts_i32)(v * VEC) * step, step, queries - v * VEC, 0));
}

/* Scores become exponentials; what was summed before is scaled. */
INLINE void attention_exponentials(attention_block *t, mts_u32 keys, mts_u32 width, mts_u32 vecs) {
    for (mts_u32 v = 0; v < vecs; v++) {
        mts_vec most = t->most[v], sum = mts_vec_splat(0.0f);
        for (mts_u32 j = 0; j < keys; j++) most = mts_vec_max(most, t->scores[j][v]);
        for (mts_u32 j = 0; j < keys; j++) {
            t->scores[j][v] = mts_vec_exp(mts_vec_sub(t->scores[j][v], most));
            sum = mts_vec_add(sum, t->scores[j][v]);
        }
        const mts_vec scale = mts_vec_exp(mts_vec_sub(t->most[v], most));
        t->total[v] = mts_vec_fma(t->total[v], scale, sum);
        t->most[v] = most;
        for (mts_u32 d = 0; d < width; d++) t->sums[d][v] = mts_vec_mul(t->sums[d][v], scale);
    }
}

/* Queries x .. x + queries - 1 of a head. */
INLINE void attention_queries(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_attention_params *r,
                              const attention_head *h, mts_u32 x, mts_u32 queries) {
    const mts_u32 vecs = (queries + VEC - 1) / VEC;
    attention_block t;
    for (mts_u32 v = 0; v < vecs; v++) {
        t.most[v] = mts_vec_splat(ATTENTION_LOW);
        t.total[v] = mts_vec_splat(0.0f);
        for (mts_u32 d = 0; d < r->depth; d++)
            t.q[d][v] = mts_vec_mul(mts_row_load(act + h->q + d * r->q.stride[3] + x + v * VEC, 1, queries - v * VEC, 0),
                                    mts_vec_splat(r->scale));
        for (mts_u32 d = 0; d < h->width; d++) t.sums[d][v] = mts_vec_splat(0.0f);
    }
    for (mts_u32 first = 0; first < r->keys; first += ATTENTION_KEYS) {
        const mts_u32 keys = mts_least(r->keys - first, ATTENTION_KEYS);
        for (mts_u32 j = 0; j < keys; j++)
            for (mts_u32 v = 0; v < vecs; v++) t.scores[j][v] = mts_vec_splat(0.0f);
        attention_product(t.scores, act + h->k + first, 1, r->k.stride[3], t.q, r->depth, keys, vecs);
        if (r->mask_pool != MTS_PARAM_NONE)
            attention_mask(&t,
                           (r->mask_pool ? pool : act) + h->mask + first * r->mask.stride[5] + x * r->mask.stride[4],
                           r->mask.stride[5], (mts_i32)r->mask.stride[4], keys, queries);
        attention_exponentials(&t, keys, h->width, vecs);
        attention_product(t.sums, act + h->v + first, r->v.stride[3], 1, t.scores, keys, h->width, vecs);
    }
    for (mts_u32 v = 0; v < vecs; v++) {
        const mts_vec scale = mts_vec_div(mts_vec_splat(1.0f), t.total[v]);
        for (mts_u32 d = 0; d < h->width; d++)
            mts_row_store(act + h->out + d * r->dest.pitch + x + v * VEC, mts_vec_mul(t.sums[d][v], scale),
                          queries - v * VEC, 0);
    }
}

KERNEL void attention_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_attention_params *r = MTS_MEMBER(mts_attention_params);
    const mts_u32 number = mts_global_id(1), planes = r->dest.dims[2] * r->heads, queries = r->dest.dims[5];
    const mts_u32 items = mts_global_size(0), blocks = (queries + ATTENTION_LANES - 1) / ATTENTION_LANES;
    if (number == planes && mts_global_id(0) == 0)
        mts_zero(act + r->dest.base - r->dest.gap + r->dest.dims[2] * r->dest.dims[3] * r->dest.pitch, r->dest.tail);
    if (number >= planes) return;
    const attention_head h = attention_find(r, number);
    for (mts_u32 b = mts_global_id(0); b < blocks; b += items) {
        const mts_u32 x = b * ATTENTION_LANES;
        attention_queries(act, pool, r, &h, x, mts_least(queries - x, ATTENTION_LANES));
        attention_zeros(act, r, &h, b == 0, b + 1 == blocks);
    }
}

#else

#define ATTENTION_KEYS 8 /* of a block */
#define ATTENTION_LANES 64 /* most work-items of a group */
#define ATTENTION_OWN ((DEPTH + PARTS - 1) / PARTS) /* channels of a work-item */

/* A block of `keys` keys, or values, [key][part][own channel], zero where there is none. */
INLINE void attention_fetch(LOCAL_PTR float *to, GLOBAL const mts_real *from, mts_u32 plane, mts_u32 channels,
                            mts_u32 keys, mts_u32 lane, mts_u32 lanes) {
    for (mts_u32 i = lane; i < ATTENTION_KEYS * PARTS * ATTENTION_OWN; i += lanes) {
        const mts_u32 j = i % ATTENTION_KEYS, d = i / ATTENTION_KEYS;
        to[j * PARTS * ATTENTION_OWN + d] = d < channels && j < keys ? mts_load(from + d * plane + j) : 0.0f;
    }
}

KERNEL void attention_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_attention_params *r = MTS_MEMBER(mts_attention_params);
    LOCAL float k[ATTENTION_KEYS * PARTS * ATTENTION_OWN], v[ATTENTION_KEYS * PARTS * ATTENTION_OWN];
    LOCAL float parts[ATTENTION_KEYS * ATTENTION_LANES];
    const mts_u32 lane = mts_local_id(0), lanes = mts_local_size(0), share = lanes / PARTS;
    const mts_u32 planes = r->dest.dims[2] * r->heads, queries = r->dest.dims[5];
    const mts_u32 query = mts_group_id(0) * share + lane % share, part = lane / share;
    const mts_u32 begin = part * ATTENTION_OWN; /* of its channels */
    const int present = mts_global_id(1) < planes;
    const attention_head h = attention_find(r, present ? mts_global_id(1) : 0);
    const mts_u32 mine = mts_least(query, queries - 1), end = present ? r->keys : 0;
    GLOBAL const mts_real *const mask = r->mask_pool == 1 ? pool : act;
    float q[ATTENTION_OWN], sums[ATTENTION_OWN], most = ATTENTION_LOW, total = 0.0f;
    UNROLL for (int d = 0; d < ATTENTION_OWN; d++) {
        q[d] = begin + d < r->depth ? mts_load(act + h.q + (begin + d) * r->q.stride[3] + mine) * r->scale : 0.0f;
        sums[d] = 0.0f;
    }
    for (mts_u32 first = 0; first < end; first += ATTENTION_KEYS) {
        const mts_u32 keys = mts_least(end - first, ATTENTION_KEYS);
        float s[ATTENTION_KEYS], highest = most;
        BARRIER();
        attention_fetch(k, act + h.k + first, r->k.stride[3], r->depth, keys, lane, lanes);
        attention_fetch(v, act + h.v + first, r->v.stride[3], h.width, keys, lane, lanes);
        BARRIER();
        UNROLL for (int j = 0; j < ATTENTION_KEYS; j++) {
            float sum = 0.0f;
            UNROLL for (int d = 0; d < ATTENTION_OWN; d++)
                sum = mts_fma(q[d], k[(j * PARTS + part) * ATTENTION_OWN + d], sum);
            parts[j * ATTENTION_LANES + lane] = sum;
        }
        BARRIER();
        for (int j = 0; j < ATTENTION_KEYS; j++) {
            s[j] = (mts_u32)j < keys ? 0.0f : -INFINITY;
            for (mts_u32 p = 0; p < PARTS; p++) s[j] += parts[j * ATTENTION_LANES + p * share + lane % share];
            if (r->mask_pool != MTS_PARAM_NONE && (mts_u32)j < keys)
                s[j] += mts_load(mask + h.mask + (first + j) * r->mask.stride[5] + mine * r->mask.stride[4]);
            highest = mts_most(s[j], highest);
        }
        const float scale = mts_exp(most - highest);
        most = highest;
        total *= scale;
        UNROLL for (int d = 0; d < ATTENTION_OWN; d++) sums[d] *= scale;
        UNROLL for (int j = 0; j < ATTENTION_KEYS; j++) {
            const float p = mts_exp(s[j] - most);
            total += p;
            UNROLL for (int d = 0; d < ATTENTION_OWN; d++)
                sums[d] = mts_fma(p, v[(j * PARTS + part) * ATTENTION_OWN + d], sums[d]);
        }
    }
    if (mts_global_id(1) == planes && query == 0 && part == 0)
        mts_zero(act + r->dest.base - r->dest.gap + r->dest.dims[2] * r->dest.dims[3] * r->dest.pitch, r->dest.tail);
    if (!present || query >= queries) return;
    for (int d = 0; d < ATTENTION_OWN; d++)
        if (begin + d < h.width) mts_store(act + h.out + (begin + d) * r->dest.pitch + query, sums[d] / total);
    if (part == 0) attention_zeros(act, r, &h, query == 0, query + 1 == queries);
}

#endif

/*
 * lower_einsum.c: Einsum as transposes, sums, products of matrices and element-wise
 * products.
 *
 * Operands are combined from left to right. A label that neither the result nor a later
 * operand has is summed at the first chance. Two operands become matrices [batch, left,
 * sum] and [batch, sum, right].
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "base/size.h"

typedef mts_import_value *value;

#define LETTERS 52u
#define LABELS (LETTERS + MTS_TENSOR_RANK_MAX) /* the dimensions of "..." count from the last one */
#define OPERANDS 8u

/* A value and what its dimensions are called. */
typedef struct term {
    value x;
    uint32_t rank, labels[MTS_TENSOR_RANK_MAX];
} term;

typedef struct einsum {
    mts_import *import;
    int64_t dims[LABELS]; /* 0: the label does not occur */
    uint32_t occurs[LABELS];
    uint32_t dots; /* dimensions of "..." */
    term terms[OPERANDS], result;
    uint32_t count;
} einsum;

static bool has(const term *t, uint32_t label)
{
    return mts_u32_find(t->labels, t->rank, label);
}

static void malformed(const einsum *e, const char *why)
{
    mts_import_fail(e->import, MTS_STATUS_MALFORMED, "the equation: %s", why);
}

/* ---- the equation ---- */

static uint32_t letter_of(char c)
{
    return c >= 'a' && c <= 'z'   ? (uint32_t)(c - 'a')
           : c >= 'A' && c <= 'Z' ? (uint32_t)(c - 'A') + 26
                                  : LETTERS;
}

static void add_label(const einsum *e, term *t, uint32_t label)
{
    if (t->rank == MTS_TENSOR_RANK_MAX) {
        malformed(e, "a term has too many labels");
        return;
    }
    t->labels[t->rank++] = label;
}

/* Reads a term up to a comma, an arrow or the end. `rank` is that of the operand, which
   says how many dimensions "..." stands for; the result has as many as all operands. */
static const char *read_term(const einsum *e, const char *text, term *t, uint32_t rank, uint32_t *dots)
{
    uint32_t letters = 0;
    bool seen = false;
    for (const char *c = text; *c && *c != ',' && *c != '-'; c++) {
        letters += letter_of(*c) < LETTERS;
    }
    *dots = rank == MTS_NONE ? e->dots : rank - letters;
    if (rank != MTS_NONE && letters > rank) {
        malformed(e, "a term has more labels than its operand has dimensions");
        return text;
    }
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (letter_of(*text) < LETTERS) {
            add_label(e, t, letter_of(*text));
        } else if (strncmp(text, "...", 3) == 0 && !seen) {
            seen = true;
            text += 2;
            for (uint32_t i = *dots; i-- > 0;) {
                add_label(e, t, LETTERS + i);
            }
        } else if (*text != ' ') {
            malformed(e, "a character is not known");
            return text;
        }
    }
    if (rank != MTS_NONE && *dots > 0 && !seen) {
        malformed(e, "an operand has more dimensions than its term has labels");
    }
    *dots = seen ? *dots : 0;
    return text;
}

static void measure(einsum *e, const term *t)
{
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t *dim = &e->dims[t->labels[i]];
        const int64_t own = t->x->shape.dims[i];
        if (*dim > 1 && own > 1 && *dim != own) {
            malformed(e, "a label stands for dimensions of different sizes");
        }
        *dim = own > *dim ? own : *dim;
        e->occurs[t->labels[i]]++;
    }
}

/* Without an arrow: the dimensions of "...", then the letters that occur once, sorted. */
static void implicit_result(einsum *e)
{
    for (uint32_t i = e->dots; i-- > 0;) {
        add_label(e, &e->result, LETTERS + i);
    }
    /* capital letters come first */
    for (uint32_t i = 0; i < LETTERS; i++) {
        const uint32_t label = i < 26 ? i + 26 : i - 26;
        if (e->occurs[label] == 1) {
            add_label(e, &e->result, label);
        }
    }
}

static void read_equation(einsum *e)
{
    const char *text = mts_attr_string(e->import, "equation", "");
    e->count = e->import->input_count;
    for (uint32_t i = 0; i < e->count && mts_import_ok(e->import); i++) {
        uint32_t dots = 0;
        e->terms[i].x = mts_import_in(e->import, i);
        if (!e->terms[i].x) {
            malformed(e, "an operand is missing");
            return;
        }
        text = read_term(e, text, &e->terms[i], e->terms[i].x->shape.rank, &dots);
        e->dots = dots > e->dots ? dots : e->dots;
        if (mts_import_ok(e->import)) {
            measure(e, &e->terms[i]);
        }
        if (i + 1 < e->count && *text != ',') {
            malformed(e, "it has another number of terms than the node has inputs");
            return;
        }
        text += i + 1 < e->count;
    }
    if (mts_import_ok(e->import) && strncmp(text, "->", 2) == 0) {
        uint32_t dots = 0;
        text = read_term(e, text + 2, &e->result, MTS_NONE, &dots);
    } else if (mts_import_ok(e->import)) {
        implicit_result(e);
    }
    for (uint32_t i = 0; i < e->result.rank; i++) {
        const uint32_t label = e->result.labels[i];
        if (e->occurs[label] == 0 || mts_u32_find(e->result.labels, i, label)) {
            malformed(e, "a label of the result occurs in no term, or twice in the result");
        }
    }
    if (*text && mts_import_ok(e->import)) {
        malformed(e, "characters follow its end");
    }
}

/* ---- one operand ---- */

/* Dimensions in another order: position i of the result is dimension from[i]. */
static void reorder(const einsum *e, term *t, const uint32_t *from)
{
    const term before = *t;
    bool same = true;
    for (uint32_t i = 0; i < t->rank; i++) {
        t->labels[i] = before.labels[from[i]];
        same = same && from[i] == i;
    }
    t->x = same ? t->x : mts_import_emit_transpose(e->import, t->x, from);
}

/* The term's dimensions in the order of these labels, which are its own. */
static void order_as(const einsum *e, term *t, const uint32_t *labels)
{
    uint32_t from[MTS_TENSOR_RANK_MAX] = {0};
    for (uint32_t i = 0; i < t->rank; i++) {
        for (uint32_t k = 0; k < t->rank; k++) {
            from[i] = t->labels[k] == labels[i] ? k : from[i];
        }
    }
    reorder(e, t, from);
}

/* A label that stands twice: those elements whose positions in both dimensions are
   equal. */
static void take_diagonal(const einsum *e, term *t, uint32_t first, uint32_t second)
{
    uint32_t from[MTS_TENSOR_RANK_MAX], count = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i != first && i != second) {
            from[count++] = i;
        }
    }
    from[count] = first;
    from[count + 1] = second;
    if (t->x->shape.dims[first] != t->x->shape.dims[second]) {
        malformed(e, "a label stands for dimensions of different sizes");
        return;
    }
    reorder(e, t, from);
    if (!t->x) {
        return;
    }
    mts_shape shape = t->x->shape;
    const int64_t n = shape.dims[count];
    shape.rank = --t->rank;
    shape.dims[count] = n * n;
    mts_attrs_slice diagonal = mts_import_whole(&shape);
    diagonal.size[count] = n;
    diagonal.step[count] = n > 1 ? n + 1 : 1;
    t->x = mts_import_emit_reshape(e->import, t->x, &shape);
    t->x = mts_import_emit_slice(e->import, t->x, &diagonal);
}

static void take_diagonals(const einsum *e, term *t)
{
    for (uint32_t i = 0; i < t->rank; i++) {
        for (uint32_t k = i + 1; k < t->rank && t->x; k++) {
            if (t->labels[i] == t->labels[k]) {
                take_diagonal(e, t, i, k);
                i = MTS_NONE; /* positions have changed: from the beginning */
                break;
            }
        }
    }
}

/* Whether a run-time operand has a label, with more than one element. */
static bool is_run_time(const einsum *e, uint32_t label)
{
    for (uint32_t i = 0; i < e->count; i++) {
        const term *t = &e->terms[i];
        for (uint32_t k = 0; k < t->rank; k++) {
            if (t->labels[k] == label && t->x->shape.dims[k] > 1 && !mts_import_is_const(t->x)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a constant is the same for all elements of dimension `axis`. */
static bool repeats(const mts_import_value *x, uint32_t axis)
{
    const float *data = x->data;
    size_t inner = 1, outer = 1;
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        inner *= i > axis ? (size_t)x->shape.dims[i] : 1;
        outer *= i < axis ? (size_t)x->shape.dims[i] : 1;
    }
    const size_t run = inner * (size_t)x->shape.dims[axis];
    bool same = true;
    for (size_t o = 0; same && o < outer; o++) {
        for (size_t i = inner; same && i < run; i += inner) {
            same = memcmp(data + o * run, data + o * run + i, inner * sizeof *data) == 0;
        }
    }
    return same;
}

/* A constant that was expanded along a label of a run-time operand (positions of XLNet, for each
   image of a batch) has one element of it again. */
static void contract(const einsum *e, term *t)
{
    for (uint32_t i = 0; t->x && i < t->rank; i++) {
        if (mts_import_is_const(t->x) && t->x->dtype == MTS_TYPE_FLOAT32 && t->x->shape.dims[i] > 1 &&
            is_run_time(e, t->labels[i]) && repeats(t->x, i)) {
            mts_attrs_slice one = mts_import_whole(&t->x->shape);
            one.size[i] = 1;
            t->x = mts_import_emit_slice(e->import, t->x, &one);
        }
    }
}

/* Drops dimensions of 1 that are broadcast, and sums those whose labels nothing needs. */
static void simplify(const einsum *e, term *t, const bool *needed)
{
    uint32_t axes = 0, rank = 0;
    term kept = {.x = t->x};
    for (uint32_t i = 0; i < t->rank; i++) {
        const uint32_t label = t->labels[i];
        const bool broadcast = t->x->shape.dims[i] == 1 && e->dims[label] > 1;
        if (broadcast || !needed[label]) {
            axes |= 1u << i;
        } else {
            kept.labels[rank++] = label;
        }
    }
    const mts_attrs sum = {.reduce = {.kind = MTS_REDUCE_SUM, .axes = axes}};
    kept.rank = rank;
    kept.x = axes != 0 ? mts_import_emit(e->import, MTS_OP_REDUCE, &sum, &t->x, 1) : t->x;
    *t = kept;
}

/* ---- two operands ---- */

/* The term's labels that are (not) in the other one and (not) needed, appended to out. */
static uint32_t select(const term *t, const term *other, bool shared, const bool *needed, bool wanted,
                       uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        const uint32_t label = t->labels[i];
        if (has(other, label) == shared && (!shared || needed[label] == wanted)) {
            out[count++] = label;
        }
    }
    return count;
}

static int64_t size_of(const einsum *e, const uint32_t *labels, uint32_t count)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < count; i++) {
        size *= e->dims[labels[i]];
    }
    return size;
}

/* The term in the order of these labels, seen as [a,b,c]. */
static value arranged(const einsum *e, term *t, const uint32_t *labels, int64_t a, int64_t b, int64_t c)
{
    const mts_shape shape = {.rank = 3, .dims = {a, b, c}};
    order_as(e, t, labels);
    return t->x ? mts_import_emit_reshape(e->import, t->x, &shape) : NULL;
}

/*
 * Matrices. A constant one on the right has no batch, so that it is a weight; the other one keeps its batch
 * of 1, so that its rows are tokens (passes/tokens.h).
 */
static value product(const einsum *e, value a, value b)
{
    if (!a || !b || a->shape.dims[0] != 1 || !mts_import_is_const(b)) {
        return a && b ? mts_import_emit_matmul(e->import, a, b) : NULL;
    }
    const mts_shape right = {.rank = 2, .dims = {b->shape.dims[1], b->shape.dims[2]}};
    return mts_import_emit_matmul(e->import, a, mts_import_emit_reshape(e->import, b, &right));
}

/* The term in the shape that its labels say. */
static term reshaped(const einsum *e, term y)
{
    mts_shape shape = {.rank = y.rank};
    for (uint32_t i = 0; i < y.rank; i++) {
        shape.dims[i] = e->dims[y.labels[i]];
    }
    y.x = y.x ? mts_import_emit_reshape(e->import, y.x, &shape) : NULL;
    return y;
}

/* Moves those of the labels to the front that stand before `batch` in the result: their number. */
static uint32_t outer_rows(const einsum *e, uint32_t *labels, uint32_t count, uint32_t batch)
{
    uint32_t outer = 0;
    for (uint32_t i = 0; i < e->result.rank && e->result.labels[i] != batch; i++) {
        for (uint32_t k = outer; k < count; k++) {
            if (labels[k] == e->result.labels[i]) {
                const uint32_t label = labels[k];
                memmove(labels + outer + 1, labels + outer, (k - outer) * sizeof *labels);
                labels[outer++] = label;
            }
        }
    }
    return outer;
}

/*
 * A run-time operand times a constant matrix for each element of a batch label: rows whose labels stand
 * before the batch in the result are images, so that nothing has to be moved behind the product.
 */
static term combine_images(const einsum *e, term a, term b, const bool *needed)
{
    uint32_t rows[MTS_TENSOR_RANK_MAX], batch[MTS_TENSOR_RANK_MAX], sums[MTS_TENSOR_RANK_MAX];
    uint32_t columns[MTS_TENSOR_RANK_MAX], left[4 * MTS_TENSOR_RANK_MAX], right[3 * MTS_TENSOR_RANK_MAX];
    term y = {0};
    const uint32_t batches = select(&a, &b, true, needed, true, batch);
    const uint32_t row_count = select(&a, &b, false, needed, true, rows);
    const uint32_t sum_count = select(&a, &b, true, needed, false, sums);
    const uint32_t column_count = select(&b, &a, false, needed, true, columns);
    if (!mts_import_is_const(b.x) || batches == 0 || sum_count == 0) {
        return y;
    }
    const uint32_t outer = outer_rows(e, rows, row_count, batch[0]);
    if (outer == 0) {
        return y;
    }
    memcpy(left, rows, outer * sizeof *left);
    memcpy(left + outer, batch, batches * sizeof *left);
    memcpy(left + outer + batches, rows + outer, (row_count - outer) * sizeof *left);
    memcpy(left + batches + row_count, sums, sum_count * sizeof *left);
    memcpy(right, batch, batches * sizeof *right);
    memcpy(right + batches, sums, sum_count * sizeof *right);
    memcpy(right + batches + sum_count, columns, column_count * sizeof *right);
    const int64_t n = size_of(e, batch, batches), k = size_of(e, sums, sum_count);
    const mts_shape shape = {
        .rank = 4, .dims = {size_of(e, rows, outer), n, size_of(e, rows + outer, row_count - outer), k}};
    value q = arranged(e, &b, right, n, k, size_of(e, columns, column_count));
    order_as(e, &a, left);
    value p = a.x ? mts_import_emit_reshape(e->import, a.x, &shape) : NULL;
    y.x = p && q ? mts_import_emit_matmul(e->import, p, q) : NULL;
    memcpy(y.labels, left, (batches + row_count) * sizeof *left);
    memcpy(y.labels + batches + row_count, columns, column_count * sizeof *columns);
    y.rank = batches + row_count + column_count;
    return y;
}

static term combine(const einsum *e, term a, term b, const bool *needed)
{
    uint32_t left[3 * MTS_TENSOR_RANK_MAX], right[3 * MTS_TENSOR_RANK_MAX];
    term y = combine_images(e, a, b, needed);
    if (y.rank > 0) {
        return reshaped(e, y);
    }
    const uint32_t batch = select(&a, &b, true, needed, true, left);
    const uint32_t rows = select(&a, &b, false, needed, true, left + batch);
    const uint32_t sums = select(&a, &b, true, needed, false, left + batch + rows);
    memcpy(right, left, batch * sizeof *right);
    memcpy(right + batch, left + batch + rows, sums * sizeof *right);
    const uint32_t columns = select(&b, &a, false, needed, true, right + batch + sums);
    if (batch + rows + columns > MTS_TENSOR_RANK_MAX) {
        mts_import_fail(e->import, MTS_STATUS_LIMIT, "an intermediate result has rank %u, above %d",
                        batch + rows + columns, MTS_TENSOR_RANK_MAX);
        return y;
    }
    const int64_t n = size_of(e, left, batch), m = size_of(e, left + batch, rows);
    const int64_t k = size_of(e, left + batch + rows, sums);
    const int64_t c = size_of(e, right + batch + sums, columns);
    value p = arranged(e, &a, left, n, m, k), q = arranged(e, &b, right, n, k, c);
    y.x = sums > 0 ? product(e, p, q) : mts_import_emit_binary(e->import, MTS_BIN_MUL, p, q);
    for (uint32_t i = 0; i < batch + rows + columns; i++) {
        y.labels[y.rank++] = i < batch + rows ? left[i] : right[sums + i - rows];
    }
    return reshaped(e, y);
}

/* Labels that the result or an operand from `first` on has. */
static void find_needed(const einsum *e, uint32_t first, bool *needed)
{
    for (uint32_t label = 0; label < LABELS; label++) {
        needed[label] = has(&e->result, label);
        for (uint32_t i = first; i < e->count; i++) {
            needed[label] = needed[label] || has(&e->terms[i], label);
        }
    }
}

void mts_lower_einsum(mts_import *import)
{
    einsum e = {.import = import};
    bool needed[LABELS];
    read_equation(&e);
    for (uint32_t i = 0; i < e.count && mts_import_ok(import); i++) {
        take_diagonals(&e, &e.terms[i]);
        contract(&e, &e.terms[i]);
    }
    if (!mts_import_ok(import)) {
        return;
    }
    term y = e.terms[0];
    find_needed(&e, 1, needed);
    simplify(&e, &y, needed);
    for (uint32_t i = 1; i < e.count && mts_import_ok(import); i++) {
        term next = e.terms[i];
        find_needed(&e, i + 1, needed);
        bool both[LABELS];
        for (uint32_t label = 0; label < LABELS; label++) {
            both[label] = needed[label] || has(&y, label);
        }
        simplify(&e, &next, both);
        for (uint32_t label = 0; label < LABELS; label++) {
            both[label] = needed[label] || has(&next, label);
        }
        if (mts_import_ok(import)) {
            simplify(&e, &y, both);
        }
        if (mts_import_ok(import)) {
            y = combine(&e, y, next, needed);
        }
    }
    if (!mts_import_ok(import) || y.rank != e.result.rank) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "the equation is not supported");
        return;
    }
    order_as(&e, &y, e.result.labels);
    mts_import_out(import, 0, y.x);
}

/*
 * fit.c: see fit.h. Ridge least squares on centred statistics G = cov(x), C = cov(x, y)
 * of the zipped inputs x and the original pre-activations y (after scale and bias).
 *
 * own:    w_t = (G_t + r)^-1 (C_t + r w0_t)
 * common: U = (sum G'_t + r)^-1 (sum R'_t), where ' takes away what the task's own inputs
 * Q_t explain (the Schur complement of G_QQ), and R is what the prior leaves of C /
 * scale; then Y_t from what is left. With no
 *         own inputs (FILTERS) this is (sum H_t)^-1 sum H_t w_t, with all kernel
 *         positions in one H. The scale of each task and channel follows by regression, and all is done
 * twice.
 */
#include "compress/zip/fit.h"

#include <math.h>
#include <string.h>

#include "compress/net/threads.h"
#include "compress/solve/linear.h"
#include "compress/solve/product.h"

#define RIDGE 1e-3
#define SCALE_LEAST 0.05 /* of the mean scale: below it a channel says little and its quotient less */

static double *numbers(const mts_zip_fit *fit, size_t rows, size_t columns)
{
    return columns && rows > SIZE_MAX / columns
               ? NULL
               : mts_alloc_zero(fit->zip->allocator, rows * columns, sizeof(double));
}

static mts_status no_memory(const mts_zip_fit *fit, uint32_t task, mts_error *error)
{
    return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "task '%s', layer '%s': no memory to fit it",
                    fit->zip->tasks[task].name, fit->row->name);
}

static mts_status fail_solve(const mts_zip_fit *fit, uint32_t task, mts_status status, mts_error *error)
{
    return mts_fail_prefix(error, status, "task '%s', layer '%s'", fit->zip->tasks[task].name,
                           fit->row->name);
}

/* Inputs that are zero in every image say nothing: there is nothing to solve for. */
static bool all_zero(const double *matrix, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (matrix[(size_t)i * n + i] != 0.0) { /* variances; NaN is for the solver to refuse */
            return false;
        }
    }
    return true;
}

/* ---- room ---- */

static void list_columns(mts_zip_fit *fit)
{
    const mts_zip_row *row = fit->row;
    bool *common = (bool *)(fit->columns + fit->length); /* behind the list, see init */
    for (uint32_t c = 0; c < row->inputs; c++) {
        common[c] = !row->reads;
    }
    for (uint32_t i = 0; row->reads && i < row->readable; i++) {
        common[row->reads[i]] = true;
    }
    uint32_t own = fit->u;
    uint32_t shared = 0;
    for (uint32_t i = 0; i < fit->length; i++) {
        if (common[i % row->inputs]) {
            fit->columns[shared++] = i;
        } else {
            fit->columns[own++] = i;
        }
    }
}

/* Whether filters may be fitted for several tasks together. */
static bool commons(const mts_zip_row *row)
{
    return row->share || row->class_of;
}

static bool init_task(mts_zip_fit *fit, uint32_t t)
{
    const mts_gram *gram = &fit->stats[t].gram; /* rows that are not shared may differ in size */
    fit->own[t] = numbers(fit, gram->targets, gram->inputs);
    fit->own_loss[t] = numbers(fit, gram->targets, 1);
    bool done = fit->own[t] && fit->own_loss[t];
    if (done && commons(fit->row)) {
        fit->common[t] = numbers(fit, fit->outputs, fit->length);
        fit->common_loss[t] = numbers(fit, fit->outputs, 1);
        fit->scale[t] = numbers(fit, fit->outputs, 1);
        fit->explain[t] = numbers(fit, fit->u, fit->y);
        done = fit->common[t] && fit->common_loss[t] && fit->scale[t] && fit->explain[t];
    }
    return done;
}

mts_status mts_zip_fit_init(mts_zip_fit *fit, mts_zip *zip, const mts_zip_row *row,
                            const mts_zip_stats *stats)
{
    memset(fit, 0, sizeof(*fit));
    fit->zip = zip;
    fit->row = row;
    fit->stats = stats;
    fit->tasks = ~(uint64_t)0;
    fit->outputs = row->outputs;
    fit->length = row->inputs * row->taps;
    fit->u = (row->reads ? row->readable : row->inputs) * row->taps;
    fit->y = fit->length - fit->u;
    fit->columns = mts_alloc_zero(zip->allocator,
                                  (size_t)fit->length * sizeof(uint32_t) + row->inputs * sizeof(bool), 1);
    bool done = fit->columns;
    if (done) {
        list_columns(fit);
    }
    if (done && commons(row)) {
        fit->base = mts_alloc_zero(zip->allocator, fit->outputs, sizeof(*fit->base));
        fit->prior = numbers(fit, fit->outputs, fit->length);
        fit->pulled = numbers(fit, (size_t)row->groups * fit->u, fit->u);
        fit->delta = numbers(fit, fit->outputs, fit->u);
        done = fit->base && fit->prior && fit->pulled && fit->delta;
    }
    for (uint32_t t = 0; t < zip->count && done; t++) {
        done = zip->frozen[t] || init_task(fit, t);
    }
    return done ? MTS_STATUS_OK : no_memory(fit, 0, zip->error);
}

void mts_zip_fit_release(mts_zip_fit *fit)
{
    const mts_allocator *allocator = fit->zip->allocator;
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        mts_alloc_free(allocator, fit->own[t]);
        mts_alloc_free(allocator, fit->common[t]);
        mts_alloc_free(allocator, fit->scale[t]);
        mts_alloc_free(allocator, fit->explain[t]);
        mts_alloc_free(allocator, fit->own_loss[t]);
        mts_alloc_free(allocator, fit->common_loss[t]);
    }
    mts_alloc_free(allocator, fit->columns);
    mts_alloc_free(allocator, fit->base);
    mts_alloc_free(allocator, fit->prior);
    mts_alloc_free(allocator, fit->pulled);
    mts_alloc_free(allocator, fit->delta);
}

/* ---- own filters ---- */

/* losses[o] = var(y) - 2 w C + w G w */
static void losses_of(const mts_gram *gram, const double *filters, const double *products, double *losses)
{
    for (uint32_t o = 0; o < gram->targets; o++) {
        const double *w = filters + (size_t)o * gram->inputs;
        const double loss = gram->yy[o] -
                            2.0 * mts_dot(w, gram->xy + (size_t)o * gram->inputs, gram->inputs) +
                            mts_dot(w, products + (size_t)o * gram->inputs, gram->inputs);
        losses[o] = loss > 0.0 ? loss : 0.0;
    }
}

static mts_status solve_own(const mts_zip_fit *fit, uint32_t t, double *matrix, double *work,
                            mts_error *error)
{
    const mts_gram *gram = &fit->stats[t].gram;
    const mts_net_layer layer = mts_net_layer_of(fit->zip->originals[t], fit->row->nodes[t]);
    const size_t count = (size_t)gram->targets * gram->inputs;
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        work[i] = (double)layer.scale[i / gram->inputs] * (double)layer.weight[i];
    }
    memcpy(fit->own[t], gram->xy, count * sizeof(double));
    for (uint32_t g = 0; g < gram->groups && status == MTS_STATUS_OK; g++) {
        const mts_gram part = mts_gram_group(gram, g);
        const size_t first = (size_t)g * part.targets;
        double *own = fit->own[t] + first * part.inputs, *prior = work + first * part.inputs;
        if (gram->groups > 1 && all_zero(part.xx, part.inputs)) {
            memcpy(own, prior,
                   (size_t)part.targets * part.inputs * sizeof *own); /* a channel that is never on */
            continue;
        }
        memcpy(matrix, part.xx, (size_t)part.inputs * part.inputs * sizeof(double));
        status = mts_solve_positive(matrix, part.inputs, own, part.targets, prior, RIDGE, NULL, error);
        if (status == MTS_STATUS_OK) {
            mts_multiply(own, part.xx, part.targets, part.inputs, part.inputs, prior);
            losses_of(&part, own, prior, fit->own_loss[t] + first);
        }
    }
    return status == MTS_STATUS_OK ? status : fail_solve(fit, t, status, error);
}

static mts_status own_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const mts_zip_fit *fit = context;
    const mts_gram *gram = &fit->stats[t].gram;
    if (fit->zip->frozen[t]) {
        return MTS_STATUS_OK;
    }
    double *matrix = numbers(fit, gram->inputs, gram->inputs);
    double *work = numbers(fit, gram->targets, gram->inputs);
    const mts_status status =
        matrix && work ? solve_own(fit, t, matrix, work, error) : no_memory(fit, t, error);
    mts_alloc_free(fit->zip->allocator, matrix);
    mts_alloc_free(fit->zip->allocator, work);
    return status;
}

mts_status mts_zip_fit_own(mts_zip_fit *fit)
{
    return mts_threads_run(fit->zip->count, own_job, fit, fit->zip->error);
}

/* ---- common filters ---- */

bool mts_zip_fit_takes(const mts_zip_fit *fit, uint32_t t)
{
    return !fit->zip->frozen[t] && (fit->tasks >> t & 1) != 0;
}

bool mts_zip_fit_based(const mts_zip_fit *fit)
{
    bool based = false;
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        based = based || (fit->zip->frozen[t] && (fit->tasks >> t & 1) != 0);
    }
    return based;
}

/* Tasks that the filters become common to, those of a base included. */
static uint32_t members(const mts_zip_fit *fit)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        count += (uint32_t)(fit->tasks >> t & 1);
    }
    return count;
}

/* The base task whose filter o is nearest, in direction, to those of the others. */
static uint32_t nearest_base(const mts_zip_fit *fit, uint32_t o)
{
    uint32_t best = MTS_NONE;
    double most = -INFINITY;
    for (uint32_t b = 0; b < fit->zip->count; b++) {
        if (!fit->zip->frozen[b] || !(fit->tasks >> b & 1)) {
            continue;
        }
        const float *base = mts_net_layer_of(fit->zip->originals[b], fit->row->nodes[b]).weight;
        double alike = 0.0;
        for (uint32_t t = 0; t < fit->zip->count; t++) {
            const float *own = mts_net_layer_of(fit->zip->originals[t], fit->row->nodes[t]).weight;
            double dot = 0.0, norm = 1e-30, base_norm = 1e-30;
            for (size_t i = (size_t)o * fit->length;
                 i < ((size_t)o + 1) * fit->length && mts_zip_fit_takes(fit, t); i++) {
                dot += (double)own[i] * (double)base[i];
                norm += (double)own[i] * (double)own[i];
                base_norm += (double)base[i] * (double)base[i];
            }
            alike += dot / sqrt(norm * base_norm);
        }
        if (alike > most) {
            most = alike;
            best = b;
        }
    }
    return best;
}

static void find_prior(mts_zip_fit *fit)
{
    const mts_zip *zip = fit->zip;
    for (uint32_t o = 0; o < fit->outputs; o++) {
        fit->base[o] = mts_zip_fit_based(fit) ? nearest_base(fit, o) : MTS_NONE;
        const double part = fit->base[o] == MTS_NONE ? 1.0 / members(fit) : 1.0;
        double *prior = fit->prior + (size_t)o * fit->length;
        memset(prior, 0, fit->length * sizeof *prior);
        for (uint32_t t = 0; t < zip->count; t++) {
            if (!(fit->tasks >> t & 1)) {
                continue;
            }
            const float *weight = mts_net_layer_of(zip->originals[t], fit->row->nodes[t]).weight;
            for (uint32_t i = 0; i < fit->length && (fit->base[o] == MTS_NONE || fit->base[o] == t); i++) {
                prior[i] += part * (double)weight[(size_t)o * fit->length + i];
            }
        }
    }
}

static void first_scales(mts_zip_fit *fit)
{
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        const mts_net_layer layer = mts_net_layer_of(fit->zip->originals[t], fit->row->nodes[t]);
        for (uint32_t o = 0; o < fit->outputs && mts_zip_fit_takes(fit, t); o++) {
            fit->scale[t][o] = layer.scale[o];
        }
    }
}

static void gather_part(const double *from, uint32_t stride, const uint32_t *rows, uint32_t row_count,
                        const uint32_t *columns, uint32_t column_count, double *out)
{
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < column_count; c++) {
            out[(size_t)r * column_count + c] = from[(size_t)rows[r] * stride + columns[c]];
        }
    }
}

/* explain = G_UY G_YY^-1 of a task; 0 where its own inputs are. */
static mts_status explain_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    mts_zip_fit *fit = context;
    if (!mts_zip_fit_takes(fit, t) || fit->y == 0 || fit->u == 0) {
        return MTS_STATUS_OK;
    }
    const uint32_t *own = fit->columns + fit->u;
    double *matrix = numbers(fit, fit->y, fit->y);
    if (!matrix) {
        return no_memory(fit, t, error);
    }
    const double *xx = fit->stats[t].gram.xx;
    gather_part(xx, fit->length, own, fit->y, own, fit->y, matrix);
    gather_part(xx, fit->length, fit->columns, fit->u, own, fit->y, fit->explain[t]);
    mts_status status = MTS_STATUS_OK;
    if (!all_zero(matrix, fit->y)) {
        status = mts_solve_positive(matrix, fit->y, fit->explain[t], fit->u, NULL, RIDGE, NULL, error);
    }
    mts_alloc_free(fit->zip->allocator, matrix);
    return status == MTS_STATUS_OK ? status : fail_solve(fit, t, status, error);
}

/* pulled += G_UU - explain G_YU, task after task, so that the sum does not depend on the
   threads. */
static mts_status add_pulled(mts_zip_fit *fit, uint32_t t)
{
    const double *xx = fit->stats[t].gram.xx;
    if (fit->row->groups > 1) { /* all inputs are in common, in order (rows.c) */
        for (size_t i = 0; i < (size_t)fit->row->groups * fit->u * fit->u; i++) {
            fit->pulled[i] += xx[i];
        }
        return MTS_STATUS_OK;
    }
    double *part = numbers(fit, fit->u, fit->u > fit->y ? fit->u : fit->y);
    if (!part) {
        return no_memory(fit, t, fit->zip->error);
    }
    gather_part(xx, fit->length, fit->columns, fit->u, fit->columns, fit->u, part);
    for (size_t i = 0; i < (size_t)fit->u * fit->u; i++) {
        fit->pulled[i] += part[i];
    }
    if (fit->y) {
        gather_part(xx, fit->length, fit->columns, fit->u, fit->columns + fit->u, fit->y, part);
        mts_subtract_product(fit->explain[t], part, fit->u, fit->y, fit->u, fit->pulled);
    }
    mts_alloc_free(fit->zip->allocator, part);
    return MTS_STATUS_OK;
}

double mts_zip_divisor(double scale, double mean)
{
    const double least = SCALE_LEAST * mean + 1e-12;
    return fabs(scale) >= least ? scale : scale < 0.0 ? -least : least;
}

/* Scale that a channel's target is divided by. */
static double divisor(const mts_zip_fit *fit, uint32_t t, uint32_t o)
{
    double mean = 0.0;
    for (uint32_t k = 0; k < fit->zip->count; k++) {
        mean += mts_zip_fit_takes(fit, k) ? fabs(fit->scale[k][o]) / members(fit) : 0.0;
    }
    return mts_zip_divisor(fit->scale[t][o], mean);
}

/* A filter of a task before it is fitted: the common prior over U, its own weights over
   Y. */
static void start_filters(const mts_zip_fit *fit, uint32_t t)
{
    const float *weight = mts_net_layer_of(fit->zip->originals[t], fit->row->nodes[t]).weight;
    for (uint32_t o = 0; o < fit->outputs; o++) {
        const size_t at = (size_t)o * fit->length;
        for (uint32_t i = 0; i < fit->length; i++) {
            const uint32_t c = fit->columns[i];
            fit->common[t][at + c] = i < fit->u ? fit->prior[at + c] : (double)weight[at + c];
        }
    }
}

/* products[targets][inputs] = w G, of each target with its group's G */
static void multiply_groups(const mts_gram *gram, const double *filters, double *products)
{
    for (uint32_t g = 0; g < gram->groups; g++) {
        const mts_gram part = mts_gram_group(gram, g);
        const size_t first = (size_t)g * part.targets * part.inputs;
        mts_multiply(filters + first, part.xx, part.targets, part.inputs, part.inputs, products + first);
    }
}

/* rest[outputs][length] = C / scale - G w: what the filters leave. */
static void rest_of(const mts_zip_fit *fit, uint32_t t, double *rest)
{
    const mts_gram *gram = &fit->stats[t].gram;
    multiply_groups(gram, fit->common[t], rest);
    for (uint32_t o = 0; o < fit->outputs; o++) {
        const double by = divisor(fit, t, o);
        for (uint32_t i = 0; i < fit->length; i++) {
            const size_t at = (size_t)o * fit->length + i;
            rest[at] = gram->xy[at] / by - rest[at];
        }
    }
}

/* delta += what a task's statistics ask of U: rest_U - rest_Y explain^T */
static mts_status add_wish(mts_zip_fit *fit, uint32_t t)
{
    double *rest = numbers(fit, fit->outputs, fit->length);
    double *own = numbers(fit, fit->outputs, fit->y);
    const bool ready = rest && own;
    if (ready) {
        start_filters(fit, t);
        rest_of(fit, t, rest);
        for (uint32_t o = 0; o < fit->outputs; o++) {
            for (uint32_t i = 0; i < fit->u; i++) {
                fit->delta[(size_t)o * fit->u + i] += rest[(size_t)o * fit->length + fit->columns[i]];
            }
            for (uint32_t i = 0; i < fit->y; i++) {
                own[(size_t)o * fit->y + i] = rest[(size_t)o * fit->length + fit->columns[fit->u + i]];
            }
        }
        if (fit->y) {
            mts_subtract_product(own, fit->explain[t], fit->outputs, fit->y, fit->u, fit->delta);
        }
    }
    mts_alloc_free(fit->zip->allocator, rest);
    mts_alloc_free(fit->zip->allocator, own);
    return ready ? MTS_STATUS_OK : no_memory(fit, t, fit->zip->error);
}

static mts_status solve_delta(mts_zip_fit *fit)
{
    const size_t size = (size_t)fit->u * fit->u;
    mts_status status = MTS_STATUS_OK;
    memset(fit->delta, 0, (size_t)fit->outputs * fit->u * sizeof(double));
    for (uint32_t t = 0; t < fit->zip->count && status == MTS_STATUS_OK; t++) {
        status = mts_zip_fit_takes(fit, t) ? add_wish(fit, t) : MTS_STATUS_OK;
    }
    if (mts_zip_fit_based(fit)) { /* U is the base's */
        memset(fit->delta, 0, (size_t)fit->outputs * fit->u * sizeof(double));
        return status;
    }
    double *matrix = status == MTS_STATUS_OK ? numbers(fit, fit->u, fit->u) : NULL;
    if (status == MTS_STATUS_OK && !matrix) {
        return no_memory(fit, fit->zip->reference, fit->zip->error);
    }
    const uint32_t each = fit->outputs / fit->row->groups;
    for (uint32_t g = 0; g < fit->row->groups && status == MTS_STATUS_OK; g++) {
        const double *pulled = fit->pulled + size * g;
        if (fit->row->groups > 1 && all_zero(pulled, fit->u)) {
            continue; /* the prior stays */
        }
        memcpy(matrix, pulled, size * sizeof(double));
        status = mts_solve_positive(matrix, fit->u, fit->delta + (size_t)g * each * fit->u, each, NULL, RIDGE,
                                    NULL, fit->zip->error);
        status =
            status == MTS_STATUS_OK ? status : fail_solve(fit, fit->zip->reference, status, fit->zip->error);
    }
    mts_alloc_free(fit->zip->allocator, matrix);
    return status;
}

static void add_delta(const mts_zip_fit *fit, uint32_t t)
{
    for (uint32_t o = 0; o < fit->outputs; o++) {
        for (uint32_t i = 0; i < fit->u; i++) {
            fit->common[t][(size_t)o * fit->length + fit->columns[i]] += fit->delta[(size_t)o * fit->u + i];
        }
    }
}

/* Y of a task, given U; as it was where the task's own inputs are zero. */
static mts_status solve_rest(const mts_zip_fit *fit, uint32_t t, double *rest, mts_error *error)
{
    const uint32_t *columns = fit->columns + fit->u;
    double *matrix = numbers(fit, fit->y, fit->y);
    double *own = numbers(fit, fit->outputs, fit->y);
    mts_status status = matrix && own ? MTS_STATUS_OK : no_memory(fit, t, error);
    if (status == MTS_STATUS_OK) {
        rest_of(fit, t, rest);
        gather_part(fit->stats[t].gram.xx, fit->length, columns, fit->y, columns, fit->y, matrix);
        for (size_t i = 0; i < (size_t)fit->outputs * fit->y; i++) {
            own[i] = rest[i / fit->y * fit->length + columns[i % fit->y]];
        }
    }
    const bool silent = status == MTS_STATUS_OK && all_zero(matrix, fit->y);
    if (status == MTS_STATUS_OK && !silent) {
        status = mts_solve_positive(matrix, fit->y, own, fit->outputs, NULL, RIDGE, NULL, error);
        status = status == MTS_STATUS_OK ? status : fail_solve(fit, t, status, error);
    }
    for (size_t i = 0; i < (size_t)fit->outputs * fit->y && status == MTS_STATUS_OK && !silent; i++) {
        fit->common[t][i / fit->y * fit->length + columns[i % fit->y]] += own[i];
    }
    mts_alloc_free(fit->zip->allocator, matrix);
    mts_alloc_free(fit->zip->allocator, own);
    return status;
}

/* scale = w C / w G w, and the variance that is left with it. */
static void regress(const mts_zip_fit *fit, uint32_t t, const double *products)
{
    const mts_gram *gram = &fit->stats[t].gram;
    for (uint32_t o = 0; o < fit->outputs; o++) {
        const size_t at = (size_t)o * fit->length;
        const double met = mts_dot(fit->common[t] + at, gram->xy + at, fit->length);
        const double power = mts_dot(fit->common[t] + at, products + at, fit->length);
        const bool alive = power > 1e-20;
        fit->scale[t][o] = alive ? met / power : fit->scale[t][o];
        const double loss = alive ? gram->yy[o] - met * met / power : gram->yy[o];
        fit->common_loss[t][o] = loss > 0.0 ? loss : 0.0;
    }
}

static mts_status finish_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const mts_zip_fit *fit = context;
    if (!mts_zip_fit_takes(fit, t)) {
        return MTS_STATUS_OK;
    }
    double *work = numbers(fit, fit->outputs, fit->length);
    if (!work) {
        return no_memory(fit, t, error);
    }
    add_delta(fit, t);
    const mts_status status = fit->y ? solve_rest(fit, t, work, error) : MTS_STATUS_OK;
    if (status == MTS_STATUS_OK) {
        multiply_groups(&fit->stats[t].gram, fit->common[t], work);
        regress(fit, t, work);
    }
    mts_alloc_free(fit->zip->allocator, work);
    return status;
}

mts_status mts_zip_fit_common(mts_zip_fit *fit)
{
    mts_zip *zip = fit->zip;
    find_prior(fit);
    first_scales(fit);
    mts_status status = mts_threads_run(zip->count, explain_job, fit, zip->error);
    memset(fit->pulled, 0, (size_t)fit->row->groups * fit->u * fit->u * sizeof *fit->pulled);
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK && !mts_zip_fit_based(fit); t++) {
        status = mts_zip_fit_takes(fit, t) ? add_pulled(fit, t) : MTS_STATUS_OK;
    }
    MTS_TRY(status, solve_delta(fit));
    return status == MTS_STATUS_OK ? mts_threads_run(zip->count, finish_job, fit, zip->error) : status;
}

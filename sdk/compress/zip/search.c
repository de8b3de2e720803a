/*
 * search.c: the plan under a limit. Predictions of a plan's loss are sums over rows, each
 * shared alone; fitting each row to inputs that have changed already makes up for some of it,
 * and errors of several rows meet. So plans are tried as a whole, and what they are predicted
 * to lose is moved until what the whole loses comes close to the limit from below.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compress/zip/plan.h"

#define TRIALS_MOST 6u
#define CLOSE 0.92    /* of the limit: near enough to stop */
#define AIM 0.97      /* of the limit: where the next trial is to come out */
#define STEP_MOST 4.0 /* of a prediction from trial to trial */
#define WORST 3.0     /* times the limit: what one task may lose */
#define MARGIN 1.2    /* what is expected counts so many times: a limit is to hold on other images */
#define UNLUCKY 0.674 /* standard errors that three of four tests stay below */
#define PRICE_LEAST 1e-18
#define PRICE_MOST 1e3
#define CURVE_POINTS 24u

typedef struct search {
    mts_zip *zip;
    mts_zip_curve *curves;
    mts_zip_found *best;
    mts_net *best_nets[MTS_ZIP_TASKS_MAX];
    bool found;
    double best_bytes, least_over; /* the least that a trial over the limit lost */
    mts_zip_row_plan *plans;       /* of the trial in hand */
    mts_zip_factors *factors;
    double other_bytes, unshared_bytes; /* of weights that are in no row; of all if none was shared */
} search;

/* ---- bytes ---- */

static void sum_bytes(search *s)
{
    const mts_zip *zip = s->zip;
    s->unshared_bytes = zip->other_tasks_bytes;
    for (uint32_t t = 0; t < zip->count; t++) {
        s->unshared_bytes += mts_zip_bytes(zip->tasks[t].graph);
    }
    s->best->bytes_before = s->other_bytes = s->unshared_bytes;
    for (uint32_t r = 0; r < zip->row_count; r++) {
        const mts_zip_row *row = &zip->rows[r];
        s->other_bytes -=
            row->share ? (double)zip->count * row->outputs * row->inputs * row->taps * row->weight_bytes
                       : 0.0;
    }
}

static double part_of(const search *s, uint64_t row_bytes)
{
    return ((double)row_bytes + s->other_bytes) / s->unshared_bytes;
}

/* ---- prices ---- */

static mts_status plan_at(search *s, double price, double *part, double *loss)
{
    uint64_t bytes = 0;
    const bool done = mts_zip_plan(s->zip, s->curves, price, s->plans, &bytes, loss);
    *part = part_of(s, bytes);
    return done ? MTS_STATUS_OK : mts_fail_memory(s->zip->error);
}

/* The highest price whose plan is predicted to lose no more than `loss`, or the lowest one whose
   plan takes no more than `part` of the bytes (loss < 0). */
static mts_status find_price(search *s, double loss, double part, double *price)
{
    double low = log(PRICE_LEAST), high = log(PRICE_MOST), bytes = 0.0, lost = 0.0;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < 50 && status == MTS_STATUS_OK; i++) {
        const double middle = 0.5 * (low + high);
        status = plan_at(s, exp(middle), &bytes, &lost);
        const bool higher = loss >= 0.0 ? lost <= loss : bytes > part;
        low = higher ? middle : low;
        high = higher ? high : middle;
    }
    *price = exp(loss >= 0.0 ? low : high);
    return status;
}

/* ---- telling ---- */

static void tell_point(const search *s, double part, double loss, bool predicted, bool within)
{
    const mtsz_zip_options *options = s->zip->options;
    const mtsz_zip_trial trial = {.size = sizeof trial,
                                  .bytes = part,
                                  .loss = loss,
                                  .predicted = predicted ? 1 : 0,
                                  .within = within ? 1 : 0};
    if (options->trial) {
        options->trial(options->context, &trial);
    }
}

/* The prediction over the whole range of prices. */
static mts_status tell_curve(search *s)
{
    double low = 0.0, high = 0.0, part = 0.0, loss = 0.0, most = 0.0;
    mts_status status = plan_at(s, PRICE_MOST, &part, &most);
    MTS_TRY(status, find_price(s, most * 1e-3, 0.0, &low));
    MTS_TRY(status, find_price(s, most, 0.0, &high));
    high = high < 1e6 * low ? high : 1e6 * low;
    for (uint32_t i = 0; i < CURVE_POINTS && status == MTS_STATUS_OK; i++) {
        status = plan_at(s, low * pow(high / low, (double)i / (CURVE_POINTS - 1)), &part, &loss);
        tell_point(s, part, loss, true, false);
    }
    return status;
}

/* ---- trials ---- */

static void losses(const mts_zip *zip, double *mean, double *worst)
{
    uint32_t tasks = 0;
    *mean = *worst = 0.0;
    for (uint32_t t = 0; t < zip->count; t++) {
        tasks += zip->frozen[t] ? 0 : 1;
        *mean += zip->frozen[t] ? 0.0 : zip->loss[t];
        *worst = mts_change_worse(zip->loss[t], *worst) ? zip->loss[t] : *worst;
    }
    *mean /= tasks ? tasks : 1;
}

/*
 * The standard error of the mean loss that a test on as many other images would measure: an
 * answer that has changed gains or loses one image, whatever is expected of all together.
 */
static double test_error(const mts_zip *zip)
{
    double changed = 0.0;
    uint32_t tasks = 0;
    for (uint32_t t = 0; t < zip->count; t++) {
        const bool classes = !zip->frozen[t] && zip->forms[t] != MTS_CHANGE_NUMBERS;
        changed += classes ? zip->change[t] / 100.0 : 0.0;
        tasks += zip->frozen[t] ? 0 : 1;
    }
    return tasks && zip->images ? 100.0 * sqrt(changed / zip->images) / tasks : 0.0;
}

/* What counts against the limit. */
static double counted(const mts_zip *zip, double mean, double worst)
{
    const double part = MARGIN * (mean > worst / WORST ? mean : worst / WORST);
    const double unlucky = mean + UNLUCKY * test_error(zip);
    return isnan(worst) ? NAN : part > unlucky ? part : unlucky;
}

static void swap_into_best(search *s, mts_arena *arena, double part)
{
    mts_zip_found *best = s->best;
    const size_t cells = (size_t)s->zip->row_count * s->zip->count;
    mts_arena_release(&best->arena);
    best->arena = *arena;
    mts_arena_init(arena, s->zip->allocator);
    memcpy(best->plans, s->plans, s->zip->row_count * sizeof *best->plans);
    memcpy(best->factors, s->factors, cells * sizeof *best->factors);
    for (uint32_t t = 0; t < s->zip->count; t++) {
        mts_net_copy(s->best_nets[t], s->zip->nets[t]);
    }
    s->best_bytes = part;
    s->found = true;
}

/* Carries out the plan at a price; *lost: what counts against the limit. */
static mts_status try_price(search *s, double price, double limit, double *lost)
{
    mts_zip *zip = s->zip;
    mts_arena arena;
    double part = 0.0, predicted = 0.0, mean = 0.0, worst = 0.0;
    char what[160];
    uint32_t worst_task = 0;
    const float first = 0.3f + 0.09f * (float)s->best->trials, last = first + 0.08f;
    mts_arena_init(&arena, zip->allocator);
    mts_status status = plan_at(s, price, &part, &predicted);
    MTS_TRY(status, mts_zip_apply(zip, s->curves, s->plans, &arena, s->factors, first, last));
    MTS_TRY(status, mts_zip_gate_look(zip, &worst_task));
    if (status == MTS_STATUS_OK) {
        losses(zip, &mean, &worst);
        *lost = counted(zip, mean, worst);
        s->best->trials++;
        const bool within = *lost <= limit; /* NaN is not */
        tell_point(s, part, mean, false, within);
        (void)snprintf(what, sizeof what,
                       "trial %u: %.1f %% of the bytes, %.3f points expected to be lost, %.3f predicted",
                       s->best->trials, 100.0 * part, mean, predicted);
        status = mts_options_progress(zip->compiler, last, what, zip->error);
        if (within && (!s->found || part < s->best_bytes)) {
            swap_into_best(s, &arena, part);
        } else if (!within) {
            s->least_over = *lost < s->least_over ? *lost : s->least_over;
        }
    }
    mts_arena_release(&arena);
    return status;
}

/* Where predictions have led so far. */
typedef struct bracket {
    double under, under_lost; /* the highest prediction that was within the limit; 0: none */
    double over, over_lost;   /* the lowest one that was not; 0: none */
} bracket;

static double next_prediction(const bracket *b, double last, double lost, double limit)
{
    const double aim = AIM * limit;
    if (b->under > 0.0 && b->over > 0.0) {
        const double part = log(aim / b->under_lost) / log(b->over_lost / b->under_lost);
        const double inside = part > 0.1 && part < 0.9 ? part : part >= 0.9 ? 0.9 : 0.1; /* NaN: 0.1 */
        return b->under * pow(b->over / b->under, inside);
    }
    const double step = isfinite(lost) ? aim / (lost > 1e-9 ? lost : 1e-9) : 1.0 / STEP_MOST;
    return last * (step > STEP_MOST ? STEP_MOST : step < 1.0 / STEP_MOST ? 1.0 / STEP_MOST : step);
}

static void note(bracket *b, double prediction, double lost, double limit)
{
    if (lost <= limit && prediction > b->under) {
        b->under = prediction;
        b->under_lost = lost > 1e-9 ? lost : 1e-9;
    } else if (!(lost <= limit) && (b->over <= 0.0 || prediction < b->over)) {
        b->over = prediction;
        b->over_lost = isfinite(lost) ? lost : 1e3 * limit;
    }
}

static mts_status under_loss(search *s)
{
    const double limit = s->zip->options->max_loss;
    double part = 0.0, most = 0.0, prediction = limit, lost = 0.0;
    bracket b = {0};
    mts_status status = plan_at(s, PRICE_MOST, &part, &most);
    for (uint32_t i = 0; i < TRIALS_MOST && status == MTS_STATUS_OK; i++) {
        double price = 0.0;
        prediction = prediction < most ? prediction : most;
        status = find_price(s, prediction, 0.0, &price);
        MTS_TRY(status, try_price(s, prediction < most ? price : PRICE_MOST, limit, &lost));
        note(&b, prediction, lost, limit);
        if (prediction <= 0.0 || (lost <= limit && (lost >= CLOSE * limit || prediction >= most))) {
            break; /* near enough, or no other plan */
        }
        prediction = next_prediction(&b, prediction, lost, limit);
    }
    if (status == MTS_STATUS_OK && !s->found) {
        status = mts_fail(s->zip->error, MTS_STATUS_LIMIT,
                          "no sharing stays within max_loss: of %u plans the most careful one counts %.3g "
                          "points, %.1f times what it is expected to lose, and the limit is %.3g",
                          s->best->trials, s->least_over, MARGIN, limit);
    }
    return status;
}

static mts_status fail_bytes(const search *s, double part, const char *what)
{
    return mts_fail(s->zip->error, MTS_STATUS_LIMIT,
                    "bytes: %s leaves %.4g of the bytes that the tasks would have each on its own, and the "
                    "limit is %.4g",
                    what, part, s->zip->options->bytes);
}

/* One plan of at most `part` by prediction; *stored: what the bundle has of it. */
static mts_status try_bytes(search *s, double part, double *stored)
{
    double price = 0.0, lost = 0.0, bytes = 0.0;
    s->found = false;
    mts_status status = find_price(s, -1.0, part, &price);
    MTS_TRY(status, try_price(s, price, INFINITY, &lost));
    if (status == MTS_STATUS_OK && !s->found) {
        status = mts_fail(s->zip->error, MTS_STATUS_LIMIT, "bytes: answers are no numbers at this limit");
    }
    MTS_TRY(status, s->zip->stored(s->zip->stored_context, s->best, &bytes));
    *stored = bytes / s->unshared_bytes;
    return status;
}

/* The bundle counts, not the prediction: what it has more is taken off the next plan's. */
static mts_status under_bytes(search *s)
{
    const double limit = s->zip->options->bytes;
    double least = 0.0, loss = 0.0, stored = INFINITY, wanted = limit;
    mts_status status = plan_at(s, PRICE_MOST, &least, &loss);
    if (status == MTS_STATUS_OK && least > limit) {
        return fail_bytes(s, least, "sharing all that can be shared");
    }
    for (uint32_t i = 0; i < TRIALS_MOST && status == MTS_STATUS_OK && stored > limit; i++) {
        status = try_bytes(s, wanted, &stored);
        if (status == MTS_STATUS_OK && stored > limit) {
            const bool last = wanted <= least;
            wanted -= 1.05 * (stored - limit);
            wanted = wanted > least ? wanted : least;
            status =
                last || i + 1 == TRIALS_MOST ? fail_bytes(s, stored, "the smallest bundle found") : status;
        }
    }
    return status;
}

/* ---- the whole ---- */

static mts_status open(search *s)
{
    mts_zip *zip = s->zip;
    const size_t cells = (size_t)zip->row_count * zip->count;
    mts_zip_found *best = s->best;
    best->plans = mts_arena_zero(&zip->arena, zip->row_count, sizeof *best->plans);
    best->factors = mts_arena_zero(&zip->arena, cells, sizeof *best->factors);
    s->plans = mts_arena_zero(&zip->arena, zip->row_count, sizeof *s->plans);
    s->factors = mts_arena_zero(&zip->arena, cells, sizeof *s->factors);
    bool done = best->plans && best->factors && s->plans && s->factors;
    mts_status status = done ? MTS_STATUS_OK : mts_fail_memory(zip->error);
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        status = mts_net_create(zip->tasks[t].graph, zip->allocator, &s->best_nets[t], zip->error);
    }
    sum_bytes(s);
    return status;
}

mts_status mts_zip_search(mts_zip *zip, mts_zip_found *out)
{
    search s = {.zip = zip, .best = out, .least_over = INFINITY};
    mts_status status = open(&s);
    MTS_TRY(status, mts_zip_curves(zip, &s.curves));
    MTS_TRY(status, tell_curve(&s));
    MTS_TRY(status, zip->options->max_loss > 0.0 ? under_loss(&s) : under_bytes(&s));
    if (status == MTS_STATUS_OK) {
        mts_zip_apply_mark(zip, out->plans);
    }
    MTS_TRY(status, mts_zip_tell(zip, out, s.best_nets));
    MTS_TRY(status, mts_zip_gate_final(zip, &out->change, &out->change_worst));
    if (status == MTS_STATUS_OK) {
        losses(zip, &out->loss, &out->loss_worst);
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_net_destroy(&s.best_nets[t]);
    }
    return status;
}

void mts_zip_found_release(mts_zip_found *found)
{
    mts_arena_release(&found->arena);
}

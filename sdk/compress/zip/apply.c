/*
 * apply.c: carries out a plan, row after row from the inputs on: statistics, the fit of each
 * part of tasks, the channels that lose least by being common, differences of low rank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "compress/net/threads.h"
#include "compress/zip/merge.h"
#include "compress/zip/plan.h"

typedef struct applying {
    mts_zip *zip;
    mts_zip_row *row;
    const mts_zip_row_plan *plan;
    const mts_zip_curve *curve;
    mts_zip_fit *fit;
    mts_arena *arena;
    mts_zip_factors *factors; /* [task] of the row */
    uint64_t *taken;          /* [outputs]: tasks whose filter is common (bits) */
} applying;

/* What a channel loses by being common: variance in points, as the plan counts it. */
static double price_of(const applying *a, const mts_zip_part *part, uint32_t o)
{
    double price = 0.0;
    for (uint32_t t = 0; t < a->zip->count; t++) {
        if ((part->tasks >> t & 1) && !a->zip->frozen[t]) {
            price += a->curve->weight[t] * (a->fit->common_loss[t][o] - a->fit->own_loss[t][o]);
        }
    }
    return price;
}

static mts_status put_filters(applying *a, const mts_zip_part *part)
{
    const mts_zip *zip = a->zip;
    mts_zip_candidate *order = mts_alloc_zero(zip->allocator, a->row->outputs, sizeof *order);
    if (!order) {
        return mts_fail_memory(zip->error);
    }
    for (uint32_t o = 0; o < a->row->outputs; o++) {
        order[o] = (mts_zip_candidate){.price = price_of(a, part, o), .channel = o};
    }
    mts_zip_candidates_sort(order, a->row->outputs);
    for (uint32_t i = 0; i < part->shared; i++) {
        a->taken[order[i].channel] |= part->tasks;
        for (uint32_t t = 0; t < zip->count; t++) {
            if (!(part->tasks >> t & 1) || zip->frozen[t]) {
                continue;
            }
            if (part->reduced) {
                mts_zip_put_reduced(a->fit, a->row, t, order[i].channel);
            } else {
                mts_zip_put_common(a->fit, a->row, t, order[i].channel);
            }
        }
    }
    mts_alloc_free(zip->allocator, order);
    return MTS_STATUS_OK;
}

static mts_status add_differences(applying *a, const mts_zip_part *part)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < a->zip->count && status == MTS_STATUS_OK; t++) {
        if ((part->tasks >> t & 1) && !a->zip->frozen[t]) {
            status =
                mts_zip_delta_make(a->fit, t, a->plan->ranks[t], a->arena, &a->factors[t], a->zip->error);
        }
    }
    return status;
}

static mts_status put_part(applying *a, const mts_zip_part *part)
{
    if (part->shared == 0) {
        return MTS_STATUS_OK;
    }
    a->fit->tasks = part->tasks;
    mts_status status = mts_zip_fit_common(a->fit);
    if (part->reduced) {
        MTS_TRY(status, add_differences(a, part));
    }
    MTS_TRY(status, put_filters(a, part));
    return status;
}

static mts_status put_row(applying *a)
{
    mts_zip *zip = a->zip;
    const size_t length = (size_t)a->row->inputs * a->row->taps;
    mts_status status = mts_zip_fit_own(a->fit);
    size_t longest = length;
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_gram *gram = &a->fit->stats[t].gram;
        longest = gram->inputs > longest ? gram->inputs : longest;
    }
    double *work = mts_alloc_zero(zip->allocator, longest, sizeof *work);
    status = work ? status : mts_fail_memory(zip->error);
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        if (!zip->frozen[t]) {
            mts_zip_put_own(a->fit, a->row, t, work);
        }
    }
    for (uint32_t p = 0; p < a->plan->part_count && status == MTS_STATUS_OK; p++) {
        status = put_part(a, &a->plan->parts[p]);
    }
    MTS_TRY(status, mts_zip_put_kept(a->fit, a->row, a->taken));
    mts_alloc_free(zip->allocator, work);
    return status;
}

static bool shares(const mts_zip_row_plan *plan)
{
    for (uint32_t p = 0; p < plan->part_count; p++) {
        if (plan->parts[p].shared) {
            return true;
        }
    }
    return false;
}

static mts_status apply_row(applying *a)
{
    mts_zip *zip = a->zip;
    mts_zip_stats stats[MTS_ZIP_TASKS_MAX] = {{{0}}};
    mts_zip_fit fit;
    mts_status status = mts_zip_stats_gather(zip, a->row, stats);
    a->taken = mts_alloc_zero(zip->allocator, a->row->outputs, sizeof *a->taken);
    status = a->taken || status != MTS_STATUS_OK ? status : mts_fail_memory(zip->error);
    if (status == MTS_STATUS_OK) {
        status = mts_zip_fit_init(&fit, zip, a->row, stats);
        a->fit = &fit;
        MTS_TRY(status, put_row(a));
        mts_zip_fit_release(&fit);
    }
    mts_alloc_free(zip->allocator, a->taken);
    mts_zip_stats_release(zip, stats);
    return status;
}

void mts_zip_apply_mark(mts_zip *zip, const mts_zip_row_plan *plans)
{
    bool changed = false;
    for (uint32_t r = 0; r < zip->row_count; r++) {
        zip->rows[r].done = zip->rows[r].fit && (changed || shares(&plans[r]));
        changed = changed || zip->rows[r].done;
    }
}

mts_status mts_zip_apply(mts_zip *zip, const mts_zip_curve *curves, const mts_zip_row_plan *plans,
                         mts_arena *arena, mts_zip_factors *factors, float first, float last)
{
    mts_status status = MTS_STATUS_OK;
    char what[128];
    zip->alone = false;
    mts_zip_apply_mark(zip, plans);
    mts_zip_traces_drop(zip);
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_net_copy(zip->nets[t], zip->originals[t]);
    }
    memset(factors, 0, (size_t)zip->row_count * zip->count * sizeof *factors);
    for (uint32_t r = 0; r < zip->row_count && status == MTS_STATUS_OK; r++) {
        mts_zip_row *row = &zip->rows[r];
        if (!row->done) {
            continue; /* nothing before it has changed */
        }
        applying a = {.zip = zip,
                      .row = row,
                      .plan = &plans[r],
                      .curve = &curves[r],
                      .arena = arena,
                      .factors = factors + (size_t)r * zip->count};
        (void)snprintf(what, sizeof what, "fitting %.90s", row->name);
        status = mts_options_progress(
            zip->compiler, first + (last - first) * (float)r / (float)zip->row_count, what, zip->error);
        MTS_TRY(status, apply_row(&a));
    }
    mts_zip_traces_drop(zip);
    return status;
}

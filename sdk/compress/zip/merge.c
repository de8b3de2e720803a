/*
 * merge.c: which channels of a row become common, and the parameters that follow: a
 * common filter, scale and bias per task; or the task's own filter.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "compress/zip/keep.h"
#include "compress/zip/merge.h"

static int compare_candidates(const void *a, const void *b)
{
    const mts_zip_candidate *x = a, *y = b;
    return mts_order(MTS_COMPARE(x->price, y->price), MTS_COMPARE(x->channel, y->channel));
}

void mts_zip_candidates_sort(mts_zip_candidate *candidates, uint32_t count)
{
    qsort(candidates, count, sizeof *candidates, compare_candidates);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return MTS_COMPARE(x, y);
}

/* Variance that being common loses beyond what is lost anyway. */
static double price_of(const mts_zip_fit *fit, uint32_t o)
{
    double price = 0.0;
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        price += fit->zip->frozen[t] ? 0.0 : fit->common_loss[t][o] - fit->own_loss[t][o];
    }
    return price;
}

/* The channels that lose least by being common. */
static mts_status choose(const mts_zip_fit *fit, mts_zip_row *row, uint32_t shared)
{
    mts_zip *zip = fit->zip;
    mts_zip_candidate *candidates = mts_alloc_zero(zip->allocator, row->outputs, sizeof(*candidates));
    if (!candidates) {
        return mts_fail(zip->error, MTS_STATUS_OUT_OF_MEMORY, "layer '%s': out of memory", row->name);
    }
    for (uint32_t o = 0; o < row->outputs; o++) {
        candidates[o] = (mts_zip_candidate){.price = price_of(fit, o), .channel = o};
    }
    mts_zip_candidates_sort(candidates, row->outputs);
    for (uint32_t i = 0; i < shared; i++) {
        row->channels[i] = candidates[i].channel;
    }
    row->shared = shared;
    qsort(row->channels, shared, sizeof(*row->channels), compare_numbers);
    mts_alloc_free(zip->allocator, candidates);
    return MTS_STATUS_OK;
}

/* UXYZ: layers that write into the same channels have the same ones in common. */
static mts_status choose_together(const mts_zip_fit *fit, mts_zip_row *row, uint32_t shared)
{
    mts_zip *zip = fit->zip;
    bool **common = row->reads ? mts_zip_row_common(zip, row) : NULL;
    if (row->reads && (!common || row->readable == 0)) {
        row->shared = 0; /* nothing reads or writes in an order of its own here */
        return MTS_STATUS_OK;
    }
    if (common && *common) {
        row->shared = 0;
        for (uint32_t c = 0; c < row->outputs; c++) {
            if ((*common)[c]) {
                row->channels[row->shared++] = c;
            }
        }
        return MTS_STATUS_OK;
    }
    const mts_status status = choose(fit, row, shared);
    if (status != MTS_STATUS_OK || !common) {
        return status;
    }
    *common = mts_arena_zero(&zip->arena, row->outputs, sizeof(**common));
    for (uint32_t i = 0; *common && i < row->shared; i++) {
        (*common)[row->channels[i]] = true;
    }
    return *common ? MTS_STATUS_OK
                   : mts_fail(zip->error, MTS_STATUS_OUT_OF_MEMORY, "layer '%s': out of memory", row->name);
}

/* bias = mean(y) - scale w mean(x), with the weights as they are stored. */
static void put_filter(const mts_gram *gram, mts_net_layer *layer, uint32_t o, const double *filter,
                       double scale)
{
    double mean = 0.0;
    float *weight = layer->weight + (size_t)o * gram->inputs;
    const double *x =
        gram->x + (size_t)(o / (gram->targets / gram->groups)) * gram->inputs; /* of its group */
    for (uint32_t i = 0; i < gram->inputs; i++) {
        weight[i] = (float)filter[i];
        mean += (double)weight[i] * x[i];
    }
    layer->scale[o] = (float)scale;
    layer->bias[o] = (float)(gram->y[o] - (double)layer->scale[o] * mean);
}

static void put_own(const mts_gram *gram, mts_net_layer *layer, uint32_t o, const double *filter,
                    double *work)
{
    /* The filter was fitted with its scale in it. A scale that is next to nothing cannot
     * be taken out again.
     */
    const double scale = layer->scale[o] > 1e-6f || layer->scale[o] < -1e-6f ? (double)layer->scale[o] : 1.0;
    for (uint32_t i = 0; i < gram->inputs; i++) {
        work[i] = filter[i] / scale;
    }
    put_filter(gram, layer, o, work, scale);
}

void mts_zip_put_own(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, double *work)
{
    const mts_gram *gram = &fit->stats[t].gram;
    const mts_net_layer original = mts_net_layer_of(fit->zip->originals[t], row->nodes[t]);
    mts_net_layer layer = mts_net_layer_of(fit->zip->nets[t], row->nodes[t]);
    for (uint32_t o = 0; o < gram->targets; o++) {
        layer.scale[o] = original.scale[o];
        put_own(gram, &layer, o, fit->own[t] + (size_t)o * gram->inputs, work);
    }
    mts_net_touch(fit->zip->nets[t], row->nodes[t]);
}

void mts_zip_put_layer(mts_zip *zip, const mts_zip_row *row, uint32_t t, const mts_net *net)
{
    const mts_net_layer from = mts_net_layer_of(net, row->nodes[t]);
    const mts_net_layer to = mts_net_layer_of(zip->nets[t], row->nodes[t]);
    const size_t weights = (size_t)from.outputs * from.inputs * from.rows * from.columns;
    memcpy(to.weight, from.weight, weights * sizeof(float));
    memcpy(to.scale, from.scale, from.outputs * sizeof(float));
    memcpy(to.bias, from.bias, from.outputs * sizeof(float));
    mts_net_touch(zip->nets[t], row->nodes[t]);
}

/* U of a base, to the bit. */
static void copy_base(const mts_zip_fit *fit, const mts_zip_row *row, mts_net_layer *layer, uint32_t o)
{
    const mts_net_layer base = mts_net_layer_of(fit->zip->originals[fit->base[o]], row->nodes[fit->base[o]]);
    for (uint32_t k = 0; k < fit->u; k++) {
        const size_t at = (size_t)o * fit->length + fit->columns[k];
        layer->weight[at] = base.weight[at];
    }
}

void mts_zip_put_reduced(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, uint32_t o)
{
    const mts_gram *gram = &fit->stats[t].gram;
    mts_net_layer layer = mts_net_layer_of(fit->zip->nets[t], row->nodes[t]);
    put_filter(gram, &layer, o, fit->common[t] + (size_t)o * gram->inputs, fit->scale[t][o]);
    mts_net_touch(fit->zip->nets[t], row->nodes[t]);
}

void mts_zip_put_common(const mts_zip_fit *fit, const mts_zip_row *row, uint32_t t, uint32_t o)
{
    mts_net_layer layer = mts_net_layer_of(fit->zip->nets[t], row->nodes[t]);
    mts_zip_put_reduced(fit, row, t, o);
    if (mts_zip_fit_based(fit)) {
        copy_base(fit, row, &layer, o);
    }
}

static void put_kept(void *context, uint64_t tasks, uint32_t o)
{
    const mts_zip_fit *fit = context;
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        if ((tasks >> t & 1) && !fit->zip->frozen[t]) {
            mts_zip_put_common(fit, fit->row, t, o);
        }
    }
}

mts_status mts_zip_put_kept(mts_zip_fit *fit, const mts_zip_row *row, uint64_t *taken)
{
    return row->reads ? MTS_STATUS_OK : mts_zip_keep(fit, row, taken, put_kept, fit);
}

/* The row's channels in common of all tasks; what was equal before in other channels stays so. */
static mts_status put_shared(mts_zip_fit *fit, const mts_zip_row *row)
{
    const mts_zip *zip = fit->zip;
    uint64_t *taken = mts_alloc_zero(zip->allocator, row->outputs, sizeof *taken);
    if (!taken) {
        return mts_fail_memory(zip->error);
    }
    for (uint32_t i = 0; i < row->shared; i++) {
        taken[row->channels[i]] = ~(uint64_t)0;
        for (uint32_t t = 0; t < zip->count; t++) {
            if (!zip->frozen[t]) {
                mts_zip_put_common(fit, row, t, row->channels[i]);
            }
        }
    }
    const mts_status status = mts_zip_put_kept(fit, row, taken);
    mts_alloc_free(zip->allocator, taken);
    return status;
}

static double unexplained_of(const mts_zip_fit *fit, const mts_zip_row *row)
{
    double lost = 0.0, all = 1e-30;
    for (uint32_t t = 0; t < fit->zip->count; t++) {
        uint32_t next = 0;
        for (uint32_t o = 0; o < fit->stats[t].gram.targets && !fit->zip->frozen[t]; o++) {
            const bool common = next < row->shared && row->channels[next] == o;
            next += common ? 1 : 0;
            lost += common ? fit->common_loss[t][o] : fit->own_loss[t][o];
            all += fit->stats[t].gram.yy[o];
        }
    }
    return lost / all;
}

mts_status mts_zip_merge(mts_zip *zip, mts_zip_row *row, uint32_t shared, const mts_zip_stats *stats,
                         double *unexplained)
{
    mts_zip_fit fit;
    mts_status status = mts_zip_fit_init(&fit, zip, row, stats);
    size_t longest = 1;
    for (uint32_t t = 0; t < zip->count; t++) {
        longest = stats[t].gram.inputs > longest ? stats[t].gram.inputs : longest;
    }
    double *work = status == MTS_STATUS_OK ? mts_alloc_zero(zip->allocator, longest, sizeof(*work)) : NULL;
    if (status == MTS_STATUS_OK && !work) {
        status = mts_fail(zip->error, MTS_STATUS_OUT_OF_MEMORY, "layer '%s': out of memory", row->name);
    }
    row->shared = 0;
    MTS_TRY(status, mts_zip_fit_own(&fit));
    if (status == MTS_STATUS_OK && row->share && shared > 0 && fit.u > 0) {
        status = mts_zip_fit_common(&fit);
        MTS_TRY(status, choose_together(&fit, row, shared));
    }
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        if (!zip->frozen[t]) {
            mts_zip_put_own(&fit, row, t, work);
        }
    }
    MTS_TRY(status, put_shared(&fit, row));
    *unexplained = status == MTS_STATUS_OK ? unexplained_of(&fit, row) : 0.0;
    mts_alloc_free(zip->allocator, work);
    mts_zip_fit_release(&fit);
    return status;
}

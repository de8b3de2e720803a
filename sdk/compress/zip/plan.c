/*
 * plan.c: see plan.h.
 */
#include "compress/zip/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* One part of a row at a price. */
typedef struct choice {
    const mts_zip *zip;
    const mts_zip_row *row;
    const mts_zip_curve *curve;
    const mts_zip_partition *partition;
    double price; /* points for a byte */
    double tasks; /* that change, of all: losses are means over them */
    double *sorted;
} choice;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return MTS_COMPARE(x, y);
}

static uint64_t filter_bytes(const mts_zip_row *row)
{
    return (uint64_t)row->inputs * row->taps * row->weight_bytes;
}

/* Different filters per channel among tasks, as they are. */
static double different(const mts_zip *zip, const mts_zip_row *row, uint64_t tasks)
{
    double sum = 0.0;
    for (uint32_t o = 0; o < row->outputs; o++) {
        sum += mts_zip_classes_count(zip, row, tasks, o);
    }
    return sum / row->outputs;
}

static double task_price(const choice *c, uint32_t t, uint32_t o)
{
    const double *price = c->partition->price[t];
    return price ? c->curve->weight[t] * price[o] / c->tasks : 0.0;
}

/* Channels in a part, the cheapest first. */
static void sort_channels(const choice *c, uint64_t tasks)
{
    for (uint32_t o = 0; o < c->row->outputs; o++) {
        c->sorted[o] = 0.0;
        for (uint32_t t = 0; t < c->zip->count; t++) {
            c->sorted[o] += (tasks >> t & 1) ? task_price(c, t, o) : 0.0;
        }
    }
    qsort(c->sorted, c->row->outputs, sizeof *c->sorted, compare);
}

/* The number of channels is a multiple of options.round, or all. */
static uint32_t rounded(const choice *c, uint32_t shared)
{
    const uint32_t round = c->zip->options->round;
    const uint32_t multiple = round > 1 && c->row->outputs >= round ? round : 1;
    return shared >= c->row->outputs ? c->row->outputs : shared / multiple * multiple;
}

bool mts_zip_plan_allows(const mts_zip *zip, mtsz_form form)
{
    return zip->options->forms == 0 || (zip->options->forms >> form & 1) != 0;
}

/* How many of the sorted channels are worth sharing; without the form FILTERS all or none. */
static uint32_t count_worth(const choice *c, double worth)
{
    const uint32_t outputs = c->row->outputs;
    uint32_t shared = 0;
    if (mts_zip_plan_allows(c->zip, MTSZ_FORM_FILTERS)) {
        while (shared < outputs && c->sorted[shared] < worth) {
            shared++;
        }
        return rounded(c, shared);
    }
    double sum = 0.0;
    for (uint32_t o = 0; o < outputs; o++) {
        sum += c->sorted[o];
    }
    return sum < worth * outputs ? outputs : 0;
}

/* Returns loss + price * bytes of a part that shares filters. */
static double by_filters(const choice *c, mts_zip_part *part, double *loss)
{
    const double bytes = (double)filter_bytes(c->row);
    const double each = different(c->zip, c->row, part->tasks);
    sort_channels(c, part->tasks);
    part->shared = count_worth(c, c->price * bytes * (each - 1.0));
    part->reduced = false;
    *loss = 0.0;
    for (uint32_t i = 0; i < part->shared; i++) {
        *loss += c->sorted[i];
    }
    return *loss + c->price * bytes * (part->shared + (c->row->outputs - part->shared) * each);
}

/* Ranks that are worth their bytes for a task, and what they give back. */
static double by_rank(const choice *c, uint32_t t, uint32_t *rank, double *back)
{
    const double *energy = c->partition->energy[t];
    const uint64_t length = (uint64_t)c->row->inputs * c->row->taps;
    const uint64_t most = c->row->outputs * length / 2 / (c->row->outputs + length);
    const double bytes = (double)(c->row->outputs + length) * sizeof(float);
    *rank = 0;
    *back = 0.0;
    while (*rank < most && *rank < c->row->outputs &&
           c->curve->weight[t] * energy[*rank] / c->tasks > c->price * bytes) {
        *back += c->curve->weight[t] * energy[(*rank)++] / c->tasks;
    }
    return *back - c->price * bytes * *rank;
}

static bool reducible(const choice *c, uint64_t tasks)
{
    bool any = c->row->reducible;
    for (uint32_t t = 0; t < c->zip->count; t++) {
        any = any && (!(tasks >> t & 1) || c->zip->frozen[t] || c->partition->energy[t]);
    }
    return any;
}

/* The same of a part whose tasks have one weight and differences. */
static double by_differences(const choice *c, const mts_zip_part *part, uint32_t *ranks, double *loss)
{
    double sum = c->price * (double)filter_bytes(c->row) * c->row->outputs;
    *loss = 0.0;
    for (uint32_t t = 0; t < c->zip->count; t++) {
        double back = 0.0;
        if (!(part->tasks >> t & 1) || c->zip->frozen[t]) {
            continue;
        }
        for (uint32_t o = 0; o < c->row->outputs; o++) {
            *loss += task_price(c, t, o);
        }
        sum -= by_rank(c, t, &ranks[t], &back);
        *loss -= back;
        sum += back;
    }
    *loss = *loss > 0.0 ? *loss : 0.0;
    return sum + *loss;
}

static double choose_part(const choice *c, mts_zip_part *part, uint32_t *ranks, double *loss)
{
    const double filters = by_filters(c, part, loss);
    if (!reducible(c, part->tasks)) {
        return filters;
    }
    double other_loss = 0.0;
    uint32_t other[MTS_ZIP_TASKS_MAX] = {0};
    const double differences = by_differences(c, part, other, &other_loss);
    if (!(differences < filters)) {
        return filters;
    }
    bool any = false;
    for (uint32_t t = 0; t < c->zip->count; t++) {
        any = any || other[t];
        ranks[t] = other[t] ? other[t] : ranks[t];
    }
    part->shared = c->row->outputs;
    part->reduced = any;
    *loss = other_loss;
    return differences;
}

/* Bytes of tasks that are in no part. */
static double alone_bytes(const choice *c)
{
    uint64_t rest = c->zip->count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << c->zip->count) - 1;
    for (uint32_t p = 0; p < c->partition->part_count; p++) {
        rest &= ~c->partition->parts[p];
    }
    return rest ? (double)filter_bytes(c->row) * c->row->outputs * different(c->zip, c->row, rest) : 0.0;
}

static double choose_row(choice *c, mts_zip_row_plan *plan)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < c->curve->partition_count; i++) {
        mts_zip_row_plan tried = {.part_count = c->curve->partitions[i].part_count};
        c->partition = &c->curve->partitions[i];
        double sum = c->price * alone_bytes(c);
        for (uint32_t p = 0; p < tried.part_count; p++) {
            double loss = 0.0;
            tried.parts[p].tasks = c->partition->parts[p];
            sum += choose_part(c, &tried.parts[p], tried.ranks, &loss);
            tried.loss += loss;
        }
        if (sum < best) {
            best = sum;
            *plan = tried;
        }
    }
    plan->bytes = mts_zip_plan_bytes(c->zip, c->row, plan);
    return plan->loss;
}

uint64_t mts_zip_plan_bytes(const mts_zip *zip, const mts_zip_row *row, const mts_zip_row_plan *plan)
{
    const uint64_t bytes = filter_bytes(row);
    uint64_t rest = zip->count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << zip->count) - 1;
    double sum = 0.0;
    for (uint32_t p = 0; p < plan->part_count; p++) {
        const mts_zip_part *part = &plan->parts[p];
        rest &= part->shared ? ~part->tasks : ~(uint64_t)0;
        sum += part->shared ? (double)bytes * (part->shared + (row->outputs - part->shared) *
                                                                  different(zip, row, part->tasks))
                            : 0.0;
        for (uint32_t t = 0; t < zip->count && part->reduced; t++) {
            sum += (part->tasks >> t & 1)
                       ? (double)plan->ranks[t] * (double)(bytes + row->outputs * sizeof(float))
                       : 0.0;
        }
    }
    return (uint64_t)(sum + (rest ? (double)bytes * row->outputs * different(zip, row, rest) : 0.0) + 0.5);
}

bool mts_zip_plan(const mts_zip *zip, const mts_zip_curve *curves, double price, mts_zip_row_plan *plans,
                  uint64_t *bytes, double *loss)
{
    uint32_t most = 1, tasks = 0;
    for (uint32_t r = 0; r < zip->row_count; r++) {
        most = zip->rows[r].outputs > most ? zip->rows[r].outputs : most;
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        tasks += zip->frozen[t] ? 0 : 1;
    }
    double *sorted = mts_alloc_zero(zip->allocator, most, sizeof *sorted);
    *bytes = 0;
    *loss = 0.0;
    for (uint32_t r = 0; r < zip->row_count && sorted; r++) {
        choice c = {.zip = zip,
                    .row = &zip->rows[r],
                    .curve = &curves[r],
                    .price = price,
                    .tasks = tasks ? tasks : 1,
                    .sorted = sorted};
        plans[r] = (mts_zip_row_plan){.bytes = curves[r].bytes};
        *loss += curves[r].partition_count ? choose_row(&c, &plans[r]) : 0.0;
        *bytes += plans[r].bytes;
    }
    mts_alloc_free(zip->allocator, sorted);
    return sorted;
}

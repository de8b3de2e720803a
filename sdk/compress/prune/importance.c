/*
 * importance.c: see importance.h. Weights are looked at directly; activations are counted
 * on the network as it runs over the images, twice for HYBRID: its threshold is a part of
 * a layer's mean.
 */
#include "compress/prune/importance.h"

#include <math.h>
#include <string.h>

#include "compress/net/net.h"

#define TIE 1e-6 /* what the mean counts beside a share of zeros: it decides between equal ones */
#define IMAGES_MOST 2048u
#define BATCH 64u
#define RUN_BYTES (256u << 20)

/* What is known of one value's channels. */
typedef struct observed {
    uint32_t value, channels;
    double *sum, *active; /* [channels]: of |x|; of numbers over the threshold */
    double count, threshold;
} observed;

typedef struct finder {
    const mts_graph *graph;
    const mts_channels *channels;
    const bool *removable;
    const mts_prune_images *images;
    mts_arena *arena;
    uint32_t image_count, observed_count;
    observed *observed;
    double large; /* theta 1 of HYBRID: of the layer's mean activation */
    double **importance;
    double *votes; /* [group]: layers that spoke */
} finder;

/* Adds a layer's opinion, 1 on average; a layer without any difference says 1 of all. */
static void vote(finder *f, uint32_t group, const double *scores)
{
    const uint32_t count = f->channels->groups[group].channels;
    double mean = 0;
    for (uint32_t c = 0; c < count; c++) {
        mean += scores[c] / count;
    }
    for (uint32_t c = 0; c < count; c++) {
        f->importance[group][c] += mean > 0 ? scores[c] / mean : 1.0;
    }
    f->votes[group] += 1.0;
}

static void finish_votes(finder *f)
{
    for (uint32_t g = 0; g < f->channels->group_count; g++) {
        for (uint32_t c = 0; f->importance[g] && c < f->channels->groups[g].channels; c++) {
            f->importance[g][c] = f->votes[g] > 0 ? f->importance[g][c] / f->votes[g] : 1.0;
        }
    }
}

static uint32_t removable_group(const finder *f, uint32_t value)
{
    const uint32_t g = f->channels->group_of[value];
    return g != MTS_NONE && f->removable[g] ? g : MTS_NONE;
}

/* ---- weights ---- */

/* Multiplies by |scale|, of which there may be a row for each image. */
static bool apply_scale(finder *f, const mts_node *node, double *scores, uint32_t count)
{
    if (node->input_count < 3 || node->inputs[2] == MTS_NONE) {
        return true;
    }
    const mts_value *scale = &f->graph->values[node->inputs[2]];
    const size_t all = mts_shape_count(&scale->shape), rows = all / count;
    float *data = mts_arena_zero(f->arena, all, sizeof(*data));
    if (!data) {
        return false;
    }
    mts_value_read_f32(scale, data);
    for (uint32_t c = 0; c < count; c++) {
        double size = 0;
        for (size_t r = 0; r < rows; r++) {
            size += fabs((double)data[r * count + c]) / (double)rows;
        }
        scores[c] *= size;
    }
    return true;
}

static mts_status weigh_filters(finder *f, const mts_node *node, mts_error *error)
{
    const uint32_t g = removable_group(f, node->output);
    if (node->op != MTS_OP_CONV || node->attrs.conv.group != 1 || g == MTS_NONE) {
        return MTS_STATUS_OK;
    }
    const mts_value *weight = &f->graph->values[node->inputs[1]];
    const uint32_t count = f->channels->groups[g].channels;
    const size_t all = mts_shape_count(&weight->shape), size = all / count;
    mts_arena own; /* weights may be large */
    mts_arena_init(&own, f->arena->allocator);
    float *data = mts_arena_zero(&own, all, sizeof(*data));
    double *scores = mts_arena_zero(&own, count, sizeof(*scores));
    bool done = data && scores;
    if (done) {
        mts_value_read_f32(weight, data);
        for (uint32_t c = 0; c < count; c++) {
            for (size_t i = 0; i < size; i++) {
                scores[c] += fabs((double)data[c * size + i]);
            }
        }
        done = apply_scale(f, node, scores, count);
    }
    if (done) {
        vote(f, g, scores);
    }
    mts_arena_release(&own);
    return done ? MTS_STATUS_OK : mts_fail_memory(error);
}

/* ---- activations ---- */

static uint32_t activation_of(const mts_node *node)
{
    switch (node->op) {
    case MTS_OP_CONV:
        return node->attrs.conv.act.fn;
    case MTS_OP_UNARY:
    case MTS_OP_SCALE:
        return node->attrs.unary.act.fn;
    case MTS_OP_BINARY:
        return node->attrs.binary.act.fn;
    default:
        return MTS_FN_NONE;
    }
}

static mts_status observe(finder *f, uint32_t value, mts_error *error)
{
    const uint32_t count = f->channels->groups[f->channels->group_of[value]].channels;
    observed *o = &f->observed[f->observed_count++];
    *o = (observed){.value = value, .channels = count};
    o->sum = mts_arena_zero(f->arena, count, sizeof(*o->sum));
    o->active = mts_arena_zero(f->arena, count, sizeof(*o->active));
    return o->sum && o->active ? MTS_STATUS_OK : mts_fail_memory(error);
}

/* What leaves an activation function; in groups without any, what leaves a
   convolution. */
static mts_status find_observed(finder *f, mts_error *error)
{
    const mts_graph *graph = f->graph;
    bool *active = mts_arena_zero(f->arena, f->channels->group_count, sizeof(*active));
    f->observed = mts_arena_zero(f->arena, graph->node_count, sizeof(*f->observed));
    mts_status status = active && f->observed ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t n = 0; n < graph->node_count && status == MTS_STATUS_OK; n++) {
        const uint32_t g = removable_group(f, graph->nodes[n].output);
        if (g != MTS_NONE && activation_of(&graph->nodes[n]) != MTS_FN_NONE) {
            active[g] = true;
            status = observe(f, graph->nodes[n].output, error);
        }
    }
    for (uint32_t n = 0; n < graph->node_count && status == MTS_STATUS_OK; n++) {
        const uint32_t g = removable_group(f, graph->nodes[n].output);
        if (g != MTS_NONE && graph->nodes[n].op == MTS_OP_CONV && !active[g]) {
            status = observe(f, graph->nodes[n].output, error);
        }
    }
    return status;
}

/* Numbers of a channel lie `inner` in a row, channels one after another: see the layout
   of net.h. */
static bool count_value(observed *o, const mts_shape *shape, const float *data, uint32_t images)
{
    const size_t all = mts_shape_count(shape) * images;
    const size_t inner =
        shape->rank == 4 ? 1 : mts_shape_count(shape) / ((size_t)shape->dims[0] * o->channels);
    const size_t outer = all / (o->channels * inner);
    const float threshold = (float)o->threshold;
    double total = 0;
    for (size_t p = 0; p < outer; p++) {
        for (uint32_t c = 0; c < o->channels; c++) {
            const float *at = data + (p * o->channels + c) * inner;
            double sum = 0;
            uint32_t active = 0;
            for (size_t i = 0; i < inner; i++) {
                const float size = fabsf(at[i]);
                sum += (double)size;
                active += size > threshold;
            }
            o->sum[c] += sum;
            o->active[c] += active;
            total += sum;
        }
    }
    o->count += (double)(outer * inner);
    return isfinite(total);
}

static mts_status count_batch(finder *f, mts_net_run *run, uint32_t first, uint32_t images, mts_error *error)
{
    const mts_prune_images *from = f->images;
    mts_status status =
        mts_data_feed(from->data, from->task, run, from->indices + first, images, NULL, error);
    MTS_TRY(status, mts_net_run_forward(run, images, 0, f->graph->node_count, error));
    for (uint32_t i = 0; i < f->observed_count && status == MTS_STATUS_OK; i++) {
        observed *o = &f->observed[i];
        const mts_value *value = &f->graph->values[o->value];
        if (!count_value(o, &value->shape, mts_net_run_value(run, o->value), images)) {
            status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "activations of '%s' are no numbers",
                              value->name);
        }
    }
    return status;
}

static mts_status count_images(finder *f, mts_net_run *run, uint32_t batch, double from, double to,
                               mts_error *error)
{
    const mts_prune_images *images = f->images;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < f->observed_count; i++) {
        observed *o = &f->observed[i];
        memset(o->sum, 0, o->channels * sizeof(*o->sum));
        memset(o->active, 0, o->channels * sizeof(*o->active));
        o->count = 0;
    }
    for (uint32_t first = 0; first < f->image_count && status == MTS_STATUS_OK; first += batch) {
        const uint32_t count = f->image_count - first < batch ? f->image_count - first : batch;
        if (images->go_on) {
            status = images->go_on(images->context, from + (to - from) * first / f->image_count,
                                   "measuring channels", error);
        }
        MTS_TRY(status, count_batch(f, run, first, count, error));
    }
    return status;
}

static double mean_of(const observed *o)
{
    double sum = 0;
    for (uint32_t c = 0; c < o->channels; c++) {
        sum += o->sum[c];
    }
    return o->count > 0 ? sum / (o->count * o->channels) : 0;
}

static mts_status run_images(finder *f, bool twice, mts_error *error)
{
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    mts_status status = mts_net_create(f->graph, f->arena->allocator, &net, error);
    uint32_t batch = f->image_count < BATCH ? f->image_count : BATCH;
    while (status == MTS_STATUS_OK && batch > 1 &&
           mts_net_run_bytes(net, batch, MTS_NET_INFERENCE) > RUN_BYTES) {
        batch /= 2;
    }
    MTS_TRY(status, mts_net_run_create(net, batch, MTS_NET_INFERENCE, &run, error));
    MTS_TRY(status, count_images(f, run, batch, 0, twice ? 0.5 : 1, error));
    if (status == MTS_STATUS_OK && twice) {
        for (uint32_t i = 0; i < f->observed_count; i++) {
            f->observed[i].threshold = f->large * mean_of(&f->observed[i]);
        }
        status = count_images(f, run, batch, 0.5, 1, error);
    }
    mts_net_run_destroy(&run);
    mts_net_destroy(&net);
    return status;
}

/*
 * sensAI removes channels most of whose activations are small (over a limit), except
 * those whose mean is large (over theta 2). As both limits are let go together, a channel
 * goes when the larger of its mean and of its share of activations that are not small,
 * each in units of the layer's average, falls below them: that is its rank.
 */
static double score_of(const observed *o, mtsz_criterion criterion, uint32_t c, double mean, double share)
{
    const double own_mean = mean > 0 ? o->sum[c] / o->count / mean : 0;
    const double own_share = o->count > 0 ? o->active[c] / o->count : 0;
    switch (criterion) {
    case MTSZ_CRITERION_APOZ:
        return own_share + TIE * own_mean;
    case MTSZ_CRITERION_AVG:
        return own_mean;
    default:
        return fmax(own_mean, share > 0 ? own_share / share : 0);
    }
}

static mts_status weigh_activations(finder *f, mtsz_criterion criterion, mts_error *error)
{
    f->image_count = f->images->count < IMAGES_MOST ? f->images->count : IMAGES_MOST;
    mts_status status = find_observed(f, error);
    MTS_TRY(status, run_images(f, criterion == MTSZ_CRITERION_HYBRID, error));
    for (uint32_t i = 0; i < f->observed_count && status == MTS_STATUS_OK; i++) {
        const observed *o = &f->observed[i];
        const double mean = mean_of(o);
        double *scores = mts_arena_zero(f->arena, o->channels, sizeof(*scores));
        double share = 0;
        if (!scores) {
            return mts_fail_memory(error);
        }
        for (uint32_t c = 0; c < o->channels; c++) {
            share += o->count > 0 ? o->active[c] / o->count / o->channels : 0;
        }
        for (uint32_t c = 0; c < o->channels; c++) {
            scores[c] = score_of(o, criterion, c, mean, share);
        }
        vote(f, f->channels->group_of[o->value], scores);
    }
    return status;
}

mts_status mts_importance_find(const mts_graph *graph, const mts_channels *channels, const bool *removable,
                               mtsz_criterion criterion, double large, const mts_prune_images *images,
                               mts_arena *arena, double ***importance, mts_error *error)
{
    finder f = {.graph = graph,
                .channels = channels,
                .removable = removable,
                .images = images,
                .arena = arena,
                .large = large};
    *importance = NULL;
    f.importance = mts_arena_zero(arena, channels->group_count, sizeof(*f.importance));
    f.votes = mts_arena_zero(arena, channels->group_count, sizeof(*f.votes));
    if (!f.importance || !f.votes) {
        return mts_fail_memory(error);
    }
    for (uint32_t g = 0; g < channels->group_count; g++) {
        f.importance[g] =
            removable[g] ? mts_arena_zero(arena, channels->groups[g].channels, sizeof(**f.importance)) : NULL;
        if (removable[g] && !f.importance[g]) {
            return mts_fail_memory(error);
        }
    }
    mts_status status = MTS_STATUS_OK;
    if (criterion != MTSZ_CRITERION_L1) {
        status = weigh_activations(&f, criterion, error);
    }
    for (uint32_t n = 0; n < graph->node_count && criterion == MTSZ_CRITERION_L1 && status == MTS_STATUS_OK;
         n++) {
        status = weigh_filters(&f, &graph->nodes[n], error);
    }
    if (status == MTS_STATUS_OK) {
        finish_votes(&f);
        *importance = f.importance;
    }
    return status;
}

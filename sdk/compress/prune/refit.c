/*
 * refit.c: see refit.h. Sums over the images that a layer needs, and the equations;
 * running both networks is twins.c's.
 */
#include "compress/prune/refit.h"

#include <math.h>
#include <string.h>

#include "compiler/passes/clone.h"
#include "compress/prune/twins.h"
#include "compress/solve/gram.h"
#include "compress/solve/linear.h"

#define ROWS_PER_UNKNOWN 60u
#define IMAGES_LEAST 64u /* however many pixels a layer has */
#define RIDGE 1e-3
#define SCALE_LEAST 1e-6f /* of a layer's largest scale: filters under it are as good as absent */

/* Sums of an output's own values z and of its targets y. */
typedef struct pairs {
    double y, z, zz, zy;
} pairs;

typedef struct refitter {
    mts_twins twins;
    const mts_channels *channels;
    const mts_thin_kept *kept;
    const mts_prune_images *images;
    const mts_allocator *allocator;
    float *linear[2]; /* what a convolution computes, of the original and of the thin network */
    float *targets;
    bool *fitted; /* [node] */
} refitter;

/* A layer that is being fitted. */
typedef struct fit {
    uint32_t node, images, step;
    const bool *fixed; /* [output] or NULL */
    bool filters;      /* some output's filter is fitted */
    mts_net_layer layer;
    mts_gram gram;
    pairs *pairs; /* [output] */
    double rows;
    double *start; /* [output][unknown]: filters as they are */
} fit;

static const mts_thin_kept *kept_of(const refitter *r, uint32_t value)
{
    return &r->kept[r->channels->group_of[value]];
}

static bool is_fitted(const refitter *r, const mts_node *node)
{
    return node->op == MTS_OP_CONV && r->channels->group_of[node->inputs[0]] != MTS_NONE &&
           !kept_of(r, node->inputs[0])->all &&
           (node->attrs.conv.group == 1 || mts_channels_depthwise(r->twins.graphs[MTS_TWIN_ORIGINAL], node));
}

static size_t floats_of(const refitter *r, uint32_t side, uint32_t value)
{
    return mts_shape_count(&r->twins.graphs[side]->values[value].shape);
}

static mts_status make_buffers(refitter *r, mts_arena *arena, mts_error *error)
{
    size_t most = 1;
    for (uint32_t n = 0; n < r->twins.graphs[MTS_TWIN_ORIGINAL]->node_count; n++) {
        const mts_node *node = &r->twins.graphs[MTS_TWIN_ORIGINAL]->nodes[n];
        if (is_fitted(r, node) && floats_of(r, MTS_TWIN_ORIGINAL, node->output) > most) {
            most = floats_of(r, MTS_TWIN_ORIGINAL, node->output);
        }
    }
    for (uint32_t side = 0; side < 2; side++) {
        r->linear[side] = mts_arena_zero(arena, most * r->twins.batch, sizeof(float));
    }
    r->targets = mts_arena_zero(arena, most * r->twins.batch, sizeof(float));
    return r->linear[MTS_TWIN_ORIGINAL] && r->linear[MTS_TWIN_THIN] && r->targets ? MTS_STATUS_OK
                                                                                  : mts_fail_memory(error);
}

/* ---- sums ---- */

/*
 * What the thin convolution should compute: the original's result and, where both are
 * added to a residual, what the thin one's lacks.
 */
static mts_status make_targets(refitter *r, uint32_t n, uint32_t images, mts_error *error)
{
    const mts_node *node = &r->twins.graphs[MTS_TWIN_ORIGINAL]->nodes[n];
    const mts_thin_kept *kept = kept_of(r, node->output);
    const uint32_t all = r->channels->groups[r->channels->group_of[node->output]].channels;
    const size_t pixels = images * (floats_of(r, MTS_TWIN_ORIGINAL, node->output) / all);
    const bool residual = node->input_count > 4 && node->inputs[4] != MTS_NONE;
    mts_status status = mts_net_run_linear(r->twins.runs[MTS_TWIN_ORIGINAL], images, n, false,
                                           r->linear[MTS_TWIN_ORIGINAL], error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const float *was = residual ? mts_net_run_value(r->twins.runs[MTS_TWIN_ORIGINAL], node->inputs[4]) : NULL;
    const float *is = residual ? mts_net_run_value(r->twins.runs[MTS_TWIN_THIN], node->inputs[4]) : NULL;
    for (size_t p = 0; p < pixels; p++) {
        const float *from = r->linear[MTS_TWIN_ORIGINAL] + p * all;
        float *to = r->targets + p * kept->count;
        for (uint32_t k = 0; k < kept->count; k++) {
            const uint32_t c = kept->channels[k];
            to[k] = from[c] + (residual ? was[p * all + c] - is[p * kept->count + k] : 0.0f);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status add_pairs(refitter *r, fit *f, uint32_t images, mts_error *error)
{
    const uint32_t count = f->layer.outputs;
    const size_t pixels =
        images * (floats_of(r, MTS_TWIN_THIN, r->twins.graphs[MTS_TWIN_THIN]->nodes[f->node].output) / count);
    mts_status status = mts_net_run_linear(r->twins.runs[MTS_TWIN_THIN], images, f->node, false,
                                           r->linear[MTS_TWIN_THIN], error);
    for (size_t p = 0; p < pixels && status == MTS_STATUS_OK; p++) {
        const float *y = r->targets + p * count, *z = r->linear[MTS_TWIN_THIN] + p * count;
        for (uint32_t o = 0; o < count; o++) {
            pairs *sums = &f->pairs[o];
            sums->y += (double)y[o];
            sums->z += (double)z[o];
            sums->zz += (double)z[o] * (double)z[o];
            sums->zy += (double)z[o] * (double)y[o];
        }
    }
    f->rows += (double)pixels;
    return status;
}

static mts_status add_chunk(refitter *r, fit *f, uint32_t chunk, mts_error *error)
{
    const mts_graph *thin = r->twins.graphs[MTS_TWIN_THIN];
    const mts_node *node = &thin->nodes[f->node];
    const uint32_t images = mts_twins_chunk_images(&r->twins, chunk);
    mts_status status = mts_twins_advance(&r->twins, chunk, f->node, error);
    MTS_TRY(status, make_targets(r, f->node, images, error));
    if (status == MTS_STATUS_OK && f->pairs) {
        status = add_pairs(r, f, images, error);
    }
    if (status == MTS_STATUS_OK && f->filters) {
        mts_gram_add(&f->gram, mts_net_run_value(r->twins.runs[MTS_TWIN_THIN], node->inputs[0]),
                     &thin->values[node->inputs[0]].shape, &node->attrs.conv, r->targets,
                     &thin->values[node->output].shape, images, f->step);
    }
    return status;
}

/* The chunk that the runs hold comes first: its values need not be computed again from
   the start. */
static mts_status add_chunks(refitter *r, fit *f, mts_error *error)
{
    const uint32_t chunks = (f->images + r->twins.batch - 1) / r->twins.batch;
    const uint32_t first = r->twins.held < chunks ? r->twins.held : 0;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < chunks && status == MTS_STATUS_OK; i++) {
        if (r->images->go_on) {
            const double nodes = (double)f->node + (double)i / chunks;
            status = r->images->go_on(r->images->context, nodes / r->twins.graphs[MTS_TWIN_THIN]->node_count,
                                      "fitting weights", error);
        }
        MTS_TRY(status, add_chunk(r, f, (first + i) % chunks, error));
    }
    return status;
}

/* ---- solving ---- */

static uint32_t unknowns_of(const mts_net_layer *layer)
{
    return layer->rows * layer->columns * layer->inputs;
}

/* The filters of the layer that meet the targets; y = scale * (w x) + bias, fitted as one
   and divided. */
static mts_status solve_filters(fit *f, mts_error *error)
{
    const uint32_t count = f->layer.outputs, n = unknowns_of(&f->layer);
    float most = 0;
    for (uint32_t o = 0; o < count; o++) {
        most = fmaxf(most, fabsf(f->layer.scale[o]));
        for (uint32_t i = 0; i < n; i++) {
            f->start[(size_t)o * n + i] = (double)(f->layer.scale[o] * f->layer.weight[(size_t)o * n + i]);
        }
    }
    mts_status status = mts_gram_finish(&f->gram, error);
    MTS_TRY(status, mts_solve_positive(f->gram.xx, n, f->gram.xy, count, f->start, RIDGE, NULL, error));
    for (uint32_t o = 0; o < count && status == MTS_STATUS_OK; o++) {
        const double *found = f->gram.xy + (size_t)o * n;
        const float scale = f->layer.scale[o];
        double bias = f->gram.y[o];
        if (f->fixed && f->fixed[o]) {
            continue;
        }
        for (uint32_t i = 0; i < n && fabsf(scale) > SCALE_LEAST * most; i++) {
            f->layer.weight[(size_t)o * n + i] = (float)(found[i] / (double)scale);
            bias -= found[i] * f->gram.x[i];
        }
        f->layer.bias[o] = (float)bias;
    }
    return status;
}

/* A factor and a bias for outputs whose filters stay, pulled towards 1. */
static void solve_pairs(fit *f)
{
    for (uint32_t o = 0; o < f->layer.outputs; o++) {
        const pairs *sums = &f->pairs[o];
        const double y = sums->y / f->rows, z = sums->z / f->rows;
        const double zz = sums->zz / f->rows - z * z, zy = sums->zy / f->rows - z * y;
        const double factor = zz > 0 ? (zy + RIDGE * zz) / (zz + RIDGE * zz) : 1.0;
        if (f->filters && !(f->fixed && f->fixed[o])) {
            continue;
        }
        const double bias = (double)f->layer.bias[o];
        f->layer.bias[o] = (float)(y - factor * (z - bias));
        f->layer.scale[o] = (float)(factor * (double)f->layer.scale[o]);
    }
}

/* ---- layers ---- */

static void choose_rows(const refitter *r, fit *f)
{
    const mts_shape *shape =
        &r->twins.graphs[MTS_TWIN_THIN]->values[r->twins.graphs[MTS_TWIN_THIN]->nodes[f->node].output].shape;
    const double pixels = (double)(mts_shape_count(shape) / f->layer.outputs);
    const double rows = ROWS_PER_UNKNOWN * ((double)unknowns_of(&f->layer) + 1.0);
    double images = ceil(rows / fmax(pixels, 1.0));
    images = fmax(images, IMAGES_LEAST);
    f->images = images < r->images->count ? (uint32_t)images : r->images->count;
    f->step = (uint32_t)fmax(1.0, floor(pixels * f->images / rows));
}

static bool make_fit(refitter *r, fit *f, mts_arena *arena)
{
    const mts_node *node = &r->twins.graphs[MTS_TWIN_THIN]->nodes[f->node];
    f->layer = mts_net_layer_of(r->twins.nets[MTS_TWIN_THIN], f->node);
    bool some_fixed = false;
    f->filters = node->attrs.conv.group == 1 && unknowns_of(&f->layer) <= MTS_REFIT_MOST;
    if (mts_channels_depthwise(r->twins.graphs[MTS_TWIN_ORIGINAL],
                               &r->twins.graphs[MTS_TWIN_ORIGINAL]->nodes[f->node])) {
        f->filters = false; /* a depthwise one of one channel has one group too */
    }
    if (f->filters && f->fixed) {
        f->filters = false;
        for (uint32_t o = 0; o < f->layer.outputs; o++) {
            f->filters = f->filters || !f->fixed[o];
            some_fixed = some_fixed || f->fixed[o];
        }
    }
    choose_rows(r, f);
    if (!f->filters || some_fixed) {
        f->pairs = mts_arena_zero(arena, f->layer.outputs, sizeof(*f->pairs));
    }
    if (f->filters) {
        f->start =
            mts_arena_zero(arena, (size_t)f->layer.outputs * unknowns_of(&f->layer), sizeof(*f->start));
    }
    return (f->pairs || (f->filters && !some_fixed)) && (f->start || !f->filters) &&
           (!f->filters ||
            mts_gram_init(&f->gram, unknowns_of(&f->layer), f->layer.outputs, 1, r->allocator));
}

static mts_status fit_node(refitter *r, uint32_t n, const bool *fixed, mts_error *error)
{
    fit f = {.node = n, .fixed = fixed};
    mts_arena arena;
    mts_arena_init(&arena, r->allocator);
    mts_status status = make_fit(r, &f, &arena) ? add_chunks(r, &f, error) : mts_fail_memory(error);
    if (status == MTS_STATUS_OK && f.filters) {
        status = solve_filters(&f, error);
    }
    if (status == MTS_STATUS_OK && f.pairs) {
        solve_pairs(&f);
    }
    if (status == MTS_STATUS_OK) {
        mts_net_touch(r->twins.nets[MTS_TWIN_THIN], n);
        r->fitted[n] = true;
    } else if (status != MTS_STATUS_CANCELLED) {
        status = mts_fail_prefix(
            error, status, "layer '%s'",
            mts_node_title(r->twins.graphs[MTS_TWIN_THIN], &r->twins.graphs[MTS_TWIN_THIN]->nodes[n]));
    }
    mts_gram_release(&f.gram);
    mts_arena_release(&arena);
    return status;
}

static mts_status fit_nodes(refitter *r, const bool *const *fixed, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t n = 0; n < r->twins.graphs[MTS_TWIN_THIN]->node_count && status == MTS_STATUS_OK; n++) {
        if (is_fitted(r, &r->twins.graphs[MTS_TWIN_ORIGINAL]->nodes[n])) {
            status = fit_node(r, n, fixed ? fixed[n] : NULL, error);
        }
    }
    return status;
}

static mts_status store(const refitter *r, mts_arena *arena, mts_graph **out, mts_error *error)
{
    mts_graph *graph = mts_graph_clone(r->twins.graphs[MTS_TWIN_THIN], arena);
    if (!graph || !mts_net_store(r->twins.nets[MTS_TWIN_THIN], r->fitted, graph)) {
        return mts_fail_memory(error);
    }
    *out = graph;
    return MTS_STATUS_OK;
}

mts_status mts_refit(const mts_graph *original, const mts_channels *channels, const mts_thin_kept *kept,
                     const mts_graph *thin, const bool *const *fixed, const mts_prune_images *images,
                     mts_arena *arena, mts_graph **out, mts_error *error)
{
    refitter r = {.channels = channels, .kept = kept, .images = images, .allocator = arena->allocator};
    mts_arena own;
    mts_arena_init(&own, arena->allocator);
    *out = NULL;
    r.fitted = mts_arena_zero(&own, thin->node_count, sizeof(*r.fitted));
    mts_status status = mts_twins_open(original, thin, images, arena->allocator, &r.twins, error);
    if (status == MTS_STATUS_OK && !r.fitted) {
        status = mts_fail_memory(error);
    }
    MTS_TRY(status, make_buffers(&r, &own, error));
    MTS_TRY(status, fit_nodes(&r, fixed, error));
    MTS_TRY(status, store(&r, arena, out, error));
    mts_twins_release(&r.twins);
    mts_arena_release(&own);
    return status;
}

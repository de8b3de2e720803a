/*
 * The steps of pruning on small hand-made networks: what channels matter, which go, and that fitting readers
 * brings back what can be brought back.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "compress/prune/choose.h"
#include "compress/prune/refit.h"
#include "compress/prune/twins.h"
#include "support/eval.h"
#include "support/nets.h"

#define SIDE 8
#define IMAGES 64u
#define IMAGES_MOST 600u /* more than run at once */

static mts_arena arena;
static mts_error error;

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

static void must(mts_status code)
{
    if (code != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static float noise(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return (float)(*random >> 8) / 8388608.0f - 1.0f;
}

/* ---- building ---- */

static uint32_t constant(mts_graph *graph, uint32_t rank, const int64_t *dims, const float *data)
{
    const mts_shape shape = mts_shape_make(rank, dims);
    const uint32_t value = mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, data);
    assert_int_not_equal(value, MTS_NONE);
    return value;
}

/* Weights of which filter o + count / 2 is twice filter o, where they are `doubled`. */
static float *weights(uint32_t count, uint32_t size, bool doubled, uint32_t seed)
{
    float *data = mts_arena_zero(&arena, (size_t)count * size, sizeof *data);
    assert_non_null(data);
    for (uint32_t i = 0; i < count * size; i++) {
        const bool copy = doubled && i >= count / 2 * size;
        data[i] = copy ? 2.0f * data[i - count / 2 * size] : noise(&seed);
    }
    return data;
}

typedef struct layer {
    uint32_t outputs, kernel, group, residual; /* residual: a value, or MTS_NONE */
    bool doubled, relu, scaled;
} layer;

static uint32_t conv(mts_graph *graph, uint32_t x, layer l, uint32_t seed)
{
    const uint32_t inputs = (uint32_t)graph->values[x].shape.dims[1] / l.group;
    const uint32_t size = inputs * l.kernel * l.kernel;
    float *bias = weights(l.outputs, 1, l.doubled, seed + 1), *scale = weights(l.outputs, 1, false, seed + 2);
    for (uint32_t o = 0; o < l.outputs; o++) {
        scale[o] = 1.5f + 0.5f * scale[l.doubled ? o % (l.outputs / 2) : o];
    }
    /* filters of a depthwise convolution are equal for both halves: it hands the factor on */
    float *weight = weights(l.outputs, size, l.doubled && l.group == 1, seed);
    for (uint32_t i = l.outputs / 2 * size; l.doubled && l.group > 1 && i < l.outputs * size; i++) {
        weight[i] = weight[i - l.outputs / 2 * size];
    }
    const int64_t dims[] = {l.outputs, inputs, l.kernel, l.kernel}, vector[] = {l.outputs};
    const uint32_t operands[] = {x, constant(graph, 4, dims, weight),
                                 l.scaled ? constant(graph, 1, vector, scale) : MTS_NONE,
                                 constant(graph, 1, vector, bias), l.residual};
    const int32_t pad = (int32_t)(l.kernel / 2);
    mts_attrs attrs = {.conv = {.kernel = {l.kernel, l.kernel},
                                .stride = {1, 1},
                                .dilation = {1, 1},
                                .pad = {pad, pad, pad, pad},
                                .group = l.group,
                                .act.fn = l.relu ? MTS_FN_RELU : MTS_FN_NONE}};
    uint32_t value = MTS_NONE;
    must(mts_graph_add_node(graph, MTS_OP_CONV, "conv", operands, l.residual == MTS_NONE ? 4 : 5, &attrs,
                            &value, &error));
    return value;
}

static mts_graph *begin(uint32_t *x, uint32_t channels, int64_t side)
{
    mts_graph *graph = mts_graph_create(&arena, "test");
    const mts_shape shape = mts_shape_make(4, (int64_t[]){1, channels, side, side});
    assert_non_null(graph);
    *x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    return graph;
}

static void end(mts_graph *graph, uint32_t value)
{
    must(mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, &error));
    must(mts_graph_verify(graph, &error));
}

static mts_graph *build_chain(void)
{
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 3, SIDE);
    x = conv(graph, x, (layer){8, 3, 1, MTS_NONE, true, true, true}, 10);
    x = conv(graph, x, (layer){6, 3, 1, MTS_NONE, false, true, true}, 20);
    end(graph, conv(graph, x, (layer){4, 1, 1, MTS_NONE, false, false, false}, 30));
    return graph;
}

/* The stream of a residual block is doubled, its inside is not. */
static mts_graph *build_residual(void)
{
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 3, SIDE);
    x = conv(graph, x, (layer){8, 3, 1, MTS_NONE, true, true, false}, 10);
    const uint32_t inside = conv(graph, x, (layer){5, 3, 1, MTS_NONE, false, true, true}, 20);
    x = conv(graph, inside, (layer){8, 3, 1, x, true, true, false}, 30);
    end(graph, conv(graph, x, (layer){4, 1, 1, MTS_NONE, false, false, false}, 40));
    return graph;
}

static mts_graph *build_depthwise(void)
{
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 3, SIDE);
    x = conv(graph, x, (layer){8, 3, 1, MTS_NONE, true, true, false}, 10);
    x = conv(graph, x, (layer){8, 3, 8, MTS_NONE, true, true, false}, 20);
    end(graph, conv(graph, x, (layer){4, 1, 1, MTS_NONE, false, false, false}, 30));
    return graph;
}

/* ---- images ---- */

static int tensor(void *context, uint32_t index, const char *task, uint32_t input, float *out, size_t count)
{
    const float *values = context; /* four pixels, or NULL: noise */
    uint32_t random = index * 7919u + 3;
    (void)task;
    (void)input;
    for (size_t i = 0; i < count; i++) {
        out[i] = values ? values[i % 4] : noise(&random);
    }
    return 0;
}

static mts_prune_images images_of(mts_graph *graph, const float *values)
{
    static mts_task task;
    static uint32_t indices[IMAGES_MOST];
    static mtsz_data source;
    mts_prune_images images = {.indices = indices, .count = IMAGES};
    task = (mts_task){.name = "t", .graph = graph};
    mtsz_data_default(&source);
    source.count = IMAGES_MOST;
    source.tensor = tensor;
    source.context = (void *)(uintptr_t)values;
    for (uint32_t i = 0; i < IMAGES_MOST; i++) {
        indices[i] = i;
    }
    must(mts_data_create(&source, &task, 1, 1 << 20, mts_allocator_default(), &images.data, &error));
    return images;
}

/* ---- importance ---- */

/* What each filter of a 1x1 convolution of one channel makes of the pixels 0.1, 0.3, 0.6, 0.9 after ReLU. */
enum { PASSES, NEVER, HALF, RARELY_LARGE, ALWAYS_TINY, FILTERS };
static const float factors[FILTERS] = {1, -1, 1, 48, 0.01f};
static const float offsets[FILTERS] = {0, 0, -0.5f, -42, 0};
static const float pixels[4] = {0.1f, 0.3f, 0.6f, 0.9f};

static mts_graph *build_filters(bool scaled)
{
    static const float ones[FILTERS] = {1, 1, 1, 1, 1};
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 1, 2);
    const int64_t dims[] = {FILTERS, 1, 1, 1};
    const uint32_t operands[] = {x, constant(graph, 4, dims, scaled ? ones : factors),
                                 scaled ? constant(graph, 1, dims, factors) : MTS_NONE,
                                 constant(graph, 1, dims, offsets)};
    const mts_attrs attrs = {
        .conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1, .act.fn = MTS_FN_RELU}};
    must(mts_graph_add_node(graph, MTS_OP_CONV, "filters", operands, 4, &attrs, &x, &error));
    end(graph, conv(graph, x, (layer){2, 1, 1, MTS_NONE, false, false, false}, 5));
    return graph;
}

static const double *weigh(mts_graph *graph, mtsz_criterion criterion)
{
    mts_channels channels;
    double **importance = NULL;
    must(mts_channels_find(graph, &arena, &channels, &error));
    const bool *removable = mts_thin_removable(graph, &channels, &arena);
    mts_prune_images images = images_of(graph, pixels);
    must(mts_importance_find(graph, &channels, removable, criterion, &images, &arena, &importance, &error));
    mts_data_destroy(&images.data);
    return importance[channels.group_of[graph->nodes[0].output]];
}

/* From the least to the most important. */
static void expect_order(const double *importance, const uint32_t *order)
{
    double mean = 0;
    for (uint32_t i = 0; i < FILTERS; i++) {
        mean += importance[i] / FILTERS;
        if (i > 0 && !(importance[order[i - 1]] < importance[order[i]])) {
            fail_msg("%u (%g) is not less important than %u (%g)", order[i - 1], importance[order[i - 1]],
                     order[i], importance[order[i]]);
        }
    }
    assert_float_equal(mean, 1.0, 1e-9);
}

static void l1_ranks_filters_by_their_weights_with_the_scale(void **state)
{
    (void)state;
    const double *weight = weigh(build_filters(false), MTSZ_CRITERION_L1);
    const double *scaled = weigh(build_filters(true), MTSZ_CRITERION_L1);
    assert_true(weight[ALWAYS_TINY] < weight[HALF] && weight[HALF] < weight[RARELY_LARGE]);
    assert_float_equal(weight[PASSES], weight[NEVER], 1e-9);
    for (uint32_t i = 0; i < FILTERS; i++) {
        assert_float_equal(weight[i], scaled[i], 1e-6);
    }
}

static void apoz_ranks_channels_by_zeros_and_equal_ones_by_their_mean(void **state)
{
    (void)state;
    expect_order(weigh(build_filters(false), MTSZ_CRITERION_APOZ),
                 (const uint32_t[]){NEVER, RARELY_LARGE, HALF, ALWAYS_TINY, PASSES});
}

static void avg_ranks_channels_by_their_mean_activation(void **state)
{
    (void)state;
    expect_order(weigh(build_filters(false), MTSZ_CRITERION_AVG),
                 (const uint32_t[]){NEVER, ALWAYS_TINY, HALF, RARELY_LARGE, PASSES});
}

static void hybrid_drops_the_always_tiny_that_apoz_keeps_and_keeps_what_is_rarely_large(void **state)
{
    (void)state;
    expect_order(weigh(build_filters(false), MTSZ_CRITERION_HYBRID),
                 (const uint32_t[]){NEVER, ALWAYS_TINY, HALF, PASSES, RARELY_LARGE});
}

/* ---- choice ---- */

typedef struct choice {
    mts_graph *graph;
    mts_channels channels;
    mts_cost cost;
    mts_choose_slot *slots;
    mts_choose_problem problem;
    uint64_t total; /* channels of slots */
} choice;

static choice start_choice(mts_net_build network, uint32_t seed)
{
    static const mts_net_plan plan = {.tasks = 1, .shared = 19, .exclusive = 4, .seed = 1};
    choice c = {0};
    mts_net net;
    mts_net_begin(&net, &plan, &arena, 0);
    network(&net);
    assert_false(net.failed);
    c.graph = net.graph;
    must(mts_channels_find(c.graph, &arena, &c.channels, &error));
    assert_true(mts_cost_make(c.graph, &c.channels, &arena, &c.cost));
    const bool *removable = mts_thin_removable(c.graph, &c.channels, &arena);
    c.slots = mts_arena_zero(&arena, c.channels.group_count, sizeof *c.slots);
    for (uint32_t g = 0; g < c.channels.group_count; g++) {
        if (!removable[g]) {
            continue;
        }
        mts_choose_slot *slot = &c.slots[c.problem.slot_count++];
        mts_choose_member *member = mts_arena_zero(&arena, 1, sizeof *member);
        double *importance = mts_arena_zero(&arena, c.channels.groups[g].channels, sizeof *importance);
        member->group = g;
        for (uint32_t i = 0; i < c.channels.groups[g].channels; i++) {
            importance[i] = 1.0 + (double)noise(&seed);
        }
        *slot = (mts_choose_slot){c.channels.groups[g].channels, 1, importance, member};
        c.total += slot->channels;
    }
    assert_true(c.problem.slot_count > 0);
    c.problem.task_count = 1;
    c.problem.round = 1;
    c.problem.slots = c.slots;
    return c;
}

static uint64_t work_of(const mts_graph *graph)
{
    uint64_t all = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        all += mts_node_mul_adds(graph, &graph->nodes[n]);
    }
    return all;
}

static uint64_t bytes_of(const mts_graph *graph)
{
    uint64_t all = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        size_t bytes = 0;
        if (graph->values[v].kind == MTS_VALUE_CONST) {
            assert_true(mts_shape_bytes(&graph->values[v].shape, graph->values[v].dtype, &bytes));
        }
        all += bytes;
    }
    return all;
}

/* Chooses and thins; counts[slot] receives what is kept. The costs are those of the thin graph. */
static mts_graph *choose(choice *c, uint32_t *counts)
{
    bool ***keep = NULL;
    mts_graph *thin = NULL;
    c->cost.channels = &c->channels; /* the choice was returned by value */
    c->problem.costs = &c->cost;
    must(mts_choose(&c->problem, &arena, &keep, &error));
    must(mts_thin(c->graph, &c->channels, (const bool *const *)keep[0], &arena, &thin, NULL, &error));
    uint32_t *kept = mts_arena_zero(&arena, c->channels.group_count, sizeof *kept);
    for (uint32_t g = 0; g < c->channels.group_count; g++) {
        kept[g] = c->channels.groups[g].channels;
    }
    for (uint32_t s = 0; s < c->problem.slot_count; s++) {
        const uint32_t g = c->slots[s].members[0].group;
        double least_kept = INFINITY, most_gone = -INFINITY;
        counts[s] = 0;
        for (uint32_t i = 0; i < c->slots[s].channels; i++) {
            const double importance = c->slots[s].importance[i];
            counts[s] += keep[0][g][i];
            least_kept = keep[0][g][i] ? fmin(least_kept, importance) : least_kept;
            most_gone = keep[0][g][i] ? most_gone : fmax(most_gone, importance);
        }
        assert_true(most_gone <= least_kept);
        kept[g] = counts[s];
    }
    mts_cost_settle(&c->cost, kept);
    assert_int_equal(mts_cost_work(&c->cost, kept), work_of(thin));
    assert_int_equal(mts_cost_bytes(&c->cost, kept), bytes_of(thin));
    return thin;
}

static const mts_net_build networks[] = {mts_net_build_chain, mts_net_build_residual, mts_net_build_concat,
                                         mts_net_build_flatten, mts_net_build_depthwise};
static const double ratios[] = {0.1, 0.3, 0.5, 0.77, 0.9};
#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof((list)[0]); i++)

static void a_ratio_of_layers_is_met_in_every_group(void **state)
{
    (void)state;
    EACH(n, networks) EACH(r, ratios)
    {
        uint32_t counts[16];
        choice c = start_choice(networks[n], 3);
        c.problem.target = MTSZ_TARGET_LAYER;
        c.problem.ratio = ratios[r];
        (void)choose(&c, counts);
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            const double wanted = c.slots[s].channels * (1.0 - ratios[r]);
            assert_true(fabs(counts[s] - wanted) <= 0.5 || counts[s] == 1);
        }
    }
}

static void a_ratio_of_all_channels_is_met_within_one(void **state)
{
    (void)state;
    EACH(n, networks) EACH(r, ratios)
    {
        uint32_t counts[16];
        uint64_t left = 0;
        choice c = start_choice(networks[n], 7);
        c.problem.target = MTSZ_TARGET_GLOBAL;
        c.problem.ratio = ratios[r];
        (void)choose(&c, counts);
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            left += counts[s];
        }
        assert_true(fabs((double)left - (double)c.total * (1.0 - ratios[r])) <= 1.0);
    }
}

/* Less than wanted is left, and with one channel more of any layer it might be too much. */
static void expect_cost(mtsz_target target)
{
    uint64_t (*const of)(const mts_graph *) = target == MTSZ_TARGET_FLOPS ? work_of : bytes_of;
    EACH(n, networks) EACH(r, ratios)
    {
        uint32_t counts[16];
        double step = 0;
        choice c = start_choice(networks[n], 11);
        c.problem.target = target;
        c.problem.ratio = ratios[r];
        const double all = (double)of(c.graph), wanted = all * (1.0 - ratios[r]);
        const double left = (double)of(choose(&c, counts));
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            step = fmax(step, all / counts[s]);
        }
        assert_true(left <= wanted + 1.0);
        assert_true(left + step >= wanted);
    }
}

static void a_ratio_of_multiply_adds_is_met_within_one_channel(void **state)
{
    (void)state;
    expect_cost(MTSZ_TARGET_FLOPS);
}

static void a_ratio_of_bytes_is_met_within_one_channel(void **state)
{
    (void)state;
    expect_cost(MTSZ_TARGET_BYTES);
}

static void channels_kept_are_a_multiple_of_round_where_there_are_as_many(void **state)
{
    (void)state;
    for (int target = MTSZ_TARGET_LAYER; target <= MTSZ_TARGET_BYTES; target++) {
        uint32_t counts[16];
        choice c = start_choice(mts_net_build_residual, 5);
        c.problem.target = (mtsz_target)target;
        c.problem.ratio = 0.4;
        c.problem.round = 4;
        (void)choose(&c, counts);
        bool changed = false;
        for (uint32_t s = 0; s < c.problem.slot_count; s++) {
            assert_true(counts[s] % 4 == 0 || counts[s] == c.slots[s].channels);
            changed = changed || counts[s] < c.slots[s].channels;
        }
        assert_true(changed);
        c.problem.round = 64; /* more than any has: then any count will do */
        (void)choose(&c, counts);
        for (uint32_t s = 0; s < c.problem.slot_count && target == MTSZ_TARGET_LAYER; s++) {
            assert_int_equal(counts[s], c.slots[s].channels - 9);
        }
    }
}

static void a_target_that_cannot_be_met_says_how_far_it_can(void **state)
{
    (void)state;
    bool ***keep = NULL;
    choice c = start_choice(mts_net_build_flatten, 5);
    c.cost.channels = &c.channels; /* the choice was returned by value */
    c.problem.costs = &c.cost;
    c.problem.target = MTSZ_TARGET_GLOBAL;
    c.problem.ratio = 0.99;
    assert_int_equal(mts_choose(&c.problem, &arena, &keep, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(keep);
    assert_non_null(strstr(error.text, "99.0 % of the channels cannot be removed"));
}

/* ---- fitting ---- */

static double difference(const mts_graph *a, const mts_graph *b)
{
    double sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        float input[3 * SIDE * SIDE];
        float **x = mts_arena_zero(&arena, a->value_count, sizeof *x);
        float **y = mts_arena_zero(&arena, b->value_count, sizeof *y);
        assert_int_equal(tensor(NULL, 1000 + i, "", 0, input, 3 * SIDE * SIDE), 0);
        assert_true(mts_eval(a, (const float *const[]){input}, &arena, x));
        assert_true(mts_eval(b, (const float *const[]){input}, &arena, y));
        const uint32_t v = a->outputs[0].value, w = b->outputs[0].value;
        for (size_t k = 0; k < mts_shape_count(&a->values[v].shape); k++) {
            sum += ((double)x[v][k] - (double)y[w][k]) * ((double)x[v][k] - (double)y[w][k]);
        }
    }
    return sqrt(sum);
}

typedef struct fitted {
    mts_graph *original, *thin, *out;
} fitted;

/* Takes the first half of the first convolution's group. */
static fitted fit(mts_graph *graph, const bool *const *fixed)
{
    fitted f = {.original = graph};
    mts_channels channels;
    mts_thin_kept *kept = NULL;
    must(mts_channels_find(graph, &arena, &channels, &error));
    bool **keep = mts_arena_zero(&arena, channels.group_count, sizeof *keep);
    const uint32_t g = channels.group_of[graph->nodes[0].output];
    keep[g] = mts_arena_zero(&arena, channels.groups[g].channels, sizeof **keep);
    for (uint32_t c = channels.groups[g].channels / 2; c < channels.groups[g].channels; c++) {
        keep[g][c] = true;
    }
    mts_prune_images images = images_of(graph, NULL);
    must(mts_thin_select(graph, &channels, (const bool *const *)keep, &arena, &kept, &error));
    must(mts_thin(graph, &channels, (const bool *const *)keep, &arena, &f.thin, NULL, &error));
    must(mts_refit(graph, &channels, kept, f.thin, fixed, &images, &arena, &f.out, &error));
    must(mts_graph_verify(f.out, &error));
    mts_data_destroy(&images.data);
    return f;
}

static void readers_of_channels_that_others_repeat_compute_the_same_after_fitting(void **state)
{
    (void)state;
    mts_graph *(*const builds[])(void) = {build_chain, build_residual, build_depthwise};
    EACH(b, builds)
    {
        const fitted f = fit(builds[b](), NULL);
        const double before = difference(f.original, f.thin), after = difference(f.original, f.out);
        if (!(after < 0.1 * before)) {
            fail_msg("network %zu: difference %g before, %g after", b, before, after);
        }
    }
}

static void fitting_leaves_scales_and_what_reads_nothing_lost_alone(void **state)
{
    (void)state;
    const fitted f = fit(build_chain(), NULL);
    for (uint32_t n = 0; n < 3; n++) {
        const mts_node *thin = &f.thin->nodes[n], *out = &f.out->nodes[n];
        for (uint32_t i = 1; i < 4; i++) {
            if (thin->inputs[i] == MTS_NONE) {
                continue;
            }
            const mts_value *a = &f.thin->values[thin->inputs[i]], *b = &f.out->values[out->inputs[i]];
            const size_t count = mts_shape_count(&a->shape);
            const bool same = memcmp(a->blocks[0].data, b->blocks[0].data, count * sizeof(float)) == 0;
            assert_int_equal(same, n != 1 || i == 2);
        }
    }
}

static void fixed_filters_keep_their_weights_and_get_a_scale_and_bias(void **state)
{
    (void)state;
    static const bool all[6] = {true, true, true, true, true, true}, some[6] = {false, true, true};
    const bool *const fixed[2][3] = {{NULL, all, NULL}, {NULL, some, NULL}};
    mts_graph *graph = build_chain();
    const fitted whole = fit(graph, fixed[0]), part = fit(graph, fixed[1]), none = fit(graph, NULL);
    const uint32_t w = graph->nodes[1].inputs[1], size = 4 * 3 * 3;
    const float *thin = whole.thin->values[w].blocks[0].data;
    assert_memory_equal(whole.out->values[w].blocks[0].data, thin, 6 * size * sizeof *thin);
    for (uint32_t o = 0; o < 6; o++) {
        const float *got = (const float *)part.out->values[w].blocks[0].data + o * size;
        assert_int_equal(memcmp(got, thin + o * size, size * sizeof *thin) == 0, some[o]);
    }
    const double without = difference(graph, whole.thin), scales = difference(graph, whole.out);
    const double mixed = difference(graph, part.out), full = difference(graph, none.out);
    assert_true(scales < without && mixed < scales && full < mixed);
}

static void weights_of_float16_are_fitted_and_stay_float16(void **state)
{
    (void)state;
    mts_graph *graph = build_chain();
    mts_value *weight = &graph->values[graph->nodes[1].inputs[1]];
    const size_t count = mts_shape_count(&weight->shape);
    uint16_t *half = mts_arena_zero(&arena, count, sizeof *half);
    mts_half_array_from_float(weight->blocks[0].data, half, count);
    weight->dtype = MTS_TYPE_FLOAT16;
    weight->blocks[0].data = half;
    const fitted f = fit(graph, NULL);
    const uint32_t w = graph->nodes[1].inputs[1];
    assert_int_equal(f.out->values[w].dtype, MTS_TYPE_FLOAT16);
    assert_int_equal(f.out->values[graph->nodes[2].inputs[1]].dtype, MTS_TYPE_FLOAT32);
    float was[6 * 4 * 9], is[6 * 4 * 9];
    mts_value_read_f32(&f.thin->values[w], was);
    mts_value_read_f32(&f.out->values[w], is);
    double change = 0;
    for (size_t i = 0; i < 6 * 4 * 9; i++) {
        assert_true(isfinite(is[i]) && fabsf(is[i]) < 100.0f);
        change += fabs((double)is[i] - (double)was[i]);
    }
    assert_true(change > 1.0);
}

/* Both runs hold what a run of the chunk alone would. */
static void expect_chunk(mts_twins *twins, uint32_t chunk, uint32_t node)
{
    const mts_graph *graph = twins->graphs[0];
    const mts_prune_images *images = twins->images;
    const uint32_t count = mts_twins_chunk_images(twins, chunk), value = graph->nodes[node - 1].output;
    mts_net_run *alone = NULL;
    must(mts_twins_advance(twins, chunk, node, &error));
    must(mts_net_run_create(twins->nets[0], count, MTS_NET_INFERENCE, &alone, &error));
    must(mts_data_fill(images->data, 0, 0, images->indices + (size_t)chunk * twins->batch, count, NULL,
                       mts_net_run_input(alone, 0), &error));
    must(mts_net_run_forward(alone, count, 0, node, &error));
    const size_t bytes = count * mts_shape_count(&graph->values[value].shape) * sizeof(float);
    for (uint32_t side = 0; side < 2; side++) {
        assert_memory_equal(mts_net_run_value(twins->runs[side], value), mts_net_run_value(alone, value),
                            bytes);
    }
    mts_net_run_destroy(&alone);
}

static void chunks_of_images_that_take_turns_go_on_where_they_were_left(void **state)
{
    (void)state;
    mts_graph *graph = build_residual();
    mts_prune_images images = images_of(graph, NULL);
    mts_twins twins;
    images.count = IMAGES_MOST;
    must(mts_twins_open(graph, graph, &images, mts_allocator_default(), &twins, &error));
    assert_true(twins.chunk_count >= 3);
    for (uint32_t node = 1; node <= graph->node_count; node++) {
        for (uint32_t c = 0; c < twins.chunk_count; c++) {
            expect_chunk(&twins, (c + node) % twins.chunk_count, node);
        }
    }
    assert_true(twins.stored > 0);
    mts_twins_release(&twins);
    assert_null(twins.runs[0]);
    mts_data_destroy(&images.data);
}

static mts_status stop(void *context, double share, const char *what, mts_error *to)
{
    (void)share;
    return ++*(int *)context > 1 ? mts_fail(to, MTS_STATUS_CANCELLED, "cancelled while %s", what)
                                 : MTS_STATUS_OK;
}

static void fitting_stops_when_it_is_told_to(void **state)
{
    (void)state;
    mts_graph *graph = build_residual();
    mts_channels channels;
    mts_thin_kept *kept = NULL;
    mts_graph *thin = NULL, *out = NULL;
    int calls = 0;
    must(mts_channels_find(graph, &arena, &channels, &error));
    const bool **keep = mts_arena_zero(&arena, channels.group_count, sizeof *keep);
    keep[channels.group_of[graph->nodes[0].output]] = (const bool[8]){true, true};
    mts_prune_images images = images_of(graph, NULL);
    images.go_on = stop;
    images.context = &calls;
    must(mts_thin_select(graph, &channels, keep, &arena, &kept, &error));
    must(mts_thin(graph, &channels, keep, &arena, &thin, NULL, &error));
    assert_int_equal(mts_refit(graph, &channels, kept, thin, NULL, &images, &arena, &out, &error),
                     MTS_STATUS_CANCELLED);
    assert_null(out);
    assert_int_equal(calls, 2);
    mts_data_destroy(&images.data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(l1_ranks_filters_by_their_weights_with_the_scale),
        TEST(apoz_ranks_channels_by_zeros_and_equal_ones_by_their_mean),
        TEST(avg_ranks_channels_by_their_mean_activation),
        TEST(hybrid_drops_the_always_tiny_that_apoz_keeps_and_keeps_what_is_rarely_large),
        TEST(a_ratio_of_layers_is_met_in_every_group),
        TEST(a_ratio_of_all_channels_is_met_within_one),
        TEST(a_ratio_of_multiply_adds_is_met_within_one_channel),
        TEST(a_ratio_of_bytes_is_met_within_one_channel),
        TEST(channels_kept_are_a_multiple_of_round_where_there_are_as_many),
        TEST(a_target_that_cannot_be_met_says_how_far_it_can),
        TEST(readers_of_channels_that_others_repeat_compute_the_same_after_fitting),
        TEST(fitting_leaves_scales_and_what_reads_nothing_lost_alone),
        TEST(fixed_filters_keep_their_weights_and_get_a_scale_and_bias),
        TEST(chunks_of_images_that_take_turns_go_on_where_they_were_left),
        TEST(weights_of_float16_are_fitted_and_stay_float16),
        TEST(fitting_stops_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_prune.c: how much channels matter, and how their readers are fitted.
 */
#include "prune_fixture.h"

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
    must(mts_importance_find(graph, &channels, removable, criterion, MTS_IMPORTANCE_LARGE, &images, &arena, &importance, &error));
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
        TEST(readers_of_channels_that_others_repeat_compute_the_same_after_fitting),
        TEST(fitting_leaves_scales_and_what_reads_nothing_lost_alone),
        TEST(fixed_filters_keep_their_weights_and_get_a_scale_and_bias),
        TEST(chunks_of_images_that_take_turns_go_on_where_they_were_left),
        TEST(weights_of_float16_are_fitted_and_stay_float16),
        TEST(fitting_stops_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

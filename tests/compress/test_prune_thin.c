/*
 * thin.h: a graph without some of its channels computes what the whole graph computes when nothing reads
 * them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/passes/clone.h"
#include "compress/prune/thin.h"
#include "support/fault_each.h"
#include "support/net.h"
#include "support/nets.h"
#include "support/random_net.h"

#define FAMILIES 60
#define TOLERANCE 1e-5

static mts_device *device;

typedef struct world {
    mts_arena arena;
    mts_graph *graph;
    mts_channels channels;
    bool **keep;
    mts_thin_kept *kept;
    uint32_t random, removed;
} world;

static uint32_t draw(world *w, uint32_t below)
{
    w->random = w->random * 1664525u + 1013904223u;
    return (w->random >> 8) % below;
}

static void must(mts_status status, const mts_error *error)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error->text);
    }
}

/* Takes channels of every group that may lose some, one at least of each. */
static void choose(world *w)
{
    mts_error error = {0};
    must(mts_channels_find(w->graph, &w->arena, &w->channels, &error), &error);
    const bool *removable = mts_thin_removable(w->graph, &w->channels, &w->arena);
    w->keep = mts_arena_zero(&w->arena, w->channels.group_count, sizeof *w->keep);
    assert_non_null(removable);
    assert_non_null(w->keep);
    for (uint32_t g = 0; g < w->channels.group_count; g++) {
        const uint32_t count = w->channels.groups[g].channels;
        if (!removable[g]) {
            continue;
        }
        w->keep[g] = mts_arena_zero(&w->arena, count, sizeof **w->keep);
        assert_non_null(w->keep[g]);
        const uint32_t stays = draw(w, count), goes = (stays + 1 + draw(w, count - 1)) % count;
        for (uint32_t c = 0; c < count; c++) {
            w->keep[g][c] = c != goes && (c == stays || draw(w, 2) == 0);
            w->removed += !w->keep[g][c];
        }
    }
    must(mts_thin_select(w->graph, &w->channels, (const bool *const *)w->keep, &w->arena, &w->kept, &error),
         &error);
}

/* The graph with zeros where convolutions read channels that go. */
static mts_graph *without_readers(world *w)
{
    mts_graph *graph = mts_graph_clone(w->graph, &w->arena);
    assert_non_null(graph);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const mts_node *node = &graph->nodes[n];
        const uint32_t g = node->op == MTS_OP_CONV && node->attrs.conv.group == 1
                               ? w->channels.group_of[node->inputs[0]]
                               : MTS_NONE;
        if (g == MTS_NONE || w->kept[g].all) {
            continue;
        }
        mts_value *weight = &graph->values[node->inputs[1]];
        uint32_t out = 0, in = 0, inner = 0;
        mts_value_matrix(weight, &out, &in, &inner);
        float *data = mts_arena_zero(&w->arena, (size_t)out * in * inner, sizeof *data);
        assert_non_null(data);
        mts_value_read_f32(weight, data);
        for (uint32_t i = 0, k = 0; i < in; i++) {
            if (k < w->kept[g].count && w->kept[g].channels[k] == i) {
                k++;
                continue;
            }
            for (uint32_t o = 0; o < out; o++) {
                memset(data + ((size_t)o * in + i) * inner, 0, inner * sizeof *data);
            }
        }
        weight->dtype = MTS_TYPE_FLOAT32;
        weight->blocks[0].data = data;
    }
    return graph;
}

/* The channels that stayed hold the same numbers. */
static void compare_value(const world *w, const mts_graph *thin, uint32_t v, const float *want,
                          const float *got)
{
    const mts_shape *shape = &w->graph->values[v].shape;
    const uint32_t g = w->channels.group_of[v];
    const size_t count = (size_t)shape->dims[1];
    const size_t inner = mts_shape_count(shape) / ((size_t)shape->dims[0] * count);
    const mts_thin_kept *kept = &w->kept[g];
    assert_int_equal(thin->values[v].shape.dims[1], kept->count);
    double most = 1e-3;
    for (size_t i = 0; i < mts_shape_count(shape); i++) {
        most = fmax(most, fabs((double)want[i]));
    }
    for (size_t n = 0; n < (size_t)shape->dims[0]; n++) {
        for (size_t k = 0; k < kept->count; k++) {
            for (size_t i = 0; i < inner; i++) {
                const double a = (double)want[(n * count + kept->channels[k]) * inner + i];
                const double b = (double)got[(n * kept->count + k) * inner + i];
                if (!(fabs(a - b) <= TOLERANCE * most)) {
                    fail_msg("'%s': channel %u: %g instead of %g", w->graph->values[v].name,
                             kept->channels[k], b, a);
                }
            }
        }
    }
}

static void compare(world *w, const float *const *inputs)
{
    mts_error error = {0};
    mts_graph *thin = NULL;
    uint32_t *nodes = NULL;
    must(mts_thin(w->graph, &w->channels, (const bool *const *)w->keep, &w->arena, &thin, &nodes, &error),
         &error);
    must(mts_graph_verify(thin, &error), &error);
    float **want = mts_arena_zero(&w->arena, w->graph->value_count, sizeof *want);
    float **got = mts_arena_zero(&w->arena, w->graph->value_count, sizeof *got);
    must(random_oracle(without_readers(w), inputs, device, &w->arena, want, &error), &error);
    must(random_oracle(thin, inputs, device, &w->arena, got, &error), &error);
    for (uint32_t v = 0; v < w->graph->value_count; v++) {
        assert_string_equal(thin->values[v].name, w->graph->values[v].name);
        if (w->channels.group_of[v] != MTS_NONE) {
            compare_value(w, thin, v, want[v], got[v]);
        }
    }
    for (uint32_t n = 0; n < w->graph->node_count; n++) {
        assert_string_equal(thin->nodes[nodes[n]].name, w->graph->nodes[n].name);
    }
}

static void random_networks_without_unread_channels_compute_the_same(void **state)
{
    (void)state;
    uint32_t removed = 0;
    for (uint32_t seed = 1; seed <= FAMILIES; seed++) {
        world w = {.random = seed};
        const random_family family = {.seed = seed, .tasks = 1, .steps = 6 + seed % 7, .net = true};
        mts_arena_init(&w.arena, mts_allocator_default());
        w.graph = random_net(&family, 0, &w.arena);
        assert_non_null(w.graph);
        const float *input = random_input(&family, 0, w.graph, 0, &w.arena);
        choose(&w);
        compare(&w, &input);
        removed += w.removed;
        mts_arena_release(&w.arena);
    }
    assert_true(removed > FAMILIES); /* the networks have something to lose */
}

static const mts_net_plan plan = {.tasks = 1, .shared = 7, .exclusive = 2, .seed = 3};

static void build(world *w, mts_net_build network)
{
    mts_net net;
    mts_arena_init(&w->arena, mts_allocator_default());
    mts_net_begin(&net, &plan, &w->arena, 0);
    network(&net);
    assert_false(net.failed);
    w->graph = net.graph;
}

static void coupled_channels_go_together_through_adds_concats_flattening_and_depthwise_filters(void **state)
{
    (void)state;
    static const mts_net_build builds[] = {mts_net_build_chain, mts_net_build_residual, mts_net_build_concat,
                                           mts_net_build_flatten, mts_net_build_depthwise};
    for (uint32_t b = 0; b < sizeof builds / sizeof builds[0]; b++) {
        for (uint32_t seed = 0; seed < 8; seed++) {
            world w = {.random = seed};
            build(&w, builds[b]);
            float *input =
                mts_arena_zero(&w.arena, mts_shape_count(&w.graph->inputs[0].shape), sizeof *input);
            for (size_t i = 0; i < mts_shape_count(&w.graph->inputs[0].shape); i++) {
                input[i] = (float)draw(&w, 1000) / 500.0f - 1.0f;
            }
            choose(&w);
            assert_true(w.removed > 0);
            compare(&w, (const float *const[]){input});
            mts_arena_release(&w.arena);
        }
    }
}

static void nothing_asked_changes_nothing(void **state)
{
    (void)state;
    world w = {0};
    mts_error error = {0};
    mts_graph *thin = NULL;
    build(&w, mts_net_build_residual);
    must(mts_channels_find(w.graph, &w.arena, &w.channels, &error), &error);
    w.keep = mts_arena_zero(&w.arena, w.channels.group_count, sizeof *w.keep);
    must(mts_thin(w.graph, &w.channels, (const bool *const *)w.keep, &w.arena, &thin, NULL, &error), &error);
    for (uint32_t v = 0; v < w.graph->value_count; v++) {
        assert_true(mts_shape_equal(&thin->values[v].shape, &w.graph->values[v].shape));
        if (thin->values[v].block_count) {
            assert_ptr_equal(thin->values[v].blocks[0].data, w.graph->values[v].blocks[0].data);
        }
    }
    mts_arena_release(&w.arena);
}

static void a_group_that_is_seen_from_outside_or_would_be_empty_is_refused_by_name(void **state)
{
    (void)state;
    world w = {0};
    mts_error error = {0};
    mts_graph *thin = NULL;
    build(&w, mts_net_build_chain);
    must(mts_channels_find(w.graph, &w.arena, &w.channels, &error), &error);
    for (uint32_t n = 0; n < w.graph->node_count; n++) {
        if (w.graph->nodes[n].op != MTS_OP_CONV) {
            continue;
        }
        const uint32_t g = w.channels.group_of[w.graph->nodes[n].output];
        bool none[16] = {false};
        const bool **keep = mts_arena_zero(&w.arena, w.channels.group_count, sizeof *keep);
        keep[g] = none;
        none[0] = w.channels.groups[g].kind == MTS_CHANNEL_PINNED;
        assert_int_equal(mts_thin(w.graph, &w.channels, keep, &w.arena, &thin, NULL, &error),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_null(thin);
        assert_non_null(strstr(error.text, none[0] ? "cannot be removed" : "all its channels"));
        assert_non_null(strchr(error.text, '\''));
    }
    mts_arena_release(&w.arena);
}

static mts_status thin_with(const mts_allocator *allocator, void *data)
{
    const world *w = data;
    mts_arena arena;
    mts_error error = {0};
    mts_graph *thin = NULL;
    mts_arena_init(&arena, allocator);
    const mts_status status =
        mts_thin(w->graph, &w->channels, (const bool *const *)w->keep, &arena, &thin, NULL, &error);
    assert_int_equal(thin != NULL, status == MTS_STATUS_OK);
    mts_arena_release(&arena);
    return status;
}

static void short_memory_is_reported_at_every_call(void **state)
{
    (void)state;
    world w = {.random = 5};
    build(&w, mts_net_build_concat);
    choose(&w);
    mts_fault_each(thin_with, &w);
    mts_arena_release(&w.arena);
}

static int open_device(void **state)
{
    (void)state;
    mts_error error = {0};
    return net_device_open("reference", NULL, &device, &error) == MTS_STATUS_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    mts_device_destroy(&device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks_without_unread_channels_compute_the_same),
        cmocka_unit_test(coupled_channels_go_together_through_adds_concats_flattening_and_depthwise_filters),
        cmocka_unit_test(nothing_asked_changes_nothing),
        cmocka_unit_test(a_group_that_is_seen_from_outside_or_would_be_empty_is_refused_by_name),
        cmocka_unit_test(short_memory_is_reported_at_every_call),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

/*
 * Alignment: equal kinds of work stand in one row, in an order that suits every graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/align.h"
#include "support/fault_each.h"
#include "support/nets.h"

typedef struct world {
    mts_arena arena;
    mts_graph *graphs[8];
    uint32_t count;
} world;

static mts_net_plan plan = {.tasks = 8, .shared = 4, .exclusive = 2};

/* A chain of convolutions, kernel sizes as given, 'p' for a pool; width channels. */
static mts_graph *chain(world *w, const char *layers, uint32_t width)
{
    mts_net net;
    mts_net_begin(&net, &plan, &w->arena, w->count);
    mts_net_value x = mts_net_input(&net, 3, 16);
    for (; *layers; layers++) {
        plan.exclusive = width - plan.shared;
        x = *layers == 'p'
                ? mts_net_pool(&net, x)
                : mts_net_conv(&net, x, mts_net_channels(&net, true), (uint32_t)(*layers - '0'), 1, NULL);
    }
    assert_false(net.failed);
    return w->graphs[w->count++] = net.graph;
}

static void begin(world *w)
{
    memset(w, 0, sizeof(*w));
    mts_arena_init(&w->arena, mts_allocator_default());
}

static mts_alignment align(world *w)
{
    mts_alignment rows = {0};
    mts_error error = {0};
    assert_int_equal(mts_graph_align((const mts_graph *const *)w->graphs, w->count, &w->arena, &rows, &error),
                     MTS_STATUS_OK);
    assert_int_equal(rows.graph_count, w->count);
    return rows;
}

/* Every node stands in one row, in its graph's order, with nodes that are alike. */
static void check_rows(const world *w, const mts_alignment *rows)
{
    for (uint32_t g = 0; g < w->count; g++) {
        uint32_t next = 0;
        for (uint32_t r = 0; r < rows->row_count; r++) {
            const uint32_t node = rows->nodes[r * w->count + g];
            if (node == MTS_NONE) {
                continue;
            }
            assert_int_equal(node, next++);
            for (uint32_t h = 0; h < g; h++) {
                const uint32_t other = rows->nodes[r * w->count + h];
                assert_true(other == MTS_NONE || mts_node_alike(w->graphs[g], &w->graphs[g]->nodes[node],
                                                                w->graphs[h], &w->graphs[h]->nodes[other]));
            }
        }
        assert_int_equal(next, w->graphs[g]->node_count);
    }
    for (uint32_t r = 0; r < rows->row_count; r++) {
        bool any = false;
        for (uint32_t g = 0; g < w->count; g++) {
            any = any || rows->nodes[r * w->count + g] != MTS_NONE;
        }
        assert_true(any);
    }
}

static void equal_graphs_align_node_by_node(void **state)
{
    (void)state;
    world w;
    begin(&w);
    for (int i = 0; i < 4; i++) {
        chain(&w, "31p3", 6);
    }
    const mts_alignment rows = align(&w);
    check_rows(&w, &rows);
    assert_int_equal(rows.row_count, 4);
    mts_arena_release(&w.arena);
}

static void channel_counts_may_differ_but_kernels_may_not(void **state)
{
    (void)state;
    world w;
    begin(&w);
    chain(&w, "33", 6);
    chain(&w, "33", 9);
    chain(&w, "55", 6);
    const mts_alignment rows = align(&w);
    check_rows(&w, &rows);
    assert_int_equal(rows.row_count, 4);
    mts_arena_release(&w.arena);
}

static void extra_nodes_get_rows_of_their_own_in_between(void **state)
{
    (void)state;
    world w;
    begin(&w);
    chain(&w, "3p51", 6);
    chain(&w, "3p5p1", 6);
    chain(&w, "35p1", 6);
    const mts_alignment rows = align(&w);
    check_rows(&w, &rows);
    assert_int_equal(rows.row_count, 5);
    mts_arena_release(&w.arena);
}

static void of_equally_long_alignments_the_one_with_equal_shapes_wins(void **state)
{
    (void)state;
    world w;
    begin(&w);
    chain(&w, "3p3", 6); /* the second conv sees the small image */
    mts_net net;
    mts_net_begin(&net, &plan, &w.arena, 7);
    mts_net_value x = mts_net_input(&net, 3, 8); /* ... which this one sees at once */
    x = mts_net_conv(&net, x, mts_net_channels(&net, true), 3, 1, NULL);
    assert_false(net.failed);
    w.graphs[w.count++] = net.graph;
    const mts_alignment rows = align(&w);
    check_rows(&w, &rows);
    assert_int_equal(rows.row_count, 3);
    for (uint32_t r = 0; r < 3; r++) {
        if (rows.nodes[r * 2 + 1] != MTS_NONE) {
            assert_int_equal(rows.nodes[r * 2], 2);
        }
    }
    mts_arena_release(&w.arena);
}

static void graphs_of_other_kinds_are_other_families(void **state)
{
    (void)state;
    world w;
    begin(&w);
    chain(&w, "3333", 6);
    chain(&w, "5151", 6);
    chain(&w, "33p33", 9);
    chain(&w, "3355", 6);
    chain(&w, "5555", 6);
    uint32_t family[8] = {0}, families = 0;
    mts_error error = {0};
    assert_int_equal(mts_graph_families((const mts_graph *const *)w.graphs, w.count, mts_allocator_default(),
                                        family, &families, &error),
                     MTS_STATUS_OK);
    assert_int_equal(families, 2);
    const uint32_t expected[] = {0, 1, 0, 0, 1};
    assert_memory_equal(family, expected, sizeof(expected));
    mts_arena_release(&w.arena);
}

static mts_status align_with(const mts_allocator *allocator, void *data)
{
    const mts_graph *const *graphs = data;
    mts_arena arena;
    mts_alignment rows = {0};
    mts_error error = {0};
    uint32_t family[2], families = 0;
    mts_arena_init(&arena, allocator);
    mts_status status = mts_graph_align(graphs, 2, &arena, &rows, &error);
    MTS_TRY(status, mts_graph_families(graphs, 2, allocator, family, &families, &error));
    mts_arena_release(&arena);
    return status;
}

/* A chain of element functions, one for each letter; "long" graphs are matched greedily. */
static mts_graph *functions(world *w, uint32_t count, uint32_t (*fn_at)(uint32_t index))
{
    const mts_shape shape = mts_shape_make(2, (const int64_t[]){1, 4});
    mts_graph *graph = mts_graph_create(&w->arena, "long");
    uint32_t value = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    for (uint32_t i = 0; i < count; i++) {
        const mts_attrs attrs = {.unary = {.act = {.fn = fn_at(i)}}};
        assert_int_equal(mts_graph_add_node(graph, MTS_OP_UNARY, NULL, &value, 1, &attrs, &value, NULL),
                         MTS_STATUS_OK);
    }
    return w->graphs[w->count++] = graph;
}

/* Three functions in turn. */
static uint32_t plain_at(uint32_t index)
{
    static const uint32_t fns[] = {MTS_FN_RELU, MTS_FN_SIGMOID, MTS_FN_TANH};
    return fns[index % 3];
}

/* The same, with a function of its own now and then. */
static uint32_t mixed_at(uint32_t index)
{
    return index % 500 == 499 ? MTS_FN_ABS : plain_at(index - index / 500);
}

static uint32_t other_at(uint32_t index)
{
    (void)index;
    return MTS_FN_ABS;
}

static void graphs_too_long_for_a_table_are_matched_in_linear_time(void **state)
{
    enum { LONG = 4200 }; /* its square is above 2^24 */
    world w;
    (void)state;
    begin(&w);
    functions(&w, LONG, plain_at);
    functions(&w, LONG, mixed_at);
    mts_alignment rows = align(&w);
    check_rows(&w, &rows);
    assert_int_equal(rows.row_count, LONG + LONG / 500);
    w.graphs[1] = functions(&w, LONG, other_at);
    w.count = 2;
    rows = align(&w);
    check_rows(&w, &rows);
    assert_int_equal(rows.row_count, 2 * LONG); /* nothing is alike */
    mts_arena_release(&w.arena);
}

static void failing_allocations_are_reported_and_leak_nothing(void **state)
{
    (void)state;
    world w;
    begin(&w);
    chain(&w, "3p51", 6);
    chain(&w, "3p5p1", 6);
    mts_fault_each(align_with, w.graphs);
    mts_arena_release(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_graphs_align_node_by_node),
        cmocka_unit_test(channel_counts_may_differ_but_kernels_may_not),
        cmocka_unit_test(extra_nodes_get_rows_of_their_own_in_between),
        cmocka_unit_test(of_equally_long_alignments_the_one_with_equal_shapes_wins),
        cmocka_unit_test(graphs_of_other_kinds_are_other_families),
        cmocka_unit_test(graphs_too_long_for_a_table_are_matched_in_linear_time),
        cmocka_unit_test(failing_allocations_are_reported_and_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_channels.c: an element function that does not keep 0 makes channels dirty, whatever its parameters are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"

#define MTS_REAL float
#define MTS_MATH(name) name##f
#define mts_number(x) x##f
#include "kernels/abi/scalar.h"

/* What a node UNARY with this function does with channels; false: the function does not allow these parameters. */
static bool propagation_of(const mts_act *act, mts_propagation *out)
{
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){1, 2, 3, 3});
    const mts_attrs attrs = {.unary = {.act = *act}};
    uint32_t value = 0;
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    mts_graph *graph = mts_graph_create(&arena, "net");
    assert_non_null(graph);
    const uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    const bool added =
        mts_graph_add_node(graph, MTS_OP_UNARY, "y", &x, 1, &attrs, &value, NULL) == MTS_STATUS_OK;
    if (added) {
        *out = mts_node_propagation(graph, &graph->nodes[0]);
    }
    mts_arena_release(&arena);
    return added;
}

static void channels_are_clean_where_the_function_of_zero_is_zero(void **state)
{
    (void)state;
    static const float numbers[] = {-INFINITY, -200.0f, -1.0f, -0.25f, 0.0f, 0.25f, 1.0f, 3.0f, INFINITY};
    const size_t count = sizeof numbers / sizeof *numbers;
    for (uint32_t fn = 0; fn < MTS_FN_COUNT; fn++) {
        size_t tried = 0;
        for (size_t i = 0; i < count * count; i++) {
            const mts_act act = {.fn = fn, .a = numbers[i / count], .b = numbers[i % count]};
            const float zero = mts_scalar_function(fn, 0.0f, act.a, act.b);
            mts_propagation rule;
            if (!propagation_of(&act, &rule)) {
                continue;
            }
            tried++;
            if (rule.dirty != !(fabsf(zero) <= 0.0f) || (rule.reason != NULL) != !isfinite(zero)) {
                print_error("function %u, a %g, b %g: %g of 0, dirty %d, reason %s\n", fn, (double)act.a,
                            (double)act.b, (double)zero, rule.dirty, rule.reason ? rule.reason : "none");
                fail();
            }
        }
        assert_true(tried > 0 || fn == MTS_FN_PRELU);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_clean_where_the_function_of_zero_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

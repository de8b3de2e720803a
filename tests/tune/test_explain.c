/*
 * test_explain.c: what is said of launches: how tensors lie that they read and write, and which of them only
 * move, resize or pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "support/planted_world.h"
#include "support/synth.h"
#include "tune/explain.h"
#include "tune/tune.h"

static mts_device *device;

/* Both forms of an explanation. */
typedef struct said {
    mts_text text, json;
} said;

static said explain(mts_net_build build, const mts_net_plan *plan)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_planning_report report = {0};
    mts_error error = {0};
    planted_world w;
    said s;
    planted_world_make(&w, build, plan);
    const mts_status status =
        mts_planned_engine_create(device, w.net.archive, &options, NULL, &engine, &report, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    mts_text_init(&s.text, mts_allocator_default());
    mts_text_init(&s.json, mts_allocator_default());
    mts_explain(engine, &report, false, &s.text);
    mts_explain(engine, &report, true, &s.json);
    assert_false(s.text.failed || s.json.failed);
    planted_world_check(&w, engine, 1e-4);
    mts_engine_destroy(&engine);
    mts_planning_report_release(&report);
    planted_world_release(&w);
    return s;
}

static void release(said *s)
{
    mts_text_release(&s->text);
    mts_text_release(&s->json);
}

static bool has(mts_text *text, const char *what)
{
    return strstr(mts_text_get(text), what) != NULL;
}

/* The sum of what follows each `key` of the JSON. */
static unsigned long long sum_of(said *s, const char *key)
{
    unsigned long long sum = 0;
    for (const char *at = strstr(mts_text_get(&s->json), key); at; at = strstr(at, key)) {
        at += strlen(key);
        sum += strtoull(at, NULL, 10);
    }
    return sum;
}

/* The line of totals agrees with the launches of the JSON. */
static void check_totals(said *s, unsigned launches)
{
    const unsigned long long moved = sum_of(s, "\"moved_bytes\": ");
    const unsigned long long bytes = sum_of(s, "\"bytes\": "); /* an object has none */
    char line[160];
    (void)snprintf(
        line, sizeof line,
        "\n%u launches only move data, resize or pool: %llu bytes, %.1f %% of those of all launches\n",
        launches, moved, 100.0 * (double)moved / (double)bytes);
    if (!strstr(mts_text_get(&s->text), line)) {
        fail_msg("no line%sin:\n%s", line, mts_text_get(&s->text));
    }
    assert_int_equal(launches > 0, moved > 0);
    assert_true(moved < bytes);
}

/* Products alone, of tensors that lie densely. */
static void build_products(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 1);
    mts_net_end(net, mts_net_conv(net, x, mts_net_channels(net, true), 1, 1, NULL), 5);
}

static void nothing_moves_where_only_products_are(void **state)
{
    (void)state;
    said s = explain(build_products, &(mts_net_plan){.tasks = 1, .shared = 8});
    check_totals(&s, 0);
    assert_false(has(&s.json, "\"moves\""));
    release(&s);
}

/* A convolution whose stride wants phases, a pooling, and a resize. */
static void build_moves(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 16);
    const mts_net_value half = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value wide = mts_net_double(net, mts_net_pool(net, half));
    const mts_net_value last = mts_net_conv(net, wide, mts_net_channels(net, true), 3, 1, NULL);
    mts_net_end(net, mts_net_mean(net, last), 5);
}

static void check_moves(const mts_net_plan *plan, unsigned launches)
{
    said s = explain(build_moves, plan);
    check_totals(&s, launches);
    assert_true(has(&s.text, "-> phases\n") && has(&s.text, "  phases -> "));
    assert_true(has(&s.json, "\"writes\": [\"phases\"]") && has(&s.json, "\"reads\": [\"phases\"]"));
    assert_true(has(&s.text, "bytes: a convolution has a stride"));
    assert_true(has(&s.text, "bytes: windows cross the tiles of the producer\n"));
    assert_true(has(&s.text, "bytes: no reader interpolates what it loads\n"));
    assert_true(has(&s.json, "\"moves\": \"no reader interpolates"));
    release(&s);
}

static void passes_that_move_resize_or_pool_are_listed(void **state)
{
    (void)state;
    check_moves(&(mts_net_plan){.tasks = 1, .shared = 8}, 3);
}

static void tasks_have_lines_of_their_own_where_launches_are_not_joined(void **state)
{
    (void)state;
    check_moves(&(mts_net_plan){.tasks = 3, .shared = 9, .exclusive = 3, .shuffled = true, .seed = 4}, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_where_only_products_are),
        cmocka_unit_test(passes_that_move_resize_or_pool_are_listed),
        cmocka_unit_test(tasks_have_lines_of_their_own_where_launches_are_not_joined),
    };
    mts_error error = {0};
    test_must(net_device_open("reference", NULL, &device, &error), &error, "device");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&device);
    return failed;
}

/*
 * test_sharing.c: what is shared is stored once and computed once, and weights in any blocks give the right
 * sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/hash.h"
#include "platform/os/os.h"
#include "tests/support/fault.h"
#include "support/net.h"
#include "support/random_net.h"
#include "support/second_device.h"

#define TASKS_MOST 4
#define TOLERANCE 1e-4 /* of an output's largest magnitude */
#define WORK MTS_BINARY_DIR "/sharing"

static mts_device *devices[2];
static const char *const device_names[2] = {"reference", "opencl"};
static mts_wrap_allocator counter; /* behind both devices */

typedef struct world {
    mts_arena arena;
    uint32_t tasks;
    const mts_graph *graphs[TASKS_MOST];
    const float *inputs[TASKS_MOST];
    float **values[TASKS_MOST]; /* of the oracle */
    test_net net;
} world;

static void must(mts_status status, const mts_error *error, const char *what)
{
    if (status != MTS_STATUS_OK) {
        print_error("%s: %s: %s\n", what, mts_status_text(status), error->text);
        fail();
    }
}

static void world_begin(world *w)
{
    memset(w, 0, sizeof *w);
    mts_arena_init(&w->arena, mts_allocator_default());
}

static void world_add(world *w, const mts_graph *graph, const float *input)
{
    mts_error error = {0};
    const uint32_t t = w->tasks++;
    assert_non_null(graph);
    assert_non_null(input);
    w->graphs[t] = graph;
    w->inputs[t] = input;
    w->values[t] = mts_arena_zero(&w->arena, graph->value_count, sizeof(float *));
    assert_non_null(w->values[t]);
    must(random_oracle(graph, &w->inputs[t], devices[0], &w->arena, w->values[t], &error), &error, "oracle");
}

static void world_end(world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

static void compare(const world *w, const mts_engine *engine, const char *how)
{
    for (uint32_t t = 0; t < w->tasks; t++) {
        const mts_graph *graph = w->graphs[t];
        for (uint32_t o = 0; o < graph->output_count; o++) {
            const float *want = w->values[t][graph->outputs[o].value];
            size_t count = 0;
            const float *got = net_output(engine, &w->net, t, o, &count);
            double most = 1e-3;
            assert_non_null(got);
            for (size_t i = 0; i < count; i++) {
                most = fmax(most, fabs((double)want[i]));
            }
            for (size_t i = 0; i < count; i++) {
                if (!(fabs((double)got[i] - (double)want[i]) <= TOLERANCE * most)) {
                    print_error("%s, task %u, output %u: [%zu] is %g instead of %g\n", how, t, o, i,
                                (double)got[i], (double)want[i]);
                    fail();
                }
            }
        }
    }
}

static void run(const world *w, mts_engine *engine)
{
    const void *const *inputs[TASKS_MOST];
    mts_error error = {0};
    for (uint32_t t = 0; t < w->tasks; t++) {
        inputs[t] = (const void *const *)&w->inputs[t];
    }
    must(net_engine_run(engine, &w->net, inputs, &error), &error, "run");
}

/* Runs the first `tasks` tasks, compares when all ran, and gives the engine's numbers. */
static mts_session_stats run_tasks(const world *w, int device, mts_strategy strategy, bool separate,
                                   uint32_t tasks)
{
    const uint32_t list[TASKS_MOST] = {0, 1, 2, 3};
    /* A budget that is never reached: without one, default sessions trade launches for memory. */
    const mts_engine_options options = {.strategy = strategy,
                                        .separate_inputs = separate,
                                        .tasks = list,
                                        .task_count = tasks,
                                        .memory_budget = {.bytes = UINT64_C(1) << 40}};
    mts_engine *engine = NULL;
    mts_session_stats stats;
    mts_error error = {0};
    must(mts_planned_engine_create(devices[device], w->net.archive, &options, NULL, &engine, NULL, &error),
         &error, "engine");
    if (tasks == w->tasks) {
        run(w, engine);
        compare(w, engine, device_names[device]);
    }
    mts_engine_stats_get(engine, &stats);
    mts_engine_destroy(&engine);
    return stats;
}

/* ---- equal models ---- */

static void equal_models(world *w, uint32_t seed, bool common)
{
    mts_error error = {0};
    const random_family family = {.seed = seed, .tasks = 2, .steps = 6, .common = common, .equal = true};
    world_begin(w);
    for (uint32_t t = 0; t < 2; t++) {
        const mts_graph *graph = random_net(&family, t, &w->arena);
        assert_non_null(graph);
        world_add(w, graph, random_input(&family, t, graph, 0, &w->arena));
    }
    must(net_make(w->graphs, 2, 0.0f, &w->net, &error), &error, "bundle");
}

static void the_same_model_twice_on_one_frame_is_computed_and_stored_once(void **state)
{
    (void)state;
    for (uint32_t seed = 300; seed < 320; seed++) {
        world w;
        equal_models(&w, seed, true);
        for (int d = 0; d < 2 && devices[d] && (d == 0 || seed < 302); d++) {
            const mts_session_stats one = run_tasks(&w, d, MTS_STRATEGY_COMPACT, false, 1);
            const mts_session_stats two = run_tasks(&w, d, MTS_STRATEGY_COMPACT, false, 2);
            assert_int_equal(two.mul_adds, one.mul_adds);
            assert_int_equal(two.weight_bytes, one.weight_bytes);
            assert_int_equal(two.launches, one.launches);
            assert_int_equal(two.activation_bytes, one.activation_bytes);
        }
        world_end(&w);
    }
}

static void the_same_model_twice_on_two_frames_is_stored_once_and_launched_together(void **state)
{
    (void)state;
    for (uint32_t seed = 400; seed < 420; seed++) {
        world w;
        equal_models(&w, seed, false);
        for (int d = 0; d < 2 && devices[d] && (d == 0 || seed < 402); d++) {
            const mts_session_stats one = run_tasks(&w, d, MTS_STRATEGY_COMPACT, true, 1);
            const mts_session_stats two = run_tasks(&w, d, MTS_STRATEGY_COMPACT, true, 2);
            assert_int_equal(two.mul_adds, 2 * one.mul_adds);
            assert_int_equal(two.weight_bytes, one.weight_bytes);
            assert_int_equal(two.launches, one.launches);
        }
        world_end(&w);
    }
}

static void sequential_gives_every_model_its_own_weights(void **state)
{
    (void)state;
    world w;
    equal_models(&w, 300, true);
    const mts_session_stats one = run_tasks(&w, 0, MTS_STRATEGY_SEQUENTIAL, false, 1);
    const mts_session_stats two = run_tasks(&w, 0, MTS_STRATEGY_SEQUENTIAL, false, 2);
    assert_int_equal(two.mul_adds, 2 * one.mul_adds);
    assert_true(two.weight_bytes > one.weight_bytes * 3 / 2); /* masks are no weights and are common */
    world_end(&w);
}

/* ---- blocks ---- */

static uint32_t pick(uint64_t *state, uint32_t low, uint32_t high)
{
    *state = mts_hash(state, sizeof *state, 99);
    return low + (uint32_t)(*state >> 33) % (high - low + 1);
}

typedef struct cutting {
    mts_arena *arena;
    const float *dense;
    uint32_t columns, inner, count;
    mts_block_ref *blocks;
    uint64_t state;
} cutting;

/* Cuts a rectangle of a weight matrix into blocks, rows or columns first. */
static void cut(cutting *c, uint32_t row, uint32_t rows, uint32_t column, uint32_t columns, uint32_t depth)
{
    if (depth > 0 && pick(&c->state, 0, 3) > 0 && (rows > 1 || columns > 1)) {
        const bool by_row = columns == 1 || (rows > 1 && pick(&c->state, 0, 1) == 0);
        if (by_row) {
            const uint32_t first = pick(&c->state, 1, rows - 1);
            cut(c, row, first, column, columns, depth - 1);
            cut(c, row + first, rows - first, column, columns, depth - 1);
        } else {
            const uint32_t first = pick(&c->state, 1, columns - 1);
            cut(c, row, rows, column, first, depth - 1);
            cut(c, row, rows, column + first, columns - first, depth - 1);
        }
        return;
    }
    const size_t length = (size_t)columns * c->inner;
    float *data = mts_arena_zero(c->arena, rows * length, sizeof *data);
    assert_non_null(data);
    for (uint32_t r = 0; r < rows; r++) {
        memcpy(data + r * length, c->dense + ((size_t)(row + r) * c->columns + column) * c->inner,
               length * sizeof *data);
    }
    c->blocks[c->count++] = (mts_block_ref){.block = MTS_NONE,
                                            .out_first = row,
                                            .out_count = rows,
                                            .in_first = column,
                                            .in_count = columns,
                                            .data = data};
}

/* Cuts every weight of the graph's convolutions at random; the numbers stay the same. */
static void cut_graph(mts_graph *graph, uint64_t seed)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        mts_value *weight = &graph->values[graph->nodes[n].inputs[graph->nodes[n].op == MTS_OP_CONV ? 1 : 0]];
        if (graph->nodes[n].op != MTS_OP_CONV) {
            continue;
        }
        uint32_t rows = 0;
        cutting c = {.arena = graph->arena, .dense = weight->blocks[0].data, .state = seed + n};
        mts_value_matrix(weight, &rows, &c.columns, &c.inner);
        c.blocks = mts_arena_zero(graph->arena, 64, sizeof *c.blocks);
        assert_non_null(c.blocks);
        cut(&c, 0, rows, 0, c.columns, 4);
        weight->blocks = c.blocks;
        weight->block_count = c.count;
    }
}

static void weights_in_any_blocks_give_the_right_sums(void **state)
{
    (void)state;
    for (uint32_t seed = 600; seed < 660; seed++) {
        const random_family family = {
            .seed = seed, .tasks = 1 + seed % 3, .steps = 4, .common = seed % 2 == 0};
        world w;
        mts_error error = {0};
        world_begin(&w);
        for (uint32_t t = 0; t < family.tasks; t++) {
            mts_graph *graph = random_net(&family, t, &w.arena);
            assert_non_null(graph);
            cut_graph(graph, seed * 7 + (seed % 3 == 0 ? 0 : t)); /* sometimes all tasks alike */
            must(mts_graph_verify(graph, &error), &error, "verify");
            world_add(&w, graph, random_input(&family, t, graph, 0, &w.arena));
        }
        must(net_make_as_is(w.graphs, family.tasks, &w.net, &error), &error, "bundle");
        for (int d = 0; d < 2 && devices[d] && (d == 0 || seed < 602); d++) {
            (void)run_tasks(&w, d, MTS_STRATEGY_COMPACT, !family.common, family.tasks);
            (void)run_tasks(&w, d, MTS_STRATEGY_SEQUENTIAL, !family.common, family.tasks);
        }
        world_end(&w);
    }
}

/* ---- a family with U, X, Y, Z built by hand ---- */

typedef struct uxyz {
    world w;
    uint32_t tasks, shared, exclusive[TASKS_MOST]; /* channels of both layers */
    bool common;
} uxyz;

static const float *noise(mts_arena *arena, size_t count, uint64_t seed)
{
    float *data = mts_arena_zero(arena, count, sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        data[i] = (float)(mts_hash(&i, sizeof i, seed) >> 40) / (float)(1u << 23) - 1.0f;
    }
    return data;
}

/* A 3x3 convolution with weights in given blocks and a bias of the task's own. */
static uint32_t add_layer(mts_graph *graph, uint32_t x, uint32_t rows, uint32_t columns,
                          const mts_block_ref *blocks, uint32_t count, uint64_t own)
{
    const mts_attrs attrs = {.conv = {.kernel = {3, 3},
                                      .stride = {1, 1},
                                      .dilation = {1, 1},
                                      .pad = {1, 1, 1, 1},
                                      .group = 1,
                                      .act = {.fn = MTS_FN_RELU}}};
    char name[32];
    mts_error error = {0};
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){rows, columns, 3, 3});
    const mts_shape line = mts_shape_make(1, (const int64_t[]){rows});
    (void)snprintf(name, sizeof name, "w%u", graph->value_count);
    const uint32_t weight = mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, &shape, blocks[0].data);
    (void)snprintf(name, sizeof name, "b%u", graph->value_count);
    const uint32_t bias =
        mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, &line, noise(graph->arena, rows, own));
    graph->values[weight].blocks = mts_arena_zero(graph->arena, count, sizeof *blocks);
    assert_non_null(graph->values[weight].blocks);
    memcpy(graph->values[weight].blocks, blocks, count * sizeof *blocks);
    graph->values[weight].block_count = count;
    const uint32_t inputs[4] = {x, weight, MTS_NONE, bias};
    uint32_t value = MTS_NONE;
    must(mts_graph_add_node(graph, MTS_OP_CONV, name, inputs, 4, &attrs, &value, &error), &error, "node");
    return value;
}

/* Layer 1: U over the input, and X_t. Layer 2: U over P_t, Y_t over Q_t; [X_t; Z_t] over both. */
static void add_task(uxyz *u, uint32_t t)
{
    mts_error error = {0};
    const uint32_t s = u->shared, e = u->exclusive[t], channels = 3, all = s + e;
    mts_arena *arena = &u->w.arena;
    mts_graph *graph = mts_graph_create(arena, "uxyz");
    assert_non_null(graph);
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){1, channels, 10, 9});
    uint32_t x = mts_graph_add_input(graph, "input", MTS_TYPE_FLOAT32, &shape);
    const mts_block_ref first[2] = {
        {MTS_NONE, 0, s, 0, channels, noise(arena, (size_t)s * channels * 9, 1)},
        {MTS_NONE, s, e, 0, channels, noise(arena, (size_t)e * channels * 9, 10 + t)}};
    x = add_layer(graph, x, all, channels, first, e ? 2 : 1, 100 + t);
    const mts_block_ref second[3] = {{MTS_NONE, 0, s, 0, s, noise(arena, (size_t)s * s * 9, 2)},
                                     {MTS_NONE, 0, s, s, e, noise(arena, (size_t)s * e * 9, 20 + t)},
                                     {MTS_NONE, s, e, 0, all, noise(arena, (size_t)e * all * 9, 30 + t)}};
    x = add_layer(graph, x, all, all, second, e ? 3 : 1, 200 + t);
    must(mts_graph_add_output(graph, "out", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error), &error,
         "output");
    world_add(&u->w, graph, noise(arena, mts_shape_count(&shape), 1000 + (u->common ? 0 : t)));
}

static void uxyz_make(uxyz *u)
{
    mts_error error = {0};
    world_begin(&u->w);
    for (uint32_t t = 0; t < u->tasks; t++) {
        add_task(u, t);
    }
    must(net_make_as_is(u->w.graphs, u->tasks, &u->w.net, &error), &error, "bundle");
}

/* Bytes of all weight blocks, each once. */
static uint64_t block_bytes(const uxyz *u)
{
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < u->w.net.archive->block_count; b++) {
        bytes += u->w.net.archive->blocks[b].size;
    }
    return bytes;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Room for rounding each piece up to 64 bytes, and for the mask of the frame's borders. */
static uint64_t slack(const uxyz *u)
{
    return round_up(10 * 16 * 4) + 64 * (u->w.net.archive->block_count + 8) * 4;
}

static void uxyz_of(uxyz *u, uint32_t tasks, uint32_t shared, const uint32_t *exclusive, bool common)
{
    *u = (uxyz){.tasks = tasks, .shared = shared, .common = common};
    memcpy(u->exclusive, exclusive, tasks * sizeof *exclusive);
    uxyz_make(u);
}

static void shared_and_exclusive_channels_give_the_right_sums(void **state)
{
    (void)state;
    static const uint32_t cases[6][5] = {{8, 3, 3, 3, 3},   {12, 3, 5, 1, 9},     {24, 1, 2, 3, 4},
                                         {5, 12, 7, 12, 7}, {16, 16, 16, 16, 16}, {9, 0, 0, 0, 0}};
    for (int i = 0; i < 6; i++) {
        for (int common = 0; common < 2; common++) {
            uxyz u;
            uxyz_of(&u, TASKS_MOST, cases[i][0], cases[i] + 1, common);
            for (int d = 0; d < 2 && devices[d] && (d == 0 || i < 2); d++) {
                (void)run_tasks(&u.w, d, MTS_STRATEGY_COMPACT, !common, TASKS_MOST);
                (void)run_tasks(&u.w, d, MTS_STRATEGY_SEQUENTIAL, !common, TASKS_MOST);
            }
            world_end(&u.w);
        }
    }
}

static void a_shared_block_lies_on_the_device_once(void **state)
{
    (void)state;
    static const uint32_t cases[5][5] = {
        {8, 3, 3, 3, 3}, {12, 3, 5, 1, 9}, {24, 1, 2, 3, 4}, {64, 4, 5, 6, 7}, {60, 10, 20, 3, 7}};
    for (int i = 0; i < 5; i++) {
        uxyz u;
        uxyz_of(&u, TASKS_MOST, cases[i][0], cases[i] + 1, false);
        const mts_session_stats stats = run_tasks(&u.w, 0, MTS_STRATEGY_COMPACT, true, TASKS_MOST);
        if (stats.weight_bytes > block_bytes(&u) + slack(&u)) {
            print_error("%u shared channels: %llu bytes on the device for %llu bytes of blocks\n",
                        cases[i][0], (unsigned long long)stats.weight_bytes,
                        (unsigned long long)block_bytes(&u));
            fail();
        }
        world_end(&u.w);
    }
}

static void shared_channels_of_a_common_input_are_multiplied_once(void **state)
{
    (void)state;
    static const uint32_t cases[5][5] = {
        {8, 3, 3, 3, 3}, {12, 3, 5, 1, 9}, {24, 1, 2, 3, 4}, {64, 4, 5, 6, 7}, {60, 10, 20, 3, 7}};
    for (int i = 0; i < 5; i++) {
        uxyz u;
        uxyz_of(&u, TASKS_MOST, cases[i][0], cases[i] + 1, true);
        const mts_session_stats stats = run_tasks(&u.w, 0, MTS_STRATEGY_COMPACT, false, TASKS_MOST);
        uint64_t rows = cases[i][0], cells = 0;
        for (uint32_t t = 0; t < TASKS_MOST; t++) {
            const uint64_t all = cases[i][0] + cases[i][t + 1];
            rows += cases[i][t + 1];
            cells += all * all;
        }
        const uint64_t needed = (rows * 3 + cells) * 9 * 90; /* layer 1 once, layer 2 a task */
        if (stats.mul_adds != needed) {
            print_error("%u shared channels: %llu multiply-adds, %llu are needed\n", cases[i][0],
                        (unsigned long long)stats.mul_adds, (unsigned long long)needed);
            fail();
        }
        world_end(&u.w);
    }
}

/* ---- equal bytes in another shape ---- */

/* Two 1x1 convolutions with the same 64 numbers: 8 rows of 8, and 16 rows of 4 (two groups). */
static const mts_graph *flat_graph(mts_arena *arena, int64_t size)
{
    mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    mts_error error = {0};
    mts_graph *graph = mts_graph_create(arena, "flat");
    assert_non_null(graph);
    const float *data = noise(arena, 64, 6);
    const mts_shape input = mts_shape_make(4, (const int64_t[]){1, 8, size, size});
    const mts_shape dense = mts_shape_make(4, (const int64_t[]){8, 8, 1, 1});
    const mts_shape grouped = mts_shape_make(4, (const int64_t[]){16, 4, 1, 1});
    uint32_t x = mts_graph_add_input(graph, "input", MTS_TYPE_FLOAT32, &input);
    const uint32_t first[2] = {x, mts_graph_add_const(graph, "dense", MTS_TYPE_FLOAT32, &dense, data)};
    must(mts_graph_add_node(graph, MTS_OP_CONV, "n0", first, 2, &attrs, &x, &error), &error, "node");
    const uint32_t second[2] = {x, mts_graph_add_const(graph, "grouped", MTS_TYPE_FLOAT32, &grouped, data)};
    attrs.conv.group = 2;
    must(mts_graph_add_node(graph, MTS_OP_CONV, "n1", second, 2, &attrs, &x, &error), &error, "node");
    must(mts_graph_add_output(graph, "out", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error), &error,
         "output");
    return graph;
}

static void equal_bytes_in_another_shape_are_not_mixed_up(void **state)
{
    (void)state;
    for (int64_t size = 1; size < 6; size += 4) {
        world w;
        mts_error error = {0};
        world_begin(&w);
        world_add(&w, flat_graph(&w.arena, size), noise(&w.arena, (size_t)(8 * size * size), 5));
        must(net_make(w.graphs, 1, 0.0f, &w.net, &error), &error, "bundle");
        (void)run_tasks(&w, 0, MTS_STRATEGY_COMPACT, false, 1);
        world_end(&w);
    }
}

/* ---- steady state ---- */

static void a_run_allocates_nothing(void **state)
{
    (void)state;
    for (int d = 0; d < 2 && devices[d]; d++) {
        world w;
        equal_models(&w, 300, false);
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
        mts_engine *engine = NULL;
        mts_error error = {0};
        must(mts_planned_engine_create(devices[d], w.net.archive, &options, NULL, &engine, NULL, &error),
             &error, "engine");
        const uint32_t before = counter.calls;
        for (int i = 0; i < 3; i++) {
            run(&w, engine);
        }
        assert_int_equal(counter.calls, before);
        compare(&w, engine, device_names[d]);
        mts_engine_destroy(&engine);
        world_end(&w);
    }
}

static bool open_devices(void)
{
    mts_error error = {0};
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    mts_wrap_allocator_init(&counter, mts_allocator_default(), 0);
    if (mts_os_directory_make(WORK, &error) != MTS_STATUS_OK) {
        return false;
    }
    for (size_t i = 0; i < count * 2; i++) {
        const mts_backend *backend = table[i / 2];
        const char *name = second_device_backend(device_names[i % 2]);
        if (strcmp(backend->name, name) == 0 && backend->count() > 0) {
            const mts_device_options options = {.allocator = &counter.base,
                                                .cache_dir = second_device_cache(name, WORK)};
            (void)backend->open(0, &options, &devices[i % 2], &error);
        }
    }
    return devices[0];
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_model_twice_on_one_frame_is_computed_and_stored_once),
        cmocka_unit_test(the_same_model_twice_on_two_frames_is_stored_once_and_launched_together),
        cmocka_unit_test(sequential_gives_every_model_its_own_weights),
        cmocka_unit_test(weights_in_any_blocks_give_the_right_sums),
        cmocka_unit_test(shared_and_exclusive_channels_give_the_right_sums),
        cmocka_unit_test(a_shared_block_lies_on_the_device_once),
        cmocka_unit_test(shared_channels_of_a_common_input_are_multiplied_once),
        cmocka_unit_test(equal_bytes_in_another_shape_are_not_mixed_up),
        cmocka_unit_test(a_run_allocates_nothing),
    };
    if (!open_devices()) {
        printf("no device\n");
        return 1;
    }
    for (int d = 0; d < 2 && devices[d]; d++) {
        devices[d]->info.launch_ns = 0; /* stitching alone: a launch for each layer */
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}

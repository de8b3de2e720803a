/*
 * test_simulated_gpu.c: a frame on a GPU that is simulated: N units take the tiles of a launch in its order, launches run
 * one after another with a gap before each, tiles cost what the planner's model says.
 *
 * Waves must never make a frame slower. `MTS_TEST_BUNDLE=app.mtsb build/release/bin/plan_simulated_gpu` prints the frame of
 * a bundle beside its bounds: work / N or the longest chain of tiles, without and with a gap before each tile of the chain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/align.h"
#include "lower/lower.h"
#include "plan/wave_steps.h"
#include "platform/os/os.h"
#include "support/random_net.h"
#include "support/synth.h"

#define GRAPHS_MOST 32u
#define FAMILIES 40u

typedef struct world {
    mts_arena arena;
    const mts_graph *graphs[GRAPHS_MOST];
    uint32_t count, groups, group_of[GRAPHS_MOST];
    mts_stitched *stitched;
} world;

typedef struct frame {
    uint32_t waves;
    double ns, work_ns, chain_ns, gaps_ns;
    uint64_t floats;
} frame;

static void stitch(world *w, bool share)
{
    uint32_t slots[GRAPHS_MOST][16];
    const uint32_t *slot_of[GRAPHS_MOST];
    uint32_t next = 0;
    mts_error error = {0};
    for (uint32_t g = 0; g < w->count; g++) {
        assert_true(w->graphs[g]->input_count <= 16);
        slot_of[g] = slots[g];
        for (uint32_t i = 0; i < w->graphs[g]->input_count; i++) {
            slots[g][i] = next++;
        }
    }
    const mts_stitch_request request = {.graphs = w->graphs,
                                        .graph_count = w->count,
                                        .group_of = w->group_of,
                                        .group_count = w->groups,
                                        .slot_of = slot_of,
                                        .share = share};
    test_must(mts_stitch(&request, &w->arena, &w->stitched, &error), &error, "stitch");
}

/* Tiles of one step: so many of so many nanoseconds. */
typedef struct tiles {
    double ns;
    uint64_t count;
} tiles;

static tiles tiles_of(const mts_plan *plan, const mts_step *step)
{
    const mts_device_info gpu = {.is_gpu = true};
    const uint64_t count = mts_wave_tiles(plan, step);
    const double ns = (double)mts_step_cost(plan, step) / (double)mts_wave_rate(&gpu);
    return (tiles){.ns = ns / (double)count, .count = count};
}

static int larger_first(const void *left, const void *right)
{
    const tiles *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

/* Nanoseconds of one launch: each tile goes to the unit that is free first. */
static double run_launch(tiles *list, uint32_t count, uint32_t units)
{
    double free_at[132] = {0.0}, end = 0.0;
    qsort(list, count, sizeof *list, larger_first);
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t t = 0; t < list[i].count; t++) {
            uint32_t unit = 0;
            for (uint32_t u = 1; u < units; u++) {
                unit = free_at[u] < free_at[unit] ? u : unit;
            }
            free_at[unit] += list[i].ns;
            end = free_at[unit] > end ? free_at[unit] : end;
        }
    }
    return end;
}

/* The longest chain of tiles that wait for each other through a storage, in nanoseconds with `gap` before each. */
static double longest_chain(const mts_plan *plan, double gap)
{
    double *written = calloc(plan->storage_count, sizeof *written);
    double longest = 0.0;
    assert_non_null(written);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const mts_step *step = &plan->steps[i];
        double end = 0.0;
        for (int writes = 0; writes < 2; writes++) {
            end += writes == 1 ? gap + tiles_of(plan, step).ns : 0.0;
            for (uint32_t k = 0; k < step->uses; k++) {
                const mts_storage_use *use = &plan->uses[step->use + k];
                const uint32_t host = plan->storages[use->storage].host;
                double *at = &written[host != MTS_NONE ? host : use->storage];
                end = writes == 0 && !use->writes && *at > end ? *at : end;
                *at = writes == 1 && use->writes && end > *at ? end : *at;
            }
        }
        longest = end > longest ? end : longest;
    }
    free(written);
    return longest;
}

/* ---- programs ---- */

/* As if one kernel computed all steps but convolutions, depthwise and fully connected layers. */
static uint32_t moves_in_one_program(void *context, const mts_plan *plan, const mts_step *step)
{
    const uint32_t program = mts_encode_program(context, plan, step);
    return program < MTS_PROGRAM_CONV ? 0 : program;
}

/* As if one kernel computed everything. */
static uint32_t one_program(void *context, const mts_plan *plan, const mts_step *step)
{
    (void)context;
    (void)plan;
    (void)step;
    return 0;
}

typedef uint32_t (*programs)(void *context, const mts_plan *plan, const mts_step *step);

/* ---- a frame ---- */

/* `program`: of the waves; NULL: each step is one. */
static frame simulate(world *w, uint32_t units, double gap, programs program)
{
    const mts_device_info device = {.is_gpu = true,
                                    .compute_units = units,
                                    .launch_ns = (uint32_t)gap,
                                    .vector_floats = 4,
                                    .work_group_size = 256,
                                    .local_bytes = 1 << 15};
    mts_encoding kernels = {.stitched = w->stitched, .device = &device, .arena = &w->arena};
    const mts_plan_waves wanted = {.program = program,
                                   .context = &kernels,
                                   .launch = (uint64_t)(gap * (double)mts_wave_rate(&device)),
                                   .units = units};
    const mts_plan_request request = {
        .stitched = w->stitched, .waves = program ? &wanted : NULL, .lane_floats = 1 << 30};
    mts_plan *plan = NULL;
    mts_error error = {0};
    frame f = {0};
    test_must(mts_plan_create(&request, &w->arena, &plan, &error), &error, "plan");
    tiles *list = calloc(plan->step_count, sizeof *list);
    assert_non_null(list);
    for (uint32_t first = 0, end = 0; first < plan->step_count; first = end) {
        for (; end < plan->step_count && plan->steps[end].wave == plan->steps[first].wave; end++) {
            list[end - first] = tiles_of(plan, &plan->steps[end]);
            f.work_ns += list[end - first].ns * (double)list[end - first].count / units;
        }
        f.ns += gap + run_launch(list, end - first, units);
        f.waves++;
    }
    free(list);
    f.chain_ns = longest_chain(plan, 0.0);
    f.gaps_ns = longest_chain(plan, gap);
    f.floats = plan->arena_floats;
    return f;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- tests ---- */

/* Networks of different seeds align nowhere; those of one seed do. */
static void waves_of_random_networks_are_not_slower(void **state)
{
    static const uint32_t units[] = {2, 16, 132};
    static const double gaps[] = {1000.0, 3000.0};
    double sum = 0.0;
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        world w = {.count = 2 + seed % 5};
        mts_arena_init(&w.arena, mts_allocator_default());
        for (uint32_t g = 0; g < w.count; g++) {
            const random_family family = {
                .seed = 400 + 10 * seed + g, .tasks = 1, .steps = 3 + (seed + g) % 8};
            w.graphs[g] = random_net(&family, 0, &w.arena);
            w.group_of[g] = w.groups++;
            assert_non_null(w.graphs[g]);
        }
        stitch(&w, true);
        const frame apart = simulate(&w, units[seed % 3], gaps[seed % 2], NULL);
        const frame together = simulate(&w, units[seed % 3], gaps[seed % 2], mts_encode_program);
        assert_true(together.waves <= apart.waves);
        assert_true(together.ns <= apart.ns * 1.0001);
        assert_true(together.ns * 1.0001 >= larger(together.work_ns, together.chain_ns));
        sum += together.ns / apart.ns;
        mts_arena_release(&w.arena);
    }
    print_message("mean time with waves / without: %.2f\n", sum / FAMILIES);
    assert_true(sum / FAMILIES < 0.8);
}

static void print_bundle(const char *path)
{
    static const uint32_t units[] = {2, 16, 132};
    static const double gaps[] = {3000.0, 1000.0};
    mts_os_map map;
    mts_archive *archive = NULL;
    mts_error error = {0};
    world w = {0};
    test_must(mts_os_map_file(path, &map, &error), &error, path);
    test_must(mts_archive_read(map.data, map.size, path, NULL, mts_allocator_default(), &archive, &error),
              &error, path);
    mts_arena_init(&w.arena, mts_allocator_default());
    w.count = archive->task_count < GRAPHS_MOST ? archive->task_count : GRAPHS_MOST;
    for (uint32_t g = 0; g < w.count; g++) {
        w.graphs[g] = archive->tasks[g].graph;
    }
    test_must(mts_graph_families(w.graphs, w.count, mts_allocator_default(), w.group_of, &w.groups, &error),
              &error, "families");
    stitch(&w, true);
    static const programs kinds[] = {NULL, mts_encode_program, moves_in_one_program, one_program};
    static const char *const names[] = {"no waves", "same program", "moves in one", "one program"};
    printf("units  gap us  waves of      launches       us  / bound  / bound with gaps  arena\n");
    for (uint32_t i = 0; i < 24; i++) {
        const uint32_t n = units[i / 8];
        const double gap = gaps[i / 4 % 2];
        const frame apart = simulate(&w, n, gap, NULL), f = simulate(&w, n, gap, kinds[i % 4]);
        printf("%5u  %6.0f  %-12s  %8u %8.0f  %7.2f  %17.2f  %5.2f\n", n, gap / 1000, names[i % 4], f.waves,
               f.ns / 1000, f.ns / larger(apart.work_ns, apart.chain_ns),
               f.ns / larger(apart.work_ns, apart.gaps_ns), (double)f.floats / (double)apart.floats);
    }
    mts_arena_release(&w.arena);
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
}

static void a_bundle_beside_its_bounds(void **state)
{
    const char *path = getenv("MTS_TEST_BUNDLE");
    (void)state;
    if (!path) {
        skip();
    }
    print_bundle(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_of_random_networks_are_not_slower),
        cmocka_unit_test(a_bundle_beside_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

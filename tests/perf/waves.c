/*
 * waves.c: frames of a bundle with waves or lanes, without them, and one network after another, in turns.
 *
 *     bench_waves BUNDLE [BACKEND [TURNS [SLICES]]]
 *
 * Three engines of one process: strategy compact as sessions have it; the same in order (mts_engine_options.in_order:
 * the same layers, slices and kernels, but a launch for each layer and the memory of one network at a time); and
 * strategy sequential. A turn runs each engine three times in a row, so that its caches are warm, and the least of
 * the last two counts; which engine begins changes from turn to turn. Ratios are taken within a turn, which a
 * machine whose speed drifts hardly moves. Prints their median, and between which two the true median is with a
 * probability of 95 % (order statistics). Inputs lie in the caller's memory, as in mts bench. SLICES: bytes of the slices
 * of the first engine, instead of those that sessions choose.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_backend.h"
#include "bundle/archive.h"
#include "engine/engine.h"
#include "engine/profile.h"
#include "platform/os/os.h"
#include "tune/tune.h"

enum { WAYS = 3, RUNS = 3, WARM_TURNS = 2, TURNS = 30, TURNS_MOST = 1000 };

static const char *const names[WAYS] = {"compact", "in order", "sequential"};

static void give_up(const char *what, const mts_error *error)
{
    (void)fprintf(stderr, "bench_waves: %s: %s\n", what, error->text);
    exit(1);
}

/* Numbers that the engines read where they lie; they stay until the process ends. */
static void set_inputs(mts_engine *const *engines, const mts_archive *archive)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t i = 0; i < graph->input_count; i++) {
            const size_t count = mts_shape_count(&graph->inputs[i].shape);
            const size_t size = (count * sizeof(float) + 63) / 64 * 64;
            float *data = aligned_alloc(64, size);
            for (size_t k = 0; data && k < count; k++) {
                data[k] = (float)((k * 2654435761u + t) % 1000) / 1000.0f;
            }
            for (int w = 0; w < WAYS; w++) {
                if (!data || mts_engine_set_input(engines[w], t, i, data, count * sizeof *data, &error) !=
                                 MTS_STATUS_OK) {
                    give_up("an input", &error);
                }
            }
        }
    }
}

static double run(mts_engine *engine)
{
    mts_error error = {0};
    const uint64_t start = mts_os_clock_ns();
    if (mts_engine_submit(engine, &error) != MTS_STATUS_OK ||
        mts_engine_wait(engine, &error) != MTS_STATUS_OK) {
        give_up("a frame", &error);
    }
    return (double)(mts_os_clock_ns() - start) * 1e-6;
}

static double run_warm(mts_engine *engine)
{
    double least = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        const double ms = run(engine);
        least = i > 0 && ms < least ? ms : least;
    }
    return least;
}

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void show(const double times[][TURNS_MOST], uint32_t turns, uint32_t way)
{
    static double sorted[TURNS_MOST];
    static double ratio[TURNS_MOST];
    for (uint32_t i = 0; i < turns; i++) {
        sorted[i] = times[way][i];
        ratio[i] = times[0][i] / times[way][i];
    }
    qsort(sorted, turns, sizeof *sorted, compare_times);
    qsort(ratio, turns, sizeof *ratio, compare_times);
    const double half = 1.96 * sqrt((double)turns) / 2.0;
    const double low = floor((double)turns / 2.0 - half);
    const uint32_t at = low < 0.0 ? 0 : (uint32_t)low;
    printf("  median %8.3f ms  least %8.3f", sorted[turns / 2], sorted[0]);
    if (way > 0) {
        printf("  compact / this %.3f (%.3f to %.3f)", ratio[turns / 2], ratio[at], ratio[turns - 1 - at]);
    }
    printf("\n");
}

/*
 * Where a frame's time is, by the device's clock: of each launch, and of what lies before it, the least of PROFILED runs,
 * which the engines have in turns. What lies between launches is what fewer of them can save.
 */
static void show_profiles(mts_engine *const *engines)
{
    enum { PROFILED = 40 };
    mts_launch_profile *launches = NULL;
    double *least[WAYS] = {NULL};
    uint32_t counts[WAYS] = {0};
    mts_error error = {0};
    for (int w = 0; w < WAYS; w++) {
        mts_session_stats stats = {.size = sizeof stats};
        mts_engine_stats_get(engines[w], &stats);
        counts[w] = stats.launches;
        least[w] = calloc(2 * (size_t)counts[w] + 1, sizeof *least[w]);
        if (!least[w]) {
            give_up("a profile", &error);
        }
    }
    for (uint32_t run = 0; run < PROFILED; run++) {
        for (int w = 0; w < WAYS; w++) {
            double clock = 0.0;
            launches = calloc(counts[w] + 1, sizeof *launches);
            if (!launches || mts_engine_profile(engines[w], 1, launches, &error) != MTS_STATUS_OK) {
                give_up("a profile", &error);
            }
            for (uint32_t i = 0; i < counts[w]; i++) {
                const double gap = launches[i].start_ms - clock, own = launches[i].duration_ms;
                clock = launches[i].start_ms + own;
                least[w][2 * i] = run == 0 || own < least[w][2 * i] ? own : least[w][2 * i];
                least[w][2 * i + 1] = run == 0 || gap < least[w][2 * i + 1] ? gap : least[w][2 * i + 1];
            }
            free(launches);
        }
    }
    for (int w = 0; w < WAYS; w++) {
        double kernels = 0.0, gaps = 0.0;
        for (uint32_t i = 0; i < counts[w]; i++) {
            kernels += least[w][2 * i];
            gaps += least[w][2 * i + 1];
        }
        printf("%-10s  kernels %7.3f ms  between them %7.3f\n", names[w], kernels, gaps);
        free(least[w]);
    }
}

/* The engine, which the caller destroys; slices: 0, or those of way 0. */
static mts_engine *make_engine(mts_device *device, const mts_archive *archive, int way, uint64_t slices)
{
    const mts_decision decision = {.slice_bytes = slices};
    const mts_engine_options options = {.strategy = way == 2 ? MTS_STRATEGY_SEQUENTIAL : MTS_STRATEGY_COMPACT,
                                        .separate_inputs = true,
                                        .zero_copy_inputs = true,
                                        .in_order = way == 1};
    mts_engine *engine = NULL;
    mts_planning_report report = {0};
    mts_session_stats stats = {.size = sizeof stats};
    mts_error error = {0};
    const bool forced = slices > 0 && way == 0;
    const mts_status status =
        forced ? mts_engine_create(device, archive, &options, &decision, NULL, &engine, &error)
               : mts_planned_engine_create(device, archive, &options, NULL, &engine, &report, &error);
    if (status != MTS_STATUS_OK) {
        give_up(names[way], &error);
    }
    mts_engine_stats_get(engine, &stats);
    printf("%-10s  %4u launches  peak %7.1f MB  activations %6.1f MB  slices %.2f MB\n", names[way],
           stats.launches, 1e-6 * (double)stats.peak_bytes, 1e-6 * (double)stats.activation_bytes,
           1e-6 * (double)(forced ? slices : report.slice_bytes));
    mts_planning_report_release(&report);
    return engine;
}

int main(int argc, char **argv)
{
    static double times[WAYS][TURNS_MOST];
    mts_error error = {0};
    mts_os_map map = {0};
    mts_archive *archive = NULL;
    mts_engine *engines[WAYS] = {NULL};
    const mts_archive_limits limits = mts_archive_limits_default();
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_waves BUNDLE [BACKEND [TURNS [SLICES]]]\n");
        return 2;
    }
    const unsigned long asked = argc > 3 ? strtoul(argv[3], NULL, 10) : TURNS;
    const uint32_t turns = asked >= 5 && asked <= TURNS_MOST ? (uint32_t)asked : TURNS;
    mts_device *device = bench_backend_open(argc > 2 ? argv[2] : "cpu", &error);
    if (!device) {
        (void)fprintf(stderr, "bench_waves: there is no such device\n");
        return 1;
    }
    if (mts_os_map_file(argv[1], &map, &error) != MTS_STATUS_OK ||
        mts_archive_read(map.data, map.size, argv[1], &limits, mts_allocator_default(), &archive, &error) !=
            MTS_STATUS_OK) {
        give_up(argv[1], &error);
    }
    for (int w = 0; w < WAYS; w++) {
        engines[w] = make_engine(device, archive, w, argc > 4 ? strtoull(argv[4], NULL, 10) : 0);
    }
    set_inputs(engines, archive);
    for (uint32_t turn = 0; turn < WARM_TURNS + turns; turn++) {
        for (uint32_t i = 0; i < WAYS; i++) {
            const uint32_t w = (turn + i) % WAYS;
            const double ms = run_warm(engines[w]);
            times[w][turn < WARM_TURNS ? 0 : turn - WARM_TURNS] = ms;
        }
    }
    show_profiles(engines);
    for (uint32_t w = 0; w < WAYS; w++) {
        printf("%-10s", names[w]);
        show((const double(*)[TURNS_MOST])times, turns, w);
        mts_engine_destroy(&engines[w]);
    }
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
    mts_device_destroy(&device);
    return 0;
}

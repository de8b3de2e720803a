/*
 * bench_kernels.c: GFLOP/s of the convolution family and their share of the device's measured multiply-add peak.
 *
 * Responsible for the list of layers, timing and printing (text or --json). Every result is compared with plain C before
 * it is timed. Only useful work is counted: no border lanes, no zeros. Not responsible for records (bench_conv.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_conv.h"
#include "bench_other.h"

enum { WARM = 10, TIMED = 60 };
#define TOLERANCE 1e-3

static double peak(bench_device *device) {
    const uint32_t vector = bench_device_vector(device), items = bench_device_units(device) * 16, rounds = 40000;
    const float pool[2] = {0.9f, 0.1f};
    double seconds[TIMED], best = 0.0;
    float *act = calloc((size_t)items * 16, sizeof *act);
    for (int chains = 8; chains <= 24; chains += 8) {
        char defines[64];
        snprintf(defines, sizeof defines, "-DCHAINS=%d", chains);
        const bench_launch launch = {"probe/fma_peak__f32", defines, 0, {items, 1, 1}, {1, 1, 1}};
        if (!act || !bench_device_load(device, act, (size_t)items * 16, pool, 2, &rounds, 1) ||
            !bench_device_time(device, &launch, 2, 9, seconds))
            break;
        const double rate = 2.0 * vector * chains * rounds * items / seconds[4];
        if (rate > best) best = rate;
    }
    free(act);
    return best;
}

static const bench_conv convs[] = {
    {"dense 3x3 64c 56x56", 1, 64, 64, 56, 56, 3, 1, 0, 0, 0, 0},
    {"dense 3x3 128c 28x28", 1, 128, 128, 28, 28, 3, 1, 0, 0, 0, 0},
    {"dense 3x3 256c 14x14", 1, 256, 256, 14, 14, 3, 1, 0, 0, 0, 0},
    {"dense 3x3 512c 7x7", 1, 512, 512, 7, 7, 3, 1, 0, 0, 0, 0},
    {"dense 1x1 64c 56x56", 1, 64, 64, 56, 56, 1, 1, 0, 0, 0, 0},
    {"dense 1x1 256c 14x14", 1, 256, 256, 14, 14, 1, 1, 0, 0, 0, 0},
    {"pruned x32 3x3 6c 56x56", 32, 6, 6, 56, 56, 3, 1, 0, 0, 0, 0},
    {"pruned x32 3x3 13c 28x28", 32, 13, 13, 28, 28, 3, 1, 0, 0, 0, 0},
    {"pruned x32 3x3 26c 14x14", 32, 26, 26, 14, 14, 3, 1, 0, 0, 0, 0},
    {"pruned x32 3x3 51c 7x7", 32, 51, 51, 7, 7, 3, 1, 0, 0, 0, 0},
    {"uxyz90 x32 3x3 6c 56x56", 32, 6, 6, 56, 56, 3, 1, 90, 0, 0, 0},
    {"uxyz90 x32 3x3 13c 28x28", 32, 13, 13, 28, 28, 3, 1, 90, 0, 0, 0},
    {"uxyz90 x32 3x3 26c 14x14", 32, 26, 26, 14, 14, 3, 1, 90, 0, 0, 0},
    {"uxyz90 x32 3x3 51c 7x7", 32, 51, 51, 7, 7, 3, 1, 90, 0, 0, 0},
    {"stride 2 x32 3x3 6c-13c 28x28", 32, 6, 13, 28, 28, 3, 2, 0, 0, 0, 0},
    {"stride 2 x32 1x1 6c-13c 28x28", 32, 6, 13, 28, 28, 1, 2, 0, 0, 0, 0},
    {"stride 2 x32 7x7 3c-6c 112x112", 32, 3, 6, 112, 112, 7, 2, 0, 0, 0, 0},
    {"stride 2 dense 7x7 3c-64c 112x112", 1, 3, 64, 112, 112, 7, 2, 0, 0, 0, 0},
    {"stride 2 dense 3x3 64c-128c 28x28", 1, 64, 128, 28, 28, 3, 2, 0, 0, 0, 0},
};

static const bench_depthwise depthwises[] = {
    {"depthwise 3x3 x32 16c 56x56", 32, 16, 56, 56, 3}, {"depthwise 3x3 x32 32c 14x14", 32, 32, 14, 14, 3},
    {"depthwise 3x3 128c 56x56", 1, 128, 56, 56, 3},    {"depthwise 5x5 240c 28x28", 1, 240, 28, 28, 5},
    {"depthwise 3x3 960c 7x7", 1, 960, 7, 7, 3},
};

static const bench_fc fcs[] = {
    {"fc x32 51-10", 32, 51, 10}, {"fc x32 512-1000", 32, 512, 1000}, {"fc 4096-4096", 1, 4096, 4096}};

/* Counts and the output form of one run. */
typedef struct session {
    bench_device *device;
    const char *only;
    double top;
    int json, bad, printed;
} session;

static void report(session *s, const char *name, double flops, const double *seconds, double error, uint32_t groups) {
    const double median = seconds[TIMED / 2], rate = flops / median;
    if (s->json) {
        printf("%s\n  {\"name\": \"%s\", \"correct\": %s, \"error\": %.2e, \"gflops\": %.1f, \"share\": %.3f, "
               "\"ms\": {\"median\": %.4f, \"p5\": %.4f, \"p95\": %.4f}}",
               s->printed++ ? "," : "", name, error < TOLERANCE ? "true" : "false", error < 1e9 ? error : 1e9, rate / 1e9,
               rate / s->top, 1e3 * median, 1e3 * seconds[TIMED / 20], 1e3 * seconds[TIMED - TIMED / 20 - 1]);
    } else if (error < TOLERANCE) {
        printf("%-34s %8.3f ms %7.1f GFLOP/s %5.1f %%   (p5 %.3f, p95 %.3f, %u groups, error %.0e)\n", name, 1e3 * median,
               rate / 1e9, 100.0 * rate / s->top, 1e3 * seconds[TIMED / 20], 1e3 * seconds[TIMED - TIMED / 20 - 1], groups,
               error);
    } else {
        printf("%-34s WRONG: error %g\n", name, error);
    }
    fflush(stdout);
}

typedef double (*error_of)(const bench_world *world, const void *layer, const float *result);

/* Runs once and compares, then times; the world is freed. */
static void measure(session *s, const char *name, const void *layer, error_of compare, double flops, bench_world *world,
                    const bench_launch *launch) {
    double seconds[TIMED] = {0}, error = INFINITY;
    float *result = malloc(world->act_count * sizeof *result);
    if (result &&
        bench_device_load(s->device, world->act, world->act_count, world->pool, world->pool_count, world->table,
                          world->table_count) &&
        bench_device_time(s->device, launch, 0, 1, seconds) && bench_device_read(s->device, result, world->act_count))
        error = compare(world, layer, result);
    if (error < TOLERANCE && !bench_device_time(s->device, launch, WARM, TIMED, seconds)) error = INFINITY;
    if (!(error < TOLERANCE)) s->bad++;
    report(s, name, flops, seconds, error, launch->global[0] * launch->global[1] * launch->global[2]);
    free(result);
    bench_world_free(world);
}

static double conv_error(const bench_world *w, const void *l, const float *r) { return bench_conv_error(w, l, r); }
static double depthwise_error(const bench_world *w, const void *l, const float *r) {
    return bench_depthwise_error(w, l, r);
}
static double fc_error(const bench_world *w, const void *l, const float *r) { return bench_fc_error(w, l, r); }

static void run_all(session *s, const bench_conv *policy) {
    const uint32_t vector = bench_device_vector(s->device), units = bench_device_units(s->device);
    static char defines[1024];
    bench_launch launch;
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        bench_world world = {.seed = 7};
        bench_conv c = convs[i];
        if (!strstr(c.name, s->only)) continue;
        c.most = policy->most;
        c.tile = policy->tile;
        c.row = policy->row;
        if (policy->tasks && c.tasks > 1) c.tasks = policy->tasks;
        bench_conv_make(&world, &c, vector, units, &launch, defines);
        measure(s, c.name, &c, conv_error, bench_conv_flops(&c), &world, &launch);
    }
    for (size_t i = 0; i < sizeof depthwises / sizeof depthwises[0]; i++) {
        bench_world world = {.seed = 7};
        const bench_depthwise *d = &depthwises[i];
        if (!strstr(d->name, s->only)) continue;
        bench_depthwise_make(&world, d, vector, &launch);
        measure(s, d->name, d, depthwise_error, bench_depthwise_flops(d), &world, &launch);
    }
    for (size_t i = 0; i < sizeof fcs / sizeof fcs[0]; i++) {
        bench_world world = {.seed = 7};
        const bench_fc *f = &fcs[i];
        if (!strstr(f->name, s->only)) continue;
        bench_fc_make(&world, f, vector, &launch);
        measure(s, f->name, f, fc_error, bench_fc_flops(f), &world, &launch);
    }
}

/* --json, --only TEXT, --rows N, --tile VECTORS, --row FLOATS, --tasks N */
static int options(int argc, char **argv, session *s, bench_conv *policy) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0) {
            s->json = 1;
            continue;
        }
        if (!value) return 0;
        if (strcmp(argv[i], "--only") == 0) s->only = value;
        else if (strcmp(argv[i], "--rows") == 0) policy->most = atoi(value);
        else if (strcmp(argv[i], "--tile") == 0) policy->tile = atoi(value);
        else if (strcmp(argv[i], "--row") == 0) policy->row = atoi(value);
        else if (strcmp(argv[i], "--tasks") == 0) policy->tasks = atoi(value);
        else return 0;
        i++;
    }
    return 1;
}

int main(int argc, char **argv) {
    session s = {.only = ""};
    bench_conv policy = {0};
    if (!options(argc, argv, &s, &policy)) {
        fputs("bench_kernels [--json] [--only TEXT] [--rows N] [--tile VECTORS] [--row FLOATS] [--tasks N]\n", stderr);
        return 2;
    }
    setenv("POCL_AFFINITY", "1", 0); /* else two workers often share a core: times double at random */
    s.device = bench_device_open();
    if (!s.device) return 1;
    s.top = peak(s.device);
    if (s.json) printf("{\"device\": \"%s\", \"peak_gflops\": %.1f, \"results\": [", bench_device_name(s.device), s.top / 1e9);
    else printf("%s: multiply-add peak %.1f GFLOP/s\n", bench_device_name(s.device), s.top / 1e9);
    run_all(&s, &policy);
    if (s.json) puts("\n]}");
    bench_device_close(&s.device);
    return s.bad != 0;
}

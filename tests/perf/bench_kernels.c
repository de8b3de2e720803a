/*
 * bench_kernels.c: GFLOP/s of the convolution family and their share of the device's measured multiply-add
 * peak.
 *
 * Responsible for the list of layers, timing and printing (text or --json). Every layer is run with float32
 * and with float16 stored (-DHALF=1), and every result is compared with plain C before it is timed. Only
 * useful work is counted: no border lanes, no zeros. Not responsible for records (bench_conv.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_conv.h"
#include "bench_other.h"

enum { WARM = 10, TIMED = 60 };
#define TOLERANCE 1e-3
#define HALF_TOLERANCE 5e-2 /* weights and inputs have eleven bits, and sums of thousands may cancel */
#define SKIPPED 77          /* what ctest takes for: no device here */

/* The fastest of several runs: other programs may only make the peak look lower, and shares larger. */
static double peak(bench_device *device)
{
    const uint32_t vector = bench_device_vector(device), items = bench_device_units(device) * 16,
                   rounds = 40000;
    const float pool[2] = {0.9f, 0.1f};
    double seconds[TIMED], best = 0.0;
    float *act = calloc((size_t)items * 16, sizeof *act);
    for (int chains = 8; chains <= 24; chains += 8) {
        char defines[64];
        snprintf(defines, sizeof defines, "-DCHAINS=%d", chains);
        const bench_launch launch = {"fma_peak__f32", defines, 0, {items, 1, 1}, {1, 1, 1}};
        if (!act || !bench_device_load(device, act, (size_t)items * 16, pool, 2, &rounds, 1) ||
            !bench_device_time(device, &launch, 2, 9, seconds))
            break;
        const double rate = 2.0 * vector * chains * rounds * items / seconds[0];
        if (rate > best)
            best = rate;
    }
    free(act);
    return best;
}

/* Options, and counts of one run. */
typedef struct session {
    bench_device *device;
    const char *only, *backend;
    bench_conv policy; /* of its fields only most, tile, row and tasks, where not 0 */
    double top;
    int json, check, bad, printed;
    int half, only_precision; /* of the layer that runs; 0: both, 1: float32, 2: float16 */
    uint32_t vector, local;
} session;

/*
 * Bytes a second that all units together copy, of a block of `bytes` in all: what lies in a cache is copied faster.
 * One thread's rate times the units: memory that they share makes less of it, and shares look smaller than they are.
 */
static double copy_rate(const session *s, double bytes)
{
    const size_t half = (size_t)bytes / 2 / bench_device_units(s->device) + 64;
    char *from = calloc(2, half);
    double best = 0.0;
    for (int i = 0; from && i < 40; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (size_t n = 0; n < 1 + (1 << 20) / half; n++)
            memcpy(from + (n % 2 ? half : 0), from + (n % 2 ? 0 : half), half);
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        const double rate = 2.0 * (double)half * (double)(1 + (1 << 20) / half) / seconds;
        best = rate > best ? rate : best;
    }
    free(from);
    return best * bench_device_units(s->device);
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
    {"mobile first 3x3 3c-32c 112x112", 1, 3, 32, 112, 112, 3, 2, 0, 0, 0, 0},
    {"mobile 1x1 16c-64c 112x112", 1, 16, 64, 112, 112, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 32c-16c 112x112", 1, 32, 16, 112, 112, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 24c-144c 56x56", 1, 24, 144, 56, 56, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 144c-24c 56x56", 1, 144, 24, 56, 56, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 32c-192c 28x28", 1, 32, 192, 28, 28, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 192c-32c 28x28", 1, 192, 32, 28, 28, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 64c-384c 14x14", 1, 64, 384, 14, 14, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 384c-96c 14x14", 1, 384, 96, 14, 14, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 160c-960c 7x7", 1, 160, 960, 7, 7, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 960c-160c 7x7", 1, 960, 160, 7, 7, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 32c-32c 96x96", 1, 32, 32, 96, 96, 1, 1, 0, 0, 0, 0},
    {"mobile 1x1 8c-8c 128x128", 1, 8, 8, 128, 128, 1, 1, 0, 0, 0, 0},
};

/* Every branch of the kernels on shapes that a simulator (oclgrind) can run; compared, not timed. */
static const bench_conv small_convs[] = {
    {"small 3x3 5c 6x6", 2, 5, 5, 6, 6, 3, 1, 0, 0, 0, 0},
    {"small uxyz60 3x3 7c 5x9", 3, 7, 7, 5, 9, 3, 1, 60, 4, 2, 0},
    {"small uxyz50 1x1 16c 7x7", 2, 16, 16, 7, 7, 1, 1, 50, 0, 1, 0},
    {"small stride 2 3x3 3c-4c 5x5", 2, 3, 4, 5, 5, 3, 2, 0, 0, 0, 0},
    {"small stride 2 7x7 2c-14c 6x4", 1, 2, 14, 6, 4, 7, 2, 0, 14, 0, 0},
    {"small 5x5 4c 8x8", 1, 4, 4, 8, 8, 5, 1, 0, 3, 3, 0},
};
static const bench_depthwise small_depthwises[] = {{"small depthwise 3x3 3c 6x6", 2, 3, 6, 6, 3, 1},
                                                   {"small depthwise 5x5 2c 9x11", 1, 2, 9, 11, 5, 1},
                                                   {"small depthwise 3x3 2c 7x18", 1, 2, 7, 18, 3, 2},
                                                   {"small depthwise 5x5 3c 5x4", 2, 3, 5, 4, 5, 2}};
static const bench_fc small_fcs[] = {{"small fc 19-10", 2, 19, 10}, {"small fc 7-33", 1, 7, 33}};

static const bench_depthwise depthwises[] = {
    {"depthwise 3x3 x32 16c 56x56", 32, 16, 56, 56, 3, 1},
    {"depthwise 3x3 x32 32c 14x14", 32, 32, 14, 14, 3, 1},
    {"depthwise 3x3 32c 112x112", 1, 32, 112, 112, 3, 1},
    {"depthwise 3x3 128c 56x56", 1, 128, 56, 56, 3, 1},
    {"depthwise 3x3 192c 28x28", 1, 192, 28, 28, 3, 1},
    {"depthwise 5x5 240c 28x28", 1, 240, 28, 28, 5, 1},
    {"depthwise 3x3 384c 14x14", 1, 384, 14, 14, 3, 1},
    {"depthwise 5x5 672c 14x14", 1, 672, 14, 14, 5, 1},
    {"depthwise 3x3 960c 7x7", 1, 960, 7, 7, 3, 1},
    {"depthwise 5x5 960c 7x7", 1, 960, 7, 7, 5, 1},
    {"depthwise 3x3 96c 56x56 stride 2", 1, 96, 56, 56, 3, 2},
    {"depthwise 3x3 144c 28x28 stride 2", 1, 144, 28, 28, 3, 2},
    {"depthwise 5x5 240c 14x14 stride 2", 1, 240, 14, 14, 5, 2},
    {"depthwise 3x3 576c 7x7 stride 2", 1, 576, 7, 7, 3, 2},
};

static const bench_fc fcs[] = {
    {"fc x32 51-10", 32, 51, 10}, {"fc x32 512-1000", 32, 512, 1000}, {"fc 4096-4096", 1, 4096, 4096}};

static double tolerance(const session *s)
{
    return s->half ? HALF_TOLERANCE : TOLERANCE;
}

/* bytes: 0 where the multiply-adds are the bound. */
static void report(session *s, const char *name, double flops, double bytes, const double *seconds,
                   double error, uint32_t groups)
{
    const double median = seconds[TIMED / 2], rate = median > 0.0 ? flops / median : 0.0;
    const double moved = bytes > 0.0 && !s->check ? bytes / copy_rate(s, bytes) : 0.0;
    const double bound = s->top > 0.0 && flops / s->top > moved ? flops / s->top : moved;
    const double of_bound = median > 0.0 ? bound / median : 0.0;
    const int right = error < tolerance(s);
    if (s->check) {
        printf("%-42s %s (error %.0e)\n", name, right ? "right" : "WRONG", error);
    } else if (s->json) {
        printf(
            "%s\n  {\"name\": \"%s\", \"correct\": %s, \"error\": %.2e, \"gflops\": %.1f, \"share\": %.3f, "
            "\"of_bound\": %.3f, \"ms\": {\"median\": %.4f, \"p5\": %.4f, \"p95\": %.4f}}",
            s->printed++ ? "," : "", name, right ? "true" : "false", error < 1e9 ? error : 1e9, rate / 1e9,
            rate / s->top, of_bound, 1e3 * median, 1e3 * seconds[TIMED / 20],
            1e3 * seconds[TIMED - TIMED / 20 - 1]);
    } else if (right) {
        printf("%-42s %8.3f ms %7.1f GFLOP/s %5.1f %%, of the bound %5.1f %%   (p5 %.3f, p95 %.3f, %u "
               "groups, error %.0e)\n",
               name, 1e3 * median, rate / 1e9, 100.0 * rate / s->top, 100.0 * of_bound,
               1e3 * seconds[TIMED / 20], 1e3 * seconds[TIMED - TIMED / 20 - 1], groups, error);
    } else {
        printf("%-42s WRONG: error %g\n", name, error);
    }
    fflush(stdout);
}

typedef double (*error_of)(const bench_world *world, const void *layer, const float *result);

/* Runs once and compares, then times. */
static void measure_one(session *s, const char *name, const void *layer, error_of compare, double flops,
                        double bytes, const bench_world *world, const bench_launch *launch)
{
    double seconds[TIMED] = {0}, error = INFINITY;
    float *result = malloc(world->act_count * sizeof *result);
    if (result &&
        bench_device_load(s->device, world->act, world->act_count, world->pool, world->pool_count,
                          world->table, world->table_count) &&
        bench_device_time(s->device, launch, 0, 1, seconds) &&
        bench_device_read(s->device, result, world->act_count))
        error = compare(world, layer, result);
    if (!s->check && error < tolerance(s) && !bench_device_time(s->device, launch, WARM, TIMED, seconds))
        error = INFINITY;
    if (!(error < tolerance(s)))
        s->bad++;
    report(s, name, flops, bytes, seconds, error, launch->global[0] * launch->global[1] * launch->global[2]);
    free(result);
}

/* In each precision; the world is freed. */
static void measure(session *s, const char *name, const void *layer, error_of compare, double flops,
                    double bytes, bench_world *world, const bench_launch *launch)
{
    for (s->half = 0; s->half < 2; s->half++) {
        char whole[96];
        snprintf(whole, sizeof whole, "%s%s", name, s->half ? ", float16" : "");
        if (s->only_precision == 0 || s->only_precision == s->half + 1) {
            bench_device_half(s->device, s->half != 0);
            measure_one(s, whole, layer, compare, flops, bytes, world, launch);
        }
    }
    bench_device_half(s->device, false);
    bench_world_free(world);
}

static double conv_error(const bench_world *w, const void *l, const float *r)
{
    return bench_conv_error(w, l, r);
}
static double depthwise_error(const bench_world *w, const void *l, const float *r)
{
    return bench_depthwise_error(w, l, r);
}
static double fc_error(const bench_world *w, const void *l, const float *r)
{
    return bench_fc_error(w, l, r);
}

static void run_convs(session *s, const bench_conv *layers, size_t count)
{
    const uint32_t units = bench_device_units(s->device);
    static char defines[1024];
    for (size_t i = 0; i < count; i++) {
        bench_world world = {.seed = 7};
        bench_launch launch;
        bench_conv c = layers[i];
        if (!strstr(c.name, s->only)) {
            continue;
        }
        c.most = s->policy.most != 0 ? s->policy.most : c.most;
        c.tile = s->policy.tile != 0 ? s->policy.tile : c.tile;
        c.row = s->policy.row != 0 ? s->policy.row : c.row;
        c.tasks = s->policy.tasks != 0 && c.tasks > 1 ? s->policy.tasks : c.tasks;
        bench_conv_make(&world, &c, units, bench_device_vector(s->device), &launch, defines);
        launch.local[0] = s->local;
        launch.global[0] *= s->local;
        measure(s, c.name, &c, conv_error, bench_conv_flops(&c), bench_conv_bytes(&c), &world, &launch);
        if (c.kernel == 3 && c.stride == 1 && s->local == 1) {
            char name[64];
            c.tile = s->policy.tile;
            world = (bench_world){.seed = 7};
            snprintf(name, sizeof name, "winograd %s", c.name);
            bench_conv_make_winograd(&world, &c, units, bench_device_vector(s->device), &launch, defines);
            measure(s, name, &c, conv_error, bench_conv_flops(&c), bench_conv_bytes(&c), &world, &launch);
        }
    }
}

static void run_depthwises(session *s, const bench_depthwise *layers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bench_world world = {.seed = 7};
        bench_launch launch;
        if (!strstr(layers[i].name, s->only)) {
            continue;
        }
        for (int rows = 0; rows < 2; rows++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s", layers[i].name, rows ? " by rows" : "");
            world = (bench_world){.seed = 7};
            if (rows) {
                bench_depthwise_make_rows(&world, &layers[i], &launch);
            } else if (layers[i].stride == 1) {
                bench_depthwise_make(&world, &layers[i], &launch);
            } else {
                continue;
            }
            launch.local[0] = s->local;
            launch.global[0] *= s->local;
            measure(s, name, &layers[i], depthwise_error, bench_depthwise_flops(&layers[i]),
                    bench_depthwise_bytes(&layers[i]), &world, &launch);
        }
    }
}

static void run_fcs(session *s, const bench_fc *layers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bench_world world = {.seed = 7};
        bench_launch launch;
        if (strstr(layers[i].name, s->only)) {
            bench_fc_make(&world, &layers[i], bench_device_vector(s->device), &launch);
            measure(s, layers[i].name, &layers[i], fc_error, bench_fc_flops(&layers[i]), 0.0, &world,
                    &launch);
        }
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void run_all(session *s)
{
    if (s->check) {
        run_convs(s, small_convs, COUNT(small_convs));
        run_depthwises(s, small_depthwises, COUNT(small_depthwises));
        run_fcs(s, small_fcs, COUNT(small_fcs));
        return;
    }
    s->top = peak(s->device);
    if (s->json) {
        printf("{\"device\": \"%s\", \"peak_gflops\": %.1f, \"results\": [", bench_device_name(s->device),
               s->top / 1e9);
    } else {
        printf("%s: multiply-add peak %.1f GFLOP/s\n", bench_device_name(s->device), s->top / 1e9);
    }
    run_convs(s, convs, COUNT(convs));
    run_depthwises(s, depthwises, COUNT(depthwises));
    run_fcs(s, fcs, COUNT(fcs));
    if (s->json) {
        puts("\n]}");
    }
}

static int number(session *s, const char *name, int value)
{
    const struct {
        const char *name;
        int *signed_to;
        uint32_t *to;
    } numbers[] = {{"--rows", &s->policy.most, NULL}, {"--tile", &s->policy.tile, NULL},
                   {"--row", &s->policy.row, NULL},   {"--tasks", &s->policy.tasks, NULL},
                   {"--vector", NULL, &s->vector},    {"--local", NULL, &s->local}};
    for (size_t i = 0; value > 0 && i < COUNT(numbers); i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            if (numbers[i].to) {
                *numbers[i].to = (uint32_t)value;
            } else {
                *numbers[i].signed_to = value;
            }
            return 1;
        }
    }
    return 0;
}

static int options(int argc, char **argv, session *s)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            s->json = 1;
        } else if (strcmp(argv[i], "--check") == 0) {
            s->check = 1;
        } else if (strcmp(argv[i], "--float32") == 0) {
            s->only_precision = 1;
        } else if (strcmp(argv[i], "--float16") == 0) {
            s->only_precision = 2;
        } else if (i + 1 < argc && strcmp(argv[i], "--only") == 0) {
            s->only = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--device") == 0) {
            s->backend = argv[++i];
        } else if (i + 1 < argc && number(s, argv[i], atoi(argv[i + 1]))) {
            i++;
        } else {
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    session s = {.only = "", .backend = "opencl", .local = 1};
    if (!options(argc, argv, &s)) {
        fputs("bench_kernels [--json | --check] [--float32 | --float16] [--only TEXT] [--device opencl|cpu]\n"
              "              [--vector FLOATS] [--local ITEMS] [--rows MOST] [--tile VECTORS] [--row FLOATS] "
              "[--tasks N]\n"
              "--check compares small layers and times nothing; the last line's options replace the policy\n",
              stderr);
        return 2;
    }
    s.device = bench_device_open(s.backend, s.vector);
    if (!s.device) {
        return SKIPPED;
    }
    run_all(&s);
    bench_device_close(&s.device);
    return s.bad != 0;
}

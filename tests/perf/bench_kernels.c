/*
 * bench_kernels.c: GFLOP/s of the convolution family and their share of the device's measured multiply-add peak.
 *
 * Responsible for the list of layers, timing and printing (text or --json). Every result is compared with plain C before
 * it is timed. Only useful work is counted: no border lanes, no zeros. Not responsible for records (bench_conv.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_conv.h"

enum { WARM = 10, TIMED = 60 };

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

static int run_conv(bench_device *device, const bench_conv *layer, double top, int json) {
    bench_world world = {.seed = 7};
    bench_launch launch;
    char defines[1024];
    double s[TIMED], error = 1e9;
    bench_conv_make(&world, layer, bench_device_vector(device), bench_device_units(device), &launch, defines);
    float *result = malloc(world.act_count * sizeof *result);
    if (result && bench_device_load(device, world.act, world.act_count, world.pool, world.pool_count, world.table,
                          world.table_count) &&
        bench_device_time(device, &launch, 0, 1, s) && bench_device_read(device, result, world.act_count))
        error = bench_conv_error(&world, layer, result);
    const int good = error < 1e-3;
    if (good && bench_device_time(device, &launch, WARM, TIMED, s)) {
        const double rate = bench_conv_flops(layer) / s[TIMED / 2];
        printf("%-36s %8.3f ms  %7.1f GFLOP/s  %5.1f %%  (p5 %.3f p95 %.3f, %u tiles, error %.1e) %s\n", layer->name,
               1e3 * s[TIMED / 2], rate / 1e9, 100.0 * rate / top, 1e3 * s[TIMED / 20], 1e3 * s[TIMED - TIMED / 20],
               launch.global[0], error, getenv("BENCH_VERBOSE") ? defines : "");
    } else {
        printf("%-36s WRONG: error %g\n", layer->name, error);
    }
    (void)json;
    free(result);
    bench_world_free(&world);
    return good;
}

int main(int argc, char **argv) {
    bench_device *device = bench_device_open();
    const char *only = argc > 1 ? argv[1] : "";
    int bad = 0;
    if (!device) return 1;
    const double top = peak(device);
    printf("%s: %.1f GFLOP/s peak\n", bench_device_name(device), top / 1e9);
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        bench_conv c = convs[i];
        if (argc > 2) c.most = atoi(argv[2]);
        if (argc > 3) c.tile = atoi(argv[3]);
        if (argc > 4) c.row = atoi(argv[4]);
        if (strstr(c.name, only)) bad += !run_conv(device, &c, top, 0);
    }
    bench_device_close(&device);
    return bad != 0;
}

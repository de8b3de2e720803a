/*
 * bench_world.c: growing arrays and planar tensors of the kernel benchmark.
 *
 * Responsible for memory and random values; a benchmark that runs out of memory stops. Not responsible for
 * operators.
 */
#include "bench_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *data, size_t *count, size_t start, size_t more)
{
    char *p = realloc(data, (start + more) * 4);
    if (!p) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    memset(p + *count * 4, 0, (start + more - *count) * 4);
    *count = start + more;
    return p;
}

static size_t aligned(size_t n)
{
    return (n + 15) / 16 * 16;
}

void bench_world_free(bench_world *world)
{
    free(world->act);
    free(world->pool);
    free(world->table);
    memset(world, 0, sizeof *world);
}

float bench_world_random(bench_world *world)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    const uint32_t bits = (uint32_t)(world->seed >> 40);
    const float size = 0.1f + (float)(bits >> 1) / 8388608.0f;
    return bits & 1 ? size : -size;
}

mts_u32 bench_world_act(bench_world *world, size_t count)
{
    const size_t start = aligned(world->act_count);
    world->act = grow(world->act, &world->act_count, start, count);
    return (mts_u32)start;
}

mts_u32 bench_world_pool(bench_world *world, size_t count)
{
    const size_t start = aligned(world->pool_count);
    world->pool = grow(world->pool, &world->pool_count, start, count);
    return (mts_u32)start;
}

mts_u32 bench_world_table(bench_world *world, size_t count)
{
    const size_t start = world->table_count;
    world->table = grow(world->table, &world->table_count, start, count);
    return (mts_u32)start;
}

mts_u32 bench_world_record(bench_world *world, const void *record, size_t size)
{
    const mts_u32 start = bench_world_table(world, size / 4);
    memcpy(world->table + start, record, size);
    return start;
}

bench_tensor bench_tensor_make(bench_world *world, mts_u32 channels, mts_u32 h, mts_u32 w, mts_u32 row,
                               mts_u32 gap, mts_u32 tail)
{
    bench_tensor t = {0, channels, h, w, row, (mts_u32)aligned(gap), tail, 0};
    t.pitch = t.gap + (mts_u32)aligned((size_t)h * row);
    t.base = bench_world_act(world, (size_t)t.pitch * channels + tail) + t.gap;
    return t;
}

void bench_tensor_fill(bench_world *world, const bench_tensor *t)
{
    for (mts_u32 c = 0; c < t->channels; c++)
        for (mts_u32 y = 0; y < t->h; y++)
            for (mts_u32 x = 0; x < t->w; x++)
                world->act[t->base + c * t->pitch + y * t->row + x] = bench_world_random(world);
}

void bench_tensor_poison(bench_world *world, const bench_tensor *t)
{
    float *at = world->act + t->base - t->gap;
    for (size_t i = 0; i < (size_t)t->pitch * t->channels + t->tail; i++)
        at[i] = NAN;
}

size_t bench_tensor_dirt(const float *act, const bench_tensor *t)
{
    const float *at = act + t->base - t->gap;
    size_t dirt = 0;
    for (size_t i = 0; i < (size_t)t->pitch * t->channels + t->tail; i++) {
        const size_t e = i % t->pitch, pixel = e - t->gap;
        const int inside = i < (size_t)t->pitch * t->channels && e >= t->gap && pixel / t->row < t->h &&
                           pixel % t->row < t->w;
        if (isnan(at[i]) || (!inside && at[i] != 0.0f))
            dirt++;
    }
    return dirt;
}

float bench_tensor_at(const float *act, const bench_tensor *t, int channel, int y, int x)
{
    if (y < 0 || x < 0 || y >= (int)t->h || x >= (int)t->w)
        return 0.0f;
    return act[t->base + (size_t)channel * t->pitch + (size_t)y * t->row + (size_t)x];
}

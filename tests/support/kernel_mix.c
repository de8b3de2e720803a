/*
 * kernel_mix.c: see kernel_mix.h.
 */
#include "support/kernel_mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIXED_KERNELS 15u

uint32_t kernel_mix_number(const char *kernel)
{
    static const char *const names[] = {
#define NAME(number, name) [number] = #name,
        MTS_MIXED(NAME)
#undef NAME
    };
    uint32_t number = 0;
    _Static_assert(sizeof names / sizeof names[0] == MIXED_KERNELS, "kernels/abi/mixed.h has others");
    while (number < MIXED_KERNELS && strcmp(names[number], kernel) != 0) {
        number++;
    }
    return number;
}

static uint32_t words_of_member(const char *kernel)
{
    static const struct {
        const char *name;
        uint32_t words;
    } rows[] = {
#define KERNEL(folder, name, params, walk, made_for) {#name, MTS_PARAM_WORDS(params)},
#include "kernels/manifest.def"
#undef KERNEL
    };
    uint32_t words = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        words = strcmp(rows[i].name, kernel) == 0 ? rows[i].words : words;
    }
    return words;
}

bool kernel_mix_has(const char *kernel)
{
    return kernel_mix_number(kernel) < MIXED_KERNELS && words_of_member(kernel) > 0;
}

uint32_t kernel_mix_add(kernel_mix *mix, const char *kernel, uint32_t first, const uint32_t *grid)
{
    const uint32_t width = (grid[0] + mix->local - 1) / mix->local;
    mix->kernels |= 1u << kernel_mix_number(kernel);
    for (uint32_t m = 0; m < grid[2]; m++) {
        const uint32_t groups = width * grid[1];
        for (uint32_t from = 0, end = (groups + 1) / 2; from < groups; from = end, end = groups) {
            assert_true(mix->count < KERNEL_MIX_ENTRIES);
            mix->entries[mix->count++] = (mts_mixed_params){.number = kernel_mix_number(kernel),
                                                            .member = first + m * words_of_member(kernel),
                                                            .begin = mix->groups,
                                                            .width = width,
                                                            .shift = from - mix->groups};
            mix->groups += end - from;
        }
    }
    return mix->groups;
}

float *kernel_mix_result(kernel_pair *pair, mts_device *device, const kernel_mix *mix, const char *defines)
{
    const uint32_t grid[3] = {mix->groups * mix->local, 1, 1}, local[3] = {mix->local, 1, 1};
    const uint32_t used = pair->table_used;
    char options[128];
    const uint32_t first = kernel_pair_words(pair, &mix->count, 1);
    (void)kernel_pair_words(pair, mix->entries, mix->count * MTS_PARAM_WORDS(mts_mixed_params));
    (void)snprintf(options, sizeof options, "%s -DMIXED=%u", defines, mix->kernels);
    float *result = kernel_pair_result(pair, device, "mixed_any__f32_planar", options, first, grid, local);
    pair->table_used = used;
    return result;
}

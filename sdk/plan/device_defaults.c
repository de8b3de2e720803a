/*
 * device_defaults.c: the one table of defaults by device.
 *
 * Rows go from the general to the special. No row of a GPU was measured by us, except
 * where its comment says so: figures are what vendors' guides say and what other runtimes
 * do there, docs/MOBILE.md says which.
 */
#include "plan/device_defaults.h"

/*
 * Rows times vectors of pixels of conv_tile fill the registers; many rows use an input
 * vector often, few leave room for vectors that share a weight. 13 rows by 2 vectors of 16
 * floats is best on AVX-512 (kernels/README.md).
 */
#define PROCESSOR_TILE(r) .tile = {.rows = r, .vectors = 48, .local = 1}, .tiles_per_unit = 16
#define GPU_TILE .is_gpu = true, .tile = {.rows = 8, .vectors = 4, .local = 64}, .tiles_per_unit = 16

/* What all public runtimes do on GPUs of phones: four channels side by side, float16. */
#define PHONE .packed = true, .half = true
#define ADRENO_UNIT .wave = 64, .waves = 3
/* 64 registers; more go to main memory. */
#define MALI_UNIT .wave = 16, .waves = 16, .registers = 64, .exact_groups = true
#define NVIDIA_UNIT .wave = 32, .waves = 8, .registers = 255, .exact_groups = true

static const mts_device_defaults table[] = {
    {.title = "processor", PROCESSOR_TILE(6)},
    {.title = "processor, 16 floats", .vector_floats = 16, PROCESSOR_TILE(13)},
    {.title = "unknown", GPU_TILE},
#ifndef MTS_SMALL /* which has one kernel of convolutions for GPUs, and one shape of its tiles */
    /* Packs: every public runtime's layout on these. Images: the texture units have a first
       level cache of their own, which buffers do not go through. Not exact_groups: with
       reqd_work_group_size Adreno's programs are slower (CLBlast leaves it out there). */
    {.title = "adreno", .names = "adreno", GPU_TILE, PHONE, .images = true, ADRENO_UNIT},
    {.title = "adreno 6xx", .names = "adreno(tm) 6##", GPU_TILE, PHONE, .images = true, ADRENO_UNIT},
    {.title = "adreno 7xx", .names = "adreno(tm) 7##", GPU_TILE, PHONE, .images = true, ADRENO_UNIT},
    {.title = "adreno 8xx", .names = "adreno(tm) 8##", GPU_TILE, PHONE, .images = true, ADRENO_UNIT},
    /* Buffers and images share the caches. */
    {.title = "mali", .names = "mali|immortalis", GPU_TILE, PHONE, MALI_UNIT},
    {.title = "mali bifrost",
     .names = "mali-g31|mali-g51|mali-g52|mali-g71|mali-g72|mali-g76",
     GPU_TILE,
     PHONE,
     MALI_UNIT},
    {.title = "mali valhall",
     .names = "mali-g57|mali-g68|mali-g77|mali-g78|mali-g#10|mali-g#15",
     GPU_TILE,
     PHONE,
     MALI_UNIT},
    {.title = "mali 5th generation", .names = "mali-g1|mali-g#20|mali-g#25", GPU_TILE, PHONE, MALI_UNIT},
    {.title = "powervr", .names = "powervr", GPU_TILE, PHONE, .wave = 32, .waves = 8, .exact_groups = true},
    {.title = "xclipse",
     .names = "xclipse",
     GPU_TILE,
     PHONE,
     .wave = 64,
     .waves = 4,
     .registers = 256,
     .exact_groups = true},
    /* No one has measured packs there, and conv_block is made for them. */
    {.title = "nvidia", .names = "nvidia", GPU_TILE, NVIDIA_UNIT},
    {.title = "maxwell", .arch = 50, GPU_TILE, NVIDIA_UNIT},
    {.title = "pascal", .arch = 60, GPU_TILE, NVIDIA_UNIT},
    {.title = "volta, turing", .arch = 70, GPU_TILE, NVIDIA_UNIT},
    {.title = "ampere to hopper", .arch = 80, GPU_TILE, NVIDIA_UNIT},
    {.title = "blackwell, thor", .arch = 100, GPU_TILE, NVIDIA_UNIT},
#endif
};

#ifndef MTS_SMALL

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether `text` begins with a part, which ends at '|'. */
static bool begins(const char *text, const char *part)
{
    bool digit = false;
    for (; *part != '\0' && *part != '|'; part++, text++) {
        digit = *part == '#' || is_digit(*part);
        if (*part == '#' ? !is_digit(*text) : lower(*text) != *part) {
            return false;
        }
    }
    return !digit || !is_digit(*text);
}

static const char *next_part(const char *names)
{
    while (*names != '\0' && *names != '|') {
        names++;
    }
    return *names == '|' ? names + 1 : NULL;
}

static bool contains(const char *text, const char *names)
{
    for (; *text != '\0'; text++) {
        for (const char *part = names; part; part = next_part(part)) {
            if (begins(text, part)) {
                return true;
            }
        }
    }
    return false;
}

#endif

static bool fits(const mts_device_defaults *row, const mts_device_info *device)
{
    bool fit = row->is_gpu == device->is_gpu && device->vector_floats >= row->vector_floats;
#ifndef MTS_SMALL
    /* Names last: a third of the planning of a small session went into searching them. */
    fit = fit && (row->arch > 0 ? device->arch >= row->arch
                                : !row->names || contains(device->name, row->names) ||
                                      contains(device->driver, row->names));
#endif
    return fit;
}

const mts_device_defaults *mts_device_defaults_find(const mts_device_info *device)
{
    const mts_device_defaults *found = &table[0];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (fits(&table[i], device)) {
            found = &table[i];
        }
    }
    return found;
}

uint32_t mts_device_wave(const mts_device_info *device)
{
    const uint32_t multiple = device->is_gpu ? device->group_multiple : 0;
    return multiple > 0 ? multiple : mts_device_defaults_find(device)->wave;
}

/*
 * implementations.c: the table of kernels for convolutions and fully connected layers,
 * and what follows from it: defaults, candidates for tuning, the fallback where a
 * configuration does not suit a layer. Not responsible for how a kernel's launch is made
 * (encode_*.c) nor for what was measured (plan/kernel_config.c).
 */
#include "lower/implementations.h"

#include "base/hash.h"
#include "base/text.h"
#include "lower/launch_shape.h"
#include "lower/encode_block.h"
#include "lower/encode_conv.h"
#include "lower/encode_fused.h"
#include "lower/encode_tile.h"
#include "lower/encode_winograd.h"
#include "lower/fuse.h"
#include "lower/packed_tile.h"
#include "lower/encoders.h"

typedef struct implementation {
    /* Members that it computes. */
    mts_variant variant;
    /* Configurations that ask for it. */
    mts_kernel_config_kernel kernel;
    /* A configuration decides about layers that it accepts: they have a signature and are
       tuned. */
    bool configured;
    /* It computes layers with values in blocks of channels (plan/blocks.h). */
    bool blocks;
    /* Whether it computes a layer of planes on the device; NULL: every layer. The row of a variant
     * that accepts every layer is the fallback of the others. */
    bool (*accepts)(const mts_encoding *, const mts_layer *);
    /* Whether the device can build a configuration's shape; NULL: after clamping. */
    bool (*fits)(const mts_device_info *, const mts_kernel_config *);
    /* Whether a layer takes it where nothing was measured, and in which shape; NULL:
       never. */
    bool (*prefers)(const mts_device_info *, const mts_layer_facts *, mts_kernel_config *);
    /* Shape number `index` for tuning, false beyond the last; NULL: none. */
    bool (*candidate)(const mts_device_info *, uint32_t, mts_kernel_config *);
    mts_status (*encode)(mts_encoding *, const mts_layer *, const mts_kernel_config *);
} implementation;

/* The usual tiles' numbers, which gemm ignores and a layer that it refuses takes. */
static bool gemm_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out)
{
    *out = mts_tile_usual(device);
    out->kernel = MTS_KERNEL_CONFIG_GEMM;
    return device->gemm && index == 0;
}

/* In the order in which rows are asked whether they are preferred, and in which
   candidates are measured. */
static const implementation table[] = {
    {.variant = MTS_VARIANT_TILE,
     .kernel = MTS_KERNEL_CONFIG_WINOGRAD,
     .configured = true,
     .accepts = mts_winograd_accepts,
     .prefers = mts_winograd_prefers,
     .candidate = mts_winograd_candidate,
     .encode = mts_encode_winograd},
    {.variant = MTS_VARIANT_TILE,
     .kernel = MTS_KERNEL_CONFIG_BLOCK,
     .configured = true,
     .accepts = mts_block_accepts,
     .fits = mts_block_fits,
     .prefers = mts_block_prefers,
     .candidate = mts_block_candidate,
     .encode = mts_encode_block},
    {.variant = MTS_VARIANT_TILE,
     .kernel = MTS_KERNEL_CONFIG_TILE,
     .configured = true,
     .blocks = true,
     .prefers = mts_tile_prefers,
     .candidate = mts_tile_candidate,
     .encode = mts_encode_tile},
    {.variant = MTS_VARIANT_TILE,
     .kernel = MTS_KERNEL_CONFIG_GEMM,
     .configured = true,
     .accepts = mts_gemm_accepts,
     .candidate = gemm_candidate,
     .encode = mts_encode_gemm},
    {.variant = MTS_VARIANT_BYTES, .encode = mts_encode_bytes},
#if MTS_HAS_PACKED
    {.variant = MTS_VARIANT_PACKED, .blocks = true, .encode = mts_encode_packed},
#endif
    {.variant = MTS_VARIANT_DEPTHWISE, .blocks = true, .encode = mts_encode_depthwise},
#if MTS_HAS_FC_BYTES
    {.variant = MTS_VARIANT_FC, .accepts = mts_fc_bytes_accepts, .encode = mts_encode_fc_bytes},
#endif
    {.variant = MTS_VARIANT_FC,
     .kernel = MTS_KERNEL_CONFIG_BLOCK,
     .configured = true,
     .accepts = mts_fc_block_accepts,
     .encode = mts_encode_fc_block},
    {.variant = MTS_VARIANT_FC, .encode = mts_encode_fc_lanes},
    {.variant = MTS_VARIANT_FC,
     .kernel = MTS_KERNEL_CONFIG_GEMM,
     .configured = true,
     .accepts = mts_gemm_accepts,
     .encode = mts_encode_gemm},
};

enum { ROWS = sizeof table / sizeof table[0] };

/* ---- configurations ---- */

mts_kernel_config mts_kernel_config_tiles(const mts_device_info *device)
{
    return mts_tile_usual(device);
}

/* A configuration that was made for another device of the same kind need not suit this
   one. */
static mts_kernel_config fit(mts_kernel_config config, const mts_device_info *device)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        if (table[i].kernel == config.kernel && table[i].fits) {
            return table[i].fits(device, &config) ? config : mts_tile_usual(device);
        }
    }
    return mts_tile_clamp(device, config);
}

mts_kernel_config mts_kernel_config_default(const mts_device_info *device, const mts_layer_facts *facts)
{
    mts_kernel_config config = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        if (table[i].prefers && table[i].prefers(device, facts, &config)) {
            return config;
        }
    }
    return config;
}

/* Appends a configuration that fits the device and is not there yet. */
static void propose(const mts_device_info *device, mts_kernel_config config, mts_kernel_config *out,
                    uint32_t *count, uint32_t most)
{
    const mts_kernel_config fitting = fit(config, device);
    bool known = *count == most;
    for (uint32_t i = 0; i < *count && !known; i++) {
        known = mts_kernel_config_equal(&fitting, &out[i]);
    }
    if (!known) {
        out[(*count)++] = fitting;
    }
}

uint32_t mts_kernel_config_candidates(const mts_device_info *device, mts_kernel_config *out, uint32_t most)
{
    uint32_t count = 0;
    mts_kernel_config config;
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t k = 0; table[i].candidate && table[i].candidate(device, k, &config); k++) {
            propose(device, config, out, &count, most);
        }
    }
    return count;
}

mts_kernel_config mts_kernel_config_smallest(const mts_device_info *device)
{
    const mts_kernel_config least = {
        .kernel = MTS_KERNEL_CONFIG_TILE, .rows = 4, .vectors = device->is_gpu ? 1 : 16, .local = 16};
    return fit(least, device);
}

/* The first of the configuration, the default, the default tiles and the smallest tiles
   that has not failed. */
static mts_kernel_config avoid_failed(const mts_kernel_configs *configs, const mts_device_info *device,
                                      const mts_layer_facts *facts, mts_kernel_config config)
{
    if (mts_kernel_configs_failed(configs, &config)) {
        config = mts_kernel_config_default(device, facts);
    }
    if (mts_kernel_configs_failed(configs, &config)) {
        config = mts_kernel_config_tiles(device);
    }
    return mts_kernel_configs_failed(configs, &config) ? mts_kernel_config_smallest(device) : config;
}

mts_kernel_config mts_kernel_configs_get(const mts_kernel_configs *configs, const mts_device_info *device,
                                         const mts_layer_facts *facts)
{
    if (configs && configs->forced && configs->forced->kernel != MTS_KERNEL_CONFIG_FUSED) {
        return fit(*configs->forced, device);
    }
    const mts_kernel_config_entry *found = mts_kernel_configs_nearest(configs, facts);
    return avoid_failed(configs, device, facts,
                        found ? fit(found->config, device) : mts_kernel_config_default(device, facts));
}

bool mts_kernel_configs_measured(const mts_kernel_configs *configs, const mts_device_info *device,
                                 const mts_layer_facts *facts, const mts_kernel_config *config)
{
    if (configs && configs->forced && configs->forced->kernel != MTS_KERNEL_CONFIG_FUSED) {
        return true;
    }
    const mts_kernel_config_entry *found = mts_kernel_configs_nearest(configs, facts);
    const mts_kernel_config chosen = found ? fit(found->config, device) : *config;
    return found && mts_kernel_config_equal(&chosen, config);
}

/* ---- launches ---- */

static bool has_variant(const mts_encoding *encoding, const mts_layer *layer, mts_variant variant)
{
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == variant) {
            return true;
        }
    }
    return false;
}

/* Whether members of a variant have operands in blocks. */
static bool has_blocks(const mts_encoding *encoding, const mts_layer *layer, mts_variant variant)
{
    bool has = false;
    for (uint32_t m = layer->first; MTS_HAS_ROW_LANES && !has && m < layer->first + layer->count; m++) {
        has = encoding->plan->members[m].variant == variant && mts_conv_blocks(encoding, m) != 0;
    }
    return has;
}

static bool accepts(const implementation *row, const mts_encoding *encoding, const mts_layer *layer)
{
    return (!row->accepts || row->accepts(encoding, layer)) &&
           (row->blocks || !has_blocks(encoding, layer, row->variant));
}

/* Backwards, because the rows behind are quicker to ask. */
static bool is_configured(const mts_encoding *encoding, const mts_layer *layer)
{
    for (uint32_t i = ROWS; i-- > 0;) {
        if (table[i].configured && has_variant(encoding, layer, table[i].variant) &&
            accepts(&table[i], encoding, layer)) {
            return true;
        }
    }
    return false;
}

static mts_status find_config(mts_encoding *encoding, const mts_layer *layer)
{
    mts_arena scratch;
    mts_arena_init(&scratch, encoding->arena->allocator);
    const mts_status status =
        mts_layer_facts_get(encoding->stitched, (uint32_t)(layer - encoding->stitched->layers), &scratch,
                            &encoding->facts, encoding->error);
    if (status == MTS_STATUS_OK) {
        mts_kernel_config *config = &encoding->config;
        *config = mts_kernel_configs_get(encoding->configs, encoding->device, &encoding->facts);
        encoding->measured =
            mts_kernel_configs_measured(encoding->configs, encoding->device, &encoding->facts, config);
        if (config->kernel != MTS_KERNEL_CONFIG_BLOCK && config->rows > MTS_TILE_ROWS) {
            config->rows = MTS_TILE_ROWS;
        }
    }
    mts_arena_release(&scratch);
    return status;
}

/* The first row that accepts the layer and that its configuration asks for, where one
   decides; else the fallback. */
static const implementation *select_row(const mts_encoding *encoding, const mts_layer *layer,
                                        mts_variant variant)
{
    const implementation *fallback = NULL;
    for (uint32_t i = 0; i < ROWS; i++) {
        if (table[i].variant != variant) {
            continue;
        }
        if (table[i].accepts &&
            ((MTS_HAS_FC_BYTES && !table[i].configured) || table[i].kernel == encoding->config.kernel) &&
            accepts(&table[i], encoding, layer)) {
            return &table[i];
        }
        fallback = table[i].accepts ? fallback : &table[i];
    }
    return fallback;
}

static mts_status encode_variant(mts_encoding *encoding, const mts_layer *layer, mts_variant variant)
{
    const implementation *row = select_row(encoding, layer, variant);
    mts_kernel_config config = encoding->config;
    if (!row->blocks && has_blocks(encoding, layer, variant)) {
        return mts_conv_refuse_blocks(encoding, layer);
    }
    if (config.kernel == MTS_KERNEL_CONFIG_BLOCK && !row->accepts) {
        config = mts_tile_usual(encoding->device); /* a block's rows are more than a tile's */
    }
    return row->encode(encoding, layer, &config);
}

mts_status mts_encode_conv(mts_encoding *encoding, const mts_layer *layer)
{
    if (MTS_FUSES && mts_plan_fuses(encoding->plan, (uint32_t)(layer - encoding->stitched->layers))) {
        return mts_encode_fused(encoding, layer);
    }
    static const mts_variant variants[] = {
        MTS_VARIANT_TILE,
#if MTS_HAS_PACKED
        MTS_VARIANT_PACKED,
#endif
        MTS_VARIANT_BYTES,
        MTS_VARIANT_DEPTHWISE,
        MTS_VARIANT_FC,
    };
    mts_status status = is_configured(encoding, layer) ? find_config(encoding, layer) : MTS_STATUS_OK;
    for (uint32_t v = 0; status == MTS_STATUS_OK && v < sizeof variants / sizeof variants[0]; v++) {
        if (has_variant(encoding, layer, variants[v])) {
            status = encode_variant(encoding, layer, variants[v]);
        }
    }
    return status;
}

static bool is_depthwise(const mts_plan *plan, const mts_layer *layer)
{
    bool is = true;
    for (uint32_t m = layer->first; is && m < layer->first + layer->count; m++) {
        is = plan->members[m].variant == MTS_VARIANT_DEPTHWISE;
    }
    return is;
}

/* The program of the members of one variant. What does not tell programs of the row apart
   is 0. */
typedef struct conv_program {
    uint32_t row, local, rows, vectors, depth, parts;
} conv_program;

uint32_t mts_conv_program(const mts_encoding *encoding, const mts_plan *plan, const mts_layer *layer)
{
    mts_encoding probe = *encoding; /* the step's configuration is found in it */
    conv_program programs[MTS_VARIANT_COUNT] = {{0}};
    mts_error ignored;
    const mts_member *first = &plan->stitched->members[layer->first];
    probe.plan = plan;
    probe.error = &ignored;
    if (mts_plan_fuses(plan, (uint32_t)(layer - plan->stitched->layers))) {
        return MTS_PROGRAM_FUSED;
    }
    if (is_depthwise(plan, layer)) {
        return MTS_PROGRAM_MIXED;
    }
    if (is_configured(&probe, layer) && find_config(&probe, layer) != MTS_STATUS_OK) {
        return MTS_NONE;
    }
    for (uint32_t v = 0; v < MTS_VARIANT_COUNT; v++) {
        if (has_variant(&probe, layer, (mts_variant)v)) {
            const implementation *row = select_row(&probe, layer, (mts_variant)v);
            const mts_kernel_config *c = &probe.config;
            conv_program *program = &programs[v];
            program->row = (uint32_t)(row - table) + 1;
            program->local = c->local;
            program->depth = MTS_HAS_PACKED && v == MTS_VARIANT_PACKED &&
                             mts_plan_variant(plan->stitched, first) == MTS_VARIANT_DEPTHWISE &&
                             !mts_packed_joins(encoding->device, encoding->precision);
            if (row->kernel == MTS_KERNEL_CONFIG_BLOCK) {
                program->rows = c->rows;
                program->vectors = c->vectors;
                program->depth = c->depth;
                program->parts = c->parts;
            }
        }
    }
    return ((uint32_t)mts_hash(programs, sizeof programs, 0) & INT32_MAX) | MTS_PROGRAM_CONV;
}

/* Build options of all launches of one kind. */
static mts_status set_defines(mts_encoding *encoding, mts_launch_kind kind, mts_text *text)
{
    const char *defines = text->failed ? NULL : mts_arena_string(encoding->strings, mts_text_get(text));
    mts_text_release(text);
    for (size_t i = 0; i < encoding->launch_count; i++) {
        if (encoding->launches[i].kind == kind) {
            encoding->launches[i].defines = defines;
        }
    }
    return defines ? MTS_STATUS_OK : mts_encode_memory(encoding);
}

/* The build options of fused blocks. */
static mts_status fused_cases(mts_encoding *encoding, const char *common)
{
    const mts_kernel_cases *cases = &encoding->cases;
    mts_text text;
    mts_text_init(&text, encoding->arena->allocator);
    mts_text_add(&text, "%s -DSCRATCH=%u -DSHAPES=%u -DCASES=", common, cases->fused_scratch,
                 cases->fused_shapes);
    for (uint32_t rows = MTS_FUSED_ROWS; rows > 0; rows--) {
        if (cases->fused[rows]) {
            mts_text_add(&text, "CASE(%u)", rows);
        }
    }
    return set_defines(encoding, MTS_LAUNCH_FUSED, &text);
}

mts_status mts_encode_cases(mts_encoding *encoding)
{
    const mts_kernel_cases *cases = &encoding->cases;
    const char *common = mts_launch_defines(encoding->device, encoding->precision);
    mts_text text;
    mts_text_init(&text, encoding->arena->allocator);
    mts_text_add(&text, "%s -DSCRATCH=%u -DCASES=", common, cases->winograd_scratch);
    for (uint32_t rows = MTS_WINOGRAD_ROWS; rows > 0; rows--) {
        if (cases->winograd[rows]) {
            mts_text_add(&text, "CASE(%u)", rows);
        }
    }
    mts_status status = set_defines(encoding, MTS_LAUNCH_WINOGRAD, &text);
    MTS_TRY(status, MTS_FUSES ? fused_cases(encoding, common) : MTS_STATUS_OK);
    mts_text_init(&text, encoding->arena->allocator);
    mts_text_add(&text, "%s -DMIXED=%u", common, cases->mixed);
    const mts_status mixed = set_defines(encoding, MTS_LAUNCH_MIXED, &text);
    status = status == MTS_STATUS_OK ? mixed : status;
    mts_text_init(&text, encoding->arena->allocator);
    mts_text_add(&text, "%s -DCASES=", common);
    for (uint32_t a = MTS_TILE_ROWS; a > 0; a--) {
        for (uint32_t b = MTS_TILE_ROWS - a + 1; b-- > 0;) {
            if (cases->tile[a][b]) {
                mts_text_add(&text, "CASE(%u,%u)", a, b);
            }
        }
    }
    const mts_status tiles = set_defines(encoding, MTS_LAUNCH_TILES, &text);
    return status == MTS_STATUS_OK ? tiles : status;
}

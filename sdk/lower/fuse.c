/*
 * fuse.c: see fuse.h.
 */
#include "lower/fuse.h"

#include "base/hash.h"
#include "lower/fuse_shape.h"

bool mts_fuse_fits(void *context, const mts_plan *plan, uint32_t layer)
{
    const mts_encoding *encoding = context;
    const mts_layer *l = &plan->stitched->layers[layer];
    bool fits = true;
    for (uint32_t m = l->first; fits && m < l->first + l->count; m++) {
        const mts_fused_params p = mts_fused_shape(encoding->device, plan, layer, m);
        fits = mts_fused_fits(encoding->device, &p);
    }
    return fits;
}

/* ---- decisions ---- */

mts_status mts_fuse_facts(const mts_stitched *stitched, const mts_fused_layers *layers,
                          const mts_allocator *allocator, mts_layer_facts *facts, mts_error *error)
{
    const uint32_t all[] = {layers->expand, layers->depthwise, layers->project};
    uint64_t signature = MTS_KERNEL_CONFIG_FUSED;
    uint64_t kind = MTS_KERNEL_CONFIG_FUSED;
    mts_status status = MTS_STATUS_OK;
    for (int i = 0; status == MTS_STATUS_OK && i < 3; i++) {
        mts_arena scratch;
        mts_arena_init(&scratch, allocator);
        if (all[i] != MTS_NONE) {
            status = mts_layer_facts_get(stitched, all[i], &scratch, facts, error);
            signature = mts_hash(&facts->signature, sizeof facts->signature, signature);
            kind = mts_hash(&facts->kind, sizeof facts->kind, kind);
        }
        mts_arena_release(&scratch);
    }
    facts->signature = signature;
    facts->kind = kind;
    return status;
}

/* Columns of maps that gain most as one launch. */
enum { TINY = 4 };

/*
 * As measured on a CPU with vectors of 16 floats (docs/results/fused.md): 3x3 taps on
 * small maps gain 2 to 14 %, where there is a part of the map for each thread. All others
 * lose, or win nothing: launches cost no time there, and a core finds in its caches what
 * it stored.
 */
static bool gains_on_cpu(const mts_device_info *device, const mts_fused_params *p, uint64_t groups)
{
    enum { PIXELS_MOST = 196, NARROW = 10, PARTS_PER_UNIT = 4 };
    const bool small = p->h * p->row <= PIXELS_MOST && (p->row <= TINY || p->row > NARROW);
    const bool shared =
        device->compute_units <= 1 || groups >= (uint64_t)device->compute_units * PARTS_PER_UNIT;
    return device->ready_kernels && device->vector_floats >= 16 && small && shared && p->size == 3 &&
           p->stride == 1 && p->expands == 0;
}

/*
 * Apart, both layers can read and store blocks of channels (plan/blocks.h), which gains
 * more than one launch does (docs/design/kernels.md). Maps of a few pixels gain most as
 * one launch.
 */
static bool is_quicker_in_blocks(const mts_encoding *encoding, const mts_fused_params *p)
{
    return MTS_HAS_ROW_LANES && encoding->device->row_lanes && encoding->precision == MTS_PRECISION_FLOAT32 &&
           p->channels % MTS_CHANNEL_BLOCK == 0 && p->row > TINY;
}

/* Whether one launch is quicker on a CPU of a class that was measured. */
static bool predicts_gain(const mts_encoding *encoding, const mts_stitched *s, const mts_fused_layers *layers)
{
    const mts_device_info *device = encoding->device;
    const mts_layer *last = &s->layers[layers->project];
    const mts_member *between = &s->members[s->layers[layers->depthwise].first];
    const mts_attrs_conv *conv = &mts_member_node(s, between)->attrs.conv;
    const int64_t *out = s->values[s->members[last->first].output].shape.dims;
    mts_fused_params p = {.channels = (uint32_t)s->values[between->output].shape.dims[1],
                          .h = (uint32_t)out[2],
                          .row = (uint32_t)out[3],
                          .in_row = (uint32_t)out[3] * conv->stride[0],
                          .size = conv->kernel[0],
                          .stride = conv->stride[0],
                          .expands = layers->expand != MTS_NONE};
    p.part = mts_fused_part(device, &p, last->count);
    return !is_quicker_in_blocks(encoding, &p) &&
           gains_on_cpu(device, &p, (uint64_t)last->count * ((p.h + p.part - 1) / p.part));
}

const char *mts_fuse_refuses(void *context, const mts_stitched *stitched, const mts_fused_layers *layers)
{
    const mts_encoding *encoding = context;
    const mts_kernel_configs *configs = encoding->configs;
    const mts_kernel_config fused = {.kernel = MTS_KERNEL_CONFIG_FUSED};
    const char *failed = "its kernel does not build or run on this device";
    mts_layer_facts facts;
    mts_error ignored;
    if (configs && configs->forced) {
        const bool fuses = configs->forced->kernel == MTS_KERNEL_CONFIG_FUSED;
        const bool pairs = configs->forced->parts == 2 && layers->expand != MTS_NONE;
        return fuses && !pairs ? NULL : "its layers are measured apart";
    }
    if (mts_kernel_configs_failed(configs, &fused)) {
        return failed;
    }
    if (mts_fuse_facts(stitched, layers, encoding->arena->allocator, &facts, &ignored) != MTS_STATUS_OK) {
        return "there was no memory to find out";
    }
    if (configs && configs->unmeasured && !mts_kernel_configs_find(configs, facts.signature)) {
        (*configs->unmeasured)++;
    }
    const mts_kernel_config_entry *known = mts_kernel_configs_nearest(configs, &facts);
    if (known) {
        return known->config.kernel == MTS_KERNEL_CONFIG_FUSED ? NULL
                                                               : "its layers are faster apart, as measured";
    }
    if (encoding->device->is_gpu) {
        return "not measured on this device; --tune decides"; /* no GPU has confirmed a model */
    }
    return predicts_gain(encoding, stitched, layers) ? NULL : "no gain is predicted";
}

/*
 * fuse.c: see fuse.h.
 */
#include "lower/fuse.h"

#include "base/hash.h"
#include "lower/fuse_shape.h"
#include "plan/wave_steps.h"

enum { TOUCH = 4 }; /* multiply-adds in the time of a number that is stored or loaded */

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

static uint64_t layer_work(const mts_stitched *s, uint32_t layer)
{
    uint64_t work = 0;
    for (uint32_t i = 0; layer != MTS_NONE && i < s->layers[layer].count; i++) {
        const mts_member *member = &s->members[s->layers[layer].first + i];
        work += mts_node_mul_adds(s->graphs[member->graph], mts_member_node(s, member));
    }
    return work;
}

/* Numbers of a layer's results. */
static uint64_t layer_floats(const mts_stitched *s, uint32_t layer)
{
    uint64_t floats = 0;
    for (uint32_t i = 0; layer != MTS_NONE && i < s->layers[layer].count; i++) {
        floats += mts_shape_count(&s->values[s->members[s->layers[layer].first + i].output].shape);
    }
    return floats;
}

/*
 * As measured on a CPU with vectors of 16 floats (docs/results/fused.md): 3x3 taps on
 * small maps gain 2 to 14 %, where there is a part of the map for each thread. All others
 * lose, or win nothing: launches cost no time there, and a core finds in its caches what
 * it stored.
 */
static bool gains_on_cpu(const mts_device_info *device, const mts_fused_params *p, uint64_t groups)
{
    enum { PIXELS_MOST = 196, TINY = 4, NARROW = 10, PARTS_PER_UNIT = 4 };
    const bool small = p->h * p->row <= PIXELS_MOST && (p->row <= TINY || p->row > NARROW);
    const bool shared =
        device->compute_units <= 1 || groups >= (uint64_t)device->compute_units * PARTS_PER_UNIT;
    return device->ready_kernels && device->vector_floats >= 16 && small && shared && p->size == 3 &&
           p->stride == 1 && p->expands == 0;
}

/*
 * Whether one launch is predicted to be quicker. On a GPU, in multiply-adds of a compute
 * unit: a launch that is saved, and what is not stored and loaded, against rows that are
 * expanded twice and against compute units that have nothing to do.
 */
static bool predicts_gain(const mts_encoding *encoding, const mts_stitched *s, const mts_fused_layers *layers)
{
    const mts_device_info *device = encoding->device;
    const mts_layer *last = &s->layers[layers->project];
    const mts_attrs_conv *conv =
        &mts_member_node(s, &s->members[s->layers[layers->depthwise].first])->attrs.conv;
    const int64_t *out = s->values[s->members[last->first].output].shape.dims;
    const int64_t *between = s->values[s->members[s->layers[layers->depthwise].first].output].shape.dims;
    const uint64_t units = device->compute_units > 0 ? device->compute_units : 1;
    mts_fused_params p = {.channels = (uint32_t)between[1],
                          .h = (uint32_t)out[2],
                          .row = (uint32_t)out[3],
                          .in_row = (uint32_t)out[3] * conv->stride[0],
                          .size = conv->kernel[0],
                          .stride = conv->stride[0],
                          .expands = layers->expand != MTS_NONE};
    p.part = mts_fused_part(device, &p, last->count);
    const uint64_t groups = (uint64_t)last->count * ((p.h + p.part - 1) / p.part);
    const uint64_t expand = layer_work(s, layers->expand);
    const uint64_t twice = expand * (p.size - p.stride) / ((uint64_t)p.part * p.stride);
    const uint64_t work = expand + layer_work(s, layers->depthwise) + layer_work(s, layers->project);
    const uint64_t stored = layer_floats(s, layers->expand) + layer_floats(s, layers->depthwise);
    const uint64_t launches = layers->expand != MTS_NONE ? 2 : 1;
    const uint64_t launch = (uint64_t)device->launch_ns * mts_wave_rate(device);
    const uint64_t apart = (work + 2 * TOUCH * stored) / units + launches * launch;
    const uint64_t rounds = (groups + units - 1) / units;
    return !device->is_gpu
               ? gains_on_cpu(device, &p, groups)
               : groups > 0 && mts_fused_fits(device, &p) && (work + twice) / groups * rounds < apart;
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
    const mts_kernel_config_entry *known = mts_kernel_configs_nearest(configs, &facts);
    if (known) {
        return known->config.kernel == MTS_KERNEL_CONFIG_FUSED ? NULL
                                                               : "its layers are faster apart, as measured";
    }
    return predicts_gain(encoding, stitched, layers) ? NULL : "no gain is predicted";
}

/*
 * encode_fused.c: see encode_fused.h.
 */
#include "lower/encode_fused.h"

#include "lower/conv_jobs.h"
#include "lower/fuse.h"
#include "lower/fuse_shape.h"
#include "lower/launch_shape.h"

/* Writes the jobs of a member, and the list of them; returns their number. */
static uint32_t add_jobs(mts_encoding *l, const mts_layer *layer, uint32_t member, mts_u32 *list,
                         mts_status *status)
{
    enum { FEW_ROWS = 6 }; /* of registers that hold few sums */
    const bool many = !l->device->is_gpu && l->device->vector_floats >= 16;
    mts_tiler t;
    mts_tiler_open_member(&t, l, layer, member, many ? MTS_FUSED_ROWS : FEW_ROWS);
    if (t.status == MTS_STATUS_OK) {
        mts_tiler_write(&t);
    }
    const uint32_t count = (uint32_t)t.job_count;
    mts_u32 *words = t.status == MTS_STATUS_OK ? mts_arena_zero(&t.scratch, count, sizeof *words) : NULL;
    for (uint32_t i = 0; words && i < count; i++) {
        words[i] = t.jobs[i].at;
        l->cases.fused[t.jobs[i].params.rows_a] = true;
    }
    if (words) {
        *list = mts_param_buffer_add(&l->params, words, count);
    }
    *status = t.status == MTS_STATUS_OK && !words ? mts_encode_memory(l) : t.status;
    mts_tiler_close(&t);
    return count;
}

static mts_status add_member(mts_param_list *list, const mts_layer *layer, uint32_t member, uint32_t *parts)
{
    mts_encoding *l = list->encoding;
    const mts_stitched *s = l->stitched;
    const uint32_t index = (uint32_t)(layer - s->layers);
    const mts_fusion *fusion = &l->plan->fusions[index];
    const uint32_t depthwise = mts_fused_source(s, member);
    const uint32_t vec = mts_launch_vector(l->device);
    mts_status status = MTS_STATUS_OK;
    mts_conv_site site;
    mts_conv_site_open(&site, l, depthwise);
    mts_fused_params p = mts_fused_shape(l->device, l->plan, index, member);
    p.in = site.in;
    p.between = mts_conv_epilogue(l, &site, 0, 0);
    p.weight =
        mts_weights_dense(&l->pool, mts_member_operand(s, site.member, 1), mts_encode_owner(l, site.member));
    l->mul_adds += (uint64_t)p.channels * p.size * p.size * p.h * p.w;
    if (fusion->expand != MTS_NONE) {
        mts_conv_site_open(&site, l, mts_fused_source(s, depthwise));
        p.in = site.in;
        p.expands =
            add_jobs(l, &s->layers[fusion->expand], mts_fused_source(s, depthwise), &p.expand, &status);
    }
    if (status == MTS_STATUS_OK) {
        p.jobs = add_jobs(l, layer, member, &p.job, &status);
    }
    const uint32_t count = (p.h + p.part - 1) / p.part;
    const uint32_t scratch = MTS_FUSED_SCRATCH(&p, vec);
    l->cases.fused_shapes |= 1u << MTS_FUSED_SHAPE(p.size, p.stride, p.expands > 0);
    *parts = count > *parts ? count : *parts;
    l->cases.fused_scratch = scratch > l->cases.fused_scratch ? scratch : l->cases.fused_scratch;
    MTS_TRY(status, mts_param_list_add(list, &p, mts_encode_task_mask(l, member)));
    return status;
}

mts_status mts_encode_fused(mts_encoding *encoding, const mts_layer *layer)
{
    mts_param_list list = {.encoding = encoding, .size = sizeof(mts_fused_params)};
    const mts_fusion *fusion = &encoding->plan->fusions[layer - encoding->stitched->layers];
    const mts_fused_layers layers = {.expand = fusion->expand,
                                     .depthwise = fusion->depthwise,
                                     .project = (uint32_t)(layer - encoding->stitched->layers)};
    const uint32_t local = mts_fused_local(encoding->device);
    uint32_t parts = 0;
    mts_status status = mts_fuse_facts(encoding->stitched, &layers, encoding->arena->allocator,
                                       &encoding->facts, encoding->error);
    encoding->config = (mts_kernel_config){.kernel = MTS_KERNEL_CONFIG_FUSED};
    for (uint32_t m = layer->first; status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        status = add_member(&list, layer, m, &parts);
    }
    mts_encoded_launch launch = {.kind = MTS_LAUNCH_FUSED,
                                 .kernel = "fused_rows__f32_planar",
                                 .label = mts_encode_label(encoding, layer,
                                                           fusion->expand != MTS_NONE
                                                               ? "expand + depthwise + conv 1x1"
                                                               : "depthwise + conv 1x1"),
                                 .members = layer->count,
                                 .global = {parts * local, 1, layer->count},
                                 .local = {local, 1, 1}};
    MTS_TRY(status, mts_param_list_launch(&list, &launch, MTS_ENTRY_PARAMS));
    mts_param_list_release(&list);
    return status;
}

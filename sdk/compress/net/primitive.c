/*
 * primitive.c: oneDNN's primitives of one convolution: made when first needed, for a
 * number of images and threads; weights packed when they have changed. What is computed
 * with them is conv.c's.
 */
#include <string.h>

#include "compress/net/cpu.h"
#include "kernels/abi/kinds.h"

#define DESCRIPTION(status) mts_cpu_check(status, "description of a convolution", error)

/* What oneDNN needs to know about a convolution. */
typedef struct recipe {
    dnnl_dims_t x, weight, y, bias, strides, dilates, before, after;
    int weight_rank;
    dnnl_memory_desc_t x_any, weight_any, weight_plain, bias_plain, y_any;
} recipe;

static void copy_dims(dnnl_dims_t to, const int64_t *from)
{
    for (int i = 0; i < 4; i++) {
        to[i] = from[i];
    }
}

static void describe_window(const mts_attrs_conv *attrs, recipe *r)
{
    for (int i = 0; i < 2; i++) {
        r->strides[i] = attrs->stride[i];
        r->dilates[i] = (dnnl_dim_t)attrs->dilation[i] - 1;
        r->before[i] = attrs->pad[i];
        r->after[i] = attrs->pad[i + 2];
    }
}

static mts_status describe(const mts_step *step, int64_t images, recipe *r)
{
    const mts_attrs_conv *attrs = &step->node->attrs.conv;
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    mts_error *error = step->error;
    memset(r, 0, sizeof *r);
    copy_dims(r->x, mts_run_shape(step->run, step->node->inputs[0])->dims);
    copy_dims(r->y, mts_run_shape(step->run, step->node->output)->dims);
    r->x[0] = r->y[0] = images;
    r->bias[0] = layer->outputs;
    const dnnl_dims_t grouped = {attrs->group, layer->outputs / attrs->group, layer->inputs, layer->rows,
                                 layer->columns};
    const dnnl_dims_t single = {layer->outputs, layer->inputs, layer->rows, layer->columns};
    memcpy(r->weight, attrs->group > 1 ? grouped : single, sizeof r->weight);
    r->weight_rank = attrs->group > 1 ? 5 : 4;
    describe_window(attrs, r);
    const dnnl_format_tag_t plain = attrs->group > 1 ? dnnl_gohwi : dnnl_ohwi;
    mts_status status = DESCRIPTION(dnnl_memory_desc_init_by_tag(&r->x_any, 4, r->x, dnnl_f32, dnnl_nhwc));
    status =
        status ? status : DESCRIPTION(dnnl_memory_desc_init_by_tag(&r->y_any, 4, r->y, dnnl_f32, dnnl_nhwc));
    status = status ? status
                    : DESCRIPTION(dnnl_memory_desc_init_by_tag(&r->weight_any, r->weight_rank, r->weight,
                                                               dnnl_f32, dnnl_format_tag_any));
    status = status ? status
                    : DESCRIPTION(dnnl_memory_desc_init_by_tag(&r->weight_plain, r->weight_rank, r->weight,
                                                               dnnl_f32, plain));
    return status ? status
                  : DESCRIPTION(dnnl_memory_desc_init_by_tag(&r->bias_plain, 1, r->bias, dnnl_f32, dnnl_a));
}

static dnnl_status_t describe_operation(mts_conv_kind kind, const recipe *r, dnnl_convolution_desc_t *desc)
{
    switch (kind) {
    case MTS_CONV_DATA:
        return dnnl_dilated_convolution_backward_data_desc_init(desc, dnnl_convolution_direct, &r->x_any,
                                                                &r->weight_any, &r->y_any, r->strides,
                                                                r->dilates, r->before, r->after);
    case MTS_CONV_WEIGHTS:
        return dnnl_dilated_convolution_backward_weights_desc_init(
            desc, dnnl_convolution_direct, &r->x_any, &r->weight_any, &r->bias_plain, &r->y_any, r->strides,
            r->dilates, r->before, r->after);
    default:
        return dnnl_dilated_convolution_forward_desc_init(
            desc, dnnl_forward_inference, dnnl_convolution_direct, &r->x_any, &r->weight_any,
            kind == MTS_CONV_RAW ? NULL : &r->bias_plain, &r->y_any, r->strides, r->dilates, r->before,
            r->after);
    }
}

/* Working memory is ours; the activation is oneDNN's in an ANSWER. */
static dnnl_status_t describe_attributes(mts_conv_kind kind, const mts_act *act, dnnl_primitive_attr_t attr)
{
    dnnl_status_t status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    dnnl_post_ops_t ops = NULL;
    if (status != dnnl_success || kind != MTS_CONV_ANSWER || act->fn == MTS_FN_NONE) {
        return status;
    }
    status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success) {
        const float alpha = act->fn == MTS_FN_LEAKY ? act->a : 0.0f;
        status = dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, alpha, 0.0f);
    }
    if (status == dnnl_success) {
        status = dnnl_primitive_attr_set_post_ops(attr, ops);
    }
    if (ops) {
        (void)dnnl_post_ops_destroy(ops);
    }
    return status;
}

static dnnl_status_t create_primitive_desc(const mts_step *step, mts_conv_kind kind, const recipe *r,
                                           dnnl_primitive_desc_t *out)
{
    const dnnl_engine_t engine = step->run->cpu->engine;
    dnnl_convolution_desc_t desc, forward;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = describe_operation(kind, r, &desc);
    if (status == dnnl_success) {
        status = dnnl_primitive_attr_create(&attr);
    }
    if (status == dnnl_success) {
        status = describe_attributes(kind, &step->node->attrs.conv.act, attr);
    }
    if (status == dnnl_success && (kind == MTS_CONV_DATA || kind == MTS_CONV_WEIGHTS)) {
        status = describe_operation(MTS_CONV_LINEAR, r, &forward);
        status = status ? status : dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL);
    }
    if (status == dnnl_success) {
        status = dnnl_primitive_desc_create(out, &desc, attr, engine, hint);
    }
    if (attr) {
        (void)dnnl_primitive_attr_destroy(attr);
    }
    if (hint) {
        (void)dnnl_primitive_desc_destroy(hint);
    }
    return status;
}

static dnnl_status_t make_memory(dnnl_memory_t *out, const dnnl_memory_desc_t *desc, dnnl_engine_t engine)
{
    return dnnl_memory_create(out, desc, engine, DNNL_MEMORY_NONE);
}

static mts_status make_memories(const mts_step *step, mts_conv_kind kind, const recipe *r,
                                const dnnl_memory_desc_t *weight, const dnnl_memory_desc_t *room,
                                mts_conv_slot *slot)
{
    const dnnl_engine_t engine = step->run->cpu->engine;
    const bool turned = kind == MTS_CONV_DATA;
    slot->room_bytes = dnnl_memory_desc_get_size(room);
    slot->packed_bytes = dnnl_memory_desc_get_size(weight);
    slot->packed = mts_alloc_zero(step->run->allocator, slot->packed_bytes + MTS_CPU_ALIGNMENT, sizeof(char));
    if (!slot->packed) {
        return mts_fail_memory(step->error);
    }
    dnnl_status_t status = make_memory(&slot->source, turned ? &r->y_any : &r->x_any, engine);
    status = status ? status : make_memory(&slot->result, turned ? &r->x_any : &r->y_any, engine);
    status = status ? status : make_memory(&slot->plain, &r->weight_plain, engine);
    status = status ? status : make_memory(&slot->bias, &r->bias_plain, engine);
    status = status ? status : dnnl_memory_create(&slot->weight, weight, engine, mts_cpu_align(slot->packed));
    if (slot->room_bytes > 0) {
        status = status ? status : make_memory(&slot->room, room, engine);
    }
    return mts_cpu_check(status, "memory of a convolution", step->error);
}

static mts_status make_reorder(const mts_step *step, mts_conv_kind kind, const recipe *r,
                               const dnnl_memory_desc_t *weight, mts_conv_slot *slot)
{
    const dnnl_engine_t engine = step->run->cpu->engine;
    const bool back = kind == MTS_CONV_WEIGHTS;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, back ? weight : &r->weight_plain, engine,
                                                              back ? &r->weight_plain : weight, engine, NULL);
    status = status ? status : dnnl_primitive_create(&slot->reorder, desc);
    if (desc) {
        (void)dnnl_primitive_desc_destroy(desc);
    }
    return mts_cpu_check(status, "reorder of weights", step->error);
}

static mts_status fill_slot(const mts_step *step, mts_conv_kind kind, int64_t images, mts_conv_slot *slot)
{
    recipe r;
    dnnl_primitive_desc_t desc = NULL;
    mts_status status = describe(step, images, &r);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    slot->images = images;
    slot->threads = mts_cpu_threads();
    status = mts_cpu_check(create_primitive_desc(step, kind, &r, &desc), "convolution", step->error);
    if (status == MTS_STATUS_OK) {
        const dnnl_query_t which =
            kind == MTS_CONV_WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
        const dnnl_memory_desc_t *weight = dnnl_primitive_desc_query_md(desc, which, 0);
        const dnnl_memory_desc_t *room = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
        status = make_memories(step, kind, &r, weight, room, slot);
        status = status ? status : make_reorder(step, kind, &r, weight, slot);
        status =
            status ? status
                   : mts_cpu_check(dnnl_primitive_create(&slot->primitive, desc), "convolution", step->error);
        (void)dnnl_primitive_desc_destroy(desc);
    }
    return status;
}

static void drop_memory(dnnl_memory_t memory)
{
    if (memory) {
        (void)dnnl_memory_destroy(memory);
    }
}

void mts_conv_slot_clear(const mts_allocator *allocator, mts_conv_slot *slot)
{
    if (slot->primitive) {
        (void)dnnl_primitive_destroy(slot->primitive);
    }
    if (slot->reorder) {
        (void)dnnl_primitive_destroy(slot->reorder);
    }
    drop_memory(slot->source);
    drop_memory(slot->weight);
    drop_memory(slot->plain);
    drop_memory(slot->bias);
    drop_memory(slot->result);
    drop_memory(slot->room);
    mts_alloc_free(allocator, slot->packed);
    memset(slot, 0, sizeof *slot);
}

void mts_conv_destroy(const mts_allocator *allocator, mts_conv **conv)
{
    if (!*conv) {
        return;
    }
    for (int kind = 0; kind < MTS_CONV_KINDS; kind++) {
        mts_conv_slot_clear(allocator, &(*conv)->slots[kind][0]);
        mts_conv_slot_clear(allocator, &(*conv)->slots[kind][1]);
    }
    mts_alloc_free(allocator, *conv);
    *conv = NULL;
}

/* The weights times the scale of their filters, in our order. */
static float *fold(const mts_step *step)
{
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    const size_t filter = (size_t)layer->rows * layer->columns * layer->inputs;
    float *folded = mts_run_scratch(step->run, filter * layer->outputs, step->error);
    for (uint32_t o = 0; folded && o < layer->outputs; o++) {
        for (size_t i = 0; i < filter; i++) {
            folded[o * filter + i] = layer->scale[o] * layer->weight[o * filter + i];
        }
    }
    return folded;
}

static mts_status execute(const mts_step *step, const_dnnl_primitive_t primitive, const dnnl_exec_arg_t *args,
                          int count, const char *what)
{
    const dnnl_stream_t stream = step->run->cpu->stream;
    dnnl_status_t status = dnnl_primitive_execute(primitive, stream, count, args);
    status = status ? status : dnnl_stream_wait(stream);
    return mts_cpu_check(status, what, step->error);
}

static mts_status pack(const mts_step *step, mts_conv_kind kind, mts_conv_slot *slot)
{
    const uint64_t version = step->run->net->versions[step->index];
    if (kind == MTS_CONV_WEIGHTS || slot->version == version) {
        return MTS_STATUS_OK;
    }
    float *plain = kind == MTS_CONV_RAW ? step->run->net->layers[step->index].weight : fold(step);
    if (!plain) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    mts_status status =
        mts_cpu_check(dnnl_memory_set_data_handle(slot->plain, plain), "weights", step->error);
    if (status == MTS_STATUS_OK) {
        const dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, slot->plain}, {DNNL_ARG_TO, slot->weight}};
        status = execute(step, slot->reorder, args, 2, "reorder of weights");
    }
    slot->version = status == MTS_STATUS_OK ? version : 0;
    return status;
}

mts_status mts_conv_slot_get(const mts_step *step, mts_conv_kind kind, int64_t images, mts_conv_slot **out)
{
    mts_conv **conv = &step->run->convs[step->index];
    if (!*conv) {
        *conv = mts_alloc_zero(step->run->allocator, 1, sizeof **conv);
        if (!*conv) {
            return mts_fail_memory(step->error);
        }
    }
    mts_conv_slot *slots = (*conv)->slots[kind], *slot = NULL;
    for (int i = 0; i < 2; i++) {
        if (slots[i].primitive && slots[i].images == images && slots[i].threads == mts_cpu_threads()) {
            slot = &slots[i];
        }
    }
    mts_status status = MTS_STATUS_OK;
    if (!slot) {
        slot = slots[0].used <= slots[1].used ? &slots[0] : &slots[1];
        mts_conv_slot_clear(step->run->allocator, slot);
        status = fill_slot(step, kind, images, slot);
    }
    status = status ? status : pack(step, kind, slot);
    status = status ? status : mts_cpu_room(step->run, slot->room_bytes, step->error);
    if (status != MTS_STATUS_OK) {
        mts_conv_slot_clear(step->run->allocator, slot);
        return status;
    }
    slot->used = ++(*conv)->clock;
    *out = slot;
    return MTS_STATUS_OK;
}

/* oneDNN takes what it only reads as plain pointers too. */
static dnnl_status_t point(dnnl_memory_t memory, const float *data)
{
    union {
        const float *in;
        void *out;
    } pointer = {.in = data};
    return dnnl_memory_set_data_handle(memory, pointer.out);
}

static dnnl_status_t point_room(const mts_step *step, const mts_conv_slot *slot)
{
    return slot->room ? dnnl_memory_set_data_handle(slot->room, mts_cpu_align(step->run->cpu->scratch))
                      : dnnl_success;
}

mts_status mts_conv_slot_run(const mts_step *step, mts_conv_slot *slot, mts_conv_kind kind, const float *from,
                             float *to)
{
    const bool back = kind == MTS_CONV_DATA, biased = !back && kind != MTS_CONV_RAW;
    dnnl_status_t status = point(slot->source, from);
    status = status ? status : point(slot->result, to);
    status = status ? status : point(slot->bias, step->run->net->layers[step->index].bias);
    status = status ? status : point_room(step, slot);
    if (status != dnnl_success) {
        return mts_cpu_check(status, "memory of a convolution", step->error);
    }
    dnnl_exec_arg_t args[5] = {{back ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC, slot->source},
                               {DNNL_ARG_WEIGHTS, slot->weight},
                               {back ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, slot->result}};
    int count = 3;
    if (biased) {
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, slot->bias};
    }
    if (slot->room) {
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, slot->room};
    }
    return execute(step, slot->primitive, args, count, "convolution");
}

mts_status mts_conv_slot_weights(const mts_step *step, mts_conv_slot *slot, const float *x, const float *d,
                                 float *weight, float *bias)
{
    dnnl_status_t status = point(slot->source, x);
    status = status ? status : point(slot->result, d);
    status = status ? status : point(slot->bias, bias);
    status = status ? status : point(slot->plain, weight);
    status = status ? status : point_room(step, slot);
    if (status != dnnl_success) {
        return mts_cpu_check(status, "memory of a convolution", step->error);
    }
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, slot->source},
                               {DNNL_ARG_DIFF_DST, slot->result},
                               {DNNL_ARG_DIFF_WEIGHTS, slot->weight},
                               {DNNL_ARG_DIFF_BIAS, slot->bias},
                               {DNNL_ARG_SCRATCHPAD, slot->room}};
    const mts_status outcome =
        execute(step, slot->primitive, args, slot->room ? 5 : 4, "gradient of a convolution");
    if (outcome != MTS_STATUS_OK) {
        return outcome;
    }
    const dnnl_exec_arg_t turn[2] = {{DNNL_ARG_FROM, slot->weight}, {DNNL_ARG_TO, slot->plain}};
    return execute(step, slot->reorder, turn, 2, "reorder of a gradient");
}

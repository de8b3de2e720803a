/*
 * window.c: sliding windows as both importers lower them: range, padding, attributes,
 * bias.
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "graph/limits.h"

bool mts_import_window_fits(mts_import *import, const mts_import_window *window)
{
    bool fits = true;
    for (int i = 0; i < 2 && fits; i++) {
        const int64_t sizes[3] = {window->kernel[i], window->stride[i], window->dilation[i]};
        for (int j = 0; j < 3 && fits; j++) {
            fits = sizes[j] >= 1 && sizes[j] <= MTS_GRAPH_WINDOW_MAX;
        }
        fits = fits && window->pad[i] >= 0 && window->pad[i + 2] >= 0 &&
               window->pad[i] <= MTS_GRAPH_WINDOW_MAX && window->pad[i + 2] <= MTS_GRAPH_WINDOW_MAX;
    }
    if (!fits) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "kernel, stride, dilation or padding is out of range");
    }
    return fits && mts_import_ok(import);
}

void mts_import_window_pad(mts_import_window *window, const mts_shape *planar, bool lower)
{
    for (int i = 0; i < 2; i++) {
        const int64_t in = planar->dims[i + 2], stride = window->stride[i];
        const int64_t extent = (window->kernel[i] - 1) * window->dilation[i] + 1;
        const int64_t wanted = ((in + stride - 1) / stride - 1) * stride + extent - in;
        const int64_t total = wanted > 0 ? wanted : 0;
        window->pad[i] = lower ? total - total / 2 : total / 2;
        window->pad[i + 2] = total - window->pad[i];
    }
}

mts_attrs_conv mts_import_window_conv(const mts_import_window *window, int64_t group)
{
    mts_attrs_conv conv = {.group = (uint32_t)group};
    for (int i = 0; i < 2; i++) {
        conv.kernel[i] = (uint32_t)window->kernel[i];
        conv.stride[i] = (uint32_t)window->stride[i];
        conv.dilation[i] = (uint32_t)window->dilation[i];
        conv.pad[i] = (int32_t)window->pad[i];
        conv.pad[i + 2] = (int32_t)window->pad[i + 2];
    }
    return conv;
}

mts_attrs_pool mts_import_window_pool(const mts_import_window *window, uint32_t kind)
{
    const mts_attrs_conv same = mts_import_window_conv(window, 1);
    mts_attrs_pool pool = {.kind = kind};
    memcpy(pool.kernel, same.kernel, sizeof same.kernel);
    memcpy(pool.stride, same.stride, sizeof same.stride);
    memcpy(pool.dilation, same.dilation, sizeof same.dilation);
    memcpy(pool.pad, same.pad, sizeof same.pad);
    return pool;
}

mts_import_value *mts_import_emit_conv(mts_import *import, mts_op op, const mts_attrs *attrs,
                                       mts_import_value *x, mts_import_value *weight, mts_import_value *bias)
{
    const uint32_t at = op == MTS_OP_CONV ? 3 : 2;
    const bool is_const = bias && mts_import_is_const(bias);
    mts_import_value *scale = NULL;
    if (op == MTS_OP_CONV) {
        weight = mts_import_fixed(import, weight, 1.0f, &scale);
    }
    mts_import_value *inputs[4] = {x, weight, scale, NULL};
    inputs[at] = is_const ? bias : inputs[at];
    mts_import_value *y = mts_import_emit(import, op, attrs, inputs, is_const ? at + 1 : scale ? 3 : 2);
    if (!y || !bias || is_const) {
        return y;
    }
    const mts_shape shape = {.rank = 4, .dims = {1, y->shape.dims[1], 1, 1}};
    return mts_import_emit_binary(import, MTS_BIN_ADD, y, mts_import_emit_reshape(import, bias, &shape));
}

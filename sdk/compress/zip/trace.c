/*
 * trace.c: see trace.h.
 */
#include "compress/zip/trace.h"

#include <string.h>

#include "base/size.h"

#define ROOM_SPARE 4u /* times what is needed: more room is given back */

static bool computed(const mts_graph *graph, uint32_t value, uint32_t node)
{
    const mts_value *v = &graph->values[value];
    return v->kind == MTS_VALUE_INPUT || (v->kind == MTS_VALUE_NODE && v->producer < node);
}

static bool read_later(const mts_graph *graph, uint32_t value, uint32_t node)
{
    for (uint32_t n = node; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            if (graph->nodes[n].inputs[i] == value) {
                return true;
            }
        }
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i].value == value) {
            return true;
        }
    }
    return false;
}

size_t mts_zip_trace_bytes(const mts_graph *graph, uint32_t node)
{
    size_t numbers = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        if (computed(graph, v, node) && read_later(graph, v, node)) {
            numbers += mts_shape_count(&graph->values[v].shape);
        }
    }
    return numbers * sizeof(float);
}

static void forget(mts_zip_trace *trace)
{
    mts_alloc_free(trace->allocator, trace->values);
    mts_alloc_free(trace->allocator, trace->elements);
    trace->values = NULL;
    trace->elements = NULL;
    trace->value_count = trace->node = 0;
    trace->per_image = 0;
}

/* Room for so many numbers: what the trace has, unless that is far too much. */
static bool take_room(mts_zip_trace *trace, size_t numbers)
{
    if (trace->room < numbers || trace->room / ROOM_SPARE > numbers) {
        mts_alloc_free(trace->allocator, trace->data);
        trace->data = mts_alloc_raw(trace->allocator, numbers, sizeof *trace->data);
        trace->room = trace->data ? numbers : 0;
    }
    return trace->data;
}

bool mts_zip_trace_init(mts_zip_trace *trace, const mts_graph *graph, uint32_t node, uint32_t images,
                        const mts_allocator *allocator)
{
    size_t numbers = 0;
    if (trace->allocator) {
        forget(trace);
    }
    trace->allocator = allocator;
    trace->graph = graph;
    trace->node = node;
    trace->images = images;
    trace->values = mts_alloc_zero(allocator, graph->value_count, sizeof *trace->values);
    trace->elements = mts_alloc_zero(allocator, graph->value_count, sizeof *trace->elements);
    if (!trace->values || !trace->elements) {
        return false;
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        if (computed(graph, v, node) && read_later(graph, v, node)) {
            trace->elements[trace->value_count] = mts_shape_count(&graph->values[v].shape);
            trace->per_image += trace->elements[trace->value_count];
            trace->values[trace->value_count++] = v;
        }
    }
    return mts_size_mul(trace->per_image, images, &numbers) && take_room(trace, numbers);
}

void mts_zip_trace_empty(mts_zip_trace *trace)
{
    if (trace->allocator) {
        forget(trace);
    }
}

void mts_zip_trace_release(mts_zip_trace *trace)
{
    if (trace->allocator) {
        forget(trace);
        mts_alloc_free(trace->allocator, trace->data);
    }
    *trace = (mts_zip_trace){.node = 0};
}

void mts_zip_trace_keep(mts_zip_trace *trace, mts_net_run *run, uint32_t first, uint32_t count)
{
    size_t at = 0;
    for (uint32_t v = 0; v < trace->value_count; v++) {
        const size_t size = trace->elements[v];
        const float *from = mts_net_run_value(run, trace->values[v]);
        for (uint32_t i = 0; i < count; i++) {
            memcpy(trace->data + ((size_t)first + i) * trace->per_image + at, from + i * size,
                   size * sizeof(float));
        }
        at += size;
    }
}

void mts_zip_trace_load(const mts_zip_trace *trace, mts_net_run *run, uint32_t image, uint32_t first,
                        uint32_t count)
{
    size_t at = 0;
    for (uint32_t v = 0; v < trace->value_count; v++) {
        const size_t size = trace->elements[v];
        float *to = mts_net_run_value(run, trace->values[v]);
        for (uint32_t i = 0; i < count; i++) {
            memcpy(to + ((size_t)image + i) * size, trace->data + ((size_t)first + i) * trace->per_image + at,
                   size * sizeof(float));
        }
        at += size;
    }
}

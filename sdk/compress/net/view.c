/*
 * view.c: what operators see of a run: its values, their gradients, and working memory.
 */
#include <string.h>

#include "compress/net/inside.h"

mts_view mts_run_view(const mts_net_run *run, uint32_t value, uint32_t first)
{
    const mts_value *what = &run->net->graph->values[value];
    const bool constant = what->kind == MTS_VALUE_CONST;
    mts_view view = {.data = constant ? run->net->constants[value] : run->values[value]};
    mts_view_strides(&what->shape, constant, view.strides);
    if (!constant) {
        view.image = (ptrdiff_t)mts_shape_count(&what->shape);
        view.data += view.image * (ptrdiff_t)first;
    }
    return view;
}

mts_view mts_run_view_gradient(const mts_net_run *run, uint32_t value, uint32_t first)
{
    mts_view view = {.image = (ptrdiff_t)mts_net_elements(run->net->graph, value)};
    mts_view_strides(mts_run_shape(run, value), false, view.strides);
    view.data = run->gradients[value] + view.image * (ptrdiff_t)first;
    return view;
}

float *mts_run_scratch(mts_net_run *run, size_t count, mts_error *error)
{
    if (count > run->scratch_count || !run->scratch) {
        mts_alloc_free(run->allocator, run->scratch);
        run->scratch = mts_alloc_zero(run->allocator, count, sizeof *run->scratch);
        run->scratch_count = run->scratch ? count : 0;
    }
    if (!run->scratch) {
        (void)mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %zu numbers of a layer",
                       count);
    }
    return run->scratch;
}

float *mts_run_open_gradient(mts_net_run *run, uint32_t value, uint32_t images)
{
    if (!mts_run_wants(run, value)) {
        return NULL;
    }
    if (!run->filled[value]) {
        memset(run->gradients[value], 0,
               mts_net_elements(run->net->graph, value) * images * sizeof **run->gradients);
        run->filled[value] = true;
    }
    return run->gradients[value];
}

bool mts_step_gradients(const mts_step *step, mts_view *input, mts_view *output)
{
    const uint32_t value = step->node->inputs[0];
    if (!mts_run_open_gradient(step->run, value, step->count)) {
        return false;
    }
    *input = mts_run_view_gradient(step->run, value, 0);
    *output = mts_run_view_gradient(step->run, step->node->output, 0);
    return true;
}

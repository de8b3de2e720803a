/*
 * check.c: see check.h.
 */
#include "bundle/check.h"

#include <math.h>
#include <string.h>

#define NAME_MAX_BYTES 255u

static mts_status check_preprocess(const mts_task *task, mts_error *error)
{
    const mts_preprocess *p = &task->preprocess;
    if (p->color > MTS_COLOR_GREY || p->interleaved > 1) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "preprocessing of unknown kind %u", p->color);
    }
    if (p->fit > MTS_FIT_CROP || p->filter > MTS_FILTER_AREA || p->fill[3] != 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "fit %u or filter %u of frames is not known", p->fit,
                        p->filter);
    }
    if (!mts_preprocess_crop_valid(p->crop)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "crop %g, %g, %g, %g is no part of a frame",
                        (double)p->crop[0], (double)p->crop[1], (double)p->crop[2], (double)p->crop[3]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (!isfinite(p->mean[i]) || !isfinite(p->std[i]) || p->std[i] == 0.0f) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "mean or std of channel %u is not usable", i);
        }
    }
    if (p->color == MTS_COLOR_NONE) {
        return MTS_STATUS_OK;
    }
    const mts_shape *shape = task->graph->input_count ? &task->graph->inputs[0].shape : NULL;
    const int64_t channels = p->color == MTS_COLOR_GREY ? 1 : 3;
    if (!shape || shape->rank != 4 || shape->dims[p->interleaved ? 3 : 1] != channels) {
        char text[96];
        return mts_fail(error, MTS_STATUS_MALFORMED, "a frame of %d channels does not fit input 0 (%s)",
                        (int)channels, shape ? mts_shape_text(shape, text, sizeof(text)) : "none");
    }
    return MTS_STATUS_OK;
}

bool mts_task_name_valid(const char *name)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_BYTES && strspn(name, set) == length;
}

mts_status mts_task_check(const mts_task *task, mts_error *error)
{
    mts_status status = check_preprocess(task, error);
    for (uint32_t i = 0; i < task->class_count && status == MTS_STATUS_OK; i++) {
        if (task->label_count > 0 && task->class_map[i] >= task->label_count) {
            status = mts_fail(error, MTS_STATUS_MALFORMED, "class %u maps to label %u of %u", i,
                              task->class_map[i], task->label_count);
        }
    }
    return status;
}

/*
 * options.c: what may be asked of mtsz_zip, and what goes together.
 */
#include <math.h>

#include "compress/zip/zip.h"

static bool all_named(const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!names[i]) {
            return false;
        }
    }
    return true;
}

static const char *options_defect(const mtsz_zip_options *o)
{
    if (!(o->share >= 0.0 && o->share <= 1.0)) {
        return "share is not between 0 and 1";
    }
    if (o->form != MTSZ_FORM_FILTERS && o->form != MTSZ_FORM_UXYZ) {
        return "form is neither MTSZ_FORM_FILTERS nor MTSZ_FORM_UXYZ";
    }
    if (o->assignment != MTSZ_ASSIGNMENT_OPTIMAL && o->assignment != MTSZ_ASSIGNMENT_GREEDY) {
        return "assignment is neither MTSZ_ASSIGNMENT_OPTIMAL nor MTSZ_ASSIGNMENT_GREEDY";
    }
    if (!(o->max_change >= 0.0 && o->max_change <= 100.0)) {
        return "max_change is not between 0 and 100 percent";
    }
    if (!(o->retrain_seconds >= 0.0) || !isfinite(o->retrain_seconds)) {
        return "retrain_seconds is not a time";
    }
    if (!(o->low_rank >= 0.0 && o->low_rank < 1.0)) {
        return "low_rank is not a relative error of 0 to below 1";
    }
    if (!(o->max_loss >= 0.0 && o->max_loss <= 100.0)) {
        return "max_loss is not between 0 and 100 points";
    }
    if (!(o->bytes >= 0.0 && o->bytes <= 1.0)) {
        return "bytes is not a part of 0 to 1";
    }
    if ((o->task_count && !o->tasks) || (o->base_count && !o->base) || (o->layer_count && !o->layers)) {
        return "a count without its list";
    }
    if (!all_named(o->tasks, o->task_count) || !all_named(o->base, o->base_count) ||
        !all_named(o->layers, o->layer_count)) {
        return "a name in a list is missing";
    }
    return NULL;
}

/* What low_rank does not go together with, besides. */
static const char *low_rank_defect(const mtsz_zip_options *o, const mtsz_data *data)
{
    if (o->retrain_seconds > 0.0) {
        return "retrain_seconds does not go with low_rank";
    }
    if (o->base_count > 1) {
        return "low_rank takes one task as base, not several";
    }
    if (o->max_change < 100.0 && (!data || data->count == 0)) {
        return "max_change needs images to measure the change with";
    }
    return NULL;
}

bool mts_zip_limited(const mtsz_zip_options *o)
{
    return o->max_loss > 0.0 || o->bytes > 0.0;
}

/* What a limit does not go together with. */
static const char *limit_defect(const mtsz_zip_options *o)
{
    const uint32_t known = 1u << MTSZ_FORM_FILTERS | 1u << MTSZ_FORM_LOW_RANK;
    if (!mts_zip_limited(o)) {
        return o->forms ? "forms goes with max_loss or bytes" : NULL;
    }
    if (o->max_loss > 0.0 && o->bytes > 0.0) {
        return "max_loss and bytes are two limits, give one";
    }
    if (o->low_rank > 0.0) {
        return "low_rank does not go with max_loss or bytes, which choose low ranks themselves";
    }
    if (o->form != MTSZ_FORM_FILTERS) {
        return "form uxyz does not go with max_loss or bytes";
    }
    if (o->retrain_seconds > 0.0 || o->max_change < 100.0) {
        return "retrain_seconds and max_change do not go with max_loss or bytes";
    }
    if (o->base_count > 1) { /* a channel that several bases have is stored once for each */
        return "max_loss and bytes take one task as base, not several";
    }
    return o->forms & ~known ? "forms has bits other than those of filters and low rank" : NULL;
}

const char *mts_zip_options_defect(const mtsz_zip_options *o, const mtsz_data *data)
{
    const char *defect = options_defect(o);
    defect = defect ? defect : limit_defect(o);
    return !defect && o->low_rank > 0.0 ? low_rank_defect(o, data) : defect;
}

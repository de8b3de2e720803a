/*
 * keep.c: filters that were equal in several tasks before zipping. Where such a row is not
 * shared any further but has to be fitted to inputs that have changed, these filters stay
 * equal: they are fitted for the tasks together.
 */
#include "compress/zip/keep.h"

#include <string.h>

static bool equal(const mts_zip *zip, const mts_zip_row *row, uint32_t a, uint32_t b, uint32_t o)
{
    const size_t length = (size_t)row->inputs * row->taps;
    const mts_net_layer x = mts_net_layer_of(zip->originals[a], row->nodes[a]);
    const mts_net_layer y = mts_net_layer_of(zip->originals[b], row->nodes[b]);
    return x.inputs == y.inputs && x.rows == y.rows && x.columns == y.columns && o < x.outputs &&
           o < y.outputs && memcmp(x.weight + o * length, y.weight + o * length, length * sizeof(float)) == 0;
}

/* Rows whose tasks have filters of several sizes have none in common. */
static bool same_size(const mts_zip *zip, const mts_zip_row *row)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_net_layer layer = mts_net_layer_of(zip->originals[t], row->nodes[t]);
        if (layer.outputs != row->outputs ||
            layer.inputs * layer.rows * layer.columns != row->inputs * row->taps) {
            return false;
        }
    }
    return true;
}

bool mts_zip_classes_find(mts_zip *zip)
{
    for (uint32_t r = 0; r < zip->row_count; r++) {
        mts_zip_row *row = &zip->rows[r];
        if (!row->fit || !same_size(zip, row)) {
            continue;
        }
        row->class_of = mts_arena_zero(&zip->arena, (size_t)zip->count * row->outputs, sizeof *row->class_of);
        if (!row->class_of) {
            return false;
        }
        for (uint32_t t = 0; t < zip->count; t++) {
            for (uint32_t o = 0; o < row->outputs; o++) {
                uint32_t first = 0;
                while (first < t && !equal(zip, row, first, t, o)) {
                    first++;
                }
                row->class_of[(size_t)t * row->outputs + o] = first;
            }
        }
    }
    return true;
}

uint32_t mts_zip_classes_count(const mts_zip *zip, const mts_zip_row *row, uint64_t tasks, uint32_t o)
{
    uint64_t seen = 0;
    uint32_t count = 0;
    for (uint32_t t = 0; t < zip->count; t++) {
        if (!(tasks >> t & 1)) {
            continue;
        }
        const uint32_t class = row->class_of ? row->class_of[(size_t)t * row->outputs + o] : t;
        count += (seen >> class & 1) ? 0 : 1;
        seen |= (uint64_t)1 << class;
    }
    return count;
}

/* The tasks that had task t's filter o and have none in common with others now (bits). */
static uint64_t mates(const mts_zip *zip, const mts_zip_row *row, const uint64_t *taken, uint32_t t,
                      uint32_t o)
{
    uint64_t tasks = 0;
    uint32_t count = 0;
    for (uint32_t u = 0; u < zip->count; u++) {
        const bool mate =
            row->class_of[(size_t)u * row->outputs + o] == row->class_of[(size_t)t * row->outputs + o];
        if (mate && !(taken[o] >> u & 1)) {
            tasks |= (uint64_t)1 << u;
            count++;
        }
    }
    return count > 1 ? tasks : 0;
}

mts_status mts_zip_keep(mts_zip_fit *fit, const mts_zip_row *row, uint64_t *taken, mts_zip_put put,
                        void *context)
{
    mts_zip *zip = fit->zip;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t o = 0; o < row->outputs && row->class_of; o++) {
        for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
            const uint64_t tasks = zip->frozen[t] || (taken[o] >> t & 1) ? 0 : mates(zip, row, taken, t, o);
            if (!tasks) {
                continue;
            }
            fit->tasks = tasks;
            status = mts_zip_fit_common(fit);
            /* All channels that the same tasks have in common follow from this one fit. */
            for (uint32_t k = o; k < row->outputs && status == MTS_STATUS_OK; k++) {
                if (!(taken[k] >> t & 1) && mates(zip, row, taken, t, k) == tasks) {
                    put(context, tasks, k);
                    taken[k] |= tasks;
                }
            }
        }
    }
    return status;
}

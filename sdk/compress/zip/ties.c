/*
 * ties.c: see ties.h. What comes from a base stays as it is: its cells are frozen in the
 * tasks that took them over.
 */
#include "compress/zip/ties.h"

static bool fill(mts_zip *zip, const mts_zip_row *row, mts_tie *tie)
{
    mts_arena *arena = &zip->arena;
    uint32_t *tasks = mts_arena_zero(arena, zip->count, sizeof(*tasks));
    uint32_t *nodes = mts_arena_zero(arena, zip->count, sizeof(*nodes));
    const uint32_t **outs = mts_arena_zero(arena, zip->count, sizeof(*outs));
    const uint32_t **ins = row->reads ? mts_arena_zero(arena, zip->count, sizeof(*ins)) : NULL;
    if (!tasks || !nodes || !outs || (row->reads && !ins)) {
        return false;
    }
    *tie = (mts_tie){.tasks = tasks,
                     .nodes = nodes,
                     .out_count = row->shared,
                     .in_count = row->readable,
                     .outs = outs,
                     .ins = ins,
                     .frozen = zip->based};
    for (uint32_t t = 0; t < zip->count; t++) {
        if (zip->frozen[t]) {
            continue;
        }
        tasks[tie->task_count] = t;
        nodes[tie->task_count] = row->nodes[t];
        outs[tie->task_count] = row->channels;
        if (ins) {
            ins[tie->task_count] = row->reads;
        }
        tie->task_count++;
    }
    return true;
}

mts_status mts_zip_ties(mts_zip *zip, mts_tie **out, uint32_t *count)
{
    *count = 0;
    *out = mts_arena_zero(&zip->arena, zip->row_count, sizeof(**out));
    bool done = *out;
    for (uint32_t r = 0; r < zip->row_count && done; r++) {
        if (zip->rows[r].shared) {
            done = fill(zip, &zip->rows[r], &(*out)[(*count)++]);
        }
    }
    return done ? MTS_STATUS_OK : mts_fail_memory(zip->error);
}

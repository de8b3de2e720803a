/*
 * encode_block.c: jobs of a stitched convolution -> blocks of conv_block, one launch.
 *
 * The jobs are those of tiles (encode_tile.c), with more rows. Here their pixels are cut into stretches, and
 * stretches of jobs that differ in nothing but their input, weights and outputs lie side by side in a block.
 */
#include "exec/encode_tile.h"

#include <string.h>

#include "plan/block.h"

bool mts_encode_block_fits(const mts_tiler *t)
{
    const mts_stitched *s = t->encoding->stitched;
    const uint32_t end = t->layer->first + t->layer->count;
    bool fits = true;
    for (uint32_t m = t->layer->first; m < end; m++) {
        fits = fits && mts_block_computes(&mts_member_node(s, &s->members[m])->attrs.conv);
    }
    return fits;
}

static bool same_taps(const mts_tiler *t, const mts_rec_conv *a, const mts_rec_conv *b)
{
    const uint32_t *words = t->encoding->table.words;
    return a->taps == b->taps && memcmp(words + a->tap, words + b->tap, a->taps * sizeof *words) == 0;
}

/* Whether two jobs may stand in one block (record.h). */
static bool are_alike(const mts_tiler *t, const mts_tile_job *a, const mts_tile_job *b)
{
    const mts_rec_conv *x = &a->record;
    const mts_rec_conv *y = &b->record;
    if (x->rows_a != y->rows_a || x->rows_b != y->rows_b || x->in_pitch != y->in_pitch ||
        x->segments != y->segments || !same_taps(t, x, y)) {
        return false;
    }
    for (uint32_t s = 0; s < x->segments; s++) {
        if (a->segments[s].channel != b->segments[s].channel ||
            a->segments[s].count != b->segments[s].count) {
            return false;
        }
    }
    return true;
}

/* A job's own block, or the next part of the block before: only where a job's pixels fill one part at most.
 */
static uint32_t write_blocks(mts_tiler *t, uint32_t width, size_t *count)
{
    mts_table *table = &t->encoding->table;
    const mts_tile_job *open = NULL;
    size_t stretches = 0;
    *count = 0;
    for (size_t i = 0; i < t->job_count; i++) {
        stretches += (t->jobs[i].record.pixels + width - 1) / width;
    }
    mts_rec_block *blocks = mts_arena_zero(&t->scratch, stretches, sizeof *blocks);
    if (blocks == NULL || table->failed) {
        mts_tiler_memory(t);
        return 0;
    }
    for (size_t i = 0; i < t->job_count; i++) {
        const mts_tile_job *j = &t->jobs[i];
        for (uint32_t p = 0; p < j->record.pixels; p += width) {
            const mts_rec_tile stretch = {.job = j->at, .pixel = p};
            const uint32_t at = mts_table_add(table, &stretch, MTS_REC_WORDS(mts_rec_tile));
            if (open == NULL || blocks[*count - 1].parts == t->choice.parts || !are_alike(t, open, j)) {
                blocks[(*count)++] = (mts_rec_block){.part = at};
                open = j;
            }
            blocks[*count - 1].parts++;
        }
    }
    return mts_table_add(table, blocks, *count * MTS_REC_WORDS(mts_rec_block));
}

static const char *make_defines(mts_tiler *t)
{
    mts_encoding *l = t->encoding;
    const mts_choice *c = &t->choice;
    const bool matrices =
        l->precision == MTS_PRECISION_KIND_FLOAT16 && mts_block_takes_matrices(l->device, c);
    mts_text text;
    mts_text_init(&text, l->arena->allocator);
    mts_text_add(&text, "%s -DROWS=%u -DCOLUMNS=%u -DGROUP=%u -DDEPTH=%u -DPARTS=%u%s",
                 mts_encode_defines(l->device, l->precision), c->rows, c->vectors, c->local, c->depth,
                 c->parts, matrices ? " -DMATRIX=1" : "");
    const char *defines = text.failed ? NULL : mts_arena_string(l->strings, mts_text_get(&text));
    mts_text_release(&text);
    return defines;
}

mts_code mts_encode_blocks(mts_tiler *t)
{
    mts_encoding *l = t->encoding;
    const uint32_t local = t->choice.local;
    const uint32_t width = t->choice.vectors / t->choice.parts;
    size_t blocks = 0;
    for (size_t i = 0; i < t->job_count; i++) {
        t->jobs[i].record.tile = width;
    }
    mts_tiler_write(t);
    mts_encoded_launch launch = {
        .kernel = "conv_block__f32_planar", .whole_group = true, .members = t->members};
    launch.first = write_blocks(t, width, &blocks);
    launch.label = mts_tiler_label(t);
    launch.defines = make_defines(t);
    if (t->code != MTS_CODE_OK || launch.defines == NULL || blocks > UINT32_MAX / local) {
        return mts_encode_memory(l);
    }
    launch.global[0] = (uint32_t)blocks * local;
    launch.local[0] = local;
    launch.global[1] = launch.global[2] = launch.local[1] = launch.local[2] = 1;
    return mts_encode_launch(l, &launch);
}

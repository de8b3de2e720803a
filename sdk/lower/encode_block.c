/*
 * encode_block.c: jobs of a stitched convolution -> blocks of conv_block, one launch.
 *
 * The jobs are those of tiles (encode_tile.c), with more rows. Here their pixels are cut into stretches, and
 * stretches of jobs that differ in nothing but their input, weights and outputs lie side by side in a block.
 */
#include "lower/encode_tile.h"

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

static bool same_taps(const mts_tiler *t, const mts_conv_params *a, const mts_conv_params *b)
{
    const uint32_t *words = t->encoding->params.words;
    return a->taps == b->taps && memcmp(words + a->tap, words + b->tap, a->taps * sizeof *words) == 0;
}

/* Whether two jobs may stand in one block (params.h). */
static bool are_alike(const mts_tiler *t, const mts_tile_job *a, const mts_tile_job *b)
{
    const mts_conv_params *x = &a->params;
    const mts_conv_params *y = &b->params;
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

/* Stretches of pixels and the blocks that they stand in. */
typedef struct stretches {
    size_t count, blocks;
    uint32_t first, first_block; /* table indices */
    uint32_t *masks, *runs;      /* see mts_entries */
} stretches;

/* Stretches in the order of the jobs; one joins the block before it while that has parts left and is of its
 * kind. */
static void write_blocks(mts_tiler *t, uint32_t width, stretches *s)
{
    mts_param_buffer *params = &t->encoding->params;
    const mts_tile_job *open = NULL;
    size_t room = 0;
    uint32_t run = 0;
    for (size_t i = 0; i < t->job_count; i++) {
        room += (t->jobs[i].params.pixels + width - 1) / width;
    }
    mts_block_params *blocks = mts_arena_zero(&t->scratch, room, sizeof *blocks);
    s->masks = mts_arena_zero(&t->scratch, room, sizeof *s->masks);
    s->runs = mts_arena_zero(t->encoding->strings, room, sizeof *s->runs);
    if (!blocks || !s->masks || !s->runs || params->failed) {
        mts_tiler_memory(t);
        return;
    }
    s->first = (uint32_t)params->count;
    for (size_t i = 0; i < t->job_count; i++) {
        const mts_tile_job *j = &t->jobs[i];
        const bool joins = open && are_alike(t, open, j);
        run += joins ? 0 : 1;
        open = joins ? open : j;
        for (uint32_t p = 0; p < j->params.pixels; p += width) {
            const mts_tile_params stretch = {.job = j->at, .pixel = p};
            const uint32_t at = mts_param_buffer_add(params, &stretch, MTS_PARAM_WORDS(mts_tile_params));
            if (s->count == 0 || blocks[s->blocks - 1].parts == t->choice.parts ||
                s->runs[s->count - 1] != run) {
                blocks[s->blocks++] = (mts_block_params){.part = at};
            }
            blocks[s->blocks - 1].parts++;
            s->masks[s->count] = j->task_mask;
            s->runs[s->count++] = run;
        }
    }
    s->first_block = mts_param_buffer_add(params, blocks, s->blocks * MTS_PARAM_WORDS(mts_block_params));
}

static const char *make_defines(mts_tiler *t)
{
    mts_encoding *l = t->encoding;
    const mts_kernel_config *c = &t->choice;
    const bool matrices = l->precision == MTS_PRECISION_FLOAT16 && mts_block_takes_matrices(l->device, c);
    mts_text text;
    mts_text_init(&text, l->arena->allocator);
    mts_text_add(&text, "%s -DROWS=%u -DCOLUMNS=%u -DGROUP=%u -DDEPTH=%u -DPARTS=%u%s",
                 mts_launch_defines(l->device, l->precision), c->rows, c->vectors, c->local, c->depth,
                 c->parts, matrices ? " -DMATRIX=1" : "");
    const char *defines = text.failed ? NULL : mts_arena_string(l->strings, mts_text_get(&text));
    mts_text_release(&text);
    return defines;
}

mts_status mts_encode_blocks(mts_tiler *t)
{
    mts_encoding *l = t->encoding;
    const uint32_t local = t->choice.local;
    const uint32_t width = t->choice.vectors / t->choice.parts;
    stretches s = {0};
    for (size_t i = 0; i < t->job_count; i++) {
        t->jobs[i].params.tile = width;
    }
    mts_tiler_write(t);
    mts_encoded_launch launch = {
        .kernel = "conv_block__f32_planar", .whole_group = true, .members = t->members};
    write_blocks(t, width, &s);
    launch.first = s.first_block;
    launch.label = mts_tiler_label(t);
    launch.defines = make_defines(t);
    if (t->code != MTS_STATUS_OK || !launch.defines || s.blocks > UINT32_MAX / local) {
        return mts_encode_memory(l);
    }
    launch.global[0] = (uint32_t)s.blocks * local;
    launch.local[0] = local;
    launch.global[1] = launch.global[2] = launch.local[1] = launch.local[2] = 1;
    t->code = mts_encode_launch(l, &launch);
    if (t->code == MTS_STATUS_OK) {
        mts_tiler_entries(t, MTS_ENTRY_BLOCK, s.masks, s.count);
        mts_entries *entries = &l->launches[l->launch_count - 1].entries;
        entries->first = s.first;
        entries->runs = s.runs;
        entries->parts = t->choice.parts;
    }
    return t->code;
}

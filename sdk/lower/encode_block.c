/*
 * encode_block.c: conv_block: which layers take it and in which shape, and a layer's jobs
 * -> blocks, one launch.
 *
 * The jobs are those of tiles (conv_jobs.c), with more rows. Here their pixels are cut
 * into stretches, and stretches of jobs that differ in nothing but their input, weights
 * and outputs lie side by side in a block.
 *
 * Figures of shapes are estimates that were not measured on a GPU: what they are taken
 * from stands above them, and tuning tries the others.
 */
#include "lower/encode_block.h"

#include <string.h>

#include "base/text.h"
#include "lower/launch_shape.h"
#include "lower/conv_jobs.h"
#include "lower/encoders.h"

#define BLOCK_TAPS 64u /* kernel positions at most */

/* ---- shapes ---- */

static bool is_one_of(uint32_t value, uint32_t a, uint32_t b, uint32_t c)
{
    return value == a || value == b || value == c;
}

/* Bytes of LOCAL memory at most: numbers that are staged twice and taps; with matrix
 * units float16 and their sums. */
static uint64_t local_bytes(const mts_kernel_config *c)
{
    const uint64_t staged = 2u * c->depth * ((uint64_t)c->parts * c->rows + c->vectors);
    const uint64_t floats = 4 * staged;
    const uint64_t halves = 2 * staged + 4 * (uint64_t)c->rows * c->vectors;
    return 4 * BLOCK_TAPS + (floats > halves ? floats : halves);
}

bool mts_block_fits(const mts_device_info *device, const mts_kernel_config *c)
{
    if (!device->is_gpu || !is_one_of(c->rows, 16, 32, 64) || !is_one_of(c->vectors, 32, 64, 128) ||
        !is_one_of(c->local, 64, 128, 256) || !is_one_of(c->depth, 8, 16, 32) ||
        !is_one_of(c->parts, 1, 2, 4)) {
        return false;
    }
    const uint32_t item_columns = c->vectors < 64 ? 2 : 4;
    return c->local >= c->rows && c->local >= c->vectors && c->rows * c->vectors >= item_columns * c->local &&
           c->rows * c->vectors <= 16 * item_columns * c->local && c->depth * c->rows >= c->local &&
           c->depth * c->vectors >= c->local && c->local <= device->work_group_size &&
           local_bytes(c) <= device->local_bytes;
}

bool mts_block_takes_matrices(const mts_device_info *device, const mts_kernel_config *c)
{
    const uint32_t matrices = c->rows * c->vectors / (8 * c->local); /* of a warp */
    const uint32_t across = c->rows >= 32 && matrices >= 4 ? matrices / 2 : matrices;
    return device->matrix_units && c->depth % 16 == 0 && matrices > 0 && c->vectors % (16 * across) == 0 &&
           c->vectors / c->parts % (16 * across) == 0;
}

static bool computes(const mts_attrs_conv *conv)
{
    return (uint64_t)conv->kernel[0] * conv->kernel[1] <= BLOCK_TAPS;
}

/* Output channels of one of its groups: what a block's rows are cut from. */
static uint32_t group_rows(const mts_layer_facts *facts)
{
    return facts->out_channels / facts->conv->group;
}

/* Products that are staged at once; matrix units take 16 at a time. */
static uint32_t usual_depth(const mts_device_info *device)
{
    return device->matrix_units ? 16 : 8;
}

static bool suits(const mts_device_info *device, const mts_kernel_config *c)
{
    return mts_block_fits(device, c) && (!device->matrix_units || mts_block_takes_matrices(device, c));
}

/* Fewer parts, then fewer rows, until the device has the memory and its matrix units, if
   any, the parts. */
static mts_kernel_config shrink(const mts_device_info *device, mts_kernel_config c)
{
    while (!suits(device, &c) && (c.parts > 1 || c.rows > 16)) {
        if (c.parts > 1) {
            c.parts /= 2;
        } else {
            c.rows /= 2;
        }
    }
    return c;
}

/* Blocks of `rows` by `columns` of a layer. */
static uint64_t count_blocks(const mts_layer_facts *facts, uint32_t rows, uint32_t columns)
{
    const uint64_t pixels = (uint64_t)facts->height * (facts->width + 1);
    const uint64_t across = (uint64_t)facts->conv->group * ((group_rows(facts) + rows - 1) / rows);
    return facts->members * across * ((pixels + columns - 1) / columns);
}

/*
 * Rows cover a layer's channels. Where so few blocks come out that the last ones of a
 * launch keep units idle, blocks are smaller and more products are staged at once: then a
 * group waits for memory, not for others. A device of few units has enough of them: there small images
 * share a block, so that weights are staged for all of them.
 */
mts_kernel_config mts_block_shape(const mts_device_info *device, const mts_layer_facts *facts)
{
    enum { GROUPS_PER_UNIT = 4, FEW_UNITS = 20, SMALL = 32, SMALLEST = 16 };
    const uint64_t pixels = (uint64_t)facts->height * (facts->width + 1);
    const uint64_t wanted = (uint64_t)GROUPS_PER_UNIT * device->compute_units;
    const uint32_t channels = group_rows(facts);
    mts_kernel_config c = {.kernel = MTS_KERNEL_CONFIG_BLOCK, .vectors = 64, .local = 128, .parts = 1};
    c.rows = channels <= 16 ? 16 : channels <= 32 ? 32 : 64;
    c.depth = usual_depth(device);
    const bool few = count_blocks(facts, c.rows, c.vectors) < wanted;
    if (few && (device->compute_units > FEW_UNITS || pixels > SMALL)) {
        c.depth = 32;
        c.rows = c.rows > SMALL ? SMALL : c.rows;
        c.rows = count_blocks(facts, c.rows, SMALL) < wanted ? SMALLEST : c.rows;
        c.vectors = SMALL;
        c.local = 64;
    } else if (pixels <= SMALL) {
        c.parts = pixels <= SMALL / 2 ? 4 : 2;
        c.depth = 16;
    }
    return shrink(device, c);
}

/*
 * NVIDIA's: local memory is as fast as the first level cache and has no tags. Mali's
 * local memory is plain memory, and Adreno's was not measured: there tiles stay the
 * default, and tuning tries blocks. A block of few rows would multiply zeros.
 */
bool mts_block_prefers(const mts_device_info *device, const mts_layer_facts *facts, mts_kernel_config *out)
{
    enum { GROUP_ROWS_LEAST = 8 };
    if (device->arch == 0 || !facts || !facts->conv || !computes(facts->conv) ||
        (facts->conv->group > 1 && group_rows(facts) < GROUP_ROWS_LEAST)) {
        return false;
    }
    *out = mts_block_shape(device, facts);
    return mts_block_fits(device, out);
}

/* The defaults' shapes, then shared, larger and deeper ones. A depth of 0 is the usual
   one. */
bool mts_block_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out)
{
    static const struct {
        uint32_t rows, columns, group, depth, parts;
    } shapes[] = {
        {32, 64, 128, 0, 1},  {16, 64, 128, 0, 1},   {64, 64, 128, 0, 1},  {32, 32, 64, 32, 1},
        {16, 32, 64, 32, 1},  {32, 64, 128, 16, 2},  {32, 64, 128, 16, 4}, {32, 128, 128, 16, 1},
        {64, 64, 128, 32, 1}, {64, 128, 256, 16, 1},
    };
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        *out = (mts_kernel_config){.kernel = MTS_KERNEL_CONFIG_BLOCK,
                                   .rows = shapes[i].rows,
                                   .vectors = shapes[i].columns,
                                   .local = shapes[i].group,
                                   .depth = shapes[i].depth > 0 ? shapes[i].depth : usual_depth(device),
                                   .parts = shapes[i].parts};
        if (mts_block_fits(device, out) && index-- == 0) {
            return true;
        }
    }
    return false;
}

/* ---- launches ---- */

bool mts_block_accepts(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_stitched *s = encoding->stitched;
    bool accepts = true;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        accepts = accepts && computes(&mts_member_node(s, &s->members[m])->attrs.conv);
    }
    return accepts;
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
    uint32_t first, first_block; /* word indices of the parameter buffer */
    uint32_t *masks, *runs;      /* see mts_entries */
} stretches;

/* Stretches in the order of the jobs; one joins the block before it while that has parts
 * left and is of its kind. */
static void write_blocks(mts_tiler *t, uint32_t width, uint32_t parts, stretches *s)
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
            if (s->count == 0 || blocks[s->blocks - 1].parts == parts || s->runs[s->count - 1] != run) {
                blocks[s->blocks++] = (mts_block_params){.part = at};
            }
            blocks[s->blocks - 1].parts++;
            s->masks[s->count] = j->task_mask;
            s->runs[s->count++] = run;
        }
    }
    s->first_block = mts_param_buffer_add(params, blocks, s->blocks * MTS_PARAM_WORDS(mts_block_params));
}

static const char *make_defines(mts_encoding *l, const mts_kernel_config *c)
{
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

static mts_status launch_blocks(mts_tiler *t, const mts_kernel_config *config)
{
    mts_encoding *l = t->encoding;
    const uint32_t local = config->local;
    const uint32_t width = config->vectors / config->parts;
    stretches s = {0};
    for (size_t i = 0; i < t->job_count; i++) {
        t->jobs[i].params.tile = width;
    }
    mts_tiler_write(t);
    mts_encoded_launch launch = {
        .kind = MTS_LAUNCH_BLOCKS, .kernel = "conv_block__f32_planar", .members = t->members};
    write_blocks(t, width, config->parts, &s);
    launch.first = s.first_block;
    launch.label = mts_tiler_label(t);
    launch.defines = make_defines(l, config);
    if (t->status != MTS_STATUS_OK || !launch.defines || s.blocks > UINT32_MAX / local) {
        return mts_encode_memory(l);
    }
    launch.global[0] = (uint32_t)s.blocks * local;
    launch.local[0] = local;
    launch.global[1] = launch.global[2] = launch.local[1] = launch.local[2] = 1;
    t->status = mts_encode_launch(l, &launch);
    if (t->status == MTS_STATUS_OK) {
        mts_tiler_entries(t, MTS_ENTRY_BLOCK, s.masks, s.count);
        mts_entries *entries = &l->launches[l->launch_count - 1].entries;
        entries->first = s.first;
        entries->runs = s.runs;
        entries->parts = config->parts;
    }
    return t->status;
}

mts_status mts_encode_block(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config)
{
    mts_tiler t;
    mts_tiler_open(&t, encoding, layer, config->rows, NULL);
    const mts_status status = t.status == MTS_STATUS_OK ? launch_blocks(&t, config) : t.status;
    mts_tiler_close(&t);
    return status;
}

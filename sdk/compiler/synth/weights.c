/*
 * weights.c: random weights in shared and private blocks, see synth.h.
 *
 * Convolution weights are uniform with He's variance 2 / fan-in, so that a layer followed
 * by a rectifier keeps the energy of its input: values neither explode nor fade, at any
 * depth and width. Every block has a random stream of its own, named by seed, task, layer
 * and part; so a task's weights depend neither on the order of making nor on tasks that
 * come after it (as long as the shared widths are the same).
 */
#include "compiler/synth/synth.h"

#include <math.h>

#include "base/hash.h"
#include "base/size.h"

typedef enum part { PART_U, PART_Y, PART_XZ, PART_VECTOR } part;

mts_status mts_synth_fail(mts_synth *s, mts_status status, const char *what)
{
    if (s->status == MTS_STATUS_OK) {
        s->status = mts_fail(s->error, status, "%s", what);
    }
    return status;
}

static uint64_t stream_start(const mts_synth *s, part which, uint32_t task, uint64_t number)
{
    const uint64_t key[5] = {s->options->seed, (uint64_t)which, task, s->layer, number};
    return mts_hash(key, sizeof key, 0);
}

/* SplitMix64 (Steele, Lea, Flood 2014), as a number in [-1, 1) with 24 bits. */
static float stream_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (float)(z >> 40) / 8388608.0f - 1.0f;
}

/* A new block of `count` values around `middle`; its number, or MTS_NONE. */
static uint32_t block_make(mts_synth *s, size_t count, uint64_t stream, float middle, float spread)
{
    void *blocks = s->blocks;
    size_t bytes = 0;
    const mts_archive_limits limits = mts_archive_limits_default();
    if (s->status != MTS_STATUS_OK) {
        return MTS_NONE;
    }
    if (!mts_size_mul(count, sizeof(float), &bytes) || s->bytes + bytes > limits.file_bytes ||
        s->block_count >= limits.blocks) {
        s->status = mts_fail(s->error, MTS_STATUS_LIMIT, "the weights are more than a bundle can hold");
        return MTS_NONE;
    }
    float *data = mts_arena_zero(&s->archive->arena, count, sizeof(float));
    if (!data ||
        !mts_alloc_grow(s->allocator, &blocks, &s->block_capacity, s->block_count + 1, sizeof(*s->blocks))) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the weights");
        return MTS_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        data[i] = middle + spread * stream_next(&stream);
    }
    s->blocks = blocks;
    s->blocks[s->block_count] = (mts_block){.data = data,
                                            .size = bytes,
                                            .dtype = MTS_TYPE_FLOAT32,
                                            .hash = mts_hash(data, bytes, MTS_TYPE_FLOAT32)};
    s->bytes += bytes;
    return (uint32_t)s->block_count++;
}

/* The block U of the layer in hand, made by the first task that comes to it. */
static uint32_t block_shared(mts_synth *s, size_t count, float spread)
{
    void *shared = s->shared;
    if (s->layer < s->shared_count) {
        return s->shared[s->layer];
    }
    const uint32_t block = block_make(s, count, stream_start(s, PART_U, MTS_NONE, 0), 0.0f, spread);
    if (block != MTS_NONE && !mts_alloc_grow(s->allocator, &shared, &s->shared_capacity, (size_t)s->layer + 1,
                                             sizeof(*s->shared))) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the weights");
        return MTS_NONE;
    }
    s->shared = shared;
    while (s->shared_count < s->layer) {
        s->shared[s->shared_count++] = MTS_NONE; /* layers that share nothing */
    }
    if (block != MTS_NONE) {
        s->shared[s->shared_count++] = block;
    }
    return block;
}

static void add_ref(mts_synth *s, mts_value *value, uint32_t block, mts_block_ref ref)
{
    if (block != MTS_NONE) {
        ref.block = block;
        ref.data = s->blocks[block].data;
        value->blocks[value->block_count++] = ref;
        s->bytes_unshared += s->blocks[block].size;
    }
}

/* Rows of the shared outputs: of each run of inputs, the shared ones and the task's own. */
static void add_shared_rows(mts_synth *s, mts_value *value, uint32_t rows, mts_synth_width in, uint32_t inner,
                            float spread)
{
    const uint32_t runs = in.runs > 0 ? in.runs : 1, channels = in.all / runs;
    for (uint32_t r = 0; r < runs && rows > 0; r++) {
        const uint32_t first = r * channels, own = channels - in.shared;
        s->layer += r > 0; /* its block U is another one */
        if (in.shared > 0) {
            const uint32_t block = block_shared(s, (size_t)rows * in.shared * inner, spread);
            add_ref(s, value, block,
                    (mts_block_ref){.out_count = rows, .in_first = first, .in_count = in.shared});
        }
        if (own > 0) {
            const uint32_t block =
                block_make(s, (size_t)rows * own * inner, stream_start(s, PART_Y, s->task, 0), 0.0f, spread);
            add_ref(s, value, block,
                    (mts_block_ref){.out_count = rows, .in_first = first + in.shared, .in_count = own});
        }
    }
}

static void add_blocks(mts_synth *s, mts_value *value, mts_synth_width out, mts_synth_width in,
                       uint32_t inner)
{
    const float spread = sqrtf(6.0f / ((float)in.all * (float)inner)); /* variance of uniform: spread^2 / 3 */
    const uint32_t own_out = out.all - out.shared;
    add_shared_rows(s, value, out.shared, in, inner, spread);
    if (own_out > 0) {
        const uint32_t block = block_make(s, (size_t)own_out * in.all * inner,
                                          stream_start(s, PART_XZ, s->task, 0), 0.0f, spread);
        add_ref(s, value, block,
                (mts_block_ref){.out_first = out.shared, .out_count = own_out, .in_count = in.all});
    }
}

mts_synth_width mts_synth_channels(const mts_synth *s, uint32_t width)
{
    const mtsc_synth_options *o = s->options;
    uint32_t own = width, least = width;
    for (uint32_t t = 0; t < o->tasks; t++) {
        const double prune = o->prune_count > 0 ? o->prune[t % o->prune_count] : 0.0;
        const double kept = floor((1.0 - prune) * width + 0.5);
        uint32_t channels = kept < 1.0 ? 1 : (uint32_t)kept;
        channels = (channels + s->multiple - 1) / s->multiple * s->multiple;
        least = channels < least ? channels : least;
        own = t == s->task ? channels : own;
    }
    uint32_t shared = (uint32_t)floor(o->share * least + 0.5);
    shared -= s->whole_groups ? shared % (least / s->multiple) : 0;
    return (mts_synth_width){own, shared, 0};
}

uint32_t mts_synth_weight(mts_synth *s, const char *name, mts_synth_width out, mts_synth_width in,
                          uint32_t kernel, bool exclusive)
{
    if (s->status != MTS_STATUS_OK) {
        return MTS_NONE;
    }
    if (exclusive) {
        out.shared = 0;
    }
    const mts_shape shape = mts_shape_make(4, (int64_t[]){out.all, in.all, kernel, kernel});
    const uint32_t value = mts_graph_add_const(s->graph, name, MTS_TYPE_FLOAT32, &shape, NULL);
    mts_block_ref *refs = mts_arena_zero(&s->archive->arena, 5, sizeof(*refs));
    if (value == MTS_NONE || !refs) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a weight");
        return MTS_NONE;
    }
    s->graph->values[value].blocks = refs;
    s->graph->values[value].block_count = 0;
    add_blocks(s, &s->graph->values[value], out, in, kernel * kernel);
    return s->status == MTS_STATUS_OK ? value : MTS_NONE;
}

uint32_t mts_synth_constant(mts_synth *s, const char *name, const mts_shape *shape, float middle,
                            float spread)
{
    mts_block_ref whole = {0};
    uint32_t inner = 0;
    if (s->status != MTS_STATUS_OK) {
        return MTS_NONE;
    }
    const uint32_t value = mts_graph_add_const(s->graph, name, MTS_TYPE_FLOAT32, shape, NULL);
    if (value == MTS_NONE) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a constant");
        return MTS_NONE;
    }
    const uint64_t stream = stream_start(s, PART_VECTOR, s->task, value);
    const uint32_t block = block_make(s, mts_shape_count(shape), stream, middle, spread);
    mts_value_matrix(&s->graph->values[value], &whole.out_count, &whole.in_count, &inner);
    s->graph->values[value].block_count = 0;
    add_ref(s, &s->graph->values[value], block, whole);
    return s->status == MTS_STATUS_OK ? value : MTS_NONE;
}

uint32_t mts_synth_table(mts_synth *s, const char *name, uint32_t rows, mts_synth_width width)
{
    const mts_shape shape = mts_shape_make(3, (int64_t[]){1, rows, width.all});
    const uint32_t value = mts_synth_constant(s, name, &shape, 0.0f, 1.0f);
    if (s->status != MTS_STATUS_OK) {
        return MTS_NONE;
    }
    mts_block *block = &s->blocks[s->block_count - 1];
    float *data = (float *)(uintptr_t)block->data;
    for (uint32_t c = 0; c < width.shared; c++) {
        uint64_t stream = stream_start(s, PART_VECTOR, MTS_NONE, c);
        for (uint32_t r = 0; r < rows; r++) {
            data[(size_t)r * width.all + c] = stream_next(&stream);
        }
    }
    block->hash = mts_hash(data, block->size, MTS_TYPE_FLOAT32);
    return value;
}

uint32_t mts_synth_vector(mts_synth *s, const char *name, uint32_t count, float middle, float spread)
{
    const mts_shape shape = mts_shape_make(1, (int64_t[]){count});
    return mts_synth_constant(s, name, &shape, middle, spread);
}

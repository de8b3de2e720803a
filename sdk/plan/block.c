/*
 * block.c: see block.h. The figures are estimates that were not measured on a GPU: what they are taken from
 * stands beside them, and tuning tries the others.
 */
#include "plan/block.h"

static bool is_one_of(uint32_t value, uint32_t a, uint32_t b, uint32_t c)
{
    return value == a || value == b || value == c;
}

/* Bytes of LOCAL memory at most: numbers that are staged twice and taps; with matrix units float16 and their
 * sums. */
static uint64_t local_bytes(const mts_kernel_config *c)
{
    const uint64_t staged = 2u * c->depth * ((uint64_t)c->parts * c->rows + c->vectors);
    const uint64_t floats = 4 * staged;
    const uint64_t halves = 2 * staged + 4 * (uint64_t)c->rows * c->vectors;
    return 4 * MTS_BLOCK_TAPS + (floats > halves ? floats : halves);
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

bool mts_block_computes(const mts_attrs_conv *conv)
{
    return (uint64_t)conv->kernel[0] * conv->kernel[1] <= MTS_BLOCK_TAPS;
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

/*
 * NVIDIA's: local memory is as fast as the first level cache and has no tags. Mali's local memory is plain
 * memory, and Adreno's was not measured: there tiles stay the default, and tuning tries blocks. A block of
 * few rows would multiply zeros.
 */
bool mts_block_pays(const mts_device_info *device, const mts_layer_facts *facts)
{
    enum { GROUP_ROWS_LEAST = 8 };
    if (device->arch == 0 || !facts->conv || !mts_block_computes(facts->conv) ||
        (facts->conv->group > 1 && group_rows(facts) < GROUP_ROWS_LEAST)) {
        return false;
    }
    const mts_kernel_config shape = mts_block_shape(device, facts);
    return mts_block_fits(device, &shape);
}

static bool suits(const mts_device_info *device, const mts_kernel_config *c)
{
    return mts_block_fits(device, c) && (!device->matrix_units || mts_block_takes_matrices(device, c));
}

/* Fewer parts, then fewer rows, until the device has the memory and its matrix units, if any, the parts. */
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

/*
 * Rows cover a layer's channels. Where so few blocks come out that compute units stay idle, blocks are
 * smaller and more products are staged at once: then a group waits for memory, not for others. A device of
 * few units has enough of them: there small pictures share a block, so that weights are staged for all of
 * them.
 */
mts_kernel_config mts_block_shape(const mts_device_info *device, const mts_layer_facts *facts)
{
    enum { GROUPS_PER_UNIT = 4, FEW_UNITS = 20, SMALL = 32 };
    const uint64_t pixels = (uint64_t)facts->height * (facts->width + 1);
    const uint64_t wanted = (uint64_t)GROUPS_PER_UNIT * device->compute_units;
    const uint32_t channels = group_rows(facts);
    mts_kernel_config c = {.kernel = MTS_KERNEL_CONFIG_BLOCK, .vectors = 64, .local = 128, .parts = 1};
    c.rows = channels <= 16 ? 16 : channels <= 32 ? 32 : 64;
    c.depth = usual_depth(device);
    const uint64_t across = (uint64_t)facts->conv->group * ((channels + c.rows - 1) / c.rows);
    const uint64_t blocks = facts->members * across * ((pixels + c.vectors - 1) / c.vectors);
    if (blocks < wanted && device->compute_units > FEW_UNITS) {
        c.depth = 32;
        c.rows = c.rows > SMALL ? SMALL : c.rows;
        c.vectors = SMALL;
        c.local = 64;
    } else if (pixels <= SMALL) {
        c.parts = pixels <= SMALL / 2 ? 4 : 2;
        c.depth = 16;
    }
    return shrink(device, c);
}

/* The defaults' shapes, then shared, larger and deeper ones. A depth of 0 is the usual one. */
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

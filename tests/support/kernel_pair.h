/*
 * kernel_pair.h: one launch on two devices, the reference and another, and the comparison of all that it
 * wrote.
 *
 * Responsible for random tensors in an arena, a launch table, running them in every precision and finding
 * what differs. Not responsible for what a record means. Everything fails the running cmocka test; without a
 * second device a test is skipped. The second device is the first of backend "opencl", or of the one that
 * MTS_TEST_DEVICE names.
 */
#ifndef MTS_TESTS_SUPPORT_KERNEL_PAIR_H
#define MTS_TESTS_SUPPORT_KERNEL_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "device/kernel.h"

#define KERNEL_PAIR_ACT 600000
#define KERNEL_PAIR_POOL 400000
#define KERNEL_PAIR_TABLE 20000
#define KERNEL_PAIR_REGIONS 4096

/* Floats that the launch may write. */
typedef struct kernel_region {
    uint32_t first, count;
} kernel_region;

typedef struct kernel_pair {
    mts_device *devices[2]; /* the reference, the other one */
    uint32_t state;         /* of the random numbers */
    float *act, *pool;
    uint32_t *table;
    uint32_t act_used, pool_used, table_used;
    kernel_region regions[KERNEL_PAIR_REGIONS];
    uint32_t region_count;
    bool raw_pool;     /* the pool is a frame, or floats of a zero-copy input: never float16 */
    bool float32_only; /* nothing is run with float16 stored */
    float
        tolerance; /* of |reference - other| / max(1, |reference|), without the rounding of what is stored */
    float
        half_slack; /* what -DHALF=1 and 2 may add to the difference, where a kernel reads its own results */
    float product_slack; /* what -DHALF=2 alone may add, where a kernel multiplies in float16 */
} kernel_pair;

/* cmocka group fixtures: *state is a kernel_pair. */
int kernel_pair_setup(void **state);
int kernel_pair_teardown(void **state);
/* Starts a case: random buffers, nothing placed. */
void kernel_pair_clear(kernel_pair *pair, uint32_t seed);
/* Skips the test if there is no second device. */
void kernel_pair_needs_both(const kernel_pair *pair);
/* Both. */
void kernel_pair_start(kernel_pair *pair, uint32_t seed);

/* Uniform in [low, high]. */
uint32_t kernel_pair_pick(kernel_pair *pair, uint32_t low, uint32_t high);
float kernel_pair_float(kernel_pair *pair, float low, float high);

/* Random dims: the first `outer` of six are 1, the others up to `most`. */
void kernel_pair_dims(kernel_pair *pair, uint32_t *dims, int outer, uint32_t most);
/* Places a tensor in the arena, dense or with a border. */
mts_dest_params kernel_pair_place(kernel_pair *pair, const uint32_t *dims);
/* The same, and the launch may write it. */
mts_dest_params kernel_pair_output(kernel_pair *pair, const uint32_t *dims);
/* The view of a placed tensor. */
mts_view_params kernel_pair_view(const mts_dest_params *tensor);
/* A tensor that broadcasts to `dims` (some of its own are 1), in the arena or dense in the pool. */
mts_view_params kernel_pair_operand(kernel_pair *pair, const uint32_t *dims, bool broadcast,
                                    uint32_t *in_pool);
/* Offsets of free floats of the arena, the pool, and free words of the table. */
uint32_t kernel_pair_act(kernel_pair *pair, uint32_t count);
uint32_t kernel_pair_pool(kernel_pair *pair, uint32_t count);
uint32_t kernel_pair_words(kernel_pair *pair, const void *words, uint32_t count);
void kernel_pair_may_write(kernel_pair *pair, uint32_t first, uint32_t count);

/* How many floats of the arena a launch gets to see: what is placed, and a margin for stray accesses. */
uint32_t kernel_pair_extent(const kernel_pair *pair);
/* The arena's extent after a launch on one device in float32; the caller frees it. */
float *kernel_pair_result(const kernel_pair *pair, mts_device *device, const char *kernel,
                          const char *defines, uint32_t first, const uint32_t *grid, const uint32_t *local);
/*
 * Runs on both devices and compares all elements of the arena: in float32, with float16 stored (-DHALF=1)
 * and, where the second device is fast at it, with float16 multiplied (-DHALF=2). Vectors of 8 and 16 are
 * left out on a GPU.
 */
void kernel_pair_run(kernel_pair *pair, const char *kernel, const char *defines, uint32_t first,
                     const uint32_t *grid, const uint32_t *local);

/* `members` records of `size` bytes, each beginning with a mts_dest_params, in several builds and grids. */
void kernel_pair_run_dest(kernel_pair *pair, const char *kernel, const void *params, uint32_t members,
                          size_t size);
typedef struct kernel_pair_members {
    const void *data;
    uint32_t members;
    size_t size;
} kernel_pair_members;

/*
 * The same in one build, which `number` picks, with one more build option (" -DNAME=.."): for programs that differ only
 * by it, of which there are too many to build each in every way.
 */
void kernel_pair_run_dest_once(kernel_pair *pair, const char *kernel, const char *define, uint32_t number,
                               const kernel_pair_members *launch);

/* Whether the manifest says that a kernel is for GPUs alone. */
bool kernel_is_for_gpus(const char *kernel);

/* The option for kernels without vectors: none on the cpu backend, whose kernels have its own width. */
const char *kernel_pair_scalar(const mts_device *device);

#endif

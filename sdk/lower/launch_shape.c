/*
 * launch_shape.c: work-items of launches over rows, and the build options of kernels.
 */
#include "lower/launch_shape.h"

#include "device/kernel.h"

/* Work-items of a GPU read neighbouring floats; a work-item of a CPU reads a whole
   register. */
uint32_t mts_launch_vector(const mts_device_info *device)
{
    return device->is_gpu ? 1 : device->vector_floats >= 16 ? 16 : device->vector_floats >= 8 ? 8 : 4;
}

/* A GPU takes depthwise_tile, whose neighbouring work-items read neighbouring floats. */
#ifdef MTS_SMALL
#define HAS_TEXTS false
#else
#define HAS_TEXTS true
#endif

bool mts_launch_by_processor(const mts_device_info *device)
{
    return !device->is_gpu && (device->ready_kernels || HAS_TEXTS);
}

#define EACH_PRECISION(vec)                                                                                  \
    {                                                                                                        \
        vec, vec " -DHALF=1", vec " -DHALF=2"                                                                \
    }

const char *mts_launch_defines(const mts_device_info *device, mts_precision precision)
{
    static const char *const texts[][MTS_PRECISION_COUNT] = {
        EACH_PRECISION("-DVEC=1 -DREGS=40"), EACH_PRECISION("-DVEC=16"), EACH_PRECISION("-DVEC=8"),
        EACH_PRECISION("-DVEC=4")};
    const uint32_t vector = mts_launch_vector(device);
    return texts[vector == 1 ? 0 : vector == 16 ? 1 : vector == 8 ? 2 : 3][precision];
}

const char *mts_launch_packed_defines(mts_precision precision, mts_packed_jobs jobs, bool images)
{
    static const char *const texts[][MTS_PRECISION_COUNT] = {
        EACH_PRECISION("-DVEC=4 -DREGS=40"),
        EACH_PRECISION("-DVEC=4 -DREGS=40 -DDEPTHWISE=1"),
        EACH_PRECISION("-DVEC=4 -DREGS=40 -DDEPTHWISE=2"),
        EACH_PRECISION("-DVEC=4 -DREGS=40 " MTS_KERNEL_IMAGES),
        EACH_PRECISION("-DVEC=4 -DREGS=40 -DDEPTHWISE=1 " MTS_KERNEL_IMAGES),
        EACH_PRECISION("-DVEC=4 -DREGS=40 -DDEPTHWISE=2 " MTS_KERNEL_IMAGES)};
    return texts[MTS_PACKED_JOBS_COUNT * images + jobs][precision];
}

enum {
    /* Elements of a CPU's work-item, at least and at most. */
    RUN_LEAST = 512,
    RUN_MOST = 16384,
    /* Work-items that each compute unit gets where there are elements enough. */
    ITEMS_PER_UNIT = 16
};

void mts_launch_over_planes(const mts_device_info *device, uint32_t pitch, uint64_t planes,
                            uint32_t global[3], uint32_t local[3])
{
    mts_launch_over_plane(device, pitch, global, local);
    if (!device->is_gpu) {
        const uint64_t items =
            (uint64_t)(device->compute_units > 0 ? device->compute_units : 1) * ITEMS_PER_UNIT;
        const uint64_t share = pitch * planes / items;
        const uint32_t run = share < RUN_LEAST ? RUN_LEAST : share > RUN_MOST ? RUN_MOST : (uint32_t)share;
        global[0] = (pitch + run - 1) / run;
    }
}

uint32_t mts_launch_pieces(const mts_device_info *device)
{
    enum { PIECES_OF_UNIT = 4, PIECES_MOST = 16 };
#ifndef MTS_SMALL
    const uint32_t pieces = PIECES_OF_UNIT * device->compute_units;
    return device->is_gpu || pieces < 1 ? 1 : pieces < PIECES_MOST ? pieces : PIECES_MOST;
#else
    (void)device;
    return 1;
#endif
}

/* A work-item owns a run of elements (kernels/dest.h): on a CPU a long one, in vectors;
 * on a GPU a single element, so that neighbours touch neighbours. */
void mts_launch_over_plane(const mts_device_info *device, uint32_t pitch, uint32_t global[3],
                           uint32_t local[3])
{
    enum { GPU_GROUP = 64 }; /* a power of two */
    local[0] = local[1] = local[2] = 1;
    global[0] = (pitch + RUN_LEAST - 1) / RUN_LEAST;
    if (device->is_gpu) {
        local[0] = GPU_GROUP;
        while (local[0] > 1 && local[0] > device->work_group_size) {
            local[0] /= 2;
        }
        global[0] = (pitch + local[0] - 1) / local[0] * local[0];
    }
}

void mts_launch_fit(mts_launch *launch, bool by_group)
{
    while (launch->local[0] > 1 && launch->local[0] > launch->kernel->work_group_size) {
        launch->local[0] /= 2;
        launch->global[0] = by_group ? launch->global[0] / 2 : launch->global[0];
    }
}

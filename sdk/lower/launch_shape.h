/*
 * launch_shape.h: what all launches have in common: work-items over rows of elements, and
 * the build options of a session's kernels. Pure.
 */
#ifndef MTS_LOWER_LAUNCH_SHAPE_H
#define MTS_LOWER_LAUNCH_SHAPE_H

#include "device/device.h"
#include "lower/precision.h"

/* Fills local and global[0] of a launch over planes of `pitch` elements. */
void mts_launch_over_plane(const mts_device_info *device, uint32_t pitch, uint32_t global[3],
                           uint32_t local[3]);
/* Likewise for `planes` of them: a CPU's work-items are longer where there are many, so
 * that what a kernel finds once for a work-item serves more rows. */
void mts_launch_over_planes(const mts_device_info *device, uint32_t pitch, uint64_t planes,
                            uint32_t global[3], uint32_t local[3]);
/* Halves the work-groups of a launch until its kernel takes them: some devices build a
 * kernel for fewer work-items than they advertise. by_group: global[0] counts
 * work-groups, and shrinks too. */
void mts_launch_fit(mts_launch *launch, bool by_group);
/* Whether kernels that are made for processors (kernels/manifest.def) exist for a device,
 * and pay: conv_winograd, and depthwise_rows, see mts_plan_request.depthwise_rows. The
 * smallest library has no texts of them, so that only devices whose kernels are compiled
 * ahead of time do there. */
bool mts_launch_by_processor(const mts_device_info *device);
/* VEC: floats of a work-item's vectors. */
uint32_t mts_launch_vector(const mts_device_info *device);
/* The build options of all kernels of a session: "-DVEC=.." of the device, "-DHALF=.." if
   not float32. */
const char *mts_launch_defines(const mts_device_info *device, mts_precision precision);
/* Which jobs a program of conv_packed takes. */
typedef enum mts_packed_jobs {
    MTS_PACKED_JOBS_DENSE = 0,
    MTS_PACKED_JOBS_DEPTHWISE = 1,
    MTS_PACKED_JOBS_ANY = 2
} mts_packed_jobs;
#define MTS_PACKED_JOBS_COUNT 3
/* Those of conv_packed, whose vectors are packs of channels. images: it reads weights
   through an image. */
const char *mts_launch_packed_defines(mts_precision precision, mts_packed_jobs jobs, bool images);

/*
 * Pieces that each part of a joined launch is cut into; the list has the first piece of each
 * part, then the second of each, and so on. Processors' drivers give a thread the next half
 * of the groups that are left, or the like, in their order: so each such share has of every
 * part what it has of the list. 1 on GPUs, which take groups one by one: large ones come first.
 */
uint32_t mts_launch_pieces(const mts_device_info *device);

#endif

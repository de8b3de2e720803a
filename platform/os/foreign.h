/*
 * foreign.h: memory that another part of the system made, to be read by the processor:
 * dma-bufs of Linux and hardware buffers of Android.
 *
 * Thread-safety: objects belong to one thread at a time.
 */
#ifndef MTS_PLATFORM_OS_FOREIGN_H
#define MTS_PLATFORM_OS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What a descriptor names: two descriptors of one thing have equal ones, but not only
 * these (see below). False: it is not open. */
bool mts_os_descriptor_identity(int descriptor, uint64_t identity[2]);
/* Whether both name one thing, for descriptors whose identities are equal: dma-bufs of
 * Linux before 5.3 all have the same. False also where that cannot be told. */
bool mts_os_descriptor_same(int a, int b);

/* Maps `size` bytes of a dma-buf, or of shared memory that is sealed against shrinking, to be
   read. UNSUPPORTED: it is neither, or cannot be mapped. */
mts_status mts_os_dmabuf_map(int descriptor, size_t size, const void **out, mts_error *error);
/* Reading what is mapped has to be bracketed by these. Shared memory that is no dma-buf
   needs neither. */
void mts_os_dmabuf_begin(int descriptor);
void mts_os_dmabuf_end(int descriptor);
/* Sets *mapped to NULL; NULL is fine. */
void mts_os_dmabuf_unmap(const void **mapped, size_t size);

/* Where a hardware buffer's planes lie (AHardwareBuffer_Planes). */
struct mts_os_hardware_planes {
    uint32_t count;
    struct {
        void *data;
        uint32_t pixel_stride, row_stride;
    } planes[4];
};

/* What a hardware buffer was asked for to be (AHardwareBuffer_Desc). */
struct mts_os_hardware_description {
    uint32_t width, height, layers, format;
    uint64_t usage;
    uint32_t stride; /* pixels */
    uint32_t reserved0;
    uint64_t reserved1;
};

/* Android's functions for hardware buffers, found when they are first asked for. All
   zero: not looked yet. */
typedef struct mts_os_hardware_buffers {
    bool looked;
    void (*acquire)(void *buffer);
    void (*release)(void *buffer);
    void (*describe)(const void *buffer, struct mts_os_hardware_description *description);
    int (*lock)(void *buffer, uint64_t usage, int32_t fence, const void *rectangle, void **address);
    int (*lock_planes)(void *buffer, uint64_t usage, int32_t fence, const void *rectangle,
                       struct mts_os_hardware_planes *planes); /* from API level 29 on */
    int (*unlock)(void *buffer, int32_t *fence);
} mts_os_hardware_buffers;

/* False: this system has none. */
bool mts_os_hardware_buffers_find(mts_os_hardware_buffers *functions);
/*
 * INVALID_ARGUMENT: the buffer is certainly smaller than `size` bytes. Nothing tells how
 * many bytes a buffer has, but for one of plain bytes (BLOB); of a frame only the pixels,
 * whose layout is the vendor's. So of frames only that is found out which no layout
 * explains: more than 8 bytes for each pixel of a padded row, twice what the largest
 * usual format takes, and a little for planes that begin on pages.
 */
mts_status mts_os_hardware_buffer_check(const mts_os_hardware_buffers *functions, const void *buffer,
                                        size_t size, mts_error *error);
/* The address of a buffer's content, which is that of its first plane, until it is
 * unlocked. UNSUPPORTED: the processor cannot read it. */
mts_status mts_os_hardware_buffer_lock(const mts_os_hardware_buffers *functions, const void *buffer,
                                       const void **out, mts_error *error);
void mts_os_hardware_buffer_unlock(const mts_os_hardware_buffers *functions, const void *buffer);

#endif

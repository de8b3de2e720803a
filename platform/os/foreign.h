/*
 * foreign.h: memory that another part of the system made, to be read by the processor: dma-bufs of Linux and
 * hardware buffers of Android.
 *
 * Thread-safety: objects belong to one thread at a time.
 */
#ifndef MTS_PLATFORM_OS_FOREIGN_H
#define MTS_PLATFORM_OS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What a descriptor names: two descriptors of one thing have equal ones. False: it is not open. */
bool mts_os_descriptor_identity(int descriptor, uint64_t identity[2]);

/* Maps `size` bytes of a dma-buf, or of shared memory, to be read. UNSUPPORTED: it cannot be mapped. */
mts_code mts_os_dmabuf_map(int descriptor, size_t size, const void **out, mts_error *error);
/* Reading what is mapped has to be bracketed by these. Shared memory that is no dma-buf needs neither. */
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

/* Android's functions for hardware buffers, found when they are first asked for. All zero: not looked yet. */
typedef struct mts_os_hardware_buffers {
    bool looked;
    void (*acquire)(void *buffer);
    void (*release)(void *buffer);
    int (*lock)(void *buffer, uint64_t usage, int32_t fence, const void *rectangle, void **address);
    int (*lock_planes)(void *buffer, uint64_t usage, int32_t fence, const void *rectangle,
                       struct mts_os_hardware_planes *planes); /* from API level 29 on */
    int (*unlock)(void *buffer, int32_t *fence);
} mts_os_hardware_buffers;

/* False: this system has none. */
bool mts_os_hardware_buffers_find(mts_os_hardware_buffers *functions);
/* The address of a buffer's content, which is that of its first plane, until it is unlocked. UNSUPPORTED: the
 * processor cannot read it. */
mts_code mts_os_hardware_buffer_lock(const mts_os_hardware_buffers *functions, const void *buffer,
                                     const void **out, mts_error *error);
void mts_os_hardware_buffer_unlock(const mts_os_hardware_buffers *functions, const void *buffer);

#endif

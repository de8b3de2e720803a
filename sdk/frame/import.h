/*
 * import.h: a cache of imported memory: dma-bufs and hardware buffers that frames lie in.
 *
 * A camera hands out the same few memories again and again, and an import may take many
 * milliseconds. So the last ones are kept: as buffers of the device where it can read
 * them, else as memory that the processor reads. Each one that is kept is held open, so
 * that its identity cannot become that of another memory.
 */
#ifndef MTS_FRAME_IMPORT_H
#define MTS_FRAME_IMPORT_H

#include "device/device.h"
#include "platform/os/foreign.h"

#define MTS_IMPORTS_KEPT 24

typedef struct mts_import {
    bool kept;
    mts_memory_kind kind;
    uint64_t identity[2];
    /* DMABUF: a duplicate of the caller's descriptor. */
    int fd;
    /* ANDROID: acquired. */
    const void *handle;
    /* Bytes of the buffer, or of the mapping. */
    size_t size;
    /* NULL: the device cannot read this memory. */
    mts_buffer *buffer;
    /* DMABUF: the mapping, or NULL. */
    const void *mapped;
    /* Submissions that read the buffer. */
    uint32_t users;
    /* When it was last used, counted in frames. */
    uint64_t used;
} mts_import;

typedef struct mts_import_cache {
    mts_import kept[MTS_IMPORTS_KEPT];
    mts_os_hardware_buffers android;
    uint64_t clock;
} mts_import_cache;

/*
 * Finds the memory in the cache, or imports it; memory->size bytes of it can be read.
 * INVALID_ARGUMENT: the memory is smaller, or its descriptor is not open. UNSUPPORTED:
 * neither the device nor the processor can read it. LIMIT: submissions use every import
 * of the cache.
 */
mts_status mts_import_get(mts_import_cache *cache, mts_device *device, const mts_memory *memory,
                          mts_import **out, mts_error *error);
/* The address at which the processor reads the memory, until mts_import_end_read. */
mts_status mts_import_begin_read(mts_import_cache *cache, mts_import *import, const void **out,
                                 mts_error *error);
void mts_import_end_read(mts_import_cache *cache, mts_import *import);
/* Releases every import; no submission uses one. */
void mts_import_cache_release(mts_import_cache *cache);

#endif

/*
 * foreign.h: pictures that lie in memory which neither the caller nor the device made: dma-bufs, hardware
 * buffers.
 *
 * A camera hands out the same few memories again and again, and taking hold of one may take many
 * milliseconds: so an engine keeps the last ones, as buffers of the device where it takes them, else as what
 * the processor can read. What is kept is held, so that its identity cannot become that of another memory.
 */
#ifndef MTS_FRAME_IMPORT_H
#define MTS_FRAME_IMPORT_H

#include "device/device.h"
#include "platform/os/foreign.h"

typedef struct mts_engine mts_engine;

#define MTS_FOREIGNS_KEPT 24

typedef struct engine_foreign {
    bool kept;
    mts_memory_kind kind;
    uint64_t identity[2];
    int fd;             /* DMABUF: our own */
    const void *handle; /* ANDROID: held */
    size_t size;        /* of the buffer, or the mapping */
    mts_buffer *buffer; /* NULL: the device does not take it */
    const void *mapped; /* DMABUF without a buffer */
    uint32_t users;     /* runs under way that read it */
    uint64_t used;      /* when, counted in pictures */
} engine_foreign;

typedef struct engine_foreigns {
    engine_foreign kept[MTS_FOREIGNS_KEPT];
    mts_os_hardware_buffers android;
    uint64_t clock;
} engine_foreigns;

/*
 * The memory, kept or taken hold of now; memory->size bytes of it can be read. INVALID_ARGUMENT: it is not
 * that large, or its descriptor is not open. UNSUPPORTED: neither the device nor the processor can read it.
 * LIMIT: more memories are under way than are kept.
 */
mts_status mts_foreign_get(mts_engine *engine, const mts_memory *memory, engine_foreign **out,
                           mts_error *error);
/* The address of one without a buffer, until the end of reading it. */
mts_status mts_foreign_begin(mts_engine *engine, engine_foreign *foreign, const void **out, mts_error *error);
void mts_foreign_end(mts_engine *engine, engine_foreign *foreign);
/* Lets go of all; none is under way. */
void mts_foreigns_release(mts_engine *engine);

#endif
